"""Gradient descent, online: with every loss, schedule and projection (OGD), and in p-norm geometry (mirror descent).

Zinkevich (2003), *Online convex programming and generalized infinitesimal gradient ascent*; Gentile (2003), *The robustness of the
p-norm algorithms*; Beck, Teboulle (2003), *Mirror descent and nonlinear projected subgradient methods for convex optimization*.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..algorithm.bounds import Bound, Comparison, regret_constant
from ..algorithm.params import Exponent, NonNegative, Positive
from ..algorithm.state import Count, Dual, Scalable
from ..engine.words import word
from ..parts.losses import ClassLoss, Exponential, Log, Square, SquaredEpsilonInsensitive, SquaredHinge, softmax_slopes, steep
from ..parts.projections import Anywhere, Box, L1Ball, L2Ball, Region, Simplex, begin, project
from ..parts.rates import Constant, InvSqrt, Rate, rate
from ..spaces.examples import Every, importance
from ..spaces.weights import add, dot, null, scale, spread
from ..tasks.classification import Classifier
from ..tasks.regression import Regressor


class Params(NamedTuple):
    """OGD."""

    loss: ClassLoss = "hinge"
    eta: Positive = 1.0
    rate: Rate = "inv_sqrt"
    l2: NonNegative = 0.0
    projection: Region = None
    radius: Positive = 1.0

    def check(self) -> None:
        """Refuse a decay that would turn the weights over."""
        refuse_overshoot(self.eta, self.l2)


class MirrorParams(NamedTuple):
    """Mirror descent."""

    loss: ClassLoss = "hinge"
    p: Exponent = 2.0
    eta: Positive = 0.1
    rate: Rate = "constant"


class State(NamedTuple):
    """Weights, rounds."""

    w: Scalable
    t: Count


class MirrorState(NamedTuple):
    """Dual weights, rounds."""

    w: Dual
    t: Count


def refuse_overshoot(eta: float, l2: float) -> None:
    """Refuse eta l2 > 1."""
    if eta * l2 > 1.0:
        raise ValueError(f"eta * l2 must be at most 1, got {eta:g} * {l2:g}: the decay would turn the weights over")


@word
def decay(p, w, eta):
    """Do w *= 1 - eta l2."""


@word
def confine(p, w, moved, x):
    """Project w if it may have left the region."""


@decay.on(object)
def _(p, w, eta):
    pass


@decay.on(Params)
def shrink(p, w, eta):
    """OGD has a decay."""
    if p.l2 > 0.0:
        scale(w, 1.0 - eta * p.l2)


@confine.on(object)
def _(p, w, moved, x):
    pass


@confine.on(Params)
def keep_inside(p, w, moved, x):
    """OGD has a region."""
    if moved or p.l2 > 0.0:
        project(p.projection, w, x)


def descend(s, x, y, p):
    """Do w -= eta_t g x, g the slope of the loss; then project."""
    s.t[0] += 1
    f = dot(s.w, x)
    if null(s.w, x):
        return f, False
    g = steep(p.loss, f, y)
    eta = rate(p.rate, s.t[0])
    decay(p, s.w, eta)
    if g != 0.0:
        add(s.w, -eta * importance(x) * g, x)
    confine(p, s.w, g != 0.0, x)
    return f, g != 0.0


def descend_softmax(s, f, y, p, tau, x):
    """Do the same with the log loss of many classes, whose gradient moves all of them."""
    s.t[0] += 1
    if null(s.w, x):
        return False
    eta = rate(p.rate, s.t[0])
    decay(p, s.w, eta)
    softmax_slopes(f, y, tau)
    for c in range(tau.shape[0]):
        tau[c] *= -eta * importance(x)
    spread(s.w, tau, x)
    confine(p, s.w, True, Every(x, np.uintp(tau.shape[0])))
    return True


def is_log(p):
    """Return whether many classes share the gradient."""
    return isinstance(p.loss, Log)


def start(s, p):
    """Start at the projection of 0."""
    begin(p.projection, s.w)


def rejoin(s, p, K):
    """Go back into the region after models were joined."""
    confine(p, s.w, True, Every(np.ones(len(s.w.u) // K), np.uintp(K)))


UNBOUNDED = (SquaredHinge, Exponential, Square, SquaredEpsilonInsensitive)  # losses with slopes beyond 1


def ogd_bound(t: Comparison, p: Any) -> float:
    """Return Zinkevich's bound on the regret within the region."""
    if isinstance(p.loss, UNBOUNDED) or p.l2 > 0.0 or isinstance(p.projection, Anywhere):
        return math.inf
    r = p.radius
    inside, D = {
        L2Ball: (math.sqrt(t.u2) <= r * (1.0 + 1e-9), 2.0 * r),
        L1Ball: (t.u_1 <= r * (1.0 + 1e-9), 2.0 * r),
        Simplex: (math.isclose(t.u_1, r), math.sqrt(2.0) * r),
        Box: (t.u2 <= r * r * t.d * max(1, t.K), 2.0 * r * math.sqrt(t.d * max(1, t.K))),
    }.get(type(p.projection), (False, 0.0))
    name = {InvSqrt: "inv_sqrt", Constant: "constant"}.get(type(p.rate), "")
    return regret_constant(D, math.sqrt(t.moves) * t.R, t.T, p.eta, name) if inside else math.inf


