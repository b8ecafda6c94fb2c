"""Containers: whatever holds the numbers, the model is the same; whatever cannot be learned from changes nothing."""

import copy

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

import noregret as nr
from noregret.registry import algorithms

RNG = np.random.default_rng(3)
NAMES = ["a", "b", "c", "d", "e"]
X = RNG.integers(-3, 4, (60, 5)) / 4.0  # quarters: exact in every float
X[RNG.random(X.shape) < 0.3] = 0.0
WHOLE = (4 * X).round()
BITS = (X > 0).astype(float)
Y = np.where(X[:, 0] - X[:, 1] + 0.3 * X[:, 2] > 0, 1, 0)


def snapshot(learner):
    m = learner.model
    labels = m.labels.values if m.labels else None
    return {**{k: a.tobytes() for k, a in m.arrays().items()}, "tally": m.tally.tolist(), "labels": labels}


def table(X):
    return {name: X[:, j] for j, name in enumerate(NAMES)}


def memmap(X, tmp_path):
    np.save(tmp_path / "x.npy", X)
    return np.load(tmp_path / "x.npy", mmap_mode="r")


def strided(X):
    wide = np.full((2 * len(X), 2 * X.shape[1]), np.nan)
    wide[::2, ::2] = X
    return wide[::2, ::2]


DENSE = {
    "lists": lambda X: X.tolist(),
    "tuples": lambda X: tuple(map(tuple, X.tolist())),
    "fortran": np.asfortranarray,
    "strided": strided,
    "reversed": lambda X: X[::-1].copy()[::-1],
    "big-endian": lambda X: X.astype(">f8"),
    "longdouble": lambda X: X.astype(np.longdouble),
    "object": lambda X: X.astype(object),
    "matrix": lambda X: X.view(np.matrix),
    "nothing masked": np.ma.array,
    "pandas": lambda X: pd.DataFrame(table(X)),
    "pandas nullable": lambda X: pd.DataFrame(table(X)).astype("Float64"),
    "pandas arrow": lambda X: pd.DataFrame(table(X)).astype("double[pyarrow]"),
    "pandas sparse": lambda X: pd.DataFrame(table(X)).astype(pd.SparseDtype(float, 0.0)),
    "pandas mixed": lambda X: pd.DataFrame(table(X)).astype({"a": "float32", "b": "Float64", "c": object}),
    "polars": lambda X: pl.DataFrame(table(X)),
    "polars mixed": lambda X: pl.DataFrame(table(X)).with_columns(pl.col("a").cast(pl.Float32)),
    "arrow": lambda X: pa.table(table(X)),
    "arrow chunks": lambda X: pa.concat_tables([pa.table(table(X[:20])), pa.table(table(X[20:]))]),
    "arrow batch": lambda X: pa.RecordBatch.from_pydict(table(X)),
}
NARROW = {"float32": np.float32, "float16": np.float16}
INTEGERS = ["int8", "int16", "int32", "int64"]


@pytest.mark.parametrize("learner", [nr.PA1(), nr.PA1Regressor(), nr.PAUniclass()], ids=repr)
@pytest.mark.parametrize("make", DENSE.values(), ids=DENSE)
def test_dense_containers_are_bit_identical(make, learner):
    expected, found = learner.clone().fit(X, Y), learner.clone().fit(make(X), Y)
    assert snapshot(found) == snapshot(expected)
    assert (found.predict(make(X)) == expected.predict(X)).all()


@pytest.mark.parametrize("dtype", NARROW.values(), ids=NARROW)
def test_narrow_floats_of_equal_value(dtype):
    expected, found = nr.PA1().fit(X, Y), nr.PA1().fit(X.astype(dtype), Y)
    assert snapshot(found) == snapshot(expected)
    assert (found.decision_function(X.astype(dtype)) == expected.decision_function(X)).all()


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers(dtype):
    expected = snapshot(nr.PA1().fit(WHOLE, Y))
    assert snapshot(nr.PA1().fit(WHOLE.astype(dtype), Y)) == expected
    assert snapshot(nr.PA1().fit(pd.DataFrame(WHOLE.astype(dtype), columns=NAMES), Y)) == expected
    assert snapshot(nr.PA1().fit(pl.DataFrame(table(WHOLE.astype(dtype))), Y)) == expected
    assert snapshot(nr.PA1().fit(pa.table(table(WHOLE.astype(dtype))), Y)) == expected


