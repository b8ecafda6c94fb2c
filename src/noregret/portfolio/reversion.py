"""Mean reversion: what rose today is expected to fall tomorrow, or back to its average."""

from __future__ import annotations

import math
from typing import Annotated, Any, NamedTuple

import numpy as np

from ..algorithm.params import Choice, NonNegative, OptionalFraction, Positive, WholeRange
from ..algorithm.state import Count, Slot
from ..engine.words import strict, word
from .strategy import Asset, Cost, Entry, Scratch, Strategy, held, onto_portfolios

NOTHING = 1e-300  # a squared deviation below this is none
ALIKE = 1e-28  # and so is one below this share of the squares: rounding of the mean
Window = Annotated[float, WholeRange(1.0, 1e6, "[]")]


# ---- PAMR --------------------------------------------------------------------------------------------------------------
class Hard(NamedTuple):
    """All of the loss."""


class Capped(NamedTuple):
    """A step of at most C."""

    C: Positive = 500.0


class Soft(NamedTuple):
    """A step that 1/(2C) dampens."""

    C: Positive = 500.0


class PamrParams(NamedTuple):
    """PAMR."""

    epsilon: NonNegative = 0.5
    variant: Annotated[Any, Choice({"pamr": Hard, "pamr1": Capped, "pamr2": Soft})] = "pamr"
    cost: Cost = 0.0
    entry: Entry = "charged"


@word
def length(variant, loss, n2):
    """Return the step tau for a loss and a squared deviation."""


@length.on(Hard)
def length_hard(variant, loss, n2):
    return loss / n2


@length.on(Capped)
def length_capped(variant, loss, n2):
    return min(variant.C, loss / n2)


@length.on(Soft)
def length_soft(variant, loss, n2):
    return loss / (n2 + 0.5 / variant.C)


@strict
def mean(x):
    """Return the mean."""
    total = 0.0
    for k in range(x.shape[0]):
        total += x[k]
    return total / x.shape[0]


@strict
def deviation(x, centre):
    """Return the squared distance of x from a constant."""
    n2 = 0.0
    for k in range(x.shape[0]):
        n2 += (x[k] - centre) * (x[k] - centre)
    return n2 if n2 > NOTHING and n2 > ALIKE * x.shape[0] * centre * centre else 0.0


@strict
def along(b, a, x, centre):
    """Do b += a (x - centre), and project."""
    for k in range(b.shape[0]):
        b[k] += a * (x[k] - centre)
    onto_portfolios(b)


def after_pamr(s, x, b, p):
    """Move away from what rose, by as much as makes the loss of today vanish."""
    centre = mean(x)
    loss, n2 = max(0.0, held(b, x) - p.epsilon), deviation(x, centre)
    if loss > 0.0 and n2 > 0.0:
        along(b, -length(p.variant, loss, n2), x, centre)


class PAMR(Strategy):
    """Passive-aggressive mean reversion: b <- the portfolio nearest to b - tau (x - mean x), tau = [b.x - epsilon]+/|x - mean x|^2.

    It bets that what rose today falls tomorrow.

    Parameters: `epsilon` >= 0, the growth that is let pass; `variant`: "pamr"; "pamr1", tau at most `C`; "pamr2", with
    |x - mean x|^2 + 1/(2C); `C` > 0; `cost`, `entry` and `missing` as `Market` has them.

    Pitfalls: it jumps between assets, so costs decide: wealth of 5.09 on the S&P 500 set becomes 1.80 at 0.1 % and 0.03 at 0.5 %.
    It has no bound, and loses all where trends continue.

    Reference: Li, Zhao, Hoi, Gopalkrishnan (2012), *PAMR: passive aggressive mean reversion strategy for portfolio selection*.

    >>> import noregret as nr
    >>> m = nr.portfolio.PAMR(variant="pamr1", C=0.5).fit([[1.1, 0.9], [0.9, 1.1], [1.05, 1.0]])
    >>> m.weights_.round(4), round(m.wealth_, 5)
    (array([0.4875, 0.5125]), 1.03525)
    """

    name = "portfolio.pamr"
    cite = "li2012pamr"
    Params = PamrParams
    after = after_pamr


# ---- CWMR --------------------------------------------------------------------------------------------------------------
class Variance(NamedTuple):
    """Confidence by the variance."""


class Deviation(NamedTuple):
    """Confidence by the standard deviation."""


