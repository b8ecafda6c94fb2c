"""Tables, scalers, fronts and pipelines: against plain transcriptions, scikit-learn, and themselves cut into other pieces."""

import copy
import datetime
import json
import math
import re
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from scipy.sparse import random as random_sparse
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler, normalize

import noregret as nr
from noregret import spelling
from noregret.engine import compiling
from noregret.inputs import checking
from noregret.inputs.batch import Batch
from noregret.inputs.hashing import hash_name
from noregret.inputs.labels import Coded
from noregret.transforms import maps
from noregret.transforms.front import Front
from noregret.transforms.per_entry import PerEntry
from noregret.transforms.pipeline import Category, Cross, Hash, Pipeline, Text, pipeline
from noregret.transforms.scale import Normalize, Scale
from noregret.transforms.step import Map
from noregret.transforms.table import Table

WORDS = ["free", "Money", "now", "the", "a_b", "x2", "Übung", "naïve", "日本語", "Ωmega", "don't", "—", "£5", "😀"]


def random_examples(n, seed, text=True):
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(n):
        x = {
            "age": float(np.round(rng.normal(40, 10), 3)),
            "country": str(rng.choice(["DE", "FR", "US", "日本"])),
            "member": bool(rng.random() < 0.5),
            "visits": int(rng.integers(0, 5)),
            "zip": int(rng.integers(100, 104)),
        }
        if text:
            x["body"] = " ".join(rng.choice(WORDS, rng.integers(1, 9)))
        rows.append({k: None if rng.random() < 0.15 else v for k, v in x.items()})
    return rows


# ---- the table, said again in plain Python ---------------------------------------------------------------------------
def words(text):
    return [w.lower() for w in re.findall(r"[\w]+", text)]


def transcribed(examples, crosses=(), ngrams=1, chars=None, text=("body",), categorical=("zip",)):
    """Each row as {name: value}, in the order of first appearance of the columns."""
    columns, out = {}, []
    for x in examples:
        for name, v in x.items():
            if v is not None and v != "" and name not in columns:
                auto = "number" if not isinstance(v, str) else "category"
                columns[name] = "text" if name in text else "category" if name in categorical else auto
        cells = {}
        for name, role in columns.items():
            v = x.get(name)
            cells[name] = []
            if v is None:
                continue
            if role == "number":
                cells[name] = [(name, float(v))]
            elif role == "category":
                cells[name] = [(f"{name}={v}", 1.0)]
            else:
                w = words(v)
                for k in range(len(w)):
                    cells[name] += [(f"{name}:" + " ".join(w[k + 1 - g : k + 1]), 1.0) for g in range(1, ngrams + 1) if g <= k + 1]
                    padded = f" {w[k]} "
                    for a in range(len(padded)):
                        for g in range(*((chars[0], chars[1] + 1) if chars else (0, 0))):
                            if a + g <= len(padded):
                                cells[name].append((f"{name}~{padded[a : a + g]}", 1.0))
        row = {}
        for name, role in columns.items():
            for k, v in cells[name] or ([(f"{name}?", 1.0)] if role == "number" else []):
                row[k] = row.get(k, 0.0) + v
        for cross in crosses:
            found = [("", 1.0)]
            for name in cross.split(","):
                found = [(f"{a}&{b}" if a else b, u * v) for a, u in found for b, v in cells.get(name, [])]
            for k, v in found:
                row[k] = row.get(k, 0.0) + v
        out.append(row)
    return out


def as_named(rows, names):
    indptr, indices, data = rows.arrays
    return [
        {names[j]: v for j, v in zip(indices[a:b].tolist(), data[a:b].tolist())}
        for a, b in zip(indptr.tolist(), indptr[1:].tolist())
    ]


def record(examples):
    return pa.RecordBatch.from_pylist(examples)


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"ngrams": 3, "cross": ["country,age", "zip,country,member", "age,visits", "body,country"]},
        {"chars": (2, 3), "ngrams": 0},
    ],
)
def test_a_table_is_what_its_transcription_says(more):
    examples = random_examples(60, 1)
    table = Table(text="body", categorical=["zip"], **more)
    rows = table.rows(record(examples), True)
    want = transcribed(examples, more.get("cross", ()), more.get("ngrams", 1), more.get("chars"))
    got = as_named(rows, table.feature_names)
    assert [list(r) for r in got] == [list(r) for r in want], "the same names in the same order"
    assert all(got[i][k] == pytest.approx(v, rel=1e-15) for i, r in enumerate(want) for k, v in r.items())
    met = list(dict.fromkeys(k for r in want for k in r))
    assert table.feature_names == met, "numbers go by first appearance, row by row"


def test_words_are_those_of_scikit_learn():
    texts = [" ".join(x) for x in np.random.default_rng(0).choice(WORDS, (50, 12))]
    table = Table(text="body", ngrams=2)
    rows = table.rows(pa.RecordBatch.from_pydict({"body": texts}), True)
    vectorizer = CountVectorizer(token_pattern=r"(?u)\w+", ngram_range=(1, 2))
    want = vectorizer.fit_transform(texts).toarray()
    names = [f"body:{w}" for w in vectorizer.get_feature_names_out()]
    for i, row in enumerate(as_named(rows, table.feature_names)):
        assert row == {names[j]: want[i, j] for j in np.flatnonzero(want[i])}


