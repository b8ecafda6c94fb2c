"""Probabilities of two classes from one score: online Platt scaling in four memories, each corrected at knots, mixed.

Each memory is a logistic regression on (1, z), z the squashed score, by proximal Newton steps that forget; what was observed near
its log odds corrects them. Fixed share mixes the four. Platt (1999); Gupta, Ramdas (2023); Foster, Hart (2023); Herbster, Warmuth
(1998).

The four are done at once: a workspace `w` has a run of four numbers for each quantity, and the loops over a run become vectors.
"""

from __future__ import annotations

import numpy as np

from ..engine.elementary import asinh, exp, log
from ..engine.words import strict

Array = np.ndarray
MEMORIES = (1.0, 0.999, 0.99, 0.9)  # what is left of the past after a row
LEAST = 1e-6  # probability of a class
REACH = 20.0  # of log odds
EDGE = 6  # knots are at the log odds -6, -5, ..., 6
LARGEST, HEAVIEST = 1e200, 1e50  # score and sample weight: sums over any stream stay finite
STEPS = 300  # of the search for a root, which takes about three
NEAR = 1e-7  # a step after which the root is found: the error is at most half its square
SIZE, WEIGHT, ROWS = range(3)  # totals: of the sizes of scores, of sample weights, of rows

M = len(MEMORIES)
KEPT, BIAS, SLOPE, FIRST, CROSS, SECOND = range(0, 6 * M, M)  # the memory, theta, Lambda
ODDS, CHANCE, HIT, BELOW, WAY, LOWER, UPPER, EXPECTED, U, V, MIDDLE, STRENGTH, ROOT = range(6 * M, 19 * M, M)
RUNS = 19  # of a workspace for two classes


def share(x: float) -> float:
    """Return the logistic function."""
    return 1.0 / (1.0 + exp(-x))


def tamed(s: float) -> float:
    """Return a score whose sums are finite."""
    return min(max(s, -LARGEST), LARGEST)


def squashed(s: float, size: float, n: float) -> float:
    """Return a score on a scale of log odds: its size is compared with the mean of those so far, its own among them."""
    r = (size + abs(s)) / (n + 1.0)
    return asinh(s / r) if r > 0.0 else 0.0


# ---- the logistic regressions ----------------------------------------------------------------------------------------
@strict
def load(theta: Array, Lambda: Array, w: Array) -> None:
    """Lay the regressions out in the workspace."""
    for j in range(theta.shape[0]):
        w[KEPT + j] = MEMORIES[j]
        w[BIAS + j], w[SLOPE + j] = theta[j, 0], theta[j, 1]
        w[FIRST + j], w[CROSS + j], w[SECOND + j] = Lambda[j, 0], Lambda[j, 1], Lambda[j, 2]


@strict
def store(w: Array, theta: Array, Lambda: Array) -> None:
    """Take the regressions back from the workspace."""
    for j in range(theta.shape[0]):
        theta[j, 0], theta[j, 1] = w[BIAS + j], w[SLOPE + j]
        Lambda[j, 0], Lambda[j, 1], Lambda[j, 2] = w[FIRST + j], w[CROSS + j], w[SECOND + j]


@strict
def log_odds(w: Array, n: int, z: float) -> None:
    """Write the log odds of the regressions."""
    for j in range(n):
        w[ODDS + j] = min(max(w[BIAS + j] + w[SLOPE + j] * z, -REACH), REACH)


@strict
def regress(w: Array, n: int, z: float, hit: float, c: float) -> None:
    """Move each theta to the minimum of |theta' - theta|^2_Lambda/2 + c log loss; Lambda forgets towards the identity."""
    for j in range(n):
        a, b, d = w[FIRST + j], w[CROSS + j], w[SECOND + j]
        part = 1.0 / (a * d - b * b)
        w[U + j], w[V + j] = (d - b * z) * part, (a * z - b) * part  # Lambda^-1 (1, z)
        w[MIDDLE + j] = w[BIAS + j] + w[SLOPE + j] * z
        w[STRENGTH + j] = c * (w[U + j] + w[V + j] * z)
    side = 1.0 if hit > 0.0 else -1.0
    settle(w, n, side)
    for j in range(n):
        x = w[ROOT + j]
        t = exp(-abs(x))
        r = 1.0 / (1.0 + t)
        e, h = side * c * (t * r if x > 0.0 else r), c * (t * r * r)
        w[BIAS + j] += e * w[U + j]
        w[SLOPE + j] += e * w[V + j]
        k = w[KEPT + j]
        w[FIRST + j] = k * w[FIRST + j] + (1.0 - k) + h
        w[CROSS + j] = k * w[CROSS + j] + h * z
        w[SECOND + j] = k * w[SECOND + j] + (1.0 - k) + h * z * z


@strict
def settle(w: Array, n: int, side: float) -> None:
    """Write the roots of x = m + v share(-x), m the middle times the side, v the strength, by Newton's method.

    x - m - v share(-x) is convex below 0 and concave above: from a start between 0 and the root the steps are monotone.
    """
    for j in range(n):
        m, v = side * w[MIDDLE + j], w[STRENGTH + j]
        w[ROOT + j] = max(0.0, m) if m + 0.5 * v > 0.0 else min(0.0, m + v)
    for _ in range(STEPS):
        left = 0
        for j in range(n):
            x, v = w[ROOT + j], w[STRENGTH + j]
            t = exp(-abs(x))
            r = 1.0 / (1.0 + t)
            step = (x - side * w[MIDDLE + j] - v * (t * r if x > 0.0 else r)) / (1.0 + v * (t * r * r))
            w[ROOT + j] = x - step
            left += 1 if abs(step) > NEAR * (1.0 + abs(x)) else 0
        if left == 0:
            break


