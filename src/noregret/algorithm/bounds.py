"""Theorems: what a learner is promised to do no worse than, given a comparator u chosen in hindsight.

A Bound has a name, the quantity it is about and a formula of the figures of a Comparison: those of u on the data. What is
measured must stay below it on any sequence (law 9), and a report prints both.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from ..inputs.checking import Rows


class Comparison(NamedTuple):
    """The figures of a comparator u on T rows: what the theorems are made of."""

    T: int
    d: int
    K: int  # classes, 1 for a regression
    R: float  # longest row
    R_inf: float  # largest entry
    R_p: float  # longest row in the p-norm of the learner (R where it has none)
    u2: float  # |u|^2
    u_1: float  # |u|_1
    u_q: float  # |u|_q, q = p/(p-1)
    margin: float  # smallest y u.x / (|x|_p |u|_q): above 0 when u separates
    hinge: float  # sum of the hinge losses of u (multiclass: against the best rival)
    hinge2: float  # of their squares
    tube: float  # sum of its epsilon-insensitive losses
    tube2: float  # of their squares
    energy: float  # sum of (u.x)^2 (with one score)
    scatter: float  # sum of u_j^2 x_j^2 over rows and features (with one score)
    length2: float  # sum of |x|^2

    @property
    def moves(self) -> float:
        """Squared length of a multiclass example over that of its row: 2, or 1 with one score."""
        return 2.0 if self.K > 2 else 1.0


class Bound(NamedTuple):
    """A theorem: `measures` is bounded by value(comparison, params); infinity where it does not apply."""

    name: str
    measures: str  # "mistakes", "updates", "squared_hinge", "squared_tube", or "regret" in the learner's loss
    value: Callable[[Comparison, Any], float]
    requires: str = "its conditions do not hold on this stream"  # what is said where the value is infinite
    against: str = ""  # with what it compares, where that is not a model of a ball: then no value is asked for


SIMPLEX = "weights on the simplex, and the best model of a ball is not there"


class Running:
    """The figures of a comparator U on a stream, so far: rows come in chunks, of which nothing is kept.

    U has one row, or one row per class; with `bias` its last column belongs to a feature that is 1 in every row. `weighted` tells
    whether a weight other than 0 and 1 has come: the theorems say nothing then. Rows of weight 0 are left out, as learners do.
    """

    def __init__(self, U: np.ndarray, *, epsilon: float = 0.0, p: float = 2.0, bias: bool = False) -> None:
        self.U = np.atleast_2d(np.asarray(U, np.float64))
        self.epsilon, self.p, self.bias = epsilon, p, bias
        q = p / (p - 1.0)
        self.u2, self.u_1 = float((self.U**2).sum()), float(np.abs(self.U).sum())
        self.u_q = float((np.abs(self.U) ** q).sum() ** (1.0 / q))
        self.weighted = False
        self.T = 0
        self.longest = np.zeros(3)  # R, R_inf, R_p
        self.margin = math.inf
        self.sums = np.zeros(4)  # hinge, hinge2, tube, tube2
        self.squares = np.zeros(3)  # energy, scatter, length2

    def add(self, rows: Rows, y: np.ndarray, c: np.ndarray | None = None) -> None:
        """Count these rows, with codes, signs or targets y."""
        if c is not None:
            keep = np.flatnonzero(c)
            rows, y, c = (rows, y, c) if len(keep) == rows.n else (rows.take(keep), y[keep], c[keep])
            self.weighted = self.weighted or bool((c != 1.0).any())
        if rows.n == 0:
            return
        lengths = [lengths_of(rows, p) for p in (2.0, self.p)]
        if self.bias:
            lengths = [(a**p + 1.0) ** (1.0 / p) for a, p in zip(lengths, (2.0, self.p), strict=True)]
        top = max(float(np.abs(rows_values(rows)).max(initial=0.0)), float(self.bias))
        self.longest = np.maximum(self.longest, [lengths[0].max(), top, lengths[1].max()])
        f = scores(rows, self.U, self.bias)
        if len(self.U) > 1:
            m, tube = margins(f, y), np.zeros(rows.n)
        else:
            self.squares[:2] += (f**2).sum(), scores(squared(rows), self.U**2, self.bias).sum()
            m, tube = y * f[:, 0], np.maximum(0.0, np.abs(y - f[:, 0]) - self.epsilon)
        hinge = np.maximum(0.0, 1.0 - m)
        some = lengths[1] > 0.0
        self.margin = min(self.margin, float((m[some] / (lengths[1][some] * max(self.u_q, 1e-300))).min(initial=math.inf)))
        weights = np.ones(rows.n) if c is None else c
        self.sums += [weights @ hinge, weights @ hinge**2, weights @ tube, weights @ tube**2]
        self.squares[2] += (lengths[0] ** 2).sum()
        self.T += rows.n

    def figures(self) -> Comparison:
        """Return the figures on what has come so far."""
        R, R_inf, R_p = self.longest.tolist()
        hinge, hinge2, tube, tube2 = self.sums.tolist()
        K, d = self.U.shape
        of_u = (self.u2, self.u_1, self.u_q, self.margin)
        return Comparison(self.T, d, K, R, R_inf, R_p, *of_u, hinge, hinge2, tube, tube2, *self.squares.tolist())


def compare(X: Any, y: np.ndarray, U: np.ndarray, *, epsilon: float = 0.0, p: float = 2.0) -> Comparison:
    """Return the figures of the comparator U (one row, or one row per class) on rows X with codes, signs or targets y."""
    from ..inputs.checking import Rows

    if hasattr(X, "tocsr"):
        X = X.tocsr()
        rows = Rows("csr", (X.indptr, X.indices, X.data), *X.shape)
    else:
        X = np.asarray(X, np.float64)
        rows = Rows("dense", (X,), *X.shape)
    running = Running(U, epsilon=epsilon, p=p)
    running.add(rows, np.asarray(y))
    return running.figures()


# ---- rows as matrices ------------------------------------------------------------------------------------------------
def matrix(rows: Rows, width: int) -> Any:
    """Return rows as a SciPy matrix of this width, or as the array they are (which may be narrower)."""
    if rows.layout == "dense":
        return rows.arrays[0]
    from scipy.sparse import csr_matrix

    indptr, indices, data = rows.arrays
    a, b = int(indptr[0]), int(indptr[-1])
    signed = indices[a:b].view(f"i{indices.itemsize}")
    start = (indptr if a == 0 else indptr - a).astype(np.int64 if b - a > 2**31 - 1 else signed.dtype, copy=False)
    return csr_matrix((data[a:b], signed, start), shape=(rows.n, width), copy=False)


def scores(rows: Rows, U: np.ndarray, bias: bool) -> np.ndarray:
    """Return the score of each row by each row of U, whose last column is that of the constant feature when there is one."""
    W = U[:, :-1] if bias else U
    X = matrix(rows, W.shape[1])
    f: np.ndarray = X @ (W[:, : X.shape[1]].T if len(W) > 1 else W[0, : X.shape[1], None])
    return f + U[:, -1] if bias else np.asarray(f, np.float64)


def margins(f: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return how far each true class is ahead of its best rival."""
    at = np.arange(len(codes))
    rest = f.copy()
    rest[at, codes] = -math.inf
    ahead: np.ndarray = f[at, codes] - rest.max(1)
    return ahead


