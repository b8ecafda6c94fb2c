"""Passive-aggressive one-class learning: track the centre of a ball that should hold all rows.

Crammer, Dekel, Keshet, Shalev-Shwartz, Singer (2006), *Online passive-aggressive algorithms*, JMLR 7:551-585, section 8.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, NamedTuple

import numpy as np

from ..algorithm.bounds import Bound
from ..algorithm.params import Choice, NonNegative, Optional, Positive
from ..algorithm.state import Measured, Number
from ..engine.words import word
from ..spaces.examples import importance
from ..spaces.weights import Normed, add, dot, norm2, scale, sqnorm
from ..tasks.one_class import OneClass
from .passive_aggressive import Capped, Hard, Soft, tau

ROUNDINGS = 16.0  # of |x|^2, |w|^2 and radius^2: by how much |x - w|^2 may be off, which is small where they are not


class Params(NamedTuple):
    """PA uniclass."""

    variant: Annotated[Any, Choice({"pa": Hard, "pa1": Capped, "pa2": Soft})] = "pa1"
    C: Positive = 1.0
    epsilon: NonNegative = 1.0
    B: Optional = None


class State(NamedTuple):
    """The centre, and the coordinate that holds what is left of B when the radius is learned."""

    w: Measured
    z: Number


def start(s, p):
    """Start with radius 0 when it is learned."""
    s.z[0] = p.B


def distance2(s, x):
    """Return |x - w|^2."""
    return max(0.0, norm2(s.w, x) - 2.0 * dot(s.w, x) + sqnorm(s.w))


@word
def spacing(w):
    """Return the distance from 1 to the next number of the kind in which w is kept."""


@spacing.on(object)
def spacing_of_doubles(w):
    return 2.0**-52


@spacing.on(Normed)
def spacing_of_cells(w):
    return float(np.finfo(w.u.dtype).eps)


def score(s, x, p):
    """Return how far inside the ball x is, 0 for a row on the border up to rounding."""
    reach = p.B if p.B > 0.0 else p.epsilon
    far2, z2, reach2 = distance2(s, x), s.z[0] * s.z[0], reach * reach
    if abs(far2 + z2 - reach2) <= ROUNDINGS * spacing(s.w) * (norm2(s.w, x) + sqnorm(s.w) + reach2):
        return 0.0
    return math.sqrt(max(0.0, reach2 - z2)) - math.sqrt(far2)


def step(s, x, y, p):
    """Do w += tau (x - w)/|x - w| when x is outside."""
    f = score(s, x, p)
    far = math.sqrt(distance2(s, x) + s.z[0] * s.z[0])
    loss = far - (p.B if p.B > 0.0 else p.epsilon)
    if loss > 0.0:
        a = tau(p.variant, loss, 1.0, importance(x)) / far
        scale(s.w, 1.0 - a)
        add(s.w, a, x)
        s.z[0] *= 1.0 - a
        return f, True
    return f, False


class PAUniclass(OneClass):
    """PA one-class: the centre w moves towards rows outside the ball of radius epsilon, by the distance (or at most C).

    With l = max(0, |x - w| - epsilon): w += tau (x - w)/|x - w|, tau = l ("pa"), min(C, l) ("pa1"), l/(1 + 1/(2C)) ("pa2").
    The decision value is radius - |x - w|; a row is an inlier from 0 on. The border is inside: "pa" puts every row it moves to
    there, and the value is 0 where |x - w|^2 and radius^2 differ by at most 16 roundings of |x|^2 + |w|^2 + radius^2 in the `dtype`
    of the weights. The zero row is a point like any other.

    Parameters: `variant`, `C` > 0, `epsilon` >= 0; or `B` > 0, an upper bound on a radius that is learned (sqrt(B^2 - z^2), growing
    from 0). A sample weight multiplies C.

    Bound ("pa"), when u is within epsilon of every row: sum l^2 <= |u|^2.

    Crammer et al. (2006), section 8.

    >>> X = [[1, 2, 0], [0.9, 2.1, 0], [1.1, 1.9, 0.1]]
    >>> m = PAUniclass(epsilon=0.5).fit(X, epochs=5)
    >>> m.predict([[1, 2, 0], [4, -2, 1]]).tolist()
    [1, -1]
    """

    name = "pa_uniclass"
    cite = "crammer2006"
    State, Params, step, score_row, start = State, Params, step, score, start
    without = ("fit_intercept",)
    bound = Bound(
        "Crammer et al. 2006, section 8",
        "squared_outside",
        lambda t, p: t.u2 if isinstance(p.variant, Hard) and p.B == 0.0 else math.inf,
    )

    @property
    def radius_(self) -> float:
        """The radius of the ball: epsilon, or as far as it has been learned."""
        s, p = self.model.state, self.model.params
        return float(math.sqrt(max(0.0, p.B**2 - float(s.z[0]) ** 2)) if p.B > 0.0 else p.epsilon)
