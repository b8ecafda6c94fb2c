"""A pool of classifiers that answers with probabilities: each learner is calibrated, and what they say is mixed."""

from __future__ import annotations

import copy
from typing import Any, ClassVar

import numpy as np

from ..algorithm.rounds import MISTAKES, SEEN, TIE
from ..calibration.calibration import Calibration, Linked, Scores, widened
from ..calibration.platt import LEAST
from ..engine.elementary import log, over
from ..files.json_values import Tensors
from ..inputs.checking import Rows
from ..learners.learner import Progress
from ..tasks.classes import answered
from .mixture import Advised, Mixture
from .pool import SLIGHT
from .voting import VotingPool


class MixingPool(VotingPool):
    """Classifiers whose calibrated probabilities are mixed."""

    mixture: Mixture

    def begin(self) -> None:
        """Make the forecasters."""
        super().begin()
        self.mixture = self.unmixed()

    def unmixed(self) -> Mixture:
        """Return the mixture, before it has learned anything."""
        return Mixture(len(self.members), self.known, self.weighing)

    def probable(self) -> Calibration:
        """Return what makes probabilities of the answers, which are log odds already."""
        return Linked("log_odds")

    def forget(self) -> None:
        """Let the members start over with the current features, labels and counts; their losses so far stay."""
        super().forget()
        self.mixture = self.unmixed()

    # ---- running -----------------------------------------------------------------------------------------------------
    def play(self, rows: Rows, y: np.ndarray, c: np.ndarray | None) -> np.ndarray:
        """Answer, then learn, each row in order; return the log odds from before each update."""
        codes, learned = self.handed(rows, y, c)
        weights = np.ones(rows.n) if c is None else np.asarray(c, np.float64)
        mine = (self.many, int(self.tally[SEEN]), int(self.tally[TIE]), self.labels.positive)
        again = self.calibration is not None and self.calibration.paused
        scores = [Scores(piece.f, piece.many, piece.positive) for piece in learned]
        out = self._odds(self.mixture.of_known(scores) if again else self.mixture.follow(scores, codes, weights))
        live = weights > 0.0
        self.see(codes[live])
        self.tally[MISTAKES] += int((answered(Progress(out[live], codes[live], *mine))[0] != codes[live]).sum())
        if self.calibration is not None:
            self.calibration.learn(Scores(out, self.many, self.labels.positive), codes, c)
        return out

    def answer(self, f: list[np.ndarray]) -> np.ndarray:
        """Return the log odds of the present weights, given the scores of each member."""
        positive = self.labels.positive
        return self._odds(self.mixture.of_known([Scores(s, own.m.many, positive) for s, own in zip(f, self.members, strict=True)]))

    def _odds(self, p: np.ndarray) -> np.ndarray:
        """Return the log odds of the positive of two classes, or the logarithm of each of many."""
        logs = over(log, np.maximum(widened(p, self.known), LEAST))
        if self.many:
            return logs[:, : self.dims["class"]]
        positive = self.labels.positive
        return logs[:, [positive]] - logs[:, [1 - positive]]

    def __setstate__(self, d: dict[str, Any]) -> None:
        super().__setstate__(d)
        self.mixture = copy.deepcopy(self.mixture)  # a memory map is read-only
        self.mixture.weighing = self.weighing

    # ---- files, reading ------------------------------------------------------------------------------------------------
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
        return self.mixture.of_calibrators("forecaster")

    def unpack(self, tensors: Tensors) -> None:
        """Take what this kind of pool adds from the tensors of a file."""
        self.mixture.restore_calibrators("forecaster", tensors, self.known)


class AdvisedPool(MixingPool):
    """Such a pool that also mixes the last label, and the combination of all, which may be better than each."""

    advice: ClassVar[tuple[str, ...]] = ("last label", "combination of all")
    mixture: Advised

    def unmixed(self) -> Advised:
        """Return the mixture, before it has learned anything."""
        return Advised(len(self.members), self.known, self.weighing)

    def idle(self) -> np.ndarray:
        """Return which members hardly count, alone and in the combination."""
        return super().idle() & (np.abs(self.mixture.combination.w[: len(self.members)]) < SLIGHT)

    def kept(self) -> dict[str, np.ndarray]:
        """Return what changes from round to round beside the members."""
        mine = {"last": self.mixture.last.arrays(), "combination": self.mixture.combination.arrays()}
        return {**super().kept(), **{f"{who}.{k}": a for who, found in mine.items() for k, a in found.items()}}

    def unpack(self, tensors: Tensors) -> None:
        """Take what this kind of pool adds from the tensors of a file."""
        super().unpack(tensors)
        last, combination = self.mixture.last, self.mixture.combination
        last.restore({k: a.copy() for k, a in last.arrays().items()}, self.known)
        combination.restore({k: a.copy() for k, a in combination.arrays().items()})
