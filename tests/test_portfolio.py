"""Portfolios: printed runs, transcriptions in NumPy, the laws, costs against a ledger, bounds, and input that is refused."""

import copy
import itertools
import math
import os
import pathlib
import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import reference_portfolio as reference
from traces_portfolio import THREE, TRACES

import noregret as nr
from noregret.engine.compiling import interpreted
from noregret.owners import owner
from noregret.portfolio.reversion import Deviation, Variance, multiplier
from noregret.portfolio.strategy import Strategy

P = nr.portfolio
rng = np.random.default_rng(7)
MARKET = np.exp(0.02 * rng.standard_normal((90, 4)))
MARKET[20:26, 1] = 1.0  # days without a price
MARKET[40] = 1.0
SMALL = {"universal": {"samples": 50}, "anticor": {"W": 6}, "mixture": {"strategies": ["eg", "olmar", "anticor"]}}
NAMES = [name.removeprefix("portfolio.") for name in nr.algorithms("portfolio")]
CASES = [
    ("market", {}),
    ("crp", {}),
    ("eg", {}),
    ("eg", {"eta": 3.0}),
    ("pamr", {}),
    ("pamr", {"variant": "pamr1", "C": 2.0, "epsilon": 0.99}),
    ("pamr", {"variant": "pamr2", "C": 2.0, "epsilon": 0.99}),
    ("cwmr", {}),
    ("cwmr", {"variant": "var"}),
    ("cwmr", {"phi": 0.2, "epsilon": 1.0}),
    ("cwmr", {"variant": "var", "phi": 0.2, "epsilon": 1.0}),
    ("olmar", {}),
    ("olmar", {"W": 2, "epsilon": 1.002}),
    ("olmar", {"W": 1}),
    ("olmar", {"alpha": 0.3, "epsilon": 1.002}),
    ("ons", {}),
    ("ons", {"eta": 0.1, "beta": 0.2, "delta": 4.0}),
    ("anticor", {"w": 2}),
    ("anticor", {"W": 7}),
]


def strategy(name, **given):
    """A strategy of small size."""
    return nr.learner(f"portfolio.{name}", **{**SMALL.get(name, {}), **given})


def every_weight(m, X):
    """The weights of all days, and of the day to come."""
    return np.vstack([m.learn_many(X), m.weights_])


# ---- printed and transcribed -----------------------------------------------------------------------------------------
@pytest.mark.parametrize(("name", "given", "market", "printed"), TRACES, ids=[f"{n}-{g}" for n, g, _, _ in TRACES])
def test_traces(name, given, market, printed):
    m, wealth = nr.learner(f"portfolio.{name}", **given), 1.0
    *days, last = [[float(v) for v in re.findall(r"-?\d[\d.e+-]*", line.split(":")[1])] for line in printed.strip().splitlines()]
    for x, (*b, growth, after) in zip(market, days, strict=True):
        held = m.learn_one(x)
        np.testing.assert_allclose(held, b, atol=2e-6)
        assert m.wealth_ / wealth == pytest.approx(growth, abs=2e-6)
        assert m.wealth_ == pytest.approx(after, abs=2e-6)
        wealth = m.wealth_
    np.testing.assert_allclose(m.weights_, last, atol=2e-6)


@pytest.mark.parametrize(("name", "given"), CASES, ids=[f"{n}-{g}" for n, g in CASES])
def test_transcriptions(name, given):
    B = getattr(reference, name)(MARKET, **given)
    found = every_weight(nr.learner(f"portfolio.{name}", **given), MARKET)
    np.testing.assert_allclose(found, B, atol=1e-8)


def test_projections_of_ons_are_optimal():
    """Slopes are equal among the assets held, and not less elsewhere; the factor is that of the assets held."""
    X = np.exp(0.03 * np.random.default_rng(5).standard_normal((200, 20)))
    m, sizes = P.ONS(), set()
    for x in X:
        m.learn_one(x)
        s = m.state.own
        held, n = s.order[: s.size[0]] - 1, int(s.size[0])
        slopes = s.A @ s.q - 0.25 * s.total
        level = slopes[held].mean()
        np.testing.assert_allclose(slopes[held], level, atol=1e-9)
        assert (slopes >= level - 1e-8).all()
        assert not np.delete(s.q, held).any()
        R = np.triu(s.R[:n, :n])
        np.testing.assert_allclose(R.T @ R, s.A[np.ix_(held, held)], rtol=1e-10)
        sizes.add(n)
    assert len(sizes) > 4  # assets came and went


