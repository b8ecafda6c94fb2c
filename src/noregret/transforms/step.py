"""What the steps of a pipeline have in common: settings by name, in scikit-learn's manner."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Mapping
from functools import cache
from typing import Any, Self

import numpy as np

from ..algorithm.params import same_value
from ..inputs.checking import Rows


class Step:
    """A part of a pipeline. Its settings are the arguments of its constructor, kept under the same names."""

    @classmethod
    def settings(cls) -> dict[str, Any]:
        """Return the settings and their defaults."""
        kind: Any = cls
        return dict(_settings(kind))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the settings by name."""
        return {k: getattr(self, k) for k in self.settings()}

    def set_params(self, **params: Any) -> Self:
        """Change settings; what was learned with others is forgotten."""
        known = self.get_params()
        for k in params:
            if k not in known:
                raise ValueError(f"Invalid parameter {k!r} for {type(self).__name__}. Valid parameters are: {list(known)}.")
        type(self).__init__(self, **{**known, **params})
        return self

    @property
    def nbytes(self) -> int:
        """Bytes of what is kept between rows."""
        return 0

    def fresh(self) -> Self:
        """Return one with the same settings that has learned nothing."""
        return type(self)(**copy.deepcopy(self.get_params()))

    def __repr__(self) -> str:
        given = self.settings()
        changed = ", ".join(f"{k}={v!r}" for k, v in self.get_params().items() if not same_value(v, given[k]))
        return f"{type(self).__name__}({changed})"


@cache
def _settings(kind: Any) -> dict[str, Any]:
    return {k: p.default for k, p in inspect.signature(kind).parameters.items() if p.kind is not p.VAR_POSITIONAL}


class Map(Step):
    """A step that makes rows of rows. A subclass writes `rows`, and the other methods where it learns from the rows.

    `register` (transforms/maps.py) lets pipelines, files and the command line know it.
    """

    @property
    def outputs(self) -> int | None:
        """Features that go out where the map makes its own; None where they are those that came in."""
        return None

    @property
    def most(self) -> int | None:
        """The most features that go out of those that came in, None where there is no limit."""
        return None

    @property
    def stored(self) -> int:
        """Numbers stored in a row that goes out, where the map makes its own features."""
        return self.outputs or 0

    def rows(self, rows: Rows, learn: bool, measured: np.ndarray | None = None) -> Rows:
        """Return what becomes of rows; of a table, `measured` says which entries are made of numbers."""
        raise NotImplementedError

    def __setstate__(self, d: dict[str, Any]) -> None:
        self.__dict__.update(copy.deepcopy(d))  # a memory map is read-only

    def mark(self, rows: Rows) -> Any:
        """Return what to go back to when these rows are refused."""

    def back(self, mark: Any) -> None:
        """Go back to it."""

    def merge(self, other: Any, numbers: np.ndarray | None = None) -> None:
        """Take in what another map of this kind has learned; `numbers` say where its features are here."""
        if not same_value(self.get_params(), other.get_params()):
            raise ValueError(f"cannot merge maps with different settings: {self!r} and {other!r}")

    def less(self, other: Any, times: int, numbers: np.ndarray | None = None) -> None:
        """Subtract, `times` times, what all merged maps began with; a map that counts nothing does nothing."""

    def state(self) -> dict[str, np.ndarray]:
        """Return what was learned, as arrays."""
        return {}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Restore what was learned."""
