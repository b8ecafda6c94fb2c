"""Drift detectors: each watches one value an example (an error, a loss) and says where its distribution changed.

| name | method | watches | signals |
|---|---|---|---|
| `adwin` | Bifet, Gavalda 2007 | values in [0, 1] | two parts of the recent window have different means |
| `ddm` | Gama, Medas, Castillo, Rodrigues 2004 | errors, 0 to 1 | the error rate rose 3 deviations above its best |
| `eddm` | Baena-Garcia et al. 2006 | errors, 0 or 1 | the distance between errors fell to 0.9 of its best |
| `page_hinkley` | Page 1954 | any values | a sum of deviations from the mean left its extreme by the threshold |

After a detection a detector starts over. The split of the values into calls does not show. ADWIN examines every cut between two
buckets, as the paper says, and can keep the newer part of its window (`restart=False`, the paper's rule); the bound is for values
in [0, 1], outside it is a heuristic. DDM, once it has seen no error at all for `warm_start` examples, takes the first error for
a drift: that is its definition.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...engine.compiling import compiled
from ...engine.words import strict

DRIFT, WARNING = 1, 2  # marks
ROWS = 48  # of buckets: 2^48 examples
SIDES = {"both": 0, "up": 1, "down": -1}


# ---- ADWIN: rows of at most M buckets of 2^row values, the oldest first in each row ------------------------------------
WIDTH, TOTAL, SPREAD, TICK = range(4)


@strict
def shift(row, by, counts, sums, spreads):
    """Remove the oldest buckets of a row."""
    counts[row] -= by
    for k in range(counts[row]):
        sums[row, k] = sums[row, k + by]
        spreads[row, k] = spreads[row, k + by]


@strict
def insert(x, M, s, counts, sums, spreads):
    """Take one value; where a row is over-full its two oldest buckets become one of the next row."""
    if s[WIDTH] > 0.0:
        apart = x - s[TOTAL] / s[WIDTH]
        s[SPREAD] += s[WIDTH] * apart * apart / (s[WIDTH] + 1.0)
    s[WIDTH] += 1.0
    s[TOTAL] += x
    sums[0, counts[0]] = x
    spreads[0, counts[0]] = 0.0
    counts[0] += 1
    row, size = 0, 1.0
    while counts[row] > M:
        apart = (sums[row, 0] - sums[row, 1]) / size
        k = counts[row + 1]
        sums[row + 1, k] = sums[row, 0] + sums[row, 1]
        spreads[row + 1, k] = spreads[row, 0] + spreads[row, 1] + 0.5 * size * apart * apart
        counts[row + 1] += 1
        shift(row, 2, counts, sums, spreads)
        row, size = row + 1, 2.0 * size


@strict
def oldest(counts):
    """Return the last row that holds a bucket."""
    row = counts.shape[0] - 1
    while row > 0 and counts[row] == 0:
        row -= 1
    return row


@strict
def cut(delta, shortest, s, counts, sums):
    """Return whether the window can be cut into two parts of different means: 1 if the newer is higher, -1 if lower, 0 if not."""
    level = math.log(2.0 * math.log(s[WIDTH]) / delta)
    doubt = 2.0 * level * max(0.0, s[SPREAD]) / s[WIDTH]
    row = oldest(counts)
    size = 2.0**row
    n0, u0 = 0.0, 0.0
    while row >= 0:
        for k in range(counts[row]):
            n0 += size
            u0 += sums[row, k]
            n1 = s[WIDTH] - n0
            if n0 >= shortest and n1 >= shortest:
                rise = (s[TOTAL] - u0) / n1 - u0 / n0
                m = 1.0 / (n0 - shortest + 1.0) + 1.0 / (n1 - shortest + 1.0)
                if abs(rise) > math.sqrt(doubt * m) + 2.0 / 3.0 * level * m:
                    return 1 if rise > 0.0 else -1
        row -= 1
        size *= 0.5
    return 0


@strict
def drop(s, counts, sums, spreads):
    """Forget the oldest bucket."""
    row = oldest(counts)
    size = 2.0**row
    s[WIDTH] -= size
    s[TOTAL] -= sums[row, 0]
    apart = sums[row, 0] / size - s[TOTAL] / s[WIDTH]
    s[SPREAD] -= spreads[row, 0] + size * s[WIDTH] * apart * apart / (size + s[WIDTH])
    shift(row, 1, counts, sums, spreads)


@strict
def adwin(values, marks, p, s, counts, sums, spreads):
    """Watch values with an adaptive window."""
    delta, clock, M, shortest, grace, restart, side = p[0], int(p[1]), int(p[2]), p[3], p[4], p[5], p[6]
    tick = int(s[TICK])
    for i in range(values.shape[0]):
        insert(values[i], M, s, counts, sums, spreads)
        tick += 1
        if tick < clock:
            continue
        tick = 0
        found, again = 0, s[WIDTH] > grace
        while again:
            way = cut(delta, shortest, s, counts, sums)
            found = way if found == 0 else found
            again = way != 0
            if again:
                drop(s, counts, sums, spreads)
        if found != 0 and side * found >= 0.0:
            marks[i] = DRIFT
            if restart != 0.0:
                s[:] = 0.0
                counts[:] = 0
    s[TICK] = tick


# ---- DDM, EDDM, Page-Hinkley -------------------------------------------------------------------------------------------
@strict
def ddm(values, marks, p, s):
    """Watch the error rate: s holds n, the errors, the best rate, its deviation, whether warning."""
    warm, warning, drift = p[0], p[1], p[2]
    for i in range(values.shape[0]):
        s[0] += 1.0
        s[1] += values[i]
        if s[0] <= warm:
            continue
        rate = s[1] / s[0]
        deviation = math.sqrt(max(0.0, rate * (1.0 - rate)) / s[0])
        if s[0] == warm + 1.0 or rate + deviation <= s[2] + s[3]:
            s[2], s[3] = rate, deviation
        was = s[4]
        s[4] = 1.0 if rate + deviation > s[2] + warning * s[3] else 0.0
        if rate + deviation > s[2] + drift * s[3]:
            marks[i] = DRIFT
            s[:] = 0.0
        elif s[4] > was:
            marks[i] = WARNING


@strict
def eddm(values, marks, p, s):
    """Watch distances between errors: s holds n, errors, the last one, mean, spread, best, whether warning."""
    warm, warning, drift = p[0], p[1], p[2]
    for i in range(values.shape[0]):
        s[0] += 1.0
        if values[i] == 0.0:
            continue
        s[1] += 1.0
        distance = s[0] - s[2]
        s[2] = s[0]
        apart = distance - s[3]
        s[3] += apart / s[1]
        s[4] += apart * (distance - s[3])
        if s[0] <= warm:
            continue
        now = s[3] + 2.0 * (math.sqrt(s[4] / (s[1] - 1.0)) if s[1] > 1.0 else 0.0)
        if now > s[5]:
            s[5] = now
        elif s[1] > warm:
            was = s[6]
            s[6] = 1.0 if now < warning * s[5] else 0.0
            if now < drift * s[5]:
                marks[i] = DRIFT
                s[:] = 0.0
            elif s[6] > was:
                marks[i] = WARNING


@strict
def page_hinkley(values, marks, p, s):
    """Watch sums of deviations from the mean: s holds n, mean, the sum up, its least, the sum down, its most."""
    warm, delta, threshold, alpha, side = p[0], p[1], p[2], p[3], p[4]
    for i in range(values.shape[0]):
        s[0] += 1.0
        s[1] += (values[i] - s[1]) / s[0]
        apart = values[i] - s[1]
        s[2] = alpha * s[2] + apart - delta
        s[4] = alpha * s[4] + apart + delta
        if s[0] == 1.0:
            s[3], s[5] = s[2], s[4]
        s[3] = min(s[3], s[2])
        s[5] = max(s[5], s[4])
        up = side >= 0.0 and s[2] - s[3] > threshold
        down = side <= 0.0 and s[5] - s[4] > threshold
        if s[0] >= warm and (up or down):
            marks[i] = DRIFT
            s[:] = 0.0


# ---- the interface -----------------------------------------------------------------------------------------------------
class Detector:
    """One detector. `add` takes values and says where drift was signalled; state is a few small arrays."""

    name: str
    watch: Callable[..., None]  # marks the drifts among values; compiled
    size: int  # of the state
    defaults: dict[str, Any]
    ranges: dict[str, tuple[float, float]]  # of parameters, the ends included
    least, most = -math.inf, math.inf  # of values

    def __init__(self, **params: Any) -> None:
        unknown = sorted(set(params) - set(self.defaults))
        if unknown:
            raise ValueError(f"drift detector {self.name!r} has no parameter {unknown[0]!r}; it has {', '.join(self.defaults)}")
        self.params = self.defaults | params
        for key, (low, high) in self.ranges.items():
            v = self.params[key]
            if isinstance(v, str) or not low <= v <= high:
                raise ValueError(f"drift detector {self.name!r}: {key} must be from {low:g} to {high:g}, got {v!r}")
        if self.params.get("side", "both") not in SIDES:
            raise ValueError(f"drift detector {self.name!r}: side must be one of {', '.join(SIDES)}, got {self.params['side']!r}")
        self.check()
        self.state = self.fresh()
        self.warnings = np.zeros(0, np.int64)

    def check(self) -> None:
        """Check parameters that depend on each other."""

    def fresh(self) -> dict[str, np.ndarray]:
        """Return the state before any value."""
        return {"s": np.zeros(self.size)}

    def add(self, values: np.ndarray) -> np.ndarray:
        """Watch more values; return the positions among them where drift was signalled. `warnings`: where a warning began."""
        values = np.ascontiguousarray(values, np.float64)
        if values.ndim != 1:
            raise ValueError(f"drift detector {self.name!r} expects one value an example, got an array of shape {values.shape}")
        self._refuse(values)
        marks = np.zeros(len(values), np.uint8)
        params = np.array([SIDES.get(v, v) if isinstance(v, str) else v for v in self.params.values()], np.float64)
        compiled(type(self).watch)(values, marks, params, *self.state.values())
        self.warnings = np.flatnonzero(marks == WARNING)
        return np.flatnonzero(marks == DRIFT)

    def _refuse(self, values: np.ndarray) -> None:
        fine = np.isfinite(values) & (values >= self.least) & (values <= self.most)
        if not fine.all():
            at = int(np.argmin(fine))
            wanted = "finite numbers" if math.isinf(self.most) else f"values from {self.least:g} to {self.most:g}"
            raise ValueError(f"drift detector {self.name!r} expects {wanted}, got {values[at]:g} at position {at}")

    def reset(self) -> None:
        """Forget everything."""
        self.state = self.fresh()
        self.warnings = np.zeros(0, np.int64)


class ADWIN(Detector):
    """Adaptive windowing.

    `delta` confidence, `clock` values between two checks, `max_buckets` of one size, `min_window` least length of a part,
    `grace` values before the first check, `restart` start over after a detection (otherwise drop the older part only), `side` which
    changes of the mean count: both, up, down.
    """

    name, watch = "adwin", adwin
    defaults = {
        "delta": 0.002,
        "clock": 32,
        "max_buckets": 5,
        "min_window": 5,
        "grace": 10,
        "restart": True,
        "side": "both",
    }
    ranges = {
        "delta": (1e-300, 1.0),
        "clock": (1, 1e9),
        "max_buckets": (2, 1000),
        "min_window": (1, 1e9),
        "grace": (2, 1e9),
        "restart": (0, 1),
    }

    def fresh(self) -> dict[str, np.ndarray]:
        """Return an empty window."""
        shape = (ROWS, self.params["max_buckets"] + 1)
        return {"s": np.zeros(4), "counts": np.zeros(ROWS, np.int64), "sums": np.zeros(shape), "spreads": np.zeros(shape)}

    @property
    def width(self) -> int:
        """Return the length of the window."""
        return int(self.state["s"][WIDTH])


class DDM(Detector):
    """Drift detection method: `warm_start` examples first; warn and signal at these numbers of deviations above the best."""

    name, watch, size, least, most = "ddm", ddm, 5, 0.0, 1.0
    defaults = {"warm_start": 30, "warning": 2.0, "drift": 3.0}
    ranges = {"warm_start": (1, 1e9), "warning": (0, 1e9), "drift": (0, 1e9)}


class EDDM(Detector):
    """Early drift detection method: `warm_start` errors first; warn and signal at these parts of the best distance."""

    name, watch, size, least, most = "eddm", eddm, 7, 0.0, 1.0
    defaults = {"warm_start": 30, "warning": 0.95, "drift": 0.9}
    ranges = {"warm_start": (1, 1e9), "warning": (0, 1), "drift": (0, 1)}

    def check(self) -> None:
        """A warning comes before a drift."""
        if self.params["warning"] < self.params["drift"]:
            raise ValueError(
                f"drift detector 'eddm': warning must not be below drift, got {self.params['warning']} and {self.params['drift']}"
            )

    def _refuse(self, values: np.ndarray) -> None:
        super()._refuse(values)
        between = (values != 0.0) & (values != 1.0)
        if between.any():
            at = int(np.argmax(between))
            raise ValueError(f"drift detector 'eddm' expects errors, 0 or 1, got {values[at]:g} at position {at}")


class PageHinkley(Detector):
    """Page-Hinkley test: `delta` allowed deviation, `threshold` of the sum, `alpha` forgetting, `side` both, up or down."""

    name, watch, size = "page_hinkley", page_hinkley, 6
    defaults = {"warm_start": 30, "delta": 0.005, "threshold": 50.0, "alpha": 0.9999, "side": "both"}
    ranges = {"warm_start": (1, 1e9), "delta": (0, 1e300), "threshold": (0, 1e300), "alpha": (0, 1)}


DETECTORS: dict[str, type[Detector]] = {d.name: d for d in (ADWIN, DDM, EDDM, PageHinkley)}


def detector(name: str, **params: Any) -> Detector:
    """Return a drift detector by name: adwin, ddm, eddm, page_hinkley."""
    if name not in DETECTORS:
        raise ValueError(f"unknown drift detector {name!r}; expected one of {', '.join(DETECTORS)}")
    return DETECTORS[name](**params)
