"""Kernel learners and budgets: printed traces, transcriptions, invariants, what is read back, what is refused."""

import contextlib
import doctest
import json
import math
import re

import numpy as np
import pytest
import reference_kernels as reference
import traces_kernels as traces
from scipy.sparse import csr_matrix

import noregret as nr
from noregret.engine import compiling
from noregret.engine.elementary import exp
from noregret.families.budgeted import forgetron_bound, forgetron_radius, projectron_bound
from noregret.learners import kernel_interface
from noregret.parts.budgets import best_h
from noregret.spaces.gram import border, residual, unborder

PARTS = {
    "linear": nr.Linear(),
    "polynomial": nr.Polynomial(3, gamma=0.5),
    "rbf": nr.RBF(gamma=0.5),
    "laplacian": nr.Laplacian(gamma=0.5),
    "cauchy": nr.Cauchy(gamma=0.5),
    "sigmoid": nr.Sigmoid(gamma=0.1, coef0=-0.2),
}
NAMED = ("stoptron", "rbp", "least_recent", "fixed_budget", "forgetron", "projectron", "projectron_pp", "bpa_s", "bpa_nn", "bpa_p")
LAYOUTS = {"dense": np.asarray, "sparse": csr_matrix}


@pytest.fixture(autouse=True)
def interpreted(request):
    """The algorithm is tested, not the compiler: only tests that say so compile."""
    with contextlib.nullcontext() if "compiled" in request.node.name else compiling.interpreted():
        yield


