"""The model of `OnlineSVD`: a thin SVD that rows and columns are appended to, changed in and taken from (Brand 2003)."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np

from ..algorithm.rounds import EXAMPLES
from ..algorithm.state import Count, Dims, Number, Slot
from ..engine.compiling import compiled
from ..files.json_values import expect
from ..inputs.features import Columns, Names
from ..learners.merging import unite_features
from ..spaces.orthogonal import rotate_rows
from .decomposition import Decomposition
from .merged import Basis, Lengths
from .subspaces import append_row, impute, projected, turn_left, turned_rows

FIRST = 8  # components there is room for at first
OFTEN = 64  # rows after which turns of the left vectors are put into effect, and bases are looked at
SKEW = 1e-8  # of their products: above it they are made orthonormal again
NONE = 1e-10  # of a singular value over the largest: below it there is none

Left = Annotated[Any, Slot(("example", "component"), dtype=np.float64)]


class State(NamedTuple):
    """A = V diag(s) U: a row of V for each example that is kept, a row of U for each component."""

    U: Basis
    s: Lengths
    V: Left  # as of the last time that turns were put into effect
    P: Annotated[Any, Slot(("turn", "component"), dtype=np.float64)]  # turns since then, and below them the rows that came since
    rank: Count
    kept: Count  # examples
    old: Count  # of them in V
    base: Count  # components at that time: rows of P that are turns
    n: Number  # examples so far, which scale what is expected of an unknown entry


class Thin(Decomposition):
    """What an `OnlineSVD` holds."""

    State = State
    open_axes = ("component", "example", "turn")

    def sizes(self) -> Dims:
        """Return the first sizes of the axes."""
        room = int(self.params.r_max) or min(FIRST, max(self.features.size, 1))
        return {"feature": self.room, "component": room, "example": 0, "turn": room + OFTEN}

    def used_sizes(self) -> Dims:
        """Return the sizes of the axes without spare room."""
        return {**super().used_sizes(), "example": int(self.state.kept[0])}

    @property
    def absent(self) -> float:  # type: ignore[override]
        """What stands for an entry that a sparse row does not store."""
        return np.nan if self.given["missing"] == "impute" else 0.0

    def basis(self) -> tuple[np.ndarray, np.ndarray, int]:
        """Return the right vectors as rows: as many as there may be, or as there are where that is not limited."""
        s, r = self.state, int(self.state.rank[0])
        return s.U if self.params.r_max else s.U[:r], np.zeros(self.dims["feature"]), r

    # ---- rows --------------------------------------------------------------------------------------------------------
    def learn(self, X: np.ndarray, Z: np.ndarray, E: np.ndarray) -> None:
        """Append rows one by one."""
        for i, x in enumerate(X):
            r = int(self.state.rank[0])
            full, left = self.completed(x[None])
            z, e = projected(full, *self.basis())
            Z[i, : z.shape[1]], E[i] = z[0, : Z.shape[1]], e[0] if left is None else left[0]
            self.append(full[0], r)

    def append(self, x: np.ndarray, r: int) -> None:
        """Append one row."""
        p = self.params
        if r == self.dims["component"] and not p.r_max and r < self.dims["feature"]:
            self.widen_to(min(2 * r, self.dims["feature"]))
        if p.keep and int(self.state.kept[0]) == self.dims["example"]:
            self.resize(example=max(FIRST, 2 * self.dims["example"]))
        s, (k, d) = self.state, self.state.U.shape
        scratch = (np.empty(d), np.empty(k + 1), np.empty((k + 1, k + 1)), np.empty((k + 1, k + 1)), np.empty((k, d)))
        order, n = np.empty(k + 1, np.int64), int(s.kept[0])
        compiled(append_row)(x, s.U, s.s, s.rank, float(p.beta), float(p.thr), *scratch, order)
        s.n[0] += 1.0
        if p.keep:
            at = int(s.base[0]) + n - int(s.old[0])
            compiled(turn_left)(s.P, at, r, int(s.rank[0]), s.s, scratch[2], order, np.empty(k + 1))
            s.kept[0] += 1
            if p.window and s.kept[0] > p.window:
                self.remove(0)
        if s.n[0] % OFTEN == 0.0:
            self.straighten()

    def completed(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Return rows with what is expected of unknown entries, and the squared residuals of the known ones where some are not."""
        if self.given["missing"] != "impute" or not np.isnan(X).any():
            return X, None
        s, r = self.state, int(self.state.rank[0])
        X, left = np.array(X), np.empty(len(X))
        A, y, n = np.empty((r, r)), np.empty(r), max(float(s.n[0]), 1.0)
        for i, x in enumerate(X):
            left[i] = compiled(impute)(x, s.U, s.s, n, float(self.params.nu), A, y)
        return X, left

    def project(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the coordinates of rows and their squared residuals, those of the known entries where some are not."""
        full, left = self.completed(X)
        Z, E = projected(full, *self.basis())
        return Z, E if left is None else left

    # ---- left vectors ------------------------------------------------------------------------------------------------
    def widen_to(self, components: int) -> None:
        """Make room for more components."""
        self.resize(component=components, turn=components + OFTEN)

    def left(self) -> np.ndarray:
        """Return the left vectors of the examples kept; nothing changes."""
        s = self.state
        n, old, base, r = (int(v[0]) for v in (s.kept, s.old, s.base, s.rank))
        found = np.empty((n, r))
        compiled(turned_rows)(s.V, s.P, old, base, found)
        found[old:] = s.P[base : base + n - old, :r]
        return found

    def fold(self) -> None:
        """Put the turns of the left vectors into effect."""
        if self.params.keep:
            self.put_left(self.left())

    def put_left(self, V: np.ndarray) -> None:
        """Take new left vectors."""
        s, (n, r) = self.state, V.shape
        s.V[:], s.P[:] = 0.0, 0.0
        s.V[:n, :r], s.P[range(r), range(r)] = V, 1.0
        s.kept[0], s.old[0], s.base[0] = n, n, r

    # ---- changes -----------------------------------------------------------------------------------------------------
    def held(self, i: int) -> np.ndarray:
        """Return the i-th row kept, as far as the model holds it."""
        s, r = self.state, int(self.state.rank[0])
        return np.asarray((s.V[i, :r] * s.s[:r]) @ s.U[:r])

    def modify(self, left: np.ndarray, right: np.ndarray) -> None:
        """Add a matrix of rank one, left right', exactly; as many components are kept as there is room for."""
        s, r, n = self.state, int(self.state.rank[0]), int(self.state.kept[0])
        a, p = split(s.V[:n, :r].T, left)
        b, q = split(s.U[:r], right)
        K = np.zeros((r + 1, r + 1))
        K[range(r), range(r)] = s.s[:r]
        K += np.outer(np.append(a, np.linalg.norm(p)), np.append(b, np.linalg.norm(q)))
        P, sigma, Q = svd(K)
        self.put(np.column_stack([s.V[:n, :r], unit(p)]) @ P, sigma, Q @ np.vstack([s.U[:r], unit(q)]))

    def put(self, V: np.ndarray, sigma: np.ndarray, U: np.ndarray) -> None:
        """Take new factors, without what is next to nothing."""
        most = int(self.params.r_max) or len(sigma)
        new = int((sigma[:most] > NONE * max(float(sigma.max(initial=0.0)), np.finfo(float).tiny)).sum())
        if new > self.dims["component"]:
            self.widen_to(new)
        s = self.state
        s.U[:], s.s[:] = 0.0, 0.0
        s.U[:new, : U.shape[1]], s.s[:new], s.rank[0] = U[:new], sigma[:new], new
        self.put_left(V[:, :new] if self.params.keep else np.empty((0, 0)))

    def revise(self, i: int, x: np.ndarray) -> None:
        """Put a row in the place of the i-th one kept."""
        self.fold()
        e = np.zeros(int(self.state.kept[0]))
        e[i] = 1.0
        self.modify(e, self.completed(x[None])[0][0] - self.held(i))

    def remove(self, i: int) -> None:
        """Take the i-th row out of the matrix."""
        self.fold()
        e = np.zeros(int(self.state.kept[0]))
        e[i] = 1.0
        self.modify(e, -self.held(i))
        s = self.state
        self.put_left(np.delete(s.V[: int(s.kept[0]), : int(s.rank[0])], i, 0))

    def append_feature(self, values: np.ndarray, name: Any) -> None:
        """Append a column to the matrix: a value for every example kept."""
        f = self.features
        if isinstance(f, Columns):
            f = Columns(f.width + 1, False, None if f.names is None else [*f.names, name])
        elif isinstance(f, Names):
            f.row({name: 0.0}, True)
        else:
            raise TypeError(f"features by {f.kind} cannot be appended to: learn from arrays, frames or dicts")
        self.features = f
        self.fold()
        self.widen()
        right = np.zeros(self.dims["feature"])
        right[f.size - 1] = 1.0
        self.modify(values, right)

    def straighten(self) -> None:
        """Make bases orthonormal again that rounding has bent; their product stays."""
        self.fold()
        s, r, n = self.state, int(self.state.rank[0]), int(self.state.kept[0])
        U, V = s.U[:r], s.V[:n, :r]
        skew = max([np.abs(B @ B.T - np.eye(r)).max(initial=0.0) for B in ([U, V.T] if self.params.keep else [U])])
        if r == 0 or skew <= SKEW:
            return
        Qu, Ru = np.linalg.qr(U.T)
        Qv, Rv = np.linalg.qr(V) if self.params.keep else (V, np.eye(r))
        P, sigma, Q = svd((Rv * s.s[:r]) @ Ru.T)
        self.put(Qv @ P if self.params.keep else V, sigma, Q @ Qu.T)

    def take_in(self, other: Any) -> None:
        """Append all rows of another model; exact if neither has cut off anything."""
        self.fold()
        other.fold()
        at = unite_features(self, other)  # type: ignore[arg-type]
        s, t = self.state, other.state
        r, q, d = int(s.rank[0]), int(t.rank[0]), self.dims["feature"]
        B = np.zeros((r + q, d))
        B[:r] = s.s[:r, None] * s.U[:r]
        B[r:, slice(0, other.features.size) if at is None else at] = t.s[:q, None] * t.U[:q, : other.features.size]
        P, sigma, U = np.linalg.svd(B, full_matrices=False)
        V = np.concatenate([s.V[: int(s.kept[0]), :r] @ P[:r], t.V[: int(t.kept[0]), :q] @ P[r:]])
        self.resize(example=max(self.dims["example"], len(V)))
        n = float(s.n[0] + t.n[0])
        self.put(V, sigma, U)
        self.state.n[0] = n
        self.tally[EXAMPLES] += other.tally[EXAMPLES]

    def check(self) -> None:
        """Refuse counts that the arrays of a file have no room for."""
        super().check()
        expect(int(self.state.kept[0]) == self.dims["example"], f"{self.dims['example']} examples", self.state.kept)
        s, room = self.state, self.dims["turn"]
        expect(room == self.dims["component"] + OFTEN, f"{OFTEN} more turns than components", room)
        expect(int(s.base[0]) + OFTEN <= room, "no more components than there is room for", s.base)
        expect(0 <= int(s.kept[0]) - int(s.old[0]) <= OFTEN, f"at most {OFTEN} examples that are new", s.old)
        most = int(self.params.r_max)
        expect(not most or self.dims["component"] == most, f"{most} components", self.dims["component"])


# ---- small matrices ----------------------------------------------------------------------------------------------------
def svd(K: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the SVD of a square matrix, P diag(sigma) Q, largest first; vectors of a singular value of 0 are 0 in Q."""
    G, W = np.array(K, np.float64, order="C"), np.eye(len(K))
    compiled(rotate_rows)(G, W)
    sigma = np.sqrt(np.square(G).sum(1))
    order = np.argsort(-sigma, kind="stable")
    G, W, sigma = G[order], W[order], sigma[order]
    return W.T, sigma, np.divide(G, sigma[:, None], out=np.zeros_like(G), where=sigma[:, None] > 0.0)


def split(B: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the coordinates of a in orthonormal rows, and what is left of it: nothing where that is of the size of rounding."""
    c = B @ a
    p = a - B.T @ c
    more = B @ p
    p = p - B.T @ more
    return c + more, p if np.linalg.norm(p) > NONE * np.linalg.norm(a) else np.zeros_like(p)


def unit(p: np.ndarray) -> np.ndarray:
    """Return a vector of length 1, or zeros."""
    length = float(np.linalg.norm(p))
    return p / length if length > 0.0 else p
