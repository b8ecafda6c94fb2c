"""Theorems: what a learner is promised to do no worse than, given a comparator u chosen in hindsight.

A Bound has a name, the quantity it is about and a formula of the figures of a Comparison: those of u on the data. What is
measured must stay below it on any sequence (law 9), and a report prints both.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Comparison(NamedTuple):
    """The figures of a comparator u on T rows: what the theorems are made of."""

    T: int
    d: int
    K: int  # classes, 1 for a regression
    R: float  # longest row
    R_inf: float  # largest entry
    R_p: float  # longest row in the p-norm of the learner (R where it has none)
    u2: float  # |u|^2
    u_1: float  # |u|_1
    u_q: float  # |u|_q, q = p/(p-1)
    margin: float  # smallest y u.x / (|x|_p |u|_q): above 0 when u separates
    hinge: float  # sum of the hinge losses of u (multiclass: against the best rival)
    hinge2: float  # of their squares
    tube: float  # sum of its epsilon-insensitive losses
    tube2: float  # of their squares

    @property
    def moves(self) -> float:
        """Squared length of a multiclass example over that of its row: 2, or 1 with one score."""
        return 2.0 if self.K > 2 else 1.0


class Bound(NamedTuple):
    """A theorem: `measures` is bounded by value(comparison, params); infinity where it does not apply."""

    name: str
    measures: str  # "mistakes", "updates", "squared_hinge", "squared_tube", or "regret" in the learner's loss
    value: Callable[[Comparison, Any], float]


def compare(X: Any, y: np.ndarray, U: np.ndarray, *, epsilon: float = 0.0, p: float = 2.0) -> Comparison:
    """Return the figures of the comparator U (one row, or one row per class) on rows X with codes, signs or targets y."""
    X = np.asarray(X.toarray() if hasattr(X, "toarray") else X, np.float64)
    U = np.atleast_2d(np.asarray(U, np.float64))
    f = X @ U.T
    if len(U) > 1:
        at = np.arange(len(y))
        true = f[at, y].copy()
        f[at, y] = -math.inf
        m = true - f.max(1)
        losses, tube = np.maximum(0.0, 1.0 - m), np.zeros(len(y))
    else:
        m = y * f[:, 0]
        losses, tube = np.maximum(0.0, 1.0 - m), np.maximum(0.0, np.abs(y - f[:, 0]) - epsilon)
    q = p / (p - 1.0)
    lengths = (np.abs(X) ** p).sum(1) ** (1.0 / p)
    u_q = float((np.abs(U) ** q).sum() ** (1.0 / q))
    return Comparison(
        T=len(X),
        d=X.shape[1],
        K=len(U),
        R=float(np.sqrt((X**2).sum(1).max())),
        R_inf=float(np.abs(X).max()),
        R_p=float(lengths.max()),
        u2=float((U**2).sum()),
        u_1=float(np.abs(U).sum()),
        u_q=u_q,
        margin=float((m[lengths > 0.0] / (lengths[lengths > 0.0] * max(u_q, 1e-300))).min(initial=math.inf)),
        hinge=float(losses.sum()),
        hinge2=float((losses**2).sum()),
        tube=float(tube.sum()),
        tube2=float((tube**2).sum()),
    )


def regret_constant(D: float, G: float, T: int, eta: float, rate: str) -> float:
    """Return Zinkevich's bound on the regret of projected gradient descent (D.1): diameter D, gradients of at most G."""
    if rate == "inv_sqrt":
        return D * D * math.sqrt(T) / (2.0 * eta) + eta * (math.sqrt(T) - 0.5) * G * G
    if rate == "constant":
        return D * D / (2.0 * eta) + eta * G * G * T / 2.0
    return math.inf