def test_binary_counts_once_and_case_may_stay():
    table = Table(text="t", binary=True, lower=False)
    rows = table.rows([{"t": "Free free Free"}], True)
    assert as_named(rows, table.feature_names) == [{"t:Free": 1.0, "t:free": 1.0}]


def test_marks_and_letters_beyond_the_first_plane():
    table = Table(text="t")
    table.rows([{"t": "हिन्दी 𐐀𐐁 𠀀𠀁 İx x😀y"}], True)
    assert table.feature_names == ["t:हिन्दी", "t:𐐨𐐩", "t:𠀀𠀁", "t:İx", "t:x", "t:y"], (
        "a simple lower case keeps one letter one letter"
    )


# ---- laws ------------------------------------------------------------------------------------------------------------
def same(a, b):
    return all(np.array_equal(x, y) for x, y in zip(a.arrays, b.arrays)) and a.layout == b.layout


def joined(parts):
    indptr = np.concatenate([[0], *(np.diff(p.arrays[0]) for p in parts)]).cumsum()
    return checking.Rows("csr", (indptr, *(np.concatenate([p.arrays[k] for p in parts]) for k in (1, 2))), 0, 0)


def fronts():
    yield Front(Table(text="body", categorical="zip", cross=["country,age"], ngrams=2), [Scale(), Normalize()])
    yield Front(Table(text="body", categorical="zip", cross=["country,age"], hash_bits=6, names=40), [Scale()])
    yield Front(Table(), [])


@pytest.mark.parametrize("k", range(3))
def test_any_split_gives_the_same_bits(k):
    front = list(fronts())[k]
    examples = random_examples(80, 2)
    whole = front.fresh().rows(record(examples), True)
    schema = record(examples).schema
    for cuts in ([1] * 80, [7, 13, 60], [80]):
        one, at, parts, dicts = front.fresh(), 0, [], []
        other = front.fresh()
        for size in cuts:
            part = examples[at : at + size]
            parts.append(one.rows(pa.RecordBatch.from_pylist(part, schema=schema), True))
            dicts.append(other.rows(part, True))
            at += size
        assert same(joined(parts), whole)
        assert same(joined(dicts), whole), "dicts and record batches are one path"
        assert json.dumps(one.meta()) != ""
        assert one.names == other.names
        for name, a in one.tensors().items():
            assert np.array_equal(a, other.tensors()[name]), name


@pytest.mark.parametrize("k", range(3))
def test_a_restored_front_goes_on_bit_for_bit_and_predicting_changes_nothing(k):
    front = list(fronts())[k]
    examples = random_examples(60, 3)
    front.rows(examples[:30], True)
    back = Front.restored(json.loads(json.dumps(front.meta())), copy.deepcopy(front.tensors()))
    before = (json.dumps(front.meta()), copy.deepcopy(front.tensors()))
    pure = front.rows(examples[30:], False)
    assert json.dumps(front.meta()) == before[0]
    assert all(np.array_equal(a, front.tensors()[name]) for name, a in before[1].items())
    assert same(pure, back.rows(examples[30:], False))
    assert same(front.rows(examples[30:], True), back.rows(examples[30:], True))
    assert front.names == back.names
    assert front.tensors().keys() == back.tensors().keys()


def test_unknown_names_are_left_out_of_predictions():
    table = Table()
    table.rows([{"c": "DE", "n": 1.0}], True)
    assert as_named(table.rows([{"c": "FR", "n": 2.0, "new": "x"}], False), table.feature_names) == [{"n": 2.0}]


@settings(max_examples=30, deadline=None)
@given(st.lists(st.text(min_size=1, max_size=12), min_size=1, max_size=8), st.integers(1, 31))
def test_hashes_are_those_of_the_core(values, bits):
    table = Table(hash_bits=bits, categorical="c")
    numbers, data = table.row({"c": values[0]}, True)
    values = [v.capitalize() if v.lower() in ("true", "false") else v for v in values]
    assert numbers.tolist() == [hash_name(f"c={values[0]}") & ((1 << bits) - 1)]
    assert data.tolist() == [1.0]
    for v in values:
        table.row({"c": v}, True)
    names = list(dict.fromkeys(f"c={v}" for v in values))
    assert table.feature_names == names
    assert table.collisions == len(names) - len({hash_name(n) & ((1 << bits) - 1) for n in names})


def test_hashed_rows_are_folded_exact_rows():
    examples = random_examples(50, 4)
    exact, folded = Table(text="body", ngrams=2), Table(text="body", ngrams=2, hash_bits=4)
    names = None
    rows = exact.rows(examples, True)
    names = exact.feature_names
    for row, (a, b) in zip(
        as_named(rows, names), zip(*(folded.rows(examples, True).arrays[0][s] for s in (slice(-1), slice(1, None))))
    ):
        want = {}
        for name, v in row.items():
            want[hash_name(name) & 15] = want.get(hash_name(name) & 15, 0.0) + v
        _, indices, data = folded.rows(examples, False).arrays
        got = dict(zip(indices[a:b].tolist(), data[a:b].tolist()))
        assert len(got) == b - a, "entries that meet are one"
        assert got == pytest.approx(want)
    assert folded.collisions == len(names) - len({hash_name(n) & 15 for n in names})


