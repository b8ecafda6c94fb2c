"""AdaGrad, NAG, coin betting and ScInOL: printed traces, an eager NumPy transcription, what they promise, and Vowpal Wabbit."""

import csv
import gzip
import os
import pathlib
from decimal import Decimal, localcontext

import numpy as np
import pytest
import traces
from reference_adaptive import BOTH_TASKS, DEFAULT_LOSS
from scipy.sparse import csr_matrix

import noregret as nr
from noregret.families.adaptive import flow, log_gain
from noregret.parts import losses

WEIGHTS = np.array([1, 3, 1, 0.5, 2])
ON_P = {"X": traces.P, "y": traces.P_LABELS, "classes": [-1, 1]}
ON_TARGETS = {"X": traces.P, "y": traces.P_TARGETS}
ON_M = {"X": traces.M, "y": traces.M_LABELS, "classes": [0, 1, 2]}

# name: learner, data, scores before each round, arrays after the last one and (given as lists of rounds) after each
TRACES = {
    "adagrad hinge": (
        "adagrad",
        {"loss": "hinge", "fit_intercept": False},
        ON_P,
        [0, -0.25, -0.91459, 0.771622, 0.708385],
        {
            "n": [(1, 4, 0), (1.25, 5, 1), (2.25, 5.25, 5), (6.25, 6.25, 6), (6.25, 7.25, 6.25)],
            "w": [
                (0.5, 0.5, 0),
                (0.276393, 0.723607, -0.5),
                (-0.05694, 0.832716, -0.052786),
                (-0.45694, 0.632716, 0.151338),
                (-0.45694, 0.818411, 0.251338),
            ],
        },
    ),
    "adagrad log": (
        "adagrad",
        {"fit_intercept": False},
        ON_P,
        [0, -0.25, -0.949199, 0.680535, 0.697284],
        {
            "n": [
                (0.25, 1, 0),
                (0.297922, 1.191689, 0.191689),
                (0.817697, 1.321633, 2.270789),
                (2.580527, 1.762341, 2.711496),
                (2.580527, 1.87284, 2.739121),
            ],
            "w": [
                (0.5, 0.5, 0),
                (0.299466, 0.700534, -0.5),
                (-0.099174, 0.857314, -0.021569),
                (-0.512432, 0.60728, 0.180008),
                (-0.512432, 0.72873, 0.230221),
            ],
        },
    ),
    "adagrad regressor": (
        "adagrad_regressor",
        {"fit_intercept": False},
        ON_TARGETS,
        [0, -0.25, -1.156974, 0.775105, 0.909935],
        {
            "n": [
                (4, 16, 0),
                (4.0625, 16.25, 0.25),
                (15.04475, 18.995563, 44.179002),
                (39.050622, 24.99703, 50.180469),
                (39.050622, 25.029477, 50.188581),
            ],
            "w": [
                (0.5, 0.5, 0),
                (0.437983, 0.562017, -0.5),
                (0.010791, 0.752108, -0.001417),
                (0.402816, 0.997101, -0.174331),
                (0.402816, 1.015103, -0.167975),
            ],
        },
    ),
    "adagrad of three classes": (
        "adagrad",
        {"loss": "hinge", "fit_intercept": False},
        ON_M,
        [(0, 0, 0), (0, 0, 0), (-0.25, 0.25, 0), (0.25, 0.215357, -0.75), (0.79683, -0.79683, 0.073223)],
        {
            "w": [
                [(0.5, 0), (-0.5, 0), (0, 0)],
                [(0.5, -0.5), (-0.5, 0.5), (0, 0)],
                [(0.5, -0.5), (-0.146447, 0.723607), (-0.5, -0.5)],
                [(0.146447, -0.723607), (-0.146447, 0.723607), (-0.146447, -0.146447)],
                [(-0.02022, -0.390273), (0.02022, 0.390273), (-0.146447, -0.146447)],
            ]
        },
    ),
    "nag log": (
        "nag",
        {"loss": "log"},
        ON_P,
        [0, 0.235353, -0.497501, 0.269419, 0.248119],
        {
            "q": [(1, 2, 0, 1), (1, 2, 1, 1), (1, 2, 2, 1), (2, 2, 2, 1), (2, 2, 2, 1)],
            "w": [
                (0.235353, 0.117677, 0, 0.235353),
                (0.108312, 0.181197, -0.260516, 0.041245),
                (-0.08222, 0.215126, -0.012115, 0.206619),
                (-0.148999, 0.15712, 0.039557, 0.071221),
                (-0.148999, 0.204957, 0.061772, 0.180914),
            ],
        },
    ),
    "nag hinge": (
        "nag",
        {"loss": "hinge"},
        ON_P,
        [0, 0.288675, -0.575505, 0.421854, 0.301421],
        {
            "w": [
                (0.288675, 0.144338, 0, 0.288675),
                (0.153835, 0.211758, -0.301511, 0.075474),
                (-0.04347, 0.244049, -0.018399, 0.246346),
                (-0.141999, 0.183918, 0.042972, 0.096017),
                (-0.141999, 0.242935, 0.074755, 0.238151),
            ]
        },
    ),
    "nag square": (
        "nag",
        {},
        ON_P,
        [0, 0.193127, -0.43903, 0.162108, 0.212299],
        {
            "w": [
                (0.193127, 0.096563, 0, 0.193127),
                (0.075694, 0.15528, -0.229215, 0.017454),
                (-0.104973, 0.189581, -0.007263, 0.175209),
                (-0.148166, 0.136941, 0.035484, 0.057616),
                (-0.148166, 0.177403, 0.05248, 0.14714),
            ]
        },
    ),
    "nag regressor": (
        "nag_regressor",
        {},
        ON_TARGETS,
        [0, 0.193127, -0.395205, 0.338252, 0.566554],
        {
            "w": [
                (0.193127, 0.096563, 0, 0.193127),
                (0.125905, 0.130174, -0.205285, 0.076183),
                (-0.009456, 0.151856, -0.004911, 0.200397),
                (0.108819, 0.226797, -0.085426, 0.38247),
                (0.108819, 0.249266, -0.073248, 0.436743),
            ]
        },
    ),
    "nag log, weighted": (
        "nag",
        {"loss": "log"},
        {**ON_P, "c": WEIGHTS},
        [0, 0.235353, -0.750769, -0.065857, 0.202624],
        {
            "w": [
                (0.235353, 0.117677, 0, 0.235353),
                (-0.043435, 0.257071, -0.40095, -0.12084),
                (-0.234107, 0.289433, -0.089318, 0.023606),
                (-0.175553, 0.265819, -0.068896, -0.028748),
                (-0.175553, 0.350328, -0.029769, 0.155336),
            ]
        },
    ),
    "nag log of three classes": (
        "nag",
        {"loss": "log"},
        ON_M,
        [
            (0, 0, 0),
            (0.198015, -0.198015, 0),
            (-0.055931, 0.055931, 0),
            (0.130643, -0.06268, -0.186868),
            (0.241585, -0.455543, 0.394851),
        ],
        {
            "w": [
                [(0.198015, 0, 0.198015), (-0.198015, 0, -0.198015), (0, 0, 0)],
                [(0.198015, -0.209457, 0.037356), (-0.198015, 0.209457, -0.037356), (0, 0, 0)],
                [(0.198015, -0.209457, 0.037356), (-0.064071, 0.283266, -0.140242), (-0.186868, -0.373736, 0.186868)],
                [(0.051635, -0.293746, -0.077978), (-0.064071, 0.283266, -0.140242), (-0.04223, -0.084459, 0.331506)],
                [(0.051635, -0.293746, -0.077978), (0.026504, 0.132068, -0.016383), (-0.12731, 0.138385, 0.193034)],
            ]
        },
    ),
    "coin": (
        "coin",
        {},
        ON_P,
        [0, 0.484848, -0.353069, 0.374345, 0.291245],
        {
            "theta": [
                (0.5, 1, 0, 0.5),
                (0.190554, 1.618892, -0.618892, -0.118892),
                (-0.396808, 1.912573, 0.555831, 0.468469),
                (-1.581825, 1.320064, 1.14834, -0.124039),
                (-1.581825, 1.747763, 1.362189, 0.30366),
            ],
            "G": [
                (0.5, 1, 0, 0.5),
                (0.809446, 1.618892, 0.618892, 1.118892),
                (1.396808, 1.912573, 1.793615, 1.706254),
                (2.581825, 2.505081, 2.386124, 2.298762),
                (2.581825, 2.93278, 2.599973, 2.726461),
            ],
            "R": [
                (0, 0, 0, 0),
                (-0.412595, 0.412595, 0, -0.825189),
                (-0.634495, 0.70245, -0.555217, -0.929822),
                (-0.40155, 0.021455, -0.405691, -1.244721),
                (-0.40155, 0.273445, -0.305072, -1.289032),
            ],
        },
    ),
    "coin, not shared": (
        "coin",
        {"normalize": False},
        ON_P,
        [0, 1.333333, -1.164779, 0.830215, 0.706448],
        {
            "theta": [
                (0.5, 1, 0, 0.5),
                (0.104304, 1.791391, -0.791391, -0.291391),
                (-0.657896, 2.172491, 0.733009, 0.470809),
                (-2.050696, 1.476091, 1.429409, -0.225592),
                (-2.050696, 1.806475, 1.594601, 0.104792),
            ],
            "R": [
                (0, 0, 0, 0),
                (-0.527594, 0.527594, 0, -1.055189),
                (-0.673218, 0.935226, -0.86437, -1.340621),
                (-0.256532, 0.040483, -0.67893, -1.626165),
                (-0.256532, 0.242834, -0.600701, -1.673346),
            ],
        },
    ),
}


