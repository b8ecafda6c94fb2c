"""How good probabilities are: log loss, Brier score, calibration error, and the diagram behind it, in bounded memory.

A row counts if it had a forecast: its label and another one were known before it. Sums are weighted by sample weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from ...inputs.labels import ordered

BINS = 15
LEAST = 1e-12  # probability of the truth that is charged: a forecast of 0 costs 28 nats
NORMAL = 1.959963984540054  # quantile of the limits: they hold what would be seen in 95 of 100 samples


class Reliability:
    """The figures of probabilities. Two classes are measured by the probability of the second, more by that of the most probable.

    Bins hold the weight of rows, that of hits, and the sum of the probabilities.
    """

    def __init__(self) -> None:
        self.unforecast = 0
        self.many = False
        self.weight = self.log = self.squares = self.spread = 0.0
        self.pair, self.top = np.zeros((3, BINS)), np.zeros((3, BINS))

    @property
    def measured(self) -> bool:
        """Whether any row had probabilities."""
        return self.weight > 0.0

    def add(self, y: np.ndarray, p: np.ndarray, seen: np.ndarray, c: np.ndarray | None, positive: int) -> None:
        """Take more rows: codes, probabilities by code, how many classes were known before each, weights."""
        told = (seen > 1) & (y < seen)
        self.unforecast += int((~told).sum())
        y, p, c = y[told], p[told], np.ones(int(told.sum())) if c is None else c[told]
        if not len(y):
            return
        at = np.arange(len(y))
        truth = np.zeros(p.shape)
        truth[at, y] = 1.0
        self.weight += float(c.sum())
        self.log -= float(c @ np.log(np.maximum(p[at, y], LEAST)))
        self.squares += float(c @ ((p - truth) ** 2).sum(axis=1))
        best = p.argmax(axis=1)
        self.top += binned(p[at, best], best == y, c)
        self.spread += float(c @ (p[at, best] * (1.0 - p[at, best])))
        self.many |= p.shape[1] > 2
        if p.shape[1] == 2:
            self.pair += binned(p[:, positive], y == positive, c)

    def __iadd__(self, later: Reliability) -> Self:
        """Take the figures of the rows that came after."""
        for name in ("unforecast", "weight", "log", "squares", "spread", "pair", "top"):
            setattr(self, name, getattr(self, name) + getattr(later, name))
        self.many |= later.many
        return self

    # ---- reading -----------------------------------------------------------------------------------------------------
    def metrics(self) -> dict[str, float]:
        """Return the figures; the Brier score of two classes is that of one of them, half the sum over both."""
        weight, hits, sums = self.top if self.many else self.pair
        return {
            "log_loss": self.log / self.weight,
            "brier": self.squares / self.weight * (1.0 if self.many else 0.5),
            "ece": float(np.abs(hits - sums).sum() / weight.sum()),
            "sharpness": self.spread / self.weight,
            "unforecast": self.unforecast,
        }

    def diagram(self, labels: Sequence[Any], positive: int) -> dict[str, Any]:
        """Return the bins that have rows: their weight, mean probability, share of hits and its limits (Wilson 1927).

        `of` is the label whose probability it is, None where it is the most probable one's.
        """
        second = None if self.many else ordered(list(labels))[1]
        bins = self.top if self.many else self.pair
        if second is not None and labels[positive] != second:  # the other class: hits are misses, and bins change their ends
            bins = np.array([bins[0], bins[0] - bins[1], bins[0] - bins[2]])[:, ::-1]
        found = []
        for weight, hits, sums in bins.T.tolist():
            if weight > 0.0:
                low, high = wilson(hits / weight, weight)
                found.append({"examples": weight, "probability": sums / weight, "share": hits / weight, "low": low, "high": high})
        return {"of": second, "bins": found}


def binned(p: np.ndarray, hit: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Return the sums of weights, hits and probabilities in bins of equal width."""
    at = np.minimum((BINS * p).astype(np.int64), BINS - 1)
    return np.array([np.bincount(at, v, BINS) for v in (c, c * hit, c * p)])


def wilson(share: float, n: float) -> tuple[float, float]:
    """Return the limits between which a share of n rows lies by chance (Wilson 1927)."""
    square = NORMAL * NORMAL / n
    middle = (share + square / 2.0) / (1.0 + square)
    reach = NORMAL / (1.0 + square) * np.sqrt(share * (1.0 - share) / n + square / (4.0 * n))
    return max(0.0, float(middle - reach)), min(1.0, float(middle + reach))
