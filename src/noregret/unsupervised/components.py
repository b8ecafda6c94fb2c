"""Learners of components: rows without targets, a few directions or atoms that rows are made of, coordinates in them."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ..inputs.checking import Rows, row_of
from ..inputs.features import Features, Named, Names, Numbers
from .decomposition import Decomposition
from .without_targets import Unlabelled

LARGEST = 1e60  # of a value: products of sums of squares stay finite


class Components(Unlabelled):
    """The methods of every learner of components. Names that come late were 0 before. The cost of a row is its squared residual."""

    task: ClassVar[Any] = "components"
    made_of = "components"
    told_by = "transform or errors"
    fixed: ClassVar[tuple[str, ...]] = ("k", "S", "hash_bits", "center", "start")  # parameters that the arrays depend on
    overcomplete: ClassVar[bool] = False  # whether there may be more components than features

    # ---- input -------------------------------------------------------------------------------------------------------
    def check_settings(self) -> None:
        """Refuse settings that do not go together; ranges are checked by the Params."""
        super().check_settings()
        start = self.get_params().get("start")
        if start is not None and (np.ndim(start) != 2 or not np.isfinite(np.asarray(start, np.float64)).all()):
            raise ValueError(f"start must be an array of finite numbers, a row for each component, got {start!r:.60}")

    def new_model(self, features: Features) -> Any:
        """Return a new model over these features."""
        self.check_settings()
        most = None if isinstance(features, (Names, Numbers)) else features.width or features.size
        if most is not None and not self.overcomplete and most < int(self.k):
            raise ValueError(f"X has {most} feature(s), fewer than the k={int(self.k)} components asked for: give a smaller k")
        return self.model_class(self, features)

    @property
    def outputs(self) -> int:
        """Coordinates of a row, 0 where their number is not known before."""
        given = self.get_params()
        return int(given.get("k", given.get("r_max")) or 0)

    def learnable(self, read: Rows | Named, m: Any) -> None:
        """Refuse rows of finite numbers that cannot be learned; nothing changes."""
        rows = read.rows if isinstance(read, Named) else read
        data = rows.arrays[-1]
        if data.size and max(float(data.max()), -float(data.min())) > LARGEST:
            at = int(np.argmax(np.abs(data.ravel()) > LARGEST))
            row = row_of(rows, at)
            raise ValueError(
                f"X in row {row} holds {data.ravel()[at]:g}; expected numbers below {LARGEST:g} in size. Rescale them."
            )

    # ---- answers -----------------------------------------------------------------------------------------------------
    def errors(self, X: Any) -> np.ndarray:
        """Return the squared residual of each row: how far it is from what the components make of it."""
        found: np.ndarray = self.model.answer(self.placed(X))[1]
        return found

    def inverse_transform(self, Z: Any) -> np.ndarray:
        """Return the rows that coordinates stand for."""
        m = self.model
        V, mean, _ = m.basis()
        Z = np.asarray(Z, np.float64)
        if Z.ndim != 2 or Z.shape[1] != len(V):
            raise ValueError(f"expected rows of {len(V)} coordinates, got an array of shape {Z.shape}")
        d = m.features.size
        return Z @ V[:, :d] + mean[:d]

    def reconstruct(self, X: Any) -> np.ndarray:
        """Return what the components make of rows, in the order of the features."""
        return self.inverse_transform(self.transform(X))

    # ---- reading back ------------------------------------------------------------------------------------------------
    @property
    def components_(self) -> np.ndarray:
        """The components as rows, as many as have been found."""
        m = self.model
        V, _, r = m.basis()
        return np.array(V[:r, : m.features.size])

    @property
    def n_components_(self) -> int:
        """Components found so far."""
        return int(self.model.basis()[2])

    @property
    def mean_(self) -> np.ndarray:
        """The mean that rows are taken apart from, 0 where they are not centred."""
        m = self.model
        return np.array(m.basis()[1][: m.features.size])

    # ---- scikit-learn, without importing it --------------------------------------------------------------------------
    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return names for the columns of `transform`: the name of the class with a number."""
        return np.array([f"{type(self).__name__.lower()}{i}" for i in range(len(self.model.basis()[0]))], object)


def first_rows(m: Decomposition, start: Any) -> np.ndarray | None:
    """Return the rows that components begin with, where they are given."""
    if start is None:
        return None
    found = np.asarray(start, np.float64)
    if found.shape != (m.dims["component"], m.features.size):
        raise ValueError(f"start must have {m.dims['component']} rows of {m.features.size} numbers, got shape {found.shape}")
    return found
