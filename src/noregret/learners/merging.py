"""Joining models that continued from a common one: features and classes are united by name, and what each learned since is added.

theta = theta0 + a sum_i (n_i/n) (theta_i - theta0), with theta0 the model before, theta_i the parts, n_i the examples part i has
learned since, n their sum, and a the length. a = 1 is the mean by examples (parameter mixing; McDonald, Hall, Mann 2010), a = the
number of parts the sum of all moves. Each Slot says which of its cells follow this and which are true sums, largest or least
values; a State may `fuse` fields in other coordinates, such as precisions.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..algorithm.params import same_value
from ..algorithm.rounds import EXAMPLES, MISTAKES, SEEN, UPDATES
from ..algorithm.state import Dims, Slot, settle, tmap
from ..inputs.features import Anything, Columns, Hashed, Names, Numbers
from . import calibrated

if TYPE_CHECKING:
    from .base import Base
    from .held import Held
    from .model import Model

COUNTS = [EXAMPLES, UPDATES, MISTAKES]
BLOCK = 1 << 15  # cells that are combined at once: caches hold them
Places = np.ndarray | None  # where each coordinate of a model lies in the joined one; None: where it is


class Terms(NamedTuple):
    """The factor of each model, the one before first if there is one."""

    move: list[float]  # of what follows the moves
    mean: list[float]  # the same with length 1
    total: list[float]  # of true sums

    @classmethod
    def of(cls, before: int | None, seen: list[int], length: float) -> Terms:
        """Return the factors, given the examples that the model before and each part have seen."""
        rows = [max(n - (before or 0), 0) for n in seen]
        shares = [n / sum(rows) for n in rows] if sum(rows) else [1.0 / len(rows)] * len(rows)
        terms = [] if before is None else [(1.0 - length, 0.0, 1.0 - len(rows))]
        terms += [(length * share, share, 1.0) for share in shares]
        return cls(*map(list, zip(*terms, strict=True)))


# ---- learners --------------------------------------------------------------------------------------------------------
def merge(mine: Base, other: Base) -> None:
    """Take in what `other` has learned, which shares no past; nothing changes when the two do not fit together."""
    found = joined(None, [mine, other])
    if found.started:
        mine.model = found.model


def joined(base: Base | None, parts: Sequence[Base], length: float | str = 1.0) -> Base:
    """Return the parts joined, each of which continued from `base`; the arguments do not change.

    `length` says how far to go along the mean of their moves: 1 to the mean itself, "sum" as far as all moves together. What has
    an exact merge is summed whatever the length. One part is itself.
    """
    check(base, parts)
    way = float(len(parts)) if length == "sum" else float(length)
    if not 0.0 < way < np.inf:
        raise ValueError(f"length must be a number above 0 or 'sum', got {length!r}")
    models = [part.model for part in parts if part.started]
    before = None if base is None else base.held
    if before is not None and len(models) < len(parts):
        raise ValueError("cannot join: a part has learned nothing, not even what the model before it had")
    result = parts[0].clone()
    if len(models) == 1:
        result.model = copy.deepcopy(models[0])
    elif models:
        result.model = united(before, models, way)
    return result


def check(base: Base | None, parts: Sequence[Base]) -> None:
    """Refuse learners that do not fit together."""
    if not parts:
        raise ValueError("cannot join: there are no parts")
    mine = parts[0]
    for other in (*parts[1:], *([] if base is None else [base])):
        if type(mine) is not type(other):
            raise TypeError(f"cannot merge a {type(other).__name__} into a {type(mine).__name__}")
        if not same_value(mine.get_params(), other.get_params()):
            raise ValueError(f"cannot merge learners with different parameters: {mine!r} and {other!r}")
    if mine.merging == "none":
        raise TypeError(f"{type(mine).__name__} has no merge: {mine.no_merge}")


# ---- models ----------------------------------------------------------------------------------------------------------
def united(before: Any, parts: list[Any], length: float) -> Any:
    """Return the joined model."""
    seen = [int(m.tally[EXAMPLES]) for m in parts]
    alone = before is None
    terms = Terms.of(None if before is None else int(before.tally[EXAMPLES]), seen, length)
    if before is None and length != 1.0:  # moves are measured from the start; sums begin at 0
        before = copy.copy(parts[0])
        before.forget()
        terms = Terms([1.0 - length, *terms.move], [0.0, *terms.mean], [0.0, *terms.total])
    models = parts if before is None else [before, *parts]
    out = models[0].fork()
    models, places = out.unite(models)
    settle(out.state)
    models = [settled(m) for m in models]
    states = [
        tmap(lambda slot, a, m=m, p=p: aligned(slot, a, out.dims, m.dims, p), m.spec, m.state)
        for m, p in zip(models, places, strict=True)
    ]
    out.state = combined(out.spec, out.state, states, terms, out.params)
    settle(out.state)
    if out.learner.rejoin is not None and length != 1.0:
        out.learner.rejoin(out.state, out.params, out.dims["class"])
        settle(out.state)
    out.calibration = calibrated.joined(out, parts, terms.mean[-len(parts) :], alone)
    out.tally[COUNTS] = np.array(terms.total, np.int64) @ np.array([m.tally[COUNTS] for m in models])
    out.refresh()
    return out


def settled(m: Held) -> Held:
    """Return a model with nothing pending: itself, if nothing is. What a kind merely tracks is computed after the join."""
    if not any(node.pending() if hasattr(node, "pending") else hasattr(node, "settle") for node in nodes(m.state)):
        return m
    m = copy.copy(m)
    settle(m.state)
    return m


def nodes(tree: Any) -> list[Any]:
    """Return a state and the kinds inside it."""
    return [tree, *(n for t in tree for n in nodes(t))] if isinstance(tree, tuple) else []


# ---- tables ----------------------------------------------------------------------------------------------------------
def unite_features(a: Model, b: Model) -> Places:
    """Give a every feature of b; return where each coordinate of b lies in a."""
    f, g = a.features, b.features
    if f.kind != g.kind:
        raise ValueError(f"cannot merge features by {g.kind} into features by {f.kind}")
    if isinstance(f, Columns) and isinstance(g, Columns):
        if f.width != g.width or f.names != g.names:
            raise ValueError(f"cannot merge models over different columns: {f.width} and {g.width} of them, or other names")
    elif isinstance(f, Hashed) and isinstance(g, Hashed):
        if f.table != g.table:
            for name in g.table:
                f.place(name, True)
    elif isinstance(f, Numbers) and isinstance(g, Numbers):
        f.count = max(f.count, g.count)
        a.widen()
    elif isinstance(f, Names) and isinstance(g, Names):
        idx, _ = f.row(dict.fromkeys(g.names, 0.0), True)
        a.widen()
        found = np.concatenate([np.arange(int(g.bias)), idx]).astype(np.int64)
        return None if np.array_equal(found, np.arange(len(found))) else found
    else:
        assert isinstance(f, Anything)
    return None


def unite_labels(out: Model, models: list[Any]) -> tuple[list[Any], list[list[int] | None]]:
    """Give `out` every label; return the models, all with one score or all with a row per class, and their codes in it."""
    mine = out.labels
    if mine is None:
        return models, [None] * len(models)
    for m in models[1:]:
        mine.extend(mine.missing(m.labels.values))
    many = len(mine) > 2 or any(m.many for m in models)
    if many and not out.many:
        out.spread()
    out.relabel()
    models = [of_rows(m, out) if many else facing(m, out) for m in models]
    return models, [[mine.index[v] for v in m.labels.values] for m in models]


def of_rows(m: Model, out: Model) -> Model:
    """Return a model with a row of weights for each class; one that has met a single label takes the next one for its rival."""
    if m.many:
        return m
    m = copy.copy(m)
    assert m.labels is not None
    assert out.labels is not None
    if len(m.labels) < 2:
        m.labels = copy.deepcopy(m.labels)
        m.labels.extend([next(v for v in out.labels.values if v not in m.labels.index)])
    m.spread()
    return m


def facing(m: Model, out: Model) -> Model:
    """Return a model of two classes with the positive one of another: turned round, if it is the other one."""
    assert m.labels is not None
    assert out.labels is not None
    if out.labels.index.get(m.labels.values[m.labels.positive], out.labels.positive) == out.labels.positive:
        return m
    if m.learner.nonnegative:
        raise ValueError("the models disagree on which class is positive: declare classes= in both")
    m = copy.copy(m)

    def turn(slot: Slot, x: np.ndarray) -> None:
        if slot.promote != "copy" and m.column in slot.axes:
            x *= -1.0

    tmap(turn, m.spec, m.state)
    m.tally[SEEN] = {0: 0, 1: 2, 2: 1, 3: 3}[int(m.tally[SEEN])]
    return m


# ---- arrays ----------------------------------------------------------------------------------------------------------
def aligned(slot: Slot, y: np.ndarray, dims: Dims, old: Dims, places: Mapping[str, Any]) -> np.ndarray:
    """Return an array in other coordinates, which `places` tells for axes on which they differ: itself where none does."""
    moved = {axis for axis in slot.axes if places.get(axis) is not None}
    if not moved:
        return slot.grow(y, old, dims)
    out = slot.new(dims, y.dtype)
    view, theirs = slot.view(out, dims), slot.view(y, old)
    index = [np.asarray(places[axis]) if axis in moved else np.arange(min(dims[axis], old[axis])) for axis in slot.axes]
    view[np.ix_(*index)] = theirs[tuple(slice(len(i)) for i in index)]
    return out


def combined(spec: Any, own: Any, states: list[Any], terms: Terms, params: Any) -> Any:
    """Return the state that aligned states come to: fields that the State fuses itself, the others as their slots say."""

    def join(slot: Slot, mine: np.ndarray, *arrays: np.ndarray) -> np.ndarray:
        if slot.scratch or slot.merge == "keep":
            return mine
        if slot.merge in ("max", "min"):
            return (np.maximum if slot.merge == "max" else np.minimum).reduce(arrays)
        return summed(arrays, terms.total) if slot.merge == "sum" else moved(arrays, terms.move)

    fused = spec.fuse(states, terms, params) if hasattr(spec, "fuse") else {}
    fields = zip(spec._fields, spec, own, zip(*states, strict=True), strict=True)
    return type(spec)(*(fused[f] if f in fused else tmap(join, s, mine, *theirs) for f, s, mine, theirs in fields))


def moved(arrays: Sequence[np.ndarray], factors: Sequence[float]) -> np.ndarray:
    """Return sum_i c_i a_i, for factors that sum to 1; whole numbers are rounded. Cells equal in all arrays stay so, to the bit."""
    terms = [(a.reshape(-1), c) for a, c in zip(arrays[1:], factors[1:], strict=True) if c != 0.0]
    first, out = arrays[0].reshape(-1), np.empty_like(arrays[0], order="C")
    flat, work, more = out.reshape(-1), np.empty(BLOCK), np.empty(BLOCK)
    for i in range(0, len(flat), BLOCK):
        part = slice(i, min(i + BLOCK, len(flat)))
        total, term = work[: part.stop - i], more[: part.stop - i]
        total[:] = first[part]
        for a, c in terms:
            np.subtract(a[part], first[part], out=term, dtype=np.float64)
            total += np.multiply(term, c, out=term)
        flat[part] = total if out.dtype.kind == "f" else np.rint(total)
    return out


def summed(arrays: Sequence[np.ndarray], factors: Sequence[float]) -> np.ndarray:
    """Return sum_i c_i a_i, for whole factors."""
    total = sum(c * a.astype(np.float64) for a, c in zip(arrays, factors, strict=True))
    return np.asarray(total).astype(arrays[0].dtype)
