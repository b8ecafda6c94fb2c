"""Functions of the gamma family, as short texts of arithmetic like those of `elementary`: the same bits on every machine.

For x > 0. Below 8 the argument is moved up by 8; from there the series of Stirling in 1/y^2, y = x - 1/2, is exact to the last
digits. The error is below 1e-14 of the result, or below 1e-14 near a zero.
"""

from __future__ import annotations

from .elementary import exp, log

FEW = 8.0  # arguments below this are moved up by as much
HALF_LOG_TURN = 0.9189385332046727  # ln(2 pi)/2


def rising(x: float) -> float:
    """Return x (x+1) ... (x+7), for x <= 8."""
    q = x * (x + 7.0)
    return q * (q + 6.0) * ((q + 10.0) * (q + 12.0))


def harmonic(x: float) -> float:
    """Return 1/x + 1/(x+1) + ... + 1/(x+7), for x <= 8."""
    q = x * (x + 7.0)
    return (2.0 * x + 7.0) * (((4.0 * q + 84.0) * q + 504.0) * q + 720.0) / rising(x)


def exp_psi(x: float) -> float:
    """Return exp(psi(x)), without a logarithm: about x - 1/2, and 0 below 0.0014."""
    y = (x if x >= FEW else x + FEW) - 0.5
    u = 1.0 / (y * y)
    s = u * 3.0348228731805738 - 0.43960443686008127
    s = s * u + 0.08238185223878776
    s = s * u - 0.020734675824368137
    s = s * u + 0.007365033269308669
    s = s * u - 0.0039535574489730305
    s = s * u + 0.003552482914462081
    s = s * u - 0.006423611111111111
    s = s * u + 0.041666666666666664
    return (s * u * y + y) * exp(0.0 if x >= FEW else -harmonic(min(x, FEW)))


def psi(x: float) -> float:
    """Return the digamma function, the derivative of ln Gamma."""
    y = (x if x >= FEW else x + FEW) - 0.5
    u = 1.0 / (y * y)
    s = u * 3.0539310304476537 - 0.4432462767058728
    s = s * u + 0.08332316080729167
    s = s * u - 0.021082496875953906
    s = s * u + 0.007560961174242424
    s = s * u - 0.004134114583333333
    s = s * u + 0.0038442460317460315
    s = s * u - 0.007291666666666667
    s = s * u + 0.041666666666666664
    return log(y) + s * u - (0.0 if x >= FEW else harmonic(min(x, FEW)))


def trigamma(x: float) -> float:
    """Return the derivative of psi."""
    z = x if x >= FEW else x + FEW
    y = z - 0.5
    u = 1.0 / (y * y)
    s = u * -54.970758548057766 + 7.091940427293965
    s = s * u - 1.1665242513020833
    s = s * u + 0.2529899625114469
    s = s * u - 0.07560961174242424
    s = s * u + 0.03307291666666667
    s = s * u - 0.023065476190476192
    s = s * u + 0.029166666666666667
    s = s * u - 0.08333333333333333
    found = s * u / y + 1.0 / y
    return found if x >= FEW else found + inverse_squares(x)


def inverse_squares(x: float) -> float:
    """Return 1/x^2 + ... + 1/(x+7)^2."""
    a, b, c, d = 1.0 / x, 1.0 / (x + 1.0), 1.0 / (x + 2.0), 1.0 / (x + 3.0)
    e, f, g, h = 1.0 / (x + 4.0), 1.0 / (x + 5.0), 1.0 / (x + 6.0), 1.0 / (x + 7.0)
    return ((h * h + g * g) + (f * f + e * e)) + ((d * d + c * c) + b * b) + a * a


def log_gamma(x: float) -> float:
    """Return ln Gamma(x)."""
    y = (x if x >= FEW else x + FEW) - 0.5
    v = 1.0 / y
    u = v * v
    s = u * -0.17964300179103845 + 0.029549751780391518
    s = s * u - 0.006409473908253205
    s = s * u + 0.0019165906250867188
    s = s * u - 0.0008401067971380472
    s = s * u + 0.0005905877976190476
    s = s * u - 0.0007688492063492063
    s = s * u + 0.0024305555555555556
    s = s * u - 0.041666666666666664
    return y * (log(y) - 1.0) + HALF_LOG_TURN + s * v - (0.0 if x >= FEW else log(rising(min(x, FEW))))
