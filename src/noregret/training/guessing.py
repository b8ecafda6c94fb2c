"""The column of labels of a table, where nobody named it: guessed where that is safe, and said."""

from __future__ import annotations

import copy
from typing import Any

from ..streams.stream import Stream
from ..streams.table_reader import TableReader
from ..transforms.front import Front
from ..transforms.table import Table
from ..transforms.table_cells import fields_of, listing
from .by_task import NOVELTY, by_task

USUAL = ("label", "target", "class", "y")  # names of columns that hold labels, in any case


def with_target(opened: Stream, *models: Any) -> tuple[Stream, list[str]]:
    """Return a stream that has labels if the models need them, and a note if their column was guessed.

    None stands for a model that is still to be chosen. A table whose column of labels cannot be guessed is refused, unless models
    only judge by labels.
    """
    if models and all(map(judges_by_labels, models)):
        columns = columns_without_labels(opened)
        return (opened, []) if columns is None else with_guess(opened, columns)
    columns = columns_without_labels(opened) if all(map(needs_labels, models)) else None
    if columns is None:
        return opened, []
    found, notes = with_guess(opened, columns)
    if not notes:
        title = opened.reader.title
        others = f". To find rows unlike the others, name a learner that needs no labels: {NOVELTY}" if None in models else ""
        raise ValueError(f"{title} has no labels: name their column (target, --target), one of {listing(columns)}{others}")
    return found, notes


def with_guess_or_note(opened: Stream) -> tuple[Stream, list[str]]:
    """Return a stream with labels where their column can be guessed, and a note about it; and one where it has none."""
    columns = columns_without_labels(opened)
    if columns is None:
        return opened, []
    found, notes = with_guess(opened, columns)
    return found, notes or ["No target was named (target, --target): all columns were written as features."]


def columns_without_labels(opened: Stream) -> list[str] | None:
    """Return the columns of a table of which none is named as that of the labels; None where there are labels, or no table."""
    table = None if opened.front is None else opened.front.table
    reader = copy.copy(opened.reader)
    if table is None or table.target is not None:
        return None
    if not (reader.replayable or isinstance(reader, TableReader)):  # an iterator, whose examples bring their labels
        return None
    reader.heed(table, False)
    first = next(iter(reader.batches()), None)
    if first is None or first.y is not None or isinstance(first.data, list):
        return None
    opened.reader.usual_target = reader.usual_target
    return [name for name, _ in fields_of(first.data)]


def with_guess(opened: Stream, columns: list[str]) -> tuple[Stream, list[str]]:
    """Return a stream whose labels are in the column that was guessed, and a note; the stream itself in doubt."""
    assert opened.front is not None
    table = opened.front.table
    assert table is not None
    sure = opened.reader.replayable and not table.column_roles
    found = guessed(columns, opened.reader.usual_target, table) if sure else None
    if found is None:
        return opened, []
    front = Front(Table(**{**table.get_params(), "target": found}), opened.front.fresh().maps)
    return Stream(opened.reader, front), [f"No target was named: column {found!r} was taken (target, --target)."]


def needs_labels(model: Any) -> bool:
    """Return whether a model cannot learn from rows without labels."""
    return model is None or by_task(model).labelled


def judges_by_labels(model: Any) -> bool:
    """Return whether labels, where there are any, are no part of the rows of a model, although it learns without them."""
    return model is not None and by_task(model).guesses


def guessed(columns: list[str], usual: str | None, table: Table) -> str | None:
    """Return the one column that is called as labels usually are, else the one where the format has them; None in doubt."""
    called = [name for name in columns if name.strip().casefold() in USUAL and name not in table.named]
    if len(called) == 1:
        return called[0]
    return None if usual in table.named else usual
