"""Studies at their edges: declared classes, weights of 0, limits, interruptions, learners without labels, learners that fail."""

import functools
from itertools import pairwise

import numpy as np
import pytest
from sklearn import metrics

import noregret as nr
from noregret.evaluation.comparator.regret import hindsight
from noregret.evaluation.measures.drift import detector
from noregret.evaluation.runs.study import compare, evaluate, sweep
from noregret.streams.synthetic import from_url

URL = "synthetic:linear?n=1500&d=8&noise=0.1&seed=3"


def data(n=300, d=5, K=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, np.argmax(X @ rng.standard_normal((d, K)) + 0.7 * rng.standard_normal((n, K)), axis=1)


def table(X, y, c=None):
    names = {f"x{j}": X[:, j].tolist() for j in range(X.shape[1])}
    rows = [dict(zip(names, row, strict=True)) | {"label": t} for row, t in zip(X.tolist(), y.tolist(), strict=True)]
    return rows if c is None else [row | {"weight": w} for row, w in zip(rows, c.tolist(), strict=True)]


def frame(X, y, c=None):
    pa = pytest.importorskip("pyarrow")
    return pa.Table.from_pylist(table(X, y, c))


# ---- late labels -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["pa1", "eg"])
@pytest.mark.parametrize("classes", [None, [0, 1, 2], [2, 0, 1, 7]])
def test_late_labels_of_declared_classes(classes, name):
    X, y = data()
    y[:60] = np.where(y[:60] == 2, 0, y[:60])  # the third class comes late
    late, m, said = 5, nr.learner(name, classes=classes), []
    for i in range(len(y)):
        if i > late:
            m.learn_one(X[i - late - 1], int(y[i - late - 1]))
        said.append(m.predict_one(X[i]))
    found = evaluate(X, nr.learner(name, classes=classes), y, delay=late, regret=False).learners[0]
    assert found["mistakes"] == np.sum([a != b for a, b in zip(said, y.tolist(), strict=True)])
    answered = [(a, b) for a, b in zip(said, y.tolist(), strict=True) if a is not None]
    labels = found["confusion"]["labels"]
    expected = metrics.confusion_matrix([b for _, b in answered], [a for a, _ in answered], labels=labels)
    assert found["confusion"]["counts"] == expected.tolist()


def test_what_is_wrong_with_a_hold_out_is_said(tmp_path):
    def written(name, text):
        (tmp_path / name).write_text(f"a,w,y\n{text}")
        return str(tmp_path / name)

    source = written("a.csv", "1,1,p\n-1,1,n\n" * 20)
    how = {"model": "pa1", "target": "y", "weight": "w", "on_bad": "skip", "regret": False}
    with pytest.raises(ValueError, match="b.csv has no rows to answer: name another source for holdout="):
        evaluate(source, holdout=written("b.csv", ""), **how)
    other = written("b.csv", "1,1,p\n1,1,q\n1\n1,1,r\n")
    report = evaluate(source, holdout=other, **how)
    assert report.data["warnings"] == [
        f"Skipped 1 bad row of the hold-out {other}, the first {other}:4: expected 3 columns, found 1.",
        f"In the hold-out {other} 2 rows have labels that were never learned, 'q', 'r': every answer there is a mistake.",
    ]
    found = report.learners[0]["holdout"]
    assert (found["examples"], found["skipped"], found["mistakes"]) == (3, 1, 2)
    assert found["unseen"] == {"examples": 2, "labels": ["q", "r"]}
    other = written("b.csv", "1,0,p\n")
    (told,) = evaluate(source, holdout=other, **how).data["warnings"]
    assert told == f"No row of the hold-out {other} counts, so there are no figures of it: all rows are bad or have weight 0."
    (tmp_path / "b.csv").write_text("a,w,y,z\n1,1,p,1\n")
    with pytest.raises(ValueError, match="b.csv: the columns are not those of the first batch; new: z"):
        evaluate(source, holdout=other, **how)
    numbers = written("n.csv", "1,1,0.5\n2,1,1.5\n" * 9)
    with pytest.raises(ValueError, match="b.csv: pa1_regressor needs numbers for targets, and these are names such as 'p'"):
        evaluate(numbers, holdout=written("b.csv", "1,1,p\n"), **{**how, "model": "pa1_regressor"})


def test_late_labels_of_a_learner_that_knows_some():
    X, y = data()
    m, other = nr.PA1(), nr.PA1()
    m.partial_fit(X[:50][::-1], y[:50][::-1])
    other.partial_fit(X[:50][::-1], y[:50][::-1])
    wrong = 0
    for i in range(50, 300):
        if i > 53:
            other.learn_one(X[i - 4], int(y[i - 4]))
        wrong += other.predict_one(X[i]) != y[i]
    assert evaluate(X[50:], m, y[50:], delay=3, regret=False).learners[0]["mistakes"] == wrong


def test_answers_before_the_first_label_are_those_of_the_start():
    X = np.abs(data()[0])
    y = X @ np.full(5, 0.2)  # the weights with which EG begins
    found = evaluate(X, "eg_regressor:fit_intercept=false", y, delay=1000, regret=False).learners[0]
    assert found["losses"]["square"] == pytest.approx(0.0, abs=1e-24)
    assert found["metrics"]["rmse"] is None


def test_drift_is_found_at_the_very_row_with_late_labels():
    url = "synthetic:swap?n=3000&d=6&noise=0.02&seed=5"
    batches = list(from_url(url).batches())
    X, y = np.concatenate([b.data.arrays[0] for b in batches]), np.concatenate([b.y for b in batches]).astype(int)
    m, watch, hits = nr.PA1(C=0.1), detector("adwin", side="up"), []
    for i in range(len(y)):
        if i > 20:
            m.learn_one(X[i - 21], int(y[i - 21]))
        if len(watch.add(np.array([float(m.predict_one(X[i]) != y[i])]))):
            hits.append(i)
    assert hits
    assert evaluate(url, "pa1:C=0.1", drift="adwin", delay=20, regret=False).learners[0]["drifts"] == hits


# ---- rows of weight 0, and limits ------------------------------------------------------------------------------------
def weighted():
    X, y = data(400)
    return X, y, np.random.default_rng(1).integers(0, 3, 400).astype(float)


def test_validation_leaves_rows_of_weight_zero_out():
    X, y, c = weighted()
    report = sweep(frame(X, y, c), "pa1", C=[0.1, 1.0], validation=0.25, regret=False, target="label", weight="weight")
    keep = np.flatnonzero(c)
    part = len(keep) - round(0.25 * len(keep))
    first, rest = keep[:part], keep[part:]
    for found in report.learners:
        m = nr.PA1(C=found["setting"]["C"]).partial_fit(X[first], y[first], sample_weight=c[first])
        held = found["validation"]
        assert (found["examples"], held["examples"]) == (part, len(rest))
        assert held["error"] == pytest.approx(np.average(m.predict(X[rest]) != y[rest], weights=c[rest]))


def test_validation_ends_at_the_limit():
    X, y = data(400)
    found = sweep(X, "pa1", y, C=[0.1, 1.0], validation=0.2, limit=100, regret=False).learners[0]
    m = nr.PA1(C=found["setting"]["C"]).partial_fit(X[:80], y[:80])
    assert (found["examples"], found["validation"]["examples"]) == (80, 20)
    assert found["validation"]["error"] == pytest.approx(np.mean(m.predict(X[80:100]) != y[80:100]))


def test_folds_and_holdout_leave_rows_of_weight_zero_out():
    X, y, c = weighted()
    source = frame(X, y, c)
    how = {"regret": False, "target": "label", "weight": "weight"}
    keep = np.flatnonzero(c)
    m = nr.PA1()
    held = evaluate(source, m, holdout=source, **how).learners[0]["holdout"]
    assert held["examples"] == len(keep)
    edges = np.linspace(0, len(keep), 4).astype(int)
    for found in sweep(source, "pa1", C=[0.1, 1.0], folds=3, **how).learners:
        errors = []
        for a, b in pairwise(edges):
            rest, block = np.r_[keep[:a], keep[b:]], keep[a:b]
            one = nr.PA1(C=found["setting"]["C"]).partial_fit(X[rest], y[rest], sample_weight=c[rest])
            errors.append(np.average(one.predict(X[block]) != y[block], weights=c[block]))
        assert found["folds"]["values"] == pytest.approx(errors)


def test_permutations_heed_the_limit():
    X, y = data()
    report = compare(X, ["pa1"], y, permutations=3, limit=120, seed=4)
    rng = np.random.default_rng(4)
    errors = []
    for _ in range(3):
        o = rng.permutation(120)
        m = nr.PA1()
        errors.append(np.mean([m.learn_one(x, t) != t for x, t in zip(X[o], y[o].tolist(), strict=True)]))
    assert report.data["examples"] == 120
    assert "means over 3 random orders" in report.notes[0]
    assert report.learners[0]["spread"]["per_permutation"] == pytest.approx(errors)


def test_holdout_goes_through_the_features_that_were_learned():
    rng = np.random.default_rng(5)
    words = np.array(["good", "bad", "fine", "poor"])

    def rows(n):
        at = rng.integers(0, 4, n)
        return [
            {"body": f"a {words[k]} day", "size": float(100 * k + rng.random()), "label": "pos" if k % 2 == 0 else "neg"}
            for k in at
        ]

    pa = pytest.importorskip("pyarrow")
    train, test = pa.Table.from_pylist(rows(400)), pa.Table.from_pylist(rows(100))
    found = evaluate(train, "pa1", holdout=test, target="label", text=["body"], scale=True, regret=False).learners[0]
    assert found["holdout"]["examples"] == 100
    assert found["holdout"]["error"] == 0.0  # words decide, and their numbers are those of the pass


# ---- options that do not go together -----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"permutations": 3, "regret": True}, "regret is found in the order"),
        ({"permutations": 3, "validation": 0.5}, "validation is found in the order"),
        ({"permutations": 1}, "at least 2"),
        ({"permutations": 2, "delay": 2.0, "time": "t"}, "no times"),
        ({"sort": "eror"}, "Did you mean error"),
    ],
)
def test_refused_before_the_work_begins(options, match):
    with pytest.raises(ValueError, match=match):
        compare("there-is-no-such-file.svm", ["pa1"], **options)


