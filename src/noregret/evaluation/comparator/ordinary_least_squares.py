"""The least-squares solution of real targets: the ball of fixed models must hold it, and the search for the best begins there."""

from __future__ import annotations

import numpy as np

from ...algorithm.bounds import matrix
from .curvature import add_curvature, add_slopes
from .row_sample import Sample
from .solver import SHORT, SMALL

NEGLIGIBLE = 1e-10  # curvature, relative to the largest, of directions that the rows do not tell apart


def least_squares(sample: Sample, bias: bool) -> np.ndarray | None:
    """Return the solution on the rows kept as one row, the intercept last; None where there are too many features for it.

    Features are scaled to one length, so that offsets and units do not matter; in directions without rows the solution is 0.
    """
    d = sample.width + bias
    if d > SMALL or sample.nnz > SHORT * max(1, sample.n):
        return None
    H, g = np.zeros((d, d)), np.zeros((1, d))
    for rows, y, c in sample.chunks:
        weights = np.ones(rows.n) if c is None else c
        X = matrix(rows, sample.width)
        add_curvature(H, X, weights, bias)
        add_slopes(g, X, (weights * y)[:, None])
        if bias:
            g[:, -1] += weights @ y
    size = np.sqrt(H.diagonal())
    scale = np.divide(1.0, size, out=np.zeros(d), where=size > 0.0)
    curvature, directions = np.linalg.eigh(scale[:, None] * H * scale)
    kept = curvature > NEGLIGIBLE * max(curvature[-1], 1e-300) if d else np.zeros(0, bool)
    along = directions[:, kept]
    found: np.ndarray = scale * (along @ ((along.T @ (scale * g[0])) / curvature[kept]))
    return found[None] if np.isfinite(found).all() else None
