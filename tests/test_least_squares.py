"""Least squares: RLS against its traces, batch ridge and textbook forms; segments against brute force over all of them."""

import itertools
import math
import pickle

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from traces import P_TARGETS, P

import noregret as nr
from noregret.engine import compiling
from noregret.families import least_squares

# ---- RLS: traces -------------------------------------------------------------------------------------------------------
PLAIN = (
    [0, -0.25, -0.086957, 0.3186, 0.524334],
    [[0.166667, 0.333333, 0], [0.101449, 0.376812, -0.086957], [-0.023941, 0.443831, 0.077348], [0.412181, 0.493203, 0.062262]]
    + [[0.401302, 0.556751, 0.094198]],
    [0.166667, 0.188406, 0.246777, 1.498912, 1.687348],
    [[0.215794, -0.07246, 0.099179], [-0.07246, 0.146052, -0.024908], [0.099179, -0.024908, 0.184093]],
)
FORGETTING = (
    [0, -0.254237, -0.091749, 0.306275, 0.573871],
    [[0.169492, 0.338983, 0], [0.100291, 0.38408, -0.091749], [-0.034995, 0.456232, 0.079967], [0.463799, 0.528494, 0.090755]]
    + [[0.450999, 0.605765, 0.125539]],
    [0.152542, 0.155552, 0.185535, 1.241926, 1.25898],
    [[0.292301, -0.105311, 0.150545], [-0.105311, 0.203819, -0.044971], [0.150545, -0.044971, 0.2532]],
)
WINDOW = (
    [0, -0.25, -0.086957, 0.3186, 0.803966],
    [[0.166667, 0.333333, 0], [0.101449, 0.376812, -0.086957], [-0.023941, 0.443831, 0.077348], [0.473342, 0.739922, 0.128088]]
    + [[0.545925, 0.715395, 0.21216]],
    [0.166667, 0.188406, 0.246777, 1.118986, 1.12031],
    [[0.415265, -0.235446, 0.284605], [-0.235446, 0.445019, -0.186287], [0.284605, -0.186287, 0.35705]],
)
WEIGHTED = (
    [0, -0.25, -0.105263, 0.356455, 0.424507],
    [[0.166667, 0.333333, 0], [0.087719, 0.385965, -0.105263], [-0.028902, 0.44894, 0.034682], [0.397572, 0.468892, -0.088771]]
    + [[0.370478, 0.643883, 0.057013]],
    [0.166667, 0.192982, 0.246628, 1.310319, 1.875931],
    None,
)
CASES = {
    "plain": ({}, np.ones(5), PLAIN),
    "forgetting": ({"forgetting": 0.9}, np.ones(5), FORGETTING),
    "window": ({"window": 3}, np.ones(5), WINDOW),
    "weighted": ({}, np.array([1, 2, 0.5, 1, 3]), WEIGHTED),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("layout", [np.asarray, csr_matrix])
def test_trace(case, layout):
    params, c, (scores, W, losses, cov) = CASES[case]
    m = nr.RLS(fit_intercept=False, **params)
    for i in range(5):
        f = m.learn_many(layout(P[i : i + 1]), P_TARGETS[i : i + 1], c[i : i + 1])
        np.testing.assert_allclose(f, scores[i], atol=2e-6)
        np.testing.assert_allclose(m.coef_, W[i], atol=2e-6)
        np.testing.assert_allclose(m.loss_, losses[i], atol=2e-6)
    if cov is not None:
        np.testing.assert_allclose(m.covariance_, cov, atol=2e-6)


@pytest.mark.parametrize("params", [{"forgetting": 0.99}, {"window": 20, "forgetting": 0.95}], ids=str)
def test_laws(params):
    nr.checks.run(nr.RLS(**params))


# ---- RLS: what is independent of it --------------------------------------------------------------------------------------
def data(n=300, d=6, seed=0, noise=0.3):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.7)
    return X, X @ rng.standard_normal(d) + noise * rng.standard_normal(n), rng.choice([0.0, 0.5, 1.0, 2.0], n)


