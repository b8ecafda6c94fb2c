"""Sources in pieces, bytes in memory, formats and brokers of one's own."""

import csv
import gzip
import io
import json
import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import noregret as nr
from noregret.evaluation.runs.passes import together
from noregret.inputs.batch import BadRow, Batch, Reader
from noregret.inputs.checking import joined, rows
from noregret.inputs.labels import Coded
from noregret.streams import formats
from noregret.streams.formats import Format
from noregret.streams.source import Held
from noregret.streams.stream import Stream
from noregret.streams.writers import convert


def numbers(n=200, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 5)).round(3) * (rng.random((n, 5)) < 0.6), rng.integers(0, 2, n)


def svmlight(n=200):
    X, y = numbers(n)
    return "".join(
        f"{t} qid:{i // 3} " + " ".join(f"{j}:{v}" for j, v in enumerate(x) if v) + "\n" for i, (x, t) in enumerate(zip(X, y))
    )


def vw(n=200):
    X, y = numbers(n)
    features = [" ".join(f"{j}:{v}" for j, v in enumerate(x) if v) for x in X]
    return "".join(f"{t} {1 + i % 2} 'r{i} |f {features[i]}\n" for i, t in enumerate(y))


def table(n=200):
    """Cells with line ends, quotes, gaps; a column that has its first value late, and one that has fractions late."""
    X, y = numbers(n)
    words = ["a, b", 'say "so"', "two\nlines", "plain", "", "Zürich"]
    return [
        {
            "y": "yes" if t else "no",
            "x": float(x[0]),
            "w": words[i % 6],
            "late": i if i > 150 else None,
            "k": i if i < 120 else i + 0.5,
        }
        for i, (x, t) in enumerate(zip(X, y))
    ]


def delimited(cells, delimiter=","):
    out = io.StringIO()
    writer = csv.DictWriter(out, list(cells[0]), delimiter=delimiter, lineterminator="\n")
    writer.writeheader()
    writer.writerows(cells)
    return out.getvalue()


def arff(n=200, sparse=False):
    head = "% it's a comment\n@relation 'r s'\n@attribute x numeric\n@attribute w string\n@attribute y {no,yes}\n@data\n"
    X, y = numbers(n)
    words = ["'two\nlines'", '"a, b"', "plain", "?"]
    if sparse:
        return head + "".join(f"{{0 {x[0]}, 2 {'yes' if t else 'no'}}}\n" for x, t in zip(X, y))
    return head + "".join(f"{x[0]},{words[i % 4]},{'yes' if t else 'no'}\n" for i, (x, t) in enumerate(zip(X, y)))


def packed(write):
    """The bytes that a function writes to a file."""
    out = io.BytesIO()
    write(out)
    return out.getvalue()


def in_batches(f, arrow):
    with pa.ipc.new_file(f, arrow.schema) as file:
        file.write_table(arrow, 30)


