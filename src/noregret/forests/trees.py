"""The trees of a forest, field by field: what a reader sees, and what files hold."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..files.json_values import Tensors, expect
from .nodes import CUT, FEATURE, HEAD, LEFT, LINKS, LOSS, NEVER, PARENT, RIGHT, TAU, WEIGHT, Grove, N


class Trees(NamedTuple):
    """The nodes of all trees, tree after tree. Links count within a tree; a leaf has no children and no feature (-1).

    `lower` and `upper` are the box of the rows that passed; `statistics` the counts of labels in order of their first appearance,
    or the mean and the sum of squared deviations of targets; `log_weight` that of all prunings of the subtree.
    """

    tree: np.ndarray
    parent: np.ndarray
    left: np.ndarray
    right: np.ndarray
    feature: np.ndarray
    cut: np.ndarray
    time: np.ndarray
    rows: np.ndarray
    loss: np.ndarray
    log_weight: np.ndarray
    statistics: np.ndarray
    lower: np.ndarray
    upper: np.ndarray


def trees_of(g: Grove, d: int, K: int, room: int, wide: int) -> Trees:
    """Return the nodes in use, without spare room."""
    used = np.arange(g.R.shape[1]) < g.size[:, None]
    R, links = g.R[used], g.L[used]
    lo = HEAD + room
    return Trees(
        np.repeat(np.arange(len(g.size), dtype=np.int32), g.size),
        *(links[:, k].copy() for k in (PARENT, LEFT, RIGHT, FEATURE)),
        *(R[:, k].copy() for k in (CUT, TAU, N, LOSS, WEIGHT)),
        *(R[:, a : a + n].copy() for a, n in ((HEAD, K), (lo, d), (lo + wide, d))),
    )


def fill(g: Grove, trees: Trees, room: int, wide: int) -> None:
    """Put nodes into the arrays of a forest, which are new and have room for them."""
    g.size[:] = np.bincount(trees.tree, minlength=len(g.size))
    used = np.arange(g.R.shape[1]) < g.size[:, None]
    R, links = np.zeros((len(trees.tree), g.R.shape[2])), np.full((len(trees.tree), LINKS), -1, np.int32)
    for k, a in ((PARENT, trees.parent), (LEFT, trees.left), (RIGHT, trees.right), (FEATURE, trees.feature)):
        links[:, k] = a
    for k, a in ((CUT, trees.cut), (TAU, trees.time), (N, trees.rows), (LOSS, trees.loss), (WEIGHT, trees.log_weight)):
        R[:, k] = a
    lo = HEAD + room
    for k, table in ((HEAD, trees.statistics), (lo, trees.lower), (lo + wide, trees.upper)):
        R[:, k : k + table.shape[1]] = table
    g.R[used], g.L[used] = R, links


def levels(trees: Trees) -> list[np.ndarray]:
    """Return the nodes of each depth, in all trees at once."""
    start = np.searchsorted(trees.tree, trees.tree)
    level, found = np.flatnonzero(trees.parent < 0), []
    while len(level):
        found.append(level)
        inner = level[trees.left[level] >= 0]
        level = np.concatenate([start[inner] + trees.left[inner], start[inner] + trees.right[inner]])
    return found


def children(trees: Trees, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the left and right children of inner nodes, as places among all nodes."""
    start = np.searchsorted(trees.tree, trees.tree[v])
    return start + trees.left[v], start + trees.right[v]


def read(tensors: Tensors, M: int, d: int, K: int, labelled: bool) -> Trees:
    """Return the trees in a file. Compiled code trusts their links, so every one of them is checked."""
    trees = Trees(**{k: tensors.pop(f"state.{k}") for k in Trees._fields})
    n = len(trees.tree)
    widths = {"statistics": K, "lower": d, "upper": d}
    for k, a in trees._asdict().items():
        kind = np.dtype(np.int32 if k in ("tree", "parent", "left", "right", "feature") else np.float64)
        shape = (n, widths[k]) if k in widths else (n,)
        expect(a.dtype == kind and a.shape == shape, f"{k} of {kind} and shape {shape}", f"{a.dtype}, {a.shape}")
        expect(kind.kind == "i" or bool(np.isfinite(a).all()), f"finite numbers in {k}", a)
    check_links(trees, M, d)
    expect(bool((trees.lower <= trees.upper).all()), "boxes whose lower ends are below their upper ones", "others")
    expect(bool((trees.rows > 0.0).all()), "nodes with rows in them", trees.rows)
    sums = trees.statistics if labelled else trees.statistics[:, 1:]
    expect(bool((sums >= 0.0).all()), "counts, or squares, from 0", "others")
    return trees


def check_links(trees: Trees, M: int, d: int) -> None:
    """Refuse links that do not make M trees."""
    sizes = np.bincount(trees.tree[(trees.tree >= 0) & (trees.tree < M)], minlength=M)
    whole = sizes.sum() == len(trees.tree) and (sizes > 0).all() and bool((np.diff(trees.tree) >= 0).all())
    expect(bool(whole), f"the nodes of {M} trees, in order", trees.tree)
    size, start = sizes[trees.tree], np.searchsorted(trees.tree, trees.tree)
    number = np.arange(len(trees.tree)) - start
    expect(bool(((trees.parent < 0) == (number == 0)).all()), "one root for each tree, its first node", trees.parent)
    inner = trees.left >= 0
    same = (trees.right >= 0) == inner
    inside = (trees.left < size) & (trees.right < size) & (trees.feature < d) & (~inner | (trees.feature >= 0))
    expect(bool((same & inside).all()), "two children, or none, within their trees, and features", "others")
    v = np.flatnonzero(inner)
    sides = children(trees, v)
    own = all((trees.parent[c] == number[v]).all() for c in sides) and bool((sides[0] != sides[1]).all())
    expect(own and 2 * len(v) + M == len(trees.tree), "children that name their parents", "others")
    expect(sum(map(len, levels(trees))) == len(trees.tree), "nodes that are reached from their root", "others")
    ends = (trees.time == NEVER) != inner
    expect(bool(ends.all()), "split times of inner nodes alone", "others")


def important(trees: Trees, d: int) -> np.ndarray:
    """Return how much of the loss the cuts on each column save, as shares."""
    v = np.flatnonzero(trees.left >= 0)
    left, right = children(trees, v)
    saved = np.bincount(trees.feature[v], trees.loss[v] - trees.loss[left] - trees.loss[right], d)
    saved = np.maximum(saved, 0.0)
    return saved / saved.sum() if saved.any() else saved


def best_prunings(trees: Trees, price: float) -> np.ndarray:
    """Return the least loss of all prunings of each tree, which pay the price for every node of theirs that is not a leaf of it."""
    least: Any = trees.loss.copy()
    for level in reversed(levels(trees)):
        v = level[trees.left[level] >= 0]
        left, right = children(trees, v)
        least[v] = price + np.minimum(trees.loss[v], least[left] + least[right])
    return least[trees.parent < 0]
