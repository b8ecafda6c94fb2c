"""`sparsify` and `densify` for learners whose weights are mostly 0, as in scikit-learn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self


class SparseCoef:
    """Can give `coef_` as a sparse matrix."""

    if TYPE_CHECKING:

        def sound(self) -> Any:
            """Return the model."""

    sparse_coef_: bool

    def sparsify(self) -> Self:
        """Make `coef_` a SciPy sparse matrix from now on, as scikit-learn's linear models do."""
        self.sound()  # an error before anything is learned
        self.sparse_coef_ = True
        return self

    def densify(self) -> Self:
        """Make `coef_` an array again."""
        self.sound()
        self.__dict__.pop("sparse_coef_", None)
        return self
