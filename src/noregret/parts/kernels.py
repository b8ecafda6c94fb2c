"""Kernels: functions k(a, b) of two examples that are inner products in some space (G.1)."""

from __future__ import annotations

from typing import NamedTuple


class Linear(NamedTuple):
    """a.b."""


class Polynomial(NamedTuple):
    """(gamma a.b + coef0)^degree."""

    degree: float = 3.0
    gamma: float = 1.0
    coef0: float = 1.0


class RBF(NamedTuple):
    """exp(-gamma |a - b|^2), gamma = 1/(2 sigma^2)."""

    gamma: float = 1.0


class Laplacian(NamedTuple):
    """exp(-gamma |a - b|_1), gamma = 1/sigma."""

    gamma: float = 1.0


class Cauchy(NamedTuple):
    """prod_j 1/(1 + gamma (a_j - b_j)^2), gamma = 1/sigma^2."""

    gamma: float = 1.0


class Sigmoid(NamedTuple):
    """tanh(gamma a.b + coef0): not positive definite in general."""

    gamma: float = 1.0
    coef0: float = 0.0
