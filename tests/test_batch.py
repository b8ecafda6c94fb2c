"""Batch models: against scikit-learn, closed forms and the conditions of optimality; in memory, and by passes over the rows."""

import math

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import noregret as nr
from noregret.engine import compiling
from noregret.evaluation.comparator import solver
from noregret.inputs.batch import Reader


@pytest.fixture(autouse=True)
def _interpreted():
    """The solver is NumPy: nothing here needs a kernel."""
    with compiling.interpreted():
        yield


def data(n=300, d=6, seed=0):
    """Rows of different sizes, some features of no use; a target with noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.6) * np.geomspace(0.5, 2.0, d) + 0.2 * (np.arange(d) == 1)
    w = rng.standard_normal(d) * (np.arange(d) % 3 > 0)
    return X, X @ w + 0.7 + 0.5 * rng.standard_normal(n)


def truth(loss, f, y, epsilon=0.1):
    """Sum of losses, written down again: y are signs or targets."""
    each = {
        "hinge": lambda: np.maximum(0, 1 - y * f),
        "squared_hinge": lambda: np.maximum(0, 1 - y * f) ** 2,
        "log": lambda: np.logaddexp(0, -y * f),
        "square": lambda: (f - y) ** 2,
        "absolute": lambda: np.abs(f - y),
        "epsilon_insensitive": lambda: np.maximum(0, np.abs(f - y) - epsilon),
    }
    return each[loss]().sum()


def objective(loss, X, y, w, b, l2, l1):
    return truth(loss, X @ w + b, y) + l2 / 2 * (w @ w) + l1 * np.abs(w).sum()


class Many(Reader):
    """Rows that must be read again for each pass, in short batches; counts the passes."""

    kind = name = "many"

    def __init__(self, X, y, c=None, size=61):
        super().__init__()
        inner = nr.stream((X, y) if c is None else (X, y, c)).reader
        self.whole = next(iter(inner.batches()))
        self.rows, self.started = size, 0

    def batches(self, position=None):
        self.started += 1
        for a in range(0, self.whole.data.n, self.rows):
            yield self.whole.cut(a, min(a + self.rows, self.whole.data.n))


# ---- closed forms ----------------------------------------------------------------------------------------------------
def test_soft_threshold_of_orthonormal_columns():
    """I.1: with X'X = I the lasso is soft(w_LS, l1/2), the elastic net that over 1 + l2/2."""
    rng = np.random.default_rng(1)
    Q = np.linalg.qr(rng.standard_normal((40, 7)))[0]
    y = 3 * rng.standard_normal(40)
    soft = np.sign(Q.T @ y) * np.maximum(np.abs(Q.T @ y) - 0.9, 0)
    for l2 in (0.0, 3.0):
        s = nr.batch(Q, y, loss="square", l1=1.8, l2=l2, fit_intercept=False, tolerance=1e-10)
        assert s.coef == pytest.approx(soft / (1 + l2 / 2), abs=1e-6)
        assert s.nonzeros == np.count_nonzero(soft) < 7
        assert s.intercept == 0.0


@pytest.mark.parametrize("kept", [2**26, 4000])
def test_ridge_by_its_equations(kept):
    X, y = data()
    Z, free = np.column_stack([X, np.ones(len(y))]), np.diag([1.0] * 6 + [0.0])
    exact = np.linalg.solve(Z.T @ Z + 5.0 * free, Z.T @ y)
    s = nr.batch(X, y, loss="square", l2=10.0, tolerance=1e-9, kept=kept)
    assert np.append(s.coef, s.intercept) == pytest.approx(exact, abs=1e-5)
    assert s.objective == pytest.approx(((y - Z @ exact) ** 2).sum() + 5.0 * (exact[:-1] ** 2).sum())


def test_a_large_penalty_leaves_the_intercept():
    X, y = data()
    s = nr.batch(X, y, loss="square", l1=1e6)
    assert not s.coef.any()
    assert s.intercept == pytest.approx(y.mean(), abs=1e-3)
    labels = y > np.quantile(y, 0.8)
    s = nr.batch(X, labels, loss="log", l1=1e6)
    assert s.nonzeros == 0
    assert s.intercept == pytest.approx(math.log(labels.mean() / (1 - labels.mean())), abs=0.05)


