"""What all strategies share: holdings, their drift over a day, costs, wealth, and the relatives that are refused."""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from ..algorithm.params import Choice, Range
from ..algorithm.state import Number, Slot
from ..allocations.allocator import Allocator
from ..engine.elementary import exp, log
from ..engine.words import strict
from ..parts.projections import onto_simplex
from .prices import as_relatives

Asset = Annotated[Any, Slot(("asset",), dtype=np.float64)]
Scratch = Annotated[Any, Slot(("asset",), dtype=np.float64, scratch=True)]
Least = Annotated[Any, Slot((), 1.0, np.float64, merge="min")]
Cost = Annotated[float, Range(0.0, 1.0, "[)")]


class Charged(NamedTuple):
    """The first holdings are bought."""


class Free(NamedTuple):
    """The first holdings are there."""


Entry = Annotated[Any, Choice({"charged": Charged, "free": Free})]


class Book(NamedTuple):
    """The books of a portfolio."""

    b: Asset  # the weights for the next day
    drift: Asset  # what the day before has made of its weights: b x/(b.x)
    log_wealth: Number  # after costs
    growth: Number  # log wealth before costs
    least: Least  # the least relative of a day, over the largest


class Plain(NamedTuple):
    """The parameters of a strategy that has no others."""

    cost: Cost = 0.0
    entry: Entry = "charged"


# ---- a day -----------------------------------------------------------------------------------------------------------
@strict
def settle(a, x, p, w):
    """Hold the weights for a day; return the growth after costs, and the turnover that brought them about."""
    growth, moved, low, high = 0.0, 0.0, x[0], x[0]
    for k in range(x.shape[0]):
        w[k] = a.b[k]
        growth += a.b[k] * x[k]
        moved += abs(a.b[k] - a.drift[k])
        low = min(low, x[k])
        high = max(high, x[k])
    drifted(x, a.b, growth, a.drift)
    return booked(a, p, growth, moved, low / high)


def booked(a, p, growth, moved, least):
    """Write a day into the books; return the growth after costs, and the turnover."""
    left = growth * (1.0 - 0.5 * p.cost * moved)
    a.log_wealth[0] += log(left)
    a.growth[0] += log(growth)
    a.least[0] = min(a.least[0], least)
    return left, moved


@strict
def drifted(x, b, growth, out):
    """Write what a day makes of weights: b x/(b.x)."""
    for k in range(x.shape[0]):
        out[k] = b[k] * x[k] / growth


@strict
def held(b, x):
    """Return b.x."""
    total = 0.0
    for k in range(x.shape[0]):
        total += b[k] * x[k]
    return total


@strict
def normalised(b):
    """Divide by the sum."""
    total = 0.0
    for k in range(b.shape[0]):
        total += b[k]
    for k in range(b.shape[0]):
        b[k] /= total


@strict
def onto_portfolios(b):
    """Project on the simplex. The largest cell becomes 0 first: then nothing is lost, however large the cells are."""
    top = b[0]
    for k in range(b.shape[0]):
        top = max(top, b[k])
    for k in range(b.shape[0]):
        b[k] -= top
    onto_simplex(b, b.shape[0], 1.0)
    normalised(b)


def equal(m: Any) -> Any:
    """Return equal weights."""
    return 1.0 / m.K


def open_book(m: Any) -> None:
    """Write the first weights. With a free entry they are held already."""
    book = m.state.book
    book.b[:] = m.learner.first(m)
    if isinstance(m.params.entry, Free):
        book.drift[:] = book.b


class Strategy(Allocator):
    """A portfolio: weights over assets, learned from price relatives, and what has become of a wealth of 1.

    `cost` is the rate of proportional costs on both sides: a day's growth is multiplied by 1 - cost/2 sum |b - drifted b|.
    """

    task: ClassVar[Any] = "portfolio"
    axis = "asset"
    unit = "day"
    options: ClassVar[dict[str, Any]] = {"missing": None}
    settled: ClassVar[tuple[str, ...]] = ("entry",)
    no_merge = "the days of two portfolios are not one history"
    Book: ClassVar[Any] = Book
    Params: ClassVar[Any] = Plain
    settle = settle
    open_book = staticmethod(open_book)
    first: ClassVar[Any] = staticmethod(equal)  # the weights of the first day, of a new model
    theorem: ClassVar[str] = ""  # what `bound_` is, where there is one

    def refused(self, X: np.ndarray, names: list[str] | None, seen: int) -> np.ndarray:
        """Return relatives, none of which is refused."""
        return as_relatives(X, self.missing, lambda i, k: self.place(i, k, names, seen))

    @property
    def log_wealth_(self) -> float:
        """The logarithm of the wealth."""
        return float(self.model.state.book.log_wealth[0])

    @property
    def wealth_(self) -> float:
        """What has become of a wealth of 1, after costs."""
        return float(exp(self.log_wealth_))

    @property
    def bound_(self) -> float:
        """What the theorem allows the regret in log wealth before costs to be; infinite where there is none."""
        return math.inf
