"""Online dictionary learning for sparse coding."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from ..algorithm.params import Optional, Switch, Times, WholeRange
from ..algorithm.state import Count, Slot
from ..engine.compiling import compiled
from .components import Components, first_rows
from .decomposition import Decomposition
from .merged import Basis, Waiting
from .sparse_coding import begin_atoms, encode_rows, learn_codes, renew

CODING = ("cd", "lars")


class State(NamedTuple):
    """Atoms, what their codes add up to, and rows that wait."""

    D: Basis
    A: Annotated[Any, Slot(("component", "atom"), dtype=np.float64)]  # sum of a a'
    B: Basis  # sum of a x'
    idle: Annotated[Any, Slot(("component",), dtype=np.int64)]  # signals since an atom was used
    rank: Count
    t: Count  # batches
    wait: Waiting
    waiting: Count


class Atoms(Decomposition):
    """What a `DictionaryLearner` holds."""

    State = State
    batched = True

    def more_sizes(self) -> dict[str, int]:
        """Return the size of a batch, and of the other side of A."""
        return {**super().more_sizes(), "atom": int(self.params.k)}

    def begin(self) -> None:
        """Begin with given atoms, or with none: the first rows become atoms."""
        super().begin()
        rows = first_rows(self, self.given.get("start"))
        if rows is not None:
            if np.square(rows).sum(1).max() > 1.0 + 1e-9:
                raise ValueError("start must have rows of length at most 1")
            self.state.D[:, : rows.shape[1]] = rows
            self.state.rank[0] = len(rows)

    @property
    def penalty(self) -> float:
        """The factor of |a|_1: 1.2/sqrt(d) unless given."""
        return float(self.params.lambda_) or 1.2 / float(np.sqrt(max(self.features.size, 1)))

    def basis(self) -> tuple[np.ndarray, np.ndarray, int]:
        """Return the atoms as rows."""
        return self.state.D, np.zeros(self.dims["feature"]), int(self.state.rank[0])

    def project(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the codes of rows and their squared residuals."""
        s, (k, d) = self.state, self.state.D.shape
        Z, E = np.zeros((len(X), k)), np.empty(len(X))
        how = (self.penalty, bool(self.params.positive), self.given["coding"] == "lars")
        path = (np.empty(k + 1, np.int64), np.empty(k), np.empty((k + 1, k + 1)), np.empty(k + 1))
        compiled(encode_rows)(X, s.D, int(s.rank[0]), np.empty((k, k)), *how, Z, E, np.empty(k), np.empty(k), np.empty(d), *path)
        return Z, E

    def learn(self, X: np.ndarray, Z: np.ndarray, E: np.ndarray) -> None:
        """Learn rows one by one."""
        for i in range(len(X)):
            x = X[i : i + 1]
            Z[i : i + 1], E[i : i + 1] = self.project(x)
            new = self.state.rank[0] < len(self.state.D)
            self.absorb(x, None if new else (Z[i : i + 1], E[i : i + 1]))

    def absorb(self, X: np.ndarray, known: tuple[np.ndarray, np.ndarray] | None = None) -> None:
        """Learn a batch, whose codes may be known."""
        s, b = self.state, float(self.params.S)
        compiled(begin_atoms)(X, s.D, s.rank)
        Z, E = known or self.project(X)
        s.t[0] += 1
        t = float(s.t[0])
        theta = t * b if t < b else b * b + t - b
        beta = (theta + 1.0 - b) / (theta + 1.0) if self.params.forgetting else 1.0
        r = int(s.rank[0])
        compiled(learn_codes)(X, Z, E, s.D, s.A, s.B, s.idle, r, beta, int(self.params.passes), np.empty(X.shape[1]))
        compiled(renew)(X, E, s.D, s.A, s.B, s.idle, r)


class Params(NamedTuple):
    """DictionaryLearner."""

    k: Annotated[float, WholeRange(1.0, 1 << 20, "[]")] = 16
    lambda_: Optional = None
    S: Times = 1
    forgetting: Switch = True
    positive: Switch = False
    passes: Times = 1


class DictionaryLearner(Components):
    """Atoms of which rows are sparse combinations: x is about sum_j a_j d_j, with few a_j that are not 0 and |d_j| <= 1.

    The code of a row is a = argmin |x - D'a|^2/2 + lambda |a|_1. A batch of S rows adds its codes to A = sum a a' and B = sum a x',
    after both are multiplied by a factor beta_t that forgets early dictionaries, and each atom moves to
    d_j = u_j/max(1, |u_j|), u_j = (b_j - sum_l A_jl d_l)/A_jj + d_j. The first rows become atoms; one that 1,000 rows have not used
    is put on the row that the batch fits worst.

    Parameters: `k` atoms, which may be more than there are features; `lambda_`, 1.2/sqrt(d) unless given; `S` rows in a batch;
    `forgetting`; `positive` codes alone; `passes` over the atoms in each batch; `coding`, "cd" for coordinate descent or "lars" for
    the path of solutions, which is exact; `start`, atoms to begin with.

    Read back: `components_` (the atoms), `objective(X)`.

    Pitfalls: the problem is not convex: other first rows lead to another dictionary. Take the mean out of images first.

    Reference: Mairal, Bach, Ponce, Sapiro (2009), *Online dictionary learning for sparse coding*.

    >>> import noregret as nr
    >>> m = nr.DictionaryLearner(k=2, lambda_=0.1).fit([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0], [0.0, 1.0]])
    >>> m.transform([[2.0, 0.0], [0.0, 1.0]]).round(2)
    array([[1.9, 0. ],
           [0. , 0.9]])
    """

    name = "dictionary"
    cite = "mairal2009"
    Params: ClassVar[Any] = Params
    options: ClassVar[dict[str, Any]] = {"coding": "cd", "start": None, **Components.options}
    model_class: ClassVar[Any] = Atoms
    overcomplete: ClassVar[bool] = True
    no_merge = "the atoms of two dictionaries do not correspond"

    def check_settings(self) -> None:
        """Refuse settings that do not go together."""
        super().check_settings()
        if self.coding not in CODING:
            raise ValueError(f"coding must be 'cd' or 'lars', got {self.coding!r}")

    def objective(self, X: Any) -> float:
        """Return the mean of |x - D'a|^2/2 + lambda |a|_1 over rows."""
        m = self.model
        Z, E = m.answer(self.placed(X))
        return float((0.5 * E + m.penalty * np.abs(Z).sum(1)).mean())
