"""Random starts of topics, drawn by counter: a function of the seed, the word and the topic, never of what was drawn before."""

from __future__ import annotations

import math

from ..engine.elementary import log, sine_cosine
from ..engine.philox import MASK, philox, units
from ..engine.words import strict

NORMALS, CHANCES = 8, 9  # what is drawn


def two(seed, what, word, k, again):
    """Return two numbers in (0, 1)."""
    a, b, c, d = philox(k, what + (again << 8), word & MASK, word >> 32, seed & MASK, (seed >> 32) & MASK)
    return units(a, b, c, d)


def two_normals(u, v):
    """Return two normal variables (Box, Muller 1958)."""
    r = math.sqrt(-2.0 * log(u))
    s, c = sine_cosine(2.0 * math.pi * v)
    return r * c, r * s


def accepted(x, u, d):
    """Return a gamma variable of shape d + 1/3 over d, made of a normal one, or 0 if it is rejected (Marsaglia, Tsang 2000)."""
    v = 1.0 + x / math.sqrt(9.0 * d)
    v = v * v * v
    if v > 0.0 and log(u) < 0.5 * x * x + d * (1.0 - v + log(v)):
        return v
    return 0.0


@strict
def gamma_of(seed, word, k, shape):
    """Return a gamma variable of mean 1: the first of the draws of this topic that is accepted."""
    d, found, again = shape - 1.0 / 3.0, 0.0, 0
    while found == 0.0:
        u, v = two(seed, NORMALS, word, k, again)
        x, _ = two_normals(u, v)
        chance, _ = two(seed, CHANCES, word, k, again)
        found = accepted(x, chance, d)
        again += 1
    return found * d / shape


@strict
def draw_words(Lam, total, words, eta, seed, shape, size):
    """Begin words that are at 0: lambda is a gamma variable of this shape and mean, or, at shape 1, eta and an exponential one."""
    for i in range(words.shape[0]):
        row = Lam[words[i]]
        if row[0] == 0.0:
            for k in range(row.shape[0]):
                if shape > 1.0:
                    row[k] = size * gamma_of(seed, words[i], k, shape) - eta
                else:
                    u, _ = two(seed, CHANCES, words[i], k, 0)
                    row[k] = -size * log(u)
                total[k] += row[k]
