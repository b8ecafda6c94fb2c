"""Topic models: printed traces, transcriptions of the papers, scikit-learn, planted topics, words that come late."""

import numpy as np
import pytest
from reference_topics import EagerHDP, EagerLDA
from scipy.sparse import csr_matrix
from scipy.special import gammaln, polygamma, psi
from traces_topics import (
    ALPHA,
    DOCUMENTS,
    ETA,
    HDP,
    HDP_ITERATIONS,
    HDP_START,
    HELD_OUT,
    LDA,
    LDA_COMPLETED,
    LDA_HELD_OUT,
    LDA_START,
)

import noregret as nr
from noregret.engine import elementary, special
from noregret.engine.compiling import compiled
from noregret.unsupervised.lda import next_alpha, next_eta
from noregret.unsupervised.starting import draw_words

SETTINGS = {"eta": 0.1, "tau0": 1, "kappa": 0.7, "S": 1, "D": 10}
EXACT = {"iterations": 10_000, "tolerance": 1e-13}


def planted(n, K=5, V=50, length=60, seed=0, alpha=0.1):
    """Documents of topics of V/K words each, and the topics."""
    rng = np.random.default_rng(seed)
    beta = np.full((K, V), 0.02 / V)
    for k in range(K):
        beta[k, k * V // K : (k + 1) * V // K] += 0.98 * K / V
    theta = rng.dirichlet([alpha] * K, n)
    return np.array([rng.multinomial(length, p / p.sum()) for p in theta @ beta], float), beta


# ---- functions -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "exact"),
    [
        ("exp_psi", lambda x: np.exp(psi(x))),
        ("psi", psi),
        ("trigamma", lambda x: polygamma(1, x)),
        ("log_gamma", gammaln),
    ],
)
def test_functions(name, exact):
    x = np.concatenate([np.logspace(-2.5, 7, 3001), np.linspace(0.05, 20.0, 2001), [7.999999999, 8.0, 1.0, 2.0]])
    found, expected = elementary.over(getattr(special, name), x), exact(x)
    np.testing.assert_allclose(found, expected, rtol=2e-14, atol=2e-14)
    assert getattr(special, name)(0.7) == elementary.over(getattr(special, name), [0.7])[0]
    if name == "exp_psi":
        assert elementary.over(special.exp_psi, [1e-3])[0] == 0.0


def test_draws_are_gamma_variables():
    L, total = np.zeros((2000, 5)), np.zeros(5)
    compiled(draw_words)(L, total, np.arange(2000), 0.0, 3, 100.0, 1.0)
    assert abs(L.mean() - 1.0) < 0.004
    assert abs(L.var() - 0.01) < 0.0005
    assert abs(((L - 1.0) ** 3).mean() / L.std() ** 3 - 0.2) < 0.1  # the skewness is 2/sqrt(shape)
    np.testing.assert_allclose(total, L.sum(0))
    again = np.zeros((2000, 5))
    compiled(draw_words)(again, total, np.array([1999, 7]), 0.0, 3, 100.0, 1.0)
    np.testing.assert_array_equal(again[[7, 1999]], L[[7, 1999]])
    E = np.zeros((2000, 5))
    compiled(draw_words)(E, total, np.arange(2000), 0.0, 3, 1.0, 4.0)
    assert abs(E.mean() - 4.0) < 0.15
    assert abs(E.std() - 4.0) < 0.2


# ---- traces ----------------------------------------------------------------------------------------------------------
def test_trace_of_lda():
    m = nr.OnlineLDA(K=2, alpha=0.5, start=LDA_START, **SETTINGS, **EXACT)
    gammas = []
    for x, (gamma, rho, lam) in zip(DOCUMENTS, LDA, strict=True):
        theta = m.learn_one(x)
        gammas.append(theta * (x.sum() + 1.0))
        np.testing.assert_allclose(gammas[-1], gamma, atol=6e-7)
        np.testing.assert_allclose(m.components_, lam, atol=6e-7)
        assert abs(m.model.rate - rho) < 6e-7
    gamma, bound, perplexity = LDA_HELD_OUT
    np.testing.assert_allclose(m.transform(HELD_OUT)[0] * 4.0, gamma, atol=6e-7)
    np.testing.assert_allclose([*m.bounds(HELD_OUT), m.perplexity(HELD_OUT)], [bound, perplexity], atol=6e-7)
    assert abs(1.0 / m.completion([[1, 0, 0, 0]], [[0, 1, 0, 0]]) - LDA_COMPLETED) < 6e-7
    mean, step, best = ALPHA
    found = np.mean([psi(g) - psi(g.sum()) for g in gammas], 0)
    np.testing.assert_allclose(found, mean, atol=2e-6)
    alpha = np.array([0.5, 0.5])
    np.testing.assert_allclose(next_alpha(alpha, found, LDA[2][1]), step, atol=2e-6)
    for _ in range(100):
        alpha = next_alpha(alpha, found, 1.0)
    np.testing.assert_allclose(alpha, best, atol=2e-6)
    lam = m.components_
    logs = float((psi(lam) - psi(lam.sum(1, keepdims=True))).sum())
    slope, curvature, step, best = ETA
    assert abs(next_eta(0.1, 2, 4, logs, LDA[2][1]) - step) < 1e-6
    assert abs((next_eta(0.1, 2, 4, logs, 1.0) - 0.1) + slope / curvature) < 1e-6
    eta = 0.1
    for _ in range(100):
        eta = next_eta(eta, 2, 4, logs, 1.0)
    assert abs(eta - best) < 1e-5
    assert next_eta(0.1, 2, 4, -1e6, 1.0) == 0.1  # a step that would leave 0 is not taken


