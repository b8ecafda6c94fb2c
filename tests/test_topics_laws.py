"""Laws of topic models: splits, layouts, files, purity, bad input; documents in all forms; as maps."""

import copy
import pickle
import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.exceptions import NotFittedError

import noregret as nr
from noregret.engine import compiling
from noregret.inputs.text_words import split
from noregret.spelling import made, titled
from noregret.unsupervised import topics
from noregret.unsupervised import word_counts as documents

V = 12
WAYS = {
    "lda": lambda: nr.OnlineLDA(K=3, S=10),
    "lda, priors": lambda: nr.OnlineLDA(K=3, S=10, learn_alpha=True, learn_eta=True, alpha=[0.1, 0.2, 0.4]),
    "hdp": lambda: nr.OnlineHDP(K=5, T=3, S=10, eta=0.1),
}


def rows(n=75, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.poisson(rng.dirichlet([0.1] * 3, n) @ rng.dirichlet([0.3] * V, 3) * 20.0).astype(float)
    X[4] = 0.0
    return X


def named(X):
    return [{f"w{j}": int(c) for j, c in enumerate(x) if c} for x in X]


def late(n=75):
    """Documents whose words come as the stream goes on."""
    rng = np.random.default_rng(2)
    return [{f"w{w}": int(rng.integers(1, 4)) for w in rng.choice(5 + 2 * i, 5, replace=False)} if i != 6 else {} for i in range(n)]


@pytest.fixture(params=WAYS)
def name(request):
    return request.param


def learned(name, X, size=None):
    m, told = WAYS[name](), []
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    for i in range(0, n, size or n):
        told.append(m.learn_many(X[i : i + (size or n)]))
    return m, np.concatenate(told)


# ---- laws ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("size", [1, 7, 64])
@pytest.mark.parametrize("make", [rows, late, lambda: csr_matrix(rows())], ids=["arrays", "late", "sparse"])
def test_chunk(name, size, make, monkeypatch):
    X = make()
    whole, bounds = learned(name, X)
    monkeypatch.setattr(topics, "AT_ONCE", 3)
    parts, told = learned(name, X, size)
    assert parts.digest() == whole.digest()
    np.testing.assert_array_equal(told, bounds)
    assert parts.n_seen_ == 75
    assert parts.n_pending_ == 4  # the empty one does not wait
    assert bounds[4 if make is not late else 6] == 0.0
    if size == 1:
        one = WAYS[name]()
        for i in range(20):
            theta = one.learn_one(X[i] if not hasattr(X, "tocsr") else X[i].toarray()[0])
            assert abs(theta.sum() - 1.0) < 1e-12
        assert one.digest() == WAYS[name]().partial_fit(X[:20]).digest()


@pytest.mark.parametrize("make", [rows, late], ids=["arrays", "late"])
def test_resume(name, make, tmp_path):
    X = make()
    whole, _ = learned(name, X)
    for cut in (7, 43):  # within the first batch, and within a later one
        m, _ = learned(name, X[:cut])
        assert m.n_pending_ > 0
        m.save(tmp_path / "m.nr")
        m = type(m).load(tmp_path / "m.nr")
        m.learn_many(X[cut:])
        assert m.digest() == whole.digest()
    for other in (copy.deepcopy(m), pickle.loads(pickle.dumps(m))):
        assert other.digest() == m.digest()
        other.learn_many(X[:1])
        assert m.digest() == whole.digest()
    again = nr.from_bytes(m.to_bytes())
    assert again.finish().digest() == m.finish().digest() == WAYS[name]().fit(X).digest()
    before = m.digest()
    assert m.finish().digest() == before
    assert not m.clone().started
    assert not m.reset().started


def test_layout(name):
    X = rows()
    m, bounds = learned(name, X)
    sparse, told = learned(name, csr_matrix(X))
    assert sparse.digest() == m.digest()
    np.testing.assert_array_equal(told, bounds)
    np.testing.assert_array_equal(sparse.transform(csr_matrix(X)), m.transform(X))
    assert WAYS[name]().partial_fit(X.astype(np.float32)).digest() == m.digest()
    assert WAYS[name]().partial_fit(X.astype(int).tolist()).digest() == m.digest()


def test_interpreted(name):
    X = late(14)
    m, bounds = learned(name, X)
    with compiling.interpreted():
        plain, told = learned(name, X)
        np.testing.assert_allclose(told, bounds, rtol=1e-9)
        np.testing.assert_allclose(plain.components_, m.components_, rtol=1e-7)
        np.testing.assert_allclose(plain.transform(X), m.transform(X), atol=1e-7)


def test_purity(name):
    X = late()
    m, _ = learned(name, X)
    before, expected = m.digest(), m.transform(X)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: m.transform(X), range(8)))
    assert all(np.array_equal(z, expected) for z in found)
    np.testing.assert_array_equal(np.concatenate([m.transform(X[i : i + 3]) for i in range(0, 75, 3)]), expected)
    tokens = sum(sum(x.values()) for x in X)
    assert abs(m.perplexity(X) - np.exp(-m.bounds(X).sum() / tokens)) < 1e-9
    assert m.completion([{"w1": 2}], [{"w2": 1}]) > 1.0
    np.testing.assert_allclose(m.topic_word_.sum(1), 1.0)
    np.testing.assert_array_equal(m.transform([{"never": 3}]), m.transform([{}]))
    assert m.digest() == before


