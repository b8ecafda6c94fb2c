"""The best subspace in hindsight: k directions, through the mean or through 0, that leave the least of all rows. It is exact."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...inputs import checking
from ...unsupervised.decomposition import in_runs

MOST = 4096  # features: the matrix of their products takes 128 MB then


class BestSubspace(NamedTuple):
    """The best k directions of rows, the point they go through, and the sum of squared residuals."""

    components: np.ndarray
    mean: np.ndarray
    loss: float
    rows: int

    def regret(self, losses: Any) -> float:
        """Return the regret of a learner that paid these squared residuals, each before it learned the row."""
        return float(np.sum(losses)) - self.loss

    def residuals(self, X: np.ndarray) -> np.ndarray:
        """Return what it leaves of rows, which may have fewer columns: the others are 0."""
        D = np.zeros((len(X), len(self.mean)))
        D[:, : X.shape[1]] = X
        D -= self.mean
        D -= (D @ self.components.T) @ self.components
        found: np.ndarray = np.square(D).sum(axis=1)
        return found

    def angle(self, components: Any) -> float:
        """Return the largest angle between this subspace and that of orthonormal rows, in radians."""
        few, many = sorted((self.components, np.asarray(components)), key=len)
        products = few @ many.T
        sine, cosine = np.linalg.norm(few - products @ many, 2), np.linalg.svd(products, compute_uv=False).min()
        return float(np.arctan2(sine, cosine))  # a small angle has many digits in its sine, and few in its cosine


class Scatter:
    """The number of rows, their mean, and the sum of products of what is left of it, which add up in any order."""

    def __init__(self, width: int) -> None:
        self.n, self.mean, self.M = 0, np.zeros(0), np.zeros((0, 0))
        self.known: dict[tuple[int, bool], tuple[np.ndarray, np.ndarray]] = {}  # decompositions, by rows and centre
        self.widen(width)

    def widen(self, width: int) -> None:
        """Make room for more features, which were 0."""
        if width > MOST:
            raise ValueError(f"the best subspace needs the products of all pairs of features: expected at most {MOST}, got {width}")
        more = (0, width - len(self.mean))
        self.mean, self.M = np.pad(self.mean, more), np.pad(self.M, (more, more))

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
        key = (self.n, center)
        if key not in self.known:
            self.known[key] = np.linalg.eigh(self.M if center else self.M + self.n * np.outer(self.mean, self.mean))
        values, U = self.known[key]
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
    found = Scatter(rows.width)
    for part in in_runs(rows, rows.width):
        found.add(part)
    return found.best(k, center)
