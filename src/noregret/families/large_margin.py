"""Large margins, approximately: ALMA_p and the relaxed online maximum margin algorithms.

Gentile (2001), *A new approximate maximal margin classification algorithm*; Li, Long (2002), *The relaxed online maximum margin
algorithm*.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from ..algorithm.bounds import Bound, Comparison
from ..algorithm.params import Exponent, Optional, Positive, Share
from ..algorithm.state import Count, DualMeasured, Measured
from ..engine.words import word
from ..spaces.examples import importance
from ..spaces.weights import add, dot, norm2, scale, sqnorm
from ..tasks.classification import Classifier


class AlmaParams(NamedTuple):
    """ALMA_p."""

    p: Exponent = 2.0
    alpha: Share = 0.9
    B: Optional = None
    C: Positive = math.sqrt(2.0)


class AlmaState(NamedTuple):
    """Weights in the p-norm geometry, updates."""

    w: DualMeasured
    k: Count


def alma(s, x, y, p):
    """Do theta += eta_k y x / |x|_p when the normalised margin is not above (1 - alpha) gamma_k; then back into the unit q-ball."""
    f = dot(s.w, x)
    n2 = norm2(s.w, x)
    if n2 > 0.0:
        size = math.sqrt(n2)
        k = s.k[0] + 1.0
        B = p.B if p.B > 0.0 else 1.0 / p.alpha
        if y * f / size <= (1.0 - p.alpha) * B * math.sqrt((p.p - 1.0) / k):
            add(s.w, importance(x) * y * p.C / math.sqrt((p.p - 1.0) * k) / size, x)
            w2 = sqnorm(s.w)
            if w2 > 1.0:
                scale(s.w, 1.0 / math.sqrt(w2))
            s.k[0] += 1
            return f, True
    return f, False


def alma_bound(t: Comparison, p: AlmaParams) -> float:
    """Return the number of updates promised on separable rows under the theory's setting."""
    theory = math.isclose(p.B, math.sqrt(8.0) / p.alpha) and math.isclose(p.C, math.sqrt(2.0))
    if not theory or t.margin <= 0.0 or t.K > 2:
        return math.inf
    return 2.0 * (p.p - 1.0) / t.margin**2 * (2.0 / p.alpha - 1.0) ** 2 + 8.0 / p.alpha - 4.0


class ALMA(Classifier):
    """ALMA_p: approaches the maximal p-norm margin; the weights stay in the unit ball of the q-norm, q = p/(p-1).

    With x' = x/|x|_p and k = 1, 2, ... counting updates: if y w.x' <= (1 - alpha) B sqrt(p-1)/sqrt(k), then
    theta += C/(sqrt(p-1) sqrt(k)) y x', w = f^-1(theta), w /= max(1, |w|_q). O(nnz) for every p. A sample weight multiplies the
    addition.

    Parameters: `p` >= 2 (2: Euclidean; about 2 ln d for sparse targets); `alpha` in (0, 1], smaller is closer to the maximal
    margin with more updates; `B` (None: 1/alpha) and `C`. The theory's setting is B = sqrt(8)/alpha, C = sqrt(2).

    Pitfalls: k counts updates, not rounds; rows are normalised inside, so their length carries nothing.

    Bound (theory's setting, separable rows with p-norm margin g): updates <= 2(p-1)/g^2 (2/alpha - 1)^2 + 8/alpha - 4.

    Gentile (2001), figure 1.

    >>> X, y = [[1, 2, 0], [0.5, -1, 1], [-1, 0.5, 2]], [1, -1, 1]
    >>> ALMA(fit_intercept=False).fit(X, y).coef_.round(4).tolist()
    [[0.0076, 0.7868, 0.6172]]
    """

    name = "alma"
    cite = "gentile2001"
    State, Params, step = AlmaState, AlmaParams, alma
    bound = Bound(
        "Gentile 2001, theorem 3",
        "updates",
        alma_bound,
        "it needs two classes, a model that separates them, B = sqrt(8)/alpha and C = sqrt(2)",
    )


