"""The probabilities of a pool: each member has a calibrator of its own, and fixed share mixes what they say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np

from ..calibration.calibration import Calibration, Scores, stacked, widened
from ..calibration.calibrator import Calibrator
from ..calibration.combination import Combination
from ..calibration.last_label import LastLabel
from ..calibration.platt import LEAST
from ..engine.elementary import log, over
from ..files.json_values import Tensors, expect
from .weighing import Weighing

Array = np.ndarray
ROOM = 1 << 20  # probabilities of all forecasters that are held at a time: 8 MB


class Mixture(Calibration):
    """The probabilities of the members of a pool, each with a calibrator of its own, mixed by fixed share."""

    pooled = True

    def __init__(self, size: int, known: int = 0, weighing: Weighing | None = None) -> None:
        self.calibrators = [Calibrator(known) for _ in range(size)]
        self.weighing = Weighing(size, "mixture", None, None) if weighing is None else weighing

    # ---- forecasts -------------------------------------------------------------------------------------------------------
    def follow(self, scores: Sequence[Scores], y: Array, c: Array | None) -> Array:
        """Return the probabilities of rows by code, from before each is learned; `scores` are those of each member."""
        weights = np.ones(len(y)) if c is None else np.asarray(c, np.float64)
        return stacked([self._follow([s.cut(a, b) for s in scores], y[a:b], weights[a:b]) for a, b in self._runs(scores)])

    def of_known(self, scores: Sequence[Scores]) -> Array:
        """Return the probabilities of the classes this knows, two or more."""
        return stacked([self._of_known([s.cut(a, b) for s in scores]) for a, b in self._runs(scores)])

    def _runs(self, scores: Sequence[Scores]) -> list[tuple[int, int]]:
        n, wide = len(scores[0].f), max(2, *(s.f.shape[1] for s in scores))
        size = max(1, ROOM // (wide * len(self.weighing.awake)))
        return [(a, min(a + size, n)) for a in range(0, max(n, 1), size)]

    def _follow(self, scores: Sequence[Scores], y: Array, c: Array) -> Array:
        awake = self.weighing.awake
        told = level([own.follow(s, y, c) if here else None for own, s, here in zip(self.calibrators, scores, awake, strict=False)])
        known = np.max([(p > 0.0).sum(axis=1) for p in told], axis=0)
        told += self.advised(told, known, y, c)
        likely = np.column_stack([p[np.arange(len(y)), y] for p in told])
        losses = -over(log, np.maximum(likely, LEAST))
        W = self.weighing.play(losses, np.where(y < known, c, 0.0))  # nobody could forecast a class that nobody knew
        return mixed(W, told)

    def _of_known(self, scores: Sequence[Scores]) -> Array:
        awake = self.weighing.awake.copy()
        told = level([own.of_known(s) if here else None for own, s, here in zip(self.calibrators, scores, awake, strict=False)])
        told += self.advice(told, awake)
        return mixed(np.broadcast_to(self.weighing.among(awake), (len(told[0]), len(told))), told)

    def advised(self, told: list[Array], known: Array, y: Array, c: Array) -> list[Array]:
        """Return what further forecasters say of rows, which then learn them; `known` are the classes known before each."""
        return []

    def advice(self, told: list[Array], awake: Array) -> list[Array]:
        """Return what further forecasters say of rows; nothing changes but that some may be left out."""
        return []

    # ---- files -----------------------------------------------------------------------------------------------------------
    def fresh(self, known: int) -> Self:
        """Return one that has learned nothing, of classes that are known."""
        return type(self)(len(self.calibrators), known)

    def arrays(self) -> dict[str, Array]:
        """Return every array of the state, by name."""
        return {**self.weighing.arrays(), **self.of_calibrators("")}

    def of_calibrators(self, name: str) -> dict[str, Array]:
        """Return the arrays of the calibrators, each under a name and its number."""
        return {f"{name}{k}.{at}": a for k, own in enumerate(self.calibrators) for at, a in own.arrays().items()}

    def restore(self, tensors: Tensors, known: int) -> None:
        """Take the state from a file, every number of it checked."""
        self.restore_calibrators("", tensors, known)
        expect(tensors.keys() == self.weighing.arrays().keys(), "the arrays of a mixture of probabilities", sorted(tensors))
        self.weighing.restore(tensors)

    def restore_calibrators(self, name: str, tensors: Tensors, known: int) -> None:
        """Take the calibrators from the tensors of a file."""
        for k, own in enumerate(self.calibrators):
            start = f"{name}{k}."
            own.restore({at.removeprefix(start): tensors.pop(at) for at in list(tensors) if at.startswith(start)}, known)


class Advised(Mixture):
    """Such a mixture with two more forecasters: the last label, and the combination of all, which may be better than each."""

    def __init__(self, size: int, known: int, weighing: Weighing) -> None:
        super().__init__(size, known, weighing)
        self.last, self.combination = LastLabel(), Combination(size + 1)

    def advised(self, told: list[Array], known: Array, y: Array, c: Array) -> list[Array]:
        """Return what the last label and the combination say of rows, from before each is learned."""
        last = self.last.follow(y, c, known, told[0].shape[1])
        return [last, self.combination.follow(np.stack([*told, last], axis=1), y, c, self.weighing.awake[:-1])]

    def advice(self, told: list[Array], awake: Array) -> list[Array]:
        """Return what the combination says. The last label is left out: rows that are only answered may be far from it."""
        awake[len(told)] = False
        last = np.zeros(told[0].shape)
        return [last, self.combination.forecast(np.stack([*told, last], axis=1), awake[:-1])]


def level(told: Sequence[Array | None]) -> list[Array]:
    """Return probabilities with as many columns as the widest, at least two; those of members asleep are 0."""
    there = [p for p in told if p is not None]
    n, K = len(there[0]), max(2, *(p.shape[1] for p in there))
    return [np.zeros((n, K)) if p is None else widened(p, K) for p in told]


def mixed(W: Array, told: Sequence[Array]) -> Array:
    """Return the weighted sum of probabilities, in the order of the members."""
    out = W[:, [0]] * told[0]
    for k in range(1, len(told)):
        out += W[:, [k]] * told[k]
    return out