def test_the_table_of_names_is_bounded():
    table = Table(hash_bits=20, names=3)
    for k in range(10):
        table.row({"c": f"v{k}"}, True)
    assert table.feature_names == ["c=v0", "c=v1", "c=v2"]


def test_many_names_and_long_rows_grow_every_room():
    rng = np.random.default_rng(0)
    examples = [{"t": " ".join(f"w{k}" for k in rng.integers(0, 20000, 3000)), "c": f"value {i}"} for i in range(6)]
    table = Table(text="t", ngrams=2, cross=["c,t"])
    got = as_named(table.rows(examples, True), table.feature_names)
    assert got == transcribed(examples, ["c,t"], 2, text=("t",))


def test_interpreted_is_compiled():
    examples = random_examples(12, 5)
    front = next(fronts())
    compiled = front.fresh().rows(examples, True)
    with compiling.interpreted():
        assert same(front.fresh().rows(examples, True), compiled)


# ---- what columns are ------------------------------------------------------------------------------------------------
def test_roles_are_decided_by_the_first_value():
    table = Table(target="y")
    long = "this text has more than five words"
    frame = pd.DataFrame({"a": [None, 1.5], "b": [True, False], "c": ["x", "y"], "d": [long, "no"], "y": [0, 1], "e": [None, None]})
    table.rows(pa.RecordBatch.from_pandas(frame), True)
    assert table.column_roles == {"b": "numeric", "c": "categorical", "d": "text", "a": "numeric"}
    assert "a?" not in table.feature_names, "a missing number is marked once it is known to be a number"
    table.rows(pa.RecordBatch.from_pandas(frame), True)
    assert "a?" in table.feature_names


def test_dictionary_columns_are_categories_and_numbers_may_be():
    record = pa.RecordBatch.from_arrays(
        [pa.array(["a long text of more than five words", "b"]).dictionary_encode(), pa.array([1.0, 2.5]), pa.array([7, None])],
        names=["d", "f", "i"],
    )
    table = Table(categorical=["f", "i"])
    table.rows(record, True)
    assert table.feature_names == ["d=a long text of more than five words", "f=1", "i=7", "d=b", "f=2.5"]


def test_keys_a_dict_lacks_are_no_missing_numbers():
    bags = [{"free": 1, "money": 2}, {"you": 1}, {"free": None, "you": 3}, {"new": None}]
    want = [{"free": 1.0, "money": 2.0}, {"you": 1.0}, {"free?": 1.0, "you": 3.0}, {}]
    whole, one = Table(), Table()
    assert as_named(whole.rows(bags, True), whole.feature_names) == want
    assert [as_named(one.rows([x], True), one.feature_names)[0] for x in bags] == want
    assert one.feature_names == whole.feature_names


def test_bags_of_many_names_are_encoded_alike():
    rng = np.random.default_rng(0)
    bags = [{f"w{k}": float(v) for k, v in zip(rng.integers(0, 900, 20), rng.normal(size=20))} for _ in range(100)]
    table = Table()
    rows = table.rows(bags, True)
    assert as_named(rows, table.feature_names) == bags
    assert rows.width == len(table.feature_names) == len({k for x in bags for k in x})
    front = Front(Table(), [Scale()])
    with pytest.raises(TypeError, match="expected examples as dicts of named cells, got str in row 99"):
        front.rows([*bags[:99], "w"], True)
    with pytest.raises(ValueError, match="feature 'w1' is inf"):
        front.rows([*bags[:99], {"w1": math.inf}], True)
    assert front.names == []


def test_a_column_may_hold_texts_and_numbers():
    table = Table()
    assert as_named(table.rows([{"v": 3}, {"v": "old"}, {"v": None}], True), table.feature_names) == [
        {"v": 3.0},
        {"v=old": 1.0},
        {"v?": 1.0},
    ]


@pytest.mark.parametrize(
    ("given", "data", "said"),
    [
        ({"numeric": "a"}, {"a": ["1", "x"]}, "column 'a' was declared numeric but holds 'x' in row 1"),
        ({}, {"a": [1.0, math.inf]}, "column 'a' holds inf in row 1"),
        ({}, {"a": [datetime.time(12)]}, "column 'a' is of type time"),
        ({}, {"a": [[1, 2]]}, "column 'a' is of type list"),
        ({"text": "bdy"}, {"body": ["x"]}, "no column 'bdy'; did you mean 'body'"),
        ({"cross": "a,c"}, {"a": ["x"]}, "no column 'c'"),
        ({}, {"a": ["short", "x" * 300]}, "read as categories, but row 1 of the batch holds 300 bytes"),
    ],
)
def test_what_a_table_refuses_leaves_it_as_it_was(given, data, said):
    front = Front(Table(**given), [Scale()])
    before = json.dumps(front.meta())
    with pytest.raises((TypeError, ValueError), match=said):
        front.rows(pa.RecordBatch.from_pydict(data), True)
    assert json.dumps(front.meta()) == before
    assert front.names == []


