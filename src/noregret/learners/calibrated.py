"""The calibration of a model in files and in merging: a model without one has nothing of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..calibration.calibration import Calibration, Scores
from ..files.json_values import Tensors, expect
from ..inputs.checking import Rows
from ..inputs.labels import Labels

START = "calibration."  # of the names of its tensors


def wish(given: Mapping[str, Any]) -> tuple[Any, str]:
    """Return what parameters ask of a calibration."""
    return given.get("probabilities"), repr(given.get("coverage"))


class Calibrated:
    """A model whose scores a calibration may learn from: it has a task, parameters that are given, labels and scores."""

    calibration: Calibration | None = None
    algorithm: Any
    task: Any
    given: dict[str, Any]
    labels: Labels | None
    many: bool

    def score(self, rows: Rows) -> np.ndarray:
        """Return the scores of rows."""
        raise NotImplementedError

    def uncalibrated(self) -> Calibration | None:
        """Return what makes probabilities of scores, before it has learned anything."""
        found: Calibration | None = self.task.calibration(self.algorithm, self.given, self.known)
        return found

    @property
    def known(self) -> int:
        """The number of labels."""
        return 0 if self.labels is None else len(self.labels)

    @property
    def positive(self) -> int:
        """The code of the class whose score is the one of two."""
        return 0 if self.labels is None else self.labels.positive

    def calibrate(self, f: np.ndarray, y: np.ndarray, c: np.ndarray | None) -> None:
        """Let the calibration learn from scores and what the step took for the targets; the state does not change."""
        if self.calibration is not None:
            codes = y if self.labels is None or self.many else np.where(y > 0.0, self.positive, 1 - self.positive)
            self.calibration.learn(Scores(f, self.many, self.positive), codes, c)

    def evidence(self, rows: Rows) -> Scores:
        """Return of rows what the calibration learns from."""
        return Scores(self.score(rows), self.many, self.positive)


def packed(calibration: Calibration | None, meta: dict[str, Any], tensors: Tensors) -> tuple[dict[str, Any], Tensors]:
    """Return the metadata and tensors of a model, with those of its calibration if it keeps any."""
    own = {} if calibration is None else calibration.arrays()
    if not own:
        return meta, tensors
    return {**meta, "calibrated": True}, tensors | {START + k: a for k, a in own.items()}


def unpacked(tensors: Tensors) -> Tensors:
    """Take the tensors of the calibration from those of a model."""
    return {k.removeprefix(START): tensors.pop(k) for k in list(tensors) if k.startswith(START)}


def restore(calibration: Calibration | None, meta: dict[str, Any], tensors: Tensors, known: int) -> None:
    """Restore a calibration; one that is not in the file starts from nothing."""
    if meta.get("calibrated") is True and calibration is not None:
        calibration.restore(tensors, known)
    else:
        expect(not tensors, "no probabilities", sorted(tensors))


def joined(out: Any, parts: Sequence[Any], shares: Sequence[float], sums: bool) -> Calibration | None:
    """Return the calibration of a model that parts were joined into; counts are added where they share no past (`sums`)."""
    if out.calibration is None:
        return None
    table = out.labels
    if table is None:
        return out.calibration.joined([m.calibration for m in parts], shares, sums, (), ())
    codes = [[table.index[v] for v in m.labels.values] for m in parts]
    facing = [(m.labels.positive == 0) == (table.positive == own[0]) for m, own in zip(parts, codes, strict=True)]
    return out.calibration.joined([m.calibration for m in parts], shares, sums, codes, facing)
