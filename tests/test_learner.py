"""The verbs and what can be read back: labels, features, weights, epochs, merging, parameters."""

import copy
import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

import noregret as nr
from noregret.algorithm.params import same_value
from noregret.engine import compiling
from noregret.inputs import features
from noregret.inputs.features import Names
from noregret.inputs.hashing import hash_name, murmur3


def stream(K=2, n=80, d=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    f = X @ rng.standard_normal((d, K))
    return X, f.argmax(1)


def arrays(m):
    return {**m.model.arrays(), "tally": m.model.tally}


def same(a, b):
    return all(np.array_equal(v, arrays(b)[k]) for k, v in arrays(a).items())


# ---- labels ----------------------------------------------------------------------------------------------------------
def test_before_any_label_the_answer_is_none():
    m = nr.PA1()
    assert m.predict_one({"a": 1}) is None
    assert not m.started
    assert nr.PA1Regressor().predict_one([1.0, 2.0]) == 0.0
    assert m.learn_one({"a": 1}, "x") is None
    assert m.predict_one({"b": 5}) == "x"  # the only one known
    assert m.learn_one({"a": -1}, "y") == "x"
    assert m.n_mistakes_ == 2


def test_labels_of_any_hashable_type():
    for labels in (
        ("spam", "ham"),
        (True, False),
        ((1, "a"), (2, "b")),
        (1.0, 2.0),
        (b"x", b"y"),
        (frozenset("a"), frozenset("b")),
    ):
        m = nr.PA1()
        for i in range(20):
            m.learn_one({"a": 1.0 - 2.0 * (i % 2)}, labels[i % 2])
        assert m.predict_one({"a": 1.0}) == labels[0]
        assert m.predict_one({"a": -1.0}) == labels[1]
        assert set(m.classes_.tolist()) == set(labels)


def test_labels_that_cannot_be_ordered_keep_their_order_of_appearance():
    m = nr.PA1().partial_fit([[1.0], [-1.0], [0.5]], np.array(["b", 3, "b"], object))
    assert m.classes_.tolist() == ["b", 3]
    assert m.predict([[2.0], [-2.0]]).tolist() == ["b", 3]
    assert (m.decision_function([[2.0], [-2.0]]) > 0).tolist() == [False, True]


@pytest.mark.parametrize("bad", [None, float("nan"), [1], {"a": 1}, 0.5, np.float32(0.5), math.inf])
def test_what_is_not_a_label(bad):
    m = nr.PA1().partial_fit([[1.0], [-1.0]], ["a", "b"])
    before = copy.deepcopy(m)
    with pytest.raises((TypeError, ValueError), match="label"):
        m.learn_one({0: 1.0}, bad)
    assert same(m, before)


VERBS = {
    "learn_one": lambda m, labels: [m.learn_one({"a": 1.0}, v) for v in labels],
    "partial_fit": lambda m, labels: m.partial_fit(np.ones((len(labels), 1)), labels),
    "array": lambda m, labels: m.partial_fit(np.ones((len(labels), 1)), np.array(labels, object)),
    "calls": lambda m, labels: [m.partial_fit([[1.0]], [v]) for v in labels],
    "dicts": lambda m, labels: m.partial_fit([{"a": 1.0}] * len(labels), labels),
    "fit": lambda m, labels: m.fit(np.ones((len(labels), 1)), labels),
    "classes": lambda m, labels: m.set_params(classes=labels).partial_fit([[1.0]], labels[:1]),
    "stream": lambda m, labels: nr.evaluate((np.ones((len(labels), 1)), labels), m),
}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ([0, 1, True], "booleans or numbers, not both: found True and 0"),
        ([True, False, 1], "booleans or numbers, not both: found True and 1"),
        ([False, True, 2.0], "booleans or numbers, not both"),
        ([0, 1, np.True_], "booleans or numbers, not both"),
        (["a", 1, 0.5], r"Unknown label type: continuous.*0\.5"),
        ([0, 1, 0.5], r"Unknown label type: continuous.*0\.5"),
    ],
)
def test_fractions_and_booleans_beside_numbers_are_refused_everywhere(verb, labels, said):
    with pytest.raises(ValueError, match=said):
        VERBS[verb](nr.PA1(), labels)


