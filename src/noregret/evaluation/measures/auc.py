"""The area under the ROC curve of a stream of scores, in bounded memory.

Scores are kept as sorted distinct values, each with the weight of the rows of the class and of the others. While there are at
most 65,536 distinct values the area is exact. Beyond, the lowest bits of all of them are dropped until they fit (at first one part
in 2^52 of a score, about one in 2^12 for a million normal scores); scores that fall together count as ties, half. How far depends
on the set of scores only, not on the order or the split of the stream.
"""

from __future__ import annotations

from typing import Self

import numpy as np

VALUES = 1 << 16
PENDING = 1 << 18  # scores gathered before they are sorted in
ROOMY = 4  # possible keys a score up to which they are counted in a table and not sorted


class Ranking:
    """The scores of one class against the rest."""

    def __init__(self) -> None:
        self.keys = np.zeros(0, np.uint64)
        self.sums = np.zeros((2, 0))  # weight of the others, of the class
        self.dropped = 0  # low bits
        self.pending: list[tuple[np.ndarray, np.ndarray, np.ndarray | None]] = []
        self.waiting = 0
        self.spoilt = False  # by a score that is not a number

    def add(self, f: np.ndarray, of_class: np.ndarray, c: np.ndarray | None) -> None:
        """Take more scores."""
        keys = sortable(f)
        self.spoilt |= bool(len(f)) and bool(np.isnan(f.sum())) and bool(np.isnan(f).any())
        self.pending.append((keys, of_class.copy(), None if c is None else c.copy()))
        self.waiting += len(keys)
        if self.waiting >= PENDING:
            self.fold()

    def fold(self) -> None:
        """Sort in what waits."""
        if not self.waiting:
            return
        keys = np.concatenate([k for k, _, _ in self.pending]) >> np.uint64(self.dropped)
        of_class = np.concatenate([t for _, t, _ in self.pending])
        weights = [w for _, _, w in self.pending]
        if any(w is not None for w in weights):
            c = np.concatenate([np.ones(len(k)) if w is None else w for k, _, w in self.pending])
            sums = np.stack([np.where(of_class, 0.0, c), np.where(of_class, c, 0.0)])
        else:
            keys, sums = counted(keys, of_class)
        self.pending, self.waiting = [], 0
        self._join(keys, sums)

    def _join(self, keys: np.ndarray, sums: np.ndarray) -> None:
        self.keys, self.sums = grouped(np.concatenate([self.keys, keys]), np.concatenate([self.sums, sums], axis=1))
        more = surplus(self.keys)
        if more:
            self.dropped += more
            self.keys, self.sums = grouped(self.keys >> np.uint64(more), self.sums)

    def __iadd__(self, other: Ranking) -> Self:
        """Take the scores of another."""
        self.fold()
        other.fold()
        if other.dropped > self.dropped:
            self.keys, self.sums = grouped(self.keys >> np.uint64(other.dropped - self.dropped), self.sums)
            self.dropped = other.dropped
        self._join(other.keys >> np.uint64(self.dropped - other.dropped), other.sums)
        self.spoilt |= other.spoilt
        return self

    def mirrored(self) -> Ranking:
        """Return the ranking of the others by the scores with their signs changed."""
        self.fold()
        other = Ranking()
        zero = np.uint64(1 << (63 - self.dropped))
        keys = np.where(self.keys == zero, zero, np.uint64(0xFFFFFFFFFFFFFFFF >> self.dropped) - self.keys)
        other.keys, other.sums = grouped(keys, self.sums[::-1])
        other.dropped, other.spoilt = self.dropped, self.spoilt
        return other

    def area(self) -> float | None:
        """Return the chance that a row of the class scores above one of the others, ties half; None where there is no pair."""
        self.fold()
        others, own = self.sums
        pairs = others.sum() * own.sum()
        if pairs == 0.0 or self.spoilt:
            return None
        below = np.cumsum(others) - 0.5 * others
        return float(own @ below / pairs)


def sortable(f: np.ndarray) -> np.ndarray:
    """Return scores as unsigned integers in the same order; 0 and -0 are one."""
    bits = (f.astype(np.float64) + 0.0).view(np.uint64)
    return np.where(bits >> np.uint64(63), ~bits, bits | np.uint64(1 << 63))


def surplus(ordered: np.ndarray) -> int:
    """Return how many low bits to drop from keys in order, so that few enough are left."""
    if len(ordered) <= VALUES:
        return 0
    differing = np.bitwise_xor(ordered[1:], ordered[:-1])
    low, high = 1, 64
    while low < high:  # keys stay apart if they differ above the bits dropped
        middle = (low + high) // 2
        if 1 + np.count_nonzero(differing >> np.uint64(middle)) > VALUES:
            low = middle + 1
        else:
            high = middle
    return low


def grouped(keys: np.ndarray, sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct keys in order, and the sums of each."""
    order = np.argsort(keys, kind="stable")  # merges runs that are in order already
    keys = keys[order]
    first = starts(keys)
    return keys[first], np.add.reduceat(sums[:, order], first, axis=1) if len(keys) else sums


def counted(keys: np.ndarray, of_class: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return keys, once or twice each, and how many rows each has of the others and of the class."""
    low, high = (int(keys.min()), int(keys.max())) if len(keys) else (0, 0)
    if high - low < ROOMY * len(keys):  # a place for each possible key costs less than sorting
        cells = np.bincount(2 * (keys - np.uint64(low)).astype(np.int64) + of_class, minlength=2 * (high - low + 1)).reshape(-1, 2)
        found = np.flatnonzero(cells[:, 0] | cells[:, 1])
        return found.astype(np.uint64) + np.uint64(low), cells[found].T.astype(np.float64)
    parts = []
    for k, mine in enumerate((~of_class, of_class)):
        own = np.sort(keys[mine])
        first = starts(own)
        sums = np.zeros((2, len(first)))
        sums[k] = np.diff(first, append=len(own))
        parts.append((own[first], sums))
    return np.concatenate([k for k, _ in parts]), np.concatenate([c for _, c in parts], axis=1)


def starts(ordered: np.ndarray) -> np.ndarray:
    """Return where each value of an ordered array begins."""
    return np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])[: len(ordered)])
