"""Probabilities: the printed traces, an independent transcription, invariants, guarantees, and the learners that have them."""

import json
import math

import numpy as np
import pytest
import reference_calibration as reference

import noregret as nr
from noregret.calibration.calibration import Linked, Scores
from noregret.calibration.calibrator import Calibrator
from noregret.engine.compiling import interpreted

P = np.array([[1, 2, 0], [0.5, -1, 1], [-1, 0.5, 2], [2, 1, -1], [0, 1, 0.5]])
M = np.array([[1, 0], [0, 1], [-1, -0.5], [1, 0.5], [0.5, -1]])
near = pytest.approx


def two(n=400, seed=0, drift=0.0):
    """Scores and codes: the second class with a probability that the score does not tell linearly."""
    rng = np.random.default_rng(seed)
    s = 3.0 * rng.standard_normal(n) * np.exp(drift * np.arange(n) / n)
    return s, (rng.random(n) < 1.0 / (1.0 + np.exp(-np.tanh(s) - 0.4))).astype(np.int64)


def many(n=300, K=5, seed=0, late=True):
    """Scores per class and codes, of which new ones come one after the other."""
    rng = np.random.default_rng(seed)
    f = 2.0 * rng.standard_normal((n, K))
    y = (f + 2.0 * rng.gumbel(size=f.shape)).argmax(1)
    for k in range(1, K):
        y[: 20 * k] = np.minimum(y[: 20 * k], k - 1) if late else y[: 20 * k]
    return f, y


def progressive(f, y, c=None, known=0, many=False):
    m = Calibrator(known)
    return m, m.follow(Scores(np.atleast_2d(f.T).T, many, 1), y, c)


# ---- traces ------------------------------------------------------------------------------------------------------------------
def test_trace_of_two_classes():
    m = nr.NAG(loss="log", probabilities=True, classes=[-1, 1])
    expected = [
        (0.5, (0.401058, 1), (1.240211, 0, 1), (0.25, 0.25, 0.25, 0.25)),
        (0.863503, (-0.048726, 0.1947), (1.486866, 0.356081, 1.514052), (0.25, 0.25, 0.25, 0.25)),
        (0.532303, (0.287604, -0.223126), (1.714754, 0.023395, 1.99973), (0.25, 0.25, 0.25, 0.25)),
        (0.7333, (0.047634, -0.414515), (1.957693, 0.250199, 2.211469), (0.24912, 0.249152, 0.249434, 0.252294)),
        (0.50419, (0.274411, -0.247831), (2.207487, 0.468974, 2.403078), (0.251239, 0.251195, 0.250797, 0.246769)),
    ]
    for x, y, (p, theta, Lambda, weights) in zip(P, [1, -1, 1, -1, 1], expected, strict=True):
        assert m.predict_proba_one(x)[1] == near(p, abs=6e-7)
        m.learn_one(x, y)
        state = m.model.calibration.state
        for name, values in (("theta", theta), ("Lambda", Lambda)):
            assert state[name][0] == near(values, abs=6e-7)
        assert state["weights"] == near(weights, abs=6e-7)
    knots = {
        0: [[0.64837, 3.272332, 0.234604, 0.844694], [0.64837, 2.35163, 0, 0], [0.272056, 1.545853, 0.175327, 0.729395]],
        3: [[0.651757, 2.881123, 0.238026, 0.844694], [0.651757, 2.026538, 0, 0], [0.272377, 1.357114, 0.176757, 0.729395]],
    }
    for j, values in knots.items():
        assert state["knots"][j, :, 5:9] == near(np.array(values), abs=6e-7)
        assert not state["knots"][j, :, [*range(5), *range(9, 13)]].any()
    assert state["theta"][3] == near((0.283655, -0.24315), abs=6e-7)


