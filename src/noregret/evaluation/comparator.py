"""The best fixed model in hindsight: the least total loss within a ball, with a certificate, by passes over a stream.

L(u) = sum_t c_t loss(u.x_t, y_t) is convex. Every pass evaluates it at one u, with dual variables a_t (the slopes of the loss, or
of a smooth loss close to it where it has a kink). Any such a gives a true lower bound,
L* >= sum_t -loss_t*(a_t) - r |sum_t a_t x_t|, so upper - lower is a gap that nobody needs to take on trust.

How few passes: a bounded sample of the rows is kept from the first one (all of them, when they fit: then there is no other pass),
the problem is solved on the sample, and passes over the stream go on from there. The step is the minimiser over the ball of a
model: with the true Hessian where there are few features; where there are many, the loss of the sample corrected to the gradient of
the stream, minimised by L-BFGS. Several problems on one stream share its passes.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from ..core.bounds import lengths_of, matrix, scores
from ..core.inputs import Rows
from .curvature import add_curvature, add_slopes
from .smooth import KINKED, MANY, ONE, REAL, STEEP

Chunk = tuple[Rows, np.ndarray, np.ndarray | None]  # rows; signs, targets or codes; weights or None
Passes = Callable[[], Iterable[Chunk]]
Watch = Callable[[int, float, float], None]  # passes so far, upper, lower

KEPT = 2**26  # bytes of rows kept from the first pass
SMALL = 1000  # features up to which the Hessian is formed
SHORT = 300  # numbers per row up to which that is cheap
STEADY = 1e-9  # share of the largest possible curvature that a Hessian always has added
WARY = 1e-4  # the same, at first, where a sample stands for the stream
ENOUGH = 100  # rows that may do so
WIDE = 4.0  # width of the first smooth kink: it covers a score of 0, where everything begins


class Best(NamedTuple):
    """The best fixed model found: its loss is at most `gap` above the least possible within the ball."""

    u: np.ndarray  # one row (one row per class when there are more than two); the last column is the intercept, with bias
    loss: float  # of u, on the whole stream
    lower: float  # no model of the ball has less
    gap: float
    radius: float
    tolerance: float  # asked for, relative to max(1, loss)
    converged: bool  # whether the gap is within it
    passes: int  # over the stream


class Problem(NamedTuple):
    """What is to be minimised."""

    loss: str
    radius: float
    epsilon: float = 0.0
    classes: int = 1
    bias: bool = True
    tolerance: float = 1e-3


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
class Memory:
    """What a solver has learned of the landscape, good on the whole stream as on a sample of it."""

    def __init__(self, u: np.ndarray, width: float, curvature: float) -> None:
        self.u, self.width, self.curvature = u, width, curvature
        self.widest = width  # the kinks of which the curvature is
        self.keep = 8 if u.size <= 1_000_000 else 4
        self.vectors = np.zeros((2 + 2 * self.keep, u.size))  # room for a point and its slope; steps; what they did to the slope
        self.order: deque[int] = deque(maxlen=self.keep)  # of the steps, the last one last
        self.rows: list[Chunk] | None = None  # a sample to step by, while the answers are those of the whole stream

    def note(self, s: np.ndarray, y: np.ndarray) -> None:
        """Keep a step and what it did to the gradient."""
        if float(s @ y) > 1e-10 * math.sqrt(float(s @ s) * float(y @ y)):
            place = self.order[0] if len(self.order) == self.keep else len(self.order)
            self.order.append(place)
            self.vectors[2 + place], self.vectors[2 + self.keep + place] = s, y


class Cuts:
    """The last lower bounds dual_k - r |g_k|. A mixture of dual variables is feasible too, and the best mixture bounds better."""

    def __init__(self, size: int) -> None:
        self.slopes, self.duals = np.zeros((5, size)), np.zeros(5)
        self.count = 0

    def add(self, dual: float, g: np.ndarray) -> None:
        """Take another bound; the oldest goes, but not the mixture in front."""
        place = self.count if self.count < 5 else 1 + (self.count - 1) % 4
        self.slopes[place], self.duals[place] = g, dual
        self.count += 1

    def lower(self, radius: float, rounds: int = 200) -> float:
        """Return the best bound found among the mixtures; that mixture takes the first place."""
        g, b = self.slopes[: self.count], self.duals[: self.count]
        Q = radius**2 * (g @ g.T)
        mix = np.zeros(len(b))
        mix[np.argmax(b - np.sqrt(np.diag(Q)))] = 1.0
        for _ in range(rounds):
            Qm = Q @ mix
            size = math.sqrt(max(float(mix @ Qm), 1e-300))
            gain = b - Qm / size
            i, j = int(np.argmax(gain)), int(np.argmin(np.where(mix > 0.0, gain, math.inf)))
            if gain[i] - gain[j] <= 1e-9 * max(1.0, abs(float(b @ mix))):
                break
            step = min(float(mix[j]), _exchange(b[i] - b[j], size**2, Qm[i] - Qm[j], Q[i, i] - 2.0 * Q[i, j] + Q[j, j]))
            mix[i] += step
            mix[j] = mix[j] - step if step < mix[j] else 0.0
        found = float(b @ mix) - math.sqrt(max(0.0, float(mix @ Q @ mix)))
        self.slopes[0], self.duals[0] = mix @ g, b @ mix
        return found


def _exchange(gain: float, q: float, slope: float, curve: float) -> float:
    """Return the step t >= 0 that maximises gain t - sqrt(q + 2 slope t + curve t^2)."""
    if curve <= 0.0:
        return math.inf
    k = gain / math.sqrt(curve)
    left = max(0.0, q - slope * slope / curve) / curve
    return math.inf if k >= 1.0 else max(0.0, k * math.sqrt(left / (1.0 - k * k)) - slope / curve) if k > -1.0 else 0.0


Solver = Generator[Ask, Answer, Best]


def solve(p: Problem, memory: Memory, curved: bool, limit: int, watch: Watch | None = None) -> Solver:
    """Yield what has to be evaluated, receive the answers, return the best; the memory is left where the search ended."""
    smoothed = p.loss in KINKED or (p.classes > 2 and p.loss != "log")
    goal = u = origin = _inside(memory.u, p.radius)
    best_u, upper, lower = u, math.inf, 0.0  # no loss is negative
    here: Answer | None = None  # at the origin of the present step, while its kinks are as wide as now
    cuts = Cuts(u.size)
    by_sample = memory.rows is not None and not curved
    passes, share, damping = 0, 1.0, WARY if by_sample else STEADY
    while True:
        a = yield Ask(u, memory.width, curved)
        passes += 1
        if here is not None and not by_sample and not curved:
            memory.note((u - origin).ravel(), (a.g - here.g).ravel())
        if a.loss < upper:
            best_u, upper = u, a.loss
        ahead = None if math.isfinite(p.radius) else _step(p, memory, u, a, damping)
        far = p.radius if ahead is None else 2.0 * max(_length(u), _length(ahead))
        cuts.add(a.dual, a.g.ravel())
        bound = a.loss if p.radius == 0.0 else cuts.lower(far)
        lower = min(upper, max(lower if ahead is None else 0.0, bound))
        target = p.tolerance * max(1.0, upper)
        if watch is not None:
            watch(passes, upper, lower)
        if upper - lower <= target or passes >= limit:
            break
        if here is not None:
            s = (u - origin).ravel()
            fall = float(here.g.ravel() @ s)
            if a.smooth > here.smooth + 1e-4 * fall:
                damping = max(10.0 * damping, 1e-5)
                share *= _shorter(here.smooth, fall, a.smooth, float(a.g.ravel() @ s))
                if share < 1e-9:
                    break
                u = origin + share * (goal - origin)
                continue
            damping = max(damping / (2.0 if by_sample else 10.0), STEADY)
        here, origin, share = a, u, 1.0
        goal = u = _step(p, memory, u, a, damping) if ahead is None else ahead
        missing = float((a.g * origin).sum()) + far * _length(a.g)  # to the optimum of the smooth loss
        slack = a.loss - a.dual + far * _length(a.g) - missing  # what smoothing costs
        if smoothed and slack > 0.4 * target and missing < 2.0 * slack:
            memory.width *= min(0.7, max(0.15, math.sqrt(0.25 * target / slack)))
            here = None
    memory.u = best_u
    return Best(best_u, upper, lower, upper - lower, p.radius, p.tolerance, upper - lower <= target, passes)


def _length(v: np.ndarray) -> float:
    return float(np.linalg.norm(v))


def _inside(u: np.ndarray, radius: float) -> np.ndarray:
    """Return u, pulled back into the ball if it is outside."""
    length = _length(u)
    return u if length <= radius else u * (radius / length)


def _shorter(f0: float, fall: float, f1: float, slope: float) -> float:
    """Return the share of a step that was too long to try next: the minimiser of a cubic through values and slopes."""
    d = fall + slope - 3.0 * (f1 - f0)
    root = d * d - fall * slope
    if root < 0.0:
        return 0.5
    bottom = slope - fall + 2.0 * math.sqrt(root)
    return min(0.7, max(0.05, 1.0 - (slope + math.sqrt(root) - d) / bottom)) if bottom > 0.0 else 0.5


def _step(p: Problem, memory: Memory, u: np.ndarray, a: Answer, damping: float) -> np.ndarray:
    """Return the minimiser of a model of L within the ball."""
    flat, g = u.ravel(), a.g.ravel()
    if a.H is None and memory.rows is not None:
        return _by_sample(p, memory, u, a.g, damping * memory.curvature * max(1.0, memory.widest / memory.width))
    if a.H is not None:
        v = _by_hessian(flat, g, a.H, damping * memory.curvature / len(flat), p.radius)
    else:
        v = _by_pairs(flat, g, memory, p.radius)
    return _inside(v.reshape(u.shape), p.radius)


def _multiplier(length: Callable[[float], float], radius: float, scale: float) -> float:
    """Return the least multiplier >= 0 that brings the minimiser into the ball; its length falls as the multiplier grows."""
    if not math.isfinite(radius) or length(0.0) <= radius:
        return 0.0
    high = scale
    while length(high) > radius:
        high *= 10.0
    low = high
    while length(low) <= radius and low > 1e-18 * scale:
        low *= 0.1
    for _ in range(60):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if length(middle) > radius else (low, middle)
        if high <= low * (1.0 + 1e-12):
            break
    return high


def _by_hessian(u: np.ndarray, g: np.ndarray, H: np.ndarray, damping: float, radius: float) -> np.ndarray:
    values, Q = np.linalg.eigh(H)
    values = np.maximum(values, 0.0) + damping
    wanted = values * (Q.T @ u) - Q.T @ g
    found = _multiplier(lambda m: _length(wanted / (values + m)), radius, float(values.mean()))
    v: np.ndarray = Q @ (wanted / (values + found))
    return v


def _by_pairs(u: np.ndarray, g: np.ndarray, memory: Memory, radius: float) -> np.ndarray:
    """Minimise with B = sigma I - W M^-1 W', W = [sigma S, Y]: all in the span of u, g, S and Y, by their inner products."""
    k, V = len(memory.order), memory.vectors
    V[0], V[1] = u, g
    used = [0, 1, *(2 + i for i in memory.order), *(2 + memory.keep + i for i in memory.order)]
    G = (V @ V.T)[np.ix_(used, used)]
    if k == 0:
        sigma = memory.curvature
        W = np.zeros((2, 0))
        M = np.zeros((0, 0))
    else:
        SY = G[2 : 2 + k, 2 + k :]
        sigma = float(G[-1, -1] / SY[-1, -1])
        M = np.block([[sigma * G[2 : 2 + k, 2 : 2 + k], np.tril(SY, -1)], [np.tril(SY, -1).T, -np.diag(np.diag(SY))]])
        W = np.zeros((2 + 2 * k, 2 * k))
        W[2 : 2 + k, :k], W[2 + k :, k:] = sigma * np.eye(k), np.eye(k)
    wanted = np.zeros(2 + 2 * k)
    wanted[:2] = sigma, -1.0
    if k:
        wanted -= W @ np.linalg.solve(M, W.T @ G[:, 0])
    WW, Ww = W.T @ G @ W, W.T @ G @ wanted

    def minimiser(m: float) -> np.ndarray:
        tau = sigma + m
        inner = W @ np.linalg.solve(M - WW / tau, Ww) / tau if k else 0.0
        v: np.ndarray = (wanted + inner) / tau
        return v

    def length(m: float) -> float:
        v = minimiser(m)
        return math.sqrt(max(0.0, float(v @ G @ v)))

    shares = np.zeros(len(V))
    shares[used] = minimiser(_multiplier(length, radius, sigma))
    v: np.ndarray = shares @ V
    return v


