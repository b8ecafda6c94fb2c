"""A stream: a reader and, for tables, the front that makes features of columns."""

from __future__ import annotations

import inspect
import io
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from ..inputs.batch import Batch, Position, Reader, Skipped
from ..inputs.checking import Rows
from ..inputs.features import Columns, Features, Hashed, Numbers
from ..text import meant, plural
from ..transforms.front import Front
from ..transforms.namespaces import Namespaces
from ..transforms.scale import Normalize, Scale
from ..transforms.step import Map
from ..transforms.table import Table, listed
from . import formats
from .source import Held

ROLES = tuple(k for k in inspect.signature(Table).parameters if k != "hash_bits")


class Stream:
    """Examples in order, in as many passes as the source allows; each pass is the same.

    A pass without a front given begins with a fresh one, so running statistics and the numbering of names are those of the pass.
    """

    labelled = False  # whether rows that are only answered must have labels too, since the answers are measured

    def __init__(self, reader: Reader, front: Front | None = None) -> None:
        self.reader = reader
        self.front = front
        self.rows = 0  # of the last pass, those of weight 0 included
        self.cut = False  # whether a limit ended the last pass before the source did

    @property
    def name(self) -> str:
        """What the user called it."""
        return self.reader.name

    @property
    def kind(self) -> str:
        """The format."""
        return self.reader.kind

    @property
    def skipped(self) -> Skipped:
        """Bad rows left out in the last pass."""
        return self.reader.skipped

    def chunks(
        self, position: Position | None = None, front: Front | None = None, learn: bool = True, limit: int | None = None
    ) -> Iterator[Batch]:
        """Yield batches whose data are Rows, at most `limit` rows in all.

        A front that is given keeps learning; with learn=False it stays as it is.
        """
        if front is None and self.front is not None:
            front = self.front = self.front.fresh()
        needed = learn or self.labelled
        if front is not None and front.table is not None:
            self.reader.heed(front.table, needed)
        if not needed:
            self.reader.allow_unlabelled()
        for batch in self._within(limit, iter(self.reader.batches(position))):
            self.rows += batch.n
            yield batch if front is None else self._featured(front, batch, learn)

    def _within(self, limit: int | None, batches: Iterator[Batch]) -> Iterator[Batch]:
        """Yield the batches up to a number of rows, cut before a front learns from the rest."""
        self.rows, self.cut = 0, False
        waits = self.reader.endless or not self.reader.replayable  # so that asking whether there is more may take for ever
        while not (waits and self.rows == limit) and (batch := next(batches, None)) is not None:
            left = batch.n if limit is None else limit - self.rows
            if batch.numbers is None and (read := batch.position.get("examples")) is not None and not batch.position.get("skipped"):
                batch = batch._replace(numbers=np.arange(read - batch.n, read))
            self.cut = left < batch.n
            if left:
                yield batch.cut(0, min(left, batch.n))
            if self.cut:
                return

    def _featured(self, front: Front, batch: Batch, learn: bool) -> Batch:
        """Return a batch behind a front; an error names the file."""
        try:
            with batch.named_in_errors():
                return front.batch(batch, learn)
        except (ValueError, TypeError) as e:
            if "path" not in batch.position:
                raise
            raise type(e)(f"{batch.position['path']}: {e}") from e

    def nothing(self) -> ValueError:
        """Return the error of a pass that found no example, with what was there instead."""
        found = [f"{plural(self.rows, 'row')} of weight 0"] if self.rows else []
        found += [f"{plural(self.skipped.count, 'bad row')}, the first {self.skipped.first[0]}"] if self.skipped.count else []
        return ValueError(f"{self.name} has no examples{', but ' if found else ''}{' and '.join(found)}")

    def features(self, rows: Rows, bias: bool) -> Features:
        """Return the table of features of a model that begins with these rows."""
        if self.front is not None and (self.front.table is not None or self.front.outputs is not None):
            return self.front.features(bias)
        if self.reader.hash_bits is not None:
            return Hashed(self.reader.hash_bits, bias)
        fixed = rows.layout == "dense" or rows.names is not None
        return Columns(rows.width, bias, rows.names) if fixed else Numbers(bias)

    def split(self, n: int) -> list[Stream]:
        """Return streams of consecutive pieces, at most n and about equal, which together give every row once and in order.

        Columns and what they hold are decided as in a pass over the whole. `piece=stream.reader.span` opens a piece again.
        """
        if self.front is not None and self.front.table is not None:
            self.reader.heed(self.front.table, True)
        return [Stream(piece, self.front) for piece in self.reader.split(n)]

    @property
    def unused(self) -> int:
        """Columns before the first feature, where the source numbers features: from 1 on, there is no feature 0."""
        mapped = self.front is not None and self.front.outputs is not None
        return 0 if mapped else self.reader.least or 0

    def about(self) -> dict[str, Any]:
        """Return what a report says about the source."""
        size = self.reader.size if self.reader.unit == "bytes" else None
        return {"name": self.name, "kind": self.kind, "bytes": size}


def counting(batch: Batch) -> Batch:
    """Return the rows that count: those of weight 0 are not examples."""
    return batch if batch.c is None or batch.c.all() else batch.take(np.flatnonzero(batch.c))


# ---- opening ---------------------------------------------------------------------------------------------------------
def known_options(given: Iterable[str], others: Sequence[str] = ()) -> None:
    """Refuse an option that neither a source has nor stands among others, with one that is close."""
    own = [k for k, v in inspect.signature(stream).parameters.items() if v.kind is inspect.Parameter.KEYWORD_ONLY]
    known = [*others, *own, *ROLES]
    for name in given:
        if name not in known:
            raise TypeError(f"there is no option {name!r}. {meant(name, known)}There are {', '.join(known)}")


