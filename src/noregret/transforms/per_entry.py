"""A map before kernels: distances that do not grow with the number of columns."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..inputs.checking import Rows
from .step import Map

ROWS, ENTRIES = range(2)
SETTLED = 100.0  # rows after which the mean stays: bins that kept moving would have to be learned again
POWERS = {"l1": 1.0, "l2": 0.5}


class PerEntry(Map):
    """Divide rows by the mean number m of their non-zero entries ("l1"), or by its square root ("l2").

    The distance of two rows grows with the number of columns, and with it the width a kernel should have. After Scale and PerEntry
    one width suits tables of any number of columns: "l1" for the Laplacian kernel of RandomBinning, "l2" for the Gaussian one. The
    mean is that of the rows so far, the row itself among them, and stays once there were 100. When predicting nothing is counted.

    >>> import noregret as nr
    >>> nr.pipeline(nr.Scale(center="common", clip=3.0), nr.PerEntry(), nr.RandomBinning(100, nr.Laplacian(2.0)), nr.NAG())
    pipeline(Scale(center='common', clip=3.0), PerEntry(), RandomBinning(P=100, kernel=Laplacian(gamma=2.0)), NAG())
    """

    def __init__(self, norm: str = "l1") -> None:
        if norm not in POWERS:
            raise ValueError(f"norm must be one of {', '.join(POWERS)}, got {norm!r}")
        self.norm = norm
        self._seen = np.zeros(2)

    def rows(self, rows: Rows, learn: bool, measured: np.ndarray | None = None) -> Rows:
        """Divide rows."""
        rows = rows.packed()
        starts, data = rows.stored(), rows.arrays[-1]
        total = np.concatenate([[0.0], np.cumsum(data.reshape(-1) != 0.0)])
        entries = total[starts[1:]] - total[starts[:-1]]
        if learn:
            counted = np.clip(SETTLED - self._seen[ROWS], 0.0, rows.n).astype(int)
            sums = self._seen + np.column_stack([np.arange(1, counted + 1), np.cumsum(entries[:counted])])
            self._seen = sums[-1] if counted else self._seen
            sums = np.concatenate([sums, np.broadcast_to(self._seen, (rows.n - counted, 2))])
        else:
            sums = np.broadcast_to(self._seen, (rows.n, 2))
        mean = np.maximum(sums[:, ENTRIES] / np.maximum(sums[:, ROWS], 1.0), 1.0)
        size = np.repeat(mean if self.norm == "l1" else np.sqrt(mean), np.diff(starts))
        return rows._replace(arrays=(*rows.arrays[:-1], (data.reshape(-1) / size).reshape(data.shape)))

    @property
    def nbytes(self) -> int:
        """Bytes of the counts."""
        return self._seen.nbytes

    def mark(self, rows: Rows) -> np.ndarray:
        """Return the counts."""
        return self._seen

    def back(self, mark: np.ndarray) -> None:
        """Restore them."""
        self._seen = mark

    def merge(self, other: PerEntry, numbers: np.ndarray | None = None) -> None:
        """Take in the counts of another."""
        super().merge(other)
        self._seen = self._seen + other._seen

    def less(self, other: PerEntry, times: int, numbers: np.ndarray | None = None) -> None:
        """Subtract, `times` times, the counts that all merged maps began with."""
        self._seen = self._seen - times * other._seen

    def state(self) -> dict[str, np.ndarray]:
        """Return the counts."""
        return {"seen": self._seen}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Restore them."""
        found = state["seen"]
        if not (found.shape == (2,) and np.isfinite(found).all() and (found >= 0.0).all()):
            raise ValueError(f"expected how many rows and entries were seen, found {found}")
        self._seen = np.array(found)
