"""What maps to the features of a kernel have in common: k(x, y) is about z(x).z(y), and how well can be asked."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..inputs import checking
from ..inputs.checking import Rows
from .similarity import exact
from .step import Map


class Approximation(NamedTuple):
    """How far z(x).z(y) is from k(x, y) on pairs of rows, beside what theory says.

    With probability 1 - delta over the draws, a pair fixed before errs by no more than `pointwise`, and all pairs of a set as wide
    as the rows by no more than `uniform`. None where there is no theorem.
    """

    pairs: int
    mean: float
    max: float
    delta: float
    pointwise: float | None
    uniform: float | None


class FeatureMap(Map):
    """A step whose rows have `outputs` new features, whatever the input."""

    kernel: Any
    cite: str  # key in refs.bib

    @property
    def outputs(self) -> int:
        """Features that go out."""
        raise NotImplementedError

    def transform(self, X: Any) -> Any:
        """Return the features of rows as an array, or as a sparse matrix where most of them are 0; nothing is learned."""
        out = self.rows(checking.rows(X, "float64"), False)
        if out.layout == "dense":
            return out.arrays[0]
        from scipy.sparse import csr_matrix

        indptr, indices, data = out.arrays
        return csr_matrix((data, indices.astype(np.int64), indptr), shape=(out.n, out.width))

    # ---- how well --------------------------------------------------------------------------------------------------------
    def approximation_error(self, X: Any, pairs: int = 1000, delta: float = 0.05, seed: int = 0) -> Approximation:
        """Return the mean and largest |z(x).z(y) - k(x, y)| over pairs of different rows of X, and the bounds."""
        whole("pairs", pairs, 1)
        if not (isinstance(delta, (int, float, np.number)) and 0.0 < delta < 1.0):
            raise ValueError(f"delta must be a number between 0 and 1, got {delta!r}")
        rows = X if isinstance(X, Rows) else checking.rows(X, "float64")
        if rows.n < 2:
            raise ValueError("expected at least two rows to make pairs of, got one")
        rng = np.random.default_rng(seed)
        a = rng.integers(0, rows.n, pairs)
        b = (a + rng.integers(1, rows.n, pairs)) % rows.n
        met, at = np.unique(np.concatenate([a, b]), return_inverse=True)
        some = rows.take(met)
        a, b = at[:pairs], at[pairs:]
        z = self.rows(some, False)
        errors = np.array([abs(product(z, i, k) - exact(self.kernel, some, i, k)) for i, k in zip(a, b, strict=True)])
        bounds = self._bounds(some, z, a, b, float(delta))
        return Approximation(pairs, float(errors.mean()), float(errors.max()), float(delta), *bounds)

    def _bounds(self, rows: Rows, z: Rows, a: np.ndarray, b: np.ndarray, delta: float) -> tuple[float | None, float | None]:
        """Return the pointwise and the uniform bound."""
        raise NotImplementedError

    def merge(self, other: Any, numbers: np.ndarray | None = None) -> None:
        """Refuse a map with other features than this one."""
        super().merge(other)
        if numbers is not None and (numbers != np.arange(len(numbers))).any():
            raise ValueError(
                f"cannot merge: {type(self).__name__} draws by the numbers of columns, and the other table met them in another "
                "order. Give the table hash_bits, by which numbers depend on names alone."
            )


class Entries(NamedTuple):
    """Rows as compiled code takes them, in either layout: row i is at starts[i] to starts[i + 1]."""

    starts: np.ndarray
    indices: np.ndarray
    data: np.ndarray
    repeated: bool  # the indices are those of one dense row


def entries(rows: Rows) -> Entries:
    """Return the entries of rows, always of the same types, so one compiled function serves all rows."""
    if rows.layout == "dense":
        data = rows.arrays[0].reshape(-1).astype(np.float64, copy=False)
        return Entries(np.arange(rows.n + 1) * rows.width, np.arange(rows.width), data, True)
    indptr = rows.arrays[0].astype(np.int64, copy=False)
    a, b = indptr[0], indptr[-1]
    indices, data = rows.arrays[1][a:b].astype(np.int64), rows.arrays[2][a:b].astype(np.float64, copy=False)
    return Entries(indptr - a, indices, data, False)


def product(z: Rows, i: int, k: int) -> float:
    """Return z_i.z_k."""
    if z.layout == "dense":
        return float(z.arrays[0][i] @ z.arrays[0][k])
    indptr, indices, data = z.arrays
    a, b = slice(*indptr[i : i + 2]), slice(*indptr[k : k + 2])
    _, at, there = np.intersect1d(indices[a], indices[b], assume_unique=True, return_indices=True)
    return float(data[a][at] @ data[b][there])


def diameter(rows: Rows) -> float:
    """Return the diagonal of the smallest box that holds the rows: no two points in it are farther apart."""
    if rows.layout == "dense":
        return float(np.linalg.norm(np.ptp(rows.arrays[0].astype(np.float64), axis=0)))
    at, values, _ = entries(rows)[1:]
    met, where, count = np.unique(at, return_inverse=True, return_counts=True)
    low, high = np.zeros(len(met)), np.zeros(len(met))
    low[count == rows.n], high[count == rows.n] = np.inf, -np.inf  # never 0
    np.minimum.at(low, where, values)
    np.maximum.at(high, where, values)
    return float(np.linalg.norm(high - low))


def hoeffding(n: int, spread: float, delta: float) -> float:
    """Return how far a mean of n independent terms, each in an interval so wide, is from what is expected at most.

    2 exp(-2 n e^2 / spread^2) = delta (Hoeffding 1963).
    """
    return spread * math.sqrt(math.log(2.0 / delta) / (2.0 * n))


# ---- settings ------------------------------------------------------------------------------------------------------------
def whole(name: str, v: Any, low: int, high: int = 1 << 62) -> Any:
    """Return a setting as it was given, a whole number in a range, or an error that names it."""
    if isinstance(v, (bool, np.bool_)) or not isinstance(v, (int, np.integer)) or not low <= v <= high:
        upto = f" and at most {high}" if high < 1 << 62 else ""
        raise ValueError(f"{name} must be a whole number of at least {low}{upto}, got {v!r}")
    return v


def kernel_among(kernel: Any, kinds: tuple[Any, ...], step: str) -> Any:
    """Return the kernel, its kind and its numbers checked."""
    names = ", ".join(k.__name__ for k in kinds)
    if not isinstance(kernel, kinds):
        raise ValueError(f"{step} takes one of the kernels {names}, such as {kinds[0].__name__}(), got {kernel!r}")
    for field, v in zip(kernel._fields, kernel, strict=True):
        if isinstance(v, bool) or not isinstance(v, (int, float, np.number)) or not math.isfinite(v):
            raise ValueError(f"{field} of {type(kernel).__name__} must be a finite number, got {v!r}")
        if field == "gamma" and not v > 0.0:
            raise ValueError(f"gamma of {type(kernel).__name__} must be greater than 0, got {v!r}")
    return kernel
