"""Selective sampling: a learner sees every row, answers, and asks for the label only where it is unsure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from ..algorithm.params import Range
from ..files.model_file import load
from ..inputs.checking import Rows
from ..inputs.features import is_dicts, stacked
from ..inputs.labels import Labels, label_array
from ..learners.model import Model
from .classes import plain_labels
from .classification import Classifier
from .second_order import SecondOrder

RULES = ("margin", "second_order", "confidence")
OPTIONS, COUNTS = ("b", "rule", "kappa", "seed"), ("n_seen_", "n_queries_", "n_mistakes_", "n_judged_")


class SelectiveSampler:
    """Ask for a label with the probability that the learner needs it; learn from the rows that were asked for.

    With s the margin (of the best class over the next) and v its variance, before the update:
    "margin", p = b/(b + |s|);
    "second_order", p = b/(b + |s| + s^2 (1 + v)/2);
    "confidence", no draw: ask iff v/(1 + v) > t^-kappa in round t, whatever the margin.

    Parameters: `learner`, any classifier ("margin") or a second-order one; `b` and `kappa` in (0, 1) (large: more queries); `seed`
    of the draws, one for each round. p depends on the row and on what was learned, never on the label.

    `learn_one(x, y)` takes the label, or a function without arguments that gets it, called only if the label is asked for. Mistakes
    are counted on all rows whose label is known, asked for or not: `n_mistakes_` of `n_judged_`. For bounds on the mistakes see the
    papers: they are for the Perceptron ("margin") and SOP with a full covariance ("second_order"), two classes.

    Pitfalls: where classes are few and far between, rows that nobody asks about hold them; then take a larger b. "confidence" asks
    for nothing in the first round.

    Cesa-Bianchi, Gentile, Zaniboni (2006), *Worst-case analysis of selective sampling for linear classification*; Cesa-Bianchi,
    Gentile, Orabona (2009), *Robust bounds for classification via selective sampling*.

    >>> import noregret as nr
    >>> m = nr.SelectiveSampler(nr.AROW(), b=0.2)
    >>> for _ in range(50):
    ...     _ = m.learn_one({"free": 1}, "spam"), m.learn_one({"agenda": 1}, lambda: "ham")
    >>> m.n_queries_, m.n_seen_, m.predict_one({"free": 1})
    (19, 100, 'spam')
    """

    def __init__(
        self, learner: Classifier, *, b: float = 1.0, rule: str = "margin", kappa: float = 0.5, seed: int | None = 0
    ) -> None:
        if rule not in RULES:
            raise ValueError(f"rule must be one of {', '.join(map(repr, RULES))}, got {rule!r}")
        if not isinstance(learner, Classifier):
            raise TypeError(f"a sampler needs a classifier, got a {type(learner).__name__}")
        if rule != "margin" and not isinstance(learner, SecondOrder):
            raise TypeError(
                f"rule={rule!r} needs the variance of a second-order learner such as AROW; {type(learner).__name__} has none: "
                "use rule='margin'"
            )
        self.learner, self.rule, self.seed = learner, rule, seed
        self.b, self.kappa = Range(0.0, math.inf).check("b", b), Range(0.0, 1.0).check("kappa", kappa)
        self.n_seen_ = self.n_queries_ = self.n_mistakes_ = self.n_judged_ = 0
        self._rng = np.random.default_rng(seed)

    # ---- learning ----------------------------------------------------------------------------------------------------
    def learn_one(self, x: Any, y: Any) -> Any:
        """See one example, and learn it if its label is asked for; return the label predicted before."""
        return self._round([x] if isinstance(x, Mapping) else self.learner.check_rows(np.reshape(x, (1, -1))), y)[0]

    def learn_many(self, X: Any, y: Any) -> np.ndarray:
        """See rows in order, and learn those whose label is asked for; return which ones were."""
        if is_dicts(X):
            examples: list[Any] = [[x] for x in X]
        else:
            rows = self.learner.check_rows(X)
            examples = [rows.cut(i, i + 1) for i in range(rows.n)]
        labels = plain_labels(self.learner.task.targets(y, len(examples)))
        self._labels(examples[0]).missing(labels)
        return np.array([self._round(x, label)[1] for x, label in zip(examples, labels, strict=True)])

    def partial_fit(self, X: Any, y: Any) -> Self:
        """See rows in order, and learn those whose label is asked for: `n_queries_` and `report()` tell how many."""
        self.learn_many(X, y)
        return self

    def _round(self, x: Any, y: Any) -> tuple[Any, bool]:
        """See one row, or a list of one dict; return what was predicted before, and whether its label was asked for."""
        learner, m = self.learner, self._model(x)
        f, s, v = self._margin(m, x)
        predicted = learner.task.answer(m, f)
        if not callable(y):
            self._labels(x).missing([y])
        asked = self._counted(s, v)
        if asked:
            y = y() if callable(y) else y
            if isinstance(x, Rows):
                learner.learn_rows(x, label_array([y]), None)
            else:
                learner.learn_one(x[0], y)
        if not callable(y):
            self.n_judged_ += 1
            self.n_mistakes_ += predicted != y
        return predicted, asked

    def _model(self, x: Any) -> Model:
        """Return the model, or what one that begins with x would be."""
        m: Model | None = self.learner.held
        return m or self.learner.new_model(x if isinstance(x, Rows) else None)

    def _labels(self, x: Any) -> Labels:
        labels = self._model(x).labels
        assert labels is not None
        return labels

    # ---- asking ------------------------------------------------------------------------------------------------------
    def asks(self, m: Model, x: Rows) -> bool:
        """Decide about a row, and count it; the caller lets the learner learn."""
        return self._counted(*self._margin(m, x)[1:])

    def _counted(self, s: float, v: float) -> bool:
        """Decide and count."""
        asked = self._asks(s, v)
        self.n_seen_ += 1
        self.n_queries_ += asked
        return asked

    def _asks(self, s: float, v: float) -> bool:
        """Decide whether to ask for the label of a row with this margin and variance."""
        if self.rule == "confidence":
            return v / (1.0 + v) > (self.n_seen_ + 1.0) ** -self.kappa
        extra = s * s * (1.0 + v) / 2.0 if self.rule == "second_order" else 0.0
        return bool(self._rng.random() < self.b / (self.b + s + extra))

    def _margin(self, m: Model, x: Any) -> tuple[np.ndarray, float, float]:
        """Return the scores of a row, the margin of the best over the next, and its variance (0 if the rule has no use for it)."""
        if self.rule != "margin" and isinstance(self.learner, SecondOrder):
            rows, new = self.learner.rows_seen(m, x)
            f, v = m.score(rows)[0], self.learner.variance_of(m, rows, new)[0]
        else:
            rows = self.learner.place(m, x, grow=False) if isinstance(x, Rows) else stacked(m.features, x, grow=False)
            f = m.score(rows)[0]
            v = np.zeros(len(f))
        if len(f) == 1:
            return f, abs(float(f[0])), float(v[0])
        first, second = np.argsort(-f, kind="stable")[:2]
        return f, float(f[first] - f[second]), float(v[first] + v[second])

    # ---- answering ---------------------------------------------------------------------------------------------------
    def predict_one(self, x: Any) -> Any:
        """Return the label of one example."""
        return self.learner.predict_one(x)

    def predict(self, X: Any) -> np.ndarray:
        """Return the label of each row."""
        return self.learner.predict(X)

    def report(self) -> dict[str, Any]:
        """Return rows seen, labels asked for and their share, and mistakes and their rate where labels are known."""
        return {
            "examples": self.n_seen_,
            "queries": self.n_queries_,
            "query_rate": self.n_queries_ / self.n_seen_ if self.n_seen_ else 0.0,
            "judged": self.n_judged_,
            "mistakes": self.n_mistakes_,
            "error": self.n_mistakes_ / self.n_judged_ if self.n_judged_ else 0.0,
        }

    def __repr__(self) -> str:
        return f"SelectiveSampler({self.learner!r}, b={self.b:g}, rule={self.rule!r}, kappa={self.kappa:g}, seed={self.seed!r})"

    # ---- files -------------------------------------------------------------------------------------------------------
    def save(self, path: Any) -> None:
        """Write the learner, with the counters and where the draws are, to a file; `nr.load` gives the learner alone."""
        own = {k: getattr(self, k) for k in (*OPTIONS, *COUNTS)}
        self.learner.extras["sampler"] = {**own, "draws": self._rng.bit_generator.state}
        try:
            self.learner.save(path)
        finally:
            del self.learner.extras["sampler"]

    @classmethod
    def load(cls, path: Any) -> Self:
        """Read a sampler from a file; it continues as if it had never stopped."""
        learner = load(path)
        saved = learner.extras.pop("sampler", None)
        if saved is None:
            raise TypeError(f"{path} holds a {type(learner).__name__} without a sampler: use nr.load")
        sampler = cls(learner, **{k: saved[k] for k in OPTIONS})
        sampler.__dict__.update({k: saved[k] for k in COUNTS})
        sampler._rng.bit_generator.state = saved["draws"]
        return sampler