def follow(name, layout):
    registry, params, data, scores, arrays = TRACES[name]
    X, y, c = np.asarray(data["X"], float), data["y"], data.get("c")
    m = nr.learner(registry, **params, **{k: data[k] for k in data if k == "classes"})
    for i in range(len(X)):
        f = m.learn_many(layout(X[i : i + 1]), y[i : i + 1], sample_weight=None if c is None else c[i : i + 1])
        np.testing.assert_allclose(np.ravel(f), np.ravel(scores[i]), atol=2e-6)
        for field, rounds in arrays.items():
            found = m.model.arrays()[field].reshape(-1, m.model.dims["class"]).T
            np.testing.assert_allclose(found, np.atleast_2d(rounds[i]), atol=2e-6)


@pytest.mark.parametrize("name", ["adagrad log", "nag log of three classes", "nag regressor", "coin"])
def test_trace(name):
    follow(name, np.asarray)


@pytest.mark.parametrize("name", TRACES)
def test_trace_interpreted_on_sparse_rows(name):
    with nr.engine.compiling.interpreted():
        follow(name, csr_matrix)


# ---- an eager transcription: every example is one long vector z, every number of a round a line of the sheet ----------
LABEL_LOSSES = ("hinge", "squared_hinge", "log", "exponential")
REAL_LOSSES = ("square", "absolute", "epsilon_insensitive", "squared_epsilon_insensitive")
CASES = [
    *[(name, {"loss": loss}, K) for name in BOTH_TASKS for loss in LABEL_LOSSES for K in (2, 3)],
    *[(name, {"loss": loss}, 0) for name in BOTH_TASKS for loss in REAL_LOSSES],
    *[(name, {"loss": "square"}, K) for name in ("nag", "coin", "scinol") for K in (2, 3)],
    *[(name, {"loss": "perceptron"}, K) for name in ("adagrad", "coin", "scinol") for K in (2, 3)],
    ("adagrad", {"eta": 0.1, "delta": 0.5}, 2),
    ("nag", {"eta": 3.0, "loss": "log"}, 2),
    ("nag", {"epsilon": 0.5, "loss": "epsilon_insensitive"}, 0),
    ("coin", {"capital": 1.0, "lipschitz": 0.1, "normalize": False}, 3),
    ("scinol", {"capital": 0.5, "lipschitz": 0.1}, 3),
]


