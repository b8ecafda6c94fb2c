"""What a reader gives: batches of examples in order, each with the position from which a later pass resumes."""

from __future__ import annotations

import contextlib
import copy
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np

from ..text import shortened
from .checking import Rows, Side, given, some_of
from .labels import Coded, some

Position = dict[str, Any]  # plain JSON values
QUOTED = r"(?<!\w)'(?:[^'\\]|\\.)*'|(?<!\w)\"(?:[^\"\\]|\\.)*\""  # names and cells, which may hold anything
ROW = re.compile(rf"{QUOTED}|\brow (\d+)( of the batch)?\b")  # as errors name it


class Batch(NamedTuple):
    """Examples in order.

    `data` is Rows (CSR over the numbers of features from 0, or dense) with their side columns; or an Arrow RecordBatch or a list of
    dicts, of which features are still to be made. What a reader knows beside those waits in `waiting` until there are rows; the
    labels and side columns among the columns of a RecordBatch are found when features are.
    """

    data: Any
    y: np.ndarray | Coded | None  # labels or targets; None where the source has none
    position: Position  # where the next batch begins
    waiting: Side = {}
    numbers: np.ndarray | None = None  # of the examples in their source, from 0, where they are known

    @property
    def n(self) -> int:
        """Examples."""
        if isinstance(self.data, Rows):
            return self.data.n
        return len(self.data) if isinstance(self.data, list) else int(self.data.num_rows)

    @property
    def columns(self) -> Side:
        """The side columns."""
        return self.data.columns if isinstance(self.data, Rows) else self.waiting

    def column(self, name: str) -> np.ndarray | None:
        """Return a side column, None where there is none."""
        return self.columns.get(name)

    @property
    def c(self) -> np.ndarray | None:
        """The weights, None where all are 1."""
        return self.column("weight")

    @property
    def ids(self) -> np.ndarray | None:
        """What names the rows in answers and files: ids, or bundles where there are none."""
        named = self.column("id")
        return self.column("bundle") if named is None else named

    def beside(self, **columns: np.ndarray | None) -> Batch:
        """Return the batch with more side columns, those that are not None."""
        if isinstance(self.data, Rows):
            return self._replace(data=self.data.beside(**columns))
        return self._replace(waiting={**self.waiting, **given(columns)})

    def cut(self, a: int, b: int) -> Batch:
        """Return examples a to b."""
        if a == 0 and b == self.n:
            return self
        data = self.data.cut(a, b) if isinstance(self.data, Rows) else self.data[a:b]
        y = None if self.y is None else some(self.y, slice(a, b))
        numbers = None if self.numbers is None else self.numbers[a:b]
        return self._replace(data=data, y=y, waiting=some_of(self.waiting, slice(a, b)), numbers=numbers)

    def take(self, rows: np.ndarray) -> Batch:
        """Return some examples of a batch of Rows, in the order asked for."""
        numbers = None if self.numbers is None else self.numbers[rows]
        return self._replace(data=self.data.take(rows), y=None if self.y is None else some(self.y, rows), numbers=numbers)

    @contextlib.contextmanager
    def named_in_errors(self) -> Iterator[None]:
        """Let an error that names a row of this batch name the example of the source, counted from 1."""
        try:
            yield
        except (ValueError, TypeError) as e:
            found = None if isinstance(e, BadRow) else next((m for m in ROW.finditer(str(e)) if m[1]), None)
            if found is None or self.numbers is None or int(found[1]) >= len(self.numbers):
                raise
            example = f"example {int(self.numbers[int(found[1])]) + 1:,}"
            kind = TypeError if isinstance(e, TypeError) else ValueError
            raise kind(str(e)[: found.start()] + example + str(e)[found.end() :]) from None


def numbered(n: int, gaps: Sequence[int] | np.ndarray) -> np.ndarray:
    """Return the numbers of n rows, from 0, where bad rows among them count; `gaps` say how many good ones are before each."""
    each = np.arange(n)
    return each + np.searchsorted(np.sort(gaps), each, "right")


