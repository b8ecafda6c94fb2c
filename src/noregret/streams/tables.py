"""Tables in files: JSON lines and arrays, Parquet and Arrow files."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import count
from types import NoneType
from typing import Any

import numpy as np

from ..inputs.batch import BadRow, Position
from ..text import HALVES, brief, said
from ..transforms.table_cells import OPEN, flat
from .delimited import refuse_twice
from .pieces import limits, places
from .records import elements, line_numbers
from .source import Held, Source, no_position, open_plain, place, size_of
from .table_reader import BLOCK, BOM, Block, BlockReader, Parsed, Stretch, TableReader

ROWS = 1 << 15
BRACKET = re.compile(rb"(?:\xef\xbb\xbf)?\s*\[")  # how a file begins that is one array
DEEPEST = 64  # objects and lists inside each other; parsers that recurse overflow the stack somewhere beyond a thousand
TEXT = re.compile(rb'"(?:[^"\\]|\\.)*(?:"|$)', re.S)


STEPS = np.zeros(256, np.int8)  # of depth, by byte
STEPS[[*b"{["]], STEPS[[*b"}]"]] = 1, -1
LARGEST = sys.float_info.max


class JsonReader(BlockReader):
    """One JSON object a line, or one array of them. Nested objects have dots in their names; keys may come and go, and hold texts
    or numbers.
    """

    kind = "jsonl"
    prompt = True

    def __init__(self, source: Source, on_bad: str = "stop", required: Any = (), block: int = BLOCK) -> None:
        super().__init__(source, on_bad, block, required)
        self.array: str | None = None  # "" for lines, "open" in an array, "closed" after it; None before the file begins

    def known(self) -> Position:
        """Return that this is inside or after an array."""
        return {"array": self.array} if self.array else {}

    def remember(self, position: Position) -> None:
        """Take it back."""
        self.array = position.get("array")
        if self.array not in (None, "open", "closed"):
            raise no_position(position)

    @property
    def settled(self) -> bool:  # type: ignore[override]
        """Whether it is known if the files hold lines or arrays."""
        return self.array is not None

    def begin(self, block: Block) -> int:
        """Skip a byte order mark and the bracket of an array."""
        found = BRACKET.match(block.data)
        self.array = "open" if found else ""
        return found.end() if found else len(BOM) if block.data.startswith(BOM) else 0

    def parse(self, block: Block) -> Parsed:
        """Parse the whole lines or elements of a block: all at once where Arrow can, one by one where not."""
        if self.array:
            return self._elements(block)
        end = len(block.data) if block.final else block.data.rfind(b"\n") + 1
        data = block.data[:end]
        return Parsed(self._rows(block.path, data, count(block.line)), end)

    def _elements(self, block: Block) -> Parsed:
        """Parse the whole elements of an array."""
        starts, lines, closed = elements(block.data) if self.array == "open" else (np.zeros(1, np.int64), [], False)
        end, rest = int(starts[-1]), block.data[starts[-1] :]
        inside = self.array == "open" and not closed
        line = block.line + block.data.count(b"\n", 0, end)
        if inside and block.final and (rest.strip() or self.span[1] is None):
            self.bad(BadRow(block.path, line, None, "] after the last object", "none"))
        elif not inside and rest.strip():
            self.bad(BadRow(block.path, line, None, "nothing after the array", repr(rest.strip()[:60].decode("utf-8", "replace"))))
        self.array = "open" if inside else "closed"
        begins = starts[:-1] + [len(line) - len(line.lstrip()) for line in lines] if lines else starts[:-1]
        rows = self._rows(block.path, b"\n".join(lines), line_numbers(block.data, begins, block.line).tolist())
        return Parsed(rows, end if inside and not block.final else len(block.data))

    def hides(self, path: str) -> bool:
        """Return whether this is an array, where objects may take several lines."""
        with open_plain(path) as file:
            return BRACKET.match(file.read(BLOCK)) is not None

    def records(self, block: Block) -> np.ndarray:
        """Return where the whole elements of an array begin, and where the last one ends."""
        starts, _, closed = elements(block.data)
        return np.append(starts[:-1], len(block.data)) if closed else starts

    def _rows(self, path: str, data: bytes, numbers: Iterable[int]) -> Any:
        """Return objects, one a line, as a record batch; `numbers` are those of the lines in the file."""
        if not data.strip():
            return None
        rows = fast_json(data, self.ignored)
        if rows is None or self._lacking(rows) or self._rewrites(rows):
            rows = self._slowly(path, data, numbers)
        return rows

    def _lacking(self, rows: Any) -> bool:
        """Return whether cells that must be there are missing, or a weight is negative."""
        import pyarrow.compute as pc

        there = {n: rows.column(n).is_null(nan_is_null=True) for n in self.required if n in rows.schema.names}
        missing = len(there) < len(self.required) or any(pc.any(null).as_py() for null in there.values())
        return missing or (self.weight is not None and (pc.min(rows.column(self.weight)).as_py() or 0) < 0)

    def _rewrites(self, rows: Any) -> bool:
        """Return whether names were read as real numbers, which may be written otherwise."""
        import pyarrow as pa

        return any(f.name in self.naming and pa.types.is_floating(f.type) for f in rows.schema)

    def _slowly(self, path: str, data: bytes, numbers: Iterable[int]) -> Any:
        """Parse line by line, and say which line is bad."""
        rows = []
        for number, line in zip(numbers, data.split(b"\n"), strict=False):
            if line.strip():
                try:
                    rows.append(self._object(line, path, number))
                except BadRow as bad:
                    self.bad(bad, len(rows))
        return records_batch(rows)

    def _object(self, line: bytes, path: str, number: int) -> dict[str, Any]:
        """Return the cells of one line."""
        if (deep := depth(line)) > DEEPEST:
            raise BadRow(path, number, None, f"at most {DEEPEST} objects and lists inside each other", f"{deep}")
        wanted = "a JSON object" if self.array else "a JSON object on one line"
        try:
            x = json.loads(line)
        except json.JSONDecodeError as e:
            found = f"{e.msg}: {line.strip()[:60].decode('utf-8', 'replace')!r}"
            raise BadRow(path, number, None if self.array else e.colno, wanted, found) from None
        except UnicodeDecodeError:
            raise BadRow(path, number, None, "text in UTF-8", "bytes of another encoding") from None
        except ValueError:  # Python makes no whole number of so many digits
            raise BadRow(path, number, None, "finite numbers", "one of thousands of digits") from None
        if not isinstance(x, dict):
            raise BadRow(path, number, None if self.array else 1, wanted, f"a {type(x).__name__}")
        given = list(flat({k: v for k, v in x.items() if k not in self.ignored}))
        cells = dict(given)
        if len(cells) < len(given):
            twice = next(name for name, n in Counter(name for name, _ in given).items() if n > 1)
            raise BadRow(path, number, None, f"one cell under {brief(twice)}", "two: a key with a dot, and one inside an object")
        if any(isinstance(cells.get(name), (int, float)) for name in self.naming):
            written = flat(json.loads(line, parse_int=str, parse_float=str))
            cells |= {k: json.dumps(v) if isinstance(v, bool) else v for k, v in written if k in self.naming}
        for name, v in cells.items():
            if HALVES.search(name) or (isinstance(v, str) and HALVES.search(v)):
                raise BadRow(path, number, None, f"text under {brief(name)}", "half of a surrogate pair")
            if isinstance(v, list):
                raise BadRow(path, number, None, f"a number or text under {brief(name)}", "a list")
            if isinstance(v, (int, float)) and not -LARGEST <= v <= LARGEST and v == v:
                raise BadRow(path, number, None, f"a finite number under {brief(name)}", brief(v))
        for name in self.required:
            if (v := cells.get(name)) is None or v != v:
                raise BadRow(path, number, None, f"a value under {name!r}", "none")
        weight = cells.get(self.weight, 1.0) if self.weight is not None else 1.0
        if not isinstance(weight, (int, float)) or weight < 0:
            raise BadRow(path, number, None, f"a weight of at least 0 under {self.weight!r}", repr(weight))
        return cells


def object_lines(data: bytes) -> int | None:
    """Return how many lines hold something; None unless all look like objects in UTF-8, none too deep: Arrow crashes on others."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return None
    lines = [line for line in map(bytes.strip, data.split(b"\n")) if line]
    if data.count(b"{") + data.count(b"[") > len(lines) + DEEPEST - 1 and any(depth(line) > DEEPEST for line in lines):
        return None
    return len(lines) if all(line[0] == 123 and line[-1] == 125 for line in lines) else None