def test_running_sums_of_anticor_are_computed_anew():
    X = np.exp(0.02 * np.random.default_rng(3).standard_normal((1100, 3)))
    np.testing.assert_allclose(every_weight(P.Anticor(w=4), X), reference.anticor(X, w=4), atol=1e-8)


def test_universal_portfolio_of_two_assets_is_the_integral():
    X = MARKET[:, :2]
    np.testing.assert_allclose(every_weight(P.UniversalPortfolio(grid=10_000), X), reference.universal_of_two(X), atol=1e-5)
    for prior in ("uniform", "dirichlet"):
        drawn = every_weight(P.UniversalPortfolio(prior=prior, samples=200_000), X)
        np.testing.assert_allclose(drawn, reference.universal_of_two(X, prior), atol=4e-3)


@pytest.mark.parametrize(("given", "K"), [({"grid": 7}, 2), ({"grid": 7}, 3), ({"samples": 300}, 4)])
def test_universal_wealth_is_the_mean_of_the_wealths(given, K):
    m = P.UniversalPortfolio(**given)
    W = every_weight(m, MARKET[:, :K])
    portfolios = m.state.own.C.T
    np.testing.assert_allclose(portfolios.sum(1), 1.0, atol=1e-14)
    assert m.wealth_ == pytest.approx(np.prod(MARKET[:, :K] @ portfolios.T, axis=0).mean(), rel=1e-12)
    np.testing.assert_allclose(W, reference.universal(MARKET[:, :K], portfolios), atol=1e-12)


def test_multipliers_of_cwmr_by_bisection():
    """The largest root: beyond it the polynomial has one sign, that of its leading coefficient."""
    for seed in range(300):
        g = np.random.default_rng(seed)
        m = g.integers(2, 6)
        mu, S, x = g.dirichlet(np.ones(m)), np.diag(g.dirichlet(np.ones(m)) / m), np.exp(0.1 * g.standard_normal(m))
        phi, epsilon = g.uniform(0.05, 3.0), g.uniform(0.4, 1.2)
        for kind, variant in ((Variance(), "var"), (Deviation(), "stdev")):
            poly = np.polynomial.Polynomial(reference.cwmr_roots(variant, phi, epsilon, mu, S, x)[::-1])
            V, one = x @ S @ x, np.ones(m)
            centre = one @ S @ x / (one @ S @ one)
            lam = multiplier(kind, epsilon - mu @ x, V, (x - centre) @ S @ (x - centre), phi)
            lead = poly.coef[-1]
            low, high = max(0.0, -poly.coef[1] / (2 * lead)), 1.0  # it has its last turn, or begins, at low
            while lead * poly(high) <= 0.0 or high < 2 * low:
                high *= 2.0
            if lead * poly(low) >= 0.0:
                assert lam == pytest.approx(0.0, abs=1e-9 * high)
                continue
            for _ in range(200):
                middle = 0.5 * (low + high)
                low, high = (low, middle) if lead * poly(middle) > 0.0 else (middle, high)
            assert lam == pytest.approx(high, rel=1e-7)


# ---- figures ---------------------------------------------------------------------------------------------------------
def market_of(name):
    """A shared market; the test is skipped where the data are not."""
    for place in (os.environ.get("NOREGRET_DATA", ""), "../shared/data"):
        path = pathlib.Path(place) / "olps" / f"{name}.csv.gz"
        if place and path.exists():
            return np.loadtxt(path, delimiter=",")
    pytest.skip("needs the OLPS markets: set NOREGRET_DATA to the directory that holds olps")


COLUMNS = [
    P.Market,
    P.BestStock,
    P.CRP,
    P.BCRP,
    P.EG,
    P.ONS,
    P.Anticor,
    P.PAMR,
    lambda: P.PAMR(variant="pamr2"),
    lambda: P.CWMR(variant="var"),
    P.CWMR,
    P.OLMAR,
    lambda: P.OLMAR(alpha=0.5),
]
FIGURES = {  # of each column, as printed
    "nyse-o": "14.50 54.14 27.08 250.60 27.09 109.19 7.76e7 5.14e15 4.88e15 6.51e15 6.49e15 7.42e16 1.02e18",
    "sp500": "1.34 3.78 1.65 4.07 1.63 3.34 5.87 5.09 5.00 5.94 5.95 15.57 9.59",
    "djia": "0.76 1.19 0.81 1.24 0.81 1.53 1.67 0.68 0.71 0.69 0.69 2.51 1.16",
}


