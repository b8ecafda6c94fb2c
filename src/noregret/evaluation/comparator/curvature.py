"""Sums over the rows of a chunk: the slope of a loss in the weights, and its curvature."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...engine.compiling import compiled, interpreting


def add_slopes(g: np.ndarray, X: Any, slopes: np.ndarray) -> None:
    """Do g += slopes' X, without a look at the features that a short sparse chunk does not have."""
    if isinstance(X, np.ndarray) or 8 * X.nnz > X.shape[1]:
        g[:, : X.shape[1]] += (X.T @ slopes).T
        return
    of = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    for k in range(len(g)):
        np.add.at(g[k], X.indices, X.data * slopes[of, k])


def add_curvature(H: np.ndarray, X: Any, curve: np.ndarray, bias: bool, block: int = 4096) -> None:
    """Do H += X' diag(curve) X, for the rows that have any."""
    d = X.shape[1]
    if not isinstance(X, np.ndarray) and 3 * X.nnz < X.shape[0] * d and not interpreting():
        compiled(add_products)(H, X.indptr, X.indices, X.data, curve)
        if bias:
            _add_border(H, X.T @ curve, float(curve.sum()))
        return
    some = np.flatnonzero(curve)
    for a in range(0, len(some), block):
        at = some[a : a + block]
        Z, h = X[at], curve[at]
        if isinstance(Z, np.ndarray):
            W = Z * h[:, None]
            H[:d, :d] += W.T @ Z
        elif Z.nnz * 10 > Z.shape[0] * d:  # dense arithmetic is faster from there on
            Z = Z.toarray()
            H[:d, :d] += (Z * h[:, None]).T @ Z
        else:
            H[:d, :d] += (Z.multiply(h[:, None]).tocsr().T @ Z).toarray()
        if bias:
            _add_border(H, Z.T @ h, float(h.sum()))


def _add_border(H: np.ndarray, column: np.ndarray, corner: float) -> None:
    """Add what the constant feature has with the others and with itself."""
    H[: len(column), -1] += column
    H[-1, : len(column)] += column
    H[-1, -1] += corner


def add_products(H: Any, indptr: Any, indices: Any, data: Any, curve: Any) -> None:
    """Do H += X' diag(curve) X for sparse rows, product by product."""
    for r in range(len(curve)):
        if curve[r] != 0.0:
            for a in range(indptr[r], indptr[r + 1]):
                i, w = indices[a], curve[r] * data[a]
                H[i, i] += w * data[a]
                for b in range(indptr[r], a):
                    j, v = indices[b], w * data[b]
                    H[i, j] += v
                    H[j, i] += v