def depth(line: bytes) -> int:
    """Return how many objects and lists are inside each other in a line, at most; brackets in texts are none."""
    most = line.count(b"{") + line.count(b"[")
    if most <= DEEPEST:
        return most
    marks = np.frombuffer(TEXT.sub(b"", line), np.uint8)
    return int(STEPS[marks].cumsum(dtype=np.int32).max(initial=0))


def fast_json(data: bytes, ignored: Iterable[str] = ()) -> Any:
    """Return lines of JSON as a record batch without the columns to ignore, None where they are mixed or bad."""
    import pyarrow as pa
    import pyarrow.json

    def read(texts: list[str]) -> Any:
        schema = pa.schema([(n, pa.string()) for n in texts]) if texts else None
        options = pyarrow.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="infer")
        reading = pyarrow.json.ReadOptions(use_threads=False, block_size=len(data) + 1)
        return pyarrow.json.read_json(pa.BufferReader(data), read_options=reading, parse_options=options)

    lines = object_lines(data)
    if lines is None:
        return None
    try:
        table = read([])
        dates = [f.name for f in table.schema if pa.types.is_timestamp(f.type)]
        table = read(dates) if dates else table  # a text stays as it is written
        table = table.drop_columns([n for n in table.column_names if n in ignored])
        while any(pa.types.is_struct(f.type) for f in table.schema):
            table = table.flatten()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
    if table.num_rows != lines or len(set(table.column_names)) < table.num_columns:  # a.b may be one key, or b in a
        return None
    kinds = pa.types
    for f, column in zip(table.schema, table.columns, strict=True):
        number = kinds.is_integer(f.type) or kinds.is_floating(f.type)
        if not (number or kinds.is_string(f.type) or kinds.is_boolean(f.type) or kinds.is_null(f.type)):
            return None
        if kinds.is_floating(f.type) and np.isinf(column.to_numpy()).any():
            return None
    whole = table.combine_chunks().to_batches()
    return whole[0].replace_schema_metadata({OPEN: b"1"}) if whole else None