@pytest.mark.parametrize("name", FIGURES)
def test_wealth_on_the_shared_markets(name):
    X = market_of(name)
    for make, printed in zip(COLUMNS, FIGURES[name].split(), strict=True):
        digits, _, power = printed.partition("e")
        unit = 10.0 ** (int(power or 0) - len(digits.partition(".")[2]))
        m = make().fit(X)
        assert abs(m.wealth_ - float(printed)) <= 0.5000001 * unit, f"{m} on {name}: {m.wealth_:.6g}, printed {printed}"


def test_costs_of_pamr_on_a_shared_market():
    X = market_of("sp500")
    assert [round(P.PAMR(cost=c).fit(X).wealth_, d) for c, d in ((0.001, 2), (0.002, 2), (0.005, 3))] == [1.80, 0.64, 0.028]


# ---- books -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("entry", ["charged", "free"])
@pytest.mark.parametrize("name", ["market", "pamr", "mixture"])
def test_costs_agree_with_a_ledger_of_shares_and_cash(name, entry):
    m = strategy(name, cost=0.01, entry=entry)
    r = m.learn_rounds(MARKET)
    worth = reference.ledger(MARKET, r.weights, 0.01, entry)
    np.testing.assert_allclose(np.cumprod(r.outcome), worth, rtol=1e-12)
    assert m.log_wealth_ == pytest.approx(math.log(worth[-1]), rel=1e-10)
    free = strategy(name, entry=entry).fit(MARKET)
    np.testing.assert_array_equal(free.weights_, m.weights_)  # costs change no decision
    assert free.wealth_ > m.wealth_ or (name, entry) == ("market", "free")


def test_turnover():
    r = P.Market().learn_rounds(MARKET)
    np.testing.assert_allclose(r.turnover, [1.0, *np.zeros(len(MARKET) - 1)], atol=1e-14)
    drift = MARKET[:-1] / MARKET[:-1].sum(1, keepdims=True)
    np.testing.assert_allclose(P.CRP(entry="free").learn_rounds(MARKET).turnover[1:], np.abs(drift - 0.25).sum(1), atol=1e-14)


@pytest.mark.parametrize("name", NAMES)
def test_weights_stay_on_the_simplex(name):
    """Noise of a hundred times the size of a market's, days on which nothing moves, and assets that vanish."""
    g = np.random.default_rng(1)
    X = np.exp(np.clip(g.standard_normal((3000, 5)), -8, 8) * g.choice([0.0, 1e-9, 0.02, 2.0], (3000, 1)))
    X[500:700, 2] = 0.5
    odd = (X > 10).all(1) | (X < 0.1).all(1)
    X[odd] = 1.0
    m = strategy(name)
    W = every_weight(m, X)
    assert (W >= 0.0).all()
    np.testing.assert_allclose(W.sum(1), 1.0, atol=1e-12)
    assert all(np.isfinite(a).all() for a in m.model.arrays().values())
    assert math.isfinite(m.log_wealth_)


def test_weights_by_name_and_place():
    m = P.CRP(weights={"b": 0.25, "a": 0.75})
    m.learn_one({"a": 2.0, "b": 1.0})
    assert m.wealth_ == 1.75
    assert P.CRP(weights=[0.75, 0.25]).fit([[2.0, 1.0]]).wealth_ == 1.75
    for weights, words in (([0.5, 0.6], "sum 1"), ([1.0], "each of 2 assets"), ({"a": 1.0}, "no names")):
        with pytest.raises(ValueError, match=words):
            P.CRP(weights=weights).fit([[2.0, 1.0]])


