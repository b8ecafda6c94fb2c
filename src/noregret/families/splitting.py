"""Gradient steps, then a step that makes zeros: coefficient rounding, truncated gradient, forward-backward splitting.

Langford, Li, Zhang (2009), *Sparse online learning via truncated gradient*; Duchi, Singer (2009), *Efficient online and batch
learning using forward backward splitting*. t counts the rounds that are not empty. What acts on all weights in every round is held
back until a weight is looked at (`spaces.sparse`), so a round costs O(nnz); the constant feature is never shrunk.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from ..algorithm.bounds import Bound, Comparison
from ..algorithm.params import Choice, NonNegative, Positive, Times, Unbounded
from ..algorithm.state import AGE, ONE, ZERO, Count, Own, Slot, made
from ..engine.elementary import log1p
from ..engine.words import word
from ..parts.losses import softmax_slopes, steep
from ..parts.penalised import Eager
from ..parts.proximal import L1, L1L2, L2, ElasticNet, L1LInf, LInf, SquaredL2
from ..parts.rates import Constant, Rate, rate
from ..spaces.examples import importance
from ..spaces.groups import Blocks, Lower, Shorter, arrange
from ..spaces.sparse import Cut, Elastic, Gravity, Pending, Soft, Spared, shrink
from ..spaces.weights import Normed, Scaled, add, dot, null, spread
from ..tasks.classification import Classifier
from ..tasks.regression import Regressor
from ..tasks.sparse_coef import SparseCoef
from .adaptive import LABELS
from .gradient import UNBOUNDED, is_log

LabelLoss = Annotated[Any, Choice(LABELS)]
PENALTIES = {"l1": L1, "l2": L2, "l2sq": SquaredL2, "linf": LInf, "elastic": ElasticNet, "l1l2": L1L2, "l1linf": L1LInf}
Penalty = Annotated[Any, Choice(PENALTIES)]
PAST = Slot(dtype=np.float64, promote="copy", merge="keep")
PER_CLASS = Slot(("class",))
RING = Slot(("feature",), dtype=np.int64, merge="keep")


# ---- kinds of weights ------------------------------------------------------------------------------------------------
def held_back(rule: Any) -> Any:
    """Return weights whose shrinkage is held back."""
    return Spared(made(Pending, Slot(), PAST, ZERO, rule), PER_CLASS)


def penalised(penalty: Any) -> Any:
    """Return the kind of weights that a penalty acts on in the least time."""
    if isinstance(penalty, L1):
        return held_back(Soft())
    if isinstance(penalty, ElasticNet):
        return held_back(Elastic(penalty.a / penalty.b))
    if isinstance(penalty, SquaredL2):
        return Spared(made(Scaled, Slot(), ONE), PER_CLASS)
    if isinstance(penalty, L2):
        return Spared(made(Normed, Slot(), ONE, ZERO, AGE), PER_CLASS)
    if isinstance(penalty, (L1L2, L1LInf)):
        past, rule = Slot(("feature",), dtype=np.float64, merge="keep"), Shorter() if isinstance(penalty, L1L2) else Lower()
        return Spared(made(Blocks, Slot(), past, ZERO, RING, RING, rule), PER_CLASS)
    return Spared(made(Eager, Slot(), penalty), PER_CLASS)


# ---- parameters ------------------------------------------------------------------------------------------------------
class FobosParams(NamedTuple):
    """FOBOS."""

    loss: LabelLoss = "log"
    lambda_: NonNegative = 1e-4
    regularizer: Penalty = "l1"
    eta: Positive = 0.5
    rate: Rate = "inv_sqrt"

    def weights(self) -> Any:
        """Return the kind of weights."""
        return penalised(self.regularizer)

    def check(self) -> None:
        """Refuse an elastic net without its square."""
        refuse_no_square(self.regularizer)


class GravityParams(NamedTuple):
    """Truncated gradient."""

    loss: LabelLoss = "log"
    g: NonNegative = 1e-3
    theta: Unbounded = math.inf
    K: Times = 10.0
    eta: Positive = 0.1
    rate: Rate = "constant"

    def weights(self) -> Any:
        """Return the kind of weights."""
        return held_back(Gravity(self.theta))


class CutParams(NamedTuple):
    """Coefficient rounding."""

    loss: LabelLoss = "log"
    theta: NonNegative = 0.01
    K: Times = 10.0
    eta: Positive = 0.1
    rate: Rate = "constant"

    def weights(self) -> Any:
        """Return the kind of weights."""
        return held_back(Cut(self.theta))


class State(NamedTuple):
    """Weights, rounds."""

    w: Own
    t: Count


def refuse_no_square(penalty: Any) -> None:
    """Refuse b = 0 in a |w|_1 + b |w|^2/2."""
    if isinstance(penalty, ElasticNet) and not (penalty.a >= 0.0 and penalty.b > 0.0):
        raise ValueError(f"ElasticNet(a, b) needs a >= 0 and b > 0, got {penalty!r}: without the square, use regularizer='l1'")


# ---- the step --------------------------------------------------------------------------------------------------------
@word
def strength(penalty, a):
    """Return the strength of a penalty times a, as the weights count it."""


@word
def charge(p, eta, t):
    """Return the strength with which the regulariser acts in round t."""


@strength.on(object)
def strength_any(penalty, a):
    return a


@strength.on(ElasticNet)
def strength_elastic_net(penalty, a):
    return log1p(a * penalty.b)


@charge.on(FobosParams)
def charge_fobos_params(p, eta, t):
    return strength(p.regularizer, eta * p.lambda_)


@charge.on(GravityParams)
def charge_gravity_params(p, eta, t):
    return eta * p.K * p.g if t % p.K == 0.0 else 0.0


@charge.on(CutParams)
def charge_cut_params(p, eta, t):
    return 1.0 if t % p.K == 0.0 else 0.0


def split(s, x, y, p):
    """Do w -= eta_t g x, g the slope of the loss; then let the regulariser act."""
    f = dot(s.w, x)
    if null(s.w, x):
        return f, False
    g = steep(p.loss, f, y)
    s.t[0] += 1
    eta = rate(p.rate, s.t[0])
    if g != 0.0:
        add(s.w, -eta * importance(x) * g, x)
    shrink(s.w, charge(p, eta, s.t[0]))
    return f, g != 0.0


def split_softmax(s, f, y, p, tau, x):
    """Do the same with the log loss of many classes, whose gradient moves all of them."""
    if null(s.w, x):
        return False
    softmax_slopes(f, y, tau)
    s.t[0] += 1
    eta = rate(p.rate, s.t[0])
    for c in range(tau.shape[0]):
        tau[c] *= -eta * importance(x)
    spread(s.w, tau, x)
    shrink(s.w, charge(p, eta, s.t[0]))
    return True


# ---- theorems --------------------------------------------------------------------------------------------------------
def descent_bound(t: Comparison, p: Any, paid: float) -> float:
    """Return |u|^2/(2 eta) + eta T G^2/2 + what u pays for its size: constant steps, slopes of at most 1."""
    if isinstance(p.loss, UNBOUNDED) or not isinstance(p.rate, Constant):
        return math.inf
    return t.u2 / (2.0 * p.eta) + p.eta * t.T * t.moves * t.R**2 / 2.0 + paid


def fobos_bound(t: Comparison, p: Any) -> float:
    """Return the bound on the regret; every norm is at most |u|_1."""
    squares = {SquaredL2: (0.0, 1.0), ElasticNet: (getattr(p.regularizer, "a", 0.0), getattr(p.regularizer, "b", 0.0))}
    a, b = squares.get(type(p.regularizer), (1.0, 0.0))
    return descent_bound(t, p, p.lambda_ * t.T * (a * t.u_1 + b * t.u2 / 2.0))


def gravity_bound(t: Comparison, p: Any) -> float:
    """Return the bound on the regret."""
    return descent_bound(t, p, p.g * t.T * t.u_1)


# ---- learners --------------------------------------------------------------------------------------------------------
class FOBOS(SparseCoef, Classifier):
    """Forward-backward splitting: a gradient step, then the point nearest to it that also pays for its size.

    v = w - eta_t g_t, then w = argmin |w - v|^2/2 + eta_t lambda R(w). With |w|_1 weights become exactly 0, which the gradient of
    |w|_1 would never do.

    Parameters: `loss`: "log", "hinge", "squared_hinge", "exponential", "perceptron", "square"; `lambda_` >= 0; `regularizer` R:
    "l1" |w|_1; "l2sq" |w|^2/2; "elastic" the sum of both, or parts.proximal.ElasticNet(a, b); "l2" |w|; "linf" max |w_j|; "l1l2"
    and "l1linf": those of each feature's weights over the classes, added up, so that a feature vanishes for all classes at once
    (with two classes, "l1"); with `groups`, as in GroupLasso, of each group's. `eta` > 0 and `rate`: "inv_sqrt", "inv_t",
    "constant", or a function of t. More than two classes: the loss of the margin to the best rival; "log" is the softmax loss and
    moves all classes; "l2" and "linf" are of all classes together. A sample weight multiplies the gradient, not the regulariser.
    The constant feature is not regularised.

    Cost O(nnz) a round, what acts on other weights being held back until they are looked at; "l1l2", "l1linf" times the classes;
    "linf" looks at all weights. Equal to acting at once, up to rounding (1e-12).

    Bound on the regret, constant eta, slopes of at most 1: |u|^2/(2 eta) + eta T G^2/2 + lambda T R(u).

    Duchi, Singer (2009), section 2; the bound sums the inequality of one step.

    >>> X, y = [[1, 2, 0], [0.5, -1, 1], [-1, 0.5, 2]], [1, -1, 1]
    >>> FOBOS(loss="hinge", lambda_=1.1, fit_intercept=False).fit(X, y).coef_.round(3).tolist()
    [[0.0, 0.241, 0.26]]
    """

    name = "fobos"
    cite = "duchi2009"
    State, Params, step, arrange = State, FobosParams, split, arrange
    options: ClassVar[dict[str, Any]] = {"groups": None, **Classifier.options}
    share, shares = split_softmax, is_log
    bound = Bound("Duchi, Singer 2009, one step summed", "regret", fobos_bound)


class FOBOSRegressor(SparseCoef, Regressor, algorithm=FOBOS):
    """Forward-backward splitting for real targets: a gradient step, then the nearest point that also pays for its size.

    Parameters: `loss`: "square" ((f - y)^2, without 1/2), "absolute", "epsilon_insensitive", "squared_epsilon_insensitive" with
    `epsilon`; the others as in FOBOS. Pitfall: with the square loss the step must be small against 1/|x|^2; scale the features.

    Duchi, Singer (2009), section 2.

    >>> X, y = [[1, 2, 0], [0.5, -1, 1]], [1.0, -0.5]
    >>> FOBOSRegressor(eta=0.1, lambda_=0.5, fit_intercept=False).fit(X, y).coef_.round(3).tolist()
    [0.099, 0.346, 0.0]
    """

    name = "fobos_regressor"
    overrides = {"loss": "square", "eta": 0.1}
    options: ClassVar[dict[str, Any]] = {"groups": None, **Regressor.options}


class TruncatedGradient(SparseCoef, Classifier):
    """Truncated gradient: gradient descent whose weights are pulled towards 0 every K rounds, unless they are large.

    After round t = K, 2K, ...: weights of at most theta move towards 0 by eta K g and stop there; larger ones stay as they are.
    With theta infinite and K = 1 this is FOBOS with |w|_1, with g = 0 plain gradient descent.

    Parameters: `loss` as in FOBOS; `g` >= 0, the gravity, about 1e-4 to 1e-2; `theta` > 0; `K` a whole number; `eta` > 0, `rate`.
    More than two classes, sample weights and the constant feature as in FOBOS. Cost O(nnz) a round.

    Pitfall: a large K pulls rarely and far, and weights of rare features must grow past eta K g at once to survive.

    Bound on the regret, constant eta, slopes of at most 1: |u|^2/(2 eta) + eta T G^2/2 + g T |u|_1.

    Langford, Li, Zhang (2009), section 3.3 and theorem 3.1.

    >>> X, y = [[1, 2, 0], [0.5, -1, 1], [-1, 0.5, 2]], [1, -1, 1]
    >>> TruncatedGradient(loss="hinge", g=1.1, K=1, fit_intercept=False).fit(X, y).coef_.round(3).tolist()
    [[0.0, 0.02, 0.09]]
    """

    name = "truncated_gradient"
    cite = "langford2009"
    State, Params, step = State, GravityParams, split
    share, shares = split_softmax, is_log
    bound = Bound("Langford, Li, Zhang 2009, theorem 3.1", "regret", gravity_bound)


class TruncatedGradientRegressor(SparseCoef, Regressor, algorithm=TruncatedGradient):
    """Truncated gradient for real targets: weights are pulled towards 0 every K rounds, unless they are large.

    Parameters: `loss` and `epsilon` as in FOBOSRegressor, the others as in TruncatedGradient.

    Langford, Li, Zhang (2009), section 3.3 and theorem 3.1.

    >>> X, y = [[1, 2, 0], [0.5, -1, 1]], [1.0, -0.5]
    >>> TruncatedGradientRegressor(eta=0.05, g=0.4, theta=0.3, K=1, fit_intercept=False).fit(X, y).coef_.round(3).tolist()
    [0.042, 0.196, -0.016]
    """

    name = "truncated_gradient_regressor"
    overrides = {"loss": "square", "eta": 0.01}


class Rounding(SparseCoef, Classifier):
    """Coefficient rounding: gradient descent whose weights of at most theta are set to 0 every K rounds. A baseline.

    Parameters: `loss` as in FOBOS; `theta` >= 0; `K` a whole number; `eta` > 0, `rate`. Cost O(nnz) a round.

    Pitfall: a weight that has not grown past theta in K rounds never will; with a large K the learner is hardly online. Truncated
    gradient is the remedy. No bound.

    Langford, Li, Zhang (2009), section 3.1.

    >>> X, y = [[1, 2, 0], [0.5, -1, 1], [-1, 0.5, 2]], [1, -1, 1]
    >>> Rounding(loss="hinge", theta=0.1, K=1, fit_intercept=False).fit(X, y).coef_.round(3).tolist()
    [[0.0, 0.35, 0.2]]
    """

    name = "rounding"
    cite = "langford2009"
    State, Params, step = State, CutParams, split
    share, shares = split_softmax, is_log


class RoundingRegressor(SparseCoef, Regressor, algorithm=Rounding):
    """Coefficient rounding for real targets: weights of at most theta are set to 0 every K rounds. A baseline.

    Parameters: `loss` and `epsilon` as in FOBOSRegressor, the others as in Rounding.

    Langford, Li, Zhang (2009), section 3.1.

    >>> X, y = [[1, 2, 0], [0.5, -1, 1]], [1.0, -0.5]
    >>> RoundingRegressor(eta=0.05, theta=0.12, K=2, fit_intercept=False).fit(X, y).coef_.round(3).tolist()
    [0.0, 0.235, 0.0]
    """

    name = "rounding_regressor"
    overrides = {"loss": "square", "eta": 0.01}
