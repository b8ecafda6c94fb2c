"""Dicts of names and numbers, read by compiled code through Python's C interface in a third of the time that Python takes.

Only what runs no Python code on the way is read so: names of type str, values of type float, int or bool, all finite. The rest is
left to whoever asks, and so are the errors. The addresses of all names and values are gathered first and fetched ahead, because
strings fresh from a tokenizer lie anywhere in memory.
"""

from __future__ import annotations

import ctypes
from collections import Counter, defaultdict
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from . import engine

NOWHERE = np.uint32(0xFFFFFFFF)  # the place of a name that the table does not know
TYPE = 8  # where an object says what it is, in bytes from its beginning
DICTS = (dict, Counter, defaultdict)  # they keep and give their items as dict does

KINDS = (str, float, int, bool)
TEXT = """
@jit
def read(x, table, cells, idx, values):
    n, at = idx.shape[0], cells.ctypes.data
    text, real, whole, truth = cells[3], cells[4], cells[5], cells[6]
    names, numbers = cells[7 : 7 + n], cells[7 + n :]
    k, cells[0] = 0, 0
    while next_item(x, at, at + 8, at + 16):
        if k == n:
            return -1
        names[k], numbers[k] = cells[1], cells[2]
        fetch(names[k])
        fetch(numbers[k])
        k += 1
    cells[0] = 0
    for k in range(n):
        kind = peek(numbers[k] + TYPE)
        if kind == real:
            values[k] = as_double(numbers[k])
        elif kind == whole or kind == truth:
            values[k] = as_integer(numbers[k], at)
        else:
            return -1
        if cells[0] != 0 or values[k] - values[k] != 0.0 or peek(names[k] + TYPE) != text:
            return -1
    for k in range(n):
        names[k] = look_up(table, names[k])
        fetch(names[k])
    unknown = 0
    for k in range(n):
        idx[k] = NOWHERE if names[k] == 0 else np.uint32(as_integer(names[k], at))
        unknown += names[k] == 0
    return unknown
"""


class Reader(NamedTuple):
    """The compiled loop, and the cells it works with: position, name and value of an item, the kinds; all names, all values."""

    read: Any
    cells: np.ndarray


@cache
def reader(bits: int) -> Reader | None:
    """Return a reader of dicts of less than 2^bits items; None where Python's objects are not laid out as expected."""
    samples = [kind() for kind in KINDS]
    if [ctypes.c_ssize_t.from_address(id(v) + TYPE).value for v in samples] != [*map(id, KINDS)]:
        return None
    scope = {**engine.python_interface(), "TYPE": TYPE, "NOWHERE": NOWHERE}
    cells = np.array([0, 0, 0, *map(id, KINDS), *[0] * (2 << bits)])
    return Reader(engine.build("dicts", TEXT, scope, nogil=False)["read"], cells)


def places(x: Mapping[Any, Any], table: dict[Any, int]) -> tuple[np.ndarray, np.ndarray, int] | None:
    """Return the places of the names (NOWHERE if unknown), the values, and how many are unknown; None if it is not for us."""
    if type(x) not in DICTS or engine.interpreting():
        return None
    n = len(x)
    found = reader(n.bit_length())
    if found is None:
        return None
    idx, values = np.empty(n, np.uint32), np.empty(n)
    unknown = found.read(id(x), id(table), found.cells, idx, values)
    return None if unknown < 0 else (idx, values, unknown)
