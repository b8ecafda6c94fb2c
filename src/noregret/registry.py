"""The registry: every learner by name, imported when asked for."""

from __future__ import annotations

import importlib
import pkgutil
import re
from typing import Any

from . import families, forests, pools, portfolio, unsupervised
from .algorithm.algorithm import Algorithm
from .files.json_values import ModelFileError
from .learners.base import APART, REGISTRY, Base
from .learners.task import TASKS
from .text import meant


def load_all() -> dict[str, type[Base]]:
    """Import every family, forest, pool, strategy and learner without targets; return the learners of rows by registry name."""
    for room in (families, forests, pools, portfolio, unsupervised):
        for module in pkgutil.iter_modules(room.__path__):
            importlib.import_module(f"{room.__name__}.{module.name}")
    return REGISTRY


def by_name() -> dict[str, type[Base]]:
    """Return all learners by name: those of the registry, and those that also need a task for each row."""
    return {**load_all(), **APART}


def known(name: str) -> type[Base] | None:
    """Return the class of a registry name, None if no learner has it; of the families, only that of the learner is imported."""
    spelt = name.replace("_", "").lower()
    for module, classes in families.NAMES.items():
        if spelt in classes.lower().split():
            importlib.import_module(f"{families.__name__}.{module}")
    return REGISTRY.get(name) or APART.get(name) or by_name().get(name)


def class_of(name: str) -> type[Base]:
    """Return the learner that a file names."""
    found = known(name)
    if found is None:
        raise ModelFileError(
            f"holds a {name!r}, a learner not known here: import the module that defines it first, or name its file (--plugin)"
        )
    return found


def algorithms(task: str | None = None) -> list[str]:
    """Return the registry names, of one task ("classification", "regression", "one_class") or of all of these.

    Excludes "multitask" and "multitask_regressor", which learn several tasks at once and also need the task of each row. Learners
    that do not learn rows with targets are named by their task alone: "components", "experts", "portfolio", "topics".
    """
    found = load_all()
    apart = {str(cls.task) for cls in APART.values()} - {*TASKS, ""}
    if task in apart:
        return sorted(name for name, cls in APART.items() if cls.task == task)
    if task is not None and task not in TASKS:
        raise ValueError(f"task must be one of {sorted({*TASKS, *apart})}, got {task!r}")
    return sorted(name for name, cls in found.items() if task in (None, cls.task))


def algorithm(name: str) -> Algorithm:
    """Return the algorithm of a learner by registry name, for a task of your own."""
    found = known(name)
    if found is None:
        raise ValueError(unknown(name))
    return found.algorithm


def learner(name: str, **params: Any) -> Any:
    """Return a learner by registry name."""
    found = known(name)
    if found is None:
        raise ValueError(unknown(name))
    return found(**params)


def unknown(name: Any, room: str = "") -> str:
    """Return the message about a name that no learner has, with those that are close; of a room, with its short names alone."""
    found = {k.removeprefix(room): v for k, v in by_name().items() if k.startswith(room)}
    first = re.split(r"[:,\s]", str(name).strip())[0]
    if first != name and first in found:
        return f"no learner is called {name!r}: give one name, and settings by keyword, or a list of several to nr.compare"
    return f"no learner is called {name!r}. {meant(str(name), found, 3)}".rstrip() + f"\nThere are: {', '.join(sorted(found))}."
