"""Answers to the rows of a stream, as they come."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..streams.stream import stream
from ..transforms.pipeline import Pipeline
from .opening import Answering, options_for, same_rows


class Answers(NamedTuple):
    """The answers to some rows."""

    ids: Any  # as the source names its rows, or None
    y: np.ndarray  # labels or numbers
    scores: np.ndarray  # one column, or one per class in the order of `classes_`
    truth: Any  # what the source says, or None


def answer(source: Any, model: Answering, *, reject: float | None = None, **options: Any) -> Iterator[Answers]:
    """Answer the rows of a stream in order, without learning.

    With `reject`, a second-order learner answers None where it is less sure than that (see `predict` of AROW).
    """
    opened = stream(source, **options_for(model, options))
    front = model.front if isinstance(model, Pipeline) else None
    learner = model.learner if isinstance(model, Pipeline) else model
    m = learner.model
    same_rows(opened, model)
    sure: Any = getattr(learner, "sure", None)
    if reject is not None and sure is None:
        raise ValueError(f"reject needs a learner that knows how sure it is, such as arow; this is a {learner.name}")
    chunks = opened.chunks(front=front, learn=False)
    for batch in (chunk.cut(a, b) for chunk in chunks for a, b in learner.task.in_room(m, None, chunk.data.n)):
        f = learner.score_rows(batch.data)
        predicted = learner.task.answers(m, f) if reject is None else sure(batch.data, reject)
        yield Answers(batch.ids, predicted, learner.task.margins(m, f), batch.y)
