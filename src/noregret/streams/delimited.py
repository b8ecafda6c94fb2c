"""CSV and TSV: cells by delimiter, with or without a header; in quotes or not in CSV, while quotes in TSV are characters.

Lines that begin with # before the first row are comments, unless they have as many cells as the row.

A column is numbers when at least nine in ten of its cells are, in the first block that has any; later cells that do not fit are
bad rows. Space around cells is dropped. Empty cells and NA, NaN, null, None and ? are missing.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from ..inputs.batch import BadRow, Position
from ..inputs.labels import EXACT, NUMERIC
from ..text import brief, shortened
from ..transforms.dates import ORDER, ORDERS, as_moments, form_of, read
from ..transforms.table_cells import WRITTEN
from .pieces import holds
from .records import joined, line_numbers, scanned
from .source import LONGEST_LINE, Source, no_position
from .table_reader import BLOCK, BOM, Block, BlockReader, Parsed

if TYPE_CHECKING:
    from ..transforms.table import Table

MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "?")
PLAIN = r"^-?\d+(\.\d+)?([eE][-+]?\d+)?$"  # beyond doubt a number
CODE = r"^\s*[+-]?(0[0-9]|[0-9]{19,}\s*$)"  # what a number would not give back
MOSTLY = 0.9
DATES = {"date": "2024-01-31 or 2024-01-31T12:00:00", "dmy": "31/1/2024 or 31.1.2024 12:00", "mdy": "1/31/2024 or 1/31/2024 12:00"}
PEEK = 200  # rows that tell whether the first one is a header
COMMENTS = re.compile(rb"(?:[\r\n]*#[^\n]*\n?)+")
COMMAS = r"^[+-]?\d+,\d+$"  # a number with a decimal comma, or with one between thousands
ONE_BLANK = " with one blank between them (tr -s ' ' makes one of several)"
LONGEST_NAME = 100  # characters; a longer cell is not a column name


class CsvReader(BlockReader):
    """Files of delimited cells. Columns named in `text` are kept as they are written, numbers or not."""

    escape: str | None = None  # a quote after it is a character
    comment: bytes = b""  # a record that begins with it is left out
    quotes: str = ""  # two kinds of quotes, where both may be met

    def __init__(
        self,
        source: Source,
        kind: str = "csv",
        on_bad: str = "stop",
        header: bool | None = None,
        delimiter: str | None = None,
        quote: str | None = None,
        text: Any = (),
        required: Any = (),
        block: int = BLOCK,
        decimal: str | None = None,
    ) -> None:
        super().__init__(source, on_bad, block, required)
        if decimal not in (None, ".", ","):
            raise ValueError(f"decimal must be '.' or ',', got {decimal!r}")
        if delimiter is not None and (len(delimiter) != 1 or not delimiter.isascii()):
            raise ValueError(f"delimiter must be one ASCII character, got {delimiter!r}")
        self.kind, self.header = kind, header
        self.quote = quote if quote is not None else "" if kind == "tsv" else '"'  # "" for none: a quote is then a character
        self.delimiter = delimiter or ("\t" if kind == "tsv" else None)
        self.decimal = decimal or "."
        self.text = (text,) if isinstance(text, str) else tuple(text)
        self.numbers: tuple[str, ...] = ()  # columns whose cells must be numbers
        self.otherwise = "declare the column categorical or text"  # where a cell is none
        self._real: set[str] = set()  # columns of whole numbers that had fractions in a later block
        self.target: str | None = None  # a column of labels, which numbers must not change
        self._labels: Any = None  # those of a block that numbers would change, as text
        self.dates: dict[str, str | None] | None = None  # columns whose cells must be dates; None where no dates are asked for
        self.order: str | None = None  # of day and month in those that are found out
        self.apart: set[str] = set()  # columns that are not features, which stay as they are
        self.exact = False  # whether numbers that would be written otherwise, such as 007, stay text
        self.named: set[str] = set()  # columns that are named somewhere: a row that holds one is the header
        self.columns: list[str] = []
        self.kinds: dict[str, str] = {}  # integer, number or text, once decided

    def heed(self, table: Table, learn: bool) -> None:
        """Keep what a table reads as categories or text as it is written, too; and know a header by the names in it."""
        super().heed(table, learn)
        self.text, self.numbers, self.named = tuple(table.as_written), tuple(table.as_numbers), table.named
        self.target, self.dates, self.apart, self.order = table.target, table.as_dates, table.apart, table.date_order

    def known(self) -> Position:
        """Return the columns and their kinds."""
        return {"columns": self.columns, "kinds": dict(self.kinds), "header": self.header, "delimiter": self.delimiter}

    def remember(self, position: Position) -> None:
        """Take them back, or begin without any."""
        self.columns, self.kinds, self._real = [], {}, set()
        if "columns" in position or position.get("offset"):
            if not knows_columns(position):
                raise no_position(position)
            self.columns, self.kinds = list(position["columns"]), dict(position["kinds"])
            self.header, self.delimiter = position["header"], position["delimiter"]

    def begin(self, block: Block) -> int | None:
        """Read the header, or make one."""
        skip = len(BOM) if block.data.startswith(BOM) else 0
        lines = COMMENTS.match(block.data, skip)
        after = skip if lines is None or lines.end() == len(block.data) else lines.end()
        self.delimiter = self.delimiter or sniffed_delimiter(block.data[after:], ";\t|" if self.decimal == "," else ",;\t|")
        after = self._without_rows(block, skip, after)
        (start, end), found = self._head(block, after)
        if not found:
            return len(block.data) if block.final else None
        cells = found[0]
        if self.header is None:
            self.header = self._is_named(found)
        names = [(self.header and cell) or f"c{j}" for j, cell in enumerate(cells)]
        if self.columns and set(names) != set(self.columns):
            raise ValueError(
                f"{block.path} has other columns than the first file: expected {shortened(', '.join(self.columns), 120)}; found "
                f"{shortened(', '.join(names), 120)}"
            )
        refuse_twice(names, block.path, ", or say that these are no names (header=False, --no-header)")
        self.columns = names
        for kind, known in (("number", self.numbers), ("text", self.text)):
            self.kinds.update(dict.fromkeys(set(names).intersection(known), kind))
        there = set(names)
        self.kinds.update({n: order for n, order in (self.dates or {}).items() if n in there and order is not None})
        return after + (end if self.header else start)

    def _head(self, block: Block, skip: int) -> tuple[tuple[int, int], list[list[str]]]:
        """Return where the first record of a block begins and ends, and the cells of the first ones."""
        assert self.delimiter is not None
        data = block.data[skip:]
        starts, fields = scanned(data, self.delimiter, self.quote, block.final)
        there = np.flatnonzero(fields)
        if len(there) == 0:
            return (0, 0), []
        first = int(there[0])
        rows = self._split(data[starts[first] : starts[min(first + PEEK, len(starts) - 1)]])
        return (int(starts[first]), int(starts[first + 1])), rows

    def _split(self, data: bytes) -> list[list[str]]:
        """Return the cells of records, as Python's own reader finds them."""
        assert self.delimiter is not None
        text = data.decode("utf-8", "replace")
        how: dict[str, Any] = {"quotechar": self.quote} if self.quote else {"quoting": csv.QUOTE_NONE}
        csv.field_size_limit(max(csv.field_size_limit(), LONGEST_LINE))  # for cells of texts, which may be long
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=self.delimiter, skipinitialspace=True, **how)
        return [[c.strip() for c in row] for row in rows if row]

    def _without_rows(self, block: Block, skip: int, after: int) -> int:
        """Return where lines of comments end: several at their end with the cells of a row are rows, and one may be the header."""
        _, rows = self._head(block, after)
        if after == skip or not rows:
            return after
        assert self.delimiter is not None
        begin, alike = after, 0
        for line in reversed(block.data[skip:after].splitlines(keepends=True)):
            if len(rows[0]) == 1 or line.count(self.delimiter.encode()) != len(rows[0]) - 1:
                break
            begin, alike = begin - len(line), alike + 1
        return after if alike == 1 and self._is_named(rows) else begin

    def _is_named(self, rows: list[list[str]]) -> bool:
        """Return whether the first row is a header."""
        return not self.named.isdisjoint(rows[0]) or is_header(rows[0], rows[1:])

    def parse(self, block: Block) -> Parsed:
        """Parse the whole records of a block."""
        starts, fields = self.scan(block)
        if len(fields) == 0:
            return Parsed(None, 0)
        if self.comment:
            fields[np.frombuffer(block.data, np.uint8)[starts[:-1]] == ord(self.comment)] = 0
        good = fields == len(self.columns)
        faults: dict[int, tuple[int | None, str, str]] = {}
        for r in np.flatnonzero(~good & (fields != 0)).tolist():
            many = "a quote that does not close" if fields[r] < 0 else f"{fields[r]}"
            faults[r] = (None, f"{len(self.columns)} columns{ONE_BLANK if self.delimiter == ' ' else ''}", many)
        for r in self._headers(block.data, starts):
            faults[r] = (None, "a row", "the header again, as where files were joined")
            good[r] = False
        rows = None
        while rows is None and good.any():
            rows = self._rows(block, starts, np.flatnonzero(good), faults)
            good[list(faults)] = False
        faulty, before = sorted(faults), np.cumsum(good)
        for r, line in zip(faulty, line_numbers(block.data, starts[faulty], block.line).tolist(), strict=True):
            self.bad(BadRow(block.path, line, *faults[r]), int(before[r]))
        return Parsed(rows, int(starts[-1]))

    def _headers(self, data: bytes, starts: np.ndarray) -> list[int]:
        """Return the records that are the header again."""
        if not self.header or len(self.columns) < 2:
            return []
        cell = b"[ " + re.escape(self.quote.encode()) + b"]*" + re.escape(self.columns[0].encode())
        begins = [*([0] if re.match(cell, data) else []), *(at.start() + 1 for at in re.finditer(b"\n" + cell, data))]
        records = np.searchsorted(starts, begins)
        lines = {int(r): data[starts[r] : starts[r + 1]] for r in records if r + 1 < len(starts)}
        return [r for r, line in lines.items() if self._split(line) == [self.columns]]

    def scan(self, block: Block) -> tuple[np.ndarray, np.ndarray]:
        """Return where the whole records of a block begin (and end), and how many cells each has."""
        assert self.delimiter is not None
        return scanned(block.data, self.delimiter, self.quotes or self.quote, block.final, self.escape)

    @property
    def settled(self) -> bool:  # type: ignore[override]
        """Whether all columns have had a cell that tells their kind."""
        return bool(self.columns) and all(n in self.kinds or n in self.ignored for n in self.columns)

    def hides(self, path: str) -> bool:
        """Return whether there are quotes, inside which a line may end."""
        return bool(self.quote) and holds(path, self.quote.encode())

    def records(self, block: Block) -> np.ndarray:
        """Return where the whole records of a block begin, and where the last one ends."""
        return self.scan(block)[0]

    def plain(self, data: bytes) -> bytes:
        """Return records with one kind of quotes."""
        return data

    def _rows(self, block: Block, starts: np.ndarray, records: np.ndarray, faults: dict[int, Any]) -> Any:
        """Return the rows of some records; None when more of them have faults, which are added."""
        import pyarrow as pa

        data = self.plain(joined(block.data, starts, records))
        faulty = len(faults)
        try:
            table = self._decided(data)
            whole = table.num_rows == len(records)
        except pa.ArrowInvalid:
            whole = False
            for k, column, expected, found in self._wrong(data, block, starts, records):
                faults.setdefault(int(records[k]), (column, expected, found))
        if not whole:
            if len(faults) == faulty:
                for r in self._unreadable(block, starts, records):
                    faults[r] = (None, f"a row of {len(self.columns)} cells", repr(block.data[starts[r] : starts[r + 1]][:60]))
            if len(faults) == faulty:
                raise ValueError(f"{block.path}: lines from {block.line} on cannot be read as rows of {len(self.columns)} cells")
            return None
        for j, name in enumerate(self.columns):
            self._unfit(name, j, table.column(name), records, faults)
        if self.exact:
            self._rewritten(data, records, faults)
        if len(faults) > faulty:
            return None
        rows = record_batch(table, self.kinds)
        notes = {}
        if self._labels is not None and self.target is not None:
            rows = rows.set_column(self.columns.index(self.target), self.target, self._labels.combine_chunks())
            notes[WRITTEN] = b"1"
        if orders := {name: kind for name, kind in self.kinds.items() if kind in ORDERS}:
            notes[ORDER] = json.dumps(orders).encode()
        return rows.replace_schema_metadata(notes) if notes else rows

    def _decided(self, data: bytes) -> Any:
        """Read records, and decide what the columns are that had no cells so far."""
        unknown = [n for n in self.columns if n not in self.kinds]
        table = self._read(data, self.kinds)
        for name in unknown:
            kind = kind_of(self._pointed(table.column(name)))
            if self.exact and kind in ("integer", "number") and name not in self.numbers:
                kind = "text" if are_codes(table.column(name)).to_numpy().any() else kind
            if self.dates is not None and kind is not None:
                kind = self._dates_in(name, kind, table.column(name))
            if kind == "text" and self.decimal == "." and name not in self.ignored:
                refuse_commas(self.name, name, table.column(name))
            if kind is not None:
                self.kinds[name] = kind
        return self._read(data, self.kinds) if any(n in self.kinds for n in unknown) else table

    def _dates_in(self, name: str, kind: str, column: Any) -> str:
        """Return the kind of a column that may be one of dates; refuse one of which nobody can tell the day from the month."""
        declared = name in (self.dates or ())
        if not declared and (kind != "text" or name in self.apart or name in self.ignored):
            return kind
        form = date_form(column, self.order)
        if form == "":
            example = column.drop_null()[0].as_py()
            raise ValueError(
                f"{self.name}: column {name!r} holds dates such as {example!r}, and none of the first has a day above 12: give "
                "date_order='dmy' if the day comes first, date_order='mdy' if the month does, or declare the column: categorical "
                "or ignore"
            )
        return form or ("date" if declared else kind)

    def _unreadable(self, block: Block, starts: np.ndarray, records: np.ndarray) -> list[int]:
        """Return the records that do not parse as one row, by bisection."""
        import pyarrow as pa

        try:
            if self._read(self.plain(joined(block.data, starts, records)), {}).num_rows == len(records):
                return []
        except pa.ArrowInvalid:
            pass
        half = len(records) // 2
        if half == 0:
            return [int(records[0])]
        return self._unreadable(block, starts, records[:half]) + self._unreadable(block, starts, records[half:])

    def _unfit(self, name: str, j: int, column: Any, records: np.ndarray, faults: dict[int, Any]) -> None:
        """Note infinite numbers, and missing cells where there must be some."""
        if self.kinds.get(name) in ("integer", "number"):
            values = column.to_numpy()
            for k in np.flatnonzero(np.isinf(values)).tolist() if values.dtype.kind == "f" else ():
                faults.setdefault(int(records[k]), (j + 1, f"a finite number in column {name!r}", str(values[k])))
            if name == self.weight:
                for k in np.flatnonzero(values < 0.0).tolist():
                    faults.setdefault(int(records[k]), (j + 1, f"a weight of at least 0 in column {name!r}", f"{values[k]:g}"))
        if name in self.required and column.null_count:
            for k in np.flatnonzero(column.is_null().to_numpy()).tolist():
                faults.setdefault(int(records[k]), (j + 1, f"a value in column {name!r}", "none"))

    def _rewritten(self, data: bytes, records: np.ndarray, faults: dict[int, Any]) -> None:
        """Note codes in columns that began with numbers."""
        import pyarrow as pa

        cells = self._cells(data, dict.fromkeys(self.columns, pa.string()))
        for j, name in enumerate(self.columns):
            if self.kinds.get(name) in ("integer", "number") and name not in self.numbers:
                for k in np.flatnonzero(are_codes(cells.column(name)).to_numpy()).tolist():
                    expected = f"a number that is written as it is read in column {name!r}, or declare it categorical or numeric"
                    faults.setdefault(int(records[k]), (j + 1, expected, repr(cells.column(name)[k].as_py())))

    def _read(self, data: bytes, kinds: dict[str, str]) -> Any:
        """Return the cells of records as columns of numbers and texts."""
        import pyarrow as pa

        types = {"integer": pa.int64(), "number": pa.float64(), **dict.fromkeys(DATES, pa.timestamp("us"))}
        wanted = {n: types.get(kinds.get(n, "text"), pa.string()) for n in self.columns}
        self._labels = None
        asked = wanted | dict.fromkeys(self._real & kinds.keys(), pa.float64())
        try:
            table = self._cells(data, asked | {n: pa.string() for n in self.columns if n == self.target or kinds.get(n) in DATES})
        except pa.ArrowInvalid:  # fractions among whole numbers; and some space around numbers is none to this parser
            table = self._cells(data, dict.fromkeys(self.columns, pa.string()))
        columns = []
        for name, column in zip(self.columns, table.columns, strict=True):
            if pa.types.is_string(column.type):
                cells = column if name in self.verbatim else trimmed(column, missing=name not in self.naming)
                column = self._as(name, cells, wanted[name], kinds.get(name))
                if name == self.target and changed(cells, column):
                    self._labels = self._pointed(cells)
            columns.append(column)
        return pa.table(columns, names=self.columns)

    def _as(self, name: str, column: Any, type_: Any, kind: str | None) -> Any:
        """Return texts as what they are to be; whole numbers as real ones from where fractions come."""
        import pyarrow as pa

        if pa.types.is_string(type_):
            return column
        if pa.types.is_timestamp(type_):
            return as_moments(column, order_of(kind))
        column = self._pointed(column)
        if pa.types.is_int64(type_):
            try:
                return column.cast(type_)
            except pa.ArrowInvalid:
                type_ = pa.float64()
                self._real.add(name)
        return column.cast(type_)

    def _pointed(self, column: Any) -> Any:
        """Return texts with points for decimal commas, and commas for points: 1.500 is not a number where commas are decimal."""
        import pyarrow.compute as pc

        if self.decimal == ".":
            return column
        for old, new in ((".", "\0"), (",", "."), ("\0", ",")):
            column = pc.replace_substring(column, old, new)
        return column

    def _number_wanted(self, name: str) -> str:
        """Return what a cell of numbers must be, and what to do where it is not."""
        if name == self.target and name not in self.numbers:
            return "a number, or declare the target categorical so that all its labels are text,"
        return "a number" if name in {*self.required, *self.numbers} or not self.otherwise else f"a number, or {self.otherwise},"

    def _cells(self, data: bytes, types: dict[str, Any]) -> Any:
        """Return the cells of records as they are, or as numbers."""
        import pyarrow as pa
        import pyarrow.csv

        return pyarrow.csv.read_csv(
            pa.BufferReader(data),
            read_options=pyarrow.csv.ReadOptions(column_names=self.columns, use_threads=False, block_size=len(data) + 1),
            parse_options=pyarrow.csv.ParseOptions(
                delimiter=self.delimiter,
                quote_char=self.quote or False,
                escape_char=self.escape or False,
                newlines_in_values=bool(self.quote) and self.quote.encode() in data,
            ),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types=types,
                decimal_point=self.decimal,
                null_values=[*MISSING, *(f" {m}" for m in MISSING)],
            ),
        )

    def _wrong(self, data: bytes, block: Block, starts: np.ndarray, records: np.ndarray) -> Any:
        """Yield the records that cannot be read: which, the column, what was expected and what came."""
        import pyarrow as pa

        if not is_text(data):
            for k, r in enumerate(records):
                if not is_text(block.data[starts[r] : starts[r + 1]]):
                    yield k, None, "text in UTF-8", "bytes of another encoding"
            return
        try:
            table = self._read(data, {})
        except pa.ArrowInvalid:  # it has other rows than were found, as a lone carriage return ends one: see _unreadable
            return
        for j, name in enumerate(self.columns):
            kind = self.kinds.get(name)
            if kind not in ("integer", "number", *DATES):
                continue
            column = table.column(j).combine_chunks()
            if kind in DATES:
                for k in not_dates(column, order_of(kind)):
                    yield k, j + 1, f"a date such as {DATES[kind]} in column {name!r}", repr(column[k].as_py())
                continue
            for k in not_numbers(self._pointed(column)):
                yield k, j + 1, f"{self._number_wanted(name)} in column {name!r}", repr(column[k].as_py())


