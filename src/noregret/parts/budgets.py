"""Budgets: what a kernel learner does when it has one support vector more than it may keep. Any step takes any budget (G.11).

A budget is given in vectors (`B`) or in bytes. `admit` may deal with a row before it is appended; `maintain` comes after. A
budget of your own is a NamedTuple with B and bytes and a case of `maintain`.

A budget in bytes counts everything in the state, including room for the newest vector. Sparse rows cost their non-zeros, so one may
replace several: rules repeat while `over(w)`. An eighth is kept free for the next row; a row that needs more is not stored, and
nothing is learned from it. A class that was not declared enlarges all vectors, and the oldest are removed until all fit (the newest
where vectors vote, so that a history remains).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray

from ..algorithm.state import Slot, made
from ..engine.elementary import exp, log
from ..engine.splitmix64 import STRIDE, mixed
from ..spaces.blending import blend, blendable
from ..spaces.expansion import (
    admit,
    along,
    bump,
    dropping,
    earlier,
    full,
    length2,
    maintain,
    moving,
    oldest,
    over,
    remeasure,
    remove,
    remove_other,
)
from ..spaces.gram import FLAT, Gram, border, check, project_row, residual
from ..spaces.support_vectors import alone, meet_own
from ..spaces.tracking import leave_out_margin
from ..spaces.weights import scale

GRAM = (Slot(("slot", "slot"), dtype=np.float64), Slot(("slot",), dtype=np.float64, scratch=True))


class Stop(NamedTuple):
    """Add nothing more (G.2)."""

    B: float = 100
    bytes: Any = None

    @property
    def keeps(self) -> bool:
        """Whether vectors never change once added."""
        return True


class RemoveOldest(NamedTuple):
    """Remove the oldest (G.5)."""

    B: float = 100
    bytes: Any = None


class RemoveSmallest(NamedTuple):
    """Remove the one of least |alpha|^2 k(x, x), which may be the new one (G.11)."""

    B: float = 100
    bytes: Any = None


class RemoveRedundant(NamedTuple):
    """Remove the one that has the largest margin without its own contribution, which may be the new one (G.4)."""

    B: float = 100
    bytes: Any = None

    @property
    def needs(self) -> str:
        """What the expansion has to keep for it."""
        return "scores"


class RemoveRandom(NamedTuple):
    """Remove one of the old ones, drawn with a generator that is part of the state (G.3)."""

    B: float = 100
    bytes: Any = None
    seed: float = 0

    def memo(self) -> Any:
        """Return what is remembered: the state of the generator."""
        return made(Drawn, Slot((), float(self.seed), np.uint64))

    def check(self) -> None:
        """Refuse a seed that is not a whole number."""
        if self.seed != int(self.seed) or not 0 <= self.seed < 2**53:
            raise ValueError(f"seed of a RemoveRandom must be a whole number from 0 on, got {self.seed!r}")


class Shrink(NamedTuple):
    """Multiply all coefficients by phi, then remove the oldest (G.6). phi = None is self-tuned, for Perceptron steps."""

    B: float = 100
    bytes: Any = None
    phi: Any = None

    def memo(self) -> Any:
        """Return what is remembered: the damage done."""
        return made(Damage, Slot((), dtype=np.float64))

    def check(self) -> None:
        """Refuse a factor outside its range."""
        if self.phi is not None and not 0.0 < self.phi <= 1.0:
            raise ValueError(f"phi of a Shrink must be in (0, 1], or None for the self-tuned one; got {self.phi!r}")


class Projection(NamedTuple):
    """Put a row within eta of the span of the vectors on them; append others, as long as there are fewer than B (G.7)."""

    eta: float = 0.1
    B: float = math.inf
    bytes: Any = None

    @property
    def removes(self) -> bool:
        """Whether it only removes."""
        return False

    def memo(self) -> Any:
        """Return what is remembered: the inverse Gram matrix."""
        return made(Gram, *GRAM)

    def check(self) -> None:
        """Refuse a distance below 0."""
        if not self.eta >= 0.0:
            raise ValueError(f"eta of a Projection must not be negative, got {self.eta!r}")


class Replace(NamedTuple):
    """Remove the old one that loses least when it is put on the new one (G.8, BPA-S)."""

    B: float = 100
    bytes: Any = None

    @property
    def removes(self) -> bool:
        """Whether it only removes."""
        return False


class ReplaceNearest(NamedTuple):
    """Remove the old one that loses least when it is put on the new one and its own nearest neighbour (G.8, BPA-NN)."""

    B: float = 100
    bytes: Any = None

    @property
    def removes(self) -> bool:
        """Whether it only removes."""
        return False

    def memo(self) -> Any:
        """Return what is remembered: the nearest neighbour of each vector, -1 where it is not known, and k of the two."""
        return made(Near, Slot(("slot",), -1, np.int64), Slot(("slot",), dtype=np.float64))


class ProjectRemoved(NamedTuple):
    """Remove the old one that loses least when it is projected on all the others (G.8, BPA-P)."""

    B: float = 100
    bytes: Any = None

    @property
    def removes(self) -> bool:
        """Whether it only removes."""
        return False

    def memo(self) -> Any:
        """Return what is remembered: the inverse Gram matrix."""
        return made(Gram, *GRAM)


class Merge(NamedTuple):
    """Merge the one of least |alpha| with the partner that loses least, into a point between them (G.9).

    For RBF kernels. Of sparse rows such a point has the non-zeros of both. With a budget in bytes it may not be longer than a
    row may: vectors whose point would be are not merged, and one without a partner is removed.
    """

    B: float = 100
    bytes: Any = None

    @property
    def between(self) -> tuple[str, ...]:
        """The kernels it is for."""
        return ("RBF",)

    @property
    def removes(self) -> bool:
        """Whether it only removes."""
        return False


class Drawn(NamedTuple):
    """The state of a generator."""

    rng: ndarray


class Damage(NamedTuple):
    """What removals have cost so far, as the Forgetron counts it."""

    Q: ndarray


class Near(NamedTuple):
    """Nearest neighbours."""

    at: ndarray
    k: ndarray

    def sound(self, n: int) -> bool:
        """Return whether these are neighbours among n vectors."""
        return bool(((self.at[:n] >= -1) & (self.at[:n] < n)).all())


# ---- stopping, removing ----------------------------------------------------------------------------------------------
@admit.on(Stop)
def admit_stop(budget, w, k, x):
    return full(w, x)


@maintain.on(Stop)
def maintain_stop(budget, w):
    pass


@maintain.on(RemoveOldest)
def maintain_remove_oldest(budget, w):
    while over(w):
        remove(w, oldest(w))


@maintain.on(RemoveSmallest)
def maintain_remove_smallest(budget, w):
    while over(w):
        r, least = 0, math.inf
        for i in range(w.size[0]):
            size = length2(w, i) * alone(w.kernel, w.S.g[i])
            if size < least or (size == least and earlier(w, i, r)):
                r, least = i, size
        remove(w, r)


@maintain.on(RemoveRedundant)
def maintain_remove_redundant(budget, w):
    while over(w):
        r, most = 0, -math.inf
        for i in range(w.size[0]):
            m = leave_out_margin(w, i)
            if m > most or (m == most and earlier(w, i, r)):
                r, most = i, m
        remove(w, r)


def draw(rng, n):
    """Return a random whole number below n."""
    rng[0] += STRIDE
    return np.int64(mixed(rng[0]) % np.uint64(n))


@maintain.on(RemoveRandom)
def maintain_remove_random(budget, w):
    t = w.size[0] - 1
    while over(w):
        r = draw(w.memo.rng, w.size[0] - 1)
        t = remove_other(w, r if r < t else r + 1, t)


@maintain.on(Shrink)
def maintain_shrink(budget, w):
    if over(w):
        r = oldest(w)
        phi = budget.phi
        if phi == 0.0:
            phi = self_tuned(w, r)
        scale(w, phi)
        remove(w, r)
    while over(w):  # in bytes: the damage allowed for this round is spent, and another factor could only be 0
        remove(w, oldest(w))


def self_tuned(w, r):
    """Return the largest phi that keeps the damage within 15/32 of the mistakes; count what it does."""
    meet_own(w.S, w.kernel, w.size[0], w.ky, r)
    sigma, mu = 0.0, 0.0
    for k in range(w.alpha.shape[0]):
        a = w.c[0] * w.alpha[k, r]
        if a != 0.0:
            sigma = max(sigma, abs(a))
            mu += math.copysign(1.0, a) * w.c[0] * along(w.alpha[k], w.size[0], w.ky)
    a = sigma * sigma - 2.0 * sigma * mu
    b = 2.0 * sigma
    c = w.memo.Q[0] - 15.0 / 32.0 * w.size[1]
    phi = 1.0
    if a + b + c > 0.0:
        phi = -2.0 * c / (b + math.sqrt(max(0.0, b * b - 4.0 * a * c)))
    w.memo.Q[0] += (a * phi + b) * phi
    return phi


# ---- projecting ------------------------------------------------------------------------------------------------------
@admit.on(Projection)
def admit_projection(budget, w, k, x):
    delta2 = residual(w, k)
    if w.size[0] > 0 and (delta2 <= max(FLAT * k, budget.eta * budget.eta) or full(w, x)):
        project_row(w, k, delta2)
        return True
    border(w, delta2)
    return False


@maintain.on(Projection)
def maintain_projection(budget, w):
    check(w)


@admit.on(ProjectRemoved)
def admit_project_removed(budget, w, k, x):
    delta2 = residual(w, k)
    if w.size[0] > 0 and delta2 <= FLAT * k:
        project_row(w, k, delta2)
        return True
    border(w, delta2)
    return False


@maintain.on(ProjectRemoved)
def maintain_project_removed(budget, w):
    t = w.size[0] - 1
    while over(w):
        P, n, r, least = w.memo.P, w.size[0], 0, math.inf
        for i in range(n):
            lost = length2(w, i) / P[i, i]
            if i != t and (lost < least or (lost == least and earlier(w, i, r))):
                r, least = i, lost
        for k in range(w.alpha.shape[0]):
            a = w.c[0] * w.alpha[k, r] / P[r, r]
            for i in range(n):
                if i != r:
                    bump(w, k, i, -a * P[i, r])
        t = remove_other(w, r, t)
        remeasure(w.norm, w)
    check(w)


# ---- putting one vector on others ------------------------------------------------------------------------------------
@maintain.on(Replace)
def maintain_replace(budget, w):
    t = w.size[0] - 1
    while over(w):
        r, least = 0, math.inf
        for i in range(w.size[0]):
            lost = length2(w, i) * (alone(w.kernel, w.S.g[i]) - w.kx[i] * w.kx[i] / w.kx[t])
            if i != t and (lost < least or (lost == least and earlier(w, i, r))):
                r, least = i, lost
        for k in range(w.alpha.shape[0]):
            bump(w, k, t, w.c[0] * w.alpha[k, r] * w.kx[r] / w.kx[t])
        t = remove_other(w, r, t)
        remeasure(w.norm, w)


def find_near(w, r, t):
    """Find the nearest of all vectors but t to vector r."""
    meet_own(w.S, w.kernel, w.size[0], w.ky, r)
    at, least = -1, math.inf
    for j in range(w.size[0]):
        gap = alone(w.kernel, w.S.g[j]) - 2.0 * w.ky[j]
        if j != r and j != t and (gap < least or (gap == least and earlier(w, j, at))):
            at, least = j, gap
    w.memo.at[r] = at
    w.memo.k[r] = w.ky[at] if at >= 0 else 0.0


def on_two(w, r, t):
    """Return the coefficients with which vector r is put on t and on its neighbour, and the squared length lost."""
    m = w.memo.at[r]
    rr, rt, tt = alone(w.kernel, w.S.g[r]), w.kx[r], w.kx[t]
    if m < 0:
        return rt / tt, 0.0, rr - rt * rt / tt
    rm, tm, mm = w.memo.k[r], w.kx[m], alone(w.kernel, w.S.g[m])
    D = tt * mm - tm * tm
    if FLAT * tt * mm >= D:  # t and m are the same point
        return rt / tt, 0.0, rr - rt * rt / tt
    a, b = (mm * rt - tm * rm) / D, (tt * rm - tm * rt) / D
    return a, b, rr - a * rt - b * rm


def put_on_two(w, t):
    """Put the vector that loses least on t and on its neighbour; return which."""
    near, r, least = w.memo, 0, math.inf
    for i in range(w.size[0]):
        if i != t:
            if near.at[i] < 0:
                find_near(w, i, t)
            _, _, rest = on_two(w, i, t)
            lost = length2(w, i) * rest
            if lost < least or (lost == least and earlier(w, i, r)):
                r, least = i, lost
    a, b, _ = on_two(w, r, t)
    for k in range(w.alpha.shape[0]):
        alpha = w.c[0] * w.alpha[k, r]
        bump(w, k, t, alpha * a)
        if near.at[r] >= 0:
            bump(w, k, near.at[r], alpha * b)
    return r


@maintain.on(ReplaceNearest)
def maintain_replace_nearest(budget, w):
    near, t, r = w.memo, w.size[0] - 1, -1
    near.at[t] = -1
    if over(w):
        r = put_on_two(w, t)
    for i in range(t):
        m = near.at[i]
        if m >= 0 and w.kx[t] - 2.0 * w.kx[i] < alone(w.kernel, w.S.g[m]) - 2.0 * near.k[i]:
            near.at[i] = t
            near.k[i] = w.kx[i]
    while r >= 0:
        t = remove_other(w, r, t)
        remeasure(w.norm, w)
        r = put_on_two(w, t) if over(w) else -1


@dropping.on(Near)
def dropping_near(near, w, r):
    for i in range(w.size[0]):
        if near.at[i] == r:
            near.at[i] = -1
        elif near.at[i] == w.size[0] - 1:  # which takes the place of r
            near.at[i] = r


@moving.on(Near)
def moving_near(near, i, r):
    near.at[r] = near.at[i]
    near.k[r] = near.k[i]


# ---- merging ---------------------------------------------------------------------------------------------------------
GOLDEN = 0.6180339887498949


def merged2(aa, ab, bb, q, h):
    """Return the squared length of the merged vector at h: |A_i kappa^((1-h)^2) + A_j kappa^(h^2)|^2, q = log(kappa)."""
    p, r = exp(q * (1.0 - h) * (1.0 - h)), exp(q * h * h)
    return aa * p * p + 2.0 * ab * p * r + bb * r * r


def golden(aa, ab, bb, q, low, high):
    """Return a place next to the h in [low, high] at which a merged vector is longest."""
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    a, b = merged2(aa, ab, bb, q, left), merged2(aa, ab, bb, q, right)
    while high - low > 1e-4:
        if a >= b:
            high, right, b = right, left, a
            left = high - GOLDEN * (high - low)
            a = merged2(aa, ab, bb, q, left)
        else:
            low, left, a = left, right, b
            right = low + GOLDEN * (high - low)
            b = merged2(aa, ab, bb, q, right)
    return 0.5 * (low + high)


def longest(aa, ab, bb, q, low, high):
    """Return the h in [low, high] at which a merged vector is longest: where its length does not rise, by Newton's method.

    Lengths alone say little: next to the top they are equal to rounding for all h within 1e-8.
    """
    h = golden(aa, ab, bb, q, low, high)
    for _ in range(4):
        k = 1.0 - h
        pp, pr, rr = exp(2.0 * q * k * k), exp(q * (k * k + h * h)), exp(2.0 * q * h * h)
        rise = bb * h * rr - aa * k * pp + ab * (h - k) * pr  # of the squared length, over 4 q
        bend = aa * pp * (1.0 + 4.0 * q * k * k) + bb * rr * (1.0 + 4.0 * q * h * h) + 2.0 * ab * pr * (1.0 + q * (h - k) * (h - k))
        if bend <= 0.0:
            return h
        h = min(high, max(low, h - rise / bend))
    return h


def best_h(aa, ab, bb, kappa):
    """Return the best place of the merged vector between the two; for a small kappa there can be two local ones."""
    if kappa >= 1.0:
        return 0.5
    q = log(max(kappa, 1e-300))
    if kappa >= exp(-2.0) and ab * ab >= 0.999999 * aa * bb:
        return longest(aa, ab, bb, q, 0.0, 1.0)
    g, h = longest(aa, ab, bb, q, 0.0, 0.5), longest(aa, ab, bb, q, 0.5, 1.0)
    return g if merged2(aa, ab, bb, q, g) >= (1.0 - 1e-9) * merged2(aa, ab, bb, q, h) else h  # equal far apart, if |alpha| is


def agreement(w, i, j):
    """Return the inner product of the coefficients of two vectors."""
    s = 0.0
    for k in range(w.alpha.shape[0]):
        s += w.alpha[k, i] * w.alpha[k, j]
    return w.c[0] * w.c[0] * s


@maintain.on(Merge)
def maintain_merge(budget, w):
    while over(w):
        n, i, least = w.size[0], 0, math.inf
        for j in range(n):
            aa = length2(w, j)
            if aa < least * (1.0 - 2e-9) or (aa <= least * (1.0 + 2e-9) and earlier(w, j, i)):
                i, least = j, aa
        aa = length2(w, i)
        meet_own(w.S, w.kernel, n, w.ky, i)
        partner, place, least = -1, 0.0, math.inf
        for j in range(n):
            ab, bb, kappa = agreement(w, i, j), length2(w, j), w.ky[j]
            if j != i and (ab > 0.0 or w.alpha.shape[0] > 1) and blendable(w.S, i, j):
                h = best_h(aa, ab, bb, kappa)
                kept = merged2(aa, ab, bb, log(max(kappa, 1e-300)), h)
                lost = aa + bb + 2.0 * ab * kappa - kept
                if lost < least or (lost == least and earlier(w, j, partner)):
                    partner, place, least = j, h, lost
        if partner < 0:
            remove(w, i)
        else:
            join(w, i, partner, place, w.ky[partner])
        remeasure(w.norm, w)


def join(w, i, j, h, kappa):
    """Put z = h x_i + (1 - h) x_j in the place of vector i, and remove vector j.

    For any x, |x - z|^2 = h |x - x_i|^2 + (1 - h) |x - x_j|^2 - h (1 - h) |x_i - x_j|^2: so k(z, row) follows.
    """
    q = log(max(kappa, 1e-300))
    p, r = exp(q * (1.0 - h) * (1.0 - h)), exp(q * h * h)
    for k in range(w.alpha.shape[0]):
        a, b = w.c[0] * w.alpha[k, i], w.c[0] * w.alpha[k, j]
        bump(w, k, i, p * a + r * b - a)
    near, far = log(max(w.kx[i], 1e-300)), log(max(w.kx[j], 1e-300))
    w.kx[i] = exp(min(0.0, h * near + (1.0 - h) * far - h * (1.0 - h) * q))
    blend(w.S, w.kernel, w.size[0], i, j, h)
    remove(w, j)
