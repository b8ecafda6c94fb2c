"""Probabilities of many classes from their scores: vector scaling in four memories, of each two experts, mixed.

Vector scaling q_k ~ exp(b_k + a phi_k) (Guo, Pleiss, Sun, Weinberger 2017), phi the squashed distances from the highest score. One
expert corrects the probability of q's favourite at knots; the other asks the method of two classes whether the class of the highest
score is right. Both share the rest as q does.

What there is for each class and memory (b, B and q) lies class by class, so that the four memories of a class are a run (`platt`).
"""

from __future__ import annotations

import math

import numpy as np

from ..engine.elementary import asinh, exp, log
from ..engine.words import strict
from .platt import (
    CHANCE,
    HEAVIEST,
    HIT,
    KEPT,
    LEAST,
    MEMORIES,
    ODDS,
    REACH,
    ROWS,
    RUNS,
    SIZE,
    WEIGHT,
    correct,
    load,
    log_odds,
    observe,
    regress,
    reweigh,
    store,
    tamed,
)

Array = np.ndarray
M = len(MEMORIES)
FARTHEST = 1e150  # from the highest score, in mean gaps

# Of the vector scalings: a and A, the highest exponent, who has it, sums of q, the log odds and probability of the favourite.
STRETCH, BEND, MOST, FAVOURITE, TOTAL, OTHERS, BESIDE, ODDS_OF_IT, CHANCE_OF_IT, SLANT = range(RUNS * M, (RUNS + 10) * M, M)
# Of the experts, times their weights: what the favourite gets, others get of their q, and get where all of these are 0.
GIVEN, PART, EVEN, GIVEN_TOP, PART_TOP, EVEN_TOP = range((RUNS + 10) * M, (RUNS + 16) * M, M)
LIKELY = (RUNS + 16) * M  # the probability that each expert gave to what came: two runs
ALL_RUNS = RUNS + 18


# ---- scores ----------------------------------------------------------------------------------------------------------
@strict
def leaders(f: Array) -> tuple[int, float]:
    """Return the class with the highest score, the lowest on ties, and how far the next is below it."""
    top, first, second = 0, tamed(f[0]), -math.inf
    for k in range(1, f.shape[0]):
        s = tamed(f[k])
        if s > first:
            top, first, second = k, s, first
        else:
            second = max(second, s)
    return top, first - second


@strict
def distances(f: Array, top: int, r: float, phi: Array) -> None:
    """Write the squashed distances of scores below the highest: -asinh of them."""
    scale = 1.0 / r if r > 0.0 else 0.0
    for k in range(f.shape[0]):
        d = min((tamed(f[top]) - tamed(f[k])) * scale, FARTHEST)
        phi[k] = -log(d + math.sqrt(1.0 + d * d))


# ---- the vector scalings ---------------------------------------------------------------------------------------------
@strict
def scale(w: Array, n: int, b: Array, phi: Array, q: Array) -> None:
    """Write q up to its sum, that of the favourite being 1, and who is the favourite."""
    K = phi.shape[0]
    for j in range(n):
        w[MOST + j], w[FAVOURITE + j] = -math.inf, 0.0
    for k in range(K):
        for j in range(n):
            v = b[k * n + j] + w[STRETCH + j] * phi[k]
            q[k * n + j] = v
            w[FAVOURITE + j] = k if v > w[MOST + j] else w[FAVOURITE + j]
            w[MOST + j] = max(w[MOST + j], v)
    for k in range(K):
        for j in range(n):
            q[k * n + j] -= w[MOST + j]
    for i in range(K * n):
        q[i] = exp(q[i])


@strict
def add_up(w: Array, n: int, K: int, top: int, q: Array) -> None:
    """Write the sums of q: of all classes, of all but the favourite, of all but the class of the highest score."""
    for j in range(n):
        w[TOTAL + j], w[OTHERS + j], w[BESIDE + j] = 0.0, 0.0, 0.0
    for k in range(K):
        for j in range(n):
            v = q[k * n + j]
            w[TOTAL + j] += v
            w[OTHERS + j] += 0.0 if w[FAVOURITE + j] == k else v
            w[BESIDE + j] += 0.0 if k == top else v
    for j in range(n):
        w[ODDS_OF_IT + j] = min(max(-log(w[OTHERS + j]), -REACH), REACH)


