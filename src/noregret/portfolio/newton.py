"""Online Newton steps, projected on the simplex in the norm of what was learned: a quadratic programme, by an active set.

A = I + sum g g' with g = x/(b.x). R is the upper factor of A over the assets held, A_PP = R'R, and follows A by a step of rank one,
an asset that comes in by a column, and one that is left out by another step of rank one: all of them add, so none loses digits.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, NamedTuple

import numpy as np

from ..algorithm.params import Positive, Range
from ..algorithm.state import Slot
from ..engine.compiling import compiled
from ..engine.words import strict
from .strategy import Asset, Cost, Entry, Scratch, Strategy, held, normalised

ROUNDING = 1e-11  # of a multiplier, relative to the slopes
MOST = 20  # exchanges for each asset: there are one or two a day


class Params(NamedTuple):
    """ONS."""

    eta: Annotated[float, Range(0.0, 1.0, "[]")] = 0.0
    beta: Positive = 1.0
    delta: Positive = 0.125
    cost: Cost = 0.0
    entry: Entry = "charged"


Matrix = Annotated[Any, Slot(("asset", "asset"), 1.0, np.float64, eye=True)]


class State(NamedTuple):
    """ONS."""

    A: Matrix
    R: Matrix  # its factor over the assets held, in their order
    total: Asset  # sum of g
    q: Asset  # the projection, before eta
    order: Annotated[Any, Slot(("asset",), dtype=np.int64, most="asset")]  # the assets held, counted from 1
    size: Annotated[Any, Slot((), dtype=np.int64, most="asset")]  # how many
    u: Scratch
    y: Scratch
    z: Scratch


def start(s, p):
    """Begin with all assets, alike."""
    s.q[:] = 1.0 / len(s.q)
    s.order[:] = 1 + np.arange(len(s.q))
    s.size[0] = len(s.q)


# ---- the factor --------------------------------------------------------------------------------------------------------
@strict
def raised(R, u, first, n):
    """Do R'R += u u' from row `first` to n; u is used up."""
    for j in range(first, n):
        r = math.sqrt(R[j, j] * R[j, j] + u[j] * u[j])
        c, t = r / R[j, j], u[j] / R[j, j]
        R[j, j] = r
        for i in range(j + 1, n):
            R[j, i] = (R[j, i] + t * u[i]) / c
            u[i] = c * u[i] - t * R[j, i]


@strict
def forward(R, y, n):
    """Solve R'y = y."""
    for j in range(n):
        y[j] /= R[j, j]
        for i in range(j + 1, n):
            y[i] -= R[j, i] * y[j]


@strict
def backward(R, y, n):
    """Solve Ry = y."""
    for j in range(n - 1, -1, -1):
        for i in range(j + 1, n):
            y[j] -= R[j, i] * y[i]
        y[j] /= R[j, j]


@strict
def taken_in(s, k):
    """Hold asset k: a column more."""
    n, left = int(s.size[0]), s.A[k, k]
    for a in range(n):
        s.u[a] = s.A[s.order[a] - 1, k]
    forward(s.R, s.u, n)
    for a in range(n):
        s.R[a, n] = s.u[a]
        left -= s.u[a] * s.u[a]
    s.R[n, n] = math.sqrt(max(left, 1.0))  # A - I has no negative eigenvalue
    s.order[n] = k + 1
    s.size[0] = n + 1


@strict
def left_out(s, at):
    """Hold the asset at a place no more: its row goes into those below."""
    n = int(s.size[0])
    for i in range(at + 1, n):
        s.u[i - 1] = s.R[at, i]
        s.order[i - 1] = s.order[i]
        for a in range(at):
            s.R[a, i - 1] = s.R[a, i]
    for j in range(at + 1, n):
        for i in range(j, n):
            s.R[j - 1, i - 1] = s.R[j, i]
    raised(s.R, s.u, at, n - 1)
    s.size[0] = n - 1


# ---- the quadratic programme -------------------------------------------------------------------------------------------
@strict
def projected(s, slope):
    """Do q = argmin q'Aq/2 - slope total.q on the simplex, from the last q and the assets held in it."""
    for _ in range(MOST * s.q.shape[0]):
        level = solved(s, slope)
        at = moved(s, level)
        if at >= 0:
            s.q[s.order[at] - 1] = 0.0
            left_out(s, at)
            continue
        k = wanted(s, slope, level)
        if k < 0:
            break
        taken_in(s, k)
    for k in range(s.q.shape[0]):
        s.q[k] = max(s.q[k], 0.0)
    normalised(s.q)


