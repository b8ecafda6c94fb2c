"""Linear weights: the words a step learns with, and the kinds of vector they work on.

An array is the plain vector; Scaled adds an O(1) `scale`, Normed a tracked squared norm, Linked the p-norm geometry, Averaged
and Voted remember the past for the answer given outside. Every kind is a NamedTuple of arrays, with two NumPy methods for the
faces: `primal()` (the weights a reader sees) and `settle()` (put lazy multipliers in, recompute what is tracked).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy import ndarray

from ..engine.elementary import over, power
from ..engine.words import rare, strict, word
from .examples import (
    Biased,
    Block,
    Of,
    Pair,
    Weighted,
    Whole,
    cell,
    item,
    nnz,
    walk_add,
    walk_add_norm,
    walk_dot,
    walk_norm2,
    walk_scores,
)

PERIOD = 16384  # additions between two computations of a tracked norm: rounding does not add up, and the cost is O(d/PERIOD)
FAR = 1e25  # a lazy multiplier beyond this, or below its inverse, is put into the weights: rare, and safe in float32 too


# ---- the words -------------------------------------------------------------------------------------------------------
@word
def dot(w, x):
    """Return <w, x>. A step asks for it before it changes w."""


@word
def norm2(w, x):
    """Return the squared norm of the example x in the space of w."""


@word
def null(w, x):
    """Return whether the example is zero in the space of w: such a round changes nothing."""


@word
def add(w, a, x):
    """Do w += a x."""


@word
def scale(w, c):
    """Do w *= c in O(1)."""


@word
def sqnorm(w):
    """Return the squared norm of w (kept, not computed)."""


@word
def scores(w, x, out):
    """Fill out[c] = <w_c, x> for all classes."""


@word
def spread(w, tau, x):
    """Do w_c += tau[c] x for every class c: a multiclass round that is not one Pair."""


@word
def tick(w):
    """Note that a round is over."""


@word
def answer(w, x):
    """Return the score given outside: `dot`, unless the weights remember the past."""


@word
def answers(w, x, out):
    """Fill the scores given outside, class by class."""


# ---- a plain vector --------------------------------------------------------------------------------------------------
@dot.on(ndarray)
def dot_array(w, x):
    return walk_dot(w, x, Whole())


@dot.on(ndarray, Block)
def dot_array_block(w, x):
    return walk_dot(w, x.x, Of(x.K, x.c))


@dot.on(ndarray, Pair)
def dot_array_pair(w, x):
    return walk_dot(w, x.x, Of(x.K, x.a)) - walk_dot(w, x.x, Of(x.K, x.b))


@norm2.on(object)
def norm2_any(w, x):
    return walk_norm2(x)


@norm2.on(object, Pair)
def norm2_pair(w, x):
    return 2.0 * walk_norm2(x.x)


@null.on(object)
def null_any(w, x):
    for k in range(nnz(x)):
        _, v = item(x, k)
        if v != 0.0:
            return False
    return True


@null.on(object, Biased)
def null_biased(w, x):
    return False


@null.on(object, Pair)
def null_pair(w, x):
    return null(w, x.x)


@null.on(object, Weighted)
def null_weighted(w, x):
    return null(w, x.x)


@add.on(ndarray)
def add_array(w, a, x):
    walk_add(w, a, x, Whole())


@add.on(ndarray, object, Block)
def add_array_block(w, a, x):
    walk_add(w, a, x.x, Of(x.K, x.c))


@add.on(ndarray, object, Pair)
def add_array_pair(w, a, x):
    walk_add(w, a, x.x, Of(x.K, x.a))
    walk_add(w, -a, x.x, Of(x.K, x.b))


@scores.on(ndarray)
def scores_array(w, x, out):
    K = np.uintp(out.shape[0])
    if out.shape[0] <= 4:  # few classes: one strided walk each, sums in registers
        for c in range(out.shape[0]):
            out[c] = walk_dot(w, x, Of(K, np.uintp(c)))
    else:  # many: one walk, contiguous in the classes
        out[:] = 0.0
        walk_scores(w, x, out)


@spread.on(object)
def spread_any(w, tau, x):
    K = np.uintp(tau.shape[0])
    for c in range(tau.shape[0]):
        if tau[c] != 0.0:
            add(w, tau[c], Block(x, np.uintp(c), K))


@tick.on(object)
def tick_any(w):
    pass


@answer.on(object)
def answer_any(w, x):
    return dot(w, x)


@answers.on(object)
def answers_any(w, x, out):
    scores(w, x, out)


# ---- sample weights: scores, norms and moves are those of the example inside ------------------------------------------
@dot.on(object, Weighted)
def dot_weighted(w, x):
    return dot(w, x.x)


@norm2.on(object, Weighted)
def norm2_weighted(w, x):
    return norm2(w, x.x)


@add.on(object, object, Weighted)
def add_weighted(w, a, x):
    add(w, a, x.x)


@spread.on(object, object, Weighted)
def spread_weighted(w, tau, x):
    spread(w, tau, x.x)


# ---- a vector with a lazy multiplier ---------------------------------------------------------------------------------
def far(c):
    """Return whether a multiplier has become tiny, zero or huge."""
    return not 1.0 / FAR < abs(c) < FAR


@rare
def fold(u, c):
    """Put the multiplier into u."""
    for j in range(u.shape[0]):
        u[j] *= c[0]
    c[0] = 1.0


def in_order(a: ndarray) -> float:
    """Return the sum taken in order: zeros between the terms do not show."""
    return float(np.cumsum(a)[-1])


def rescale(out, c):
    """Multiply the scores by a lazy multiplier."""
    for k in range(out.shape[0]):
        out[k] *= c


class Scaled(NamedTuple):
    """w = c u."""

    u: ndarray
    c: ndarray

    def primal(self) -> ndarray:
        """Return the weights."""
        return self.c[0] * self.u

    def pending(self) -> bool:
        """Return whether the multiplier is still to be put in."""
        return bool(self.c[0] != 1.0)

    def settle(self) -> None:
        """Put the multiplier in."""
        if self.pending():
            self.u[:] = self.primal()
            self.c[0] = 1.0


@dot.on(Scaled)
def dot_scaled(w, x):
    return w.c[0] * dot(w.u, x)


@add.on(Scaled)
def add_scaled(w, a, x):
    add(w.u, a / w.c[0], x)


@scale.on(Scaled)
def scale_scaled(w, c):
    w.c[0] *= c
    if far(w.c[0]):
        fold(w.u, w.c)


@scores.on(Scaled)
def scores_scaled(w, x, out):
    scores(w.u, x, out)
    rescale(out, w.c[0])


# ---- and with its squared norm ---------------------------------------------------------------------------------------
class Normed(NamedTuple):
    """w = c u, and q = |u|^2: tracked by every `add`, recomputed once in PERIOD of them (age)."""

    u: ndarray
    c: ndarray
    q: ndarray
    age: ndarray

    def primal(self) -> ndarray:
        """Return the weights."""
        return self.c[0] * self.u

    def pending(self) -> bool:
        """Return whether the multiplier is still to be put in."""
        return bool(self.c[0] != 1.0)

    def settle(self) -> None:
        """Put the multiplier in and compute the norm."""
        if self.pending():
            self.u[:] = self.primal()
            self.c[0] = 1.0
        self.q[0] = in_order(np.square(self.u, dtype=np.float64))
        self.age[0] = 0


@word
def shift(w, a, x):
    """Do u += a x and return the change of |u|^2."""


@shift.on(Normed)
def shift_normed(w, a, x):
    return walk_add_norm(w.u, a, x, Whole())


@shift.on(Normed, object, Block)
def shift_normed_block(w, a, x):
    return walk_add_norm(w.u, a, x.x, Of(x.K, x.c))


@shift.on(Normed, object, Pair)
def shift_normed_pair(w, a, x):
    return walk_add_norm(w.u, a, x.x, Of(x.K, x.a)) + walk_add_norm(w.u, -a, x.x, Of(x.K, x.b))


@rare
@strict
def measure(w):
    """Compute |u|^2."""
    q = 0.0
    for j in range(w.u.shape[0]):
        q += float(w.u[j]) * w.u[j]
    w.q[0] = q
    w.age[0] = 0


@dot.on(Normed)
def dot_normed(w, x):
    return w.c[0] * dot(w.u, x)


@add.on(Normed)
def add_normed(w, a, x):
    w.q[0] = max(0.0, w.q[0] + shift(w, a / w.c[0], x))
    w.age[0] += 1
    if w.age[0] >= PERIOD:
        measure(w)


@scale.on(Normed)
def scale_normed(w, c):
    w.c[0] *= c
    if far(w.c[0]):
        fold(w.u, w.c)
        measure(w)


@sqnorm.on(Normed)
def sqnorm_normed(w):
    return w.c[0] * w.c[0] * w.q[0]


@scores.on(Normed)
def scores_normed(w, x, out):
    scores(w.u, x, out)
    rescale(out, w.c[0])


# ---- p-norm geometry -------------------------------------------------------------------------------------------------
class Linked(NamedTuple):
    """Dual vector theta = c u with S = sum |u_j|^p; w = f^-1(theta), w_j = sign(theta_j) |theta_j|^(p-1) / |theta|_p^(p-2).

    `add` moves theta; `dot` is with w; `sqnorm` is |w|_q^2 = |theta|_p^2, q = p/(p-1); `norm2` of an example is its |x|_p^2.
    """

    u: ndarray
    c: ndarray
    S: ndarray
    age: ndarray
    p: float

    def primal(self) -> ndarray:
        """Return w = f^-1(theta)."""
        size = np.abs(self.u)
        S = in_order(over(power, size, self.p))
        if S == 0.0:
            return 0.0 * self.u
        return self.c[0] * np.sign(self.u) * over(power, size, self.p - 1.0) * power(S, 2.0 / self.p - 1.0)

    def settle(self) -> None:
        """Put the multiplier in and compute S."""
        self.u[:] = self.c[0] * self.u
        self.c[0] = 1.0
        self.S[0] = in_order(over(power, np.abs(self.u), self.p))
        self.age[0] = 0


def walk_link(u, x, o, p):
    """Return sum_j sign(u_j) |u_j|^(p-1) x_j."""
    f = 0.0
    for k in range(nnz(x)):
        j, v = item(x, k)
        f += math.copysign(power(abs(u[cell(o, j)]), p - 1.0), u[cell(o, j)]) * v
    return f


def walk_shift(u, a, x, o, p):
    """Do u_j += a x_j and return the change of S."""
    change = 0.0
    for k in range(nnz(x)):
        j, v = item(x, k)
        old = float(u[cell(o, j)])
        u[cell(o, j)] = old + a * v
        change += power(abs(u[cell(o, j)]), p) - power(abs(old), p)
    return change


def walk_pnorm(x, p):
    """Return sum_j |x_j|^p."""
    q = 0.0
    for k in range(nnz(x)):
        _, v = item(x, k)
        q += power(abs(v), p)
    return q


def unlink(w, f):
    """Turn a sum of walk_link into a score."""
    return w.c[0] * f * power(w.S[0], 2.0 / w.p - 1.0) if w.S[0] > 0.0 else 0.0


@dot.on(Linked)
def dot_linked(w, x):
    return unlink(w, walk_link(w.u, x, Whole(), w.p))


@dot.on(Linked, Block)
def dot_linked_block(w, x):
    return unlink(w, walk_link(w.u, x.x, Of(x.K, x.c), w.p))


@dot.on(Linked, Pair)
def dot_linked_pair(w, x):
    return dot(w, Block(x.x, x.a, x.K)) - dot(w, Block(x.x, x.b, x.K))


@norm2.on(Linked)
def norm2_linked(w, x):
    return power(walk_pnorm(x, w.p), 2.0 / w.p)


@norm2.on(Linked, Pair)
def norm2_linked_pair(w, x):
    return power(2.0 * walk_pnorm(x.x, w.p), 2.0 / w.p)


@norm2.on(Linked, Block)
def norm2_linked_block(w, x):
    return power(walk_pnorm(x.x, w.p), 2.0 / w.p)


@word
def shift_dual(w, a, x):
    """Do u += a x and return the change of S."""


@shift_dual.on(Linked)
def shift_dual_linked(w, a, x):
    return walk_shift(w.u, a, x, Whole(), w.p)


@shift_dual.on(Linked, object, Block)
def shift_dual_linked_block(w, a, x):
    return walk_shift(w.u, a, x.x, Of(x.K, x.c), w.p)


@shift_dual.on(Linked, object, Pair)
def shift_dual_linked_pair(w, a, x):
    return walk_shift(w.u, a, x.x, Of(x.K, x.a), w.p) + walk_shift(w.u, -a, x.x, Of(x.K, x.b), w.p)


@rare
@strict
def measure_dual(w):
    """Compute S."""
    S = 0.0
    for j in range(w.u.shape[0]):
        S += power(abs(w.u[j]), w.p)
    w.S[0] = S
    w.age[0] = 0


@add.on(Linked)
def add_linked(w, a, x):
    w.S[0] = max(0.0, w.S[0] + shift_dual(w, a / w.c[0], x))
    w.age[0] += 1
    if w.age[0] >= PERIOD:
        measure_dual(w)


@scale.on(Linked)
def scale_linked(w, c):
    w.c[0] *= c
    if far(w.c[0]):
        fold(w.u, w.c)
        measure_dual(w)


@sqnorm.on(Linked)
def sqnorm_linked(w):
    return w.c[0] * w.c[0] * power(w.S[0], 2.0 / w.p)


@scores.on(Linked)
def scores_linked(w, x, out):
    K = np.uintp(out.shape[0])
    for c in range(out.shape[0]):
        out[c] = dot(w, Block(x, np.uintp(c), K))


# ---- averaged: learn with the last vector, answer with the mean of all -----------------------------------------------
class Averaged(NamedTuple):
    """w = c u; the sum of all w so far is v + b u, so `tick` and `scale` are O(1) and `add` is two walks (B.6)."""

    u: ndarray
    v: ndarray
    c: ndarray
    b: ndarray
    n: ndarray

    def primal(self) -> ndarray:
        """Return the mean."""
        return (self.v + self.b[0] * self.u) / self.n[0]

    def settle(self) -> None:
        """Put the multipliers in."""
        self.v[:] = self.v + self.b[0] * self.u
        self.u[:] = self.c[0] * self.u
        self.b[0], self.c[0] = 0.0, 1.0


@dot.on(Averaged)
def dot_averaged(w, x):
    return w.c[0] * dot(w.u, x)


@add.on(Averaged)
def add_averaged(w, a, x):
    add(w.u, a / w.c[0], x)
    add(w.v, -w.b[0] * a / w.c[0], x)


@scale.on(Averaged)
def scale_averaged(w, c):
    w.c[0] *= c
    if not 1e-3 < abs(w.c[0]) < 1e3:  # v and b u cancel as c shrinks: put it in early
        for j in range(w.u.shape[0]):
            w.v[j] += w.b[0] * w.u[j]
            w.u[j] *= w.c[0]
        w.b[0] = 0.0
        w.c[0] = 1.0


@scores.on(Averaged)
def scores_averaged(w, x, out):
    scores(w.u, x, out)
    rescale(out, w.c[0])


@tick.on(Averaged)
def tick_averaged(w):
    w.b[0] += w.c[0]
    w.n[0] += 1.0


@answer.on(Averaged)
def answer_averaged(w, x):
    return (dot(w.v, x) + w.b[0] * dot(w.u, x)) / w.n[0]


@answers.on(Averaged)
def answers_averaged(w, x, out):
    K = np.uintp(out.shape[0])
    for c in range(out.shape[0]):
        out[c] = answer(w, Block(x, np.uintp(c), K))
