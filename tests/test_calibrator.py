"""Calibrators and coverage alone: the same numbers as beside a learner, in any pieces; files; what is refused."""

import numpy as np
import pytest

import noregret as nr


def rows(K, n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    y = (X @ rng.standard_normal((4, K)) + rng.gumbel(size=(n, K))).argmax(1)
    return X, y


@pytest.mark.parametrize("K", [2, 4])
def test_the_probabilities_are_those_of_a_learner(K):
    X, y = rows(K)
    learner = nr.NAG(classes=list(range(K)), probabilities=True)
    f = learner.learn_many(X, y)
    m = nr.Calibrator()
    p = np.concatenate([m.learn_many(f[a:b], y[a:b]) for a, b in ((0, 1), (1, 120), (120, 300))])
    assert p.shape == (300, K)
    np.testing.assert_allclose(m.predict_proba(learner.decision_function(X)), learner.predict_proba(X), rtol=1e-12)
    np.testing.assert_array_equal(p, nr.Calibrator().learn_many(f, y))
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    assert -np.log(p[np.arange(300), y]).mean() < np.log(K)


@pytest.mark.parametrize("K", [2, 4])
def test_names_of_classes_and_weights(K):
    X, y = rows(K)
    f = nr.NAG(classes=list(range(K))).learn_many(X, y)
    names = [f"class {k}" for k in range(K)]
    m = nr.Calibrator(classes=names)
    found = m.learn_many(f, [names[k] for k in y])
    np.testing.assert_array_equal(found, nr.Calibrator().learn_many(f, y))
    assert m.classes_ == names
    none = np.zeros(len(y))
    np.testing.assert_array_equal(m.learn_many(f, [names[k] for k in y], sample_weight=none), m.predict_proba(f))


@pytest.mark.parametrize("K", [2, 4])
def test_files(K):
    X, y = rows(K)
    f = nr.NAG(classes=list(range(K))).learn_many(X, y)
    m = nr.Calibrator()
    m.learn_many(f[:200], y[:200])
    again = nr.from_bytes(m.to_bytes())
    np.testing.assert_array_equal(again.learn_many(f[200:], y[200:]), m.learn_many(f[200:], y[200:]))
    assert again.digest() == m.digest()
    assert nr.from_bytes(nr.Calibrator().to_bytes()).classes_ == []


def test_intervals_are_those_of_a_learner():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 3))
    y = X.sum(axis=1) + 0.1 * rng.standard_normal(500)
    learner = nr.NAGRegressor(coverage=0.8)
    f = np.ravel(learner.learn_many(X, y))
    m = nr.Coverage(0.8)
    low, high = np.concatenate([m.learn_many(f[:100], y[:100]), m.learn_many(f[100:], y[100:])]).T
    assert np.isinf(low[0])
    assert abs(np.mean((low <= y) & (y <= high)) - 0.8) < 0.03
    np.testing.assert_allclose(m.predict(learner.predict(X)), np.asarray(learner.predict_interval(X)).reshape(-1, 2), rtol=1e-12)
    again = nr.from_bytes(m.to_bytes())
    np.testing.assert_array_equal(again.learn_many(f, y), m.learn_many(f, y))


def test_sets_hold_the_label_as_often_as_asked_for_whatever_comes():
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(5), 4000)
    for y in (p.argmin(axis=1), [int(rng.choice(5, p=q)) for q in p]):  # an adversary; the truth
        m = nr.Coverage(0.9)
        held = np.concatenate([m.learn_many(p[:7], y[:7]), m.learn_many(p[7:], y[7:])])
        covered = held[np.arange(len(p)), y].mean()
        assert covered > 0.9 - (13.9 + 0.1) / (0.1 * len(p))
        assert held.any(axis=1).all()
        np.testing.assert_array_equal(nr.from_bytes(m.to_bytes()).predict(p), m.predict(p))


def test_what_is_refused_changes_nothing():
    m = nr.Calibrator()
    m.learn_many([1.0, -1.0], [1, 0])
    before = m.digest()
    for scores, y, said in (
        ([1.0, np.nan], [1, 0], "row 1 has nan"),
        ([1.0, 2.0], [1, 7], "row 1: label 7 is not among the classes"),
        ([1.0, 2.0], [1], "a label for each of 2 rows"),
        ([[1.0, 2.0, 3.0]], [1], "expected scores of 2 classes"),
        (["a"], [1], "scores must be numbers"),
    ):
        with pytest.raises(ValueError, match=said):
            m.learn_many(scores, y)
        assert m.digest() == before
    with pytest.raises(ValueError, match="all different"):
        nr.Calibrator(classes=[1, 1])
    with pytest.raises(ValueError, match="sample_weight"):
        m.learn_many([1.0], [1], sample_weight=[-1.0])


def test_coverage_refuses_too():
    m = nr.Coverage(0.9)
    m.learn_many([1.0, 2.0], [1.0, 3.0])
    before = m.digest()
    for answers, y, said in (
        ([[0.5, 0.5]], [1], "use another Coverage"),
        ([1.0], [1.0, 2.0], "a number for each of 1 rows"),
        ([np.inf], [1.0], "row 0 has inf"),
    ):
        with pytest.raises(ValueError, match=said):
            m.learn_many(answers, y)
        assert m.digest() == before
    with pytest.raises(ValueError, match="sum to 1: row 1"):
        nr.Coverage().learn_many([[0.5, 0.5], [0.5, 0.7]], [0, 1])
    with pytest.raises(ValueError, match="coverage"):
        nr.Coverage(1.5)


@pytest.mark.parametrize("make", [nr.Calibrator, nr.Coverage])
def test_what_is_refused_or_only_answered_leaves_the_number_of_classes_open(make):
    m, three = make(), np.full((2, 3), 1 / 3)
    was = m.digest()
    for y in ([0, 7], [0]):
        with pytest.raises(ValueError):
            m.learn_many(three, y)
    (m.predict if make is nr.Coverage else m.predict_proba)(three)
    assert m.digest() == was
    assert m.learn_many(np.full((2, 2), 0.5), [0, 1]).shape == (2, 2)
    with pytest.raises(ValueError, match="expected scores of 2 classes"):
        m.learn_many(three, [0, 1])


def test_a_negative_weight_of_a_calibrator_is_named():
    with pytest.raises(ValueError, match="sample_weight must not be negative, got -2 in row 1"):
        nr.Calibrator().learn_many([1.0, 2.0], [0, 1], sample_weight=[1.0, -2.0])