@strict
def solved(s, slope):
    """Write A_PP^-1 of the slopes and of 1; return the multiplier with which their sum is 1."""
    n, top, low = int(s.size[0]), 0.0, 0.0
    for a in range(n):
        s.y[a], s.z[a] = slope * s.total[s.order[a] - 1], 1.0
    forward(s.R, s.y, n)
    backward(s.R, s.y, n)
    forward(s.R, s.z, n)
    backward(s.R, s.z, n)
    for a in range(n):
        top += s.y[a]
        low += s.z[a]
    return (1.0 - top) / low


@strict
def moved(s, level):
    """Go to the solution as far as no weight is negative; return the place of the asset that is in the way, or -1."""
    length, at = 1.0, -1
    for a in range(int(s.size[0])):
        goal, q = s.y[a] + level * s.z[a], s.q[s.order[a] - 1]
        if goal < 0.0 and (at < 0 or q < length * (q - goal)):
            length, at = q / (q - goal), a
    for a in range(int(s.size[0])):
        k = s.order[a] - 1
        s.q[k] += length * (s.y[a] + level * s.z[a] - s.q[k])
    return at


@strict
def wanted(s, slope, level):
    """Return the asset, not held, whose weight would lower the objective most, or -1."""
    n, found, least, largest = int(s.size[0]), -1, 0.0, abs(level)
    for k in range(s.q.shape[0]):
        s.u[k] = 0.0
        largest = max(largest, slope * s.total[k])
    for a in range(n):
        s.u[s.order[a] - 1] = 1.0
    for k in range(s.q.shape[0]):
        if s.u[k] == 0.0 and n < s.q.shape[0]:
            m = held(s.A[k], s.q) - slope * s.total[k] - level
            if m < least and m < -ROUNDING * largest:
                found, least = k, m
    return found


def programme(A, R, total, q, order, size, u, y, z):
    """Do q = argmin q'Aq/2 - total.q on the simplex, from any portfolio q; A - I has no negative eigenvalue."""
    s = State(A, R, total, q, order, size, u, y, z)
    s.size[0] = 0
    for k in range(s.q.shape[0]):
        if s.q[k] > 0.0:
            taken_in(s, k)
    projected(s, 1.0)


def minimised(A: np.ndarray, total: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return the portfolio that minimises q'Aq/2 - total.q, found from q."""
    m, q = len(q), q.copy()
    compiled(programme)(A, np.eye(m), total, q, np.zeros(m, np.int64), np.zeros(1, np.int64), *np.zeros((3, m)))
    return q


@strict
def learned(s, x, growth):
    """Do A += g g' and total += g; the factor follows."""
    for k in range(x.shape[0]):
        s.y[k] = x[k] / growth
        s.total[k] += s.y[k]
    for k in range(x.shape[0]):
        for j in range(x.shape[0]):
            s.A[k, j] += s.y[k] * s.y[j]
    n = int(s.size[0])
    for a in range(n):
        s.u[a] = s.y[s.order[a] - 1]
    raised(s.R, s.u, 0, n)


def after_ons(s, x, b, p):
    """Take a Newton step, and project it."""
    learned(s, x, held(b, x))
    projected(s, p.delta * (1.0 + 1.0 / p.beta))
    spread_out(s.q, p.eta, b)


@strict
def spread_out(q, eta, b):
    """Write the projection, mixed with equal weights."""
    for k in range(b.shape[0]):
        b[k] = (1.0 - eta) * q[k] + eta / b.shape[0]


class ONS(Strategy):
    """Online Newton step: b = (1 - eta) argmin_q (q - u)'A(q - u) + eta/m on the simplex, u = delta (1 + 1/beta) A^-1 sum g.

    With g = x/(b.x) and A = I + sum g g'. It bets on the portfolio that was best so far, and is the surer the more days it has
    seen. The projection is a quadratic programme, solved exactly by an active set.

    Parameters: `eta` in [0, 1], the share that is equal weights; `beta` > 0 and `delta` > 0, as in the paper; `cost`, `entry` and
    `missing` as `Market` has them.

    Bound: the regret in log wealth is of the order m ln T, with eta, beta and delta of the paper's theorem, which need a lower
    bound on the relatives; with the defaults there is none.

    Pitfalls: a day costs m^2 operations. Solvers that stop early end elsewhere: with 300 projected gradient steps a day, the wealth
    on NYSE(O) is 57 and not 109.

    Reference: Agarwal, Hazan, Kale, Schapire (2006), *Algorithms for portfolio management based on the Newton method*, Figure 1.

    >>> import noregret as nr
    >>> m = nr.portfolio.ONS().fit([[1.1, 0.9], [0.9, 1.1], [1.05, 1.0]])
    >>> m.weights_.round(6), round(m.wealth_, 6)
    (array([0.479999, 0.520001]), 1.039951)
    """

    name = "portfolio.ons"
    cite = "agarwal2006"
    State = State
    Params = Params
    start = start
    after = after_ons
