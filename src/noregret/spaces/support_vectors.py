"""Support vectors: how they are kept, and how an example meets all of them at once.

A kernel is known by three words. Each vector has a measure, the sum of `own` over its coordinates; two vectors meet in the sum of
`cross`, which is 0 where either coordinate is; `value` makes k(a, b) of that sum and the two measures. Inner products, distances
and coordinatewise differences are all of this form, and a sparse row costs its non-zeros.

Packed keeps a column for each vector, so that the inner loop runs over vectors in neighbouring cells. Ragged keeps the non-zeros,
one row after the other: adding a vector costs its non-zeros, whatever the number of features. Objects keeps anything at all, for
kernels that are Python functions; it is only interpreted.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray

from ..engine.words import rare, word
from .examples import Biased, item, nnz


# ---- kernels ---------------------------------------------------------------------------------------------------------
@word
def own(kernel, v):
    """Return what a coordinate v adds to the measure of a vector."""


@word
def cross(kernel, a, b):
    """Return what a coordinate adds to the meeting of two vectors: 0 if it is 0 in either."""


@word
def value(kernel, s, a, b):
    """Return k(a, b), given the sum of crosses and the measures of a and b."""


@word
def alone(kernel, a):
    """Return k(a, a), given the measure of a."""


class Function(NamedTuple):
    """A kernel that is a Python function of two objects. The measure of an object is k(a, a)."""

    k: Any


@alone.on(Function)
def alone_function(kernel, a):
    return a


@word
def total(kernel, x):
    """Return the measure of a row."""


@total.on(object)
def total_any(kernel, x):
    g = 0.0
    for k in range(nnz(x)):
        _, v = item(x, k)
        g += own(kernel, v)
    return g


@total.on(object, Biased)
def total_biased(kernel, x):
    return total(kernel, x.x) + own(kernel, 1.0)


# ---- stores ----------------------------------------------------------------------------------------------------------
class Packed(NamedTuple):
    """Vectors as columns."""

    sv: ndarray  # (feature, slot)
    g: ndarray  # (slot,) measures
    z: ndarray  # (feature,) scratch: one vector

    def vectors(self, order: ndarray, d: int) -> Any:
        """Return the vectors in this order as rows of d features."""
        return np.ascontiguousarray(self.sv[:d, order].T)

    def sound(self, n: int) -> bool:
        """Return whether compiled code that trusts n vectors stays inside the arrays."""
        return n <= len(self.g)


class Ragged(NamedTuple):
    """Vectors as non-zeros."""

    idx: ndarray  # (cell,) coordinates
    val: ndarray  # (cell,) values
    start: ndarray  # (slot,) where each vector begins
    end: ndarray  # (slot,) and ends
    used: ndarray  # cells in use, gaps included
    g: ndarray  # (slot,) measures
    z: ndarray  # (feature,) scratch: one vector, all zeros between uses
    cap: Any  # Capped, or Free

    def vectors(self, order: ndarray, d: int) -> Any:
        """Return the vectors in this order as a CSR matrix of d features."""
        from scipy.sparse import csr_matrix

        at, indptr = self._cells(order)
        return csr_matrix((self.val[at], self.idx[at].astype(np.int64), indptr), shape=(len(order), d))

    def _cells(self, order: ndarray) -> tuple[ndarray, ndarray]:
        """Return the cells of these vectors, one after the other, and where each vector ends there."""
        sizes = (self.end - self.start)[order]
        indptr = np.concatenate([[0], np.cumsum(sizes)])
        return np.arange(indptr[-1]) + np.repeat(self.start[order] - indptr[:-1], sizes), indptr

    def close_gaps(self, n: int) -> None:
        """Move the cells of the n vectors together."""
        order = np.argsort(self.start[:n], kind="stable")
        at, indptr = self._cells(order)
        self.idx[: len(at)], self.val[: len(at)] = self.idx[at], self.val[at]
        self.start[order], self.end[order] = indptr[:-1], indptr[1:]
        self.used[0] = len(at)

    def sound(self, n: int) -> bool:
        """Return whether compiled code that trusts n vectors stays inside the arrays."""
        used = int(self.used[0])
        if not (n <= len(self.g) and 0 <= used <= len(self.idx)):
            return False
        inside = (self.start[:n] >= 0) & (self.start[:n] <= self.end[:n]) & (self.end[:n] <= used)
        if not (inside.all() and (self.idx[:used] < len(self.z)).all()):
            return False
        live = int((self.end[:n] - self.start[:n]).sum())
        return not isinstance(self.cap, Capped) or (live == self.cap.live[0] and not crowded(self, n))


class Free(NamedTuple):
    """No limit in bytes."""


class Capped(NamedTuple):
    """A limit in bytes: what n vectors and their cells take, one vector more and `spare` included, is at most `room`.

    So the newest row has a place, however full the store is, and arrays need dividing again only now and then.
    """

    live: ndarray  # cells of the vectors
    vector: float  # bytes for each vector
    pair: float  # and for each pair of them
    cell: float  # and for each cell
    room: float
    spare: float

    def divided(self, n: int, row: int) -> tuple[int, int]:
        """Return how many vectors and cells to have arrays for: n vectors, a row to come, and the rest in the same proportion."""
        live, row = int(self.live[0]), min(row, int(self.spare // self.cell))
        mean = max(1.0, live / n if n else float(row))
        slots, high = n + 1, n + 2
        while taken(self, high, live + (high - n) * mean) <= self.room:
            slots, high = high, 2 * high
        while high - slots > 1:
            middle = (slots + high) // 2
            slots, high = (middle, high) if taken(self, middle, live + (middle - n) * mean) <= self.room else (slots, middle)
        if self._cells(slots) < live + row:
            slots = n + 1
        if self._cells(slots) < live + row:
            raise ValueError("the budget keeps more than its bytes: `maintain` has to remove vectors while over(w)")
        return slots, self._cells(slots)

    def _cells(self, slots: int) -> int:
        return int((self.room - taken(self, slots, 0)) // self.cell)


class Objects(NamedTuple):
    """Vectors that are any objects, met by a Python function."""

    sv: ndarray  # (slot,) of objects
    g: ndarray  # (slot,) k of each with itself

    def vectors(self, order: ndarray, d: int) -> Any:
        """Return the objects in this order."""
        return [self.sv[i] for i in order]

    def sound(self, n: int) -> bool:
        """Return whether there are n objects."""
        return n <= len(self.sv)


@word
def meet(S, kernel, n, out, x):
    """Fill out[i] = k(vector i, x) for i < n."""


@word
def meet_own(S, kernel, n, out, r):
    """Fill out[i] = k(vector i, vector r) for i < n."""


@word
def alone_at(S, kernel, x):
    """Return k(x, x)."""


@word
def put(S, kernel, i, x):
    """Write the row as vector i."""


@word
def move(S, i, r):
    """Let vector i take the place of vector r."""


@word
def crowded(S, n):
    """Return whether n vectors with the present cells exceed the limit in bytes."""


@word
def crowding(S, n, x):
    """Return whether they would if the row were one of them."""


@word
def storable(S, x):
    """Return whether the row may be stored at all."""


@word
def leave(S, r):
    """Note that vector r is about to be removed."""


@crowded.on(object)
def crowded_any(S, n):
    return False


@crowding.on(object)
def crowding_any(S, n, x):
    return False


@storable.on(object)
def storable_any(S, x):
    return True


@leave.on(object)
def leave_any(S, r):
    pass


# ---- packed ----------------------------------------------------------------------------------------------------------
@word
def accumulate(sv, kernel, n, out, x):
    """Do out[i] += the sum of crosses of column i and x, for i < n."""


@accumulate.on(ndarray)
def accumulate_array(sv, kernel, n, out, x):
    for k in range(nnz(x)):
        j, v = item(x, k)
        for i in range(n):
            out[i] += cross(kernel, sv[j, i], v)


@accumulate.on(ndarray, object, object, ndarray, ndarray)
def accumulate_array_array_array(sv, kernel, n, out, x):  # four features at a time: `out` is loaded and stored a quarter as often
    d = x.shape[0]
    for j in range(0, d - 3, 4):
        a, b, c, e = float(x[j]), float(x[j + 1]), float(x[j + 2]), float(x[j + 3])
        for i in range(n):
            out[i] += (
                cross(kernel, sv[j, i], a)
                + cross(kernel, sv[j + 1, i], b)
                + cross(kernel, sv[j + 2, i], c)
                + cross(kernel, sv[j + 3, i], e)
            )
    for j in range(d - d % 4, d):
        a = float(x[j])
        for i in range(n):
            out[i] += cross(kernel, sv[j, i], a)


@accumulate.on(ndarray, object, object, ndarray, Biased)
def accumulate_array_array_biased(sv, kernel, n, out, x):
    accumulate(sv, kernel, n, out, x.x)
    for i in range(n):
        out[i] += cross(kernel, sv[x.j, i], 1.0)


@rare
def fill_packed(S, kernel, n, out, g, x):
    """Fill out[i] = k(vector i, x), given the measure of x."""
    for i in range(n):
        out[i] = 0.0
    accumulate(S.sv, kernel, n, out, x)
    for i in range(n):
        out[i] = value(kernel, out[i], S.g[i], g)


@meet.on(Packed)
def meet_packed(S, kernel, n, out, x):
    fill_packed(S, kernel, n, out, total(kernel, x), x)


@meet_own.on(Packed)
def meet_own_packed(S, kernel, n, out, r):
    for j in range(S.z.shape[0]):
        S.z[j] = S.sv[j, r]
    fill_packed(S, kernel, n, out, S.g[r], S.z)


@alone_at.on(object)
def alone_at_any(S, kernel, x):
    return alone(kernel, total(kernel, x))


@put.on(Packed)
def put_packed(S, kernel, i, x):
    for j in range(S.sv.shape[0]):
        S.sv[j, i] = 0.0
    for k in range(nnz(x)):
        j, v = item(x, k)
        S.sv[j, i] = v
    S.g[i] = total(kernel, x)


@move.on(Packed)
def move_packed(S, i, r):
    for j in range(S.sv.shape[0]):
        S.sv[j, r] = S.sv[j, i]
    S.g[r] = S.g[i]


# ---- ragged ----------------------------------------------------------------------------------------------------------
@rare
def fill_ragged(S, kernel, n, out, g):
    """Fill out[i] = k(vector i, z), given the measure of z."""
    for i in range(n):
        s = 0.0
        for k in range(np.uintp(S.start[i]), np.uintp(S.end[i])):
            s += cross(kernel, float(S.val[k]), S.z[S.idx[k]])
        out[i] = value(kernel, s, S.g[i], g)


@meet.on(Ragged)
def meet_ragged(S, kernel, n, out, x):
    for k in range(nnz(x)):
        j, v = item(x, k)
        S.z[j] = v
    fill_ragged(S, kernel, n, out, total(kernel, x))
    for k in range(nnz(x)):
        j, v = item(x, k)
        S.z[j] = 0.0


@meet_own.on(Ragged)
def meet_own_ragged(S, kernel, n, out, r):
    for k in range(S.start[r], S.end[r]):
        S.z[S.idx[k]] = S.val[k]
    fill_ragged(S, kernel, n, out, S.g[r])
    for k in range(S.start[r], S.end[r]):
        S.z[S.idx[k]] = 0.0


@put.on(Ragged)
def put_ragged(S, kernel, i, x):
    n = S.used[0]
    S.start[i] = n
    for k in range(nnz(x)):
        j, v = item(x, k)
        if v != 0.0:
            S.idx[n] = j
            S.val[n] = v
            n += 1
    S.end[i] = n
    S.used[0] = n
    S.g[i] = total(kernel, x)
    count(S.cap, S.end[i] - S.start[i])


@move.on(Ragged)
def move_ragged(S, i, r):
    S.start[r] = S.start[i]
    S.end[r] = S.end[i]
    S.g[r] = S.g[i]


@leave.on(Ragged)
def leave_ragged(S, r):
    count(S.cap, S.start[r] - S.end[r])


@word
def count(cap, cells):
    """Count `cells` more cells."""


@word
def beyond(cap, n, cells):
    """Return whether n vectors and `cells` additional cells exceed the limit."""


@word
def small(cap, x):
    """Return whether the row always fits."""


@crowded.on(Ragged)
def crowded_ragged(S, n):
    return beyond(S.cap, n, 0)


@crowding.on(Ragged)
def crowding_ragged(S, n, x):
    return beyond(S.cap, n, nonzeros(x))


@storable.on(Ragged)
def storable_ragged(S, x):
    return small(S.cap, x)


@count.on(Free)
def count_free(cap, cells):
    pass


@beyond.on(Free)
def beyond_free(cap, n, cells):
    return False


@small.on(Free)
def small_free(cap, x):
    return True


@count.on(Capped)
def count_capped(cap, cells):
    cap.live[0] += cells


@beyond.on(Capped)
def beyond_capped(cap, n, cells):
    return taken(cap, n + 1, cap.live[0] + cells) + cap.spare > cap.room


@small.on(Capped)
def small_capped(cap, x):
    return cap.cell * nonzeros(x) <= cap.spare


def taken(cap, slots, cells):
    """Return the bytes of arrays of these sizes."""
    return cap.vector * slots + cap.pair * slots * slots + cap.cell * cells


def nonzeros(x):
    """Return how many coordinates of the row are not 0."""
    n = 0
    for k in range(nnz(x)):
        _, v = item(x, k)
        if v != 0.0:
            n += 1
    return n


# ---- objects ---------------------------------------------------------------------------------------------------------
@meet.on(Objects)
def meet_objects(S, kernel, n, out, x):
    for i in range(n):
        out[i] = kernel.k(S.sv[i], x.val[0])


@meet_own.on(Objects)
def meet_own_objects(S, kernel, n, out, r):
    for i in range(n):
        out[i] = kernel.k(S.sv[i], S.sv[r])


@alone_at.on(Objects)
def alone_at_objects(S, kernel, x):
    return kernel.k(x.val[0], x.val[0])


@put.on(Objects)
def put_objects(S, kernel, i, x):
    S.sv[i] = x.val[0]
    S.g[i] = kernel.k(x.val[0], x.val[0])


@move.on(Objects)
def move_objects(S, i, r):
    S.sv[r] = S.sv[i]
    S.sv[i] = 0
    S.g[r] = S.g[i]


@leave.on(Objects)
def leave_objects(S, r):
    S.sv[r] = 0  # nothing holds an object that has gone
