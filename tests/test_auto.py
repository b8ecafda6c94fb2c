"""Auto and AutoRegressor: the combination and the last label by plain transcriptions, the mixture, its bound, sleep, budgets."""

import math

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import noregret as nr
from noregret.calibration.combination import Combination
from noregret.calibration.last_label import LastLabel
from noregret.pools import pool as pools


def forecasts(n, K, C, seed=0):
    """Probabilities of n rows by K forecasters, some of whom know something, and codes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, C, n)
    P = rng.dirichlet(np.ones(C), (n, K))
    P[np.arange(n), 0, y] += 0.7
    P[np.arange(n), 1, y] += 0.3
    return P / P.sum(2, keepdims=True), y


# ---- the combination ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("C", [2, 4])
def test_combination_is_that_of_newton_steps_with_the_whole_matrix(C):
    P, y = forecasts(150, 5, C)
    c = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 2.0], 150)
    awake = np.array([True, True, False, True, True])
    w, A, want = np.full(5, 0.2), 5.0 * np.eye(5), []
    for p, code, weight in zip(P, y, c, strict=True):
        L = np.where(awake[:, None], np.log(np.maximum(p, 1e-6)), 0.0)
        q = np.exp(w @ L)
        q /= q.sum()
        want.append(q)
        if weight > 0:
            g = L @ q - L[:, code]
            A += weight * np.outer(g, g)
            w = w - weight * np.linalg.solve(A, g)
    m = Combination(5)
    with nr.engine.compiling.interpreted():
        got = np.concatenate([m.follow(P[a:b], y[a:b], c[a:b], awake) for a, b in ((0, 1), (1, 60), (60, 150))])
    np.testing.assert_allclose(got, want, rtol=1e-9)
    np.testing.assert_allclose(m.w, w, rtol=1e-9)
    np.testing.assert_allclose(m.inverse, np.linalg.inv(A), rtol=1e-8, atol=1e-12)
    assert m.w[2] == 0.2, "one asleep is left as it was"
    again = Combination(5)
    again.restore({k: a.copy() for k, a in m.arrays().items()})
    np.testing.assert_array_equal(again.forecast(P, awake), m.forecast(P, awake))


def test_combination_of_what_nobody_thinks_possible():
    P, _ = forecasts(4, 3, 3)
    P[:, :, 2] = 0.0
    m = Combination(3)
    with nr.engine.compiling.interpreted():
        p = m.follow(P, np.full(4, 2), np.ones(4), np.ones(3, bool))
    assert not p[:, 2].any()
    np.testing.assert_allclose(p.sum(1), 1.0)
    np.testing.assert_array_equal(m.w, Combination(3).w)


def test_combination_is_better_than_all_it_combines_where_they_know_different_things():
    rng = np.random.default_rng(2)
    a, b = rng.integers(0, 2, (2, 4000))
    y = np.where(rng.random(4000) < 0.05, 1 - (a | b), a | b)
    P = np.stack([np.column_stack([1 - p, p]) for p in (0.5 + 0.45 * a, 0.5 + 0.45 * b)], axis=1)
    m = Combination(2)
    p = m.follow(np.ascontiguousarray(P), y, np.ones(4000), np.ones(2, bool))
    loss = [-np.log(q[np.arange(4000), y]).mean() for q in (P[:, 0], P[:, 1], p)]
    assert loss[2] < 0.9 * min(loss[:2])


# ---- the last label ----------------------------------------------------------------------------------------------------
def test_last_label_by_hand():
    m = LastLabel()
    with nr.engine.compiling.interpreted():
        p = m.follow(np.array([1, 1, 0, 2]), np.array([1.0, 1.0, 0.0, 1.0]), np.array([2, 2, 2, 3]), 3)
    q = (0.999 * 1 + 1) / (0.999 * 2 + 1)
    np.testing.assert_allclose(p, [[0.5, 0.5, 0], [0.5, 0.5, 0], [1 - q, q, 0], [(1 - q) / 2, q, (1 - q) / 2]])
    assert m.seen[2] == 2.0


# ---- the mixture -------------------------------------------------------------------------------------------------------
def data(K, n=300, d=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(3.0, 2.0, (n, d))
    f = (X - 3.0) @ rng.normal(size=(d, K)) + np.sin(2.0 * X[:, [0]]) * np.arange(K)
    return X, f.argmax(1)


@pytest.mark.parametrize("K", [2, 4])
def test_the_answer_is_the_fixed_share_mixture_of_all_forecasters(K):
    X, y = data(K)
    m = nr.Auto(classes=list(range(K)))
    told = []
    mixture = type(m.clone().partial_fit(X[:5], y[:5]).model.mixture)
    with pytest.MonkeyPatch.context() as patch:
        import noregret.pools.mixture as module

        patch.setattr(
            module,
            "mixed",
            lambda W, P: told.append((W.copy(), [p.copy() for p in P])) or sum(w[:, None] * p for w, p in zip(W.T, P, strict=True)),
        )
        assert mixture.__module__ == module.__name__
        m.partial_fit(X, y)
    (W, P), size = told[0], len(m.losses_)
    w, losses, paid = np.full(size, 1.0 / size), np.zeros(size), 0.0
    for i in range(len(y)):
        np.testing.assert_allclose(W[i], w, rtol=1e-9, atol=1e-15)
        p = np.maximum([q[i, y[i]] for q in P], 1e-6)
        losses, paid = losses - np.log(p), paid - math.log(w @ p)
        w = w * p / (w @ p)
        a = 1.0 / (i + 2.0)
        w = (1 - a) * w + a * (1 - w) / (size - 1)
    np.testing.assert_allclose(m.weights_, w, rtol=1e-8)
    np.testing.assert_allclose(m.losses_, losses, rtol=1e-9)
    assert m.paid_ == pytest.approx(paid, rel=1e-9)
    assert m.regret_ <= m.bound_ == pytest.approx(math.log(size) + math.log(len(y)))


@pytest.mark.parametrize("K", [2, 3])
def test_predict_gives_the_most_probable_class(K):
    X, y = data(K)
    m = nr.Auto().fit(X, y)
    p = m.predict_proba(X)
    np.testing.assert_allclose(p.sum(1), 1.0)
    np.testing.assert_array_equal(m.classes_[p.argmax(1)], m.predict(X))
    assert max(m.predict_proba_one(X[0].tolist()).items(), key=lambda kv: kv[1])[0] == m.predict_one(X[0].tolist())
    assert m.score(X, y) > 0.8


@pytest.mark.parametrize("seed", range(6))
def test_the_regret_is_below_its_bound_on_any_sequence(seed):
    rng = np.random.default_rng(seed)
    for labels in (rng.integers(0, 3, 200), np.arange(200) // 40 % 2, np.zeros(200, int), rng.integers(0, 2, 200)):
        m = nr.Auto().partial_fit(rng.normal(size=(200, 2)), labels)
        assert m.regret_ <= m.bound_ + 1e-9


def test_runs_of_equal_labels_are_followed():
    rng = np.random.default_rng(5)
    y = np.arange(3000) // 50 % 3
    m = nr.Auto().partial_fit(rng.normal(size=(3000, 4)), y)
    assert m.n_mistakes_ / 3000 < 0.06


def test_rows_that_are_only_answered_do_not_follow_the_last_label():
    """Nor the last target: they may be far from it."""
    rng = np.random.default_rng(9)
    y = np.arange(1200) // 40 % 2
    X = rng.normal(size=(1200, 3)) + 1.5 * y[:, None]
    m = nr.Auto().partial_fit(X, y)
    assert m.n_mistakes_ < 60, "in order, labels come in runs"
    assert m.score(X, y) > 0.85
    r = nr.AutoRegressor().partial_fit(X, 10.0 * y)
    assert np.corrcoef(r.predict(X), y)[0, 1] > 0.7


def test_what_is_not_linear_is_learned_without_being_asked():
    rng = np.random.default_rng(6)
    X = 1000.0 + rng.uniform(-1, 1, (4000, 2)) * [1.0, 50.0]
    y = ((X[:, 0] > 1000) ^ (X[:, 1] > 1000)).astype(int)
    linear, auto = (m.partial_fit(X, y).n_mistakes_ / 4000 for m in (nr.NAG(), nr.Auto()))
    assert linear > 0.4
    assert auto < 0.08


# ---- sleep -------------------------------------------------------------------------------------------------------------
def sleepy(n=pools.BLOCK * 5):
    """A linear rule and noise: bins and neighbours do worse than what is linear."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(n, 12))
    return X, (X.sum(1) + rng.normal(size=n) > 0).astype(int)