@pytest.mark.parametrize("dtype", [bool, "uint8"])
def test_bits(dtype):
    expected = snapshot(nr.PA1().fit(BITS, Y))
    flags = BITS.astype(dtype)
    for given in (
        flags,
        flags.tolist(),
        pd.DataFrame(flags, columns=NAMES),
        pl.DataFrame(table(flags)),
        pa.table(table(flags)),
    ):
        assert snapshot(nr.PA1().fit(given, Y)) == expected


def test_memory_map(tmp_path):
    assert snapshot(nr.PA1().fit(memmap(X, tmp_path), Y)) == snapshot(nr.PA1().fit(X, Y))


def test_input_is_not_written_to():
    for given in (X.copy(), np.asfortranarray(X), pd.DataFrame(table(X)), sparse.csr_array(X)):
        before = copy.deepcopy(given)
        nr.PA1().fit(given, Y)
        dense = sparse.csr_array.toarray if sparse.issparse(given) else np.asarray
        assert (dense(given) == dense(before)).all()
    nr.PA1().fit(np.lib.stride_tricks.as_strided(X, writeable=False), Y)


# ---- targets and weights -----------------------------------------------------------------------------------------------
TARGETS = {
    "list": lambda y: y.tolist(),
    "pandas": pd.Series,
    "pandas index": lambda y: pd.Series(y, index=range(100, 100 + len(y))),
    "pandas nullable": lambda y: pd.Series(y).astype("Int64"),
    "polars": pl.Series,
    "arrow": pa.array,
    "arrow chunks": lambda y: pa.chunked_array([y[:7], y[7:]]),
    "float": lambda y: y.astype(float),
    "int8": lambda y: y.astype("int8"),
}


@pytest.mark.parametrize("make", TARGETS.values(), ids=TARGETS)
def test_targets(make):
    expected, found = nr.PA1().fit(X, Y, sample_weight=Y + 1), nr.PA1().fit(X, make(Y), sample_weight=make(Y + 1))
    assert (found.coef_ == expected.coef_).all()
    assert found.classes_.tolist() == [0, 1]
    assert (nr.PA1Regressor().fit(X, make(Y)).coef_ == nr.PA1Regressor().fit(X, Y).coef_).all()


@pytest.mark.parametrize("make", [pd.Series, lambda y: pd.Series(y, dtype="category"), pl.Series, pa.array, np.array, list])
def test_text_targets(make):
    words = ["ham", "spam"]
    found = nr.PA1().fit(X, make([words[y] for y in Y]))
    assert found.classes_.tolist() == words
    assert (found.coef_ == nr.PA1().fit(X, Y).coef_).all()
    assert set(found.predict(X)) <= set(words)


GAPS = {
    "pandas": pd.Series([1.0, None, 0.0]),
    "pandas nullable": pd.Series([1, None, 0], dtype="Int64"),
    "pandas text": pd.Series(["x", None, "y"]),
    "pandas string": pd.Series(["x", None, "y"], dtype="string"),
    "polars": pl.Series([1, None, 0]),
    "polars text": pl.Series(["x", None, "y"]),
    "arrow": pa.array([1, None, 0]),
    "arrow text": pa.array(["x", None, "y"]),
    "list": ["x", None, "y"],
}


@pytest.mark.parametrize("y", GAPS.values(), ids=GAPS)
def test_missing_targets_are_refused(y):
    learner = nr.PA1()
    with pytest.raises(ValueError, match=r"(NaN|nan|None|NA|missing).* row 1"):
        learner.partial_fit(X[:3], y)
    assert not learner.started


