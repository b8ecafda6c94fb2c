"""Costs of the second-order learners: transcriptions, values by hand, what equal costs come to, dear mistakes becoming rare."""

import json
import math
import warnings
from statistics import NormalDist

import numpy as np
import pytest
import reference_second_order as reference
from click.testing import CliRunner
from scipy.sparse import csr_matrix
from test_algorithms import data
from test_confidence import NAMES as SECOND_ORDER
from test_confidence import kullback, matrices

import noregret as nr
from noregret.algorithm.rounds import price, rival
from noregret.cli import main
from noregret.engine.compiling import reach
from noregret.spaces.examples import Every, required

NAMES = [n for n in SECOND_ORDER if nr.learner(n).takes_cost]
CONFIDENT = ["cw", "cw_var", "scw1", "scw2"]
REST = ["sop", "narow", "iellip"]
KINDS = [(n, c) for n in NAMES for c in ("diag", "full") if (n, c) != ("iellip", "diag")]
COSTS = {
    2: np.array([[0.0, 5.0], [0.3, 0.0]]),
    4: np.array([[0.0, 9.0, 1.0, 0.2], [1.0, 0.0, 4.0, 1.0], [0.0, 2.0, 0.0, 0.5], [3.0, 1.0, 1.0, 0.0]]),
}
interpreted = nr.engine.compiling.interpreted


def make(name, K, **params):
    return nr.learner(name, **{"fit_intercept": False, "classes": list(range(K)), **params})


def rows(K, seed, n=60, d=4):
    X, y, c = data("arow", K, seed, n, d)
    return X, np.maximum(y, 0), c


def test_costs_are_declared_where_the_code_asks_for_them():
    """A step that asks for `required`, or a share that asks for `price`, is one that `cost=` can change."""
    for name in nr.algorithms("classification"):
        m = nr.learner(name)
        a, parts = m.algorithm, m.parameters.resolve(m.get_params(), 1) if m.State is not None else ()
        wanted, text = (required, a.step) if a.share is None else (price, a.share)
        asks = text is not None and wanted in reach([text], map(type, parts))[0]
        assert a.takes_cost == asks == ("cost" in m.defaults), name


# ---- transcriptions --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("mode", ["max_loss", "prediction"])
@pytest.mark.parametrize("K", [2, 4])
@pytest.mark.parametrize(("name", "covariance"), KINDS)
def test_transcription(name, covariance, K, mode):
    with interpreted():
        compare(name, K, covariance=covariance, mode=mode)


@pytest.mark.parametrize("name", NAMES)
def test_transcription_weighted(name):
    """With other parameters, and the margin the cost itself (SOP asks for none, and pays the cost)."""
    params = {"arow": {"r": 0.3}, "nherd": {"C": 0.4}, "narow": {"b": 3.0}, "iellip": {"b": 0.9}, "sop": {"a": 0.5}}
    with interpreted():
        compare(name, 4, True, **params.get(name, {"eta": 0.8}), **({} if name == "sop" else {"margin": "cost"}))


@pytest.mark.parametrize(("name", "covariance"), [("scw1", "diag"), ("sop", "diag"), ("cw_var", "full")])
def test_transcription_compiled(name, covariance):
    compare(name, 4, covariance=covariance)


