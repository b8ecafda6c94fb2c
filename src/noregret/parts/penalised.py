"""Weights that a penalty without a shorter way acts on in every round, all of them."""

from __future__ import annotations

from typing import Any, NamedTuple

from numpy import ndarray

from ..spaces.sparse import shrink
from ..spaces.weights import add, dot, scores
from .proximal import prox


class Eager(NamedTuple):
    """Weights u, and the penalty."""

    u: ndarray
    penalty: Any

    def primal(self) -> ndarray:
        """Return the weights."""
        return self.u


@dot.on(Eager)
def _(w, x):
    return dot(w.u, x)


@add.on(Eager)
def _(w, a, x):
    add(w.u, a, x)


@scores.on(Eager)
def _(w, x, out):
    scores(w.u, x, out)


@shrink.on(Eager)
def _(w, a):
    prox(w.penalty, w.u, a)