# ---- being stopped ---------------------------------------------------------------------------------------------------
def test_a_study_that_is_stopped_reports_what_it_has():
    calls = []
    found = compare(URL, ["pa1", "perceptron"], stop=lambda: len(calls) >= 5, watch=lambda n, *_: calls.append(n))
    n = calls[-1]
    assert 0 < n < 1500
    assert [m["examples"] for m in found.learners] == [n, n]
    assert f"Interrupted after {n} examples" in found.notes[0]
    assert found.learners[0]["regret"] is None
    whole = compare(URL, ["pa1", "perceptron"], limit=n, regret=False)
    assert [m["mistakes"] for m in found.learners] == [m["mistakes"] for m in whole.learners]


def test_a_search_for_the_best_model_that_is_stopped():
    told = []
    found = compare(URL, ["pa1"], stop=lambda: len(told) >= 2, regret_watch=lambda *at: told.append(at))
    assert len(told) == 2
    assert all(upper >= lower >= 0.0 for _, upper, lower in told)
    assert found.learners[0]["regret"] is None
    assert found.learners[0]["examples"] == 1500
    assert "its search was interrupted" in found.notes[0]


def test_every_pass_for_the_regret_tells_of_its_rows_and_can_be_stopped(monkeypatch):
    few = functools.partial(hindsight, kept=10_000)  # bytes: most rows are read again
    monkeypatch.setattr("noregret.evaluation.runs.study.hindsight", few)
    told = []
    found = compare(URL, ["pa1"], regret_rows=lambda *at: told.append(at)).learners[0]["regret"]
    assert {of for _, of in told} == {1500}
    assert [done for done, _ in told].count(0) == found["passes"] > 2
    told.clear()
    stopped = compare(URL, ["pa1"], stop=lambda: len(told) > 20, regret_rows=lambda *at: told.append(at))
    assert len(told) == 21
    assert "its search was interrupted" in stopped.notes[0]


