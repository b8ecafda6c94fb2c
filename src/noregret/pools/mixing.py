"""A pool of classifiers that answers with probabilities: each learner is calibrated, and what they say is mixed."""

from __future__ import annotations

import copy
from typing import Any, ClassVar

import numpy as np

from ..algorithm.rounds import MISTAKES, SEEN, TIE
from ..calibration.calibration import Calibration, Linked, Scores, widened
from ..calibration.calibrator import Calibrator
from ..calibration.combination import Combination
from ..calibration.last_label import LastLabel
from ..calibration.mixture import mixed
from ..calibration.platt import LEAST
from ..engine.elementary import log, over
from ..files.json_values import Tensors
from ..inputs.checking import Rows
from ..learners.learner import Progress
from ..tasks.classes import answered
from .pool import SLIGHT
from .voting import VotingPool

ROOM = 1 << 20  # probabilities of all forecasters that are held at a time: 8 MB


class MixingPool(VotingPool):
    """Classifiers whose calibrated probabilities are mixed by fixed share.

    Two more forecasters are mixed with them: the last label, and the combination of all these, which may be better than each.
    """

    advice: ClassVar[tuple[str, ...]] = ("last label", "combination of all")

    def begin(self) -> None:
        """Make the forecasters."""
        super().begin()
        self._begin_forecasts()

    def _begin_forecasts(self) -> None:
        self.forecasters = [Calibrator(self.known) for _ in self.members]
        self.last, self.combination = LastLabel(), Combination(len(self.members) + 1)

    def probable(self) -> Calibration:
        """Return what makes probabilities of the answers, which are log odds already."""
        return Linked("log_odds")

    def forget(self) -> None:
        """Let the members start over with the current features, labels and counts; their losses so far stay."""
        super().forget()
        self._begin_forecasts()

    # ---- running -----------------------------------------------------------------------------------------------------
    def play(self, rows: Rows, y: np.ndarray, c: np.ndarray | None) -> np.ndarray:
        """Answer, then learn, each row in order; return the log odds from before each update."""
        codes, learned = self.handed(rows, y, c)
        weights = np.ones(rows.n) if c is None else np.asarray(c, np.float64)
        mine = (self.many, int(self.tally[SEEN]), int(self.tally[TIE]), self.labels.positive)
        again = self.calibration is not None and self.calibration.paused
        out = np.empty((rows.n, self.dims["class"]))
        for a, b in self._runs(rows.n):
            part = [piece._replace(f=piece.f[a:b]) for piece in learned]
            p = self._forecast([piece.f for piece in part]) if again else self._follow(part, codes[a:b], weights[a:b])
            out[a:b] = self._odds(p)
        live = weights > 0.0
        self.see(codes[live])
        self.tally[MISTAKES] += int((answered(Progress(out[live], codes[live], *mine))[0] != codes[live]).sum())
        if self.calibration is not None:
            self.calibration.learn(Scores(out, self.many, self.labels.positive), codes, c)
        return out

    def answer(self, f: list[np.ndarray]) -> np.ndarray:
        """Return the log odds of the present weights, given the scores of each member."""
        n = len(f[0])
        return np.concatenate([self._odds(self._forecast([s[a:b] for s in f])) for a, b in self._runs(n)])

    def _runs(self, n: int) -> list[tuple[int, int]]:
        size = max(1, ROOM // (max(self.known, 2) * (len(self.members) + len(self.advice))))
        return [(a, min(a + size, n)) for a in range(0, max(n, 1), size)]

    def _follow(self, learned: list[Progress], y: np.ndarray, c: np.ndarray) -> np.ndarray:
        """Return the probabilities of rows by code, from before each is learned."""
        awake, K = self.weighing.awake, max(self.known, 2)
        told = [
            own.follow(Scores(piece.f, piece.many, piece.positive), y, c) if here else np.zeros((len(y), K))
            for own, piece, here in zip(self.forecasters, learned, awake, strict=False)
        ]
        told = [widened(p, K) for p in told]
        known = np.max([(p > 0.0).sum(axis=1) for p in told], axis=0)
        told.append(self.last.follow(y, c, known, K))
        P = np.stack(told, axis=1)
        told.append(self.combination.follow(P, y, c, awake[:-1]))
        likely = np.column_stack([p[np.arange(len(y)), y] for p in told])
        losses = -over(log, np.maximum(likely, LEAST))
        W = self.weighing.play(losses, np.where(y < known, c, 0.0))  # nobody could forecast a class that nobody knew
        return mixed(W, told)

    def _forecast(self, f: list[np.ndarray]) -> np.ndarray:
        """Return the probabilities of rows by code; nothing changes.

        The last label is left out: rows that are only answered may be far from it.
        """
        awake, K, n = self.weighing.awake.copy(), max(self.known, 2), len(f[0])
        awake[len(self.members)] = False
        told = [
            widened(own.of_known(Scores(s, member.m.many, self.labels.positive)), K) if here else np.zeros((n, K))
            for own, s, member, here in zip(self.forecasters, f, self.members, awake, strict=False)
        ]
        told.append(np.zeros((n, K)))
        told.append(self.combination.forecast(np.stack(told, axis=1), awake[:-1]))
        return mixed(np.broadcast_to(self.weighing.among(awake), (n, len(told))), told)

    def _odds(self, p: np.ndarray) -> np.ndarray:
        """Return the log odds of the positive of two classes, or the logarithm of each of many."""
        logs = over(log, np.maximum(p, LEAST))
        if self.many:
            return logs[:, : self.dims["class"]]
        positive = self.labels.positive
        return logs[:, [positive]] - logs[:, [1 - positive]]

    def idle(self) -> np.ndarray:
        """Return which members hardly count, alone and in the combination."""
        return super().idle() & (np.abs(self.combination.w[: len(self.members)]) < SLIGHT)

    def __setstate__(self, d: dict[str, Any]) -> None:
        super().__setstate__(d)
        kept = self.forecasters, self.last, self.combination
        self.forecasters, self.last, self.combination = copy.deepcopy(kept)  # a memory map is read-only

    # ---- files, reading ------------------------------------------------------------------------------------------------
    def kept(self) -> dict[str, np.ndarray]:
        """Return what changes from round to round beside the members."""
        own = {f"last.{k}": a for k, a in self.last.arrays().items()}
        return {**super().kept(), **own, **{f"combination.{k}": a for k, a in self.combination.arrays().items()}}

    def pack(self) -> tuple[dict[str, Any], Tensors]:
        """Return the pool as metadata and tensors."""
        meta, tensors = super().pack()
        return meta, tensors | self._forecasts()

    def arrays(self) -> dict[str, np.ndarray]:
        """Return every array that has a meaning between rounds, by its dotted path."""
        return super().arrays() | self._forecasts()

    def used(self) -> dict[str, np.ndarray]:
        """Return them without spare room."""
        return super().used() | self._forecasts()

    def _forecasts(self) -> dict[str, np.ndarray]:
        return {f"forecaster{k}.{name}": a for k, m in enumerate(self.forecasters) for name, a in m.arrays().items()}

    def unpack(self, tensors: Tensors) -> None:
        """Take what this kind of pool adds from the tensors of a file."""
        self.last.restore({k: a.copy() for k, a in self.last.arrays().items()}, self.known)
        self.combination.restore({k: a.copy() for k, a in self.combination.arrays().items()})
        for k, m in enumerate(self.forecasters):
            start = f"forecaster{k}."
            m.restore({n.removeprefix(start): tensors.pop(n) for n in list(tensors) if n.startswith(start)}, self.known)
