"""Split compared pipelines into the front that all share, which runs once, and each model's own maps."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from ...streams.stream import Stream
from ...training.opening import Trainable, steps_of
from ...transforms.front import Front
from ...transforms.namespaces import Namespaces
from ...transforms.scale import Scale
from ...transforms.table import Table


def shared_steps(models: Sequence[Trainable]) -> list[Any]:
    """Return the steps that all of these begin with."""
    together = zip(*map(steps_of, models), strict=False)
    return [steps[0] for steps in takewhile(lambda steps: len(set(map(repr, steps))) == 1, together)]


def own_front(model: Trainable, shared: Sequence[Any]) -> Front | None:
    """Return a new front of the maps that this model alone needs; None where it needs none."""
    own = steps_of(model)[len(shared) :]
    if any(isinstance(s, Table) for s in own):
        raise TypeError(
            "models that are compared share the table, and each may have its own maps of rows: expected the same Table in all, "
            f"got one before {model.name} that is not in all. Or leave it out: roles and hash_bits are options of the source too."
        )
    if any(isinstance(s, Namespaces) for s in own):
        raise TypeError(
            f"models that are compared share their rows: expected the same Namespaces in all, got others before {model.name}"
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
                "are compared. Give scale=True, or begin all of them with it."
            )
