"""A file of lines that others write to: it is read to its last whole line, and again when there are more."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from time import sleep
from typing import Any, BinaryIO

from ..inputs.batch import Batch, Position, Reader
from ..text import plural
from .marks import Mark, compared, mark
from .source import Held, is_plain, place
from .table_reader import BlockReader
from .text_reader import TextReader

PAUSE = 0.5  # seconds between two looks at the file
READ = 1 << 20  # bytes at once; a map of a file that others cut would end the process


class Growing(Reader):
    """The rows of a growing file as they come. `idle` is called while there are none; the pass ends when it returns True."""

    endless = True

    def __init__(self, reader: Reader, idle: Callable[[], bool]) -> None:
        super().__init__()
        paths = getattr(reader, "paths", [])
        lines = isinstance(reader, (TextReader, BlockReader)) and reader.kind != "arff"
        if not lines or len(paths) != 1 or isinstance(paths[0], Held) or not is_plain(paths[0]):
            raise ValueError(
                f"{reader.name} cannot be followed: expected one file of svmlight, vw, csv, tsv or jsonl, not compressed"
            )
        self.reader: Any = reader
        self.reader.copied = True
        self.paths, self.idle = paths, idle
        self.kind, self.name, self.hash_bits, self.tabular = reader.kind, reader.name, reader.hash_bits, reader.tabular

    def heed(self, table: Any, learn: bool) -> None:
        """Note which columns a table needs."""
        self.reader.heed(table, learn)

    def batches(self, position: Position | None = None) -> Iterator[Batch]:
        """Yield the examples, from a position on, until `idle` ends the pass."""
        done = 0
        known: os.stat_result | None = None
        was = mark(self.paths[0], 0 if position is None else position["offset"])
        while True:
            begun = 0 if position is None else position["offset"]
            known = self._still(known, was)
            end = self._whole(begun, known.st_size)
            if end > max(begun, done):
                done = end
                was = mark(self.paths[0], end)
                piece = self.reader = self.reader.piece(None, place(self.paths, 0, offset=end))
                for batch in piece.batches(position):
                    position, self.read, self.skipped = batch.position, piece.read, piece.skipped
                    yield batch
            elif self.idle():
                return
            else:
                sleep(PAUSE)

    def _still(self, known: os.stat_result | None, was: Mark) -> os.stat_result:
        """Return what the system says of the file; refuse one that is not the file that was read before."""
        path = self.paths[0]
        try:
            now = os.stat(path)
        except FileNotFoundError:
            raise ValueError(f"{path} is gone, which was followed: what came before is learned") from None
        if known is not None and (now.st_ino, now.st_dev) != (known.st_ino, known.st_dev):
            raise ValueError(f"{path} was replaced by another file while it was followed: what came before is learned")
        if now.st_size < was["size"]:
            raise ValueError(
                f"{path} was cut to {now.st_size} bytes after {was['size']} of them were read: what came before is learned"
            )
        if compared(path, was) == "other":
            raise ValueError(
                f"{path} was rewritten while it was followed: expected its first {plural(was['size'], 'byte')} to stay the same. "
                "What came before is learned"
            )
        return now

    def _whole(self, begun: int, size: int) -> int:
        """Return where the last whole record ends. A line that ends inside quotes is none."""
        if size <= begun:
            return begun
        quote = self.reader.quote.encode() if self.tabular and self.reader.hides(self.paths[0]) else b""
        with open(self.paths[0], "rb") as file:
            end = after_newline(file, begun, size)
            quotes = count(file, quote, begun, end) if quote else 0
            while quotes % 2:
                earlier = after_newline(file, begun, end - 1)
                quotes -= count(file, quote, earlier, end)
                end = earlier
        return end


def after_newline(file: BinaryIO, begin: int, end: int) -> int:
    """Return the place after the last newline of some bytes of a file, or where they begin."""
    while end > begin:
        low = max(begin, end - READ)
        file.seek(low)
        found = file.read(end - low).rfind(b"\n")
        if found >= 0:
            return low + found + 1
        end = low
    return begin


def count(file: BinaryIO, mark: bytes, begin: int, end: int) -> int:
    """Return how often a byte is among some bytes of a file."""
    file.seek(begin)
    return sum(file.read(min(READ, end - at)).count(mark) for at in range(begin, end, READ))
