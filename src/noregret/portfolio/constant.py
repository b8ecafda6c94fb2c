"""Strategies that do not learn: buy and hold, and constant weights."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from .strategy import Strategy, drifted, held


def after_market(s, x, b, p):
    """Trade nothing: tomorrow's weights are what the day has made of today's."""
    drifted(x, b, held(b, x), b)


def after_crp(s, x, b, p):
    """Go back to the same weights."""


def given_weights(m: Any) -> Any:
    """Return the weights that are given, by name or in order; equal ones if none are."""
    weights = m.given["weights"]
    if weights is None:
        return 1.0 / m.K
    if isinstance(weights, Mapping):
        if m.names is None or {*weights} != {*m.names}:
            raise ValueError(f"weights has the assets {sorted(map(str, weights))}, and the relatives have {m.names or 'no names'}")
        weights = [weights[name] for name in m.names]
    found = np.asarray(weights, np.float64)
    if found.shape != (m.K,):
        raise ValueError(f"weights must have a number for each of {m.K} assets, got {found.shape}")
    if not (np.isfinite(found).all() and (found >= 0.0).all() and abs(found.sum() - 1.0) <= 1e-6):
        raise ValueError(f"weights must not be negative, and have the sum 1; got {weights!r}")
    return found / math.fsum(found)


class Market(Strategy):
    """Buy equal shares and hold them: b <- b x/(b.x). It bets on nothing, and never trades again.

    Parameters: `cost`, the rate of proportional costs on both sides, in [0, 1); `entry`, "charged" if the first holdings cost
    cost/2, or "free"; `missing`, "hold" to take an empty cell for a relative of 1.

    Pitfalls: as wealth grows, nearly all of it comes to lie in the best asset.

    Reference: the benchmark of Cover (1991), *Universal portfolios*.

    >>> import noregret as nr
    >>> m = nr.portfolio.Market().fit([[1.1, 0.9], [1.1, 0.9]])
    >>> m.weights_.round(4), round(m.wealth_, 4)
    (array([0.599, 0.401]), 1.01)
    """

    name = "portfolio.market"
    cite = "cover1991"
    after = after_market


class CRP(Strategy):
    """Constant rebalanced portfolio: the same weights every day, equal ones unless `weights` are given.

    It bets on reversal: each day it sells what rose and buys what fell. Volatile assets without a trend make it grow.

    Parameters: `weights`, one for each asset, or a dict by name; `cost`, `entry` and `missing` as `Market` has them.

    Pitfalls: it trades every day, so costs count. The best constant weights are known in hindsight alone: see `BCRP`.

    Reference: Cover (1991), *Universal portfolios*.

    >>> import noregret as nr
    >>> m = nr.portfolio.CRP().fit([[2.0, 1.0], [0.5, 1.0]])
    >>> round(m.wealth_, 4)                                 # neither asset has moved in the end
    1.125
    """

    name = "portfolio.crp"
    cite = "cover1991"
    options: ClassVar[dict[str, Any]] = {"weights": None, **Strategy.options}
    settled = (*Strategy.settled, "weights")
    first = staticmethod(given_weights)
    after = after_crp
