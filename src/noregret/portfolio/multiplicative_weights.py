"""Exponentiated gradient: weights that grow with what each asset earned of the whole."""

from __future__ import annotations

import math
from typing import NamedTuple

from ..algorithm.params import Positive
from ..engine.elementary import exp
from ..engine.words import strict
from .strategy import Asset, Cost, Entry, Strategy, held, normalised


class Params(NamedTuple):
    """EG."""

    eta: Positive = 0.05
    cost: Cost = 0.0
    entry: Entry = "charged"


class State(NamedTuple):
    """EG."""

    logs: Asset  # of the weights, the largest 0


@strict
def after_eg(s, x, b, p):
    """Multiply by exp(eta x/(b.x)); logarithms are kept, so that no weight is lost to underflow."""
    growth, top = held(b, x), -math.inf
    for k in range(b.shape[0]):
        s.logs[k] += p.eta * x[k] / growth
        top = max(top, s.logs[k])
    for k in range(b.shape[0]):
        s.logs[k] -= top
        b[k] = exp(s.logs[k])
    normalised(b)


class EG(Strategy):
    """Exponentiated gradient: b_k <- b_k exp(eta x_k/(b.x)), normalised. It bets slowly on what has done well.

    Parameters: `eta` > 0, the learning rate: 0 would be equal weights for ever; `cost`, `entry` and `missing` as `Market` has
    them.

    Bound: log wealth before costs is at least that of the best constant weights less ln m/eta + eta T/(8 r^2), with m assets, T
    days and r the least relative of a day over its largest; for eta = 2r sqrt(2 ln m/T) that is sqrt(T ln m/2)/r. `bound_` tells
    it for the days seen.

    Pitfalls: with the default rate it hardly differs from equal weights, and no rate that the theorem suggests is much larger.

    Reference: Helmbold, Schapire, Singer, Warmuth (1998), *On-line portfolio selection using multiplicative updates*, Theorem 4.1.

    >>> import noregret as nr
    >>> m = nr.portfolio.EG(eta=0.05).fit([[1.1, 0.9], [0.9, 1.1], [1.05, 1.0]])
    >>> m.weights_.round(6), round(m.wealth_, 6)
    (array([0.500609, 0.499391]), 1.024487)
    """

    name = "portfolio.eg"
    cite = "helmbold1998"
    State = State
    Params = Params
    after = after_eg
    theorem = "ln m/eta + eta T/(8 r^2), Helmbold et al. 1998, Theorem 4.1"

    @property
    def bound_(self) -> float:
        """What the theorem allows the regret in log wealth before costs to be, for the days seen."""
        m, eta = self.model, float(self.model.params.eta)
        r = float(m.state.book.least[0])
        return math.log(m.K) / eta + eta * self.n_seen_ / (8.0 * r * r)
