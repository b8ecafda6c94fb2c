"""What keeps a batch model small: a ball it may not leave, or a penalty it pays; and the lower bound that follows from it.

To the loss L(u) is added Psi(u): 0 within a ball and infinite outside, or l2/2 |w|^2 + l1 |w|_1 for the weights w without the
intercepts. Dual variables give L(u) >= dual + g.u for every u, so that L + Psi >= dual - conjugate(g) everywhere, where

    conjugate(g) = max_u -g.u - Psi(u) = r |g|_2 | r |g|_inf | sum_j max(0, |g_j| - l1)^2 / (2 l2)

for the L2 ball, the L1 ball and the penalty. A penalty alone leaves this infinite for the intercepts, and for the weights when l2
is 0; but the best model costs no more than one that is known, so it lies within bounds that are known, and the maximum is taken
within them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .quadratic_models import Full, Memory, Pairs, by_hessian, by_pairs, length, rough_minimiser


class Regularizer:
    """Psi; vectors are flat."""

    bounded = True  # whether the conjugate is finite
    free = np.empty(0, np.intp)  # where the intercepts are, if they are not a part of it

    def value(self, u: np.ndarray) -> float:
        """Return the part of Psi(u) that is not smooth; what is outside a ball is never asked about."""
        return 0.0

    def bend(self, answer: Any) -> None:
        """Add the part of Psi that is smooth to the sums over a pass."""

    def learn(self, upper: float) -> None:
        """Note that the best model costs no more than this."""

    def inside(self, u: np.ndarray) -> np.ndarray:
        """Return u, pulled back into the ball if it is outside."""
        return u

    def conjugate(self, g: np.ndarray) -> float:
        """Return max_u -g.u - Psi(u)."""
        raise NotImplementedError

    def missing(self, u: np.ndarray, g: np.ndarray) -> float:
        """Return how far u is from the minimum of a function with the slope g there: a bound, or only a measure."""
        return float(g @ u) + self.conjugate(g)

    def by_hessian(self, u: np.ndarray, g: np.ndarray, H: np.ndarray, damping: float) -> np.ndarray:
        """Minimise the quadratic model at u plus Psi."""
        B = H + damping * np.eye(len(u))
        return rough_minimiser(Full(B), B @ u - g, self, u)

    def by_pairs(self, u: np.ndarray, g: np.ndarray, memory: Memory) -> np.ndarray:
        """Do the same by the last steps in place of the Hessian."""
        B = Pairs(memory)
        return rough_minimiser(B, B.times(u) - g, self, u, 100)

    def prox(self, z: np.ndarray, h: np.ndarray) -> np.ndarray:
        """Return the v with the least sum h (v - z)^2/2 plus the part of Psi that is not smooth."""
        raise NotImplementedError

    def multiplier(self, s: np.ndarray, p: np.ndarray, q: np.ndarray) -> float:
        """Return the theta with which p - theta q is the minimiser among weights of signs s."""
        raise NotImplementedError

    def mixture(self, g: np.ndarray, b: np.ndarray, newest: int) -> np.ndarray:
        """Return the shares of bounds b_k + g_k.u that bound well together.

        From the best of them, and from the newest, each of the others in its turn is mixed in as far as that helps.
        """
        each = [float(bk) - self.conjugate(gk) for bk, gk in zip(b, g, strict=True)]
        found = [self._mixed(g, b, i, each[i]) for i in {int(np.argmax(each)), newest}]
        return max(found, key=lambda f: f[0])[1]

    def _mixed(self, g: np.ndarray, b: np.ndarray, first: int, bound: float) -> tuple[float, np.ndarray]:
        mix = np.eye(len(b))[first]
        front, dual = g[first], float(b[first])
        for k in range(len(b)):
            ahead, more = g[k] - front, float(b[k]) - dual

            def mixed(t: float, front: Any = front, ahead: Any = ahead, dual: float = dual, more: float = more) -> float:
                return dual + t * more - self.conjugate(front + t * ahead)

            t = peak(mixed) if k != first and mixed(1e-6) > bound else 0.0
            if t > 0.0 and (value := mixed(t)) > bound:
                front, dual, bound = front + t * ahead, dual + t * more, value
                mix *= 1.0 - t
                mix[k] += t
        return bound, mix


def peak(f: Callable[[float], float], rounds: int = 40) -> float:
    """Return where a concave function on [0, 1] is largest, by the golden section."""
    share = (math.sqrt(5.0) - 1.0) / 2.0
    a, b = 0.0, 1.0
    x, y = 1.0 - share, share
    fx, fy = f(x), f(y)
    for _ in range(rounds):
        if fx > fy:
            b, y, fy = y, x, fx
            x = b - share * (b - a)
            fx = f(x)
        else:
            a, x, fx = x, y, fy
            y = a + share * (b - a)
            fy = f(y)
    return x if fx > fy else y


class L2(Regularizer):
    """The ball |u|_2 <= radius."""

    def __init__(self, radius: float) -> None:
        self.radius, self.bounded = radius, math.isfinite(radius)

    def inside(self, u: np.ndarray) -> np.ndarray:
        """Return u, pulled back into the ball if it is outside."""
        size = length(u)
        return u if size <= self.radius else u * (self.radius / size)

    def conjugate(self, g: np.ndarray) -> float:
        """Return r |g|."""
        return self.radius * length(g)

    def missing(self, u: np.ndarray, g: np.ndarray) -> float:
        """Return r |g| + g.u, or |g| without a ball."""
        return super().missing(u, g) if self.bounded else length(g)

    def by_hessian(self, u: np.ndarray, g: np.ndarray, H: np.ndarray, damping: float) -> np.ndarray:
        """Minimise the quadratic model at u within the ball."""
        return self.inside(by_hessian(u, g, H, damping, self.radius))

    def by_pairs(self, u: np.ndarray, g: np.ndarray, memory: Memory) -> np.ndarray:
        """Do the same by the last steps in place of the Hessian."""
        return self.inside(by_pairs(u, g, memory, self.radius))

    def mixture(self, g: np.ndarray, b: np.ndarray, newest: int, rounds: int = 200) -> np.ndarray:
        """Return the shares of the best mixture, found by exchanging two at a time."""
        Q = self.radius**2 * (g @ g.T)
        mix = np.zeros(len(b))
        mix[np.argmax(b - np.sqrt(np.diag(Q)))] = 1.0
        for _ in range(rounds):
            Qm = Q @ mix
            size = math.sqrt(max(float(mix @ Qm), 1e-300))
            gain = b - Qm / size
            i, j = int(np.argmax(gain)), int(np.argmin(np.where(mix > 0.0, gain, math.inf)))
            if gain[i] - gain[j] <= 1e-9 * max(1.0, abs(float(b @ mix))):
                break
            step = min(float(mix[j]), _exchange(b[i] - b[j], size**2, Qm[i] - Qm[j], Q[i, i] - 2.0 * Q[i, j] + Q[j, j]))
            mix[i] += step
            mix[j] = mix[j] - step if step < mix[j] else 0.0
        return mix


def _exchange(gain: float, q: float, slope: float, curve: float) -> float:
    """Return the step t >= 0 that maximises gain t - sqrt(q + 2 slope t + curve t^2)."""
    if curve <= 0.0:
        return math.inf
    k = gain / math.sqrt(curve)
    left = max(0.0, q - slope * slope / curve) / curve
    return math.inf if k >= 1.0 else max(0.0, k * math.sqrt(left / (1.0 - k * k)) - slope / curve) if k > -1.0 else 0.0


class L1(Regularizer):
    """The ball |u|_1 <= radius (the lasso as it was first written: Tibshirani 1996); the radius is finite."""

    def __init__(self, radius: float) -> None:
        self.radius = radius

    def inside(self, u: np.ndarray) -> np.ndarray:
        """Return u, pulled back into the ball if it is outside."""
        size = float(np.abs(u).sum())
        return u if size <= self.radius else u * (self.radius / size)

    def conjugate(self, g: np.ndarray) -> float:
        """Return r |g|_inf."""
        return self.radius * float(np.abs(g).max(initial=0.0))

    def by_hessian(self, u: np.ndarray, g: np.ndarray, H: np.ndarray, damping: float) -> np.ndarray:
        """Minimise the quadratic model at u within the ball."""
        return self.inside(super().by_hessian(u, g, H, damping))

    def by_pairs(self, u: np.ndarray, g: np.ndarray, memory: Memory) -> np.ndarray:
        """Do the same by the last steps in place of the Hessian."""
        return self.inside(super().by_pairs(u, g, memory))

    def prox(self, z: np.ndarray, h: np.ndarray) -> np.ndarray:
        """Project on the ball in the metric h: soft thresholds theta/h (Duchi et al. 2008, there for h = 1)."""
        a = np.abs(z)
        if float(a.sum()) <= self.radius:
            return z
        order = np.argsort(-a * h)
        theta = (np.cumsum(a[order]) - self.radius) / np.cumsum(1.0 / h[order])
        k = np.flatnonzero((a * h)[order] > theta)
        return np.copysign(np.maximum(a - (theta[k[-1]] if len(k) else theta[0]) / h, 0.0), z)

    def multiplier(self, s: np.ndarray, p: np.ndarray, q: np.ndarray) -> float:
        """Return the theta that brings s.(p - theta q) down to the radius, 0 where it is not above it."""
        over = float(s @ p) - self.radius
        return over / float(s @ q) if over > 0.0 else 0.0


class Penalty(Regularizer):
    """l2/2 |w|^2 + l1 |w|_1, for the weights without the intercepts.

    `intercepts(upper, |w|)` is a bound on the intercepts of a model with weights of this length that costs no more than `upper`.
    """

    def __init__(self, l2: float, l1: float, free: np.ndarray, intercepts: Callable[[float, float], float]) -> None:
        self.l2, self.l1, self.free, self.intercepts = l2, l1, free, intercepts
        self.reach = self.offset = math.inf  # |w|_1 and |intercept| are no more than these at the best u

    def learn(self, upper: float) -> None:
        """Note that the best model costs no more than this, which bounds its length."""
        self.reach = upper / self.l1 if self.l1 > 0.0 else math.inf
        longest = min(self.reach, math.sqrt(2.0 * upper / self.l2) if self.l2 > 0.0 else math.inf)
        self.offset = self.intercepts(upper, longest) if len(self.free) else 0.0

    def weights(self, u: np.ndarray) -> np.ndarray:
        """Return u with 0 for the intercepts."""
        if len(self.free):
            u = u.copy()
            u[self.free] = 0.0
        return u

    def value(self, u: np.ndarray) -> float:
        """Return l1 |w|_1."""
        return self.l1 * float(np.abs(self.weights(u)).sum()) if self.l1 > 0.0 else 0.0

    def bend(self, answer: Any) -> None:
        """Add l2/2 |w|^2, its slope and its curvature."""
        if self.l2 > 0.0:
            w = self.weights(answer.ask.u.ravel())
            answer.loss += 0.5 * self.l2 * float(w @ w)
            answer.smooth += 0.5 * self.l2 * float(w @ w)
            answer.g += self.l2 * w.reshape(answer.g.shape)
            if answer.H is not None:
                answer.H[np.diag_indices(len(w))] += self.l2 * np.isin(np.arange(len(w)), self.free, invert=True)

    def conjugate(self, g: np.ndarray) -> float:
        """Return sum z_j^2/(2 l2) or reach max z, with z = max(0, |g| - l1) of the weights, plus offset |g| of the intercepts."""
        over = np.maximum(np.abs(self.weights(g)) - self.l1, 0.0)
        curved = float(over @ over) / (2.0 * self.l2) if self.l2 > 0.0 else math.inf
        straight = self.reach * float(over.max(initial=0.0)) if self.l1 > 0.0 else math.inf
        return min(curved, straight) + (self.offset * float(np.abs(g[self.free]).sum()) if len(self.free) else 0.0)

    def missing(self, u: np.ndarray, g: np.ndarray) -> float:
        """Return the length of the shortest slope, that of the penalty included."""
        if self.l1 == 0.0:
            return length(g)
        over = np.copysign(np.maximum(np.abs(g) - self.l1, 0.0), g)
        steep = np.where(u != 0.0, g + self.l1 * np.sign(u), over)
        steep[self.free] = g[self.free]
        return length(steep)

    def by_hessian(self, u: np.ndarray, g: np.ndarray, H: np.ndarray, damping: float) -> np.ndarray:
        """Minimise the quadratic model at u plus l1 |w|_1."""
        return super().by_hessian(u, g, H, damping) if self.l1 > 0.0 else by_hessian(u, g, H, damping, math.inf)

    def by_pairs(self, u: np.ndarray, g: np.ndarray, memory: Memory) -> np.ndarray:
        """Do the same by the last steps in place of the Hessian."""
        if self.l1 > 0.0:
            return super().by_pairs(u, g, memory)
        v: np.ndarray = u - Pairs(memory).solve(np.ones(len(u), bool), g[:, None])[:, 0]
        return v

    def mixture(self, g: np.ndarray, b: np.ndarray, newest: int) -> np.ndarray:
        """Return shares of bounds; with one intercept, of pairs without a slope there, which costs most, where there are such."""
        plain = super().mixture(g, b, newest)
        if len(self.free) != 1:
            return plain
        s = g[:, self.free[0]]
        pairs = [plain]
        for k in np.flatnonzero(s * s[newest] < 0.0):
            pair = np.zeros(len(b))
            pair[newest], pair[k] = -s[k] / (s[newest] - s[k]), s[newest] / (s[newest] - s[k])
            pairs.append(pair)
        shares = np.array(pairs)
        found: np.ndarray = super().mixture(shares @ g, shares @ b, len(pairs) - 1) @ shares
        return found

    def prox(self, z: np.ndarray, h: np.ndarray) -> np.ndarray:
        """Return z by soft thresholds l1/h, the intercepts as they are."""
        v = np.copysign(np.maximum(np.abs(z) - self.l1 / h, 0.0), z)
        v[self.free] = z[self.free]
        return v

    def multiplier(self, s: np.ndarray, p: np.ndarray, q: np.ndarray) -> float:
        """Return l1."""
        return self.l1


class Cuts:
    """The last lower bounds dual_k + g_k.u of the loss. A mixture of dual variables is feasible too, and may bound better."""

    def __init__(self, size: int) -> None:
        self.slopes, self.duals = np.zeros((5, size)), np.zeros(5)
        self.count = self.newest = 0

    def add(self, dual: float, g: np.ndarray, free: np.ndarray) -> None:
        """Take another bound. The oldest goes, but not the mixture in front.

        Nor the last of its sign in the slope of a single intercept: two of different signs make a mixture without a slope there.
        """
        places = [self.count] if self.count < 5 else [1 + (self.count - 1 + k) % 4 for k in range(4)]
        if len(places) > 1 and len(free) == 1:
            signs = np.sign(self.slopes[1:, free[0]])
            places = [k for k in places if (signs == signs[k - 1]).sum() > 1] or places
        self.newest = places[0]
        self.slopes[self.newest], self.duals[self.newest] = g, dual
        self.count += 1

    def lower(self, psi: Regularizer) -> float:
        """Return the best bound on L + Psi found among the mixtures; that mixture takes the first place."""
        g, b = self.slopes[: self.count], self.duals[: self.count]
        mix = psi.mixture(g, b, self.newest)
        slope, dual = mix @ g, float(mix @ b)
        self.slopes[0], self.duals[0] = slope, dual
        return dual - psi.conjugate(slope)