# ---- regret ----------------------------------------------------------------------------------------------------------
def test_regret_stays_below_the_bounds():
    for seed in range(12):
        g = np.random.default_rng(seed)
        X = np.exp(g.uniform(0.01, 0.3) * g.standard_normal((g.integers(1, 300), 2)) + 0.05 * g.standard_normal(2))
        _, best = reference.best_of_two(X)
        for m in (P.EG(eta=g.uniform(0.01, 1.0)), P.UniversalPortfolio(grid=4000)):
            m.fit(X)
            assert best - m.log_wealth_ <= m.bound_
            assert m.theorem
        m = P.UniversalPortfolio(prior="dirichlet", samples=20_000).fit(X)
        assert m.bound_ == pytest.approx(0.5 * math.log(len(X) + 1) + math.log(2))
        assert best - m.log_wealth_ <= m.bound_ + 0.02  # of a sample, not of the integral


def test_bound_of_eg_at_the_rate_of_the_theorem():
    X = np.clip(MARKET, 0.9, 1.0)
    r, T = (X.min(1) / X.max(1)).min(), len(X)
    m = P.EG(eta=2 * r * math.sqrt(2 * math.log(4) / T)).fit(X)
    assert m.bound_ == pytest.approx(math.sqrt(T * math.log(4) / 2) / r)


def test_mixture_is_buy_and_hold_of_strategies():
    m = P.Mixture().fit(MARKET)
    wealths = [s.wealth_ for s in m.strategies_]
    assert len(wealths) == 9
    assert m.wealth_ == pytest.approx(np.mean(wealths), rel=1e-12)
    np.testing.assert_allclose(m.shares_, wealths / np.sum(wealths), rtol=1e-10)
    assert math.log(max(wealths)) - m.log_wealth_ <= m.bound_ == math.log(9)
    inner = P.Mixture(strategies=[P.EG(eta=0.3, cost=0.1), "portfolio.crp"]).fit(MARKET)
    assert inner.wealth_ == pytest.approx((P.EG(eta=0.3).fit(MARKET).wealth_ + P.CRP().fit(MARKET).wealth_) / 2)
    for wrong in (["mixture"], [nr.PA1()], [3]):
        with pytest.raises(TypeError, match="strategies of noregret.portfolio"):
            P.Mixture(strategies=wrong).fit(MARKET)


def test_best_constant_weights_come_with_a_certificate():
    for seed in range(20):
        g = np.random.default_rng(seed)
        X = np.exp(0.1 * g.standard_normal((60, g.integers(2, 9))) + 0.02 * g.standard_normal())
        best = P.BCRP().fit(X)
        T = len(X)
        assert best.gap_ <= 1e-6
        assert best.gap_ == pytest.approx(max(0.0, (X / (X @ best.weights_)[:, None]).sum(0).max() - T), abs=1e-12)
        others = [*g.dirichlet(np.ones(X.shape[1]), 200), *np.eye(X.shape[1])]
        assert all(np.log(X @ b).sum() <= best.log_wealth_ + best.gap_ + 1e-12 for b in others)
        assert best.wealth_ == pytest.approx(P.CRP(weights=best.weights_).fit(X).wealth_)
        assert best.log_wealth_ >= P.BestStock().fit(X).log_wealth_ - best.gap_ - 1e-12
    b, value = reference.best_of_two(MARKET[:, :2])
    best = P.BCRP().fit(MARKET[:, :2])
    np.testing.assert_allclose(best.weights_, b, atol=1e-3)
    assert best.log_wealth_ == pytest.approx(value, abs=2e-6)


def test_best_constant_weights_where_assets_are_alike():
    X = np.repeat(MARKET[:, :2], 2, axis=1)
    assert P.BCRP().fit(X).gap_ <= 1e-6
    assert P.BCRP().fit(np.ones((5, 3))).wealth_ == 1.0
    assert P.BCRP().fit([[1.2], [0.9]]).wealth_ == pytest.approx(1.08)


def test_best_stock_has_a_name():
    pandas = pytest.importorskip("pandas")
    best = P.BestStock().fit(pandas.DataFrame({"a": [1.0, 1.1], "b": [1.2, 1.0]}))
    assert (best.name_, best.index_) == ("b", 1)