def stream(n=70, d=3, K=2, seed=0, zeros=0.3):
    """Random rows with zeros, a curved boundary, noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) > zeros)
    if K == 0:
        return X, np.sin(X).sum(1) + 0.1 * rng.standard_normal(n)
    angle = np.arctan2(X[:, 0], X[:, 1]) + 0.4 * rng.standard_normal(n)
    return X, np.where(np.sin(2 * angle) + 0.3 > 0, 1, -1) if K == 2 else (3 * (angle + 4)).astype(int) % K


# ---- traces ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("t", traces.TRACES, ids=lambda t: t.name)
def test_trace(t, layout):
    X, y = traces.STREAMS[t.stream]
    task = nr.learner(t.registry).task
    given = {"classes": np.unique(y).tolist()} if task == "classification" else {}
    m = nr.learner(t.registry, **t.params, kernel=nr.RBF(gamma=0.5), **given)
    for i in range(len(X)):
        f = m.learn_many(LAYOUTS[layout](X[i : i + 1]), y[i : i + 1])
        shift = t.figures["rho"][i - 1] if t.registry == "norma_novelty" and i else 0.0  # the score has the threshold inside
        np.testing.assert_allclose(np.ravel(f) + shift, np.ravel(t.scores[i]), atol=2e-6)
        if not t.alpha[i]:
            assert not m.started or m.n_support_ == 0
            continue
        np.testing.assert_allclose(np.atleast_2d(m.dual_coef_), np.atleast_2d(t.alpha[i]), atol=2e-6)
        sv = m.support_vectors_
        sv = sv.toarray() if hasattr(sv, "toarray") else sv
        if t.sv is not None:
            np.testing.assert_array_equal(sv, X[np.array(t.sv[i]) - 1])
        for name, values in t.figures.items():
            np.testing.assert_allclose(figure(m, name, sv), values[i], atol=2e-6, err_msg=name)


def figure(m, name, sv):
    """A figure that a trace prints, as the state has it or from what is read back."""
    if name == "x":
        return sv
    if name == "norm2":
        K = np.array([[reference.KERNELS["rbf"](a, b) for b in sv] for a in sv])
        return float(m.dual_coef_[0] @ K @ m.dual_coef_[0])
    return {"Q": lambda s: s.w.memo.Q[0], "rho": lambda s: s.rho[0], "eps": lambda s: s.rho[0], "b": lambda s: s.b[0]}[name](
        m.state
    )


# ---- transcriptions --------------------------------------------------------------------------------------------------
STEPS = {
    "perceptron": {"beta": 0.1, "gamma": 0.97, "alpha": 0.7},
    "pa1": {"C": 0.6},
    "norma": {"eta": 0.4, "lambda_": 0.2},
    "ogd": {"eta": 0.8, "l2": 0.1},
}
BUDGETS = {
    "Unbounded": None,
    "Stop": nr.Stop(7),
    "RemoveOldest": nr.RemoveOldest(7),
    "RemoveSmallest": nr.RemoveSmallest(7),
    "RemoveRedundant": nr.RemoveRedundant(7),
    "Shrink": nr.Shrink(7),
    "Replace": nr.Replace(7),
    "ReplaceNearest": nr.ReplaceNearest(7),
    "ProjectRemoved": nr.ProjectRemoved(7),
    "Projection": nr.Projection(0.4, 12),
    "Merge": nr.Merge(7),
}


def compare(step, budget, kernel, K, weighted=False, layout="dense", tolerance=1e-9, **more):
    X, y = stream(K=max(K, 2), seed=len(step) + K)
    c = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 2.0], len(y)) if weighted else None
    ref = reference.learn(step, budget, kernel, X, y, K, 12 if budget == "Projection" else 7, c, **STEPS[step], **more)
    radius = more.pop("radius", None)
    ball = {} if radius is None else {"projection": "l2", "radius": radius}
    m = nr.learner(
        step,
        kernel=PARTS[kernel],
        budget=BUDGETS[budget],
        fit_intercept=False,
        classes=np.unique(y).tolist(),
        **STEPS[step],
        **ball,
        **more,
    )
    f = m.learn_many(LAYOUTS[layout](X), y, sample_weight=c)
    scored = np.ones(len(y), bool) if c is None else c > 0
    np.testing.assert_allclose(np.atleast_2d(f.T).T[scored], ref.scores[scored], rtol=tolerance, atol=tolerance)
    if not more.get("average"):
        np.testing.assert_allclose(m.dual_coef_, ref.A, rtol=tolerance, atol=tolerance)
    assert m.n_support_ == len(ref.points)
    assert m.n_updates_ == ref.updates
    return m


@pytest.mark.parametrize("K", [1, 3])
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("budget", BUDGETS)
def test_every_step_with_every_budget(step, budget, K):
    """Merging compares with a search on a grid of places; what rounding does to a place shows after many merges."""
    compare(step, budget, "rbf", K, tolerance=1e-6 if budget == "Merge" else 1e-7)


@pytest.mark.parametrize("K", [1, 3])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kernel", PARTS)
def test_every_kernel(kernel, layout, K):
    compare("pa1", "Unbounded", kernel, K, layout=layout)


@pytest.mark.parametrize("budget", ["RemoveOldest", "RemoveRedundant", "ReplaceNearest"])
def test_sample_weights(budget):
    compare("pa1", budget, "rbf", 3, weighted=True)


@pytest.mark.parametrize("budget", ["Unbounded", "RemoveOldest", "Projection", "ProjectRemoved", "Replace"])
def test_tracked_norm_under_a_budget(budget):
    """A ball needs the norm, which every rule has to keep."""
    compare("ogd", budget, "rbf", 3, radius=0.8, tolerance=1e-7)


def test_romma_in_the_space_of_a_kernel():
    STEPS["romma"] = {}
    try:
        compare("romma", "Unbounded", "rbf", 3)
        compare("romma", "RemoveOldest", "polynomial", 1, tolerance=1e-6)
    finally:
        del STEPS["romma"]


@pytest.mark.parametrize("K", [1, 3])
def test_averaged(K):
    compare("perceptron", "Unbounded", "rbf", K, average=True)


def test_averaged_perceptron_is_the_average_option():
    X, y = stream()
    a = nr.AveragedPerceptron(kernel=nr.RBF(), classes=[-1, 1]).partial_fit(X, y)
    b = nr.Perceptron(kernel=nr.RBF(), classes=[-1, 1], average=True).partial_fit(X, y)
    np.testing.assert_array_equal(a.decision_function(X), b.decision_function(X))
    k = np.exp(-((X[:, None] - a.support_vectors_[None]) ** 2).sum(-1))
    np.testing.assert_allclose(a.decision_function(X), k @ a.dual_coef_[0], atol=1e-12)


@pytest.mark.parametrize("K", [2, 3])
def test_a_row_meets_the_vectors_once(K):
    """Averages and votes answer with what the step learns with: the same values of the kernel, asked for once."""
    X, y = stream(K=K, n=40)
    asked = []
    for make in (nr.Perceptron, nr.AveragedPerceptron, nr.VotedPerceptron):
        calls = []
        m = make(kernel=lambda a, b, calls=calls: calls.append(a is not b) or float(a @ b) + 1.0, classes=np.unique(y).tolist())
        before, met = 0, 0
        for i in range(len(y)):
            m.learn_many(X[i : i + 1], y[i : i + 1])
            met, before = met + before, m.n_support_
        assert sum(calls) == met  # with others; with themselves rows are met besides
        asked.append(len(calls))
    assert asked[0] == asked[1] == asked[2]


# ---- votes -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("K", [1, 3])
@pytest.mark.parametrize(
    ("kernel", "B", "given"),
    [
        ("rbf", math.inf, {}),
        ("rbf", 9, {"beta": 0.2}),
        ("linear", math.inf, {"gamma": 0.3, "beta": 0.1}),  # the multiplier is put in many times
        ("polynomial", 15, {"gamma": 0.9, "alpha": 0.5}),
    ],
)
def test_votes_of_every_vector(kernel, B, given, K, layout):
    X, y = stream(K=max(K, 2), seed=11, n=60)
    X[20] = 0.0
    c = np.random.default_rng(2).choice([0.0, 0.5, 1.0, 2.0], len(y))
    scores, votes = reference.voted(X, y, reference.KERNELS[kernel], K, B, c, **given)
    budget = None if math.isinf(B) else nr.Stop(B)
    m = nr.VotedPerceptron(kernel=PARTS[kernel], budget=budget, fit_intercept=False, classes=np.unique(y).tolist(), **given)
    f = m.learn_many(LAYOUTS[layout](X), y, c)
    np.testing.assert_array_equal(np.atleast_2d(f.T).T[c > 0], scores[c > 0])
    np.testing.assert_array_equal(m.votes_, votes)
    assert m.n_support_ == len(votes) <= B
    assert m.bounded == (budget is not None)


def test_votes_from_what_is_read_back():
    """Support vectors, coefficients and votes are the whole model: each prefix of the sum is a vector of the vote."""
    X, y = stream()
    m = nr.VotedPerceptron(kernel=nr.RBF(0.5), classes=[-1, 1]).partial_fit(X, y)
    k = np.exp(-0.5 * ((X[:, None] - m.support_vectors_[None]) ** 2).sum(-1))
    signs = np.where(np.cumsum(k * m.dual_coef_[0], axis=1) >= 0, 1, -1)
    np.testing.assert_array_equal(m.decision_function(X), signs @ m.votes_)


def test_votes_of_the_printed_run():
    X, y = [[1, 2, 0], [0.5, -1, 1], [-1, 0.5, 2], [2, 1, -1], [0, 1, 0.5]], [1, -1, 1, -1, 1]
    for kernel in (None, "linear", lambda a, b: float(np.dot(a, b))):
        m = nr.VotedPerceptron(kernel=kernel, fit_intercept=False, classes=[-1, 1]).partial_fit(X, y)
        assert m.votes_.tolist() == [2, 1, 2]
        assert m.predict([[1, -1, 0.5]]).tolist() == [-1]
        assert m.decision_function([[1, -1, 0.5]]).tolist() == [-5]


@pytest.mark.parametrize("kernel", ["linear", lambda a, b: float(np.dot(a, b))])
def test_votes_when_a_third_class_comes(kernel):
    """In the middle of a call, or between calls, as the linear learner does."""
    X, y = stream(K=3, n=80, seed=2)
    y[:40] %= 2
    linear = nr.VotedPerceptron(fit_intercept=False)
    f = linear.learn_many(X, y)
    m = nr.VotedPerceptron(kernel=kernel, fit_intercept=False)
    np.testing.assert_array_equal(m.learn_many(X, y), f)
    one = nr.VotedPerceptron(kernel=kernel, fit_intercept=False)
    for x, label in zip(X, y, strict=True):
        one.learn_one(x, label)
    for other in (m, one):
        np.testing.assert_array_equal(other.votes_, linear.votes_)
        np.testing.assert_array_equal(other.decision_function(X), linear.decision_function(X))


@pytest.mark.parametrize("K", [2, 3])
def test_votes_on_strings(K, tmp_path):
    """A model of objects votes as the transcription does, and goes on from a file in the same way."""
    rng = np.random.default_rng(K)
    X = ["".join(rng.choice(list("abcd"), 5)) for _ in range(30)]
    y = [x.count("a") % K for x in X]
    kernel = nr.StringSubsequence(2)
    scores, votes = reference.voted(X, y if K > 2 else [2 * v - 1 for v in y], kernel, K if K > 2 else 1)
    m = nr.VotedPerceptron(kernel=kernel, classes=list(range(K))).partial_fit(X[:12], y[:12])
    m.save(tmp_path / "m")
    m = nr.load(tmp_path / "m")
    np.testing.assert_array_equal(np.atleast_2d(m.learn_many(X[12:], y[12:]).T).T, scores[12:])
    np.testing.assert_array_equal(m.votes_, votes)


def test_votes_in_bytes_when_classes_come():
    """A class takes room: the newest vectors go, and what is left is the run that would have stopped there."""
    X, y = stream(K=4, n=90, d=6, seed=3)
    y[:60] %= 2
    for layout in LAYOUTS.values():
        m = nr.VotedPerceptron(kernel=nr.RBF(0.5), budget=nr.Stop(bytes=2500)).partial_fit(layout(X[:60]), y[:60])
        before = m.votes_
        m.partial_fit(layout(X[60:61]), [2])
        n = m.n_support_
        assert 1 < n < len(before)
        assert m.votes_[:-1].tolist() == before[: n - 1].tolist()
        assert m.votes_.sum() == before.sum() + 1
        stopped = nr.VotedPerceptron(kernel=nr.RBF(0.5), budget=nr.Stop(n)).partial_fit(layout(X[:60]), y[:60])
        stopped.partial_fit(layout(X[60:61]), [2])
        np.testing.assert_array_equal(stopped.votes_, m.votes_)
        np.testing.assert_array_equal(stopped.decision_function(X), m.decision_function(X))


def test_laws_of_a_compiled_vote():
    m = nr.VotedPerceptron(kernel=nr.RBF(0.5), gamma=0.9)
    nr.checks.interpreted(m)
    nr.checks.chunk(m, *nr.checks.stream(m, n=150, d=5, K=3))


@pytest.mark.parametrize("K", [1, 3])
@pytest.mark.parametrize("C", [0.4, 3.0])
def test_duol(K, C):
    X, y = stream(K=max(K, 2), seed=5)
    scores, A = reference.duol(X, y, "rbf", C, 0.1, K)
    m = nr.DUOL(C=C, rho=0.1, kernel=nr.RBF(gamma=0.5), classes=np.unique(y).tolist())
    f = m.learn_many(X, y)
    np.testing.assert_allclose(np.atleast_2d(f.T).T, scores, atol=1e-6)
    np.testing.assert_allclose(m.dual_coef_, A, atol=1e-6)
    assert (np.abs(m.dual_coef_) <= C + 1e-12).all()
    w = m.state.w
    exact = w.alpha[:, : m.n_support_] @ reference.Hypothesis(reference.KERNELS["rbf"], K).gram(list(w.S.sv[:, : m.n_support_].T))
    np.testing.assert_allclose(w.kept.F[:, : m.n_support_], exact, atol=1e-9)


@pytest.mark.parametrize(("nu", "B", "weighted"), [(0.1, 50, False), (0.05, 8, False), (0.1, 50, True)])
def test_kernel_rls(nu, B, weighted):
    X, y = stream(K=0, n=60, zeros=0.0)
    c = np.random.default_rng(0).choice([0.0, 0.5, 1.0, 3.0], len(y)) if weighted else None
    m = nr.KernelRLS(nu=nu, B=B, kernel=nr.RBF(gamma=0.5))
    f = m.learn_many(X, y, c)
    scored = np.ones(len(y), bool) if c is None else c > 0
    np.testing.assert_allclose(f[scored], reference.kernel_rls(X, y, "rbf", nu, B, c)[scored], atol=1e-6)
    assert m.n_support_ <= B


# ---- invariants ------------------------------------------------------------------------------------------------------
LINEAR = [n for n in nr.algorithms() if "kernel" in nr.learner(n).defaults and not nr.learner(n).by_kernel]


@pytest.mark.parametrize("name", LINEAR)
def test_linear_kernel_is_the_linear_learner(name):
    m = nr.learner(name)
    for K in (2, 3) if m.task == "classification" else (0,):
        X, y = stream(K=K, seed=K, n=50)
        given = {"classes": np.unique(y).tolist()} if K else {}
        a, b = nr.learner(name, **given), nr.learner(name, kernel=nr.Linear(), **given)
        np.testing.assert_allclose(a.learn_many(X, y), b.learn_many(X, y), rtol=1e-8, atol=1e-8)
        assert a.n_updates_ == b.n_updates_
    assert len(LINEAR) > 20


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("name", NAMED)
def test_within_the_budget_nothing_is_lost(name, K):
    """With room for every mistake each is the kernel Perceptron, or kernel PA-I; and the budget is never exceeded."""
    X, y = stream(K=K, seed=3)
    free = nr.PA1(kernel=nr.RBF()) if "bpa" in name else nr.Perceptron(kernel=nr.RBF())
    f = free.partial_fit(X, y).decision_function(X)
    if name != "projectron_pp":
        exact = {"eta": 0.0} if "projectron" in name else {"B": 70}
        m = nr.learner(name, kernel=nr.RBF(), **exact).partial_fit(X, y)
        np.testing.assert_allclose(m.decision_function(X), f, atol=1e-6)
    m = nr.learner(name, kernel=nr.RBF(), B=5)
    for i in range(len(y)):
        m.partial_fit(X[i : i + 1], y[i : i + 1])
        assert m.n_support_ <= 5
    assert m.n_support_ == 5


def test_forgetron_damage_stays_within_its_share():
    X, y = stream(n=150)
    m = nr.Forgetron(B=6)
    for i in range(len(y)):
        m.partial_fit(X[i : i + 1], y[i : i + 1])
        assert m.state.w.memo.Q[0] <= 15 / 32 * m.n_updates_ + 1e-12
    assert m.state.w.memo.Q[0] > 1.0
    fixed = nr.Forgetron(B=6, phi=0.5).partial_fit(X, y)
    assert np.abs(fixed.dual_coef_).min() == pytest.approx(0.5**6)


def competitors(K, y, radii):
    """Expansions over a stream: fitted with more and less regard to noise, and at random; each at every norm."""
    rng = np.random.default_rng(1)
    n = len(y)
    shapes = [np.linalg.solve(K + v * np.eye(n), y.astype(float)) for v in (1e-3, 0.1, 1.0, 10.0)]
    for a in [*shapes, y / n, rng.standard_normal(n)]:
        for r in radii:
            u = a * (r / math.sqrt(a @ K @ a))
            yield float(u @ K @ u), float(np.maximum(0.0, 1.0 - y * (K @ u)).sum())


def streams_for_bounds(n):
    """Noise, on which budgets are short; and two clouds, on which the bounds are below the number of rows."""
    X, y = stream(n=n, seed=9, zeros=0.0)
    yield X, np.random.default_rng(2).permutation(y)
    side = np.random.default_rng(3).choice([-1, 1], n)
    yield 3.0 * side[:, None] + 0.1 * X, side


def test_mistakes_stay_below_the_bound_of_the_forgetron():
    short = []
    for X, y in streams_for_bounds(320):
        K = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(-1))
        for B in (84, 120):
            m = nr.Forgetron(B=B, kernel=nr.RBF(gamma=0.5), classes=[-1, 1]).partial_fit(X, y)
            assert m.n_support_ <= B
            for u2, hinge in competitors(K, y, np.linspace(0.1, 0.999, 5) * forgetron_radius(B)):
                bound = forgetron_bound(B, u2, hinge)
                assert m.n_mistakes_ <= bound < math.inf
                short.append((m.n_mistakes_ > B, bound < len(y)))
            assert math.isinf(forgetron_bound(B, (1.001 * forgetron_radius(B)) ** 2, 0.0))
    assert any(over for over, _ in short)
    assert any(useful for _, useful in short)
    assert math.isinf(forgetron_bound(83, 0.1, 0.0))
    assert math.isinf(forgetron_bound(84, 0.1, 0.0, k=1.1))
    for B, U in {84: 1.093524, 100: 1.169524, 200: 1.539093, 400: 2.044821, 1000: 3.009242, 10_000: 8.237995}.items():
        assert forgetron_radius(B) == pytest.approx(U, abs=1e-6)


@pytest.mark.parametrize("eta", [0.0, 0.05, 0.2])
def test_mistakes_stay_below_the_bound_of_the_projectron(eta):
    useful = False
    for X, y in streams_for_bounds(90):
        K = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(-1))
        m = nr.Projectron(eta=eta, kernel=nr.RBF(gamma=0.5), classes=[-1, 1]).partial_fit(X, y)
        for u2, hinge in competitors(K, y, [0.3, 1.0, 2.0, 2.4, 5.0]):
            bound = projectron_bound(eta, u2, hinge)
            assert m.n_mistakes_ <= bound
            assert math.isinf(bound) == (2 * eta * math.sqrt(u2) >= 1.0)
            useful |= bound < len(y)
    assert useful
    assert math.isinf(projectron_bound(eta, 1.0, 0.0, k=1.1))


def test_the_bound_of_the_projectron_is_reached():
    """Rows at right angles, one class: each is a mistake, and u, their sum, has hinge losses 0 and squared norm n."""
    n = 25
    m = nr.Projectron(eta=0.0, kernel=nr.Linear(), classes=[-1, 1]).partial_fit(-np.eye(n), -np.ones(n))
    assert m.n_mistakes_ == projectron_bound(0.0, float(n), 0.0) == n


def test_budgeted_pa_reaches_the_margin_of_pa():
    X, y = stream(seed=8)
    for name in ("bpa_s", "bpa_nn", "bpa_p"):
        m = nr.learner(name, B=5, C=1e6, classes=[-1, 1]).partial_fit(X[:20], y[:20])
        for i in range(20, 60):
            m.partial_fit(X[i : i + 1], y[i : i + 1])
            assert y[i] * m.decision_function(X[i : i + 1])[0] >= 1 - 1e-6


def test_merging_loses_less_than_dropping():
    X, y = stream(n=120, seed=4)
    a, b = (nr.PA1(kernel=nr.RBF(0.1), budget=v, classes=[-1, 1]) for v in (nr.Merge(10), nr.RemoveSmallest(10)))
    free = nr.PA1(kernel=nr.RBF(0.1), classes=[-1, 1]).partial_fit(X, y).decision_function(X)
    assert np.std(a.partial_fit(X, y).decision_function(X) - free) < 0.5 * np.std(b.partial_fit(X, y).decision_function(X) - free)


@pytest.mark.parametrize("K", [1, 3])
@pytest.mark.parametrize("step", STEPS)
def test_merging_sparse_vectors(step, K):
    """The same as on dense rows; and the split into calls does not show, not even in where cells come to lie."""
    X, y = stream(n=150, d=25, K=max(K, 2), seed=K, zeros=0.8)
    X[5:60:9] = 0.0  # rows without a cell
    make = lambda: nr.learner(step, kernel=nr.RBF(0.1), budget=nr.Merge(8), classes=np.unique(y).tolist(), fit_intercept=False)  # noqa: E731
    dense, whole = make(), make()
    f = dense.learn_many(X, y)
    np.testing.assert_allclose(whole.learn_many(csr_matrix(X), y), f, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(whole.dual_coef_, dense.dual_coef_, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(whole.support_vectors_.toarray(), dense.support_vectors_, rtol=1e-12, atol=1e-12)
    assert whole.state.w.sound(whole.model.dims)
    assert not whole.state.w.S.z.any()
    nr.checks.chunk(make(), csr_matrix(X), y, sizes=(1, 7))


def test_merged_vectors_have_the_nonzeros_of_both():
    """Not of all features: what is kept of rows with 3 of 100,000 stays small, and a coordinate of both is there once."""
    rng = np.random.default_rng(0)
    at = np.sort(np.array([rng.choice(30, 3, replace=False) for _ in range(60)])) * 3000
    X = csr_matrix((rng.random(180), (np.repeat(np.arange(60), 3), at.ravel())), shape=(60, 100_000))
    m = nr.PA1(kernel=nr.RBF(), budget=nr.Merge(10), fit_intercept=False).partial_fit(X, rng.choice([-1, 1], 60))
    w = m.state.w
    sizes = (w.S.end - w.S.start)[:10]
    assert 3 < sizes.max() <= 30
    assert all(len(set(w.S.idx[a:b].tolist())) == b - a for a, b in zip(w.S.start[:10], w.S.end[:10], strict=True))
    assert sum(a.nbytes for a in m.model.arrays().values()) < 20_000


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_merged_vector_meets_the_row_at_hand(layout):
    """A step that asks again after it has moved gets the score of the new weights."""
    X, y = stream(n=60, d=5)
    m = nr.PA1(kernel=nr.RBF(0.3), budget=nr.Merge(6), classes=[-1, 1], fit_intercept=False)
    for i in range(len(y)):
        before = m.n_updates_ if i else 0
        m.partial_fit(LAYOUTS[layout](X[i : i + 1]), y[i : i + 1])
        if m.n_updates_ > before:
            w = m.state.w
            sv = w.S.vectors(np.arange(m.n_support_), 5)
            sv = sv.toarray() if hasattr(sv, "toarray") else sv
            np.testing.assert_allclose(w.kx[: m.n_support_], np.exp(-0.3 * ((sv - X[i]) ** 2).sum(1)), rtol=1e-9)
    assert m.n_updates_ > 30


@pytest.mark.parametrize(("m", "kappa", "h"), traces.PLACES)
def test_places_of_merged_vectors(m, kappa, h):
    assert best_h(m * m, m * (1 - m), (1 - m) * (1 - m), kappa) == pytest.approx(h, abs=2e-6)


def test_inverse_gram():
    m = nr.Projectron(eta=0.0, kernel=nr.RBF(gamma=0.5), classes=[-1, 1])
    for x, y in (([0, 0], 1), ([1, 0], -1), ([2, 0], 1)):
        m.partial_fit([x], [y])
    w = m.state.w
    np.testing.assert_allclose(w.memo.P[:3, :3], traces.GRAM, atol=2e-6)
    unborder(w, 0)
    np.testing.assert_allclose(w.memo.P[1:3, 1:3], traces.GRAM_LEFT, atol=2e-6)
    w.size[0] = 2
    w.memo.P[:2, :2] = np.linalg.inv(np.array([[1, math.exp(-0.5)], [math.exp(-0.5), 1]]))
    w.kx[:2] = math.exp(-2.0), math.exp(-0.5)
    assert residual(w, 1.0) == pytest.approx(traces.GRAM_LAST, abs=2e-6)
    border(w, residual(w, 1.0))
    np.testing.assert_allclose(w.memo.P[:3, :3], traces.GRAM, atol=2e-6)


def test_inverse_gram_of_close_points_stays_an_inverse():
    """Hundreds of points in a small square: without the checks the error would grow beyond use."""
    rng = np.random.default_rng(0)
    X, y = 0.5 * rng.random((150, 2)), rng.choice([-1, 1], 150)
    for m in (nr.BPAP(B=20, kernel=nr.RBF(gamma=4.0), classes=[-1, 1]), nr.Projectron(eta=1e-3, B=30, kernel=nr.RBF(gamma=4.0))):
        m.partial_fit(X, y)
        w, n = m.state.w, m.n_support_
        K = reference.Hypothesis(lambda a, b: np.exp(-4 * np.sum((a - b) ** 2)), 1).gram(list(w.S.sv[:, :n].T))
        assert np.abs(K @ w.memo.P[:n, :n] - np.eye(n)).max() < 1e-3
        assert np.isfinite(m.decision_function(X)).all()


def test_a_duplicate_never_enters_the_gram_matrix():
    m = nr.Projectron(eta=0.0, classes=[-1, 1])
    m.partial_fit([[0, 0], [0, 0], [0, 0]], [1, -1, 1])
    assert m.n_support_ == 1
    assert m.dual_coef_[0, 0] == pytest.approx(1.0)


def test_random_removal_is_uniform_and_seeded():
    from noregret.parts.budgets import draw

    rng = np.array([7], np.uint64)
    with np.errstate(all="ignore"):
        counts = np.bincount([draw(rng, 5) for _ in range(5000)], minlength=5)
    assert (np.abs(counts - 1000) < 120).all()
    X, y = stream()
    a, b, c = (nr.RBP(B=5, seed=s).partial_fit(X, y).support_vectors_ for s in (0, 0, 1))
    assert np.array_equal(a, b)
    assert not np.array_equal(a, c)


def test_drift_a_budget_forgets():
    """On a stream whose classes change places, a window of support vectors errs less than all of them."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 2))
    y = np.where(X[:, 0] * X[:, 1] > 0, 1, -1) * np.where(np.arange(400) < 200, 1, -1)
    free, window = (nr.PA1(kernel=nr.RBF(2.0), budget=b, classes=[-1, 1]) for b in (None, nr.RemoveOldest(40)))
    wrong = [np.mean(np.sign(m.learn_many(X, y))[200:] != y[200:]) for m in (free, window)]
    assert wrong[1] < wrong[0] - 0.08


