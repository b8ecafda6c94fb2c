"""Adaptive gradients: every coordinate has its own step size, made from what it has seen. Little or nothing to tune.

Duchi, Hazan, Singer (2011), *Adaptive subgradient methods for online learning and stochastic optimization*; Ross, Mineiro,
Langford (2013), *Normalized online learning*; Karampatziakis, Langford (2011), *Online importance weight aware updates*.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, NamedTuple

import numpy as np

from ..algorithm.params import Choice, NonNegative, Positive
from ..algorithm.state import Number, Slot, Weights
from ..engine.elementary import exp, expm1, log, log1p
from ..engine.words import strict, word
from ..parts.losses import (
    CLASSIFICATION,
    Absolute,
    ClassLoss,
    EpsilonInsensitive,
    Exponential,
    Hinge,
    Log,
    Square,
    SquaredEpsilonInsensitive,
    SquaredHinge,
    softmax_slopes,
    steep,
)
from ..spaces.examples import Biased, Block, Of, Pair, Unit, Weighted, Whole, cell, importance, item, nnz
from ..spaces.weights import add, dot, null
from ..tasks.classification import Classifier
from ..tasks.regression import Regressor
from .gradient import is_log

LABELS = {"square": Square, **CLASSIFICATION}
Flowing = Annotated[Any, Choice({name: loss for name, loss in LABELS.items() if name != "perceptron"})]  # a flow must move at 0
Sums = Annotated[Any, Slot(promote="copy", squares=True)]
Largest = Annotated[Any, Slot(promote="copy", merge="max")]
Low = Annotated[Any, Slot((), dtype=np.float64, merge="min")]
High = Annotated[Any, Slot((), dtype=np.float64, merge="max")]

REACH = 50.0  # scores beyond this are certain


# ---- rounds by coordinate --------------------------------------------------------------------------------------------
class Against(NamedTuple):
    """Where the weights of the rival of a Pair lie; its features count with the other sign."""

    o: Any


@cell.on(Against)
def cell_against(o, j):
    return cell(o.o, j)


@word
def signed(o, v):
    """Return a feature as the class sees it."""


@word
def touch(act, s, i, v):
    """Do what an act does to cell i, whose feature is v; return what it adds to two sums."""


@word
def each(act, s, o, x):
    """Touch every cell of an example whose feature is not 0; return the two sums."""


@signed.on(object)
def signed_any(o, v):
    return v


@signed.on(Against)
def signed_against(o, v):
    return -v


@each.on(object)
def each_any(act, s, o, x):
    a, b = 0.0, 0.0
    for k in range(nnz(x)):
        j, v = item(x, k)
        if v != 0.0:
            more_a, more_b = touch(act, s, cell(o, j), signed(o, v))
            a += more_a
            b += more_b
    return a, b


@each.on(object, object, object, Biased)
def each_biased(act, s, o, x):
    a, b = each(act, s, o, x.x)
    more_a, more_b = each(act, s, o, Unit(x.j))
    return a + more_a, b + more_b


@each.on(object, object, object, Block)
def each_block(act, s, o, x):
    return each(act, s, Of(x.K, x.c), x.x)


@each.on(object, object, object, Pair)
def each_pair(act, s, o, x):
    a, b = each(act, s, Of(x.K, x.a), x.x)
    more_a, more_b = each(act, s, Against(Of(x.K, x.b)), x.x)
    return a + more_a, b + more_b


@each.on(object, object, object, Weighted)
def each_weighted(act, s, o, x):
    return each(act, s, o, x.x)


# ---- AdaGrad ---------------------------------------------------------------------------------------------------------
class Params(NamedTuple):
    """AdaGrad."""

    loss: ClassLoss = "log"
    eta: Positive = 0.5
    delta: NonNegative = 1e-8


class State(NamedTuple):
    """Weights, and the sums of their squared gradients."""

    w: Weights
    n: Sums


class Descend(NamedTuple):
    """n_j += (g x_j)^2, then w_j -= eta g x_j/(delta + sqrt(n_j))."""

    g: float
    eta: float
    delta: float


@touch.on(Descend)
def touch_descend(act, s, i, v):
    s.n[i] += (act.g * v) * (act.g * v)
    if s.n[i] > 0.0:
        add(s.w, -act.eta * act.g * v / (act.delta + math.sqrt(s.n[i])), Unit(i))
    return 0.0, 0.0


def adagrad(s, x, y, p):
    """Do w_j -= eta g x_j/(delta + sqrt(n_j)), n_j with this round in it."""
    f = dot(s.w, x)
    g = importance(x) * steep(p.loss, f, y)
    if g == 0.0 or null(s.w, x):
        return f, False
    each(Descend(g, p.eta, p.delta), s, Whole(), x)
    return f, True


@strict
def adagrad_softmax(s, f, y, p, tau, x):
    """Do the same with the log loss of many classes, whose gradient moves all of them."""
    if null(s.w, x):
        return False
    softmax_slopes(f, y, tau)
    K = np.uintp(tau.shape[0])
    for c in range(tau.shape[0]):
        if tau[c] != 0.0:
            each(Descend(importance(x) * tau[c], p.eta, p.delta), s, Whole(), Block(x, np.uintp(c), K))
    return True


# ---- the range of a score --------------------------------------------------------------------------------------------
class NagState(NamedTuple):
    """Weights, sums of squared gradients, largest features; sums of normalised squared lengths and of sample weights."""

    w: Weights
    n: Sums
    q: Largest
    N: Number
    Omega: Number


class RealNagState(NamedTuple):
    """The same, and the range of the targets."""

    w: Weights
    n: Sums
    q: Largest
    N: Number
    Omega: Number
    low: Low
    high: High


@word
def limit(loss, f, s, x):
    """Return the score within the range of the labels, or where e^f can be told from 0 and infinity."""


@word
def widen(y, s):
    """Take a target into the range."""


@limit.on(object)
def limit_any(loss, f, s, x):
    return f


@limit.on(Exponential)
@limit.on(Log)
def limit_exponential(loss, f, s, x):
    return min(REACH, max(-REACH, f))


@limit.on(Square)
@limit.on(Hinge)
def limit_square(loss, f, s, x):
    return min(1.0, max(-1.0, f))


@limit.on(object, object, RealNagState)
def within(loss, f, s, x):
    """Real targets: the range of those seen, and 0."""
    return min(s.high[0], max(s.low[0], f))


@limit.on(object, object, object, Block)
def limit_block(loss, f, s, x):  # one class among others: only differences have a range
    return f


@widen.on(object)
def widen_any(y, s):
    pass


@widen.on(object, RealNagState)
def take_in(y, s):
    """Real targets have a range."""
    s.low[0] = min(s.low[0], y)
    s.high[0] = max(s.high[0], y)


# ---- NAG -------------------------------------------------------------------------------------------------------------
class NagParams(NamedTuple):
    """NAG."""

    loss: Flowing = "square"
    eta: Positive = 0.5


class Gauge(NamedTuple):
    """Learn the sizes of features and gradients: sums of (x_j/q_j)^2 and of x_j^2/(q_j sqrt(n_j))."""

    g2: float


class Move(NamedTuple):
    """w_j += u x_j/(q_j sqrt(n_j))."""

    u: float


@touch.on(Gauge)
def touch_gauge(act, s, i, v):
    s.n[i] += act.g2 * v * v
    size = abs(v)
    if size > s.q[i]:
        s.w[i] *= s.q[i] / size
        s.q[i] = size
    unit = size / s.q[i]
    return unit * unit, (unit * size / math.sqrt(s.n[i]) if s.n[i] > 0.0 else 0.0)


@touch.on(Move)
def touch_move(act, s, i, v):
    if s.n[i] > 0.0:
        s.w[i] += act.u * v / (s.q[i] * math.sqrt(s.n[i]))
    return 0.0, 0.0


@word
def flow(loss, f, y, h, v):
    """Return how far to go: u of the solution f + u v of df/dt = -v loss'(f) at time h."""


