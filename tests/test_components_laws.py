"""Laws of learners of components: splits, layouts, files, merging, purity, bad input; as maps; in scikit-learn."""

import copy
import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

import noregret as nr
from noregret.engine import compiling
from noregret.spelling import made, titled

D = 7
WAYS = {
    "merge": lambda: nr.OnlinePCA(k=3),
    "merge in batches": lambda: nr.OnlinePCA(k=3, S=10, forgetting=0.99),
    "ccipca": lambda: nr.OnlinePCA(k=3, method="ccipca", l=2),
    "oja": lambda: nr.OnlinePCA(k=3, method="oja"),
    "expert": lambda: nr.OnlinePCA(k=3, method="expert"),
    "svd": lambda: nr.OnlineSVD(),
    "svd, cut": lambda: nr.OnlineSVD(r_max=3, beta=0.99, keep=False),
    "svd, window": lambda: nr.OnlineSVD(r_max=4, window=12),
    "dictionary": lambda: nr.DictionaryLearner(k=9, S=10),
    "dictionary by rows": lambda: nr.DictionaryLearner(k=5, coding="lars", positive=True),
}
WAITS = ("merge in batches", "dictionary")
GROWS = [name for name in WAYS if name != "expert"]


def rows(n=130, d=D, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.linspace(2.0, 0.3, d)
    X[rng.random(X.shape) < 0.3] = 0.0
    X[4] = 0.0
    return X / np.linalg.norm(X, axis=1).max()


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
def test_chunk(name, size):
    X = rows()
    whole, errors = learned(name, X)
    parts, told = learned(name, X, size)
    assert parts.digest() == whole.digest()
    np.testing.assert_array_equal(told, errors)
    assert parts.n_seen_ == 130
    assert parts.n_pending_ == 0
    assert WAYS[name]().partial_fit(X).digest() == whole.digest()


@pytest.mark.parametrize("name", WAITS)
def test_rows_that_wait_are_part_of_the_state(name):
    X = rows(47)
    m, _ = learned(name, X, 7)
    assert m.n_pending_ == 7
    again = nr.from_bytes(m.to_bytes())
    assert again.n_pending_ == 7
    assert m.finish().n_pending_ == 0
    assert again.finish().digest() == m.digest()
    assert WAYS[name]().fit(X).digest() == m.digest()
    before = m.digest()
    assert m.finish().digest() == before


def test_layout(name):
    X = rows()
    m, errors = learned(name, X)
    sparse, told = learned(name, csr_matrix(X))
    assert sparse.digest() == m.digest()
    np.testing.assert_array_equal(told, errors)
    np.testing.assert_array_equal(sparse.transform(csr_matrix(X)), m.transform(X))
    narrow = WAYS[name]().partial_fit(X.astype(np.float32))
    np.testing.assert_allclose(np.abs(narrow.transform(X[:9])), np.abs(m.transform(X[:9])), atol=2e-3)


@pytest.mark.parametrize("size", [1, 7])
@pytest.mark.parametrize("name", GROWS)
def test_chunk_where_names_come_later(name, size):
    X, late = rows(d=40), np.arange(40)
    dicts = [{f"c{j}": x[j] for j in range(40) if x[j] != 0.0 and late[j] <= 2 * i} for i, x in enumerate(X)]
    whole, errors = learned(name, dicts)
    parts, told = learned(name, dicts, size)
    np.testing.assert_array_equal(told, errors)
    assert parts.digest() == whole.digest()
    assert whole.n_features_in_ == 40
    resumed, _ = learned(name, dicts[:43])
    resumed = nr.from_bytes(resumed.to_bytes())
    resumed.learn_many(dicts[43:])
    assert resumed.digest() == whole.digest()
    y = labels(X).tolist()
    if name in MAPS:
        m, n = nr.pipeline(WAYS[name](), nr.PA1()), nr.pipeline(WAYS[name](), nr.PA1()).partial_fit(dicts, y)
        for i in range(0, 130, size):
            m.partial_fit(dicts[i : i + size], y[i : i + size])
        assert m.digest() == n.digest()


@pytest.mark.parametrize("name", GROWS)
def test_names_may_come_at_any_time(name):
    X = rows()
    X[:20, 4:] = 0.0
    dicts = [{f"c{j}": x[j] for j in range(D) if x[j] != 0.0} for x in X]
    m, errors = learned(name, X)
    named, told = learned(name, dicts, 1)
    at = [int(c[1:]) for c in named.feature_names_]
    assert sorted(at) == list(range(D))
    if name.startswith("dictionary"):  # lambda follows the number of features
        assert np.isfinite(told).all()
        return
    np.testing.assert_allclose(told, errors, atol=1e-9)
    np.testing.assert_allclose(named.components_, m.components_[:, at], atol=1e-7)
    np.testing.assert_allclose(named.transform(dicts), m.transform(X), atol=1e-7)
    np.testing.assert_allclose(named.transform([{"new": 5.0}]), m.transform(np.zeros((1, D))), atol=1e-7)


def test_hashed_names():
    X = rows()
    dicts = [{f"c{j}": x[j] for j in range(D)} for x in X]
    for m in (nr.OnlinePCA(k=2, hash_bits=5), nr.OnlinePCA(k=2, hash_bits=5, method="expert")):
        m.partial_fit(dicts)
        assert m.components_.shape == (2, 32)
        assert nr.from_bytes(m.to_bytes()).digest() == m.digest()


def test_interpreted(name):
    X = rows(25)
    m, errors = learned(name, X)
    with compiling.interpreted():
        plain, told = learned(name, X)
        np.testing.assert_allclose(told, errors, atol=1e-9)
        np.testing.assert_allclose(plain.transform(X), m.transform(X), atol=1e-7)


def test_resume(name, tmp_path):
    X = rows()
    whole, _ = learned(name, X)
    m, _ = learned(name, X[:43])
    m.save(tmp_path / "m.nr")
    m = type(m).load(tmp_path / "m.nr")
    m.learn_many(X[43:])
    assert m.digest() == whole.digest()
    for other in (copy.deepcopy(m), pickle.loads(pickle.dumps(m))):
        assert other.digest() == m.digest()
        other.learn_many(X[:1])
        assert m.digest() == whole.digest()
    assert m.clone().get_params().keys() == m.get_params().keys()
    assert not m.clone().started
    assert not m.reset().started


def test_purity(name):
    X = rows()
    m, _ = learned(name, X)
    before, expected = m.digest(), m.transform(X)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: m.transform(X), range(8)))
    assert all(np.array_equal(z, expected) for z in found)
    np.testing.assert_array_equal(np.concatenate([m.transform(X[i : i + 3]) for i in range(0, 130, 3)]), expected)
    left = ((X - m.reconstruct(X)) ** 2).sum(1)
    np.testing.assert_allclose(m.errors(X), left, atol=1e-12)
    assert m.digest() == before