def _by_sample(p: Problem, memory: Memory, u: np.ndarray, g: np.ndarray, pull: float, rounds: int = 60) -> np.ndarray:
    """Minimise the loss of the sample, its slope at u made that of the stream, with a pull towards u.

    Where the sample is like the stream its curvature is right, and a few such steps do what takes many gradients.
    """
    rows, width = memory.rows, memory.width
    assert rows is not None

    def at(v: np.ndarray) -> tuple[float, np.ndarray]:
        a = _evaluated(p, Ask(v, width, False), rows)
        s = v - u
        return a.smooth + float((shift * v).sum()) + 0.5 * pull * float((s * s).sum()), a.g + shift + pull * s

    shift = np.zeros_like(g)
    shift = g - at(u)[1]
    v, (f, slope), enough = u, at(u), 0.0
    for k in range(rounds):
        missing = _length(slope) * (p.radius if math.isfinite(p.radius) else 1.0)
        missing += float((slope * v).sum()) if math.isfinite(p.radius) else 0.0
        enough = 0.03 * missing if k == 0 else enough
        goal = _inside(_by_pairs(v.ravel(), slope.ravel(), memory, p.radius).reshape(v.shape), p.radius)
        share = 1.0
        while missing > enough and share > 1e-6:
            w = v + share * (goal - v)
            ahead, there = at(w)
            s = (w - v).ravel()
            fall = float(slope.ravel() @ s)
            memory.note(s, (there - slope).ravel())
            if ahead <= f + 1e-4 * fall:
                v, f, slope = w, ahead, there
                break
            share *= _shorter(f, fall, ahead, float(there.ravel() @ s))
        else:
            break
    return v