@pytest.mark.parametrize("verb", VERBS)
def test_equal_numbers_are_one_label_and_booleans_may_stand_beside_text(verb):
    for labels, known in (([1, 2, np.float64(1.0), np.int8(2)], 2), ([False, True, np.True_], 2), (["a", True, "b"], 3)):
        m = nr.PA1()
        VERBS[verb](m, labels)
        assert len(m.classes_) == known


def test_models_with_booleans_and_with_numbers_do_not_merge():
    a, b = (nr.PA1().partial_fit([[1.0], [-1.0]], y) for y in ([False, True], [0, 1]))
    with pytest.raises(ValueError, match="booleans or numbers"):
        a.merge(b)
    assert a.classes_.tolist() == [False, True]


def test_a_score_of_zero_predicts_the_second_class():
    for labels in ([-1, 1], [1, -1], ["b", "a"], [2, 7], [0, 1]):
        m = nr.PA1(fit_intercept=False).partial_fit([[1.0], [-1.0]], labels)
        assert m.predict([[0.0]])[0] == m.classes_[1]
        assert m.predict_one([0.0]) == m.classes_[1]
        assert m.classes_.tolist() == sorted(labels)


def test_with_many_classes_ties_go_to_the_one_known_first():
    m = nr.PA1(fit_intercept=False).partial_fit([[1.0], [-1.0], [2.0]], ["c", "b", "a"])
    assert m.predict([[0.0]])[0] == "c"
    assert nr.PA1(fit_intercept=False, classes=["c", "b", "a"]).partial_fit([[1.0]], ["b"]).predict([[0.0]])[0] == "a"


def test_two_classes_become_three_without_losing_what_was_learned():
    X, y = stream()
    for name in nr.algorithms("classification"):
        m = nr.learner(name)
        Z = np.minimum(np.abs(X), 1.0) if m.nonnegative else X
        m.partial_fit(Z, y)
        before = m.predict(Z)
        m.model.labels.extend([2])
        m.model.relabel()
        if not m.nonnegative:  # Winnow's threshold has no counterpart among many classes
            assert np.array_equal(before, m.predict(Z)), name
        m.partial_fit(Z, y * 2)
        assert m.classes_.tolist() == [0, 1, 2]


def test_declared_classes_are_a_promise():
    m = nr.PA1().partial_fit([[1.0]], ["a"], classes=["a", "b"])
    before = copy.deepcopy(m)
    with pytest.raises(ValueError, match="'c', not in the declared classes"):
        m.partial_fit([[1.0]], ["c"])
    with pytest.raises(ValueError, match="differ from those of the first call"):
        m.partial_fit([[1.0]], ["a"], classes=["a", "c"])
    with pytest.raises(ValueError, match="declared classes"):
        m.learn_one([1.0], "c")
    assert same(m, before)
    assert nr.PA1(classes=["a", "b"]).partial_fit([[1.0]], ["a"]).classes_.tolist() == ["a", "b"]


def test_first_label_zero_or_minus_one_is_the_negative_class():
    X = [[1.0, 0.0], [0.0, 1.0]] * 6
    for labels in ((0, 1), (-1, 1), (False, True)):
        forward = nr.Winnow(theta=1.5).partial_fit(X, list(labels) * 6)
        backward = nr.Winnow(theta=1.5).partial_fit(X[1:], (list(labels) * 6)[1:])
        assert (forward.coef_ > 0).all()
        assert forward.predict([[0.0, 1.0]]) == backward.predict([[0.0, 1.0]]) == labels[1]


# ---- features --------------------------------------------------------------------------------------------------------
def test_names_grow_and_keep_what_was_learned():
    m = nr.PA1()
    m.learn_one({"a": 1.0}, 1)
    m.learn_one({"a": -1.0}, 0)
    w = dict(zip(m.feature_names_, m.coef_[0]))
    for i in range(100):
        m.learn_one({f"new{i}": 0.0}, i % 2)
    assert dict(zip(m.feature_names_, m.coef_[0]))["a"] == w["a"]
    assert len(m.feature_names_) == m.n_features_in_ == 101
    m.predict_one({"unheard of": 3.0})
    assert m.n_features_in_ == 101