def test_columns_in_another_order(name):
    X, order = rows(), np.random.default_rng(2).permutation(D)
    m, errors = learned(name, X)
    turned, told = learned(name, X[:, order])
    np.testing.assert_allclose(told, errors, atol=1e-9)
    np.testing.assert_allclose(turned.components_, m.components_[:, order], atol=1e-6)


def test_epochs():
    X = rows()
    m = nr.OnlinePCA(k=2, method="oja").fit(X, epochs=3)
    assert m.n_seen_ == 390
    assert m.errors(X).mean() < nr.OnlinePCA(k=2, method="oja").fit(X).errors(X).mean() + 1e-6
    with pytest.raises(ValueError, match="epochs must be a whole number"):
        m.fit(X, epochs=0)


# ---- merging ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("make", [lambda: nr.OnlinePCA(k=D), lambda: nr.OnlinePCA(k=D, S=16), nr.OnlineSVD], ids=["1", "16", "svd"])
def test_merging_is_exact_where_nothing_is_cut_off(make):
    X = rows()
    m = make().fit(X[:50]).merge(make().fit(X[50:]))
    whole = make().fit(X)
    assert m.n_seen_ == 130
    np.testing.assert_allclose(m.singular_values_, whole.singular_values_, rtol=1e-9)
    np.testing.assert_allclose(m.mean_, whole.mean_, atol=1e-12)
    np.testing.assert_allclose(np.abs((m.components_ * whole.components_).sum(1)), 1.0, atol=1e-8)
    if isinstance(m, nr.OnlineSVD):
        np.testing.assert_allclose(m.left_ * m.singular_values_ @ m.components_, X, atol=1e-12)
    assert make().merge(whole).digest() == whole.digest()


def test_merging_unites_names():
    a = nr.OnlinePCA(k=2).partial_fit([{"a": 1.0, "b": 2.0}, {"a": 0.0, "b": 1.0}, {"b": 3.0}])
    b = nr.OnlinePCA(k=2).partial_fit([{"c": 1.0, "b": 2.0}, {"c": 5.0}, {"a": 1.0}])
    whole = nr.OnlinePCA(k=3).partial_fit(
        [{"a": 1.0, "b": 2.0}, {"b": 1.0}, {"b": 3.0}, {"c": 1.0, "b": 2.0}, {"c": 5.0}, {"a": 1.0}]
    )
    a.merge(b)
    assert a.feature_names_ == ["a", "b", "c"] == whole.feature_names_
    np.testing.assert_allclose(a.mean_, whole.mean_)
    np.testing.assert_allclose(a.singular_values_, whole.singular_values_[:2], rtol=0.1)


