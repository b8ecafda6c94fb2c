"""Arrays as streams: .npz and .npy files, and what is in memory: arrays, sparse matrices, frames, examples as dicts.

An .npz holds `X`, or the parts that scipy.sparse.save_npz writes, with `y` and `sample_weight` if there are any.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from ..core import inputs
from ..core.batch import Batch, Position, Reader, Skipped
from ..core.inputs import Rows
from ..core.labels import Coded
from ..transforms.cells import is_frame, record_of
from .source import Source, compression, expand, total_size

ROWS = 1 << 14


class MemoryReader(Reader):
    """Rows or a record batch that are in memory, given in pieces."""

    def __init__(self, data: Any, y: Any, c: np.ndarray | None, name: str, kind: str, rows: int = ROWS) -> None:
        super().__init__()
        self.all = Batch(data, y, {}).beside(weight=c)
        self.name, self.kind, self.rows, self.tabular = name, kind, rows, not isinstance(data, Rows)

    def batches(self, position: Position | None = None) -> Iterator[Batch]:
        """Yield the examples."""
        self.skipped = Skipped()
        yield from pieces(self.all, self.rows, position or {"row": 0}, {"file": 0, "path": self.name}, 0)


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
        row = 0 if position is None else position["row"]
        source = itertools.islice(iter(self.source), row, None)
        while part := list(itertools.islice(source, self.rows)):
            for i, example in enumerate(part):
                if not (isinstance(example, tuple) and len(example) in (2, 3) and isinstance(example[0], Mapping)):
                    raise TypeError(f"example {row + i}: expected (dict, label) or (dict, label, weight), got {example!r:.200}")
            row += len(part)
            c = None
            if any(len(e) == 3 for e in part):
                c = inputs.sample_weights([e[2] if len(e) == 3 else 1.0 for e in part], len(part))
            labels = [e[1] for e in part]
            y = None if all(v is None for v in labels) else inputs.targets(labels, len(part), numeric=False)
            yield Batch([e[0] for e in part], y, {"file": 0, "row": row, "examples": row, "skipped": 0}).beside(weight=c)


class ArraysReader(Reader):
    """Files of arrays: .npz, and .npy with rows of numbers. Each file is in memory while it is read."""

    kind = "npz"

    def __init__(self, source: Source, rows: int = ROWS) -> None:
        super().__init__()
        self.paths = expand(source, "*.npz")
        self.name = os.fspath(source) if isinstance(source, (str, os.PathLike)) else ", ".join(self.paths)
        self.size = total_size(self.paths)
        self.rows = rows

    def batches(self, position: Position | None = None) -> Iterator[Batch]:
        """Yield the examples."""
        self.skipped = Skipped()
        at = position or {"file": 0, "row": 0, "examples": 0}
        before = at["examples"] - at["row"]
        for k in range(at["file"], len(self.paths)):
            whole = loaded(self.paths[k])
            here = {"row": at["row"] if k == at["file"] else 0}
            yield from pieces(whole, self.rows, here, {"file": k, "path": self.paths[k]}, before)
            before += whole.n
            self.read = sum(map(os.path.getsize, self.paths[: k + 1]))


def loaded(path: str) -> Batch:
    """Return the rows, targets and weights in a file of arrays."""
    if compression(path) is not None:
        raise ValueError(f"{path}: expected .npz or .npy as NumPy writes it, found a compressed file. Unpack it first.")
    try:
        found = np.load(path, allow_pickle=False)
    except (ValueError, EOFError, OSError) as e:
        raise ValueError(f"{path}: expected arrays of numbers as NumPy saves them ({e})") from None
    if isinstance(found, np.ndarray):
        return Batch(inputs.rows(found, "float64"), None, {})
    try:
        with found:
            return taken({k: found[k] for k in found.files})
    except (ValueError, TypeError, KeyError) as e:
        raise ValueError(f"{path}: {e}") from None


def taken(arrays: dict[str, np.ndarray]) -> Batch:
    """Return the rows, targets and weights among named arrays."""
    X = arrays.get("X")
    if X is None and {"indptr", "indices", "data", "shape"} <= arrays.keys():
        from scipy.sparse import csr_array

        format_ = arrays.get("format", np.array(b"csr")).item()
        if format_ not in (b"csr", "csr"):
            raise ValueError(f"expected a sparse matrix in the format csr, found {format_!r}; use tocsr() first")
        X = csr_array((arrays["data"], arrays["indices"], arrays["indptr"]), shape=tuple(arrays["shape"]))
    if X is None:
        raise ValueError(f"expected an array X, or the parts of a sparse matrix; found {', '.join(arrays) or 'nothing'}")
    rows = inputs.rows(X, "float64")
    y = arrays.get("y")
    y = None if y is None else inputs.targets(y, rows.n, numeric=False)
    return Batch(rows.beside(weight=inputs.sample_weights(arrays.get("sample_weight"), rows.n)), coded(y), {})


def coded(y: np.ndarray | None) -> np.ndarray | Coded | None:
    """Return labels that are texts by table."""
    if y is None or y.dtype.kind not in "US":
        return y
    values, codes = np.unique(y, return_inverse=True)
    return Coded(values.tolist(), codes.astype(np.int64))


def pieces(whole: Batch, size: int, at: Position, where: Position, before: int) -> Iterator[Batch]:
    """Yield a batch in pieces from some row on."""
    for a in range(at["row"], whole.n, size):
        b = min(a + size, whole.n)
        yield whole.cut(a, b)._replace(position={**where, "row": b, "examples": before + b, "skipped": 0})


def in_memory(source: Any, y: Any = None, sample_weight: Any = None) -> Reader:
    """Return the reader of something in memory: (X, y), an array, a sparse matrix, a frame, or examples as (dict, label)."""
    if isinstance(source, tuple) and len(source) in (2, 3) and y is None and not isinstance(source[0], (str, Mapping)):
        source, y, *rest = source
        sample_weight = rest[0] if rest else sample_weight
    if is_frame(source):
        record = record_of(source)
        targets = None if y is None else coded(inputs.targets(y, record.num_rows, numeric=False))
        return MemoryReader(record, targets, inputs.sample_weights(sample_weight, record.num_rows), "frame", "frame")
    if isinstance(source, np.ndarray) or hasattr(source, "tocsr"):
        rows = inputs.rows(source, "float64")
        targets = None if y is None else coded(inputs.targets(y, rows.n, numeric=False))
        return MemoryReader(rows, targets, inputs.sample_weights(sample_weight, rows.n), "arrays", "arrays")
    if isinstance(source, (list, tuple)) and source and isinstance(source[0], Mapping):
        labels = [None] * len(source) if y is None else list(y)
        return RecordsReader(list(zip(source, labels, strict=True)))
    if isinstance(source, Iterable) and not isinstance(source, (str, bytes, Mapping)):
        return RecordsReader(source)
    raise TypeError(
        f"expected a path, an array, a sparse matrix, a frame or examples as (dict, label); got {type(source).__name__}"
    )
