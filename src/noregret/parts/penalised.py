"""Weights that a penalty acts on by its proximal map: all at once (Eager), or feature by feature, for all classes (Rows)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray

from ..core.examples import Block, Pair, item, nnz
from ..core.sparse import LONG, shrink
from ..core.weights import add, dot, scores
from ..core.words import rare, strict
from .proximal import prox

ONE, FIRST = np.uintp(1), np.uintp(0)


# ---- all at once -----------------------------------------------------------------------------------------------------
class Eager(NamedTuple):
    """Weights that a penalty without a shorter way acts on in every round, all of them."""

    u: ndarray
    penalty: Any

    def primal(self) -> ndarray:
        """Return the weights."""
        return self.u


@dot.on(Eager)
def _(w, x):
    return dot(w.u, x)


@add.on(Eager)
def _(w, a, x):
    add(w.u, a, x)


@scores.on(Eager)
def _(w, x, out):
    scores(w.u, x, out)


@shrink.on(Eager)
def _(w, a):
    prox(w.penalty, w.u, a)


# ---- feature by feature ----------------------------------------------------------------------------------------------
class Rows(NamedTuple):
    """Row j of u is as it was when last touched, when shrinkage added up to past_j; by now it is total.

    `row` is scratch: the row at hand, with all shrinkage in it.
    """

    u: ndarray
    past: ndarray
    total: ndarray
    row: ndarray
    penalty: Any

    def primal(self) -> ndarray:
        """Return the weights."""
        u = self.u.reshape(len(self.past), -1).astype(np.float64)
        for j in np.flatnonzero((self.total[0] > self.past) & u.any(1)):
            prox(self.penalty, u[j], self.total[0] - self.past[j])
        return u.reshape(-1).astype(self.u.dtype)

    def settle(self) -> None:
        """Let all shrinkage act."""
        self.u[:] = self.primal()
        self.past[:] = 0.0
        self.total[0] = 0.0


@strict
def current(w, j, K):
    """Put row j, with all shrinkage in it, into w.row."""
    start = j * K
    for c in range(w.row.shape[0]):
        w.row[c] = w.u[start + np.uintp(c)]
    a = w.total[0] - w.past[j]
    if a > 0.0:
        prox(w.penalty, w.row, a)


def walk_row(w, x, c, K):
    """Return the score of class c."""
    f = 0.0
    for k in range(nnz(x)):
        j, v = item(x, k)
        current(w, j, K)
        f += w.row[c] * v
    return f


def walk_row_add(w, a, x, c, K):
    """Do w_c += a x, every row touched being brought up to date."""
    for k in range(nnz(x)):
        j, v = item(x, k)
        current(w, j, K)
        w.row[c] += a * v
        for r in range(w.row.shape[0]):
            w.u[j * K + np.uintp(r)] = w.row[r]
        w.past[j] = w.total[0]


@dot.on(Rows)
def _(w, x):
    return walk_row(w, x, FIRST, ONE)


@dot.on(Rows, Block)
def _(w, x):
    return walk_row(w, x.x, x.c, x.K)


@dot.on(Rows, Pair)
def _(w, x):
    return walk_row(w, x.x, x.a, x.K) - walk_row(w, x.x, x.b, x.K)


@add.on(Rows)
def _(w, a, x):
    walk_row_add(w, a, x, FIRST, ONE)


@add.on(Rows, object, Block)
def _(w, a, x):
    walk_row_add(w, a, x.x, x.c, x.K)


@add.on(Rows, object, Pair)
def _(w, a, x):
    walk_row_add(w, a, x.x, x.a, x.K)
    walk_row_add(w, -a, x.x, x.b, x.K)


@strict
def walk_row_scores(w, x, out):
    """Do out[c] += sum_j w_jc x_j for all classes c in one walk."""
    K = np.uintp(out.shape[0])
    for k in range(nnz(x)):
        j, v = item(x, k)
        current(w, j, K)
        for c in range(out.shape[0]):
            out[c] += w.row[c] * v


@scores.on(Rows)
def _(w, x, out):
    out[:] = 0.0
    walk_row_scores(w, x, out)


@shrink.on(Rows)
def _(w, a):
    w.total[0] += a
    if w.total[0] > LONG:
        catch_up_rows(w)


@rare
def catch_up_rows(w):
    """Let all shrinkage act."""
    K = np.uintp(w.row.shape[0])
    for j in range(w.past.shape[0]):
        current(w, np.uintp(j), K)
        for c in range(w.row.shape[0]):
            w.u[np.uintp(j) * K + np.uintp(c)] = w.row[c]
        w.past[j] = 0.0
    w.total[0] = 0.0
