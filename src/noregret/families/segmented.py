"""Segmented least squares: how many lines (or polynomials) a curve is made of, and where each begins. Exact, point by point.

Bellman (1961), *On the approximation of curves by line segments using dynamic programming*. With e(j, i) the residual sum of the
best line through points j ... i and a price p for each line, OPT(i) = min over j <= i of OPT(j-1) + e(j, i) + p. Every start j that
is still in the running keeps a triangular factor of its points, to which point i is added by Givens rotations: nothing cancels, and
the residual sum grows by the square of what is left over.

A start is deleted for good once OPT(j-1) + e(j, k) > OPT(k). Proof: a line through j ... i is also one through j ... k and one
through k+1 ... i, so e(j, i) >= e(j, k) + e(k+1, i), and for every i > k OPT(j-1) + e(j, i) + p > OPT(k) + e(k+1, i) + p: the
start k+1 is better. (Killick, Fearnhead, Eckley 2012, theorem 3.1, with K = 0; no other condition is needed.)
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.polynomial import Polynomial, polynomial

from ..engine.compiling import compiled
from ..engine.elementary import hypot
from ..learners.base import NotLearnedError

TIE = 1e-9  # costs nearer than this, relative to 1 + cost, are equal: the longer last segment wins


def rotate(R, z, v, r):
    """Add the row v with right-hand side r to the triangular R, z; return what is left of r."""
    for a in range(v.shape[0]):
        if v[a] == 0.0:
            continue
        if R[a, a] == 0.0:  # a direction that is new: no point is left over
            for b in range(a, v.shape[0]):
                R[a, b] = v[b]
            z[a] = r
            return 0.0
        h = hypot(R[a, a], v[a])
        c, s = R[a, a] / h, v[a] / h
        for b in range(a, v.shape[0]):
            R[a, b], v[b] = c * R[a, b] + s * v[b], c * v[b] - s * R[a, b]
        z[a], r = c * z[a] + s * r, c * r - s * z[a]
    return r


def advance(x, y, w, penalty, begin, end, start, R, z, e, opt, back, v, counts):
    """Take in points begin ... end - 1; counts are the starts still in the running and the pairs (start, point) evaluated."""
    k = v.shape[0]
    live = counts[0]
    for i in range(begin, end):
        start[live] = i
        e[live] = 0.0
        for a in range(k):
            z[live, a] = 0.0
            for b in range(k):
                R[live, a, b] = 0.0
        live += 1
        counts[1] += live
        best = math.inf
        root = math.sqrt(w[i])
        for c in range(live):
            j = start[c]
            t = root
            for a in range(k):
                v[a] = t
                t *= x[i] - x[j]
            left = rotate(R[c], z[c], v, root * (y[i] - y[j]))
            e[c] += left * left
            best = min(best, opt[j] + e[c] + penalty)
        opt[i + 1] = best
        back[i + 1] = -1
        kept = 0
        for c in range(live):
            cost = opt[start[c]] + e[c]
            if back[i + 1] < 0 and cost + penalty <= best + TIE * (1.0 + best):
                back[i + 1] = start[c]
            if cost <= best + TIE * (1.0 + best):
                if kept < c:
                    start[kept], e[kept] = start[c], e[c]
                    for a in range(k):
                        z[kept, a] = z[c, a]
                        for b in range(a, k):
                            R[kept, a, b] = R[c, a, b]
                kept += 1
        live = kept
    counts[0] = live


class Segment(NamedTuple):
    """One piece: points start ... stop - 1, from x = left to x = right; coef in powers of x - left."""

    start: int
    stop: int
    left: float
    right: float
    coef: np.ndarray

    def __call__(self, x: Any) -> Any:
        """Return the value at x."""
        return polynomial.polyval(np.asarray(x, np.float64) - self.left, self.coef)

    @property
    def polynomial(self) -> Polynomial:
        """The piece as a polynomial in x: for a line, `.coef` is (intercept, slope)."""
        found: Polynomial = Polynomial(self.coef)(Polynomial([-self.left, 1.0]))
        return found


class SegmentedLeastSquares:
    """Segmented least squares: the pieces that minimise the residual sum of squares plus a penalty for each piece, exactly.

    min over all ways to cut points 1 ... N into runs of sum over runs of (residual sum of its best polynomial + penalty).

    Parameters: `penalty` > 0, the price of one more piece (small: more pieces; 2 to 4 times the variance of the noise times log N
    is a start); `degree` of the pieces: 0 steps, 1 lines, 2 parabolas, ... A sample weight multiplies the squared residual.

    Points come in order of x, one at a time (`add`) or many (`partial_fit`); any split gives the same. A point costs as many steps
    as there are starts in the running: few once pieces end, up to all N on one line that never bends.

    `segments_` are the pieces, `cost_` the minimum, `costs_` the minimum for the first 0, 1, ... points, `predict(x)` the curve,
    `plot()` a picture (needs matplotlib).

    Pitfalls: equal x are refused: merge them into their mean, with the sum of the weights. A piece of degree + 1 points or fewer
    fits exactly, so with a penalty near 0 every few points become a piece. Pieces need not meet.

    Bellman (1961); the deletions: Killick, Fearnhead, Eckley (2012), theorem 3.1.

    >>> m = SegmentedLeastSquares(penalty=0.5)
    >>> m = m.fit(range(1, 9), [1, 2.1, 2.9, 4, 3.5, 3.1, 2.4, 2])
    >>> [(s.start, s.stop, s.polynomial.coef.round(2).tolist()) for s in m.segments_]
    [(0, 3, [0.1, 0.95]), (3, 8, [6.06, -0.51])]
    >>> round(m.cost_, 6)
    1.034
    """

    def __init__(self, penalty: float = 1.0, degree: int = 1) -> None:
        if isinstance(penalty, (str, bool)) or not 0.0 < float(penalty) < math.inf:
            raise ValueError(f"penalty must be in (0, inf), got {penalty!r}")
        if isinstance(degree, bool) or degree != int(degree) or not 0 <= degree <= 10:
            raise ValueError(f"degree must be a whole number from 0 to 10, got {degree!r}")
        self.penalty = float(penalty)
        self.degree = int(degree)
        self.reset()

    def reset(self) -> Self:
        """Forget all points."""
        self.n_seen_ = 0
        self._counts = np.zeros(2, np.int64)
        self._points = np.zeros((3, 0))  # x, y, weight
        self._found = (np.zeros(1), np.zeros(1, np.int64))  # OPT and where the last piece begins, for the first 0, 1, ... points
        self._starts = self._room(0)
        self._pieces: list[Segment] | None = None
        return self

    def _room(self, n: int) -> tuple[np.ndarray, ...]:
        k = self.degree + 1
        return np.zeros(n, np.int64), np.zeros((n, k, k)), np.zeros((n, k)), np.zeros(n)

    def __repr__(self) -> str:
        return f"SegmentedLeastSquares(penalty={self.penalty:g}, degree={self.degree})"

    # ---- points ------------------------------------------------------------------------------------------------------------
    def fit(self, x: Any, y: Any, sample_weight: Any = None) -> Self:
        """Forget, then take in all points."""
        new = self.check_rows(x, y, sample_weight, -math.inf)
        return self.reset()._take(new)

    def partial_fit(self, x: Any, y: Any, sample_weight: Any = None) -> Self:
        """Take in points in order of x, all beyond those before."""
        last = self._points[0, self.n_seen_ - 1] if self.n_seen_ else -math.inf
        return self._take(self.check_rows(x, y, sample_weight, last))

    def add(self, x: float, y: float, w: float = 1.0) -> Self:
        """Take in one point."""
        return self.partial_fit([x], [y], [w])

    @staticmethod
    def check_rows(x: Any, y: Any, w: Any, last: float) -> np.ndarray:
        """Return the points of positive weight, checked."""
        x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
        x = x[:, 0] if x.ndim == 2 and x.shape[1] == 1 else x
        w = np.ones(x.shape) if w is None else np.asarray(w, np.float64)
        if x.ndim != 1 or x.shape != y.shape or x.shape != w.shape:
            raise ValueError(f"expected x, y and weights of one length, got shapes {x.shape}, {y.shape} and {w.shape}")
        for what, a in (("x", x), ("y", y), ("sample_weight", w)):
            if not np.isfinite(a).all():
                at = int(np.argmin(np.isfinite(a)))
                raise ValueError(f"{what} contains {a[at]} at row {at}; expected finite numbers")
        if (w < 0.0).any():
            raise ValueError(f"sample weights must not be negative, got {w.min():g} at row {int(np.argmin(w))}")
        steps = np.diff(x, prepend=last) if x.size else x
        if not (steps > 0.0).all():
            at = int(np.argmin(steps > 0.0))
            before = x[at - 1] if at else last
            raise ValueError(
                f"x must increase: {x[at]:g} at row {at} comes after {before:g}. Sort the points; merge those of equal x into "
                "their mean, with the sum of their weights."
            )
        return np.stack([x, y, w])[:, w > 0.0]

    def _take(self, new: np.ndarray) -> Self:
        n, end = self.n_seen_, self.n_seen_ + new.shape[1]
        if end > self._points.shape[1]:
            room = max(end, 2 * n, 64)
            self._points = grown(self._points, (3, room))
            self._found = (grown(self._found[0], (room + 1,)), grown(self._found[1], (room + 1,)))
        need = int(self._counts[0]) + new.shape[1]
        if need > len(self._starts[0]):
            more = self._room(max(need, 2 * len(self._starts[0])))
            self._starts = tuple(grown(a, b.shape) for a, b in zip(self._starts, more, strict=True))
        self._points[:, n:end] = new
        compiled(advance)(*self._points, self.penalty, n, end, *self._starts, *self._found, np.zeros(self.degree + 1), self._counts)
        self.n_seen_ = end
        self._pieces = None
        return self

    # ---- answers -----------------------------------------------------------------------------------------------------------
    @property
    def cost_(self) -> float:
        """The minimum: residual sum of squares, plus the penalty for each piece."""
        return float(self._found[0][self.n_seen_])

    @property
    def costs_(self) -> np.ndarray:
        """The minimum for the first 0, 1, ..., N points."""
        return self._found[0][: self.n_seen_ + 1].copy()

    @property
    def n_evaluated_(self) -> int:
        """Pairs (start, point) looked at; N(N + 1)/2 if nothing could be deleted."""
        return int(self._counts[1])

    @property
    def segments_(self) -> list[Segment]:
        """The pieces, from left to right, found by going back from the last point."""
        if self._pieces is None:
            cuts = [self.n_seen_]
            while cuts[-1] > 0:
                cuts.append(int(self._found[1][cuts[-1]]))
            cuts.reverse()
            self._pieces = [self._piece(a, b) for a, b in pairwise(cuts)]
        return self._pieces

    def _piece(self, start: int, stop: int) -> Segment:
        x, y, w = self._points[:, start:stop]
        width = x[-1] - x[0] or 1.0
        V = np.vander((x - x[0]) / width, min(self.degree + 1, stop - start), increasing=True)
        root = np.sqrt(w)
        coef = np.zeros(self.degree + 1)
        coef[: V.shape[1]] = np.linalg.lstsq(V * root[:, None], (y - y[0]) * root, rcond=None)[0] / width ** np.arange(V.shape[1])
        coef[0] += y[0]
        return Segment(start, stop, float(x[0]), float(x[-1]), coef)

    def predict(self, x: Any) -> np.ndarray:
        """Return the curve at x; between two pieces the nearer one counts, beyond the ends the last one."""
        pieces = self.segments_
        if not pieces:
            raise NotLearnedError("This SegmentedLeastSquares has no points yet: call 'fit', 'partial_fit' or 'add' first.")
        x = np.asarray(x, np.float64)
        x = x[:, 0] if x.ndim == 2 and x.shape[1] == 1 else x
        edges = [0.5 * (a.right + b.left) for a, b in pairwise(pieces)]
        which = np.searchsorted(edges, x)
        found = np.empty(x.shape)
        for k in np.unique(which):
            found[which == k] = pieces[k](x[which == k])
        return found

    def plot(self, path: Any = None) -> Any:
        """Return a figure of the points and the pieces; write it to a PNG or SVG file if a path is given."""
        try:
            from matplotlib.figure import Figure
        except ImportError as error:
            raise ImportError("plots need matplotlib: pip install 'noregret[plots]'") from error
        figure = Figure(figsize=(7.0, 4.0), layout="constrained")
        axes = figure.subplots()
        x, y, _ = self._points[:, : self.n_seen_]
        axes.plot(x, y, ".", color="0.6", markersize=4)
        for piece in self.segments_:
            t = np.linspace(piece.left, piece.right, 2 if self.degree < 2 else 100)
            axes.plot(t, piece(t), color="tab:blue", linewidth=2)
        axes.set(xlabel="x", ylabel="y", title=f"{len(self.segments_)} pieces, cost {self.cost_:.6g}")
        if path is not None:
            figure.savefig(path)
        return figure


def grown(a: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return the array with room for more."""
    b = np.zeros(shape, a.dtype)
    b[tuple(slice(n) for n in a.shape)] = a
    return b
