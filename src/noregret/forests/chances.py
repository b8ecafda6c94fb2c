"""The draws of a forest: functions of the seed, the row, the tree, the depth and the column, never of what was drawn before."""

from __future__ import annotations

from ..engine.philox import MASK, philox, units

CUTS, RACE, CHOICE = 4, 5, 6  # what is drawn: time and place of a cut; which column it is on; the columns that a tree looks at


def chances(seed, t, tree, depth, key, what):
    """Return two numbers in (0, 1)."""
    a, b, c, d = philox(t & MASK, (tree << 20) + depth, key & MASK, what + ((t >> 32) << 8), seed & MASK, (seed >> 32) & MASK)
    return units(a, b, c, d)


def first_chances(seed, keys, out):
    """Write the first number of each tree and column, by which a tree chooses the columns it looks at."""
    for m in range(out.shape[0]):
        for j in range(out.shape[1]):
            u, _ = chances(seed, 0, m, 0, keys[j], CHOICE)
            out[m, j] = u
