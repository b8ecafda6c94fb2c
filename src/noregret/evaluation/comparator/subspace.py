"""The best subspace in hindsight: k directions, through the mean or through 0, that leave the least of all rows. It is exact."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...inputs import checking

MOST = 4096  # features: the matrix of their products takes 128 MB then
ROOM = 1 << 19  # numbers of a run of rows


class BestSubspace(NamedTuple):
    """The best k directions of rows, the point they go through, and the sum of squared residuals."""

    components: np.ndarray
    mean: np.ndarray
    loss: float
    rows: int

    def regret(self, losses: Any) -> float:
        """Return the regret of a learner that paid these squared residuals, each before it learned the row."""
        return float(np.sum(losses)) - self.loss

    def angle(self, components: Any) -> float:
        """Return the largest angle between this subspace and that of orthonormal rows, in radians."""
        cosines = np.linalg.svd(self.components @ np.asarray(components).T, compute_uv=False)
        return float(np.arccos(np.clip(cosines.min(), -1.0, 1.0)))


class Scatter:
    """The number of rows, their mean, and the sum of products of what is left of it, which add up in any order."""

    def __init__(self, width: int) -> None:
        if width > MOST:
            raise ValueError(f"the best subspace needs the products of all pairs of features: expected at most {MOST}, got {width}")
        self.n, self.mean, self.M = 0, np.zeros(width), np.zeros((width, width))

    def add(self, X: np.ndarray) -> None:
        """Take more rows (Chan, Golub, LeVeque 1979)."""
        m, center = len(X), X.mean(0)
        U, apart = X - center, center - self.mean
        self.M += U.T @ U + np.outer(apart, apart) * (self.n * m / (self.n + m))
        self.mean = self.mean + apart * (m / (self.n + m))
        self.n += m

    def best(self, k: int, center: bool = True) -> BestSubspace:
        """Return the best k directions."""
        if not 0 <= k <= len(self.mean):
            raise ValueError(f"k must be a whole number from 0 to {len(self.mean)}, the number of features, got {k!r}")
        values, U = np.linalg.eigh(self.M if center else self.M + self.n * np.outer(self.mean, self.mean))
        rest = len(values) - k
        mean = self.mean.copy() if center else np.zeros(len(values))
        return BestSubspace(U[:, rest:][:, ::-1].T.copy(), mean, float(np.maximum(values[:rest], 0.0).sum()), self.n)


def best_subspace(X: Any, k: int, center: bool = True) -> BestSubspace:
    """Return the k directions that leave the least of all rows: what a learner of components is compared with.

    >>> import numpy as np, noregret as nr
    >>> X = np.random.default_rng(0).normal(size=(500, 6)) * [3, 2, 1, 1, 1, 1]
    >>> best = nr.best_subspace(X, 2)
    >>> paid = nr.OnlinePCA(k=2).learn_many(X)
    >>> best.components.shape, bool(best.regret(paid) > 0.0)
    ((2, 6), True)
    """
    rows = checking.rows(X, "float64")
    found, size = Scatter(rows.width), max(1, ROOM // rows.width)
    for a in range(0, rows.n, size):
        part = rows.cut(a, min(a + size, rows.n)).packed()
        if part.layout == "dense":
            found.add(np.asarray(part.arrays[0], np.float64))
        else:
            indptr, indices, data = part.arrays
            dense = np.zeros((part.n, rows.width))
            dense[np.repeat(np.arange(part.n), np.diff(indptr)), indices.astype(np.int64)] = data
            found.add(dense)
    return found.best(k, center)