@strict
def share_out(w: Array, n: int, K: int, weights: Array) -> None:
    """Write what each expert gives to its favourite, to others by their q, and to others if all their q are 0."""
    for j in range(n):
        p, rest, weight = w[CHANCE_OF_IT + j], w[OTHERS + j], weights[2 * j]
        w[GIVEN + j] = weight * p
        w[PART + j] = weight * (1.0 - p) / rest if rest > 0.0 else 0.0
        w[EVEN + j] = 0.0 if rest > 0.0 else weight * (1.0 - p) / (K - 1.0)
        p, rest, weight = w[CHANCE + j], w[BESIDE + j], weights[2 * j + 1]
        w[GIVEN_TOP + j] = weight * p
        w[PART_TOP + j] = weight * (1.0 - p) / rest if rest > 0.0 else 0.0
        w[EVEN_TOP + j] = 0.0 if rest > 0.0 else weight * (1.0 - p) / (K - 1.0)


@strict
def gather(w: Array, n: int, top: int, q: Array, out: Array) -> None:
    """Write what the experts together give to each class."""
    K = out.shape[0]
    least = min(LEAST, 0.5 / K)
    for k in range(K):
        p = 0.0
        for j in range(n):
            v = q[k * n + j]
            p += w[GIVEN + j] if w[FAVOURITE + j] == k else v * w[PART + j] + w[EVEN + j]
            p += w[GIVEN_TOP + j] if k == top else v * w[PART_TOP + j] + w[EVEN_TOP + j]
        out[k] = (1.0 - K * least) * p + least


@strict
def judge(w: Array, n: int, K: int, top: int, y: int, q: Array) -> None:
    """Write what each expert gave to the class that came."""
    least = min(LEAST, 0.5 / K)
    for j in range(n):
        v, favourite = q[y * n + j], w[FAVOURITE + j] == y
        w[LIKELY + 2 * j] = (1.0 - K * least) * part(w[CHANCE_OF_IT + j], favourite, v, w[OTHERS + j], K) + least
        w[LIKELY + 2 * j + 1] = (1.0 - K * least) * part(w[CHANCE + j], y == top, v, w[BESIDE + j], K) + least


def part(p: float, favourite: bool, v: float, rest: float, K: int) -> float:
    """Return what an expert that gives p to its favourite gives to a class, of which q is v and the rest has q in all."""
    other = (1.0 - p) * (v / rest if rest > 0.0 else 1.0 / (K - 1.0))
    return p if favourite else other


@strict
def descend(w: Array, n: int, b: Array, B: Array, phi: Array, q: Array, y: int, c: float) -> None:
    """Move a and b by diagonal Newton steps on the log loss."""
    K = phi.shape[0]
    for j in range(n):
        w[SLANT + j], w[TOTAL + j] = phi[y], 1.0 / w[TOTAL + j]
    for k in range(K):
        for j in range(n):
            v = q[k * n + j] * w[TOTAL + j]
            w[SLANT + j] -= v * phi[k]
            g = (1.0 if k == y else 0.0) - v
            curve = w[KEPT + j] * B[k * n + j] + (1.0 - w[KEPT + j]) + c * g * g
            B[k * n + j] = curve
            b[k * n + j] += c * g / curve
    for j in range(n):
        g = w[SLANT + j]
        w[BEND + j] = w[KEPT + j] * w[BEND + j] + (1.0 - w[KEPT + j]) + c * g * g
        w[STRETCH + j] += c * g / w[BEND + j]


# ---- the mixture -----------------------------------------------------------------------------------------------------
@strict
def forecast_row(
    f: Array, totals: Array, top_knots: Array, knots: Array, weights: Array, w: Array, b: Array, phi: Array, q: Array, out: Array
) -> tuple[int, float, float]:
    """Write the probabilities of a row; return the class of the highest score, the gap below it, and that squashed."""
    n, K = knots.shape[0], f.shape[0]
    top, gap = leaders(f)
    r = (totals[SIZE] + gap) / (totals[WEIGHT] + 1.0)
    z = asinh(gap / r) if r > 0.0 else 0.0
    distances(f, top, r, phi)
    scale(w, n, b, phi, q)
    add_up(w, n, K, top, q)
    correct(top_knots, w, n, ODDS_OF_IT, CHANCE_OF_IT)
    log_odds(w, n, z)
    correct(knots, w, n, ODDS, CHANCE)
    share_out(w, n, K, weights)
    gather(w, n, top, q, out)
    return top, gap, z


