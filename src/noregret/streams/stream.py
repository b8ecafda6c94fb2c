"""A stream: a reader and, for tables, the front that makes features of columns."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from ..core.batch import Batch, Position, Reader, Skipped
from ..core.features import Columns, Features, Hashed, Numbers
from ..core.inputs import Rows
from ..core.labels import some
from ..text import meant
from ..transforms.front import Front
from ..transforms.maps import Map
from ..transforms.scale import Normalize, Scale
from ..transforms.table import Table
from .source import STDIN, expand, is_regular, open_bytes
from .source import SUFFIXES as PACKED

ROLES = tuple(k for k in inspect.signature(Table).parameters if k != "hash_bits")


class Stream:
    """Examples in order, in as many passes as the source allows; each pass is the same.

    A pass without a front given begins with a fresh one, so running statistics and the numbering of names are those of the pass.
    """

    def __init__(self, reader: Reader, front: Front | None = None) -> None:
        self.reader = reader
        self.front = front

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

    def chunks(self, position: Position | None = None, front: Front | None = None, learn: bool = True) -> Iterator[Batch]:
        """Yield batches whose data are Rows. A front given goes on learning, or with learn=False stays as it is."""
        if front is None and self.front is not None:
            front = self.front = self.front.fresh()
        if front is not None and front.table is not None:
            self.reader.heed(front.table, learn)
        for batch in self.reader.batches(position):
            yield batch if front is None else front.batch(batch, learn)

    def features(self, rows: Rows, bias: bool) -> Features:
        """Return the table of features of a model that begins with these rows."""
        if self.front is not None and (self.front.table is not None or self.front.outputs is not None):
            return self.front.features(bias)
        if self.reader.hash_bits is not None:
            return Hashed(self.reader.hash_bits, bias)
        return Columns(rows.width, bias, rows.names) if rows.layout == "dense" else Numbers(bias)

    @property
    def unused(self) -> int:
        """Columns before the first feature, where the source numbers features: from 1 on, there is no feature 0."""
        mapped = self.front is not None and self.front.outputs is not None
        return 0 if mapped else self.reader.least or 0

    def about(self) -> dict[str, Any]:
        """Return what a report says about the source."""
        size = self.reader.size if self.reader.unit == "bytes" else None
        return {"name": self.name, "kind": self.kind, "bytes": size}


def cut(batch: Batch, a: int, b: int) -> Batch:
    """Return rows a to b of a batch whose data are Rows."""
    if a == 0 and b == batch.data.n:
        return batch
    part = slice(a, b)
    c, ids, times = (None if v is None else v[part] for v in (batch.c, batch.ids, batch.times))
    y = None if batch.y is None else some(batch.y, part)
    return batch._replace(data=batch.data.cut(a, b), y=y, c=c, ids=ids, times=times)


def taken(batch: Batch, rows: np.ndarray) -> Batch:
    """Return some rows of a batch, in the order asked for."""
    c, ids, times = (None if v is None else np.asarray(v)[rows] for v in (batch.c, batch.ids, batch.times))
    y = None if batch.y is None else some(batch.y, rows)
    return batch._replace(data=batch.data.take(rows), y=y, c=c, ids=ids, times=times)


def counting(batch: Batch) -> Batch:
    """Return the rows that count: those of weight 0 are no examples."""
    return batch if batch.c is None or batch.c.all() else taken(batch, np.flatnonzero(batch.c))


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
    **roles: Any,
) -> Stream:
    """Return a source as a Stream.

    `source` is a path, a glob, a list of these, "-" for standard input, "synthetic:NAME?option=value", an array, sparse matrix or
    frame (with labels in `y`, or in its column `target`), or a list of (dict, label). Formats are known by name or by their first
    bytes: svmlight, vw, csv, tsv, jsonl, parquet, arff, npz.

    For tables: `target`, `weight`, `id`, `time` and `task` name columns; `numeric`, `categorical`, `text` and `ignore` say what the
    others are (by default numbers are numeric and text is a category), `cross` adds products of columns, `ngrams` runs of words.
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
    given = {k: v for k, v in roles.items() if v is not None and v != () and v != []}
    reader = open_reader(source, y, format, hash_bits, on_bad, threads, header, delimiter)
    tabular = reader.kind in TABLES
    if given and not tabular:
        raise ValueError(f"{reader.name} is {reader.kind}, which has no named columns: {sorted(given)[0]!r} is for tables")
    if front is None:
        table = Table(**given, hash_bits=hash_bits) if tabular else None
        maps = (*([Scale()] if scale else []), *([Normalize(normalize)] if normalize else []), *maps)
        front = Front(table, maps) if table is not None or maps else None
    elif maps:
        front = followed(front, maps)
    return Stream(reader, front)


