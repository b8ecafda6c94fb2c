"""A file of lines that others write to: it is read to its last whole line, and again when there are more."""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable, Iterator
from time import sleep
from typing import Any

from ..inputs.batch import Batch, Position, Reader
from ..text import plural
from .marks import Mark, compared, mark
from .source import Held, is_plain, place
from .table_reader import BlockReader
from .text_reader import TextReader

PAUSE = 0.5  # seconds between two looks at the file


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
        now = os.stat(path)
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
        with open(self.paths[0], "rb") as file, mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ) as view:
            end = view.rfind(b"\n", begun, size) + 1
            quotes = view[begun:end].count(quote) if quote else 0
            while quotes % 2:
                earlier = view.rfind(b"\n", begun, end - 1) + 1
                quotes -= view[max(earlier, begun) : end].count(quote)
                end = earlier
        return max(end, begun)
