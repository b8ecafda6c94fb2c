"""Studies against plain loops: one row at a time, one learner at a time, one setting at a time."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.stats import ttest_rel

import noregret as nr
from noregret.engine import compiling
from noregret.evaluation.measures.drift import detector
from noregret.evaluation.runs.run import Run, Settings
from noregret.evaluation.runs.study import compare, evaluate, made, sweep, titled

URL = "synthetic:linear?n=1500&d=8&noise=0.1&seed=3"


def data(n=400, d=6, K=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, np.argmax(X @ rng.standard_normal((d, K)) + 0.7 * rng.standard_normal((n, K)), axis=1)


def loop(m, X, y):
    """Mistakes of one row after another."""
    wrong = []
    for row, label in zip(X, y.tolist()):
        wrong.append(m.learn_one(row, label) != label)
    return np.array(wrong)


# ---- one pass --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("K", [2, 4])
@pytest.mark.parametrize("name", ["pa1", "perceptron", "ogd"])
def test_evaluate_is_a_loop_of_learn_one(name, K):
    X, y = data(K=K)
    wrong = loop(nr.learner(name), X, y)
    m = nr.learner(name)
    report = evaluate(X, m, y)
    found = report.learners[0]
    assert found["mistakes"] == wrong.sum() == m.n_mistakes_
    assert found["examples"] == len(y) == m.n_seen_
    assert found["updates"] == m.n_updates_
    curve = found["curve"]
    assert curve["examples"][-1] == len(y)
    at = np.array(curve["examples"])
    assert curve["error"] == pytest.approx((np.cumsum(wrong) / np.arange(1, len(y) + 1))[at - 1])
    assert np.sum(found["confusion"]["counts"]) + np.sum(found["confusion"].get("no_answer", 0)) == len(y)


def test_sparse_rows_and_arrays_agree():
    X, y = data()
    X[np.abs(X) < 0.8] = 0.0
    a = evaluate(X, "pa1", y).learners[0]
    b = evaluate(csr_matrix(X), "pa1", y).learners[0]
    assert a["mistakes"] == b["mistakes"]
    assert a["losses"]["hinge"] == pytest.approx(b["losses"]["hinge"], rel=1e-9)


def test_losses_are_those_of_the_scores_before_each_update():
    X, y = data(seed=4)
    t = 2.0 * y - 1.0
    f = nr.PA1().learn_many(X, t.astype(int))
    found = evaluate(X, "pa1", t).learners[0]
    assert found["losses"]["hinge"] == pytest.approx(np.maximum(0, 1 - t * f).mean())
    real = X[:, 0] * 2 + 0.1
    p = nr.PA1Regressor().learn_many(X, real)
    found = evaluate(X, "pa1_regressor", real).learners[0]
    assert found["losses"]["square"] == pytest.approx(((p - real) ** 2).mean())
    assert found["metrics"]["rmse"] == pytest.approx(np.sqrt(((p - real)[1:] ** 2).mean()))
    assert found["mistakes"] is None
    assert found["error"] is None


def test_rows_of_weight_zero_are_no_examples():
    from noregret.inputs.batch import Batch, Reader

    X, y = data(100)
    c = np.where(np.arange(100) % 3 == 0, 0.0, 2.0)

    class Weighted(Reader):
        kind = name = "weighted"

        def batches(self, position=None):
            yield Batch(nr.inputs.checking.rows(X, "float64"), y, {}).beside(weight=c)

    found = evaluate(Weighted(), "pa1").learners[0]
    m = nr.PA1().partial_fit(X, y, sample_weight=c)
    assert found["examples"] == m.n_seen_ == (c > 0).sum()
    assert found["mistakes"] == m.n_mistakes_


# ---- several learners ------------------------------------------------------------------------------------------------
def test_compare_equals_separate_evaluations():
    models = ["perceptron", "pa1:C=0.1", nr.OGD(loss="log")]
    together = compare(URL, models, regret=False)
    for model in models:
        alone = evaluate(URL, model if isinstance(model, str) else model.clone(), regret=False).learners[0]
        mine = next(r for r in together.learners if r["label"] == alone["label"])
        assert mine["curve_loss"] == "hinge"
        if alone["curve_loss"] != "hinge":  # drawn beside others in the loss of most of them
            drawn = mine["curve"].pop("loss")
            assert drawn[-1] == alone["losses"]["hinge"]
            del alone["curve"]["loss"]
        assert {k: mine[k] for k in ("mistakes", "updates", "losses", "metrics", "curve", "nonzeros", "bytes")} == {
            k: alone[k] for k in ("mistakes", "updates", "losses", "metrics", "curve", "nonzeros", "bytes")
        }
    best = min(together.learners, key=lambda r: r["error"])
    assert together.winner == best["label"]


def test_learners_given_are_not_touched_by_compare_and_learn_in_evaluate():
    m = nr.PA1()
    compare(URL, [m, "pa2"], regret=False)
    assert not m.started
    evaluate(URL, m, regret=False)
    assert m.n_seen_ == 1500


def test_a_dozen_is_chosen_by_the_labels():
    assert len(compare(URL, limit=200, regret=False).learners) == 12
    real = compare("synthetic:friedman?n=300", limit=200, regret=False)
    assert {r["model"] for r in real.learners} <= set(nr.algorithms("regression"))


def test_a_learner_that_cannot_take_the_stream_is_left_behind():
    report = compare(URL, ["winnow", "pa1"], regret=False)
    assert [r["model"] for r in report.learners] == ["pa1"]
    assert "winnow" in report.notes[0]
    assert "Negative values" in report.notes[0]
    with pytest.raises(ValueError, match="Negative values"):
        evaluate(URL, "winnow", regret=False)


def test_learners_of_different_tasks_cannot_be_compared():
    with pytest.raises(ValueError, match="classification and regression"):
        compare(URL, ["pa1", "pa1_regressor"])
    with pytest.raises(ValueError, match="classification and one_class"):
        compare(URL, ["pa1", "pa_uniclass"])


def test_names_of_learners():
    assert titled(made("pa1:C=0.5,average=true")) == "pa1 C=0.5 average=True"
    assert made("ogd: loss = log").loss == "log"
    report = compare(URL, ["pa1", "pa1"], regret=False, limit=100)
    assert report.labels == ["pa1", "pa1 (2)"]
    with pytest.raises(ValueError, match="no learner is called 'pa9'"):
        made("pa9")


# ---- sweeps ----------------------------------------------------------------------------------------------------------
def test_sweep_equals_separate_passes():
    grid = {"C": [0.01, 0.1, 1.0], "average": [False, True]}
    report = sweep(URL, "pa1", **grid, regret=False)
    assert len(report.learners) == 6
    for found in report.learners:
        alone = evaluate(URL, nr.PA1(**found["setting"]), regret=False).learners[0]
        assert found["mistakes"] == alone["mistakes"]
        assert found["losses"] == alone["losses"]
    assert report.data["swept"] == {"C": [0.01, 0.1, 1.0], "average": [False, True]}
    assert report.data["passes"]["ratio"] >= 1.0
    with pytest.raises(ValueError, match="a list of values"):
        sweep(URL, "pa1", C=0.1)


def test_validation_learns_from_the_first_part_only():
    X, y = data(500)
    report = sweep(X, "pa1", y, C=[0.1, 1.0], validation=0.2, regret=False)
    for found in report.learners:
        m = nr.PA1(C=found["setting"]["C"]).partial_fit(X[:400], y[:400])
        assert found["examples"] == 400
        assert found["validation"]["error"] == pytest.approx(np.mean(m.predict(X[400:]) != y[400:]))
    assert report.winner == min(report.learners, key=lambda r: r["validation"]["error"])["label"]


def test_folds_are_blocks_of_consecutive_rows():
    X, y = data(103)
    report = sweep(X, "pa1", y, C=[0.1, 1.0], folds=4, regret=False)
    edges = np.linspace(0, 103, 5).astype(int)
    for found in report.learners:
        errors = []
        for a, b in pairwise(edges):
            keep = np.r_[0:a, b:103]
            m = nr.PA1(C=found["setting"]["C"]).partial_fit(X[keep], y[keep])
            errors.append(np.mean(m.predict(X[a:b]) != y[a:b]))
        assert found["folds"]["values"] == pytest.approx(errors)


def test_holdout_is_answered_at_the_end():
    X, y = data(300)
    Z, t = data(80, seed=0)
    t[5] = 9  # a class never seen: wrong, not an error
    m = nr.PA1()
    found = evaluate(X, m, y, holdout=(Z, t), regret=False).learners[0]["holdout"]
    assert found["error"] == pytest.approx(np.mean(m.predict(Z) != t))
    assert found["examples"] == 80
    assert m.n_seen_ == 300


# ---- permutations ----------------------------------------------------------------------------------------------------
def test_permutations():
    X, y = data(200, seed=2)
    report = compare(X, ["pa1", "perceptron"], y, permutations=4, seed=7)
    rng = np.random.default_rng(7)
    orders = [rng.permutation(200) for _ in range(4)]
    errors = {name: [loop(nr.learner(name), X[o], y[o]).mean() for o in orders] for name in ("pa1", "perceptron")}
    for found in report.learners:
        mine = errors[found["model"]]
        assert found["spread"]["per_permutation"] == pytest.approx(mine)
        assert found["spread"]["error"] == pytest.approx([np.mean(mine), np.std(mine, ddof=1)])
        if found["label"] != report.winner:
            assert found["spread"]["p_value"] == pytest.approx(ttest_rel(mine, errors[report.winner]).pvalue)
    with pytest.raises(ValueError, match="at least 2"):
        compare(X, ["pa1"], y, permutations=1)


# ---- delay, drift ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("K", [2, 3])
def test_delayed_labels_against_a_loop(K):
    X, y = data(150, K=K)
    late, m, wrong = 7, nr.PA1(), []
    for i in range(150):
        if i > late:
            m.learn_one(X[i - late - 1], int(y[i - late - 1]))
        wrong.append((not m.started) or m.predict_one(X[i]) != y[i])
    m2 = nr.PA1()
    found = evaluate(X, m2, y, delay=late, regret=False).learners[0]
    assert found["mistakes"] == sum(wrong)
    assert m2.n_seen_ == 150  # the last labels arrive after the last row


def test_drift_resets_the_learner_at_the_very_row():
    url = "synthetic:swap?n=3000&d=6&noise=0.02&seed=5"
    found = evaluate(url, "pa1:C=0.1", drift="adwin", on_drift="reset", regret=False).learners[0]
    reader = nr.streams.synthetic.from_url(url)
    batches = list(reader.batches())
    X = np.concatenate([b.data.arrays[0] for b in batches])
    y = np.concatenate([b.y for b in batches])
    m, watch, wrong, hits = nr.PA1(C=0.1), detector("adwin", side="up"), [], []
    for i in range(len(y)):
        said = m.learn_one(X[i], int(y[i]))
        wrong.append(said != y[i])
        if len(watch.add(np.array([float(wrong[-1])]))):
            hits.append(i)
            m.model.forget()
    assert len(hits) >= 1
    assert found["drifts"] == hits
    assert found["mistakes"] == sum(wrong)


def test_reset_rate_sets_the_rounds_back_and_keeps_the_weights():
    m = nr.OGD()
    m.partial_fit(*data(50))
    w = m.coef_.copy()
    assert m.state.t[0] == 50
    m.model.restart()
    assert m.state.t[0] == 0
    assert np.array_equal(m.coef_, w)


@pytest.mark.parametrize("model", ["pa1", "perceptron", "ogd:rate=constant", "auto", "rls", "winnow"])
def test_reset_rate_is_refused_without_a_rate(model):
    with pytest.raises(ValueError, match=rf"'reset-rate' does nothing for {model.partition(':')[0]}.*Use on_drift='reset'"):
        evaluate(URL, model, drift="adwin", on_drift="reset-rate")


@pytest.mark.parametrize("model", ["ogd", "perceptron:schedule=inv_t", "alma", "hedge:learners=pa1+ogd"])
def test_reset_rate_is_taken_with_a_rate(model):
    report = evaluate(URL, model, drift="adwin", on_drift="reset-rate", regret=False)
    assert report.learners[0]["model"] == model.partition(":")[0]


def test_a_holdout_is_checked_before_the_pass(tmp_path):
    (tmp_path / "t.csv").write_text("a,y\n1,2\n")
    seen = []
    for holdout, said in ((str(tmp_path / "none.svm"), "no such file"), (str(tmp_path / "t.csv"), "has named columns")):
        with pytest.raises((ValueError, OSError), match=said):
            evaluate(URL, "pa1", holdout=holdout, watch=lambda *_: seen.append(1))
    assert seen == []


def test_settings_that_do_not_go_together():
    with pytest.raises(ValueError, match="needs a detector"):
        Settings(on_drift="reset")
    with pytest.raises(ValueError, match="delayed"):
        Settings(drift="adwin", on_drift="reset", delay=3)
    with pytest.raises(ValueError, match="must be one of"):
        Settings(on_drift="panic", drift="adwin")
    with pytest.raises(TypeError, match="no option 'colour'"):
        evaluate(URL, "pa1", colour="red")


def test_recent_errors_in_the_curve():
    X, y = data(300)
    wrong = loop(nr.PA1(), X, y).astype(float)
    curve = evaluate(X, "pa1", y, window=40, fading=0.9, regret=False).learners[0]["curve"]
    fade = 0.9 ** np.arange(300)[::-1]
    assert curve["window_error"][-1] == pytest.approx(wrong[-40:].mean())
    assert curve["faded_error"][-1] == pytest.approx((fade * wrong).sum() / fade.sum())


# ---- regret ----------------------------------------------------------------------------------------------------------
def test_regret_is_in_the_report_and_under_its_bound():
    report = evaluate(URL, "ogd:projection=l2,radius=5", regret_tolerance=1e-4)
    regret = report.learners[0]["regret"]
    assert regret["value"] == pytest.approx(regret["cumulative"] - regret["comparator"])
    assert regret["average"] == pytest.approx(regret["value"] / 1500)
    assert regret["cumulative"] == pytest.approx(1500 * report.learners[0]["losses"]["hinge"])
    assert regret["radius"] == 5
    assert regret["gap"] <= 1e-4 * regret["comparator"]
    assert regret["measured"] <= regret["bound"]
    assert len(regret["curve"]["examples"]) == len(report.learners[0]["curve"]["examples"])


def test_regret_against_an_l1_ball():
    with compiling.interpreted():
        report = compare(URL, ["pa1", "ogd:projection=l1,radius=2"], regret_norm="l1", limit=300)
        found = {m["model"]: m["regret"] for m in report.learners}
        assert found["ogd"]["radius"] == 2
        assert found["ogd"]["measured"] <= found["ogd"]["bound"]
        assert {r["norm"] for r in found.values()} == {"l1"}
        assert "with |u|_1 <= " in str(report)
        given = evaluate(URL, "pa1", regret_norm="l1", regret_radius=1.5, limit=300).learners[0]["regret"]
        assert given["radius"] == 1.5
        assert given["comparator"] > found["pa1"]["comparator"]
        assert evaluate(URL, "pa1", limit=300).learners[0]["regret"]["norm"] == "l2"
    with pytest.raises(ValueError, match="regret_norm must be one of l2, l1, got 'l3'"):
        evaluate(URL, "pa1", regret_norm="l3")


def test_regret_with_three_classes_and_names_for_labels():
    X, y = data(300, K=3)
    names = np.array(["ant", "bee", "cat"])[y]
    regret = evaluate(X, "pa1", names).learners[0]["regret"]
    assert regret["loss"] == "hinge"
    assert 0 < regret["comparator"] < regret["cumulative"]


def test_a_run_notes_what_the_learner_counts():
    run = Run(nr.PA1(), "pa1", Settings())
    assert run.result()["updates"] == 0