# ---- any objects --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("budget", [None, nr.RemoveOldest(9), nr.RemoveRedundant(9), nr.Projection(0.3), nr.ReplaceNearest(9)])
@pytest.mark.parametrize("K", [2, 3])
def test_a_function_of_rows_is_the_kernel(budget, K):
    """The path of objects equals the path of rows when the objects are rows: in calls, one by one, and with sample weights."""
    X, y = stream(K=K, n=50)
    k = lambda a, b: math.exp(-0.5 * float(np.sum((a - b) ** 2)))  # noqa: E731
    c = np.random.default_rng(0).choice([0.0, 1.0, 2.0], len(y))
    a, b = nr.PA1(kernel=nr.RBF(0.5), budget=budget), nr.PA1(kernel=k, budget=budget)
    np.testing.assert_allclose(a.learn_many(X, y, c), b.learn_many(X, y, c), atol=1e-9)
    np.testing.assert_allclose(a.decision_function(X), b.decision_function(X), atol=1e-9)
    one = nr.PA1(kernel=k, budget=budget)
    for x, label, weight in zip(X, y, c, strict=True):
        one.learn_one(x, label, weight)
    np.testing.assert_allclose(one.decision_function(X), b.decision_function(X), atol=1e-9)
    assert one.predict_one(X[0]) == b.predict(X[:1])[0]
    assert [v.tolist() for v in b.support_vectors_] == a.support_vectors_.tolist()