class Relaxed(NamedTuple):
    """ROMMA has no parameters."""


class Aggressive(NamedTuple):
    """Nor has its aggressive form."""


class RommaState(NamedTuple):
    """Weights with their norm."""

    w: Measured


@word
def enough(p, m):
    """Return whether margin m calls for no update."""


@enough.on(Relaxed)
def _(p, m):
    return m > 0.0


@enough.on(Aggressive)
def _(p, m):
    return m >= 1.0


def romma(s, x, y, p):
    """Do w = the shortest vector with y w.x >= 1 on the far side of the hyperplane through w, orthogonal to it."""
    f = dot(s.w, x)
    n2 = norm2(s.w, x)
    if enough(p, y * f) or n2 == 0.0:
        return f, False
    w2 = sqnorm(s.w)
    if w2 == 0.0 or y * f >= n2 * w2:
        if w2 > 0.0:
            scale(s.w, 0.0)
        add(s.w, y / n2, x)
        return f, True
    D = n2 * w2 - f * f
    if 1e-12 * n2 * w2 >= D:  # x opposite to w: the two constraints contradict each other
        return f, False
    scale(s.w, (n2 * w2 - y * f) / D)
    add(s.w, w2 * (y - f) / D, x)
    if sqnorm(s.w) > 1e60:  # no separator in sight: the norm grows without end, the direction is what matters
        scale(s.w, 1.0 / math.sqrt(sqnorm(s.w)))
    return f, True


SEPARATED = "it needs a model with margin 1 on every row, and the best one has a loss"


def romma_bound(t: Comparison, p: NamedTuple) -> float:
    """Return R^2 |u|^2 when u has margin 1 on every row."""
    return t.moves * t.R**2 * t.u2 if t.hinge == 0.0 else math.inf


class ROMMA(Classifier):
    """ROMMA: on a mistake, the shortest w with y w.x >= 1 and w.w_t >= |w_t|^2, a relaxation of all earlier constraints.

    w = ((|x|^2 |w|^2 - y f)/D) w + (|w|^2 (y - f)/D) x with D = |x|^2 |w|^2 - f^2; from w = 0, w = y x/|x|^2. More than two
    classes: the stacked vector, so the factor is for all rows. Nothing to set; a sample weight changes nothing but 0.

    Pitfalls: |w| explodes on rows that are not separable through the origin (keep the intercept; beyond 1e30 it is rescaled, which
    changes no prediction). Starting from y x, or scaling only the two classes of a round, are errors in circulation.

    Bound, when u has margin 1 on every row: mistakes <= R^2 |u|^2.

    Li, Long (2002), figure 2.

    >>> X, y = [[1, 2, 0], [0.5, -1, 1], [-1, 0.5, 2]], [1, -1, 1]
    >>> ROMMA(fit_intercept=False).fit(X, y).coef_.round(4).tolist()
    [[0.0095, 0.4952, 0.381]]
    """

    name = "romma"
    cite = "li2002"
    State, Params, step = RommaState, Relaxed, romma
    without = ("class_weight",)
    bound = Bound("Li, Long 2002, theorem 3", "mistakes", romma_bound, SEPARATED)


class AggressiveROMMA(Classifier):
    """Aggressive ROMMA: the update of ROMMA whenever the margin is below 1, not only on mistakes.

    As ROMMA; when y f >= |x|^2 |w|^2 the old constraint is implied by the new one and w = y x/|x|^2.

    Bound, when u has margin 1 on every row: mistakes <= R^2 |u|^2.

    Li, Long (2002), section 3.

    >>> X, y = [[1, 2, 0], [0.5, -1, 1], [-1, 0.5, 2]], [1, -1, 1]
    >>> AggressiveROMMA(fit_intercept=False).fit(X, y).coef_.round(4).tolist()
    [[-0.4186, 0.8253, 0.0844]]
    """

    name = "aromma"
    cite = "li2002"
    State, Params, step = RommaState, Aggressive, romma
    without = ("class_weight",)
    bound = Bound("Li, Long 2002, theorem 4", "mistakes", romma_bound, SEPARATED)
