"""Driver texts: the loops over rows that call a step, one text for each task, filled in for a learner and a layout.

A row of weight 0 is answered and changes nothing, counters included.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from . import engine
from .examples import Biased, Block, Every, Pair, Sparse, Weighted
from .expansion import Expansion, look
from .rounds import Priced, UnitCost, asked, count, rival, wrong_class, wrong_sign
from .weights import answer, answers, scores, tick

REAL = """
@jit
def learn({args}{data}{c}y, tally, work, out):
    s, p = {S}, {P}
    for i in range({n}):
        x = {row}
        {look}{skip}{before}f, moved = step(s, {example}, y[i], p)
        tick(s.{first})
        out[i, 0] = {said}
        count(tally, {wrong}, moved)
"""
CLASSES = """
@jit
def learn({args}{data}{c}y, tally, work, out):
    s, p, cost = {S}, {P}, {cost}
    K = np.uintp(out.shape[1])
    for i in range({n}):
        x = {row}
        {look}f = out[i]
        {scores}
        {skip}wrong = wrong_class(tally, f, y[i])
        moved = False
        {round}
        tick(s.{first})
        count(tally, wrong, moved)
"""
PAIR = """r = rival(cost, s, p, g[:tally[0]], y[i], Every(x, K))
        if r >= 0 and r != y[i]:
            _, moved = step(s, {pair}, 1.0, p)"""
SHARE = """work[0, :] = 0.0
        moved = share(s, g[:tally[0]], y[i], p, work[0], {whole})"""
PREDICT = """
@jit
def predict({args}{data}out):
    s, p = {S}, {P}
    K = np.uintp(out.shape[1])
    for i in range({n}):
        x = {row}
        {look}f = out[i]
        {answers}
"""
EACH = """for k in range(out.shape[1]):
            f[k] = score(s, Block(x, np.uintp(k), K), p)"""
LAYOUTS = {
    "dense": ("X, ", "X.shape[0]", "X[i]"),
    "csr": (
        "indptr, indices, data, ",
        "indptr.shape[0] - 1",
        "Sparse(indices[indptr[i]:indptr[i + 1]], data[indptr[i]:indptr[i + 1]])",
    ),
}
VERBS = {f.__name__: f for f in (answer, answers, asked, count, look, rival, scores, tick, wrong_class, wrong_sign)}
KINDS = {k.__name__: k for k in (Biased, Block, Every, Pair, Priced, Sparse, Weighted)}


class Job(NamedTuple):
    """What decides the text of the drivers: kinds and functions, no values."""

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
    key = (code, tuple(kinds.items()), layout, weighted, engine.interpreting())
    if key not in _built:
        _built[key] = _build(job, layout, weighted, [n for n, _ in leaves], kinds, (S, P, cost))
    return _built[key]


def _build(job: Job, layout: str, weighted: bool, args: list[str], kinds: dict[str, type], trees: tuple[str, ...]) -> Drivers:
    data, n, row = LAYOUTS[layout]
    first = job.state._fields[0]
    remembers = answers_apart(job.state[0])
    weigh = "Weighted({}, c[i])".format if weighted else str
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
        "example": weigh("x"),
    }
    skip = "if c[i] == 0.0:{}\n            continue\n        ".format if weighted else lambda _: ""
    scope: dict[str, Any] = {**VERBS, **KINDS, **kinds, "step": job.step, "score": job.score, "share": job.share}
    if job.many:
        pair = "Pair(x, np.uintp(y[i]), np.uintp(r), K, asked(cost, y[i], r))"
        words["whole"] = weigh("x" if isinstance(job.cost, UnitCost) else "Priced(x, cost)")
        words["round"] = SHARE.format(**words) if job.share else PAIR.format(pair=weigh(pair))
        if job.score:
            words["scores"], words["answers"] = f"{EACH}\n        g = f", EACH
        else:
            words["answers"] = f"answers(s.{first}, x, f)"
            words["scores"] = (
                f"answers(s.{first}, x, f)\n        g = work[1]\n        scores(s.{first}, x, g)"
                if remembers
                else f"scores(s.{first}, x, f)\n        g = f"
            )
        text = CLASSES.format(**words, skip=skip(""))
    else:
        words["answers"] = "f[0] = score(s, x, p)" if job.score else f"f[0] = answer(s.{first}, x)"
        words["before"], words["said"] = (f"said = answer(s.{first}, x)\n        ", "said") if remembers else ("", "f")
        words["wrong"] = f"wrong_sign(tally, {words['said']}, y[i])" if job.labelled else "False"
        text = REAL.format(**words, skip=skip("\n            f = out[i]\n            " + words["answers"]))
    text += PREDICT.format(**words)
    used = {k: v for k, v in scope.items() if v is not None and f"{k}(" in text}
    if layout == "dense":
        used.pop("Sparse", None)
    namespace = engine.build(f"{job.name}_{layout}", text, used, job.plain)
    return Drivers(namespace["learn"], namespace["predict"])


def answers_apart(w: Any) -> bool:
    """Return whether the answer given outside differs from the score learned with: some kind has a case of its own for it."""
    return any(c.kinds[0] is type(w) for c in answer.cases) and getattr(w, "remembers", True)
