"""One value, one meaning: numbers, truth values and labels are the same in every format, however they are written."""

import io
import json
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import noregret as nr
from noregret.inputs.batch import BadRow
from noregret.inputs.labels import Coded, Labels
from noregret.training.answering import answer
from noregret.transforms.table import Table


def lines(rows):
    return "".join(json.dumps(x) + "\n" for x in rows).encode()


def parquet(rows):
    out = io.BytesIO()
    pd.DataFrame(rows).to_parquet(out)
    return out.getvalue()


def csv(rows):
    return pd.DataFrame(rows).to_csv(index=False).encode()


def scores(model, data, kind):
    return np.concatenate([said.scores.ravel() for said in answer(data, model, format=kind)])


def trained(rows, label="y", **options):
    return nr.train(csv(rows), nr.PA1(), format="csv", target=label, **options).model


# ---- features ----------------------------------------------------------------------------------------------------------
def test_a_text_that_is_a_number_is_one_in_a_column_found_numeric():
    model = trained([{"a": 1, "y": "p"}, {"a": -1, "y": "q"}] * 20)
    want = model.decision_function([{"a": 1}, {"a": -1}])
    assert want[0] < 0.0 < want[1]
    texts = [{"a": "1"}, {"a": " -1.0 "}]
    assert (model.decision_function(texts) == want).all()
    assert [model.predict_one(x) for x in texts] == ["p", "q"]
    for data, kind in ((lines(texts), "jsonl"), (lines([*texts, {"a": 1}]), "jsonl"), (parquet(texts), "parquet")):
        assert (scores(model, data, kind)[:2] == want).all()
    assert (model.decision_function(pd.DataFrame(texts)) == want).all()
    with pytest.raises(ValueError, match="column 'a' was found numeric but holds 'oops' in row 1"):
        model.predict(pd.DataFrame({"a": ["1", "oops"]}))


def test_numbers_and_truth_values_in_a_column_of_categories_are_categories():
    model = trained([{"a": "x", "y": "p"}, {"a": "7", "y": "q"}] * 20)
    want = model.decision_function([{"a": "7"}] * 2)
    assert want[0] > 0.5
    numbers = [{"a": 7}, {"a": 7.0}]
    assert (model.decision_function(numbers) == want).all()
    assert (scores(model, lines(numbers), "jsonl") == want).all()
    assert (scores(model, parquet(numbers), "parquet") == want).all()
    assert model.predict_one({"a": 7}) == "q"


@pytest.mark.parametrize("words", [("True", "False"), ("true", "false"), ("TRUE", "FALSE")])
def test_truth_values_are_one_category_in_every_format(words):
    model = trained([{"a": words[0], "y": "p"}, {"a": words[1], "y": "q"}] * 20)
    assert model.feature_names_ == ["a=True", "a=False"]
    truths = [{"a": True}, {"a": False}]
    want = model.decision_function([{"a": w} for w in words])
    assert want == pytest.approx([-1.0, 1.0])
    for data, kind in ((lines(truths), "jsonl"), (parquet(truths), "parquet"), (csv(truths), "csv")):
        assert (scores(model, data, kind) == want).all()
    assert (model.decision_function(truths) == want).all()
    assert [model.predict_one(x) for x in truths] == ["p", "q"]
    declared = Table(categorical="a")
    declared.rows([{"a": True}, {"a": "true"}, {"a": "Truth"}, {"a": "trüe"}], True)
    assert declared.feature_names == ["a=True", "a=Truth", "a=trüe"]


@pytest.mark.parametrize("first", [3, "old", "3", True])
def test_the_first_cell_decides_however_the_rows_are_split(first):
    rows = [{"v": v} for v in (first, 2, "5", True, "new", "true", 2.5)]
    whole = Table()
    together = whole.rows(rows, True)
    for size in (1, 3):
        table = Table()
        apart = [table.rows(rows[a : a + size], True) for a in range(0, len(rows), size)]
        assert table.feature_names == whole.feature_names
        assert [np.concatenate([r.arrays[k] for r in apart]).tolist() for k in (1, 2)] == [a.tolist() for a in together.arrays[1:]]
    read = Table()
    (batch,) = nr.stream(lines(rows), format="jsonl").reader.batches()
    assert [a.tolist() for a in read.rows(batch.data, True).arrays] == [a.tolist() for a in together.arrays]
    assert read.feature_names == whole.feature_names
    named = [f"v={first}", "v=2", *(["v=5", "v=True", "v=new", "v=2.5"])]
    assert whole.feature_names == (named if isinstance(first, str) else ["v", "v=new", "v=True"])


