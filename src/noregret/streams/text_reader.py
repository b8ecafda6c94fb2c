"""A pass over text files: blocks of whole lines, parsed ahead by threads, given in order.

Plain files are mapped into memory block by block: each block has its own mapping, gone once it is parsed, so memory stays flat
(in one mapping of the whole file the operating system brings back pages next to those that are read). Anything else is
read forward, the unfinished last line carried over. What a pass gives does not depend on the size of blocks or on threads.
"""

from __future__ import annotations

import contextlib
import mmap
import os
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ..inputs.batch import BadRow, Batch, Position, Reader, Skipped, numbered
from ..inputs.checking import Rows
from .numbers import PAD
from .pieces import begun_at, called, limits, line_starts, places, refuse_packed
from .read_ahead import ahead
from .source import (
    ByteStream,
    Held,
    Source,
    check_line,
    expand,
    is_plain,
    is_regular,
    named,
    no_position,
    open_bytes,
    place,
    same_place,
    shrunk,
    size_of,
    total_size,
)

IGNORED, REQUIRED, ABSENT = 0, 1, 2  # labels: read past if there, on every line, on no line
KEPT_BAD = Skipped.KEPT
BOM = b"\xef\xbb\xbf"
SLACK = 1 << 16  # mapped beyond a block, to find the end of its last line
NO_TEXT = np.empty(0, np.uint8)


class Block(NamedTuple):
    """Whole lines of one file: text[start:end], the last byte a newline, and PAD readable bytes after it."""

    text: np.ndarray
    start: int
    end: int
    file: int
    offset: int  # of text[0] in the unpacked file
    stop: int  # where the next block begins in the unpacked file
    taken: int  # bytes of all files on disk up to there
    labelled: int


class Parsed(NamedTuple):
    """What a parser made of a block."""

    data: Rows
    y: np.ndarray | None
    lines: int
    used: int  # bytes from the start of the block: all, or up to a bad line
    bad: list[tuple[int, int, str, str]]  # of the first few: line in the block, column, expected, found
    gaps: np.ndarray  # how many rows are before each bad line


class Bad(NamedTuple):
    """Bad lines of a block: of the first few which, where they begin, where they go wrong and how; of all the rows before them."""

    first: np.ndarray
    gaps: np.ndarray


def room_for_bad(lines: int) -> Bad:
    """Return room to note so many bad lines."""
    return Bad(np.zeros((KEPT_BAD, 4), np.int64), np.empty(lines, np.int64))


def note_bad(bad: Any, k: Any, rows: Any, line: Any, begin: Any, at: Any, fault: Any) -> None:
    """Note a bad line."""
    bad.gaps[k] = rows
    if k < KEPT_BAD:
        bad.first[k, 0] = line
        bad.first[k, 1] = begin
        bad.first[k, 2] = at
        bad.first[k, 3] = fault


# ---- files -----------------------------------------------------------------------------------------------------------
class Cut(NamedTuple):
    """Whole lines, where they end with the newline, and how many bytes of the file they are."""

    text: np.ndarray
    end: int
    size: int


class Mapped:
    """A plain file, mapped into memory block by block."""

    def __init__(self, path: str, offset: int, limit: int | None = None) -> None:
        self.path, self.at = path, offset
        self.file = open(path, "rb", buffering=0)  # noqa: SIM115 (closed by `close`)
        now = self.now()
        self.size = now if limit is None else limit  # or where to end
        if max(offset, self.size) > now:
            self.file.close()
            raise shrunk(path, max(offset, self.size), now)
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(self.file.fileno(), 0, 0, os.POSIX_FADV_SEQUENTIAL)

    def now(self) -> int:
        """Return the size the file has now."""
        return os.fstat(self.file.fileno()).st_size

    def window(self, stop: int) -> tuple[int, Any]:
        """Return the bytes up to some place, and where they begin: at the next one or a little before."""
        base = self.at - self.at % mmap.ALLOCATIONGRANULARITY
        return base, mmap.mmap(self.file.fileno(), stop - base, access=mmap.ACCESS_READ, offset=base)

    @property
    def consumed(self) -> int:
        """Bytes read so far."""
        return self.at

    def block(self, size: int) -> Cut | None:
        """Return the next lines."""
        if self.at == self.size:
            return None
        if self.now() < self.size:  # touching what is gone would end the process
            raise shrunk(self.path, self.size, self.now())
        while True:
            stop = min(self.at + size + SLACK, self.size)
            base, window = self.window(stop)
            newline = window.find(b"\n", self.at + size - 1 - base, stop - base)
            if newline >= 0 or stop == self.size:
                break
            size *= 2  # a line longer than the block
            check_line(self.path, size)
        text = np.frombuffer(window, np.uint8, stop - base)[self.at - base :]
        end = stop - self.at if newline < 0 else base + newline + 1 - self.at
        self.at += end
        return Cut(text[: end + PAD], end, end) if stop - self.at >= PAD else Cut(*padded(text, end), end)

    def close(self) -> None:
        """Close the file."""
        self.file.close()


