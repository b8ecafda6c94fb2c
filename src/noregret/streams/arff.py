"""ARFF files: attributes with types, then rows as in CSV, or sparse rows {number value, ...}."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ..inputs.batch import BadRow, Position
from .delimited import MISSING, CsvReader, refuse_twice
from .records import line_numbers, scanned
from .source import Source, no_position
from .table_reader import BLOCK, Block, Parsed

CELLS = 1 << 22  # of a batch of sparse rows
QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
ATTRIBUTE = re.compile(rf"@attribute\s+({QUOTED}|\S+)\s+(.+)", re.I)
VALUE = re.compile(rf"\s*({QUOTED}|[^,]*?)\s*(?:,|$)")
ENTRY = re.compile(rf"\s*(\d{{1,9}})\s+({QUOTED}|[^,\s]+)\s*(?:,|$)")
KINDS = {"numeric": "number", "real": "number", "integer": "integer", "string": "text", "date": "text"}
COMMA = re.compile(rb",[ \t]*(\r?\n|\Z)")  # at the end of a line
CELL = re.compile(rb"""(?:(?<=[,\n])|\A)[ \t]*(?:'(?:[^'\\]|\\.|'')*'|"((?:[^"\\]|\\.|"")*)")""", re.S)


def single(cell: re.Match[bytes]) -> bytes:
    """Return a cell in double quotes as one in single quotes, others as they are."""
    if cell[1] is None:
        return cell[0].lstrip()
    inside = cell[1].replace(b'""', b'"')
    return b"'" + re.sub(rb"(\\.)|'", lambda m: m[1] or b"\\'", inside, flags=re.S) + b"'"


def unquoted(text: str) -> str:
    """Return a name or value without its quotes."""
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    return text.strip()


def is_sparse(block: Block) -> bool:
    """Return whether the rows of a block are sparse, as the first one is."""
    first = re.search(rb"^[ \t]*([^%\s])", block.data, re.M)
    return first is not None and first[1] == b"{"


