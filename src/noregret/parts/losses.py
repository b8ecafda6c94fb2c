"""Losses (A.2): `value(loss, f, y)` and its derivative in the score, `slope(loss, f, y)`.

Labels are -1 and +1, or real targets. The square loss has no 1/2; the log loss is in nats.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, NamedTuple

from ..algorithm.params import Choice, NonNegative
from ..engine.elementary import exp, log1p
from ..engine.words import strict, word


class Hinge(NamedTuple):
    """max(0, 1 - y f)."""


class SquaredHinge(NamedTuple):
    """max(0, 1 - y f)^2."""


class Log(NamedTuple):
    """ln(1 + exp(-y f))."""


class Exponential(NamedTuple):
    """exp(-y f), the exponent cut at 500."""


class PerceptronLoss(NamedTuple):
    """max(0, -y f), moving at f = 0 too: with it a gradient step is a Perceptron step."""


class Square(NamedTuple):
    """(f - y)^2."""


class Absolute(NamedTuple):
    """|f - y|."""


class EpsilonInsensitive(NamedTuple):
    """max(0, |f - y| - epsilon)."""

    epsilon: NonNegative = 0.1


class SquaredEpsilonInsensitive(NamedTuple):
    """max(0, |f - y| - epsilon)^2."""

    epsilon: NonNegative = 0.1


@word
def value(loss, f, y):
    """Return the loss of score f when the truth is y."""


@word
def slope(loss, f, y):
    """Return the derivative of the loss in the score f."""


@value.on(Hinge)
def _(loss, f, y):
    return max(0.0, 1.0 - y * f)


@slope.on(Hinge)
def _(loss, f, y):
    return -y if y * f < 1.0 else 0.0


@value.on(SquaredHinge)
def _(loss, f, y):
    return max(0.0, 1.0 - y * f) ** 2


@slope.on(SquaredHinge)
def _(loss, f, y):
    return -2.0 * y * max(0.0, 1.0 - y * f)


@value.on(Log)
def _(loss, f, y):
    return max(0.0, -y * f) + log1p(exp(-abs(f)))


@slope.on(Log)
def _(loss, f, y):
    m = y * f
    return -y / (1.0 + exp(m)) if m < 0.0 else -y * exp(-m) / (1.0 + exp(-m))


@value.on(Exponential)
def _(loss, f, y):
    return exp(min(500.0, -y * f))


@slope.on(Exponential)
def _(loss, f, y):
    return -y * exp(min(500.0, -y * f))


@value.on(PerceptronLoss)
def _(loss, f, y):
    return max(0.0, -y * f)


@slope.on(PerceptronLoss)
def _(loss, f, y):
    return -y if y * f <= 0.0 else 0.0


@value.on(Square)
def _(loss, f, y):
    return (f - y) * (f - y)


@slope.on(Square)
def _(loss, f, y):
    return 2.0 * (f - y)


@value.on(Absolute)
def _(loss, f, y):
    return abs(f - y)


@slope.on(Absolute)
def _(loss, f, y):
    return math.copysign(1.0, f - y) if f != y else 0.0


@value.on(EpsilonInsensitive)
def _(loss, f, y):
    return max(0.0, abs(f - y) - loss.epsilon)


@slope.on(EpsilonInsensitive)
def _(loss, f, y):
    return math.copysign(1.0, f - y) if abs(f - y) > loss.epsilon else 0.0


@value.on(SquaredEpsilonInsensitive)
def _(loss, f, y):
    return max(0.0, abs(f - y) - loss.epsilon) ** 2


@slope.on(SquaredEpsilonInsensitive)
def _(loss, f, y):
    return 2.0 * math.copysign(max(0.0, abs(f - y) - loss.epsilon), f - y)


def steep(loss, f, y):
    """Return the slope, cut at 1e12 either way: a step that overshoots again and again must not run to infinity."""
    return min(1e12, max(-1e12, slope(loss, f, y)))


@strict
def softmax_slopes(f, y, g):
    """Fill g with the derivatives of -f_y + ln sum_r exp(f_r), the log loss of many classes: softmax_r - 1[r = y]."""
    top, total = f[0], 0.0
    for c in range(f.shape[0]):
        top = max(top, f[c])
    for c in range(f.shape[0]):
        g[c] = exp(f[c] - top)
        total += g[c]
    for c in range(f.shape[0]):
        g[c] = g[c] / total - (1.0 if c == y else 0.0)


CLASSIFICATION = {
    "hinge": Hinge,
    "squared_hinge": SquaredHinge,
    "log": Log,
    "exponential": Exponential,
    "perceptron": PerceptronLoss,
}
REGRESSION = {
    "square": Square,
    "absolute": Absolute,
    "epsilon_insensitive": EpsilonInsensitive,
    "squared_epsilon_insensitive": SquaredEpsilonInsensitive,
}
ClassLoss = Annotated[Any, Choice(CLASSIFICATION)]
RealLoss = Annotated[Any, Choice(REGRESSION)]
