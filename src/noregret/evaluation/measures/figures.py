"""What is measured while a learner predicts and then learns: one pass, bounded memory, a chunk of rows at a time.

A row that got no answer (code -1, before any label is known) counts as a mistake. With sample weights every rate, average and
metric is weighted; `examples` and `mistakes` count rows. What is not defined (no row yet, one class only) is None.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self

import numpy as np

from ...inputs.labels import ordered
from .auc import Ranking

if TYPE_CHECKING:
    from ...learners.learner import Progress

TABLE_CLASSES = 256  # with more the confusion table is not kept; its margins are
RANKED_CLASSES = 20  # with more there is no AUC


class RowCosts(NamedTuple):
    """What each row of a chunk cost."""

    wrong: np.ndarray  # 0 or 1
    loss: np.ndarray  # the learner's own, for regret
    cost: np.ndarray  # what drift detection watches: one of the two


NOTHING = RowCosts(np.zeros(0), np.zeros(0), np.zeros(0))


class Figures(Protocol):
    """What is measured of a learner of one task, a chunk of rows at a time; how the stream is split into chunks does not show."""

    LOSSES: tuple[str, ...]  # that all learners of the task are measured in
    loss: str  # the learner's own
    drawn: str  # the one that curves follow, the same unless said

    @property
    def mistakes(self) -> int | None:
        """Wrong answers; None where there are no labels to hold them against."""

    def take(self, piece: Progress, c: np.ndarray | None) -> RowCosts:
        """Take what a learner did with consecutive rows, and their weights; return what each row cost."""

    def now(self) -> dict[str, float | None]:
        """Return the values of curves after the last row: cumulative, of the window, faded."""

    def to_dict(self, labels: Sequence[Any] | None = None) -> dict[str, Any]:
        """Return everything, as plain values; `labels` are the values in order of their codes."""

    def __iadd__(self, later: Self) -> Self:
        """Take the figures of the rows that came after."""


# ---- losses ----------------------------------------------------------------------------------------------------------
MARGIN_LOSSES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "hinge": lambda m: np.maximum(0.0, 1.0 - m),
    "squared_hinge": lambda m: np.maximum(0.0, 1.0 - m) ** 2,
    "exponential": lambda m: np.exp(np.minimum(500.0, -m)),
    "perceptron": lambda m: np.maximum(0.0, -m),
}
CLASS_LOSSES = (*MARGIN_LOSSES, "log", "zero_one")
REAL_LOSSES: dict[str, Callable[[np.ndarray, float], np.ndarray]] = {
    "square": lambda e, _: e * e,
    "absolute": lambda e, _: np.abs(e),
    "epsilon_insensitive": lambda e, epsilon: np.maximum(0.0, np.abs(e) - epsilon),
    "squared_epsilon_insensitive": lambda e, epsilon: np.maximum(0.0, np.abs(e) - epsilon) ** 2,
}


class Margins:
    """The score of the true class against those of its rivals, for each row.

    One score a row is for the code `positive`. With a score per class only the classes known before the row count (`seen`);
    a true class not yet known has score 0, and where there is no rival yet an unknown one has score 0.
    """

    def __init__(self, y: np.ndarray, f: np.ndarray, seen: np.ndarray | None, positive: int) -> None:
        self.one = f.shape[1] == 1
        if self.one:
            self.margin = np.where(y == positive, f[:, 0], -f[:, 0])
            return
        at = np.arange(len(y))
        self.true = f[at, y]
        self.rivals = f.astype(np.float64, copy=True)
        if seen is not None and len(seen) and seen.min() < f.shape[1]:
            self.rivals[np.arange(f.shape[1]) >= seen[:, None]] = -np.inf
        self.rivals[at, y] = -np.inf
        best = self.rivals.max(axis=1)
        alone = np.flatnonzero(best == -np.inf)
        self.rivals[alone, 0] = best[alone] = 0.0
        self.margin = self.true - best

    def loss(self, name: str) -> np.ndarray:
        """Return one loss for each row; the log loss of several classes is that of the softmax."""
        if name != "log":
            return MARGIN_LOSSES[name](self.margin)
        if self.one:
            return np.maximum(0.0, -self.margin) + np.log1p(np.exp(-np.abs(self.margin)))
        top = np.maximum(self.true, self.true - self.margin)
        odds = np.exp(self.rivals - top[:, None]).sum(axis=1)
        return np.log1p(odds + np.expm1(self.true - top)) + (top - self.true)


def class_losses(
    name: str, y: np.ndarray, f: np.ndarray, seen: np.ndarray | None = None, positive: int = 1, predicted: np.ndarray | None = None
) -> np.ndarray:
    """Return the loss of each row: y codes, f scores (n, 1) or (n, K); `zero_one` needs the answers `predicted`."""
    known(name, CLASS_LOSSES)
    if name == "zero_one":
        if predicted is None:
            raise ValueError("the loss zero_one needs the answers: pass predicted= as codes")
        return (np.asarray(predicted) != y).astype(np.float64)
    return Margins(y, f, seen, positive).loss(name)


def real_losses(name: str, y: np.ndarray, f: np.ndarray, epsilon: float = 0.1) -> np.ndarray:
    """Return the loss of each row of a regression."""
    known(name, REAL_LOSSES)
    return REAL_LOSSES[name](f.reshape(-1) - y, epsilon)


def known(name: str, names: Any) -> str:
    """Refuse a name that is not one of these."""
    if name not in names:
        raise ValueError(f"unknown loss {name!r}; expected one of {', '.join(names)}")
    return name


# ---- the last examples -----------------------------------------------------------------------------------------------
class Recent:
    """Averages over the last `window` examples and faded ones, sum a^(t-s) v_s / sum a^(t-s), of a few values an example."""

    def __init__(self, window: int | None, fading: float | None, columns: int) -> None:
        if window is not None and window < 1:
            raise ValueError(f"window must be at least 1 example, got {window}")
        if fading is not None and not 0.0 < fading <= 1.0:
            raise ValueError(f"fading must be above 0 and at most 1, got {fading}")
        self.window, self.fading, self.seen = window, fading, 0
        self.ring = np.zeros((window or 0, columns + 1))  # the weight, then the weighted values
        self.faded = np.zeros(columns + 1)
        self.powers = np.ones(1)

    def add(self, c: np.ndarray | None, *values: np.ndarray) -> None:
        """Take the values of more examples."""
        if not (self.window or self.fading):
            return
        w = np.ones(len(values[0])) if c is None else c
        rows = np.column_stack([w, *(w * v for v in values)])
        self._turn(rows, len(rows))
        if self.fading:
            if len(self.powers) < len(rows):
                self.powers = self.fading ** np.arange(len(rows) - 1, -1, -1, dtype=np.float64)
            self.faded = self.fading ** len(rows) * self.faded + self.powers[len(self.powers) - len(rows) :] @ rows

    def _turn(self, rows: np.ndarray, n: int) -> None:
        """Put the last of n examples into the ring."""
        self.seen += n
        if self.window:
            rows = rows[-self.window :]
            self.ring[np.arange(self.seen - len(rows), self.seen) % self.window] = rows

    def __iadd__(self, later: Recent) -> Self:
        """Take what came after."""
        if (self.window, self.fading) != (later.window, later.fading):
            raise ValueError(
                f"cannot merge figures of window {self.window}, fading {self.fading} with {later.window}, {later.fading}"
            )
        if self.window:
            kept = np.arange(max(0, later.seen - self.window), later.seen) % self.window
            self._turn(later.ring[kept], later.seen)
        if self.fading:
            self.faded = self.fading**later.seen * self.faded + later.faded
        return self

    def now(self, *names: str) -> dict[str, float | None]:
        """Return the averages under these names, those of the window summed afresh."""
        predicted: dict[str, float | None] = {}
        for prefix, wanted, sums in (("window", self.window, self.ring.sum(axis=0)), ("faded", self.fading, self.faded)):
            if wanted:
                predicted |= {f"{prefix}_{name}": ratio(v, sums[0]) for name, v in zip(names, sums[1:], strict=True)}
        return predicted


def ratio(a: float, b: float) -> float | None:
    """Return a / b, None where b is 0."""
    return float(a) / float(b) if b else None


def average(values: np.ndarray) -> float | None:
    """Return the mean, None of nothing."""
    return float(values.mean()) if len(values) else None


# ---- classification --------------------------------------------------------------------------------------------------
class ClassFigures:
    """The figures of a classifier. Codes number the classes by first appearance; more may appear at any time.

    `loss` is the learner's own; `drawn` the one that curves follow, the same unless predicted. Losses of several classes are of the
    margin to the best rival; log is the softmax.
    """

    LOSSES: tuple[str, ...] = ("hinge", "squared_hinge", "log")

    def __init__(self, window: int | None = None, fading: float | None = None, positive: int = 1, loss: str = "hinge") -> None:
        self.positive = positive
        self.loss = self.drawn = known(loss, [n for n in CLASS_LOSSES if n != "zero_one"])
        self.examples = self.mistakes = 0
        self.weighted = False
        self.weight = self.wrong = 0.0
        self.sums = dict.fromkeys(dict.fromkeys((*self.LOSSES, loss)), 0.0)
        self.recent = Recent(window, fading, 2)
        self.truth, self.right = np.zeros(0), np.zeros(0)  # by class: weight of its rows, and of those found
        self.answers = np.zeros(1)  # by class, the first for no answer
        self.table: np.ndarray | None = np.zeros((0, 1))  # rows: truth; columns: answers
        self.pair = Ranking()  # while there is one score a row: of the positive class, halved
        self.rankings: list[Ranking] | None = []  # by class

    def add(
        self, y: np.ndarray, predicted: np.ndarray, f: np.ndarray, c: np.ndarray | None = None, seen: np.ndarray | None = None
    ) -> RowCosts:
        """Take more rows: the truth, the answers, the scores from before each update, the weights; return what each cost."""
        if not len(y) == len(predicted) == len(f) == (len(y) if c is None else len(c)):
            lengths = f"{len(y)}, {len(predicted)}, {len(f)}, {c if c is None else len(c)}"
            raise ValueError(f"y, predicted, f and c must be of one length, got {lengths}")
        if not len(y):
            return NOTHING
        margins = Margins(y, f, seen, self.positive)
        losses = {name: margins.loss(name) for name in self.sums}
        wrong = (predicted != y).astype(np.float64)
        self.examples += len(y)
        self.mistakes += int(wrong.sum())
        self.weighted |= c is not None
        self.weight += len(y) if c is None else float(c.sum())
        self.wrong += total(wrong, c)
        for name, values in losses.items():
            self.sums[name] += total(values, c)
        self.recent.add(c, wrong, losses[self.drawn])
        self._count(y, predicted, c)
        self._rank(y, f, c, seen)
        return RowCosts(wrong, losses[self.loss], wrong)

    def take(self, piece: Progress, c: np.ndarray | None) -> RowCosts:
        """Take what a learner did with consecutive rows, and their weights; return what each row cost."""
        from ...tasks.classes import answered  # a report reads its figures' names without any learner

        predicted, seen = answered(piece)
        self.positive = piece.positive
        return self.add(piece.y, predicted, piece.f, c, seen)

    def _count(self, y: np.ndarray, predicted: np.ndarray, c: np.ndarray | None) -> None:
        self._grow(int(max(y.max(), predicted.max())) + 1)
        K = len(self.truth)
        if self.table is not None:
            cells = np.bincount(y * (K + 1) + predicted + 1, c, K * (K + 1)).reshape(K, K + 1)
            self.table += cells
            self.truth += cells.sum(axis=1)
            self.answers += cells.sum(axis=0)
            self.right += np.diagonal(cells, 1)
            return
        hit = predicted == y
        self.truth += np.bincount(y, c, K)
        self.answers += np.bincount(predicted + 1, c, K + 1)
        self.right += np.bincount(y[hit], None if c is None else c[hit], K)

    def _grow(self, K: int) -> None:
        """Make room for K classes."""
        more = K - len(self.truth)
        if more <= 0:
            return
        self.truth, self.right, self.answers = (np.pad(a, (0, more)) for a in (self.truth, self.right, self.answers))
        if self.table is not None:
            self.table = np.pad(self.table, (0, more)) if K <= TABLE_CLASSES else None
        if K > RANKED_CLASSES:
            self.rankings = None

    def _rank(self, y: np.ndarray, f: np.ndarray, c: np.ndarray | None, seen: np.ndarray | None) -> None:
        if self.rankings is None or f.shape[1] > RANKED_CLASSES:
            self.rankings = None
            return
        if f.shape[1] == 1 and not self.rankings:
            self.pair.add(0.5 * f[:, 0], y == self.positive, c)
            return
        self._part(f.shape[1])
        if f.shape[1] == 1:
            f, seen = 0.5 * f * np.where(np.arange(2) == self.positive, 1.0, -1.0), None
        for k in range(f.shape[1]):
            here = slice(None) if seen is None else seen > k
            self.rankings[k].add(f[here, k], y[here] == k, None if c is None else c[here])

    def _part(self, K: int) -> None:
        """Have a ranking for each of K classes: half of one score is for its class, half against the other."""
        assert self.rankings is not None
        if not self.rankings:
            self.rankings = [self.pair.mirrored(), self.pair][:: 1 if self.positive == 1 else -1]
            self.pair = Ranking()
        while len(self.rankings) < K:
            self.rankings.append(Ranking())

    def __iadd__(self, later: ClassFigures) -> Self:
        """Take the figures of the rows that came after: counts exactly, sums to rounding."""
        if (self.loss, self.positive) != (later.loss, later.positive):
            raise ValueError(f"cannot merge figures of loss {self.loss!r}, positive {self.positive} with another")
        self.recent += later.recent
        self.examples += later.examples
        self.mistakes += later.mistakes
        self.weighted |= later.weighted
        self.weight += later.weight
        self.wrong += later.wrong
        self.sums = {name: v + later.sums[name] for name, v in self.sums.items()}
        K = len(later.truth)
        self._grow(K)
        self.truth[:K] += later.truth
        self.right[:K] += later.right
        self.answers[: K + 1] += later.answers
        if self.table is None or later.table is None:
            self.table = None
        else:
            self.table[:K, : K + 1] += later.table
        self._merge_rankings(later)
        return self

    def _merge_rankings(self, later: ClassFigures) -> None:
        if self.rankings is None or later.rankings is None:
            self.rankings = None
        elif not (self.rankings or later.rankings):
            self.pair += later.pair
        else:
            self._part(max(2, len(later.rankings)))
            later._part(2)
            for mine, theirs in zip(self.rankings, later.rankings, strict=False):
                mine += theirs

    # ---- reading -----------------------------------------------------------------------------------------------------
    def now(self) -> dict[str, float | None]:
        """Return the values of curves after the last row: cumulative, of the window, faded."""
        return {
            "examples": self.examples,
            "error": ratio(self.wrong, self.weight),
            "loss": ratio(self.sums[self.drawn], self.weight),
            **self.recent.now("error", "loss"),
        }

    def auc(self) -> float | None:
        """Return the area under the ROC curve; with more than two classes the mean of one against the rest."""
        if self.rankings is None:
            return None
        areas = [r.area() for r in self.rankings or [self.pair]]
        defined = [a for a in areas if a is not None]
        return float(np.mean(defined)) if defined else None

    def metrics(self, labels: Sequence[Any] | None = None) -> dict[str, float | None]:
        """Return the metrics. With two classes precision, recall and f1 are of the second as sorted, else means over classes."""
        truth, right, answers = self.truth, self.right, self.answers[1:]
        N = self.weight
        present = (truth > 0.0) | (answers > 0.0)
        precision, recall = divide(right, answers), divide(right, truth)
        f1 = divide(2.0 * right, truth + answers)
        values = list(range(len(truth))) if labels is None else list(labels)
        if len(values) == 2 and len(truth):
            k = values.index(ordered(values)[1])
            shown = [float(a[k]) if k < len(a) else 0.0 for a in (precision, recall, f1)]
        else:
            shown = [average(a[present]) for a in (precision, recall, f1)]  # type: ignore[misc]
        agreed, chance = float(right.sum()), float(answers @ truth)
        spread = (N * N - float(self.answers @ self.answers)) * (N * N - float(truth @ truth))
        return {
            "accuracy": ratio(agreed, N),
            "balanced_accuracy": average(recall[truth > 0.0]),
            "precision": shown[0],
            "recall": shown[1],
            "f1": shown[2],
            "f1_macro": average(f1[present]),
            "kappa": ratio(N * agreed - chance, N * N - chance),
            "mcc": ((N * agreed - chance) / np.sqrt(spread) if spread > 0.0 else 0.0) if N else None,
            "auc": self.auc(),
            "log_loss": ratio(self.sums["log"], N),
        }

    def confusion(self, labels: Sequence[Any] | None = None) -> dict[str, Any] | None:
        """Return labels and counts, rows = truth, columns = answers; None with more than 256 classes.

        `no_answer`: for each truth the rows without an answer. Counts are sums of weights where there were weights.
        """
        if self.table is None:
            return None
        K = len(self.truth) if labels is None else len(labels)
        names = list(range(K)) if labels is None else list(labels)
        table = np.zeros((K, K + 1))
        table[: len(self.truth), : len(self.answers)] = self.table
        counts = table if self.weighted else table.astype(np.int64)
        order = [names.index(v) for v in ordered(names)]
        return {
            "labels": [names[k] for k in order],
            "counts": counts[np.ix_(order, [k + 1 for k in order])].tolist(),
            "no_answer": counts[order, 0].tolist(),
            "axes": "rows: truth, columns: prediction",
        }

    def normalised_confusion(self, labels: Sequence[Any] | None = None) -> np.ndarray | None:
        """Return the share of each truth (column) that was answered as each class (row): columns sum to 1, less the unanswered.

        A class without examples has a column of NaN. The order is that of `confusion`, whose axes are the other way round.
        """
        said = self.confusion(labels)
        if said is None:
            return None
        counts = np.array(said["counts"], np.float64).reshape(len(said["labels"]), -1)
        sizes = counts.sum(axis=1) + np.array(said["no_answer"], np.float64)
        with np.errstate(invalid="ignore"):
            return counts.T / sizes

    def to_dict(self, labels: Sequence[Any] | None = None) -> dict[str, Any]:
        """Return everything, as plain values; `labels` are the values in order of their codes."""
        return {
            "examples": self.examples,
            "mistakes": self.mistakes,
            "error": ratio(self.wrong, self.weight),
            "losses": {name: ratio(v, self.weight) for name, v in self.sums.items()},
            "metrics": {k: None if v is None else float(v) for k, v in self.metrics(labels).items()},
            "confusion": self.confusion(labels),
        }


def total(values: np.ndarray, c: np.ndarray | None) -> float:
    """Return the weighted sum."""
    return float(values.sum() if c is None else c @ values)


def divide(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return a / b by class, 0 where b is 0."""
    return np.divide(a, b, out=np.zeros(len(a)), where=b > 0.0)


