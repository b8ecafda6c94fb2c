"""The model of a learner of components: arrays described by Slots, the table of features, and rows that wait for a batch."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..algorithm.rounds import EXAMPLES
from ..algorithm.state import Dims
from ..files.json_values import expect
from ..inputs.checking import Rows
from .featured import Featured
from .subspaces import projected

ROOM = 1 << 19  # numbers of a run of rows that are made dense at once: 4 MB


class Decomposition(Featured):
    """What a learner of components holds. A subclass says what its arrays are and how it learns rows; see `learn` and `basis`."""

    absent = 0.0  # what stands for an entry that a sparse row does not store
    batched = False  # whether rows wait in `wait` until there are S of them

    def sizes(self) -> Dims:
        """Return the sizes of the axes."""
        return {"feature": self.room, "component": int(self.params.k), **self.more_sizes()}

    def more_sizes(self) -> Dims:
        """Return the sizes of the axes that not every method has."""
        return {"batch": int(self.params.S) if self.params.S > 1 else 0} if self.batched else {}

    # ---- rows --------------------------------------------------------------------------------------------------------
    def dense(self, rows: Rows) -> Iterator[np.ndarray]:
        """Yield rows, which are in their places, as arrays as wide as the state, in runs that take bounded memory."""
        return in_runs(rows, self.dims["feature"], self.absent)

    def learn_rows(self, rows: Rows, told: bool = True) -> tuple[np.ndarray, np.ndarray]:
        """Learn rows in their places; return the coordinates and squared residuals of each from before it.

        Unless they are to be told, what takes time to compute may be left out.
        """
        Z, E = np.zeros((rows.n, len(self.basis()[0]))), np.zeros(rows.n)
        at = 0
        for X in self.dense(rows):
            part = slice(at, at + len(X))
            at += len(X)
            if self.batched and self.params.S > 1:
                self.wait_for(X, Z[part], E[part], told)
            else:
                self.learn(X, Z[part], E[part])
        self.tally[EXAMPLES] += rows.n
        return Z, E

    def wait_for(self, X: np.ndarray, Z: np.ndarray, E: np.ndarray, told: bool) -> None:
        """Let rows wait, and learn them when there are S."""
        s, S, a = self.state, int(self.params.S), 0
        while a < len(X):
            have = int(s.waiting[0])
            b = min(len(X), a + S - have)
            if told:
                Z[a:b], E[a:b] = self.project(X[a:b])
            s.wait[have : have + b - a] = X[a:b]
            s.waiting[0] += b - a
            a = b
            if s.waiting[0] == S:
                self.finish()

    def finish(self) -> None:
        """Learn the rows that wait, as a short batch."""
        if self.n_pending:
            s = self.state
            self.absorb(s.wait[: int(s.waiting[0])])
            s.wait[:] = 0.0
            s.waiting[0] = 0

    @property
    def n_pending(self) -> int:
        """Rows that wait."""
        return int(self.state.waiting[0]) if self.batched else 0

    def learn(self, X: np.ndarray, Z: np.ndarray, E: np.ndarray) -> None:
        """Learn rows one by one; write their coordinates and squared residuals from before."""
        raise NotImplementedError

    def absorb(self, X: np.ndarray) -> None:
        """Learn a batch of rows, which stay as they are."""
        raise NotImplementedError

    def basis(self) -> tuple[np.ndarray, np.ndarray, int]:
        """Return the components as rows, the mean, and how many of the rows are in use."""
        s = self.state
        return s.V, s.mean, int(s.rank[0])

    def project(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the coordinates of rows and their squared residuals; nothing changes, in any number of threads."""
        return projected(X, *self.basis())

    def answer(self, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
        """Return the coordinates and squared residuals of rows in their places."""
        found = [self.project(X) for X in self.dense(rows)]
        return np.concatenate([z for z, _ in found]), np.concatenate([e for _, e in found])

    def check(self) -> None:
        """Refuse counts that the arrays of a file have no room for."""
        s, dims = self.state, self.dims
        rank = int(s.rank[0]) if hasattr(s, "rank") else 0
        expect(rank <= dims["component"], "no more components than there is room for", rank)
        expect(not self.batched or int(s.waiting[0]) < max(dims["batch"], 1), "fewer rows waiting than a batch", self.n_pending)


def in_runs(rows: Rows, d: int, absent: float = 0.0) -> Iterator[np.ndarray]:
    """Yield rows as arrays of d columns, in runs that take bounded memory."""
    if rows.layout == "dense" and rows.width == d:
        X = rows.arrays[0]
        size = rows.n if X.dtype == np.float64 else max(1, ROOM // d)
        for a in range(0, rows.n, size):
            yield np.ascontiguousarray(X[a : a + size], np.float64)
        return
    size = max(1, ROOM // d)
    for a in range(0, rows.n, size):
        part = rows.cut(a, min(a + size, rows.n)).packed()
        X = np.full((part.n, d), absent)
        if part.layout == "dense":
            X[:, : part.width] = part.arrays[0]
        else:
            indptr, indices, data = part.arrays
            X[np.repeat(np.arange(part.n), np.diff(indptr)), indices.astype(np.int64)] = data
        yield X