class ArffReader(CsvReader):
    """ARFF, dense or sparse. Nominal attributes are categories; a value that was not declared is a bad row."""

    def __init__(self, source: Source, on_bad: str = "stop", required: Any = (), block: int = BLOCK) -> None:
        super().__init__(source, "arff", on_bad, True, ",", "'", (), required, block)
        self.comment, self.escape, self.quotes = b"%", "\\", "'\""
        self.nominal: dict[str, list[str]] = {}

    def known(self) -> Position:
        """Return the attributes."""
        return {**super().known(), "nominal": self.nominal}

    def remember(self, position: Position) -> None:
        """Take them back."""
        super().remember(position)
        nominal = position.get("nominal", {})
        sound = isinstance(nominal, dict) and all(isinstance(v, list) and all(type(x) is str for x in v) for v in nominal.values())
        if not (sound and nominal.keys() <= self.kinds.keys() == set(self.columns)):
            raise no_position(position)
        self.nominal = dict(nominal)

    def begin(self, block: Block) -> int | None:
        """Read the attributes, up to @data."""
        found = re.search(rb"^\s*@data[^\n]*(\n|$)", block.data, re.I | re.M)
        if found is None:
            if not block.final:
                return None
            raise ValueError(f"{block.path}: expected @data after the attributes, found the end of the file; is it ARFF?")
        columns, kinds, nominal = [], {}, {}
        for k, line in enumerate(block.data[: found.start()].decode("utf-8", "replace").split("\n")):
            if not line.strip().lower().startswith("@attribute"):
                continue
            m = ATTRIBUTE.match(line.strip())
            if m is None:
                raise BadRow(block.path, block.line + k, 1, "@attribute NAME TYPE", repr(line.strip()))
            name, kind = unquoted(m[1]), m[2].strip()
            columns.append(name)
            if kind.startswith("{"):
                nominal[name] = [unquoted(v) for v in VALUE.findall(kind.strip("{} 	"))[:-1]]
            kinds[name] = "text" if kind.startswith("{") else KINDS.get(kind.split()[0].lower(), "")
            if not kinds[name]:
                raise BadRow(block.path, block.line + k, 1, f"a type such as {', '.join(KINDS)} or {{a, b}}", repr(kind))
        if not columns:
            raise ValueError(f"{block.path}: expected lines '@attribute NAME TYPE' before @data, found none")
        refuse_twice(columns, block.path)
        if self.columns and (columns != self.columns or nominal != self.nominal):
            raise ValueError(f"{block.path} has other attributes than the first file")
        self.columns, self.kinds, self.nominal = columns, kinds, nominal
        last = columns[-1] if columns else None
        self.usual_target = None if last is None or (kinds[last] == "text" and last not in nominal) else last
        return found.end()

    def parse(self, block: Block) -> Parsed:
        """Parse the whole rows of a block."""
        parsed = self._sparse(block) if is_sparse(block) else super().parse(self._ended(block))
        return parsed if parsed.rows is None else parsed._replace(rows=self._typed(parsed.rows))

    def scan(self, block: Block) -> tuple[np.ndarray, np.ndarray]:
        """Return where the whole rows of a block begin (and end), and how many cells each has; sparse ones count as one cell."""
        if not is_sparse(block):
            return super().scan(block)
        return scanned(block.data, "\n", self.quotes, block.final, self.escape)

    def _ended(self, block: Block) -> Block:
        """Return a block with a space in the place of a comma after the last cell of a row."""
        if not COMMA.search(block.data):
            return block
        starts, fields = self.scan(block)
        data = bytearray(block.data)
        for r in np.flatnonzero(fields == len(self.columns) + 1).tolist():
            row = data[starts[r] : starts[r + 1]].rstrip()
            if row.endswith(b","):
                data[starts[r] + len(row) - 1] = ord(" ")
        return block._replace(data=bytes(data))

    def hides(self, path: str) -> bool:
        """Return True: lines of the attributes are not rows."""
        return True

    def plain(self, data: bytes) -> bytes:
        """Return records with single quotes around what stands in double ones, and no space before them."""
        return CELL.sub(single, data) if b'"' in data or b"'" in data else data

    def _typed(self, rows: Any) -> Any:
        """Return rows with categories as such."""
        for name in self.nominal:
            j = rows.schema.get_field_index(name)
            rows = rows.set_column(j, name, rows.column(j).dictionary_encode())
        return rows

    def _unfit(self, name: str, j: int, column: Any, records: np.ndarray, faults: dict[int, Any]) -> None:
        """Note values that were not declared too."""
        import pyarrow as pa
        import pyarrow.compute as pc

        super()._unfit(name, j, column, records, faults)
        if name in self.nominal:
            known = pc.is_in(column, value_set=pa.array([*self.nominal[name], None], pa.string()))
            for k in np.flatnonzero(~known.to_numpy()).tolist():
                faults.setdefault(int(records[k]), (j + 1, self._wanted(name), repr(column[k].as_py())))

    def _wanted(self, name: str) -> str:
        """Return what an error says was expected of a nominal attribute."""
        values = self.nominal[name]
        return f"one of {', '.join(values[:8])}{', ...' if len(values) > 8 else ''} in attribute {name!r}"

    # ---- sparse rows -----------------------------------------------------------------------------------------------------
    def _sparse(self, block: Block) -> Parsed:
        """Parse rows {number value, ...}: numbers that are left out are 0, nominal values the first declared."""
        import pyarrow as pa

        starts, fields = self.scan(block)
        most = max(CELLS // max(len(self.columns), 1), 1)
        rows: list[dict[int, Any]] = []
        lines = line_numbers(block.data, starts, block.line).tolist()
        end = 0
        for r in range(len(fields)):
            line = block.data[starts[r] : starts[r + 1]].decode("utf-8", "replace").strip()
            if len(rows) >= most:
                break
            end = int(starts[r + 1])
            if line and not line.startswith("%"):
                try:
                    rows.append(self._entries(line, block.path, lines[r]))
                except BadRow as bad:
                    self.bad(bad, len(rows))
        arrays = []
        for j, name in enumerate(self.columns):
            numeric = self.kinds[name] != "text"
            absent = 0.0 if numeric else self.nominal.get(name, [None])[0]
            arrays.append(pa.array([x.get(j, absent) for x in rows], pa.float64() if numeric else pa.string()))
        return Parsed(pa.RecordBatch.from_arrays(arrays, names=self.columns), end)

    def _entries(self, line: str, path: str, number: int) -> dict[int, Any]:
        """Return the entries of one sparse row."""
        if not (line.startswith("{") and line.endswith("}")):
            raise BadRow(path, number, 1, "a sparse row {number value, ...}", repr(line[:60]))
        entries, at, body = {}, 0, line[1:-1].strip()
        while at < len(body):
            m = ENTRY.match(body, at)
            if m is None or int(m[1]) >= len(self.columns):
                raise BadRow(
                    path, number, at + 2, f"an attribute from 0 to {len(self.columns) - 1} and a value", repr(body[at : at + 30])
                )
            j, v = int(m[1]), unquoted(m[2])
            entries[j] = self._value(self.columns[j], v, path, number, m.start(2) + 2)
            at = m.end()
        for name in self.required:
            if name in self.columns and entries.get(self.columns.index(name), "") is None:
                raise BadRow(path, number, None, f"a value in attribute {name!r}", "none")
        return entries

    def _value(self, name: str, v: str, path: str, number: int, column: int) -> Any:
        """Return one value of its type."""
        if v in MISSING:
            return None
        if name in self.nominal and v not in self.nominal[name]:
            raise BadRow(path, number, column, self._wanted(name), repr(v))
        if self.kinds[name] == "text":
            return v
        try:
            x = float(v)
        except ValueError:
            x = np.inf
        if not np.isfinite(x):
            raise BadRow(path, number, column, f"a finite number in attribute {name!r}", repr(v))
        return x
