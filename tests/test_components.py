"""Learners of components: printed traces, transcriptions of the papers, invariants, bounds."""

import numpy as np
import pytest
import reference_components as reference
import traces_components as traces
from scipy.sparse import csr_matrix
from sklearn.decomposition import IncrementalPCA

import noregret as nr
from noregret.engine import compiling
from noregret.unsupervised.expert_pca import mixture

ATOL = 2e-6


def close(found, expected):
    np.testing.assert_allclose(found, expected, atol=ATOL)


def same_up_to_sign(found, expected, atol=ATOL):
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found * np.sign((found * expected).sum(1, keepdims=True)), expected, atol=atol)


def skew(V):
    """How far rows are from orthonormal."""
    return np.abs(V @ V.T - np.eye(len(V))).max()


def data(n, d, seed=0, rank=None):
    rng = np.random.default_rng(seed)
    r = rank or d
    return rng.normal(size=(n, r)) * np.linspace(3.0, 0.5, r) @ rng.normal(size=(r, d)) + rng.normal(size=d)


# ---- traces ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("name", "params"), [("full", {}), ("two", {"r_max": 2}), ("faded", {"beta": 0.9})])
def test_svd_trace(name, params):
    m = nr.OnlineSVD(**params)
    for x, s in zip(traces.COLUMNS, traces.SVD[name], strict=True):
        m.learn_one(x)
        close(m.singular_values_, s)
    if name == "two":
        close((m.left_ * m.singular_values_ @ m.components_).T, traces.SVD_OF_TWO)


def test_svd_trace_of_a_feature_that_is_appended():
    m = nr.OnlineSVD().partial_fit(traces.COLUMNS).append_feature([1.0, 0.0, 1.0, 0.0])
    close(m.singular_values_, traces.WITH_FEATURE)
    close(m.left_ * m.singular_values_ @ m.components_, np.column_stack([traces.COLUMNS, [1, 0, 1, 0]]))


def test_svd_trace_of_an_unknown_entry():
    m = nr.OnlineSVD(r_max=2, missing="impute", nu=0.1).partial_fit(traces.COLUMNS)
    row = [1.0, np.nan, 2.0]
    close(m.complete([row])[0], traces.IMPUTED[0])
    m.learn_one(row)
    close(m.singular_values_, traces.IMPUTED[1])
    m = nr.OnlineSVD(r_max=2, missing="impute", nu=1e-7).partial_fit(traces.COLUMNS)
    close(m.complete([row])[0, 1], traces.LEAST_SQUARES)


def test_merge_trace():
    m = nr.OnlinePCA(k=2)
    for x, (mean, s, V) in zip(traces.P, traces.MERGE, strict=True):
        m.learn_one(x)
        close(m.mean_, mean)
        close(m.singular_values_, s)
        same_up_to_sign(m.components_, np.reshape(V, (len(s), 3)))
    m = nr.OnlinePCA(k=2, S=3).fit(traces.P)  # the last batch is short
    close(m.singular_values_, traces.MERGE_OF_TWO[0])
    same_up_to_sign(m.components_, traces.MERGE_OF_TWO[1])


def test_ccipca_trace():
    m = nr.OnlinePCA(k=2, method="ccipca", center=False)
    for x, (variances, V) in zip(traces.P, traces.CCIPCA, strict=True):
        m.learn_one(x)
        close(m.explained_variance_, variances)
        close(m.components_, V)


def test_oja_trace():
    m = nr.OnlinePCA(k=2, method="oja", center=False, eta=0.1, rate="constant", start=np.eye(3)[:2])
    for x, W in zip(traces.P, traces.OJA, strict=True):
        m.learn_one(x)
        close(m.components_.T, W)


def test_expert_trace():
    m = nr.OnlinePCA(k=1, method="expert", eta=1.5)
    for x, (loss, W) in zip(traces.ROWS, traces.EXPERT, strict=True):
        close(m.learn_many([x])[0], loss)
        close(m.density_, W)


