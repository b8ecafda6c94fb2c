"""Baselines are what a loop over the rows would find, and warnings are given on one side of each threshold only."""

import csv
import io
import json
from collections import defaultdict

import numpy as np
import pytest
from click.testing import CliRunner

import noregret as nr
from noregret.cli import main
from noregret.evaluation.measures.baselines import class_baselines, real_baselines
from noregret.evaluation.runs.cautions import is_sorted, is_worse, warnings
from noregret.learners.base import REGISTRY

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


def test_one_outlier_does_not_make_neighbours_alike():
    """The first target rules the running mean of all later rows; the last target pays for it once."""
    X = RNG.normal(size=(2000, 2))
    y = X @ [2.0, -1.0]
    y[0] = 1e6
    report = nr.compare((X, y), ["rls", "ogd_regressor"])
    assert report.data["baselines"][1]["metrics"]["rmse"] < report.data["baselines"][0]["metrics"]["rmse"]
    assert not any("Neighbouring" in line for line in report.data["warnings"])
    walk = np.cumsum(RNG.normal(size=2000))
    walk[0] = 1e6
    assert "rls. Neighbouring rows have like targets." in nr.compare((X, walk), ["rls", "ogd_regressor"]).data["warnings"][-1]
    walk[0] = 0.0
    assert "both learners. Neighbouring" in nr.compare((X, walk), ["rls", "ogd_regressor"]).data["warnings"][-1]


