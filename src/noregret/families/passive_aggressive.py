"""Passive-aggressive learning: stay put while the margin is met, else make the smallest change that meets it.

Crammer, Dekel, Keshet, Shalev-Shwartz, Singer (2006), *Online passive-aggressive algorithms*, JMLR 7:551-585. With a loss of
l > 0 in a direction of squared length n2 the step is l/n2 (PA), min(C, l/n2) (PA-I) or l/(n2 + 1/(2C)) (PA-II).
"""

from __future__ import annotations

import math
from typing import Annotated, Any, NamedTuple

from ..algorithm.bounds import Bound
from ..algorithm.params import Fixed, Positive
from ..algorithm.state import Weights
from ..engine.words import word
from ..parts.losses import EpsilonInsensitive, Hinge
from ..spaces.examples import importance, required
from ..spaces.weights import add, dot, norm2
from ..tasks.classification import Classifier
from ..tasks.regression import Regressor


class State(NamedTuple):
    """The weights."""

    w: Weights


class Hard(NamedTuple):
    """PA: the constraint has no slack, so no sample weight can matter."""


class Capped(NamedTuple):
    """PA-I: slack at price C, times the sample weight."""

    C: Positive = 1.0


class Soft(NamedTuple):
    """PA-II: squared slack at price C, times the sample weight."""

    C: Positive = 1.0


Margin = Annotated[Any, Fixed(Hinge)]
Tube = Annotated[Any, Fixed(EpsilonInsensitive)]


class Params(NamedTuple):
    """PA."""

    slack: Annotated[Any, Fixed(Hard)]
    loss: Margin


class Params1(NamedTuple):
    """PA-I."""

    slack: Annotated[Any, Fixed(Capped)]
    loss: Margin


class Params2(NamedTuple):
    """PA-II."""

    slack: Annotated[Any, Fixed(Soft)]
    loss: Margin


@word
def tau(slack, loss, n2, omega):
    """Return the length of the step for loss > 0, n2 > 0 and sample weight omega."""


@tau.on(Hard)
def hard(slack, loss, n2, omega):
    """PA."""
    return loss / n2


@tau.on(Capped)
def capped(slack, loss, n2, omega):
    """PA-I."""
    return min(omega * slack.C, loss / n2)


@tau.on(Soft)
def soft(slack, loss, n2, omega):
    """PA-II."""
    return loss / (n2 + 1.0 / (2.0 * omega * slack.C))


@word
def lack(loss, f, y, x):
    """Return what the score lacks of the margin, or how far it is outside the tube; not above 0: nothing to do."""


@lack.on(Hinge)
def margin_lack(loss, f, y, x):
    """The margin asked for, less that of f."""
    return required(x) - y * f


@lack.on(EpsilonInsensitive)
def tube_lack(loss, f, y, x):
    """The distance from the target, less that allowed."""
    return abs(y - f) - loss.epsilon


@word
def toward(loss, f, y):
    """Return the sign of the score that is wanted."""


@toward.on(Hinge)
def to_label(loss, f, y):
    """The label."""
    return y


@toward.on(EpsilonInsensitive)
def to_target(loss, f, y):
    """From the score to the target."""
    return math.copysign(1.0, y - f)


def step(s, x, y, p):
    """Do w += tau x, toward the label or target, when the margin is not met or the score is outside the tube."""
    f = dot(s.w, x)
    loss = lack(p.loss, f, y, x)
    if loss > 0.0:
        n2 = norm2(s.w, x)
        if n2 > 0.0:
            add(s.w, toward(p.loss, f, y) * tau(p.slack, loss, n2, importance(x)), x)
            return f, True
    return f, False


class PA(Classifier):
    """Passive-aggressive classification: after an update the margin is exactly 1.

    w += (l / |x|^2) y x with l = max(0, 1 - y f). More than two classes: the best rival r, x for y minus x for r, so that |x|^2
    becomes 2|x|^2. With `cost` (a mapping {(true, predicted): cost}, or a matrix in the order of `classes`) the margin asked for
    is sqrt(cost) (`margin="cost"`, `"unit"` for other forms), against the rival of largest loss (`mode="max_loss"`) or the
    predicted class (`mode="prediction"`).

    Pitfalls: one mislabelled row can undo all that was learned; use PA-I or PA-II on noisy data. Rows of very different length
    make steps of very different length: normalise them. A sample weight changes nothing but 0 (a constraint has no price).

    Bound, when u has margin 1 on every row: sum l^2 <= R^2 |u|^2.

    Crammer et al. (2006), figure 1.

    >>> m = PA(fit_intercept=False)
    >>> m.partial_fit([[1, 2, 0], [0.5, -1, 1]], [1, -1]).coef_.round(3).tolist()
    [[0.044, 0.711, -0.311]]
    """

    name = "pa"
    cite = "crammer2006"
    State, Params, step = State, Params, step
    takes_cost = True
    without = ("class_weight",)
    bound = Bound(
        "Crammer et al. 2006, theorem 2",
        "squared_hinge",
        lambda t, p: t.moves * t.R**2 * t.u2 if t.hinge == 0.0 else math.inf,
        "it needs a model with margin 1 on every row, and the best one has a loss",
    )


