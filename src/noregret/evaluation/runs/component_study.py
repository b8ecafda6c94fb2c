"""Studies of learners of components: one pass over rows, what each leaves of them before it learns them, the best in hindsight."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from time import perf_counter, thread_time
from typing import Any, NamedTuple

import numpy as np

from ...inputs.batch import Batch
from ...streams.stream import Stream, counting, stream
from ...text import plural
from ...training.guessing import with_target
from ..comparator.subspace import BestSubspace
from ..comparator.subspace_regret import Hindsight, Subspace, compared_with, regret_against
from ..kinds import KINDS
from ..measures.portraits import check_shape, portrait, shape_of
from ..measures.residuals import Ground, Residuals
from ..report.report import Report
from .gap import PASSES, gap
from .round_study import left_behind, walked, within
from .splits import Replay
from .unlabelled import Followed, UnlabelledRun, about, ended, interrupted, own_options, planned

TAKES = ("k", "shape", "window", "fading", "regret", "limit", "sort")  # options of such studies
RANKS = ("k", "r_max")  # parameters that say how many components there are
USUAL = 5  # components where nobody says how many


class Taken(NamedTuple):
    """Rows with what is known of them before any learner has met them."""

    batch: Batch
    energy: np.ndarray  # squared distance from the mean so far
    outlier: np.ndarray | None

    @property
    def n(self) -> int:
        """Rows."""
        return self.batch.n


class ComponentRun(UnlabelledRun):
    """A learner of components with what is measured of it."""

    def take(self, taken: Taken) -> None:
        """Learn rows, stopping at the points of the curves."""
        for part in self.followed.cuts(taken.n):
            piece = taken.batch.cut(part.start, part.stop)
            start = thread_time()
            with piece.named_in_errors():
                done = self.learner.learn_rows(piece.data, None, piece.c, self.features(piece))
            self.seconds += thread_time() - start
            note(self.figures, np.concatenate([p.f[:, 0] for p in done]), taken, part)


def note(figures: Residuals, left: np.ndarray, taken: Taken, part: slice) -> None:
    """Take what was left of some rows."""
    figures.take(left, taken.energy[part], None if taken.outlier is None else taken.outlier[part])


# ---- the three studies -------------------------------------------------------------------------------------------------
def study(kind: str, task: str, source: Any, models: Any, y: Any, options: Mapping[str, Any]) -> Report:
    """Let learners of components take the rows of a source once; return the report.

    "evaluate" takes one learner, "compare" several (unless named, those of the task), "sweep" lists for parameters of one.
    """
    given = dict(options)
    own = own_options(given, kind, TAKES, "k")
    own["shape"], k = shape_of(own.get("shape")), own.get("k")
    plan = planned(kind, task, source, models, y, given, TAKES, opened_rows)
    if kind == "compare" and models is None and k is None:
        k = usual_rank(plan.rows.opened)
        plan.notes.append(f"Each has {plural(k, 'component')} (k, -k).")
    for m in plan.learners:
        m.set_params(**({} if k is None else {rank_of(m): k}))
        m.check_settings()
    titles = plan.titled(task, {} if k is None else dict.fromkeys(RANKS, k))
    runs = [ComponentRun(m, title, KINDS[task], plan.rows, followed(own)) for m, title in zip(plan.learners, titles, strict=True)]
    return ended(kind, plan, passed(kind, plan.rows, runs, own, plan.notes))


def opened_rows(source: Any, y: Any, given: Mapping[str, Any], models: Sequence[Any]) -> tuple[Stream, list[str]]:
    """Return a source as a stream; a column of labels is no part of the rows."""
    return with_target(stream(source, y, **given), *models)


def followed(own: Mapping[str, Any]) -> Followed:
    """Return new figures."""
    return Followed(Residuals(own.get("window"), own.get("fading")))


def usual_rank(opened: Stream) -> int:
    """Return how many components learners have where nobody says: fewer than the first rows have features."""
    batch = next(iter(opened.chunks()), None) if opened.reader.replayable else None
    return USUAL if batch is None else min(USUAL, max(1, batch.data.width - opened.unused - 1))


def rank_of(learner: Any) -> str:
    """Return the parameter that says how many components there are."""
    return next(name for name in RANKS if name in learner.defaults)


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
    blind = followed(own)  # no components: all of the energy is left

    def taken(batch: Taken) -> None:
        for part in blind.cuts(batch.n):
            note(blind.figures, batch.energy[part], batch, part)

    each = (lambda X: None) if regret is False else hindsight.add
    source = prepared(rows, ground, own.get("limit"), own["shape"], each)
    examples, reading, stopped = walked(kind, source, opened, runs, own, taken)
    done = [run for run in runs if run.failed is None]
    for run in done:
        run.finish()
    results = [run.result(run.figures.metrics(ground.marked)) for run in done]
    blind.end()
    trivial = [blind.result("mean so far", blind.figures.metrics(ground.marked), entry.curves)]
    notes = [left_behind(run) for run in runs if run.failed is not None] + notes
    if regret is not False and not stopped:
        notes += add_regret(rows, done, results, hindsight, own.get("limit"))
    kept, labels = ground.shown()
    for run, result in zip(done, results, strict=True):
        result["components"] = portrait(run.learner, opened.front, kept, labels, own["shape"], opened.unused)
    notes += judged_words(ground)
    notes += interrupted(examples, entry, stopped)
    data = about(
        opened, entry, str(done[0].learner.task), examples, len(ground.sum) - opened.unused, max(reading - ground.seconds, 0.0)
    )
    data |= {"baselines": trivial, "warnings": warnings(results, trivial[0])}
    return Report(kind, data, results, None, notes, own.get("sort") or entry.decides)


# ---- regret --------------------------------------------------------------------------------------------------------------
def add_regret(
    rows: Replay, runs: Sequence[ComponentRun], results: Sequence[dict[str, Any]], hindsight: Hindsight, limit: int | None
) -> list[str]:
    """Put the regret of every learner into its result; return notes about those that have none."""
    again = rows.held or rows.reader.replayable
    notes = add_gaps(rows, runs, results, hindsight.asked, limit) if again else []
    wants = {run.label: compared_with(run.learner) for run in runs}
    left_out = [run.label for run, result in zip(runs, results, strict=True) if "gap" not in result]
    notes += [f"Regret of {label} was left out: {why}." for label in left_out if isinstance(why := wants[label], str)]
    subspaces = {want for want in wants.values() if isinstance(want, Subspace)}
    if hindsight.why:
        return [f"Regret was left out: {hindsight.why}.", *notes] if subspaces else notes
    best = hindsight.best(subspaces)
    at = [p["examples"] for p in runs[0].followed.points]
    ideal = along_points(rows, best, at, limit) if again else {want: [found.loss] for want, found in best.items()}
    for run, result in zip(runs, results, strict=True):
        if isinstance(want := wants[run.label], Subspace):
            result["regret"] = regret_against(
                run.learner, want, run.followed.points if again else run.followed.points[-1:], ideal[want]
            )
            result["regret"]["told"] = result["regret"]["told"].format(label=run.label)
            result["metrics"]["angle"] = angle_to(best[want], run.learner)
    return notes


def add_gaps(
    rows: Replay, runs: Sequence[ComponentRun], results: Sequence[dict[str, Any]], asked: bool, limit: int | None
) -> list[str]:
    """Put the gap of every learner that has no best model in hindsight into its result; return what is to be said of them."""
    notes = []
    for run, result in zip(runs, results, strict=True):
        if run.learner.overcomplete:
            found = gap(run.learner, rows, run.figures.left, limit, asked)
            if isinstance(found, str):
                notes.append(f"The gap of {run.label} to itself after {PASSES} passes was left out: {found}.")
            else:
                notes.append(found.pop("told").format(label=run.label))
                result["gap"], result["metrics"]["gap"] = found, found["average"]
    return notes


def angle_to(best: BestSubspace, learner: Any) -> float | None:
    """Return the largest angle between the subspace of a learner and the best, in degrees; None where it has fewer directions."""
    V = learner.components_
    if len(V) < len(best.components) or not len(V):
        return None
    Q = np.linalg.qr(np.pad(V, ((0, 0), (0, len(best.mean) - V.shape[1]))).T)[0]
    return float(np.degrees(best.angle(Q.T)))


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