def test_permutations_that_are_stopped():
    X, y = data()
    calls = []

    def orders(n, *_):
        calls.append(n)

    def passes():
        return sum(b <= a for a, b in pairwise(calls))  # whenever the count of rows falls, another began

    report = compare(X, ["pa1"], y, permutations=50, watch=orders, stop=lambda: passes() >= 3)
    assert "Interrupted after 3 of 50 orders" in report.notes[0]
    assert len(report.learners[0]["spread"]["per_permutation"]) == 3
    with pytest.raises(KeyboardInterrupt):
        compare(X, ["pa1"], y, permutations=50, stop=lambda: True)


def test_a_learner_that_fails_midway_leaves_the_others_alone(monkeypatch):
    real = nr.Perceptron.learn_rows

    def fails(self, rows, y, c, features=None):
        if self.started and self.n_seen_ > 500:
            raise ZeroDivisionError("by a plugin")
        return real(self, rows, y, c, features)

    monkeypatch.setattr(nr.Perceptron, "learn_rows", fails)
    report = compare(URL, ["perceptron", "pa1"], regret=False)
    assert [m["model"] for m in report.learners] == ["pa1"]
    assert report.learners[0]["mistakes"] == evaluate(URL, "pa1", regret=False).learners[0]["mistakes"]
    assert "perceptron could not take this stream after" in report.notes[0]
    assert "by a plugin" in report.notes[0]


