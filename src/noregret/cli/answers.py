"""Answers as lines: text, CSV, JSON."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from typing import Any, TextIO

from ..text import printable


class Beside:
    """What stands beside an answer: the field of the answers that has it, as columns and in JSON."""

    def __init__(self, field: str, heads: list[str]) -> None:
        self.field, self.heads = field, heads

    def values(self, said: Any) -> list[Any]:
        """Return it for each row."""
        found: list[Any] = getattr(said, self.field).reshape(len(said.y), -1).tolist()
        return found

    def cells(self, own: Any) -> list[Any]:
        """Return that of a row as cells."""
        return list(own)

    def facts(self, own: Any) -> dict[str, Any]:
        """Return that of a row as JSON values."""
        return dict(zip(self.heads, own, strict=True))


class ByClass(Beside):
    """Numbers for each class: scores, probabilities."""

    def __init__(self, field: str, name: str, classes: list[Any]) -> None:
        super().__init__(field, [f"{name} {c}" for c in classes])
        self.classes = [str(c) for c in classes]

    def facts(self, own: Any) -> dict[str, Any]:
        """Return that of a row as JSON values."""
        return {self.field: dict(zip(self.classes, own, strict=True))}


class LabelSet(Beside):
    """A set of labels, the most probable first."""

    def values(self, said: Any) -> list[Any]:
        """Return it for each row."""
        return [[own] for own in getattr(said, self.field)]

    def cells(self, own: Any) -> list[Any]:
        """Return that of a row as one cell."""
        return ["|".join(map(str, own[0]))]


class Lines:
    """Text with tabs between the id of a row, the answer, and what stands beside it."""

    def __init__(self, out: TextIO, beside: list[Beside], answers: bool = True) -> None:
        self.out = out
        self.beside = beside
        self.answers = answers  # whether there are any, or only what stands beside them
        self.begun = False

    def write(self, said: Any) -> None:
        """Write some answers."""
        ids = None if said.ids is None else [plain(v) for v in said.ids]
        if not self.begun:
            self.begin(ids is not None)
            self.begun = True
        found = [own.values(said) for own in self.beside]
        self.rows((None if ids is None else ids[i], v, [own[i] for own in found]) for i, v in enumerate(said.y.tolist()))

    def begin(self, named: bool) -> None:
        """Write what comes before the first answer."""
        self.named = named

    def cells(self, row: Any, v: Any, found: list[Any]) -> list[Any]:
        """Return a row as cells."""
        more = (cell for own, values in zip(self.beside, found, strict=True) for cell in own.cells(values))
        return [*([row] if self.named else []), *([v] if self.answers else []), *more]

    def rows(self, rows: Iterator[tuple[Any, Any, list[Any]]]) -> None:
        """Write rows of id, answer, and what stands beside it."""
        for row in rows:
            self.out.write("\t".join("" if cell is None else printable(str(cell)) for cell in self.cells(*row)) + "\n")

    def end(self, facts: dict[str, Any]) -> None:
        """Write what comes after the last answer."""


class Csv(Lines):
    """CSV with a heading."""

    def begin(self, named: bool) -> None:
        """Write the heading."""
        super().begin(named)
        self.csv = csv.writer(self.out, lineterminator="\n")
        first = [*(["id"] if named else []), *(["prediction"] if self.answers else [])]
        self.csv.writerow([*first, *(head for own in self.beside for head in own.heads)])

    def rows(self, rows: Iterator[tuple[Any, Any, list[Any]]]) -> None:
        """Write rows."""
        self.csv.writerows(self.cells(*row) for row in rows)


class JsonLines(Lines):
    """A JSON object on each line."""

    def rows(self, rows: Iterator[tuple[Any, Any, list[Any]]]) -> None:
        """Write rows."""
        for row in rows:
            self.out.write(json.dumps(self.found(*row)) + "\n")

    def found(self, row: Any, v: Any, found: list[Any]) -> dict[str, Any]:
        """Return the object of a row."""
        said = {**({"id": row} if self.named else {}), **({"prediction": v} if self.answers else {})}
        for own, values in zip(self.beside, found, strict=True):
            said |= own.facts(values)
        return said


class Json(JsonLines):
    """One JSON document."""

    first = True

    def rows(self, rows: Iterator[tuple[Any, Any, list[Any]]]) -> None:
        """Write rows."""
        for row in rows:
            self.out.write(('{"predictions": [\n' if self.first else ",\n") + json.dumps(self.found(*row)))
            self.first = False

    def end(self, facts: dict[str, Any]) -> None:
        """Write the figures and close the document."""
        if not self.first:
            self.out.write("\n],\n" + json.dumps(facts)[1:] + "\n")


FORMS: dict[str, type[Lines]] = {"text": Lines, "csv": Csv, "jsonl": JsonLines, "json": Json}


def plain(v: Any) -> Any:
    """Return a value as Python and JSON have it."""
    v = v.item() if hasattr(v, "item") else v
    return v.decode("utf-8", "replace") if isinstance(v, bytes) else v
