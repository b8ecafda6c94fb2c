"""Principal components as experts: a density over directions to discard (Warmuth, Kuzmin 2006)."""

from __future__ import annotations

import math
from typing import Annotated, Any, NamedTuple

import numpy as np

from ..algorithm.state import Dims, Number, Slot
from ..inputs.features import Features, Names, Numbers
from .decomposition import Decomposition

MOST = 500  # features: a row costs the cube of their number
LEAST = 1e-300  # of an eigenvalue, in its logarithm
LONGER = 1.0 + 1e-6  # than 1 by rounding alone, that of float32 included

Square = Annotated[Any, Slot(("feature", "feature"), 1.0, np.float64, eye=True)]
Diagonal = Annotated[Any, Slot(("feature",), dtype=np.float64)]


class State(NamedTuple):
    """W = sum_i w_i e_i e_i', and what was paid."""

    e: Square  # its eigenvectors, as rows
    w: Diagonal
    paid: Number  # expected compression loss of all rows
    best: Annotated[Any, Slot(("feature", "feature"), dtype=np.float64)]  # sum of x x'


class Expert(Decomposition):
    """The model of `OnlinePCA(method="expert")`."""

    State = State
    grows = False

    def __init__(self, learner: Any, features: Features) -> None:
        if isinstance(features, (Names, Numbers)):
            raise TypeError("method='expert' weighs all features from the start: give arrays, or dicts with hash_bits")
        if features.size > MOST:
            raise ValueError(
                f"method='expert' takes the cube of the number of features a row: expected at most {MOST}, got {features.size}. "
                "Use method='merge' or 'ccipca'"
            )
        if int(learner.k) >= features.size:
            raise ValueError(f"X has {features.size} feature(s): method='expert' needs more than k={int(learner.k)}")
        super().__init__(learner, features)

    def more_sizes(self) -> Dims:
        """Return no further axes."""
        return {}

    def begin(self) -> None:
        """Begin with W = I/n."""
        super().begin()
        self.state.w[:] = 1.0 / len(self.state.w)

    @property
    def eta(self) -> float:
        """The rate: 1 unless given."""
        return float(self.params.eta) or 1.0

    def learn(self, X: np.ndarray, Z: np.ndarray, E: np.ndarray) -> None:
        """Learn rows one by one; what is written for residuals is the expected compression loss (n - k) x'Wx."""
        s, k = self.state, self.dims["component"]
        out = len(s.w) - k
        for i, x in enumerate(X):
            V, _, _ = self.basis()
            Z[i] = V @ x
            z = s.e @ x
            E[i] = out * float(s.w @ (z * z))
            s.paid[0] += E[i]
            s.best[:] += np.outer(x, x)
            logs = np.diag(np.log(np.maximum(s.w, LEAST))) - self.eta * np.outer(z, z)
            values, Q = np.linalg.eigh(logs)
            w = np.exp(values - values[-1])
            s.w[:] = capped(w / w.sum(), out)
            Q *= np.where(Q[np.abs(Q).argmax(0), range(len(Q))] < 0.0, -1.0, 1.0)  # directions stay on their side
            s.e[:] = Q.T @ s.e

    def basis(self) -> tuple[np.ndarray, np.ndarray, int]:
        """Return the k directions that are least likely to be discarded."""
        s, k = self.state, self.dims["component"]
        order = np.argsort(s.w, kind="stable")[:k]
        return np.ascontiguousarray(s.e[order]), np.zeros(len(s.w)), k

    @property
    def density(self) -> np.ndarray:
        """W."""
        s = self.state
        return (s.e.T * s.w) @ s.e

    @property
    def paid(self) -> float:
        """The expected compression loss of all rows."""
        return float(self.state.paid[0])

    def least(self) -> float:
        """Return the compression loss of the best k directions in hindsight."""
        values = np.linalg.eigvalsh(self.state.best)
        return float(max(values[: len(values) - self.dims["component"]].sum(), 0.0))

    def bound(self, best: float) -> float:
        """Return what is at most paid where the best k directions pay so much."""
        n, k = len(self.state.w), self.dims["component"]
        price = (n - k) * math.log(n / (n - k))
        return (self.eta * best + price) / (1.0 - math.exp(-self.eta))

    def sampled(self, seed: int) -> np.ndarray:
        """Return k directions, drawn so that the expected loss of projecting on them is (n - k) x'Wx."""
        s, k = self.state, self.dims["component"]
        corners, p = mixture(s.w, len(s.w) - k)
        at = int(np.searchsorted(np.cumsum(p), np.random.default_rng(seed).random() * p.sum(), side="right"))
        kept = np.setdiff1d(np.arange(len(s.w)), corners[min(at, len(p) - 1)])
        return np.array(s.e[kept])


def capped(w: np.ndarray, m: int) -> np.ndarray:
    """Return the nearest probabilities, in relative entropy, none of which is above 1/m."""
    w = w.copy()
    free = np.ones(len(w), bool)
    while (w > (1.0 / m) * (1.0 + 1e-12)).any():
        free &= w < 1.0 / m
        w[~free] = 1.0 / m
        left = 1.0 - (~free).sum() / m
        total = w[free].sum()
        w[free] = w[free] * (left / total) if total > 0.0 else left / max(free.sum(), 1)
    return w


def mixture(w: np.ndarray, m: int) -> tuple[list[np.ndarray], np.ndarray]:
    """Return sets of m coordinates and their weights, whose mixture has the mean w (Warmuth, Kuzmin 2006, algorithm 2)."""
    w = w.copy()
    corners: list[np.ndarray] = []
    weights: list[float] = []
    while (total := float(w.sum())) > 1e-12 and len(corners) <= len(w):
        order = np.argsort(-w, kind="stable")
        inside, outside = order[:m], order[m:]
        p = min(m * float(w[inside].min()), total - m * float(w[outside].max(initial=0.0)))
        if p <= 0.0:
            break
        corners.append(inside)
        weights.append(p)
        w[inside] = np.maximum(w[inside] - p / m, 0.0)
    return corners, np.array(weights)