def test_trace_of_many_classes():
    m = nr.NAG(loss="log", probabilities=True, classes=[0, 1, 2])
    expected = [
        ((0.416666, 0.291667, 0.291667), 1, (0.461538, -0.3, -0.3)),
        ((0.860242, 0.047902, 0.091856), 0.582343, (0.068313, 0.171829, -0.384283)),
        ((0.198982, 0.634167, 0.16685), 0.535421, (-0.045126, -0.059905, 0.068194)),
        ((0.4409, 0.29473, 0.26437), 0.349382, (-0.252132, -0.167164, 0.399092)),
        ((0.36956, 0.234823, 0.395617), 0.13945, (-0.340636, 0.109723, 0.168416)),
    ]
    for i, (x, y, (p, a, b)) in enumerate(zip(M, [0, 1, 2, 2, 1], expected, strict=True)):
        assert [*m.predict_proba_one(x).values()] == near(p, abs=6e-7)
        m.partial_fit([x], [y])
        state = m.model.calibration.state
        assert state["a"][0] == near(a, abs=6e-7)
        assert state["b"][0] == near(b, abs=6e-7)
        if i == 0:
            assert state["weights"] == near([0.114286, 0.135714] * 4, abs=6e-7)
    last = (0.112806, 0.13347, 0.112855, 0.133546, 0.113306, 0.134236, 0.118228, 0.141554)
    assert state["weights"] == near(last, abs=6e-7)
    assert state["a"] == near((0.13945, 0.138936, 0.134283, 0.085285), abs=6e-7)


# ---- an independent transcription --------------------------------------------------------------------------------------------
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("drift", [0.0, 8.0])
def test_two_classes_as_transcribed(weighted, drift):
    s, y = two(drift=drift)
    c = np.random.default_rng(1).integers(0, 4, len(y)) / 2.0 if weighted else None
    _, p = progressive(s, y, c)
    expected = reference.progressive(s, y, c)
    assert sum(e is None for e in expected) < 20
    for mine, theirs in zip(p, expected, strict=True):
        assert theirs is None or mine == near(theirs, abs=1e-11)


