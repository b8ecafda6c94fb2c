"""Input is checked before anything runs: rows become dense or CSR arrays, or an error names the row.

Decisions: NaN and infinity are refused; duplicate column indices of a sparse row are summed, as SciPy does; unsorted ones are
sorted; integers and booleans become floats; float32 stays float32.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..engine.compiling import compiled
from ..text import first_of

FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
LARGEST = 1e140  # in size, of a target that is squared: the squares of 10^20 rows have a finite sum
TINY = 1e-154  # the square of a smaller number is 0, or has lost digits
SMALL = 1e-8  # the square of a smaller number is lost beside 1
LOOKED_AT, SEVERAL = 1000, 10  # rows of a model that are looked at for columns of small numbers; numbers that make a column

SIDE = ("id", "time", "weight", "bundle", "domain", "user", "item")  # what rows may have beside their features
ABSENT = {"weight": 1.0, "bundle": -1}  # of a row that has none, among others that do

Side = dict[str, np.ndarray]


class Rows(NamedTuple):
    """Checked rows: arrays as the drivers take them, and side columns, each with a value for every row.

    Side columns are `id` (names the row), `time`, `weight`, `bundle` (its query or sentence), `domain` (its task, for learners of
    several tasks), `user` and `item`.
    """

    layout: str  # "dense" or "csr"
    arrays: tuple[np.ndarray, ...]  # (X,) or (indptr, indices, data)
    n: int
    width: int
    names: list[str] | None = None  # of the columns, where the input had any
    columns: Side = {}
    total: float = math.nan  # the sum of the sizes of all cells, or more; NaN if it was not taken

    def column(self, name: str) -> np.ndarray | None:
        """Return a side column, None where there is none."""
        return self.columns.get(name)

    def beside(self, **columns: np.ndarray | None) -> Rows:
        """Return the rows with more side columns, those that are not None."""
        added = given(columns)
        return self._replace(columns={**self.columns, **added}) if added else self

    def cut(self, a: int, b: int) -> Rows:
        """Return rows a to b."""
        if a == 0 and b == self.n:
            return self
        arrays = (self.arrays[0][a:b],) if self.layout == "dense" else (self.arrays[0][a : b + 1], *self.arrays[1:])
        return self._replace(arrays=arrays, n=b - a, columns=some_of(self.columns, slice(a, b)))

    def take(self, order: np.ndarray) -> Rows:
        """Return some of the rows, in the order asked for."""
        columns = some_of(self.columns, order)
        if self.layout == "dense":
            return self._replace(arrays=(self.arrays[0][order],), n=len(order), columns=columns)
        indptr, indices, data = self.arrays
        sizes = np.diff(indptr)[order]
        start = np.zeros(len(order) + 1, np.int64)
        np.cumsum(sizes, out=start[1:])
        at = np.arange(start[-1]) + np.repeat(indptr[:-1][order] - start[:-1], sizes)
        return self._replace(arrays=(start, indices[at], data[at]), n=len(order), columns=columns)

    def packed(self) -> Rows:
        """Return the rows without what their arrays hold of others, from which they were cut."""
        indptr = self.arrays[0]
        if self.layout == "dense" or (indptr[0] == 0 and indptr[-1] == len(self.arrays[2])):
            return self
        a, b = indptr[0], indptr[-1]
        return self._replace(arrays=(indptr - a, *(v[a:b] for v in self.arrays[1:])))

    def stored(self) -> np.ndarray:
        """Return how many coordinates are stored before each row, from 0."""
        return self.arrays[0] if self.layout == "csr" else np.arange(self.n + 1) * self.width


def given(columns: dict[str, np.ndarray | None]) -> Side:
    """Return the side columns that are not None; their names are checked."""
    odd = columns.keys() - set(SIDE)
    if odd:
        raise ValueError(f"there is no side column {min(odd)!r}; there are {', '.join(SIDE)}")
    return {name: values for name, values in columns.items() if values is not None}


def some_of(columns: Side, part: Any) -> Side:
    """Return the side columns of some rows."""
    return {name: values[part] for name, values in columns.items()} if columns else columns


def joined(parts: Sequence[Rows]) -> Rows:
    """Return consecutive rows as one; a side column that some lack is filled where that has a meaning, and left out where not."""
    first = parts[0]
    if first.layout == "dense":
        arrays: tuple[np.ndarray, ...] = (np.concatenate([rows.arrays[0] for rows in parts]),)
    else:
        start = np.concatenate([[0], np.cumsum(np.concatenate([np.diff(rows.arrays[0]) for rows in parts]))])
        inner = [(rows.arrays[0][0], rows.arrays[0][-1], rows.arrays) for rows in parts]
        arrays = (start, *(np.concatenate([of[k][a:b] for a, b, of in inner]) for k in (1, 2)))
    columns = {}
    for name in dict.fromkeys(name for rows in parts for name in rows.columns):
        if name in ABSENT or all(name in rows.columns for rows in parts):
            columns[name] = np.concatenate([rows.columns.get(name, np.full(rows.n, ABSENT.get(name))) for rows in parts])
    return Rows(first.layout, arrays, sum(rows.n for rows in parts), max(rows.width for rows in parts), first.names, columns)


# ---- compiled checks -------------------------------------------------------------------------------------------------
def sum_of_sizes(v):
    """Return the sum of the sizes of all entries, which is finite only if they are; it vectorises."""
    total = 0.0
    for k in range(v.shape[0]):
        total += abs(v[k])
    return total


def scan_sparse(indptr, indices, data, d):
    """Return which checks fail, as bits, and the sum of sizes: 1 a column out of range, 2 columns not increasing within rows."""
    total, top, falls = 0.0, np.uintp(0), 0
    for k in range(data.shape[0]):
        total += abs(data[k])
        top = max(top, np.uintp(indices[k]))
        falls += k > 0 and indices[k] <= indices[k - 1]
    allowed = 0
    for i in range(1, indptr.shape[0] - 1):
        k = indptr[i]
        if 0 < k < indices.shape[0] and k != indptr[i - 1]:
            allowed += indices[k] <= indices[k - 1]
    fault = 1 if indices.shape[0] > 0 and top >= np.uintp(d) else 0
    return fault + 2 if falls != allowed else fault, total


def where_not_finite(values: np.ndarray) -> tuple[int, str]:
    """Return the flat position of the first bad entry and its name."""
    at = int(np.flatnonzero(~np.isfinite(values.ravel()))[0])
    v = values.ravel()[at]
    return at, "NaN" if np.isnan(v) else "infinity" if v > 0 else "-infinity"


def refuse_not_finite(what: str, row: int, column: Any, found: str) -> None:
    """Raise the error of an entry that is not a finite number."""
    at = f"row {row}" + ("" if column is None else f", column {column!r}")
    raise ValueError(f"{what} contains {found} at {at}; expected finite numbers (no NaN or inf). Fill or drop the row first.")


# ---- rows ------------------------------------------------------------------------------------------------------------
def column_names(X: Any) -> list[str] | None:
    """Return the names of the columns of a frame, None when there are none (or they are not all strings)."""
    if isinstance(X, np.ndarray) or not (hasattr(X, "columns") or hasattr(X, "column_names")):
        return None
    names = list(X.column_names if hasattr(X, "column_names") else X.columns)
    texts = [isinstance(n, str) for n in names]
    if all(texts):
        return names
    if any(texts):
        raise TypeError(
            "Feature names are only supported if all input features have string names, but your input has "
            f"{sorted({type(n).__name__ for n in names})} as feature name / column name types."
        )
    return None


def as_array(X: Any) -> np.ndarray:
    """Return a frame or anything array-like as a NumPy array."""
    if isinstance(X, np.ndarray):
        return unmasked("X", X)
    columns: list[Any] | None = None
    if hasattr(X, "column_names"):  # Arrow
        columns = [numbers(X.column(i).to_numpy(zero_copy_only=False), n) for i, n in enumerate(X.column_names)]
    elif hasattr(X, "get_columns"):  # polars
        columns = [numbers(c.to_numpy(), c.name) for c in X.get_columns()]
    if columns is not None:
        return np.column_stack(columns) if columns else np.empty((len(X), 0))
    if hasattr(X, "to_numpy"):  # pandas
        a = X.to_numpy()
        if a.dtype == object and hasattr(X, "isna") and X.isna().to_numpy().any():
            a = X.to_numpy(dtype=object, na_value=np.nan)  # pandas' own NA is not a float
        return np.asarray(a)
    if isinstance(X, (str, bytes)):
        raise TypeError(
            f"X must hold rows of numbers, got text: {X[:60]!r}. From a file: nr.train({X[:60]!r}, learner), nr.evaluate"
        )
    try:
        return np.asarray(X)
    except ValueError as e:
        if "inhomogeneous" not in str(e):
            raise
        raise ValueError("X must hold rows of one length, and these differ: pad them, or learn from dicts of numbers") from None


def unmasked(what: str, a: Any) -> Any:
    """Return an array of NumPy, which may be a matrix, as a plain one, anything else as it is; refuse masked entries."""
    if type(a) is np.ndarray or not isinstance(a, np.ndarray):
        return a
    if isinstance(a, np.ma.MaskedArray) and np.ma.is_masked(a):
        place = [int(k) for k in np.argwhere(np.ma.getmaskarray(a))[0]]
        refuse_not_finite(what, place[0] if place else 0, place[1] if len(place) > 1 else None, "a masked entry")
    return np.asarray(a)


def numbers(a: np.ndarray, name: Any) -> np.ndarray:
    """Refuse a column of dates or text before NumPy makes something of it."""
    if a.dtype.kind not in "biufcO":
        raise TypeError(f"X must hold numbers: column {name!r} is of type {a.dtype}. Encode it first.")
    return a


def rows(X: Any, dtype: Any) -> Rows:
    """Return X as checked dense or CSR rows."""
    if hasattr(X, "tocsr"):
        return sparse_rows(X, dtype)
    names = column_names(X)
    X = as_array(X)
    if X.dtype.kind in "mM":
        raise TypeError(f"X must hold numbers, got dates or durations ({X.dtype}). Encode them first.")
    if X.dtype.kind == "c":
        raise ValueError(f"Complex data not supported\n{X}")
    if X.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {X.ndim}D array instead:\narray={X}.\nReshape your data using X.reshape(-1, 1) if it has one "
            "feature or X.reshape(1, -1) if it is one row."
        )
    if X.dtype not in FLOATS or not X.flags.c_contiguous:
        try:
            X = np.ascontiguousarray(X, X.dtype if X.dtype in FLOATS else dtype)
        except (TypeError, ValueError) as e:
            raise type(e)(f"X must hold numbers: {e}. Encode text and categories first, or learn from dicts of numbers.") from None
    n, d = X.shape
    sized(n, d, X.shape)
    total = compiled(sum_of_sizes)(X.reshape(-1))
    if not total < math.inf and not np.isfinite(X).all():
        at, found = where_not_finite(X)
        refuse_not_finite("X", at // d, names[at % d] if names else at % d, found)
    return Rows("dense", (X,), n, d, names, total=total)


def objects(X: Any) -> Rows:
    """Return a sequence of any objects as rows, each with its object as its one value."""
    if isinstance(X, (str, bytes)) or not (hasattr(X, "__len__") and hasattr(X, "__getitem__")):
        raise TypeError(f"X must be a sequence of objects, as the kernel compares them; got a {type(X).__name__}")
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    sized(n, 1, (n,))
    data = np.empty(n, object)
    for i in range(n):
        data[i] = X[i]
    return Rows("csr", (np.arange(n + 1), np.zeros(n, np.uint32), data), n, 1)


def sparse_rows(X: Any, dtype: Any) -> Rows:
    """Return a SciPy matrix or array as checked CSR rows."""
    if X.ndim != 2:
        raise ValueError(f"Expected 2D array, got {X.ndim}D array instead. Reshape your data to one row per example.")
    X = X.tocsr()
    if X.data.dtype.kind == "c":
        raise ValueError("Complex data not supported")
    data = X.data if X.data.dtype in FLOATS else X.data.astype(dtype)
    n, d = X.shape
    sized(n, d, X.shape)
    indptr, indices = X.indptr, X.indices
    unsigned = indices.view(f"u{indices.itemsize}")  # a negative index shows as a huge one
    fault, total = compiled(scan_sparse)(indptr, unsigned, data, d)
    if not total < math.inf and not np.isfinite(data).all():
        at, found = where_not_finite(data)
        refuse_not_finite("X", int(np.searchsorted(indptr, at, side="right")) - 1, int(indices[at]), found)
    if fault & 1:
        at = int(np.flatnonzero(unsigned >= d)[0])
        row = int(np.searchsorted(indptr, at, side="right")) - 1
        raise ValueError(f"X has column index {indices[at]} in row {row}; expected 0 to {d - 1}")
    if fault & 2:
        X = type(X)((data, indices, indptr), shape=X.shape, copy=True)
        X.sum_duplicates()
        indptr, unsigned, data = X.indptr, X.indices.view(f"u{X.indices.itemsize}"), X.data
        if not np.isfinite(data).all():
            at, found = where_not_finite(data)
            refuse_not_finite("X", int(np.searchsorted(indptr, at, side="right")) - 1, int(X.indices[at]), found)
    return Rows("csr", (indptr, unsigned, data), n, d, total=total)


def row_of(rows: Rows, at: int) -> int:
    """Return the row of a stored value, given its place among all."""
    return at // rows.width if rows.layout == "dense" else int(np.searchsorted(rows.arrays[0], at, side="right")) - 1


def total_of(rows: Rows) -> float:
    """Return the sum of the sizes of the cells of rows, or more."""
    return compiled(sum_of_sizes)(rows.packed().arrays[-1].reshape(-1)) if math.isnan(rows.total) else rows.total


def small_columns(rows: Rows, least: float) -> list[int]:
    """Return the columns of which the first rows store several numbers other than 0, all below a size."""
    rows = rows.cut(0, min(rows.n, LOOKED_AT)).packed()
    values = np.abs(rows.arrays[-1]).ravel()
    columns = np.tile(np.arange(rows.width), rows.n) if rows.layout == "dense" else rows.arrays[1]
    columns, values = columns[values > 0.0], values[values > 0.0]
    if not (values < least).any():
        return []
    met, numbers = np.unique(columns, return_inverse=True)
    top = np.zeros(len(met))
    np.maximum.at(top, numbers, values)
    found: list[int] = met[(top < least) & (np.bincount(numbers) >= SEVERAL)].tolist()
    return found


def warn_of_small(rows: Rows, names: Sequence[Any] | None = None, least: float = TINY) -> None:
    """Warn of columns of such small numbers that next to nothing is learned from them."""
    found = small_columns(rows, least)
    if not found:
        return
    names = rows.names if names is None else names
    which = first_of([repr(j if names is None else names[j]) for j in found], 3)
    what = (
        "their squares are 0, and next to nothing is learned from them. Multiply them by a power of ten."
        if least <= TINY
        else "beside numbers near 1 most learners learn next to nothing from them. "
        "Scale the columns (nr.Scale, --scale), or multiply them by a power of ten."
    )
    warnings.warn(f"all numbers of column{'s' if len(found) > 1 else ''} {which} are below {least:g} in size: {what}", stacklevel=2)


def refuse_negative(rows: Rows, learner: str) -> None:
    """Refuse features below 0."""
    rows = rows.packed()
    values = rows.arrays[-1]
    if values.size and values.min() < 0.0:
        at = int(np.argmax(values.ravel() < 0.0))
        row = row_of(rows, at)
        raise ValueError(
            f"Negative values in data passed to {learner}: {values.ravel()[at]:g} in row {row}. Shift or split the feature."
        )


def sized(n: int, d: int, shape: tuple[int, ...]) -> None:
    """Refuse an empty batch."""
    for k, what in ((n, "sample"), (d, "feature")):
        if k == 0:
            raise ValueError(f"Found array with 0 {what}(s) (shape={shape}) while a minimum of 1 is required.")


# ---- targets, weights ------------------------------------------------------------------------------------------------
def warn(kind: str, message: str) -> None:
    """Warn in scikit-learn's own category when it is loaded."""
    category: type[Warning] = UserWarning
    if "sklearn" in sys.modules:
        import sklearn.exceptions

        category = getattr(sklearn.exceptions, kind, UserWarning)
    warnings.warn(message, category, stacklevel=4)


