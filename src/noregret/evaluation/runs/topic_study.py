"""Studies of learners of topics: one pass over documents, how well each was foretold before it was learned, and half of some."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from time import thread_time
from typing import Any, NamedTuple

import numpy as np

from ...inputs.batch import Batch
from ...inputs.checking import Rows
from ...streams.stream import Stream, counting
from ...text import plural
from ...training.texts import opened_texts
from ...unsupervised.word_counts import in_lists, sparse
from ..kinds import KINDS
from ..measures.paths import Blocks
from ..measures.perplexity import EVERY, Counts, Perplexities, asked, halves, perplexity
from ..measures.topic_portraits import finds, portrait, topics_in_use
from ..report.report import Report
from .gap import PASSES, after_passes
from .round_study import left_behind, walked, within
from .splits import Replay
from .unlabelled import Followed, UnlabelledRun, about, ended, interrupted, own_options, planned

TAKES = ("K", "completion", "window", "fading", "gap", "limit", "sort")  # options of such studies
AT_ONCE = 256  # documents that are learned together, at most
SOON = 2_000_000  # words up to which the gap is found without being asked for


class Taken(NamedTuple):
    """Documents, also as sparse rows."""

    batch: Batch
    rows: Rows

    @property
    def n(self) -> int:
        """Documents."""
        return self.batch.n


class TopicRun(UnlabelledRun):
    """A learner of topics with what is measured of it."""

    def __init__(self, learner: Any, label: str, opened: Stream, own: Mapping[str, Any]) -> None:
        kind = KINDS[str(learner.task)]
        super().__init__(learner, label, kind, opened, Followed(figures(own, 0 if finds(learner) else None)))
        self.every = every(own)
        self.shares = Blocks()

    def take(self, taken: Taken) -> None:
        """Learn documents, stopping before those that are completed, and at the points of the curves."""
        starts, _, data = taken.rows.arrays
        sums = np.add.reduceat(np.append(data, 0.0), starts[:-1]) * (np.diff(starts) > 0)
        for part in self.followed.cuts(taken.n):
            for a, b in self.pieces(part):
                if asked(self.figures.examples, self.every) and self.learner.started:
                    self.complete(taken.rows.cut(a, a + 1).packed())
                piece = taken.batch.cut(a, b)
                start = thread_time()
                with piece.named_in_errors():
                    Z, nats = self.learner.learned_rows(piece.data, self.features(piece))
                self.seconds += thread_time() - start
                for shares in Z:
                    self.shares.add(shares)
                self.figures.take(nats, sums[a:b])
                if self.figures.topics is not None:
                    self.figures.topics = topics_in_use(self.learner)

    def pieces(self, part: slice) -> Iterator[tuple[int, int]]:
        """Yield parts of documents that end before one that is completed."""
        a = part.start
        while a < part.stop:
            done = self.figures.examples
            due = AT_ONCE if not self.every else (self.every - 1 - done) % self.every or self.every
            b = min(part.stop, a + due, a + AT_ONCE)
            yield a, b
            a = b

    def complete(self, rows: Rows) -> None:
        """Measure words of documents given others, before they are learned."""
        features = self.learner.model.features
        observed, scored = (features.rows(half, False) for half in halves(rows))
        told, words = self.learner.completed(observed, scored)
        self.figures.complete(-told, words)

    def finish(self) -> None:
        """Learn what waits for a batch, and note the last point."""
        self.learner.finish()
        if self.figures.topics is not None:
            self.figures.topics = topics_in_use(self.learner)
        self.followed.end()

    def metrics(self) -> dict[str, Any]:
        """Return the figures of all documents, with the number of topics."""
        return {**self.figures.metrics(), "topics": topics_in_use(self.learner)}


def figures(own: Mapping[str, Any], topics: int | None = None) -> Perplexities:
    """Return new figures."""
    return Perplexities(own.get("window"), own.get("fading"), topics)


def every(own: Mapping[str, Any]) -> int:
    """Return which documents are completed: all, one in ten, or none."""
    wanted = own.get("completion")
    return EVERY if wanted is None else int(bool(wanted))


# ---- the three studies -------------------------------------------------------------------------------------------------
def study(kind: str, task: str, source: Any, models: Any, y: Any, options: Mapping[str, Any]) -> Report:
    """Let learners of topics take the documents of a source once; return the report.

    "evaluate" takes one learner, "compare" several (unless named, those of the task), "sweep" lists for parameters of one.
    """
    given = dict(options)
    own = own_options(given, kind, TAKES, "K")
    plan = planned(kind, task, in_lists(source), models, y, given, TAKES, opened_texts)
    K = own.get("K")
    for m in plan.learners:
        m.set_params(**({} if K is None or (finds(m) and len(plan.learners) > 1) else {"K": K}))
        m.check_settings()
    titles = plan.titled(task, {})
    runs = [TopicRun(m, title, plan.rows, own) for m, title in zip(plan.learners, titles, strict=True)]
    return ended(kind, plan, passed(kind, plan.rows, runs, own, plan.notes))


def passed(kind: str, rows: Replay, runs: Sequence[TopicRun], own: Mapping[str, Any], notes: list[str]) -> Report:
    """Take the stream once; return the report."""
    entry, opened = runs[0].kind, rows.opened
    blind, counts = Followed(figures(own)), Counts(None, every(own))

    def taken(batch: Taken) -> None:
        nonlocal counts
        if counts.documents == 0:
            features = rows.features(batch.batch.data, False)
            counts = Counts(None if features.grows else features.size, every(own))
        for part in blind.cuts(batch.n):
            counts.take(batch.rows, blind.figures, part)

    examples, reading, stopped = walked(kind, prepared(rows, own.get("limit")), opened, runs, own, taken)
    if counts.met == 0:
        raise ValueError(f"{opened.name} has no words: {plural(examples, entry.unit)}, all of them empty")
    done = [run for run in runs if run.failed is None]
    for run in done:
        run.finish()
    results = [run.result(run.metrics()) for run in done]
    blind.end()
    trivial = blind.result("words so far", blind.figures.metrics(), entry.curves)
    for run, result in zip(done, results, strict=True):
        result["topics"] = portrait(run.learner, opened.front, counts, run.shares)
    notes = [left_behind(run) for run in runs if run.failed is not None] + notes + interrupted(examples, entry, stopped)
    notes += [] if stopped else add_gaps(rows, done, results, own)
    data = about(opened, entry, str(done[0].learner.task), examples, counts.met, reading)
    data |= {"noun": "word", "tokens": counts.total, "baselines": [trivial], "warnings": warnings(results, trivial)}
    completed = blind.figures.metrics()["completion"] is not None
    notes += dear_words(results, trivial) if completed else []
    return Report(kind, data, results, None, notes, own.get("sort") or (entry.decides if completed else "perplexity"))


def add_gaps(rows: Replay, runs: Sequence[TopicRun], results: Sequence[dict[str, Any]], own: Mapping[str, Any]) -> list[str]:
    """Put the gap of every learner to the same model after ten passes into its result; return why where there is none."""
    wanted, words = own.get("gap"), runs[0].figures.words
    if wanted is False or not words:
        return []
    if not rows.held or (wanted is None and words > SOON):
        why = "it takes ten passes. Ask for it (gap=True, --gap)" if rows.held else "the documents do not fit in memory"
        return [f"The gap to {PASSES} passes was left out: {why}."]
    for run, result in zip(runs, results, strict=True):
        nats = after_passes(run.learner, rows, own.get("limit"))
        value = run.figures.nats - nats
        found = {"value": value, "average": value / words, "perplexity": perplexity(nats, words)}
        result["gap"] = {"against": f"the same model after {PASSES} passes", **found}
    return []


def prepared(rows: Stream, limit: int | None) -> Generator[Taken, None, None]:
    """Yield the documents that count."""
    for batch in map(counting, within(rows, limit)):
        if batch.n:
            yield Taken(batch, sparse(batch.data))


# ---- what must be said -----------------------------------------------------------------------------------------------------
def dear_words(results: Sequence[dict[str, Any]], blind: Mapping[str, Any]) -> list[str]:
    """Return what perplexities above that of counts mean, where topics tell words well that are known."""
    most, least = (blind["metrics"][name] for name in ("perplexity", "completion"))
    found = [row["metrics"] for row in results]
    if not any(m["perplexity"] > most and m["completion"] is not None and m["completion"] < least for m in found):
        return []
    return ["Perplexity counts each word that is new, and a small eta makes those dear; completion leaves them out."]


def warnings(results: Sequence[dict[str, Any]], blind: Mapping[str, Any]) -> list[str]:
    """Return what must be said of learners whose topics tell the other half of a document worse than counts of words do."""
    least = blind["metrics"]["completion"]
    told = [(row["label"], row["metrics"]["completion"]) for row in results]
    worse = [label for label, value in told if None not in (value, least) and value > least]
    if not worse:
        return []
    said = f"Worse than the counts of words alone, without topics: {', '.join(worse)}."
    return [f"{said} More documents, fewer topics or a larger eta help."]
