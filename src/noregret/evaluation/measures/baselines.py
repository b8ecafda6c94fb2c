"""Baselines: what answers cost that are made from labels alone. Every report sets its learners beside them.

A baseline answers a row from the labels that a learner has had by then: a late label is late here too. It costs a few operations
on arrays for each chunk of rows, and how the stream is split into chunks does not show.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from ...inputs.checking import Rows
from ...inputs.labels import Coded, Labels, codes_of
from .figures import RealFigures, Recent, ratio, total


class Rule(Protocol):
    """How a baseline answers."""

    first: float  # the answer before any label is known

    def after(self, y: np.ndarray, c: np.ndarray | None) -> np.ndarray:
        """Take more labels and their weights; return the answer after each of them."""


class Majority:
    """The class that has had the most weight; of equal ones the one that got there first."""

    first: float = -1

    def __init__(self) -> None:
        self.weights = np.zeros(0)  # by class
        self.leader = -1

    def after(self, y: np.ndarray, c: np.ndarray | None) -> np.ndarray:
        """Take more labels and their weights; return the answer after each of them."""
        highest = [self.weights.max(initial=0.0)]
        self.weights = np.pad(self.weights, (0, max(0, int(y.max()) + 1 - len(self.weights))))
        w = np.ones(len(y)) if c is None else c
        order = np.argsort(
            y.astype(np.uint16) if len(self.weights) <= 1 << 16 else y, kind="stable"
        )  # of short numbers: by counting
        edges = [0, *(np.flatnonzero(np.diff(y[order])) + 1).tolist(), len(y)]
        reached = np.empty(len(y))  # by the class of each row, after it
        for a, b in pairwise(edges):
            own = order[a:b]
            k = y[own[0]]
            reached[own] = np.cumsum(np.concatenate([self.weights[k : k + 1], w[own]]))[1:]
            self.weights[k] = reached[own[-1]]
        ahead = reached > np.maximum.accumulate(np.concatenate([highest, reached]))[:-1]
        last = np.maximum.accumulate(np.where(ahead, np.arange(len(y)), -1))
        leaders: np.ndarray = np.where(last >= 0, y[last], self.leader)
        self.leader = int(leaders[-1])
        return leaders


class RunningMean:
    """The mean of the targets so far."""

    first: float = 0.0

    def __init__(self) -> None:
        self.sums = np.zeros(2)  # of the weights, and of the weighted targets

    def after(self, y: np.ndarray, c: np.ndarray | None) -> np.ndarray:
        """Take more labels and their weights; return the answer after each of them."""
        w = np.ones(len(y)) if c is None else c
        sums = np.cumsum(np.vstack([self.sums, np.column_stack([w, w * y])]), axis=0)[1:]
        self.sums = sums[-1]
        means: np.ndarray = sums[:, 1] / sums[:, 0]
        return means


class Last:
    """The last label: no change."""

    def __init__(self, first: float) -> None:
        self.first = first

    def after(self, y: np.ndarray, c: np.ndarray | None) -> np.ndarray:
        """Take more labels and their weights; return the answer after each of them."""
        return y


class Frozen:
    """One answer, whatever labels come: what a rule answers where nothing is learned any more."""

    def __init__(self, answer: float) -> None:
        self.first = answer

    def after(self, y: np.ndarray, c: np.ndarray | None) -> np.ndarray:
        """Take more labels and their weights; return the answer after each of them."""
        return np.full(len(y), self.first)


class Mistakes:
    """How often answers are wrong, in the keys of a learner."""

    def __init__(self, window: int | None, fading: float | None) -> None:
        self.examples = self.mistakes = 0
        self.weight = self.wrong = 0.0
        self.recent = Recent(window, fading, 1)

    def add(self, y: np.ndarray, answers: np.ndarray, c: np.ndarray | None = None, blind: int = 0) -> None:
        """Take more rows. Those before any label, which are `blind`, count as mistakes: so they do for a learner."""
        wrong = (answers != y).astype(np.float64)
        self.examples += len(y)
        self.mistakes += int(wrong.sum())
        self.weight += len(y) if c is None else float(c.sum())
        self.wrong += total(wrong, c)
        self.recent.add(c, wrong)

    def now(self) -> dict[str, float | None]:
        """Return the values of curves after the last row."""
        return {"examples": self.examples, "error": ratio(self.wrong, self.weight), **self.recent.now("error")}

    def to_dict(self) -> dict[str, Any]:
        """Return everything, as plain values."""
        error = ratio(self.wrong, self.weight)
        accuracy = None if error is None else 1.0 - error
        return {"examples": self.examples, "mistakes": self.mistakes, "error": error, "metrics": {"accuracy": accuracy}}


class Arrivals:
    """How many labels are known when each row comes: of all rows before it, or of those that came `delay` rows or times earlier."""

    def __init__(self, delay: float) -> None:
        self.delay = delay
        self.rows = self.known = 0
        self.due = np.zeros(0)  # times at which the labels come that are not known yet

    def add(self, n: int, times: np.ndarray | None) -> np.ndarray:
        """Take more rows, and return these numbers."""
        before = np.arange(self.rows, self.rows + n)
        self.rows += n
        if not self.delay or times is None:
            return np.maximum(0, np.floor(before - self.delay)).astype(np.int64)
        due = np.maximum.accumulate(np.concatenate([self.due, times + self.delay]))
        known = np.minimum(before, self.known + np.searchsorted(due, np.maximum.accumulate(times), side="right"))
        self.due, self.known = due[known[-1] - self.known :], int(known[-1])
        return known


class Baseline:
    """A rule with the figures of its answers."""

    def __init__(self, label: str, rule: Rule, making: Callable[[], Mistakes | RealFigures], informed: bool = False) -> None:
        self.label, self.rule, self.making = label, rule, making
        self.informed = informed  # whether labels are known before the first row
        self.figures = making()
        self.answers = np.array([rule.first])  # after the labels from number `start` on
        self.start = 0
        self.points: list[dict[str, float | None]] = []

    def add(self, y: np.ndarray, c: np.ndarray | None, known: np.ndarray, rows: Rows | None = None) -> None:
        """Answer more rows, each from as many labels as are known; what the rows hold does not matter here."""
        answers = np.concatenate([self.answers, self.rule.after(y, c)])
        blind = 0 if self.informed else int(np.count_nonzero(known == 0))
        self.figures.add(y, answers[known - self.start], c, blind)
        self.answers, self.start = answers[known[-1] - self.start :], int(known[-1])

    def frozen(self) -> Baseline:
        """Return a baseline that answers every row as this one would answer the next."""
        return Baseline(self.label, Frozen(self.answers[-1]), self.making, informed=True)

    def to_dict(self) -> dict[str, Any]:
        """Return what a report says of it."""
        curve = {k: [p[k] for p in self.points] for k in self.points[0]} if self.points else {}
        return {"label": self.label, **self.figures.to_dict(), "curve": curve}


class Changes:
    """How often the label changes from row to row, by the codes of classes."""

    def __init__(self) -> None:
        self.counts = np.zeros(0, np.int64)  # rows of each class
        self.changes = 0  # rows whose label is not that of the row before
        self.last: int | None = None

    def add(self, codes: np.ndarray) -> None:
        """Take more rows."""
        width = max(len(self.counts), int(codes.max()) + 1)
        self.counts = np.pad(self.counts, (0, width - len(self.counts))) + np.bincount(codes, minlength=width)
        self.changes += int(np.count_nonzero(np.diff(codes))) + (self.last not in (None, int(codes[0])))
        self.last = int(codes[-1])

    def order(self) -> dict[str, float] | None:
        """Return how often the label changed, and how often it would if the rows were shuffled."""
        n = int(self.counts.sum())
        if n < 2:
            return None
        alike = float((self.counts * (self.counts - 1.0)).sum()) / (n * (n - 1.0))
        return {"classes": int(np.count_nonzero(self.counts)), "changes": self.changes, "shuffled": (n - 1) * (1.0 - alike)}


class Neighbours:
    """How often a target is closer to the one before it than to one long before; in shuffled rows that is a matter of chance.

    It counts rows, so that a few targets of another size, which may rule every mean, hardly count.
    """

    FAR = 997  # rows that lie between, at most: half of those so far in a short stream; a prime, as streams have periods

    def __init__(self) -> None:
        self.recent = np.zeros(0)
        self.rows = self.closer = self.farther = 0

    def add(self, y: np.ndarray) -> None:
        """Take more rows."""
        known = np.concatenate([self.recent, y])
        first = self.rows - len(self.recent)  # the row that stands first there
        at = np.arange(max(4, self.rows), self.rows + len(y))
        distant = known[at - np.minimum(at // 2, self.FAR) - first]
        near, far = (np.abs(known[at - first] - other) for other in (known[at - 1 - first], distant))
        self.closer += int(np.count_nonzero(near < far))
        self.farther += int(np.count_nonzero(near > far))
        self.rows += len(y)
        self.recent = known[-self.FAR :]

    def order(self) -> dict[str, float] | None:
        """Return how often the target before was closer, and how often it was not."""
        return {"closer": self.closer, "farther": self.farther} if self.closer + self.farther else None


class Baselines:
    """The baselines of one task on one stream."""

    def __init__(
        self, all_of: Sequence[Baseline], delay: float, sequence: Changes | Neighbours, labels: Labels | None = None
    ) -> None:
        self.all = all_of
        self.arrivals = Arrivals(delay)
        self.sequence = sequence
        self.labels = labels  # of the classes met, None for real targets

    def add(self, y: Any, c: np.ndarray | None, times: np.ndarray | None, rows: Rows | None = None) -> None:
        """Answer more rows."""
        if y is None:
            return
        if self.labels is not None:
            y = self._codes(y)
        self.sequence.add(y)
        known = self.arrivals.add(len(y), times)
        for one in self.all:
            one.add(y, c, known, rows)

    def _codes(self, y: Any) -> np.ndarray:
        assert self.labels is not None
        codes = codes_of(y, self.labels)
        if codes.min() < 0:
            self.labels.extend(self.labels.missing(y.values if isinstance(y, Coded) else np.unique(y).tolist()))
            codes = codes_of(y, self.labels)
        return codes

    def frozen(self) -> Baselines:
        """Return baselines for rows that are not learned from: they answer from the labels so far, all of which are known."""
        return Baselines([one.frozen() for one in self.all], 0, type(self.sequence)(), copy.deepcopy(self.labels))

    def mark(self) -> None:
        """Note a point of the curves, unless this one is noted already."""
        for one in self.all:
            if not one.points or one.points[-1]["examples"] != one.figures.examples:
                one.points.append(one.figures.now())

    def result(self) -> list[dict[str, Any]]:
        """Return what a report says of them; nothing where there are no labels."""
        return [one.to_dict() for one in self.all] if self.arrivals.rows else []

    def order(self) -> dict[str, float] | None:
        """Return what the order of the rows looks like, None where there are too few to tell."""
        return self.sequence.order()


def class_baselines(loss: str, epsilon: float, window: int | None, fading: float | None, delay: float) -> Baselines:
    """Return the baselines of labels."""
    rules: Mapping[str, Rule] = {"majority class": Majority(), "last label": Last(-1)}
    return Baselines([Baseline(k, rule, lambda: Mistakes(window, fading)) for k, rule in rules.items()], delay, Changes(), Labels())


def real_baselines(loss: str, epsilon: float, window: int | None, fading: float | None, delay: float) -> Baselines:
    """Return the baselines of real targets, whose curves follow this loss."""
    rules: Mapping[str, Rule] = {"running mean": RunningMean(), "last target": Last(0.0)}
    return Baselines(
        [Baseline(k, rule, lambda: RealFigures(window, fading, epsilon, loss)) for k, rule in rules.items()], delay, Neighbours()
    )
