"""Factorisation machines: a linear model, and for every two features a weight that is the product of their factors.

Rendle (2010), *Factorization machines*; the steps are those of AdaGrad (Duchi, Hazan, Singer 2011).
"""

from __future__ import annotations

import math
from typing import Annotated, Any, NamedTuple

import numpy as np

from ..algorithm.params import NonNegative, Positive, Times, WholeRange
from ..algorithm.state import Slot
from ..engine.splitmix64 import STRIDE, mixed
from ..engine.words import strict, word
from ..parts.losses import ClassLoss, softmax_slopes, steep
from ..spaces.examples import Biased, Block, Pair, Weighted, Whole, importance, item, nnz
from ..spaces.weights import dot, null
from ..tasks.classification import Classifier
from ..tasks.regression import Regressor
from .adaptive import Sums, each, touch
from .gradient import is_log

Seed = Annotated[float, WholeRange(0.0, 9007199254740991.0, "[]")]
Linear = Annotated[Any, Slot()]
# Two classes have one score, that of the positive one: with a third, the other begins with no factors learned.
Factors = Annotated[Any, Slot(("feature", "class", "factor"), promote="lone")]
Squares = Annotated[Any, Slot(("feature", "class", "factor"), promote="copy", squares=True)]
Scratch = Annotated[Any, Slot(("factor",), dtype=np.float64, scratch=True)]
SPREAD = math.sqrt(3.0) / 4503599627370496.0  # makes 53 bits with a sign a number of deviation 1
SIGN, HALF = np.uint64(11), 4503599627370496


class Params(NamedTuple):
    """FM."""

    loss: ClassLoss = "log"
    k: Times = 10
    eta: Positive = 0.1
    eta_w: Positive = 0.3
    l2: NonNegative = 0.02
    sigma: Positive = 0.01
    seed: Seed = 0


class State(NamedTuple):
    """Weights and factors, the latter less what was drawn for them; the sums of their squared gradients."""

    w: Linear
    n: Sums
    V: Factors
    N: Squares
    S: Scratch  # sum_j v_j x_j of a row


# ---- factors ---------------------------------------------------------------------------------------------------------
def key(p, j):
    """Return what the draws of feature j begin with."""
    return mixed(np.uint64(p.seed) * STRIDE + np.uint64(j))  # of an array, too: `factors` has all at once


def drawn(p, k, f):
    """Return where factor f of a feature begins: uniform, with deviation sigma."""
    bits = np.int64(mixed(k + np.uint64(f) * STRIDE) >> SIGN)
    return p.sigma * SPREAD * (bits - HALF)


@word
def pairs(s, p, c, x):
    """Return sum_{i<j} <v_i, v_j> x_i x_j with the factors of class c, and leave sum_j v_j x_j in S."""


@word
def turn(s, p, c, g, x):
    """Move the factors of class c by the gradient of the score times g."""


@strict
def sum_of_pairs(s, p, c, x):
    """Do it by (|sum_j v_j x_j|^2 - sum_j |v_j x_j|^2)/2."""
    for f in range(s.S.shape[0]):
        s.S[f] = 0.0
    squares = 0.0
    for i in range(nnz(x)):
        j, v = item(x, i)
        if v != 0.0:
            k = key(p, j)
            for f in range(s.S.shape[0]):
                a = (drawn(p, k, f) + s.V[j, c, f]) * v
                s.S[f] += a
                squares += a * a
    total = 0.0
    for f in range(s.S.shape[0]):
        total += s.S[f] * s.S[f]
    return 0.5 * (total - squares)


@pairs.on(object)
def pairs_any(s, p, c, x):
    return sum_of_pairs(s, p, c, x)


@pairs.on(object, object, object, Biased)
def pairs_biased(s, p, c, x):  # the constant feature has no factors: its pairs would be linear
    return pairs(s, p, c, x.x)


@pairs.on(object, object, object, Block)
def pairs_block(s, p, c, x):
    return pairs(s, p, x.c, x.x)


@pairs.on(object, object, object, Pair)
def pairs_pair(s, p, c, x):
    return pairs(s, p, x.a, x.x) - pairs(s, p, x.b, x.x)


@pairs.on(object, object, object, Weighted)
def pairs_weighted(s, p, c, x):
    return pairs(s, p, c, x.x)


@strict
def descend_factors(s, p, c, g, x):
    """Take a step of AdaGrad for each factor, given the sums in S."""
    for i in range(nnz(x)):
        j, v = item(x, i)
        if v != 0.0:
            k = key(p, j)
            for f in range(s.S.shape[0]):
                a = drawn(p, k, f) + s.V[j, c, f]
                slope = g * v * (s.S[f] - a * v) + p.l2 * a
                s.N[j, c, f] += slope * slope
                if s.N[j, c, f] > 0.0:
                    s.V[j, c, f] -= p.eta * slope / math.sqrt(s.N[j, c, f])


@turn.on(object)
def turn_any(s, p, c, g, x):
    descend_factors(s, p, c, g, x)


@turn.on(object, object, object, object, Biased)
def turn_biased(s, p, c, g, x):
    turn(s, p, c, g, x.x)


@turn.on(object, object, object, object, Block)
def turn_block(s, p, c, g, x):
    pairs(s, p, x.c, x.x)
    turn(s, p, x.c, g, x.x)


@turn.on(object, object, object, object, Pair)
def turn_pair(s, p, c, g, x):
    turn(s, p, c, g, Block(x.x, x.a, x.K))
    turn(s, p, c, -g, Block(x.x, x.b, x.K))


