"""Allocators: weights over K named columns, learned from rounds that are rows of K numbers. Experts and portfolios are such."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from ..algorithm.rounds import EXAMPLES
from ..inputs.checking import as_array, column_names, unmasked
from ..learners.base import Base
from ..learners.task import in_runs
from ..text import plural
from .allocation import Allocation, Rounds

TEXTS = ("after", "settle", "open_book", "derive")  # plain functions, not methods


class Allocator(Base):
    """A strategy. A subclass says what its books are and what comes after a round; a loop over rounds follows.

    `settle(a, x, p, w)` writes the weights held into w, does the books `a` of round x, and returns outcome and turnover;
    `after(s, x, b, p)` turns b, the weights of the round x, into those of the next.
    """

    model_class: ClassVar[Any] = Allocation
    axis: ClassVar[str] = "column"  # what the columns are: "asset", "expert"
    unit: ClassVar[str] = "round"  # what a row is: "day"
    options: ClassVar[dict[str, Any]] = {}
    settled: ClassVar[tuple[str, ...]] = ()  # parameters that are for good, once something is learned
    merges = "none"
    Book: ClassVar[Any]  # a NamedTuple of Slots, whose field b is the weights for the next round
    after: ClassVar[Callable[..., None]]
    settle: ClassVar[Callable[..., tuple[float, float]]]
    derive: ClassVar[Callable[..., None] | None] = None  # (s, p): fill scratch that follows from the parameters

    def __init_subclass__(cls, **kwargs: Any) -> None:
        for text in TEXTS:
            given = cls.__dict__.get(text)
            if callable(given) and not isinstance(given, staticmethod):
                setattr(cls, text, staticmethod(given))
        super().__init_subclass__(**kwargs)

    @staticmethod
    def open_book(m: Any) -> None:
        """Write the first weights into the books of a new model: equal ones."""
        m.state.book.b[:] = 1.0 / m.K

    # ---- learning ----------------------------------------------------------------------------------------------------
    def learn_one(self, x: Any) -> Any:
        """Learn one round, a row of numbers or a dict of them by name; return the weights held in it, in the same form."""
        if not isinstance(x, Mapping):
            return self.learn_rounds(row_of(unmasked("x", x)), None).weights[0]
        weights = self.learn_rounds([list(x.values())], [*x]).weights[0]
        by_name = dict(zip(self.names_ or [], weights.tolist(), strict=True))
        return {name: by_name[name] for name in x}

    def learn_many(self, X: Any) -> np.ndarray:
        """Learn rounds, a row each; return the weights held in each, from before it."""
        return self.learn_rounds(X, column_names(X)).weights

    def partial_fit(self, X: Any) -> Self:
        """Learn rounds, a row each, in memory that does not grow with their number."""
        X = self.checked(X, column_names(X))
        for a, b in in_runs(len(X), X.shape[1]):
            self.model.play(X[a:b])
        return self

    def fit(self, X: Any) -> Self:
        """Forget everything, then learn rounds."""
        fresh = self.clone().partial_fit(X)
        self.reset()
        self.model = fresh.model
        return self

    def learn_rounds(self, X: Any, names: Sequence[str] | None = None) -> Rounds:
        """Learn rounds; return what happened in each: the weights from before it, what they earned or paid, what was moved."""
        X = self.checked(X, names)
        found: Rounds = self.model.play(X)
        return found

    # ---- checks ------------------------------------------------------------------------------------------------------
    def checked(self, X: Any, names: Sequence[str] | None) -> np.ndarray:
        """Return rounds as a checked array, columns in the order of the first round; begin with them. Refused ones change nothing.

        Names, once given, must be the same in every call.
        """
        X = table(X, self.unit)
        names = None if names is None else different([*names], self.axis)
        m = self.held
        if m is not None:
            X = X[:, order(m, names, X.shape[1], self.axis, self.unit)]
        X = np.ascontiguousarray(self.refused(X, names if m is None else m.names, 0 if m is None else int(m.tally[EXAMPLES])))
        if m is None:
            self.model = self.model_class(self, X.shape[1], names)
        return X

    def refused(self, X: np.ndarray, names: list[str] | None, seen: int) -> np.ndarray:
        """Return rounds without those that are refused: an error names the round, counted from 1, and the column."""
        if not np.isfinite(X).all():
            i, k = (int(v) for v in np.argwhere(~np.isfinite(X))[0])
            raise ValueError(f"{self.place(i, k, names, seen)} is {X[i, k]}; expected a finite number")
        return X

    def place(self, i: int, k: int, names: list[str] | None, seen: int) -> str:
        """Return where a cell is, for messages: `seen` rounds came in calls before."""
        return f"{self.axis} {names[k] if names else k!r} of {self.unit} {seen + i + 1}"

    # ---- reading -----------------------------------------------------------------------------------------------------
    @property
    def weights_(self) -> np.ndarray:
        """The weights for the next round."""
        return np.array(self.model.state.book.b)

    @property
    def names_(self) -> list[str] | None:
        """The names of the columns, None if none were given."""
        return None if self.model.names is None else list(self.model.names)


def table(X: Any, unit: str) -> np.ndarray:
    """Return rounds as an array of floats, a row each."""
    try:
        found = np.asarray(as_array(X), np.float64)
    except (TypeError, ValueError) as e:
        raise type(e)(f"expected a row of numbers for each {unit}: {e}") from None
    if found.ndim != 2 or 0 in found.shape:
        raise ValueError(f"expected a table with a row for each {unit}, got an array of shape {found.shape}")
    return found


def row_of(x: Any) -> np.ndarray:
    """Return one round as a table."""
    try:
        found = np.asarray(x, np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"expected a row of numbers, or a dict of numbers by name, got {x!r}") from None
    if found.ndim != 1:
        raise ValueError(f"expected a row of numbers, got an array of shape {found.shape}; for several rounds use learn_many")
    return found.reshape(1, -1)


def different(names: list[Any], axis: str) -> list[str]:
    """Return names, none of which comes twice."""
    twice = {n for n in names if names.count(n) > 1}
    odd = [n for n in names if not isinstance(n, str)]
    if odd:
        raise TypeError(f"expected the names of {axis}s as text, got {odd[0]!r}")
    if twice:
        raise ValueError(f"{axis} {min(twice)!r} comes twice")
    return names


def refuse_others(known: Sequence[str], names: Sequence[str], axis: str, where: str = "") -> None:
    """Refuse columns of other names than those known."""
    lost, odd = sorted({*known} - {*names}), sorted({*names} - {*known})
    if lost or odd:
        said = [f"{axis} {lost[0]!r} is missing"] if lost else []
        said += [f"{axis} {odd[0]!r} is new"] if odd else []
        hint = "" if lost else f": leave {'it' if len(odd) == 1 else 'the new ones'} out (ignore, --ignore {','.join(odd[:3])})"
        raise ValueError(f"{where}{' and '.join(said)}; the model has {plural(len(known), axis)}{hint}")


def order(m: Allocation, names: list[str] | None, width: int, axis: str, unit: str) -> Any:
    """Return where the columns of a model are among those that came."""
    if names is not None and m.names is not None:
        refuse_others(m.names, names, axis)
        at = {name: k for k, name in enumerate(names)}
        return [at[name] for name in m.names]
    if width != m.K:
        raise ValueError(f"expected {plural(m.K, axis)} in every {unit}, got {width}")
    if names is not None:
        raise ValueError(f"the {axis}s had no names in the first {unit}, so these cannot be matched with them: pass an array")
    return slice(None)