def test_array_models_take_dicts_and_rows():
    X, y = stream()
    a, b, c = nr.PA1().partial_fit(X, y), nr.PA1().partial_fit(X[:5], y[:5]), nr.PA1().partial_fit(X[:5], y[:5])
    for r, t in zip(X[5:], y[5:].tolist()):
        b.learn_one(dict(enumerate(r.tolist())), t)
        c.learn_one(r, t)
    np.testing.assert_allclose(a.coef_, b.coef_)
    np.testing.assert_allclose(a.coef_, c.coef_)
    with pytest.raises(ValueError, match="unknown feature 5"):
        a.learn_one({5: 1.0}, 0)
    with pytest.raises(ValueError, match="expected one row of 5 features"):
        a.predict_one([1.0])


def test_named_models_refuse_arrays_and_take_lists_of_dicts():
    rows = [{"a": 1.0}, {"b": 1.0}, {"a": 0.5, "c": 1.0}]
    m, one = nr.PA1().partial_fit(rows, ["x", "y", "x"]), nr.PA1()
    for r, t in zip(rows, ["x", "y", "x"]):
        one.learn_one(r, t)
    assert same(m, one)
    assert m.predict(rows).tolist() == [one.predict_one(r) for r in rows]
    X, y = stream(3, n=40)
    dicts = [dict(enumerate(r.tolist())) for r in X]
    f, g = nr.PA1().learn_many(dicts, y), nr.PA1().learn_many(X, y)
    np.testing.assert_allclose(f, g, atol=1e-12)
    np.testing.assert_allclose(nr.PA1Regressor().learn_many(dicts, y), nr.PA1Regressor().learn_many(X, y), atol=1e-12)
    with pytest.raises(ValueError, match="named features"):
        m.predict([[1.0, 2.0]])
    before = copy.deepcopy(m)
    with pytest.raises(TypeError, match="feature 'd' has value 'FR'"):
        m.partial_fit([{"a": 1.0, "e": 2.0}, {"d": "FR"}], ["x", "y"])
    assert same(m, before)
    assert m.feature_names_ == before.feature_names_


@pytest.mark.parametrize("hash_bits", [None, 4])
@pytest.mark.parametrize("name", ["pa1", "eg_pm", "group_lasso"])
def test_a_list_of_dicts_learns_what_a_loop_learns(name, hash_bits):
    rows = [{f"{chr(97 + i % 3)}_{j % (i + 2)}": float(1 + j) for j in range(i % 5)} for i in range(30)]
    y, c = [i % 2 if i < 20 else i % 3 for i in range(30)], [(i % 4) / 2 for i in range(30)]
    given = {"groups": "prefix:_"} if name == "group_lasso" and hash_bits is None else {}
    for weights in (None, c):
        many, one = (nr.learner(name, hash_bits=hash_bits, **given) for _ in range(2))
        f = [many.learn_many(rows[a:b], y[a:b], sample_weight=weights and weights[a:b]) for a, b in ((0, 7), (7, 8), (8, 30))]
        for x, t, w in zip(rows, y, weights or np.ones(30)):
            one.learn_one(x, t, w)
        assert many.to_bytes() == one.to_bytes()
        assert [np.shape(v) for v in f] == [(7,), (1,), (22, 3)]


def test_learn_many_returns_scores_whatever_the_rows_are():
    rows, y = [{"a": 1.0}, {"b": 1.0}, {"a": 1.0}], ["x", "y", "x"]
    m = nr.PA1()
    scores = m.learn_many(rows, y)
    np.testing.assert_allclose(scores, nr.PA1().learn_many([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]], y))
    before = m.decision_function(rows[:1])
    assert m.learn_many(rows[:1], y[:1]) == pytest.approx(before)


@pytest.mark.skipif(compiling.interpreting(), reason="compiled code reads them")
def test_a_list_of_dicts_is_read_at_once(monkeypatch):
    rows, y = [{"a": 1.0, "b": i} for i in range(9)], [0, 1, 2] * 3
    m = nr.PA1().partial_fit(rows, y)
    read, alone, whole = [], Names.row, features.read_many
    monkeypatch.setattr(Names, "row", lambda f, x, grow: read.append(len(x)) or alone(f, x, grow))
    monkeypatch.setattr(features, "read_many", lambda *given, **how: read.append(len(given[0])) or whole(*given, **how))
    m.partial_fit(rows, y)
    assert read == [9]
    m.partial_fit([{"new": 1.0, "c": 2.0}, *rows], [0, *y])
    assert read == [9, 10, 10, 2]  # up to the new names; with them; and they alone join the table


