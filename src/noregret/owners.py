"""Who restores what a file holds. Owners stand above the files, so each is named here and imported when a file has its tag."""

from __future__ import annotations

import importlib
from functools import cache
from operator import attrgetter
from typing import Any

OWNERS = {  # tag: module and what it has for the tag
    "learner": "learners.learner_file:restored",
    "pipeline": "transforms.pipeline:Pipeline.restored",
    "compact": "tasks.compact:Compact.restored",
    "recommender": "recommender:Recommender.restored",
    "calibrator": "calibration.alone:Calibrator.restored",
    "coverage": "calibration.alone:Coverage.restored",
    "class": "registry:class_of",  # the learner of a registry name
    "behind": "transforms.pipeline:behind",  # a learner inside a pool, behind maps
    "unit": "transforms.pipeline:normalized",  # a learner inside a pool, behind Normalize()
    "parts": "parts:kinds",  # losses, kernels, budgets, ... by name
}


@cache
def owner(tag: str) -> Any:
    """Return what the owner of a tag has for it."""
    module, _, name = OWNERS[tag].partition(":")
    return attrgetter(name)(importlib.import_module(f"{__package__.partition('.')[0]}.{module}"))
