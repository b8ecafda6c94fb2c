"""The registry: every learner by name, imported when asked for."""

from __future__ import annotations

import importlib
import pkgutil
import re
from typing import Any

from . import families
from .core.json_values import ModelFileError
from .core.learner import APART, REGISTRY, Learner
from .text import meant


def load_all() -> dict[str, type[Learner]]:
    """Import every family; return the learners by registry name."""
    for module in pkgutil.iter_modules(families.__path__):
        importlib.import_module(f"{families.__name__}.{module.name}")
    return REGISTRY


def by_name() -> dict[str, type[Learner]]:
    """Return all learners that a name stands for: those of the registry, and those that need to know the task of a row."""
    return {**load_all(), **APART}


def class_of(name: str) -> type[Learner]:
    """Return the learner that a file names."""
    found = REGISTRY if name in REGISTRY else by_name()
    if name not in found:
        raise ModelFileError(f"holds a {name!r}, a learner not known here: import the module that defines it first")
    return found[name]


def algorithms(task: str | None = None) -> list[str]:
    """Return the registry names, of one task ("classification", "regression", "one_class") or of all.

    Left out are "multitask" and "multitask_regressor", which rows and labels alone do not suffice for: they learn several tasks at
    once, and need to know to which of them a row belongs.
    """
    tasks = {"classification", "regression", "one_class"}
    if task is not None and task not in tasks:
        raise ValueError(f"task must be one of {sorted(tasks)}, got {task!r}")
    return sorted(name for name, cls in load_all().items() if task in (None, cls.task))


def learner(name: str, **params: Any) -> Learner:
    """Return a learner by registry name."""
    found = REGISTRY if name in REGISTRY else by_name()
    if name not in found:
        raise ValueError(unknown(name))
    return found[name](**params)


def unknown(name: Any) -> str:
    """Return the message about a name that no learner has, with those that are close."""
    found = by_name()
    first = re.split(r"[:,\s]", str(name).strip())[0]
    if first != name and first in found:
        return f"no learner is called {name!r}: give one name, and settings by keyword, or a list of several to nr.compare"
    return f"no learner is called {name!r}. {meant(str(name), found, 3)}".rstrip() + f"\nThere are: {', '.join(sorted(found))}."