@pytest.mark.parametrize(("make", "target"), [(nr.Auto, lambda y: y), (nr.AutoRegressor, lambda y: 5.0 * y)])
def test_sleep_does_not_depend_on_the_split(make, target, monkeypatch, tmp_path):
    monkeypatch.setattr("noregret.pools.mixing.SLIGHT", 10.0)
    monkeypatch.setattr("noregret.pools.averaging.SLIGHT", 10.0)
    X, y = sleepy()
    y = target(y)
    whole, split = make(), make()
    whole.partial_fit(X, y)
    for a in range(0, len(y), 700):
        split.partial_fit(X[a : a + 700], y[a : a + 700])
        split.save(tmp_path / "m.nr")
        split = nr.load(tmp_path / "m.nr")
    assert split.digest() == whole.digest()
    assert not whole.model.weighing.awake.all(), "the test can fail"
    assert whole.regret_ <= whole.bound_


def test_those_asleep_wake_when_the_rows_have_doubled(monkeypatch):
    monkeypatch.setattr("noregret.pools.mixing.SLIGHT", 10.0)
    X, y = sleepy(pools.BLOCK * 9)
    m, awake = nr.Auto(), []
    for a in range(0, len(y), pools.BLOCK):
        m.partial_fit(X[a : a + pools.BLOCK], y[a : a + pools.BLOCK])
        awake.append(int(m.model.weighing.awake.sum()))
    everyone = len(m.weights_)
    assert [awake[k] == everyone for k in (0, 1, 3, 7)] == [True] * 4, "after 1, 2, 4 and 8 blocks"
    assert all(awake[k] < everyone for k in (2, 4, 5, 6))
    assert m.model.weighing.awake[-2:].all()


