"""Anticor: wealth goes from assets that did well to those they were correlated with, for windows of many lengths at once."""

from __future__ import annotations

import math
from typing import Annotated, Any, NamedTuple

import numpy as np

from ..algorithm.params import WholeRange
from ..algorithm.state import Count, Slot
from ..engine.elementary import log
from ..engine.words import strict
from .strategy import Cost, Entry, Scratch, Strategy, drifted, held, normalised

AGAIN = 1024  # days after which running sums are computed anew
Longest = Annotated[float, WholeRange(2.0, 10_000.0, "[]")]
One = Annotated[Any, WholeRange(2.0, 10_000.0, "[]"), None]


class Params(NamedTuple):
    """Anticor."""

    W: Longest = 30
    w: One = None
    cost: Cost = 0.0
    entry: Entry = "charged"


Parts = Annotated[Any, Slot(("window", "asset"), dtype=np.float64)]
Days = Annotated[Any, Slot(("lag", "asset"), dtype=np.float64)]


class State(NamedTuple):
    """Anticor. The last window of a length is days t-w+1 to t, the one before it t-2w+1 to t-w."""

    logs: Days  # of relatives, in a ring
    runs: Days  # for how many days up to this one a relative was the same
    t: Count
    C: Annotated[Any, Slot(("window", "asset", "asset"), dtype=np.float64)]  # products: the window before by the last
    B: Parts  # the portfolio of each length
    q: Annotated[Any, Slot(("window",), dtype=np.float64)]  # its share in the wealth
    mu: Scratch  # means of the last window
    before: Scratch  # and of the one before
    one: Scratch  # 1/|deviations| in the window before, 0 for 0
    two: Scratch  # in the last
    neg: Scratch  # [-cor(k, k)]+
    row: Scratch
    gets: Scratch


def sizes(p, K):
    """Return the number of windows, and how many days they need."""
    return {"window": 1 if p.w > 0.0 else p.W - 1, "lag": 2 * max(p.w, 0.0 if p.w > 0.0 else p.W) + 1}


def start(s, p):
    """Begin with equal shares."""
    s.B[:] = 1.0 / s.B.shape[1]
    s.q[:] = 1.0 / len(s.q)


# ---- sums --------------------------------------------------------------------------------------------------------------
@strict
def noted(s, x):
    """Write a day into the ring; return its place."""
    at = int(s.t[0]) % s.logs.shape[0]
    before = (at - 1) % s.logs.shape[0]
    for k in range(x.shape[0]):
        s.logs[at, k] = log(x[k])
        same = s.t[0] > 0 and s.logs[at, k] == s.logs[before, k]
        s.runs[at, k] = s.runs[before, k] + 1.0 if same else 1.0
    s.t[0] += 1
    return at


def crossed(C, a, b, c, d):
    """Do C += a b' - c d'."""
    for i in range(a.shape[0]):
        for j in range(b.shape[0]):
            C[i, j] += a[i] * b[j] - c[i] * d[j]


@strict
def anew(C, logs, at, w):
    """Compute the products of the windows of a length from their days."""
    n = logs.shape[0]
    for i in range(C.shape[0]):
        for j in range(C.shape[0]):
            C[i, j] = 0.0
    for back in range(w - 1, -1, -1):
        last, earlier = logs[(at - back) % n], logs[(at - back - w) % n]
        for i in range(C.shape[0]):
            for j in range(C.shape[0]):
                C[i, j] += earlier[i] * last[j]


def followed(s, at, w, v):
    """Let the windows of a length go on by a day. Days before the first are zeros in the ring."""
    n = s.logs.shape[0]
    if s.t[0] % AGAIN == 0:
        anew(s.C[v], s.logs, at, w)
    else:
        middle = s.logs[(at - w) % n]
        crossed(s.C[v], middle, s.logs[at], s.logs[(at - 2 * w) % n], middle)


# ---- claims ------------------------------------------------------------------------------------------------------------
@strict
def window_mean(logs, at, w, out):
    """Write the mean of the w days up to a place in the ring, summed in their order."""
    for k in range(out.shape[0]):
        out[k] = 0.0
    for back in range(w - 1, -1, -1):
        day = logs[(at - back) % logs.shape[0]]
        for k in range(out.shape[0]):
            out[k] += day[k]
    for k in range(out.shape[0]):
        out[k] /= w


