"""Regret along a stream: the worked figures of the sheet, and every theorem beside what was measured, at every point."""

import json
import math

import numpy as np
import pytest
from conftest import learners
from scipy.sparse import csr_matrix

import noregret as nr
from noregret.algorithm import bounds
from noregret.engine import compiling
from noregret.evaluation.comparator.ordinary_least_squares import least_squares
from noregret.evaluation.comparator.regret import Want, default_radius, hindsight, loss_of, radius_of, regret_of, trivial, want_of
from noregret.evaluation.comparator.row_sample import Sample, sampled
from noregret.inputs import checking

P = np.array([[1, 2, 0], [0.5, -1, 1], [-1, 0.5, 2], [2, 1, -1], [0, 1, 0.5]], float)
SIGNS = np.array([1.0, -1.0, 1.0, -1.0, 1.0])
POINTS = [1, 2, 3, 5, 10, 30, 100, 250]

BOUNDED = {
    **{name: m for name, m in learners().items() if m.algorithm.bound is not None and m.task != "one_class"},
    "alma in theory": nr.ALMA(B=8.0**0.5 / 0.9),
    "ogd regressor absolute": nr.OGDRegressor(loss="absolute", projection="l2", radius=2.0),
    "ogd regressor tube, constant": nr.OGDRegressor(
        loss="epsilon_insensitive", projection="l2", rate="constant", eta=0.01, fit_intercept=False
    ),
    "mirror descent regressor absolute": nr.MirrorDescentRegressor(loss="absolute", p=3.0),
    "eg_pm wide": nr.EGpm(U=30.0),
}


def passes_of(X, y, c=None, size=37):
    rows = checking.rows(X, "float64")

    def passes():
        for a in range(0, rows.n, size):
            b = min(rows.n, a + size)
            yield rows.cut(a, b), y[a:b], None if c is None else c[a:b]

    return passes


def each_loss(loss, epsilon, f, y):
    """Plain transcriptions of the losses, in the margin or in the score."""
    if f.ndim == 2:
        rest = f.copy()
        rest[np.arange(len(y)), y] = -np.inf
        if loss == "log":
            return np.logaddexp.reduce(f, axis=1) - f[np.arange(len(y)), y]
        f, y = f[np.arange(len(y)), y] - rest.max(1), np.ones(len(y))
    return {
        "hinge": lambda: np.maximum(0, 1 - y * f),
        "log": lambda: np.logaddexp(0, -y * f),
        "squared_hinge": lambda: np.maximum(0, 1 - y * f) ** 2,
        "square": lambda: (f - y) ** 2,
        "absolute": lambda: np.abs(f - y),
        "epsilon_insensitive": lambda: np.maximum(0, np.abs(f - y) - epsilon),
    }[loss]()


def follow(learner, X, y, points):
    """Predict, then learn; what a learner has lost and counted at each point."""
    m = learner.clone()
    loss, epsilon = loss_of(m)
    given = {"classes": np.unique(y)} if m.task == "classification" else {}
    cumulative, counts = [], {"mistakes": [], "updates": [], "squared_hinge": [], "squared_tube": []}
    total, square, a = 0.0, 0.0, 0
    for b in points:
        f = m.learn_many(X[a:b], y[a:b], **given)
        losses = each_loss(loss, epsilon, f, y[a:b])
        margin = "squared_tube" if m.task == "regression" else "squared_hinge"
        plain = each_loss("epsilon_insensitive" if m.task == "regression" else "hinge", getattr(m, "epsilon", 0.0), f, y[a:b])
        total, square, a = total + losses.sum(), square + (plain**2).sum(), b
        cumulative.append(total)
        counts["mistakes"].append(m.n_mistakes_)
        counts["updates"].append(m.n_updates_)
        counts[margin].append(square)
    return cumulative, {k: v for k, v in counts.items() if v}


