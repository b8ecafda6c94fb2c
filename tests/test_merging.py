"""Joining models: features and classes by name, moves from a common model, true sums, largest and least values; RLS exactly."""

import copy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

import noregret as nr
from noregret.engine.compiling import interpreted
from noregret.learners.merging import Terms


@pytest.fixture(autouse=True)
def no_compiler():
    with interpreted():
        yield


def data(n=120, d=5, K=2, seed=1):
    """Return rows and labels, or real targets for no class."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.7)
    f = X @ rng.normal(size=(d, max(K, 1))) + 0.3 * rng.normal(size=(n, max(K, 1)))
    return X, f[:, 0] if K == 0 else np.array(["ham", "spam", "eggs"])[f.argmax(1)]


def went_on(base, *rows):
    """Return copies of a model, each of which has learned some rows."""
    return [copy.deepcopy(base).partial_fit(X, y) for X, y in rows]


def parted(X, y, n):
    """Return rows in n parts."""
    return [(X[i::n], y[i::n]) for i in range(n)]


# ---- in rounds -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["nag", "adagrad", "averaged_perceptron", "pa1", "ogd", "arow", "multitask"])
def test_the_common_past_counts_once(name):
    """Ten rounds of eight parts: as many examples as there are, and statistics that do not explode."""
    X, y = data(450)
    m = nr.learner(name)
    tasks = (lambda rows: (rows[:, 0] > 0).tolist()) if name == "multitask" else None

    def learn(model, rows, labels):
        return model.partial_fit(rows, labels, tasks(rows)) if tasks else model.partial_fit(rows, labels)

    learn(m, X[:50], y[:50])
    for k in range(10):
        rows = [slice(50 + 40 * k + i, 90 + 40 * k, 8) for i in range(8)]
        m = m.joined([learn(copy.deepcopy(m), X[part], y[part]) for part in rows])
    assert m.n_seen_ == 450
    assert m.n_updates_ <= 450
    assert np.abs(m.coef_).max() < 100.0
    if name == "nag":
        assert 0.0 < m.state.q.max() <= max(np.abs(X).max(), 1.0)
        assert m.state.Omega[0] <= 50 + 10 * 5  # by the mean of eight parts of five rows
    if name == "averaged_perceptron":
        assert m.state.w.n[0] == 451  # the start, and every round once


def test_means_of_averages():
    """The sum of all vectors is that of all rounds, and the answer their mean."""
    X, y = data(90)
    base = nr.AveragedPerceptron(classes=["ham", "spam"]).partial_fit(X[:30], y[:30])
    parts = went_on(base, *parted(X[30:], y[30:], 3))

    def total(m):
        return m.coef_[0] * m.state.w.n[0]

    m = base.joined(parts)
    assert total(m) == pytest.approx(sum(map(total, parts)) - 2 * total(base))
    assert m.state.w.n[0] == sum(p.state.w.n[0] for p in parts) - 2 * base.state.w.n[0]


# ---- words of slots --------------------------------------------------------------------------------------------------
def test_ranges_and_largest_values_stay_true():
    """They were averaged, or added: answers were cut to a range that no target was in."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    a = nr.NAGRegressor().partial_fit(X, np.clip(X[:, 0], -1.0, 1.0))
    b = nr.NAGRegressor().partial_fit(3.0 * X, 20.0 * X[:, 0])
    low, high, q = b.state.low[0], b.state.high[0], np.maximum(a.state.q, b.state.q)
    n, rounds = (a.state.n + b.state.n) / 2.0, (a.state.Omega[0] + b.state.Omega[0]) / 2.0
    merged = copy.deepcopy(a).merge(b)
    assert (merged.state.low[0], merged.state.high[0]) == (low, high)
    assert np.array_equal(merged.state.q, q)
    np.testing.assert_allclose(merged.state.n, n)  # the mean by examples, or steps would freeze
    assert merged.state.Omega[0] == rounds


def test_statistics_and_schedules_advance_by_the_mean():
    X, y = data(100)
    a, b = nr.AdaGrad().partial_fit(X[:25], y[:25]), nr.AdaGrad().partial_fit(X[25:], y[25:])
    n = 0.25 * a.state.n + 0.75 * b.state.n
    np.testing.assert_allclose(a.merge(b).state.n, n)
    a, b = nr.OGD().partial_fit(X[:20], y[:20]), nr.OGD().partial_fit(X[20:], y[20:])
    assert a.merge(b).state.t[0] == 68  # 20 and 80 rounds, by 20 and 80 examples


