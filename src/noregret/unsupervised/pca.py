"""Online principal components analysis: four methods behind one face."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from ..algorithm.params import NonNegative, Optional, Share, Switch, Times, WholeRange
from ..inputs.checking import Rows
from ..inputs.features import Named
from .components import Components
from .expert_pca import LONGER, Expert
from .merged import Merged
from .sequential import POWERS, Oja, Sequential

METHODS: dict[str, Any] = {"merge": Merged, "ccipca": Sequential, "oja": Oja, "expert": Expert}
OWN = {"S": "merge", "forgetting": "merge", "l": "ccipca", "rate": "oja", "start": "oja"}  # parameters of one method


class Params(NamedTuple):
    """OnlinePCA."""

    k: Annotated[float, WholeRange(1.0, 1 << 20, "[]")] = 2
    S: Times = 1
    forgetting: Share = 1.0
    l: NonNegative = 0.0  # noqa: E741  the letter of the paper
    eta: Optional = None
    center: Switch = True


class OnlinePCA(Components):
    """Principal components of a stream, by one of four methods; S rows at a time or one by one, any split the same result.

    "merge": the SVD of all rows so far, cut to k: [diag(s) V; rows - mean; sqrt(n m/(n + m)) (mean before - mean of the rows)] is
    decomposed for each batch of S rows, or for each row. Exact where k is the rank; equal to scikit-learn's IncrementalPCA on the
    same batches. "ccipca": v_i <- (n-1-l)/n v_i + (1+l)/n u (u.v_i)/|v_i|, then u loses its share along v_i; no step size, O(k d) a
    row. "oja": V <- orthonormalised V + eta_t (V x) x'; eta_t is k over the sum of squared lengths unless `eta` is given. "expert":
    a density W over the directions to discard, W <- exp(ln W - eta x x'), its eigenvalues capped at 1/(d - k): slow, O(d^3) a row,
    and with a guarantee.

    Parameters: `k` components; `method`; `S` rows in a batch and `forgetting`, the factor by which earlier rows count less with
    each new one ("merge"); `l`, 2 to 4 to forget ("ccipca"); `eta` and `rate`, "inv_t", "inv_sqrt" or "constant" ("oja"), `eta`
    also of "expert", 1 unless given; `center`, which "expert" never does; `start`, orthonormal rows to begin with ("oja").

    Read back: `components_`, `explained_variance_`, `singular_values_` ("merge"), `mean_`, `n_pending_`. "expert": `density_`,
    `paid_`, `best_`, `bound()`, `sample(seed)`.

    Bound: "expert", for rows of length at most 1, pays in expectation at most (eta L + (d-k) ln(d/(d-k)))/(1 - e^-eta), L the
    compression loss of the best k directions in hindsight.

    Pitfalls: scale columns first, as for any PCA. "oja" finds the subspace long before the directions in it. Where two variances
    are equal the directions are not determined, and may turn.

    Reference: Ross, Lim, Lin, Yang (2008); Weng, Zhang, Hwang (2003); Oja (1982); Warmuth, Kuzmin (2006).

    >>> import noregret as nr
    >>> m = nr.OnlinePCA(k=1)
    >>> m.learn_many([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0], [1.0, 0.0]]).round(3)      # what was not explained, before
    array([5. , 5. , 0. , 0.8])
    >>> m.components_.round(3)
    array([[0.334, 0.942]])
    """

    name = "online_pca"
    cite = "ross2008"
    Params: ClassVar[Any] = Params
    options: ClassVar[dict[str, Any]] = {"method": "merge", "rate": "inv_t", "start": None, **Components.options}
    fixed: ClassVar[tuple[str, ...]] = (*Components.fixed, "method")
    merges = "approximate"
    no_merge = "only method='merge' keeps what two models have in common; the others keep directions that have turned"

    @property
    def model_class(self) -> Any:
        """The model of the method."""
        return METHODS[self.method]

    @property
    def merging(self) -> str:
        """How two of these are merged."""
        return "approximate" if self.method == "merge" else "none"

    def check_settings(self) -> None:
        """Refuse settings that do not go together."""
        if self.method not in METHODS:
            raise ValueError(f"method must be one of {', '.join(map(repr, METHODS))}, got {self.method!r}")
        if self.rate not in POWERS:
            raise ValueError(f"rate must be one of {', '.join(map(repr, POWERS))}, got {self.rate!r}")
        for name, method in OWN.items():
            given = getattr(self, name)
            if self.method != method and given is not None and given != self.defaults[name]:
                raise ValueError(f"{name} belongs to method={method!r}, and the method is {self.method!r}")
        if self.eta is not None and self.method not in ("oja", "expert"):
            raise ValueError(f"eta belongs to method='oja' and 'expert', and the method is {self.method!r}")
        super().check_settings()

    def learnable(self, read: Rows | Named, m: Any) -> None:
        """Refuse rows that are too large, or longer than 1 where the method needs it."""
        super().learnable(read, m)
        rows = read.rows if isinstance(read, Named) else read
        if self.method == "expert":
            data = np.square(rows.arrays[-1]).ravel()
            starts = np.asarray(rows.stored(), np.int64)
            lengths = np.array([data[a:b].sum() for a, b in pairwise(starts)])
            if lengths.max(initial=0.0) > LONGER:
                at = int(np.argmax(lengths > LONGER))
                raise ValueError(
                    f"row {at} has the length {math.sqrt(lengths[at]):g}; method='expert' expects at most 1. "
                    "Divide rows by the largest length, or put Normalize() before it"
                )

    # ---- reading back ------------------------------------------------------------------------------------------------
    @property
    def explained_variance_(self) -> np.ndarray:
        """The variance along each component."""
        found: np.ndarray = self.model.variances
        return found

    @property
    def singular_values_(self) -> np.ndarray:
        """The singular values of the rows less their mean ("merge")."""
        s = self.model.state
        return np.array(s.s[: int(s.rank[0])]) if self.method == "merge" else self._no("singular_values_", "merge")

    @property
    def density_(self) -> np.ndarray:
        """The matrix W: how likely directions are to be discarded ("expert")."""
        found: np.ndarray = self._expert("density_").density
        return found

    @property
    def paid_(self) -> float:
        """The expected compression loss of all rows ("expert")."""
        return float(self._expert("paid_").paid)

    @property
    def best_(self) -> float:
        """The compression loss of the best k directions in hindsight ("expert")."""
        return float(self._expert("best_").least())

    def bound(self, best: float | None = None) -> float:
        """Return what `paid_` is at most ("expert"), given the loss of the best k directions, by default `best_`."""
        m = self._expert("bound")
        return float(m.bound(m.least() if best is None else best))

    def sample(self, seed: int = 0) -> np.ndarray:
        """Return k orthonormal directions drawn by the density ("expert"): projecting on them has the expected loss."""
        found: np.ndarray = self._expert("sample").sampled(seed)
        return found

    def _expert(self, name: str) -> Any:
        return self.model if self.method == "expert" else self._no(name, "expert")

    def _no(self, name: str, method: str) -> Any:
        raise AttributeError(f"{name} belongs to method={method!r}, and the method is {self.method!r}")
