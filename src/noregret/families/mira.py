"""MIRA: the smallest step that undoes a mistake, capped; with many classes a small quadratic programme.

Crammer, Singer (2003), *Ultraconservative online algorithms for multiclass problems*, JMLR 3:951-991.
"""

from __future__ import annotations

from typing import NamedTuple

from ..algorithm.rounds import best
from ..algorithm.state import Measured
from ..engine.words import strict
from ..spaces.examples import importance
from ..spaces.weights import add, dot, norm2, spread, sqnorm
from ..tasks.classification import Classifier


class Params(NamedTuple):
    """None."""


class State(NamedTuple):
    """Weights; their norm tells whether anything has been learned."""

    w: Measured


def step(s, x, y, p):
    """Do w += min(1, -y f/|x|^2) y x on a mistake; a whole step from w = 0, where every margin is 0."""
    f = dot(s.w, x)
    n2 = norm2(s.w, x)
    if n2 == 0.0:
        return f, False
    cap = importance(x)
    tau = cap if sqnorm(s.w) == 0.0 else min(cap, -y * f / n2)
    if tau > 0.0:
        add(s.w, tau * y, x)
        return f, True
    return f, False


@strict
def lower(f, y, n2, theta, base, count):
    """Return the next theta: the balance point if the classes above the present one are those to be lowered."""
    for c in range(f.shape[0]):
        if c != y and f[c] / n2 > theta:
            base += f[c] / n2
            count += 1.0
    return base / count if count > 0.0 else theta


def share(s, f, y, p, tau, x):
    """Do w_c += tau_c x with tau_c = min(cap 1[c = y], theta - f_c/|x|^2), theta such that they sum to 0.

    Newton's method on a concave increasing function, from the left: it stops after at most K steps.
    """
    n2 = norm2(s.w, x)
    if n2 == 0.0:
        return False
    cap = importance(x)
    if sqnorm(s.w) == 0.0:
        tau[y] = cap
        tau[best(f, y)] = -cap
        spread(s.w, tau, x)
        return True
    theta = f[y] / n2
    for _ in range(f.shape[0]):
        theta = lower(f, y, n2, theta, f[y] / n2, 1.0)
    if theta - f[y] / n2 > cap:
        for _ in range(f.shape[0]):
            theta = lower(f, y, n2, theta, -cap, 0.0)
    if theta <= f[y] / n2:
        return False
    for c in range(f.shape[0]):
        tau[c] = min(cap if c == y else 0.0, theta - f[c] / n2)
    spread(s.w, tau, x)
    return True


class MIRA(Classifier):
    """MIRA, the margin infused relaxed algorithm in its first form: steps reach margin 0, not 1.

    Two classes: w += min(1, max(0, -y f/|x|^2)) y x. More: the tau that minimise |x|^2 sum tau_c^2 / 2 + sum tau_c f_c with
    tau_c <= 1[c = y] and sum tau_c = 0; then w_c += tau_c x. From w = 0, where every step would be 0, one Perceptron step. A
    sample weight multiplies the cap 1.

    Pitfalls: what later work calls MIRA (margin 1, step at most C) is PA-I. There is no mistake bound: separable streams exist on
    which it errs for ever; M <= 8 R^2/margin^2 circulates and is false. The sum of the steps is bounded, by R/margin.

    Crammer, Singer (2003), figure 5.

    >>> X, y = [[1, 2, 0], [0.5, -1, 1], [-1, 0.5, 2], [2, 1, -1]], [1, -1, 1, -1]
    >>> MIRA(fit_intercept=False).fit(X, y).coef_.round(3).tolist()
    [[-0.333, 1.333, 0.667]]
    """

    name = "mira"
    cite = "crammer2003"
    State, Params, step, share = State, Params, step, share