@pytest.mark.parametrize("declared", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_many_classes_as_transcribed(declared, weighted):
    f, y = many(late=not declared)
    c = np.random.default_rng(1).integers(1, 4, len(y)) / 2.0 if weighted else None
    _, p = progressive(f, y, c, known=5 if declared else 0, many=True)
    for i, theirs in enumerate(reference.progressive(f, y, c, declared=5 if declared else None)):
        assert theirs is None or p[i, : len(theirs)] == near(theirs, abs=1e-11)
        assert theirs is None or not p[i, len(theirs) :].any()


def test_interpreted_as_compiled():
    s, y = two(60)
    f, z = many(60, 3)
    compiled = progressive(s, y)[1], progressive(f, z, many=True)[1]
    with interpreted():
        plain = progressive(s, y)[1], progressive(f, z, many=True)[1]
    for a, b in zip(compiled, plain, strict=True):
        np.testing.assert_array_equal(a, b)


# ---- invariants --------------------------------------------------------------------------------------------------------------
def test_scores_times_a_number_have_the_same_probabilities():
    s, y = two(2000)
    f, z = many(500)
    for c in (1e-9, 3.7, 1e12):
        assert progressive(c * s, y)[1] == near(progressive(s, y)[1], abs=1e-12)
        assert progressive(c * f, z, many=True)[1] == near(progressive(f, z, many=True)[1], abs=1e-12)
    shifted = f + np.random.default_rng(2).standard_normal((len(z), 1))
    assert progressive(shifted, z, many=True)[1] == near(progressive(f, z, many=True)[1], abs=1e-12)


def test_the_other_class_has_the_other_probability():
    s, y = two(2000)
    assert progressive(-s, 1 - y)[1] == near(progressive(s, y)[1][:, ::-1], abs=1e-11)


def test_renaming_classes_permutes_probabilities():
    f, y = many(late=False)
    order = np.array([3, 0, 4, 1, 2])
    back = np.argsort(order)
    assert progressive(f[:, order], back[y], known=5, many=True)[1] == near(
        progressive(f, y, known=5, many=True)[1][:, order], abs=1e-12
    )


def test_states_stay_within_their_ranges():
    m, p = progressive(*two(3000, drift=30.0))
    assert ((p >= 1e-6 * (1 - 1e-9)) & (p <= 1.0 - 1e-6 * (1 - 1e-9))).all()
    check_state(m.state)
    m, p = progressive(*many(1000), many=True)
    assert p.sum(1) == near(np.ones(1000), abs=1e-14)
    assert (p[100:] >= 1e-6 * (1 - 1e-9)).all()
    check_state(m.state)
    assert (m.state["A"] >= 1.0 - 1e-12).all()
    assert (m.state["B"] >= 1.0 - 1e-12).all()


def check_state(state):
    a, b, d = state["Lambda"].T
    least = [np.linalg.eigvalsh([[a[j], b[j]], [b[j], d[j]]])[0] for j in range(4)]
    assert min(least) >= 1.0 - 1e-9
    N, C, E = state["knots"].transpose(1, 0, 2)
    assert (C >= 0).all()
    assert (E >= 0).all()
    assert (C <= N + 1e-9).all()
    assert (E <= N + 1e-9).all()
    assert state["weights"].sum() == near(1.0)


def test_scores_of_0_have_the_frequency_of_the_label():
    y = (np.random.default_rng(0).random(5000) < 0.3).astype(np.int64)
    m, _ = progressive(np.zeros(5000), y)
    assert m.forecast(Scores(np.zeros((1, 1)), False, 1), 2)[0, 1] == near(y.mean(), abs=0.02)


@pytest.mark.parametrize("scale", [1e300, 1e-300, 0.0])
def test_scores_of_any_size_have_probabilities(scale):
    s, y = two(200)
    f, z = many(200)
    for p in (progressive(scale * s, y)[1], progressive(scale * f, z, many=True)[1]):
        assert np.isfinite(p).all()
        assert p.sum(1) == near(np.ones(200))


@pytest.mark.parametrize("weight", [1e-300, 1e12, 1e300])
def test_weights_of_any_size_leave_the_state_finite(weight):
    for m in (progressive(*two(200), np.full(200, weight))[0], progressive(*many(200), np.full(200, weight), many=True)[0]):
        assert all(np.isfinite(a).all() for a in m.arrays().values())


def test_rows_of_weight_0_change_nothing():
    s, y = two(100)
    c = np.arange(100) % 3 > 0
    a, p = progressive(s, y, c.astype(float))
    b, q = progressive(s[c], y[c])
    np.testing.assert_array_equal(p[c], q)
    for k in a.state:
        np.testing.assert_array_equal(a.state[k], b.state[k])


# ---- guarantees --------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("seed", range(3))
def test_the_mixture_loses_little_to_the_best_of_its_experts(seed):
    s, y = two(400, seed, drift=3.0 * seed)
    model, losses, own = reference.Two(), np.zeros(4), 0.0
    for score, hit in zip(s, y, strict=True):
        p = np.array([e.probability(model.z(score)) for e in model.experts])
        losses -= np.log(p if hit else 1 - p)
        model.learn(score, float(hit))
    p = progressive(s, y, known=2)[1]
    own = -np.log(p[np.arange(len(y)), y]).sum()
    assert own <= losses.min() + math.log(4) + math.log(len(y))
    assert -np.log(p[np.arange(len(y)), y]).max() <= math.log(1e6) * (1 + 1e-9)


def test_probabilities_are_calibrated():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 5))
    y = (rng.random(20_000) < 1.0 / (1.0 + np.exp(-X @ [1, -2, 0.5, 0, 1]))).astype(int)
    found = nr.compare((X, y), ["perceptron", "pa1:C=0.1", "nag", "arow"], probabilities=True, regret=False).learners
    for learner in found:
        assert learner["metrics"]["ece"] < 0.02, learner["label"]
        assert learner["metrics"]["log_loss"] < math.log(2), learner["label"]


# ---- learners ----------------------------------------------------------------------------------------------------------------
def rows(K=2, n=300, seed=3):
    return nr.checks.stream(nr.PA1(), n=n, K=K, seed=seed)


