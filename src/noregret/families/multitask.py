"""Several tasks that share features: one dual averaging for all, in which features are chosen for each task, for all, or both.

Yang, Lyu, King (2013), *Efficient online learning for multitask feature selection*. The weights form a matrix, a row for each
feature and a column for each task; an example moves the column of its task, and the gradient is averaged over all rounds of all
tasks.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Hashable, Mapping, Sequence
from functools import cache
from typing import Annotated, Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy import ndarray

from ..core import inputs
from ..core.drivers import LAYOUTS, flatten
from ..core.engine import build, interpreting
from ..core.examples import Biased, Block, Sparse, Weighted, item, nnz
from ..core.features import Columns, Features, Hashed, Names
from ..core.groups import Summed, Tracked
from ..core.inputs import Rows
from ..core.labels import Labels, label_array, plain
from ..core.learner import is_dicts, not_learned, stacked
from ..core.model import Model
from ..core.params import Choice, NonNegative, Positive
from ..core.sparse import Averages, Spared, shrink, soft, softened
from ..core.state import AGE, Own, Slot, made
from ..core.weights import PERIOD, add, dot
from ..core.words import rare, word
from ..parts.losses import CLASSIFICATION, REGRESSION
from ..tasks.classification import discrete
from .dual_averaging import AXES, NOW, ROUNDS, collect, sums

Losses = Annotated[Any, Choice({**CLASSIFICATION, **REGRESSION})]


# ---- weights of a feature that vanish for all tasks together ---------------------------------------------------------
class Across(NamedTuple):
    """With v = soft(G, a) row j of the weights is -c v_j [1 - lambda t/|v_j|]_+; a = t lambda r, c = 1/(gamma sqrt(t)).

    S keeps |G_j|^2.
    """

    G: ndarray
    S: ndarray
    t: ndarray
    now: ndarray
    age: ndarray
    rule: Any
    lambda_: float
    gamma: float
    r: float

    def primal(self) -> ndarray:
        """Return the weights."""
        v = softened(self.G.reshape(len(self.S), -1).astype(np.float64), self.now[0])
        n = np.linalg.norm(v, axis=1, keepdims=True)
        keep = np.maximum(0.0, 1.0 - np.divide(self.lambda_ * self.t[0], n, out=np.ones_like(n), where=n > 0.0))
        return (-self.now[1] * keep * v).reshape(-1).astype(self.G.dtype)


@word
def row_square(rule, w, j, K):
    """Return |v_j|^2."""


@row_square.on(Tracked)
def _(rule, w, j, K):
    return w.S[j]


@row_square.on(Summed)
def _(rule, w, j, K):
    q = 0.0
    for c in range(int(K)):
        v = soft(float(w.G[j * K + np.uintp(c)]), w.now[0])
        q += v * v
    return q


def walk_across(w, x, c, K):
    """Return the score by task c."""
    f = 0.0
    for k in range(nnz(x)):
        j, v = item(x, k)
        q = row_square(w.rule, w, j, K)
        if q > 0.0:
            keep = max(0.0, 1.0 - w.lambda_ * w.t[0] / math.sqrt(q))
            f += keep * soft(float(w.G[j * K + c]), w.now[0]) * v
    return -w.now[1] * f


def walk_across_add(w, a, x, c, K):
    """Do G_c -= a x."""
    for k in range(nnz(x)):
        j, v = item(x, k)
        old, g = float(w.G[j * K + c]), -a * v
        w.G[j * K + c] = old + g
        w.S[j] = max(0.0, w.S[j] + g * (2.0 * old + g))
    w.age[0] += 1
    if w.age[0] >= PERIOD:
        measure_rows(w, K)


@rare
def measure_rows(w, K):
    """Compute the lengths of all rows, so that rounding does not add up."""
    for j in range(w.S.shape[0]):
        q = 0.0
        for c in range(int(K)):
            v = float(w.G[np.uintp(j) * K + np.uintp(c)])
            q += v * v
        w.S[j] = q
    w.age[0] = 0


@dot.on(Across, Block)
def _(w, x):
    return walk_across(w, x.x, x.c, x.K)


@add.on(Across, object, Block)
def _(w, a, x):
    walk_across_add(w, a, x.x, x.c, x.K)


@shrink.on(Across)
def _(w, a):
    w.t[0] += 1.0
    root = math.sqrt(w.t[0])
    w.now[0] = w.t[0] * w.lambda_ * w.r
    w.now[1] = 1.0 / (w.gamma * root)


# ---- variants --------------------------------------------------------------------------------------------------------
class Individual(NamedTuple):
    """Features are chosen for each task."""

    def weights(self, p: Any) -> Any:
        """Return the kind of weights."""
        return made(Averages, sums(AXES), ROUNDS, NOW, p.lambda_, p.gamma, 0.0, 0.0)


class All(NamedTuple):
    """Features are chosen for all tasks together."""

    def weights(self, p: Any) -> Any:
        """Return the kind of weights."""
        return across(p, Tracked(), 0.0)


class Both(NamedTuple):
    """Features are chosen for all tasks together, and for each task among them."""

    def weights(self, p: Any) -> Any:
        """Return the kind of weights."""
        return across(p, Summed(), p.r)


def across(p: Any, rule: Any, r: float) -> Any:
    """Return weights of features that vanish together."""
    lengths = Slot(("feature",), dtype=np.float64)
    return made(Across, sums(AXES), lengths, ROUNDS, NOW, AGE, rule, p.lambda_, p.gamma, r)


Variant = Annotated[Any, Choice({"individual": Individual, "all": All, "both": Both})]


class Params(NamedTuple):
    """Multi-task feature selection."""

    variant: Variant = "all"
    loss: Losses = "log"
    lambda_: NonNegative = 1e-4
    gamma: Positive = 1.0
    r: NonNegative = 0.5
    epsilon: NonNegative = 0.1

    def weights(self) -> Any:
        """Return the kind of weights."""
        return Spared(self.variant.weights(self), made(Averages, sums(AXES[1:]), ROUNDS, NOW, 0.0, self.gamma, 0.0, 0.0))


class State(NamedTuple):
    """Weights: everything is in their kind."""

    w: Own


# ---- the loops -------------------------------------------------------------------------------------------------------
TEXT = """
@jit
def learn({args}{data}task, K, c, y, out):
    s, p = {S}, {P}
    for i in range({n}):
        x = Block({row}, np.uintp(task[i]), np.uintp(K))
        if c[i] > 0.0:
            f, _ = step(s, Weighted(x, c[i]), y[i], p)
            out[i] = f
        else:
            out[i] = dot(s.w, x)