def test_strings():
    words = "the cat sat on the mat", "a cat sat on a mat", "stock prices fell again", "stock prices rose again"
    labels = ["pets", "pets", "money", "money"]
    m = nr.Perceptron(kernel=nr.StringSubsequence(n=3)).fit(words, labels)
    assert m.predict(["the cat on the mat", "prices fell"]).tolist() == ["pets", "money"]
    assert m.support_vectors_[0] == words[0]
    assert m.learn_one("my cat", "pets") == "pets"
    with pytest.raises(TypeError, match="sequence of objects.*got a str"):
        m.predict("the cat")
    novel = nr.NORMANovelty(kernel=nr.StringSubsequence(n=2), nu=0.2, eta=0.5).fit(list(words[:2]), epochs=5)
    assert novel.decision_function([words[0]])[0] > novel.decision_function([words[2]])[0]


TREES = ["(S (NP I) (VP (V sleep)))", ("S", ("NP", "you"), ("VP", ("V", "sleep"))), ["S", ["NP", "we"], ["VP", ["V", "eat"]]]]
OBJECTS = {
    "text": (nr.StringSubsequence(2), ["caté", "cart", "dog \ud800", "dig", "do", "cat"]),
    "words": (nr.StringSubsequence(1, 0.9), [("a", "b"), ("b", 1), (2.5, "c"), ("c", None), ("a",), (b"x", True, "b")]),
    "trees": (nr.SubsetTree(0.5), TREES + TREES[::-1]),
}


