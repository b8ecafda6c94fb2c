"""What a portfolio earned: wealth, its ups and downs, what was traded, and what is left after costs."""

from __future__ import annotations

import math

import numpy as np

FEW = 20  # days; the return of fewer says nothing about a year
COSTS = (0.0, 0.001, 0.0025, 0.005)  # proportional, for buying and selling together, at which wealth is told


class Wealth:
    """The figures of one portfolio, from the return of each day before costs and from what was traded before it.

    `traded` is the sum of |b_i - b'_i|, from the holdings b' of the evening before to the weights b of the day. A cost c takes the
    share c/2 of it. Every sum is taken day by day, so that figures do not depend on how days come.
    """

    def __init__(self, cost: float, free: bool = False) -> None:
        self.cost, self.free = cost, free
        self.days = 0
        self.logs = np.zeros(len(COSTS) + 1)  # log wealth after each cost, its own last
        self.top = 0.0  # highest log wealth so far
        self.fall = 0.0  # largest fall from it
        self.sums = np.zeros(2)  # of daily returns, and of their squares
        self.turnover = 0.0

    def add(self, returns: np.ndarray, traded: np.ndarray) -> None:
        """Take the days that came."""
        if len(returns) == 0:
            return
        paid = np.array([*COSTS, self.cost])
        u = np.array(traded, np.float64)
        if self.days == 0:
            self.turnover -= u[0]  # buying in is paid, but is no turnover
            u[0] = 0.0 if self.free else u[0]
        net = returns[:, None] * (1.0 - 0.5 * paid * u[:, None])
        with np.errstate(divide="ignore", invalid="ignore"):
            path = np.add.accumulate(np.vstack([self.logs, np.log(net)]))
        own = path[1:, -1]
        tops = np.maximum.accumulate(np.concatenate([[self.top], own]))
        self.fall = max(self.fall, float((tops[1:] - own).max()))
        self.top, self.logs = float(tops[-1]), path[-1]
        r = net[:, -1] - 1.0
        self.sums = np.add.accumulate(np.vstack([self.sums, np.column_stack([r, r * r])]))[-1]
        self.turnover = float(np.add.accumulate(np.concatenate([[self.turnover], traded]))[-1])
        self.days += len(returns)

    @property
    def log(self) -> float:
        """The log wealth."""
        return float(self.logs[-1])

    @property
    def gross(self) -> float:
        """The log wealth before costs."""
        return float(self.logs[0])

    @property
    def drawdown(self) -> float:
        """The present fall from the highest wealth so far, as a share."""
        return 1.0 - math.exp(self.log - self.top)

    def metrics(self, days: int) -> dict[str, float | None]:
        """Return the figures, given the days of a year; after FEW days those of a year too."""
        T = max(self.days, 1)
        mean = self.sums[0] / T
        variance = (self.sums[1] - T * mean * mean) / (T - 1) if T > 1 else 0.0
        sd, enough = math.sqrt(max(variance, 0.0)), self.days >= FEW
        return {
            "wealth": power(self.log),
            "annual_return": power(self.log * days / T, -1.0) if enough else None,
            "volatility": sd * math.sqrt(days) if enough else None,
            "sharpe": mean / sd * math.sqrt(days) if enough and sd > 0.0 else None,
            "drawdown": 1.0 - math.exp(-self.fall),
            "turnover": self.turnover / 2.0 / (T - 1) if T > 1 else 0.0,
            **{cost_name(c): power(float(v)) for c, v in zip(COSTS, self.logs, strict=False)},
        }


def cost_name(c: float) -> str:
    """Return the name of the wealth after a cost: wealth_at_0.25%."""
    return f"wealth_at_{100 * c:g}%"


def power(log: float, more: float = 0.0) -> float:
    """Return exp(log), infinite where that is too large for a number, and some more."""
    return (math.exp(log) if log < 709.0 else math.inf) + more


def wealth_text(v: float | None) -> str:
    """Return a wealth as tables of portfolios do: 27.09, 7.76e7."""
    if v is None or not math.isfinite(v):
        return "-"
    if 0.001 <= v < 1e5:
        return f"{v:,.2f}" if v >= 0.1 else f"{v:.2g}"
    head, _, e = f"{v:.2e}".partition("e")
    return f"{head}e{int(e)}"
