"""What reports on topics show besides: the topics of the winner by their words, and the gap to ten passes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...text import amount, percent, printable, shortened
from . import summary
from .forms import Form
from .summary import Learner

if TYPE_CHECKING:
    from .report import Report

TOLD = 5  # topics in the text
WORDS = 6  # of each


def told(report: Report, rows: Sequence[Learner]) -> list[str]:
    """Return the largest topics of the winner, and how far each learner is from ten passes."""
    chosen = summary.winner(report, rows)
    parts = []
    for row in (chosen.get("topics") or [])[:TOLD]:
        words = " ".join(shortened(printable(w), 24) for w in row["words"][:WORDS])
        parts.append(f"{row['topic']} ({percent(row['share'])} % of words): {words}")
    found = [f"Topics of {chosen['label']}, largest first: {'; '.join(parts)}."] if parts else []
    return found + [gap_words(row) for row in rows if row.get("gap")]


def gap_words(row: Learner) -> str:
    """Return the gap of a learner in words."""
    gap = row["gap"]
    return (
        f"{row['label']}: gap of {amount(gap['average'])} nats a word to {gap['against']}, whose perplexity is "
        f"{amount(gap['perplexity'])} on documents it has learned."
    )


def known_words(chosen: Learner) -> str:
    """Return how well documents are known."""
    found = [f"perplexity {amount(chosen['metrics']['perplexity'])}"]
    if chosen["metrics"].get("completion") is not None:
        found.append(f"{amount(chosen['metrics']['completion'])} of completed documents")
    return ", ".join(found)


TOPICS = Form(
    plots=("perplexity",),
    lines=told,
    headline=known_words,
    trivial="words by their counts so far, without topics",
    manner="each measured on a document before it learns it",
    curves="Perplexity of documents",
)
