"""Scale-invariant online learning: nothing to tune, and no column's unit changes a prediction.

Kempka, Kotlowski, Warmuth (2019), *Adaptive scale-invariant online algorithms for learning linear models*.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np

from ..algorithm.params import Positive
from ..algorithm.state import Slot
from ..engine.elementary import hypot
from ..parts.losses import steep
from ..spaces.examples import Whole, importance
from ..spaces.weights import null
from ..tasks.classification import Classifier
from ..tasks.regression import Regressor
from .adaptive import Largest, each, touch
from .coin import Figures, LabelLoss

Mirrored = Annotated[Any, Slot(promote="mirror")]  # half of it would be another share of the capital


class State(NamedTuple):
    """Sums of negative gradients, roots of their summed squares, rewards, largest features and slopes."""

    theta: Mirrored
    S: Figures
    R: Figures
    M: Largest
    L: Largest


class Params(NamedTuple):
    """ScInOL."""

    loss: LabelLoss = "log"
    capital: Positive = 1.0
    lipschitz: Positive = 1.0


class Foresee(NamedTuple):
    """Add up w_j x_j."""

    capital: float
    lipschitz: float


class Settle(NamedTuple):
    """Win -g x_j w_j, and learn the gradient."""

    g: float
    capital: float
    lipschitz: float


def stake(s, i, D, capital):
    """Return the weight of a cell whose root of squares, with the largest that may come, is D."""
    if D == 0.0:
        return 0.0
    return min(1.0, max(-1.0, s.theta[i] / D)) * ((capital + s.R[i]) / (2.0 * D))


@touch.on(Foresee)
def touch_foresee(act, s, i, v):
    D = hypot(s.S[i], max(s.L[i], act.lipschitz) * max(s.M[i], abs(v)))
    return stake(s, i, D, act.capital) * v, 0.0


@touch.on(Settle)
def touch_settle(act, s, i, v):
    s.M[i] = max(s.M[i], abs(v))
    s.L[i] = max(s.L[i], act.lipschitz, abs(act.g))
    w = stake(s, i, hypot(s.S[i], s.L[i] * s.M[i]), act.capital)  # by the new records, or more than the capital could be lost
    s.theta[i] -= act.g * v
    s.S[i] = hypot(s.S[i], act.g * v)
    s.R[i] -= act.g * v * w
    return 0.0, 0.0


def scinol_score(s, x, p):
    """Return the sum of w_j x_j, with the largest features as they are after this row."""
    f, _ = each(Foresee(p.capital, p.lipschitz), s, Whole(), x)
    return f


def scinol(s, x, y, p):
    """Predict, then settle with every coordinate."""
    if null(s.theta, x):
        return 0.0, False
    f = scinol_score(s, x, p)
    g = importance(x) * steep(p.loss, f, y)
    each(Settle(g, p.capital, p.lipschitz), s, Whole(), x)
    return f, g != 0.0


def scinol_weights(s: Any, p: Any) -> np.ndarray:
    """Return the weights for features no larger than those seen."""
    D = np.hypot(s.S, s.L * s.M).astype(np.float64)
    safe = np.where(D > 0.0, D, 1.0)
    w: np.ndarray = np.clip(s.theta / safe, -1.0, 1.0) * ((p.capital + s.R) / (2.0 * safe))
    return w


class ScInOL(Classifier):
    """Scale-invariant online learning: nothing to tune. Multiplying a column by any number changes no prediction.

    w_j = clip(theta_j/D_j, -1, 1) (capital + R_j)/(2 D_j), D_j^2 = S_j^2 + (L_j M_j)^2: theta_j is the negative sum of the
    gradients g x_j, S_j^2 the sum of their squares, R_j what the coordinate has won (the sum of -g x_j w_j), M_j and L_j the
    largest feature and slope, those of the row itself included in M_j. No round costs a coordinate more than half of its capital.
    O(nnz) a round.

    Parameters: `loss`: "log", "hinge", "square", "squared_hinge", "exponential", "perceptron"; `capital` > 0 of each coordinate at
    first (it matters early); `lipschitz` > 0, the least L_j. The paper has losses with slopes of at most 1 and L_j = 1, as the log
    and hinge losses without sample weights; L_j lets the others in. A sample weight multiplies the gradient.

    Pitfalls: every coordinate learns as if it were alone, and correlated columns overshoot at first; losses with unbounded
    slopes let one round set L_j for good. `coef_` are the weights for features within the range seen. There is no merge.

    Kempka, Kotlowski, Warmuth (2019), algorithm 2 (ScInOL_2).

    >>> X, y = [[1, 2, 0], [0.5, -1, 1], [-1, 0.5, 2]], [1, -1, 1]
    >>> ScInOL().fit(X, y).predict(X).tolist()
    [1, -1, 1]
    """

    name = "scinol"
    cite = "kempka2019"
    State, Params, step, score_row, primal = State, Params, scinol, scinol_score, scinol_weights
    scale_free = True
    merges = "none"


class ScInOLRegressor(Regressor, algorithm=ScInOL):
    """Scale-invariant online learning for real targets: nothing to tune, and no column's unit matters.

    Parameters: `loss`: "absolute", "square", "epsilon_insensitive", "squared_epsilon_insensitive" with `epsilon`; the others as in
    ScInOL. Pitfall: with a squared loss L_j follows the largest residual: scale y to about 1.

    Kempka, Kotlowski, Warmuth (2019), algorithm 2 (ScInOL_2).

    >>> X, y = [[1, 2, 0], [0.5, -1, 1]], [1.0, -0.5]
    >>> ScInOLRegressor().fit(X, y).predict([[1, 2, 0]]).round(3).tolist()
    [0.472]
    """

    name = "scinol_regressor"
    overrides = {"loss": "absolute"}
