"""Voted weights: learn with the last vector, answer by the vote of all of them (Freund, Schapire 1999).

The vectors are prefix sums of the examples added, so only those are kept, as ragged sparse rows: memory and the cost of an
answer grow with the non-zeros of the rounds that moved w. A multiplier common to a prefix does not change a vote.

An expansion already keeps the examples in the order of their addition, so it only remembers the votes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy import ndarray

from ..engine.words import word
from .examples import Block, Pair, item, nnz
from .expansion import all_answers, dropping, first_out, one_answer, passing, starting
from .weights import add, answer, answers, dot, far, fold, rescale, scale, scores, tick


class Voted(NamedTuple):
    """w = c u, and every vector it ever was."""

    u: ndarray
    c: ndarray
    idx: ndarray  # (cell,) coordinates of the kept rows, one row after the other
    val: ndarray  # (cell,) their values
    end: ndarray  # (slot,) where each row ends
    alpha: ndarray  # (slot, class) its coefficients
    votes: ndarray  # (slot,) rounds survived by the vector it made
    size: ndarray  # rows kept, cells used
    z: ndarray  # (feature,) scratch: the current row, dense
    g: ndarray  # (class,) scratch: the scores of one vector

    holds = "kept rows"

    def left(self) -> tuple[float, float]:
        """Return how many rows and how many cells there is room for."""
        return len(self.end) - int(self.size[0]), len(self.idx) - int(self.size[1])

    def stored_cells(self, cells: ndarray) -> ndarray:
        """Return the running numbers of cells of rows as they are stored."""
        return cells

    def enlarged(self, dims: dict[str, int], free: float, room: float, cells: int) -> dict[str, int]:
        """Return the sizes that have room for another row of `cells` cells."""
        sizes, used = {"slot": max(64, 2 * dims["slot"])}, dims["cell"] - int(room)
        if 2 * (used + cells) > dims["cell"]:
            sizes["cell"] = max(1024, 2 * dims["cell"], used + cells)
        return sizes

    def settle(self) -> None:
        """Put the multiplier in."""
        self.u[:] = self.c[0] * self.u
        self.alpha[:] = self.c[0] * self.alpha
        self.c[0] = 1.0

    def sound(self, dims: dict[str, int]) -> bool:
        """Return whether compiled code that trusts these rows stays inside the arrays."""
        n, used = self.size.tolist()
        if not (0 <= n <= dims["slot"] and 0 <= used <= dims["cell"]):
            return False
        ends = np.concatenate([[0], self.end[:n], [used]])
        return bool((np.diff(ends) >= 0).all() and (self.idx[:used] < dims["feature"]).all())


@word
def keep(w, a, x):
    """Append the row under x with coefficient a."""


@keep.on(Voted)
def keep_voted(w, a, x):
    n = w.size[1]
    for k in range(nnz(x)):
        j, v = item(x, k)
        w.idx[n + k] = j
        w.val[n + k] = v
    i = w.size[0]
    w.end[i] = n + nnz(x)
    w.alpha[i, :] = 0.0
    w.alpha[i, 0] = a
    w.votes[i] = 0
    w.size[0] += 1
    w.size[1] = w.end[i]


@keep.on(Voted, object, Block)
def keep_voted_block(w, a, x):
    keep(w, 0.0, x.x)
    w.alpha[w.size[0] - 1, x.c] = a


@keep.on(Voted, object, Pair)
def keep_voted_pair(w, a, x):
    keep(w, 0.0, x.x)
    w.alpha[w.size[0] - 1, x.a] = a
    w.alpha[w.size[0] - 1, x.b] = -a


@dot.on(Voted)
def dot_voted(w, x):
    return w.c[0] * dot(w.u, x)


@scores.on(Voted)
def scores_voted(w, x, out):
    scores(w.u, x, out)
    rescale(out, w.c[0])


@add.on(Voted)
def add_voted(w, a, x):
    add(w.u, a / w.c[0], x)
    keep(w, a / w.c[0], x)


@scale.on(Voted)
def scale_voted(w, c):
    w.c[0] *= c
    if far(w.c[0]):
        for i in range(w.size[0]):
            for k in range(w.alpha.shape[1]):
                w.alpha[i, k] *= w.c[0]
        fold(w.u, w.c)


@tick.on(Voted)
def tick_voted(w):
    if w.size[0] > 0:
        w.votes[w.size[0] - 1] += 1


def lay_out(w, x):
    """Write the row densely into z."""
    for k in range(nnz(x)):
        j, v = item(x, k)
        w.z[j] = v


def clear(w, x):
    """Undo lay_out."""
    for k in range(nnz(x)):
        j, _ = item(x, k)
        w.z[j] = 0.0


def meet(w, i):
    """Return <kept row i, current row>."""
    f = 0.0
    for k in range(w.end[i - 1] if i > 0 else 0, w.end[i]):
        f += w.val[k] * w.z[w.idx[k]]
    return f


@answer.on(Voted)
def answer_voted(w, x):
    lay_out(w, x)
    f, total = 0.0, 0.0
    for i in range(w.size[0]):
        f += w.alpha[i, 0] * meet(w, i)
        total += w.votes[i] if f >= 0.0 else -w.votes[i]
    clear(w, x)
    return total


@answers.on(Voted)
def answers_voted(w, x, out):
    lay_out(w, x)
    w.g[:] = 0.0
    out[:] = 0.0
    for i in range(w.size[0]):
        f = meet(w, i)
        best = 0
        for c in range(out.shape[0]):
            w.g[c] += w.alpha[i, c] * f
            if w.g[c] > w.g[best]:
                best = c
        out[best] += w.votes[i]
    clear(w, x)


# ---- in the space of a kernel ----------------------------------------------------------------------------------------
class Votes(NamedTuple):
    """What an expansion remembers for a vote. Only its newest vector may change or be removed."""

    votes: ndarray  # (slot,) rounds survived by the prefix that ends with each vector


@starting.on(Votes)
def starting_votes(past, k, i, a):
    past.votes[i] = 0


@passing.on(Votes)
def passing_votes(past, w):
    if w.size[0] > 0:
        past.votes[w.size[0] - 1] += 1


@first_out.on(Votes)
def first_out_votes(past, w):
    return w.size[0] - 1  # what is left is the run of a smaller budget that stops


@dropping.on(Votes)
def dropping_votes(past, w, r):
    if r > 0:
        past.votes[r - 1] += past.votes[r]


@one_answer.on(Votes)
def one_answer_votes(past, w):
    f, total = 0.0, 0.0
    for i in range(w.size[0]):
        f += w.alpha[0, i] * w.kx[i]
        total += past.votes[i] if f >= 0.0 else -past.votes[i]
    return total


@all_answers.on(Votes)
def all_answers_votes(past, w, out):
    g = w.u  # free until a row is added
    g[:] = 0.0
    out[:] = 0.0
    for i in range(w.size[0]):
        best = 0
        for c in range(out.shape[0]):
            g[c] += w.alpha[c, i] * w.kx[i]
            if g[c] > g[best]:
                best = c
        out[best] += past.votes[i]
