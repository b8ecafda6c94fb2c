"""Second-order learners: weights with a mean and a covariance, so that rare features take large steps and frequent ones small.

The margin m = y mu.x of an example has variance v = x'Sigma x. Each learner moves mu by alpha y Sigma x and Sigma^-1 by kappa x x'
(that is Sigma by -beta Sigma x x'Sigma); they differ in when, and in alpha and kappa. With more than two classes there is a
covariance for each class, and a round moves those of the true class and of its best rival (Crammer, Dredze, Kulesza 2009,
*Multi-class confidence weighted algorithms*); SOP, NAROW and IELLIP learn each class against the rest.

With costs a confusion of cost rho asks for sqrt(rho) times the margin that one of cost 1 asks for, in the unit of the learner: 1
for AROW and NHERD; phi deviations for CW and SCW. What is above the unit is counted in deviations from before the round, so that
the constraint is m - (sqrt(rho) - 1) phi sqrt(v_t) >= phi sqrt(v): the problem without costs, at a margin that is smaller by a
constant, solved by the same formula. (With sqrt(rho) phi for phi instead the variances shrink faster, and dear mistakes are less
rare.) The rival is the class that lacks most of its margin. Against the rest, a false alarm of class r on a row of class y costs
rho(y, r), and a miss rho(y, q), q the best rival of those that cost anything: what the mistake would come to. A cost of 0 asks AROW
and NHERD for a margin of 0, and the others for nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from statistics import NormalDist
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from numpy import ndarray

from ..core.bounds import Bound, Comparison
from ..core.covariance import Dropped, Full, Herded, Inverse, absorb, gather, included, inflate, least, margin
from ..core.examples import Block, Pair, Weighted, importance, required
from ..core.labels import Labels
from ..core.params import Choice, Derived, Fraction, Positive, Range
from ..core.rounds import MaxLoss, Priced, furthest, price, rival
from ..core.state import Covariance, PerClass, Weights
from ..core.words import word
from ..tasks.confidence import SecondOrder

AS_WRITTEN = True  # formulas alone: no loop over features would gain from reassociation


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
FullOnly = Annotated[Any, Choice({"full": Matrix})]
Update = Annotated[Any, Choice({"inv": Inv, "project": Inv, "drop": Drop})]
HerdUpdate = Annotated[Any, Choice({"inv": Inv, "project": Inv, "drop": Drop, "exact": Exact})]
Confidence = Annotated[float, Range(0.5, 1.0)]
Quantile = Annotated[float, Derived(lambda given: NormalDist().inv_cdf(given["eta"]))]
Reciprocal = Annotated[float, Derived(lambda given: 1.0 / given["a"])]


class State(NamedTuple):
    """Mean and covariance."""

    mu: Weights
    Sigma: Covariance


class Timed(NamedTuple):
    """Mean, covariance and rounds."""

    mu: Weights
    Sigma: Covariance
    t: PerClass


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


class SopParams(NamedTuple):
    """SOP."""

    a: Positive = 1.0
    covariance: Storage = "diag"
    variance: Reciprocal = 1.0


class NarowParams(NamedTuple):
    """NAROW."""

    b: Positive = 1.0
    a: Positive = 1.0
    covariance: Storage = "diag"


class IellipParams(NamedTuple):
    """IELLIP."""

    b: Fraction = 0.3
    c: Fraction = 0.1
    a: Positive = 1.0
    covariance: FullOnly = "full"


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
def _(S, C, v):
    q = 1.0 + C * v
    return C * (1.0 + q), C * (1.0 + q) / (q * q)


@herding.on(Herded)
def _(S, C, v):
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
def _(cost, phi, v):
    return phi * math.sqrt(v)


@unit.on(InVariances)
def _(cost, phi, v):
    return phi * v


@rival.on(InDeviations)
@rival.on(InVariances)
def _(cost, s, p, f, y, x):  # the unit is that of the best rival, so that equal costs choose it
    r = furthest(cost.M, f, y, 0.0)
    if r == y:
        return y
    v = margin(s.mu, s.Sigma, Pair(x.x, np.uintp(y), np.uintp(r), x.K, 1.0))[1]
    return furthest(cost.M, f, y, unit(cost, p.phi, v))


# ---- SOP, NAROW, IELLIP: each class against the rest -----------------------------------------------------------------
@word
def seen_by(x, c, K):
    """Return the example as class c of K sees it."""


@seen_by.on(object)
def _(x, c, K):
    return Block(x, c, K)


@seen_by.on(Priced)
def _(x, c, K):
    return Block(x.x, c, K)


@seen_by.on(Weighted)
def _(x, c, K):
    return Weighted(seen_by(x.x, c, K), x.c)


@word
def own(x):
    """Return the class that an example is seen by."""


@own.on(object)
def _(x):
    return 0


@own.on(Block)
def _(x):
    return x.c


@own.on(Weighted)
def _(x):
    return own(x.x)


def sop(s, x, y, p):
    return sop_at(s, 1.0, x, y, p)


def sop_at(s, n, x, y, p):
    """Do a round in which a mistake counts as n examples."""
    f = included(s.mu, s.Sigma, x)
    if y * f <= 0.0 and margin(s.mu, s.Sigma, x)[1] > 0.0:
        gather(s.mu, s.Sigma, n * importance(x) * y, n * importance(x), x)
        return f, True
    return f, False


def sop_score(s, x, p):
    return included(s.mu, s.Sigma, x)


def narow_factor(v, b):
    """Return (what the score is divided by, 1/r)."""
    return (b * v, b - 1.0 / v) if b * v > 1.0 else (1.0, 0.0)


def narow(s, x, y, p):
    return narow_at(s, 1.0, x, y, p)


def narow_at(s, m, x, y, p):
    """Do a round that asks for margin m."""
    f, v = margin(s.mu, s.Sigma, x)
    q, k = narow_factor(v, p.b)
    if y * f / q < m and v > 0.0:
        gather(s.mu, s.Sigma, importance(x) * y, importance(x) * k, x)
        return f / q, True
    return f / q, False


def narow_score(s, x, p):
    f, v = margin(s.mu, s.Sigma, x)
    return f / narow_factor(v, p.b)[0]


def iellip(s, x, y, p):
    return iellip_at(s, 1.0, x, y, p)


def iellip_at(s, m, x, y, p):
    """Do a round that makes the margin m on a mistake."""
    f, v = margin(s.mu, s.Sigma, x)
    c = p.c * p.b ** s.t[own(x)]
    s.t[own(x)] += 1.0
    if y * f <= 0.0 and v > least(s.Sigma, x):
        absorb(s.mu, s.Sigma, (m - y * f) / v * y, 0.0, c / v, x)
        inflate(s.Sigma, 1.0 / (1.0 - c), x)
        return f, True
    return f, False


def rest_sop(s, f, y, p, tau, x):
    moved = False
    for c in range(f.shape[0]):
        m = price(c, f, y, x)
        if m > 0.0:
            moved |= sop_at(s, m, seen_by(x, np.uintp(c), np.uintp(tau.shape[0])), 1.0 if c == y else -1.0, p)[1]
    return moved


def rest_narow(s, f, y, p, tau, x):
    moved = False
    for c in range(f.shape[0]):
        m = price(c, f, y, x)
        if m > 0.0:
            moved |= narow_at(s, m, seen_by(x, np.uintp(c), np.uintp(tau.shape[0])), 1.0 if c == y else -1.0, p)[1]
    return moved


def rest_iellip(s, f, y, p, tau, x):
    moved = False
    for c in range(f.shape[0]):
        m = price(c, f, y, x)
        if m > 0.0:
            moved |= iellip_at(s, m, seen_by(x, np.uintp(c), np.uintp(tau.shape[0])), 1.0 if c == y else -1.0, p)[1]
    return moved


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


def sop_bound(t: Comparison, p: Any) -> float:
    """Return the bound on the mistakes with two classes: sqrt((a |u|^2 + u'X u) ln det(I + X/a)) + the hinge loss of u.

    X, the sum of x x' over the mistakes or its diagonal, is taken over all rounds, and ln det <= d ln(1 + tr X/(a d)). The proof
    needs only that X grows and that x is in it when it is answered, so it holds for the diagonal too.
    """
    if t.K > 2:
        return math.inf
    reach = t.energy if isinstance(p.covariance, Matrix) else t.scatter
    return math.sqrt((p.a * t.u2 + reach) * t.d * math.log1p(t.length2 / (p.a * t.d))) + t.hinge


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
    bound = Bound("Crammer, Kulesza, Dredze 2009", "updates", arow_bound)


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


class Confident(SecondOrder):
    """Learners that count margins in deviations or variances, and the margins of costs too."""

    counted: ClassVar[Any] = InDeviations

    @classmethod
    def costs(cls, given: Mapping[str, Any], labels: Labels) -> Any:
        """Return how rivals are chosen: by the largest loss in the learner's own unit of margin, or by prediction."""
        found = super().costs(given, labels)
        return cls.counted(found.M) if isinstance(found, MaxLoss) else found


class CW(Confident):
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
    without = ("average", "class_weight")


class CWVar(Confident):
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
    counted = InVariances
    State, Params, step = State, CwParams, cw_var
    without = ("average", "class_weight")


class SCW1(Confident):
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


class SCW2(Confident):
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


class SOP(SecondOrder):
    """Second-order Perceptron: a Perceptron in coordinates whitened by the mistaken examples.

    f = v'(A + x x')^-1 x; on a mistake v += y x and A += x x'. mu = A^-1 v. Each class is learned against the rest.

    Parameters: `a`, the first A is a times the identity; `covariance` "diag" (A_j += x_j^2) or "full". A sample weight c is c y x
    and c x x'. Takes costs: a mistake of cost rho counts as rho examples, rho y x and rho x x'.

    Pitfalls: some toolboxes update A in every round; the paper, and this, only on mistakes.

    Bound with two classes, X the sum of x x' over the mistakes (or its diagonal), any u: mistakes <=
    sqrt((a |u|^2 + u'X u) ln det(I + X/a)) + sum of hinge losses of u.

    Cesa-Bianchi, Conconi, Gentile (2005), *A second-order Perceptron algorithm*, figure 2 and its mistake bound.

    >>> X, y = [[1, 2, 0], [0.5, -1, 1], [-1, 0.5, 2], [2, 1, -1]], [1, -1, 1, -1]
    >>> SOP(fit_intercept=False).fit(X, y).coef_.round(3).tolist()
    [[-0.286, 0.24, 0.5]]
    """

    name = "sop"
    cite = "cesabianchi2005"
    State, Params, step = State, SopParams, sop
    share, score_row = rest_sop, sop_score
    without = ("average", "margin")
    bound = Bound("Cesa-Bianchi, Conconi, Gentile 2005", "mistakes", sop_bound)


class NAROW(SecondOrder):
    """Narrow adaptive regularisation: the covariance stops shrinking along x where x'Sigma x is down to 1/b.

    theta += y x while y f < 1, mu = Sigma theta; Sigma^-1 += x x'/r with 1/r = b - 1/v where v = x'Sigma x > 1/b, else 0;
    f = mu.x/(b v) there, mu.x else. Each class is learned against the rest.

    Parameters: `b` (search 0.1 to 10); `a`, the first variance; `covariance` "diag" or "full". A sample weight c is c y x and c/r.
    Takes costs: a mistake of cost rho has the loss [sqrt(rho) - y f]_+, so theta moves while y f < sqrt(rho).

    Pitfalls: the form in some toolboxes updates the mean as AROW does, and does nothing while v <= 1/b.

    Orabona, Crammer (2010), *New adaptive algorithms for online classification*.

    >>> X, y = [[1, 2, 0], [0.5, -1, 1], [-1, 0.5, 2], [2, 1, -1]], [1, -1, 1, -1]
    >>> NAROW(fit_intercept=False).fit(X, y).coef_.round(3).tolist()
    [[-0.545, 0.485, 0.426]]
    """

    name = "narow"
    cite = "orabona2010"
    State, Params, step = State, NarowParams, narow
    share, score_row = rest_narow, narow_score


class IELLIP(SecondOrder):
    """The improved ellipsoid method: an ellipsoid around the good weights, cut on mistakes.

    On a mistake in round t: mu += (1 - m)/v y Sigma x, then Sigma = (Sigma - c_t Sigma x x'Sigma/v)/(1 - c_t), c_t = c b^(t-1).
    Each class is learned against the rest.

    Parameters: `b` and `c` in (0, 1) (search b from 0.1 to 0.9); `a`, the first variance. Full covariance only, O(d^2). Any sample
    weight above 0 acts like 1. Takes costs: the good weights have margin sqrt(rho) where a mistake costs rho, so sqrt(rho) - m is
    in the place of 1 - m.

    Pitfalls: with a small b the matrix barely adapts, and this is PA on mistakes.

    Yang, Jin, Ye (2009), *Online learning by ellipsoid method*.

    >>> X, y = [[1, 2, 0], [0.5, -1, 1], [-1, 0.5, 2], [2, 1, -1]], [1, -1, 1, -1]
    >>> IELLIP(fit_intercept=False).fit(X, y).coef_.round(3).tolist()
    [[-0.374, 0.326, 0.579]]
    """

    name = "iellip"
    cite = "yang2009"
    State, Params, step = Timed, IellipParams, iellip
    share = rest_iellip
    without = ("average", "class_weight")