@pytest.mark.parametrize("zeta", HDP)
def test_trace_of_hdp(zeta):
    how = {"iterations": HDP_ITERATIONS[zeta], "tolerance": 0.0}
    m = nr.OnlineHDP(K=3, T=2, start=HDP_START, sort=False, zeta=zeta, **SETTINGS, **how)
    plain = EagerHDP(HDP_START, 2, 1.0, 1.0, 0.1, 1.0, 0.7, 10, HDP_ITERATIONS[zeta], zeta == "words")
    for x, (lam, u, v) in zip(DOCUMENTS, HDP[zeta], strict=True):
        words = np.flatnonzero(x)
        np.testing.assert_allclose(m.learn_one(x), plain.learn(words, x[words]), atol=1e-6)
        np.testing.assert_allclose(m.components_, lam, atol=6e-7)
        np.testing.assert_allclose(plain.lam, lam, atol=6e-7)
        np.testing.assert_allclose(m.model.sticks(), [u, v], atol=6e-7)
    words = np.flatnonzero(HELD_OUT[0])
    bounds = plain.document(words, HELD_OUT[0][words])[-1]
    assert (np.diff(bounds) > -1e-9).all()
    np.testing.assert_allclose(m.bounds(HELD_OUT), bounds[-1], rtol=1e-6)