def refuse_large(y: np.ndarray) -> np.ndarray:
    """Return targets, none of which is so large that a sum of squares overflows."""
    if len(y) and not np.abs(y).max() <= LARGEST:
        at = int(np.argmax(np.abs(y)))
        raise ValueError(f"y in row {at} is {y[at]:g}; expected targets of at most {LARGEST:g} in size. Rescale them.")
    return y


def targets(y: Any, n: int, numeric: bool) -> np.ndarray:
    """Return a checked one-dimensional target."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    if hasattr(y, "tocsr"):
        raise TypeError("Sparse targets are not supported: pass y as a one-dimensional array")
    y = unmasked("y", y)
    if not isinstance(y, np.ndarray):
        mixed = isinstance(y, (list, tuple)) and len({type(v) for v in y}) > 1
        y = np.fromiter(y, object, len(y)) if mixed and not numeric and not all_numbers(y) else np.asarray(y)
    if y.ndim == 2 and y.shape[1] == 1:
        warn("DataConversionWarning", "A column-vector y was passed when a 1d array was expected.")
        y = y.ravel()
    if y.ndim != 1:
        raise ValueError(f"y should be a 1d array, got an array of shape {y.shape} instead.")
    if len(y) != n:
        raise ValueError(f"X and y have inconsistent lengths: {n} rows and {len(y)} targets")
    if y.dtype.kind == "c":
        raise ValueError(f"Complex data not supported\n{y}")
    if numeric:
        try:
            y = np.ascontiguousarray(y, np.float64)
        except (TypeError, ValueError) as e:
            raise type(e)(f"y must hold numbers for a regression: {e}") from None
    if y.dtype.kind == "f":
        with np.errstate(over="ignore", invalid="ignore"):
            if not np.isfinite(y.sum()) and not np.isfinite(y).all():
                at, found = where_not_finite(y)
                refuse_not_finite("y", at, None, found)
    return y


def all_numbers(y: Any) -> bool:
    """Return whether these are all numbers, and not booleans, of which an array would make numbers."""
    return all(isinstance(v, (int, float, np.number)) and not isinstance(v, bool) for v in y)


def sample_weights(c: Any, n: int) -> np.ndarray | None:
    """Return checked weights, None for none."""
    if c is None:
        return None
    c = unmasked("sample_weight", c)
    try:
        c = np.asarray(c, np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"sample_weight must be a number, or one for each of {n} rows, got {c!r:.60}") from None
    c = np.full(n, float(c)) if c.ndim == 0 else np.ascontiguousarray(c)
    if c.ndim != 1:
        raise ValueError(f"Sample weights must be 1D array or scalar, got an array of shape {c.shape}")
    if len(c) != n:
        raise ValueError(f"sample_weight.shape == {c.shape}, expected ({n},)!")
    if not np.isfinite(c).all():
        at, found = where_not_finite(c)
        refuse_not_finite("sample_weight", at, None, found)
    if (c < 0.0).any():
        at = int(np.argmax(c < 0.0))
        raise ValueError(f"sample_weight must not be negative, got {c[at]:g} in row {at}")
    return c


def one_weight(w: Any) -> float:
    """Return one checked weight."""
    c = sample_weights(w, 1)
    assert c is not None
    return float(c[0])


def without_zeros(rows: Rows, y: np.ndarray, c: np.ndarray | None) -> tuple[Rows, np.ndarray, np.ndarray | None]:
    """Leave out the rows of weight 0: they change nothing, counters included."""
    if c is None or c.all():
        return rows, y, c
    keep = np.flatnonzero(c)
    return rows.take(keep), y[keep], c[keep]


def sparse_row(idx: np.ndarray, values: np.ndarray) -> Rows:
    """Return the numbers and values of one example as a row."""
    return Rows("csr", (np.array([0, len(idx)]), idx, values), 1, 0)


def one_row(x: Any) -> Rows:
    """Return one example given as a sequence, as rows."""
    x = unmasked("x", x)
    try:
        values = np.asarray(x, np.float64).reshape(1, -1)
    except (TypeError, ValueError):
        raise TypeError(f"an example must be a dict from names to numbers, or a row of numbers; got {x!r}") from None
    return rows(values, np.float64)
