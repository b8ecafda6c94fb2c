"""The sparse learners: printed traces, an eager transcription, the invariants of the sheet, and what may not depend on laziness."""

import numpy as np
import pytest
from reference_sparse import transcribe
from scipy.sparse import csr_matrix
from traces_sparse import TRACES

import noregret as nr
from noregret.core.engine import interpreted
from noregret.core.state import settle

LAZY = ("fobos", "truncated_gradient", "rounding", "rda", "ftrl", "adagrad_fobos", "adagrad_rda")
LABEL_LOSSES = ("hinge", "squared_hinge", "log", "exponential", "perceptron", "square")
REAL_LOSSES = ("square", "absolute", "epsilon_insensitive", "squared_epsilon_insensitive")
STRONG = {  # settings that make zeros on short streams
    "fobos": {"lambda_": 0.2, "eta": 0.3},
    "truncated_gradient": {"g": 0.15, "K": 3, "theta": 0.4, "eta": 0.1},
    "rounding": {"theta": 0.05, "K": 3, "eta": 0.1},
    "rda": {"lambda_": 0.03, "gamma": 2.0},
    "ftrl": {"lambda1": 2.0},
    "adagrad_fobos": {"lambda_": 0.2},
    "adagrad_rda": {"lambda_": 0.03},
    "group_lasso": {"lambda_": 0.03, "gamma": 2.0, "groups": [0, 0, 1, 2, 1, 3, 3, 3]},
}


def data(K, seed=0, n=60, d=8):
    """Sparse rows, some empty, with features of different sizes and sample weights, some of them 0."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.4)
    f = X @ (rng.standard_normal((d, max(K, 1))) * (rng.random((d, 1)) < 0.6)) + 0.3 * rng.standard_normal((n, max(K, 1)))
    X[rng.random(n) < 0.05] = 0.0
    y = f[:, 0] if K == 0 else np.where(f[:, 0] > 0, 1, -1) if K == 2 else f.argmax(1)
    return X * np.exp(rng.normal(0, 0.5, d)), y, rng.choice([0.0, 0.5, 1.0, 2.5], n)


def make(name, K, params):
    """The learner for a target of K classes, a real one if K = 0."""
    classes = {"classes": [-1, 1] if K == 2 else list(range(K))} if K else {}
    return nr.learner(name if K else f"{name}_regressor", **params, **classes)


# ---- traces ----------------------------------------------------------------------------------------------------------
def follow(t, layout):
    X, y, classes = t.on
    m = nr.learner(t.registry, fit_intercept=False, **t.params, **({} if classes is None else {"classes": classes}))
    for i, said in enumerate(t.rounds()):
        f = m.learn_many(layout(np.asarray(X[i : i + 1], float)), y[i : i + 1])
        w = m._m.state.w.w if hasattr(m._m.state.w, "w") else m._m.state.w
        found = {
            "score": lambda f=f: f,
            "w": lambda: m._m.weights(),
            "W": lambda: m._m.weights().T,
            "gbar": lambda w=w, i=i: w.G / (i + 1),
            "z": lambda w=w: w.z,
            "n": lambda w=w: w.n,
            "H": lambda w=w: w.delta + np.sqrt(w.n),
        }
        for k, v in said.items():
            np.testing.assert_allclose(np.ravel(found[k]()), v, atol=2e-6, err_msg=f"{t.name}, round {i + 1}, {k}")


@pytest.mark.parametrize("t", TRACES, ids=lambda t: t.name)
@pytest.mark.parametrize("layout", [np.asarray, csr_matrix])
def test_trace(t, layout):
    with interpreted():
        follow(t, layout)


# ---- transcriptions: every loss with every method --------------------------------------------------------------------
CASES = [
    *[(name, {"loss": loss}, K) for name in LAZY for loss in LABEL_LOSSES for K in (2, 3)],
    *[(name, {"loss": loss}, 0) for name in LAZY for loss in REAL_LOSSES],
    *[("fobos", {"regularizer": r, "lambda_": 0.1}, K) for r in ("l2", "l2sq", "linf", "elastic", "l1l2", "l1linf") for K in (0, 2, 3)],
    *[("fobos", {"regularizer": r, "loss": "hinge"}, 4) for r in ("l1l2", "l1linf", "linf", "l2")],
    *[("fobos", {"rate": rate, "eta": 0.2}, 2) for rate in ("constant", "inv_t")],
    ("truncated_gradient", {"g": 0.02, "K": 1}, 3),
    ("truncated_gradient", {"g": 0.05, "K": 7, "rate": "inv_sqrt", "eta": 0.5}, 2),
    ("rounding", {"K": 1, "theta": 0.02}, 3),
    *[("rda", {"lambda_": 0.02, **given}, K) for given in ({"rho": 0.02}, {"sigma": 0.5}, {"gamma": 0.0, "sigma": 1.0}) for K in (2, 3)],
    ("ftrl", {"lambda1": 0.2, "lambda2": 0.5, "beta": 0.0}, 3),
    *[(name, {"lambda_": lambda_, "l2": 0.1}, K) for name in ("adagrad_fobos", "adagrad_rda") for lambda_ in (0.0, 0.03) for K in (0, 3)],
]
SMALL_STEPS = {  # losses with slopes that grow with the score need small steps on unscaled rows
    "fobos": {"eta": 0.02},
    "truncated_gradient": {"eta": 0.01},
    "rounding": {"eta": 0.01},
    "rda": {"gamma": 50.0},
    "ftrl": {},
    "adagrad_fobos": {},
    "adagrad_rda": {},
}


@pytest.mark.parametrize(("name", "params", "K"), CASES, ids=lambda v: str(v))
@pytest.mark.parametrize("bias", [False, True])
def test_transcription(name, params, K, bias):
    """Scores of all rounds, and all weights wherever one may read them, with and without constant feature and sample weights."""
    steep = params.get("loss", "" if K else "square") in ("square", "squared_hinge", "exponential", "squared_epsilon_insensitive")
    given = {**STRONG[name], **(SMALL_STEPS[name] if steep else {}), **params}
    X, y, c = data(K, seed=len(str(params)) + K)
    c = c if bias else None
    f, ref = transcribe(name, given, K, X, y, c, bias)
    with interpreted():
        m = make(name, K, {"fit_intercept": bias, **given})
        k = len(y) // 2
        first = m.learn_many(X[:k], y[:k], sample_weight=None if c is None else c[:k])
        _, half = transcribe(name, given, K, X[:k], y[:k], None if c is None else c[:k], bias)
        compare(m, half, K, bias)
        m.predict(X)
        rest = m.learn_many(csr_matrix(X[k:]), y[k:], sample_weight=None if c is None else c[k:])
    np.testing.assert_allclose(np.concatenate([first, rest]).reshape(f.shape), f, rtol=1e-9, atol=1e-11)
    compare(m, ref, K, bias)


def compare(m, ref, K, bias):
    coef, intercept = np.atleast_2d(m.coef_).T, np.atleast_1d(m.intercept_)
    np.testing.assert_allclose(coef, ref.W, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(intercept, ref.b if bias else 0.0 * intercept, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", LAZY)
def test_there_are_zeros_to_compare(name):
    """The settings above make exact zeros, and not only zeros; the constant feature is not among them."""
    for K in (0, 2, 3):
        X, y, _ = data(K, 1)
        with interpreted():
            m = make(name, K, {**STRONG[name], **(SMALL_STEPS[name] if K == 0 else {})}).fit(X, y)
        some = np.count_nonzero(m.coef_)
        assert 0 < some < m.coef_.size, (name, K)
        assert np.all(m.intercept_ != 0.0), (name, K)
