"""Recursive least squares: ridge regression kept exact as examples are added, removed and forgotten, O(d^2) an example.

The inverse of X'X + ridge is P = g M'M, kept by its root M: h = M x, u = M'h, v = x'Px = g h.h. To add an example with weight k
(to remove one, weight -k), with e = y - w.x and q = 1 + k v: w += (k e/q) P x, M -= k g h u'/(q + sqrt(q)), loss += k e^2/q.
P cannot lose its symmetry or become indefinite, however many rounds there are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from numpy import ndarray

from ..algorithm.params import Optional, Positive, Share
from ..algorithm.rounds import EXAMPLES, UPDATES
from ..algorithm.state import Number, Slot
from ..engine.elementary import power
from ..engine.words import rare, strict, word
from ..inputs.checking import Rows, refuse_not_finite, sample_weights, where_not_finite
from ..inputs.features import is_dicts, stacked
from ..learners.drivers import drivers
from ..learners.learner import Progress
from ..learners.model import Model
from ..learners.natural_coordinates import sums_of_squares
from ..spaces.examples import importance, item, nnz
from ..spaces.weights import dot, norm2, null
from ..tasks.regression import Regressor

CAP = 1e6  # the largest variance, in units of the first one, before forgetting stops (wind-up)
SAFE = 1e-8  # a removal with q below this loses half of the digits
SAFER = 1e-5  # where the kept rows can be learned again
LESS = 1e-6  # a share of the loss that may be rounding
AGAIN = 100  # a window learns its rows again after AGAIN times its length, which takes 1% of the time
FAR = 1e100  # a multiplier beyond this is put in

Targets = Annotated[Any, Slot(("target",), dtype=np.float64)]
Scratch = Annotated[Any, Slot(("feature",), dtype=np.float64, scratch=True)]
Whole = Annotated[Any, Slot((), dtype=np.int64, merge="keep")]
Stamps = Annotated[Any, Slot(("row",), dtype=np.int64)]


class State(NamedTuple):
    """Weights for each target, the root of P, the loss, and the rows of the window."""

    W: Annotated[Any, Slot(("target", "feature"), dtype=np.float64)]
    M: Annotated[Any, Slot(("feature", "feature"), 1.0, np.float64, eye=True)]
    g: Annotated[Any, Slot((), 1.0, np.float64)]
    known: Annotated[Any, Slot(("feature",), dtype=np.uint8)]  # which features were ever seen; M is the identity for others
    size: Whole  # how many of them
    loss: Targets
    n: Annotated[Any, Slot((), dtype=np.float64, merge="sum")]  # examples, weighted and discounted
    age: Whole  # rounds that forgot
    top: Number  # no less than the trace of P over the known features
    rows: Annotated[Any, Slot(("row", "feature"), dtype=np.float64)]
    ends: Annotated[Any, Slot(("row",), dtype=np.int64, most="feature")]  # a row has no coordinates from here on
    y: Annotated[Any, Slot(("row", "target"), dtype=np.float64)]
    c: Annotated[Any, Slot(("row",), dtype=np.float64)]  # weights; 0 for a row that was removed
    born: Stamps
    at: Annotated[Any, Slot(("two",), dtype=np.int64)]  # rows ever kept; rows since all of them were learned again
    h: Scratch
    u: Scratch
    f: Annotated[Any, Slot(("target",), dtype=np.float64, scratch=True)]

    fuse = sums_of_squares


class Params(NamedTuple):
    """RLS."""

    ridge: Positive = 1.0
    forgetting: Share = 1.0
    window: Optional = None

    def check(self) -> None:
        """Refuse half a row."""
        if self.window != int(self.window):
            raise ValueError(f"window must be None or a whole number of rows, got {self.window!r}")


# ---- targets: one number, or a row of them which comes back as the predictions -----------------------------------------
@word
def target(y, c):
    """Return target c."""


@word
def say(y, c, f):
    """Put the prediction of target c in its place."""


@target.on(object)
def target_any(y, c):
    return y


@target.on(ndarray)
def target_array(y, c):
    return y[c]


@say.on(object)
def say_any(y, c, f):
    pass


@say.on(ndarray)
def say_array(y, c, f):
    y[c] = f


# ---- the update --------------------------------------------------------------------------------------------------------
@strict
def sumsq(a):
    q = 0.0
    for i in range(a.shape[0]):
        q += a[i] * a[i]
    return q


def plus(u, a, v):
    """Do u += a v."""
    for j in range(u.shape[0]):
        u[j] += a * v[j]


@strict
def gain(s, x):
    """Do f = W x, h = M x and u = M'h; return x'Px."""
    for c in range(s.f.shape[0]):
        s.f[c] = dot(s.W[c], x)
    for j in range(s.u.shape[0]):
        s.u[j] = 0.0
    for i in range(s.h.shape[0]):
        t = dot(s.M[i], x)
        s.h[i] = t
        if t != 0.0:
            plus(s.u, t, s.M[i])
    return s.g[0] * sumsq(s.h)


@rare
@strict
def fold(s, y, k, v):
    """Add the example that `gain` has seen with weight k, or remove it with weight -k."""
    g, q = s.g[0], 1.0 + k * v
    for c in range(s.f.shape[0]):
        e = target(y, c) - s.f[c]
        s.loss[c] = max(s.loss[c] + k * e * e / q, 0.0)
        plus(s.W[c], k * e / q * g, s.u)
    b = k * g / (q + math.sqrt(q))
    for i in range(s.h.shape[0]):
        a = -b * s.h[i]
        if a != 0.0:
            plus(s.M[i], a, s.u)
    s.n[0] = max(s.n[0] + k, 0.0)
    if k < 0.0:
        s.top[0] -= k * g * g * sumsq(s.u) / q


def left(s, p):
    """Return what is left of the ridge."""
    return p.ridge * max(power(p.forgetting, float(s.age[0])), 1.0 / CAP)


@rare
@strict
def remove(s, x, y, k, safe, p):
    """Remove an example of weight k; return whether that can be done with accuracy, and is."""
    v = gain(s, x)
    q, r = 1.0 - k * v, left(s, p)
    if q < max(safe, 0.5 * r / (r + k * norm2(s.W, x))):
        return False
    for c in range(s.f.shape[0]):
        e = target(y, c) - s.f[c]
        if k * e * e / q - s.loss[c] > LESS * s.loss[c]:
            return False
    fold(s, y, -k, v)
    return True


# ---- forgetting ----------------------------------------------------------------------------------------------------------
@strict
def meet(s, x, p):
    """Give features that are new their first variance."""
    for k in range(nnz(x)):
        j, v = item(x, k)
        if v != 0.0 and s.known[j] == 0:
            s.known[j] = 1
            s.size[0] += 1
            s.M[j, j] = 1.0 / math.sqrt(left(s, p) * s.g[0])
            s.top[0] += 1.0 / left(s, p)


@strict
def trace(s):
    """Return the trace of P over the known features, whatever the room for others."""
    q = 0.0
    for i in range(s.known.shape[0]):
        if s.known[i] != 0:
            for j in range(s.known.shape[0]):
                if s.known[j] != 0:
                    q += s.M[i, j] * s.M[i, j]
    return s.g[0] * q


@rare
@strict
def fade(s, p):
    """Divide P by the forgetting factor, unless it has grown without bound where no examples come."""
    limit = CAP * s.size[0] / p.ridge
    if s.top[0] > limit:
        s.top[0] = trace(s)
    if s.top[0] <= limit:
        s.age[0] += 1
        s.g[0] /= p.forgetting
        s.top[0] /= p.forgetting
        s.n[0] *= p.forgetting
        for c in range(s.loss.shape[0]):
            s.loss[c] *= p.forgetting
    if s.g[0] > FAR:
        root = math.sqrt(s.g[0])
        for i in range(s.M.shape[0]):
            for j in range(s.M.shape[0]):
                s.M[i, j] *= root
        s.g[0] = 1.0


# ---- the window ----------------------------------------------------------------------------------------------------------
def keep(s, x, y, i, p):
    """Keep an example in slot i."""
    for j in range(s.ends[i]):
        s.rows[i, j] = 0.0
    s.ends[i] = 0
    for k in range(nnz(x)):
        j, v = item(x, k)
        s.rows[i, j] = v
        s.ends[i] = max(s.ends[i], int(j) + 1)
    for c in range(s.f.shape[0]):
        s.y[i, c] = target(y, c)
    s.c[i] = importance(x)
    s.born[i] = s.age[0]


def weight(s, i, p):
    """Return what is left of the weight of slot i."""
    return s.c[i] * power(p.forgetting, float(s.age[0] - s.born[i]))


@rare
@strict
def again(s, p):
    """Learn the rows of the window from the start."""
    n = s.rows.shape[0]
    s.g[0] = 1.0 / left(s, p)
    for i in range(s.M.shape[0]):
        for j in range(s.M.shape[0]):
            s.M[i, j] = 0.0
        s.M[i, i] = 1.0
    for c in range(s.f.shape[0]):
        s.loss[c] = 0.0
        for j in range(s.u.shape[0]):
            s.W[c, j] = 0.0
    s.n[0] = 0.0
    s.at[1] = 0
    s.top[0] = s.size[0] * s.g[0]
    for t in range(max(s.at[0] - n + 1, 0), s.at[0]):
        i = t % n
        if s.c[i] > 0.0:
            v = gain(s, s.rows[i, : s.ends[i]])
            fold(s, s.y[i], weight(s, i, p), v)


@rare
def slide(s, p):
    """Remove the row that falls out of the window."""
    n = s.rows.shape[0]
    s.at[0] += 1
    s.at[1] += 1
    i = s.at[0] % n
    lost = False
    if s.at[0] >= n and s.c[i] > 0.0:
        lost = not remove(s, s.rows[i, : s.ends[i]], s.y[i], weight(s, i, p), SAFER, p)
        s.c[i] = 0.0
    if lost or (p.forgetting == 1.0 and s.at[1] >= AGAIN * n):  # with forgetting, rounding errors fade by themselves
        again(s, p)


# ---- steps ---------------------------------------------------------------------------------------------------------------
@strict
def learn(s, x, y, p):
    if null(s.W, x):
        for c in range(s.f.shape[0]):
            say(y, c, 0.0)
        return 0.0, False
    meet(s, x, p)
    if p.forgetting < 1.0:
        fade(s, p)
    v = gain(s, x)
    f = s.f[0]
    moved = False
    for c in range(s.f.shape[0]):
        moved |= target(y, c) != s.f[c]
    fold(s, y, importance(x), v)
    if p.window > 0.0:
        keep(s, x, y, s.at[0] % s.rows.shape[0], p)
    for c in range(s.f.shape[0]):
        say(y, c, s.f[c])
    if p.window > 0.0:
        slide(s, p)
    return f, moved


def unlearn(s, x, y, p):
    """Remove an example; the answer is whether that was possible. Its slot in a window is empty by now."""
    if null(s.W, x):
        return 0.0, True
    if remove(s, x, y, importance(x), SAFER if p.window > 0.0 else SAFE, p):
        return 0.0, True
    if p.window > 0.0:
        again(s, p)
        return 0.0, True
    return 0.0, False


def first(s, x, p):
    return dot(s.W[0], x)


def sizes(p: Any) -> dict[str, int]:
    """Return the axes of targets and of kept rows."""
    return {"target": 1, "row": int(p.window) + 1 if p.window else 0}


def first_row(s: Any, p: Any) -> np.ndarray:
    """Return the weights of the first target."""
    return s.W[0]


class RLS(Regressor):
    """Recursive least squares: after every example the weights are those of ridge regression on all of them, exactly.

    They minimise sum (y - w.x)^2 + ridge |w|^2 (the constant feature is one of the weights). O(d^2) time an example, O(d^2) memory.

    Parameters: `ridge` > 0; `forgetting` in (0, 1], the factor by which the past counts less in each round (0.95 to 0.999 for
    drift; the memory is about 1/(1 - forgetting) examples, and the ridge fades too); `window`, the number of last rows to
    learn from (they are kept, d numbers each). A sample weight multiplies the squared error: 3 is three repeats.

    `forget_one(x, y)` removes an example as if it had never come. `loss_` is the minimum itself. `predict_interval(X, level)` says
    where targets will be. y may have several columns: they share P, and cost O(d) each. `covariance_` is P.

    Pitfalls: d^2 numbers are kept; a thousand features are fine, a hundred thousand are not. A row of zeros (without the constant
    feature) neither teaches nor forgets. While P has grown by 10^6, for want of examples in some direction, nothing is forgotten.
    Merging is exact; there is none with forgetting or a window.

    Numbers: P is kept by a square root, so that it stays symmetric and positive; a window learns its rows again now and then.
    Relative error of the worst weight after 10^7 rounds of 5 features: 2e-13, and 3e-12 where the condition of X'X is 10^6
    (benchmarks/least_squares.py). The usual form is as good there; the root pays where ridge is far below |x|^2.

    Plackett (1950), *Some theorems in least squares*; the root: Potter (1963), the removal: Bennett (1965).

    >>> m = RLS(fit_intercept=False).partial_fit([[1, 2, 0], [0.5, -1, 1]], [1.0, -0.5])
    >>> m.coef_.round(4).tolist()
    [0.1014, 0.3768, -0.087]
    >>> round(m.learn_one([-1, 0.5, 2], 0.5), 4)
    -0.087
    >>> m.forget_one([-1, 0.5, 2], 0.5).coef_.round(4).tolist()
    [0.1014, 0.3768, -0.087]
    """

    name = "rls"
    cite = "plackett1950"
    State, Params, step, score_row, primal, sizes = State, Params, learn, first, first_row, sizes
    formerly: ClassVar[dict[str, str]] = {"target": "cell", "row": "slot"}
    without: ClassVar[tuple[str, ...]] = ("average",)
    merges = "exact"

    @property
    def merging(self) -> str:
        """How two of these are merged: not at all where the order of the rows counts."""
        return "none" if self.forgetting != 1.0 or self.window is not None else self.merges

    # ---- sizes, targets ----------------------------------------------------------------------------------------------------
    def targets(self, y: Any, n: int) -> np.ndarray:
        """Return targets, or rows of them."""
        Y = np.asarray(y) if y is not None and not hasattr(y, "tocsr") else np.empty(0)
        if Y.ndim != 2 or Y.shape[1] == 1:
            Y = super().targets(y, n)
        elif len(Y) != n:
            raise ValueError(f"X and y have inconsistent lengths: {n} rows and {len(Y)} targets")
        else:
            Y = np.ascontiguousarray(Y, np.float64)
            if not np.isfinite(Y).all():
                at, found = where_not_finite(Y)
                refuse_not_finite("y", at // Y.shape[1], at % Y.shape[1], found)
        columns, m = 1 if Y.ndim == 1 else Y.shape[1], self.held
        if m is not None and m.dims["target"] != columns:
            raise ValueError(f"expected {m.dims['target']} target(s) a row, as at first, got {columns}")
        if columns > 1 and self.coverage is not None:
            raise ValueError(f"coverage={self.coverage} is for one target a row, got {columns}")
        return Y

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **given: Any) -> RLS:
        """Forget, then learn from all rows (see `Learner.fit`)."""
        was = self.held
        self.model = None  # the number of targets is free again
        try:
            return super().fit(X, y, sample_weight, **given)
        except BaseException:
            self.model = was
            raise

    def _run(self, m: Model, rows: Rows, y: np.ndarray, c: np.ndarray | None) -> list[Progress]:
        if y.ndim == 1:
            return super()._run(m, rows, y, c)
        if m.tally[EXAMPLES] == 0:
            m.resize(target=y.shape[1])
        said = y.copy()  # the step puts its predictions there
        done = 0
        for i in [*(np.flatnonzero(c == 0.0) if c is not None else ()), rows.n]:
            if i > done:
                m.learn(rows.cut(done, i), said[done:i], None if c is None else c[done:i])
            if i < rows.n:
                said[i] = (self._matrix(m, rows.cut(i, i + 1)) @ m.state.W[:, : m.features.size].T)[0]
            done = i + 1
        return [Progress(said, y)]

    def learn_many(self, X: Any, y: Any = None, sample_weight: Any = None) -> np.ndarray:
        """Predict, then learn, on each row in order; return the predictions from before each update."""
        if is_dicts(X):
            if self.targets(y, len(X)).ndim == 2:
                raise ValueError("several targets need rows of arrays: pass X as an array, a sparse matrix or a frame")
            return super().learn_many(X, y, sample_weight)
        rows = self.check_rows(X)
        f = np.concatenate([piece.f for piece in self.learn_rows(rows, y, sample_weights(sample_weight, rows.n))])
        return f[:, 0] if f.shape[1] == 1 else f

    def learn_one(self, x: Any, y: Any = None, w: float = 1.0) -> Any:
        """Learn one example with weight w; return the prediction made before."""
        if np.ndim(y) == 0 or isinstance(x, Mapping):
            return super().learn_one(x, y, w)
        return self.learn_many(np.reshape(x, (1, -1)), np.reshape(y, (1, -1)), [w])[0]

    def forget_one(self, x: Any, y: Any, w: float = 1.0, age: int = 0) -> RLS:
        """Remove an example as if it had never come: x, y and w as they were learned, `age` rounds ago if there is forgetting.

        A window knows the ages itself, and removes the oldest row that is equal. An example that cannot have been learned, or one
        that cannot be removed with accuracy, is an error that leaves everything as it was.
        """
        m = self.model
        t = self.targets([y], 1)
        idx, values = m.features.row(x, False)
        if isinstance(x, Mapping) and len(values) < len(x):
            raise ValueError("the example cannot be forgotten: some of its features were never learned from")
        c, slot = (
            self._slot(m, idx, values, t.reshape(-1), w) if m.params.window else (w * power(m.params.forgetting, float(age)), -1)
        )
        job = m.job(name="rls_forget", step=unlearn)
        rows = (np.array([0, len(idx)]), np.ascontiguousarray(idx, np.uint32), np.ascontiguousarray(values, np.float64))
        tally = np.zeros_like(m.tally)
        if slot >= 0:
            m.state.c[slot] = 0.0
        drivers(job, "csr", True).learn(*m.args, *rows, np.array([c]), t, tally, m.work, np.empty((1, 1)))
        if tally[UPDATES] == 0:
            raise ValueError(
                "the example cannot be forgotten: P would not stay positive, or the loss. Either it was not learned with these x, "
                "y and w, or too little is left without it to compute the weights: window= keeps rows, a larger ridge helps too."
            )
        m.tally[EXAMPLES] -= 1
        return self

    @staticmethod
    def _slot(m: Model, idx: np.ndarray, values: np.ndarray, t: np.ndarray, w: float) -> tuple[float, int]:
        """Return what the weight of an example in the window has become, and its slot."""
        s = m.state
        x = np.zeros(m.dims["feature"])
        x[idx] = values
        if m.features.bias:
            x[m.features.constant] = 1.0
        same = (s.rows == x).all(1) & (s.y == t).all(1) & (s.c == w) & (w > 0.0)
        found = np.flatnonzero(same)
        if not found.size:
            raise ValueError("the example cannot be forgotten: no row of the window has these x, y and w")
        slot = int(found[np.argmin((found - s.at[0]) % len(s.c))])
        return float(weight(s, slot, m.params)), slot

    # ---- answers -----------------------------------------------------------------------------------------------------------
    @staticmethod
    def _matrix(m: Model, rows: Rows) -> Any:
        """Return rows in the coordinates of the model, the constant feature included."""
        n, size = rows.n, m.features.size
        if rows.layout == "dense":
            return np.column_stack([rows.arrays[0], np.ones(n)]) if m.features.bias else rows.arrays[0]
        from scipy.sparse import csr_array

        indptr, indices, data = rows.arrays
        start, stop = int(indptr[0]), int(indptr[-1])
        Z = csr_array((data[start:stop].astype(np.float64), indices[start:stop].astype(np.int64), indptr - start), shape=(n, size))
        return Z + csr_array((np.ones(n), (range(n), [m.features.constant] * n)), shape=(n, size)) if m.features.bias else Z

    def _answer(self, X: Any) -> tuple[Any, np.ndarray]:
        """Return the rows as a matrix, and the predictions, a column for each target."""
        m = self.model
        rows = stacked(m.features, X, grow=False) if is_dicts(X) else self.place(m, self.check_rows(X), grow=False)
        Z = self._matrix(m, rows)
        return Z, Z @ m.state.W[:, : m.features.size].T

    def predict(self, X: Any) -> np.ndarray:
        """Return the prediction for each row: a number, or a row of them when there are several targets."""
        return super().predict(X) if self.model.dims["target"] == 1 else self._answer(X)[1]

    def predict_one(self, x: Any) -> Any:
        """Return the prediction for one example."""
        if not self.started or self.model.dims["target"] == 1:
            return super().predict_one(x)
        return self.predict([x] if isinstance(x, Mapping) else np.reshape(x, (1, -1)))[0]

    def predict_interval(self, X: Any, level: float | None = None) -> np.ndarray:
        """Return, for each row (and target), the ends of the interval that holds a new target with probability `level`, 0.95.

        With `coverage=` and no level, those of every regressor, which hold it as often on any sequence. Otherwise
        f -+ t sqrt(noise (1 + x'Px)), t a quantile of Student's distribution with as many degrees of freedom as there are
        examples: the posterior of a linear model with normal noise and a normal prior of variance noise/ridge on each weight.
        """
        from scipy.special import stdtrit

        if level is None and self.coverage is not None:
            return self._predict_interval(X)
        level = 0.95 if level is None else level
        if not 0.0 < level < 1.0:
            raise ValueError(f"level must be in (0, 1), got {level!r}")
        Z, f = self._answer(X)
        v = np.square(Z @ self._root().T).sum(1)
        half = stdtrit(self._count(), 0.5 + level / 2) * np.sqrt(np.outer(1.0 + v, self.noise_))
        ends = np.stack([f - half, f + half], axis=2)
        return ends[:, 0] if ends.shape[1] == 1 else ends

    def _count(self) -> float:
        return max(float(self.model.state.n[0]), 1e-9)

    def _root(self) -> np.ndarray:
        """Return R with P = R'R, over the coordinates in use."""
        m = self.model
        s, d = m.state, m.features.size
        R: np.ndarray = s.M[:d, :d] * math.sqrt(s.g[0])
        new = np.flatnonzero(s.known[:d] == 0)
        R[new, new] = 1.0 / math.sqrt(left(s, m.params))
        return R

    @property
    def covariance_(self) -> np.ndarray:
        """P, the inverse of X'X + ridge, in the order of `coef_` with the constant feature last."""
        m = self.model
        at = np.arange(m.features.size)
        if m.features.bias:
            at = np.append(np.delete(at, m.features.constant), m.features.constant)
        R = self._root()[:, at]
        return R.T @ R

    @property
    def loss_(self) -> Any:
        """The minimum of the sum of squared errors and the ridge term: a number, or one for each target."""
        loss = self.model.state.loss
        return float(loss[0]) if len(loss) == 1 else loss.copy()

    @property
    def noise_(self) -> Any:
        """The variance of the noise: the loss by the examples there are, weighted and discounted."""
        return self.loss_ / self._count()

    @property
    def coef_(self) -> np.ndarray:
        """The weights, a row for each target if there are several."""
        w = self._all_weights()[0]
        return w[0] if len(w) == 1 else w

    @property
    def intercept_(self) -> Any:
        """The weight of the constant feature, one for each target if there are several."""
        b = self._all_weights()[1]
        return float(b[0]) if len(b) == 1 else b

    def _all_weights(self) -> tuple[np.ndarray, np.ndarray]:
        m = self.model
        w = m.state.W[:, : m.features.size].copy()
        if not m.features.bias:
            return w, np.zeros(len(w))
        return np.delete(w, m.features.constant, axis=1), w[:, m.features.constant].copy()

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R^2, the share of the variance of y that is explained; the mean over several targets."""
        if self.model.dims["target"] == 1:
            return super().score(X, y, sample_weight)
        F, Y = self.predict(X), np.asarray(y, np.float64)
        c = np.ones(len(Y)) if sample_weight is None else np.asarray(sample_weight, np.float64)
        rest, spread = c @ (Y - F) ** 2, c @ (Y - np.average(Y, axis=0, weights=c)) ** 2
        return float(np.mean(np.where(spread > 0.0, 1.0 - rest / np.where(spread > 0.0, spread, 1.0), rest == 0.0)))
