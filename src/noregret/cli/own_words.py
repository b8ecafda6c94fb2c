"""Tasks whose models say other things than answers to rows: which module speaks for them in train, predict and inspect."""

from __future__ import annotations

import importlib
from typing import Any

SPEAKERS = {"portfolio": "allotments", "experts": "allotments", "components": "coordinates", "topics": "proportions"}


def speaker_for(task: str) -> Any:
    """Return the module that speaks for the models of a task, None for those that answer rows.

    It has `ROWS` (whether predict needs a source), `ANSWERS` (what it writes), `standing`, `told`, `predicted`, `inspected` and
    `inspected_lines`.
    """
    found = SPEAKERS.get(task)
    return None if found is None else importlib.import_module(f"{__package__}.{found}")


def speaker_of(model: Any) -> Any:
    """Return the module that speaks for a model."""
    return speaker_for(str(getattr(model, "learner", model).task))
