"""What a learner holds once it has learned: the state, the sizes of its axes, counters. Made at the first example."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..algorithm.algorithm import Algorithm
from ..algorithm.params import check_options, same_value
from ..algorithm.rounds import TIE
from ..algorithm.state import COUNT, Dims, Slot, describe, leaves, settle, slots, squares, tmap
from ..calibration.calibration import Calibration
from ..files import packing
from ..files.json_values import Tensors, expect
from ..inputs.checking import FLOATS
from .affording import MANY, check_squares

if TYPE_CHECKING:
    from .base import Base


class Held:
    """A state that is described by Slots. From the description come growth, new parameters, files and merging."""

    fixed: tuple[str, ...] = ("dtype",)  # parameters that are for good, once something is learned
    derived: tuple[str, ...] = ()  # attributes that `refresh` makes
    calibration: Calibration | None = None  # what makes probabilities of scores; it learns beside the state

    def __init__(self, learner: Base) -> None:
        self.learner: Any = type(learner)
        self.given = learner.get_params()
        self.dtype = np.dtype(self.given.get("dtype", "float64"))
        if self.dtype not in FLOATS:
            raise ValueError(f"dtype must be 'float64' or 'float32', got {self.given['dtype']!r}")
        check_options(self.given)
        self.params = self.learner.parameters.resolve(self.given, self.width)
        self.spec = self.described(self.given, self.params)
        self.tally = np.zeros(5, np.int64)
        self.dims: Dims = self.sizes()
        self.afford(self.dims)
        self.state = tmap(lambda slot: slot.new(self.dims, self.dtype), self.spec)
        self.prepare()
        self.begin()
        self.refresh()

    @property
    def algorithm(self) -> Algorithm:
        """What the learner's class declares."""
        found: Algorithm = self.learner.algorithm
        return found

    @property
    def width(self) -> int:
        """The number of coordinates, for parameters that depend on it."""
        return 0

    def described(self, given: dict[str, Any], params: Any) -> Any:
        """Return the description of the state under these parameters."""
        return describe(self.algorithm.State, params, False)

    def sizes(self) -> Dims:
        """Return the initial sizes of the axes: those that the algorithm declares."""
        return {} if self.algorithm.sizes is None else dict(self.algorithm.sizes(self.params))

    def prepare(self) -> None:
        """Shape new arrays."""

    def begin(self) -> None:
        """Set new arrays to their starting values."""
        if self.algorithm.start is not None:
            self.algorithm.start(self.state, self.params)

    def afford(self, dims: Dims) -> None:
        """Refuse sizes that the machine has no memory for; warn once where every pair of many features has a cell."""
        check_squares(self, dims, warns=squares(self.spec, self.dims) <= MANY or dims is self.dims)

    # ---- changes -----------------------------------------------------------------------------------------------------
    def refresh(self) -> None:
        """Derive what depends on the arrays, which were replaced."""

    def resize(self, **sizes: int) -> None:
        """Grow axes; existing cells keep their places."""
        dims = {**self.dims, **sizes}
        if dims != self.dims:
            self.afford(dims)
            self.state = tmap(lambda slot, a: slot.grow(a, self.dims, dims), self.spec, self.state)
            self.dims = dims
            self.refresh()

    def forget(self) -> None:
        """Start over with the current sizes and counts."""
        self.state = tmap(lambda slot: slot.new(self.dims, self.dtype), self.spec)
        self.begin()
        self.refresh()

    def restart(self) -> None:
        """Restart the step sizes: set back the rounds that schedules count."""
        for _, slot, a in leaves(self.spec, self.state):
            if slot == COUNT:
                a[:] = slot.fill

    def retune(self, given: dict[str, Any]) -> None:
        """Use new parameters from now on."""
        check_options(given)
        params = self.learner.parameters.resolve(given, self.width)
        spec = self.described(given, params)
        same = same_value(spec, self.spec)
        fits = same if self.given.get("kernel") is not None else slots(spec) == slots(self.spec)  # an expansion is its numbers too
        if not fits or not all(same_value(given.get(k), self.given.get(k)) for k in self.fixed):
            raise ValueError("these parameters need another kind of state: call reset() first, or make a new learner")
        if not same:  # numbers that weights are made with: what is held back acts with the old ones
            settle(self.state)
            self.spec, self.state = spec, tmap(lambda _, a: a, spec, self.state)
            settle(self.state)
        self.given, self.params = given, params
        self.refresh()

    def fork(self) -> Self:
        """Return an independent copy."""
        return copy.copy(self)

    def unite(self, models: list[Self]) -> tuple[list[Self], list[dict[str, Any]]]:
        """Make room for everything in the models, of which this is the first; return them, and where their cells go.

        Places are given for axes on which they differ. Models that must change for that come back as copies.
        """
        self.resize(**{axis: max(m.dims[axis] for m in models) for axis in self.dims})
        return models, [{} for _ in models]

    # ---- reading -----------------------------------------------------------------------------------------------------
    def arrays(self) -> dict[str, np.ndarray]:
        """Return every array of the state that has a meaning between rounds, by its dotted path."""
        return {path: a for path, slot, a in leaves(self.spec, self.state) if not slot.scratch}

    def used_sizes(self) -> Dims:
        """Return the sizes of the axes without spare room."""
        return self.dims

    def used(self) -> dict[str, np.ndarray]:
        """Return the arrays without spare room, their axes apart."""
        dims = self.used_sizes()
        found = ((path, slot, slot.grow(a, self.dims, dims)) for path, slot, a in leaves(self.spec, self.state) if not slot.scratch)
        return {path: slot.view(a, dims) for path, slot, a in found}

    # ---- files -------------------------------------------------------------------------------------------------------
    def pack(self) -> tuple[dict[str, Any], Tensors]:
        """Return it as JSON values and arrays."""
        dims = {k: int(n) for k, n in self.used_sizes().items()}
        return {"dims": dims}, {"tally": self.tally, **packing.packed(self.spec, self.state, self.dims, dims)}

    @classmethod
    def restored(cls, learner: Any, meta: dict[str, Any], tensors: Tensors) -> Self:
        """Return the packed object; check every size before allocating anything."""
        tally, dims, m = tensors.pop("tally"), meta["dims"], cls.blank(learner, meta, tensors)
        expect(dims.keys() == m.dims.keys(), f"the sizes {sorted(m.dims)}", dims)
        expect(all(type(n) is int and n >= 0 for n in dims.values()), "sizes", dims)
        expect(tally.dtype == m.tally.dtype and tally.shape == m.tally.shape and bool((tally[:TIE] >= 0).all()), "a tally", tally)
        m.dims, m.tally, m.state = dims, tally, packing.unpacked(m.spec, tensors, dims, m.dtype, 0)
        m.refresh()
        return m

    @classmethod
    def blank(cls, learner: Any, meta: dict[str, Any], tensors: Tensors) -> Self:
        """Return a new model of the kind that was packed."""
        return cls(learner)

    # ---- copies and pickles ------------------------------------------------------------------------------------------
    def __copy__(self) -> Self:
        new = self.__class__.__new__(self.__class__)
        new.__setstate__(self._told())
        return new

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        new = self.__class__.__new__(self.__class__)
        memo[id(self)] = new
        new.__setstate__(copy.deepcopy(self._told(), memo))
        return new

    def _told(self) -> dict[str, Any]:
        """Return everything that cannot be derived."""
        return {k: v for k, v in self.__dict__.items() if k not in self.derived}

    def __getstate__(self) -> dict[str, Any]:
        return {**self._told(), "state": tmap(listed, self.spec, self.state)}

    def __setstate__(self, d: dict[str, Any]) -> None:
        self.__dict__.update(d)
        self.tally = np.array(self.tally)
        self.calibration = copy.deepcopy(self.calibration)
        self.state = tmap(whole, self.spec, self.state)
        self.refresh()


def listed(slot: Slot, a: np.ndarray) -> Any:
    """Return an array for a pickle: where that is less, its cells that are not as new, their places, and its shape."""
    cells, places = (a, None) if slot.dtype is object else packing.listing(slot, a)
    return a if places is None else (cells, places, a.shape)


def whole(slot: Slot, a: Any) -> np.ndarray:
    """Return the array, a new one: a memory map is read-only."""
    if not isinstance(a, tuple):
        return np.array(a)
    cells, places, shape = a
    found = np.full(shape, slot.fill, cells.dtype)
    found.reshape(-1)[places] = cells
    return found
