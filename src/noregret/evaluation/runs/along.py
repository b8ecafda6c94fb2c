"""Figures along a stream, with the points of their curves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..kinds import along
from .passes import points


class Along:
    """Figures of one learner, which count examples and have a `point`."""

    def __init__(self, figures: Any) -> None:
        self.figures = figures
        self.points: list[dict[str, Any]] = []
        self.marks = points()
        self.mark = next(self.marks)

    def cuts(self, n: int) -> Iterator[slice]:
        """Yield the parts of n rows between points, and note a point after each that ends at one."""
        a = 0
        while a < n:
            b = min(n, a + self.mark - self.figures.examples)
            yield slice(a, b)
            if self.figures.examples == self.mark:
                self.points.append(self.figures.point())
                self.mark = next(self.marks)
            a = b

    def end(self) -> None:
        """Note the last point."""
        if not self.points or self.points[-1]["examples"] < self.figures.examples:
            self.points.append(self.figures.point())

    def curve(self, curves: Sequence[str]) -> dict[str, Any]:
        """Return the curves that a report shows."""
        kept = ("examples", *(k for k in along(curves) if k in self.points[0]))
        return {k: [p[k] for p in self.points] for k in kept}
