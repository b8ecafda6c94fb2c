"""Studies of learners of components: one pass over rows, what each leaves of them before it learns them, the best in hindsight."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from datetime import UTC, datetime
from time import perf_counter, thread_time
from typing import Any, NamedTuple

import numpy as np

from ...engine import compiling
from ...inputs.batch import Batch
from ...inputs.features import Features
from ...spelling import distinct, spelled, titled
from ...streams.stream import Stream, counting, known_options, stream
from ...text import meant, plural
from ...training.by_task import made_for
from ...training.guessing import with_target
from ...training.opening import opening, opening_of
from ...transforms.pipeline import Pipeline
from ...transforms.table import Table
from ...version import __version__
from ..comparator.subspace import BestSubspace
from ..comparator.subspace_regret import Hindsight, Subspace, compared_with, regret_against
from ..kinds import KINDS, Kind
from ..measures.portraits import check_shape, portrait, shape_of
from ..measures.residuals import Ground, Residuals
from ..report.report import Report
from ..report.summary import known_figure
from .along import Along
from .round_study import chosen, left_behind, short, walked, within
from .sharing import own_front, shared_steps
from .splits import Replay

TAKES = ("k", "shape", "window", "fading", "regret", "limit", "sort")  # options of such studies
USUAL = 5  # components where nobody says how many
WATCHED = ("watch", "stop", "regret_watch", "regret_rows")


class Taken(NamedTuple):
    """Rows with what is known of them before any learner has met them."""

    batch: Batch
    energy: np.ndarray  # squared distance from the mean so far
    outlier: np.ndarray | None

    @property
    def n(self) -> int:
        """Rows."""
        return self.batch.n


class Followed(Along):
    """What was left of rows along a stream, with the points of its curves."""

    def __init__(self, own: Mapping[str, Any]) -> None:
        super().__init__(Residuals(own.get("window"), own.get("fading")))

    def note(self, left: np.ndarray, taken: Taken, part: slice) -> None:
        """Take what was left of some rows."""
        self.figures.take(left, taken.energy[part], None if taken.outlier is None else taken.outlier[part])

    def result(self, label: str, marked: bool, curves: Sequence[str]) -> dict[str, Any]:
        """Return what a report says of it."""
        found = {"label": label, "examples": self.figures.examples, "metrics": self.figures.metrics(marked)}
        return {**found, "curve": self.curve(curves)}


class ComponentRun:
    """A learner with what is measured of it."""

    def __init__(self, learner: Any, label: str, kind: Kind, opened: Stream, own: Mapping[str, Any]) -> None:
        self.learner, self.label, self.kind, self.opened = learner, label, kind, opened
        self.followed = Followed(own)
        self.seconds = 0.0
        self.failed: Exception | None = None

    @property
    def figures(self) -> Residuals:
        """The figures so far."""
        found: Residuals = self.followed.figures
        return found

    def features(self, batch: Batch) -> Features | None:
        """Return the features of a model that begins with these rows."""
        return None if self.learner.started else self.opened.features(batch.data, False)

    def warm(self, taken: Taken) -> None:
        """Let a clone take a row, so that what is compiled is ready."""
        row = taken.batch.cut(0, 1)
        self.learner.clone().learn_rows(row.data, None, row.c, self.features(row))

    def take(self, taken: Taken) -> None:
        """Learn rows, stopping at the points of the curves."""
        for part in self.followed.cuts(taken.n):
            piece = taken.batch.cut(part.start, part.stop)
            start = thread_time()
            with piece.named_in_errors():
                done = self.learner.learn_rows(piece.data, None, piece.c, self.features(piece))
            self.seconds += thread_time() - start
            self.followed.note(np.concatenate([p.f[:, 0] for p in done]), taken, part)

    def finish(self) -> None:
        """Learn what waits for a batch, and note the last point."""
        self.learner.finish()
        self.followed.end()

    def result(self, marked: bool) -> dict[str, Any]:
        """Return the object of this learner in a report."""
        m = self.learner
        return {
            "model": m.name,
            "params": {k: v for k, v in m.get_params().items() if not isinstance(v, np.ndarray)},
            **self.followed.result(self.label, marked, self.kind.curves),
            "bytes": sum(a.nbytes for a in m.model.arrays().values()),
            "seconds": self.seconds,
            "examples_per_second": self.figures.examples / self.seconds if self.seconds else None,
        }


# ---- the three studies -------------------------------------------------------------------------------------------------
def study(kind: str, task: str, source: Any, models: Any, y: Any, options: Mapping[str, Any]) -> Report:
    """Let learners of components take the rows of a source once; return the report.

    "evaluate" takes one learner, "compare" several (unless named, those of the task), "sweep" lists for parameters of one.
    """
    given = dict(options)
    own = {k: given.pop(k) for k in (*TAKES, *WATCHED) if k in given and (k != "k" or kind != "sweep")}
    own["shape"], k = shape_of(own.get("shape")), own.get("k")
    if kind == "sweep" and isinstance(made_for(task, models), Pipeline):
        raise TypeError("settings that are swept share their rows: give scale, normalize, hash_bits and roles as options")
    found, titles, notes, grid = chosen(kind, task, models, given)
    check_known(given)
    if own.get("sort") is not None:
        known_figure(own["sort"])
    shared = shared_steps(found)
    if any(own_front(m, shared) is not None for m in found):
        raise TypeError("learners of components are compared on the same rows: expected the same steps before all of them")
    learners = [m.learner if isinstance(m, Pipeline) else m for m in found]
    steps = opening(found[0]) if isinstance(found[0], Pipeline) and kind == "evaluate" else opening_of(shared)
    opened, more = with_target(stream(source, y, **{**given, **steps}), *found)
    if kind == "compare" and models is None and k is None:
        k = usual_rank(opened)
        notes.append(f"Each has {plural(k, 'component')} (k, -k).")
    for m in learners:
        m.set_params(**({} if k is None else {rank_of(m): k}))
        m.check_settings()
    if kind != "evaluate" and (maps := [spelled(step) for step in shared if not isinstance(step, Table)]):
        notes.append(f"All learn after {' > '.join(maps)}.")
    titles = titles or distinct([short(titled(m), task, {} if k is None else {rank_of(m): k}) for m in learners])
    rows = Replay(opened)
    runs = [ComponentRun(m, title, KINDS[task], rows, own) for m, title in zip(learners, titles, strict=True)]
    report = passed(kind, rows, runs, own, [*notes, *more])
    if isinstance(found[0], Pipeline) and kind == "evaluate" and rows.front is not None:
        found[0].adopt(rows.front)
    if kind == "sweep":
        settings = dict(zip(titles, grid, strict=True))
        for row in report.learners:
            row["setting"] = settings[row["label"]]
        report.data["swept"] = {name: list(dict.fromkeys(s[name] for s in grid)) for name in grid[0]}
    return report


def check_known(given: Mapping[str, Any]) -> None:
    """Refuse options that neither this study nor a source has."""
    for name in given:
        try:
            known_options([name])
        except TypeError:
            hint = meant(name, TAKES)
            raise TypeError(
                f"there is no option {name!r} for components. {hint}There are {', '.join(TAKES)}, and those of a source"
            ) from None


def usual_rank(opened: Stream) -> int:
    """Return how many components learners have where nobody says: fewer than the first rows have features."""
    batch = next(iter(opened.chunks()), None) if opened.reader.replayable else None
    return USUAL if batch is None else min(USUAL, max(1, batch.data.width - opened.unused - 1))


def rank_of(learner: Any) -> str:
    """Return the parameter that says how many components there are."""
    return next(name for name in ("k", "r_max") if name in learner.defaults)


def prepared(
    rows: Stream, ground: Ground, limit: int | None, shape: Any, each: Callable[[np.ndarray], None]
) -> Generator[Taken, None, None]:
    """Yield the rows that count, with what is known of them before; `each` is called with them as arrays."""
    done = 0
    for batch in map(counting, within(rows, limit)):
        if batch.n == 0:
            continue
        check_shape(shape, max(batch.data.width, 1) - rows.unused)
        start = perf_counter()
        energy = ground.take(batch.data, each)
        ground.keep(batch.data, batch.y, done)
        done += batch.n
        ground.seconds += perf_counter() - start
        yield Taken(batch, energy, ground.judge(batch.y))


def passed(kind: str, rows: Replay, runs: Sequence[ComponentRun], own: Mapping[str, Any], notes: list[str]) -> Report:
    """Take the stream once; return the report."""
    entry, opened, regret = runs[0].kind, rows.opened, own.get("regret")
    ground, hindsight = Ground(), Hindsight(bool(regret))
    blind = Followed(own)  # no components: all of the energy is left

    def taken(batch: Taken) -> None:
        for part in blind.cuts(batch.n):
            blind.note(batch.energy[part], batch, part)

    each = (lambda X: None) if regret is False else hindsight.add
    source = prepared(rows, ground, own.get("limit"), own["shape"], each)
    examples, reading, stopped = walked(kind, source, opened, runs, own, taken)
    done = [run for run in runs if run.failed is None]
    for run in done:
        run.finish()
    results = [run.result(ground.marked) for run in done]
    blind.end()
    trivial = [blind.result("mean so far", ground.marked, entry.curves)]
    notes = [left_behind(run) for run in runs if run.failed is not None] + notes
    if regret is not False and not stopped:
        notes += add_regret(rows, done, results, hindsight, own.get("limit"))
    kept, labels = ground.shown()
    for run, result in zip(done, results, strict=True):
        result["components"] = portrait(run.learner, opened.front, kept, labels, own["shape"], opened.unused)
    notes += judged_words(ground)
    notes += [f"Interrupted after {plural(examples, entry.unit)}: all figures are of those."] if stopped else []
    data = {
        **opened.about(),
        "examples": examples,
        "unit": entry.unit,
        "features": len(ground.sum) - opened.unused,
        "skipped": {"count": opened.skipped.count, "first": list(opened.skipped.first)},
        "baselines": trivial,
        "task": str(done[0].learner.task),
        "seconds_reading": max(reading - ground.seconds, 0.0),
        "level": compiling.level(),
        "version": __version__,
        "date": datetime.now(UTC).isoformat(" ", "seconds"),
        "warnings": warnings(results, trivial[0]),
    }
    return Report(kind, data, results, None, notes, own.get("sort") or entry.decides)


# ---- regret --------------------------------------------------------------------------------------------------------------
def add_regret(
    rows: Replay, runs: Sequence[ComponentRun], results: Sequence[dict[str, Any]], hindsight: Hindsight, limit: int | None
) -> list[str]:
    """Put the regret of every learner into its result; return notes about those that have none."""
    wants = {run.label: compared_with(run.learner) for run in runs}
    notes = [f"Regret of {label} was left out: {why}." for label, why in wants.items() if isinstance(why, str)]
    subspaces = {want for want in wants.values() if isinstance(want, Subspace)}
    if hindsight.why:
        return [f"Regret was left out: {hindsight.why}.", *notes] if subspaces else notes
    best = hindsight.best(subspaces)
    again = rows.held or rows.reader.replayable
    at = [p["examples"] for p in runs[0].followed.points]
    ideal = along_points(rows, best, at, limit) if again else {want: [found.loss] for want, found in best.items()}
    for run, result in zip(runs, results, strict=True):
        if isinstance(want := wants[run.label], Subspace):
            result["regret"] = regret_against(
                run.learner, want, run.followed.points if again else run.followed.points[-1:], ideal[want]
            )
            result["regret"]["told"] = result["regret"]["told"].format(label=run.label)
    return notes


def along_points(
    rows: Stream, best: Mapping[Subspace, BestSubspace], at: Sequence[int], limit: int | None
) -> dict[Subspace, list[float]]:
    """Return what each subspace leaves of the rows up to each point, by another pass."""
    edges, done = np.asarray(at), 0
    sums = {want: np.zeros(len(at)) for want in best}

    def each(X: np.ndarray) -> None:
        nonlocal done
        place = np.searchsorted(edges, np.arange(done + 1, done + len(X) + 1))
        done += len(X)
        for want, found in best.items():
            np.add.at(sums[want], place, found.residuals(X))

    for _ in prepared(rows, Ground(), limit, None, each):
        pass
    return {want: np.cumsum(found).tolist() for want, found in sums.items()}


# ---- what must be said -----------------------------------------------------------------------------------------------------
def judged_words(ground: Ground) -> list[str]:
    """Return what was made of labels."""
    if not ground.marked:
        return []
    return ["AUC is the chance that an outlier (label 0 or -1) leaves more than a normal row (label 1); labels are not learned."]


def warnings(results: Sequence[dict[str, Any]], blind: Mapping[str, Any]) -> list[str]:
    """Return what must be said of learners that left more than there was about the mean."""
    worse = [row["label"] for row in results if row["metrics"]["residual"] > blind["metrics"]["residual"]]
    if not worse:
        return []
    return [
        f"Worse than the mean alone, without components: {', '.join(worse)}. More rows, fewer components or another method help."
    ]
