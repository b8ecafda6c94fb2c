"""Rows in other orders and other shares: replays, permutations, hold-out files, validation, folds."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ...algorithm.rounds import SEEN
from ...calibration.calibration import widened
from ...inputs.batch import Batch
from ...inputs.checking import Rows
from ...inputs.features import Features
from ...inputs.labels import Coded, Labels, codes_of
from ...learners.learner import Progress
from ...streams.stream import Stream, counting
from ...training.by_task import suited
from ...transforms.front import Front
from ..kinds import loss_of
from ..measures.baselines import Baselines
from .passes import Pass, Watch, held, run_pass
from .run import Run

KEPT = 1 << 28  # bytes of rows that are kept for a second pass instead of being read again
CHUNK = 1 << 14  # rows of a chunk made in memory


class Replay(Stream):
    """A stream whose rows are kept while they fit in memory, so that later passes need not read them again."""

    def __init__(self, opened: Stream) -> None:
        super().__init__(opened.reader, opened.front)
        self.opened = opened
        self.kept: list[Batch] | None = []
        self.whole = False
        self.stored = 0  # numbers in the rows

    @property
    def held(self) -> bool:
        """Whether all rows of the first pass are in memory."""
        return self.kept is not None and self.whole

    def chunks(self, *args: Any, **kwargs: Any) -> Iterator[Batch]:
        """Yield the rows, from memory when they are there."""
        if self.held:
            yield from self.kept or ()
            return
        self.kept, size, self.stored = [], 0, 0
        try:
            for batch in self.opened.chunks():
                self.front = self.opened.front
                self.stored += batch.data.arrays[-1].size
                if self.kept is not None:
                    size += sum(a.nbytes for a in batch.data.arrays)
                    self.kept.append(batch)
                    self.kept = self.kept if size <= KEPT else None
                yield batch
        finally:  # a pass may end before the source does
            self.whole, self.rows = True, self.opened.rows


class Held(Stream):
    """Rows in memory, of a stream that says what their features are."""

    def __init__(self, opened: Stream, batch: Batch) -> None:
        super().__init__(opened.reader, opened.front)
        self.opened = opened
        self.batch = batch

    def chunks(self, *args: Any, **kwargs: Any) -> Iterator[Batch]:
        """Yield them."""
        for a in range(0, self.batch.data.n, CHUNK):
            yield self.batch.cut(a, min(a + CHUNK, self.batch.data.n))

    def features(self, rows: Rows, bias: bool) -> Features:
        """Return what the stream would."""
        return self.opened.features(rows, bias)


# ---- permutations ----------------------------------------------------------------------------------------------------
def permuted(
    opened: Stream,
    runs: Sequence[Run],
    permutations: int,
    seed: int,
    *,
    limit: int | None = None,
    watch: Watch | None = None,
    stop: Callable[[], bool] | None = None,
) -> tuple[list[dict[str, Any]], Pass]:
    """Take the rows in several random orders; return means over them, with their spread and a paired test against the best."""
    batch = held(opened, limit)
    rng = np.random.default_rng(seed)
    rounds, trivial = [], []
    for _ in range(permutations):
        again = [run if run.failed else run.again() for run in runs]
        found = run_pass(Held(opened, batch.take(rng.permutation(batch.data.n))), again, watch=watch, stop=stop)
        if found.stopped:
            break
        rounds.append([{} if run.failed else run.result() for run in again])
        trivial.append(found.trivial)
        for run, other in zip(runs, again, strict=True):
            run.failed, run.learner, run.front, run.width = other.failed, other.learner, other.front, other.width
            if other.selection is not None and run.selection is not None and not other.failed:
                run.selection.since = other.selection.since
                run.selection.orders.append(other.selection.chosen)
    if len(rounds) < 2:
        raise KeyboardInterrupt
    if found.stopped:
        found.examples = batch.data.n
        found.notes.append(f"Interrupted after {len(rounds)} of {permutations} orders: the means are of those.")
    found.notes.append(
        f"Figures are means over {len(rounds)} random orders, ± a standard deviation; p is Student's paired test against the best; "
        "confusion and drifts are those of the first order."
    )
    found.trivial = [mean(orders) for orders in zip(*trivial, strict=True)]
    results = [{} if run.failed else mean([r[i] for r in rounds]) for i, run in enumerate(runs)]
    test([r for r in results if r], [[r[i] for r in rounds] for i, run in enumerate(runs) if not run.failed])
    return results, found


def mean(found: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the mean of what several orders gave; what is not a number is taken from the first."""

    def middle(values: Sequence[Any]) -> Any:
        first = values[0]
        if isinstance(first, dict):
            return {k: middle([v.get(k) for v in values]) for k in first}
        if isinstance(first, (int, float)) and not isinstance(first, bool) and None not in values:
            return float(np.mean(values))
        if isinstance(first, list) and all(isinstance(v, list) and len(v) == len(first) for v in values):
            return [middle(column) for column in zip(*values, strict=True)]
        return first

    apart = ("model", "label", "params", "confusion", "reliability", "drifts", "regret", "examples")
    return {k: found[0][k] if k in apart else middle([r[k] for r in found]) for k in found[0]}


