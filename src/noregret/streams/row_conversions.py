"""Rows as writers need them: as CSR, as Arrow record batches, as text."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..inputs.batch import Batch
from ..inputs.checking import Rows
from ..inputs.labels import Coded


def sparse(rows: Rows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows as CSR arrays that begin at 0; zeros of dense rows are left out."""
    if rows.layout == "csr":
        indptr, indices, data = rows.arrays
        a, b = int(indptr[0]), int(indptr[-1])
        return indptr - a, indices[a:b], data[a:b]
    X = rows.arrays[0]
    i, j = np.nonzero(X)
    start = np.concatenate([[0], np.cumsum(np.bincount(i, minlength=rows.n))])
    return start, j, X[i, j]


def counts_of(rows: Rows, kind: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows of counts as CSR arrays that begin at 0, for a format that has no other numbers."""
    start, places, values = sparse(rows)
    odd = (values < 0) | (values != np.floor(values)) | (values > 2**53)
    if odd.any():
        at = int(np.argmax(odd))
        row = int(np.searchsorted(start, at, side="right")) - 1
        raise ValueError(f"{kind} has whole counts of words, got {values[at]:g} in row {row} of the batch: write svmlight")
    return start, places, values.astype(np.int64)


def beside(batch: Batch) -> dict[str, Any]:
    """Return label, weight and id as columns."""
    import pyarrow as pa

    found = {}
    if batch.ids is not None:
        found["id"] = pa.array([v.decode() if isinstance(v, bytes) else v for v in np.asarray(batch.ids).tolist()])
    if batch.y is not None:
        found["target"] = pa.array(batch.y.array().tolist() if isinstance(batch.y, Coded) else batch.y)
    if batch.c is not None:
        found["weight"] = pa.array(batch.c)
    return found


def recorded(batch: Batch, width: int | None) -> Any:
    """Return a batch as a record batch."""
    import pyarrow as pa

    if not isinstance(batch.data, Rows):
        return batch.data
    rows = batch.data
    X = np.zeros((rows.n, max(width or 0, rows.width)))
    if rows.layout == "dense":
        X[:, : rows.width] = rows.arrays[0]
    else:
        start, places, values = sparse(rows)
        X[np.repeat(np.arange(rows.n), np.diff(start)), places] = values
    names = rows.names or [f"x{j}" for j in range(X.shape[1])]
    columns = beside(batch) | {name: pa.array(X[:, j]) for j, name in enumerate(names)}
    return pa.RecordBatch.from_pydict(columns)


def distinct(record: Any, kind: str) -> None:
    """Refuse two columns of one name, which is how a column of texts and numbers comes."""
    names = record.schema.names
    for name in names:
        if names.count(name) > 1:
            raise ValueError(
                f"column {name!r} holds texts and numbers, or is there twice, which {kind} does not allow: write jsonl"
            )


def aligned(record: Any, names: list[str]) -> Any:
    """Return a record batch with these columns, empty where it has none of the name."""
    import pyarrow as pa

    if record.schema.names == names:
        return record
    new = [n for n in record.schema.names if n not in names]
    if new:
        raise ValueError(f"column {new[0]!r} is not among those of the first rows: write jsonl, where each row has its own")
    given = {n: record.column(n) if n in record.schema.names else pa.nulls(record.num_rows) for n in names}
    return pa.RecordBatch.from_pydict(given)


def texts(values: np.ndarray) -> Any:
    """Return numbers as the shortest texts that are read back as the same numbers."""
    import pyarrow as pa

    return pa.array(values).cast(pa.string())


def together(lines: Any) -> bytes:
    """Return lines as one text."""
    import pyarrow as pa
    import pyarrow.compute as pc

    whole = pc.binary_join(pa.ListArray.from_arrays(pa.array([0, len(lines)], pa.int32()), lines), "\n")
    found: bytes = whole[0].as_buffer().to_pybytes()
    return found + b"\n"


def joined(before: str, after: Any) -> Any:
    """Return texts with another in front of each."""
    import pyarrow.compute as pc

    return pc.binary_join_element_wise(before, after, "")


def present(v: Any) -> bool:
    """Return whether a cell has a value that JSON can hold."""
    return v is not None and not (isinstance(v, float) and not math.isfinite(v))
