"""Kernels evaluated: sums over coordinates, and what becomes of them. For maps to features, which approximate these numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..engine.elementary import exp, log1p, whole_power
from ..engine.words import strict, word
from ..inputs.checking import Rows
from ..parts.kernels import RBF, Cauchy, Laplacian, Linear, Polynomial


@strict
@word
def between(kernel, a, b):
    """Return what one coordinate, a here and b there, adds to the sum of a kernel."""


@between.on(Linear)
@between.on(Polynomial)
def _(kernel, a, b):
    return a * b


@between.on(RBF)
def _(kernel, a, b):
    return (a - b) * (a - b)


@between.on(Laplacian)
def _(kernel, a, b):
    return abs(a - b)


@between.on(Cauchy)
def _(kernel, a, b):
    return log1p(kernel.gamma * (a - b) * (a - b))


@strict
@word
def value(kernel, total):
    """Return the kernel, given its sum over coordinates."""


@value.on(Linear)
def _(kernel, total):
    return total


@value.on(Polynomial)
def _(kernel, total):
    return whole_power(kernel.gamma * total + kernel.coef0, int(kernel.degree))


@value.on(RBF)
@value.on(Laplacian)
def _(kernel, total):
    return exp(-kernel.gamma * max(total, 0.0))


@value.on(Cauchy)
def _(kernel, total):
    return exp(-max(total, 0.0))


def row_of(rows: Rows, i: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the coordinates and values of a row."""
    if rows.layout == "dense":
        return np.arange(rows.width), rows.arrays[0][i].astype(np.float64)
    indptr, indices, data = rows.arrays
    return indices[indptr[i] : indptr[i + 1]].astype(np.int64), data[indptr[i] : indptr[i + 1]].astype(np.float64)


def exact(kernel: Any, rows: Rows, i: int, k: int) -> float:
    """Return k(x_i, x_k)."""
    (at, x), (there, y) = row_of(rows, i), row_of(rows, k)
    known = np.union1d(at, there)
    a, b = np.zeros(len(known)), np.zeros(len(known))
    a[np.searchsorted(known, at)] = x
    b[np.searchsorted(known, there)] = y
    return float(value(kernel, math.fsum(between(kernel, p, q) for p, q in zip(a.tolist(), b.tolist(), strict=True))))
