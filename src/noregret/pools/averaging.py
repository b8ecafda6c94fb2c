"""A pool of regressors: they learn a standardised target, and the answer is the weighted mean of what they say."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..calibration.calibration import Calibration, Scores
from ..engine.compiling import compiled
from ..engine.words import strict
from ..inputs.checking import Rows
from .members import Member
from .pool import Pool

Array = np.ndarray
COUNT, MEAN, SQUARES, LOW, HIGH, LAST = range(6)  # of the targets so far
STILL = 1e-12  # a deviation below this share of the mean is rounding


@strict
def follow(y: Array, c: Array, seen: Array, z: Array, before: Array) -> None:
    """Write each target less the mean so far over the deviation so far (Welford 1962), and the targets' sums from before it."""
    for i in range(y.shape[0]):
        for k in range(seen.shape[0]):
            before[i, k] = seen[k]
        n, mean, squares = seen[COUNT], seen[MEAN], seen[SQUARES]
        if c[i] > 0.0:
            apart = y[i] - mean
            n += 1.0
            mean += apart / n
            squares += apart * (y[i] - mean)
            seen[LOW] = y[i] if n == 1.0 else min(seen[LOW], y[i])
            seen[HIGH] = y[i] if n == 1.0 else max(seen[HIGH], y[i])
            seen[COUNT], seen[MEAN], seen[SQUARES], seen[LAST] = n, mean, squares, y[i]
        spread = deviation(n, mean, squares)
        z[i] = (y[i] - mean) / spread if spread > 0.0 else 0.0


@strict
def deviation(n: float, mean: float, squares: float) -> float:
    """Return the standard deviation of n targets, 0 where rounding is all there is."""
    if n < 2.0:
        return 0.0
    spread = math.sqrt(squares / n)
    return spread if spread > STILL * abs(mean) else 0.0


@strict
def advise(F: Array, before: Array, reach: float, P: Array) -> None:
    """Write what each learner advises: its score in the units of the target, at most `reach` ranges outside the range so far.

    Two columns more are the mean so far and the last target.
    """
    for i in range(F.shape[0]):
        mean, low, high = before[i, MEAN], before[i, LOW], before[i, HIGH]
        spread, room = deviation(before[i, COUNT], mean, before[i, SQUARES]), reach * (high - low)
        K = F.shape[1]
        for k in range(K):
            P[i, k] = min(max(mean + spread * F[i, k], low - room), high + room)
        P[i, K] = mean
        P[i, K + 1] = before[i, LAST]


class AveragingPool(Pool):
    """Regressors whose answers are averaged, each with its weight; the mean so far and the last target are advice too."""

    advice = 2
    REACH = 0.5  # ranges of the targets by which an answer may leave their range: one wild answer must not cost more than all rows

    def begin(self) -> None:
        """Make the sums of the targets."""
        self.seen = np.zeros(6)
        self.calibration = self.uncalibrated()

    def kept(self) -> dict[str, np.ndarray]:
        """Return what changes from round to round beside the members."""
        return {**super().kept(), "targets": self.seen}

    def __setstate__(self, d: dict[str, Any]) -> None:
        super().__setstate__(d)
        self.seen = np.array(self.seen)

    def play(self, rows: Rows, y: np.ndarray, c: np.ndarray | None) -> np.ndarray:
        """Answer, then learn, each row in order; return the answers from before each update."""
        weights = np.ones(rows.n) if c is None else c
        z, before, was = np.empty(rows.n), np.empty((rows.n, len(self.seen))), self.seen.copy()
        compiled(follow)(np.asarray(y, np.float64), weights, self.seen, z, before)

        def hand(member: Member, part: Rows, at: slice) -> np.ndarray:
            return member.learn(part, z[at], None if c is None else c[at])

        try:
            f = self.members.learn(self.numbered(rows), hand)
        except BaseException:
            self.seen[:] = was
            raise
        P = self._advice(f, before)
        W = self.weighing.average(P, y, weights)
        self.note(int((weights > 0.0).sum()))
        out = self._mean(W, P)
        if self.calibration is not None:
            self.calibration.learn(Scores(out, False, 0), y, c)
        return out

    def uncalibrated(self) -> Calibration | None:
        """Return what makes intervals of answers, before it has learned anything."""
        return self.task.calibration(self.learner, self.given, 0)

    def answer(self, f: list[np.ndarray]) -> np.ndarray:
        """Return the answers of the present weights, given the scores of each member."""
        n = len(f[0])
        P = self._advice(f, np.broadcast_to(self.seen, (n, len(self.seen))))
        return self._mean(np.broadcast_to(self.weighing.weights, P.shape), P)

    def _advice(self, f: list[np.ndarray], before: np.ndarray) -> np.ndarray:
        F = np.column_stack([scores[:, 0] for scores in f])
        P = np.empty((len(F), F.shape[1] + self.advice))
        compiled(advise)(F, np.ascontiguousarray(before), self.REACH, P)
        return P

    def _mean(self, W: np.ndarray, P: np.ndarray) -> np.ndarray:
        out = np.empty((len(P), 1))
        compiled(weighted_mean)(np.ascontiguousarray(W), P, out)
        return out


@strict
def weighted_mean(W: Array, P: Array, out: Array) -> None:
    """Write the mean of each row of P by the weights in W."""
    for i in range(P.shape[0]):
        total = 0.0
        for k in range(P.shape[1]):
            total += W[i, k] * P[i, k]
        out[i, 0] = total