@pytest.mark.parametrize(
    "given",
    [
        {"text": "a", "categorical": "a"},
        {"target": "a", "text": "a"},
        {"target": "a", "numeric": "a", "categorical": "a"},
        {"cross": "a"},
        {"hash_bits": 40},
        {"ngrams": -1},
        {"chars": (3, 2)},
    ],
)
def test_settings_that_make_no_sense(given):
    with pytest.raises(ValueError, match=r"declared twice|a cross takes|hash_bits must|ngrams must|chars must"):
        Table(**given)


def test_other_columns_than_before_are_named():
    table = Table()
    table.rows(pa.RecordBatch.from_pydict({"a": [1.0], "b": ["x"]}), True)
    with pytest.raises(ValueError, match="missing: b"):
        table.rows(pa.RecordBatch.from_pydict({"a": [1.0]}), False)
    with pytest.raises(ValueError, match="new: c"):
        table.rows(pa.RecordBatch.from_pydict({"a": [1.0], "b": ["x"], "c": [1]}), True)
    assert len(table.rows(pa.RecordBatch.from_pydict({"b": ["x"], "a": [1.0]}), False).arrays[1]) == 2, "their order is free"


def batch(data):
    return Batch(pa.RecordBatch.from_pydict(data), None, {})


def test_target_weight_id_and_time_are_pulled_out():
    front = Front(Table(target="y", weight="w", id="k", time="t"))
    got = front.batch(
        batch(
            {
                "y": ["b", "a", "b"],
                "w": [1, 2, 0],
                "k": [7, 8, 9],
                "t": ["2024-01-01", "2024-01-02", "1970-01-01"],
                "x": [1.0, 2, 3],
            }
        ),
        True,
    )
    assert isinstance(got.y, Coded)
    assert (got.y.values, got.y.codes.tolist()) == (["b", "a"], [0, 1, 0])
    assert got.c.tolist() == [1.0, 2.0, 0.0]
    assert got.ids.tolist() == ["7", "8", "9"]
    assert got.column("time").tolist() == [1704067200.0, 1704153600.0, 0.0]
    assert front.names == ["x"]
    assert front.batch(batch({"k": [1], "t": ["2024-01-01"], "x": [1.0]}), False).y is None, "predictions need no target"
    with pytest.raises(ValueError, match="column 'y' has no value in row 1"):
        front.batch(batch({"y": ["b", None], "w": [1, 1], "k": [7, 8], "t": ["2024-01-01"] * 2, "x": [1.0, 2]}), True)
    for y, dtype in (([1, 0], np.int64), ([0.5, 1], np.float64), ([True, False], bool)):
        assert Front(Table(target="y")).batch(batch({"y": y, "x": [1, 2]}), True).y.dtype == dtype


# ---- scaling ---------------------------------------------------------------------------------------------------------
def test_scale_is_the_standard_scaler_of_what_came_so_far():
    X = np.random.default_rng(0).normal(3, 2, (40, 5))
    X[:, 2] = 7.0
    scale = Scale()
    got = scale.rows(checking.rows(X, "float64"), True).arrays[0]
    assert not got[0].any(), "one value has no spread"
    for i in range(1, 40):
        want = StandardScaler().fit(X[: i + 1]).transform(X[i : i + 1])[0]
        want[2] = 0.0
        assert got[i] == pytest.approx(want, abs=1e-12)
    kept = scale.rows(checking.rows(X, "float64"), False).arrays[0]
    assert kept[:, [0, 1, 3, 4]] == pytest.approx(StandardScaler().fit_transform(X)[:, [0, 1, 3, 4]], abs=1e-12)


def test_sparse_rows_are_scaled_by_their_stored_entries():
    X = random_sparse(60, 20, 0.3, "csr", rng=np.random.default_rng(1))
    X.data = np.random.default_rng(2).normal(5, 3, X.nnz)
    rows = checking.rows(X, "float64")
    scale = Scale()
    scale.rows(rows, True)
    out = scale.rows(rows, False)
    for j in range(20):
        stored = X.data[X.indices == j]
        assert out.arrays[2][X.indices == j] == pytest.approx(stored / np.sqrt((stored**2).mean()))
    centred = Scale(center=True)
    centred.rows(rows, True)
    got = centred.rows(rows, False).arrays[2]
    for j in range(20):
        assert got[X.indices == j].mean() == pytest.approx(0.0, abs=1e-12)


def test_sparse_features_that_hardly_vary_do_not_blow_up():
    X = csr_matrix(np.c_[1.0 + 1e-9 * np.arange(50.0), np.ones(50), -1e-9 * (np.arange(50.0) + 1)])
    out = Scale().rows(checking.rows(X, "float64"), True)
    assert np.abs(out.arrays[2]).max() < 2.0
    assert out.arrays[2][out.arrays[1] == 1].tolist() == [1.0] * 50


def test_after_a_table_only_numbers_are_scaled():
    front = Front(Table(text="t", cross="c,n"), [Scale()])
    examples = [{"n": float(k), "c": "ab"[k % 2], "t": "w w", "b": None if k % 3 else 2.0} for k in range(10)]
    front.rows(examples, True)
    got = as_named(front.rows(examples, False), front.names)
    n = np.arange(10.0)
    even = n[::2]
    assert [r["n"] for r in got] == pytest.approx((n - n.mean()) / n.std())
    assert [r["c=a&n"] for r in got[::2]] == pytest.approx((even - even.mean()) / even.std())
    assert {r["t:w"] for r in got} == {2.0}
    assert {r["c=a"] for r in got[::2]} == {1.0}
    assert [r.get("b?") for r in got[:3]] == [None, 1.0, 1.0]
    assert got[0]["b"] == 0.0, "no spread"


