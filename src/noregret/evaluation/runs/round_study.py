"""Studies of learners that divide a whole over columns: one pass over rounds, figures round by round, the best in hindsight."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime
from time import perf_counter, thread_time
from typing import Any

from ...engine import compiling
from ...inputs.batch import Batch
from ...learners.base import Base
from ...spelling import distinct, titled
from ...streams.stream import Stream
from ...text import meant, plural
from ...training.allocating import READ, learn_rounds, opened_rounds
from ...training.by_task import BY_TASK, by_task, made_for
from ...version import __version__
from ..kinds import KINDS, Kind
from ..measures.allotted import told_weights
from ..measures.paths import Path
from ..report.report import Report
from ..report.summary import known_figure

OWN = ("limit", "sort", "watch", "stop", "regret", "days", "regret_watch", "regret_rows")  # options of the study itself
DAYS = 252  # of a year on which stocks are traded


class RoundRun:
    """A learner with what is measured of it."""

    def __init__(self, learner: Any, label: str, kind: Kind) -> None:
        assert kind.rounds is not None
        self.learner, self.label, self.kind = learner, label, kind
        self.figures: Any = kind.rounds.figures(learner)
        self.path = Path()
        self.seconds = 0.0
        self.failed: Exception | None = None

    def take(self, batch: Batch) -> None:
        """Learn rounds, stopping at the points of the curves."""
        a, n = 0, batch.data.n
        while a < n:
            b = min(n, a + self.path.due(n))
            piece = batch.cut(a, b)
            start = thread_time()
            done = learn_rounds(self.learner, piece)
            self.seconds += thread_time() - start
            self.figures.take(done, piece.data.arrays[0])
            if self.path.go(b - a):
                self.path.mark(self.figures.point(self.learner))
            a = b

    def warm(self, batch: Batch) -> None:
        """Let a clone take a round, so that what is compiled is ready."""
        learn_rounds(self.learner.clone(), batch.cut(0, 1))

    def finish(self) -> None:
        """Note the last point."""
        if not self.path.points or self.path.points[-1]["examples"] < self.path.done:
            self.path.mark(self.figures.point(self.learner))

    def result(self, days: int) -> dict[str, Any]:
        """Return the object of this learner in a report."""
        m, found = self.learner, self.path.columns()
        return {
            "model": m.name,
            "label": self.label,
            "params": m.get_params(),
            "examples": self.path.done,
            "metrics": self.figures.metrics(days),
            "curve": {k: found[k] for k in ("examples", *self.kind.curves)},
            "bytes": sum(a.nbytes for a in m.model.arrays().values()),
            "seconds": self.seconds,
            "weights": told_weights(self.figures.shares, m.names_, m.weights_),
        }


# ---- the three studies -------------------------------------------------------------------------------------------------
def study(kind: str, task: str, source: Any, models: Any, y: Any, options: Mapping[str, Any]) -> Report:
    """Let learners of a task take the rounds of a source once; return the report.

    "evaluate" takes one learner, "compare" several (unless named, those of the task), "sweep" lists for parameters of one.
    """
    given = dict(options)
    entry = KINDS[task]
    own = {k: given.pop(k) for k in OWN if k in given}
    shared = {k: given.pop(k) for k in BY_TASK[task].shared if k in given and kind != "sweep"}
    learners, titles, notes, grid = chosen(kind, task, models, given)
    for name in given:
        if name not in (known := [*(BY_TASK[task].rounds or ()), *BY_TASK[task].shared, "limit", "sort", "regret", "days", *READ]):
            raise TypeError(f"there is no option {name!r} for the task {task}. {meant(name, known)}There are {', '.join(known)}")
    if own.get("sort") is not None:
        known_figure(own["sort"])
    for m in learners:
        m.set_params(**{k: v for k, v in shared.items() if k in m.defaults})
    opened, more = opened_rounds(source, y, given, learners[0], BY_TASK[task].rounds or ())
    for m in learners[1:]:
        m.extras.update(learners[0].extras)
        if y is not None or "target" in given:
            m.set_params(**{k: getattr(learners[0], k) for k in ("loss",) if k in m.defaults and getattr(m, k) is None})
    titles = titles or distinct([short(titled(m), task, shared) for m in learners])
    runs = [RoundRun(m, title, entry) for m, title in zip(learners, titles, strict=True)]
    report = passed(kind, opened, runs, own, [*notes, *more])
    report.data |= {"task": task}
    if kind == "sweep":
        settings = dict(zip(titles, grid, strict=True))
        for row in report.learners:
            row["setting"] = settings[row["label"]]
        swept = {k: [s[k] for s in grid] for k in grid[0]}
        report.data["swept"] = {k: list(dict.fromkeys(v)) for k, v in swept.items() if len(set(map(repr, v))) > 1}
    return report


def chosen(
    kind: str, task: str, models: Any, given: dict[str, Any]
) -> tuple[list[Any], list[str] | None, list[str], list[dict[str, Any]]]:
    """Return the learners, their titles where they differ by settings, notes, and the settings of a sweep."""
    if kind == "evaluate":
        m = made_for(task, models)
        return [m], None, [] if models is not None else [f"No learner was named: {m.name} was taken."], []
    if kind == "compare":
        named = [models] if isinstance(models, (str, Base)) else models
        found = [made_for(task, m) for m in (KINDS[task].dozen if named is None else named)]
        if not found:
            raise ValueError("there are no learners to compare")
        return [m.clone() for m in found], None, [], []
    base = made_for(task, models)
    grid = {k: list(v) if isinstance(v := given.pop(k), (list, tuple, range)) else [v] for k in list(given) if k in base.defaults}
    if not any(len(v) > 1 for v in grid.values()):
        raise ValueError(f"a sweep needs a list of values for at least one parameter of {base.name}: {', '.join(base.defaults)}")
    settings = [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]
    swept = [k for k, v in grid.items() if len(v) > 1]
    titles = [" ".join([base.name.removeprefix(by_task(base).room), *(f"{k}={s[k]}" for k in swept)]) for s in settings]
    return [base.clone().set_params(**s) for s in settings], titles, [], [{k: s[k] for k in swept} for s in settings]


def short(title: str, task: str, shared: Mapping[str, Any]) -> str:
    """Return a title without what all have in common: the task, and options that were given to all."""
    title = title.removeprefix(BY_TASK[task].room)
    for name, value in shared.items():
        title = title.replace(f" {name}={value}", "")
    return title


def passed(kind: str, opened: Stream, runs: Sequence[RoundRun], own: Mapping[str, Any], notes: list[str]) -> Report:
    """Take the stream once; return the report."""
    entry = runs[0].kind
    assert entry.rounds is not None
    hindsight: Any = entry.rounds.hindsight()
    first = last = None

    def taken(batch: Batch) -> None:
        nonlocal first, last
        if own.get("regret") is not False:
            hindsight.add(batch.data.arrays[0], runs[0].learner)
        if batch.data.column("id") is not None:
            first, last = first or str(batch.data.columns["id"][0]), str(batch.data.columns["id"][-1])

    examples, reading, stopped = walked(kind, within(opened, own.get("limit")), opened, runs, own, taken)
    done = [run for run in runs if run.failed is None]
    for run in done:
        run.finish()
    days = int(own.get("days") or DAYS)
    results = [run.result(days) for run in done]
    trivial: list[dict[str, Any]] = []
    if own.get("regret") is not False:
        trivial, regrets, more = hindsight.find([(run.learner, run.figures, run.path) for run in done], days)
        notes = [*more, *notes]
        for result, regret in zip(results, regrets, strict=True):
            result["regret"] = regret and {**regret, "told": regret["told"].format(label=result["label"])}
    notes = [left_behind(run) for run in runs if run.failed is not None] + notes
    notes += [f"Interrupted after {plural(examples, entry.unit)}: all figures are of those."] if stopped else []
    data = {
        **opened.about(),
        "examples": examples,
        "unit": entry.unit,
        "features": len(done[0].learner.weights_),
        "noun": entry.rounds.noun,
        **({"from": first, "to": last} if first is not None else {}),
        "skipped": {"count": opened.skipped.count, "first": list(opened.skipped.first)},
        "baselines": trivial,
        "task": str(done[0].learner.task),
        "seconds_reading": reading,
        "level": compiling.level(),
        "version": __version__,
        "date": datetime.now(UTC).isoformat(" ", "seconds"),
        "warnings": entry.rounds.warnings(results, trivial),
    }
    return Report(kind, data, results, None, notes, own.get("sort") or entry.decides)


def walked(
    kind: str,
    source: Generator[Any, None, None],
    opened: Stream,
    runs: Sequence[Any],
    own: Mapping[str, Any],
    taken: Callable[[Any], None],
) -> tuple[int, float, bool]:
    """Let every learner take the batches of a source; return their rows, the seconds of reading, and whether someone asked to stop.

    `taken` is called with each batch that was learned. A learner that fails is left behind, unless it is the only one.
    """
    stop, watch = own.get("stop") or (lambda: False), own.get("watch")
    examples, reading = 0, 0.0
    with closing(source), ThreadPoolExecutor(min(len(runs), os.cpu_count() or 1)) as pool:
        while True:
            start = perf_counter()
            batch = next(source, None)
            reading += perf_counter() - start
            if batch is None:
                break
            if examples == 0:
                warm(batch, runs)
            going = [run for run in runs if run.failed is None]
            list(pool.map(attempt, going, itertools.repeat(batch)))
            for run in going:
                if run.failed is not None and (kind == "evaluate" or all(r.failed for r in runs)):
                    raise run.failed
            taken(batch)
            examples += batch.n
            if watch is not None:
                watch(examples, opened, runs)
            if stop():
                return examples, reading, True
    if examples == 0:
        raise opened.nothing()
    return examples, reading, False


def within(opened: Stream, limit: int | None) -> Generator[Batch, None, None]:
    """Yield rounds, at most `limit`; a first row of prices makes none, and is no batch."""
    left = limit
    for batch in opened.chunks():
        if batch.data.n == 0:
            continue
        if left is not None:
            batch = batch.cut(0, min(left, batch.data.n))
            left -= batch.data.n
        yield batch
        if left == 0:
            return


def attempt(run: Any, batch: Any) -> None:
    """Let one learner take rounds or rows; note why it cannot."""
    try:
        run.take(batch)
    except Exception as e:  # of any kind: a learner of a plugin may raise anything, and the others continue
        run.failed = e


def warm(batch: Any, runs: Sequence[Any]) -> None:
    """Compile, or load from the cache, before the clock runs."""
    for run in runs:
        try:
            run.warm(batch)
        except Exception:  # said again, and better, when the learner itself takes it
            continue


def left_behind(run: Any) -> str:
    """Return why a learner is not in the report."""
    return f"{run.label} could not take this stream: {str(run.failed) or type(run.failed).__name__}"
