"""What a reader gives: batches of examples in order, each with the position from which a later pass goes on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from .labels import Coded

Position = dict[str, Any]  # plain JSON values


class Batch(NamedTuple):
    """Examples in order.

    `data` is Rows (CSR over the numbers of features from 0, or dense), or an Arrow RecordBatch whose columns are still to be
    made into features; then y, c, ids and times are None and come from its columns.
    """

    data: Any
    y: np.ndarray | Coded | None  # labels or targets; None where the source has none
    c: np.ndarray | None  # weights
    ids: Any  # what names each row (tags, ids), for predictions; or None
    times: np.ndarray | None
    position: Position  # where the next batch begins


class BadRow(ValueError):
    """A row that cannot be read: where it is, what was expected and what came."""

    def __init__(self, file: str, line: int, column: int | None, expected: str, found: str) -> None:
        self.file, self.line, self.column, self.expected, self.found = file, line, column, expected, found
        at = f"{file}:{line}" if column is None else f"{file}:{line}:{column}"
        super().__init__(f"{at}: expected {expected}, found {found}")


class Skipped:
    """Bad rows left out: how many, and what was wrong with the first few."""

    KEPT = 5

    def __init__(self) -> None:
        self.count = 0
        self.first: list[str] = []

    def add(self, bad: BadRow) -> None:
        """Note one."""
        self.count += 1
        if len(self.first) < self.KEPT:
            self.first.append(str(bad))

    def join(self, later: Skipped) -> None:
        """Take in those that were found after these."""
        self.count += later.count
        self.first += later.first[: self.KEPT - len(self.first)]


class Reader:
    """A source of batches. Every call of `batches` is a new pass, from the start or from a position."""

    kind: str  # "svmlight", "csv", ...
    name: str  # as the user named it
    unit: str = "bytes"  # of size and read: "bytes" or "examples"
    size: int | None = None  # to read in a pass, where known
    read: int = 0  # read in this pass
    hash_bits: int | None = None  # features are folded into 2^hash_bits numbers by the reader itself
    once: bool = False  # standard input: only one pass
    least: int | None = None  # the smallest number of a feature met, where features are numbered by the source

    def __init__(self) -> None:
        self.skipped = Skipped()
        self._passes = 0

    def begin_pass(self) -> None:
        """Refuse a second pass over what can be read only once."""
        if self.once and self._passes:
            name = "standard input" if self.name == "-" else self.name
            raise ValueError(f"{name} can be read only once: write it to a file for more passes")
        self._passes += 1

    def heed(self, table: Any, learn: bool) -> None:
        """Take note of what a table needs of each row, to learn from it or to answer; only readers of tables do."""

    def batches(self, position: Position | None = None) -> Iterator[Batch]:
        """Yield the examples."""
        raise NotImplementedError
