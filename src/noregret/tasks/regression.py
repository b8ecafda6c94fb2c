"""Regression: real targets, one score."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

import numpy as np

from ..calibration.calibration import Calibration, Scores
from ..calibration.coverage import Intervals, levels_of
from ..inputs import checking
from ..inputs.checking import Rows
from ..learners.learner import Learner
from ..learners.model import Model
from ..learners.task import Task
from ..parts.losses import RealLoss
from .compact import Compactable
from .covered import covered
from .loops import ONE_SCORE


class Regression(Task):
    """A real target, answered with the score."""

    estimator = "regressor"
    text = ONE_SCORE
    __slots__ = ()

    def calibration(self, algorithm: Any, given: Mapping[str, Any], known: int) -> Calibration | None:
        """Return what makes intervals of answers; None where they are not asked for."""
        return None if given.get("coverage") is None else Intervals(levels_of(given["coverage"]))


REGRESSION = Regression("regression")


class Regressor(Compactable):
    """A learner of real numbers."""

    task: ClassVar[Any] = REGRESSION
    _estimator_type = REGRESSION.estimator
    types: ClassVar[dict[str, Any]] = {"loss": RealLoss}
    options: ClassVar[dict[str, Any]] = {"fit_intercept": True, "average": False, "coverage": None, **Learner.options}

    @classmethod
    def _unfit(cls) -> set[str]:
        return super()._unfit() | ({"coverage"} if cls.by_domain else set())

    def predict(self, X: Any) -> np.ndarray:
        """Return the prediction for each row."""
        return self._scores(X)[:, 0]

    @property
    def predict_interval(self) -> Callable[[Any], np.ndarray]:
        """`predict_interval(X)`: low and high of each row, between which the target is as often as `coverage` says.

        With several levels, a row of intervals for each row. It needs `coverage=0.9` or another level.
        """
        return covered(self, self._predict_interval)

    @property
    def predict_interval_one(self) -> Callable[[Any], Any]:
        """`predict_interval_one(x)`: the same for one example, as a pair or a list of pairs."""
        return covered(self, self._predict_interval_one)

    @property
    def calibrate(self) -> Callable[..., Self]:
        """`calibrate(X, y, sample_weight=None)`: learn from rows how far intervals must reach; answers do not change."""
        return covered(self, self._calibrate)

    def _predict_interval(self, X: Any) -> np.ndarray:
        return self.intervals_of(self.model, self.predict(X))

    def _predict_interval_one(self, x: Any) -> Any:
        found = self.intervals_of(self.held or self.new_model(self._one(x)), np.array([self.predict_one(x)]))[0].tolist()
        return [tuple(pair) for pair in found] if isinstance(self.coverage, (list, tuple)) else tuple(found)

    def intervals_of(self, m: Model, f: np.ndarray) -> np.ndarray:
        """Return the intervals around answers; where an interval would be less than a point, it is the answer."""
        assert m.calibration is not None
        reach = m.calibration.told(Scores(f[:, None], False, 0), 0).reach
        assert reach is not None
        out = f[:, None, None] + np.maximum(reach, 0.0)[:, :, None] * np.array([-1.0, 1.0])
        return out if isinstance(self.coverage, (list, tuple)) else out[:, 0]

    def region_of(self, rows: Rows, level: float) -> np.ndarray:
        """Return the intervals of checked rows at one of the levels."""
        m = self.model
        assert isinstance(m.calibration, Intervals)
        found = self.intervals_of(m, self.score_rows(rows)[:, 0]).reshape(rows.n, -1, 2)
        return np.asarray(found[:, m.calibration.place(level)])

    def _calibrate(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        rows = self._placed(X)
        return self.calibrate_rows(rows, y, checking.sample_weights(sample_weight, rows.n))

    def calibrate_rows(self, rows: Rows, y: Any, c: np.ndarray | None) -> Self:
        """Learn how far intervals must reach from rows in their places."""
        m = self.model
        assert m.calibration is not None
        m.calibration.learn(m.evidence(rows), self.targets(y, rows.n), c)
        m.calibration.taken()
        return self

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