def test_masked_entries_are_missing():
    masked = np.ma.masked_array(X[:4], mask=np.arange(4 * X.shape[1]).reshape(4, -1) == X.shape[1] + 2)
    y = np.ma.masked_array([1.0, 2.0, 3.0, 4.0], mask=[False, False, True, False])
    for call, said in (
        (lambda: nr.PA1().partial_fit(masked, [0, 1, 0, 1]), "X contains a masked entry at row 1, column 2"),
        (lambda: nr.PA1Regressor().partial_fit(X[:4], y), "y contains a masked entry at row 2"),
        (lambda: nr.PA1().partial_fit(X[:4], [0, 1, 0, 1], sample_weight=y), "sample_weight contains a masked entry at row 2"),
        (lambda: nr.PA1().learn_one(masked[1], 1), "x contains a masked entry"),
    ):
        with pytest.raises(ValueError, match=said):
            call()
    whole = np.ma.masked_array(X, mask=False)
    assert (nr.PA1().partial_fit(whole, Y).coef_ == nr.PA1().partial_fit(X, Y).coef_).all()


# ---- missing values and other things that are no numbers -----------------------------------------------------------------
def holes(value):
    rows = {name: [1.0, 2.0, 3.0, 4.0] for name in NAMES}
    rows["d"] = [1.0, 2.0, value, 4.0]
    return rows


HOLES = {
    "pandas NaN": pd.DataFrame(holes(np.nan)),
    "pandas None": pd.DataFrame(holes(None)),
    "pandas object": pd.DataFrame(holes(None)).astype(object),
    "pandas NA": pd.DataFrame(holes(None)).astype("Float64"),
    "pandas Int64": pd.DataFrame(holes(None)).astype("Int64"),
    "pandas arrow": pd.DataFrame(holes(None)).astype("double[pyarrow]"),
    "polars null": pl.DataFrame(holes(None)),
    "polars NaN": pl.DataFrame(holes(np.nan)),
    "polars int": pl.DataFrame(holes(None)).cast(pl.Int64),
    "arrow null": pa.table(holes(None)),
    "arrow int": pa.table(holes(None)).cast(pa.schema([(name, pa.int64()) for name in NAMES])),
    "arrow batch": pa.RecordBatch.from_pydict(holes(None)),
}


@pytest.mark.parametrize("frame", HOLES.values(), ids=HOLES)
def test_missing_values_are_refused_by_row_and_column(frame):
    learner = nr.PA1().partial_fit(pd.DataFrame(table(X)), Y)
    before = snapshot(learner)
    for verb in (lambda: learner.partial_fit(frame, [0, 1, 0, 1]), lambda: learner.predict(frame)):
        with pytest.raises(ValueError, match="row 2, column 'd'"):
            verb()
    assert snapshot(learner) == before
    with pytest.raises(ValueError, match="row 2, column 'd'"):
        nr.PA1().fit(frame, [0, 1, 0, 1])


ALIEN = {"text": "red", "time": pd.Timestamp("2024-01-01"), "duration": pd.Timedelta(1, "s"), "complex": 1j}
MAKERS = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table, "numpy": lambda t: np.array(list(t.values())).T}


@pytest.mark.parametrize(("kind", "make"), [(k, m) for k in ALIEN for m in MAKERS if (k, m) != ("complex", "arrow")])
def test_what_is_no_number_is_refused(kind, make):
    for columns in ({"a": [1.0, 2.0], "b": [ALIEN[kind]] * 2}, {"b": [ALIEN[kind]] * 2}):
        with pytest.raises((TypeError, ValueError), match=r"[Nn]umber|[Cc]omplex"):
            nr.PA1().fit(MAKERS[make](columns), [0, 1])


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_values_that_are_not_finite_are_refused(value, dtype):
    learner = nr.PA1().partial_fit(X, Y)
    before = snapshot(learner)
    for shape, at in (((4, 5), (2, 3)), ((7000, 5), (6999, 4)), ((1, 5), (0, 0))):
        bad = np.ones(shape, dtype)
        bad[at] = value
        for given in (bad, np.asfortranarray(bad), sparse.csr_array(bad), sparse.csc_matrix(bad)):
            with pytest.raises(ValueError, match=f"(NaN|infinity) at row {at[0]}, column {at[1]}"):
                learner.partial_fit(given, np.arange(len(bad)) % 2)
    assert snapshot(learner) == before


