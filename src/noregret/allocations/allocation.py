"""The model of an allocator: weights over K columns, what was paid or earned with them, and the loop over rounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np

from ..algorithm.rounds import EXAMPLES
from ..algorithm.state import Dims, describe
from ..engine import compiling
from ..files.json_values import Tensors, expect
from ..learners.drivers import flatten
from ..learners.held import Held

TEXT = """
@jit
def play({args}X, W, outcome, turnover):
    s, p, a = {S}, {P}, {A}
    for i in range(X.shape[0]):
        outcome[i], turnover[i] = settle(a, X[i], p, W[i])
        after(s, X[i], a.b, p)
"""


class Rounds(NamedTuple):
    """What happened in consecutive rounds, an entry or a row for each."""

    weights: np.ndarray  # rounds x K: those held in the round, from before it
    outcome: np.ndarray  # the growth of a portfolio after costs; the loss that experts paid
    turnover: np.ndarray  # sum of |weights - what the round before left of them|; 0 of experts


class Whole(NamedTuple):
    """The state of an allocator."""

    book: Any  # the weights for the next round, b, and what was paid or earned so far
    own: Any  # what the strategy keeps


class Empty(NamedTuple):
    """The state of a strategy that keeps nothing but its weights."""


class Allocation(Held):
    """What an allocator holds once it has learned. Its axis of columns has the name that the learner says."""

    derived = ("run",)
    run: Callable[..., None]

    def __init__(self, learner: Any, K: int, names: list[str] | None = None) -> None:
        self.K, self.names, self.fixed = K, names, learner.settled
        super().__init__(learner)

    def described(self, given: dict[str, Any], params: Any) -> Any:
        """Return the description of the books and of what the strategy keeps."""
        return Whole(*(describe(State, params, False) for State in (self.learner.Book, self.algorithm.State or Empty)))

    def sizes(self) -> Dims:
        """Return the number of columns, and the sizes of the axes that the strategy declares."""
        more = {} if self.algorithm.sizes is None else self.algorithm.sizes(self.params, self.K)
        return {self.learner.axis: self.K, **{k: int(n) for k, n in more.items()}}

    def retune(self, given: dict[str, Any]) -> None:
        """Use new parameters from now on, unless they need arrays of other sizes."""
        was, self.params = self.params, self.learner.parameters.resolve(given, 0)
        try:
            same = self.sizes() == self.dims
        finally:
            self.params = was
        if not same:
            raise ValueError("these parameters need another kind of state: call reset() first, or make a new learner")
        super().retune(given)

    def begin(self) -> None:
        """Set new arrays to their starting values: those of the strategy first."""
        if self.algorithm.start is not None:
            self.algorithm.start(self.state.own, self.params)
        self.learner.open_book(self)

    def refresh(self) -> None:
        """Find the loop over rounds, and make what is not kept because it follows from the parameters."""
        self.run = loop(self.learner, self.state, self.params)
        if self.learner.derive is not None:
            self.learner.derive(self.state.own, self.params)

    def play(self, X: np.ndarray) -> Rounds:
        """Play checked rounds, a row each."""
        n, K = X.shape
        found = Rounds(np.empty((n, K)), np.empty(n), np.empty(n))
        self.run(*numbers(self.state, self.params), X, *found)
        self.tally[EXAMPLES] += n
        return found

    # ---- files -------------------------------------------------------------------------------------------------------
    def pack(self) -> tuple[dict[str, Any], Tensors]:
        """Return it as JSON values and arrays."""
        meta, tensors = super().pack()
        return {**meta, "names": self.names}, tensors

    @classmethod
    def blank(cls, learner: Any, meta: dict[str, Any], tensors: Tensors) -> Self:
        """Return a new model of as many columns as the packed one has."""
        names, K = meta["names"], len(tensors["state.book.b"])
        listed = names is None or (isinstance(names, list) and all(isinstance(v, str) for v in names))
        expect(K > 0 and listed and (names is None or len({*names}) == len(names) == K), f"{K} different names", names)
        m = cls(learner, K, names)
        expect(meta["dims"] == m.dims, f"the sizes {m.dims}", meta["dims"])
        return m


# ---- the loop ----------------------------------------------------------------------------------------------------------
_built: dict[Any, Callable[..., None]] = {}


def trees(state: Any, params: Any) -> tuple[list[tuple[str, Any]], dict[str, type], list[str]]:
    """Return the leaves of state, parameters and books by name, the kinds in them, and what rebuilds each of the three."""
    found: list[tuple[str, Any]] = []
    kinds: dict[str, type] = {}
    return found, kinds, [flatten(t, n, found, kinds) for t, n in ((state.own, "s"), (params, "p"), (state.book, "a"))]


def numbers(state: Any, params: Any) -> list[Any]:
    """Return the arrays and numbers that the loop takes."""
    return [value for _, value in trees(state, params)[0]]


def loop(learner: Any, state: Any, params: Any) -> Callable[..., None]:
    """Return the compiled loop over rounds of a strategy."""
    found, kinds, (S, P, A) = trees(state, params)
    key = (learner.after, learner.settle, S, P, A, tuple(kinds.items()), compiling.interpreting())
    if key not in _built:
        source = TEXT.format(args="".join(f"{name}, " for name, _ in found), S=S, P=P, A=A)
        scope = {**kinds, "settle": learner.settle, "after": learner.after}
        _built[key] = compiling.build(learner.name.replace(".", "_"), source, scope)["play"]
    return _built[key]
