"""Online singular value decomposition."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, NamedTuple, Self

import numpy as np

from ..algorithm.params import NonNegative, Positive, Share, Switch, WholeRange
from ..inputs import checking
from ..inputs.checking import Rows
from ..inputs.features import Features, Named
from .components import Components
from .thin import Thin

Whole = Annotated[Any, WholeRange(1.0, math.inf, "[)"), None]


class Params(NamedTuple):
    """OnlineSVD."""

    r_max: Whole = None
    thr: NonNegative = 1e-10
    beta: Share = 1.0
    nu: Positive = 1.0
    keep: Switch = True
    window: Whole = None


class OnlineSVD(Components):
    """The thin singular value decomposition of a matrix that changes: A = V diag(s) U, a row of A for each example.

    A new row x has coordinates z = U x and a residual of length rho; with the SVD of the small matrix [[diag(s), 0], [z, rho]] the
    bases turn, and rank grows by one where rho is above thr max(1, s_1). Without a limit on the rank this equals the SVD of all
    rows; with `r_max` the smallest singular values are cut off each time. The matrix is not centred: `OnlinePCA` is.

    Parameters: `r_max`, the most components, None for as many as it takes; `thr`; `beta` < 1 to forget: rows count by beta^age;
    `keep`: keep V, a row for each example, whose memory grows with them; `window`: the rows kept, of which the oldest is taken out;
    `missing`, "impute" to take NaN, and what sparse rows and dicts lack, for unknown entries, whose posterior mean is put in their
    place; `nu`, the variance of the noise for that.

    Read back: `components_` (U), `singular_values_`, `left_` (V). Change: `append_feature(values)`, `revise(i, x)`, `remove(i)`.
    `complete(X)` fills in unknown entries, `rank_for(share)` says how many components hold that share of the squares.

    Pitfalls: with `keep`, every 64 rows cost r^2 for each example kept. Each cut loses what it cuts: the error is at least that of
    the SVD of all rows, cut once.

    Reference: Brand (2003), *Fast online SVD revisions for lightweight recommender systems*.

    >>> import noregret as nr
    >>> m = nr.OnlineSVD().partial_fit([[1.0, 0.0, 2.0], [0.0, 2.0, 1.0], [1.0, 1.0, 0.0], [2.0, 2.0, 4.0]])
    >>> m.singular_values_.round(4)
    array([5.6165, 1.8589, 1.    ])
    >>> m.append_feature([1.0, 0.0, 1.0, 0.0]).singular_values_.round(4)
    array([5.6406, 1.8747, 1.5085, 0.6269])
    """

    name = "online_svd"
    cite = "brand2003"
    Params: ClassVar[Any] = Params
    options: ClassVar[dict[str, Any]] = {"missing": None, **Components.options}
    model_class: ClassVar[Any] = Thin
    fixed: ClassVar[tuple[str, ...]] = ("r_max", "keep", "hash_bits")
    merges = "approximate"

    def check_settings(self) -> None:
        """Refuse settings that do not go together."""
        super().check_settings()
        if self.missing not in (None, "impute"):
            raise ValueError(f"missing must be None or 'impute', got {self.missing!r}")
        if self.window is not None and not self.keep:
            raise ValueError("window takes the oldest row out of those kept: it does not go with keep=False")
        if self.window is not None and self.beta != 1.0:
            raise ValueError("window and beta forget in two ways: give one of them")

    def new_model(self, features: Features) -> Any:
        """Return a new model over these features."""
        self.check_settings()
        return Thin(self, features)

    def check_rows(self, X: Any, m: Any) -> Rows:
        """Return X as checked rows; NaN is an unknown entry where these are imputed."""
        if self.missing is None or hasattr(X, "tocsr"):
            return super().check_rows(X, m)
        names, X = checking.column_names(X), checking.as_array(X)
        try:
            X = np.array(X, np.float64)
        except (TypeError, ValueError):
            return super().check_rows(X, m)
        unknown = np.isnan(X)
        rows = super().check_rows(np.where(unknown, 0.0, X), m)._replace(names=names)
        return rows._replace(arrays=(np.where(unknown, np.nan, rows.arrays[0]),))

    def learnable(self, read: Rows | Named, m: Any) -> None:
        """Refuse rows that are too large."""
        rows = read.rows if isinstance(read, Named) else read
        super().learnable(rows._replace(arrays=(*rows.arrays[:-1], np.nan_to_num(rows.arrays[-1]))), m)

    def learn_one(self, x: Any) -> np.ndarray:
        """Learn one row; return its coordinates from before."""
        if self.missing is None or isinstance(x, Mapping):
            return super().learn_one(x)
        return self._learned(np.asarray(x, np.float64).reshape(1, -1), True)[0][0][0]

    # ---- changes -----------------------------------------------------------------------------------------------------
    def append_feature(self, values: Any, name: Any = None) -> Self:
        """Append a feature, with its value for every example kept; of named features, under this name."""
        m = self._kept()
        values = np.asarray(values, np.float64)
        if values.shape != (int(m.state.kept[0]),) or not np.isfinite(values).all():
            raise ValueError(f"expected a finite number for each of {int(m.state.kept[0])} examples, got shape {values.shape}")
        if (name is None) != (m.features.names is None) or (name is not None and name in m.features.names):
            raise ValueError(f"expected a new name where features have names, and none where they do not, got {name!r}")
        m = m.fork()
        m.append_feature(values, name)
        self.model = m
        return self

    def revise(self, i: int, x: Any) -> Self:
        """Put a row in the place of the i-th example kept."""
        m, i = self._kept(), self._place(i)
        m, rows = self.begun([x] if isinstance(x, Mapping) else np.asarray(x, np.float64).reshape(1, -1), m)
        row = next(self.pieces(m, rows))
        m.revise(i, next(m.dense(row))[0])
        return self

    def remove(self, i: int) -> Self:
        """Take the i-th example kept out of the matrix; those after it move up."""
        self._kept().remove(self._place(i))
        return self

    def _kept(self) -> Any:
        m = self.model
        if not m.params.keep:
            raise ValueError("keep=False drops the examples: make the learner with keep=True to change them")
        return m

    def _place(self, i: Any) -> int:
        n = int(self.model.state.kept[0])
        if not isinstance(i, (int, np.integer)) or not 0 <= i < n:
            raise ValueError(f"expected the number of an example kept, 0 to {n - 1}, got {i!r}")
        return int(i)

    # ---- answers -----------------------------------------------------------------------------------------------------
    def complete(self, X: Any) -> np.ndarray:
        """Return rows with the posterior mean in the place of unknown entries (`missing="impute"`)."""
        m = self.model
        found = [m.completed(rows)[0] for rows in m.dense(self.placed(X))]
        return np.concatenate(found)[:, : m.features.size]

    def rank_for(self, share: float) -> int:
        """Return the least number of components that hold so large a share of the sum of squared singular values."""
        if not 0.0 < share <= 1.0:
            raise ValueError(f"share must be in (0, 1], got {share!r}")
        squares = np.cumsum(np.square(self.singular_values_))
        return int(np.searchsorted(squares, share * squares[-1] * (1.0 - 1e-12)) + 1) if len(squares) else 0

    @property
    def singular_values_(self) -> np.ndarray:
        """The singular values, largest first."""
        s = self.model.state
        return np.array(s.s[: int(s.rank[0])])

    @property
    def left_(self) -> np.ndarray:
        """The left singular vectors: a row for each example kept."""
        found: np.ndarray = self._kept().left()
        return found
