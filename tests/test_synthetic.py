"""Synthetic streams: the same however they are read, as noisy as they say, and changing where they say."""

import itertools
import math

import numpy as np
import pytest
from scipy.sparse import csr_matrix, vstack
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from noregret.inputs import checking
from noregret.streams import synthetic
from noregret.streams.synthetic import SOURCES, SyntheticReader, from_url


def table(batches):
    """All rows of some batches, as one array (dense or CSR) and labels."""
    batches = list(batches)
    y = np.concatenate([b.y for b in batches])
    if batches[0].data.layout == "dense":
        return np.concatenate([b.data.arrays[0] for b in batches]), y
    parts = []
    for b in batches:
        indptr, indices, data = b.data.arrays
        a, z = indptr[0], indptr[-1]  # a batch that was cut shares its arrays
        parts.append(csr_matrix((data[a:z], indices[a:z].astype(np.int32), indptr - a), shape=(b.data.n, b.data.width)))
    return vstack(parts).tocsr(), y


def plain(X):
    return X.toarray() if hasattr(X, "toarray") else X


def read(url):
    return table(from_url(url).batches())


@pytest.mark.parametrize("name", SOURCES)
def test_the_same_from_any_row(name):
    small = {"words": 1000, "length": 5} if name == "text" else {}
    make = lambda n=9000: SyntheticReader(name, n=n, seed=3, **small)  # noqa: E731
    X, y = table(make().batches())
    assert X.shape[0] == len(y) == 9000
    again, z = table(make().batches())
    assert np.array_equal(plain(X), plain(again))
    assert np.array_equal(y, z)
    for row in (1, 4095, 4096, 8999):
        tail, z = table(make().batches({"row": row}))
        assert np.array_equal(plain(X[row:]), plain(tail))
        assert np.array_equal(y[row:], z)
    reader = make()
    second = next(itertools.islice(reader.batches(), 1, None))
    assert reader.read == second.position["row"] == 8192
    onward, z = table(make().batches(second.position))
    assert np.array_equal(y[8192:], z)
    assert np.array_equal(plain(X[8192:]), plain(onward))
    assert list(make().batches({"row": 9000})) == []
    other = table(SyntheticReader(name, n=9000, seed=4, **small).batches())[1]
    assert not np.array_equal(y, other)


@pytest.mark.parametrize("name", SOURCES)
def test_rows_are_as_the_learners_take_them(name):
    batch = next(SyntheticReader(name, n=math.inf).batches())
    if batch.data.layout == "dense":
        assert checking.rows(batch.data.arrays[0], "float64").n == batch.data.n
        assert batch.data.width == batch.data.arrays[0].shape[1]
    else:
        indptr, indices, data = batch.data.arrays
        assert checking.scan_sparse(indptr, indices, data, batch.data.width)[0] == 0
        assert indices.dtype == np.uint32
    labels = sorted(set(batch.y.tolist())) if SOURCES[name].task == "classification" else None
    assert labels in (None, [-1, 1], [0, 1, 2])
    assert batch.y.dtype == (np.float64 if labels is None else np.int64)


def test_without_end_and_in_bounded_blocks():
    reader = from_url("synthetic:linear?n=inf&d=50000")
    assert reader.size is None
    rows = 0
    for batch in itertools.islice(reader.batches({"row": 10**12}), 3):
        assert batch.data.arrays[0].size <= synthetic.CELLS
        rows += batch.data.n
    assert reader.read == 10**12 + rows
    assert from_url("synthetic:sea?n=1e4").size == 10_000
    assert from_url("synthetic:text?length=1000").batches().__next__().data.n < synthetic.BLOCK


# ---- noise and balance -----------------------------------------------------------------------------------------------
def test_the_least_error_of_linear_concepts_is_the_noise():
    for url in ("synthetic:linear?n=40000&noise=0.1", "synthetic:swap?n=40000&noise=0.1&at="):
        X, y = read(url)
        assert abs((y == 1).mean() - 0.5) < 0.02
        error = 1 - LogisticRegression(C=1e4).fit(X[:20000], y[:20000]).score(X[20000:], y[20000:])
        assert error == pytest.approx(0.1, abs=0.012)
    X, y = read("synthetic:linear?n=40000&noise=0")
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1.0)
    w = LogisticRegression(C=1e6).fit(X, y).coef_[0]
    assert np.abs(w[10:]).max() < 0.02 * np.abs(w).max(), "the second half of the features says nothing"