def rows_values(rows: Rows) -> np.ndarray:
    """Return the stored numbers of these rows (after a cut, CSR arrays hold those of others too)."""
    return rows.arrays[0] if rows.layout == "dense" else rows.arrays[2][int(rows.arrays[0][0]) : int(rows.arrays[0][-1])]


def squared(rows: Rows) -> Rows:
    """Return rows with every number squared."""
    *places, values = rows.arrays
    return rows._replace(arrays=(*places, np.square(values, dtype=np.float64)))


def lengths_of(rows: Rows, p: float = 2.0) -> np.ndarray:
    """Return the p-norm of each row."""
    values = np.abs(rows_values(rows), dtype=np.float64)
    powers = values * values if p == 2.0 else values**p
    if rows.layout == "dense":
        sums = powers.sum(1)
    else:
        sums = np.bincount(np.repeat(np.arange(rows.n), np.diff(rows.arrays[0])), powers, rows.n)
    return np.sqrt(sums) if p == 2.0 else sums ** (1.0 / p)


def peaks_of(rows: Rows) -> np.ndarray:
    """Return the largest absolute entry of each row."""
    values = np.abs(rows_values(rows), dtype=np.float64)
    if rows.layout == "dense":
        return values.max(1, initial=0.0)
    peaks, start = np.zeros(rows.n), rows.arrays[0] - rows.arrays[0][0]
    some = np.flatnonzero(np.diff(start))
    if len(some):
        peaks[some] = np.maximum.reduceat(values, start[some])
    return peaks


def regret_constant(D: float, G: float, T: int, eta: float, rate: str) -> float:
    """Return Zinkevich's bound on the regret of projected gradient descent (D.1): diameter D, gradients of at most G."""
    if rate == "inv_sqrt":
        return D * D * math.sqrt(T) / (2.0 * eta) + eta * (math.sqrt(T) - 0.5) * G * G
    if rate == "constant":
        return D * D / (2.0 * eta) + eta * G * G * T / 2.0
    return math.inf
