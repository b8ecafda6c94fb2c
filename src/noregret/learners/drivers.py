"""Drivers: the loops over rows that call a step. A task has the text; here it is filled in for a learner and a layout."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..engine import compiling
from ..inputs.checking import sum_of_sizes
from ..spaces.examples import Biased, Sparse, Weighted
from ..spaces.expansion import Expansion, look
from ..spaces.weights import answer

LAYOUTS = {
    "dense": ("X, ", "X.shape[0]", "X[i]"),
    "csr": (
        "indptr, indices, data, ",
        "indptr.shape[0] - 1",
        "Sparse(indices[indptr[i]:indptr[i + 1]], data[indptr[i]:indptr[i + 1]])",
    ),
}


class Text(NamedTuple):
    """The loops of a task: `learn` and `predict` with places in braces, the names in them, and what stands in the places.

    `fill(job, words, weigh, skip)` adds to the words that all texts share: `weigh` puts the sample weight on an example, if there
    is one, and `skip` is the code that passes over a row of weight 0.
    """

    source: str
    names: tuple[Any, ...]
    fill: Callable[[Job, dict[str, str], Callable[[str], str], Callable[[str], str]], dict[str, str]]


class Job(NamedTuple):
    """What decides the text of the drivers: kinds and functions, no values."""

    text: Text
    name: str
    step: Callable[..., Any]
    score: Callable[..., Any] | None
    share: Callable[..., Any] | None
    state: Any
    params: Any
    cost: Any
    labelled: bool  # two classes: count mistakes by sign
    many: bool  # one row of weights per class
    bias: bool
    plain: bool = False  # what is kept are Python objects: only the interpreter knows them


class Drivers(NamedTuple):
    """The compiled loops."""

    learn: Callable[..., None]
    predict: Callable[..., None]
    sum_of_sizes: Callable[[Any], float]  # of cells, see overflow.py


def flatten(node: Any, name: str, out: list[tuple[str, Any]], kinds: dict[str, type]) -> str:
    """Collect the leaves of a tree as (name, value); return the expression that rebuilds it."""
    if isinstance(node, tuple):
        cls = type(node)
        label = cls.__name__ if kinds.setdefault(cls.__name__, cls) is cls else f"{cls.__name__}_{name}"
        kinds[label] = cls
        fields = zip(cls._fields, node, strict=True)  # type: ignore[attr-defined]
        return f"{label}({', '.join(flatten(v, f'{name}_{f}', out, kinds) for f, v in fields)})"
    out.append((name, node))
    return name


_built: dict[Any, Drivers] = {}


def drivers(job: Job, layout: str, weighted: bool) -> Drivers:
    """Return the loops of a learner for a layout of rows, with or without sample weights."""
    leaves: list[tuple[str, Any]] = []
    kinds: dict[str, type] = {}
    S, P, cost = (flatten(t, n, leaves, kinds) for t, n in ((job.state, "s"), (job.params, "p"), (job.cost, "r")))
    code = job._replace(name="", state=S, params=P, cost=cost)  # all that decides the text; the name is only its title
    key = (code, tuple(kinds.items()), layout, weighted, compiling.interpreting())
    if key not in _built:
        _built[key] = _build(job, layout, weighted, [n for n, _ in leaves], kinds, (S, P, cost))
    return _built[key]


def _build(job: Job, layout: str, weighted: bool, args: list[str], kinds: dict[str, type], trees: tuple[str, ...]) -> Drivers:
    data, n, row = LAYOUTS[layout]
    first = job.state._fields[0]
    words = {
        "args": "".join(f"{a}, " for a in args),
        "data": ("j, " if job.bias else "") + data,
        "c": "c, " if weighted else "",
        "S": trees[0],
        "P": trees[1],
        "cost": trees[2],
        "n": n,
        "row": f"Biased({row}, j)" if job.bias else row,
        "first": first,
        "look": f"look(s.{first}, x)\n        " if isinstance(job.state[0], Expansion) else "",
    }
    weigh = "Weighted({}, c[i])".format if weighted else str
    skip = "if c[i] == 0.0:{}\n            continue\n        ".format if weighted else lambda _: ""
    source = job.text.source.format(**words, **job.text.fill(job, words, weigh, skip))
    named = {v.__name__: v for v in (Biased, Sparse, Weighted, look, *job.text.names)}
    scope: dict[str, Any] = {**named, **kinds, "step": job.step, "score": job.score, "share": job.share}
    used = {k: v for k, v in scope.items() if v is not None and f"{k}(" in source}
    if layout == "dense":
        used.pop("Sparse", None)
    namespace = compiling.build(f"{job.name}_{layout}", source, used, job.plain)
    return Drivers(namespace["learn"], namespace["predict"], compiling.compiled(sum_of_sizes))


def answers_apart(w: Any) -> bool:
    """Return whether the answer given outside differs from the score learned with: some kind has a separate case for it."""
    return any(c.kinds[0] is type(w) for c in answer.cases) and getattr(w, "remembers", True)
