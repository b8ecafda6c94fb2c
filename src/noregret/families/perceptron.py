"""Perceptrons: general, shifting, averaged, voted; and the three ways to share a multiclass mistake.

Rosenblatt (1958); Novikoff (1962); Freund, Schapire (1999); Crammer, Singer (2003); Cavallanti, Cesa-Bianchi, Gentile (2007).
"""

from __future__ import annotations

import math
from typing import Annotated, Any, NamedTuple

import numpy as np

from ..algorithm.bounds import Bound, Comparison
from ..algorithm.params import Choice, NonNegative, Positive, Share
from ..algorithm.state import Count, Mean, Scalable, Vote
from ..engine.words import word
from ..spaces.examples import importance
from ..spaces.expansion import Expansion
from ..spaces.weights import add, dot, norm2, null, scale, spread
from ..tasks.classification import Classifier


# ---- how a mistake is shared among the classes that beat the true one (B.7) --------------------------------------------
class Max(NamedTuple):
    """All to the best rival: an ordinary Pair."""


class Uniform(NamedTuple):
    """The same to each."""


class Proportional(NamedTuple):
    """By how far each is ahead."""


@word
def claim(update, excess):
    """Return the claim of a rival that is ahead by `excess` >= 0."""


@claim.on(Uniform)
def claim_uniform(update, excess):
    return 1.0


@claim.on(Proportional)
def claim_proportional(update, excess):
    return excess


def share(s, f, y, p, tau, x):
    """Do w_y += x, and take x from the classes not below y, by their claims."""
    total, rivals = 0.0, 0.0
    for c in range(f.shape[0]):
        if c != y and f[c] >= f[y]:
            rivals += 1.0
            total += claim(p.update, f[c] - f[y])
    if rivals == 0.0 or null(s.w, x):
        return False
    step = p.alpha * importance(x)
    for c in range(f.shape[0]):
        if c != y and f[c] >= f[y]:
            tau[c] = -step * (claim(p.update, f[c] - f[y]) / total if total > 0.0 else 1.0 / rivals)
    tau[y] = step
    spread(s.w, tau, x)
    return True


# ---- step lengths (B.2) ------------------------------------------------------------------------------------------------
class Fixed(NamedTuple):
    """alpha."""

    steady = True  # restarting changes nothing


class PerRound(NamedTuple):
    """alpha / t, t = all rounds."""


class PerRootRound(NamedTuple):
    """alpha / sqrt(t)."""


class PerUpdate(NamedTuple):
    """alpha / (updates so far, this one included)."""


class LineSearch(NamedTuple):
    """What brings the margin to beta exactly."""


@word
def length(schedule, p, t, k, m, w, x):
    """Return the step of round t, update k, at margin m."""


@length.on(Fixed)
def length_fixed(schedule, p, t, k, m, w, x):
    return p.alpha


@length.on(PerRound)
def length_per_round(schedule, p, t, k, m, w, x):
    return p.alpha / t


@length.on(PerRootRound)
def length_per_root_round(schedule, p, t, k, m, w, x):
    return p.alpha / math.sqrt(t)


@length.on(PerUpdate)
def length_per_update(schedule, p, t, k, m, w, x):
    return p.alpha / k


@length.on(LineSearch)
def length_line_search(schedule, p, t, k, m, w, x):
    return max(0.0, p.beta - p.gamma * m) / norm2(w, x)


Update = Annotated[Any, Choice({"max": Max, "uniform": Uniform, "proportional": Proportional})]
Schedule = Annotated[
    Any,
    Choice(
        {
            "constant": Fixed,
            "inv_t": PerRound,
            "inv_sqrt": PerRootRound,
            "inv_updates": PerUpdate,
            "line_search": LineSearch,
        }
    ),
]


class Params(NamedTuple):
    """The general Perceptron."""

    beta: NonNegative = 0.0
    gamma: Share = 1.0
    alpha: Positive = 1.0
    schedule: Schedule = "constant"
    update: Update = "max"


class State(NamedTuple):
    """Weights, rounds, updates."""

    w: Scalable
    t: Count
    k: Count


