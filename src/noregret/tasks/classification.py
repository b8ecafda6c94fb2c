"""Classification: two classes are one score; the third makes a row of weights per class, and every later round a Pair."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from ..core import inputs
from ..core.engine import reach
from ..core.examples import required
from ..core.features import Features, Named
from ..core.inputs import Rows
from ..core.labels import Coded, Labelled, Labels, label_array, plain, refuse_fraction, refuse_mixed, some
from ..core.learner import Learner, Progress
from ..core.model import Model
from ..core.rounds import SEEN, TIE, ByPrediction, MaxLoss, UnitCost, price

SIGNS = np.array([[1.0, -1.0], [-1.0, 1.0]])  # which of two classes is the positive one: the sign of each
BOOLEANS = (bool, np.bool_)
COSTS = {"cost": None, "mode": "max_loss", "margin": "sqrt_cost"}


class Classifier(Learner):
    """A learner of labels: any hashable values, known beforehand (`classes`) or met on the way."""

    task: ClassVar[str] = "classification"
    _estimator_type = "classifier"
    options: ClassVar[dict[str, Any]] = {
        "fit_intercept": True,
        "average": False,
        "classes": None,
        "class_weight": None,
        **COSTS,
        **Learner.options,
    }

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Costs are for steps that ask for the required margin, or where classes share a round for the price of each."""
        wanted, text = (required, cls.__dict__.get("step")) if cls.share is None else (price, cls.share)
        if "step" in cls.__dict__ and wanted not in reach([text], ())[0]:
            cls.without = (*cls.without, *COSTS)
        super().__init_subclass__(**kwargs)

    # ---- learning ----------------------------------------------------------------------------------------------------
    def learn_many(self, X: Any, y: Any = None, sample_weight: Any = None, classes: Any = None) -> np.ndarray:
        """Predict, then learn, on each row in order; return the scores (as `decision_function` does) from before each update.

        New classes may appear at any time unless `classes` were declared.
        """
        rows = self._batch(X)
        m = self._begun(rows, None, classes)
        self._check_classes(m, classes)
        return self._outward(m, widest(self._learn_coded(m, rows, y, inputs.sample_weights(sample_weight, rows.n))))

    def _learn_rows(self, rows: Rows | Named, y: Any, c: np.ndarray | None, features: Features | None = None) -> list[Progress]:
        if self.nonnegative and isinstance(rows, Rows):
            inputs.refuse_negative(rows, type(self).__name__)
        return self._learn_coded(self._begun(rows, features), rows, y, c)

    def _learn_coded(self, m: Model, rows: Rows | Named, y: Any, c: np.ndarray | None) -> list[Progress]:
        """Learn from checked rows with labels."""
        if not isinstance(y, Coded):
            y = discrete(inputs.targets(y, rows.n, numeric=False))
        c = self._weigh(y, c, balance=False)
        done = []
        with m.unharmed():
            for a, b in self._spans(m, y, c, rows.n):
                weights = None if c is None else c[a:b]
                done += self._run_pieces(m, rows.cut(a, b), self._codes(m, some(y, slice(a, b)), weights), weights)
        self._keep(m)
        return done

    def _spans(self, m: Model, y: Labelled, c: np.ndarray | None, n: int) -> list[tuple[int, int]]:
        """Return the runs of rows to learn at once: all, unless every new class takes of what the others have."""
        labels = m.labels
        assert labels is not None
        if not m.by_classes or labels.declared:
            return [(0, n)]
        counted = np.arange(n) if c is None else np.flatnonzero(c)
        values, inverse = distinct(some(y, counted))
        new = [k for k, v in enumerate(values) if v not in labels.index]
        m.expect(len(new))
        starts = sorted({0, *(int(counted[np.argmax(inverse == k)]) for k in new)})
        return list(zip(starts, [*starts[1:], n], strict=True))

    def partial_fit(  # type: ignore[override] # scikit-learn's order of arguments
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Learn from rows in order. New classes may appear at any time unless `classes` were declared."""
        self.learn_many(X, y, sample_weight, classes)
        return self

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, epochs: int | None = None, until: str | None = None) -> Self:
        """Forget, then learn from all rows: `epochs` times, or `until="separated"`, the first epoch without an update."""
        rows, features = self._whole(X)
        y = discrete(inputs.targets(y, rows.n, numeric=False))
        c = self._weigh(y, inputs.sample_weights(sample_weight, rows.n), balance=True)
        rows, y, c = inputs.without_zeros(rows, y, c)
        if rows.n == 0:
            raise ValueError("all sample weights are zero: there is nothing to fit")
        labels = distinct(y)[0]
        if len(labels) < 2:
            raise ValueError(f"a classifier needs at least two classes to fit, the data have one class: {labels}")
        m = self._start(rows, features, self.classes if self.classes is not None else labels)
        codes = self._codes(m, y)
        self._epochs(m, rows if features else self._place(m, rows, grow=True), codes, c, epochs, until)
        self._m = m
        return self

    def _start(self, rows: Rows | None, features: Features | None = None, classes: Any = None) -> Model:
        return self._begin(rows, features, Labels(classes if classes is not None else self.classes))

    def _check_classes(self, m: Model, classes: Any) -> None:
        """Refuse other classes than those declared first."""
        if classes is not None:
            labels, wanted = m.labels, Labels(classes)
            assert labels is not None
            if not (labels.declared and wanted.sorted == labels.sorted):
                raise ValueError(f"classes={wanted.sorted} differ from those of the first call: {labels.sorted}")

    def _codes(self, m: Model, y: Labelled, c: np.ndarray | None = None) -> np.ndarray:
        """Return the labels as numbers, registering new ones (of rows that count) in order of first appearance."""
        labels = m.labels
        assert labels is not None
        if c is not None and not c.all():
            codes = np.zeros(len(c), np.int64)
            codes[c > 0.0] = self._codes(m, some(y, c > 0.0))
            return codes
        kinds = "b" if len(labels) and isinstance(labels.values[0], bool) else "iuf"
        if isinstance(y, np.ndarray) and y.dtype.kind in kinds and len(labels) == 2:  # the common case, without sorting
            second = y == labels.values[1]
            if (second | (y == labels.values[0])).all():
                return second.astype(np.int64)
        values, inverse = distinct(y)
        labels.extend(labels.missing(values))
        return np.array([labels.index[v] for v in values], np.int64)[inverse]

    def _run(self, m: Model, rows: Rows, y: np.ndarray, c: np.ndarray | None) -> list[Progress]:
        """Learn from coded rows: two classes up to the first sight of a third, so that the split into calls does not show."""
        labels = m.labels
        assert labels is not None
        third = 0 if m.many else rows.n if len(labels) < 3 else int(np.argmax(np.append(y >= 2, True)))
        done = []
        if third:
            m.tally[TIE] = labels.tie if len(labels) < 3 else labels.early().tie
            signs = SIGNS[labels.positive].take(y[:third])
            done.append(self._learned(m, rows.cut(0, third), y[:third], signs, c, labels))
        if third < rows.n:
            m.relabel()
            late = None if c is None else c[third:]
            done.append(self._learned(m, rows.cut(third, rows.n), y[third:], y[third:], late, labels))
        return done

    def _learned(self, m: Model, rows: Rows, y: np.ndarray, target: np.ndarray, c: np.ndarray | None, labels: Labels) -> Progress:
        """Learn, and note what was known before."""
        known = (m.many, int(m.tally[SEEN]), int(m.tally[TIE]), labels.positive)
        return Progress(m.learn(rows, target, c if c is None else c[: rows.n]), y, *known)

    def _weigh(self, y: Labelled, c: np.ndarray | None, balance: bool) -> np.ndarray | None:
        """Return sample weights times class weights."""
        given = getattr(self, "class_weight", None)
        if given is None:
            return c
        values, inverse = distinct(y)
        if isinstance(given, str):
            if given != "balanced" or not balance:
                raise ValueError(
                    f"class_weight={given!r} is not supported for {'fit' if balance else 'partial_fit'}: pass {{label: weight}}"
                    + (" ('balanced' needs all labels at once, so it works in fit only)" if given == "balanced" else "")
                )
            per = len(y) / (len(values) * np.bincount(inverse))
        else:
            per = np.array([class_weight_of(given, v) for v in values])
        return per[inverse] if c is None else per[inverse] * c

    def learn_one(self, x: Any, y: Any = None, w: float = 1.0) -> Any:
        """Learn one example with weight w; return the label predicted before (None when no class was known)."""
        m: Any = self.__dict__.get("_m")
        try:
            code = m.labels.index.get(y) if m is not None and w == 1.0 and self.__dict__.get("class_weight") is None else None
        except TypeError:  # what cannot be a label
            code = None
        if code is None or isinstance(y, BOOLEANS) is not isinstance(m.labels.values[code], bool):
            return self._learn_slowly(x, plain(y), w)
        idx, values = self._row(m, x, grow=True)
        if m.many:
            return self._said(m, m.learn_row(idx, values, code))
        known = m.tally.item(SEEN)
        return self._said(m, m.learn_row(idx, values, 1.0 if code == m.labels.positive else -1.0), known)

    def _learn_slowly(self, x: Any, y: Any, w: float) -> Any:
        """Learn one example that may be the first, bring a new label or carry a weight."""
        c = self._weigh(label_array([y]), inputs.sample_weights(w, 1), balance=False)
        m = self._m if "_m" in self.__dict__ else self._start(self._one(x))
        labels = m.labels
        assert labels is not None
        m.expect(len(labels.missing([y])))
        before = None
        if m.tally[SEEN] or labels.declared:
            before = self._said(m, m.score_row(*m.features.row(x, False)))
        m.features.row(x, False)  # all checks pass before anything changes
        self._check_row(x)
        if c is not None and c[0] == 0.0:
            return before
        labels.extend(labels.missing([y]))
        idx, values = self._row(m, x, grow=True)
        rows = Rows("csr", (np.array([0, len(idx)]), idx, values), 1, 0)
        self._run(m, rows, np.array([labels.index[y]]), None if c is None or c[0] == 1.0 else c)
        self._m = m
        return before

    # ---- answering ---------------------------------------------------------------------------------------------------
    def _said(self, m: Model, f: np.ndarray, known: int | None = None) -> Any:
        """Return the label of one row of scores."""
        return said(m, f, known)

    def predict(self, X: Any) -> np.ndarray:
        """Return the label of each row."""
        f = self._scores(X)
        labels = self._m.labels
        assert labels is not None
        return labels.array()[self._picked(self._m, f)]

    def _picked(self, m: Model, f: np.ndarray) -> np.ndarray:
        """Return the code of the label of each row of scores."""
        return picked(m, f)

    def decision_function(self, X: Any) -> np.ndarray:
        """Return a score per class in the order of `classes_`; with two classes one score, above 0 for the second."""
        return self._outward(self._model(), self._scores(X))

    def _outward(self, m: Model, f: np.ndarray) -> np.ndarray:
        """Return scores in the order of `classes_`."""
        return outward(m, f)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy."""
        y = np.asarray(y)
        return float(np.average(self.predict(X) == y, weights=sample_weight))

    # ---- reading back ------------------------------------------------------------------------------------------------
    @property
    def classes_(self) -> np.ndarray:
        """The labels, sorted (in order of appearance where they cannot be ordered)."""
        labels = self._model().labels
        assert labels is not None
        return label_array(labels.sorted)

    @property
    def coef_(self) -> Any:
        """The weights: one row per class, or one row with two classes."""
        return self._read(self._oriented(self._all_weights()[0]))

    @property
    def intercept_(self) -> np.ndarray:
        """The weight of the constant feature, per class or alone."""
        return self._oriented(self._all_weights()[1])

    def _oriented(self, w: np.ndarray) -> np.ndarray:
        labels = self._m.labels
        assert labels is not None
        if self._m.many:
            w = w[labels.order]
            return w[1:] - w[:1] if len(labels) == 2 else w
        return w * sign(labels)

    @classmethod
    def costs(cls, given: Mapping[str, Any], labels: Labels) -> Any:
        """Return how rivals are chosen: by cost and mode, with the margin each confusion asks for (C.4)."""
        if given.get("cost") is None:
            return UnitCost()
        margins: dict[str, Any] = {"sqrt_cost": np.sqrt, "cost": np.array, "unit": lambda cost: (cost > 0.0) * 1.0}
        modes: dict[str, Any] = {"max_loss": MaxLoss, "prediction": ByPrediction}
        given = {"margin": "cost", **given}  # who asks for no margin pays the cost itself
        for what, table in (("margin", margins), ("mode", modes)):
            if given[what] not in table:
                raise ValueError(f"{what} must be one of {', '.join(map(repr, table))}, got {given[what]!r}")
        return modes[given["mode"]](np.ascontiguousarray(margins[given["margin"]](cost_matrix(given["cost"], labels))))


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


def distinct(y: Labelled) -> tuple[list[Any], np.ndarray]:
    """Return the different labels in order of first appearance, and which one each row has."""
    if isinstance(y, Coded):
        used, codes = distinct(y.codes)
        return [plain(y.values[k]) for k in used], codes
    if y.dtype.kind == "O":
        refuse_mixed([plain(next(v for v in y if type(v) is kind)) for kind in set(map(type, y))])
        index: dict[Any, int] = {}
        numbers = [index.setdefault(plain(v), len(index)) for v in y.tolist()]
        return list(index), np.array(numbers, np.int64)
    found, first, inverse = np.unique(y, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return [plain(v) for v in found[order].tolist()], np.argsort(order)[inverse]


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


def answers(piece: Progress) -> tuple[np.ndarray, np.ndarray]:
    """Return the code answered to each row (-1 where no class was known), and how many classes were known then."""
    f, y = piece.f, piece.y
    if piece.many:
        seen = np.maximum(piece.seen, np.maximum.accumulate(np.concatenate([[0], y[:-1] + 1])))
        hidden = np.arange(f.shape[1]) >= seen[:, None]
        said = np.argmax(np.where(hidden, -np.inf, f), axis=1)
        return np.where(seen > 0, said, -1), seen
    up = y == piece.positive
    met = [np.logical_or.accumulate(np.concatenate([[bool(piece.seen & bit)], mine[:-1]])) for bit, mine in ((1, up), (2, ~up))]
    above = (f[:, 0] > 0.0) | ((f[:, 0] == 0.0) & (piece.tie > 0))
    above = np.where(met[0] & met[1], above, met[0])
    said = np.where(above, piece.positive, 1 - piece.positive)
    seen = met[0].astype(np.int64) + met[1]
    return np.where(seen > 0, said, -1), seen


def plain_labels(y: np.ndarray) -> list[Any]:
    """Return labels as plain values."""
    return [plain(v) for v in y.tolist()]


def sign(labels: Labels) -> float:
    """Return the sign that turns the one score of two classes into that of the second of them, as sorted."""
    return -1.0 if len(labels) == 2 and labels.order[1] != labels.positive else 1.0


def class_weight_of(given: Mapping[Any, float], label: Any) -> float:
    """Return the weight of a class, 1 if it is not named."""
    if not isinstance(given, Mapping):
        raise TypeError(f"class_weight must be a dict of weights by label, or 'balanced', got {given!r}")
    v = given.get(label, 1.0)
    if not (isinstance(v, (int, float, np.number)) and np.isfinite(v) and v >= 0.0):
        raise ValueError(f"class_weight of {label!r} must be a finite number, not negative; got {v!r}")
    return float(v)


def discrete(y: np.ndarray) -> np.ndarray:
    """Refuse real targets."""
    if y.dtype.kind == "f":
        odd = y != np.floor(y)
        if odd.any():
            at = int(np.argmax(odd))
            refuse_fraction(f"y has {y[at].item()!r} in row {at}")
    return y


# ---- from scores to answers, for whatever has labels, a tally and scores of two or many classes ------------------------
def said(m: Any, f: np.ndarray, known: int | None = None) -> Any:
    """Return the label of one row of scores."""
    labels = m.labels
    assert labels is not None
    seen = m.tally.item(SEEN) if known is None else known
    if seen == 0:
        return None
    if m.many:
        return labels.values[int(np.argmax(f[:seen]))]
    s = f.item(0) if seen == 3 else 1.0 if seen == 1 else -1.0
    up = s > 0.0 or (s == 0.0 and m.tally[TIE] > 0)
    return labels.values[labels.positive if up else 1 - labels.positive]


def picked(m: Any, f: np.ndarray) -> np.ndarray:
    """Return the code of the label of each row of scores."""
    labels, seen = m.labels, int(m.tally[SEEN])
    assert labels is not None
    if m.many:
        return np.argmax(f[:, :seen], axis=1)
    s = f[:, 0] if seen == 3 else np.full(len(f), 1.0 if seen == 1 else -1.0)
    up = (s > 0.0) | ((s == 0.0) & (m.tally[TIE] > 0))
    return np.where(up, labels.positive, 1 - labels.positive)


def outward(m: Any, f: np.ndarray) -> np.ndarray:
    """Return scores in the order of `classes_`."""
    labels = m.labels
    assert labels is not None
    if f.shape[1] > 1 or m.many:
        f = f[:, labels.order]
        return f[:, 1] - f[:, 0] if len(labels) == 2 else f
    return f[:, 0] * sign(labels)
