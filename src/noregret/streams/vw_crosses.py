"""Products of the features of VW namespaces, hashed as VW's `-q` and `--interactions` hash them (FNV-1 over the places)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..engine.words import rare, strict, word
from ..inputs.hashing import HALF
from ..transforms import namespaces
from .numbers import LARGEST, byte

FNV = np.uint64(16777619)
MOST = 1 << 24  # products of one row
NO_ROOM, TOO_MANY, NOT_FINITE = -1, -2, -3
NONE, ANY = -2, -1


class Crosses(NamedTuple):
    """What to multiply: for each cross, where the names of its namespaces are in a text, ANY or NONE in place of one."""

    members: np.ndarray  # (crosses, 3, 2)
    names: np.ndarray
    found: np.ndarray  # (crosses,): how often there was something to multiply


class Spans(NamedTuple):
    """The features of the row by namespace: where its name begins and ends in the text, and its first feature."""

    places: np.ndarray  # (spans + 1, 3)
    used: np.ndarray  # (1,): how many


class Crossed(NamedTuple):
    """Rows get the products of crosses."""

    crosses: Crosses
    spans: Spans


class Uncrossed(NamedTuple):
    """Rows are as they stand. A kind of its own: the loop over features is compiled without a look at namespaces."""


def crosses_from(given: Sequence[Sequence[str]]) -> Crosses:
    """Return crosses by name as the compiled code takes them."""
    text, members = b"", []
    for c in given:
        row = []
        for name in c:
            data = name.encode()
            row.append((ANY, ANY) if name == namespaces.ANY else (len(text), len(text) + len(data)))
            text += b"" if name == namespaces.ANY else data
        members.append([*row, (NONE, NONE)][:3])
    return Crosses(np.array(members, np.int64).reshape(-1, 3, 2), np.frombuffer(text, np.uint8), np.zeros(len(members), np.int64))


# ---- names -----------------------------------------------------------------------------------------------------------
def same_text(s, a, b, t, c, d):
    """Return whether s[a:b] is t[c:d]."""
    same = b - a == d - c
    k = 0
    while same and k < b - a:
        same = byte(s, a + k) == byte(t, c + k)
        k += 1
    return same


def before(text, a, b, c, d):
    """Return whether text[a:b] comes before text[c:d] in the order of bytes."""
    k = 0
    while k < b - a and k < d - c and byte(text, a + k) == byte(text, c + k):
        k += 1
    return k < d - c and (k == b - a or byte(text, a + k) < byte(text, c + k))


@rare
def note_span(spans, a, b, stored):
    """Note that a namespace called text[a:b] begins with the next feature."""
    n = spans.used[0]
    if n > 0 and spans.places[n - 1, 2] == stored:
        n -= 1  # the one before is empty
    spans.places[n, 0] = a
    spans.places[n, 1] = b
    spans.places[n, 2] = stored
    spans.used[0] = n + 1


def called(text, spans, i, crosses, k, m):
    """Return whether span i is member m of cross k."""
    a, b = crosses.members[k, m, 0], crosses.members[k, m, 1]
    return a == ANY or same_text(text, spans.places[i, 0], spans.places[i, 1], crosses.names, a, b)


def follows(text, spans, i, j, free):
    """Return whether to multiply span i by span j: of equal namespaces, or where both are `free`, each pair is taken once."""
    a, b, c, d = spans.places[i, 0], spans.places[i, 1], spans.places[j, 0], spans.places[j, 1]
    if same_text(text, a, b, text, c, d):
        return i <= j
    return not free or before(text, a, b, c, d)


# ---- products --------------------------------------------------------------------------------------------------------
def put(out, end, room, index, v):
    """Store a product that is not 0; return where the row ends then, or what is wrong."""
    if not abs(v) <= LARGEST:
        return NOT_FINITE
    if v == 0.0:
        return end
    if end >= room:
        return NO_ROOM
    out.indices[end] = index
    out.values[end] = v
    return end + 1


@strict
def multiply(out, end, spans, i, j, k, mask):
    """Add the products of spans i and j, and of k unless it is below 0; return where the row ends then, or what is wrong."""
    room = out.values.shape[0] - spans.places.shape[0]  # the rest is for features of the rows to come, which nobody counts
    for p in range(spans.places[i, 2], spans.places[i + 1, 2]):
        for q in range(p if i == j else spans.places[j, 2], spans.places[j + 1, 2]):
            index = (FNV * np.uint64(out.indices[p]) & HALF) ^ np.uint64(out.indices[q])
            v = out.values[p] * out.values[q]
            if k < 0:
                end = put(out, end, room, index & mask, v)
                if end < 0:
                    return end
                continue
            for r in range(q if j == k else spans.places[k, 2], spans.places[k + 1, 2]):
                last = ((FNV * index) & HALF) ^ np.uint64(out.indices[r])
                end = put(out, end, room, last & mask, v * out.values[r])
                if end < 0:
                    return end
    return end


def size_of(spans, i):
    """Return how many features a span has, or 1 for none."""
    return np.float64(spans.places[i + 1, 2] - spans.places[i, 2]) if i >= 0 else 1.0


@rare
@strict
def add_products(text, out, stored, spans, crosses, mask):
    """Add the products of all crosses to the row that ends at `stored`; return where it ends then, or what is wrong."""
    n, end, many = spans.used[0], stored, 0.0
    spans.places[n, 2] = stored
    for c in range(crosses.members.shape[0]):
        free = crosses.members[c, 0, 0] == ANY and crosses.members[c, 1, 0] == ANY
        two = crosses.members[c, 2, 0] == NONE
        for i in range(n):
            if not called(text, spans, i, crosses, c, 0):
                continue
            for j in range(n):
                if not called(text, spans, j, crosses, c, 1) or not follows(text, spans, i, j, free):
                    continue
                for k in range(-1 if two else 0, 0 if two else n):
                    if k >= 0 and not (called(text, spans, k, crosses, c, 2) and follows(text, spans, j, k, False)):
                        continue
                    crosses.found[c] += 1
                    many += size_of(spans, i) * size_of(spans, j) * size_of(spans, k)
                    end = multiply(out, end, spans, i, j, k, mask) if many <= MOST else TOO_MANY
                    if end < 0:
                        return end
    return end


# ---- what the parser calls ---------------------------------------------------------------------------------------------
@word
def crosses_rows(crossed):
    """Return whether rows get products."""


@word
def open_row(crossed):
    """Forget the namespaces of the row before."""


@word
def open_span(a, b, stored, crossed):
    """Note that a namespace called text[a:b] begins with the next feature."""


@word
def cross_row(text, out, stored, mask, crossed):
    """Add the products to the row that ends at `stored`; return where it ends then, or what is wrong."""


@crosses_rows.on(Crossed)
def crosses_crossed(crossed):
    return True


@open_row.on(Crossed)
def open_row_crossed(crossed):
    crossed.spans.used[0] = 0


@open_span.on(object, object, object, Crossed)
def open_span_crossed(a, b, stored, crossed):
    note_span(crossed.spans, a, b, stored)


@cross_row.on(object, object, object, object, Crossed)
def cross_row_crossed(text, out, stored, mask, crossed):
    return add_products(text, out, stored, crossed.spans, crossed.crosses, mask)


@crosses_rows.on(Uncrossed)
def crosses_uncrossed(crossed):
    return False


@open_row.on(Uncrossed)
def open_row_uncrossed(crossed):
    pass


@open_span.on(object, object, object, Uncrossed)
def open_span_uncrossed(a, b, stored, crossed):
    pass


@cross_row.on(object, object, object, object, Uncrossed)
def cross_row_uncrossed(text, out, stored, mask, crossed):
    return stored