def test_largest_numbers_are_finite():
    top = np.finfo(float).max
    assert nr.PA1().partial_fit(np.full((40, 3), top), Y[:40]).n_seen_ == 40
    assert nr.PA1().partial_fit(sparse.csr_array(np.full((40, 3), top)), Y[:40]).n_seen_ == 40


SHAPELESS = [np.ones(5), np.ones((2, 2, 2)), np.ones((0, 5)), np.ones((3, 0)), pd.Series([1.0]), 1.0, [], [[]], None, "text"]


@pytest.mark.parametrize("bad", SHAPELESS, ids=repr)
def test_other_shapes_are_refused(bad):
    with pytest.raises((TypeError, ValueError)):
        nr.PA1().fit(bad, Y)


# ---- names of columns ----------------------------------------------------------------------------------------------------
FRAMES = {
    "pandas": lambda X, names: pd.DataFrame(dict(zip(names, X.T, strict=True))),
    "polars": lambda X, names: pl.DataFrame(dict(zip(names, X.T, strict=True))),
    "arrow": lambda X, names: pa.table(dict(zip(names, X.T, strict=True))),
}


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_frames_are_held_to_their_names(make):
    learner = nr.PA1().fit(make(X, NAMES), Y)
    assert learner.feature_names_in_.tolist() == NAMES
    before = snapshot(learner)
    for names, said in (
        (NAMES[::-1], "same order"),
        ([*NAMES[:4], "z"], "unseen at fit time:\n- z"),
        (NAMES[:4], "now missing:\n- e"),
    ):
        with pytest.raises(ValueError, match=said):
            learner.partial_fit(make(X[:, : len(names)], names), Y)
        with pytest.raises(ValueError, match=said):
            learner.predict(make(X[:, : len(names)], names))
    assert snapshot(learner) == before


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_frames_of_one_kind_fit_a_model_of_another(make):
    learner = nr.PA1().fit(pd.DataFrame(table(X)), Y)
    assert (learner.predict(make(X, NAMES)) == learner.predict(pl.DataFrame(table(X)))).all()


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_frames_find_the_places_of_names(make):
    records = [dict(zip(NAMES, x, strict=True)) for x in X.tolist()]
    named = nr.PA1().partial_fit(records, Y)
    found = nr.PA1().partial_fit(records[:1], Y[:1]).partial_fit(make(X[1:, ::-1], NAMES[::-1]), Y[1:])
    assert found.feature_names_ == NAMES
    assert np.allclose(found.coef_, named.coef_, rtol=1e-12)
    new = found.partial_fit(make(X[:, :2], ["a", "z"]), Y)
    assert new.feature_names_ == [*NAMES, "z"]
    assert np.allclose(new.decision_function(make(X[:, :1], ["unknown"])), new.intercept_)


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
@pytest.mark.parametrize("bits", [2, 10])
def test_hashed_frames_are_hashed_dicts(make, bits):
    records = [dict(zip(NAMES, x, strict=True)) for x in X.tolist()]
    named = nr.PA1(hash_bits=bits).partial_fit(records, Y)
    found = nr.PA1(hash_bits=bits).partial_fit(make(X, NAMES), Y)
    assert found.hash_collisions_ == named.hash_collisions_
    assert (bits == 2) == (found.hash_collisions_ > 0)
    assert np.allclose(found.coef_, named.coef_, rtol=1e-12)
    assert np.allclose(found.decision_function(make(X, NAMES)), named.decision_function(records), rtol=1e-12)


def test_pandas_names_that_are_not_text():
    learner = nr.PA1().fit(pd.DataFrame(X), Y)
    assert snapshot(learner) == snapshot(nr.PA1().fit(X, Y))
    assert not hasattr(learner, "feature_names_in_")
    with pytest.raises(TypeError, match="string names"):
        learner.partial_fit(pd.DataFrame(X, columns=["a", "b", 2, 3, 4]), Y)


# ---- SciPy ---------------------------------------------------------------------------------------------------------------
SPARSE = [f"{kind}_{form}" for kind in ("csr", "csc", "coo", "lil", "dok", "bsr", "dia") for form in ("matrix", "array")]