def records_batch(rows: list[dict[str, Any]]) -> Any:
    """Return dicts as a record batch; a key with cells of several kinds becomes several columns of the same name."""
    import pyarrow as pa

    names: dict[str, None] = {}
    for x in rows:
        names.update(dict.fromkeys(x))
    columns = [(name, array) for name in names for array in arrays_of([x.get(name) for x in rows])]
    schema = pa.schema([(name, array.type) for name, array in columns], metadata={OPEN: b"1"})
    return pa.RecordBatch.from_arrays([array for _, array in columns], schema=schema) if columns else None


def arrays_of(cells: list[Any]) -> list[Any]:
    """Return cells as Arrow arrays: one for each kind of cell, with null where a cell is of another."""
    import pyarrow as pa

    kinds = {type(v) for v in cells} - {NoneType}
    whole = float not in kinds and all(abs(v) < 2**63 for v in cells if type(v) is int)
    found = []
    for types, made in (((bool,), pa.bool_()), ((int, float), pa.int64() if whole else pa.float64()), ((str,), pa.string())):
        if not kinds.isdisjoint(types):
            own = [v if type(v) in types else None for v in cells]
            found.append(pa.array(own if whole or float not in types else [None if v is None else float(v) for v in own], made))
    return found or [pa.nulls(len(cells))]