@jit
def predict({args}{data}task, K, out):
    s, p = {S}, {P}
    for i in range({n}):
        out[i] = dot(s.w, Block({row}, np.uintp(task[i]), np.uintp(K)))
"""


@cache
def loops(S: str, P: str, args: tuple[str, ...], kinds: tuple[tuple[str, type], ...], layout: str, bias: bool, jit: bool) -> Any:
    """Return the compiled loops for kinds of state and parameters and a layout of rows."""
    data, n, row = LAYOUTS[layout]
    given = {"args": "".join(f"{a}, " for a in args), "data": ("j, " if bias else "") + data, "S": S, "P": P, "n": n}
    text = TEXT.format(**given, row=f"Biased({row}, j)" if bias else row)
    known = {k.__name__: k for k in (Biased, Block, Sparse, Weighted)}
    used = {k: v for k, v in {**known, **dict(kinds), "step": collect, "dot": dot}.items() if f"{k}(" in text}
    return build(f"multitask_{layout}", text, used)


class MultiTask:
    """Online multi-task feature selection: related problems on the same features, and few features for all of them.

    With g the gradients of all rounds of all tasks, averaged, a row g_j for each feature: `variant` "individual" w =
    -(sqrt(t)/gamma) soft(g, lambda); "all" w_j = -(sqrt(t)/gamma) [1 - lambda/|g_j|]_+ g_j, so that a feature vanishes for all
    tasks together; "both" the same of v = soft(g, lambda r) in the place of g.

    Parameters: `variant`; `loss`: "log", "hinge", "squared_hinge", "exponential", "perceptron" for two labels, which all tasks
    share, or "square", "absolute", "epsilon_insensitive", "squared_epsilon_insensitive" (with `epsilon`) for real targets;
    `lambda_` >= 0; `gamma` > 0; `r` >= 0; `fit_intercept`: a constant feature for each task, without penalty; `hash_bits` folds the
    names of dicts. Tasks are any values, and may appear at any time. Cost O(nnz) a round, times the tasks for "both".

    Pitfall: lambda is compared with gradients averaged over all tasks, so it must fall as tasks are added.

    Yang, Lyu, King (2013), section 3.

    >>> m = MultiTask(variant="all", loss="log", lambda_=0.01)
    >>> for _ in range(20):
    ...     _ = m.learn_one({"free": 1, "the": 1}, "spam", task="mail"), m.learn_one({"free": 1, "the": 1}, "spam", task="forum")
    ...     _ = m.learn_one({"agenda": 1, "the": 1}, "ham", task="mail"), m.learn_one({"rules": 1, "the": 1}, "ham", task="forum")
    >>> m.predict_one({"free": 1, "the": 1}, task="forum")
    'spam'
    """

    name = "multitask"
    cite = "yang2013"
    State, Params, step = State, Params, staticmethod(collect)
    score_row = share = start = arrange = None  # what a Model asks of its learner
    by_rows: ClassVar[bool] = False
    by_kernel: ClassVar[bool] = False
    _m: Model
    _known: dict[Any, int]  # the number of each task
    _labels: Labels | None

    def __init__(
        self,
        *,
        variant: Any = "all",
        loss: Any = "log",
        lambda_: float = 1e-4,
        gamma: float = 1.0,
        r: float = 0.5,
        epsilon: float = 0.1,
        fit_intercept: bool = True,
        classes: Any = None,
        hash_bits: int | None = None,
        dtype: str = "float64",
    ) -> None:
        self.variant, self.loss, self.lambda_, self.gamma, self.r, self.epsilon = variant, loss, lambda_, gamma, r, epsilon
        self.fit_intercept, self.classes, self.hash_bits, self.dtype = fit_intercept, classes, hash_bits, dtype

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name."""
        own = ("variant", "loss", "lambda_", "gamma", "r", "epsilon", "fit_intercept", "classes", "hash_bits", "dtype")
        return {k: getattr(self, k) for k in own}

    @property
    def task(self) -> str:
        """What the loss is for: "classification" or "regression"."""
        return "classification" if self.loss in CLASSIFICATION or type(self.loss) in CLASSIFICATION.values() else "regression"

    # ---- input -------------------------------------------------------------------------------------------------------
    def _begin(self, X: Any) -> tuple[Model, dict[Any, int], Labels | None]:
        """Return a new model, no tasks, and the labels there may be."""
        bias = bool(self.fit_intercept)
        features: Features
        if self.hash_bits is not None:
            features = Hashed(self.hash_bits, bias)
        else:
            features = Names(bias) if is_dicts(X) else Columns(inputs.rows(X, self.dtype).width, bias)
        labels = Labels(self.classes) if self.task == "classification" else None
        return Model(self, features, None), {}, labels  # type: ignore[arg-type]

    def _targets(self, labels: Labels | None, y: Any, n: int) -> tuple[np.ndarray, Labels | None]:
        """Return signs or real targets, and the labels with those that are new among them."""
        if labels is None:
            return inputs.targets(y, n, numeric=True), None
        values = [plain(v) for v in discrete(inputs.targets(y, n, numeric=False)).tolist()]
        labels = copy.deepcopy(labels)
        labels.extend(labels.missing(values))
        if len(labels) > 2:
            raise ValueError(f"MultiTask is for two labels, shared by all tasks; found {labels.sorted}")
        return np.array([1.0 if labels.index[v] == labels.positive else -1.0 for v in values]), labels

    def _tasks(self, known: dict[Any, int], tasks: Any, n: int) -> tuple[np.ndarray, dict[Any, int]]:
        """Return the number of the task of each row, and all tasks."""
        given = [tasks] * n if isinstance(tasks, str) or not isinstance(tasks, (Sequence, np.ndarray)) else list(tasks)
        if tasks is None or len(given) != n:
            raise ValueError(
                f"tasks must be one value, or one for each of the {n} rows; got {'none' if tasks is None else len(given)}"
            )
        known = dict(known)
        for i, v in enumerate(given):
            if not isinstance(v := v.item() if isinstance(v, np.generic) else v, Hashable) or v is None or v != v:
                raise ValueError(f"the task of row {i} must be a value that can be looked up, got {v!r}")
            given[i] = known.setdefault(v, len(known))
        return np.array(given, np.int64), known

    def _rows(self, m: Model, X: Any, grow: bool) -> Rows:
        """Return rows in the coordinates of the model; new names may join it."""
        if is_dicts(X):
            for x in X:
                m.features.row(x, False)  # all checks pass before anything changes
            rows = stacked(m.features, X, grow)
        else:
            rows = inputs.rows(X, self.dtype)
            m.features.check(rows, type(self).__name__)
            rows = m.features.rows(rows, grow)
        if grow and m.features.grows:
            m.widen()
        return rows

    # ---- learning and answering --------------------------------------------------------------------------------------
    def learn_many(self, X: Any, y: Any, tasks: Any, sample_weight: Any = None) -> np.ndarray:
        """Predict, then learn, on each row in order; return the scores from before each update, above 0 for `classes_[1]`."""
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        c = inputs.sample_weights(sample_weight, n)
        m, known, labels = (self._m, self._known, self._labels) if "_m" in self.__dict__ else self._begin(X)
        targets, labels = self._targets(labels, y, n)
        numbers, known = self._tasks(known, tasks, n)
        rows = self._rows(m, X, grow=True)
        if len(known) > m.dims["class"]:
            m.resize(**{"class": len(known)})
        out = np.empty(n)
        weights = np.ones(n) if c is None else c
        self._loop(m, rows.layout)["learn"](*m.args, *rows.arrays, numbers, m.dims["class"], weights, targets, out)
        self._m, self._known, self._labels = m, known, labels
        self.n_seen_ = self.__dict__.get("n_seen_", 0) + int((weights > 0.0).sum())
        return self._outward(out)

    def _loop(self, m: Model, layout: str) -> Any:
        found: list[tuple[str, Any]] = []
        kinds: dict[str, type] = {}
        S, P = flatten(m.state, "s", found, kinds), flatten(m.params, "p", found, kinds)
        args = tuple(n for n, _ in found)
        return loops(S, P, args, tuple(kinds.items()), layout, m.features.bias, interpreting())

    def partial_fit(self, X: Any, y: Any, tasks: Any, sample_weight: Any = None) -> Self:
        """Learn from rows in order; `tasks` names the task of each row, or of all."""
        self.learn_many(X, y, tasks, sample_weight)
        return self

    def learn_one(self, x: Any, y: Any, task: Any, w: float = 1.0) -> Any:
        """Learn one example of a task with weight w; return the prediction made before (None when no label was known)."""
        began = "_m" in self.__dict__
        before = len(self._labels) if began and self._labels is not None else 0
        f = self.learn_many(one(x), [y], [task], [w])
        if self._labels is None:
            return float(f[0])
        return self._named(f).tolist()[0] if before == 2 else self._labels.values[0] if before else None

    def predict(self, X: Any, tasks: Any) -> np.ndarray:
        """Return the label, or the number, of each row."""
        f = self._score(X, tasks)
        return f if self._labels is None else self._named(f)

    def predict_one(self, x: Any, task: Any) -> Any:
        """Return the label, or the number, of one example of a task."""
        return self.predict(one(x), [task]).tolist()[0]

    def decision_function(self, X: Any, tasks: Any) -> np.ndarray:
        """Return the score of each row, above 0 for `classes_[1]`."""
        return self._score(X, tasks)

    def _score(self, X: Any, tasks: Any) -> np.ndarray:
        m = self._model()
        rows = self._rows(m, X, grow=False)
        numbers, known = self._tasks(self._known, tasks, rows.n)
        if len(known) > len(self._known):
            raise ValueError(f"task {list(known)[len(self._known)]!r} has never been learned; known are {list(self._known)}")
        out = np.empty(rows.n)
        self._loop(m, rows.layout)["predict"](*m.args, *rows.arrays, numbers, m.dims["class"], out)
        return self._outward(out)

    def _outward(self, f: np.ndarray) -> np.ndarray:
        labels = self._labels
        return f if labels is None or len(labels) < 2 or labels.order[1] == labels.positive else -f

    def _named(self, f: np.ndarray) -> np.ndarray:
        assert self._labels is not None
        return label_array(self._labels.sorted)[np.where(f >= 0.0, len(self._labels) - 1, 0)]

    # ---- reading back ------------------------------------------------------------------------------------------------
    def _model(self) -> Model:
        if "_m" not in self.__dict__:
            raise not_learned(self)  # type: ignore[arg-type]
        return self._m

    @classmethod
    def primal(cls, s: Any, p: Any) -> np.ndarray:
        """Return the weights of a state as one flat vector, feature by feature."""
        found: np.ndarray = s.w.primal()
        return found

    @property
    def tasks_(self) -> list[Any]:
        """The tasks, in order of first appearance."""
        self._model()
        return list(self._known)

    @property
    def classes_(self) -> np.ndarray:
        """The two labels, sorted."""
        self._model()
        if self._labels is None:
            raise AttributeError("classes_: real targets have no labels")
        return label_array(self._labels.sorted)

    @property
    def coef_(self) -> np.ndarray:
        """The weights, a row for each task of `tasks_`."""
        m = self._model()
        w = m.weights()
        return self._outward(np.delete(w, m.features.constant, axis=1) if m.features.bias else w)

    @property
    def intercept_(self) -> np.ndarray:
        """The weight of the constant feature for each task."""
        m = self._model()
        return self._outward(m.weights()[:, m.features.constant] if m.features.bias else np.zeros(m.dims["class"]))

    @property
    def feature_names_(self) -> list[Any]:
        """The names of the features, where there are names."""
        names = self._model().features.names
        if names is None:
            raise AttributeError("feature_names_: the features have no names")
        return list(names)

    def reset(self) -> Self:
        """Forget everything learned."""
        for k in ("_m", "_known", "_labels", "n_seen_"):
            self.__dict__.pop(k, None)
        return self

    def __repr__(self) -> str:
        return f"MultiTask({', '.join(f'{k}={v!r}' for k, v in self.get_params().items())})"


def one(x: Any) -> Any:
    """Return one example as a batch."""
    return [x] if isinstance(x, Mapping) else np.reshape(np.asarray(x, np.float64), (1, -1))
