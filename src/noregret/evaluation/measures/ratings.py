"""Figures of ratings: errors within the scale, the line that offsets of users and items set, and hits among the top."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...engine.compiling import compiled
from ...engine.splitmix64 import STRIDE, mixed
from ...engine.words import strict
from ...inputs.checking import Rows
from ...inputs.events import clipped, running
from ...learners.learner import has_bias
from ...recommender import pairs_of
from ...transforms.table import Table
from .baselines import Baseline, Baselines, Frozen, real_baselines
from .figures import RealFigures, RowCosts

FEW = 5.0  # ratings of the mean that are added to those of each offset
UPPER = 0.8  # of the scale: what lies above is worth a recommendation
ASKED = 500  # ratings of which all are looked up; later ones are drawn, ever fewer


class RatingFigures(RealFigures):
    """Those of a regressor whose answers are kept within the scale of the ratings before them."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.low, self.high = np.inf, -np.inf

    def add(self, y: np.ndarray, f: np.ndarray, c: np.ndarray | None = None, blind: int = 0) -> RowCosts:
        """Take more rows: ratings, scores from before each update, weights; return what each cost."""
        f = np.asarray(f, np.float64).reshape(-1)
        if len(y) and len(f) == len(y):
            f = clipped(f, *running(y, self.low, self.high))
            self.low, self.high = min(self.low, float(y.min())), max(self.high, float(y.max()))
        return super().add(y, f, c, blind)

    def goes_on(self, before: RatingFigures) -> None:
        """Take over the scale of ratings before."""
        self.low, self.high = before.low, before.high


# ---- the line to beat ------------------------------------------------------------------------------------------------
def offset(j: int, mu: float, sums: Any, counts: Any) -> Any:
    """Return the mean of what one has above mu, drawn to 0 where ratings are few."""
    return (sums[j] - counts[j] * mu) / (FEW + counts[j]) if j >= 0 else 0.0


@strict
def walk(
    former: Any, latter: Any, y: Any, c: Any, known: Any, done: int, start: int, mean: Any, sums: Any, counts: Any, out: Any
) -> int:
    """Answer rows by mu and two offsets, each from the ratings known by then; return how many have been learned.

    An offset is that of the ratings without the other offset of each, as it was then.
    """
    late = y.shape[0] - out.shape[0]  # rows that were answered before
    for t in range(out.shape[0]):
        while done < known[t]:
            k = done - start
            i, j = former[k], latter[k]
            mu = mean[1] / mean[0] if mean[0] > 0.0 else 0.0
            a, b = offset(i, mu, sums, counts), offset(j, mu, sums, counts)
            mean[0] += c[k]
            mean[1] += c[k] * y[k]
            if i >= 0:
                counts[i] += c[k]
                sums[i] += c[k] * (y[k] - b)
            if j >= 0:
                counts[j] += c[k]
                sums[j] += c[k] * (y[k] - a)
            done += 1
        mu = mean[1] / mean[0] if mean[0] > 0.0 else 0.0
        out[t] = mu + offset(former[late + t], mu, sums, counts) + offset(latter[late + t], mu, sums, counts)
    return done


class Offsets(Baseline):
    """The mean, and running means of what each user and each item is above it, drawn to 0 where ratings are few."""

    figures: RatingFigures

    def __init__(self, making: Callable[[], RatingFigures]) -> None:
        super().__init__("running offsets", Frozen(0.0), making)
        self.learns = True
        self.mean, self.sums, self.counts = np.zeros(2), np.zeros(0), np.zeros(0)
        self.waiting = [np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0), np.zeros(0)]  # rows not learned yet

    def add(self, y: np.ndarray, c: np.ndarray | None, known: np.ndarray, rows: Rows | None = None) -> None:
        """Answer more rows, each from as many ratings as are known."""
        assert rows is not None
        now = [*ends_of(rows), np.asarray(y, np.float64), np.ones(len(y)) if c is None else c]
        more = max(int(now[0].max(initial=-1)), int(now[1].max(initial=-1))) + 1 - len(self.sums)
        self.sums, self.counts = (np.pad(a, (0, max(0, more))) for a in (self.sums, self.counts))
        if not self.learns:
            known = np.zeros(len(y), np.int64)
        former, latter, ys, cs = (np.concatenate(both) for both in zip(self.waiting, now, strict=True))
        out = np.empty(len(y))
        done = int(compiled(walk)(former, latter, ys, cs, known, self.start, self.start, self.mean, self.sums, self.counts, out))
        self.waiting = [a[done - self.start :] if self.learns else a[:0] for a in (former, latter, ys, cs)]
        self.start = done
        self.figures.add(y, out, c, 0 if self.informed else int(np.count_nonzero(known == 0)))

    def frozen(self) -> Baseline:
        """Return a baseline that answers by the ratings so far, all of which are known."""
        new = copy.deepcopy(self)
        former, latter, ys, cs = new.waiting
        known = np.full(1, new.start + len(ys))
        ends = (np.append(former, -1), np.append(latter, -1), np.append(ys, 0.0), np.append(cs, 0.0))
        compiled(walk)(*ends, known, new.start, new.start, new.mean, new.sums, new.counts, np.empty(1))
        new.waiting, new.start, new.learns, new.informed = [a[:0] for a in new.waiting], 0, False, True
        fresh: Any = self.making()
        fresh.goes_on(self.figures)
        new.figures, new.points = fresh, []
        return new


