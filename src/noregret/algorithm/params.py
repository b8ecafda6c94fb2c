"""Parameters: a NamedTuple of numbers and parts, with a range for each number, checked when learning begins."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, get_type_hints

import numpy as np


@dataclass(frozen=True)
class Range:
    """The numbers a parameter may take; `ends` says which ends belong to it."""

    low: float
    high: float
    ends: str = "()"
    whole: ClassVar[bool] = False

    def check(self, name: str, value: Any) -> float:
        """Return the value as a float, or say what was expected and what came."""
        try:
            number = float(value)
        except (TypeError, ValueError):
            raise TypeError(f"{name} must be a number in {self}, got {value!r}") from None
        above = number >= self.low if self.ends[0] == "[" else number > self.low
        below = number <= self.high if self.ends[1] == "]" else number < self.high
        if not (above and below) or isinstance(value, (str, bool)):
            raise ValueError(f"{name} must be {'a number ' if isinstance(value, (str, bool)) else ''}in {self}, got {value!r}")
        return number

    def __str__(self) -> str:
        return f"{self.ends[0]}{self.low:.10g}, {self.high:.10g}{self.ends[1]}"


@dataclass(frozen=True)
class WholeRange(Range):
    """The whole numbers among them."""

    whole: ClassVar[bool] = True

    def check(self, name: str, value: Any) -> float:
        """Return the value as a float, or say what was expected and what came."""
        number = super().check(name, value)
        if number != math.floor(number):
            raise ValueError(f"{name} must be a whole number in {self}, got {value!r}")
        return number


@dataclass(frozen=True)
class Choice:
    """A parameter that is a part: by name from a table, or the part itself.

    Fields of the part that the Params also have (`eta`, `radius`, `epsilon`, ...) are taken from there.
    """

    table: dict[Any, Any]
    custom: Callable[[Any], Any] | None = None  # makes a part of a function of the user's own

    def check(self, name: str, value: Any, given: dict[str, Any]) -> Any:
        """Return the part."""
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return value
        if self.custom is not None and callable(value):
            return self.custom(value)
        try:
            part = self.table[value]
        except (KeyError, TypeError):
            raise ValueError(f"{name} must be one of {', '.join(map(repr, self.table))}, got {value!r}") from None
        return part(**{f: given[f] for f in part._fields if f in given})


@dataclass(frozen=True)
class Fixed:
    """A parameter that is one certain part: its fields are parameters, and the part itself is not."""

    part: Any


@dataclass(frozen=True)
class Filled:
    """A parameter the learner fills in: d, the number of coordinates in use."""


@dataclass(frozen=True)
class Derived:
    """A parameter computed from the others, by name."""

    formula: Callable[[dict[str, Any]], float]


Positive = Annotated[float, Range(0.0, math.inf)]
NonNegative = Annotated[float, Range(0.0, math.inf, "[)")]
Fraction = Annotated[float, Range(0.0, 1.0)]
Share = Annotated[float, Range(0.0, 1.0, "(]")]
AboveOne = Annotated[float, Range(1.0, math.inf)]
Exponent = Annotated[float, Range(2.0, 1e3, "[]")]
Times = Annotated[float, WholeRange(1.0, math.inf, "[)")]
Unbounded = Annotated[float, Range(0.0, math.inf, "(]")]
Real = Annotated[float, Range(-math.inf, math.inf)]
Optional = Annotated[Any, Range(0.0, math.inf), None]  # None, or a positive number; a kernel sees None as 0
OptionalFraction = Annotated[Any, Range(0.0, 1.0), None]
Switch = Annotated[bool, "switch"]
Width = Annotated[float, Filled()]


def switched(name: str, value: Any) -> bool:
    """Return a switch as True or False; text such as "no" would otherwise count as True."""
    if not (isinstance(value, (bool, np.bool_)) or (isinstance(value, (int, np.integer)) and value in (0, 1))):
        raise TypeError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def check_options(given: Mapping[str, Any]) -> None:
    """Check the options that learners share."""
    for name in ("fit_intercept", "average", "shuffle", "probabilities"):
        switched(name, given.get(name, False))
    seed = given.get("seed")
    if seed is not None and not (isinstance(seed, (int, np.integer)) and not isinstance(seed, bool) and seed >= 0):
        raise ValueError(f"seed must be a whole number of at least 0, or None, got {seed!r}")


class Parameters:
    """The parameters of a learner: the fields of its Params, some of another type or default, and the fields of their parts.

    A field of a part that has a range and a default, and that the Params do not name, is a parameter as well: `epsilon` is one
    wherever a loss may be chosen that has it.
    """

    def __init__(self, Params: Any, types: Mapping[str, Any], defaults: Mapping[str, Any]) -> None:
        self.Params = Params
        hints = get_type_hints(Params, include_extras=True)
        self.types: dict[str, Any] = {}
        late: dict[str, Any] = {}
        self.defaults: dict[str, Any] = {}
        for f in Params._fields:
            hint = types.get(f, hints[f])
            self.types[f] = hint
            mark = mark_of(hint)
            if isinstance(mark, Fixed):
                self._take(ranged(mark.part))
            elif not isinstance(mark, (Filled, Derived)):
                self.defaults[f] = Params._field_defaults[f]
                late |= ranged(*mark.table.values()) if isinstance(mark, Choice) else {}
        self._take({f: given for f, given in late.items() if f not in Params._fields})
        self.marks = {f: mark_of(hint) for f, hint in self.types.items()}
        self.defaults |= {f: v for f, v in defaults.items() if f in self.defaults}

    def _take(self, fields: dict[str, tuple[Any, Any]]) -> None:
        for f, (hint, default) in fields.items():
            self.types[f], self.defaults[f] = hint, default

    def resolve(self, given: Mapping[str, Any], width: int) -> Any:
        """Return the Params that the step gets: every number in its range, every choice made. Raises before anything is learned."""
        values: dict[str, Any] = {}
        for f, mark in self.marks.items():
            if isinstance(mark, Filled):
                values[f] = float(width)
            elif isinstance(mark, Range):
                values[f] = 0.0 if given[f] is None and None in self.types[f].__metadata__ else mark.check(f, given[f])
            elif not isinstance(mark, (Choice, Derived, Fixed)):
                values[f] = switched(f, given[f])
        for f, mark in self.marks.items():
            if isinstance(mark, Derived):
                values[f] = mark.formula(values)
        for f, mark in self.marks.items():
            known = {**given, **values, "d": float(width)}
            if isinstance(mark, Choice):
                values[f] = mark.check(f, given[f], known)
            elif isinstance(mark, Fixed):
                values[f] = mark.part(**{field: known[field] for field in mark.part._fields})
        params = self.Params(**{f: values[f] for f in self.Params._fields})
        if hasattr(params, "check"):
            params.check()
        return params


def mark_of(hint: Any) -> Any:
    """Return what a type says of a parameter."""
    return getattr(hint, "__metadata__", (None,))[0]


def ranged(*parts: Any) -> dict[str, tuple[Any, Any]]:
    """Return the fields of parts that have a range and a default, with both."""
    found: dict[str, tuple[Any, Any]] = {}
    for part in parts:
        hints = get_type_hints(part, include_extras=True) if hasattr(part, "_fields") else {}
        found |= {f: (h, part._field_defaults[f]) for f, h in hints.items() if isinstance(mark_of(h), Range)}
    return found


def same_value(a: Any, b: Any) -> bool:
    """Return whether two values of a parameter are the same: equal in every entry, and of one type.

    Numbers are the same if they are equal (1 and 1.0, but not True), and NaN is the same as NaN. An object that does not define
    equality is compared by its text and its parameters.
    """
    a, b = (v.item() if isinstance(v, np.generic) else v for v in (a, b))
    kinds = {type(a), type(b)}
    if a is b or (len(kinds) > 1 and kinds != {int, float}):
        return a is b
    if hasattr(a, "__array__"):
        a, b = np.asarray(a), np.asarray(b)
        return a.shape == b.shape and same_value(a.tolist(), b.tolist())
    if isinstance(a, Mapping):
        return a.keys() == b.keys() and all(same_value(v, b[k]) for k, v in a.items())
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same_value, a, b))
    if type(a).__eq__ is object.__eq__:  # type: ignore[comparison-overlap]
        return repr(a) == repr(b) and same_value(*(getattr(v, "get_params", dict)() for v in (a, b)))
    return bool(a == b or (a != a and b != b))


def depends_on_width(params: Any) -> bool:
    """Return whether d is part of the formulas: of the step, or of one of its parts."""
    return any("d" in getattr(node, "_fields", ()) for node in (params, *params))
