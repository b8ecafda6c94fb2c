"""Kernel recursive least squares: regression without ridge in the space of a kernel, on a dictionary of rows far from each other.

Engel, Mannor, Meir (2004), *The kernel recursive least-squares algorithm*, IEEE Trans. Signal Processing 52:2275-2285.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, NamedTuple

import numpy as np

from ..algorithm.params import NonNegative, Range
from ..algorithm.state import Slot, Weights
from ..engine.words import strict
from ..parts.budgets import Projection
from ..spaces.examples import importance
from ..spaces.expansion import along, bump
from ..spaces.gram import FLAT, residual
from ..spaces.weights import add, dot, norm2
from ..tasks.regression import Regressor


class Params(NamedTuple):
    """Kernel RLS."""

    nu: NonNegative = 0.01
    B: Annotated[float, Range(1.0, math.inf, "[)")] = 100


class State(NamedTuple):
    """Weights; the inverse of A'A, A the coefficients of all rows on the dictionary; room for a column."""

    w: Weights
    R: Annotated[Any, Slot(("slot", "slot"), dtype=np.float64)]
    q: Annotated[Any, Slot(("slot",), dtype=np.float64, scratch=True)]


@strict
def step(s, x, y, p):
    """Add a row that is far from the span of the dictionary; else solve for one row more on the dictionary there is."""
    f = dot(s.w, x)
    k = norm2(s.w, x)
    if k <= 0.0:
        return f, False
    n, omega, error = s.w.size[0], importance(x), y - f
    delta2 = residual(s.w, k)
    d = s.w.memo.d
    if n == 0 or (delta2 > max(p.nu, FLAT * k) and n < p.B):
        for i in range(n):
            bump(s.w, 0, i, -d[i] * error / delta2)
            s.R[i, n] = 0.0
            s.R[n, i] = 0.0
        s.R[n, n] = 1.0 / omega
        add(s.w, error / delta2, x)
        return f, True
    size = 1.0 / omega
    for i in range(n):
        s.q[i] = along(s.R[i], n, d)
        size += s.q[i] * d[i]
    for i in range(n):
        for j in range(n):
            s.R[i, j] -= s.q[i] * s.q[j] / size
    for i in range(n):
        bump(s.w, 0, i, along(s.w.memo.P[i], n, s.q) * error / size)
    return f, True


class KernelRLS(Regressor):
    """Kernel recursive least squares, with a dictionary that takes a row only if it is far from the span of those it has.

    With d the coefficients of a row's projection on the dictionary, the weights minimise sum (y_t - f at the projection of x_t)^2,
    exactly, after every row. O(n^2) time and memory, n rows in the dictionary.

    Parameters: `kernel`; `nu` >= 0, the squared distance from which a row joins; `B`, the most rows of the dictionary: when it is
    full, every row counts by its projection. A sample weight multiplies the squared error.

    Pitfalls: there is no ridge; a small nu follows the noise, a larger one is smoother. Nothing is forgotten or removed.

    Engel, Mannor, Meir (2004), table 1.

    >>> X = [[0.0], [1.0], [2.0], [3.0], [1.5]]
    >>> KernelRLS(nu=0.001).fit(X, [0.0, 1.0, 4.0, 9.0, 2.25]).predict([[1.0], [2.0]]).round(1).tolist()
    [1.0, 4.0]
    """

    name = "kernel_rls"
    cite = "engel2004"
    State, Params, step = State, Params, step
    policy = lambda p, given: Projection(0.0, p.B)  # noqa: E731 (the step decides who joins)
    by_kernel = True
    merges = "none"
    without = ("average",)
    overrides = {"kernel": "rbf", "fit_intercept": False}