class Averaging(NamedTuple):
    """The same, answering with the mean."""

    w: Mean
    t: Count
    k: Count


class Voting(NamedTuple):
    """The same, answering by vote."""

    w: Vote
    t: Count
    k: Count


def step(s, x, y, p):
    """Do w = gamma w + alpha y x when the margin is not above beta."""
    s.t[0] += 1
    f = dot(s.w, x)
    if y * f <= p.beta and not null(s.w, x):
        s.k[0] += 1
        a = length(p.schedule, p, s.t[0], s.k[0], y * f, s.w, x)
        if p.gamma != 1.0:
            scale(s.w, p.gamma)
        add(s.w, importance(x) * a * y, x)
        return f, True
    return f, False


def shares_mistakes(p):
    """Return whether a multiclass mistake is shared."""
    return not isinstance(p.update, Max)


def hinge_bound(t: Comparison, p: Any) -> float:
    """Return L + R|u| sqrt(L) + R^2 |u|^2 for the plain Perceptron: Novikoff's (R/gamma)^2 when L = 0."""
    if p.beta != 0.0 or p.gamma != 1.0 or not isinstance(p.schedule, Fixed):
        return math.inf
    R, u = math.sqrt(t.moves) * t.R, math.sqrt(t.u2)
    return t.hinge + R * u * math.sqrt(t.hinge) + R * R * t.u2


PERCEPTRON_BOUND = Bound(
    "Novikoff 1962; with hinge loss, Shalev-Shwartz 2012",
    "mistakes",
    hinge_bound,
    "it needs beta = 0, gamma = 1 and a constant step",
)


class Perceptron(Classifier):
    """The Perceptron in its general form: w = gamma w + alpha y x whenever y f <= beta.

    Parameters: `beta` >= 0, the margin below which a round is a mistake (beta > 0: margin Perceptron); `gamma` in (0, 1], decay of
    w on an update; `alpha` > 0, the step; `schedule`: "constant", "inv_t", "inv_sqrt" (of all rounds), "inv_updates" or
    "line_search" (margin exactly beta after the update; needs beta > 0 to leave w = 0); `update`, with more than two classes:
    "max" takes x from the best rival, "uniform" from all classes not below the true one, "proportional" by how far they are
    ahead (beta, gamma and schedule apply to "max" only). A sample weight multiplies the step.

    Pitfalls: never settles on data that are not separable; depends on the order of the rows; the test is y f <= beta, not <, or
    nothing would ever be learned from w = 0. `fit(..., until="separated")` repeats epochs until one makes no update.

    Bound (beta = 0, gamma = 1), for any u with hinge losses summing to L: mistakes <= L + R|u| sqrt(L) + R^2 |u|^2, which is
    Novikoff's (R/margin)^2 when u separates; 2R^2 for R^2 with more than two classes.

    Rosenblatt (1958); Novikoff (1962); Crammer, Singer (2003) for `update`.

    >>> m = Perceptron(fit_intercept=False).fit([[4, 0], [1, 1], [0, 1], [-2, -2]], [1, -1, -1, 1], until="separated")
    >>> m.coef_.tolist(), m.n_updates_, m.n_epochs_
    ([[1.0, -3.0]], 3, 2)
    """

    name = "perceptron"
    cite = "rosenblatt1958"
    State, Params, step = State, Params, step
    share, shares = share, shares_mistakes
    bound = PERCEPTRON_BOUND


class Plain(NamedTuple):
    """The plain Perceptron under the averaged and voted ones."""

    beta: NonNegative = 0.0
    gamma: Share = 1.0
    alpha: Positive = 1.0
    schedule: Schedule = "constant"


class AveragedPerceptron(Classifier):
    """The Perceptron, predicting with the mean of all its weight vectors. Usually the best first-order baseline.

    Learns as `Perceptron` does (same parameters but `update`); the answer, and so the mistakes counted, is by the mean of
    w_1 ... w_{T+1}, kept in O(nnz) by Daume's trick. `average=True` does the same for other learners.

    Freund, Schapire (1999); Collins (2002).

    >>> X, y = [[1, 2, 0], [0.5, -1, 1], [-1, 0.5, 2], [2, 1, -1], [0, 1, 0.5]], [1, -1, 1, -1, 1]
    >>> AveragedPerceptron(fit_intercept=False).fit(X, y).coef_.round(3).tolist()
    [[-0.333, 1.583, 1.333]]
    """

    name = "averaged_perceptron"
    cite = "freund1999"
    State, Params, step = Averaging, Plain, step
    bound = PERCEPTRON_BOUND._replace(measures="updates")


