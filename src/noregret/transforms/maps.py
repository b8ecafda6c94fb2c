"""The maps of rows to rows there are, by the names they have in files."""

from __future__ import annotations

from typing import Any

from .nystroem import Nystroem
from .random_features import RandomBinning, RandomFourier
from .scale import Normalize, Scale

Map = Scale | Normalize | RandomFourier | RandomBinning | Nystroem
MAPS: dict[str, Any] = {
    "scale": Scale,
    "normalize": Normalize,
    "random_fourier": RandomFourier,
    "random_binning": RandomBinning,
    "nystroem": Nystroem,
}
