"""The laws: what every learner must obey, as functions to run on your own learner.

>>> import noregret as nr
>>> nr.checks.run(nr.PA1(C=0.5))

Each law takes a learner that has learned nothing (it is cloned, never changed) and, optionally, data; it returns None or raises
AssertionError that names the law and what broke it.
"""

from __future__ import annotations

import copy
import os
import tempfile
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from .algorithm import bounds
from .engine import compiling
from .files.model_file import load
from .inputs.features import Columns
from .inputs.hashing import hash_name
from .learners.learner import Learner, has_bias
from .parts.losses import value

Data = tuple[np.ndarray, np.ndarray]


def stream(learner: Learner, n: int = 300, d: int = 11, K: int = 2, seed: int = 5, noise: float = 0.5) -> Data:
    """Return rows and targets fit for a learner: sparse, linear with noise; classes after the first two appear late."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.6)
    if learner.nonnegative:
        X = np.minimum(np.abs(X), 1.0)
    f = X @ rng.standard_normal((d, K)) + noise * rng.standard_normal((n, K))
    if not learner.task.labelled:
        return X, f[:, 0]
    y = f.argmax(1)
    y[: n // 8] = np.minimum(y[: n // 8], 1)
    return X, np.where(y > 0, 1, -1) if K == 2 else y


def _learn(learner: Learner, X: Any, y: Any, **given: Any) -> Any:
    return learner.clone().partial_fit(X, y, **given)


def _snapshot(learner: Any) -> dict[str, np.ndarray]:
    """Return the whole model as arrays."""
    m = learner.model
    tables = {"tally": m.tally, "labels": np.array([str(v) for v in m.labels.values] if m.labels else [])}
    names = np.array([str(n) for n in m.features.names or []])
    own = {} if m.calibration is None else {f"calibration.{k}": a for k, a in m.calibration.arrays().items()}
    return {**{k: a.copy() for k, a in (m.used() | own | tables).items()}, "names": names}


def _same(a: dict[str, np.ndarray], b: dict[str, np.ndarray], law: str, what: str) -> None:
    for k in a:
        if not np.array_equal(a[k], b[k]):
            raise AssertionError(f"{law}: {what}: {k} differs")


def _close(f: np.ndarray, g: np.ndarray, law: str, what: str, tolerance: float = 1e-7) -> None:
    gap = float(np.max(np.abs(f - g) / (1.0 + np.abs(f))))
    if not gap <= tolerance:
        raise AssertionError(f"{law}: {what}: scores differ by {gap:.1e} (relative), allowed {tolerance:.0e}")


def _rounding(learner: Any) -> float:
    """Return how far scores may be apart by the order of sums alone."""
    return 1e-7 if learner.model.dtype == np.float64 else 1e-4


def _answers(learner: Any, X: Any) -> np.ndarray:
    """Return the scores a user sees."""
    f: np.ndarray = getattr(learner, "decision_function", learner.predict)(X)
    return f


# ---- the laws --------------------------------------------------------------------------------------------------------
def chunk(learner: Learner, X: Any = None, y: Any = None, sizes: tuple[int, ...] = (1, 7, 64)) -> None:
    """Law 1: any split of a stream into calls gives bit-identical state."""
    X, y = stream(learner, K=6) if X is None else (X, y)
    whole = _snapshot(_learn(learner, X, y))
    for size in sizes:
        m = learner.clone()
        for a in range(0, len(y), size):
            m.partial_fit(X[a : a + size], y[a : a + size])
        _same(whole, _snapshot(m), "chunk law", f"calls of {size}")


def layout(learner: Learner, X: Any = None, y: Any = None) -> None:
    """Law 2: dense, CSR, dict and hashed-without-collision agree to rounding (dict and hashed where d is not in the formula)."""
    X, y = stream(learner, K=3) if X is None else (X, y)
    dense = _learn(learner, X, y)
    f, tolerance = _answers(dense, X), _rounding(dense)
    _close(f, _answers(_learn(learner, csr_matrix(X), y), csr_matrix(X)), "layout law", "CSR", tolerance)
    if dense.model.filled or learner.draws:
        return
    rows = [{f"x{j}": float(v) for j, v in enumerate(r) if v} for r in X]
    _close(f, _answers(_learn(learner, rows, list(y)), rows), "layout law", "dicts", tolerance)
    if learner.defaults.get("hash_bits", 0) is None:
        names = {hash_name(f"x{j}") for j in range(X.shape[1])}
        bits = next(b for b in range(5, 32) if len({h % (1 << b) for h in names}) == X.shape[1])
        hashed = learner.clone().set_params(hash_bits=bits).partial_fit(rows, list(y))
        assert hashed.hash_collisions_ == 0, f"layout law: {bits} bits collide on these names"
        _close(f, _answers(hashed, rows), "layout law", "hashed", tolerance)


def interpreted(learner: Learner, X: Any = None, y: Any = None) -> None:
    """Law 3: the compiled step equals the same text run by Python."""
    X, y = stream(learner, n=120, K=3) if X is None else (X, y)
    for n in (len(y) // 8, len(y)):  # two classes, then more
        compiled = _learn(learner, X[:n], y[:n])
        with compiling.interpreted():
            plain = _learn(learner, X[:n], y[:n])
            g = _answers(plain, X)
        _close(_answers(compiled, X), g, "interpreted law", f"{n} rows", _rounding(compiled))


def resume(learner: Learner, X: Any = None, y: Any = None) -> None:
    """Law 4: train k, save, load, train the rest equals never stopped, bit for bit."""
    X, y = stream(learner, K=3) if X is None else (X, y)
    k = len(y) // 3
    whole, part = _learn(learner, X, y), _learn(learner, X[:k], y[:k])
    with tempfile.TemporaryDirectory() as tmp:
        path = os.path.join(tmp, "model.nr")
        part.save(path)
        again = load(path)
    assert again.get_params() == part.get_params(), "resume law: parameters differ"
    _same(_snapshot(part), _snapshot(again), "resume law", "as loaded")
    again.partial_fit(X[k:], y[k:])
    _same(_snapshot(whole), _snapshot(again), "resume law", "after the rest")


def purity(learner: Learner, X: Any = None, y: Any = None, threads: int = 4) -> None:
    """Law 5: predicting changes nothing, in any number of threads."""
    X, y = stream(learner, K=3) if X is None else (X, y)
    m = _learn(learner, X, y)
    before, f = _snapshot(m), _answers(m, X)
    m.predict(X)
    m.predict_one({j: float(v) for j, v in enumerate(X[0])})
    with ThreadPoolExecutor(threads) as pool:
        for g in pool.map(lambda _: _answers(m, X), range(3 * threads)):
            assert np.array_equal(f, g), "purity law: threads that predict disturb each other"
    _same(before, _snapshot(m), "purity law", "after predicting")


def order(learner: Learner, X: Any = None, y: Any = None) -> None:
    """Law 6: permuting features, or renaming classes, permutes the answer and nothing else."""
    X, y = stream(learner, K=3) if X is None else (X, y)
    m = _learn(learner, X, y)
    if not learner.draws:
        p = np.random.default_rng(0).permutation(X.shape[1])
        _close(_answers(m, X), _answers(_learn(learner, X[:, p], y), X[:, p]), "order law", "features permuted")
    named = getattr(learner, "cost", None) is not None  # costs go by name
    oriented = learner.oriented or any(getattr(part, "oriented", False) for part in m.model.params)
    if learner.task.labelled and not learner.oriented and not named:
        for K in (3,) if oriented else (2, 3):
            X, y = stream(learner, K=K)
            names = {v: f"class {-i}" for i, v in enumerate(dict.fromkeys(y.tolist()))}
            a, b = _learn(learner, X, y), _learn(learner, X, [names[v] for v in y.tolist()])
            free = np.abs(a.score_rows(a.check_rows(X))).max(1) > 1e-9  # ties go by the order of the names
            same = np.array([names[v] for v in a.predict(X).tolist()]) == b.predict(X)
            assert same[free].all(), f"order law: renaming {K} classes changes predictions"


def merge(learner: Learner, X: Any = None, y: Any = None) -> None:
    """Law 7: a learner keeps to the merge it declares ("exact", "approximate" or "none")."""
    X, y = stream(learner, K=3) if X is None else (X, y)
    k = len(y) // 2
    a, b, fresh = _learn(learner, X[:k], y[:k]), _learn(learner, X[k:], y[k:]), learner.clone()
    if learner.merging == "none":
        try:
            copy.deepcopy(a).merge(b)
        except TypeError:
            return
        raise AssertionError("merge law: declares no merge, and merges")
    before = _snapshot(a)
    _same(before, _snapshot(copy.deepcopy(a).merge(fresh)), "merge law", "with a learner that has learned nothing")
    _same(before, _snapshot(fresh.merge(a)), "merge law", "into a learner that has learned nothing")
    if learner.merging != "exact":  # which would learn every row twice
        _close(_answers(a, X), _answers(copy.deepcopy(a).merge(copy.deepcopy(a)), X), "merge law", "with itself", 1e-6)
    ab, ba = copy.deepcopy(a).merge(b), copy.deepcopy(b).merge(a)
    _close(_answers(ab, X), _answers(ba, X), "merge law", "in either order", 1e-6)
    assert ab.n_seen_ == len(y), "merge law: examples seen are not added"
    if learner.merging == "exact":
        _close(_answers(_learn(learner, X, y), X), _answers(ab, X), "merge law", "against one pass over both", 1e-9)
    _joins(learner, X, y)


def _joins(learner: Learner, X: np.ndarray, y: np.ndarray) -> None:
    """Check models that continued from a common one: nothing of it counts twice, however often they are joined."""
    rest = len(y) // 4
    base = _learn(learner, X[:rest], y[:rest])
    parts = [copy.deepcopy(base).partial_fit(X[i::4], y[i::4]) for i in range(4)]
    before = _snapshot(base)
    for length in (1.0, "sum"):
        _same(_snapshot(parts[1]), _snapshot(base.joined(parts[1:2], length)), "merge law", f"one part, length {length}")
        f, g = (_answers(base.joined(given, length), X) for given in (parts, parts[::-1]))
        _close(f, g, "merge law", f"parts in either order, length {length}", 1e-6)
    _same(before, _snapshot(base), "merge law", "of the model before the parts")
    m = base
    for k in range(20):
        starts = [(rest + 12 * k + 3 * i) % len(y) for i in range(4)]
        given = [slice(a, a + 3) for a in starts]
        seen = m.n_seen_ + sum(len(y[rows]) for rows in given)
        m = m.joined([copy.deepcopy(m).partial_fit(X[rows], y[rows]) for rows in given], 2.0 if k % 2 else 1.0)
        assert m.n_seen_ == seen, f"merge law: {m.n_seen_} examples seen after round {k + 1}, expected {seen}"
    bad = [k for k, a in m.model.arrays().items() if not np.isfinite(a).all()]
    assert not bad, f"merge law: {', '.join(bad)} not finite after 20 rounds"
    if learner.merging == "exact":
        order = np.concatenate([np.arange(rest), *(np.arange(i, len(y), 4) for i in range(4))])
        _close(_answers(_learn(learner, X[order], y[order]), X), _answers(base.joined(parts), X), "merge law", "joined", 1e-9)


def bad_input(learner: Learner, X: Any = None, y: Any = None) -> None:
    """Law 8a: bad input is a clear error that leaves the state as it was; a zero row without constant feature is a no-op."""
    X, y = stream(learner, K=3) if X is None else (X, y)
    m = _learn(learner, X, y)
    before = _snapshot(m)
    for what, args, row in _faults(learner, X, y):
        said = ""
        try:
            m.partial_fit(*args)
        except (ValueError, TypeError) as e:
            said = str(e)
        assert said, f"bad input law: {what}: no error"
        assert row is None or f"row {row}" in said, f"bad input law: {what}: the error does not name row {row}: {said}"
        _same(before, _snapshot(m), "bad input law", what)


def _faults(learner: Learner, X: np.ndarray, y: np.ndarray) -> list[tuple[str, tuple[Any, ...], int | None]]:
    Z, t = X[:5].copy(), y[:5]
    found: list[tuple[str, tuple[Any, ...], int | None]] = []
    for v in (np.nan, np.inf, -np.inf):
        B = Z.copy()
        B[3, 2] = v
        found += [
            (f"{v} in X", (B, t), 3),
            (f"{v} in sparse X", (csr_matrix(B), t), 3),
            (f"{v} in float32 X", (B.astype("f4"), t), 3),
        ]
        rows = [{j: float(v) for j, v in enumerate(r)} for r in B]
        found += [(f"{v} in a dict", (rows, list(t)), None)]
    found += [("wrong width", (Z[:, :-1], t), None), ("empty batch", (Z[:0], t[:0]), None), ("one dimension", (Z[0], t), None)]
    if learner.task.supervised:
        found += [("too few targets", (Z, t[:4]), None), ("no target", (Z, None), None)]
        found += [("NaN target", (Z, np.array([*t[:4], np.nan])), 4)]
    if learner.task.labelled:
        found += [("real labels", (Z, np.array([0.5, 1, 2, 1, 2])), 0), ("None label", (Z, [*t[:4].tolist(), None]), None)]
    return found


def noise(learner: Learner, n: int = 100_000, d: int = 8) -> None:
    """Law 8b: rounds of pure noise, some rows huge, tiny or zero, leave every number of the state finite."""
    n = n if learner.bounded else n // 50  # a history that grows with the updates takes quadratic time
    rng = np.random.default_rng(3)
    X = rng.standard_normal((n, d)) * np.exp(rng.normal(0.0, 2.0, (n, 1)))
    X[rng.random(n) < 0.01] = 0.0
    if learner.nonnegative:
        X = np.minimum(np.abs(X), 1.0)
    y = rng.integers(0, 3, n) if learner.task.labelled else rng.standard_normal(n)
    for targets in (y, y % 2) if learner.task.labelled else (y,):
        m = _learn(learner, X, targets)
        bad = [k for k, a in m.model.arrays().items() if not np.isfinite(a).all()]
        assert not bad, f"noise law: {', '.join(bad)} not finite after {n} rounds"
        assert np.isfinite(_answers(m, X[:100])).all(), "noise law: scores are not finite"


def bound(learner: Learner, X: Any = None, y: Any = None, u: Any = None) -> None:
    """Law 9: where a theorem bounds mistakes, updates, losses or regret against a comparator u, the measured figure is below it."""
    theorem = learner.algorithm.bound
    if theorem is None or getattr(learner, "kernel", None) is not None:  # its comparator is in the space of the kernel
        return
    cases = [(X, y, u)] if X is not None else [_comparable(learner, s, noisy) for s in range(4) for noisy in (False, True)]
    for X, y, u in cases:
        measured, promised = measure(learner, X, y, u)
        assert measured <= promised * (1.0 + 1e-9) + 1e-9, (
            f"bound law: {theorem.name}: measured {theorem.measures} {measured:g} above the bound {promised:g}"
        )


def measure(learner: Learner, X: np.ndarray, y: np.ndarray, u: np.ndarray) -> tuple[float, float]:
    """Return (what was measured, what the theorem promises against the comparator u) for one pass; infinity: no promise here."""
    m: Any = learner.clone()
    labelled, epsilon = learner.task.labelled, float(getattr(m, "epsilon", 0.0))
    given = {"classes": np.unique(y)} if labelled else {}
    f = m.learn_many(X, y, **given)
    p, theorem = m.model.params, learner.algorithm.bound
    Z = np.column_stack([X, np.ones(len(X))]) if m.model.features.bias else X
    assert isinstance(m.model.features, Columns)
    codes = np.searchsorted(np.unique(y), y) if labelled and len(np.unique(y)) != 2 else y
    t = bounds.compare(Z, codes, u, epsilon=epsilon, p=getattr(p, "p", 2.0))
    promised = float(theorem.value(t, p))
    rows = range(len(y))
    what = theorem.measures
    if what in ("mistakes", "updates"):
        return float(m.n_mistakes_ if what == "mistakes" else m.n_updates_), promised
    if what == "squared_outside":
        return float((np.maximum(0.0, -f) ** 2).sum()), promised
    if what == "squared_tube":
        return float((np.maximum(0.0, np.abs(y - f) - epsilon) ** 2).sum()), promised
    margins = y * f if f.ndim == 1 else _margins(f, codes)
    if what == "squared_hinge":
        return float((np.maximum(0.0, 1.0 - margins) ** 2).sum()), promised
    g = Z @ np.atleast_2d(u).T
    if not labelled:
        return sum(value(p.loss, f[i], y[i]) - value(p.loss, g[i, 0], y[i]) for i in rows), promised
    theirs = y * g[:, 0] if g.shape[1] == 1 else _margins(g, codes)
    return sum(value(p.loss, margins[i], 1.0) - value(p.loss, theirs[i], 1.0) for i in rows), promised


def _margins(f: np.ndarray, codes: np.ndarray) -> np.ndarray:
    at = np.arange(len(codes))
    true, rest = f[at, codes].copy(), f.copy()
    rest[at, codes] = -np.inf
    return true - rest.max(1)


def _comparable(learner: Learner, seed: int, noisy: bool, n: int = 400, d: int = 9) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows, targets and a comparator that suit the learner (simplex, disjunction, centre, ball)."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    u = rng.standard_normal(d)
    bias = int(has_bias(learner))
    if learner.nonnegative:
        X, u = (rng.random((n, d)) < 0.3).astype(float), (np.arange(d) < 2).astype(float)
        return X, np.where(u @ X.T >= 1.0, 1, -1), np.append(u, [0.0] * bias)
    if not learner.task.supervised:
        reach = learner.B or learner.epsilon
        return 0.9 * reach * X / np.linalg.norm(X, axis=1, keepdims=True) + u, np.ones(n), u
    if "U" in learner.defaults:
        u = learner.U * u / np.abs(u).sum()
    elif learner.name.startswith("eg"):
        u = np.abs(u) / np.abs(u).sum()
    elif getattr(learner, "projection", None) is not None:
        u = learner.radius * u / (np.linalg.norm(u) if learner.projection == "l2" else np.abs(u).sum())
    f = X @ u
    if not learner.task.labelled:
        return X, f + noisy * 0.3 * rng.standard_normal(n), np.append(u, [0.0] * bias)
    y = np.where(f + noisy * 0.3 * rng.standard_normal(n) >= 0.0, 1, -1)
    if not noisy and "U" not in learner.defaults and not learner.name.startswith("eg") and not getattr(learner, "projection", None):
        keep = np.abs(f) > 0.2 * np.linalg.norm(u)
        X, y, f = X[keep], y[keep], f[keep]
        u = u / np.abs(f).min()  # margin 1 on every row
    if learner.name == "eg":  # a row per class on the simplex
        v = np.abs(rng.standard_normal(d + bias))
        w = np.append(np.maximum(u, 0.0), [0.0] * bias)
        return X, y, np.array([v / v.sum(), w / w.sum()])
    return X, y, np.append(u, [0.0] * bias)


LAWS: dict[str, Callable[[Learner], None]] = {
    f.__name__: f for f in (chunk, layout, interpreted, resume, purity, order, merge, bad_input, noise, bound)
}


def run(learner: Learner) -> None:
    """Check a learner of rows against all the laws, on data made for it."""
    if not isinstance(learner, Learner):
        raise TypeError(
            f"the laws are for learners of rows and targets, got {learner!r}; docs/laws.md says what others are held to"
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # the interpreter warns where C arithmetic does not
        for law in LAWS.values():
            law(learner)
