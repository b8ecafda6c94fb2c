"""A map before learners that cost with the number of columns: the first columns, and no others."""

from __future__ import annotations

import numpy as np

from ..inputs.checking import Rows
from .feature_map import whole
from .step import Map


class First(Map):
    """Keep the features numbered below n, in order of appearance (or of columns), and drop the rest.

    Bounds what kernels and forests cost on rows with very many features, such as words.

    >>> import noregret as nr
    >>> nr.pipeline(nr.First(1000), nr.RandomBinning(100), nr.NAG())
    pipeline(First(n=1000), RandomBinning(P=100), NAG())
    """

    def __init__(self, n: int = 1000) -> None:
        self.n = whole("n", n, 1)

    @property
    def most(self) -> int:
        """The most features that go out."""
        return int(self.n)

    def rows(self, rows: Rows, learn: bool, measured: np.ndarray | None = None) -> Rows:
        """Return rows without the other features."""
        if rows.width <= self.n:
            return rows
        if rows.layout == "dense":
            return rows._replace(arrays=(np.ascontiguousarray(rows.arrays[0][:, : self.n]),), width=self.n)
        rows = rows.packed()
        starts, indices, data = rows.arrays
        kept = indices < self.n
        before = np.concatenate([[0], np.cumsum(kept)])
        return rows._replace(arrays=(before[starts], indices[kept], data[kept]), width=self.n)
