"""Training over a stream: checkpoints, going on where one stopped, and with what came since."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

from ..calibration.calibration import pausing
from ..files import drafts
from ..files.model_file import load
from ..inputs.batch import Batch
from ..inputs.checking import Rows
from ..learners.learner import Progress, has_bias
from ..streams.growing import Growing
from ..streams.marks import files_of, marks
from ..streams.round_reader import RoundReader
from ..streams.source import is_plain, size_of
from ..streams.stream import Stream, counting, stream
from ..tasks.compact import Compact
from ..transforms.pipeline import Pipeline
from .allocating import gone_before, learn_rounds, opened_rounds
from .by_task import BY_TASK, by_task, first_learner, implied, set_shared, suited, task_named, trainable
from .guessing import with_target
from .opening import Trainable, options_for, same_rows
from .pairing import opened_pairs
from .proceeding import beginning, check_epochs, continued, noted, resumed
from .texts import opened_texts

Watch = Callable[[int, Stream, Trainable], None]
Answered = Callable[[Trainable, Rows, Any, Any, list[Progress]], None]


class Trained(NamedTuple):
    """What training made."""

    model: Trainable
    examples: int  # learned in all, those before a checkpoint included
    finished: bool  # whether the end of the last epoch was reached
    stream: Stream
    added: int  # examples learned in this call
    mistakes: int  # made on these
    notes: Sequence[str] = ()  # what was chosen for the user


def train(
    source: Any,
    model: Any = None,
    y: Any = None,
    *,
    save: str | os.PathLike[str] | None = None,
    resume: bool = False,
    continue_: bool = False,
    follow: bool = False,
    epochs: int = 1,
    limit: int | None = None,
    checkpoint_every: int | None = None,
    checkpoint_seconds: float | None = None,
    stop: Callable[[], bool] = lambda: False,
    watch: Watch | None = None,
    answered: Answered | None = None,
    **options: Any,
) -> Trained:
    """Learn from a stream, `epochs` times; save the model at the end, at intervals of examples or seconds, and when `stop` says so.

    With `resume` the model in the file `save` resumes where it stopped, bit for bit as if it had not. With `continue_` it also
    learns from other files than before, and from what was added to the same: files that it has learned are left out. Without a
    model there it begins; no `model` is Auto for labels, AutoRegressor for numbers, and without labels NORMANovelty on random bins
    of scaled columns. With `follow` a file of lines is read to its last whole line, and on as it grows, until `stop` says so.
    `watch` is called with the rows so far, the stream and the model; `answered` with the model, some rows, their labels and
    weights, and the answers to them where there are no classes. The other options are those of `stream`, and `task` as in
    `compare`.

    >>> import noregret as nr
    >>> done = nr.train("synthetic:linear?n=2000&d=10&seed=1", nr.PA1(C=0.1))
    >>> done.examples, done.finished, done.model.n_seen_
    (2000, True, 2000)
    """
    path = checked(save, resume, continue_, checkpoint_every, checkpoint_seconds, epochs)
    task = task_named(options)
    going_on = (resume or continue_) and path is not None and path.exists()
    if task is None and model is None and not going_on:
        task = implied(source, options)
    stamp = None if path is None else drafts.stamp(path)

    def growing(opened: Stream) -> Stream:
        return Stream(Growing(opened.reader, stop), opened.front) if follow else opened

    chosen: Any
    more: list[str] = []
    if not going_on and model is None and (task is None or not BY_TASK[task].own):
        opened, notes = with_target(stream(source, y, **options), None)
        opened = growing(opened)
        chosen, opened, more = first_learner(opened, task)
        notes += more
    else:
        chosen = load(path) if going_on else trainable(task, model)
        if isinstance(chosen, Compact):
            chosen.partial_fit()  # which refuses
        if not going_on:
            set_shared(chosen, options)
        if not going_on and model is None:
            more = [f"No learner was named: {chosen.name} was taken."]
        opened, notes = opened_for(chosen, source, y, options, follow or epochs > 1)
        opened, notes = growing(opened), more + notes
        if isinstance(chosen, Pipeline) and opened.front is not None and opened.front is not chosen.front:
            chosen.adopt(opened.front)
    if path is not None:
        drafts.check_apart(path, files_of(opened.reader))
    at = beginning(opened.name)
    if going_on and path is not None:
        if not isinstance(opened.reader, RoundReader):
            same_rows(opened, chosen)
        found = chosen.extras.get("stream")
        if resume:
            at = resumed(path, found, opened, limit)
        else:
            opened, at = continued(path, found, opened, limit, lambda paths: growing(opened_for(chosen, paths, y, options)[0]))
            if isinstance(opened.reader, RoundReader) and at["position"] is None:
                opened.reader.before = gone_before(found)
        check_epochs(path, at, epochs)
        drafts.clear(path)
    done = Job(chosen, opened, path, at, answered, stamp).run(epochs, limit, checkpoint_every, checkpoint_seconds, stop, watch)
    return done._replace(notes=notes)


def opened_for(chosen: Any, source: Any, y: Any, options: dict[str, Any], again: bool = False) -> tuple[Stream, list[str]]:
    """Return a source as a model takes it, and what was found out about it. `again` says that it is to be read more than once."""
    entry = by_task(chosen)
    if entry.pair:
        return opened_pairs(source, y, options, chosen, entry.pair)
    if entry.words:
        return opened_texts(source, y, options, [chosen])
    if entry.rounds is not None:
        if again:
            raise ValueError(f"{chosen.name} learns each {chosen.unit} once, in order: follow and epochs do not go with it")
        return opened_rounds(source, y, options, chosen, entry.rounds)
    return with_target(stream(source, y, **options_for(chosen, options)), chosen)


def checked(
    save: str | os.PathLike[str] | None, resume: bool, continue_: bool, every: int | None, seconds: float | None, epochs: int
) -> Path | None:
    """Return the path of the model; refuse options that do not go together."""
    if save is None and (resume or continue_ or every or seconds):
        raise ValueError("checkpoints and resuming need the name of a model file: give save")
    if resume and continue_:
        raise ValueError("resume and continue_ do not go together: continue_ resumes, too, where the source is the same")
    if epochs < 1:
        raise ValueError(f"epochs must be at least 1, got {epochs!r}")
    path = None if save is None else Path(save)
    if path is not None:
        drafts.check_folder(path)
    return path


class Job:
    """One learner learning from one stream."""

    def __init__(
        self,
        model: Trainable,
        opened: Stream,
        path: Path | None,
        at: dict[str, Any],
        answered: Answered | None = None,
        stamp: Any = None,
    ) -> None:
        self.learner = model.learner if isinstance(model, Pipeline) else model
        self.opened = opened
        self.path, self.stamp = path, stamp  # of the model file when it was read or last written
        self.model: Trainable = model
        if opened.front is not None and not isinstance(model, Pipeline):
            self.model = Pipeline.of(opened.front.fresh(), self.learner)
        self.front = self.model.front if isinstance(self.model, Pipeline) else None
        folded = opened.reader.hash_bits is not None or (opened.front is not None and opened.front.outputs is not None)
        self.at = {**at, "format": opened.kind} if folded else at  # such features do not tell where they come from
        self.answered = answered
        self.paths = files_of(opened.reader)
        self.sizes: list[int] = []  # of the files, when the pass began
        self.saved_at, self.saved_when = self._seen(), monotonic()

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
        reader, before, wrong = self.opened.reader, self._seen(), self._wrong()
        if reader.endless and epochs > 1 and limit is None:
            raise ValueError(f"{self.opened.name} has no end: epochs must be 1, got {epochs}")
        if isinstance(reader, Growing):
            reader.idle = lambda: self._checkpoint(every, seconds) or stop()
        while self.at["epoch"] < epochs:
            self.sizes = [size_of(path) for path in self.paths]
            for batch in self._batches(limit):
                self._learn(batch)
                self.at.update(position=batch.position, epoch_examples=self.at["epoch_examples"] + batch.data.n)
                self._note_cut()
                if isinstance(reader, Growing):  # later it may be another file
                    self._mark()
                if watch is not None:
                    watch(self._seen(), self.opened, self.model)
                if stop():
                    self.save()
                    return Trained(self.model, self._seen(), False, self.opened, self._seen() - before, self._wrong() - wrong)
                self._checkpoint(every, seconds)
            self._note_cut()
            if reader.endless and not self.opened.cut:  # nothing came for a while: a later run resumes here
                break
            self._end_pass()
        if self._seen() == 0:
            raise self.opened.nothing()
        added = self._seen() - before
        if added or noted(self.at) != self.model.extras.get("stream"):  # what has nothing new stays as it is
            self.save()
        return Trained(self.model, self._seen(), True, self.opened, added, self._wrong() - wrong)

    def _batches(self, limit: int | None) -> Iterator[Batch]:
        """Yield the rows of a pass; what was learned from a file that is followed is saved before an error in it."""
        left = None if limit is None else max(0, limit - self.at["epoch_examples"])
        try:
            yield from self.opened.chunks(self.at["position"], front=self.front, limit=left)
        except (OSError, ValueError):
            if isinstance(self.opened.reader, Growing):
                self._write()
            raise

    def _note_cut(self) -> None:
        """Note at once where a limit cut a pass: the position is that of rows which were not learned."""
        if self.opened.cut:
            self.at["limited"] = self.at["epoch_examples"]

    def _seen(self) -> int:
        return self.learner.n_seen_ if self.learner.started else 0

    def _wrong(self) -> int:
        return self.learner.n_mistakes_ if self.learner.started else 0

    def _learn(self, batch: Batch) -> None:
        batch = counting(batch)
        if batch.data.n == 0:
            return
        learner: Any = self.learner
        if by_task(learner).rounds is not None:
            learn_rounds(learner, batch)
            return
        bias = has_bias(learner)
        features = None if learner.started else self.opened.features(batch.data, bias)
        with batch.named_in_errors():
            y = suited(batch.y, learner)
        with batch.named_in_errors(), pausing(getattr(learner.held, "calibration", None), self.at["epoch"] > 0):
            done = learner.learn_rows(batch.data, y, batch.c, features, keep=False)
        if isinstance(self.model, Pipeline):
            self.model.noted(batch.data, y)
        if done and features is not None:
            done[0] = done[0]._replace(blind=1)
        if self.answered is not None:
            self.answered(self.model, batch.data, y, batch.c, done)

    def _end_pass(self) -> None:
        """Note that the source was read to its end: that of the last file was where it ended when the pass began, or later.

        A limit may have cut the pass before, in an earlier file.
        """
        end, cut = self.at["position"] or self.at["end"], self.opened.cut
        self.at.update(epoch=self.at["epoch"] + 1, position=None, epoch_examples=0)
        if self.paths:
            self.at["end"] = end
            last = end["file"] if cut and end is not None else len(self.paths) - 1
            read = (
                end["offset"] if end is not None and "offset" in end and end["file"] == last and is_plain(self.paths[last]) else 0
            )
            self._mark_files(last, max(read, self.sizes[last]))

    # ---- saving ------------------------------------------------------------------------------------------------------
    def _checkpoint(self, every: int | None, seconds: float | None) -> bool:
        """Save if that is due and there is something new; return False."""
        new = self._seen() - self.saved_at
        due = every is not None and new >= every
        if new and (due or (seconds is not None and monotonic() - self.saved_when >= seconds)):
            self.save()
        return False

    def save(self) -> None:
        """Write the model with the position of the stream, and the marks of the files up to there."""
        self._mark()
        self._write()

    def _mark(self) -> None:
        position = self.at["position"]
        if position is not None and self.paths:
            file = position["file"]
            inside = "offset" in position and is_plain(self.paths[file])
            self._mark_files(file, position["offset"] if inside else None)

    def _mark_files(self, last: int, size: int | None) -> None:
        self.at["files"] = marks(self.paths, last, size, self.at["files"])
        if "limited" in self.at:
            self.at["files"][-1]["limited"] = self.at["limited"]

    def _write(self) -> None:
        self.model.extras["stream"] = noted(self.at)
        if self.path is not None and self.learner.started:
            if drafts.stamp(self.path) not in (None, self.stamp):
                raise ValueError(
                    f"{self.path} was written by someone else during this training, which is not saved: let one training at a time "
                    "write a model file, then give continue_=True again"
                )
            self.model.save(self.path)
            self.stamp = drafts.stamp(self.path)
            if self.at["position"] is not None:
                self.opened.reader.commit(self.at["position"])
        self.saved_at, self.saved_when = self._seen(), monotonic()
