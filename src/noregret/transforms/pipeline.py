"""Pipelines: a front and a learner behind it, with the verbs of a learner. This is what is saved."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

import numpy as np

from ..algorithm.params import same_value
from ..algorithm.state import settle, tmap
from ..calibration.calibration import pausing
from ..files.json_values import Tensors, encode_own
from ..files.model_file import Saved
from ..inputs import checking
from ..inputs.batch import Batch
from ..inputs.checking import Rows
from ..inputs.features import is_dicts
from ..inputs.labels import Coded
from ..learners.base import not_learned
from ..learners.learner import Learner, Progress, has_bias
from ..learners.learner_file import as_value, restored
from ..learners.merging import aligned, joined
from ..tasks.classes import widest
from ..tasks.classification import Classifier
from ..unsupervised.without_targets import Unlabelled
from ..unsupervised.word_counts import counts, is_document
from .feature_map import Approximation, FeatureMap
from .front import Front, map_meta, map_of
from .maps import MAPS, as_map, is_map
from .scale import Normalize
from .side_columns import targets_and_sides
from .step import Map
from .table import Table, listed, plain
from .table_cells import category_text, is_frame, record_of
from .table_settings import Category, Cross, Date, Hash, Ignore, Number, TableSetting, Text

__all__ = ["Category", "Cross", "Date", "Hash", "Ignore", "Number", "Pipeline", "Text", "pipeline"]


TEXT = "text"  # what the column of texts is called that come without a name
ASKED = (
    "decision_function", "predict_proba", "predict_proba_one", "predict_set", "predict_set_one", "predict_interval",
    "predict_interval_one", "calibrate", "transform", "errors",
)  # fmt: skip  # of the learner, where it has them


def pipeline(*steps: Any) -> Pipeline:
    """Return a pipeline: a Table or settings of one (Text, Category, Cross, Hash, ...), maps of rows, and last a learner.

    Maps are Scale, Normalize, those to the features of a kernel (RandomFourier, RandomBinning, Nystroem), learners of components
    (OnlinePCA, OnlineSVD, DictionaryLearner) or topics (OnlineLDA, OnlineHDP), and registered ones.

    Settings are merged into one Table. The result is a learner: it learns, answers, saves and merges as one.

    >>> import noregret as nr
    >>> m = nr.pipeline(nr.Text("body"), nr.Category("country"), nr.Scale(), nr.PA1(C=0.1))
    >>> m.learn_one({"body": "free money now", "country": "DE", "age": 30}, "spam")
    >>> m.learn_one({"body": "lunch at noon", "country": "FR"}, "ham")
    'spam'
    >>> m.predict_one({"body": "free lunch money"})
    'spam'
    """
    given = [s for s in steps if isinstance(s, TableSetting)]
    if not given:
        return Pipeline(list(steps))
    tables = [s for s in steps if isinstance(s, Table)]
    settings = tables[0].get_params() if tables else {}
    for step in given:
        step.into(settings)
    rest = [s for s in steps if not isinstance(s, (TableSetting, Table))]
    return Pipeline([Table(**settings), *tables[1:], *rest])


class Pipeline(Saved):
    """A front and a learner as one learner. X may be dicts, a frame (pandas, polars, Arrow), texts, an array or a sparse matrix.

    Texts are the column "text" of a table, lists of words are dicts of counts. Frames and dicts get a Table of their own when none
    is given. What the learner can be asked, the pipeline can be asked.
    """

    file_tag = "pipeline"

    def __init__(self, steps: Any) -> None:
        self.steps = [*map(as_map, steps[:-1]), steps[-1]] if any(isinstance(s, Unlabelled) for s in steps[:-1]) else steps
        self.check_rows()
        self._front: Front | None = None

    def check_rows(self) -> None:
        """Refuse steps out of order."""
        steps = self.steps
        if not steps or not isinstance(steps[-1], (Learner, Unlabelled)):
            raise TypeError("the last step of a pipeline must be a learner, such as PA1()")
        for i, step in enumerate(steps[:-1]):
            if not isinstance(step, Table) and not is_map(step):
                known = ", ".join(cls.__name__ for cls in MAPS.values())
                hint = ": register its class (noregret.transforms.maps.register)" if isinstance(step, Map) else ""
                raise TypeError(f"step {i} must be a Table (or a part of one) or one of {known}, got {step!r}{hint}")
            if isinstance(step, Table) and i > 0:
                raise TypeError("a pipeline has one Table, as its first step")

    @classmethod
    def of(cls, front: Front, learner: Learner) -> Self:
        """Return a pipeline of a front and a learner as they are."""
        m = learner.held
        if m is not None and front.outputs is not None:
            if front.outputs != m.features.width:
                raise ValueError(f"expected a learner of {front.outputs} features, those of {front!r}, found {m.features.width}")
        elif m is not None and front.table is not None and front.table.hash_bits != getattr(m.features, "bits", None):
            raise ValueError(f"expected the features of {front.table!r}, found a learner of {m.features.kind}")
        if m is not None:
            front.entitle(m.features)
        made = cls([learner])
        made.adopt(front)
        return made

    @property
    def learner(self) -> Learner:
        """The learner at the end."""
        found: Learner = self.steps[-1]
        return found

    @property
    def front(self) -> Front:
        """What stands before the learner."""
        if self._front is None:
            table = self._table(self.steps[0]) if isinstance(self.steps[0], Table) else None
            self._front = Front(table, [s.fresh() for s in self.steps[:-1] if isinstance(s, Map)])
        return self._front

    def adopt(self, front: Front) -> None:
        """Take over a front with its settings: that of a source, which has its columns and the options they were given."""
        table = [] if front.table is None else [front.table.fresh()]
        self.steps = [*table, *(m.fresh() for m in front.maps), self.learner]
        self._front = front

    def _table(self, given: Table) -> Table:
        """Return a new table with the settings of one; a learner of several tasks may name their column."""
        column = getattr(self.learner, "task_column", None)
        return given.fresh() if column is None else Table(**{**given.get_params(), "task": column})

    # ---- rows ----------------------------------------------------------------------------------------------------------
    def _data(self, X: Any) -> Any:
        """Return X as the front takes it: a record batch, a list of dicts, or checked Rows."""
        texts = by_words(X)
        named = texts or is_frame(X) or is_dicts(X)
        if named and self.front.table is None:
            if self.front.width is not None or self.learner.started:
                raise TypeError("this pipeline has learned from rows of numbers: expected an array or sparse matrix")
            self.front.table = self._table(Table(text=TEXT) if texts and isinstance(X[0], str) else Table())
        if not named and self.front.table is not None:
            raise TypeError(f"this pipeline learns from named columns: expected a frame or dicts, got a {type(X).__name__}")
        if texts:
            column = next(iter(listed(self.front.table.text)), TEXT)  # type: ignore[union-attr]
            return [{column: x} if isinstance(x, str) else counts(x) for x in X]
        if named:
            return record_of(X) if is_frame(X) else list(X)
        return checking.rows(X, "float64")

    def _given(self, X: Any, y: Any, sample_weight: Any) -> tuple[Rows, Any, np.ndarray | None]:
        """Return scaled rows to learn from, targets and weights; those not given come from the columns of the table."""
        data = self._data(X)
        if isinstance(data, list):
            y, sample_weight = self._from_dicts(data, y, sample_weight)
        n = len(data) if isinstance(data, list) else data.n if isinstance(data, Rows) else data.num_rows
        c = checking.sample_weights(sample_weight, n)
        if isinstance(data, (list, Rows)) or y is not None:  # the target column is left out, whether it is there or not
            return self.front.scaled(data, True), y, c
        batch = self.front.filled(Batch(data, None, {}).beside(weight=c), True)
        return self.front.scaled(data, True), batch.y, batch.column("weight")

    def _from_dicts(self, data: list[Any], y: Any, sample_weight: Any) -> tuple[Any, Any]:
        """Return targets and weights, from the dicts where they are not given."""
        table = self.front.table
        assert table is not None
        try:
            if y is None and table.target is not None:
                y = [x[table.target] for x in data]
                y = [category_text(v) if table.labels_are_text and isinstance(v, (int, float)) else v for v in y]
            if sample_weight is None and table.weight is not None:
                sample_weight = [x[table.weight] for x in data]
        except KeyError as e:
            raise ValueError(f"an example has no {e}, the target or weight; pass y, or put it into every dict") from None
        return y, sample_weight

    def _learn(
        self, rows: Rows, y: Any, c: np.ndarray | None, classes: Any = None, learn: bool = True, keep: bool = False
    ) -> list[Progress]:
        """Map scaled rows and hand them to the learner; if it refuses any, all is as before. Return what is to be kept."""
        pieces = self.front.pieces(rows)
        if len(pieces) < 2:
            return self._hand(self.front.mapped(rows, learn), y, c, classes, keep)
        before, done = copy.deepcopy(self.learner.__dict__), []
        try:
            if not isinstance(self.learner, Classifier):
                y = self.learner.targets(y, rows.n)
            elif not isinstance(y, Coded):
                y = checking.targets(y, rows.n, numeric=False)
            for a, b in pieces:
                part = slice(a, b)
                some = y._replace(codes=y.codes[part]) if isinstance(y, Coded) else y[part]
                done += self._hand(self.front.mapped(rows.cut(a, b), learn), some, None if c is None else c[part], classes, keep)
        except BaseException:
            self.learner.__dict__.clear()
            self.learner.__dict__.update(before)
            self.front.back()
            raise
        return done

    def _hand(self, rows: Rows, y: Any, c: np.ndarray | None, classes: Any = None, keep: bool = False) -> list[Progress]:
        """Hand rows to the learner; if it refuses them, the front goes back too."""
        learner: Any = self.learner
        began = learner.started
        try:
            features = self.front.features(has_bias(learner))
            if classes is not None:
                m = learner.model if began else learner.new_model(rows, features, classes)
                learner.check_classes(m, classes)
                learner.model = m
            done: list[Progress] = learner.learn_rows(rows, y, c, features, keep)
            return done
        except BaseException:
            if not began:
                learner.model = None
            self.front.back()
            raise

    # ---- learning --------------------------------------------------------------------------------------------------------
    def learn_many(self, X: Any, y: Any = None, sample_weight: Any = None) -> np.ndarray:
        """Predict, then learn, on each row in order; return the scores from before each update."""
        done = self._learn(*self._given(X, y, sample_weight), keep=True)
        if isinstance(self.learner, Classifier):
            return self.learner.task.margins(self.learner.model, widest(done))
        return np.concatenate([piece.f[:, 0] for piece in done])

    def partial_fit(self, X: Any, y: Any = None, *, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from rows in order. New classes may appear at any time unless `classes` were declared."""
        self._learn(*self._given(X, y, sample_weight), classes)
        return self

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, epochs: int | None = None) -> Self:
        """Forget, then learn from all rows, `epochs` times. The front learns in the first epoch and stays in the others."""
        kept = self.learner.held, self._front
        self.learner.model = self._front = None
        learner = self.learner
        epochs = getattr(learner, "epochs", 1) if epochs is None else epochs
        if not (isinstance(epochs, (int, np.integer)) and epochs >= 1):
            raise ValueError(f"epochs must be a whole number of at least 1, got {epochs!r}")
        try:
            rows, y, c = self._given(X, y, sample_weight)
            rng = np.random.default_rng(getattr(learner, "seed", 0))
            for epoch in range(epochs):
                if epoch == 1:
                    rows = self.front.scaled(self._data(X), False)
                order = rng.permutation(rows.n) if getattr(learner, "shuffle", False) else None
                with pausing(getattr(learner.held, "calibration", None) if epoch else None, epoch > 0):
                    self._learn(*(rows, y, c) if order is None else shuffled(rows, y, c, order), learn=epoch == 0)
        except BaseException:
            learner.model, self._front = kept
            raise
        return self

    def learn_one(self, x: Any, y: Any = None, w: float = 1.0) -> Any:
        """Learn one example with weight w; return the prediction made before."""
        rows, targets, c = self._given(alone(x), None if y is None else [y], None if w == 1.0 else w)
        rows = self.front.mapped(rows, True)
        try:
            said = self._said(rows)
        except BaseException:
            self.front.back()
            raise
        self._hand(rows, targets, c)
        return said

    def predict_one(self, x: Any) -> Any:
        """Return the prediction for one example; before anything is learned, that of the start (None without labels)."""
        return self._said(self.front.rows(self._data(alone(x)), False))

    def _said(self, rows: Rows) -> Any:
        """Return the answer to one row."""
        learner: Any = self._answering()
        m = learner.held
        if m is None:
            m = learner.new_model(rows, self.front.features(has_bias(learner)))
        m.features.check(rows, type(learner).__name__)
        return learner.task.answer(m, m.score(learner.place(m, rows, grow=False))[0])

    def _answering(self) -> Any:
        """Return the learner, if it answers: one of components does not."""
        if isinstance(self.learner, Unlabelled):
            raise TypeError(f"{self.learner.name} learns {self.learner.made_of}, and answers nothing: use {self.learner.told_by}")
        return self.learner

    def answers(self, f: np.ndarray) -> np.ndarray:
        """Return the answers for the scores of rows."""
        return self.learner.task.answers(self.learner.model, f)

    def noted(self, rows: Rows, y: Any) -> None:
        """Hear of rows that someone let the learner learn, with their targets; a pipeline that keeps more than it takes note."""

    # ---- answering -------------------------------------------------------------------------------------------------------
    def _runs(self, X: Any) -> Iterator[Rows]:
        """Yield mapped rows, in runs whose scores take bounded memory; nothing changes."""
        learner = self.learner
        if not learner.started:
            raise not_learned(learner)
        for _, _, rows in self.front.in_pieces(self._data(X), False):
            for a, b in learner.in_room(learner.model, None, rows.n):
                yield rows.cut(a, b)

    def _scores(self, X: Any) -> Iterator[np.ndarray]:
        """Yield the scores of rows, in runs that take bounded memory; nothing changes."""
        return map(self.learner.score_rows, self._runs(X))

    def predict(self, X: Any) -> np.ndarray:
        """Return the prediction for each row."""
        self._answering()
        return np.concatenate([self.answers(f) for f in self._scores(X)])

    def _decision_function(self, X: Any) -> np.ndarray:
        """Return a score per class in the order of `classes_`, or one score."""
        f = np.concatenate(list(self._scores(X)))
        found: np.ndarray = self.learner.task.margins(self.learner.model, f)
        return found

    def _predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class for each row, in the order of `classes_`."""
        learner: Any = self.learner
        return np.concatenate([learner.chances_of(rows) for rows in self._runs(X)])

    def _predict_proba_one(self, x: Any) -> dict[Any, float]:
        """Return the probability of each label for one example."""
        if not self.learner.started:
            return {}
        return dict(zip(self.classes_.tolist(), self._predict_proba([x])[0].tolist(), strict=True))

    def _predict_set(self, X: Any) -> list[Any]:
        """Return the labels of a set for each row."""
        learner: Any = self.learner
        found: list[Any] = learner.sets_of(learner.model, self._predict_proba(X))
        return found

    def _predict_set_one(self, x: Any) -> Any:
        """Return the labels of the set of one example."""
        return self._predict_set([x])[0] if self.learner.started else []

    def _predict_interval(self, X: Any) -> np.ndarray:
        """Return low and high of each row."""
        learner: Any = self.learner
        found: np.ndarray = learner.intervals_of(learner.model, self.predict(X))
        return found

    def _predict_interval_one(self, x: Any) -> Any:
        """Return low and high of one example."""
        return tuple(self._predict_interval([x])[0].tolist())

    def _calibrate(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from rows how probable labels are, given the scores; neither front nor scores change."""
        learner: Any = self.learner
        if y is None:
            y = self._target(X)
        runs = list(self._runs(X))
        n = sum(rows.n for rows in runs)
        y, c, a = learner.task.targets(y, n), checking.sample_weights(sample_weight, n), 0
        for rows in runs:
            b = a + rows.n
            part = y.take(slice(a, b)) if isinstance(y, Coded) else y[a:b]
            learner.calibrate_rows(learner.place(learner.model, rows, grow=False), part, None if c is None else c[a:b])
            a = b
        return self

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the accuracy, or R^2 for a regression; y not given is the target column of the table."""
        if y is None:
            y = self._target(X)
        said, learner = self.predict(X), copy.copy(self.learner)
        learner.__dict__["predict"] = lambda X: said  # how well these answer is for the learner to say
        return float(learner.score(X, y, sample_weight=sample_weight))

    def _target(self, X: Any) -> Any:
        """Return the targets in the columns of a frame or in dicts."""
        table, data = self.front.table, self._data(X)
        if table is None or table.target is None:
            raise ValueError("score needs y: the table names no target")
        if isinstance(data, list):
            return np.array(self._from_dicts(data, None, None)[0])
        y, _ = targets_and_sides(table, data, True)
        return np.array(y.values, object)[y.codes] if isinstance(y, Coded) else y

    def approximation_error(self, X: Any, pairs: int = 1000, delta: float = 0.05, seed: int = 0) -> Approximation:
        """Return how far z(x).z(y) is from the kernel of the first RandomFourier, RandomBinning or Nystroem on pairs of rows."""
        found = next((m for m in self.front.maps if isinstance(m, FeatureMap)), None)
        if found is None:
            raise ValueError("expected a step that approximates a kernel, such as RandomFourier(); there is none in this pipeline")
        return found.approximation_error(self.front.scaled(self._data(X), False), pairs, delta, seed)

    def _transform(self, X: Any) -> np.ndarray:
        return np.concatenate([z for z, _ in self._taken_apart(X)])

    def _errors(self, X: Any) -> np.ndarray:
        return np.concatenate([e for _, e in self._taken_apart(X)])

    def _taken_apart(self, X: Any) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield coordinates and squared residuals of rows, where the learner is one of components."""
        learner: Any = self.learner
        for _, _, rows in self.front.in_pieces(self._data(X), False):
            yield learner.answered_rows(rows)

    # ---- as a whole ------------------------------------------------------------------------------------------------------
    def reset(self) -> Self:
        """Forget everything learned; parameters stay."""
        self._front = None
        self.__dict__.pop("_extras", None)
        self.learner.reset()
        return self

    def clone(self) -> Self:
        """Return a pipeline with the same parameters that has learned nothing."""
        return type(self)([*(s.fresh() for s in self.steps[:-1]), self.learner.clone()])

    def merge(self, other: Pipeline) -> Self:
        """Take in what another pipeline of the same steps has learned: features are united by name, statistics are added."""
        front, learner = self._united(None, [self, other], 1.0)
        if learner.started:
            self.learner.model = learner.model
        self._front = front
        return self

    def joined(self, parts: Sequence[Pipeline], length: float | str = 1.0) -> Pipeline:
        """Return copies of this pipeline, each of which has learned more, joined into one; none of them changes.

        `length` is that of the learner's `joined`. Statistics and names are those of all rows, each counted once.
        """
        front, learner = self._united(self, parts, length)
        made = type(self)([*(s.fresh() for s in self.steps[:-1]), learner])
        made._front = front
        return made

    @staticmethod
    def _united(base: Pipeline | None, parts: Sequence[Pipeline], length: float | str) -> tuple[Front, Any]:
        """Return the front and the learner that pipelines come to."""
        everyone = [*parts, *([] if base is None else [base])]
        for other in everyone[1:]:
            steps = [[(type(s), plain(s.get_params())) for s in model.steps] for model in (everyone[0], other)]
            if not same_value(*steps):
                raise ValueError(f"cannot merge pipelines of different steps or settings: {everyone[0]!r} and {other!r}")
        front = copy.deepcopy(everyone[0].front)
        table = next((model.front.table for model in everyone if model.front.table is not None), None)
        if front.table is None and table is not None:
            front.table = table.fresh()
        numbers: list[np.ndarray | None] = [None]
        for other in everyone[1:]:
            fresh = other.front.table is None and not other.learner.started  # its table comes with its first row
            numbers.append(None if fresh else front.merge(other.front, 1 - len(parts) if other is base else 1))
        width = 0 if front.table is None else front.table.width
        learners = [renumbered(model.learner, at, width) for model, at in zip(everyone, numbers, strict=True)]
        return front, joined(None if base is None else learners[-1], learners[: len(parts)], length)

    def pack(self) -> tuple[dict[str, Any], Tensors]:
        """Return everything as JSON values and arrays: what the learner says, and the front beside it."""
        meta, tensors = self.learner.pack()
        return {**meta, "front": self.front.meta()}, tensors | {f"front.{k}": a for k, a in self.front.tensors().items()}

    @classmethod
    def restored(cls, meta: dict[str, Any], tensors: Tensors) -> Self:
        """Return the pipeline that was packed."""
        theirs = {k.removeprefix("front."): tensors.pop(k) for k in list(tensors) if k.startswith("front.")}
        learner: Any = restored(meta, tensors)
        return cls.of(Front.restored(meta["front"], theirs), learner)

    @property
    def feature_names_(self) -> list[str]:
        """Names of the features by number; hashed ones as far as remembered, by appearance."""
        if self.front.table is None:
            raise AttributeError("feature_names_: the features have no names")
        return self.front.table.feature_names

    @property
    def hash_collisions_(self) -> int:
        """Names that share a number with an earlier one (of those remembered)."""
        if self.front.table is None or self.front.table.hash_bits is None:
            raise AttributeError("hash_collisions_: the features are not hashed")
        return self.front.table.collisions

    def __getattr__(self, name: str) -> Any:
        if name in ASKED:
            getattr(self.learner, name)  # its own error, where it has none
            return getattr(self, f"_{name}")
        if not name.startswith("_") and (name.endswith("_") or name in ("state", "task", "merges", "bound", "name")):
            return getattr(self.learner, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    # ---- scikit-learn, without importing it --------------------------------------------------------------------------------
    @property
    def named_steps(self) -> dict[str, Any]:
        """The steps by name: the name of their class in small letters."""
        return {type(s).__name__.lower() + (f"-{i}" if i else ""): s for s, i in numbered(self.steps)}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the steps, and deep their parameters too, as step__parameter."""
        found: dict[str, Any] = {"steps": self.steps}
        if deep:
            for name, step in self.named_steps.items():
                found[name] = step
                found |= {f"{name}__{k}": v for k, v in step.get_params().items()}
        return found

    def set_params(self, **params: Any) -> Self:
        """Set steps or their parameters; what a front learned with other settings is forgotten, and the learner with it."""
        if "steps" in params:
            type(self).__init__(self, params.pop("steps"))
        for key, value in params.items():
            name, _, param = key.partition("__")
            steps = self.named_steps
            if name not in steps:
                raise ValueError(f"Invalid parameter {key!r} for a pipeline. Valid parameters are: {list(self.get_params())}.")
            if param:
                steps[name].set_params(**{param: value})
            else:
                self.steps = [value if s is steps[name] else s for s in self.steps]
                self.check_rows()
            if steps[name] is not self.learner:
                self.reset()
        return self

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return f"pipeline({', '.join(map(repr, self.steps))})"

    def __sklearn_is_fitted__(self) -> bool:
        return self.learner.started

    def __sklearn_tags__(self) -> Any:
        return self.learner.__sklearn_tags__()


def by_words(X: Any) -> bool:
    """Return whether a batch is a list of texts, or of lists of words."""
    return isinstance(X, (list, tuple)) and len(X) > 0 and is_document(X[0]) and not isinstance(X[0], Mapping)


def alone(x: Any) -> list[Any]:
    """Return one example as a batch."""
    return [x] if is_document(x) else [np.ravel(x)]


def behind(maps: list[Any], learner: Learner) -> Pipeline:
    """Return a learner behind the maps of a file, as pools have them."""
    return Pipeline([*(map_of(own) for own in maps), learner])


def normalized(learner: Learner) -> Pipeline:
    """Return a learner behind Normalize(), as files write it."""
    return Pipeline([Normalize(), learner])


@encode_own.register(Pipeline)
def member(model: Pipeline, what: str) -> Any:
    """Return a pipeline as a value: a learner of a pool, behind maps."""
    maps = model.steps[:-1]
    if not all(isinstance(step, Map) for step in maps):
        raise TypeError(f"{what} cannot be saved: expected a learner, or a pipeline of maps and a learner, got {model!r}")
    if [type(step) for step in maps] == [Normalize] and maps[0].norm == "l2":
        return as_value(model.learner, what, unit=True)
    return {"maps": [map_meta(step) for step in maps], "behind": as_value(model.learner, what)}


def numbered(steps: Any) -> list[tuple[Any, int]]:
    """Return the steps, each with how many of its class came before."""
    kinds = [type(s) for s in steps]
    return [(s, kinds[:i].count(type(s))) for i, s in enumerate(steps)]


def shuffled(rows: Rows, y: Any, c: np.ndarray | None, order: np.ndarray) -> tuple[Rows, Any, np.ndarray | None]:
    """Return examples in another order."""
    y = None if y is None else y._replace(codes=y.codes[order]) if isinstance(y, Coded) else np.asarray(y)[order]
    return rows.take(order), y, None if c is None else c[order]


def renumbered(learner: Learner, numbers: np.ndarray | None, width: int) -> Learner:
    """Return a learner whose features have other numbers: itself where they stay."""
    m = learner.held
    if m is None or numbers is None or np.array_equal(numbers, np.arange(len(numbers))):
        return learner
    learner, m = copy.copy(learner), m.fork()
    settle(m.state)
    bias, old = int(m.features.bias), m.dims
    places = np.concatenate([np.arange(bias), numbers[: m.features.count] + bias])
    was = m.state
    m.features.count = max(width, m.features.count)
    m.widen()
    m.state = tmap(
        lambda slot, x, mine: mine if slot.scratch else aligned(slot, x, m.dims, old, {"feature": places}), m.spec, was, m.state
    )
    m.refresh()
    learner.model = m
    return learner
