"""A predictor that cannot learn: the weights that are not 0, and the features that have them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..algorithm.rounds import EXAMPLES, MISTAKES, SEEN, TIE, UPDATES
from ..calibration.calibration import Scores
from ..calibration.calibrator import Calibrator
from ..files.json_values import Tensors, expect
from ..files.model_file import Saved
from ..files.saved_tables import features_meta, features_of, labels_meta, labels_of, names_tensors
from ..inputs import checking
from ..inputs.checking import Rows, sparse_row
from ..inputs.features import Columns, Features, Hashed, Names, is_dicts, stacked
from ..inputs.labels import label_array
from ..learners.calibrated import packed, restore, unpacked
from ..learners.columned import refuse_names
from ..learners.learner import Learner
from ..learners.task import TASKS, Task, in_runs


class Compactable(Learner):
    """A learner that can give its weights as a predictor."""

    def compact(self) -> Compact:
        """Return a predictor with the non-zero weights alone (see Compact): small in memory and on disk, and unable to learn."""
        return Compact(self)


class Compact(Saved):
    """A predictor made by `compact()` from a learner with linear weights: the same answers, in the space of the non-zero weights.

    Names of other features are forgotten; an unknown name counts nothing. Files are small and quick to load (`nr.load`),
    and nothing is compiled to answer dicts. It cannot learn: keep the learner for that.

    `features_`: the names, or the columns, that have weights; `coef_`: a row of their weights for each class (one row with two
    classes or a real target), `intercept_`, `classes_`.

    >>> import noregret as nr
    >>> m = nr.RDA(lambda_=0.1)
    >>> for _ in range(20):
    ...     _ = m.learn_one({"free": 1, "the": 1}, "spam"), m.learn_one({"agenda": 1, "the": 1}, "ham")
    >>> small = m.compact()
    >>> small.features_, small.predict_one({"free": 1, "the": 1})
    (['free', 'agenda'], 'spam')
    """

    file_tag = "compact"

    def __init__(self, learner: Learner) -> None:
        m = learner.model
        if m.nonzeros() is None:
            raise TypeError(
                f"this {type(learner).__name__} answers by the rows it keeps, not by weights of features: save it whole"
            )
        if learner.score_row is not None:
            raise TypeError(f"{type(learner).__name__} does not answer with the dot product with its weights alone: save it whole")
        W = m.weights().T  # a row for each coordinate
        bias = W[m.features.constant].copy() if m.features.bias else np.zeros(W.shape[1])
        if m.features.bias:
            W[m.features.constant] = 0.0
        at = np.flatnonzero(W.any(axis=1))
        self.name = learner.name
        self.task: Task = learner.task
        self.features, self.at = reduced(m.features, at)
        self.W, self.b = W[at], bias
        self.labels, self.many = m.labels, m.many
        self.tally = m.tally.copy()
        self.calibration = copy.deepcopy(m.calibration)

    # ---- as a learner that has learned -------------------------------------------------------------------------------
    started = True

    @property
    def model(self) -> Compact:
        """What it learned: this is all there is of it."""
        return self

    @property
    def n_seen_(self) -> int:
        """Examples that the learner had learned from."""
        return int(self.tally[EXAMPLES])

    @property
    def n_updates_(self) -> int:
        """Its updates."""
        return int(self.tally[UPDATES])

    @property
    def n_mistakes_(self) -> int:
        """Its mistakes on the way."""
        return int(self.tally[MISTAKES])

    # ---- answering ---------------------------------------------------------------------------------------------------
    def _placed(self, X: Any) -> Rows:
        """Return rows with their features in their places."""
        if is_dicts(X):
            return stacked(self.features, X, grow=False)
        rows = checking.rows(X, "float64")
        known = self.features.names if isinstance(self.features, Columns) else None
        if known and rows.names is not None and known != rows.names:
            refuse_names(known, rows.names)
        return self._fitting(rows)

    def _fitting(self, rows: Rows) -> Rows:
        """Return checked rows with their features in their places."""
        self.features.check(rows, "Compact")
        return self.features.rows(rows, False)

    def score_rows(self, rows: Rows) -> np.ndarray:
        """Return the scores of checked rows, one per class in order of codes."""
        return np.concatenate(list(self._runs(self._fitting(rows))))

    def _score_runs(self, X: Any) -> Iterator[np.ndarray]:
        """Yield the scores of rows, in runs."""
        yield from self._runs(self._placed(X))

    def _runs(self, rows: Rows) -> Iterator[np.ndarray]:
        """Yield scores in runs that take bounded memory: a sparse row has a term for each number stored and class."""
        stored = 1 if rows.layout == "dense" else int(np.diff(rows.arrays[0]).max(initial=1))
        for a, b in in_runs(rows.n, stored * self.W.shape[1]):
            yield self._of(rows.cut(a, b))

    def _of(self, rows: Rows) -> np.ndarray:
        """Return the scores of rows that are in their places."""
        if rows.layout == "dense":
            return np.asarray(rows.arrays[0][:, self.at] @ self.W + self.b)
        indptr, indices, data = rows.arrays
        a, b = int(indptr[0]), int(indptr[-1])
        places = np.searchsorted(self.at, indices[a:b])
        known = self.at[np.minimum(places, max(len(self.at) - 1, 0))] == indices[a:b] if len(self.at) else np.zeros(b - a, bool)
        row = np.repeat(np.arange(rows.n), np.diff(indptr))[known]
        terms = data[a:b][known, None] * self.W[places[known]]
        return np.column_stack([np.bincount(row, column, rows.n) for column in terms.T]) + self.b

    def predict(self, X: Any) -> np.ndarray:
        """Return the label, or the number, of each row."""
        return np.concatenate([self.task.answers(self, f) for f in self._score_runs(X)])

    def predict_one(self, x: Any) -> Any:
        """Return the label, or the number, of one example."""
        f = self._of(sparse_row(*self.features.row(x, False)))[0]
        return self.task.answer(self, f)

    def decision_function(self, X: Any) -> np.ndarray:
        """Return a score per class in the order of `classes_`; with two classes one score, above 0 for the second."""
        if self.labels is None:
            raise AttributeError("decision_function: this is a regression; use predict")
        return self.task.margins(self, np.concatenate(list(self._score_runs(X))))

    @property
    def predict_proba(self) -> Callable[[Any], np.ndarray]:
        """`predict_proba(X)`: the probability of each class, in the order of `classes_`, as those of the learner are."""
        if self.calibration is None:
            raise AttributeError("predict_proba: the learner was not created with probabilities=True")
        return self._predict_proba

    def _predict_proba(self, X: Any) -> np.ndarray:
        return self._chances(np.concatenate(list(self._score_runs(X))))

    def chances_of(self, rows: Rows) -> np.ndarray:
        """Return the probabilities of checked rows, in the order of `classes_`."""
        return self._chances(self.score_rows(rows))

    def _chances(self, f: np.ndarray) -> np.ndarray:
        assert self.calibration is not None
        assert self.labels is not None
        scores = Scores(f, self.many, self.labels.positive)
        return self.calibration.forecast(scores, len(self.labels))[:, self.labels.order]

    def partial_fit(self, *args: Any, **kwargs: Any) -> Any:
        """Refuse: this is a predictor."""
        raise TypeError("a Compact only predicts: learn with the learner it was made of, and call its compact() again")

    fit = learn_one = learn_many = partial_fit

    # ---- reading back ------------------------------------------------------------------------------------------------
    @property
    def features_(self) -> list[Any]:
        """The features that have weights: names, or numbers of columns (places, where names are hashed)."""
        if isinstance(self.features, Names):
            return list(self.features.names)
        numbers = self.at - int(self.features.bias and self.features.constant == 0)
        names = self.features.names if isinstance(self.features, Columns) else None
        return [int(j) if names is None else names[j] for j in numbers]

    @property
    def coef_(self) -> np.ndarray:
        """The weights of these features."""
        return self.W.T.copy() if self.labels is None else np.atleast_2d(self.task.margins(self, self.W).T)

    @property
    def intercept_(self) -> np.ndarray:
        """The weight of the constant feature, for each class or alone."""
        return self.b.copy() if self.labels is None else np.ravel(self.task.margins(self, self.b[None]))

    @property
    def classes_(self) -> np.ndarray:
        """The labels, sorted."""
        if self.labels is None:
            raise AttributeError("classes_: this is a regression")
        return label_array(self.labels.sorted)

    def __repr__(self) -> str:
        return f"<Compact {self.name}: {len(self.at)} features, {np.count_nonzero(self.W)} weights>"

    # ---- files -------------------------------------------------------------------------------------------------------
    def pack(self) -> tuple[dict[str, Any], Tensors]:
        """Return everything as JSON values and arrays."""
        own = {"learner": self.name, "task": self.task, "many": self.many, "labels": labels_meta(self.labels)}
        tensors = {"at": self.at, "W": self.W, "b": self.b, "tally": self.tally, **names_tensors(self.features)}
        meta, tensors = packed(self.calibration, {**own, "features": features_meta(self.features)}, tensors)
        return {"compact": meta}, tensors

    @classmethod
    def restored(cls, meta: dict[str, Any], tensors: dict[str, np.ndarray]) -> Compact:
        """Return the predictor of a file, every number of it checked."""
        from . import classification, one_class, regression  # noqa: F401  these make their tasks known

        own, names = meta["compact"], tensors.pop("features", None)
        self = cls.__new__(cls)
        calibrated = unpacked(tensors)
        expect(own["task"] in TASKS, "a task this version knows", own["task"])
        self.name, self.task, self.many = own["learner"], TASKS[own["task"]], own["many"]
        self.features, self.labels = features_of(own["features"], names), labels_of(own["labels"])
        expect(tensors.keys() == {"at", "W", "b", "tally"}, "the tensors at, W, b, tally", sorted(tensors))
        self.at, self.W, self.b, self.tally = (tensors[k] for k in ("at", "W", "b", "tally"))
        expect(type(self.many) is bool and (self.labels is not None) == self.task.labelled, "labels", own["labels"])
        columns = len(self.labels) if self.labels is not None and self.many else 1
        expect(self.W.dtype == np.float64 and self.W.shape == (len(self.at), columns), f"W of {columns} columns", self.W.shape)
        expect(self.b.dtype == np.float64 and self.b.shape == (columns,), f"b of {columns} numbers", self.b.shape)
        expect(bool(np.isfinite(self.W).all() and np.isfinite(self.b).all()), "finite weights", "others")
        rising = self.at.ndim == 1 and bool((self.at[1:] > self.at[:-1]).all())  # a difference could overflow
        inside = rising and (len(self.at) == 0 or (self.at[0] >= 0 and self.at[-1] < self.features.size))
        expect(self.at.dtype == np.int64 and bool(inside), f"different places in order, below {self.features.size}", self.at)
        expect(self.tally.dtype == np.int64 and self.tally.shape == (5,) and abs(self.tally[TIE]) <= 1, "a tally", self.tally)
        expect(bool(0 <= self.tally[SEEN] <= (columns if self.many else 3)), "a tally", self.tally)
        expect(not self.many or self.tally[SEEN] > 0, "a tally of classes that were seen", self.tally)
        known = 0 if self.labels is None else len(self.labels)
        self.calibration = Calibrator(known) if own.get("calibrated") is True and known else None
        restore(self.calibration, own, calibrated, known)
        return self


def reduced(features: Features, at: np.ndarray) -> tuple[Features, np.ndarray]:
    """Return a table that knows the features of these coordinates, and where they are in it."""
    if isinstance(features, Names):
        names, small = features.names, Names(features.bias)
        small.row({names[j - features.bias]: 0.0 for j in at}, True)
        return small, np.arange(len(at)) + int(features.bias)
    if isinstance(features, Hashed):
        small_table = Hashed(features.bits, features.bias)
        small_table.width = features.width
        return small_table, at
    return features, at
