"""One forecast of many: their log probabilities, added up with weights that are learned (a logarithmic opinion pool)."""

from __future__ import annotations

import numpy as np

from ..engine.compiling import compiled
from ..engine.elementary import exp, log
from ..engine.words import strict
from ..files.json_values import Tensors, expect, refill
from .platt import LEAST

Array = np.ndarray
START = 5.0  # of the curvature, before any row: as if five rows of slope 1 had been seen


class Combination:
    """p_c ~ exp(sum_k w_k ln p_kc) of K forecasters, the weights by online Newton steps: A += g g', w -= A^-1 g.

    g_k = sum_c p_c ln p_kc - ln p_ky is the slope of the log loss, which is exp-concave in w: Newton steps have a regret of
    O(K ln T) against the best weights in hindsight (Hazan, Agarwal, Kale 2007), with a ball and a step size that are not used here.
    A combination may be better than all it combines: two forecasters that know different things add up.
    """

    def __init__(self, size: int) -> None:
        self.w, self.inverse = np.full(size, 1.0 / size), np.eye(size) / START

    def follow(self, P: Array, y: Array, c: Array, awake: Array) -> Array:
        """Return the probabilities of rows (n, classes), from before each is learned, given P (n, K, classes) and codes y."""
        out = np.empty((P.shape[0], P.shape[2]))
        work = np.empty(P.shape[1:]), np.empty(P.shape[1]), np.empty(P.shape[1])
        compiled(combine)(P, y, c, awake, self.w, self.inverse, *work, out)
        return out

    def forecast(self, P: Array, awake: Array) -> Array:
        """Return the probabilities of rows; nothing changes."""
        return self.follow(P, np.zeros(len(P), np.int64), np.zeros(len(P)), awake)

    def arrays(self) -> dict[str, Array]:
        """Return every array of the state, by name."""
        return {"w": self.w, "inverse": self.inverse}

    def restore(self, tensors: Tensors) -> None:
        """Take the state from a file, every number of it checked."""
        refill(self.arrays(), tensors)
        expect(bool((np.diagonal(self.inverse) > 0.0).all()), "a positive curvature", self.inverse)


@strict
def combine(P: Array, y: Array, c: Array, awake: Array, w: Array, inverse: Array, L: Array, g: Array, v: Array, out: Array) -> None:
    """Write the combination of each row's forecasts, then learn from it what came, unless nobody thought it possible."""
    for i in range(P.shape[0]):
        mix(P[i], awake, w, L, out[i])
        if c[i] > 0.0 and y[i] < P.shape[2] and out[i, y[i]] > 0.0:
            step(L, out[i], y[i], c[i], awake, w, inverse, g, v)


@strict
def mix(P: Array, awake: Array, w: Array, L: Array, p: Array) -> None:
    """Write p_c ~ exp(sum_k w_k ln p_kc), 0 where nobody awake gives a class a chance, and the logarithms into L."""
    K, C = P.shape
    top, total = -np.inf, 0.0
    for j in range(C):
        p[j] = 0.0
    for k in range(K):
        if awake[k]:
            for j in range(C):
                L[k, j] = log(max(P[k, j], LEAST))
                p[j] += w[k] * L[k, j]
        else:
            L[k] = 0.0
    for j in range(C):
        p[j] = p[j] if possible(P, awake, j) else -np.inf
        top = max(top, p[j])
    for j in range(C):
        p[j] = exp(p[j] - top) if p[j] > -np.inf else 0.0
        total += p[j]
    for j in range(C):
        p[j] = p[j] / total if total > 0.0 else 0.0


@strict
def possible(P: Array, awake: Array, j: int) -> bool:
    """Return whether anybody awake gives a class a chance."""
    found = False
    for k in range(P.shape[0]):
        found = found or (awake[k] and P[k, j] > 0.0)
    return found


@strict
def step(L: Array, p: Array, y: int, c: float, awake: Array, w: Array, inverse: Array, g: Array, v: Array) -> None:
    """Do A += c g g', w -= c A^-1 g, with A^-1 by Sherman and Morrison; those asleep have slope 0."""
    K, C = L.shape
    for k in range(K):
        g[k] = 0.0
        if awake[k]:
            g[k] = -L[k, y]
            for j in range(C):
                g[k] += p[j] * L[k, j]
    size = 0.0
    for k in range(K):
        v[k] = 0.0
        for m in range(K):
            v[k] += inverse[k, m] * g[m]
        size += g[k] * v[k]
    for k in range(K):
        w[k] -= c * v[k] / (1.0 + c * size)
        for m in range(K):
            inverse[k, m] -= c * v[k] * v[m] / (1.0 + c * size)
