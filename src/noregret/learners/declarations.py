"""Checks of a class when it is defined: each mistake has a message that says what to write instead.

The library's own classes are checked by its tests, so that importing it stays fast.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from typing import Any, get_type_hints

from ..algorithm.params import Choice, Derived, Filled, Fixed, Range, mark_of
from ..algorithm.state import Need, Slot
from ..engine.words import Word
from ..files.json_values import ModelFileError
from ..owners import owner

NEEDS = (
    "Weights (dot, add), Scalable (and scale), Measured (and sqnorm), Covariance, PerClass, Number, Count, or "
    "Annotated[Any, Slot(...)]"
)
RANGES = "Positive, NonNegative, Fraction, Share, Real, Switch, Annotated[float, Range(low, high)] or Annotated[Any, Choice({...})]"
ABLE = {  # words that change or measure weights, by what a field must be for them
    "scale": ("Scalable", ("scale", "norm", "link norm", "mean", "vote", "pairs", "own")),
    "sqnorm": ("Measured", ("norm", "link norm", "pairs", "own")),
}


def title(cls: Any, what: str) -> str:
    """Return the name of what is wrong, as its author finds it."""
    return f"{cls.__module__}.{cls.__qualname__}: {what}"


def ours(cls: Any) -> bool:
    """Return whether a class belongs to the library."""
    return bool(cls.__module__.startswith(f"{__name__.partition('.')[0]}."))


def check_name(cls: Any) -> None:
    """Refuse a name that another class has; one defined again takes the place of the first."""
    try:
        found = owner("class")(cls.name)
    except ModelFileError:  # no learner has it
        return
    if (found.__module__, found.__qualname__) != (cls.__module__, cls.__qualname__):
        raise TypeError(title(cls, f"name = {cls.name!r} is taken by {found.__module__}.{found.__qualname__}: choose another name"))


def check_named(cls: Any) -> None:
    """Refuse a step that no registry, file or command could name."""
    if "step" in cls.__dict__ and "State" in cls.__dict__ and "name" not in cls.__dict__:
        raise TypeError(title(cls, f"a step needs a name to be found by: write name = {cls.__name__.lower()!r} in the class"))


def check_params(cls: Any) -> None:
    """Refuse parameters without a range or a default."""
    hints = get_type_hints(cls.Params, include_extras=True)
    for f in cls.Params._fields:
        mark, kind = mark_of(hints[f]), getattr(hints[f], "__name__", hints[f])
        if not (mark == "switch" or isinstance(mark, (Range, Choice, Derived, Filled, Fixed))):
            raise TypeError(title(cls, f"Params.{f} is {kind}, which has no range: write {f}: Positive, or one of {RANGES}"))
        if f not in cls.Params._field_defaults and not isinstance(mark, (Derived, Filled, Fixed)):
            raise TypeError(title(cls, f"Params.{f} has no default: write {f}: ... = 1.0, so that {cls.__name__}() works"))


def check_state(cls: Any) -> None:
    """Refuse fields that do not say what the step needs, and a covariance without its parameters."""
    hints = get_type_hints(cls.State, include_extras=True)
    for f in cls.State._fields:
        need = mark_of(hints[f])
        if not isinstance(need, (Need, Slot)):
            kind = getattr(hints[f], "__name__", hints[f])
            raise TypeError(title(cls, f"State.{f} is {kind}, which does not say what the step does with it: write {f}: {NEEDS}"))
        if isinstance(need, Need) and need.what == "covariance":
            check_covariance(cls, f)


def check_covariance(cls: Any, field: str) -> None:
    """Refuse a covariance without parameters for its first variance and its form."""
    has = set(cls.Params._fields) | {f for f in dir(cls.Params) if not f.startswith("_")}
    if not ({"a", "variance"} & has and "covariance" in has):
        wanted = "a: Positive = 1.0 (the first variance; or a property `variance`) and covariance: Storage = 'diag'"
        raise TypeError(
            title(cls, f"State.{field} is a Covariance, for which Params need {wanted}, as in families/confidence_weighted.py")
        )


def check_weights(cls: Any) -> None:
    """Refuse a state whose first field is not what scores are made with."""
    field = cls.State._fields[0]
    first = mark_of(get_type_hints(cls.State, include_extras=True)[field])
    weights = first.what != "covariance" if isinstance(first, Need) else "feature" in first.axes
    if not weights:
        raise TypeError(title(cls, f"the first field of State is {field}, and must be the weights: put w: Weights first"))


def check_step(cls: Any) -> None:
    """Refuse words that no field can do, and a return that is not (score, updated)."""
    found = inspect.getclosurevars(cls.step).globals
    needs = [mark_of(h) for h in get_type_hints(cls.State, include_extras=True).values()]
    for word, (kind, able) in ABLE.items():
        used = any(isinstance(v, Word) and v.__name__ == word for v in found.values())
        if used and not any(isinstance(n, Need) and n.what in able for n in needs):
            field = cls.State._fields[0]
            raise TypeError(title(cls, f"the step calls {word}(s.{field}, ...), which State does not allow: write {field}: {kind}"))
    for line in single_returns(cls.step):
        what = f"step {cls.step.__name__!r} returns one value in line {line}: return (score before the update, whether it updated)"
        raise TypeError(title(cls, what))


def single_returns(fn: Any) -> list[int]:
    """Return the lines of a function that certainly return one number: arithmetic, or a name assigned a number."""
    try:
        lines, start = inspect.getsourcelines(fn)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, TypeError, SyntaxError):
        return []
    numbers: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Tuple):
                    numbers |= {t.id for t in target.elts if isinstance(t, ast.Name)}
                elif isinstance(target, ast.Name) and is_number(node.value, numbers):
                    numbers.add(target.id)
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Return)]
    return [start + node.lineno - 1 for node in found if node.value is None or is_number(node.value, numbers)]


def is_number(node: ast.expr, numbers: set[str]) -> bool:
    """Return whether an expression is certainly one number."""
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id in ("dot", "norm2", "sqnorm", "min", "max", "abs", "float")
    return isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Compare, ast.Constant)) or (
        isinstance(node, ast.Name) and node.id in numbers
    )