@pytest.mark.parametrize("budget", [None, nr.RemoveOldest(2), nr.ReplaceNearest(3)])
@pytest.mark.parametrize("kind", OBJECTS)
def test_models_on_strings_and_trees_are_saved(kind, budget, tmp_path):
    """What is read is what was written, and goes on in the same way."""
    kernel, X = OBJECTS[kind]
    y = [0, 1, 1, 0, 1, 0]
    whole = nr.PA1(kernel=kernel, budget=budget).partial_fit(X * 2, y * 2)
    nr.PA1(kernel=kernel, budget=budget).partial_fit(X, y).save(tmp_path / "m")
    m = nr.load(tmp_path / "m")
    assert m.kernel == kernel
    assert all(v in X for v in m.support_vectors_)
    assert [type(v) for v in m.support_vectors_] == [type(X[X.index(v)]) for v in m.support_vectors_]
    m.partial_fit(X, y)
    assert m.support_vectors_ == whole.support_vectors_
    np.testing.assert_array_equal(m.dual_coef_, whole.dual_coef_)
    np.testing.assert_array_equal(m.decision_function(X), whole.decision_function(X))


@pytest.mark.parametrize(
    ("learner", "budget"),
    [("voted_perceptron", None), ("voted_perceptron", "stop(3)"), ("pa1", None), ("pa1", "remove_oldest(3)"), ("norma", "stop(3)")],
)
def test_a_kernel_that_fails_midway_changes_nothing(learner, budget):
    def kernel(a, b):
        if "bad" in (a, b):
            raise KeyError("no such word")
        return float(len(set(a) & set(b)))

    m, twin = (nr.learner(learner, kernel=kernel, budget=budget) for _ in range(2))
    words, labels = ["ab", "xy", "abc", "yz", "bc"], ["l", "r", "l", "r", "l"]
    for some in (m, twin):
        some.partial_fit(words, labels)
    for fail in (
        lambda: m.partial_fit([*words, "bad", "ab"], [*labels, "new", "l"]),
        lambda: m.learn_one("bad", "l"),
        lambda: m.learn_one("bad", "new"),
    ):
        with pytest.raises(KeyError, match="no such word"):
            fail()
        assert m.classes_.tolist() == ["l", "r"]
        assert (m.n_seen_, m.n_support_) == (twin.n_seen_, twin.n_support_)
        assert m.decision_function(words).tolist() == twin.decision_function(words).tolist()
    for some in (m, twin):
        some.partial_fit(["ab", "wx", "cd"], ["l", "third", "r"])
    assert m.decision_function(words).tolist() == twin.decision_function(words).tolist()


def test_objects_that_cannot_be_saved(tmp_path):
    class Word(tuple):
        pass

    deep = ("x", "y")
    for i in range(3000):
        deep = (f"A{i}", deep)
    for x, said in ((Word("ab"), "a support vector cannot be saved: .* of type Word"), (deep, "nested too deeply")):
        kernel = nr.SubsetTree() if x is deep else nr.StringSubsequence(1)
        with pytest.raises(TypeError, match=said):
            nr.PA1(kernel=kernel).partial_fit([x, x], [0, 1]).save(tmp_path / "m")
    assert not (tmp_path / "m").exists()


