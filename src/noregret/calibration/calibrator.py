"""The calibrator of a learner: two classes by `platt`, more by `vector_scaling`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from ..engine.compiling import compiled
from ..files.json_values import Tensors, expect
from .calibration import Calibration, Scores, check_weights, of_two, stacked, widened
from .joining import joined_many, joined_two, turned
from .platt import EDGE, RUNS, M, forecast_two, learn_two
from .vector_scaling import ALL_RUNS, forecast_many, learn_many

KNOTS = 2 * EDGE + 1
BOTH = ("theta", "Lambda", "knots", "weights")
ALL = ("totals", "a", "A", "b", "B", "top_knots", *BOTH)


class Calibrator(Calibration):
    """Two classes by `platt`; the third that appears begins `vector_scaling`."""

    def __init__(self, known: int = 0) -> None:
        self.state = new_state(known)

    @property
    def many(self) -> bool:
        """Whether there are more than two classes."""
        return "b" in self.state

    @property
    def known(self) -> int:
        """The number of classes that have probabilities."""
        return self.state["b"].shape[1] if self.many else 2

    def follow(self, scores: Scores, y: np.ndarray, c: np.ndarray | None) -> np.ndarray:
        """Return the probabilities of rows by code, from before each is learned."""
        weights = np.ones(len(y)) if c is None else np.asarray(c, np.float64)
        y = np.asarray(y, np.int64)
        third = 0 if self.many else int(np.argmax(np.append((y > 1) & (weights > 0.0), True)))
        first = self._follow_two(scores.cut(0, third), y[:third], weights[:third]) if third else np.zeros((0, 2))
        if third == len(y):
            return first
        if not self.many:
            self.state = new_state(2, many=True)
        rest = self._follow_many(scores.cut(third, len(y)), y[third:], weights[third:])
        return stacked([first, rest]) if third else rest

    def _follow_two(self, scores: Scores, y: np.ndarray, c: np.ndarray) -> np.ndarray:
        p, s, f = np.empty(len(y)), self.state, scores.one()
        met = np.maximum.accumulate(np.concatenate([s["met"], np.where(c > 0.0, y + 1.0, 0.0)]))
        if scores.many:  # the score of a class that is not known yet says nothing
            f = np.where(met[:-1] > 1.0, f, 0.0)
        s["met"] = met[-1:].copy()
        hits = (y == scores.positive).astype(np.float64)
        compiled(learn_two)(f, hits, c, s["totals"], *(s[k] for k in BOTH), np.empty(M * RUNS), p)
        return of_two(p, scores.positive)

    def _follow_many(self, scores: Scores, y: np.ndarray, c: np.ndarray) -> np.ndarray:
        known = self.known
        K = max(known, int((y * (c > 0.0)).max()) + 1)
        if known < K:
            self.state = grown(self.state, K)
        s = self.state
        out = np.zeros((len(y), K))
        compiled(learn_many)(wide(scores.f, K), y, c, known, *(s[k] for k in ALL), *workspace(K), out)
        return out

    def of_known(self, scores: Scores) -> np.ndarray:
        """Return the probabilities of the classes this knows, two or more."""
        s, n, K = self.state, len(scores.f), self.known
        if not self.many:
            p = np.empty(n)
            compiled(forecast_two)(scores.one(), s["totals"], *(s[k] for k in BOTH), np.empty(M * RUNS), p)
            return of_two(p, scores.positive)
        out = np.empty((n, K))
        compiled(forecast_many)(wide(scores.f, K), K, *(s[k] for k in ALL), *workspace(K), out)
        return out

    def fresh(self, known: int) -> Self:
        """Return one that has learned nothing, of classes that are known."""
        return type(self)(known)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return every array of the state, by name."""
        return self.state

    def restore(self, tensors: Tensors, known: int) -> None:
        """Take the state from a file, every number of it checked."""
        K = tensors["b"].shape[-1] if "b" in tensors else 0
        expect(K in (0, *range(2, known + 1)), f"probabilities of at most {known} classes", K)
        like = new_state(K, many=K > 0)
        expect(tensors.keys() == like.keys(), f"the arrays {sorted(like)} of probabilities", sorted(tensors))
        for k, a in tensors.items():
            expect(a.dtype == np.float64 and a.shape == like[k].shape, f"{k} of shape {like[k].shape}", a.shape)
            expect(bool(np.isfinite(a).all()), f"finite numbers in {k}", a)
        check(tensors)
        self.state = {k: np.array(tensors[k]) for k in like}

    def joined(
        self, parts: Sequence[Self], shares: Sequence[float], sums: bool, codes: Sequence[Any], facing: Sequence[bool]
    ) -> Self:
        """Return what parts come to."""
        found = self.fresh(0)
        if any(part.many for part in parts):
            kept = [i for i, part in enumerate(parts) if part.many]
            states, own = [parts[i].state for i in kept], [np.asarray(codes[i])[: parts[i].known] for i in kept]
            K = 1 + max(int(c.max()) for c in own)
            found.state = joined_many(states, [shares[i] for i in kept], sums, own, new_state(K, many=True))
        else:
            turns = [part.state if same else turned(part.state) for part, same in zip(parts, facing, strict=True)]
            found.state = joined_two(turns, shares, sums)
            found.state["met"] = np.array([1.0 + max(code for own in codes for code in own)])
        return found


