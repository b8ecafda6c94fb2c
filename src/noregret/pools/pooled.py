"""What can be read back from every learner that is made of learners."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from ..learners.learner import Learner
from .members import Member, members

THEOREMS = {
    "adahedge": "de Rooij et al. 2014, lemma 2",
    "hedge": "Cesa-Bianchi, Lugosi 2006, theorem 2.3",
    "fixed_share": "Herbster, Warmuth 1998, theorem 5",
    "bayes": "Cesa-Bianchi, Lugosi 2006, section 9.2",
    "mixture": "Herbster, Warmuth 1998, theorem 5",
}


class Pooled(Learner):
    """A learner whose model is a pool."""

    scale_free = True  # as far as one of the learners is: they are not looked at one by one
    sleeps: ClassVar[bool] = False  # whether learners that do not count may be put to sleep

    @classmethod
    def recommended(cls) -> list[Any]:
        """Return the pool that is used when none is given."""
        raise NotImplementedError

    @classmethod
    def pool(cls, given: dict[str, Any]) -> Any:
        """Return the learners, for these parameters."""
        return cls.recommended() if given.get("learners") is None else given["learners"]

    @property
    def nonnegative(self) -> bool:  # type: ignore[override]
        """Whether features below 0 are refused: where one of the learners has no place for them."""
        return any(member.learner.nonnegative for member in self._members())

    @property
    def draws(self) -> bool:  # type: ignore[override]
        """Whether one of the learners, or a map before it, draws numbers for each feature."""
        found = self._members()
        return any(m.learner.draws for m in found) or any(step.outputs is not None for m in found for step in m.maps)

    @property
    def has_schedule(self) -> bool:
        """Whether one of the learners has step sizes that change with the rounds."""
        return any(member.learner.has_schedule for member in self._members())

    def _members(self) -> list[Member]:
        return members(self.pool(self.get_params()), self.task)

    @property
    def learners_(self) -> list[Any]:
        """The learners of the pool."""
        return [member.learner for member in self.model.members]

    @property
    def weights_(self) -> np.ndarray:
        """The weights of the learners in the round to come."""
        return self._weighing.weights

    @property
    def losses_(self) -> np.ndarray:
        """The loss of each learner so far."""
        return self._weighing.losses

    @property
    def paid_(self) -> float:
        """The loss of the pool: of drawing a learner by the weights, or the log loss of the mixture."""
        return float(self._weighing.paid)

    @property
    def regret_(self) -> float:
        """What was paid beyond the loss of the best learner."""
        return float(self._weighing.regret)

    @property
    def bound_(self) -> float:
        """What the theorem allows the regret to be, infinite where it does not apply."""
        return float(self._weighing.bound)

    @property
    def bound_name_(self) -> str:
        """The theorem."""
        return THEOREMS[self._weighing.rule]

    @property
    def _weighing(self) -> Any:
        return self.model.weighing

    def report(self) -> dict[str, Any]:
        """Return rounds, mistakes of a vote, what was paid, the regret and its bound, and each learner with loss and weight."""
        found = zip([*map(repr, self.model.members), *self.model.advice], self.losses_, self.weights_, strict=True)
        pool = [{"learner": who, "loss": float(loss), "weight": float(w)} for who, loss, w in found]
        own: dict[str, Any] = {"examples": self.n_seen_}
        if self.task.labelled:
            own |= {"mistakes": self.n_mistakes_, "error": self.n_mistakes_ / max(self.n_seen_, 1)}
        name = {"bound_name": self.bound_name_} if math.isfinite(self.bound_) else {}
        return {**own, **self.standing(), **name, "learners": pool}

    def standing(self) -> dict[str, float]:
        """Return what was paid, the loss of the best learner, the regret between them and its bound."""
        return {"paid": self.paid_, "best": float(self.losses_.min()), "regret": self.regret_, "bound": self.bound_}
