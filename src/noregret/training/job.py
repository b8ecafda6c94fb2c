"""Training over a stream: checkpoints, and going on where one stopped."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

from ..files import drafts
from ..files.model_file import load
from ..inputs.batch import Batch
from ..learners.learner import has_bias
from ..spelling import made
from ..streams.stream import Stream, counting, stream
from ..transforms.pipeline import Pipeline
from .by_task import first_learner, suited
from .guessing import with_target
from .opening import Trainable, opening, options_for

Watch = Callable[[int, Stream, Trainable], None]


class Trained(NamedTuple):
    """What training made."""

    model: Trainable
    examples: int  # learned in all, those before a checkpoint included
    finished: bool  # whether the end of the last epoch was reached
    stream: Stream
    notes: Sequence[str] = ()  # what was chosen for the user


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
    """Learn from a stream, `epochs` times; save the model at the end, at intervals of examples or seconds, and when `stop` says so.

    With `resume` the model in the file `save` resumes where it stopped, bit for bit as if it had not. Without one there it begins;
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
    chosen: Trainable
    if not going_on and model is None:
        opened, notes = with_target(stream(source, y, **options), None)
        chosen, more = first_learner(opened)
        notes += more
    else:
        chosen = load(path) if going_on else made(model)
        opened, notes = with_target(stream(source, y, **options_for(chosen, options)), chosen)
        if isinstance(chosen, Pipeline) and opened.front is not None and (notes or "front" not in opening(chosen)):
            chosen.adopt(opened.front)
    job = Job(chosen, opened, path, going_on)
    return job.run(epochs, limit, checkpoint_every, checkpoint_seconds, stop, watch)._replace(notes=notes)


class Job:
    """One learner learning from one stream."""

    def __init__(self, model: Trainable, opened: Stream, path: Path | None, going_on: bool) -> None:
        self.learner = model.learner if isinstance(model, Pipeline) else model
        self.opened = opened
        self.path = path
        self.model: Trainable = model
        if opened.front is not None and not isinstance(model, Pipeline):
            self.model = Pipeline.of(opened.front.fresh(), self.learner)
        self.front = self.model.front if isinstance(self.model, Pipeline) else None
        self.at: dict[str, Any] = {"source": opened.name, "epoch": 0, "position": None, "epoch_examples": 0}
        if going_on and path is not None:
            self.at = self._where(model.extras.get("stream"))
            drafts.clear(path)

    def _where(self, found: Any) -> dict[str, Any]:
        """Return where a saved model stopped, if that is a place in this stream."""
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
                if self.opened.reader.endless:  # nothing came for a while: a later run resumes here
                    break
            self.at.update(epoch=self.at["epoch"] + 1, position=None, epoch_examples=0)
        if self._seen() == 0:
            raise ValueError(f"{self.opened.name} has no examples")
        self.save()
        return Trained(self.model, self._seen(), True, self.opened)

    def _seen(self) -> int:
        return self.learner.n_seen_ if self.learner.started else 0

    def _within(self, batch: Batch, limit: int | None) -> Batch:
        left = batch.data.n if limit is None else max(0, limit - self.at["epoch_examples"])
        return batch if left >= batch.data.n else batch.cut(0, left)

    def _learn(self, batch: Batch) -> None:
        batch = counting(batch)
        if batch.data.n == 0:
            return
        learner = self.learner
        bias = has_bias(learner)
        features = None if learner.started else self.opened.features(batch.data, bias)
        learner.learn_rows(batch.data, suited(batch.y, learner), batch.c, features)

    def save(self) -> None:
        """Write the model with the position of the stream."""
        self.model.extras["stream"] = dict(self.at)
        if self.path is not None and self.learner.started:
            self.model.save(self.path)
            if self.at["position"] is not None:
                self.opened.reader.commit(self.at["position"])