def mirror_bound(t: Comparison, p: Any) -> float:
    """Return |u|_q^2 / (2 eta) + eta (p-1) T R_p^2 / 2 for a constant rate and slopes of at most 1."""
    if isinstance(p.loss, UNBOUNDED) or not isinstance(p.rate, Constant):
        return math.inf
    return t.u_q**2 / (2.0 * p.eta) + p.eta * (p.p - 1.0) * t.T * t.moves ** (2.0 / p.p) * t.R_p**2 / 2.0


OGD_BOUND = Bound(
    "Zinkevich 2003, theorem 1",
    "regret",
    ogd_bound,
    "it needs a region (projection='l2', or 'l1' with regret_norm='l1') with the best model inside, a loss with slopes of at "
    "most 1, rate 'inv_sqrt' or 'constant', and no l2",
)
MIRROR_BOUND = Bound(
    "Beck, Teboulle 2003, theorem 4.1",
    "regret",
    mirror_bound,
    "it needs a loss with slopes of at most 1 and a constant rate",
)


class OGD(Classifier):
    """Online (projected) gradient descent: w = projection of w - eta_t g_t, for any loss.

    Parameters: `loss`: "hinge", "squared_hinge", "log", "exponential", "perceptron"; `eta` > 0 and `rate`: "inv_sqrt"
    (eta/sqrt(t)), "inv_t" (eta/t), "constant", or a function of t = 1, 2, ... counting all rounds; `l2` >= 0 adds l2/2 |w|^2 to
    every round (with rate "inv_t" and eta = 1/l2: Pegasos); `projection`: None, "l2", "l1", "simplex", "box" with `radius`, or
    HalfSpace(a, b). More than two classes: the loss of the margin to the best rival; "log" is the softmax loss and moves all
    classes. A sample weight multiplies the gradient.

    Cost O(nnz) without projection, with "l2" and with "box"; "l1" and "simplex" look at all weights.

    Bound on the regret in a region of diameter D, gradients of at most G: D^2 sqrt(T)/(2 eta) + eta (sqrt(T) - 1/2) G^2.
    Without a region there is none.

    Zinkevich (2003), theorem 1.

    >>> X, y = [[1, 2, 0], [0.5, -1, 1], [-1, 0.5, 2]], [1, -1, 1]
    >>> OGD(eta=0.5, projection="l2", radius=0.5, fit_intercept=False).fit(X, y).coef_.round(3).tolist()
    [[-0.173, 0.398, 0.249]]
    """

    name = "ogd"
    cite = "zinkevich2003"
    State, Params, step, start, rejoin = State, Params, descend, start, rejoin
    share, shares = descend_softmax, is_log
    bound = OGD_BOUND


class OGDRegressor(Regressor, algorithm=OGD):
    """Online (projected) gradient descent for real targets.

    Parameters: `loss`: "square" ((f - y)^2, without 1/2), "absolute", "epsilon_insensitive", "squared_epsilon_insensitive" with
    `epsilon`; the others as in OGD. Pitfall: with the square loss the step must be small against 1/|x|^2; scale the features.

    Zinkevich (2003), theorem 1.

    >>> X, y = [[1, 2, 0], [0.5, -1, 1]], [1.0, -0.5]
    >>> OGDRegressor(eta=0.125, fit_intercept=False).fit(X, y).coef_.round(3).tolist()
    [0.239, 0.522, -0.022]
    """

    name = "ogd_regressor"
    overrides = {"loss": "square", "eta": 0.1}


class MirrorDescent(Classifier):
    """p-norm mirror descent: theta -= eta g, w = f^-1(theta). p = 2 is gradient descent, large p behaves like EG and Winnow.

    w_j = sign(theta_j) |theta_j|^(p-1) / |theta|_p^(p-2), in O(nnz) by keeping sum |theta_j|^p.

    Parameters: `loss` as in OGD ("perceptron" gives the p-norm Perceptron); `p` >= 2 (about 2 ln d for sparse targets among many
    features); `eta` > 0, `rate` as in OGD.

    Bounds: regret <= |u|_q^2/(2 eta) + eta (p-1) T R_p^2 / 2 (constant rate, slopes of at most 1); p-norm Perceptron, when u has
    margin 1 on every row: mistakes <= (p-1) R_p^2 |u|_q^2.

    Gentile (2003), theorem 2; Beck, Teboulle (2003).

    >>> X, y = [[1, 2, 0], [0.5, -1, 1], [-1, 0.5, 2]], [1, -1, 1]
    >>> MirrorDescent(p=3, eta=0.5, fit_intercept=False).fit(X, y).coef_.round(3).tolist()
    [[-0.035, 1.735, 0.142]]
    """

    name = "mirror_descent"
    cite = "gentile2003"
    State, Params, step = MirrorState, MirrorParams, descend
    share, shares = descend_softmax, is_log
    bound = MIRROR_BOUND


class MirrorDescentRegressor(Regressor, algorithm=MirrorDescent):
    """p-norm mirror descent for real targets: losses as in OGDRegressor, geometry as in MirrorDescent.

    Gentile (2003); Beck, Teboulle (2003).

    >>> X, y = [[1, 2, 0], [0.5, -1, 1]], [1.0, -0.5]
    >>> MirrorDescentRegressor(p=3, eta=0.1, fit_intercept=False).fit(X, y).coef_.round(3).tolist()
    [0.076, 0.422, -0.002]
    """

    name = "mirror_descent_regressor"
    overrides = {"loss": "square", "eta": 0.01}