@pytest.mark.parametrize("name", SPARSE)
def test_sparse_flavours_are_bit_identical(name):
    given = getattr(sparse, name)(X)
    expected, found = nr.PA1().fit(sparse.csr_array(X), Y), nr.PA1().fit(given, Y)
    assert snapshot(found) == snapshot(expected)
    assert (found.decision_function(given) == expected.decision_function(sparse.csr_array(X))).all()
    assert np.allclose(found.coef_, nr.PA1().fit(X, Y).coef_, rtol=1e-12)


def test_sparse_rows_of_float32_are_learned_as_those_of_float64():
    """They are read by code of their own, whose sums may be in another order: equal up to rounding."""
    found, expected = (nr.PA1().fit(sparse.csr_array(WHOLE.astype(dtype)), Y) for dtype in ("float32", "float64"))
    assert np.allclose(found.coef_, expected.coef_, rtol=1e-13)
    assert found.n_updates_ == expected.n_updates_


@pytest.mark.parametrize("dtype", ["int8", "int64", "bool"])
def test_sparse_dtypes(dtype):
    values = BITS if dtype == "bool" else WHOLE
    expected = snapshot(nr.PA1().fit(sparse.csr_array(values), Y))
    assert snapshot(nr.PA1().fit(sparse.csr_array(values.astype(dtype)), Y)) == expected


def test_wide_indices():
    given = sparse.csr_array(X)
    given.indices, given.indptr = given.indices.astype(np.int64), given.indptr.astype(np.int64)
    assert snapshot(nr.PA1().fit(given, Y)) == snapshot(nr.PA1().fit(sparse.csr_array(X), Y))


def raw(rows, width=5, dtype=float, flavour=sparse.csr_array):
    """Return CSR rows exactly as given: [(index, value), ...] each."""
    indptr = np.cumsum([0, *map(len, rows)], dtype=np.int32)
    cells = [cell for row in rows for cell in row]
    made = flavour((len(rows), width), dtype=dtype)
    made.indptr, made.indices = indptr, np.array([j for j, _ in cells], np.int32)
    made.data = np.array([v for _, v in cells], dtype)
    return made


@pytest.mark.parametrize("flavour", [sparse.csr_array, sparse.csr_matrix])
def test_unsorted_and_duplicate_indices(flavour):
    tidy = raw([[(0, 1.0), (3, 2.0)], [(1, -1.0), (2, 4.0), (4, 0.5)], [], [(2, 3.0)]], flavour=flavour)
    unsorted = raw([[(3, 2.0), (0, 1.0)], [(4, 0.5), (1, -1.0), (2, 4.0)], [], [(2, 3.0)]], flavour=flavour)
    doubled = raw([[(0, 0.5), (0, 0.5), (3, 2.0)], [(2, 1.0), (1, -1.0), (4, 0.5), (2, 3.0)], [], [(2, 3.0)]], flavour=flavour)
    expected = nr.PA1().fit(tidy, [0, 1, 1, 0])
    for given in (unsorted, doubled):
        cells = given.indices.tolist(), given.data.tolist()
        found = nr.PA1().fit(given, [0, 1, 1, 0])
        assert snapshot(found) == snapshot(expected)
        assert (found.decision_function(given) == expected.decision_function(tidy)).all()
        assert (given.indices.tolist(), given.data.tolist()) == cells


@pytest.mark.parametrize("index", [-1, -5, 5, 10**6, 2**31 - 1, -(2**31)])
@pytest.mark.parametrize("learner", [nr.PA1(), nr.PA1(hash_bits=10), nr.PA1Regressor(), nr.PAUniclass()], ids=repr)
def test_indices_out_of_range_are_refused(index, learner):
    learner = learner.clone().partial_fit(X, Y)
    before = snapshot(learner)
    bad = raw([[(0, 1.0)], [(1, 1.0), (index, 1.0)]])
    for verb in (
        lambda: learner.partial_fit(bad, [0, 1]),
        lambda: learner.predict(bad),
        lambda: learner.clone().fit(bad, [0, 1]),
    ):
        with pytest.raises(ValueError, match=f"column index {index} in row 1"):
            verb()
    assert snapshot(learner) == before


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_sparse_faults_are_named(value):
    for bad in (raw([[(0, 1.0)], [], [(1, 1.0), (4, value)]]), raw([[(0, 1.0)], [], [(4, value), (1, 1.0)]])):
        with pytest.raises(ValueError, match="at row 2, column 4"):
            nr.PA1().partial_fit(bad, [0, 1, 0])


