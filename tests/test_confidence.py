"""The second-order learners: traces, transcriptions, invariants, published counts; intervals, abstention, selective sampling."""

import doctest
from statistics import NormalDist

import numpy as np
import pytest
import reference_second_order as reference
import traces
import traces_second_order
from scipy.sparse import csr_matrix
from test_algorithms import data, read_a1a

import noregret as nr
from noregret.tasks import sampling
from noregret.tasks.second_order import SecondOrder

NAMES = [n for n in nr.algorithms("classification") if isinstance(nr.learner(n), SecondOrder)]
FULL = [n for n in NAMES if n != "iellip"]


def make(name, **params):
    return nr.learner(name, **{"fit_intercept": False, "classes": [-1, 1], **params})


def matrices(m):
    """The covariances as matrices, one per class (or one)."""
    S = m.covariance_
    return S if S.ndim == 3 else np.array([np.diag(s) for s in S])


# ---- traces ----------------------------------------------------------------------------------------------------------
COMPILED = [t for t in traces_second_order.TRACES if t.params.get("covariance") != "full" or t.registry == "arow"]


@pytest.mark.parametrize("t", COMPILED, ids=lambda t: t.name)
def test_trace(t):
    """The other full covariances are compiled for their counts below."""
    follow(t, np.asarray, variances=False)


