"""Merging two learners: features and classes are united by name, weights averaged by examples seen, counters added."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from .features import Columns, Hashed, Numbers
from .params import same_value
from .rounds import EXAMPLES, MISTAKES, SEEN, UPDATES
from .state import Dims, Slot, settle, tmap

if TYPE_CHECKING:
    from .learner import Learner
    from .model import Model

COUNTS = [EXAMPLES, UPDATES, MISTAKES]


def merge(mine: Learner, other: Learner) -> None:
    """Take in what `other` has learned; nothing changes when the two do not fit together."""
    if type(mine) is not type(other):
        raise TypeError(f"cannot merge a {type(other).__name__} into a {type(mine).__name__}")
    if mine._merging == "none":
        raise TypeError(f"{type(mine).__name__} has no merge: what it keeps is a history, not a sum")
    if not same_value(mine.get_params(), other.get_params()):
        raise ValueError(f"cannot merge learners with different parameters: {mine!r} and {other!r}")
    if "_m" not in other.__dict__:
        return
    if "_m" not in mine.__dict__:
        mine._m = copy.deepcopy(other._m)
        return
    a, b = copy.deepcopy(mine._m), copy.deepcopy(other._m)
    places = unite_features(a, b)
    classes = unite_labels(a, b)
    columns = unite_tasks(a, b) if mine.tasked else classes
    settle(a.state)
    settle(b.state)
    n, k = int(a.tally[EXAMPLES]), int(b.tally[EXAMPLES])

    def join(slot: Slot, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        if slot.scratch or slot.merge == "keep":
            return x
        theirs = aligned(slot, y, a.dims, b.dims, places, columns)
        if slot.merge == "sum":
            return (x + theirs).astype(x.dtype)
        return ((n * x.astype(np.float64) + k * theirs) / max(n + k, 1)).astype(x.dtype)

    a.state = tmap(join, a.spec, a.state, b.state)
    settle(a.state)
    seen = a.tally[SEEN] | b.tally[SEEN] if not a.many else max(a.tally[SEEN], *(c + 1 for c in classes or ()))
    a.tally[COUNTS] += b.tally[COUNTS]
    a.tally[SEEN] = seen
    a.refresh()
    mine._m = a


def unite_features(a: Model, b: Model) -> np.ndarray:
    """Give a every feature of b; return where each coordinate of b lies in a."""
    f, g = a.features, b.features
    if f.kind != g.kind:
        raise ValueError(f"cannot merge features by {g.kind} into features by {f.kind}")
    if isinstance(f, Columns) and isinstance(g, Columns):
        if f.width != g.width or f.names != g.names:
            raise ValueError(f"cannot merge models over different columns: {f.width} and {g.width} of them, or other names")
        return np.arange(g.size)
    if isinstance(f, Hashed) and isinstance(g, Hashed):
        for name in g.table:
            f.place(name, True)
        return np.arange(g.size)
    if isinstance(f, Numbers) and isinstance(g, Numbers):
        f.count = max(f.count, g.count)
        a.widen()
        return np.arange(g.size)
    idx, _ = f.row(dict.fromkeys(g.names or [], 0.0), True)
    a.widen()
    return np.concatenate([np.arange(int(g.bias)), idx]).astype(np.int64)


def unite_labels(a: Model, b: Model) -> list[int] | None:
    """Give a every label of b; return the code in a of each code of b (None for a regression)."""
    mine, theirs = a.labels, b.labels
    if mine is None or theirs is None:
        return None
    mine.extend(mine.missing(theirs.values))
    if a.learner.tasked and len(mine) > 2:
        raise ValueError(f"cannot merge: all tasks share two labels, found {mine.values}")
    if len(mine) > 2 or b.many:
        for m in (a, b):
            if not m.many:
                m.spread()
        a.relabel()
    elif mine.index.get(theirs.values[theirs.positive], mine.positive) != mine.positive:
        flip(b)
    return [mine.index[v] for v in theirs.values]


def unite_tasks(a: Any, b: Any) -> list[int]:
    """Give a every task of b; return the number in a of each task of b."""
    a.meet(list(b.tasks))
    return [a.tasks[v] for v in b.tasks]


def flip(m: Model) -> None:
    """Turn a model of two classes round: the other label is the positive one."""
    if m.learner.nonnegative:
        raise ValueError("the models disagree on which class is positive: declare classes= in both")

    def turn(slot: Slot, x: np.ndarray) -> None:
        if slot.promote != "copy" and "class" in slot.axes:
            x *= -1.0

    tmap(turn, m.spec, m.state)
    m.tally[SEEN] = {0: 0, 1: 2, 2: 1, 3: 3}[int(m.tally[SEEN])]


def aligned(slot: Slot, y: np.ndarray, dims: Dims, old: Dims, places: Any, classes: list[int] | None) -> np.ndarray:
    """Return an array of b in the coordinates of a."""
    if not slot.axes:
        return y
    out = slot.new(dims, y.dtype)
    view, theirs = slot.view(out, dims), slot.view(y, old)
    index = []
    for axis, name in enumerate(slot.axes):
        if name == "feature":
            index.append(np.asarray(places))
        elif name == "class" and classes is not None and dims["class"] > 1:
            index.append(np.asarray(classes))
        else:
            index.append(np.arange(theirs.shape[axis]))
    view[np.ix_(*index)] = theirs[tuple(slice(len(i)) for i in index)]
    return out
