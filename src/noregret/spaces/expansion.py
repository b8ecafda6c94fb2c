"""Kernel expansions: weights that are a sum of kernels at examples seen. The steps of linear learners run on them unchanged.

f_k(x) = c sum_i alpha[k, i] k(sv_i, x), one set of support vectors for all classes. The law between the words: `kx[i]` is
k(sv_i, x) for the current row. `look` fills it, once a round, and all scores read it; `add` and `remove` keep it true.

`add` asks the budget first (`admit`), then appends, then lets the budget restore its limit (`maintain`): the contract of G.11.
There is one slot more than the budget allows, for the newest vector.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray

from ..engine.words import rare, word
from .examples import Block, Pair, Weighted
from .growth import enlarged, fewer, first_sizes, stored_cells
from .support_vectors import Capped, Objects, Ragged, alone_at, crowded, crowding, leave, meet, move, put, storable
from .weights import add, answer, answers, dot, norm2, null, scale, scores, spread, sqnorm, tick


class Expansion(NamedTuple):
    """Support vectors and their coefficients, with what the step, the budget and the answer need besides."""

    S: Any  # the vectors
    alpha: ndarray  # (class, slot)
    born: ndarray  # (slot,) the number of the addition that brought each vector
    size: ndarray  # vectors kept, additions so far
    c: ndarray  # lazy multiplier of alpha
    u: ndarray  # (class,) scratch: the coefficients of the row being added
    kx: ndarray  # (slot,) scratch: k(sv_i, current row)
    ky: ndarray  # (slot,) scratch: k(sv_i, sv_r) for some r
    norm: Any  # what is known of the norm, see tracking.py
    kept: Any  # and of the scores of the vectors
    past: Any  # Mean, Votes (votes.py), or nothing: answer with the coefficients as they are
    memo: Any  # what the budget remembers
    kernel: Any
    budget: Any

    holds = "support vectors"

    @property
    def remembers(self) -> bool:
        """Whether the answer is not the score learned with."""
        return not isinstance(self.past, Nothing)

    def order(self) -> ndarray:
        """Return the vectors from the oldest to the newest."""
        return np.argsort(self.born[: int(self.size[0])], kind="stable")

    def coefficients(self) -> ndarray:
        """Return the coefficients of the answer, or of the last vector of a vote: a row per class, the oldest vector first."""
        alpha, at = self.alpha, self.order()
        if isinstance(self.past, Mean):
            return np.asarray((self.past.v[:, at] + self.past.b[0] * alpha[:, at]) / self.past.n[0])
        return np.asarray(self.c[0] * alpha[:, at])

    def trim(self) -> None:
        """Remove vectors until the budget holds."""
        while over(self):
            remove(self, first_out(self.past, self))

    def left(self) -> tuple[float, float]:
        """Return how many vectors and how many cells there is room for."""
        slots, cells = self.alpha.shape[1], math.inf
        if isinstance(self.S, Ragged):
            cells = len(self.S.idx) - int(self.S.used[0])
        return slots - int(self.size[0]) if slots <= self.budget.B else math.inf, cells

    # ---- sizes, for the model that holds it --------------------------------------------------------------------------
    @property
    def of_objects(self) -> bool:
        """Whether vectors are Python objects, compared by a Python function."""
        return isinstance(self.S, Objects)

    @property
    def by_classes(self) -> bool:
        """Whether the number of classes decides how many vectors fit: with a budget in bytes."""
        return bool(self.budget.bytes)

    @property
    def capped(self) -> bool:
        """Whether these are non-zeros on a budget in bytes."""
        return isinstance(self.S, Ragged) and isinstance(self.S.cap, Capped)

    first_sizes, fewer, stored_cells, enlarged = first_sizes, fewer, stored_cells, enlarged

    def sound(self, dims: dict[str, int]) -> bool:
        """Return whether compiled code that trusts these sizes stays inside the arrays."""
        n = int(self.size[0])
        fits = 0 <= n <= min(self.alpha.shape[1], self.budget.B) and self.S.sound(n)
        return fits and (not hasattr(self.memo, "sound") or self.memo.sound(n))


# ---- what goes with the coefficients ------------------------------------------------------
class Mean(NamedTuple):
    """Answer with the mean over all rounds: the sum of all c alpha so far is v + b alpha, as in `Averaged`."""

    v: ndarray  # (class, slot)
    b: ndarray
    n: ndarray


class Nothing(NamedTuple):
    """Stands for nothing tracked, kept, averaged or remembered."""


class Unbounded(NamedTuple):
    """No budget."""

    B: float = math.inf
    bytes: float = 0.0

    @property
    def keeps(self) -> bool:
        """Whether vectors never change once added."""
        return True


@word
def admit(budget, w, k, x):
    """Return whether the budget has dealt with the row (coefficients u, k = k(x, x)), so that nothing is appended."""


@word
def maintain(budget, w):
    """Restore the limit after a vector was appended in the last slot."""


def over(w):
    """Return whether there are more vectors than the budget allows."""
    return w.size[0] > w.budget.B or crowded(w.S, w.size[0])


def full(w, x):
    """Return whether there would be if the row were added."""
    return w.size[0] >= w.budget.B or crowding(w.S, w.size[0] + 1, x)


@word
def appending(part, w, k):
    """Note that the current row is about to be appended."""


@word
def dropping(part, w, r):
    """Note that vector r is about to be removed."""


@word
def moving(part, i, r):
    """Note that vector i takes the place of vector r."""


@word
def folding(part, w):
    """Note that the multiplier is about to be put into the coefficients."""


@rare
@word
def remeasure(part, w):
    """Compute the norm, or the kept scores, from the vectors: after a change that is not an addition or a removal."""


@word
def due(part, w):
    """Recompute what has been tracked for long."""


@appending.on(object)
def appending_any(part, w, k):
    pass


@dropping.on(object)
def dropping_any(part, w, r):
    pass


@moving.on(object)
def moving_any(part, i, r):
    pass


@folding.on(object)
def folding_any(part, w):
    pass


@due.on(object)
def due_any(part, w):
    pass


@remeasure.on(object)
def remeasure_any(part, w):
    pass


@admit.on(object)
def admit_any(budget, w, k, x):
    return False


@maintain.on(Unbounded)
def maintain_unbounded(budget, w):
    pass


# ---- sums over the vectors -------------------------------------------------------------------------------------------------
def along(a, n, k):
    """Return sum_i a[i] k[i] over n vectors."""
    f = 0.0
    for i in range(n):
        f += a[i] * k[i]
    return f


def look(w, x):
    """Make x the current row: drivers call this before anything else about the row."""
    meet(w.S, w.kernel, w.size[0], w.kx, x)


@dot.on(Expansion)
def dot_expansion(w, x):
    return w.c[0] * along(w.alpha[0], w.size[0], w.kx)


@dot.on(Expansion, Block)
def dot_expansion_block(w, x):
    return w.c[0] * along(w.alpha[x.c], w.size[0], w.kx)


@dot.on(Expansion, Pair)
def dot_expansion_pair(w, x):
    return w.c[0] * (along(w.alpha[x.a], w.size[0], w.kx) - along(w.alpha[x.b], w.size[0], w.kx))


@scores.on(Expansion)
def scores_expansion(w, x, out):
    for k in range(out.shape[0]):
        out[k] = w.c[0] * along(w.alpha[k], w.size[0], w.kx)


@norm2.on(Expansion)
def norm2_expansion(w, x):
    return alone_at(w.S, w.kernel, x)


@norm2.on(Expansion, Block)
def norm2_expansion_block(w, x):
    return norm2(w, x.x)


@norm2.on(Expansion, Pair)
def norm2_expansion_pair(w, x):
    return 2.0 * norm2(w, x.x)


@null.on(Expansion)
def null_expansion(w, x):
    return norm2(w, x) == 0.0


@sqnorm.on(Expansion)
def sqnorm_expansion(w):
    return max(0.0, w.c[0] * w.c[0] * w.norm.q[0])


# ---- answers ---------------------------------------------------------------------------------------------------------------
@word
def class_answer(past, w, k):
    """Return the score of class k given outside, for the current row."""


@class_answer.on(Nothing)
def class_answer_nothing(past, w, k):
    return w.c[0] * along(w.alpha[k], w.size[0], w.kx)


@class_answer.on(Mean)
def class_answer_mean(past, w, k):
    n = w.size[0]
    return (along(past.v[k], n, w.kx) + past.b[0] * along(w.alpha[k], n, w.kx)) / past.n[0]


@word
def one_answer(past, w):
    """Return the one score given outside, for the current row."""


@word
def all_answers(past, w, out):
    """Fill the scores given outside, class by class."""


@one_answer.on(object)
def one_answer_any(past, w):
    return class_answer(past, w, 0)


@all_answers.on(object)
def all_answers_any(past, w, out):
    for k in range(out.shape[0]):
        out[k] = class_answer(past, w, k)


@answer.on(Expansion)
def answer_expansion(w, x):
    return one_answer(w.past, w)


@answers.on(Expansion)
def answers_expansion(w, x, out):
    all_answers(w.past, w, out)


@word
def passing(past, w):
    """Note that a round is over."""


@passing.on(object)
def passing_any(past, w):
    pass


@passing.on(Mean)
def passing_mean(past, w):
    past.b[0] += w.c[0]
    past.n[0] += 1.0


@tick.on(Expansion)
def tick_expansion(w):
    passing(w.past, w)


# ---- adding ----------------------------------------------------------------------------------------------------------------
@word
def aim(w, a, x):
    """Leave the coefficients that the row of the example would get from a step of length a in u."""


@aim.on(Expansion)
def aim_expansion(w, a, x):
    w.u[0] = a


@aim.on(Expansion, object, Block)
def aim_expansion_block(w, a, x):
    w.u[:] = 0.0
    w.u[x.c] = a


@aim.on(Expansion, object, Pair)
def aim_expansion_pair(w, a, x):
    w.u[:] = 0.0
    w.u[x.a] = a
    w.u[x.b] = -a


@aim.on(Expansion, object, Weighted)
def aim_expansion_weighted(w, a, x):
    aim(w, a, x.x)


@add.on(Expansion)
def add_expansion(w, a, x):
    aim(w, a, x)
    enter(w, x)


@add.on(Expansion, object, Block)
@add.on(Expansion, object, Pair)
def add_row(w, a, x):
    """Add the row under the example."""
    aim(w, a, x)
    enter(w, x.x)


@spread.on(Expansion)
def spread_expansion(w, tau, x):
    for k in range(tau.shape[0]):
        w.u[k] = tau[k]
    enter(w, x)


@rare
def enter(w, x):
    """Do f += u k(x, .), as far as the budget lets it: not at all for a row that alone would take too many bytes."""
    if not storable(w.S, x):
        return
    k = alone_at(w.S, w.kernel, x)
    if not admit(w.budget, w, k, x):
        append(w, k, x)
        maintain(w.budget, w)
    due(w.norm, w)
    due(w.kept, w)


def append(w, k, x):
    """Make the row a support vector with coefficients u."""
    n = w.size[0]
    appending(w.norm, w, k)
    appending(w.kept, w, k)
    put(w.S, w.kernel, n, x)
    w.kx[n] = k
    w.born[n] = w.size[1]
    w.size[0] += 1
    w.size[1] += 1
    for j in range(w.u.shape[0]):
        w.alpha[j, n] = w.u[j] / w.c[0]
        starting(w.past, j, n, w.alpha[j, n])


@word
def starting(past, k, i, a):
    """Note that the new vector i has alpha[k, i] = a."""


@word
def bumping(past, k, i, a):
    """Note that alpha[k, i] grows by a."""


@starting.on(object)
def starting_any(past, k, i, a):
    pass


@starting.on(Mean)
def starting_mean(past, k, i, a):
    past.v[k, i] = -past.b[0] * a


@bumping.on(object)
def bumping_any(past, k, i, a):
    pass


@bumping.on(Mean)
def bumping_mean(past, k, i, a):
    past.v[k, i] -= past.b[0] * a


def bump(w, k, i, a):
    """Add a to the coefficient of class k and vector i. The caller updates tracked and kept sums."""
    w.alpha[k, i] += a / w.c[0]
    bumping(w.past, k, i, a / w.c[0])


def length2(w, i):
    """Return the squared length of the coefficients of vector i."""
    q = 0.0
    for k in range(w.alpha.shape[0]):
        q += w.alpha[k, i] * w.alpha[k, i]
    return w.c[0] * w.c[0] * q


# ---- removing --------------------------------------------------------------------------------------------------------------
@rare
def remove(w, r):
    """Forget vector r; the last one takes its place."""
    dropping(w.norm, w, r)
    dropping(w.kept, w, r)
    dropping(w.past, w, r)
    dropping(w.memo, w, r)
    leave(w.S, r)
    i = w.size[0] - 1
    if r != i:
        move(w.S, i, r)
        for k in range(w.alpha.shape[0]):
            w.alpha[k, r] = w.alpha[k, i]
        w.born[r] = w.born[i]
        w.kx[r] = w.kx[i]
        moving(w.kept, i, r)
        moving(w.past, i, r)
        moving(w.memo, i, r)
    w.size[0] -= 1


def remove_other(w, r, t):
    """Forget vector r; return where vector t is now."""
    remove(w, r)
    return r if t == w.size[0] else t


@moving.on(Mean)
def moving_mean(past, i, r):
    for k in range(past.v.shape[0]):
        past.v[k, r] = past.v[k, i]


def earlier(w, a, b):
    """Return whether vector a is older than vector b: the order in which ties are broken."""
    return w.born[a] < w.born[b]


def oldest(w):
    """Return the oldest vector."""
    r = 0
    for i in range(w.size[0]):
        if earlier(w, i, r):
            r = i
    return r


@word
def first_out(past, w):
    """Return which vector to remove first when there is less room than before."""


@first_out.on(object)
def first_out_any(past, w):
    return oldest(w)


# ---- the multiplier --------------------------------------------------------------------------------------------------------
@word
def reach(past):
    """Return how far the multiplier may go before it is put in."""


@reach.on(object)
def reach_any(past):
    return 1e9


@reach.on(Mean)
def reach_mean(past):
    return 1e3  # v and b alpha cancel as c shrinks: put it in early


@scale.on(Expansion)
def scale_expansion(w, c):
    w.c[0] *= c
    if not 1.0 / reach(w.past) < abs(w.c[0]) < reach(w.past):
        put_in(w)


@rare
def put_in(w):
    """Put the multiplier into the coefficients; after a multiplication by 0 there is nothing left to keep."""
    folding(w.norm, w)
    folding(w.kept, w)
    folding(w.past, w)
    if w.c[0] == 0.0:
        for i in range(w.size[0]):
            leave(w.S, i)
        w.size[0] = 0
    for k in range(w.alpha.shape[0]):
        for i in range(w.size[0]):
            w.alpha[k, i] *= w.c[0]
    w.c[0] = 1.0


@folding.on(Mean)
def folding_mean(past, w):
    for k in range(w.alpha.shape[0]):
        for i in range(w.size[0]):
            past.v[k, i] += past.b[0] * w.alpha[k, i]
    past.b[0] = 0.0
