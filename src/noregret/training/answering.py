"""Answers to the rows of a stream, as they come."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..inputs.labels import Coded, Labelled, Labels
from ..streams.stream import stream
from ..text import brief
from ..transforms.pipeline import Pipeline
from .opening import Trainable, options_for, same_rows


class Answers(NamedTuple):
    """The answers to some rows."""

    ids: Any  # as the source names its rows, or None
    y: np.ndarray  # labels or numbers
    scores: np.ndarray  # one column, or one per class in the order of `classes_`
    truth: Any  # what the source says, or None


def answer(source: Any, model: Trainable, *, reject: float | None = None, **options: Any) -> Iterator[Answers]:
    """Answer the rows of a stream in order, without learning.

    With `reject`, a second-order learner answers None where it is less sure than that (see `predict` of AROW).
    """
    opened = stream(source, **options_for(model, options))
    front = model.front if isinstance(model, Pipeline) else None
    learner = model.learner if isinstance(model, Pipeline) else model
    m = learner.model
    same_rows(opened, model)
    if reject is not None and not hasattr(learner, "sure"):
        raise ValueError(f"reject needs a learner that knows how sure it is, such as arow; this is a {learner.name}")
    chunks = opened.chunks(front=front, learn=False)
    first = True
    for batch in (chunk.cut(a, b) for chunk in chunks for a, b in learner.in_room(m, None, chunk.data.n)):
        truth = batch.y
        if truth is not None and m.labels is not None:
            truth = m.labels.read(truth)
            if first:
                warn_of_strangers(opened.name, truth, m.labels)
            first = False
        f = learner.score_rows(batch.data)
        predicted = learner.task.answers(m, f) if reject is None else learner.sure(batch.data, reject)
        yield Answers(batch.ids, predicted, learner.task.margins(m, f), truth)


def warn_of_strangers(source: str, y: Labelled, classes: Labels) -> None:
    """Warn where no label of the first rows is a class of the model: it is written otherwise, or means something else."""
    found = list(dict.fromkeys((y.array() if isinstance(y, Coded) else y).tolist()))
    if classes.index.keys().isdisjoint(found):
        few = [", ".join(map(brief, values[:3])) + (", ..." if len(values) > 3 else "") for values in (found, classes.sorted)]
        warnings.warn(
            f"{source}: none of the labels of its first rows ({few[0]}) is a class of the model ({few[1]}), so "
            "every answer counts as a mistake",
            stacklevel=2,
        )
