"""Probabilities of two classes from one score: online Platt scaling in four memories, each corrected at knots, mixed.

Each memory is a logistic regression on (1, z), z the squashed score, by proximal Newton steps that forget; what was observed near
its log odds corrects them. Fixed share mixes the four. Platt (1999); Gupta, Ramdas (2023); Foster, Hart (2023); Herbster, Warmuth
(1998).
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
STEPS = 300  # of the search for a root, which takes about five
SIZE, WEIGHT, ROWS = range(3)  # totals: of the sizes of scores, of sample weights, of rows


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


# ---- one memory ------------------------------------------------------------------------------------------------------
def log_odds(theta: Array, z: float) -> float:
    """Return the log odds of the logistic regression."""
    return min(max(theta[0] + theta[1] * z, -REACH), REACH)


def knot(odds: float) -> tuple[int, float]:
    """Return the knot below log odds, and how far they are on the way to the next one."""
    u = min(max(odds, -1.0 * EDGE), 1.0 * EDGE) + EDGE
    i = min(int(np.floor(u)), 2 * EDGE - 1)
    return i, u - i


def excess(knots: Array, i: int) -> float:
    """Return by how much the log odds of what was observed at a knot exceed those of what was expected."""
    N, C, E = knots[0, i], knots[1, i], knots[2, i]
    return log((C + 1.0) / (E + 1.0) * ((N - E + 1.0) / (N - C + 1.0)))


def corrected(knots: Array, odds: float) -> float:
    """Return the probability that log odds come to after what was observed near them."""
    i, h = knot(odds)
    p = share(odds + (1.0 - h) * excess(knots, i) + h * excess(knots, i + 1))
    return min(max(p, LEAST), 1.0 - LEAST)


def observe(knots: Array, memory: float, odds: float, hit: float, c: float) -> None:
    """Note at the two knots around log odds what was expected there and what came."""
    i, h = knot(odds)
    add(knots, i, memory, c * (1.0 - h), hit, share(odds))
    add(knots, i + 1, memory, c * h, hit, share(odds))


def add(knots: Array, i: int, memory: float, h: float, hit: float, q: float) -> None:
    """Add a row of weight h to the counts of a knot: rows, hits, hits expected."""
    kept = max(0.0, 1.0 - (1.0 - memory) * h)
    knots[0, i] = kept * knots[0, i] + h
    knots[1, i] = kept * knots[1, i] + h * hit
    knots[2, i] = kept * knots[2, i] + h * q


@strict
def settled(m: float, v: float, hit: float) -> float:
    """Return the root of x = m + v (hit - share(x)), by Newton's method from 0, from where it is monotone."""
    x = 0.0
    for _ in range(STEPS):
        step = (x - m - v * surprise(x, hit)) / (1.0 + v * curvature(x))
        x -= step
        if abs(step) <= 1e-12 * (1.0 + abs(x)):
            break
    return x


def surprise(x: float, hit: float) -> float:
    """Return hit - share(x) without cancellation."""
    return share(-x) if hit > 0.0 else -share(x)


def curvature(x: float) -> float:
    """Return share(x) (1 - share(x))."""
    t = exp(-abs(x))
    return t / ((1.0 + t) * (1.0 + t))


def regress(theta: Array, Lambda: Array, memory: float, z: float, hit: float, c: float) -> None:
    """Move theta to the minimum of |theta' - theta|^2_Lambda/2 + c log loss; Lambda forgets towards the identity."""
    a, b, d = Lambda[0], Lambda[1], Lambda[2]
    det = a * d - b * b
    u, v = (d - b * z) / det, (a * z - b) / det  # Lambda^-1 (1, z)
    x = settled(theta[0] + theta[1] * z, c * (u + v * z), hit)
    e, h = c * surprise(x, hit), c * curvature(x)
    theta[0] += e * u
    theta[1] += e * v
    Lambda[0] = memory * a + (1.0 - memory) + h
    Lambda[1] = memory * b + h * z
    Lambda[2] = memory * d + (1.0 - memory) + h * z * z


# ---- the mixture -----------------------------------------------------------------------------------------------------
@strict
def reweigh(weights: Array, p: Array, c: float, rows: float) -> None:
    """Multiply weights by the probabilities of what came, to the power c; then a share 1/(rows + 1) of each goes to the others."""
    K, best, total = weights.shape[0], 0.0, 0.0
    for k in range(K):
        best = max(best, p[k])
    for k in range(K):
        weights[k] *= p[k] / best if c == 1.0 else exp(c * log(p[k] / best))
        total += weights[k]
    a = 1.0 / (rows + 1.0)
    for k in range(K):
        w = weights[k] / total
        weights[k] = (1.0 - a) * w + a * (1.0 - w) / (K - 1.0)


@strict
def forecast_two(f: Array, totals: Array, theta: Array, knots: Array, weights: Array, out: Array) -> None:
    """Write the probability of the positive class for each score."""
    for i in range(f.shape[0]):
        z = squashed(tamed(f[i]), totals[SIZE], totals[WEIGHT])
        p = 0.0
        for j in range(len(MEMORIES)):
            p += weights[j] * corrected(knots[j], log_odds(theta[j], z))
        out[i] = p


@strict
def learn_two(
    f: Array, hits: Array, c: Array, totals: Array, theta: Array, Lambda: Array, knots: Array, weights: Array, p: Array, out: Array
) -> None:
    """Write the probability of the positive class for each score, then learn whether it came (1 or 0)."""
    for i in range(f.shape[0]):
        s, hit, w = tamed(f[i]), hits[i], min(c[i], HEAVIEST)
        z = squashed(s, totals[SIZE], totals[WEIGHT])
        mixed = 0.0
        for j in range(len(MEMORIES)):
            p[j] = corrected(knots[j], log_odds(theta[j], z))
            mixed += weights[j] * p[j]
        out[i] = mixed
        if w == 0.0:
            continue
        for j in range(len(MEMORIES)):
            observe(knots[j], MEMORIES[j], log_odds(theta[j], z), hit, w)
            regress(theta[j], Lambda[j], MEMORIES[j], z, hit, w)
            p[j] = p[j] if hit > 0.0 else 1.0 - p[j]
        totals[ROWS] += 1.0
        reweigh(weights, p, w, totals[ROWS])
        totals[SIZE] += w * abs(s)
        totals[WEIGHT] += w