def followed(front: Front | None, maps: Sequence[Map]) -> Front:
    """Return a new front, with more maps after its own."""
    begun = Front() if front is None else front.fresh()
    return Front(begun.table, [*begun.maps, *maps])


TABLES = ("csv", "tsv", "jsonl", "parquet", "arff", "frame", "records")
SUFFIXES = {
    "svm": "svmlight", "svmlight": "svmlight", "libsvm": "svmlight", "vw": "vw", "csv": "csv", "tsv": "tsv", "tab": "tsv",
    "jsonl": "jsonl", "ndjson": "jsonl", "json": "jsonl", "parquet": "parquet", "pq": "parquet", "arff": "arff", "npz": "npz",
    "npy": "npz",
}  # fmt: skip
FORMATS = sorted(set(SUFFIXES.values()))


def open_reader(
    source: Any,
    y: Any,
    format: str | None,  # noqa: A002
    hash_bits: int | None,
    on_bad: str,
    threads: int,
    header: Any,
    delimiter: Any,
) -> Reader:
    """Return the reader of a source."""
    if isinstance(source, Reader):
        return source
    if isinstance(source, str) and source.startswith("synthetic:"):
        from .synthetic import from_url

        return from_url(source)
    if not is_path(source):
        from .arrays import in_memory

        return in_memory(source, y)
    if format is not None and format not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(FORMATS)}, got {format!r}")
    kind = format or known_format(source)
    if kind in ("svmlight", "vw"):
        from .svmlight import SvmlightReader
        from .vw import VwReader

        if kind == "vw":
            return VwReader(source, on_bad=on_bad, threads=threads, hash_bits=18 if hash_bits is None else hash_bits)
        return SvmlightReader(source, on_bad=on_bad, threads=threads, hash_bits=hash_bits)
    from . import arff, arrays, tables

    if kind == "npz":
        return arrays.ArraysReader(source)
    if kind == "arff":
        return arff.ArffReader(source, on_bad=on_bad)
    if kind == "parquet":
        return tables.ParquetReader(source, on_bad=on_bad)
    if kind == "jsonl":
        return tables.JsonReader(source, on_bad=on_bad)
    return tables.CsvReader(source, kind=kind, on_bad=on_bad, header=header, delimiter=delimiter)


def is_path(source: Any) -> bool:
    """Return whether a source names files."""
    if isinstance(source, (list, tuple)):
        return len(source) > 0 and all(isinstance(s, (str, os.PathLike)) for s in source)
    return isinstance(source, (str, os.PathLike))


def known_format(source: Any) -> str:
    """Return the format of files by the name of the first, or by how it begins."""
    if isinstance(source, (str, os.PathLike)) and os.path.isdir(source):
        inside = [SUFFIXES.get(ending(path), "") for path in expand(source, "*")]
        return "parquet" if "parquet" in inside else next(filter(None, inside), "parquet")
    paths = expand(source)
    if ending(paths[0]) in SUFFIXES:
        return SUFFIXES[ending(paths[0])]
    if not is_regular(paths[0]):  # what is read to tell its format would be lost
        what = "standard input" if paths[0] == STDIN else f"the pipe {paths[0]}"
        raise ValueError(f"{what} has no name to tell its format: give one of {', '.join(FORMATS)}")
    with open_bytes(paths[0]) as f:
        return sniffed(f.read(1 << 16), paths[0])


def ending(path: str) -> str:
    """Return how the name of a file ends, packing apart."""
    name = os.path.basename(path).lower()
    for suffix in PACKED:
        name = name.removesuffix(suffix)
    return name.rpartition(".")[2] if "." in name else ""


def sniffed(head: bytes, path: str) -> str:
    """Return the format that a file begins like."""
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith((b"PK\x03\x04", b"\x93NUMPY")):
        return "npz"
    lines = [line for line in head.decode("utf-8", "replace").lstrip("\ufeff").splitlines() if line.strip()]
    first = lines[0].strip() if lines else ""
    if first.startswith("{"):
        return "jsonl"
    if any(line.lower().startswith(("@relation", "@attribute")) for line in lines[:100]):
        return "arff"
    if "|" in first and first.partition("|")[2] and "," not in first.partition("|")[0]:
        return "vw"
    tokens = first.partition("#")[0].split()
    if len(tokens) > 1 and all(number(t.partition(":")[2]) and ":" in t for t in tokens[1:]) and number(tokens[0]):
        return "svmlight"
    if "\t" in first:
        return "tsv"
    if "," in first or ";" in first:
        return "csv"
    raise ValueError(f"{path}: cannot tell its format from its name or its beginning: give one of {', '.join(FORMATS)}")


def number(text: str) -> bool:
    """Return whether a text is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True