def test_duplicates_that_overflow_are_refused():
    top = np.finfo(float).max
    with pytest.raises(ValueError, match="infinity at row 0, column 2"):
        nr.PA1().partial_fit(raw([[(2, top), (2, top)], [(1, 1.0)]]), [0, 1])


def test_explicit_zeros_and_empty_rows():
    given = raw([[(0, 0.0), (1, 1.0)], [], [(2, 0.0)], [(0, 1.0)]])
    found = nr.PA1().fit(given, [0, 1, 0, 1])
    assert np.allclose(found.coef_, nr.PA1().fit(given.toarray(), [0, 1, 0, 1]).coef_)


def test_sparse_of_another_width_is_refused():
    learner = nr.PA1().fit(X, Y)
    before = snapshot(learner)
    for given in (sparse.csr_array(X[:, :4]), X[:, :4], sparse.coo_matrix((4, 9))):
        with pytest.raises(ValueError, match="is expecting 5 features"):
            learner.partial_fit(given, Y[: given.shape[0]])
    assert snapshot(learner) == before


def test_sparse_vectors_are_refused():
    with pytest.raises(ValueError, match="2D"):
        nr.PA1().fit(sparse.coo_array(np.ones(5)), Y[:5])


# ---- one example -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("make", [list, tuple, np.array, lambda x: np.array(x, "float32"), pd.Series, pl.Series, pa.array])
def test_one_row_in_any_container(make):
    one, other = nr.PA1(), nr.PA1()
    for x, y in zip(X.tolist(), Y.tolist(), strict=True):
        assert one.learn_one(make(x), y) == other.learn_one(x, y)
    assert snapshot(one) == snapshot(other)
    assert np.allclose(one.coef_, nr.PA1().partial_fit(X, Y).coef_, rtol=1e-12)


MISFITS = {
    "short": [1.0] * 3,
    "long": [1.0] * 5000,
    "empty": [],
    "nested": [[1.0] * 4],
    "number": 1.0,
    "NaN": [1.0, np.nan, 0.0, 0.0],
    "text": ["a"] * 4,
}


@pytest.mark.parametrize("learner", [nr.PA1(), nr.PA1(hash_bits=2), nr.PA1Regressor(), nr.PAUniclass()], ids=repr)
@pytest.mark.parametrize("row", MISFITS.values(), ids=MISFITS)
def test_one_row_that_does_not_fit_is_refused(learner, row):
    learner = learner.clone()
    learner.learn_one([1.0, 2.0, 0.0, -1.0], 1)
    before = snapshot(learner)
    for verb in (lambda: learner.learn_one(row, 1), lambda: learner.predict_one(row)):
        with pytest.raises((TypeError, ValueError)):
            verb()
    assert snapshot(learner) == before


@pytest.mark.parametrize("name", algorithms())
def test_a_named_example_that_is_refused_leaves_no_names(name):
    learner = nr.learner(name)
    learner = nr.learner(name, theta=1.0) if "theta" in learner.defaults else learner
    with nr.engine.compiling.interpreted():
        learner.learn_one({"a": 1.0}, 1)
        learner.learn_one({"b": 1.0}, 0)
    before = snapshot(learner), list(learner.feature_names_)
    bad = [{"new": np.nan}, {"new": "text"}, {"new": 1.0, "a": None}]
    for x in [*bad, {"new": -1.0}] if learner.nonnegative else bad:
        for given in (x, [{"a": 1.0}, x]):
            with pytest.raises((TypeError, ValueError)):
                learner.partial_fit(given, [1, 0]) if isinstance(given, list) else learner.learn_one(given, 1)
    assert (snapshot(learner), list(learner.feature_names_)) == before
