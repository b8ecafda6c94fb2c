"""Perplexities of documents: of whole ones before they are learned, and of half their words given the other half."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...inputs.checking import Rows
from .figures import Recent

EVERY = 10  # one document in so many is completed
MOST = 700.0  # nats a word, whose exp is finite
PRIOR = 0.5  # of each word, where words are counted


def perplexity(nats: float, words: float) -> float | None:
    """Return exp(nats/words), None where there are no words."""
    return math.exp(min(nats / words, MOST)) if words else None


def halves(rows: Rows) -> tuple[Rows, Rows]:
    """Return the distinct words of sparse documents at even places, and those at odd places."""
    starts, words, data = rows.packed().arrays
    place = np.arange(len(words)) - np.repeat(starts[:-1], np.diff(starts))
    found = []
    for odd in (0, 1):
        kept = place % 2 == odd
        found.append(rows._replace(arrays=(np.concatenate([[0], np.cumsum(kept)])[starts], words[kept], data[kept])))
    return found[0], found[1]


class Perplexities:
    """The figures of one learner, or of none."""

    def __init__(self, window: int | None = None, fading: float | None = None, topics: int | None = None) -> None:
        self.examples = 0
        self.nats = self.words = 0.0  # of documents, minus their bounds
        self.completed = np.zeros(2)  # nats and words
        self.recent = Recent(window, fading, 2)
        self.topics = topics  # found so far, where their number is found

    def take(self, nats: np.ndarray, words: np.ndarray) -> None:
        """Take what documents cost before they were learned, and how many words they have."""
        self.examples += len(nats)
        self.nats += float(nats.sum())
        self.words += float(words.sum())
        self.recent.add(None, nats, words)

    def complete(self, nats: float, words: float) -> None:
        """Take what words of a document cost, given others."""
        self.completed += (nats, words)

    def point(self) -> dict[str, Any]:
        """Return the figures of a point of the curves."""
        now = self.recent.now("nats", "words")
        recent = {
            f"{how}_perplexity": perplexity(now[f"{how}_nats"] or 0.0, now[f"{how}_words"] or 0.0)
            for how in ("window", "faded")
            if f"{how}_nats" in now
        }
        return {"examples": self.examples, **self.metrics(), **recent}

    def now(self) -> dict[str, Any]:
        """Return the perplexity, to show while documents are learned."""
        return {"loss": perplexity(self.nats, self.words)}

    def metrics(self) -> dict[str, Any]:
        """Return the figures of all documents."""
        found = {"perplexity": perplexity(self.nats, self.words), "completion": perplexity(*self.completed.tolist())}
        return found | ({} if self.topics is None else {"topics": self.topics})


class Counts:
    """What needs no topics: how often each word came so far, since which document, and how well that tells the next."""

    def __init__(self, size: int | None, every: int) -> None:
        self.fixed = size is not None  # whether the words are known beforehand
        self.every = every  # one in so many documents is completed; 0 for none
        self.known = size or 0
        self.counts = np.zeros(self.known)
        self.first = np.full(self.known, -1)  # the document in which each came first, from 0
        self.total = 0.0
        self.documents = 0

    def take(self, rows: Rows, figures: Perplexities, part: slice) -> None:
        """Measure and then count some documents, sparse ones."""
        starts, words, data = rows.arrays
        for i in range(part.start, part.stop):
            w, c = words[starts[i] : starts[i + 1]], data[starts[i] : starts[i + 1]]
            before = self.known
            self._widen(int(w.max()) + 1 if len(w) else 0)
            nats = -c * np.log((self.counts[w] + PRIOR) / (self.total + PRIOR * self.known))
            if asked(self.documents, self.every):
                p = (self.counts[w[1::2]] + PRIOR) / (self.total + PRIOR * max(before, 1))
                told = w[1::2] < before
                figures.complete(float(-(c[1::2] * np.log(p))[told].sum()), float(c[1::2][told].sum()))
            figures.take(nats.sum(keepdims=True), c.sum(keepdims=True))
            self.first[w] = np.where(self.first[w] < 0, self.documents, self.first[w])
            self.counts[w] += c
            self.total += float(c.sum())
            self.documents += 1

    def _widen(self, top: int) -> None:
        if self.fixed or top <= self.known:
            return
        room = len(self.counts)
        if top > room:
            more = max(top, 2 * room) - room
            self.counts = np.pad(self.counts, (0, more))
            self.first = np.pad(self.first, (0, more), constant_values=-1)
        self.known = top

    @property
    def met(self) -> int:
        """Different words so far."""
        return int((self.first >= 0).sum())


def asked(number: int, every: int) -> bool:
    """Return whether the document of this number, from 0, is completed."""
    return every > 0 and number % every == every - 1
