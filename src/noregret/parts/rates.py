"""Step sizes: `rate(schedule, t)` for round t = 1, 2, ..."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

from ..algorithm.params import Choice
from ..engine.words import word


class Constant(NamedTuple):
    """eta."""

    eta: float = 1.0
    steady = True  # restarting changes nothing


class InvSqrt(NamedTuple):
    """eta / sqrt(t)."""

    eta: float = 1.0


class InvT(NamedTuple):
    """eta / t: for H-strongly convex losses, with eta = 1/H."""

    eta: float = 1.0


@word
def rate(schedule, t):
    """Return the step size of round t."""


@rate.on(Constant)
def rate_constant(schedule, t):
    return schedule.eta


@rate.on(InvSqrt)
def rate_inv_sqrt(schedule, t):
    return schedule.eta / math.sqrt(t)


@rate.on(InvT)
def rate_inv_t(schedule, t):
    return schedule.eta / t


@functools.cache
def custom(fn: Callable[[float], float]) -> tuple[()]:
    """Return the user's own schedule: a function of t."""

    class Custom(NamedTuple):
        """A function of t."""

    rate.on(Custom)(lambda schedule, t: fn(t))
    return Custom()


Rate = Annotated[Any, Choice({"constant": Constant, "inv_sqrt": InvSqrt, "inv_t": InvT}, custom)]