@flow.on(Square)
def flow_square(loss, f, y, h, v):
    return -(y - f) * expm1(-2.0 * h * v) / v


@flow.on(SquaredHinge)
def flow_squared_hinge(loss, f, y, h, v):
    return -y * max(0.0, 1.0 - y * f) * expm1(-2.0 * h * v) / v


@flow.on(SquaredEpsilonInsensitive)
def flow_squared_epsilon_insensitive(loss, f, y, h, v):
    return -math.copysign(max(0.0, abs(y - f) - loss.epsilon), y - f) * expm1(-2.0 * h * v) / v


@flow.on(Hinge)
def flow_hinge(loss, f, y, h, v):
    return y * min(h, max(0.0, 1.0 - y * f) / v)


@flow.on(Absolute)
def flow_absolute(loss, f, y, h, v):
    return math.copysign(min(h, abs(y - f) / v), y - f)


@flow.on(EpsilonInsensitive)
def flow_epsilon_insensitive(loss, f, y, h, v):
    return math.copysign(min(h, max(0.0, abs(y - f) - loss.epsilon) / v), y - f)


@flow.on(Exponential)
def flow_exponential(loss, f, y, h, v):
    return y * log_one_plus(log(h * v) - y * f) / v


@flow.on(Log)
def flow_log(loss, f, y, h, v):
    return y * log_gain(h * v, y * f) / v


