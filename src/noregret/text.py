"""Plain text: tables, numbers as people read them, and what a terminal can show."""

from __future__ import annotations

import difflib
import math
import re
import textwrap
from collections.abc import Callable, Iterable, Sequence

HALVES = re.compile("[\ud800-\udfff]")  # of surrogate pairs: JSON may escape one alone, or join two; no text in UTF-8 holds one
PLAIN = str.maketrans({"±": "+-", "…": "...", "≤": "<="})


def table(head: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[int] = (0,)) -> str:
    """Return an aligned table; columns in `left` are aligned left, the others right."""
    widths = [max(len(r[i]) for r in (head, *rows)) for i in range(len(head))]

    def line(row: Sequence[str]) -> str:
        cells = (c.ljust(w) if i in left else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True)))
        return "  ".join(cells).rstrip()

    return "\n".join([line(head), "  ".join("-" * w for w in widths), *map(line, rows)])


def summary(doc: str | None) -> str:
    """Return the first line of a docstring."""
    lines = (doc or "").strip().splitlines()
    return lines[0] if lines else ""


def amount(x: float | None, digits: int = 4) -> str:
    """Return a number to `digits` digits: 1,234 or 0.01234 or 1.234e13; a dash for None."""
    if x is None or math.isnan(x):
        return "-"
    if math.isinf(x):
        return "inf" if x > 0 else "-inf"
    if (x == int(x) and abs(x) < 1e12) or 10.0 ** (digits - 1) <= abs(x) < 1e9:
        return f"{x:,.0f}"
    head, e, power = f"{x:,.{digits}g}".partition("e")
    return f"{head}e{int(power)}" if e else head


def even(values: Iterable[float | None], digits: int = 4) -> Callable[[float | None], str]:
    """Return how to write the numbers of a column: as `amount` does, but all below 100,000 with as many decimals as each other.

    The middle one decides how many, so that a column of very different sizes is not full of noise.
    """
    known = sorted(abs(v) for v in values if v and abs(v) < 1e5)
    if len(known) < 2 or known[-1] < 1e-3:
        return amount
    needed = max(0, digits - 1 - math.floor(math.log10(known[len(known) // 2])))
    decimals = min(digits, needed, max(len(amount(v, digits).partition(".")[2]) for v in known))
    return lambda x: amount(x, digits) if x is None or not abs(x) < 1e5 else f"{x:,.{decimals}f}"


def duration(seconds: float) -> str:
    """Return a time with its unit: 34 ms, 0.57 s, 12.3 s, 2 min 5 s."""
    if seconds < 0.0995:
        return f"{1000.0 * seconds:.2g} ms"
    if seconds < 99.5:
        return f"{seconds:.2f} s" if seconds < 9.995 else f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"


def percent(x: float | None) -> str:
    """Return a share in percent, without the sign; a dash for None."""
    return "-" if x is None or math.isnan(x) else f"{100.0 * x:.2f}"


def size(n: float) -> str:
    """Return a number of bytes with its unit."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if n < 999.5:
            return f"{n:.3g} {unit}"
        n /= 1000.0
    return f"{n:.3g} TB"


def first_of(words: Sequence[str], most: int) -> str:
    """Return words with commas between them: 'a, b', or of many the first, 'a, b and 3 more'."""
    rest = len(words) - most
    return ", ".join(words[:most]) + (f" and {rest:,} more" if rest > 0 else "")


def plural(n: float, noun: str) -> str:
    """Return '1 row', '2 rows', '2 classes', '2 categories'."""
    if n != 1:
        noun = f"{noun[:-1]}ies" if noun.endswith("ry") else f"{noun}es" if noun.endswith("s") else f"{noun}s"
    return f"{amount(n)} {noun}"


def meant(name: str, known: Iterable[str], most: int = 1) -> str:
    """Return 'Did you mean ...? ' for a name that is close to known ones, nothing where none is."""
    by_lower = {k.lower(): k for k in known}
    close = [by_lower[k] for k in difflib.get_close_matches(name.lower(), by_lower, n=most)]
    return f"Did you mean {' or '.join(close)}? " if close else ""


def printable(text: str) -> str:
    """Return the text with control characters written out, so that data cannot steer a terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def shortened(text: str, width: int) -> str:
    """Return the text, cut in the middle with an ellipsis where it is wider."""
    if len(text) <= width:
        return text
    tail = (width - 1) // 2
    return text[: width - 1 - tail] + "…" + text[len(text) - tail :]


def brief(value: object, width: int = 80) -> str:
    """Return a value as an error shows it: its repr, on one line, cut in the middle where it is long."""
    return shortened(" ".join(repr(value).split("\n")), width)


def said(error: BaseException, width: int = 200) -> str:
    """Return what an error of another library says, on one line and not too long, to be quoted in ours."""
    return shortened(printable(" ".join(str(error).split())) or type(error).__name__, width)


def encodable(text: str, encoding: str | None) -> str:
    """Return the text in characters that the encoding has."""
    try:
        text.encode(encoding or "ascii")
        return text
    except (UnicodeEncodeError, LookupError):
        return text.translate(PLAIN).encode("ascii", "backslashreplace").decode("ascii")


def filled(text: str, width: int) -> str:
    """Return text in lines so wide; a number stays beside its unit."""
    kept = re.sub(r"(\d) (ms|s|min|h|bytes|kB|MB|GB|TB|%)(?!\w)", "\\1\xa0\\2", text)
    return textwrap.fill(kept, width, subsequent_indent="  ", break_on_hyphens=False).replace("\xa0", " ")
