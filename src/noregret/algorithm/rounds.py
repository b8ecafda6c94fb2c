"""Rounds: what the drivers do around a step. Which rival a multiclass example is set against, and the tally of a run."""

from __future__ import annotations

from typing import Any, NamedTuple

from numpy import ndarray

from ..engine.words import word
from ..spaces.examples import Weighted

SEEN, EXAMPLES, UPDATES, MISTAKES, TIE = range(5)  # cells of a tally


# ---- costs (C.4) -----------------------------------------------------------------------------------------------------
class UnitCost(NamedTuple):
    """All confusions are alike: the best rival, margin 1."""


class MaxLoss(NamedTuple):
    """The class with the largest loss; M[y, r] is the margin asked for between y and r."""

    M: ndarray


class ByPrediction(NamedTuple):
    """The class predicted, with margin M[y, r]; nothing to learn when it is the true one."""

    M: ndarray


class Priced(NamedTuple):
    """A row for all classes, with what their confusions cost."""

    x: Any
    cost: Any


@word
def rival(cost, s, p, f, y, x):
    """Return the class to tell y from, y itself for none; s, p and x are for costs whose unit is the learner's own."""


@word
def asked(cost, y, r):
    """Return the margin asked for between y and r."""


@word
def price(c, f, y, x):
    """Return what class c, learned against the rest, pays for a mistake on a row of class y; 0: nothing to learn from it."""


def best(f, skip):
    """Return the class with the highest score, the lowest on ties, leaving `skip` out; -1 if there is none."""
    r = -1
    for c in range(f.shape[0]):
        if c != skip and (r < 0 or f[c] > f[r]):
            r = c
    return r


def furthest(M, f, y, u):
    """Return the class that lacks most of the margin M[y, r] u, among those whose confusion costs anything; y if none does."""
    r = y
    for c in range(f.shape[0]):
        if M[y, c] > 0.0 and (r == y or f[c] - f[r] > u * (M[y, r] - M[y, c])):
            r = c
    return r


@rival.on(UnitCost)
def _(cost, s, p, f, y, x):
    return best(f, y)


@rival.on(ByPrediction)
def _(cost, s, p, f, y, x):
    return best(f, -1)


@rival.on(MaxLoss)
def _(cost, s, p, f, y, x):
    r = 0
    for c in range(f.shape[0]):
        if f[c] + cost.M[y, c] > f[r] + cost.M[y, r]:
            r = c
    return r


@asked.on(UnitCost)
def _(cost, y, r):
    return 1.0


@asked.on(object)
def _(cost, y, r):
    return cost.M[y, r]


@price.on(object)
def _(c, f, y, x):
    return 1.0


@price.on(object, object, object, Weighted)
def _(c, f, y, x):
    return price(c, f, y, x.x)


@price.on(object, object, object, Priced)
def _(c, f, y, x):
    return paid(x.cost, c, f, y)


@word
def paid(cost, c, f, y):
    """Return the price of class c: a false alarm is the confusion of y with c, a miss that of y with its best rival."""


@paid.on(MaxLoss)
def _(cost, c, f, y):
    if f.shape[0] == 1:
        return 1.0  # as confusions with classes not yet known
    return cost.M[y, furthest(cost.M, f, y, 0.0) if c == y else c]


@paid.on(ByPrediction)
def _(cost, c, f, y):
    r = best(f, -1)
    return cost.M[y, r] if c in (y, r) else 0.0


# ---- the tally -------------------------------------------------------------------------------------------------------
def count(tally, wrong, moved):
    """Note a round."""
    tally[EXAMPLES] += 1
    if moved:
        tally[UPDATES] += 1
    if wrong:
        tally[MISTAKES] += 1


def wrong_sign(tally, f, y):
    """Return whether the answer to a round of two classes is wrong, and note which labels have been seen (bits 1 and 2).

    Before any label is known there is no answer, and that is wrong; while only one is known, it is the answer.
    """
    mine = 1 if y > 0.0 else 2
    seen = tally[SEEN]
    tally[SEEN] = seen | mine
    if seen != 3:
        return seen != mine
    return y * tally[TIE] < 0.0 if f == 0.0 else f * y < 0.0


def wrong_class(tally, f, y):
    """Return whether the answer to a round of many classes is wrong, and note how many classes have been seen."""
    seen = tally[SEEN]
    tally[SEEN] = max(seen, y + 1)
    return best(f[:seen], -1) != y