def test_a_file_of_objects_is_checked(tmp_path):
    from test_model_file import forged, opened, refused

    nr.PA1(kernel=nr.StringSubsequence(1), budget=nr.Stop(2)).partial_fit(["ab", "cd", "de"], [0, 1, 1]).save(tmp_path / "m")
    data = (tmp_path / "m").read_bytes()
    for text, said in (
        (b'["ab","cd","ef","gh"]', "2 support vectors in arrays of 3"),
        (b'{"tuple":[1]}', "a list of support vectors"),
    ):
        meta, tensors = opened(data, tmp_path / "m")
        tensors["state.w.S.sv"] = np.frombuffer(text, np.uint8)
        refused(tmp_path / "m", forged(meta, tensors), said)
    meta, tensors = opened(data, tmp_path / "m")
    tensors["state.w.size"][0] = 1
    refused(tmp_path / "m", forged(meta, tensors), "1 support vectors in arrays of 3")


def test_functions_cannot_be_saved(tmp_path):
    m = nr.PA1(kernel=lambda a, b: float(a == b)).partial_fit([1, 2, 1], ["odd", "even", "odd"])
    assert m.predict([2]).tolist() == ["even"]
    with pytest.raises(TypeError, match="parameter 'kernel' cannot be saved"):
        m.save(tmp_path / "m.nr")


def test_string_subsequence_values():
    k = nr.StringSubsequence(n=2, lambda_=0.5, normalize=False)
    assert k("cat", "car") == 0.0625
    assert k("cat", "cat") == 0.140625
    assert nr.StringSubsequence(2)("cat", "car") == pytest.approx(1 / 2.25)
    assert [k._replace(n=n)("gatta", "cata") for n in (1, 2, 3)] == [1.5, 0.1953125, 0.015625]
    texts = "science is organized knowledge", "wisdom is organized life"
    assert [round(nr.StringSubsequence(n)(*texts), 3) for n in range(2, 7)] == [0.580, 0.478, 0.439, 0.406, 0.369]
    assert nr.StringSubsequence(3)("ab", "ab") == 0.0


def test_string_subsequence_is_an_enumeration():
    """The recursion against the definition: all index sets of both strings."""
    from itertools import combinations

    def features(s, n, decay):
        found = {}
        for at in combinations(range(len(s)), n):
            u = tuple(s[i] for i in at)
            found[u] = found.get(u, 0.0) + decay ** (at[-1] - at[0] + 1)
        return found

    rng = np.random.default_rng(0)
    for n in (1, 2, 3, 4):
        s, t = ("".join(rng.choice(list("abc"), 8)) for _ in range(2))
        a, b = features(s, n, 0.7), features(t, n, 0.7)
        expected = sum(v * b.get(u, 0.0) for u, v in a.items())
        assert nr.StringSubsequence(n, 0.7, False)(s, t) == pytest.approx(expected, rel=1e-12)


def test_subset_tree_values():
    s = "(S (NP (D the) (N dog)) (VP (V barks)))"
    t = ("S", ("NP", ("D", "a"), ("N", "dog")), ("VP", ("V", "barks")))
    count = nr.SubsetTree(1.0, normalize=False)
    assert (count(s, t), count(s, s), count(t, t)) == (15, 24, 24)
    assert nr.SubsetTree(1.0)(s, t) == pytest.approx(0.625)
    k = nr.SubsetTree(normalize=False)
    assert k(s, t) == pytest.approx(2.89344, rel=1e-12)
    assert k(s, s) == pytest.approx(3.657216, rel=1e-12)
    assert nr.SubsetTree()(s, t) == pytest.approx(0.791159, abs=1e-6)
    deep = " ".join(f"(A{i}" for i in range(3000)) + " x" + ")" * 3000
    assert nr.SubsetTree(0.4)(deep, deep) == pytest.approx(1.0)
    for bad in ("", "(S (NP I)", "word", ("S",), ("S", ("N", "x"), "word")):
        with pytest.raises(ValueError, match="tree|children or words"):
            count(bad, bad)


def test_subset_tree_is_an_enumeration():
    """Delta against counting fragments: a node's fragments are every choice of leaving a child bare or taking one of its own."""
    from itertools import product

    def rooted(node):
        if all(isinstance(c, str) for c in node[1:]):
            return [node]
        choices = [[(c[0],), *rooted(c)] for c in node[1:]]
        return [(node[0], *pick) for pick in product(*choices)]

    def everywhere(node):
        inner = [f for c in node[1:] if not isinstance(c, str) for f in everywhere(c)]
        return rooted(node) + inner

    s = ("S", ("NP", ("D", "the"), ("N", "dog")), ("VP", ("V", "saw"), ("NP", ("D", "the"), ("N", "cat"))))
    t = ("S", ("NP", ("D", "a"), ("N", "cat")), ("VP", ("V", "saw"), ("NP", ("D", "the"), ("N", "dog"))))
    pairs = sum(a == b for a in everywhere(s) for b in everywhere(t))
    assert nr.SubsetTree(1.0, normalize=False)(s, t) == pairs


# ---- sizes, reading back ------------------------------------------------------------------------------------------------
def test_reading_back():
    X, y = stream(K=3)
    for layout in LAYOUTS.values():
        m = nr.PA1(kernel=nr.RBF(), classes=[2, 0, 1]).partial_fit(layout(X), y)
        sv = m.support_vectors_
        assert hasattr(sv, "toarray") == (layout is csr_matrix)
        sv = sv.toarray() if hasattr(sv, "toarray") else sv
        assert sv.shape == (m.n_support_, 3)
        assert m.dual_coef_.shape == (3, m.n_support_)
        k = np.exp(-((X[:, None] - sv[None]) ** 2).sum(-1))
        np.testing.assert_allclose(k @ m.dual_coef_.T, m.decision_function(X), atol=1e-12)
        with pytest.raises(AttributeError, match="support_vectors_ and dual_coef_"):
            m.coef_  # noqa: B018
    with pytest.raises(AttributeError, match="see coef_"):
        nr.PA1().partial_fit(X, y).dual_coef_  # noqa: B018
    named = nr.PA1(kernel=nr.RBF()).partial_fit([{"a": 1.0, "b": 2.0}, {"c": 1.0}], ["x", "y"])
    assert named.support_vectors_.toarray().tolist() == [[1, 2, 0], [0, 0, 1]]
    real = nr.PA1Regressor(kernel=nr.RBF()).partial_fit(X, X[:, 0])
    assert real.dual_coef_.shape == (real.n_support_,)