def _evaluated(p: Problem, ask: Ask, chunks: Iterable[Chunk]) -> Answer:
    answer = Answer(p, ask)
    for chunk in chunks:
        answer.add(chunk)
    return answer


# ---- streams -------------------------------------------------------------------------------------------------------------
class Sample:
    """Rows kept from a pass, at most so many bytes: all of them, or each with the same chance; and what must be known of all.

    Whoever reads the stream anyway can `add` its chunks here, and save a pass.
    """

    def __init__(self, kept: int = KEPT) -> None:
        self.kept, self.bytes, self.chance = kept, 0, 1.0
        self.chunks: list[Chunk] = []
        self.random = np.random.default_rng(0)
        self.n = self.width = self.nnz = 0
        self.weight = self.squares = self.targets = 0.0  # sums of c, c |x|^2, c y^2

    def add(self, rows: Rows, y: np.ndarray, c: np.ndarray | None = None) -> None:
        """Count these rows, and keep some."""
        self.n += rows.n
        self.width = max(self.width, rows.width)
        weights = np.ones(rows.n) if c is None else c
        self.weight += float(weights.sum())
        self.squares += float(weights @ lengths_of(rows) ** 2)
        self.targets += float(weights @ np.asarray(y, np.float64) ** 2)
        self.nnz += int(rows.stored()[-1] - rows.stored()[0])
        self._keep((rows, y, c) if self.chance == 1.0 else self._thin((rows, y, c), self.chance))
        while self.bytes > self.kept:
            self.chance *= 0.5
            chunks, self.chunks, self.bytes = self.chunks, [], 0
            for chunk in chunks:
                self._keep(self._thin(chunk, 0.5))

    def _keep(self, chunk: Chunk) -> None:
        rows, y, c = chunk
        if rows.n:
            arrays = tuple(np.array(a) for a in _own(rows))  # a reader may use its buffers again
            self.chunks.append((rows._replace(arrays=arrays), np.array(y), None if c is None else np.array(c)))
            self.bytes += sum(a.nbytes for a in arrays) + 16 * rows.n

    def _thin(self, chunk: Chunk, chance: float) -> Chunk:
        rows, y, c = chunk
        at = np.flatnonzero(self.random.random(rows.n) < chance)
        weights = np.ones(rows.n) if c is None else c
        return rows.take(at), y[at], weights[at] / chance

    @property
    def complete(self) -> bool:
        """Whether every row is here, in order."""
        return self.chance == 1.0

    def typical(self, bias: bool) -> float:
        """Return the root mean square length of a row."""
        return math.sqrt(self.squares / self.weight + bias) if self.weight > 0.0 else 0.0


