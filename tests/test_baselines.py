"""Baselines are what a loop over the rows would find, and warnings are given on one side of each threshold only."""

from collections import defaultdict

import numpy as np
import pytest

import noregret as nr
from noregret.evaluation.measures.baselines import class_baselines, real_baselines
from noregret.evaluation.runs.cautions import is_sorted, is_worse, warnings

RNG = np.random.default_rng(0)
N = 400
CLASSES = RNG.integers(0, 3, N)
TARGETS = RNG.normal(450.0, 17.0, N)
WEIGHTS = RNG.choice([0.5, 1.0, 3.0], N)
TIMES = np.cumsum(RNG.integers(0, 3, N)).astype(float)


def known_before(t, delay, times):
    """Rows whose labels have come when row t does."""
    if not delay:
        return range(t)
    return [s for s in range(t) if (times[s] + delay <= times[t] if times is not None else s + delay + 1 <= t)]


def majority(y, c, seen):
    weights, found = defaultdict(float), -1
    for s in seen:
        weights[y[s]] += c[s]
        if found == -1 or weights[y[s]] > weights[found]:
            found = y[s]
    return found


def mean(y, c, seen):
    return sum(c[s] * y[s] for s in seen) / sum(c[s] for s in seen) if len(seen) else 0.0


def last(y, c, seen, first):
    return y[seen[-1]] if len(seen) else first


def in_chunks(found, y, c, times, size):
    for a in range(0, len(y), size):
        at = slice(a, a + size)
        found.add(y[at], None if c is None else c[at], None if times is None else times[at])
    return found.result()


@pytest.mark.parametrize("size", [1, 7, N])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("delay", "times"), [(0, None), (5, None), (4, TIMES)])
def test_baselines_are_those_of_a_plain_loop(size, weighted, delay, times):
    c = WEIGHTS if weighted else np.ones(N)
    given = c if weighted else None
    seen = [known_before(t, delay, times) for t in range(N)]
    answers = {
        "majority class": [majority(CLASSES, c, s) for s in seen],
        "last label": [last(CLASSES, c, s, -1) for s in seen],
    }
    for row in in_chunks(class_baselines("hinge", 0.0, None, None, delay), CLASSES, given, times, size):
        wrong = np.array(answers[row["label"]]) != CLASSES
        assert row["mistakes"] == wrong.sum()
        assert row["error"] == pytest.approx(np.average(wrong, weights=c))
        assert row["examples"] == N
    answers = {"running mean": [mean(TARGETS, c, s) for s in seen], "last target": [last(TARGETS, c, s, 0.0) for s in seen]}
    for row in in_chunks(real_baselines("square", 0.0, None, None, delay), TARGETS, given, times, size):
        square = (np.array(answers[row["label"]]) - TARGETS) ** 2
        assert row["losses"]["square"] == pytest.approx(np.average(square, weights=c))
        y, square, w = (values[sum(len(s) == 0 for s in seen) :] for values in (TARGETS, square, c))  # after the first target
        assert row["metrics"]["rmse"] == pytest.approx(np.sqrt(np.average(square, weights=w)))
        spread = np.average((y - np.average(y, weights=w)) ** 2, weights=w)
        assert row["metrics"]["r2"] == pytest.approx(1.0 - np.average(square, weights=w) / spread)


def test_curves_follow_windows_at_the_points_of_the_learners():
    X = RNG.normal(size=(N, 2))
    report = nr.evaluate((X, CLASSES), "pa1", window=50, fading=0.9)
    row = next(found for found in report.data["baselines"] if found["label"] == "last label")
    assert row["curve"]["examples"] == report.learners[0]["curve"]["examples"]
    wrong = np.array([True, *(CLASSES[1:] != CLASSES[:-1])])
    assert row["curve"]["error"][-1] == row["error"] == pytest.approx(wrong.mean())
    assert row["curve"]["window_error"][-1] == pytest.approx(wrong[-50:].mean())
    fading = 0.9 ** np.arange(N)[::-1]
    assert row["curve"]["faded_error"][-1] == pytest.approx(np.average(wrong, weights=fading))