# ---- transcriptions --------------------------------------------------------------------------------------------------
def test_words_that_come_late_equal_the_eager_formulas():
    rng = np.random.default_rng(1)
    K, S, how = 3, 4, {"eta": 0.2, "tau0": 2.0, "kappa": 0.8, "D": 50, "iterations": 40, "tolerance": 1e-4}
    documents = []
    for i in range(30):
        words = rng.choice(4 + 2 * i, min(4 + i // 2, 12), replace=False)
        documents.append({f"w{w}": int(c) for w, c in zip(words, rng.integers(1, 5, len(words)), strict=True)})
    m = nr.OnlineLDA(K=K, alpha=0.3, S=S, **how, seed=5)
    told = m.learn_many(documents)
    plain = EagerLDA(K, 0.3, **how)
    at, statistics, waits, bounds = {}, np.zeros((K, 0)), 0, []
    for x in documents:
        for w in x:
            if w not in at:
                first = np.zeros((1, K)) + 0.2
                if plain.t == 0:
                    draw, total = np.zeros((len(at) + 1, K)), np.zeros(K)
                    compiled(draw_words)(draw, total, np.array([len(at)]), 0.2, 5, 100.0, 1.0)
                    first = draw[-1:] + 0.2
                at[w] = len(at)
                plain.widen(first.T)
                statistics = np.hstack([statistics, np.zeros((K, 1))])
        words, counts = np.array([at[w] for w in x]), np.array([*x.values()], float)
        _, phi, steps = plain.e_step(words, counts)
        assert (np.diff(steps) > -1e-9).all()  # the bound never falls
        bounds.append(steps[-1])
        statistics[:, words] += (counts[:, None] * phi).T
        waits += 1
        if waits == S:
            plain.m_step(statistics, S)
            statistics[:], waits = 0.0, 0
    assert m.n_pending_ == waits == 2
    np.testing.assert_allclose(told, bounds, rtol=1e-9)
    np.testing.assert_allclose(m.components_, plain.lam, rtol=1e-8)
    assert m.feature_names_ == list(at)
    plain.m_step(statistics, waits)
    np.testing.assert_allclose(m.finish().components_, plain.lam, rtol=1e-8)


def test_the_bound_never_falls_within_a_document():
    X, _ = planted(60, V=30)
    m = nr.OnlineLDA(K=5, S=20).fit(X[:40])
    found = []
    for n in range(1, 25):
        m.set_params(iterations=n, tolerance=0.0)
        found.append(m.bounds(X[40:]))
    assert (np.diff(found, axis=0) > -1e-9).all()
    assert (found[-1] - found[0]).max() > 0.1


def test_one_batch_of_everything_is_batch_variational_bayes():
    X, _ = planted(25, K=3, V=12, seed=2)
    start = np.random.default_rng(0).gamma(100, 0.01, (3, 12))
    m = nr.OnlineLDA(K=3, alpha=0.4, eta=0.3, S=25, D=25, tau0=0.0, start=start, iterations=500, tolerance=1e-10).fit(X)
    plain = EagerLDA(3, 0.4, 0.3, 0.0, 0.7, 25, 500, 1e-10)
    plain.widen(start)
    statistics = np.zeros((3, 12))
    for x in X:
        words = np.flatnonzero(x)
        statistics[:, words] += (x[words][:, None] * plain.e_step(words, x[words])[1]).T
    np.testing.assert_allclose(m.components_, 0.3 + statistics, rtol=1e-8)


def test_equal_to_scikit_learn():
    from sklearn.decomposition import LatentDirichletAllocation

    X, _ = planted(96, K=4, V=40, seed=3)
    start = np.random.default_rng(1).gamma(100, 0.01, (4, 40))
    theirs = LatentDirichletAllocation(
        4, doc_topic_prior=0.2, topic_word_prior=0.1, learning_decay=0.7, learning_offset=10.0, total_samples=1000,
        mean_change_tol=1e-4, max_doc_update_iter=200, random_state=0,
    )  # fmt: skip
    e_step = theirs._e_step
    theirs._e_step = lambda X, cal_sstats, random_init, parallel=None: e_step(X, cal_sstats, False, parallel)  # gamma begins at 1
    theirs._init_latent_vars(40, dtype=np.float64)
    theirs.components_ = start.copy()
    theirs.exp_dirichlet_component_ = np.exp(psi(start) - psi(start.sum(1, keepdims=True)))
    ours = nr.OnlineLDA(K=4, alpha=0.2, eta=0.1, tau0=10.0, S=32, D=1000, start=start, tolerance=1e-4, iterations=200)
    for i in range(0, 96, 32):
        theirs.partial_fit(csr_matrix(X[i : i + 32]))
        ours.partial_fit(X[i : i + 32])
        np.testing.assert_allclose(ours.components_, theirs.components_, rtol=1e-6)
    np.testing.assert_allclose(ours.transform(X[:5]), theirs.transform(X[:5]), atol=1e-6)


# ---- what is found ---------------------------------------------------------------------------------------------------
def test_planted_topics_are_found():
    X, beta = planted(1500, seed=4)
    found = nr.OnlineLDA(K=5, eta=0.1, S=32, D=1500, tau0=10.0).fit(X, epochs=2)
    cosines = found.topic_word_ @ beta.T
    cosines /= np.linalg.norm(found.topic_word_, axis=1)[:, None] * np.linalg.norm(beta, axis=1)
    assert sorted(cosines.argmax(1).tolist()) == [0, 1, 2, 3, 4]
    assert cosines.max(1).min() > 0.95
    lam = found.components_.sum()
    assert abs(lam / (5 * 50 * 0.1 + 1500 * 60) - 1.0) < 0.05  # the total tends to that of priors and words
    alike = found.similar(X[0], X[:200])
    assert alike.argmax() == 0
    assert abs(alike[0] - 1.0) < 1e-9


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_hdp_does_not_end_in_one_topic(seed):
    X, beta = planted(600, K=6, V=120, seed=5)
    m = nr.OnlineHDP(K=20, T=6, eta=0.3, S=32, D=600, tau0=10.0, kappa=0.7, seed=seed).fit(X, epochs=2)
    assert m.weights_.max() < 0.5
    assert abs(m.weights_.sum() - 1.0) < 1e-9
    assert 6 <= m.n_topics_ <= 14
    cosines = m.topic_word_ @ beta.T / np.linalg.norm(m.topic_word_, axis=1)[:, None] / np.linalg.norm(beta, axis=1)
    assert cosines.max(0).min() > 0.85
    assert len(m.topics(4)) == m.n_topics_ == len(m.ranking_)
    as_lda = m.to_lda()
    np.testing.assert_allclose(as_lda.components_, m.components_)
    np.testing.assert_allclose(as_lda.alpha_, m.weights_)
    even = np.arange(120) % 2 == 0
    assert abs(as_lda.completion(X * even, X * ~even) / m.completion(X * even, X * ~even) - 1.0) < 0.1


def test_priors_are_learned():
    X, _ = planted(800, K=5, V=30, seed=6)
    plain = nr.OnlineLDA(K=5, eta=None, S=32, D=800).fit(X, epochs=2)
    m = nr.OnlineLDA(K=5, eta=None, S=32, D=800, learn_alpha=True, learn_eta=True).fit(X, epochs=2)
    assert (m.alpha_ != plain.alpha_).all()
    assert m.eta_ != plain.eta_ == 0.2
    assert m.perplexity(X) < plain.perplexity(X)
    assert abs(m.alpha_.mean() - 0.1) < 0.06  # what documents were made with


def test_small_priors_do_not_vanish():
    X, _ = planted(60, K=3, V=30, seed=7)
    m = nr.OnlineLDA(K=3, alpha=1e-4, eta=1e-4, S=16)
    assert np.isfinite(m.learn_many(X)).all()
    late = m.learn_many(np.where(np.arange(30) < 29, X[:4], 5.0))
    assert np.isfinite(late).all()
    assert np.isfinite(m.components_).all()
