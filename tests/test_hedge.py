"""Hedge, AdaHedge, fixed share and the Bayes mixture over a pool of learners: traces, bounds, one pass, files."""

import csv
import gzip
import math
import os
import pathlib

import numpy as np
import pytest
from scipy.sparse import csr_matrix, issparse

import noregret as nr
from noregret.engine import compiling
from noregret.pools.weighing import Weighing
from noregret.training.answering import answer

# Probabilities of +1 by three learners in the rounds of stream P, and the labels
P = np.array(
    [
        (0.5, 0.5, 0.5),
        (0.465437, 0.437823, 0.558568),
        (0.50756, 0.279046, 0.378128),
        (0.574423, 0.663858, 0.56695),
        (0.572486, 0.667585, 0.561713),
    ]
)
UP = np.array([True, False, True, False, True])
RIGHT = np.where(UP[:, None], P, 1 - P)


def pool(rule="adahedge", **given):
    return nr.Hedge(learners=[nr.PA1(), nr.NAG(), nr.Coin()], rule=rule, **given)


def three(rule="adahedge", eta=None, alpha=None):
    return Weighing(3, rule, eta, alpha)


def play(m, losses, c=None):
    """Play rounds with these losses one by one; return the weights before each."""
    losses = np.asarray(losses, float)
    c = np.ones(len(losses)) if c is None else c
    with nr.engine.compiling.interpreted():
        return np.concatenate([m.play(losses[i : i + 1], c[i : i + 1]) for i in range(len(losses))])


def test_bayes_trace():
    m = three("bayes")
    W = play(m, -np.log(RIGHT))
    after = [(0.333333, 0.333333, 0.333333), (0.347532, 0.365484, 0.286985), (0.455918, 0.263602, 0.28048)]
    after += [(0.480152, 0.219273, 0.300576), (0.465819, 0.248065, 0.286116)]
    np.testing.assert_allclose(np.vstack([W[1:], m.weights]), after, atol=2e-6)
    np.testing.assert_allclose((W * P).sum(1), [0.5, 0.487276, 0.386897, 0.595902, 0.590101], atol=2e-6)
    assert m.paid == pytest.approx(3.744323, abs=5e-6)
    assert m.losses.min() == pytest.approx(3.409669, abs=5e-6)
    assert m.regret == pytest.approx(0.334654, abs=5e-6)
    assert m.bound == pytest.approx(math.log(3))


@pytest.mark.parametrize("K", [2, 3])
def test_bayes_mixes_calibrated_probabilities(K):
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((150, 4)), rng.integers(0, K, 150)
    learners = [nr.PA1(classes=list(range(K))), nr.NAG(classes=list(range(K)))]
    m = nr.Hedge(learners=[nr.PA1(), nr.NAG()], rule="bayes", classes=list(range(K))).partial_fit(X, y)
    told = [nr.Calibrator(list(range(K))).learn_many(own.learn_many(X, y), y)[np.arange(150), y] for own in learners]
    logs = np.log(told).cumsum(axis=1)
    np.testing.assert_allclose(m.losses_, -logs[:, -1], rtol=1e-9)
    np.testing.assert_allclose(m.paid_, -np.log(np.exp(logs[:, -1]).mean()), rtol=1e-9)
    np.testing.assert_allclose(m.weights_, np.exp(logs[:, -1]) / np.exp(logs[:, -1]).sum(), rtol=1e-9)
    assert m.regret_ <= m.bound_ + 1e-9


def test_fixed_share_trace():
    m = three("bayes", alpha=0.1)
    W = play(m, -np.log(RIGHT))
    after = [(0.333333, 0.333333, 0.333333), (0.345402, 0.360661, 0.293937), (0.434954, 0.27099, 0.294056)]
    after += [(0.439902, 0.241871, 0.318227), (0.411555, 0.281816, 0.306629)]
    np.testing.assert_allclose(np.vstack([W[1:], m.weights]), after, atol=2e-6)
    assert m.paid == pytest.approx(0.693147 + 0.668018 + 0.949075 + 0.907484 + 0.524148, abs=5e-6)


def test_hedge_trace():
    m = three("hedge", eta=math.sqrt(8 * math.log(3) / 5))
    W = play(m, 1 - RIGHT)
    before = [(0.333333, 0.333333, 0.333333), (0.333333, 0.333333, 0.333333), (0.342333, 0.355098, 0.302569)]
    before += [(0.398305, 0.305167, 0.296528), (0.411119, 0.279766, 0.309115)]
    np.testing.assert_allclose(W, before, atol=2e-6)
    np.testing.assert_allclose(m.losses, (2.459814, 2.65505, 2.685677), atol=5e-6)
    assert m.regret == pytest.approx(0.143948, abs=5e-6)
    assert m.bound == pytest.approx(1.657266, abs=1e-6)