def _own(rows: Rows) -> tuple[np.ndarray, ...]:
    if rows.layout == "dense":
        return rows.arrays
    indptr, indices, data = rows.arrays
    a, b = int(indptr[0]), int(indptr[-1])
    return indptr - indptr[0], indices[a:b], data[a:b]


def sampled(passes: Passes, kept: int = KEPT) -> Sample:
    """Return a sample of a stream, by a pass over it."""
    found = Sample(kept)
    for rows, y, c in passes():
        found.add(rows, y, c)
    return found


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
    scale = math.sqrt(sample.targets / sample.weight) if p.loss in REAL and sample.weight > 0.0 else 1.0
    width = WIDE * max(scale, 1e-12)
    steep = STEEP.get(p.loss, 1.0 / width)
    return Memory(u, width, max(2.0 * steep * sample.weight * sample.typical(p.bias) ** 2, 1e-12))


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
        _refuse(p)
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
        solvers = [solve(p, m, h, 1000, watch) for p, m, h in given]
        return [b._replace(passes=first) for b in _drive(problems, solvers, lambda: rows, sample)]
    solvers = [solve(p._replace(tolerance=max(p.tolerance, 1e-2)), m, h, 100) for p, m, h in given]
    _drive(problems, solvers, lambda: rows, sample)
    for m in memories:
        m.rows = rows if sum(chunk[0].n for chunk in rows) >= ENOUGH else None
    solvers = [solve(p, m, h, max(1, max_passes - first), watch) for p, m, h in given]
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
    start: np.ndarray | None = None,
    max_passes: int = 200,
    watch: Watch | None = None,
    kept: int = KEPT,
) -> Best:
    """Return the model of least total loss within the ball |u| <= radius, to a stated gap.

    `passes()` starts a new pass: (Rows, y, weights or None) chunks, y signs or real targets, or codes 0 ... classes - 1 when there
    are more than two classes (one row of u for each, and the ball is that of all rows together). The constant feature of `bias` is
    inside the ball, as learners have it. `kept` is how many bytes of rows may stay in memory; `watch(passes, upper, lower)` is told
    after every pass. With an infinite radius the gap holds for models up to twice as long as u.
    """
    problem = Problem(loss, float(radius), float(epsilon), classes, bias, tolerance)
    return best_of_many(passes, [problem], starts=[start], max_passes=max_passes, watch=watch, kept=kept)[0]


def _refuse(p: Problem) -> None:
    known = MANY if p.classes > 2 else ONE
    if p.loss not in known:
        raise ValueError(f"loss must be one of {', '.join(known)} for {max(p.classes, 1)} classes, got {p.loss!r}")
    if not p.radius >= 0.0:
        raise ValueError(f"radius must be at least 0, got {p.radius!r}")
    if not p.tolerance > 0.0:
        raise ValueError(f"tolerance must be above 0, got {p.tolerance!r}")
