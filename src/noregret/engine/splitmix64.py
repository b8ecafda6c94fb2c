"""Splitmix64 (Steele, Lea, Flood 2014): random bits from whole numbers, the same interpreted and compiled."""

from __future__ import annotations

import numpy as np

STRIDE, MIX, REMIX = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
LEFT, MIDDLE, RIGHT = np.uint64(30), np.uint64(27), np.uint64(31)


def mixed(z: np.uint64) -> np.uint64:
    """Return the bits of z well mixed. The generator adds STRIDE to z before each call."""
    z = (z ^ (z >> LEFT)) * MIX
    z = (z ^ (z >> MIDDLE)) * REMIX
    return z ^ (z >> RIGHT)
