"""What a learner with a kernel can be asked: its support vectors, their coefficients, how large it can become."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .basis import of_objects
from .expansion import Expansion

if TYPE_CHECKING:
    from .model import Model


class Supports:
    """The part of a learner that is about expansions."""

    grows: ClassVar[bool]
    merges: ClassVar[str]
    policy: ClassVar[Any]

    if TYPE_CHECKING:

        def _model(self) -> Model: ...

    @property
    def _of_objects(self) -> bool:
        """Whether examples may be anything that the kernel, a function, compares."""
        return of_objects(self.__dict__.get("kernel"))

    def _expansion(self) -> Expansion:
        w = self._model().state[0]
        if not isinstance(w, Expansion):
            raise AttributeError("this model has weights and no support vectors: see coef_, or give a kernel=")
        return w

    @property
    def support_vectors_(self) -> Any:
        """The examples kept, oldest first: an array, a CSR matrix where rows were sparse, a list where they are objects."""
        w, features = self._expansion(), self._model().features
        found = w.S.vectors(w.order(), features.size)
        return found[:, np.arange(features.size) != features.constant] if features.bias else found

    @property
    def dual_coef_(self) -> np.ndarray:
        """The coefficients of the support vectors, oldest first, in the form of `coef_`."""
        return self._oriented(self._expansion().coefficients())

    @property
    def n_support_(self) -> int:
        """Support vectors kept."""
        return int(self._expansion().size[0])

    def _oriented(self, w: np.ndarray) -> np.ndarray:
        """Return what has a row per class as a reader sees it."""
        return np.asarray(w[0])

    @property
    def _bounded(self) -> bool:
        """Whether memory stays within bounds however many rows are learned from."""
        if self.__dict__.get("kernel") is not None and self.policy is None:
            return self.__dict__.get("budget") is not None
        return not self.grows

    @property
    def _merging(self) -> str:
        """How two of these are merged: expansions not at all, as what they keep would have to be chosen anew."""
        return "none" if getattr(self, "kernel", None) is not None else self.merges
