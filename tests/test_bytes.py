"""Budgets in bytes: never exceeded, on arrays and on sparse rows, whatever the split into calls and however many classes come."""

import contextlib

import numpy as np
import pytest
import reference_kernels as reference
from scipy.sparse import csr_matrix

import noregret as nr
from noregret.algorithm.state import leaves
from noregret.engine import compiling
from noregret.inputs.features import Names
from noregret.inputs.labels import Labels
from noregret.learners.model import Model

RULES = (
    "Stop",
    "RemoveOldest",
    "RemoveSmallest",
    "RemoveRedundant",
    "RemoveRandom",
    "Shrink",
    "Projection",
    "Replace",
    "ReplaceNearest",
    "ProjectRemoved",
    "Merge",
)


@pytest.fixture(autouse=True)
def interpreted(request):
    """The algorithm is tested, not the compiler: only tests that say so compile."""
    with contextlib.nullcontext() if "compiled" in request.node.name else compiling.interpreted():
        yield


def rows(n=90, d=40, K=2, seed=0):
    """Rows of 1 to 12 non-zeros, so that one may take the place of several."""
    rng = np.random.default_rng(seed)
    X = np.zeros((n, d))
    for x in X:
        at = rng.choice(d, rng.integers(1, 13), replace=False)
        x[at] = rng.standard_normal(len(at))
    return X, rng.integers(K, size=n)


def held(m):
    """Bytes of all arrays of the state, but for one row of scratch as wide as the features that sparse rows need."""
    sparse = hasattr(m.state[0].S, "idx")
    return sum(a.nbytes for at, _, a in leaves(m.spec, m.state) if not (sparse and at == "w.S.z"))


@pytest.fixture
def watched(monkeypatch):
    """Look at the bytes wherever arrays are replaced or rows are learned."""
    seen = []

    def watch(name):
        plain = getattr(Model, name)

        def looked(self, *args, **kwargs):
            out = plain(self, *args, **kwargs)
            seen.append(held(self))
            return out

        monkeypatch.setattr(Model, name, looked)

    for name in ("resize", "learn", "spread", "refresh"):
        watch(name)
    return seen


def one_by_one(m, X, y):
    """Learn in calls of one row, looking at the bytes the vectors themselves take."""
    for i in range(len(y)):
        m.partial_fit(X[i : i + 1], y[i : i + 1])
    return m


@pytest.mark.parametrize("layout", [np.asarray, csr_matrix])
@pytest.mark.parametrize("rule", RULES)
def test_never_exceeded(rule, layout, watched):
    X, y = rows()
    make = lambda limit: nr.PA1(kernel=nr.RBF(0.1), budget=getattr(nr, rule)(bytes=limit), classes=[0, 1])  # noqa: E731
    one = one_by_one(make(7000), layout(X), y)
    assert 4 <= one.n_support_ < 80
    assert max(watched) <= 7000
    assert watched[-1] > 5000
    whole = make(7000).partial_fit(layout(X), y)
    parts = make(7000).partial_fit(layout(X[:37]), y[:37]).partial_fit(layout(X[37:]), y[37:])
    assert max(watched) <= 7000
    for m in (whole, parts):
        np.testing.assert_array_equal(m.dual_coef_, one.dual_coef_)
        np.testing.assert_array_equal(m.decision_function(X), one.decision_function(X))
    assert make(14000).partial_fit(layout(X), y).n_support_ > one.n_support_


def transcribed(X, y, limit, rule, K):
    """PA-I with a kernel, with plain lists: coefficients of the vectors kept, and the vectors."""
    h = reference.Hypothesis(lambda a, b: np.exp(-0.1 * np.sum((a - b) ** 2)), K)
    fixed, vector, cell = 40 + 8 * K, 48 + 8 * K, 12  # alpha, born, start, end, measure, two rows of kernel values; index, value
    spare = (limit - fixed) / 8

    def fits(points):
        return fixed + vector * (len(points) + 1) + cell * sum(map(np.count_nonzero, points)) + spare <= limit

    def short(*points):
        return cell * np.count_nonzero(np.any(points, axis=0)) <= spare

    for x, label in zip(X, y, strict=True):
        f, u = h.f(x), np.zeros(K)
        if K == 1:
            sign = 2 * label - 1
            u[0] = sign * min(1.0, max(0.0, 1.0 - sign * f[0]))
        else:
            rival = max((j for j in range(K) if j != label), key=lambda j: f[j])
            u[label] = min(1.0, max(0.0, 1.0 - f[label] + f[rival]) / 2.0)
            u[rival] = -u[label]
        if not u.any() or not short(x) or (rule == "Stop" and not fits([*h.points, x])):
            continue
        h.append(x, u)
        while not fits(h.points):
            if rule == "Merge":
                reference.merge_two(h, short)
            else:
                h.remove(0 if rule == "RemoveOldest" else int(np.argmin((h.A**2).sum(0))))
    return h.A, np.array(h.points)


