"""Examples written in every format are read back as the same numbers."""

import gzip
import json
import os

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.sparse import csr_matrix, random_array

import noregret as nr
from noregret.cli import main
from noregret.inputs.labels import Coded
from noregret.streams import writers
from noregret.streams.stream import stream

ODD = [0.1, 1.0 / 3.0, 1e-300, -5e-324, 1.7976931348623157e308, 123456789.0, 1e22, 2.0**53]


def numbers(seed=0, n=300, d=9):
    """Sparse rows of all sizes, rows without features among them, and labels."""
    rng = np.random.default_rng(seed)
    X = random_array((n, d), density=0.4, rng=rng, data_sampler=lambda size: rng.standard_normal(size)).toarray()
    X *= np.exp(rng.normal(0.0, 20.0, X.shape))
    X[: len(ODD), 1] = ODD
    X[10:14] = 0.0
    return X, rng.integers(-1, 2, n)


def svmlight(path, X, y):
    path.write_text("".join(f"{t} " + " ".join(f"{j}:{float(v)!r}" for j, v in enumerate(r) if v) + "\n" for r, t in zip(X, y)))


def read(path, **options):
    """All of a source: rows as a dense array, labels, weights, ids."""
    parts, ys, cs, ids = [], [], [], []
    for batch in stream(str(path), **options).chunks():
        rows = batch.data
        if rows.layout == "csr":
            start, places, values = writers.sparse(rows)
            parts.append(csr_matrix((values, places, start), shape=(rows.n, rows.width)).toarray())
        else:
            parts.append(rows.arrays[0])
        ys += (batch.y.array() if isinstance(batch.y, Coded) else batch.y).tolist() if batch.y is not None else []
        cs += [] if batch.c is None else batch.c.tolist()
        ids += [] if batch.ids is None else list(batch.ids)
    width = max(p.shape[1] for p in parts)
    return np.vstack([np.pad(p, ((0, 0), (0, width - p.shape[1]))) for p in parts]), ys, cs, ids


@pytest.fixture
def rows(tmp_path):
    X, y = numbers()
    svmlight(tmp_path / "rows.svm", X, y)
    return tmp_path / "rows.svm", X, y


@pytest.mark.parametrize("name", ["a.svm", "a.svm.gz", "a.vw", "a.vw.zst", "a.npz"])
def test_numbered_features_come_back(name, rows, tmp_path):
    source, X, y = rows
    done = writers.convert(str(source), tmp_path / name)
    assert (done.rows, done.labels) == (300, {})
    got, labels, _, _ = read(tmp_path / name)
    assert np.array_equal(got[:, : X.shape[1]], X)
    assert labels == y.tolist()
    assert sorted(os.listdir(tmp_path)) == sorted([name, "rows.svm"])


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.csv.gz", "a.jsonl", "a.jsonl.zst", "a.parquet"])
def test_numbered_features_as_columns(name, rows, tmp_path):
    source, X, y = rows
    writers.convert(str(source), tmp_path / name)
    names = [f"x{j}" for j in range(X.shape[1])]
    found = {n: [] for n in names}
    labels = []
    for batch in stream(str(tmp_path / name), target="target").reader.batches():
        columns = {n: batch.data.column(n).to_pylist() for n in batch.data.schema.names}
        labels += columns["target"]
        for n in names:
            found[n] += [v or 0.0 for v in columns.get(n, [0.0] * batch.data.num_rows)]
    assert np.array_equal(np.array([found[n] for n in names]).T, X)
    assert labels == y.tolist()


def test_back_again(rows, tmp_path):
    """Through every format in turn and back."""
    source, X, y = rows
    chain = ["b.npz", "c.vw", "d.svm"]
    last = source
    for name in chain:
        writers.convert(str(last), tmp_path / name)
        last = tmp_path / name
    got, labels, _, _ = read(last)
    assert np.array_equal(got, X)
    assert labels == y.tolist()


def test_dense_rows(tmp_path):
    X, y = numbers(n=50)
    np.savez(tmp_path / "x.npz", X=X, y=y, sample_weight=np.arange(50) / 3.0)
    writers.convert(str(tmp_path / "x.npz"), tmp_path / "x.vw")
    writers.convert(str(tmp_path / "x.vw"), tmp_path / "y.npz")
    with np.load(tmp_path / "y.npz") as found:
        again = csr_matrix((found["data"], found["indices"], found["indptr"]), shape=found["shape"]).toarray()
        assert np.array_equal(again[:, :9], X)
        assert np.array_equal(found["y"], y)
        assert np.array_equal(found["sample_weight"], np.arange(50) / 3.0)
    with pytest.raises(ValueError, match="no place for the weights"):
        writers.convert(str(tmp_path / "x.npz"), tmp_path / "x.svm")


