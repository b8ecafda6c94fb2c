"""The arrays of a state in files: `state.<path>`, every array with its axes apart and without spare room.

Where that is smaller, only the cells that are not as new, with their places in `at.<path>`. Support vectors that are strings
or trees are JSON.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..algorithm.state import Dims, Slot, leaves, tmap
from ..text import brief
from .json_values import ModelFileError, Tensors, expect, listed, written

LEAST = 256  # cells of the smallest array that is worth listing
MOST = 1 << 32  # cells of the largest array that a list may stand for


def packed(spec: Any, state: Any, old: Dims, dims: Dims) -> Tensors:
    """Return the tensors of a state, in arrays of these sizes."""
    tensors: Tensors = {}
    for at, slot, a in leaves(spec, state):
        if slot.dtype is object:
            tensors[f"state.{at}"] = written(a[: int(state[0].size[0])], "a support vector")
        elif not slot.scratch:
            whole = slot.view(slot.grow(a, old, dims), dims)
            check_cells(slot, whole, dims, f"state.{at}")  # what could not be loaded is not written over what can
            cells, places = listing(slot, whole)
            tensors |= {f"state.{at}": cells} | ({} if places is None else {f"at.{at}": places})
    return tensors


def listing(slot: Slot, a: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """Return an array as it is, or, if that is less, its cells that are not as new and their places."""
    flat = a.reshape(-1)
    if slot.eye or len(flat) < LEAST or len(flat) > MOST:
        return np.ascontiguousarray(a), None
    fill = np.asarray(slot.fill, a.dtype)
    new = flat == fill
    if a.dtype.kind == "f":
        new &= np.signbit(flat) == np.signbit(fill)
    places = np.flatnonzero(~new).astype(np.uint32)
    if len(places) * (a.itemsize + 4) >= a.nbytes:
        return np.ascontiguousarray(a), None
    return flat[places], places


def unpacked(spec: Any, tensors: Tensors, dims: Dims, dtype: Any, features: int) -> Any:
    """Return the state in tensors, all of them and no others; every size is checked before anything is allocated."""
    slots = {f"state.{at}": slot for at, slot, _ in leaves(spec, spec) if not slot.scratch}
    places = {f"state.{k[3:]}": tensors.pop(k) for k in list(tensors) if k.startswith("at.")}
    expect(slots.keys() == tensors.keys() >= places.keys(), f"the tensors {sorted(slots)}", sorted(tensors))
    width = dims.get("feature", 0)
    expect(not places or width <= 2 * max(features, 1), f"room for {features} features", width)
    for at, slot in slots.items():
        if slot.dtype is object:
            tensors[at] = objects(slot, tensors[at], int(tensors[f"{at.removesuffix('S.sv')}size"][0]), dims)
        elif at in places:
            tensors[at] = placed(slot, tensors[at], places[at], dims, at)
        expected = np.dtype(dtype if slot.dtype is float else slot.dtype)
        expect(tensors[at].dtype == expected, f"{at} of {expected}", tensors[at].dtype)
        expect(tensors[at].shape == slot.shape(dims), f"{at} of shape {slot.shape(dims)}", tensors[at].shape)
        check_cells(slot, tensors[at], dims, at)
    kept = iter(slots)  # in the order in which tmap comes to them
    return tmap(lambda slot: slot.new(dims, dtype) if slot.scratch else slot.flat(tensors[next(kept)]), spec)


def check_cells(slot: Slot, a: np.ndarray, dims: Dims, what: str) -> None:
    """Refuse numbers that no learner comes to hold: it would answer NaN or infinity, or compiled code would leave its arrays.

    A number on its own that begins with 1 is a multiplier, by which steps divide; a whole number on its own is a count.
    """
    if a.dtype.kind == "f":
        if not (np.isfinite(a) | (slot.squares & (a == np.inf))).all():
            raise ModelFileError(
                f"expected finite numbers in {what}, found {brief(a[~np.isfinite(a)][:3])}: the learner met numbers too large "
                "for it. Scale them, and learn again"
            )
        expect(slot.axes != () or slot.fill != 1.0 or a[0] != 0.0, f"a multiplier in {what}", a[:1])
    if a.dtype.kind == "i" and (slot.most or slot.axes == ()):
        upto = dims[slot.most] if slot.most else np.inf
        expect(bool(((a >= 0) & (a <= upto)).all()), f"counts in {what}, at most {upto}", a)


def objects(slot: Slot, data: np.ndarray, n: int, dims: Dims) -> np.ndarray:
    """Return the array of n support vectors that are objects."""
    found = listed(data, "support vectors")
    expect(len(found) == n <= dims["slot"], f"{n} support vectors in arrays of {dims['slot']}", len(found))
    a = slot.new(dims, None)
    for i, v in enumerate(found):  # one by one: a tuple is an object, not a row
        a[i] = v
    return a


def placed(slot: Slot, cells: np.ndarray, places: np.ndarray, dims: Dims, what: str) -> np.ndarray:
    """Return the array of cells in their places, once every place is known to lie inside."""
    size = math.prod(slot.shape(dims))
    expect(not slot.eye and size <= MOST, f"{what}, an array that may be listed", slot.shape(dims))
    expect(places.dtype == np.uint32 and places.ndim == cells.ndim == 1 and len(places) == len(cells), f"places of {what}", places)
    rising = len(places) == 0 or bool((places[1:] > places[:-1]).all() and places[-1] < size)
    expect(rising, f"different places in order, below {size}, in {what}", places)
    a = slot.new(dims, cells.dtype)
    a.reshape(-1)[places] = cells
    return slot.view(a, dims)
