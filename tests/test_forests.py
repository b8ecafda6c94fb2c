"""Mondrian forests: printed traces, a plain transcription, what holds for every tree, the guarantee, and the ways to use them."""

import copy
import json
import math
import pickle
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from reference_forest import Forest, draw
from scipy.sparse import csr_matrix
from traces import M_LABELS, P_TARGETS, M, P
from traces_forest import LABELS, TARGETS, rounds

import noregret as nr
from noregret.cli import main
from noregret.engine.compiling import compiled
from noregret.forests.chances import chances
from noregret.forests.nodes import NEVER
from noregret.forests.trees import levels


# ---- draws and traces ------------------------------------------------------------------------------------------------
def test_draws_are_those_printed():
    for fn in (draw, chances, compiled(chances)):
        assert fn(1, 2, 0, 0, 0, 4) == pytest.approx((0.585094, 0.875036), abs=1e-6)
        assert fn(1, 2, 1, 0, 0, 4) == pytest.approx((0.416834, 0.572558), abs=1e-6)
        assert [fn(1, 2, 0, 0, key, 5)[0] for key in (0, 1)] == pytest.approx([0.067585, 0.720406], abs=1e-6)
    for t, seed, key in ((1, 2**40 + 5, 7), (2**33 + 9, 3, 2**32 - 1), (5, 2**64 - 1, 0)):
        wrapped = seed - 2**64 if seed >= 2**63 else seed
        assert compiled(chances)(wrapped, t, 3, 17, key, 5) == draw(seed, t, 3, 17, key, 5)


@pytest.mark.parametrize("real", [False, True])
def test_traces(real):
    """Every node after every round, and the answer before it."""
    if real:
        m, X, y, trace = nr.MondrianForestRegressor(trees=1, seed=1), P, P_TARGETS, rounds(TARGETS)
    else:
        m, X, y, trace = nr.MondrianForest(trees=2, seed=1, classes=[0, 1, 2]), M, M_LABELS, rounds(LABELS)
    for x, target, said in zip(X, y, trace, strict=True):
        if said.answer is not None:
            f = m.predict([x]) if real else m.predict_proba([x])[0]
            assert f == pytest.approx(said.answer, abs=2e-6)
        m.partial_fit([x], [target])
        if real:
            assert m.model.grove.sums[2] == pytest.approx(said.noise, abs=2e-6)
        assert len(said.nodes) == m.n_nodes_
        for k, node in enumerate(said.nodes):
            node["time"] = NEVER if node["time"] is None else node["time"]
            for field, value in node.items():
                assert getattr(m.state, field)[k] == pytest.approx(value, abs=2e-6), (field, k)


