"""The column of labels of a table, where nobody named it: guessed where that is safe, and said."""

from __future__ import annotations

import copy
from typing import Any

from ..streams.stream import Stream
from ..streams.table_reader import TableReader
from ..transforms.front import Front
from ..transforms.pipeline import Pipeline
from ..transforms.table import Table
from ..transforms.table_cells import fields_of, listing
from .by_task import by_task

USUAL = ("label", "target", "class", "y")  # names of columns that hold labels, in any case


def with_target(opened: Stream, *models: Any) -> tuple[Stream, list[str]]:
    """Return a stream that has labels if the models need them, and a note if their column was guessed.

    None stands for a model that is still to be chosen. A table whose column of labels cannot be guessed is refused.
    """
    table = None if opened.front is None else opened.front.table
    if table is None or table.target is not None or not all(map(needs_labels, models)):
        return opened, []
    reader = copy.copy(opened.reader)
    if not (reader.replayable or isinstance(reader, TableReader)):  # an iterator, whose examples bring their labels
        return opened, []
    reader.heed(table, False)
    first = next(iter(reader.batches()), None)
    if first is None or first.y is not None or isinstance(first.data, list):
        return opened, []
    columns = [name for name, _ in fields_of(first.data)]
    found = None if table.column_roles or not reader.replayable else guessed(columns, reader.usual_target, table)
    if found is None:
        raise ValueError(f"{reader.title} has no labels: name their column (target, --target), one of {listing(columns)}")
    front = Front(Table(**{**table.get_params(), "target": found}), opened.front.fresh().maps if opened.front else ())
    return Stream(opened.reader, front), [f"No target was named: column {found!r} was taken (target, --target)."]


def needs_labels(model: Any) -> bool:
    """Return whether a model cannot learn from rows without labels."""
    return model is None or by_task(model.learner if isinstance(model, Pipeline) else model).labelled


def guessed(columns: list[str], usual: str | None, table: Table) -> str | None:
    """Return the one column that is called as labels usually are, else the one where the format has them; None in doubt."""
    called = [name for name in columns if name.strip().casefold() in USUAL and name not in table.named]
    if len(called) == 1:
        return called[0]
    return None if usual in table.named else usual
