"""Text files of records in blocks: whole records, read forward, with the byte and line where each block begins.

A block is filled to the same size from its first byte, so a pass that resumes from a position gives the same batches.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..inputs.batch import BadRow, Batch, Position, Reader, Skipped, numbered
from ..inputs.checking import Side
from .pieces import begun_at, called, limits, line_starts, places, refuse_packed
from .read_ahead import ahead
from .source import (
    ByteStream,
    Source,
    check_line,
    expand,
    is_plain,
    is_regular,
    named,
    open_bytes,
    open_plain,
    place,
    same_place,
    shrunk,
    size_of,
    total_size,
)

if TYPE_CHECKING:
    from ..transforms.table import Table

BLOCK = 1 << 22
BOM = b"\xef\xbb\xbf"
PIPE = 1 << 16  # bytes to ask a pipe for
PAUSE = 0.05  # seconds; a pipe that is silent for so long has given all it has for now
UTF16 = (b"\xff\xfe", b"\xfe\xff")


class Block(NamedTuple):
    """Bytes of a file that begin with a record."""

    path: str
    data: bytes
    offset: int  # of the first byte, in the unpacked file
    line: int  # of the first byte, from 1
    final: bool  # whether the file ends here


class Parsed(NamedTuple):
    """What a reader made of a block: its rows (a record batch, or None), and how many bytes of it were whole records."""

    rows: Any
    used: int


class Stretch(NamedTuple):
    """Rows that were read ahead: a record batch, Rows or None; where the next begin, bytes on disk so far, bad rows since the last.

    `gaps` holds, for each bad row, how many of the rows come before it; `side` what is beside the columns.
    """

    rows: Any
    position: Position
    read: int
    bad: Skipped
    gaps: list[int]
    side: Side = {}


class TableReader(Reader):
    """A reader of files of tables. A thread reads ahead while rows are learned from; pipes are read as they are asked for."""

    tabular = True

    def __init__(self, source: Source, inside: str, on_bad: str, required: Any) -> None:
        super().__init__()
        if on_bad not in ("stop", "skip"):
            raise ValueError(f"on_bad must be 'stop' or 'skip', got {on_bad!r}")
        self.paths = expand(source, inside)
        self.name = named(source, self.paths)
        self.on_bad = on_bad
        self.required = (required,) if isinstance(required, str) else tuple(required)  # columns whose cells must be there
        self.size = total_size(self.paths)
        self.replayable = self.size is not None  # not so: standard input, pipes
        self.weight: str | None = None  # a column whose numbers must not be negative
        self.ignored: frozenset[str] = frozenset()  # columns that may hold anything
        self.naming: frozenset[str] = frozenset()  # columns of names, which are kept as they are written
        self.verbatim: frozenset[str] = frozenset()  # those of them where space around a cell is part of it
        self._found = Skipped()
        self._gaps: list[int] = []

    def heed(self, table: Table, learn: bool) -> None:
        """Read what a table needs: to learn from, a row without its target or weight is a bad row."""
        self.required = tuple(table.needed) if learn else ()
        self.weight = table.weight if learn else None
        self.ignored = frozenset(table.ignored)
        self.naming, self.verbatim = frozenset(table.naming), frozenset(table.verbatim)

    def bad(self, bad: BadRow, after: int | None = None) -> None:
        """Stop at a bad row, or count it; `after` is the number of rows before it in the stretch, None where it is no row."""
        if self.on_bad == "stop":
            raise bad
        self._found.add(bad)
        self._gaps += [] if after is None else [after]

    def stretches(self, at: Position) -> Iterator[Stretch]:
        """Yield rows from a position on."""
        raise NotImplementedError

    def stretch(self, rows: Any, position: Position, read: int, **side: Any) -> Stretch:
        """Return rows with the bad ones met on the way."""
        found, self._found = self._found, Skipped()
        gaps, self._gaps = self._gaps, []
        return Stretch(rows, position, read, found, gaps, side)

    def beginning(self) -> Position:
        """Return the position of the first row."""
        return {**place(self.paths, 0), "examples": 0, "skipped": 0}

    def before(self, file: int) -> int:
        """Return the bytes on disk of the files before one."""
        return total_size(self.paths[:file]) or 0

    def batches(self, position: Position | None = None) -> Iterator[Batch]:
        """Yield the examples."""
        at = position or self.span[0] or self.beginning()
        same_place(self.paths, at, "examples", "skipped")
        self.begin_pass()
        self.skipped, self._found, self._gaps, self.read = Skipped(), Skipped(), [], 0
        self.skipped.count = at["skipped"]
        examples = at["examples"]
        made: Any = self.stretches(at)
        stretches: Any = ahead(lambda: next(made, None), lambda: lambda made: made, 1, wait=True) if self.replayable else made
        with contextlib.closing(made), contextlib.closing(stretches):
            for stretch in stretches:
                before = examples + self.skipped.count
                self.skipped.join(stretch.bad)
                self.read = stretch.read
                batch = Batch(stretch.rows, None, stretch.position).beside(**stretch.side)
                if stretch.rows is not None and batch.n:
                    examples += batch.n
                    counts = {"examples": examples, "skipped": self.skipped.count}
                    numbers = before + numbered(batch.n, stretch.gaps)
                    yield batch._replace(position={**stretch.position, **counts}, numbers=numbers)


class BlockReader(TableReader):
    """A reader of files of text; `begin` reads what stands before the records, and `parse` makes rows of a block."""

    def __init__(self, source: Source, on_bad: str = "stop", block: int = BLOCK, required: Any = ()) -> None:
        super().__init__(source, "*", on_bad, required)
        self.block = block

    prompt = False  # whether what comes from a pipe is given as it comes, and not in whole blocks

    def begin(self, block: Block) -> int | None:
        """Return how many bytes stand before the first record; None to be asked again with more of the file."""
        return 0

    def parse(self, block: Block) -> Parsed:
        """Make rows of the whole records of a block; none used means that more of the file is needed."""
        raise NotImplementedError

    def known(self) -> Position:
        """Return what a later pass must know besides where to begin."""
        return {}

    def remember(self, position: Position) -> None:
        """Take back what `known` gave."""

    def stretches(self, at: Position) -> Iterator[Stretch]:
        """Yield the rows of each block."""
        self.remember(at)
        ends = limits(self.paths, self.span[1], "offset")
        for k in range(at["file"], len(ends)):
            path, before = self.paths[k], self.before(k)
            begin = at if k == at["file"] else place(self.paths, k)
            origin = {"origin": begin["origin"]} if "origin" in begin else {}
            for rows, offset, line, taken in self._file(path, begin, ends[k], self.parse):
                where = {**place(self.paths, k, offset=offset, line=line), **origin, **self.known()}
                yield self.stretch(rows, where, before + taken)

    def _file(
        self, path: str, begin: Position, end: int | None, parse: Callable[[Block], Parsed]
    ) -> Iterator[tuple[Any, int, int, int]]:
        """Yield what is made of each block of a file, and the byte, the line and the bytes on disk after it."""
        offset, line = begin.get("offset", 0), begin.get("line", 1)
        with opened(path, offset, end) as stream:
            data, final, size, begun = b"", False, self.block, offset > 0
            prompt = self.prompt and not is_regular(path) and stream.plain
            while not final or data:
                more = arriving(stream, size - len(data)) if prompt else filled(stream, size - len(data))
                final = not more if prompt else len(data) + len(more) < size
                data += more
                if not data:
                    return
                if offset == 0 and data.startswith(UTF16):
                    raise ValueError(f"{path}: expected text in UTF-8, found UTF-16. Convert it: iconv -f UTF-16 -t UTF-8")
                block = Block(called(begin), data, offset, line, final)
                rows, used = None, 0
                if not begun:
                    head = self.begin(block)
                    begun, used = head is not None, head or 0
                if begun and used == 0:
                    rows, used = parse(block)
                if used == 0 and data:
                    if final:
                        return
                    size *= 2 if len(data) >= size else 1
                    check_line(f"{block.path}:{line}", size)
                    continue
                line += data.count(b"\n", 0, used)
                offset += used
                data, size = data[used:], self.block
                yield rows, offset, line, stream.consumed

    # ---- pieces --------------------------------------------------------------------------------------------------------
    settled = True  # whether what `known` returns stays so

    def hides(self, path: str) -> bool:
        """Return whether a line of a file may begin elsewhere than a record."""
        return False

    def records(self, block: Block) -> np.ndarray:
        """Return where the whole records of a block begin, and where the last one ends; for files whose lines do not tell."""
        raise NotImplementedError

    def starts(self, n: int) -> list[Position | None]:
        """Return the positions of at most n records, about equally far apart in bytes."""
        refuse_packed(self.name, self.paths)
        scout = copy.copy(self)
        scout.on_bad, scout._found = "skip", Skipped()
        scout.remember(self.beginning())
        read: Any = scout.stretches(self.beginning())
        with contextlib.closing(read):
            while not scout.settled and next(read, None) is not None:
                pass
        found = places([size_of(path) for path in self.paths], n, scout._starts_in)
        known = {file: scout._known_in(file) for file in dict(found)}
        return [{**self.beginning(), "line": 1, **known[file], **begun_at(self.paths, file, at)} for file, at in found]

    def _known_in(self, file: int) -> Position:
        """Return what is known inside a file: each may order its columns differently."""
        if self.known():
            next(self._file(self.paths[file], place(self.paths, file), None, self._recorded), None)
        return self.known()

    def _starts_in(self, file: int, targets: list[int]) -> list[int]:
        """Return where the records at or after some bytes of a file begin."""
        path = self.paths[file]
        if not is_plain(path) or not self.hides(path):
            return line_starts(path, targets)
        found: list[int] = []
        before = 0
        for records, behind, _, _ in self._file(path, place(self.paths, file), None, self._recorded):
            while records is not None and len(found) < len(targets) and targets[len(found)] < behind:
                found.append(before + int(records[np.searchsorted(records, targets[len(found)] - before)]))
            before = behind
        return found + [size_of(path)] * (len(targets) - len(found))

    def _recorded(self, block: Block) -> Parsed:
        records = self.records(block)
        return Parsed(records, int(records[-1]))


class _Plain:
    """A plain file from some byte on, to its end or another byte."""

    def __init__(self, path: str, offset: int, end: int | None) -> None:
        if max(offset, end or 0) > size_of(path):
            raise shrunk(path, max(offset, end or 0), size_of(path))
        self.file = open_plain(path)
        self.file.seek(offset)
        self.end = size_of(path) if end is None else end

    def __enter__(self) -> _Plain:
        return self

    def __exit__(self, *error: object) -> None:
        self.file.close()

    def read(self, size: int) -> bytes:
        found: bytes = self.file.read(min(size, max(self.end - self.file.tell(), 0)))
        return found

    @property
    def consumed(self) -> int:
        return int(self.file.tell())


def opened(path: str, offset: int, end: int | None) -> Any:
    """Return the unpacked bytes of a file from some byte on, to its end or, unless it is compressed, to another byte."""
    if is_plain(path):
        return _Plain(path, offset, end)
    stream, left = open_bytes(path), offset
    while left > 0:
        skipped = len(filled(stream, min(left, BLOCK)))
        if skipped == 0:
            raise shrunk(path, offset, offset - left)
        left -= skipped
    return stream


def filled(stream: Any, size: int) -> bytes:
    """Return `size` bytes, fewer only at the end of the file."""
    parts = []
    while size > 0 and (part := stream.read(size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def arriving(stream: ByteStream, size: int) -> bytes:
    """Return what a pipe gives without a pause, at most `size` bytes; nothing only at the end."""
    parts: list[bytes] = []
    while size > 0 and (not parts or stream.waiting(PAUSE)) and (part := stream.read(min(size, PIPE))):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
