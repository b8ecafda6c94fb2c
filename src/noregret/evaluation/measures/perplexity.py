"""How well learners of topics know documents before they learn them: perplexity, completion, and words by their counts alone."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...inputs.checking import Rows
from ...inputs.features import only
from ...unsupervised.word_counts import sparse
from .figures import Recent

EVERY = 10  # of so many documents the last one is completed
SMOOTH = 0.01  # what a word counts that has not come, where words are drawn by their counts


def perplexity(nats: float | None, words: float | None) -> float | None:
    """Return exp of the cost of a word."""
    return math.exp(min(nats / words, 700.0)) if nats is not None and words else None


class DocumentFigures:
    """The figures of one learner."""

    def __init__(self, window: int | None = None, fading: float | None = None) -> None:
        self.examples = 0
        self.nats = self.words = 0.0
        self.hidden = [0.0, 0.0]  # the same of completed documents
        self.recent = Recent(window, fading, 2)

    def take(self, nats: np.ndarray, words: np.ndarray) -> None:
        """Take the costs of documents, and the numbers of their words."""
        self.examples += len(nats)
        self.nats += float(nats.sum())
        self.words += float(words.sum())
        self.recent.add(None, nats, words)

    def complete(self, likelihood: float, words: float) -> None:
        """Take the log likelihood of hidden words, and their number."""
        self.hidden[0] -= likelihood
        self.hidden[1] += words

    def metrics(self) -> dict[str, Any]:
        """Return the figures of all documents."""
        return {"perplexity": perplexity(self.nats, self.words), "completion": perplexity(*self.hidden)}

    def point(self) -> dict[str, Any]:
        """Return the figures of a point of the curves."""
        now = self.recent.now("nats", "words")
        found = {
            f"{how}_perplexity": perplexity(now[f"{how}_nats"], now[f"{how}_words"])
            for how in ("window", "faded")
            if f"{how}_nats" in now
        }
        return {"examples": self.examples, **self.metrics(), **found}

    def now(self) -> dict[str, Any]:
        """Return the cost of a word, to show while documents are learned."""
        return {"loss": self.nats / self.words if self.words else None}


def halves(rows: Rows) -> tuple[Rows, Rows]:
    """Return documents by their words at even places, and by those at odd ones."""
    rows = sparse(rows)
    starts = rows.arrays[0]
    place = np.arange(starts[-1]) - np.repeat(starts[:-1], np.diff(starts))
    return only(rows, place % 2 == 0), only(rows, place % 2 == 1)


class Unigrams:
    """Words drawn by how often they have come, whatever the document: what a model without topics knows."""

    def __init__(self) -> None:
        self.counts = np.zeros(0)
        self.total = 0.0

    def likelihood(self, words: np.ndarray, counts: np.ndarray) -> float:
        """Return the log likelihood of words; new ones are among those that may come."""
        p = (self.counts[words] + SMOOTH) / (self.total + SMOOTH * len(self.counts))
        return float((counts * np.log(p)).sum())

    def take(self, words: np.ndarray, counts: np.ndarray) -> float:
        """Learn one document; return its log likelihood from before."""
        top = int(words.max()) + 1 if len(words) else 0
        if top > len(self.counts):
            self.counts = np.pad(self.counts, (0, top - len(self.counts)))
        found = self.likelihood(words, counts)
        self.counts[words] += counts
        self.total += float(counts.sum())
        return found
