"""Dates as features: of a column `when` the year, month, weekday and hour are categories, and the time elapsed is a number."""

from __future__ import annotations

import contextlib
import re
from datetime import date, datetime
from typing import Any

import numpy as np

ISO = r"^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:?\d\d)?)?$"  # beyond doubt a date, with or without a time
ZONE = r"(:\d\d(?:\.\d+)?)(Z|[+-]\d\d:?\d\d)$"
NONE = np.datetime64("NaT", "us")
START = np.datetime64("2000-01-01", "us")
YEAR = 365.25 * 86_400e6  # microseconds


def parts_of(moments: np.ndarray) -> tuple[dict[str, list[str | None]], np.ndarray]:
    """Return what is made of dates (microseconds, NaT where missing): categories by name, and the years since 2000.

    At midnight sharp there is no hour: so dates are read that have no time of day.
    """
    there = ~np.isnat(moments)
    days = moments.astype("M8[D]")
    parts = {
        "year": moments.astype("M8[Y]").astype(np.int64) + 1970,
        "month": moments.astype("M8[M]").astype(np.int64) % 12 + 1,
        "weekday": (days.astype(np.int64) + 3) % 7 + 1,  # Monday is 1
        "hour": (moments - days).astype("m8[h]").astype(np.int64),
    }
    shown = {part: there & (moments != days) if part == "hour" else there for part in parts}
    texts = {
        part: [str(v) if given else None for v, given in zip(values.tolist(), shown[part].tolist(), strict=True)]
        for part, values in parts.items()
    }
    return texts, np.where(there, (moments - START).astype(np.int64) / YEAR, np.nan)


def arrow_moments(name: str, array: Any) -> np.ndarray:
    """Return a column of Arrow of dates, moments or texts as moments."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not (pa.types.is_date(array.type) or pa.types.is_timestamp(array.type)):
        array = parsed(name, array)
    if pa.types.is_timestamp(array.type) and array.type.tz is not None:
        array = pc.local_timestamp(array)  # the hour is that of the clock there
    return np.asarray(array.cast(pa.timestamp("us"), safe=False).to_numpy(zero_copy_only=False), "M8[us]")


def parsed(name: str, array: Any) -> Any:
    """Return texts as the dates they are; the empty text is missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = array.cast(pa.string())
    texts = pc.if_else(pc.equal(texts, ""), None, texts)
    with contextlib.suppress(pa.ArrowInvalid):  # such as February 30
        if pc.all(pc.match_substring_regex(texts, ISO), min_count=0).as_py():
            return as_moments(texts)
    row, v = next((row, v) for row, v in enumerate(texts.to_pylist()) if v is not None and not is_iso(v))
    raise no_date(name, v, row)


def as_moments(texts: Any) -> Any:
    """Return texts in ISO form as moments of Arrow; a zone is left out, so that hours are as written."""
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.replace_substring_regex(texts, ZONE, r"\1").cast(pa.timestamp("us"))


def moment(name: str, v: Any, row: int) -> np.datetime64:
    """Return one cell as a moment."""
    if isinstance(v, str) and is_iso(v):
        v = datetime.fromisoformat(v)
    if v is None or v != v or v == "":
        return NONE
    if isinstance(v, datetime):
        return np.datetime64(v.replace(tzinfo=None), "us")
    if isinstance(v, np.datetime64):
        return v.astype("M8[us]")
    if isinstance(v, date):
        return np.datetime64(v, "us")
    raise no_date(name, v, row)


def is_iso(text: str) -> bool:
    """Return whether a text is a date in ISO form."""
    try:
        return re.match(ISO, text) is not None and datetime.fromisoformat(text) is not None
    except ValueError:
        return False


def is_date(v: Any) -> bool:
    """Return whether a cell of a dict is a date."""
    return isinstance(v, (date, np.datetime64))


def no_date(name: str, v: Any, row: int) -> ValueError:
    """Return the error of a cell that is no date."""
    return ValueError(
        f"column {name!r} holds {v!r:.60} in row {row} of the batch; expected a date such as 2024-01-31 or 2024-01-31T12:00:00. "
        "Leave it out (ignore), or mend the row."
    )
