"""Stable hashing of feature names: 32-bit MurmurHash3, the same in every process, on every machine, and in Vowpal Wabbit."""

from __future__ import annotations

from typing import Any

import numpy as np

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


# ---- the same, for compiled code ------------------------------------------------------------------------------------------
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
