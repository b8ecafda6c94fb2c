"""Room for support vectors: the initial and later sizes of the arrays of an expansion."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy import ndarray

from .support_vectors import Packed


def first_sizes(w: Any, grows: bool) -> dict[str, int]:
    """Return the initial sizes. A budget in bytes is allocated all at once, so that arrays are never copied."""
    if w.budget.bytes and isinstance(w.S, Packed) and grows:
        name = type(w.budget).__name__
        raise ValueError(f"{name} keeps dense rows: in bytes it needs a fixed number of features; give {name}(B=...)")
    if w.capped:
        return {"slot": 0}  # all is divided when the first row is seen
    return {"slot": int(min(w.budget.B + 1.0, math.inf if w.budget.bytes else 64))}


def fewer(w: Any) -> dict[str, int]:
    """Drop vectors, which have become larger, until the budget in bytes holds; return the new sizes."""
    w.trim()
    return divided(w, 0) if w.capped else first_sizes(w, False)


def divided(w: Any, cells: int) -> dict[str, int]:
    """Close gaps; return the sizes, within a byte budget, that have room for another row of `cells` cells."""
    n = int(w.size[0])
    w.S.close_gaps(n)
    return dict(zip(("slot", "cell"), w.S.cap.divided(n, cells), strict=True))


def stored_cells(w: Any, cells: ndarray) -> ndarray:
    """Return the running numbers of cells of rows as they are stored: one with more than a cap allows is not."""
    if not w.capped:
        return cells
    most = w.S.cap.spare // w.S.cap.cell
    return np.concatenate([[0], np.cumsum(np.minimum(np.diff(cells), most))])


def enlarged(w: Any, dims: dict[str, int], free: float, room: float, cells: int) -> dict[str, int]:
    """Return the sizes that have room for another row of `cells` cells."""
    if w.capped:
        found, n, live = divided(w, cells), int(w.size[0]), int(w.S.cap.live[0])
        enough = 2 * (dims["slot"] - n) >= found["slot"] - n and 2 * (dims["cell"] - live) >= found["cell"] - live
        return {} if enough and dims["cell"] - live >= cells else found
    sizes = {"slot": int(min(max(64, 2 * dims["slot"]), w.budget.B + 1))} if free <= 0 else {}
    if room < cells:
        w.S.close_gaps(int(w.size[0]))
        used = int(w.S.used[0])
        if 2 * (used + cells) > dims["cell"]:
            sizes["cell"] = max(1024, 2 * dims["cell"], used + cells)
    return sizes
