"""Examples: what a step may learn from, and the walks over them. Plain Python; the engine compiles this very text.

A row is an array or Sparse, with a constant feature if Biased. A multiclass round is a Pair ("x for class a minus x for class
b", itself a binary example with label +1), the view of one class a Block, an example with a sample weight is Weighted. Weights
lie feature-major: class c of coordinate j is cell j*K + c, so a Pair touches neighbours.

Coordinates, classes and strides are unsigned (``np.uintp``) from the driver on: signed ones cost a branch per feature.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray

from ..engine.words import strict, word


class Sparse(NamedTuple):
    """The non-zeros of a row."""

    idx: ndarray
    val: ndarray


class Biased(NamedTuple):
    """A row and the constant feature 1 in coordinate j."""

    x: Any
    j: Any


class Unit(NamedTuple):
    """The unit vector of coordinate j: the constant feature of a Biased row on its own."""

    j: Any


class Block(NamedTuple):
    """The row x as class c of K sees it."""

    x: Any
    c: Any
    K: Any


class Pair(NamedTuple):
    """x for class a minus x for class b of K, to be told apart with margin m: a multiclass round as one binary example."""

    x: Any
    a: Any
    b: Any
    K: Any
    m: float


class Every(NamedTuple):
    """The row x as all K classes together see it."""

    x: Any
    K: Any


class Weighted(NamedTuple):
    """An example of importance c. Each step says what that means for it (A.5); scores and norms do not see it."""

    x: Any
    c: float


# ---- what a step may ask of an example -------------------------------------------------------------------------------
@word
def nnz(x):
    """Return the number of stored coordinates."""


@word
def item(x, k):
    """Return (cell, value) of the k-th stored coordinate."""


@word
def importance(x):
    """Return the sample weight, 1 unless the example is Weighted."""


@word
def required(x):
    """Return the margin the example asks for, 1 unless classes have costs."""


@nnz.on(ndarray)
def _(x):
    return x.shape[0]


@nnz.on(Sparse)
def _(x):
    return x.val.shape[0]


@nnz.on(Biased)
def _(x):
    return nnz(x.x) + 1


@nnz.on(Unit)
def _(x):
    return 1


@nnz.on(Block)
def _(x):
    return nnz(x.x)


@nnz.on(Pair)
def _(x):
    return 2 * nnz(x.x)


@nnz.on(Every)
def _(x):
    return nnz(x.x) * int(x.K)


@nnz.on(Weighted)
def _(x):
    return nnz(x.x)


@item.on(ndarray)
def _(x, k):
    return np.uintp(k), float(x[k])


@item.on(Sparse)
def _(x, k):
    return np.uintp(x.idx[k]), float(x.val[k])


@item.on(Biased)
def _(x, k):
    if k < nnz(x.x):
        return item(x.x, k)
    return x.j, 1.0


@item.on(Unit)
def _(x, k):
    return x.j, 1.0


@item.on(Block)
def _(x, k):
    j, v = item(x.x, k)
    return j * x.K + x.c, v


@item.on(Pair)
def _(x, k):
    n = nnz(x.x)
    if k < n:
        j, v = item(x.x, k)
        return j * x.K + x.a, v
    j, v = item(x.x, k - n)
    return j * x.K + x.b, -v


@item.on(Every)
def _(x, k):
    j, v = item(x.x, k // int(x.K))
    return j * x.K + np.uintp(k % int(x.K)), v


@item.on(Weighted)
def _(x, k):
    return item(x.x, k)


@importance.on(object)
def _(x):
    return 1.0


@importance.on(Weighted)
def _(x):
    return x.c


@required.on(object)
def _(x):
    return 1.0


@required.on(Pair)
def _(x):
    return x.m


@required.on(Weighted)
def _(x):
    return required(x.x)


# ---- where a walk goes: all cells, or those of one class (a kind, so that the stride is a constant) -------------------
class Whole(NamedTuple):
    """Coordinate j is cell j."""


@strict
class Of(NamedTuple):
    """Coordinate j is cell jK + c: the weights of class c."""

    K: Any
    c: Any


@word
def cell(o, j):
    """Return where coordinate j lies."""


@cell.on(Whole)
def _(o, j):
    return j


@cell.on(Of)
def _(o, j):
    return j * o.K + o.c


# ---- walks: one loop over a row. Compound examples are sums of walks, so no inner loop carries a branch ---------------
@word
def walk_dot(u, x, o):
    """Return sum_j u_j x_j."""


@word
def walk_add(u, a, x, o):
    """Do u_j += a x_j."""


@word
def walk_add_norm(u, a, x, o):
    """Do walk_add and return the change of the squared norm of u."""


@word
def walk_norm2(x):
    """Return sum_j x_j^2."""


@strict
@word
def walk_scores(u, x, out):
    """Do out[c] += sum_j u_jc x_j for all classes c in one walk."""


@walk_dot.on(ndarray)
def _(u, x, o):
    f = 0.0
    for k in range(nnz(x)):
        j, v = item(x, k)
        f += u[cell(o, j)] * v
    return f


@walk_dot.on(ndarray, Biased)
def _(u, x, o):
    return walk_dot(u, x.x, o) + u[cell(o, x.j)]


@walk_add.on(ndarray)
def _(u, a, x, o):
    for k in range(nnz(x)):
        j, v = item(x, k)
        u[cell(o, j)] += a * v


@walk_add.on(ndarray, object, Biased)
def _(u, a, x, o):
    walk_add(u, a, x.x, o)
    u[cell(o, x.j)] += a


@walk_add_norm.on(ndarray)
def _(u, a, x, o):
    q = 0.0
    for k in range(nnz(x)):
        j, v = item(x, k)
        old = float(u[cell(o, j)])
        u[cell(o, j)] = old + a * v
        q += a * v * (2.0 * old + a * v)
    return q


@walk_add_norm.on(ndarray, object, ndarray)
def _(u, a, x, o):  # dense: three vectorised walks beat one that is not
    q = a * (2.0 * walk_dot(u, x, o) + a * walk_norm2(x))
    walk_add(u, a, x, o)
    return q


@walk_add_norm.on(ndarray, object, Biased)
def _(u, a, x, o):
    return walk_add_norm(u, a, x.x, o) + walk_add_norm(u, a, Unit(x.j), o)


@walk_norm2.on(object)
def _(x):
    q = 0.0
    for k in range(nnz(x)):
        _, v = item(x, k)
        q += v * v
    return q


@walk_norm2.on(Biased)
def _(x):
    return walk_norm2(x.x) + 1.0


@walk_scores.on(ndarray)
def _(u, x, out):
    K = np.uintp(out.shape[0])
    for k in range(nnz(x)):
        j, v = item(x, k)
        for c in range(out.shape[0]):
            out[c] += u[j * K + np.uintp(c)] * v


@walk_scores.on(ndarray, Biased)
def _(u, x, out):
    walk_scores(u, x.x, out)
    walk_scores(u, Unit(x.j), out)