def test_a_bad_dict_in_a_list_changes_nothing():
    m = nr.PA1().partial_fit([{"a": 1.0}, {"b": 1.0}], [0, 1])
    before = copy.deepcopy(m)
    for rows, y in (([{"new": 1.0}, {"a": math.nan}], [0, 1]), ([{"new": 1.0}, {"a": 1.0}], [2, 0.5]), ([{"new": 1.0}], [0, 1])):
        with pytest.raises(ValueError, match=r"contains nan|continuous|inconsistent"):
            m.partial_fit(rows, y)
    m.partial_fit([{"new": 1.0}], [2], sample_weight=[0.0])
    assert same(m, before)
    assert m.feature_names_ == ["a", "b"]
    assert m.classes_.tolist() == [0, 1]


def test_hashing_is_stable_and_counts_collisions():
    assert murmur3(b"") == 0
    assert murmur3(b"hello") == 0x248BFA47
    assert murmur3(b"hello, world") == 0x149BBB7F
    assert murmur3(b"The quick brown fox jumps over the lazy dog") == 0x2E4FF723
    assert hash_name(np.int64(3)) == hash_name(3) == hash_name(3.0) == 3
    m = nr.PA1(hash_bits=3)
    for i in range(40):
        m.learn_one({f"n{i}": 1.0, f"m{i}": 1.0}, i % 2)
    assert m.hash_collisions_ > 0
    assert m.coef_.shape == (1, 8)
    assert len(m.model.features.table) <= 16
    wide = nr.PA1(hash_bits=20).partial_fit([{"a": 1.0}, {"b": 1.0}], [0, 1])
    assert wide.hash_collisions_ == 0


def test_hashed_names_that_meet_in_a_row_are_summed():
    names = {}
    for i in range(200):
        names.setdefault(hash_name(f"n{i}") & 7, []).append(f"n{i}")
    a, b = next(v for v in names.values() if len(v) > 1)[:2]
    m = nr.Perceptron(hash_bits=3, fit_intercept=False)
    m.learn_one({a: 1.0, b: 2.0}, 1)
    assert np.abs(m.coef_).sum() == 3.0
    assert np.count_nonzero(m.coef_) == 1


@pytest.mark.parametrize("bits", [0, 32, 2.5, "x"])
def test_hash_bits_out_of_range(bits):
    with pytest.raises(ValueError, match="hash_bits must be a whole number from 1 to 31"):
        nr.PA1(hash_bits=bits).learn_one({"a": 1}, 0)


# ---- weights ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", nr.algorithms())
def test_weight_one_changes_nothing_and_weight_zero_is_no_example(name):
    m = nr.learner(name)
    X, y = nr.checks.stream(m, n=60, K=3)
    c = (np.arange(60) % 3 > 0).astype(float)
    with nr.engine.compiling.interpreted():
        a, b = (m.clone().partial_fit(X[c > 0], y[c > 0], sample_weight=w) for w in (None, np.ones(int(c.sum()))))
        d = m.clone().partial_fit(X, y, sample_weight=c)
    for other in (b, d):
        for k, v in a.model.arrays().items():
            np.testing.assert_allclose(v, other.model.arrays()[k], rtol=1e-12, atol=1e-12)
        assert np.array_equal(a.model.tally, other.model.tally)


def test_learn_one_takes_a_weight():
    a, b = nr.Perceptron(), nr.Perceptron(alpha=3.0)
    for i in range(30):
        x = {"a": math.sin(i), "b": math.cos(2 * i)}
        assert a.learn_one(x, i % 2, w=3.0) == b.learn_one(x, i % 2)
        a.learn_one(x, 1 - i % 2, w=0.0)
    np.testing.assert_allclose(a.coef_, b.coef_)
    assert a.n_seen_ == 30


def test_class_weights_multiply_into_sample_weights():
    X, y = stream()
    c = np.linspace(0.5, 2.0, len(y))
    a = nr.PA1(class_weight={0: 3.0}, C=0.01).partial_fit(X, y, sample_weight=c)
    b = nr.PA1(C=0.01).partial_fit(X, y, sample_weight=np.where(y == 0, 3.0, 1.0) * c)
    assert same(a, b)
    n = np.bincount(y)
    a = nr.PA1(class_weight="balanced", C=0.01).fit(X, y)
    b = nr.PA1(C=0.01).fit(X, y, sample_weight=(len(y) / (2 * n))[y])
    assert same(a, b)
    with pytest.raises(ValueError, match="works in fit only"):
        nr.PA1(class_weight="balanced").partial_fit(X, y)
    with pytest.raises(ValueError, match="class_weight of 0 must be a finite number"):
        nr.PA1(class_weight={0: -1.0}).partial_fit(X, y)