def log_one_plus(t):
    """Return ln(1 + e^t)."""
    return max(0.0, t) + log1p(exp(-abs(t)))


@strict
def log_gain(a, m):
    """Return the D with D + e^m (e^D - 1) = a: what a step of size a adds to the margin m under the log loss.

    Newton from the right of the root, on a function that is convex and rises; never through e^(a + m + e^m).
    """
    D = min(a, log_one_plus(log(a) - m))
    linear, bent = (1.0, exp(m)) if m <= 0.0 else (exp(-m), 1.0)  # the equation, or e^-m times it
    for _ in range(20):
        step = (D * linear + bent * expm1(D) - a * linear) / (linear + bent * exp(D))
        D -= step
        if abs(step) <= 4e-16 * D:
            break
    return max(0.0, D)


def nag_score(s, x, p):
    """Return w.x within its range."""
    return limit(p.loss, dot(s.w, x), s, x)


def nag(s, x, y, p):
    """Learn the sizes, then follow the flow of the loss for the time eta."""
    f = nag_score(s, x, p)
    g = steep(p.loss, f, y)
    if null(s.w, x):
        return f, False
    if g != 0.0:
        c = importance(x)
        length, pull = each(Gauge(c * g * g), s, Whole(), x)
        s.N[0] += c * length
        s.Omega[0] += c
        r = math.sqrt(s.Omega[0] / s.N[0])
        if pull > 0.0:
            each(Move(r * flow(p.loss, f, y, p.eta * c, r * pull)), s, Whole(), x)
    widen(y, s)
    return f, g != 0.0


# ---- learners --------------------------------------------------------------------------------------------------------
class AdaGrad(Classifier):
    """AdaGrad: gradient descent with a step eta/sqrt(n_j) for each coordinate, n_j the sum of its squared gradients.

    n_j += (g x_j)^2, then w_j -= eta g x_j/(delta + sqrt(n_j)), g the slope of the loss: frequent features slow down, rare ones
    keep large steps. O(nnz) a round.

    Parameters: `loss`: "hinge", "squared_hinge", "log", "exponential", "perceptron"; `eta` > 0: 0.5 for text and rows of length 1,
    0.1 for one-hot and standardised tables; `delta` >= 0. More than two classes: the loss of the margin to the best rival; "log"
    is the softmax loss and moves all classes. A sample weight multiplies the gradient, so a weight of 2 is not two repeats.

    Pitfall: the first step on a coordinate is eta whatever the size of its feature, so a column of size 1e4 moves the score by
    1e4 eta: scale the columns, or use NAG.

    Regret against u, D_j the largest |w_j - u_j|: at most sum_j D_j^2 (delta + sqrt(n_j))/(2 eta) + eta sqrt(n_j).

    Duchi, Hazan, Singer (2011), figure 1 and theorem 5.

    >>> X, y = [[1, 2, 0], [0.5, -1, 1], [-1, 0.5, 2]], [1, -1, 1]
    >>> AdaGrad(loss="hinge", fit_intercept=False).fit(X, y).coef_.round(3).tolist()
    [[-0.057, 0.833, -0.053]]
    """

    name = "adagrad"
    cite = "duchi2011"
    State, Params, step = State, Params, adagrad
    share, shares = adagrad_softmax, is_log


