"""From `kernel=` and `budget=` to the kind of expansion a learner gets, or an error that says why there is none."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ..owners import owner
from ..spaces.expansion import Unbounded, maintain
from ..spaces.support_vectors import Function, value
from ..spec import parse_call
from .state import Basis, Need, Slot, describe, leaves, needs_of

SPARE = 8.0  # one part in SPARE of a byte budget for sparse rows is kept free for new rows, and no row may take more
LINEAR = ("vector", "scale", "norm", "mean", "vote", "link", "link norm", "pairs")  # needs an expansion can meet


def kernelizable(State: Any) -> bool:
    """Return whether the step sees examples only through inner products: nothing of its state lies along the features."""
    first, *others = needs_of(State)
    return (
        isinstance(first, Need)
        and first.what in LINEAR
        and all(isinstance(need, Slot) and "feature" not in need.axes for need in others)
    )


def catalogue(word: Any) -> dict[str, Any]:
    """Return the kinds that a word has cases for, by name: remove_oldest for RemoveOldest."""
    owner("parts")()  # so that their cases are there
    kinds = [c.kinds[0] for c in word.cases if c.kinds[0] not in (object, Unbounded)]
    return {snake(kind.__name__): kind for kind in kinds}


def snake(name: str) -> str:
    """Return the name of a class as text has it: remove_oldest for RemoveOldest."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def knows(word: Any, part: Any) -> bool:
    """Return whether a word has a case for the part."""
    return any(c.kinds[0] is type(part) for c in word.cases)


def written(what: str, part: Any, word: Any) -> Any:
    """Return a part that may be given as text: "rbf", "rbf(0.5)", "shrink(B=100, phi=0.9)"."""
    if not isinstance(part, str):
        return part
    known = catalogue(word)
    found = parse_call(part)
    kind = known.get(found.name) if found else None
    if found is None or kind is None:
        raise ValueError(f"{what} must be one of {', '.join(sorted(known))}, with values in brackets if need be; got {part!r}")
    try:
        places = [float(value) for key, value in found.values if not key]
        return kind(*places, **{key: float(value) for key, value in found.values if key})
    except (TypeError, ValueError):
        raise ValueError(f"{what} {found.name} takes numbers for {', '.join(kind._fields)}; got {part!r}") from None


def of_objects(kernel: Any) -> bool:
    """Return whether examples may be any objects: the kernel is a function of two of them."""
    return callable(kernel) and not knows(value, kernel)


def described(algorithm: Any, given: Mapping[str, Any], params: Any, sparse: bool, width: int, labels: int) -> Any:
    """Return the description of a learner's state for this number of labels: linear weights, or an expansion."""
    average = bool(given.get("average", False))
    kernel = kernel_of(algorithm, given)
    if kernel is None:
        return describe(algorithm.State, params, average)
    budget = budget_of(algorithm, given, params)
    store = "objects" if isinstance(kernel, Function) else "ragged" if sparse else "packed"
    fit_together(algorithm, params, kernel, budget)
    basis = Basis(kernel, budget, store)
    if budget.bytes:
        sizes = {"feature": max(width, 1), "class": class_rows(algorithm, given, labels), "two": 2}
        basis = in_bytes(algorithm, given, params, basis, sizes)
    return describe(algorithm.State, params, average, basis)


def class_rows(algorithm: Any, given: Mapping[str, Any], labels: int) -> int:
    """Return how many rows of coefficients this number of labels needs: usually one for two classes."""
    return max(labels, 1) if labels > 2 or algorithm.by_rows or given.get("cost") is not None else 1


def kernel_of(algorithm: Any, given: Mapping[str, Any]) -> Any:
    """Return the kernel part, checked; None for linear weights."""
    kernel = written("kernel", given.get("kernel"), value)
    if kernel is None:
        if algorithm.by_kernel:
            raise ValueError(f"{algorithm.__name__} needs a kernel, such as kernel=nr.RBF(gamma=0.5); got None")
        if given.get("budget") is not None:
            raise ValueError(f"budget= limits support vectors, which only a kernel= has; got budget={given['budget']!r} alone")
        return None
    refuse_class("kernel", kernel)
    if hasattr(kernel, "check"):
        kernel.check()
    if of_objects(kernel):
        return Function(kernel)
    if not knows(value, kernel):
        known = sorted(kind.__name__ for kind in catalogue(value).values())
        what = f"one of {', '.join(f'nr.{name}()' for name in known)}, or a function of two objects"
        raise TypeError(f"kernel must be {what}; got {kernel!r}")
    return type(kernel)(*map(float, kernel))


def refuse_class(what: str, part: Any) -> None:
    """Refuse the class of a part: an instance is expected."""
    if isinstance(part, type):
        given = "".join(f"{field}=..." for field in getattr(part, "_fields", ())[:1])
        raise TypeError(
            f"{what} must be a part with its numbers, {what}=nr.{part.__name__}({given}); got the class {part.__name__}"
        )