# ---- budgets -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("make", [nr.Auto, nr.AutoRegressor])
def test_budgets(make):
    sizes = [len(make.pool({"budget": b})) for b in ("fast", "balanced", "best")]
    assert sizes == sorted(set(sizes))
    with pytest.raises(ValueError, match="budget must be one of 'fast', 'balanced', 'best'"):
        make(budget="huge").partial_fit([[1.0], [2.0]], [0, 1])
    with pytest.raises(ValueError, match="another pool"):
        make().partial_fit([[1.0], [2.0]], [0, 1]).set_params(budget="fast")


@pytest.mark.parametrize("budget", ["fast", "best"])
def test_other_budgets_learn_are_saved_and_continue(budget, tmp_path):
    X, y = data(3)
    whole = nr.Auto(budget=budget).partial_fit(X, y)
    half = nr.Auto(budget=budget).partial_fit(X[:100], y[:100])
    half.save(tmp_path / "m.nr")
    assert nr.load(tmp_path / "m.nr").partial_fit(X[100:], y[100:]).digest() == whole.digest()
    assert whole.predict_proba(X).shape == (300, 3)


def test_many_columns_cost_no_more_than_the_first_thousand():
    rng = np.random.default_rng(8)
    X = csr_matrix((np.ones(600), (np.repeat(np.arange(200), 3), rng.integers(0, 200_000, 600))), shape=(200, 200_000))
    m = nr.Auto(budget="best").partial_fit(X, rng.integers(0, 2, 200))
    first = [f for f in m.model.members.fronts if any(isinstance(s, nr.RandomBinning) for s in f.maps)]
    assert first
    assert all(f.maps[-1].nbytes < 5e6 for f in first)