# ---- states ------------------------------------------------------------------------------------------------------------
def new_state(known: int, many: bool = False) -> dict[str, np.ndarray]:
    """Return the state at the start."""
    many = many or known > 2
    own = {
        "theta": np.tile([0.0, 1.0], (M, 1)),
        "Lambda": np.tile([1.0, 0.0, 1.0], (M, 1)),
        "knots": np.zeros((M, 3, KNOTS)),
        "totals": np.zeros(3),
        "weights": np.full(2 * M if many else M, 1.0 / (2 * M if many else M)),
    }
    if not many:
        return {**own, "met": np.array([float(known)])}  # how many classes are known
    scaling = {"a": np.ones(M), "A": np.ones(M), "b": np.zeros((M, known)), "B": np.ones((M, known))}
    return {**own, **scaling, "top_knots": np.zeros((M, 3, KNOTS))}


def workspace(K: int) -> tuple[np.ndarray, ...]:
    """Return room to work in for K classes."""
    return np.empty(M * ALL_RUNS), np.empty(M * K), np.empty(M * K), np.empty(K), np.empty(M * K)


def grown(state: dict[str, np.ndarray], K: int) -> dict[str, np.ndarray]:
    """Return the state with room for K classes."""
    more = ((0, 0), (0, K - state["b"].shape[1]))
    return {**state, "b": np.pad(state["b"], more), "B": np.pad(state["B"], more, constant_values=1.0)}


def check(state: Tensors) -> None:
    """Refuse numbers that no calibrator comes to hold: compiled code would take the logarithm of what is not positive."""
    a, b, d = state["Lambda"].T
    expect(bool((a > 0.0).all() and (d > 0.0).all() and (a * d > b * b).all()), "positive definite Lambda", state["Lambda"])
    expect(bool((state["totals"] >= 0.0).all()), "totals that are not negative", state["totals"])
    for name in ("knots", "top_knots") if "b" in state else ("knots",):
        N, C, E = state[name].transpose(1, 0, 2)
        sound = (C >= 0.0) & (E >= 0.0) & (N - C > -0.5) & (N - E > -0.5)
        expect(bool(sound.all()), f"counts in {name}", state[name][:, :, ~sound.all(axis=0)])
    if "b" in state:
        expect(bool((state["A"] > 0.0).all() and (state["B"] > 0.0).all()), "A and B above 0", state["A"])
    else:
        expect(state["met"][0] in (0.0, 1.0, 2.0), "at most two classes", state["met"])
    check_weights(state["weights"])


def wide(f: np.ndarray, K: int) -> np.ndarray:
    """Return scores with a column for each of K classes; one that the model does not know yet has score 0."""
    f = np.ascontiguousarray(f, np.float64)
    return f if f.shape[1] >= K else widened(f, K)