@pytest.mark.parametrize("coding", ["cd", "lars"])
def test_dictionary_trace(coding):
    m = nr.DictionaryLearner(k=2, lambda_=0.1, forgetting=False, coding=coding, start=np.eye(3)[:2])
    for x, (code, D) in zip(traces.ROWS, traces.DICTIONARY, strict=True):
        close(m.learn_one(x), code)
        close(m.components_.T, D)


# ---- papers ----------------------------------------------------------------------------------------------------------
def test_svd_equals_that_of_the_whole_matrix():
    A = data(60, 9)
    m = nr.OnlineSVD().partial_fit(A)
    _, s, V = np.linalg.svd(A, full_matrices=False)
    np.testing.assert_allclose(m.singular_values_, s, rtol=1e-10)
    same_up_to_sign(m.components_, V, 1e-10)
    np.testing.assert_allclose(m.left_ * m.singular_values_ @ m.components_, A, atol=1e-10)
    assert max(skew(m.components_), skew(m.left_.T)) < 1e-12
    assert m.rank_for(1.0) == 9
    assert m.rank_for(0.5) == 1 + int((np.cumsum(s**2) < 0.5 * (s**2).sum()).sum())


def test_svd_of_less_than_full_rank():
    A = np.outer(np.arange(30.0), np.ones(8)) + np.outer(np.ones(30), np.arange(8.0))
    m = nr.OnlineSVD().partial_fit(np.vstack([np.zeros(8), A]))
    assert m.n_components_ == 2
    np.testing.assert_allclose(m.singular_values_, np.linalg.svd(A)[1][:2], rtol=1e-10)
    assert m.left_[0].tolist() == [0.0, 0.0]


def test_svd_changes_equal_those_of_the_matrix():
    A = data(20, 6, 3)
    m = nr.OnlineSVD().partial_fit(A)
    A[4] = np.arange(6.0)
    m.revise(4, A[4])
    m.remove(11)
    A = np.delete(A, 11, 0)
    np.testing.assert_allclose(m.left_ * m.singular_values_ @ m.components_, A, atol=1e-10)
    np.testing.assert_allclose(m.singular_values_, np.linalg.svd(A)[1], rtol=1e-10)
    w = nr.OnlineSVD(window=5).partial_fit(A)
    np.testing.assert_allclose(w.left_ * w.singular_values_ @ w.components_, A[-5:], atol=1e-10)


def test_svd_forgets_by_age():
    A, beta = data(40, 5, 4), 0.9
    m = nr.OnlineSVD(beta=beta, keep=False).partial_fit(A)
    w = beta ** np.arange(39.0, -1.0, -1.0)
    np.testing.assert_allclose(m.singular_values_, np.linalg.svd(w[:, None] * A)[1], rtol=1e-10)


def test_a_cut_svd_errs_at_least_as_much_as_the_best():
    A = data(80, 10, 5)
    m = nr.OnlineSVD(r_max=3).partial_fit(A)
    best = (np.linalg.svd(A)[1][3:] ** 2).sum()
    assert best <= ((A - m.left_ * m.singular_values_ @ m.components_) ** 2).sum() < 1.5 * best
    assert best <= m.errors(A).sum() + 1e-9


def test_unknown_entries_are_filled_from_the_others():
    rng = np.random.default_rng(6)
    A = data(300, 8, 6, rank=2)
    A -= A.mean(0)
    known = rng.random(A.shape) < 0.7
    m = nr.OnlineSVD(r_max=2, missing="impute", nu=0.01, keep=False).partial_fit(np.where(known, A, np.nan))
    filled = m.complete(np.where(known, A, np.nan))
    np.testing.assert_array_equal(filled[known], A[known])
    assert ((filled - A)[~known] ** 2).mean() < 0.1 * (A[~known] ** 2).mean()
    sparse = [{f"c{j}": A[i, j] for j in np.flatnonzero(known[i])} for i in range(len(A))]
    named = nr.OnlineSVD(r_max=2, missing="impute", nu=0.01, keep=False).partial_fit(sparse)
    assert named.n_features_in_ == 8
    assert np.isfinite(named.errors(sparse)).all()


