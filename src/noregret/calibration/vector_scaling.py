"""Probabilities of many classes from their scores: vector scaling in four memories, of each two experts, mixed.

Vector scaling q_k ~ exp(b_k + a phi_k) (Guo, Pleiss, Sun, Weinberger 2017), phi the squashed distances from the highest score. One
expert corrects the probability of q's favourite at knots; the other asks the method of two classes whether the class of the highest
score is right. Both share the rest as q does.
"""

from __future__ import annotations

import numpy as np

from ..engine.elementary import asinh, exp, log
from ..engine.words import strict
from .platt import (
    HEAVIEST,
    LEAST,
    MEMORIES,
    REACH,
    ROWS,
    SIZE,
    WEIGHT,
    corrected,
    log_odds,
    observe,
    regress,
    reweigh,
    tamed,
)

Array = np.ndarray
FARTHEST = 1e300  # from the highest score, in mean gaps


# ---- scores ----------------------------------------------------------------------------------------------------------
@strict
def highest(f: Array, skip: int) -> int:
    """Return the class with the highest value, the lowest on ties, leaving `skip` out."""
    top = -1
    for k in range(f.shape[0]):
        if k != skip and (top < 0 or f[k] > f[top]):
            top = k
    return top


@strict
def distances(f: Array, top: int, r: float, phi: Array) -> None:
    """Write the squashed distances of scores below the highest."""
    for k in range(f.shape[0]):
        phi[k] = -asinh(min((tamed(f[top]) - tamed(f[k])) / r, FARTHEST)) if r > 0.0 else 0.0


# ---- one memory ------------------------------------------------------------------------------------------------------
@strict
def softmax(a: float, b: Array, phi: Array, q: Array) -> None:
    """Write the probabilities of vector scaling."""
    most, total = b[0] + a * phi[0], 0.0
    for k in range(phi.shape[0]):
        q[k] = b[k] + a * phi[k]
        most = max(most, q[k])
    for k in range(phi.shape[0]):
        q[k] = exp(q[k] - most)
        total += q[k]
    for k in range(phi.shape[0]):
        q[k] /= total


@strict
def others(q: Array, top: int) -> float:
    """Return the probability of all classes but one."""
    total = 0.0
    for k in range(q.shape[0]):
        if k != top:
            total += q[k]
    return total


def odds_of(q: Array, top: int) -> float:
    """Return the log odds of one class against all others."""
    rest = others(q, top)
    return min(max(log(q[top] / rest), -REACH), REACH) if rest > 0.0 else REACH


def part(q: Array, rest: float, top: int, p: float, k: int) -> float:
    """Return the probability of a class for an expert who gives p to the class `top`, and shares the rest as q does."""
    K = q.shape[0]
    own = p if k == top else (1.0 - p) * (q[k] / rest if rest > 0.0 else 1.0 / (K - 1.0))
    least = min(LEAST, 0.5 / K)
    return (1.0 - K * least) * own + least


@strict
def spread(q: Array, top: int, p: float, weight: float, out: Array) -> None:
    """Add what an expert says, times its weight."""
    rest = others(q, top)
    for k in range(q.shape[0]):
        out[k] += weight * part(q, rest, top, p, k)


@strict
def descend(a: Array, A: Array, b: Array, B: Array, memory: float, phi: Array, q: Array, y: int, c: float) -> None:
    """Move a and b by diagonal Newton steps on the log loss."""
    slope = phi[y]
    for k in range(phi.shape[0]):
        slope -= q[k] * phi[k]
    A[0] = memory * A[0] + (1.0 - memory) + c * slope * slope
    a[0] += c * slope / A[0]
    for k in range(phi.shape[0]):
        g = (1.0 if k == y else 0.0) - q[k]
        B[k] = memory * B[k] + (1.0 - memory) + c * g * g
        b[k] += c * g / B[k]


# ---- the mixture -----------------------------------------------------------------------------------------------------
@strict
def forecast_row(
    f: Array, totals: Array, a: Array, b: Array, top_knots: Array, theta: Array, knots: Array, weights: Array,
    phi: Array, q: Array, p: Array, out: Array,
) -> tuple[int, float, float]:  # fmt: skip
    """Add the probabilities of a row to `out`; return the class of the highest score, the gap below it, and that squashed.

    phi, q (a row for each memory) and p (that of each expert's favourite) are filled in for learning.
    """
    K = f.shape[0]
    top = highest(f, -1)
    gap = tamed(f[top]) - tamed(f[highest(f, top)])
    r = (totals[SIZE] + gap) / (totals[WEIGHT] + 1.0)
    z = asinh(gap / r) if r > 0.0 else 0.0
    distances(f, top, r, phi)
    for j in range(len(MEMORIES)):
        softmax(a[j], b[j, :K], phi, q[j])
        favourite = highest(q[j], -1)
        p[2 * j] = corrected(top_knots[j], odds_of(q[j], favourite))
        p[2 * j + 1] = corrected(knots[j], log_odds(theta[j], z))
        spread(q[j], favourite, p[2 * j], weights[2 * j], out)
        spread(q[j], top, p[2 * j + 1], weights[2 * j + 1], out)
    return top, gap, z


@strict
def forecast_many(
    f: Array, known: int, totals: Array, a: Array, b: Array, top_knots: Array, theta: Array, knots: Array, weights: Array,
    phi: Array, q: Array, p: Array, out: Array,
) -> None:  # fmt: skip
    """Add the probabilities of the classes that are known, in order of codes, to `out`."""
    for i in range(f.shape[0]):
        row = f[i, :known]
        forecast_row(row, totals, a, b, top_knots, theta, knots, weights, phi[:known], q[:, :known], p, out[i, :known])


@strict
def learn_many(
    f: Array, y: Array, c: Array, known: int, totals: Array, a: Array, A: Array, b: Array, B: Array, top_knots: Array, theta: Array,
    Lambda: Array, knots: Array, weights: Array, phi: Array, q: Array, p: Array, out: Array,
) -> None:  # fmt: skip
    """Add the probabilities of each row to `out`, then learn its class; one that was not known is known from then on."""
    for i in range(f.shape[0]):
        row, w = f[i, :known], min(c[i], HEAVIEST)
        top, gap, z = forecast_row(
            row, totals, a, b, top_knots, theta, knots, weights, phi[:known], q[:, :known], p, out[i, :known]
        )
        if w == 0.0:
            continue
        if y[i] >= known:
            known = y[i] + 1
            continue
        for j in range(len(MEMORIES)):
            Q = q[j, :known]
            favourite = highest(Q, -1)
            p[2 * j] = part(Q, others(Q, favourite), favourite, p[2 * j], y[i])
            p[2 * j + 1] = part(Q, others(Q, top), top, p[2 * j + 1], y[i])
            observe(top_knots[j], MEMORIES[j], odds_of(Q, favourite), 1.0 if y[i] == favourite else 0.0, w)
            hit = 1.0 if y[i] == top else 0.0
            observe(knots[j], MEMORIES[j], log_odds(theta[j], z), hit, w)
            regress(theta[j], Lambda[j], MEMORIES[j], z, hit, w)
            descend(a[j : j + 1], A[j : j + 1], b[j], B[j], MEMORIES[j], phi[:known], Q, y[i], w)
        totals[ROWS] += 1.0
        reweigh(weights, p, w, totals[ROWS])
        totals[SIZE] += w * gap
        totals[WEIGHT] += w