class ParquetReader(TableReader):
    """Parquet and Arrow (Feather) files, and directories of them; `country=DE` in a path below the directory is a column."""

    kind = "parquet"

    def __init__(self, source: Source, on_bad: str = "stop", required: Any = (), rows: int = ROWS) -> None:
        super().__init__(source, "*.parquet", on_bad, required)
        self.root = os.fspath(source) if isinstance(source, (str, os.PathLike)) else ""
        self.rows = rows
        if not self.replayable:
            raise ValueError(f"{self.name}: Parquet cannot be read from a pipe, since its end is read first: write it to a file")

    def stretches(self, at: Position) -> Iterator[Stretch]:
        """Yield the rows of each batch."""
        ends = limits(self.paths, self.span[1], "row")
        for k in range(at["file"], len(ends)):
            path, row, before = self.paths[k], at.get("row", 0) if k == at["file"] else 0, self.before(k)
            for record, share in self._file(path, row):
                end = ends[k]
                record = record if end is None else record.slice(0, end - row)
                kept = self._kept(record, path, row)
                row += record.num_rows
                yield self.stretch(kept, place(self.paths, k, row=row), before + int(share * size_of(path)))
                if row == end:
                    break

    def starts(self, n: int) -> list[Position | None]:
        """Return the positions of at most n row groups, or of rows where there are fewer groups than pieces."""
        groups = [[rows for rows, _ in self._groups(path)] for path in self.paths]

        def at_groups(file: int, rows: list[int]) -> list[int]:
            begins = np.cumsum([0, *groups[file]])
            return begins[np.searchsorted(begins, rows)].tolist()

        few = sum(map(len, groups)) < n
        found = places([sum(rows) for rows in groups], n, (lambda _, rows: rows) if few else at_groups)
        return [{**self.beginning(), **place(self.paths, file, row=row)} for file, row in found]

    def _groups(self, path: str) -> list[tuple[int, Any]]:
        """Return the rows of each row group of a file, and what reads it in batches."""
        with undamaged(path):
            return list(row_groups(path))

    def _file(self, path: str, skip: int) -> Iterator[tuple[Any, float]]:
        """Yield the record batches of a file after its first `skip` rows, and how much of the file has been read."""
        import pyarrow as pa

        groups = self._groups(path)
        extra = partitions(path, self.root)
        for k, (n, read) in enumerate(groups):
            if skip >= n:
                skip -= n
                continue
            done = skip
            records = read(self.rows)
            while True:
                with undamaged(path):
                    record = next(records, None)
                if record is None:
                    break
                if skip >= record.num_rows:
                    skip -= record.num_rows
                    continue
                part, skip = record.slice(skip), 0
                done += part.num_rows
                for name, value in extra.items():
                    part = part.append_column(name, pa.array([value] * part.num_rows))
                yield part, (k + done / n) / len(groups)

    def _kept(self, record: Any, path: str, row: int) -> Any:
        """Leave out rows without the cells that must be there, or with a negative weight."""
        import pyarrow.compute as pc

        keep = np.ones(record.num_rows, bool)
        for name in self.required:
            if name in record.schema.names:
                missing = record.column(name).is_null(nan_is_null=True).to_numpy(zero_copy_only=False)
                for i in np.flatnonzero(missing & keep).tolist():
                    self.bad(BadRow(path, row + i + 1, None, f"a value in column {name!r}", "none"))
                keep &= ~missing
        if self.weight in record.schema.names:
            weights = pc.fill_null(record.column(self.weight), 1)
            for i in np.flatnonzero(pc.less(weights, 0).to_numpy(zero_copy_only=False) & keep).tolist():
                self.bad(BadRow(path, row + i + 1, None, f"a weight of at least 0 in column {self.weight!r}", str(weights[i])))
                keep[i] = False
        self._gaps += np.cumsum(keep)[~keep].tolist()
        return record if keep.all() else record.filter(keep)


@contextlib.contextmanager
def undamaged(path: str) -> Iterator[None]:
    """Turn what Arrow raises over a damaged file, which is of many kinds, into one that names the file."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError, MemoryError, OverflowError, UnicodeError) as e:
        if isinstance(e, OSError) and e.errno is not None:  # of the system: missing, unreadable
            raise
        raise ValueError(
            f"{path}: expected a Parquet or Arrow file ({said(e)}). It is damaged, cut short, or of another kind."
        ) from None


def row_groups(path: str) -> Iterator[tuple[int, Any]]:
    """Yield the rows of each row group of a file, and what reads it in batches."""
    import pyarrow as pa

    with open_plain(path) as f:
        arrow = f.read(6) == b"ARROW1"
    held = pa.BufferReader(path.data) if isinstance(path, Held) else None
    if arrow:
        file = pa.ipc.open_file(held or pa.memory_map(path))
        refuse_twice(file.schema.names, path)
        for k in range(file.num_record_batches):
            record = file.get_batch(k)
            yield record.num_rows, lambda size, r=record: cut(r, size)
        return
    import pyarrow.parquet

    parquet = pyarrow.parquet.ParquetFile(held or path, page_checksum_verification=True)
    refuse_twice(parquet.schema_arrow.names, path)
    for k in range(parquet.num_row_groups):
        yield (
            parquet.metadata.row_group(k).num_rows,
            lambda size, k=k: parquet.iter_batches(batch_size=size, row_groups=[k], use_threads=False),
        )


def cut(record: Any, size: int) -> Iterator[Any]:
    """Yield a record batch in pieces, once its offsets and indices are known to lie inside: whatever reads it trusts them."""
    record.validate(full=True)
    for a in range(0, record.num_rows, size):
        yield record.slice(a, size)


def partitions(path: str, root: str) -> dict[str, str]:
    """Return the columns that the path of a file below a directory names, as in country=DE/part-0.parquet."""
    if not os.path.isdir(root):
        return {}
    parts = os.path.relpath(os.path.dirname(path), root).split(os.sep)
    return {k: v for k, _, v in (p.partition("=") for p in parts) if v}
