"""Classes: labels as codes, answers from scores, and the costs of confusions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..algorithm.rounds import SEEN, TIE, ByPrediction, MaxLoss, UnitCost
from ..calibration.calibration import Calibration, Linked
from ..calibration.calibrator import Calibrator
from ..calibration.coverage import Sets, levels_of
from ..inputs import checking
from ..inputs.labels import Coded, Labels, plain, refuse_fraction
from ..learners.drivers import Text
from ..learners.learner import Progress
from ..learners.task import Task
from .loops import ONE_SCORE, SCORE_PER_CLASS


class Classification(Task):
    """Two classes are one score; a third makes a score for each."""

    estimator = "classifier"
    labelled = True
    text = ONE_SCORE
    __slots__ = ()

    def loops(self, many: bool) -> Text:
        """Return the loops over rows."""
        return SCORE_PER_CLASS if many else ONE_SCORE

    def targets(self, y: Any, n: int) -> Any:
        """Return the labels of n rows, checked."""
        return y if isinstance(y, Coded) else discrete(checking.targets(y, n, numeric=False))

    def width(self, m: Any, y: Any) -> int:
        """Return the number of classes, the new ones among labels included; 1 where there are two."""
        known = 0 if m is None else len(m.labels)
        if y is not None and not (m is not None and m.labels.declared):
            known += len(y.values) if isinstance(y, Coded) else len(set(y.tolist()))
        return max(known, 1)

    def answer(self, m: Any, f: np.ndarray, known: int | None = None) -> Any:
        """Return the label of one row of scores, None while no class is known."""
        labels = m.labels
        seen = m.tally.item(SEEN) if known is None else known
        if seen == 0:
            return None
        if m.many:
            return labels.values[int(np.argmax(f[:seen]))]
        s = f.item(0) if seen == 3 else 1.0 if seen == 1 else -1.0
        up = s > 0.0 or (s == 0.0 and m.tally[TIE] > 0)
        return labels.values[labels.positive if up else 1 - labels.positive]

    def codes(self, m: Any, f: np.ndarray) -> np.ndarray:
        """Return the code of the label of each row of scores."""
        labels, seen = m.labels, int(m.tally[SEEN])
        if m.many:
            return np.argmax(f[:, :seen], axis=1)
        s = f[:, 0] if seen == 3 else np.full(len(f), 1.0 if seen == 1 else -1.0)
        up = (s > 0.0) | ((s == 0.0) & (m.tally[TIE] > 0))
        return np.where(up, labels.positive, 1 - labels.positive)

    def answers(self, m: Any, f: np.ndarray) -> np.ndarray:
        """Return the label of each row of scores."""
        found: np.ndarray = m.labels.array()[self.codes(m, f)]
        return found

    def margins(self, m: Any, f: np.ndarray) -> np.ndarray:
        """Return scores in the order of `classes_`; with two classes one score, above 0 for the second."""
        labels = m.labels
        if f.shape[1] > 1 or m.many:
            f = f[:, labels.order]
            return f[:, 1] - f[:, 0] if len(labels) == 2 else f
        return f[:, 0] * sign(labels)

    def calibration(self, algorithm: Any, given: Mapping[str, Any], known: int) -> Calibration | None:
        """Return what makes probabilities of scores, given the number of known classes; None where they are not asked for."""
        inner: Calibration = Linked(algorithm.link) if algorithm.link else Calibrator(known)
        if given.get("coverage") is not None:
            return Sets(levels_of(given["coverage"]), inner, known)
        return inner if algorithm.link or given.get("probabilities") else None

    def costs(self, algorithm: Any, given: Mapping[str, Any], labels: Labels) -> Any:
        """Return how rivals are chosen: by cost and mode, with the margin each confusion asks for (C.4)."""
        if given.get("cost") is None:
            return UnitCost()
        margins: dict[str, Any] = {"sqrt_cost": np.sqrt, "cost": np.array, "unit": lambda cost: (cost > 0.0) * 1.0}
        modes: dict[str, Any] = {"max_loss": algorithm.priced or MaxLoss, "prediction": ByPrediction}
        given = {"margin": "cost", **given}  # who asks for no margin pays the cost itself
        for what, table in (("margin", margins), ("mode", modes)):
            if given[what] not in table:
                raise ValueError(f"{what} must be one of {', '.join(map(repr, table))}, got {given[what]!r}")
        return modes[given["mode"]](np.ascontiguousarray(margins[given["margin"]](cost_matrix(given["cost"], labels))))


CLASSIFICATION = Classification("classification")


def cost_matrix(cost: Any, labels: Labels) -> np.ndarray:
    """Return the costs by code. A matrix is in the order of the declared classes; a mapping is {(true, predicted): cost}.

    Pairs a mapping does not name, and classes a matrix does not reach, cost 1.
    """
    K = len(labels)
    C = 1.0 - np.eye(max(K, 1))
    if isinstance(cost, Mapping):
        for (y, r), v in cost.items():
            if not (np.isfinite(v) and v >= 0.0 and (y != r or v == 0.0)):
                raise ValueError(f"the cost of predicting {r!r} for {y!r} must be finite, not negative, and 0 if right; got {v!r}")
            if y in labels.index and r in labels.index:
                C[labels.index[y], labels.index[r]] = v
    else:
        try:
            given = np.asarray(cost, np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"cost must be a square matrix or a mapping {{(true, predicted): cost}}, got {cost!r}") from None
        if given.ndim != 2 or given.shape[0] != given.shape[1] or not labels.declared or len(given) != K:
            raise ValueError(
                f"a cost matrix is square, with a row per declared class (classes=...): {K} of them, got {given.shape}"
            )
        C[:] = given
    if not np.isfinite(C).all() or (C < 0.0).any() or np.diag(C).any():
        raise ValueError("costs must be finite and not negative, and 0 for the right answer")
    return C


def discrete(y: np.ndarray) -> np.ndarray:
    """Refuse real targets."""
    if y.dtype.kind == "f":
        odd = y != np.floor(y)
        if odd.any():
            at = int(np.argmax(odd))
            refuse_fraction(f"y has {y[at].item()!r} in row {at}")
    return y


def plain_labels(y: np.ndarray) -> list[Any]:
    """Return labels as plain values."""
    return [plain(v) for v in y.tolist()]


def class_weight_of(given: Mapping[Any, float], label: Any) -> float:
    """Return the weight of a class, 1 if it is not named."""
    if not isinstance(given, Mapping):
        raise TypeError(f"class_weight must be a dict of weights by label, or 'balanced', got {given!r}")
    v = given.get(label, 1.0)
    if not (isinstance(v, (int, float, np.number)) and np.isfinite(v) and v >= 0.0):
        raise ValueError(f"class_weight of {label!r} must be a finite number, not negative; got {v!r}")
    return float(v)


def sign(labels: Labels) -> float:
    """Return the sign that turns the one score of two classes into that of the second of them, as sorted."""
    return -1.0 if len(labels) == 2 and labels.order[1] != labels.positive else 1.0


def halves(f: np.ndarray, positive: int) -> np.ndarray:
    """Return the one score of two classes as a score for each, as when a third class appears."""
    return 0.5 * f * np.where(np.arange(2) == positive, 1.0, -1.0)


def widest(done: list[Progress]) -> np.ndarray:
    """Return the scores of consecutive rows with as many columns as the last of them have."""
    if len(done) == 1:
        return done[0].f
    out = np.zeros((sum(len(piece.f) for piece in done), max(piece.f.shape[1] for piece in done)))
    a = 0
    for piece in done:
        f = piece.f if piece.many or out.shape[1] == 1 else halves(piece.f, piece.positive)
        out[a : a + len(f), : f.shape[1]] = f
        a += len(f)
    return out


def answered(piece: Progress) -> tuple[np.ndarray, np.ndarray]:
    """Return the code answered to each row (-1 where no class was known), and how many classes were known then."""
    f, y = piece.f, piece.y
    if piece.many:
        seen = np.maximum(piece.seen, np.maximum.accumulate(np.concatenate([[0], y[:-1] + 1])))
        hidden = np.arange(f.shape[1]) >= seen[:, None]
        predicted = np.argmax(np.where(hidden, -np.inf, f), axis=1)
        return np.where(seen > 0, predicted, -1), seen
    up = y == piece.positive
    met = [np.logical_or.accumulate(np.concatenate([[bool(piece.seen & bit)], mine[:-1]])) for bit, mine in ((1, up), (2, ~up))]
    above = (f[:, 0] > 0.0) | ((f[:, 0] == 0.0) & (piece.tie > 0))
    above = np.where(met[0] & met[1], above, met[0])
    predicted = np.where(above, piece.positive, 1 - piece.positive)
    seen = met[0].astype(np.int64) + met[1]
    return np.where(seen > 0, predicted, -1), seen
