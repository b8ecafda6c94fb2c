"""What studies of learners of rows without targets share: which learners take which rows, and what is followed along a stream."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np

from ...engine import compiling
from ...inputs.batch import Batch
from ...inputs.features import Features
from ...spelling import distinct, spelled, titled
from ...streams.stream import Stream, known_options
from ...text import meant, plural
from ...training.by_task import made_for
from ...training.opening import opening, opening_of
from ...transforms.pipeline import Pipeline
from ...transforms.table import Table
from ...version import __version__
from ..kinds import Kind, along
from ..report.report import Report
from ..report.summary import known_figure
from .passes import points
from .round_study import chosen, short
from .sharing import own_front, shared_steps
from .splits import Replay

WATCHED = ("watch", "stop", "regret_watch", "regret_rows")
Opening = Callable[[Any, Any, Mapping[str, Any], Sequence[Any]], tuple[Stream, list[str]]]  # source, y, options, models


class Followed:
    """Figures along a stream, with the points of their curves."""

    def __init__(self, figures: Any) -> None:
        self.figures = figures
        self.points: list[dict[str, Any]] = []
        self.marks = points()
        self.mark = next(self.marks)

    def cuts(self, n: int) -> Iterator[slice]:
        """Yield the parts of n rows between points, and note a point after each that ends at one."""
        a = 0
        while a < n:
            b = min(n, a + self.mark - self.figures.examples)
            yield slice(a, b)
            if self.figures.examples == self.mark:
                self.points.append(self.point())
                self.mark = next(self.marks)
            a = b

    def point(self) -> dict[str, Any]:
        """Return a point of the curves."""
        found: dict[str, Any] = self.figures.point()
        return found

    def end(self) -> None:
        """Note the last point."""
        if not self.points or self.points[-1]["examples"] < self.figures.examples:
            self.points.append(self.point())

    def result(self, label: str, metrics: Mapping[str, Any], curves: Sequence[str]) -> dict[str, Any]:
        """Return what a report says of it."""
        kept = ("examples", *(k for k in along(curves) if k in self.points[0]))
        curve = {k: [p[k] for p in self.points] for k in kept}
        return {"label": label, "examples": self.figures.examples, "metrics": dict(metrics), "curve": curve}


class UnlabelledRun:
    """A learner with what is measured of it. A subclass says how it takes rows."""

    def __init__(self, learner: Any, label: str, kind: Kind, opened: Stream, followed: Followed) -> None:
        self.learner, self.label, self.kind, self.opened, self.followed = learner, label, kind, opened, followed
        self.seconds = 0.0
        self.failed: Exception | None = None

    @property
    def figures(self) -> Any:
        """The figures so far."""
        return self.followed.figures

    def features(self, batch: Batch) -> Features | None:
        """Return the features of a model that begins with these rows."""
        return None if self.learner.started else self.opened.features(batch.data, False)

    def warm(self, taken: Any) -> None:
        """Let a clone take a row, so that what is compiled is ready."""
        row = taken.batch.cut(0, 1)
        self.learner.clone().learn_rows(row.data, None, row.c, self.features(row))

    def finish(self) -> None:
        """Learn what waits for a batch, and note the last point."""
        self.learner.finish()
        self.followed.end()

    def result(self, metrics: Mapping[str, Any]) -> dict[str, Any]:
        """Return the object of this learner in a report."""
        m = self.learner
        return {
            "model": m.name,
            "params": {k: v for k, v in m.get_params().items() if not isinstance(v, np.ndarray)},
            **self.followed.result(self.label, metrics, self.kind.curves),
            "bytes": sum(a.nbytes for a in m.model.arrays().values()),
            "seconds": self.seconds,
            "examples_per_second": self.figures.examples / self.seconds if self.seconds else None,
        }


class Planned(NamedTuple):
    """Learners, and the rows that all of them take."""

    models: list[Any]  # the same with the steps before them
    learners: list[Any]
    titles: list[str] | None  # where they differ by settings
    notes: list[str]
    grid: list[dict[str, Any]]  # the settings of a sweep
    rows: Replay

    def titled(self, task: str, alike: Mapping[Any, Any]) -> list[str]:
        """Return the titles of the learners; `alike` are the parameters that all were given."""
        found = [short(titled(m), task, {k: v for k, v in alike.items() if k in m.defaults}) for m in self.learners]
        return self.titles or distinct(found)


def planned(
    kind: str, task: str, source: Any, models: Any, y: Any, given: dict[str, Any], takes: Sequence[str], opened_by: Opening
) -> Planned:
    """Return the learners of a study and their rows; `given` are the options that are not of the study, `takes` those that are."""
    if kind == "sweep" and isinstance(made_for(task, models), Pipeline):
        raise TypeError("settings that are swept share their rows: give scale, normalize, hash_bits and roles as options")
    found, titles, notes, grid = chosen(kind, task, models, given)
    check_known(given, task, takes)
    shared = shared_steps(found)
    if any(own_front(m, shared) is not None for m in found):
        raise TypeError(f"learners of {task} are compared on the same rows: expected the same steps before all of them")
    steps = opening(found[0]) if isinstance(found[0], Pipeline) and kind == "evaluate" else opening_of(shared)
    opened, more = opened_by(source, y, {**given, **steps}, found)
    if kind != "evaluate" and (maps := [spelled(step) for step in shared if not isinstance(step, Table)]):
        notes.append(f"All learn after {' > '.join(maps)}.")
    learners = [m.learner if isinstance(m, Pipeline) else m for m in found]
    return Planned(found, learners, titles, [*notes, *more], grid, Replay(opened))


def check_known(given: Mapping[str, Any], task: str, takes: Sequence[str]) -> None:
    """Refuse options that neither this study nor a source has."""
    for name in given:
        try:
            known_options([name])
        except TypeError:
            hint = meant(name, takes)
            raise TypeError(
                f"there is no option {name!r} for {task}. {hint}There are {', '.join(takes)}, and those of a source"
            ) from None


def own_options(given: dict[str, Any], kind: str, takes: Sequence[str], swept: str) -> dict[str, Any]:
    """Take the options of a study from those given; in a sweep, `swept` is a setting of the learner."""
    own = {k: given.pop(k) for k in (*takes, *WATCHED) if k in given and (k != swept or kind != "sweep")}
    if own.get("sort") is not None:
        known_figure(own["sort"])
    return own


def ended(kind: str, plan: Planned, report: Report) -> Report:
    """Return a report with what a sweep varied; a pipeline keeps the steps that have learned."""
    if isinstance(plan.models[0], Pipeline) and kind == "evaluate" and plan.rows.front is not None:
        plan.models[0].adopt(plan.rows.front)
    if kind == "sweep" and plan.titles is not None:
        settings = dict(zip(plan.titles, plan.grid, strict=True))
        for row in report.learners:
            row["setting"] = settings[row["label"]]
        report.data["swept"] = {name: list(dict.fromkeys(s[name] for s in plan.grid)) for name in plan.grid[0]}
    return report


def about(opened: Stream, entry: Kind, task: str, examples: int, features: int, reading: float) -> dict[str, Any]:
    """Return what a report says about the data."""
    return {
        **opened.about(),
        "examples": examples,
        "unit": entry.unit,
        "features": features,
        "skipped": {"count": opened.skipped.count, "first": list(opened.skipped.first)},
        "task": task,
        "seconds_reading": reading,
        "level": compiling.level(),
        "version": __version__,
        "date": datetime.now(UTC).isoformat(" ", "seconds"),
    }


def interrupted(examples: int, entry: Kind, stopped: bool) -> list[str]:
    """Return what to say where someone asked to stop."""
    return [f"Interrupted after {plural(examples, entry.unit)}: all figures are of those."] if stopped else []
