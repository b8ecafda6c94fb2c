"""The sparse learners: printed traces, an eager transcription, the invariants of the sheet, and what may not depend on laziness."""

import json

import numpy as np
import pytest
from reference_sparse import largest, ofs, shortened, slope, soft, transcribe
from scipy.sparse import csr_matrix
from traces_sparse import MULTITASK, PARTIAL, TASKS, TRACES

import noregret as nr
from noregret.algorithm.state import settle
from noregret.engine.compiling import interpreted
from noregret.families import selection
from noregret.parts.proximal import ElasticNet
from noregret.spaces import groups, sparse

LAZY = ("fobos", "truncated_gradient", "rounding", "rda", "ftrl", "adagrad_fobos", "adagrad_rda")
LABEL_LOSSES = ("hinge", "squared_hinge", "log", "exponential", "perceptron", "square")
REAL_LOSSES = ("square", "absolute", "epsilon_insensitive", "squared_epsilon_insensitive")
STRONG = {  # settings that make zeros on short streams
    "fobos": {"lambda_": 0.2, "eta": 0.3},
    "truncated_gradient": {"g": 0.15, "K": 3, "theta": 0.4, "eta": 0.1},
    "rounding": {"theta": 0.05, "K": 3, "eta": 0.1},
    "rda": {"lambda_": 0.03, "gamma": 2.0},
    "ftrl": {"lambda1": 2.0},
    "adagrad_fobos": {"lambda_": 0.2},
    "adagrad_rda": {"lambda_": 0.03},
    "group_lasso": {"lambda_": 0.03, "gamma": 2.0, "groups": [0, 0, 1, 2, 1, 3, 3, 3]},
}


