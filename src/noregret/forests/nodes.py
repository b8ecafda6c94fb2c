"""The nodes of a forest: one row of floats and one of whole numbers for each, so that a visit touches neighbouring memory.

Tree m has the nodes 0 to size[m] - 1, in order of creation; 0 is the root for ever. A leaf has no children (-1).
"""

from __future__ import annotations

from typing import NamedTuple

from numpy import ndarray

TAU, CUT, N, LOSS, WEIGHT, HEAD = range(6)  # floats: split time, cut, rows, loss, log weight; then statistics, then the box
FEATURE, LEFT, RIGHT, PARENT, LINKS = range(5)  # whole numbers
NEVER = 1.7976931348623157e308  # the split time of a leaf: finite, as all numbers of a model are

ROWS, ODD = range(2)  # cells of the clock: rows learned; those for which the guarantee does not hold
SQUARES, ROUNDS, NOISE, PAID = range(4)  # cells of the sums: squared errors, their weights, the noise in use, the forest's loss
OWN, GAPS, WORST = range(3)  # cells of the ledger: a tree's loss, the price of its cuts, the largest loss of a node


class Grove(NamedTuple):
    """The arrays of a forest."""

    R: ndarray  # the floats of a node, by tree and node
    L: ndarray  # its whole numbers: the links
    size: ndarray  # nodes of each tree
    span: ndarray  # least and largest value of each column
    inv: ndarray  # 1/range of each column as each tree sees it, 0 for one that it does not look at
    mask: ndarray  # 1 for the columns that a tree looks at, 0 for others
    keys: ndarray  # what the draws of a column go by
    clock: ndarray
    sums: ndarray
    ledger: ndarray
    ends: ndarray  # where a row has come to in each tree: scratch


class Rules(NamedTuple):
    """The settings of a forest, in numbers, and what a record has room for."""

    step: float
    alpha: float  # of a classifier; 0 is 1/K
    noise: float  # of a regressor; 0 is measured
    fading: float
    pure: bool  # whether pure nodes are split
    scale: bool
    nodes: float  # at most, in a tree
    bytes: float  # at most, of all nodes
    seed: int
    d: int  # columns
    room: int  # statistics of a node
    wide: int  # columns there is room for


def child(g, m, v, x):
    """Return the child of a node to which a row goes."""
    return g.L[m, v, LEFT] if x[g.L[m, v, FEATURE]] <= g.R[m, v, CUT] else g.L[m, v, RIGHT]


def is_leaf(g, m, v):
    """Return whether a node has no children."""
    return g.L[m, v, LEFT] < 0


def node_bytes(d: int, K: int) -> int:
    """Return the bytes of a node with d columns and K statistics."""
    return 8 * (HEAD + K + 2 * d) + 4 * LINKS


def limit(p: Rules, g: Grove, K: int) -> float:
    """Return how many nodes a tree may have with K statistics in each."""
    return min(p.nodes, p.bytes // (g.R.shape[0] * node_bytes(p.d, K)))
