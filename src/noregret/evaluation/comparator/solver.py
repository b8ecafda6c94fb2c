"""The best fixed model in hindsight: the least total loss within a ball, or with a penalty, certified, by passes over a stream.

L(u) = sum_t c_t loss(u.x_t, y_t) is convex, and so is what is added to it: Psi of `regularizers`. Every pass evaluates L at one u,
with dual variables a_t (the slopes of the loss, or of a smooth loss close to it where it has a kink). Any such a gives a true lower
bound, min L + Psi >= sum_t -loss_t*(a_t) - Psi*(-sum_t a_t x_t), so upper - lower is a gap that nobody needs to take on trust.

How few passes: a bounded sample of the rows is kept from the first one (all of them, when they fit: then there is no other pass),
the problem is solved on the sample, and passes over the stream continue from there. The step is the minimiser of a model plus Psi:
with the true Hessian where there are few features; where there are many, the loss of the sample corrected to the gradient of the
stream, minimised by L-BFGS. Several problems on one stream share its passes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from ...algorithm.bounds import matrix, scores
from .curvature import add_curvature, add_slopes
from .quadratic_models import Memory, length, shorter
from .regularizers import L1, L2, Cuts, Penalty, Regularizer
from .row_sample import KEPT, Chunk, Passes, Sample, sampled
from .smoothed_losses import KINKED, MANY, ONE, REAL, STEEP

Watch = Callable[[int, float, float], None]  # passes so far, upper, lower

NORMS = ("l2", "l1")  # of the balls
SMALL = 1000  # features up to which the Hessian is formed
SHORT = 300  # numbers per row up to which that is cheap
STEADY = 1e-9  # share of the largest possible curvature that a Hessian always has added
WARY = 1e-4  # the same, at first, where a sample stands for the stream
ENOUGH = 100  # rows that may do so
WIDE = 4.0  # width of the first smooth kink: it covers a score of 0, where everything begins


class Best(NamedTuple):
    """The best fixed model found: its loss and penalty are at most `gap` above the least possible."""

    u: np.ndarray  # one row (one row per class when there are more than two); the last column is the intercept, with bias
    loss: float  # of u, on the whole stream
    lower: float  # no model of the ball has less; with a penalty, no model has less of both together
    gap: float
    radius: float
    tolerance: float  # asked for, relative to max(1, loss)
    converged: bool  # whether the gap is within it
    passes: int  # over the stream
    penalty: float = 0.0  # of u
    norm: str = "l2"  # of the ball


class Problem(NamedTuple):
    """What is to be minimised."""

    loss: str
    radius: float
    epsilon: float = 0.0
    classes: int = 1
    bias: bool = True
    tolerance: float = 1e-3
    norm: str = "l2"  # of the ball
    l2: float = 0.0  # penalties, in place of a ball: l2/2 |w|^2 + l1 |w|_1, without the intercepts
    l1: float = 0.0
    rarest: float = 0.0  # weight of the class that has the least, with penalties


def losses(problem: Problem, f: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the true loss of each row at scores f (a column, or one for each class)."""
    if problem.classes > 2:
        return MANY[problem.loss](f, y, 1.0, problem.epsilon)[0]
    return ONE[problem.loss](f[:, 0], y, 1.0, problem.epsilon)[0]


# ---- one pass ----------------------------------------------------------------------------------------------------------
class Ask(NamedTuple):
    """What a solver wants to know: everything about L at u."""

    u: np.ndarray
    width: float  # of the kinks
    curved: bool  # whether the Hessian is wanted


class Answer:
    """Sums over a pass at one u."""

    def __init__(self, problem: Problem, ask: Ask) -> None:
        self.problem, self.ask = problem, ask
        self.loss = self.smooth = self.dual = 0.0
        self.g = np.zeros_like(ask.u)
        self.H = np.zeros((ask.u.size, ask.u.size)) if ask.curved else None
        self.terms = (MANY if problem.classes > 2 else ONE)[problem.loss]

    def add(self, chunk: Chunk) -> None:
        """Count one chunk."""
        rows, y, c = chunk
        p, u = self.problem, self.ask.u
        f = scores(rows, u, p.bias)
        loss, smooth, slope, dual, curve = self.terms(f if len(u) > 1 else f[:, 0], y, self.ask.width, p.epsilon)
        if c is not None:
            loss, smooth, dual, curve = loss * c, smooth * c, dual * c, curve * c if self.H is not None else curve
            slope = (slope.T * c).T
        self.loss += float(loss.sum())
        self.smooth += float(smooth.sum())
        self.dual += float(dual.sum())
        X = matrix(rows, u.shape[1] - p.bias)
        slopes = slope if slope.ndim == 2 else slope[:, None]
        add_slopes(self.g, X, slopes)
        if p.bias:
            self.g[:, -1] += slopes.sum(0)
        if self.H is not None:
            add_curvature(self.H, X, curve, p.bias)