def test_what_cannot_be_merged_says_why():
    X = rows()
    with pytest.raises(TypeError, match="has no merge: only method='merge'"):
        WAYS["oja"]().fit(X).merge(WAYS["oja"]().fit(X))
    with pytest.raises(TypeError, match="do not correspond"):
        WAYS["dictionary"]().fit(X).merge(WAYS["dictionary"]().fit(X))
    with pytest.raises(TypeError, match="cannot merge a OnlineSVD into a OnlinePCA"):
        WAYS["merge"]().merge(WAYS["svd"]())
    with pytest.raises(ValueError, match="different parameters"):
        nr.OnlinePCA(k=2).merge(nr.OnlinePCA(k=3))
    with pytest.raises(TypeError, match="cannot be joined"):
        WAYS["merge"]().joined([])


# ---- as maps ---------------------------------------------------------------------------------------------------------
MAPS = [name for name in WAYS if name not in ("svd", "expert")]


def labels(X):
    return (X[:, 0] + X[:, 1] > 0.0).astype(int)


@pytest.mark.parametrize("name", MAPS)
def test_before_a_learner(name, tmp_path):
    X, y = rows(), labels(rows())
    whole = nr.pipeline(nr.Scale(), WAYS[name](), nr.PA1()).partial_fit(X, y)
    m = nr.pipeline(nr.Scale(), WAYS[name](), nr.PA1()).partial_fit(X[:43], y[:43])
    m.save(tmp_path / "m.nr")
    m = nr.load(tmp_path / "m.nr")
    for i in range(43, 130, 7):
        m.partial_fit(X[i : i + 7], y[i : i + 7])
    assert m.digest() == whole.digest()
    np.testing.assert_array_equal(m.predict(X), whole.predict(X))
    before = m.digest()
    with pytest.raises(ValueError, match="inconsistent lengths"):
        m.partial_fit(X[:3], y[:2])
    assert m.digest() == before
    assert pickle.loads(pickle.dumps(m)).digest() == before
    assert copy.deepcopy(m).digest() == before


def test_a_row_is_mapped_with_what_was_learned_before_it():
    X, y = rows(), labels(rows())
    m = nr.pipeline(nr.OnlinePCA(k=3), nr.PA1())
    pca, step = nr.OnlinePCA(k=3), nr.PA1()
    for x, label in zip(X, y.tolist(), strict=True):
        assert m.learn_one(x, label) == step.learn_one(pca.learn_one(x), label)
    np.testing.assert_array_equal(m.coef_, step.coef_)
    np.testing.assert_array_equal(m.predict(X), step.predict(pca.transform(X)))


def test_components_help_where_labels_follow_them():
    rng = np.random.default_rng(3)
    hidden = rng.normal(size=(3000, 2))
    X = hidden @ rng.normal(size=(2, 200)) + 4.0 * rng.normal(size=(3000, 200))
    y = (hidden[:, 0] > 0).astype(int)
    plain, mapped = nr.Perceptron().partial_fit(X, y), nr.pipeline(nr.OnlinePCA(k=2), nr.Perceptron()).partial_fit(X, y)
    assert mapped.n_mistakes_ < 0.95 * plain.n_mistakes_


def test_maps_of_dicts_and_tables(tmp_path):
    data = pd.DataFrame({"a": rows()[:, 0], "b": rows()[:, 1], "c": ["x", "y"] * 65, "y": labels(rows())})
    m = nr.pipeline(nr.Table(target="y"), nr.OnlinePCA(k=2), nr.PA1()).partial_fit(data)
    assert nr.from_bytes(m.to_bytes()).digest() == m.digest()
    m = nr.pipeline(nr.DictionaryLearner(k=2), nr.PA1())
    m.learn_one({"a": 1.0}, "x")
    m.learn_one({"b": 1.0, "c": 2.0}, "y")
    assert m.predict_one({"c": 1.0}) in ("x", "y")