def ridge(X, y, c, penalty):
    """Batch ridge by an orthogonal factorisation: (w, minimum, P)."""
    r = np.sqrt(c)[:, None]
    Z = np.vstack([r * X, math.sqrt(penalty) * np.eye(X.shape[1])])
    t = np.concatenate([np.sqrt(c) * y, np.zeros(X.shape[1])])
    w = np.linalg.lstsq(Z, t, rcond=None)[0]
    R = np.linalg.inv(np.linalg.qr(Z, mode="r"))
    return w, float(((t - Z @ w) ** 2).sum()), R @ R.T


def agrees(m, X, y, c, penalty, tolerance=1e-9):
    w, loss, cov = ridge(X, y, c, penalty)
    np.testing.assert_allclose(m.coef_, w, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(m.loss_, loss, rtol=tolerance)
    np.testing.assert_allclose(m.covariance_, cov, rtol=tolerance, atol=tolerance * np.abs(cov).max())


@pytest.mark.parametrize("penalty", [1.0, 1e-6, 100.0])
def test_rls_is_ridge_regression(penalty):
    X, y, c = data()
    agrees(nr.RLS(ridge=penalty, fit_intercept=False).partial_fit(X, y, c), X, y, c, penalty)


def test_the_constant_feature_is_a_weight_like_others():
    X, y, c = data()
    m = nr.RLS(ridge=0.1).partial_fit(X, y + 2.0, c)
    w, _, cov = ridge(np.column_stack([X, np.ones(len(X))]), y + 2.0, c, 0.1)
    np.testing.assert_allclose([*m.coef_, m.intercept_], w, atol=1e-10)
    np.testing.assert_allclose(m.covariance_, cov, atol=1e-12)


def test_peers_say_the_same():
    """scikit-learn's Ridge in one go, and River's Bayesian regression row by row, with its variance of a prediction."""
    linear_model = pytest.importorskip("sklearn.linear_model")
    river = pytest.importorskip("river.linear_model")
    X, y, c = data(n=100)
    m = nr.RLS(ridge=0.7, fit_intercept=False).partial_fit(X, y, c)
    np.testing.assert_allclose(m.coef_, linear_model.Ridge(0.7, fit_intercept=False).fit(X, y, c).coef_, atol=1e-10)
    ours, theirs = nr.RLS(ridge=0.7, fit_intercept=False), river.BayesianLinearRegression(alpha=0.7, beta=1.0)
    for x, t in zip(X, y):
        row = {f"x{j}": float(v) for j, v in enumerate(x) if v}
        np.testing.assert_allclose(ours.learn_one(row, t), theirs.predict_one(row), atol=1e-10)
        theirs.learn_one(row, t)
    row = {f"x{j}": 1.0 for j in range(6)}
    Z = np.ones((1, 6))
    assert abs((1.0 + Z @ ours.covariance_ @ Z.T)[0, 0] - theirs.predict_one(row, with_dist=True).sigma ** 2) < 1e-9


@pytest.mark.parametrize("g", [0.99, 0.9])
def test_forgetting_is_discounted_ridge(g):
    X, y, _ = data(n=60, d=3)
    X += 0.1  # no row of zeros
    m = nr.RLS(forgetting=g, fit_intercept=False).partial_fit(X, y)
    agrees(m, X, y, g ** np.arange(59, -1, -1.0), g**60)


def test_the_textbook_form_of_adaptive_filters():
    """R = (R - R x x'R/(g + x'Rx))/g, w += R x e: as filters have it, with R = I/eps at first."""
    X, y, _ = data(n=200, d=4)
    X += 0.1
    g, eps = 0.98, 0.1
    w, R = np.zeros(4), np.eye(4) / eps
    m = nr.RLS(ridge=eps, forgetting=g, fit_intercept=False)
    f = m.learn_many(X, y)
    for x, t, said in zip(X, y, f):
        np.testing.assert_allclose(said, w @ x, atol=1e-8)
        R = (R - np.outer(R @ x, x @ R) / (g + x @ R @ x)) / g
        w = w + R @ x * (t - w @ x)
    np.testing.assert_allclose(m.coef_, w, atol=1e-9)


@pytest.mark.parametrize(("g", "n"), [(1.0, 25), (1.0, 3), (0.95, 25)])
def test_a_window_is_ridge_on_its_rows(g, n):
    """Kept rows come back from a file, and rows of all sizes fall out of the window again."""
    X, y, c = data(n=400, d=4)
    X[100] *= 1e5
    X[200:210] *= 1e3
    m = nr.RLS(window=n, forgetting=g, fit_intercept=False)
    kept = []
    for i in range(400):
        m.partial_fit(X[i : i + 1], y[i : i + 1], c[i : i + 1])
        if c[i] and X[i].any():
            kept = [(j, w * g) for j, w in kept] + [(i, c[i])]
        if i % 13 == 0 and kept and m.n_seen_ < 150:  # beyond, g^t has left nothing of the ridge
            at, w = np.array([j for j, _ in kept[-n:]]), np.array([w for _, w in kept[-n:]])
            age = m.state.age[0]
            agrees(m, X[at], y[at], w, g ** float(age), 1e-7 if g < 1 else 1e-9)
        if i == 150:
            m = pickle.loads(pickle.dumps(m))
    assert m.state.rows.shape[0] == n + 1


def test_a_window_learns_its_rows_again_now_and_then():
    X, y, _ = data(n=3000, d=3)
    X += 0.1
    m = nr.RLS(window=5, fit_intercept=False)
    for i in range(0, 3000, 50):
        m.partial_fit(X[i : i + 50], y[i : i + 50])
        assert m.state.at[1] < least_squares.AGAIN * 6
    assert m.state.at[0] == 3000
    agrees(m, X[-5:], y[-5:], np.ones(5), 1.0, 1e-12)


def test_an_integer_weight_is_so_many_repeats():
    X, y, _ = data(n=40)
    c = np.random.default_rng(1).integers(1, 4, 40)
    a = nr.RLS(window=None).partial_fit(X, y, c.astype(float))
    b = nr.RLS().partial_fit(np.repeat(X, c, 0), np.repeat(y, c))
    np.testing.assert_allclose(a.coef_, b.coef_, atol=1e-12)
    np.testing.assert_allclose([a.loss_, a.noise_], [b.loss_, b.noise_], rtol=1e-12)
    np.testing.assert_allclose(a.covariance_, b.covariance_, atol=1e-13)


# ---- RLS: removal ----------------------------------------------------------------------------------------------------------
def snapshot(m):
    return {k: a.copy() for k, a in m.model.arrays().items()}


def test_adding_then_removing_restores_the_state():
    X, y, c = data()
    m = nr.RLS().partial_fit(X[:50], y[:50], c[:50])
    w, b, loss, cov, n = m.coef_, m.intercept_, m.loss_, m.covariance_, m.n_seen_
    for i in range(50, 80):
        m.learn_one(X[i], y[i], 0.5 + c[i])
    for i in np.random.default_rng(0).permutation(np.arange(50, 80)):
        m.forget_one(X[i], y[i], 0.5 + c[i])
    np.testing.assert_allclose([*m.coef_, m.intercept_, m.loss_], [*w, b, loss], rtol=1e-11)
    np.testing.assert_allclose(m.covariance_, cov, atol=1e-13)
    assert m.n_seen_ == n


def test_any_sequence_of_additions_and_removals_is_ridge_on_what_is_left():
    X, y, _ = data(n=400, seed=3)
    X, y = X[X.any(1)], y[X.any(1)]  # a row of zeros is no example
    rng = np.random.default_rng(3)
    m, left = nr.RLS(fit_intercept=False), []
    for i in range(len(X)):
        m.learn_one(X[i], y[i])
        left.append(i)
        if len(left) > 1 and rng.random() < 0.6:
            j = left.pop(rng.integers(len(left)))
            m.forget_one(X[j], y[j])
    agrees(m, X[left], y[left], np.ones(len(left)), 1.0)


def test_removal_with_forgetting_takes_the_age():
    X, y, _ = data(n=30, d=3)
    X += 0.1
    m = nr.RLS(forgetting=0.9, fit_intercept=False).partial_fit(X, y)
    m.forget_one(X[20], y[20], age=9)
    c = 0.9 ** np.arange(29, -1, -1.0)
    c[20] = 0.0
    agrees(m, X, y, c, 0.9**30)


def test_removal_from_a_window_and_of_dicts():
    X, y, _ = data(n=40)
    m = nr.RLS(window=10, fit_intercept=False).partial_fit(X, y)
    m.forget_one(X[33], y[33])
    left = [i for i in range(30, 40) if i != 33]
    agrees(m, X[left], y[left], np.ones(9), 1.0)
    with pytest.raises(ValueError, match="no row of the window"):
        m.forget_one(X[33], y[33])
    m.partial_fit(X[:4], y[:4])  # row 33 is gone already when its turn comes
    left = [34, 35, 36, 37, 38, 39, 0, 1, 2, 3]
    agrees(m, X[left], y[left], np.ones(10), 1.0)
    named = nr.RLS()
    named.learn_one({"a": 1.0, "b": 2.0}, 1.0)
    named.learn_one({"c": 1.0}, 3.0)
    named.forget_one({"c": 1.0}, 3.0)
    again = nr.RLS()
    again.learn_one({"a": 1.0, "b": 2.0}, 1.0)
    assert abs(named.predict_one({"a": 1.0}) - again.predict_one({"a": 1.0})) < 1e-14
    with pytest.raises(ValueError, match="never learned from"):
        named.forget_one({"d": 1.0}, 3.0)


def test_what_cannot_be_removed_is_refused_and_nothing_changes():
    X, y, _ = data(n=40)
    m = nr.RLS().partial_fit(X, y)
    before = snapshot(m)
    for x, t in ((100.0 * X[0], y[0]), (X[0], y[0] + 1e3)):  # P would lose its sign; the loss would
        with pytest.raises(ValueError, match="cannot be forgotten"):
            m.forget_one(x, t)
        for k, a in snapshot(m).items():
            np.testing.assert_array_equal(a, before[k])
    tiny = nr.RLS(ridge=1e-9, fit_intercept=False)
    tiny.learn_one([1e3, 0.0], 1.0)  # q = 1e-15: all digits are gone
    with pytest.raises(ValueError, match="larger ridge"):
        tiny.forget_one([1e3, 0.0], 1.0)
    kept = nr.RLS(ridge=1e-9, window=5, fit_intercept=False)
    kept.learn_one([1e3, 0.0], 1.0)
    kept.learn_one([1.0, 1.0], 2.0)
    kept.forget_one([1e3, 0.0], 1.0)
    agrees(kept, np.ones((1, 2)), np.array([2.0]), np.ones(1), 1e-9, 1e-7)


# ---- RLS: numbers ----------------------------------------------------------------------------------------------------------
def test_a_large_variance_along_the_row_loses_nothing():
    """ridge 1e-8, |x| ~ 1e4: the usual form of the update is wrong in the third digit after five rounds (I.2)."""
    rng = np.random.default_rng(0)
    X = 1e4 * rng.standard_normal((30, 4))
    y = X @ np.arange(4.0) + rng.standard_normal(30)
    for n in (5, 30):
        m = nr.RLS(ridge=1e-8, fit_intercept=False).partial_fit(X[:n], y[:n])
        np.testing.assert_allclose(m.coef_, ridge(X[:n], y[:n], np.ones(n), 1e-8)[0], rtol=1e-9, atol=1e-9)


def test_forgetting_stops_while_nothing_comes_in_some_direction():
    X = np.zeros((5000, 3))
    X[:, 0] = 1.0
    X[0] = 1.0
    m = nr.RLS(forgetting=0.9, fit_intercept=False).partial_fit(X, np.ones(5000))
    assert np.trace(m.covariance_) < 1e6 * 3 / 0.9 * 1.0001
    assert 100 < m.state.age[0] < 200
    m.partial_fit(np.random.default_rng(0).standard_normal((300, 3)), np.zeros(300))
    assert m.state.age[0] > 400  # it goes on once they come
    assert np.abs(m.coef_).max() < 1e-9


def test_a_multiplier_of_any_size_is_put_in():
    """0.9^5000 is 1e-229: the recursion must not notice, nor a feature that comes late."""
    X, y, _ = data(n=5000, d=3)
    X += 0.1
    m = nr.RLS(forgetting=0.9, fit_intercept=False).partial_fit(csr_matrix(X), y)
    c = 0.9 ** np.arange(4999, -1, -1.0)
    agrees(m, X[-600:], y[-600:], c[-600:], 1e-300)
    late = nr.RLS(forgetting=0.9, fit_intercept=False)
    for x, t in zip(X[:4000], y[:4000]):
        late.learn_one({"a": x[0], "b": x[1]}, t)
    late.learn_one({"a": 1.0, "new": 1.0}, 5.0)
    assert np.isfinite(late.covariance_).all()
    assert abs(late.predict_one({"a": 1.0, "new": 1.0}) - 5.0) < 1e-3


def test_chunks_of_growing_features_are_bit_identical():
    """More room for features than are in use must not show: sums are taken in the same order."""
    rng = np.random.default_rng(2)
    rows = [{f"x{j}": float(rng.standard_normal()) for j in range(1 + i // 4)} for i in range(60)]
    y = rng.standard_normal(60).tolist()
    small = nr.RLS(window=7, forgetting=0.97)
    big = nr.RLS(window=7, forgetting=0.97)
    big.model = big.new_model(None)
    big.model.resize(feature=64)
    for x, t in zip(rows, y):
        assert small.learn_one(x, t) == big.learn_one(x, t)
    assert small.loss_ == big.loss_


# ---- RLS: intervals, several targets ------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("n", "level"), [(10, 0.9), (40, 0.5), (40, 0.95)])
def test_intervals_hold_as_often_as_they_say(n, level):
    """Weights drawn from the prior, 400 streams: the share is within four standard deviations of the level."""
    rng = np.random.default_rng(n)
    hits, R = 0, 400
    for _ in range(R):
        X = rng.standard_normal((n + 1, 3))
        y = X @ rng.standard_normal(3) * 0.5 + 0.5 * rng.standard_normal(n + 1)  # variances noise/ridge and noise, ridge = 1
        m = nr.RLS(fit_intercept=False).partial_fit(X[:n], y[:n])
        low, high = m.predict_interval(X[n:], level)[0]
        hits += low <= y[n] <= high
    assert abs(hits / R - level) < 4.0 * math.sqrt(level * (1.0 - level) / R)


def test_intervals_are_those_of_student():
    X, y, _ = data()
    m = nr.RLS().partial_fit(X, y)
    Z = np.column_stack([X, np.ones(len(X))])
    v = np.einsum("ij,jk,ik->i", Z, m.covariance_, Z)
    ends = m.predict_interval(X, 0.8)
    np.testing.assert_allclose(ends.mean(1), m.predict(X), atol=1e-12)
    from scipy.stats import t

    np.testing.assert_allclose(np.diff(ends)[:, 0], 2 * t.ppf(0.9, 300) * np.sqrt(m.loss_ / 300 * (1 + v)), rtol=1e-10)
    np.testing.assert_allclose(m.predict_interval(csr_matrix(X), 0.8), ends, rtol=1e-10)
    with pytest.raises(ValueError, match="level"):
        m.predict_interval(X, 1.0)


def test_several_targets_share_p(tmp_path):
    X, y, c = data(n=80)
    Y = np.column_stack([y, X[:, 0] - 2.0, np.sin(y)])
    for params in ({}, {"window": 12}, {"forgetting": 0.95}):
        many = nr.RLS(**params)
        f = many.learn_many(X, Y, c)
        for k in range(3):
            one = nr.RLS(**params)
            np.testing.assert_allclose(f[:, k], one.learn_many(X, Y[:, k], c), atol=1e-12)
            np.testing.assert_allclose(many.coef_[k], one.coef_, atol=1e-12)
            np.testing.assert_allclose(many.predict(csr_matrix(X))[:, k], one.predict(X), atol=1e-12)
            np.testing.assert_allclose(many.loss_[k], one.loss_, rtol=1e-10)
            np.testing.assert_allclose(many.predict_interval(X)[:, k], one.predict_interval(X), rtol=1e-9, atol=1e-12)
        many.save(tmp_path / "m.nr")
        again = nr.load(tmp_path / "m.nr")
        for m in (many, again):
            m.partial_fit(X[:5], Y[:5])
        np.testing.assert_array_equal(many.coef_, again.coef_)
        np.testing.assert_allclose(many.learn_one(X[7], Y[7]), again.predict_one(X[7]), rtol=1e-12)


def test_several_targets_removed_scored_refused():
    X, y, _ = data(n=80)
    Y = np.column_stack([y, 3.0 - y])
    m = nr.RLS().partial_fit(X[:60], Y[:60])
    w, loss = m.coef_, m.loss_
    m.learn_one(X[70], Y[70])
    m.forget_one(X[70], Y[70])
    np.testing.assert_allclose(m.coef_, w, atol=1e-12)
    np.testing.assert_allclose(m.loss_, loss, rtol=1e-11)
    singles = [nr.RLS().partial_fit(X[:60], Y[:60, k]).score(X, Y[:, k]) for k in range(2)]
    assert abs(m.score(X, Y) - np.mean(singles)) < 1e-12
    for bad, match in ((y[:3], "expected 2 target"), (Y[:2], "inconsistent"), (Y[:3] * np.array([1, np.nan]), "row 0")):
        with pytest.raises(ValueError, match=match):
            m.partial_fit(X[:3], bad)
    with pytest.raises(ValueError, match="arrays"):
        nr.RLS().partial_fit([{"a": 1.0}], [[1.0, 2.0]])
    assert m.fit(X, y).coef_.shape == (6,)  # a fit begins anew
    with pytest.raises(ValueError, match="inconsistent"):
        m.fit(X[:3], Y[:2])
    assert m.coef_.shape == (6,)


def test_bad_parameters(monkeypatch):
    monkeypatch.setattr("noregret.learners.affording.memory", lambda: 1.6e10)
    for params in ({"ridge": 0.0}, {"forgetting": 0.0}, {"forgetting": 1.1}, {"window": 2.5}, {"window": -1}):
        with pytest.raises(ValueError, match=next(iter(params))):
            nr.RLS(**params).partial_fit([[1.0]], [1.0])
    with pytest.raises(ValueError, match="GB"):
        nr.RLS().partial_fit(csr_matrix((1, 50_000)), [1.0])


# ---- segments ----------------------------------------------------------------------------------------------------------------
BENT = [1, 2.1, 2.9, 4, 3.5, 3.1, 2.4, 2]


def test_trace_of_segments():
    m = nr.SegmentedLeastSquares(0.5).fit(range(1, 9), BENT)
    np.testing.assert_allclose(m.costs_, [0, 0.5, 0.5, 0.515, 0.518, 1.015, 1.016667, 1.033, 1.034], atol=2e-6)
    assert [(s.start + 1, s.stop) for s in m.segments_] == [(1, 3), (4, 8)]
    np.testing.assert_allclose([s.polynomial.coef for s in m.segments_], [(0.1, 0.95), (6.06, -0.51)], atol=1e-12)
    found = {p: nr.SegmentedLeastSquares(p).fit(range(1, 9), BENT) for p in (0.05, 3, 20)}
    np.testing.assert_allclose([m.cost_ for m in found.values()], [0.134, 6.034, 25.874762], atol=2e-6)
    assert [len(m.segments_) for m in found.values()] == [2, 2, 1]
    assert [m.n_evaluated_, *(m.n_evaluated_ for m in found.values())] == [29, 27, 36, 36]


def residual(x, y, w, degree):
    V = np.vander(x - x.mean(), min(degree + 1, len(x))) * np.sqrt(w)[:, None]
    t = y * np.sqrt(w)
    return float(((t - V @ np.linalg.lstsq(V, t, rcond=None)[0]) ** 2).sum())


def brute(x, y, w, penalty, degree):
    """The cheapest of all segmentations, ties to the longest last segment."""
    N, best = len(x), (math.inf, None)
    for r in range(N):
        for cuts in itertools.combinations(range(1, N), r):
            edges = [0, *cuts, N]
            cost = sum(residual(x[a:b], y[a:b], w[a:b], degree) + penalty for a, b in itertools.pairwise(edges))
            if cost < best[0] - 1e-9:
                best = (cost, edges)
    return best


@pytest.mark.parametrize("degree", [0, 1, 2])
def test_segments_are_those_of_brute_force(degree):
    rng = np.random.default_rng(degree)
    for _ in range(12):
        N = int(rng.integers(1, 9))
        x = np.cumsum(rng.uniform(0.1, 2.0, N)) + 1e3 * rng.standard_normal()
        y = np.where(np.arange(N) < N // 2, x - x[0], rng.standard_normal()) + 0.3 * rng.standard_normal(N)
        w = rng.choice([0.5, 1.0, 3.0], N)
        m = nr.SegmentedLeastSquares(float(rng.choice([0.01, 0.1, 1.0])), degree).fit(x, y, w)
        cost, edges = brute(x, y, w, m.penalty, degree)
        assert abs(m.cost_ - cost) < 1e-8
        assert [0, *(s.stop for s in m.segments_)] == edges


def plain_programme(x, y, penalty, degree):
    """The recursion without deletions, each residual from scratch."""
    opt, w = [0.0], np.ones(len(x))
    for i in range(len(x)):
        opt.append(min(opt[j] + residual(x[j : i + 1], y[j : i + 1], w[j : i + 1], degree) + penalty for j in range(i + 1)))
    return opt


@pytest.mark.parametrize("degree", [0, 1, 3])
def test_deletions_change_nothing(degree):
    rng = np.random.default_rng(degree)
    x = 1e6 + np.arange(60.0)  # far from 0: sums of squares of x would have no digits left
    y = 1e3 + np.abs((np.arange(60) % 24) - 12.0) + 0.3 * rng.standard_normal(60)
    m = nr.SegmentedLeastSquares(1.0, degree).fit(x, y)
    np.testing.assert_allclose(m.costs_, plain_programme(x, y, 1.0, degree), atol=1e-7)
    assert m.n_evaluated_ < 60 * 61 // 2
    worth = sum(residual(x[s.start : s.stop], y[s.start : s.stop], np.ones(s.stop - s.start), degree) + 1.0 for s in m.segments_)
    assert abs(worth - m.cost_) < 1e-7  # what is found by going back is worth the minimum
    rest = ((y - m.predict(x)) ** 2).sum() + len(m.segments_)
    assert abs(rest - m.cost_) < 1e-6


def test_points_one_by_one_or_at_once_or_interpreted():
    rng = np.random.default_rng(0)
    x, y = np.arange(150.0), np.abs(np.arange(150) % 40 - 20) + rng.standard_normal(150)
    whole = nr.SegmentedLeastSquares(8.0).fit(x, y)
    parts = nr.SegmentedLeastSquares(8.0)
    for a, b in itertools.pairwise([0, 1, 2, 30, 31, 100, 150]):
        parts.partial_fit(x[a:b, None], y[a:b])
    np.testing.assert_array_equal(whole.costs_, parts.costs_)
    assert [s[:4] for s in whole.segments_] == [s[:4] for s in parts.segments_]
    single = nr.SegmentedLeastSquares(8.0)
    for i in range(40):
        single.add(x[i], y[i])
    single = pickle.loads(pickle.dumps(single)).partial_fit(x[40:], y[40:])
    np.testing.assert_array_equal(whole.costs_, single.costs_)
    with compiling.interpreted():
        plain = nr.SegmentedLeastSquares(8.0).fit(x, y)
    np.testing.assert_allclose(whole.costs_, plain.costs_, rtol=1e-12)
    assert repr(plain) == "SegmentedLeastSquares(penalty=8, degree=1)"


def test_sawtooth_and_ends_of_the_penalty():
    x = np.arange(4000.0)
    saw = nr.SegmentedLeastSquares(1.0).fit(x, x % 20)
    assert len(saw.segments_) == 200
    assert saw.n_evaluated_ < 60_000
    y = np.random.default_rng(0).standard_normal(50)
    assert len(nr.SegmentedLeastSquares(1e9).fit(x[:50], y).segments_) == 1
    tiny = nr.SegmentedLeastSquares(1e-12).fit(x[:50], y)
    assert len(tiny.segments_) == 25  # two points a line
    np.testing.assert_allclose(tiny.predict(x[:50]), y, atol=1e-9)


def test_weights_of_points():
    rng = np.random.default_rng(0)
    x, y = np.arange(30.0), np.abs(np.arange(30.0) - 15) + rng.standard_normal(30)
    w = np.where(np.arange(30) % 3, 1.0, 0.0)
    a = nr.SegmentedLeastSquares(2.0).fit(x, y, w)
    b = nr.SegmentedLeastSquares(2.0).fit(x[w > 0], y[w > 0])
    np.testing.assert_array_equal(a.costs_, b.costs_)


def test_predict_between_and_beyond():
    m = nr.SegmentedLeastSquares(0.1).fit([0, 1, 2, 10, 11, 12], [0, 1, 2, 5, 5, 5])
    np.testing.assert_allclose(m.predict([-1, 1.5, 5.9, 6.1, 20]), [-1, 1.5, 5.9, 5, 5], atol=1e-12)
    np.testing.assert_allclose(m.predict([[3.0]]), [3.0], atol=1e-12)


def test_bad_points_are_refused_and_nothing_changes():
    m = nr.SegmentedLeastSquares().fit([1, 2, 3], [1, 2, 3])
    for x, y, w, match in (
        ([3], [1], None, "x must increase"),
        ([4, 4], [1, 1], None, "row 1 comes after 4"),
        ([4, np.nan], [1, 1], None, "x contains nan at row 1"),
        ([4], [np.inf], None, "y contains inf"),
        ([4], [1, 2], None, "one length"),
        ([4], [1], [-1.0], "negative"),
    ):
        with pytest.raises(ValueError, match=match):
            m.partial_fit(x, y, w)
    assert m.n_seen_ == 3
    assert m.cost_ == 1.0
    for params in ({"penalty": 0.0}, {"penalty": math.nan}, {"degree": 1.5}, {"degree": -1}):
        with pytest.raises(ValueError, match=next(iter(params))):
            nr.SegmentedLeastSquares(**params)
    with pytest.raises(nr.NotLearnedError, match="no points"):
        nr.SegmentedLeastSquares().predict([1.0])


def test_plot(tmp_path):
    pytest.importorskip("matplotlib")
    m = nr.SegmentedLeastSquares(0.5).fit(range(1, 9), BENT)
    figure = m.plot(tmp_path / "pieces.png")
    points, *lines = figure.axes[0].lines
    np.testing.assert_array_equal(points.get_ydata(), BENT)
    assert len(lines) == 2
    np.testing.assert_allclose(lines[1].get_ydata(), [4.02, 1.98], atol=1e-9)
    assert (tmp_path / "pieces.png").stat().st_size > 1000