# ---- laws ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", NAMES)
def test_any_split_of_the_days_gives_the_same_bits(name, tmp_path):
    whole = strategy(name, cost=0.002)
    W = whole.learn_many(MARKET)
    for size in (1, 7, 64):
        m, parts = strategy(name, cost=0.002), []
        for a in range(0, len(MARKET), size):
            parts.append(m.learn_many(MARKET[a : a + size]))
        assert m.digest() == whole.digest(), f"calls of {size}"
        assert np.array_equal(np.vstack(parts), W)
    m = strategy(name, cost=0.002).partial_fit(MARKET[:33])
    m.save(tmp_path / "m.nr")
    again = nr.load(tmp_path / "m.nr")
    assert (again.get_params(), again.digest()) == (m.get_params(), m.digest())
    twin, own = copy.deepcopy(m), m.to_bytes()
    assert again.partial_fit(MARKET[33:]).digest() == whole.digest()
    assert twin.partial_fit(MARKET[33:]).digest() == whole.digest()
    assert m.to_bytes() == own, "a copy learned, and the original changed"


@pytest.mark.parametrize("name", NAMES)
def test_compiled_and_interpreted_agree(name):
    X = MARKET[:30]
    with interpreted():
        plain = every_weight(strategy(name), X)
    np.testing.assert_allclose(every_weight(strategy(name), X), plain, atol=1e-9)


@pytest.mark.parametrize("name", [n for n in NAMES if n != "universal"])  # its draws go by column
def test_permuted_assets_permute_the_weights(name):
    order = [2, 0, 3, 1]
    np.testing.assert_allclose(
        every_weight(strategy(name), MARKET[:, order]), every_weight(strategy(name), MARKET)[:, order], atol=1e-9
    )


@pytest.mark.parametrize("name", NAMES)
def test_reading_changes_nothing(name):
    m = strategy(name).fit(MARKET)
    before = m.to_bytes()

    def read(_):
        return m.weights_.tolist(), m.wealth_, m.bound_, repr(m), m.n_seen_

    with ThreadPoolExecutor(4) as pool:
        assert len({str(found) for found in pool.map(read, range(12))}) == 1
    m.weights_[:] = 0.0
    assert m.to_bytes() == before


def test_new_parameters_and_merging():
    m = P.EG().partial_fit(MARKET)
    m.set_params(eta=0.2, cost=0.01).partial_fit(MARKET)
    assert m.n_seen_ == 2 * len(MARKET)
    for learner, given in (
        (P.OLMAR(), {"W": 9}),
        (P.CRP(), {"weights": [1, 0, 0, 0]}),
        (P.UniversalPortfolio(samples=9), {"seed": 1}),
    ):
        learner.fit(MARKET)
        before = learner.digest()
        with pytest.raises(ValueError, match="another kind of state"):
            learner.set_params(**given)
        assert learner.digest() == before
    with pytest.raises(TypeError, match="has no merge"):
        P.EG().fit(MARKET).merge(P.EG().fit(MARKET))


def test_files_that_do_not_fit_are_refused():
    for name, change in (
        ("eg", lambda model: model.update(names=["a", "b"])),
        ("anticor", lambda model: model["dims"].update(window=99)),
        ("mixture", lambda model: model["members"].pop()),
        ("mixture", lambda model: model["members"].reverse()),
    ):
        meta, tensors = strategy(name).fit(MARKET).pack()
        assert owner("learner")(copy.deepcopy(meta), dict(tensors)).weights_ is not None
        change(meta["model"])
        with pytest.raises(nr.ModelFileError):
            owner("learner")(meta, dict(tensors))


# ---- input -----------------------------------------------------------------------------------------------------------
BAD = [
    ([1.0, 0.0, 1.0], "asset 1 of day 3 has the relative 0;"),
    ([1.0, 1.0, -0.5], "asset 2 of day 3 has the relative -0.5"),
    ([np.nan, 1.0, 1.0], "asset 0 of day 3 has the relative nan; .*missing='hold'"),
    ([1.0, np.inf, 1.0], "asset 1 of day 3 has the relative inf"),
    ([1.0, 1.0], "expected 3 assets in every day, got 2"),
    ([101.0, 55.0, 20.5], "day 3 has the relative 101.*look like prices"),
    ([0.01, 0.02, 0.03], "day 3 has the relative 0.01.*look like prices"),
    (["a", 1.0, 1.0], "a row of numbers"),
]


