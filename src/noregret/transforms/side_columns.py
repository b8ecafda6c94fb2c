"""The columns of a table that are not features: targets and side columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..inputs.checking import Side
from ..inputs.labels import Coded, coded_labels
from ..text import brief
from .table import NAMES, Table
from .table_cells import WRITTEN, fields_of, unknown, words_of


def targets_and_sides(table: Table, record: Any, learn: bool) -> tuple[np.ndarray | Coded | None, Side]:
    """Return the targets of a record batch, None where there is no such column, and its side columns but the domains.

    When learning, target and weight must be there; for predictions they may be missing, in part or whole.
    """
    import pyarrow.compute as pc

    fields = fields_of(record)
    found: dict[str, Any] = {}
    for name, array in fields:
        if name == table.target and table.labels_are_text:
            found[name] = pc.coalesce(*([found[name]] if name in found else []), words_of(array))
        elif name == table.target and name in found:
            kinds = f"{kind_of(array)} in some rows and {kind_of(found[name])} in others"
            raise TypeError(f"the target {brief(name)} holds {kinds}; write all of them alike, or declare the target categorical")
        found.setdefault(name, array)
    asked = {role: getattr(table, role) for role in ("target", "weight", "time", *NAMES) if getattr(table, role) is not None}
    for role, name in asked.items():
        if name not in found and (learn or role not in ("target", "weight")):
            raise ValueError(unknown([name], [n for n, _ in fields]))
    there = {role: found[name] for role, name in asked.items() if name in found}
    columns = {role: as_text(there[role]) for role in NAMES if role in there}
    if "time" in there:
        columns["time"] = moments(asked["time"], there["time"])
    if "weight" in there:
        columns["weight"] = numbers(asked["weight"], there["weight"], "weights", learn)
    if "target" not in there:
        return None, columns
    return targets(asked["target"], there["target"], learn, WRITTEN in (record.schema.metadata or {})), columns


def kind_of(array: Any) -> str:
    """Return what a column of Arrow holds, for an error."""
    import pyarrow as pa

    return "texts" if pa.types.is_string(array.type) else "truth values" if pa.types.is_boolean(array.type) else "numbers"


def as_text(array: Any) -> np.ndarray:
    """Return cells as text: a name comes back as it was written."""
    import pyarrow as pa

    array = array.dictionary_decode() if pa.types.is_dictionary(array.type) else array
    return np.array(array.cast(pa.large_string()).to_pylist(), object)


def domains(name: str, data: Any) -> np.ndarray:
    """Return the domain of each row of a record batch, or of a list of dicts, as text."""
    if isinstance(data, list):
        values = [x.get(name) for x in data]
    else:
        fields = fields_of(data)
        parts = [array.to_pylist() for known, array in fields if known == name]  # texts and numbers of JSON are apart
        if not parts:
            raise ValueError(unknown([name], [n for n, _ in fields]))
        values = [next((v for v in cells if v is not None), None) for cells in zip(*parts, strict=True)]
    lacking = {v for v in set(values) if v is None or v != v or v == ""}
    if lacking:
        refuse_missing(name, np.array([v in lacking for v in values]), "expected the task to which it belongs")
    written = {v: str(int(v) if isinstance(v, float) and v.is_integer() else v) for v in set(values)}
    return np.fromiter(map(written.__getitem__, values), object, len(values))


def refuse_missing(name: str, missing: np.ndarray, what: str) -> None:
    """Refuse rows without a value."""
    if missing.any():
        row = int(np.argmax(missing))
        raise ValueError(f"column {brief(name)} has no value in row {row} of the batch; {what}. Drop the row, or fill it.")


def targets(name: str, array: Any, learn: bool, written: bool = False) -> np.ndarray | Coded | None:
    """Return targets: texts by table, whole numbers, truth values or real numbers; None where they are unknown in a prediction.

    Numbers that come as they are `written` are labels by table.
    """
    import pyarrow as pa

    missing = array.is_null().to_numpy(zero_copy_only=False)
    if pa.types.is_floating(array.type):
        missing = missing | np.isnan(array.to_numpy(zero_copy_only=False).astype(np.float64))
    if learn:
        refuse_missing(name, missing, "expected a target to learn from")
    elif missing.any():
        return None
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    kind = array.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        coded = array.dictionary_encode()
        texts, codes = coded.dictionary.to_pylist(), coded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        return coded_labels(texts, codes) if written else Coded(texts, codes)
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind):
        values = array.to_numpy(zero_copy_only=False)
        if values.dtype == np.uint64 and values.max(initial=0) >= 2**63:
            return np.asarray(values)
        return np.asarray(values, bool if pa.types.is_boolean(kind) else np.int64 if pa.types.is_integer(kind) else np.float64)
    if pa.types.is_null(kind):
        return np.empty(0) if learn else None
    raise TypeError(f"the target {brief(name)} is of type {kind}; expected texts, numbers or truth values")


def numbers(name: str, array: Any, what: str, learn: bool) -> np.ndarray:
    """Return a column of numbers, all there."""
    import pyarrow as pa

    try:
        values = np.asarray(array.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise TypeError(f"column {brief(name)} is of type {array.type}; expected numbers, as {what}") from None
    refuse_missing(name, np.isnan(values), f"expected numbers, as {what}")
    if learn and what == "weights":
        from ..inputs.checking import sample_weights

        sample_weights(values, len(values))
    return values


def moments(name: str, array: Any) -> np.ndarray:
    """Return times as numbers: dates and moments in seconds since 1970, texts in ISO form likewise, numbers as they are."""
    import pyarrow as pa

    kinds = pa.types
    if kinds.is_string(array.type) or kinds.is_large_string(array.type) or kinds.is_string_view(array.type):
        try:
            array = array.cast(pa.timestamp("us"))
        except pa.ArrowInvalid as e:
            raise ValueError(
                f"column {brief(name)} holds no times: expected numbers, or dates such as 2024-01-31T12:00:00 ({e})"
            ) from None
    if kinds.is_date(array.type):
        array = array.cast(pa.timestamp("us"))
    if kinds.is_timestamp(array.type):
        seconds = array.cast(pa.timestamp("us", array.type.tz)).cast(pa.int64())
        return numbers(name, seconds, "times", False) / 1e6
    return numbers(name, array, "times", False)
