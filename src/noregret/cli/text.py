"""Plain text for the terminal."""

from __future__ import annotations

from collections.abc import Sequence


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