# ---- against scikit-learn --------------------------------------------------------------------------------------------
def fitted(name, X, y):
    """A model of scikit-learn, with the loss and the penalties that it has here."""
    from sklearn.linear_model import ElasticNet, Lasso, LogisticRegression, Ridge
    from sklearn.svm import SVC, SVR, LinearSVC

    n = len(y)
    tight = {"tol": 1e-10, "max_iter": 100_000}
    model, loss, l2, l1 = {
        "ridge": (Ridge(alpha=5.0), "square", 10.0, 0.0),
        "lasso": (Lasso(alpha=0.1, **tight), "square", 0.0, 0.2 * n),
        "elastic net": (ElasticNet(alpha=0.2, l1_ratio=0.5, **tight), "square", 0.2 * n, 0.2 * n),
        "logistic": (LogisticRegression(C=0.1, **tight), "log", 10.0, 0.0),
        "sparse logistic": (LogisticRegression(C=0.1, l1_ratio=1.0, solver="saga", tol=1e-9, max_iter=5000), "log", 0.0, 10.0),
        "svm": (SVC(kernel="linear", C=0.1, tol=1e-8), "hinge", 10.0, 0.0),
        "squared svm": (LinearSVC(C=0.1, dual=False, fit_intercept=False, **tight), "squared_hinge", 10.0, 0.0),
        "svr": (SVR(kernel="linear", C=0.1, epsilon=0.1, tol=1e-8), "epsilon_insensitive", 10.0, 0.0),
    }[name]
    model.fit(X, y)
    w = model.coef_.toarray() if hasattr(model.coef_, "toarray") else model.coef_
    return np.ravel(w), float(np.ravel(model.intercept_)[0]) if np.ndim(model.intercept_) else float(model.intercept_), loss, l2, l1


