"""The loops over rows: answer, then learn, in one walk over the data."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from ..algorithm.rounds import SEEN, count, wrong_class
from ..engine import compiling
from ..engine.words import rare, strict, word
from ..learners.drivers import LAYOUTS, flatten
from ..spaces.examples import Sparse
from .descent import enter
from .experts import Counts, Means, Spreads, billed
from .nodes import NOISE, ODD, OWN, PAID, ROUNDS, ROWS, SQUARES, Grove, Rules, limit
from .prunings import answers, renew

MOST = 1e150  # in size, of a cell: larger ones are taken for this, so that no range is infinite
TEXT = """
@jit
def learn({args}{data}c, y, start, tally, x, said, out):
    g, p = {G}, {P}
    for i in range(start, {n}):
        if crowded(p, g, tally):
            return i
        load({row}, x)
        e = expert(p, g, tally)
        answers(e, g, x, said, out[i])
        if c[i] > 0.0:
            keep_books(e, g, said, out[i], y[i], c[i])
            wrong = heard(p, g, tally, out[i], y[i], c[i])
            enter(p, expert(p, g, tally), g, x, y[i], c[i])
            count(tally, wrong, True)
    return {n}

@jit
def predict({args}{data}tally, x, said, out):
    g, p = {G}, {P}
    e = expert(p, g, tally)
    for i in range({n}):
        load({row}, x)
        answers(e, g, x, said, out[i])
"""


class Manner(NamedTuple):
    """How a task makes experts of nodes, and what it does with a target before the trees learn it."""

    name: str
    expert: Callable[..., Any]  # (p, g, tally) -> the kind of a node, and its numbers in this round
    heard: Callable[..., Any]  # (p, g, tally, f, y, w) -> whether the answer was wrong


# ---- rows ------------------------------------------------------------------------------------------------------------
def clipped(v):
    """Return a cell within bounds."""
    return min(max(float(v), -MOST), MOST)


@strict
@word
def load(row, x):
    """Write a row into x, all of its columns."""


@load.on(object)
def load_dense(row, x):
    for j in range(x.shape[0]):
        x[j] = clipped(row[j])


@load.on(Sparse)
def load_sparse(row, x):
    x[:] = 0.0
    for k in range(row.idx.shape[0]):
        x[row.idx[k]] = clipped(row.val[k])


# ---- rounds ----------------------------------------------------------------------------------------------------------
@strict
def crowded(p, g, tally):
    """Return whether a tree that may grow has no room for two nodes more."""
    most, found = limit(p, g, expertise(tally)), False
    for m in range(g.R.shape[0]):
        found |= g.size[m] + 2 > g.R.shape[1] and g.size[m] + 2 <= most
    return found


def expertise(tally):
    """Return how many statistics a node has."""
    return 2 if tally[SEEN] < 2 else tally[SEEN]


def keep_books(e, g, said, f, y, w):
    """Note what an answer costs the forest and each tree; rounds that the guarantee says nothing about are counted."""
    loss = billed(e, f, y)
    if w != 1.0 or not loss < 1e308:
        g.clock[ODD] += 1
    elif g.clock[ROWS] > 0:
        g.sums[PAID] += loss
        bill_trees(e, g, said, y)


@strict
def bill_trees(e, g, said, y):
    """Note what the answer of each tree costs it."""
    for m in range(said.shape[0]):
        g.ledger[m, OWN] += billed(e, said[m], y)


def counting(p, g, tally):
    """Return the expert of a classifier: alpha is 1/K unless it is given."""
    K = expertise(tally)
    return Counts(p.step, 1.0 / K if p.alpha == 0.0 else p.alpha, K, min(K, p.room))


def meet(p, g, tally, f, y, w):
    """Note the label of a round; return whether the answer was wrong."""
    return wrong_class(tally, f, y)


def averaging(p, g, tally):
    """Return the expert of a regressor: its rate is that of the noise, 0 as long as no error is known."""
    q = p.noise if p.noise > 0.0 else g.sums[NOISE]
    return Means(p.step / q if q > 0.0 else 0.0, q, 2)


def spreading(p, g, tally):
    """Return the expert that answers with the second moment too."""
    e = averaging(p, g, tally)
    return Spreads(e.eta, e.q, 2)


def measure(p, g, tally, f, y, w):
    """Note the error of a round; where it has changed the noise by a factor of two, weigh everything again."""
    if g.clock[ROWS] > 0 and p.noise == 0.0:
        g.sums[SQUARES] += w * (f[0] - y) * (f[0] - y)
        g.sums[ROUNDS] += w
        s = g.sums[SQUARES] / g.sums[ROUNDS]
        if s > 2.0 * g.sums[NOISE] or s < 0.5 * g.sums[NOISE]:
            g.sums[NOISE] = s
            reweigh(p, g, tally)
    return False


@rare
@strict
def reweigh(p, g, tally):
    """Weigh all prunings of all trees again."""
    e = averaging(p, g, tally)
    for m in range(g.R.shape[0]):
        renew(e, g, m)


CLASSES = Manner("forest_of_counts", counting, meet)
REALS = Manner("forest_of_means", averaging, measure)
SPREADS = Manner("forest_of_spreads", spreading, measure)


# ---- compiled code ---------------------------------------------------------------------------------------------------
class Loops(NamedTuple):
    """The compiled loops."""

    learn: Callable[..., int]
    predict: Callable[..., None]


def loops(manner: Manner, layout: str) -> Loops:
    """Return the loops of a task for a layout of rows; numba is imported here, at first use."""
    return _built(manner, layout, compiling.interpreting())


@cache
def _built(manner: Manner, layout: str, interpreting: bool) -> Loops:
    data, n, row = LAYOUTS[layout]
    leaves: list[tuple[str, Any]] = []
    kinds: dict[str, type] = {}
    blank = (kind._make([None] * len(kind._fields)) for kind in (Grove, Rules))
    G, P = (flatten(tree, name, leaves, kinds) for tree, name in zip(blank, "gp", strict=True))
    source = TEXT.format(args="".join(f"{name}, " for name, _ in leaves), data=data, n=n, row=row, G=G, P=P)
    named = {fn.__name__: fn for fn in (answers, count, crowded, enter, keep_books, load)}
    scope = {**named, **kinds, "expert": manner.expert, "heard": manner.heard, **({"Sparse": Sparse} if layout == "csr" else {})}
    namespace = compiling.build(f"{manner.name}_{layout}", source, scope)
    return Loops(namespace["learn"], namespace["predict"])
