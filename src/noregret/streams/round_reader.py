"""Rounds: rows that are vectors of numbers, one for each named column, such as the prices of assets or the losses of experts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any, NamedTuple

import numpy as np

from ..allocations.allocator import refuse_others
from ..inputs.batch import Batch, Position, Reader, Skipped
from ..inputs.checking import Rows
from ..portfolio.prices import relatives
from ..text import brief, meant, plural
from ..transforms.dates import arrow_moments
from ..transforms.table_cells import fields_of, is_dates, is_frame, listing
from .arrays import MemoryReader
from .delimited import CsvReader, date_form
from .stream import Stream, open_reader

LAST, DATE = "last", "date"  # in a position: the last prices before it, by name where they have names; the last date
BACK = np.timedelta64(3, "h")  # a clock that is put back makes no row come too early
COUNTED = 8  # first rows from which on a column that numbers rows or days is neither prices nor losses
NAMING = 3  # rows from which on a column of whole numbers that numbers them is taken to name them
FIRST_DAY, LAST_DAY = 19000101, 21001231  # days as numbers
MISSING = ("refuse", "hold")
ORDERS = ("dmy", "mdy")


class Manner(NamedTuple):
    """How the rows of a source are read as rounds."""

    unit: str = "round"  # what a row is called
    column: str = "column"  # and what a column is
    prices: bool = False  # whether rows are prices, of which two that follow each other make a round of relatives
    missing: str = "refuse"  # "hold": an empty cell means no change
    time: str | None = None  # the column of dates
    target: str | None = None  # the column of the truth
    ignore: tuple[str, ...] = ()
    date_order: str | None = None  # "dmy" or "mdy", of dates such as 5/1/2011


class RoundReader(Reader):
    """The rounds of another reader. A position also holds the last prices and date, so that a pass from there goes on from them."""

    def __init__(self, inner: Reader, manner: Manner) -> None:
        super().__init__()
        self.inner, self.manner = inner, manner
        self.name, self.kind, self.unit = inner.name, inner.kind, inner.unit
        self.replayable, self.endless = inner.replayable, inner.endless
        self.paths: Sequence[str] = getattr(inner, "paths", [])
        self.time = manner.time  # the column of dates, once it is known
        self.likely: str | None = None  # the one it was in another source
        self.order = manner.date_order  # of their days and months, likewise
        self.before: Position = {}  # the last prices and date of what was learned before this source

    @property
    def size(self) -> int | None:  # type: ignore[override]
        """What there is to read in a pass."""
        return self.inner.size

    @property
    def read(self) -> int:  # type: ignore[override]
        """What was read in this pass."""
        return self.inner.read

    @property
    def skipped(self) -> Skipped:
        """Bad rows left out."""
        return self.inner.skipped

    @skipped.setter
    def skipped(self, found: Skipped) -> None:
        """Leave it to the reader behind."""

    def batches(self, position: Position | None = None) -> Iterator[Batch]:
        """Yield rounds; of prices the first row makes none."""
        known = self.before if position is None else position
        last, date = known.get(LAST), known.get(DATE)
        row = 0 if position is None else position.get("examples", 0)
        first: list[str] | None = None  # the names of the columns, in the order of the first batch
        inner: Any = self.inner.batches(position)
        with closing(inner):  # also where a cell is refused: a thread may be reading ahead
            for batch in inner:
                at = np.arange(row, row + batch.n) if batch.numbers is None else batch.numbers
                with batch._replace(numbers=at).named_in_errors():
                    X, y, names, dates = self.numbers(batch, at)
                if names is not None:
                    first = first or names
                    if names != first:  # each file may order its columns differently
                        refuse_others(first, names, self.manner.column, f"{self.title}: ")
                        X, names = np.take(X, [names.index(name) for name in first], 1), first
                if row == 0:
                    self.refuse_counter(X, names)
                date = self.later(dates, date, at, row == 0)
                row += batch.n
                where = batch.position if date is None else {**batch.position, DATE: date}
                if self.manner.prices or self.manner.missing == "hold":
                    X, prices = self.relatives(X, self.aligned(last, names), names, at)
                    last = prices.tolist() if names is None else dict(zip(names, prices.tolist(), strict=True))
                    if len(X) < batch.n:
                        dates, y = dates if dates is None else dates[1:], y if y is None else y[1:]
                    where = {**where, LAST: last} if self.manner.prices else where
                rows = Rows("dense", (np.ascontiguousarray(X),), len(X), X.shape[1], names).beside(id=dates)
                yield Batch(rows, y, where, numbers=at[batch.n - len(X) :])

    # ---- cells -------------------------------------------------------------------------------------------------------
    def numbers(self, batch: Batch, at: np.ndarray) -> tuple[np.ndarray, np.ndarray | None, list[str] | None, np.ndarray | None]:
        """Return the numbers of a batch, NaN where a cell is empty, the truth, the names of the columns, and dates.

        Here and below, `at` are the numbers of the rows in their source, for errors.
        """
        if isinstance(batch.data, Rows):
            return self.dense(batch.data), None if batch.y is None else np.asarray(batch.y, np.float64), batch.data.names, None
        columns = dict(fields_of(batch.data)) if not isinstance(batch.data, list) else arrow_columns(batch.data)
        manner = self.manner
        for name in (manner.time, manner.target, *manner.ignore):
            if name is not None and name not in columns:
                known = [*columns]
                raise ValueError(f"{self.title} has no column {name!r}. {meant(name, known)}There are {listing(known)}")
        if self.time is None:
            apart = {manner.target, *manner.ignore}
            self.time = self.likely if self.likely in columns else None
        if self.time is None:
            self.time = next((n for n, array in columns.items() if n not in apart and (is_time(array) or counts(array))), None)
        apart = {self.time, manner.target, *manner.ignore}
        names = [name for name in columns if name not in apart]
        if not names:
            raise ValueError(f"{self.title} has no column of numbers: there are {listing([*columns])}")
        X = np.column_stack([self.cells(name, columns[name], at) for name in names])
        y = None if manner.target is None else self.cells(manner.target, columns[manner.target], at)
        y = batch.y if y is None else y  # type: ignore[assignment]
        dates = None if self.time is None else self.dates(columns[self.time])
        return X, y, names, dates

    def dense(self, rows: Rows) -> np.ndarray:
        """Return rows of numbers as an array."""
        if rows.layout != "dense":
            raise TypeError(f"{self.title} is {self.kind}, sparse rows: expected a table or an array, a row a {self.manner.unit}")
        return np.asarray(rows.arrays[0], np.float64)

    def cells(self, name: str, array: Any, at: np.ndarray) -> np.ndarray:
        """Return a column as numbers, NaN where a cell is empty; refuse text."""
        import pyarrow as pa

        try:
            return np.asarray(array.cast(pa.float64()).to_numpy(zero_copy_only=False), np.float64)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            k, found = next((k, v) for k, v in enumerate(array.to_pylist()) if not is_number(v))
        hint = f", or leave the column out (ignore, --ignore {name})" if at[k] == 0 else ""
        raise ValueError(f"{self.place(at[k], name)}: expected a number, found {brief(found)}{hint}")

    def dates(self, array: Any) -> np.ndarray:
        """Return dates as texts; what is no date is kept as it is."""
        name = str(self.time)
        if not is_time(array):
            return np.array([str(v) for v in array.to_pylist()], object)
        form = None if is_dates(array) else date_form(array, self.order)
        self.order = self.order or (form if form in ORDERS else None)
        try:
            moments = arrow_moments(name, array, self.order)
        except ValueError:  # whether the day or the month comes first is not known, nor needed
            return np.array([str(v) for v in array.to_pylist()], object)
        day = moments.astype("M8[D]")
        told = day if (day == moments).all() else moments.astype("M8[s]")
        return np.array([str(v) for v in told], object)

    def relatives(self, X: np.ndarray, before: np.ndarray | None, names: Any, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return price relatives and the last prices; with missing="hold" an empty cell means that the price did not change."""
        holds = self.manner.missing == "hold"
        if not self.manner.prices:
            return np.where(np.isnan(X), 1.0, X), X[-1]
        with np.errstate(invalid="ignore"):
            wrong = ~((X > 0.0) & (np.inf > X)) & ~(holds & np.isnan(X))
        if before is None:
            wrong[0] |= np.isnan(X[0])
        if wrong.any():
            i, k = (int(v) for v in np.argwhere(wrong)[0])
            empty = np.isnan(X[i, k])
            hint = ". Give missing='hold' if it did not change that day" if empty and not holds else ""
            hint = (
                ". Leave the column out (ignore, --ignore), or begin with a row in which all have prices"
                if empty and holds
                else hint
            )
            found = "nothing" if empty else repr(float(X[i, k]))
            raise ValueError(
                f"{self.place(at[i], k if names is None else names[k])}: expected a price above 0, found {found}{hint}"
            )
        last = np.array(X[-1] if before is None else np.where(np.isnan(X[-1]), before, X[-1]))
        for j in np.flatnonzero(np.isnan(X[-1])):
            known = X[~np.isnan(X[:, j]), j]
            last[j] = known[-1] if len(known) else last[j]
        held = self.manner.missing if holds else None
        empty_rows = np.empty((0, X.shape[1]))
        return (relatives(X, before, held) if len(X) > 1 or before is not None else empty_rows), last

    def aligned(self, last: dict[str, float] | list[float] | None, names: list[str] | None) -> np.ndarray | None:
        """Return the last prices in the order of the columns, None where there are none; refuse other assets than they are of."""
        if last is None:
            return None
        if isinstance(last, dict) and names is not None:
            refuse_others([*last], names, self.manner.column, f"{self.title}: ")
            return np.array([last[name] for name in names])
        found = np.array([*last.values()] if isinstance(last, dict) else last)
        if names is not None and len(names) != len(found):
            raise ValueError(f"{self.title}: expected {plural(len(found), 'price')} in a row, found {len(names)}")
        return found

    # ---- order -------------------------------------------------------------------------------------------------------
    def later(self, dates: np.ndarray | None, before: str | None, at: np.ndarray, first: bool) -> str | None:
        """Return the last date; refuse rows that are not in the order of time, and a day that comes twice."""
        moments = None if dates is None else moments_of(dates)
        if dates is None or moments is None:
            return before
        if np.isnat(moments).any():
            row = int(at[np.argmax(np.isnat(moments))])
            hint = f"give one, or leave out the dates (ignore, --ignore {self.time})"
            raise ValueError(f"{self.title}, row {row + 1}: there is no date: {hint}")
        told = [*([] if before is None else [before]), *dates.tolist()]
        steps = np.diff(np.array(told, "M8[us]"))
        whole = self.manner.unit == "day" and all(len(v) == len("2024-01-31") for v in told)
        wrong = (steps < -BACK) | ((steps == np.timedelta64(0)) & whole)
        if not wrong.any():
            return told[-1] if told else None
        k = int(np.argmax(wrong))
        row, earlier = int(at[k + 1 - (before is not None)]), before is not None and k == 0 and first
        after = f"the model has learned to {told[k]}" if earlier else f"the row before has {told[k]}"
        hint = f"give the {self.manner.unit}s after it alone" if earlier else "sort the rows, the oldest first, each date once"
        raise ValueError(
            f"{self.title}, row {row + 1}: the date is {told[k + 1]}, and {after}: {hint}, or leave out the dates (ignore, "
            f"--ignore {self.time})"
        )

    def refuse_counter(self, X: np.ndarray, names: list[str] | None) -> None:
        """Refuse a column that numbers rows, or days as 20240131: neither is a price or a loss."""
        for k, name in enumerate(names or []):
            v = X[:, k]
            dated = (v >= FIRST_DAY).all() and (v <= LAST_DAY).all() and (np.diff(v) > 0.0).all()
            if len(v) >= COUNTED and (v == np.rint(v)).all() and (dated or numbers_rows(v)):
                raise ValueError(
                    f"{self.title}: column {brief(name)} goes up by whole numbers, {v[0]:.0f}, {v[1]:.0f}, {v[2]:.0f}, as the "
                    f"numbers of rows or days do. Leave it out (ignore, --ignore {name}), or let it name the rows (time, --time "
                    f"{name})"
                )

    def place(self, row: int, name: Any) -> str:
        """Return where a cell is; rows count from 1, without a heading."""
        return f"{self.title}, row {row + 1}, {self.manner.column} {brief(name)}"

    def commit(self, position: Position) -> None:
        """Pass it on."""
        self.inner.commit(position)


