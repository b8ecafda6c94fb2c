"""The language of models as text: "random_fourier(200,rbf(0.1))>pa1:C=0.5,average=true", several with commas between them.

Maps of rows come before a >, settings after a colon, values in brackets. Here is the grammar alone: what the names stand for is
known where the things they name are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

EXAMPLE = "random_fourier(200,rbf(0.1))>pa1:C=0.5"
OPENING, CLOSING = "([{", ")]}"
WORDS = {"true": True, "false": False, "none": None}


class Call(NamedTuple):
    """A name with values in brackets: rbf(0.1), shrink(B=100, phi=0.9)."""

    name: str
    values: list[tuple[str, str]]  # each with its key, which is empty where the value stands by place


class Spec(NamedTuple):
    """A learner by name, with its settings, behind maps of rows."""

    steps: list[str]
    name: str
    settings: dict[str, str]


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


def parse_call(text: str) -> Call | None:
    """Return the name and the values of "name(value, key=value)"; None where a text is not of this form."""
    found = re.fullmatch(r"(\w+)(?:\((.*)\))?", text.strip())
    if found is None:
        return None
    pairs = (re.fullmatch(r"(?:\s*(\w+)\s*=)?(.*)", part, re.S) for part in parted(found[2] or "", ",") if part.strip())
    return Call(found[1], [(pair[1] or "", pair[2].strip()) for pair in pairs if pair is not None])


def parse_spec(text: str) -> Spec:
    """Return the parts of "step(...)>name:key=value,key=value"."""
    *steps, last = parted(text, ">")
    name, _, rest = last.partition(":")
    settings = (part.partition("=") for part in (parted(rest, ",") if rest else []))
    return Spec(steps, name.strip(), {key.strip(): value.strip() for key, _, value in settings})


def parse_list(texts: Iterable[str]) -> list[str]:
    """Return each of several models: a part such as average=true belongs to the one before it."""
    found: list[str] = []
    for text in texts:
        for i, part in enumerate(parted(text, ",")):
            if i and re.match(r"\s*\w+\s*=", part):
                found[-1] += f",{part}"
            else:
                found.append(part.strip())
    return found


def parse_value(text: str) -> Any:
    """Return the value a user wrote: true, false, none, a number, or text."""
    if text.lower() in WORDS:
        return WORDS[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
