"""Dual averaging: weights computed in each round from the sum of all gradients, with a threshold that does not fade.

Xiao (2010), *Dual averaging methods for regularized stochastic learning and online optimization*; McMahan (2011),
*Follow-the-regularized-leader and mirror descent*, and McMahan et al. (2013), *Ad click prediction: a view from the trenches*;
Duchi, Hazan, Singer (2011), *Adaptive subgradient methods*; Yang, Xu, King, Lyu (2010), *Online learning for group lasso*. t counts
the rounds that are not empty; a round costs O(nnz), as a weight is computed when it is looked at; the constant feature has no
threshold.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..algorithm.bounds import Bound, Comparison
from ..algorithm.params import NonNegative, Positive
from ..algorithm.state import AGE, Own, Slot, made
from ..parts.losses import softmax_slopes, steep
from ..spaces.examples import importance
from ..spaces.groups import Groups, Summed, Tracked, arrange
from ..spaces.sparse import Adapted, AdaptedAverages, Averages, Linear, Proximal, Quadratic, Spared, shrink
from ..spaces.weights import add, dot, null, spread
from ..tasks.classification import Classifier
from ..tasks.regression import Regressor
from ..tasks.sparse_coef import SparseCoef
from .gradient import UNBOUNDED, is_log
from .splitting import PAST, RING, LabelLoss

AXES = ("feature", "class")
ROUNDS = Slot((), dtype=np.float64)  # of an average: not a counter that schedules read, so it is not set back with them
NOW = Slot(("two",), dtype=np.float64)


def sums(axes: tuple[str, ...]) -> Slot:
    """Return sums of gradients. Of two classes the second gets the opposite: zeros stay zeros."""
    return Slot(axes, promote="mirror")


def squares(axes: tuple[str, ...]) -> Slot:
    """Return sums of squared gradients."""
    return Slot(axes, promote="copy", squares=True)


# ---- kinds of weights ------------------------------------------------------------------------------------------------
def averages(p: Any) -> Any:
    """Return the weights of RDA; the constant feature keeps what makes the problem strongly convex."""
    return Spared(
        made(Averages, sums(AXES), ROUNDS, NOW, p.lambda_, p.gamma, p.rho, p.sigma),
        made(Averages, sums(AXES[1:]), ROUNDS, NOW, 0.0, p.gamma, 0.0, p.sigma),
    )


def proximal(p: Any) -> Any:
    """Return the weights of FTRL-proximal."""
    return Spared(
        made(Proximal, Slot(), sums(AXES), squares(AXES), p.alpha, p.beta, p.lambda1, p.lambda2),
        made(Proximal, Slot(AXES[1:]), sums(AXES[1:]), squares(AXES[1:]), p.alpha, p.beta, 0.0, 0.0),
    )


def adapted(p: Any) -> Any:
    """Return the weights of AdaGrad-FOBOS."""
    rule = Quadratic(p.lambda_, p.l2) if p.l2 > 0.0 else Linear(p.lambda_)
    past = Slot(AXES[1:], dtype=np.float64, promote="copy", merge="keep")
    return Spared(
        made(Adapted, Slot(), PAST, squares(AXES), ROUNDS, rule, p.eta, p.delta),
        made(Adapted, Slot(AXES[1:]), past, squares(AXES[1:]), ROUNDS, Linear(0.0), p.eta, p.delta),
    )


def adapted_averages(p: Any) -> Any:
    """Return the weights of AdaGrad-RDA."""
    return Spared(
        made(AdaptedAverages, sums(AXES), squares(AXES), ROUNDS, p.lambda_, p.l2, p.eta, p.delta),
        made(AdaptedAverages, sums(AXES[1:]), squares(AXES[1:]), ROUNDS, 0.0, 0.0, p.eta, p.delta),
    )


def grouped(p: Any) -> Any:
    """Return the weights of the group lasso."""
    rule = Summed() if p.r > 0.0 or p.rho > 0.0 else Tracked()
    lengths, size = Slot(dtype=np.float64, promote="copy", squares=True), Slot(("feature",), 1.0, np.float64, merge="keep")
    return Spared(
        made(Groups, sums(AXES), lengths, RING, RING, size, ROUNDS, NOW, AGE, rule, p.lambda_, p.gamma, p.rho, p.r),
        made(Averages, sums(AXES[1:]), ROUNDS, NOW, 0.0, p.gamma, 0.0, 0.0),
    )


# ---- parameters ------------------------------------------------------------------------------------------------------
class RdaParams(NamedTuple):
    """RDA."""

    loss: LabelLoss = "log"
    lambda_: NonNegative = 1e-4
    gamma: NonNegative = 1.0
    rho: NonNegative = 0.0
    sigma: NonNegative = 0.0

    def weights(self) -> Any:
        """Return the kind of weights."""
        return averages(self)

    def check(self) -> None:
        """Refuse a problem without a curve."""
        refuse_flat(self)


class FtrlParams(NamedTuple):
    """FTRL-proximal."""

    loss: LabelLoss = "log"
    alpha: Positive = 0.1
    beta: NonNegative = 1.0
    lambda1: NonNegative = 1.0
    lambda2: NonNegative = 0.0

    def weights(self) -> Any:
        """Return the kind of weights."""
        return proximal(self)


class AdaFobosParams(NamedTuple):
    """AdaGrad-FOBOS."""

    loss: LabelLoss = "log"
    lambda_: NonNegative = 1e-4
    l2: NonNegative = 0.0
    eta: Positive = 0.1
    delta: NonNegative = 1e-8

    def weights(self) -> Any:
        """Return the kind of weights."""
        return adapted(self)


class AdaRdaParams(NamedTuple):
    """AdaGrad-RDA."""

    loss: LabelLoss = "log"
    lambda_: NonNegative = 1e-4
    l2: NonNegative = 0.0
    eta: Positive = 0.1
    delta: NonNegative = 1.0

    def weights(self) -> Any:
        """Return the kind of weights."""
        return adapted_averages(self)


class GroupParams(NamedTuple):
    """Group lasso."""

    loss: LabelLoss = "log"
    lambda_: NonNegative = 1e-4
    gamma: Positive = 1.0
    rho: NonNegative = 0.0
    r: NonNegative = 0.0

    def weights(self) -> Any:
        """Return the kind of weights."""
        return grouped(self)


class State(NamedTuple):
    """Weights: everything is in their kind."""

    w: Own


def refuse_flat(p: Any) -> None:
    """Refuse gamma = sigma = 0."""
    if p.gamma == 0.0 and p.sigma == 0.0:
        raise ValueError("gamma and sigma are both 0: one of them must be positive, or the weights are not bounded")


# ---- the step --------------------------------------------------------------------------------------------------------
def collect(s, x, y, p):
    """Take in the gradient g x of the loss; then make the weights of the next round."""
    f = dot(s.w, x)
    if null(s.w, x):
        return f, False
    g = importance(x) * steep(p.loss, f, y)
    if g != 0.0:
        add(s.w, -g, x)
    shrink(s.w, 1.0)
    return f, g != 0.0


def collect_softmax(s, f, y, p, tau, x):
    """Do the same with the log loss of many classes, whose gradient moves all of them."""
    if null(s.w, x):
        return False
    softmax_slopes(f, y, tau)
    for c in range(tau.shape[0]):
        tau[c] *= -importance(x)
    spread(s.w, tau, x)
    shrink(s.w, 1.0)
    return True


def rda_bound(t: Comparison, p: Any) -> float:
    """Return (gamma h(u) + G^2/gamma) sqrt(T) and what u pays for its size: slopes of at most 1."""
    if isinstance(p.loss, UNBOUNDED) or p.gamma == 0.0:
        return math.inf
    h = t.u2 / 2.0 + p.rho * t.u_1
    paid = t.T * (p.lambda_ * t.u_1 + p.sigma * t.u2 / 2.0)
    return (p.gamma * h + t.moves * t.R**2 / p.gamma) * math.sqrt(t.T) + paid


# ---- learners --------------------------------------------------------------------------------------------------------
class RDA(SparseCoef, Classifier):
    """Regularised dual averaging: weights from the mean g of all gradients, 0 where it is within lambda of 0.

    w_j = -soft(g_j, lambda + gamma rho/sqrt(t))/(sigma + gamma/sqrt(t)), the minimiser of g.w + lambda |w|_1 + sigma |w|^2/2 +
    (gamma/sqrt(t)) (|w|^2/2 + rho |w|_1). The threshold acts on a mean, so it does not shrink with the step size: far fewer
    non-zeros than FOBOS or truncated gradient at the same error.

    Parameters: `loss`: "log", "hinge", "squared_hinge", "exponential", "perceptron", "square"; `lambda_` >= 0, about 1e-4 to 1e-1;
    `gamma` >= 0, the larger the smaller the steps: about the length of a gradient over that of w; `rho` > 0: the enhanced form,
    with more zeros in early rounds; `sigma` > 0: strongly convex, steps that fall like 1/t, also with gamma = 0. More than two
    classes: the loss of the margin to the best rival; "log" is the softmax loss and moves all classes. A sample weight multiplies
    the gradient, not the regulariser. The constant feature has no threshold. Cost O(nnz) a round.

    Pitfall: lambda is compared with mean gradients: a feature present in one row of a thousand has a mean gradient of at most a
    thousandth of its size, so lambda must be of the size of the rarest features that are to stay.

    Bound on the regret, slopes of at most 1: (gamma (|u|^2/2 + rho |u|_1) + G^2/gamma) sqrt(T) + T (lambda |u|_1 + sigma |u|^2/2).

    Xiao (2010), algorithms 1 and 2, corollary 2.

    >>> X, y = [[1, 2, 0], [0.5, -1, 1], [-1, 0.5, 2]], [1, -1, 1]
    >>> RDA(loss="hinge", lambda_=0.2, gamma=2, fit_intercept=False).fit(X, y).coef_.round(3).tolist()
    [[0.0, 0.837, 0.115]]
    """

    name = "rda"
    cite = "xiao2010"
    State, Params, step = State, RdaParams, collect
    share, shares = collect_softmax, is_log
    bound = Bound("Xiao 2010, corollary 2", "regret", rda_bound)


class RDARegressor(SparseCoef, Regressor, algorithm=RDA):
    """Regularised dual averaging for real targets: weights from the mean of all gradients, 0 where it is within lambda of 0.

    Parameters: `loss`: "square" ((f - y)^2, without 1/2), "absolute", "epsilon_insensitive", "squared_epsilon_insensitive" with
    `epsilon`; the others as in RDA. Pitfall: with the square loss gamma must be large against |x|^2, or the steps overshoot.

    Xiao (2010), algorithms 1 and 2.

    >>> X, y = [[1, 2, 0], [0.5, -1, 1]], [1.0, -0.5]
    >>> RDARegressor(lambda_=0.3, gamma=10, fit_intercept=False).fit(X, y).coef_.round(3).tolist()
    [0.084, 0.271, 0.0]
    """

    name = "rda_regressor"
    overrides = {"loss": "square", "gamma": 5.0}


class FTRL(SparseCoef, Classifier):
    """FTRL-proximal: the zeros of dual averaging with the accuracy of AdaGrad. The usual learner of click probabilities.

    w_j = -soft(z_j, lambda1)/((beta + sqrt(n_j))/alpha + lambda2); n_j sums squared gradients, z_j gradients minus sigma_j w_j,
    where sigma_j is the growth of sqrt(n_j)/alpha. It is the minimiser of all gradients so far plus lambda1 |w|_1 + lambda2 |w|^2/2
    plus proximity to all past weights. With lambda1 = lambda2 = 0 it is AdaGrad with eta = alpha, delta = beta.

    Parameters: `loss` as in RDA; `alpha` > 0, the step size; `beta` >= 0; `lambda1`, `lambda2` >= 0. lambda1 is charged once for
    the whole run, not in every round: compare it with T times the lambda of RDA and FOBOS. More than two classes, sample weights
    and the constant feature as in RDA. Cost O(nnz) a round.

    McMahan et al. (2013), algorithm 1; McMahan (2011), section 2.

    >>> X, y = [[1, 2, 0], [0.5, -1, 1], [-1, 0.5, 2]], [1, -1, 1]
    >>> FTRL(alpha=0.5, lambda1=0.3, lambda2=0.1, fit_intercept=False).fit(X, y).coef_.round(3).tolist()
    [[0.0, 0.335, 0.035]]
    """

    name = "ftrl"
    cite = "mcmahan2013"
    State, Params, step = State, FtrlParams, collect
    share, shares = collect_softmax, is_log


class FTRLRegressor(SparseCoef, Regressor, algorithm=FTRL):
    """FTRL-proximal for real targets: the zeros of dual averaging with the accuracy of AdaGrad.

    Parameters: `loss` and `epsilon` as in RDARegressor, the others as in FTRL.

    McMahan et al. (2013), algorithm 1; McMahan (2011), section 2.

    >>> X, y = [[1, 2, 0], [0.5, -1, 1]], [1.0, -0.5]
    >>> FTRLRegressor(alpha=0.5, lambda1=0.8, fit_intercept=False).fit(X, y).coef_.round(3).tolist()
    [0.154, 0.376, 0.0]
    """

    name = "ftrl_regressor"
    overrides = {"loss": "square"}
    # scikit-learn's check sets every alpha to 0.01, which it takes for a penalty: here it is the step size
    tags: ClassVar[dict[str, dict[str, Any]]] = {"regressor": {"poor_score": True}}


class AdaGradFOBOS(SparseCoef, Classifier):
    """AdaGrad with forward-backward splitting: a step size eta/H_j for each weight, H_j = delta + sqrt(n_j), and shrinkage with it.

    n_j += g_j^2, then w_j = soft(w_j - (eta/H_j) g_j, eta lambda/H_j)/(1 + eta l2/H_j) for all j in every round: rare features keep
    a large step, and a large threshold.

    Parameters: `loss` as in RDA; `lambda_`, `l2` >= 0: |w|_1 and |w|^2/2; `eta` > 0; `delta` >= 0. More than two classes, sample
    weights and the constant feature as in RDA. Cost O(nnz) a round, what acts on other weights being held back.

    Regret against u, D the largest |w_j - u_j|: at most delta |u|^2/(2 eta) + (D^2/(2 eta) + eta) sum_j sqrt(n_j).

    Duchi, Hazan, Singer (2011), figure 1 and theorem 5.

    >>> X, y = [[1, 2, 0], [0.5, -1, 1], [-1, 0.5, 2]], [1, -1, 1]
    >>> AdaGradFOBOS(loss="hinge", lambda_=1.1, eta=0.5, delta=1, fit_intercept=False).fit(X, y).coef_.round(3).tolist()
    [[0.0, 0.043, 0.139]]
    """

    name = "adagrad_fobos"
    cite = "duchi2011"
    State, Params, step = State, AdaFobosParams, collect
    share, shares = collect_softmax, is_log


class AdaGradFOBOSRegressor(SparseCoef, Regressor, algorithm=AdaGradFOBOS):
    """AdaGrad with forward-backward splitting for real targets.

    Parameters: `loss` and `epsilon` as in RDARegressor, the others as in AdaGradFOBOS. Pitfall: steps forget the unit of y, no
    weight moves by more than eta in a round: scale y to about 1, or raise eta.

    Duchi, Hazan, Singer (2011), figure 1 and theorem 5.

    >>> X, y = [[1, 2, 0], [0.5, -1, 1]], [1.0, -0.5]
    >>> AdaGradFOBOSRegressor(eta=0.5, lambda_=0.6, fit_intercept=False).fit(X, y).coef_.round(3).tolist()
    [0.139, 0.413, 0.0]
    """

    name = "adagrad_fobos_regressor"
    overrides = {"loss": "square"}


class AdaGradRDA(SparseCoef, Classifier):
    """AdaGrad with dual averaging: w_j = -(eta t/H_j) soft(g_j, lambda), g the mean gradient, H_j = delta + sqrt(n_j).

    With G = t g and l2: w_j = -eta soft(G_j, lambda t)/(H_j + eta l2 t).

    Parameters: `loss` as in RDA; `lambda_`, `l2` >= 0: |w|_1 and |w|^2/2; `eta` > 0; `delta` >= 0, by theory at least the largest
    gradient. More than two classes, sample weights and the constant feature as in RDA. Cost O(nnz) a round.

    Regret against u, delta at least the largest gradient: at most (delta |u|^2 + sum_j u_j^2 sqrt(n_j))/(2 eta) + eta sum_j
    sqrt(n_j).

    Duchi, Hazan, Singer (2011), figure 1 and theorem 5.

    >>> X, y = [[1, 2, 0], [0.5, -1, 1], [-1, 0.5, 2]], [1, -1, 1]
    >>> AdaGradRDA(loss="hinge", lambda_=0.2, eta=0.5, fit_intercept=False).fit(X, y).coef_.round(3).tolist()
    [[0.0, 0.441, 0.062]]
    """

    name = "adagrad_rda"
    cite = "duchi2011"
    State, Params, step = State, AdaRdaParams, collect
    share, shares = collect_softmax, is_log


class AdaGradRDARegressor(SparseCoef, Regressor, algorithm=AdaGradRDA):
    """AdaGrad with dual averaging for real targets.

    Parameters: `loss` and `epsilon` as in RDARegressor, the others as in AdaGradRDA.

    Duchi, Hazan, Singer (2011), figure 1 and theorem 5.

    >>> X, y = [[1, 2, 0], [0.5, -1, 1]], [1.0, -0.5]
    >>> AdaGradRDARegressor(eta=0.5, lambda_=0.3, fit_intercept=False).fit(X, y).coef_.round(3).tolist()
    [0.187, 0.391, 0.0]
    """

    name = "adagrad_rda_regressor"
    overrides = {"loss": "square"}


class GroupLasso(SparseCoef, Classifier):
    """Online group lasso: dual averaging in which the weights of a group of features vanish together.

    With v = soft(g, lambda r + gamma rho/sqrt(t)), g the mean gradient: w_G = -(sqrt(t)/gamma) [1 - lambda sqrt(d_G)/|v_G|]_+ v_G
    for each group G of d_G features. r = rho = 0 is the group lasso; r > 0 the sparse group lasso, with zeros inside groups too;
    rho > 0 the enhanced form, with more zeros in early rounds.

    Parameters: `groups`: a group for each column (numbers or names, None for none); a list of groups, each a list of columns; a
    dict of groups by feature name; or "prefix:_", the part of a name before the first "_". Features without a group are groups
    of one; without `groups` this is RDA. `loss`, `lambda_`, `gamma`, `rho` as in RDA; `r` >= 0. More than two classes: a group for
    each class, and the rest as in RDA.

    Cost O(nnz) a round; with r or rho the features of the groups touched. Pitfalls: groups do not overlap; with "prefix:_" d_G
    counts the names met so far.

    Yang, Xu, King, Lyu (2010), algorithm 1 and theorem 1.

    >>> X, y = [[1, 2, 0, 0.1], [0.5, -1, 1, 0], [-1, 0.5, 2, 0.1]], [1, -1, 1]
    >>> GroupLasso(groups=["a", "a", "b", "b"], lambda_=0.2, gamma=2, fit_intercept=False).fit(X, y).coef_.round(3).tolist()
    [[-0.027, 0.238, 0.0, 0.0]]
    """

    name = "group_lasso"
    cite = "yang2010"
    State, Params, step, arrange = State, GroupParams, collect, arrange
    share, shares = collect_softmax, is_log
    options: ClassVar[dict[str, Any]] = {"groups": None, **Classifier.options}


class GroupLassoRegressor(SparseCoef, Regressor, algorithm=GroupLasso):
    """Online group lasso for real targets: dual averaging in which the weights of a group of features vanish together.

    Parameters: `loss` and `epsilon` as in RDARegressor, the others as in GroupLasso.

    Yang, Xu, King, Lyu (2010), algorithm 1 and theorem 1.

    >>> X, y = [[1, 2, 0, 0.1], [0.5, -1, 1, 0]], [1.0, -0.5]
    >>> m = GroupLassoRegressor(groups=["a", "a", "b", "b"], lambda_=0.2, gamma=10, fit_intercept=False)
    >>> m.fit(X, y).coef_.round(3).tolist()
    [0.111, 0.277, 0.0, 0.0]
    """

    name = "group_lasso_regressor"
    overrides = {"loss": "square", "gamma": 5.0}
    options: ClassVar[dict[str, Any]] = {"groups": None, **Regressor.options}
