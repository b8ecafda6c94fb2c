"""Records in bytes: where each begins, and how many cells it has, before anyone reads the cells; and elements of JSON arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..engine.compiling import compiled

SPACES = bytes.maketrans(b"\r\n", b"  ")
LONGEST = 1 << 24  # bytes; a quote that does not close within this was no quote


def scan_records(data: Any, delimiter: Any, quote: Any, other: Any, escape: Any, final: Any, starts: Any, fields: Any) -> Any:
    """Find the records of a block: where each begins and how many cells it has, 0 for a blank line and -1 where a quote never
    closes (the record is then one line). Return how many there are; starts[that] is where they end.
    """
    n = data.shape[0]
    records, begin = 0, 0
    while begin < n:
        at, cells, line_end = begin, 1, -1
        fresh, quoted, closing = True, False, quote
        while at < n:
            b = data[at]
            if b == 10 and line_end < 0:
                line_end = at
            if b == escape:
                at += 1
            elif quoted:
                if b == closing:
                    if at + 1 < n and data[at + 1] == closing:
                        at += 1
                    else:
                        quoted = False
            elif b == 10:
                break
            elif fresh and b in (quote, other):
                quoted, closing = True, b
            elif b == delimiter:
                cells += 1
            blank = fresh and escape >= 0 and b in (32, 9)  # in ARFF, a quote may come after space
            fresh = (b == delimiter or blank) and not quoted
            at += 1
        if at >= n and not final and not (quoted and n - begin > LONGEST):
            break
        if quoted:
            cells, at = -1, line_end if line_end >= 0 else n
        elif at == begin or (at == begin + 1 and data[begin] == 13):
            cells = 0
        starts[records] = begin
        fields[records] = cells
        records += 1
        begin = at + 1
    starts[records] = min(begin, n)
    return records


def scanned(data: bytes, delimiter: str, quote: str, final: bool, escape: str | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return where the whole records of a block begin (and end), and how many cells each has. There may be two kinds of quotes."""
    room = data.count(b"\n") + 2
    starts, fields = np.zeros(room, np.int64), np.zeros(room, np.int64)
    n = compiled(scan_records)(
        np.frombuffer(data, np.uint8),
        ord(delimiter),
        ord(quote[0]) if quote else -1,
        ord(quote[-1]) if quote else -1,
        ord(escape) if escape else -1,
        final,
        starts,
        fields,
    )
    return starts[: n + 1], fields[:n]


def scan_elements(data: Any, starts: Any, ends: Any) -> Any:
    """Find the elements of a JSON array after its opening bracket. Return how many there are, and whether the last was closed by
    the bracket of the array; starts[their number] is where the next one begins.
    """
    found, depth, at = 0, 0, 0
    quoted, closed = False, False
    starts[0] = 0
    while at < data.shape[0] and not closed:
        b = data[at]
        if quoted:
            quoted = b != 34
            at += b == 92
        elif b == 34:
            quoted = True
        elif b in (91, 123):
            depth += 1
        elif depth == 0 and b in (44, 93):
            ends[found] = at
            found += 1
            starts[found] = at + 1
            closed = b == 93
        elif b in (93, 125) and depth > 0:
            depth -= 1
        at += 1
    return found, closed


def elements(data: bytes) -> tuple[np.ndarray, list[bytes], bool]:
    """Return where the elements of a JSON array begin (and end), each on one line, and whether the array ends."""
    room = data.count(b",") + 2
    starts, ends = np.zeros(room, np.int64), np.zeros(room, np.int64)
    n, closed = compiled(scan_elements)(np.frombuffer(data, np.uint8), starts, ends)
    lines = [data[a:b].translate(SPACES) for a, b in zip(starts[:n].tolist(), ends[:n].tolist(), strict=True)]
    return starts[: n + 1], lines, bool(closed)


def joined(data: bytes, starts: np.ndarray, records: np.ndarray) -> bytes:
    """Return the bytes of some records; runs of them are copied as one."""
    breaks = np.flatnonzero(np.diff(records) != 1) + 1
    parts = []
    for run in np.split(records, breaks):
        part = data[starts[run[0]] : starts[run[-1] + 1]]
        parts.append(part if part.endswith(b"\n") else part + b"\n")
    return b"".join(parts)


def line_numbers(data: bytes, starts: np.ndarray, first: int) -> np.ndarray:
    """Return the lines on which records begin, where the data begin on line `first`."""
    newlines = np.flatnonzero(np.frombuffer(data, np.uint8) == 10)
    return first + np.searchsorted(newlines, starts)
