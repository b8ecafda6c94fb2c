"""What learners of components leave of rows, from before each is learned, and whether that tells outliers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...inputs.checking import Rows, joined
from ...inputs.labels import Coded
from ...unsupervised.decomposition import in_runs
from .auc import Ranking
from .figures import Recent, ratio

MARKS = {-1, 0, 1}  # labels that tell which rows are normal: 1; the others are outliers
KEPT = 400  # rows, at least, whose coordinates are shown, once the stream is as long; at most twice as many


class Residuals:
    """The figures of one learner."""

    def __init__(self, window: int | None = None, fading: float | None = None) -> None:
        self.examples = 0
        self.left = self.energy = 0.0
        self.recent = Recent(window, fading, 2)
        self.ranking = Ranking()

    def take(self, left: np.ndarray, energy: np.ndarray, outlier: np.ndarray | None) -> None:
        """Take what was left of rows, their squared distance from the mean before, and whether each is marked as an outlier."""
        self.examples += len(left)
        self.left += float(left.sum())
        self.energy += float(energy.sum())
        self.recent.add(None, left, energy)
        if outlier is not None:
            self.ranking.add(left, outlier, None)

    def point(self) -> dict[str, Any]:
        """Return the figures of a point of the curves."""
        now = self.recent.now("residual", "unexplained")
        for how in ("window", "faded"):
            if f"{how}_residual" in now:
                now[f"{how}_unexplained"] = ratio(now[f"{how}_residual"] or 0.0, now[f"{how}_unexplained"] or 0.0)
        found = {"residual": ratio(self.left, self.examples), "unexplained": ratio(self.left, self.energy), **now}
        return {"examples": self.examples, "left": self.left, **found}

    def now(self) -> dict[str, Any]:
        """Return what was left of a row, to show while rows are learned."""
        return {"loss": ratio(self.left, self.examples)}

    def metrics(self, marked: bool) -> dict[str, Any]:
        """Return the figures of all rows; `marked` says that labels tell outliers from normal rows."""
        auc = {"auc": self.ranking.area()} if marked else {}
        return {"residual": ratio(self.left, self.examples), "unexplained": ratio(self.left, self.energy), **auc}


class Ground:
    """What needs no components: the mean so far, marks of outliers, and rows and labels to show."""

    def __init__(self) -> None:
        self.sum, self.n = np.zeros(0), 0
        self.values: set[Any] = set()  # of the labels
        self.kept: list[tuple[Rows, Any]] = []
        self.stride = 1
        self.seconds = 0.0  # that it took

    @property
    def marked(self) -> bool:
        """Whether labels tell normal rows from outliers, and there are both."""
        return 1 in self.values and len(self.values) > 1 and self.values <= MARKS

    def take(self, rows: Rows, each: Callable[[np.ndarray], None]) -> np.ndarray:
        """Return the squared distance of each row from the mean of those before it; `each` is called with the rows as arrays."""
        d = max(rows.width, len(self.sum))
        self.sum = np.pad(self.sum, (0, d - len(self.sum)))
        found = []
        for X in in_runs(rows, d):
            each(X)
            sums = np.cumsum(np.vstack([self.sum, X]), axis=0)
            before = np.maximum(np.arange(self.n, self.n + len(X)), 1)
            found.append(np.square(X - sums[:-1] / before[:, None]).sum(axis=1))
            self.sum, self.n = sums[-1], self.n + len(X)
        return np.concatenate(found)

    def judge(self, y: Any) -> np.ndarray | None:
        """Return which rows are marked as outliers, None where labels do not say."""
        if y is None:
            return None
        values = y.values if isinstance(y, Coded) else np.unique(y).tolist()
        if self.values <= MARKS:
            self.values |= set(values)
        return None if not self.values <= MARKS else np.asarray((y.array() if isinstance(y, Coded) else y) != 1)

    def keep(self, rows: Rows, y: Any, first: int) -> None:
        """Keep some rows and their labels: those whose numbers, from `first` on, divide by the stride."""
        labels = None if y is None else (y.array() if isinstance(y, Coded) else y)
        for i in range(-first % self.stride, rows.n, self.stride):
            self.kept.append((rows.take(np.array([i])), None if labels is None else labels[i]))
        while len(self.kept) > 2 * KEPT:
            self.stride *= 2
            self.kept = self.kept[::2]

    def shown(self) -> tuple[Rows, list[Any] | None]:
        """Return the rows kept and their labels."""
        labels = [label for _, label in self.kept]
        return joined([rows for rows, _ in self.kept]), None if any(v is None for v in labels) else [plain(v) for v in labels]


def plain(label: Any) -> Any:
    """Return a label as Python has it, whole numbers as such."""
    found = label.item() if hasattr(label, "item") else label
    return int(found) if isinstance(found, float) and math.isfinite(found) and found == int(found) else found
