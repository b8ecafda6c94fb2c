"""Nystroem features: rows of the stream become landmarks, and every row is seen through its likeness to them."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ..engine.words import strict
from ..inputs import checking
from ..inputs.checking import Rows
from ..parts.kernels import RBF, Cauchy, Laplacian, Linear, Polynomial
from ..spaces.orthogonal import eigen
from .draws import compiled_for
from .feature_map import FeatureMap, entries, kernel_among, whole
from .random_features import GAUSS
from .similarity import between, exact, value

DONE = -1
MOST = 1 << 14  # landmarks: their factor is 2 GB then


class Landmarks(NamedTuple):
    """Landmarks by column, for the coordinates that are not 0 in all of them; and the factor of their kernel matrix."""

    place: Any  # of a coordinate among the rows of `at`, -1 for none
    numbers: Any  # the coordinates of those rows
    at: Any  # values
    alone: Any  # sum of the kernel between a landmark and a row of zeros
    factor: Any  # K = L L', as L' : a row here is a column of L
    sizes: Any  # [landmarks, coordinates]


def new_landmarks(B: int, width: int = 0, rows: int = 16) -> Landmarks:
    """Return none, and room for B of them."""
    place, numbers = np.full(width, -1, np.int32), np.empty(rows, np.int64)
    return Landmarks(place, numbers, np.zeros((rows, B)), np.zeros(B), np.zeros((B, B)), np.zeros(2, np.int64))


@strict
def likeness(kernel, place, at, alone, n, indices, data, lo, hi, base, k):
    """Write k(b, x) for every landmark b; return k(x, x), or NaN where a sum overflows."""
    own, rest = 0.0, 0.0
    for i in range(n):
        k[i] = alone[i]
    for e in range(lo, hi):
        x = data[e]
        if x != 0.0:
            own += between(kernel, x, x)
            p = place[indices[e - base]]
            if p < 0:
                rest += between(kernel, x, 0.0)
            else:
                for i in range(n):
                    k[i] += between(kernel, x, at[p, i]) - between(kernel, 0.0, at[p, i])
    finite = abs(rest) < np.inf
    for i in range(n):
        finite &= abs(k[i] + rest) < np.inf
        k[i] = value(kernel, k[i] + rest)
    return value(kernel, own) if finite else np.nan


@strict
def add_landmark(kernel, place, numbers, at, alone, sizes, indices, data, lo, hi, base):
    """Make a row the next landmark; return whether there was room for its coordinates."""
    n, used = sizes[0], sizes[1]
    new, total = 0, 0.0
    for e in range(lo, hi):
        new += data[e] != 0.0 and place[indices[e - base]] < 0
        total += between(kernel, 0.0, data[e])
    if used + new > numbers.shape[0]:
        return False
    for p in range(used):
        at[p, n] = 0.0
    for e in range(lo, hi):
        x, j = data[e], indices[e - base]
        if x != 0.0:
            if place[j] < 0:
                place[j] = used
                numbers[used] = j
                for i in range(n):
                    at[used, i] = 0.0
                used += 1
            at[place[j], n] = x
    alone[n] = total
    sizes[0], sizes[1] = n + 1, used
    return True


@strict
def nystroem(kernel, starts, indices, data, repeated, place, numbers, at, alone, factor, sizes, turn, tol, learn, first, k, z, out):
    """Write the features of every row from the first on, landmarks joining as they come; return DONE or where it stopped.

    It stops at a row that needs more room, or with eigenvectors at the one whose landmark is the last, and at -2 - row where
    a kernel value is not finite. With eigenvectors (`turn` has columns) rows are zeros until all landmarks are there.
    """
    B, rank = factor.shape[0], turn.shape[1]
    for r in range(first, starts.shape[0] - 1):
        lo, hi = starts[r], starts[r + 1]
        base = lo if repeated else 0
        n = sizes[0]
        own = likeness(kernel, place, at, alone, n, indices, data, lo, hi, base, k)
        for i in range(out.shape[1]):
            out[r, i] = 0.0
        left = own
        for i in range(n):
            z[i] = k[i]
        for a in range(n):  # forward substitution, z = L^-1 k
            z[a] /= factor[a, a]
            left -= z[a] * z[a]
            for i in range(a + 1, n):
                z[i] -= factor[a, i] * z[a]
        if not abs(left) < np.inf:
            return -2 - r
        if learn and n < B and left > tol * own:
            if not add_landmark(kernel, place, numbers, at, alone, sizes, indices, data, lo, hi, base):
                return r
            z[n] = np.sqrt(left)
            for a in range(n + 1):
                factor[a, n] = z[a]
            n += 1
            if rank > 0 and n == B:
                return r
        if rank == 0:
            for i in range(n):
                out[r, i] = z[i]
        elif n == B:
            for a in range(n):
                for i in range(rank):
                    out[r, i] += k[a] * turn[a, i]
    return DONE


class Nystroem(FeatureMap):
    """Nystroem features, built online: rows of the stream become landmarks, and z(x).z(y) is k(x, y) seen through them.

    With landmarks b_1 ... b_n, their kernel matrix K = L L' and k_x = (k(b_1, x), ..., k(b_n, x)), z(x) = L^-1 k_x, followed by
    zeros up to B features. A row whose distance from the span of the landmarks, delta^2 = k(x, x) - |z(x)|^2, is more than `tol`
    k(x, x) becomes a landmark before it is answered, until there are B: with the small default the first B different rows, with a
    large one rows that are new. It appends (z(x), delta) to L; earlier features stay the same, so a learner can continue.

    With `rank` the features are instead the `rank` leading ones of the eigenvectors K = Q S Q', z(x) = S^-1/2 Q' k_x. These need
    all landmarks: rows are zeros until B of them are found.

    Takes Linear, Polynomial, RBF, Laplacian and Cauchy kernels. A row costs B kernel values and B^2 operations. Unlike random
    features, these adapt to the rows and their error falls to 0 on the landmarks themselves: |z(x).z(y) - k(x, y)| is at most
    delta_x delta_y. Landmarks are kept, with their values, in the model.

    Williams, Seeger (2001): Using the Nystroem method to speed up kernel machines; online: Lu, Hoi, Wang, Zhao, Liu (2016).

    >>> import noregret as nr
    >>> m = nr.pipeline(nr.Nystroem(B=4, kernel=nr.RBF(0.5)), nr.PA1())
    >>> m.partial_fit([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]] * 50, [0, 0, 1, 1] * 50).score([[0, 0], [0, 1]], [0, 1])
    1.0
    """

    cite = "williams2001"

    def __init__(self, B: int = 100, kernel: Any = GAUSS, tol: float = 1e-6, rank: int | None = None) -> None:
        self.kernel = kernel_among(kernel, (RBF, Laplacian, Cauchy, Linear, Polynomial), "Nystroem")
        if isinstance(kernel, Polynomial) and (kernel.degree < 1 or kernel.degree % 1 or kernel.coef0 < 0):
            raise ValueError(f"expected a Polynomial of a whole degree and of coef0 at least 0, got {kernel!r}")
        if not isinstance(tol, (int, float, np.number)) or isinstance(tol, bool) or not 0.0 < tol < 1.0:
            raise ValueError(f"tol must be a number between 0 and 1, got {tol!r}")
        self.B, self.tol = whole("B", B, 1, MOST), tol
        self.rank = None if rank is None else whole("rank", rank, 1, int(B))
        self._landmarks = new_landmarks(int(B))
        self._turn: np.ndarray | None = None

    @property
    def outputs(self) -> int:
        """Features that go out."""
        return int(self.B if self.rank is None else self.rank)

    @property
    def nbytes(self) -> int:
        """Bytes of the landmarks and of the factor, with the room for those to come."""
        return sum(a.nbytes for a in self._landmarks) + (0 if self._turn is None else self._turn.nbytes)

    @property
    def landmarks(self) -> int:
        """Landmarks found so far."""
        return int(self._landmarks.sizes[0])

    def partial_fit(self, X: Any) -> Nystroem:
        """Let rows become landmarks, before or besides a stream."""
        rows = checking.rows(X, "float64")
        mark = self.mark(rows)
        try:
            self.rows(rows, True)
        except BaseException:
            self.back(mark)
            raise
        return self

    def rows(self, rows: Rows, learn: bool, measured: np.ndarray | None = None) -> Rows:
        """Return the features of rows; when learning, some of them become landmarks first."""
        known = self._landmarks = self._wide(rows.width) if learn else self._landmarks
        if not learn and rows.width > len(known.place):
            known = self._wide(rows.width)
        out = np.empty((rows.n, self.outputs))
        found, spare = entries(rows), (np.empty(self.B), np.empty(self.B))
        run, at = compiled_for(nystroem, self.kernel), 0
        while (at := run(*found, *known, self._turned(), float(self.tol), int(learn), at, *spare, out)) != DONE:
            if at < DONE:
                raise ValueError(f"the kernel of row {-2 - at} overflows; rescale the columns, or give another kernel")
            if self.landmarks == self.B:
                self._turn = self._eigen()
            else:
                known = self._landmarks = roomier(known, int(np.diff(found.starts).max()))
        return Rows("dense", (out,), rows.n, self.outputs)

    def _wide(self, width: int) -> Landmarks:
        """Return the landmarks with a place for each of `width` coordinates."""
        known = self._landmarks
        if width <= len(known.place):
            return known
        place = np.full(max(width, min(2 * len(known.place), 2 * width)), -1, np.int32)
        place[: len(known.place)] = known.place
        return known._replace(place=place)

    def _turned(self) -> np.ndarray:
        """Return what makes features of likenesses; without columns where the factor does."""
        if self.rank is None:
            return np.empty((0, 0))
        return np.zeros((self.B, self.rank)) if self._turn is None else self._turn

    def _eigen(self) -> np.ndarray:
        """Return Q S^-1/2 for the leading eigenvectors; columns of those that are next to nothing stay 0."""
        assert self.rank is not None
        L = np.triu(self._landmarks.factor).T
        S, Q = eigen(L)
        S, Q = S[: self.rank], Q[:, : self.rank]
        good = S[0] * 1e-10 < S
        return np.ascontiguousarray(np.where(good, Q / np.sqrt(np.where(good, S, 1.0)), 0.0))

    def _bounds(self, rows: Rows, z: Rows, a: np.ndarray, b: np.ndarray, delta: float) -> tuple[float | None, float | None]:
        """Return the largest delta_x delta_y among the pairs, which holds for all rows: there is no chance in it."""
        own = np.array([exact(self.kernel, rows, i, i) for i in range(rows.n)])
        far = np.sqrt(np.maximum(own - (z.arrays[0] ** 2).sum(1), 0.0))
        return float((far[a] * far[b]).max()), float(np.max(far) ** 2)

    # ---- as a step -------------------------------------------------------------------------------------------------------
    def mark(self, rows: Rows) -> tuple[int, int, np.ndarray | None]:
        """Return how many landmarks there are."""
        n, used = self._landmarks.sizes.tolist()
        return n, used, self._turn

    def back(self, mark: tuple[int, int, np.ndarray | None]) -> None:
        """Forget those that came since."""
        known = self._landmarks
        n, used, self._turn = mark
        known.place[known.numbers[used : known.sizes[1]]] = -1
        known.sizes[:] = n, used

    def merge(self, other: Any, numbers: np.ndarray | None = None) -> None:
        """Refuse other landmarks: their features are not the same."""
        super().merge(other, numbers)
        mine, theirs = self.state(), other.state()
        if any(not np.array_equal(a, theirs.get(k)) for k, a in mine.items()):
            raise ValueError(
                "cannot merge: the other pipeline has other landmarks, so its features are others. Let both begin from one that "
                "has its landmarks, or use RandomFourier, whose features depend on the seed alone."
            )

    def state(self) -> dict[str, np.ndarray]:
        """Return the landmarks as sparse rows, and the factor of their kernel matrix."""
        known = self._landmarks
        n, used = known.sizes.tolist()
        order = np.argsort(known.numbers[:used])
        values = known.at[:used][order][:, :n].T
        stored = values != 0.0
        indices = np.broadcast_to(known.numbers[:used][order], values.shape)[stored]
        state = {"indptr": np.concatenate([[0], np.cumsum(stored.sum(1))]).astype(np.int64), "indices": indices}
        state |= {"data": values[stored], "alone": known.alone[:n], "factor": np.triu(known.factor[:n, :n])}
        return state if self._turn is None else {**state, "turn": self._turn}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Restore what was learned."""
        indptr, indices, data, alone, factor = (state[k] for k in ("indptr", "indices", "data", "alone", "factor"))
        n, turn = len(indptr) - 1, state.get("turn")
        sound = 0 <= n <= self.B and indptr.ndim == indices.ndim == data.ndim == 1 and len(indices) == len(data)
        sound &= indptr.dtype == indices.dtype == np.int64 and indptr[0] == 0 and indptr[-1] == len(data)
        sound &= bool((np.diff(indptr) >= 0).all() and (indices >= 0).all() and (indices < 1 << 31).all())
        sound &= factor.shape == (n, n) and alone.shape == (n,)
        sound &= all(a.dtype == np.float64 and bool(np.isfinite(a).all()) for a in (data, alone, factor))
        sound &= bool((np.diag(factor) > 0.0).all() and (data != 0.0).all())
        sound &= (turn is not None) == (self.rank is not None and n == self.B)
        sound &= turn is None or (turn.shape == (self.B, self.rank) and bool(np.isfinite(turn).all()))
        if not sound or any(len(np.unique(indices[a:b])) < b - a for a, b in pairwise(indptr)):
            raise ValueError(f"expected at most {self.B} landmarks and their factor, found arrays that do not fit together")
        met = np.unique(indices)
        known = new_landmarks(self.B, int(met.max(initial=-1)) + 1, max(16, len(met)))
        known.numbers[: len(met)] = met
        known.place[met] = np.arange(len(met))
        for i in range(n):
            some = slice(indptr[i], indptr[i + 1])
            known.at[np.searchsorted(met, indices[some]), i] = data[some]
        known.alone[:n], known.factor[:n, :n] = alone, factor
        known.sizes[:] = n, len(met)
        self._landmarks, self._turn = known, None if turn is None else np.ascontiguousarray(turn)


def roomier(known: Landmarks, more: int) -> Landmarks:
    """Return the landmarks with twice the room for coordinates, or as much more."""
    rows = max(2 * len(known.numbers), len(known.numbers) + more)
    numbers, at = np.empty(rows, np.int64), np.zeros((rows, known.at.shape[1]))
    numbers[: len(known.numbers)], at[: len(known.at)] = known.numbers, known.at
    return known._replace(numbers=numbers, at=at)
