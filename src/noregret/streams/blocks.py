"""Text files of records in blocks: whole records, read forward, with the byte and line where each block begins.

A block is filled to the same size from its first byte, so a pass that goes on from a position gives the same batches.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from ..core.batch import BadRow, Batch, Position, Reader, Skipped
from .ahead import ahead
from .source import ByteStream, Source, compression, expand, is_regular, named, open_bytes, same_place, total_size

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


class Piece(NamedTuple):
    """Rows that were read ahead: a record batch or None, where the next begin, bytes on disk so far, bad rows since the last."""

    rows: Any
    position: Position
    read: int
    bad: Skipped


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
        self._found = Skipped()

    def heed(self, table: Table, learn: bool) -> None:
        """Read what a table needs: to learn from, a row without its target or weight is a bad row."""
        self.required = tuple(table.needed) if learn else ()
        self.weight = table.weight if learn else None
        self.ignored = frozenset(table.ignored)

    def bad(self, bad: BadRow) -> None:
        """Stop at a bad row, or count it."""
        if self.on_bad == "stop":
            raise bad
        self._found.add(bad)

    def pieces(self, at: Position) -> Iterator[Piece]:
        """Yield rows from a position on."""
        raise NotImplementedError

    def piece(self, rows: Any, position: Position, read: int) -> Piece:
        """Return rows with the bad ones met on the way."""
        found, self._found = self._found, Skipped()
        return Piece(rows, position, read, found)

    def before(self, file: int) -> int:
        """Return the bytes on disk of the files before one."""
        return total_size(self.paths[:file]) or 0

    def batches(self, position: Position | None = None) -> Iterator[Batch]:
        """Yield the examples."""
        at = position or {"file": 0, "path": self.paths[0], "examples": 0, "skipped": 0}
        same_place(self.paths, at)
        self.begin_pass()
        self.skipped, self._found, self.read = Skipped(), Skipped(), 0
        self.skipped.count = at["skipped"]
        examples = at["examples"]
        made: Any = self.pieces(at)
        pieces: Any = ahead(lambda: next(made, None), lambda: lambda piece: piece, 1, wait=True) if self.replayable else made
        with contextlib.closing(made), contextlib.closing(pieces):
            for piece in pieces:
                self.skipped.join(piece.bad)
                self.read = piece.read
                if piece.rows is not None and piece.rows.num_rows:
                    examples += piece.rows.num_rows
                    counts = {"examples": examples, "skipped": self.skipped.count}
                    yield Batch(piece.rows, None, {**piece.position, **counts})


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

    def pieces(self, at: Position) -> Iterator[Piece]:
        """Yield the rows of each block."""
        self.remember(at)
        for k in range(at["file"], len(self.paths)):
            path, before = self.paths[k], self.before(k)
            here = (at.get("offset", 0), at.get("line", 1)) if k == at["file"] else (0, 1)
            for rows, offset, line, taken in self._file(path, *here):
                where = {"file": k, "path": path, "offset": offset, "line": line, **self.known()}
                yield self.piece(rows, where, before + taken)

    def _file(self, path: str, offset: int, line: int) -> Iterator[tuple[Any, int, int, int]]:
        """Yield the rows of each block of a file, and the byte, the line and the bytes on disk behind it."""
        with opened(path, offset) as stream:
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
                block = Block(path, data, offset, line, final)
                rows, used = None, 0
                if not begun:
                    head = self.begin(block)
                    begun, used = head is not None, head or 0
                if begun and used == 0:
                    rows, used = self.parse(block)
                if used == 0 and data:
                    if final:
                        return
                    size *= 2 if len(data) >= size else 1
                    continue
                line += data.count(b"\n", 0, used)
                offset += used
                data, size = data[used:], self.block
                yield rows, offset, line, stream.consumed


class _Plain:
    """A plain file from some byte on."""

    def __init__(self, path: str, offset: int) -> None:
        self.file = open(path, "rb")  # noqa: SIM115
        self.file.seek(offset)

    def __enter__(self) -> _Plain:
        return self

    def __exit__(self, *error: object) -> None:
        self.file.close()

    def read(self, size: int) -> bytes:
        return self.file.read(size)

    @property
    def consumed(self) -> int:
        return self.file.tell()


def opened(path: str, offset: int) -> Any:
    """Return the unpacked bytes of a file from some byte on."""
    if is_regular(path) and compression(path) is None:
        return _Plain(path, offset)
    stream = open_bytes(path)
    while offset > 0:
        skipped = len(filled(stream, min(offset, BLOCK)))
        if skipped == 0:
            raise ValueError(f"{path} ends before the position to go on from: it is not the file that was read before")
        offset -= skipped
    return stream


def filled(stream: Any, size: int) -> bytes:
    """Return so many bytes, fewer only at the end of the file."""
    parts = []
    while size > 0 and (part := stream.read(size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def arriving(stream: ByteStream, size: int) -> bytes:
    """Return what a pipe gives without a pause, up to so many bytes; nothing only at the end."""
    parts: list[bytes] = []
    while size > 0 and (not parts or stream.waiting(PAUSE)) and (part := stream.read(min(size, PIPE))):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
