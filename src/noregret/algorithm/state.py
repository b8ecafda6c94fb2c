"""What a state is: a tree of NamedTuples with arrays for leaves, described by a tree of Slots of the same shape.

An algorithm's State says what it *needs* of each field (Weights, Scalable, Measured, ...); `describe` turns needs into concrete
kinds once the parameters are known. From the description alone come allocation, growth (features, classes, kept rows), the
step from two classes to more, saving and merging.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, get_type_hints

import numpy as np

from ..spaces.covariance import Full
from ..spaces.expansion import Expansion, Nothing
from ..spaces.expansion import Mean as Averages
from ..spaces.support_vectors import Capped, Free, Objects, Packed, Ragged
from ..spaces.tracking import Kept, Tracked
from ..spaces.votes import Voted, Votes
from ..spaces.weights import Averaged, Linked, Normed, Scaled

Dims = dict[str, int]


@dataclass(frozen=True)
class Slot:
    """One array of a state: its axes, what an unseen cell holds, and what happens to it when classes or models come together."""

    axes: tuple[str, ...] = ("feature", "class")  # () is one cell
    fill: float = 0.0
    dtype: Any = float  # float: the model's own dtype
    promote: str = (
        "half"  # from one score to a row per class: "half" (w/2, -w/2), "mirror" (w, -w), "copy", "lone" (w, 0); "square" (q/2)
    )
    merge: str = (
        "move"  # of models that are joined: "move" (see merging.py), "sum" (a true count), "max", "min", "keep" (the first)
    )
    scratch: bool = False  # no meaning between rounds: not saved, fresh for each call that predicts
    squares: bool = False  # sums of squares, which may overflow; all else stays finite
    most: str = ""  # whole numbers from 0 to the size of this axis: compiled code trusts them
    eye: bool = False  # the fill is on the diagonal of the last two axes, and 0 elsewhere

    def shape(self, dims: Dims) -> tuple[int, ...]:
        """Return the shape for these sizes."""
        return tuple(dims[a] for a in self.axes) or (1,)

    def flat(self, a: np.ndarray) -> np.ndarray:
        """Return the array as steps see it: weights lie feature by feature."""
        return a.reshape(-1) if self.axes in (("feature", "class"), ("feature", "domain")) else a

    def new(self, dims: Dims, dtype: Any) -> np.ndarray:
        """Allocate."""
        dtype = dtype if self.dtype is float else self.dtype
        if self.eye:
            a = np.zeros(self.shape(dims), dtype)
            np.einsum("...ii->...i", a)[:] = self.fill
            return a
        a = np.zeros(self.shape(dims), dtype) if self.fill == 0.0 else np.full(self.shape(dims), self.fill, dtype)
        return self.flat(a)

    def view(self, a: np.ndarray, dims: Dims) -> np.ndarray:
        """Return the array with its axes apart."""
        return a.reshape(self.shape(dims))

    def grow(self, a: np.ndarray, old: Dims, dims: Dims) -> np.ndarray:
        """Make room, or give up what is spare; new cells hold the fill."""
        if self.shape(old) == self.shape(dims):
            return a
        b = self.new(dims, a.dtype)
        common = tuple(slice(min(m, n)) for m, n in zip(self.shape(old), self.shape(dims), strict=True))
        self.view(b, dims)[common] = self.view(a, old)[common]
        return b

    def split(self, a: np.ndarray, dims: Dims, positive: int) -> None:
        """Turn the one score of two classes (now in row 0) into a row for each of them."""
        if self.promote == "square":  # a squared norm: that of w/2 and -w/2 together
            a *= 0.5
        if "class" in self.axes and not self.scratch:
            rows = np.moveaxis(self.view(a, dims), self.axes.index("class"), 0)
            if self.promote == "half":
                rows[0] *= 0.5
            rows[1] = {"copy": rows[0], "lone": self.fill}.get(self.promote, -rows[0])
            if positive == 1:
                rows[[0, 1]] = rows[[1, 0]]


@dataclass(frozen=True)
class Need:
    """What a step does with a field that is a weight vector."""

    what: str


Weights = Annotated[Any, Need("vector")]  # dot, add
Scalable = Annotated[Any, Need("scale")]  # and scale
Measured = Annotated[Any, Need("norm")]  # and sqnorm
Dual = Annotated[Any, Need("link")]  # dot, add in the geometry of the parameter p
DualMeasured = Annotated[Any, Need("link norm")]  # and scale, sqnorm
Mean = Annotated[Any, Need("mean")]  # Scalable, answering with the mean of all vectors
Vote = Annotated[Any, Need("vote")]  # Scalable, answering by the vote of all vectors
Own = Annotated[Any, Need("own")]  # a kind that the Params make: `weights()` of them
Pairs = Annotated[Any, Need("pairs")]  # a kernel expansion that keeps the scores of its vectors
Logs = Annotated[Any, Slot(promote="mirror")]  # logarithms of multiplicative weights, read by coordinate
PerClass = Annotated[Any, Slot(("class",), dtype=np.float64, promote="copy")]
Number = Annotated[Any, Slot((), dtype=np.float64)]
COUNT = Slot((), dtype=np.int64)  # of rounds: schedules advance by the mean
Count = Annotated[Any, COUNT]

Covariance = Annotated[Any, Need("covariance")]  # margin, absorb, gather: diagonal or full, as the parameters say

ORDER = ["vector", "scale", "norm"]
ONE = Slot((), 1.0, np.float64, merge="keep")
ZERO = Slot((), 0.0, np.float64, merge="keep")
AGE = Slot((), 0.0, np.int64, merge="keep")


@dataclass(frozen=True)
class Basis:
    """What makes weights an expansion: a kernel, a budget, and whether vectors are kept as non-zeros (or as objects)."""

    kernel: Any
    budget: Any
    store: str  # "packed", "ragged" or "objects"
    cap: tuple[float, ...] = ()  # the numbers of a Capped, for non-zeros on a budget in bytes


def describe(State: Any, params: Any, average: bool, basis: Basis | None = None) -> Any:
    """Return the tree of Slots of a State under these parameters."""
    parts = [v.needs for v in params if hasattr(v, "needs")]  # a projection may need more of the weights than the step does

    def kind(need: Any) -> Any:
        if isinstance(need, Slot):
            return need
        what = need.what
        if what == "own":
            return params.weights()
        if basis is not None:
            return expansion(what, parts, average, basis)
        if what == "covariance":
            return covariance(params)
        if what.startswith("link"):
            if params.p != 2.0:
                return made(Linked, Slot(), ONE, ZERO, AGE, params.p)
            what = "norm" if what == "link norm" else "vector"
        if what == "mean" or average:
            if parts:
                raise ValueError(
                    "average=True does not go with a projection: the mean of projected vectors is not what is projected"
                )
            return made(Averaged, Slot(), Slot(merge="sum"), ONE, ZERO, Slot((), 1.0, np.float64, merge="sum"))
        if what == "vote":
            kept = [Slot(("slot",), dtype=np.int64), Slot(("slot", "class"), dtype=np.float64), Slot(("slot",), dtype=np.int64)]
            cells = [Slot(("cell",), dtype=np.uint32), Slot(("cell",), dtype=np.float64)]
            scratch = [Slot((axis,), dtype=np.float64, scratch=True) for axis in ("feature", "class")]
            return made(Voted, Slot(), ONE, *cells, *kept, Slot(("two",), dtype=np.int64), *scratch)
        what = max([what, *parts], key=ORDER.index)
        if what == "vector":
            return Slot()
        return made(Scaled, Slot(), ONE) if what == "scale" else made(Normed, Slot(), ONE, ZERO, AGE)

    return State(*(kind(need) for need in needs_of(State)))


def expansion(what: str, parts: list[str], average: bool, basis: Basis) -> Any:
    """Return the kind of a kernel expansion: what is tracked follows from what the step, its parts and the budget need."""
    vectors, reals = Slot(("class", "slot"), dtype=np.float64), Slot(("slot",), dtype=np.float64)
    scratch, row = Slot(("slot",), dtype=np.float64, scratch=True), Slot(("feature",), dtype=np.float64, scratch=True)
    ends, squares = Slot(("slot",), dtype=np.int64), Slot(("slot",), dtype=np.float64, squares=True)
    cap = made(Capped, AGE, *basis.cap) if basis.cap else Free()
    store = {
        "packed": lambda: made(Packed, Slot(("feature", "slot")), squares, row),
        "ragged": lambda: made(Ragged, Slot(("cell",), dtype=np.uint32), Slot(("cell",)), ends, ends, AGE, squares, row, cap),
        "objects": lambda: made(Objects, Slot(("slot",), dtype=object), squares),
    }[basis.store]()
    tracked = "norm" in what or "norm" in parts
    if average and tracked:
        raise ValueError("average=True does not go with a projection: the mean of projected vectors is not what is projected")
    kept = what == "pairs" or getattr(basis.budget, "needs", None) == "scores"
    memo = getattr(basis.budget, "memo", None)
    past = Nothing()
    if what == "mean" or average:
        past = made(Averages, vectors, ZERO, ONE)
    elif what == "vote":
        past = made(Votes, ends)
    return made(
        Expansion,
        store,
        vectors,
        ends,
        Slot(("two",), dtype=np.int64),
        ONE,
        Slot(("class",), dtype=np.float64, scratch=True),
        scratch,
        scratch,
        made(Tracked, Slot((), 0.0, np.float64, "square"), AGE) if tracked else Nothing(),
        made(Kept, vectors, reals, ONE, AGE) if kept else Nothing(),
        past,
        memo() if memo is not None else Nothing(),
        basis.kernel,
        basis.budget,
    )


def covariance(params: Any) -> Any:
    """Return the kind of covariance the parameters ask for, every variance a at first (or what they say it is)."""
    first = getattr(params, "variance", params.a)
    if params.covariance.kind is Full:
        matrices = Slot(("class", "feature", "feature"), first, promote="copy", eye=True)
        multipliers = Slot(("class",), 1.0, np.float64, "copy", "keep")
        return made(Full, matrices, multipliers, Slot(("two", "feature"), dtype=np.float64, scratch=True))
    return made(params.update.kind if hasattr(params, "update") else params.covariance.kind, Slot(fill=first, promote="copy"))


def made(kind: Any, *slots: Any) -> Any:
    """Return a kind with Slots in the place of its arrays."""
    return kind(*slots)


def needs_of(State: Any) -> list[Any]:
    """Return the Need or Slot of each field of a State."""
    hints = get_type_hints(State, include_extras=True)
    return [hints[f].__metadata__[0] for f in State._fields]


def tmap(fn: Callable[..., Any], spec: Any, *trees: Any) -> Any:
    """Apply fn(slot, leaf, ...) over described trees; what is not described stays as it is."""
    if isinstance(spec, Slot):
        return fn(spec, *trees)
    if isinstance(spec, tuple):
        return type(spec)(*(tmap(fn, s, *(t[i] for t in trees)) for i, s in enumerate(spec)))
    return spec


def leaves(spec: Any, tree: Any, path: str = "") -> list[tuple[str, Slot, np.ndarray]]:
    """Return (dotted path, slot, array) of every array of a state."""
    if isinstance(spec, Slot):
        return [(path, spec, tree)]
    if isinstance(spec, tuple):
        fields = zip(spec._fields, spec, tree, strict=True)  # type: ignore[attr-defined]
        return [leaf for f, s, t in fields for leaf in leaves(s, t, f"{path}.{f}" if path else f)]
    return []


def slots(spec: Any) -> Any:
    """Return kinds and Slots of a description, without the numbers in it."""
    if isinstance(spec, tuple):
        return type(spec), [slots(s) for s in spec]
    return spec if isinstance(spec, Slot) else None


def squares(spec: Any, dims: Dims) -> float:
    """Return the cells of the arrays whose size grows with the square of the number of features."""
    found = [slot.shape(dims) for _, slot, _ in leaves(spec, spec) if slot.axes.count("feature") > 1]
    return float(sum(np.prod(shape, dtype=np.float64) for shape in found))


def settle(tree: Any) -> None:
    """Bring every kind of a state to its settled form: multipliers put in, tracked sums computed."""
    if isinstance(tree, tuple):
        for node in tree:
            settle(node)
        if hasattr(tree, "settle"):
            tree.settle()
