"""One-class learning: no labels; an example inside what was learned is an inlier (+1), one outside an outlier (-1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from ..core import inputs
from ..core.inputs import Rows
from ..core.learner import Learner, is_dicts
from ..core.model import Model
from .classification import one_row, without_zeros


class OneClass(Learner):
    """A learner of what is normal."""

    task: ClassVar[str] = "one_class"
    _estimator_type = "outlier_detector"
    options: ClassVar[dict[str, Any]] = {"fit_intercept": False, **Learner.options}

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from rows in order; y is ignored."""
        if is_dicts(X):
            for x in X:
                (self._m.features if "_m" in self.__dict__ else self._features(None)).row(x, False)
            c = inputs.sample_weights(sample_weight, len(X))
            for i, x in enumerate(X):
                self.learn_one(x, w=1.0 if c is None else float(c[i]))
            return self
        rows = self._check(X)
        rows, y, c = without_zeros(rows, np.ones(rows.n), inputs.sample_weights(sample_weight, rows.n))
        if rows.n:
            m = self._m if "_m" in self.__dict__ else self._start(rows)
            self._run(m, self._place(m, rows, grow=True), y, c)
            self._m = m
        return self

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, epochs: int | None = None, until: str | None = None
    ) -> Self:
        """Forget, then learn from all rows; y is ignored."""
        rows = inputs.rows(X, self.dtype)
        rows, y, c = without_zeros(rows, np.ones(rows.n), inputs.sample_weights(sample_weight, rows.n))
        m = self._start(rows)
        self._epochs(m, self._place(m, rows, grow=True), y, c, epochs, until)
        self._m = m
        return self

    def fit_predict(self, X: Any, y: Any = None) -> np.ndarray:
        """Fit, then say which of the rows are inliers."""
        return self.fit(X).predict(X)

    def _start(self, rows: Rows | None) -> Model:
        m = Model(self, self._features(rows), None)
        if rows is not None:
            m.features.check(rows)
        return m

    def learn_one(self, x: Any, y: Any = None, w: float = 1.0) -> int:
        """Learn one example; return what it was taken for before: +1 inlier, -1 outlier."""
        c = 1.0 if w == 1.0 else float(inputs.sample_weights(w, 1)[0])  # type: ignore[index]
        m = self._m if "_m" in self.__dict__ else self._start(None if isinstance(x, Mapping) else one_row(x))
        if c == 0.0:
            return sign(m.score_row(*m.features.row(x, False))[0])
        idx, values = self._row(m, x, grow=True)
        f = m.learn_row(idx, values, 1.0, c)[0]
        self._m = m
        return sign(f)

    def predict_one(self, x: Any) -> int:
        """Return +1 for an inlier, -1 for an outlier."""
        m = self._model()
        return sign(m.score_row(*m.features.row(x, False))[0])

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
    def coef_(self) -> np.ndarray:
        """The centre, or the weights."""
        return self._all_weights()[0][0]


def sign(f: float) -> int:
    """Return +1 from 0 on."""
    return 1 if f >= 0.0 else -1