def test_labels_of_sea_sine_and_stagger_by_definition():
    X, y = read("synthetic:sea?n=40000&noise=0")
    bound = np.repeat([8.0, 9.0, 7.0, 9.5], 10_000)
    assert np.array_equal(y == 1, X[:, 0] + X[:, 1] <= bound)
    assert X.min() >= 0
    assert 9.9 < X.max() <= 10
    noisy = read("synthetic:sea?n=40000&noise=0.2")
    assert np.array_equal(noisy[0], X)
    assert (noisy[1] != y).mean() == pytest.approx(0.2, abs=0.01)
    X, y = read("synthetic:sine?n=8000&at=4000,6000")
    assert np.array_equal(y[:4000] == 1, X[:4000, 1] < np.sin(X[:4000, 0]))
    assert np.array_equal(y[4000:6000] == -1, X[4000:6000, 1] < np.sin(X[4000:6000, 0]))
    assert np.array_equal(y[6000:] == 1, X[6000:, 1] < 0.5 + 0.3 * np.sin(3 * np.pi * X[6000:, 0]))
    reader = from_url("synthetic:stagger?n=3000")
    batch = next(reader.batches())
    X = dict(zip(batch.data.names, batch.data.arrays[0].T.astype(bool)))
    rules = (X["size=small"] & X["colour=red"], X["colour=green"] | X["shape=circle"], X["size=medium"] | X["size=large"])
    for k, rule in enumerate(rules):
        assert np.array_equal((batch.y == 1)[k * 1000 : k * 1000 + 1000], rule[k * 1000 : k * 1000 + 1000])


def test_blobs():
    X, y = read("synthetic:blobs?n=20000&K=4&d=6&noise=0.1")
    assert np.bincount(y).min() > 4500
    model = LogisticRegression(max_iter=200).fit(X[:10000], y[:10000])
    assert 0.1 < 1 - model.score(X[10000:], y[10000:]) < 0.25
    X, y = read("synthetic:blobs?n=40000&speed=0.001")
    centres = [np.array([X[part][y[part] == k].mean(axis=0) for k in range(3)]) for part in (slice(0, 2000), slice(8000, 10000))]
    moved = np.linalg.norm(centres[0] - centres[1], axis=1)
    np.testing.assert_allclose(moved, 2 * 3.0 * np.sin(8.0 / 3.0 / 2), rtol=0.05)  # the chord of 8 along a circle of radius 3


def test_text():
    X, y = read("synthetic:text?n=12000&words=5000&positive=0.3")
    assert (y == 1).mean() == pytest.approx(0.3, abs=0.02)
    np.testing.assert_allclose(np.sqrt(X.multiply(X).sum(axis=1)), 1.0)
    assert 25 < np.diff(X.indptr).mean() < 40
    model = LogisticRegression(C=100, max_iter=500).fit(X[:6000], y[:6000])
    still = model.score(X[6000:], y[6000:])
    assert still > 0.9
    X, y = read("synthetic:text?n=12000&words=5000&positive=0.3&drift=0.02")
    model = LogisticRegression(C=100, max_iter=500).fit(X[:2000], y[:2000])
    assert model.score(X[2000:2500], y[2000:2500]) > model.score(X[-2000:], y[-2000:]) + 0.1, "its words have gone"


# ---- drift -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("url", "at", "model"),
    [
        ("synthetic:swap?n=20000", [10000], LogisticRegression()),
        ("synthetic:swap?n=20000&at=5000,15000", [5000, 15000], LogisticRegression()),
        ("synthetic:sea?n=40000&noise=0.05", [10000, 20000, 30000], LogisticRegression()),
        ("synthetic:sine?n=20000", [5000, 10000, 15000], DecisionTreeClassifier(min_samples_leaf=20, random_state=0)),
        ("synthetic:stagger?n=3000", [1000, 2000], DecisionTreeClassifier(random_state=0)),
        ("synthetic:friedman?n=20000&noise=0.1", [10000], LinearRegression()),
        ("synthetic:linear_regression?n=9000&at=3000,6000", [3000, 6000], LinearRegression()),
    ],
)
def test_a_model_of_before_does_worse_after(url, at, model):
    reader = from_url(url)
    assert reader.drifts == at
    X, y = table(reader.batches())
    edges = [0, *at, len(y)]
    for a, b, c in zip(edges, edges[1:], edges[2:]):
        half = (a + b) // 2
        model.fit(X[a:half], y[a:half])
        before, after = model.score(X[half:b], y[half:b]), model.score(X[b:c], y[b:c])
        assert after < before - (0.05 if "sea" in url else 0.2)


