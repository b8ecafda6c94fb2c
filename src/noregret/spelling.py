"""Learners and the steps before them as text: "random_fourier(200, rbf(0.1))>pa1:C=0.5" and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .algorithm.kernel_options import kernel_of, snake, written
from .algorithm.params import check_options, same_value
from .learners.base import Base
from .registry import known
from .registry import learner as by_name
from .spaces.support_vectors import value
from .spec import EXAMPLE, parse_call, parse_spec, parse_value
from .text import shortened
from .transforms.maps import MAPS
from .transforms.pipeline import Pipeline, pipeline
from .transforms.step import Map, Step

LONGEST = 40  # of a value in a title: groups may be thousands of names


# ---- reading -----------------------------------------------------------------------------------------------------------
def made(model: Any, given: Mapping[str, Any] | None = None, room: str = "") -> Any:
    """Return a learner from a name, from "name:C=0.1,average=true", or as it is; a pipeline from "step(...)>name".

    `given` are settings besides those of the text; with `room`, a name may lack this beginning.
    """
    if isinstance(model, (Base, Pipeline)):
        return model
    if not isinstance(model, str):
        hint = f": make one, {model.__name__}()" if isinstance(model, type) and issubclass(model, Base) else ""
        raise TypeError(f"expected a learner or its name, got {model!r}{hint}")
    found = parse_spec(model)
    maps = [map_of(step) for step in found.steps]
    settings = {key: parse_value(said) for key, said in found.settings.items()}
    full = f"{room}{found.name}"
    learner = by_name(full if known(full) is not None else found.name, **settings | dict(given or {}))
    return pipeline(*maps, learner) if maps else learner


def validated(model: Any) -> Any:
    """Return the model; refuse settings that its learner would refuse when it begins to learn."""
    learner = model.learner if isinstance(model, Pipeline) else model
    given = learner.get_params()
    if learner.State is not None:  # a pool looks at its learners when it begins
        check_options(given)
        learner.parameters.resolve(given, 1)
        kernel_of(type(learner), given)
    return model


def map_of(text: str) -> Map:
    """Return a map of rows from its name with settings in brackets: by place, or by name."""
    found = parse_call(text)
    if found is None or found.name not in MAPS:
        known = ", ".join(MAPS)
        raise ValueError(f"what stands before > must be one of {known}, with settings in brackets as in {EXAMPLE}; got {text!r}")
    cls = MAPS[found.name]
    names, given = list(cls.settings()), {}
    for i, (key, said) in enumerate(found.values):
        name = key or (names[i] if i < len(names) else "")
        if name not in names or name in given:
            raise ValueError(f"{found.name} takes {', '.join(names)}, each once; got {text!r}")
        given[name] = written("kernel", said, value) if name == "kernel" else parse_value(said)
    try:
        made: Map = cls(**given)
    except (TypeError, ValueError) as e:
        raise ValueError(f"{text.strip()}: {e}") from None
    return made


# ---- writing -----------------------------------------------------------------------------------------------------------
def spelled(part: Any) -> str:
    """Return a step or a part as it may be read again: random_fourier(200, rbf(0.1)), or (200, rbf, form=phase).

    The first two settings stand in their places, as far as they are not defaults; others have names.
    """
    if isinstance(part, Step):
        given, usual = part.get_params(), part.settings()
    elif hasattr(part, "_asdict"):
        given, usual = part._asdict(), part._field_defaults
    else:
        return str(part).lower() if part is None or isinstance(part, bool) else str(part)
    changed = [k for k, v in given.items() if k not in usual or not same_value(v, usual[k])]
    first = list(given)[:2]
    while first and first[-1] not in changed:
        first.pop()
    shown = [*(spelled(given[k]) for k in first), *(f"{k}={spelled(given[k])}" for k in changed if k not in first)]
    return snake(type(part).__name__) + (f"({', '.join(shown)})" if shown else "")


def titled(model: Base, maps: Sequence[Map] = ()) -> str:
    """Return a short name that tells this learner from others: its settings that are not defaults, and what comes before it."""
    given = {k: v for k, v in model.get_params().items() if not same_value(v, model.defaults[k])}
    changed = (f"{k}={spelled(v) if isinstance(v, tuple) else shortened(str(v), LONGEST)}" for k, v in given.items())
    return " ".join([model.name, *changed, *(["after", ">".join(map(spelled, maps))] if maps else [])])


def distinct(titles: Sequence[str]) -> list[str]:
    """Return titles of which no two are alike."""
    count: dict[str, int] = {}
    found = []
    for title in titles:
        count[title] = count.get(title, 0) + 1
        found.append(title if count[title] == 1 else f"{title} ({count[title]})")
    return found