def test_adahedge_trace():
    m = three()
    W, deltas = [], []
    for i in range(5):
        W.append(play(m, 1 - RIGHT[i : i + 1])[0])
        deltas.append(m.bound / 2)
    before = [(0.333333, 0.333333, 0.333333), (0.333333, 0.333333, 0.333333), (0.33635, 0.621163, 0.042487)]
    before += [(0.704361, 0.159624, 0.136014), (0.749248, 0.09214, 0.158612)]
    np.testing.assert_allclose(W, before, atol=5e-6)
    np.testing.assert_allclose(deltas, [0, 0.049453, 0.148681, 0.152196, 0.155682], atol=2e-6)
    assert m.regret == pytest.approx(0.175489, abs=5e-6)


@pytest.mark.parametrize("rule", ["hedge", "adahedge", "fixed_share", "bayes"])
def test_regret_is_within_its_bound(rule):
    """Random, drifting and one-sided losses in [0, 1]; AdaHedge and Bayes with sample weights too."""
    rng = np.random.default_rng(0)
    for kind in range(6):
        losses = rng.random((300, 3))
        if kind % 3 == 1:
            losses = (losses < np.array([0.2, 0.5, 0.8])).astype(float)
        if kind % 3 == 2:
            losses[:150, 0] = losses[150:, 1] = 0.0
        c = rng.choice([0.0, 0.5, 3.0], 300) if kind > 2 else np.ones(300)
        m = three(rule)
        W = play(m, losses, c)
        np.testing.assert_allclose(W.sum(1), 1.0)
        assert m.regret <= m.bound + 1e-9
        assert np.isfinite(m.bound) == (kind < 3 or rule in ("adahedge", "bayes"))


def test_weights_of_adahedge_know_no_unit():
    losses = np.random.default_rng(1).random((50, 3))
    np.testing.assert_allclose(play(three(), losses), play(three(), 1000 * losses - 5), rtol=1e-6)


# ---- the pool at work ------------------------------------------------------------------------------------------------
def data(K=2, n=120, seed=2):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 6)) * (rng.random((n, 6)) < 0.7)
    f = X @ rng.standard_normal((6, K)) + 0.3 * rng.standard_normal((n, K))
    return X, f.argmax(1)


@pytest.mark.parametrize("rule", ["adahedge", "fixed_share", "bayes"])
def test_learners_are_those_of_a_pass_on_their_own(rule):
    X, y = data()
    c = np.random.default_rng(3).choice([0.0, 1.0, 2.0], len(y))
    with nr.engine.compiling.interpreted():
        alone = [nr.PA1(), nr.NAG(), nr.Coin()]
        wrong = []
        for m in alone:
            wrong.append(0.0)
            for i in np.flatnonzero(c):
                wrong[-1] += c[i] * (m.learn_one(X[i], int(y[i]), float(c[i])) != y[i])
        m = pool(rule).partial_fit(X, y, sample_weight=c)
        for a, b in zip(alone, m.learners_, strict=True):
            for k, v in a.model.arrays().items():
                np.testing.assert_allclose(v, b.model.arrays()[k], rtol=1e-9, atol=1e-12)
        if rule != "bayes":
            np.testing.assert_allclose(m.losses_, wrong)
        assert m.n_seen_ == (c > 0).sum()


@pytest.mark.parametrize(("rule", "K"), [("adahedge", 2), ("adahedge", 3), ("hedge", 2), ("fixed_share", 3), ("bayes", 2)])
def test_any_split_is_the_same_and_files_resume(rule, K, tmp_path):
    X, y = data(K)
    with nr.engine.compiling.interpreted():
        whole = pool(rule)
        said = [whole.learn_one(x, int(t)) for x, t in zip(X, y, strict=True)]
        part = pool(rule)
        for a, b in ((0, 1), (1, 2), (2, 50), (50, 90)):
            part.partial_fit(X[a:b], y[a:b])
        part.save(tmp_path / "pool.nr")
        again = nr.load(tmp_path / "pool.nr").partial_fit(X[90:], y[90:])
        assert said[0] is None
        assert np.array_equal(again.weights_, whole.weights_)
        assert again.report() == whole.report()
        assert np.array_equal(again.predict(X), whole.predict(X))
        assert np.array_equal(again.decision_function(X), whole.decision_function(X))
        assert again.n_mistakes_ == whole.n_mistakes_ == sum(a != b for a, b in zip(said, y.tolist(), strict=True))
        assert whole.score(X, y) > 0.7