class Copied(Mapped):
    """The same, copied into memory: what others cut while it is read would end the process if it were mapped."""

    def window(self, stop: int) -> tuple[int, Any]:
        """Return the bytes from the next one up to some place."""
        self.file.seek(self.at)
        data = b""
        while len(data) < stop - self.at:
            more = self.file.read(stop - self.at - len(data))
            if not more:
                raise shrunk(self.path, self.size, self.now())
            data += more
        return self.at, data


class InMemory(Mapped):
    """Bytes in memory."""

    def __init__(self, path: Held, offset: int, limit: int | None = None) -> None:
        self.path, self.at, self.data = path, offset, path.data
        self.size = len(self.data) if limit is None else limit

    def now(self) -> int:
        """Return how many there are."""
        return len(self.data)

    def window(self, stop: int) -> tuple[int, Any]:
        """Return them all."""
        return 0, self.data

    def close(self) -> None:
        """Nothing is open."""


class Flowing:
    """A compressed file or standard input, read forward."""

    def __init__(self, path: str, offset: int) -> None:
        self.path = path
        self.stream: ByteStream = open_bytes(path)
        self.carried = b""
        self.ended = False
        room = memoryview(bytearray(min(offset, 1 << 20)))
        left = offset
        while left:
            n = self.stream.readinto(room[: min(left, len(room))])
            if n == 0:
                raise shrunk(path, offset, offset - left)
            left -= n

    @property
    def consumed(self) -> int:
        """Bytes taken from the file so far."""
        return self.stream.consumed

    def block(self, size: int) -> Cut | None:
        """Return the next lines."""
        while not self.ended:
            have = len(self.carried)
            room = bytearray(have + max(size, have) + 1 + PAD)
            room[:have] = self.carried
            used = self.fill(memoryview(room)[: len(room) - 1 - PAD], have)
            whole = used if self.ended else room.rfind(b"\n", 0, used) + 1
            self.carried = bytes(memoryview(room)[whole:used])
            if whole:
                return Cut(*padded(room, whole), whole)
            check_line(self.path, len(self.carried))
        return None

    def fill(self, room: memoryview, used: int) -> int:
        """Read until the room is full or, from a pipe, until nothing waits; return how much of it is used."""
        while used < len(room):
            n = self.stream.readinto(room[used:])
            self.ended = n == 0
            used += n
            if self.ended or not self.stream.waiting():
                break
        return used

    def close(self) -> None:
        """Close the file."""
        self.stream.close()


def opened(path: str, offset: int, limit: int | None, copied: bool) -> Mapped | Flowing:
    """Return a file from some byte on, to its end or, unless it is compressed, to another byte."""
    if not is_plain(path):
        return Flowing(path, offset)
    if isinstance(path, Held):
        return InMemory(path, offset, limit)
    return Copied(path, offset, limit) if copied else Mapped(path, offset, limit)


def padded(content: Any, size: int) -> tuple[np.ndarray, int]:
    """Return text with a newline at its end and room to read past it, and its length."""
    text = np.zeros(size + 1 + PAD, np.uint8)
    text[:size] = np.frombuffer(content, np.uint8, size)
    end = size if size and text[size - 1] == 10 else size + 1
    text[end - 1] = 10
    text.flags.writeable = False  # one type for the compiler, mapped or not
    return text, end


