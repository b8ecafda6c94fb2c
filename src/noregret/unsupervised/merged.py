"""Principal components by merging: the thin SVD of all rows so far, cut to k, with a row or a batch appended (Ross et al. 2008)."""

from __future__ import annotations

import math
from typing import Annotated, Any, NamedTuple

import numpy as np

from ..algorithm.rounds import EXAMPLES
from ..algorithm.state import Count, Number, Slot
from ..engine.compiling import compiled
from ..learners.merging import unite_features
from .decomposition import Decomposition
from .subspaces import merge_rows

THR = 1e-12  # of what is left of a row, as a share of the length of everything: a direction of rounding errors
LOST = 1e-3  # of the least singular value over the largest: below it squares have lost too many digits
SKEW = 1e-10  # of the products of components: above it they are made orthonormal again

Basis = Annotated[Any, Slot(("component", "feature"), dtype=np.float64)]
Lengths = Annotated[Any, Slot(("component",), dtype=np.float64)]
Mean = Annotated[Any, Slot(("feature",), dtype=np.float64)]
Waiting = Annotated[Any, Slot(("batch", "feature"), dtype=np.float64)]


class State(NamedTuple):
    """Components with their singular values, the mean, and rows that wait."""

    V: Basis
    s: Lengths
    mean: Mean
    n: Number  # rows, those of long ago counting less where they are forgotten
    rank: Count
    wait: Waiting
    waiting: Count


class Merged(Decomposition):
    """The model of `OnlinePCA(method="merge")`."""

    State = State
    batched = True
    derived = ("stack",)

    def learn(self, X: np.ndarray, Z: np.ndarray, E: np.ndarray) -> None:
        """Learn rows one by one."""
        s, p = self.state, self.params
        k, d = s.V.shape
        scratch = (np.empty(d), np.empty(k + 1), np.empty((k + 1, k + 1)), np.empty((k + 1, k + 1)), np.empty((k, d)))
        order = np.empty(k + 1, np.int64)
        how = (float(p.forgetting), bool(p.center), THR)
        compiled(merge_rows)(X, s.V, s.s, s.mean, s.n, s.rank, *how, Z, E, *scratch, order)

    def refresh(self) -> None:
        """Forget scratch of another size."""
        self.stack = np.empty((0, 0))

    def absorb(self, X: np.ndarray) -> None:
        """Learn a batch."""
        s, p = self.state, self.params
        m, r, n = len(X), int(s.rank[0]), float(s.n[0])
        fading = float(p.forgetting) ** m
        n *= fading
        q = r + m + int(bool(p.center) and n > 0.0)
        if len(self.stack) < q:  # kept from batch to batch: the system takes longer to give memory than a sum takes
            self.stack = np.empty((q, X.shape[1]))
        A = self.stack[:q]
        np.multiply(math.sqrt(fading) * s.s[:r, None], s.V[:r], out=A[:r])
        if p.center:
            center = X.mean(0)
            np.subtract(X, center, out=A[r : r + m])
            A[r + m :] = math.sqrt(n * m / (n + m)) * (s.mean - center)
            s.mean[:] = (n * s.mean + m * center) / (n + m)
        else:
            A[r:] = X
        self.put(*leading(A, len(s.s), r))
        s.n[0] = n + m

    def put(self, sigma: np.ndarray, V: np.ndarray) -> None:
        """Take a new basis; components stay on the side where they were, new ones point to their largest entry."""
        s, r, new = self.state, int(self.state.rank[0]), len(sigma)
        side = np.take_along_axis(V, np.abs(V).argmax(1)[:, None], 1)[:, 0]
        both = min(r, new)
        side[:both] = np.einsum("ij,ij->i", V[:both], s.V[:both])
        s.V[:], s.s[:] = 0.0, 0.0
        s.V[:new], s.s[:new] = np.where(side < 0.0, -1.0, 1.0)[:, None] * V, sigma
        s.rank[0] = new

    def take_in(self, other: Any) -> None:
        """Take in another model, exactly if neither has cut off anything."""
        self.finish()
        other.finish()
        at = unite_features(self, other)  # type: ignore[arg-type]
        s, t, d = self.state, other.state, self.dims["feature"]
        V, mean = np.zeros((int(t.rank[0]), d)), np.zeros(d)
        places = slice(0, other.features.size) if at is None else at
        V[:, places], mean[places] = t.V[: len(V), : other.features.size], t.mean[: other.features.size]
        a, b = float(s.n[0]), float(t.n[0])
        apart = math.sqrt(a * b / (a + b)) * (s.mean - mean)[None]
        stack = [s.s[: int(s.rank[0]), None] * s.V[: int(s.rank[0])], t.s[: len(V), None] * V, apart]
        self.put(*leading(np.concatenate(stack), len(s.s)))
        s.mean[:] = (a * s.mean + b * mean) / (a + b)
        s.n[0] = a + b
        self.tally[EXAMPLES] += other.tally[EXAMPLES]

    @property
    def variances(self) -> np.ndarray:
        """The variance along each component."""
        s = self.state
        return np.square(s.s[: int(s.rank[0])]) / max(float(s.n[0]) - 1.0, 1.0)


def leading(A: np.ndarray, k: int, r: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return the k largest singular values of a matrix, and the right vectors as rows; its first r rows are orthogonal.

    Where it has many more columns than rows they come from the squares A A', unless these have lost too many digits.
    """
    q, d = A.shape
    if d > 2 * q:
        G = np.empty((q, q))
        G[:r, :r] = np.diag(np.square(A[:r]).sum(1))
        G[r:, :r], G[r:, r:] = A[r:] @ A[:r].T, A[r:] @ A[r:].T
        values, U = np.linalg.eigh(G)  # by the lower half alone
        values, U = values[: -k - 1 : -1], U[:, : -k - 1 : -1]
        if len(values) == k and values[-1] > LOST * LOST * values[0]:
            sigma = np.sqrt(values)
            V = (U / sigma).T @ A
            if np.abs(V @ V.T - np.eye(k)).max() <= SKEW:
                return sigma, V
            A = sigma[:, None] * V
    _, sigma, V = np.linalg.svd(A, full_matrices=False)
    kept = int((sigma[:k] > THR * max(float(sigma[0]), np.finfo(float).tiny)).sum())
    return sigma[:kept], V[:kept]
