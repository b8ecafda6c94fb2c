"""Factorisation machines: an eager transcription, the gradient by differences, pairs never seen, a class that comes later."""

import numpy as np
import pytest
from reference_factors import RefFM, start
from scipy.sparse import csr_matrix

import noregret as nr


def rows(n=40, d=6, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.6)
    X[7] = 0.0
    return X, rng


@pytest.mark.parametrize(("params", "bias"), [({"loss": "log", "sigma": 0.3}, True), ({"loss": "hinge", "k": 3, "l2": 0.0}, False)])
def test_transcription_of_two_classes(params, bias):
    X, rng = rows()
    y, c = rng.choice([-1, 1], len(X)), rng.choice([0.5, 1.0, 3.0], len(X))
    m, ref = nr.FM(fit_intercept=bias, seed=5, **params), RefFM(X.shape[1], bias=bias, seed=5, **params)
    for i, (x, t, w) in enumerate(zip(X, y, c, strict=True)):
        ref.learn(x, t, w)
        m.partial_fit(csr_matrix(x) if i % 2 else x[None], [t], classes=[-1, 1], sample_weight=[w])
    np.testing.assert_allclose(m.decision_function(X), [ref.scores(x)[0] for x in X], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(m.factors(), ref.V[0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(m.coef_[0], ref.w[0, : X.shape[1]], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("loss", ["log", "hinge"])
def test_transcription_of_three_classes(loss):
    X, rng = rows()
    y = rng.choice(3, len(X))
    m, ref = nr.FM(loss=loss, sigma=0.2, classes=[0, 1, 2]), RefFM(X.shape[1], loss, 3, True, sigma=0.2)
    before = [ref.learn(x, t) for x, t in zip(X, y, strict=True)]
    np.testing.assert_allclose(m.learn_many(X, y), before, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(m.factors(), ref.V, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("loss", ["square", "epsilon_insensitive"])
def test_transcription_of_targets(loss):
    X, rng = rows()
    y = rng.normal(size=len(X))
    m, ref = nr.FMRegressor(loss=loss, k=4), RefFM(X.shape[1], loss, bias=True, k=4, eta_w=0.25)
    before = [ref.learn(x, t)[0] for x, t in zip(X, y, strict=True)]
    np.testing.assert_allclose(np.ravel(m.learn_many(X, y)), before, rtol=1e-9, atol=1e-12)


def test_first_steps_follow_the_gradient_by_differences():
    """The first step of AdaGrad is eta times the sign of the gradient, and N holds the square of the gradient."""
    X = np.array([[1.0, -0.5, 2.0, 0.0, 0.7, 1.5]])
    m = nr.FMRegressor(k=3, sigma=0.5, l2=0.0, fit_intercept=False).partial_fit(X, [2.0])
    V, x, h = start(0, 6, 3, 0.5), X[0], 1e-6

    def loss(V):
        S = V.T @ x
        return (0.5 * (S @ S - ((V * x[:, None]) ** 2).sum()) - 2.0) ** 2

    moves = [np.eye(18)[i].reshape(6, 3) * h for i in range(18)]
    slopes = np.reshape([(loss(V + e) - loss(V - e)) / (2 * h) for e in moves], (6, 3))
    np.testing.assert_allclose(m.state.N[:6, 0], slopes**2, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(m.factors(), V - 0.1 * np.sign(slopes), rtol=1e-9)


def test_pairs_never_seen_together():
    """Ratings of rank 1, a fifth of the pairs left out: weights alone cannot tell them, factors can."""
    rng = np.random.default_rng(3)
    u, v = rng.choice([-1.0, 1.0], 20), rng.choice([-1.0, 1.0], 20)
    cells = [(i, j) for i in range(20) for j in range(20)]
    rng.shuffle(cells)
    X = np.zeros((400, 40))
    for r, (i, j) in enumerate(cells):
        X[r, [i, 20 + j]] = 1.0
    y = np.array([u[i] * v[j] for i, j in cells])
    fm = nr.FMRegressor(k=2, sigma=0.1).fit(X[:320], y[:320], epochs=40)
    line = nr.AdaGradRegressor().fit(X[:320], y[:320], epochs=40)
    right = [np.mean(np.sign(m.predict(X[320:])) == y[320:]) for m in (fm, line)]
    assert right[0] > 0.95
    assert right[1] < 0.7


def test_a_third_class_keeps_what_was_learned():
    X, _ = rows(200)
    y = np.where(X[:, 0] * X[:, 1] > 0, "a", "b")
    m = nr.FM().partial_fit(X, y)
    before = m.decision_function(X)
    m.learn_one(X[0], "c")
    after = m.decision_function(X)
    names = list(m.classes_)
    a, b = names.index("a"), names.index("b")
    difference = after[:, b] - after[:, a]
    assert abs(difference - before).mean() < 0.1 * abs(before).mean() + 0.2


def test_draws_go_by_the_seed():
    X, rng = rows()
    y = rng.choice([-1, 1], len(X))
    a, b, c = (nr.FM(seed=s).fit(X, y).factors() for s in (0, 0, 1))
    assert np.array_equal(a, b)
    assert not np.allclose(a, c)


def test_merging_is_refused():
    X, rng = rows()
    y = rng.choice([-1, 1], len(X))
    with pytest.raises(TypeError, match="do not correspond"):
        nr.FM().fit(X, y).merge(nr.FM().fit(X, y))
