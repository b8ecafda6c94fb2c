"""Parts of the generic families: losses, rates, projections and proximal maps. A part is a kind, with its own parameters."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from typing import Any


@cache
def kinds() -> dict[str, Any]:
    """Return all parts by name, as files name them."""
    found: dict[str, Any] = {}
    for info in pkgutil.iter_modules(__path__):
        module = importlib.import_module(f"{__name__}.{info.name}")
        own = (c for c in vars(module).values() if isinstance(c, type) and c.__module__ == module.__name__)
        found |= {c.__name__: c for c in own if issubclass(c, tuple)}
    return found