def is_time(array: Any) -> bool:
    """Return whether a column of Arrow holds dates, or texts that are."""
    import pyarrow as pa

    texts = pa.types.is_string(array.type) or pa.types.is_large_string(array.type)
    return is_dates(array) or (texts and date_form(array, None) is not None)


def counts(array: Any) -> bool:
    """Return whether a column of Arrow numbers the rows."""
    import pyarrow as pa

    if not pa.types.is_integer(array.type) or len(array) < NAMING or array.null_count:
        return False
    return numbers_rows(array.to_numpy(zero_copy_only=False))


def numbers_rows(v: np.ndarray) -> bool:
    """Return whether numbers begin with 0 or 1, and go up by 1."""
    return bool(v[0] in (0, 1) and (np.diff(v) == 1).all())


def moments_of(dates: np.ndarray) -> np.ndarray | None:
    """Return dates as `RoundReader.dates` writes them as moments, None where they are other names."""
    try:
        return dates.astype("M8[us]")
    except ValueError:
        return None


def otherwise(manner: Manner) -> str:
    """Return what a cell may be if it is no number."""
    if manner.missing == "hold":
        return "an empty cell"
    return "an empty cell with missing='hold' if the price did not change that day" if manner.unit == "day" else ""


def is_number(v: Any) -> bool:
    """Return whether a cell is empty or a number."""
    try:
        return v is None or float(v) is not None
    except (TypeError, ValueError):
        return False