@pytest.mark.parametrize("norm", ["l2", "l1", "max"])
def test_normalize_is_that_of_scikit_learn(norm):
    X = random_sparse(30, 10, 0.3, "csr", rng=np.random.default_rng(1))
    X.data -= 0.5
    for Z in (X, X.toarray(), X.toarray() * 1e-200, X.toarray() * 1e200):
        rows = checking.rows(Z, "float64")
        got = Normalize(norm).rows(rows, True).arrays[-1]
        want = normalize(Z * (1 if abs(Z).max() < 1 and abs(Z).max() > 1e-100 else 1 / abs(Z).max()), norm)
        assert got == pytest.approx(want.data if rows.layout == "csr" else want, abs=1e-14)
        assert not got[~np.asarray(X.toarray()).any(1)].any() if rows.layout == "dense" else True


@pytest.mark.parametrize("layout", ["dense", "sparse"])
@pytest.mark.parametrize(("norm", "power"), [("l1", 1.0), ("l2", 0.5)])
def test_rows_over_the_mean_number_of_their_entries(layout, norm, power):
    rng = np.random.default_rng(2)
    X = rng.standard_normal((130, 6)) * (rng.random((130, 6)) < 0.6)
    entries = np.cumsum((X != 0.0).sum(1)) / np.arange(1, 131)
    want = X / np.maximum(np.r_[entries[:100], np.full(30, entries[99])], 1.0)[:, None] ** power
    given = checking.rows(csr_matrix(X) if layout == "sparse" else X, "float64")
    for cuts in ([0, 130], [0, 1, 60, 99, 101, 130]):
        m = PerEntry(norm)
        out = [m.rows(given.cut(a, b), True).packed().arrays[-1] for a, b in pairwise(cuts)]
        np.testing.assert_allclose(np.concatenate(out), want[want != 0.0] if layout == "sparse" else want, rtol=1e-14)
    again = PerEntry(norm)
    again.restore(m.state())
    for part in (m, again):
        np.testing.assert_array_equal(part.rows(given.cut(0, 5), False).arrays[-1], m.rows(given.cut(0, 5), True).arrays[-1])


def test_clipped_to_a_number_of_deviations():
    X = np.random.default_rng(3).standard_cauchy((60, 3))
    given = checking.rows(X, "float64")
    plain, clipped = (Scale(clip=clip).rows(given, True).arrays[-1] for clip in (None, 2.0))
    assert np.abs(plain).max() > 2.0
    np.testing.assert_array_equal(clipped, np.clip(plain, -2.0, 2.0))
    with pytest.raises(ValueError, match="clip must be a number above 0 or None, got 0"):
        Scale(clip=0)
    counts = Front(Table(text="t"), [Scale(clip=1.0)])
    found = as_named(counts.rows([{"t": "w w w", "n": float(k)} for k in (0, 0, 0, 9)], True), counts.names)
    assert found[3] == {"n": 1.0, "t:w": 3.0}, "only numbers are scaled"


def test_merged_statistics_are_those_of_all_rows():
    X = np.random.default_rng(0).normal(3, 2, (50, 4))
    whole, a, b = Scale(), Scale(), Scale()
    whole.rows(checking.rows(X, "float64"), True)
    a.rows(checking.rows(X[:13], "float64"), True)
    b.rows(checking.rows(X[13:], "float64"), True)
    a.merge(b)
    assert a._stats == pytest.approx(whole._stats, rel=1e-13)


def test_what_overflows_is_refused_and_forgotten():
    front = Front(None, [Scale()])
    front.rows(checking.rows(np.eye(2), "float64"), True)
    before = front.tensors()
    with pytest.raises(ValueError, match="overflows"):
        front.rows(checking.rows(np.array([[1e308, 0.0], [-1e308, 0.0], [1e308, 1.0]]), "float64"), True)
    assert all(np.array_equal(v, before[k]) for k, v in front.tensors().items())


# ---- pipelines -------------------------------------------------------------------------------------------------------
def labelled(n, seed):
    examples = random_examples(n, seed)
    return examples, [("yes" if x["country"] == "DE" or (x["age"] or 0) > 45 else "no") for x in examples]


def nullable(examples):
    """A pandas frame in which whole numbers stay whole beside missing cells."""
    return pd.DataFrame(examples).astype({"member": "boolean", "visits": "Int64", "zip": "Int64"})


def built():
    return pipeline(Text("body", ngrams=2), Category("zip"), Cross("country", "age"), Scale(), Normalize(), nr.PA1(C=0.1))


def test_parts_fold_into_one_table():
    made = pipeline(Text("body", ngrams=2), Category("zip"), Cross("a", "b"), Hash(12), nr.PA1())
    assert repr(made) == "pipeline(Table(categorical=['zip'], text=['body'], cross=['a,b'], ngrams=2, hash_bits=12), PA1())"


