"""What the losses of a forest are bounded by: the best pruning of each tree, and the price of having cut it as rows came."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from .nodes import GAPS, ODD, OWN, PAID, WORST
from .trees import best_prunings


class Guarantee(NamedTuple):
    """Losses of all rows but the first. `loss`, `best` and `cuts` have a number for each tree; `loss` <= `best` + `cuts`.

    `best` is the loss of the best pruning of the final tree and ln 2/rate for each node of it that could be split, `cuts` the
    price of predicting before the cell of a new row exists. `forest`, the loss of the forest, is at most the mean of `loss`.
    """

    loss: np.ndarray
    best: np.ndarray
    cuts: np.ndarray
    forest: float

    @property
    def bound(self) -> np.ndarray:
        """What the loss of each tree is at most."""
        return self.best + self.cuts

    @property
    def forest_bound(self) -> float:
        """What the loss of the forest is at most."""
        return float(self.bound.mean())


def of_labels(m: Any) -> Guarantee:
    """Return the guarantee of a classifier."""
    if m.params.step > 1.0:
        raise ValueError(f"the bound is for step of at most 1, got step={m.params.step:g}")
    return _of(m, m.params.step, "sample weights, or a class that came late: give no weights, and declare classes=")


def of_targets(m: Any) -> Guarantee:
    """Return the guarantee of a regressor."""
    if m.params.noise == 0.0:
        raise ValueError("the bound is for a fixed rate: give noise=, at least the square of the largest error of a node")
    eta, far = m.params.step / m.params.noise, 2.0 * float(m.grove.ledger[:, WORST].max())
    if eta * far > 1.0:
        raise ValueError(f"the bound is for noise >= step times the largest squared error of a node, {far:g}: give noise={far:g}")
    return _of(m, eta, "sample weights: give none")


def _of(m: Any, eta: float, odd: str) -> Guarantee:
    if m.params.fading < 1.0:
        raise ValueError(f"the bound is for fading=1, got fading={m.params.fading:g}")
    if m.grove.clock[ODD]:
        raise ValueError(f"the bound does not hold for this stream: {int(m.grove.clock[ODD])} rows have {odd}")
    g = m.grove
    best = best_prunings(m.state, math.log(2.0) / eta)
    return Guarantee(g.ledger[:, OWN].copy(), best, g.ledger[:, GAPS] / eta, float(g.sums[PAID]))
