"""Dicts whose values are all numbers, such as bags of words: many names, few in each. These need no compiled code."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import chain, compress
from typing import Any, NamedTuple

import numpy as np

from ..inputs.checking import Rows

PLAIN = {float, int, bool, np.float64, np.float32, np.int64}


class Bags(NamedTuple):
    """The cells of dicts, one after the other."""

    names: list[str]
    values: np.ndarray
    sizes: np.ndarray  # of the dicts


class Places(NamedTuple):
    """Where the columns of a table are: their rank by name, and by rank the number of their feature, -1 for other columns."""

    columns: Mapping[str, int]  # the very columns this was made of
    ranks: dict[str, int]
    numbers: np.ndarray


def bags(data: Sequence[Any], leave: Collection[str]) -> Bags | None:
    """Return the cells of dicts, those to leave out apart; None unless they are all finite numbers under texts."""
    if set(map(type, data)) != {dict}:
        return None
    names: list[Any] = list(chain.from_iterable(data))
    values: list[Any] = list(chain.from_iterable(map(dict.values, data)))
    sizes = np.fromiter(map(len, data), np.int64, len(data))
    if leave and not set(leave).isdisjoint(names):
        stay = [name not in leave for name in names]
        owner = np.repeat(np.arange(len(data)), sizes)[np.array(stay, bool)]
        names, values = list(compress(names, stay)), list(compress(values, stay))
        sizes = np.bincount(owner, minlength=len(data))
    if not set(map(type, values)) <= PLAIN or not set(map(type, names)) <= {str}:
        return None
    try:
        numbers = np.array(values, np.float64)
    except OverflowError:
        return None
    return Bags(names, numbers, sizes) if np.isfinite(numbers).all() else None


def placed(found: Bags, places: Places, width: int) -> Rows | None:
    """Return dicts as rows, known columns only, in the order of the table; None where a column is not numeric."""
    ranks = np.array([places.ranks.get(name, -1) for name in found.names], np.int64)
    numbers = places.numbers[ranks] if len(places.numbers) else ranks
    if (numbers[ranks >= 0] < 0).any():
        return None
    owner = np.repeat(np.arange(len(found.sizes)), found.sizes)
    order = np.lexsort((ranks, owner))
    order = order[ranks[order] >= 0]
    indptr = np.zeros(len(found.sizes) + 1, np.int64)
    np.cumsum(np.bincount(owner[order], minlength=len(found.sizes)), out=indptr[1:])
    return Rows("csr", (indptr, numbers[order].astype(np.uint32), found.values[order]), len(found.sizes), width)