def test_a_pipeline_learns_alike_from_dicts_frames_and_one_by_one():
    examples, y = labelled(150, 6)
    frames = [
        nullable(examples),
        pl.DataFrame(examples),
        pa.Table.from_pylist(examples),
    ]
    a = built().partial_fit(examples, y)
    assert a.score(examples, np.array(y)) > 0.65
    for X in frames:
        b = built().partial_fit(X, y)
        assert np.array_equal(a.coef_, b.coef_)
        assert np.array_equal(a.predict(X), a.predict(examples))
    c = built()
    said = [c.learn_one(x, t) for x, t in zip(examples, y)]
    assert np.array_equal(a.coef_, c.coef_)
    assert said[0] is None
    assert sum(s != t for s, t in zip(said, y)) == a.n_mistakes_
    assert [a.predict_one(x) for x in examples] == a.predict(examples).tolist()
    f = built().learn_many(examples, y)
    assert f.shape == (150,)
    assert a.n_seen_ == 150
    assert len(a.feature_names_) == a.n_features_in_ == a.coef_.shape[1]


def test_the_target_may_be_a_column():
    examples, y = labelled(80, 7)
    frame = pd.DataFrame([{**x, "spam": t} for x, t in zip(examples, y)])
    a = pipeline(Table(target="spam", text="body"), nr.PA1()).fit(frame)
    b = pipeline(Table(text="body"), nr.PA1()).fit(pd.DataFrame(examples), y)
    assert np.array_equal(a.coef_, b.coef_)
    assert a.score(frame) == b.score(pd.DataFrame(examples), y)
    assert np.array_equal(a.predict(frame), a.predict(pd.DataFrame(examples)))


def test_epochs_are_passes():
    examples, y = labelled(60, 8)
    a = built().fit(examples, y, epochs=2)
    b = built().partial_fit(examples, y)
    rows = b.front.rows(examples, False)
    b.learner.learn_rows(rows, y, None)
    assert np.array_equal(a.coef_, b.coef_)
    assert a.n_seen_ == 120


@pytest.mark.parametrize("fault", ["label", "weight", "cell", "infinity"])
def test_a_batch_that_fails_changes_nothing(fault):
    examples, y = labelled(40, 9)
    p = built().partial_fit(examples[:20], y[:20])
    kept = (json.dumps(p.front.meta()), copy.deepcopy(p.front.tensors()), p.coef_.copy(), p.n_seen_)
    X, t, c = copy.deepcopy(examples[20:]), list(y[20:]), np.ones(20)
    X[0]["country"] = "a new name"
    if fault == "label":
        t[5] = None
    elif fault == "weight":
        c[3] = -1.0
    elif fault == "cell":
        X[7]["age"] = object()
    else:
        X[7]["age"] = math.inf
    with pytest.raises((TypeError, ValueError)):
        p.partial_fit(X, t, sample_weight=c)
    assert json.dumps(p.front.meta()) == kept[0]
    assert all(np.array_equal(a, p.front.tensors()[k]) for k, a in kept[1].items())
    assert np.array_equal(p.coef_, kept[2])
    assert p.n_seen_ == kept[3]
    q = built().partial_fit(examples[:20], y[:20])
    assert np.array_equal(p.partial_fit(examples[20:], y[20:]).coef_, q.partial_fit(examples[20:], y[20:]).coef_)


def test_scikit_learn_can_clone_and_search():
    examples, y = labelled(90, 10)
    p = pipeline(Table(text="body"), Scale(), nr.PA1())
    frame = nullable(examples)
    search = GridSearchCV(p, {"pa1__C": [0.01, 1.0], "table__ngrams": [1, 2]}, cv=3).fit(frame, y)
    assert set(search.best_params_) == {"pa1__C", "table__ngrams"}
    assert search.best_score_ > 0.6
    assert search.best_estimator_.get_params()["pa1__C"] == search.best_params_["pa1__C"]
    twin = clone(search.best_estimator_)
    assert repr(twin) == repr(search.best_estimator_)
    assert not twin.__sklearn_is_fitted__()
    with pytest.raises(ValueError, match="Invalid parameter 'pa2__C'"):
        p.set_params(pa2__C=1)


def test_merged_pipelines_unite_features_by_name():
    examples, y = labelled(120, 11)
    a, b = (pipeline(Table(text="body"), nr.PA1(C=0.1)) for _ in range(2))
    a.partial_fit(examples[:60], y[:60])
    b.partial_fit(examples[60:][::-1], y[60:][::-1])
    before = [dict(zip(p.feature_names_, p.coef_[0] * (1 if p.classes_[1] == "yes" else -1))) for p in (a, b)]
    a.merge(b)
    merged = dict(zip(a.feature_names_, a.coef_[0]))
    assert merged.keys() == before[0].keys() | before[1].keys()
    for name, w in merged.items():
        assert w == pytest.approx((before[0].get(name, 0.0) + before[1].get(name, 0.0)) / 2, abs=1e-12)
    assert a.n_seen_ == 120
    a.partial_fit(examples, y)


