"""Covariances: how sure a second-order learner is of each weight, or of each pair of them.

The weights have the mean mu and the covariance Sigma. A diagonal one is a variance for each cell of the weights, O(nnz) a round;
a full one is a matrix for each class, O(d^2). What a diagonal does with Sigma^-1 += k x x' is its kind: Inverse adds to the
inverses, Dropped is the diagonal of the full update, Herded the exact diagonal of Gaussian herding.

`margin` comes before `absorb` or `gather`, on the same example: a full covariance keeps Sigma x between them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy import ndarray

from ..engine.words import rare, word
from .examples import Biased, Block, Of, Pair, Unit, Weighted, Whole, cell, item, nnz

TINY = 1e-200  # a variance below this is 0


@word
def margin(w, S, x):
    """Return (<w, x>, x'Sx)."""


@word
def absorb(w, S, a, k, b, x):
    """Do w += a S x, then S^-1 += k x x', which is S -= b S x x' S."""


@word
def gather(w, S, a, k, x):
    """Do S^-1 w += a x and S^-1 += k x x': w stays S times a sum of examples."""


@word
def inflate(S, c, x):
    """Do S *= c, for the class of x."""


@word
def included(w, S, x):
    """Return <v, (A + x x')^-1 x>, with S = A^-1 and w = S v: the score as if x had been gathered."""


@word
def least(S, x):
    """Return the variance below which x'Sx is rounding."""


# ---- diagonal --------------------------------------------------------------------------------------------------------
class Inverse(NamedTuple):
    """Variances; s -> s/(1 + k s x^2)."""

    s: ndarray

    def variances(self) -> ndarray:
        """Return the variance of each weight."""
        return self.s


class Dropped(NamedTuple):
    """Variances; s -> s - b s^2 x^2."""

    s: ndarray

    def variances(self) -> ndarray:
        """Return the variance of each weight."""
        return self.s


class Herded(NamedTuple):
    """Variances; s -> s/(1 + k s x^2)^2, with k the C of NHERD."""

    s: ndarray

    def variances(self) -> ndarray:
        """Return the variance of each weight."""
        return self.s


@word
def shrunk(S, k, b, s, v):
    """Return the variance s of a weight after a round in which its feature was v."""


@shrunk.on(Inverse)
def _(S, k, b, s, v):
    return s / (1.0 + k * s * v * v)


@shrunk.on(Dropped)
def _(S, k, b, s, v):
    return s - b * (s * v) * (s * v)


@shrunk.on(Herded)
def _(S, k, b, s, v):
    q = 1.0 + k * s * v * v
    return s / (q * q)


@word
def walk_margin(w, s, x, o):
    """Return (sum w_j x_j, sum s_j x_j^2)."""


@word
def walk_absorb(w, S, a, k, b, x, o):
    """Do w_j += a s_j x_j and shrink s_j."""


@word
def walk_gather(w, S, a, k, x, o):
    """Do w_j = (w_j + a s_j x_j)/(1 + k s_j x_j^2) and s_j = s_j/(1 + k s_j x_j^2)."""


@walk_margin.on(ndarray)
def _(w, s, x, o):
    f, q = 0.0, 0.0
    for i in range(nnz(x)):
        j, v = item(x, i)
        f += w[cell(o, j)] * v
        q += s[cell(o, j)] * v * v
    return f, q


@walk_margin.on(ndarray, ndarray, Biased)
def _(w, s, x, o):
    f, q = walk_margin(w, s, x.x, o)
    return f + w[cell(o, x.j)], q + s[cell(o, x.j)]


@walk_absorb.on(ndarray)
def _(w, S, a, k, b, x, o):
    for i in range(nnz(x)):
        j, v = item(x, i)
        s = float(S.s[cell(o, j)])
        w[cell(o, j)] += a * s * v
        S.s[cell(o, j)] = shrunk(S, k, b, s, v)


@walk_absorb.on(ndarray, object, object, object, object, Biased)
def _(w, S, a, k, b, x, o):
    walk_absorb(w, S, a, k, b, x.x, o)
    walk_absorb(w, S, a, k, b, Unit(x.j), o)


@walk_gather.on(ndarray)
def _(w, S, a, k, x, o):
    for i in range(nnz(x)):
        j, v = item(x, i)
        s = float(S.s[cell(o, j)])
        q = 1.0 + k * s * v * v
        w[cell(o, j)] = (w[cell(o, j)] + a * s * v) / q
        S.s[cell(o, j)] = s / q


@walk_gather.on(ndarray, object, object, object, Biased)
def _(w, S, a, k, x, o):
    walk_gather(w, S, a, k, x.x, o)
    walk_gather(w, S, a, k, Unit(x.j), o)


@margin.on(object)
def _(w, S, x):
    return walk_margin(w, S.s, x, Whole())


@margin.on(object, object, Block)
def _(w, S, x):
    return walk_margin(w, S.s, x.x, Of(x.K, x.c))


@margin.on(object, object, Pair)
def _(w, S, x):
    f, q = walk_margin(w, S.s, x.x, Of(x.K, x.a))
    g, r = walk_margin(w, S.s, x.x, Of(x.K, x.b))
    return f - g, q + r


@absorb.on(object)
def _(w, S, a, k, b, x):
    walk_absorb(w, S, a, k, b, x, Whole())


@absorb.on(object, object, object, object, object, Block)
def _(w, S, a, k, b, x):
    walk_absorb(w, S, a, k, b, x.x, Of(x.K, x.c))


@absorb.on(object, object, object, object, object, Pair)
def _(w, S, a, k, b, x):
    walk_absorb(w, S, a, k, b, x.x, Of(x.K, x.a))
    walk_absorb(w, S, -a, k, b, x.x, Of(x.K, x.b))


@gather.on(object)
def _(w, S, a, k, x):
    walk_gather(w, S, a, k, x, Whole())


@gather.on(object, object, object, object, Block)
def _(w, S, a, k, x):
    walk_gather(w, S, a, k, x.x, Of(x.K, x.c))


def walk_included(w, s, x, o):
    """Return sum w_j x_j/(1 + s_j x_j^2)."""
    f = 0.0
    for i in range(nnz(x)):
        j, v = item(x, i)
        f += w[cell(o, j)] * v / (1.0 + s[cell(o, j)] * v * v)
    return f


@included.on(object)
def _(w, S, x):
    return walk_included(w, S.s, x, Whole())


@included.on(object, object, Block)
def _(w, S, x):
    return walk_included(w, S.s, x.x, Of(x.K, x.c))


@least.on(object)
def _(S, x):
    return TINY


# ---- full ------------------------------------------------------------------------------------------------------------
class Full(NamedTuple):
    """A matrix g_c S_c for each class (one with two), of which the upper half is kept: half the numbers to move, and symmetric.

    The multipliers make `inflate` O(1), and features that come later as large as the others. u keeps the covariance times x of
    the round, for one class or for the two of a pair.
    """

    S: ndarray
    g: ndarray
    u: ndarray

    def matrices(self) -> ndarray:
        """Return the covariances."""
        upper = np.triu(self.S * self.g[:, None, None])
        return upper + np.triu(upper, 1).transpose(0, 2, 1)

    def variances(self) -> ndarray:
        """Return the variance of each weight, feature by feature."""
        return np.ascontiguousarray((np.diagonal(self.S, axis1=1, axis2=2) * self.g[:, None]).T).reshape(-1)

    def settle(self) -> None:
        """Put the multipliers in."""
        self.S[:] = self.matrices()
        self.g[:] = 1.0


@rare
@word
def product(S, u, x):
    """Do u = S x."""


@product.on(object)
def _(S, u, x):
    for i in range(u.shape[0]):
        u[i] = 0.0
    for k in range(nnz(x)):
        j, v = item(x, k)
        column(S, u, j, v)


@product.on(ndarray, ndarray, ndarray)
def _(S, u, x):  # dense: each number of the upper half is read once, four rows at a time
    d = x.shape[0]
    for i in range(u.shape[0]):
        u[i] = 0.0
    for i in range(0, d - 3, 4):
        for k in range(i, i + 4):
            corner(S[k, k : i + 4], u[k : i + 4], x[k : i + 4])
        a, b, c, e = S[i, i + 4 :], S[i + 1, i + 4 :], S[i + 2, i + 4 :], S[i + 3, i + 4 :]
        p, q, r, s = x[i], x[i + 1], x[i + 2], x[i + 3]
        f, g, h, o = 0.0, 0.0, 0.0, 0.0
        rest, into = x[i + 4 :], u[i + 4 :]
        for j in range(rest.shape[0]):
            v = rest[j]
            f += a[j] * v
            g += b[j] * v
            h += c[j] * v
            o += e[j] * v
            into[j] += a[j] * p + b[j] * q + c[j] * r + e[j] * s
        for j in range(rest.shape[0], into.shape[0]):
            into[j] += a[j] * p + b[j] * q + c[j] * r + e[j] * s
        u[i] += f
        u[i + 1] += g
        u[i + 2] += h
        u[i + 3] += o
    for k in range(d // 4 * 4, d):
        corner(S[k, k:], u[k:], x[k:])


@rare
def corner(row, u, x):
    """Do the part of u = S x that a row of the upper half has from its diagonal on."""
    for j in range(x.shape[0]):
        u[0] += row[j] * x[j]
    for j in range(1, u.shape[0]):
        u[j] += row[j] * x[0]


@product.on(ndarray, ndarray, Biased)
def _(S, u, x):
    product(S, u, x.x)
    column(S, u, x.j, 1.0)


def column(S, u, j, v):
    """Do u += v S_j, from the upper half."""
    for i in range(j):
        u[i] += v * S[i, j]
    row, into = S[j, j:], u[j:]
    for i in range(into.shape[0]):
        into[i] += v * row[i]


def times(S, g, u, x):
    """Do u = g S x and return g x'Sx, which rounding must not make negative."""
    product(S, u, x)
    for i in range(u.shape[0]):
        u[i] *= g
    q = 0.0
    for k in range(nnz(x)):
        j, v = item(x, k)
        q += v * u[j]
    return max(q, 0.0)


@rare
def less(S, g, u, b):
    """Do g S -= b u u', and spend u; the root first, or the product underflows."""
    root = math.sqrt(b / g)
    for i in range(u.shape[0]):
        u[i] *= root
    d = u.shape[0]
    for i in range(0, d - 3, 4):
        for k in range(i, i + 4):
            away(S[k, k : i + 4], u[k : i + 4], u[k])
        a, b, c, e = S[i, i + 4 :], S[i + 1, i + 4 :], S[i + 2, i + 4 :], S[i + 3, i + 4 :]
        p, q, r, s = u[i], u[i + 1], u[i + 2], u[i + 3]
        rest = u[i + 4 :]
        for j in range(rest.shape[0]):
            v = rest[j]
            a[j] -= p * v
            b[j] -= q * v
            c[j] -= r * v
            e[j] -= s * v
    for k in range(d // 4 * 4, d):
        away(S[k, k:], u[k:], u[k])


@rare
def away(row, u, c):
    """Do row -= c u."""
    for j in range(u.shape[0]):
        row[j] -= c * u[j]


def along(w, a, u, K, c):
    """Do w_c += a u."""
    for j in range(u.shape[0]):
        w[np.uintp(j) * K + c] += a * u[j]


def score(w, x, o):
    """Return <w, x>."""
    f = 0.0
    for k in range(nnz(x)):
        j, v = item(x, k)
        f += w[cell(o, j)] * v
    return f


ONE, FIRST = np.uintp(1), np.uintp(0)


@margin.on(object, Full)
def _(w, S, x):
    return score(w, x, Whole()), times(S.S[0], S.g[0], S.u[0], x)


@margin.on(object, Full, Block)
def _(w, S, x):
    return score(w, x.x, Of(x.K, x.c)), times(S.S[x.c], S.g[x.c], S.u[0], x.x)


@margin.on(object, Full, Pair)
def _(w, S, x):
    f = score(w, x.x, Of(x.K, x.a)) - score(w, x.x, Of(x.K, x.b))
    return f, times(S.S[x.a], S.g[x.a], S.u[0], x.x) + times(S.S[x.b], S.g[x.b], S.u[1], x.x)


@absorb.on(object, Full)
def _(w, S, a, k, b, x):
    along(w, a, S.u[0], ONE, FIRST)
    less(S.S[0], S.g[0], S.u[0], b)


@absorb.on(object, Full, object, object, object, Block)
def _(w, S, a, k, b, x):
    along(w, a, S.u[0], x.K, x.c)
    less(S.S[x.c], S.g[x.c], S.u[0], b)


@absorb.on(object, Full, object, object, object, Pair)
def _(w, S, a, k, b, x):
    along(w, a, S.u[0], x.K, x.a)
    along(w, -a, S.u[1], x.K, x.b)
    less(S.S[x.a], S.g[x.a], S.u[0], b)
    less(S.S[x.b], S.g[x.b], S.u[1], b)


@gather.on(object, Full)
@gather.on(object, Full, object, object, Block)
def _(w, S, a, k, x):
    f, q = margin(w, S, x)
    b = k / (1.0 + k * q)
    absorb(w, S, a - b * (f + a * q), k, b, x)


@inflate.on(Full)
def _(S, c, x):
    S.g[0] *= c


@inflate.on(Full, object, Block)
def _(S, c, x):
    S.g[x.c] *= c


@included.on(object, Full)
@included.on(object, Full, Block)
def _(w, S, x):
    f, q = margin(w, S, x)
    return f / (1.0 + q)


@least.on(Full)
def _(S, x):
    top, n2 = 0.0, 0.0
    for k in range(S.S.shape[0]):
        for j in range(S.S.shape[1]):
            top = max(top, S.g[k] * S.S[k, j, j])
    for k in range(nnz(x)):
        _, v = item(x, k)
        n2 += v * v
    return max(TINY, 1e-12 * n2 * top)


# ---- sample weights: margins and moves are those of the example inside -----------------------------------------------
@margin.on(object, object, Weighted)
def _(w, S, x):
    return margin(w, S, x.x)


@absorb.on(object, object, object, object, object, Weighted)
def _(w, S, a, k, b, x):
    absorb(w, S, a, k, b, x.x)


@gather.on(object, object, object, object, Weighted)
def _(w, S, a, k, x):
    gather(w, S, a, k, x.x)


@inflate.on(object, object, Weighted)
def _(S, c, x):
    inflate(S, c, x.x)


@included.on(object, object, Weighted)
def _(w, S, x):
    return included(w, S, x.x)


@least.on(object, Weighted)
def _(S, x):
    return least(S, x.x)