# ---- fitting ---------------------------------------------------------------------------------------------------------
def test_until_separated_stops_at_the_first_epoch_without_an_update():
    m = nr.Perceptron(fit_intercept=False).fit([[4, 0], [1, 1], [0, 1], [-2, -2]], [1, -1, -1, 1], until="separated")
    assert m.coef_.tolist() == [[1.0, -3.0]]
    assert (m.n_epochs_, m.separated_, m.n_updates_) == (2, True, 3)


def test_until_separated_says_when_the_limit_came_first():
    with pytest.warns(UserWarning, match="5 epochs and still updating"):
        m = nr.Perceptron().fit([[1.0], [1.0]], [0, 1], epochs=5, until="separated")
    assert m.separated_ is False


def test_epochs_and_shuffling_are_reproducible():
    X, y = stream()
    assert same(nr.PA1(epochs=3, shuffle=True, seed=7).fit(X, y), nr.PA1(epochs=3, shuffle=True, seed=7).fit(X, y))
    assert not same(nr.PA1(epochs=3, shuffle=True, seed=7).fit(X, y), nr.PA1(epochs=3, shuffle=True, seed=8).fit(X, y))
    twice = nr.PA1(classes=[0, 1]).partial_fit(X, y).partial_fit(X, y)
    assert same(nr.PA1().fit(X, y, epochs=2), twice)
    sparse = nr.PA1(epochs=2, shuffle=True).fit(csr_matrix(X), y)
    np.testing.assert_allclose(sparse.coef_, nr.PA1(epochs=2, shuffle=True).fit(X, y).coef_)
    with pytest.raises(ValueError, match="epochs must be a whole number"):
        nr.PA1(epochs=0).fit(X, y)


def test_fit_takes_dicts():
    X, y = stream(3)
    dicts = [{f"x{j}": v for j, v in enumerate(r)} for r in X.tolist()]
    a, b = nr.PA1(epochs=3, shuffle=True).fit(dicts, y), nr.PA1(epochs=3, shuffle=True).fit(X, y)
    np.testing.assert_allclose(a.coef_, b.coef_)
    assert a.feature_names_ == [f"x{j}" for j in range(5)]
    assert np.array_equal(a.predict(dicts), b.predict(X))
    np.testing.assert_allclose(nr.PA1Regressor().fit(dicts, y).predict(dicts), nr.PA1Regressor().fit(X, y).predict(X))
    hashed = nr.PA1(epochs=3, shuffle=True, hash_bits=12).fit(dicts, y)
    np.testing.assert_allclose(hashed.decision_function(dicts), b.decision_function(X))


def test_fit_forgets_reset_forgets_clone_has_learned_nothing():
    X, y = stream()
    m = nr.PA1(C=0.3).fit(X, y)
    assert same(copy.deepcopy(m).fit(X, y), m)
    assert m.clone().get_params() == m.get_params()
    with pytest.raises(Exception, match="nothing yet"):
        m.clone().predict(X)
    with pytest.raises(Exception, match="nothing yet"):
        m.reset().predict(X)


# ---- parameters ------------------------------------------------------------------------------------------------------
def test_parameters_are_checked_when_learning_begins():
    X, y = stream()
    for cls, params, said in (
        (nr.PA1, {"C": 0.0}, r"C must be in \(0, inf\), got 0.0"),
        (nr.PA1, {"C": "much"}, "C must be a number"),
        (nr.Perceptron, {"gamma": 1.5}, r"gamma must be in \(0, 1\], got 1.5"),
        (nr.ALMA, {"p": 1.0}, r"p must be in \[2, 1000\]"),
        (nr.OGD, {"loss": "hindge"}, "loss must be one of 'hinge', 'squared_hinge'"),
        (nr.OGD, {"eta": 2.0, "l2": 1.0}, "eta \\* l2 must be at most 1"),
        (nr.NORMA, {"eta": 1.0, "lambda_": 1.0}, "eta \\* lambda_ must be below 1"),
        (nr.PA1, {"dtype": "int8"}, "dtype"),
        (nr.PA1, {"cost": [[0, 1], [1, 0]]}, "a cost matrix is square"),
        (nr.PA1, {"cost": {(0, 1): -1.0}}, "the cost of predicting 1 for 0"),
        (nr.PA1, {"cost": {(0, 1): 1.0}, "mode": "worst"}, "mode must be one of"),
        (nr.OGD, {"average": True, "projection": "l2"}, "does not go with a projection"),
    ):
        m = cls(**params)
        with pytest.raises((TypeError, ValueError), match=said):
            m.partial_fit(X, y)
        assert not m.started
    with pytest.raises(TypeError, match=r"PA1 has no parameter 'c'. Did you mean C\? It takes C, "):
        nr.PA1(c=1.0)
    with pytest.raises(ValueError, match="Invalid parameter 'c'"):
        nr.PA1().set_params(c=1.0)