def test_support_report():
    assert doctest.testmod(kernel_interface).attempted > 0
    assert doctest.testmod(kernel_interface).failed == 0
    X, y = stream(K=3)
    m = nr.PA1(kernel=nr.Polynomial(2), budget=nr.RemoveRedundant(9), classes=[2, 0, 1]).partial_fit(X, y)
    said = m.support_report(top=4)
    assert (said["kernel"], said["budget"]) == ("Polynomial(degree=2, gamma=1, coef0=1)", "RemoveRedundant(B=9)")
    assert (said["vectors"], said["additions"]) == (9, m.n_updates_)
    assert said["bytes"] == sum(a.nbytes for a in m.model.arrays().values())
    assert said["by_class"] == {c: int((m.dual_coef_.argmax(0) == c).sum()) for c in range(3)}
    sizes = np.linalg.norm(m.dual_coef_, axis=0)
    births = m.state.w.born[m.state.w.order()]
    assert [row["addition"] for row in said["top"]] == births[np.argsort(-sizes, kind="stable")[:4]].tolist()
    best = int(np.argmax(sizes))
    assert said["top"][0]["coefficient"] == m.dual_coef_[:, best].max()
    assert said["top"][0]["class"] == m.dual_coef_[:, best].argmax()
    alone = nr.PA1(kernel=nr.RBF()).partial_fit(X[:2], ["a", "a"]).support_report()
    assert alone["by_class"] == {"a": alone["vectors"]}
    real = nr.KernelRLS(B=5).partial_fit(X, X[:, 0]).support_report(0)
    del real["bytes"]
    assert real == {
        "kernel": "RBF(gamma=1)",
        "budget": "Projection(eta=0, B=5)",
        "vectors": 5,
        "additions": 5,
        "by_class": None,
        "top": [],
    }
    voted = nr.VotedPerceptron(kernel=nr.StringSubsequence(2)).partial_fit(["ab", "cd", "ab", "cb", "cd"], [0, 1, 0, 1, 1])
    said = voted.support_report()
    assert said["kernel"] == "StringSubsequence(n=2, lambda_=0.5, normalize=True)"
    assert said["budget"] is None
    assert [row["votes"] for row in said["top"]] == sorted(voted.votes_.tolist(), reverse=True)
    assert {row["object"] for row in said["top"]} == set(voted.support_vectors_)
    with pytest.raises(AttributeError, match="see coef_"):
        nr.PA1().partial_fit(X, y).support_report()


def test_inspect(tmp_path):
    """The command shows what the report says, for two classes and for a vote."""
    from click.testing import CliRunner

    from noregret.cli import main

    def shown(m, *options):
        m.save(tmp_path / "m.nr")
        return CliRunner().invoke(main, ["inspect", str(tmp_path / "m.nr"), *options]).output

    X, y = stream()
    m = nr.PA1(kernel="rbf(0.5)", budget=nr.RemoveOldest(9)).partial_fit(X, np.where(y > 0, "in", "out"))
    said, text = m.support_report(3), shown(m, "--top", "3")
    assert json.loads(shown(m, "--top", "3", "--json"))["support"] == said
    counts = " and ".join(f"{n} for {c}" for c, n in said["by_class"].items())
    assert all(part in text for part in counts.split(" and "))
    assert re.search(r"^kernel +RBF\(gamma=0.5\)$", text, re.M)
    assert re.search(r"^budget +RemoveOldest\(B=9\)$", text, re.M)
    assert re.search(rf"^vectors +9 support vectors of {m.n_updates_} additions", text, re.M)
    lines = text.splitlines()
    at = next(i for i, line in enumerate(lines) if line.split() == ["vector", "speaks", "for", "coefficient"])
    assert [line.split()[:2] for line in lines[at + 2 :]] == [[str(row["addition"]), row["class"]] for row in said["top"]]
    text = shown(nr.VotedPerceptron(kernel=nr.StringSubsequence(1)).partial_fit(["ab", "c\nd"], ["x", "y"]))
    assert re.search(r"^budget +none$", text, re.M)
    assert "votes  object" in text
    assert "c\\nd" in text


@pytest.mark.parametrize("budget", ["RemoveOldest", "ProjectRemoved", "RemoveRedundant"])
def test_budget_in_bytes(budget):
    X, y = stream(n=90, d=6)
    part = getattr(nr, budget)(bytes=4000)
    m = nr.PA1(kernel=nr.RBF(), budget=part, classes=[-1, 1])
    for i in range(len(y)):
        m.partial_fit(X[i : i + 1], y[i : i + 1])
        assert sum(a.nbytes for _, _, a in nr.algorithm.state.leaves(m.model.spec, m.model.state)) <= 4000
    assert 3 <= m.n_support_ == m.state.w.budget.B
    larger = nr.PA1(kernel=nr.RBF(), budget=part._replace(bytes=8000), classes=[-1, 1]).partial_fit(X, y)
    assert larger.n_support_ > m.n_support_


def test_sparse_rows_keep_sparse_vectors():
    """The state of sparse rows has the size of their non-zeros, gaps closed as vectors go."""
    rng = np.random.default_rng(0)
    X = csr_matrix((rng.random(360), (np.repeat(np.arange(120), 3), rng.integers(0, 100_000, 360))), shape=(120, 100_000))
    y = rng.choice([-1, 1], 120)
    m = nr.PA1(kernel=nr.RBF(), budget=nr.RemoveOldest(20), classes=[-1, 1]).partial_fit(X, y)
    assert m.n_support_ == 20
    assert sum(a.nbytes for a in m.model.arrays().values()) < 40_000
    np.testing.assert_allclose(m.support_vectors_.toarray(), X[100:].toarray())
    free = nr.PA1(kernel=nr.RBF(), classes=[-1, 1])
    short = y * free.learn_many(X, y) < 1.0
    np.testing.assert_allclose(free.support_vectors_.toarray(), X[short].toarray())
    assert short.sum() > 90


# ---- laws: the algorithm's, interpreted; named learners and two configurations run them compiled in test_laws.py ----------------
CONFIGURATIONS = {
    "romma, polynomial": lambda: nr.ROMMA(kernel=nr.Polynomial(2, 0.1)),
    "alma, cauchy, random removed": lambda: nr.ALMA(kernel=nr.Cauchy(0.1), budget=nr.RemoveRandom(12, seed=3)),
    "mira, sigmoid": lambda: nr.MIRA(kernel=nr.Sigmoid(0.01), budget=nr.RemoveOldest(15)),
    "norma with nu, stopped": lambda: nr.NORMA(kernel=nr.RBF(0.1), nu=0.3, offset=True, budget=nr.Stop(12)),
    "averaged, projecting": lambda: nr.AveragedPerceptron(kernel=nr.RBF(0.1), budget=nr.Projection(0.5, 15)),
    "uniform perceptron, redundant removed": lambda: nr.Perceptron(
        kernel=nr.RBF(0.1), update="uniform", budget=nr.RemoveRedundant(12)
    ),
    "pa1 in float32, nearest": lambda: nr.PA1(kernel=nr.RBF(0.1), budget=nr.ReplaceNearest(12), dtype="float32"),
    "pa2 by cost, oldest removed": lambda: nr.PA2(kernel=nr.RBF(0.1), budget=nr.RemoveOldest(12), cost={(0, 1): 4.0}),
    "regressor": lambda: nr.PA2Regressor(kernel=nr.Laplacian(0.1), budget=nr.Shrink(12, phi=0.9)),
    "uniclass": lambda: nr.PAUniclass(kernel=nr.RBF(0.1), budget=nr.RemoveOldest(12)),
    "log loss": lambda: nr.OGD(kernel=nr.RBF(0.1), loss="log", budget=nr.ProjectRemoved(12)),
    "ogd in a ball, merging": lambda: nr.OGD(kernel=nr.RBF(0.1), budget=nr.Merge(12), projection="l2", radius=2.0),
    "voted, polynomial": lambda: nr.VotedPerceptron(kernel=nr.Polynomial(2, 0.1), gamma=0.9, beta=0.1),
    "voted, stopped": lambda: nr.VotedPerceptron(kernel=nr.RBF(0.1), budget=nr.Stop(12)),
    "duol on a budget": lambda: nr.DUOL(kernel=nr.RBF(0.1), budget=nr.RemoveSmallest(12)),
}


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_laws(name):
    m = CONFIGURATIONS[name]()
    X, y = nr.checks.stream(m, n=50, d=4, K=4)
    with np.errstate(all="ignore"):
        for law in ("chunk", "layout", "resume", "purity", "merge", "bad_input"):
            nr.checks.LAWS[law](m, X, y)