def test_the_hyperplane_turns():
    X, y = read("synthetic:hyperplane?n=30000&drift=0.0001&noise=0")
    model = LogisticRegression(C=100).fit(X[:1000], y[:1000])
    for angle in (0.5, 1.0, 2.0):  # two half-spaces at an angle differ on angle / pi of a round distribution
        part = slice(int(angle * 1e4), int(angle * 1e4) + 1000)
        assert 1 - model.score(X[part], y[part]) == pytest.approx(angle / np.pi, abs=0.05)
    assert from_url("synthetic:hyperplane").drifts == []


def test_kinds_of_drift_of_friedman():
    def share_new(part):
        """How much of some rows follows the second concept, by the fit to either."""
        X, y = part
        old = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
        return (np.abs(y - old) > 1e-9).mean()

    for kind, expected in (("none", [0, 0, 0]), ("abrupt", [0, 1, 1]), ("gradual", [0, 0.5, 1])):
        reader = from_url(f"synthetic:friedman?n=12000&noise=0&at=4000&width=4000&drift={kind}")
        X, y = table(reader.batches())
        for k, share in enumerate(expected):
            part = slice(4000 * k, 4000 * k + 4000)
            assert share_new((X[part], y[part])) == pytest.approx(share, abs=0.03)
        assert reader.drifts == ([] if kind == "none" else [4000])


def test_default_positions():
    assert SyntheticReader("sea", n=1000).drifts == [250, 500, 750]
    assert SyntheticReader("sea", n=math.inf).drifts == [25_000, 50_000, 75_000]
    assert SyntheticReader("swap", n=100, at=[30, 200]).drifts == [30]
    assert SyntheticReader("swap", at=[30, 200]).name == "synthetic:swap?at=30,200"
    assert SyntheticReader("sea", n=1).drifts == []


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("synthetic:see", "unknown synthetic stream 'see'; expected one of linear, hyperplane, sea"),
        ("synthetic:", "unknown synthetic stream ''"),
        ("synthetic:sea?drift=1", "synthetic:sea has no option 'drift'; it has n, seed, noise, at"),
        ("synthetic:sea?noise=0.7", "synthetic:sea: noise must be from 0 to 0.5, got 0.7"),
        ("synthetic:sea?noise=much", "noise must be a number, got 'much'"),
        ("synthetic:sea?noise=nan", "noise must be from 0 to 0.5, got nan"),
        ("synthetic:sea?n=1.5", "n must be a whole number, got 1.5"),
        ("synthetic:sea?n=0", "n must be at least 1, got 0"),
        ("synthetic:sea?at=5,3", "at must be rows in increasing order, got 5,3"),
        ("synthetic:sea?at=0", "at must be from 1 to"),
        ("synthetic:sea?n", "expected synthetic:NAME\\?option=value"),
        ("synthetic:sea?n=5&n=6", "option 'n' is given twice"),
        ("synthetic:linear?d=5&relevant=6", "relevant must be at most d = 5, got 6"),
        ("synthetic:friedman?drift=slow", "drift must be one of none, abrupt, gradual, got 'slow'"),
        ("synthetic:blobs?apart=inf", "apart must be at least 0, got inf"),
    ],
)
def test_what_is_refused(url, said):
    with pytest.raises(ValueError, match=said):
        from_url(url)


def test_bad_positions():
    for position in ({"row": -1}, {"row": "3"}, {"line": 3}):
        with pytest.raises(ValueError, match="a position in a synthetic stream is {'row': number}, got"):
            next(SyntheticReader("sea").batches(position))