def data(K, seed, n=70, d=6):
    """Rows with zeros, zero rows, columns of many sizes and sample weights, some of them 0."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.7)
    f = X @ rng.standard_normal((d, max(K, 1))) + 0.5 * rng.standard_normal((n, max(K, 1)))
    X[rng.random(n) < 0.05] = 0.0
    y = f[:, 0] if K == 0 else np.where(f[:, 0] > 0, 1, -1) if K == 2 else f.argmax(1)
    return X * np.exp(rng.normal(0, 1, d)), y, rng.choice([0.0, 0.5, 1.0, 2.5], n)


def transcribe(name, params, K, X, y, c):
    """Scores and the reference at the end."""
    given = {"loss": "square" if K == 0 else DEFAULT_LOSS[name], **params}
    n, d = X.shape
    ref = BOTH_TASKS[name](d * max(K - 1, 1) if K < 3 else d * K, K == 0, **given)
    out = []
    for x, t, omega in zip(X, y, np.ones(n) if c is None else c, strict=True):
        if K < 3:
            out.append(ref.clip(ref.score(x)) if omega == 0 else ref.learn(x, t, omega))
            continue
        z = [np.kron(np.eye(K)[k], x) for k in range(K)]
        s = np.array([ref.score(zk) for zk in z])
        out.append(s)
        if omega == 0 or not x.any():
            continue
        if name == "adagrad" and given["loss"] == "log":
            shares = np.exp(s - s.max()) / np.exp(s - s.max()).sum()
            ref.descend(omega * sum((shares[k] - (k == t)) * z[k] for k in range(K)))
        else:
            r = max((k for k in range(K) if k != t), key=lambda k: (s[k], -k))
            ref.learn(z[t] - z[r], 1.0, omega)
    return np.array(out), ref


@pytest.mark.parametrize(("name", "params", "K"), CASES, ids=lambda v: str(v))
@pytest.mark.parametrize("weighted", [False, True])
def test_transcription(name, params, K, weighted):
    """Interpreted: compiled equals interpreted by the laws, and sixty kernels would take minutes to compile."""
    X, y, c = data(K, len(str(params)) + K)
    c = c if weighted else None
    f, ref = transcribe(name, params, K, X, y, c)
    with nr.engine.compiling.interpreted():
        m = nr.learner(
            name if K else f"{name}_regressor", fit_intercept=False, **params, **({"classes": np.unique(y)} if K else {})
        )
        np.testing.assert_allclose(m.learn_many(csr_matrix(X) if weighted else X, y, sample_weight=c), f, rtol=1e-8, atol=1e-8)
    for field, a in m.model.arrays().items():
        found = a.reshape(-1, m.model.dims["class"]).T.ravel() if a.size > 1 else a
        np.testing.assert_allclose(found, getattr(ref, field), rtol=1e-8, atol=1e-8, err_msg=field)


def test_transcription_compiled():
    """One of each family with everything at once: many classes, sample weights, dense rows."""
    for name, params in (("adagrad", {}), ("nag", {"loss": "log"}), ("coin", {}), ("scinol", {})):
        X, y, c = data(3, 1)
        f, _ = transcribe(name, params, 3, X, y, c)
        m = nr.learner(name, fit_intercept=False, classes=[0, 1, 2], **params)
        np.testing.assert_allclose(m.learn_many(X, y, sample_weight=c), f, rtol=1e-8, atol=1e-8)


# ---- laws where settings change the kinds ----------------------------------------------------------------------------
SETTINGS = {
    "adagrad hinge, averaged": lambda: nr.AdaGrad(loss="hinge", average=True),
    "nag log": lambda: nr.NAG(loss="log"),
    "nag exponential": lambda: nr.NAG(loss="exponential"),
    "nag float32": lambda: nr.NAG(dtype="float32"),
    "nag regressor absolute": lambda: nr.NAGRegressor(loss="absolute"),
    "coin square": lambda: nr.Coin(loss="square"),
    "coin perceptron, not shared": lambda: nr.Coin(loss="perceptron", normalize=False),
    "coin regressor absolute": lambda: nr.CoinRegressor(loss="absolute"),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_laws_interpreted(name):
    m = SETTINGS[name]()
    X, y = nr.checks.stream(m, n=40, d=6, K=4)
    with nr.engine.compiling.interpreted():
        for law in ("chunk", "resume", "merge") if m.dtype == "float32" else ("chunk", "resume", "order", "merge"):
            nr.checks.LAWS[law](m, X, y)


@pytest.mark.parametrize("name", ["nag exponential", "coin regressor absolute"])
def test_noise(name):
    nr.checks.noise(SETTINGS[name](), n=30_000)


# ---- the flow --------------------------------------------------------------------------------------------------------
LABELLED = [losses.Hinge(), losses.SquaredHinge(), losses.Log(), losses.Exponential(), losses.Square()]
ALL = [*LABELLED, losses.Absolute(), losses.EpsilonInsensitive(0.1), losses.SquaredEpsilonInsensitive(0.1)]


@pytest.mark.parametrize("loss", ALL, ids=lambda v: type(v).__name__)
def test_one_long_step_is_two_short_ones(loss):
    """Importance invariance, with the sizes fixed: also where the step runs into the end of the slope."""
    rng = np.random.default_rng(0)
    for f, y, h, v in zip(rng.normal(0, 2, 200), rng.choice([-1.0, 1.0], 200), rng.exponential(1, 200), rng.exponential(2, 200)):
        half = f + v * flow(loss, f, y, h / 2, v)
        assert half + v * flow(loss, half, y, h / 2, v) == pytest.approx(f + v * flow(loss, f, y, h, v), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("loss", ALL, ids=lambda v: type(v).__name__)
def test_steps_follow_the_slope_and_never_overshoot(loss):
    rng = np.random.default_rng(1)
    for f, y, v in zip(rng.normal(0, 2, 200), rng.choice([-1.0, 1.0], 200), rng.exponential(2, 200)):
        assert flow(loss, f, y, 1e-9, v) == pytest.approx(-1e-9 * losses.slope(loss, f, y), rel=1e-5, abs=1e-16)
        for h in (0.1, 1.0, 1e3):
            after = f + v * flow(loss, f, y, h, v)
            assert losses.value(loss, after, y) <= losses.value(loss, f, y) + 1e-12
            there = losses.slope(loss, after, y) if losses.value(loss, after, y) > 1e-12 else 0.0
            assert there * losses.slope(loss, f, y) >= 0.0, "past the minimum"


def test_log_step_to_the_last_digits():
    """The root of D + e^m (e^D - 1) = a, against 60 digits."""
    with localcontext() as context:
        context.prec = 60
        for m in (-50.0, -7.3, -0.5, 0.0, 0.5, 4.2, 20.0, 50.0):
            for a in (1e-12, 1e-6, 0.01, 1.0, 37.0, 1e4):
                D, e = Decimal(log_gain(a, m)), Decimal(m).exp()
                for near, sign in ((Decimal("0.999999999999998"), -1), (Decimal("1.000000000000002"), 1)):
                    assert sign * (D * near + e * ((D * near).exp() - 1) - Decimal(a)) > 0, (m, a)


# ---- what they promise -----------------------------------------------------------------------------------------------
def interpreted_scores(m, X, y):
    with nr.engine.compiling.interpreted():
        return m.learn_many(X, y)


@pytest.mark.parametrize("name", ["nag", "coin", "scinol"])
@pytest.mark.parametrize("K", [2, 3, 0])
def test_units_do_not_matter(name, K):
    X, y, _ = data(K, 3)
    c = 10.0 ** np.random.default_rng(4).uniform(-4, 4, X.shape[1]) * np.array([1, -1, 1, 1, -1, 1])
    make = {2: {"classes": [-1, 1]}, 3: {"classes": [0, 1, 2]}, 0: {}}[K]
    a, b = (interpreted_scores(nr.learner(name if K else f"{name}_regressor", **make), Z, y) for Z in (X, X * c))
    np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)
    if K == 2:
        a, b = (interpreted_scores(nr.AdaGrad(**make), Z, y) for Z in (X, X * c))
        assert np.abs(a - b).max() > 1.0, "the test can fail"


def test_zeros_and_weightless_rows_change_nothing():
    X, y, _ = data(2, 5)
    stored = csr_matrix((X.ravel(), np.tile(np.arange(6), len(X)), np.arange(0, X.size + 1, 6)), shape=X.shape)
    assert stored.nnz > csr_matrix(X).nnz
    with nr.engine.compiling.interpreted():
        for name in BOTH_TASKS:
            a, b = (nr.learner(name, fit_intercept=False, classes=[-1, 1]).partial_fit(Z, y) for Z in (csr_matrix(X), stored))
            before = {k: v.copy() for k, v in b.model.arrays().items()}
            b.partial_fit(0 * X[:3], y[:3])
            b.partial_fit(X[:3], y[:3], sample_weight=np.zeros(3))
            for k, v in a.model.arrays().items():
                assert np.array_equal(v, before[k])
                assert np.array_equal(v, b.model.arrays()[k])


def test_adagrad_regret():
    """Duchi, Hazan, Singer 2011: sum_j D_j^2 (delta + sqrt(n_j))/(2 eta) + eta sqrt(n_j), D_j the largest |w_j - u_j|."""
    for seed in range(3):
        X, y, _ = data(2, seed)
        u = np.random.default_rng(seed).standard_normal(6)
        m, D = nr.AdaGrad(loss="hinge", fit_intercept=False, classes=[-1, 1]), np.abs(u)
        paid = 0.0
        with nr.engine.compiling.interpreted():
            for i in range(len(y)):
                f = m.learn_many(X[i : i + 1], y[i : i + 1])[0]
                paid += max(0.0, 1 - y[i] * f) - max(0.0, 1 - y[i] * (X[i] @ u))
                D = np.maximum(D, np.abs(m.coef_[0] - u))
        root = np.sqrt(m.state.n)
        assert paid <= (D**2 * (1e-8 + root) / (2 * 0.5) + 0.5 * root).sum()


def test_coins_are_never_lost():
    """The capital of every coordinate stays above 0, also when records of slopes and features are broken."""
    for loss in ("log", "exponential", "squared_hinge"):
        X, y, c = data(2, 6)
        X *= np.linspace(0.1, 20, len(X))[:, None]
        m = nr.Coin(loss=loss, classes=[-1, 1])
        with nr.engine.compiling.interpreted():
            for i in range(len(y)):
                m.partial_fit(X[i : i + 1], y[i : i + 1], sample_weight=c[i : i + 1])
                if m.started:
                    s = m.state
                    assert (4.0 + s.R > 0).all()
                    assert (np.abs(s.theta) <= s.G * (1 + 1e-12)).all()


def test_scinol_keeps_half_of_its_capital_in_every_round():
    for loss in ("log", "hinge", "exponential", "square"):
        X, y, c = data(2, 6)
        X *= np.linspace(0.1, 20, len(X))[:, None]
        m, before = nr.ScInOL(loss=loss, classes=[-1, 1]), 1.0
        with nr.engine.compiling.interpreted():
            for i in range(len(y)):
                m.partial_fit(X[i : i + 1], y[i : i + 1], sample_weight=c[i : i + 1])
                if m.started:
                    capital = 1.0 + m.state.R
                    assert (capital >= 0.5 * before * (1 - 1e-12)).all()
                    before = capital.copy()


def test_scinol_by_hand():
    """One column, log loss: the first two rounds of algorithm 2, computed by hand."""
    m = nr.ScInOL(fit_intercept=False, classes=[-1, 1])
    with nr.engine.compiling.interpreted():
        assert m.learn_many([[2.0]], [1]).item() == 0.0
        s = m.state  # g = -1/2, so G = 1, S = 1, no reward yet
        assert (s.theta.item(), s.S.item(), s.R.item(), s.M.item()) == (1.0, 1.0, 0.0, 2.0)
        assert m.learn_many([[4.0]], [1]).item() == pytest.approx(4 * (1 / 17**0.5) / (2 * 17**0.5))  # D^2 = 1 + 4^2


def test_coin_regret():
    """Slopes and features of at most 1 known beforehand, bets not shared: the data-dependent bound of coin betting."""
    rng = np.random.default_rng(7)
    for noise in (0.0, 1.0, 5.0):
        X, u = rng.choice([-1.0, 1.0], (400, 4)), rng.standard_normal(4)
        y = np.where(X @ u + noise * rng.standard_normal(400) > 0, 1, -1)
        m = nr.Coin(loss="hinge", normalize=False, fit_intercept=False, classes=[-1, 1])
        f = interpreted_scores(m, X, y)
        paid = np.maximum(0, 1 - y * f).sum() - np.maximum(0, 1 - y * (X @ u)).sum()
        G = m.state.G + 1.0
        assert paid <= (np.abs(u) * np.sqrt(G * np.log(1 + G**2 * u**2 / 16)) + 4.0).sum()


@pytest.mark.parametrize("name", ["nag", "coin"])
def test_ranges(name):
    """Scores of two classes stay where the loss has a meaning; real ones within 0 and the targets seen before."""
    X, y, _ = data(2, 8)
    for loss, reach in (("hinge", 1.0), ("square", 1.0)):
        m = nr.learner(name, loss=loss, classes=[-1, 1])
        f = interpreted_scores(m, X, y)
        assert np.abs(f).max() <= reach
        assert np.abs(m.decision_function(100 * X)).max() == reach
    X, y, _ = data(0, 9)
    f = interpreted_scores(nr.learner(f"{name}_regressor"), X, y)
    low, high = (np.concatenate([[0], op.accumulate(y)[:-1]]) for op in (np.minimum, np.maximum))
    assert (f >= np.minimum(low, 0)).all()
    assert (f <= np.maximum(high, 0)).all()


def test_coin_weights_are_its_scores_within_the_features_seen():
    X, y, _ = data(2, 10)
    with nr.engine.compiling.interpreted():
        m = nr.Coin().fit(X, y)
        np.testing.assert_allclose(X @ m.coef_[0] + m.intercept_, m.decision_function(X), rtol=1e-9, atol=1e-12)


def test_nag_takes_no_perceptron_loss():
    with pytest.raises(ValueError, match="loss must be one of 'square', 'hinge'"):
        nr.NAG(loss="perceptron").partial_fit([[1.0], [2.0]], [1, -1])


# ---- Vowpal Wabbit ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("make", "options", "gap"),
    [
        (lambda: nr.NAG(classes=[-1, 1]), "--loss_function squared", 2e-4),
        (lambda: nr.NAG(loss="hinge", classes=[-1, 1]), "--loss_function hinge", 2e-4),
        (lambda: nr.NAG(loss="log", classes=[-1, 1]), "--loss_function logistic", 2e-2),  # its root of W is approximate
    ],
    ids=["square", "hinge", "log"],
)
def test_vowpal_wabbit(make, options, gap):
    vw = pytest.importorskip("vowpalwabbit").Workspace(f"--quiet {options}")
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 30)) * (rng.random((400, 30)) < 0.3) * np.exp(rng.normal(0, 2, 30))
    y = np.where(X @ (rng.standard_normal(30) / X.std(0)) + rng.standard_normal(400) > 0, 1, -1)
    y[:2] = 1, -1  # its range of labels begins empty, ours does not
    theirs = []
    for x, t in zip(X, y, strict=True):
        example = vw.example(f"{t} | " + " ".join(f"{j}:{float(x[j])!r}" for j in np.flatnonzero(x)))
        vw.learn(example)
        theirs.append(example.get_simplelabel_prediction())
        vw.finish_example(example)
    ours = make().learn_many(X, y)
    assert np.abs(ours - theirs).max() < gap
    assert abs(((ours > 0) != (y > 0)).mean() - ((np.array(theirs) > 0) != (y > 0)).mean()) <= 0.0025


# ---- published figures -----------------------------------------------------------------------------------------------
ELEC2 = {"nag": 19.49, "adagrad": 24.58, "coin": 13.18}  # progressive error in percent, rows in the order of time


def test_elec2():
    places = [os.environ.get("NOREGRET_DATA", ""), "../shared/data"]
    path = next((p for p in (pathlib.Path(d) / "elec2" / "electricity.csv.gz" for d in places if d) if p.is_file()), None)
    if path is None:
        pytest.skip("the public file elec2/electricity.csv.gz is not here: give its directory in NOREGRET_DATA")
    with gzip.open(path, "rt") as lines:
        _, *rows = csv.reader(lines)
    X, y = np.array([row[:-1] for row in rows], float), np.array([1 if row[-1] == "UP" else -1 for row in rows])
    for name, published in ELEC2.items():
        m = nr.learner(name, classes=[-1, 1]).partial_fit(X, y)
        assert round(100 * m.n_mistakes_ / len(y), 2) == published, name
