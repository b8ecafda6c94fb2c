"""Answers to the rows of a stream, as they come."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..inputs.labels import Coded, Labelled, Labels
from ..streams.stream import Stream, stream
from ..text import brief
from ..transforms.pipeline import Pipeline
from .by_task import by_task, task_named
from .opening import Answering, options_for, same_rows
from .pairing import opened_pairs


class Answers(NamedTuple):
    """The answers to some rows."""

    ids: Any  # as the source names its rows, or None
    y: np.ndarray  # labels or numbers
    scores: np.ndarray  # one column, or one per class in the order of `classes_`
    truth: Any  # what the source says, or None
    proba: np.ndarray | None = None  # one column per class in the order of `classes_`, if asked for
    region: Any = None  # low and high of each row, or a list of labels, if asked for


def answer(
    source: Any,
    model: Answering,
    *,
    reject: float | None = None,
    proba: bool = False,
    interval: float | None = None,
    **options: Any,
) -> Iterator[Answers]:
    """Answer the rows of a stream in order, without learning.

    With `proba`, also the probability of each class; with `interval`, low and high, or a set of labels, at this level of coverage.
    With `reject`, a second-order learner answers None where it is less sure than that (see `predict` of AROW).
    """
    opened = opened_to_answer(source, model, options)
    front = model.front if isinstance(model, Pipeline) else None
    learner: Any = model.learner if isinstance(model, Pipeline) else model
    m = learner.model
    same_rows(opened, model)
    if reject is not None and not hasattr(learner, "sure"):
        raise ValueError(f"reject needs a learner that knows how sure it is, such as arow; this is a {learner.name}")
    if proba and not hasattr(learner, "predict_proba"):
        raise ValueError(
            f"this {learner.name} has learned no probabilities: train it with them (probabilities=True, --probabilities)"
        )
    chunks = opened.chunks(front=front, learn=False)
    first = True
    for batch in (chunk.cut(a, b) for chunk in chunks for a, b in learner.task.in_room(m, None, chunk.data.n)):
        truth = batch.y
        if truth is not None and m.labels is not None:
            truth = m.labels.read(truth)
            if first:
                warn_of_strangers(opened.name, truth, m.labels)
            first = False
        with batch.named_in_errors():
            f = learner.score_rows(batch.data)
        answered = model.answers(f) if isinstance(model, Pipeline) else learner.task.answers(m, f)
        predicted = answered if reject is None else learner.sure(batch.data, reject)
        chances = learner.chances_of(batch.data) if proba else None
        region = None if interval is None else learner.region_of(batch.data, interval)
        yield Answers(batch.ids, predicted, learner.task.margins(m, f), truth, chances, region)


def opened_to_answer(source: Any, model: Answering, options: dict[str, Any]) -> Stream:
    """Return a source whose rows a model answers."""
    pair = by_task(model).pair
    if not pair or isinstance(source, Stream):
        return stream(source, **options_for(model, options))
    options = dict(options)
    task_named(options)
    return opened_pairs(source, None, options, model, pair)[0]


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