@pytest.mark.parametrize("nested_first", [True, False])
def test_nested_and_flat_keys_are_one_column(nested_first):
    rows = [{"a.b": 5, "y": 1}, {"a": {"b": 3}, "y": 0}][:: -1 if nested_first else 1]
    table = Table(target="y")
    (batch,) = nr.stream(lines(rows), format="jsonl").reader.batches()
    assert table.rows(batch.data, True).arrays[2].tolist() == ([3.0, 5.0] if nested_first else [5.0, 3.0])
    assert table.feature_names == ["a.b"]


def test_one_key_twice_is_refused():
    with pytest.raises(BadRow, match=r":1: expected one cell under 'a.b', found two: a key with a dot, and one inside an object"):
        nr.train(lines([{"a.b": 5, "y": 1, "a": {"b": 3}}]), "pa1", format="jsonl", target="y")
    frame = pa.table({"a.b": [1], "a": [{"b": 2}]})
    with pytest.raises(ValueError, match="there are two columns 'a.b'"):
        nr.pipeline(nr.PA1()).partial_fit(frame, [1])


# ---- labels ------------------------------------------------------------------------------------------------------------
def labelled(a, b):
    return [{"a": 1, "y": a}, {"a": 2, "y": b}]


@pytest.mark.parametrize("classes", [(1, 0), ("1", "0"), (True, False), ("True", "False"), ("yes", "no")])
@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_labels_are_read_as_the_classes_of_the_model(classes, kind):
    write = {"csv": csv, "jsonl": lines, "parquet": parquet}
    model = nr.train(lines(labelled(*classes) * 20), nr.PA1(), format="jsonl", target="y").model
    data = write[kind](labelled(*classes))
    (said,) = answer(data, model, format=kind)
    truth = said.truth.array() if isinstance(said.truth, Coded) else said.truth
    assert truth.tolist() == said.y.tolist() == list(classes)
    more = nr.train(data, model, format=kind).model
    assert sorted(more.classes_.tolist()) == sorted(classes)


def test_classes_of_one_type_are_not_merged():
    labels = Labels()
    labels.extend(["1", "True", 0])
    coded = Coded(["1.0", "true", "0", "1"], np.array([3, 0, 1, 2]))
    assert labels.read(coded).array().tolist() == ["1", "1.0", "true", 0]
    numbers = np.array([1, 0, 2])
    assert labels.read(numbers).array().tolist() == ["1", 0, 2]
    labels = Labels([1, 0])
    assert labels.read(numbers) is numbers


def test_labels_that_are_no_classes_are_said():
    model = trained(labelled("<=50K", ">50K") * 20)
    with pytest.warns(UserWarning, match=r"none of the labels of its first rows \('<=50K.', '>50K.'\) is a class of the model"):
        list(answer(csv(labelled("<=50K.", ">50K.")), model, format="csv"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        list(answer(csv(labelled("<=50K", "other")), model, format="csv"))


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_a_target_may_be_declared_text(kind):
    rows = labelled("0", "1") * 600 + labelled("maybe", "2")
    data = csv(rows) if kind == "csv" else lines([{**x, "y": x["y"] if x["y"] == "maybe" else int(x["y"])} for x in rows])
    said = "1202:2: expected a number, or declare the target categorical" if kind == "csv" else "or declare the target categorical"
    with pytest.raises((BadRow, TypeError), match=said):
        nr.train(data, "pa1", format=kind, target="y")
    model = nr.train(data, "pa1", format=kind, target="y", categorical="y").model
    assert model.classes_.tolist() == ["0", "1", "2", "maybe"]
    assert model.feature_names_ == ["a"]
    assert model.predict([{"a": 1.0}]).shape == (1,)
    assert [x.truth.array().tolist() for x in answer(lines(labelled(1, 0)), model, format="jsonl")] == [["1", "0"]]
    dicts = nr.pipeline(Table(target="y", categorical="y"), nr.PA1()).partial_fit([{"a": 1.0, "y": 1}, {"a": 2.0, "y": "no"}])
    assert dicts.classes_.tolist() == ["1", "no"]


def test_truth_values_beside_numbers_are_no_labels():
    with pytest.raises(TypeError, match="the target 'y' holds numbers in some rows and truth values in others"):
        nr.train(lines([*labelled(True, False), {"a": 2, "y": 1}]), "pa1", format="jsonl", target="y")
