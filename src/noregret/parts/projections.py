"""Euclidean projections (A.3): `project(region, w, x)` moves w to the nearest point of the region after a step on x.

The L2 ball costs O(1) on weights with a tracked norm, the box and a sparse half space O(nnz); the L1 ball and the simplex look at
every weight. Several classes are one stacked vector.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy import ndarray

from ..algorithm.params import Choice
from ..engine.words import word
from ..spaces.examples import Every, Pair, Weighted, item, nnz
from ..spaces.expansion import Expansion
from ..spaces.weights import Normed, Scaled, scale, sqnorm


class Anywhere(NamedTuple):
    """No constraint."""


class L2Ball(NamedTuple):
    """|w|_2 <= radius."""

    radius: float = 1.0
    needs = "norm"


class L1Ball(NamedTuple):
    """|w|_1 <= radius."""

    radius: float = 1.0
    needs = "scale"


class Simplex(NamedTuple):
    """w >= 0 with sum radius, over the d coordinates in use (the constant feature is one of them)."""

    radius: float = 1.0
    d: float = 1.0
    needs = "scale"
    oriented = True


class Box(NamedTuple):
    """|w_j| <= radius for every j."""

    radius: float = 1.0
    needs = "scale"


class HalfSpace(NamedTuple):
    """a.w >= b. The coordinates of `a` are those of the stacked weights, feature by feature; what it does not reach counts 0."""

    a: ndarray
    b: float = 0.0
    needs = "scale"
    oriented = True


@word
def project(region, w, x):
    """Do w = the nearest point of the region."""


@word
def begin(region, w):
    """Do w = the projection of 0: where learning starts."""


@word
def stride(x):
    """Return the number of classes stacked in the weights."""


@stride.on(object)
def _(x):
    return 1


@stride.on(Every)
def _(x):
    return x.K


@stride.on(Pair)
def _(x):
    return x.K


@stride.on(Weighted)
def _(x):
    return stride(x.x)


# ---- on arrays -------------------------------------------------------------------------------------------------------
def simplex_threshold(v, n, z, signed):
    """Return theta with sum_j max(0, v_j - theta) = z over the first n cells (|v_j| unless signed): Michelot's shrinking set."""
    theta, size = -math.inf, n + 1
    while True:
        total, count = 0.0, 0
        for j in range(n):
            a = float(v[j]) if signed else abs(float(v[j]))
            if a > theta:
                total += a
                count += 1
        if count >= size or count == 0:  # the set only shrinks, whatever rounding does
            return theta
        theta, size = (total - z) / count, count


def onto_simplex(v, n, z):
    """Project the first n cells on the simplex of mass z, in place."""
    theta = simplex_threshold(v, n, z, True)
    for j in range(n):
        v[j] = max(0.0, v[j] - theta)


def onto_l1_ball(v, z):
    """Project on the L1 ball of radius z, in place."""
    total = 0.0
    for j in range(v.shape[0]):
        total += abs(v[j])
    if total > z:
        theta = simplex_threshold(v, v.shape[0], z, False)
        for j in range(v.shape[0]):
            v[j] = math.copysign(max(0.0, abs(v[j]) - theta), v[j])


# ---- on weights ------------------------------------------------------------------------------------------------------
@project.on(Anywhere)
def _(region, w, x):
    pass


@project.on(Anywhere, Scaled)
def _(region, w, x):
    pass


@project.on(object, Scaled)
def _(region, w, x):
    if w.c[0] != 1.0:
        for j in range(w.u.shape[0]):
            w.u[j] *= w.c[0]
        w.c[0] = 1.0
    project(region, w.u, x)


@project.on(L2Ball, Expansion)
@project.on(L2Ball, Normed)
def onto_l2_ball(region, w, x):
    """Shrink w to the radius."""
    n2 = sqnorm(w)
    if n2 > region.radius * region.radius:
        scale(w, region.radius / math.sqrt(n2))


@project.on(L1Ball, ndarray)
def _(region, w, x):
    onto_l1_ball(w, region.radius)


@project.on(Simplex, ndarray)
def _(region, w, x):
    onto_simplex(w, int(region.d) * int(stride(x)), region.radius)


@project.on(Box, ndarray)
def _(region, w, x):
    for k in range(nnz(x)):
        j, _ = item(x, k)
        w[j] = min(region.radius, max(-region.radius, w[j]))


@project.on(HalfSpace, ndarray)
def _(region, w, x):
    f, n2 = 0.0, 0.0
    d = min(region.a.shape[0], w.shape[0])
    for j in range(d):
        f += region.a[j] * w[j]
        n2 += region.a[j] * region.a[j]
    if f < region.b and n2 > 0.0:
        for j in range(d):
            w[j] += (region.b - f) / n2 * region.a[j]


@begin.on(object)
def _(region, w):
    pass


@begin.on(Simplex, Scaled)
def _(region, w):
    w.u[:] = region.radius / w.u.size


@begin.on(HalfSpace, Scaled)
def _(region, w):
    project(region, w, np.zeros(1))


Region = Annotated[Any, Choice({None: Anywhere, "l2": L2Ball, "l1": L1Ball, "simplex": Simplex, "box": Box})]
