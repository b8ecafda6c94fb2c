"""One-class learning: no labels; an example inside what was learned is an inlier (+1), one outside an outlier (-1)."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ..core.learner import Learner
from ..core.model import Model


class OneClass(Learner):
    """A learner of what is normal."""

    task: ClassVar[str] = "one_class"
    _estimator_type = "outlier_detector"
    options: ClassVar[dict[str, Any]] = {"fit_intercept": False, **Learner.options}

    def _targets(self, y: Any, n: int) -> np.ndarray:
        return np.ones(n)  # y is ignored

    def _said(self, m: Model, f: np.ndarray) -> int:
        return 1 if f[0] >= 0.0 else -1

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
        return np.where(self.decision_function(X) >= 0.0, 1, -1)

    @property
    def coef_(self) -> Any:
        """The centre, or the weights."""
        return self._read(self._all_weights()[0][0])
