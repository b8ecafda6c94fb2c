"""What stands before a learner: batches of tables or rows come in, rows of numbered features go out, with their targets."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..algorithm.kernel_options import snake
from ..files.json_values import decode, options
from ..inputs.batch import Batch
from ..inputs.checking import Rows
from ..inputs.features import Columns, Features, Hashed, Numbers
from ..inputs.labels import Coded
from ..parts import kinds
from .maps import MAPS
from .side_columns import domains, targets_and_sides
from .step import Map
from .table import Mark, Table

ROOM = 1 << 19  # numbers in the features of a piece: 4 MB, which caches hold


class Undo(NamedTuple):
    """What to go back to when a batch fails."""

    table: Mark | None
    maps: list[tuple[Map, Any]]
    width: int | None


class Front:
    """A table (or none, for rows that are numbered already) and maps of rows, in order. It is saved with the model."""

    def __init__(self, table: Table | None = None, maps: Sequence[Map] = ()) -> None:
        self.table = table
        self.maps: tuple[Map, ...] = tuple(maps)
        own = [i for i, m in enumerate(self.maps) if m.outputs is not None]
        self._wide = own[0] if own else len(self.maps)  # where the maps begin that make features of their own
        self.width: int | None = None  # of dense rows
        self._undo: Undo | None = None

    def batch(self, batch: Batch, learn: bool) -> Batch:
        """Return a batch with Rows for data, and the targets and side columns of a table. A batch that fails changes nothing."""
        data = batch.data
        numbered = isinstance(data, Rows)  # which are tuples too
        if (isinstance(data, (list, tuple)) and not numbered) or (numbered and self.table is None):
            return batch._replace(data=self.rows(data, learn).beside(**batch.waiting), waiting={})
        if self.table is None or numbered:
            raise TypeError(
                f"expected {'a table' if self.table is not None else 'rows of numbers'}, got {about(data)}: {self._learned()}"
            )
        filled = self.filled(batch, learn)
        return filled._replace(data=self.rows(data, learn).beside(**filled.waiting), waiting={})

    def _learned(self) -> str:
        """Return what this takes, and does not."""
        if self.table is None:
            return "the model learned from rows of numbered features, and these have named columns"
        return "the model learned from a table with named columns, and these rows have numbers for names"

    def filled(self, batch: Batch, learn: bool) -> Batch:
        """Return a batch of a record batch with targets and side columns from its columns, where it brings none itself."""
        assert self.table is not None
        y, columns = targets_and_sides(self.table, batch.data, learn and batch.y is None)
        y = y if batch.y is None else batch.y
        if learn and y is not None and count(y) != batch.n:
            raise ValueError(f"expected a target for each of {batch.n} rows, got {count(y)}")
        return batch._replace(y=y, waiting={**columns, **batch.waiting})

    def rows(self, data: Any, learn: bool) -> Rows:
        """Return the rows of a record batch, of a list of dicts, or of Rows."""
        return self.mapped(self.scaled(data, learn), learn)

    def scaled(self, data: Any, learn: bool) -> Rows:
        """Return rows whose features are still those of the table or the columns: the first half of `rows`."""
        undo = Undo(None if self.table is None else self.table.mark(), [], self.width)
        try:
            rows, measured = self._numbered(data, learn)
            for m in self.maps[: self._wide]:
                if learn:
                    undo.maps.append((m, m.mark(rows)))
                rows = through(m, rows, learn, measured)
        except BaseException:
            self._back(undo)
            raise
        self._undo = undo if learn else self._undo
        return rows

    def mapped(self, rows: Rows, learn: bool) -> Rows:
        """Return the features that maps make of scaled rows: all of them, or one piece after the other.

        The first piece says what to go back to.
        """
        try:
            for m in self.maps[self._wide :]:
                if learn and self._undo is not None and all(m is not marked for marked, _ in self._undo.maps):
                    self._undo.maps.append((m, m.mark(rows)))
                rows = through(m, rows, learn)
        except BaseException:
            if learn:
                self.back()
            raise
        return rows

    def pieces(self, rows: Rows) -> list[tuple[int, int]]:
        """Return the runs of scaled rows to map at once, so that memory does not grow with them."""
        stored = max((m.stored for m in self.maps[self._wide :]), default=0)
        size = max(1, ROOM // stored if stored else rows.n)
        return [(a, min(a + size, rows.n)) for a in range(0, max(rows.n, 1), size)]

    def in_pieces(self, data: Any, learn: bool) -> Iterator[tuple[int, int, Rows]]:
        """Yield runs of rows from a to b with their features, one after the other."""
        rows = self.scaled(data, learn)
        for a, b in self.pieces(rows):
            yield a, b, self.mapped(rows.cut(a, b), learn)

    def _numbered(self, data: Any, learn: bool) -> tuple[Rows, np.ndarray | None]:
        """Return rows of numbered features, before the maps; and of a table, which entries are made of numbers."""
        if isinstance(data, Rows):
            if data.layout == "dense" and data.width != (self.width or data.width):
                raise ValueError(f"X has {data.width} features, expected {self.width} as before")
            if learn and data.layout == "dense":
                self.width = data.width
            return data.packed(), None
        if self.table is None:
            raise TypeError(f"expected rows of numbers, got {about(data)}: a Table makes features of named columns")
        domain = None if self.table.task is None else domains(self.table.task, data)
        rows, measured = self.table.encoded(data, learn)
        return rows.beside(domain=domain), measured

    def back(self) -> None:
        """Forget what was learned from the last batch: for a learner that refuses it."""
        if self._undo is not None:
            self._back(self._undo)
            self._undo = None

    def _back(self, undo: Undo) -> None:
        if self.table is not None and undo.table is not None:
            self.table.back(undo.table)
        for m, was in reversed(undo.maps):
            m.back(was)
        self.width = undo.width

    # ---- features ------------------------------------------------------------------------------------------------------
    def features(self, bias: bool) -> Features:
        """Return the table of features of a model that begins behind this front."""
        if self.outputs is not None:
            return Columns(self.outputs, bias)
        if self.table is not None and self.table.hash_bits is not None:
            return Hashed(self.table.hash_bits, bias)
        if self.table is None and self.width is not None:
            return Columns(self.width, bias)
        return self.entitle(Numbers(bias))

    def entitle(self, features: Features) -> Features:
        """Let numbered features know where their names are."""
        if isinstance(features, Numbers):
            features.titles = self.table
        return features

    @property
    def outputs(self) -> int | None:
        """Features that go out where a map makes its own; None where they are those of the table or the rows."""
        return next((m.outputs for m in reversed(self.maps) if m.outputs is not None), None)

    @property
    def nbytes(self) -> int:
        """Bytes that the maps keep."""
        return sum(m.nbytes for m in self.maps)

    @property
    def names(self) -> list[str] | None:
        """Names of the features by number; None where they have none, or are hashed."""
        if self.table is None or self.table.hash_bits is not None or self.outputs is not None:
            return None
        return self.table.feature_names

    # ---- copies, files -------------------------------------------------------------------------------------------------
    def fresh(self) -> Front:
        """Return a front with the same settings that has learned nothing."""
        return Front(None if self.table is None else self.table.fresh(), [m.fresh() for m in self.maps])

    def merge(self, other: Front, times: int = 1) -> np.ndarray | None:
        """Take in what another front has learned; return the number here of each of its features, None where they are the same.

        Below 0, `times` says how often to take statistics out again that all who were merged began with; names stay.
        """
        if [type(m) for m in self.maps] != [type(m) for m in other.maps] or (self.table is None) != (other.table is None):
            raise ValueError(f"cannot merge fronts of different steps: {self!r} and {other!r}")
        numbers = None if self.table is None or other.table is None else self.table.merge(other.table, times)
        for mine, theirs in zip(self.maps, other.maps, strict=True):
            if times > 0:
                mine.merge(theirs, numbers)
            else:
                mine.less(theirs, -times, numbers)
            numbers = numbers if mine.outputs is None else None
        self.width = other.width if self.width is None else self.width
        return numbers

    def meta(self) -> dict[str, Any]:
        """Return everything that is not an array, as JSON values."""
        return {
            "table": None if self.table is None else self.table.meta(),
            "maps": [map_meta(m) for m in self.maps],
            "width": self.width,
        }

    def tensors(self) -> dict[str, np.ndarray]:
        """Return the arrays, by name."""
        found = {} if self.table is None else {f"table.{k}": v for k, v in self.table.tensors().items()}
        for i, m in enumerate(self.maps):
            found |= {f"maps.{i}.{k}": v for k, v in m.state().items()}
        return found

    @classmethod
    def restored(cls, meta: Mapping[str, Any], tensors: Mapping[str, np.ndarray]) -> Front:
        """Return the front that was saved; it continues bit for bit."""

        def under(start: str) -> dict[str, np.ndarray]:
            return {k.removeprefix(start): v for k, v in tensors.items() if k.startswith(start)}

        table = None if meta["table"] is None else Table.restored(meta["table"], under("table."))
        maps = []
        for i, own in enumerate(meta["maps"]):
            m = map_of(own)
            m.restore(under(f"maps.{i}."))
            maps.append(m)
        front = cls(table, maps)
        front.width = None if meta["width"] is None else int(meta["width"])
        return front

    def __repr__(self) -> str:
        return f"Front({', '.join(map(repr, [*([] if self.table is None else [self.table]), *self.maps]))})"


def map_meta(m: Map) -> dict[str, Any]:
    """Return the settings of a map, as JSON values."""
    return {"kind": snake(type(m).__name__), "settings": options(m.get_params(), "setting", kinds())}


def map_of(meta: Mapping[str, Any]) -> Map:
    """Return the map with these settings."""
    if meta["kind"] not in MAPS:
        raise ValueError(f"expected one of the maps {', '.join(MAPS)}, found {meta['kind']!r}: import the module that registers it")
    return MAPS[meta["kind"]](**{k: decode(v, kinds()) for k, v in meta["settings"].items()})


def through(m: Map, rows: Rows, learn: bool, measured: np.ndarray | None = None) -> Rows:
    """Return what a map makes of rows, with their side columns: a map may make new rows."""
    out = m.rows(rows, learn, measured)
    return out._replace(columns=rows.columns, total=math.nan)


def count(y: Any) -> int:
    """Return how many targets there are."""
    return len(y.codes) if isinstance(y, Coded) else len(y)


def about(data: Any) -> str:
    """Return what came, for an error."""
    return f"{data.layout} rows of numbers" if isinstance(data, Rows) else f"a {type(data).__name__}"
