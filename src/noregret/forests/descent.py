"""A row enters a tree: it goes down from the root, may cut a node on the way, and is counted in every node that it passes."""

from __future__ import annotations

import math

import numpy as np

from ..engine.elementary import log
from ..engine.words import strict
from .chances import CUTS, RACE, chances
from .experts import charge, fade, is_pure, tell
from .nodes import (
    CUT,
    FEATURE,
    GAPS,
    HEAD,
    LEFT,
    LOSS,
    NEVER,
    PARENT,
    RIGHT,
    ROWS,
    TAU,
    WEIGHT,
    WORST,
    child,
    is_leaf,
    limit,
)
from .prunings import log_likelihood, weigh

SURE = 1.000000001  # -ln u >= 1 - u, and rounding is much less than this
TINY = 2.2250738585072014e-308  # a range below this is a point: 1/range would be infinite


@strict
def enter(p, e, g, x, y, w):
    """Learn a row of weight w > 0 in every tree."""
    g.clock[ROWS] += 1
    stretch(p, g, x)
    most = limit(p, g, e.K)
    for m in range(g.R.shape[0]):
        if g.size[m] == 0:
            sow(p, e, g, m, x, y, w)
            g.ends[m] = -1
        else:
            descend(p, e, g, m, x, y, w, g.size[m] + 2 <= most)
    climb(e, g)


@strict
def stretch(p, g, x):
    """Widen the ranges of the columns."""
    for j in range(x.shape[0]):
        if g.clock[ROWS] == 1:
            g.span[0, j] = g.span[1, j] = x[j]
        elif x[j] < g.span[0, j] or x[j] > g.span[1, j]:
            g.span[0, j], g.span[1, j] = min(x[j], g.span[0, j]), max(x[j], g.span[1, j])
            if p.scale:
                scaled(g, j)


@strict
def scaled(g, j):
    """Set 1/range of a column, in every tree that looks at it."""
    width = g.span[1, j] - g.span[0, j]
    for m in range(g.inv.shape[0]):
        g.inv[m, j] = g.mask[m, j] / width if width >= TINY else 0.0


@strict
def sow(p, e, g, m, x, y, w):
    """Make a leaf of one row: the next node of a tree."""
    v = g.size[m]
    r = g.R[m, v]
    r[:] = 0.0
    r[TAU] = NEVER
    lo = HEAD + p.room
    for j in range(x.shape[0]):
        r[lo + j] = r[lo + p.wide + j] = x[j]
    g.L[m, v] = -1
    tell(e, r, y, w)
    g.size[m] += 1


@strict
def descend(p, e, g, m, x, y, w, room):
    """Learn a row in one tree; `room` says whether two nodes may join it."""
    v, depth, birth, lo = 0, 0, 0.0, HEAD + p.room
    while True:
        r = g.R[m, v]
        s = reach(r, lo, lo + p.wide, x, g.inv[m])
        ends = is_leaf(g, m, v)
        before, gained = 0.0, 0.0
        cut = False
        if s > 0.0:
            if room and (p.pure or not is_pure(e, r, y)):
                u, place = chances(p.seed, g.clock[ROWS], m, depth, 0, CUTS)
                T = split_time(u, s, birth, r[TAU])
                cut = r[TAU] > T
                if cut:
                    before, gained = r[WEIGHT], log_likelihood(e, g, m, v, x, y)
                    split(p, e, g, m, v, depth, x, y, w, T, place)
            widen(r, lo, lo + p.wide, x)
        visit(p, e, g, m, r, y, w)
        if cut:
            weigh(e, g, m, v)
            g.ledger[m, GAPS] += max(0.0, r[WEIGHT] - before - gained)
        if cut or ends:
            break
        birth = r[TAU]
        depth += 1
        v = child(g, m, v, x)
    g.ends[m] = v


@strict
def climb(e, g):
    """Weigh the nodes that a row has passed, children first: a step in each tree in turn, as none waits for another."""
    going = True
    while going:
        going = False
        for m in range(g.ends.shape[0]):
            v = g.ends[m]
            if v >= 0:
                weigh(e, g, m, v)
                g.ends[m] = g.L[m, v, PARENT]
                going = True


def split_time(u, s, birth, tau):
    """Return the time at which a row would cut a node; tau where a bound on the logarithm tells that this is not before tau."""
    return birth - log(u) / s if 1.0 - u < s * (tau - birth) * SURE else tau


def visit(p, e, g, m, r, y, w):
    """Charge node r for its prediction, then count the row."""
    if p.fading < 1.0:
        fade(e, r, p.fading)
    loss = charge(e, r, y)
    g.ledger[m, WORST] = max(g.ledger[m, WORST], loss)
    r[LOSS] += w * loss
    tell(e, r, y, w)


def outside(low, high, x):
    """Return how far x is outside an interval."""
    below, above = low - x, x - high
    far = below if below > above else above
    return far if far > 0.0 else 0.0


def reach(r, lo, hi, x, inv):
    """Return how far a row is outside a box, in ranges of the columns."""
    s = 0.0
    for j in range(x.shape[0]):
        s += inv[j] * outside(r[np.uintp(lo + j)], r[np.uintp(hi + j)], x[j])
    return s


@strict
def widen(r, lo, hi, x):
    """Make a box contain a row."""
    for j in range(x.shape[0]):
        a, b = np.uintp(lo + j), np.uintp(hi + j)
        r[a] = x[j] if x[j] < r[a] else r[a]
        r[b] = x[j] if x[j] > r[b] else r[b]


@strict
def race(p, g, m, r, depth, x):
    """Return the column of a cut: by the least of exponential times whose rates are how far the row is outside."""
    best, least = -1, math.inf
    lo = HEAD + p.room
    for j in range(x.shape[0]):
        rate = g.inv[m, j] * outside(r[lo + j], r[lo + p.wide + j], x[j])
        if rate > 0.0:
            u, _ = chances(p.seed, g.clock[ROWS], m, depth, g.keys[j], RACE)
            time = -log(u) / rate
            if best < 0 or time < least or (time == least and g.keys[j] < g.keys[best]):
                best, least = j, time
    return best


@strict
def copied(a, b):
    """Copy a row of numbers."""
    for k in range(a.shape[0]):
        b[k] = a[k]


@strict
def split(p, e, g, m, v, depth, x, y, w, T, place):
    """Cut node v at time T: its past becomes one child, a copy of it, and the row the other."""
    r = g.R[m, v]
    j = race(p, g, m, r, depth, x)
    low, high = r[HEAD + p.room + j], r[HEAD + p.room + p.wide + j]
    right = x[j] > high
    start, end = (high, x[j]) if right else (x[j], low)
    cut = start + place * (end - start)
    if cut >= end:
        cut = start
    old = g.size[m]
    copied(r, g.R[m, old])
    copied(g.L[m, v], g.L[m, old])
    g.L[m, old, PARENT] = v
    if not is_leaf(g, m, old):
        g.L[m, g.L[m, old, LEFT], PARENT] = old
        g.L[m, g.L[m, old, RIGHT], PARENT] = old
    g.size[m] += 1
    sow(p, e, g, m, x, y, w)
    g.L[m, old + 1, PARENT] = v
    r[TAU], r[CUT] = T, cut
    g.L[m, v, FEATURE] = j
    g.L[m, v, LEFT] = old if right else old + 1
    g.L[m, v, RIGHT] = old + 1 if right else old
