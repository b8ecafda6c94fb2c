"""Stable hashing of feature names: 32-bit MurmurHash3, the same in every process, on every machine, and in Vowpal Wabbit."""

from __future__ import annotations

from typing import Any

import numpy as np

MASK = 0xFFFFFFFF
HALF = np.uint64(MASK)


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
def mixed(k):
    """Return up to four bytes as they enter the hash."""
    k = (k * np.uint64(0xCC9E2D51)) & HALF
    return ((k << np.uint64(15) | k >> np.uint64(17)) * np.uint64(0x1B873593)) & HALF


def stirred(h, k):
    """Return the hash so far with four more bytes in it."""
    h ^= mixed(k)
    return ((h << np.uint64(13) | h >> np.uint64(19)) * np.uint64(5) + np.uint64(0xE6546B64)) & HALF


def finished(h, k, n):
    """Return the hash of n bytes, given that of all fours of them and the bytes that are left, 0 where none is."""
    h ^= mixed(k) ^ np.uint64(n)
    h = ((h ^ h >> np.uint64(16)) * np.uint64(0x85EBCA6B)) & HALF
    h = ((h ^ h >> np.uint64(13)) * np.uint64(0xC2B2AE35)) & HALF
    return h ^ h >> np.uint64(16)


def murmur(b, lo, hi):
    """Return MurmurHash3 (x86, 32 bit) of b[lo:hi]."""
    h, left = np.uint64(0), np.uint64(0)
    whole = lo + ((hi - lo) & ~3)
    for i in range(lo, whole, 4):
        k = np.int64(b[i]) | np.int64(b[i + 1]) << 8 | np.int64(b[i + 2]) << 16 | np.int64(b[i + 3]) << 24
        h = stirred(h, np.uint64(k))
    for i in range(hi - 1, whole - 1, -1):
        left = left << np.uint64(8) | np.uint64(b[i])
    return np.int64(finished(h, left, hi - lo))


def hash_all(pool, ends, n, hashes):
    """Hash n names, of which the k-th is pool[ends[k]:ends[k + 1]]."""
    for k in range(n):
        hashes[k] = murmur(pool, ends[k], ends[k + 1])
