"""Answers as lines: text, CSV, JSON."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from typing import Any, TextIO

from ..text import printable


class Lines:
    """Text with tabs between the id of a row, the answer and the scores."""

    def __init__(self, out: TextIO, classes: list[Any] | None) -> None:
        self.out = out
        self.classes = classes  # whose scores are written; empty for one score, None for no scores
        self.begun = False

    def write(self, said: Any) -> None:
        """Write some answers."""
        ids = None if said.ids is None else [plain(v) for v in said.ids]
        if not self.begun:
            self.begin(ids is not None)
            self.begun = True
        y, scores = said.y.tolist(), None if self.classes is None else said.scores.reshape(len(said.y), -1).tolist()
        self.rows((None if ids is None else ids[i], v, [] if scores is None else scores[i]) for i, v in enumerate(y))

    def begin(self, named: bool) -> None:
        """Write what comes before the first answer."""
        self.named = named

    def rows(self, rows: Iterator[tuple[Any, Any, list[float]]]) -> None:
        """Write rows of id, answer, scores."""
        for row, v, scores in rows:
            cells = [*([row] if self.named else []), v, *scores]
            self.out.write("\t".join("" if cell is None else printable(str(cell)) for cell in cells) + "\n")

    def end(self, facts: dict[str, Any]) -> None:
        """Write what comes after the last answer."""


class Csv(Lines):
    """CSV with a heading."""

    def begin(self, named: bool) -> None:
        """Write the heading."""
        super().begin(named)
        scores = [] if self.classes is None else [f"score {c}" for c in self.classes] or ["score"]
        self.csv = csv.writer(self.out, lineterminator="\n")
        self.csv.writerow([*(["id"] if named else []), "prediction", *scores])

    def rows(self, rows: Iterator[tuple[Any, Any, list[float]]]) -> None:
        """Write rows."""
        self.csv.writerows([*([row] if self.named else []), v, *scores] for row, v, scores in rows)


class JsonLines(Lines):
    """A JSON object on each line."""

    def rows(self, rows: Iterator[tuple[Any, Any, list[float]]]) -> None:
        """Write rows."""
        for row in rows:
            self.out.write(json.dumps(self.found(*row)) + "\n")

    def found(self, row: Any, v: Any, scores: list[float]) -> dict[str, Any]:
        """Return the object of a row."""
        said = {"id": row, "prediction": v} if self.named else {"prediction": v}
        if self.classes:
            return said | {"scores": dict(zip(map(str, self.classes), scores, strict=True))}
        return said | ({"score": scores[0]} if scores else {})


class Json(JsonLines):
    """One JSON document."""

    first = True

    def rows(self, rows: Iterator[tuple[Any, Any, list[float]]]) -> None:
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