@strict
def window_scale(logs, at, w, mean, still, out):
    """Write 1/sqrt(sum of squared deviations); 0 where there is none: a relative that was the same all the time has none."""
    for k in range(out.shape[0]):
        out[k] = 0.0
    for back in range(w - 1, -1, -1):
        day = logs[(at - back) % logs.shape[0]]
        for k in range(out.shape[0]):
            out[k] += (day[k] - mean[k]) * (day[k] - mean[k])
    for k in range(out.shape[0]):
        out[k] = 1.0 / math.sqrt(out[k]) if out[k] > 0.0 and still[k] < w else 0.0


@strict
def measured(s, at, w, v):
    """Write means, scales, and the correlation of each asset with itself where that is negative."""
    middle = (at - w) % s.logs.shape[0]
    window_mean(s.logs, at, w, s.mu)
    window_mean(s.logs, middle, w, s.before)
    window_scale(s.logs, at, w, s.mu, s.runs[at], s.two)
    window_scale(s.logs, middle, w, s.before, s.runs[middle], s.one)
    for k in range(s.mu.shape[0]):
        s.neg[k] = max(0.0, -(s.C[v, k, k] - w * s.before[k] * s.mu[k]) * s.one[k] * s.two[k])


def claims(C, mu, two, neg, z, scale, best, more, row):
    """Write what an asset owes each other one, and return the sum: w times its mean before, its scale, its mean, its own claim."""
    total = 0.0
    for j in range(row.shape[0]):
        cor = (C[j] - z * mu[j]) * scale * two[j]
        due = cor + neg[j] + more if (cor > 0.0) & (best >= mu[j]) else 0.0
        row[j] = due
        total += due
    return total


def passed(row, share, gets):
    """Give away shares."""
    for j in range(row.shape[0]):
        gets[j] += share * row[j]


@strict
def transferred(s, w, v):
    """Move the wealth of each asset to those that have a claim on it."""
    b = s.B[v]
    for k in range(b.shape[0]):
        s.gets[k] = 0.0
    for i in range(b.shape[0]):
        if b[i] > 0.0 and s.one[i] > 0.0:
            own = s.two[i]
            s.two[i] = 0.0  # it owes itself nothing
            due = claims(s.C[v, i], s.mu, s.two, s.neg, w * s.before[i], s.one[i], s.mu[i], s.neg[i], s.row)
            s.two[i] = own
            if due > 0.0:
                passed(s.row, b[i] / due, s.gets)
                b[i] = 0.0
    for k in range(b.shape[0]):
        b[k] += s.gets[k]
    normalised(b)


# ---- a day -------------------------------------------------------------------------------------------------------------
@strict
def after_anticor(s, x, b, p):
    """Let the portfolio of every window drift, then trade; hold all of them by their wealth."""
    growth, at = held(b, x), noted(s, x)
    for v in range(s.q.shape[0]):
        w = int(p.w) if p.w > 0.0 else v + 2
        own = held(s.B[v], x)
        drifted(x, s.B[v], own, s.B[v])
        s.q[v] *= own / growth
        followed(s, at, w, v)
        if s.t[0] >= 2 * w:
            measured(s, at, w, v)
            transferred(s, w, v)
    normalised(s.q)
    for k in range(b.shape[0]):
        b[k] = 0.0
        for v in range(s.q.shape[0]):
            b[k] += s.q[v] * s.B[v, k]
    normalised(b)


class Anticor(Strategy):
    """Anti-correlation: wealth goes from asset i to j where i did as well in the last window and cor(i before, j last) > 0.

    The claim is cor(i, j) + [-cor(i, i)]+ + [-cor(j, j)]+, with correlations of log relatives between the window before the last
    and the last; i gives all it has, in shares of the claims on it. All lengths w = 2, ..., W run from equal shares and are never
    rebalanced between them: the wealth is the mean of theirs. It bets that assets which move together take turns.

    Parameters: `W` >= 2, the longest window; `w`, one window alone; `cost`, `entry` and `missing` as `Market` has them.

    Pitfalls: a day costs W m^2 operations. It trades much, and the windows net their trades: costs are paid for what is left. It
    has no bound.

    Reference: Borodin, El-Yaniv, Gogan (2004), *Can we learn to beat the best stock*, Figure 1.

    >>> import noregret as nr
    >>> days = [[1.1, 0.9], [0.9, 1.1], [1.05, 1.0], [0.95, 1.02], [1.1, 0.98]]
    >>> m = nr.portfolio.Anticor(w=2).fit(days)
    >>> m.weights_.round(6), round(m.wealth_, 6)
    (array([0.523285, 0.476715]), 1.037941)
    """

    name = "portfolio.anticor"
    cite = "borodin2004"
    State = State
    Params = Params
    sizes = sizes
    start = start
    after = after_anticor
