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
    if v > 0.0 and u < 1.0 - 0.0331 * (x * x) * (x * x):
        return v
    if v > 0.0 and log(u) < 0.5 * x * x + d * (1.0 - v + log(v)):
        return v
    return 0.0


@strict
def two_gammas(seed, word, k, shape):
    """Return gamma variables of mean 1 for topics 2k and 2k + 1: the first of their draws that are accepted."""
    d, one, other, again = shape - 1.0 / 3.0, 0.0, 0.0, 0
    while one == 0.0 or other == 0.0:
        u, v = two(seed, NORMALS, word, k, again)
        x, y = two_normals(u, v)
        u, v = two(seed, CHANCES, word, k, again)
        one = accepted(x, u, d) if one == 0.0 else one
        other = accepted(y, v, d) if other == 0.0 else other
        again += 1
    return one * d / shape, other * d / shape


def two_exponentials(seed, word, k):
    """Return exponential variables for topics 2k and 2k + 1."""
    u, v = two(seed, CHANCES, word, k, 0)
    return -log(u), -log(v)


@strict
def draw_word(row, word, eta, seed, shape, size):
    """Begin a word: lambda is a gamma variable of this shape and mean or, at shape 1, eta and an exponential one."""
    for k in range(0, row.shape[0], 2):
        if shape > 1.0:
            one, other = two_gammas(seed, word, k >> 1, shape)
            one, other = size * one - eta, size * other - eta
        else:
            one, other = two_exponentials(seed, word, k >> 1)
            one, other = size * one, size * other
        row[k] = one
        if k + 1 < row.shape[0]:
            row[k + 1] = other


@strict
def draw_words(Lam, total, words, eta, seed, shape, size):
    """Begin the words that are at 0."""
    for i in range(words.shape[0]):
        row = Lam[words[i]]
        if row[0] == 0.0:
            draw_word(row, words[i], eta, seed, shape, size)
            for k in range(row.shape[0]):
                total[k] += row[k]
