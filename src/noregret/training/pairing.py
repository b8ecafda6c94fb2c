"""Where a table of users and items and a learner meet: which columns they are, and that no other makes features."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from itertools import chain
from typing import Any

from ..recommender import Recommender
from ..streams.stream import Stream, stream
from ..transforms.front import Front
from ..transforms.table import ROLES, Table
from ..transforms.table_cells import fields_of
from .by_task import by_task
from .guessing import with_target
from .opening import OtherOptions, options_for, unset

WITHOUT = (
    *ROLES,
    "cross",
    "ngrams",
    "stop_words",
    "min_count",
    "vocabulary",
    "date_order",
    "scale",
    "normalize",
    "hash_bits",
)  # they are about other features


def opened_pairs(source: Any, y: Any, options: Mapping[str, Any], model: Any, pair: tuple[str, ...]) -> tuple[Stream, list[str]]:
    """Return a source whose only features are its users and its items, and what was found out about it.

    `pair` are the options that name the two columns. A recommender that has learned knows them: others are refused.
    """
    given = {k: v for k, v in options.items() if not unset(v)}
    for name in given:
        if name in WITHOUT:
            raise ValueError(f"{name!r} is about features, and those of a recommendation are users and items alone: leave it out")
    asked, rest = {k: given.pop(k) for k in pair if k in given}, given
    if isinstance(model, Recommender) and model.learner.started:
        for name, was in zip(pair, model.columns, strict=True):
            if asked.get(name, was) != was:
                raise OtherOptions(f"the model was trained with {name}={was!r}, not {name}={asked[name]!r}: leave out {name}=")
        opened = stream(source, y, **options_for(model, rest))
        return alone(opened, model.columns), []
    columns = tuple(asked.get(k, own) for k, own in zip(pair, getattr(model, "columns", (None, None)), strict=True))
    if None in columns:
        said = " and ".join(f"{k}s ({k}, --{k})" for k, column in zip(pair, columns, strict=True) if column is None)
        raise ValueError(f"name the column of {said}")
    if columns[0] == columns[1]:
        raise ValueError(f"users and items are in two columns, got {columns[0]!r} for both")
    real = model is None or not by_task(getattr(model, "learner", model)).classes
    numbers = [rest["target"]] if real and "target" in rest else None
    opened, notes = with_target(stream(source, y, **rest, categorical=[*columns], numeric=numbers), model)
    return alone(opened, columns, real), notes


def alone(opened: Stream, columns: tuple[Any, ...], real: bool = False) -> Stream:
    """Return a stream that makes features of these columns and leaves out all others; a target that is `real` has numbers alone."""
    front = opened.front
    assert front is not None
    assert front.table is not None
    table = front.table
    others = [name for name in names_in(opened) if name not in {*columns, *table.apart}]
    if table.column_roles:  # it has learned: its settings stay
        table.leave_out(others)
        return opened
    own = {"ignore": others, "numeric": [table.target] if real and table.target is not None else None}
    return Stream(opened.reader, Front(Table(**{**table.get_params(), **own}), front.maps))


def names_in(opened: Stream) -> list[str]:
    """Return the columns of the first rows of a source."""
    reader = copy.copy(opened.reader) if opened.reader.replayable else opened.reader
    assert opened.front is not None
    assert opened.front.table is not None
    reader.heed(opened.front.table, False)
    batches = iter(reader.batches())
    first = next(batches, None)
    if first is None:
        return []
    if not reader.replayable:
        reader.batches = lambda position=None: chain([first], batches)  # type: ignore[method-assign]  # what was read comes again
    data = first.data
    return [*dict.fromkeys(k for x in data for k in x)] if isinstance(data, list) else [name for name, _ in fields_of(data)]
