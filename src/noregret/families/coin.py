"""Coin betting: learners without a learning rate, and nothing to tune.

Orabona, Pal (2016), *Coin betting and parameter-free online learning*; Orabona, Tommasi (2017), *Training deep networks without
learning rates through coin betting*.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np

from ..algorithm.params import Choice, Positive, Switch
from ..algorithm.state import Number, Slot
from ..parts.losses import steep
from ..spaces.examples import Whole, importance
from ..spaces.weights import null
from ..tasks.classification import Classifier
from ..tasks.regression import Regressor
from .adaptive import LABELS, High, Largest, Low, each, limit, take_in, touch, widen, within

LabelLoss = Annotated[Any, Choice(LABELS)]
Figures = Annotated[Any, Slot(promote="copy")]
Signed = Annotated[Any, Slot()]

SOME = 1e-6  # keeps the first mean length from 0


class CoinState(NamedTuple):
    """Sums of negative gradients and of their sizes, rewards, largest features and slopes; N and Omega as NAG."""

    theta: Signed
    G: Figures
    R: Figures
    M: Largest
    L: Largest
    N: Number
    Omega: Number


class RealCoinState(NamedTuple):
    """The same, and the range of the targets."""

    theta: Signed
    G: Figures
    R: Figures
    M: Largest
    L: Largest
    N: Number
    Omega: Number
    low: Low
    high: High


limit.on(object, object, RealCoinState)(within)
widen.on(object, RealCoinState)(take_in)


class CoinParams(NamedTuple):
    """Coin betting."""

    loss: LabelLoss = "log"
    capital: Positive = 4.0
    lipschitz: Positive = 1.0
    normalize: Switch = True


class Stake(NamedTuple):
    """Bet: sums of w_j x_j and of (x_j/M_j)^2."""

    capital: float


class Pay(NamedTuple):
    """Win -g x_j w_j, and learn the gradient."""

    g: float
    capital: float
    lipschitz: float


def bet(s, i, M, capital):
    """Return the weight of a cell whose largest feature is M."""
    most = s.L[i] * M
    return s.theta[i] / (most + s.G[i]) * ((capital + s.R[i]) / most) if most > 0.0 else 0.0


@touch.on(Stake)
def touch_stake(act, s, i, v):
    M = max(s.M[i], abs(v))
    return bet(s, i, M, act.capital) * v, (v / M) * (v / M)


@touch.on(Pay)
def touch_pay(act, s, i, v):
    s.M[i] = max(s.M[i], abs(v))
    if abs(act.g) > s.L[i]:
        s.L[i] = max(abs(act.g), act.lipschitz)
    w = bet(s, i, s.M[i], act.capital)  # by the new records, or more than the capital could be lost
    s.theta[i] -= act.g * v
    s.G[i] += abs(act.g * v)
    s.R[i] -= act.g * v * w
    return 0.0, 0.0


def bettors(s, p):
    """Return among how many coordinates a bet is shared: the mean normalised squared length."""
    return (s.N[0] + SOME) / s.Omega[0] if p.normalize and s.Omega[0] > 0.0 else 1.0


def coin_score(s, x, p):
    """Return the sum of all bets, shared, within its range."""
    f, _ = each(Stake(p.capital), s, Whole(), x)
    return limit(p.loss, f / bettors(s, p), s, x)


def coin(s, x, y, p):
    """Bet, then pay every coordinate what it won."""
    if null(s.theta, x):
        return 0.0, False
    c = importance(x)
    f, length = each(Stake(p.capital), s, Whole(), x)
    s.N[0] += c * length
    s.Omega[0] += c
    f = limit(p.loss, f / bettors(s, p), s, x)
    g = c * steep(p.loss, f, y)
    each(Pay(g, p.capital, p.lipschitz), s, Whole(), x)
    widen(y, s)
    return f, g != 0.0


def coin_weights(s: Any, p: Any) -> np.ndarray:
    """Return the weights for features no larger than those seen."""
    most = (s.L * s.M).astype(np.float64)
    safe = np.where(most > 0.0, most, 1.0)
    w: np.ndarray = np.where(most > 0.0, s.theta / (safe + s.G) * ((p.capital + s.R) / safe), 0.0)
    return w / bettors(s, p)


class Coin(Classifier):
    """Coin betting: no learning rate. Each coordinate bets a share of its capital on the sign of its next gradient.

    w_j = theta_j/(L_j M_j + G_j) (capital + R_j)/(L_j M_j): the bet is the share of gradients that agreed so far (theta_j their
    negative sum, G_j the sum of their sizes, L_j and M_j the largest slope and feature) times what was won (R_j). The score is
    shared among the coordinates: divided by the mean normalised squared length of the rows. With loss="log" this is Vowpal
    Wabbit's --coin. Multiplying a column by any number changes no prediction. O(nnz) a round.

    Parameters: `loss`: "log", "hinge", "square", "squared_hinge", "exponential", "perceptron"; `capital` > 0 of each coordinate at
    first (it matters early); `lipschitz` > 0, the least L_j; `normalize`: whether the score is shared. Ranges of scores and classes
    beyond two as in NAG. A sample weight multiplies the gradient and the length.

    Pitfalls: it follows the last labels fast, which suits labels that come in runs; losses with unbounded slopes let one round set
    L_j for good. `coef_` are the weights for features within the range seen. There is no merge.

    Orabona, Pal (2016), algorithm 1; Orabona, Tommasi (2017), algorithm 1, by coordinate and without the sigmoid.

    >>> X, y = [[1, 2, 0], [0.5, -1, 1], [-1, 0.5, 2]], [1, -1, 1]
    >>> Coin().fit(X, y).predict(X).tolist()
    [1, -1, 1]
    """

    name = "coin"
    cite = "orabona2016"
    State, Params, step, score_row, primal = CoinState, CoinParams, coin, coin_score, coin_weights
    scale_free = True
    merges = "none"


class CoinRegressor(Regressor, algorithm=Coin):
    """Coin betting for real targets: no learning rate.

    Predictions are kept within the range of 0 and the targets seen before.

    Parameters: `loss`: "square" ((f - y)^2, without 1/2), "absolute", "epsilon_insensitive", "squared_epsilon_insensitive" with
    `epsilon`; the others as in Coin. Pitfall: with a squared loss L_j follows the largest residual: scale y to about 1.

    Orabona, Pal (2016), algorithm 1; Orabona, Tommasi (2017), algorithm 1, by coordinate and without the sigmoid.

    >>> X, y = [[1, 2, 0], [0.5, -1, 1]], [1.0, -0.5]
    >>> CoinRegressor(loss="absolute").fit(X, y).predict([[1, 2, 0]]).round(3).tolist()
    [1.0]
    """

    name = "coin_regressor"
    overrides = {"loss": "square"}
    State = RealCoinState