def compared(learner, X, y, points, **given):
    classes = len(np.unique(y)) if learner.task == "classification" else 1
    w = want_of(learner)
    h = hindsight(passes_of(X, y), [w], classes=classes, points=points, **given)[w]
    return h, regret_of(learner, h, *follow(learner, X, y, points))


def test_the_worked_figures_of_the_sheet():
    """L.3: OGD on stream P."""
    m = nr.OGD(eta=0.5, projection="l2", radius=0.5, fit_intercept=False)
    _, r = compared(m, P, SIGNS, [1, 2, 5], tolerance=1e-7)
    assert r["loss"] == "hinge"
    assert r["radius"] == 0.5
    assert r["cumulative"] == pytest.approx(4.435411, abs=2e-6)
    assert r["comparator"] == pytest.approx(2.512531, abs=2e-6)
    assert r["value"] == r["measured"] == pytest.approx(1.922880, abs=3e-6)
    assert r["average"] == pytest.approx(0.384576, abs=2e-6)
    assert r["bound"] == pytest.approx(7.444272, abs=2e-6)
    assert r["bound_measures"] == "regret"
    assert r["curve"]["examples"] == [1, 2, 5]
    assert r["curve"]["cumulative"][:2] == pytest.approx([1.0, 1.66459], abs=2e-6)
    assert r["curve"]["bound"][0] == pytest.approx(1.0 / (2 * 0.5) + 0.5 * 0.5 * 5.0)  # T = 1, and the first row has |x|^2 = 5


@pytest.mark.parametrize("name", BOUNDED)
def test_measured_is_below_the_bound_at_every_point(name):
    learner = BOUNDED[name]
    for seed in range(3):
        for noisy in (False, True):
            X, y, _ = nr.checks._comparable(learner, seed, noisy, n=400)
            points = [k for k in POINTS if k < len(y)] + [len(y)]
            h, r = compared(learner, X, y, points)
            assert h.best.converged
            curve = r["curve"]
            assert [len(v) for v in curve.values()] == [len(points)] * 7
            assert (r["bound"] is None) == (r["bound_why"] is not None)
            for bound, measured in zip(curve["bound"], curve["measured"], strict=True):
                assert bound is None or measured <= bound * (1 + 1e-9) + 1e-9
            json.dumps(r, allow_nan=False)


def test_the_theorems_are_not_vacuous():
    """On some stream, for some point, each of these has a finite bound."""
    expected = {
        "perceptron", "averaged_perceptron", "voted_perceptron", "pa", "pa1", "pa2", "romma", "aromma", "alma in theory",
        "pa_regressor", "pa2_regressor", "ogd in an l2 ball", "ogd log in an l2 ball", "ogd regressor absolute",
        "mirror descent p=3", "mirror descent regressor absolute", "eg_pm wide",
    }  # fmt: skip
    for name in expected:
        X, y, _ = nr.checks._comparable(BOUNDED[name], 0, False, n=400)
        _, r = compared(BOUNDED[name], X, y, [1, 10, len(y)])
        assert any(b is not None for b in r["curve"]["bound"]), (name, r["bound_why"])


def test_three_classes():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 5))
    y = (X @ rng.standard_normal((5, 3)) + 0.3 * rng.standard_normal((300, 3))).argmax(1)
    for learner in (nr.Perceptron(), nr.PA1(C=0.1), nr.PA2(), nr.OGD(projection="l2"), nr.OGD(loss="log", projection="l2")):
        h, r = compared(learner, X, y, [3, 50, 300])
        assert h.best.u.shape == (3, 6)
        assert all(m <= b for m, b in zip(r["curve"]["measured"], r["curve"]["bound"], strict=True))
        f = np.column_stack([X, np.ones(300)]) @ h.best.u.T
        assert r["comparator"] == pytest.approx(each_loss(*loss_of(learner), f, y).sum())