# ---- regression ------------------------------------------------------------------------------------------------------
class Errors:
    """How far answers were from their targets, and how far the targets spread."""

    def __init__(self) -> None:
        self.weight = self.surplus = self.square = self.absolute = 0.0
        self.mean = self.scatter = 0.0  # of the targets: their mean, and the sum of squares about it

    def add(self, y: np.ndarray, e: np.ndarray, c: np.ndarray | None) -> None:
        """Take more rows: the targets, the errors, the weights."""
        weight = len(y) if c is None else float(c.sum())
        if not weight:
            return
        mean = total(y, c) / weight
        self._spread(weight, mean, total((y - mean) ** 2, c))
        self.surplus += total(e, c)
        self.square += total(e * e, c)
        self.absolute += total(np.abs(e), c)

    def _spread(self, weight: float, mean: float, scatter: float) -> None:
        """Join the spread of more targets to that so far (Chan, Golub, LeVeque 1983)."""
        both, apart = self.weight + weight, mean - self.mean
        self.scatter += scatter + apart * apart * self.weight * weight / both
        self.mean += apart * weight / both
        self.weight = both

    def __iadd__(self, later: Errors) -> Self:
        """Take the rows that came after."""
        if later.weight:
            self._spread(later.weight, later.mean, later.scatter)
        self.surplus += later.surplus
        self.square += later.square
        self.absolute += later.absolute
        return self

    def metrics(self) -> dict[str, float | None]:
        """Return the metrics; `bias` is the mean of answer minus target."""
        square, unexplained = ratio(self.square, self.weight), ratio(self.square, self.scatter)
        return {
            "mae": ratio(self.absolute, self.weight),
            "rmse": None if square is None else float(np.sqrt(square)),
            "r2": None if unexplained is None else 1.0 - unexplained,
            "bias": ratio(self.surplus, self.weight),
        }


