"""Names of features in arrays that compiled code can search and extend: bytes in one pool, places by an open table of hashes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ..engine.compiling import compiled
from ..engine.words import rare
from ..inputs.hashing import hash_all, murmur


class Store(NamedTuple):
    """Names by number: name k is pool[ends[k]:ends[k + 1]]; slots hold numbers, -1 where empty."""

    pool: Any
    ends: Any
    hashes: Any
    slots: Any
    size: Any  # [names]


def slot_of(store, b, lo, hi, h):
    """Return where a name is among the slots, or the empty slot where it would go."""
    mask = np.int64(store.slots.shape[0] - 1)
    at = h & mask
    while True:
        k = np.int64(store.slots[at])
        if k < 0:
            return at
        start = store.ends[k]
        if np.int64(store.hashes[k]) == h and store.ends[k + 1] - start == hi - lo:
            i = np.int64(0)
            while i < hi - lo and store.pool[start + i] == b[lo + i]:
                i += 1
            if i == hi - lo:
                return at
        at = (at + 1) & mask


def join(store, b, lo, hi, h, at):
    """Give a new name the next number; return it, or -2 where there is no room."""
    k = store.size[0]
    start = store.ends[k]
    if 2 * (k + 1) > store.slots.shape[0] or k + 1 >= store.ends.shape[0] or start + hi - lo > store.pool.shape[0]:
        return np.int64(-2)
    for i in range(hi - lo):
        store.pool[start + i] = b[lo + i]
    store.ends[k + 1] = start + hi - lo
    store.hashes[k] = h
    store.slots[at] = k
    store.size[0] = k + 1
    return np.int64(k)


def find(store, b, lo, hi, learn, bits, limit):
    """Return the number of a name: new ones join when learning; -1 is left out, -2 asks for room.

    With bits, the number is the hash folded, and the table only remembers: at most `limit` names.
    """
    h = murmur(b, lo, hi)
    if bits >= 0:
        if learn and store.size[0] < limit:
            at = slot_of(store, b, lo, hi, h)
            if store.slots[at] < 0 and join(store, b, lo, hi, h, at) < 0:
                return np.int64(-2)
        return h & ((np.int64(1) << bits) - 1)
    at = slot_of(store, b, lo, hi, h)
    if store.slots[at] >= 0 or not learn:
        return np.int64(store.slots[at])
    return join(store, b, lo, hi, h, at)


@rare
def rebuild(hashes, count, slots):
    """Fill the slots again."""
    mask = np.int64(slots.shape[0] - 1)
    slots[:] = -1
    for k in range(count):
        at = np.int64(hashes[k]) & mask
        while slots[at] >= 0:
            at = (at + 1) & mask
        slots[at] = k


def empty(names: int = 64, size: int = 2048) -> Store:
    """Return a store without names."""
    pool, ends = np.zeros(size, np.uint8), np.zeros(names + 1, np.int64)
    return Store(pool, ends, np.zeros(names, np.uint32), np.full(2 * names, -1, np.int32), np.zeros(1, np.int64))


def count(store: Store) -> int:
    """Return how many names there are."""
    return int(store.size[0])


def wider(store: Store) -> Store:
    """Return the store with twice the room."""
    n = 2 * len(store.hashes)
    pool = np.zeros(2 * len(store.pool), np.uint8)
    ends, hashes = np.zeros(n + 1, np.int64), np.zeros(n, np.uint32)
    for new, old in ((pool, store.pool), (ends, store.ends), (hashes, store.hashes)):
        new[: len(old)] = old
    slots = np.empty(2 * n, np.int32)
    compiled(rebuild)(hashes, count(store), slots)
    return Store(pool, ends, hashes, slots, store.size)


def cut(store: Store, names: int) -> None:
    """Forget all but the first `names` names."""
    if count(store) > names:
        store.size[0] = names
        compiled(rebuild)(store.hashes, names, store.slots)


def texts(store: Store, a: int = 0) -> list[str]:
    """Return the names from number a on."""
    n = count(store)
    pool = store.pool[: int(store.ends[n])].tobytes()
    ends = store.ends[a : n + 1].tolist()
    return [pool[i:j].decode("utf-8", "surrogatepass") for i, j in pairwise(ends)]


def tensors(store: Store) -> dict[str, np.ndarray]:
    """Return the names as arrays for a file."""
    n = count(store)
    return {"pool": store.pool[: int(store.ends[n])].copy(), "ends": store.ends[: n + 1].copy()}


def restored(pool: np.ndarray, ends: np.ndarray) -> Store:
    """Return the store of these names; an error when the arrays do not fit together."""
    sound = pool.dtype == np.uint8 and ends.dtype == np.int64 and pool.ndim == ends.ndim == 1 and len(ends) >= 1
    if not sound or ends[0] != 0 or (np.diff(ends) < 0).any() or ends[-1] != len(pool):
        raise ValueError("expected names as bytes and where each of them ends, found arrays that do not fit together")
    n, room, size = len(ends) - 1, 64, 2048
    while room <= n:
        room *= 2
    while size < len(pool):
        size *= 2
    store = empty(room, size)
    store.pool[: len(pool)] = pool
    store.ends[: n + 1] = ends
    compiled(hash_all)(store.pool, store.ends, n, store.hashes)
    store.size[0] = n
    compiled(rebuild)(store.hashes, n, store.slots)
    return store


def of(names: Sequence[str]) -> Store:
    """Return the store of these names."""
    data = [name.encode("utf-8", "surrogatepass") for name in names]
    return restored(np.frombuffer(b"".join(data), np.uint8), np.cumsum([0, *map(len, data)]))


def join_all(store, other, k, numbers):
    """Give the names of another store numbers here, from its k-th on; return how many are done when there is no more room."""
    for i in range(k, numbers.shape[0]):
        lo, hi = other.ends[i], other.ends[i + 1]
        number = find(store, other.pool, lo, hi, 1, -1, 0)
        if number == -2:
            return i
        numbers[i] = number
    return numbers.shape[0]
