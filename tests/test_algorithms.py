"""Each algorithm against its trace, an independent NumPy transcription, its invariants and the a1a counts."""

import gzip
import os
import pathlib

import numpy as np
import pytest
import reference
import reference_adaptive
import reference_factors
import reference_kernels
import reference_second_order
import reference_sparse
import traces
import traces_kernels
import traces_second_order
import traces_sparse
from scipy.sparse import csr_matrix

import noregret as nr
from noregret.tasks.classification import Classifier

REFERENCES = (reference, reference_adaptive, reference_factors, reference_kernels, reference_second_order, reference_sparse)
ONE_CLASS = ("pa_uniclass", "norma_novelty")


def make(registry, task, classes=None, **params):
    if registry not in ONE_CLASS:
        params["fit_intercept"] = False
    if task in ("binary", "multiclass"):
        params["classes"] = list(classes)
    return nr.learner(registry, **params)


def started(m, X, start):
    """A model that begins at given weights (settled, so that tracked norms follow)."""
    m.model = m.new_model(nr.inputs.checking.rows(X, "float64"))
    w = m.model.state.w
    w.u[:] = np.asarray(start, float).T.ravel()
    nr.algorithm.state.settle(m.model.state)
    return m


@pytest.mark.parametrize("t", traces.TRACES, ids=lambda t: t.name)
def test_trace(t):
    follow(t, np.asarray)


@pytest.mark.parametrize("t", traces.TRACES, ids=lambda t: t.name)
def test_trace_interpreted_on_sparse_rows(t):
    """Compiled equals interpreted by the laws; here the text itself, on the other layout, without the compiler."""
    with nr.engine.compiling.interpreted():
        follow(t, csr_matrix)


def follow(t, layout):
    X = np.asarray(t.X, float)
    m = make(t.registry, t.task, t.classes, **t.params)
    if t.start is not None:
        started(m, X, t.start)
    for i in range(len(X)):
        f = m.learn_many(layout(X[i : i + 1]), t.y[i : i + 1] if t.y is not None else None)
        if t.scores is not None and t.scores[i] is not None:
            np.testing.assert_allclose(np.ravel(f), np.ravel(t.scores[i]), atol=2e-6)
        if t.W is not None and t.W[i] is not None:
            w = m.state.w.u[None] if t.registry == "voted_perceptron" else m.model.weights()
            np.testing.assert_allclose(w, np.atleast_2d(t.W[i]), atol=2e-6)


def test_every_learner_has_a_trace_or_a_transcription_or_a_reason():
    without = {
        "eg": "its traces are the regressions'",
        "eg_pm": "its traces are the regressions'",
        "mirror_descent_regressor": "the trace is the classifier's",
        "kernel_rls": "no trace is printed; the least squares problem itself is solved in test_kernels.py",
        "rbp": "its draws are its own; the trace scripts them, in test_kernels.py",
        "rls": "in test_least_squares.py",
        **dict.fromkeys(("auto", "hedge"), "in test_hedge.py"),
        **dict.fromkeys(("auto_regressor", "hedge_regressor"), "in test_hedge_regressor.py"),
        **dict.fromkeys(("mondrian_forest", "mondrian_forest_regressor"), "in test_forests.py"),
        **{
            f"{name}{twin}": "its traces are those of the other task"
            for name, twin in (
                ("rounding", ""),
                ("truncated_gradient", ""),
                *[(n, "_regressor") for n in ("fobos", "rda", "ftrl", "adagrad_fobos", "adagrad_rda", "group_lasso")],
            )
        },
    }
    found = [*traces.TRACES, *traces_kernels.TRACES, *traces_second_order.TRACES, *traces_sparse.TRACES]
    printed = {t.registry for t in found}
    transcribed = {name for name in nr.algorithms() for r in REFERENCES if name in getattr(r, "REGISTRY", vars(r))}
    assert set(nr.algorithms()) == printed | set(without) | transcribed