def test_new_parameters_are_for_what_is_to_come():
    X, y = stream()
    m = nr.PA1(C=1.0).partial_fit(X[:40], y[:40])
    w = m.coef_.copy()
    m.set_params(C=1e-9).partial_fit(X[40:], y[40:])
    assert np.abs(m.coef_ - w).max() < 1e-6
    before = copy.deepcopy(m)
    for params in (
        {"C": -1.0},
        {"dtype": "float32"},
        {"fit_intercept": False},
        {"hash_bits": 4},
        {"average": True},
        {"classes": [0, 1]},
    ):
        with pytest.raises(ValueError, match=r"C must be|reset\(\) first"):
            m.set_params(**params)
        assert m.get_params() == before.get_params()
    assert same(m, before)


LONG = np.arange(2000) // 4  # NumPy shows no more than the ends of it
OTHER = np.where(np.arange(2000) == 1000, 0, LONG)


def test_long_arrays_that_differ_in_one_entry_are_different_parameters():
    X, y = np.ones((2, 2000)), [0, 1]
    a, b, c = (nr.GroupLasso(groups=groups).partial_fit(X, y) for groups in (LONG, OTHER, LONG.copy()))
    before = copy.deepcopy(a)
    with pytest.raises(ValueError, match=r"reset\(\) first"):
        a.set_params(groups=OTHER)
    with pytest.raises(ValueError, match="different parameters"):
        a.merge(b)
    assert same(a, before)
    assert a.merge(c).set_params(groups=LONG.copy()).n_seen_ == 4
    p, q, r = (nr.pipeline(nr.Normalize(), m.clone()).partial_fit(X, y) for m in (a, b, c))
    with pytest.raises(ValueError, match="different steps or settings"):
        p.merge(q)
    assert p.merge(r).n_seen_ == 4
    pool = nr.Hedge(learners=[nr.GroupLasso(groups=LONG), nr.PA1()]).partial_fit(X, y)
    with pytest.raises(ValueError, match=r"reset\(\) first"):
        pool.set_params(learners=[nr.GroupLasso(groups=OTHER), nr.PA1()])
    pool.set_params(learners=[nr.GroupLasso(groups=LONG.copy()), nr.PA1()])


@pytest.mark.parametrize(
    ("a", "b", "alike"),
    [
        (LONG, LONG.copy(), True),
        (LONG, OTHER, False),
        (LONG, LONG[:-1], False),
        (LONG, LONG.tolist(), False),
        ({"x": [LONG, math.nan]}, {"x": [LONG.copy(), math.nan]}, True),
        ({"x": [LONG]}, {"x": [OTHER]}, False),
        ({"x": 1, "y": 2}, {"y": 2, "x": 1}, True),
        (np.array([None, "a"], object), np.array([None, "a"], object), True),
        (1, 1.0, True),
        (np.float32(0.5), 0.5, True),
        (1, True, False),
        (2**60, 2**60 + 1, False),
        ("1", 1, False),
        (None, 0.0, False),
        (nr.RBF(0.5), nr.RBF(0.5), True),
        (nr.RBF(0.5), nr.Laplacian(0.5), False),
        (nr.GroupLasso(groups=LONG), nr.GroupLasso(groups=LONG.copy()), True),
        (nr.GroupLasso(groups=LONG), nr.GroupLasso(groups=OTHER), False),
        (nr.Text("a"), nr.Text("b"), False),
        (len, max, False),
    ],
)
def test_what_is_the_same_value_of_a_parameter(a, b, alike):
    assert same_value(a, b) is alike
    assert same_value(b, a) is alike
    assert same_value(a, copy.deepcopy(a))


