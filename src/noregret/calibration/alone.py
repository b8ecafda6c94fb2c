"""Calibrators and coverage alone, for scores, answers and probabilities that come from elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from ..engine.compiling import compiled
from ..files.json_values import Tensors, decode, encode, expect
from ..files.model_file import Saved
from ..inputs.labels import plain
from . import calibrator
from .calibration import Scores
from .coverage import Intervals, learn_sets, levels_of, members
from .platt import LEAST

Array = np.ndarray


def table(what: str, given: Any, most: int = 2) -> Array:
    """Return finite numbers, a row or a number for each example; refuse anything else."""
    a = np.asarray(given)
    if a.dtype.kind not in "biuf" or not 1 <= a.ndim <= most:
        raise ValueError(f"{what} must be numbers, one for each row{' or one for each row and class' if most > 1 else ''}")
    a = np.ascontiguousarray(a, np.float64)
    if not np.isfinite(a).all():
        at = np.argwhere(~np.isfinite(a))[0]
        raise ValueError(f"{what} must be finite: row {at[0]} has {a[tuple(at)]}")
    return a


def heft(sample_weight: Any, n: int) -> Array | None:
    """Return weights of n rows, or None."""
    if sample_weight is None:
        return None
    c = table("sample_weight", sample_weight, 1)
    if len(c) != n:
        raise ValueError(f"sample_weight must have a number for each of {n} rows, got {len(c)}")
    if (c < 0.0).any():
        at = int(np.argmax(c < 0.0))
        raise ValueError(f"sample_weight must not be negative, got {c[at]:g} in row {at}")
    return c


class Coder:
    """Labels of columns: the given ones, or the numbers of the columns; for one score a row those are 0 and 1."""

    def __init__(self, classes: Sequence[Any] | None) -> None:
        self.values = None if classes is None else [plain(v) for v in classes]
        if self.values is not None and (len(self.values) < 2 or len(set(self.values)) < len(self.values)):
            raise ValueError(f"classes must be at least two labels, all different, got {self.values}")

    def labels(self, K: int) -> list[Any]:
        """Return the labels of K columns; refuse another number of them than was learned."""
        values = list(range(K)) if self.values is None else self.values
        if len(values) != K:
            raise ValueError(f"expected scores of {len(values)} classes ({values}), got {K}")
        return values

    def codes(self, y: Any, n: int, K: int) -> Array:
        """Return labels as codes."""
        values = self.labels(K)
        given = [plain(v) for v in (y.tolist() if isinstance(y, np.ndarray) else y)]
        if len(given) != n:
            raise ValueError(f"y must have a label for each of {n} rows, got {len(given)}")
        index = {v: k for k, v in enumerate(values)}
        for i, v in enumerate(given):
            if v not in index:
                raise ValueError(f"row {i}: label {v!r} is not among the classes {values}; name all of them as classes")
        return np.array([index[v] for v in given], np.int64)


class Calibrator(Saved):
    """Probabilities from the scores of any classifier, learned on the way.

    Two classes: z = asinh(s/mean |s|), p = sigma(theta_0 + theta_1 z + c), with theta by proximal Newton steps on the log loss that
    forget by a factor of 1, 0.999, 0.99 or 0.9 a row, and c the log odds observed near this forecast less those expected. More
    classes: p_k ~ exp(b_k + a phi_k), phi_k = -asinh((max s - s_k)/mean gap), corrected likewise. Fixed share mixes what the four
    memories say. A learner of this library does the same with `probabilities=True`.

    Parameters: `classes`: the labels, the second of two being the one of the score, or one for each column of scores. Without them
    labels are 0 and 1, or the numbers of the columns.

    Pitfalls: scores must be those from before a row was learned; scores of rows that the classifier has learned make the
    probabilities far too sure.

    Bound: the log loss is at most that of the best of the four memories + ln 4 + ln T after T rows.

    Platt (1999); Guo, Pleiss, Sun, Weinberger (2017); Gupta, Ramdas (2023); Herbster, Warmuth (1998).

    >>> import noregret as nr
    >>> m = nr.Calibrator()
    >>> m.learn_many([2.0, -1.0, 3.0, -2.0], [1, 0, 1, 0]).round(2).tolist()
    [[0.29, 0.71], [0.62, 0.38], [0.15, 0.85], [0.82, 0.18]]
    >>> m.predict_proba([2.5, -2.5]).round(2).tolist()
    [[0.14, 0.86], [0.88, 0.12]]
    """

    file_tag = "calibrator"

    def __init__(self, classes: Sequence[Any] | None = None) -> None:
        self.coder = Coder(classes)
        self.inner: calibrator.Calibrator | None = None

    @property
    def classes_(self) -> list[Any]:
        """The labels, in the order of the columns."""
        return list(self.coder.values or [])

    def learn_many(self, scores: Any, y: Any, sample_weight: Any = None) -> Array:
        """Return the probabilities of rows, a column for each class, from before each is learned; learn them in order."""
        given, K = self._scores(scores)
        codes, c = self.coder.codes(y, len(given.f), K), heft(sample_weight, len(given.f))
        self.coder.values = self.coder.labels(K)
        self.inner = self.inner or calibrator.Calibrator(K)
        return self.inner.follow(given, codes, c)

    def predict_proba(self, scores: Any) -> Array:
        """Return the probabilities of rows, a column for each class; nothing changes."""
        given, K = self._scores(scores)
        return (self.inner or calibrator.Calibrator(K)).of_known(given)

    def _scores(self, scores: Any) -> tuple[Scores, int]:
        """Return scores, and of how many classes they are."""
        f = table("scores", scores)
        f = f[:, None] if f.ndim == 1 else f
        K = max(f.shape[1], 2)
        self.coder.labels(K)
        return Scores(f, f.shape[1] > 1, 1), K

    def pack(self) -> tuple[dict[str, Any], Tensors]:
        """Return everything as JSON values and arrays."""
        labels = None if self.coder.values is None else [encode(v, f"label {v!r}", {}) for v in self.coder.values]
        return {"calibrator": {"classes": labels}}, {} if self.inner is None else dict(self.inner.arrays())

    @classmethod
    def restored(cls, meta: dict[str, Any], tensors: Tensors) -> Self:
        """Return the calibrator of a file, every number of it checked."""
        labels = meta["calibrator"]["classes"]
        found = cls(None if labels is None else decode(labels, {}))
        if tensors:
            expect(labels is not None, "classes", labels)
            found.inner = calibrator.Calibrator(len(found.classes_))
            found.inner.restore(tensors, len(found.classes_))
        return found


class Coverage(Saved):
    """Intervals around the answers of any regressor, or sets of labels, that hold the truth as often as asked for.

    One number u is tracked: u += gamma (miss - alpha), alpha = 1 - level. So, whatever comes, |misses/T - alpha| is at most
    (max u + gamma)/(gamma T) after T rows. The interval is the answer ± r (e^u - 1), r a running mean of the errors, gamma = 0.05;
    the set holds the labels with -ln p <= u, gamma = 0.1, and always the most probable one. A learner of this library does the same
    with `coverage=level`.

    Parameters: `level`: the share of rows whose interval or set shall hold the truth; `classes`: the labels of the columns of
    probabilities, without which they are numbers.

    Pitfalls: the coverage is over time, not for each kind of row; answers must be those from before a row was learned.

    Gibbs, Candes (2021); Angelopoulos, Candes, Tibshirani (2023).

    >>> import noregret as nr
    >>> m = nr.Coverage(0.9)
    >>> m.learn_many([1.0, 2.0, 3.0], [1.5, 1.0, 3.25]).round(2).tolist()
    [[-inf, inf], [1.14, 2.86], [1.62, 4.38]]
    >>> m.predict([4.0]).round(2).tolist()
    [[2.93, 5.07]]
    """

    file_tag = "coverage"

    def __init__(self, level: float = 0.9, classes: Sequence[Any] | None = None) -> None:
        (self.level,) = levels_of([level])
        self.coder = Coder(classes)
        self.intervals = Intervals([self.level])
        self.sets = False  # whether it tracks sets of labels, known from the first rows on

    def learn_many(self, answers: Any, y: Any) -> Array:
        """Return the intervals of rows from before each is learned (low and high), or which labels their sets hold; learn them.

        `answers` are numbers, for intervals, or probabilities with a column for each class, for sets.
        """
        f = self._answers(answers)
        if f.ndim == 1:
            target = table("y", y, 1)
            if len(target) != len(f):
                raise ValueError(f"y must have a number for each of {len(f)} rows, got {len(target)}")
            self.intervals.learn(Scores(f[:, None], False, 0), target, None)
            said = self.intervals.taken()
            assert said is not None
            return around(f, said.reach[:, 0])  # type: ignore[index]
        codes, allowed = self.coder.codes(y, *f.shape), np.empty((len(f), 1))
        self.coder.values, self.sets = self.coder.labels(f.shape[1]), True
        likely = np.ascontiguousarray(f[np.arange(len(f)), codes])
        compiled(learn_sets)(likely, np.ones(len(f), np.bool_), self.intervals.u, self.intervals.alpha, allowed)
        return members(f, allowed[:, 0])

    def predict(self, answers: Any) -> Array:
        """Return the intervals or sets of rows; nothing changes."""
        f = self._answers(answers)
        if f.ndim == 2:
            return members(f, float(self.intervals.u[0]))
        return around(f, self.intervals.told(Scores(f[:, None], False, 0), 0).reach[:, 0])  # type: ignore[index]

    def _answers(self, answers: Any) -> Array:
        f = table("answers", answers)
        if (f.ndim == 1 and self.sets) or (f.ndim == 2 and self.intervals.scale[1] > 0.0):
            raise ValueError("answers were numbers and are probabilities now, or the other way round: use another Coverage")
        if f.ndim == 2:
            self.coder.labels(f.shape[1])
            if (f < 0.0).any() or (np.abs(f.sum(axis=1) - 1.0) > 1e-3).any():
                row = int(np.argmax((f < 0.0).any(axis=1) | (np.abs(f.sum(axis=1) - 1.0) > 1e-3)))
                raise ValueError(f"answers with columns must be probabilities that sum to 1: row {row} has {f[row].tolist()}")
            f = np.maximum(f, LEAST)
        return f

    def pack(self) -> tuple[dict[str, Any], Tensors]:
        """Return everything as JSON values and arrays."""
        labels = None if self.coder.values is None else [encode(v, f"label {v!r}", {}) for v in self.coder.values]
        return {"coverage": {"level": self.level, "classes": labels, "sets": self.sets}}, dict(self.intervals.arrays())

    @classmethod
    def restored(cls, meta: dict[str, Any], tensors: Tensors) -> Self:
        """Return the coverage of a file, every number of it checked."""
        own = meta["coverage"]
        found = cls(own["level"], None if own["classes"] is None else decode(own["classes"], {}))
        found.sets = bool(own["sets"])
        found.intervals.restore(tensors, 0)
        return found


def around(f: Array, reach: Array) -> Array:
    """Return intervals, low and high; one that reaches less than nothing is the answer alone."""
    r = np.maximum(reach, 0.0)
    return np.column_stack([f - r, f + r])
