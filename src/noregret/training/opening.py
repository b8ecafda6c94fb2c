"""How a stream is opened for a learner or a pipeline: with its front, its column of tasks, its hashed features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..inputs.features import Hashed, Numbers
from ..learners.learner import Learner
from ..streams.stream import Stream
from ..transforms.front import Front
from ..transforms.pipeline import Pipeline
from ..transforms.scale import Normalize, Scale
from ..transforms.table import Table, crosses_of, listed, names_in

Trainable = Learner | Pipeline
NAMED = "vw"  # the format whose features have names and are hashed by the reader


class OtherOptions(ValueError):
    """Options of a source that say other than what a model was trained with."""


def steps_of(model: Trainable) -> list[Any]:
    """Return what stands before the learner."""
    return list(model.steps[:-1]) if isinstance(model, Pipeline) else []


def opening_of(steps: Sequence[Any]) -> dict[str, Any]:
    """Return the options that open a stream with these steps; without a Table among them, the source decides on its own."""
    table = next((s.fresh() for s in steps if isinstance(s, Table)), None)
    maps = [s.fresh() for s in steps if not isinstance(s, Table)]
    return {"front": Front(table, maps)} if table is not None else {"maps": maps} if maps else {}


def opening(model: Pipeline) -> dict[str, Any]:
    """Return the options that open a stream for a pipeline: its front, or before it has learned the steps of one."""
    return {"front": model.front} if model.learner.started else opening_of(steps_of(model))


def with_task(options: Mapping[str, Any], models: Sequence[Any]) -> dict[str, Any]:
    """Return the options of a source, with the column of tasks that a learner names."""
    named = [column for m in models if (column := getattr(m, "task_column", None)) is not None]
    if len(set(named)) > 1:
        raise ValueError(f"learners that are compared read one column of tasks, got task_column={sorted(set(named))}")
    return {**options, "task": named[0]} if named and options.get("task") is None else dict(options)


def options_for(model: Trainable, options: dict[str, Any]) -> dict[str, Any]:
    """Return the options that open a stream for a model: its own features where it has learned some.

    Options that say other than it was trained with are refused.
    """
    if isinstance(model, Pipeline):
        own, learner = opening(model), model.learner
        check_options(own.get("front"), options)
        options = {**options, **own}
    else:
        check_options(Front() if model.started else None, options)
        options, learner = with_task(options, [model]), model
    features = learner.model.features if learner.started else None
    if not isinstance(features, Hashed):
        return options
    if options.get("hash_bits") not in (None, features.bits):
        raise ValueError(
            f"the model folds features into 2^{features.bits} places: hash_bits={options['hash_bits']} does not fit it"
        )
    return {**options, "hash_bits": features.bits}


def check_options(front: Front | None, options: Mapping[str, Any]) -> None:
    """Refuse options that do not describe the front of a model, where it has one: they would be ignored, or mixed with it."""
    if front is None:
        return
    known = {} if front.table is None else front.table.get_params()
    for m in front.maps:
        known |= {"scale": m.get_params() == Scale().get_params() or m} if isinstance(m, Scale) else {}
        known |= {"normalize": m.norm} if isinstance(m, Normalize) else {}
    for name in [k for k in options if k in known or k in ("scale", "normalize")]:
        was, value = known.get(name), options[name]
        if unset(value):
            continue
        if unset(was):
            raise OtherOptions(f"the model was trained without {name}=: leave out {name}=")
        if in_any_order(name, was) != in_any_order(name, value):
            raise OtherOptions(f"the model was trained with {name}={was!r}, not {name}={value!r}: leave out {name}=")


def unset(value: Any) -> bool:
    """Return whether an option says nothing; 0 says something."""
    return value is None or value is False or value in ((), [])


def in_any_order(name: str, value: Any) -> Any:
    """Return an option in a form in which those that mean the same are equal: columns are named in any order."""
    if name == "cross":
        return {names_in(c) for c in crosses_of(value)}
    return {*listed(value)} if isinstance(value, (str, list, tuple)) else value


def same_rows(opened: Stream, model: Trainable) -> None:
    """Refuse a source whose features are not those of a model: each would be unknown, and every answer the same."""
    if opened.reader.tabular and not isinstance(model, Pipeline):
        raise TypeError(
            f"expected rows of numbers, got {opened.kind}: the model learned from rows of numbered features, and {opened.name} has "
            "named columns"
        )
    learner = model.learner if isinstance(model, Pipeline) else model
    numbered = learner.started and isinstance(learner.model.features, Numbers)
    if opened.reader.hash_bits is not None and numbered and (opened.front is None or opened.front.table is None):
        raise TypeError(
            f"expected rows of numbers, got {opened.kind}: the model learned from rows of numbered features, and those of "
            f"{opened.name} are hashed"
        )
    was = (model.extras.get("stream") or {}).get("format", opened.kind)
    if was != opened.kind and NAMED in (was, opened.kind):  # folded into the same places, names and numbers look alike
        raise TypeError(f"expected rows of {was}, on which the model was trained, got {opened.kind}: {opened.name}")
