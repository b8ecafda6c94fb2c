"""Intervals and sets that hold the truth as often as asked for, on any sequence of rows in the long run.

One number u is tracked for each level: a miss moves it up by gamma (1 - alpha), anything else down by gamma alpha, so that the
misses telescope (Gibbs, Candès 2021; Angelopoulos, Candès, Tibshirani 2023). An interval is the answer ± r (e^u - 1), r a running
mean of the errors; a set holds the labels whose surprise -ln p is at most u.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from ..algorithm.params import Range
from ..engine.compiling import compiled
from ..engine.elementary import expm1, log, over
from ..engine.words import strict
from ..files.json_values import Tensors, expect
from .calibration import Calibration, Said, Scores, count
from .joining import mean

Array = np.ndarray
START = 1.0
INTERVAL_STEP, SET_STEP = 0.05, 0.1  # gamma
MEMORY = 0.99  # of the mean of errors
LARGEST = 1e300  # error
FARTHEST = 700.0  # u: e^u is finite
SUM, ROWS = range(2)  # scale: faded sum of the errors, and of ones
LEVEL = Range(0.0, 1.0)


def levels_of(coverage: Any) -> list[float]:
    """Return the levels asked for: one number, or a list of them."""
    given = list(coverage) if isinstance(coverage, (list, tuple, np.ndarray)) else [coverage]
    if not given:
        raise ValueError("coverage must be a number above 0 and below 1, or a list of them, got none")
    return [LEVEL.check("coverage", level) for level in given]


def reach(u: float, scale: Array) -> float:
    """Return how far an interval reaches from the answer: below 0 where it is the answer alone, infinite before any row."""
    return scale[SUM] / scale[ROWS] * expm1(min(u, FARTHEST)) if scale[ROWS] > 0.0 else math.inf


def moved(u: float, missed: bool, step: float, alpha: float) -> float:
    """Return the tracked number after a row."""
    return u + step * ((1.0 if missed else 0.0) - alpha)


@strict
def learn_intervals(f: Array, y: Array, c: Array, u: Array, scale: Array, alpha: Array, out: Array) -> None:
    """Write how far the interval of each row reaches at each level, then learn its target."""
    for i in range(f.shape[0]):
        e = min(abs(y[i] - f[i]), LARGEST)
        for k in range(u.shape[0]):
            out[i, k] = reach(u[k], scale)
            if c[i] > 0.0 and scale[ROWS] > 0.0:
                u[k] = moved(u[k], u[k] < 0.0 or e > out[i, k], INTERVAL_STEP, alpha[k])
        if c[i] > 0.0:
            scale[SUM] = MEMORY * scale[SUM] + e
            scale[ROWS] = MEMORY * scale[ROWS] + 1.0


@strict
def learn_sets(p: Array, told: Array, u: Array, alpha: Array, out: Array) -> None:
    """Write the surprise that a label of the set of each row may have, then learn from the probability of the one that came."""
    for i in range(p.shape[0]):
        for k in range(u.shape[0]):
            out[i, k] = u[k]
            if told[i]:
                u[k] = moved(u[k], -log(p[i]) > u[k], SET_STEP, alpha[k])


class Covering(Calibration):
    """What tracks a number for each level."""

    def __init__(self, levels: Sequence[float]) -> None:
        self.levels = list(levels)
        self.u = np.full(len(levels), START)

    @property
    def alpha(self) -> np.ndarray:
        """The shares of rows that may be missed."""
        return 1.0 - np.array(self.levels)

    def place(self, level: float) -> int:
        """Return which of the levels this is."""
        if level not in self.levels:
            raise ValueError(f"expected one of the levels {', '.join(map(str, self.levels))} of coverage, got {level}")
        return self.levels.index(level)

    def check(self, u: np.ndarray) -> None:
        """Refuse numbers that cannot be those of the levels."""
        sound = u.dtype == np.float64 and u.shape == self.u.shape and bool((np.abs(u) < 1e6).all())
        expect(sound, f"a number for each of {len(self.u)} levels of coverage", u)


class Intervals(Covering):
    """Intervals around the answers of a regressor."""

    def __init__(self, levels: Sequence[float]) -> None:
        super().__init__(levels)
        self.scale = np.zeros(2)

    def learn(self, scores: Scores, y: np.ndarray, c: np.ndarray | None) -> None:
        """Note how far the intervals of rows reach, then learn their targets."""
        self.said = None
        if not self.paused:
            out, weights = np.empty((len(y), len(self.u))), np.ones(len(y)) if c is None else np.asarray(c, np.float64)
            compiled(learn_intervals)(scores.one(), np.asarray(y, np.float64), weights, self.u, self.scale, self.alpha, out)
            self.said = Said(None, out)

    def told(self, scores: Scores, known: int) -> Said:
        """Return how far the intervals of rows reach; nothing changes."""
        found = np.array([reach(u, self.scale) for u in self.u.tolist()])
        return Said(None, np.broadcast_to(found, (count(scores), len(found))))

    def fresh(self, known: int) -> Self:
        """Return one that has learned nothing."""
        return type(self)(self.levels)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return every array of the state, by name."""
        return {"u": self.u, "scale": self.scale}

    def restore(self, tensors: Tensors, known: int) -> None:
        """Take the state from a file, every number of it checked."""
        expect(tensors.keys() == {"u", "scale"}, "the arrays u and scale of intervals", sorted(tensors))
        self.check(tensors["u"])
        scale = tensors["scale"]
        expect(scale.shape == (2,) and bool(np.isfinite(scale).all() and (scale >= 0.0).all()), "a scale of errors", scale)
        self.u, self.scale = np.array(tensors["u"]), np.array(scale, np.float64)

    def joined(self, parts: Sequence[Self], shares: Sequence[float], sums: bool, codes: Any, facing: Any) -> Self:
        """Return what parts come to: the mean of their levels, and of their errors."""
        found = self.fresh(0)
        found.u, found.scale = (mean([getattr(part, k) for part in parts], shares) for k in ("u", "scale"))
        return found