class CwmrParams(NamedTuple):
    """CWMR."""

    phi: NonNegative = 2.0
    epsilon: NonNegative = 0.5
    variant: Annotated[Any, Choice({"stdev": Deviation, "var": Variance})] = "stdev"
    cost: Cost = 0.0
    entry: Entry = "charged"


class CwmrState(NamedTuple):
    """CWMR."""

    v: Asset  # variances of the weights: the diagonal of Sigma


def root(a, b, c):
    """Return the largest root of a t^2 + b t + c that is not negative, 0 if there is none."""
    if a == 0.0:
        return max(0.0, -c / b) if b != 0.0 else 0.0
    d = b * b - 4.0 * a * c
    if d < 0.0:
        return 0.0
    q = -0.5 * (b + math.copysign(math.sqrt(d), b))
    return max(0.0, max(q / a, c / q if q != 0.0 else 0.0))


@word
def multiplier(variant, gap, V, D, phi):
    """Return lambda, given epsilon - b.x, the variance V of b.x, and D, that of its part across the simplex."""


@multiplier.on(Variance)
def multiplier_variance(variant, gap, V, D, phi):
    return root(2.0 * phi * V * D, 2.0 * phi * V * gap + D, gap - phi * V)


@multiplier.on(Deviation)
def multiplier_deviation(variant, gap, V, D, phi):
    h = 0.5 * phi * phi * V
    return root(D * D + 2.0 * D * h, 2.0 * gap * (D + h), gap * gap - phi * phi * V)


@word
def certainty(variant, lam, V, phi):
    """Return by how much x^2 is counted in the precision."""


@certainty.on(Variance)
def certainty_variance(variant, lam, V, phi):
    return 2.0 * lam * phi


@certainty.on(Deviation)
def certainty_deviation(variant, lam, V, phi):
    a = lam * phi * V
    return 0.5 * lam * phi * (math.sqrt(a * a + 4.0 * V) + a) / V  # lambda phi/sqrt(U), without a difference


def start_cwmr(s, p):
    """Begin with Sigma = I/m^2."""
    s.v[:] = 1.0 / len(s.v) ** 2


def after_cwmr(s, x, b, p):
    """Move the Gaussian over portfolios as little as makes a growth of at most epsilon probable."""
    centre = weighted_mean(s.v, x)
    V, D = weighted_squares(s.v, x, 0.0), weighted_squares(s.v, x, centre)
    D = D if D > ALIKE * V else 0.0
    lam = multiplier(p.variant, p.epsilon - held(b, x), V, D, p.phi)
    if lam > 0.0:
        move_gaussian(s.v, x, b, lam if D > 0.0 else 0.0, centre, certainty(p.variant, lam, V, p.phi))


@strict
def weighted_mean(v, x):
    """Return the mean of x, weighted by v."""
    top, total = 0.0, 0.0
    for k in range(x.shape[0]):
        top += v[k] * x[k]
        total += v[k]
    return top / total


@strict
def weighted_squares(v, x, centre):
    """Return the sum of v (x - centre)^2."""
    total = 0.0
    for k in range(x.shape[0]):
        total += v[k] * (x[k] - centre) * (x[k] - centre)
    return total


@strict
def move_gaussian(v, x, b, lam, centre, c):
    """Move mean and variances, and bring both back: the mean to the simplex, the trace of Sigma to 1/m."""
    total = 0.0
    for k in range(x.shape[0]):
        b[k] -= lam * v[k] * (x[k] - centre)
        v[k] /= 1.0 + c * v[k] * x[k] * x[k]
        total += v[k]
    for k in range(x.shape[0]):
        v[k] = max(v[k] / (x.shape[0] * total), NOTHING)
    onto_portfolios(b)