def test_arrays_and_regression():
    X = np.random.default_rng(0).normal(5, 3, (200, 4))
    y = X @ [1.0, -2.0, 0.5, 3.0] + 4.0
    p = pipeline(Scale(), nr.PA1Regressor(C=1.0)).fit(X, y, epochs=20)
    assert p.score(X, y) > 0.9
    assert not hasattr(p, "decision_function")
    q = pipeline(Scale(), nr.PA1Regressor(C=1.0))
    for a, b in zip(X, y):
        q.learn_one(a, b)
    r = pipeline(Scale(), nr.PA1Regressor(C=1.0)).partial_fit(X, y)
    assert q.coef_ == pytest.approx(r.coef_, rel=1e-9)
    with pytest.raises(ValueError, match="X has 3 features"):
        p.predict(X[:, :3])
    with pytest.raises(TypeError, match="expected an array"):
        p.predict([{"a": 1}])


@pytest.mark.parametrize("value", [math.inf, -math.inf, 10**400, np.float32(np.inf), object(), [1], datetime.time(12)])
@pytest.mark.parametrize("known", [False, True])
def test_cells_that_are_no_values_are_named(value, known):
    table = Table()
    if known:
        table.row({"a": 1.0, "b": 2}, True)
    with pytest.raises((TypeError, ValueError), match="feature 'a' (is|has the value) .* in row 0"):
        table.row({"b": 1, "a": value}, True)
    assert table.feature_names == (["a", "b"] if known else [])


def test_predicting_in_threads():
    examples, y = labelled(200, 12)
    p = built().partial_fit(examples, y)
    want = p.decision_function(examples)
    with ThreadPoolExecutor(4) as pool:
        for got in pool.map(p.decision_function, [examples] * 12):
            assert np.array_equal(got, want)


def test_classes_may_be_declared():
    examples, y = labelled(30, 13)
    p = built().partial_fit(examples, y, classes=["maybe", "no", "yes"])
    assert p.classes_.tolist() == ["maybe", "no", "yes"]
    assert p.decision_function(examples).shape == (30, 3)
    kept = p.coef_.copy()
    with pytest.raises(ValueError, match="not in the declared classes"):
        p.partial_fit([{**examples[0], "country": "new"}], ["never"])
    assert np.array_equal(p.coef_, kept)
    assert "country=new" not in p.feature_names_


def test_weights_are_repetitions_that_update_once_and_zero_is_nothing():
    examples, y = labelled(40, 14)
    a = pipeline(Table(text="body"), nr.PA1()).partial_fit(examples, y, sample_weight=np.ones(40))
    b = pipeline(Table(text="body"), nr.PA1()).partial_fit(examples, y)
    assert np.array_equal(a.coef_, b.coef_)
    frame = pd.DataFrame([{**x, "w": float(k % 2)} for k, x in enumerate(examples)]).astype(
        {"zip": "Int64", "visits": "Int64", "member": "boolean"}
    )
    c = pipeline(Table(text="body", weight="w"), nr.PA1()).partial_fit(examples, y, sample_weight=np.arange(40) % 2)
    d = pipeline(Table(text="body", weight="w", target="t"), nr.PA1()).partial_fit(frame.assign(t=y))
    assert np.array_equal(c.coef_, d.coef_)
    assert c.n_seen_ == 20


@pytest.mark.parametrize("bits", [None, 10])
def test_a_saved_pipeline_goes_on_bit_for_bit(tmp_path, bits):
    examples, y = labelled(100, 15)
    table = Table(text="body", categorical=("zip",), cross=["country,age"], chars=(2, 3), hash_bits=bits)
    never = pipeline(table, Scale(), Normalize("l1"), nr.PA1(C=0.5)).partial_fit(examples, y)
    p = pipeline(table, Scale(), Normalize("l1"), nr.PA1(C=0.5)).partial_fit(examples[:40], y[:40])
    p.save(tmp_path / "p.nr")
    q = nr.load(tmp_path / "p.nr")
    assert isinstance(q, Pipeline)
    assert np.array_equal(q.decision_function(examples), p.decision_function(examples))
    assert np.array_equal(q.partial_fit(examples[40:], y[40:]).coef_, never.coef_)
    assert q.feature_names_ == never.feature_names_
    assert Pipeline.load(tmp_path / "p.nr").n_seen_ == 40
    nr.PA1().partial_fit(np.eye(2), [0, 1]).save(tmp_path / "l.nr")
    with pytest.raises(TypeError, match="holds a PA1, not a Pipeline"):
        Pipeline.load(tmp_path / "l.nr")


def test_a_map_of_ones_own_is_a_step_like_any_other(tmp_path):
    class Clip(Map):
        """Cut values at a limit."""

        def __init__(self, top: float = 1.0) -> None:
            self.top = top

        def rows(self, rows, learn, measured=None):
            return rows._replace(arrays=(*rows.arrays[:-1], np.clip(rows.arrays[-1], -self.top, self.top)))

    with pytest.raises(TypeError, match="step 0 must be a Table .* or one of Scale.*got Clip.*register"):
        pipeline(Clip(0.5), nr.PA1())
    maps.register(Clip)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 3)), rng.integers(0, 2, 30)
    p = pipeline(Clip(0.5), nr.PA1()).partial_fit(X[:20], y[:20])
    assert (p.learner.coef_ == nr.PA1().partial_fit(np.clip(X[:20], -0.5, 0.5), y[:20]).coef_).all()
    p.save(tmp_path / "m.nr")
    q = nr.load(tmp_path / "m.nr").partial_fit(X[20:], y[20:])
    assert (q.learner.coef_ == p.partial_fit(X[20:], y[20:]).learner.coef_).all()
    assert spelling.made("clip(0.25)>pa1").steps[0].top == 0.25
    with pytest.raises(ValueError, match="different steps or settings"):
        p.merge(pipeline(Clip(0.4), nr.PA1()).partial_fit(X, y))
    del maps.MAPS.registered["clip"]
    with pytest.raises(ValueError, match="expected one of the maps scale, .*found 'clip': import the module that registers it"):
        nr.load(tmp_path / "m.nr")
    with pytest.raises(ValueError, match="a map called scale is registered already"):
        maps.register(type("Scale", (Clip,), {}))