# ---- the knots -------------------------------------------------------------------------------------------------------
@strict
def place(w: Array, n: int, odds: int) -> None:
    """Write the knots below log odds, and how far these are on the way to the next."""
    for j in range(n):
        u = min(max(w[odds + j], -1.0 * EDGE), 1.0 * EDGE) + EDGE
        w[BELOW + j] = min(np.floor(u), 2.0 * EDGE - 1.0)
        w[WAY + j] = u - w[BELOW + j]


def excess(knots: Array, i: int) -> float:
    """Return the odds of what was observed at a knot over those of what was expected."""
    N, C, E = knots[0, i], knots[1, i], knots[2, i]
    return (C + 1.0) * (N - E + 1.0) / ((E + 1.0) * (N - C + 1.0))


@strict
def correct(knots: Array, w: Array, n: int, odds: int, chance: int) -> None:
    """Write the probabilities that log odds come to after what was observed near them."""
    place(w, n, odds)
    for j in range(n):
        i = int(w[BELOW + j])
        w[LOWER + j], w[UPPER + j] = excess(knots[j], i), excess(knots[j], i + 1)
    for j in range(n):
        h = w[WAY + j]
        p = share(w[odds + j] + (1.0 - h) * log(w[LOWER + j]) + h * log(w[UPPER + j]))
        w[chance + j] = min(max(p, LEAST), 1.0 - LEAST)


@strict
def observe(knots: Array, w: Array, n: int, odds: int, c: float) -> None:
    """Note at the two knots around log odds what was expected there and what came."""
    place(w, n, odds)
    for j in range(n):
        w[EXPECTED + j] = share(w[odds + j])
    for j in range(n):
        i, h = int(w[BELOW + j]), w[WAY + j]
        add(knots[j], i, w[KEPT + j], c * (1.0 - h), w[HIT + j], w[EXPECTED + j])
        add(knots[j], i + 1, w[KEPT + j], c * h, w[HIT + j], w[EXPECTED + j])


def add(knots: Array, i: int, memory: float, h: float, hit: float, q: float) -> None:
    """Add a row of weight h to the counts of a knot: rows, hits, hits expected."""
    kept = max(0.0, 1.0 - (1.0 - memory) * h)
    knots[0, i] = kept * knots[0, i] + h
    knots[1, i] = kept * knots[1, i] + h * hit
    knots[2, i] = kept * knots[2, i] + h * q


# ---- the mixture -----------------------------------------------------------------------------------------------------
def shared(w: float, a: float, K: int) -> float:
    """Return a weight of K after a part of each has gone to the others (Herbster, Warmuth 1998)."""
    return (1.0 - a) * w + a * (1.0 - w) / (K - 1.0)


@strict
def reweigh(weights: Array, p: Array, c: float, rows: float) -> None:
    """Multiply weights by the probabilities of what came, to the power c; then a share 1/(rows + 1) of each goes to the others."""
    K, best, total = weights.shape[0], 0.0, 0.0
    for k in range(K):
        best = max(best, p[k])
    for k in range(K):
        weights[k] *= p[k] / best if c == 1.0 else exp(c * log(p[k] / best))
    for k in range(K):
        total += weights[k]
    a = 1.0 / (rows + 1.0)
    for k in range(K):
        weights[k] = shared(weights[k] / total, a, K)


@strict
def forecast_two(f: Array, totals: Array, theta: Array, Lambda: Array, knots: Array, weights: Array, w: Array, out: Array) -> None:
    """Write the probability of the positive class for each score."""
    n = weights.shape[0]
    load(theta, Lambda, w)
    for i in range(f.shape[0]):
        log_odds(w, n, squashed(tamed(f[i]), totals[SIZE], totals[WEIGHT]))
        correct(knots, w, n, ODDS, CHANCE)
        out[i] = 0.0
        for j in range(n):
            out[i] += weights[j] * w[CHANCE + j]


@strict
def learn_two(
    f: Array, hits: Array, c: Array, totals: Array, theta: Array, Lambda: Array, knots: Array, weights: Array, w: Array, out: Array
) -> None:
    """Write the probability of the positive class for each score, then learn whether it came (1 or 0)."""
    n = weights.shape[0]
    load(theta, Lambda, w)
    for i in range(f.shape[0]):
        s, hit, heft = tamed(f[i]), hits[i], min(c[i], HEAVIEST)
        z = squashed(s, totals[SIZE], totals[WEIGHT])
        log_odds(w, n, z)
        correct(knots, w, n, ODDS, CHANCE)
        out[i] = 0.0
        for j in range(n):
            out[i] += weights[j] * w[CHANCE + j]
        if heft == 0.0:
            continue
        for j in range(n):
            w[HIT + j] = hit
            w[CHANCE + j] = w[CHANCE + j] if hit > 0.0 else 1.0 - w[CHANCE + j]
        observe(knots, w, n, ODDS, heft)
        regress(w, n, z, hit, heft)
        totals[ROWS] += 1.0
        reweigh(weights, w[CHANCE : CHANCE + n], heft, totals[ROWS])
        totals[SIZE] += heft * abs(s)
        totals[WEIGHT] += heft
    store(w, theta, Lambda)
