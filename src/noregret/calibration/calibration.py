"""What makes probabilities of scores. Each kind owns its state, learns beside a model, and says what files keep of it.

All it knows are scores from before each update, labels as codes, and sample weights, row by row: the split of a stream into calls
does not show, and the model does not change by it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from ..engine.compiling import compiled
from ..engine.elementary import over
from ..files.json_values import Tensors, expect
from .platt import share
from .vector_scaling import softmax


class Scores(NamedTuple):
    """Scores of rows: one column for the positive of two classes, or one for each class in order of codes."""

    f: np.ndarray
    many: bool
    positive: int

    def cut(self, a: int, b: int) -> Scores:
        """Return those of some rows."""
        return self._replace(f=self.f[a:b])

    def one(self) -> np.ndarray:
        """Return one score a row, that of the positive class; a class that has no column yet has score 0."""
        f = self.f
        if not self.many:
            return np.ascontiguousarray(f[:, 0], np.float64)
        both = [f[:, k] if k < f.shape[1] else 0.0 for k in (self.positive, 1 - self.positive)]
        return np.ascontiguousarray(both[0] - both[1], np.float64)


class Said(NamedTuple):
    """What was said of rows before they were learned."""

    p: np.ndarray | None = None  # probabilities by code
    reach: np.ndarray | None = None  # of intervals, or the surprise allowed to labels of sets: a column for each level


def together(parts: Sequence[Said]) -> Said:
    """Return what was said of consecutive rows."""
    p, reach = ([own for own in column if own is not None] for column in zip(*parts, strict=True))
    return Said(stacked(p) if p else None, np.concatenate(reach) if reach else None)


def of_two(p: np.ndarray, positive: int) -> np.ndarray:
    """Return the probabilities of two classes by code, given those of the positive one."""
    return np.column_stack([1.0 - p, p] if positive else [p, 1.0 - p])


class Calibration:
    """What makes probabilities of scores, and may learn from them."""

    paused = False  # rows met again teach nothing: the learner has seen their labels
    pooled = False  # whether it learns from the scores of the members of a pool
    said: Said | None = None  # of the rows learned last, from before them

    def learn(self, scores: Any, y: np.ndarray, c: np.ndarray | None) -> None:
        """Note the probabilities of rows by code, then learn their codes y, with weights c."""
        self.said = None if self.paused else Said(self.follow(scores, y, c))

    def taken(self) -> Said | None:
        """Return what was said of the rows learned last, once."""
        said, self.said = self.said, None
        return said

    def told(self, scores: Any, known: int) -> Said:
        """Return what is said of rows, given the number of known classes; nothing changes."""
        return Said(self.forecast(scores, known))

    def forecast(self, scores: Any, known: int) -> np.ndarray:
        """Return the probabilities of the known classes by code; nothing changes."""
        n = count(scores)
        if known < 2:
            return np.ones((n, known))
        found = self.of_known(scores)
        return found if found.shape[1] == known else widened(found, known)[:, :known]

    def follow(self, scores: Any, y: np.ndarray, c: np.ndarray | None) -> np.ndarray:
        """Return the probabilities of rows by code, from before each is learned."""
        raise NotImplementedError

    def of_known(self, scores: Any) -> np.ndarray:
        """Return the probabilities of the classes this knows, two or more."""
        raise NotImplementedError

    def fresh(self, known: int) -> Self:
        """Return one that has learned nothing, for a number of known classes."""
        raise NotImplementedError

    def arrays(self) -> dict[str, np.ndarray]:
        """Return every array of the state, by name."""
        return {}

    def restore(self, tensors: Tensors, known: int) -> None:
        """Take the state from a file, every number of it checked; `known` classes have labels."""
        expect(not tensors, "no state of probabilities", sorted(tensors))

    def joined(
        self, parts: Sequence[Self], shares: Sequence[float], sums: bool, codes: Sequence[Any], facing: Sequence[bool]
    ) -> Self:
        """Return what parts come to. `shares` are theirs of the rows; `sums` says whether counts are added or averaged.

        `codes` are those of their labels in the joined table; `facing` says whose positive class is the same there.
        """
        return self.fresh(0)


class Linked(Calibration):
    """Scores that are log odds, or probabilities, already: there is nothing to learn."""

    def __init__(self, link: str) -> None:
        self.link = link

    def follow(self, scores: Scores, y: np.ndarray, c: np.ndarray | None) -> np.ndarray:
        """Return the probabilities of rows by code."""
        return self.of_known(scores)

    def of_known(self, scores: Scores) -> np.ndarray:
        """Return the probabilities of the classes that have scores."""
        f = np.ascontiguousarray(scores.f, np.float64)
        if f.shape[1] == 1:
            p = over(share, f[:, 0]) if self.link == "log_odds" else 0.5 * (1.0 + f[:, 0])
            return of_two(p, scores.positive)
        if self.link == "probabilities":
            return f
        out = np.empty(f.shape)
        compiled(softmax)(f, out)
        return out

    def fresh(self, known: int) -> Self:
        """Return another."""
        return type(self)(self.link)


def count(scores: Any) -> int:
    """Return how many rows have these scores."""
    return len(scores.f if isinstance(scores, Scores) else scores[0].f)


@contextlib.contextmanager
def pausing(calibrator: Calibration | None, again: bool) -> Iterator[None]:
    """Let a calibrator learn nothing inside this block, if the rows in it are met again."""
    if calibrator is None or not again:
        yield
        return
    calibrator.paused = True
    try:
        yield
    finally:
        calibrator.paused = False


def widened(p: np.ndarray, K: int) -> np.ndarray:
    """Return rows with at least K columns, 0 in the new ones."""
    return p if p.shape[1] >= K else np.pad(p, ((0, 0), (0, K - p.shape[1])))


def stacked(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Return the probabilities of consecutive rows with as many columns as the widest of them."""
    return parts[0] if len(parts) == 1 else np.concatenate([widened(p, max(q.shape[1] for q in parts)) for p in parts])


def check_weights(w: np.ndarray) -> None:
    """Refuse weights that are not those of a mixture."""
    expect(bool(np.isfinite(w).all() and (w >= 0.0).all() and abs(w.sum() - 1.0) < 1e-6), "weights that sum to 1", w)