# ---- learners without labels -----------------------------------------------------------------------------------------
def normal(n=400, seed=2):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.1, -1, 1)
    X = np.where(y[:, None] > 0, [1.0, 2.0], [6.0, -3.0]) + 0.4 * rng.standard_normal((n, 2))
    return X, y


@pytest.mark.parametrize("outlier", [-1, 0])
def test_one_class_learners_with_labels(outlier):
    X, y = normal()
    m, f = nr.PAUniclass(epsilon=1.5), []
    for x in X:
        f.append(float(m.decision_function(x[None])[0]) if f else -np.inf)
        m.learn_one(x)
    first = nr.PAUniclass(epsilon=1.5)
    f[0] = float(first.learn_many(X[:1])[0])
    f = np.array(f)
    truth, said = np.where(y > 0, 1, outlier), np.where(f >= 0.0, 1, outlier)
    found = evaluate(X, "pa_uniclass:epsilon=1.5", truth).learners[0]
    assert found["mistakes"] == np.sum(truth != said)
    assert found["error"] == pytest.approx(np.mean(truth != said))
    assert found["losses"] == {"outside": pytest.approx(np.maximum(0.0, -f).mean())}
    assert found["metrics"]["auc"] == pytest.approx(metrics.roc_auc_score(y, f))
    assert found["metrics"]["f1"] == pytest.approx(metrics.f1_score(truth, said, pos_label=1))
    assert found["metrics"]["outlier_rate"] == pytest.approx(np.mean(f < 0.0))
    assert found["confusion"]["labels"] == [outlier, 1]
    assert found["confusion"]["counts"] == metrics.confusion_matrix(truth, said, labels=[outlier, 1]).tolist()
    assert found["updates"] == m.n_updates_
    assert found["regret"] is None


