"""All prunings of a tree, weighed by their losses: context-tree weighting (Willems, Shtarkov, Tjalkens 1995)."""

from __future__ import annotations

import math

from ..engine.elementary import LN2, exp, log, log1p
from ..engine.words import rare, strict
from .experts import blend, charge
from .nodes import LEFT, LOSS, PARENT, RIGHT, WEIGHT, WORST, child, is_leaf


def weigh(e, g, m, v):
    """Set the log weight of the subtree at v, given those of its children."""
    own = -e.eta * g.R[m, v, LOSS]
    if is_leaf(g, m, v):
        g.R[m, v, WEIGHT] = own
    else:
        below = g.R[m, g.L[m, v, LEFT], WEIGHT] + g.R[m, g.L[m, v, RIGHT], WEIGHT]
        g.R[m, v, WEIGHT] = max(own, below) + log1p(exp(-abs(own - below))) - LN2


def trust(e, g, m, v):
    """Return the share of the answer that is the node's own; the rest is that of its child."""
    return min(0.5 * exp(-e.eta * g.R[m, v, LOSS] - g.R[m, v, WEIGHT]), 1.0)


@strict
def answer(e, g, m, x, out):
    """Write the answer of a tree."""
    out[:] = 0.0
    v, rest = 0, 1.0
    while not is_leaf(g, m, v):
        a = trust(e, g, m, v)
        blend(e, g.R[m, v], rest * a, out)
        rest *= 1.0 - a
        v = child(g, m, v, x)
    blend(e, g.R[m, v], rest, out)


@strict
def answers(e, g, x, said, out):
    """Write the answer of each tree, and their mean."""
    out[:] = 0.0
    for m in range(said.shape[0]):
        answer(e, g, m, x, said[m])
        for k in range(out.shape[0]):
            out[k] += said[m, k]
    for k in range(out.shape[0]):
        out[k] /= said.shape[0]


@strict
def log_likelihood(e, g, m, v, x, y):
    """Return the logarithm of what y multiplies the weight of the subtree at v by, as long as nothing is cut.

    That is the sum over the path of share e^(-eta loss), taken in units of its largest power so far.
    """
    if is_leaf(g, m, v):
        return -e.eta * charge(e, g.R[m, v], y)
    total, most, rest = 0.0, -math.inf, 1.0
    while True:
        loss = charge(e, g.R[m, v], y)
        g.ledger[m, WORST] = max(g.ledger[m, WORST], loss)
        a = 1.0 if is_leaf(g, m, v) else trust(e, g, m, v)
        if rest * a > 0.0:
            power = -e.eta * loss
            total = total * exp(min(most - power, 0.0)) + rest * a * exp(min(power - most, 0.0))
            most = max(most, power)
        if is_leaf(g, m, v):
            return most + log(total)
        rest *= 1.0 - a
        v = child(g, m, v, x)


@rare
@strict
def renew(e, g, m):
    """Compute all weights of a tree again, children first; the way back is by the parents, so that no depth is too deep."""
    v = leftmost(g, m, 0)
    while True:
        weigh(e, g, m, v)
        if v == 0:
            return
        u = g.L[m, v, PARENT]
        v = leftmost(g, m, g.L[m, u, RIGHT]) if v == g.L[m, u, LEFT] else u


@strict
def leftmost(g, m, v):
    """Return the leaf that is reached by going left."""
    while not is_leaf(g, m, v):
        v = g.L[m, v, LEFT]
    return v
