"""Regression: real targets, one score."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ..learners.learner import Learner
from ..learners.task import Task
from ..parts.losses import RealLoss
from .compact import Compactable
from .loops import ONE_SCORE


class Regression(Task):
    """A real target, answered with the score."""

    estimator = "regressor"
    text = ONE_SCORE
    __slots__ = ()


REGRESSION = Regression("regression")


class Regressor(Compactable):
    """A learner of real numbers."""

    task: ClassVar[Any] = REGRESSION
    _estimator_type = REGRESSION.estimator
    types: ClassVar[dict[str, Any]] = {"loss": RealLoss}
    options: ClassVar[dict[str, Any]] = {"fit_intercept": True, "average": False, **Learner.options}

    def predict(self, X: Any) -> np.ndarray:
        """Return the prediction for each row."""
        return self._scores(X)[:, 0]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R^2, the share of the variance of y that is explained."""
        p, y = self.predict(X), np.asarray(y, np.float64)
        c = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, np.float64)
        spread = float((c * (y - np.average(y, weights=c)) ** 2).sum())
        rest = float((c * (y - p) ** 2).sum())
        return 1.0 - rest / spread if spread > 0.0 else float(rest == 0.0)

    @property
    def coef_(self) -> Any:
        """The weights."""
        return self._read(self._all_weights()[0][0])

    @property
    def intercept_(self) -> float:
        """The weight of the constant feature."""
        return float(self._all_weights()[1][0])