OUTSIDE = [("size", -1), ("size", 10**6), ("S.start", -5), ("S.end", 10**9), ("S.idx", 2**32 - 1), ("S.used", 10**9)]


@pytest.mark.parametrize(("where", "value"), OUTSIDE)
def test_a_file_may_not_point_outside(where, value, tmp_path):
    from test_model_file import forged, opened, refused

    X, y = stream()
    nr.PA1(kernel=nr.RBF(), budget=nr.ReplaceNearest(9)).partial_fit(csr_matrix(X), y).save(tmp_path / "m")
    data = (tmp_path / "m").read_bytes()
    meta, tensors = opened(data, tmp_path / "m")
    tensors[f"state.w.{where}"][0] = value
    refused(tmp_path / "m", forged(meta, tensors), "support vectors within their arrays")
    meta, tensors = opened(data, tmp_path / "m")
    tensors["state.w.memo.at"][1] = 50
    refused(tmp_path / "m", forged(meta, tensors), "support vectors within their arrays")


def test_compared_side_by_side():
    X, y = stream(n=120)
    report = nr.compare(X, ["pa1", "pa1:kernel=rbf(0.5),budget=remove_oldest(20)", "bpa_s:B=20"], y=y)
    found = {row["params"].get("kernel") or "": row for row in report.to_dict()["learners"]}
    linear, oldest, simple = found[""], found["rbf(0.5)"], found["rbf"]
    assert linear["support_vectors"] is None
    assert oldest["support_vectors"] == simple["support_vectors"] == 20
    assert oldest["nonzeros"] is None
    assert 20 * 8 * 3 < oldest["bytes"] < 20_000
    assert oldest["examples_per_second"] > 0
    assert "vectors" in str(report)
    regret = nr.evaluate(X, "pa1:kernel=rbf(0.5)", y=y).to_dict()["regret"]
    assert regret["bound"] is None
    assert "space of the kernel" in regret["bound_why"]


# ---- what is refused -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("make", "error", "said"),
    [
        (lambda: nr.PA1(kernel="gauss"), ValueError, r"kernel must be one of cauchy, laplacian.*got 'gauss'"),
        (lambda: nr.PA1(kernel="rbf(sigma=1)"), ValueError, r"kernel rbf takes numbers for gamma; got"),
        (lambda: nr.PA1(kernel=3), TypeError, r"kernel must be one of nr.Cauchy\(\).*got 3"),
        (lambda: nr.PA1(kernel="rbf", budget="forget"), ValueError, "budget must be one of merge, project_removed"),
        (lambda: nr.PA1(kernel=nr.RBF(gamma=-1)), ValueError, "gamma of an RBF must be in"),
        (lambda: nr.PA1(kernel=nr.Polynomial(2.5)), ValueError, "degree of a Polynomial must be a whole number"),
        (lambda: nr.PA1(budget=nr.Stop(3)), ValueError, "only a kernel= has"),
        (lambda: nr.PA1(kernel=nr.RBF(), budget=50), TypeError, r"budget must be one of nr.Merge\(B\)"),
        (lambda: nr.PA1(kernel=nr.RBF(), budget=nr.Stop(0)), ValueError, "whole number of support vectors"),
        (lambda: nr.PA1(kernel=nr.RBF(), budget=nr.Stop(bytes=100)), ValueError, "holds no support vector"),
        (lambda: nr.PA1(kernel=nr.Linear(), budget=nr.Merge(5)), ValueError, "Merge is for RBF kernels"),
        (lambda: nr.PA1(kernel=nr.RBF(), budget=nr.Shrink(5, phi=2.0)), ValueError, "phi of a Shrink"),
        (lambda: nr.PA1(kernel=nr.RBF(), budget=nr.Projection(-1.0)), ValueError, "eta of a Projection"),
        (lambda: nr.ALMA(p=4, kernel=nr.RBF()), ValueError, "p-norm geometry has no kernel form"),
        (lambda: nr.OGD(projection="l1", kernel=nr.RBF()), ValueError, "only the L2 ball"),
        (lambda: nr.DUOL(budget=nr.Merge(5)), ValueError, "takes a budget that removes or stops"),
        (
            lambda: nr.VotedPerceptron(kernel=nr.RBF(), budget=nr.RemoveOldest(5)),
            ValueError,
            r"nr.Stop\(B\), or AveragedPerceptron",
        ),
        (lambda: nr.VotedPerceptron(kernel=nr.RBF(), budget=nr.Projection(0.1)), ValueError, "changes what they are made of"),
        (lambda: nr.Stoptron(kernel=None), ValueError, "Stoptron needs a kernel"),
    ],
)
def test_refused(make, error, said):
    X, y = stream()
    with pytest.raises(error, match=said):
        make().partial_fit(X, y)


@pytest.mark.parametrize("name", ["AROW", "Winnow", "AdaGrad"])
def test_steps_by_coordinate_have_no_kernel_form(name):
    with pytest.raises(TypeError, match="no kernel form"):
        getattr(nr, name)(kernel=nr.RBF())


def test_parts_by_name():
    X, y = stream()
    a = nr.PA1(kernel=nr.RBF(0.5), budget=nr.Shrink(9, phi=0.9)).partial_fit(X, y)
    b = nr.PA1(kernel="rbf(0.5)", budget="shrink(9, phi=0.9)").partial_fit(X, y)
    np.testing.assert_array_equal(a.dual_coef_, b.dual_coef_)
    assert nr.PA1(kernel="rbf").partial_fit(X, y).state.w.kernel == nr.RBF()


def test_other_parameters_of_the_space_need_another_model():
    X, y = stream()
    m = nr.PA1(kernel=nr.RBF(), classes=[-1, 1]).partial_fit(X, y)
    m.set_params(C=0.5)
    with pytest.raises(ValueError, match="another kind of state"):
        m.set_params(kernel=nr.RBF(gamma=2.0))
    assert m.kernel == nr.RBF()
    with pytest.raises(TypeError, match="no merge"):
        m.merge(m.clone().partial_fit(X, y))


def test_exp():
    z = np.concatenate([np.linspace(-708, 700, 5001), -np.logspace(-12, 2.8, 500), [0.0]])
    np.testing.assert_allclose([exp(float(v)) for v in z[z > -708]], np.exp(z[z > -708]), rtol=1e-14)
    assert exp(-709.0) == exp(-1e300) == 0.0


def fill_exp(z, out):
    """Fill out with exp(z): a loop that vectorises."""
    for i in range(z.shape[0]):
        out[i] = exp(z[i])


def test_exp_compiled():
    z = -np.concatenate([np.linspace(0, 707.9, 4001), np.logspace(-12, 2, 500)])
    out = np.empty_like(z)
    compiling.compiled(fill_exp)(z, out)
    np.testing.assert_allclose(out, np.exp(z), rtol=1e-14)


def test_laws_of_a_compiled_expansion():
    """What the interpreter cannot show: compiled sums are the same, and do not depend on the split of the stream."""
    m = CONFIGURATIONS["ogd in a ball, merging"]()
    nr.checks.interpreted(m)
    nr.checks.chunk(m, *nr.checks.stream(m, n=300, d=13, K=4))
