"""Minimisers of quadratic models, by which a batch solver steps.

The model comes from the true Hessian, or from the last few steps and what they did to the slope (L-BFGS, in its compact form: Byrd,
Nocedal, Schnabel 1994). Within a Euclidean ball, or anywhere, its minimiser is exact. Where a part of the problem is not smooth
(an L1 ball, an L1 penalty), proximal gradients find out which weights are not 0, and the equations of these give their values.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from typing import Protocol

import numpy as np

from .row_sample import Chunk


class Memory:
    """What a solver has learned of the landscape, good on the whole stream as on a sample of it."""

    def __init__(self, u: np.ndarray, width: float, curvature: float, scale: np.ndarray | None = None) -> None:
        self.u, self.width, self.curvature = u, width, curvature
        self.scale = np.ones(u.size) if scale is None else scale  # curvature of each weight, relative to the largest
        self.widest = width  # the kinks of which the curvature is
        self.keep = 8 if u.size <= 1_000_000 else 4
        self.vectors = np.zeros((2 + 2 * self.keep, u.size))  # room for a point and its slope; steps; what they did to the slope
        self.order: deque[int] = deque(maxlen=self.keep)  # of the steps, the last one last
        self.rows: list[Chunk] | None = None  # a sample to step by, while the answers are those of the whole stream

    def note(self, s: np.ndarray, y: np.ndarray) -> None:
        """Keep a step and what it did to the gradient."""
        if float(s @ y) > 1e-10 * math.sqrt(float(s @ s) * float(y @ y)):
            place = self.order[0] if len(self.order) == self.keep else len(self.order)
            self.order.append(place)
            self.vectors[2 + place], self.vectors[2 + self.keep + place] = s, y

    def used(self) -> list[int]:
        """Return where the steps are, and then what they did."""
        return [*(2 + i for i in self.order), *(2 + self.keep + i for i in self.order)]


def length(v: np.ndarray) -> float:
    """Return the Euclidean length."""
    return float(np.linalg.norm(v))


def shorter(f0: float, fall: float, f1: float, slope: float) -> float:
    """Return the share of a step that was too long to try next: the minimiser of a cubic through values and slopes."""
    d = fall + slope - 3.0 * (f1 - f0)
    root = d * d - fall * slope
    if root < 0.0:
        return 0.5
    bottom = slope - fall + 2.0 * math.sqrt(root)
    return min(0.7, max(0.05, 1.0 - (slope + math.sqrt(root) - d) / bottom)) if bottom > 0.0 else 0.5


# ---- in a Euclidean ball, or anywhere --------------------------------------------------------------------------------
def _multiplier(length: Callable[[float], float], radius: float, scale: float) -> float:
    """Return the least multiplier >= 0 that brings the minimiser into the ball; its length falls as the multiplier grows."""
    if not math.isfinite(radius) or length(0.0) <= radius:
        return 0.0
    high = scale
    while length(high) > radius:
        high *= 10.0
    low = high
    while length(low) <= radius and low > 1e-18 * scale:
        low *= 0.1
    for _ in range(60):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if length(middle) > radius else (low, middle)
        if high <= low * (1.0 + 1e-12):
            break
    return high


def by_hessian(u: np.ndarray, g: np.ndarray, H: np.ndarray, damping: float, radius: float) -> np.ndarray:
    """Minimise g.(v - u) + (v - u)'H(v - u)/2 over |v| <= radius."""
    values, Q = np.linalg.eigh(H)
    values = np.maximum(values, 0.0) + damping
    wanted = values * (Q.T @ u) - Q.T @ g
    found = _multiplier(lambda m: length(wanted / (values + m)), radius, float(values.mean()))
    v: np.ndarray = Q @ (wanted / (values + found))
    return v


def _compact(k: int, G: np.ndarray) -> tuple[float, np.ndarray]:
    """Return sigma and M of B = sigma I - W M^-1 W', W = [sigma S, Y], from the inner products of S and Y."""
    SY = G[:k, k:]
    sigma = float(G[-1, -1] / SY[-1, -1])
    below = np.tril(SY, -1)
    return sigma, np.block([[sigma * G[:k, :k], below], [below.T, -np.diag(np.diag(SY))]])


def by_pairs(u: np.ndarray, g: np.ndarray, memory: Memory, radius: float) -> np.ndarray:
    """Do the same with B in place of H: all in the span of u, g, S and Y, by their inner products."""
    k, V = len(memory.order), memory.vectors
    V[0], V[1] = u, g
    used = [0, 1, *memory.used()]
    G = (V @ V.T)[np.ix_(used, used)]
    sigma, M = _compact(k, G[2:, 2:]) if k else (memory.curvature, np.zeros((0, 0)))
    W = np.zeros((2 + 2 * k, 2 * k))
    W[2 : 2 + k, :k], W[2 + k :, k:] = sigma * np.eye(k), np.eye(k)
    wanted = np.zeros(2 + 2 * k)
    wanted[:2] = sigma, -1.0
    if k:
        wanted -= W @ np.linalg.solve(M, W.T @ G[:, 0])
    WW, Ww = W.T @ G @ W, W.T @ G @ wanted

    def minimiser(m: float) -> np.ndarray:
        tau = sigma + m
        inner = W @ np.linalg.solve(M - WW / tau, Ww) / tau if k else 0.0
        v: np.ndarray = (wanted + inner) / tau
        return v

    def reached(m: float) -> float:
        v = minimiser(m)
        return math.sqrt(max(0.0, float(v @ G @ v)))

    shares = np.zeros(len(V))
    shares[used] = minimiser(_multiplier(reached, radius, sigma))
    v: np.ndarray = shares @ V
    return v


