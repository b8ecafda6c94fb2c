"""The learner of rows: input, verbs and faces common to every task. A subclass with a `step` is an algorithm."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from ..algorithm.kernel_options import kernelizable
from ..algorithm.rounds import EXAMPLES, UPDATES
from ..algorithm.state import COUNT, Need, needs_of
from ..calibration.calibration import Said, pausing
from ..inputs import checking
from ..inputs.checking import Rows
from ..inputs.features import Anything, Columns, Features, Hashed, Named, Names, forget, is_dicts, read_all, stacked
from ..inputs.labels import Labels
from .base import Base
from .columned import Columned, named_pieces, numbered_pieces
from .declarations import check_step, check_weights
from .kernel_interface import KernelInterface
from .model import Model
from .overflow import harmless, unchanged_by_failure


class Progress(NamedTuple):
    """What a learner did with consecutive rows: scores from before each update, and what was known when they began."""

    f: np.ndarray  # one column, or one per class in order of codes
    y: np.ndarray  # targets, or codes of the labels
    many: bool = False  # a score per class
    seen: int = 0  # the tally's note of the classes seen
    tie: int = 1
    positive: int = 0
    blind: int = 0  # the number of first rows that were answered before any label was known
    said: Said | None = None  # probabilities, intervals or sets from before each update, where they are learned


class Learner(Columned, KernelInterface, Base):
    """The methods of every learner. All learning goes through one model, row after row; the split into calls does not matter.

    Arrays fix the number of features at the first call; dicts may bring new names at any time, exactly or hashed.
    """

    task: ClassVar[Any]  # a Task
    model_class: ClassVar[Any] = Model
    listed: ClassVar[bool] = True
    by_domain: ClassVar[bool] = False  # whether every row belongs to one of several domains
    draws: ClassVar[bool] = False  # whether it draws numbers for each feature, so that answers depend on their names or places
    tags: ClassVar[dict[str, dict[str, Any]]] = {}  # scikit-learn's tags where the theory restricts the input
    options: ClassVar[dict[str, Any]] = {
        "kernel": None,
        "budget": None,
        "epochs": 1,
        "shuffle": False,
        "seed": 0,
        "hash_bits": None,
        **Base.options,
    }

    @classmethod
    def check_declaration(cls) -> None:
        """Refuse mistakes, with what to write instead."""
        super().check_declaration()
        if "name" in cls.__dict__ and cls.State is not None:
            check_weights(cls)
            check_step(cls)

    @classmethod
    def _unfit(cls) -> set[str]:
        """Return the options that have no meaning for the algorithm."""
        need = needs_of(cls.State)[0] if cls.State is not None else None
        plain = isinstance(need, Need) and need.what in ("vector", "scale")
        able = cls.State is not None and kernelizable(cls.State)
        kernels = ("kernel", "budget") if not able else ("budget",) if cls.policy is not None else ()
        return {*super()._unfit(), *(() if plain else ("average",)), *kernels}

    # ---- input -------------------------------------------------------------------------------------------------------
    def _named(self, X: Any) -> bool:
        """Return whether a batch is a sequence of named examples."""
        return is_dicts(X) and not self._of_objects

    def _one(self, x: Any) -> Rows | None:
        """Return one example as rows from which a model may begin; None for a named one."""
        if self._of_objects:
            return checking.objects([x])
        return None if isinstance(x, Mapping) else checking.one_row(x)

    def _features(self, rows: Rows | None) -> Features:
        """Return the table of features of a model that begins with these rows, or with a dict."""
        bias = has_bias(self)
        if self._of_objects:
            return Anything()
        if self.hash_bits is not None:
            return Hashed(self.hash_bits, bias)
        return Names(bias) if rows is None else Columns(rows.width, bias, rows.names)

    def check_rows(self, X: Any, fresh: bool = False) -> Rows:
        """Return X as checked rows that fit the model (unless a fresh one is to be made of them); nothing changes."""
        if self._of_objects:
            return checking.objects(X)
        rows = checking.rows(X, self.dtype)
        if self.nonnegative:
            checking.refuse_negative(rows, type(self).__name__)
        m = self.held
        if m is not None and not fresh:
            self._check_names(m, rows)
            m.features.check(rows, type(self).__name__)
        return rows

    def _batch(self, X: Any) -> Rows | Named:
        """Return X as checked rows or named examples that fit the model; nothing changes."""
        if not self._named(X):
            return self.check_rows(X)
        found = read_all(self.model.features if self.started else self._features(None), X)
        if self.nonnegative:
            for x in X:
                self._check_row(x)
        return found

    def place(self, m: Model, rows: Rows, grow: bool) -> Rows:
        """Return checked rows in the coordinates of the model; new names may join it."""
        rows = m.features.rows(rows, grow)
        if grow and m.features.grows:
            m.widen()
        return rows

    def _teach(self, m: Model, x: Any, learn: Callable[..., Any], *given: Any) -> Any:
        """Call learn(coordinates, values, ...) for one example; its new names join, and leave again if that fails."""
        if self.nonnegative:
            self._check_row(x)
        count = m.features.count
        idx, values = m.features.row(x, True)
        if m.features.count > count and not harmless(m, values):
            forget(m.features, count)
            with unchanged_by_failure(m):
                m.features.row(x, True)
                m.widen()
                return learn(idx, values, *given)
        if m.features.grows and (m.features.size > m.ready or m.filled):
            m.widen()
        return learn(idx, values, *given)

    def _check_row(self, x: Any) -> None:
        """Refuse features below 0 where the theory has no place for them."""
        if not self.nonnegative:
            return
        low = min(x.values() if isinstance(x, Mapping) else np.ravel(x), default=0.0)
        if low < 0.0:
            raise ValueError(f"{type(self).__name__} is for features that are not negative, got {low:g}")

    def _placed(self, X: Any) -> Rows:
        """Return checked rows in the coordinates of the model, to be answered."""
        m = self.model
        return stacked(m.features, X, grow=False) if self._named(X) else self.place(m, self.check_rows(X), grow=False)

    def _scores(self, X: Any) -> np.ndarray:
        return self.model.score(self._placed(X))

    def _score_runs(self, X: Any) -> Iterator[np.ndarray]:
        """Yield the scores of rows, in runs that take bounded memory."""
        m, rows = self.model, self._placed(X)
        for a, b in self.in_room(m, None, rows.n):
            yield m.score(rows.cut(a, b))

    # ---- learning: the path of one real score; classifiers have labels on top of it --------------------------------------
    def new_model(self, rows: Rows | None, features: Features | None = None) -> Model:
        """Return a new model for these rows, or for dicts."""
        return self.model_with(rows, features, None)

    def model_with(self, rows: Rows | None, features: Features | None, labels: Labels | None) -> Model:
        """Return a new model with these tables."""
        m: Model = self.model_class(self, features or self._features(rows), labels, rows is None or rows.layout == "csr")
        if rows is not None and features is None:
            m.features.check(rows, type(self).__name__)
        return m

    def _begun(self, rows: Rows | Named, *tables: Any) -> Model:
        """Return the model, or a new one with these tables; an error if the rows do not fit it."""
        first = rows if isinstance(rows, Rows) else None
        m = self.held or self.new_model(first, *tables)
        if first is not None:
            m.features.check(first, type(self).__name__)
        return m

    def _whole(self, X: Any) -> tuple[Rows, Features | None]:
        """Return all rows to fit, checked; and the table of their names, in whose places they are, if they are dicts."""
        if not self._named(X):
            return self.check_rows(X, fresh=True), None
        features = self._features(None)
        for x in X:
            self._check_row(x)
        return stacked(features, X, grow=True), features

    def targets(self, y: Any, n: int) -> np.ndarray:
        """Return what the step takes for the y of n rows, checked."""
        found: np.ndarray = self.task.targets(y, n)
        return found

    def learn_many(self, X: Any, y: Any = None, sample_weight: Any = None) -> np.ndarray:
        """Predict, then learn, on each row in order; return the scores from before each update."""
        rows = self._batch(X)
        done = self.learn_rows(rows, y, checking.sample_weights(sample_weight, rows.n))
        return np.concatenate([piece.f[:, 0] for piece in done])

    def learn_rows(
        self, rows: Rows | Named, y: Any, c: np.ndarray | None, features: Features | None = None, keep: bool = True
    ) -> list[Progress]:
        """Learn from checked rows in order; a model that begins here takes `features` for its table.

        Where a row has many scores, they are returned only if they are to be kept, and take bounded memory otherwise.
        """
        targets = self.targets(y, rows.n)
        m = self._begun(rows, features)
        with m.unharmed(rows if isinstance(rows, Rows) else rows.rows):
            done = self._run_pieces(m, rows, targets, c)
        self._keep(m)
        return done

    def _run_pieces(self, m: Model, rows: Rows | Named, y: np.ndarray, c: np.ndarray | None) -> list[Progress]:
        """Put rows in their places and learn from them; new features join as they come."""
        done: list[Progress] = []
        a = 0
        for piece in self._named_pieces(m, rows, c) if isinstance(rows, Named) else self.in_place(m, rows):
            b = a + piece.n
            done += self._run(m, piece, y[a:b], None if c is None else c[a:b])
            a = b
        return done

    def in_place(self, m: Model, rows: Rows) -> Iterator[Rows]:
        """Yield rows in their places, in runs to learn at once."""
        for a, b, width in self._pieces(m, rows):
            yield self.place(m, rows.cut(a, b)._replace(width=width), grow=True)

    def _named_pieces(self, m: Model, batch: Named, c: np.ndarray | None) -> Iterator[Rows]:
        """Yield named examples in their places: all at once, unless new names change the formulas row by row."""
        return named_pieces(m, batch, c, m.filled or self.algorithm.arrange is not None)

    def _pieces(self, m: Model, rows: Rows) -> list[tuple[int, int, int]]:
        """Return the runs of rows to learn at once, with their width: all, unless new features change the formulas row by row."""
        return numbered_pieces(m, rows, m.filled)

    def in_room(self, m: Model | None, y: Any, n: int) -> list[tuple[int, int]]:
        """Return the runs of n rows, with these y or none, whose scores take bounded memory, however many classes there are."""
        return self.task.in_room(m, y, n)

    def score_rows(self, rows: Rows) -> np.ndarray:
        """Return the scores of checked rows, one per class in order of codes."""
        return self.scores_by(self.model, rows)

    def scores_by(self, m: Model, rows: Rows) -> np.ndarray:
        """Return the scores of checked rows by a model of this learner, kept or not."""
        m.features.check(rows, type(self).__name__)
        return m.score(self.place(m, rows, grow=False))

    def said_by(self, m: Model, rows: Rows) -> Said | None:
        """Return how sure a model of this learner is of checked rows; None where it does not learn that."""
        if m.calibration is None:
            return None
        return m.calibration.told(m.evidence(self.place(m, rows, grow=False)), m.known)

    def _keep(self, m: Model) -> None:
        """Keep a new model once it has learned something (rows of weight 0 alone leave none)."""
        if self.held is None and m.tally[EXAMPLES]:
            self.model = m

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from rows in order."""
        self.learn_many(X, y, sample_weight)
        return self

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, epochs: int | None = None, until: str | None = None) -> Self:
        """Forget, then learn from all rows: `epochs` times, or `until="separated"`, the first epoch without an update."""
        rows, features = self._whole(X)
        targets = self.targets(y, rows.n)
        rows, targets, c = checking.without_zeros(rows, targets, checking.sample_weights(sample_weight, rows.n))
        if rows.n == 0:
            raise ValueError("all sample weights are zero: there is nothing to fit")
        m = self.new_model(rows, features)
        self._epochs(m, rows if features else self.place(m, rows, grow=True), targets, c, epochs, until)
        self.model = m
        return self

    def learn_one(self, x: Any, y: Any = None, w: float = 1.0) -> Any:
        """Learn one example with weight w; return the prediction made before."""
        f = self._learn_row(x, float(self.targets([y], 1)[0]), w)
        return self.task.answer(self.held or self.new_model(None), f)

    def _learn_row(self, x: Any, target: float, w: float) -> np.ndarray:
        """Learn one example; return its score from before."""
        c = 1.0 if w == 1.0 else checking.one_weight(w)
        held = self.held
        m = held or self.new_model(self._one(x))
        if c == 0.0:
            return m.score_row(*m.features.row(x, False))
        f: np.ndarray = self._teach(m, x, m.learn_row, target, c)
        if held is None:
            self.model = m
        return f

    def predict_one(self, x: Any) -> Any:
        """Return the prediction for one example; before anything is learned, that of the start (None without labels)."""
        m = self.held or self.new_model(self._one(x))
        return self.task.answer(m, m.score_row(*m.features.row(x, False)))

    # ---- verbs -------------------------------------------------------------------------------------------------------
    def _epochs(self, m: Model, rows: Rows, y: np.ndarray, c: np.ndarray | None, epochs: int | None, until: str | None) -> None:
        """Run epochs over checked rows."""
        if until not in (None, "separated"):
            raise ValueError(f"until must be None or 'separated', got {until!r}")
        epochs = epochs if epochs is not None else 100 if until and self.epochs == 1 else self.epochs
        if not (isinstance(epochs, (int, np.integer)) and epochs >= 1):
            raise ValueError(f"epochs must be a whole number of at least 1, got {epochs!r}")
        rng = np.random.default_rng(self.seed)
        for epoch in range(1, epochs + 1):
            before = m.tally[UPDATES]
            order = rng.permutation(rows.n) if self.shuffle else None
            taken, targets, weights = (
                (rows, y, c) if order is None else (rows.take(order), y[order], None if c is None else c[order])
            )
            with pausing(m.calibration, epoch > 1), m.unharmed(rows):
                for a, b in self.in_room(m, None, rows.n):
                    self._run(m, taken.cut(a, b), targets[a:b], None if weights is None else weights[a:b])
            if until and m.tally[UPDATES] == before:
                break
        self.n_epochs_ = epoch
        if until:
            self.separated_ = bool(m.tally[UPDATES] == before)
            if not self.separated_:
                what = f"{epochs} epochs and still updating: the data may not be separable, or need more epochs"
                checking.warn("ConvergenceWarning", what)

    def _run(self, m: Model, rows: Rows, y: np.ndarray, c: np.ndarray | None) -> list[Progress]:
        """Learn from checked rows in order."""
        f = m.learn(rows, y, c)
        return [Progress(f, y, said=None if m.calibration is None else m.calibration.taken())]

    @property
    def has_schedule(self) -> bool:
        """Whether step sizes change with the rounds, so that there is something to restart."""
        parts = self.parameters.resolve(self.get_params(), 1)
        return self.State is not None and COUNT in needs_of(self.State) and not any(getattr(v, "steady", False) for v in parts)

    def _read(self, W: np.ndarray) -> Any:
        """Return weights as the reader wants them."""
        if not self.__dict__.get("sparse_coef_"):
            return W
        from scipy.sparse import csr_matrix

        return csr_matrix(np.atleast_2d(W))

    # ---- reading back ------------------------------------------------------------------------------------------------
    def _all_weights(self) -> tuple[np.ndarray, np.ndarray]:
        """Return (coef, intercept), one row per class or one row."""
        m = self.model
        w = m.weights()
        if not m.features.bias:
            return w, np.zeros(len(w))
        j = m.features.constant
        return np.delete(w, j, axis=1), w[:, j].copy()

    # ---- scikit-learn, without importing it --------------------------------------------------------------------------
    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, RegressorTags, Tags, TargetTags

        kind = self.task.estimator
        return Tags(
            estimator_type=kind,
            target_tags=TargetTags(required=self.task.supervised),
            transformer_tags=None,
            classifier_tags=ClassifierTags(**self.tags.get("classifier", {})) if kind == "classifier" else None,
            regressor_tags=RegressorTags(**self.tags.get("regressor", {})) if kind == "regressor" else None,
            input_tags=InputTags(sparse=True, **self.tags.get("input", {})),
        )


def has_bias(learner: Any) -> bool:
    """Return whether a learner adds the constant feature to its rows."""
    return bool(getattr(learner, "fit_intercept", False))