def test_dicts_hashed_names_and_sparse_rows_agree():
    X, y = data(3)
    dicts = [{f"x{j}": float(v) for j, v in enumerate(row) if v} for row in X]
    with nr.engine.compiling.interpreted():
        pools = [nr.Hedge().partial_fit(Z, y) for Z in (X, csr_matrix(X), dicts)]
        pools.append(nr.Hedge(hash_bits=12).partial_fit(dicts, y))
        for m, Z in zip(pools, (X, csr_matrix(X), dicts, dicts), strict=True):
            np.testing.assert_allclose(m.losses_, pools[0].losses_)
            assert np.array_equal(m.predict(Z), pools[0].predict(X))
        assert pools[2].predict_one(dicts[0]) == pools[0].predict_one(X[0])


@pytest.mark.parametrize("rule", ["adahedge", "bayes"])
def test_a_first_call_may_be_a_batch_of_dicts(rule):
    X, y = data()
    dicts = [{f"x{j}": float(v) for j, v in enumerate(row) if v} for row in X]
    with nr.engine.compiling.interpreted():
        one = pool(rule)
        assert one.predict_one(dicts[0]) is None
        for x, t in zip(dicts, y.tolist(), strict=True):
            one.learn_one(x, t)
        many = pool(rule)
        f = [many.learn_many(dicts[a:b], y[a:b]) for a, b in ((0, 30), (30, len(y)))]
        assert many.report() == one.report()
        assert np.array_equal(many.decision_function(dicts), one.decision_function(dicts))
        np.testing.assert_allclose(np.concatenate(f), pool(rule).learn_many(X, y), atol=1e-9)


@pytest.mark.parametrize("rule", ["adahedge", "bayes"])
def test_rows_of_weight_0_alone_are_answered_and_change_nothing(rule):
    X, y = data()
    with nr.engine.compiling.interpreted():
        m = pool(rule)
        assert np.isfinite(m.learn_many(X, y, sample_weight=np.zeros(len(y)))).all()
        assert not m.__sklearn_is_fitted__()
        m.partial_fit(X, y)
        before = m.report()
        f = m.learn_many(X, y, sample_weight=np.zeros(len(y)))
        assert np.array_equal(f, m.decision_function(X))
        assert m.learn_one(X[0], 1, 0.0) == m.predict_one(X[0])
        assert m.report() == before


def test_saved_with_names(tmp_path):
    X, y = data()
    dicts = [{f"x{j}": float(v) for j, v in enumerate(row) if v} for row in X]
    with nr.engine.compiling.interpreted():
        m = pool().partial_fit(dicts[:60], y[:60])
        m.save(tmp_path / "pool.nr")
        again = nr.load(tmp_path / "pool.nr").partial_fit(dicts[60:], y[60:])
        m.partial_fit(dicts[60:], y[60:])
        assert m.predict(dicts).tolist() == again.predict(dicts).tolist()
        assert m.report() == again.report()


def test_rows_of_length_1_for_those_who_want_them():
    X, y = data()
    with nr.engine.compiling.interpreted():
        m = nr.Hedge(learners=[nr.PA1(), nr.pipeline(nr.Normalize(), nr.PA1())]).partial_fit(X, y)
        for learner, Z in zip(m.learners_, (X, X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-300)), strict=True):
            np.testing.assert_allclose(learner.coef_, nr.PA1().partial_fit(Z, y).coef_, rtol=1e-9)


def test_probabilities():
    X, y = data()
    with nr.engine.compiling.interpreted():
        m = pool("bayes").partial_fit(X, np.array(["no", "yes"])[y])
        p = m.predict_proba(X)
        assert np.array_equal(m.predict(X), m.classes_[p.argmax(1)])
    np.testing.assert_allclose(p.sum(1), 1.0)
    assert -np.log(p[np.arange(len(y)), y]).mean() < math.log(2) / 2
    with pytest.raises(AttributeError, match="give it probabilities=True"):
        pool().predict_proba(X)


def test_bad_input_changes_nothing():
    X, y = data()
    with nr.engine.compiling.interpreted():
        m = pool("bayes").partial_fit(X, y)
        before = m.report()
        for Z, t in ((X[:, :3], y), (np.full_like(X, np.nan), y), (X, np.full(len(y), 7.5)), (X, y[:5])):
            with pytest.raises(ValueError):
                m.partial_fit(Z, t)
        assert m.report() == before
    for given, error in (([nr.PA1()], ValueError), ([nr.PA1(), nr.PA1Regressor()], TypeError), ("pa1+pa9", ValueError)):
        with pytest.raises(error):
            nr.Hedge(learners=given).fit(X, y)
    with pytest.raises(ValueError, match="rule must be one of"):
        pool("vote").fit(X, y)


