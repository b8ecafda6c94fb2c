"""Portfolio selection: wealth that grows by b.x every day, for weights b chosen before the relatives x are known.

>>> import noregret as nr
>>> m = nr.portfolio.EG()
>>> m.learn_one([1.01, 0.99, 1.0])                          # the weights held that day
array([0.33333333, 0.33333333, 0.33333333])
>>> m.weights_.round(4), round(m.wealth_, 4)                # those for tomorrow, and what became of 1
(array([0.3335, 0.3332, 0.3333]), 1.0)
"""

from __future__ import annotations

import importlib
from typing import Any

NAMES = {
    "anticor": "Anticor",
    "constant": "CRP Market",
    "hindsight": "BCRP BestStock",
    "many_strategies": "Mixture",
    "multiplicative_weights": "EG",
    "newton": "ONS",
    "prices": "relatives",
    "reversion": "CWMR OLMAR PAMR",
    "universal": "UniversalPortfolio",
}
_WHERE = {name: module for module, names in NAMES.items() for name in names.split()}

__all__ = sorted(_WHERE)


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_WHERE[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