def test_factors():
    """By examples since the model before; parts that learned nothing alike have equal shares."""
    assert Terms.of(10, [20, 40], 2.0) == Terms([-1.0, 0.5, 1.5], [0.0, 0.25, 0.75], [-1.0, 1.0, 1.0])
    assert Terms.of(None, [20, 60], 1.0) == Terms([0.25, 0.75], [0.25, 0.75], [1.0, 1.0])
    assert Terms.of(5, [5, 5], 1.0).mean == [0.0, 0.5, 0.5]


# ---- moves -----------------------------------------------------------------------------------------------------------
@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4), st.integers(0, 2)), min_size=12, max_size=40),
    st.integers(2, 4),
    st.sampled_from([1.0, 2.0, "sum"]),
    st.sampled_from([2, 3]),
)
def test_moves_are_added_by_name(rows, n, length, classes):
    """Names and classes that come late, in any part: every weight is w0 + a sum_i (n_i/n) (w_i - w0)."""
    rows = [(i % n, {f"f{a}": 1.0, f"g{b}": 0.5 + i % 3}, "xyz"[c % classes]) for i, (a, b, c) in enumerate(rows)]
    base = nr.PA1()
    for _, x, y in rows[:4]:
        base.learn_one(x, y)
    parts = [copy.deepcopy(base) for _ in range(n)]
    for i, x, y in rows[4:]:
        parts[i].learn_one(x, y)
    before = [m.digest() for m in (base, *parts)]
    m = base.joined(parts, length)
    assert [m.digest() for m in (base, *parts)] == before
    assert m.n_seen_ == len(rows)
    moved = [p.n_seen_ - 4 for p in parts]
    a = n if length == "sum" else length
    labels, names = m.model.labels.values, m.feature_names_
    if len(labels) < 2:
        return

    def weights(model):  # of each class, whether it has a row of its own or not
        model = copy.deepcopy(model)
        if not model.model.many:
            for v in labels:
                model.model.labels.add(v)
            model.model.labels.refresh()
            model.model.spread()
        W = model.model.weights()
        known = {v: k for k, v in enumerate(model.model.labels.values)}
        at = {v: k + 1 for k, v in enumerate(model.feature_names_)} | {"": 0}
        return np.array([[W[known[v], at[f]] if v in known and f in at else 0.0 for f in ["", *names]] for v in labels])

    w0 = weights(base)
    expected = w0 + a * sum(k / sum(moved) * (weights(p) - w0) for k, p in zip(moved, parts))
    if len(labels) > 2 or m.model.many:
        np.testing.assert_allclose(m.model.weights(), expected, atol=1e-12)
    elif len(labels) == 2:
        np.testing.assert_allclose(m.model.weights()[0] / 2.0, expected[m.model.labels.positive], atol=1e-12)


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("covariance", ["diag", "full"])
def test_gaussians_are_joined_by_precision(covariance, K):
    """Precision, and precision times mean; a length that leaves no covariance falls back to the mean."""
    X, y = data(90, K=K)
    base = nr.AROW(covariance=covariance).partial_fit(X[:30], y[:30])
    parts = went_on(base, *parted(X[30:], y[30:], 3))
    for length in (1.0, 2.0):
        m = base.joined(parts, length)

        def natural(model):
            mu, S = model.model.weights(), np.atleast_2d(model.covariance_)
            order = [*range(1, mu.shape[1]), 0] if model.model.features.constant == 0 else list(range(mu.shape[1]))
            mu = mu[:, order][np.argsort(model.model.labels.values) if len(mu) > 1 else slice(None)]
            P = np.linalg.inv(S.reshape(len(mu), mu.shape[1], -1)) if covariance == "full" else 1.0 / S
            return np.ravel(P), np.ravel(P @ mu[:, :, None] if covariance == "full" else P * mu)

        for mine, before, theirs in zip(natural(m), natural(base), zip(*map(natural, parts))):
            np.testing.assert_allclose(mine, before + length * sum(t - before for t in theirs) / 3, rtol=1e-8, atol=1e-9)


def test_a_precision_that_is_not_positive_falls_back_to_the_mean():
    X, y = data(60)
    base = nr.AROW().partial_fit(X[:20], y[:20])
    parts = went_on(base, *parted(X[20:], y[20:], 2))
    for p in parts:
        p.state.Sigma.s[:] = 100.0  # surer before than after: far along, precisions are below 0
    far, mean = base.joined(parts, 2.0), base.joined(parts)
    assert np.array_equal(far.coef_, mean.coef_)
    assert (far.state.Sigma.s > 0.0).all()