TABLE = 'name,size,when,spam\n"a, b",0.1,2,yes\n"c ""d""",,3,no\né,1e-300,4,yes\n'


@pytest.mark.parametrize(
    "chain", [["b.jsonl", "c.parquet", "d.csv"], ["b.tsv", "c.csv.gz", "d.jsonl"], ["b.parquet", "c.jsonl.gz", "d.tsv"]]
)
def test_tables_stay_as_they_are(chain, tmp_path):
    (tmp_path / "a.csv").write_text(TABLE)
    last = tmp_path / "a.csv"
    for name in chain:
        assert writers.convert(str(last), tmp_path / name).rows == 3
        last = tmp_path / name
    rows = [r for batch in stream(str(last)).reader.batches() for r in batch.data.to_pylist()]
    assert [{k: v for k, v in r.items() if v is not None} for r in rows] == [
        {"name": "a, b", "size": 0.1, "when": 2, "spam": "yes"},
        {"name": 'c "d"', "when": 3, "spam": "no"},
        {"name": "é", "size": 1e-300, "when": 4, "spam": "yes"},
    ]


def test_labels_that_are_texts_become_numbers(tmp_path):
    (tmp_path / "a.csv").write_text(TABLE)
    done = writers.convert(str(tmp_path / "a.csv"), tmp_path / "a.svm", target="spam", ignore=["name"])
    assert done.labels == {"yes": 0, "no": 1}
    assert read(tmp_path / "a.svm")[1] == [0, 1, 0]
    done = writers.convert(str(tmp_path / "a.csv"), tmp_path / "a.vw", target="spam", ignore=["name"], id="when")
    assert done.labels == {"yes": 1, "no": 2}
    _, labels, _, ids = read(tmp_path / "a.vw")
    assert labels == [1, 2, 1]
    assert [i.decode() if isinstance(i, bytes) else str(i) for i in ids] == ["2", "3", "4"]
    with pytest.raises(ValueError, match="cannot be a tag of VW"):
        writers.convert(str(tmp_path / "a.csv"), tmp_path / "a.vw", target="spam", id="name")
    writers.convert(str(tmp_path / "a.csv"), tmp_path / "a.npz", target="spam", ignore=["name"])
    with np.load(tmp_path / "a.npz") as found:
        assert found["y"].tolist() == ["yes", "no", "yes"]


def test_keys_that_come_and_go(tmp_path):
    lines = [{"a": 1.5, "b": "x"}, {"a": 2.5}, {"b": "y", "a": 0.25}]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    writers.convert(str(tmp_path / "a.jsonl"), tmp_path / "b.jsonl.gz")
    with gzip.open(tmp_path / "b.jsonl.gz", "rt") as f:
        assert [json.loads(line) for line in f] == lines
    (tmp_path / "mixed.jsonl").write_text('{"a": 1}\n{"a": "x"}\n')
    with pytest.raises(ValueError, match="column 'a' holds texts and numbers"):
        writers.convert(str(tmp_path / "mixed.jsonl"), tmp_path / "c.csv")
    writers.convert(str(tmp_path / "mixed.jsonl"), tmp_path / "d.jsonl")
    assert [json.loads(line) for line in (tmp_path / "d.jsonl").read_text().splitlines()] == [{"a": 1}, {"a": "x"}]


def test_columns_of_later_batches():
    import pyarrow as pa

    record = pa.RecordBatch.from_pydict({"b": [1.0]})
    assert writers.aligned(record, ["a", "b"]).to_pylist() == [{"a": None, "b": 1.0}]
    with pytest.raises(ValueError, match="column 'b' is not among"):
        writers.aligned(record, ["a"])


def test_what_cannot_be_written(rows, tmp_path, monkeypatch):
    source = str(rows[0])
    for name, what in [
        ("a.doc", "cannot tell from the name"),
        ("a.arff", "cannot tell from the name"),
        ("a.parquet.gz", "leave out .gz"),
        ("no/a.svm", "there is no directory"),
    ]:
        with pytest.raises((ValueError, FileNotFoundError), match=what):
            writers.convert(source, tmp_path / name)
    (tmp_path / "breaks.csv").write_text('a\n"b\nc"\n')
    with pytest.raises(ValueError, match="column 'a' has a tab or a line break"):
        writers.convert(str(tmp_path / "breaks.csv"), tmp_path / "a.tsv")
    os.unlink(tmp_path / "breaks.csv")
    monkeypatch.setattr(writers, "LIMIT", 100)
    with pytest.raises(ValueError, match="more than 0 MB"):
        writers.convert(source, tmp_path / "a.npz")
    monkeypatch.setattr(writers, "MOST", 5)
    with pytest.raises(ValueError, match="more than 5 features"):
        writers.convert(source, tmp_path / "a.csv")
    (tmp_path / "bad.svm").write_text("1 1:1\n1 1:x\n")
    with pytest.raises(ValueError, match=r"bad.svm:2"):
        writers.convert(str(tmp_path / "bad.svm"), tmp_path / "a.svm")
    assert sorted(os.listdir(tmp_path)) == ["bad.svm", "rows.svm"]  # no half of a file