@pytest.mark.parametrize("K", [2, 4])
@pytest.mark.parametrize("name", ["pa1", "arow", "nag", "eg", "mira", "voted_perceptron", "bpa_s", "fobos", "hedge"])
def test_scores_and_updates_are_the_same_with_and_without(name, K):
    X, y = rows(K)
    plain, probable = nr.learner(name), nr.learner(name, probabilities=True)
    if name == "eg":
        X = np.abs(X)
    np.testing.assert_array_equal(plain.learn_many(X, y), probable.learn_many(X, y))
    for k, a in plain.model.arrays().items():
        np.testing.assert_array_equal(a, probable.model.arrays()[k])
    meta, tensors = plain.pack()
    also, others = probable.pack()
    assert {k for k in others if not k.startswith("calibration.")} == {*tensors}
    assert {k: v for k, v in also["model"].items() if k != "calibrated"} == meta["model"]
    p = probable.predict_proba(X)
    assert p.shape == (len(X), len(probable.classes_))
    assert p.sum(1) == near(np.ones(len(X)))


def test_off_by_default_and_the_error_names_the_option():
    X, y = rows()
    m = nr.PA1().fit(X, y)
    for name in ("predict_proba", "predict_proba_one", "calibrate"):
        assert not hasattr(m, name)
        assert not hasattr(nr.pipeline(nr.Scale(), m), name)
        with pytest.raises(AttributeError, match=r"^PA1 learns probabilities where it is asked to: give it probabilities=True$"):
            getattr(m, name)
    assert m.model.calibration is None
    with pytest.raises(TypeError, match="probabilities must be True or False, got 'yes'"):
        nr.PA1(probabilities="yes").fit(X, y)
    with pytest.raises(TypeError, match="probabilities"):
        nr.NAGRegressor(probabilities=True)


def test_one_class_after_the_other():
    m = nr.PA1(probabilities=True)
    assert m.predict_proba_one({"a": 1}) == {}
    m.learn_one({"a": 1}, "x")
    assert m.predict_proba_one({"a": 1}) == {"x": 1.0}
    m.learn_one({"b": 1}, "w")
    assert list(m.predict_proba_one({"a": 1})) == ["w", "x"]
    m.learn_one({"c": 1}, "z")
    found = m.predict_proba_one({"a": 1})
    assert list(found) == ["w", "x", "z"]
    assert sum(found.values()) == near(1.0)
    assert m.predict_proba([{"a": 1}])[0] == near(list(found.values()))


def test_declared_classes_have_probabilities_before_any_row():
    m = nr.PA1(probabilities=True, classes=["a", "b", "c"])
    assert sum(m.predict_proba_one({"x": 1}).values()) == near(1.0)
    assert nr.PA1(probabilities=True, classes=[0, 1]).predict_proba_one({"x": 1}) == {0: 0.5, 1: 0.5}


@pytest.mark.parametrize("K", [2, 4])
@pytest.mark.parametrize("make", [lambda: nr.AROW(probabilities=True), lambda: nr.Hedge(learners="pa1+nag", probabilities=True)])
def test_saved_and_resumed(make, K, tmp_path):
    X, y = rows(K)
    m = make().partial_fit(X[:100], y[:100])
    m.save(tmp_path / "m.nr")
    again = nr.load(tmp_path / "m.nr")
    assert again.digest() == m.digest()
    for model in (m, again):
        model.partial_fit(X[100:], y[100:])
    assert again.digest() == m.digest()
    np.testing.assert_array_equal(m.predict_proba(X), again.predict_proba(X))
    assert not m.clone().started
    assert m.clone().probabilities is True


def test_files_without_them_begin_them_when_asked(tmp_path):
    X, y = rows(4)
    m = nr.PA1().partial_fit(X[:200], y[:200])
    m.save(tmp_path / "m.nr")
    again = nr.load(tmp_path / "m.nr").set_params(probabilities=True)
    assert again.model.calibration.known == 4
    again.partial_fit(X[200:], y[200:])
    assert again.predict_proba(X).shape == (300, 4)
    again.set_params(probabilities=False)
    assert again.digest() == m.partial_fit(X[200:], y[200:]).digest()


def test_damaged_files_are_refused(tmp_path):
    X, y = rows(4)
    m = nr.PA1(probabilities=True).partial_fit(X, y)
    for name, value in (("weights", -1.0), ("A", 0.0), ("Lambda", np.nan), ("knots", -1.0), ("totals", -1.0)):
        broken = nr.from_bytes(m.to_bytes())
        broken.model.calibration.state[name][:] = value
        with pytest.raises(nr.ModelFileError, match="expected"):
            nr.from_bytes(broken.to_bytes())


