"""What a model with a cell for every pair of features costs: said before it is paid."""

from __future__ import annotations

import math
import os
from typing import Any

from ..algorithm.state import Dims, squares
from ..inputs.checking import warn
from ..text import duration, size

MANY = 1_000_000  # cells without a warning: 1,000 features, 8 MB, under a millisecond a row
SECONDS = 2e-9  # a row takes for each cell, roughly: cells are read and written once or twice


def check_squares(held: Any, dims: Dims, warns: bool) -> None:
    """Refuse what does not fit into half of the memory of the machine; say what a row costs where that is much."""
    cells = squares(held.spec, dims)
    if cells <= MANY:
        return
    needed, there = cells * held.dtype.itemsize, memory()
    told = (
        f"{held.learner.name} keeps a number for every pair of features: {dims['feature']:,} features take {size(needed)} and "
        f"roughly {duration(cells * SECONDS)} a row"
    )
    choice: Any = getattr(held.learner.parameters.types.get("covariance"), "__metadata__", ())
    diagonal = bool(choice) and "diag" in choice[0].table
    instead = "covariance='diag'" if diagonal else "a learner of linear cost such as nag or nag_regressor"
    advice = f"Use {instead}, or fold the features into fewer (hash_bits=9)"
    if needed > there / 2:  # it is copied when it grows
        raise ValueError(f"{told}; this machine has {size(there)}. {advice}")
    if warns:
        warn("UserWarning", f"{told}. {advice}")


def memory() -> float:
    """Return the bytes of memory of the machine, infinite where that is unknown."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):
        return math.inf
