"""Streams as a whole: formats by name and beginning, pipes, reading ahead, and training that stops and goes on anywhere."""

import gzip
import json
import os
import subprocess
import sys
import threading

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import noregret as nr
from noregret.inputs.batch import BadRow
from noregret.inputs.labels import Coded
from noregret.streams.arff import ArffReader
from noregret.streams.delimited import CsvReader
from noregret.streams.tables import JsonReader, ParquetReader
from noregret.training.answering import answer
from noregret.training.by_task import suited
from noregret.transforms.table import Table


def readers():
    return [t for t in threading.enumerate() if t.name.startswith("noregret-")]


def test_features_numbered_from_one_are_counted_as_they_are(tmp_path):
    for first, name in ((0, "zero.svm"), (1, "one.svm"), (5, "five.svm")):
        lines = [f"{1 if k % 2 else -1} {first}:1 {first + 1}:{k} {first + 3}:1" for k in range(20)]
        (tmp_path / name).write_text("\n".join(lines))
        report = nr.evaluate(str(tmp_path / name), nr.Perceptron())
        assert report.data["features"] == 4, name


def test_a_column_may_become_the_id_later():
    table = Table(target="y")
    table.rows([{"y": "a", "x": 1.0}], True)
    table.identify("key")
    table.identify("x")
    assert table.id == "x"
    assert table.row({"key": 7.0, "x": 2.0})[1].tolist() == [2.0], "a feature that was learned stays one"


# ---- pipes -------------------------------------------------------------------------------------------------------------
def fifo(path, text):
    """A named pipe, and a thread that writes to it."""
    os.mkfifo(path)
    thread = threading.Thread(target=lambda: path.write_text(text), daemon=True)
    thread.start()
    return thread


@pytest.mark.parametrize(("name", "text"), [("p.svm", "1 1:1\n-1 2:1\n"), ("p.csv", "x,y\n1,a\n2,b\n")])
def test_a_named_pipe_gives_one_pass(tmp_path, name, text):
    writer = fifo(tmp_path / name, text)
    opened = nr.stream(str(tmp_path / name), **({"target": "y"} if name.endswith("csv") else {}))
    assert sum(b.data.n for b in opened.chunks()) == 2
    writer.join()
    with pytest.raises(ValueError, match="can be read only once"):
        next(opened.chunks())


def test_lines_of_json_from_a_slow_pipe_are_given_as_they_come(tmp_path):
    path = tmp_path / "p.jsonl"
    os.mkfifo(path)
    lines = [b'{"x": 1, "y": "a"}\n{"x": 2, "y": "b"}\n{"x": ', b'3, "y": "a"}\n', b'{"x": 4, "y": "b"}']
    more = threading.Semaphore(1)

    def write():
        with open(path, "wb", buffering=0) as pipe:
            for part in lines:
                more.acquire()
                pipe.write(part)

    threading.Thread(target=write, daemon=True).start()
    sizes = []
    for batch in nr.stream(path, target="y").chunks():
        sizes.append(batch.data.n)
        more.release()  # the next lines are written only after these were given
    assert sizes == [2, 1, 1]


def test_a_pipe_without_a_known_name_is_not_tasted(tmp_path):
    os.mkfifo(tmp_path / "p")
    with pytest.raises(ValueError, match="pipe .* give it [(]format, --format[)], one of"):
        nr.stream(str(tmp_path / "p"))
    os.mkfifo(tmp_path / "p.parquet")
    with pytest.raises(ValueError, match="Parquet cannot be read from a pipe"):
        nr.stream(str(tmp_path / "p.parquet"))


def test_a_directory_of_parquet_is_a_source(tmp_path):
    for country in ("DE", "FR"):
        (tmp_path / f"country={country}").mkdir()
        table = pa.table({"x": [1.0, 2.0], "y": ["a", "b"]})
        pa.parquet.write_table(table, tmp_path / f"country={country}" / "part-0.parquet")
    opened = nr.stream(str(tmp_path), target="y")
    assert sum(b.data.n for b in opened.chunks()) == 4
    assert opened.front.table.feature_names == ["x", "country=DE", "country=FR"]


