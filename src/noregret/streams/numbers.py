"""Decimal numbers from bytes, in compiled code: every finite decimal gives the very float that Python's float() gives.

Eight digits are read at a time, as one 64-bit word. A mantissa below 2^53 with a power of ten up to 22 takes one exact operation;
up to 19 digits take a product in double-double arithmetic, kept when its rounding is beyond doubt. What is left is noted by
its place: `settle` asks float(), and the parser runs again with the answers. Text must be followed by `PAD` readable bytes.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ..engine.words import rare, strict

PAD = 32  # readable bytes after the end of a text
FINE, NO_NUMBER, TOO_LARGE = 0, 1, 2  # what became of a number

DIGIT_ZEROS = np.uint64(0x3030303030303030)
OVER_NINE = np.uint64(0x7676767676767676)
HIGH_BITS = np.uint64(0x8080808080808080)
PAIRS = np.uint64(0x00FF00FF00FF00FF)
FOURS = np.uint64(0x0000FFFF0000FFFF)
ONE = np.uint64(1)
EXACT = np.uint64(1 << 53)
REACH = 280  # powers of ten for which the double-double product neither overflows nor loses bits
DOUBT = 2.0**-98  # relative error allowed for that product; the true one is below 2^-102
LARGEST = 1.7976931348623157e308
SPLIT = 134217729.0  # 2^27 + 1: halves the bits of a float


class Tens(NamedTuple):
    """Powers of ten: whole ones up to 10^19, and floats in two parts from 10^-REACH to 10^REACH."""

    whole: np.ndarray
    high: np.ndarray
    low: np.ndarray


class Odd(NamedTuple):
    """Numbers left to float(): where they begin and end, the answers, and [asked, answered, met in this run]."""

    places: np.ndarray
    answers: np.ndarray
    counts: np.ndarray


@cache
def tens() -> Tens:
    """Return the table of powers."""
    with localcontext() as context:
        context.prec = 60
        exact = [Decimal(10) ** e for e in range(-REACH, REACH + 1)]
        high = [float(x) for x in exact]
        low = [float(x - Decimal(h)) for x, h in zip(exact, high, strict=True)]
    return Tens(np.array([10**k for k in range(20)], np.uint64), np.array(high), np.array(low))


def odd(size: int) -> Odd:
    """Return room for the odd numbers of a text of this many bytes."""
    room = size // 4 + 2
    return Odd(np.empty((room, 2), np.int64), np.empty(room), np.zeros(3, np.int64))


def settle(text: Any, numbers: Odd) -> bool:
    """Answer the numbers that were noted; return whether there were any, so that the parser must run again."""
    asked, answered = int(numbers.counts[0]), int(numbers.counts[1])
    for i in range(answered, asked):
        a, b = numbers.places[i].tolist()
        numbers.answers[i] = float(text[a:b].tobytes())
    order = np.argsort(numbers.places[:asked, 0])
    numbers.places[:asked], numbers.answers[:asked] = numbers.places[order], numbers.answers[order]
    numbers.counts[1], numbers.counts[2] = asked, 0
    return asked > answered


# ---- bytes -----------------------------------------------------------------------------------------------------------
def byte(text: Any, p: Any) -> Any:
    """Return the byte at p as a signed number."""
    return np.int64(text[np.uintp(p)])


def load4(text, p):
    """Return four bytes as one word, the first lowest: the compiler makes one load of it."""
    low = np.uint64(text[np.uintp(p)]) | np.uint64(text[np.uintp(p + 1)]) << np.uint64(8)
    return low | np.uint64(text[np.uintp(p + 2)]) << np.uint64(16) | np.uint64(text[np.uintp(p + 3)]) << np.uint64(24)


def load8(text, p):
    """Return eight bytes as one word, the first lowest."""
    return load4(text, p) | load4(text, p + 4) << np.uint64(32)


def ones(x):
    """Return how many bits are set (the compiler knows the idiom)."""
    x -= (x >> ONE) & np.uint64(0x5555555555555555)
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (x * np.uint64(0x0101010101010101)) >> np.uint64(56)


def first_marked(marks):
    """Return the number of the first byte whose high bit is set, 8 if none is."""
    return np.int64(ones((marks - ONE) & ~marks) >> np.uint64(3))


def digits8(text, p):
    """Return the number written by the digits at p, at most eight of them, and how many there are."""
    word = load8(text, p) ^ DIGIT_ZEROS
    n = first_marked(((word + OVER_NINE) | word) & HIGH_BITS)
    word <<= np.uint64((64 - 8 * n) & 63)
    word = (word * np.uint64(2561) >> np.uint64(8)) & PAIRS
    word = (word * np.uint64(6553601) >> np.uint64(16)) & FOURS
    word = word * np.uint64(42949672960001) >> np.uint64(32)
    return word if n > 0 else np.uint64(0), n


# ---- one number ------------------------------------------------------------------------------------------------------
@strict
def product(m, e, table):
    """Return m 10^e rounded, and whether the rounding is beyond doubt."""
    if m < EXACT and -22 <= e <= 22:
        v = np.float64(np.int64(m))
        return (v / table.high[np.uintp(REACH - e)] if e < 0 else v * table.high[np.uintp(REACH + e)]), True
    if e < -REACH or e > REACH - 20:
        return 0.0, m == np.uint64(0)
    high = np.float64(m)
    low = np.float64(np.int64(m - np.uint64(high)))
    a, b = table.high[np.uintp(REACH + e)], table.low[np.uintp(REACH + e)]
    whole = high * a
    c = SPLIT * high
    high1 = c - (c - high)
    high2 = high - high1
    c = SPLIT * a
    a1 = c - (c - a)
    a2 = a - a1
    rest = ((high1 * a1 - whole) + high1 * a2 + high2 * a1) + high2 * a2
    rest += high * b + low * a
    slack = abs(whole) * DOUBT
    v = whole + (rest - slack)
    return v, v == whole + (rest + slack)


@rare
@strict
def number_slowly(text, p, table, odd):
    """Return any number: value, where it ends, what became of it."""
    start = p
    negative = byte(text, p) == 45
    if negative or byte(text, p) == 43:
        p += 1
    m, kept, seen, e, point = np.uint64(0), 0, 0, 0, False
    while True:
        c = byte(text, p)
        if 48 <= c <= 57:
            seen += 1
            if kept < 19:
                m = m * np.uint64(10) + np.uint64(c - 48)
                kept += 1 if m > np.uint64(0) else 0
                e -= 1 if point else 0
            else:
                kept += 1
                e += 0 if point else 1
        elif c == 46 and not point:
            point = True
        else:
            break
        p += 1
    if seen == 0:
        return 0.0, p, NO_NUMBER
    if c == 101 or c == 69:
        p += 1
        down = byte(text, p) == 45
        if down or byte(text, p) == 43:
            p += 1
        if not 48 <= byte(text, p) <= 57:
            return 0.0, p, NO_NUMBER
        power = 0
        while 48 <= byte(text, p) <= 57:
            power = min(power * 10 + byte(text, p) - 48, 1 << 40)
            p += 1
        e += -power if down else power
    v, sure = product(m, e, table)
    if kept > 19 or not sure:
        return ask(start, p, odd)
    return -v if negative else v, p, FINE


@rare
def ask(start, p, odd):
    """Return the answer to an odd number, or note that it is wanted."""
    k, asked, answered = odd.counts[2], odd.counts[0], odd.counts[1]
    while k < answered and odd.places[k, 0] < start:
        k += 1
    odd.counts[2] = k
    if k < answered and odd.places[k, 0] == start:
        v = odd.answers[k]
        return v, p, TOO_LARGE if abs(v) > LARGEST else FINE
    odd.places[asked, 0] = start
    odd.places[asked, 1] = p
    odd.counts[0] = asked + 1
    return 0.0, p, FINE


def more_places(text, p, m, table):
    """Continue after eight decimal places; return the mantissa, where it ends and the places, -1 if it might exceed 19 digits."""
    if m >= table.whole[11]:
        return m, p, -1
    f, n = digits8(text, p)
    m = m * table.whole[np.uintp(n)] + f
    if n == 8:
        f, more = digits8(text, p + n)
        if m >= table.whole[16] or more > 3:
            return m, p, -1
        m = m * table.whole[np.uintp(more)] + f
        n += more
    return m, p + n, 8 + n


@strict
def number(text, p, table, odd):
    """Return the number that begins at p: value, where it ends (or goes wrong), what became of it."""
    start = p
    negative = byte(text, p) == 45
    if negative or byte(text, p) == 43:
        p += 1
    if byte(text, p + 1) == 46 and 48 <= byte(text, p) <= 57:  # one digit and a point: the next load need not wait for a count
        m, n = np.uint64(byte(text, p) - 48), 1
    else:
        m, n = digits8(text, p)
    p += n
    places = 0
    c = byte(text, p)
    if c == 46:
        f, places = digits8(text, p + 1)
        p += 1 + places
        m = m * table.whole[np.uintp(places)] + f
        if places == 8:
            m, p, places = more_places(text, p, m, table)
        c = byte(text, p)
    if (n + places == 0) | (n == 8) | (places < 0) | (c == 101) | (c == 69):
        return number_slowly(text, start, table, odd)
    if m < EXACT:
        v = np.float64(np.int64(m)) / table.high[np.uintp(REACH + places)]
    else:
        v, sure = product(m, -places, table)
        if not sure:
            return ask(start, p, odd)
    return -v if negative else v, p, FINE


@rare
@strict
def number_apart(text, p, table, odd):
    """Return what `number` does, without being copied to where it is called from."""
    return number(text, p, table, odd)
