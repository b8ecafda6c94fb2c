"""One-class learning: no labels; an example inside what was learned is an inlier (+1), one outside an outlier (-1)."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ..learners.learner import Learner
from ..learners.task import Task
from .compact import Compactable
from .loops import ONE_SCORE


class Novelty(Task):
    """No target: +1 inside, -1 outside."""

    estimator = "outlier_detector"
    supervised = False
    text = ONE_SCORE
    __slots__ = ()

    def targets(self, y: Any, n: int) -> np.ndarray:
        """Return ones; y is ignored."""
        return np.ones(n)

    def answer(self, m: Any, f: np.ndarray, known: int | None = None) -> int:
        """Return +1 for an inlier, -1 for an outlier."""
        return 1 if f[0] >= 0.0 else -1

    def answers(self, m: Any, f: np.ndarray) -> np.ndarray:
        """Return +1 for inliers, -1 for outliers."""
        return np.where(f[:, 0] >= 0.0, 1, -1)


ONE_CLASS = Novelty("one_class")


class OneClass(Compactable):
    """A learner of what is normal."""

    task: ClassVar[Any] = ONE_CLASS
    _estimator_type = ONE_CLASS.estimator
    options: ClassVar[dict[str, Any]] = {"fit_intercept": False, **Learner.options}

    def fit_predict(self, X: Any, y: Any = None) -> np.ndarray:
        """Fit, then say which of the rows are inliers."""
        return self.fit(X).predict(X)

    def decision_function(self, X: Any) -> np.ndarray:
        """Return how far inside each row is: above 0 for inliers."""
        return self._scores(X)[:, 0]

    def score_samples(self, X: Any) -> np.ndarray:
        """Return the same as `decision_function`: the threshold is learned, there is no offset."""
        return self.decision_function(X)

    @property
    def offset_(self) -> float:
        """0: the threshold is inside the score."""
        return 0.0

    def predict(self, X: Any) -> np.ndarray:
        """Return +1 for inliers, -1 for outliers."""
        f = self._scores(X)
        found: np.ndarray = self.task.answers(self.model, f)
        return found

    @property
    def coef_(self) -> Any:
        """The centre, or the weights."""
        return self._read(self._all_weights()[0][0])
