"""What is measured of learners that divide a whole over columns: figures round by round, and what was best in hindsight."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ...text import amount, percent, plural
from .paths import Blocks, Path
from .wealth import FEW, Wealth, cost_name

if TYPE_CHECKING:
    from ...allocations.allocation import Rounds

ROOM = 1 << 24  # numbers of rounds that are held for what is best in hindsight: 128 MB
DEAR = 0.0025  # a cost at which a strategy should still do better than the market
FIXED = "the same portfolio is used at every point, so early regret can be below 0"
NAMED = 8  # columns whose weights are told by name


class Allotted(Protocol):
    """The figures of one learner."""

    shares: Blocks

    def take(self, done: Rounds, X: np.ndarray) -> None:
        """Take rounds that were learned."""

    def point(self, learner: Any) -> dict[str, Any]:
        """Return the figures of a point of the curves."""

    def metrics(self, days: int) -> dict[str, Any]:
        """Return the figures of all rounds."""


class PortfolioFigures:
    """Wealth, and the weights over time."""

    def __init__(self, learner: Any) -> None:
        self.wealth = Wealth(learner.cost, learner.entry == "free")
        self.cost = learner.cost
        self.shares = Blocks()

    def take(self, done: Rounds, X: np.ndarray) -> None:
        """Take days that were learned."""
        self.wealth.add(done.outcome / (1.0 - 0.5 * self.cost * done.turnover), done.turnover)
        self.shares.add(done.weights)

    def point(self, learner: Any) -> dict[str, Any]:
        """Return wealth, and how far it is below its highest so far."""
        wealth = math.exp(min(self.wealth.log, 709.0))
        found = {"wealth": wealth, "drawdown": self.wealth.drawdown, "gross": self.wealth.gross}
        return {**found, "bound": math.inf if hasattr(learner, "strategies_") else learner.bound_}

    def now(self) -> dict[str, Any]:
        """Return nothing to show while days are learned."""
        return {}

    def metrics(self, days: int) -> dict[str, Any]:
        """Return the figures of all days."""
        return self.wealth.metrics(days)


class ExpertFigures:
    """What was paid, and the weights over time."""

    def __init__(self, learner: Any) -> None:
        self.shares = Blocks()
        self.standing: dict[str, float] = {}
        self.examples = 0

    def take(self, done: Rounds, X: np.ndarray) -> None:
        """Take rounds that were learned."""
        self.shares.add(done.weights)
        self.examples += len(X)

    def point(self, learner: Any) -> dict[str, Any]:
        """Return what was paid, the loss of the best expert, the regret between them and its bound."""
        paid, losses = learner.paid_, learner.losses_
        self.standing = {"paid": paid, "best": float(losses.min()), "regret": learner.regret_, "bound": learner.bound_}
        return {**self.standing, "loss": paid / max(self.examples, 1)}

    def now(self) -> dict[str, Any]:
        """Return what was paid a round, to show while rounds are learned."""
        return {"loss": self.standing["paid"] / max(self.examples, 1)} if self.standing else {}

    def metrics(self, days: int) -> dict[str, Any]:
        """Return the figures of all rounds."""
        s = self.standing
        return {"paid": s["paid"], "best_expert": s["best"], "paid_a_round": s["paid"] / max(self.examples, 1)}


# ---- in hindsight ------------------------------------------------------------------------------------------------------
class MarketHindsight:
    """The market, the best stock and the best constant rebalanced portfolio: found from the days, which are held for it."""

    def __init__(self) -> None:
        self.held: list[np.ndarray] = []
        self.numbers = 0
        self.logs: np.ndarray | None = None

    def add(self, X: np.ndarray, learner: Any) -> None:
        """Take more days, columns in the order in which a learner knows them."""
        self.numbers += X.size
        if self.numbers <= ROOM:
            self.held.append(X)
        elif self.held:
            self.held = []

    def find(
        self, learners: list[tuple[Any, PortfolioFigures, Path]], days: int
    ) -> tuple[list[dict[str, Any]], list[Any], list[str]]:
        """Return baselines, the regret of each learner, and notes."""
        from ...portfolio import BCRP, CRP, BestStock, Market

        first, _, path = learners[0]
        if not self.held:
            note = "The market, the best stock and the best constant portfolio were left out: there are too many days to hold."
            return [], [None] * len(learners), [note]
        X, names = np.concatenate(self.held), first.names_
        at = [p["examples"] for p in path.points]
        cost = {"cost": first.cost, "entry": first.entry}
        best, star = BestStock().fit(X), BCRP().fit(X)
        stock = int(np.argmax(best.weights_))
        called = names[stock] if names else f"column {stock}"
        trivial = [
            followed("market", Market(**cost), X, at, days),
            followed(f"best stock, {called}", CRP(weights=best.weights_, **cost), X, at, days),
            followed("BCRP", CRP(weights=star.weights_, **cost), X, at, days),
        ]
        ideal = [p["gross"] for p in trivial[2].pop("points")]
        for row in trivial[:2]:
            row.pop("points")
        regrets = [portfolio_regret(m, p, ideal, star) for m, _, p in learners]
        return trivial, regrets, []


def followed(label: str, learner: Any, X: np.ndarray, at: list[int], days: int) -> dict[str, Any]:
    """Return the row of a baseline: its figures on these days, and its curve at the points of the learners."""
    figures, points, a = PortfolioFigures(learner), [], 0
    for b in at:
        figures.take(learner.learn_rounds(X[a:b]), X[a:b])
        points.append({"examples": b, **figures.point(learner)})
        a = b
    curve = {k: [p[k] for p in points] for k in ("examples", "wealth", "drawdown")}
    return {"label": label, "examples": len(X), "metrics": figures.metrics(days), "curve": curve, "points": points}


def portfolio_regret(learner: Any, path: Path, ideal: list[float], star: Any) -> dict[str, Any]:
    """Return the regret of a strategy in log wealth, before costs on both sides."""
    own = [p["gross"] for p in path.points]
    examples = [p["examples"] for p in path.points]
    regrets = [s - o for s, o in zip(ideal, own, strict=True)]
    bounds = [p["bound"] if math.isfinite(p["bound"]) else None for p in path.points]
    name, why = learner.theorem, "this strategy has no theorem against the best constant portfolio"
    value, last = regrets[-1], bounds[-1]
    told = (
        f"{{label}} grew by {amount(own[-1])} in log wealth before costs; the best constant rebalanced portfolio (BCRP), known "
        f"only at the end, by {amount(ideal[-1])}: regret {amount(value)}, {amount(value / examples[-1], 2)} a day"
    )
    told += ", so the strategy did better than every constant portfolio" if value < 0 else ""
    told += f". The theorem ({name}) allows {amount(last)}." if last is not None else f". No theorem bounds it here: {why}."
    against = f"the best constant rebalanced portfolio (to within {amount(star.gap_, 2)} by its certificate)"
    among = best_of(learner, own[-1])
    told += among.pop("told", "")
    return {
        **({"strategies": among} if among else {}),
        "loss": "log wealth", "against": against, "told": told,
        "best": "BCRP", "title": "log wealth before costs", "along": FIXED,
        "cumulative": own[-1], "comparator": ideal[-1], "value": value, "average": value / examples[-1],
        "certificate": star.gap_, "bound": last, "bound_name": name if last is not None else None,
        "bound_measures": "regret" if last is not None else None, "bound_why": None if last is not None else why,
        "vacuous": None, "measured": value,
        "curve": {
            "examples": examples, "cumulative": own, "comparator": ideal, "regret": regrets,
            "average": [v / n for v, n in zip(regrets, examples, strict=True)], "bound": bounds, "measured": regrets,
        },
    }  # fmt: skip


def best_of(learner: Any, own: float) -> dict[str, Any]:
    """Return the regret of a mixture against the best of its strategies, nothing of others."""
    if not hasattr(learner, "strategies_"):
        return {}
    members = learner.strategies_
    logs = [float(m.state.book.growth[0]) for m in members]
    best = int(np.argmax(logs))
    regret, name = logs[best] - own, members[best].name.rpartition(".")[2]
    told = (
        f" Against the best of its strategies, {name}, the regret is {amount(regret)}; the theorem allows {amount(learner.bound_)}."
    )
    return {"best": name, "regret": regret, "bound": learner.bound_, "bound_name": learner.theorem, "told": told}


class ExpertHindsight:
    """The best expert, and the mean of all: learners know what their experts lost."""

    def add(self, X: np.ndarray, learner: Any) -> None:
        """Nothing is held."""

    def find(self, learners: list[tuple[Any, ExpertFigures, Path]], days: int) -> tuple[list[dict[str, Any]], list[Any], list[str]]:
        """Return baselines, the regret of each learner, and notes."""
        m, _, path = learners[0]
        losses, n = m.losses_, path.points[-1]["examples"]
        names = m.names_ or [f"column {k}" for k in range(len(losses))]
        best = int(np.argmin(losses))
        told = [(f"best expert, {names[best]}", float(losses[best])), ("all experts alike", float(losses.mean()))]
        trivial = [
            {"label": label, "examples": n, "metrics": {"paid": paid, "paid_a_round": paid / n}, "curve": {}}
            for label, paid in told
        ]
        return trivial, [expert_regret(learner, p, names[best]) for learner, _, p in learners], []


def expert_regret(learner: Any, path: Path, best: str) -> dict[str, Any]:
    """Return the regret of experts against the best of them."""
    examples, paid, least, regrets, bounds = ([p[k] for p in path.points] for k in ("examples", "paid", "best", "regret", "bound"))
    bounds = [v if math.isfinite(v) else None for v in bounds]
    told = (
        f"{{label}} paid {amount(paid[-1])}; the best expert, {best}, lost {amount(least[-1])}: regret {amount(regrets[-1])}, "
        f"{amount(regrets[-1] / examples[-1], 2)} a round. "
    )
    why = "it is for losses that differ by at most 1 in a round, and for experts that are there from the start"
    told += (
        f"The theorem ({learner.bound_name_}) allows {amount(bounds[-1])}."
        if bounds[-1] is not None
        else f"No theorem bounds it here: {why}."
    )
    return {
        "loss": learner.loss or "as given", "against": f"the best expert, {best},", "told": told,
        "best": "best expert", "title": "loss", "along": "the best expert up to each point is used",
        "cumulative": paid[-1], "comparator": least[-1], "value": regrets[-1], "average": regrets[-1] / examples[-1],
        "bound": bounds[-1], "bound_name": learner.bound_name_ if bounds[-1] is not None else None,
        "bound_measures": "regret" if bounds[-1] is not None else None, "bound_why": None if bounds[-1] is not None else why,
        "vacuous": None, "measured": regrets[-1],
        "curve": {
            "examples": examples, "cumulative": paid, "comparator": least, "regret": regrets,
            "average": [v / n for v, n in zip(regrets, examples, strict=True)], "bound": bounds, "measured": regrets,
        },
    }  # fmt: skip


# ---- what must be said -------------------------------------------------------------------------------------------------
def portfolio_warnings(learners: list[dict[str, Any]], trivial: list[dict[str, Any]]) -> list[str]:
    """Return what must be said of the wealth of strategies: that costs take it, and that this is a back-test."""
    found = []
    market = next((row for row in trivial if row["label"] == "market"), None)
    if market is not None:
        key = cost_name(DEAR)
        floor = market["metrics"][key]
        poor = [
            row["label"]
            for row in learners
            if row["metrics"]["wealth"] > market["metrics"]["wealth"] and row["metrics"][key] < floor
        ]
        if poor:
            found.append(
                f"At costs of {percent(DEAR).rstrip('0')} % these end below the market ({amount(floor)}), which they beat without: "
                f"{', '.join(poor)}."
            )
    days = max(row["examples"] or 0 for row in learners)
    found.append(
        f"This is a back-test on {plural(days, 'day')}: prices may not have been there to trade at, assets that vanished may be "
        "missing, and the strategies and settings were chosen by people who knew such data."
    )
    if days < FEW:
        found.append(f"Figures of a year are left out: {plural(days, 'day')} say nothing about one, it takes {FEW}.")
    return found


def no_warnings(learners: list[dict[str, Any]], trivial: list[dict[str, Any]]) -> list[str]:
    """Return nothing: losses mean what the user says."""
    return []


def told_weights(shares: Blocks, names: list[str] | None, now: np.ndarray) -> dict[str, Any]:
    """Return the weights over time of the columns that had most on average, and those for the next round."""
    called = names or [f"column {k}" for k in range(len(now))]
    return {**over_time(shares, called), "next": {called[k]: float(now[k]) for k in np.argsort(-now, kind="stable")}}


def over_time(shares: Blocks, called: list[str]) -> dict[str, Any]:
    """Return shares over time: of the columns that had most on average by name, and of the others together."""
    examples, W = shares.means()
    K = W.shape[1]
    sizes = np.diff([0, *examples])
    mean = (W * sizes[:, None]).sum(axis=0) / sizes.sum()
    top = np.argsort(-mean, kind="stable")[: NAMED if K > NAMED + 1 else K]
    series = {called[k]: W[:, k].round(5).tolist() for k in top}
    if len(top) < K:
        series["others"] = np.maximum(1.0 - W[:, top].sum(axis=1), 0.0).round(5).tolist()
    return {"examples": examples, "series": series}
