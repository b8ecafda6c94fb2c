"""Where a stream and a learner meet, by task: labels as the learner takes them, its answers, and the learner to begin with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ..inputs.batch import Reader
from ..inputs.labels import Coded, Labels, whole
from ..learners.learner import Learner
from ..recommender import Recommender
from ..spelling import made
from ..streams import formats
from ..streams.stream import Stream, is_path, stream
from ..transforms.pipeline import Pipeline
from .opening import Trainable, steps_of

MARKS = {-1, 0, 1}  # labels that tell which rows are normal
DOUBTFUL = 10  # this many distinct whole numbers may still be amounts
FEW = 50  # different whole numbers in the first rows that are still taken for classes
# One kernel width suits scaled columns of any number, and grids of 2^16 cells in all keep the model at 0.5 MB.
NOVELTY = "scale(clip=5)>per_entry>random_binning(100,laplacian(2),bits=16)>norma_novelty:rate=inv_sqrt"


class ByTask(NamedTuple):
    """What depends on the task."""

    suited: Callable[[Any, str], Any]  # labels of a stream, for the learner of this name
    missed: Callable[[Any, np.ndarray], float] | None  # how far answers are from labels, summed; None where they are not compared
    start: str  # the default learner, with the maps before it
    classes: bool = False  # whether answers are labels, of which the wrong ones are mistakes
    labelled: bool = True  # whether it cannot learn from rows without labels
    rounds: tuple[str, ...] | None = (
        None  # where it learns from rounds, not rows of features: the options that say how to read them
    )
    own: bool = False  # whether a learner, or the task itself, must be named: the rows do not tell it
    guesses: bool = False  # whether a column that is called as labels usually are is taken out of the rows, to judge answers by
    shared: tuple[str, ...] = ()  # parameters that several learners may be given together, as options of a study
    room: str = ""  # what its names begin with, which may be left out where the task is named
    words: bool = False  # whether features of tables are the words of texts alone
    pair: tuple[str, ...] = ()  # where features are made of two columns alone: the options that name them
    of: tuple[str, ...] = ()  # other tasks whose learners do
    around: type[Any] | None = None  # what is trained and saved, made of a learner, where it is more than that


# ---- labels --------------------------------------------------------------------------------------------------------------
def as_classes(y: Any, name: str) -> Any:
    """Return labels; whole numbers are taken as such."""
    present(y)
    return whole(y) if isinstance(y, np.ndarray) else y


def as_numbers(y: Any, name: str) -> Any:
    """Return real targets; refuse names."""
    present(y)
    numbers = y.numbers() if isinstance(y, Coded) else y
    if numbers is None:
        raise ValueError(f"{name} needs numbers for targets, and these are names such as {y.values[0]!r}")
    return numbers


def as_marks(y: Any, name: str) -> np.ndarray | None:
    """Return the labels that a one-class learner does not learn from; refuse those that do not say which rows are normal."""
    if y is None:
        return None
    values = y.values if isinstance(y, Coded) else np.unique(y).tolist()
    if strange := [v for v in values if v not in MARKS]:
        raise ValueError(
            f"{name} learns what is normal: labels are 1 for a normal row and -1 or 0 for an outlier, found {strange[0]!r}"
        )
    return (y.array() if isinstance(y, Coded) else y).astype(np.int64)


def as_given(y: Any, name: str) -> Any:
    """Return what rounds bring."""
    return y


def as_nothing(y: Any, name: str) -> None:
    """Return no labels: they are not learned from."""


def present(y: Any) -> None:
    """Refuse a source without labels."""
    if y is None:
        raise ValueError(
            "the source has no labels: name their column in a table (target, --target), call their array y in .npz, or use predict"
        )


# ---- errors --------------------------------------------------------------------------------------------------------------
def count_mistakes(y: Any, predicted: np.ndarray) -> float:
    """Return how many answers differ from the labels; no answer is not a mistake."""
    truth = y.array() if isinstance(y, Coded) else y
    return sum(b is not None and a != b for a, b in zip(truth.tolist(), predicted.tolist(), strict=True))


def sum_distances(y: Any, predicted: np.ndarray) -> float:
    """Return the sum of the sizes of the errors."""
    return float(abs(y - predicted).sum())


BY_TASK = {
    "classification": ByTask(as_classes, count_mistakes, classes=True, start="auto"),
    "regression": ByTask(as_numbers, sum_distances, start="auto_regressor"),
    "one_class": ByTask(as_marks, None, start=NOVELTY, labelled=False),
    # Costs decide between strategies; this one bets on nothing but that the best constant portfolio is worth following.
    "portfolio": ByTask(
        as_given, None, start="portfolio.eg", own=True, labelled=False, shared=("cost", "entry"), room="portfolio.",
        rounds=("prices", "missing", "time", "date_order", "ignore"),
    ),
    "experts": ByTask(
        as_given, None, start="experts", own=True, labelled=False, shared=("rule", "loss"),
        rounds=("target", "time", "date_order", "ignore"),
    ),
    "components": ByTask(as_nothing, None, start="online_pca", own=True, labelled=False, guesses=True, shared=("k",)),
    "topics": ByTask(as_nothing, None, start="online_lda", own=True, labelled=False, shared=("K",), words=True),
    "recommendation": ByTask(
        as_numbers, sum_distances, start="fm_regressor", own=True, pair=("user", "item"), of=("regression", "classification"),
        around=Recommender, room="recommendation.",
    ),
}  # fmt: skip


def by_task(learner: Any) -> ByTask:
    """Return the entry of a learner's task."""
    return BY_TASK[learner.task]