# ---- with a part that is not smooth ----------------------------------------------------------------------------------
class Full:
    """A matrix, and steps h that never overshoot: v'Bv <= sum h v^2."""

    def __init__(self, B: np.ndarray) -> None:
        self.B = B
        root = np.sqrt(np.diag(B))
        self.h = np.diag(B) * (1.001 * float(np.linalg.eigvalsh(B / np.outer(root, root))[-1]))

    def times(self, v: np.ndarray) -> np.ndarray:
        """Return B v."""
        Bv: np.ndarray = self.B @ v
        return Bv

    def solve(self, at: np.ndarray, sides: np.ndarray) -> np.ndarray:
        """Solve for the coordinates in `at` alone."""
        return np.linalg.solve(self.B[np.ix_(at, at)], sides)


class Pairs:
    """B = sigma E - W' M^-1 W of the steps in a memory, E its scale: weights of rare features may go further."""

    def __init__(self, memory: Memory) -> None:
        k, E = len(memory.order), memory.scale
        self.W = memory.vectors[memory.used()]
        root = np.sqrt(E)
        even = np.vstack([self.W[:k] * root, self.W[k:] / root])
        self.sigma: float
        self.M: np.ndarray
        self.sigma, self.M = _compact(k, even @ even.T) if k else (memory.curvature, np.zeros((0, 0)))
        self.W[:k] *= self.sigma * E
        self.D = self.sigma * E
        top = np.linalg.eigvals(-np.linalg.solve(self.M, (self.W / E) @ self.W.T)).real.max(initial=0.0) if k else 0.0
        self.h = 1.001 * (self.sigma + max(0.0, float(top))) * E

    def times(self, v: np.ndarray) -> np.ndarray:
        """Return B v."""
        Bv: np.ndarray = self.D * v - np.linalg.solve(self.M, self.W @ v) @ self.W
        return Bv

    def solve(self, at: np.ndarray, sides: np.ndarray) -> np.ndarray:
        """Solve for the coordinates in `at` alone, by the formula of Woodbury."""
        W, D = self.W[:, at], self.D[at][:, None]
        even = sides / D
        found: np.ndarray = even + (W.T @ np.linalg.solve(self.M - (W / D.T) @ W.T, W @ even)) / D
        return found


class Rough(Protocol):
    """The part that is not smooth: signs of weights cost, except those of some that are free."""

    free: np.ndarray

    def prox(self, z: np.ndarray, h: np.ndarray) -> np.ndarray:
        """Minimise sum h (v - z)^2/2 plus this part."""

    def multiplier(self, s: np.ndarray, p: np.ndarray, q: np.ndarray) -> float:
        """Return the theta with which p - theta q is the minimiser among weights of signs s."""


def rough_minimiser(B: Full | Pairs, c: np.ndarray, psi: Rough, v: np.ndarray, rounds: int = 300) -> np.ndarray:
    """Minimise v'Bv/2 - c.v + psi(v): accelerated proximal gradients (Beck, Teboulle 2009), and every tenth time the equations."""
    z = v
    Bv = Bz = B.times(v)
    t = 1.0
    for k in range(1, rounds + 1):
        new = psi.prox(z - (Bz - c) / B.h, B.h)
        if k % 10 == 0:
            new, done = _settled(B, c, psi, new)
            if done:
                return new
        Bnew = B.times(new)
        again = 0.5 + math.sqrt(0.25 + t * t)
        rising = k % 10 == 0 or float(B.h * (z - new) @ (new - v)) > 0.0
        push, t = (0.0, 1.0) if rising else ((t - 1.0) / again, again)
        z, Bz = new + push * (new - v), Bnew + push * (Bnew - Bv)
        v, Bv = new, Bnew
    return v


def _settled(B: Full | Pairs, c: np.ndarray, psi: Rough, v: np.ndarray, turns: int = 10) -> tuple[np.ndarray, bool]:
    """Go to the minimiser among weights of the same signs, leaving out those that reach 0 on the way; say whether it is the end."""
    theta = math.inf
    for _ in range(turns):
        s = np.sign(v)
        s[psi.free] = 0.0
        at = s != 0.0
        at[psi.free] = True
        p, q = B.solve(at, np.column_stack([c[at], s[at]])).T
        theta = psi.multiplier(s[at], p, q)
        goal = np.zeros_like(v)
        goal[at] = p - theta * q
        crossed = np.flatnonzero((s != 0.0) & (goal * s <= 0.0))
        if len(crossed) == 0:
            slope = np.abs(c - B.times(goal))
            return goal, bool((slope[~at] <= theta * (1.0 + 1e-9) + 1e-12 * np.abs(c).max(initial=0.0)).all())
        share = v[crossed] / (v[crossed] - goal[crossed])
        first = int(np.argmin(share))
        v = v + share[first] * (goal - v)
        v[crossed[share <= share[first]]] = 0.0
    return v, False