def test_only_the_first_epoch_teaches_probabilities():
    X, y = rows()
    once, more = (nr.NAG(probabilities=True).fit(X, y, epochs=k) for k in (1, 5))
    for k, a in once.model.calibration.arrays().items():
        np.testing.assert_array_equal(a, more.model.calibration.arrays()[k])
    pipes = [nr.pipeline(nr.Scale(), nr.NAG(probabilities=True)).fit(X, y, epochs=k) for k in (1, 5)]
    states = [p.learner.model.calibration.arrays() for p in pipes]
    for k, a in states[0].items():
        np.testing.assert_array_equal(a, states[1][k])
    jobs = [nr.train((X, y), nr.NAG(probabilities=True), epochs=k).model.model.calibration.arrays() for k in (1, 3)]
    for k, a in jobs[0].items():
        np.testing.assert_array_equal(a, jobs[1][k])


def test_calibrate_learns_from_rows_that_the_learner_does_not():
    X, y = rows(3, 600)
    m = nr.PA1(probabilities=True).fit(X[:300], y[:300], epochs=3)
    f, before = m.decision_function(X), m.model.tally.copy()
    p = m.predict_proba(X)
    m.calibrate(X[300:], y[300:])
    np.testing.assert_array_equal(m.decision_function(X), f)
    np.testing.assert_array_equal(m.model.tally, before)
    assert abs(m.predict_proba(X) - p).max() > 0.01
    with pytest.raises(ValueError, match="the label 9, which the learner has not met"):
        nr.PA1(probabilities=True).partial_fit(X, y).calibrate(X[:2], [9, 0])
    pipe = nr.pipeline(nr.Scale(), nr.PA1(probabilities=True)).fit(X[:300], y[:300])
    assert pipe.calibrate(X[300:], y[300:]).predict_proba(X).shape == (600, 3)


def test_pipelines_and_compact_predictors_have_them():
    X, y = rows(3)
    m = nr.pipeline(nr.Scale(), nr.PA1(probabilities=True)).partial_fit(X, y)
    assert m.predict_proba(X).sum(1) == near(np.ones(len(X)))
    texts = nr.pipeline(nr.Text("t"), nr.NAG(probabilities=True))
    assert texts.predict_proba_one({"t": "free money"}) == {}
    for _ in range(20):
        texts.learn_one({"t": "free money"}, "spam"), texts.learn_one({"t": "lunch at noon"}, "ham")
    assert texts.predict_proba_one({"t": "free lunch money"})["spam"] > 0.5
    learner = nr.PA1(probabilities=True).partial_fit(X, y)
    small = nr.from_bytes(learner.compact().to_bytes())
    assert small.predict_proba(X) == near(learner.predict_proba(X), abs=1e-9)
    assert not hasattr(nr.PA1().partial_fit(X, y).compact(), "predict_proba")


@pytest.mark.parametrize("K", [2, 4])
def test_a_pool_mixes_the_probabilities_of_its_learners(K):
    X, y = rows(K, 200)
    m = nr.Hedge(learners=[nr.PA1(), nr.NAG()], probabilities=True).partial_fit(X, y)
    alone = [nr.learner(name, probabilities=True).partial_fit(X, y).predict_proba(X) for name in ("pa1", "nag")]
    w = m.model.calibration.weighing.weights
    assert m.predict_proba(X) == near(w[0] * alone[0] + w[1] * alone[1], abs=1e-12)
    assert nr.Auto().probabilities is True
    assert nr.Hedge().probabilities is False


