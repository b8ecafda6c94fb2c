"""Cells of tables by column: from Arrow record batches, from frames, and from dicts. Nothing is learned here."""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from ..inputs.labels import NUMERIC
from ..text import brief, shortened
from .dates import NONE, ORDER, arrow_moments, is_date, moment, parts_of

OPEN = b"noregret.open"  # in the metadata of a schema: other batches may have other columns, as lines of JSON do
WRITTEN = b"noregret.written"  # likewise: the target is a column of numbers that comes as text, since numbers would change labels


class Texts(NamedTuple):
    """A column of texts as bytes; an empty one is missing."""

    data: np.ndarray
    starts: np.ndarray


class Column(NamedTuple):
    """A column: numbers (NaN where missing, infinite where there is no cell), texts, or both where the cells differ."""

    name: str
    numbers: np.ndarray | None
    texts: Texts | None
    category: bool = False  # of a type that is for categories alone
    date: str | None = None  # the column of dates of which this one is made

    def first(self) -> tuple[int, bool]:
        """Return the first row with a value (-1 without any), and whether it is a text."""
        rows = []
        if self.numbers is not None and len(at := np.flatnonzero(np.isfinite(self.numbers))):
            rows.append((int(at[0]), False))
        if self.texts is not None and len(at := np.flatnonzero(np.diff(self.texts.starts))):
            rows.append((int(at[0]), True))
        return min(rows, default=(-1, False))

    def text(self, row: int) -> str:
        """Return the text of a row."""
        assert self.texts is not None
        a, b = self.texts.starts[row], self.texts.starts[row + 1]
        return self.texts.data[a:b].tobytes().decode("utf-8", "replace")


class Reading(NamedTuple):
    """The columns whose roles are known, and how their cells are read."""

    numeric: Collection[str]
    named: Collection[str]  # categories and text, which numbers become too
    dates: Mapping[str, str | None]  # and the order in which they are written, where it is known
    declared: Collection[str]  # whose roles were not found out: they take no cells of another kind


def category_text(v: Any) -> str:
    """Return a number or truth value as the name of a category: 5 and 5.0 are the same."""
    if isinstance(v, (bool, np.bool_)):
        return str(bool(v))
    v = float(v) if not isinstance(v, (int, np.integer)) else int(v)
    return str(int(v)) if v == math.floor(v) and abs(v) < 2**63 else repr(v)


def texts_of(values: Sequence[str | None]) -> Texts:
    """Return texts, None where missing, as bytes."""
    data = [b"" if v is None else v.encode("utf-8", "surrogatepass") for v in values]
    starts = np.zeros(len(data) + 1, np.int64)
    np.cumsum([len(b) for b in data], out=starts[1:])
    return Texts(np.frombuffer(b"".join(data), np.uint8), starts)


