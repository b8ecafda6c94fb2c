"""What commands say of learners of topics: the proportions of topics in documents, and the words that topics are made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, TextIO

import click
import numpy as np

from ..text import amount, percent, plural, printable, shortened, table
from .answers import FORMS, Beside, ByClass

ANSWERS = "proportions of topics"
ROWS = True  # predict needs a source
SHOWN = 8  # words of a topic in the text
LISTED = 40  # topics there
DIGITS = 6  # of proportions


class Documents(NamedTuple):
    """Some documents by their topics."""

    ids: Any
    y: np.ndarray  # the largest topic of each
    proportions: np.ndarray
    perplexity: np.ndarray  # NaN of those without words
    nats: np.ndarray
    words: np.ndarray  # that the model knows


def standing(learner: Any) -> dict[str, Any]:
    """Return how many topics and words there are, and how many documents wait for a batch."""
    from ..evaluation.measures.topic_portraits import topics_in_use

    words = learner.model.features.size
    return {"unit": "document", "topics": topics_in_use(learner), "words": words, "pending": learner.n_pending_}


def told(learner: Any) -> str:
    """Return that in words."""
    from ..evaluation.measures.topic_portraits import finds

    found = standing(learner)
    waiting = f", {plural(found['pending'], 'document')} waiting for a batch" if found["pending"] else ""
    most = f" (of at most {learner.outputs})" if finds(learner) else ""
    return f"{plural(found['topics'], 'topic')}{most} of {plural(found['words'], 'word')}{waiting}"


# ---- predict -------------------------------------------------------------------------------------------------------------
def predicted(
    model: Any, source: Any, options: Mapping[str, Any], out: TextIO, form: str, *, limit: int | None, scores: bool, quiet: bool
) -> None:
    """Write the largest topic of each document and its proportions, and with `scores` its perplexity."""
    from ..evaluation.measures.perplexity import perplexity

    learner = getattr(model, "learner", model)
    beside = [ByClass("proportions", "topic", list(range(learner.outputs)))]
    lines = FORMS[form](out, [*beside, *([Beside("perplexity", ["perplexity"])] if scores else [])])
    nats = words = 0.0
    documents = 0
    for said in answered(model, source, options, limit):
        lines.write(said)
        nats, words, documents = nats + float(said.nats.sum()), words + float(said.words.sum()), documents + len(said.y)
    if not documents:
        raise click.ClickException(f"{source} has no documents")
    found = perplexity(nats, words)
    lines.end({"rows": documents, "perplexity": found})
    if not quiet and form != "json":
        click.echo(f"{plural(documents, 'document')}, perplexity {amount(found)}.", err=True)


def answered(model: Any, source: Any, options: Mapping[str, Any], limit: int | None) -> Iterator[Documents]:
    """Yield the documents of a source by their topics; nothing is learned."""
    from ..training.opening import same_rows
    from ..training.texts import opened_texts
    from ..unsupervised.word_counts import sparse

    learner = getattr(model, "learner", model)
    m = learner.model
    opened, _ = opened_texts(source, None, options, [model])
    same_rows(opened, model)
    for batch in opened.chunks(front=getattr(model, "front", None), learn=False, limit=limit):
        with batch.named_in_errors():
            m.features.check(batch.data, learner.name)
            learner.learnable(batch.data, m)
        rows = sparse(m.features.rows(batch.data, False))
        Z, bounds = m.answer(rows)
        starts, _, data = rows.arrays
        words = np.add.reduceat(np.append(data, 0.0), starts[:-1]) * (np.diff(starts) > 0)
        each = np.exp(np.divide(-bounds, words, where=words > 0.0, out=np.full(rows.n, np.nan)))
        yield Documents(batch.ids, Z.argmax(1), Z.round(DIGITS), each, -bounds, words)


# ---- inspect -------------------------------------------------------------------------------------------------------------
def inspected(model: Any, top: int) -> dict[str, Any]:
    """Return what is known of such a model."""
    from ..evaluation.measures.topic_portraits import topics_of

    learner = getattr(model, "learner", model)
    found = topics_of(learner, getattr(model, "front", None), top)
    return {
        "examples": learner.n_seen_,
        **standing(learner),
        "memory": sum(a.nbytes for a in learner.model.arrays().values()),
        "of": found["of"],
        "found": found["top"],
    }


def inspected_lines(found: dict[str, Any], learner_told: str) -> tuple[list[tuple[str, str | None]], list[str]]:
    """Return lines and tables that tell it."""
    lines: list[tuple[str, str | None]] = [("learned", f"{plural(found['examples'], found['unit'])}: {learner_told}")]
    cells = [
        [
            str(row["topic"]),
            percent(row["weight"]),
            ", ".join(f"{shortened(printable(w['word']), 24)} {percent(w['probability'])}" for w in row["words"][:SHOWN]),
        ]
        for row in found["found"][:LISTED]
    ]
    return lines, [table(["topic", f"{found['of']} %", "words, with their probability in %"], cells, (0, 2))] if cells else []