def test_merged_probabilities():
    X, y = rows(2, 2000)
    whole = nr.AROW(probabilities=True).partial_fit(X, y)
    a, b = (nr.AROW(probabilities=True).partial_fit(X[i::2], y[i::2]) for i in (0, 1))
    merged = a.merge(b)
    assert abs(merged.predict_proba(X) - whole.predict_proba(X)).mean() < 0.05
    check_state(merged.model.calibration.state)
    turned = nr.AROW(probabilities=True).partial_fit(X[::-1], np.array(["no", "yes"])[(y[::-1] > 0).astype(int)])
    other = nr.AROW(probabilities=True).partial_fit(X, np.array(["no", "yes"])[(y > 0).astype(int)])
    joint = other.merge(turned)
    assert abs(joint.predict_proba(X)[:, 1] - whole.predict_proba(X)[:, 1]).mean() < 0.05
    many = [nr.AROW(probabilities=True).partial_fit(*rows(4, 400, s)) for s in (1, 2)]
    assert many[0].merge(many[1]).predict_proba(X).sum(1) == near(np.ones(len(X)))


def test_scores_that_are_probabilities_say_so():
    f = np.array([[0.2, 0.5, 0.3]])
    assert Linked("probabilities").forecast(Scores(f, True, 1), 3) == near(f)
    assert Linked("probabilities").forecast(Scores(np.array([[0.5]]), False, 1), 2) == near(np.array([[0.25, 0.75]]))
    assert Linked("log_odds").forecast(Scores(np.log(f), True, 1), 3) == near(f)
    assert Linked("log_odds").forecast(Scores(np.array([[math.log(3)]]), False, 0), 2) == near(np.array([[0.75, 0.25]]))


@pytest.mark.parametrize("make", [lambda: nr.PA1(probabilities=True), lambda: nr.EG(probabilities=True), nr.Auto])
def test_the_laws_hold(make):
    nr.checks.run(make())


# ---- figures -----------------------------------------------------------------------------------------------------------------
def test_figures_of_the_traces():
    m = nr.NAG(loss="log", probabilities=True, classes=[-1, 1])
    found = nr.evaluate((P, [1, -1, 1, -1, 1]), m, regret=False).learners[0]
    assert found["metrics"]["log_loss"] == near(5.321574 / 5, abs=1e-6)
    assert found["metrics"]["brier"] == near(0.399587, abs=1e-6)
    assert found["metrics"]["ece"] == near(0.612062, abs=1e-6)
    assert found["metrics"]["unforecast"] == 0
    assert [(int(15 * b["probability"]), b["examples"]) for b in found["reliability"]["bins"]] == [(7, 3), (10, 1), (12, 1)]
    m = nr.NAG(loss="log", probabilities=True, classes=[0, 1, 2])
    found = nr.evaluate((M, [0, 1, 2, 2, 1]), m, regret=False).learners[0]
    assert found["metrics"]["log_loss"] == near(8.484056 / 5, abs=1e-6)
    assert found["metrics"]["brier"] == near(1.000451, abs=1e-6)
    assert found["metrics"]["ece"] == near(0.406492, abs=1e-6)


@pytest.mark.parametrize("names", [["no", "yes"], ["yes", "no"]])
def test_figures_as_scikit_learn(names):
    from sklearn.metrics import brier_score_loss, log_loss

    X, y = rows(2, 500)
    labels = np.array(names)[(y > 0).astype(int)]
    m = nr.AROW(probabilities=True)
    p, truth = [], []
    for x, label in zip(X, labels, strict=True):
        if m.started and len(m.classes_) == 2:
            p.append(m.predict_proba_one(x)["yes"])
            truth.append(label == "yes")
        m.partial_fit([x], [label])
    found = nr.evaluate((X, labels), nr.AROW(), probabilities=True, regret=False).learners[0]
    assert found["metrics"]["log_loss"] == near(log_loss(truth, p))
    assert found["metrics"]["brier"] == near(brier_score_loss(truth, p))
    assert found["metrics"]["unforecast"] == 500 - len(p)
    bins = found["reliability"]
    assert bins["of"] == "yes"
    assert sum(b["examples"] for b in bins["bins"]) == len(p)
    assert sum(b["examples"] * b["share"] for b in bins["bins"]) == near(sum(truth))
    assert all(b["low"] <= b["share"] <= b["high"] for b in bins["bins"])