def test_one_class_learners_without_labels():
    X, _ = normal()
    report = compare(X, ["pa_uniclass", "norma_novelty"], regret=True, holdout=X[:50])
    assert [m["error"] for m in report.learners] == [None, None]
    for found in report.learners:
        f = nr.learner(found["model"]).learn_many(X)
        assert found["losses"]["outside"] == pytest.approx(np.maximum(0.0, -f).mean())
        assert found["curve"]["loss"][-1] == pytest.approx(found["losses"]["outside"])
        assert found["holdout"]["examples"] == 50
    assert "without labels there is no fixed model" in report.notes[0]
    assert "outside loss" in str(report)
    assert report.to_html().count("<section") >= 2


@pytest.mark.parametrize("name", nr.algorithms("one_class"))
def test_the_curve_of_a_one_class_learner_names_the_loss_that_it_follows(name):
    found = nr.evaluate((np.random.default_rng(0).normal(size=(50, 3)), None), name).learners[0]
    assert found["curve_loss"] == "outside"
    assert found["curve"]["loss"][-1] == found["losses"]["outside"]


def test_one_class_labels_must_say_what_is_normal():
    X, y = normal()
    with pytest.raises(ValueError, match="labels are 1 for a normal row and -1 or 0 for an outlier, found 2"):
        evaluate(X, "pa_uniclass", y + 1)


# ---- what is told ------------------------------------------------------------------------------------------------------
def test_many_whole_numbers_may_be_amounts():
    X, _ = data()
    few, many = np.arange(300) % 3, np.arange(300) % 30
    assert compare(X, y=few, regret=False, limit=60).notes == []
    assert "name regressors" in compare(X, y=many, regret=False, limit=60).notes[-1]


def test_a_number_stays_beside_its_unit():
    from noregret.evaluation.report.summary import filled

    text = "a source of rows: 224 kB, 0.11 s reading"
    for width in range(12, 40):
        lines = [line.strip() for line in filled(text, width).splitlines()]
        assert not [line for line in lines if line.startswith(("kB", "s "))]
        assert " ".join(lines) == text


def test_the_log_loss_is_shown_once():
    assert str(evaluate(URL, "pa1", regret=False)).count("log loss") == 1


# ---- labels that are asked for ---------------------------------------------------------------------------------------
NOISY = "synthetic:linear?n=400&d=6&seed=2&noise=0.05"


@pytest.mark.parametrize(("rule", "name"), [("margin", "pa1"), ("second_order", "arow"), ("confidence", "arow")])
def test_asking_is_that_of_the_sampler(rule, name):
    X, y = rows_of(NOISY)
    with nr.engine.compiling.interpreted():
        found = nr.evaluate((X, y), name, ask=rule, ask_b=0.3, regret=False).learners[0]
        sampler = nr.SelectiveSampler(nr.learner(name), rule=rule, b=0.3)
        said = [sampler.learn_one(x, int(t)) for x, t in zip(X, y, strict=True)]
    assert found["queries"] == sampler.n_queries_
    assert 0 < found["queries"] < 400
    assert found["updates"] == sampler.learner.n_updates_
    assert found["mistakes"] == sum(a != b for a, b in zip(said, y.tolist(), strict=True))
    assert found["examples"] == 400


def test_asking_does_not_go_with_everything():
    with pytest.raises(ValueError, match="neither with delay nor with on_drift"):
        nr.evaluate(NOISY, "arow", ask="margin", delay=2)
    with pytest.raises(TypeError, match="use rule='margin'"):
        nr.compare(NOISY, ["arow", "pa1"], ask="confidence")
    with pytest.raises(TypeError, match="needs a classifier"):
        nr.evaluate("synthetic:friedman?n=20", "rls", ask="margin")


def rows_of(source):
    batches = list(nr.stream(source).chunks())
    return np.concatenate([b.data.arrays[0] for b in batches]), np.concatenate([b.y for b in batches]).astype(int)
