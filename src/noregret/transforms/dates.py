"""Dates as features: of a column `when` the year, month, weekday and hour are categories, and the time elapsed is a number."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence
from datetime import date, datetime
from typing import Any

import numpy as np

ISO = r"^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:?\d\d)?)?$"  # beyond doubt a date, with or without a time
YEAR_FIRST = r"(?P<y>\d{4})([/.])(?P<m>\d{1,2})\2(?P<d>\d{1,2})"
NAMED = r"(?P<name>[A-Za-z]{3,9})\.? (?P<d>\d{1,2}),? (?P<y>\d{4})", r"(?P<d>\d{1,2})([ -])(?P<name>[A-Za-z]{3,9})\.?\2(?P<y>\d{4})"
YEAR_LAST = r"(?P<a>\d{1,2})([/.-])(?P<b>\d{1,2})\2(?P<y>\d{4})"  # the day or the month comes first
CLOCK = r"(?:,? (?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d))?(?: ?(?P<half>[AaPp])\.?[Mm]\.?)?)?"
FORMS = [re.compile(form + CLOCK) for form in (YEAR_FIRST, *NAMED, YEAR_LAST)]
MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december")
ORDERS = ("dmy", "mdy")  # of day, month and year where the year is last
ORDER = b"noregret.orders"  # in the metadata of a schema: the orders in which columns of dates were written, as JSON
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


def arrow_moments(name: str, array: Any, order: str | None) -> np.ndarray:
    """Return a column of Arrow of dates, moments or texts as moments."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not (pa.types.is_date(array.type) or pa.types.is_timestamp(array.type)):
        array = parsed(name, array, order)
    if pa.types.is_timestamp(array.type) and array.type.tz is not None:
        array = pc.local_timestamp(array)  # the hour is that of the clock there
    return np.asarray(array.cast(pa.timestamp("us"), safe=False).to_numpy(zero_copy_only=False), "M8[us]")


def parsed(name: str, array: Any, order: str | None) -> Any:
    """Return texts as the dates they are; the empty text is missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = array.cast(pa.string())
    texts = pc.if_else(pc.equal(texts, ""), None, texts)
    with contextlib.suppress(pa.ArrowInvalid):  # such as February 30
        return as_moments(texts, order)
    row, v = next((row, v) for row, v in enumerate(texts.to_pylist()) if v is not None and read(v, order) is None)
    raise no_date(name, v, row)


def as_moments(texts: Any, order: str | None) -> Any:
    """Return texts as moments of Arrow; a zone is left out, so that hours are as written."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pc.all(pc.match_substring_regex(texts, ISO), min_count=0).as_py():
        return pc.replace_substring_regex(texts, ZONE, r"\1").cast(pa.timestamp("us"))
    whole = texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
    coded = whole.dictionary_encode()
    found = [read(text, order) for text in coded.dictionary.to_pylist()]
    if None in found:
        raise pa.ArrowInvalid("a text is not a date")
    return pa.array(found, pa.timestamp("us")).take(coded.indices)


def read(text: str, order: str | None) -> datetime | None:
    """Return a text as the moment it is, without its zone; None where it is none, or where only an order could tell which."""
    with contextlib.suppress(ValueError):
        if re.match(ISO, text):
            return datetime.fromisoformat(text).replace(tzinfo=None)
        found = next((m.groupdict() for form in FORMS if (m := form.fullmatch(text))), None)
        if found is not None and ("a" not in found or order is not None):
            clock = hour_of(found), int(found["minute"] or 0), int(found["second"] or 0)
            return datetime(int(found["y"]), *month_and_day(found, order), *clock)
    return None


def month_and_day(found: dict[str, Any], order: str | None) -> tuple[int, int]:
    """Return them from the parts of a text."""
    if "a" in found:
        first, second = int(found["a"]), int(found["b"])
        return (first, second) if order == "mdy" else (second, first)
    return month_of(found["name"]) if "name" in found else int(found["m"]), int(found["d"])


def month_of(name: str) -> int:
    """Return the number of a month by its English name, which may be cut short; 0 where there is none."""
    return next((k for k, month in enumerate(MONTHS, 1) if month.startswith(name.lower())), 0)


def hour_of(found: dict[str, Any]) -> int:
    """Return the hour from 0 to 23, of 12 before and after noon where that is said."""
    hour = int(found["hour"] or 0)
    if found["half"] is None:
        return hour
    if not 1 <= hour <= 12:
        raise ValueError("no hour of a clock")
    return hour % 12 + (12 if found["half"] in "pP" else 0)


def form_of(texts: Sequence[str], counts: Sequence[int], share: float, order: str | None) -> str | None:
    """Return how these texts, so often each, are written as dates: "date" where no order is needed, "dmy" or "mdy"; "" where
    either may be; None where fewer than this share are dates.
    """
    enough = share * sum(counts)

    def readable(how: str | None) -> int:
        return sum(n for text, n in zip(texts, counts, strict=True) if read(text, how) is not None)

    if readable(None) >= enough:
        return "date"
    by = {how: readable(how) for how in (ORDERS if order is None else (order,))}
    best = max(by, key=lambda how: by[how])
    if by[best] < enough:
        return None
    return "" if order is None and by["dmy"] == by["mdy"] else best


def moment(name: str, v: Any, row: int, order: str | None) -> np.datetime64:
    """Return one cell as a moment."""
    if isinstance(v, str):
        v = read(v, order) or v
    if v is None or v != v or v == "":
        return NONE
    if isinstance(v, datetime):
        return np.datetime64(v.replace(tzinfo=None), "us")
    if isinstance(v, np.datetime64):
        return v.astype("M8[us]")
    if isinstance(v, date):
        return np.datetime64(v, "us")
    raise no_date(name, v, row)


def is_date(v: Any) -> bool:
    """Return whether a cell of a dict is a date."""
    return isinstance(v, (date, np.datetime64))


def no_date(name: str, v: Any, row: int) -> ValueError:
    """Return the error of a cell that is not a date."""
    unsure = isinstance(v, str) and any(read(v, order) for order in ORDERS)
    order = "Give the order of day and month: date_order='dmy' or date_order='mdy'."
    return ValueError(
        f"column {name!r} holds {v!r:.60} in row {row} of the batch; expected a date such as 2024-01-31 or 2024-01-31T12:00:00. "
        + (order if unsure else "Leave it out (ignore), or mend the row.")
    )
