"""Dicts of names and numbers, read by compiled code through Python's C interface in a third of the time that Python takes.

Only what runs no Python code on the way is read so: names of type str, values of type float, int or bool, all finite. The rest is
left to whoever asks, and so are the errors. The addresses of all names and values are gathered first and fetched ahead, because
strings fresh from a tokenizer lie anywhere in memory. Nothing changes before everything has been checked.
"""

from __future__ import annotations

import ctypes
from collections import Counter, defaultdict
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from . import engine
from .hashing import murmur

NOWHERE = 0xFFFFFFFF  # the place of a name that the table does not know
UNKNOWN, MEET = 1, 2  # bits: there are such names; two names have one place
TYPE = 8  # where an object says what it is, in bytes from its beginning
DICTS = (dict, Counter, defaultdict)  # they keep and give their items as dict does
KINDS = (str, float, int, bool)

TEXT = """
@jit
def read(x, table, first, bits, room, cells, idx, values):
    n, at = idx.shape[0], cells.ctypes.data
    text, real, whole, truth = cells[3], cells[4], cells[5], cells[6]
    names, others = cells[7 : 7 + n], cells[7 + n : 7 + 2 * n]
    k, cells[0] = 0, 0
    while next_item(x, at, at + 8, at + 16):
        if k == n:
            return -1
        names[k], others[k] = cells[1], cells[2]
        fetch(names[k])
        fetch(others[k])
        k += 1
    cells[0] = 0
    for k in range(n):
        kind = peek(others[k] + TYPE)
        if kind == real:
            values[k] = as_double(others[k])
        elif kind == whole or kind == truth:
            values[k] = as_integer(others[k], at)
        else:
            return -1
        if cells[0] != 0 or values[k] - values[k] != 0.0 or peek(names[k] + TYPE) != text:
            return -1
    for k in range(n):
        others[k] = look_up(table, names[k])
        fetch(others[k])
    found = 0
    for k in range(n):
        if others[k] != 0:
            idx[k] = np.uint32(as_integer(others[k], at))
        elif bits > 0:
            spelt = as_utf8(names[k], at)
            if spelt == 0:
                forgive()
                return -1
            idx[k] = np.uint32(murmur(letters(spelt), 0, cells[0]) & ((1 << bits) - 1))
        elif room == 0:
            idx[k] = np.uint32(NOWHERE)
            found = UNKNOWN
    for k in range(n):
        if others[k] == 0 and count_of(table) < room:
            if bits == 0:
                idx[k] = np.uint32(count_of(table) + first)
            place = new_integer(np.int64(idx[k]))
            enter(table, names[k], place)
            release(place)
    return found | MEET if bits > 0 and meet(idx, cells[7 + n :]) else found
"""


def meet(idx: Any, cells: Any) -> bool:
    """Return whether two of the places are one; there are 4 cells or more for each."""
    size = 1
    while 2 * size <= cells.shape[0]:
        size *= 2
    cells[:size] = -1
    for k in range(idx.shape[0]):
        i, at = np.int64(idx[k]), np.int64(idx[k]) & (size - 1)
        while cells[at] != -1:
            if cells[at] == i:
                return True
            at = (at + 1) & (size - 1)
        cells[at] = i
    return False


class Reader(NamedTuple):
    """The compiled loop, and its cells: position, name and value of one item, the kinds; all names, and what goes with each."""

    read: Any
    cells: np.ndarray


@cache
def reader(bits: int) -> Reader | None:
    """Return a reader of dicts of less than 2^bits items; None where Python's objects are not laid out as expected."""
    samples = [kind() for kind in KINDS]
    if [ctypes.c_ssize_t.from_address(id(v) + TYPE).value for v in samples] != [*map(id, KINDS)]:
        return None
    scope = {"TYPE": TYPE, "NOWHERE": NOWHERE, "UNKNOWN": UNKNOWN, "MEET": MEET, "meet": meet, "murmur": murmur}
    cells = np.array([0, 0, 0, *map(id, KINDS), *[0] * (5 << bits)])
    return Reader(engine.build("dicts", TEXT, engine.python_interface() | scope, nogil=False)["read"], cells)


def read(
    x: Mapping[Any, Any], table: dict[Any, int], first: int = 0, bits: int = 0, room: int = 0
) -> tuple[np.ndarray, np.ndarray, int] | None:
    """Return the places of the names, the values, and what is to be said of them; None if this dict is not for us.

    A name that is not in the table has the place of its hash in 2^bits; or, without bits, the next one from `first` on; or none
    (NOWHERE). It is entered while the table has less than `room` names.
    """
    if type(x) not in DICTS or engine.interpreting():
        return None
    n = len(x)
    found = reader(n.bit_length())
    if found is None:
        return None
    idx, values = np.empty(n, np.uint32), np.empty(n)
    said = found.read(id(x), id(table), first, bits, room, found.cells, idx, values)
    return None if said < 0 else (idx, values, said)
