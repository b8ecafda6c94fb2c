"""Regret: the loss of a learner minus that of the best fixed model in hindsight, along the stream, and what a theorem allows.

The curve compares with ONE u at every prefix, the best for the whole stream: the theorems hold for any u at any time, so their
bounds may be drawn beside it. It is not the best u of the prefix, and early regret may be below 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...algorithm.bounds import SIMPLEX, Comparison, Running, scores
from ...learners.learner import Learner, has_bias
from ...parts.projections import L1Ball, L2Ball
from ..kinds import loss_of
from .ordinary_least_squares import least_squares
from .row_sample import KEPT, Passes, Sample, sampled
from .smoothed_losses import REAL
from .solver import Best, Problem, Watch, best_of_many, losses

SCORE = 20.0  # scores (over the size of y) that the default ball reaches on a typical row
ROOM = (1.000001, 1.1)  # times the length of the least-squares solution: of all rows, or of those kept, which is near


class Want(NamedTuple):
    """What a learner is compared with."""

    loss: str
    epsilon: float = 0.0
    radius: float | None = None  # None: `default_radius` of the stream
    bias: bool = True
    p: float = 2.0  # the norm of its theorem
    norm: str = "l2"  # of the ball


class Hindsight(NamedTuple):
    """The best fixed model, and its figures at each point of the stream."""

    best: Best
    points: list[int]  # numbers of examples
    cumulative: list[float]  # its loss so far
    comparisons: list[Comparison]
    weighted: bool  # whether some example has a weight other than 1: the theorems are for none
    passes: int  # over the stream, all in all
    zero: tuple[float, ...] = (0.0, 0.0)  # what weights of 0 lose, and the sum of the squares of that


def radius_of(learner: Learner, norm: str = "l2") -> float | None:
    """Return the radius of a learner's own ball in this norm, None where it has none."""
    region = getattr(learner, "projection", None)
    if isinstance(region, L1Ball if norm == "l1" else L2Ball):
        return float(region.radius)
    if norm == "l1" and "U" in learner.defaults:
        return float(learner.U)
    return float(learner.radius) if region == norm else None


def default_radius(reach: float, y_rms: float = 1.0) -> float:
    """Return the radius of the ball in which scores reach 20 (times the size of y) on a typical row.

    `reach` is the root mean square of |x|, or of |x|_inf for an L1 ball: how far a model of length 1 gets on a row.
    """
    return SCORE * y_rms / reach if reach > 0.0 else SCORE


def want_of(learner: Learner, norm: str = "l2") -> Want:
    """Return what a learner is compared with: the ball of this norm."""
    bias = has_bias(learner)
    return Want(*loss_of(learner), radius_of(learner, norm), bias, float(getattr(learner, "p", 2.0)), norm)


class Unmeasurable(ValueError):
    """Rows of which no best fixed model can be found."""


def hindsight(
    passes: Passes,
    wanted: Iterable[Want],
    *,
    classes: int,
    points: Sequence[int],
    tolerance: float = 1e-3,
    sample: Sample | None = None,
    starts: Mapping[Want, np.ndarray] | None = None,
    max_passes: int = 200,
    watch: Watch | None = None,
    kept: int = KEPT,
) -> dict[Want, Hindsight]:
    """Return the best fixed model of each kind wanted, with its loss and its figures at the points of the curve.

    All of them share each pass over the stream; a `sample` that the caller has already filled saves the first, and all of them
    when every row is in it. Rows of weight 0 do not count. `starts` are models to begin from, as `Best.u` has them.
    """
    more = 1 if sample is None else 0
    sample = sampled(passes, kept) if sample is None else sample
    if not sample.measurable:
        raise Unmeasurable("there are features or targets whose squares are too large for a number")
    more += 0 if sample.complete else 1  # the last pass, for the curves
    wanted = list(dict.fromkeys(wanted))
    solutions = {bias: least_squares(sample, bias) for bias in {w.bias for w in wanted if w.loss in REAL}}
    problems = {w: _problem(w, sample, solutions.get(w.bias), classes, tolerance) for w in wanted}
    distinct = list(dict.fromkeys(problems.values()))
    given = {p: solutions.get(p.bias) for p in distinct if p.loss in REAL}
    given |= {problems[w]: u for w, u in (starts or {}).items()}
    found = best_of_many(
        passes, distinct, sample=sample, starts=[given.get(p) for p in distinct], max_passes=max_passes, watch=watch
    )
    best = dict(zip(distinct, found, strict=True))
    rows = sample.chunks
    curves = _curves((lambda: rows) if sample.complete else passes, {w: (problems[w], best[problems[w]]) for w in wanted}, points)
    return {w: h._replace(passes=h.best.passes + more) for w, h in curves.items()}