def arrow_columns(records: list[dict[str, Any]]) -> dict[str, Any]:
    """Return dicts as columns of Arrow."""
    import pyarrow as pa

    names = list(dict.fromkeys(name for record in records for name in record))
    return {name: pa.array([record.get(name) for record in records]) for name in names}


def rounds(
    source: Any,
    y: Any = None,
    *,
    manner: Manner,
    format: str | None = None,  # noqa: A002
    on_bad: str = "stop",
    threads: int = 2,
    header: bool | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
) -> Stream:
    """Return a source as a Stream of rounds: a path, an array or a frame, whose index is taken for dates where it has some."""
    if isinstance(source, Stream):
        return source
    if manner.missing not in MISSING:
        raise ValueError(f"missing must be 'refuse' or 'hold', got {manner.missing!r}")
    cells = {"header": header, "delimiter": delimiter, "decimal": decimal}
    inner: Reader
    if isinstance(source, np.ndarray) or (isinstance(source, list) and source and isinstance(source[0], (list, tuple, np.ndarray))):
        X = np.asarray(source, np.float64)  # unlike rows of features, cells may be empty
        if X.ndim != 2:
            raise ValueError(f"expected an array of two dimensions, a row a {manner.unit}, got {X.ndim}")
        truth = None if y is None else np.asarray(y, np.float64)
        inner = MemoryReader(Rows("dense", (X,), len(X), X.shape[1]), truth, None, "arrays", "arrays")
    else:
        if is_frame(source) and getattr(getattr(source, "index", None), "dtype", np.dtype(float)).kind == "M":
            source = source.reset_index(names=source.index.name or "date")
        options = {"hash_bits": None, "on_bad": on_bad, "threads": threads, **cells, "cross": ()}
        inner = open_reader(source, y, format, **options)
        if isinstance(inner, CsvReader):
            inner.otherwise = otherwise(manner)
    return Stream(RoundReader(inner, manner))
