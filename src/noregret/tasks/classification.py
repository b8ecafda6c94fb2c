"""Classification: two classes are one score; the third makes a row of weights per class, and every later round a Pair."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np

from ..algorithm.rounds import SEEN, TIE
from ..calibration.coverage import Sets, members
from ..inputs import checking
from ..inputs.checking import Rows, sparse_row
from ..inputs.features import Features, Named
from ..inputs.labels import Labelled, Labels, distinct, label_array, plain, some
from ..learners.learner import Learner, Progress
from ..learners.model import Model
from .classes import CLASSIFICATION, class_weight_of, sign, widest
from .compact import Compactable
from .covered import by_level, covered

SIGNS = np.array([[1.0, -1.0], [-1.0, 1.0]])  # which of two classes is the positive one: the sign of each
BOOLEANS = (bool, np.bool_)
COSTS = {"cost": None, "mode": "max_loss", "margin": "sqrt_cost"}


class Classifier(Compactable):
    """A learner of labels: any hashable values, declared beforehand (`classes`) or met in the stream."""

    task: ClassVar[Any] = CLASSIFICATION
    _estimator_type = CLASSIFICATION.estimator
    options: ClassVar[dict[str, Any]] = {
        "fit_intercept": True,
        "average": False,
        "classes": None,
        "class_weight": None,
        "probabilities": False,
        "coverage": None,
        **COSTS,
        **Learner.options,
    }

    @classmethod
    def _unfit(cls) -> set[str]:
        unable = {"probabilities", "coverage"} if cls.by_domain else {"probabilities"} if cls.link else set()
        return super()._unfit() | (set() if cls.takes_cost else {*COSTS}) | unable

    # ---- learning ----------------------------------------------------------------------------------------------------
    def learn_many(self, X: Any, y: Any = None, sample_weight: Any = None, classes: Any = None) -> np.ndarray:
        """Predict, then learn, on each row in order; return the scores (as `decision_function` does) from before each update.

        New classes may appear at any time unless `classes` were declared.
        """
        m, done = self._learn_batch(X, y, sample_weight, classes, keep=True)
        return self.task.margins(m, widest(done))

    def _learn_batch(self, X: Any, y: Any, sample_weight: Any, classes: Any, keep: bool) -> tuple[Model, list[Progress]]:
        """Check a batch and learn from it; return the model, and what was answered if that is to be kept."""
        rows = self._batch(X)
        m = self._begun(rows, None, classes)
        self.check_classes(m, classes)
        return m, self._learn_coded(m, rows, y, checking.sample_weights(sample_weight, rows.n), keep)

    def learn_rows(
        self, rows: Rows | Named, y: Any, c: np.ndarray | None, features: Features | None = None, keep: bool = True
    ) -> list[Progress]:
        """Learn from checked rows in order; a model that begins here takes `features` for its table."""
        if self.nonnegative and isinstance(rows, Rows):
            checking.refuse_negative(rows, type(self).__name__)
        return self._learn_coded(self._begun(rows, features), rows, y, c, keep)

    def _learn_coded(self, m: Model, rows: Rows | Named, y: Any, c: np.ndarray | None, keep: bool = True) -> list[Progress]:
        """Learn from checked rows with labels; unless the answers are kept, they take bounded memory."""
        y = self.task.targets(y, rows.n)
        c = self._weigh(y, c, balance=False)
        done: list[Progress] = []
        with m.unharmed(rows if isinstance(rows, Rows) else rows.rows):
            for a, b in self._spans(m, y, c, rows.n):
                codes = self._codes(m, some(y, slice(a, b)), None if c is None else c[a:b])
                for i, j in [(0, b - a)] if keep else self.in_room(m, None, b - a):
                    weights = None if c is None else c[a + i : a + j]
                    piece = self._run_pieces(m, rows.cut(a + i, a + j), codes[i:j], weights)
                    done += piece if keep else []
        self._keep(m)
        return done

    def _spans(self, m: Model, y: Labelled, c: np.ndarray | None, n: int) -> list[tuple[int, int]]:
        """Return the runs of rows to learn at once: all, unless a new class takes room from the others."""
        labels = m.labels
        assert labels is not None
        if labels.declared or not (m.by_classes or m.pairs_features):
            return [(0, n)]
        counted = np.arange(n) if c is None else np.flatnonzero(c)
        values, inverse = distinct(some(y, counted))
        new = [k for k, v in enumerate(values) if v not in labels.index]
        m.expect(len(new))
        if not m.by_classes:
            return [(0, n)]
        starts = sorted({0, *(int(counted[np.argmax(inverse == k)]) for k in new)})
        return list(zip(starts, [*starts[1:], n], strict=True))

    def partial_fit(  # type: ignore[override] # scikit-learn's order of arguments
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Learn from rows in order. New classes may appear at any time unless `classes` were declared."""
        self._learn_batch(X, y, sample_weight, classes, keep=False)
        return self

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, epochs: int | None = None, until: str | None = None) -> Self:
        """Forget, then learn from all rows: `epochs` times, or `until="separated"`, the first epoch without an update."""
        rows, features = self._whole(X)
        y = self.task.targets(y, rows.n)
        c = self._weigh(y, checking.sample_weights(sample_weight, rows.n), balance=True)
        rows, y, c = checking.without_zeros(rows, y, c)
        if rows.n == 0:
            raise ValueError("all sample weights are zero: there is nothing to fit")
        labels = distinct(y)[0]
        if len(labels) < 2:
            raise ValueError(f"a classifier needs at least two classes to fit, the data have one class: {labels}")
        m = self.new_model(rows, features, self.classes if self.classes is not None else labels)
        codes = self._codes(m, y)
        self._epochs(m, rows if features else self.place(m, rows, grow=True), codes, c, epochs, until)
        self.model = m
        return self

    def new_model(self, rows: Rows | None, features: Features | None = None, classes: Any = None) -> Model:
        """Return a new model for these rows, or for dicts, with a table of labels."""
        return self.model_with(rows, features, Labels(classes if classes is not None else self.classes))

    def check_classes(self, m: Model, classes: Any) -> None:
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
        f = m.learn(rows, target, c if c is None else c[: rows.n])
        return Progress(f, y, *known, said=None if m.calibration is None else m.calibration.taken())

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
        m: Any = self.held
        try:
            code = m.labels.index.get(y) if m is not None and w == 1.0 and self.__dict__.get("class_weight") is None else None
        except TypeError:  # what cannot be a label
            code = None
        if code is None or isinstance(y, BOOLEANS) is not isinstance(m.labels.values[code], bool):
            return self._learn_slowly(x, plain(y), w)
        if m.many:
            return self.task.answer(m, self._teach(m, x, m.learn_row, code))
        known = m.tally.item(SEEN)
        return self.task.answer(m, self._teach(m, x, m.learn_row, 1.0 if code == m.labels.positive else -1.0), known)

    def _learn_slowly(self, x: Any, y: Any, w: float) -> Any:
        """Learn one example that may be the first, bring a new label or carry a weight."""
        c = self._weigh(label_array([y]), checking.sample_weights(w, 1), balance=False)
        m = self.held or self.new_model(self._one(x))
        labels = m.labels
        assert labels is not None
        m.expect(len(labels.missing([y])))
        before = None
        if m.tally[SEEN] or labels.declared:
            before = self.task.answer(m, m.score_row(*m.features.row(x, False)))
        m.features.row(x, False)  # all checks pass before anything changes
        self._check_row(x)
        if c is not None and c[0] == 0.0:
            return before
        self._teach(m, x, self._learn_labelled, m, y, None if c is None or c[0] == 1.0 else c)
        self.model = m
        return before

    def _learn_labelled(self, idx: np.ndarray, values: np.ndarray, m: Model, y: Any, c: np.ndarray | None) -> None:
        """Learn one row whose label may be new."""
        rows, labels = sparse_row(idx, values), m.labels
        assert labels is not None
        with m.unharmed(rows):
            labels.extend(labels.missing([y]))
            self._run(m, rows, np.array([labels.index[y]]), c)

    # ---- answering ---------------------------------------------------------------------------------------------------
    def predict(self, X: Any) -> np.ndarray:
        """Return the label of each row."""
        return np.concatenate([self.task.answers(self.model, f) for f in self._score_runs(X)])

    def decision_function(self, X: Any) -> np.ndarray:
        """Return a score per class in the order of `classes_`; with two classes one score, above 0 for the second."""
        return self.task.margins(self.model, self._scores(X))

    # ---- probabilities -----------------------------------------------------------------------------------------------
    @property
    def predict_proba(self) -> Callable[[Any], np.ndarray]:
        """`predict_proba(X)`: the probability of each class for each row, in the order of `classes_`.

        It needs `probabilities=True`. `predict` goes by scores: its answer need not be the most probable class.
        """
        return self._with_probabilities(self._predict_proba)

    @property
    def predict_proba_one(self) -> Callable[[Any], dict[Any, float]]:
        """`predict_proba_one(x)`: the probability of each label for one example; nothing before any label is known."""
        return self._with_probabilities(self._predict_proba_one)

    @property
    def calibrate(self) -> Callable[..., Self]:
        """`calibrate(X, y, sample_weight=None)`: learn from rows how probable labels are, given the scores; scores do not change.

        For rows that were not learned, after `fit` with several epochs: it learns probabilities in the first of them alone.
        """
        return self._with_probabilities(self._calibrate)

    def _with_probabilities(self, method: Any) -> Any:
        """Return a method, if there are probabilities; scikit-learn asks by `hasattr`."""
        if self.link or self.__dict__.get("probabilities") or self.__dict__.get("coverage") is not None:
            return method
        if "probabilities" in self.defaults:
            raise AttributeError(f"{type(self).__name__} learns probabilities where it is asked to: give it probabilities=True")
        raise AttributeError(f"{type(self).__name__} has no probabilities")

    def _predict_proba(self, X: Any) -> np.ndarray:
        m, rows = self.model, self._placed(X)
        return np.concatenate([self._chances(m, rows.cut(a, b)) for a, b in self.in_room(m, None, rows.n)])

    def _chances(self, m: Model, rows: Rows) -> np.ndarray:
        """Return the probabilities of rows in their places, in the order of `classes_`."""
        assert m.labels is not None
        assert m.calibration is not None
        return m.calibration.forecast(m.evidence(rows), m.known)[:, m.labels.order]

    def chances_of(self, rows: Rows) -> np.ndarray:
        """Return the probabilities of checked rows, in the order of `classes_`."""
        m = self.model
        m.features.check(rows, type(self).__name__)
        return self._chances(m, self.place(m, rows, grow=False))

    def _predict_proba_one(self, x: Any) -> dict[Any, float]:
        m = self.held or self.new_model(self._one(x))
        assert m.labels is not None
        p = self._chances(m, sparse_row(*m.features.row(x, False)))[0]
        return dict(zip(m.labels.sorted, p.tolist(), strict=True))

    @property
    def predict_set(self) -> Callable[[Any], list[Any]]:
        """`predict_set(X)`: for each row the labels of a set that holds the truth as often as `coverage` says, likeliest first.

        With several levels, a list of sets for each row. It needs `coverage=0.9` or another level.
        """
        return covered(self, self._predict_set)

    @property
    def predict_set_one(self) -> Callable[[Any], Any]:
        """`predict_set_one(x)`: the same for one example; nothing before any label is known."""
        return covered(self, self._predict_set_one)

    def _predict_set(self, X: Any) -> list[Any]:
        return self.sets_of(self.model, self._predict_proba(X))

    def _predict_set_one(self, x: Any) -> Any:
        m = self.held or self.new_model(self._one(x))
        p = np.array([[*self._predict_proba_one(x).values()]])
        return self.sets_of(m, p)[0]

    def sets_of(self, m: Model, p: np.ndarray) -> list[Any]:
        """Return the sets of rows, given the probabilities of `classes_`."""
        assert isinstance(m.calibration, Sets)
        return by_level(self.coverage, [self._set_of(m, p, u) for u in m.calibration.u.tolist()])

    def _set_of(self, m: Model, p: np.ndarray, u: float) -> list[list[Any]]:
        assert m.labels is not None
        classes, held = m.labels.sorted, members(p, u) if p.shape[1] else np.zeros(p.shape, bool)
        return [[classes[k] for k in np.argsort(-q, kind="stable") if own[k]] for q, own in zip(p, held, strict=True)]

    def region_of(self, rows: Rows, level: float) -> list[list[Any]]:
        """Return the sets of checked rows at one of the levels."""
        m = self.model
        assert isinstance(m.calibration, Sets)
        return self._set_of(m, self.chances_of(rows), m.calibration.u[m.calibration.place(level)].item())

    def _calibrate(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        rows = self._placed(X)
        return self.calibrate_rows(rows, y, checking.sample_weights(sample_weight, rows.n))

    def calibrate_rows(self, rows: Rows, y: Any, c: np.ndarray | None) -> Self:
        """Learn probabilities from rows in their places."""
        m = self.model
        assert m.labels is not None
        assert m.calibration is not None
        y = self.task.targets(y, rows.n)
        if new := m.labels.missing(distinct(y)[0]):
            raise ValueError(f"y contains the label {new[0]!r}, which the learner has not met; known are {m.labels.sorted}")
        codes = self._codes(m, y)
        for a, b in self.in_room(m, None, rows.n):
            m.calibration.learn(m.evidence(rows.cut(a, b)), codes[a:b], None if c is None else c[a:b])
        m.calibration.taken()
        return self

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy."""
        y = np.asarray(y)
        return float(np.average(self.predict(X) == y, weights=sample_weight))

    # ---- reading back ------------------------------------------------------------------------------------------------
    @property
    def classes_(self) -> np.ndarray:
        """The labels, sorted (in order of appearance where they cannot be ordered)."""
        labels = self.model.labels
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
        labels = self.model.labels
        assert labels is not None
        if self.model.many:
            w = w[labels.order]
            return w[1:] - w[:1] if len(labels) == 2 else w
        return w * sign(labels)
