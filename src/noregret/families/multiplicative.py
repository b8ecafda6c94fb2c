"""Multiplicative updates: exponentiated gradient and Winnow. Weights live in the log domain; a row costs O(nnz).

Kivinen, Warmuth (1997), *Exponentiated gradient versus gradient descent for linear predictors*; Littlestone (1988), *Learning
quickly when irrelevant attributes abound*.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..algorithm.bounds import SIMPLEX, Bound, Comparison
from ..algorithm.params import AboveOne, Fraction, Optional, Positive, Switch, Width
from ..algorithm.state import Count, Logs, PerClass
from ..engine.elementary import exp, exp2, log2
from ..engine.words import rare, strict, word
from ..inputs.checking import Rows
from ..inputs.features import Features
from ..inputs.labels import Labels
from ..learners.model import Model
from ..parts.losses import ClassLoss, softmax_slopes, steep
from ..parts.rates import Constant, Rate, rate
from ..spaces.examples import Block, Pair, Weighted, importance, item, nnz
from ..spaces.weights import null
from ..tasks.classification import Classifier
from ..tasks.regression import Regressor
from .gradient import UNBOUNDED, is_log

REACH = 200.0  # how far a log weight may rise above the reference of its class before that is moved
LOW = -1e300  # the logarithm of nothing


# ---- exponentiated gradient ------------------------------------------------------------------------------------------
class Params(NamedTuple):
    """EG."""

    loss: ClassLoss = "hinge"
    eta: Positive = 0.1
    rate: Rate = "constant"
    d: Width = 0.0


class SignedParams(NamedTuple):
    """EG+-."""

    loss: ClassLoss = "hinge"
    eta: Positive = 0.1
    U: Positive = 1.0
    rate: Rate = "constant"
    d: Width = 0.0


class State(NamedTuple):
    """Per class: log weights theta, and Z = sum of exp(theta - top) over the n coordinates it has met."""

    theta: Logs
    Z: PerClass
    top: PerClass
    n: PerClass
    age: PerClass
    t: Count

    def settle(self) -> None:
        """Have every Z computed at the next round."""
        self.n[:] = 0.0


@word
def mass(p, theta, top):
    """Return what a log weight adds to Z."""


@word
def size(p, theta):
    """Return the larger of the logarithms a coordinate stands for."""


@word
def weight(p, theta, top, Z):
    """Return a weight."""


@word
def force(p):
    """Return the factor of the gradient in the exponent."""


@mass.on(Params)
def one_sided(p, theta, top):
    """EG: e^theta."""
    return exp(theta - top)


@mass.on(SignedParams)
def two_sided(p, theta, top):
    """EG+-: e^theta + e^-theta, the weights of a coordinate and of its mirror image."""
    return exp(theta - top) + exp(-theta - top)


@size.on(Params)
def one_log(p, theta):
    """EG: theta."""
    return theta


@size.on(SignedParams)
def larger_log(p, theta):
    """EG+-: theta or -theta."""
    return abs(theta)


@weight.on(Params)
def simplex_weight(p, theta, top, Z):
    """EG: a share of 1."""
    return exp(theta - top) / Z if Z > 0.0 else 1.0 / p.d


@weight.on(SignedParams)
def signed_weight(p, theta, top, Z):
    """EG+-: the difference of two shares of U."""
    return p.U * (exp(theta - top) - exp(-theta - top)) / Z if Z > 0.0 else 0.0


@force.on(Params)
def plain_force(p):
    """EG."""
    return 1.0


@force.on(SignedParams)
def scaled_force(p):
    """EG+-."""
    return p.U


def score(s, x, p):
    """Return w.x."""
    K = np.uintp(s.Z.shape[0])
    f = 0.0
    for k in range(nnz(x)):
        i, v = item(x, k)
        c = i % K
        f += v * weight(p, s.theta[i], s.top[c], s.Z[c])
    return f


@rare
@strict
def measure(s, c, p):
    """Compute Z of class c, with the largest log weight for reference."""
    K = s.Z.shape[0]
    top = size(p, s.theta[c])
    for j in range(int(p.d)):
        top = max(top, size(p, s.theta[j * K + c]))
    s.top[c] = top
    Z = 0.0
    for j in range(int(p.d)):
        Z += mass(p, s.theta[j * K + c], top)
    s.Z[c] = Z
    s.n[c] = p.d
    s.age[c] = 0.0


@rare
@strict
def ready(s, p):
    """Bring every Z to the coordinates now in use: a new one has log weight 0, and a share of the mass."""
    for c in range(s.Z.shape[0]):
        if s.n[c] == 0.0:
            measure(s, c, p)
        elif s.n[c] != p.d:
            s.Z[c] += (p.d - s.n[c]) * mass(p, 0.0, s.top[c])
            s.n[c] = p.d


@strict
def tilt(s, x, p, a):
    """Do theta += a x, keeping Z: computed afresh when its reference is left behind, digits were lost, or d moves were made."""
    K = np.uintp(s.Z.shape[0])
    for k in range(nnz(x)):
        i, v = item(x, k)
        c = i % K
        old = s.theta[i]
        s.theta[i] = old + a * v
        s.age[c] += 1.0
        if size(p, s.theta[i]) > s.top[c] + REACH:
            measure(s, c, p)
        else:
            before = s.Z[c]
            s.Z[c] += mass(p, s.theta[i], s.top[c]) - mass(p, old, s.top[c])
            if s.Z[c] < 1e-3 * before or s.age[c] > p.d:
                measure(s, c, p)


def step(s, x, y, p):
    """Do w_j *= exp(-eta g x_j), and normalise."""
    s.t[0] += 1
    ready(s, p)
    f = score(s, x, p)
    g = steep(p.loss, f, y)
    if g == 0.0 or null(s.theta, x):
        return f, False
    tilt(s, x, p, -rate(p.rate, s.t[0]) * force(p) * importance(x) * g)
    return f, True


def share(s, f, y, p, tau, x):
    """Do the same with the log loss of many classes, whose gradient moves all of them."""
    s.t[0] += 1
    ready(s, p)
    if null(s.theta, x):
        return False
    softmax_slopes(f, y, tau)
    K = np.uintp(s.Z.shape[0])
    a = -rate(p.rate, s.t[0]) * force(p) * importance(x)
    for c in range(f.shape[0]):
        tilt(s, Block(x, np.uintp(c), K), p, a * tau[c])
    return True


def eg_weights(s: Any, p: Any) -> np.ndarray:
    """Return the weights, feature by feature."""
    theta = s.theta.reshape(-1, len(s.Z))[: int(p.d)].astype(np.float64)
    if not isinstance(p, SignedParams):
        up = np.exp(theta - theta.max(0))
        return (up / up.sum(0)).ravel()
    top = np.abs(theta).max(0)
    up, down = np.exp(theta - top), np.exp(-theta - top)
    return (p.U * (up - down) / (up + down).sum(0)).ravel()


def simplex_bound(t: Comparison, p: Any, rows: int, moved: int) -> float:
    """Return ln d/eta + eta/2 sum |g|_inf^2, once for each row of weights that moves."""
    if isinstance(p.loss, UNBOUNDED) or not isinstance(p.rate, Constant):
        return math.inf
    return rows * math.log(t.d) / p.eta + moved * p.eta / 2.0 * t.T * t.R_inf**2


def eg_bound(t: Comparison, p: Any) -> float:
    """Return the bound for classes: a row of weights for each, two of which move."""
    return simplex_bound(t, p, max(t.K, 2), 2)


def eg_real_bound(t: Comparison, p: Any) -> float:
    """Return the bound for real targets."""
    return simplex_bound(t, p, 1, 1)


def eg_pm_bound(t: Comparison, p: Any) -> float:
    """Return ln(2d)/eta + eta U^2/2 sum |g|_inf^2 against |u|_1 <= U."""
    if isinstance(p.loss, UNBOUNDED) or not isinstance(p.rate, Constant) or t.u_1 > p.U * (1.0 + 1e-9) or t.K > 2:
        return math.inf
    return math.log(2.0 * t.d) / p.eta + p.eta * p.U**2 / 2.0 * t.T * t.R_inf**2


EG_BOUND = Bound("Kivinen, Warmuth 1997, theorem 5.10 (linearised)", "regret", eg_bound, against=SIMPLEX)
NEEDS = "it needs two classes, a model with |u|_1 <= U (regret_norm='l1'), slopes of at most 1 and a constant rate"
EG_PM_BOUND = Bound("Kivinen, Warmuth 1997, theorem 5.11 (linearised)", "regret", eg_pm_bound, NEEDS)


class EG(Classifier):
    """Exponentiated gradient for classes: every class has weights on the simplex (w >= 0, sum 1), moved by exp(-eta g x).

    Every class has its row, also when there are two; the loss is that of the margin to the best rival, or softmax ("log").

    Parameters: `loss` as in OGD, `eta` > 0, `rate` ("constant", ...). A sample weight multiplies the gradient.

    Pitfalls: the weights cannot be negative (EGpm's can); d is part of the formula: coordinates not yet seen hold their share, so
    dicts that bring new names dilute the rest (give `hash_bits` to fix d); the constant feature is a coordinate too. scikit-learn's
    tag: poor_score, because weights of bounded sum cannot follow arbitrary classes.

    Bound: regret <= K ln d/eta + eta T R_inf^2 against rows on the simplex (slopes of at most 1).

    Kivinen, Warmuth (1997), section 3.

    >>> m = EG(eta=0.5, fit_intercept=False).fit([[1, 0], [0, 1], [1, 0.2]], ["a", "b", "a"], epochs=10)
    >>> m.predict([[1, 0], [0, 1]]).tolist()
    ['a', 'b']
    """

    name = "eg"
    cite = "kivinen1997"
    State, Params, step, score_row, primal = State, Params, step, score, eg_weights
    share, shares = share, is_log
    by_rows = True
    tags = {"classifier": {"poor_score": True}}
    bound = EG_BOUND


class EGRegressor(Regressor, algorithm=EG):
    """Exponentiated gradient: weights on the simplex (w >= 0, sum 1), w_j *= exp(-eta g x_j), normalised.

    Parameters: `loss`: "square" (without 1/2), "absolute", "epsilon_insensitive", ... with `epsilon`; `eta` > 0, `rate`. Pitfalls
    as in EG. scikit-learn's tag: poor_score, because a mixture of the features cannot reach arbitrary targets.

    Bound (slopes of at most 1): regret <= ln d/eta + eta T R_inf^2 / 2 against u on the simplex.

    Kivinen, Warmuth (1997), section 3.

    >>> X, y = [[1, 0, 0.5], [0, 1, 0.5], [0.5, 0.5, 0]], [0.8, 0.2, 0.5]
    >>> EGRegressor(fit_intercept=False).fit(X, y).coef_.round(4).tolist()
    [0.3551, 0.3156, 0.3293]
    """

    name = "eg_regressor"
    overrides = {"loss": "square"}
    tags = {"regressor": {"poor_score": True}}
    by_rows = False
    bound = EG_BOUND._replace(value=eg_real_bound)


class EGpm(Classifier):
    """EG+-: exponentiated gradient with signed weights, |w|_1 <= U, as the difference of two positive vectors of total mass U.

    w+_j *= exp(-eta U g x_j), w-_j *= exp(eta U g x_j), normalised together. Strong when few of many dense features matter.

    Parameters: `loss` as in OGD, `eta` > 0, `U` > 0, `rate`. Pitfalls as in EG; |w|_1 never exceeds U, so with features of size 1
    and the hinge loss U must allow for margins of 1. scikit-learn's tag: poor_score, because the scores are bounded by U |x|_inf.

    Bound: regret <= ln(2d)/eta + eta U^2 T R_inf^2 / 2 against |u|_1 <= U (slopes of at most 1).

    Kivinen, Warmuth (1997), section 3.

    >>> X, y = [[1, 2, 0], [0.5, -1, 1], [-1, 0.5, 2]], [1, -1, 1]
    >>> EGpm(eta=0.5, U=2, fit_intercept=False).fit(X, y).coef_.round(3).tolist()
    [[-0.054, 1.719, 0.122]]
    """

    name = "eg_pm"
    cite = "kivinen1997"
    State, Params, step, score_row, primal = State, SignedParams, step, score, eg_weights
    share, shares = share, is_log
    tags = {"classifier": {"poor_score": True}}
    bound = EG_PM_BOUND


class EGpmRegressor(Regressor, algorithm=EGpm):
    """EG+- for real targets: signed weights with |w|_1 <= U.

    Parameters: `loss` as in EGRegressor, `eta` > 0, `U` > 0, `rate`. scikit-learn's tag: poor_score, because |w|_1 <= U.

    Bound (slopes of at most 1): regret <= ln(2d)/eta + eta U^2 T R_inf^2 / 2 against |u|_1 <= U.

    Kivinen, Warmuth (1997), section 3.

    >>> X, y = [[1, 2, 0], [0.5, -1, 1]], [1.0, -0.5]
    >>> EGpmRegressor(fit_intercept=False).fit(X, y).coef_.round(4).tolist()
    [0.0513, 0.1591, -0.0256]
    """

    name = "eg_pm_regressor"
    overrides = {"loss": "square"}
    tags = {"regressor": {"poor_score": True}}


# ---- Winnow ----------------------------------------------------------------------------------------------------------
class WinnowParams(NamedTuple):
    """Winnow."""

    alpha: AboveOne = 2.0
    theta: Optional = None
    zero_on_demotion: Switch = False
    d: Width = 0.0


class WinnowState(NamedTuple):
    """Log weights, to base 2: with alpha = 2 they are whole numbers, and ties with theta are exact."""

    w: Logs

    def settle(self) -> None:
        """Start again where a weight of nothing was turned over, as the other class has no such weight."""
        self.w[self.w > 400.0] = 0.0


class BalancedParams(NamedTuple):
    """Balanced Winnow."""

    alpha: AboveOne = 2.0
    beta: Fraction = 0.5
    theta: Positive = 1.0
    d: Width = 0.0


class BalancedState(NamedTuple):
    """Log weights of the two vectors, over their start."""

    up: Logs
    down: Logs


@word
def single(x):
    """Return 1 for a row on its own, which is held against theta; 0 for a class among others."""


@word
def errs(x, f, y):
    """Return whether score f is a mistake."""


@single.on(object)
def single_any(x):
    return 1.0


@single.on(Block)
def single_block(x):
    return 0.0


@single.on(Pair)
def single_pair(x):
    return 0.0


@single.on(Weighted)
def single_weighted(x):
    return single(x.x)


@errs.on(object)
def errs_any(x, f, y):
    return (f >= 0.0) != (y > 0.0)


@errs.on(Pair)
def errs_pair(x, f, y):
    return f <= 0.0


@errs.on(Weighted)
def errs_weighted(x, f, y):
    return errs(x.x, f, y)


def grown(log, a):
    """Return a log weight moved by a, within what an exponential can bear; nothing stays nothing."""
    return log if log == LOW else min(400.0, max(-400.0, log + a))


def walk_powers(log, x):
    """Return sum_j x_j 2^log_j."""
    f = 0.0
    for k in range(nnz(x)):
        i, v = item(x, k)
        f += v * exp2(log[i])
    return f


def winnow_score(s, x, p):
    """Return w.x - theta."""
    return walk_powers(s.w, x) - single(x) * (p.theta if p.theta > 0.0 else p.d)


@strict
def winnow(s, x, y, p):
    """Do w_j *= alpha^(y x_j) on a mistake."""
    f = winnow_score(s, x, p)
    if not errs(x, f, y) or null(s.w, x):
        return f, False
    a = importance(x) * y * log2(p.alpha)
    for k in range(nnz(x)):
        i, v = item(x, k)
        s.w[i] = LOW if p.zero_on_demotion and y * v < 0.0 else grown(s.w[i], a * v)
    return f, True


def walk_balance(up, down, x):
    """Return sum_j x_j (2 2^up_j - 2^down_j)."""
    f = 0.0
    for k in range(nnz(x)):
        i, v = item(x, k)
        f += v * (2.0 * exp2(up[i]) - exp2(down[i]))
    return f


def balanced_score(s, x, p):
    """Return (w+ - w-).x - theta."""
    return walk_balance(s.up, s.down, x) * p.theta / p.d - single(x) * p.theta


@strict
def balanced(s, x, y, p):
    """Do w+_j *= alpha^x_j, w-_j *= beta^x_j on a positive row missed; the other way round on a negative one."""
    f = balanced_score(s, x, p)
    if not errs(x, f, y) or null(s.up, x):
        return f, False
    promote, demote = importance(x) * log2(p.alpha), importance(x) * log2(p.beta)
    for k in range(nnz(x)):
        i, v = item(x, k)
        s.up[i] = grown(s.up[i], abs(v) * (promote if y * v > 0.0 else demote))
        s.down[i] = grown(s.down[i], abs(v) * (demote if y * v > 0.0 else promote))
    return f, True


def winnow_bound(t: Comparison, p: WinnowParams) -> float:
    """Return 2 + 3k(1 + log2 d) when y is the disjunction of the k features marked by u in {0, 1}^d."""
    if p.alpha != 2.0 or (p.theta > 0.0 and p.theta != t.d) or t.K > 2:
        return math.inf
    return 2.0 + 3.0 * t.u_1 * (1.0 + math.log2(t.d))


def winnow_weights(s: Any, p: Any) -> np.ndarray:
    """Return the weights, feature by feature."""
    return np.exp2(s.w, dtype=np.float64)


def balanced_weights(s: Any, p: Any) -> np.ndarray:
    """Return w+ - w-, feature by feature."""
    return (2.0 * np.exp2(s.up, dtype=np.float64) - np.exp2(s.down, dtype=np.float64)) * p.theta / p.d


class Winnow(Classifier):
    """Winnow: positive weights, multiplied by alpha^(y x) on mistakes. Few mistakes when few of many features matter.

    Predicts the positive class when w.x >= theta. Features are 0/1, or real in [0, 1]. Which class is positive: `classes_[1]`
    when classes are declared (`fit` does); in a stream, the first label, unless it is 0, -1 or False. More than two classes: a
    positive vector for each, no theta; promote the true class, demote the rival.

    Parameters: `alpha` > 1; `theta` (None: the number of features d; dicts then need `hash_bits`, which fixes it);
    `zero_on_demotion=True` is Winnow-1. A sample weight multiplies the exponent.

    Pitfalls: for monotone targets only (BalancedWinnow for others); negative features are refused. scikit-learn's tags:
    positive_only, poor_score.

    Bound, for a disjunction of k of d variables, alpha = 2, theta = d: mistakes <= 2 + 3k(1 + log2 d).

    Littlestone (1988), theorem 9.

    >>> X, y = [[1, 0, 0, 1], [0, 1, 0, 1], [0, 0, 1, 0], [0, 1, 0, 0], [1, 1, 0, 0]], [1, -1, 1, -1, 1]
    >>> Winnow().fit(X, y).coef_.tolist()
    [[4.0, 2.0, 2.0, 2.0]]
    """

    name = "winnow"
    cite = "littlestone1988"
    State, Params, step, score_row, primal = WinnowState, WinnowParams, winnow, winnow_score, winnow_weights
    overrides = {"fit_intercept": False}
    nonnegative = oriented = True
    tags = {"input": {"positive_only": True}, "classifier": {"poor_score": True}}
    bound = Bound("Littlestone 1988, theorem 9", "mistakes", winnow_bound, against="a disjunction of features")

    def model_with(self, rows: Rows | None, features: Features | None, labels: Labels | None) -> Model:
        """Return a new model with these tables; theta must be known by then."""
        if self.theta is None and (features or self._features(rows)).grows:
            raise ValueError("theta is the number of features unless given, and here they grow: give theta= or hash_bits=")
        return super().model_with(rows, features, labels)


class BalancedWinnow(Classifier):
    """Balanced Winnow: two positive vectors, so that features may count for either class.

    Predicts the positive class when (w+ - w-).x >= theta. On a positive row missed w+ *= alpha^x, w- *= beta^x; on a negative one
    the other way round. Start: w+ = 2 theta/d, w- = theta/d. Features in [0, 1]. Positive class, more than two classes and sample
    weights as in Winnow.

    Parameters: `alpha` > 1, `beta` in (0, 1), `theta` > 0. Pitfall: d is part of the start; dicts that bring new names change it
    (give `hash_bits`). scikit-learn's tags: positive_only, poor_score.

    Littlestone (1988); Dagan, Karov, Roth (1997).

    >>> X, y = [[1, 0, 0, 1], [0, 1, 0, 1], [0, 0, 1, 0], [0, 1, 0, 0], [1, 1, 0, 0]], [1, -1, 1, -1, 1]
    >>> BalancedWinnow().fit(X, y).coef_.tolist()
    [[1.9375, 0.25, 0.875, 0.25]]
    """

    name = "balanced_winnow"
    cite = "littlestone1988"
    State, Params, step, score_row, primal = BalancedState, BalancedParams, balanced, balanced_score, balanced_weights
    overrides = {"fit_intercept": False}
    nonnegative = oriented = True
    tags = {"input": {"positive_only": True}, "classifier": {"poor_score": True}}