@pytest.mark.parametrize("size", [1, 7, 500, 3000])
def test_neighbours_are_those_of_a_plain_loop(size):
    y = np.cumsum(RNG.normal(size=3000)).round(1)
    found = real_baselines("square", 0.0, None, None, 0)
    in_chunks(found, y, None, None, size)
    wins = [np.sign(abs(y[t] - y[t - min(t // 2, 997)]) - abs(y[t] - y[t - 1])) for t in range(4, 3000)]
    assert found.order() == {"closer": wins.count(1.0), "farther": wins.count(-1.0)}


@pytest.mark.parametrize("how", [{}, {"permutations": 2}])
def test_no_regret_is_no_regret_of_pools_either(how):
    report = nr.compare((RNG.normal(size=(N, 2)), CLASSES), ["auto", "pa1"], **how, regret=False)
    assert [row["regret"] for row in report.learners] == [None, None]
    assert "egret" not in report.text()


def named_rows(n, of):
    lines = [f"k{i % of},{'a' if i % 3 else 'b'},{i % 7},{i % 2}" for i in range(n)]
    return ("key,kind,x,label\n" + "\n".join(lines) + "\n").encode()


def test_columns_that_name_the_rows_are_told():
    how = {"format": "csv", "target": "label", "regret": False}
    told = nr.evaluate(named_rows(100, 80), "pa1", **how).data["warnings"]
    assert told[-1] == (
        "Column 'key' has 80 categories in 100 rows, and tells rows apart rather than what they have in common: "
        "leave it out (ignore, --ignore key)."
    )
    for n, of, more in ((100, 79, {}), (49, 49, {}), (100, 100, {"categorical": "key"}), (100, 100, {"ignore": "key"})):
        told = nr.evaluate(named_rows(n, of), "pa1", **how, **more).data["warnings"]
        assert not any("categories in" in line for line in told)


def test_a_training_tells_of_columns_that_name_the_rows(tmp_path):
    (tmp_path / "a.csv").write_bytes(named_rows(100, 100))
    said = train(tmp_path / "a.csv", "--target", "label", "--model", "pa1", "--save", tmp_path / "a.nr").stderr
    assert "Warning: Column 'key' has 100 categories in 100 rows" in said


# ---- rows that are not learned from, and files -----------------------------------------------------------------------
def test_rows_that_are_not_learned_from_are_answered_from_the_labels_before_them():
    """The majority of CLASSES learned, and the last of them, answer every row that is kept apart."""
    X = RNG.normal(size=(N, 2))
    commonest = np.bincount(CLASSES).argmax()
    other = RNG.integers(0, 4, 90)  # a class that was never learned is a mistake
    report = nr.compare((X, CLASSES), ["pa1", "ogd"], holdout=(RNG.normal(size=(90, 2)), other))
    by_label = {row["label"]: row["holdout"] for row in report.data["baselines"]}
    assert by_label["majority class"]["mistakes"] == (other != commonest).sum()
    assert by_label["last label"]["mistakes"] == (other != CLASSES[-1]).sum()
    assert by_label["last label"]["error"] == pytest.approx((other != CLASSES[-1]).mean())
    shown = next(line for line in report.text(width=160).splitlines() if line.startswith("(majority"))
    assert f"{100 * (other != commonest).mean():.2f}" in shown
    assert f"{100 * (other != commonest).mean():.2f}" in report.to_html()

    report = nr.sweep((X, TARGETS), "nag_regressor", eta=[0.1, 1.0], validation=0.25)
    mean, last = (row["validation"]["losses"]["square"] for row in report.data["baselines"])
    assert mean == pytest.approx(((TARGETS[300:] - TARGETS[:300].mean()) ** 2).mean())
    assert last == pytest.approx(((TARGETS[300:] - TARGETS[299]) ** 2).mean())
    assert [row["validation"]["metrics"]["rmse"] ** 2 for row in report.data["baselines"]] == pytest.approx([mean, last])


@pytest.mark.parametrize("real", [False, True])
def test_folds_are_answered_from_the_labels_of_the_others(real):
    X, y = RNG.normal(size=(N, 2)), TARGETS if real else CLASSES
    learner = {"model": "nag_regressor", "eta": [0.1, 1.0]} if real else {"model": "pa1", "C": [0.1, 1.0]}
    report = nr.sweep((X, y), learner.pop("model"), **learner, folds=4)
    for row, rule in zip(
        report.data["baselines"], (np.mean if real else lambda v: np.bincount(v).argmax(), lambda v: v[-1]), strict=True
    ):
        costs = []
        for a in range(0, N, 100):
            apart = y[a : a + 100] - rule(np.concatenate([y[:a], y[a + 100 :]]))
            costs.append((apart**2).mean() if real else (apart != 0).mean())
        assert row["folds"]["values"] == pytest.approx(costs)
        assert row["folds"]["mean"] == pytest.approx(np.mean(costs))


def test_files_of_figures_and_of_curves_have_them():
    report = nr.compare((RNG.normal(size=(N, 2)), CLASSES), ["pa1", "ogd"])
    lines = list(csv.DictReader(io.StringIO(report.to_csv())))
    assert [line["label"] for line in lines[2:]] == ["(majority class)", "(last label)"]
    for line, row in zip(lines[2:], report.data["baselines"], strict=True):
        assert (line["model"], int(line["mistakes"]), float(line["error"])) == ("", row["mistakes"], row["error"])
    points = [line for line in csv.DictReader(io.StringIO(report.curves_to_csv())) if line["label"] == "(last label)"]
    assert [float(line["error"]) for line in points] == report.data["baselines"][1]["curve"]["error"]


# ---- training --------------------------------------------------------------------------------------------------------
def train(path, *options):
    result = CliRunner().invoke(main, ["train", str(path), "--quiet", *map(str, options)])
    assert result.exit_code == 0, result.output
    return result


def written(path, X, y):
    lines = [f"{label} " + " ".join(f"{i + 1}:{v}" for i, v in enumerate(x)) for x, label in zip(X, y, strict=True)]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_training_says_what_baselines_cost(tmp_path):
    X = RNG.normal(size=(N, 2)).round(3)
    path, y = written(tmp_path / "a.svm", X, CLASSES), CLASSES
    wrong = (np.array([-1, *y[:-1]]) != y).sum()
    result = train(path, "--model", "pa1", "--save", tmp_path / "a.nr")
    assert f"last label error {100 * wrong / N:.2f} %." in result.stdout
    assert "Baselines: majority class error" in result.stdout
    found = json.loads(train(path, "--model", "pa1", "--save", tmp_path / "b.nr", "--json").stdout)
    assert [row["label"] for row in found["baselines"]] == ["majority class", "last label"]
    assert found["baselines"][1]["mistakes"] == wrong
    assert found["learned"]["mistakes"] == found["mistakes"]


def test_a_training_of_a_regressor_says_its_rmse_and_theirs(tmp_path):
    X = RNG.normal(size=(N, 2)).round(3)
    path = written(tmp_path / "a.svm", X, TARGETS)
    found = json.loads(train(path, "--model", "rls", "--save", tmp_path / "a.nr", "--json").stdout)
    report = nr.evaluate(str(path), "rls", regret=False)
    assert found["learned"]["metrics"]["rmse"] == pytest.approx(report.learners[0]["metrics"]["rmse"])
    for row, other in zip(found["baselines"], report.data["baselines"], strict=True):
        assert row["metrics"] == pytest.approx(other["metrics"])
    said = train(path, "--model", "rls", "--save", tmp_path / "b.nr").stdout
    assert " on the way, " in said
    assert "Baselines: running mean RMSE" in said


def test_a_training_that_goes_on_compares_on_the_rows_of_now(tmp_path):
    X = RNG.normal(size=(N, 2)).round(3)
    save = tmp_path / "a.nr"
    first = json.loads(
        train(written(tmp_path / "mon.svm", X[:150], CLASSES[:150]), "--model", "pa1", "--save", save, "--json").stdout
    )
    tuesday = written(tmp_path / "tue.svm", X[150:], CLASSES[150:])
    said = train(tuesday, "--save", save, "--continue").stdout
    wrong = nr.load(save).n_mistakes_ - first["mistakes"]
    assert f"On the 250 rows learned now: pa1 error {100 * wrong / 250:.2f} %. Baselines: majority class error" in said
    assert "Baselines" not in train(tuesday, "--save", save, "--continue").stdout


def test_a_training_warns_where_a_report_would(tmp_path):
    path = written(tmp_path / "a.svm", RNG.normal(size=(N, 2)).round(3), np.repeat([0, 1], N // 2))
    assert "Warning: The rows are sorted by class" in train(path, "--model", "pa1", "--save", tmp_path / "a.nr").stderr


def test_a_training_without_labels_has_no_baselines(tmp_path):
    path = written(tmp_path / "a.svm", RNG.normal(size=(N, 2)).round(3), np.ones(N, int))
    assert "Baselines" not in train(path, "--model", "pa_uniclass", "--save", tmp_path / "a.nr").stdout


# ---- where targets have an offset -------------------------------------------------------------------------------------
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
    assert "both learners" in worse.data["warnings"][0]


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


@pytest.mark.parametrize("score", [float("nan"), float("inf")])
def test_scores_that_are_not_finite_are_told(score):
    """They would pass for answers: an error of about a half, and every row of one class."""

    def step(s, x, y, p):
        return score, True

    broken = type("Broken", (nr.Classifier,), {"name": "broken", "State": nr.PA1.State, "Params": nr.PA1.Params, "step": step})
    del REGISTRY["broken"]
    X, y = np.random.default_rng(0).normal(size=(200, 3)), np.arange(200) % 2
    with nr.engine.compiling.interpreted():
        found = nr.compare((X, y), [broken(), "pa1"], regret=False).data["warnings"]
    (told,) = [line for line in found if "are not finite numbers" in line]
    assert "broken" in told
    assert "pa1" not in told
