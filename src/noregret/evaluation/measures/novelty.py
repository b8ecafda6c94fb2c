"""The figures of a one-class learner: labels, where there are any, are held against its answers and never learned from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from .figures import NOTHING, ClassFigures, Recent, RowCosts, ratio, total

if TYPE_CHECKING:
    from ...learners.learner import Progress


class NoveltyFigures:
    """What a learner of the normal costs: its loss `outside`, max(0, -f), and how often it answers that a row is an outlier.

    Labels are 1 for a normal row and -1 or 0 for an outlier; all rows have one, or none has. Whatever loss a learner minimises, its
    rows are measured in this one.
    """

    LOSSES: tuple[str, ...] = ()  # curves have one to follow
    loss = drawn = "outside"

    def __init__(self, window: int | None = None, fading: float | None = None) -> None:
        self.answers = ClassFigures()
        self.examples, self.weight = 0, 0.0
        self.outside = self.outliers = 0.0
        self.recent = Recent(window, fading, 2)
        self.values: set[int] = set()

    @property
    def labelled(self) -> bool:
        """Whether the rows have labels."""
        return bool(self.values)

    @property
    def mistakes(self) -> int | None:
        """Answers that differ from the labels."""
        return self.answers.mistakes if self.labelled else None

    def add(self, y: np.ndarray | None, f: np.ndarray, c: np.ndarray | None = None) -> RowCosts:
        """Take more rows: labels or None, the scores from before each update, the weights; return what each cost."""
        if not len(f):
            return NOTHING
        loss, far = np.maximum(0.0, -f), f < 0.0
        wrong = far.astype(np.float64)
        if y is not None:
            self.values |= set(np.unique(y).tolist())
            truth = (y > 0).astype(np.int64)
            wrong = self.answers.add(truth, 1 - far.astype(np.int64), f[:, None], c).wrong
        self.examples += len(f)
        self.weight += len(f) if c is None else float(c.sum())
        self.outside += total(loss, c)
        self.outliers += total(far.astype(np.float64), c)
        self.recent.add(c, wrong, loss)
        return RowCosts(wrong, loss, loss)

    def take(self, piece: Progress, c: np.ndarray | None) -> RowCosts:
        """Take what a learner did with consecutive rows, and their weights; return what each row cost."""
        return self.add(piece.y, piece.f[:, 0], c)

    def __iadd__(self, later: NoveltyFigures) -> Self:
        """Take the figures of the rows that came after."""
        self.answers += later.answers
        self.recent += later.recent
        self.examples += later.examples
        self.weight += later.weight
        self.outside += later.outside
        self.outliers += later.outliers
        self.values |= later.values
        return self

    def now(self) -> dict[str, float | None]:
        """Return the values of curves after the last row: cumulative, of the window, faded."""
        found = {"loss": ratio(self.outside, self.weight), **self.recent.now("error", "loss")}
        if self.labelled:
            return {"examples": self.examples, "error": ratio(self.answers.wrong, self.weight), **found}
        return {"examples": self.examples, **{k: v for k, v in found.items() if not k.endswith("error")}}

    def to_dict(self, labels: Sequence[Any] | None = None) -> dict[str, Any]:
        """Return everything, as plain values."""
        said = {"outlier_rate": ratio(self.outliers, self.weight)}
        found: dict[str, Any] = {
            "examples": self.examples,
            "losses": {"outside": ratio(self.outside, self.weight)},
            "metrics": said,
        }
        if not self.labelled:
            return found
        rest = self.answers.to_dict([0 if 0 in self.values else -1, 1])
        metrics = {k: v for k, v in rest["metrics"].items() if k != "f1_macro"}
        return {**rest, **found, "metrics": metrics | said}
