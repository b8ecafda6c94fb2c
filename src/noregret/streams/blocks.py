"""Text files of records in blocks: whole records, read forward, with the byte and line where each block begins.

A block is filled to the same size from its first byte, so a pass that goes on from a position gives the same batches.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from ..core.batch import BadRow, Batch, Position, Reader, Skipped
from .source import STDIN, Source, compression, expand, is_regular, open_bytes, total_size

if TYPE_CHECKING:
    from ..transforms.table import Table

BLOCK = 1 << 22
BOM = b"\xef\xbb\xbf"


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


class BlockReader(Reader):
    """A reader of files of text; `begin` reads what stands before the records, and `parse` makes rows of a block."""

    def __init__(self, source: Source, on_bad: str = "stop", block: int = BLOCK, required: Any = ()) -> None:
        super().__init__()
        if on_bad not in ("stop", "skip"):
            raise ValueError(f"on_bad must be 'stop' or 'skip', got {on_bad!r}")
        self.paths = expand(source, "*")
        self.name = os.fspath(source) if isinstance(source, (str, os.PathLike)) else ", ".join(self.paths)
        self.on_bad, self.block = on_bad, block
        self.required = (required,) if isinstance(required, str) else tuple(required)  # columns whose cells must be there
        self.size = total_size(self.paths)
        self.once = STDIN in self.paths

    def heed(self, table: Table) -> None:
        """Read what a table needs: a row without its target or weight is then a bad row."""
        self.required = tuple(table.needed)

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

    def batches(self, position: Position | None = None) -> Iterator[Batch]:
        """Yield the examples."""
        at = position or {"file": 0, "offset": 0, "line": 1, "examples": 0, "skipped": 0}
        self.skipped = Skipped()
        self.skipped.count = at["skipped"]
        self.remember(at)
        examples = at["examples"]
        for k in range(at["file"], len(self.paths)):
            before = 0 if self.size is None else sum(os.path.getsize(p) for p in self.paths[:k])
            here = (at["offset"], at["line"]) if k == at["file"] else (0, 1)
            for rows, offset, line, taken in self._file(self.paths[k], *here):
                self.read = before + taken
                if rows is None or rows.num_rows == 0:
                    continue
                examples += rows.num_rows
                where = {"file": k, "path": self.paths[k], "offset": offset, "line": line}
                counts = {"examples": examples, "skipped": self.skipped.count}
                yield Batch(rows, None, None, None, None, {**where, **counts, **self.known()})

    def _file(self, path: str, offset: int, line: int) -> Iterator[tuple[Any, int, int, int]]:
        """Yield the rows of each block of a file, and the byte, the line and the bytes on disk behind it."""
        with opened(path, offset) as stream:
            data, final, size, begun = b"", False, self.block, offset > 0
            while not final or data:
                more = filled(stream, size - len(data))
                final = len(data) + len(more) < size
                data += more
                if not data:
                    return
                block = Block(path, data, offset, line, final)
                if begun:
                    rows, used = self.parse(block)
                else:
                    rows, head = None, self.begin(block)
                    begun, used = head is not None, head or 0
                    if begun and used == 0:
                        continue
                if used == 0 and data:
                    if final:
                        return
                    size *= 2
                    continue
                line += data.count(b"\n", 0, used)
                offset += used
                data, size = data[used:], self.block
                yield rows, offset, line, stream.consumed

    def bad(self, bad: BadRow) -> None:
        """Stop at a bad row, or count it."""
        if self.on_bad == "stop":
            raise bad
        self.skipped.add(bad)


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