def test_one_comparator_for_every_prefix():
    """Its losses and figures at a point are those of its rows alone, whatever the chunks and the layout."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((200, 4)) * (rng.random((200, 4)) < 0.7)
    y = np.sign(X[:, 0] + 0.5 * rng.standard_normal(200))
    want = Want("hinge", radius=2.0, p=3.0)
    points = [1, 37, 38, 120, 200]
    first = hindsight(passes_of(X, y), [want], classes=2, points=points)[want]
    assert np.linalg.norm(first.best.u) <= 2.0 + 1e-12
    Z = np.column_stack([X, np.ones(200)])
    for k, total, figures in zip(points, first.cumulative, first.comparisons, strict=True):
        assert total == pytest.approx(np.maximum(0, 1 - y[:k] * (Z[:k] @ first.best.u[0])).sum())
        assert figures == pytest.approx(bounds.compare(Z[:k], y[:k], first.best.u, p=3.0))
    for size, kept in ((1, 2**26), (200, 2**26), (50, 4000)):
        again = hindsight(
            passes_of(csr_matrix(X), y, size=size), [want], classes=2, points=points, kept=kept, starts={want: first.best.u}
        )
        assert again[want].best.loss == pytest.approx(first.best.loss, rel=2e-3)
        assert again[want].cumulative[-1] == pytest.approx(again[want].best.loss)


def test_several_learners_share_the_passes():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((500, 4))
    y = np.sign(X[:, 0] + 0.5 * rng.standard_normal(500))
    count = [0]
    inner = passes_of(X, y)

    def passes():
        count[0] += 1
        return inner()

    models = [nr.Perceptron(), nr.PA1(), nr.ALMA(p=4.0), nr.OGD(loss="log"), nr.OGD(projection="l2", radius=0.3)]
    wanted = [want_of(m) for m in models]
    assert len(set(wanted)) == 4
    found = hindsight(passes, wanted, classes=2, points=[500], kept=4000)
    assert count[0] == max(h.passes for h in found.values())
    assert found[wanted[0]].best is found[wanted[2]].best, "p is the theorem's, not the problem's"
    assert found[wanted[4]].best.radius == 0.3
    R = math.sqrt((X**2).sum(1).mean() + 1.0)
    assert found[wanted[0]].best.radius == pytest.approx(20.0 / R)

    count[0] = 0
    sample = Sample()
    for chunk in inner():
        sample.add(*chunk)
    again = hindsight(passes, wanted, classes=2, points=[500], sample=sample)
    assert count[0] == 0, "what was read already is not read again"
    assert all(h.passes == 0 for h in again.values())


def test_running_figures():
    """Chunks give what all rows give; CSR gives what dense gives; the constant feature is a coordinate like any other."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((90, 5)) * (rng.random((90, 5)) < 0.5)
    for U, y in (
        (rng.standard_normal((1, 6)), rng.choice([-1.0, 1.0], 90)),
        (rng.standard_normal((4, 6)), rng.integers(0, 4, 90)),
    ):
        Z = np.column_stack([X, np.ones(90)])
        whole = bounds.compare(Z, y, U, epsilon=0.2, p=3.0)
        assert bounds.compare(csr_matrix(Z), y, U, epsilon=0.2, p=3.0) == pytest.approx(whole)
        lengths = [np.linalg.norm(Z, p, axis=1).max() for p in (2, 3)]
        assert [whole.R, whole.R_p] == pytest.approx(lengths)
        assert whole.hinge == pytest.approx(each_loss("hinge", 0, Z @ U.T if len(U) > 1 else Z @ U[0], y).sum())
        for A in (X, csr_matrix(X)):
            running = bounds.Running(U, epsilon=0.2, p=3.0, bias=True)
            for rows, t, _ in passes_of(A, y, size=7)():
                running.add(rows, t)
            assert running.figures() == pytest.approx(whole)
    running = bounds.Running(U, bias=True)
    c = np.ones(90)
    c[::2] = 0.0
    running.add(checking.rows(csr_matrix(X), "float64"), y, c)
    assert running.figures() == pytest.approx(bounds.compare(Z[1::2], y[1::2], U))
    assert not running.weighted
    running.add(checking.rows(X, "float64"), y, np.full(90, 2.0))
    assert running.weighted