def data(K, seed=0, n=40, d=8):
    """Sparse rows, some empty, with features of different sizes and sample weights, some of them 0."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.4)
    f = X @ (rng.standard_normal((d, max(K, 1))) * (rng.random((d, 1)) < 0.6)) + 0.3 * rng.standard_normal((n, max(K, 1)))
    X[rng.random(n) < 0.05] = 0.0
    y = f[:, 0] if K == 0 else np.where(f[:, 0] > 0, 1, -1) if K == 2 else f.argmax(1)
    return X * np.exp(rng.normal(0, 0.5, d)), y, rng.choice([0.0, 0.5, 1.0, 2.5], n)


def make(name, K, params):
    """The learner for a target of K classes, a real one if K = 0."""
    classes = {"classes": [-1, 1] if K == 2 else list(range(K))} if K else {}
    return nr.learner(name if K else f"{name}_regressor", **params, **classes)


# ---- traces ----------------------------------------------------------------------------------------------------------
def follow(t, layout):
    X, y, classes = t.on
    m = nr.learner(t.registry, fit_intercept=False, **t.params, **({} if classes is None else {"classes": classes}))
    for i, said in enumerate(t.rounds()):
        f = m.learn_many(layout(np.asarray(X[i : i + 1], float)), y[i : i + 1])
        w = m.model.state.w.w if hasattr(m.model.state.w, "w") else m.model.state.w
        found = {
            "score": lambda f=f: f,
            "w": lambda: m.model.weights(),
            "W": lambda: m.model.weights().T,
            "gbar": lambda w=w, i=i: w.G / (i + 1),
            "z": lambda w=w: w.z,
            "n": lambda w=w: w.n,
            "H": lambda w=w: w.delta + np.sqrt(w.n),
        }
        for k, v in said.items():
            np.testing.assert_allclose(np.ravel(found[k]()), v, atol=2e-6, err_msg=f"{t.name}, round {i + 1}, {k}")


@pytest.mark.parametrize("t", TRACES, ids=lambda t: t.name)
@pytest.mark.parametrize("layout", [np.asarray, csr_matrix])
def test_trace(t, layout):
    with interpreted():
        follow(t, layout)


# ---- transcriptions: every loss with every method --------------------------------------------------------------------
CASES = [
    *[(name, {"loss": loss}, K) for name in LAZY for loss in LABEL_LOSSES for K in (2, 3)],
    *[(name, {"loss": loss}, 0) for name in LAZY for loss in REAL_LOSSES],
    *[
        ("fobos", {"regularizer": r, "lambda_": 0.1}, K)
        for r in ("l2", "l2sq", "linf", "elastic", "l1l2", "l1linf")
        for K in (0, 2, 3)
    ],
    *[("fobos", {"regularizer": r, "loss": "hinge"}, 4) for r in ("l1l2", "l1linf", "linf", "l2")],
    *[("fobos", {"regularizer": r, "groups": list("aabcbbcd")}, K) for r in ("l1l2", "l1linf") for K in (0, 2, 3)],
    *[("fobos", {"rate": rate, "eta": 0.2}, 2) for rate in ("constant", "inv_t")],
    ("truncated_gradient", {"g": 0.02, "K": 1}, 3),
    ("truncated_gradient", {"g": 0.05, "K": 7, "rate": "inv_sqrt", "eta": 0.5}, 2),
    ("rounding", {"K": 1, "theta": 0.02}, 3),
    *[
        ("rda", {"lambda_": 0.02, **given}, K)
        for given in ({"rho": 0.02}, {"sigma": 0.5}, {"gamma": 0.0, "sigma": 1.0})
        for K in (2, 3)
    ],
    *[
        ("group_lasso", {"loss": loss, **given}, K)
        for loss in ("log", "hinge")
        for given in ({}, {"r": 0.5}, {"rho": 0.02})
        for K in (2, 3)
    ],
    *[("group_lasso", {"gamma": 50.0, **given}, 0) for given in ({}, {"r": 0.5, "rho": 0.02})],
    ("ftrl", {"lambda1": 0.2, "lambda2": 0.5, "beta": 0.0}, 3),
    *[
        (name, {"lambda_": lambda_, "l2": 0.1}, K)
        for name in ("adagrad_fobos", "adagrad_rda")
        for lambda_ in (0.0, 0.03)
        for K in (0, 3)
    ],
]
SMALL_STEPS = {  # losses with slopes that grow with the score need small steps on unscaled rows
    "fobos": {"eta": 0.02},
    "truncated_gradient": {"eta": 0.01},
    "rounding": {"eta": 0.01},
    "rda": {"gamma": 50.0},
    "ftrl": {},
    "adagrad_fobos": {},
    "adagrad_rda": {},
    "group_lasso": {"gamma": 50.0},
}


@pytest.mark.parametrize(("name", "params", "K"), CASES, ids=lambda v: str(v))
@pytest.mark.parametrize("bias", [False, True])
def test_transcription(name, params, K, bias):
    """Scores of all rounds, and all weights wherever one may read them, with and without constant feature and sample weights."""
    steep = params.get("loss", "" if K else "square") in ("square", "squared_hinge", "exponential", "squared_epsilon_insensitive")
    given = {**STRONG[name], **(SMALL_STEPS[name] if steep else {}), **params}
    X, y, c = data(K, seed=len(str(params)) + K)
    c = c if bias else None
    f, ref = transcribe(name, given, K, X, y, c, bias)
    with interpreted():
        m = make(name, K, {"fit_intercept": bias, **given})
        k = len(y) // 2
        first = m.learn_many(X[:k], y[:k], sample_weight=None if c is None else c[:k])
        _, half = transcribe(name, given, K, X[:k], y[:k], None if c is None else c[:k], bias)
        compare(m, half, K, bias)
        m.predict(X)
        rest = m.learn_many(csr_matrix(X[k:]), y[k:], sample_weight=None if c is None else c[k:])
    np.testing.assert_allclose(np.concatenate([first, rest]).reshape(f.shape), f, rtol=1e-9, atol=1e-11)
    compare(m, ref, K, bias)


def compare(m, ref, K, bias):
    coef, intercept = np.atleast_2d(m.coef_).T, np.atleast_1d(m.intercept_)
    np.testing.assert_allclose(coef, ref.W, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(intercept, ref.b if bias else 0.0 * intercept, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", LAZY)
def test_there_are_zeros_to_compare(name):
    """The settings above make exact zeros, and not only zeros; the constant feature is not among them."""
    for K in (0, 2, 3):
        X, y, _ = data(K, 1, n=60)
        with interpreted():
            m = make(name, K, {**STRONG[name], **(SMALL_STEPS[name] if K == 0 else {})}).fit(X, y)
        some = np.count_nonzero(m.coef_)
        assert 0 < some < m.coef_.size, (name, K)
        assert np.all(m.intercept_ != 0.0), (name, K)


# ---- laziness does not show ------------------------------------------------------------------------------------------
KINDS = {
    **{name: (name, {}) for name in (*LAZY, "group_lasso")},
    **{f"fobos {r}": ("fobos", {"regularizer": r}) for r in ("l2", "l2sq", "elastic", "l1l2", "l1linf")},
    "fobos of groups": ("fobos", {"regularizer": "l1l2", "groups": list("aabcbbcd")}),
    "adagrad_fobos l2": ("adagrad_fobos", {"l2": 0.1}),
    "sparse group lasso": ("group_lasso", {"r": 0.5}),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("K", [2, 3])
def test_all_that_is_pending_may_act_at_any_time(kind, K, monkeypatch):
    """Settling after some rounds, and putting shrinkage in whenever it adds up to a little, change nothing but rounding."""
    name, given = KINDS[kind]
    X, y, _ = data(K, 3)
    with interpreted():
        plain = make(name, K, {**STRONG[name], **given}).partial_fit(X, y)
        settled = make(name, K, {**STRONG[name], **given})
        for a in range(0, len(y), 7):
            settled.partial_fit(X[a : a + 7], y[a : a + 7])
            before = settled.coef_
            settle(settled.model.state)
            np.testing.assert_allclose(settled.coef_, before, rtol=1e-13, atol=1e-15)
        monkeypatch.setattr(sparse, "LONG", 0.05)
        monkeypatch.setattr(groups, "LONG", 0.05)
        monkeypatch.setattr(groups, "PERIOD", 5)
        flushed = make(name, K, {**STRONG[name], **given}).partial_fit(X, y)
    for m in (settled, flushed):
        np.testing.assert_allclose(m.coef_, plain.coef_, rtol=1e-10, atol=1e-13)
        np.testing.assert_allclose(m.intercept_, plain.intercept_, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("name", [*LAZY, "group_lasso", "ofs", "pe_trunc"])
def test_rounds_that_do_not_count_change_nothing(name):
    """An empty row without constant feature, and a weight of 0: no gradient, no shrinkage, no round."""
    X, y, _ = data(2, 4)
    with interpreted():
        m = make(name, 2, {**STRONG.get(name, {}), "fit_intercept": False}).partial_fit(X, y)
        before = {k: a.copy() for k, a in m.model.arrays().items()}
        m.partial_fit(np.zeros((3, X.shape[1])), [1, -1, 1])
        m.partial_fit(X[:5], y[:5], sample_weight=np.zeros(5))
    assert all(np.array_equal(a, m.model.arrays()[k]) for k, a in before.items())


@pytest.mark.parametrize("name", [*LAZY, "group_lasso", "ofs", "pe_trunc"])
def test_a_third_class_keeps_what_was_learned(name):
    """Predictions stay, and zeros stay zeros."""
    X, y, _ = data(2, 5)
    with interpreted():
        m = nr.learner(name, **{**STRONG.get(name, {}), **({"B": 3} if name in ("ofs", "pe_trunc") else {})}).partial_fit(X, y)
        said, zero = m.predict(X), m.coef_[0] == 0.0
        f = m.decision_function(X)
        m.model.labels.extend([7])
        m.model.relabel()
        assert m.model.many
        clear = np.abs(f) > 1e-9
        assert np.array_equal(m.predict(X)[clear], said[clear])
        assert not m.coef_[:, zero].any()


def test_new_parameters_in_the_middle_of_a_stream():
    """What is pending was charged at the old price; sums of gradients get the new threshold at once."""
    X, y, _ = data(2, 6)
    for name in ("fobos", "adagrad_fobos"):
        with interpreted():
            m = make(name, 2, {"lambda_": 0.2, "fit_intercept": False}).partial_fit(X[:30], y[:30])
            before = m.coef_
            m.set_params(lambda_=0.0)
            np.testing.assert_allclose(m.coef_, before, atol=1e-15)
    with interpreted():
        m = make("rda", 2, {"lambda_": 0.2, "fit_intercept": False}).partial_fit(X[:30], y[:30])
        m.set_params(lambda_=0.0)
        G = m.model.state.w.w.G
        np.testing.assert_allclose(m.model.weights()[0], -G / np.sqrt(m.model.state.w.w.t[0]), rtol=1e-13)
        with pytest.raises(ValueError, match="another kind of state"):
            make("fobos", 2, {}).partial_fit(X, y).set_params(regularizer="l2")


def test_compiled():
    """The kinds that no default has, compiled: everything at once, with many classes, against the interpreter."""
    X, y, c = data(3, 20)
    X, classes = csr_matrix(X), [0, 1, 2]
    given = [
        nr.FOBOS(regularizer="elastic", lambda_=0.05, classes=classes),
        nr.FOBOS(regularizer="l1linf", loss="hinge", lambda_=0.05, groups=list("aabcbbcd"), classes=classes),
        nr.AdaGradFOBOS(lambda_=0.05, l2=0.1, classes=classes),
        nr.GroupLasso(lambda_=0.02, r=0.5, groups=list("aabcbbcd"), classes=classes),
        nr.OFS(B=3, partial=True, epsilon=0.5, seed=4, classes=classes),
    ]
    for m in given:
        with interpreted():
            plain = m.clone().partial_fit(X, y, sample_weight=c)
        m.partial_fit(X, y, sample_weight=c)
        np.testing.assert_allclose(m.coef_, plain.coef_, atol=1e-12, err_msg=repr(m))
        np.testing.assert_allclose(m.intercept_, plain.intercept_, atol=1e-12, err_msg=repr(m))
        assert np.count_nonzero(m.coef_)
    tasks = np.arange(len(y)) % 2
    m, plain = (nr.MultiTaskRegressor(variant="both", loss="square", lambda_=0.02, gamma=5.0) for _ in range(2))
    with interpreted():
        plain.partial_fit(X, y, tasks, c)
    np.testing.assert_allclose(m.partial_fit(X, y, tasks, c).coef_, plain.coef_, atol=1e-12)


def test_reports_count_the_weights_that_are_not_zero():
    X, y, _ = data(2, 21)
    with interpreted():
        for name in ("rda", "fobos", "ofs"):
            m = nr.learner(name, **STRONG.get(name, {"B": 3}))
            report = nr.evaluate(X, m, y)
            assert report.learners[0]["nonzeros"] == np.count_nonzero(m.coef_) + 1, name
            assert report.learners[0]["nonzeros"] < 9, name


# ---- invariants (section Q) ------------------------------------------------------------------------------------------
def learned(m, X, y):
    with interpreted():
        return m.partial_fit(X, y)


def test_fobos_is_truncated_gradient_without_end():
    X, y, _ = data(3, 7)
    a = learned(nr.FOBOS(lambda_=0.1, eta=0.2), X, y)
    b = learned(nr.TruncatedGradient(g=0.1, K=1, eta=0.2, rate="inv_sqrt"), X, y)
    np.testing.assert_allclose(a.coef_, b.coef_, atol=1e-14)


def test_ftrl_without_regulariser_is_adagrad():
    X, y, _ = data(3, 8)
    for loss in ("log", "hinge"):
        a = learned(nr.FTRL(loss=loss, alpha=0.3, beta=0.7, lambda1=0.0, classes=[0, 1, 2]), X, y)
        b = learned(nr.AdaGrad(loss=loss, eta=0.3, delta=0.7, classes=[0, 1, 2]), X, y)
        np.testing.assert_allclose(a.coef_, b.coef_, atol=1e-12)
        np.testing.assert_allclose(a.intercept_, b.intercept_, atol=1e-12)


def test_rda_sees_only_the_sum_of_subgradients():
    """Without regulariser it is plain dual averaging; hinge slopes at the first rounds do not depend on the weights."""
    X, y, _ = data(2, 9)
    m = learned(nr.RDA(loss="hinge", lambda_=0.0, gamma=1e6, fit_intercept=False, classes=[-1, 1]), X, y)
    G = -(y[:, None] * X).sum(0)  # steps so small that every margin stays below 1
    n = np.count_nonzero(X.any(1))
    np.testing.assert_allclose(m.coef_[0], -np.sqrt(n) / 1e6 * G / n, rtol=1e-12)


def test_groups_of_one_are_rda_and_r_of_nothing_is_the_group_lasso():
    X, y, _ = data(3, 10)
    given = {"lambda_": 0.02, "gamma": 2.0}
    alone = learned(nr.GroupLasso(groups=list(range(8)), **given), X, y)
    np.testing.assert_allclose(alone.coef_, learned(nr.RDA(**given), X, y).coef_, atol=1e-13)
    ours = {"groups": list("aabbccdd"), **given}
    tracked, summed = learned(nr.GroupLasso(**ours), X, y), learned(nr.GroupLasso(r=1e-300, **ours), X, y)
    np.testing.assert_allclose(tracked.coef_, summed.coef_, atol=1e-13)
    by_group = (tracked.coef_ != 0).reshape(3, 4, 2)
    assert (by_group.all(2) == by_group.any(2)).all()
    assert not by_group.all()
    assert by_group.any()


def test_fobos_lands_on_the_axis():
    """The illustration of the sheet: the minimiser (-1, 0) of a quadratic plus |w|_1 is reached with an exact zero."""
    A, c, w = np.array([[2, 0.5], [0.5, 1]]), np.array([2.5, 0.6]), np.array([0.7, 0.4])
    for _ in range(200):
        w = sparse.softened(w - 0.2 * (A @ w + c), 0.2 * 0.5)
    np.testing.assert_allclose(w, [-1, 0], atol=1e-12)
    assert w[1] == 0.0


# ---- feature selection -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(
    "given", [{"B": 3}, {"B": 2, "eta": 1.0, "lambda_": 0.25}, {"B": 30}, {"B": 3, "eta": 2.0, "lambda_": 0.5}]
)
def test_ofs(K, bias, given):
    X, y, c = data(K, 11, n=80)
    X = np.round(X, 1)  # ties
    with interpreted():
        m = make("ofs", K, {"fit_intercept": bias, **given})
        for i, (W, b) in enumerate(ofs(X, y, K, c, bias, **given)):
            m.partial_fit(csr_matrix(X[i : i + 1]) if i % 2 else X[i : i + 1], y[i : i + 1], sample_weight=c[i : i + 1])
            if not m.started:
                continue
            np.testing.assert_allclose(m.coef_.T, W, atol=1e-12)
            np.testing.assert_allclose(m.intercept_, bias * b, atol=1e-12)
            assert (np.count_nonzero(m.coef_, axis=1) <= given["B"]).all()
            assert m.state.w.w.sound({})  # no weight is listed twice, also when eta lambda = 1 makes all of them 0 first
            assert np.linalg.norm(m.coef_) <= 1 / np.sqrt(given.get("lambda_", 0.01)) + 1e-12


def test_the_largest_weights_are_chosen():
    rng = np.random.default_rng(0)
    for n, B in ((1, 1), (5, 2), (40, 7), (40, 39), (200, 1)):
        u = rng.integers(-6, 7, n) / 4.0
        w = selection.Few(u.copy(), np.zeros(n, np.int64), np.zeros(1, np.int64), float(B))
        order = rng.permutation(np.flatnonzero(u))
        w.idx[: len(order)], w.n[0] = order, len(order)
        selection.cut(w)
        assert np.array_equal(w.u, largest(u[:, None], B)[:, 0])
        assert w.sound({"feature": n})


def test_partial_input_trace(monkeypatch):
    """The sheet gives the subsets; here they are drawn so."""
    X, y = np.asarray(TRACES[0].on[0], float), [1, -1, 1, -1, 1]

    def drawn(seed, t, k):
        if k == 0:
            return 0.0 if t % 2 else 0.9
        return 0.0 if np.flatnonzero(X[t - 1])[k - 1] in PARTIAL[t - 1][0] else 1.0

    monkeypatch.setattr(selection, "uniform", drawn)
    with interpreted():
        m = nr.OFS(B=2, partial=True, epsilon=0.5, fit_intercept=False, classes=[-1, 1])
        for i, (_, score, w) in enumerate(PARTIAL):
            f = m.learn_many(X[i : i + 1], y[i : i + 1])
            np.testing.assert_allclose(f, score, atol=2e-6)
            np.testing.assert_allclose(m.coef_[0], w, atol=2e-6)


def test_partial_input_is_drawn_evenly_and_again():
    """Every feature is seen with probability B/d, B of a full row at once; and the same draws come in any split into calls."""
    part, d, B = selection.Partial(0.2, 10.0, 3.0), 7, 3.0
    w = selection.Few(np.ones(d), np.arange(d), np.array([d]), B)
    nearly = [np.where(np.arange(d) == j, 1.0, 1e-9) for j in range(d)]  # what is seen of this row tells whether j is
    with np.errstate(over="ignore"):
        seen = np.array(
            [[selection.seen_dot(w, part, t, np.uintp(0), np.uintp(1), float(d), x) for x in nearly] for t in range(700)]
        )
        drawn = np.array([selection.uniform(1.0, t, k) for t in range(200) for k in range(20)])
    assert ((seen > 0.5).sum(1) == B).all()
    assert abs((seen > 0.5).mean(0) - B / d).max() < 4 * np.sqrt(0.25 / 700)
    assert abs(drawn.mean() - 0.5) < 0.02
    assert drawn.min() >= 0.0
    assert drawn.max() < 1.0
    X, y, _ = data(3, 12)
    with interpreted():
        nr.checks.chunk(nr.OFS(B=3, partial=True, epsilon=0.5), X, y)
        nr.checks.resume(nr.OFS(B=3, partial=True, epsilon=0.5), X, y)
        a, b = (nr.OFS(B=3, partial=True, epsilon=0.5, seed=seed).partial_fit(X, y) for seed in (1, 2))
    assert not np.array_equal(a.coef_, b.coef_)
    assert np.count_nonzero(a.coef_) <= 9


# ---- groups ----------------------------------------------------------------------------------------------------------
def test_groups_by_column_by_name_and_by_prefix_are_the_same():
    X, y, _ = data(2, 13)
    names = ["a_1", "a_2", "b_1", "c_1", "b_2", "d", "c_2", "c_3"]
    given = {"lambda_": 0.03, "gamma": 2.0}
    labels = [name.split("_")[0] for name in names]
    with interpreted():
        plain = nr.GroupLasso(groups=labels, **given).partial_fit(X, y)
        rows = [{n: v for n, v in zip(names, x, strict=True) if v or i == 0} for i, x in enumerate(X)]
        others = [
            nr.GroupLasso(groups=np.array([0, 0, 1, 2, 1, 3, 2, 2]), **given).partial_fit(csr_matrix(X), y).coef_,
            nr.GroupLasso(groups=dict(enumerate(labels)), **given).partial_fit(X, y).coef_,
            nr.GroupLasso(groups=[[0, 1], [4, 2], [3, 6, 7]], **given).partial_fit(X, y).coef_,
            nr.GroupLasso(groups=[np.array([0, 1]), [2, 4], [7, 6, 3], [5]], **given).partial_fit(csr_matrix(X), y).coef_,
        ]
        by_name = [nr.GroupLasso(groups=g, **given) for g in (dict(zip(names, labels, strict=True)), "prefix:_")]
        for m in by_name:
            m.partial_fit(rows, y.tolist())
            others.append(m.coef_[:, [m.feature_names_.index(n) for n in names]])
    for coef in others:
        np.testing.assert_allclose(coef, plain.coef_, atol=1e-12)
    assert 0 < np.count_nonzero(plain.coef_) < 8


def test_groups_of_names_that_come_one_by_one(tmp_path):
    """Any split into calls, and a file in the middle, make the same rings; features without a group are on their own."""
    rng = np.random.default_rng(0)
    rows = [
        {f"{g}_{k}": rng.normal() for g in "abc" for k in range(rng.integers(0, i // 10 + 2))} | {"alone": 1.0} for i in range(60)
    ]
    y = [int(rng.integers(0, 2)) for _ in rows]
    with interpreted():
        whole = nr.GroupLasso(groups="prefix:_").partial_fit(rows, y)
        part = nr.GroupLasso(groups="prefix:_").partial_fit(rows[:20], y[:20])
        part.save(tmp_path / "m")
        again = nr.load(tmp_path / "m").partial_fit(rows[20:], y[20:])
    for k, a in whole.model.arrays().items():
        assert np.array_equal(a, again.model.arrays()[k]), k
    w, names = whole.model.state.w.w, whole.feature_names_
    homes = {n: int(j + 1 + w.home[j + 1]) for j, n in enumerate(names)}
    assert len({homes[n] for n in names if n.startswith("a_")}) == 1
    assert sum(h == homes["alone"] for h in homes.values()) == 1
    assert w.size[homes["a_0"]] == sum(n.startswith("a_") for n in names)
    assert w.sound(whole.model.dims)


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (nr.GroupLasso(groups=[0, 1]), "each of the 8 columns, got 2"),
        (nr.GroupLasso(groups=[[0, 1], [1, 2]]), "must not overlap, but feature 1"),
        (nr.GroupLasso(groups=[[0, 1], [2, 8]]), "feature 8, but the 8 columns are 0 to 7"),
        (nr.GroupLasso(groups=[[0, 1], 2]), "list of lists of columns"),
        (nr.GroupLasso(groups="prefix:_"), "features have none"),
        (nr.GroupLasso(groups="by name"), "prefix:_"),
        (nr.GroupLasso(groups={"a": 1}, hash_bits=5), "leave hash_bits out"),
        (nr.FOBOS(groups=[0] * 8), "regularizer='l1l2'"),
        (nr.FOBOS(regularizer=ElasticNet(1.0, 0.0)), "regularizer='l1'"),
        (nr.FOBOS(regularizer="l3"), "must be one of 'l1'"),
        (nr.TruncatedGradient(K=2.5), "K must be a whole number"),
        (nr.RDA(gamma=0.0), "one of them must be positive"),
        (nr.OFS(eta=20.0, lambda_=0.1), "turn over"),
        (nr.OFS(B=0), "B must be in"),
    ],
    ids=str,
)
def test_bad_parameters(learner, message):
    X, y, _ = data(2, 14)
    with pytest.raises(ValueError, match=message):
        learned(learner, X, y)


def test_groups_in_a_file_are_checked(tmp_path):
    """Compiled code follows the rings of groups and the lists of features: a file cannot lead it astray."""
    X, y, _ = data(2, 15)
    m = learned(nr.GroupLasso(groups=list("aabbccdd")), X, y)
    w = m.model.state.w.w
    for field, at, value in (("home", 3, 100), ("home", 1, -3), ("next", 0, 5), ("next", 2, -9)):
        was = getattr(w, field)[at]
        getattr(w, field)[at] = value
        m.save(tmp_path / "m")
        with pytest.raises(nr.ModelFileError, match="places within their arrays"):
            nr.load(tmp_path / "m")
        getattr(w, field)[at] = was
    m.save(tmp_path / "m")
    nr.load(tmp_path / "m")
    m = learned(nr.OFS(B=3), X, y)
    m.model.state.w.w.idx[0] = 10**6
    m.save(tmp_path / "m")
    with pytest.raises(nr.ModelFileError, match="places within their arrays"):
        nr.load(tmp_path / "m")


# ---- files, and what is left of a model ------------------------------------------------------------------------------
def test_files_take_the_space_of_what_is_not_new(tmp_path):
    """A wide model with few features seen: its file, and the one of its predictor; bit for bit what was saved."""
    d = 200_000
    rng = np.random.default_rng(0)
    at = np.sort(rng.choice(d, (50, 20)), 1)
    X = csr_matrix((rng.standard_normal(1000), at.ravel(), np.arange(0, 1001, 20)), shape=(50, d))
    y = rng.integers(0, 2, 50)
    for m in (nr.RDA(lambda_=0.02), nr.FTRL(lambda1=0.1), nr.FOBOS(), nr.AROW(), nr.GroupLasso(groups={5: 0, 9: 0}), nr.OFS(B=9)):
        learned(m, X, y)
        m.save(tmp_path / "m")
        assert (tmp_path / "m").stat().st_size < 60_000, m
        again = nr.load(tmp_path / "m")
        for k, a in m.model.arrays().items():
            assert a.tobytes() == again.model.arrays()[k].tobytes(), (m, k)
        m.compact().save(tmp_path / "s")
        assert (tmp_path / "s").stat().st_size < 2_000 + 16 * np.count_nonzero(m.coef_), m
        small = nr.load(tmp_path / "s")
        with interpreted():
            np.testing.assert_allclose(small.decision_function(X), m.decision_function(X), atol=1e-12)


def test_places_in_a_file_are_checked(tmp_path):
    from safetensors.numpy import load_file

    from noregret.files.model_file import read, store

    X, y = np.zeros((4, 2000)), [0, 1, 0, 1]
    X[:, [5, 7, 9]] = np.random.default_rng(0).standard_normal((4, 3))
    learned(nr.RDA(lambda_=0.0), X, y).save(tmp_path / "m")
    meta, tensors = read(tmp_path / "m")
    assert meta["format"] == 3
    assert tensors["at.w.w.G"].tolist() == [5, 7, 9]
    nr.load(tmp_path / "m")
    for places in ([5, 5, 9], [7, 5, 9], [5, 7, 2001], [5, 7], [[5, 7, 9]]):
        store(tmp_path / "bad", meta, {**tensors, "at.w.w.G": np.array(places, np.uint32)})
        with pytest.raises(nr.ModelFileError, match="expected (different places|places of)"):
            nr.load(tmp_path / "bad")
    store(tmp_path / "bad", meta, {**tensors, "at.w.w.G": np.array([5, 7, 9])})
    with pytest.raises(nr.ModelFileError, match="places of"):
        nr.load(tmp_path / "bad")
    wide = {**meta, "model": {**meta["model"], "dims": {**meta["model"]["dims"], "feature": 10**9}}}
    store(tmp_path / "bad", wide, tensors)
    with pytest.raises(nr.ModelFileError, match="room for 2001 features"):
        nr.load(tmp_path / "bad")
    whole = {k: v for k, v in tensors.items() if not k.startswith("at.")} | {"state.w.w.G": np.zeros((2001, 1))}
    store(tmp_path / "old", {**meta, "format": 1}, whole)  # as written before there were places
    assert not nr.load(tmp_path / "old").coef_.any()
    assert "at.w.w.G" in load_file(tmp_path / "m")


@pytest.mark.parametrize("K", [0, 2, 3])
@pytest.mark.parametrize("layout", ["dense", "csr", "dicts", "hashed", "frame"])
def test_compact(K, layout, tmp_path):
    """The predictor answers as the learner does, before and after a file, in every layout."""
    pd = pytest.importorskip("pandas")
    X, y, _ = data(K, 16)
    names = [f"x{j}" for j in range(8)]
    given = {"hash_bits": 6} if layout == "hashed" else {}
    rows = [{n: v for n, v in zip(names, x, strict=True) if v} for x in X]
    Z = {"dense": X, "csr": csr_matrix(X), "frame": pd.DataFrame(X, columns=names)}.get(layout, rows)
    one = X[3] if layout in ("dense", "csr") else rows[3]
    labels = y if K == 0 else [f"class {v}" for v in y.tolist()]
    with interpreted():
        m = nr.learner("rda" if K else "rda_regressor", lambda_=0.05, gamma=2.0, **given).partial_fit(Z, labels)
        small = m.compact()
        small.save(tmp_path / "s")
        for s in (small, nr.load(tmp_path / "s")):
            assert np.array_equal(s.predict(Z), m.predict(Z)) if K else np.allclose(s.predict(Z), m.predict(Z), atol=1e-13)
            assert s.predict_one(one) == (m.predict_one(one) if K else pytest.approx(m.predict_one(one)))
            np.testing.assert_allclose(s.intercept_, np.atleast_1d(m.intercept_), atol=1e-14)
            if K:
                np.testing.assert_allclose(s.decision_function(Z), m.decision_function(Z), atol=1e-13)
                assert np.array_equal(s.classes_, m.classes_)
            kept = np.atleast_2d(m.coef_).any(0)
            np.testing.assert_allclose(s.coef_, np.atleast_2d(m.coef_)[:, kept], atol=1e-14)
            assert len(s.features_) == kept.sum() < 8
            if layout == "dicts":
                assert s.features_ == [n for n, k in zip(m.feature_names_, kept, strict=True) if k]
                assert s.predict_one({"never seen": 1.0}) == (m.predict_one({}) if K else pytest.approx(m.intercept_))


def test_sparse_coefficients(tmp_path):
    """As in scikit-learn: `coef_` is sparse until it is made dense, also behind a file; nothing else changes."""
    for K in (0, 2, 3):
        X, y, _ = data(K, 19)
        m = learned(make("rda", K, {"lambda_": 0.05}), X, y)
        dense = m.coef_
        m.sparsify().save(tmp_path / "m")
        for found in (m.coef_, nr.load(tmp_path / "m").coef_):
            assert found.format == "csr"
            assert np.array_equal(found.toarray(), np.atleast_2d(dense))
        assert np.array_equal(m.densify().coef_, dense)
    with pytest.raises(ValueError, match="learned nothing"):
        nr.RDA().sparsify()


def test_compact_only_predicts(tmp_path):
    from noregret.files.model_file import read, store

    X, y, _ = data(2, 17)
    m = learned(nr.RDA(), X, y)
    for verb in ("fit", "partial_fit", "learn_one", "learn_many"):
        with pytest.raises(TypeError, match="only predicts"):
            getattr(m.compact(), verb)(X, y)
    with pytest.raises(ValueError, match="expecting 8 features"):
        m.compact().predict(X[:, :3])
    with pytest.raises(TypeError, match="save it whole"):
        learned(nr.NAG(), X, y).compact()
    with pytest.raises(ValueError, match="learned nothing"):
        nr.RDA().compact()
    m.compact().save(tmp_path / "s")
    meta, tensors = read(tmp_path / "s")
    for wrong in ({"at": tensors["at"][::-1].copy()}, {"at": tensors["at"] + 100}, {"W": tensors["W"][1:]}, {"b": np.zeros(3)}):
        store(tmp_path / "bad", meta, {**tensors, **wrong})
        with pytest.raises(nr.ModelFileError):
            nr.load(tmp_path / "bad")


def test_a_forged_predictor_is_refused(tmp_path):
    from noregret.files.model_file import read, store

    X, y, _ = data(3, 17)
    learned(nr.RDA(), X, y).compact().save(tmp_path / "s")
    meta, tensors = read(tmp_path / "s")
    least = np.concatenate([tensors["at"][:-1], [-(2**63)]])
    for wrong in (
        {"W": np.full_like(tensors["W"], np.nan)},
        {"b": np.full_like(tensors["b"], np.inf)},
        {"at": least},
        {"at": np.sort(least)},
        {"tally": np.zeros_like(tensors["tally"])},
    ):
        store(tmp_path / "bad", meta, {**tensors, **wrong})
        with pytest.raises(nr.ModelFileError):
            nr.load(tmp_path / "bad")


# ---- several tasks ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("variant", MULTITASK)
def test_multitask_trace(variant):
    with interpreted():
        m = nr.MultiTaskRegressor(variant=variant, lambda_=0.1, gamma=2, r=0.5, fit_intercept=False)
        for (task, x, y), said in zip(TASKS, MULTITASK[variant].rounds(), strict=True):
            f = m.learn_many(np.array([x], float), [y], tasks=[task])
            np.testing.assert_allclose(f, said["score"], atol=2e-6)
            W = np.zeros((3, 2))
            W[:, : len(m.tasks_)] = m.coef_.T
            np.testing.assert_allclose(W.ravel(), said["W"], atol=2e-6)


def multitask(variant, X, y, task, c, loss, bias, lambda_, gamma, r):
    """Scores and weights, by the sheet: everything dense, every round."""
    G, g, W, b, out, t = np.zeros((X.shape[1], 3)), np.zeros(3), np.zeros((X.shape[1], 3)), np.zeros(3), [], 0
    for x, q, target, omega in zip(X, task, y, c, strict=True):
        f = x @ W[:, q] + bias * b[q]
        out.append(f)
        if omega == 0 or not (bias or x.any()):
            continue
        a, t = omega * slope(loss, f, target), t + 1
        G[:, q] += a * x
        g[q] += bias * a
        if variant == "individual":
            W = -np.sqrt(t) / gamma * soft(G / t, lambda_)
        else:
            U = soft(G / t, lambda_ * r) if variant == "both" else G / t
            W = -np.sqrt(t) / gamma * np.array([shortened(row, lambda_) for row in U])
        b = -np.sqrt(t) / gamma * g / t
    return np.array(out), W, b


@pytest.mark.parametrize("variant", MULTITASK)
@pytest.mark.parametrize("loss", ["log", "hinge", "square", "absolute"])
@pytest.mark.parametrize("bias", [False, True])
def test_multitask_transcription(variant, loss, bias, monkeypatch):
    """Scores and weights, in any layout and split; tasks appear on the way."""
    monkeypatch.setattr("noregret.families.multitask.PERIOD", 7)
    X, y, c = data(2 if loss in ("log", "hinge") else 0, 18)
    c = c if bias else np.ones(len(y))
    task = np.minimum(np.random.default_rng(0).integers(0, 3, len(y)), np.arange(len(y)) // 8)
    given = {"lambda_": 0.06, "gamma": 3.0, "r": 0.5}
    f, W, b = multitask(variant, X, y, task, c, loss, bias, **given)
    names = np.array(["first", "second", "third"])[task]
    with interpreted():
        kind = nr.MultiTask if loss in ("log", "hinge") else nr.MultiTaskRegressor
        m = kind(variant=variant, loss=loss, fit_intercept=bias, **given)
        parts = [
            m.learn_many(csr_matrix(X[a:b]) if a % 2 else X[a:b], y[a:b], names[a:b], c[a:b])
            for a, b in ((0, 1), (1, 16), (16, 40))
        ]
        order = [m.tasks_.index(t) for t in ("first", "second", "third")]
        again = (m.decision_function if kind is nr.MultiTask else m.predict)(X, names)
    np.testing.assert_allclose(np.concatenate(parts)[1:], f[1:], atol=1e-10)  # before the second label the sign is not known
    np.testing.assert_allclose(m.coef_[order].T, W, atol=1e-12)
    np.testing.assert_allclose(m.intercept_[order], b, atol=1e-12)
    np.testing.assert_allclose(again, (X @ W + bias * b)[np.arange(len(y)), task], atol=1e-12)
    assert 0 < np.count_nonzero(W) < W.size


def test_multitask_faces():
    rng = np.random.default_rng(1)
    rows = [{f"x{j}": rng.normal() for j in rng.choice(6, 3, replace=False)} for _ in range(60)]
    tasks = rng.choice(["a", "b"], 60).tolist()
    y = ["yes" if sum(x.values()) > 0 else "no" for x in rows]
    with interpreted():
        m = nr.MultiTask(loss="log")
        assert m.learn_one(rows[0], y[0], task=tasks[0]) is None
        for x, label, t in zip(rows[1:], y[1:], tasks[1:], strict=True):
            m.learn_one(x, label, task=t)
        whole = nr.MultiTask(loss="log").partial_fit(rows, y, tasks)
        np.testing.assert_allclose(m.coef_, whole.coef_, atol=1e-12)
        assert (m.predict(rows, tasks) == np.array(y)).mean() > 0.8
        assert m.predict_one(rows[3], task=tasks[3]) == m.predict(rows[3:4], tasks[3:4])[0]
        assert m.classes_.tolist() == ["no", "yes"]
        before = m.coef_
        for wrong, message in (
            (lambda: m.predict(rows, "c"), "task 'c' has never been learned"),
            (lambda: m.partial_fit(rows, y, tasks[:5]), "one for each of the 60 rows; got 5"),
            (lambda: m.partial_fit(rows, y, None), "got none"),
            (lambda: m.partial_fit(rows[:1], ["maybe"], "a"), "two labels"),
            (lambda: m.partial_fit([{"x0": np.nan}], ["yes"], "a"), "finite"),
            (lambda: m.partial_fit(rows[:1], ["yes"], [None]), "task of row 0"),
        ):
            with pytest.raises(ValueError, match=message):
                wrong()
        assert np.array_equal(m.coef_, before)
        with pytest.raises(ValueError, match="variant must be one of 'individual'"):
            nr.MultiTask(variant="some").partial_fit(rows, y, tasks)
        with pytest.raises(ValueError, match="learned nothing"):
            m.reset().predict(rows, tasks)


# ---- studies and the command line ------------------------------------------------------------------------------------
RELEVANT = "synthetic:linear?n=800&d=20&relevant=3&noise=0.05&seed=2"


def command(*args):
    from click.testing import CliRunner

    from noregret.cli import main

    with nr.engine.compiling.interpreted():
        return CliRunner().invoke(main, list(args))


def test_a_grid_of_penalties_draws_error_against_size(tmp_path):
    from noregret.evaluation.report import summary

    page, plot = tmp_path / "r.html", tmp_path / "p.svg"
    done = command("sweep", RELEVANT, "-m", "rda", "--lambda-grid", "5", "--no-regret", "--html", str(page), "--plot", str(plot))
    assert done.exit_code == 0, done.output
    assert "nonzeros" in done.output
    assert "frontier-chart" in page.read_text()
    assert "Error and size of rda" in plot.read_text() or plot.stat().st_size > 5000
    with nr.engine.compiling.interpreted():
        found = nr.sweep(RELEVANT, "rda", lambda_=[1e-4, 1e-2, 0.05, 0.5], regret=False).learners
    points = summary.frontier(found)
    assert [n for n, _, _ in points] == sorted(n for n, _, _ in points)
    best = summary.best_of_frontier(points)
    for n, e, _ in best:
        assert not any((m <= n and f < e) or (m < n and f <= e) for m, f, _ in points)
    assert "learners with a penalty" in command("sweep", RELEVANT, "-m", "pa1", "--lambda-grid").output


def test_features_in_use_are_told():
    with nr.engine.compiling.interpreted():
        m = nr.RDA(lambda_=0.01)
        found = nr.evaluate(RELEVANT, m, features=3, regret=False).learners[0]["features"]
        assert found["count"] == np.count_nonzero(m.coef_) < 20
        assert found["of"] == 20
        sizes = np.abs(m.coef_).max(0)
        assert [row["feature"] for row in found["top"]] == [str(j) for j in np.argsort(-sizes)[:3]]
        assert [row["size"] for row in found["top"]] == sorted(sizes, reverse=True)[:3]
        assert all(1 <= row["since"] <= 800 for row in found["top"])
        orders = nr.compare(RELEVANT, ["rda:lambda_=0.01"], features=3, permutations=3).learners[0]["features"]
    assert 0.0 < orders["stability"] <= 1.0
    assert all(row["orders"] == 1.0 for row in orders["top"])


def test_stability_of_choices():
    from noregret.evaluation.measures.features_in_use import stability

    assert stability([{1, 2}, {1, 2}]) == 1.0
    assert stability([{1}, {2}]) == 0.0
    assert stability([{1, 2}, {2, 3}, {1, 2}]) == pytest.approx((1 / 3 + 1 + 1 / 3) / 3)
    assert stability([set(), set()]) == 1.0


def test_groups_on_the_command_line(tmp_path):
    table = tmp_path / "t.csv"
    rng = np.random.default_rng(0)
    lines = ["a_x,a_y,b_x,b_y,label"]
    for _ in range(60):
        x = rng.standard_normal(4).round(3)
        lines.append(",".join(map(str, [*x, int(x[0] > 0)])))
    table.write_text("\n".join(lines))
    groups = tmp_path / "groups.txt"
    groups.write_text("a_x first\na_y first\nb_x,second\nb_y second\n")
    said = [
        command("evaluate", str(table), "--target", "label", "-m", "group_lasso", "--lambda", "0.05", "--groups", g, "--json")
        for g in ("prefix:_", str(groups))
    ]
    found = [json.loads(done.output) for done in said]
    assert found[0]["mistakes"] == found[1]["mistakes"]
    assert found[1]["params"]["groups"] == {"a_x": "first", "a_y": "first", "b_x": "second", "b_y": "second"}
    groups.write_text("a_x first more\n")
    done = command("evaluate", str(table), "--target", "label", "-m", "group_lasso", "--groups", str(groups))
    assert done.exit_code == 2
    assert "line 1: expected a feature and its group" in done.output
