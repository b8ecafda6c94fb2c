"""Where documents and a learner of words meet: counts by number, or a table of which only the columns of text make features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..inputs.features import Columns
from ..streams import formats
from ..streams.stream import Stream, is_path, stream
from ..text import brief
from ..transforms.front import Front
from ..transforms.pipeline import Pipeline
from ..transforms.table import Table, listed
from ..transforms.table_cells import listing
from .opening import options_for, unset
from .pairing import names_in

WITHOUT = ("numeric", "categorical", "date", "cross", "scale", "normalize")  # they are about other features than words
IN_MEMORY = "records"  # dicts, which may be counts of words


def opened_texts(source: Any, y: Any, options: Mapping[str, Any], models: Sequence[Any] = ()) -> tuple[Stream, list[str]]:
    """Return a source of documents as a stream, and what was found out about it.

    Of a table the columns of text are taken: those that are named, else those that are found in its first rows. A model that has
    learned keeps its columns, and the words that it knows by number.
    """
    for name in WITHOUT:
        if not unset(options.get(name)):
            raise ValueError(f"{name!r} is about other features than words, of which topics are made: leave it out")
    model = models[0] if models else None
    given = dict(options) if model is None or "front" in options else options_for(model, dict(options))
    known = vocabulary_of(model)
    opened = stream(source, y, **numbered(known, source, given))
    if known is not None and opened.reader.words not in (None, known):
        refuse_words(known, opened.reader.words)
    if opened.front is None or opened.front.table is None:
        return opened, []
    table = opened.front.table
    begun = bool(table.column_roles)
    named = listed(table.text)
    columns = texts_in(table) if begun else named or found_texts(opened)
    if not columns and opened.kind == IN_MEMORY:
        return opened, []
    others = [name for name in names_in(opened) if name not in {*columns, *table.apart}]
    if not columns:
        raise ValueError(f"{opened.reader.title} has no column of text: name it (text, --text), one of {listing(others)}")
    if begun:
        table.leave_out(others)
        return opened, []
    front = Front(Table(**{**table.get_params(), "text": [*columns], "ignore": others}), opened.front.fresh().maps)
    notes = [] if named else [f"No column of text was named: {listing([*columns])} was taken (text, --text)."]
    return Stream(opened.reader, front), notes


def texts_in(table: Table) -> list[str]:
    """Return the columns that a table reads as text."""
    return [name for name, role in table.column_roles.items() if role == "text"]


def found_texts(opened: Stream) -> list[str]:
    """Return the columns of text in the first rows of a source; none of what can be read only once."""
    if not opened.reader.replayable or next(opened.chunks(), None) is None:
        return []
    assert opened.front is not None
    assert opened.front.table is not None
    return texts_in(opened.front.table)


def vocabulary_of(model: Any) -> list[str] | None:
    """Return the words that a model knows by number, None where there are none."""
    learner = model.learner if isinstance(model, Pipeline) else model
    features = learner.model.features if learner is not None and learner.started else None
    return features.names if isinstance(features, Columns) else None


def numbered(known: list[str] | None, source: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Return options with the vocabulary of a model, where a source has numbers of words and none is given."""
    if known is None or not is_path(source) or given.get("vocabulary") is not None:
        return given
    takes = formats.of_files(source, given.get("format")).takes
    return {**given, "vocabulary": known} if "vocabulary" in takes else given


def refuse_words(known: list[str], given: list[str]) -> None:
    """Raise the error about another vocabulary than that of a model."""
    at = next((k for k, (a, b) in enumerate(zip(known, given, strict=False)) if a != b), None)
    what = f"it has {len(given):,} words, and there were {len(known):,}" if at is None else ""
    what = what or f"word {at} is {brief(given[at or 0])}, and was {brief(known[at or 0])}"
    raise ValueError(f"the vocabulary is not that of the model: {what}. Leave it out")