def test_repr_shows_what_was_changed():
    assert repr(nr.PA1()) == "PA1()"
    assert repr(nr.PA1(C=0.5, seed=3)) == "PA1(C=0.5, seed=3)"


def test_registry():
    assert set(nr.algorithms("classification")) | set(nr.algorithms("regression")) | set(nr.algorithms("one_class")) == set(
        nr.algorithms()
    )
    assert isinstance(nr.learner("pa1", C=0.1), nr.PA1)
    with pytest.raises(ValueError, match="no learner is called 'pa9'"):
        nr.learner("pa9")
    with pytest.raises(ValueError, match="task must be one of"):
        nr.algorithms("tasks")


# ---- merging ---------------------------------------------------------------------------------------------------------
def test_merge_is_the_mean_by_examples_seen():
    X, y = stream()
    a, b = nr.PA1(classes=[0, 1]).partial_fit(X[:20], y[:20]), nr.PA1(classes=[0, 1]).partial_fit(X[20:], y[20:])
    wanted = (20 * a.coef_ + 60 * b.coef_) / 80
    counts = a.n_updates_ + b.n_updates_, a.n_mistakes_ + b.n_mistakes_
    np.testing.assert_allclose(a.merge(b).coef_, wanted)
    assert (a.n_updates_, a.n_mistakes_) == counts


def test_merge_unites_names_and_labels():
    a, b = nr.PA1(), nr.PA1()
    for i in range(20):
        a.learn_one({"x": 1.0 - 2.0 * (i % 2), "y": 1.0}, ("p", "q")[i % 2])
        b.learn_one({"z": 1.0 - 2.0 * (i % 2), "y": 1.0}, ("q", "r")[i % 2])
    c = copy.deepcopy(a).merge(b)
    assert c.classes_.tolist() == ["p", "q", "r"]
    assert set(c.feature_names_) == {"x", "y", "z"}
    assert c.predict_one({"x": 5.0}) == "p"
    assert c.predict_one({"z": -5.0}) == "r"
    flipped = nr.PA1()
    for i in range(20):
        flipped.learn_one({"x": 1.0 - 2.0 * ((i + 1) % 2), "y": 1.0}, ("q", "p")[i % 2])
    assert copy.deepcopy(a).merge(flipped).predict_one({"x": 5.0}) == a.predict_one({"x": 5.0})


def test_merge_refuses_what_does_not_fit():
    X, y = stream()
    m = nr.PA1().fit(X, y)
    before = copy.deepcopy(m)
    for other, error in (
        (nr.PA2().fit(X, y), TypeError),
        (nr.PA1(C=2.0).fit(X, y), ValueError),
        (nr.PA1().fit(X[:, :3], y), ValueError),
        (nr.PA1().partial_fit([{"a": 1.0}], [0]), ValueError),
    ):
        with pytest.raises(error, match="cannot merge"):
            m.merge(other)
        assert same(m, before)
    with pytest.raises(TypeError, match="has no merge"):
        nr.VotedPerceptron().fit(X, y).merge(nr.VotedPerceptron().fit(X, y))


# ---- reading back ----------------------------------------------------------------------------------------------------
OTHERWISE = {"voted_perceptron", "winnow", "balanced_winnow", "nag", "coin", "sop", "narow", "auto", "hedge"}  # vote, clip, scale
OTHERWISE |= {"fm", "mondrian_forest", "scinol"}  # pairs; trees; features beyond those seen
OTHERWISE |= {name for name in nr.algorithms() if nr.learner(name).by_kernel}


@pytest.mark.parametrize("name", sorted({*nr.algorithms("classification")} - OTHERWISE))
@pytest.mark.parametrize("K", [2, 3])
def test_scores_are_linear_in_coef_and_intercept(name, K):
    X, y = stream(K)
    with nr.engine.compiling.interpreted():
        m = nr.learner(name).partial_fit(X, y)
        f = m.decision_function(X)
    g = X @ m.coef_.T + m.intercept_
    np.testing.assert_allclose(f, g[:, 0] if K == 2 else g, atol=1e-9)