# ---- the solver ----------------------------------------------------------------------------------------------------------
Solver = Generator[Ask, Answer, Best]


def solve(p: Problem, psi: Regularizer, memory: Memory, curved: bool, limit: int, watch: Watch | None = None) -> Solver:
    """Yield what has to be evaluated, receive the answers, return the best; the memory is left where the search ended."""
    smoothed = p.loss in KINKED or (p.classes > 2 and p.loss != "log")
    goal = u = origin = psi.inside(memory.u.ravel()).reshape(memory.u.shape)
    best_u, loss, upper, lower = u, math.inf, math.inf, 0.0  # no loss is negative
    here: Answer | None = None  # at the origin of the present step, while its kinks are as wide as now
    cuts = Cuts(u.size)
    by_sample = memory.rows is not None and not curved
    passes, share, damping = 0, 1.0, WARY if by_sample else STEADY
    while True:
        a = yield Ask(u, memory.width, curved)
        passes += 1
        plain, g = a.loss, a.g.ravel().copy()  # of the losses alone
        psi.bend(a)
        rough = psi.value(u.ravel())
        total = a.loss + rough
        if here is not None and not by_sample and not curved:
            memory.note((u - origin).ravel(), (a.g - here.g).ravel())
        if total < upper:
            best_u, loss, upper = u, plain, total
            psi.learn(upper)
        ahead = None if psi.bounded else _step(p, psi, memory, u, a, damping)
        within = psi if ahead is None else L2(2.0 * max(length(u), length(ahead)))
        cuts.add(a.dual, g, psi.free)
        bound = total if p.radius == 0.0 else cuts.lower(within)
        lower = min(upper, max(lower if ahead is None else 0.0, bound))
        target = p.tolerance * max(1.0, upper)
        if watch is not None:
            watch(passes, upper, lower)
        if upper - lower <= target or passes >= limit:
            break
        if here is not None:
            s = (u - origin).ravel()
            before = psi.value(origin.ravel())
            fall = float(here.g.ravel() @ s) + rough - before
            if a.smooth + rough > here.smooth + before + 1e-4 * fall:
                damping = max(10.0 * damping, 1e-5)
                share *= shorter(here.smooth, float(here.g.ravel() @ s), a.smooth, float(a.g.ravel() @ s))
                if share < 1e-9:
                    break
                u = origin + share * (goal - origin)
                continue
            too_far = by_sample and float(a.g.ravel() @ s) + rough - before > -0.3 * fall
            damping = 4.0 * damping if too_far else max(damping / (2.0 if by_sample else 10.0), STEADY)
        here, origin, share = a, u, 1.0
        goal = u = _step(p, psi, memory, u, a, damping) if ahead is None else ahead
        slack = plain - a.dual - float(g @ origin.ravel())  # what smoothing costs
        missing = total - max(bound, a.dual - within.conjugate(g)) - slack  # to the optimum of the smooth loss
        if smoothed and slack > 0.4 * target and missing < 2.0 * slack:
            memory.width *= min(0.7, max(0.15, math.sqrt(0.25 * target / slack)))
            here = None
    memory.u = best_u
    found = upper - lower <= target
    return Best(best_u, loss, lower, upper - lower, p.radius, p.tolerance, found, passes, upper - loss, p.norm)


def _step(p: Problem, psi: Regularizer, memory: Memory, u: np.ndarray, a: Answer, damping: float) -> np.ndarray:
    """Return the minimiser of a model of the objective."""
    if a.H is None and memory.rows is not None:
        return _by_sample(p, psi, memory, u, a.g, damping * memory.curvature * max(1.0, memory.widest / memory.width))
    flat, g = u.ravel(), a.g.ravel()
    if a.H is not None:
        return psi.by_hessian(flat, g, a.H, damping * memory.curvature / len(flat)).reshape(u.shape)
    return psi.by_pairs(flat, g, memory).reshape(u.shape)