@pytest.mark.parametrize("K", [1, 3])
@pytest.mark.parametrize("rule", ["Stop", "RemoveOldest", "RemoveSmallest", "Merge"])
def test_transcription(rule, K):
    X, y = rows(n=120, K=max(K, 2))
    X[50] = np.random.default_rng(5).standard_normal(X.shape[1])  # 480 bytes, more than the share of a row
    m = nr.PA1(kernel=nr.RBF(0.1), budget=getattr(nr, rule)(bytes=3600), classes=sorted(set(y.tolist())), fit_intercept=False)
    m.partial_fit(csr_matrix(X), y)
    A, sv = transcribed(X, y, 3600, rule, K)
    np.testing.assert_allclose(m.dual_coef_, A, atol=1e-6 if rule == "Merge" else 1e-9)
    np.testing.assert_allclose(m.support_vectors_.toarray(), sv, atol=1e-6 if rule == "Merge" else 0.0)


def test_a_row_too_large_is_not_stored():
    """And nothing else changes: not what is kept, not the answers."""
    X, y = rows()
    m = nr.PA1(kernel=nr.RBF(0.1), budget=nr.RemoveOldest(bytes=3000), classes=[0, 1]).partial_fit(csr_matrix(X), y)
    before, kept = m.decision_function(X), m.support_vectors_.toarray()
    m.partial_fit(csr_matrix(np.full((1, 40), 9.0)), [1])
    np.testing.assert_array_equal(m.decision_function(X), before)
    np.testing.assert_array_equal(m.support_vectors_.toarray(), kept)