# ---- a pass ----------------------------------------------------------------------------------------------------------
class Pass:
    """The blocks of several files in order; one caller at a time."""

    def __init__(self, reader: TextReader, position: Position) -> None:
        self.reader = reader
        self.file, self.offset = position["file"], position["offset"]
        self.labelled: int | None = {True: REQUIRED, False: IGNORED, None: position.get("labelled")}[reader.labelled]
        self.limits = limits(reader.paths, reader.span[1], "offset")
        self.open: Mapped | Flowing | None = None
        sizes = [size_of(path) if is_regular(path) else 0 for path in reader.paths]
        self.before = [sum(sizes[:i]) for i in range(len(sizes))]

    def next(self) -> Block | None:
        """Return the next block, None at the end."""
        while self.file < len(self.limits):
            if self.open is None:
                self.open = opened(self.reader.paths[self.file], self.offset, self.limits[self.file], self.reader.copied)
            got = self.open.block(self.reader.block)
            if got is not None:
                return self.block(*got)
            self.open.close()
            self.open, self.file, self.offset = None, self.file + 1, 0
        return None

    def block(self, text: np.ndarray, end: int, size: int) -> Block:
        """Return a block with its place."""
        assert self.open is not None
        start = len(BOM) if self.offset == 0 and text[: len(BOM)].tobytes() == BOM else 0
        if self.labelled is None:
            said = (self.reader.has_label(line) for line in text[start:end].tobytes().split(b"\n"))
            first = next((x for x in said if x is not None), None)
            self.labelled = None if first is None else REQUIRED if first else ABSENT
        offset, self.offset = self.offset, self.offset + size
        labelled = ABSENT if self.labelled is None else self.labelled
        taken = self.before[self.file] + self.open.consumed
        return Block(text, start, end, self.file, offset, self.offset, taken, labelled)

    def close(self) -> None:
        """Close the file that is open."""
        if self.open is not None:
            self.open.close()