def test_words_in_another_order():
    X, order = rows(), np.random.default_rng(2).permutation(V)
    start = np.random.default_rng(3).gamma(100, 0.01, (3, V))
    m = nr.OnlineLDA(K=3, S=10, start=start)
    turned = nr.OnlineLDA(K=3, S=10, start=start[:, order])
    np.testing.assert_allclose(turned.learn_many(X[:, order]), m.learn_many(X), rtol=1e-9)
    np.testing.assert_allclose(turned.components_, m.components_[:, order], rtol=1e-9)


def test_noise():
    rng = np.random.default_rng(4)
    m = nr.OnlineLDA(K=3, S=100)
    told = m.learn_many(csr_matrix(rng.poisson(0.3, (20_000, 20)).astype(float)))
    assert np.isfinite(told).all()
    assert (m.components_ > 0.0).all()
    np.testing.assert_allclose(m.components_.sum(1), m.state.total + 20 * m.eta_, rtol=1e-9)


def test_the_scale_is_put_into_effect(monkeypatch):
    X = rows()
    m = nr.OnlineLDA(K=3, S=10).fit(X)
    monkeypatch.setattr(topics, "FADED", 0.99)
    often = nr.OnlineLDA(K=3, S=10).fit(X)
    assert float(often.state.scale[0]) == 1.0 != float(m.state.scale[0])
    np.testing.assert_allclose(often.components_, m.components_, rtol=1e-12)


def test_the_corpus_is_as_large_as_it_turns_out():
    X = rows()
    many = nr.OnlineLDA(K=3, S=10, D=10_000).fit(X)
    assert nr.OnlineLDA(K=3, S=10).fit(X).components_.tobytes() == many.components_.tobytes()
    assert nr.OnlineLDA(K=3, S=10, D=75).fit(X).components_.sum() < many.components_.sum()
    m = nr.OnlineLDA(K=3, S=10).fit(X)
    m.model.tally[1] = 40_000
    assert m.model.corpus == 40_000.0


def test_no_merge(name):
    with pytest.raises(TypeError, match="has no merge: the topics of two models do not correspond"):
        WAYS[name]().fit(rows()).merge(WAYS[name]().fit(rows()))


def test_epochs():
    X = rows()
    m = nr.OnlineLDA(K=3, S=10).fit(X, epochs=3)
    assert m.n_seen_ == 225
    plain = nr.OnlineLDA(K=3, S=10)
    for _ in range(3):
        plain.partial_fit(X).finish()
    assert plain.digest() == m.digest()


# ---- documents -------------------------------------------------------------------------------------------------------
def test_forms_of_documents():
    texts = ["Free money, free!", "to be, or not to be", "Lunch at noon; money for lunch", "", "..."]
    words = [split(t) for t in texts]
    dicts = [documents.counts(t) for t in texts]
    assert words[0] == ["free", "money", "free"]
    m = [nr.OnlineLDA(K=2, S=2).partial_fit(X) for X in (texts, words, [tuple(w) for w in words], dicts, [*texts[:2], *dicts[2:]])]
    assert len({one.digest() for one in m}) == 1
    assert m[0].n_seen_ == 5
    zero = nr.OnlineLDA(K=2, S=2).partial_fit([{"never": 0, **x} for x in dicts])
    assert zero.feature_names_ == m[0].feature_names_
    np.testing.assert_array_equal(zero.components_, m[0].components_)
    one = nr.OnlineLDA(K=2, S=2)
    for x in (texts[0], words[1], dicts[2], "", []):
        one.learn_one(x)
    assert one.digest() == m[0].digest()
    assert m[0].topic(0, 2)[0][0] in m[0].topics(1)[0]
    assert [len(t) for t in m[0].topics(3)] == [3, 3]
    assert nr.OnlineLDA(K=2).partial_fit(["", []]).n_seen_ == 2
    with pytest.raises(TypeError, match="put it into a list, or give it to learn_one"):
        one.partial_fit("one text")


