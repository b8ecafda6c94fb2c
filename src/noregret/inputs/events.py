"""Events of users and items as they are given: names as codes, and the scale of ratings so far."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class Coded(NamedTuple):
    """Names as codes: that of code n is the n-th of `names`, and came first at the n-th place of `first`."""

    names: list[Any]
    first: list[int]
    codes: np.ndarray


def coded(names: Any, kind: int) -> Coded:
    """Return users or items as codes; refuse what is neither text nor a whole number."""
    if isinstance(names, np.ndarray) and names.dtype.kind in "iu":
        found, first, codes = np.unique(names, return_index=True, return_inverse=True)
        return Coded(found.tolist(), first.tolist(), codes)
    known: dict[Any, int] = {}
    listed = names.tolist() if isinstance(names, np.ndarray) else names
    try:
        codes = np.array([known.setdefault(one, len(known)) for one in listed], np.int64)
    except TypeError:  # of what cannot be a key
        codes = np.zeros(0, np.int64)
        known = {}
    for one in known or listed:
        named(kind, one)
    first = np.full(len(known), len(codes))
    np.minimum.at(first, codes, np.arange(len(codes)))
    return Coded([*known], first.tolist(), codes)


def sized(values: Any) -> Any:
    """Return values of which one can tell the number."""
    values = values.to_numpy() if hasattr(values, "to_numpy") else values
    return values if isinstance(values, np.ndarray) else [*values]


def named(kind: int, one: Any) -> str:
    """Return a user or an item as text; refuse what is neither text nor a whole number."""
    if (isinstance(one, str) and one) or (isinstance(one, (int, np.integer)) and not isinstance(one, bool)):
        return str(one)
    raise TypeError(f"{('a user', 'an item')[kind]} is a text or a whole number, got {one!r}")


def running(y: np.ndarray, low: float, high: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the scale before each of these ratings, given that before the first."""
    return np.minimum.accumulate(np.append(low, y))[:-1], np.maximum.accumulate(np.append(high, y))[:-1]


def clipped(f: np.ndarray, low: Any, high: Any) -> np.ndarray:
    """Return scores within a scale, one for all or one for each; where it is empty, as they are."""
    return np.where(np.less_equal(low, high), np.clip(f, np.minimum(low, high), np.maximum(low, high)), f)