@pytest.mark.parametrize("layout", [np.asarray, csr_matrix])
@pytest.mark.parametrize("rule", ["RemoveOldest", "RemoveRedundant", "ProjectRemoved", "ReplaceNearest", "Stop", "Merge"])
def test_classes_that_come_take_their_share(rule, layout, watched):
    """Classes that nobody declared: vectors go when one comes, and the split into calls does not show."""
    X, y = rows(n=100, d=13, K=6)
    y = np.minimum(y, np.arange(100) // 16)  # one more class every 16 rows
    make = lambda: nr.PA1(kernel=nr.RBF(0.1), budget=getattr(nr, rule)(bytes=6000))  # noqa: E731
    one, kept = make(), []
    for i in range(len(y)):
        one.partial_fit(layout(X[i : i + 1]), y[i : i + 1])
        kept.append(one.n_support_)
    assert len(one.classes_) == 6
    assert kept[-1] < max(kept)
    whole = make().partial_fit(layout(X), y)
    assert max(watched) <= 6000
    np.testing.assert_allclose(whole.dual_coef_, one.dual_coef_, rtol=1e-12)
    np.testing.assert_allclose(whole.decision_function(X), one.decision_function(X), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("layout", [np.asarray, csr_matrix])
def test_too_many_classes_are_refused(layout):
    X, y = rows()
    m = nr.PA1(kernel=nr.RBF(0.1), budget=nr.RemoveOldest(bytes=1500)).partial_fit(layout(X), y)
    before, known = {k: a.copy() for k, a in m.model.arrays().items()}, list(m.classes_)
    with pytest.raises(ValueError, match="holds no support vector: one takes"):
        m.partial_fit(layout(X), np.arange(len(y)))
    assert list(m.classes_) == known
    for k, a in m.model.arrays().items():
        np.testing.assert_array_equal(a, before[k])


def test_the_last_class_there_is_room_for():
    X, _ = rows()
    m = nr.PA1(kernel=nr.RBF(0.1), budget=nr.RemoveOldest(bytes=900))
    with pytest.raises(ValueError, match="holds no support vector: one takes"):
        one_by_one(m, csr_matrix(X), np.arange(len(X)))
    known, kept = list(m.classes_), m.dual_coef_
    assert 5 < len(known) < 80
    with pytest.raises(ValueError, match="holds no support vector: one takes"):
        m.learn_one(X[0], "new")
    with pytest.raises(ValueError, match="holds no support vector: one takes"):
        m.learn_many(csr_matrix(X[:3]), [0, 1, 1000])
    assert list(m.classes_) == known
    np.testing.assert_array_equal(m.dual_coef_, kept)


def test_files_go_on(tmp_path):
    from test_model_file import forged, opened, refused

    X, y = rows()
    m = nr.PA1(kernel=nr.RBF(0.1), budget=nr.RemoveSmallest(bytes=4000)).partial_fit(csr_matrix(X[:50]), y[:50])
    m.save(tmp_path / "m")
    n = nr.load(tmp_path / "m")
    for each in (m, n):
        each.partial_fit(csr_matrix(X[50:]), y[50:] + (np.arange(40) > 20))
        assert held(each.model) <= 4000
    np.testing.assert_array_equal(m.decision_function(X), n.decision_function(X))
    meta, tensors = opened((tmp_path / "m").read_bytes(), tmp_path / "m")
    tensors["state.w.S.cap.live"][0] -= 1
    refused(tmp_path / "m", forged(meta, tensors), "support vectors within their arrays")


@pytest.mark.parametrize("rule", ["RemoveOldest", "Merge"])
def test_dicts(rule):
    """New names cost nothing but their own cells."""
    rng = np.random.default_rng(0)
    m = nr.PA1(kernel=nr.RBF(0.1), budget=getattr(nr, rule)(bytes=4000))
    for t in range(150):
        m.learn_one({f"w{j}": 1.0 for j in rng.integers(3 + t, size=rng.integers(1, 9))}, "ab"[int(rng.integers(2))])
        assert held(m.model) <= 4000
    assert 5 < m.n_support_ < 60


def test_what_has_no_size_is_refused():
    with pytest.raises(ValueError, match="size of objects is not known"):
        nr.PA1(kernel=nr.StringSubsequence(), budget=nr.RemoveOldest(bytes=4000)).partial_fit(["ab", "cd"], [0, 1])
    with pytest.raises(ValueError, match="holds no support vector: one takes"):
        nr.PA1(kernel=nr.RBF(), budget=nr.RemoveOldest(bytes=150)).partial_fit(csr_matrix(np.eye(2)), [0, 1])


def test_the_least_that_is_said_is_enough():
    X, y = csr_matrix(np.eye(3)), [0, 1, 0]
    make = lambda limit: nr.PA1(kernel=nr.RBF(), budget=nr.RemoveOldest(bytes=limit), fit_intercept=False)  # noqa: E731
    for layout in (X, X.toarray()):
        with pytest.raises(ValueError, match="one takes") as e:
            make(20).partial_fit(layout, y)
        least = int(str(e.value).split("one takes ")[1].split()[0])
        assert make(least).partial_fit(layout, y).n_support_ >= 1
        with pytest.raises(ValueError, match="one takes"):
            make(least - 1).partial_fit(layout, y)


def test_laws_of_a_compiled_expansion_in_bytes():
    make = lambda **given: nr.PA1(kernel=nr.RBF(0.1), budget=nr.RemoveRandom(bytes=9000), **given)  # noqa: E731
    X, y = nr.checks.stream(make(), n=200, d=13, K=4)
    m = make(classes=np.unique(y).tolist())
    nr.checks.interpreted(m, csr_matrix(X), y)
    nr.checks.chunk(m, csr_matrix(X), y)
    assert 10 < m.partial_fit(csr_matrix(X), y).n_support_ < 60


def test_laws_of_compiled_merging_in_bytes():
    """Sparse vectors merge by moving cells in place: compiled as interpreted, and the same for any split of the stream."""
    make = lambda **given: nr.PA1(kernel=nr.RBF(0.1), budget=nr.Merge(bytes=6000), **given)  # noqa: E731
    X, y = rows(n=110, d=40, K=3)
    m = make(classes=[0, 1, 2])
    nr.checks.interpreted(m, csr_matrix(X), y)
    nr.checks.chunk(m, csr_matrix(X), y)
    assert 4 < m.partial_fit(csr_matrix(X), y).n_support_ < 60


def test_dense_rows_of_any_length_have_no_size():
    learner = nr.PA1(kernel=nr.RBF(), budget=nr.Merge(bytes=4000))
    with pytest.raises(ValueError, match="fixed number of features"):
        Model(learner, Names(True), Labels(None), sparse=False)


def test_in_a_pool_of_dicts():
    rng = np.random.default_rng(0)
    m = nr.Hedge(learners=[nr.PA1(kernel=nr.RBF(0.1), budget=nr.Merge(bytes=4000)), "perceptron"])
    for _ in range(60):
        m.learn_one({f"w{j}": 1.0 for j in rng.integers(90, size=6)}, "ab"[int(rng.integers(2))])
        assert held(m.model.members[0].m) <= 4000


def test_in_a_pool():
    """A member on a budget in bytes keeps to it as classes come, and the split into calls does not show."""
    X, y = rows(n=60, d=13, K=4)
    y = np.minimum(y, np.arange(60) // 12)
    member = nr.PA1(kernel=nr.RBF(0.1), budget=nr.RemoveOldest(bytes=3000))
    one = one_by_one(nr.Hedge(learners=[member, "perceptron"]), X, y)
    whole = nr.Hedge(learners=[member, "perceptron"]).partial_fit(X, y)
    for m in (one, whole):
        assert held(m.model.members[0].m) <= 3000
    np.testing.assert_allclose(one.decision_function(X), whole.decision_function(X), rtol=1e-12)
