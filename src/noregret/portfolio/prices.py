"""Price relatives: what each asset was worth at the end of a day, over what it was worth at the end of the day before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..inputs.checking import as_array, column_names

FEW, MANY = 1e-9, 1e9  # a relative is between these
LOW, HIGH = 0.1, 10.0  # a day on which all relatives are beyond one of these is a day of prices
HOLD = "hold"


def as_relatives(X: np.ndarray, missing: str | None, place: Callable[[int, int], str]) -> np.ndarray:
    """Return relatives; an error names the day and the asset of one that is refused. `missing="hold"` takes NaN for 1."""
    X = filled(X, missing, 1.0)
    wrong = ~((X >= FEW) & (X <= MANY))
    if wrong.any():
        i, k = (int(v) for v in np.argwhere(wrong)[0])
        raise ValueError(f"{place(i, k)} has the relative {X[i, k]:g}; expected {expected(X[i, k])}")
    odd = (X > HIGH).all(1) | (X < LOW).all(1)
    if odd.any():
        i = int(np.argmax(odd))
        raise ValueError(
            f"{place(i, 0)} has the relative {X[i, 0]:g}, and all others of that day are as far from 1: these look like prices. "
            "Make relatives of them with noregret.portfolio.relatives"
        )
    return X


def expected(v: float) -> str:
    """Return what to do about a relative."""
    if np.isnan(v):
        return "a number (missing='hold' takes an empty cell for 1, an unchanged price)"
    return f"price/price of the day before, between {FEW:g} and {MANY:g}"


def filled(X: np.ndarray, missing: str | None, value: float) -> np.ndarray:
    """Return cells with a value in the place of NaN, if it may be."""
    if missing not in (None, HOLD):
        raise ValueError(f"missing must be None or 'hold', got {missing!r}")
    return np.where(np.isnan(X), value, X) if missing == HOLD else X


def relatives(prices: Any, last: Any = None, missing: str | None = None) -> np.ndarray:
    """Return price/price of the day before, a row less than there are prices: the first day has no day before it.

    A table that comes in pieces: `last` is the last row of prices of the piece before, and no row is lost. `missing="hold"` takes
    the price of the day before for an empty cell.

    >>> import noregret as nr
    >>> nr.portfolio.relatives([[10.0, 20.0], [11.0, 19.0], [11.0, 20.9]])
    array([[1.1 , 0.95],
           [1.  , 1.1 ]])
    """
    names = column_names(prices)
    P = np.array(as_array(prices), np.float64)  # a copy: empty cells are filled
    if P.ndim != 2 or 0 in P.shape:
        raise ValueError(f"expected a table with a row of prices for each day, got an array of shape {P.shape}")
    before = 0
    if last is not None:
        P, before = np.vstack([np.asarray(last, np.float64).reshape(1, -1), P]), 1
    filled(P[:0], missing, 0.0)
    if missing == HOLD:
        for i in range(1, len(P)):
            P[i] = np.where(np.isnan(P[i]), P[i - 1], P[i])
    wrong = ~(np.isfinite(P) & (P > 0.0))
    if wrong.any():
        i, k = (int(v) for v in np.argwhere(wrong)[0])
        asset = repr(names[k]) if names else k
        raise ValueError(f"asset {asset} of row {i - before} has the price {P[i, k]:g}; expected a finite number above 0")
    return np.asarray(P[1:] / P[:-1])