def test_texts_are_split_as_tables_split_them():
    texts = [
        "Ünïcode, STRAẞE: naïve_x 12.5 don't",
        "日本語 テスト e\u0301a\u0301 \U0001d400b",
        "İstanbul ΣΑΣ \U000e0100 \U0002f800x",
    ]
    table = nr.Table(text="t")
    for text in texts:
        table.rows([{"t": text}], learn=True)
    assert [name.removeprefix("t:") for name in table.feature_names] == [*dict.fromkeys(w for t in texts for w in split(t))]


def test_hashed_words():
    X = late()
    m = nr.OnlineLDA(K=3, S=10, hash_bits=9).partial_fit(X)
    assert m.components_.shape == (3, 512)
    assert nr.from_bytes(m.to_bytes()).digest() == m.digest()
    parts = nr.OnlineLDA(K=3, S=10, hash_bits=9)
    for i in range(0, 75, 7):
        parts.partial_fit(X[i : i + 7])
    assert parts.digest() == m.digest()
    assert all(isinstance(w, str) for t in m.topics(5) for w in t)
    assert m.words_at([511])[0].startswith(("w", "#"))


def test_words_are_forgotten(name):
    X = late()
    m = WAYS[name]().partial_fit(X)
    known, lam, waits = m.feature_names_, m.components_, m.n_pending_
    m.forget_words(keep=20)
    kept = m.feature_names_
    assert len(kept) == 20
    at = [known.index(w) for w in kept]
    assert at == sorted(at)
    np.testing.assert_allclose(m.components_, lam[:, at], rtol=1e-12)
    np.testing.assert_allclose(m.components_.sum(1), m.state.total + 20 * m.eta_, rtol=1e-9)
    assert m.n_pending_ == waits
    assert nr.from_bytes(m.to_bytes()).digest() == m.digest()
    assert np.isfinite(m.learn_many(X)).all()
    assert m.forget_words(keep=10**6).n_features_in_ == len(known)
    with pytest.raises(ValueError, match="keep must be a whole number"):
        m.forget_words(keep=0)
    with pytest.raises(TypeError, match="words can be forgotten where they are names; these are columns"):
        WAYS[name]().partial_fit(rows()).forget_words(keep=3)


# ---- as maps ---------------------------------------------------------------------------------------------------------
TEXTS = ["free money now", "lunch at noon", "money money free", "noon meeting lunch", "win free money", "meeting at noon"] * 8


@pytest.mark.parametrize("name", ["lda", "hdp"])
@pytest.mark.parametrize(
    "X",
    [TEXTS, [t.split() for t in TEXTS], [documents.counts(t) for t in TEXTS], [{"body": t} for t in TEXTS], rows(48)],
    ids=["texts", "words", "counts", "column", "rows"],
)
def test_before_a_learner(name, X, tmp_path):
    y = ["spam", "ham"] * 24
    front = [nr.Text("body")] if isinstance(X, list) and "body" in X[0] else []
    make = lambda: nr.pipeline(*front, WAYS[name](), nr.PA1())  # noqa: E731
    whole = make().partial_fit(X, y)
    m = make().partial_fit(X[:17], y[:17])
    m.save(tmp_path / "m.nr")
    m = nr.load(tmp_path / "m.nr")
    for i in range(17, 48, 5):
        m.partial_fit(X[i : i + 5], y[i : i + 5])
    assert m.digest() == whole.digest()
    np.testing.assert_array_equal(m.predict(X), whole.predict(X))
    assert m.predict_one(X[0]) == m.predict(X)[0]
    before = m.digest()
    with pytest.raises(ValueError, match="inconsistent lengths"):
        m.partial_fit(X[:3], y[:2])
    assert m.digest() == before
    one = make()
    for x, label in zip(X[:12], y, strict=False):
        one.learn_one(x, label)
    assert one.digest() == make().partial_fit(X[:12], y[:12]).digest()


def test_a_document_is_mapped_with_what_was_learned_before_it():
    X, y = rows(), (rows()[:, 0] > 1).astype(int)
    m, lda, step = nr.pipeline(nr.OnlineLDA(K=3, S=4), nr.PA1()), nr.OnlineLDA(K=3, S=4), nr.PA1()
    for x, label in zip(X, y.tolist(), strict=True):
        assert m.learn_one(x, label) == step.learn_one(lda.learn_one(x), label)
    np.testing.assert_array_equal(m.coef_, step.coef_)


def test_topics_at_the_end_of_a_pipeline():
    m = nr.pipeline(nr.Text("body"), nr.OnlineLDA(K=2, S=4, D=48)).partial_fit([{"body": t} for t in TEXTS])
    assert m.transform([{"body": "free money"}]).shape == (1, 2)
    assert {w for t in m.learner.topics(3) for w in t} <= {f"body:{w}" for t in TEXTS for w in t.split()}
    with pytest.raises(TypeError, match="online_lda learns topics, and answers nothing: use transform"):
        m.predict([{"body": "free"}])


