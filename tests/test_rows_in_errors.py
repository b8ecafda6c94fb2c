"""An error about a row names the example of the source, whatever the batches, and a row beyond the limit is none."""

import gzip
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import noregret as nr
from noregret.streams.arrays import RecordsReader
from noregret.streams.delimited import CsvReader
from noregret.streams.svmlight import SvmlightReader
from noregret.streams.vw import VwReader

AT, N = 3000, 5000


def lines(kind, bad):
    """Return a file of N examples, one of them with this number."""
    cells = [(i % 7 / 7 if i != AT else bad, i % 2) for i in range(N)]
    if kind == "svm":
        return "# a comment\n\n" + "".join(f"{y} 1:{x} 2:1\n" for x, y in cells)
    if kind == "vw":
        return "".join(f"{2 * y - 1} | a:{x} b:1\n" for x, y in cells)
    if kind == "csv":
        return "name,a,label\n" + "".join(f'"two\nlines",{x},{y}\n' for x, y in cells)
    return "".join(json.dumps({"a": x, "label": y}) + "\n" for x, y in cells)


@pytest.mark.parametrize("kind", ["svm", "vw", "csv", "jsonl"])
@pytest.mark.parametrize("packed", [False, True])
def test_a_learner_that_refuses_a_row_names_the_example(tmp_path, kind, packed):
    path = tmp_path / f"rows.{kind}{'.gz' if packed else ''}"
    text = lines(kind, -1.0).encode()
    path.write_bytes(gzip.compress(text) if packed else text)
    source = {} if kind in ("svm", "vw") else {"target": "label"}
    for run in (nr.train, nr.evaluate):
        with pytest.raises(ValueError, match="-1 in example 3,001[.]"):
            run(str(path), nr.Winnow(theta=1.0), **source)
    assert nr.train(str(path), nr.Winnow(theta=1.0), limit=AT, **source).examples == AT


def test_examples_are_counted_from_the_beginning_of_the_file_whatever_the_position(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text(lines("csv", -1.0))
    opened = nr.stream(str(path), target="label")
    opened.reader.block = 10_000
    first = next(opened.chunks())
    second = next(opened.chunks(first.position))
    assert first.numbers.tolist() == list(range(first.n))
    assert second.numbers[0] == first.n


def test_rows_of_weight_0_count_as_examples(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,w,label\n" + "".join(f"{-1.0 if i == 3001 else 1.0},{i % 3},{i % 2}\n" for i in range(N)))
    with pytest.raises(ValueError, match="-1 in example 3,002[.]"):
        nr.train(str(path), nr.Winnow(theta=1.0), target="label", weight="w")


def test_rows_of_arrays_are_examples_too():
    X, y = np.ones((N, 2)), np.arange(N) % 2
    X[AT, 1] = -1.0
    with pytest.raises(ValueError, match="-1 in example 3,001[.]"):
        nr.evaluate((X, y), nr.Winnow())


@pytest.mark.parametrize("size", [1, 2, 3, 1024])
def test_labels_of_a_pair_stream_mean_the_same_whatever_the_batches(size):
    labels = ["1", 2, 1, "2", "x", 3, "3", 1, 2, "1"] * 3
    reader = RecordsReader([({"a": float(i % 3), "b": 1.0}, v) for i, v in enumerate(labels)])
    reader.rows = size
    model = nr.PA1()
    done = nr.train(reader, model)
    assert done.model.classes_.tolist() == ["1", 2, "x", 3]
    assert done.model.n_mistakes_ == 25


def rows_with_bad_ones(kind):
    """Return a file of 61 rows, of which the 2nd and the 5th are bad and the 61st too large for a scale."""
    good = [("1e200" if i == 60 else f"{i % 7}.5", "pq"[i % 2]) for i in range(61)]
    bad = {
        1: {"csv": "1", "jsonl": "{", "arff": "{0 x y}", "svm": "1 1:x"},
        4: {"csv": "1,2,3", "jsonl": "[]", "arff": "?", "svm": "z"},
    }
    form = {"csv": "{0},{1}", "jsonl": '{{"a": {0}, "label": "{1}"}}', "arff": "{{0 {0}, 1 {1}}}", "svm": "{1} 1:{0}"}[kind]
    head = {"csv": "a,label\n", "arff": "@relation r\n@attribute a numeric\n@attribute label {p,q}\n@data\n"}.get(kind, "")
    if kind == "svm":
        good = [(x, "1" if y == "p" else "2") for x, y in good]
    return head + "".join((bad[i][kind] if i in bad else form.format(*cells)) + "\n" for i, cells in enumerate(good))


@pytest.mark.parametrize("kind", ["csv", "jsonl", "arff", "svm"])
def test_bad_rows_that_are_left_out_are_counted(tmp_path, kind):
    path = tmp_path / f"rows.{kind}"
    path.write_text(rows_with_bad_ones(kind))
    source = {} if kind == "svm" else {"target": "label"}
    with pytest.raises(ValueError, match="1e[+]200 in example 61 overflows"):
        nr.train(str(path), "pa1", scale=True, on_bad="skip", **source)


def test_bad_rows_of_the_blocks_before_are_counted_too(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text(rows_with_bad_ones("csv"))
    reader = CsvReader(str(path), on_bad="skip", block=64)
    numbers = [n for batch in reader.batches() for n in batch.numbers.tolist()]
    assert numbers == [n for n in range(61) if n not in (1, 4)]
    first = next(iter(reader.batches()))
    again = CsvReader(str(path), on_bad="skip", block=64)
    assert next(iter(again.batches(first.position))).numbers[0] == numbers[first.n]


@pytest.mark.parametrize(("reader", "form"), [(SvmlightReader, "{} 1:{}"), (VwReader, "{} | a:{}")])
def test_bad_lines_are_counted_however_many(tmp_path, reader, form):
    path = tmp_path / "rows"
    bad = [n for n in range(300) if n % 3 == 1 or 100 <= n < 120]
    path.write_text("".join(form.format(n % 2, "x:" if n in bad else n) + "\n\n" for n in range(300)))
    found = list(reader(str(path), on_bad="skip", block=512).batches())
    assert len(found) > 2
    assert [n for batch in found for n in batch.numbers.tolist()] == [n for n in range(300) if n not in bad]
    assert next(reader(str(path), on_bad="skip").batches(found[1].position)).numbers[0] == found[2].numbers[0]


def test_rows_of_parquet_without_a_target_are_counted(tmp_path):
    path = tmp_path / "rows.parquet"
    labels = [None if i in (0, 7) else "pq"[i % 2] for i in range(30)]
    pq.write_table(pa.table({"a": [1e200 if i == 20 else 1.0 for i in range(30)], "label": labels}), path)
    with pytest.raises(ValueError, match="in example 21 overflows"):
        nr.train(str(path), "pa1", target="label", scale=True, on_bad="skip")


def test_bad_days_behind_bad_rows_are_named(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text("A,B\n10,20\n1\n11,21\n0,21\n")
    with pytest.raises(ValueError, match="row 4, asset 'A': expected a price above 0"):
        nr.train(str(path), "portfolio.eg", prices=True, on_bad="skip")


def test_a_column_or_a_cell_that_is_called_as_a_row_stays_as_it_is(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps({"row 3": 1.5 if i != 20 else 'row "4"', "label": "pq"[i % 2]}) + "\n" for i in range(30)))
    with pytest.raises(ValueError, match="column 'row 3' was declared numeric but holds 'row \"4\"' in example 21; expected"):
        nr.train(str(path), "pa1", target="label", numeric=["row 3"])