def _by_sample(
    p: Problem, psi: Regularizer, memory: Memory, u: np.ndarray, g: np.ndarray, pull: float, rounds: int = 60
) -> np.ndarray:
    """Minimise the loss of the sample, its slope at u made that of the stream, with a pull towards u.

    Where the sample is like the stream its curvature is right, and a few such steps do what takes many gradients.
    """
    rows, width = memory.rows, memory.width
    assert rows is not None

    def at(v: np.ndarray) -> tuple[float, float, np.ndarray]:
        a = _evaluated(p, Ask(v.reshape(u.shape), width, False), rows)
        psi.bend(a)
        s = v - start
        return a.smooth + float(shift @ v) + 0.5 * pull * float(s @ s), psi.value(v), a.g.ravel() + shift + pull * s

    start = u.ravel()
    shift = np.zeros_like(start)
    shift = g.ravel() - at(start)[2]
    v, (f, rough, slope), enough = start, at(start), 0.0
    for k in range(rounds):
        missing = psi.missing(v, slope)
        enough = 0.03 * missing if k == 0 else enough
        goal = psi.by_pairs(v, slope, memory)
        share = 1.0
        while missing > enough and share > 1e-6:
            w = v + share * (goal - v)
            ahead, more, there = at(w)
            s = w - v
            fall = float(slope @ s)
            memory.note(s, there - slope)
            if ahead + more <= f + rough + 1e-4 * (fall + more - rough):
                v, f, rough, slope = w, ahead, more, there
                break
            share *= shorter(f, fall, ahead, float(there @ s))
        else:
            break
    return v.reshape(u.shape)


def _evaluated(p: Problem, ask: Ask, chunks: Iterable[Chunk]) -> Answer:
    answer = Answer(p, ask)
    for chunk in chunks:
        answer.add(chunk)
    return answer


# ---- streams -------------------------------------------------------------------------------------------------------------
def _checked(p: Problem, sample: Sample, chunk: Chunk) -> Chunk:
    rows, y, _ = chunk
    if rows.width > sample.width:
        raise ValueError(f"a row has {rows.width} features where the first pass found {sample.width}: the stream has changed")
    if p.classes > 2:
        if len(y) and (y.dtype.kind not in "iu" or y.min() < 0 or y.max() >= p.classes):
            raise ValueError(f"expected codes from 0 to {p.classes - 1} for {p.classes} classes, found {y.min()} to {y.max()}")
    elif p.loss not in REAL and not (np.abs(y) == 1).all():
        raise ValueError(f"the {p.loss} loss takes signs: expected -1 and +1, found {y[np.abs(y) != 1][0]}")
    return chunk


def _drive(problems: Sequence[Problem], solvers: Sequence[Solver], passes: Passes, sample: Sample) -> list[Best]:
    """Run solvers together: each pass over the stream answers what all of them ask."""
    found: dict[int, Best] = {}
    asked = {i: next(s) for i, s in enumerate(solvers)}
    while asked:
        answers = {i: Answer(problems[i], ask) for i, ask in asked.items()}
        for chunk in passes():
            for i, answer in answers.items():
                answer.add(_checked(problems[i], sample, chunk))
        for i, answer in answers.items():
            try:
                asked[i] = solvers[i].send(answer)
            except StopIteration as e:
                found[i] = e.value
                del asked[i]
    return [found[i] for i in range(len(solvers))]


def _first(p: Problem, sample: Sample, start: np.ndarray | None) -> Memory:
    """Return where to begin."""
    u = np.zeros((p.classes if p.classes > 2 else 1, sample.width + p.bias))
    if start is not None:
        given = np.atleast_2d(np.asarray(start, np.float64))
        if len(given) != len(u) or given.shape[1] > u.shape[1]:
            raise ValueError(f"start has shape {given.shape}, expected {u.shape} (or fewer features)")
        features = given.shape[1] - p.bias
        u[:, :features] = given[:, :features]
        if p.bias:
            u[:, -1] = given[:, -1]
    width = WIDE * max(sample.size_of_targets() if p.loss in REAL else 1.0, 1e-12)
    steep = STEEP.get(p.loss, 1.0 / width)
    scale = None if p.norm == "l2" and p.l1 == p.l2 == 0.0 else np.tile(sample.scale(p.bias), len(u))
    return Memory(u, width, max(2.0 * steep * sample.weight * sample.typical(p.bias) ** 2, 1e-12), scale)


