"""Several domains at once: every row belongs to one, and each has a column of the weights. Users call them tasks.

Rows carry the names of their domains (the side column `domain`), so that whatever hands rows on hands on the domains.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from ..files.json_values import Tensors, decode, encode, expect
from ..inputs import checking
from ..inputs.checking import Rows
from ..inputs.features import Features, Named, is_dicts
from ..inputs.labels import Labelled, Labels, distinct, some
from ..learners.drivers import Text
from ..learners.learner import Learner, Progress
from ..learners.model import Model
from .classes import answered
from .classification import Classifier
from .loops import COLUMN_PER_DOMAIN

if TYPE_CHECKING:
    Base = Learner
    LabelBase = Classifier
else:
    Base = LabelBase = object


class DomainModel(Model):
    """A model with a column of weights, where others have classes, for each domain."""

    column = "domain"

    def __init__(self, learner: Learner, features: Features, labels: Labels | None, sparse: bool = False) -> None:
        self.domains: dict[Any, int] = {}  # the number of each
        super().__init__(learner, features, labels, sparse)

    @property
    def text(self) -> Text:
        """The loops over rows."""
        return COLUMN_PER_DOMAIN

    def pack(self) -> tuple[dict[str, Any], Tensors]:
        """Return what the model is, with its domains in the order of their numbers."""
        meta, tensors = super().pack()
        return {**meta, "tasks": [encode(v, f"task {v!r}", {}) for v in self.domains]}, tensors

    @classmethod
    def restored(cls, learner: Any, meta: dict[str, Any], tensors: Tensors) -> Self:
        """Return the packed model of a learner."""
        expect(not meta["many"], "one score for each row", meta["many"])
        m = super().restored(learner, meta, tensors)
        m.domains = domains_of(meta)
        return m

    @classmethod
    def rows_in(cls, meta: dict[str, Any], labels: Labels | None) -> int:
        """Return how many rows of weights a file must have: one for each domain."""
        return max(len(domains_of(meta)), 1)

    def numbered(self, domains: Any) -> np.ndarray:
        """Return the number of the domain of each row, -1 for one that is not known."""
        return np.fromiter(map(self.domains.get, domains, repeat(-1)), np.int64, len(domains))

    def meet(self, domains: Iterable[Any]) -> None:
        """Make room for domains that are new."""
        for v in dict.fromkeys(domains):
            self.domains.setdefault(v, len(self.domains))
        self.resize(domain=max(len(self.domains), 1))

    def fork(self) -> Self:
        """Return an independent copy."""
        m = super().fork()
        m.domains = dict(m.domains)
        return m

    def unite(self, models: list[Self]) -> tuple[list[Self], list[dict[str, Any]]]:
        """Make room for the features and domains of models; return them, and where their cells go."""
        labels = {v for m in models for v in (m.labels.values if m.labels else ())}
        if len(labels) > 2:
            raise ValueError(f"cannot merge: all tasks share two labels, found {list(labels)}")
        models, places = super().unite(models)
        for m in models[1:]:
            self.meet(list(m.domains))
        rows = [[self.domains[v] for v in m.domains] for m in models]
        return models, [{**p, "domain": r} for p, r in zip(places, rows, strict=True)]

    def learn(self, rows: Rows, y: np.ndarray, c: np.ndarray | None) -> np.ndarray:
        """Predict, then learn, on each row in order; return the scores from before each update."""
        domains = rows.columns["domain"]
        self.meet(domains if c is None else domains[c > 0.0])  # rows of weight 0 change nothing
        weights, out = np.ones(rows.n) if c is None else c, np.empty((rows.n, 1))
        given = (self.numbered(domains), self.dims["domain"], weights, y, self.tally, out)
        self.loop(rows.layout, True).learn(*self.args, *rows.arrays, *given)
        return out

    def score(self, rows: Rows) -> np.ndarray:
        """Return the scores, 0 for a domain that is not known; nothing changes."""
        out = np.empty((rows.n, 1))
        given = (self.numbered(rows.columns["domain"]), self.dims["domain"], out)
        self.loop(rows.layout, True).predict(*self.args, *rows.arrays, *given)
        return out


def domains_of(meta: dict[str, Any]) -> dict[Any, int]:
    """Return the table of domains in a file."""
    expect(isinstance(meta["tasks"], list), "a list of tasks", meta["tasks"])
    values = decode(meta["tasks"], {})
    found = {v: k for k, v in enumerate(values)}
    expect(len(found) == len(values), "different tasks", values)
    return found


class WithDomains(NamedTuple):
    """Rows and the tasks a caller named for them."""

    X: Any
    tasks: Any


def checked(tasks: Any, n: int) -> np.ndarray:
    """Return the task of each of n rows, all of them values that can be looked up."""
    if tasks is None:
        raise ValueError("every row belongs to a task, got none: give tasks=, or task_column= for tables and dicts")
    if isinstance(tasks, str) or not isinstance(tasks, (Sequence, np.ndarray)):
        given = [tasks] * n
    else:
        given = tasks.tolist() if isinstance(tasks, np.ndarray) else list(tasks)
    if len(given) != n:
        raise ValueError(f"tasks must be one value, or one for each of the {n} rows; got {len(given)}")
    try:
        odd = [v for v in set(given) if v is None or v != v]
    except TypeError:
        odd = [v for v in given if not hashes(v)]
    if odd:
        row = next(i for i, v in enumerate(given) if v is odd[0])
        raise ValueError(f"the task of row {row} must be a value that can be looked up, got {odd[0]!r}")
    return np.fromiter((v.item() if isinstance(v, np.generic) else v for v in given), object, n)


class Domains(Base):
    """Methods common to learners of several tasks: they take tasks, or rows carry theirs."""

    by_domain: ClassVar[bool] = True
    listed: ClassVar[bool] = False
    model_class: ClassVar[Any] = DomainModel

    # ---- input -------------------------------------------------------------------------------------------------------
    def _given(self, X: Any, tasks: Any) -> tuple[Any, np.ndarray]:
        """Return rows without the column of tasks, and the task of each."""
        column = self.task_column
        if is_dicts(X) and column is not None:
            lacking = next((i for i, x in enumerate(X) if column not in x), None)
            if tasks is None and lacking is not None:
                raise ValueError(f"row {lacking} has no {column!r}, which names its task: put it into the dict, or give tasks=")
            tasks = [x[column] for x in X] if tasks is None else tasks
            X = [{k: v for k, v in x.items() if k != column} for x in X]
        elif column is not None and column in (checking.column_names(X) or ()):
            arrow, rest = hasattr(X, "column_names"), [name for name in checking.column_names(X) or () if name != column]
            cells = X.column(column).to_pylist() if arrow else X[column].to_list()
            X, tasks = X.select(rest) if arrow else X[rest], cells if tasks is None else tasks
        return X, checked(tasks, X.shape[0] if hasattr(X, "shape") else len(X))

    def _whole(self, X: Any) -> tuple[Rows, Features | None]:
        X, tasks = self._given(*X)
        rows, features = super()._whole(X)
        return rows.beside(domain=tasks), features

    def _scores(self, X: Any) -> np.ndarray:
        X, tasks = self._given(*X)
        return self._answered(self.model, self._placed(X).beside(domain=tasks))

    def score_rows(self, rows: Rows) -> np.ndarray:
        """Return the scores of checked rows, which carry their domains."""
        m = self.model
        m.features.check(rows, type(self).__name__)
        return self._answered(m, self.place(m, rows.beside(domain=checked(rows.column("domain"), rows.n)), grow=False))

    def _answered(self, m: Any, rows: Rows) -> np.ndarray:
        """Return the scores of rows of tasks that are all known."""
        new = next((v for v in rows.columns["domain"] if v not in m.domains), None)
        if new is not None:
            raise ValueError(f"task {new!r} has never been learned; known are {list(m.domains)}")
        found: np.ndarray = m.score(rows)
        return found

    def _score_runs(self, X: Any) -> Iterator[np.ndarray]:
        """Yield the scores of rows: one for each."""
        yield self._scores(X)

    # ---- learning ----------------------------------------------------------------------------------------------------
    def learn_rows(
        self, rows: Rows | Named, y: Any, c: np.ndarray | None, features: Features | None = None, keep: bool = True
    ) -> list[Progress]:
        """Learn from checked rows in order, which carry their domains."""
        return super().learn_rows(rows.beside(domain=checked(rows.column("domain"), rows.n)), y, c, features, keep)

    def _learn(self, X: Any, y: Any, tasks: Any, sample_weight: Any) -> list[Progress]:
        """Learn from rows or dicts in order, once all of them have passed the checks."""
        X, tasks = self._given(X, tasks)
        c = checking.sample_weights(sample_weight, len(tasks))
        return self.learn_rows(self._batch(X).beside(domain=tasks), y, c)

    def learn_many(  # type: ignore[override]
        self, X: Any, y: Any = None, tasks: Any = None, sample_weight: Any = None
    ) -> np.ndarray:
        """Predict, then learn, on each row in order; return the scores from before each update."""
        return self._outside(np.concatenate([piece.f for piece in self._learn(X, y, tasks, sample_weight)]))

    def _outside(self, f: np.ndarray) -> np.ndarray:
        """Return scores as `decision_function` does."""
        return f[:, 0]

    def partial_fit(  # type: ignore[override]
        self, X: Any, y: Any = None, tasks: Any = None, sample_weight: Any = None
    ) -> Self:
        """Learn from rows in order; `tasks` names the task of each row, or of all."""
        self._learn(X, y, tasks, sample_weight)
        return self

    def fit(  # type: ignore[override]
        self,
        X: Any,
        y: Any = None,
        tasks: Any = None,
        sample_weight: Any = None,
        *,
        epochs: int | None = None,
        until: str | None = None,
    ) -> Self:
        """Forget, then learn from all rows: `epochs` times, or `until="separated"`, the first epoch without an update."""
        return super().fit(WithDomains(X, tasks), y, sample_weight, epochs=epochs, until=until)

    def learn_one(self, x: Any, y: Any = None, task: Any = None, w: float = 1.0) -> Any:  # type: ignore[override]
        """Learn one example of a task with weight w; return the prediction made before (None when no label was known)."""
        return self._before(self._learn(one(x), [y], None if task is None else [task], [w])[0])

    def _before(self, piece: Progress) -> Any:
        """Return the answer given before a row was learned."""
        return float(piece.f[0, 0])

    # ---- answering ---------------------------------------------------------------------------------------------------
    def predict(self, X: Any, tasks: Any = None) -> np.ndarray:
        """Return the label, or the number, of each row."""
        found: np.ndarray = super().predict(with_domains(X, tasks))  # type: ignore[misc]
        return found

    def predict_one(self, x: Any, task: Any = None) -> Any:
        """Return the label, or the number, of one example of a task."""
        return self.predict(one(x), None if task is None else [task]).tolist()[0]

    def score(self, X: Any, y: Any, tasks: Any = None, sample_weight: Any = None) -> float:
        """Return the accuracy, or R^2 for real targets."""
        return float(super().score(with_domains(X, tasks), y, sample_weight))  # type: ignore[misc]

    def compact(self) -> Any:
        """Refuse: a compact predictor knows no tasks."""
        raise TypeError(f"{type(self).__name__} has no compact form: a predictor without its learner knows no tasks; use save")

    # ---- reading back ------------------------------------------------------------------------------------------------
    @property
    def tasks_(self) -> list[Any]:
        """The tasks, in order of first appearance."""
        return list(self.model.domains)

    @property
    def nonzeros_(self) -> dict[Any, int]:
        """How many weights of each task are not 0, without those of the constant feature."""
        return dict(zip(self.tasks_, np.count_nonzero(self._all_weights()[0], axis=1).tolist(), strict=True))

    @property
    def coef_(self) -> Any:
        """The weights, a row for each task of `tasks_`."""
        return self._read(self._oriented(self._all_weights()[0]))

    @property
    def intercept_(self) -> np.ndarray:
        """The weight of the constant feature for each task."""
        return self._oriented(self._all_weights()[1])

    def _oriented(self, w: np.ndarray) -> np.ndarray:
        return w


class DomainsClassifier(Domains, LabelBase):  # type: ignore[misc]
    """The same with two labels, which all tasks share."""

    def _codes(self, m: Model, y: Labelled, c: np.ndarray | None = None) -> np.ndarray:
        assert m.labels is not None
        new = m.labels.missing(distinct(y if c is None else some(y, c > 0.0))[0])
        if len(m.labels) + len(new) > 2:
            found = [*m.labels.values, *new]
            raise ValueError(f"{type(self).__name__} is for two labels, shared by all tasks; found {found}")
        return super()._codes(m, y, c)

    def _outside(self, f: np.ndarray) -> np.ndarray:
        return self.task.margins(self.model, f) if self.started else f[:, 0]

    def _before(self, piece: Progress) -> Any:
        code = int(answered(piece)[0][0])
        labels = self.model.labels if self.started else None
        return labels.values[code] if labels is not None and code >= 0 else None

    def decision_function(self, X: Any, tasks: Any = None) -> np.ndarray:
        """Return the score of each row, above 0 for `classes_[1]`."""
        return super().decision_function(with_domains(X, tasks))

    def _oriented(self, w: np.ndarray) -> np.ndarray:
        return Classifier._oriented(self, w)


def hashes(v: Any) -> bool:
    """Return whether a value can be looked up."""
    try:
        hash(v)
    except TypeError:
        return False
    return True


def with_domains(X: Any, tasks: Any) -> WithDomains:
    """Return rows with their tasks."""
    return X if isinstance(X, WithDomains) else WithDomains(X, tasks)


def one(x: Any) -> Any:
    """Return one example as a batch."""
    return [x] if isinstance(x, Mapping) else np.reshape(np.asarray(x, np.float64), (1, -1))
