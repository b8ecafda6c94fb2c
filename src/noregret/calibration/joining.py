"""Joining the states of calibrators: counts are added, or averaged where the parts have a common past; the rest is averaged."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..engine.elementary import exp, log, over

State = dict[str, np.ndarray]
COUNTS = {"totals": 0.0, "knots": 0.0, "top_knots": 0.0, "Lambda": np.array([1.0, 0.0, 1.0]), "A": 1.0, "B": 1.0}  # their start


def joined_two(states: Sequence[State], shares: Sequence[float], sums: bool) -> State:
    """Return what states of one form come to."""
    return {k: joint(k, [s[k] for s in states], shares, sums) for k in states[0]}


def joined_many(states: Sequence[State], shares: Sequence[float], sums: bool, codes: Sequence[np.ndarray], new: State) -> State:
    """Return what states of many classes come to, whose classes have these codes in the new one."""
    total = sum(shares)
    shares = [s / total if total else 1.0 / len(shares) for s in shares]
    placed = []
    for state, own in zip(states, codes, strict=True):
        b, B = new["b"].copy(), new["B"].copy()
        b[:, own], B[:, own] = state["b"], state["B"]
        placed.append({**state, "b": b, "B": B})
    return joined_two(placed, shares, sums)


def joint(name: str, arrays: Sequence[np.ndarray], shares: Sequence[float], sums: bool) -> np.ndarray:
    """Return one array of the joined state."""
    if name == "weights":
        return product(arrays) if sums else mean(arrays, shares)
    if name in COUNTS and sums:
        start = COUNTS[name]
        return np.asarray(start + sum(a - start for a in arrays))
    return mean(arrays, shares)


def mean(arrays: Sequence[np.ndarray], shares: Sequence[float]) -> np.ndarray:
    """Return the mean by rows; what is equal in all stays so."""
    out = arrays[0].copy()
    for a, share in zip(arrays[1:], shares[1:], strict=True):
        out += share * (a - arrays[0])
    return out


def product(arrays: Sequence[np.ndarray]) -> np.ndarray:
    """Return the normalised product of weights."""
    logs = sum(over(log, np.maximum(a, 1e-300)) for a in arrays)
    w = over(exp, logs - np.max(logs))
    return np.asarray(w / w.sum())


def turned(state: State) -> State:
    """Return the state of two classes with the other one positive: log odds change their sign, hits are misses."""
    N, C, E = state["knots"][:, :, ::-1].transpose(1, 0, 2)
    return {
        **state,
        "theta": state["theta"] * [-1.0, 1.0],
        "Lambda": state["Lambda"] * [1.0, -1.0, 1.0],
        "knots": np.ascontiguousarray(np.stack([N, np.maximum(N - C, 0.0), np.maximum(N - E, 0.0)], axis=1)),
    }
