"""Rows whose cells are so large that numbers of a model overflow are refused, and the model stays as it was."""

import copy

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import noregret as nr
from noregret.inputs import checking
from noregret.learners.overflow import HARMLESS


def data(classes, size, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((30, 3))
    X[17] *= size
    X[17, 1] = 5.0 * size
    return X, rng.integers(0, classes, 30)


def numbers(m):
    return {k: a.copy() for k, a in m.model.arrays().items()} | {"tally": m.model.tally.copy()}


@pytest.mark.parametrize("name", ["scw2", "cw_var", "ftrl_regressor", "ftrl"])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("layout", [np.asarray, csr_matrix])
@pytest.mark.parametrize("size", [1e60, 1e100, 1e150])
def test_a_model_stays_finite_or_is_left_as_it_was(name, classes, layout, size):
    if name == "ftrl_regressor" and classes == 3:
        pytest.skip("targets are numbers")
    X, y = data(classes, size)
    m = nr.learner(name).partial_fit(layout(data(classes, 1.0)[0]), y)
    before, said = numbers(m), ""
    try:
        m.partial_fit(layout(X), y)
    except ValueError as e:
        said = str(e)
    if said:
        assert f"row 17 has the largest number, {X[17, 1]:g}" in said
        assert all(np.array_equal(before[k], a) for k, a in numbers(m).items())
    assert not m.model.overflowed()
    m.to_bytes()


def test_fit_one_row_and_pools_refuse_it_too():
    X, y = data(2, 1e100)
    with pytest.raises(ValueError, match="row 17 has the largest number"):
        nr.SCW2().fit(X, y)
    for m in (nr.SCW2(), nr.Hedge(learners=["scw2", "pa1"])):
        m.partial_fit(X[:17], y[:17])
        said = m.predict(X[:17])
        wrong = 1 - m.predict(X[17:18])[0]
        with pytest.raises(ValueError, match="row 0 has the largest number"):
            m.learn_one(X[17], wrong)
        assert np.array_equal(m.predict(X[:17]), said)
    m = nr.SCW2().partial_fit(X[:17], y[:17])
    with pytest.raises(ValueError, match="overflows"):  # with a new label
        m.learn_one(X[17], "other")
    assert m.classes_.tolist() == [0, 1]


def test_a_state_of_single_precision_refuses_what_overflows_it():
    X, y = data(2, 1e22)
    m = nr.FTRLRegressor(dtype="float32").partial_fit(X[:17], y[:17])
    before = numbers(m)
    with pytest.raises(ValueError, match="FTRLRegressor overflows"):
        m.partial_fit(X, y)
    assert all(np.array_equal(before[k], a) for k, a in numbers(m).items())


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_cells_called_harmless_are(dtype):
    size = HARMLESS[np.dtype(dtype).itemsize] / 50
    X, y = data(2, size)
    for name in ("scw2", "cw_var", "ftrl_regressor", "ftrl"):
        assert not nr.learner(name, dtype=dtype).partial_fit(X, y).model.overflowed()


def test_large_cells_that_harm_nothing_are_learned():
    X, y = data(2, 1e100)
    m = nr.PA1().partial_fit(X, y)
    assert m.n_seen_ == 30
    assert np.isfinite(m.coef_).all()


@pytest.mark.parametrize("size", [1e-13, 1e-100, 1e-150])
def test_small_columns_are_standardised(size):
    X = np.random.default_rng(0).standard_normal((400, 3))
    y = (X[:, 0] > 0).astype(int)
    for layout in (np.asarray, csr_matrix):
        m = nr.pipeline(nr.Scale(), nr.PA1()).partial_fit(layout(X * size), y)
        assert (m.predict(layout(X * size)) == y).mean() > 0.9


@pytest.mark.parametrize("layout", [np.asarray, csr_matrix])
def test_columns_whose_squares_are_0_are_told(layout):
    X = np.random.default_rng(0).standard_normal((40, 3))
    X[:, 1] *= 1e-160
    with pytest.warns(UserWarning, match=r"all numbers of column 1 are below 1e-154 in size: their squares are 0"):
        nr.Scale().rows(checking.rows(layout(X), "float64"), True)
    with pytest.warns(UserWarning, match=r"all numbers of columns 0, 1, 2 are below"):
        nr.Scale().rows(checking.rows(layout(X * 1e-160), "float64"), True)


@pytest.mark.parametrize("size", [1e-9, 1e-100])
def test_columns_that_are_lost_beside_others_are_told(size):
    X = np.random.default_rng(0).standard_normal((40, 5))
    y = (X[:, 1] > 0).astype(int)
    X[:, 1] *= size
    with pytest.warns(UserWarning, match=r"all numbers of column 1 are below 1e-08 in size.*Scale the columns"):
        nr.PA1().partial_fit(X, y)
    with pytest.warns(UserWarning, match=r"all numbers of column 'b' are"):
        nr.PA1().partial_fit([dict(zip("abcde", x.tolist())) for x in X], y)
    with pytest.warns(UserWarning, match=r"columns 0, 1, 2 and 2 more are"):
        nr.PA1().partial_fit(X * 1e-9, y)
    with pytest.warns(UserWarning, match=r"column 'b' are"):
        nr.pipeline(nr.Table("y"), nr.PA1()).partial_fit([{**dict(zip("abcde", x.tolist())), "y": t} for x, t in zip(X, y)])


def test_small_numbers_that_are_learned_from_are_not_told():
    X = np.random.default_rng(0).standard_normal((400, 3))
    y = (X[:, 0] > 0).astype(int)
    few = X.copy()
    few[:300, 2] = 1e-200  # as chances may be
    nr.PA1().partial_fit(few, y)
    for m in (nr.NAG(), nr.Coin(), nr.ScInOL(), nr.pipeline(nr.Scale(), nr.PA1())):
        assert m.clone().partial_fit(X * 1e-100, y).score(X * 1e-100, y) > 0.9


def test_a_column_that_only_rounding_moves_is_constant():
    X = np.column_stack([np.full(50, 0.1) * (1 + 1e-15 * (np.arange(50) % 2)), np.arange(50.0)])
    rows = checking.rows(X, "float64")
    assert not nr.Scale().rows(rows, True).arrays[0][:, 0].any()


@pytest.mark.parametrize("name", ["ftrl", "fm_regressor", "hashed", "pool"])
def test_a_refused_example_leaves_no_names(name):
    own = {"hashed": nr.FTRL(hash_bits=4), "pool": nr.Hedge(learners=[nr.FTRL(), nr.PA1()])}
    m = own[name] if name in own else nr.learner(name)
    for i in range(6):
        m.learn_one({"a_1": i % 3 - 1.0, "b": 1.0}, i % 2)
    other = copy.deepcopy(m)
    for y in (1, 0 if name == "fm_regressor" else 2):  # a label that is known, and one that is not
        before = m.digest()
        with pytest.raises(ValueError, match="overflow"):
            m.learn_one({"a_2": 2.0, "new": 1e308, "b": -1e308}, y)
        assert m.digest() == before
    for k in (m, other):
        k.learn_one({"a_3": 1.0, "new": 2.0}, 1)
    assert m.digest() == other.digest()