class RealFigures:
    """The figures of a regressor; `loss` is its own, `drawn` the one that curves follow, the same unless said.

    Losses are those of all rows, as in the theorems. The metrics leave out rows that were answered before any target was known:
    where targets lie far from 0, these alone would decide.
    """

    LOSSES: tuple[str, ...] = ("square", "absolute", "epsilon_insensitive")
    mistakes = None

    def __init__(self, window: int | None = None, fading: float | None = None, epsilon: float = 0.1, loss: str = "square") -> None:
        self.epsilon, self.loss = epsilon, known(loss, REAL_LOSSES)
        self.drawn = self.loss
        self.examples, self.weight = 0, 0.0
        self.errors = Errors()
        self.sums = dict.fromkeys(dict.fromkeys((*self.LOSSES, loss)), 0.0)
        self.recent = Recent(window, fading, 1)

    def add(self, y: np.ndarray, f: np.ndarray, c: np.ndarray | None = None, blind: int = 0) -> RowCosts:
        """Take more rows: the targets, the answers from before each update, the weights; return what each cost.

        The first `blind` of them were answered before any target was known.
        """
        f = np.asarray(f, np.float64).reshape(-1)
        if not len(y) == len(f) == (len(y) if c is None else len(c)):
            raise ValueError(f"y, f and c must be of one length, got {len(y)}, {len(f)}, {c if c is None else len(c)}")
        if not len(y):
            return NOTHING
        with np.errstate(over="ignore", invalid="ignore"):  # a report says of squares that are too large
            e = f - y
            losses = {name: REAL_LOSSES[name](e, self.epsilon) for name in self.sums}
            self.errors.add(y[blind:], e[blind:], None if c is None else c[blind:])
            self.examples += len(y)
            self.weight += len(y) if c is None else float(c.sum())
            for name, values in losses.items():
                self.sums[name] += total(values, c)
            self.recent.add(c, losses[self.drawn])
        return RowCosts(losses["epsilon_insensitive"] > 0.0, losses[self.loss], losses[self.loss])

    def take(self, piece: Progress, c: np.ndarray | None) -> RowCosts:
        """Take what a learner did with consecutive rows, and their weights; return what each row cost."""
        return self.add(piece.y, piece.f[:, 0], c, piece.blind)

    def __iadd__(self, later: RealFigures) -> Self:
        """Take the figures of the rows that came after."""
        if (self.loss, self.epsilon) != (later.loss, later.epsilon):
            raise ValueError(f"cannot merge figures of loss {self.loss!r}, epsilon {self.epsilon} with another")
        self.recent += later.recent
        self.errors += later.errors
        self.examples += later.examples
        self.weight += later.weight
        self.sums = {name: v + later.sums[name] for name, v in self.sums.items()}
        return self

    def now(self) -> dict[str, float | None]:
        """Return the values of curves after the last row: cumulative, of the window, faded."""
        return {"examples": self.examples, "loss": ratio(self.sums[self.drawn], self.weight), **self.recent.now("loss")}

    def metrics(self) -> dict[str, float | None]:
        """Return the metrics."""
        return self.errors.metrics()

    def to_dict(self, labels: Sequence[Any] | None = None) -> dict[str, Any]:
        """Return everything, as plain values."""
        losses = {name: ratio(v, self.weight) for name, v in self.sums.items()}
        return {"examples": self.examples, "losses": losses, "metrics": self.metrics()}
