"""A pool of classifiers: they vote, or their probabilities are mixed."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..algorithm.rounds import EXAMPLES, MISTAKES, SEEN, TIE
from ..calibration.calibration import Calibration, Scores
from ..calibration.coverage import Sets, levels_of
from ..inputs.checking import Rows
from ..inputs.labels import Labels
from ..learners.learner import Progress
from ..tasks.classes import answered
from .members import Member
from .mixture import Mixture
from .pool import Pool
from .weighing import votes


class VotingPool(Pool):
    """Classifiers whose answers are votes, each with its weight."""

    labels: Labels

    def begin(self) -> None:
        """Make what gives probabilities."""
        self.relabel()
        self.calibration = self.uncalibrated()

    def uncalibrated(self) -> Calibration | None:
        """Return what makes probabilities and sets, if they are asked for."""
        if self.given.get("coverage") is not None:
            return Sets(levels_of(self.given["coverage"]), self.probable(), self.known)
        return self.probable() if self.weighing.rule == "bayes" or self.given.get("probabilities") else None

    def probable(self) -> Calibration:
        """Return what makes probabilities of the members' scores."""
        return Mixture(len(self.members), self.known)

    @property
    def dims(self) -> dict[str, int]:
        """Sizes, as those of a Model."""
        return {**super().dims, "class": max(len(self.labels), 1) if self.many else 1}

    @property
    def by_classes(self) -> bool:
        """Whether a member depends on the number of classes."""
        return any(member.m.by_classes for member in self.members)

    @property
    def pairs_features(self) -> bool:
        """Whether a member has a cell for every pair of features."""
        return any(member.m.pairs_features for member in self.members)

    def expect(self, new: int) -> None:
        """Refuse labels for which a member has no room."""
        for member in self.members:
            member.m.expect(new)

    # ---- changes -----------------------------------------------------------------------------------------------------
    def relabel(self) -> None:
        """Follow new labels: a vote for each, if there are more than two."""
        declared = self.labels.declared
        if not self.many:
            self.tally[TIE] = self.labels.tie
            if declared:
                self.tally[SEEN] = 3
        if len(self.labels) > 2 and not self.many:
            self.many = True
            self.tally[SEEN] = len(self.labels) if declared else 0 if self.tally[EXAMPLES] == 0 else 2
        for member in self.members:
            member.m.relabel()

    # ---- running -----------------------------------------------------------------------------------------------------
    def play(self, rows: Rows, y: np.ndarray, c: np.ndarray | None) -> np.ndarray:
        """Answer, then learn, each row in order; return the votes from before each update. y: signs, or codes of many classes."""
        codes, learned = self.handed(rows, y, c)
        live = slice(None) if c is None or c.all() else np.flatnonzero(c)
        counted = [piece._replace(f=piece.f[live], y=codes[live]) for piece in learned]
        predicted = np.column_stack([answered(piece)[0] for piece in counted])
        weights = np.ones(len(predicted)) if c is None else c[live]
        wrong = predicted != codes[live][:, None]
        W = self.weighing.play(wrong.astype(np.float64), weights)
        mine = (self.many, int(self.tally[SEEN]), int(self.tally[TIE]), self.labels.positive)
        self.see(codes[live])
        out = np.zeros((rows.n, self.dims["class"]))
        out[live] = self._voted(W, predicted)
        if self.calibration is not None and self.calibration.pooled:
            self.calibration.learn([Scores(piece.f, piece.many, piece.positive) for piece in learned], codes, c)
        elif self.calibration is not None:
            self.calibration.learn(Scores(out, self.many, self.labels.positive), codes, c)
        self.tally[MISTAKES] += int((answered(Progress(out[live], codes[live], *mine))[0] != codes[live]).sum())
        if not isinstance(live, slice):
            rest = np.flatnonzero(c == 0.0)
            out[rest] = self.answer([piece.f[rest] for piece in learned])
        return out

    def handed(self, rows: Rows, y: np.ndarray, c: np.ndarray | None) -> tuple[np.ndarray, list[Progress]]:
        """Let the members learn rows, given signs or codes of many classes; return the codes, and what each member did."""
        positive = self.labels.positive
        codes, signs = (y, None) if self.many else (np.where(y > 0.0, positive, 1 - positive), y)
        known = [self._ready(member, signs is None) for member in self.members]

        def hand(member: Member, part: Rows, at: slice) -> np.ndarray:
            y = codes if member.m.many or signs is None else signs
            return member.learn(part, y[at], None if c is None else c[at])

        found = self.members.learn(self.numbered(rows), self.weighing.awake, hand)
        return codes, [Progress(f, codes, *k) for f, k in zip(found, known, strict=True)]

    def _ready(self, member: Member, many: bool) -> tuple[bool, int, int, int]:
        """Let a member know what the pool knows of classes; return what it knew before it learns."""
        m, labels = member.m, member.m.labels
        assert labels is not None
        if not m.many:
            m.tally[TIE] = self.tally[TIE]
        if many or m.many:
            m.relabel()
        return m.many, int(m.tally[SEEN]), int(m.tally[TIE]), labels.positive

    def see(self, codes: np.ndarray) -> None:
        """Count rows and the classes seen in them."""
        self.note(len(codes))
        if self.many:
            self.tally[SEEN] = max([self.tally[SEEN], *(codes + 1).tolist()])
        else:
            for bit, code in ((1, self.labels.positive), (2, 1 - self.labels.positive)):
                self.tally[SEEN] |= bit * bool((codes == code).any())

    # ---- one answer of many ------------------------------------------------------------------------------------------
    def answer(self, f: list[np.ndarray]) -> np.ndarray:
        """Return the votes of the present weights, given the scores of each member."""
        w = self.weighing.weights
        predicted = np.column_stack([member.learner.task.codes(member.m, s) for member, s in zip(self.members, f, strict=True)])
        return self._voted(np.broadcast_to(w, predicted.shape), predicted)

    def evidence(self, rows: Rows) -> Any:
        """Return of rows what the calibration learns from."""
        if self.calibration is None or not self.calibration.pooled:
            return super().evidence(rows)
        f = self.members.score(self.numbered(rows), self.weighing.awake)
        return [Scores(s, member.m.many, self.labels.positive) for s, member in zip(f, self.members, strict=True)]

    def _voted(self, W: np.ndarray, predicted: np.ndarray) -> np.ndarray:
        """Return the weight behind each class; with two, that behind the positive one less that behind the other."""
        counted = votes(W, predicted, max(len(self.labels), 2))
        if self.many:
            return counted
        positive = self.labels.positive
        return counted[:, [positive]] - counted[:, [1 - positive]]