# ---- reading ahead -----------------------------------------------------------------------------------------------------
def table_file(tmp_path, kind, n=4000):
    """A table of n rows, every hundredth without its target; and a reader of it in many small batches."""
    path = tmp_path / f"t.{kind}"
    rows = [{"x": float(k), "y": None if k % 100 == 99 else "ab"[k % 2]} for k in range(n)]
    if kind == "csv":
        path.write_text("x,y\n" + "".join(f"{r['x']},{r['y'] or ''}\n" for r in rows))
        return CsvReader(path, on_bad="skip", required="y", block=512)
    if kind == "jsonl":
        path.write_text("".join(json.dumps({k: v for k, v in r.items() if v is not None}) + "\n" for r in rows))
        return JsonReader(path, on_bad="skip", required="y", block=512)
    pa.parquet.write_table(pa.Table.from_pylist(rows), path, row_group_size=64)
    return ParquetReader(path, on_bad="skip", required="y")


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_what_is_read_ahead_does_not_show(tmp_path, kind):
    reader = table_file(tmp_path, kind)
    for batch in reader.batches():
        at = batch.position
        bad = sum(1 for k in range(at["examples"] + at["skipped"]) if k % 100 == 99)
        assert (at["skipped"], reader.skipped.count) == (bad, bad)
        assert len(reader.skipped.first) == min(bad, 5)
    assert at["examples"] == 3960
    assert reader.read == reader.size


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_a_pass_that_ends_early_leaves_no_thread(tmp_path, kind):
    reader = table_file(tmp_path, kind)
    passed = reader.batches()
    next(passed)
    assert readers()
    passed.close()
    assert not readers()
    passed = reader.batches()
    next(passed)
    with pytest.raises(KeyboardInterrupt):
        passed.throw(KeyboardInterrupt)
    assert not readers()
    reader.on_bad = "stop"
    with pytest.raises(BadRow):
        list(reader.batches())
    assert not readers()
    assert sum(b.data.num_rows for b in table_file(tmp_path, kind).batches()) == 3960


# ---- tables as people have them ----------------------------------------------------------------------------------------
def names_and_labels(source, **options):
    opened = nr.stream(source, **options)
    labels = [v for b in opened.chunks() for v in (b.y.array() if isinstance(b.y, Coded) else b.y).tolist()]
    return opened.front.table.feature_names, labels


def test_a_header_is_known_by_the_names_in_it(tmp_path):
    path = tmp_path / "a.csv"
    for head, names in (("x,,y", ["x", "c1"]), ("x,y,", ["x"]), (",x,y", ["c0", "x"])):
        cells = ["a" if name == "y" else "" if head[-1] == "," and not name else "1" for name in head.split(",")]
        path.write_text(f"{head}\n{','.join(cells)}\n")
        assert names_and_labels(path, target="y") == (names, ["a"])
    path.write_text(",x,t\n0,1,a\n1,2,b\n")
    assert names_and_labels(path, target="t") == (["c0", "x"], ["a", "b"])
    assert [b.data.schema.names for b in nr.stream(path).reader.batches()] == [["c0", "x", "t"]], "a frame with its row numbers"
    path.write_text("x,x,y\n1,2,a\n")
    with pytest.raises(ValueError, match="names column 'x' twice"):
        names_and_labels(path, target="y")


def test_files_may_have_their_columns_in_another_order(tmp_path):
    (tmp_path / "1.csv").write_text("x,c,y\n1,u,a\n")
    (tmp_path / "2.csv").write_text("y,x,c\nb,2,v\n")
    opened = nr.stream(str(tmp_path / "*.csv"), target="y")
    rows = [dict(zip(*(a.tolist() for a in b.data.arrays[1:]))) for b in opened.chunks()]
    assert opened.front.table.feature_names == ["x", "c=u", "c=v"]
    assert rows == [{0: 1.0, 1: 1.0}, {0: 2.0, 2: 1.0}]


