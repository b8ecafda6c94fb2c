"""Compiled code that makes rows of features from columns of cells, row after row, so that the split into batches cannot show.

Each cell gives pieces, a name and a value: a number `age`, a category `country=DE`, words `body:free` and `body:free money`,
character grams `body~fre`; stop words give none. Crosses are products of pieces, `country=DE&age`. A missing number gives
`age?`; a missing category or text, and a cell that is not there at all, nothing. Pieces of a row with the same number are
summed, in the place of the first.

A name from a text may be held back until it has been met so many times, in this row and all before it: `seen` counts names.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..engine.compiling import compiled
from ..engine.words import strict
from ..inputs.hashing import murmur
from .names import Store, find, slot_of, wider
from .seen import Seen
from .seen import wider as more_names

NUMBER, CATEGORY, TEXT = 0, 1, 2
DATE = 3  # a column of which others are made, before it comes here
DONE, NAMES, ENTRIES, BYTES, PIECES, MEETING, SEEN = 0, 1, 2, 3, 4, 5, 6  # why `encode` stopped: what is full
NUMBERS_ROW, TEXTS_ROW, ROLE, SINCE, NAME, NAME_END, FIRST, LAST, KNOWN, KNOWN_MARK = range(10)  # of a column, see Job
START, END, TAG, HELD, WORD, WORD_END = range(6)  # of a piece; words are in the same array, counted apart
FREE = -1  # instead of the number of a name that is counted: one that no text gave
ROW, FILLED, USED, KEPT, WORDS, COUNTED = range(6)  # counters; names of this row are counted once, however often it is begun
SUM, ONCE, MEASURED = -1, -2, -3  # tags: summed; counted once; a product with numbers. Others: where `columns` keeps their number
TRUE, FALSE = 0x74727565, 0x66616C7365  # in ASCII


class Job(NamedTuple):
    """What is to be encoded, the room to work in, and the rows made so far."""

    numbers: Any  # (columns, rows), NaN where missing, infinite where there is no cell at all
    text: Any  # bytes of the names of the columns and of all texts
    starts: Any  # (columns, rows + 1), of the texts; an empty one is missing
    columns: Any  # rows of numbers and texts (or -1), role, row from which a missing number is marked, name; pieces; known numbers
    crosses: Any  # (crosses, 3): columns, -1 for none
    characters: Any  # by code point: twice the lower case, plus 1 if it belongs to words
    ngrams: int
    shortest: int  # character grams
    longest: int
    least: int  # times that a name of a text is met before it is a feature
    tag: int  # of words
    at: Any  # counters
    bytes: Any  # names of the pieces of this row
    pieces: Any
    values: Any
    meet: Any  # open table of the entries of this row
    indptr: Any
    indices: Any
    data: Any
    measured: Any  # whether an entry is made of numbers: those a scaler is for


@strict
def encode(store, stops, seen, counts, job, learn, bits, limit):
    """Make rows until all are done or something is full; a row begun is begun again."""
    while job.at[ROW] < job.indptr.shape[0] - 1:
        i = job.at[ROW]
        job.at[FILLED] = job.indptr[i]
        job.at[USED] = 0
        job.at[KEPT] = 0
        full = DONE
        for j in range(job.columns.shape[0]):
            full = encode_cell(stops, job, i, j)
            if full != DONE:
                return full
        for k in range(job.crosses.shape[0]):
            full = encode_cross(job, k)
            if full != DONE:
                return full
        if job.least > 1 and learn and not count_names(seen, counts, job):
            return SEEN
        for k in range(job.at[KEPT]):
            if job.least > 1 and learn and job.pieces[k, HELD] >= 0 and counts[job.pieces[k, HELD]] < job.least:
                continue
            tag = job.pieces[k, TAG]
            number = job.columns[tag // 10, tag % 10] if tag >= 0 else np.int64(-3)
            if number == -3:
                number = find(store, job.bytes, job.pieces[k, START], job.pieces[k, END], learn, bits, limit)
                if tag >= 0 and number != -2:
                    job.columns[tag // 10, tag % 10] = number
            if number == -2:
                return NAMES
            if number >= 0:
                full = add(job, number, job.values[k], tag == ONCE, tag == MEASURED or (tag >= 0 and tag % 10 == KNOWN))
                if full != DONE:
                    return full
        job.at[ROW] = i + 1
        job.at[COUNTED] = 0
        job.indptr[i + 1] = job.at[FILLED]
    return DONE


def count_names(seen, counts, job):
    """Count the names that texts gave to this row; return whether there was room for all."""
    for k in range(job.at[KEPT]):
        if job.pieces[k, HELD] == FREE:
            continue
        number = find(seen, job.bytes, job.pieces[k, START], job.pieces[k, END], 1, -1, 0)
        if number < 0 or number >= counts.shape[0]:
            return False
        job.pieces[k, HELD] = number
        if k >= job.at[COUNTED]:
            counts[number] = min(counts[number] + 1, job.least)
            job.at[COUNTED] = k + 1
    return True


@strict
def add(job, number, v, once, measured):
    """Add a value to the row under a number; `once`, an entry that is there stays as it is."""
    start, n = job.indptr[job.at[ROW]], job.at[FILLED]
    mask = np.int64(job.meet.shape[0] - 1)
    at = (number * 0x9E3779B1 >> 7) & mask
    while start <= job.meet[at] < n:  # others were left by earlier rows, or by this one before it was stopped
        k = job.meet[at]
        if np.int64(job.indices[k]) == number:
            job.measured[k] |= measured
            if not once:
                job.data[k] += v
            return DONE
        at = (at + 1) & mask
    if n >= job.indices.shape[0]:
        return ENTRIES
    if 2 * (n - start + 1) > job.meet.shape[0]:
        return MEETING
    job.meet[at] = n
    job.indices[n] = number
    job.data[n] = v
    job.measured[n] = measured
    job.at[FILLED] = n + 1
    return DONE


@strict
def encode_cell(stops, job, i, j):
    """Give the pieces of one cell."""
    a, t = job.columns[j, NUMBERS_ROW], job.columns[j, TEXTS_ROW]
    job.columns[j, FIRST] = job.at[KEPT]
    job.columns[j, LAST] = job.at[KEPT]
    full = DONE
    if t >= 0 and job.starts[t, i] < job.starts[t, i + 1]:
        if job.columns[j, ROLE] == TEXT:
            full = encode_text(stops, job, job.starts[t, i], job.starts[t, i + 1], j)
        else:
            full = encode_category(job, job.starts[t, i], job.starts[t, i + 1], j)
    elif a >= 0 and job.numbers[a, i] < np.inf:
        full = encode_number(job, job.numbers[a, i], KNOWN, j)
    elif a >= 0 and np.isnan(job.numbers[a, i]) and job.columns[j, ROLE] == NUMBER and i >= job.columns[j, SINCE]:
        return encode_number(job, 1.0, KNOWN_MARK, j)  # takes no part in crosses: LAST stays
    job.columns[j, LAST] = job.at[KEPT]
    return full


@strict
def encode_number(job, v, known, j):
    """Give the piece `age`, or the mark `age?` of a missing one; the name is written only where it is needed."""
    lo = job.at[USED]
    if job.columns[j, known] == -3 or job.crosses.shape[0] > 0:
        if not begin(job, j, 1):
            return BYTES
        if known == KNOWN_MARK:
            write(job, 63)  # ?
    return keep(job, lo, v, 10 * j + known, FREE)


@strict
def encode_category(job, lo, hi, j):
    """Give the piece `country=DE`; true and TRUE are `True`."""
    start = job.at[USED]
    if not begin(job, j, 1 + hi - lo):
        return BYTES
    write(job, 61)  # =
    if is_truth(job.text, lo, hi):
        write(job, job.text[lo] & 0xDF)
        for at in range(lo + 1, hi):
            write(job, job.text[at] | 0x20)
    else:
        copy(job, job.text, lo, hi)
    return keep(job, start, 1.0, SUM, FREE)


@strict
def is_truth(text, lo, hi):
    """Return whether a text is `true` or `false` in any case: formats write truth values differently."""
    n = hi - lo
    if n not in (4, 5):
        return False
    word = np.int64(0)
    for at in range(lo, hi):
        word = word << 8 | np.int64(text[at] | 0x20)
    return word in (TRUE, FALSE)


def encode_text(stops, job, lo, hi, j):
    """Give the words of a text in lower case, with their grams."""
    job.at[WORDS] = 0
    inside = False
    start = np.int64(0)
    at = lo
    while at < hi or inside:
        code, step = np.int64(0), np.int64(1)
        if at < hi:
            code, step = decoded(job.text, at, hi)
        at += step
        known = np.int64(job.characters[code]) if code < job.characters.shape[0] else 2 * code + (code < 0xE0000)
        if at <= hi and known & 1:
            if not inside:
                start = job.at[USED]
                if not begin(job, j, 8 + 2 * (hi - at + step)):  # lower case may take more bytes
                    return BYTES
                write(job, 58)  # :
                inside = True
            put(job, known >> 1)
        elif inside:
            inside = False
            full = DONE if is_stop(stops, job, start, j) else finish(job, start, j)
            if full != DONE:
                return full
    return DONE


def is_stop(stops, job, start, j):
    """Return whether the word that ends here is one to leave out."""
    if stops.size[0] == 0:
        return False
    lo, hi = start + job.columns[j, NAME_END] - job.columns[j, NAME] + 1, job.at[USED]
    return stops.slots[slot_of(stops, job.bytes, lo, hi, murmur(job.bytes, lo, hi))] >= 0


@strict
def finish(job, start, j):
    """Give the pieces of a word that ends here: itself, the n-grams that end with it, its character grams."""
    k = job.at[WORDS]
    if k >= job.pieces.shape[0]:
        return PIECES
    job.pieces[k, WORD] = start + job.columns[j, NAME_END] - job.columns[j, NAME] + 1
    job.pieces[k, WORD_END] = job.at[USED]
    job.at[WORDS] = k + 1
    for n in range(1, min(job.ngrams, k + 1) + 1):
        if n > 1:
            start = job.at[USED]
            if not begin(job, j, job.pieces[k, WORD_END] - job.pieces[k + 1 - n, WORD] + n):
                return BYTES
            for w in range(k + 1 - n, k + 1):
                write(job, 58 if w == k + 1 - n else 32)
                copy(job, job.bytes, job.pieces[w, WORD], job.pieces[w, WORD_END])
        full = keep(job, start, 1.0, job.tag, 0)
        if full != DONE:
            return full
    return DONE if job.longest == 0 else character_grams(job, job.pieces[k, WORD], job.pieces[k, WORD_END], j)


@strict
def character_grams(job, lo, hi, j):
    """Give the character grams of a word, a space before and after it."""
    a = job.at[USED]
    if a + hi - lo + 2 > job.bytes.shape[0]:
        return BYTES
    write(job, 32)
    copy(job, job.bytes, lo, hi)
    write(job, 32)
    b = job.at[USED]
    for s in range(a, b):
        if job.bytes[s] & 0xC0 == 0x80:  # inside a character
            continue
        e = np.int64(s)
        for n in range(1, job.longest + 1):
            if e >= b:
                break
            e += 1
            while e < b and job.bytes[e] & 0xC0 == 0x80:
                e += 1
            if n >= job.shortest:
                start = job.at[USED]
                if not begin(job, j, 1 + e - s):
                    return BYTES
                write(job, 126)  # ~
                copy(job, job.bytes, s, e)
                full = keep(job, start, 1.0, job.tag, 0)
                if full != DONE:
                    return full
    return DONE


@strict
def encode_cross(job, k):
    """Give the products of the pieces of two or three columns."""
    a, b, c = job.crosses[k, 0], job.crosses[k, 1], job.crosses[k, 2]
    first, last = np.int64(-1), np.int64(0)
    if c >= 0:
        first, last = job.columns[c, FIRST], job.columns[c, LAST]
    for p in range(job.columns[a, FIRST], job.columns[a, LAST]):
        for q in range(job.columns[b, FIRST], job.columns[b, LAST]):
            for r in range(first, last):
                lo = job.at[USED]
                v = job.values[p] * job.values[q]
                measured = job.pieces[p, TAG] >= 0 or job.pieces[q, TAG] >= 0
                held = max(job.pieces[p, HELD], job.pieces[q, HELD])
                if r >= 0:
                    v *= job.values[r]
                    held = max(held, job.pieces[r, HELD])
                    measured = measured or job.pieces[r, TAG] >= 0
                for part in range(3 if r >= 0 else 2):
                    m = p if part == 0 else q if part == 1 else r
                    s, e = job.pieces[m, START], job.pieces[m, END]
                    if job.at[USED] + e - s + 1 > job.bytes.shape[0]:
                        return BYTES
                    if part > 0:
                        write(job, 38)  # &
                    copy(job, job.bytes, s, e)
                full = keep(job, lo, v, MEASURED if measured else SUM, held)
                if full != DONE:
                    return full
    return DONE


# ---- bytes -------------------------------------------------------------------------------------------------------------
def keep(job, lo, v, tag, held):
    """Keep the piece whose name was written from lo on; `held` says whether it is counted before it is a feature."""
    k = job.at[KEPT]
    if k >= job.pieces.shape[0]:
        return PIECES
    job.pieces[k, START] = lo
    job.pieces[k, END] = job.at[USED]
    job.pieces[k, TAG] = tag
    job.pieces[k, HELD] = held
    job.values[k] = v
    job.at[KEPT] = k + 1
    return DONE


def begin(job, j, more):
    """Write the name of a column; return whether there is room for it and `more` bytes."""
    lo, hi = job.columns[j, NAME], job.columns[j, NAME_END]
    if job.at[USED] + hi - lo + more > job.bytes.shape[0]:
        return False
    copy(job, job.text, lo, hi)
    return True


def write(job, byte):
    """Write one byte."""
    job.bytes[job.at[USED]] = byte
    job.at[USED] += 1


def copy(job, source, lo, hi):
    """Write source[lo:hi]."""
    at = job.at[USED]
    for i in range(hi - lo):
        job.bytes[at + i] = source[lo + i]
    job.at[USED] = at + hi - lo


def put(job, code):
    """Write a code point in UTF-8."""
    if code < 0x80:
        write(job, code)
        return
    tail = 1 if code < 0x800 else 2 if code < 0x10000 else 3
    write(job, (0xFF00 >> (tail + 1) & 0xFF) | code >> 6 * tail)
    for k in range(tail - 1, -1, -1):
        write(job, 0x80 | (code >> 6 * k & 63))


def decoded(text, at, hi):
    """Return a code point and how many bytes it takes."""
    b = np.int64(text[at])
    if b < 0x80:
        return b, np.int64(1)
    more = np.int64(1) if b < 0xE0 else np.int64(2) if b < 0xF0 else np.int64(3)
    code = b & (0x3F >> more)
    for k in range(1, more + 1):
        code = code << 6 | (np.int64(text[at + k]) & 63 if at + k < hi else np.int64(0))
    return code, more + 1


# ---- running it --------------------------------------------------------------------------------------------------------
def more_room(job: Job, full: int) -> Job:
    """Return the job with twice of what was full."""
    if full == BYTES:
        return job._replace(bytes=np.empty(2 * len(job.bytes), np.uint8))
    if full == MEETING:
        return job._replace(meet=np.full(2 * len(job.meet), -1))
    if full == PIECES:
        return job._replace(pieces=np.empty((2 * len(job.pieces), 6), np.int64), values=np.empty(2 * len(job.pieces)))
    k, size = int(job.at[FILLED]), 2 * len(job.indices)
    wider: dict[str, Any] = {}
    for name in ("indices", "data", "measured"):
        old = getattr(job, name)
        wider[name] = np.empty(size, old.dtype)
        wider[name][:k] = old[:k]
    return job._replace(**wider)


def run(store: Store, stops: Store, seen: Seen, job: Job, learn: bool, bits: int, limit: int) -> tuple[Store, Seen, Job]:
    """Encode all rows; return the names, those counted, and the job done."""
    step = compiled(encode)
    while (full := step(store, stops, seen.names, seen.counts, job, int(learn), bits, limit)) != DONE:
        if full == NAMES:
            store = wider(store)
        elif full == SEEN:
            seen = more_names(seen)
        else:
            job = more_room(job, full)
    return store, seen, job
