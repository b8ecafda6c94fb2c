"""What reports on recommendations show besides: how hits were found out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...text import amount, plural
from . import summary
from .forms import Form
from .summary import Learner

if TYPE_CHECKING:
    from .report import Report


def hit_words(report: Report, rows: Sequence[Learner]) -> list[str]:
    """Return what hits are, and of how many ratings."""
    found = summary.winner(report, rows).get("hits")
    if not found:
        return []
    drawn = f"; {amount(found['asked'])} of them, drawn, were looked up" if found["asked"] < found["worthy"] else ""
    return [
        f"Hits: items rated in the upper fifth of the scale that were among the {found['top']} best for their user before, of "
        f"those that the user had not rated. There are {plural(found['worthy'], 'such rating')}{drawn}."
    ]


RATINGS = Form(lines=hit_words, trivial="answers from the ratings alone", curves="Learning curves")