def contents():
    """The bytes of a file of each kind, its format, and the options to read it."""
    X, y = numbers()
    cells = table()
    plain = [{**row, "w": row["w"].replace("\n", " ").replace('"', "'")} for row in cells]
    arrow = pa.Table.from_pylist(cells)
    roles = {"target": "y", "id": "k"}
    return {
        "svmlight": (svmlight().encode(), "svmlight", {}),
        "svmlight without labels": (b"".join(b"%d:1 9:2\n" % (i % 5) for i in range(90)), "svmlight", {}),
        "svmlight after comments": (b"# none\n" * 110 + svmlight(60).encode(), "svmlight", {}),
        "vw": (vw().encode(), "vw", {"hash_bits": 8}),
        "csv": (delimited(cells).encode(), "csv", roles),
        "csv without quotes": (delimited([{**r, "w": r["w"].strip('"')[:3].strip(',"\n')} for r in cells]).encode(), "csv", roles),
        "csv without header": (b"\xef\xbb\xbf" + b"".join(b"%d,x%d\r\n" % (i, i % 3) for i in range(150)), "csv", {"target": "c1"}),
        "tsv": (delimited(plain, "\t").encode(), "tsv", roles),
        "jsonl": ("".join(json.dumps(row) + "\n" for row in cells).encode(), "jsonl", roles),
        "json array": (json.dumps(cells, indent=1).encode(), "jsonl", roles),
        "csv after comments": (b"# none\n" * 20 + delimited(cells).encode(), "csv", roles),
        "arff": (arff().encode(), "arff", {"target": "y"}),
        "sparse arff": (arff(sparse=True).encode(), "arff", {"target": "y"}),
        "parquet": (packed(lambda f: pa.parquet.write_table(arrow, f, row_group_size=17)), "parquet", roles),
        "parquet of one group": (packed(lambda f: pa.parquet.write_table(arrow, f)), "parquet", roles),
        "arrow": (packed(lambda f: in_batches(f, arrow)), "parquet", roles),
        "ldac": (b"".join(b"%d %s\n" % (i % 3, b" 0:2 7:1"[: 4 * (i % 3)]) for i in range(90)), "ldac", {}),
        "docword": (b"130\n9\n99\n" + b"".join(b"%d %d 2\n" % (i + 2 + i // 9 * 2, i % 9 + 1) for i in range(99)), "docword", {}),
        "text": ("\ufeff".encode() + b"".join(b"Some words,\n\nno %d" % (i % 4) for i in range(90)), "text", {}),
        "npz": (packed(lambda f: np.savez(f, X=X, y=y, sample_weight=np.arange(200.0))), "npz", {}),
        "npy": (packed(lambda f: np.save(f, X)), "npz", {}),
    }


CONTENTS = contents()


def opened(source, kind, options, block=None):
    """A stream whose reader takes blocks of some size."""
    stream = nr.stream(source, format=kind, **options)
    if block is not None and hasattr(stream.reader, "block"):
        stream.reader.block = block
    if kind == "svmlight":
        stream.reader.labelled = None
    return stream


def everything(streams):
    """All rows, labels and side columns of streams that share one front, as plain values to compare."""
    front = streams[0].front and streams[0].front.fresh()
    batches = [batch for stream in streams for batch in stream.chunks(front=front)]
    whole = joined([batch.data for batch in batches])
    y = together([batch.y if batch.y is None or isinstance(batch.y, Coded) else batch.y.astype(float) for batch in batches])
    y = y.array() if isinstance(y, Coded) else y
    arrays = [a.tobytes() for a in whole.arrays]
    return arrays, whole.width, None if y is None else y.tolist(), {k: v.tolist() for k, v in whole.columns.items()}


def written(tmp_path, data, kind, copies=1):
    paths = []
    for k in range(copies):
        paths.append(str(tmp_path / f"{k}.{kind}"))
        (tmp_path / f"{k}.{kind}").write_bytes(data)
    return paths


# ---- the law ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("block", [None, 700])
@pytest.mark.parametrize("what", CONTENTS)
def test_pieces_are_the_whole(what, block, tmp_path):
    data, kind, options = CONTENTS[what]
    paths = written(tmp_path, data, kind, 2)
    for source in (paths[0], paths, data):
        whole = everything([opened(source, kind, options, block)])
        for n in (1, 7, 40):
            pieces = opened(source, kind, options, block).split(n)
            assert len(pieces) <= n
            assert len(pieces) == n or n > 7
            assert everything(pieces) == whole


@pytest.mark.parametrize("what", CONTENTS)
def test_a_piece_is_opened_from_plain_values_and_goes_on_from_its_positions(what, tmp_path):
    data, kind, options = CONTENTS[what]
    (path,) = written(tmp_path, data, kind)
    stream = opened(path, kind, options, 700)
    for piece in stream.split(3):
        again = opened(path, kind, {**options, "piece": json.loads(json.dumps(piece.reader.span))}, 700)
        assert everything([again]) == everything([piece])
        front = piece.front and piece.front.fresh()
        batches = list(piece.chunks(front=front))
        for k, batch in enumerate(batches):
            front = piece.front and piece.front.fresh()
            rest = list(again.chunks(json.loads(json.dumps(batch.position)), front=front))
            assert sum(b.n for b in rest) == sum(b.n for b in batches[k + 1 :])
        assert batches[-1].position.get("examples", 0) in (0, sum(b.n for b in batches))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(st.sampled_from(["a", '"', '""', "\n", ",", "1", " ", '"b\nc"', ""]), max_size=5), max_size=30),
    st.integers(1, 9),
    st.integers(20, 200),
)
def test_any_text_with_quotes_is_cut_at_records(cells, n, block):
    data = ("x,y\n" + "".join("".join(line) + "\n" for line in cells)).encode()
    options = {"header": True, "delimiter": ",", "on_bad": "skip", "categorical": ["x", "y"]}

    def read(streams):
        found = []
        for stream in streams:
            stream.reader.block = block
            stream.reader.heed(stream.front.table, False)
            found += [row for batch in stream.reader.batches() for row in batch.data.to_pylist()]
        return found

    whole = nr.stream(data, format="csv", **options)
    assert read(nr.stream(data, format="csv", **options).split(n)) == read([whole])


def test_several_files_are_cut_like_one(tmp_path):
    data, kind, options = CONTENTS["csv"]
    paths = written(tmp_path, data, kind, 3)
    pieces = opened(paths, kind, options).split(3)
    assert [piece.reader.span[0]["file"] for piece in pieces] == [0, 1, 2], "at the ends of files where these are equal"
    assert [piece.reader.span[0]["offset"] for piece in pieces] == [0, 0, 0]


def test_files_with_their_columns_in_another_order(tmp_path):
    """A piece that begins inside a file has the columns of that file."""
    cells = [{"a": i, "b": f"x{i % 3}", "y": i % 2} for i in range(60)]
    for k, names in enumerate((["a", "b", "y"], ["y", "b", "a"], ["b", "y", "a"])):
        (tmp_path / f"{k}.csv").write_text(delimited([{name: row[name] for name in names} for row in cells]))
    options = {"target": "y", "id": "a"}
    whole = everything([nr.stream(str(tmp_path / "*.csv"), **options)])
    assert whole[3]["id"] == [str(row["a"]) for row in cells] * 3
    for n in (2, 4, 7):
        assert everything(nr.stream(str(tmp_path / "*.csv"), **options).split(n)) == whole


def test_packed_files_are_never_cut(tmp_path):
    data, kind, options = CONTENTS["svmlight"]
    paths = [f"{path}.gz" for path in written(tmp_path, b"", kind, 4)]
    for path in paths:
        with open(path, "wb") as f:
            f.write(gzip.compress(data))
    pieces = opened(paths, kind, options).split(3)
    assert [piece.reader.span[0]["offset"] for piece in pieces] == [0, 0, 0]
    assert everything(pieces) == everything([opened(paths, kind, options)])
    with pytest.raises(ValueError, match=r"0.svmlight.gz is compressed, so it cannot be read in pieces: unpack it"):
        opened(paths[0], kind, options).split(2)


# ---- what is in memory, synthetic streams ----------------------------------------------------------------------------
@pytest.mark.parametrize("what", ["arrays", "frame", "records", "synthetic"])
def test_pieces_of_what_is_no_file(what):
    X, y = numbers(100)
    source = {
        "arrays": (X, y, np.arange(100.0)),
        "frame": pa.Table.from_pylist(table(100)),
        "records": [({"a": float(v), "b": "x"}, int(t), 2.0) for v, t in zip(X[:, 0], y)],
        "synthetic": "synthetic:text?n=9000",
    }[what]
    options = {"target": "y"} if what == "frame" else {}
    whole = everything([nr.stream(source, **options)])
    for n in (1, 3, 7):
        pieces = nr.stream(source, **options).split(n)
        assert len(pieces) == n
        assert everything(pieces) == whole
    if what != "synthetic":
        assert sum(1 for piece in nr.stream(source, **options).split(1000) for _ in piece.chunks()) == 100


def test_what_cannot_be_cut(tmp_path):
    with pytest.raises(ValueError, match="synthetic:sea.n=inf has no end, so it cannot be read in pieces"):
        nr.stream("synthetic:sea?n=inf").split(2)
    with pytest.raises(ValueError, match="records can be read only once, so it cannot be read in pieces"):
        nr.stream(iter([({"a": 1.0}, 1)])).split(2)
    pipe = tmp_path / "pipe.svm"
    os.mkfifo(pipe)
    with pytest.raises(ValueError, match=r"pipe.svm can be read only once, so it cannot be read in pieces: write it to a file"):
        nr.stream(pipe).split(2)
    whole = nr.stream(svmlight().encode())
    with pytest.raises(ValueError, match="this is a piece already"):
        whole.split(2)[0].split(2)
    for n in (0, 1.5):
        with pytest.raises(ValueError, match="expected a whole number of pieces, at least 1"):
            whole.split(n)


def test_a_file_that_has_become_shorter_is_refused(tmp_path):
    (path,) = written(tmp_path, svmlight().encode(), "svm")
    first, _ = nr.stream(path).split(2)
    os.truncate(path, 100)
    with pytest.raises(ValueError, match="found 100: the file is not the one that was read before"):
        list(first.chunks())


# ---- bad rows --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("kind", "good", "bad", "said"),
    [
        ("svmlight", "1 1:2\n", "1 x:2\n", ":{}:3: expected a feature as number:value"),
        ("vw", "1 |f a\n", "x |f a\n", ":{}:1: expected a number for the label"),
        ("csv", "1,2\n", "1,2,3\n", ":{}: expected 2 columns, found 3"),
        ("jsonl", '{"a": 1}\n', "{\n", ":{}:2: expected a JSON object on one line"),
    ],
)
def test_bad_lines_of_a_piece_say_from_where_lines_are_counted(kind, good, bad, said, tmp_path):
    lines = [good] * 40
    lines[30] = bad
    (path,) = written(tmp_path, "".join(lines).encode(), kind)
    first, second = nr.stream(path, format=kind).split(2)
    origin = second.reader.span[0]["offset"]
    line = 31 - origin // len(good)
    list(first.reader.batches())
    with pytest.raises(BadRow) as e:
        list(second.reader.batches())
    assert str(e.value).startswith(f"{path} (lines from byte {origin})" + said.format(line))
    with pytest.raises(BadRow) as e:
        list(nr.stream(path, format=kind).reader.batches())
    assert str(e.value).startswith(path + said.format(31))
    skipping = nr.stream(path, format=kind, on_bad="skip").split(4)
    assert sum(batch.n for piece in skipping for batch in piece.reader.batches()) == 39
    assert sum(piece.skipped.count for piece in skipping) == 1