@pytest.mark.parametrize(("n", "d", "k", "S"), [(90, 7, 3, 20), (90, 7, 3, 1), (120, 60, 4, 10), (64, 5, 5, 16)])
def test_merge_equals_the_paper_and_scikit_learn(n, d, k, S):
    X = data(n, d, n + d)
    m = nr.OnlinePCA(k=k, S=S).partial_fit(X).finish()
    mean, s, V = reference.merge_pca([X[i : i + S] for i in range(0, n, S)], k)
    np.testing.assert_allclose(m.mean_, mean, atol=1e-10)
    np.testing.assert_allclose(m.singular_values_, s, rtol=1e-8)
    same_up_to_sign(m.components_, V, 1e-8)
    if k <= S:
        theirs = IncrementalPCA(k)
        for i in range(0, n, S):
            if n - i >= k:
                theirs.partial_fit(X[i : i + S])
        if n % S == 0:
            same_up_to_sign(m.components_, theirs.components_, 1e-8)
            np.testing.assert_allclose(m.explained_variance_, theirs.explained_variance_, rtol=1e-8)
            np.testing.assert_allclose(np.abs(m.transform(X)), np.abs(theirs.transform(X)), atol=1e-7)


def test_merge_is_exact_where_nothing_is_cut_off():
    X = data(70, 5, 8)
    m = nr.OnlinePCA(k=5, forgetting=0.95).partial_fit(X)
    mean, s, V = reference.faded_pca(X, 5, 0.95)
    np.testing.assert_allclose(m.mean_, mean, atol=1e-10)
    np.testing.assert_allclose(m.singular_values_, s, rtol=1e-9)
    same_up_to_sign(m.components_, V, 1e-8)
    assert m.errors(X).max() < 1e-20
    np.testing.assert_allclose(m.reconstruct(X), X, atol=1e-10)


@pytest.mark.parametrize("amnesia", [0.0, 2.0])
def test_ccipca_equals_the_paper(amnesia):
    X = data(50, 6, 9)
    m = nr.OnlinePCA(k=3, method="ccipca", l=amnesia).partial_fit(X)
    v = reference.ccipca(X, 3, amnesia)
    np.testing.assert_allclose(m.explained_variance_, np.linalg.norm(v, axis=1), rtol=1e-9)
    np.testing.assert_allclose(m.components_, v / np.linalg.norm(v, axis=1, keepdims=True), atol=1e-9)


@pytest.mark.parametrize(("rate", "eta"), [("inv_t", lambda t: 0.2 / t), ("inv_sqrt", lambda t: 0.2 / np.sqrt(t))])
def test_oja_equals_the_paper(rate, eta):
    X, start = data(40, 6, 10), np.linalg.qr(data(6, 6, 11))[0][:2]
    m = nr.OnlinePCA(k=2, method="oja", center=False, eta=0.2, rate=rate, start=start).partial_fit(X)
    np.testing.assert_allclose(m.components_, reference.oja(X, start.T, eta).T, atol=1e-9)


def test_expert_equals_the_paper():
    X = data(30, 5, 12)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    m = nr.OnlinePCA(k=2, method="expert", eta=0.7)
    paid = m.learn_many(X)
    W, losses = reference.expert_pca(X, 2, 0.7)
    np.testing.assert_allclose(m.density_, W, atol=1e-10)
    np.testing.assert_allclose(paid, losses, atol=1e-10)
    assert m.paid_ == pytest.approx(losses.sum())


@pytest.mark.parametrize("coding", ["cd", "lars"])
@pytest.mark.parametrize("positive", [False, True])
def test_codes_solve_their_problem(coding, positive):
    rng = np.random.default_rng(13)
    X, D = rng.normal(size=(25, 8)), rng.normal(size=(12, 8))
    D /= np.linalg.norm(D, axis=1, keepdims=True)
    m = nr.DictionaryLearner(k=12, lambda_=0.5, start=D, coding=coding, positive=positive)
    m.model = m.new_model(nr.inputs.features.Columns(8, False))
    codes = m.transform(X)
    expected = np.array([reference.lasso(D, x, 0.5, positive) for x in X])
    np.testing.assert_allclose(codes, expected, atol=1e-5)
    q = X @ D.T - codes @ D @ D.T  # the conditions of a minimum
    assert (q if positive else np.abs(q)).max() <= 0.5 * (1 + 1e-6)
    np.testing.assert_allclose(q[codes != 0], 0.5 * np.sign(codes[codes != 0]), atol=1e-6)
    assert 0.05 < (codes != 0).mean() < 0.95


