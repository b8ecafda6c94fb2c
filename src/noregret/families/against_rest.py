"""Second-order learners that learn each class against the rest: SOP, NAROW, IELLIP. The others are in `confidence`.

With costs, a false alarm of class r on a row of class y costs rho(y, r), and a miss rho(y, q), q the best rival of those that cost
anything: what the mistake would come to. A cost of 0 teaches nothing.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, NamedTuple

import numpy as np

from ..algorithm.bounds import Bound, Comparison
from ..algorithm.params import Choice, Derived, Fraction, Positive
from ..algorithm.rounds import Priced, price
from ..algorithm.state import Covariance, PerClass, Weights
from ..engine.elementary import power
from ..engine.words import word
from ..learners.natural_coordinates import gaussians
from ..spaces.covariance import absorb, gather, included, inflate, least, margin
from ..spaces.examples import Block, Weighted, importance
from ..tasks.second_order import SecondOrder
from .confidence_weighted import Matrix, State, Storage

FullOnly = Annotated[Any, Choice({"full": Matrix})]
Reciprocal = Annotated[float, Derived(lambda given: 1.0 / given["a"])]


class Timed(NamedTuple):
    """Mean, covariance and rounds."""

    mu: Weights
    Sigma: Covariance
    t: PerClass

    fuse = gaussians


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


# ---- steps -----------------------------------------------------------------------------------------------------------
@word
def seen_by(x, c, K):
    """Return the example as class c of K sees it."""


@seen_by.on(object)
def seen_by_any(x, c, K):
    return Block(x, c, K)


@seen_by.on(Priced)
def seen_by_priced(x, c, K):
    return Block(x.x, c, K)


@seen_by.on(Weighted)
def seen_by_weighted(x, c, K):
    return Weighted(seen_by(x.x, c, K), x.c)


@word
def own(x):
    """Return the class that an example is seen by."""


@own.on(object)
def own_any(x):
    return 0


@own.on(Block)
def own_block(x):
    return x.c


@own.on(Weighted)
def own_weighted(x):
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
    c = p.c * power(p.b, s.t[own(x)])
    s.t[own(x)] += 1.0
    if y * f <= 0.0 and v > least(s.Sigma, x):
        absorb(s.mu, s.Sigma, (m - y * f) / v * y, 0.0, c / v, x)
        inflate(s.Sigma, 1.0 / (1.0 - c), x)
        return f, True
    return f, False


def against_rest(step_at):
    """Return the round in which every class learns to tell its rows from the rest."""

    def share(s, f, y, p, tau, x):
        moved = False
        for c in range(f.shape[0]):
            m = price(c, f, y, x)
            if m > 0.0:
                moved |= step_at(s, m, seen_by(x, np.uintp(c), np.uintp(tau.shape[0])), 1.0 if c == y else -1.0, p)[1]
        return moved

    return share


# ---- a theorem -------------------------------------------------------------------------------------------------------
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
    takes_cost = True
    share, score_row = against_rest(sop_at), sop_score
    without = ("average", "margin")
    bound = Bound("Cesa-Bianchi, Conconi, Gentile 2005", "mistakes", sop_bound, "it needs two classes")


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
    takes_cost = True
    share, score_row = against_rest(narow_at), narow_score


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
    takes_cost = True
    share = against_rest(iellip_at)
    without = ("average", "class_weight")
