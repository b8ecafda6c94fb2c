"""Bad input: a clear error that names the place, and the model as it was, bit for bit."""

import copy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array, csr_matrix

import noregret as nr
from noregret.inputs import checking


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(1, 40),
    d=st.integers(1, 30),
    at=st.integers(0, 10**6),
    bad=st.sampled_from([np.nan, np.inf, -np.inf]),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_the_place_of_a_bad_value_is_named(n, d, at, bad, dtype):
    """Wherever it is: vectorised scans have tails, and compilers cancel what they may."""
    X = np.random.default_rng(0).standard_normal((n, d)).astype(dtype) * dtype(1e30)
    checking.rows(X, "float64")
    checking.rows(csr_matrix(X), "float64")
    i, j = divmod(at % (n * d), d)
    X[i, j] = bad
    for Z in (X, csr_matrix(X)):
        with pytest.raises(ValueError, match=rf"(NaN|infinity) at row {i}, column {j}; expected finite numbers"):
            checking.rows(Z, "float64")


def test_huge_but_finite_values_pass():
    X = np.full((3, 4), 1.7e308)
    assert checking.rows(X, "float64").n == 3
    assert checking.rows(csr_matrix(X), "float64").n == 3
    with np.errstate(over="ignore"):
        assert checking.rows(np.full((3, 4), 3e38, np.float32), "float64").n == 3


def test_duplicates_are_summed_and_order_does_not_matter():
    tidy = csr_matrix(np.array([[3.0, 0.0, 4.0], [0.0, 5.0, 0.0]]))
    messy = csr_matrix((np.array([4.0, 1.0, 2.0, 5.0]), np.array([2, 0, 0, 1]), np.array([0, 3, 4])), shape=(2, 3))
    a, b = (nr.PA1().partial_fit(X, [0, 1]) for X in (tidy, messy))
    assert np.array_equal(a.coef_, b.coef_)
    assert messy.nnz == 4, "the matrix of the caller is left as it was"
    c = nr.PA1().partial_fit(coo_array(([1.0, 2.0, 4.0, 5.0], ([0, 0, 0, 1], [0, 0, 2, 1])), shape=(2, 3)), [0, 1])
    assert np.array_equal(a.coef_, c.coef_)


@pytest.mark.parametrize("index", [-1, 3, 2**31 - 1])
def test_indices_out_of_range(index):
    m = nr.PA1().partial_fit(np.eye(3), [0, 1, 0])
    before = copy.deepcopy(m)
    X = csr_matrix(np.eye(3))
    X.indices[1] = index
    with pytest.raises(ValueError, match=rf"column index {index} in row 1; expected 0 to 2"):
        m.partial_fit(X, [0, 1, 0])
    assert np.array_equal(m.coef_, before.coef_)


@pytest.mark.parametrize(
    ("X", "said"),
    [
        (np.ones((0, 3)), "0 sample"),
        (np.ones((3, 0)), "0 feature"),
        (np.ones(3), "Expected 2D array, got 1D"),
        (np.ones((2, 2, 2)), "Expected 2D array, got 3D"),
        (np.ones((3, 3), complex), "Complex data not supported"),
        (np.array([["a", "b"]]), "X must hold numbers"),
        ([[1.0, "x"]], "X must hold numbers"),
        (np.array([[object()]]), "X must hold numbers"),
    ],
)
def test_what_is_not_a_batch(X, said):
    with pytest.raises((TypeError, ValueError), match=said):
        nr.PA1().partial_fit(X, [0, 1, 0][: len(X)])