def test_codes_by_lars_do_without_a_twin():
    D = np.vstack([np.eye(3), np.eye(3)])
    m = nr.DictionaryLearner(k=6, lambda_=0.1, start=D, coding="lars")
    m.model = m.new_model(nr.inputs.features.Columns(3, False))
    np.testing.assert_allclose(m.reconstruct([[1.0, -2.0, 0.0]]), [[0.9, -1.9, 0.0]], atol=1e-12)


@pytest.mark.parametrize(("S", "forgetting"), [(1, False), (8, True)])
def test_dictionary_equals_the_paper(S, forgetting):
    X, D = data(40, 6, 15), data(4, 6, 16)
    D /= np.linalg.norm(D, axis=1, keepdims=True)
    m = nr.DictionaryLearner(k=4, lambda_=0.4, S=S, forgetting=forgetting, start=D, coding="lars").partial_fit(X)
    expected = reference.dictionary([X[i : i + S] for i in range(0, 40, S)], D, 0.4, S, forgetting)
    np.testing.assert_allclose(m.components_, expected, atol=1e-6)


# ---- invariants ------------------------------------------------------------------------------------------------------
NOISE = {
    "merge": (nr.OnlinePCA(k=3), 100_000),
    "merge in batches": (nr.OnlinePCA(k=3, S=50), 100_000),
    "oja": (nr.OnlinePCA(k=3, method="oja"), 100_000),
    "ccipca": (nr.OnlinePCA(k=3, method="ccipca", l=2), 100_000),
    "svd": (nr.OnlineSVD(r_max=3, keep=False, beta=0.999), 100_000),
    "expert": (nr.OnlinePCA(k=3, method="expert"), 2_000),
    "dictionary": (nr.DictionaryLearner(k=9, S=100), 100_000),
}


@pytest.mark.skipif(compiling.interpreting(), reason="hundreds of thousands of rows, interpreted, take an hour")
@pytest.mark.parametrize("name", NOISE)
def test_noise_leaves_everything_sound(name):
    m, n = NOISE[name]
    X = np.random.default_rng(17).normal(size=(n, 6)) * [5, 3, 1, 1, 0.5, 0.1]
    m = m.clone().partial_fit(X / np.linalg.norm(X, axis=1).max() if name == "expert" else X)
    V = m.components_
    assert all(np.isfinite(a).all() for a in m.model.arrays().values())
    if name == "dictionary":
        assert np.linalg.norm(V, axis=1).max() <= 1.0 + 1e-12
    elif name != "ccipca":  # whose components are orthogonal in the end alone
        assert skew(V) < 1e-8
    if name == "expert":
        w = np.linalg.eigvalsh(m.density_)
        assert w.sum() == pytest.approx(1.0, abs=1e-12)
        assert w.max() <= 1.0 / 3.0 + 1e-12
    if name in ("merge", "ccipca", "merge in batches"):
        np.testing.assert_allclose(np.abs(np.diag(V[:2, :2])), 1.0, atol=0.02)


def test_atoms_never_raise_the_surrogate():
    X = data(60, 5, 18)
    m = nr.DictionaryLearner(k=4, S=10, forgetting=False).partial_fit(X[:30])
    before = m.components_
    s = m.partial_fit(X[30:40]).model.state

    def surrogate(D):
        return 0.5 * np.trace(D @ D.T @ s.A) - np.trace(D @ s.B.T)

    assert surrogate(m.components_) <= surrogate(before) + 1e-12


