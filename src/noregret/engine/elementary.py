"""Elementary functions as short texts of arithmetic. They give the same bits on every machine, and loops over them vectorise.

A C library may give another last bit on the next machine, and its functions cannot be part of a vectorised loop. These are made of
correctly rounded operations in a fixed order; the error is below 1e-15 of the result, unless a docstring says otherwise.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from . import compiling
from .words import strict

LOG2_E = 1.4426950408889634
LN2 = 0.6931471805599453
LN2_HIGH = 6.93147180369123816490e-01  # its last bits are 0: times a small whole number it is exact
LN2_LOW = 1.90821492927058770002e-10
LEAST = -708.0  # below this e^x is 0: it would have fewer digits
MOST = 709.782712893384  # above this e^x is infinite
ROOT_HALF = 0.7071067811865476
MANTISSA = (1 << 52) - 1
TINY = 2.2250738585072014e-308  # the least number with all its digits

# Sine and cosine. Three parts of pi/2, the first two of 33 bits, so that their products with the number of the quadrant are exact
# below FAR; then the series of Taylor on [-pi/4, pi/4]. Beyond FAR, parts of 26 bits, times the number's upper and lower 26 bits.
FAR = 1.5e6
BEYOND = 1e15  # floats are an eighth of a radian apart here: a sine is noise
ROUND = 6755399441055744.0  # 1.5 * 2^52: adding it leaves no bits for fractions
QUARTERS = 0.6366197723675814
HALF_1, HALF_2, HALF_3 = 1.5707963267341256, 6.077100506303966e-11, 2.0222662487959506e-21
S3, S5, S7, S9, S11, S13, S15 = (-1 / 6, 1 / 120, -1 / 5040, 1 / 362880, -1 / 39916800, 1 / 6227020800, -1 / 1307674368000)
PART_1, PART_2, PART_3, PART_4 = 1.5707963109016418, 1.5893254712295857e-08, 6.123233601181349e-17, 3.9455541665632055e-24
C4, C6, C8, C10, C12 = (1 / 24, -1 / 720, 1 / 40320, -1 / 3628800, 1 / 479001600)
C14, C16 = (-1 / 87178291200, 1 / 20922789888000)


# ---- exponentials ----------------------------------------------------------------------------------------------------
def near_zero(r: float) -> float:
    """Return e^r for |r| <= ln(2)/2: its Taylor polynomial of degree 13, in pairs, which do not wait for each other."""
    q = r * r
    a = (1.6059043836821613e-10 * r + 2.08767569878681e-09) * q + (2.505210838544172e-08 * r + 2.755731922398589e-07)
    b = (2.7557319223985893e-06 * r + 2.48015873015873e-05) * q + (1.984126984126984e-04 * r + 1.388888888888889e-03)
    c = (8.333333333333333e-03 * r + 4.1666666666666664e-02) * q + (1.6666666666666666e-01 * r + 0.5)
    return ((a * (q * q) + b) * (q * q) + c) * q + r + 1.0


def half_power(k: float) -> float:
    """Return 2^(k-1) for a whole number k in [-1021, 1024], from the bits of a float."""
    return np.int64(np.int64(np.int32(k) + 1022) << 52).view(np.float64)


def exp(x: float) -> float:
    """Return e^x = 2^k e^r with k whole and |r| <= ln(2)/2."""
    z = min(max(x, LEAST), MOST)
    k = np.floor(z * LOG2_E + 0.5)
    e = near_zero((z - k * LN2_HIGH) - k * LN2_LOW) * half_power(k) * 2.0
    return (e if x > LEAST else 0.0) if x <= MOST else x * math.inf


def exp2(x: float) -> float:
    """Return 2^x, exact for whole x."""
    z = min(max(x, -1021.0), 1023.75)
    k = np.floor(z + 0.5)
    e = near_zero((z - k) * LN2) * half_power(k) * 2.0
    return (e if x >= -1021.0 else 0.0) if x < 1023.75 else math.inf * x


def expm1(x: float) -> float:
    """Return e^x - 1, also for small x."""
    if abs(x) > 0.35:
        return exp(x) - 1.0
    p = x * (1.0 / 1307674368000.0) + 1.0 / 87178291200.0
    p = p * x + 1.6059043836821613e-10
    p = p * x + 2.08767569878681e-09
    p = p * x + 2.505210838544172e-08
    p = p * x + 2.755731922398589e-07
    p = p * x + 2.7557319223985893e-06
    p = p * x + 2.48015873015873e-05
    p = p * x + 1.984126984126984e-04
    p = p * x + 1.388888888888889e-03
    p = p * x + 8.333333333333333e-03
    p = p * x + 4.1666666666666664e-02
    p = p * x + 1.6666666666666666e-01
    p = p * x + 0.5
    return p * x * x + x


def tanh(x: float) -> float:
    """Return the hyperbolic tangent."""
    e = expm1(-2.0 * min(abs(x), 20.0))
    return math.copysign(-e / (e + 2.0), x)


# ---- logarithms ------------------------------------------------------------------------------------------------------
def parted(x: float) -> tuple[Any, Any]:
    """Return k and m with x = 2^k m, sqrt(1/2) <= m < sqrt(2), for x > 0 finite."""
    up = 54 if x < TINY else 0
    bits = np.float64(x * 18014398509481984.0 if x < TINY else x).view(np.int64)
    k = (bits >> 52) - 1022 - up
    m = np.int64((bits & MANTISSA) | (1022 << 52)).view(np.float64)
    return (k - 1, 2.0 * m) if m < ROOT_HALF else (k, m)


def log_near_one(m: float) -> float:
    """Return ln m for sqrt(1/2) <= m < sqrt(2): f - f^2/2 + s (f^2/2 + R), f = m - 1, s = f/(2 + f), R by the series of artanh."""
    f = m - 1.0
    s = f / (2.0 + f)
    z = s * s
    R = z * (2.0 / 23.0) + 2.0 / 21.0
    R = R * z + 2.0 / 19.0
    R = R * z + 2.0 / 17.0
    R = R * z + 2.0 / 15.0
    R = R * z + 2.0 / 13.0
    R = R * z + 2.0 / 11.0
    R = R * z + 2.0 / 9.0
    R = R * z + 2.0 / 7.0
    R = R * z + 2.0 / 5.0
    R = (R * z + 2.0 / 3.0) * z
    half = 0.5 * f * f
    return f - (half - s * (half + R))


def log(x: float) -> float:
    """Return ln x: minus infinity at 0, not a number below it."""
    if not 0.0 < x < math.inf:
        return outside(x)
    k, m = parted(x)
    return k * LN2_HIGH + (log_near_one(m) + k * LN2_LOW)


def outside(x: float) -> float:
    """Return the logarithm of what is not positive and finite."""
    return -math.inf if x == 0.0 else math.nan if x < 0.0 else x


def log1p(x: float) -> float:
    """Return ln(1 + x), also for small x: the error of 1 + x is taken out again."""
    u = 1.0 + x
    if u == 1.0 or not 0.0 < u < math.inf:
        return x if u == 1.0 else outside(u)
    return log(u) + (x - (u - 1.0)) / u


def log2(x: float) -> float:
    """Return the logarithm to base 2, exact for powers of 2."""
    if not 0.0 < x < math.inf:
        return outside(x)
    k, m = parted(x)
    return k + log_near_one(m) * LOG2_E


def asinh(x: float) -> float:
    """Return the inverse of the hyperbolic sine."""
    t = abs(x)
    up = log(t) + LN2 if t > 1e9 else log1p(t + t * t / (1.0 + math.sqrt(1.0 + t * t)))
    return math.copysign(up, x)


# ---- powers ----------------------------------------------------------------------------------------------------------
def power(x: float, a: float) -> float:
    """Return x^a for x >= 0; the relative error is up to 1e-16 times |a ln x|, and whole powers up to 4 are products."""
    if a == 1.0 or a == 2.0:
        return x if a == 1.0 else x * x
    if a == 3.0 or a == 4.0:
        return x * x * x if a == 3.0 else (x * x) * (x * x)
    if a == 0.0 or x == 1.0:
        return 1.0
    if a == 0.5:
        return math.sqrt(x)
    return exp(a * log(x))


@strict
def whole_power(x: float, n: int) -> float:
    """Return x^n for a whole number n >= 0, by squaring."""
    out = 1.0
    while n > 0:
        if n & 1:
            out *= x
        x *= x
        n >>= 1
    return out


def hypot(a: float, b: float) -> float:
    """Return sqrt(a^2 + b^2) without overflow."""
    high, low = max(abs(a), abs(b)), min(abs(a), abs(b))
    if low == 0.0:
        return high
    r = low / high
    return high * math.sqrt(1.0 + r * r)


# ---- sine and cosine -------------------------------------------------------------------------------------------------
def sine_cosine(t: float) -> tuple[float, float]:
    """Return sin t and cos t for |t| < FAR, to 3e-16."""
    n = (t * QUARTERS + ROUND) - ROUND
    r = ((t - n * HALF_1) - n * HALF_2) - n * HALF_3
    z = r * r
    s = r + r * z * (S3 + z * (S5 + z * (S7 + z * (S9 + z * (S11 + z * (S13 + z * S15))))))
    c = 1.0 - 0.5 * z + z * z * (C4 + z * (C6 + z * (C8 + z * (C10 + z * (C12 + z * (C14 + z * C16))))))
    q = np.int32(n) & 3
    a = c if q & 1 else s
    b = s if q & 1 else c
    return -a if q & 2 else a, -b if (q + 1) & 2 else b


def far_sine_cosine(t: float) -> tuple[float, float]:
    """Return sin t and cos t for |t| < BEYOND."""
    n = np.floor(t * QUARTERS + 0.5)
    high = math.copysign(np.floor(abs(n) / 67108864.0) * 67108864.0, n)
    low = n - high
    r = (((t - high * PART_1) - low * PART_1) - high * PART_2) - low * PART_2
    s, c = sine_cosine(((r - high * PART_3) - low * PART_3) - n * PART_4)
    q = np.int64(n) & 3
    a = c if q & 1 else s
    b = s if q & 1 else c
    return -a if q & 2 else a, -b if (q + 1) & 2 else b


def tan(t: float) -> float:
    """Return the tangent, for |t| < FAR."""
    s, c = sine_cosine(t)
    return s / c


# ---- in Python alone: parameters of learners, and whole arrays -------------------------------------------------------
# Wichura's ratios: numerator and denominator, highest powers first.
CENTRE = """
2509.0809287301227 33430.57558358813 67265.7709270087 45921.95393154987 13731.69376550946 1971.5909503065514 133.14166789178438
3.3871328727963665, 5226.495278852854 28729.085735721943 39307.89580009271 21213.794301586597 5394.196021424751 687.1870074920579
42.31333070160091 1"""
FLANK = """
7.745450142783414e-4 0.022723844989269184 0.2417807251774506 1.2704582524523684 3.6478483247632045 5.769497221460691
4.630337846156546 1.4234371107496835, 1.0507500716444169e-9 5.475938084995345e-4 0.015198666563616457 0.14810397642748008
0.6897673349851 1.6763848301838038 2.053191626637759 1"""
TAIL = """
2.0103343992922881e-7 2.7115555687434876e-5 0.0012426609473880784 0.026532189526576124 0.29656057182850487 1.7848265399172913
5.463784911164114 6.657904643501103, 2.0442631033899397e-15 1.421511758316446e-7 1.8463183175100548e-5 7.868691311456133e-4
0.014875361290850615 0.1369298809227358 0.599832206555888 1"""


def normal_quantile(p: float) -> float:
    """Return the value below which a standard normal variable is with probability p (Wichura 1988, AS 241)."""
    q = p - 0.5
    if abs(q) <= 0.425:
        return q * ratio(CENTRE, 0.180625 - q * q)
    r = math.sqrt(-log(min(p, 1.0 - p)))
    return math.copysign(ratio(FLANK, r - 1.6) if r <= 5.0 else ratio(TAIL, r - 5.0), q)


def ratio(coefficients: str, r: float) -> float:
    """Return the ratio of two polynomials."""
    high, low = 0.0, 0.0
    numerator, denominator = (map(float, part.split()) for part in coefficients.split(","))
    for a, b in zip(numerator, denominator, strict=True):
        high, low = high * r + a, low * r + b
    return high / low


def over(fn: Any, *arrays: Any) -> np.ndarray:
    """Return fn of each element of arrays (or numbers), broadcast: for what is not inside a compiled text."""
    given = np.broadcast_arrays(*(np.asarray(a, np.float64) for a in arrays))
    out = np.empty(given[0].shape)
    _walk(fn, len(given), compiling.interpreting())(*(np.ascontiguousarray(a).reshape(-1) for a in given), out.reshape(-1))
    return out


@cache
def _walk(fn: Any, n: int, interpreting: bool) -> Any:
    """Return a compiled loop over n arrays."""
    args = [f"a{k}" for k in range(n)]
    call = ", ".join(f"{a}[i]" for a in args)
    text = f"@jit\ndef run({', '.join(args)}, out):\n    for i in range(out.shape[0]):\n        out[i] = fn({call})\n"
    return compiling.build(f"each_{fn.__name__}", text, {"fn": fn})["run"]
