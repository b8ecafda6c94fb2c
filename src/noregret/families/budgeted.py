"""Perceptrons and passive-aggressive learners on a budget of support vectors: one step, one rule for what to give up.

Each is a step of another family with a kernel and a budget, under the name of its paper. Any first-order learner takes any kernel
and any budget: `nr.PA1(kernel=nr.RBF(), budget=nr.RemoveOldest(100))`.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, NamedTuple

from ..algorithm.params import Fixed, NonNegative, Positive, Range, Share
from ..algorithm.state import Count, Scalable, Weights
from ..engine.words import word
from ..parts.budgets import (
    Projection,
    ProjectRemoved,
    RemoveOldest,
    RemoveRandom,
    RemoveRedundant,
    Replace,
    ReplaceNearest,
    Shrink,
    Stop,
)
from ..spaces.examples import Pair, Weighted, importance
from ..spaces.expansion import aim
from ..spaces.gram import project_row, residual
from ..spaces.weights import add, dot, norm2, null
from ..tasks.classification import Classifier
from .passive_aggressive import Capped, Margin
from .passive_aggressive import step as stay
from .perceptron import Schedule, Update, share, shares_mistakes
from .perceptron import step as err

Budget = Annotated[float, Range(1.0, math.inf, "[)")]
Limit = Annotated[Any, Range(1.0, math.inf, "[)"), None]  # None: as many as come; a kernel sees 0
Factor = Annotated[Any, Range(0.0, 1.0, "(]"), None]
LEAST_B = 84  # of the Forgetron's theorem
RADIAL: dict[str, Any] = {"kernel": "rbf", "fit_intercept": False}


class PerceptronParams(NamedTuple):
    """A Perceptron on a budget."""

    B: Budget = 100
    beta: NonNegative = 0.0
    gamma: Share = 1.0
    alpha: Positive = 1.0
    schedule: Schedule = "constant"
    update: Update = "max"


class ForgetronParams(NamedTuple):
    """The Forgetron."""

    B: Budget = 100
    phi: Factor = None
    beta: NonNegative = 0.0
    gamma: Share = 1.0
    alpha: Positive = 1.0
    schedule: Schedule = "constant"
    update: Update = "max"


class ProjectronParams(NamedTuple):
    """The Projectron."""

    eta: NonNegative = 0.1
    B: Limit = None
    beta: NonNegative = 0.0
    gamma: Share = 1.0
    alpha: Positive = 1.0
    schedule: Schedule = "constant"
    update: Update = "max"


class ProjectronPPParams(NamedTuple):
    """Projectron++."""

    eta: NonNegative = 0.1
    B: Limit = None


class BPAParams(NamedTuple):
    """Budgeted PA-I."""

    slack: Annotated[Any, Fixed(Capped)]
    loss: Margin
    B: Budget = 100


class State(NamedTuple):
    """Weights, rounds, updates."""

    w: Scalable
    t: Count
    k: Count


class Weighing(NamedTuple):
    """Weights."""

    w: Weights


class OnBudget(Classifier):
    """What they have in common: a kernel, always."""

    by_kernel = True
    merges = "none"
    overrides = RADIAL


class Stoptron(OnBudget):
    """The kernel Perceptron that adds nothing once it has B support vectors. A baseline: it keeps predicting.

    Parameters: `kernel`, a part such as RBF(gamma), its name, or a function of two objects; `B`, the support vectors kept; the
    others as in Perceptron.

    Baseline of Orabona, Keshet, Caputo (2008), section 5.

    >>> X, y = [[0, 0], [1, 0], [0, 1], [1, 1], [2, 0]], [1, -1, 1, -1, 1]
    >>> Stoptron(B=2, kernel="rbf(0.5)").fit(X, y).dual_coef_.tolist()
    [[1.0, -1.0]]
    """

    name = "stoptron"
    cite = "orabona2008"
    State, Params, step, share, shares = State, PerceptronParams, err, share, shares_mistakes
    policy = lambda p, given: Stop(p.B)  # noqa: E731


class RBP(OnBudget):
    """The randomized budget Perceptron: over budget, one of the old support vectors goes, each with the same chance.

    Parameters: `kernel`; `B`, the support vectors kept; `seed` of the draws, whose generator is part of the state, so that any
    split into calls gives the same; the others as in Perceptron.

    In expectation it competes with sequences of comparators of norm up to the order of sqrt(B), the best possible.

    Cavallanti, Cesa-Bianchi, Gentile (2007), figure 2.

    >>> X, y = [[0, 0], [1, 0], [0, 1], [1, 1], [2, 0]], [1, -1, 1, -1, 1]
    >>> RBP(B=2, kernel="rbf(0.5)").fit(X, y).n_support_
    2
    """

    name = "rbp"
    cite = "cavallanti2007"
    State, Params, step, share, shares = State, PerceptronParams, err, share, shares_mistakes
    policy = lambda p, given: RemoveRandom(p.B, seed=given["seed"])  # noqa: E731


class LeastRecent(OnBudget):
    """The least recent budget Perceptron: over budget, the oldest support vector goes. It learns from the last B mistakes.

    Parameters: `kernel`; `B`, the support vectors kept; the others as in Perceptron.

    Cavallanti, Cesa-Bianchi, Gentile (2007), section 5.

    >>> X, y = [[0, 0], [1, 0], [0, 1], [1, 1], [2, 0]], [1, -1, 1, -1, 1]
    >>> LeastRecent(B=2, kernel="rbf(0.5)").fit(X, y).support_vectors_.tolist()
    [[1.0, 0.0], [2.0, 0.0]]
    """

    name = "least_recent"
    cite = "cavallanti2007"
    State, Params, step, share, shares = State, PerceptronParams, err, share, shares_mistakes
    policy = lambda p, given: RemoveOldest(p.B)  # noqa: E731


class FixedBudget(OnBudget):
    """The budget-conscious Perceptron: over budget, the most redundant support vector goes.

    That is the one with the largest margin without its own contribution, y_i (f(x_i) - alpha_i k(x_i, x_i)); it may be the new one.

    Parameters: `kernel`; `B`, the support vectors kept; `beta` >= 0, the margin below which a round is a mistake; the others as in
    Perceptron. Pitfall: on noisy labels what is kept is the noise.

    Crammer, Kandola, Singer (2003), figure 3.

    >>> X, y = [[0, 0], [1, 0], [0, 1], [1, 1], [2, 0]], [1, -1, 1, -1, 1]
    >>> FixedBudget(B=2, beta=0.25, kernel="rbf(0.5)").fit(X, y).support_vectors_.tolist()
    [[1.0, 0.0], [2.0, 0.0]]
    """

    name = "fixed_budget"
    cite = "crammer2003budget"
    State, Params, step, share, shares = State, PerceptronParams, err, share, shares_mistakes
    policy = lambda p, given: RemoveRedundant(p.B)  # noqa: E731


def forgetron_radius(B: float) -> float:
    """Return the norm up to which the Forgetron competes with any function: sqrt((B+1)/ln(B+1))/4."""
    return 0.25 * math.sqrt((B + 1.0) / math.log(B + 1.0))


def forgetron_bound(B: float, u2: float, hinge: float, k: float = 1.0) -> float:
    """Return the most mistakes of a self-tuned Forgetron on two classes, given a comparator u in the space of the kernel.

    u2 is |u|^2, hinge the sum of max(0, 1 - y u(x)) over all rounds, k the largest k(x, x). Infinite where nothing is proved. It
    is for the other parameters at their defaults.

    Dekel, Shalev-Shwartz, Singer (2008), section 5.

    >>> forgetron_bound(100, u2=1.0, hinge=2.5)
    12.0
    """
    return 2.0 * u2 + 4.0 * hinge if B >= LEAST_B and k <= 1.0 and math.sqrt(u2) <= forgetron_radius(B) else math.inf


class Forgetron(OnBudget):
    """The Forgetron: over budget, all coefficients shrink, so that the oldest support vector is small when it goes.

    Self-tuned, the factor is the largest in (0, 1] for which the damage of all removals stays within 15/32 of the mistakes.

    Parameters: `kernel`, with k(x, x) <= 1 for the bound; `B`, the support vectors kept; `phi` in (0, 1] for a fixed factor, None
    for the self-tuned one; the others as in Perceptron. Pitfall: shrinking all but the new vector circulates; it has no bound.

    Bound (B >= 84, two classes), for any g with |g| <= sqrt((B+1)/ln(B+1))/4: mistakes <= 2|g|^2 + 4 sum of its hinge losses;
    see `forgetron_bound`.

    Dekel, Shalev-Shwartz, Singer (2008), section 5.

    >>> X, y = [[0, 0], [1, 0], [0, 1], [1, 1], [2, 0]], [1, -1, 1, -1, 1]
    >>> Forgetron(B=2, kernel="rbf(0.5)").fit(X, y).dual_coef_.round(6).tolist()
    [[-0.717973, 0.717973]]
    """

    name = "forgetron"
    cite = "dekel2008"
    State, Params, step, share, shares = State, ForgetronParams, err, share, shares_mistakes
    policy = lambda p, given: Shrink(p.B, phi=p.phi or None)  # noqa: E731


def projectron_bound(eta: float, u2: float, hinge: float, k: float = 1.0) -> float:
    """Return the most mistakes of a Projectron without B on two classes; the figures are those of `forgetron_bound`.

    Orabona, Keshet, Caputo (2009).

    >>> projectron_bound(0.125, u2=4.0, hinge=3.0)
    20.0
    """
    share = 1.0 - 2.0 * eta * math.sqrt(u2)
    return (u2 + 2.0 * hinge) / share if share > 0.0 and k <= 1.0 else math.inf


class Projectron(OnBudget):
    """The Projectron: a mistake within eta of the span of the support vectors is put on them; others are added.

    Parameters: `kernel`; `eta` >= 0, 0 is the kernel Perceptron; `B`, None for as many as come (finitely many for eta > 0 on a
    bounded domain), or the number beyond which every mistake is projected; the others as in Perceptron. O(n^2) time on a mistake
    and O(n^2) memory, n the number of support vectors. Pitfall: a toolbox compares the squared distance with its parameter.

    Bound (k(x, x) <= 1, eta < 1/(2|u|), two classes): mistakes <= (|u|^2 + 2 sum of its hinge losses)/(1 - 2 eta |u|);
    see `projectron_bound`.

    Orabona, Keshet, Caputo (2009), figure 1.

    >>> X, y = [[0, 0], [1, 0], [0, 1], [1, 1], [2, 0], [0.5, 0.5]], [1, -1, 1, -1, 1, -1]
    >>> Projectron(eta=0.7, kernel="rbf(0.5)").fit(X, y).dual_coef_.round(4).tolist()
    [[0.5645, -1.5958, 1.1338]]
    """

    name = "projectron"
    cite = "orabona2009"
    State, Params, step, share, shares = State, ProjectronParams, err, share, shares_mistakes
    policy = lambda p, given: Projection(p.eta, p.B or math.inf)  # noqa: E731
    grows = True


@word
def copies(x):
    """Return how many classes a step on the example moves by its whole length."""


@copies.on(object)
def copies_any(x):
    return 1.0


@copies.on(Pair)
def copies_pair(x):
    return 2.0


@copies.on(Weighted)
def copies_weighted(x):
    return copies(x.x)


def project_margins(s, x, y, p):
    """Do as the Projectron on a mistake; move within the span when the margin is short and the loss is more than what is lost."""
    f = dot(s.w, x)
    if null(s.w, x) or y * f >= 1.0:
        return f, False
    if y * f <= 0.0:
        add(s.w, importance(x) * y, x)
        return f, True
    k = norm2(s.w, x) / copies(x)
    delta2 = residual(s.w, k)
    loss, inside, outside = 1.0 - y * f, copies(x) * (k - delta2), math.sqrt(copies(x) * delta2)
    if p.eta == 0.0 or loss * p.eta <= outside or inside <= 0.0:
        return f, False
    aim(s.w, y * min(loss / inside, 2.0 * (loss - outside / p.eta) / inside, importance(x)), x)
    project_row(s.w, k, delta2)
    return f, True


class ProjectronPP(OnBudget):
    """Projectron++: the Projectron, which also moves within the span of its support vectors when a margin is below 1.

    With l = 1 - y f in (0, 1), P x the projection and delta the distance: when l > delta/eta, the coefficients grow by
    y min(l/|Px|^2, 2(l - delta/eta)/|Px|^2, 1) d. It never adds a support vector for a margin.

    Parameters: `kernel`; `eta` >= 0; `B` as in Projectron. A sample weight multiplies the step of a mistake and the cap 1.

    Orabona, Keshet, Caputo (2009), figure 2.

    >>> X, y = [[0, 0], [1, 0], [0.2, 0]], [1, -1, 1]
    >>> ProjectronPP(eta=0.7, kernel="rbf(0.5)").fit(X, y).dual_coef_.round(6).tolist()
    [[1.644573, -0.842813]]
    """

    name = "projectron_pp"
    cite = "orabona2009"
    State, Params, step = Weighing, ProjectronPPParams, project_margins
    policy = lambda p, given: Projection(p.eta, p.B or math.inf)  # noqa: E731
    grows = True


class BPAS(OnBudget):
    """Budgeted PA-I, simple: over budget, the old support vector that loses least when it is put on the new one.

    The step is PA-I's, and the margin it reaches is kept: r = argmin alpha_r^2 (k_rr - k_rt^2/k_tt), and the new coefficient grows
    by alpha_r k_rt/k_tt. O(B) kernel values a round.

    Parameters: `kernel`; `C` > 0 as in PA1; `B`, the support vectors kept. A sample weight multiplies C.

    Wang, Vucetic (2010), section 4.

    >>> X, y = [[0, 0], [1, 0], [0, 1], [1, 1]], [1, -1, 1, -1]
    >>> BPAS(C=0.9, B=3, kernel="rbf(0.5)").fit(X, y).dual_coef_.round(6).tolist()
    [[0.9, -0.9, -0.423744]]
    """

    name = "bpa_s"
    cite = "wang2010"
    State, Params, step = Weighing, BPAParams, stay
    takes_cost = True
    policy = lambda p, given: Replace(p.B)  # noqa: E731


class BPANN(OnBudget):
    """Budgeted PA-I, nearest neighbour: what goes is put on the new support vector and on its own nearest neighbour.

    Neighbours are remembered, so that a round takes O(B) kernel values as a rule.

    Parameters: `kernel`; `C` > 0 as in PA1; `B`, the support vectors kept. A sample weight multiplies C.

    Wang, Vucetic (2010), section 4.

    >>> X, y = [[0, 0], [1, 0], [0, 1], [1, 1]], [1, -1, 1, -1]
    >>> BPANN(C=0.9, B=3, kernel="rbf(0.5)").fit(X, y).dual_coef_.round(6).tolist()
    [[1.248171, -0.9, -0.551829]]
    """

    name = "bpa_nn"
    cite = "wang2010"
    State, Params, step = Weighing, BPAParams, stay
    takes_cost = True
    policy = lambda p, given: ReplaceNearest(p.B)  # noqa: E731


class BPAP(OnBudget):
    """Budgeted PA-I, projecting: what goes is projected on all the others. The best of the three, at O(B^2) an update.

    Parameters: `kernel`; `C` > 0 as in PA1; `B`, the support vectors kept. A sample weight multiplies C.

    Wang, Vucetic (2010), section 4.

    >>> X, y = [[0, 0], [1, 0], [0, 1], [1, 1]], [1, -1, 1, -1]
    >>> BPAP(C=0.9, B=3, kernel="rbf(0.5)").fit(X, y).dual_coef_.round(6).tolist()
    [[1.376256, -1.188864, -0.423744]]
    """

    name = "bpa_p"
    cite = "wang2010"
    State, Params, step = Weighing, BPAParams, stay
    takes_cost = True
    policy = lambda p, given: ProjectRemoved(p.B)  # noqa: E731
