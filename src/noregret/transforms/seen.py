"""Names that texts gave, and how often, so that rare ones are held back."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np

from . import names as stores

Mark = tuple[int, np.ndarray]


class Seen(NamedTuple):
    """Names, and how often each was met; counting ends where a name becomes a feature."""

    names: stores.Store
    counts: Any  # with room for as many as `names` has room for


def empty() -> Seen:
    """Return that none was met."""
    return of(stores.empty(), np.zeros(0, np.int32))


def of(names: stores.Store, counts: np.ndarray) -> Seen:
    """Return names with their counts; an error when these do not fit together."""
    if counts.shape != (stores.count(names),) or counts.dtype != np.int32 or (counts < 0).any():
        raise ValueError("expected how often each name was met, found an array that does not fit the names")
    room = np.zeros(len(names.hashes), np.int32)
    room[: len(counts)] = counts
    return Seen(names, room)


def wider(seen: Seen) -> Seen:
    """Return them with twice the room."""
    names = stores.wider(seen.names)
    return Seen(names, np.concatenate([seen.counts, np.zeros(len(names.hashes) - len(seen.counts), np.int32)]))


def mark(seen: Seen) -> Mark:
    """Return what to go back to."""
    n = stores.count(seen.names)
    return n, seen.counts[:n].copy()


def back(seen: Seen, mark: Mark) -> None:
    """Go back to it."""
    n, counts = mark
    stores.cut(seen.names, n)
    seen.counts[:n], seen.counts[n:] = counts, 0


def merged(a: Seen, b: Seen, times: int, least: int, features: Collection[str]) -> Seen:
    """Return names with the counts of both, b's `times` times; those that are features stay so."""
    met = dict(zip(stores.texts(a.names), a.counts.tolist(), strict=False))
    for name, count in zip(stores.texts(b.names), b.counts.tolist(), strict=False):
        met[name] = max(0, min(met.get(name, 0) + times * count, least))
    met |= {name: least for name in features if name in met}
    return of(stores.of(list(met)), np.array(list(met.values()), np.int32))


def tensors(seen: Seen) -> dict[str, np.ndarray]:
    """Return them as arrays for a file."""
    found = {f"seen.{k}": v for k, v in stores.tensors(seen.names).items()}
    return {**found, "seen.counts": mark(seen)[1]}