class BadRow(ValueError):
    """A row that cannot be read: where it is, what was expected and what came."""

    def __init__(self, file: str, line: int, column: int | None, expected: str, found: str) -> None:
        self.file, self.line, self.column, self.expected, self.found = file, line, column, expected, found
        at = f"{file}:{line}" if column is None else f"{file}:{line}:{column}"
        super().__init__(f"{at}: expected {shortened(expected, 200)}, found {shortened(found, 120)}")


class Skipped:
    """Bad rows left out: how many, and what was wrong with the first few."""

    KEPT = 5

    def __init__(self) -> None:
        self.count = 0
        self.first: list[str] = []

    def add(self, bad: BadRow) -> None:
        """Count one bad row."""
        self.count += 1
        if len(self.first) < self.KEPT:
            self.first.append(str(bad))

    def join(self, later: Skipped) -> None:
        """Add bad rows that were found later."""
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
    replayable: bool = True  # whether a second pass gives the same; standard input, pipes and iterators give one pass
    endless: bool = False  # whether more may always come, as from a broker: a pass ends when nothing does
    copied: bool = False  # whether plain files are copied block by block, and not mapped: others write to them
    tabular: bool = False  # whether batches have named columns, of which a Table makes features
    usual_target: str | None = None  # the column where the format has labels, once the columns are known
    span: tuple[Position | None, Position | None] = (None, None)  # of a piece, the positions where it begins and ends
    words: list[str] | None = None  # the names of features that the source numbers, where they were given
    usual_text: str | None = None  # the column that holds text, whatever its first value
    cross: Sequence[Sequence[str]] = ()  # namespaces whose features the reader itself multiplies
    least: int | None = None  # the smallest number of a feature met, where features are numbered by the source

    def __init__(self) -> None:
        self.skipped = Skipped()
        self._passes = 0

    @property
    def title(self) -> str:
        """What an error calls it."""
        return "standard input" if self.name == "-" else self.name

    def begin_pass(self) -> None:
        """Refuse a second pass over what can be read only once."""
        if not self.replayable and self._passes:
            raise ValueError(f"{self.title} can be read only once: write it to a file for more passes")
        self._passes += 1

    def heed(self, table: Any, learn: bool) -> None:
        """Note which columns a table needs to learn or to answer; only readers of tables do."""

    def allow_unlabelled(self) -> None:
        """Let a source that must have labels to learn from have none, to be answered."""

    def batches(self, position: Position | None = None) -> Iterator[Batch]:
        """Yield the examples, from a position or the beginning of the `span` on, to the end of the span."""
        raise NotImplementedError

    def commit(self, position: Position) -> None:
        """Note that everything before a position is learned and saved, so that a broker may be told. Files do nothing."""

    # ---- pieces --------------------------------------------------------------------------------------------------------
    def split(self, n: int) -> list[Self]:
        """Return readers of consecutive pieces, at most n and about equal, which together give every row once and in order."""
        if not isinstance(n, int) or n < 1:
            raise ValueError(f"expected a whole number of pieces, at least 1, got {n!r}")
        if self.span != (None, None):
            raise ValueError(f"{self.name}: this is a piece already; split the whole")
        if not self.replayable or self.endless:
            what = "has no end" if self.endless else "can be read only once"
            raise ValueError(f"{self.name} {what}, so it cannot be read in pieces: write it to a file")
        starts = self.starts(n)
        return [self.piece(a, b) for a, b in pairwise([*starts, None])]

    def starts(self, n: int) -> list[Position | None]:
        """Return the positions where at most n pieces begin."""
        raise ValueError(f"{self.name}: {self.kind} cannot be read in pieces")

    def piece(self, start: Position | None, stop: Position | None) -> Self:
        """Return a reader of what lies between two positions, plain values that another process may get."""
        piece = copy.copy(self)
        piece.span, piece.skipped, piece.size = (start, stop), Skipped(), None
        return piece