def compare(name, K, weighted=False, **params):
    X, y, c = rows(K, seed=len(str(params)) + K)
    c = c if weighted else None
    ref = reference.learn(name, X, y, weights=c, K=K, cost=COSTS[K], **params)
    m = make(name, K, cost=COSTS[K], **params)
    f = m.learn_many(X, y, sample_weight=c)
    counted = np.ones(len(y), bool) if c is None else c > 0.0
    scores, W = (ref.scores, ref.W) if K > 2 else (ref.scores[:, 1] - ref.scores[:, 0], ref.W[1:] - ref.W[:1])
    np.testing.assert_allclose(f[counted], scores[counted], rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(m.coef_, W, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(matrices(m), ref.Sigma, rtol=1e-7, atol=1e-8)
    assert m.n_updates_ == ref.updated[counted].sum() > 0


# ---- by hand: x = (1, 0) of class 0, twice; taking 0 for 1 costs 4, and phi = 1 -------------------------------------------
PHI1 = NormalDist().cdf(1.0)
BY_HAND = {  # the weight of class 0 and its variance after one round, worked out from m = 0 and v = 2 (1 against the rest)
    "arow": ({}, 2 / 3, 1 / 2),
    "nherd": ({}, 2 / 3, 1 / 5),
    "cw": ({"eta": PHI1}, 1.5 / math.sqrt(2), 2 / 5),
    "cw_var": ({"eta": PHI1}, (math.sqrt(41) + 3) / 8, 4 / (7 + math.sqrt(41))),
    "scw1": ({"eta": PHI1, "C": 0.5}, 1 / 2, 2 / 3),
    "scw2": ({"eta": PHI1, "C": 0.25}, 5 * math.sqrt(2) / 12, 8 / 13),
    "sop": ({}, 4 / 5, 1 / 5),
    "narow": ({"b": 1.0}, 1.0, 1.0),
    "iellip": ({"c": 0.1}, 2.0, 1.0),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_by_hand(name):
    params, weight, variance = BY_HAND[name]
    with interpreted():
        m = make(name, 2, cost={(0, 1): 4.0}, **params).partial_fit([[1.0, 0.0]], [0])
        np.testing.assert_allclose(m.coef_, [[-2 * weight, 0.0]], atol=1e-14)
        np.testing.assert_allclose(matrices(m)[:, 0, 0], variance, rtol=1e-14)
        np.testing.assert_allclose(matrices(m)[:, 1, 1], 1 / 0.9 if name == "iellip" else 1.0)


def test_narow_learns_up_to_the_margin():
    """The square root of 4: one round more than without costs."""
    with interpreted():
        found = [make("narow", 2, cost=cost).partial_fit(np.eye(2)[[0] * 5], [0] * 5) for cost in (None, {(0, 1): 4.0})]
    assert [m.n_updates_ for m in found] == [1, 2]


# ---- what costs come to ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("name", "covariance"), KINDS)
def test_equal_costs_of_1_change_nothing(name, covariance):
    X, y, c = rows(4, 1, n=100)
    with interpreted():
        a, b = (make(name, 4, covariance=covariance, cost=cost) for cost in (None, 1 - np.eye(4)))
        assert np.array_equal(a.learn_many(X, y, sample_weight=c), b.learn_many(X, y, sample_weight=c))
    for k, v in a.model.arrays().items():
        assert np.array_equal(v, b.model.arrays()[k])
    assert a.n_updates_ == b.n_updates_


@pytest.mark.parametrize("name", REST)
def test_equal_costs_of_1_predict_the_same_with_two_classes(name):
    """Two rows, each a learner against the rest, are twice the one."""
    X, y, _ = rows(2, 2, n=100)
    with interpreted():
        a, b = (make(name, 2, cost=cost) for cost in (None, {}))
        np.testing.assert_allclose(b.learn_many(X, y), 2.0 * a.learn_many(X, y), rtol=1e-12)
    assert a.n_updates_ == b.n_updates_


OBJECTIVES = {  # of the missing margin
    "scw1": lambda short: 0.3 * max(0.0, short),
    "scw2": lambda short: 0.3 * max(0.0, short) ** 2,
    "cw": lambda short: 1e6 * max(0.0, short),  # as good as a constraint
    "cw_var": lambda short: 1e6 * max(0.0, short),
}


@pytest.mark.parametrize("need", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("name", CONFIDENT)
def test_steps_are_the_minimum_of_what_they_minimise(name, need):
    """Relative entropy plus the loss of phi deviations and (need - 1) phi more of those from before, at the step and near it."""
    rng, phi, tried = np.random.default_rng(0), NormalDist().inv_cdf(0.75), 0
    deviation = (lambda v: v) if name == "cw_var" else math.sqrt
    params = {"eta": 0.75, **({"C": 0.3} if name.startswith("scw") else {})}
    for _ in range(20):
        mu0, z, root = rng.standard_normal(3), rng.standard_normal(3), rng.standard_normal((3, 3))
        S0 = root @ root.T + 0.1 * np.eye(3)
        v0 = z @ S0 @ z
        found = reference.STEPS[name](mu0 @ z, v0, 1.0, need, **params)
        if found is None:
            assert mu0 @ z >= need * phi * deviation(v0)
            continue
        alpha, _, beta = found
        mu, S = mu0 + alpha * S0 @ z, S0 - beta * np.outer(S0 @ z, S0 @ z)

        def objective(mu, S, mu0=mu0, S0=S0, z=z, v0=v0):
            asked = phi * deviation(z @ S @ z) + (need - 1) * phi * deviation(v0)
            return kullback(mu, S, mu0, S0) + OBJECTIVES[name](asked - mu @ z)

        best, L = objective(mu, S), np.linalg.cholesky(S)
        for size in (1e-1, 1e-2, 1e-3):
            near = L + size * rng.standard_normal(L.shape) * np.sqrt(np.diag(S))
            assert objective(mu + size * L @ rng.standard_normal(3), near @ near.T) > best - 1e-7
            assert objective(mu + size * S @ z, S) > best
            assert objective(mu - size * S @ z, S) > best
            tried += 1
    assert tried > 15


def test_equal_costs_against_the_rest():
    """IELLIP: weights times sqrt(rho); SOP with a matrix: the same as with a/rho, but for the x that a score includes."""
    X, y, _ = rows(4, 4, n=100)
    cost = 4.0 * (1 - np.eye(4))
    with interpreted():
        a, b = (make("iellip", 4, cost=c).partial_fit(X, y) for c in (None, cost))
        np.testing.assert_allclose(b.coef_, 2.0 * a.coef_, rtol=1e-9)
        a = make("sop", 4, covariance="full", a=0.5).partial_fit(X, y)
        b = make("sop", 4, covariance="full", a=2.0, cost=cost).partial_fit(X, y)
        np.testing.assert_allclose(b.coef_, a.coef_, rtol=1e-9)
        np.testing.assert_allclose(b.covariance_, a.covariance_ / 4.0, rtol=1e-9)


@pytest.mark.parametrize("name", ["cw", "scw1"])
def test_rivals_by_cost_have_no_scale(name):
    """(mu, Sigma, a) -> (s mu, s^2 Sigma, s^2 a), with C/s, changes no answer: sqrt(cost) is added to no score."""
    X, y, _ = rows(4, 5, n=100)
    with interpreted():
        a, b = (make(name, 4, a=v, cost=COSTS[4], **({"C": C} if name == "scw1" else {})) for v, C in ((1.0, 0.4), (256.0, 0.025)))
        f, g = a.learn_many(X, y), b.learn_many(X, y)
    np.testing.assert_allclose(g, 16.0 * f, rtol=1e-9)


@pytest.mark.parametrize("mode", ["max_loss", "prediction"])
@pytest.mark.parametrize("name", CONFIDENT + REST)
def test_what_costs_nothing_teaches_nothing(name, mode):
    X, y, _ = rows(4, 6)
    cost = COSTS[4].copy()
    cost[2] = 0.0
    with interpreted():
        m = make(name, 4, cost=cost, mode=mode).partial_fit(X, y)
        before, updates = {k: a.copy() for k, a in m.model.arrays().items()}, m.n_updates_
        m.partial_fit(X, np.full(len(X), 2))
    assert m.n_updates_ == updates
    for k, a in before.items():
        assert np.array_equal(a, m.model.arrays()[k]), k


@pytest.mark.parametrize(("costs", "wanted"), [((1, 1), 1), ((1, 2), 2), ((1, 1.1), 1), ((0, 1), 2), ((9, 1), 1), ((0, 0), 0)])
@pytest.mark.parametrize("name", CONFIDENT)
def test_the_rival_lacks_most_of_its_margin(name, costs, wanted):
    """Scores 0, -0.1, -0.5 of variance 1, so v = 2: class 2 goes first where its confusion asks for 0.4 more; costs of 0 never."""
    with interpreted():
        m = make(name, 3, eta=0.8, cost={(0, 1): costs[0] ** 2, (0, 2): costs[1] ** 2}).partial_fit([[0.0, 1.0]], [0]).model
        at = Every(np.array([1.0, 0.0]), np.uintp(3))
        assert rival(m.cost, m.state, m.params, np.array([0.0, -0.1, -0.5]), 0, at) == wanted


# ---- dear mistakes are rarer -----------------------------------------------------------------------------------------
def noisy(K, seed, n=400, d=4):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, K, n)
    return (rng.standard_normal((K, d)) * 0.8)[y] + rng.standard_normal((n, d)), y


@pytest.mark.parametrize("K", [2, 4])
@pytest.mark.parametrize("name", NAMES)
def test_dear_mistakes_are_rarer(name, K):
    """Taking 0 for another class costs 25: over six noisy streams it happens less often, and all mistakes together cost less.

    CW and SCW in their exact form: a diagonal collapses on noise, with costs or without.
    """
    cost = 1 - np.eye(K)
    cost[0, 1:] = 25.0
    exact = {"covariance": "full"} if name in CONFIDENT else {}
    dear, total = np.zeros(2), np.zeros(2)
    with interpreted():
        for seed in range(6):
            X, y = noisy(K, seed)
            for i, given in enumerate((1 - np.eye(K), cost)):
                f = make(name, K, cost=given, fit_intercept=True, **exact).learn_many(X, y)
                said = f.argmax(1) if K > 2 else (f > 0).astype(int)
                dear[i] += ((y == 0) & (said != 0)).sum()
                total[i] += cost[y, said].sum()
    assert dear[1] < 0.85 * dear[0]
    assert total[1] < 0.85 * total[0]


# ---- the rest of the house -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["scw1", "cw_var", "sop", "narow", "iellip"])
def test_laws(name):
    """Rows of classes that appear late, in pieces, as dicts and sparse rows, saved, merged; bad input changes nothing."""
    m = nr.learner(name, cost={(0, 1): 4.0, (2, 0): 9.0, (1, 2): 0.0})
    X, y = nr.checks.stream(m, n=60, d=5, K=3)
    with interpreted(), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # the interpreter warns where C arithmetic does not
        for law in ("chunk", "resume", "purity", "order", "merge", "bad_input", "layout"):
            nr.checks.LAWS[law](m, X, y)


def test_compiled_is_interpreted():
    """Against the rest, weighted, by prediction, on sparse rows; the transcriptions above compile the others."""
    X, y, c = rows(4, 7)
    found = make("narow", 4, cost=COSTS[4], mode="prediction").learn_many(csr_matrix(X), y, sample_weight=c)
    with interpreted():
        wanted = make("narow", 4, cost=COSTS[4], mode="prediction").learn_many(csr_matrix(X), y, sample_weight=c)
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", NAMES)
def test_bad_costs_are_refused(name):
    X, y, _ = rows(4, 8)
    with interpreted():
        for bad, said in (
            (
                {"cost": np.ones((3, 3)) - np.eye(3)},
                r"a cost matrix is square, with a row per declared class.* 4 of them, got \(3, 3\)",
            ),
            ({"cost": -COSTS[4]}, "finite and not negative"),
            ({"cost": COSTS[4] + np.eye(4)}, "0 for the right answer"),
            ({"cost": {(0, 1): math.nan}}, "the cost of predicting 1 for 0"),
            ({"cost": {(1, 1): 2.0}}, "the cost of predicting 1 for 1"),
            ({"cost": "0:1=2"}, r"cost must be a square matrix or a mapping \{\(true, predicted\): cost\}, got '0:1=2'"),
            ({"cost": COSTS[4], "mode": "worst"}, "mode must be one of 'max_loss', 'prediction', got 'worst'"),
        ):
            with pytest.raises(ValueError, match=said):
                make(name, 4, **bad).partial_fit(X, y)
        m = make(name, 4, cost=COSTS[4]).partial_fit(X, y)
        before = {k: a.copy() for k, a in m.model.arrays().items()}
        with pytest.raises(ValueError, match="not negative"):
            m.set_params(cost=-COSTS[4])
        assert np.array_equal(m.cost, COSTS[4])
        assert all(np.array_equal(a, m.model.arrays()[k]) for k, a in before.items())
        f = m.decision_function(X)
        m.set_params(cost=4.0 * COSTS[4], mode="prediction").partial_fit(X, y)
        assert not np.array_equal(f, m.decision_function(X))


def test_sop_asks_for_no_margin():
    with pytest.raises(TypeError, match="SOP has no parameter 'margin'"):
        nr.SOP(cost={(0, 1): 2.0}, margin="cost")
    for name in {*NAMES} - {"sop"}:
        assert {"cost", "mode", "margin"} <= {*nr.learner(name).get_params()}
    for name in ("perceptron", "mira", "ogd"):
        with pytest.raises(TypeError, match="has no parameter 'cost'"):
            nr.learner(name, cost={})


def test_at_the_command_line(tmp_path):
    X, y = noisy(2, 9, n=120)
    rows = "".join(
        f"{label} " + " ".join(f"{j + 1}:{v!r}" for j, v in enumerate(x)) + "\n" for x, label in zip(X.tolist(), y, strict=True)
    )
    (tmp_path / "rows.svm").write_text(rows)
    with interpreted():
        for name in NAMES:
            said = CliRunner().invoke(
                main,
                [
                    "evaluate",
                    str(tmp_path / "rows.svm"),
                    "--model",
                    name,
                    "--cost",
                    "0:1=16",
                    "--classes",
                    "0,1",
                    "--json",
                    "--no-regret",
                ],
            )
            assert said.exit_code == 0, said.output
            assert json.loads(said.stdout)["params"]["cost"]
