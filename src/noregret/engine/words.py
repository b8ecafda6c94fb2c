"""Words: functions whose meaning depends on the kinds of their arguments.

A *kind* is ``np.ndarray`` or a ``NamedTuple`` class. Each word keeps one table of cases, written once in plain Python; the
interpreter picks a case here, and the engine reads the same table when it compiles. Cases are tried in one order, from the
last argument back: a case that names a kind for the last argument comes before one that does not, and so on. The example
comes last in every word, so examples are unwrapped before weights, whatever the order in which files are imported.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple


class Case(NamedTuple):
    """One meaning of a word: the kinds it is for, and the text."""

    kinds: tuple[type, ...]
    fn: Callable[..., Any]


class Word:
    """A function with cases. ``@name.on(Kind, ...)`` adds one; missing trailing kinds mean "anything"."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        self.__name__ = fn.__name__
        self.__doc__ = fn.__doc__
        self.__module__ = fn.__module__
        self.arity = fn.__code__.co_argcount
        self.cases: list[Case] = []
        self.found: dict[tuple[type, ...], Callable[..., Any]] = {}  # what was looked up before
        self.strict = False

    def on(self, *kinds: type) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Add a case for arguments of these kinds; one text may serve several."""
        kinds = (*kinds, *[object] * (self.arity - len(kinds)))

        def add(fn: Callable[..., Any]) -> Callable[..., Any]:
            fn.__name__ = self.__name__
            self.cases = [c for c in self.cases if c.kinds != kinds]  # a notebook cell run again replaces its case
            self.cases.insert(0, Case(kinds, fn))
            self.cases.sort(key=lambda case: [kind is object for kind in reversed(case.kinds)])
            self.found.clear()
            return fn

        return add

    def find(self, kinds: Sequence[type]) -> Callable[..., Any]:
        """Return the text for arguments of these kinds."""
        key = tuple(kinds)
        if key in self.found:
            return self.found[key]
        for case in self.cases:
            if all(issubclass(k, c) for k, c in zip(kinds, case.kinds, strict=True)):
                self.found[key] = case.fn
                return case.fn
        names = ", ".join(k.__name__ for k in kinds)
        raise TypeError(f"{self.__name__}({names}) has no meaning: {self.__doc__}")

    def __call__(self, *args: Any) -> Any:
        """Interpret: run the case for these arguments."""
        return self.find([type(a) for a in args])(*args)

    def __repr__(self) -> str:
        return f"<word {self.__name__}>"


word = Word


def strict(fn: Any) -> Any:
    """Mark a function or word with a loop whose arithmetic must be taken as written (without one it is), or a kind, for all loops.

    Other loops may be reassociated, so that sums over the features of dense rows vectorise. Sums over several classes may not: with
    one class more known, and all its weights still 0, they must come out the same, or the split of a stream into calls would show.
    """
    fn.strict = True
    return fn


def rare(fn: Any) -> Any:
    """Mark a function that is called seldom: it is not inlined, which would cost compile time wherever it is named."""
    fn.rare = True
    return fn