def test_spelled():
    m = made("online_pca(k=20)>pa1")
    assert repr(m) == "pipeline(OnlinePCA(k=20), PA1())"
    assert titled(m.learner, m.steps[:-1]) == "pa1 after online_pca(20)"
    for text in ("online_pca(20, method=ccipca)", "dictionary(5, 0.5)", "online_svd(3, keep=false)"):
        steps = made(f"{text}>pa1").steps[:-1]
        assert titled(nr.PA1(), steps) == f"pa1 after {text}"
    for text, said in [
        ("online_svd>pa1", "needs r_max"),
        ("online_pca(0)>pa1", "k must be in"),
        ("online_pca(2, method=x)>pa1", "method must be one of 'merge'"),
        ("dictionary(2, coding=omp)>pa1", "coding must be 'cd' or 'lars'"),
    ]:
        with pytest.raises(ValueError, match=said):
            made(text)
    assert nr.algorithms("components") == ["dictionary", "online_pca", "online_svd"]
    assert not {*nr.algorithms("components")} & {*nr.algorithms()}
    assert isinstance(nr.learner("dictionary", k=3), nr.DictionaryLearner)


def test_merged_pipelines_have_the_same_components():
    X, y = rows(), labels(rows())
    m = nr.pipeline(nr.OnlinePCA(k=2), nr.PA1()).partial_fit(X, y)
    with pytest.raises(ValueError, match="has learned other components"):
        m.merge(nr.pipeline(nr.OnlinePCA(k=2), nr.PA1()).partial_fit(X[::-1], y))
    assert m.merge(copy.deepcopy(m)).learner.n_seen_ == 260


def test_in_a_study(tmp_path):
    X, y = rows(), labels(rows())
    report = nr.compare((X, y), ["pa1", "online_pca(3)>pa1"])
    assert "online_pca(3)" in str(report)
    done = nr.train((X, y), "scale>online_pca(2,S=8)>pa1", save=tmp_path / "m.nr")
    assert nr.load(tmp_path / "m.nr").digest() == done.model.digest()


# ---- bad input -------------------------------------------------------------------------------------------------------
def test_bad_rows_change_nothing(name):
    X = rows()
    m, _ = learned(name, X)
    before = m.digest()
    bad = [
        (np.full((2, D), np.nan), "contains NaN at row 0"),
        (np.ones((2, D + 1)), f"X has {D + 1} features, but {type(m).__name__} is expecting {D} features"),
        (np.vstack([X[:2], np.full(D, 1e120)]), "X in row 2 holds 1e\\+120"),
        (["a"], "text|Expected 2D"),
    ]
    for X, said in bad:
        with pytest.raises((ValueError, TypeError), match=said):
            m.learn_many(X)
    with pytest.raises(ValueError, match="coordinates, got an array of shape"):
        m.inverse_transform(np.ones((2, 99)))
    assert m.digest() == before
    fresh = WAYS[name]()
    with pytest.raises(ValueError, match="contains NaN"):
        fresh.learn_many([[np.nan] * D])
    assert not fresh.started
    with pytest.raises(NotFittedError, match="has learned nothing yet"):
        fresh.transform(X)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: nr.OnlinePCA(k=8), "X has 7 feature\\(s\\), fewer than the k=8"),
        (lambda: nr.OnlinePCA(k=7, method="expert"), "needs more than k=7"),
        (lambda: nr.OnlinePCA(method="svd"), "method must be one of 'merge', 'ccipca', 'oja', 'expert', got 'svd'"),
        (lambda: nr.OnlinePCA(method="oja", rate="fast"), "rate must be one of"),
        (lambda: nr.OnlinePCA(method="oja", S=4), "S belongs to method='merge'"),
        (lambda: nr.OnlinePCA(l=2), "l belongs to method='ccipca'"),
        (lambda: nr.OnlinePCA(eta=0.1), "eta belongs to"),
        (lambda: nr.OnlinePCA(method="oja", start=np.ones((2, 7))), "orthonormal"),
        (lambda: nr.OnlinePCA(method="oja", start=np.eye(3)[:2]), "start must have 2 rows of 7 numbers"),
        (lambda: nr.OnlinePCA(method="oja", start=[1.0]), "start must be an array"),
        (lambda: nr.OnlinePCA(k=1.5), "k must be a whole number"),
        (lambda: nr.OnlinePCA(forgetting=0.0), "forgetting must be in"),
        (lambda: nr.OnlineSVD(missing="zero"), "missing must be None or 'impute'"),
        (lambda: nr.OnlineSVD(window=3, keep=False), "does not go with keep=False"),
        (lambda: nr.OnlineSVD(window=3, beta=0.9), "give one of them"),
        (lambda: nr.DictionaryLearner(coding="omp"), "coding must be"),
        (lambda: nr.DictionaryLearner(k=2, start=2.0 * np.eye(7)[:2]), "rows of length at most 1"),
    ],
)
def test_bad_settings(make, said):
    with pytest.raises((ValueError, TypeError), match=said):
        make().partial_fit(rows())


