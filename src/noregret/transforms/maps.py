"""The registry of maps of rows to rows, by the names they have in files and on the command line."""

from __future__ import annotations

from typing import TypeVar

from ..algorithm.kernel_options import snake
from .first import First
from .learned import LEARNED
from .namespaces import Namespaces
from .nystroem import Nystroem
from .per_entry import PerEntry
from .random_features import RandomBinning, RandomFourier
from .scale import Normalize, Scale
from .step import Map

M = TypeVar("M", bound=Map)
MAPS: dict[str, type[Map]] = {}


def register(cls: type[M]) -> type[M]:
    """Let pipelines, files and the command line know a map, under the name of its class: random_fourier for RandomFourier."""
    name = snake(cls.__name__)
    if MAPS.get(name, cls) is not cls:
        raise ValueError(f"a map called {name} is registered already, {MAPS[name]!r}: give the class another name")
    MAPS[name] = cls
    return cls


for known in (Scale, Normalize, PerEntry, RandomFourier, RandomBinning, Nystroem, Namespaces, First, *LEARNED):
    register(known)