def task_named(options: dict[str, Any]) -> str | None:
    """Take the task from options that name one; a column of tasks, for learners of several, stays."""
    return str(options.pop("task")) if isinstance(options.get("task"), str) and options["task"] in BY_TASK else None


def implied(source: Any, options: Mapping[str, Any]) -> str | None:
    """Return the task that the format of a source tells, None where it tells none."""
    if isinstance(source, (Stream, Reader)):
        known = formats.FORMATS.get(source.kind)
    else:
        files = is_path(source) and formats.of_address(source) is None
        known = formats.of_files(source, options.get("format")) if files else None
    return None if known is None else known.task or None


def made_for(task: str | None, model: Any = None, given: Mapping[str, Any] | None = None) -> Any:
    """Return the learner of a text, whose name may be short where the task is known; unless one is named, that to begin with."""
    entry = None if task is None else BY_TASK[task]
    found = made(entry.start) if model is None and entry is not None else made(model, given, "" if entry is None else entry.room)
    if entry is not None and found.task not in (task, *entry.of):
        raise ValueError(f"{titled_name(found)} is for {found.task}, and the task is {task}")
    return found


def trainable(task: str | None, model: Any = None) -> Any:
    """Return the same as something to train and save."""
    found = made_for(task, model)
    around = None if task is None else BY_TASK[task].around
    return found if around is None or isinstance(found, around) else around(found)


def set_shared(model: Any, options: dict[str, Any]) -> None:
    """Take the parameters that learners of a task may be given together from options, and set them."""
    learner = model.learner if isinstance(model, Pipeline) else model
    if given := {k: options.pop(k) for k in by_task(learner).shared if k in options}:
        learner.set_params(**{k: v for k, v in given.items() if k in learner.defaults})


def titled_name(model: Any) -> str:
    """Return the name of a model's learner."""
    return str((model.learner if isinstance(model, Pipeline) else model).name)


def suited(y: Any, learner: Learner) -> Any:
    """Return the labels of a stream as this learner takes them; labels that mean classes it knows, as those are written."""
    y = by_task(learner).suited(y, learner.name)
    if y is None or not learner.task.labelled:
        return y
    return (Labels() if learner.held is None else learner.held.labels).read(y)


# ---- where no learner is named ---------------------------------------------------------------------------------------------
def task_of(opened: Stream) -> tuple[str, list[str]]:
    """Return the task that the first rows of a source look like, and what to tell where that may be wrong."""
    if not opened.reader.replayable:
        raise ValueError("standard input is read once, and the learners depend on what is in it: name them")
    batch = next(iter(opened.chunks()), None)
    if batch is None:
        raise opened.nothing()
    if batch.y is None:
        told = f"{opened.name} has no labels: the learner flags the rows least like the others, a share nu of them."
        return "one_class", [told]
    if isinstance(batch.y, Coded) and not amounts(batch.y):
        return "classification", []
    values = np.unique(as_numbers(batch.y, ""))
    if len(values) > FEW or (values != np.floor(values)).any():
        return "regression", []
    told = (
        "The labels are many whole numbers, and were taken for classes; if they are amounts, name regressors (pa1_regressor, ...)."
    )
    return "classification", [told] if len(values) > DOUBTFUL else []


def amounts(y: Coded) -> bool:
    """Return whether labels are amounts: some are real numbers, or many differ and most are written with a power of ten."""
    if any(isinstance(v, float) for v in y.values):
        return True
    powers = sum("e" in str(v).lower() for v in y.values)
    return y.numbers() is not None and len(y.values) > FEW and 2 * powers > len(y.values)


def first_learner(opened: Stream, task: str | None = None) -> tuple[Trainable, Stream, list[str]]:
    """Return the default learner of a task, by default that which the rows look like; the stream behind its maps, and a note."""
    task, notes = (task, []) if task is not None else task_of(opened)
    name = BY_TASK[task].start
    chosen = made(name)
    behind = stream(opened, maps=[step.fresh() for step in steps_of(chosen)])
    if isinstance(chosen, Pipeline) and behind.front is not None:
        chosen.adopt(behind.front)  # with the maps that the user asked for
    return chosen, behind, [f"No learner was named: {name} was taken.", *notes]
