"""Proximal maps (A.4): `prox(penalty, v, t)` replaces v by argmin_w |w - v|^2 / 2 + t R(w), in place."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from numpy import ndarray

from ..engine.words import word
from ..spaces.sparse import soft
from .projections import simplex_threshold


class L1(NamedTuple):
    """R(w) = |w|_1: soft thresholding."""


class L2(NamedTuple):
    """R(w) = |w|_2: the whole vector can become 0."""


class SquaredL2(NamedTuple):
    """R(w) = |w|_2^2 / 2."""


class LInf(NamedTuple):
    """R(w) = max_j |w_j|."""


class ElasticNet(NamedTuple):
    """R(w) = a |w|_1 + b |w|_2^2 / 2."""

    a: float = 1.0
    b: float = 1.0


class L1L2(NamedTuple):
    """R(w) = sum over features of |w_j|_2, w_j the weights of feature j for all classes: they vanish together."""


class L1LInf(NamedTuple):
    """R(w) = sum over features of max_c |w_jc|."""


class Grouped(NamedTuple):
    """R(w) = sum over groups of the penalty of the group; group g is v[ends[g-1]:ends[g]]."""

    ends: ndarray
    penalty: Any


@word
def prox(penalty, v, t):
    """Do v = the proximal point of v with step t >= 0."""


@prox.on(L1)
def _(penalty, v, t):
    for j in range(v.shape[0]):
        v[j] = soft(v[j], t)


@prox.on(SquaredL2)
def _(penalty, v, t):
    for j in range(v.shape[0]):
        v[j] /= 1.0 + t


@prox.on(ElasticNet)
def _(penalty, v, t):
    for j in range(v.shape[0]):
        v[j] = soft(v[j], t * penalty.a) / (1.0 + t * penalty.b)


@prox.on(L2)
def _(penalty, v, t):
    n2 = 0.0
    for j in range(v.shape[0]):
        n2 += v[j] * v[j]
    if n2 > 0.0:
        keep = max(0.0, 1.0 - t / math.sqrt(n2))
        for j in range(v.shape[0]):
            v[j] *= keep


@prox.on(LInf)
def _(penalty, v, t):
    if t > 0.0:
        total = 0.0
        for j in range(v.shape[0]):
            total += abs(v[j])
        top = simplex_threshold(v, v.shape[0], t, False) if total > t else 0.0
        for j in range(v.shape[0]):
            v[j] = math.copysign(min(abs(v[j]), top), v[j])


@prox.on(Grouped)
def _(penalty, v, t):
    start = 0
    for g in range(penalty.ends.shape[0]):
        prox(penalty.penalty, v[start : penalty.ends[g]], t)
        start = penalty.ends[g]
