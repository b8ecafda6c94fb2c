"""At most B weights: online feature selection, and the Perceptron cut to its B largest weights.

Wang, Zhao, Hoi, Jin (2014), *Online feature selection and its applications*. The features whose weights are not 0 are listed, so a
round costs O(nnz + B); the constant feature is not among the B, and never shrunk.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy import ndarray

from ..algorithm.params import Choice, Fraction, Positive, Times
from ..algorithm.state import Count, Own, Slot, made
from ..engine.splitmix64 import MIX, STRIDE, mixed
from ..engine.words import rare, strict, word
from ..spaces.examples import Biased, Block, Pair, Unit, Weighted, importance, item, nnz
from ..spaces.groups import ONE
from ..spaces.sparse import FIRST, Spared
from ..spaces.weights import add, dot, null, scale, scores, sqnorm
from ..tasks.classification import Classifier
from ..tasks.sparse_coef import SparseCoef

DIGITS = np.uint64(11)


# ---- few weights -----------------------------------------------------------------------------------------------------
class Few(NamedTuple):
    """Weights u, the features of those that are not 0 (the first n of idx, for each class), and how many there may be."""

    u: ndarray
    idx: ndarray
    n: ndarray
    B: float

    def primal(self) -> ndarray:
        """Return the weights."""
        return self.u

    def settle(self) -> None:
        """List the weights, and cut them if there are too many."""
        K = len(self.n)
        u, idx = self.u.reshape(-1, K), self.idx.reshape(-1, K)
        for c in range(K):
            found = np.flatnonzero(u[:, c])
            kept = found[np.lexsort((found, -np.abs(u[found, c])))][: int(self.B)]
            u[np.setdiff1d(found, kept), c] = 0.0
            self.n[c] = len(kept)
            idx[: len(kept), c] = np.sort(kept)

    def sound(self, dims: dict[str, int]) -> bool:
        """Return whether the lists are those of the weights."""
        K = len(self.n)
        u, idx = self.u.reshape(-1, K), self.idx.reshape(-1, K)
        listed = [np.sort(idx[: max(0, int(n)), c]) for c, n in enumerate(self.n)]
        return all(
            n <= self.B and np.array_equal(i, np.flatnonzero(u[:, c])) for c, (n, i) in enumerate(zip(self.n, listed, strict=True))
        )


@dot.on(Few)
def dot_few(w, x):
    return dot(w.u, x)


@scores.on(Few)
def scores_few(w, x, out):
    scores(w.u, x, out)


@scale.on(Few)
def scale_few(w, c):
    K = np.uintp(w.n.shape[0])
    for r in range(w.n.shape[0]):
        n = 0
        for k in range(w.n[r]):
            j = listed(w, k, np.uintp(r), K)
            w.u[j * K + np.uintp(r)] *= c
            if w.u[j * K + np.uintp(r)] != 0.0:  # by c = 0, or too small for a number: `put` would list it again
                w.idx[np.uintp(n) * K + np.uintp(r)] = j
                n += 1
        w.n[r] = n


@sqnorm.on(Few)
@strict
def sqnorm_few(w):
    K = np.uintp(w.n.shape[0])
    q = 0.0
    for r in range(w.n.shape[0]):
        for k in range(w.n[r]):
            v = float(w.u[listed(w, k, np.uintp(r), K) * K + np.uintp(r)])
            q += v * v
    return q


def listed(w, k, c, K):
    """Return the k-th feature in the list of class c."""
    return np.uintp(w.idx[np.uintp(k) * K + c])


def put(w, j, v, c, K):
    """Add v to the weight of feature j, and to the list if it was 0."""
    i = j * K + c
    if w.u[i] == 0.0:
        w.idx[np.uintp(w.n[c]) * K + c] = j
        w.n[c] += 1
    w.u[i] += v


def walk_put(w, a, x, c, K):
    """Do w_c += a x."""
    for k in range(nnz(x)):
        j, v = item(x, k)
        if v != 0.0:
            put(w, j, a * v, c, K)


@add.on(Few)
def add_few(w, a, x):
    walk_put(w, a, x, FIRST, ONE)


@add.on(Few, object, Block)
def add_few_block(w, a, x):
    walk_put(w, a, x.x, x.c, x.K)


@add.on(Few, object, Pair)
def add_few_pair(w, a, x):
    walk_put(w, a, x.x, x.a, x.K)
    walk_put(w, -a, x.x, x.b, x.K)


def cut(w):
    """Take zeros off the lists, and all but the B largest weights of each class; of equal ones the first features stay."""
    K = np.uintp(w.n.shape[0])
    for r in range(w.n.shape[0]):
        c = np.uintp(r)
        n = 0
        for k in range(w.n[c]):
            j = listed(w, k, c, K)
            if w.u[j * K + c] != 0.0:
                w.idx[np.uintp(n) * K + c] = j
                n += 1
        w.n[c] = n
        if n > w.B:
            choose(w, c, K)


def ahead(w, i, j, c, K):
    """Return whether feature i has a larger weight than j, or the same and comes first."""
    a, b = abs(w.u[i * K + c]), abs(w.u[j * K + c])
    return a > b or (a == b and i < j)


@rare
def choose(w, c, K):
    """Bring the B largest weights to the front of the list (Hoare's selection), and set the others to 0."""
    B = int(w.B)
    low, high = 0, w.n[c] - 1
    while low < high:
        pivot = listed(w, (low + high) // 2, c, K)
        i, k = low, high
        while i <= k:
            while ahead(w, listed(w, i, c, K), pivot, c, K):
                i += 1
            while ahead(w, pivot, listed(w, k, c, K), c, K):
                k -= 1
            if i <= k:
                first, second = listed(w, i, c, K), listed(w, k, c, K)
                w.idx[np.uintp(i) * K + c], w.idx[np.uintp(k) * K + c] = second, first
                i += 1
                k -= 1
        if k >= B - 1:
            high = k
        elif i <= B - 1:
            low = i
        else:
            break
    for k in range(B, w.n[c]):
        w.u[listed(w, k, c, K) * K + c] = 0.0
    w.n[c] = B


# ---- what is seen of an example --------------------------------------------------------------------------------------
class Entire(NamedTuple):
    """All of it."""


class Partial(NamedTuple):
    """B features of d: with probability epsilon any, else those that have weights. Draws are numbered by rounds and features."""

    epsilon: float
    R: float
    seed: float
    d: float = 0.0


def uniform(seed, t, k):
    """Return the k-th random number of round t, in [0, 1)."""
    z = mixed(mixed(np.uint64(seed) * MIX + np.uint64(t) * STRIDE) + np.uint64(k) * STRIDE)
    return float(z >> DIGITS) * 2.0**-53


def chance(w, i, view, d):
    """Return the probability with which the feature of cell i is seen."""
    share = min(1.0, w.B / d) * view.epsilon
    return share + (1.0 - view.epsilon) if w.u[i] != 0.0 else share


@strict
def seen_dot(w, view, t, c, K, d, x):
    """Return the score of the features seen."""
    f, met, taken = 0.0, 0, 0.0
    for k in range(nnz(x)):
        j, v = item(x, k)
        if v != 0.0:
            met += 1
            if uniform(view.seed, t, met) * (d - met + 1.0) < w.B - taken:
                taken += 1.0
                f += w.u[j * K + c] * v
    return f


@strict
def seen_add(w, view, t, a, c, K, d, x):
    """Do w_c += a x^, the features seen over the probability of seeing them."""
    met, taken = 0, 0.0
    any_ = explores(view, t)
    for k in range(nnz(x)):
        j, v = item(x, k)
        if v != 0.0:
            met += 1
            i = j * K + c
            seen = w.u[i] != 0.0
            if any_:
                seen = uniform(view.seed, t, met) * (d - met + 1.0) < w.B - taken
                taken += 1.0 if seen else 0.0
            if seen:
                put(w, j, a * v / chance(w, i, view, d), c, K)


def explores(view, t):
    """Return whether any features may be seen in round t."""
    return uniform(view.seed, t, 0) < view.epsilon


@word
def glance(w, view, t, c, K, x):
    """Return the score, by class c, of what is seen in a round of exploration."""


@word
def grasp(w, view, t, a, c, K, x):
    """Do w_c += a times what is seen."""


@glance.on(object)
def glance_any(w, view, t, c, K, x):
    return seen_dot(w.w, view, t, c, K, view.d, x)


@glance.on(object, object, object, object, object, Biased)
def glance_biased(w, view, t, c, K, x):
    return seen_dot(w.w, view, t, c, K, view.d - 1.0, x.x) + dot(w.b, Unit(c))


@glance.on(object, object, object, object, object, Pair)
def glance_pair(w, view, t, c, K, x):
    return glance(w, view, t, x.a, x.K, x.x) - glance(w, view, t, x.b, x.K, x.x)


@glance.on(object, object, object, object, object, Weighted)
def glance_weighted(w, view, t, c, K, x):
    return glance(w, view, t, c, K, x.x)


@grasp.on(object)
def grasp_any(w, view, t, a, c, K, x):
    seen_add(w.w, view, t, a, c, K, view.d, x)


@grasp.on(object, object, object, object, object, object, Biased)
def grasp_biased(w, view, t, a, c, K, x):
    seen_add(w.w, view, t, a, c, K, view.d - 1.0, x.x)
    add(w.b, a, Unit(c))


@grasp.on(object, object, object, object, object, object, Pair)
def grasp_pair(w, view, t, a, c, K, x):
    grasp(w, view, t, a, x.a, x.K, x.x)
    grasp(w, view, t, -a, x.b, x.K, x.x)


@grasp.on(object, object, object, object, object, object, Weighted)
def grasp_weighted(w, view, t, a, c, K, x):
    grasp(w, view, t, a, c, K, x.x)


# ---- steps -----------------------------------------------------------------------------------------------------------
Input = Annotated[Any, Choice({False: Entire, True: Partial})]


class OfsParams(NamedTuple):
    """OFS."""

    B: Times = 100.0
    eta: Positive = 0.2
    lambda_: Positive = 0.01
    partial: Input = False
    epsilon: Fraction = 0.2
    R: Positive = 10.0

    def weights(self) -> Any:
        """Return the kind of weights."""
        return few(self.B)

    def check(self) -> None:
        """Refuse a decay that would turn the weights over."""
        if self.eta * self.lambda_ > 1.0:
            raise ValueError(f"eta * lambda_ must be at most 1, got {self.eta:g} * {self.lambda_:g}: weights would turn over")


class TruncParams(NamedTuple):
    """PE-trunc."""

    B: Times = 100.0

    def weights(self) -> Any:
        """Return the kind of weights."""
        return few(self.B)


class OfsState(NamedTuple):
    """Weights, rounds."""

    w: Own
    t: Count


class TruncState(NamedTuple):
    """Weights."""

    w: Own


def few(B: float) -> Any:
    """Return at most B weights for each class."""
    lists = Slot(dtype=np.int64, promote="copy", merge="keep")
    lengths = Slot(("class",), dtype=np.int64, promote="copy", merge="keep")
    return Spared(made(Few, Slot(), lists, lengths, B), Slot(("class",)))


def confine(w, radius):
    """Do w = the nearest point of the ball, then keep the B largest weights."""
    n = math.sqrt(sqnorm(w))
    if n > radius:
        scale(w, radius / n)
    cut(w)


@word
def select(view, s, x, y, p):
    """Return the score of what is seen, and whether the weights moved because of it."""


@select.on(Entire)
def select_entire(view, s, x, y, p):
    f = dot(s.w, x)
    moved = y * f <= 1.0
    scale(s.w.w, 1.0 - p.lambda_ * p.eta)
    if moved:
        add(s.w, p.eta * importance(x) * y, x)
        confine(s.w.w, 1.0 / math.sqrt(p.lambda_))
    else:
        cut(s.w.w)
    return f, moved


@select.on(Partial)
def select_partial(view, s, x, y, p):
    f = glance(s.w, view, s.t[0], FIRST, ONE, x) if explores(view, s.t[0]) else dot(s.w, x)
    moved = y * f <= 0.0
    if moved:
        grasp(s.w, view, s.t[0], p.eta * importance(x) * y, FIRST, ONE, x)
        confine(s.w.w, view.R)
    return f, moved


def ofs(s, x, y, p):
    """Learn with what is seen; then keep the B largest weights."""
    if null(s.w, x):
        return dot(s.w, x), False
    s.t[0] += 1
    return select(p.partial, s, x, y, p)


def pe_trunc(s, x, y, p):
    """Do w += y x on a mistake; then keep the B largest weights."""
    f = dot(s.w, x)
    if y * f > 0.0 or null(s.w, x):
        return f, False
    add(s.w, importance(x) * y, x)
    cut(s.w.w)
    return f, True


class OFS(SparseCoef, Classifier):
    """Online feature selection: never more than B features with weights, chosen as the stream goes by.

    If y w.x <= 1: w = (1 - lambda eta) w + eta y x, into the ball of radius 1/sqrt(lambda), then all but the B largest weights
    become 0; else w = (1 - lambda eta) w. The ball bounds what cutting can destroy.

    With `partial` only B features of a row are looked at: with probability epsilon any B, else those that have weights. Only on a
    mistake with these: w += eta y x^, each feature over the probability of seeing it, into the ball of radius R, and cut.

    Parameters: `B`, a whole number, a tenth of the features in the paper; `eta`, `lambda_` > 0; `partial`, with `epsilon` in (0,
    1), `R` > 0 and `seed`. More than two classes: the margin to the best rival, B weights for each class. A sample weight
    multiplies eta y x. Ties go to the first feature. The constant feature is not among the B and not shrunk. Cost O(nnz + B) a
    round.

    Wang, Zhao, Hoi, Jin (2014): OFS, and with partial inputs.

    >>> X, y = [[1, 2, 0], [0.5, -1, 1], [-1, 0.5, 2]], [1, -1, 1]
    >>> OFS(B=2, fit_intercept=False).fit(X, y).coef_.round(3).tolist()
    [[0.0, 0.698, 0.2]]
    """

    name = "ofs"
    cite = "wang2014"
    State, Params, step = OfsState, OfsParams, ofs


class PETrunc(SparseCoef, Classifier):
    """The Perceptron cut to its B largest weights after each mistake. A baseline for OFS.

    Parameters: `B`, a whole number. More than two classes: the best rival, B weights for each class. Cost O(nnz + B) a round.

    Pitfall: a feature whose first weights are small is cut again and again, however useful: OFS shrinks the others.

    Wang, Zhao, Hoi, Jin (2014): the first, simple truncation.

    >>> X, y = [[1, 2, 0], [0.5, -1, 1], [-1, 0.5, 2]], [1, -1, 1]
    >>> PETrunc(B=2, fit_intercept=False).fit(X, y).coef_.round(3).tolist()
    [[0.0, 2.5, 2.0]]
    """

    name = "pe_trunc"
    cite = "wang2014"
    State, Params, step = TruncState, TruncParams, pe_trunc
