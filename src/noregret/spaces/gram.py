"""The inverse Gram matrix of the support vectors, kept while they come and go (G.7): P = K^-1.

With k_x the kernel values of a row, d = P k_x are the coefficients of its projection on the span of the vectors, and
k(x, x) - k_x.d is the squared distance from it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from numpy import ndarray

from ..engine.words import rare, strict
from .expansion import along, appending, bump, dropping, moving
from .support_vectors import alone, meet_own

FLAT = 1e-10  # a squared distance below this share of k(x, x) is rounding: the row is in the span, and K stays well above singular
LEAST = 1e-10  # of k(x, x), the least pivot of a Cholesky factor
WRONG = 1e-6  # the largest error of K P that is let pass


class Gram(NamedTuple):
    """P, over the vectors in their slots."""

    P: ndarray  # (slot, slot)
    d: ndarray  # (slot,) scratch: coefficients of a projection


def residual(w, k):
    """Leave the coefficients of the projection of the current row in d; return its squared distance from the span."""
    G, n = w.memo, w.size[0]
    inside = 0.0
    for i in range(n):
        s = 0.0
        for j in range(n):
            s += G.P[i, j] * w.kx[j]
        G.d[i] = s
        inside += s * w.kx[i]
    return max(0.0, k - inside)


def project_row(w, k, delta2):
    """Do f += u times the projection of the current row: of squared length k(x, x) - delta2, with the row's kernel values."""
    appending(w.norm, w, k - delta2)
    appending(w.kept, w, k - delta2)
    for j in range(w.u.shape[0]):
        for i in range(w.size[0]):
            bump(w, j, i, w.u[j] * w.memo.d[i])


@strict
def border(w, delta2):
    """Take the current row into P, before it is appended."""
    G, n = w.memo, w.size[0]
    for i in range(n):
        for j in range(n):
            G.P[i, j] += G.d[i] * G.d[j] / delta2  # taken in the same order for (j, i): P stays symmetric
        G.P[i, n] = -G.d[i] / delta2
        G.P[n, i] = -G.d[i] / delta2
    G.P[n, n] = 1.0 / delta2


@strict
def unborder(w, r):
    """Take vector r out of P, before it is removed."""
    G, n = w.memo, w.size[0]
    for i in range(n):
        G.d[i] = G.P[i, r]
    for i in range(n):
        for j in range(n):
            G.P[i, j] -= G.d[i] * G.d[j] / G.d[r]


@dropping.on(Gram)
def dropping_gram(G, w, r):
    unborder(w, r)


@moving.on(Gram)
def moving_gram(G, i, r):
    for j in range(i):
        G.P[r, j] = G.P[i, j]
        G.P[j, r] = G.P[j, i]
    G.P[r, r] = G.P[i, i]


def check(w):
    """Look at the row of K P - I of the vector nearest to the span of the others, where rounding is worst; rebuild a bad P."""
    G, n, r, worst = w.memo, w.size[0], 0, 0.0
    for i in range(n):
        if G.P[i, i] > G.P[r, r]:
            r = i
    meet_own(w.S, w.kernel, n, w.ky, r)
    for i in range(n):
        s = along(G.P[i], n, w.ky)
        gap = abs(s - 1.0 if i == r else s)
        if not gap <= worst:  # NaN too
            worst = gap
    if not worst <= WRONG:
        rebuild(w)


@rare
def rebuild(w):
    """Do P = K^-1 by Cholesky: K = L L', P = L'^-1 L^-1, all in place."""
    P, n = w.memo.P, w.size[0]
    for i in range(n):
        meet_own(w.S, w.kernel, n, w.ky, i)
        for j in range(i + 1):
            P[i, j] = w.ky[j]
    for j in range(n):
        for k in range(j):
            P[j, j] -= P[j, k] * P[j, k]
        P[j, j] = math.sqrt(max(P[j, j], LEAST * alone(w.kernel, w.S.g[j])))
        for i in range(j + 1, n):
            for k in range(j):
                P[i, j] -= P[i, k] * P[j, k]
            P[i, j] /= P[j, j]
    for j in range(n):  # L^-1, column by column
        P[j, j] = 1.0 / P[j, j]
        for i in range(j + 1, n):
            s = 0.0
            for k in range(j, i):
                s -= P[i, k] * P[k, j]
            P[i, j] = s / P[i, i]
    for i in range(n):  # its square, from the lower half
        for j in range(i + 1):
            s = 0.0
            for k in range(i, n):
                s += P[k, i] * P[k, j]
            P[j, i] = s
    for i in range(n):
        for j in range(i):
            P[i, j] = P[j, i]