# ---- transcriptions --------------------------------------------------------------------------------------------------
CASES = [
    ("perceptron", {}),
    ("perceptron", {"beta": 0.1, "gamma": 0.95, "alpha": 0.5}),
    *[("perceptron", {"beta": 0.5, "schedule": s}) for s in ("inv_sqrt", "inv_t", "inv_updates", "line_search")],
    ("shifting_perceptron", {"lambda_": 2.0}),
    ("shifting_perceptron", {"lambda_": 0.7}),
    ("averaged_perceptron", {}),
    ("voted_perceptron", {}),
    ("alma", {}),
    ("alma", {"p": 4.0, "alpha": 0.7}),
    ("alma", {"alpha": 0.5, "B": 8.0**0.5 / 0.5, "C": 1.0}),
    ("romma", {}),
    ("aromma", {}),
    ("mira", {}),
    ("norma", {"eta": 0.4, "lambda_": 0.25}),
    ("norma", {"eta": 0.4, "lambda_": 0.25, "nu": 0.3, "offset": True}),
    ("norma", {"rho": 0.3, "rate": "inv_sqrt"}),
    ("pa", {}),
    ("pa1", {"C": 0.25}),
    ("pa2", {"C": 0.25}),
    *[("ogd", {"loss": loss, "eta": 0.5}) for loss in ("hinge", "log")],
    *[("ogd", {"loss": loss, "eta": 0.02}) for loss in ("squared_hinge", "exponential")],
    *[("ogd", {"eta": 0.5, "rate": r}) for r in ("constant", "inv_t")],
    *[("ogd", {"eta": 0.5, "projection": s, "radius": 0.5}) for s in ("l2", "l1", "simplex", "box")],
    ("ogd", {"eta": 0.5, "l2": 0.3, "projection": "l2", "radius": 0.5}),
    ("ogd", {"eta": 0.5, "loss": "log", "projection": "box", "radius": 0.1}),
    ("eg_pm", {"eta": 0.3, "U": 2.0}),
    ("eg_pm", {"eta": 0.3, "U": 2.0, "loss": "log"}),
    ("mirror_descent", {"p": 3.0, "eta": 0.5}),
    ("mirror_descent", {"p": 2.0, "eta": 0.5, "rate": "inv_sqrt", "loss": "log"}),
    ("mirror_descent", {"p": 5.0, "eta": 1.0, "loss": "perceptron"}),
    ("winnow", {"alpha": 1.5, "theta": 2.0}),
    ("winnow", {"zero_on_demotion": True}),
    ("balanced_winnow", {}),
    ("balanced_winnow", {"alpha": 1.3, "beta": 0.7, "theta": 2.0}),
]
MULTICLASS = [
    *[("perceptron", {"update": u}) for u in ("max", "uniform", "proportional")],
    *[(n, p) for n, p in CASES if n != "perceptron"],
    ("perceptron", {"beta": 0.1, "gamma": 0.95, "alpha": 0.5}),
    ("eg", {"eta": 0.3}),
    ("eg", {"eta": 0.3, "loss": "log"}),
    ("pa1", {"C": 0.25, "cost": np.array([[0, 1, 4.0], [1, 0, 1], [9, 1, 0]]), "mode": "prediction"}),
    ("pa2", {"C": 0.25, "cost": np.array([[0, 1, 4.0], [1, 0, 1], [9, 1, 0]]), "mode": "max_loss", "margin": "cost"}),
    ("pa", {"cost": np.array([[0, 1, 4.0], [1, 0, 1], [9, 1, 0]]), "margin": "unit"}),
]
REAL = [
    ("pa_regressor", {}),
    ("pa1_regressor", {"C": 0.1, "epsilon": 0.2}),
    ("pa2_regressor", {"C": 0.5, "epsilon": 0.0}),
    *[
        ("ogd_regressor", {"loss": loss, "eta": 0.05})
        for loss in ("square", "absolute", "epsilon_insensitive", "squared_epsilon_insensitive")
    ],
    ("ogd_regressor", {"eta": 0.05, "projection": "l1", "radius": 0.7, "l2": 0.1}),
    ("eg_regressor", {}),
    ("eg_pm_regressor", {"U": 3.0, "loss": "absolute"}),
    ("mirror_descent_regressor", {"p": 3.0, "eta": 0.02}),
    ("norma_regressor", {"eta": 0.3, "lambda_": 0.1, "nu": 0.3}),
    ("norma_regressor", {"loss": "square", "eta": 0.05, "lambda_": 0.1}),
    ("norma_regressor", {"rate": "inv_sqrt"}),
    ("norma_novelty", {"nu": 0.3, "eta": 0.3}),
    *[("pa_uniclass", {"variant": v, "C": 0.5, "epsilon": 0.5}) for v in ("pa", "pa1", "pa2")],
    ("pa_uniclass", {"variant": "pa", "B": 4.0}),
]


