"""Answers as lines: text, CSV, JSON."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from typing import Any, NamedTuple, TextIO

from ..text import printable


class Numbers(NamedTuple):
    """Numbers beside an answer: what each is, the field of the answers that has them, and the classes they are of, if any."""

    name: str
    field: str
    classes: list[Any]

    def heads(self) -> list[str]:
        """Return the headings of their columns."""
        return [f"{self.name} {c}" for c in self.classes] or [self.name]


class Lines:
    """Text with tabs between the id of a row, the answer, and the numbers beside it."""

    def __init__(self, out: TextIO, beside: list[Numbers]) -> None:
        self.out = out
        self.beside = beside
        self.begun = False

    def write(self, said: Any) -> None:
        """Write some answers."""
        ids = None if said.ids is None else [plain(v) for v in said.ids]
        if not self.begun:
            self.begin(ids is not None)
            self.begun = True
        n = len(said.y)
        numbers = [getattr(said, own.field).reshape(n, -1).tolist() for own in self.beside]
        self.rows((None if ids is None else ids[i], v, [own[i] for own in numbers]) for i, v in enumerate(said.y.tolist()))

    def begin(self, named: bool) -> None:
        """Write what comes before the first answer."""
        self.named = named

    def cells(self, row: Any, v: Any, numbers: list[list[float]]) -> list[Any]:
        """Return a row as cells."""
        return [*([row] if self.named else []), v, *(x for own in numbers for x in own)]

    def rows(self, rows: Iterator[tuple[Any, Any, list[list[float]]]]) -> None:
        """Write rows of id, answer, and the numbers beside it."""
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
        self.csv.writerow([*(["id"] if named else []), "prediction", *(head for own in self.beside for head in own.heads())])

    def rows(self, rows: Iterator[tuple[Any, Any, list[list[float]]]]) -> None:
        """Write rows."""
        self.csv.writerows(self.cells(*row) for row in rows)


class JsonLines(Lines):
    """A JSON object on each line."""

    def rows(self, rows: Iterator[tuple[Any, Any, list[list[float]]]]) -> None:
        """Write rows."""
        for row in rows:
            self.out.write(json.dumps(self.found(*row)) + "\n")

    def found(self, row: Any, v: Any, numbers: list[list[float]]) -> dict[str, Any]:
        """Return the object of a row."""
        said = {"id": row, "prediction": v} if self.named else {"prediction": v}
        for own, values in zip(self.beside, numbers, strict=True):
            said |= {own.field: dict(zip(map(str, own.classes), values, strict=True))} if own.classes else {own.name: values[0]}
        return said


class Json(JsonLines):
    """One JSON document."""

    first = True

    def rows(self, rows: Iterator[tuple[Any, Any, list[list[float]]]]) -> None:
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