def _problem(w: Want, sample: Sample, solution: np.ndarray | None, classes: int, tolerance: float) -> Problem:
    radius = w.radius if w.radius is not None else _radius(w, sample, solution)
    return Problem(w.loss, radius, w.epsilon, classes if classes > 2 else 1, w.bias, tolerance, w.norm)


def _radius(w: Want, sample: Sample, solution: np.ndarray | None) -> float:
    """Return the default radius; for real targets the ball also holds the least-squares solution, where that is known."""
    typical = sample.typical(w.bias, w.norm)
    if w.loss not in REAL:
        return default_radius(typical)
    length = 0.0 if solution is None else float(np.linalg.norm(solution[0], 1 if w.norm == "l1" else 2))
    return max(default_radius(typical, sample.size_of_targets()), ROOM[0 if sample.complete else 1] * length)


def _curves(passes: Passes, solved: Mapping[Want, tuple[Problem, Best]], points: Sequence[int]) -> dict[Want, Hindsight]:
    """Follow every model along the stream."""
    if list(points) != sorted(set(points)) or (len(points) and points[0] < 1):
        raise ValueError(f"points must be increasing numbers of examples, got {list(points)[:5]} ...")
    running = {w: Running(b.u, epsilon=w.epsilon, p=w.p, bias=w.bias) for w, (_, b) in solved.items()}
    found = {w: Hindsight(b, [], [], [], False, 0) for w, (_, b) in solved.items()}
    totals = dict.fromkeys(solved, 0.0)
    zeros = {w: np.zeros(2) for w in solved}
    done, due = 0, list(reversed(points))
    for rows, y, c in passes():
        if c is not None and not c.all():
            keep = np.flatnonzero(c)
            rows, y, c = rows.take(keep), y[keep], c[keep]
        a = 0
        while a < rows.n and due:
            b = min(rows.n, a + due[-1] - done)
            part, t, v = rows.cut(a, b), y[a:b], None if c is None else c[a:b]
            done, a = done + b - a, b
            for w, (problem, best) in solved.items():
                running[w].add(part, t, v)
                each = losses(problem, scores(part, best.u, w.bias), t)
                totals[w] += float(each.sum() if v is None else each @ v)
                still = losses(problem, np.zeros((part.n, len(best.u))), t)
                zeros[w] += np.array([still, still**2]) @ (np.ones(part.n) if v is None else v)
            if done == due[-1]:
                due.pop()
                for w, h in found.items():
                    h.points.append(done)
                    h.cumulative.append(totals[w])
                    h.comparisons.append(running[w].figures())
    if due:
        raise ValueError(f"the stream ended after {done} examples, before the point at {due[-1]}: has it changed since?")
    return {w: h._replace(weighted=running[w].weighted, zero=tuple(zeros[w].tolist())) for w, h in found.items()}


# ---- the report ----------------------------------------------------------------------------------------------------------
def why_not(learner: Learner, hindsight: Hindsight) -> str | None:
    """Return why the theorem of a learner says nothing here, None if it may."""
    given, theorem = learner.get_params(), learner.algorithm.bound
    if callable(learner.bound):
        return f"the guarantee of {learner.name} is not against a linear model"
    if theorem is None:
        return f"none is known for {learner.name}"
    if given.get("kernel") is not None:
        return "the theorem compares with a model in the space of the kernel, and the best model found is linear"
    if hindsight.weighted or given.get("class_weight") is not None:
        return "examples have weights, and the theorem is for none"
    if given.get("average") and theorem.measures != "updates":
        return "the theorem is about the last weights, not their average"
    if given.get("cost") is not None:
        return "the theorem is for equal costs"
    against = SIMPLEX if type(given.get("projection")).__name__ == "Simplex" else theorem.against
    if against:
        return f"the theorem compares with {against}"
    if given.get("projection") in ("simplex", "box") or type(given.get("projection")).__name__ in ("Box", "HalfSpace"):
        return "the theorem compares with models of the learner's own region, and the best model of a ball need not be there"
    return None


