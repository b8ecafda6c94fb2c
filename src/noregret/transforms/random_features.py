"""Random features (Rahimi, Recht 2007): a linear learner behind them has the power of a kernel, at a cost that does not grow.

Every draw is a function of the seed, the coordinate and the place (see draws.py): a model is saved without them, features may be
new at any time, and rows are mapped one by one with sums in order, so that any split of a stream gives the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..engine.compiling import compiled
from ..engine.elementary import BEYOND, FAR, far_sine_cosine, sine_cosine
from ..engine.words import rare, strict
from ..inputs.checking import Rows
from ..parts.kernels import RBF, Cauchy, Laplacian
from ..spaces.orthogonal import orthonormal
from .draws import Draws, Grids, compiled_for, fill, phases
from .feature_map import FeatureMap, diameter, entries, hoeffding, kernel_among, whole

FORMS = ("paired", "phase")
GAUSS, LAPLACE = RBF(), Laplacian()


# ---- Fourier -------------------------------------------------------------------------------------------------------------
@strict
def add_rows(t, x, W, at, spare, m):
    """Add x_0 w_0 + x_1 w_1 + ... to t, in order: four rows in one walk are faster, and the same bits."""
    if m == 4:
        x0, x1, x2, x3 = x[0], x[1], x[2], x[3]
        w0 = W[at[0]] if at[0] >= 0 else spare[0]
        w1 = W[at[1]] if at[1] >= 0 else spare[1]
        w2 = W[at[2]] if at[2] >= 0 else spare[2]
        w3 = W[at[3]] if at[3] >= 0 else spare[3]
        for i in range(t.shape[0]):
            t[i] = (((t[i] + x0 * w0[i]) + x1 * w1[i]) + x2 * w2[i]) + x3 * w3[i]
        return
    for k in range(m):
        w = W[at[k]] if at[k] >= 0 else spare[k]
        for i in range(t.shape[0]):
            t[i] += x[k] * w[i]


@strict
def waves(t, cosines, sines, amplitude):
    """Write amplitude cos t and amplitude sin t; return whether all of t has digits left for that."""
    far = 0
    for i in range(t.shape[0]):
        s, c = sine_cosine(t[i])
        cosines[i] = amplitude * c
        sines[i] = amplitude * s
        far += not abs(t[i]) < FAR
    if far > 0:
        return far_waves(t, cosines, sines, amplitude)
    return True


@rare
@strict
def far_waves(t, cosines, sines, amplitude):
    """Write those beyond the reach of the quick sine."""
    for i in range(t.shape[0]):
        if not abs(t[i]) < BEYOND:
            return False
        if not abs(t[i]) < FAR:
            s, c = far_sine_cosine(t[i])
            cosines[i] = amplitude * c
            sines[i] = amplitude * s
    return True


@strict
def fourier(kind, seed, starts, indices, data, repeated, place, W, b, scale, amplitude, spare, at, x, t, sines, out):
    """Write the features of every row; return the first row whose w.x is too large, or -1."""
    D = t.shape[0]
    for r in range(starts.shape[0] - 1):
        for i in range(D):
            t[i] = 0.0
        base = starts[r] if repeated else 0
        m = 0
        for k in range(starts[r], starts[r + 1]):
            if data[k] != 0.0:
                j = indices[k - base]
                at[m] = place[j]
                x[m] = data[k]
                if at[m] < 0:
                    fill(kind, seed, j, spare[m])
                m += 1
                if m == 4:
                    add_rows(t, x, W, at, spare, 4)
                    m = 0
        add_rows(t, x, W, at, spare, m)
        for i in range(D):
            t[i] = t[i] * scale + b[i]
        if not waves(t, out[r, :D], out[r, D:] if out.shape[1] > D else sines, amplitude):
            return r
    return -1


class RandomFourier(FeatureMap):
    """Random Fourier features: z(x).z(y) is about k(x - y), a Gaussian, Laplacian or Cauchy kernel.

    w_1 ... w_D are drawn from the Fourier transform of k: normal, Cauchy or Laplace variables in each coordinate.

      paired  z(x) = (cos w_1.x, ..., cos w_D.x, sin w_1.x, ..., sin w_D.x) / sqrt(D), 2 D features of length 1 together
      phase   z(x) = sqrt(2 / D) (cos(w_1.x + b_1), ..., cos(w_D.x + b_D)), b uniform in [0, 2 pi], D features

    `orthogonal` makes the w of a Gaussian kernel orthogonal in blocks of as many as there are columns, each as long as a normal
    vector: a smaller error (Yu, Suresh, Choromanski, Holtmann-Rice, Kumar 2016). It needs dense rows, whose width is known, and its
    w are saved with the model; other draws are made again from the seed.

    Rows far from each other for the kernel have nothing in common: scale the columns, and begin with gamma about 1/(2 m^2), m the
    median distance of two rows. The error of a pair is more than e with a probability of at most 2 exp(-D e^2 / 2), in the phase
    form 2 exp(-D e^2 / 8).

    Rahimi, Recht (2007): Random features for large-scale kernel machines.

    >>> import noregret as nr
    >>> m = nr.pipeline(nr.Scale(), nr.RandomFourier(D=100, kernel=nr.RBF(0.5)), nr.PA1())
    >>> m.partial_fit([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]] * 50, [0, 0, 1, 1] * 50).score([[0, 0], [0, 1]], [0, 1])
    1.0
    >>> nr.RandomFourier(D=200).approximation_error([[0.0, 0.0], [1.0, 0.5], [0.3, 2.0]], pairs=10).max < 0.2
    True
    """

    cite = "rahimi2007"

    def __init__(self, D: int = 500, kernel: Any = GAUSS, form: str = "paired", orthogonal: bool = False, seed: int = 0) -> None:
        self.kernel = kernel_among(kernel, (RBF, Laplacian, Cauchy), "RandomFourier")
        if form not in FORMS:
            raise ValueError(f"form must be one of {', '.join(FORMS)}, got {form!r}")
        if orthogonal not in (True, False):
            raise ValueError(f"orthogonal must be True or False, got {orthogonal!r}")
        if orthogonal and not isinstance(kernel, RBF):
            raise ValueError(f"orthogonal weights are those of a Gaussian kernel, RBF(), not of {kernel!r}")
        self.D, self.form, self.orthogonal, self.seed = whole("D", D, 1), form, orthogonal, whole("seed", seed, 0)
        self._draws = Draws(type(kernel)(), int(seed), int(D))
        self._omega: np.ndarray | None = None  # weights that are not drawn one by one, a row for each column
        self._b: np.ndarray | None = None

    @property
    def outputs(self) -> int:
        """Features that go out."""
        return self._draws.size * (2 if self.form == "paired" else 1)

    @property
    def nbytes(self) -> int:
        """Bytes of the weights and angles drawn."""
        return self._draws.nbytes + sum(a.nbytes for a in (self._omega, self._b) if a is not None)

    @property
    def _scale(self) -> float:
        """What makes weights for this gamma of those for a scale of 1."""
        gamma = float(self.kernel.gamma)
        return gamma if isinstance(self.kernel, Laplacian) else math.sqrt(2.0 * gamma if isinstance(self.kernel, RBF) else gamma)

    def rows(self, rows: Rows, learn: bool, measured: np.ndarray | None = None) -> Rows:
        """Return the features of rows; nothing is learned, but orthogonal weights keep to the width of the first rows."""
        found, D = entries(rows), self._draws.size
        place, W = self._weights(rows, found.indices, learn)
        out = np.empty((rows.n, self.outputs))
        spare = np.empty((4, D)), np.empty(4, np.int64), np.empty(4), np.empty(D), np.empty(D)
        amplitude = math.sqrt((1.0 if self.form == "paired" else 2.0) / D)
        run = compiled_for(fourier, self._draws.kind)
        bad = run(self._draws.seed, *found, place, W, self._phases(), self._scale, amplitude, *spare, out)
        if bad >= 0:
            raise ValueError(
                f"row {bad} has w.x beyond {BEYOND:g} in size, of which a cosine keeps no digit. Scale the columns, "
                "or give a smaller gamma."
            )
        return Rows("dense", (out,), rows.n, self.outputs)

    def _weights(self, rows: Rows, indices: np.ndarray, learn: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return where the weights of each coordinate are, and the weights."""
        omega = self._omega
        if omega is None and not self.orthogonal:
            return self._draws.ready(indices, rows.width, rows.layout == "dense")
        if omega is None:
            if rows.layout != "dense":
                raise ValueError("orthogonal weights need dense rows, whose width is known; give an array, or orthogonal=False")
            omega = orthogonal(rows.width, self._draws)
            self._omega = omega if learn else None
        if rows.width != len(omega):
            raise ValueError(f"X has {rows.width} features, but RandomFourier is expecting {len(omega)} features as input")
        return np.arange(len(omega), dtype=np.int32), omega

    def _phases(self) -> np.ndarray:
        """Return the angles of the phase form, 0 in the other."""
        if self._b is None:
            b = np.zeros(self.D)
            if self.form == "phase":
                compiled(phases)(self._draws.seed, b)
            self._b = b
        return self._b

    def _bounds(self, rows: Rows, z: Rows, a: np.ndarray, b: np.ndarray, delta: float) -> tuple[float | None, float | None]:
        """Return the bounds of H.1; none for orthogonal weights, which are not independent."""
        if self._omega is not None or self.orthogonal:
            return None, None
        pointwise = hoeffding(self.D, 2.0 if self.form == "paired" else 4.0, delta)
        if isinstance(self.kernel, Laplacian) or self.form != "paired":
            return pointwise, None  # the weights of a Laplacian kernel have no variance
        d = rows.width if rows.layout == "dense" else len(np.unique(entries(rows).indices))
        return pointwise, uniform_bound(self.D, d, math.sqrt(2.0 * self.kernel.gamma * d) * diameter(rows), delta)

    def mark(self, rows: Rows) -> np.ndarray | None:
        """Return the weights that keep to a width."""
        return self._omega

    def back(self, mark: np.ndarray | None) -> None:
        """Restore them."""
        self._omega = mark

    def merge(self, other: Any, numbers: np.ndarray | None = None) -> None:
        """Refuse a map with other draws."""
        super().merge(other, numbers)
        if self._omega is not None and other._omega is not None and not np.array_equal(self._omega, other._omega):
            raise ValueError("cannot merge features of different weights")
        self._omega = other._omega if self._omega is None else self._omega

    def state(self) -> dict[str, np.ndarray]:
        """Return the weights that cannot be drawn again one by one."""
        return {} if self._omega is None else {"omega": self._omega}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Take them."""
        omega = state.get("omega")
        if omega is None:
            return
        sound = omega.ndim == 2 and omega.shape[1] == self.D and omega.dtype == np.float64 and np.isfinite(omega).all()
        if not sound or len(omega) == 0:
            raise ValueError(f"expected finite weights, {self.D} for each column, found an array of shape {omega.shape}")
        self._omega = np.ascontiguousarray(omega)


def orthogonal(d: int, draws: Draws) -> np.ndarray:
    """Return weights for a scale of 1, orthogonal in blocks of d, each as long as an independent normal vector."""
    _, normal = draws.ready(np.arange(2 * d), 2 * d, True)
    blocks = [orthonormal(normal[:d, a : a + d]) for a in range(0, draws.size, d)]
    lengths = np.sqrt(np.square(normal[d : 2 * d]).sum(0))
    return np.ascontiguousarray(np.concatenate(blocks, axis=1) * lengths)


def uniform_bound(D: int, d: int, reach: float, delta: float) -> float:
    """Return e with 2^8 (reach / e)^2 exp(-D e^2 / (4 (d + 2))) = delta; reach is sigma_p times the diameter.

    The left side falls in e, so halving finds it.
    """
    if reach == 0.0:
        return 0.0

    def excess(e: float) -> float:
        return math.log(256.0 / delta) + 2.0 * math.log(reach / e) - D * e * e / (4.0 * (d + 2))

    low, high = 0.0, 1.0
    while excess(high) > 0.0:
        low, high = high, 2.0 * high
    while high - low > 1e-12 * high:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if excess(middle) > 0.0 else (low, middle)
    return high


# ---- binning -------------------------------------------------------------------------------------------------------------
def stirred(h):
    """Return 64 bits stirred (the last step of MurmurHash3)."""
    h = (h ^ ((h >> 33) & 0x7FFFFFFF)) * -49064778989728563
    h = (h ^ ((h >> 33) & 0x7FFFFFFF)) * -4265267296055464877
    return h ^ ((h >> 33) & 0x7FFFFFFF)


@strict
def binned(kind, seed, starts, indices, data, repeated, place, W, sigma, block, spare, bins, sums, out):
    """Write the columns of every row, one for each grid; return the first row that overflows, or -1.

    A coordinate of 0 is in bin 0 of every grid. Bins other than 0 are hashed with their coordinate and added up, so that what is
    not stored costs nothing, and columns that come later change nothing.
    """
    P = sums.shape[0]
    for r in range(starts.shape[0] - 1):
        for p in range(P):
            sums[p] = 0
        base = starts[r] if repeated else 0
        for k in range(starts[r], starts[r + 1]):
            if data[k] == 0.0:
                continue
            j = indices[k - base]
            if place[j] < 0:
                fill(kind, seed, j, spare)
            w = W[place[j]] if place[j] >= 0 else spare
            far = 0
            for p in range(P):
                bins[p] = np.ceil(data[k] / (sigma * w[p]) - w[P + p])
                far += 0 if abs(bins[p]) < 9007199254740992.0 else 1
            if far:
                return r
            own = stirred(j + 1)
            for p in range(P):
                mark = stirred(np.int64(bins[p]) ^ own)
                sums[p] += mark if bins[p] != 0.0 else 0
        for p in range(P):
            out[r * P + p] = p * block + ((stirred(sums[p]) >> 1) & 0x7FFFFFFFFFFFFFFF) % block
    return -1


class RandomBinning(FeatureMap):
    """Random binning features: z(x).z(y) is the share of P random grids in which x and y fall into one bin, about k(x - y).

    For each grid and coordinate a width delta is drawn, for the Laplacian kernel exp(-|x - y|_1 / sigma) from delta exp(-delta /
    sigma) / sigma^2, and a shift u uniform in [0, delta). The bin of x is the vector of ceil((x_j - u_j) / delta_j); z has a
    1 / sqrt(P) in its column, P of them in all. Each grid has 2^bits / P columns, into which its bins are hashed; bins that meet
    there count as one, which adds P / 2^bits to the kernel. gamma is 1 / sigma. The Gaussian kernel is not a mixture of such grids.

    Rows are sparse, so learners cost O(P), however fine the grids are. Binning suits kernels that decide by near neighbours, where
    Fourier features need very many. The error of a pair is more than e with a probability of at most 2 exp(-2 P e^2).

    Rahimi, Recht (2007): Random features for large-scale kernel machines, section 4.

    >>> import noregret as nr
    >>> z = nr.RandomBinning(P=4, kernel=nr.Laplacian(0.5), bits=10).transform([[0.1, 0.2], [0.1, 0.2], [9.0, -9.0]])
    >>> (z @ z.T).toarray().round(9).tolist()
    [[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """

    cite = "rahimi2007"

    def __init__(self, P: int = 50, kernel: Any = LAPLACE, bits: int = 20, seed: int = 0) -> None:
        self.kernel = kernel_among(kernel, (Laplacian,), "RandomBinning")
        self.P, self.bits, self.seed = whole("P", P, 1), whole("bits", bits, 1, 28), whole("seed", seed, 0)
        if self.outputs < self.P:
            raise ValueError(f"expected at least a column for each of {P} grids, got 2^{bits}: give more bits or fewer grids")
        self._draws = Draws(Grids(), int(seed), 2 * int(P))

    @property
    def outputs(self) -> int:
        """Features that go out."""
        return 1 << int(self.bits)

    @property
    def stored(self) -> int:
        """Numbers stored in a row that goes out."""
        return self._draws.size // 2

    @property
    def nbytes(self) -> int:
        """Bytes of the widths and shifts drawn."""
        return self._draws.nbytes

    def rows(self, rows: Rows, learn: bool, measured: np.ndarray | None = None) -> Rows:
        """Return the features of rows; nothing is learned."""
        found, P = entries(rows), self.stored
        place, W = self._draws.ready(found.indices, rows.width, found.repeated)
        at = np.empty(rows.n * P, np.uint32)
        spare = np.empty(2 * P), np.empty(P), np.empty(P, np.int64)
        run = compiled_for(binned, Grids())
        bad = run(self._draws.seed, *found, place, W, 1.0 / float(self.kernel.gamma), self.outputs // P, *spare, at)
        if bad >= 0:
            raise ValueError(f"row {bad} falls into a bin beyond 2^53; rescale the columns, or give a smaller gamma")
        return Rows("csr", (np.arange(rows.n + 1) * P, at, np.full(rows.n * P, 1.0 / math.sqrt(P))), rows.n, self.outputs)

    def _bounds(self, rows: Rows, z: Rows, a: np.ndarray, b: np.ndarray, delta: float) -> tuple[float | None, float | None]:
        """Return Hoeffding's bound for shares of grids, and what bins that meet may add."""
        return hoeffding(self.P, 1.0, delta) + 1.0 / (self.outputs // self.P), None
