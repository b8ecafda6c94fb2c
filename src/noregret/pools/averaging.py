"""A pool of regressors: they learn a standardised target, and the answer is the weighted mean of what they say."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from ..calibration.calibration import Calibration, Scores
from ..engine.compiling import compiled
from ..engine.words import strict
from ..families.least_squares import RLS
from ..inputs.checking import Rows
from ..learners.learner import Learner
from ..learners.model import Model
from .members import Member
from .pool import SLIGHT, Pool

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
    """Write what each learner advises: its score in the units of the target, at most `reach` ranges outside the range so far."""
    for i in range(F.shape[0]):
        mean, low, high = before[i, MEAN], before[i, LOW], before[i, HIGH]
        spread, room = deviation(before[i, COUNT], mean, before[i, SQUARES]), reach * (high - low)
        for k in range(F.shape[1]):
            P[i, k] = min(max(mean + spread * F[i, k], low - room), high + room)


@strict
def standardise(P: Array, before: Array, Z: Array) -> None:
    """Write advice less the mean so far over the deviation so far."""
    for i in range(P.shape[0]):
        mean = before[i, MEAN]
        spread = deviation(before[i, COUNT], mean, before[i, SQUARES])
        for k in range(P.shape[1]):
            Z[i, k] = (P[i, k] - mean) / spread if spread > 0.0 else 0.0


class AveragingPool(Pool):
    """Regressors whose answers are averaged, each with its weight.

    Three more are weighed with them: the mean so far, the last target, and the linear combination of what all of these say with
    the least squares so far, which is often better than each of them.
    """

    advice: ClassVar[tuple[str, ...]] = ("mean so far", "last target", "least squares of all")
    REACH = 0.5  # ranges of the targets by which an answer may leave their range: one wild answer must not cost more than all rows

    def begin(self) -> None:
        """Make the sums of the targets, and what combines the answers."""
        self.seen = np.zeros(6)
        self.combination = combination()
        self.calibration = self.uncalibrated()

    def kept(self) -> dict[str, np.ndarray]:
        """Return what changes from round to round beside the members."""
        return {**super().kept(), "targets": self.seen}

    def __setstate__(self, d: dict[str, Any]) -> None:
        super().__setstate__(d)
        self.seen = np.array(self.seen)

    def forget(self) -> None:
        """Let the members start over with the current features, labels and counts; their losses so far stay."""
        super().forget()
        self.combination = combination()

    def play(self, rows: Rows, y: np.ndarray, c: np.ndarray | None) -> np.ndarray:
        """Answer, then learn, each row in order; return the answers from before each update."""
        weights = np.ones(rows.n) if c is None else c
        z, before, was = np.empty(rows.n), np.empty((rows.n, len(self.seen))), self.seen.copy()
        compiled(follow)(np.asarray(y, np.float64), weights, self.seen, z, before)

        def hand(member: Member, part: Rows, at: slice) -> np.ndarray:
            return member.learn(part, z[at], None if c is None else c[at])

        try:
            f = self.members.learn(self.numbered(rows), self.weighing.awake, hand)
        except BaseException:
            self.seen[:] = was
            raise
        P = self._advice(f, before, lambda Z: self.combination.learn_many(Z, z, sample_weight=weights))
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
        """Return the answers of the present weights, given the scores of each member.

        The last target is left out, and a combination that depends on it: rows that are only answered may be far from it.
        """
        before = np.tile(self.seen, (len(f[0]), 1))
        before[:, LAST] = self.seen[MEAN]
        awake, last = self.weighing.awake.copy(), len(self.members) + 1
        awake[last] = False
        awake[-1] = self.combination.started and abs(self.combination.coef_[last]) < SLIGHT
        P = self._advice(f, before, self.combination.predict if self.combination.started else lambda Z: np.zeros(len(Z)))
        return self._mean(np.broadcast_to(self.weighing.among(awake), P.shape), P)

    def _advice(self, f: list[np.ndarray], before: np.ndarray, combine: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """Return what the members say, the mean so far, the last target and the combination of them, a column each."""

        def told(F: np.ndarray) -> np.ndarray:
            P = np.empty(F.shape)
            compiled(advise)(F, before, self.REACH, P)
            return P

        P = np.column_stack([told(np.column_stack([scores[:, 0] for scores in f])), before[:, [MEAN, LAST]]])
        Z = np.empty(P.shape)
        compiled(standardise)(P, before, Z)
        return np.column_stack([P, told(combine(Z).reshape(-1, 1))])

    def _mean(self, W: np.ndarray, P: np.ndarray) -> np.ndarray:
        out = np.empty((len(P), 1))
        compiled(weighted_mean)(np.ascontiguousarray(W), P, out)
        return out

    def idle(self) -> np.ndarray:
        """Return which members hardly count, alone and in the combination."""
        return super().idle() & (np.abs(self.combination.coef_[: len(self.members)]) < SLIGHT)

    # ---- files, reading ------------------------------------------------------------------------------------------------
    def within(self) -> list[Learner]:
        """Return the learners inside."""
        return [*super().within(), self.combination]

    def resume(self, learners: list[Any]) -> None:
        """Restore learners as they were saved."""
        super().resume(learners)
        self.combination = learners[-1]

    def models(self) -> list[tuple[str, Model]]:
        """Return the models inside, by name."""
        return super().models() + ([("combination", self.combination.model)] if self.combination.started else [])


def combination() -> RLS:
    """Return a learner of what is said by all."""
    return RLS(ridge=10.0, fit_intercept=False)


@strict
def weighted_mean(W: Array, P: Array, out: Array) -> None:
    """Write the mean of each row of P by the weights in W."""
    for i in range(P.shape[0]):
        total = 0.0
        for k in range(P.shape[1]):
            total += W[i, k] * P[i, k]
        out[i, 0] = total
