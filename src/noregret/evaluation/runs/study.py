"""Studies: one learner, several, or a grid of settings of one, in one pass over a stream."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

from ...engine import compiling
from ...inputs.checking import Rows
from ...inputs.labels import Labels, codes_of
from ...learners.base import Base
from ...learners.learner import Learner
from ...spelling import distinct, made, spelled, titled
from ...streams.stream import Stream, known_options, stream
from ...text import plural
from ...training.by_task import BY_TASK, first_learner, implied, made_for, suited, task_named, task_of
from ...training.guessing import with_target
from ...training.opening import opening, opening_of, with_task
from ...training.pairing import opened_pairs
from ...transforms.pipeline import Pipeline
from ...transforms.scale import Scale
from ...transforms.table import Table
from ...version import __version__
from ..comparator.regret import Unmeasurable, hindsight, regret_of, want_of
from ..comparator.solver import NORMS
from ..kinds import KINDS
from ..report.report import Report
from ..report.summary import known_figure
from . import component_study, round_study, splits, topic_study
from .cautions import identifiers, unlearned, warnings
from .passes import Pass, Watch, between_points, run_pass
from .run import Run, Settings, assured, draw_alike, whole
from .sharing import check_scales, own_front, shared_steps

OWN = "it is against the best linear model of the features that all share"  # why maps of rows have none
SOON = 50_000_000  # numbers (times classes) up to which regret is found without being asked for
WATCHED = (
    "window", "fading", "drift", "on_drift", "delay", "ask", "ask_b", "ask_kappa", "features", "probabilities", "coverage", "top",
)  # fmt: skip
STUDIED = (
    "holdout", "regret", "regret_radius", "regret_norm", "regret_tolerance", "permutations", "seed", "limit", "sort", "folds",
    "validation", "watch", "regret_watch", "regret_rows", "stop",
)  # fmt: skip


STUDIES: dict[str, Callable[..., Report]] = {
    "portfolio": round_study.study, "experts": round_study.study, "components": component_study.study,
    "topics": topic_study.study,
}  # fmt: skip  # of tasks that are not measured by answers to rows


def apart(task: str | None, models: Any, source: Any, options: Mapping[str, Any]) -> str | None:
    """Return the task, if it has a study of its own: the one that is named, that of the learners, or that of the format."""
    first = models[0] if isinstance(models, (list, tuple)) and models else models
    if task is None and isinstance(first, (str, Base, Pipeline)):
        found = made_for(None, first)
        task = str((found.learner if isinstance(found, Pipeline) else found).task)
    elif task is None and first is None:
        task = implied(source, options)
    return task if task in STUDIES else None


# ---- the three studies -----------------------------------------------------------------------------------------------
def evaluate(source: Any, model: Any = None, y: Any = None, **options: Any) -> Report:
    """Let one learner answer and then learn each example, in one pass; return the report.

    The learner itself learns: afterwards it can be saved. None takes Auto for labels, AutoRegressor for numbers, and without
    labels NORMANovelty on random bins of scaled columns. Options: see `compare`, and `stream` for those of the source.

    >>> import noregret as nr
    >>> m = nr.PA1(C=0.1)
    >>> report = nr.evaluate("synthetic:linear?n=2000&d=10&seed=1", m)
    >>> report.learners[0]["examples"], m.n_seen_
    (2000, 2000)
    """
    task = task_named(options)
    if (own := apart(task, model, source, options)) is not None:
        return STUDIES[own]("evaluate", own, source, model, y, options)
    chosen = None if model is None else made_for(task, model)
    task = own_task(chosen) if task is None else task
    plan = Plan(options, task)
    if isinstance(chosen, Pipeline) and not plan.pair:
        plan.source |= opening(chosen)
    plan.source = with_task(plan.source, [chosen])
    opened = plan.open(source, y, [chosen])
    if chosen is None:
        chosen, opened, more = first_learner(opened, task)
        plan.notes += more
    learner, maps = (chosen.learner, chosen.front.maps) if isinstance(chosen, Pipeline) else (chosen, ())
    run = Run(learner, titled(learner, maps).removeprefix(plan.room), plan.settings)
    if isinstance(chosen, Pipeline):
        run.noted = chosen.noted
        if opened.front is not None:
            chosen.adopt(opened.front)
    report = plan.study("evaluate", opened, [run])
    if opened.front is not None:
        report.learners[0]["bytes"] += opened.front.nbytes  # maps are part of this one model
    if isinstance(chosen, Pipeline) and opened.front is not None:
        chosen.adopt(opened.front)
    return report


def compare(source: Any, models: Iterable[Any] | None = None, y: Any = None, **options: Any) -> Report:
    """Let several learners take the same stream, read once; return the report, with the best first.

    `models` are names, names with settings ("pa1:C=0.1"), or learners (clones of which learn); by default a dozen for the task.
    They may be pipelines, also as text: "random_fourier(200, rbf(0.1))>pa1". The steps with which all of them begin are done once;
    after these each may have its own maps (Normalize, RandomFourier, RandomBinning, Nystroem, Scale), whose time and bytes
    count as its own. Regret is against the best linear model of the features that all share, for learners without such maps.

    Options: `window` (rows of a sliding window), `fading` (factor of faded averages), `delay` (how many rows labels come later, or
    so much later by the `time` column), `drift` ("adwin", "ddm", "eddm", "page_hinkley"), `on_drift` ("none", "reset",
    "reset-rate"), `ask` (learn only from labels that are asked for, by the rule "margin", "second_order" or "confidence" of
    SelectiveSampler, with its `ask_b` and `ask_kappa`), `features` (how many of those in use to name, since when, and in how
    many of the orders), `holdout` (another source, answered at the end without learning), `regret` (True, False, or None: when
    that is quick), `regret_norm` ("l2" or "l1"), `regret_radius` and `regret_tolerance` of the comparator, `permutations` and
    `seed`, `limit` (rows), `probabilities` (measure those of classes, which each learner then learns: log loss, Brier score,
    calibration error, a reliability diagram), `coverage` (a level such as 0.9: measure intervals, or sets of labels, that hold the
    truth as often), `sort` (the figure that decides), `stop` (asked again and again; when it returns
    True, the report is of the rows so far). All others are options of `stream`.

    `task` names the kind of problem where neither the learners nor the rows tell it. "portfolio" and "experts" take tables of
    rounds, a row each, with `time` and `ignore`; the first with `prices`, `missing`, `cost`, `entry` and `days`, the second with
    `target`, `rule` and `loss`, and of the options above both have `limit`, `regret`, `sort` and `stop`.

    >>> import noregret as nr
    >>> report = nr.compare("synthetic:linear?n=2000&d=10&seed=1", ["perceptron", "pa1:C=0.1"])
    >>> len(report.learners), report.winner
    (2, 'pa1 C=0.1')
    """
    named = task_named(options)
    models = list(models) if models is not None and not isinstance(models, (str, Base, Pipeline)) else models
    if (own := apart(named, models, source, options)) is not None:
        return STUDIES[own]("compare", own, source, models, y, options)
    plan = Plan(options, named)
    given = [made_for(named, m) for m in ([models] if isinstance(models, (str, Base, Pipeline)) else models or [])]
    shared = shared_steps(given)
    fronts = [own_front(m, shared) for m in given]
    if maps := [spelled(step) for step in shared if not isinstance(step, Table)]:
        plan.notes.append(f"{'All learn' if len(given) > 1 else 'It learns'} after {' > '.join(maps)}.")
    plan.source |= opening_of(shared)
    plan.source = with_task(plan.source, given)
    opened = plan.open(source, y, [None] if models is None else given)
    if models is None:
        task, more = (named, []) if named is not None else task_of(opened)
        plan.notes += more
        given = [made(m) for m in KINDS[task].dozen]
        fronts = [None] * len(given)
        if not given:
            raise ValueError(
                f"{opened.name} has no labels, which decide between learners: give them (y, --target), or name the learners"
            )
    if not given:
        raise ValueError("there are no learners to compare")
    learners = [(m.learner if isinstance(m, Pipeline) else m).clone() for m in given]
    one_task(learners)
    check_scales(opened, fronts)
    full = [titled(m, () if f is None else f.maps) for m, f in zip(learners, fronts, strict=True)]
    titles = distinct([title.removeprefix(plan.room) for title in full])
    runs = [Run(m, title, plan.settings, front) for m, title, front in zip(learners, titles, fronts, strict=True)]
    return plan.study("compare", opened, runs)


def sweep(source: Any, model: Any, y: Any = None, **options: Any) -> Report:
    """Let a grid of settings of one learner take the stream in one pass; return the report, with the best first.

    A parameter of the learner given as a list is swept, one value is set. Besides the options of `compare`: `folds` (blocks of
    consecutive rows, each answered by a learner of the others) and `validation` (the last share of the rows, not learned from)
    choose by those.

    >>> import noregret as nr
    >>> report = nr.sweep("synthetic:linear?n=2000&d=10&seed=1", "pa1", C=[0.01, 0.1, 1.0])
    >>> [m["params"]["C"] for m in report.learners]
    [0.01, 0.1, 1.0]
    """
    task = task_named(options)
    if (own := apart(task, model, source, options)) is not None:
        return STUDIES[own]("sweep", own, source, model, y, options)
    base = bare(made_for(task, model))
    grid = {k: listed(options.pop(k)) for k in list(options) if k in base.defaults and k != "hash_bits"}
    if not any(len(v) > 1 for v in grid.values()):
        raise ValueError(f"a sweep needs a list of values for at least one parameter of {base.name}: {', '.join(base.defaults)}")
    settings = [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]
    learners = [base.clone().set_params(**s) for s in settings]
    plan = Plan(with_task(options, learners), task)
    swept = [k for k, v in grid.items() if len(v) > 1]
    titles = [" ".join([base.name.removeprefix(plan.room), *(f"{k}={s[k]}" for k in swept)]) for s in settings]
    opened = plan.open(source, y, learners)
    runs = [Run(m, title, plan.settings) for m, title in zip(learners, titles, strict=True)]
    report = plan.study("sweep", opened, runs)
    by_title = dict(zip(titles, settings, strict=True))
    for found in report.learners:
        found["setting"] = {k: by_title[found["label"]][k] for k in swept}
    report.data["swept"] = {k: grid[k] for k in swept}
    report.data["passes"] = saved_passes(report)
    return report


def saved_passes(report: Report) -> dict[str, float]:
    """Return the seconds of one pass for all, of a pass for each, and their ratio."""
    reading, learning = report.data["seconds_reading"], [m["seconds"] for m in report.learners]
    together, apart = reading + sum(learning), reading * len(learning) + sum(learning)
    return {"together": together, "apart": apart, "ratio": apart / together if together else 1.0}


def listed(value: Any) -> list[Any]:
    """Return the values of one parameter of a grid."""
    return list(value) if isinstance(value, (list, tuple, range, np.ndarray)) else [value]


def own_task(model: Any) -> str | None:
    """Return the task of a model that brings its own way to read a source."""
    return str(model.task) if isinstance(model, Pipeline) and BY_TASK[model.task].pair else None


def bare(model: Learner | Pipeline) -> Learner:
    """Return the learner; features of several learners are made once, from the options of the source."""
    if isinstance(model, Pipeline):
        raise TypeError("learners that are compared share their features: give scale, hash_bits and roles as options")
    return model


def one_task(learners: Sequence[Learner]) -> None:
    """Refuse learners of different tasks."""
    tasks = {m.task for m in learners}
    if len(tasks) > 1:
        raise ValueError(f"these learners cannot be compared on one stream, they are for {' and '.join(sorted(tasks))}")


# ---- how a study is done ---------------------------------------------------------------------------------------------
class Plan:
    """The options of a study, those of the source apart."""

    def __init__(self, options: Mapping[str, Any], task: str | None = None) -> None:
        known_options(options, (*WATCHED, *STUDIED))
        given = dict(options)
        watched = {k: given.pop(k) for k in WATCHED if k in given}
        self.pair, self.room = ((), "") if task is None else (BY_TASK[task].pair, BY_TASK[task].room)
        self.settings = Settings(**{k: v for k, v in watched.items() if v is not None}, task=task if self.pair else None)
        self.holdout = given.pop("holdout", None)
        self.regret = given.pop("regret", None)
        self.radius = given.pop("regret_radius", None)
        self.norm = given.pop("regret_norm", None) or "l2"
        self.tolerance = given.pop("regret_tolerance", 1e-3)
        self.permutations = given.pop("permutations", None)
        self.seed = given.pop("seed", 0)
        self.limit: int | None = given.pop("limit", None)
        self.rows: int | None = None  # of the source, where some are kept for validation
        self.sort = given.pop("sort", None)
        self.folds = given.pop("folds", None)
        self.validation = given.pop("validation", None)
        self.watch: Watch | None = given.pop("watch", None)
        self.regret_watch: Callable[[int, float, float, float], None] | None = given.pop("regret_watch", None)
        self.regret_rows: Callable[[int, int], None] | None = given.pop("regret_rows", None)  # of a pass: done, and all
        self.stop: Callable[[], bool] = given.pop("stop", None) or (lambda: False)
        self.source = given
        self.notes: list[str] = []
        self.cautions: list[str] = []  # about rows that are answered only
        self._refuse()

    def _refuse(self) -> None:
        """Refuse, before the work begins, what does not go together or cannot be done at its end."""
        if self.sort is not None:
            known_figure(self.sort)
        whole("limit", self.limit, 1)
        if self.norm not in NORMS:
            raise ValueError(f"regret_norm must be one of {', '.join(NORMS)}, got {self.norm!r}")
        if self.permutations is None:
            return
        if not self.permutations >= 2:
            raise ValueError(f"permutations must be at least 2, got {self.permutations!r}")
        for name, given in (("regret", self.regret), ("folds", self.folds), ("validation", self.validation)):
            if given:
                raise ValueError(f"{name} is found in the order of the rows: it does not go with permutations")
        if self.settings.delay and self.source.get("time") is not None:
            raise ValueError("rows in other orders have no times: a delay by the time column does not go with permutations")

    def open(self, source: Any, y: Any, models: Sequence[Any]) -> Stream:
        """Return the source as a stream, with labels if the models need them."""
        if self.pair:
            opened, notes = opened_pairs(source, y, self.source, models[0], self.pair)
        else:
            opened, notes = with_target(stream(source, y, **self.source), *models)
        self.notes += notes
        return opened

    def study(self, kind: str, opened: Stream, runs: list[Run]) -> Report:
        """Do it."""
        wanted = self.settings.probabilities or self.sort in runs[0].kind.probable
        with assured(runs, wanted, self.settings.coverage):
            return self._study(kind, opened, runs)

    def _study(self, kind: str, opened: Stream, runs: list[Run]) -> Report:
        draw_alike(runs)
        other = self.open_holdout(opened)
        if self.settings.on_drift == "reset-rate":
            check_schedules(runs)
        if self.permutations is not None:
            how: dict[str, Any] = {"limit": self.limit, "watch": self.watch, "stop": self.stop}
            results, found = splits.permuted(opened, runs, self.permutations, self.seed, **how)
        else:
            results, found = self.once(kind, opened, runs)
        if not found.stopped:
            self.extra(opened, runs, results, other, found)
        done = [(run, result) for run, result in zip(runs, results, strict=True) if run.failed is None]
        notes = [left_behind(run) for run in runs if run.failed is not None]
        notes += found.notes + self.notes
        for run, result in done:
            result["skipped"] = opened.skipped.count
            result["regret"] = None if self.regret is False else result["regret"]
            if run.selection is not None:
                front, unused = (run.front, 0) if run.apart else (opened.front, opened.unused)
                result["features"] = run.selection.result(run.learner, front, unused)
        data = about(opened, found, next((run for run, _ in done if not run.apart), done[0][0]))
        data |= {} if self.permutations is None else {"seed": self.seed}
        decides = "folds" if self.folds else "validation" if self.validation else runs[0].kind.decides
        report = Report(kind, data, [r for _, r in done], None, notes, self.sort or decides)
        if not runs[0].kind.judged:  # one that never learns from labels need not answer as they do
            scaled = opened.front is not None and any(isinstance(m, Scale) for m in opened.front.maps)
            best = report.winner or report.labels[0]
            found_out = warnings(report.learners, report.data["baselines"], found.baselines.order(), best, scaled)
            naming = identifiers(opened.front.table if opened.front is not None else None, found.examples)
            report.data["warnings"] = found_out + naming + self.cautions
        elif self.cautions:
            report.data["warnings"] = self.cautions
        return report

    def once(self, kind: str, opened: Stream, runs: list[Run]) -> tuple[list[dict[str, Any]], Pass]:
        """Take the stream once, in its own order."""
        limit = self.limit
        if self.validation is not None:
            opened.labelled = True  # the last rows, too: a row without its target is a bad one in every pass
            limit, self.rows = splits.training_part(opened, self.validation, limit)
        alone = runs[0].kind.alone
        plain = [run for run in runs if run.front is None]
        replay = None if self.regret is False or not opened.reader.replayable or alone or not plain else splits.Replay(opened)
        found = run_pass(replay or opened, runs, limit=limit, strict=kind == "evaluate", watch=self.watch, stop=self.stop)
        results = [run.result() if run.failed is None else {} for run in runs]
        if found.stopped:
            counted = plural(found.examples, runs[0].kind.unit)
            found.notes.append(f"Interrupted after {counted}: all figures are of those.")
        elif self.regret and replay is None:
            why = alone or (OWN if opened.reader.replayable else "standard input is read only once")
            found.notes.append(f"Regret was left out: {why}.")
        elif replay is not None and (self.regret or quick(replay, runs)):
            try:
                self.find_regret(replay, runs, results, limit)
                if len(plain) < len(runs):
                    found.notes.append(f"Regret was left out for learners with maps of their own: {OWN}.")
            except Stopped:
                found.notes.append("Regret was left out: its search was interrupted.")
            except Unmeasurable as e:
                found.notes.append(f"Regret was left out: {e}.")
        elif replay is not None:
            found.notes.append(
                "Regret was left out: it takes several long passes over this many rows. Ask for it (regret=True, --regret)."
            )
        return results, found

    def find_regret(self, replay: Stream, runs: list[Run], results: list[dict[str, Any]], limit: int | None) -> None:
        """Find the regret, as long as nobody asks to stop."""

        def watch(passes: int, upper: float, lower: float) -> None:
            if self.stop():
                raise Stopped
            if self.regret_watch is not None:
                self.regret_watch(passes, upper, lower, self.tolerance)

        def watch_rows(done: int, of: int) -> None:
            if self.stop():
                raise Stopped
            if self.regret_rows is not None:
                self.regret_rows(done, of)

        how: dict[str, Any] = {"radius": self.radius, "norm": self.norm, "tolerance": self.tolerance}
        add_regret(replay, runs, results, **how, limit=limit, watch=watch, watch_rows=watch_rows)

    def open_holdout(self, opened: Stream) -> Stream | None:
        """Return the rows that are answered at the end; refuse a source of them that cannot be read, before the work begins."""
        if self.holdout is None:
            return None
        other = (
            opened_pairs(self.holdout, None, self.source, None, self.pair)[0] if self.pair else stream(self.holdout, **self.source)
        )
        other.labelled = True
        if other.reader.tabular != opened.reader.tabular:
            kinds = [f"{s.name} has {'named columns' if s.reader.tabular else 'numbered features'}" for s in (opened, other)]
            raise ValueError(f"the rows of holdout must be like those of the source: {', and '.join(kinds)}")
        reader = copy.copy(other.reader)
        if reader.replayable and next(iter(reader.batches()), None) is None:
            raise ValueError(f"{other.name} has no rows to answer: name another source for holdout=...")
        return other

    def extra(self, opened: Stream, runs: list[Run], results: list[dict[str, Any]], other: Stream | None, found: Pass) -> None:
        """Add what is found on rows that are not learned from."""
        going = [(run, result) for run, result in zip(runs, results, strict=True) if run.failed is None]
        answering = [run for run, _ in going]

        def put(name: str, learned: list[dict[str, Any]], blind: list[dict[str, Any]]) -> None:
            for (_, result), figures in zip(going, learned, strict=True):
                result[name] = figures
            for row, figures in zip(found.trivial, blind, strict=False):  # without labels there are none
                row[name] = figures

        if other is not None:
            try:
                learned, blind = splits.scored(answering, found.baselines, other, opened.front)
            except (ValueError, TypeError) as e:
                if other.name in str(e):
                    raise
                raise ValueError(f"{other.name}: {e}") from e
            put("holdout", [{**figures, "skipped": other.skipped.count} for figures in learned], blind)
            self.cautions += unlearned(f"the hold-out {other.name}", learned[0], other.skipped)
        if self.validation is not None:
            span = {"skip": going[0][1]["examples"], "last": self.rows}
            learned, blind = splits.scored(answering, found.baselines, opened, opened.front, **span)
            put("validation", learned, blind)
            self.cautions += unlearned("the rows kept for validation", learned[0])
        if self.folds is not None:
            put("folds", *splits.fold(opened, answering, self.folds, self.limit))


class Stopped(Exception):
    """Someone asked for an end of the search for the best fixed models."""


def check_schedules(runs: Sequence[Run]) -> None:
    """Refuse to restart the step sizes of learners whose step sizes do not change."""
    if without := [run.label for run in runs if not run.learner.has_schedule]:
        raise ValueError(
            f"on_drift='reset-rate' does nothing for {', '.join(without)}: no step sizes change with the rounds there. "
            "Use on_drift='reset', or a learner such as ogd, fobos or alma"
        )


def left_behind(run: Run) -> str:
    """Return why a learner is not in the report."""
    when = f" after {plural(run.examples, run.kind.unit)}" if run.examples else ""
    return f"{run.label} could not take this stream{when}: {str(run.failed) or type(run.failed).__name__}"


def quick(replay: splits.Replay, runs: Sequence[Run]) -> bool:
    """Return whether the best fixed models are found soon: the rows are in memory, and not too much is to be multiplied."""
    labels = [run.learner.model.labels for run in runs if run.failed is None]
    classes = max(1 if table is None or len(table) < 3 else len(table) for table in labels)
    return replay.held and replay.stored * classes <= SOON


def about(opened: Stream, found: Pass, run: Run) -> dict[str, Any]:
    """Return what a report says about the data."""
    m = run.learner.model
    width = run.width if run.apart else m.features.size - m.features.bias
    return {
        **opened.about(),
        "examples": found.examples,
        **({} if run.kind.unit == "example" else {"unit": run.kind.unit}),
        **({} if run.settings.task is None else {"task": run.settings.task}),
        "features": width - opened.unused,
        "classes": None if m.labels is None else len(m.labels),
        "skipped": {"count": opened.skipped.count, "first": list(opened.skipped.first)},
        "baselines": found.trivial,
        "seconds_reading": found.reading,
        "level": compiling.level(),
        "version": __version__,
        "date": datetime.now(UTC).isoformat(" ", "seconds"),
        "true_drifts": [t for t in getattr(opened.reader, "drifts", []) if t < found.examples],
    }


# ---- regret ----------------------------------------------------------------------------------------------------------
def add_regret(
    replay: Stream,
    runs: Sequence[Run],
    results: Sequence[dict[str, Any]],
    *,
    radius: float | None,
    norm: str,
    tolerance: float,
    limit: int | None,
    watch: Callable[[int, float, float], None],
    watch_rows: Callable[[int, int], None],
) -> None:
    """Put the regret of every learner into its result: the best fixed models are found together, by passes over the rows."""
    going = [
        (run, result)
        for run, result in zip(runs, results, strict=True)
        if run.failed is None and run.front is None and run.comparable
    ]
    if not going:
        return
    first = going[0][0].learner
    labels = first.model.labels
    wants = {run.label: want_of(run.learner, norm) for run, _ in going}
    wants = {k: w if radius is None or w.radius is not None else w._replace(radius=radius) for k, w in wants.items()}
    points = [p["examples"] for p in going[0][0].points]

    def passes() -> Iterator[tuple[Rows, np.ndarray, np.ndarray | None]]:
        done = 0
        for batch, _ in between_points(replay, limit):
            watch_rows(done, points[-1])
            done += batch.data.n
            y = suited(batch.y, first)
            yield batch.data, y if labels is None else signed(codes_of(y, labels), labels), batch.c

    classes = 1 if labels is None else len(labels)
    best = hindsight(passes, wants.values(), classes=classes, points=points, tolerance=tolerance, watch=watch)
    for run, result in going:
        counts = {k: [p[name] for p in run.points] for k, name in COUNTS.items()}
        why = "labels come late, and the theorem is for labels at once" if run.settings.delay else None
        why = "not all rows are learned from" if run.sampler is not None else why
        why = "the learner was changed where drift was found" if run.settings.on_drift != "none" and run.drifts else why
        found = regret_of(run.learner, best[wants[run.label]], [p["cumulative"] for p in run.points], counts, why=why)
        result["regret"] = {**found, "best": run.kind.best} if run.kind.best else found


COUNTS = {"mistakes": "mistakes", "updates": "updates", "squared_hinge": "squared", "squared_tube": "squared"}


def signed(codes: np.ndarray, labels: Labels) -> np.ndarray:
    """Return codes, or the signs they stand for when there are two classes."""
    return codes if len(labels) > 2 else np.where(codes == labels.positive, 1.0, -1.0)
