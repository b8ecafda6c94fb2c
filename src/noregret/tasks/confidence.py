"""Classification by learners that know how sure they are: the variance of a margin, intervals, abstention."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ..core.covariance import Full
from .classification import Classifier


class SecondOrder(Classifier):
    """A classifier whose state has a mean and a covariance, in its first two fields."""

    without: ClassVar[tuple[str, ...]] = ("average",)

    @property
    def covariance_(self) -> np.ndarray:
        """The variances of the weights as `coef_` has them (the constant feature last), or full matrices, one for each class."""
        m = self._model()
        S, n = m.state[1], m.features.size
        order = self._in_order(m.features.constant if m.features.bias else None, n)
        if isinstance(S, Full):
            found: np.ndarray = S.matrices()[:, order[:, None], order][self._by_class()]
            return found
        return S.variances().reshape(-1, m.dims["class"])[order].T[self._by_class()]

    def _by_class(self) -> Any:
        """Return the codes in the order of `classes_`, for rows per class."""
        m = self._m
        assert m.labels is not None
        return m.labels.order if m.many else [0]

    @staticmethod
    def _in_order(constant: int | None, n: int) -> np.ndarray:
        """Return the coordinates in use, the constant one last."""
        at = np.arange(n)
        return at if constant is None else np.append(np.delete(at, constant), constant)
