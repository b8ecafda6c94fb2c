"""How often intervals and sets hold the truth, and how large they are: means over the rows that had one."""

from __future__ import annotations

from typing import Self

import numpy as np


class Covering:
    """The figures of intervals or sets at one level. Formally a row may be missed although what is shown holds it.

    An interval that would be less than a point is shown as the answer, and an empty set as the most probable label.
    """

    def __init__(self, size: str) -> None:
        self.size = size  # the name of the figure
        self.sums = np.zeros(4)  # of weights, of rows covered, of those formally covered, of sizes

    def add(self, held: np.ndarray, formal: np.ndarray, size: np.ndarray, c: np.ndarray) -> None:
        """Take more rows: whether what was shown held the truth, whether it did formally, sizes, weights."""
        self.sums += [c.sum(), c @ held, c @ formal, c @ size]

    def add_intervals(self, y: np.ndarray, f: np.ndarray, reach: np.ndarray, c: np.ndarray | None) -> None:
        """Take more rows: targets, answers, how far intervals reached (infinitely before any row was learned), weights."""
        told = np.isfinite(reach)
        e, r, c = np.abs(y - f)[told], reach[told], np.ones(int(told.sum())) if c is None else c[told]
        shown = np.maximum(r, 0.0)
        self.add(e <= shown, (e <= r) & ~np.signbit(r), 2.0 * shown, c)

    def add_sets(self, y: np.ndarray, p: np.ndarray, u: np.ndarray, seen: np.ndarray, c: np.ndarray | None) -> None:
        """Take more rows: codes, probabilities, the surprise allowed, how many classes were known before each, weights."""
        from ...calibration.coverage import members

        told = (seen > 1) & (y < seen)
        y, p, u, c = y[told], p[told], u[told], np.ones(int(told.sum())) if c is None else c[told]
        if len(y):
            held, at = members(p, u), np.arange(len(y))
            self.add(held[at, y], -np.log(p[at, y]) <= u, held.sum(axis=1), c)

    def __iadd__(self, later: Covering) -> Self:
        """Take the figures of the rows that came after."""
        self.sums = self.sums + later.sums
        return self

    def metrics(self) -> dict[str, float]:
        """Return the figures, none where no row had an interval or a set."""
        weight, held, formal, size = self.sums.tolist()
        return {"coverage": held / weight, "coverage_formal": formal / weight, self.size: size / weight} if weight else {}
