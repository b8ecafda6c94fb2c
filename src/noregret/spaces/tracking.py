"""What an expansion tracks beside its coefficients: its squared norm, and the scores of its own support vectors.

Both follow additions and removals one by one, and are recomputed now and then, so that rounding does not add up.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from numpy import ndarray

from .expansion import along, appending, dropping, due, folding, moving, remeasure
from .support_vectors import alone, meet_own

CHANGES = 1000  # additions between two computations of tracked sums, or as many as there are vectors


class Tracked(NamedTuple):
    """q = |f/c|^2; age = additions since it was computed."""

    q: ndarray
    age: ndarray


class Kept(NamedTuple):
    """The scores of the support vectors themselves, without the multiplier; and a figure of the step's for each."""

    F: ndarray  # (class, slot)
    cap: ndarray  # (slot,)
    new: ndarray  # that of the vector to come
    age: ndarray


# ---- the tracked norm ------------------------------------------------------------------------------------------------------
@appending.on(Tracked)
def appending_tracked(part, w, k):
    for j in range(w.u.shape[0]):
        a = w.u[j] / w.c[0]
        part.q[0] += a * (2.0 * along(w.alpha[j], w.size[0], w.kx) + a * k)


@dropping.on(Tracked)
def dropping_tracked(part, w, r):
    meet_own(w.S, w.kernel, w.size[0], w.ky, r)
    for j in range(w.alpha.shape[0]):
        a = w.alpha[j, r]
        part.q[0] += a * (a * w.ky[r] - 2.0 * along(w.alpha[j], w.size[0], w.ky))


@folding.on(Tracked)
def folding_tracked(part, w):
    part.q[0] *= w.c[0] * w.c[0]


@due.on(Tracked)
def due_tracked(part, w):
    part.age[0] += 1
    if part.age[0] >= max(CHANGES, w.size[0]):
        remeasure(part, w)


@remeasure.on(Tracked)
def remeasure_tracked(part, w):
    n = w.size[0]
    part.q[0] = 0.0
    part.age[0] = 0
    for r in range(n):
        meet_own(w.S, w.kernel, n, w.ky, r)
        for j in range(w.alpha.shape[0]):
            part.q[0] += w.alpha[j, r] * along(w.alpha[j], n, w.ky)


# ---- the scores of the vectors themselves ----------------------------------------------------------------------------------
@appending.on(Kept)
def appending_kept(part, w, k):
    n = w.size[0]
    for j in range(w.u.shape[0]):
        a = w.u[j] / w.c[0]
        part.F[j, n] = along(w.alpha[j], n, w.kx) + a * k
        for i in range(n):
            part.F[j, i] += a * w.kx[i]
    part.cap[n] = part.new[0]


@dropping.on(Kept)
def dropping_kept(part, w, r):
    n = w.size[0]
    meet_own(w.S, w.kernel, n, w.ky, r)
    for j in range(w.alpha.shape[0]):
        for i in range(n):
            part.F[j, i] -= w.alpha[j, r] * w.ky[i]


@moving.on(Kept)
def moving_kept(part, i, r):
    for j in range(part.F.shape[0]):
        part.F[j, r] = part.F[j, i]
    part.cap[r] = part.cap[i]


@folding.on(Kept)
def folding_kept(part, w):
    for j in range(w.alpha.shape[0]):
        for i in range(w.size[0]):
            part.F[j, i] *= w.c[0]


@due.on(Kept)
def due_kept(part, w):
    part.age[0] += 1
    if part.age[0] >= max(CHANGES, w.size[0]):
        remeasure(part, w)


@remeasure.on(Kept)
def remeasure_kept(part, w):
    n = w.size[0]
    part.age[0] = 0
    for r in range(n):
        meet_own(w.S, w.kernel, n, w.ky, r)
        for j in range(w.alpha.shape[0]):
            part.F[j, r] = along(w.alpha[j], n, w.ky)


def leave_out_margin(w, i):
    """Return the margin of vector i without its own contribution, for the class (or sign) its coefficients speak for."""
    k, own = alone(w.kernel, w.S.g[i]), 0
    if w.alpha.shape[0] == 1:
        f = w.kept.F[0, i] - w.alpha[0, i] * k
        return w.c[0] * (f if w.alpha[0, i] > 0.0 else -f)
    for j in range(w.alpha.shape[0]):
        if w.alpha[j, i] > w.alpha[own, i]:
            own = j
    rival = -math.inf
    for j in range(w.alpha.shape[0]):
        if j != own:
            rival = max(rival, w.kept.F[j, i] - w.alpha[j, i] * k)
    return w.c[0] * (w.kept.F[own, i] - w.alpha[own, i] * k - rival)
