"""Several tasks that share features: one dual averaging for all, in which features are chosen for each task, for all, or both.

Yang, Lyu, King (2013), *Efficient online learning for multitask feature selection*. The weights form a matrix, a row for each
feature and a column for each task; an example moves the column of its task, and the gradient is averaged over all rounds of all
tasks.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from numpy import ndarray

from ..algorithm.params import Choice, NonNegative, Positive
from ..algorithm.state import AGE, Own, Slot, made
from ..engine.words import rare, strict, word
from ..parts.losses import ClassLoss
from ..spaces.examples import Block, item, nnz
from ..spaces.groups import Summed, Tracked
from ..spaces.sparse import Averages, Spared, shrink, soft, softened
from ..spaces.weights import PERIOD, add, dot
from ..tasks.classification import Classifier
from ..tasks.domains import Domains, DomainsClassifier
from ..tasks.regression import Regressor
from .dual_averaging import NOW, ROUNDS, collect, sums


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

    def settle(self) -> None:
        """Compute the lengths, the threshold and the factor."""
        self.S[:] = (self.G.reshape(len(self.S), -1).astype(np.float64) ** 2).sum(1)
        if self.t[0] > 0.0:
            moment(self)


@word
def row_square(rule, w, j, K):
    """Return |v_j|^2."""


@row_square.on(Tracked)
def row_square_tracked(rule, w, j, K):
    return w.S[j]


@row_square.on(Summed)
@strict
def row_square_summed(rule, w, j, K):
    q = 0.0
    for c in range(int(K)):
        v = soft(float(w.G[j * K + np.uintp(c)]), w.now[0])
        q += v * v
    return q


@strict
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


@strict
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
@strict
def measure_rows(w, K):
    """Compute the lengths of all rows, so that rounding does not add up."""
    for j in range(w.S.shape[0]):
        q = 0.0
        for c in range(int(K)):
            v = float(w.G[np.uintp(j) * K + np.uintp(c)])
            q += v * v
        w.S[j] = q
    w.age[0] = 0


def moment(w):
    """Do a = t lambda r and c = 1/(gamma sqrt(t))."""
    w.now[0] = w.t[0] * w.lambda_ * w.r
    w.now[1] = 1.0 / (w.gamma * math.sqrt(w.t[0]))


@dot.on(Across, Block)
def dot_across_block(w, x):
    return walk_across(w, x.x, x.c, x.K)


@add.on(Across, object, Block)
def add_across_block(w, a, x):
    walk_across_add(w, a, x.x, x.c, x.K)


@shrink.on(Across)
def shrink_across(w, a):
    w.t[0] += 1.0
    moment(w)


# ---- variants --------------------------------------------------------------------------------------------------------
class Individual(NamedTuple):
    """Features are chosen for each task."""

    def weights(self, p: Any) -> Any:
        """Return the kind of weights."""
        return made(Averages, sums(AXES), ROUNDS, NOW, p.lambda_, p.gamma, 0.0, 0.0)


AXES = ("feature", "domain")


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


def weights(p: Any) -> Any:
    """Return the kind of weights, with a constant feature for each task that no penalty acts on."""
    return Spared(p.variant.weights(p), made(Averages, sums(AXES[1:]), ROUNDS, NOW, 0.0, p.gamma, 0.0, 0.0))


class Params(NamedTuple):
    """Multi-task feature selection."""

    variant: Variant = "all"
    loss: ClassLoss = "log"
    lambda_: NonNegative = 1e-4
    gamma: Positive = 1.0
    r: NonNegative = 0.5

    weights = weights


class State(NamedTuple):
    """Weights: everything is in their kind."""

    w: Own


class MultiTask(DomainsClassifier, Classifier):
    """Online multi-task feature selection: related problems on the same features, and few features for all of them.

    With g the gradients of all rounds of all tasks, averaged, a row g_j for each feature: `variant` "individual" w =
    -(sqrt(t)/gamma) soft(g, lambda); "all" w_j = -(sqrt(t)/gamma) [1 - lambda/|g_j|]_+ g_j, so that a feature vanishes for all
    tasks together; "both" the same of v = soft(g, lambda r) in the place of g.

    Parameters: `variant`: "individual", "all" or "both"; `loss`: "log", "hinge", "squared_hinge", "exponential", "perceptron", for
    two labels, which all tasks share; `lambda_` >= 0, the penalty; `gamma` > 0, the inverse of the step size; `r` >= 0, the share
    of the penalty that "both" has for each task; `task_column`: the column, or the key of dicts, that names the task and is not a
    feature.

    Tasks are any values that can be looked up, texts where a table has them, and may appear at any time. Each has a constant
    feature without penalty. Cost O(nnz) a round, times the tasks for "both".

    Read back: `tasks_`, `coef_` with a row for each task, `intercept_`, `nonzeros_`, those of each task.

    Pitfall: lambda is compared with gradients averaged over all tasks, so it must fall as tasks are added.

    Yang, Lyu, King (2013), section 3.

    >>> import noregret as nr
    >>> m = nr.MultiTask(lambda_=0.01, task_column="where")
    >>> for _ in range(20):
    ...     for where, bad, good in (("mail", "free", "agenda"), ("forum", "free", "rules")):
    ...         _ = m.learn_one({"where": where, bad: 1, "the": 1}, "spam")
    ...         _ = m.learn_one({"where": where, good: 1, "the": 1}, "ham")
    >>> m.predict_one({"where": "forum", "free": 1, "the": 1}), m.predict_one({"rules": 1, "the": 1}, task="forum")
    ('spam', 'ham')
    >>> m.tasks_
    ['mail', 'forum']
    """

    name = "multitask"
    sizes = lambda p: {"domain": 1}  # noqa: E731
    formerly: ClassVar[dict[str, str]] = {"domain": "class"}
    cite = "yang2013"
    State, Params, step = State, Params, collect
    overrides: ClassVar[dict[str, Any]] = {"task_column": None}


class MultiTaskRegressor(Domains, Regressor, algorithm=MultiTask):
    """Online multi-task feature selection for real targets.

    As MultiTask. Parameters: `variant`: "individual", "all" or "both"; `loss`: "square", "absolute", "epsilon_insensitive",
    "squared_epsilon_insensitive"; `epsilon` >= 0 of the last two; `lambda_` >= 0, the penalty; `gamma` > 0, the inverse of the step
    size; `r` >= 0, the share of the penalty that "both" has for each task; `task_column`: the column, or the key of dicts, that
    names the task and is not a feature.

    Yang, Lyu, King (2013), section 3.

    >>> import noregret as nr
    >>> m = nr.MultiTaskRegressor(gamma=5, lambda_=0.01)
    >>> m = m.partial_fit([[1, 0], [0, 1]] * 200, [1, 2] * 200, ["a", "b"] * 200)
    >>> m.predict([[1, 0], [0, 1]], ["a", "b"]).round().tolist()
    [1.0, 2.0]
    """

    name = "multitask_regressor"
    overrides = {"loss": "square", "task_column": None}