class Sets(Covering):
    """Sets of labels, by the probabilities of another calibration."""

    def __init__(self, levels: Sequence[float], inner: Calibration, known: int) -> None:
        super().__init__(levels)
        self.inner, self.pooled = inner, inner.pooled
        self.met = np.array([float(known)])  # how many classes are known

    def learn(self, scores: Any, y: np.ndarray, c: np.ndarray | None) -> None:
        """Note the probabilities of rows and the surprise that labels of their sets may have, then learn their codes."""
        self.said = None
        if self.paused:
            return
        p, live = self.inner.follow(scores, y, c), np.ones(len(y), bool) if c is None else c > 0.0
        met = np.maximum.accumulate(np.concatenate([self.met, np.where(live, y + 1.0, 0.0)]))
        told, self.met = live & (met[:-1] > 1.0) & (y < met[:-1]), met[-1:].copy()
        out = np.empty((len(y), len(self.u)))
        likely = np.ascontiguousarray(p[np.arange(len(y)), np.minimum(y, p.shape[1] - 1)])
        compiled(learn_sets)(likely, told, self.u, self.alpha, out)
        self.said = Said(p, out)

    def told(self, scores: Any, known: int) -> Said:
        """Return the probabilities of rows, and the surprise that labels of their sets may have; nothing changes."""
        return Said(self.forecast(scores, known), np.broadcast_to(self.u, (count(scores), len(self.u))))

    def of_known(self, scores: Any) -> np.ndarray:
        """Return the probabilities of the classes that are known."""
        return self.inner.of_known(scores)

    def fresh(self, known: int) -> Self:
        """Return one that has learned nothing, for a number of known classes."""
        return type(self)(self.levels, self.inner.fresh(known), known)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return every array of the state, by name."""
        return {"u": self.u, "met": self.met, **{f"inner.{k}": a for k, a in self.inner.arrays().items()}}

    def restore(self, tensors: Tensors, known: int) -> None:
        """Take the state from a file, every number of it checked."""
        u, met = tensors.pop("u"), tensors.pop("met")
        self.check(u)
        expect(met.shape == (1,) and bool(0.0 <= met[0] <= known), f"at most {known} classes", met)
        self.inner.restore({k.removeprefix("inner."): a for k, a in tensors.items()}, known)
        self.u, self.met = np.array(u), np.array(met, np.float64)

    def joined(self, parts: Sequence[Self], shares: Sequence[float], sums: bool, codes: Any, facing: Any) -> Self:
        """Return what parts come to: the mean of their levels, and their probabilities joined."""
        found = self.fresh(0)
        found.u = mean([part.u for part in parts], shares)
        found.inner = self.inner.joined([part.inner for part in parts], shares, sums, codes, facing)
        found.met = np.array([1.0 + max(code for own in codes for code in own)])
        return found


def continued(old: Calibration | None, new: Calibration | None) -> Calibration | None:
    """Return what new parameters ask for, with the probabilities that were learned under the old ones."""
    inner = getattr(old, "inner", old)
    if isinstance(new, Sets) and type(inner) is type(new.inner):
        new.inner = inner
    return inner if inner is not None and type(inner) is type(new) and not isinstance(new, Covering) else new


def members(p: np.ndarray, u: np.ndarray | float) -> np.ndarray:
    """Return which labels the set of each row holds: those that surprise by at most u, and always the most probable one."""
    held = -over(log, p) <= (u if np.isscalar(u) else np.asarray(u)[:, None])
    held[np.arange(len(p)), p.argmax(axis=1)] = True
    return np.asarray(held)
