"""Models that no step changes, such as trees: what a learner of rows asks of a model and they answer alike."""

from __future__ import annotations

import contextlib

from ..inputs.checking import Rows
from .calibrated import Calibrated


class Unstepped(Calibrated):
    """A model without a step: what it learns from is checked before, and there is no step size."""

    def begin(self) -> None:
        """Begin with nothing learned."""
        raise NotImplementedError

    def unharmed(self, rows: Rows) -> contextlib.AbstractContextManager[None]:
        """Nothing can fail midway."""
        return contextlib.nullcontext()

    def overflowed(self) -> bool:
        """Return False: see `unharmed`."""
        return False

    def forget(self) -> None:
        """Start over with the current features, labels and counts."""
        self.begin()
        self.calibration = self.uncalibrated()

    def restart(self) -> None:
        """Do nothing: there are no step sizes."""