def _regularizer(p: Problem, sample: Sample) -> Regularizer:
    """Return what is added to the loss."""
    if p.l1 == p.l2 == 0.0:
        return L1(p.radius) if p.norm == "l1" and math.isfinite(p.radius) else L2(p.radius)
    rows, width = p.classes if p.classes > 2 else 1, sample.width + p.bias
    free = np.arange(1, rows + 1) * width - 1 if p.bias else np.empty(0, np.intp)

    def of_targets(upper: float, longest: float) -> float:
        """By the inequality of Jensen: the mean residual is no larger than its loss allows."""
        mean = upper / sample.weight
        residual = math.sqrt(mean) if p.loss.startswith("square") else mean
        return residual + p.epsilon + sample.size_of_targets() + longest * sample.typical(False)

    def of_classes(upper: float, longest: float) -> float:
        """By the same, for the rows of one class: a loss is at least as large as what a rival is ahead."""
        return upper / p.rarest + longest * math.sqrt(2.0 * sample.squares / p.rarest)

    return Penalty(p.l2, p.l1, free, of_targets if p.loss in REAL else of_classes)


def best_of_many(
    passes: Passes,
    problems: Sequence[Problem],
    *,
    sample: Sample | None = None,
    starts: Sequence[np.ndarray | None] | None = None,
    max_passes: int = 200,
    watch: Watch | None = None,
    kept: int = KEPT,
) -> list[Best]:
    """Solve several problems on one stream, sharing its passes. A sample someone has made saves the first of them."""
    for p in problems:
        refuse(p)
    first = 0 if sample is not None else 1
    sample = sampled(passes, kept) if sample is None else sample
    memories = [_first(p, sample, start) for p, start in zip(problems, starts or [None] * len(problems), strict=True)]
    curved = [
        p.classes <= 2 and m.u.size <= SMALL and sample.nnz <= SHORT * max(1, sample.n)
        for p, m in zip(problems, memories, strict=True)
    ]
    given = list(zip(problems, memories, curved, strict=True))
    rows = sample.chunks
    if sample.complete:
        solvers = [solve(p, _regularizer(p, sample), m, h, 1000, watch) for p, m, h in given]
        return [b._replace(passes=first) for b in _drive(problems, solvers, lambda: rows, sample)]
    solvers = [solve(p._replace(tolerance=max(p.tolerance, 1e-2)), _regularizer(p, sample), m, h, 100) for p, m, h in given]
    _drive(problems, solvers, lambda: rows, sample)
    for m in memories:
        m.rows = rows if sum(chunk[0].n for chunk in rows) >= ENOUGH else None
    solvers = [solve(p, _regularizer(p, sample), m, h, max(1, max_passes - first), watch) for p, m, h in given]
    return [b._replace(passes=b.passes + first) for b in _drive(problems, solvers, passes, sample)]


def best_fixed(
    passes: Passes,
    loss: str,
    *,
    radius: float,
    tolerance: float = 1e-3,
    epsilon: float = 0.0,
    classes: int = 1,
    bias: bool = True,
    norm: str = "l2",
    start: np.ndarray | None = None,
    max_passes: int = 200,
    watch: Watch | None = None,
    kept: int = KEPT,
) -> Best:
    """Return the model of least total loss within the ball |u| <= radius (|u|_1 <= radius with norm="l1"), to a stated gap.

    `passes()` starts a new pass: (Rows, y, weights or None) chunks, y signs or real targets, or codes 0 ... classes - 1 when there
    are more than two classes (one row of u for each, and the ball is that of all rows together). The constant feature of `bias` is
    inside the ball, as learners have it. `kept` is how many bytes of rows may stay in memory; `watch(passes, upper, lower)` is told
    after every pass. With an infinite radius the gap holds for models up to twice as long as u.
    """
    problem = Problem(loss, float(radius), float(epsilon), classes, bias, tolerance, norm)
    return best_of_many(passes, [problem], starts=[start], max_passes=max_passes, watch=watch, kept=kept)[0]


def refuse(p: Problem) -> None:
    """Refuse what cannot be solved."""
    known = MANY if p.classes > 2 else ONE
    if p.loss not in known:
        many = f" for {p.classes} classes" if p.classes > 2 else ""
        raise ValueError(f"loss must be one of {', '.join(known)}{many}, got {p.loss!r}")
    if not p.radius >= 0.0:
        raise ValueError(f"radius must be at least 0, got {p.radius!r}")
    if p.norm not in NORMS:
        raise ValueError(f"norm must be one of {', '.join(NORMS)}, got {p.norm!r}")
    if not p.tolerance > 0.0:
        raise ValueError(f"tolerance must be above 0, got {p.tolerance!r}")
