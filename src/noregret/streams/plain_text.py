"""Plain text: a document a line or, in a directory, a document a file. Documents are a table of one column, `text`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..inputs.batch import BadRow, Position
from .pieces import places
from .source import LONGEST_LINE, Source, open_bytes, place, size_of
from .table_reader import BLOCK, BOM, Block, BlockReader, Parsed, Stretch, TableReader, filled

TEXT = "text"  # the name of the column
FILES = 1 << 12  # documents of a batch that are files


def reader(source: Source, on_bad: str = "stop") -> TableReader:
    """Return the reader of lines, or of the files in a directory."""
    named = [source] if isinstance(source, (str, os.PathLike)) else list(source)
    return FilesReader(source, on_bad) if any(map(os.path.isdir, named)) else LinesReader(source, on_bad)


def documents(texts: list[str]) -> Any:
    """Return texts as a record batch."""
    import pyarrow as pa

    return pa.RecordBatch.from_arrays([pa.array(texts, pa.large_string())], names=[TEXT])


def text_of(data: bytes, path: str, line: int) -> str:
    """Return bytes as text, or an error that says where they are."""
    if b"\0" in data:
        raise BadRow(path, line, data.index(b"\0") + 1, "text", "a byte of value 0: is this a binary file?")
    try:
        return data.decode()
    except UnicodeDecodeError as e:
        raise BadRow(path, line, e.start + 1, "text in UTF-8", "bytes of another encoding") from None


class LinesReader(BlockReader):
    """Reads a document a line. An empty line is an empty document."""

    kind = "text"
    prompt = True
    usual_text = TEXT

    def begin(self, block: Block) -> int:
        """Skip a byte order mark."""
        return len(BOM) if block.data.startswith(BOM) else 0

    def parse(self, block: Block) -> Parsed:
        """Return the whole lines of a block: all at once, or one by one where some are bad."""
        end = len(block.data) if block.final else block.data.rfind(b"\n") + 1
        data = block.data[:end]
        if not data:
            return Parsed(None, 0)
        try:
            texts = text_of(data, block.path, block.line).removesuffix("\n").split("\n")
        except BadRow:
            texts = list(self._slowly(data.removesuffix(b"\n"), block))
        return Parsed(documents([text.removesuffix("\r") for text in texts]), end)

    def _slowly(self, data: bytes, block: Block) -> Iterator[str]:
        """Yield lines one by one, but for the bad ones."""
        rows = 0
        for k, line in enumerate(data.split(b"\n")):
            try:
                yield text_of(line, block.path, block.line + k)
                rows += 1
            except BadRow as bad:
                self.bad(bad, rows)


class FilesReader(TableReader):
    """Reads a document a file, in the order of their names, which are the ids of the rows."""

    kind = "text"
    usual_text = TEXT

    def __init__(self, source: Source, on_bad: str = "stop", block: int = BLOCK) -> None:
        super().__init__(source, "*", on_bad, ())
        self.block = block

    def stretches(self, at: Position) -> Iterator[Stretch]:
        """Yield the documents of some files, about as many bytes as a block has."""
        stop = self.span[1]
        end = len(self.paths) if stop is None else stop["file"] + stop.get("row", 0)
        texts: list[str] = []
        names: list[str] = []
        size, read = 0, self.before(at["file"])
        for k in range(at["file"] + at.get("row", 0), end):
            path = self.paths[k]
            read += size_of(path)
            try:
                texts.append(whole(path))
                names.append(path)
                size += len(texts[-1])
            except BadRow as bad:
                self.bad(bad, len(texts))
            if size >= self.block or len(texts) == FILES or k == end - 1:
                rows = documents(texts) if texts else None
                yield self.stretch(rows, place(self.paths, k, row=1), read, id=np.array(names, object))
                texts, names, size = [], [], 0

    def starts(self, n: int) -> list[Position | None]:
        """Return the positions of at most n files, with about equally many between them."""
        found = places([1] * len(self.paths), n, lambda file, at: at)
        return [{**self.beginning(), **place(self.paths, file, row=0)} for file, _ in found]


def whole(path: str) -> str:
    """Return the text of a file."""
    with open_bytes(path) as file:
        data = filled(file, LONGEST_LINE + 1)
    if len(data) > LONGEST_LINE:
        raise BadRow(path, 1, None, f"a document of at most {LONGEST_LINE >> 20} MiB", "a longer one")
    return text_of(data.removeprefix(BOM), path, 1)