def test_cells_that_nobody_touched_stay_as_new():
    """To the bit, so that files of large hashed models stay small."""
    rows = [{f"w{i % 7}": 1.0} for i in range(60)]
    y = [0, 1] * 30
    for m in (nr.AROW(hash_bits=12), nr.NAG(hash_bits=12), nr.PA1(hash_bits=12)):
        base = m.partial_fit(rows[:20], y[:20])
        joined = base.joined(went_on(base, (rows[20:30], y[20:30]), (rows[30:43], y[30:43]), (rows[43:], y[43:])), 1.5)
        assert len(joined.to_bytes()) < 8_000


def test_weights_stay_in_their_region():
    """The sum of moves may leave it; the nearest point is taken."""
    X, y = data(150, K=3)
    for projection in ("l2", "l1", "box", "simplex"):
        base = nr.OGD(projection=projection, radius=0.5, eta=0.3).partial_fit(X[:50], y[:50])
        m = base.joined(went_on(base, *parted(X[50:], y[50:], 4)), "sum")
        w = m.model.weights()
        size = {"l2": np.linalg.norm(w), "l1": np.abs(w).sum(), "box": np.abs(w).max(), "simplex": w.sum()}[projection]
        assert size <= 0.5 * (1 + 1e-9)
        assert projection != "simplex" or w.min() >= 0.0


def test_from_the_start():
    """Without a model before them, moves are measured from the start of learning."""
    X, y = data(60)
    parts = [nr.PA1(classes=["ham", "spam"]).partial_fit(*part) for part in parted(X, y, 2)]
    m = parts[0].clone().joined(parts, 1.5)
    np.testing.assert_allclose(m.coef_, 1.5 * (parts[0].coef_ + parts[1].coef_) / 2.0)
    assert m.n_seen_ == 60
    fresh = nr.PA1()
    assert not fresh.joined([nr.PA1(), nr.PA1()]).started
    assert fresh.joined([nr.PA1(classes=None), nr.PA1().partial_fit(X, y)]).digest() == nr.PA1().partial_fit(X, y).digest()


def test_what_does_not_fit_is_refused():
    X, y = data(60)
    base = nr.PA1().partial_fit(X, y)
    for length in (0.0, -1.0, np.inf, np.nan):
        with pytest.raises(ValueError, match="length must be a number above 0 or 'sum'"):
            base.joined([base, base], length)
    with pytest.raises(ValueError, match="no parts"):
        base.joined([])
    with pytest.raises(ValueError, match="has learned nothing, not even"):
        base.joined([base, nr.PA1()])
    with pytest.raises(ValueError, match="different parameters"):
        nr.PA1(C=2.0).partial_fit(X, y).joined([base, base])
    with pytest.raises(TypeError, match="cannot merge a PA2 into a PA1"):
        nr.PA2().partial_fit(X, y).joined([base, base])
    votes = nr.VotedPerceptron().partial_fit(X, y)
    with pytest.raises(TypeError, match="has no merge"):
        votes.joined([votes, votes])