def test_auto_is_near_the_best_learner_compiled():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((3000, 20)) * np.exp(rng.normal(0, 3, 20))
    y = np.where((X / X.std(0)) @ rng.standard_normal(20) + 2 * rng.standard_normal(3000) > 0, 1, -1)
    m = nr.Auto().partial_fit(X, y)
    assert m.n_mistakes_ <= m.losses_.min() + 0.01 * len(y)
    assert m.losses_.min() * 1.2 < m.losses_.max()
    assert 0 <= m.regret_ <= m.bound_


def test_elec2():
    """The published figure of AdaHedge over this pool, rows in the order of time."""
    places = [os.environ.get("NOREGRET_DATA", ""), "../shared/data"]
    path = next((p for p in (pathlib.Path(d) / "elec2" / "electricity.csv.gz" for d in places if d) if p.is_file()), None)
    if path is None:
        pytest.skip("the public file elec2/electricity.csv.gz is not here: give its directory in NOREGRET_DATA")
    with gzip.open(path, "rt") as lines:
        _, *rows = csv.reader(lines)
    X, y = np.array([row[:-1] for row in rows], float), np.array([1 if row[-1] == "UP" else -1 for row in rows])
    m = nr.Hedge().partial_fit(X, y)
    assert round(100 * m.n_mistakes_ / len(y), 2) == 13.20
    assert 0 < m.regret_ < m.bound_ < 20


# ---- as a learner like any other -------------------------------------------------------------------------------------
LINEAR = "synthetic:linear?n=600&d=6&seed=3&noise=0.1"


def test_regret_against_the_best_learner_is_in_the_report():
    with nr.engine.compiling.interpreted():
        m = nr.Hedge(learners="pa1+nag+coin")
        found = nr.evaluate(LINEAR, m).learners[0]
    regret = found["regret"]
    assert (regret["cumulative"], regret["comparator"]) == (m.paid_, m.losses_.min())
    assert regret["value"] == pytest.approx(m.regret_)
    assert regret["bound"] == m.bound_ >= regret["value"]
    assert regret["bound_name"] == "de Rooij et al. 2014, lemma 2"
    curve = regret["curve"]
    assert curve["examples"][-1] == 600
    assert all(r <= b + 1e-9 for r, b in zip(curve["regret"], curve["bound"], strict=True))
    assert curve["regret"] == [a - b for a, b in zip(curve["cumulative"], curve["comparator"], strict=True)]
    assert [member["loss"] for member in found["pool"]] == m.losses_.tolist()
    assert sum(member["weight"] for member in found["pool"]) == pytest.approx(1.0)
    assert found["mistakes"] == m.n_mistakes_


def test_in_compare_the_others_keep_their_own_regret():
    with nr.engine.compiling.interpreted():
        report = nr.compare(LINEAR, ["hedge:learners=pa1+coin,rule=hedge", "pa1"], window=50)
    pool, alone = (next(m for m in report.learners if m["model"] == name) for name in ("hedge", "pa1"))
    assert "the best learner of the pool" in pool["regret"]["against"]
    assert alone["regret"]["radius"] > 0
    assert alone["mistakes"] in [member["loss"] for member in pool["pool"]]
    assert report.winner.startswith("hedge")
    assert "the best learner of the pool, PA1()" in " ".join(str(report).split()) or "pool, Coin()" in " ".join(str(report).split())


def test_whoever_names_no_learner_gets_auto_or_nag():
    with nr.engine.compiling.interpreted():
        labels, numbers = nr.evaluate(LINEAR, limit=60), nr.evaluate("synthetic:friedman?n=60")
        assert nr.train(LINEAR, limit=60).model.name == "auto"
    assert (labels.learners[0]["model"], numbers.learners[0]["model"]) == ("auto", "auto_regressor")
    assert "No learner was named: auto was taken" in str(labels)