class PA1(Classifier):
    """PA-I: passive-aggressive classification with steps of at most C. The usual first choice of the family.

    w += min(C, l / |x|^2) y x with l = max(0, 1 - y f); classes and costs as in PA; a sample weight multiplies C.

    Parameters: `C` > 0, the aggressiveness (small = small steps); search 2^-4 ... 2^4.

    Bound, for any u: mistakes <= max(R^2, 1/C) (|u|^2 + 2 C sum of its hinge losses); 2R^2 with more than two classes.

    Crammer et al. (2006), figure 1; theorem 4.

    >>> m = PA1(C=0.1)
    >>> m.learn_one({"free": 1, "viagra": 2}, "spam")           # nothing is known yet
    >>> m.learn_one({"meeting": 1}, "ham")                      # the answer from before the update
    'spam'
    >>> m.predict_one({"viagra": 1})
    'spam'
    """

    name = "pa1"
    cite = "crammer2006"
    State, Params, step = State, Params1, step
    takes_cost = True
    bound = Bound(
        "Crammer et al. 2006, theorem 4",
        "mistakes",
        lambda t, p: max(t.moves * t.R**2, 1.0 / p.slack.C) * (t.u2 + 2.0 * p.slack.C * t.hinge),
    )


class PA2(Classifier):
    """PA-II: passive-aggressive classification with steps that shrink smoothly with C.

    w += l / (|x|^2 + 1/(2C)) y x with l = max(0, 1 - y f); classes and costs as in PA; a sample weight multiplies C.

    Parameters: `C` > 0, the aggressiveness. Pitfall: |x|^2 + C and |x|^2 + C/2 circulate as the denominator; both are wrong.

    Bound, for any u: sum l^2 <= (R^2 + 1/(2C)) (|u|^2 + 2 C sum of its squared hinge losses), which bounds the mistakes too.

    Crammer et al. (2006), figure 1; theorem 5.

    >>> m = PA2(C=0.25, fit_intercept=False)
    >>> m.partial_fit([[1, 2, 0], [0.5, -1, 1]], [1, -1]).coef_.round(4).tolist()
    [[0.0504, 0.4706, -0.1849]]
    """

    name = "pa2"
    cite = "crammer2006"
    State, Params, step = State, Params2, step
    takes_cost = True
    bound = Bound(
        "Crammer et al. 2006, theorem 5",
        "squared_hinge",
        lambda t, p: (t.moves * t.R**2 + 0.5 / p.slack.C) * (t.u2 + 2.0 * p.slack.C * t.hinge2),
    )


class PARegressor(Regressor, algorithm=PA):
    """Passive-aggressive regression: after an update the prediction is on the edge of the tube of half-width epsilon.

    w += (l / |x|^2) sign(y - f) x with l = max(0, |y - f| - epsilon).

    Parameters: `epsilon` >= 0. Bound, when u is inside the tube on every row: sum l^2 <= R^2 |u|^2.

    Crammer et al. (2006), section 7.

    >>> m = PARegressor(epsilon=0.1, fit_intercept=False)
    >>> m.partial_fit([[1, 2, 0], [0.5, -1, 1]], [1.0, -0.5]).coef_.round(4).tolist()
    [0.1511, 0.4178, -0.0578]
    """

    name = "pa_regressor"
    types = {"loss": Tube}
    bound = Bound(
        "Crammer et al. 2006, section 7",
        "squared_tube",
        lambda t, p: t.R**2 * t.u2 if t.tube == 0.0 else math.inf,
        "it needs a model within epsilon of every target, and the best one is not",
    )


class PA1Regressor(Regressor, algorithm=PA1):
    """PA-I regression: steps of at most C.

    w += min(C, l / |x|^2) sign(y - f) x with l = max(0, |y - f| - epsilon); a sample weight multiplies C.

    Parameters: `C` > 0, `epsilon` >= 0. Pitfall: the mistake bound of PA-I has no counterpart here.

    Crammer et al. (2006), section 7.

    >>> m = PA1Regressor(C=0.1, fit_intercept=False)
    >>> m.partial_fit([[1, 2, 0], [0.5, -1, 1]], [1.0, -0.5]).coef_.round(4).tolist()
    [0.05, 0.3, -0.1]
    """

    name = "pa1_regressor"
    types = {"loss": Tube}
    bound = None


class PA2Regressor(Regressor, algorithm=PA2):
    """PA-II regression: steps that shrink smoothly with C.

    w += l / (|x|^2 + 1/(2C)) sign(y - f) x with l = max(0, |y - f| - epsilon); a sample weight multiplies C.

    Parameters: `C` > 0, `epsilon` >= 0. Bound: sum l^2 <= (R^2 + 1/(2C)) (|u|^2 + 2 C sum of its squared losses).

    Crammer et al. (2006), section 7.

    >>> m = PA2Regressor(C=0.25, fit_intercept=False)
    >>> m.partial_fit([[1, 2, 0], [0.5, -1, 1]], [1.0, -0.5]).coef_.round(4).tolist()
    [0.1042, 0.3059, -0.0487]
    """

    name = "pa2_regressor"
    types = {"loss": Tube}
    bound = Bound(
        "Crammer et al. 2006, section 7",
        "squared_tube",
        lambda t, p: (t.R**2 + 0.5 / p.slack.C) * (t.u2 + 2.0 * p.slack.C * t.tube2),
    )