@pytest.mark.parametrize("how", [{"delay": 20}, {"ask": "margin"}, {"holdout": None}, {"drift": "adwin", "on_drift": "reset"}])
def test_probabilities_are_measured_however_a_stream_is_taken(how):
    X, y = rows(4, 400)
    how = {k: (X, y) if k == "holdout" else v for k, v in how.items()}
    learner = nr.PA1()
    found = nr.evaluate((X, y), learner, probabilities=True, regret=False, **how).learners[0]
    assert 0.0 < found["metrics"]["log_loss"] < 3.0
    assert "log_loss" in found.get("holdout", found)["metrics"]
    assert learner.probabilities is False
    assert learner.model.calibration is None
    assert "log_loss" not in nr.evaluate((X, y), nr.PA1(), regret=False).learners[0]["metrics"]
    json.dumps(found)


def test_to_sort_by_them_is_to_ask_for_them():
    X, y = rows(2, 300)
    report = nr.compare((X, y), ["pa1", "perceptron", "arow"], sort="log_loss", regret=False)
    losses = {m["label"]: m["metrics"]["log_loss"] for m in report.learners}
    assert report.winner == min(losses, key=losses.get)
    with pytest.raises(ValueError, match="probabilities=True is for classifiers: nag_regressor has none"):
        nr.evaluate((X, y * 1.5), nr.NAGRegressor(), probabilities=True)


def test_the_report_shows_them(tmp_path):
    X, y = rows(2, 300)
    report = nr.compare((X, y), ["pa1", "arow"], probabilities=True, regret=False)
    assert "log loss of p" in report.text(width=200)
    page = report.to_html()
    assert 'id="reliability-chart"' in page
    assert "calibration error" in page
    report.plot(tmp_path / "r.svg", "reliability")
    assert "reliability" not in report.to_csv()
    again = nr.Report.from_dict(json.loads(report.to_json()))
    assert again.to_html() == page


# ---- the command line --------------------------------------------------------------------------------------------------------
def run(*args):
    from click.testing import CliRunner

    from noregret.cli import main

    return CliRunner().invoke(main, [str(a) for a in args])


@pytest.fixture
def source(tmp_path):
    X, y = rows(3, 200)
    names = np.array(["red", "green", "blue"])[y]
    path = tmp_path / "rows.csv"
    path.write_text("colour,a,b,c\n" + "".join(f"{n},{x[0]},{x[1]},{x[2]}\n" for n, x in zip(names, X, strict=True)))
    return path


def test_predict_writes_a_column_per_class(source, tmp_path):
    model = tmp_path / "m.nr"
    assert (
        run("train", source, "--target", "colour", "--model", "pa1", "--probabilities", "--save", model, "--quiet").exit_code == 0
    )
    done = run("predict", source, "--model-file", model, "--proba", "--as", "csv", "--quiet")
    lines = done.stdout.splitlines()
    assert lines[0] == "prediction,probability blue,probability green,probability red"
    assert sum(map(float, lines[1].split(",")[1:])) == near(1.0)
    done = run("predict", source, "--model-file", model, "--proba", "--scores", "--as", "jsonl", "--quiet", "--limit", 1)
    found = json.loads(done.stdout)
    assert [*found] == ["prediction", "scores", "proba"]
    assert [*found["proba"]] == ["blue", "green", "red"]
    text = run("predict", source, "--model-file", model, "--proba", "--quiet", "--limit", 1).stdout.split("\t")
    assert [float(v) for v in text[1:]] == near([*found["proba"].values()])


def test_predict_of_a_model_without_them_says_how_to_train_it(source, tmp_path):
    model = tmp_path / "m.nr"
    run("train", source, "--target", "colour", "--model", "pa1", "--save", model, "--quiet")
    done = run("predict", source, "--model-file", model, "--proba")
    assert done.exit_code == 2
    assert f"{model} has learned no probabilities: train it with --probabilities" in done.output


def test_evaluate_measures_them(source):
    done = run("evaluate", source, "--target", "colour", "--model", "pa1", "--proba", "--json", "--quiet")
    metrics = json.loads(done.stdout)["metrics"]
    assert {"log_loss", "brier", "ece", "sharpness", "unforecast"} <= {*metrics}
    done = run("evaluate", source, "--target", "a", "--model", "nag_regressor", "--proba", "--quiet")
    assert (done.exit_code, done.output) == (1, "Error: --proba is for classifiers: nag_regressor has none\n")
