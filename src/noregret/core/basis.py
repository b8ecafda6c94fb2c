"""From `kernel=` and `budget=` to the kind of expansion a learner gets, or an error that says why there is none."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .expansion import Unbounded, maintain
from .state import Basis, Need, Slot, describe, leaves, needs_of
from .stores import Function, value

if TYPE_CHECKING:
    from .labels import Labels

LINEAR = ("vector", "scale", "norm", "mean", "link", "link norm", "pairs")  # needs an expansion can meet


def kernelizable(State: Any) -> bool:
    """Return whether the step sees examples only through inner products: nothing of its state lies along the features."""
    first, *others = needs_of(State)
    return (
        isinstance(first, Need)
        and first.what in LINEAR
        and all(isinstance(need, Slot) and "feature" not in need.axes for need in others)
    )


def catalogue(word: Any) -> dict[str, Any]:
    """Return the kinds that have a case of their own of a word, by name: remove_oldest for RemoveOldest."""
    from ..parts import budgets, kernels  # noqa: F401 (their cases)

    kinds = [c.kinds[0] for c in word.cases if c.kinds[0] not in (object, Unbounded)]
    return {snake(kind.__name__): kind for kind in kinds}


def snake(name: str) -> str:
    """Return the name of a class as text has it: remove_oldest for RemoveOldest."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def knows(word: Any, part: Any) -> bool:
    """Return whether a part has a case of its own of a word."""
    return any(c.kinds[0] is type(part) for c in word.cases)


def written(what: str, part: Any, word: Any) -> Any:
    """Return a part that may be given as text: "rbf", "rbf(0.5)", "shrink(B=100, phi=0.9)"."""
    if not isinstance(part, str):
        return part
    known = catalogue(word)
    found = re.fullmatch(r"(\w+)(?:\((.*)\))?", part.strip())
    kind = known.get(found[1]) if found else None
    if found is None or kind is None:
        raise ValueError(f"{what} must be one of {', '.join(sorted(known))}, with values in brackets if need be; got {part!r}")
    try:
        pairs = [text.rpartition("=") for text in (found[2] or "").split(",") if text.strip()]
        places = [float(value) for name, _, value in pairs if not name]
        return kind(*places, **{name.strip(): float(value) for name, _, value in pairs if name})
    except (TypeError, ValueError):
        raise ValueError(f"{what} {found[1]} takes numbers for {', '.join(kind._fields)}; got {part!r}") from None


def of_objects(kernel: Any) -> bool:
    """Return whether examples may be any objects: the kernel is a function of two of them."""
    return callable(kernel) and not knows(value, kernel)


def described(cls: Any, given: Mapping[str, Any], params: Any, sparse: bool, width: int, labels: Labels | None) -> Any:
    """Return the description of a learner's state: linear weights, or an expansion."""
    average = bool(given.get("average", False))
    kernel = kernel_of(cls, given)
    if kernel is None:
        return describe(cls.State, params, average)
    budget = budget_of(cls, given, params)
    store = "objects" if isinstance(kernel, Function) else "ragged" if sparse and not hasattr(budget, "between") else "packed"
    fit_together(cls, params, kernel, budget)
    if budget.bytes:
        classes = len(labels) if labels is not None and labels.declared and len(labels) > 2 else 1
        budget = in_bytes(cls, given, params, Basis(kernel, budget, store), {"feature": max(width, 1), "class": classes})
    return describe(cls.State, params, average, Basis(kernel, budget._replace(bytes=0.0), store))


def kernel_of(cls: Any, given: Mapping[str, Any]) -> Any:
    """Return the kernel part, checked; None for linear weights."""
    kernel = written("kernel", given.get("kernel"), value)
    if kernel is None:
        if cls.by_kernel:
            raise ValueError(f"{cls.__name__} needs a kernel, such as kernel=nr.RBF(gamma=0.5); got None")
        if given.get("budget") is not None:
            raise ValueError(f"budget= limits support vectors, which only a kernel= has; got budget={given['budget']!r} alone")
        return None
    if hasattr(kernel, "check"):
        kernel.check()
    if of_objects(kernel):
        return Function(kernel)
    if not knows(value, kernel):
        known = sorted(kind.__name__ for kind in catalogue(value).values())
        what = f"one of {', '.join(f'nr.{name}()' for name in known)}, or a function of two objects"
        raise TypeError(f"kernel must be {what}; got {kernel!r}")
    return type(kernel)(*map(float, kernel))


def budget_of(cls: Any, given: Mapping[str, Any], params: Any) -> Any:
    """Return the budget part, checked."""
    budget = written("budget", given.get("budget"), maintain) if cls.policy is None else cls.policy(params, given)
    if budget is None:
        return Unbounded()
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


def fit_together(cls: Any, params: Any, kernel: Any, budget: Any) -> None:
    """Refuse what has no meaning in the space of a kernel."""
    need = needs_of(cls.State)[0].what
    if need.startswith("link") and params.p != 2.0:
        raise ValueError(f"the p-norm geometry has no kernel form: use p=2 with kernel=, got p={params.p:g}")
    for part in params:
        if getattr(part, "needs", "norm") != "norm":
            raise ValueError(f"of the regions only the L2 ball has a kernel form: projection='l2', got {part!r}")
    between = getattr(budget, "between", None)
    if between is not None and type(kernel).__name__ not in between:
        raise ValueError(f"{type(budget).__name__} is for {', '.join(between)} kernels; got {kernel!r}")
    if need == "pairs" and not getattr(budget, "removes", True):
        raise ValueError(
            f"{cls.__name__} takes a budget that removes or stops; {type(budget).__name__} moves coefficients to others"
        )


def in_bytes(cls: Any, given: Mapping[str, Any], params: Any, basis: Basis, sizes: dict[str, int]) -> Any:
    """Return the budget with the largest B whose state, one vector more included, has no more than its bytes."""
    budget, name = basis.budget, type(basis.budget).__name__
    if basis.store != "packed":
        raise ValueError(
            f"a budget in bytes needs rows of one size, as arrays have: give {name}(B=...) for sparse rows and objects"
        )
    spec = describe(cls.State, params, bool(given.get("average", False)), basis)
    dtype = np.dtype(given["dtype"])

    def size(B: int) -> int:
        dims = {**sizes, "slot": B + 1, "cell": 0, "two": 2}
        slots = [slot for _, slot, _ in leaves(spec, spec)]
        return sum(math.prod(s.shape(dims)) * (dtype if s.dtype is float else np.dtype(s.dtype)).itemsize for s in slots)

    if size(1) > budget.bytes:
        raise ValueError(f"{name}(bytes={budget.bytes:g}) holds no support vector: one takes {size(1)} bytes in all here")
    low, high = 1, 2
    while size(high) <= budget.bytes:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if size(middle) <= budget.bytes else (low, middle)
    return budget._replace(B=float(low))
