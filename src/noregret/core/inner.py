"""What pipelines, training and evaluation ask of a learner besides its verbs: its model, and rows that are checked already."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    from .features import Features
    from .inputs import Rows
    from .learner import Progress
    from .model import Model


class Inner:
    """The inner face of a learner."""

    if TYPE_CHECKING:
        _m: Model

        def _model(self) -> Model: ...

        def _start(self, rows: Rows | None, features: Features | None = None) -> Model: ...

        def _place(self, m: Model, rows: Rows, grow: bool) -> Rows: ...

        def _learn_rows(self, rows: Rows, y: Any, c: np.ndarray | None, features: Features | None = None) -> list[Progress]: ...

        def _score_rows(self, rows: Rows) -> np.ndarray: ...

    @property
    def started(self) -> bool:
        """Whether there is a model: something has been learned."""
        return "_m" in self.__dict__

    @property
    def model(self) -> Model:
        """What was learned; an error before anything is."""
        return self._model()

    def model_for(self, rows: Rows, features: Features | None = None) -> Model:
        """Return the model, or a new one for these rows, which is not kept."""
        return self._m if self.started else self._start(rows, features)

    def restore(self, m: Model | None) -> None:
        """Put back a model from before, or None where there was none."""
        self.__dict__.pop("_m", None)
        if m is not None:
            self._m = m

    def learn_rows(self, rows: Rows, y: Any, c: np.ndarray | None, features: Features | None = None) -> list[Progress]:
        """Learn from checked rows in order; a model that begins here takes `features` for its table."""
        return self._learn_rows(rows, y, c, features)

    def score_rows(self, rows: Rows) -> np.ndarray:
        """Return the scores of checked rows, one per class in order of codes."""
        return self._score_rows(rows)

    def scores_by(self, m: Model, rows: Rows) -> np.ndarray:
        """Return the scores of checked rows by a model of this learner, kept or not."""
        m.features.check(rows, type(self).__name__)
        return m.score(self._place(m, rows, grow=False))
