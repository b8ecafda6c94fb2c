"""Dicts of names and numbers, read by compiled code through Python's C interface in a quarter of the time that Python takes.

Only what runs no Python code on the way is read so: names of type str, values of type float, int or bool, all finite. The rest is
left to the caller, and so are the errors. Strings fresh from a tokenizer lie anywhere in memory, so everything is done in passes
over all names, each of which fetches ahead what the next one looks at. Nothing changes before everything has been checked.
"""

from __future__ import annotations

import ctypes
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ..engine import compiling
from .hashing import murmur

PLACE = np.dtype(np.uint32)  # ready made: NumPy takes longer to make one than to make an array
NOWHERE = 0xFFFFFFFF  # the place of a name that the book does not know
UNKNOWN, MEET = 1, 2  # bits: there are such names; two names have one place
REFUSED, CROWDED = -1, -2  # this dict is not for compiled code; the index has too little room
TYPE, HASH, SPELLING = 8, 24, 48  # where an object says what it is, and a str its hash and (about) its letters, in bytes
DICTS = (dict, Counter, defaultdict)  # they keep and give their items as dict does
KINDS = (str, float, int, bool)

TEXT = """
@jit
def hash_of(name):
    h = peek(name + HASH)
    return h if h != -1 else compute_hash(name)


@jit
def seek(slots, name, h):
    mask = slots.shape[0] // 2 - 1
    j = h & mask
    while slots[2 * j + 1] != 0:
        if (slots[2 * j] ^ h) >> 32 == 0 and (slots[2 * j + 1] == name or compare(slots[2 * j + 1], name) == 0):
            return j
        j = (j + 1) & mask
    return j


@jit
def note(slots, name, h, place):
    j = seek(slots, name, h)
    slots[2 * j] = h >> 32 << 32 | place
    slots[2 * j + 1] = name


@jit
def catch_up(book, told, slots, cells, at):
    cells[0] = told[0]
    while next_item(book, at, at + 8, at + 16):
        name, kind = cells[1], peek(cells[1] + TYPE)
        if kind == cells[3]:
            note(slots, name, hash_of(name), as_integer(cells[2], at + 16))
        elif is_subtype(kind, cells[3]):  # NumPy's str, which equals Python's
            note(slots, name, compute_hash(name), as_integer(cells[2], at + 16))
    told[0], told[1] = cells[0], count_of(book)


@jit
def read(x, book, told, slots, first, bits, room, cells, idx, values):
    n, at, home, mask = idx.shape[0], cells.ctypes.data, slots.ctypes.data, slots.shape[0] // 2 - 1
    if 3 * (count_of(book) + n) > slots.shape[0]:
        return CROWDED
    if told[1] < count_of(book):
        catch_up(book, told, slots, cells, at)
    text, real, whole, truth = cells[3], cells[4], cells[5], cells[6]
    names, others, hashes = cells[7 : 7 + n], cells[7 + n : 7 + 2 * n], cells[7 + 2 * n :]
    k, cells[0] = 0, 0
    while next_item(x, at, at + 8, at + 16):
        if k == n:
            return REFUSED
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
            return REFUSED
        if cells[0] != 0 or values[k] - values[k] != 0.0 or peek(names[k] + TYPE) != text:
            return REFUSED
        hashes[k] = hash_of(names[k])
        fetch(home + 16 * (hashes[k] & mask))
    for k in range(n):
        j = hashes[k] & mask
        while slots[2 * j + 1] != 0 and (slots[2 * j] ^ hashes[k]) >> 32 != 0:
            j = (j + 1) & mask
        others[k] = j
        fetch(slots[2 * j + 1] + SPELLING)
    said = 0
    for k in range(n):
        j = others[k]
        name = slots[2 * j + 1]
        if name != 0 and name != names[k] and compare(name, names[k]) != 0:  # another name with half the hash
            j = seek(slots, names[k], hashes[k])
            name = slots[2 * j + 1]
        others[k] = name
        if name != 0:
            idx[k] = np.uint32(slots[2 * j] & NOWHERE)
        elif bits > 0:
            spelt = as_utf8(names[k], at)
            if spelt == 0:
                forgive()
                return REFUSED
            idx[k] = np.uint32(murmur(letters(spelt), 0, cells[0]) & ((1 << bits) - 1))
        elif room == 0:
            idx[k] = np.uint32(NOWHERE)
            said = UNKNOWN
    for k in range(n):
        if others[k] == 0 and count_of(book) < room:
            if bits == 0:
                idx[k] = np.uint32(count_of(book) + first)
            place = new_integer(np.int64(idx[k]))
            enter(book, names[k], place)
            release(place)
            note(slots, names[k], hashes[k], np.int64(idx[k]))
            told[1] += 1
    return said | MEET if bits > 0 and meet(idx, cells[7 + n :]) else said


@jit
def read_rows(where, indptr, book, told, slots, first, bits, room, cells, idx, values, said, halt):
    for i in range(where.shape[0]):
        a, b = indptr[i], indptr[i + 1]
        said[i] = read(where[i], book, told, slots, first, bits, room, cells, idx[a:b], values[a:b])
        if said[i] < 0 or said[i] & halt:
            return i
    return where.shape[0]
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


class Index(NamedTuple):
    """An open table of the names of a book that are text.

    A slot is half of the hash with the place, and the address of the name, 0 if empty: the book keeps the name alive.
    """

    told: np.ndarray  # how far the book has been read, and how many names it had then
    slots: np.ndarray


class Book(dict[Any, int]):
    """Names with their places; names are added and never removed. Compiled code finds them by an index, made when needed."""

    index = Index(np.zeros(2, np.int64), np.zeros(0, np.int64))

    def make_room(self, n: int) -> None:
        """Begin a new index, with room for n more names."""
        self.index = Index(np.zeros(2, np.int64), np.zeros(4 << (len(self) + n).bit_length(), np.int64))

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k != "index"}  # addresses mean nothing elsewhere


class Reader(NamedTuple):
    """The compiled loops, and their cells: position, name and value of one item, the kinds; three for each name."""

    read: Any
    read_rows: Any
    cells: np.ndarray


@cache
def reader(bits: int) -> Reader | None:
    """Return a reader of dicts of less than 2^bits items; None where Python's objects are not laid out as expected."""
    samples = ["", 0.0, 0, False]
    laid = [ctypes.c_ssize_t.from_address(id(v) + TYPE).value for v in samples]
    if laid != [*map(id, KINDS)] or ctypes.c_ssize_t.from_address(id(__name__) + HASH).value != hash(__name__):
        return None
    scope = {name: globals()[name] for name in ("CROWDED", "HASH", "MEET", "NOWHERE", "REFUSED", "SPELLING", "TYPE", "UNKNOWN")}
    scope |= {"meet": meet, "murmur": murmur}
    cells = np.array([0, 0, 0, *map(id, KINDS), *[0] * (5 << bits)])
    made = compiling.build("dicts", TEXT, scope, nogil=False, later=compiling.python_interface)
    return Reader(made["read"], made["read_rows"], cells)


