"""Weights under a penalty that has no lazy form: it acts on all of them in every round."""

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
def dot_eager(w, x):
    return dot(w.u, x)


@add.on(Eager)
def add_eager(w, a, x):
    add(w.u, a, x)


@scores.on(Eager)
def scores_eager(w, x, out):
    scores(w.u, x, out)


@shrink.on(Eager)
def shrink_eager(w, a):
    prox(w.penalty, w.u, a)