@turn.on(object, object, object, object, Weighted)
def turn_weighted(s, p, c, g, x):
    turn(s, p, c, g, x.x)


# ---- rounds ----------------------------------------------------------------------------------------------------------
class Ease(NamedTuple):
    """n_j += slope^2, then w_j -= eta slope/sqrt(n_j), slope = g x_j + l2 w_j."""

    g: float
    eta: float
    l2: float


@touch.on(Ease)
def touch_ease(act, s, i, v):
    slope = act.g * v + act.l2 * s.w[i]
    s.n[i] += slope * slope
    if s.n[i] > 0.0:
        s.w[i] -= act.eta * slope / math.sqrt(s.n[i])
    return 0.0, 0.0


def fm_score(s, x, p):
    """Return the weights' score and that of the pairs."""
    return dot(s.w, x) + pairs(s, p, 0, x)


def fm(s, x, y, p):
    """Take a step of AdaGrad along the gradient of every weight and factor in the row."""
    f = fm_score(s, x, p)
    g = importance(x) * steep(p.loss, f, y)
    if g == 0.0 or null(s.w, x):
        return f, False
    each(Ease(g, p.eta_w, p.l2), s, Whole(), x)
    turn(s, p, 0, g, x)
    return f, True


@strict
def fm_softmax(s, f, y, p, tau, x):
    """Do the same with the log loss of many classes, whose gradient moves all of them."""
    if null(s.w, x):
        return False
    softmax_slopes(f, y, tau)
    K = np.uintp(tau.shape[0])
    for c in range(tau.shape[0]):
        if tau[c] != 0.0:
            row = Block(x, np.uintp(c), K)
            each(Ease(importance(x) * tau[c], p.eta_w, p.l2), s, Whole(), row)
            turn(s, p, 0, importance(x) * tau[c], row)
    return True


def sizes(p: Any) -> dict[str, int]:
    """Return the number of factors."""
    return {"factor": int(p.k)}


class WithFactors:
    """What both tasks can be asked."""

    def factors(self: Any) -> np.ndarray:
        """Return the factors: features x k, or classes x features x k where there are more than two classes."""
        m, p = self.model, self.model.params
        n, first = m.features.size - m.features.bias, int(m.features.bias and m.features.constant == 0)
        with np.errstate(over="ignore"):
            places = np.arange(first, first + n, dtype=np.uint64)[:, None]
            start = drawn(p, key(p, places), np.arange(m.dims["factor"], dtype=np.uint64))
        V = m.state.V[first : first + n, : m.dims["class"]] + start[:, None]
        return np.array(V[:, 0] if m.dims["class"] == 1 else np.moveaxis(V, 1, 0))


class FM(WithFactors, Classifier):
    """Factorisation machine: f = w.x + sum_{i<j} <v_i, v_j> x_i x_j, so that two features count together though never seen so.

    Every weight and factor takes the steps of AdaGrad: n += slope^2, w -= eta_w slope/sqrt(n), slope = g x_j + l2 w_j, and the
    same for v_j with eta and the slope g x_j (sum_i v_i x_i - v_j x_j) + l2 v_j, g that of the loss. Only features of the row move.
    O(k nnz) a round, k (features) numbers of memory for each class. Columns of ones (users, items, words, categories) suit it:
    two of them make it matrix factorisation, more are what advertising uses.

    Parameters: `k`, factors of each feature; `eta` and `eta_w`, steps of factors and weights; `l2` >= 0 pulls both to 0; `sigma`,
    the deviation of the factors at first, drawn by `seed`; `loss`: "log", "hinge", "squared_hinge", "exponential", "perceptron".
    More than two classes: the loss of the margin to the best rival; "log" is the softmax loss and moves all classes.

    Read back: `coef_`, `intercept_`, `factors()`.

    Pitfalls: the problem is not convex: another seed gives another model, and there is no bound. Columns of different sizes are
    to be scaled first. When a third class comes, the second begins with the factors drawn.

    Rendle (2010), equations 1 to 4.

    >>> X, y = [[1, 0, 1, 0], [1, 0, 0, 1], [0, 1, 1, 0], [0, 1, 0, 1]], [1, -1, -1, 1]  # equal or not: no line tells
    >>> FM(k=2, l2=0.0).fit(X, y, epochs=30).predict(X).tolist()
    [1, -1, -1, 1]
    """

    name = "fm"
    cite = "rendle2010"
    State, Params, step, score_row, sizes = State, Params, fm, fm_score, sizes
    share, shares = fm_softmax, is_log
    oriented = True  # the factors drawn are those of the positive class
    draws = True
    merges = "none"
    no_merge = "factors that were learned apart do not correspond"


class FMRegressor(WithFactors, Regressor, algorithm=FM):
    """Factorisation machine for real targets: f = w.x + sum_{i<j} <v_i, v_j> x_i x_j, learned by steps of AdaGrad.

    Parameters: `loss`: "square", "absolute", "epsilon_insensitive", "squared_epsilon_insensitive" with `epsilon`; the others as in
    FM. Pitfall: steps forget the unit of y: scale y to about 1.

    Rendle (2010), equations 1 to 4.

    >>> X, y = [[1, 0, 1, 0], [1, 0, 0, 1], [0, 1, 1, 0]], [5.0, 3.0, 1.0]  # two users, two items: ratings
    >>> FMRegressor(k=2).fit(X, y, epochs=50).predict(X).round(1).tolist()
    [5.0, 3.0, 1.0]
    """

    name = "fm_regressor"
    overrides = {"loss": "square", "eta_w": 0.25}
    draws = True
    no_merge = FM.no_merge
