"""Weights with zeros: each is a number computed, when asked for, from what its cell has seen and a few numbers common to all.

So a regulariser that acts on every weight in every round costs O(nnz) a round. Pending holds back the shrinkage of cells that are
not touched, Adapted the same with a step size for each cell; Averages and AdaptedAverages make weights of sums of gradients,
Proximal of sums about past weights. A kind says what a weight is (`weight`) and how a cell takes in a step (`take`); `by_cell`
derives the other words from these two. Spared keeps the weight of the constant feature apart: no regulariser acts on it.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray

from ..engine.elementary import exp, expm1, log1p, over
from ..engine.words import rare, strict, word
from .examples import Biased, Block, Of, Pair, Unit, Whole, cell, item, nnz
from .weights import Normed, Scaled, add, dot, scale, scores, sqnorm

LONG = 1e3  # shrinkage that adds up to more than this is put into the weights, as differences of large sums lose digits
FIRST = np.uintp(0)


# ---- the words -------------------------------------------------------------------------------------------------------
@word
def weight(w, i):
    """Return the weight of cell i now; nothing changes."""


@word
def take(w, i, a):
    """Take the step a into cell i: its weight moves in the direction of a."""


@word
def shrink(w, a):
    """Let the regulariser act once on all weights, with strength a, and count the round."""


@word
def shrunk(rule, v, a):
    """Return a weight v that shrinkage of strength a has acted on."""


@word
def worn(rule, v, r, k):
    """Return a weight v that the regulariser has acted on in k rounds, each with step size r."""


def soft(z, a):
    """Return sign(z) max(0, |z| - a)."""
    return math.copysign(max(0.0, abs(z) - a), z)


def softened(z: ndarray, a: Any) -> ndarray:
    """Return soft(z, a) of arrays."""
    found: ndarray = np.maximum(z - a, 0.0) + np.minimum(z + a, 0.0)
    return found


# ---- dot, add and scores of kinds that work by cell ------------------------------------------------------------------
def walk_weight(w, x, o):
    """Return sum_j w_j x_j."""
    f = 0.0
    for k in range(nnz(x)):
        j, v = item(x, k)
        f += weight(w, cell(o, j)) * v
    return f


def walk_take(w, a, x, o):
    """Take a x_j into every cell."""
    for k in range(nnz(x)):
        j, v = item(x, k)
        take(w, cell(o, j), a * v)


@strict
def walk_weights(w, x, out):
    """Do out[c] += sum_j w_jc x_j for all classes c in one walk."""
    K = np.uintp(out.shape[0])
    for k in range(nnz(x)):
        j, v = item(x, k)
        for c in range(out.shape[0]):
            out[c] += weight(w, j * K + np.uintp(c)) * v


def by_cell(kind: Any) -> Any:
    """Give a kind the words of a weight vector."""

    @dot.on(kind)
    def dot_kind(w, x):
        return walk_weight(w, x, Whole())

    @dot.on(kind, Block)
    def dot_kind_block(w, x):
        return walk_weight(w, x.x, Of(x.K, x.c))

    @dot.on(kind, Pair)
    def dot_kind_pair(w, x):
        return walk_weight(w, x.x, Of(x.K, x.a)) - walk_weight(w, x.x, Of(x.K, x.b))

    @scores.on(kind)
    def scores_kind(w, x, out):
        out[:] = 0.0
        walk_weights(w, x, out)

    return taken_by_cell(kind)


def taken_by_cell(kind: Any) -> Any:
    """Give a kind `add`."""

    @add.on(kind)
    def add_kind(w, a, x):
        walk_take(w, a, x, Whole())

    @add.on(kind, object, Block)
    def add_kind_block(w, a, x):
        walk_take(w, a, x.x, Of(x.K, x.c))

    @add.on(kind, object, Pair)
    def add_kind_pair(w, a, x):
        walk_take(w, a, x.x, Of(x.K, x.a))
        walk_take(w, -a, x.x, Of(x.K, x.b))

    return kind


# ---- the constant feature apart --------------------------------------------------------------------------------------
class Spared(NamedTuple):
    """Weights w, and those of the constant feature, a cell of b for each class, which no regulariser acts on."""

    w: Any
    b: Any

    @property
    def inside(self) -> Any:
        """The weights that are regularised."""
        return self.w

    def primal(self) -> ndarray:
        """Return the weights, 0 for the constant feature; a zero has no sign."""
        return read(self.w) + 0.0

    def constant(self) -> ndarray:
        """Return the weight of the constant feature for each class."""
        return read(self.b)


def read(w: Any) -> ndarray:
    """Return the weights a reader sees."""
    found: ndarray = w if isinstance(w, ndarray) else w.primal()
    return found


@word
def dot_of(w, c, K, x):
    """Return the score of a row by class c of K."""


@word
def add_to(w, a, c, K, x):
    """Do w_c += a x."""


@dot_of.on(Spared)
def dot_of_spared(w, c, K, x):
    return dot(w.w, Block(x, c, K))


@dot_of.on(Spared, object, object, Biased)
def dot_of_spared_biased(w, c, K, x):
    return dot(w.w, Block(x.x, c, K)) + dot(w.b, Unit(c))


@add_to.on(Spared)
def add_to_spared(w, a, c, K, x):
    add(w.w, a, Block(x, c, K))


@add_to.on(Spared, object, object, object, Biased)
def add_to_spared_biased(w, a, c, K, x):
    add(w.w, a, Block(x.x, c, K))
    add(w.b, a, Unit(c))


@dot.on(Spared)
def dot_spared(w, x):
    return dot(w.w, x)


@dot.on(Spared, Biased)
def dot_spared_biased(w, x):
    return dot(w.w, x.x) + dot(w.b, Unit(FIRST))


@dot.on(Spared, Block)
def dot_spared_block(w, x):
    return dot_of(w, x.c, x.K, x.x)


@dot.on(Spared, Pair)
def dot_spared_pair(w, x):
    return dot_of(w, x.a, x.K, x.x) - dot_of(w, x.b, x.K, x.x)


@add.on(Spared)
def add_spared(w, a, x):
    add(w.w, a, x)


@add.on(Spared, object, Biased)
def add_spared_biased(w, a, x):
    add(w.w, a, x.x)
    add(w.b, a, Unit(FIRST))


@add.on(Spared, object, Block)
def add_spared_block(w, a, x):
    add_to(w, a, x.c, x.K, x.x)


@add.on(Spared, object, Pair)
def add_spared_pair(w, a, x):
    add_to(w, a, x.a, x.K, x.x)
    add_to(w, -a, x.b, x.K, x.x)


@scores.on(Spared)
def scores_spared(w, x, out):
    scores(w.w, x, out)


@scores.on(Spared, Biased)
def scores_spared_biased(w, x, out):
    scores(w.w, x.x, out)
    for c in range(out.shape[0]):
        out[c] += dot(w.b, Unit(np.uintp(c)))


@shrink.on(Spared)
def shrink_spared(w, a):
    shrink(w.w, a)
    shrink(w.b, a)


@shrink.on(ndarray)
def shrink_array(w, a):
    pass


# ---- all weights multiplied: |w|^2/2 and |w| -------------------------------------------------------------------------
@shrink.on(Scaled)
def shrink_scaled(w, a):
    scale(w, 1.0 / (1.0 + a))


@shrink.on(Normed)
def shrink_normed(w, a):
    n = math.sqrt(sqnorm(w))
    if n > 0.0:
        scale(w, max(0.0, 1.0 - a / n))


# ---- shrinkage held back (F.7) ---------------------------------------------------------------------------------------
class Soft(NamedTuple):
    """|w|_1: weights move towards 0 by a, and stay there."""

    def on(self, v: ndarray, a: ndarray) -> ndarray:
        """Return the weights v, shrunk by a."""
        return softened(v, a)


class Gravity(NamedTuple):
    """The same for weights of at most theta; larger ones stay."""

    theta: float

    def on(self, v: ndarray, a: ndarray) -> ndarray:
        """Return the weights v, shrunk by a."""
        return np.where(np.abs(v) <= self.theta, softened(v, a), v)


class Cut(NamedTuple):
    """Weights of at most theta become 0; a counts how often."""

    theta: float

    def on(self, v: ndarray, a: ndarray) -> ndarray:
        """Return the weights v, cut if a > 0."""
        return np.where((a > 0.0) & (np.abs(v) <= self.theta), 0.0, v)


class Elastic(NamedTuple):
    """ratio |w|_1 + |w|^2/2: a is the sum of ln(1 + step size)."""

    ratio: float

    def on(self, v: ndarray, a: ndarray) -> ndarray:
        """Return the weights v, shrunk by a."""
        return softened(v * over(exp, -a), -self.ratio * over(expm1, -a))


@shrunk.on(Soft)
def shrunk_soft(rule, v, a):
    return soft(v, a)


@shrunk.on(Gravity)
def shrunk_gravity(rule, v, a):
    return soft(v, a) if abs(v) <= rule.theta else v


@shrunk.on(Cut)
def shrunk_cut(rule, v, a):
    return 0.0 if a > 0.0 and abs(v) <= rule.theta else v


@shrunk.on(Elastic)
def shrunk_elastic(rule, v, a):
    return soft(v * exp(-a), -rule.ratio * expm1(-a))


@by_cell
class Pending(NamedTuple):
    """u_i is the weight as it was when last touched, when shrinkage added up to past_i; by now it is total."""

    u: ndarray
    past: ndarray
    total: ndarray
    rule: Any

    def primal(self) -> ndarray:
        """Return the weights."""
        return self.rule.on(self.u, self.total[0] - self.past).astype(self.u.dtype)

    def settle(self) -> None:
        """Let all shrinkage act."""
        self.u[:] = self.primal()
        self.past[:] = 0.0
        self.total[0] = 0.0


@weight.on(Pending)
def weight_pending(w, i):
    return shrunk(w.rule, float(w.u[i]), w.total[0] - w.past[i])


@take.on(Pending)
def take_pending(w, i, a):
    w.u[i] = weight(w, i) + a
    w.past[i] = w.total[0]


@shrink.on(Pending)
def shrink_pending(w, a):
    w.total[0] += a
    if w.total[0] > LONG:
        catch_up(w)


@rare
def catch_up(w):
    """Let all shrinkage act."""
    for i in range(w.u.shape[0]):
        w.u[i] = weight(w, i)
        w.past[i] = 0.0
    w.total[0] = 0.0


# ---- with a step size eta/(delta + sqrt(n_i)) for each cell (F.9) ----------------------------------------------------
class Linear(NamedTuple):
    """lambda |w|_1."""

    lambda_: float

    def on(self, v: ndarray, r: ndarray, k: ndarray) -> ndarray:
        """Return the weights after k rounds of step size r."""
        return softened(v, self.lambda_ * r * k)


class Quadratic(NamedTuple):
    """lambda |w|_1 + l2 |w|^2/2."""

    lambda_: float
    l2: float

    def on(self, v: ndarray, r: ndarray, k: ndarray) -> ndarray:
        """Return the weights after k rounds of step size r."""
        q = over(exp, -k * over(log1p, r * self.l2))
        return softened(v * q, self.lambda_ / self.l2 * (1.0 - q))


@worn.on(Linear)
def worn_linear(rule, v, r, k):
    return soft(v, rule.lambda_ * r * k)


@worn.on(Quadratic)
def worn_quadratic(rule, v, r, k):
    q = exp(-k * log1p(r * rule.l2))
    return soft(v * q, rule.lambda_ / rule.l2 * (1.0 - q))


def step_size(w, i):
    """Return eta/(delta + sqrt(n_i))."""
    H = w.delta + math.sqrt(w.n[i])
    return w.eta / H if H > 0.0 else 0.0


@by_cell
class Adapted(NamedTuple):
    """u_i is the weight as it was after round past_i, n_i the sum of its squared gradients; t rounds are over."""

    u: ndarray
    past: ndarray
    n: ndarray
    t: ndarray
    rule: Any
    eta: float
    delta: float

    def primal(self) -> ndarray:
        """Return the weights."""
        H = self.delta + np.sqrt(self.n, dtype=np.float64)
        r = np.divide(self.eta, H, out=np.zeros_like(H), where=H > 0.0)
        return self.rule.on(self.u, r, self.t[0] - self.past).astype(self.u.dtype)

    def settle(self) -> None:
        """Let the regulariser act on all."""
        self.u[:] = self.primal()
        self.past[:] = 0.0
        self.t[0] = 0.0


@weight.on(Adapted)
def weight_adapted(w, i):
    return worn(w.rule, float(w.u[i]), step_size(w, i), w.t[0] - w.past[i])


@take.on(Adapted)
def take_adapted(w, i, a):
    v = weight(w, i)
    w.n[i] += a * a
    w.u[i] = v + step_size(w, i) * a
    w.past[i] = w.t[0]


@shrink.on(Adapted)
def shrink_adapted(w, a):
    w.t[0] += 1.0


# ---- dual averaging (F.4) --------------------------------------------------------------------------------------------
@by_cell
class Averages(NamedTuple):
    """w = -soft(G/t, lambda + gamma rho/sqrt(t))/(sigma + gamma/sqrt(t)), G the sum of the gradients of t rounds.

    As that is -c soft(G, a), a and c are kept for the round (`now`).
    """

    G: ndarray
    t: ndarray
    now: ndarray
    lambda_: float
    gamma: float
    rho: float
    sigma: float

    def primal(self) -> ndarray:
        """Return the weights."""
        return -self.now[1] * softened(self.G, self.now[0])

    def settle(self) -> None:
        """Compute threshold and factor."""
        if self.t[0] > 0.0:
            threshold(self)


def threshold(w):
    """Do a = t lambda_t and c = 1/(t sigma + gamma sqrt(t))."""
    root = math.sqrt(w.t[0])
    w.now[0] = w.t[0] * w.lambda_ + w.gamma * w.rho * root
    w.now[1] = 1.0 / (w.t[0] * w.sigma + w.gamma * root)


@weight.on(Averages)
def weight_averages(w, i):
    return -w.now[1] * soft(float(w.G[i]), w.now[0])


@take.on(Averages)
def take_averages(w, i, a):
    w.G[i] -= a


@shrink.on(Averages)
def shrink_averages(w, a):
    w.t[0] += 1.0
    threshold(w)


# ---- with a step size for each cell (F.10) ---------------------------------------------------------------------------
@by_cell
class AdaptedAverages(NamedTuple):
    """w = -eta soft(G, lambda t)/(delta + sqrt(n) + eta l2 t), n the sums of the squared gradients."""

    G: ndarray
    n: ndarray
    t: ndarray
    lambda_: float
    l2: float
    eta: float
    delta: float

    def primal(self) -> ndarray:
        """Return the weights."""
        H = self.delta + np.sqrt(self.n, dtype=np.float64) + self.eta * self.l2 * self.t[0]
        w = -self.eta * softened(self.G, self.lambda_ * self.t[0])
        return np.divide(w, H, out=np.zeros_like(H), where=H > 0.0).astype(self.G.dtype)


@weight.on(AdaptedAverages)
def weight_adapted_averages(w, i):
    H = w.delta + math.sqrt(w.n[i]) + w.eta * w.l2 * w.t[0]
    return -w.eta * soft(float(w.G[i]), w.lambda_ * w.t[0]) / H if H > 0.0 else 0.0


@take.on(AdaptedAverages)
def take_adapted_averages(w, i, a):
    w.G[i] -= a
    w.n[i] += a * a


@shrink.on(AdaptedAverages)
def shrink_adapted_averages(w, a):
    w.t[0] += 1.0


# ---- follow the regularised leader, about past weights (F.8) ---------------------------------------------------------
@taken_by_cell
class Proximal(NamedTuple):
    """u = -soft(z, l1)/((beta + sqrt(n))/alpha + l2), kept, as only the cells of the example change."""

    u: ndarray
    z: ndarray
    n: ndarray
    alpha: float
    beta: float
    l1: float
    l2: float

    def primal(self) -> ndarray:
        """Return the weights."""
        return self.u

    def settle(self) -> None:
        """Compute the weights."""
        q = (self.beta + np.sqrt(self.n, dtype=np.float64)) / self.alpha + self.l2
        self.u[:] = np.divide(-softened(self.z, self.l1), q, out=np.zeros_like(q), where=q > 0.0)


@dot.on(Proximal)
def dot_proximal(w, x):
    return dot(w.u, x)


@scores.on(Proximal)
def scores_proximal(w, x, out):
    scores(w.u, x, out)


@take.on(Proximal)
def take_proximal(w, i, a):
    n = float(w.n[i])
    root = math.sqrt(n + a * a)
    w.z[i] -= a + (root - math.sqrt(n)) / w.alpha * w.u[i]
    w.n[i] = n + a * a
    q = (w.beta + root) / w.alpha + w.l2
    w.u[i] = -soft(float(w.z[i]), w.l1) / q if q > 0.0 else 0.0


@shrink.on(Proximal)
def shrink_proximal(w, a):
    pass