def budget_of(algorithm: Any, given: Mapping[str, Any], params: Any) -> Any:
    """Return the budget part, checked."""
    budget = written("budget", given.get("budget"), maintain) if algorithm.policy is None else algorithm.policy(params, given)
    if budget is None:
        return Unbounded()
    refuse_class("budget", budget)
    if not knows(maintain, budget):
        known = sorted(kind.__name__ for kind in catalogue(maintain).values())
        raise TypeError(f"budget must be one of {', '.join(f'nr.{name}(B)' for name in known)}; got {budget!r}")
    name = type(budget).__name__
    if budget.bytes is None and not (budget.B >= 1 and (math.isinf(budget.B) or budget.B % 1 == 0)):
        raise ValueError(f"B of a {name} must be a whole number of support vectors, 1 or more; got {budget.B!r}")
    if budget.bytes is not None and not budget.bytes > 0:
        raise ValueError(f"bytes of a {name} must be above 0; got {budget.bytes!r}")
    if hasattr(budget, "check"):
        budget.check()
    return type(budget)(*(0.0 if v is None else float(v) for v in budget))


def fit_together(algorithm: Any, params: Any, kernel: Any, budget: Any) -> None:
    """Refuse what has no meaning in the space of a kernel."""
    need = needs_of(algorithm.State)[0].what
    if need.startswith("link") and params.p != 2.0:
        raise ValueError(f"the p-norm geometry has no kernel form: use p=2 with kernel=, got p={params.p:g}")
    for part in params:
        if getattr(part, "needs", "norm") != "norm":
            raise ValueError(f"of the regions only the L2 ball has a kernel form: projection='l2', got {part!r}")
    between = getattr(budget, "between", None)
    if between is not None and type(kernel).__name__ not in between:
        raise ValueError(f"{type(budget).__name__} is for {', '.join(between)} kernels; got {kernel!r}")
    if need == "vote" and not getattr(budget, "keeps", False):
        raise ValueError(
            f"{algorithm.__name__} votes with all vectors it ever had, and {type(budget).__name__} changes what they are made of: "
            f"take budget=nr.Stop(B), or AveragedPerceptron(kernel=, budget=)"
        )
    if need == "pairs" and not getattr(budget, "removes", True):
        raise ValueError(
            f"{algorithm.__name__} takes a budget that removes or stops; {type(budget).__name__} moves coefficients to others"
        )


def in_bytes(algorithm: Any, given: Mapping[str, Any], params: Any, basis: Basis, sizes: dict[str, int]) -> Basis:
    """Convert a byte budget to a number of vectors (dense rows), or to bytes per vector, pair and cell (sparse rows).

    Everything counts, including room for one more vector; for sparse rows, except the one array as wide as the features.
    """
    budget, name = basis.budget, type(basis.budget).__name__
    if basis.store == "objects":
        raise ValueError(f"a budget in bytes needs rows of numbers, as the size of objects is not known: give {name}(B=...)")
    spec = describe(
        algorithm.State, params, bool(given.get("average", False)), replace(basis, cap=(1.0,) * 5 if sparse(basis) else ())
    )
    dtype = np.dtype(given["dtype"])
    fixed = vector = pair = cell = 0
    for _, slot, _ in leaves(spec, spec):
        size = (dtype if slot.dtype is float else np.dtype(slot.dtype)).itemsize
        size *= math.prod(sizes[axis] for axis in slot.axes if axis in sizes)
        times = slot.axes.count("slot")
        if "cell" in slot.axes:
            cell += size
        elif times:
            vector, pair = vector + size * (times == 1), pair + size * (times == 2)
        elif not (sparse(basis) and slot.scratch and slot.axes == ("feature",)):
            fixed += size
    room = budget.bytes - fixed
    spare = room / SPARE if sparse(basis) else 0.0
    least = 2 * vector + 4 * pair + 2 * max(spare, cell)
    if least > room or cell > spare:
        need = fixed + (SPARE * max(cell, (2 * vector + 4 * pair) / (SPARE - 2)) if sparse(basis) else least)
        raise ValueError(f"{name}(bytes={budget.bytes:g}) holds no support vector: one takes {math.ceil(need)} bytes in all here")
    if sparse(basis):
        cap = (float(vector), float(pair), float(cell), room, spare)
        return replace(basis, budget=budget._replace(B=math.inf), cap=cap)
    root = math.sqrt(vector * vector + 4.0 * pair * room)
    slots = int(2.0 * room / (vector + root))  # the root of pair slots^2 + vector slots = room, without cancellation
    while vector * slots + pair * slots * slots > room:
        slots -= 1
    return replace(basis, budget=budget._replace(B=float(slots - 1)))


def sparse(basis: Basis) -> bool:
    """Return whether vectors are kept as non-zeros."""
    return basis.store == "ragged"
