"""Training and predicting over streams: checkpoints, going on where one stopped, answers as they come."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

import numpy as np

from ..core.batch import Batch
from ..core.features import Hashed
from ..core.learner import Learner
from ..core.model_file import load
from ..streams.stream import Stream, stream
from ..tasks.classification import Classifier
from ..transforms.pipeline import Pipeline
from .naming import made
from .run import suited
from .sharing import opening
from .study import started, with_task

Model = Learner | Pipeline
Watch = Callable[[int, Stream, Model], None]


class Trained(NamedTuple):
    """What training made."""

    model: Model
    examples: int  # learned in all, those before a checkpoint included
    finished: bool  # whether the end of the last epoch was reached
    stream: Stream


def train(
    source: Any,
    model: Any = None,
    y: Any = None,
    *,
    save: str | os.PathLike[str] | None = None,
    resume: bool = False,
    epochs: int = 1,
    limit: int | None = None,
    checkpoint_every: int | None = None,
    checkpoint_seconds: float | None = None,
    stop: Callable[[], bool] = lambda: False,
    watch: Watch | None = None,
    **options: Any,
) -> Trained:
    """Learn from a stream, `epochs` times; save the model, also every so many examples or seconds and when `stop` says so.

    With `resume` the model in the file `save` goes on where it stopped, bit for bit as if it had not. Without one there it begins;
    no `model` is Auto for labels, NAGRegressor for numbers. The other options are those of `stream`.

    >>> import noregret as nr
    >>> done = nr.train("synthetic:linear?n=2000&d=10&seed=1", nr.PA1(C=0.1))
    >>> done.examples, done.finished, done.model.n_seen_
    (2000, True, 2000)
    """
    if save is None and (resume or checkpoint_every or checkpoint_seconds):
        raise ValueError("checkpoints and resuming need the name of a model file: give save")
    if epochs < 1:
        raise ValueError(f"epochs must be at least 1, got {epochs!r}")
    path = None if save is None else Path(save)
    going_on = resume and path is not None and path.exists()
    if path is not None and not path.parent.is_dir():
        raise FileNotFoundError(f"cannot write {path}: there is no directory {path.parent}")
    chosen: Model
    if not going_on and model is None:
        opened = stream(source, y, **options)
        chosen = started(opened)[0]
    else:
        chosen = load(path) if going_on else made(model)
        opened = stream(source, y, **options_for(chosen, options))
        if isinstance(chosen, Pipeline) and opened.front is not None and "front" not in opening(chosen):
            chosen.adopt(opened.front)
    job = Job(chosen, opened, path, going_on)
    return job.run(epochs, limit, checkpoint_every, checkpoint_seconds, stop, watch)


def options_for(model: Model, options: dict[str, Any]) -> dict[str, Any]:
    """Return the options that open a stream for a model: its own features where it has learned some."""
    if isinstance(model, Pipeline):
        return {**options, **opening(model)}
    options = with_task(options, [model])
    m = model.__dict__.get("_m")
    if m is not None and isinstance(m.features, Hashed):
        if options.get("hash_bits") not in (None, m.features.bits):
            raise ValueError(
                f"the model folds features into 2^{m.features.bits} places: hash_bits={options['hash_bits']} does not fit it"
            )
        return {**options, "hash_bits": m.features.bits}
    return options


class Job:
    """One learner learning from one stream."""

    def __init__(self, model: Model, opened: Stream, path: Path | None, going_on: bool) -> None:
        self.learner = model.learner if isinstance(model, Pipeline) else model
        self.opened = opened
        self.path = path
        self.model: Model = model
        if opened.front is not None and not isinstance(model, Pipeline):
            self.model = Pipeline.of(opened.front.fresh(), self.learner)
        self.front = self.model.front if isinstance(self.model, Pipeline) else None
        self.at: dict[str, Any] = {"source": opened.name, "epoch": 0, "position": None, "epoch_examples": 0}
        if going_on:
            self.at = self._where()
            clear_drafts(path)

    def _where(self) -> dict[str, Any]:
        """Return where a saved model stopped."""
        found = self.learner.__dict__.get("stream_")
        if not found:
            raise ValueError(f"{self.path} holds a model that was not trained from a stream, so there is no place to resume from")
        if found["source"] != self.opened.name:
            raise ValueError(
                f"{self.path} was trained from {found['source']}, not from {self.opened.name}: give the same source to resume"
            )
        return dict(found)

    def run(
        self,
        epochs: int,
        limit: int | None,
        every: int | None,
        seconds: float | None,
        stop: Callable[[], bool],
        watch: Watch | None,
    ) -> Trained:
        """Learn."""
        saved_at, saved_when = self._seen(), monotonic()
        if self.opened.reader.endless and epochs > 1 and limit is None:
            raise ValueError(f"{self.opened.name} has no end: epochs must be 1, got {epochs}")
        while self.at["epoch"] < epochs:
            for batch in self.opened.chunks(self.at["position"], front=self.front):
                batch = self._within(batch, limit)
                if batch.data.n == 0:
                    break
                self._learn(batch)
                self.at.update(position=batch.position, epoch_examples=self.at["epoch_examples"] + batch.data.n)
                if watch is not None:
                    watch(self._seen(), self.opened, self.model)
                if stop():
                    self.save()
                    return Trained(self.model, self._seen(), False, self.opened)
                due = every is not None and self._seen() - saved_at >= every
                if due or (seconds is not None and monotonic() - saved_when >= seconds):
                    self.save()
                    saved_at, saved_when = self._seen(), monotonic()
            else:
                if self.opened.reader.endless:  # nothing came for a while: a later run goes on from here
                    break
            self.at.update(epoch=self.at["epoch"] + 1, position=None, epoch_examples=0)
        if self._seen() == 0:
            raise ValueError(f"{self.opened.name} has no examples")
        self.save()
        return Trained(self.model, self._seen(), True, self.opened)

    def _seen(self) -> int:
        return self.learner.n_seen_ if "_m" in self.learner.__dict__ else 0

    def _within(self, batch: Batch, limit: int | None) -> Batch:
        left = batch.data.n if limit is None else max(0, limit - self.at["epoch_examples"])
        return batch if left >= batch.data.n else batch.cut(0, left)

    def _learn(self, batch: Batch) -> None:
        if batch.c is not None and not batch.c.all():
            batch = batch.take(np.flatnonzero(batch.c))
        if batch.data.n == 0:
            return
        learner = self.learner
        bias = bool(getattr(learner, "fit_intercept", False))
        features = None if "_m" in learner.__dict__ else self.opened.features(batch.data, bias)
        learner._learn_rows(batch.data, suited(batch.y, learner), batch.c, features)

    def save(self) -> None:
        """Write the model with the position of the stream."""
        self.learner.__dict__["stream_"] = dict(self.at)
        if self.path is not None and "_m" in self.learner.__dict__:
            self.model.save(self.path)
            if self.at["position"] is not None:
                self.opened.reader.commit(self.at["position"])


def clear_drafts(path: Path | None) -> None:
    """Remove what a process that was killed while saving left beside the file."""
    if path is not None:
        for draft in path.parent.iterdir():
            if re.fullmatch(re.escape(path.name) + r"\.[0-9a-f]{16}\.tmp", draft.name):
                draft.unlink(missing_ok=True)


# ---- answers ---------------------------------------------------------------------------------------------------------
class Answers(NamedTuple):
    """The answers to some rows."""

    ids: Any  # as the source names its rows, or None
    y: np.ndarray  # labels or numbers
    scores: np.ndarray  # one column, or one per class in the order of `classes_`
    truth: Any  # what the source says, or None


def answer(source: Any, model: Model, *, reject: float | None = None, **options: Any) -> Iterator[Answers]:
    """Answer the rows of a stream in order, without learning.

    With `reject`, a second-order learner answers None where it is less sure than that (see `predict` of AROW).
    """
    opened = stream(source, **options_for(model, options))
    front = model.front if isinstance(model, Pipeline) else None
    learner = model.learner if isinstance(model, Pipeline) else model
    m = learner._model()
    if reject is not None and not hasattr(learner, "sure"):
        raise ValueError(f"reject needs a learner that knows how sure it is, such as arow; this is a {learner.name}")
    for batch in opened.chunks(front=front, learn=False):
        f = learner._score_rows(batch.data)
        if reject is not None:
            labels = learner.sure(batch.data, reject)
            yield Answers(batch.ids, labels, learner._outward(m, f), batch.y)
        elif isinstance(learner, Classifier):
            assert m.labels is not None
            yield Answers(batch.ids, m.labels.array()[learner._picked(m, f)], learner._outward(m, f), batch.y)
        else:
            said = np.where(f[:, 0] >= 0.0, 1, -1) if learner.task == "one_class" else f[:, 0]
            yield Answers(batch.ids, said, f[:, 0], batch.y)
