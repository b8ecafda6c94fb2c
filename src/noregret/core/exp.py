"""The exponential function as a short text of arithmetic, so that loops over many values vectorise: a call of C's cannot.

exp(x) = 2^k exp(r) with k whole and |r| <= ln(2)/2; exp(r) is its Taylor polynomial of degree 13, 2^k the bits of a float.
"""

from __future__ import annotations

import numpy as np

from .words import strict

LOG2_E = 1.4426950408889634
LN2_HIGH = 6.93147180369123816490e-01  # its last bits are 0: times a small whole number it is exact
LN2_LOW = 1.90821492927058770002e-10
LEAST = -708.0  # below this the result is 0: it would have fewer digits


@strict
def exp(x):
    """Return e^x for x <= 709, to 1e-15 relative."""
    z = max(x, LEAST)
    k = np.floor(z * LOG2_E + 0.5)
    r = (z - k * LN2_HIGH) - k * LN2_LOW
    p = 1.6059043836821613e-10 * r + 2.08767569878681e-09
    p = p * r + 2.505210838544172e-08
    p = p * r + 2.755731922398589e-07
    p = p * r + 2.7557319223985893e-06
    p = p * r + 2.48015873015873e-05
    p = p * r + 1.984126984126984e-04
    p = p * r + 1.388888888888889e-03
    p = p * r + 8.333333333333333e-03
    p = p * r + 4.1666666666666664e-02
    p = p * r + 1.6666666666666666e-01
    p = p * r + 0.5
    p = (p * r + 1.0) * r + 1.0
    power = np.int64(np.int64(np.int32(k) + 1023) << 52).view(np.float64)
    return p * power if x > LEAST else 0.0