def test_learn_many_returns_the_scores_from_before():
    X, y = stream(3)
    m, said = nr.PA1(), nr.PA1(classes=[0, 1, 2])
    f = said.learn_many(X, y)
    one = nr.PA1(classes=[0, 1, 2])
    for i in range(len(y)):
        if i:
            np.testing.assert_array_equal(one.decision_function(X[i : i + 1])[0], f[i])
        one.partial_fit(X[i : i + 1], y[i : i + 1])
    assert said.n_mistakes_ == (f.argmax(1) != y).sum()
    assert m.learn_many(X, y).shape == (len(y), 3)


def test_counts_of_mistakes_follow_the_answers():
    X, y = stream(3)
    m = nr.PA1()
    said = [m.learn_one(dict(enumerate(r.tolist())), t) for r, t in zip(X, y.tolist())]
    assert m.n_mistakes_ == sum(a != b for a, b in zip(said, y.tolist()))
    assert nr.PA1().partial_fit(X, y).n_mistakes_ == m.n_mistakes_


@pytest.mark.filterwarnings("ignore:all numbers are below")
@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(st.dictionaries(st.sampled_from("abcdef"), st.floats(-5, 5), max_size=4), st.sampled_from("xyz")), min_size=1
    )
)
def test_any_stream_of_dicts_is_counted_and_answered(rows):
    m = nr.PA1()
    for x, y in rows:
        said = m.learn_one(x, y)
        assert said is None or said in "xyz"
    assert m.n_seen_ == len(rows)
    assert set(m.classes_) == {y for _, y in rows}
    assert np.isfinite(m.coef_).all()


def test_one_class_learners():
    rng = np.random.default_rng(0)
    X = rng.normal(3.0, 0.2, (300, 4))
    for m in (nr.PAUniclass(epsilon=1.0), nr.PAUniclass(variant="pa", B=5.0), nr.NORMANovelty(nu=0.1)):
        m.fit(X)
        assert (m.predict(X) == 1).mean() > 0.8
        assert m.predict_one(np.full(4, -30.0)) == -1
        assert m.learn_one(np.full(4, 3.0)) in (1, -1)
        assert np.array_equal(m.predict(X), np.where(m.decision_function(X) >= 0, 1, -1))
    assert nr.PAUniclass(variant="pa", B=5.0).fit(X).radius_ < 5.0


@pytest.mark.parametrize("params", [{"epsilon": 1.0}, {"epsilon": 0.0}, {"epsilon": 0.01, "dtype": "float32"}, {"B": 4.0}])
@pytest.mark.parametrize("d", [3, 200])
def test_a_row_that_was_just_fitted_is_on_the_border_and_inside(params, d):
    X = 3.0 + np.random.default_rng(0).standard_normal((60, d))
    m, given = nr.PAUniclass(variant="pa", **params), csr_matrix(X)
    for i in range(len(X)):
        moved = m.learn_one(X[i]) == -1
        assert m.predict_one(X[i]) == 1
        assert m.predict(given[[i]])[0] == 1
        if moved and "B" not in params:
            assert m.decision_function(X[[i]])[0] == 0.0
    f, radius = m.decision_function(X[:20]), m.radius_
    centre = m.coef_.copy()
    np.testing.assert_allclose(f, radius - np.linalg.norm(X[:20] - centre, axis=1), atol=1e-4)
    outside = centre + (radius + 0.1) * X[0] / np.linalg.norm(X[0])
    assert m.predict([outside])[0] == -1


def test_regression_score_is_r2():
    X, _ = stream()
    y = X @ np.arange(5.0)
    m = nr.PA1Regressor(epsilon=0.0).fit(X, y, epochs=50)
    assert m.score(X, y) > 0.99
    assert m.predict_one(X[0]) == pytest.approx(m.predict(X)[0])


def test_sparse_cost_does_not_depend_on_the_width():
    """Global scalings are lazy: a round touches the non-zeros only. Cells beyond them keep their bits."""
    for m in (nr.NORMA(), nr.ShiftingPerceptron(), nr.OGD(projection="l2"), nr.ROMMA(), nr.ALMA(), nr.ALMA(p=4.0)):
        X = csr_matrix(([1.0, 2.0], ([0, 1], [3, 5])), shape=(2, 50))
        u = m.partial_fit(X, [0, 1]).state.w.u.copy()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            m.partial_fit(csr_matrix(([1.0], ([0], [7])), shape=(1, 50)), [0])
        assert np.array_equal(np.delete(u, [7, 50]), np.delete(m.state.w.u, [7, 50])), m
