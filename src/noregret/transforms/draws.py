"""Draws by coordinate: numbers that depend on the seed, the coordinate and the place alone, never on what was drawn before.

So features may come in any order and in any number, and a model is saved without its draws: they are made again from the seed.
The generator is Philox, a function of a counter and a key that needs no state. What becomes of its bits is written here, so that
no other library decides on it.
"""

from __future__ import annotations

import inspect
import math
import threading
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from ..engine import compiling
from ..engine.elementary import log, sine_cosine, tan
from ..engine.philox import MASK, philox, units
from ..engine.words import rare, strict, word
from ..parts.kernels import RBF, Cauchy, Laplacian

MOST = 1 << 24  # numbers kept for sparse rows (128 MB); what has no room is drawn again each time
WEIGHTS, PHASES, WIDTHS, SHIFTS = range(4)  # what is drawn, the second number of a counter

_drawing = threading.Lock()


class Grids(NamedTuple):
    """Widths and shifts of random grids, for widths of mean 2."""


# ---- compiled code that a kernel or another kind decides ---------------------------------------------------------------
@cache
def _built(fn: Any, kind: Any, interpreting: bool) -> Any:
    args = list(inspect.signature(fn).parameters)[1:]
    fields = [f"p_{f}" for f in kind._fields]
    call = f"fn(Kind({', '.join(fields)}), {', '.join(args)})"
    text = f"@jit\ndef run({', '.join([*fields, *args])}):\n    return {call}\n"
    return compiling.build(f"{fn.__name__}_{kind.__name__.lower()}", text, {"fn": fn, "Kind": kind})["run"]


def compiled_for(fn: Any, given: Any) -> Any:
    """Return fn(given, ...) compiled for the kind of `given`, of which only the numbers are passed."""
    kind: Any = type(given)
    return partial(_built(fn, kind, compiling.interpreting()), *map(float, given))


# ---- numbers -----------------------------------------------------------------------------------------------------------
def uniforms(seed, what, j, k):
    """Return the k-th two numbers of coordinate j, uniform in (0, 1), neither 0 nor 1."""
    a, b, c, d = philox(k, what, j & MASK, j >> 32, seed & MASK, (seed >> 32) & MASK)
    return units(a, b, c, d)


@strict
@word
def pair(kernel, u, v):
    """Return two weights whose law is the Fourier transform of the kernel with gamma such that its scale is 1."""


@pair.on(RBF)
def pair_rbf(kernel, u, v):
    r = math.sqrt(-2.0 * log(u))  # normal (Box, Muller 1958)
    s, c = sine_cosine(2.0 * math.pi * v)
    return r * c, r * s


@pair.on(Laplacian)
def pair_laplacian(kernel, u, v):
    return tan(math.pi * (u - 0.5)), tan(math.pi * (v - 0.5))  # Cauchy


@pair.on(Cauchy)
def pair_cauchy(kernel, u, v):
    return two_sided(u), two_sided(v)


def two_sided(u):
    """Return a Laplace variable."""
    return log(2.0 * u) if u < 0.5 else -log(2.0 * (1.0 - u))


# ---- rows of draws -----------------------------------------------------------------------------------------------------
@rare
@word
def fill(kind, seed, j, out):
    """Write all draws of coordinate j."""


@fill.on(RBF)
@fill.on(Laplacian)
@fill.on(Cauchy)
def fill_rbf(kind, seed, j, out):
    for i in range(0, out.shape[0], 2):
        u, v = uniforms(seed, WEIGHTS, j, i >> 1)
        a, b = pair(kind, u, v)
        out[i] = a
        if i + 1 < out.shape[0]:
            out[i + 1] = b


@fill.on(Grids)
def fill_grids(kind, seed, j, out):
    """Widths by the gamma law of shape 2, then shifts as shares of them."""
    P = out.shape[0] >> 1
    for i in range(P):
        u, v = uniforms(seed, WIDTHS, j, i)
        out[i] = -log(u) - log(v)
        u, v = uniforms(seed, SHIFTS, j, i)
        out[P + i] = u


def fill_rows(kind, seed, features, out):
    """Write the draws of several coordinates, each in a row."""
    for k in range(features.shape[0]):
        fill(kind, seed, features[k], out[k])


def phases(seed, out):
    """Write angles, uniform in (0, 2 pi)."""
    for i in range(out.shape[0]):
        u, _ = uniforms(seed, PHASES, 0, i)
        out[i] = 2.0 * math.pi * u


class Draws:
    """Rows of draws by coordinate, made when first needed. They may be used in several threads."""

    def __init__(self, kind: Any, seed: int, size: int) -> None:
        self.kind, self.seed, self.size = kind, seed, size
        self.place = np.empty(0, np.int32)  # of a coordinate among the rows kept, -1 for none
        self.kept = np.empty((0, size))
        self.count = 0

    @property
    def nbytes(self) -> int:
        """Bytes of the draws kept, and of the places of coordinates among them."""
        return self.place.nbytes + self.kept.nbytes

    def ready(self, features: np.ndarray, width: int, all_: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return places and rows with the draws of these coordinates: of all, or of as many as are kept for sparse rows."""
        with _drawing:
            if width > len(self.place):
                wider = np.full(max(width, min(2 * len(self.place), 2 * width)), -1, np.int32)
                wider[: len(self.place)] = self.place
                self.place = wider
            new = features[self.place[features] < 0]
            if len(new):
                new = np.unique(new)
                self._keep(new if all_ else new[: max(0, MOST // self.size - self.count)])
            return self.place, self.kept

    def _keep(self, new: np.ndarray) -> None:
        """Draw and keep; rows that others read stay as they are."""
        count = self.count + len(new)
        if count > len(self.kept):
            wider = np.empty((max(count, min(2 * len(self.kept), 2 * count)), self.size))
            wider[: self.count] = self.kept[: self.count]
            self.kept = wider
        compiled_for(fill_rows, self.kind)(self.seed, new, self.kept[self.count : count])
        self.place[new] = np.arange(self.count, count)
        self.count = count
