"""A forecaster that looks at no row: the last label comes again, as often as it did so far."""

from __future__ import annotations

import numpy as np

from ..engine.compiling import compiled
from ..engine.words import strict
from ..files.json_values import Tensors, expect

Array = np.ndarray
AGAIN, ROWS, LAST = range(3)
FADING = 0.999  # of the counts, a row: runs of labels come and go


class LastLabel:
    """p(last label) = (1 + rows in which it came again)/(2 + rows), the counts fading; the rest is shared equally."""

    def __init__(self) -> None:
        self.seen = np.array([1.0, 2.0, -1.0])

    def follow(self, y: Array, c: Array, known: Array, K: int) -> Array:
        """Return the probabilities of rows by code (n, K), from before each; `known` are the classes known then."""
        out = np.zeros((len(y), K))
        compiled(echo)(y, c, known, self.seen, out)
        return out

    def arrays(self) -> dict[str, Array]:
        """Return every array of the state, by name."""
        return {"seen": self.seen}

    def restore(self, tensors: Tensors, known: int) -> None:
        """Take the state from a file, every number of it checked."""
        found = tensors.pop("seen")
        expect(found.shape == (3,) and bool(np.isfinite(found).all()), "three counts of the last label", found)
        again, rows, last = found.tolist()
        expect(0.0 < again <= rows and last in range(-1, known), f"counts and a code below {known}", found)
        self.seen = np.array(found, np.float64)


@strict
def echo(y: Array, c: Array, known: Array, seen: Array, out: Array) -> None:
    """Write the probabilities of each row, then count whether the last label came again."""
    for i in range(len(y)):
        last, K = int(seen[LAST]), known[i]
        q = seen[AGAIN] / seen[ROWS]
        for j in range(K):
            out[i, j] = 1.0 / K if last < 0 or last >= K or K == 1 else q if j == last else (1.0 - q) / (K - 1.0)
        if c[i] > 0.0:
            if last >= 0:
                seen[AGAIN] = FADING * seen[AGAIN] + (1.0 if y[i] == last else 0.0)
                seen[ROWS] = FADING * seen[ROWS] + 1.0
            seen[LAST] = y[i]