def test(results: Sequence[dict[str, Any]], rounds: Sequence[Sequence[dict[str, Any]]]) -> None:
    """Add the spread of the error, or of the loss, and the p-value of Student's paired test against the best."""
    from scipy.stats import ttest_rel

    name = "error" if results[0]["error"] is not None else "loss"

    def figure(result: dict[str, Any]) -> float:
        return float(result["error"] if name == "error" else next(iter(result["losses"].values())))

    values = np.array([[figure(r) for r in runs] for runs in rounds])
    best = int(np.argmin(values.mean(1)))
    for i, result in enumerate(results):
        apart = values[i] - values[best]
        p = (
            None
            if i == best
            else 1.0
            if not apart.any()
            else 0.0
            if apart.std() == 0.0
            else float(ttest_rel(values[i], values[best]).pvalue)
        )
        spread = [float(values[i].mean()), float(values[i].std(ddof=1))]
        result["spread"] = {name: spread, "per_permutation": values[i].tolist(), "p_value": p}


# ---- rows that are answered only -------------------------------------------------------------------------------------
class Answered:
    """A learner that answers and does not learn, with the figures of its answers."""

    def __init__(self, run: Run) -> None:
        self.learner = learner = run.learner
        self.front = run.front
        self.figures: Any = run.kind.figures(run.kind.loss, loss_of(learner)[1], None, None)
        run.kind.onward(self.figures, run.figures)
        self.table = Labels() if learner.model.labels is None else copy.deepcopy(learner.model.labels)
        self.table.declared = False
        self.unseen = 0  # rows whose labels were never learned

    def add(self, batch: Batch) -> None:
        """Answer some rows, in runs whose scores take bounded memory."""
        whole = [(0, batch.data.n, batch.data)]
        for a, b, rows in whole if self.front is None else self.front.in_pieces(batch.data, False):
            piece = batch.cut(a, b)._replace(data=rows)
            for run in self.learner.in_room(self.learner.model, None, rows.n):
                self._add(piece.cut(*run))

    def _add(self, batch: Batch) -> None:
        """Answer rows as the learner takes them."""
        learner, m, table = self.learner, self.learner.model, self.table
        y = suited(batch.y, learner)
        f = learner.scores_by(m, batch.data)  # a task that was never learned is answered too, as at its first row
        if m.labels is None:
            self.figures.take(Progress(f, y, said=learner.said_by(m, batch.data)), batch.c)
            return
        table.extend(table.missing(y.values if isinstance(y, Coded) else np.unique(y).tolist()))
        codes = codes_of(y, table)
        predicted = learner.task.codes(m, f)
        known = len(m.labels)
        self.unseen += int(np.count_nonzero(codes >= known))
        if m.many and len(table) > known:
            f = np.hstack([f, np.zeros((len(f), len(table) - known))])
        self.figures.positive = m.labels.positive
        seen = np.full(len(codes), int(m.tally[SEEN]) if m.many else 2)
        said = learner.said_by(m, batch.data)
        if said is not None and said.p is not None:
            said = said._replace(p=widened(said.p, len(table)))
            self.figures.assured(codes, said, np.minimum(seen, known), batch.c, m.labels.positive)
        self.figures.add(codes, predicted, f, batch.c, seen)

    def result(self) -> dict[str, Any]:
        """Return the figures, and of labels that were never learned, how many rows have them and which they are."""
        unseen = {"examples": self.unseen, "labels": self.table.values[len(self.learner.model.labels or ()) :]}
        return of_answers(self.figures.to_dict(self.table.values or None)) | ({"unseen": unseen} if self.unseen else {})