def test_loss_and_radius_of_learners():
    from noregret.parts.losses import EpsilonInsensitive, Log
    from noregret.parts.projections import L1Ball, L2Ball

    expected = {
        "perceptron": ("hinge", 0.0), "pa1": ("hinge", 0.0), "alma": ("hinge", 0.0), "norma": ("hinge", 0.0),
        "pa2_regressor": ("epsilon_insensitive", 0.1), "norma_regressor": ("epsilon_insensitive", 0.1),
        "ogd": ("hinge", 0.0), "ogd_regressor": ("square", 0.0), "eg_regressor": ("square", 0.0),
    }  # fmt: skip
    assert {name: loss_of(nr.learner(name)) for name in expected} == expected
    assert loss_of(nr.OGD(loss="log")) == loss_of(nr.OGD(loss=Log())) == ("log", 0.0)
    assert loss_of(nr.OGDRegressor(loss="epsilon_insensitive", epsilon=0.3)) == ("epsilon_insensitive", 0.3)
    assert loss_of(nr.OGDRegressor(loss=EpsilonInsensitive(0.4))) == ("epsilon_insensitive", 0.4)
    assert radius_of(nr.OGD(projection="l2", radius=0.3)) == radius_of(nr.OGD(projection=L2Ball(0.3))) == 0.3
    assert radius_of(nr.OGD(projection="l1")) is radius_of(nr.PA1()) is None
    assert radius_of(nr.OGD(projection="l1", radius=0.4), "l1") == radius_of(nr.OGD(projection=L1Ball(0.4)), "l1") == 0.4
    assert radius_of(nr.EGpm(U=7.0), "l1") == 7.0
    assert radius_of(nr.OGD(projection="l2"), "l1") is radius_of(nr.EGpm(U=7.0)) is None
    assert default_radius(4.0) == 5.0
    assert default_radius(4.0, 3.0) == 15.0


def test_a_bound_is_vacuous_from_what_needs_no_theorem():
    X, y = np.eye(3)[[0, 1, 2, 0]], np.array([1.0, -1.0, 1.0, 1.0])
    w = Want("hinge", radius=0.1)
    h = hindsight(passes_of(X, y), [w], classes=2, points=[4])[w]
    assert h.zero == (4.0, 4.0)
    assert trivial("mistakes", h) == trivial("updates", h) == 4.0
    assert trivial("squared_hinge", h) == 4.0
    assert trivial("regret", h) == 4.0 - h.cumulative[-1]
    w = Want("epsilon_insensitive", epsilon=0.5, radius=0.1)
    h = hindsight(passes_of(X, 4.0 * y), [w], classes=1, points=[4])[w]
    assert h.zero == (4 * 3.5, 4 * 3.5**2)
    assert trivial("squared_tube", h) == 4 * 3.5**2
    found = nr.evaluate("synthetic:linear?n=5000&d=10&seed=1", "ogd:projection=l2,radius=5").learners[0]["regret"]
    assert found["vacuous"] is (found["bound"] >= 5000 - found["comparator"])


@pytest.mark.parametrize("norm", ["l2", "l1"])
@pytest.mark.parametrize("kept", [1 << 26, 20_000])
def test_the_ball_of_a_regression_holds_the_least_squares_solution(norm, kept):
    rng = np.random.default_rng(0)
    X = rng.normal([1000.0, 0.5, 0.0], [5.0, 0.01, 1.0], (2000, 3))  # offsets: the intercept is long, and rows are too
    y = 450.0 + X @ [0.1, 30.0, 1.0] + rng.normal(size=2000)
    Z = np.column_stack([X, np.ones(2000)])
    u, square, *_ = np.linalg.lstsq(Z, y, rcond=None)
    w = Want("square", norm=norm)
    best = hindsight(passes_of(X, y), [w], classes=1, points=[2000], kept=kept)[w].best
    assert best.radius > np.linalg.norm(u, 1 if norm == "l1" else 2)
    assert square[0] <= best.loss * (1 + 1e-9)
    assert best.loss <= square[0] * 1.001
    assert best.converged