class AdaGradRegressor(Regressor, algorithm=AdaGrad):
    """AdaGrad for real targets: a step eta/sqrt(n_j) for each coordinate, n_j the sum of its squared gradients.

    Parameters: `loss`: "square" ((f - y)^2, without 1/2), "absolute", "epsilon_insensitive", "squared_epsilon_insensitive" with
    `epsilon`; `eta`, `delta` as in AdaGrad. Pitfall: steps forget the unit of y, no weight moves by more than eta in a round:
    scale y to about 1, or raise eta.

    Duchi, Hazan, Singer (2011), figure 1 and theorem 5.

    >>> X, y = [[1, 2, 0], [0.5, -1, 1]], [1.0, -0.5]
    >>> AdaGradRegressor(fit_intercept=False).fit(X, y).coef_.round(3).tolist()
    [0.438, 0.562, -0.5]
    """

    name = "adagrad_regressor"
    overrides = {"loss": "square"}


class NAG(Classifier):
    """Normalised adaptive gradient: AdaGrad that no column's unit changes, with steps that never overshoot. Start with this one.

    q_j is the largest |x_j| seen (when it grows, w_j shrinks with it), n_j the sum of squared gradients, N the sum of
    (x_j/q_j)^2 over all rounds. With r_j = sqrt(rounds/N)/(q_j sqrt(n_j)) the round is w_j += u r_j x_j, where u solves the flow
    df/dt = -v loss'(f), v = sum r_j x_j^2, for the time eta: not a gradient step but the curve it is a tangent of. With a constant
    feature this is Vowpal Wabbit's default. Multiplying a column by any number changes no prediction. O(nnz) a round.

    Parameters: `loss`: "square", "hinge", "squared_hinge", "log", "exponential"; `eta` > 0. The score of two classes is kept within
    [-1, 1] for "square" and "hinge" and within [-50, 50] for "log" and "exponential"; the square loss is then a squared hinge with
    bounded slopes. More than two classes: the same with the margin to the best rival. A sample weight is a time: one step of
    weight 2 goes as far as two of weight 1 along the same curve.

    Pitfalls: one outlier in a column makes all later steps on it small: clip inputs. Scores stop at margin 1 by design; for
    probabilities use loss="log".

    Ross, Mineiro, Langford (2013), algorithm 2; Karampatziakis, Langford (2011), table 1.

    >>> X, y = [[1, 2000, 0], [0.5, -1000, 1], [-1, 500, 2]], [1, -1, 1]
    >>> NAG(loss="hinge").fit(X, y).decision_function(X).round(3).tolist()
    [0.691, -0.038, 0.375]
    """

    name = "nag"
    cite = "ross2013"
    State, Params, step, score_row = NagState, NagParams, nag, nag_score
    scale_free = True
    without = ("average",)


class NAGRegressor(Regressor, algorithm=NAG):
    """Normalised adaptive gradient for real targets: no column's unit matters, and no step passes its target.

    Predictions are kept within the range of 0 and the targets seen before.

    Parameters: `loss`: "square" ((f - y)^2, without 1/2), "absolute", "epsilon_insensitive", "squared_epsilon_insensitive" with
    `epsilon`; `eta` > 0, the rest as in NAG.

    Ross, Mineiro, Langford (2013), algorithm 2; Karampatziakis, Langford (2011), table 1.

    >>> X, y = [[1, 2, 0], [0.5, -1, 1]], [1.0, -0.5]
    >>> NAGRegressor().fit(X, y).coef_.round(3).tolist()
    [0.126, 0.13, -0.205]
    """

    name = "nag_regressor"
    overrides = {"loss": "square"}
    State = RealNagState