def test_steps_out_of_order():
    for steps in ([nr.PA1(), Scale()], [Scale()], [Scale(), Table(), nr.PA1()], ["scale", nr.PA1()]):
        with pytest.raises(TypeError, match=r"last step|must be a Table|one Table"):
            Pipeline(steps)


def bag_batches(rng):
    """Batches of dicts of numbers, among them some that need the kernel."""
    names = ["age", "é", *(f"w{k}" for k in range(60))]
    for size in (1, 7, 40, 3, 90):
        picked = [rng.choice(names, rng.integers(0, 12), replace=False).tolist() for _ in range(size)]
        yield [{"y": "a", **{n: [1, 2.5, True, -0.0, np.float64(3.0)][rng.integers(5)] for n in some}} for some in picked]
        if size == 40:
            yield [{"age": None, "w1": 2.0, "city": "Ulm"}, {"city": 5.0, "w90": 1}, {"age": 2**60}]


@pytest.mark.parametrize("numeric", [None, ["w3", "late"]])
def test_bags_of_numbers_are_encoded_as_by_the_kernel(monkeypatch, numeric):
    def rows():
        table = Table(target="y", numeric=numeric)
        for k, batch in enumerate(bag_batches(np.random.default_rng(5))):
            mark = table.mark()
            for learn in (False, True):
                found, measured = table.encoded(batch, learn)
                yield [*(a.tolist() for a in found.arrays), found.width, measured.tolist(), table.feature_names, table.column_roles]
            if k == 3:
                table.back(mark)

    quick = list(rows())
    monkeypatch.setattr("noregret.transforms.table.bags", lambda *_: None)
    assert quick == list(rows())


# ---- what does not fit -------------------------------------------------------------------------------------------------
def test_rows_of_another_width_are_refused_before_they_are_scored():
    """They would be looked up outside the weights."""
    p = nr.pipeline(Normalize(), nr.PA1()).partial_fit(np.eye(3), [0, 1, 0])
    wide = csr_matrix(([1.0], ([0], [10**6])), shape=(1, 10**6 + 1))
    for X in (wide, np.ones((1, 5)), np.ones((1, 2))):
        with pytest.raises(ValueError, match=r"X has \d+ features"):
            p.predict(X)
    with pytest.raises(ValueError, match="X has 5 features"):
        p.predict_one(np.ones(5))
    with pytest.raises(ValueError, match="X has 1000001 features"):
        p.learner.score_rows(checking.rows(wide, "float64"))


def test_a_front_that_does_not_fit_its_learner_is_no_model(tmp_path):
    """The table of a file may say other places than the weights have."""
    p = nr.pipeline(Table(hash_bits=6), nr.PA1()).partial_fit([{"c": str(k)} for k in range(40)], np.arange(40) % 2)
    for bits in (20, None):
        meta = p.front.meta()
        meta["table"]["settings"]["hash_bits"] = bits
        p._front = Front.restored(meta, p.front.tensors())
        p.save(tmp_path / "m.nr")
        with pytest.raises(ValueError, match="m.nr: .*expected the features of Table"):
            nr.load(tmp_path / "m.nr")


def test_a_pipeline_from_a_file_merges_with_one_that_was_not_saved(tmp_path):
    def half(k):
        rows = [{"a": float(i % 7), "c": "uv"[i % 2]} for i in range(20 * k, 20 * k + 20)]
        return nr.pipeline(Table(chars=(2, 3), ignore=("z",), cross=("a,c",)), Scale(), nr.Perceptron()).partial_fit(
            rows, [0, 1] * 10
        )

    half(0).save(tmp_path / "m.nr")
    merged = nr.load(tmp_path / "m.nr").merge(half(1))
    x = [{"a": 2.0, "c": "v"}, {"a": 5.0, "c": "u"}]
    assert merged.decision_function(x).tolist() == half(0).merge(half(1)).decision_function(x).tolist()
    assert repr(nr.load(tmp_path / "m.nr").steps[1:]) == repr(half(0).steps[1:])


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Table(target="a", weight="a"), "both the target and the weight"),
        (lambda: Table(target=3), "target must be the name of a column"),
        (lambda: Table(names=-1), "names must be a whole number"),
        (lambda: Scale(floor=-1.0), "floor must be a number"),
        (lambda: Scale(floor=float("nan")), "floor must be a number"),
        (lambda: Scale(center="no"), "center must be"),
    ],
)
def test_settings_that_are_refused(make, said):
    with pytest.raises(ValueError, match=said):
        make()
