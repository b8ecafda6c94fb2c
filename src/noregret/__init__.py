"""Online learning for data that never stops."""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0.dev0"

WHERE = {"PA1": "algorithms.passive_aggressive", "Perceptron": "algorithms.perceptron", "AveragedPerceptron": "algorithms.perceptron", "VotedPerceptron": "algorithms.perceptron",
 "PA1Regressor": "algorithms.passive_aggressive", }


def __getattr__(name: str) -> Any:
    if name in WHERE:
        return getattr(importlib.import_module(f"noregret.{WHERE[name]}"), name)
    raise AttributeError(name)
