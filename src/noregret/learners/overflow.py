"""Rows so large that a model overflows are refused, and it stays as it was; columns of numbers too small to matter are told."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..algorithm.rounds import EXAMPLES
from ..inputs.checking import SMALL, TINY, Rows, row_of, total_of, warn_of_small

HARMLESS = {4: 1e8, 8: 1e50}  # in size, of cells, by the bytes of a number of the state: from these no step makes an overflow


@contextlib.contextmanager
def unchanged_by_failure(m: Any) -> Iterator[None]:
    """Restore a model if this block fails."""
    before = copy.deepcopy(m)
    try:
        yield
    except BaseException:
        m.__dict__ = before.__dict__
        raise


def harmless(m: Any, values: np.ndarray) -> bool:
    """Return whether no step of a model makes an overflow from these values."""
    return bool(np.abs(values).max(initial=0.0) <= HARMLESS[m.dtype.itemsize])


@contextlib.contextmanager
def unharmed(m: Any, rows: Rows) -> Iterator[None]:
    """Refuse rows whose cells are large if the model has overflowed at the end of this block, and restore it."""
    if total_of(rows) <= HARMLESS[m.dtype.itemsize] or harmless(m, rows.packed().arrays[-1]):
        if not m.tally[EXAMPLES]:
            titles = getattr(m.features, "titles", None)  # the table behind which the model learns
            warn_of_small(rows, titles and titles.feature_names, TINY if m.learner.scale_free else SMALL)
        yield
        return
    with unchanged_by_failure(m):
        yield
        if m.overflowed():
            rows = rows.packed()
            values = rows.arrays[-1].ravel()
            at = int(np.argmax(np.abs(values)))
            raise ValueError(
                f"{m.learner.__name__} overflows on these rows, of which row {row_of(rows, at)} has the largest number, "
                f"{values[at]:g}. Scale the columns first, or leave the row out; nothing was learned."
            )
