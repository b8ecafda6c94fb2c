"""Arrays as streams: .npz and .npy files, and what is in memory: arrays, sparse matrices, frames, examples as dicts.

An .npz holds `X`, or the parts that scipy.sparse.save_npz writes, with `y` and `sample_weight` if there are any. `X` and
`y` may have other names that are usual.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from typing import Any

import numpy as np

from ..inputs import checking
from ..inputs.batch import Batch, Position, Reader, Skipped
from ..inputs.checking import Rows
from ..inputs.labels import Coded
from ..text import brief, said, shortened
from ..transforms.table_cells import is_frame, record_of
from .pieces import limits, places
from .source import Source, compression, expand, named, open_plain, place, same_place, shrunk, size_of, total_size

ROWS = 1 << 14
CALLED_X = ("x", "data", "features", "arr_0")  # arr_0 and arr_1: how numpy.savez calls what was given without names
CALLED_Y = ("Y", "target", "targets", "label", "labels", "arr_1")
FIRST = {"file": 0, "row": 0, "examples": 0, "skipped": 0}  # the position where all begins


class MemoryReader(Reader):
    """Rows or a record batch that are in memory, given in pieces."""

    def __init__(self, data: Any, y: Any, c: np.ndarray | None, name: str, kind: str, rows: int = ROWS) -> None:
        super().__init__()
        self.all = Batch(data, y, {}).beside(weight=c)
        self.name, self.kind, self.rows, self.tabular = name, kind, rows, not isinstance(data, Rows)

    def batches(self, position: Position | None = None) -> Iterator[Batch]:
        """Yield the examples."""
        self.skipped = Skipped()
        at, end = position or self.span[0] or FIRST, self.span[1] or {"row": None}
        yield from slices(self.all, self.rows, (at["row"], end["row"]), {"file": 0, "path": self.name}, not_here(at))

    def starts(self, n: int) -> list[Position | None]:
        """Return the positions of n rows, equally far apart."""
        return row_starts(self.all.n, n)


class RecordsReader(Reader):
    """Examples as (dict, label) or (dict, label, weight), from a list or any iterable; an iterator gives one pass."""

    kind = "records"
    name = "records"
    tabular = True

    def __init__(self, source: Iterable[Any], rows: int = 1024) -> None:
        super().__init__()
        self.source, self.rows = source, rows
        self.replayable = iter(source) is not source

    def batches(self, position: Position | None = None) -> Iterator[Batch]:
        """Yield the examples."""
        self.begin_pass()
        self.skipped = Skipped()
        at, end = position or self.span[0] or FIRST, self.span[1] or {"row": None}
        row, before = at["row"], not_here(at)
        source = itertools.islice(iter(self.source), row, end["row"])
        while part := list(itertools.islice(source, self.rows)):
            for i, example in enumerate(part):
                if not (isinstance(example, tuple) and len(example) in (2, 3) and isinstance(example[0], Mapping)):
                    raise TypeError(f"example {row + i}: expected (dict, label) or (dict, label, weight), got {brief(example)}")
            row += len(part)
            c = None
            if any(len(e) == 3 for e in part):
                c = checking.sample_weights([e[2] if len(e) == 3 else 1.0 for e in part], len(part))
            labels = [e[1] for e in part]
            y = None if all(v is None for v in labels) else checking.targets(labels, len(part), numeric=False)
            yield Batch([e[0] for e in part], y, {"file": 0, "row": row, "examples": before + row, "skipped": 0}).beside(weight=c)

    def starts(self, n: int) -> list[Position | None]:
        """Return the positions of n examples, equally far apart."""
        if not isinstance(self.source, Sized):
            return super().starts(n)
        return row_starts(len(self.source), n)


class ArraysReader(Reader):
    """Files of arrays: .npz, and .npy with rows of numbers. Each file is in memory while it is read."""

    kind = "npz"

    def __init__(self, source: Source, rows: int = ROWS) -> None:
        super().__init__()
        self.paths = expand(source, "*.npz")
        self.name = named(source, self.paths)
        self.size = total_size(self.paths)
        self.rows = rows

    def batches(self, position: Position | None = None) -> Iterator[Batch]:
        """Yield the examples."""
        self.skipped = Skipped()
        at = position or self.span[0] or {**FIRST, **place(self.paths, 0)}
        same_place(self.paths, at, "row")
        before = not_here(at)
        ends = limits(self.paths, self.span[1], "row")
        for k in range(at["file"], len(ends)):
            whole = loaded(self.paths[k])
            span = (at["row"] if k == at["file"] else 0, ends[k])
            if max(span[0], span[1] or 0) > whole.n:
                raise shrunk(self.paths[k], max(span[0], span[1] or 0), whole.n, "rows")
            yield from slices(whole, self.rows, span, place(self.paths, k), before)
            before += whole.n
            self.read = sum(map(size_of, self.paths[: k + 1]))

    def starts(self, n: int) -> list[Position | None]:
        """Return the positions of n rows, equally far apart."""
        found = places([loaded(path).n for path in self.paths], n, lambda _, rows: rows)
        return [{**FIRST, **place(self.paths, file, row=row)} for file, row in found]


def loaded(path: str) -> Batch:
    """Return the rows, targets and weights in a file of arrays."""
    if compression(path) is not None:
        raise ValueError(f"{path}: expected .npz or .npy as NumPy writes it, found a compressed file. Unpack it first.")
    try:
        with open_plain(path) as file:
            found = np.load(file, allow_pickle=False)
            arrays = {"X": found} if isinstance(found, np.ndarray) else {k: found[k] for k in found.files}
    except Exception as e:  # of the unpacker, the parser of headers, the allocator: a damaged file raises any kind
        raise ValueError(f"{path}: expected arrays of numbers as NumPy saves them ({said(e)})") from None
    try:
        return taken(arrays)
    except (ValueError, TypeError, KeyError, IndexError, MemoryError) as e:
        raise ValueError(f"{path}: {said(e)}") from None


def taken(arrays: dict[str, np.ndarray]) -> Batch:
    """Return the rows, targets and weights among named arrays."""
    sparse = {"indptr", "indices", "data", "shape"} <= arrays.keys()
    X = arrays.get("X") if sparse else called("X", CALLED_X, arrays)
    if X is None and sparse:
        from scipy.sparse import csr_array

        format_ = arrays.get("format", np.array(b"csr")).item()
        if format_ not in (b"csr", "csr"):
            raise ValueError(f"expected a sparse matrix in the format csr, found {brief(format_)}; use tocsr() first")
        X = csr_array((arrays["data"], arrays["indices"], arrays["indptr"]), shape=tuple(arrays["shape"]))
    if X is None:
        raise misnamed(arrays)
    rows = checking.rows(X, "float64")
    y = called("y", CALLED_Y, arrays)
    y = None if y is None else checking.targets(y, rows.n, numeric=False)
    return Batch(rows.beside(weight=checking.sample_weights(arrays.get("sample_weight"), rows.n)), coded(y), {})


def called(name: str, others: Sequence[str], arrays: dict[str, np.ndarray]) -> np.ndarray | None:
    """Return an array by its name, or by another that is usual; None where there is none."""
    found = [n for n in others if n in arrays]
    if name not in arrays and len(found) > 1:
        raise misnamed(arrays)
    return arrays.get(name, arrays[found[0]] if found else None)


def misnamed(arrays: dict[str, np.ndarray]) -> ValueError:
    """Return the error of arrays among which the rows or labels cannot be told."""
    there = ", ".join(f"{name} ({' x '.join(map(str, array.shape))})" for name, array in list(arrays.items())[:8])
    return ValueError(
        f"expected an array X, and y for labels, or the parts of a sparse matrix; found {shortened(there, 120) or 'nothing'}. Save "
        "them by these names: numpy.savez(path, X=..., y=...)"
    )


def coded(y: np.ndarray | None) -> np.ndarray | Coded | None:
    """Return labels that are texts by table."""
    if y is None or y.dtype.kind not in "US":
        return y
    values, codes = np.unique(y, return_inverse=True)
    return Coded(values.tolist(), codes.astype(np.int64))


def not_here(at: Position) -> int:
    """Return how many examples came before a position that are not rows of its file; less than 0 in a piece of it."""
    found: int = at.get("examples", at["row"]) - at["row"]
    return found


def row_starts(rows: int, n: int) -> list[Position | None]:
    """Return the positions of n rows, equally far apart."""
    return [{**FIRST, "row": row} for _, row in places([rows], n, lambda _, rows: rows)]


def slices(whole: Batch, size: int, span: tuple[int, int | None], where: Position, before: int) -> Iterator[Batch]:
    """Yield a batch in slices, from some row on to another, or to the end."""
    end = whole.n if span[1] is None else span[1]
    for a in range(span[0], end, size):
        b = min(a + size, end)
        yield whole.cut(a, b)._replace(position={**where, "row": b, "examples": before + b, "skipped": 0})


def in_memory(source: Any, y: Any = None, sample_weight: Any = None) -> Reader:
    """Return the reader of something in memory: (X, y), an array, a sparse matrix, a frame, or examples as (dict, label)."""
    if isinstance(source, tuple) and len(source) in (2, 3) and y is None and not isinstance(source[0], (str, Mapping)):
        source, y, *rest = source
        sample_weight = rest[0] if rest else sample_weight
    if is_frame(source):
        record = record_of(source)
        targets = None if y is None else coded(checking.targets(y, record.num_rows, numeric=False))
        return MemoryReader(record, targets, checking.sample_weights(sample_weight, record.num_rows), "frame", "frame")
    if isinstance(source, np.ndarray) or hasattr(source, "tocsr"):
        rows = checking.rows(source, "float64")
        targets = None if y is None else coded(checking.targets(y, rows.n, numeric=False))
        return MemoryReader(rows, targets, checking.sample_weights(sample_weight, rows.n), "arrays", "arrays")
    if isinstance(source, (list, tuple)) and source and isinstance(source[0], Mapping):
        labels = [None] * len(source) if y is None else list(y)
        return RecordsReader(list(zip(source, labels, strict=True)))
    if isinstance(source, Iterable) and not isinstance(source, (str, bytes, Mapping)):
        return RecordsReader(source)
    raise TypeError(
        f"expected a path, bytes, an array, a sparse matrix, a frame or examples as (dict, label); got {type(source).__name__}"
    )
