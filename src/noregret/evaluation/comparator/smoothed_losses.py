"""Losses as a batch solver sees them: with kinks rounded to a width, and with the dual value of each slope.

Each function takes scores f (a column for each class where there are many), targets y, the width of the kinks and epsilon, and
returns for each row (loss, smooth loss, slope, dual, curvature): slope is the derivative of the smooth loss, dual = -loss*(slope)
with the conjugate of the TRUE loss, so that loss(f) >= dual + slope f for every f.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

Terms = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def _from_smooth(loss: np.ndarray, slope: np.ndarray, f: np.ndarray, curve: np.ndarray) -> Terms:
    return loss, loss, slope, loss - slope * f, curve


def _kink(target: float) -> Callable[..., Terms]:
    """Return max(0, target - y f), its kink a parabola of this width: half as far off as one to a single side."""

    def terms(f: np.ndarray, y: np.ndarray, width: float, epsilon: float) -> Terms:
        z = target - y * f
        a = np.clip(0.5 + z / width, 0.0, 1.0)
        smooth = a * z + 0.5 * width * a * (1.0 - a)
        return np.maximum(z, 0.0), smooth, -y * a, target * a, ((a > 0.0) & (a < 1.0)) / width

    return terms


def _squared_hinge(f: np.ndarray, y: np.ndarray, width: float, epsilon: float) -> Terms:
    z = np.maximum(0.0, 1.0 - y * f)
    return _from_smooth(z * z, -2.0 * y * z, f, 2.0 * (z > 0.0))


def _log(f: np.ndarray, y: np.ndarray, width: float, epsilon: float) -> Terms:
    m = y * f
    s = np.exp(-np.logaddexp(0.0, m))
    return _from_smooth(np.logaddexp(0.0, -m), -y * s, f, s * (1.0 - s))


def _exponential(f: np.ndarray, y: np.ndarray, width: float, epsilon: float) -> Terms:
    e = np.exp(np.minimum(500.0, -y * f))
    return _from_smooth(e, -y * e, f, e)


def _square(f: np.ndarray, y: np.ndarray, width: float, epsilon: float) -> Terms:
    z = f - y
    return _from_smooth(z * z, 2.0 * z, f, np.full(len(z), 2.0))


def _tube(f: np.ndarray, y: np.ndarray, width: float, epsilon: float) -> Terms:
    z = f - y
    shift = min(0.5 * width, epsilon)  # a parabola to both sides of each kink, where there is room between the two
    over = np.abs(z) - epsilon
    a = np.clip((over + shift) / width, 0.0, 1.0)
    slope = np.copysign(a, z)
    smooth = a * (over + shift) - 0.5 * width * a * a
    return np.maximum(over, 0.0), smooth, slope, -slope * y - epsilon * a, ((a > 0.0) & (a < 1.0)) / width


def _absolute(f: np.ndarray, y: np.ndarray, width: float, epsilon: float) -> Terms:
    return _tube(f, y, width, 0.0)


def _squared_tube(f: np.ndarray, y: np.ndarray, width: float, epsilon: float) -> Terms:
    z = f - y
    over = np.maximum(0.0, np.abs(z) - epsilon)
    return _from_smooth(over * over, 2.0 * np.copysign(over, z), f, 2.0 * (over > 0.0))


ONE: dict[str, Callable[..., Terms]] = {
    "hinge": _kink(1.0),
    "perceptron": _kink(0.0),
    "squared_hinge": _squared_hinge,
    "log": _log,
    "exponential": _exponential,
    "square": _square,
    "absolute": _absolute,
    "epsilon_insensitive": _tube,
    "squared_epsilon_insensitive": _squared_tube,
}
REAL = ("square", "absolute", "epsilon_insensitive", "squared_epsilon_insensitive")
STEEP = {"square": 2.0, "squared_hinge": 2.0, "squared_epsilon_insensitive": 2.0, "log": 0.25, "exponential": 1.0}  # curvature
KINKED = ("hinge", "perceptron", "absolute", "epsilon_insensitive")


def _softmax(f: np.ndarray, y: np.ndarray, width: float, epsilon: float) -> Terms:
    at = np.arange(len(y))
    z = f - f.max(1, keepdims=True)
    s = np.exp(z)
    total = s.sum(1)
    loss = np.log(total) - z[at, y]
    s /= total[:, None]
    s[at, y] -= 1.0
    return loss, loss, s, loss - (s * f).sum(1), np.empty(0)


def _rival(target: float, outer: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]], free: bool = False) -> Callable[..., Terms]:
    """Return h(max(0, target - margin to the best rival)); the maximum is smoothed by a projection on the simplex."""

    def terms(f: np.ndarray, y: np.ndarray, width: float, epsilon: float) -> Terms:
        at = np.arange(len(y))
        v = f - f[at, y][:, None] + target
        v[at, y] = -1e300 if free else 0.0
        half = 0.5 * width
        a = _onto_simplex(v / half)
        v[at, y] = 0.0
        soft = (a * v).sum(1) + 0.5 * half * (1.0 - (a * a).sum(1))
        v[at, y] = -math.inf if free else 0.0
        loss = outer(v.max(1))[0]
        smooth, steep = outer(soft)
        dual = smooth - steep * soft + steep * target * (1.0 - a[at, y])
        slope = a * steep[:, None]
        slope[at, y] -= steep
        return loss, smooth, slope, dual, np.empty(0)

    return terms


def _onto_simplex(v: np.ndarray) -> np.ndarray:
    down = -np.sort(-v, 1)
    over = np.cumsum(down, 1) - 1.0
    k = (down * np.arange(1, v.shape[1] + 1) > over).sum(1)
    a: np.ndarray = np.maximum(v - (over[np.arange(len(v)), k - 1] / k)[:, None], 0.0)
    return a


def _capped_exp(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    e = np.exp(np.minimum(500.0, z))
    return e, e


MANY: dict[str, Callable[..., Terms]] = {
    "hinge": _rival(1.0, lambda z: (z, np.ones(len(z)))),
    "perceptron": _rival(0.0, lambda z: (z, np.ones(len(z)))),
    "squared_hinge": _rival(1.0, lambda z: (z * z, 2.0 * z)),
    "exponential": _rival(0.0, _capped_exp, free=True),
    "log": _softmax,
}