NAMES = ["ridge", "lasso", "elastic net", "logistic", "sparse logistic", "svm", "squared svm", "svr"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("sparse", [False, True])
def test_against_scikit_learn(name, sparse):
    """Their optimum is between lower and objective, in memory and by passes; the figures are those of the model returned."""
    X, y = data()
    real = name in ("ridge", "lasso", "elastic net", "svr")
    t = y if real else np.where(y > 0.3, 1, -1)
    given = csr_matrix(X) if sparse else X
    w, b, loss, l2, l1 = fitted(name, given, t)
    theirs = objective(loss, X, t, w, b, l2, l1)
    bias = name != "squared svm"
    for kept in (2**26, 3000, 0):
        rows = Many(given, t)
        s = nr.batch(rows, loss=loss, l2=l2, l1=l1, kept=kept, fit_intercept=bias, tolerance=1e-5)
        assert s.converged
        assert s.gap == pytest.approx(s.objective - s.lower)
        assert s.lower <= theirs * (1 + 1e-9)
        assert s.objective <= theirs * (1 + 1.01e-5)
        assert s.objective == pytest.approx(objective(loss, X, t, s.coef, s.intercept, l2, l1))
        assert s.loss == pytest.approx(truth(loss, X @ s.coef + s.intercept, t))
        assert s.coef == pytest.approx(w, abs=0.02)
        assert s.passes == rows.started
        assert (s.passes == 1) == (kept == 2**26)


@pytest.mark.parametrize("name", NAMES)
def test_by_gradients_alone(name, monkeypatch):
    """Without a Hessian, as where there are many features: the same place, certified."""
    monkeypatch.setattr(solver, "SMALL", 0)
    X, y = data()
    t = y if name in ("ridge", "lasso", "elastic net", "svr") else np.where(y > 0.3, 1, -1)
    w, b, loss, l2, l1 = fitted(name, X, t)
    theirs = objective(loss, X, t, w, b, l2, l1)
    for kept in (2**26, 12_000, 0):
        s = nr.batch(Many(X, t), loss=loss, l2=l2, l1=l1, kept=kept, fit_intercept=name != "squared svm", tolerance=1e-3)
        assert s.converged, s.passes
        assert s.lower <= theirs * (1 + 1e-9)
        assert s.objective <= theirs * (1 + 1.01e-3)


@pytest.mark.parametrize("kept", [2**26, 0])
def test_softmax_of_three_classes(kept):
    from sklearn.linear_model import LogisticRegression

    X, y = data(n=200)
    names = np.array(["low", "mid", "top"])[np.digitize(y, [0.0, 1.5])]
    theirs = LogisticRegression(C=0.1, tol=1e-10, max_iter=10_000).fit(X, names)
    s = nr.batch(Many(X, names), loss="log", l2=10.0, kept=kept, tolerance=1e-4)
    assert s.classes == theirs.classes_.tolist()
    assert s.converged

    def total(W, b):
        f = X @ W.T + b
        return (np.logaddexp.reduce(f, axis=1) - f[np.arange(200), np.searchsorted(s.classes, names)]).sum() + 5.0 * (W**2).sum()

    assert s.objective == pytest.approx(total(s.coef, s.intercept))
    assert s.lower <= total(theirs.coef_, theirs.intercept_) * (1 + 1e-9)
    assert s.objective <= total(theirs.coef_, theirs.intercept_) * (1 + 1e-4)
    assert s.coef == pytest.approx(theirs.coef_, abs=0.05)


# ---- conditions of optimality, and other forms -----------------------------------------------------------------------
@pytest.mark.parametrize("loss", ["square", "log", "squared_hinge"])
def test_slopes_at_the_optimum(loss):
    """The slope of the loss is -l2 w_j - l1 sign(w_j) where w_j is not 0, within l1 where it is, and 0 for the intercept."""
    X, y = data(seed=2)
    t = y if loss == "square" else np.where(y > 0, 1, -1)
    s = nr.batch(X, t, loss=loss, l1=12.0, l2=4.0, tolerance=1e-10)
    f, h = X @ s.coef + s.intercept, 1e-6
    slope = np.array(
        [(truth(loss, f + h * column, t) - truth(loss, f - h * column, t)) / (2 * h) for column in [*X.T, np.ones(300)]]
    )
    some = s.coef != 0.0
    assert 0 < some.sum() < 6
    assert slope[:-1][some] == pytest.approx(-4.0 * s.coef[some] - 12.0 * np.sign(s.coef[some]), abs=0.05)
    assert np.abs(slope[:-1][~some]).max() <= 12.0
    assert abs(slope[-1]) < 0.05


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_a_penalty_is_a_ball(norm):
    X, y = data(seed=3)
    s = nr.batch(X, y, loss="square", **{norm: 20.0}, fit_intercept=False, tolerance=1e-9)
    radius = np.abs(s.coef).sum() if norm == "l1" else np.linalg.norm(s.coef)
    b = nr.batch(X, y, loss="square", radius=radius, norm=norm, fit_intercept=False, tolerance=1e-9)
    assert b.coef == pytest.approx(s.coef, abs=1e-4)
    assert b.penalty == 0.0
    assert b.loss == pytest.approx(s.loss, rel=1e-6)


def test_without_either_it_is_least_squares():
    X, y = data(seed=4)
    exact = np.linalg.lstsq(np.column_stack([X, np.ones(300)]), y, rcond=None)[0]
    s = nr.batch(X, y, loss="square", tolerance=1e-9)
    assert np.append(s.coef, s.intercept) == pytest.approx(exact, abs=1e-5)


@pytest.mark.parametrize("kept", [2**26, 0])
def test_weights_are_repeated_rows(kept):
    X, y = data(n=80, seed=5)
    c = np.random.default_rng(0).integers(0, 4, 80)
    for loss, t in (("square", y), ("hinge", y > 0.3)):
        a = nr.batch(Many(X, t, c.astype(float)), loss=loss, l1=2.0, l2=1.0, tolerance=1e-7, kept=kept)
        b = nr.batch(np.repeat(X, c, 0), np.repeat(t, c), loss=loss, l1=2.0, l2=1.0, tolerance=1e-7)
        assert a.objective == pytest.approx(b.objective, rel=3e-7)
        assert a.examples == np.count_nonzero(c)


# ---- sources and labels ----------------------------------------------------------------------------------------------
def test_names_of_labels_and_columns(tmp_path):
    X, y = data(n=60, d=2, seed=6)
    labels = np.where(y > 0.5, "spam", "ham")
    lines = [f"{a},{b},{label}" for (a, b), label in zip(X.tolist(), labels, strict=True)]
    (tmp_path / "mail.csv").write_text("\n".join(["caps,links,kind", *lines]))
    s = nr.batch(tmp_path / "mail.csv", target="kind", loss="log", l2=1.0)
    assert s.classes == ["ham", "spam"]
    assert s.names == ["caps", "links"]
    again = nr.batch(X, (y > 0.5).astype(int), loss="log", l2=1.0)
    assert again.classes == [0, 1]
    assert s.coef == pytest.approx(again.coef, abs=1e-3), "the score is that of the second class"
    assert ((X @ s.coef + s.intercept > 0) == (labels == "spam")).mean() > 0.7
    fewer = nr.batch(X, y, loss="absolute", l2=1.0, limit=40)
    assert fewer.examples == 40
    assert fewer.loss == pytest.approx(truth("absolute", X[:40] @ fewer.coef + fewer.intercept, y[:40]))


def test_in_words():
    X, y = data()
    seen = []
    s = nr.batch(Many(X, y), loss="square", l1=400.0, kept=0, watch=lambda *a: seen.append(a))
    assert len(seen) == s.passes - 1
    assert all(lower <= s.objective <= upper + 1e-9 for _, upper, lower in seen)
    assert f"{s.nonzeros} of 6 weights are not 0; {s.passes} passes" in str(s)
    short = nr.batch(Many(X, y), loss="absolute", l1=1.0, kept=0, max_passes=3, tolerance=1e-12)
    assert short.passes == 3
    assert not short.converged
    assert short.lower < short.objective
    assert str(short).endswith("3 passes, stopped before the tolerance was reached")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"l2": -1.0}, "l2 must be at least 0 and finite, got -1.0"),
        ({"l1": math.nan}, "l1 must be at least 0 and finite, got nan"),
        ({"l1": 1.0, "radius": 1.0}, "a penalty \\(l1, l2\\) or a ball \\(radius\\), not both"),
        ({"radius": -1.0}, "radius must be at least 0"),
        ({"radius": 1.0, "norm": "l0"}, "norm must be one of l2, l1, got 'l0'"),
        ({"loss": "huber"}, "loss must be one of hinge"),
        ({"tolerance": 0.0}, "tolerance must be above 0"),
        ({"max_passes": 0}, "max_passes must be at least 1, got 0"),
        ({"kept": -1}, "kept must be at least 0, got -1"),
        ({"limit": 0}, "limit must be at least 1, got 0"),
        ({"y": np.array(list("abcab"))}, "the square loss needs numbers for targets, and these are names such as 'a'"),
        ({"loss": "log", "y": np.array([0.5, 1.0, 2.0, 0.0, 1.0])}, "the log loss needs labels, and these are numbers such as 0.5"),
        ({"loss": "log", "y": np.ones(5)}, "needs at least two classes, and all labels are 1"),
        ({"y": None}, "the source has no labels"),
        ({"y": np.array([1.0, 2.0, math.inf, 0.0, 1.0])}, "infinity"),
        ({"colour": "red"}, "no option 'colour'"),
    ],
)
def test_refusals(given, message):
    given = {"loss": "square", "y": np.arange(5.0), **given}
    with pytest.raises((ValueError, TypeError), match=message):
        nr.batch(np.eye(5), **given)


def test_a_stream_that_changes_or_is_empty():
    class Changing(Many):
        def batches(self, position=None):
            for part in super().batches():
                yield part if self.started == 1 else part._replace(y=np.full(part.data.n, 7))

    X, y = data(n=50)
    with pytest.raises(ValueError, match="a label that the first pass did not find: the stream has changed"):
        nr.batch(Changing(X, (y > 0).astype(int)), loss="hinge", l2=1.0, kept=0)
    with pytest.raises(ValueError, match="has no examples"):
        nr.batch(Many(X, y, np.zeros(50)), loss="square", l2=1.0)