def test_spelled():
    m = made("online_lda(K=30)>pa1")
    assert repr(m) == "pipeline(OnlineLDA(K=30), PA1())"
    assert titled(m.learner, m.steps[:-1]) == "pa1 after online_lda(30)"
    assert nr.algorithms("topics") == ["online_hdp", "online_lda"]
    assert isinstance(nr.learner("online_hdp", K=30), nr.OnlineHDP)
    assert repr(nr.OnlineLDA()) == "OnlineLDA()"


# ---- bad input -------------------------------------------------------------------------------------------------------
def test_bad_documents_change_nothing(name):
    X = rows()
    m, _ = learned(name, X)
    before = m.digest()
    negative = X[:3].copy()
    negative[2, 5] = -1.0
    bad = [
        (np.full((2, V), np.nan), "contains NaN at row 0"),
        (negative, "word 5 has the count -1 in row 2"),
        (csr_matrix(negative), "word 5 has the count -1 in row 2"),
        (np.full((1, V), 1e20), "word 0 has the count 1e+20 in row 0"),
        (np.ones((2, V + 1)), f"X has {V + 1} features, but {type(m).__name__} is expecting {V} features"),
        ([{0: 1, V: 2}], f"unknown feature {V}: this model was started on an array, expected column numbers 0 to {V - 1}"),
    ]
    for X, said in bad:
        for verb in (m.learn_many, m.partial_fit, m.transform, m.perplexity):
            with pytest.raises(ValueError, match=re.escape(said)):
                verb(X)
    assert m.digest() == before
    words, _ = learned(name, late())
    before = words.digest()
    for x, said in [
        ({"w1": -2, "new": 1}, "word 'w1' has the count -2 in row 1"),
        ({"w1": np.nan}, "contains nan"),
        ({"w1": "many"}, "has value 'many'"),
    ]:
        with pytest.raises((ValueError, TypeError), match=said):
            words.partial_fit([{"another": 1}, x])
    with pytest.raises(TypeError, match="a document must be a dict of counts"):
        words.partial_fit([{"a": 1}, 5.0])
    assert words.digest() == before
    fresh = WAYS[name]()
    with pytest.raises(ValueError, match="has the count -1"):
        fresh.learn_one({"a": -1})
    assert not fresh.started
    with pytest.raises(NotFittedError, match="has learned nothing yet"):
        fresh.transform(rows())


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: nr.OnlineLDA(kappa=0.5), "kappa must be in (0.5, 1], got 0.5"),
        (lambda: nr.OnlineLDA(kappa=1.1), "kappa must be in (0.5, 1], got 1.1"),
        (lambda: nr.OnlineHDP(kappa=0.4), "kappa must be in [0.5, 1], got 0.4"),
        (lambda: nr.OnlineLDA(K=0), "K must be in"),
        (lambda: nr.OnlineLDA(K=2.5), "K must be a whole number"),
        (lambda: nr.OnlineLDA(D=0), "D must be in"),
        (lambda: nr.OnlineLDA(alpha=0.0), "alpha must be a positive number, or one for each of 20 topics, got 0.0"),
        (lambda: nr.OnlineLDA(K=3, alpha=[1.0, 2.0]), "alpha must be a positive number, or one for each of 3 topics"),
        (lambda: nr.OnlineLDA(eta=-1.0), "eta must be in"),
        (lambda: nr.OnlineLDA(K=2, start=[[1.0], [0.0]]), "start must be an array of positive numbers"),
        (lambda: nr.OnlineLDA(K=2, start=np.ones((2, 3))), f"start must have 2 rows of {V} numbers"),
        (lambda: nr.OnlineHDP(K=5, T=6), "T must be from 2 to K=5"),
        (lambda: nr.OnlineHDP(zeta="random"), "zeta must be one of 'words', 'uniform', got 'random'"),
    ],
)
def test_bad_settings(make, said):
    m = make()
    with pytest.raises(ValueError, match=re.escape(said)):
        m.partial_fit(rows())
    assert not m.started


def test_new_settings():
    m = nr.OnlineLDA(K=3, S=10).partial_fit(rows()[:15])
    m.set_params(S=2, iterations=5)
    m.partial_fit(rows()[15:16])
    assert m.n_pending_ == 0
    with pytest.raises(ValueError, match="need another kind of state"):
        m.set_params(K=4)
    assert m.K == 3
    with pytest.raises(ValueError, match="kappa must be in"):
        m.set_params(kappa=0.2)