def ends_of(rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """Return the first and the last feature of each row, -1 where there is none; one alone is the last."""
    indptr, numbers, _ = rows.arrays
    sizes = np.diff(indptr)
    there = np.append(numbers.astype(np.int64), -1)
    latter = np.where(sizes > 0, there[indptr[1:] - 1], -1)
    return np.where(sizes > 1, there[indptr[:-1]], -1), latter


def rating_baselines(loss: str, epsilon: float, window: int | None, fading: float | None, delay: float) -> Baselines:
    """Return the baselines of ratings: those of real targets within the scale, and offsets."""

    def making() -> RatingFigures:
        return RatingFigures(window, fading, epsilon, loss)

    found = real_baselines(loss, epsilon, window, fading, delay)
    found.all = [Offsets(making), *found.all]
    return found


# ---- hits ------------------------------------------------------------------------------------------------------------
class Hits:
    """How often an item that a user rates highly is among the n that the learner would have listed before.

    Ratings in the upper fifth of the scale count, and those items that were rated before, but not by this user. All ratings of
    the first few hundred are looked up, of the others ever fewer, by draws; each of those stands for as many as it was drawn of.
    """

    def __init__(self, n: int) -> None:
        self.n = n
        self.low, self.high = np.inf, -np.inf
        self.worthy = self.asked = 0  # ratings in the upper fifth, and those looked up
        self.weight = self.found = 0.0
        self.items: dict[int, None] = {}  # by number, in the order of their first rating
        self.rated: dict[int, set[int]] = {}

    def stops(self, rows: Rows, y: np.ndarray, table: Table) -> Iterator[tuple[int, int, float, np.ndarray]]:
        """Yield which rows to take next, from a to b; then the weight of a rating to look up before the row at b, and its pair."""
        pairs, n, a = pairs_of(rows, table), rows.n, 0
        low, high = (np.asarray(v) for v in running(np.append(y, y[-1:]), self.low, self.high))
        low, high = low[1:], high[1:]  # this rating is part of the scale
        worthy = np.flatnonzero((y >= low + UPPER * (high - low)) & (pairs >= 0).all(1))
        count = np.arange(self.worthy + 1, self.worthy + 1 + len(worthy), dtype=np.uint64)
        self.worthy += len(worthy)
        bits: Any = count * STRIDE
        drawn = mixed(bits) / 2.0**64 * count < ASKED
        for t, k in zip(worthy[drawn].tolist(), count[drawn].tolist(), strict=True):
            self._learned(pairs[a:t])
            yield a, t, max(1.0, k / ASKED), pairs[t]
            a = t
        self._learned(pairs[a:])
        yield a, n, 0.0, pairs[-1]
        self.low, self.high = float(low[-1]), float(high[-1])

    def _learned(self, pairs: np.ndarray) -> None:
        """Note pairs that were rated."""
        for user, item in pairs[(pairs >= 0).all(1)].tolist():
            self.items.setdefault(item)
            self.rated.setdefault(user, set()).add(item)

    def ask(self, learner: Any, user: int, item: int, weight: float) -> None:
        """Look up a rating that the learner has not learned yet."""
        self.asked += 1
        self.weight += weight
        done = self.rated.get(user, set())
        if item not in self.items or item in done or not learner.started:
            return
        m = learner.model
        listed = np.array([i for i in self.items if i not in done], np.uint32)
        known = user < m.features.count
        sides = [listed] if not known else [np.full(len(listed), user, np.uint32), listed]
        flat = np.column_stack(sides).reshape(-1) + np.uint32(has_bias(learner))
        indptr = np.arange(0, len(flat) + 1, len(sides))
        f = np.asarray(m.score(Rows("csr", (indptr, flat, np.ones(len(flat))), len(listed), m.features.size)))[:, -1]
        at = int(np.flatnonzero(listed == item)[0])
        before = int(np.count_nonzero(f > f[at])) + int(np.count_nonzero(f[:at] == f[at]))
        self.found += weight * (before < self.n)

    def metrics(self) -> dict[str, float | None]:
        """Return the share of hits."""
        return {"hit_rate": self.found / self.weight if self.weight else None}

    def to_dict(self) -> dict[str, Any]:
        """Return how it was found out."""
        return {"top": self.n, "worthy": self.worthy, "asked": self.asked}