def stacked(columns: Sequence[Column], n: int, names: bytes) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return columns as the encoder takes them: numbers, bytes (after those of `names`), where the texts start in them; and for
    each column its rows among the numbers and the texts, -1 for none.
    """
    numbers = [c.numbers for c in columns if c.numbers is not None]
    texts = [c.texts for c in columns if c.texts is not None]
    where = np.full((len(columns), 2), -1, np.int64)
    for kind, has in enumerate(([c.numbers is not None for c in columns], [c.texts is not None for c in columns])):
        where[has, kind] = range(sum(has))
    starts = np.empty((len(texts), n + 1), np.int64)
    before = len(names)
    for k, t in enumerate(texts):
        np.add(t.starts, before, out=starts[k])
        before += len(t.data)
    data = np.concatenate([np.frombuffer(names, np.uint8), *(t.data for t in texts)])
    return np.array(numbers) if numbers else np.empty((0, n)), data, starts, where


# ---- Arrow -------------------------------------------------------------------------------------------------------------
def record_of(X: Any) -> Any:
    """Return a frame (Arrow, pandas, polars) as one record batch."""
    import pyarrow as pa

    if isinstance(X, pa.RecordBatch):
        return X
    if not isinstance(X, pa.Table):
        X = X.to_arrow() if hasattr(X, "to_arrow") else pa.Table.from_pandas(X, preserve_index=False)
    whole = X.combine_chunks().to_batches()
    if len(whole) > 1:  # more text than 32 bits can count
        wide = [f.with_type(pa.large_string()) if pa.types.is_string(f.type) else f for f in X.schema]
        whole = X.cast(pa.schema(wide)).combine_chunks().to_batches()
    return whole[0] if whole else pa.RecordBatch.from_arrays([pa.array([], f.type) for f in X.schema], schema=X.schema)


def is_frame(X: Any) -> bool:
    """Return whether this is a frame: something with named columns."""
    return (
        not isinstance(X, (np.ndarray, Mapping)) and (hasattr(X, "columns") or hasattr(X, "column_names")) and hasattr(X, "shape")
    )


def is_open(record: Any) -> bool:
    """Return whether other batches of this stream may have other columns."""
    return OPEN in (record.schema.metadata or {})


def orders_of(record: Any) -> dict[str, str]:
    """Return the orders in which the dates of a record batch were written, where a reader found them out."""
    found: dict[str, str] = json.loads((record.schema.metadata or {}).get(ORDER, b"{}"))
    return found


def fields_of(record: Any) -> list[tuple[str, Any]]:
    """Return the columns of a record batch by name; those of nested objects have dots in their names."""
    import pyarrow as pa

    found = []
    for field, array in zip(record.schema, record.columns, strict=True):
        if pa.types.is_struct(field.type):
            inner = pa.RecordBatch.from_arrays(array.flatten(), names=[f"{field.name}.{f.name}" for f in field.type])
            found += fields_of(inner)
        else:
            found.append((field.name, array))
    return found


def columns_of(record: Any, leave: Collection[str], reading: Reading) -> list[Column]:
    """Return the columns of a record batch, those to leave out apart."""
    found: dict[str, Column] = {}
    absent = is_open(record)  # a null is then as good as no cell
    for name, array in fields_of(record):
        if name in leave:
            continue
        if name in reading.dates or (is_dates(array) and not (name in reading.named and name in reading.declared)):
            moments = arrow_moments(name, array, reading.dates.get(name))
            found |= {c.name: c for c in date_columns(name, moments, np.isnat(moments) & absent)}
            continue
        column = column_of(name, array, reading, absent)
        if column.numbers is not None and absent:
            column = column._replace(numbers=np.where(np.isnan(column.numbers), np.inf, column.numbers))
        found[name] = column if name not in found else both(found[name], column)  # a column of mixed cells comes as two
    return list(found.values())


def both(a: Column, b: Column) -> Column:
    """Return two columns, of which each has the cells that the other lacks, as one."""
    numbers, texts = a.numbers if b.numbers is None else b.numbers, a.texts or b.texts
    if a.numbers is not None and b.numbers is not None:
        numbers = np.where(np.isfinite(a.numbers), a.numbers, b.numbers)
    if a.texts is not None and b.texts is not None:
        texts = texts_of([a.text(row) or b.text(row) for row in range(len(a.texts.starts) - 1)])
    return Column(a.name, numbers, texts)


def date_columns(name: str, moments: np.ndarray, absent: np.ndarray) -> list[Column]:
    """Return the columns made of one of dates; `absent` says where there is no cell at all."""
    texts, elapsed = parts_of(moments)
    found = [Column(f"{name}.{part}", None, texts_of(cells), True, name) for part, cells in texts.items()]
    return [*found, Column(f"{name}.elapsed", np.where(absent, np.inf, elapsed), None, False, name)]


def is_dates(array: Any) -> bool:
    """Return whether a column of Arrow holds dates."""
    import pyarrow as pa

    return pa.types.is_date(array.type) or pa.types.is_timestamp(array.type)


def column_of(name: str, array: Any, reading: Reading, mixed: bool) -> Column:
    """Return one column of Arrow; `mixed` says that cells may differ in kind."""
    import pyarrow as pa

    kinds = pa.types
    category = kinds.is_dictionary(array.type)
    if category:
        array = array.dictionary_decode()
    if is_dates(array):  # declared to be something else
        array = array.cast(pa.string())
    kind = array.type
    if kinds.is_null(kind):
        return Column(name, None, None)
    if kinds.is_string(kind) or kinds.is_large_string(kind) or kinds.is_string_view(kind):
        if name not in reading.numeric:
            return Column(name, None, arrow_texts(array), category)
        if mixed and name not in reading.declared:
            return numbers_among(name, array)
        return Column(name, numbers_in(name, array, "declared" if name in reading.declared else "found"), None)
    if not (kinds.is_integer(kind) or kinds.is_floating(kind) or kinds.is_boolean(kind) or kinds.is_decimal(kind)):
        raise TypeError(
            f"column {brief(name)} is of type {shortened(str(kind), 80)}; expected numbers, texts, truth values or dates. Leave "
            "it out (ignore), or make a number or text of it first."
        )
    if name in reading.named or (category and name not in reading.numeric):
        return Column(name, None, arrow_texts(words_of(array)), category)
    values = array.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)  # a whole number beyond 2^53 is rounded
    refuse_infinite(name, values)
    return Column(name, values, None)


def words_of(array: Any) -> Any:
    """Return numbers and truth values of Arrow as names of categories, texts as they are."""
    import pyarrow as pa

    if pa.types.is_string(array.type):
        return array
    coded = array.dictionary_encode()
    words = [v if v is None or isinstance(v, str) else None if v != v else category_text(v) for v in coded.dictionary.to_pylist()]
    return pa.array(words, pa.string()).take(coded.indices)


def refuse_infinite(name: str, values: np.ndarray) -> None:
    """Refuse an infinite number."""
    if np.isinf(values).any():
        row = int(np.argmax(np.isinf(values)))
        raise ValueError(
            f"column {brief(name)} holds {values[row]} in row {row} of the batch; expected finite numbers. Drop the row first."
        )


def numbers_in(name: str, array: Any, how: str) -> np.ndarray:
    """Return a column of texts as the numbers they are, since it was declared numeric or found to be so."""
    import pyarrow as pa

    try:
        values = np.asarray(array.cast(pa.float64()).to_numpy(zero_copy_only=False))
    except pa.ArrowInvalid:  # of what is not a number, and of space around one
        values = np.array([number_in(name, v, row, how) for row, v in enumerate(array.to_pylist())])
    refuse_infinite(name, values)
    return values


def numbers_among(name: str, array: Any) -> Column:
    """Return a column of texts, those that are numbers as such."""
    import pyarrow.compute as pc

    is_number = pc.match_substring_regex(array, rf"^\s*({NUMERIC.pattern})\s*$")
    numbers, texts = pc.if_else(is_number, array, None), pc.if_else(is_number, None, array)
    return Column(name, numbers_in(name, numbers, "found"), arrow_texts(texts))


def number_in(name: str, v: str | None, row: int, how: str) -> float:
    """Return a text as the number it is."""
    try:
        return math.nan if v is None or not v.strip() else float(v)
    except ValueError:
        raise ValueError(
            f"column {brief(name)} was {how} numeric but holds {brief(v)} in row {row} of the batch; expected a number. Declare it "
            "categorical, or mend the row."
        ) from None


def arrow_texts(array: Any) -> Texts:
    """Return a column of Arrow texts as bytes, without copying them."""
    import pyarrow as pa

    array = array.cast(pa.large_string())
    if array.null_count:
        array = array.fill_null("")
    n = len(array)
    if n == 0 or array.buffers()[2] is None:
        return Texts(np.empty(0, np.uint8), np.zeros(n + 1, np.int64))
    starts = np.frombuffer(array.buffers()[1], np.int64)[array.offset : array.offset + n + 1]
    data = np.frombuffer(array.buffers()[2], np.uint8)[starts[0] : starts[-1]]
    return Texts(data, starts - starts[0])


# ---- dicts -------------------------------------------------------------------------------------------------------------
def flat(x: Mapping[Any, Any], before: str = "") -> Iterable[tuple[str, Any]]:
    """Yield the cells of a dict; those of dicts inside have dots in their names."""
    for k, v in x.items():
        if isinstance(v, Mapping):
            yield from flat(v, f"{before}{k}.")
        else:
            yield before + (k if type(k) is str else str(k)), v


def dict_columns(X: Sequence[Mapping[Any, Any]], leave: Collection[str], reading: Reading) -> list[Column]:
    """Return the columns of examples given as dicts, in order of appearance."""
    n = len(X)
    numbers: dict[str, np.ndarray] = {}
    texts: dict[str, list[str | None]] = {}
    names: dict[str, None] = {}
    moments: dict[str, np.ndarray] = {name: np.full(n, NONE) for name in reading.dates}
    there: dict[str, np.ndarray] = {}
    for row, x in enumerate(X):
        for name, v in flat(x):
            if name in leave:
                continue
            if is_date(v) and name in reading.named and name in reading.declared:
                v = str(v)
            if is_date(v) or name in moments:
                moments.setdefault(name, np.full(n, NONE))[row] = moment(name, v, row, reading.dates.get(name))
                there.setdefault(name, np.zeros(n, bool))[row] = True
                continue
            v = math.nan if v is None else v
            kind = type(v)
            if isinstance(v, str) and name in reading.numeric and (name in reading.declared or NUMERIC.fullmatch(v.strip())):
                v, kind = number_in(name, v, row, "declared"), float
            elif kind is not str and name in reading.named and v == v:
                v, kind = category_text(number(name, v, row)), str
            names[name] = None
            if kind is str:
                if name not in texts:
                    texts[name] = [None] * n
                texts[name][row] = v
            else:
                if name not in numbers:
                    numbers[name] = np.full(n, np.inf)
                numbers[name][row] = number(name, v, row)
    found = [Column(k, numbers.get(k), texts_of(texts[k]) if k in texts else None) for k in names]
    return found + [c for k in there for c in date_columns(k, moments[k], ~there[k])]


def number(name: str, v: Any, row: int) -> Any:
    """Return a number as it is, or an error that names the cell."""
    if not isinstance(v, (Real, np.number, np.bool_)):
        raise TypeError(
            f"feature {brief(name)} has the value {brief(v)} in row {row}; expected a number, a text, a truth "
            "value or None. Leave it out (ignore), or make a number or text of it first."
        )
    try:
        infinite = math.isinf(float(v))
    except OverflowError:
        infinite = True
    if infinite:
        raise ValueError(f"feature {brief(name)} is {str(v)[:30]} in row {row}; expected finite numbers. Drop the row first.")
    return v


def unknown(names: Sequence[str], known: Sequence[str]) -> str:
    """Return an error's words for columns that are not there, with what may have been meant."""
    same = [n for n in known if n.casefold() == names[0].casefold()]
    near = same or difflib.get_close_matches(names[0], known, 1)
    hint = f"; did you mean {brief(near[0])}?" if near else ""
    return f"no column {brief(names[0])}{hint} (columns: {listing(known)})"


def listing(names: Sequence[str]) -> str:
    """Return names of columns for an error, the first of many."""
    return shortened(", ".join(names[:20]) + (", ..." if len(names) > 20 else ""), 300)
