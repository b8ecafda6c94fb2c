"""The learner: parameters, verbs and faces common to every task. A subclass with a `step` is an algorithm and is registered."""

from __future__ import annotations

import copy
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from ..text import meant
from . import inputs, learner_file, merging
from .basis import kernelizable
from .expansion import Expansion
from .features import Anything, Columns, Features, Hashed, Named, Names, Row, joined, read_all, stacked
from .inner import Inner
from .inputs import Rows
from .json_values import Tensors, encode_own
from .labels import Labels
from .model import Model
from .model_file import Saved
from .params import public, same_value
from .rounds import EXAMPLES, MISTAKES, UPDATES, UnitCost
from .state import Need, needs_of
from .supports import Supports
from .words import strict

REGISTRY: dict[str, type[Learner]] = {}
APART: dict[str, type[Learner]] = {}  # those that rows and labels alone do not suffice for: they are found by name, and not listed
# Attributes that are plain functions, not methods.
TEXTS = ("step", "score_row", "share", "shares", "start", "arrange", "rejoin", "policy")


class Progress(NamedTuple):
    """What a learner did with consecutive rows: scores from before each update, and what was known when they began."""

    f: np.ndarray  # one column, or one per class in order of codes
    y: np.ndarray  # targets, or codes of the labels
    many: bool = False  # a score per class
    seen: int = 0  # the tally's note of the classes seen
    tie: int = 1
    positive: int = 0


class NotLearnedError(ValueError, AttributeError):
    """A model was asked before it had learned anything."""


def not_learned(learner: Learner) -> Exception:
    """Return the error, in scikit-learn's own class when it is loaded."""
    kind: type[Exception] = NotLearnedError
    if "sklearn" in sys.modules:
        from sklearn.exceptions import NotFittedError

        kind = NotFittedError
    return kind(f"This {type(learner).__name__} has learned nothing yet: call 'fit', 'partial_fit' or 'learn_one' first.")


