"""The registry of maps of rows to rows, by the names they have in files and on the command line."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from ..algorithm.kernel_options import snake
from ..unsupervised.without_targets import Unlabelled
from .step import Map

M = TypeVar("M", bound=Map)
OWN = {  # maps of the library, by the module that defines them
    "scale": "scale:Scale",
    "normalize": "scale:Normalize",
    "per_entry": "per_entry:PerEntry",
    "random_fourier": "random_features:RandomFourier",
    "random_binning": "random_features:RandomBinning",
    "nystroem": "nystroem:Nystroem",
    "namespaces": "namespaces:Namespaces",
    "first": "first:First",
    "online_pca": "learned:OnlinePCA",
    "online_svd": "learned:OnlineSVD",
    "dictionary": "learned:Dictionary",
    "online_lda": "learned:OnlineLDA",
    "online_hdp": "learned:OnlineHDP",
}


class Maps(Mapping[str, type[Map]]):
    """Maps by name. Those of the library are imported when asked for: few commands use any."""

    def __init__(self) -> None:
        self.registered: dict[str, type[Map]] = {}

    def __getitem__(self, name: str) -> type[Map]:
        if name in OWN and name not in self.registered:
            module, _, cls = OWN[name].partition(":")
            self.registered[name] = getattr(importlib.import_module(f"{__package__}.{module}"), cls)
        return self.registered[name]

    def __iter__(self) -> Iterator[str]:
        return iter({**OWN, **self.registered})

    def __len__(self) -> int:
        return len({**OWN, **self.registered})


MAPS = Maps()


def register(cls: type[M]) -> type[M]:
    """Let pipelines, files and the command line know a map, under the name of its class: random_fourier for RandomFourier."""
    name = snake(cls.__name__)
    if MAPS.get(name, cls) is not cls:
        raise ValueError(f"a map called {name} is registered already, {MAPS[name]!r}: give the class another name")
    MAPS.registered[name] = cls
    return cls


def is_map(step: Any) -> bool:
    """Return whether the class of a step is registered."""
    return MAPS.get(snake(type(step).__name__)) is type(step)


def as_map(step: Any) -> Any:
    """Return a learner of rows without targets as the map it is before another learner; any other step as it is."""
    if not isinstance(step, Unlabelled):
        return step
    from .learned import LEARNED

    return next(cls(**step.get_params()) for cls in LEARNED if cls.learner_class is type(step))
