"""Rounds: what the drivers do around a step. Which rival a multiclass example is set against, and the tally of a run."""

from __future__ import annotations

from typing import NamedTuple

from numpy import ndarray

from .words import word

AS_WRITTEN = True  # formulas alone: no loop over features would gain from reassociation

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


@word
def rival(cost, f, y):
    """Return the class to tell y from, y itself for none."""


@word
def asked(cost, y, r):
    """Return the margin asked for between y and r."""


def best(f, skip):
    """Return the class with the highest score, the lowest on ties, leaving `skip` out; -1 if there is none."""
    r = -1
    for c in range(f.shape[0]):
        if c != skip and (r < 0 or f[c] > f[r]):
            r = c
    return r


@rival.on(UnitCost)
def _(cost, f, y):
    return best(f, y)


@rival.on(ByPrediction)
def _(cost, f, y):
    return best(f, -1)


@rival.on(MaxLoss)
def _(cost, f, y):
    r = 0
    for c in range(f.shape[0]):
        if f[c] + cost.M[y, c] > f[r] + cost.M[y, r]:
            r = c
    return r


@asked.on(UnitCost)
def _(cost, y, r):
    return 1.0


@asked.on(ByPrediction)
def _(cost, y, r):
    return cost.M[y, r]


@asked.on(MaxLoss)
def _(cost, y, r):
    return cost.M[y, r]


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
