"""Learners and the steps before them as text: "random_fourier(200, rbf(0.1))>pa1:C=0.5" and back."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ..core.basis import snake, written
from ..core.learner import Learner, same
from ..core.stores import value
from ..registry import learner as by_name
from ..text import shortened
from ..transforms.maps import MAPS
from ..transforms.pipeline import Pipeline, pipeline
from ..transforms.step import Map, Step

OPENING, CLOSING = "([{", ")]}"
LONGEST = 40  # of a value in a title: groups may be thousands of names
EXAMPLE = "random_fourier(200,rbf(0.1))>pa1:C=0.5"


# ---- reading -----------------------------------------------------------------------------------------------------------
def read_value(text: str) -> Any:
    """Return the value a user wrote: true, false, none, a number, or text."""
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def parted(text: str, mark: str) -> list[str]:
    """Return the parts of a text between marks, those inside brackets left alone."""
    found, depth = [""], 0
    for letter in text:
        depth += (letter in OPENING) - (letter in CLOSING)
        if depth < 0:
            break
        if letter == mark and depth == 0:
            found.append("")
        else:
            found[-1] += letter
    if depth:
        raise ValueError(f"expected a closing bracket for each opening one, got {text!r}")
    return found


def made(model: Any) -> Learner | Pipeline:
    """Return a learner from a name, from "name:C=0.1,average=true", or as it is; a pipeline from "step(...)>name"."""
    if isinstance(model, (Learner, Pipeline)):
        return model
    if not isinstance(model, str):
        hint = f": make one, {model.__name__}()" if isinstance(model, type) and issubclass(model, Learner) else ""
        raise TypeError(f"expected a learner or its name, got {model!r}{hint}")
    *steps, last = parted(model, ">")
    name, _, rest = last.partition(":")
    settings = dict(part.partition("=")[::2] for part in parted(rest, ",")) if rest else {}
    maps = [map_of(step) for step in steps]
    learner = by_name(name.strip(), **{k.strip(): read_value(v.strip()) for k, v in settings.items()})
    return pipeline(*maps, learner) if maps else learner


def map_of(text: str) -> Map:
    """Return a map of rows from its name with settings in brackets: by place, or by name."""
    found = re.fullmatch(r"(\w+)(?:\((.*)\))?", text.strip())
    if found is None or found[1] not in MAPS:
        known = ", ".join(MAPS)
        raise ValueError(f"what stands before > must be one of {known}, with settings in brackets as in {EXAMPLE}; got {text!r}")
    name, cls = found[1], MAPS[found[1]]
    names, given = list(cls.settings()), {}
    for i, part in enumerate(parted(found[2], ",") if (found[2] or "").strip() else []):
        by_key = re.fullmatch(r"\s*(\w+)\s*=(.*)", part)
        key, said = (by_key[1], by_key[2]) if by_key else (names[i] if i < len(names) else "", part)
        if key not in names or key in given:
            raise ValueError(f"{name} takes {', '.join(names)}, each once; got {text!r}")
        given[key] = written("kernel", said, value) if key == "kernel" else read_value(said.strip())
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
    changed = [k for k, v in given.items() if k not in usual or not (same(v, usual[k]) or v == usual[k])]
    first = list(given)[:2]
    while first and first[-1] not in changed:
        first.pop()
    shown = [*(spelled(given[k]) for k in first), *(f"{k}={spelled(given[k])}" for k in changed if k not in first)]
    return snake(type(part).__name__) + (f"({', '.join(shown)})" if shown else "")


def titled(model: Learner, maps: Sequence[Map] = ()) -> str:
    """Return a short name that tells this learner from others: its settings that are not defaults, and what comes before it."""
    given = {k: v for k, v in model.get_params().items() if repr(v) != repr(model.defaults[k])}
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