def test_queries_are_kept(tmp_path):
    (tmp_path / "q.svm").write_text("1 qid:3 1:2\n0 qid:4 2:1\n")
    writers.convert(str(tmp_path / "q.svm"), tmp_path / "r.svm")
    assert [line.split() for line in (tmp_path / "r.svm").read_text().splitlines()] == [
        ["1", "qid:3", "1:2"],
        ["0", "qid:4", "2:1"],
    ]


def test_the_command(rows, tmp_path):
    source = rows[0]
    args = ["convert", str(source), str(tmp_path / "a.parquet"), "--limit", "17"]
    result = CliRunner().invoke(main, args)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith(f"Wrote 17 rows to {tmp_path / 'a.parquet'} (parquet, ")
    found = json.loads(CliRunner().invoke(main, [*args, "--json"]).stdout)
    assert (found["rows"], found["format"], found["skipped"]) == (17, "parquet", 0)
    result = CliRunner().invoke(main, ["convert", str(source), str(tmp_path / "a.doc")])
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: cannot tell from the name")


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "parquet"])
def test_declared_columns_are_written_as_they_are(tmp_path, monkeypatch, kind):
    monkeypatch.chdir(tmp_path)
    rows = [("01234", "9007199254740993", "007", "1", "a"), ("00012", "12345678901234567890", "08", "2.5", "b")]
    (tmp_path / "z.csv").write_text("zip,acct,key,x,y\n" + "".join(",".join(row) + "\n" for row in rows * 20))
    args = ["convert", "z.csv", f"out.{kind}", "--categorical", "zip", "--text", "acct", "--id", "key"]
    assert CliRunner().invoke(main, args).exit_code == 0
    roles = {"categorical": "zip", "text": "acct", "id": "key"}
    opened = stream(f"out.{kind}", **roles)
    opened.reader.heed(opened.front.table, False)
    found = [row for batch in opened.reader.batches() for row in batch.data.to_pylist()]
    assert [(row["zip"], row["acct"], row["key"], row["x"]) for row in found[:2]] == [(*row[:3], float(row[3])) for row in rows]
    model = nr.train("z.csv", "pa1", target="y", **roles).model
    model.save("m.nr")
    whole, again = (CliRunner().invoke(main, ["predict", name, "--model-file", "m.nr"]).stdout for name in ("z.csv", f"out.{kind}"))
    assert whole == again != ""


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_codes_stay_as_they_are_written(tmp_path, ending):
    path, copy = tmp_path / "codes.csv", tmp_path / f"copy.{ending}"
    path.write_text("zip,long,n,label\n01234,12345678901234567890,1,a\n90210,1,-2.5,b\n,,0,a\n")
    writers.convert(str(path), copy)
    batch = next(iter(stream(str(copy), text=["zip", "long"]).reader.batches())).data
    if ending == "csv":  # where a reader makes numbers of them again, unless it is told not to
        assert copy.read_text().splitlines()[1:3] == ['"01234","12345678901234567890",1,"a"', '"90210","1",-2.5,"b"']
        return
    assert batch.column("zip").to_pylist()[:2] == ["01234", "90210"]
    assert batch.column("long").to_pylist()[:2] == ["12345678901234567890", "1"]
    assert batch.column("n").to_pylist() == [1.0, -2.5, 0.0]


def test_a_code_after_numbers_is_told(tmp_path):
    path = tmp_path / "codes.csv"
    path.write_text("zip,label\n" + "".join(f"{i},a\n" for i in range(1, 3000)) + "01234,b\n")
    reader = nr.stream(str(path)).reader
    reader.block = 1000
    with pytest.raises(ValueError, match=r"codes.csv:3001:1: .*column 'zip', or declare it categorical or numeric, found '01234'"):
        writers.convert(reader, tmp_path / "copy.csv")
    writers.convert(str(path), tmp_path / "copy.csv", numeric=["zip"])
    assert (tmp_path / "copy.csv").read_text().endswith('1234,"b"\n')
