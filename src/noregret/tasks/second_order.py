"""Classification by learners that know how sure they are: the variance of a margin, intervals, abstention."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import NormalDist
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..algorithm.params import Range
from ..algorithm.rounds import SEEN
from ..engine import compiling
from ..inputs import checking
from ..inputs.checking import Rows
from ..inputs.features import is_dicts, stacked
from ..learners.drivers import drivers
from ..learners.model import Model
from ..spaces.covariance import Full, margin
from .classification import Classifier

REJECT = Range(0.5, 1.0, "[)")
LEVEL = Range(0.0, 1.0)


def mean_row(s: Any, x: Any, p: Any) -> Any:
    """Return the mean of the margin, mu.x."""
    return margin(s[0], s[1], x)[0]


def variance_row(s: Any, x: Any, p: Any) -> Any:
    """Return the variance of the margin, x'Sigma x."""
    return margin(s[0], s[1], x)[1]


class Margins(NamedTuple):
    """Rows as a model sees them: the scores it answers by, and mean and variance of their margins, a column per class or one."""

    f: np.ndarray
    mean: np.ndarray
    variance: np.ndarray


class SecondOrder(Classifier):
    """A classifier whose state has a mean and a covariance, in its first two fields."""

    without: ClassVar[tuple[str, ...]] = ("average",)

    # ---- the covariance ----------------------------------------------------------------------------------------------
    @property
    def covariance_(self) -> np.ndarray:
        """The variances of the weights as `coef_` has them (the constant feature last), or full matrices, one for each class."""
        m = self.sound()
        S, n = m.state[1], m.features.size
        order = self._in_order(m.features.constant if m.features.bias else None, n)
        if isinstance(S, Full):
            found: np.ndarray = S.matrices()[:, order[:, None], order][self._by_class()]
            return found
        return S.variances().reshape(-1, m.dims["class"])[order].T[self._by_class()]

    def confidence_of_weights(self) -> np.ndarray:
        """Return the standard deviation of each weight, as `coef_` has them: small where the learner is sure."""
        m = self.sound()
        v = m.state[1].variances().reshape(-1, m.dims["class"])[: m.features.size].astype(np.float64)
        v = np.delete(v, m.features.constant, axis=0) if m.features.bias else v
        return np.sqrt(np.atleast_2d(self._spread(m, v).T))

    def sound(self) -> Model:
        """Return the model, unless rounding has made its covariance one that no weights can have."""
        m = self.model
        v = m.state[1].variances()
        if not (v >= 0.0).all() or not np.isfinite(v).all():
            worst = v[~((v >= 0.0) & np.isfinite(v))][0]
            raise ValueError(
                f"the covariance of this {type(self).__name__} is no longer positive definite (it has a variance of {worst:g}): "
                "rounding took over after very many or very long rows. Scale the rows, use covariance='diag' or dtype='float64', "
                "or smaller steps (a larger r of AROW, a smaller C or eta of the others)."
            )
        return m

    def _by_class(self) -> Any:
        """Return the codes in the order of `classes_`, for rows per class."""
        m = self.model
        assert m.labels is not None
        return m.labels.order if m.many else [0]

    @staticmethod
    def _in_order(constant: int | None, n: int) -> np.ndarray:
        """Return the coordinates in use, the constant one last."""
        at = np.arange(n)
        return at if constant is None else np.append(np.delete(at, constant), constant)

    # ---- how sure it is of a row ---------------------------------------------------------------------------------------
    def confidence(self, X: Any) -> np.ndarray:
        """Return the variance x'Sigma x of the margin of each row: per class in the order of `classes_`, one with two classes.

        Small where the learner is sure. A feature never learned from has the variance it would start with.
        """
        m = self.sound()
        return self._spread(m, self.variance_of(m, *self.rows_seen(m, X)))

    def margin_interval(self, X: Any, level: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
        """Return (low, high) of the margin mu.x of each row, which is inside with probability `level` if the Gaussian is right.

        Shaped as `decision_function`; its score is the middle, but for SOP and NAROW, which divide mu.x by a positive number.
        """
        m = self.sound()
        at = self._margins(m, X)
        reach = NormalDist().inv_cdf(0.5 + LEVEL.check("level", level) / 2.0) * np.sqrt(self._spread(m, at.variance))
        middle = self.task.margins(m, at.mean)
        return middle - reach, middle + reach

    def predict(self, X: Any, reject: float | None = None, reject_label: Any = None) -> np.ndarray:
        """Return the label of each row; with `reject`, `reject_label` where the learner is less sure than that.

        It is sure with probability Phi(m/sqrt(v)), where m is the margin over the best rival and v its variance: at least 1/2, so
        `reject` is in [0.5, 1). Then the array is one of objects. The probability is the learner's own belief, which noise makes
        too large: choose `reject` by what it does on rows not learned from.
        """
        return super().predict(X) if reject is None else self.sure(X, reject, reject_label)

    def sure(self, X: Any, reject: float, reject_label: Any = None) -> np.ndarray:
        """Return the label of each row, `reject_label` where the learner is less sure than `reject`; X may be checked rows."""
        limit, m = REJECT.check("reject", reject), self.sound()
        assert m.labels is not None
        at = self._margins(m, X)
        picked = self.task.codes(m, at.f)
        predicted = m.labels.array()[picked].astype(object)
        predicted[self._right(m, at, picked) < limit] = reject_label
        return predicted

    def predict_one(self, x: Any, reject: float | None = None, reject_label: Any = None) -> Any:
        """Return the label of one example, or `reject_label` where the learner is less sure than `reject` (see `predict`)."""
        if reject is None:
            return super().predict_one(x)
        limit, m = REJECT.check("reject", reject), self._ready(x)
        if not m.tally[SEEN]:
            return None
        at = self._margins(m, [x] if isinstance(x, Mapping) else np.reshape(x, (1, -1)))
        unsure = self._right(m, at, self.task.codes(m, at.f))[0] < limit
        return reject_label if unsure else self.task.answer(m, at.f[0])

    def _ready(self, x: Any) -> Model:
        """Return the model, or what one that begins with x would be; a diagonal is not looked through for one example."""
        if not self.started:
            return self.new_model(None if isinstance(x, Mapping) else checking.one_row(x))
        return self.sound() if isinstance(self.model.state[1], Full) else self.model

    def _right(self, m: Model, at: Margins, picked: np.ndarray) -> np.ndarray:
        """Return the probability that the class picked beats its best rival."""
        from scipy.special import ndtr

        assert m.labels is not None
        if not m.many:
            gap, v = np.where(picked == m.labels.positive, 1.0, -1.0) * at.mean[:, 0], at.variance[:, 0]
        elif m.tally[SEEN] < 2:
            return np.full(len(picked), 0.5)
        else:
            rows, rest = np.arange(len(picked)), at.mean[:, : int(m.tally[SEEN])].copy()
            rest[rows, picked] = -np.inf
            rival = rest.argmax(1)
            gap = at.mean[rows, picked] - rest[rows, rival]
            v = at.variance[rows, picked] + at.variance[rows, rival]
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(gap == 0.0, 0.5, ndtr(gap / np.sqrt(v)))

    # ---- in the places of the model ------------------------------------------------------------------------------------
    def _margins(self, m: Model, X: Any) -> Margins:
        """Return scores and margins."""
        rows, new = self.rows_seen(m, X)
        f = m.score(rows)
        return Margins(f, f if self.score_row is None else self._measure(m, rows, mean_row), self.variance_of(m, rows, new))

    def rows_seen(self, m: Model, X: Any) -> tuple[Rows, np.ndarray]:
        """Return X in the places of the model, and the squared length of what was left out as never learned from."""
        if is_dicts(X):
            rows = stacked(m.features, X, grow=False)
            whole = np.array([sum(float(v) ** 2 for v in x.values()) for x in X])
        else:
            given = X if isinstance(X, Rows) else self.check_rows(X)
            rows, whole = self.place(m, given, grow=False), squares(given)
        if not m.features.grows:
            return rows, np.zeros(rows.n)
        new = whole - squares(rows)
        return rows, np.where(new > 1e-12 * whole, new, 0.0)

    def variance_of(self, m: Model, rows: Rows, new: np.ndarray) -> np.ndarray:
        """Return the variance of each row, by code."""
        S, p = m.state[1], m.params
        first = getattr(p, "variance", p.a) * (S.g if isinstance(S, Full) else np.ones(m.dims["class"]))
        found: np.ndarray = self._measure(m, rows, variance_row) + np.multiply.outer(new, first)
        return found

    def _measure(self, m: Model, rows: Rows, of: Any) -> np.ndarray:
        """Return a number for each row and class, by a separate compiled loop."""
        job = m.job(name=f"{type(self).name}_{of.__name__}", step=of, score=of, share=None, labelled=True)
        loop = drivers(job, rows.layout, False)
        args = list(m.args)
        for i in m.scratch:
            args[i] = np.zeros_like(args[i])
        out = np.empty((rows.n, m.dims["class"]))
        try:
            loop.predict(*args, *rows.arrays, out)
        except Exception as e:
            raise compiling.plainly(e, of) from None
        return out

    def _spread(self, m: Model, v: np.ndarray) -> np.ndarray:
        """Return variances by code in the order of `classes_`; with two classes, one: that of their difference."""
        assert m.labels is not None
        if not m.many:
            return v[:, 0]
        v = v[:, m.labels.order]
        return v.sum(1) if len(m.labels) == 2 else v


def squares(rows: Rows) -> np.ndarray:
    """Return the squared length of each row."""
    if rows.layout == "dense":
        return np.einsum("ij,ij->i", rows.arrays[0], rows.arrays[0], dtype=np.float64)
    indptr, _, data = rows.arrays
    values = data[indptr[0] : indptr[-1]].astype(np.float64)
    return np.bincount(np.repeat(np.arange(rows.n), np.diff(indptr)), values * values, rows.n)