class VotedPerceptron(Classifier):
    """The Perceptron, predicting by the vote of all its weight vectors, each with as many votes as rounds it survived.

    Learns as `Perceptron` does (same parameters but `update`). The vectors are kept as the rows that made them: memory, and the
    time of a prediction, grow with the number of updates. The score is the sum of the votes; with more than two classes, the
    votes of each. `votes_` are those of each vector, oldest first.

    With a kernel the j-th vector is the sum over the first j support vectors, so that all of them vote in one walk. `budget` may be
    Stop, after which the last vector has the vote of every round; others would change the past. AveragedPerceptron takes any.

    Bound, for i.i.d. rows: expected error <= 2/(T+1) E[inf ((R + D)/margin)^2] (theorem 1). No merge: votes are a history.

    Freund, Schapire (1999), figure 1.

    >>> X, y = [[1, 2, 0], [0.5, -1, 1], [-1, 0.5, 2], [2, 1, -1], [0, 1, 0.5]], [1, -1, 1, -1, 1]
    >>> VotedPerceptron(fit_intercept=False).fit(X, y).decision_function([[1, -1, 0.5]]).tolist()
    [-5.0]
    """

    name = "voted_perceptron"
    cite = "freund1999"
    State, Params, step = Voting, Plain, step
    bound = PERCEPTRON_BOUND._replace(measures="updates")
    merges = "none"
    grows = True

    @property
    def votes_(self) -> np.ndarray:
        """Votes of the vectors, oldest first: the rounds for which each was the one learned with."""
        w = self.model.state.w
        votes = w.past.votes if isinstance(w, Expansion) else w.votes
        return np.array(votes[: int(w.size[0])])


class ShiftParams(NamedTuple):
    """The shifting Perceptron."""

    lambda_: Positive = 2.0


class Shifting(NamedTuple):
    """Weights, mistakes."""

    w: Scalable
    k: Count


def shifting(s, x, y, p):
    """Do w = (1 - lambda_k) w + lambda_k y x on a mistake, lambda_k = lambda/(lambda + k)."""
    f = dot(s.w, x)
    if y * f <= 0.0 and not null(s.w, x):
        rate = p.lambda_ / (p.lambda_ + s.k[0])
        if s.k[0] > 0:  # the first mistake finds w = 0
            scale(s.w, 1.0 - rate)
        add(s.w, importance(x) * rate * y, x)
        s.k[0] += 1
        return f, True
    return f, False


class ShiftingPerceptron(Classifier):
    """A Perceptron that forgets polynomially, for targets that drift.

    On mistake k = 0, 1, ...: w = (1 - lambda_k) w + lambda_k y x, lambda_k = lambda/(lambda + k). A sample weight multiplies the
    addition.

    Parameters: `lambda_` > 0; 1 gives exactly the predictions of the Perceptron, larger is a shorter memory (1 to 10).

    Pitfall: k counts mistakes, not rounds. scikit-learn's tag: poor_score, because it forgets by design. The paper bounds the
    mistakes against the best *sequence* of vectors.

    Cavallanti, Cesa-Bianchi, Gentile (2007), *Tracking the best hyperplane with a simple budget Perceptron*.

    >>> X, y = [[1, 2, 0], [0.5, -1, 1], [-1, 0.5, 2]], [1, -1, 1]
    >>> ShiftingPerceptron(lambda_=2, fit_intercept=False).fit(X, y).coef_.round(3).tolist()
    [[-0.333, 1.0, 1.333]]
    """

    name = "shifting_perceptron"
    tags = {"classifier": {"poor_score": True}}
    cite = "cavallanti2007"
    State, Params, step = Shifting, ShiftParams, shifting