def test_least_squares_where_features_are_alike_or_too_many():
    X = np.repeat(np.random.default_rng(0).normal(size=(50, 1)), 2, axis=1)
    sample = sampled(passes_of(X, 6.0 * X[:, 0]))
    assert least_squares(sample, False) == pytest.approx(np.array([[3.0, 3.0]]))
    sample.width = 1001
    assert least_squares(sample, False) is None


@pytest.mark.parametrize(
    ("learner", "why"),
    [
        (nr.ShiftingPerceptron(), "none is known for shifting_perceptron"),
        (nr.OGD(), "needs a region"),
        (nr.EG(), "on the simplex"),
        (nr.OGD(projection="box"), "own region"),
        (nr.PA1(average=True), "not their average"),
        (nr.PA1(class_weight={-1: 2.0}), "weights"),
        (nr.PA(), "margin 1 on every row"),
        (nr.ALMA(), "separates"),
        (nr.Perceptron(beta=1.0), "beta = 0"),
    ],
)
def test_why_there_is_no_bound(learner, why):
    rng = np.random.default_rng(4)
    X = rng.standard_normal((100, 3))
    y = rng.choice([-1, 1], 100)
    w = want_of(learner)
    h = hindsight(passes_of(X, y.astype(float)), [w], classes=2, points=[100])[w]
    r = regret_of(learner, h, [50.0], {})
    assert r["bound"] is None
    assert r["bound_name"] is None
    assert why in r["bound_why"]
    assert r["value"] == 50.0 - h.cumulative[-1]


@pytest.mark.parametrize("more", [{"requires": "it needs luck"}, {"against": "an oracle"}])
def test_a_family_says_itself_what_its_theorem_asks_for(more, monkeypatch):
    learner, want = nr.PA1(), want_of(nr.PA1())
    monkeypatch.setattr(nr.PA1.algorithm, "bound", bounds.Bound("Nobody 2020", "mistakes", lambda t, p: math.inf, **more))
    h = hindsight(passes_of(P, SIGNS), [want], classes=2, points=[5])[want]
    said = regret_of(learner, h, [1.0], {"mistakes": [1.0]})
    assert said["bound"] is None
    assert said["bound_why"] == more.get("requires", "the theorem compares with an oracle")


def test_weights_have_no_theorem_and_zeros_do_not_count():
    X = np.tile(P, (4, 1))
    y = np.tile(SIGNS, 4)
    c = np.tile([1.0, 0.0, 1.0, 1.0, 1.0], 4)
    w = want_of(nr.PA1())
    h = hindsight(passes_of(X, y, c), [w], classes=2, points=[3, 16])[w]
    assert not h.weighted
    assert h.comparisons[-1].T == 16
    f = np.column_stack([X, np.ones(20)]) @ h.best.u[0]
    assert h.cumulative == pytest.approx([(c * np.maximum(0, 1 - y * f))[: k + 1].sum() for k in (3, 19)])
    assert regret_of(nr.PA1(), h, [1.0, 2.0], {"mistakes": [1, 2]})["bound"] is not None
    h = hindsight(passes_of(X, y, 2.0 * c), [w], classes=2, points=[16])[w]
    assert "weights" in regret_of(nr.PA1(), h, [1.0], {})["bound_why"]
    assert "late" in regret_of(nr.PA1(), h, [1.0], {}, why="labels come late")["bound_why"]


def test_bad_points():
    w = want_of(nr.PA1())
    with pytest.raises(ValueError, match="the stream ended after 5 examples, before the point at 6"):
        hindsight(passes_of(P, SIGNS), [w], classes=2, points=[6])
    with pytest.raises(ValueError, match="increasing"):
        hindsight(passes_of(P, SIGNS), [w], classes=2, points=[3, 2])
    h = hindsight(passes_of(P, SIGNS), [w], classes=2, points=[5])[w]
    with pytest.raises(ValueError, match="2 cumulative losses for 1 points"):
        regret_of(nr.PA1(), h, [1.0, 2.0], {})


