"""Studies of learners of topics: one pass over documents, how well each is known before it is learned, the gap to ten passes."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from time import perf_counter, thread_time
from typing import Any, NamedTuple

import numpy as np

from ...engine import compiling
from ...inputs.batch import Batch
from ...inputs.checking import Rows
from ...inputs.features import Features
from ...spelling import distinct, titled
from ...streams.stream import Stream, counting, known_options, stream
from ...text import meant, plural
from ...training.guessing import with_target
from ...training.opening import opening
from ...transforms.pipeline import Pipeline
from ...unsupervised.word_counts import as_counts, sparse
from ...version import __version__
from ..kinds import KINDS, Kind
from ..measures.perplexity import EVERY, DocumentFigures, Unigrams, halves
from ..report.report import Report
from ..report.summary import known_figure
from .along import Along
from .round_study import chosen, left_behind, short, walked, within
from .splits import Replay

TAKES = ("K", "figures", "window", "fading", "gap", "limit", "sort")  # options of such studies
WATCHED = ("watch", "stop", "regret", "regret_watch", "regret_rows")
PASSES = 10
SOON = 2_000_000  # words up to which the gap is found without being asked for
SHOWN = 10  # words of a topic


class Taken(NamedTuple):
    """Documents with the numbers of their words, and which of them are completed."""

    batch: Batch
    words: np.ndarray
    completed: np.ndarray

    @property
    def n(self) -> int:
        """Documents."""
        return self.batch.n


class TopicRun:
    """A learner with what is measured of it."""

    def __init__(self, learner: Any, label: str, kind: Kind, opened: Stream, own: Mapping[str, Any]) -> None:
        self.learner, self.label, self.kind, self.opened = learner, label, kind, opened
        self.followed = Along(DocumentFigures(own.get("window"), own.get("fading")))
        self.seconds = 0.0
        self.failed: Exception | None = None

    @property
    def figures(self) -> DocumentFigures:
        """The figures so far."""
        found: DocumentFigures = self.followed.figures
        return found

    def features(self, batch: Batch) -> Features | None:
        """Return the features of a model that begins with these documents."""
        return None if self.learner.started else self.opened.features(batch.data, False)

    def warm(self, taken: Taken) -> None:
        """Let a clone take a document, so that what is compiled is ready."""
        one = taken.batch.cut(0, 1)
        self.learner.clone().learn_rows(one.data, None, one.c, self.features(one))

    def take(self, taken: Taken) -> None:
        """Learn documents, stopping at the points of the curves, and before those that are completed."""
        for part in self.followed.cuts(taken.n):
            stops = part.start + np.flatnonzero(taken.completed[part])
            edges = [part.start, *(int(i) for i in stops if i > part.start), part.stop]
            for a, b in pairwise(edges):
                if taken.completed[a] and self.learner.started:
                    self.complete(taken.batch.cut(a, a + 1).data)
                self.learn(taken.batch.cut(a, b), taken.words[a:b])

    def complete(self, rows: Rows) -> None:
        """Score half of a document, given the other half."""
        features = self.learner.model.features
        self.figures.complete(*self.learner.completed(*(features.rows(half, False) for half in halves(rows))))

    def learn(self, piece: Batch, words: np.ndarray) -> None:
        """Learn documents."""
        start = thread_time()
        with piece.named_in_errors():
            done = self.learner.learn_rows(piece.data, None, piece.c, self.features(piece))
        self.seconds += thread_time() - start
        self.figures.take(np.concatenate([p.f[:, 0] for p in done]), words)

    def finish(self) -> None:
        """Learn what waits for a batch, and note the last point."""
        self.learner.finish()
        self.followed.end()

    def result(self) -> dict[str, Any]:
        """Return the object of this learner in a report."""
        m = self.learner
        return {
            "model": m.name,
            "params": {k: v for k, v in m.get_params().items() if not isinstance(v, np.ndarray)},
            "label": self.label,
            "examples": self.figures.examples,
            "metrics": self.figures.metrics(),
            "curve": self.followed.curve(self.kind.curves),
            "topics": portrait(m),
            "bytes": sum(a.nbytes for a in m.model.arrays().values()),
            "seconds": self.seconds,
            "examples_per_second": self.figures.examples / self.seconds if self.seconds else None,
        }


def portrait(m: Any) -> list[dict[str, Any]]:
    """Return the topics of a learner, largest first, with their share of all words and their likeliest ones."""
    lam = m.components_
    share, order = lam.sum(1) / lam.sum(), np.argsort(-lam.sum(1), kind="stable")
    kept = order[: m.n_topics_] if hasattr(m, "n_topics_") else order
    return [{"topic": int(k), "share": float(share[k]), "words": [str(w) for w, _ in m.topic(k, SHOWN)]} for k in kept]


# ---- the three studies -------------------------------------------------------------------------------------------------
def study(kind: str, task: str, source: Any, models: Any, y: Any, options: Mapping[str, Any]) -> Report:
    """Let learners of topics take the documents of a source once; return the report.

    "evaluate" takes one learner, "compare" several (unless named, those of the task), "sweep" lists for parameters of one.
    """
    given = dict(options)
    own = {k: given.pop(k) for k in (*TAKES, *WATCHED) if k in given and (k != "K" or kind != "sweep")}
    found, titles, notes, grid = chosen(kind, task, models, given)
    check_known(given)
    if own.get("sort") is not None:
        known_figure(own["sort"])
    if len(found) > 1 and any(isinstance(m, Pipeline) for m in found):
        raise TypeError("learners of topics are compared on the same documents: give the settings of a table as options")
    learners = [m.learner if isinstance(m, Pipeline) else m for m in found]
    steps = opening(found[0]) if isinstance(found[0], Pipeline) else {}
    opened, more = with_target(stream(documents(source), y, **{**given, **steps}), *found)
    for m in learners:
        m.set_params(**({} if own.get("K") is None else {"K": own["K"]}))
        m.check_settings()
    titles = titles or distinct([short(titled(m), task, {}) for m in learners])
    rows = Replay(opened)
    runs = [TopicRun(m, title, KINDS[task], rows, own) for m, title in zip(learners, titles, strict=True)]
    report = passed(kind, rows, runs, own, [*notes, *more])
    if isinstance(found[0], Pipeline) and rows.front is not None:
        found[0].adopt(rows.front)
    if kind == "sweep":
        settings = dict(zip(titles, grid, strict=True))
        for row in report.learners:
            row["setting"] = settings[row["label"]]
        report.data["swept"] = {name: list(dict.fromkeys(s[name] for s in grid)) for name in grid[0]}
    return report


def documents(source: Any) -> Any:
    """Return documents in lists as dicts of counts, or as an array where they are rows of numbers; other sources as they are."""
    if not isinstance(source, list):
        return source
    found = as_counts(source)
    rows = len(source) > 0 and all(isinstance(x, (list, tuple)) and len(x) > 0 and isinstance(x[0], (int, float)) for x in source)
    return np.asarray(source, np.float64) if rows else found


def check_known(given: Mapping[str, Any]) -> None:
    """Refuse options that neither this study nor a source has."""
    for name in given:
        try:
            known_options([name])
        except TypeError:
            hint = meant(name, TAKES)
            raise TypeError(
                f"there is no option {name!r} for topics. {hint}There are {', '.join(TAKES)}, and those of a source"
            ) from None


def prepared(rows: Stream, own: Mapping[str, Any], blind: Along) -> Generator[Taken, None, None]:
    """Yield the documents that count; words by their counts alone are measured on the way."""
    done, unigrams, all_ = 0, Unigrams(), own.get("figures") == "completion"
    for batch in map(counting, within(rows, own.get("limit"))):
        if batch.n == 0:
            continue
        starts, words, counts = sparse(batch.data).arrays
        completed = (np.arange(done, done + batch.n) % EVERY == EVERY - 1) | all_
        done += batch.n
        totals = np.concatenate([[0.0], np.cumsum(counts)])[starts]
        for part in blind.cuts(batch.n):
            for i in range(part.start, part.stop):
                a, b = starts[i], starts[i + 1]
                nats = -unigrams.take(words[a:b], counts[a:b])
                blind.figures.take(np.array([nats]), totals[i + 1 : i + 2] - totals[i])
        yield Taken(batch, np.diff(totals), completed)


def passed(kind: str, rows: Replay, runs: Sequence[TopicRun], own: Mapping[str, Any], notes: list[str]) -> Report:
    """Take the stream once; return the report."""
    entry, opened = runs[0].kind, rows.opened
    blind = Along(DocumentFigures(own.get("window"), own.get("fading")))
    source = prepared(rows, own, blind)
    examples, reading, stopped = walked(kind, source, opened, runs, own, lambda _: None)
    done = [run for run in runs if run.failed is None]
    for run in done:
        run.finish()
    results = [run.result() for run in done]
    blind.end()
    notes = [left_behind(run) for run in runs if run.failed is not None] + notes
    if not stopped:
        notes += add_gaps(rows, done, results, own)
    notes += [f"Interrupted after {plural(examples, entry.unit)}: all figures are of those."] if stopped else []
    known = {"perplexity": blind.figures.metrics()["perplexity"]}
    trivial: dict[str, Any] = {"label": "unigrams so far", "examples": examples, "metrics": known}
        "label": "unigrams so far",
        "examples": examples,
        "metrics": {"perplexity": blind.figures.metrics()["perplexity"]},
    }
    data = {
        **opened.about(),
        "examples": examples,
        "unit": entry.unit,
        "features": done[0].learner.n_features_in_,
        "words": blind.figures.words,
        "skipped": {"count": opened.skipped.count, "first": list(opened.skipped.first)},
        "baselines": [{**trivial, "curve": blind.curve(("perplexity",))}],
        "task": str(done[0].learner.task),
        "seconds_reading": reading,
        "level": compiling.level(),
        "version": __version__,
        "date": datetime.now(UTC).isoformat(" ", "seconds"),
        "warnings": warnings(results, trivial["metrics"]),
    }
    return Report(kind, data, results, None, notes, own.get("sort") or entry.decides)


def add_gaps(rows: Replay, runs: Sequence[TopicRun], results: Sequence[dict[str, Any]], own: Mapping[str, Any]) -> list[str]:
    """Put the gap of every learner to the same model after ten passes into its result; return why where there is none."""
    asked, words = own.get("gap"), runs[0].figures.words
    if asked is False:
        return []
    if not rows.held or (asked is None and words > SOON):
        why = "it takes ten passes: ask with gap=True" if rows.held else "the documents do not fit in memory"
        return [f"The gap to {PASSES} passes was left out: {why}."]
    left = own.get("limit")
    batches = [b for b in map(counting, within(rows, left)) if b.n]
    for run, result in zip(runs, results, strict=True):
        start = perf_counter()
        again = run.learner.clone()
        for _ in range(PASSES):
            for batch in batches:
                again.learn_rows(batch.data, None, batch.c, None if again.started else rows.features(batch.data, False))
            again.finish()
        nats = sum(float(again.answered_rows(batch.data)[1].sum()) for batch in batches)
        gap = run.figures.nats - nats
        after = float(np.exp(nats / words)) if words else None
        result["gap"] = {
            "against": f"the same model after {PASSES} passes",
            "value": gap,
            "average": gap / words if words else None,
            "perplexity": after,
            "seconds": perf_counter() - start,
        }
    return []


def warnings(results: Sequence[dict[str, Any]], blind: Mapping[str, Any]) -> list[str]:
    """Return what must be said of learners that know words less well than their counts do."""
    worse = [row["label"] for row in results if (row["metrics"]["perplexity"] or 0.0) > (blind["perplexity"] or np.inf)]
    if not worse:
        return []
    return [f"Worse than words by their counts alone: {', '.join(worse)}. More documents, fewer topics or another D help."]