def data(registry, K, seed, n=120, d=7):
    """Random rows with zeros, zero rows and sample weights, some of them 0."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.7)
    if "winnow" in registry:  # ties with theta are exact when theta/d is a power of 2
        d = 8
        X = (rng.random((n, d)) < 0.4).astype(float)
    X[rng.random(n) < 0.05] = 0.0
    f = X @ rng.standard_normal((d, max(K, 1))) + 0.3 * rng.standard_normal((n, max(K, 1)))
    y = f[:, 0] if K == 0 else np.where(f[:, 0] > 0, 1, -1) if K == 2 else f.argmax(1)
    return X, y, rng.choice([0.0, 0.5, 1.0, 2.5], n)


NAMED = [*[(n, p, 2) for n, p in CASES], *[(n, p, 3) for n, p in MULTICLASS], *[(n, p, 0) for n, p in REAL]]
OTHERS = reference.REGISTRY.keys() - {n for n, _, _ in NAMED}  # those without a case run with their defaults
ALL = pytest.mark.parametrize(
    ("registry", "params", "K"),
    [*NAMED, *[(n, {}, K) for n in sorted(OTHERS) for K in ((2, 3) if isinstance(nr.learner(n), Classifier) else (0,))]],
    ids=lambda v: str(v).replace("\n", "")[:60],
)


@ALL
def test_transcription(registry, params, K):
    compare(registry, params, K, weighted=False)


@ALL
def test_transcription_weighted(registry, params, K):
    """Interpreted: compiled equals interpreted by the laws, and a weighted kernel each would take minutes to compile."""
    with nr.engine.compiling.interpreted():
        compare(registry, params, K, weighted=True)


@pytest.mark.parametrize("registry", ["perceptron", "pa1", "ogd", "norma", "mira", "winnow", "eg_pm"])
def test_transcription_weighted_compiled(registry):
    compare(registry, {}, 3, weighted=True)


def compare(registry, params, K, weighted):
    X, y, c = data(registry, K, seed=len(str(params)) + K)
    c = c if weighted else None
    task = {0: "regression", 2: "binary", 3: "multiclass"}[K]
    ref = reference.learn(registry, X, y, weights=c, **({"K": K} if K > 2 else {}), **params)
    m = make(registry, task, np.unique(y), **params)
    f = m.learn_many(X, y, sample_weight=c)
    counted = np.ones(len(y), bool) if c is None else c > 0.0
    np.testing.assert_allclose(f[counted], ref.scores[counted], rtol=1e-9, atol=1e-9)
    if registry != "voted_perceptron":
        np.testing.assert_allclose(m.model.weights(), np.atleast_2d(ref.W[-1]), rtol=1e-9, atol=1e-9)
    assert m.n_updates_ == ref.updated[counted].sum()
    assert m.n_seen_ == counted.sum()


# ---- invariants (section Q of the specification sheet) ----------------------------------------------------------------
def separable(seed, n=200, d=6):
    rng = np.random.default_rng(seed)
    X, u = rng.standard_normal((n, d)), rng.standard_normal(d)
    return X, np.where(X @ u > 0, 1, -1), u


def test_perceptron_weights_are_the_sum_of_its_mistakes():
    X, y, _ = separable(0)
    m = nr.Perceptron(fit_intercept=False, classes=[-1, 1])
    f = m.learn_many(X, y)
    wrong = y * f <= 0
    np.testing.assert_allclose(m.coef_[0], (y[:, None] * X)[wrong].sum(0))
    assert (m.coef_**2).sum() <= wrong.sum() * (X**2).sum(1).max()


def test_perceptron_step_size_changes_no_prediction():
    X, y, _ = separable(1)
    a, b = (nr.Perceptron(alpha=v, classes=[-1, 1]).partial_fit(X, y) for v in (1.0, 4.0))
    assert np.array_equal(a.predict(X), b.predict(X))
    assert a.n_updates_ == b.n_updates_


def test_shifting_perceptron_with_lambda_1_is_the_perceptron():
    X, y, _ = separable(2)
    a, b = (m.partial_fit(X, y) for m in (nr.Perceptron(classes=[-1, 1]), nr.ShiftingPerceptron(lambda_=1.0, classes=[-1, 1])))
    np.testing.assert_allclose(b.coef_, a.coef_ / a.n_updates_, atol=1e-12)


def test_averaged_is_the_mean_of_all_vectors():
    X, y, _ = separable(3)
    m, w = nr.Perceptron(fit_intercept=False, classes=[-1, 1]), [np.zeros(6)]
    for i in range(len(y)):
        w.append(m.partial_fit(X[i : i + 1], y[i : i + 1]).coef_[0].copy())
    averaged = nr.AveragedPerceptron(fit_intercept=False, classes=[-1, 1]).partial_fit(X, y)
    np.testing.assert_allclose(averaged.coef_[0], np.mean(w, axis=0), atol=1e-12)
    same = nr.Perceptron(average=True, fit_intercept=False, classes=[-1, 1]).partial_fit(X, y)
    np.testing.assert_array_equal(averaged.coef_, same.coef_)


@pytest.mark.parametrize(("name", "limit"), [("pa", None), ("pa1", 0.2), ("pa2", 0.2)])
def test_passive_aggressive_steps(name, limit):
    X, y, _ = separable(4)
    m = nr.learner(name, fit_intercept=False, classes=[-1, 1], **({"C": limit} if limit else {}))
    for i in range(len(y)):
        w = m.coef_[0] if i else np.zeros(6)
        m.partial_fit(X[i : i + 1], y[i : i + 1])
        tau = np.linalg.norm(m.coef_[0] - w) / np.linalg.norm(X[i])
        if tau > 1e-12:
            margin = y[i] * m.coef_[0] @ X[i]
            assert margin <= 1 + 1e-9
            assert name != "pa" or abs(margin - 1) < 1e-9
            assert name != "pa1" or tau <= limit + 1e-12


def test_large_c_is_pa():
    X, y, _ = separable(5)
    a, b, c = (m.fit(X, y).coef_ for m in (nr.PA(), nr.PA1(C=1e12), nr.PA2(C=1e12)))
    np.testing.assert_allclose(a, b)
    np.testing.assert_allclose(a, c)


@pytest.mark.parametrize("name", ["perceptron", "pa", "pa1", "pa2", "mira"])
def test_rows_of_classes_sum_to_zero(name):
    X, y, _ = data(name, 4, 0)
    np.testing.assert_allclose(nr.learner(name).fit(X, y).coef_.sum(0), 0.0, atol=1e-10)


def test_alma_stays_in_the_ball():
    X, y, _ = separable(6)
    for p in (2.0, 4.0, 10.0):
        m = nr.ALMA(p=p, fit_intercept=False).fit(X, y, epochs=3)
        q = p / (p - 1.0)
        assert (np.abs(m.coef_) ** q).sum() ** (1.0 / q) <= 1.0 + 1e-9
        assert m.state.k[0] == m.n_updates_


def test_romma_constraints_are_tight():
    X, y, _ = separable(7)
    m, w = nr.ROMMA(fit_intercept=False, classes=[-1, 1]), np.zeros(6)
    for i in range(len(y)):
        before = m.n_updates_ if i else 0
        m.partial_fit(X[i : i + 1], y[i : i + 1])
        new = m.coef_[0]
        if i and m.n_updates_ > before:
            assert y[i] * new @ X[i] == pytest.approx(1.0)
            assert new @ w == pytest.approx(w @ w)
        assert new @ new >= w @ w - 1e-12
        w = new


def test_eg_stays_on_the_simplex():
    X, y, _ = data("eg", 0, 8)
    w = nr.EGRegressor(fit_intercept=False, eta=2.0).fit(X, y, epochs=20).coef_
    assert (w >= 0).all()
    assert w.sum() == pytest.approx(1.0)
    m = nr.EGpmRegressor(fit_intercept=False, U=2.0, eta=2.0).fit(X, y, epochs=20)
    assert np.abs(m.coef_).sum() <= 2.0 + 1e-9
    s = m.state
    assert s.Z[0] == pytest.approx(sum(np.exp(s.theta - s.top[0]) + np.exp(-s.theta - s.top[0])), rel=1e-12)


def test_projected_iterates_stay_inside():
    X, y, _ = data("ogd", 2, 9)
    inside = {
        "l2": lambda w: np.linalg.norm(w) <= 0.3 + 1e-12,
        "l1": lambda w: np.abs(w).sum() <= 0.3 + 1e-12,
        "box": lambda w: np.abs(w).max() <= 0.3 + 1e-12,
        "simplex": lambda w: (w >= -1e-12).all() and abs(w.sum() - 0.3) < 1e-9,
    }
    for name, check in inside.items():
        m = nr.OGD(projection=name, radius=0.3, fit_intercept=False, classes=[-1, 1])
        for i in range(len(y)):
            assert check(m.partial_fit(X[i : i + 1], y[i : i + 1]).coef_[0]), name


def test_half_space():
    X, y, _ = data("ogd", 2, 10)
    a = np.array([1.0, -1.0, 0, 0, 0, 0, 0])
    m = nr.OGD(projection=nr.HalfSpace(a, 0.5), fit_intercept=False).fit(X, y)
    assert a @ m.coef_[0] >= 0.5 - 1e-12


def test_pegasos_is_the_running_mean():
    """With rate inv_t and eta = 1/l2, w_{t+1} is the mean of the steps taken so far."""
    X, y, _ = separable(11)
    m = nr.OGD(l2=0.5, eta=2.0, rate="inv_t", fit_intercept=False, classes=[-1, 1])
    total = np.zeros(6)
    for i in range(len(y)):
        f = m.learn_many(X[i : i + 1], y[i : i + 1])[0]
        total += (y[i] * f < 1) * y[i] * X[i]
        np.testing.assert_allclose(m.coef_[0], total / (0.5 * (i + 1)), atol=1e-10)


def test_regret_of_the_worked_example():
    """L.3: loss 4.435411 against 2.512531 of the best in the ball; the bound is 7.444272."""
    m = nr.OGD(eta=0.5, projection="l2", radius=0.5, fit_intercept=False)
    u = np.array([-0.251259, 0.351763, 0.251259])
    measured, promised = nr.checks.measure(m, traces.P, np.asarray(traces.P_LABELS), u)
    assert measured == pytest.approx(1.922880, abs=2e-5)
    assert promised == pytest.approx(7.444272, abs=1e-5)


def test_custom_rate():
    X, y, _ = separable(12)
    a = nr.OGD(rate=lambda t: 0.5 / (t + 1.0)).fit(X, y)
    b = nr.OGD(rate=lambda t: 0.25 / (t + 1.0)).fit(X, y)
    with nr.engine.compiling.interpreted():
        c = nr.OGD(rate=lambda t: 0.5 / (t + 1.0)).fit(X, y)
    np.testing.assert_allclose(a.coef_, c.coef_)
    assert not np.allclose(a.coef_, b.coef_)


# ---- published counts ------------------------------------------------------------------------------------------------
A1A = {
    "perceptron": (375, 389),
    "romma": (387, 387),
    "aromma": (364, 522),
    "alma": (348, 385),
    "ogd": (301, 567),
    "pa": (388, 725),
    "pa1": (388, 725),
    "pa2": (386, 729),
}


def find_a1a():
    places = [os.environ.get("NOREGRET_A1A", ""), "../shared/data/a1a/a1a.gz", "../shared/data/a1a/a1a"]
    return next((pathlib.Path(p) for p in places if p and pathlib.Path(p).is_file()), None)


def read_a1a():
    path = find_a1a()
    if path is None:
        pytest.skip("the public LIBSVM file a1a is not here: give its path in NOREGRET_A1A")
    X, y = np.zeros((1605, 123)), np.zeros(1605, int)
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt") as lines:
        for i, line in enumerate(lines):
            label, *items = line.split()
            y[i] = int(label)
            for item in items:
                j, v = item.split(":")
                X[i, int(j) - 1] = float(v)
    return csr_matrix(X), y


@pytest.mark.parametrize("name", A1A)
def test_a1a_counts(name):
    m = nr.learner(name, fit_intercept=False, classes=[-1, 1]).partial_fit(*read_a1a())
    assert abs(m.n_mistakes_ - A1A[name][0]) <= 2
    assert abs(m.n_updates_ - A1A[name][1]) <= 2
