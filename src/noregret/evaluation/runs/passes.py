"""A pass over a stream: each chunk is read once, and every learner takes it while it is in memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat
from time import perf_counter
from typing import Any

import numpy as np

from ...engine import compiling
from ...inputs.batch import Batch
from ...inputs.checking import joined
from ...inputs.labels import Coded
from ...streams.stream import Stream, counting
from ...training.by_task import suited
from ..measures.baselines import Baselines
from .run import Run

RATIO = 1.2  # between neighbouring points of a curve
LIMIT = 1 << 30  # bytes of rows that permutations and folds may hold
Watch = Callable[[int, Stream, Sequence[Run]], None]


def points() -> Iterator[int]:
    """Yield the lengths of the stream at which curves have a point, about evenly spaced on a logarithmic axis."""
    at = 1
    while True:
        yield at
        at = max(at + 1, int(at * RATIO))


def between_points(stream: Stream, limit: int | None = None) -> Iterator[tuple[Batch, bool]]:
    """Yield the rows that count, cut at the points of the curves, each with whether it ends at one."""
    marks = points()
    mark, done = next(marks), 0
    for batch in map(counting, stream.chunks()):
        a, n = 0, batch.data.n
        while a < n:
            b = min(n, a + mark - done, n if limit is None else a + limit - done)
            done += b - a
            yield batch.cut(a, b), done == mark
            if done == mark:
                mark = next(marks)
            if done == limit:
                return
            a = b


class Pass:
    """What a pass over a stream found out about it."""

    def __init__(self, baselines: Baselines) -> None:
        self.baselines = baselines
        self.trivial: list[dict[str, Any]] = []  # what a report says of them
        self.examples = 0
        self.reading = 0.0  # seconds the learners waited for rows, except where the reader was compiled or loaded
        self.stopped = False  # before the end, because someone asked for it
        self.notes: list[str] = []


def run_pass(
    stream: Stream,
    runs: Sequence[Run],
    *,
    limit: int | None = None,
    strict: bool = False,
    watch: Watch | None = None,
    stop: Callable[[], bool] | None = None,
) -> Pass:
    """Let every learner take the stream once; a learner that fails is left behind unless `strict`."""
    found = Pass(runs[0].baselines())
    source = between_points(stream, limit)
    with ThreadPoolExecutor(min(len(runs), os.cpu_count() or 1)) as pool:
        while True:
            start, before = perf_counter(), compiling.ready()
            batch, at_point = next(source, (None, False))
            found.reading += perf_counter() - start if compiling.ready() == before else 0.0
            if batch is None:
                break
            if found.examples == 0:
                warm(batch, runs, stream)
            going = [run for run in runs if run.failed is None]
            list(pool.map(attempt, going, repeat(batch), repeat(stream), repeat(at_point)))
            for run in going:
                if run.failed is not None and (strict or all(r.failed for r in runs)):
                    raise run.failed
            found.baselines.add(suited(batch.y, runs[0].learner), batch.c, batch.column("time"), batch.data)
            if at_point:
                found.baselines.mark()
            found.examples += batch.data.n
            if watch is not None:
                watch(found.examples, stream, runs)
            if stop is not None and stop():
                found.stopped = True
                break
    if found.examples == 0:
        raise stream.nothing()
    found.baselines.mark()
    found.trivial = found.baselines.result()
    for run in runs:
        if run.failed is None:
            run.finish(stream)
            if not run.points or run.points[-1]["examples"] < run.examples:
                run.mark()
    return found


def attempt(run: Run, batch: Batch, stream: Stream, at_point: bool) -> None:
    """Let one learner take rows; note why it cannot."""
    try:
        run.take(batch, stream)
        if at_point:
            run.mark()
    except Exception as e:  # of any kind: a learner of a plugin may raise anything, and the others continue
        run.failed = e


def warm(batch: Batch, runs: Sequence[Run], stream: Stream) -> None:
    """Compile, or load from the cache, before the clock runs: a clone of each learner takes the first row."""
    row = batch.cut(0, 1)
    row = row._replace(data=row.data._replace(columns={k: v for k, v in row.columns.items() if k != "weight"}))
    for run in runs:
        try:
            run.again().learn(row, stream)
        except Exception:  # said again, and better, when the learner itself takes it
            continue


def held(stream: Stream, limit: int | None = None) -> Batch:
    """Return all rows of a stream that fits in memory, or the first of them."""
    batches, size, left = [], 0, limit
    for batch in map(counting, stream.chunks()):
        if left is not None:
            batch = batch.cut(0, min(left, batch.data.n))
            left -= batch.data.n
        size += sum(a.nbytes for a in batch.data.arrays)
        if size > LIMIT:
            raise ValueError(
                f"{stream.name} needs more than {LIMIT >> 20} MB of memory in one piece, which orders other than its own ask for: "
                "take fewer rows (limit=...), or go without permutations and folds"
            )
        batches += [batch] if batch.data.n else []
        if left == 0:
            break
    if not batches:
        raise stream.nothing()
    return Batch(joined([b.data for b in batches]), together([b.y for b in batches]), batches[-1].position)


def together(ys: Sequence[Any]) -> Any:
    """Return consecutive labels as one."""
    if not any(isinstance(y, Coded) for y in ys):
        return None if ys[0] is None else np.concatenate(ys)
    index: dict[Any, int] = {}
    codes = []
    for y in ys:
        y = y if isinstance(y, Coded) else Coded(y.tolist(), np.arange(len(y)))
        table = np.array([index.setdefault(v, len(index)) for v in y.values], np.int64)
        codes.append(table[y.codes])
    return Coded(list(index), np.concatenate(codes))
