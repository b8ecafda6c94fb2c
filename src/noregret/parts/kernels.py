"""Kernels: functions k(a, b) of two examples that are inner products in some space (G.1).

Each says what its coordinates add up to (`own`, `cross`) and what becomes of the sums (`value`); see `spaces/support_vectors.py`.
A kernel of your own is a NamedTuple with these words, or a Python function of two objects, which is slower.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from ..algorithm.params import Range
from ..engine.elementary import exp, log1p, tanh
from ..spaces.support_vectors import alone, cross, own, value

ABOVE_ZERO, REAL = Range(0.0, math.inf), Range(-math.inf, math.inf)


class Linear(NamedTuple):
    """a.b."""

    def check(self) -> None:
        """Accept: there are no parameters."""


class Polynomial(NamedTuple):
    """(gamma a.b + coef0)^degree."""

    degree: float = 3.0
    gamma: float = 1.0
    coef0: float = 1.0

    def check(self) -> None:
        """Refuse parameters that do not make a kernel."""
        Range(1.0, 64.0, "[]").check("degree of a Polynomial", self.degree)
        if self.degree != int(self.degree):
            raise ValueError(f"degree of a Polynomial must be a whole number, got {self.degree!r}")
        ABOVE_ZERO.check("gamma of a Polynomial", self.gamma)
        Range(0.0, math.inf, "[)").check("coef0 of a Polynomial", self.coef0)


class RBF(NamedTuple):
    """exp(-gamma |a - b|^2), gamma = 1/(2 sigma^2)."""

    gamma: float = 1.0

    def check(self) -> None:
        """Refuse parameters that do not make a kernel."""
        ABOVE_ZERO.check("gamma of an RBF", self.gamma)


class Laplacian(NamedTuple):
    """exp(-gamma |a - b|_1), gamma = 1/sigma."""

    gamma: float = 1.0

    def check(self) -> None:
        """Refuse parameters that do not make a kernel."""
        ABOVE_ZERO.check("gamma of a Laplacian", self.gamma)


class Cauchy(NamedTuple):
    """prod_j 1/(1 + gamma (a_j - b_j)^2), gamma = 1/sigma^2."""

    gamma: float = 1.0

    def check(self) -> None:
        """Refuse parameters that do not make a kernel."""
        ABOVE_ZERO.check("gamma of a Cauchy", self.gamma)


class Sigmoid(NamedTuple):
    """tanh(gamma a.b + coef0): not positive definite in general."""

    gamma: float = 1.0
    coef0: float = 0.0

    def check(self) -> None:
        """Refuse anything but numbers."""
        ABOVE_ZERO.check("gamma of a Sigmoid", self.gamma)
        REAL.check("coef0 of a Sigmoid", self.coef0)


# ---- of the inner product --------------------------------------------------------------------------------------------
@own.on(object)
def own_any(kernel, v):
    return v * v


@cross.on(object)
def cross_any(kernel, a, b):
    return a * b


@alone.on(object)
def alone_any(kernel, a):
    return value(kernel, a, a, a)


@value.on(Linear)
def value_linear(kernel, s, a, b):
    return s


@value.on(Polynomial)
def value_polynomial(kernel, s, a, b):
    base, power = kernel.gamma * s + kernel.coef0, 1.0
    for _ in range(int(kernel.degree)):
        power *= base
    return power


@value.on(Sigmoid)
def value_sigmoid(kernel, s, a, b):
    return tanh(kernel.gamma * s + kernel.coef0)


@value.on(RBF)
def value_rbf(kernel, s, a, b):
    return exp(-kernel.gamma * max(0.0, a + b - 2.0 * s))


# ---- of the differences: g(a - b) = g(a) + g(b) + cross ----------------------------------------------------------------
@own.on(Laplacian)
def own_laplacian(kernel, v):
    return abs(v)


@cross.on(Laplacian)
def cross_laplacian(kernel, a, b):
    return abs(a - b) - abs(a) - abs(b)


@own.on(Cauchy)
def own_cauchy(kernel, v):
    return log1p(kernel.gamma * v * v)


@cross.on(Cauchy)
def cross_cauchy(kernel, a, b):
    return log1p(kernel.gamma * (a - b) * (a - b)) - log1p(kernel.gamma * a * a) - log1p(kernel.gamma * b * b)


@value.on(Laplacian)
def value_laplacian(kernel, s, a, b):
    return exp(-kernel.gamma * max(0.0, a + b + s))


@value.on(Cauchy)
def value_cauchy(kernel, s, a, b):
    return exp(-max(0.0, a + b + s))


@alone.on(RBF)
@alone.on(Laplacian)
@alone.on(Cauchy)
def one(kernel, a):
    """Return 1: the distance is 0."""
    return 1.0