# ---- bytes -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("what", CONTENTS)
def test_bytes_are_read_as_files_are(what, tmp_path):
    data, kind, options = CONTENTS[what]
    (path,) = written(tmp_path, data, kind)
    whole = everything([opened(path, kind, options)])
    for source in (data, bytearray(data), memoryview(data), io.BytesIO(data)):
        stream = opened(source, kind, options)
        assert everything([stream]) == whole
        spans = [span for piece in stream.split(2) for span in piece.reader.span if span is not None]
        places = [*spans, *(batch.position for batch in stream.reader.batches())]
        assert {type(v) for place in places for v in (place["path"], stream.name)} == {str}, "positions hold no bytes"
    if kind != "npz" and kind != "parquet":
        assert everything([opened(gzip.compress(data), kind, options)]) == whole


def test_bytes_tell_their_format_and_are_named_in_errors(tmp_path):
    assert [nr.stream(CONTENTS[k][0]).kind for k in ("svmlight", "vw", "csv", "tsv", "jsonl", "arff", "parquet", "npz")] == [
        "svmlight", "vw", "csv", "tsv", "jsonl", "arff", "parquet", "npz"
    ]  # fmt: skip
    with pytest.raises(BadRow, match="^<bytes>:2:3: expected a feature"):
        list(nr.stream(b"1 1:2\n1 x:2\n").chunks())
    with pytest.raises(ValueError, match="<bytes> is empty"):
        list(nr.stream(b"", format="svmlight").chunks())
    assert nr.train(svmlight().encode(), nr.PA1(), save=tmp_path / "m.nr").examples == 200
    assert convert(svmlight().encode(), tmp_path / "a.vw").rows == 200