def test_experts_have_conditions():
    m = nr.OnlinePCA(k=1, method="expert").partial_fit([[0.5, 0.5]])
    before = m.digest()
    with pytest.raises(ValueError, match="row 1 has the length 1.41"):
        m.learn_many([[0.0, 1.0], [1.0, 1.0]])
    assert m.digest() == before
    with pytest.raises(TypeError, match="give arrays, or dicts with hash_bits"):
        nr.OnlinePCA(k=1, method="expert").learn_one({"a": 0.5})
    with pytest.raises(ValueError, match="at most 500, got 501"):
        nr.OnlinePCA(k=1, method="expert").partial_fit(np.zeros((1, 501)))
    for attribute in ("density_", "paid_", "best_"):
        with pytest.raises(AttributeError, match=f"{attribute} belongs to method='expert'"):
            getattr(nr.OnlinePCA(k=1).partial_fit([[0.5, 0.5]]), attribute)


def test_changes_that_are_refused():
    m = nr.OnlineSVD().partial_fit(rows(5))
    before = m.digest()
    for change, said in [
        (lambda: m.remove(5), "0 to 4, got 5"),
        (lambda: m.revise(-1, np.zeros(D)), "0 to 4, got -1"),
        (lambda: m.revise(0, np.zeros(D + 1)), "expecting 7 features"),
        (lambda: m.append_feature([1.0]), "each of 5 examples"),
        (lambda: m.append_feature(np.ones(5), "x"), "none where they do not"),
        (lambda: m.rank_for(1.5), "share must be in"),
    ]:
        with pytest.raises(ValueError, match=said):
            change()
    assert m.digest() == before
    with pytest.raises(ValueError, match="keep=False drops the examples"):
        nr.OnlineSVD(keep=False).partial_fit(rows(5)).remove(0)
    named = nr.OnlineSVD().partial_fit([{"a": 1.0}, {"b": 2.0}]).append_feature([3.0, 4.0], "c")
    assert named.feature_names_ == ["a", "b", "c"]
    np.testing.assert_allclose(named.left_ * named.singular_values_ @ named.components_, [[1, 0, 3], [0, 2, 4]], atol=1e-12)
    assert nr.from_bytes(named.to_bytes()).digest() == named.digest()


def test_settings_that_shape_the_state_stay():
    m = nr.OnlinePCA(k=2, method="ccipca").partial_fit(rows())
    with pytest.raises(ValueError, match="another kind of state"):
        m.set_params(k=3)
    with pytest.raises(ValueError, match="rate must be one of"):
        m.set_params(rate="slow")
    assert m.set_params(l=2).l == 2
    assert m.k == 2


# ---- scikit-learn ----------------------------------------------------------------------------------------------------
SKIPPED = {"check_array_api_input"}  # needs SCIPY_ARRAY_API=1 before SciPy is imported; NumPy is what we promise


@pytest.mark.parametrize(
    "estimator",
    [
        nr.OnlinePCA(k=1),
        nr.OnlinePCA(k=1, S=5),
        nr.OnlinePCA(k=1, method="ccipca"),
        nr.OnlineSVD(),
        nr.DictionaryLearner(k=3),
        nr.OnlineLDA(K=3),
        nr.OnlineHDP(K=4, T=2),
    ],
)
def test_checks_of_scikit_learn(estimator):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r".*does not inherit from `sklearn.base.BaseEstimator`", UserWarning)
        results = check_estimator(estimator, on_skip=None, on_fail=None)
    failed = [(r["check_name"], r["exception"]) for r in results if r["status"] == "failed"]
    assert not failed
    assert {r["check_name"] for r in results if r["status"] == "skipped"} <= SKIPPED
    assert sum(r["status"] == "passed" for r in results) >= 40


def test_in_a_pipeline_of_scikit_learn():
    X, y = rows(), labels(rows())
    m = make_pipeline(nr.OnlinePCA(k=3, S=16), nr.PA1()).fit(X, y)
    assert m.score(X, y) > 0.6
    names = nr.OnlinePCA(k=2).fit(pd.DataFrame(X, columns=[f"c{j}" for j in range(D)])).get_feature_names_out()
    assert names.tolist() == ["onlinepca0", "onlinepca1"]
    assert repr(clone(nr.OnlinePCA(k=4, method="oja"))) == "OnlinePCA(k=4, method='oja')"
    ours = clone(nr.pipeline(nr.OnlinePCA(k=3), nr.PA1())).fit(X, y)
    assert ours.steps[0].learner.k == 3