def stream(
    source: Any,
    y: Any = None,
    *,
    format: str | None = None,  # noqa: A002
    front: Front | None = None,
    maps: Sequence[Map] = (),
    hash_bits: int | None = None,
    scale: bool = False,
    normalize: str | None = None,
    on_bad: str = "stop",
    threads: int = 2,
    header: bool | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    vocabulary: Any = None,
    piece: tuple[Position | None, Position | None] | None = None,
    **roles: Any,
) -> Stream:
    """Return a source as a Stream.

    `source` is a path, a glob, a list of these, "-" for standard input, "synthetic:NAME?option=value", the bytes of a file, an
    array, sparse matrix or frame (with labels in `y`, or in its column `target`), or a list of (dict, label). Formats are known by
    name or by their first bytes: svmlight, vw, csv, tsv, jsonl, parquet, arff, npz, ldac, docword, text. `piece` gives the two
    positions between which to read, as `split` finds them. `vocabulary`, a file with a word a line or a list, names the words of
    ldac and docword.

    For tables: `target`, `weight`, `id`, `time`, `task`, `bundle` (a query or sentence), `user` and `item` name columns; `numeric`,
    `categorical`, `text` and `ignore` say what the others are (by default numbers are numeric and text is a category), `cross` adds
    products of columns (and of the namespaces of VW text), `ngrams` runs of words; `stop_words` are left out, and words met
    fewer than `min_count` times.
    `hash_bits` folds features into 2^hash_bits places, `scale` standardises them as they come, `normalize` brings rows to length
    1; a `front` given does all of this instead. `maps` (RandomFourier, ...) come after it.

    >>> import noregret as nr
    >>> opened = nr.stream("synthetic:sea?n=10000")
    >>> [batch.data.n for batch in opened.chunks()]
    [4096, 4096, 1808]
    """
    if isinstance(source, Stream):
        return Stream(source.reader, followed(source.front, maps)) if maps else source
    known_options(roles)
    if on_bad not in ("stop", "skip"):
        raise ValueError(f"on_bad must be 'stop' or 'skip', got {on_bad!r}")
    given = {k: v for k, v in roles.items() if not (v is None or (isinstance(v, (list, tuple)) and len(v) == 0))}
    crosses = [c for m in (*(() if front is None else front.maps), *maps) if isinstance(m, Namespaces) for c in m.crosses]
    cells = {"header": header, "delimiter": delimiter, "decimal": decimal}
    options = {"hash_bits": hash_bits, "on_bad": on_bad, "threads": threads, "vocabulary": vocabulary, **cells}
    reader = open_reader(source, y, format, **options, cross=crosses or given.get("cross", ()))
    reader = reader if piece is None else reader.piece(*piece)
    if vocabulary is not None and reader.words is None:
        raise ValueError(f"{reader.name} is {reader.kind}, which has no words by number: vocabulary is for ldac and docword")
    if crosses and not reader.cross:
        raise ValueError(f"{reader.name} is {reader.kind}, which has no namespaces: the model crosses those of VW text")
    if reader.cross and "cross" in given:
        maps = (*agreed(Namespaces(given.pop("cross")), crosses, front), *maps)
    if given and not reader.tabular:
        hint = "; weights of arrays come beside them, (X, y, weights)" if "weight" in given and reader.kind == "arrays" else ""
        raise ValueError(f"{reader.name} is {reader.kind}, which has no named columns: {min(given)!r} is for tables{hint}")
    if front is None:
        if reader.usual_text is not None and reader.usual_text not in Table(**given).named:
            given["text"] = [*listed(given.get("text")), reader.usual_text]
        table = Table(**given, hash_bits=hash_bits) if reader.tabular else None
        maps = (*([Scale()] if scale else []), *([Normalize(normalize)] if normalize else []), *maps)
        front = Front(table, maps) if table is not None or maps else None
    elif maps:
        front = followed(front, maps)
    return Stream(reader, front)


def agreed(given: Namespaces, crosses: list[tuple[str, ...]], front: Front | None) -> list[Map]:
    """Return the step that crosses the namespaces given, nothing where the steps of a model do so already."""
    if front is None and not crosses:
        return [given]
    if given.crosses != crosses:
        own = " and ".join(",".join(c) for c in crosses) or "no namespaces"
        raise ValueError(f"the model crosses {own}: leave out cross (--cross)")
    return []


def followed(front: Front | None, maps: Sequence[Map]) -> Front:
    """Return a new front, with more maps after its own."""
    begun = Front() if front is None else front.fresh()
    return Front(begun.table, [*begun.maps, *maps])


def open_reader(source: Any, y: Any, format: str | None, **options: Any) -> Reader:  # noqa: A002
    """Return the reader of a source; it gets those of the options that it takes."""
    if isinstance(source, Reader):
        return source
    if isinstance(source, (bytes, bytearray, memoryview, io.BytesIO)):
        source = Held(source.getvalue() if isinstance(source, io.BytesIO) else bytes(source))
    address = formats.of_address(source)
    if address is not None:
        return address.open(source, **options)
    if is_path(source):
        return formats.of_files(source, format).open(source, **options)
    from .arrays import in_memory

    return in_memory(source, y)


def is_path(source: Any) -> bool:
    """Return whether a source names files."""
    if isinstance(source, (list, tuple)):
        return len(source) > 0 and all(isinstance(s, (str, os.PathLike)) for s in source)
    return isinstance(source, (str, os.PathLike))