@strict
def lay_out(a: Array, A: Array, b: Array, B: Array, w: Array, laid: Array, bent: Array) -> None:
    """Lay the vector scalings out in the workspace."""
    n = a.shape[0]
    for j in range(n):
        w[STRETCH + j], w[BEND + j] = a[j], A[j]
        for k in range(b.shape[1]):
            laid[k * n + j], bent[k * n + j] = b[j, k], B[j, k]


@strict
def take_back(w: Array, laid: Array, bent: Array, a: Array, A: Array, b: Array, B: Array) -> None:
    """Take the vector scalings back from the workspace."""
    n = a.shape[0]
    for j in range(n):
        a[j], A[j] = w[STRETCH + j], w[BEND + j]
        for k in range(b.shape[1]):
            b[j, k], B[j, k] = laid[k * n + j], bent[k * n + j]


@strict
def forecast_many(
    f: Array, known: int, totals: Array, a: Array, A: Array, b: Array, B: Array, top_knots: Array, theta: Array, Lambda: Array,
    knots: Array, weights: Array, w: Array, laid: Array, bent: Array, phi: Array, q: Array, out: Array,
) -> None:  # fmt: skip
    """Write the probabilities of the classes that are known, in order of codes."""
    load(theta, Lambda, w)
    lay_out(a, A, b, B, w, laid, bent)
    for i in range(f.shape[0]):
        forecast_row(f[i, :known], totals, top_knots, knots, weights, w, laid, phi[:known], q, out[i, :known])


@strict
def learn_many(
    f: Array, y: Array, c: Array, known: int, totals: Array, a: Array, A: Array, b: Array, B: Array, top_knots: Array, theta: Array,
    Lambda: Array, knots: Array, weights: Array, w: Array, laid: Array, bent: Array, phi: Array, q: Array, out: Array,
) -> None:  # fmt: skip
    """Write the probabilities of each row, then learn its class; one that was not known is known from then on."""
    n = a.shape[0]
    load(theta, Lambda, w)
    lay_out(a, A, b, B, w, laid, bent)
    for i in range(f.shape[0]):
        heft = min(c[i], HEAVIEST)
        top, gap, z = forecast_row(f[i, :known], totals, top_knots, knots, weights, w, laid, phi[:known], q, out[i, :known])
        if heft == 0.0:
            continue
        if y[i] >= known:
            known = y[i] + 1
            continue
        judge(w, n, known, top, y[i], q)
        hit = 1.0 if y[i] == top else 0.0
        for j in range(n):
            w[HIT + j] = 1.0 if w[FAVOURITE + j] == y[i] else 0.0
        observe(top_knots, w, n, ODDS_OF_IT, heft)
        for j in range(n):
            w[HIT + j] = hit
        observe(knots, w, n, ODDS, heft)
        regress(w, n, z, hit, heft)
        descend(w, n, laid, bent, phi[:known], q, y[i], heft)
        totals[ROWS] += 1.0
        reweigh(weights, w[LIKELY : LIKELY + 2 * n], heft, totals[ROWS])
        totals[SIZE] += heft * gap
        totals[WEIGHT] += heft
    store(w, theta, Lambda)
    take_back(w, laid, bent, a, A, b, B)


@strict
def softmax(f: Array, out: Array) -> None:
    """Write the shares of exp(f) in each row."""
    for i in range(f.shape[0]):
        most, total = f[i, 0], 0.0
        for k in range(f.shape[1]):
            most = max(most, f[i, k])
        for k in range(f.shape[1]):
            out[i, k] = exp(f[i, k] - most)
            total += out[i, k]
        for k in range(f.shape[1]):
            out[i, k] /= total
