"""What the steps of a pipeline have in common: settings by name, in scikit-learn's manner."""

from __future__ import annotations

import copy
import inspect
from typing import Any, Self

from ..core.params import same_value


class Step:
    """A part of a pipeline. Its settings are the arguments of its constructor, kept under the same names."""

    @classmethod
    def settings(cls) -> dict[str, Any]:
        """Return the settings and their defaults."""
        return {k: p.default for k, p in inspect.signature(cls).parameters.items() if p.kind is not p.VAR_POSITIONAL}

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
