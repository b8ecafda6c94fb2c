"""The best fixed model in hindsight: against other solvers, and its certificate against the truth."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_matrix

from noregret.evaluation.comparator import smoothed_losses, solver
from noregret.evaluation.comparator.row_sample import Sample
from noregret.evaluation.comparator.solver import Problem, best_fixed, best_of_many
from noregret.inputs import checking

P = np.array([[1, 2, 0], [0.5, -1, 1], [-1, 0.5, 2], [2, 1, -1], [0, 1, 0.5]], float)
SIGNS = np.array([1.0, -1.0, 1.0, -1.0, 1.0])
TARGETS = np.array([1.0, -0.5, 0.5, 2.0, 1.0])
REAL = ("square", "absolute", "epsilon_insensitive", "squared_epsilon_insensitive")


def stream(X, y, c=None, size=97):
    """Passes over rows in chunks; counts them."""
    rows = checking.rows(X, "float64")

    def passes():
        passes.started += 1
        for a in range(0, rows.n, size):
            b = min(rows.n, a + size)
            yield rows.cut(a, b), y[a:b], None if c is None else c[a:b]

    passes.started = 0
    return passes


def data(n=600, d=8, seed=0, classes=1, sparse=False):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.5)
    f = X @ rng.standard_normal((d, max(classes, 1))) + rng.standard_normal((n, max(classes, 1)))
    y = f.argmax(1) if classes > 2 else f[:, 0]
    return csr_matrix(X) if sparse else X, y


def truth(loss, f, y, epsilon=0.1):
    """A plain transcription of the losses (A.2)."""
    if f.ndim == 2 and f.shape[1] > 1:
        i = np.arange(len(y))
        if loss == "log":
            return np.log(np.exp(f).sum(1)) - f[i, y]
        rest = f.copy()
        rest[i, y] = -np.inf
        m = f[i, y] - rest.max(1)
    else:
        f = f.ravel()
        m = y * f
    return {
        "hinge": lambda: np.maximum(0, 1 - m),
        "perceptron": lambda: np.maximum(0, -m),
        "squared_hinge": lambda: np.maximum(0, 1 - m) ** 2,
        "log": lambda: np.log1p(np.exp(-m)),
        "exponential": lambda: np.exp(-m),
        "square": lambda: (f - y) ** 2,
        "absolute": lambda: np.abs(f - y),
        "epsilon_insensitive": lambda: np.maximum(0, np.abs(f - y) - epsilon),
        "squared_epsilon_insensitive": lambda: np.maximum(0, np.abs(f - y) - epsilon) ** 2,
    }[loss]()


# ---- the losses as the solver sees them ------------------------------------------------------------------------------
@pytest.mark.parametrize("loss", smoothed_losses.ONE)
@pytest.mark.parametrize("width", [2.0, 0.05])
def test_terms_of_one_score(loss, width):
    rng = np.random.default_rng(1)
    f, y = 3 * rng.standard_normal(400), rng.standard_normal(400) if loss in REAL else rng.choice([-1.0, 1.0], 400)
    value, _, slope, dual, curve = smoothed_losses.ONE[loss](f, y, width, 0.1)
    assert np.allclose(value, truth(loss, f, y))
    h = 1e-6
    ahead, behind = (smoothed_losses.ONE[loss](f + s, y, width, 0.1) for s in (h, -h))
    assert np.allclose((ahead[1] - behind[1]) / (2 * h), slope, atol=1e-4 * (1 + np.abs(slope).max()))
    bent = np.abs(ahead[4] - behind[4]) < 1e-3  # not at the ends of a parabola
    assert np.allclose(((ahead[2] - behind[2]) / (2 * h))[bent], curve[bent], atol=1e-3 * (1 + np.abs(curve).max()))
    for g in 3 * rng.standard_normal(20):  # the line stays below the true loss everywhere, not only at f
        assert (truth(loss, np.full(400, g), y) >= dual + slope * g - 1e-9 * (1 + np.abs(dual))).all()


@pytest.mark.parametrize("loss", smoothed_losses.MANY)
@pytest.mark.parametrize("width", [2.0, 0.05])
def test_terms_of_many_scores(loss, width):
    rng = np.random.default_rng(2)
    f, y = 2 * rng.standard_normal((300, 4)), rng.integers(0, 4, 300)
    value, _, slope, dual, _ = smoothed_losses.MANY[loss](f, y, width, 0.0)
    assert np.allclose(value, truth(loss, f, y))
    h = 1e-6
    for k in range(4):
        step = np.zeros(4)
        step[k] = h
        ahead, behind = (smoothed_losses.MANY[loss](f + s, y, width, 0.0)[1] for s in (step, -step))
        assert np.allclose((ahead - behind) / (2 * h), slope[:, k], atol=1e-4 * (1 + np.abs(slope).max()))
    for g in 2 * rng.standard_normal((20, 4)):
        line = dual + slope @ g
        assert (truth(loss, np.tile(g, (300, 1)), y) >= line - 1e-9 * (1 + np.abs(dual))).all()


# ---- against other solvers -------------------------------------------------------------------------------------------
def test_vector_of_the_sheet():
    """L.3: stream P, hinge, ball of radius 0.5."""
    b = best_fixed(stream(P, SIGNS), "hinge", radius=0.5, bias=False, tolerance=1e-7)
    assert b.converged
    assert b.loss == pytest.approx(2.512531, abs=2e-6)
    assert b.u[0] == pytest.approx([-0.251259, 0.351763, 0.251259], abs=1e-5)


@pytest.mark.parametrize("loss", smoothed_losses.ONE)
@pytest.mark.parametrize("radius", [0.3, 1.5])
@pytest.mark.parametrize("norm", ["l2", "l1"])
def test_brute_force_in_two_dimensions(loss, radius, norm):
    X, y = data(n=60, d=2, seed=3)
    y = y if loss in REAL else np.sign(y)
    order = 1 if norm == "l1" else 2
    side = np.linspace(-radius, radius, 151)
    grid = np.array([(a, b) for a in side for b in side if np.linalg.norm([a, b], order) <= radius])
    turn = np.linspace(0, 2 * math.pi, 2000)
    edge = np.column_stack([np.cos(turn), np.sin(turn)])
    grid = np.vstack([grid, radius * edge / np.linalg.norm(edge, order, axis=1)[:, None]])
    least = truth(loss, (grid @ X.T).ravel(), np.tile(y, len(grid))).reshape(len(grid), -1).sum(1).min()
    b = best_fixed(stream(X, y, size=7), loss, radius=radius, epsilon=0.1, bias=False, tolerance=1e-5, norm=norm)
    assert b.converged
    assert b.lower <= least + 1e-9
    assert b.loss <= least + 1e-5 * max(1, least)
    assert np.linalg.norm(b.u[0], order) <= radius * (1 + 1e-12)
    assert truth(loss, X @ b.u[0], y).sum() == pytest.approx(b.loss)


@pytest.mark.parametrize("loss", ["hinge", "log", "squared_hinge", "exponential", "perceptron"])
@pytest.mark.parametrize(("radius", "order"), [(0.5, 2), (4.0, 2), (3.0, 1)])
def test_many_classes_against_scipy(loss, radius, order):
    """The certificate holds against a solver that shares nothing with ours, and the loss is as good."""
    X, y = data(n=200, d=3, seed=4, classes=3)
    Z = np.column_stack([X, np.ones(len(X))])
    b = best_fixed(stream(X, y), loss, radius=radius, classes=3, tolerance=1e-4, norm=f"l{order}")
    assert b.u.shape == (3, 4)
    assert b.converged
    assert truth(loss, Z @ b.u.T, y).sum() == pytest.approx(b.loss)

    def total(w):  # inside the ball by construction
        length = np.linalg.norm(w, order)
        u = w if length <= radius else w * radius / length
        return truth(loss, Z @ u.reshape(3, 4).T, y).sum()

    other = min(minimize(total, s, method="Powell", options={"maxiter": 30}).fun for s in (0.01 * np.ones(12), b.u.ravel() * 0.9))
    assert b.lower <= other + 1e-9
    assert b.loss <= other + 1e-4 * max(1.0, other)


def test_against_scikit_learn():
    """A penalty is a ball: at the radius of their solution the constrained optimum is theirs."""
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.svm import LinearSVC

    X, f = data(n=800, d=6, seed=5, sparse=True)
    y = np.sign(f)
    svm = LinearSVC(loss="hinge", C=0.01, tol=1e-8, max_iter=200_000, intercept_scaling=1.0).fit(X, y)
    logistic = LogisticRegression(C=0.01, fit_intercept=False, tol=1e-10, max_iter=1000).fit(X, y)
    squared = LinearSVC(loss="squared_hinge", C=0.01, tol=1e-8, max_iter=200_000, fit_intercept=False, dual=False).fit(X, y)
    ridge = Ridge(alpha=50.0, fit_intercept=False, tol=1e-12).fit(X, f)
    of_svm = np.append(svm.coef_[0], svm.intercept_)
    Z = np.column_stack([X.toarray(), np.ones(X.shape[0])])
    for loss, bias, u, t in (
        ("hinge", True, of_svm, y),
        ("log", False, logistic.coef_[0], y),
        ("squared_hinge", False, squared.coef_[0], y),
        ("square", False, ridge.coef_, f),
    ):
        b = best_fixed(stream(X, t), loss, radius=np.linalg.norm(u), bias=bias, tolerance=1e-6)
        theirs = truth(loss, (Z if bias else Z[:, :-1]) @ u, t).sum()
        assert b.converged
        assert b.loss == pytest.approx(theirs, rel=1e-4)
        assert b.u[0] == pytest.approx(u, abs=5e-3 * np.linalg.norm(u))


@pytest.mark.parametrize("loss", ["hinge", "absolute", "epsilon_insensitive"])
@pytest.mark.parametrize("kept", [2**26, 8000, 0])
def test_the_l1_ball_against_a_linear_program(loss, kept):
    """With a kinked loss it is one: u = p - q, slacks above the losses."""
    from scipy.optimize import linprog

    X, y = data(n=150, d=6, seed=18)
    y = np.sign(y) if loss == "hinge" else y
    Z = np.column_stack([X, np.ones(150)])
    one = np.eye(150)
    if loss == "hinge":
        A, b = np.hstack([-y[:, None] * Z, y[:, None] * Z, -one]), -np.ones(150)
    else:
        epsilon = 0.1 if loss == "epsilon_insensitive" else 0.0
        A = np.vstack([np.hstack([Z, -Z, -one]), np.hstack([-Z, Z, -one])])
        b = np.concatenate([y + epsilon, epsilon - y])
    ball = np.concatenate([np.ones(14), np.zeros(150)])
    exact = linprog(1.0 - ball, np.vstack([A, ball]), np.append(b, 1.3)).fun
    for size in (0, 1000):
        with pytest.MonkeyPatch.context() as m:
            m.setattr(solver, "SMALL", size)
            found = best_fixed(stream(X, y), loss, radius=1.3, epsilon=0.1, norm="l1", tolerance=1e-3, kept=kept)
        assert found.converged
        assert found.lower <= exact * (1 + 1e-9)
        assert exact * (1 - 1e-9) <= found.loss <= exact * (1 + 1.01e-3)
        assert np.abs(found.u).sum() <= 1.3 * (1 + 1e-12)


def test_the_l1_ball_against_the_lasso():
    """At the length of their solution the constrained optimum is theirs, with the same features left out."""
    from sklearn.linear_model import Lasso

    X, f = data(n=400, d=12, seed=19, sparse=True)
    theirs = Lasso(alpha=0.3, fit_intercept=False, tol=1e-12, max_iter=100_000).fit(X, f).coef_
    assert 0 < np.count_nonzero(theirs) < 12
    for kept in (2**26, 0):
        b = best_fixed(stream(X, f), "square", radius=np.abs(theirs).sum(), bias=False, norm="l1", tolerance=1e-8, kept=kept)
        assert b.u[0] == pytest.approx(theirs, abs=1e-4)
        assert (np.abs(b.u[0]) > 1e-4).tolist() == (theirs != 0).tolist()


def test_projection_in_a_metric():
    """A.3 with all weights alike; else by the conditions of the minimum."""
    from noregret.evaluation.comparator.regularizers import L1

    v = np.array([2.0, -1.0, 0.5, 0.25])
    assert L1(1.0).prox(v, np.ones(4)) == pytest.approx([1.0, 0.0, 0.0, 0.0])
    assert L1(4.0).prox(v, np.ones(4)) is v
    rng = np.random.default_rng(20)
    for _ in range(20):
        z, h = rng.standard_normal(9), rng.uniform(0.1, 5.0, 9)
        found = L1(1.5).prox(z, h)
        if np.abs(z).sum() > 1.5:
            assert np.abs(found).sum() == pytest.approx(1.5)
            theta = (h * (z - found) * np.sign(z))[found != 0]
            assert theta == pytest.approx(np.full(len(theta), theta[0]))
            assert (h * np.abs(z))[found == 0].max(initial=0.0) <= theta[0] * (1 + 1e-9)


def test_conjugates():
    """-g.u - Psi(u) is never above the conjugate where the best model may be, and somewhere it is as large."""
    from noregret.evaluation.comparator.regularizers import L1, L2, Penalty

    rng = np.random.default_rng(21)
    last = np.array([4])
    for _ in range(20):
        g = rng.standard_normal(5)
        net = Penalty(0.7, 0.4, last, lambda upper, longest: 2.0)
        net.learn(1e3)
        lasso = Penalty(0.0, 0.4, last, lambda upper, longest: 2.0)
        lasso.learn(1.2)  # |w|_1 <= 3
        u = rng.standard_normal((3000, 5)) * rng.exponential(2.0, (3000, 1))
        small = u / np.maximum(np.abs(u[:, :4]).sum(1) / 3.0, 1.0)[:, None]
        small[:, 4] = np.clip(u[:, 4], -2.0, 2.0)
        cost = 0.4 * np.abs(u[:, :4]).sum(1)
        over = np.copysign(np.maximum(np.abs(g) - 0.4, 0.0), -g)
        top = int(np.argmax(np.abs(g[:4])))
        for psi, points, paid, peak in (
            (L2(1.5), u * (1.5 / np.linalg.norm(u, axis=1))[:, None], 0.0, -1.5 * g / np.linalg.norm(g)),
            (L1(1.5), u * (1.5 / np.abs(u).sum(1))[:, None], 0.0, -1.5 * np.sign(g) * (np.abs(g) == np.abs(g).max())),
            (net, np.column_stack([u[:, :4], small[:, 4]]), cost + 0.35 * (u[:, :4] ** 2).sum(1), over / 0.7),
            (lasso, small, 0.4 * np.abs(small[:, :4]).sum(1), -3.0 * np.sign(g) * (np.arange(5) == top) * (abs(g[top]) > 0.4)),
        ):
            found = psi.conjugate(g)
            assert (points @ -g - paid).max() <= found + 1e-12
            if isinstance(psi, Penalty):
                peak[4] = -2.0 * np.sign(g[4])
                paid = 0.4 * np.abs(peak[:4]).sum() + psi.l2 / 2 * (peak[:4] ** 2).sum()
            else:
                paid = 0.0
            assert -g @ peak - paid == pytest.approx(found)


def test_inactive_constraint():
    """A ball that holds the minimum, and no ball at all, give the same."""
    X, y = data(n=300, d=5, seed=6)
    exact = np.linalg.lstsq(np.column_stack([X, np.ones(300)]), y, rcond=None)[0]
    for radius in (10.0, math.inf):
        b = best_fixed(stream(X, y), "square", radius=radius, tolerance=1e-9)
        assert b.converged
        assert b.u[0] == pytest.approx(exact, abs=1e-5)
        r = best_fixed(stream(X, np.sign(y)), "log", radius=radius, tolerance=1e-7)
        assert r.converged
        at = np.column_stack([X, np.ones(300)])
        gradient = at.T @ (-np.sign(y) / (1 + np.exp(np.sign(y) * (at @ r.u[0]))))
        assert np.abs(gradient).max() < 0.05


def test_median_is_the_best_constant():
    y = np.random.default_rng(7).standard_normal(101) ** 3
    b = best_fixed(stream(np.zeros((101, 2)), y), "absolute", radius=50.0, tolerance=1e-4)
    assert b.loss == pytest.approx(np.abs(y - np.median(y)).sum(), rel=1e-4)


# ---- special cases ---------------------------------------------------------------------------------------------------
def test_separable_rows_have_no_loss():
    rng = np.random.default_rng(8)
    X = rng.standard_normal((400, 5))
    w = np.array([1.0, -2.0, 0.5, 0.0, 1.0])
    X += 0.3 * np.sign(X @ w)[:, None] * w
    y = np.sign(X @ w)
    b = best_fixed(stream(X, y), "hinge", radius=20.0)
    assert b.converged
    assert b.loss <= 1e-3
    assert b.lower == 0.0


@pytest.mark.parametrize("loss", ["hinge", "log", "absolute"])
@pytest.mark.parametrize("norm", ["l2", "l1"])
def test_zero_radius(loss, norm):
    b = best_fixed(stream(P, SIGNS), loss, radius=0.0, norm=norm)
    assert not b.u.any()
    assert b.loss == b.lower == pytest.approx(truth(loss, np.zeros(5), SIGNS).sum())


@pytest.mark.parametrize("kept", [0, 2**30])
@pytest.mark.parametrize("loss", ["hinge", "square", "epsilon_insensitive"])
def test_weights_are_repeated_rows(loss, kept):
    X, y = data(n=150, d=4, seed=9)
    y = y if loss in REAL else np.sign(y)
    c = np.random.default_rng(0).integers(0, 4, 150)
    a = best_fixed(stream(X, y, c.astype(float)), loss, radius=1.0, epsilon=0.1, tolerance=1e-6, kept=kept)
    b = best_fixed(stream(np.repeat(X, c, 0), np.repeat(y, c)), loss, radius=1.0, epsilon=0.1, tolerance=1e-6, kept=kept)
    assert a.converged
    assert b.converged
    assert a.loss == pytest.approx(b.loss, rel=2e-6)


# ---- how the stream is read ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("loss", ["hinge", "log", "absolute", "square"])
def test_chunks_layouts_and_samples_do_not_matter(loss):
    X, y = data(n=500, d=7, seed=10)
    y = y if loss in REAL else np.sign(y)
    found = [
        best_fixed(stream(Z, y, size=size), loss, radius=0.8, tolerance=1e-4, kept=kept)
        for Z in (X, csr_matrix(X), csr_matrix(X.astype("f4")))
        for size, kept in ((500, 2**30), (33, 2**30), (33, 8000), (33, 0))
    ]
    low, high = max(b.lower for b in found), min(b.loss for b in found)
    assert low <= high * (1 + 1e-6)  # every certificate holds against every other solution (float32 rounds the rows)
    assert all(b.converged and b.loss <= high * (1 + 1.01e-4) for b in found)


def test_the_general_solver_agrees_with_the_hessian(monkeypatch):
    """Many features take the other road, gradients only: the same place."""
    X, y = data(n=400, d=20, seed=11)
    for loss in ("hinge", "log", "square", "absolute"):
        t = y if loss in REAL else np.sign(y)
        with monkeypatch.context() as m:
            newton = best_fixed(stream(X, t), loss, radius=2.0, tolerance=1e-4, kept=0)
            m.setattr(solver, "SMALL", 0)
            pairs = best_fixed(stream(X, t), loss, radius=2.0, tolerance=1e-4, kept=0)
        assert newton.converged
        assert pairs.converged
        assert max(newton.lower, pairs.lower) <= min(newton.loss, pairs.loss)
        assert pairs.passes != newton.passes, "both took the same road"


@pytest.mark.parametrize("classes", [1, 4])
def test_a_sample_stands_for_the_stream(monkeypatch, classes):
    """Steps by the loss of a sample, corrected by the gradient of the stream: the same place in fewer passes."""
    monkeypatch.setattr(solver, "SMALL", 0)
    X, y = data(n=3000, d=30, seed=16, classes=classes)
    passes = np.zeros(2)
    for loss in ("hinge", "log") if classes > 1 else ("hinge", "log", "square", "absolute"):
        t = y if classes > 1 or loss in REAL else np.sign(y)
        cold = best_fixed(stream(X, t), loss, radius=2.0, classes=classes, kept=0)
        warm = best_fixed(stream(X, t), loss, radius=2.0, classes=classes, kept=200_000)
        assert cold.converged
        assert warm.converged
        assert max(cold.lower, warm.lower) <= min(cold.loss, warm.loss)
        passes += warm.passes, cold.passes
    assert passes[0] < passes[1]
    free = best_fixed(stream(X, t), "log" if classes > 1 else "square", radius=math.inf, classes=classes, kept=200_000)
    assert free.converged
    if classes == 1:
        exact = np.linalg.lstsq(np.column_stack([X, np.ones(3000)]), y, rcond=None)[1][0]
        assert free.lower <= exact * (1 + 1e-9)
        assert free.loss == pytest.approx(exact, rel=1e-3)


def test_few_passes():
    """Rows that fit are read once; else the passes are counted, watched and limited."""
    X, y = data(n=2000, d=10, seed=12, sparse=True)
    y = np.sign(y)
    passes = stream(X, y)
    b = best_fixed(passes, "hinge", radius=3.0)
    assert b.passes == passes.started == 1
    seen = []
    passes = stream(X, y)
    b = best_fixed(passes, "hinge", radius=3.0, kept=30_000, watch=lambda *a: seen.append(a))
    assert b.converged
    assert 2 <= b.passes == passes.started == len(seen) + 1 <= 15
    lowers, uppers = [s[2] for s in seen], [s[1] for s in seen]
    assert lowers == sorted(lowers)
    assert uppers == sorted(uppers, reverse=True)
    again = best_fixed(stream(X, y), "hinge", radius=3.0, kept=0, start=b.u)
    cold = best_fixed(stream(X, y), "hinge", radius=3.0, kept=0)
    assert again.passes <= cold.passes
    short = best_fixed(stream(X, y), "hinge", radius=3.0, kept=0, max_passes=3, tolerance=1e-9)
    assert not short.converged
    assert short.passes == 3
    assert short.lower < cold.loss


@pytest.mark.parametrize("classes", [1, 3])
def test_short_chunks_of_many_features(classes):
    """Gradients of chunks much shorter than the model are added where they are not 0, and nowhere else."""
    rng = np.random.default_rng(17)
    X = csr_matrix((rng.standard_normal(400), rng.integers(0, 2000, 400), np.arange(0, 401, 4)), shape=(100, 2000))
    X.sum_duplicates()
    y = rng.integers(0, 3, 100) if classes > 1 else rng.choice([-1.0, 1.0], 100)
    p = Problem("log", 1.0, classes=classes)
    ask = solver.Ask(rng.standard_normal((classes, 2001)), 1.0, False)
    found = []
    for size in (100, 10):
        answer = solver.Answer(p, ask)
        for chunk in stream(X, y, np.full(100, 0.5), size=size)():
            answer.add(chunk)
        found.append(answer)
    f = X @ ask.u[:, :-1].T + ask.u[:, -1]
    a = f if classes > 1 else f[:, 0]
    slope = (
        0.5 * smoothed_losses.MANY["log"](a, y, 1.0, 0.0)[2]
        if classes > 1
        else 0.5 * smoothed_losses.ONE["log"](a, y, 1.0, 0.0)[2][:, None]
    )
    exact = np.column_stack([(X.T @ slope).T, slope.sum(0)])
    for answer in found:
        assert np.allclose(answer.g, exact)
        assert answer.loss == pytest.approx(found[0].loss)


def test_several_problems_share_the_passes():
    X, y = data(n=900, d=6, seed=13)
    y = np.sign(y)
    problems = [Problem("hinge", 1.0), Problem("hinge", 3.0), Problem("log", 1.0, bias=False), Problem("square", 2.0)]
    passes = stream(X, y)
    together = best_of_many(passes, problems, kept=20_000)
    assert passes.started == max(b.passes for b in together)
    for p, b in zip(problems, together, strict=True):
        alone = best_fixed(stream(X, y), p.loss, radius=p.radius, bias=p.bias, kept=20_000)
        assert np.array_equal(alone.u, b.u)


def test_width_grows_during_the_first_pass():
    """The number of features is known at its end; a later pass with more of them is an error."""
    X, y = data(n=300, d=6, seed=14, sparse=True)
    y = np.sign(y)
    wide = checking.rows(X, "float64")
    narrow = checking.rows(X[:100, :3].tocsr(), "float64")
    chunks = [(narrow, y[:100], None), (wide.cut(100, 300), y[100:], None)]
    Z = X.toarray()
    Z[:100, 3:] = 0.0
    for kept in (0, 2**30):
        a = best_fixed(lambda: chunks, "hinge", radius=2.0, tolerance=1e-5, kept=kept)
        b = best_fixed(stream(Z, y), "hinge", radius=2.0, tolerance=1e-5)
        assert a.u.shape == (1, 7)
        assert a.loss == pytest.approx(b.loss, rel=2e-5)
    turns = iter([chunks[:1], chunks])
    with pytest.raises(ValueError, match="a row has 6 features where the first pass found 3: the stream has changed"):
        best_fixed(lambda: next(turns), "hinge", radius=2.0, kept=0)


def test_sample_is_bounded_and_fair():
    rng = np.random.default_rng(15)
    s = Sample(kept=40_000)
    for _ in range(50):
        rows = checking.rows(rng.standard_normal((200, 5)), "float64")
        s.add(rows, np.ones(200), np.full(200, 2.0))
        assert s.bytes <= 40_000
    assert not s.complete
    assert s.n == 10_000
    assert sum(c.sum() for _, _, c in s.chunks) == pytest.approx(20_000, rel=0.2)
    assert s.typical(False) == pytest.approx(math.sqrt(5), rel=0.05)


def test_typical_rows():
    """The root mean square of |x| and of |x|_inf, the constant feature counted; rows of zeros are rows."""
    X = np.array([[3.0, -4.0], [0.0, 0.0], [0.0, 0.5]])
    c = np.array([1.0, 2.0, 3.0])
    for Z in (X, csr_matrix(X), csr_matrix(np.vstack([np.ones((2, 2)), X]))):
        rows = checking.rows(Z, "float64")
        s = Sample()
        s.add(rows.cut(rows.n - 3, rows.n), np.array([2.0, 0.0, 1.0]), c)
        assert s.typical(False) == pytest.approx(math.sqrt((25 + 3 * 0.25) / 6))
        assert s.typical(True) == pytest.approx(math.sqrt((26 + 2 + 3 * 1.25) / 6))
        assert s.typical(False, "l1") == pytest.approx(math.sqrt((16 + 3 * 0.25) / 6))
        assert s.typical(True, "l1") == pytest.approx(math.sqrt((16 + 2 + 3) / 6))
        assert s.size_of_targets() == pytest.approx(math.sqrt(7 / 6))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"loss": "huber"}, "loss must be one of hinge, perceptron"),
        ({"radius": -1.0}, "radius must be at least 0"),
        ({"radius": math.nan}, "radius must be at least 0"),
        ({"tolerance": 0.0}, "tolerance must be above 0"),
        ({"norm": "linf"}, "norm must be one of l2, l1, got 'linf'"),
        ({"y": TARGETS}, "takes signs: expected -1 and \\+1, found -0.5"),
        ({"classes": 3, "y": np.array([0, 1, 2, 3, 0])}, "expected codes from 0 to 2 for 3 classes, found 0 to 3"),
        ({"start": np.zeros((1, 9))}, "start has shape"),
    ],
)
def test_refusals(given, message):
    given = {"loss": "hinge", "radius": 1.0, "y": SIGNS, **given}
    loss, y = given.pop("loss"), given.pop("y")
    with pytest.raises(ValueError, match=message):
        best_fixed(stream(P, y), loss, **given)


@pytest.mark.parametrize("share", [0.1, 0.9])
def test_curvature_of_sparse_rows(share):
    from noregret.evaluation.comparator.curvature import add_curvature

    rng = np.random.default_rng(6)
    Z = np.where(rng.random((50, 12)) < share, rng.standard_normal((50, 12)), 0.0)
    curve = np.where(rng.random(50) < 0.3, 0.0, rng.random(50))
    H = np.ones((13, 13))
    add_curvature(H, csr_matrix(Z), curve, True)
    wide = np.column_stack([Z, np.ones(50)])
    assert np.allclose(H, 1.0 + (wide.T * curve) @ wide, rtol=0.0, atol=1e-12)
