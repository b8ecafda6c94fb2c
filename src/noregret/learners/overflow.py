"""Rows so large that numbers of a model overflow: they are refused, and the model stays as it was."""

from __future__ import annotations

import contextlib
import copy
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..engine.compiling import compiled
from ..inputs.checking import Rows, row_of, sum_of_sizes

HARMLESS = {4: 1e8, 8: 1e50}  # in size, of cells, by the bytes of a number of the state: from these no step makes an overflow


def are_large(rows: Rows, dtype: np.dtype) -> bool:
    """Return whether cells may be so large that a state of this type overflows."""
    values, most = rows.packed().arrays[-1], HARMLESS[dtype.itemsize]
    total = compiled(sum_of_sizes)(values.reshape(-1)) if math.isnan(rows.total) else rows.total
    return not total <= most and not np.abs(values).max() <= most


@contextlib.contextmanager
def unharmed(m: Any, rows: Rows) -> Iterator[None]:
    """Refuse rows whose cells are large if the model has overflowed at the end of this block, and restore it."""
    if not are_large(rows, m.dtype):
        yield
        return
    before = copy.deepcopy(m)
    try:
        yield
        if m.overflowed():
            rows = rows.packed()
            values = rows.arrays[-1].ravel()
            at = int(np.argmax(np.abs(values)))
            raise ValueError(
                f"{m.learner.__name__} overflows on these rows, of which row {row_of(rows, at)} has the largest number, "
                f"{values[at]:g}. Scale the columns first, or leave the row out; nothing was learned."
            )
    except BaseException:
        m.__dict__.update(before.__dict__)
        raise