def test_numbers_are_decimal(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x,y\n0x10,a\n0x11,b\n")
    assert names_and_labels(path, target="y")[0] == ["x=0x10", "x=0x11"]


@pytest.mark.parametrize("learned", [{}, {"categorical": "zip"}])
def test_answers_read_columns_as_they_were_learned(tmp_path, learned):
    """A column of categories may look like numbers in the file to be answered, and one of numbers like texts."""
    train, test = tmp_path / "train.csv", tmp_path / "test.csv"
    first = [] if learned else ["k1,0.5,a"] * 20
    train.write_text("\n".join(["zip,x,y", *first, *["007,1,a", "7,1,b", "12,2,a"] * 30]))
    test.write_text("zip,x\n007,1\n7,1\n12,2\n")
    model = nr.train(str(train), nr.Perceptron(), target="y", **learned).model
    assert [v for said in answer(str(test), model) for v in said.y] == ["a", "b", "a"]
    test.write_text("zip,x\n007,one\n")
    with pytest.raises(BadRow, match="test.csv:2:2: expected a number in column 'x', found 'one'"):
        list(answer(str(test), model))


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_negative_weights_are_bad_rows(tmp_path, kind):
    path = tmp_path / f"w.{kind}"
    rows = [{"x": 1.0, "y": "a", "w": 2}, {"x": 2.0, "y": "b", "w": -1}, {"x": 3.0, "y": "b", "w": 0}]
    if kind == "parquet":
        pa.parquet.write_table(pa.Table.from_pylist(rows), path)
    elif kind == "jsonl":
        path.write_text("".join(json.dumps(r) + "\n" for r in rows))
    else:
        path.write_text("x,y,w\n" + "".join(f"{r['x']},{r['y']},{r['w']}\n" for r in rows))
    line = 3 if kind == "csv" else 2
    with pytest.raises(BadRow, match=rf"w.{kind}:{line}(:3)?: expected a weight of at least 0 .* found -1"):
        names_and_labels(path, target="y", weight="w")
    assert names_and_labels(path, target="y", weight="w", on_bad="skip")[1] == ["a", "b"]
    assert sum(b.data.n for b in nr.stream(path, target="y", ignore="w").chunks()) == 3


def test_columns_to_ignore_may_hold_anything(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"x": 1, "y": "a", "l": [1, {"u": 2}]}\n{"x": 2, "y": "b", "l": 1e999, "z": "t"}\n')
    assert names_and_labels(path, target="y", ignore="l") == (["x", "z=t"], ["a", "b"])
    with pytest.raises(BadRow, match="a.jsonl:1: expected a number or text under 'l', found a list"):
        names_and_labels(path, target="y")


def test_a_target_is_texts_or_numbers(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"x": 1, "y": "a"}\n{"x": 2, "y": 1}\n')
    with pytest.raises(TypeError, match="target 'y' holds texts in some rows and numbers in others"):
        names_and_labels(path, target="y")


def test_text_in_utf_16_is_named(tmp_path):
    (tmp_path / "a.csv").write_bytes("x,y\n1,a\n".encode("utf-16"))
    with pytest.raises(ValueError, match="a.csv: expected text in UTF-8, found UTF-16"):
        names_and_labels(tmp_path / "a.csv", target="y")


def test_a_directory_is_read_by_the_names_in_it(tmp_path):
    for k in range(2):
        (tmp_path / f"{k}.csv").write_text(f"x,y\n{k},a\n")
    assert names_and_labels(tmp_path, target="y") == (["x"], ["a", "a"])


def test_faults_of_arrays_name_the_file(tmp_path):
    for arrays, said in (
        ({"X": np.ones(3)}, "Expected 2D"),
        ({"X": np.full((2, 1), np.nan)}, "NaN"),
        ({"Z": np.ones(3)}, "array X"),
    ):
        np.savez(tmp_path / "a.npz", **arrays)
        with pytest.raises(ValueError, match=rf"a.npz: .*{said}"):
            list(nr.stream(tmp_path / "a.npz").chunks())


def test_arff_with_both_kinds_of_quotes(tmp_path):
    path = tmp_path / "a.arff"
    path.write_text(
        "@relation 'r s'\n@attribute 'a b' string\n@attribute n numeric\n@attribute y {'it\\'s', \"b c\", d}\n@data\n"
        "\"x, 'y' z\", 1, 'it\\'s'\n'p, \"q\"', 2, \"b c\"\n\"don't\", 3,d\n"
        'it\'s, 4, "d"\n\'two\nlines\', 5, d\n% "no" \'row\n"ü ""u""",6,d\n'
    )
    for block in (16, 64, 1 << 20):
        rows = [tuple(r.values()) for b in ArffReader(path, block=block).batches() for r in b.data.to_pylist()]
        assert rows == [
            ("x, 'y' z", 1.0, "it's"),
            ('p, "q"', 2.0, "b c"),
            ("don't", 3.0, "d"),
            ("it's", 4.0, "d"),
            ("two\nlines", 5.0, "d"),
            ('ü "u"', 6.0, "d"),
        ]


def test_whole_numbers_keep_all_their_digits(tmp_path):
    path = tmp_path / "a.csv"
    ids = [9007199254740993 + k for k in range(40)]
    path.write_text("key,n,y\n" + "".join(f"{i},{'0.5' if k > 20 else k},a\n" for k, i in enumerate(ids)))
    for block in (64, 1 << 20):
        opened = nr.stream(CsvReader(path, block=block), target="y", id="key")
        assert [i for b in opened.chunks() for i in b.ids] == list(map(str, ids))
        opened = nr.stream(CsvReader(path, block=block), target="key", ignore="y")
        assert [i for b in opened.chunks() for i in b.y.tolist()] == ids


LABELS = ["007", "7", "12345678901234567890", "12345678901234567891", "1e30", "2e30"]


@pytest.mark.parametrize("block", [100, 1 << 20])
def test_labels_of_a_table_come_back_as_written(block, tmp_path):
    """The column looks numeric at first; a label that a number would change is text, in whichever block it comes."""
    path = tmp_path / "a.csv"
    labels = ["7", "8"] * 50 + LABELS * 5
    path.write_text("x,y\n" + "".join(f"{k},{v}\n" for k, v in enumerate(labels)))
    found = []
    for batch in nr.stream(CsvReader(path, block=block), target="y").chunks():
        found += batch.y.array().tolist() if isinstance(batch.y, Coded) else batch.y.tolist()
    assert found == [int(v) if v in ("7", "8") else v for v in labels]


def test_a_run_that_resumes_has_the_same_classes(tmp_path):
    path, rows = tmp_path / "a.csv", []
    for k in range(400_000):  # several blocks; the odd labels come late
        rows.append(f"{k % 5}.25,{k % 3},{'7' if k % 2 else '007' if k > 350_000 else '8'}")
    path.write_text("a,b,y\n" + "\n".join(rows))
    whole = nr.train(path, "pa1", target="y").model
    assert set(whole.learner.classes_.tolist()) == {7, 8, "007"}
    count = iter(range(10))
    nr.train(path, "pa1", target="y", save=tmp_path / "m.nr", stop=lambda: next(count) == 0)
    resumed = nr.train(path, save=tmp_path / "m.nr", resume=True).model
    assert resumed.digest() == whole.digest()


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.arff"])
def test_ways_to_write_a_number_are_one_label(name, tmp_path):
    head = "@relation r\n@attribute x numeric\n@attribute y numeric\n@data\n" if name == "a.arff" else "x,y\n"
    text = head + "1,1\n2,-1\n3,+1\n4,1.0\n5,1e0\n6,-1.00\n"
    path = tmp_path / name
    path.write_text(text if name != "a.tsv" else text.replace(",", "\t"))
    model = nr.train(path, "pa1", target="y").model
    assert model.learner.classes_.tolist() == [-1, 1]


def test_numbers_to_predict_stay_numbers(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x,y\n" + "".join(f"{k},{v}\n" for k, v in enumerate(["0.5", "007", "1e30", "12345678901234567890"])))
    (batch,) = nr.stream(path, target="y").chunks()
    assert suited(batch.y, nr.PA1Regressor()).tolist() == [0.5, 7.0, 1e30, 12345678901234567890.0]
    assert nr.train(path, target="y").model.learner.name == "auto_regressor"


@pytest.mark.parametrize("label", ["1e30", "9007199254740993"])
@pytest.mark.parametrize("line", ["{} 1:1\n", "{} | a\n"])
def test_labels_that_a_float_cannot_tell_apart_are_refused(line, label, tmp_path):
    path = tmp_path / ("a.vw" if "|" in line else "a.svm")
    path.write_text(line.format(1) + line.format(label))
    with pytest.raises(ValueError, match=r"expected labels below 2\^53 .* found .* Number the classes from 0"):
        nr.train(path, "pa1")
    assert nr.train(path, "pa1_regressor").examples == 2, "they are targets all the same"


IDS = ["0012", "1.50", "12345678901234567890", "NA", "1e3", "-0"]


def test_ids_come_back_as_written(tmp_path):
    (tmp_path / "a.csv").write_text("key,x,y\n" + "".join(f"{i},{k},{k % 2}\n" for k, i in enumerate(IDS)))
    (tmp_path / "a.tsv").write_text("key\tx\ty\n" + "".join(f"{i}\t{k}\t{k % 2}\n" for k, i in enumerate(IDS)))
    numbers = [i for i in IDS if i not in ("0012", "NA")]
    (tmp_path / "a.jsonl").write_text("".join(f'{{"key": {i}, "x": {k}, "y": {k % 2}}}\n' for k, i in enumerate(numbers)))
    for name, ids in (("a.csv", IDS), ("a.tsv", IDS), ("a.jsonl", numbers)):
        (batch,) = nr.stream(tmp_path / name, id="key", target="y").chunks()
        assert batch.ids.tolist() == ids
    frame = pa.table({"key": pa.array([12, 7], pa.int64()), "x": [1.0, 2.0]})
    (batch,) = nr.stream(frame, id="key").chunks()
    assert batch.ids.tolist() == ["12", "7"], "text in every format"


def test_an_id_that_was_a_feature_is_both(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("key,x,y\n" + "".join(f"00{k},{k % 3},{k % 2}\n" for k in range(1, 9)))
    model = nr.train(path, "pa1", target="y").model
    before = [v for said in answer(path, model) for v in said.scores.tolist()]
    model.front.table.identify("key")
    said = list(answer(path, model))
    assert [i for s in said for i in s.ids] == [f"00{k}" for k in range(1, 9)]
    assert [v for s in said for v in s.scores.tolist()] == before


WARM = """
import sys
import noregret as nr
from noregret.cli import warm
from noregret.engine import compiling

warm.use(warm.READERS, True)
known = compiling.ready()
folder = sys.argv[1]
for source, options in (
    ("a.svm", {}), ("a.vw", {}), ("a.csv", {"target": "y"}),
    ("a.csv", {"target": "y", "hash_bits": 8, "scale": True, "cross": "x,c"}),
    ("a.csv.gz", {"target": "y", "text": "c", "ngrams": 2, "normalize": "l1"}), ("a.svm", {"hash_bits": 4, "scale": True}),
):
    opened = nr.stream(f"{folder}/{source}", **options)
    assert sum(b.data.n for b in opened.chunks()) == 2
assert compiling.ready() == known > 8
"""


def test_warm_covers_the_readers(tmp_path):
    (tmp_path / "a.svm").write_text("1 qid:2 1:1 0:3\n-1 1:1e-7\n")
    (tmp_path / "a.vw").write_text("1 2 'tag |n a:2 b\n-1 | 3:1\n")
    (tmp_path / "a.csv").write_text("x,c,y\n1,u v,a\n,w,b\n")
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress((tmp_path / "a.csv").read_bytes()))
    done = subprocess.run([sys.executable, "-c", WARM, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


# ---- the laws, end to end ----------------------------------------------------------------------------------------------
def mixed_rows(n=150):
    rng = np.random.default_rng(3)
    words = [*(f"w{k}" for k in range(30)), "ünï"]
    return [
        {
            "n": None if rng.random() < 0.1 else float(np.round(10 * rng.normal(), 3)),
            "c": None if rng.random() < 0.1 else str(rng.choice(["DE", "007", "7"])),
            "b": " ".join(rng.choice(words, rng.integers(0, 8))) or None,
            "y": "ham" if rng.random() < 0.5 else "spam",
        }
        for _ in range(n)
    ]


def mixed_reader(folder, kind, size):
    """A reader of the same rows in batches of about `size` bytes."""
    path, rows = folder / f"m.{kind}", mixed_rows()
    lines = [",".join("?" if v is None else f"'{v}'" if isinstance(v, str) else str(v) for v in r.values()) for r in rows]
    if not path.exists() and kind == "arff":
        head = "@relation r\n@attribute n real\n@attribute c {DE,'007','7'}\n@attribute b string\n@attribute y {ham,spam}\n@data\n"
        path.write_text(head + "\n".join(lines))
    elif not path.exists() and kind == "jsonl":
        path.write_text("".join(json.dumps({k: v for k, v in r.items() if v is not None}) + "\n" for r in rows))
    elif not path.exists() and kind == "parquet":
        pa.parquet.write_table(pa.Table.from_pylist(rows), path, row_group_size=37)
    elif not path.exists():
        text = "n,c,b,y\n" + "\n".join(lines).replace("'", '"')
        path.write_bytes(gzip.compress(text.encode()) if kind == "csv.gz" else text.encode())
    if kind == "parquet":
        return ParquetReader(path, rows=max(1, size // 40))
    made = {"arff": ArffReader, "jsonl": JsonReader}.get(kind, CsvReader)
    return made(path, block=size)


@pytest.mark.parametrize("hash_bits", [None, 9])
@pytest.mark.parametrize("kind", ["csv", "csv.gz", "jsonl", "parquet", "arff"])
def test_batches_and_stops_never_show(tmp_path, kind, hash_bits):
    """Tables, texts, crosses, hashing and scaling: one model, however the file is cut and wherever training stops."""
    options = {"target": "y", "text": "b", "categorical": "c", "cross": ["c,n", "c,b"], "ngrams": 2, "scale": True}
    options["hash_bits"] = hash_bits

    def learned(model):
        x = [{k: v for k, v in r.items() if k != "y"} for r in mixed_rows()]
        stats = model.front.maps[0].state()
        arrays = [model.decision_function(x), *stats.values()]
        return [a.tobytes() for a in arrays], model.feature_names_, model.front.table.column_roles, model.learner.n_seen_

    whole = learned(nr.train(mixed_reader(tmp_path, kind, 1 << 20), "pa1", epochs=2, **options).model)
    assert learned(nr.train(mixed_reader(tmp_path, kind, 400), "pa1", epochs=2, **options).model) == whole
    path, stops = tmp_path / "m.nr", 0
    while not (
        part := nr.train(mixed_reader(tmp_path, kind, 1500), "pa1", save=path, resume=True, epochs=2, stop=lambda: True, **options)
    ).finished:
        options, stops = {}, stops + 1
    assert stops > 4
    assert learned(part.model) == whole
