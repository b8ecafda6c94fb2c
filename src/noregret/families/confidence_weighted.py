"""Second-order learners: weights with a mean and a covariance, so that rare features take large steps and frequent ones small.

The margin m = y mu.x of an example has variance v = x'Sigma x. Each learner moves mu by alpha y Sigma x and Sigma^-1 by kappa x x'
(that is Sigma by -beta Sigma x x'Sigma); they differ in when, and in alpha and kappa. With more than two classes there is a
covariance for each class, and a round moves those of the true class and of its best rival (Crammer, Dredze, Kulesza 2009,
*Multi-class confidence weighted algorithms*). Those that learn each class against the rest are in `against_rest`.

With costs a confusion of cost rho asks for sqrt(rho) times the margin that one of cost 1 asks for, in the unit of the learner: 1
for AROW and NHERD; phi deviations for CW and SCW. What is above the unit is counted in deviations from before the round, so that
the constraint is m - (sqrt(rho) - 1) phi sqrt(v_t) >= phi sqrt(v): the problem without costs, at a margin that is smaller by a
constant, solved by the same formula. (With sqrt(rho) phi for phi instead the variances shrink faster, and dear mistakes are less
rare.) The rival is the class that lacks most of its margin. A cost of 0 asks AROW and NHERD for a margin of 0, the others for none.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy import ndarray

from ..algorithm.bounds import Bound, Comparison
from ..algorithm.params import Choice, Derived, Positive, Range
from ..algorithm.rounds import furthest, rival
from ..algorithm.state import Covariance, Weights
from ..engine.elementary import normal_quantile
from ..engine.words import word
from ..learners.natural_coordinates import gaussians
from ..spaces.covariance import Dropped, Full, Herded, Inverse, absorb, least, margin
from ..spaces.examples import Pair, importance, required
from ..tasks.second_order import SecondOrder


# ---- parts -----------------------------------------------------------------------------------------------------------
class Diag(NamedTuple):
    """A variance for each weight."""

    kind = Inverse


class Matrix(NamedTuple):
    """A covariance matrix."""

    kind = Full


class Inv(NamedTuple):
    """1/s += kappa x^2."""

    kind = Inverse


class Drop(NamedTuple):
    """s -= beta s^2 x^2."""

    kind = Dropped


class Exact(NamedTuple):
    """s /= (1 + C s x^2)^2."""

    kind = Herded


HUGE = 1e300  # instead of infinity, where variances are about to vanish
Storage = Annotated[Any, Choice({"diag": Diag, "full": Matrix})]
Update = Annotated[Any, Choice({"inv": Inv, "project": Inv, "drop": Drop})]
HerdUpdate = Annotated[Any, Choice({"inv": Inv, "project": Inv, "drop": Drop, "exact": Exact})]
Confidence = Annotated[float, Range(0.5, 1.0)]
Quantile = Annotated[float, Derived(lambda given: normal_quantile(given["eta"]))]


class State(NamedTuple):
    """Mean and covariance."""

    mu: Weights
    Sigma: Covariance

    fuse = gaussians


class ArowParams(NamedTuple):
    """AROW."""

    r: Positive = 1.0
    a: Positive = 1.0
    covariance: Storage = "diag"
    update: Update = "inv"


class NherdParams(NamedTuple):
    """NHERD."""

    C: Positive = 1.0
    a: Positive = 1.0
    covariance: Storage = "diag"
    update: HerdUpdate = "inv"


class CwParams(NamedTuple):
    """CW."""

    eta: Confidence = 0.7
    a: Positive = 1.0
    covariance: Storage = "diag"
    update: Update = "inv"
    phi: Quantile = 0.0


class Scw1Params(NamedTuple):
    """SCW-I."""

    C: Positive = 1.0
    eta: Confidence = 0.75
    a: Positive = 1.0
    covariance: Storage = "diag"
    update: Update = "inv"
    phi: Quantile = 0.0


class Scw2Params(NamedTuple):
    """SCW-II."""

    C: Positive = 1.0
    eta: Confidence = 0.9
    a: Positive = 1.0
    covariance: Storage = "diag"
    update: Update = "inv"
    phi: Quantile = 0.0


# ---- AROW, NHERD -----------------------------------------------------------------------------------------------------
def arow(s, x, y, p):
    f, v = margin(s.mu, s.Sigma, x)
    loss = required(x) - y * f
    if loss > 0.0 and v > 0.0:
        r = p.r / importance(x)
        b = 1.0 / (v + r)
        absorb(s.mu, s.Sigma, loss * b * y, 1.0 / r, b, x)
        return f, True
    return f, False


@word
def herding(S, C, v):
    """Return (kappa, beta); the exact diagonal takes C itself."""


@herding.on(object)
def herding_any(S, C, v):
    q = 1.0 + C * v
    return C * (1.0 + q), C * (1.0 + q) / (q * q)


@herding.on(Herded)
def herding_herded(S, C, v):
    return C, C


def nherd(s, x, y, p):
    f, v = margin(s.mu, s.Sigma, x)
    loss = required(x) - y * f
    if loss > 0.0 and v > 0.0:
        C = p.C * importance(x)
        k, b = herding(s.Sigma, C, v)
        absorb(s.mu, s.Sigma, loss / (v + 1.0 / C) * y, k, b, x)
        return f, True
    return f, False


# ---- CW, SCW: without cancellation, in h = m/sqrt(v) and A = alpha sqrt(v) -------------------------------------------
def step_of(h, phi):
    """Return the A that makes the margin phi standard deviations."""
    root = math.sqrt(h * h * phi**4 / 4.0 + phi * phi * (1.0 + phi * phi))
    if h > 0.0:
        return (phi - h) * (phi + h) / (h * (1.0 + phi * phi / 2.0) + root)
    return (root - h * (1.0 + phi * phi / 2.0)) / (1.0 + phi * phi)


def confide(s, A, y, v, phi, x):
    """Move by A: the deviation of the margin becomes 2 sqrt(v)/rho."""
    rho = A * phi + math.sqrt(A * A * phi * phi + 4.0)
    k = min(A * phi * rho / (2.0 * v), HUGE)
    absorb(s.mu, s.Sigma, A / math.sqrt(v) * y, k, 2.0 * A * phi / (rho * v), x)


def beyond(m, q, x):
    """Return the margin without what a confusion asks for on top of q, the margin of one that costs 1; cost 0 asks for none."""
    return m - (required(x) - 1.0) * q if required(x) > 0.0 else math.inf


def cw(s, x, y, p):
    f, v = margin(s.mu, s.Sigma, x)
    q = p.phi * math.sqrt(v)
    m = beyond(y * f, q, x)
    if v > least(s.Sigma, x) and m < q:
        confide(s, step_of(m / math.sqrt(v), p.phi), y, v, p.phi, x)
        return f, True
    return f, False


def scw1(s, x, y, p):
    f, v = margin(s.mu, s.Sigma, x)
    q = p.phi * math.sqrt(v)
    m = beyond(y * f, q, x)
    if v > least(s.Sigma, x) and m < q:
        A = min(step_of(m / math.sqrt(v), p.phi), p.C * importance(x) * math.sqrt(v))
        confide(s, A, y, v, p.phi, x)
        return f, True
    return f, False


def scw2(s, x, y, p):
    f, v = margin(s.mu, s.Sigma, x)
    q = p.phi * math.sqrt(v)
    m = beyond(y * f, q, x)
    if v > least(s.Sigma, x) and m < q:
        n = v + 1.0 / (2.0 * p.C * importance(x))
        phi2 = p.phi * p.phi
        g = p.phi * math.sqrt(phi2 * m * m * v * v + 4.0 * n * v * (n + v * phi2))
        if m > 0.0:
            alpha = 2.0 * (q - m) * (q + m) / (2.0 * m * n + phi2 * m * v + g)
        else:
            alpha = (g - 2.0 * m * n - phi2 * m * v) / (2.0 * n * (n + v * phi2))
        confide(s, alpha * math.sqrt(v), y, v, p.phi, x)
        return f, True
    return f, False


def cw_var(s, x, y, p):
    f, v = margin(s.mu, s.Sigma, x)
    m = beyond(y * f, p.phi * v, x)
    if v > least(s.Sigma, x) and m < p.phi * v:
        q = 1.0 + 2.0 * p.phi * m
        root = math.sqrt(q * q + 8.0 * p.phi * (p.phi * v - m))
        alpha = 2.0 * (p.phi * v - m) / (v * (q + root)) if q > 0.0 else (root - q) / (4.0 * p.phi * v)
        k = 2.0 * alpha * p.phi
        absorb(s.mu, s.Sigma, alpha * y, k, k / (1.0 + k * v), x)
        return f, True
    return f, False


# ---- costs of CW, SCW: the margin of a confusion of cost 1 is phi deviations (or variances), and not 1 ------------------
class InDeviations(NamedTuple):
    """The class that is furthest below M[y, r] phi sqrt(v)."""

    M: ndarray


class InVariances(NamedTuple):
    """The class that is furthest below M[y, r] phi v."""

    M: ndarray


@word
def unit(cost, phi, v):
    """Return the margin that a confusion of cost 1 asks for."""


@unit.on(InDeviations)
def unit_in_deviations(cost, phi, v):
    return phi * math.sqrt(v)


@unit.on(InVariances)
def unit_in_variances(cost, phi, v):
    return phi * v


@rival.on(InDeviations)
@rival.on(InVariances)
def rival_in_deviations(cost, s, p, f, y, x):  # the unit is that of the best rival, so that equal costs choose it
    r = furthest(cost.M, f, y, 0.0)
    if r == y:
        return y
    v = margin(s.mu, s.Sigma, Pair(x.x, np.uintp(y), np.uintp(r), x.K, 1.0))[1]
    return furthest(cost.M, f, y, unit(cost, p.phi, v))


# ---- theorems --------------------------------------------------------------------------------------------------------
def arow_bound(t: Comparison, p: Any) -> float:
    """Return the bound on the updates N = M + U of two classes and a full covariance.

    The theorem is N <= A sqrt(ln det(I + X/r) + U) + L, A^2 = r |u|^2 + u'X u, L the hinge loss of u, X the sum of x x' over the
    updated rounds. Here X is taken over all rounds, ln det <= d ln(1 + tr X/(r d)) =: B, U <= N, and N <= A sqrt(B + N) + L is
    solved for N.
    """
    if t.K > 2 or not isinstance(p.covariance, Matrix):
        return math.inf
    r = p.r / p.a
    A, B = math.sqrt(r * t.u2 + t.energy), t.d * math.log1p(t.length2 / (r * t.d))
    z = (A + math.sqrt(A * A + 4.0 * (B + t.hinge))) / 2.0
    return z * z - B


# ---- learners --------------------------------------------------------------------------------------------------------
class AROW(SecondOrder):
    """Adaptive regularisation of weights: squared hinge loss and confidence, balanced by r; the one to start with on text.

    While 1 - m > 0: alpha = (1 - m)/(v + r), kappa = 1/r, with m the margin and v its variance. With more classes the pair of the
    true class and its best rival is one example. With a full covariance this is recursive least squares on the updated rounds.

    Parameters: `r` (large: small steps, search 2^-4 to 2^4); `a`, the first variance of every weight; `covariance`, "diag" in
    O(nnz) or "full" in O(d^2); `update` of a diagonal, "inv" (1/s += x^2/r, exact) or "drop" (the diagonal of the
    full update). A sample weight c is r/c: c repeats of the example. Takes costs.

    Pitfalls: the variances only shrink, so a drifting stream is followed ever more slowly.

    Bound with two classes and a full covariance, X the sum of x x' over the updated rounds, M mistakes among N updates, any u:
    N <= sqrt(r |u|^2 + u'X u) sqrt(ln det(I + X/r) + N - M) + sum of hinge losses of u.

    Crammer, Kulesza, Dredze (2009), figure 1.

    >>> X, y = [[1, 2, 0], [0.5, -1, 1], [-1, 0.5, 2], [2, 1, -1]], [1, -1, 1, -1]
    >>> AROW(fit_intercept=False).fit(X, y).coef_.round(3).tolist()
    [[-0.374, 0.366, 0.189]]
    """

    name = "arow"
    cite = "crammer2009arow"
    State, Params, step = State, ArowParams, arow
    takes_cost = True
    bound = Bound("Crammer, Kulesza, Dredze 2009", "updates", arow_bound, "it needs two classes and covariance='full'")


class NHERD(SecondOrder):
    """Gaussian herding: the mean moves as in AROW with r = 1/C, the covariance shrinks more.

    While 1 - m > 0: alpha = (1 - m)/(v + 1/C), kappa = 2C + C^2 v.

    Parameters: `C` (large: large steps, search 2^-4 to 2^4); `a`, the first variance; `covariance` "diag" or "full"; `update` of a
    diagonal, "inv" (also "project"), "drop", or "exact", s/(1 + C s x^2)^2, the optimum over diagonal maps. A sample weight c is
    c C. Takes costs.

    Crammer, Lee (2010), *Learning via Gaussian herding*, figure 1.

    >>> X, y = [[1, 2, 0], [0.5, -1, 1], [-1, 0.5, 2], [2, 1, -1]], [1, -1, 1, -1]
    >>> NHERD(fit_intercept=False).fit(X, y).coef_.round(3).tolist()
    [[-0.117, 0.328, 0.094]]
    """

    name = "nherd"
    cite = "crammer2010"
    State, Params, step = State, NherdParams, nherd
    takes_cost = True


class CW(SecondOrder):
    """Confidence-weighted learning: every example must be right with probability eta; standard deviation form.

    While m < phi sqrt(v), with phi the eta-quantile of the normal distribution: the smallest change of the Gaussian (in relative
    entropy) for which m = phi sqrt(v), in closed form.

    Parameters: `eta` in (1/2, 1) (search 0.55 to 0.95); `a`, the first variance; `covariance` "diag" or "full"; `update` of a
    diagonal, "inv" or "drop". Any sample weight above 0 acts like 1: the constraint is hard. Takes costs: with
    rho for a confusion, m >= phi sqrt(v) + (sqrt(rho) - 1) phi sqrt(v_t), v_t the variance before the round.

    Pitfalls: label noise makes the variances collapse, high costs even faster; prefer AROW or SCW1 there. On dense noisy rows take
    update="drop" or covariance="full". No scale: a only multiplies the weights.

    Crammer, Dredze, Pereira (2008), *Exact convex confidence-weighted learning*.

    >>> X, y = [[1, 2, 0], [0.5, -1, 1], [-1, 0.5, 2], [2, 1, -1]], [1, -1, 1, -1]
    >>> CW(fit_intercept=False).fit(X, y).coef_.round(3).tolist()
    [[-0.529, 0.487, 0.451]]
    """

    name = "cw"
    cite = "crammer2008"
    State, Params, step = State, CwParams, cw
    takes_cost, priced = True, InDeviations
    without = ("average", "class_weight")


class CWVar(SecondOrder):
    """Confidence-weighted learning, variance form: the margin must be phi times its variance.

    While m < phi v: the smallest change for which m = phi v; kappa = 2 alpha phi.

    Parameters: as CW; with costs m >= phi v + (sqrt(rho) - 1) phi v_t. Pitfalls: as CW; and unlike CW it depends on the scale of
    the rows.

    Dredze, Crammer, Pereira (2008), *Confidence-weighted linear classification*, figure 1.

    >>> X, y = [[1, 2, 0], [0.5, -1, 1], [-1, 0.5, 2], [2, 1, -1]], [1, -1, 1, -1]
    >>> CWVar(fit_intercept=False).fit(X, y).coef_.round(3).tolist()
    [[-0.453, 0.492, 0.426]]
    """

    name = "cw_var"
    cite = "dredze2008"
    State, Params, step = State, CwParams, cw_var
    takes_cost, priced = True, InVariances
    without = ("average", "class_weight")


class SCW1(SecondOrder):
    """Soft confidence-weighted learning, SCW-I: the step of CW, at most C.

    While m < phi sqrt(v): alpha = min(C, that of CW).

    Parameters: `C` (search 2^-4 to 2^4); `eta`, `a`, `covariance`, `update` as CW. A sample weight c is c C. As C grows this is CW.
    Takes costs, as CW; C stays the most that a row may move.

    Wang, Zhao, Hoi (2012), *Exact soft confidence-weighted learning*, proposition 1.

    >>> X, y = [[1, 2, 0], [0.5, -1, 1], [-1, 0.5, 2], [2, 1, -1]], [1, -1, 1, -1]
    >>> SCW1(fit_intercept=False).fit(X, y).coef_.round(3).tolist()
    [[-0.619, 0.583, 0.5]]
    """

    name = "scw1"
    cite = "wang2012"
    State, Params, step = State, Scw1Params, scw1
    takes_cost, priced = True, InDeviations


class SCW2(SecondOrder):
    """Soft confidence-weighted learning, SCW-II: the confidence loss squared.

    While m < phi sqrt(v): the minimum of relative entropy + C [phi sqrt(v) - m]_+^2, in closed form.

    Parameters: as SCW1, with eta = 0.9. Pitfalls: on dense noisy rows take update="drop" or covariance="full", with costs too.

    Wang, Zhao, Hoi (2012), proposition 2.

    >>> X, y = [[1, 2, 0], [0.5, -1, 1], [-1, 0.5, 2], [2, 1, -1]], [1, -1, 1, -1]
    >>> SCW2(fit_intercept=False).fit(X, y).coef_.round(3).tolist()
    [[-0.651, 0.725, 0.432]]
    """

    name = "scw2"
    cite = "wang2012"
    State, Params, step = State, Scw2Params, scw2
    takes_cost, priced = True, InDeviations
