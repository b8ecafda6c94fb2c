"""NORMA: stochastic gradient descent on lambda/2 |f|^2 + loss, with decay in every round; classification, regression, novelty.

Kivinen, Smola, Williamson (2004), *Online learning with kernels*, IEEE Trans. Signal Processing 52:2165-2176.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, NamedTuple

from ..algorithm.params import Choice, Fraction, NonNegative, OptionalFraction, Positive, Switch
from ..algorithm.state import Count, Number, PerClass, Scalable
from ..engine.words import word
from ..parts.rates import Rate, rate
from ..spaces.examples import Block, Pair, Weighted, importance
from ..spaces.weights import add, dot, null, scale
from ..tasks.classification import Classifier
from ..tasks.one_class import OneClass
from ..tasks.regression import Regressor


class Tube(NamedTuple):
    """max(0, |y - f| - epsilon)."""


class HalfSquare(NamedTuple):
    """(y - f)^2 / 2."""


@word
def pull(loss, r, epsilon):
    """Return minus the slope of the loss at residual r = y - f."""


@pull.on(Tube)
def pull_tube(loss, r, epsilon):
    return math.copysign(1.0, r) if abs(r) > epsilon else 0.0


@pull.on(HalfSquare)
def pull_half_square(loss, r, epsilon):
    return min(1e12, max(-1e12, r))  # overshooting must not run to infinity


def refuse_overshoot(eta: float, lambda_: float) -> None:
    """Refuse eta lambda >= 1."""
    if eta * lambda_ >= 1.0:
        raise ValueError(f"eta * lambda_ must be below 1, got {eta:g} * {lambda_:g}")


class Params(NamedTuple):
    """Classification."""

    eta: Positive = 0.1
    lambda_: NonNegative = 0.01
    rho: NonNegative = 1.0
    nu: OptionalFraction = None
    offset: Switch = False
    rate: Rate = "constant"

    def check(self) -> None:
        """Refuse a decay to nothing."""
        refuse_overshoot(self.eta, self.lambda_)


class RealParams(NamedTuple):
    """Regression."""

    eta: Positive = 0.1
    lambda_: NonNegative = 0.01
    loss: Annotated[Any, Choice({"epsilon_insensitive": Tube, "square": HalfSquare})] = "epsilon_insensitive"
    epsilon: NonNegative = 0.1
    nu: OptionalFraction = None
    rate: Rate = "constant"

    def check(self) -> None:
        """Refuse a decay to nothing."""
        refuse_overshoot(self.eta, self.lambda_)


class NoveltyParams(NamedTuple):
    """Novelty detection."""

    eta: Positive = 0.1
    lambda_: NonNegative = 0.01
    nu: Fraction = 0.5
    rate: Rate = "constant"

    def check(self) -> None:
        """Refuse a decay to nothing."""
        refuse_overshoot(self.eta, self.lambda_)


class RealState(NamedTuple):
    """Weights, the margin or half-width, rounds."""

    w: Scalable
    rho: Number
    t: Count


class State(NamedTuple):
    """Weights, the offset that does not decay, the margin, rounds."""

    w: Scalable
    b: PerClass
    rho: Number
    t: Count


@word
def offset(b, x):
    """Return the offset as the example sees it."""


@word
def move(b, a, x):
    """Do b += a as the example sees it."""


@offset.on(object)
def offset_any(b, x):
    return b[0]


@offset.on(object, Block)
def offset_block(b, x):
    return b[x.c]


@offset.on(object, Pair)
def offset_pair(b, x):
    return b[x.a] - b[x.b]


@offset.on(object, Weighted)
def offset_weighted(b, x):
    return offset(b, x.x)


@move.on(object)
def move_any(b, a, x):
    b[0] += a


@move.on(object, object, Pair)
def move_pair(b, a, x):
    b[x.a] += a
    b[x.b] -= a


@move.on(object, object, Weighted)
def move_weighted(b, a, x):
    move(b, a, x.x)


def score(s, x, p):
    """Return w.x + b."""
    return dot(s.w, x) + offset(s.b, x)


def advance(s, x, p, a):
    """Do w = (1 - eta lambda) w + eta a x; return eta times the sample weight, the step of everything that is not w."""
    eta = rate(p.rate, s.t[0])
    scale(s.w, 1.0 - eta * p.lambda_)
    if a != 0.0:
        add(s.w, eta * importance(x) * a, x)
    return eta * importance(x)


def classify(s, x, y, p):
    """Decay; then a step on rows whose margin is not above rho, which nu lets float."""
    s.t[0] += 1
    f = score(s, x, p)
    if null(s.w, x):
        return f, False
    short = y * f <= (s.rho[0] if p.nu > 0.0 else p.rho)
    eta = advance(s, x, p, y if short else 0.0)
    if short and p.offset:
        move(s.b, eta * y, x)
    if p.nu > 0.0:
        s.rho[0] += eta * (p.nu - (1.0 if short else 0.0))
    return f, short


def regress(s, x, y, p):
    """Decay; then a step towards y on rows outside the tube, whose half-width nu lets float."""
    s.t[0] += 1
    f = dot(s.w, x)
    if null(s.w, x):
        return f, False
    a = pull(p.loss, y - f, s.rho[0])
    eta = advance(s, x, p, a)
    if p.nu > 0.0:
        s.rho[0] = max(0.0, s.rho[0] + eta * ((1.0 if a != 0.0 else 0.0) - p.nu))
    return f, a != 0.0


def start_tube(s, p):
    """Start with half-width epsilon."""
    s.rho[0] = p.epsilon


def novelty(s, x, p):
    """Return f - rho."""
    return dot(s.w, x) - s.rho[0]


def detect(s, x, y, p):
    """Decay; then a step on rows below rho, which floats so that a share nu of them is."""
    s.t[0] += 1
    f = novelty(s, x, p)
    if null(s.w, x):
        return f, False
    eta = advance(s, x, p, 1.0 if f < 0.0 else 0.0)
    s.rho[0] += eta * (p.nu - (1.0 if f < 0.0 else 0.0))
    return f, f < 0.0


class NORMA(Classifier):
    """NORMA for classes: w = (1 - eta lambda) w in every round, then w += eta y x when y f <= rho.

    Parameters: `eta` > 0 and `rate` ("constant", "inv_sqrt", ...), `lambda_` >= 0 with eta lambda < 1; `rho`, the margin; or
    `nu` in (0, 1), about the share of rounds below the margin: rho then starts at 0 and moves by eta (nu - 1[short]);
    `offset=True` keeps a term b beside w that does not decay (the constant feature of `fit_intercept` does). A sample weight
    multiplies the gradients, not the decay. In the space of a kernel, `budget=nr.RemoveOldest(B)` truncates the expansion, whose
    coefficients decay with age.

    Pitfalls: the decay comes before the new term; it also comes in rounds without one; a zero row does nothing at all. The regret
    of lambda/2 |f|^2 + loss is O(sqrt(T)) for rate "inv_sqrt".

    Kivinen, Smola, Williamson (2004), section III.

    >>> X, y = [[1, 2, 0], [0.5, -1, 1], [-1, 0.5, 2]], [1, -1, 1]
    >>> NORMA(eta=0.5, lambda_=0.1, fit_intercept=False).fit(X, y).coef_.round(5).tolist()
    [[-0.28625, 1.6275, 0.525]]
    """

    name = "norma"
    cite = "kivinen2004"
    State, Params, step, score_row = State, Params, classify, score
    without = ("average",)


class NORMARegressor(Regressor):
    """NORMA for real targets: w = (1 - eta lambda) w in every round, then a step towards y.

    Parameters: `loss`: "epsilon_insensitive" (step eta sign(y - f) outside the tube) or "square" (eta (y - f): here with the 1/2);
    `epsilon` the half-width, fixed, or with `nu` in (0, 1) the start of one that moves by eta (1[outside] - nu); the others as in
    NORMA. scikit-learn's tag: poor_score, because the decay keeps the weights short of the target.

    Kivinen, Smola, Williamson (2004), section III.

    >>> X, y = [[1, 2, 0], [0.5, -1, 1]], [1.0, -0.5]
    >>> NORMARegressor(eta=0.2, loss="square", fit_intercept=False).fit(X, y).coef_.round(3).tolist()
    [0.18, 0.439, -0.04]
    """

    name = "norma_regressor"
    tags = {"regressor": {"poor_score": True}}
    cite = "kivinen2004"
    State, Params, step, start = RealState, RealParams, regress, start_tube


class NORMANovelty(OneClass):
    """NORMA for novelty detection: rows with f >= rho are inliers; rho floats so that about a share nu of the rows is below it.

    w = (1 - eta lambda) w in every round; when f < rho, w += eta x; rho += eta (nu - 1[f < rho]).

    Parameters: `eta`, `rate`, `lambda_` as in NORMA, `nu` in (0, 1). Pitfalls: without a kernel it separates from the origin only,
    and on columns as they are its scores are often no better than chance. Scale the columns and use `kernel=nr.RBF(gamma)`, or a
    map such as `nr.RandomBinning`: see docs/kernels.md. A small nu flags few rows, and ranks rows worse than nu = 0.5.

    Kivinen, Smola, Williamson (2004), section III.

    >>> X = [[1, 2, 0], [0.9, 2.1, 0], [1.1, 1.9, 0.1], [-1, -2, 0]]
    >>> NORMANovelty(nu=0.2).fit(X[:3], epochs=20).predict(X).tolist()
    [1, 1, 1, -1]
    """

    name = "norma_novelty"
    cite = "kivinen2004"
    State, Params, step, score_row = RealState, NoveltyParams, detect, novelty
    without = ("fit_intercept",)
