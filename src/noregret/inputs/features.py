"""Coordinates: how the columns of an array, or the names in a dict, become places in the weight vector.

Columns fix the width at the first call; Numbers are columns without an end, as sparse files have them; Names grow an exact table;
Hashed fold any number of names into 2^bits places. The constant feature has a separate place in each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby, islice, pairwise, repeat
from numbers import Real
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from .checking import Rows, refuse_not_finite
from .dicts import MEET, NOWHERE, UNKNOWN, Book, read, read_many
from .hashing import hash_name

Row = tuple[np.ndarray, np.ndarray]


def values_of(x: Mapping[Any, Any]) -> np.ndarray:
    """Return the values of a named example, or an error that names the feature."""
    try:
        total = sum(x.values())  # text does not add up, though NumPy would read it
        values = np.fromiter(x.values(), np.float64, len(x))
    except (TypeError, ValueError):
        name, v = next((k, v) for k, v in x.items() if not isinstance(v, (Real, np.number, np.bool_)))
        raise TypeError(
            f"feature {name!r} has value {v!r}; expected a number. Write a category as a separate feature, such as "
            f"{{'{name}={v}': 1}}."
        ) from None
    if total - total != 0.0 and not np.isfinite(values).all():
        at = int(np.argmin(np.isfinite(values)))
        refuse_not_finite("the example", 0, list(x)[at], repr(float(values[at])))
    return values


def add_duplicates(idx: np.ndarray, values: np.ndarray) -> Row:
    """Sum the values of equal coordinates."""
    places, inverse = np.unique(idx, return_inverse=True)
    return places, np.bincount(inverse, values, len(places))


class Named(NamedTuple):
    """A batch of named examples, all of them checked and read once."""

    examples: Sequence[Mapping[Any, Any]]
    rows: Rows  # in the places of the model or, where names may join it, in those of `ahead`
    ahead: Names | None = None  # the names in the batch

    @property
    def n(self) -> int:
        """How many there are."""
        return self.rows.n

    def cut(self, a: int, b: int) -> Named:
        """Return examples a to b."""
        return Named(self.examples[a:b], self.rows.cut(a, b), self.ahead)

    def column(self, name: str) -> np.ndarray | None:
        """Return a side column, None where there is none."""
        return self.rows.column(name)

    def beside(self, **columns: np.ndarray | None) -> Named:
        """Return the examples with more side columns, those that are not None."""
        return self._replace(rows=self.rows.beside(**columns))


def is_dicts(X: Any) -> bool:
    """Return whether a batch is a sequence of dicts."""
    return isinstance(X, (list, tuple)) and len(X) > 0 and isinstance(X[0], Mapping)


def read_all(features: Features, examples: Sequence[Mapping[Any, Any]]) -> Rows | Named:
    """Return named examples checked and read, or an error; nothing changes."""
    if isinstance(features, Numbers):
        numbers = Numbers(False)
        rows = stacked(numbers, examples, grow=True)
        return rows._replace(width=numbers.count)
    if not isinstance(features, Names):
        return Named(examples, stacked(features, examples, grow=False))
    found = read_many(examples, features.table, **features.reading(False), halt=UNKNOWN) if features.table else None
    if found is not None:
        return Named(examples, Rows("csr", found[:3], len(examples), 0))
    ahead = Names(False)
    return Named(examples, stacked(ahead, examples, grow=True)._replace(names=ahead.names), ahead)


def stacked(features: Features, examples: Sequence[Mapping[Any, Any]], grow: bool) -> Rows:
    """Return named examples as CSR rows; unknown names join the table or are left out."""
    found = read_many(examples, features.table, **features.reading(grow)) if isinstance(features, (Names, Hashed)) else None
    if found is None:
        return joined([features.row(x, grow) for x in examples])
    indptr, idx, values, said = found
    rows = Rows("csr", (indptr, idx, values), len(examples), 0)
    if (said & UNKNOWN).any():
        return only(rows, idx != NOWHERE)
    if not said.any():
        return rows
    some = ((idx[a:b], values[a:b], meet) for (a, b), meet in zip(pairwise(indptr.tolist()), said.tolist(), strict=True))
    return joined([add_duplicates(i, v) if meet else (i, v) for i, v, meet in some])


def only(rows: Rows, kept: np.ndarray) -> Rows:
    """Return CSR rows with some of their entries."""
    indptr, indices, data = rows.arrays
    return rows._replace(arrays=(np.concatenate([[0], np.cumsum(kept)])[indptr], indices[kept], data[kept]))


def joined(found: Sequence[Row]) -> Rows:
    """Return sparse rows as a batch."""
    indptr = np.zeros(len(found) + 1, np.int64)
    np.cumsum([len(idx) for idx, _ in found], out=indptr[1:])
    return Rows("csr", (indptr, np.concatenate([i for i, _ in found]), np.concatenate([v for _, v in found])), len(found), 0)


class Columns:
    """The columns of an array or frame: fixed at the first call."""

    kind = "columns"
    grows = False

    def __init__(self, width: int, bias: bool, names: list[str] | None = None) -> None:
        self.width = width
        self.bias = bias
        self.names = names
        self.place = Book({name: j for j, name in enumerate(names)}) if names else None
        self.count = width

    @property
    def size(self) -> int:
        """Coordinates in use, the constant feature included."""
        return self.width + self.bias

    @property
    def constant(self) -> int:
        """Where the constant feature is."""
        return self.width

    def row(self, x: Any, grow: bool) -> Row:
        """Return one example as coordinates and values."""
        if not isinstance(x, Mapping):
            values = np.asarray(x, np.float64)
            if values.shape != (self.width,):
                raise ValueError(f"expected one row of {self.width} features, got an array of shape {values.shape}")
            if not np.isfinite(values).all():
                at = int(np.argmax(~np.isfinite(values)))
                refuse_not_finite("the example", 0, at, repr(float(values[at])))
            idx = np.flatnonzero(values)
            return idx.astype(np.uint32), values[idx]
        found = None if self.place is None else read(x, self.place)
        if found is not None and not found[2]:
            return found[:2]
        values = values_of(x)
        if self.place is not None:
            unknown = [k for k in x if k not in self.place]
            idx = np.fromiter((self.place.get(k, 0) for k in x), np.uint32, len(x))
        else:
            unknown = [k for k in x if not (isinstance(k, (int, np.integer)) and 0 <= k < self.width)]
            idx = np.fromiter(x, np.uint32, len(x)) if not unknown else np.empty(0, np.uint32)
        if unknown:
            what = "column names" if self.place else f"column numbers 0 to {self.width - 1}"
            raise ValueError(f"unknown feature {unknown[0]!r}: this model was started on an array, expected {what}")
        return idx, values

    def check(self, rows: Rows, learner: str) -> None:
        """Refuse a batch of another width."""
        if rows.width != self.width:
            raise ValueError(f"X has {rows.width} features, but {learner} is expecting {self.width} features as input")

    def rows(self, rows: Rows, grow: bool) -> Rows:
        """Return the batch: columns are places."""
        return rows


class Numbers:
    """Whole numbers from 0, as many as come: the columns of sparse files. The constant feature is first, so that it stays there."""

    kind = "numbers"
    grows = True
    width = None
    names = None
    titles: Any = None  # whoever numbers the features, with their `feature_names`
    MOST = 1 << 28  # 2 GB of weights in float64

    def __init__(self, bias: bool, count: int = 0) -> None:
        self.bias = bias
        self.count = count

    @property
    def size(self) -> int:
        """Coordinates in use, the constant feature included."""
        return self.count + self.bias

    @property
    def constant(self) -> int:
        """Where the constant feature is."""
        return 0

    def row(self, x: Any, grow: bool) -> Row:
        """Return one example as coordinates and values; numbers never learned from are left out unless they join."""
        if isinstance(x, Mapping):
            values = values_of(x)
            for k in x:
                if not (isinstance(k, (int, np.integer)) and k >= 0):
                    raise ValueError(f"unknown feature {k!r}: this model knows features by number, expected 0, 1, 2, ...")
            idx = np.fromiter(x, np.int64, len(x))
        else:
            idx, values = Columns(np.size(x), False).row(x, False)
        top = int(idx.max(initial=-1)) + 1
        self._fitting(top)
        return self._placed(idx, values, top, grow)

    def check(self, rows: Rows, learner: str) -> None:
        """Refuse a number that would need too much memory."""
        self._fitting(rows.width)

    def _fitting(self, top: int) -> None:
        if top > self.MOST:
            raise ValueError(
                f"feature number {top - 1} would need {8 * top / 1e9:.0f} GB of weights or more: fold the numbers with hash_bits"
            )

    def rows(self, rows: Rows, grow: bool) -> Rows:
        """Put numbered columns in their places; those never learned from are left out unless they join."""
        if rows.layout == "dense":
            rows = replaced(rows, [np.array([j], np.uint32) for j in range(rows.width)])
        indptr, indices, data = rows.arrays
        places, values = self._placed(indices, data, rows.width, grow)
        if len(places) < len(indices):
            kept = np.concatenate([[0], np.cumsum(indices < self.count)])
            indptr = kept[indptr]
        return rows._replace(arrays=(indptr, places, values))

    def _placed(self, idx: np.ndarray, values: np.ndarray, top: int, grow: bool) -> Row:
        if grow:
            self.count = max(self.count, top)
        elif top > self.count:
            known = idx < self.count
            idx, values = idx[known], values[known]
        return (idx + np.uint32(self.bias) if self.bias else idx).astype(np.uint32, copy=False), values


class Places(Book):
    """A table that gives a name its place when it is first looked up."""

    def __init__(self, first: int) -> None:
        self.first = first

    def __missing__(self, name: Any) -> int:
        place = self[name] = len(self) + self.first
        return place


class Names:
    """Names of features, each with its own place, in order of first appearance."""

    kind = "names"
    grows = True
    width = None

    def __init__(self, bias: bool) -> None:
        self.bias = bias
        self.table = Places(int(bias))

    @property
    def count(self) -> int:
        """How many names there are."""
        return len(self.table)

    @property
    def size(self) -> int:
        """Coordinates in use, the constant feature included."""
        return len(self.table) + self.bias

    @property
    def constant(self) -> int:
        """Where the constant feature is: first, so that it stays there as names come."""
        return 0

    @property
    def names(self) -> list[Any]:
        """Return the names in order of their places."""
        return list(self.table)

    def reading(self, grow: bool) -> dict[str, int]:
        """Return how compiled code reads names."""
        return {"first": int(self.bias), "room": NOWHERE if grow else 0}

    def row(self, x: Mapping[Any, Any], grow: bool) -> Row:
        """Return one example as coordinates and values; unknown names join the table or are left out."""
        if type(x) is not dict and not isinstance(x, Mapping):
            raise TypeError(f"this model learns from named features: expected a dict, got {type(x).__name__}")
        found = read(x, self.table, **self.reading(grow))
        if found is None:
            values = values_of(x)
            place = map(self.table.__getitem__, x) if grow else map(self.table.get, x, repeat(NOWHERE))
            found = np.fromiter(place, np.uint32, len(x)), values, 0 if grow else UNKNOWN
        idx, values, said = found
        if said:
            known = idx != NOWHERE
            return idx[known], values[known]
        return idx, values

    def places(self, ahead: Names) -> np.ndarray:
        """Return the places of the names of a batch, NOWHERE for new ones."""
        found = read(dict.fromkeys(ahead.table, 0.0), self.table)
        if found is not None:
            return found[0]
        return np.fromiter(map(self.table.get, ahead.table, repeat(NOWHERE)), np.uint32, len(ahead.table))

    def enter(self, ahead: Names, new: Sequence[int]) -> np.ndarray:
        """Give names of a batch, which are new, their places."""
        names = ahead.names
        return self.row({names[k]: 0.0 for k in new}, True)[0]

    def check(self, rows: Rows, learner: str) -> None:
        """Refuse a batch without names."""
        if rows.names is None:
            raise ValueError(
                f"this {learner} learns from named features: expected dicts or a frame with column names, got an array"
            )

    def rows(self, rows: Rows, grow: bool) -> Rows:
        """Put the columns of a frame, or the words of a vocabulary, in their places."""
        assert rows.names is not None
        if rows.layout == "csr":
            if grow:
                self.row(dict.fromkeys(rows.names, 0.0), True)
            places = np.fromiter(map(self.table.get, rows.names, repeat(NOWHERE)), np.uint32, len(rows.names))
            return moved(rows, places)._replace(names=None)
        return replaced(rows, [self.row({name: 1.0}, grow)[0] for name in rows.names])


class Folded(Book):
    """A table that folds a name into one of 2^bits places when it is first looked up, and remembers the first 2 x 2^bits names."""

    def __init__(self, bits: int) -> None:
        self.bits = bits
        self.room = 2 << bits

    def fold(self, name: Any) -> int:
        """Return the place of a name."""
        return hash_name(name) & ((1 << self.bits) - 1)

    def __missing__(self, name: Any) -> int:
        at = self.fold(name)
        if len(self) < self.room:
            self[name] = at
        return at


class Hashed:
    """Names folded into 2^bits places; a bounded table remembers the first names seen, for speed and to count collisions."""

    kind = "hashed"
    grows = False

    def __init__(self, bits: int, bias: bool) -> None:
        if not (isinstance(bits, (int, np.integer)) and 1 <= bits <= 31):
            raise ValueError(f"hash_bits must be a whole number from 1 to 31, got {bits!r}")
        self.bits = int(bits)
        self.bias = bias
        self.width: int | None = None  # of the arrays learned from, if any
        self.table = Folded(self.bits)

    @property
    def count(self) -> int:
        """How many names are remembered."""
        return len(self.table)

    @property
    def size(self) -> int:
        """Coordinates in use, the constant feature included."""
        return (1 << self.bits) + self.bias

    @property
    def constant(self) -> int:
        """Where the constant feature is: after all places."""
        return 1 << self.bits

    @property
    def names(self) -> list[Any]:
        """Return the remembered names."""
        return list(self.table)

    @property
    def collisions(self) -> int:
        """Return how many of the names remembered share a place with an earlier one."""
        return len(self.table) - len(set(self.table.values()))

    def place(self, name: Any, grow: bool) -> int:
        """Return the place of a name."""
        at = self.table[name] if grow else self.table.get(name)
        return self.table.fold(name) if at is None else at

    def reading(self, grow: bool) -> dict[str, int]:
        """Return how compiled code reads names."""
        return {"bits": self.bits, "room": self.table.room if grow else 0}

    def row(self, x: Mapping[Any, Any], grow: bool) -> Row:
        """Return one example as coordinates and values; names that meet in one place are summed."""
        if type(x) is not dict and not isinstance(x, Mapping):
            width = self.fitting(np.size(x))
            row = Columns(width, False).row(x, False)
            self.width = width if grow else self.width
            return row
        found = read(x, self.table, **self.reading(grow))
        if found is None:
            values, places = values_of(x), [self.place(name, grow) for name in x]
            found = np.array(places, np.uint32), values, MEET if len(set(places)) < len(places) else 0
        idx, values, said = found
        return add_duplicates(idx, values) if said else (idx, values)

    def remember(self, examples: Iterable[Mapping[Any, Any]]) -> None:
        """Note the names, while there is room."""
        if len(self.table) < self.table.room:
            new = [name for name in dict.fromkeys(chain.from_iterable(examples)) if name not in self.table]
            self.row(dict.fromkeys(new, 0.0), True)

    def check(self, rows: Rows, learner: str) -> None:
        """Refuse another number of columns than before, or more than places."""
        if rows.names is None:
            self.fitting(rows.width, learner)

    def fitting(self, width: int, learner: str = "this learner") -> int:
        """Return a width that fits."""
        if self.width not in (None, width):
            raise ValueError(f"X has {width} features, but {learner} is expecting {self.width} features as input")
        if not 1 <= width <= 1 << self.bits:
            raise ValueError(f"X has {width} columns, expected 1 to 2^{self.bits}, the places of hash_bits={self.bits}")
        return width

    def rows(self, rows: Rows, grow: bool) -> Rows:
        """Put the columns of a frame in their places; those of an array are places already."""
        if rows.names is None:
            self.width = rows.width if grow else self.width
            return rows
        places = np.array([self.place(name, grow) for name in rows.names], np.uint32)
        if rows.layout == "csr":
            found = moved(rows, places).arrays
            return joined([add_duplicates(found[1][a:b], found[2][a:b]) for a, b in pairwise(found[0].tolist())])._replace(
                columns=rows.columns
            )
        return replaced(rows, places[:, None])


class Anything:
    """Objects of any kind, which a kernel compares: each is the one value of its row, and there are no features."""

    kind = "objects"
    grows = False
    bias = False
    names = None
    width = 1
    size = 1
    count = 1
    constant = 0

    def row(self, x: Any, grow: bool) -> Row:
        """Return one object as a row."""
        value = np.empty(1, object)
        value[0] = x
        return np.zeros(1, np.uint32), value

    def check(self, rows: Rows, learner: str) -> None:
        """Refuse rows of numbers."""
        if rows.arrays[-1].dtype != object:
            raise ValueError(f"{learner} compares objects with a function: give a list of them, not rows of numbers")

    def rows(self, rows: Rows, grow: bool) -> Rows:
        """Return the batch."""
        return rows


def replaced(rows: Rows, places: Sequence[np.ndarray] | np.ndarray) -> Rows:
    """Return dense rows as CSR rows whose columns have moved; those that meet are summed, one without a place is left out."""
    keep = [j for j, at in enumerate(places) if len(at)]
    at, where = np.unique(np.array([places[j][0] for j in keep], np.uint32), return_inverse=True)
    X = np.zeros((rows.n, len(at)))
    for j, k in zip(keep, where, strict=True):
        X[:, k] += rows.arrays[0][:, j]
    mask = X != 0.0
    indptr = np.zeros(len(X) + 1, np.int64)
    np.cumsum(mask.sum(1), out=indptr[1:])
    return rows._replace(layout="csr", arrays=(indptr, np.broadcast_to(at, X.shape)[mask], X[mask]), names=None)


def forget(features: Features, count: int) -> None:
    """Let features be the first so many again, or remember only the first names."""
    if isinstance(features, Numbers):
        features.count = count
    elif isinstance(features, (Names, Hashed)):
        kept = dict(islice(features.table.items(), count))  # a book never loses names: a new one
        features.table = Places(int(features.bias)) if isinstance(features, Names) else Folded(features.bits)
        features.table.update(kept)


def arrivals(rows: Rows, places: np.ndarray, c: np.ndarray | None, apart: bool) -> Iterator[tuple[int, list[int]]]:
    """Yield a row and the names without a place that come with it, in their order: row 0 with all names, or each row apart.

    A row of weight 0 brings no names.
    """
    indptr, indices, _ = rows.packed().arrays
    here = np.zeros(len(places), bool)
    here[indices] = True
    new = np.flatnonzero(here & (places == NOWHERE))
    if c is None and not apart and len(new):  # a batch numbers its names as they come
        yield 0, new.tolist()
    if len(new) == 0 or (c is None and not apart):
        return
    at = np.flatnonzero(places[indices] == NOWHERE)
    row = np.searchsorted(indptr, at, side="right") - 1
    if c is not None:
        at, row = at[c[row] > 0.0], row[c[row] > 0.0]
    names, first = np.unique(indices[at], return_index=True)
    order = np.argsort(first)
    comes = row[first[order]] if apart else np.zeros(len(order), np.int64)
    for i, group in groupby(zip(comes.tolist(), names[order].tolist(), strict=True), key=itemgetter(0)):
        yield i, [name for _, name in group]


def moved(rows: Rows, places: np.ndarray) -> Rows:
    """Return rows in other places; what has none is left out."""
    rows = rows.packed()
    indptr, indices, data = rows.arrays
    found = rows._replace(arrays=(indptr, places[indices], data))
    known = found.arrays[1] != NOWHERE
    return found if known.all() else only(found, known)


Features = Columns | Numbers | Names | Hashed | Anything