# ---- formats of one's own --------------------------------------------------------------------------------------------
class Pairs(Reader):
    """Lines of a number and a label."""

    kind = "pairs"

    def __init__(self, source, on_bad="stop"):
        super().__init__()
        self.name, self.on_bad = str(source), on_bad

    def batches(self, position=None):
        data = np.loadtxt(self.name, ndmin=2)
        yield Batch(rows(data[:, :1], "float64"), data[:, 1], {"row": len(data)})


@pytest.fixture
def registered():
    """What registers formats for one test."""
    before = dict(formats.FORMATS)
    yield formats.register
    formats.FORMATS.clear()
    formats.FORMATS.update(before)


def test_a_format_of_ones_own(registered, tmp_path):
    path = tmp_path / "a.pairs"
    path.write_text("~ 1\n")
    with pytest.raises(ValueError, match="cannot tell its format"):
        nr.stream(path)
    registered(Format("pairs", "a number and a label", Pairs, suffixes=("pairs",), begins=lambda head: head.first.startswith("0 ")))
    path.write_text("0 1\n1 -1\n")
    assert nr.stream(path, on_bad="skip").reader.on_bad == "skip"
    assert nr.train(path, nr.PA1()).examples == 2
    path.rename(tmp_path / "unnamed")
    assert nr.stream(tmp_path / "unnamed").kind == "pairs"
    assert "pairs" in formats.files()
    with pytest.raises(ValueError, match="pairs cannot be read in pieces"):
        nr.stream(tmp_path / "unnamed").split(2)
    for taken in (Format("pairs", "", Pairs), Format("p", "", Pairs, ("csv",)), Format("p", "", Pairs, schemes=("synthetic",))):
        with pytest.raises(ValueError, match="is that of the format (pairs|csv|synthetic) already"):
            registered(taken)