@pytest.mark.parametrize(("x", "words"), BAD, ids=[str(x) for x, _ in BAD])
@pytest.mark.parametrize("name", ["ons", "mixture"])
def test_bad_days_are_refused_and_nothing_changes(name, x, words):
    m = strategy(name).partial_fit(THREE[:2])
    before = m.to_bytes()
    with pytest.raises((TypeError, ValueError), match=words):
        m.learn_one(x)
    with pytest.raises((TypeError, ValueError)):
        m.partial_fit([THREE[2], x])
    assert m.to_bytes() == before


def test_missing_days_are_held():
    X = MARKET.copy()
    X[3, 1] = X[7, 2] = np.nan
    held = P.OLMAR(missing="hold").fit(X)
    assert np.array_equal(held.weights_, P.OLMAR().fit(np.where(np.isnan(X), 1.0, X)).weights_)
    with pytest.raises(ValueError, match="missing must be None or 'hold'"):
        P.OLMAR(missing="drop").fit(X)


def test_relatives_of_prices():
    prices = np.cumprod(np.vstack([[10.0, 20.0, 5.0, 8.0], MARKET]), axis=0)
    np.testing.assert_allclose(P.relatives(prices), MARKET)
    pieces = [P.relatives(prices[:9]), P.relatives(prices[9:50], last=prices[8]), P.relatives(prices[50:], last=prices[49])]
    np.testing.assert_array_equal(np.vstack(pieces), P.relatives(prices))
    gap = np.array([[10.0, 4.0], [np.nan, 5.0], [12.0, 5.0]])
    np.testing.assert_allclose(P.relatives(gap, missing="hold"), [[1.0, 1.25], [1.2, 1.0]])
    assert np.isnan(gap[1, 0])
    for wrong, words in (
        (gap, "asset 0 of row 1 has the price nan"),
        ([[1.0, 2.0], [1.0, 0.0]], "asset 1 of row 1 has the price 0"),
    ):
        with pytest.raises(ValueError, match=words):
            P.relatives(wrong)
    with pytest.raises(ValueError, match="look like prices"):
        P.EG().fit(20.0 * prices)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: P.EG(eta=0.0), "eta must be in"),
        (lambda: P.EG(cost=1.0), "cost must be in"),
        (lambda: P.EG(entry="paid"), "entry must be one of 'charged', 'free'"),
        (lambda: P.PAMR(variant="pamr3"), "variant must be one of"),
        (lambda: P.Anticor(W=1), "W must be in"),
        (lambda: P.Anticor(w=2.5), "w must be a whole number"),
        (lambda: P.UniversalPortfolio(grid=5), "a grid is for two or three assets, and there are 4"),
        (lambda: P.UniversalPortfolio(grid=5, prior="dirichlet"), "prior must be 'uniform' with a grid"),
        (lambda: P.UniversalPortfolio(seed=-1), "seed must be"),
    ],
)
def test_parameters_are_checked_when_learning_begins(make, words):
    m = make()
    with pytest.raises((TypeError, ValueError), match=words):
        m.fit(MARKET)
    assert not m.started


# ---- names -----------------------------------------------------------------------------------------------------------
def test_registry():
    assert set(itertools.chain.from_iterable(P.NAMES[m].split() for m in P.NAMES)) == {*P.__all__} == {*dir(P)}
    assert not {*nr.algorithms("portfolio")} & {*nr.algorithms()}
    assert {type(nr.learner(f"portfolio.{n}")).__name__ for n in NAMES} == {*P.__all__} - {"BCRP", "BestStock", "relatives"}
    assert all(issubclass(type(strategy(n)), Strategy) for n in NAMES)
    with pytest.raises(ValueError, match="portfolio"):
        nr.algorithms("portfolios")


def test_names_of_assets_stay_with_the_model():
    m = P.EG()
    assert m.learn_one({"ibm": 1.1, "ge": 0.9}) == {"ibm": 0.5, "ge": 0.5}
    m.learn_one({"ge": 1.1, "ibm": 0.9})
    assert nr.from_bytes(m.to_bytes()).names_ == ["ibm", "ge"]
    assert np.array_equal(m.weights_, P.EG().fit([[1.1, 0.9], [0.9, 1.1]]).weights_)
    with pytest.raises(ValueError, match="asset 'ge' is missing and asset 'kodak' is new; the model has 2 assets"):
        m.learn_one({"ibm": 1.0, "kodak": 1.0})