def test_every_kind_of_report_has_them(tmp_path):
    X = RNG.normal(size=(N, 2))
    for report in (
        nr.evaluate((X, CLASSES), "pa1"),
        nr.compare((X, CLASSES), ["pa1", "ogd"]),
        nr.sweep((X, CLASSES), "pa1", C=[0.1, 1.0]),
        nr.compare((X, CLASSES), ["pa1", "ogd"], permutations=2),
    ):
        assert [row["label"] for row in report.data["baselines"]] == ["majority class", "last label"]
        text = report.text(width=120)
        assert "majority class" in text
        assert "last label" in text
        assert '<td data-value="majority class"' in report.to_html()
    report = nr.compare((X, TARGETS), ["rls", "nag_regressor"])
    assert "(running mean)" in report.text(width=120)
    assert "(last target)" in report.text(width=120)
    assert "running mean" in report._repr_html_()
    marked = nr.evaluate((X, np.where(CLASSES > 0, 1, -1)), "pa_uniclass")
    assert marked.data["baselines"][0]["label"] == "majority class"
    assert "warnings" not in marked.data
    assert nr.evaluate((X, None), "pa_uniclass").data["baselines"] == []


def test_baselines_in_other_orders_are_means():
    y = np.repeat([0, 1], 200)
    report = nr.compare((RNG.normal(size=(N, 2)), y), ["pa1"], permutations=5)
    row = next(found for found in report.data["baselines"] if found["label"] == "last label")
    assert 0.4 < row["error"] < 0.6  # in the order of the rows 2 of 400
    assert not any("sorted by class" in line for line in report.data["warnings"])


# ---- warnings --------------------------------------------------------------------------------------------------------
def answers(label, mistakes, n=1000):
    return {"label": label, "error": mistakes / n, "examples": n, "metrics": {}}


def real(label, rmse):
    return {"label": label, "error": None, "examples": 1000, "metrics": {"rmse": rmse}}


MAJORITY, LAST = answers("majority class", 400), answers("last label", 480)


def test_a_difference_that_chance_may_make_is_not_told():
    assert not is_worse(answers("a", 457), MAJORITY)  # 57 more, and 2 sqrt(857) = 58.5
    assert is_worse(answers("a", 460), MAJORITY)  # 60 more, and 2 sqrt(860) = 58.7
    assert not is_worse(real("a", 10.09), real("b", 10.0))
    assert is_worse(real("a", 10.11), real("b", 10.0))
    assert is_worse(real("a", None), real("b", 10.0))


@pytest.mark.parametrize(
    ("order", "found"),
    [
        ({"classes": 2, "changes": 1, "shuffled": 500.0}, True),
        ({"classes": 2, "changes": 3, "shuffled": 500.0}, True),  # two sorted files, one after the other
        ({"classes": 2, "changes": 4, "shuffled": 500.0}, False),  # runs, but not sorted
        ({"classes": 2, "changes": 1, "shuffled": 20.0}, True),
        ({"classes": 2, "changes": 1, "shuffled": 19.0}, False),  # too few to tell
        ({"classes": 50, "changes": 49, "shuffled": 490.0}, True),
        ({"classes": 50, "changes": 49, "shuffled": 489.0}, False),  # hardly more rows than classes
    ],
)
def test_when_rows_are_sorted_by_class(order, found):
    assert is_sorted(order) is found