# ---- the reader ------------------------------------------------------------------------------------------------------
class TextReader(Reader):
    """A reader of lines. A subclass says how a block is parsed.

    `labelled=True` wants a label on every line; False reads past labels, y is None; None goes by the first example: all lines have
    a label or none has. `on_bad="stop"` raises at the first bad line, after the rows before it; "skip" counts bad lines.
    """

    expected: dict[int, str]
    room: Callable[[int], Any]

    def __init__(
        self,
        source: Source,
        *,
        hash_bits: int | None = None,
        on_bad: str = "stop",
        threads: int = 2,
        block: int = 1 << 21,
        labelled: bool | None = True,
    ) -> None:
        super().__init__()
        if on_bad not in ("stop", "skip"):
            raise ValueError(f"on_bad must be 'stop' or 'skip', got {on_bad!r}")
        for name, value in (("threads", threads), ("block", block)):
            if not isinstance(value, int) or value < 1:
                raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}")
        if hash_bits is not None and not 1 <= hash_bits <= 31:
            raise ValueError(f"hash_bits must be from 1 to 31, got {hash_bits!r}")
        self.paths = expand(source)
        self.name = named(source, self.paths)
        self.size = total_size(self.paths)
        self.replayable = self.size is not None  # not so: standard input, pipes
        self.hash_bits, self.stops, self.threads, self.block, self.labelled = hash_bits, on_bad == "stop", threads, block, labelled

    def allow_unlabelled(self) -> None:
        """Go by the first example."""
        self.labelled = None if self.labelled else self.labelled

    def has_label(self, line: bytes) -> bool | None:
        """Return whether a line has a label, None if it holds no example."""
        raise NotImplementedError

    def parse(self, block: Block, room: Any, labelled: int) -> Parsed:
        """Parse a block."""
        raise NotImplementedError

    def note(self, rows: Rows) -> None:
        """Note what the rows of a block tell about the file."""

    def bad_lines(self, block: Block, bad: Bad, faults: int) -> list[tuple[int, int, str, str]]:
        """Return the first bad lines in words."""
        found = []
        for line, begin, at, fault in bad.first[: min(faults, KEPT_BAD)].tolist():
            text = block.text[begin : block.end].tobytes().partition(b"\n")[0]
            found.append((line, at - begin + 1, self.expected[fault], token(text, at - begin)))
        return found

    def start(self, position: Position | None) -> Position:
        """Return where a pass begins, checked."""
        position = position or self.span[0]
        if position is None:
            return {**place(self.paths, 0, offset=0, line=0), "examples": 0, "skipped": 0}
        same_place(self.paths, position, "offset", "line", "examples", "skipped")
        if position.get("labelled") not in (None, REQUIRED, IGNORED, ABSENT):
            raise no_position(position)
        return dict(position)

    def starts(self, n: int) -> list[Position | None]:
        """Return the positions of at most n lines, about equally far apart in bytes."""
        refuse_packed(self.name, self.paths)
        first = self.start(None)
        if self.labelled is None:  # whether lines have labels, the first example of all tells
            blocks = Pass(self, first)
            with contextlib.closing(blocks):
                while blocks.labelled is None and blocks.next() is not None:
                    pass
            first["labelled"] = blocks.labelled
        found = places([size_of(path) for path in self.paths], n, lambda file, at: line_starts(self.paths[file], at))
        return [{**first, **begun_at(self.paths, file, at)} for file, at in found]

    def batches(self, position: Position | None = None) -> Iterator[Batch]:
        """Yield the examples in order."""
        at = self.start(position)
        self.begin_pass()
        self.skipped = Skipped()
        self.skipped.count = at["skipped"]
        self.read = 0
        blocks = Pass(self, at)
        results = ahead(blocks.next, self.parser, self.threads, wait=self.replayable)
        try:
            yield from self.gather(results, blocks, at, fresh=position is None and self.span[0] is None)
        finally:
            results.close()  # type: ignore[attr-defined]
            blocks.close()

    def parser(self) -> Callable[[Block], tuple[Block, Parsed]]:
        """Return what parses blocks in one thread, with its own room; it gives the block back without its text."""
        room: Any = None

        def parse(block: Block) -> tuple[Block, Parsed]:
            nonlocal room
            size = len(block.text)
            if room is None or room.size < size:
                room = type(self).room(max(size, self.block + self.block // 8))
            parsed = self.parse(block, room, block.labelled)
            return block._replace(text=NO_TEXT), parsed

        return parse

    def gather(self, results: Iterator[Any], blocks: Pass, at: Position, fresh: bool) -> Iterator[Batch]:
        """Number lines and examples in order, and stop at bad lines or count them."""
        empty = fresh
        for block, parsed in results:
            empty = False
            if block.file != at["file"]:
                at |= place(self.paths, block.file, line=0)
                at.pop("origin", None)
            bad = [BadRow(called(at), at["line"] + line + 1, *rest) for line, *rest in parsed.bad]
            stopped = bool(bad) and self.stops
            numbers = at["examples"] + self.skipped.count + numbered(parsed.data.n, parsed.gaps)
            if not stopped:
                for row in bad:
                    self.skipped.add(row)
                self.skipped.count += len(parsed.gaps) - len(bad)
            at["offset"] = block.offset + block.start + parsed.used if stopped else block.stop
            at["line"] += parsed.lines
            at["examples"] += parsed.data.n
            at["skipped"] = self.skipped.count
            if self.labelled is None:
                at["labelled"] = block.labelled
            self.read = block.taken
            self.note(parsed.data)
            if parsed.data.n:
                yield Batch(parsed.data, parsed.y, dict(at), numbers=numbers)
            if stopped:
                raise bad[0]
        if empty:
            raise ValueError(f"{self.name} is empty; expected lines of {self.kind} text")


def token(line: bytes, at: int) -> str:
    """Return the word around a place of a line, as an error shows it."""
    a = b = at
    while a > 0 and not line[a - 1 : a].isspace():
        a -= 1
    while b < len(line) and not line[b : b + 1].isspace():
        b += 1
    if a == b:
        return "the end of the line" if b >= len(line.rstrip()) else "a space"
    shown = line[a : min(b, a + 40)].decode("utf-8", "replace")
    return repr(shown) + ("..." if b > a + 40 else "")
