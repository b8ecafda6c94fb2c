"""A task: a kind of problem. It checks targets, runs a step over rows, and makes answers of scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from ..algorithm.rounds import UnitCost
from ..calibration.calibration import Calibration
from ..inputs import checking
from ..inputs.labels import Labels
from .drivers import Text

ROOM = 1 << 22  # scores that are held at a time: 32 MB
TASKS: dict[str, Task] = {}


def in_runs(n: int, numbers: int) -> list[tuple[int, int]]:
    """Return runs of n rows that take bounded memory given the numbers that each needs."""
    size = max(1, ROOM // max(numbers, 1))
    return [(a, min(a + size, n)) for a in range(0, max(n, 1), size)]


class Task(str):
    """The text that users see, as in `learner.task`, with what the code asks of it.

    This one is a real score and an answer that is the score. `m` is a model, or anything with its labels, tally and `many`.
    """

    estimator: ClassVar[str]  # what scikit-learn calls its learners
    supervised: ClassVar[bool] = True  # whether there is a y
    labelled: ClassVar[bool] = False  # whether y are labels, which a model keeps a table of
    text: ClassVar[Text]  # the loops over rows
    __slots__ = ()

    def __new__(cls, name: str) -> Task:
        """Make the task known by its name."""
        return TASKS.setdefault(name, super().__new__(cls, name))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self),)

    def loops(self, many: bool) -> Text:
        """Return the loops over rows of a model with one score, or one for each class."""
        return self.text

    def targets(self, y: Any, n: int) -> np.ndarray:
        """Return what the step takes for the y of n rows, checked."""
        return checking.targets(y, n, numeric=True)

    def width(self, m: Any, y: Any) -> int:
        """Return at most how many scores a row has while rows with these y, or none, are learned."""
        return 1

    def in_room(self, m: Any, y: Any, n: int) -> list[tuple[int, int]]:
        """Return the runs of n rows, with these y or none, whose scores take bounded memory, however many classes there are."""
        return in_runs(n, self.width(m, y))

    def answer(self, m: Any, f: np.ndarray, known: int | None = None) -> Any:
        """Return the answer to one row, given its scores; `known` is the tally's note of the classes seen, if not that of now."""
        return float(f[0])

    def answers(self, m: Any, f: np.ndarray) -> np.ndarray:
        """Return the answer to each row, given its scores."""
        return f[:, 0]

    def margins(self, m: Any, f: np.ndarray) -> np.ndarray:
        """Return scores in the form of `decision_function`."""
        return f[:, 0]

    def calibration(self, algorithm: Any, given: Mapping[str, Any], known: int) -> Calibration | None:
        """Return what makes probabilities of scores, given the number of known classes; None where there is nothing to make."""
        return None

    def costs(self, algorithm: Any, given: Mapping[str, Any], labels: Labels) -> Any:
        """Return how rivals are chosen and the margins asked for."""
        return UnitCost()