def test_an_atom_without_use_is_put_elsewhere():
    rng = np.random.default_rng(19)
    X = np.abs(rng.normal(size=(1100, 2))) @ np.array([[1.0, 0, 0], [0, 1.0, 0]])
    start = np.array([[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0]])
    m = nr.DictionaryLearner(k=3, S=50, lambda_=0.05, start=start).partial_fit(X)
    assert m.components_[2, 2] == 0.0
    assert np.linalg.norm(m.components_[2]) > 0.5


# ---- the bound -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("seed", range(20))
def test_expert_pays_no_more_than_its_theorem(seed):
    rng = np.random.default_rng(seed)
    d, k, eta = int(rng.integers(4, 9)), int(rng.integers(1, 4)), float(rng.choice([0.1, 0.5, 1.5]))
    X = rng.normal(size=(80, d)) * np.linspace(2.0, 0.1, d)
    if seed % 4 == 0:
        X = X[np.argsort(X[:, 0])] @ np.linalg.qr(rng.normal(size=(d, d)))[0]  # an order that is not by chance
    if seed % 4 == 1:
        X = np.eye(d)[rng.integers(0, d, 80)]
    X /= max(np.linalg.norm(X, axis=1).max(), 1e-9)
    m = nr.OnlinePCA(k=k, method="expert", eta=eta).partial_fit(X)
    best = (np.linalg.svd(X)[1][k:] ** 2).sum()
    assert m.best_ == pytest.approx(best, abs=1e-9)
    assert best - 1e-9 <= m.paid_ <= m.bound() + 1e-9
    assert m.bound(0.0) < m.bound()


def test_directions_are_drawn_by_the_density():
    w = np.array([0.05, 0.1, 0.2, 0.3, 0.35])
    corners, p = mixture(w, 2)
    assert len(corners) <= len(w)
    mean = sum(q * np.isin(np.arange(5), c) / 2 for q, c in zip(p, corners, strict=True))
    np.testing.assert_allclose(mean, w, atol=1e-12)
    X = data(20, 4, 20)
    X /= np.linalg.norm(X, axis=1).max()
    m = nr.OnlinePCA(k=2, method="expert").partial_fit(X)
    drawn = [m.sample(seed) for seed in range(400)]
    assert max(skew(V) for V in drawn) < 1e-12
    lost = np.mean([1.0 - (V[:, 0] ** 2).sum() for V in drawn])  # of the first coordinate, where it is discarded
    assert lost == pytest.approx(2.0 * m.density_[0, 0], abs=0.1)


# ---- in hindsight ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("center", [True, False])
def test_the_best_subspace_is_that_of_the_svd(center):
    X = data(50, 6, 21) + 100.0
    best = nr.best_subspace(X, 2, center)
    U = X - X.mean(0) if center else X
    _, s, V = np.linalg.svd(U)
    assert best.loss == pytest.approx((s[2:] ** 2).sum(), rel=1e-8)
    same_up_to_sign(best.components, V[:2], 1e-7)
    assert best.loss == pytest.approx(((U - U @ V[:2].T @ V[:2]) ** 2).sum(), rel=1e-8)
    assert best.angle(V[:2]) < 1e-6
    assert best.angle(V[1:3]) == pytest.approx(np.pi / 2)
    sparse = nr.best_subspace(csr_matrix(X), 2, center)
    assert sparse.loss == pytest.approx(best.loss)
    paid = nr.OnlinePCA(k=2, center=center).learn_many(X)
    assert best.regret(paid) == pytest.approx(paid.sum() - best.loss)
    with pytest.raises(ValueError, match="k must be a whole number from 0 to 6"):
        nr.best_subspace(X, 7)
    with pytest.raises(ValueError, match="at most 4096, got 4097"):
        nr.best_subspace(np.zeros((1, 4097)), 2)


def test_rows_in_several_runs_have_one_best_subspace(monkeypatch):
    X = data(50, 6, 22)
    whole = nr.best_subspace(X, 2)
    monkeypatch.setattr("noregret.unsupervised.decomposition.ROOM", 42)
    parts = nr.best_subspace(csr_matrix(X), 2)
    assert parts.loss == pytest.approx(whole.loss, rel=1e-10)
    np.testing.assert_allclose(parts.mean, X.mean(0), atol=1e-12)
