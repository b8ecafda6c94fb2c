"""What reports on topics show besides: topics with their words and weights, their shares over time, words that came late."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from ...text import amount, percent, plural, printable, shortened
from . import plots, summary
from .allocation_form import draw_shares, stacked
from .forms import Form
from .page import listed, section
from .summary import Learner

if TYPE_CHECKING:
    from .report import Report

TOLD = 5  # topics in the text
NAMED = 5  # words of each there
LONG = 24  # characters of a word
LATE = 12  # words that came late, in the page


def told(report: Report, rows: Sequence[Learner]) -> list[str]:
    """Return the largest topics of the winner, with their likeliest words, and how far learners are from ten passes."""
    chosen = summary.winner(report, rows)
    found, gaps = chosen.get("topics"), [gap_words(row) for row in rows if row.get("gap")]
    if not found:
        return gaps
    parts = [
        f"{row['topic']} ({percent(row['weight'])} %): {', '.join(word_text(w['word']) for w in row['words'][:NAMED])}"
        for row in found["top"][:TOLD]
    ]
    return [f"Topics of {chosen['label']}, largest first of {found['count']}: {'; '.join(parts)}.", *gaps] if parts else gaps


def gap_words(row: Learner) -> str:
    """Return the gap of a learner in words."""
    gap = row["gap"]
    return (
        f"{row['label']}: gap of {amount(gap['average'])} nats a word to {gap['against']}, whose perplexity is "
        f"{amount(gap['perplexity'])} on documents it has learned."
    )


def word_text(word: str) -> str:
    """Return a word that is not too long."""
    return shortened(printable(word), LONG)


# ---- the page ----------------------------------------------------------------------------------------------------------
def sections(report: Report, rows: Sequence[Learner]) -> list[str]:
    """Return the topics of every learner, those of others than the winner behind folds."""
    chosen, parts = summary.winner(report, rows), []
    for row in rows:
        if found := row.get("topics"):
            gap = f'<p class="small">{escape(gap_words(row))}</p>' if row.get("gap") else ""
            inner = f"{gap}{words_table(found)}{over_time(found, report)}{latecomers(found)}"
            opened = " open" if row is chosen else ""
            parts.append(f"<details{opened}><summary>{escape(row['label'])}</summary>{inner}</details>")
    return [section("topics", "Topics", *parts)] if parts else []


def words_table(found: dict[str, Any]) -> str:
    """Return the topics, each with its weight and its likeliest words; bars have the colours of the shares over time."""
    most = max((row["weight"] for row in found["top"]), default=1.0) or 1.0
    drawn = {name: k for k, name in enumerate(found["over_time"]["series"])}
    shades = [f"var(--c{drawn[row['name']]})" if row["name"] in drawn else "var(--soft)" for row in found["top"]]
    body = "".join(
        f"<tr><th>{row['topic']}</th><td>"
        f'<i class="bar" style="width:{56 * row["weight"] / most:.0f}px;background:{shade}"></i>'
        f'{percent(row["weight"])}</td><td class="text long">{chances(row["words"])}</td></tr>'
        for row, shade in zip(found["top"], shades, strict=True)
    )
    head = '<tr><th>topic</th><th>weight %</th><th class="text">words, with their probability in the topic in %</th></tr>'
    rest = found["count"] - len(found["top"])
    more = f" {plural(rest, 'more')} are not listed." if rest > 0 else ""
    note = f'<p class="quiet small">{plural(found["count"], "topic")}, largest first; the weight is the {found["of"]}.{more}</p>'
    table = f'<table class="figures topics"><thead>{head}</thead><tbody>{body}</tbody></table>'
    return f'{note}<div class="scroll">{table}</div>'


def chances(words: Sequence[dict[str, Any]]) -> str:
    """Return words with their probabilities."""
    return ", ".join(f"{escape(word_text(w['word']))}&nbsp;<small>{percent(w['probability'])}</small>" for w in words)


def over_time(found: dict[str, Any], report: Report) -> str:
    """Return the shares of topics along the stream."""
    note = "Mean share of each topic in the documents of a stretch, before they were learned; the largest topics are named."
    return f'<h3>Topics over time</h3><p class="quiet small">{note}</p>{stacked(found["over_time"], report, "topics over time")}'


def latecomers(found: dict[str, Any]) -> str:
    """Return the commonest words that came late."""
    if not found["late"]:
        return ""
    rows = [[word_text(w["word"]), f"{w['since']:,}", amount(w["count"]), str(w["topic"])] for w in found["late"][:LATE]]
    note = "The commonest of those that first came after a quarter of the documents."
    inner = listed(["word", "first in document", "times since", "mostly in topic"], rows, " narrow")
    return f'<h3>Words that came late</h3><p class="quiet small">{note}</p>{inner}'


# ---- plots -------------------------------------------------------------------------------------------------------------
def draw_topics(figure: Any, report: Report, rows: Sequence[Learner], who: Learner) -> None:
    """Draw the shares of the topics of one learner over time."""
    draw_shares(figure, report, who["topics"]["over_time"], f"Topics of {plots.plain_text(who['label'])}")


def drawings(rows: Sequence[Learner]) -> dict[str, Callable[..., None]]:
    """Return the plots, by name."""
    return {"topics over time": draw_topics} if any(row.get("topics") for row in rows) else {}


def perplexity_words(chosen: Learner) -> str:
    """Return the perplexities, and how many topics there are."""
    found = [f"perplexity {amount(chosen['metrics']['perplexity'])}"]
    if chosen["metrics"]["completion"] is not None:
        found.append(f"completion perplexity {amount(chosen['metrics']['completion'])}")
    return ", ".join([*found, plural(chosen["metrics"]["topics"], "topic")])


TOPICS = Form(
    plots=("perplexity",),
    lines=told,
    sections=sections,
    drawings=drawings,
    headline=perplexity_words,
    trivial="counts of the words so far, without topics",
    manner="each measured on a document before it learns it",
    curves="Perplexity before documents were learned",
)
