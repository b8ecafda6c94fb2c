"""One value, one meaning: numbers, truth values and labels are the same in every format, however they are written."""

import io
import json

import numpy as np
import pandas as pd
import pytest

import noregret as nr
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
