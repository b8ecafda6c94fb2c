"""Regression: real targets, one score."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from ..core import inputs
from ..core.inputs import Rows
from ..core.learner import Learner, is_dicts
from ..core.model import Model
from .classification import one_row, without_zeros


class Regressor(Learner):
    """A learner of real numbers."""

    task: ClassVar[str] = "regression"
    _estimator_type = "regressor"
    options: ClassVar[dict[str, Any]] = {"fit_intercept": True, "average": False, **Learner.options}

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows in order."""
        if is_dicts(X):
            y = inputs.targets(y, len(X), numeric=True)
            c = inputs.sample_weights(sample_weight, len(X))
            for x in X:
                (self._m.features if "_m" in self.__dict__ else self._features(None)).row(x, False)
            for i, x in enumerate(X):
                self.learn_one(x, float(y[i]), 1.0 if c is None else float(c[i]))
            return self
        rows = self._check(X)
        y = inputs.targets(y, rows.n, numeric=True)
        rows, y, c = without_zeros(rows, y, inputs.sample_weights(sample_weight, rows.n))
        if rows.n:
            m = self._m if "_m" in self.__dict__ else self._start(rows)
            self._run(m, self._place(m, rows, grow=True), y, c)
            self._m = m
        return self

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, epochs: int | None = None, until: str | None = None
    ) -> Self:
        """Forget, then learn from all rows: `epochs` times, or `until="separated"`, the first epoch without an update."""
        rows = inputs.rows(X, self.dtype)
        y = inputs.targets(y, rows.n, numeric=True)
        rows, y, c = without_zeros(rows, y, inputs.sample_weights(sample_weight, rows.n))
        if rows.n == 0:
            raise ValueError("all sample weights are zero: there is nothing to fit")
        m = self._start(rows)
        self._epochs(m, self._place(m, rows, grow=True), y, c, epochs, until)
        self._m = m
        return self

    def _start(self, rows: Rows | None) -> Model:
        m = Model(self, self._features(rows), None)
        if rows is not None:
            m.features.check(rows)
        return m

    def learn_one(self, x: Any, y: float, w: float = 1.0) -> float:
        """Learn one example with weight w; return the prediction made before."""
        y = float(inputs.targets([y], 1, numeric=True)[0]) if not isinstance(y, (int, float)) or y - y != 0.0 else float(y)
        c = 1.0 if w == 1.0 else float(inputs.sample_weights(w, 1)[0])  # type: ignore[index]
        m = self._m if "_m" in self.__dict__ else self._start(None if isinstance(x, Mapping) else one_row(x))
        if c == 0.0:
            return float(m.score_row(*m.features.row(x, False))[0])
        idx, values = self._row(m, x, grow=True)
        f = float(m.learn_row(idx, values, y, c)[0])
        self._m = m
        return f

    def predict_one(self, x: Any) -> float:
        """Return the prediction for one example."""
        m = self._model()
        return float(m.score_row(*m.features.row(x, False))[0])

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
    def coef_(self) -> np.ndarray:
        """The weights."""
        return self._all_weights()[0][0]

    @property
    def intercept_(self) -> float:
        """The weight of the constant feature."""
        return float(self._all_weights()[1][0])