# ---- the transcription -----------------------------------------------------------------------------------------------
def rows(n=150, d=5, seed=0):
    """Rows with ties, a constant column, one of small whole numbers, one of another unit, and zeros."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.8)
    X[:, 1] = rng.integers(0, 3, n)
    X[:, 2] = 7.0
    X[:, 3] *= 1e6
    X[n // 3] = X[n // 2] = X[n // 4]
    return X


def labels(X, K=4, seed=0):
    """Labels that depend on the rows; those after the second come late."""
    rng = np.random.default_rng(seed)
    f = X[:, 0] * X[:, 1] + X[:, 3] / 1e6 + 0.5 * rng.standard_normal(len(X))
    y = np.digitize(f, np.quantile(f, np.linspace(0, 1, K + 1)[1:-1]))
    y[: len(y) // 3] = np.minimum(y[: len(y) // 3], 1)
    return y


def same(m, reference):
    """All nodes are equal: structure and boxes exactly, numbers to rounding."""
    s, columns = m.state, reference.columns
    nodes = [v for tree in reference.trees for v in tree]
    number = {id(v): k for tree in reference.trees for k, v in enumerate(tree)} | {id(None): -1}
    assert len(nodes) == len(s.tree)
    for name in ("left", "right", "parent"):
        assert getattr(s, name).tolist() == [number[id(getattr(v, name))] for v in nodes]
    place = {j: k for k, j in enumerate(columns)} | {None: -1}
    assert s.feature.tolist() == [place[v.feature] for v in nodes]
    assert s.lower.tolist() == [[v.low(j) for j in columns] for v in nodes]
    assert s.upper.tolist() == [[v.high(j) for j in columns] for v in nodes]
    numbers = {"cut": [v.cut or 0.0 for v in nodes], "time": [min(v.tau, NEVER) for v in nodes]}
    numbers |= {"rows": [v.n for v in nodes], "loss": [v.L for v in nodes], "log_weight": [v.lnW for v in nodes]}
    for name, theirs in numbers.items():
        assert getattr(s, name) == pytest.approx(np.array(theirs), rel=1e-12, abs=1e-12), name
    moments = [[v.mean, v.M2] if reference.real else [v.counts.get(k, 0.0) for k in reference.labels] for v in nodes]
    assert s.statistics == pytest.approx(np.array(moments), rel=1e-11, abs=1e-12)


SETTINGS = {
    "defaults": {},
    "three trees, another seed": {"trees": 3, "seed": 2**40 + 7},
    "pure nodes split": {"split_pure": True},
    "few nodes": {"max_nodes": 9},
    "few bytes": {"max_bytes": 20_000},
    "two columns a tree": {"max_features": 2},
    "columns as they are": {"scale": False},
    "alpha, step": {"alpha": 0.1, "step": 0.5},
    "fading": {"fading": 0.9},
    "weights": {"weighted": True},
    "all at once": {"weighted": True, "max_features": 3, "max_nodes": 31, "fading": 0.99, "step": 2.0, "split_pure": True},
}
REAL = {**SETTINGS, "noise": {"noise": 0.3}, "alpha, step": {"step": 0.5}}


def learned(real, given, X, y):
    """A forest, and the transcription of it, after the same rows; the answers of both agree on the way."""
    given = {"trees": 4, "seed": 3, **given}
    weighted = given.pop("weighted", False)
    w = np.random.default_rng(1).integers(0, 4, len(X)) / 2.0 if weighted else np.ones(len(X))
    if real:
        given.pop("split_pure", None)
    m = (nr.MondrianForestRegressor if real else nr.MondrianForest)(**given)
    reference = Forest(real, **given)
    for i, x in enumerate(X.tolist()):
        spread = reference.spread(dict(enumerate(x))) if real and m.started else 0.0
        f = reference.learn(dict(enumerate(x)), y[i].item(), w[i])
        if m.started and real:
            assert m.predict([x])[0] == pytest.approx(f, rel=1e-10, abs=1e-10)
            assert m.predict_spread([x])[1][0] == pytest.approx(spread, rel=1e-6, abs=1e-6)
        elif m.started:
            p = m.predict_proba([x])[0]
            assert p.sum() == pytest.approx(1.0, abs=1e-12)
            assert (p > 0.0).all()
            assert len(f) == 1 or p == pytest.approx([f[k] for k in sorted(f)], rel=1e-11)
        m.partial_fit([x], [y[i]], sample_weight=[w[i]])
    return m, reference


@pytest.mark.parametrize("name", SETTINGS)
def test_classifier_is_the_transcription(name):
    X = rows()
    m, reference = learned(False, SETTINGS[name], X, labels(X))
    same(m, reference)


@pytest.mark.parametrize("name", REAL)
def test_regressor_is_the_transcription(name):
    X = rows()
    y = X[:, 0] * X[:, 1] + X[:, 3] / 1e6 + 0.1 * np.random.default_rng(2).standard_normal(len(X))
    m, reference = learned(True, REAL[name], X, 50.0 + 10.0 * y)
    same(m, reference)
    assert m.model.grove.sums[2] == pytest.approx(reference.q, rel=1e-12)


@pytest.mark.parametrize("kind", ["names", "numbers"])
def test_columns_may_come_later(kind):
    """Their boxes begin at 0, and how the rows come in calls does not show."""
    X, name = rows(90), "x{}".format if kind == "names" else int
    y = labels(X)
    dicts = [{name(j): v for j, v in enumerate(r) if v and j <= i // 15} for i, r in enumerate(X.tolist())]
    for given in ({}, {"max_features": 2}, {"max_bytes": 30_000}):
        reference, whole = Forest(trees=4, seed=3, **given), nr.MondrianForest(trees=4, seed=3, **given)
        for x, label in zip(dicts, y.tolist(), strict=True):
            reference.learn(x, label)
        whole.partial_fit(dicts, y)
        one, some = whole.clone(), whole.clone()
        for x, label in zip(dicts, y.tolist(), strict=True):
            one.learn_one(x, label)
        for a in range(0, len(y), 7):
            some.partial_fit(dicts[a : a + 7], y[a : a + 7])
        same(whole, reference)
        assert whole.digest() == one.digest() == some.digest()


# ---- what holds for every tree ---------------------------------------------------------------------------------------
def grown(real=False, n=400, **given):
    X = rows(n, seed=4)
    y = X[:, 0] * X[:, 1] + X[:, 3] / 1e6 if real else labels(X, seed=4)
    m = (nr.MondrianForestRegressor if real else nr.MondrianForest)(seed=5, **given).partial_fit(X, y)
    return m, X, y


@pytest.mark.parametrize("real", [False, True])
def test_trees_are_sound(real):
    m, X, y = grown(real)
    s = m.state
    start = np.searchsorted(s.tree, s.tree)
    inner = np.flatnonzero(s.left >= 0)
    left, right = start[inner] + s.left[inner], start[inner] + s.right[inner]
    at = s.feature[inner]
    for side in (left, right):
        assert (s.time[side] > s.time[inner]).all()
        assert (s.lower[side] >= s.lower[inner]).all()
        assert (s.upper[side] <= s.upper[inner]).all()
    assert (s.upper[left, at] <= s.cut[inner]).all()
    assert (s.lower[right, at] > s.cut[inner]).all()
    assert np.array_equal(s.rows[inner], s.rows[left] + s.rows[right])
    assert set(s.feature[inner]) <= {0, 1, 3, 4}  # the constant column is never cut
    for x in X:
        for root in np.flatnonzero(s.parent < 0):
            v = root
            while s.left[v] >= 0:
                v = root + (s.left[v] if x[s.feature[v]] <= s.cut[v] else s.right[v])
            assert (s.lower[v] <= x).all()
            assert (x <= s.upper[v]).all()
    if real:
        assert y.min() <= m.predict(X * 3.0).min() <= m.predict(X * 3.0).max() <= y.max()


@pytest.mark.parametrize("real", [False, True])
def test_the_root_weighs_all_prunings(real):
    """By brute force, for trees small enough."""
    X = rows(40)
    y = X[:, 0] if real else labels(X, 2)
    m, reference = learned(real, {"max_nodes": 9}, X, y)
    for k, nodes in enumerate(reference.trees):
        found = reference.prunings(nodes[0])
        total = math.log(sum(2.0**-c * math.exp(-reference.eta * L) for c, L in found))
        root = m.state.log_weight[np.flatnonzero(m.state.parent < 0)[k]]
        assert root == pytest.approx(total, rel=1e-12)
        best = min(reference.eta * L + c * math.log(2.0) for c, L in found)
        assert -root <= best + 1e-12
        assert reference.eta * reference.best(nodes[0]) == pytest.approx(best)


def test_trees_do_not_depend_on_how_many_there_are():
    few, many = (grown(trees=n)[0].state for n in (3, 7))
    for name, a, b in zip(few._fields, few, many, strict=True):
        assert np.array_equal(a, b[many.tree < 3]), name


def test_units_of_columns_do_not_matter():
    m, X, y = grown()
    scale, shift = np.array([3.0, 0.1, 5.0, 1e-9, 700.0]), np.array([1.0, -4.0, 0.0, 2.0, 1e3])
    other = m.clone().partial_fit(X * scale + shift, y)
    assert np.array_equal(m.state.left, other.state.left)
    assert m.predict_proba(X) == pytest.approx(other.predict_proba(X * scale + shift), rel=1e-9)


def test_the_unit_of_the_target_does_not_matter():
    m, X, y = grown(True)
    assert np.array_equal(2.0 * m.predict(X), m.clone().partial_fit(X, 2.0 * y).predict(X))
    assert m.clone().partial_fit(X, 1e9 * y).predict(X) == pytest.approx(1e9 * m.predict(X), rel=1e-6)


def test_names_decide_on_the_draws():
    """Columns in another order with the same names give the same trees; whole numbers are their own names."""
    X = rows(120)
    y, order = labels(X), [3, 0, 4, 2, 1]
    frame = pd.DataFrame(X, columns=list("abcde"))
    m = nr.MondrianForest(seed=2).partial_fit(frame, y)
    other = nr.MondrianForest(seed=2).partial_fit(frame.iloc[:, order], y)
    assert m.predict_proba(frame) == pytest.approx(other.predict_proba(frame.iloc[:, order]), abs=1e-12)
    names = nr.MondrianForest(seed=2).partial_fit([dict(zip("abcde", x, strict=True)) for x in X.tolist()], y)
    assert m.predict_proba(frame) == pytest.approx(names.predict_proba(frame), abs=1e-12)
    numbers = nr.MondrianForest(seed=2).partial_fit([dict(enumerate(x)) for x in X.tolist()], y)
    hashed = nr.MondrianForest(seed=2, hash_bits=4).partial_fit([dict(enumerate(x)) for x in X.tolist()], y)
    array = nr.MondrianForest(seed=2).partial_fit(X, y)
    sparse = nr.MondrianForest(seed=2).partial_fit(csr_matrix(X), y)
    for forest in (numbers, sparse, hashed):
        Z = X if forest is sparse else [dict(enumerate(x)) for x in X.tolist()]
        assert array.predict_proba(X) == pytest.approx(forest.predict_proba(Z), abs=1e-12)


@pytest.mark.parametrize("real", [False, True])
def test_noise_of_all_magnitudes_stays_finite(real):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 4)) * 10.0 ** rng.integers(-160, 160, (3000, 4))
    X[::100] = 0.0
    y = rng.standard_normal(3000) * 10.0 ** rng.integers(-100, 139, 3000) if real else rng.integers(0, 3, 3000)
    m = (nr.MondrianForestRegressor if real else nr.MondrianForest)(trees=3).partial_fit(X, y)
    assert all(np.isfinite(a).all() for a in m.model.arrays().values())
    assert np.isfinite(m.predict(X) if real else m.predict_proba(X)).all()
    assert max(map(len, [levels(m.state)])) == m.depth_ + 1


# ---- the guarantee ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("K", [2, 4])
def test_losses_are_below_their_bound(seed, K):
    X = rows(500, seed=seed)
    y = labels(X, K, seed)
    m, reference = nr.MondrianForest(seed=seed, trees=5, classes=range(K)), Forest(trees=5, seed=seed, classes=range(K))
    f = m.learn_many(X, y)
    for x, label in zip(X.tolist(), y.tolist(), strict=True):
        reference.learn(dict(enumerate(x)), label)
    found = m.bound()
    assert found.loss == pytest.approx(reference.losses)
    assert found.cuts == pytest.approx(reference.gaps)
    assert found.best == pytest.approx([reference.best(nodes[0]) for nodes in reference.trees])
    assert (found.loss <= found.bound).all()
    p = f[:, list(range(K))] if K > 2 else np.column_stack([0.5 - f / 2, 0.5 + f / 2])
    assert found.forest == pytest.approx(-np.log(p[np.arange(1, 500), y[1:]]).sum())
    assert found.forest <= found.loss.mean() <= found.forest_bound


def test_squared_losses_are_below_their_bound():
    X = rows(500)
    y = np.tanh(X[:, 0] * X[:, 1])
    for noise in (4.0, 10.0):
        found = nr.MondrianForestRegressor(noise=noise).partial_fit(X, y).bound()
        assert (found.loss <= found.bound).all()
        assert found.forest <= found.loss.mean()
        assert found.forest_bound < 0.5 * ((y - y.mean()) ** 2).sum() * 2.0


def test_a_bound_that_does_not_hold_is_not_given():
    X = rows(60)
    y, t = labels(X, 3), X[:, 0]
    for m, why in (
        (nr.MondrianForest().partial_fit(X, y), "declare classes="),
        (nr.MondrianForest(classes=[0, 1, 2]).partial_fit(X, y, sample_weight=np.full(60, 2.0)), "60 rows have sample weights"),
        (nr.MondrianForest(fading=0.9).partial_fit(X, y > 0), "fading=1, got fading=0.9"),
        (nr.MondrianForest(step=2.0).partial_fit(X, y > 0), "step of at most 1"),
        (nr.MondrianForestRegressor().partial_fit(X, t), "give noise="),
        (nr.MondrianForestRegressor(noise=0.01).partial_fit(X, t), "give noise=\\d"),
    ):
        with pytest.raises(ValueError, match=why):
            m.bound()
    nr.MondrianForest().partial_fit(X, y > 0).bound()  # of two classes the number is known


# ---- memory ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("real", [False, True])
def test_full_trees_go_on_learning(real):
    m, X, y = grown(real, trees=3, max_nodes=21)
    assert m.full_
    assert m.n_nodes_ == 63
    before = m.state.rows.copy()
    m.partial_fit(X, y)
    assert m.n_nodes_ == 63
    assert (m.state.rows[m.state.parent < 0] == 2.0 * before[m.state.parent < 0]).all()
    free = grown(real, trees=3)[0]
    assert not free.full_
    assert free.n_nodes_ > 63


def test_bytes_are_counted_as_promised():
    m, X, _ = grown(trees=4, max_bytes=30_000, classes=range(4))
    each = 56 + 16 * 5 + 8 * 4
    assert m.nbytes_ == m.n_nodes_ * each <= 30_000
    assert m.full_
    assert m.n_nodes_ > 4 * (30_000 // (4 * each) - 2)
    r = grown(True, trees=4, max_bytes=30_000)[0]
    assert r.nbytes_ == r.n_nodes_ * (72 + 16 * 5) <= 30_000
    unlimited = grown(trees=4, max_bytes=None, classes=range(4))[0]
    assert unlimited.digest() != m.digest()
    assert not unlimited.full_
    m.set_params(max_bytes=60_000).partial_fit(rows(400, seed=9) * 5.0, labels(X, seed=9))
    assert 30_000 < m.nbytes_ <= 60_000


def test_too_many_columns_are_refused_and_change_nothing():
    with pytest.raises(ValueError, match=r"100,000 columns take 1\.\d MB a node.*hash_bits=9"):
        nr.MondrianForest().partial_fit(csr_matrix((3, 100_000)), [0, 1, 0])
    with pytest.raises(ValueError, match="262,144 columns"):
        nr.MondrianForest(hash_bits=18).learn_one({"a": 1}, 0)
    m = nr.MondrianForest().partial_fit([{"a": 1.0, "b": 2.0}, {"b": 1.0}] * 5, [0, 1] * 5)
    before = m.digest()
    with pytest.raises(ValueError, match="9,002 columns"):
        m.partial_fit([{f"w{j}": 1.0 for j in range(9000)}], [0])
    assert m.digest() == before
    m.learn_one({"a": 0.5, "c": 1.0}, 1)
    assert m.feature_names_ == ["a", "b", "c"]
    nr.MondrianForest(max_nodes=3, trees=1).partial_fit(csr_matrix((3, 5_000)), [0, 1, 0])  # few nodes by choice


# ---- use -------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("real", [False, True])
def test_files_copies_and_bytes(real, tmp_path):
    m, X, y = grown(real, n=150)
    whole = copy.deepcopy(m).partial_fit(X, y)
    m.save(tmp_path / "m.nr")
    for again in (nr.load(tmp_path / "m.nr"), nr.from_bytes(m.to_bytes()), pickle.loads(pickle.dumps(m)), copy.deepcopy(m)):
        assert again.digest() == m.digest()
        assert again.partial_fit(X, y).digest() == whole.digest()
    assert not m.clone().started
    assert m.clone().get_params() == m.get_params()


def test_a_changed_file_is_refused():
    """Compiled code follows the links, so none may lead outside, or round in a circle."""
    m = grown(n=60, trees=2)[0]
    meta, tensors = m.pack()
    restore = nr.learners.learner_file.restored
    restore(copy.deepcopy(meta), copy.deepcopy(tensors))

    def changed(name, at, value):
        other = copy.deepcopy(tensors)
        other[f"state.{name}"][at] = value
        return other

    inner = int(np.flatnonzero(m.state.left >= 0)[2])
    leaf = int(np.flatnonzero(m.state.left < 0)[2])
    for name, at, value in (
        ("left", inner, 10**6),
        ("right", inner, -1),
        ("left", inner, 0),
        ("left", leaf, 1),
        ("parent", inner, 0 if m.state.parent[inner] else 1),
        ("parent", 0, 1),
        ("feature", inner, 5),
        ("feature", inner, -1),
        ("tree", 0, 1),
        ("tree", -1, 2),
        ("time", leaf, 1.0),
        ("cut", inner, np.nan),
        ("rows", leaf, 0.0),
        ("statistics", (leaf, 0), -1.0),
        ("lower", (leaf, 0), 1e9),
        ("ledger", (0, 0), np.inf),
        ("clock", 0, -1),
    ):
        with pytest.raises(nr.ModelFileError):
            restore(copy.deepcopy(meta), changed(name, at, value))
    for name in ("left", "span", "sums"):
        other = copy.deepcopy(tensors)
        other[f"state.{name}"] = other[f"state.{name}"][:-1]
        with pytest.raises(nr.ModelFileError):
            restore(copy.deepcopy(meta), other)


def test_probabilities():
    m = nr.MondrianForest()
    assert m.predict_proba_one({"a": 1}) == {}
    assert nr.MondrianForest(classes=["x", "y"]).predict_proba_one({"a": 1}) == {"x": 0.5, "y": 0.5}
    assert m.learn_one({"a": 1.0}, "b") is None
    assert m.predict_proba([{"a": 1.0}]).tolist() == [[1.0]]
    assert m.learn_one({"a": 2.0}, "a") == "b"
    p = m.predict_proba([{"a": 2.0}])
    assert p.shape == (1, 2)
    assert p.sum() == pytest.approx(1.0)
    assert m.predict_proba_one({"a": 2.0}) == pytest.approx(dict(zip(["a", "b"], p[0], strict=True)))
    assert m.predict_one({"a": 2.0}) == m.predict([{"a": 2.0}])[0] == "a"
    assert m.decision_function([{"a": 2.0}])[0] == pytest.approx(p[0, 1] - p[0, 0])


def test_class_weights_multiply_sample_weights():
    X = rows(80)
    y = labels(X, 2)
    one = nr.MondrianForest(class_weight={0: 2.0, 1: 0.5}).partial_fit(X, y)
    other = nr.MondrianForest().partial_fit(X, y, sample_weight=np.where(y == 0, 2.0, 0.5))
    assert all(np.array_equal(a, b) for a, b in zip(one.state, other.state, strict=True))


def test_importances_find_the_columns_that_count():
    rng = np.random.default_rng(0)
    X = rng.random((3000, 6))
    y = (X[:, 1] > 0.5) ^ (X[:, 4] > 0.5)
    found = nr.MondrianForest().partial_fit(X, y).importances_
    assert found.sum() == pytest.approx(1.0)
    assert {*np.argsort(found)[-2:].tolist()} == {1, 4}
    assert found[[1, 4]].min() > 0.25
    assert nr.MondrianForestRegressor().partial_fit(X, X[:, 2]).importances_.argmax() == 2
    assert nr.MondrianForest().partial_fit(X[:1], y[:1]).importances_.tolist() == [0.0] * 6


def test_parameters_that_trees_depend_on_are_for_good():
    m, X, y = grown(n=50)
    before = m.digest()
    for given in ({"trees": 3}, {"seed": 1}, {"alpha": 0.1}, {"scale": False}, {"max_features": 2}):
        with pytest.raises(ValueError, match="only class_weight, coverage, epochs, max_bytes, max_nodes, shuffle can change"):
            m.set_params(**given)
    assert m.digest() == before
    m.set_params(max_nodes=m.n_nodes_ // 10, class_weight={0: 2.0}).partial_fit(X, y)
    for given, why in (({"trees": 0}, "trees"), ({"alpha": 0.0}, "alpha"), ({"max_nodes": 1.5}, "whole"), ({"seed": None}, "seed")):
        with pytest.raises(ValueError, match=why):
            nr.MondrianForest(**given).partial_fit(X, y)


def test_merging_is_refused_with_the_reason():
    m = grown(n=50)[0]
    with pytest.raises(TypeError, match="two trees have no common refinement whose weights are exact; average the answers"):
        m.merge(copy.deepcopy(m))
    with pytest.raises(TypeError, match="has no merge"):
        m.clone().joined([m, m])


def test_targets_too_large_to_square_are_refused():
    m = nr.MondrianForestRegressor()
    with pytest.raises(ValueError, match="y in row 1 is 1e\\+200"):
        m.partial_fit([[1.0], [2.0]], [1.0, 1e200])
    assert not m.started


def test_a_forest_in_a_pool_and_behind_maps(tmp_path):
    """A member like any other: late classes, calls of any size, files; and regressors as well."""
    X = rows(240)
    y = labels(X, 3)
    pool = nr.Hedge(learners=[nr.NAG(), nr.MondrianForest(trees=3), nr.pipeline(nr.Scale(), nr.PA1())])
    whole, parts = pool.clone().partial_fit(X, y), pool.clone()
    for a, b in pairwise([0, 1, 50, 51, 240]):
        parts.partial_fit(X[a:b], y[a:b])
    assert whole.digest() == parts.digest()
    whole.save(tmp_path / "pool.nr")
    again = nr.load(tmp_path / "pool.nr")
    assert again.partial_fit(X, y).digest() == parts.partial_fit(X, y).digest()
    alone = nr.MondrianForest(trees=3).partial_fit(X, y).partial_fit(X, y)
    assert np.array_equal(again.learners_[1].predict_proba(X), alone.predict_proba(X))
    mixture = nr.Hedge(learners=[nr.NAG(), nr.MondrianForest(trees=3)], rule="bayes").partial_fit(X, y > 0)
    assert mixture.predict_proba(X).sum(1) == pytest.approx(1.0)
    assert mixture.regret_ <= mixture.bound_
    reals = nr.HedgeRegressor(learners=[nr.RLS(), nr.MondrianForestRegressor(trees=3)]).partial_fit(X, X[:, 0] * X[:, 1])
    assert reals.learners_[1].n_nodes_ > 100
    behind = nr.pipeline(nr.Scale(), nr.MondrianForest(trees=3)).partial_fit(X, y)
    behind.save(tmp_path / "pipeline.nr")
    assert np.array_equal(nr.load(tmp_path / "pipeline.nr").predict(X), behind.predict(X))


def test_reports_compare_forests_with_others():
    X = rows(300)
    report = nr.compare((X, labels(X, 2)), ["mondrian_forest", "nag"]).to_dict()
    found = {run["model"]: run for run in report["learners"]}
    assert found.keys() == {"mondrian_forest", "nag"}
    assert found["mondrian_forest"]["regret"]["bound_why"] == "the guarantee of mondrian_forest is not against a linear model"
    report = nr.evaluate((X, X[:, 0] * X[:, 1]), "mondrian_forest_regressor").to_dict()
    assert report["examples"] == 300


def test_the_command_line_takes_forests(tmp_path, monkeypatch):
    """Trained in two files as in one, predicted with, and inspected."""
    monkeypatch.chdir(tmp_path)
    X, run = rows(200), CliRunner().invoke
    lines = [",".join(map(str, [*x, label])) for x, label in zip(X.tolist(), labels(X).tolist(), strict=True)]
    for name, part in (("a", lines[:90]), ("b", lines[90:]), ("all", lines)):
        (tmp_path / f"{name}.csv").write_text("\n".join(["u,v,w,x,y,label", *part]))
    options = ["--target", "label", "--quiet", "--save"]
    for args in (
        ["train", "all.csv", *options, "all.nr", "-m", "mondrian_forest", "--trees", "3"],
        ["train", "a.csv", *options, "parts.nr", "-m", "mondrian_forest", "--trees", "3"],
        ["train", "b.csv", *options, "parts.nr", "--continue"],
    ):
        assert run(main, args).exit_code == 0
    whole, parts = nr.load("all.nr").learner, nr.load("parts.nr").learner
    assert whole.digest() == parts.digest()
    said = run(main, ["inspect", "all.nr"]).output
    assert "trees=3\n" in said
    assert f"trees       3, with {whole.n_nodes_} nodes" in said
    found = json.loads(run(main, ["inspect", "all.nr", "--json", "--top", "2"]).output)["forest"]
    assert (found["nodes"], found["depth"], found["full"]) == (whole.n_nodes_, whole.depth_, False)
    assert [row["feature"] for row in found["top"]] == ["uvwxy"[j] for j in np.argsort(-whole.importances_)[:2]]
    answers = run(main, ["predict", "all.csv", "--target", "label", "--model-file", "all.nr"]).stdout.split()
    assert answers[:200] == [str(v) for v in nr.load("all.nr").predict(pd.read_csv("all.csv").drop(columns="label"))]
    refused = run(main, ["train", "all.csv", *options, "x.nr", "-m", "mondrian_forest", "--hash-bits", "18"])
    assert "(--hash-bits 9)" in refused.output


# ---- the peer --------------------------------------------------------------------------------------------------------
def test_error_is_that_of_river():
    """Settings as near as River's allow; the mean error of some seeds differs by no more than chance would have it."""
    forest = pytest.importorskip("river.forest")
    rng = np.random.default_rng(0)
    X = rng.random((400, 4))
    y = ((X[:, 0] > 0.5) ^ (X[:, 1] > 0.5)).astype(int)
    dicts, ours, theirs = [dict(enumerate(x)) for x in X.tolist()], [], []
    for seed in range(8):
        m = nr.MondrianForest(trees=5, seed=seed, scale=False, alpha=0.5, classes=[0, 1])
        ours.append(np.mean((m.learn_many(X, y) > 0.0) != y))
        peer, wrong = forest.AMFClassifier(n_estimators=5, seed=seed, dirichlet=0.5), 0
        for x, label in zip(dicts, y.tolist(), strict=True):
            p = peer.predict_proba_one(x)
            wrong += not p or max(p, key=p.get) != label
            peer.learn_one(x, label)
        theirs.append(wrong / len(y))
    spread = math.hypot(np.std(ours, ddof=1), np.std(theirs, ddof=1)) / math.sqrt(8)
    assert abs(np.mean(ours) - np.mean(theirs)) < 3.5 * spread