def of_answers(found: dict[str, Any]) -> dict[str, Any]:
    """Return those figures that answers alone have."""
    kept = ("examples", "mistakes", "error", "losses", "metrics", "confusion", "reliability")
    return {k: found[k] for k in kept if k in found}


def scored(
    runs: Sequence[Run], baselines: Baselines, source: Stream, front: Front | None, skip: int = 0, last: int | None = None
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the figures of answers to the rows from `skip` to `last`, read once, none of them learned from.

    Those of the runs come first, then those of baselines that answer as they would after the labels they have had.
    """
    blind = baselines.frozen()
    answered = [Answered(run) for run in runs]
    seen = 0
    for batch in map(counting, source.chunks(front=front, learn=False)):
        n = batch.data.n
        a, b = min(n, max(0, skip - seen)), n if last is None else min(n, max(0, last - seen))
        seen += n
        if a < b:
            part = batch.cut(a, b)
            for one in answered:
                one.add(part)
            blind.add(suited(part.y, runs[0].learner), part.c, None, part.data)
        if seen == last:
            break
    return [one.result() for one in answered], [of_answers(found) for found in blind.result()]


def training_part(opened: Stream, share: float, limit: int | None) -> tuple[int, int]:
    """Return how many rows come before the last share of them, and how many there are."""
    if not 0.0 < share < 1.0:
        raise ValueError(f"validation is the share of rows kept from learning, between 0 and 1, got {share!r}")
    n = 0
    for batch in map(counting, opened.chunks()):
        n += batch.data.n
        if limit is not None and n >= limit:
            break
    n = n if limit is None else min(n, limit)
    part = n - round(share * n)
    if not 0 < part < n:
        raise ValueError(f"{n} rows are too few to keep a share of {share:g} from learning")
    return part, n


def fold(opened: Stream, runs: Sequence[Run], folds: int, limit: int | None) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Cross-validate: blocks of consecutive rows, each answered by learners, and baselines, of the others, in order."""
    batch = held(opened, limit)
    n = batch.data.n
    if not 2 <= folds <= n:
        raise ValueError(f"folds must be from 2 to the number of rows, {n}; got {folds!r}")
    edges = np.linspace(0, n, folds + 1).astype(int).tolist()
    learned, blind = [], []
    for a, b in pairwise(edges):
        others = batch.take(np.concatenate([np.arange(a), np.arange(b, n)]))
        again = [run.again() for run in runs]
        for run in again:
            run.learn(others, opened)
        baselines = runs[0].baselines()
        baselines.add(suited(others.y, runs[0].learner), others.c, None, others.data)
        figures, trivial = scored(again, baselines, Held(opened, batch.cut(a, b)), None)
        learned.append(figures)
        blind.append(trivial)
    return [over_folds(found) for found in zip(*learned, strict=True)], [over_folds(found) for found in zip(*blind, strict=True)]


def over_folds(found: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the errors, or losses, of all folds, with their mean and standard deviation."""
    errors = [one["error"] if one.get("error") is not None else next(iter(one["losses"].values())) for one in found]
    return {"values": errors, "mean": float(np.mean(errors)), "sd": float(np.std(errors, ddof=1))}
