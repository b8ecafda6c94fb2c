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
NONE = 1e-13  # a variance below this share of the mean square is rounding
Longest = Annotated[float, WholeRange(2.0, 10_000.0, "[]")]
One = Annotated[Any, WholeRange(2.0, 10_000.0, "[]"), None]


class Params(NamedTuple):
    """Anticor."""

    W: Longest = 30
    w: One = None
    cost: Cost = 0.0
    entry: Entry = "charged"


Sums = Annotated[Any, Slot(("window", "asset"), dtype=np.float64)]
Days = Annotated[Any, Slot(("lag", "asset"), dtype=np.float64)]


class State(NamedTuple):
    """Anticor. The last window of a length is days t-w+1 to t, the one before it t-2w+1 to t-w."""

    logs: Days  # of relatives, in a ring
    runs: Days  # for how many days up to this one a relative was the same
    t: Count
    S: Sums  # of the logs in the last window
    S2: Sums  # of their squares
    Z: Sums  # in the window before
    Z2: Sums
    C: Annotated[Any, Slot(("window", "asset", "asset"), dtype=np.float64)]  # products: the window before by the last
    B: Sums  # the portfolio of each length
    q: Annotated[Any, Slot(("window",), dtype=np.float64)]  # its share in the wealth
    mu: Scratch  # means of the last window
    one: Scratch  # 1/(standard deviation (w - 1)) in the window before, 0 for 0
    two: Scratch  # 1/standard deviation in the last
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


def summed(new, old, S, S2):
    """Let a day into a window and another one out."""
    for k in range(S.shape[0]):
        S[k] += new[k] - old[k]
        S2[k] += new[k] * new[k] - old[k] * old[k]


def crossed(C, a, b, c, d):
    """Do C += a b' - c d'."""
    for i in range(a.shape[0]):
        for j in range(b.shape[0]):
            C[i, j] += a[i] * b[j] - c[i] * d[j]


@strict
def anew(s, at, w, v):
    """Compute the sums of a window from its days."""
    n = s.logs.shape[0]
    for k in range(s.S.shape[1]):
        s.S[v, k], s.S2[v, k], s.Z[v, k], s.Z2[v, k] = 0.0, 0.0, 0.0, 0.0
        for j in range(s.S.shape[1]):
            s.C[v, k, j] = 0.0
    for i in range(w - 1, -1, -1):
        last, earlier = s.logs[(at - i) % n], s.logs[(at - i - w) % n]
        for k in range(s.S.shape[1]):
            s.S[v, k] += last[k]
            s.S2[v, k] += last[k] * last[k]
            s.Z[v, k] += earlier[k]
            s.Z2[v, k] += earlier[k] * earlier[k]
            for j in range(s.S.shape[1]):
                s.C[v, k, j] += earlier[k] * last[j]


def followed(s, at, w, v):
    """Let the windows of a length go on by a day. Days before the first are zeros in the ring."""
    n = s.logs.shape[0]
    today, middle, first = s.logs[at], s.logs[(at - w) % n], s.logs[(at - 2 * w) % n]
    if s.t[0] % AGAIN == 0:
        anew(s, at, w, v)
    else:
        summed(today, middle, s.S[v], s.S2[v])
        summed(middle, first, s.Z[v], s.Z2[v])
        crossed(s.C[v], middle, today, first, middle)


# ---- claims ------------------------------------------------------------------------------------------------------------
def spread(total, squares, w):
    """Return the standard deviation of w numbers, 0 if it is rounding."""
    left = squares - total * total / w
    return math.sqrt(left / (w - 1.0)) if left > NONE * squares else 0.0


@strict
def measured(s, at, w, v):
    """Write means and deviations. A relative that was the same in a whole window has none, to the last bit."""
    before = (at - w) % s.logs.shape[0]
    for k in range(s.mu.shape[0]):
        still = s.runs[at, k] >= w
        s.mu[k] = s.logs[at, k] if still else s.S[v, k] / w
        one = 0.0 if s.runs[before, k] >= w else spread(s.Z[v, k], s.Z2[v, k], w)
        two = 0.0 if still else spread(s.S[v, k], s.S2[v, k], w)
        s.one[k] = 1.0 / (one * (w - 1.0)) if one > 0.0 else 0.0
        s.two[k] = 1.0 / two if two > 0.0 else 0.0
    for k in range(s.mu.shape[0]):
        s.neg[k] = max(0.0, -(s.C[v, k, k] - s.Z[v, k] * s.S[v, k] / w) * s.one[k] * s.two[k])


def claims(C, z, S, two, mu, neg, mine, own, first, last, row):
    """Write what asset i owes each asset from `first` to `last`, and return the sum; z and mine are of i."""
    total = 0.0
    for j in range(first, last):
        cor = (C[j] - z * S[j]) * own * two[j]
        due = cor + neg[j] + mine[1] if (cor > 0.0) & (mine[0] >= mu[j]) else 0.0
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
    m = s.mu.shape[0]
    b = s.B[v]
    for k in range(m):
        s.gets[k] = 0.0
    for i in range(m):
        if b[i] > 0.0 and s.one[i] > 0.0:
            mine = (s.mu[i], s.neg[i])
            given = (s.C[v, i], s.Z[v, i] / w, s.S[v], s.two, s.mu, s.neg, mine, s.one[i])
            due = claims(*given, 0, i, s.row) + claims(*given, i + 1, m, s.row)
            if due > 0.0:
                s.row[i] = 0.0
                passed(s.row, b[i] / due, s.gets)
                b[i] = 0.0
    for k in range(m):
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
    """Anti-correlation: wealth goes from asset i to j where i did at least as well in the last window and cor(i before, j last) > 0.

    The claim is cor(i, j) + [-cor(i, i)]+ + [-cor(j, j)]+, with correlations of log relatives between the window before the last and
    the last; i gives all it has, in shares of the claims on it. All lengths w = 2, ..., W run from equal shares and are never
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
    cite = "borodin2004anticor"
    State = State
    Params = Params
    sizes = sizes
    start = start
    after = after_anticor