def test_what_the_warnings_say():
    learners = [answers("good", 300), answers("bad", 470)]
    assert warnings(learners[:1], [MAJORITY, LAST], None, "good", False) == []
    assert warnings(learners, [MAJORITY, LAST], None, "good", False) == [
        "Worse than the majority class (error 40.00 %): bad. If columns are of different sizes, standardise them (scale=True, "
        "--scale), or use good, the best here."
    ]
    assert warnings(learners[1:], [MAJORITY, LAST], None, "bad", True) == [
        "Worse than the majority class (error 40.00 %): bad. Try another learner or other settings."
    ]
    many = [real(f"r{i}", 2e15) for i in range(8)]
    mean, target = real("running mean", 15.0), real("last target", 20.0)
    assert warnings([*many, real("rls", 6.6)], [mean, target], None, "rls", True) == [
        "Worse than the running mean (RMSE 15): r0, r1, r2, r3, r4 and 3 more. Use rls, the best here."
    ]
    assert "all 8 learners" in warnings(many, [mean, target], None, "r0", True)[0]
    runs = answers("last label", 50)
    assert warnings(learners[:1], [MAJORITY, runs], None, "good", True) == [
        "Worse than repeating the last label (error 5.00 %): good. Neighbouring rows have like labels. Where the last label is "
        "known in time, add it as a column."
    ]
    by_class = {"classes": 2, "changes": 1, "shuffled": 500.0}
    assert warnings(learners[:1], [MAJORITY, runs], by_class, "good", True) == [
        "The rows are sorted by class: the label changes 1 time; if the rows were shuffled, it would change about 500 times. The "
        "figures do not hold for shuffled rows: shuffle the file, or compare in random orders (permutations=10, --permutations 10)."
    ]


def test_warnings_of_real_studies():
    X = RNG.normal(size=(2000, 3))
    sorted_rows = nr.evaluate((X, np.repeat([0, 1], 1000)), "pa1")
    assert "Warning: The rows are sorted by class" in sorted_rows.text(width=200)
    assert "sorted by class" in sorted_rows.to_html()
    runs = np.repeat(RNG.integers(0, 2, 100), 20)
    assert "repeating the last label" in nr.evaluate((X, runs), "pa1").data["warnings"][-1]
    raw = X * 100.0 + 1000.0
    y = 450.0 + X @ [100.0, 200.0, 300.0]
    told = nr.compare((raw, y), ["ogd_regressor", "rls"]).data["warnings"]
    assert told[0].startswith("Worse than the running mean (RMSE ")
    assert told[0].endswith(
        ": ogd_regressor. If columns are of different sizes, standardise them (scale=True, --scale), or use rls, the best here."
    )
    easy = nr.compare((X, (X[:, 0] > 0).astype(int)), ["pa1", "arow"])
    assert easy.data["warnings"] == []


@pytest.mark.parametrize("delay", [0, 3])
def test_the_first_answer_decides_no_figure_where_targets_have_an_offset(delay):
    """Charged for the first row, all would have about the same RMSE, and none would be worse than the running mean."""
    rng = np.random.default_rng(0)
    X, noise = rng.normal(size=(300, 2)), rng.normal(size=300)
    for offset in (0.0, 1e5):
        report = nr.compare(X, ["auto_regressor"], X[:, 0] + 0.1 * noise + offset, delay=delay, regret=False)
        assert report.learners[0]["metrics"]["r2"] > 0.5
        assert -0.1 < report.data["baselines"][0]["metrics"]["r2"] < 0.0
        assert report.data["warnings"] == []
    worse = nr.compare(X, ["rls:fit_intercept=false", "pa2_regressor:C=1000"], 450.0 + noise, delay=delay, regret=False)
    assert "Worse than the running mean (RMSE 0.9" in worse.data["warnings"][0]
    assert "all 2 learners" in worse.data["warnings"][0]


def test_a_learner_that_knows_targets_is_charged_from_its_first_row():
    X = np.ones((4, 1))
    m = nr.RLS().partial_fit(X, np.full(4, 7.0))
    answers = m.predict(X[:1])
    found = nr.evaluate(X[:1], m, np.array([9.0])).learners[0]
    assert found["metrics"]["mae"] == pytest.approx(9.0 - answers[0])


def test_squares_too_large_for_a_number_are_said(recwarn):
    y = np.tile([1e160, -3e160, 2e160], 10)
    report = nr.evaluate(np.eye(30), "nag_regressor", y, regret=False)
    assert report.learners[0]["metrics"]["rmse"] is None
    assert "The squares of the targets are too large for a number" in report.data["warnings"][0]
    assert not [w for w in recwarn if "overflow" in str(w.message)]