class CWMR(Strategy):
    """Confidence-weighted mean reversion: a Gaussian over portfolios, moved until a growth of at most epsilon is probable.

    With variances Sigma (a diagonal) and the weighted mean m of x: b <- the portfolio nearest to b - lambda Sigma (x - m),
    Sigma^-1 <- Sigma^-1 + c diag(x^2), then its trace 1/assets again; lambda is the largest root of a quadratic equation. It bets
    that what rose today falls tomorrow, and less on assets it has bet on before.

    Parameters: `phi` >= 0, the confidence, a quantile of the normal law; `epsilon` >= 0, the growth that is let pass; `variant`,
    "stdev" or "var"; `cost`, `entry` and `missing` as `Market` has them.

    Pitfalls: those of `PAMR`; it trades as much.

    Reference: Li, Hoi, Zhao, Gopalkrishnan (2013), *Confidence weighted mean reversion strategy for online portfolio selection*.

    >>> import noregret as nr
    >>> m = nr.portfolio.CWMR(phi=0.1, epsilon=0.999).fit([[1.1, 0.9, 1.0], [0.9, 1.1, 1.02]])
    >>> m.weights_.round(6), round(m.wealth_, 5)
    (array([0.511891, 0.185811, 0.302299]), 1.04393)
    """

    name = "portfolio.cwmr"
    cite = "li2013"
    State = CwmrState
    Params = CwmrParams
    start = start_cwmr
    after = after_cwmr


# ---- OLMAR -------------------------------------------------------------------------------------------------------------
class OlmarParams(NamedTuple):
    """OLMAR."""

    epsilon: NonNegative = 10.0
    W: Window = 5
    alpha: OptionalFraction = None
    cost: Cost = 0.0
    entry: Entry = "charged"


class OlmarState(NamedTuple):
    """OLMAR."""

    past: Annotated[Any, Slot(("lag", "asset"), dtype=np.float64)]  # relatives, in a ring
    average: Annotated[Any, Slot(("asset",), 1.0, np.float64)]  # exponential average of prices over the price
    t: Count
    goal: Scratch  # the relatives expected


@strict
def moving_average(s, x, W):
    """Write the mean of the last W prices, over the price of today; today's relatives before there are so many days."""
    lag, t = s.past.shape[0], int(s.t[0])  # today is day t
    for k in range(x.shape[0]):
        s.past[(t - 1) % lag, k] = x[k]
        total, price = 1.0, 1.0
        for i in range(W - 1 if t > W else 0):
            price /= s.past[(t - 1 - i) % lag, k]
            total += price
        s.goal[k] = total / W if t > W else x[k]


@strict
def fading_average(s, x, alpha):
    """Write alpha + (1 - alpha) average/x."""
    for k in range(x.shape[0]):
        s.average[k] = alpha + (1.0 - alpha) * s.average[k] / x[k]
        s.goal[k] = s.average[k]


def after_olmar(s, x, b, p):
    """Move to where the relatives expected make a growth of epsilon."""
    s.t[0] += 1
    if p.alpha > 0.0:
        fading_average(s, x, p.alpha)
    else:
        moving_average(s, x, int(p.W))
    centre = mean(s.goal)
    loss, n2 = max(0.0, p.epsilon - held(b, s.goal)), deviation(s.goal, centre)
    if loss > 0.0 and n2 > 0.0:
        along(b, loss / n2, s.goal, centre)


def lags(p, K):
    """Return how many days are kept."""
    return {"lag": 1 if p.alpha > 0.0 else p.W}


class OLMAR(Strategy):
    """Moving average reversion: b <- the portfolio nearest to b + lambda (g - mean g), lambda = [epsilon - b.g]+/|g - mean g|^2.

    g are the relatives if every price went back to its average tomorrow. OLMAR-1: g = (1 + 1/x_t + 1/(x_t x_t-1) + ...)/W, W
    terms (x_t while there are at most W days). OLMAR-2, if `alpha` is given: g <- alpha + (1 - alpha) g/x, 1 at first. It bets
    that prices return to their averages of the last days.

    Parameters: `epsilon` >= 0, the growth asked for; `W`, the prices of the moving average; `alpha` in (0, 1), OLMAR-2; `cost`,
    `entry` and `missing` as `Market` has them.

    Pitfalls: those of `PAMR`. The papers' window may count one day more than the terms here, so quote `W` with the formula.

    Reference: Li, Hoi (2012), *On-line portfolio selection with moving average reversion*; Li, Hoi, Sahoo, Liu (2015), *Moving
    average reversion strategy for on-line portfolio selection*.

    >>> import noregret as nr
    >>> m = nr.portfolio.OLMAR(alpha=0.5, epsilon=1.005).fit([[1.1, 0.9, 1.0], [0.9, 1.1, 1.02]])
    >>> m.weights_.round(6), round(m.wealth_, 6)
    (array([0.438762, 0.268653, 0.292586]), 1.009868)
    """

    name = "portfolio.olmar"
    cite = "li2012olmar"
    State = OlmarState
    Params = OlmarParams
    sizes = lags
    after = after_olmar
