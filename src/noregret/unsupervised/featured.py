"""The model of a learner of rows without targets: arrays described by Slots, and the table of features."""

from __future__ import annotations

import copy
from typing import Any, Self

from ..algorithm.state import Dims, describe
from ..files import packing
from ..files.json_values import Tensors, expect
from ..files.saved_tables import features_meta, features_of, names_tensors
from ..inputs.features import Features
from ..learners.held import Held

LEAST = 64  # features there is room for, where they grow


class Featured(Held):
    """What a learner of rows without targets holds. A subclass says what its arrays are and how it learns rows."""

    State: Any  # a NamedTuple of Slots
    grows = True  # whether features may join later

    def __init__(self, learner: Any, features: Features) -> None:
        self.features = features
        super().__init__(learner)

    def described(self, given: dict[str, Any], params: Any) -> Any:
        """Return the description of the state."""
        return describe(self.State, params, False)

    @property
    def fixed(self) -> tuple[str, ...]:  # type: ignore[override]
        """Parameters that are for good, once something is learned: those that the arrays depend on."""
        found: tuple[str, ...] = self.learner.fixed
        return found

    @property
    def room(self) -> int:
        """The length of rows: where features grow a power of 2, so that sums are taken in one order whatever came before."""
        size = max(self.features.size, 1)
        return max(LEAST, 1 << (size - 1).bit_length()) if self.features.grows else size

    def used_sizes(self) -> Dims:
        """Return the sizes of the axes without spare room."""
        return {**self.dims, "feature": max(self.features.size, 1)}

    def widen(self) -> None:
        """Make room for new features: they are 0 in all that was learned."""
        self.resize(feature=max(self.room, self.dims["feature"]))

    def retune(self, given: dict[str, Any]) -> None:
        """Use new parameters from now on, if they go together."""
        self.learner(**given).check_settings()
        super().retune(given)

    def fork(self) -> Self:
        """Return an independent copy."""
        m = super().fork()
        m.features = copy.deepcopy(m.features)
        return m

    # ---- files -------------------------------------------------------------------------------------------------------
    def pack(self) -> tuple[dict[str, Any], Tensors]:
        """Return it as JSON values and arrays."""
        meta, tensors = super().pack()
        return {**meta, "features": features_meta(self.features)}, {**tensors, **names_tensors(self.features)}

    @classmethod
    def restored(cls, learner: Any, meta: dict[str, Any], tensors: Tensors) -> Self:
        """Return the packed object; check every size before allocating anything."""
        features = features_of(meta["features"], tensors.pop("features", None))
        expect(not features.bias, "no constant feature", features.bias)
        tally, dims, m = tensors.pop("tally"), meta["dims"], cls(learner, features)
        expect(dims.keys() == m.dims.keys(), f"the sizes {sorted(m.dims)}", dims)
        expect(all(type(n) is int and n >= 0 for n in dims.values()), "sizes", dims)
        fixed = {k: n for k, n in m.used_sizes().items() if k not in cls.open_axes}
        expect(all(dims[k] == n for k, n in fixed.items()), f"the sizes {fixed}", dims)
        expect(tally.dtype == m.tally.dtype and tally.shape == m.tally.shape and bool((tally >= 0).all()), "a tally", tally)
        m.dims, m.tally, m.state = dims, tally, packing.unpacked(m.spec, tensors, dims, m.dtype, features.size)
        m.check()
        m.refresh()
        m.widen()
        return m

    open_axes: tuple[str, ...] = ()  # axes whose size follows from what was learned, not from the parameters

    def check(self) -> None:
        """Refuse counts that the arrays of a file have no room for."""