class Broker(Reader):
    """A queue that may always have more, and forgets nothing."""

    kind, name, endless = "broker", "broker:test", True
    waiting: list[bytes] = []
    committed: list[int] = []

    def __init__(self, source):
        super().__init__()

    def batches(self, position=None):
        for k in range(0 if position is None else position["id"], len(self.waiting)):
            for batch in nr.stream(self.waiting[k], format="svmlight").chunks():
                yield batch._replace(position={"id": k + 1})

    def commit(self, position):
        self.committed.append(position["id"])


def test_a_broker_is_a_reader(registered, tmp_path, monkeypatch):
    """It goes on where it fell silent, bit for bit as from a file; what is saved is committed."""
    registered(Format("broker", "messages of svmlight", Broker, schemes=("broker",), takes=()))
    lines = svmlight().encode().splitlines(keepends=True)
    monkeypatch.setattr(Broker, "waiting", [b"".join(lines[a : a + 40]) for a in (0, 40, 80)])
    monkeypatch.setattr(Broker, "committed", [])
    for k in range(2):
        done = nr.train("broker:test", nr.PA1(), save=tmp_path / "m.nr", resume=k > 0)
        monkeypatch.setattr(Broker, "waiting", [*Broker.waiting, *(b"".join(lines[a : a + 40]) for a in (120, 160))])
    assert done.examples == 200
    assert Broker.committed == [3, 5]
    assert (done.model.coef_ == nr.train(b"".join(lines), nr.PA1()).model.coef_).all()
    with pytest.raises(ValueError, match="broker:test has no end: epochs must be 1, got 2"):
        nr.train("broker:test", nr.PA1(), epochs=2)
    assert isinstance(nr.stream("broker:test"), Stream)
    assert Held(b"x") == "<bytes>"
