"""Principal components that move with each row: CCIPCA and Oja's rule."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..algorithm.state import Count, Number
from ..engine.compiling import compiled
from .components import first_rows
from .decomposition import Decomposition
from .merged import Basis, Lengths, Mean
from .subspaces import ccipca_rows, oja_rows

POWERS = {"inv_t": 1.0, "inv_sqrt": 0.5, "constant": 0.0}


class Moving(NamedTuple):
    """Components with their variances, and the mean."""

    V: Basis
    s: Lengths
    mean: Mean
    n: Number
    rank: Count


class Oriented(NamedTuple):
    """Components with their variances, the mean, and the squares of all rows."""

    V: Basis
    s: Lengths
    mean: Mean
    n: Number
    rank: Count
    squares: Number


class Sequential(Decomposition):
    """The model of `OnlinePCA(method="ccipca")`."""

    State: Any = Moving

    def learn(self, X: np.ndarray, Z: np.ndarray, E: np.ndarray) -> None:
        """Learn rows one by one."""
        s, p = self.state, self.params
        spare = np.empty((2, X.shape[1]))
        compiled(ccipca_rows)(X, s.V, s.s, s.mean, s.n, s.rank, float(p.l), bool(p.center), Z, E, *spare)

    @property
    def variances(self) -> np.ndarray:
        """The variance along each component."""
        s = self.state
        return np.array(s.s[: int(s.rank[0])])


class Oja(Sequential):
    """The model of `OnlinePCA(method="oja")`."""

    State: Any = Oriented

    def begin(self) -> None:
        """Begin with given components, or with none: the first rows become components."""
        super().begin()
        rows = first_rows(self, self.given.get("start"))
        if rows is not None:
            if np.abs(rows @ rows.T - np.eye(len(rows))).max() > 1e-8:
                raise ValueError("start must have orthonormal rows for method='oja'")
            self.state.V[:, : rows.shape[1]] = rows
            self.state.rank[0] = len(rows)

    def learn(self, X: np.ndarray, Z: np.ndarray, E: np.ndarray) -> None:
        """Learn rows one by one."""
        s, p = self.state, self.params
        spare = np.empty((2, X.shape[1]))
        how = (float(p.eta), POWERS[self.given["rate"]], bool(p.center))
        compiled(oja_rows)(X, s.V, s.s, s.mean, s.n, s.rank, s.squares, *how, Z, E, *spare)