@pytest.mark.parametrize(
    "learner",
    [nr.EGpm(U=3.0, eta=0.02), nr.OGD(projection="l1", radius=2.0), nr.EGpmRegressor(loss="absolute", U=4.0), nr.Perceptron()],
    ids=["eg_pm", "ogd", "eg_pm_regressor", "perceptron"],
)
def test_the_l1_ball(learner):
    """Where the comparator is of the learner's own L1 ball its theorem holds, and what was measured is below it."""
    rng = np.random.default_rng(6)
    X = rng.standard_normal((300, 5))
    y = X[:, 0] - X[:, 1] + rng.standard_normal(300)
    y = y if learner.task == "regression" else np.sign(y)
    w = want_of(learner, "l1")
    h = hindsight(passes_of(X, y), [w], classes=2, points=[20, 300])[w]
    peaks = np.maximum(np.abs(X).max(1), 1.0)
    expected = {"eg_pm": 3.0, "ogd": 2.0, "eg_pm_regressor": 4.0}.get(learner.name, 20.0 / math.sqrt((peaks**2).mean()))
    assert h.best.radius == pytest.approx(expected)
    assert np.abs(h.best.u).sum() <= expected * (1 + 1e-9)
    with compiling.interpreted():
        r = regret_of(learner, h, *follow(learner, X, y, [20, 300]))
    assert r["norm"] == "l1"
    assert r["bound"] is not None
    assert all(m <= b for m, b in zip(r["curve"]["measured"], r["curve"]["bound"], strict=True))
    two = hindsight(passes_of(X, y), [w._replace(norm="l2")], classes=2, points=[300])[w._replace(norm="l2")]
    assert two.best.lower <= h.best.loss, "an L2 ball of the same radius holds the L1 ball"
    assert regret_of(learner, two, [1.0], {"mistakes": [1]})["norm"] == "l2"


def test_bounds_by_hand():
    """The report's figure is the formula of the theorem, on the comparator it names."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((120, 3))
    y = np.sign(X[:, 0] + 0.4 * rng.standard_normal(120))
    h, r = compared(nr.PA1(C=0.5), X, y, [120])
    Z = np.column_stack([X, np.ones(120)])
    u = h.best.u[0]
    hinge = np.maximum(0, 1 - y * (Z @ u)).sum()
    R2 = (Z**2).sum(1).max()
    assert r["bound"] == pytest.approx(max(R2, 2.0) * (u @ u + 2 * 0.5 * hinge))
    assert r["bound_name"] == nr.PA1.bound.name
    assert r["bound_measures"] == "mistakes"
    p = nr.PA1.parameters.resolve(nr.PA1(C=0.5).get_params(), 4)
    assert r["bound"] == nr.PA1.bound.value(h.comparisons[-1], p)


# ---- squares that are too large ----------------------------------------------------------------------------------------
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("column", "target"), [(1e154, 1.0), (1.0, 1e154)])
def test_rows_too_large_for_squares_cost_the_regret_and_not_the_report(column, target):
    """One cell, such as a marker of what is missing, makes squares infinite: there is no best fixed model to find."""
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = X @ [1.0, 2.0]
    X[30, 0], y[40] = column, target
    reports = [nr.evaluate((X, y), "nag_regressor"), nr.evaluate((X, y), "pa1_regressor", regret=True)]
    reports += [] if column == 1.0 else [nr.evaluate((X, np.sign(y).astype(int)), "pa1")]
    for report in reports:
        assert report.learners[0]["regret"] is None
        told = "Regret was left out: there are features or targets whose squares are too large for a number."
        assert told in report.notes


def test_rows_that_overflow_a_learner_are_refused_by_their_number():
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = X @ [1.0, 2.0]
    X[30, 0] = 1.7e308
    with pytest.raises(ValueError, match="overflows on these rows, of which example 31 has the largest number"):
        nr.evaluate((X, y), "nag_regressor")