# ---- cells -------------------------------------------------------------------------------------------------------------


def trimmed(column: Any, missing: bool = True) -> Any:
    """Return texts without space around them, the missing ones as null where there are such."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = pc.utf8_trim_whitespace(column)
    lacking = pc.is_in(column, value_set=pa.array(MISSING))
    return pc.if_else(lacking, None, column) if missing and pc.any(lacking).as_py() else column


def changed(texts: Any, numbers: Any) -> bool:
    """Return whether some labels are other labels as numbers: zeros in front are lost, and so are the last of many digits."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_string(numbers.type):
        return False
    large = pa.types.is_floating(numbers.type) and (pc.max(pc.abs(numbers)).as_py() or 0.0) >= EXACT
    return bool(large or pc.any(pc.match_substring_regex(texts, r"^[+-]?0\d")).as_py())


def kind_of(column: Any) -> str | None:
    """Return what a column of texts holds: integer, number or text; None when all cells are missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    counts = pc.value_counts(column.drop_null())  # a cast that fails is slow: each cell makes a message
    column = counts.field("values")
    if len(column) == 0:
        return None
    kind = None
    with contextlib.suppress(pa.ArrowInvalid):
        column.cast(pa.float64())  # first: 0x10 is whole to Arrow, but no number
        kind = "number"
        column.cast(pa.int64())
        kind = "integer"
    if kind is not None:
        return kind
    numbers = pc.match_substring_regex(column, f"^{NUMERIC.pattern}$")
    met = counts.field("counts")
    return "number" if (pc.sum(met.filter(numbers)).as_py() or 0) >= MOSTLY * pc.sum(met).as_py() else "text"


def are_codes(column: Any) -> Any:
    """Return which texts a number would not give back: zeros in front, more digits than numbers have."""
    import pyarrow.compute as pc

    return pc.fill_null(pc.match_substring_regex(column, CODE), False)


def order_of(kind: str | None) -> str | None:
    """Return the order of day and month in dates of a kind."""
    return kind if kind in ORDERS else None


def date_form(column: Any, order: str | None) -> str | None:
    """Return how nine in ten texts, or more, are written as dates (see form_of); None where they are not."""
    import pyarrow.compute as pc

    counts = pc.value_counts(column.drop_null())
    texts = counts.field("values").to_pylist()
    return form_of(texts, counts.field("counts").to_pylist(), MOSTLY, order) if texts else None


def not_dates(column: Any, order: str | None) -> list[int]:
    """Return the rows of the cells that are not dates."""
    texts = column.to_pylist()
    wrong = {text for text in set(texts) if text is not None and read(text, order) is None}
    return [k for k, text in enumerate(texts) if text in wrong]


def refuse_commas(source: str, name: str, column: Any) -> None:
    """Refuse to take numbers with decimal commas for categories."""
    import pyarrow.compute as pc

    texts = column.drop_null()
    if (pc.mean(pc.match_substring_regex(texts, COMMAS)).as_py() or 0.0) >= MOSTLY:
        raise ValueError(
            f"{source}: column {name!r} holds {texts[0].as_py()!r}. If that is a number with a decimal comma, say so (decimal, "
            "--decimal ,); else declare the column: categorical, text or ignore"
        )


def not_numbers(column: Any) -> list[int]:
    """Return the rows of the cells that are not numbers. Each text in doubt is tried once: a cast that fails is slow."""
    import pyarrow as pa
    import pyarrow.compute as pc

    def is_number(text: str) -> bool:
        try:
            return pa.scalar(text).cast(pa.float64()).is_valid
        except pa.ArrowInvalid:
            return False

    doubtful = np.flatnonzero(pc.equal(pc.match_substring_regex(column, PLAIN), False).fill_null(False))
    texts = column.take(doubtful).to_pylist()
    wrong = {text for text in set(texts) if not is_number(text)}
    return [int(k) for k, text in zip(doubtful, texts, strict=True) if text in wrong]


def record_batch(table: Any, kinds: dict[str, str]) -> Any:
    """Return a table of one block as a record batch, whole numbers as such."""
    import pyarrow as pa

    columns = []
    for name in table.column_names:
        column = table.column(name).combine_chunks()
        if name not in kinds:
            column = pa.nulls(len(column))
        elif kinds[name] == "integer" and not pa.types.is_integer(column.type):
            with contextlib.suppress(pa.ArrowInvalid):  # a later block has fractions
                column = column.cast(pa.int64())
        columns.append(column)
    return pa.RecordBatch.from_arrays(columns, names=table.column_names)


def is_text(data: bytes) -> bool:
    """Return whether bytes are UTF-8."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def knows_columns(position: Position) -> bool:
    """Return whether a position says of columns what `known` does."""
    columns, kinds, header, delimiter = (position.get(k) for k in ("columns", "kinds", "header", "delimiter"))
    if not (isinstance(columns, list) and isinstance(kinds, dict) and isinstance(header, bool) and isinstance(delimiter, str)):
        return False
    decided = all(v in ("integer", "number", "text", *DATES) for v in kinds.values())
    return decided and all(type(v) is str for v in (*columns, *kinds)) and len(delimiter) == 1 and delimiter.isascii()


