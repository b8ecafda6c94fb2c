"""Maps of rows to rows: running standardisation, and rows brought to length 1.

Rows are taken in order, each first counted in the statistics and then transformed, so any split of a stream into batches gives the
same bits. Only stored entries of sparse rows are touched: what is not stored stays 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ..engine.compiling import compiled
from ..engine.words import strict
from ..inputs.checking import Rows, row_of, warn_of_small
from .step import Map

COUNT, MEAN, SQUARES = range(3)  # rows of the statistics
NORMS = ("l2", "l1", "max")


class Touched(NamedTuple):
    """Statistics as they were, to go back to."""

    features: np.ndarray | None  # None: all
    stats: np.ndarray
    width: int | None
    rows: np.ndarray


@strict
def scale_entry(stats, j, x, learn, center, floor):
    """Count a value of feature j (Welford 1962) and return it standardised; one without spread is 0, or itself uncentred.

    Uncentred it is divided by the root mean square: a feature that hardly varies, such as a 1 that is stored where a word
    occurs, has next to no deviation to divide by.
    """
    if learn:
        n = stats[COUNT, j] + 1.0
        before = x - stats[MEAN, j]
        mean = stats[MEAN, j] + before / n
        stats[COUNT, j] = n
        stats[MEAN, j] = mean
        stats[SQUARES, j] += before * (x - mean)
    n = stats[COUNT, j]
    mean = stats[MEAN, j]
    square = stats[SQUARES, j] / n if n > 0.0 else 0.0
    size = np.sqrt(square if center else square + mean * mean)
    if not size < np.inf:
        return np.nan  # the sum of squares overflowed; callers refuse it
    if size <= floor * min(1.0, abs(mean)):
        return 0.0 if center and n > 0.0 else x
    return (x - mean) / size if center else x / size


@strict
def scale_sparse(indices, data, out, stats, measured, learn, center, floor):
    """Standardise the stored entries, or only those measured; return the place of the first that is not finite, or -1."""
    for k in range(data.shape[0]):
        j = np.int64(indices[k])
        x = np.float64(data[k])
        touched = j < stats.shape[1] and (measured.shape[0] == 0 or measured[k])
        out[k] = scale_entry(stats, j, x, learn, center, floor) if touched else x
        if not np.isfinite(out[k]):
            return k
    return -1


@strict
def scale_if_common(stats, j, x, rows, learn, floor):
    """Count a value of feature j and return it standardised: centred if at least half of the rows store it, and values differ."""
    centred = scale_entry(stats, j, x, learn, 1, floor)
    least = floor * min(1.0, abs(stats[MEAN, j]))
    if 2.0 * stats[COUNT, j] >= rows[0] and stats[SQUARES, j] > least * least * stats[COUNT, j]:
        return centred
    return scale_entry(stats, j, x, 0, 0, floor)


@strict
def scale_common_sparse(indptr, indices, data, out, stats, rows, learn, floor):
    """Standardise the stored entries of sparse rows so; return the place of the first that is not finite, or -1."""
    for i in range(indptr.shape[0] - 1):
        if learn:
            rows[0] += 1.0
        for k in range(indptr[i], indptr[i + 1]):
            j = np.int64(indices[k])
            x = np.float64(data[k])
            out[k] = scale_if_common(stats, j, x, rows, learn, floor) if j < stats.shape[1] and x != 0.0 else x
            if not np.isfinite(out[k]):
                return k
    return -1


@strict
def scale_common_dense(X, out, stats, rows, learn, floor):
    """Standardise dense rows so, in which zeros are what is not stored."""
    for i in range(X.shape[0]):
        if learn:
            rows[0] += 1.0
        for j in range(X.shape[1]):
            x = np.float64(X[i, j])
            out[i, j] = scale_if_common(stats, j, x, rows, learn, floor) if x != 0.0 else x
            if not np.isfinite(out[i, j]):
                return i * X.shape[1] + j
    return -1


@strict
def scale_dense(X, out, stats, learn, center, floor):
    """Standardise dense rows; return the place of the first entry that is not finite, or -1."""
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            out[i, j] = scale_entry(stats, j, np.float64(X[i, j]), learn, center, floor)
            if not np.isfinite(out[i, j]):
                return i * X.shape[1] + j
    return -1


@strict
def normalize_rows(starts, data, out, norm):
    """Divide each row by its norm: 0 Euclidean, 1 sum of sizes, 2 largest size. Rows of zeros stay."""
    for i in range(starts.shape[0] - 1):
        top = 0.0
        for k in range(starts[i], starts[i + 1]):
            top = max(top, abs(np.float64(data[k])))
        total = 0.0
        if top > 0.0:
            for k in range(starts[i], starts[i + 1]):  # over the largest, so that squares neither overflow nor vanish
                v = abs(np.float64(data[k])) / top
                total += v * v if norm == 0 else v
        share = np.sqrt(total) if norm == 0 else total if norm == 1 else 1.0
        for k in range(starts[i], starts[i + 1]):
            out[k] = data[k] / top / share if top > 0.0 else data[k]


class Scale(Map):
    """Standardise features as they come: less the mean so far, over the standard deviation so far.

    After a Table only numbers and crosses with numbers are touched, and centred: categories and words keep their counts. Dense rows
    are centred. Other sparse rows are not, so that zeros stay zeros: a feature is divided by the root mean square of its stored
    entries so far. `center` decides otherwise; "common" centres the features that at least half of the rows store, unless all
    their values are equal, and leaves zeros alone in dense rows too: for numbers that no Table tells from categories and words. A
    feature that hardly differs from its mean (by at most `floor`, or that share of a mean below 1) becomes 0 when centred, and one
    that is 0 stays itself when not.

    Centred, x becomes (x - mean_t) / sd_t: the mean and standard deviation of the t values so far, x among them (Welford 1962), the
    sum of squares divided by t. With `clip`, at most that in size: one outlier then moves the weights no more than other rows do.
    When predicting nothing is counted.

    >>> import noregret as nr
    >>> m = nr.pipeline(nr.Scale(), nr.PA1Regressor())
    >>> m.learn_many([[1.0], [3.0], [1001.0]], [0.0, 1.0, 2.0]).shape
    (3,)
    """

    def __init__(self, center: bool | str | None = None, floor: float = 1e-12, clip: float | None = None) -> None:
        if center not in (None, True, False, "common"):
            raise ValueError(f"center must be True, False, 'common' or None, got {center!r}")
        if not isinstance(floor, (int, float, np.number)) or not floor >= 0.0:
            raise ValueError(f"floor must be a number of at least 0, got {floor!r}")
        if clip is not None and not (isinstance(clip, (int, float, np.number)) and clip > 0.0):
            raise ValueError(f"clip must be a number above 0 or None, got {clip!r}")
        self.center, self.floor, self.clip = center, floor, clip
        self._stats = np.zeros((3, 0))
        self._width: int | None = None  # of dense rows
        self._rows = np.zeros(1)  # how many came, for "common"

    def rows(self, rows: Rows, learn: bool, measured: np.ndarray | None = None) -> Rows:
        """Standardise rows; `measured` says which entries of sparse ones to touch, None for all."""
        center = self.center if self.center is not None else rows.layout == "dense" or measured is not None
        if rows.layout == "dense" and rows.width != (self._width or rows.width):
            raise ValueError(f"X has {rows.width} features, but Scale is expecting {self._width} features as input")
        if learn and not self._stats[COUNT].any():
            warn_of_small(rows)
        data = rows.arrays[-1]
        out = np.empty(data.shape)
        stats = self._room(rows, learn)
        common = center == "common" and measured is None
        settings = (int(learn), int(bool(center)), float(self.floor))
        seen = self._rows.copy()
        if common:
            way = scale_common_dense if rows.layout == "dense" else scale_common_sparse
            bad = compiled(way)(*rows.arrays, out, stats, seen, int(learn), float(self.floor))
        elif rows.layout == "dense":
            bad = compiled(scale_dense)(data, out, stats, *settings)
        else:
            some = np.empty(0, bool) if measured is None else measured
            bad = compiled(scale_sparse)(rows.arrays[1], data, out, stats, some, *settings)
        if bad >= 0:
            raise ValueError(
                f"standardising {data.ravel()[bad]:g} in row {row_of(rows, bad)} overflows; expected values below 1e150 in size. "
                "Rescale them."
            )
        if self.clip is not None:
            np.clip(out, -self.clip, self.clip, out=out, where=True if measured is None else measured)
        if learn:
            self._stats, self._rows = stats, seen
            self._width = rows.width if rows.layout == "dense" else self._width
        return rows._replace(arrays=(*rows.arrays[:-1], out))

    def _room(self, rows: Rows, learn: bool) -> np.ndarray:
        """Return statistics with room for all features of these rows; spare room is doubled as numbers grow."""
        have, need, dense = self._stats.shape[1], rows.width, rows.layout == "dense"
        if need <= have or not (learn or dense):
            return self._stats
        wider = np.zeros((3, need if dense else max(need, min(2 * have, 2 * need))))
        wider[:, :have] = self._stats
        return wider

    @property
    def nbytes(self) -> int:
        """Bytes of the statistics."""
        return self._stats.nbytes

    def mark(self, rows: Rows) -> Touched:
        """Return the statistics these rows would change."""
        have = self._stats.shape[1]
        if rows.layout == "dense" or len(rows.arrays[1]) > have:
            return Touched(None, self._stats.copy(), self._width, self._rows)
        features = rows.arrays[1] if rows.n == 1 else np.unique(rows.arrays[1])
        features = features[features < have]
        return Touched(features, self._stats[:, features], self._width, self._rows)

    def back(self, mark: Touched) -> None:
        """Restore them."""
        if mark.features is None:
            self._stats = mark.stats
        else:
            self._stats[:, mark.features] = mark.stats
        self._width, self._rows = mark.width, mark.rows

    def merge(self, other: Scale, numbers: np.ndarray | None = None) -> None:
        """Take in the statistics of another (Chan, Golub, LeVeque 1979); `numbers` say where its features are here."""
        super().merge(other)
        a, b = self._beside(other, numbers)
        n = a[COUNT] + b[COUNT]
        share = b[COUNT] / np.maximum(n, 1.0)
        apart = b[MEAN] - a[MEAN]
        mean = np.where(a[COUNT] == 0.0, b[MEAN], a[MEAN] + apart * share)
        self._stats = np.array([n, mean, a[SQUARES] + b[SQUARES] + apart * apart * a[COUNT] * share])
        self._width = other._width if self._width is None else self._width
        self._rows = self._rows + other._rows

    def less(self, other: Scale, times: int, numbers: np.ndarray | None = None) -> None:
        """Subtract, `times` times, the statistics that all merged maps began with."""
        a, b = self._beside(other, numbers)
        n = a[COUNT] - times * b[COUNT]
        left = np.maximum(n, 1.0)
        apart = np.where(b[COUNT] > 0.0, b[MEAN] - a[MEAN], 0.0)
        shift = -times * b[COUNT] * apart / left
        squares = a[SQUARES] - times * (b[SQUARES] + b[COUNT] * apart * apart) - left * shift * shift
        self._stats = np.where(n > 0.0, [n, a[MEAN] + shift, np.maximum(squares, 0.0)], 0.0)
        self._rows = self._rows - times * other._rows

    def _beside(self, other: Scale, numbers: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """Return both statistics, feature by feature."""
        theirs = other._stats
        if numbers is not None:
            theirs = np.zeros((3, int(numbers.max(initial=-1)) + 1))
            known = min(len(numbers), other._stats.shape[1])
            theirs[:, numbers[:known]] = other._stats[:, :known]
        size = max(theirs.shape[1], self._stats.shape[1])
        a, b = (np.pad(s, ((0, 0), (0, size - s.shape[1]))) for s in (self._stats, theirs))
        return a, b

    def state(self) -> dict[str, np.ndarray]:
        """Return what was learned, as arrays: the features met, and their statistics. Spare room is left out."""
        met = np.flatnonzero(self._stats[COUNT])
        sizes = np.array([int(met.max(initial=-1)) + 1, -1 if self._width is None else self._width])
        counted = {"rows": self._rows} if self.center == "common" else {}
        return {"features": met, "stats": self._stats[:, met], "sizes": sizes, **counted}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Restore what was learned."""
        met, stats, (size, width) = state["features"], state["stats"], state["sizes"].tolist()
        sound = met.ndim == 1 and stats.shape == (3, len(met)) and 0 <= size <= 1 << 31 and (met >= 0).all() and (met < size).all()
        if not sound or not np.isfinite(stats).all() or (stats[[COUNT, SQUARES]] < 0.0).any():
            raise ValueError(
                "expected features with their counts, means and sums of squares, found arrays that do not fit together"
            )
        if self.center == "common" and not (state["rows"].shape == (1,) and state["rows"][0] >= 0.0):
            raise ValueError(f"expected how many rows were seen, found {state['rows']}")
        self._stats = np.zeros((3, int(met.max(initial=-1)) + 1))
        self._stats[:, met] = stats
        self._rows = np.array(state.get("rows", np.zeros(1)))
        self._width = None if width < 0 else width


class Normalize(Map):
    """Bring each row to length 1 in a norm: l2, l1 or max. Rows of zeros stay.

    >>> import noregret as nr
    >>> nr.pipeline(nr.Normalize("l1"), nr.PA1())
    pipeline(Normalize(norm='l1'), PA1())
    """

    def __init__(self, norm: str = "l2") -> None:
        if norm not in NORMS:
            raise ValueError(f"norm must be one of {', '.join(NORMS)}, got {norm!r}")
        self.norm = norm

    def rows(self, rows: Rows, learn: bool, measured: np.ndarray | None = None) -> Rows:
        """Normalise rows; nothing is learned."""
        data = rows.arrays[-1]
        out = np.empty(data.shape)
        starts = np.ascontiguousarray(rows.stored(), np.int64)
        compiled(normalize_rows)(starts, data.reshape(-1), out.reshape(-1), NORMS.index(self.norm))
        return rows._replace(arrays=(*rows.arrays[:-1], out))
