"""Stable hashing of feature names: 32-bit MurmurHash3, the same in every process, on every machine, and in Vowpal Wabbit."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import accumulate
from typing import Any

import numpy as np

from . import engine

MASK = 0xFFFFFFFF


def murmur3(key: bytes, seed: int = 0) -> int:
    """Return MurmurHash3 (x86, 32 bit) of the bytes."""
    h = seed
    whole = len(key) & ~3
    for i in range(0, whole, 4):
        k = int.from_bytes(key[i : i + 4], "little") * 0xCC9E2D51 & MASK
        k = (k << 15 | k >> 17) * 0x1B873593 & MASK
        h ^= k
        h = ((h << 13 | h >> 19) & MASK) * 5 + 0xE6546B64 & MASK
    if len(key) > whole:
        k = int.from_bytes(key[whole:], "little") * 0xCC9E2D51 & MASK
        h ^= (k << 15 | k >> 17) * 0x1B873593 & MASK
    h ^= len(key)
    h = (h ^ h >> 16) * 0x85EBCA6B & MASK
    h = (h ^ h >> 13) * 0xC2B2AE35 & MASK
    return h ^ h >> 16


def hash_name(name: Any) -> int:
    """Return the hash of a feature name; a whole number is its own hash, as column numbers are, and equal names hash alike."""
    if isinstance(name, np.generic):
        name = name.item()
    if isinstance(name, float) and name.is_integer():
        name = int(name)
    if isinstance(name, int):
        return name & MASK
    return murmur3(name if isinstance(name, bytes) else str(name).encode() if isinstance(name, str) else repr(name).encode())


# ---- many at once, compiled ------------------------------------------------------------------------------------------
def murmur(b, lo, hi):
    """Return MurmurHash3 (x86, 32 bit) of b[lo:hi]."""
    h = np.int64(0)
    n = hi - lo
    whole = lo + (n & ~3)
    for i in range(lo, whole, 4):
        k = np.int64(b[i]) | np.int64(b[i + 1]) << 8 | np.int64(b[i + 2]) << 16 | np.int64(b[i + 3]) << 24
        h ^= mixed(k)
        h = (h << 13 | h >> 19) & MASK
        h = (h * 5 + 0xE6546B64) & MASK
    if whole < hi:
        k = np.int64(0)
        for i in range(hi - 1, whole - 1, -1):
            k = k << 8 | np.int64(b[i])
        h ^= mixed(k)
    h ^= n
    h = ((h ^ h >> 16) * 0x85EBCA6B) & MASK
    h = ((h ^ h >> 13) * 0xC2B2AE35) & MASK
    return h ^ h >> 16


def mixed(k):
    """Return four bytes stirred."""
    k = (k * 0xCC9E2D51) & MASK
    k = (k << 15 | k >> 17) & MASK
    return (k * 0x1B873593) & MASK


def hash_all(pool, ends, n, hashes):
    """Hash n names, of which the k-th is pool[ends[k]:ends[k + 1]]."""
    for k in range(n):
        hashes[k] = murmur(pool, ends[k], ends[k + 1])


@cache
def _hasher() -> Any:
    return engine.compiled(hash_all)


def hash_names(names: Sequence[Any]) -> np.ndarray:
    """Return the hashes of several names."""
    if len(names) < 2 or engine.interpreting() or not all(type(name) is str for name in names):
        return np.array([hash_name(name) for name in names], np.int64)
    texts = [name.encode() for name in names]
    ends = np.fromiter(accumulate(map(len, texts), initial=0), np.int64, len(texts) + 1)
    hashes = np.empty(len(texts), np.int64)
    _hasher()(np.frombuffer(b"".join(texts), np.uint8), ends, len(texts), hashes)
    return hashes
