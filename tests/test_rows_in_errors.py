"""An error about a row names the example of the source, whatever the batches, and a row beyond the limit is none."""

import gzip
import json

import numpy as np
import pytest

import noregret as nr
from noregret.streams.arrays import RecordsReader

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
