"""Points between two support vectors, for budgets that merge them: of non-zeros the union, formed in place."""

from __future__ import annotations

from ..engine.words import rare, word
from .support_vectors import Capped, Free, Packed, Ragged, count, own


@word
def blend(S, kernel, n, i, j, h):
    """Do vector i = h (vector i) + (1 - h) (vector j), two of n; vector j is about to be removed and loses its meaning."""


@word
def blendable(S, i, j):
    """Return whether a point between the two vectors may be stored."""


@blend.on(Packed)
def blend_packed(S, kernel, n, i, j, h):
    g = 0.0
    for m in range(S.sv.shape[0]):
        v = h * float(S.sv[m, i]) + (1.0 - h) * float(S.sv[m, j])
        S.sv[m, i] = v
        g += own(kernel, v)
    S.g[i] = g


# ---- non-zeros -------------------------------------------------------------------------------------------------------
def turn(S, low, high):
    """Reverse the cells from low to high."""
    for k in range((high - low) // 2):
        i, j = low + k, high - 1 - k
        idx, val = S.idx[i], S.val[i]
        S.idx[i] = S.idx[j]
        S.val[i] = S.val[j]
        S.idx[j] = idx
        S.val[j] = val


def exchange(S, n, low, middle, high):
    """Let the cells from low to middle and those from middle to high change places, with the vectors in them: in place."""
    turn(S, low, middle)
    turn(S, middle, high)
    turn(S, low, high)
    for i in range(n):
        shift = 0
        if low <= S.start[i] < middle:
            shift = high - middle
        elif middle <= S.start[i] < high:
            shift = low - middle
        S.start[i] += shift
        S.end[i] += shift


def adjoin(S, n, i, j):
    """Bring the cells of vector i right before those of vector j.

    Nothing is written behind the cells in use, which are for rows to come: so it never shows where a stream was split.
    """
    if S.start[i] == S.end[i]:  # a row of zeros may lie anywhere
        S.start[i] = S.start[j]
        S.end[i] = S.start[j]
    elif S.start[j] == S.end[j]:
        S.start[j] = S.end[i]
        S.end[j] = S.end[i]
    elif S.start[i] < S.start[j]:
        exchange(S, n, S.start[i], S.end[i], S.start[j])
    else:
        exchange(S, n, S.start[j], S.start[i], S.end[i])


@rare
@blend.on(Ragged)
def blend_ragged(S, kernel, n, i, j, h):
    """Take the union of the non-zeros, those of vector i first."""
    adjoin(S, n, i, j)
    first, last = S.start[i], S.end[j]
    for k in range(first, S.end[i]):
        S.z[S.idx[k]] = h * float(S.val[k])
    for k in range(S.start[j], last):
        S.z[S.idx[k]] += (1.0 - h) * float(S.val[k])
    g, end = 0.0, first
    for k in range(first, last):
        m = S.idx[k]
        v = S.z[m]
        S.z[m] = 0.0  # so that a coordinate of both comes once
        if v != 0.0:
            S.idx[end] = m
            S.val[end] = v
            g += own(kernel, v)
            end += 1
    S.g[i] = g
    S.end[i] = end
    S.start[j] = end
    S.end[j] = end
    count(S.cap, end - last)


# ---- how long a point may be -----------------------------------------------------------------------------------------
@blendable.on(object)
def blendable_any(S, i, j):
    return True


def united(S, i, j):
    """Return how many coordinates are not 0 in either vector."""
    n = S.end[i] - S.start[i]
    for k in range(S.start[i], S.end[i]):
        S.z[S.idx[k]] = 1.0
    for k in range(S.start[j], S.end[j]):
        if S.z[S.idx[k]] == 0.0:
            n += 1
    for k in range(S.start[i], S.end[i]):
        S.z[S.idx[k]] = 0.0
    return n


@word
def short(cap, S, i, j):
    """Return whether the union of two vectors is not longer than a row may be."""


@blendable.on(Ragged)
def blendable_ragged(S, i, j):
    return short(S.cap, S, i, j)


@short.on(Free)
def short_free(cap, S, i, j):
    return True


@short.on(Capped)
def short_capped(cap, S, i, j):
    return cap.cell * united(S, i, j) <= cap.spare