# ---- RLS -------------------------------------------------------------------------------------------------------------
def same_fit(a, b):
    """Check that two least squares fits are the same to rounding."""
    np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(a.intercept_, b.intercept_, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(a.covariance_, b.covariance_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(a.loss_, b.loss_, rtol=1e-9, atol=1e-9)
    assert a.n_seen_ == b.n_seen_
    assert a.state.n[0] == pytest.approx(b.state.n[0])


@pytest.mark.parametrize("targets", [1, 3])
def test_least_squares_are_joined_exactly(targets):
    """As one pass over all rows, once and in rounds, whatever the length; and learning goes on from there."""
    X, y = data(120, K=0)
    y = y if targets == 1 else np.column_stack([y, X[:, 0], y - X[:, 1]])
    c = np.random.default_rng(2).uniform(0.5, 2.0, 120)
    new = lambda: nr.RLS(ridge=0.1)  # noqa: E731
    whole = new().partial_fit(X, y, sample_weight=c)
    a, b = (new().partial_fit(X[i::2], y[i::2], sample_weight=c[i::2]) for i in range(2))
    same_fit(a.merge(b), whole)
    m = new().partial_fit(X[:24], y[:24], sample_weight=c[:24])
    for k, length in enumerate((1.0, "sum", 3.0, 1.0)):
        rows = [slice(24 + 24 * k + i, 48 + 24 * k, 3) for i in range(3)]
        m = m.joined([copy.deepcopy(m).partial_fit(X[r], y[r], sample_weight=c[r]) for r in rows], length)
    same_fit(m, whole)
    for model in (m, whole):
        model.partial_fit(X[:30], y[:30])
    same_fit(m, whole)


def test_least_squares_of_names_that_come_late():
    rng = np.random.default_rng(4)
    rows = [{f"n{j}": rng.normal() for j in rng.choice(3 + i // 10, 3, replace=False)} for i in range(60)]
    y = rng.normal(size=60)
    whole = nr.RLS().partial_fit(rows, y)
    base = nr.RLS().partial_fit(rows[:15], y[:15])
    m = base.joined(went_on(base, (rows[30:], y[30:]), (rows[15:30], y[15:30])))
    assert set(m.feature_names_) == set(whole.feature_names_)
    for x in rows:
        assert m.predict_one(x) == pytest.approx(whole.predict_one(x), abs=1e-10)
    assert m.loss_ == pytest.approx(whole.loss_)


def test_least_squares_that_forget_have_no_merge():
    X, y = data(40, K=0)
    for params in ({"forgetting": 0.99}, {"window": 10}):
        m = nr.RLS(**params).partial_fit(X, y)
        with pytest.raises(TypeError, match="has no merge"):
            m.merge(copy.deepcopy(m))
    with pytest.raises(ValueError, match="different numbers of targets"):
        nr.RLS().partial_fit(X, y).merge(nr.RLS().partial_fit(X, np.column_stack([y, y])))


# ---- pipelines -------------------------------------------------------------------------------------------------------
def test_pipelines_are_joined_with_their_statistics():
    """Names are united, and a running mean and deviation are those of all rows, each counted once."""
    rng = np.random.default_rng(5)
    rows = [{"a": 1000.0 + rng.normal(), "b": rng.normal(), "c": "uvwxyz"[i % (2 + i // 20)]} for i in range(80)]
    y = [int(r["b"] > 0) for r in rows]
    whole = nr.pipeline(nr.Category("c"), nr.Scale(), nr.AROW()).partial_fit(rows, y)
    m = whole.clone().partial_fit(rows[:20], y[:20])
    for k in range(3):
        parts = [slice(20 + 20 * k + i, 40 + 20 * k, 4) for i in range(4)]
        before = m.digest()
        joined = m.joined([copy.deepcopy(m).partial_fit(rows[p], y[p]) for p in parts])
        assert m.digest() == before
        m = joined
    assert m.n_seen_ == 80
    assert set(m.feature_names_) == set(whole.feature_names_)
    at = [m.feature_names_.index(name) for name in whole.feature_names_]
    mine, theirs = m.front.maps[0]._stats[:, at], whole.front.maps[0]._stats[:, : len(at)]
    np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-7)
    assert m.score(rows, y) > 0.9
    assert nr.from_bytes(m.to_bytes()).digest() == m.digest()


def test_pipelines_from_the_start():
    """One that has met no row has no table yet: nothing changes by it, and it takes part as the start of the others."""
    rows = [{"a": float(i), "c": "uv"[i % 2]} for i in range(20)]
    fresh = nr.pipeline(nr.Scale(), nr.PA1())
    m = fresh.clone().partial_fit(rows, [0, 1] * 10)
    for merged in (fresh.clone().merge(m), copy.deepcopy(m).merge(fresh), fresh.joined([m]), fresh.joined([fresh.clone(), m])):
        assert merged.digest() == m.digest()
    parts = [fresh.clone().partial_fit(rows[i::2], [0, 1, 1, 0, 1] * 2) for i in range(2)]
    assert fresh.joined(parts).n_seen_ == 20
    numbered = fresh.clone().partial_fit(np.eye(2), [0, 1])
    with pytest.raises(ValueError, match="cannot merge fronts of different steps"):
        copy.deepcopy(m).merge(numbered)


def test_pipelines_of_numbered_rows_are_joined():
    """Sparse rows that bring new numbers late, through a map that changes nothing."""
    X, y = data(90)
    X = csr_matrix(np.hstack([X, X * (np.arange(90) > 45)[:, None]]))
    base = nr.pipeline(nr.Normalize(), nr.PA1()).partial_fit(X[:30], y[:30])
    parts = went_on(base, (X[30:60], y[30:60]), (X[60:], y[60:]))
    m = base.joined(parts)
    assert m.n_seen_ == 90
    np.testing.assert_allclose(m.coef_, (parts[0].coef_ + parts[1].coef_) / 2.0)
