"""What learners that make zeros can do besides: weights as a sparse matrix, in scikit-learn's manner."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self


class Thin:
    """A learner many of whose weights are 0."""

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
