"""Rows kept from a pass over a stream, and what must be known of all of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import numpy as np

from ...algorithm.bounds import lengths_of, matrix, peaks_of, squared
from ...inputs.checking import Rows

Chunk = tuple[Rows, np.ndarray, np.ndarray | None]  # rows; signs, targets or codes; weights or None
Passes = Callable[[], Iterable[Chunk]]

KEPT = 2**26  # bytes of rows kept from the first pass
LARGEST = 1e300  # sum of squares that can still be multiplied


class Sample:
    """Rows kept from a pass, within a limit in bytes: all of them, or each with the same chance; and what must be known of all.

    A caller that reads the stream anyway can `add` its chunks here, and save a pass.
    """

    def __init__(self, kept: int = KEPT) -> None:
        self.kept, self.bytes, self.chance = kept, 0, 1.0
        self.chunks: list[Chunk] = []
        self.random = np.random.default_rng(0)
        self.n = self.width = self.nnz = 0
        self.weight = self.squares = self.targets = 0.0  # sums of c, c |x|^2, c y^2
        self.peaks = np.zeros(2)  # sums of c |x|_inf^2, of the row alone and with the constant feature

    def add(self, rows: Rows, y: np.ndarray, c: np.ndarray | None = None) -> None:
        """Count these rows, and keep some."""
        self.n += rows.n
        self.width = max(self.width, rows.width)
        weights = np.ones(rows.n) if c is None else c
        self.weight += float(weights.sum())
        peaks = peaks_of(rows)
        with np.errstate(over="ignore"):  # `measurable` tells
            self.squares += float(weights @ lengths_of(rows) ** 2)
            self.targets += float(weights @ np.asarray(y, np.float64) ** 2)
            self.peaks += float(weights @ peaks**2), float(weights @ np.maximum(peaks, 1.0) ** 2)
        self.nnz += int(rows.stored()[-1] - rows.stored()[0])
        self._keep((rows, y, c) if self.chance == 1.0 else self._thin((rows, y, c), self.chance))
        while self.bytes > self.kept:
            self.chance *= 0.5
            chunks, self.chunks, self.bytes = self.chunks, [], 0
            for chunk in chunks:
                self._keep(self._thin(chunk, 0.5))

    def _keep(self, chunk: Chunk) -> None:
        rows, y, c = chunk
        if rows.n:
            arrays = tuple(np.array(a) for a in _own(rows))  # a reader may use its buffers again
            self.chunks.append((rows._replace(arrays=arrays), np.array(y), None if c is None else np.array(c)))
            self.bytes += sum(a.nbytes for a in arrays) + 16 * rows.n

    def _thin(self, chunk: Chunk, chance: float) -> Chunk:
        rows, y, c = chunk
        at = np.flatnonzero(self.random.random(rows.n) < chance)
        weights = np.ones(rows.n) if c is None else c
        return rows.take(at), y[at], weights[at] / chance

    @property
    def complete(self) -> bool:
        """Whether every row is here, in order."""
        return self.chance == 1.0

    @property
    def measurable(self) -> bool:
        """Whether the rows have a size: all squares are numbers, with room to multiply them."""
        return max(self.squares, self.targets) < LARGEST

    def typical(self, bias: bool, norm: str = "l2") -> float:
        """Return the root mean square of how far a model of length 1 in this norm reaches: of |x|, or of |x|_inf for "l1"."""
        if self.weight <= 0.0:
            return 0.0
        return math.sqrt(self.peaks[int(bias)] / self.weight if norm == "l1" else self.squares / self.weight + bias)

    def scale(self, bias: bool) -> np.ndarray:
        """Return sums of c x_j^2 over the rows kept, relative to the largest; the mean is added, for features not met here."""
        sums = np.zeros(self.width + bias)
        for rows, _, c in self.chunks:
            weights = np.ones(rows.n) if c is None else c
            X = matrix(squared(rows), self.width)
            sums[: X.shape[1]] += X.T @ weights
            sums[self.width :] += weights.sum()
        sums += sums.mean() if sums.any() else 1.0
        return sums / sums.max()

    def size_of_targets(self) -> float:
        """Return the root mean square of the targets."""
        return math.sqrt(self.targets / self.weight) if self.weight > 0.0 else 1.0


def _own(rows: Rows) -> tuple[np.ndarray, ...]:
    if rows.layout == "dense":
        return rows.arrays
    indptr, indices, data = rows.arrays
    a, b = int(indptr[0]), int(indptr[-1])
    return indptr - indptr[0], indices[a:b], data[a:b]


def sampled(passes: Passes, kept: int = KEPT) -> Sample:
    """Return a sample of a stream, by a pass over it."""
    found = Sample(kept)
    for rows, y, c in passes():
        found.add(rows, y, c)
    return found