def refuse_twice(names: list[str], path: str, hint: str = "") -> None:
    """Refuse columns of which two have one name; a hint may say what else to do."""
    twice = next((name for name, n in Counter(names).items() if n > 1), None)
    if twice is not None:
        raise ValueError(f"{path}: the header names column {brief(twice)} twice; name each column once{hint}")


def is_header(cells: list[str], more: list[list[str]]) -> bool:
    """Return whether a first row looks like names: all different, short, none a number or missing, none met again below.

    The first may be empty: so frames are written whose rows are numbered. Above a column of numbers, names may come again.
    """
    if len(cells) > 1 and not cells[0] and all(row and NUMERIC.fullmatch(row[0]) for row in more):
        cells = ["row", *cells[1:]]
    if any(c in MISSING or NUMERIC.fullmatch(c) or len(c) > LONGEST_NAME for c in cells):
        return False
    columns = list(zip(*(row for row in more if len(row) == len(cells)), strict=True))
    numbers = any(all(NUMERIC.fullmatch(cell) for cell in column) for column in columns)
    again = any(row[j] == c for row in more for j, c in enumerate(cells) if j < len(row))
    return numbers or not (again or len(set(cells)) < len(cells))


def sniffed_delimiter(data: bytes, among: str = ",;\t|") -> str:
    """Return the delimiter that is most frequent in the first line with any."""
    for line in data.splitlines()[:20]:
        counts = {d: line.count(d.encode()) for d in among}
        if any(counts.values()):
            return max(counts, key=lambda d: counts[d])
    return ","
