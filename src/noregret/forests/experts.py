"""The node as an expert: it counts the labels of its rows, or keeps the mean of their targets, and predicts from that."""

from __future__ import annotations

from typing import NamedTuple

from ..engine.elementary import log
from ..engine.words import strict, word
from .nodes import HEAD, N


class Counts(NamedTuple):
    """Counts of labels of K classes, alpha more of each than were met; `columns` of them are kept. eta is the rate of learning."""

    eta: float
    alpha: float
    K: int
    columns: int


class Means(NamedTuple):
    """Mean and sum of squared deviations of targets."""

    eta: float
    q: float  # the noise
    K: int


class Spreads(NamedTuple):
    """As Means, for an answer of two numbers: the mean and the second moment."""

    eta: float
    q: float
    K: int


@word
def charge(e, r, y):
    """Return the loss of the prediction of node r for y."""


@word
def tell(e, r, y, w):
    """Count a row of weight w in node r."""


@strict
@word
def fade(e, r, gamma):
    """Let what node r knows count less."""


@word
def is_pure(e, r, y):
    """Return whether all rows of node r have the label y."""


@strict
@word
def blend(e, r, a, out):
    """Add the prediction of node r to an answer, with weight a."""


@word
def billed(e, f, y):
    """Return the loss of an answer f, infinite for a class that it does not know."""


# ---- labels ----------------------------------------------------------------------------------------------------------
@charge.on(Counts)
def charge_counts(e, r, y):
    return log((r[N] + e.alpha * e.K) / (r[HEAD + y] + e.alpha))


@tell.on(Counts)
def tell_counts(e, r, y, w):
    r[N] += w
    r[HEAD + y] += w


@fade.on(Counts)
def fade_counts(e, r, gamma):
    r[N] *= gamma
    for k in range(e.columns):
        r[HEAD + k] *= gamma


@is_pure.on(Counts)
def is_pure_counts(e, r, y):
    return r[HEAD + y] == r[N]


@blend.on(Counts)
def blend_counts(e, r, a, out):
    c = a / (r[N] + e.alpha * e.K)
    for k in range(e.columns):
        out[k] += c * (r[HEAD + k] + e.alpha)


@billed.on(Counts)
def billed_counts(e, f, y):
    return -log(f[y])


# ---- targets ---------------------------------------------------------------------------------------------------------
@charge.on(Means)
def charge_means(e, r, y):
    return 0.5 * (r[HEAD] - y) * (r[HEAD] - y)


@tell.on(Means)
def tell_means(e, r, y, w):
    r[N] += w
    off = y - r[HEAD]
    r[HEAD] += off * (w / r[N])  # w/n is 1 for the first row, whose target becomes the mean exactly
    r[HEAD + 1] += w * off * (y - r[HEAD])


@fade.on(Means)
def fade_means(e, r, gamma):
    r[N] *= gamma
    r[HEAD + 1] *= gamma


@is_pure.on(Means)
def is_pure_means(e, r, y):
    return False


@blend.on(Means)
def blend_means(e, r, a, out):
    out[0] += a * r[HEAD]


@blend.on(Spreads)
def blend_spreads(e, r, a, out):
    out[0] += a * r[HEAD]
    out[1] += a * ((r[HEAD + 1] + e.q) / (r[N] + 1.0) + r[HEAD] * r[HEAD])


@billed.on(Means)
def billed_means(e, f, y):
    return 0.5 * (f[0] - y) * (f[0] - y)
