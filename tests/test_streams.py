"""Streams as a whole: formats by name and beginning, pipes, reading ahead, and training that stops and goes on anywhere."""

import json
import os
import threading

import pyarrow as pa
import pyarrow.parquet
import pytest

import noregret as nr
from noregret.core.batch import BadRow
from noregret.streams.tables import CsvReader, JsonReader, ParquetReader
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


def test_a_pipe_without_a_known_name_is_not_tasted(tmp_path):
    os.mkfifo(tmp_path / "p")
    with pytest.raises(ValueError, match="pipe .* give one of"):
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