@pytest.mark.parametrize("layout", [np.asarray, csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("t", traces_second_order.TRACES, ids=lambda t: t.name)
def test_trace_interpreted(t, layout):
    with nr.engine.compiling.interpreted():
        follow(t, layout, variances=True)


def follow(t, layout, variances):
    X, y, classes = t.on
    m = make(t.registry, classes=classes, **t.params)
    lines = t.rounds()
    assert len(lines) == len(X)
    for i, line in enumerate(lines):
        x = layout(X[i : i + 1])
        if "v" in line and i and variances:
            v = m.confidence(x)[0]
            close(v if len(classes) == 2 else v[y[i]] + v[int(line["rival"][0])], line["v"][0])
        close(np.ravel(m.learn_many(x, y[i : i + 1])), line["score"])
        mu, S, d = m.coef_, matrices(m), X.shape[1]
        if "mu" in line:
            close(mu, line["mu"].reshape(mu.shape))
        if "sum" in line:
            close(np.linalg.solve(S[0], mu[0]), line["sum"], 1e-5)
        if "own" in line:
            close(np.diag(S[y[i]]), line["own"])
        if "A" in line:
            close(1.0 / np.diag(S[0]), line["A"], 1e-5)
        if "Sigma" in line and m.covariance == "full":
            close(S[0][np.triu_indices(d)], line["Sigma"])
            assert np.array_equal(S[0], S[0].T)
        elif "Sigma" in line:
            close(m.covariance_, line["Sigma"].reshape(-1, d))


def close(found, wanted, atol=2e-6):
    np.testing.assert_allclose(found, wanted, rtol=0, atol=atol)


# ---- transcriptions --------------------------------------------------------------------------------------------------
CASES = [
    ("arow", {}),
    ("arow", {"r": 0.3, "a": 2.0, "update": "drop"}),
    ("arow", {"r": 3.0, "a": 0.5, "covariance": "full"}),
    ("nherd", {}),
    ("nherd", {"C": 0.4, "update": "drop"}),
    ("nherd", {"C": 0.4, "a": 2.0, "update": "exact"}),
    ("nherd", {"C": 2.0, "covariance": "full"}),
    ("cw", {}),
    ("cw", {"eta": 0.8, "update": "drop"}),
    ("cw", {"eta": 0.6, "a": 3.0, "covariance": "full"}),
    ("cw_var", {}),
    ("cw_var", {"eta": 0.8, "update": "drop"}),
    ("cw_var", {"eta": 0.6, "a": 3.0, "covariance": "full"}),
    ("scw1", {"C": 0.1}),
    ("scw1", {"eta": 0.9, "update": "drop"}),
    ("scw1", {"C": 0.3, "a": 2.0, "covariance": "full"}),
    ("scw2", {"C": 0.1}),
    ("scw2", {"eta": 0.7, "update": "drop"}),
    ("scw2", {"C": 0.3, "a": 2.0, "covariance": "full"}),
    ("sop", {"a": 0.5}),
    ("sop", {"a": 2.0, "covariance": "full"}),
    ("narow", {"b": 3.0}),
    ("narow", {"b": 2.0, "a": 0.7, "covariance": "full"}),
    ("iellip", {}),
    ("iellip", {"b": 0.9, "c": 0.3, "a": 2.0}),
]
OTHERS = reference.REGISTRY.keys() - {name for name, _ in CASES}  # those without a case run with their defaults
ALL = pytest.mark.parametrize(("name", "params"), [*CASES, *[(name, {}) for name in sorted(OTHERS)]], ids=lambda v: str(v)[:60])
BOTH = pytest.mark.parametrize("K", [2, 3])


@BOTH
@ALL
def test_transcription(name, params, K):
    """Interpreted: compiled equals interpreted by the laws, and full covariances take long to compile."""
    with nr.engine.compiling.interpreted():
        compare(name, params, K, weighted=False)


@BOTH
@ALL
def test_transcription_weighted(name, params, K):
    with nr.engine.compiling.interpreted():
        compare(name, params, K, weighted=True)


@BOTH
@pytest.mark.parametrize("covariance", ["diag", "full"])
def test_transcription_weighted_compiled(covariance, K):
    compare("arow", {"covariance": covariance}, K, weighted=True)


@pytest.mark.parametrize("name", NAMES)
def test_transcription_compiled(name):
    compare(name, {"covariance": "full"}, 2, weighted=False)


def compare(name, params, K, weighted):
    X, y, c = data(name, K, seed=len(str(params)) + K)
    c = c if weighted else None
    ref = reference.learn(name, X, y, weights=c, **({"K": K} if K > 2 else {}), **params)
    m = make(name, classes=np.unique(y), **params)
    f = m.learn_many(X, y, sample_weight=c)
    counted = np.ones(len(y), bool) if c is None else c > 0.0
    np.testing.assert_allclose(f[counted], ref.scores[counted], rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(m.coef_, ref.W, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(matrices(m), ref.Sigma, rtol=1e-7, atol=1e-8)
    assert m.n_updates_ == ref.updated[counted].sum()
    assert m.n_seen_ == counted.sum()


# ---- invariants (section Q) ------------------------------------------------------------------------------------------
def noisy(seed, n=300, d=6):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, np.where(X @ rng.standard_normal(d) + 0.5 * rng.standard_normal(n) > 0, 1, -1)


def rounds(m, X, y):
    """Learn row by row; yield the row, its signed example and (margin, variance, mu, Sigma) before and after, when it updated."""
    d = X.shape[1]
    before, mu, S = 0, np.zeros(d), np.eye(d) * getattr(m, "a", 1.0)
    for x, label in zip(X, y, strict=True):
        m.learn_many(x[None], [label])
        new, T = m.coef_[0].copy(), matrices(m)[0].copy()
        if m.n_updates_ > before:
            yield x, label, (label * mu @ x, x @ S @ x, mu, S), (label * new @ x, x @ T @ x, new, T)
        before, mu, S = m.n_updates_, new, T


@pytest.mark.parametrize("eta", [0.6, 0.75, 0.95])
def test_cw_margins_are_tight(eta):
    X, y = noisy(0)
    phi = NormalDist().inv_cdf(eta)
    for _, _, _, (m, v, _, _) in rounds(make("cw", eta=eta, covariance="full"), X, y):
        assert m == pytest.approx(phi * np.sqrt(v), rel=1e-6)
    for _, _, _, (m, v, _, _) in rounds(make("cw_var", eta=eta, covariance="full"), X, y):
        assert m == pytest.approx(phi * v, rel=1e-6)


@pytest.mark.parametrize("name", ["cw", "cw_var"])
def test_cw_margins_are_not_beyond_tight_on_a_diagonal(name):
    X, y = noisy(1)
    phi = NormalDist().inv_cdf(0.7)
    for _, _, _, (m, v, _, _) in rounds(make(name), X, y):
        assert m <= (1 + 1e-9) * phi * (np.sqrt(v) if name == "cw" else v)


def test_arow_is_least_squares_on_its_updates():
    X, y = noisy(2)
    for r, a in ((1.0, 1.0), (0.3, 2.0)):
        m = make("arow", r=r, a=a, covariance="full")
        hit = [(x, label) for x, label, *_ in rounds(m, X, y)]
        Z, t = np.array([x for x, _ in hit]), np.array([label for _, label in hit])
        P = np.linalg.inv(np.eye(6) / a + Z.T @ Z / r)
        np.testing.assert_allclose(matrices(m)[0], P, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(m.coef_[0], P @ Z.T @ t / r, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(m.coef_[0], np.linalg.solve(Z.T @ Z + r / a * np.eye(6), Z.T @ t), rtol=1e-8)


@pytest.mark.parametrize(("covariance", "x"), [("diag", np.eye(6)[2]), ("full", np.full(6, 0.5))])
def test_an_integer_weight_is_that_many_repeats_for_arow(covariance, x):
    """Exactly, with a full covariance; on a diagonal for rows of one feature."""
    X, y = noisy(3)
    a, b = (make("arow", covariance=covariance).partial_fit(X, y) for _ in range(2))
    wrong = -a.predict(x[None])
    a.partial_fit(x[None], wrong, sample_weight=[3.0])
    for _ in range(3):
        b.partial_fit(x[None], wrong)
    np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-9)
    np.testing.assert_allclose(a.covariance_, b.covariance_, rtol=1e-9)


def alphas(m, X, y):
    """(alpha, margin, variance) of every update: mu moved by alpha y Sigma x."""
    return [(label * x @ (new - mu) / v, margin, v) for x, label, (margin, v, mu, _), (_, _, new, _) in rounds(m, X, y)]


def test_scw_steps_are_at_most_those_of_cw():
    X, y = noisy(4)
    phi = NormalDist().inv_cdf(0.75)
    capped = 0
    for alpha, m, v in alphas(make("scw1", C=0.1, covariance="full"), X, y):
        assert alpha == pytest.approx(min(0.1, reference.cw_alpha(m, v, phi)), rel=1e-7)
        capped += alpha > 0.1 - 1e-9
    assert capped > 0
    for alpha, m, v in alphas(make("scw2", C=0.1, eta=0.75, covariance="full"), X, y):
        assert 0 < alpha < reference.cw_alpha(m, v, phi)


@pytest.mark.parametrize("covariance", ["diag", "full"])
def test_large_c_is_cw(covariance):
    X, y = noisy(5, n=100)
    a, b, c = (make(n, eta=0.7, covariance=covariance, **p) for n, p in (("cw", {}), ("scw1", {"C": 1e12}), ("scw2", {"C": 1e12})))
    for m in (a, b, c):
        m.partial_fit(X, y)
    np.testing.assert_allclose(b.coef_, a.coef_, rtol=1e-9)
    np.testing.assert_allclose(c.coef_, a.coef_, rtol=1e-4)


@pytest.mark.parametrize("covariance", ["diag", "full"])
@pytest.mark.parametrize(("name", "params"), [("cw", ({}, {})), ("scw1", ({"C": 0.4}, {"C": 0.1}))])
def test_cw_has_no_scale_in_a(name, params, covariance):
    """(mu, Sigma, a) -> (s mu, s^2 Sigma, s^2 a) changes no update, nor does (x, a) -> (s x, a/s^2); SCW-I has C/s and C."""
    X, y = noisy(6)
    a, b = (make(name, a=v, covariance=covariance, **p) for v, p in zip((1.0, 16.0), params, strict=True))
    f, g = a.learn_many(X, y), b.learn_many(X, y)
    np.testing.assert_allclose(g, 4.0 * f, rtol=1e-9)
    np.testing.assert_allclose(b.covariance_, 16.0 * a.covariance_, rtol=1e-9)
    c = make(name, a=1.0 / 16.0, covariance=covariance, **params[0])
    np.testing.assert_allclose(c.learn_many(4.0 * X, y), f, rtol=1e-9)


@pytest.mark.parametrize("b", [0.5, 3.0])
def test_narow_keeps_the_variance_at_1_over_b(b):
    X, y = noisy(7)
    shrunk = 0
    for _, _, (_, v, _, S), (_, after, _, T) in rounds(make("narow", b=b, covariance="full"), X, y):
        if v > 1 / b:
            shrunk += 1
            assert after == pytest.approx(1 / b)
        else:
            assert np.array_equal(S, T)
    assert shrunk
    for _, _, (_, v, _, _), (_, after, _, _) in rounds(make("narow", b=b), X, y):
        assert after >= min(v, 1 / b) - 1e-12


def test_iellip_margin_is_1_and_the_length_of_g_stays():
    X, y = noisy(8)
    for x, _, (_, v, _, S), (m, _, _, T) in rounds(make("iellip", b=0.95, c=0.2), X, y):
        assert m == pytest.approx(1.0)
        g = x / np.sqrt(v)
        assert g @ T @ g == pytest.approx(g @ S @ g)


@pytest.mark.parametrize("name", FULL)
def test_covariances_never_grow(name):
    X, y = noisy(9, n=150)
    updates = 0
    for _, _, (_, _, _, S), (_, _, _, T) in rounds(make(name, covariance="full"), X, y):
        updates += 1
        assert np.linalg.eigvalsh(S - T)[0] >= -1e-13
        assert np.linalg.eigvalsh(T)[0] > 0
    assert updates > 10


@pytest.mark.parametrize("name", NAMES)
def test_covariances_stay_symmetric_and_positive_definite(name):
    rng = np.random.default_rng(10)
    X = rng.standard_normal((10_000, 8)) * np.exp(rng.normal(0.0, 1.0, (10_000, 1)))
    for S in matrices(make(name, covariance="full").partial_fit(X, rng.choice([-1, 1], 10_000))):
        assert np.array_equal(S, S.T)
        values = np.linalg.eigvalsh(S / S.max())
        assert values[0] > 1e-12


def test_sop_labels_do_not_depend_on_including_x():
    X, y = noisy(11)
    m = make("sop", covariance="full").partial_fit(X, y)
    assert np.array_equal(np.sign(m.decision_function(X)), np.sign(X @ m.coef_[0]))


def kullback(mu, S, mu0, S0):
    P = np.linalg.inv(S0)
    return 0.5 * (np.trace(P @ S) + (mu - mu0) @ P @ (mu - mu0) - np.linalg.slogdet(P @ S)[1])


OBJECTIVES = {
    "arow": lambda m, v: (max(0.0, 1 - m) ** 2 + v) / (2 * 0.5),
    "scw1": lambda m, v: 0.2 * max(0.0, NormalDist().inv_cdf(0.75) * np.sqrt(v) - m),
    "scw2": lambda m, v: 0.2 * max(0.0, NormalDist().inv_cdf(0.75) * np.sqrt(v) - m) ** 2,
}


@pytest.mark.parametrize("name", OBJECTIVES)
def test_updates_are_the_minimum_of_what_they_minimise(name):
    """Relative entropy plus loss, at the update and near it."""
    X, y = noisy(12, n=40)
    params = {"arow": {"r": 0.5}, "scw1": {"C": 0.2}, "scw2": {"C": 0.2, "eta": 0.75}}[name]
    rng, tried = np.random.default_rng(0), 0
    for x, label, (_, _, mu0, S0), (_, _, mu, S) in rounds(make(name, covariance="full", **params), X, y):

        def objective(mu, S, x=x, label=label, mu0=mu0, S0=S0):
            return kullback(mu, S, mu0, S0) + OBJECTIVES[name](label * mu @ x, x @ S @ x)

        best, L = objective(mu, S), np.linalg.cholesky(S)
        for size in (1e-1, 1e-2, 1e-3):
            near = L + size * rng.standard_normal(L.shape) * np.sqrt(np.diag(S))
            assert objective(mu + size * L @ rng.standard_normal(6), near @ near.T) > best - 1e-12
            assert objective(mu + size * label * S @ x, S) > best
            assert objective(mu - size * label * S @ x, S) > best
            tried += 1
    assert tried > 30


def test_bounds_of_the_papers():
    """E.1, E.4 and E.7, each against the vector that made the labels."""
    rng = np.random.default_rng(13)
    X, u = rng.standard_normal((400, 5)), rng.standard_normal(5)
    y = np.where(X @ u + 0.3 * rng.standard_normal(400) > 0, 1, -1)
    for scale in (0.5, 1.0, 3.0):
        w = scale * u / np.linalg.norm(u)
        m = make("sop", covariance="full")
        wrong = y * m.learn_many(X, y) <= 0
        Z = X[wrong]
        logs = np.linalg.slogdet(np.eye(5) + Z.T @ Z)[1]
        gamma, v = 1 / scale, w / scale
        lost = np.maximum(0, gamma - y * (X @ v))[wrong].sum()
        assert wrong.sum() <= (np.sqrt((1 + v @ Z.T @ Z @ v) * logs) + lost) / gamma
        m = make("arow", covariance="full")
        f = m.learn_many(X, y)
        hit, wrong = y * f < 1, y * f <= 0
        A, U = X[hit].T @ X[hit], (hit & ~wrong).sum()
        lost = np.maximum(0, 1 - y * (X @ w))[hit].sum()
        assert wrong.sum() <= np.sqrt(w @ w + w @ A @ w) * np.sqrt(np.linalg.slogdet(np.eye(5) + A)[1] + U) + lost - U
        m, total, U, lost, wrong = make("narow", covariance="full"), 0.0, 0, 0.0, 0
        for i in range(len(y)):
            chi = X[i] @ matrices(m)[0] @ X[i] if i else X[i] @ X[i]
            s = y[i] * m.learn_many(X[i : i + 1], y[i : i + 1])[0]
            if s < 1:
                total, U, wrong = total + min(chi, 1.0) + 2 * max(0.0, s), U + (s > 0), wrong + (s <= 0)
                lost += max(0.0, 1 - y[i] * X[i] @ w)
        assert wrong <= lost + np.sqrt(w @ np.linalg.inv(matrices(m)[0]) @ w) * np.sqrt(total) - U


# ---- published counts ------------------------------------------------------------------------------------------------
A1A = {
    "sop": (363, 363),
    "iellip": (408, 408),
    "cw": (360, 740),
    "nherd": (316, 1110),
    "arow": (290, 1060),
    "narow": (311, 711),
    "scw1": (319, 687),
    "scw2": (294, 773),
}


@pytest.mark.parametrize("name", A1A)
def test_a1a_counts(name):
    X, y = read_a1a()
    m = make(name, covariance="full").partial_fit(X.toarray(), y)
    assert abs(m.n_mistakes_ - A1A[name][0]) <= 2
    assert abs(m.n_updates_ - A1A[name][1]) <= 2


# ---- how sure it is --------------------------------------------------------------------------------------------------
def learned(K, seed=20, **params):
    """An AROW that has learned K classes of noise, and its rows."""
    X, y, _ = data("arow", K, seed)
    return nr.AROW(**params).partial_fit(X, y), X


@BOTH
@pytest.mark.parametrize("params", [{}, {"covariance": "full"}, {"update": "drop", "dtype": "float32"}], ids=str)
def test_confidence_is_the_variance_of_the_margin(params, K):
    with nr.engine.compiling.interpreted():
        m, X = learned(K, **params)
        S, Z = matrices(m), np.column_stack([X, np.ones(len(X))])
        wanted = np.einsum("ij,kjl,il->ik", Z, S, Z)
        rows = [{j: float(v) for j, v in enumerate(x) if v} for x in X]
        for given in (X, csr_matrix(X), rows):
            found = m.confidence(given)
            np.testing.assert_allclose(found, wanted if K > 2 else wanted[:, 0], rtol=1e-5 if m.dtype == "float32" else 1e-9)
    deviations = m.confidence_of_weights()
    assert deviations.shape == m.coef_.shape
    np.testing.assert_allclose(deviations**2, np.diagonal(S, axis1=1, axis2=2)[:, :-1], rtol=1e-6)


def test_confidence_compiled():
    m, X = learned(2)
    found = m.confidence(X)
    with nr.engine.compiling.interpreted():
        np.testing.assert_allclose(found, m.confidence(X), rtol=1e-12)
    assert m.confidence(10.0 * X)[X.any(1)].min() > found.min()


def test_classes_are_in_the_order_of_classes_():
    """Labels that appear in another order than they sort; with two classes and a cost, one variance: that of the difference."""
    m = nr.AROW(fit_intercept=False)
    with nr.engine.compiling.interpreted():
        for x, y in [({"a": 1}, "z"), ({"b": 1}, "x"), ({"b": 1}, "x"), ({"c": 1}, "y")]:
            m.learn_one(x, y)
        v = m.confidence([{"b": 1.0}])[0]
        assert m.classes_.tolist() == ["x", "y", "z"]
        np.testing.assert_allclose(v, m.covariance_[:, 1])
        assert v[1] == 1.0 > v[0]
        X, y, _ = data("arow", 2, 21)
        two = nr.AROW(cost={(-1, 1): 2.0}).partial_fit(X, y)
        np.testing.assert_allclose(
            two.confidence(X[:3]), ((X[:3, None] ** 2) * two.covariance_[:, :-1]).sum((1, 2)) + two.covariance_[:, -1].sum()
        )
        assert two.confidence_of_weights().shape == two.coef_.shape


@pytest.mark.parametrize("params", [{"a": 3.0}, {"a": 3.0, "covariance": "full"}], ids=str)
def test_features_never_learned_have_the_first_variance(params):
    with nr.engine.compiling.interpreted():
        m = nr.AROW(fit_intercept=False, **params)
        m.learn_one({"a": 1.0}, "x")
        m.learn_one({"b": 1.0}, "y")
        known, both = m.confidence([{"a": 1.0}, {"a": 1.0, "new": 2.0}])
        assert both == pytest.approx(known + 4.0 * 3.0)
        s = nr.SOP(a=4.0, fit_intercept=False)
        s.learn_one({"a": 1.0}, "x")
        assert s.confidence([{"new": 1.0}])[0] == pytest.approx(0.25)
        e = nr.IELLIP(fit_intercept=False)
        e.learn_one({"a": 1.0}, "x")
        assert e.confidence([{"new": 1.0}])[0] == pytest.approx(1 / 0.9)


@pytest.mark.parametrize("name", ["arow", "sop", "narow"])
@BOTH
def test_intervals(name, K):
    X, y, _ = data(name, K, 22)
    with nr.engine.compiling.interpreted():
        m = nr.learner(name).partial_fit(X, y)
        low, high = m.margin_interval(X, level=0.9)
        mean = X @ m.coef_.T + m.intercept_
        half = 1.6448536269514722 * np.sqrt(m.confidence(X))
    mean = mean if K > 2 else mean[:, 0]
    np.testing.assert_allclose(low, mean - half)
    np.testing.assert_allclose(high, mean + half)
    with pytest.raises(ValueError, match="level must be in"):
        m.margin_interval(X, level=1.0)


@BOTH
def test_reject(K):
    """Sampled from the Gaussian, the class predicted beats its rival as often as the probability says."""
    with nr.engine.compiling.interpreted():
        m, X = learned(K)
        plain = m.predict(X)
        at = m._margins(m.model, X)
        right = m._right(m.model, at, m.task.codes(m.model, at.f))
        for reject in (0.5, 0.8, 0.99):
            said = m.predict(X, reject=reject)
            kept = right >= reject
            assert said.dtype == object
            assert said[kept].tolist() == plain[kept].tolist()
            assert [v for v in said[~kept] if v is not None] == []
        assert 0 < kept.sum() < len(X)
        assert m.predict(X, reject=0.99, reject_label="?")[~kept].tolist() == ["?"] * (~kept).sum()
        for i in range(20):
            assert m.predict_one(X[i], reject=0.99) == m.predict(X[i : i + 1], reject=0.99)[0]
        assert m.predict(X, reject=0.5).tolist() == plain.tolist()
    rng = np.random.default_rng(0)
    S, mu, Z = m.covariance_, np.column_stack([m.coef_, m.intercept_]), np.column_stack([X, np.ones(len(X))])
    W = mu + np.sqrt(S) * rng.standard_normal((20_000, *mu.shape))
    for i in np.argsort(right)[::12]:
        f, g = np.sort(mu @ Z[i])[::-1], W @ Z[i]
        order = np.argsort(-(mu @ Z[i]))
        wins = g[:, order[0]] > g[:, order[1]] if K > 2 else g[:, 0] * f[0] > 0
        assert wins.mean() == pytest.approx(right[i], abs=0.02)


def test_reject_is_checked_and_starts_with_nothing():
    m = nr.AROW()
    with nr.engine.compiling.interpreted():
        assert m.predict_one({"a": 1}, reject=0.9) is None
        m.learn_one({"a": 1}, "x")
        m.learn_one({"b": 1}, "y")
        for bad in (0.3, 1.0, "much"):
            with pytest.raises((ValueError, TypeError), match="reject must be"):
                m.predict_one({"a": 1}, reject=bad)
            with pytest.raises((ValueError, TypeError), match="reject must be"):
                m.predict([{"a": 1}], reject=bad)
        with pytest.raises(ValueError, match="learned nothing yet"):
            nr.AROW().confidence(np.ones((2, 2)))


def test_a_covariance_that_is_none_is_an_error(tmp_path):
    """CW on noise shrinks its matrix until float32 has no digits left."""
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((5000, 8)), rng.choice([-1, 1], 5000)
    m = make("cw", covariance="full", dtype="float32").partial_fit(X, y)
    behind = nr.pipeline(nr.Normalize(), m)
    for call in (
        lambda: m.covariance_,
        lambda: m.confidence(X),
        lambda: m.predict(X, reject=0.9),
        lambda: m.predict_one(X[0], reject=0.9),
        m.confidence_of_weights,
        lambda: m.save(tmp_path / "m.nr"),
        lambda: behind.save(tmp_path / "m.nr"),
    ):
        with pytest.raises(ValueError, match="no longer positive definite.*covariance='diag' or dtype='float64'"):
            call()
    assert not list(tmp_path.iterdir())
    assert np.isfinite(m.decision_function(X)).all()


def test_inspect_shows_confidence(tmp_path):
    from click.testing import CliRunner

    from noregret.cli import main

    m = nr.AROW()
    m.learn_one({"free": 1.0}, "spam")
    m.learn_one({"agenda": 2.0}, "ham")
    m.save(tmp_path / "m.nr")
    said = CliRunner().invoke(main, ["inspect", str(tmp_path / "m.nr")])
    assert said.exit_code == 0
    assert "confidence" in said.output


# ---- selective sampling ----------------------------------------------------------------------------------------------
class Draws:
    """Draws in a given order."""

    def __init__(self, *values):
        self.left = list(values)

    def random(self):
        return self.left.pop(0)


U = 0.9, 0.3, 0.6, 0.8, 0.5


def asked(m, X, y):
    """Which labels were asked for, one function per label."""
    found = []
    for x, label in zip(X, y, strict=True):
        before = len(found)
        m.learn_one(x, lambda label=label: found.append(label) or label)
        yield len(found) > before


def test_sampling_trace_perceptron():
    P, y = traces.P, traces.P_LABELS.astype(int)
    m = nr.SelectiveSampler(make("perceptron"), b=0.5)
    m._rng = Draws(*U)
    weights = [(1, 2, 0), (1, 2, 0), (0, 2.5, 2), (0, 2.5, 2), (0, 2.5, 2)]
    for queried, wanted, w in zip(asked(m, P, y), (True, False, True, False, False), weights, strict=True):
        assert queried == wanted
        close(m.learner.coef_[0], w)
    assert (m.n_seen_, m.n_queries_) == (5, 2)


def test_sampling_trace_second_order():
    P, y = traces.P, traces.P_LABELS.astype(int)
    chances, chis = [], []

    class Noted(nr.SelectiveSampler):
        def _asks(self, s, v):
            chances.append(self.b / (self.b + s + s * s * (1 + v) / 2))
            chis.append(v)
            return super()._asks(s, v)

    m = Noted(make("sop", covariance="full"), b=0.5, rule="second_order")
    m._rng = Draws(*U)
    sums = [(1, 2, 0), (1, 2, 0), (0, 2.5, 2), (-2, 1.5, 3), (-2, 1.5, 3)]
    with nr.engine.compiling.interpreted():
        for queried, wanted, v in zip(asked(m, P, y), (True, True, True, True, False), sums, strict=True):
            assert queried == wanted
            close(np.linalg.solve(m.learner.covariance_[0], m.learner.coef_[0]), v, 1e-9)
    close(chances, [1, 0.836364, 1, 0.913508, 0.454946])
    close(chis, [5, 1.875, 5.25, 1.373333, 0.223315])
    assert m.learner.n_updates_ == 3


def test_sampling_by_confidence():
    """No draws: v/(1 + v) > t^-kappa; the label plays no part."""
    X, y = noisy(30, n=200)
    with nr.engine.compiling.interpreted():
        m = nr.SelectiveSampler(make("arow"), rule="confidence", kappa=0.4)
        m._rng = None
        plain = make("arow")
        for i in range(len(y)):
            v = plain.confidence(X[i : i + 1])[0] if plain.started else X[i] @ X[i]
            queried = m.learn_many(X[i : i + 1], y[i : i + 1])[0]
            assert queried == (v / (1 + v) > (i + 1) ** -0.4)
            if queried:
                plain.partial_fit(X[i : i + 1], y[i : i + 1])
    assert 20 < m.n_queries_ < 190
    assert m.n_mistakes_ / m.n_judged_ < 0.3


@pytest.mark.parametrize("rule", ["margin", "second_order"])
def test_many_queries_are_the_learner_itself(rule):
    X, y = noisy(31)
    m, plain = nr.SelectiveSampler(make("arow"), b=1e15, rule=rule).partial_fit(X, y), make("arow").partial_fit(X, y)
    assert m.n_queries_ == m.n_seen_ == m.n_judged_ == len(y)
    assert m.n_mistakes_ == plain.n_mistakes_
    assert np.array_equal(m.learner.coef_, plain.coef_)
    assert np.array_equal(m.predict(X), plain.predict(X))


@pytest.mark.parametrize("rule", ["margin", "second_order"])
def test_labels_asked_for_are_worth_more_than_others(rule):
    """On all rounds fewer mistakes than with as many labels at random; what was learned from is what was asked for."""
    mine, theirs = 0, 0
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X, u = rng.standard_normal((3000, 10)), rng.standard_normal(10)
        y = np.where(X @ u > 0, 1, -1)
        m = nr.SelectiveSampler(make("arow"), b=0.1, rule=rule)
        found = m.learn_many(X, y)
        assert found.sum() == m.n_queries_ == m.learner.n_seen_
        assert m.n_queries_ < 0.25 * len(y)
        chosen = rng.permutation(found).astype(float)
        mine += m.n_mistakes_
        theirs += (np.where(make("arow").learn_many(X, y, sample_weight=chosen) >= 0, 1, -1) != y).sum()
    assert mine < 0.85 * theirs
    assert m.report() == {
        "examples": 3000,
        "queries": m.n_queries_,
        "query_rate": m.n_queries_ / 3000,
        "judged": 3000,
        "mistakes": m.n_mistakes_,
        "error": m.n_mistakes_ / 3000,
    }


@pytest.mark.parametrize("rule", ["margin", "second_order"])
def test_sampling_resumes(rule, tmp_path):
    X, y, _ = data("arow", 3, 33)
    with nr.engine.compiling.interpreted():
        whole = nr.SelectiveSampler(nr.AROW(), rule=rule, seed=5)
        found = whole.learn_many(X, y)
        part = nr.SelectiveSampler(nr.AROW(), rule=rule, seed=5)
        first = part.learn_many(X[:50], y[:50])
        part.save(tmp_path / "m.nr")
        again = nr.SelectiveSampler.load(tmp_path / "m.nr")
        assert repr(again) == repr(part)
        assert np.array_equal(found, np.concatenate([first, again.learn_many(X[50:], y[50:])]))
        assert again.report() == whole.report()
        assert np.array_equal(again.learner.coef_, whole.learner.coef_)
        assert not hasattr(part.learner, "sampler_")
        assert isinstance(nr.load(tmp_path / "m.nr"), nr.AROW)
        part.learner.save(tmp_path / "plain.nr")
        with pytest.raises(TypeError, match="without a sampler"):
            nr.SelectiveSampler.load(tmp_path / "plain.nr")
    assert 0 < found.sum() < len(found)


def test_sampling_takes_dicts_and_sparse_rows():
    X, y, _ = data("arow", 3, 34)
    rows = [{j: float(v) for j, v in enumerate(x) if v} for x in X]
    with nr.engine.compiling.interpreted():
        found = [nr.SelectiveSampler(nr.AROW(), rule="second_order").learn_many(Z, y) for Z in (X, csr_matrix(X), rows)]
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])


def test_sampling_refuses():
    with pytest.raises(ValueError, match="rule must be one of"):
        nr.SelectiveSampler(nr.AROW(), rule="mood")
    with pytest.raises(TypeError, match="rule='margin'"):
        nr.SelectiveSampler(nr.PA1(), rule="second_order")
    with pytest.raises(TypeError, match="needs a classifier"):
        nr.SelectiveSampler(nr.PA1Regressor())
    with pytest.raises(ValueError, match="b must be in"):
        nr.SelectiveSampler(nr.AROW(), b=0.0)
    with pytest.raises(ValueError, match="kappa must be in"):
        nr.SelectiveSampler(nr.AROW(), kappa=1.0)
    m = nr.SelectiveSampler(make("arow"), seed=1)
    X, y = noisy(35, n=20)
    with pytest.raises(ValueError, match="not in the declared classes"):
        m.partial_fit(X, [*y[:-1], 7])
    with pytest.raises(ValueError, match="NaN"):
        m.partial_fit(np.where(X[3, 0] == X, np.nan, X), y)
    assert m.n_seen_ == m.n_queries_ == 0
    assert m._rng.random() == np.random.default_rng(1).random()


def test_sampling_example():
    said = doctest.testmod(sampling)
    assert said.failed == 0
    assert said.attempted > 0


# ---- theorems --------------------------------------------------------------------------------------------------------
def exact_right_side(X, y, u, m, used, a):
    """Return A^2 and ln det(I + X/a) of the theorems, X over the rounds used."""
    Z = X[used]
    G = Z.T @ Z if m.covariance == "full" else np.diag((Z**2).sum(0))
    return a * u @ u + u @ G @ u, np.linalg.slogdet(np.eye(len(u)) + G / a)[1]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "m", [nr.AROW(covariance="full", r=0.5), nr.SOP(covariance="full", a=2.0), nr.SOP(covariance="diag")], ids=repr
)
def test_theorems_hold_and_the_bounds_are_their_consequence(m, seed):
    """The theorem itself, from the rounds that were updated; and the bound of the report above it, which does not know them."""
    rng = np.random.default_rng(seed)
    u = rng.standard_normal(6)
    X = rng.standard_normal((200, 6))
    y = np.where(X @ u + rng.standard_normal(200) > 0, 1, -1)
    m = m.clone().set_params(fit_intercept=False, classes=[-1, 1])
    with nr.engine.compiling.interpreted():
        used, wrong = [], []
        for i in range(200):
            before = m.n_updates_ if i else 0
            wrong.append(m.predict_one(X[i]) != y[i])
            m.learn_one(X[i], int(y[i]))
            used.append(m.n_updates_ > before)
    used, wrong = np.array(used), np.array(wrong)
    hinge = np.maximum(0.0, 1.0 - y * (X @ u))
    a = getattr(m, "r", m.a)
    A2, logdet = exact_right_side(X, y, u, m, used, a)
    U = (used & ~wrong).sum()
    if m.name == "arow":
        theorem = np.sqrt(A2) * np.sqrt(logdet + U) + hinge[used].sum()
        measured = used.sum()
    else:
        theorem, measured = np.sqrt(A2 * logdet) + hinge[used].sum(), wrong.sum()
    t = nr.algorithm.bounds.compare(X, y, u[None])
    assert t.energy == pytest.approx(((X @ u) ** 2).sum())
    assert t.scatter == pytest.approx(((X * u) ** 2).sum())
    promised = m.bound.value(t, m.model.params)
    assert measured <= theorem + 1e-9
    assert measured <= promised < np.inf
