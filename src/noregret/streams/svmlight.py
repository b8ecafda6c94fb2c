"""svmlight and libsvm text: `label [qid:n] number:value ... [# comment]`.

Feature numbers stay as written, from 0 or from 1. Rows come out sorted, equal numbers summed; zeros that are written are kept.
A row without features is a row.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..engine.compiling import compiled
from ..engine.words import rare, strict
from ..inputs.checking import Rows
from .numbers import Odd, byte, digits8, number, number_apart, odd, settle, tens
from .text_reader import ABSENT, REQUIRED, Block, Parsed, TextReader, note_bad, room_for_bad

TOP = (1 << 32) - 2  # the largest feature number
NO_LABEL, LABEL, NO_FEATURE, NO_COLON, NO_SPACE, NUMBER_RANGE, GROUP, SUM, PAIRS, COUNT = 3, 4, 5, 6, 7, 8, 9, 10, 11, 12
EXPECTED = {
    1: "a finite number",
    2: "a finite number (at most 1.797e308)",
    NO_LABEL: "a label at the beginning of the line (a number, then a space)",
    LABEL: "no label, as on the first line (features as number:value)",
    NO_FEATURE: "a feature as number:value",
    NO_COLON: "a colon after the number of a feature (number:value)",
    NO_SPACE: "a space or the end of the line after a number",
    NUMBER_RANGE: f"a feature number from 0 to {TOP}",
    GROUP: "one query after the label, as qid: and a whole number of at most 18 digits",
    SUM: "values of equal feature numbers with a finite sum",
}


class Out(NamedTuple):
    """Where the parser writes: rows as CSR, labels, queries (-1 for none)."""

    indptr: np.ndarray
    indices: np.ndarray
    values: np.ndarray
    labels: np.ndarray
    groups: np.ndarray


class Spare(NamedTuple):
    """Room to sort a row."""

    keys: np.ndarray
    values: np.ndarray


# ---- compiled --------------------------------------------------------------------------------------------------------
def line_end(text, p):
    """Return where the newline at or after p is."""
    while byte(text, p) != 10:
        p += 1
    return p


@rare
@strict
def tidy(indices, values, a, b, spare):
    """Sort the features a to b of a row, sum equal ones; return where the row ends then, -1 if a sum is not finite."""
    n = b - a
    for k in range(n):
        spare.keys[k] = np.uint64(indices[a + k]) << np.uint64(32) | np.uint64(k)
        spare.values[k] = values[a + k]
    gap = 1
    while gap < n // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for k in range(gap, n):
            key, j = spare.keys[k], k
            while j >= gap and spare.keys[j - gap] > key:
                spare.keys[j] = spare.keys[j - gap]
                j -= gap
            spare.keys[j] = key
        gap //= 3
    end = a - 1
    finite = True
    for k in range(n):
        i = np.int64(spare.keys[k] >> np.uint64(32))
        v = spare.values[np.int64(spare.keys[k] & np.uint64(0xFFFFFFFF))]
        if end >= a and np.int64(indices[end]) == i:
            values[end] += v
            finite = finite and abs(values[end]) <= 1.7976931348623157e308
        else:
            end += 1
            indices[end] = i
            values[end] = v
    return end + 1 if finite else np.int64(-1)


@rare
def group_at(text, p):
    """Return the number of a query written at p as qid:n, where it ends, and whether it is one."""
    if byte(text, p + 1) != 105 or byte(text, p + 2) != 100 or byte(text, p + 3) != 58:
        return np.int64(-1), p, GROUP
    start = p = p + 4
    group = 0
    while 48 <= byte(text, p) <= 57 and p - start < 19:
        group = group * 10 + byte(text, p) - 48
        p += 1
    return group, p, GROUP if p == start or p - start > 18 or byte(text, p) > 32 else 0


@rare
@strict
def label_at(text, p, labelled, table, odd):
    """Return the label at p, where what follows begins, and what was wrong."""
    y, q, fault = number_apart(text, p, table, odd)
    if byte(text, q) == 58 or byte(text, p) == 113:
        return 0.0, p, NO_LABEL if labelled == REQUIRED else 0
    if fault > 0:
        return y, q, NO_LABEL if q == p else fault
    if byte(text, q) > 32 and byte(text, q) != 35:
        return y, q, NO_SPACE
    return y, p if labelled == ABSENT else q, LABEL if labelled == ABSENT else 0


@rare
def miscounted(text, p, n, a, b, values):
    """Return where a line of n word:count goes wrong and how: as many pairs as it says, each count whole and not negative."""
    if b - a != n:
        return p, PAIRS
    for k in range(a, b):
        if values[k] < 0.0 or values[k] != np.floor(values[k]):
            for _ in range(k - a + 1):
                while byte(text, p) != 58:
                    p += 1
                p += 1
            return p, COUNT
    return p, 0


def more_digits(text, p, index):
    """Return a feature number with the digits after its first eight, and where it ends; any that is too large stays so."""
    while 48 <= byte(text, p) <= 57:
        index = min(index * 10 + byte(text, p) - 48, 1 << 40)
        p += 1
    return index, p


@strict  # all the way down: what a function that is not strict calls, is not either
def parse_svmlight(text, p, end, mask, most, labelled, counted, stop, table, odd, out, spare, bad):
    """Parse whole lines; return rows, features, lines, where it stopped, the largest number, whether queries occur, bad lines.

    Where words are `counted`, the label of a line is how many there are.
    """
    rows, stored, lines, faults, top, grouped = 0, 0, 0, 0, 0, False
    out.indptr[0] = 0
    while p < end:
        line = p
        c = byte(text, p)
        while c == 32 or c == 9 or c == 13:
            p += 1
            c = byte(text, p)
        if c == 35:
            p = line_end(text, p)
            c = 10
        if c == 10:
            p += 1
            lines += 1
            continue
        first, before, falls, group = stored, -1, False, -1
        y, p, fault = label_at(text, p, labelled, table, odd)
        while fault == 0:
            c = byte(text, p)
            if c == 32:
                p += 1
                c = byte(text, p)
            if 48 <= c <= 57:
                whole, n = digits8(text, p)
                index, q = np.int64(whole), p + n
                if n == 8:
                    index, q = more_digits(text, q, index)
                if byte(text, q) != 58:
                    p, fault = q, NO_COLON
                    break
                if index > most:
                    fault = NUMBER_RANGE
                    break
                v, p, fault = number(text, q + 1, table, odd)
                if fault > 0:
                    break
                c = byte(text, p)
                if c > 32 and c != 35:
                    fault = NO_SPACE
                    break
                index &= mask
                out.indices[np.uintp(stored)] = index
                out.values[np.uintp(stored)] = v
                stored += 1
                falls |= index <= before
                before = index
                top = max(top, index)
            elif c == 10:
                break
            elif c == 32 or c == 9 or c == 13:
                p += 1
            elif c == 35:
                p = line_end(text, p)
            elif c == 113 and stored == first and group < 0 and not counted:
                group, p, fault = group_at(text, p)
            else:
                fault = NO_FEATURE
        if fault == 0 and counted:
            at, fault = miscounted(text, line, y, first, stored, out.values)
            p = at if fault > 0 else p
        if fault == 0 and falls:
            stored = tidy(out.indices, out.values, first, stored, spare)
            if stored < 0:
                p, fault = line, SUM
        if fault > 0:
            note_bad(bad, faults, rows, lines, line, p, fault)
            faults += 1
            stored = first
            if stop:
                p = line
                break
        else:
            out.labels[rows] = y
            out.groups[rows] = group
            grouped |= group >= 0
            rows += 1
            out.indptr[rows] = stored
        p = line_end(text, p) + 1
        lines += 1
    return rows, stored, lines, p, top, grouped, faults


# ---- the reader ------------------------------------------------------------------------------------------------------
class Room:
    """What one thread needs to parse blocks of up to `size` bytes."""

    def __init__(self, size: int) -> None:
        self.size = size
        most, rows = size // 4 + 2, size // 2 + 2
        self.out = Out(
            np.empty(rows + 1, np.int64), np.empty(most, np.uint32), np.empty(most), np.empty(rows), np.empty(rows, np.int64)
        )
        self.spare = Spare(np.empty(most, np.uint64), np.empty(most))
        self.odd: Odd = odd(size)
        self.bad = room_for_bad(rows)


class SvmlightReader(TextReader):
    """Reads svmlight and libsvm text. `qid`s, where there are any, are the side column `bundle`, -1 for a row without one."""

    kind = "svmlight"
    expected = EXPECTED
    room = Room
    most = TOP  # the largest feature number
    counted = False  # whether a label is how many features follow, each with a count

    def has_label(self, line: bytes) -> bool | None:
        """Return whether a line begins with a label, None if it holds no example."""
        words = line.partition(b"#")[0].split()
        return b":" not in words[0] if words else None

    def note(self, rows: Rows) -> None:
        """Note the smallest number of a feature: files are numbered from 0 or from 1."""
        _, numbers, _ = rows.arrays
        if self.hash_bits is None and len(numbers) and self.least != 0:
            least = int(numbers.min())
            self.least = least if self.least is None else min(self.least, least)

    def parse(self, block: Block, room: Any, labelled: int) -> Parsed:
        """Parse a block."""
        bits = self.hash_bits
        mask = (1 << (62 if bits is None else bits)) - 1
        room.odd.counts[:] = 0
        while True:
            args = (
                block.text,
                block.start,
                block.end,
                mask,
                self.most,
                labelled,
                self.counted,
                self.stops,
                tens(),
                room.odd,
                room.out,
                room.spare,
                room.bad,
            )
            rows, stored, lines, at, top, grouped, faults = compiled(parse_svmlight)(*args)
            if not settle(block.text, room.odd):
                break
        out = room.out
        arrays = (out.indptr[: rows + 1].copy(), out.indices[:stored].copy(), out.values[:stored].copy())
        return Parsed(
            Rows("csr", arrays, rows, int(top) + 1 if bits is None else 1 << bits).beside(
                bundle=out.groups[:rows].copy() if grouped else None
            ),
            out.labels[:rows].copy() if labelled == REQUIRED else None,
            lines,
            at - block.start,
            self.bad_lines(block, room.bad, faults),
            room.bad.gaps[:faults].copy(),
        )
