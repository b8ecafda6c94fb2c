"""DUOL: a new support vector may also change the coefficient of one old one that conflicts with it.

Zhao, Hoi, Jin (2011), *Double updating online learning*, JMLR 12:1587-1615.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

from ..algorithm.params import Positive, Range
from ..algorithm.state import Pairs
from ..engine.words import strict, word
from ..spaces.examples import Pair, Weighted, importance
from ..spaces.expansion import bump, earlier
from ..spaces.support_vectors import alone, meet_own
from ..spaces.weights import add, dot, norm2
from .budgeted import OnBudget

FULL = 1.0 + 1e-12  # vectors left exactly at margin 1 by an earlier step may be auxiliary too


class Params(NamedTuple):
    """DUOL."""

    C: Positive = 5.0
    rho: Annotated[float, Range(0.0, 1.0, "[)")] = 0.0


class State(NamedTuple):
    """Weights that know the scores of their vectors; the figure kept for each is the cap of its coefficient."""

    w: Pairs


def sign(a):
    """Return -1, 0 or 1."""
    return (1.0 if a > 0.0 else 0.0) - (1.0 if a < 0.0 else 0.0)


@word
def alike(alpha, i, x):
    """Return how far vector i supports the example's class: 1, or -1 if it opposes it, up to 2 for a pair."""


@alike.on(object)
def alike_any(alpha, i, x):
    return sign(alpha[0, i])


@alike.on(object, object, Pair)
def alike_pair(alpha, i, x):
    return sign(alpha[x.a, i]) - sign(alpha[x.b, i])


@alike.on(object, object, Weighted)
def alike_weighted(alpha, i, x):
    return alike(alpha, i, x.x)


@strict
def margin(w, i):
    """Return y_i f(x_i)."""
    m = 0.0
    for k in range(w.alpha.shape[0]):
        m += sign(w.alpha[k, i]) * w.kept.F[k, i]
    return w.c[0] * m


def conflict(w, y, rho, x):
    """Return the vector of margin at most 1 that the example contradicts most, -1 if none does by more than rho."""
    b, least = -1, -rho
    for i in range(w.size[0]):
        v = y * alike(w.alpha, i, x) * w.kx[i]
        if v <= least and (b < 0 or v < least or earlier(w, i, b)) and margin(w, i) <= FULL:
            b, least = i, v
    return b


def weight(w, i):
    """Return gamma_i, the size of the coefficients of vector i."""
    g = 0.0
    for k in range(w.alpha.shape[0]):
        g = max(g, abs(w.alpha[k, i]))
    return w.c[0] * g


def gain(ka, kb, v, la, lb, ga, gb):
    """Return what the two steps win in the dual."""
    return la * ga + lb * gb - 0.5 * ka * ga * ga - 0.5 * kb * gb * gb - v * ga * gb


def clip(g, low, high):
    """Return the nearest number of an interval."""
    return min(high, max(low, g))


@strict
def two_steps(ka, kb, v, la, lb, cap, low, high):
    """Return (g_a, g_b) that win most with g_a in [0, cap] and g_b in [low, high]."""
    D = ka * kb - v * v
    if 1e-12 * ka * kb < D:
        a, b = (kb * la - v * lb) / D, (ka * lb - v * la) / D
        if 0.0 <= a <= cap and low <= b <= high:
            return a, b
    ga, gb, best = 0.0, 0.0, -math.inf
    for edge in range(4):
        if edge < 2:
            a = cap if edge == 1 else 0.0
            b = clip((lb - v * a) / kb, low, high)
        else:
            b = high if edge == 3 else low
            a = clip((la - v * b) / ka, 0.0, cap)
        won = gain(ka, kb, v, la, lb, a, b)
        if won > best:
            ga, gb, best = a, b, won
    return ga, gb


def strengthen(w, b, g):
    """Let the coefficients of vector b grow by g, and the scores of all vectors follow."""
    n = w.size[0]
    meet_own(w.S, w.kernel, n, w.ky, b)
    for k in range(w.alpha.shape[0]):
        a = g * sign(w.alpha[k, b])
        if a != 0.0:
            bump(w, k, b, a)
            for i in range(n):
                w.kept.F[k, i] += a / w.c[0] * w.ky[i]


def step(s, x, y, p):
    """Do a PA-I step, or one on the example and its strongest conflict together."""
    f = dot(s.w, x)
    loss, ka, cap = 1.0 - y * f, norm2(s.w, x), importance(x) * p.C
    if loss <= 0.0 or ka <= 0.0:
        return f, False
    b = conflict(s.w, y, p.rho, x)
    g = min(cap, loss / ka)
    if b >= 0:
        v = y * alike(s.w.alpha, b, x) * s.w.kx[b]
        kb, gamma = alone(s.w.kernel, s.w.S.g[b]), weight(s.w, b)
        kb *= ka / norm_of_row(s.w, x)
        g, more = two_steps(ka, kb, v, loss, 1.0 - margin(s.w, b), cap, -gamma, s.w.kept.cap[b] - gamma)
        if more != 0.0:
            strengthen(s.w, b, more)
    s.w.kept.new[0] = cap
    add(s.w, y * g, x)
    return f, True


@word
def norm_of_row(w, x):
    """Return k(x, x) of the row under the example."""


@norm_of_row.on(object)
def norm_of_row_any(w, x):
    return norm2(w, x)


@norm_of_row.on(object, Pair)
def norm_of_row_pair(w, x):
    return norm2(w, x.x)


@norm_of_row.on(object, Weighted)
def norm_of_row_weighted(w, x):
    return norm_of_row(w, x.x)


class DUOL(OnBudget):
    """DUOL, double updating: PA-I which, with a new support vector, strengthens the old one that contradicts it most.

    Every support vector has a coefficient of at most C. With l = 1 - y f > 0, the auxiliary is the vector of margin at most 1 with
    the least y y_i k(x, x_i), if that is at most -rho; the two steps maximise the dual within their bounds. Scores of the vectors
    are kept, so that a round takes O(n) kernel values.

    Parameters: `kernel`, with k(x, x) = 1 as RBF has it; `C` > 0; `rho` in [0, 1), the least conflict; `budget`, None for as many
    vectors as come, or one that removes: Stop, RemoveOldest, RemoveRandom, RemoveSmallest, RemoveRedundant, Shrink. A sample weight
    multiplies the cap C of its vector.

    Zhao, Hoi, Jin (2011), algorithm 1.

    >>> X, y = [[0, 0], [1, 0], [0, 1], [1, 1]], [1, -1, 1, -1]
    >>> DUOL(C=1.8, kernel="rbf(0.5)").fit(X, y).dual_coef_.round(4).tolist()
    [[1.8, -1.8, 1.4497, -1.4497]]
    """

    name = "duol"
    cite = "zhao2011"
    State, Params, step = State, Params, step
    grows = True
