"""Philox4x32-10 (Salmon, Moraes, Dror, Shaw 2011): random bits as a function of a counter and a key, without a state to keep."""

from __future__ import annotations

from typing import Any

MASK = 0xFFFFFFFF


def philox(a: Any, b: Any, c: Any, d: Any, k: Any, m: Any) -> tuple[Any, Any, Any, Any]:
    """Return the counter (a, b, c, d), stirred ten times with the key (k, m): four numbers of 32 bits."""
    for _ in range(10):
        p, q = a * 0xD2511F53, c * 0xCD9E8D57  # only 64 bits of these matter
        a, b, c, d = ((q >> 32) & MASK) ^ b ^ k, q & MASK, ((p >> 32) & MASK) ^ d ^ m, p & MASK
        k, m = (k + 0x9E3779B9) & MASK, (m + 0xBB67AE85) & MASK
    return a, b, c, d


def units(a: Any, b: Any, c: Any, d: Any) -> tuple[float, float]:
    """Return four numbers of 32 bits as two numbers in (0, 1), neither 0 nor 1."""
    return (((a << 20) | (b >> 12)) + 0.5) / 4503599627370496.0, (((c << 20) | (d >> 12)) + 0.5) / 4503599627370496.0
