"""Batch models of a stream: ridge, lasso, elastic net, logistic regression, linear SVM, certified, in memory or out of core."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ...inputs.batch import Batch
from ...inputs.checking import Rows
from ...inputs.labels import Coded, Labels, codes_of, whole
from ...streams.stream import Stream, counting, known_options, stream
from ...text import amount, plural
from ...training.by_task import as_numbers
from .row_sample import KEPT, Chunk, Sample
from .smoothed_losses import REAL
from .solver import Problem, Watch, best_of_many, refuse


class Solution(NamedTuple):
    """A batch model, with the proof that it is the best one to within `gap`."""

    coef: np.ndarray  # a weight for each feature; a row for each class where there are more than two
    intercept: Any  # a number, or one for each class
    classes: list[Any] | None  # sorted; of two, the score is that of the second. None for real targets
    names: list[str] | None  # of the features, where a table has them
    loss: float  # summed over the rows, with their weights
    penalty: float
    lower: float  # no model has less of loss and penalty together
    gap: float  # objective - lower
    tolerance: float  # asked for, relative to max(1, objective)
    converged: bool  # whether the gap is within it
    passes: int  # over the source
    examples: int

    @property
    def objective(self) -> float:
        """Loss and penalty together."""
        return self.loss + self.penalty

    @property
    def nonzeros(self) -> int:
        """How many weights are not 0, the intercepts apart."""
        return int(np.count_nonzero(self.coef))

    def __str__(self) -> str:
        said = "" if self.converged else ", stopped before the tolerance was reached"
        return (
            f"loss {amount(self.loss, 6)} + penalty {amount(self.penalty, 6)} on {plural(self.examples, 'example')}, at most "
            f"{amount(self.gap, 2)} above the least; {self.nonzeros} of {self.coef.size} weights are not 0; "
            f"{plural(self.passes, 'pass')}{said}"
        )


def batch(
    source: Any,
    y: Any = None,
    *,
    loss: str,
    l2: float = 0.0,
    l1: float = 0.0,
    radius: float | None = None,
    norm: str = "l2",
    epsilon: float = 0.1,
    fit_intercept: bool = True,
    tolerance: float = 1e-4,
    max_passes: int = 200,
    kept: int = KEPT,
    limit: int | None = None,
    watch: Watch | None = None,
    **options: Any,
) -> Solution:
    """Return the linear model with the least loss and penalty on a whole stream: a reference for an online learner.

    It minimises sum_t c_t loss(w.x_t + b, y_t) + l2/2 |w|^2 + l1 |w|_1: a sum and not a mean, with the weights c_t of the rows (1
    unless the source has some), and without a penalty on the intercept b. With a `radius` in place of penalties it is the sum of
    losses within a ball, |(w, b)| <= radius or with norm="l1" |(w, b)|_1 <= radius, as regret has it: the intercept is inside.
    With neither, the gap holds for models up to twice as long as the one found, and there need not be a best one.

    `loss` is "hinge", "squared_hinge", "log", "exponential" or "perceptron" for labels (with more than two: against the best rival;
    "log" is softmax), "square" ((f - y)^2, without 1/2), "absolute", "epsilon_insensitive" or "squared_epsilon_insensitive" for
    numbers. In terms of scikit-learn, on n rows:

        Ridge(alpha)                        loss="square", l2=2 * alpha
        Lasso(alpha)                        loss="square", l1=2 * n * alpha
        ElasticNet(alpha, l1_ratio)         loss="square", l1=2 * n * alpha * l1_ratio, l2=2 * n * alpha * (1 - l1_ratio)
        LogisticRegression(C)               loss="log", l2=1 / C (or l1=1 / C)
        SVC(kernel="linear", C)             loss="hinge", l2=1 / C
        SVR(kernel="linear", C, epsilon)    loss="epsilon_insensitive", l2=1 / C

    `source`, `y` and the other options are those of `stream`; `limit` is a number of rows. Rows that fit in `kept` bytes are read
    once; of others a sample is kept, and `max_passes` is how often they may be read. `watch(passes, upper, lower)` is called after
    each pass. The search ends when objective - lower is within `tolerance` of the objective.

    Pitfalls: with scale=True features are as they come, by statistics so far, in every pass. Losses with a kink ("hinge",
    "absolute") and many features (above 1000) take more passes than smooth ones, most of all with an l1 penalty.

    Tibshirani (1996), *Regression shrinkage and selection via the lasso*; Hoerl, Kennard (1970), *Ridge regression*.

    >>> import noregret as nr
    >>> lasso = nr.batch(np.eye(3), [3.0, 0.5, -2.0], loss="square", l1=2.0, fit_intercept=False)
    >>> lasso.coef.round(3).tolist(), lasso.nonzeros, round(lasso.objective, 3)
    ([2.0, 0.0, -1.0], 2, 8.25)
    >>> lasso.gap <= 1e-4 * lasso.objective
    True
    """
    known_options(options, ("loss", *(batch.__kwdefaults__ or {})))
    real = loss in REAL
    for name, value in (("l2", l2), ("l1", l1)):
        if not (value >= 0.0 and math.isfinite(value)):
            raise ValueError(f"{name} must be at least 0 and finite, got {value!r}")
    if radius is not None and (l1 > 0.0 or l2 > 0.0):
        raise ValueError("a model has a penalty (l1, l2) or a ball (radius), not both: leave out one of them")
    for name, count, least in (("max_passes", max_passes, 1), ("kept", kept, 0), ("limit", limit, 1)):
        if count is not None and not count >= least:
            raise ValueError(f"{name} must be at least {least}, got {count!r}")
    given = (loss, math.inf if radius is None else float(radius), float(epsilon) if real else 0.0)
    refuse(Problem(*given, tolerance=tolerance, norm=norm))
    rows = Source(stream(source, y, **options), loss, limit)
    sample = rows.first(kept)
    classes = 1 if rows.labels is None else len(rows.labels)
    problem = Problem(*given, classes, fit_intercept, tolerance, norm, float(l2), float(l1), rows.rarest)
    found = best_of_many(rows.passes, [problem], sample=sample, max_passes=max(1, max_passes - 1), watch=watch)[0]
    w, b = (found.u[:, :-1], found.u[:, -1]) if fit_intercept else (found.u, np.zeros(len(found.u)))
    one = len(found.u) == 1
    return Solution(
        w[0].copy() if one else w.copy(),
        float(b[0]) if one else b.copy(),
        None if rows.labels is None else list(rows.labels.sorted),
        rows.names(),
        found.loss,
        found.penalty,
        found.lower,
        found.gap,
        tolerance,
        found.converged,
        found.passes + 1,
        sample.n,
    )


class Source:
    """A stream as the solver takes it: labels as signs or as numbers of the sorted classes."""

    def __init__(self, opened: Stream, loss: str, limit: int | None) -> None:
        self.opened, self.loss, self.limit = opened, loss, limit
        self.labels = None if loss in REAL else Labels()
        self.rarest = 0.0  # weight of the class that has the least
        self._names: list[str] | None = None

    def chunks(self) -> Iterator[Batch]:
        """Yield the rows that count."""
        left = self.limit
        for part in map(counting, self.opened.chunks()):
            if left is not None:
                part = part.cut(0, min(left, part.data.n))
                left -= part.data.n
            yield part
            if left == 0:
                return

    def first(self, kept: int) -> Sample:
        """Make the first pass: find the labels, and keep rows."""
        sample, weights = Sample(kept), np.zeros(0)
        for part in self.chunks():
            y = self._suited(part.y)
            self._names = part.data.names
            if self.labels is not None:
                self.labels.extend(self.labels.missing(y.values if isinstance(y, Coded) else np.unique(y).tolist()))
                y = codes_of(y, self.labels)
                more = np.bincount(y, part.c, len(self.labels))
                weights = np.pad(weights, (0, len(more) - len(weights))) + more
            sample.add(part.data, y, part.c)
        if sample.n == 0:
            raise self.opened.nothing()
        if self.labels is not None:
            if len(self.labels) < 2:
                raise ValueError(f"the {self.loss} loss needs at least two classes, and all labels are {self.labels.values[0]!r}")
            self.rarest = float(weights[weights > 0.0].min())
            sample.chunks = [(rows, self._numbered(codes), c) for rows, codes, c in sample.chunks]
        return sample

    def passes(self) -> Iterator[Chunk]:
        """Make another pass."""
        for part in self.chunks():
            y = self._suited(part.y)
            rows: Rows = part.data
            if self.labels is None:
                yield rows, y, part.c
                continue
            codes = codes_of(y, self.labels)
            if len(codes) and codes.min() < 0:
                raise ValueError("there is a label that the first pass did not find: the stream has changed")
            yield rows, self._numbered(codes), part.c

    def names(self) -> list[str] | None:
        """Return the names of the features, where they have some."""
        front = self.opened.front
        return self._names if front is None else None if front.names is None else list(front.names)

    def _suited(self, y: Any) -> Any:
        if y is None:
            raise ValueError("the source has no labels: name their column (target), or give y")
        if self.labels is None:
            return np.asarray(as_numbers(y, f"the {self.loss} loss"), np.float64)
        if isinstance(y, np.ndarray) and y.dtype.kind == "f":
            broken = y[y != np.floor(y)]
            if len(broken):
                raise ValueError(f"the {self.loss} loss needs labels, and these are numbers such as {broken[0]}: take 'square'?")
            return whole(y)
        return y

    def _numbered(self, codes: np.ndarray) -> np.ndarray:
        """Return signs, +1 for the second of two classes, or the places of the sorted classes."""
        assert self.labels is not None
        place = np.argsort(self.labels.order)[codes]
        return place if len(self.labels) > 2 else 2.0 * place - 1.0
