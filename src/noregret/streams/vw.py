"""Vowpal Wabbit text: `[label [weight [base]]] ['tag] |namespace[:scale] name[:value] ... |...`, names hashed as VW hashes them.

A whole number as a name is itself plus the hash of its namespace; other names are murmur3 with that hash as seed; `name:word` is a
separate feature, hashed on from the name. Features that are 0 are left out, equal ones (also by collision) are summed. The base
(an initial prediction) is checked and left out. Without a space before the bar the last word is the tag, as in VW: `1|a` has
no label. Tags are the ids of a batch. Products of namespaces are in `vw_crosses.py`.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..engine.compiling import compiled
from ..engine.words import rare, strict
from ..inputs.batch import Batch, Position
from ..inputs.checking import Rows
from ..inputs.hashing import HALF, finished, stirred
from ..transforms.namespaces import Namespaces
from .numbers import (
    HIGH_BITS,
    LARGEST,
    ONE,
    Odd,
    byte,
    digits8,
    first_marked,
    load4,
    load8,
    number,
    number_apart,
    odd,
    settle,
    tens,
)
from .svmlight import SUM, Spare, line_end, tidy
from .text_reader import ABSENT, REQUIRED, Block, Parsed, TextReader, note_bad, room_for_bad
from .vw_crosses import (
    MOST,
    NO_ROOM,
    NOT_FINITE,
    Crossed,
    Spans,
    Uncrossed,
    cross_row,
    crosses_from,
    crosses_rows,
    open_row,
    open_span,
)

SEEN_BITS = 12
SEEN = 1 << SEEN_BITS  # places of the table that finds equal features; rows more than half as long are sorted instead
EACH = np.uint64(0x0101010101010101)
BLANKS = EACH * np.uint64(33)
COLONS = EACH * np.uint64(58)
BARS = EACH * np.uint64(124)

NO_LABEL, LABEL, NO_BAR, LABEL_WORD, MANY_WORDS, WEIGHT, SCALE, NO_SPACE, PRODUCT = 3, 4, 5, 6, 7, 8, 9, 11, 12
CROSS, CROSSES = 13, 14
CROSSED_BLOCK = 1 << 16  # bytes of a block whose rows are crossed: a row may have as many products as its square
EXPECTED = {
    1: "a finite number after the colon",
    2: "a finite number (at most 1.797e308)",
    NO_LABEL: "a label and a space before the first |",
    LABEL: "no label, as on the first line",
    NO_BAR: "a bar (|) before the features",
    LABEL_WORD: "a number for the label, the weight or the base (a tag begins with ' or touches the bar)",
    MANY_WORDS: "at most a label, a weight, a base and a tag before the first |",
    WEIGHT: "a weight of at least 0",
    SCALE: "a name or a space after |, and a finite number after the colon of a namespace",
    NO_SPACE: "a space, | or the end of the line after a number",
    SUM: "values of equal features with a finite sum",
    PRODUCT: "a finite product of the value and the scale of its namespace",
    CROSS: "finite products of crossed features",
    CROSSES: f"at most {MOST:,} products of crossed features in a row",
}


class Out(NamedTuple):
    """Where the parser writes: rows as CSR, labels, weights, and where the tags are."""

    indptr: np.ndarray
    indices: np.ndarray
    values: np.ndarray
    labels: np.ndarray
    weights: np.ndarray
    tags: np.ndarray


class Seen(NamedTuple):
    """The features of the row so far: number of the line and hash, and where each was stored."""

    keys: np.ndarray
    places: np.ndarray


# ---- names -----------------------------------------------------------------------------------------------------------
def marks(word, pattern):
    """Mark the bytes of a word that equal those of a pattern (the first mark is true, later ones may not be)."""
    x = word ^ pattern
    return (x - EACH) & ~x & HIGH_BITS


def name_end(text, p):
    """Return where the name at p ends: at a blank, a colon or a bar."""
    while True:
        word = load8(text, p)
        found = ((word - BLANKS) & ~word & HIGH_BITS) | marks(word, COLONS) | marks(word, BARS)
        p += first_marked(found)
        if found != np.uint64(0):
            c = byte(text, p)
            if c >= 32 or c == 10 or c == 9 or c == 13:
                return p
            p += 1  # another control character is part of the name


def murmur(text, a, b, seed):
    """Return MurmurHash3 of text[a:b], four bytes at a time: there is room to read past the end."""
    h = seed
    whole = a + ((b - a) & ~3)
    for p in range(a, whole, 4):
        h = stirred(h, load4(text, p))
    return finished(h, load4(text, whole) & ((ONE << np.uint64(8 * (b - whole))) - ONE), b - a)


def hash_name(text, a, b, seed):
    """Return the hash of a name as VW has it: a whole number is itself plus the seed."""
    while a < b and byte(text, a) <= 32:  # VW drops control characters at both ends
        a += 1
    while a < b and byte(text, b - 1) <= 32:
        b -= 1
    if a == b or 48 <= byte(text, a) <= 57:
        whole, n = digits8(text, a)
        p = a + min(n, b - a)
        while p < b and 48 <= byte(text, p) <= 57:
            whole = whole * np.uint64(10) + np.uint64(byte(text, p) - 48)
            p += 1
        if p == b:
            return ((whole if a < b else np.uint64(0)) + seed) & HALF
    return murmur(text, a, b, seed)


@rare
def hash_apart(text, a, b, seed):
    """Return what `hash_name` does, without being copied to where it is called from."""
    return hash_name(text, a, b, seed)


def spells(text, p, word):
    """Return whether the three letters at p are those of a word, in either case."""
    return byte(text, p) | 32 == word[0] and byte(text, p + 1) | 32 == word[1] and byte(text, p + 2) | 32 == word[2]


@rare
def no_word(text, a, b):
    """Return whether text[a:b] cannot be the word of a feature: empty, or a number that is not finite."""
    short = b - a == 3 and (spells(text, a, (110, 97, 110)) or spells(text, a, (105, 110, 102)))
    return a == b or short or (b - a == 8 and spells(text, a, (105, 110, 102)) and spells(text, a + 3, (105, 110, 105)))


# ---- one line --------------------------------------------------------------------------------------------------------
@rare
@strict
def head(text, p, bar, labelled, table, odd):
    """Read what stands before the first bar; return label, weight, where the tag begins and ends, where it went wrong, how."""
    y, weight, words = 0.0, 1.0, 0
    first = p
    while True:
        while byte(text, p) <= 32 and p < bar:
            p += 1
        if p == bar:
            a, b = bar, bar
            break
        end = p
        while end < bar and byte(text, end) > 32:
            end += 1
        if byte(text, p) == 39 or end == bar:
            a, b = p + (byte(text, p) == 39), end
            p = end
            while p < bar and byte(text, p) <= 32:
                p += 1
            if p < bar:
                return y, weight, a, b, p, MANY_WORDS
            break
        v, q, fault = number_apart(text, p, table, odd)
        if fault > 0 or q < end:
            return y, weight, bar, bar, q, fault if fault == 2 else LABEL_WORD
        if words == 0:
            y = v
        elif words == 1:
            weight = v
            if v < 0.0:
                return y, weight, bar, bar, p, WEIGHT
        elif words > 2:
            return y, weight, bar, bar, p, MANY_WORDS
        words += 1
        p = end
    if words == 0 and labelled == REQUIRED:
        return y, weight, a, b, first, NO_LABEL
    if words > 0 and labelled == ABSENT:
        return y, weight, a, b, first, LABEL
    return y, weight, a, b, bar, 0


@rare
@strict
def namespace(text, p, table, odd):
    """Read the name and scale of a namespace after a bar; return its hash, its scale, where it ends, what was wrong."""
    end = name_end(text, p)
    seed, scale, fault = np.uint64(0), 1.0, 0
    if end > p:
        seed = hash_apart(text, p, end, np.uint64(0))
        if byte(text, end) == 58:
            scale, end, fault = number_apart(text, end + 1, table, odd)
    c = byte(text, end)
    return seed, scale, end, SCALE if fault > 0 or (c > 32 and c != 124) else 0


@strict
def place(indices, values, first, stored, index, v, stamp, seen):
    """Store a feature of the row that began at `first`, or add it to its equal; return where the row ends."""
    if stored - first < SEEN // 2:
        key = np.uint64(stamp) << np.uint64(32) | index
        slot = np.int64(((index * np.uint64(0x9E3779B1)) & HALF) >> np.uint64(32 - SEEN_BITS))
        while seen.keys[np.uintp(slot)] >> np.uint64(32) == np.uint64(stamp):
            if seen.keys[np.uintp(slot)] == key:
                values[np.uintp(seen.places[np.uintp(slot)])] += v
                return stored
            slot = (slot + 1) & (SEEN - 1)
        seen.keys[np.uintp(slot)] = key
        seen.places[np.uintp(slot)] = stored
    indices[np.uintp(stored)] = index
    values[np.uintp(stored)] = v
    return stored + 1


@strict
def features(text, p, mask, table, odd, out, stored, stamp, seen, crossed):
    """Read the features of a line from its first bar on; return where they end in the row and the text, and what was wrong."""
    # What is to be crossed stays apart: as after many features, none is looked up.
    first = stored - SEEN if crosses_rows(crossed) else stored
    seed, scale, anonymous = np.uint64(0), 1.0, np.uint64(0)
    open_row(crossed)
    while True:
        c = byte(text, p)
        if c == 32:
            p += 1
            c = byte(text, p)
        if c == 10:
            return stored, p, 0
        if c == 32 or c == 9 or c == 13:
            p += 1
            continue
        if c == 124:
            if crosses_rows(crossed):
                open_span(p + 1, name_end(text, p + 1), stored, crossed)
            seed, scale, p, fault = namespace(text, p + 1, table, odd)
            anonymous = np.uint64(0)
            if fault > 0:
                return stored, p, fault
            continue
        end = name_end(text, p)
        if end > p:
            index = hash_name(text, p, end, seed)
        else:
            index = seed + anonymous
            anonymous += ONE
        v, p = 1.0, end
        if byte(text, p) == 58:
            v, p, fault = number(text, end + 1, table, odd)
            if fault > 0:
                word = name_end(text, p)
                if p > end + 1 or no_word(text, p, word):
                    return stored, p, fault
                v, index, p = 1.0, hash_apart(text, p, word, index), word
            c = byte(text, p)
            if c > 32 and c != 124:
                return stored, p, NO_SPACE
        v *= scale
        if abs(v) > LARGEST:
            return stored, p, PRODUCT
        if v != 0.0:
            stored = place(out.indices, out.values, first, stored, index & mask, v, stamp, seen)


@rare
def finite(values, a, b):
    """Return whether values[a:b] are finite."""
    total = 0.0
    for k in range(a, b):
        total += 0.0 * values[k]
    return total == 0.0


@strict
def parse_vw(text, p, end, mask, labelled, stop, table, odd, out, spare, seen, bad, crossed):
    """Parse whole lines; return rows, features, lines, where it stopped, whether weights and tags occur, bad lines.

    Fewer than 0 bad lines say that there is no room for the products of crosses.
    """
    rows, stored, lines, faults, weighted, tagged = 0, 0, 0, 0, False, False
    out.indptr[0] = 0
    for k in range(SEEN):
        seen.keys[k] = np.uint64(0)
    while p < end:
        line = p
        while byte(text, p) == 32 or byte(text, p) == 9 or byte(text, p) == 13:
            p += 1
        if byte(text, p) == 10:
            p += 1
            lines += 1
            continue
        bar = p
        while byte(text, bar) != 124 and byte(text, bar) != 10:
            bar += 1
        first, fault = stored, NO_BAR
        y, weight, a, b = 0.0, 1.0, 0, 0
        if byte(text, bar) == 124:
            y, weight, a, b, p, fault = head(text, p, bar, labelled, table, odd)
        else:
            p = bar
        if fault == 0:
            stored, p, fault = features(text, p, mask, table, odd, out, stored, lines + 1, seen, crossed)
        if fault == 0 and crosses_rows(crossed):
            stored = cross_row(text, out, stored, mask, crossed)
            if stored == NO_ROOM:
                return rows, first, lines, line, weighted, tagged, -1
            if stored < 0:
                p, fault = line, CROSS if stored == NOT_FINITE else CROSSES
        if fault == 0 and (crosses_rows(crossed) or stored - first > SEEN // 2):
            stored = tidy(out.indices, out.values, first, stored, spare)
        if fault == 0 and (stored < 0 or not finite(out.values, first, stored)):
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
            out.weights[rows] = weight
            out.tags[rows, 0] = a
            out.tags[rows, 1] = b
            weighted |= weight != 1.0
            tagged |= b > a
            rows += 1
            out.indptr[rows] = stored
        p = line_end(text, p) + 1
        lines += 1
    return rows, stored, lines, p, weighted, tagged, faults


# ---- the reader ------------------------------------------------------------------------------------------------------
class Room:
    """What one thread needs to parse blocks of up to `size` bytes."""

    def __init__(self, size: int) -> None:
        self.size = size
        most = size // 2 + 2
        indptr, indices, tags = np.empty(most + 1, np.int64), np.empty(most, np.uint32), np.empty((most, 2), np.int64)
        self.out = Out(indptr, indices, np.empty(most), np.empty(most), np.empty(most), tags)
        self.spare = Spare(np.empty(most, np.uint64), np.empty(most))
        self.seen = Seen(np.empty(SEEN, np.uint64), np.empty(SEEN, np.int64))
        self.odd: Odd = odd(size)
        self.bad = room_for_bad(most)

    @cached_property
    def spans(self) -> Spans:
        """Room to note where namespaces begin, for rows that are crossed."""
        return Spans(np.empty((self.size // 2 + 2, 3), np.int64), np.zeros(1, np.int64))

    def widen(self) -> None:
        """Double the room for features."""
        most = 2 * len(self.out.values)
        self.out = self.out._replace(indices=np.empty(most, np.uint32), values=np.empty(most))
        self.spare = Spare(np.empty(most, np.uint64), np.empty(most))


class VwReader(TextReader):
    """Reads Vowpal Wabbit text into 2^hash_bits features (18 bits by default), and adds the products of `cross`."""

    kind = "vw"
    expected = EXPECTED
    room = Room

    def __init__(self, source: Any, *, hash_bits: int | None = None, cross: Any = (), block: int = 1 << 21, **options: Any) -> None:
        block = min(block, CROSSED_BLOCK) if cross else block
        super().__init__(source, hash_bits=18 if hash_bits is None else hash_bits, block=block, **options)
        self.cross = Namespaces(cross).crosses
        self._crosses = crosses_from(self.cross)

    def has_label(self, line: bytes) -> bool | None:
        """Return whether a line has a label, None if it holds no example."""
        before, bar, _ = line.partition(b"|")
        if not bar:
            return None
        words = before.split()
        tagged = bool(words) and (words[-1].startswith(b"'") or not before[-1:].isspace())
        return len(words) > tagged

    def batches(self, position: Position | None = None) -> Iterator[Batch]:
        """Yield the examples in order; at the end, warn of a cross that no example has the namespaces of."""
        yield from super().batches(position)
        for c, found in zip(self.cross, self._crosses.found.tolist(), strict=True):
            if found == 0 and self.span == (None, None):
                warnings.warn(f"{self.name}: no row has the namespaces of the cross {','.join(c)!r}", stacklevel=2)

    def parse(self, block: Block, room: Any, labelled: int) -> Parsed:
        """Parse a block."""
        assert self.hash_bits is not None
        text, width = block.text, 1 << self.hash_bits
        mask = np.uint64(width - 1)
        room.odd.counts[:] = 0
        crossed = Crossed(self._crosses, room.spans) if self.cross else Uncrossed()
        while True:
            given = (text, block.start, block.end, mask, labelled, self.stops, tens(), room.odd)
            found = compiled(parse_vw, type(crossed))(*given, room.out, room.spare, room.seen, room.bad, crossed)
            rows, stored, lines, at, weighted, tagged, faults = found
            if faults < 0:
                room.widen()
            if not settle(text, room.odd) and faults >= 0:
                break
        out = room.out
        arrays = (out.indptr[: rows + 1].copy(), out.indices[:stored].copy(), out.values[:stored].copy())
        tags = (text[a:b].tobytes().decode("utf-8", "replace") for a, b in out.tags[:rows].tolist())
        return Parsed(
            Rows("csr", arrays, rows, width).beside(
                weight=out.weights[:rows].copy() if weighted else None, id=np.fromiter(tags, object, rows) if tagged else None
            ),
            out.labels[:rows].copy() if labelled == REQUIRED else None,
            lines,
            at - block.start,
            self.bad_lines(block, room.bad, faults),
            room.bad.gaps[:faults].copy(),
        )