@pytest.mark.parametrize(
    ("c", "said"),
    [
        ([1.0, np.nan, 1.0], "sample_weight contains NaN at row 1"),
        ([1.0, 1.0, np.inf], "sample_weight contains infinity at row 2"),
        ([1.0, -2.0, 1.0], "sample_weight must not be negative, got -2 in row 1"),
        ([1.0, 1.0], r"sample_weight.shape == \(2,\), expected \(3,\)"),
        ([[1.0], [1.0], [1.0]], "1D array"),
    ],
)
def test_bad_weights(c, said):
    for cls in (nr.PA1, nr.PA1Regressor, nr.PAUniclass):
        m = cls().partial_fit(np.eye(3), [0, 1, 0])
        before = copy.deepcopy(m.model.arrays())
        with pytest.raises(ValueError, match=said):
            m.partial_fit(np.eye(3), [0, 1, 0], sample_weight=c)
        assert all(np.array_equal(v, m.model.arrays()[k]) for k, v in before.items())


@pytest.mark.parametrize(
    ("y", "said"),
    [
        ([1.0, np.nan, 0.0], "y contains NaN at row 1"),
        ([1.0, np.inf, 0.0], "y contains infinity at row 1"),
        (["a", "b", "c"], "y must hold numbers for a regression"),
        ([1.0, 2.0], "inconsistent lengths: 3 rows and 2 targets"),
        (None, "requires y to be passed, but the target y is None"),
    ],
)
def test_bad_targets(y, said):
    m = nr.PA1Regressor().partial_fit(np.eye(3), [0.0, 1.0, 2.0])
    before = m.coef_.copy()
    with pytest.raises((TypeError, ValueError), match=said):
        m.partial_fit(np.eye(3), y)
    assert np.array_equal(before, m.coef_)


def test_bad_values_in_dicts_are_named():
    m = nr.PA1()
    m.learn_one({"a": 1.0}, "x")
    for bad, said in (
        (float("nan"), "column 'b'"),
        (float("inf"), "column 'b'"),
        ("FR", "feature 'b' has value 'FR'"),
        (None, "feature 'b'"),
    ):
        with pytest.raises((TypeError, ValueError), match=said):
            m.learn_one({"a": 1.0, "b": bad}, "y")
        with pytest.raises((TypeError, ValueError), match=said):
            m.predict_one({"a": 1.0, "b": bad})
    assert m.feature_names_ == ["a"]
    assert m.classes_.tolist() == ["x"]


def test_winnow_refuses_negative_features():
    m = nr.Winnow().partial_fit(np.eye(3), [0, 1, 0])
    for X in (np.array([[0.0, 1.0, -0.5]]), csr_matrix(np.array([[0.0, 1.0, -0.5]]))):
        with pytest.raises(ValueError, match="Negative values in data passed to Winnow: -0.5 in row 0"):
            m.partial_fit(X, [1])
    with pytest.raises(ValueError, match="not negative"):
        m.learn_one({0: -1.0}, 1)


def test_a_zero_row_changes_nothing_but_round_counters():
    for name in nr.algorithms():
        m = nr.learner(name)
        origin = name == "pa_uniclass" or "mondrian" in name or m.by_kernel  # is a point like others there
        if not origin and not hasattr(m, "standing"):  # pools weigh
            m.set_params(**({"fit_intercept": False} if "fit_intercept" in m.defaults else {}))
            X, y = nr.checks.stream(m, n=40, K=3)
            with nr.engine.compiling.interpreted():
                m.partial_fit(X, y)
                before = {k: v.copy() for k, v in m.model.arrays().items() if k not in ("t", "w.b", "w.n", "w.votes")}
                updates = m.n_updates_
                m.partial_fit(np.zeros((3, X.shape[1])), y[:3])
            assert all(np.array_equal(v, m.model.arrays()[k]) for k, v in before.items()), name
            assert m.n_updates_ == updates


def test_float32_rows_give_float32_weights_only_if_asked():
    X = np.eye(3, dtype=np.float32)
    assert nr.PA1().partial_fit(X, [0, 1, 0]).state.w.dtype == np.float64
    assert nr.PA1(dtype="float32").partial_fit(X, [0, 1, 0]).state.w.dtype == np.float32


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_all_index_types(dtype):
    X = csr_matrix(np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]]))
    X.indices, X.indptr = X.indices.astype(dtype), X.indptr.astype(dtype)
    assert nr.PA1().partial_fit(X, [0, 1]).n_seen_ == 2
