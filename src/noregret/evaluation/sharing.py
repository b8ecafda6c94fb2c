"""What learners that are compared share, the front of the stream, and what each has of its own: maps of rows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from ..core.learner import Learner
from ..streams.stream import Stream
from ..transforms.front import Front
from ..transforms.pipeline import Pipeline
from ..transforms.scale import Scale
from ..transforms.table import Table

Model = Learner | Pipeline


def steps_of(model: Model) -> list[Any]:
    """Return what stands before the learner."""
    return list(model.steps[:-1]) if isinstance(model, Pipeline) else []


def shared_steps(models: Sequence[Model]) -> list[Any]:
    """Return the steps that all of these begin with."""
    together = zip(*map(steps_of, models), strict=False)
    return [steps[0] for steps in takewhile(lambda steps: len(set(map(repr, steps))) == 1, together)]


def opening_of(steps: Sequence[Any]) -> dict[str, Any]:
    """Return the options that open a stream with these steps; without a Table among them, the source decides on its own."""
    table = next((s.fresh() for s in steps if isinstance(s, Table)), None)
    maps = [s.fresh() for s in steps if not isinstance(s, Table)]
    return {"front": Front(table, maps)} if table is not None else {"maps": maps} if maps else {}


def opening(model: Pipeline) -> dict[str, Any]:
    """Return the options that open a stream for a pipeline: its front, or before it has learned the steps of one."""
    return {"front": model.front} if "_m" in model.learner.__dict__ else opening_of(steps_of(model))


def own_front(model: Model, shared: Sequence[Any]) -> Front | None:
    """Return a new front of the maps that this model alone needs; None where it needs none."""
    own = steps_of(model)[len(shared) :]
    if any(isinstance(s, Table) for s in own):
        raise TypeError(
            "models that are compared share the table, and each may have maps of rows of its own: expected the same Table in all, "
            f"got one before {model.name} that is not in all. Or leave it out: roles and hash_bits are options of the source too."
        )
    return Front(None, [s.fresh() for s in own]) if own else None


def check_scales(opened: Stream, fronts: Sequence[Front | None]) -> None:
    """Refuse a Scale of one learner on the columns of a table: which entries are numbers, only the table knows."""
    if opened.front is None or opened.front.table is None or opened.front.outputs is not None:
        return
    for front in fronts:
        if front is not None and any(isinstance(m, Scale) for m in takewhile(lambda m: m.outputs is None, front.maps)):
            raise ValueError(
                f"{opened.name} is a table, of which Scale standardises the numbers alone: it must come first in all models that "
                "are compared. Give scale=True (--scale), or begin all of them with it."
            )
