"""Curves along a stream in bounded memory, however long it is: when there are too many points, every second is left out."""

from __future__ import annotations

from typing import Any

import numpy as np

POINTS = 256  # of a curve, at least, once the stream is as long; at most twice as many
BLOCKS = 48  # the same, of means over stretches of the stream


class Path:
    """Points at equal distances, each a dict of figures; `due` tells how many rounds are left to the next."""

    def __init__(self) -> None:
        self.stride = 0  # the first rounds that come decide
        self.done = 0
        self.points: list[dict[str, Any]] = []

    def due(self, coming: int) -> int:
        """Return how many rounds to take to the next point, given how many are at hand."""
        self.stride = self.stride or max(1, coming // POINTS)
        return self.stride - self.done % self.stride

    def go(self, n: int) -> bool:
        """Take rounds; return whether a point is reached."""
        self.done += n
        return self.done % self.stride == 0

    def mark(self, figures: dict[str, Any]) -> None:
        """Note a point, and thin them out where they are many."""
        self.points.append({"examples": self.done, **figures})
        if len(self.points) > 2 * POINTS:
            self.stride *= 2
            self.points = [p for p in self.points if p["examples"] % self.stride == 0]

    def columns(self) -> dict[str, list[Any]]:
        """Return the points as columns."""
        return {k: [p[k] for p in self.points] for k in self.points[0]} if self.points else {}


class Blocks:
    """Means of vectors over consecutive stretches of equal length."""

    def __init__(self) -> None:
        self.length = 1
        self.sums: list[np.ndarray] = []  # of each stretch; the last may be incomplete
        self.last = 0  # vectors in that one

    def add(self, W: np.ndarray) -> None:
        """Take the vectors of more rounds."""
        a = 0
        while a < len(W):
            if self.last == 0:
                self._room()
                self.sums.append(np.zeros(W.shape[1]))
            b = min(len(W), a + self.length - self.last)
            if len(self.sums[-1]) < W.shape[1]:
                self.sums[-1] = np.pad(self.sums[-1], (0, W.shape[1] - len(self.sums[-1])))
            self.sums[-1] = np.add.reduce(np.vstack([self.sums[-1], W[a:b]]))
            self.last = (self.last + b - a) % self.length
            a = b

    def _room(self) -> None:
        if len(self.sums) >= 2 * BLOCKS:
            width = len(self.sums[-1])
            whole = [np.pad(s, (0, width - len(s))) for s in self.sums]
            self.sums = [a + b for a, b in zip(whole[::2], whole[1::2], strict=True)]
            self.length *= 2

    def means(self) -> tuple[list[int], np.ndarray]:
        """Return how many rounds have passed at the end of each stretch, and the mean vector in it."""
        width = len(self.sums[-1])
        sizes = [self.length] * (len(self.sums) - 1) + [self.last or self.length]
        whole = np.array([np.pad(s, (0, width - len(s))) for s in self.sums])
        return np.cumsum(sizes).tolist(), whole / np.array(sizes)[:, None]
