"""The probabilities of a pool: each member has a calibrator of its own, and fixed share mixes what they say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np

from ..engine.compiling import compiled
from ..engine.words import strict
from ..files.json_values import Tensors, expect
from .calibration import Calibration, Scores, check_weights, stacked
from .calibrator import Calibrator
from .platt import LEAST, reweigh

ROOM = 1 << 20  # probabilities of one member that are held at a time: 8 MB


class Mixture(Calibration):
    """The probabilities of the members of a pool, each with a calibrator of its own, mixed by fixed share."""

    pooled = True

    def __init__(self, size: int, known: int = 0) -> None:
        self.calibrators = [Calibrator(known) for _ in range(size)]
        self.weights, self.rows = np.full(size, 1.0 / size), np.zeros(1)

    def follow(self, scores: Sequence[Scores], y: np.ndarray, c: np.ndarray | None) -> np.ndarray:
        """Return the probabilities of rows by code, from before each is learned; `scores` are those of each member."""
        room = max(1, ROOM // max(s.f.shape[1] for s in scores))
        runs = [slice(a, min(a + room, len(y))) for a in range(0, len(y), room)]
        found = [self._follow([s.cut(at.start, at.stop) for s in scores], y[at], None if c is None else c[at]) for at in runs]
        return stacked(found)

    def _follow(self, scores: Sequence[Scores], y: np.ndarray, c: np.ndarray | None) -> np.ndarray:
        told = [own.follow(s, y, c) for own, s in zip(self.calibrators, scores, strict=True)]
        likely = np.column_stack([p[np.arange(len(y)), y] for p in told])
        W = np.empty(likely.shape)
        weights = np.ones(len(y)) if c is None else np.asarray(c, np.float64)
        compiled(mix)(likely, weights, self.weights, self.rows, W)
        return mixed(W, told)

    def of_known(self, scores: Sequence[Scores]) -> np.ndarray:
        """Return the probabilities of the classes this knows, two or more."""
        told = [own.of_known(s) for own, s in zip(self.calibrators, scores, strict=True)]
        return mixed(np.broadcast_to(self.weights, (len(told[0]), len(told))), told)

    def fresh(self, known: int) -> Self:
        """Return one that has learned nothing, of classes that are known."""
        return type(self)(len(self.calibrators), known)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return every array of the state, by name."""
        own = {f"{k}.{name}": a for k, m in enumerate(self.calibrators) for name, a in m.arrays().items()}
        return {"weights": self.weights, "rows": self.rows, **own}

    def restore(self, tensors: Tensors, known: int) -> None:
        """Take the state from a file, every number of it checked."""
        for k, own in enumerate(self.calibrators):
            start = f"{k}."
            own.restore({n.removeprefix(start): tensors.pop(n) for n in list(tensors) if n.startswith(start)}, known)
        expect(tensors.keys() == {"weights", "rows"}, "the arrays weights and rows of probabilities", sorted(tensors))
        expect(tensors["rows"].shape == (1,) and bool(tensors["rows"][0] >= 0.0), "a number of rows", tensors["rows"])
        expect(tensors["weights"].shape == self.weights.shape, f"{len(self.weights)} weights", tensors["weights"])
        check_weights(tensors["weights"])
        self.weights, self.rows = (np.array(tensors[k], np.float64) for k in ("weights", "rows"))


@strict
def mix(likely: np.ndarray, c: np.ndarray, weights: np.ndarray, rows: np.ndarray, W: np.ndarray) -> None:
    """Write the weights before each row; then learn from the probabilities that each member gave to its class, if any did."""
    for i in range(likely.shape[0]):
        told = 0.0
        for k in range(likely.shape[1]):
            W[i, k] = weights[k]
            told = max(told, likely[i, k])
        if c[i] > 0.0 and told > 0.0:
            rows[0] += 1.0
            for k in range(likely.shape[1]):
                likely[i, k] = max(likely[i, k], LEAST)
            reweigh(weights, likely[i], c[i], rows[0])


def mixed(W: np.ndarray, told: Sequence[np.ndarray]) -> np.ndarray:
    """Return the weighted sum of probabilities, in the order of the members."""
    out = W[:, [0]] * told[0]
    for k in range(1, len(told)):
        out += W[:, [k]] * told[k]
    return out