class Learner(Saved, Inner, Supports):
    """What every learner can do. All learning goes through one model, row after row; any split into calls is the same.

    Arrays fix the number of features at the first call; dicts may bring new names at any time, exactly or hashed.
    """

    # ---- what an algorithm says about itself -------------------------------------------------------------------------
    name: ClassVar[str]  # in the registry
    cite: ClassVar[str] = ""  # key in refs.bib
    State: ClassVar[Any]
    Params: ClassVar[Any]
    step: ClassVar[Callable[..., Any]]  # (s, x, y, p) -> (score before the update, whether it updated)
    score_row: ClassVar[Callable[..., Any] | None] = None  # (s, x, p) -> score, where it is not the dot product with State[0]
    share: ClassVar[Callable[..., Any] | None] = (
        None  # (s, f, y, p, tau, x) -> updated: a round that moves several classes; tau comes as zeros
    )
    shares: ClassVar[Callable[..., Any]] = lambda p: True  # whether these parameters make it so
    start: ClassVar[Callable[..., Any] | None] = None  # (s, p): a start that is not the fill of the slots
    arrange: ClassVar[Callable[..., Any] | None] = None  # (model, first): features from `first` on have come
    rejoin: ClassVar[Callable[..., Any] | None] = None  # (s, p, K): back to where weights may be, after models were joined
    by_kernel: ClassVar[bool] = False  # whether it is nothing without a kernel
    policy: ClassVar[Callable[..., Any] | None] = None  # (p, given) -> its own budget, where `budget=` is not free
    by_rows: ClassVar[bool] = False  # a row per class also when there are two
    tasked: ClassVar[bool] = False  # whether every row belongs to one of several tasks
    model_class: ClassVar[Any] = Model
    nonnegative: ClassVar[bool] = False  # whether features below 0 are refused
    oriented: ClassVar[bool] = False  # whether it matters which of two classes is the positive one
    grows: ClassVar[bool] = False  # whether memory grows with the updates, and not with the features alone
    merges: ClassVar[str] = "approximate"  # "exact", "approximate" or "none"
    bound: ClassVar[Any] = None  # the theorem, a Bound
    overrides: ClassVar[dict[str, Any]] = {}  # other defaults for options; None in a value's place is a default too
    without: ClassVar[tuple[str, ...]] = ()  # options that have no meaning for it
    tags: ClassVar[dict[str, dict[str, Any]]] = {}  # scikit-learn's tags where the theory restricts the input
    task: ClassVar[str] = ""

    # ---- filled in by the class machinery ----------------------------------------------------------------------------
    file_tag: ClassVar[str] = "learner"
    options: ClassVar[dict[str, Any]] = {
        "kernel": None,
        "budget": None,
        "epochs": 1,
        "shuffle": False,
        "seed": 0,
        "hash_bits": None,
        "dtype": "float64",
    }
    defaults: ClassVar[dict[str, Any]] = {}
    # Options that `get_params` names only once they are set. scikit-learn holds every estimator that names a class_weight to a test
    # that takes a thousand passes over unscaled rows; learners of one pass cannot promise what it asks for.
    reticent: ClassVar[tuple[str, ...]] = ("class_weight",)
    _m: Model

    if TYPE_CHECKING:

        def __init__(self, **params: Any) -> None: ...

        def __getattr__(self, name: str) -> Any: ...  # the parameters

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Register an algorithm, with an __init__ that takes its parameters and the options that apply."""
        super().__init_subclass__(**kwargs)
        for text in TEXTS:
            if inspect.isfunction(cls.__dict__.get(text)):
                setattr(cls, text, staticmethod(cls.__dict__[text]))
        if cls.__dict__.get("share") is not None:
            strict(cls.share)  # its sums are over classes
        if "name" not in cls.__dict__:
            return
        needs = needs_of(cls.State) if hasattr(cls, "State") else [None]
        options = {**cls.options, **cls.overrides}
        plain = isinstance(needs[0], Need) and needs[0].what in ("vector", "scale")
        able = hasattr(cls, "State") and kernelizable(cls.State)
        kernels = ("kernel", "budget") if not able else ("budget",) if cls.policy is not None else ()
        without = {*cls.without, *(() if plain else ("average",)), *kernels}
        cls.defaults = {**public(cls.Params), **{k: v for k, v in options.items() if k not in without}}
        key = inspect.Parameter
        given = [key(k, key.KEYWORD_ONLY, default=v) for k, v in cls.defaults.items()]
        cls.__signature__ = inspect.Signature(given)  # type: ignore[attr-defined]
        seen = [p for p in given if p.name not in cls.reticent]
        self = key("self", key.POSITIONAL_OR_KEYWORD)

        def __init__(self: Any, *places: Any, **params: Any) -> None:  # noqa: N807
            if places:
                first = next(iter(cls.defaults))
                raise TypeError(f"{cls.__name__} takes its parameters by name, as in {cls.__name__}({first}={places[0]!r})")
            for k in params:
                if k in ("kernel", "budget") and "kernel" not in cls.defaults:
                    raise TypeError(f"{cls.__name__} has no {k!r}: it learns along the features, and has no kernel form")
                if k not in cls.defaults:
                    near = meant(k, cls.defaults)
                    raise TypeError(f"{cls.__name__} has no parameter {k!r}. {near}It takes {', '.join(cls.defaults)}")
            self.__dict__.update({**cls.defaults, **params})

        __init__.__signature__ = inspect.Signature([self, *seen])  # type: ignore[attr-defined]
        cls.__init__ = __init__  # type: ignore[method-assign]
        (APART if cls.tasked else REGISTRY)[cls.name] = cls

    # ---- input -------------------------------------------------------------------------------------------------------
    def _named(self, X: Any) -> bool:
        """Return whether a batch is a sequence of named examples."""
        return is_dicts(X) and not self._of_objects

    def _one(self, x: Any) -> Rows | None:
        """Return one example as rows from which a model may begin; None for a named one."""
        if self._of_objects:
            return inputs.objects([x])
        return None if isinstance(x, Mapping) else inputs.one_row(x)

    def _model(self) -> Model:
        if "_m" not in self.__dict__:
            raise not_learned(self)
        return self._m

    def _sound(self) -> Model:
        """Return the model, unless its state is one that must neither be saved nor read."""
        return self._model()

    def _features(self, rows: Rows | None) -> Features:
        """Return the table of features of a model that begins with these rows, or with a dict."""
        bias = bool(getattr(self, "fit_intercept", False))
        if self._of_objects:
            return Anything()
        if self.hash_bits is not None:
            return Hashed(self.hash_bits, bias)
        return Names(bias) if rows is None else Columns(rows.width, bias, rows.names)

    def _check(self, X: Any, fresh: bool = False) -> Rows:
        """Return X as checked rows that fit the model (unless a fresh one is to be made of them); nothing changes."""
        if self._of_objects:
            return inputs.objects(X)
        rows = inputs.rows(X, self.dtype)
        if self.nonnegative:
            inputs.refuse_negative(rows, type(self).__name__)
        m = self.__dict__.get("_m")
        if m is not None and not fresh:
            self._check_names(m, rows)
            m.features.check(rows, type(self).__name__)
        return rows

    def _batch(self, X: Any) -> Rows | Named:
        """Return X as checked rows or named examples that fit the model; nothing changes."""
        if not self._named(X):
            return self._check(X)
        found = read_all(self._m.features if "_m" in self.__dict__ else self._features(None), X)
        if self.nonnegative:
            for x in X:
                self._check_row(x)
        return found

    def _place(self, m: Model, rows: Rows, grow: bool) -> Rows:
        """Return checked rows in the coordinates of the model; new names may join it."""
        rows = m.features.rows(rows, grow)
        if grow and m.features.grows:
            m.widen()
        return rows

    def _check_names(self, m: Model, rows: Rows) -> None:
        """Hold a frame to the names of the first one."""
        known = m.features.names if isinstance(m.features, Columns) else None
        if known and rows.names is None:
            what = f"X does not have valid feature names, but {type(self).__name__} was fitted with feature names"
            inputs.warn("UserWarning", what)
        elif rows.names is not None and isinstance(m.features, Columns):
            if known is None:
                inputs.warn("UserWarning", f"X has feature names, but {type(self).__name__} was fitted without feature names")
            elif known != rows.names:
                refuse_names(known, rows.names)

    def _row(self, m: Model, x: Any, grow: bool) -> tuple[np.ndarray, np.ndarray]:
        if self.nonnegative:
            self._check_row(x)
        idx, values = m.features.row(x, grow)
        if grow and m.features.grows and (m.features.size > m.ready or m.filled):
            m.widen()
        return idx, values

    def _check_row(self, x: Any) -> None:
        """Refuse features below 0 where the theory has no place for them."""
        if not self.nonnegative:
            return
        low = min(x.values() if isinstance(x, Mapping) else np.ravel(x), default=0.0)
        if low < 0.0:
            raise ValueError(f"{type(self).__name__} is for features that are not negative, got {low:g}")

    def _scores(self, X: Any) -> np.ndarray:
        m = self._model()
        return m.score(stacked(m.features, X, grow=False) if self._named(X) else self._place(m, self._check(X), grow=False))

    # ---- learning: the path of one real score; classifiers have labels on top of it --------------------------------------
    def _start(self, rows: Rows | None, features: Features | None = None) -> Model:
        """Return a new model for these rows, or for dicts."""
        return self._begin(rows, features, None)

    def _begin(self, rows: Rows | None, features: Features | None, labels: Labels | None) -> Model:
        """Return a new model with these tables."""
        m: Model = self.model_class(self, features or self._features(rows), labels, rows is None or rows.layout == "csr")
        if rows is not None and features is None:
            m.features.check(rows, type(self).__name__)
        return m

    def _begun(self, rows: Rows | Named, *tables: Any) -> Model:
        """Return the model, or a new one with these tables; an error if the rows do not fit it."""
        first = rows if isinstance(rows, Rows) else None
        m = self._m if "_m" in self.__dict__ else self._start(first, *tables)
        if first is not None:
            m.features.check(first, type(self).__name__)
        return m

    def _whole(self, X: Any) -> tuple[Rows, Features | None]:
        """Return all rows to fit, checked; and the table of their names, in whose places they are, if they are dicts."""
        if not self._named(X):
            return self._check(X, fresh=True), None
        features = self._features(None)
        for x in X:
            self._check_row(x)
        return stacked(features, X, grow=True), features

    def _targets(self, y: Any, n: int) -> np.ndarray:
        """Return what the step takes for y."""
        return inputs.targets(y, n, numeric=True)

    def _said(self, m: Model, f: np.ndarray) -> Any:
        """Return the answer to one row, given its score."""
        return float(f[0])

    def learn_many(self, X: Any, y: Any = None, sample_weight: Any = None) -> np.ndarray:
        """Predict, then learn, on each row in order; return the scores from before each update."""
        rows = self._batch(X)
        done = self._learn_rows(rows, y, inputs.sample_weights(sample_weight, rows.n))
        return np.concatenate([piece.f[:, 0] for piece in done])

    def _learn_rows(self, rows: Rows | Named, y: Any, c: np.ndarray | None, features: Features | None = None) -> list[Progress]:
        """Learn from checked rows in order; a model that begins here takes `features` for its table."""
        targets = self._targets(y, rows.n)
        m = self._begun(rows, features)
        with m.unharmed():
            done = self._run_pieces(m, rows, targets, c)
        self._keep(m)
        return done

    def _run_pieces(self, m: Model, rows: Rows | Named, y: np.ndarray, c: np.ndarray | None) -> list[Progress]:
        """Put rows in their places and learn from them; new features join as they come."""
        done: list[Progress] = []
        a = 0
        for piece in self._named_pieces(m, rows, c) if isinstance(rows, Named) else self._placed_pieces(m, rows):
            b = a + piece.n
            done += self._run(m, piece, y[a:b], None if c is None else c[a:b])
            a = b
        return done

    def _placed_pieces(self, m: Model, rows: Rows) -> Iterator[Rows]:
        """Yield rows in their places, in runs to learn at once."""
        for a, b, width in self._pieces(m, rows):
            yield self._place(m, rows.cut(a, b)._replace(width=width), grow=True)

    def _named_pieces(self, m: Model, rows: Named, c: np.ndarray | None) -> Iterator[Rows]:
        """Yield named examples in their places; a run, once learned, ends before an example for which the model must make room."""
        a = 0
        run: list[Row] = []
        for i, row in enumerate(rows.found):
            if row is None:
                size = m.features.size
                row = m.features.row(rows.examples[i], c is None or c[i] > 0.0)  # what has weight 0 brings no names
                if m.features.size > size and (m.features.size > m.ready or m.filled):
                    if run:
                        yield joined(run).beside(**rows.cut(a, i).columns)
                    m.widen()
                    a, run = i, []
            run.append(row)
        yield joined(run).beside(**rows.cut(a, rows.n).columns)

    def _pieces(self, m: Model, rows: Rows) -> list[tuple[int, int, int]]:
        """Return the runs of rows to learn at once, with their width: all, unless new features change the formulas row by row."""
        if not (m.filled and m.features.grows and rows.layout == "csr" and rows.names is None):
            return [(0, rows.n, rows.width)]
        indptr, indices, _ = rows.arrays
        tops = np.maximum.accumulate([int(indices[a:b].max()) + 1 if a < b else 0 for a, b in pairwise(indptr)])
        starts = [0, *(np.flatnonzero(np.diff(tops)) + 1).tolist()]
        return [(a, b, int(tops[a])) for a, b in zip(starts, [*starts[1:], rows.n], strict=True)]

    def _score_rows(self, rows: Rows) -> np.ndarray:
        """Return the scores of checked rows, one per class in order of codes."""
        return self.scores_by(self._model(), rows)

    def _keep(self, m: Model) -> None:
        """Keep a new model once it has learned something (rows of weight 0 alone leave none)."""
        if m.tally[EXAMPLES]:
            self._m = m

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from rows in order."""
        self.learn_many(X, y, sample_weight)
        return self

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, epochs: int | None = None, until: str | None = None) -> Self:
        """Forget, then learn from all rows: `epochs` times, or `until="separated"`, the first epoch without an update."""
        rows, features = self._whole(X)
        targets = self._targets(y, rows.n)
        rows, targets, c = inputs.without_zeros(rows, targets, inputs.sample_weights(sample_weight, rows.n))
        if rows.n == 0:
            raise ValueError("all sample weights are zero: there is nothing to fit")
        m = self._start(rows, features)
        self._epochs(m, rows if features else self._place(m, rows, grow=True), targets, c, epochs, until)
        self._m = m
        return self

    def learn_one(self, x: Any, y: Any = None, w: float = 1.0) -> Any:
        """Learn one example with weight w; return the prediction made before."""
        f = self._learn_row(x, float(self._targets([y], 1)[0]), w)
        return self._said(self._m if "_m" in self.__dict__ else self._start(None), f)

    def _learn_row(self, x: Any, target: float, w: float) -> np.ndarray:
        """Learn one example; return its score from before."""
        c = 1.0 if w == 1.0 else inputs.one_weight(w)
        m = self._m if "_m" in self.__dict__ else self._start(self._one(x))
        if c == 0.0:
            return m.score_row(*m.features.row(x, False))
        idx, values = self._row(m, x, grow=True)
        f = m.learn_row(idx, values, target, c)
        self._m = m
        return f

    def predict_one(self, x: Any) -> Any:
        """Return the prediction for one example; before anything is learned, that of the start (None without labels)."""
        m = self._m if "_m" in self.__dict__ else self._start(self._one(x))
        return self._said(m, m.score_row(*m.features.row(x, False)))

    # ---- verbs -------------------------------------------------------------------------------------------------------
    def reset(self) -> Self:
        """Forget everything learned; parameters stay."""
        self.__dict__.pop("_m", None)
        self.__dict__.pop("_extras", None)
        for k in [k for k in self.__dict__ if k.endswith("_") and k not in self.defaults]:
            del self.__dict__[k]
        return self

    def clone(self) -> Self:
        """Return a learner with the same parameters that has learned nothing."""
        return type(self)(**copy.deepcopy(self.get_params()))

    def _epochs(self, m: Model, rows: Rows, y: np.ndarray, c: np.ndarray | None, epochs: int | None, until: str | None) -> None:
        """Run epochs over checked rows."""
        if until not in (None, "separated"):
            raise ValueError(f"until must be None or 'separated', got {until!r}")
        epochs = epochs if epochs is not None else 100 if until and self.epochs == 1 else self.epochs
        if not (isinstance(epochs, (int, np.integer)) and epochs >= 1):
            raise ValueError(f"epochs must be a whole number of at least 1, got {epochs!r}")
        rng = np.random.default_rng(self.seed)
        for epoch in range(1, epochs + 1):  # noqa: B007
            before = m.tally[UPDATES]
            if self.shuffle:
                order = rng.permutation(rows.n)
                self._run(m, rows.take(order), y[order], None if c is None else c[order])
            else:
                self._run(m, rows, y, c)
            if until and m.tally[UPDATES] == before:
                break
        self.n_epochs_ = epoch
        if until:
            self.separated_ = bool(m.tally[UPDATES] == before)
            if not self.separated_:
                what = f"{epochs} epochs and still updating: the data may not be separable, or need more epochs"
                inputs.warn("ConvergenceWarning", what)

    def _run(self, m: Model, rows: Rows, y: np.ndarray, c: np.ndarray | None) -> list[Progress]:
        """Learn from checked rows in order."""
        return [Progress(m.learn(rows, y, c), y)]

    def merge(self, other: Learner) -> Self:
        """Take in what another learner of the same kind has learned (see `merges` for what that means here).

        Weights become their mean by examples seen (parameter mixing; McDonald, Hall, Mann 2010), counters are added, features
        and classes are united by name. For learners that have gone on from a common one use `joined`.
        """
        merging.merge(self, other)
        return self

    def joined(self, parts: Sequence[Learner], length: float | str = 1.0) -> Learner:
        """Return what copies of this learner, each of which has learned on, come to (see `merging.joined`); none changes."""
        return merging.joined(self, parts, length)

    def pack(self) -> tuple[dict[str, Any], Tensors]:
        """Return everything as JSON values and arrays."""
        return learner_file.packed(self, self._sound() if "_m" in self.__dict__ else None)

    def _read(self, W: np.ndarray) -> Any:
        """Return weights as the reader wants them."""
        if not self.__dict__.get("sparse_coef_"):
            return W
        from scipy.sparse import csr_matrix

        return csr_matrix(np.atleast_2d(W))

    def compact(self) -> Any:
        """Return a predictor with the non-zero weights alone (see Compact): small in memory and on disk, and unable to learn."""
        from ..tasks.compact import Compact

        return Compact(self)

    # ---- reading back ------------------------------------------------------------------------------------------------
    @property
    def state(self) -> Any:
        """The named arrays of the algorithm."""
        return self._model().state

    @property
    def n_seen_(self) -> int:
        """Examples learned from (those of weight 0 do not count)."""
        return int(self._model().tally[EXAMPLES])

    @property
    def n_updates_(self) -> int:
        """Rounds that changed the weights because of their loss."""
        return int(self._model().tally[UPDATES])

    @property
    def n_mistakes_(self) -> int:
        """Predictions, each made before its update, that were wrong (None counts as wrong)."""
        return int(self._model().tally[MISTAKES])

    @property
    def n_features_in_(self) -> int:
        """Columns of the arrays learned from, or names known."""
        features = self._model().features
        return features.size - features.bias if features.width is None else features.width

    @property
    def feature_names_(self) -> list[Any]:
        """Names of the features, where names were given; hashed ones as far as remembered."""
        names = self._model().features.names
        if names is None:
            raise AttributeError("feature_names_: the features have no names")
        return list(names)

    @property
    def feature_names_in_(self) -> np.ndarray:
        """Names of the columns of the frame learned from."""
        features = self._model().features
        if not isinstance(features, Columns) or features.names is None:
            raise AttributeError("feature_names_in_")
        return np.array(features.names, object)

    @property
    def hash_collisions_(self) -> int:
        """Names that share a place with an earlier one (of those remembered)."""
        features = self._model().features
        if not isinstance(features, Hashed):
            raise AttributeError("hash_collisions_: the features are not hashed")
        return features.collisions

    def _all_weights(self) -> tuple[np.ndarray, np.ndarray]:
        """Return (coef, intercept), one row per class or one row."""
        m = self._model()
        w = m.weights()
        if not m.features.bias:
            return w, np.zeros(len(w))
        j = m.features.constant
        return np.delete(w, j, axis=1), w[:, j].copy()

    @classmethod
    def primal(cls, s: Any, p: Any) -> np.ndarray:
        """Return the weights of a state as one flat vector, feature by feature."""
        w = s[0]
        if isinstance(w, np.ndarray):
            return w
        if isinstance(w, Expansion):
            raise AttributeError("coef_: the weights are in the space of the kernel; see support_vectors_ and dual_coef_")
        if not hasattr(w, "primal"):
            raise AttributeError(f"coef_: {cls.__name__} does not answer with one weight vector")
        found: np.ndarray = w.primal()
        return found

    @classmethod
    def costs(cls, given: Mapping[str, Any], labels: Labels) -> Any:
        """Return how rivals are chosen and the margins asked for."""
        return UnitCost()

    # ---- scikit-learn, without importing it --------------------------------------------------------------------------
    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name (the reticent ones only when they are set)."""
        return {k: getattr(self, k) for k in self.defaults if k not in self.reticent or getattr(self, k) is not None}

    def set_params(self, **params: Any) -> Self:
        """Set parameters; a model that has learned goes on with them."""
        for k in params:
            if k not in self.defaults:
                raise ValueError(f"Invalid parameter {k!r} for estimator {self!r}. Valid parameters are: {list(self.defaults)}.")
        was = {k: getattr(self, k) for k in self.defaults}
        self.__dict__.update(params)
        if "_m" in self.__dict__ and params:
            try:
                self._m.retune(self.get_params())
            except Exception:
                self.__dict__.update(was)
                raise
        return self

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        changed = (f"{k}={v!r}" for k, v in self.get_params().items() if not same_value(v, self.defaults[k]))
        return f"{type(self).__name__}({', '.join(changed)})"

    def __sklearn_is_fitted__(self) -> bool:
        return "_m" in self.__dict__

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, RegressorTags, Tags, TargetTags

        kind = {"classification": "classifier", "regression": "regressor", "one_class": "outlier_detector"}[self.task]
        return Tags(
            estimator_type=kind,
            target_tags=TargetTags(required=self.task != "one_class"),
            transformer_tags=None,
            classifier_tags=ClassifierTags(**self.tags.get("classifier", {})) if kind == "classifier" else None,
            regressor_tags=RegressorTags(**self.tags.get("regressor", {})) if kind == "regressor" else None,
            input_tags=InputTags(sparse=True, **self.tags.get("input", {})),
        )


encode_own.register(Learner, learner_file.as_value)


def is_dicts(X: Any) -> bool:
    """Return whether a batch is a sequence of named examples."""
    return isinstance(X, (list, tuple)) and len(X) > 0 and isinstance(X[0], Mapping)


def refuse_names(known: list[str], given: list[str]) -> None:
    """Raise the error of a frame whose columns are not those of the first one, as scikit-learn words it."""
    message = "The feature names should match those that were passed during fit.\n"
    unseen, missing = sorted(set(given) - set(known)), sorted(set(known) - set(given))
    if unseen:
        message += "Feature names unseen at fit time:\n" + "".join(f"- {n}\n" for n in unseen[:5])
    if missing:
        message += "Feature names seen at fit time, yet now missing:\n" + "".join(f"- {n}\n" for n in missing[:5])
    if not unseen and not missing:
        message += "Feature names must be in the same order as they were in fit.\n"
    raise ValueError(message)