def read(
    x: Mapping[Any, Any], book: Book, first: int = 0, bits: int = 0, room: int = 0
) -> tuple[np.ndarray, np.ndarray, int] | None:
    """Return the places of the names, the values, and what is to be said of them; None if this dict is not for us.

    A name that is not in the book has the place of its hash in 2^bits; or, without bits, the next one from `first` on; or none
    (NOWHERE). It is entered while the book has less than `room` names.
    """
    if type(x) not in DICTS or compiling.interpreting():
        return None
    n = len(x)
    found = reader(n.bit_length())
    if found is None:
        return None
    idx, values = np.empty(n, PLACE), np.empty(n)
    said = found.read(id(x), id(book), *book.index, first, bits, room, found.cells, idx, values)
    if said == CROWDED:
        book.make_room(n)
        said = found.read(id(x), id(book), *book.index, first, bits, room, found.cells, idx, values)
    return None if said < 0 else (idx, values, said)


def read_many(
    examples: Sequence[Mapping[Any, Any]], book: Book, first: int = 0, bits: int = 0, room: int = 0, halt: int = 0
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray] | None:
    """Return the same of many dicts, one after the other: where each begins, places, values, and what is to be said of each.

    None also if what is to be said of one of them is `halt`.
    """
    if compiling.interpreting() or not all(type(x) in DICTS for x in examples):
        return None
    n = len(examples)
    indptr = np.zeros(n + 1, np.int64)
    np.cumsum(np.fromiter(map(len, examples), np.int64, n), out=indptr[1:])
    found = reader(int(np.diff(indptr).max(initial=0)).bit_length())
    if found is None:
        return None
    where = np.fromiter(map(id, examples), np.int64, n)
    idx, values, said = np.empty(indptr[-1], PLACE), np.empty(indptr[-1]), np.zeros(n, np.int64)
    at = 0
    while at < n:
        at += found.read_rows(
            where[at:], indptr[at:], id(book), *book.index, first, bits, room, found.cells, idx, values, said[at:], halt
        )
        if at < n and said[at] != CROWDED:
            return None
        if at < n:
            book.make_room(len(examples[at]))
    return indptr, idx, values, said
