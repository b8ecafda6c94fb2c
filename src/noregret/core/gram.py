"""The inverse Gram matrix of the support vectors, kept while they come and go (G.7): P = (K + jitter)^-1.

With k_x the kernel values of a row, d = P k_x are the coefficients of its projection on the span of the vectors, and
k(x, x) - k_x.d is the squared distance from it.
"""

from __future__ import annotations

from typing import NamedTuple

from numpy import ndarray

from .expansion import appending, bump, moving
from .stores import alone, meet_own
from .words import rare, strict

JITTER = 1e-10  # of k(x, x), on every diagonal entry from the start
FLAT = 1e-9  # a squared distance below this share of k(x, x) is rounding: the row is in the span
CHECKED = 100  # changes between two checks of K P = I, or as many as there are vectors
WRONG = 1e-6  # the largest error of K P that is let pass


class Gram(NamedTuple):
    """P, and how often it has changed since it was checked."""

    P: ndarray  # (slot, slot)
    d: ndarray  # (slot,) scratch: coefficients of a projection
    age: ndarray


def residual(w, k):
    """Leave the coefficients of the projection of the row at hand in d; return its squared distance from the span."""
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
    """Do f += u times the projection of the row at hand: k(x, x) - delta2 is its squared length, its kernel values are the row's."""
    appending(w.norm, w, k - delta2)
    appending(w.kept, w, k - delta2)
    for j in range(w.u.shape[0]):
        for i in range(w.size[0]):
            bump(w, j, i, w.u[j] * w.memo.d[i])


@strict
def border(w, k, delta2):
    """Take the row at hand into P, before it is appended."""
    G, n = w.memo, w.size[0]
    room = delta2 + JITTER * k
    for i in range(n):
        for j in range(n):
            G.P[i, j] += G.d[i] * G.d[j] / room  # taken in the same order for (j, i): P stays symmetric
        G.P[i, n] = -G.d[i] / room
        G.P[n, i] = -G.d[i] / room
    G.P[n, n] = 1.0 / room
    G.age[0] += 1


@strict
def unborder(w, r):
    """Take vector r out of P, before it is removed."""
    G, n = w.memo, w.size[0]
    for i in range(n):
        G.d[i] = G.P[i, r]
    for i in range(n):
        for j in range(n):
            G.P[i, j] -= G.d[i] * G.d[j] / G.d[r]
    G.age[0] += 1


@moving.on(Gram)
def _(G, i, r):
    for j in range(i):
        G.P[r, j] = G.P[i, j]
        G.P[j, r] = G.P[j, i]
    G.P[r, r] = G.P[i, i]


def check(w):
    """Make P anew when rounding has taken over."""
    if w.memo.age[0] >= max(CHECKED, w.size[0]):
        w.memo.age[0] = 0
        if error(w) > WRONG:
            rebuild(w)


@rare
def error(w):
    """Return the largest entry of K P - I."""
    G, n, worst = w.memo, w.size[0], 0.0
    for i in range(n):
        gram_row(w, i)
        for j in range(n):
            s = 0.0
            for k in range(n):
                s += w.ky[k] * G.P[k, j]
            gap = abs(s - 1.0 if i == j else s)
            if not gap <= worst:  # NaN too
                worst = gap
    return worst


def gram_row(w, i):
    """Fill ky with row i of K."""
    meet_own(w.S, w.kernel, w.size[0], w.ky, i)
    w.ky[i] = (1.0 + JITTER) * alone(w.kernel, w.S.g[i])


@rare
def rebuild(w):
    """Do P = K^-1 by Cholesky: K = L L', P = L'^-1 L^-1, all in place."""
    P, n = w.memo.P, w.size[0]
    for i in range(n):
        gram_row(w, i)
        for j in range(i + 1):
            P[i, j] = w.ky[j]
    for j in range(n):
        for k in range(j):
            P[j, j] -= P[j, k] * P[j, k]
        P[j, j] = max(P[j, j], JITTER * alone(w.kernel, w.S.g[j])) ** 0.5
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