def regret_of(
    learner: Learner,
    hindsight: Hindsight,
    cumulative: Sequence[float],
    counts: Mapping[str, Sequence[float]],
    *,
    why: str | None = None,
) -> dict[str, Any]:
    """Return the regret of a learner as plain data: the keys of a report.

    `cumulative` is its loss at the points of the hindsight; `counts` holds "mistakes", "updates", "squared_hinge" or "squared_tube"
    there (what its theorem is about must be among them); `why`, if given, says why no theorem applies to this run.
    """
    best, comparisons = hindsight.best, hindsight.comparisons
    if len(cumulative) != len(comparisons) or not comparisons:
        raise ValueError(
            f"{len(cumulative)} cumulative losses for {len(comparisons)} points: expected one for each, and at least one"
        )
    why = why or why_not(learner, hindsight)
    regrets = [float(mine) - theirs for mine, theirs in zip(cumulative, hindsight.cumulative, strict=True)]
    theorem = learner.algorithm.bound
    measures: str = theorem.measures if theorem is not None else ""
    measured = regrets if measures == "regret" else [float(v) for v in counts[measures]] if measures in counts else None
    bounds: list[float | None] = [None] * len(comparisons)
    if why is None:
        params = learner.parameters.resolve(learner.get_params(), best.u.shape[1])
        bounds = [_finite(theorem.value(t, params)) for t in comparisons]
        why = theorem.requires if bounds[-1] is None else None
    return {
        "loss": loss_of(learner)[0],
        "cumulative": float(cumulative[-1]),
        "comparator": hindsight.cumulative[-1],
        "value": regrets[-1],
        "average": regrets[-1] / hindsight.points[-1],
        "radius": _finite(best.radius),
        "norm": best.norm,
        "tolerance": best.tolerance,
        "lower": best.lower,
        "gap": best.gap,
        "converged": best.converged,
        "passes": hindsight.passes,
        "bound": bounds[-1],
        "bound_name": theorem.name if bounds[-1] is not None else None,
        "bound_measures": measures if bounds[-1] is not None else None,
        "bound_why": why,
        "vacuous": None if bounds[-1] is None else bounds[-1] >= trivial(measures, hindsight),
        "measured": measured[-1] if measured is not None else None,
        "curve": {
            "examples": list(hindsight.points),
            "cumulative": [float(v) for v in cumulative],
            "comparator": list(hindsight.cumulative),
            "regret": regrets,
            "average": [v / n for v, n in zip(regrets, hindsight.points, strict=True)],
            "bound": bounds,
            "measured": measured if measured is not None else [None] * len(regrets),
        },
    }


def trivial(measures: str, hindsight: Hindsight) -> float:
    """Return what needs no theorem: a mistake in every round, or what weights lose that stay 0."""
    lost, squares = hindsight.zero
    known = {"regret": lost - hindsight.cumulative[-1], "squared_hinge": squares, "squared_tube": squares}
    return known.get(measures, float(hindsight.points[-1]))


def regret_of_pool(learner: Any, points: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the regret of a pool against the best of its learners, in the same keys; each point has a "standing"."""
    points = [p for p in points if p["standing"] is not None]  # nothing is learned before the first of late labels
    examples = [p["examples"] for p in points]
    paid, best, regrets, bounds = ([p["standing"][k] for p in points] for k in ("paid", "best", "regret", "bound"))
    bound, unbounded = _finite(bounds[-1]), learner.loss in ("log", "square")  # a round may cost any number
    winner = min(learner.report()["learners"], key=lambda member: member["loss"])
    return {
        "loss": learner.loss if unbounded else "zero_one",
        "against": f"the best learner of the pool, {winner['learner']},",
        "cumulative": paid[-1],
        "comparator": best[-1],
        "value": regrets[-1],
        "average": regrets[-1] / examples[-1],
        "bound": bound,
        "bound_name": learner.bound_name_ if bound is not None else None,
        "bound_measures": "regret" if bound is not None else None,
        "vacuous": None if bound is None or unbounded else bound >= examples[-1] - best[-1],
        "bound_why": None if bound is not None else "it is for sample weights of at most 1, and for the log loss at eta = 1",
        "curve": {
            "examples": examples,
            "cumulative": paid,
            "comparator": best,
            "regret": regrets,
            "average": [v / n for v, n in zip(regrets, examples, strict=True)],
            "bound": [_finite(v) for v in bounds],
            "measured": regrets,
        },
    }


def _finite(v: float) -> float | None:
    return float(v) if math.isfinite(v) else None