def test_pools_on_the_command_line(tmp_path):
    from click.testing import CliRunner

    from noregret.cli import main

    def said(*args):
        found = CliRunner().invoke(main, list(args))
        assert found.exit_code == 0, found.output
        return found.output

    path, page = str(tmp_path / "pool.nr"), str(tmp_path / "report.html")
    with nr.engine.compiling.interpreted():
        text = said("evaluate", LINEAR, "--learners", "pa1+coin", "-m", "hedge", "--html", page)
        assert "the best learner of the pool" in " ".join(text.split())
        assert "Who is believed" in pathlib.Path(page).read_text()
        said("train", LINEAR, "-m", "hedge", "--learners", "pa1+coin", "--rule", "fixed_share", "--alpha", "0.01", "--save", path)
        text = said("inspect", path)
        assert nr.load(path).alpha == 0.01
    assert "Regret against the best of them" in text
    assert "PA1()" in text


def test_dozens_of_classes_late_classes_and_drift_resets():
    X, y = data(5, 300)
    order = np.argsort(np.minimum(y, 2), kind="stable")  # classes appear one after the other
    with nr.engine.compiling.interpreted():
        m = pool().partial_fit(X[order], y[order])
        assert m.classes_.tolist() == [0, 1, 2, 3, 4]
        found = nr.evaluate((X, y), pool(), drift="page_hinkley", on_drift="reset", delay=0).learners[0]
        late = nr.evaluate((X, y), pool(), delay=3).learners[0]
    assert found["examples"] == late["examples"] == 300


def test_a_pool_in_a_pool_is_refused():
    with pytest.raises(TypeError, match="expected classifiers"):
        nr.Hedge(learners=[nr.Auto(), nr.PA1()]).fit(*data())


def test_damaged_pools_are_refused(tmp_path):
    X, y = data()
    with nr.engine.compiling.interpreted():
        pool().partial_fit(X, y).save(tmp_path / "a.nr")
    whole = (tmp_path / "a.nr").read_bytes()
    (tmp_path / "b.nr").write_bytes(whole[:-9])
    with pytest.raises(nr.ModelFileError):
        nr.load(tmp_path / "b.nr")


def test_members_with_kernels_keep_sparse_rows_sparse(tmp_path):
    pool = [nr.PA1(kernel=nr.RBF(0.5), budget=nr.RemoveOldest(4)), nr.PA1()]
    rng = np.random.default_rng(0)
    rows = [{f"w{j}": 1.0 for j in rng.choice(200, 5, replace=False)} for _ in range(40)]
    labels = rng.choice([-1, 1], 40).tolist()
    with compiling.interpreted():
        m, apart = nr.Hedge(learners=pool), nr.PA1(kernel=nr.RBF(0.5), budget=nr.RemoveOldest(4))
        for x, y in zip(rows, labels, strict=True):
            m.learn_one(x, y)
            apart.learn_one(x, y)
        member = m.model.members[0].learner
        assert issparse(member.support_vectors_)
        np.testing.assert_allclose(member.dual_coef_, apart.dual_coef_)
        m.save(tmp_path / "m.nr")
        again = nr.load(tmp_path / "m.nr")
        assert [again.predict_one(x) for x in rows] == [m.predict_one(x) for x in rows]


def test_a_pool_answers_files_and_a_holdout(tmp_path):
    path = tmp_path / "a.svm"
    path.write_text("".join(f"{1 if i % 3 else -1} {i % 3 + 1}:1 5:{i % 7}\n" for i in range(90)))
    nr.train(str(path), "auto", save=tmp_path / "m.nr")
    said = np.concatenate([a.y for a in answer(str(path), nr.load(tmp_path / "m.nr"))])
    assert np.mean(said == [1 if i % 3 else -1 for i in range(90)]) > 0.9
    assert nr.evaluate(str(path), "auto", holdout=str(path), regret=False).learners[0]["holdout"]["examples"] == 90


@pytest.mark.parametrize("n", [1, 200])
def test_rounding_is_no_regret(n):
    """The learners of a pool that are all alike: what was paid is a sum of weights, and may differ in the last bit."""
    m = nr.Hedge(learners=[nr.PA1(C=k + 1.0) for k in range(7)]).partial_fit(np.arange(1.0, n + 1.0)[:, None], ["pos"] * n)
    assert m.paid_ != m.losses_.min()
    assert m.regret_ == m.report()["regret"] == 0.0


def test_a_bound_on_a_loss_without_a_greatest_value_is_not_called_vacuous():
    """One round of log loss may cost any number, so fewer rounds than the bound say nothing about it."""
    told = nr.evaluate((np.ones((1, 1)), ["pos"]), "auto").learners[0]["regret"]
    assert told["loss"] == "log"
    assert told["bound"] > 1.0
    assert told["vacuous"] is None
    assert nr.evaluate((np.ones((1, 1)), ["pos"]), nr.Hedge(learners=["pa1", "ogd"])).learners[0]["regret"]["vacuous"]
