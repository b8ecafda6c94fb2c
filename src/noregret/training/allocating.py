"""Where a stream of rounds and an allocator meet: how the rows of a source are read for it, and how it learns them."""

from __future__ import annotations

import contextlib
import copy
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..inputs.batch import Batch
from ..streams.round_reader import DATE, LAST, Manner, RoundReader, rounds
from ..streams.stream import Stream
from ..text import brief, meant
from .opening import OtherOptions, unset

READ = ("format", "on_bad", "threads", "header", "delimiter", "decimal")  # options of any source of text
FAR = 3.0  # a relative of most days lies between 1/3 and 3
NEAR = 0.01  # and those in the middle as near to 1
LIKELY = "likely"  # among them: the column that named the rounds, said or found out
STEADY = 10.0  # prices are farther from 1 than they move in a day by more than this factor; relatives are about as far
NOTED = "rounds"  # in the extras of a model: how its rows were read


def opened_rounds(source: Any, y: Any, options: Mapping[str, Any], learner: Any, takes: Sequence[str]) -> tuple[Stream, list[str]]:
    """Return a source as rounds for a learner, and what was found out about it.

    `takes` are the options of the task. A model that has learned knows them: others than it was trained with are refused, but for
    more columns to ignore, which a new file may have.
    """
    given = {k: v for k, v in options.items() if not unset(v)}
    known = learner.extras.get(NOTED, {})
    for name in given:
        if name not in (*takes, *READ):
            able = [*takes, *READ]
            raise TypeError(f"{name!r} means nothing to {learner.name}. {meant(name, able)}It takes {', '.join(able)}")
    for name, value in given.items():
        if name in takes and name != "ignore" and learner.started and NOTED in learner.extras and known.get(name) != plain(value):
            was = f"with {name}={known[name]!r}" if name in known else f"without {name}="
            raise OtherOptions(f"the model was trained {was}, not {name}={value!r}: leave out {name}=")
    own = {k: v for k, v in known.items() if k != LIKELY} | {k: plain(v) for k, v in given.items() if k in takes}
    asked: dict[str, Any] = {**own, "ignore": tuple(dict.fromkeys((*known.get("ignore", ()), *own.get("ignore", ()))))}
    if learner.started:
        own = {k: v for k, v in own.items() if k != "ignore"} | {k: v for k, v in known.items() if k == "ignore"}
    manner = Manner(unit=learner.unit, column=learner.axis, **asked)
    found = rounds(source, y, manner=manner, **{k: v for k, v in given.items() if k in READ})
    if isinstance(found.reader, RoundReader):
        found.reader.likely = known.get(LIKELY)
    notes = scouted(found, "prices" in takes)
    if (manner.target is not None or y is not None) and "loss" in learner.defaults and learner.loss is None:
        learner.set_params(loss="square")
        notes.append("The columns are advice: their loss is the square loss (loss, --loss).")
    named, order = (getattr(found.reader, k, None) for k in ("time", "order"))  # one day added to the file may not tell them
    told = {LIKELY: named, "date_order": order}
    learner.extras[NOTED] = own | {k: v for k, v in told.items() if v is not None}
    return found, notes


def plain(value: Any) -> Any:
    """Return an option as JSON has it."""
    return list(value) if isinstance(value, tuple) else value


def scouted(opened: Stream, priced: bool) -> list[str]:
    """Look at the first rows of a source that can be read again; return what was found out: its column of dates, likely mistakes.

    With `priced`, rows are relatives or prices, and prices that would be taken for relatives are refused.
    """
    reader = opened.reader
    if not isinstance(reader, RoundReader) or not reader.replayable:
        return []
    scout = RoundReader(copy.copy(reader.inner), reader.manner._replace(prices=False, missing="hold"))
    scout.likely = reader.likely
    first = next(iter(scout.batches()), None)
    notes = []
    if scout.time not in (None, reader.time, reader.likely):
        notes.append(f"Column {scout.time!r} was taken to name the {reader.manner.unit}s (time, --time).")
    reader.time, reader.order = scout.time, scout.order
    X = np.empty((0, 1)) if first is None else first.data.arrays[0]
    middle = float(np.median(X)) if priced and len(X) else 1.0
    if not reader.manner.prices and not 1.0 / FAR < middle < FAR:
        hint = "these look like prices. Give prices=True"
        raise ValueError(f"{reader.title}: half of the numbers are above {middle:g}, and relatives are near 1: {hint}")
    if priced and not reader.manner.prices and first is not None and (like := like_prices(X)) is not None:
        name = brief(like if first.data.names is None else first.data.names[like])
        notes.append(
            f"Column {name} and most others stay near one number that is not 1, as prices do and relatives do not: if these are "
            "prices, say so (prices=True, --prices)."
        )
    if reader.manner.prices and len(X) > 2 and abs(middle - 1.0) < NEAR:
        notes.append(f"Half of the prices are above {middle:g}: if they are relatives already, leave out prices (--prices).")
    return notes


def like_prices(X: np.ndarray) -> int | None:
    """Return a column that looks like prices near 1, such as rates of exchange, where most do; else None."""
    if len(X) < 3:
        return None
    off, moves = np.abs(np.median(X, axis=0) - 1.0), np.median(np.abs(np.diff(X, axis=0)), axis=0)
    steady = (off > NEAR) & (off > STEADY * moves)
    return int(np.argmax(steady)) if 2 * np.count_nonzero(steady) > X.shape[1] else None


def gone_before(found: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the last prices and date of what was learned before, from which a new file goes on; nothing after a limit.

    The position of a pass that a limit cut lies behind what was learned.
    """
    end = {} if found is None or "limited" in found else found.get("end") or {}
    return {k: end[k] for k in (LAST, DATE) if k in end}


def learn_rounds(learner: Any, batch: Batch) -> Any:
    """Let an allocator learn the rounds of a batch; return what happened in each. An error names file and row."""
    truth = {} if batch.y is None else {"y": batch.y}
    with rows_in_errors(learner, batch):
        return learner.learn_rounds(batch.data.arrays[0], batch.data.names, **truth)


@contextlib.contextmanager
def rows_in_errors(learner: Any, batch: Batch) -> Iterator[None]:
    """Let an error name the file of a batch and, in the place of a round, its row there, counted from 1 without a heading."""
    seen = learner.n_seen_ if learner.started else 0
    try:
        yield
    except (ValueError, TypeError) as e:
        where, text = batch.position.get("path"), str(e)
        if where is None:
            raise
        found = re.search(rf" of {learner.unit} (\d+)\b", text)
        at = -1 if found is None else int(found[1]) - seen - 1
        if found is not None and batch.numbers is not None and 0 <= at < len(batch.numbers):
            where, text = f"{where}, row {batch.numbers[at] + 1:,}", text[: found.start()] + text[found.end() :]
        raise type(e)(f"{where}: {text}") from e
