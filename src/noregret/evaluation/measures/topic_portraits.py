"""What a report shows of topics: their words and weights, their shares over time, and words that came late."""

from __future__ import annotations

from typing import Any

import numpy as np

from .allotted import over_time
from .features_in_use import word_naming
from .paths import Blocks
from .perplexity import Counts

WORDS = 10  # that are named of a topic
LISTED = 100  # topics that are told one by one
CALLED = 3  # words that a topic is called by
LATE = 0.25  # of the documents: words that came after them came late
LATECOMERS = 20  # that are told


def topic_weights(learner: Any, lam: np.ndarray) -> tuple[str, np.ndarray]:
    """Return how large topics are, and in which words: what the learner expects, or their share of all words."""
    if hasattr(type(learner), "weights_"):
        return "expected share", learner.weights_
    sums = lam.sum(1)
    return "share of words", sums / sums.sum()


def likeliest(p: np.ndarray, name: Any, n: int) -> list[dict[str, Any]]:
    """Return the n likeliest words of a topic, by name."""
    order = np.argsort(-p, kind="stable")[:n].tolist()
    return [{"word": name(w), "probability": float(p[w])} for w in order]


def topics_of(learner: Any, front: Any, n: int) -> dict[str, Any]:
    """Return the topics of a learner, largest first, with their n likeliest words; of those that are found, the ones in use."""
    lam = learner.components_
    of, weights = topic_weights(learner, lam)
    name = word_naming(front, learner.model)
    order = np.argsort(-weights, kind="stable")[: topics_in_use(learner)].tolist()
    rows = [{"topic": k, "weight": float(weights[k]), "words": likeliest(lam[k] / lam[k].sum(), name, n)} for k in order[:LISTED]]
    return {"count": len(order), "of": of, "top": rows}


def topics_in_use(learner: Any) -> int:
    """Return how many topics there are: those found, or as many as were asked for."""
    return int(learner.n_topics_ if finds(learner) else learner.outputs)


def finds(learner: Any) -> bool:
    """Return whether a learner finds the number of its topics."""
    return hasattr(type(learner), "n_topics_")


def portrait(learner: Any, front: Any, counts: Counts, shares: Blocks) -> dict[str, Any]:
    """Return everything that is shown of the topics of a learner."""
    found = topics_of(learner, front, WORDS)
    names = [str(k) for k in range(learner.outputs)]
    for row in found["top"]:
        row["name"] = names[row["topic"]] = f"{row['topic']}: {', '.join(w['word'] for w in row['words'][:CALLED])}"
    return {**found, "over_time": over_time(shares, names), "late": latecomers(learner, front, counts)}


def latecomers(learner: Any, front: Any, counts: Counts) -> list[dict[str, Any]]:
    """Return the commonest words that came late: since which document, how often, and in which topic they mostly are."""
    first = counts.first[: learner.model.features.size]
    late = np.flatnonzero(first >= LATE * counts.documents)
    order = late[np.argsort(-counts.counts[late], kind="stable")][:LATECOMERS]
    name = word_naming(front, learner.model)
    lam = learner.components_[:, order]
    return [
        {"word": name(int(w)), "since": int(first[w]) + 1, "count": float(counts.counts[w]), "topic": int(lam[:, i].argmax())}
        for i, w in enumerate(order)
    ]
