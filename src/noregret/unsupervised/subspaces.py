"""Bases that learn row by row: coordinates in a basis, and the thin SVD of a matrix that gains a row (Brand 2003).

Components are rows of V, the first r of them in use. All of it is compiled, and sums are taken in the same order whatever the split
of a stream into calls.
"""

from __future__ import annotations

import math

import numpy as np

from ..engine.compiling import compiled
from ..engine.words import strict
from ..spaces.orthogonal import product, rotate_rows, subtract

AGAIN = 0.1  # what is left of a row, as a share of its square: below it the residual is computed twice


def apart(x, mean, u):
    """Write u = x - mean."""
    for j in range(u.shape[0]):
        u[j] = x[j] - mean[j]


def toward(mean, x, c):
    """Do mean += c (x - mean)."""
    for j in range(mean.shape[0]):
        mean[j] += c * (x[j] - mean[j])


def times(c, x, out):
    """Write out = c x."""
    for j in range(out.shape[0]):
        out[j] = c * x[j]


def blend(a, x, b, y, out):
    """Write out = a x + b y."""
    for j in range(out.shape[0]):
        out[j] = a * x[j] + b * y[j]


def add_four(a, x, b, y, c, z, d, w, out):
    """Do out += a x + b y + c z + d w."""
    for j in range(out.shape[0]):
        out[j] += a * x[j] + b * y[j] + c * z[j] + d * w[j]


@strict
def taken(V, r, u, z):
    """Let each component take its share of u in turn, and write it into z; return what is left of u u."""
    for a in range(r):
        z[a] = product(V[a], u)
        subtract(u, z[a], V[a])
    return product(u, u)


@strict
def taken_again(V, r, u, z, whole, left):
    """Do it once more where little is left of the whole, which may not be orthogonal to V; return what is left then."""
    if left >= AGAIN * whole or left == 0.0:
        return left
    for a in range(r):
        c = product(V[a], u)
        subtract(u, c, V[a])
        z[a] += c
    return product(u, u)


@strict
def answered(x, V, r, mean, z, u):
    """Write the coordinates of a row, 0 for components there are not yet; return its squared residual."""
    apart(x, mean, u)
    left = taken(V, r, u, z)
    for a in range(r, z.shape[0]):
        z[a] = 0.0
    return left


@strict
def unfold(X, V, mean, r, Z, E, u):
    """Write the coordinates and the squared residual of each row."""
    for i in range(X.shape[0]):
        E[i] = answered(X[i], V, r, mean, Z[i], u)


@strict
def grow_basis(V, s, r, z, rho, u, G, Q, T, order):
    """Turn V and s into those of the matrix [diag(s) V; z V + rho u], and return how many components are kept.

    u is a unit vector orthogonal to V; rho = 0 says that the new row lies in the span of V. As many are kept as s has room for. The
    rows of G, taken in `order`, then are s_a times the left vectors.
    """
    new = r + 1 if rho > 0.0 else r
    for a in range(new):
        for b in range(r + 1):
            G[a, b] = 0.0
        for b in range(new):
            Q[a, b] = 0.0
        Q[a, a] = 1.0
    for a in range(r):
        G[a, a] = s[a]
        G[a, r] = z[a]
    if new > r:
        G[r, r] = rho
    rotate_rows(G[:new, : r + 1], Q[:new, :new])
    for a in range(new):  # largest first, by insertion: they are nearly in order
        z[a] = math.sqrt(product(G[a, : r + 1], G[a, : r + 1]))
        at = a
        while at > 0 and z[order[at - 1]] < z[a]:
            order[at] = order[at - 1]
            at -= 1
        order[at] = a
    kept = min(new, s.shape[0])
    while kept > 0 and not z[order[kept - 1]] > 0.0:
        kept -= 1
    for a in range(kept):
        b = order[a]
        if Q[b, a] < 0.0:  # a component stays on the side where it was: learners behind it go on
            times(-1.0, Q[b, :new], Q[b, :new])
            times(-1.0, G[b, : r + 1], G[b, : r + 1])
        times(Q[b, r] if new > r else 0.0, u, T[a])
        add_rows(V, Q[b], r, T[a])
    for a in range(max(kept, r)):
        times(1.0 if a < kept else 0.0, T[a], V[a])
        s[a] = z[order[a]] if a < kept else 0.0
    return kept


@strict
def add_rows(V, q, n, out):
    """Do out += sum_a q_a V_a over the first n rows of V."""
    a = 0
    while a + 4 <= n:
        add_four(q[a], V[a], q[a + 1], V[a + 1], q[a + 2], V[a + 2], q[a + 3], V[a + 3], out)
        a += 4
    while a < n:
        subtract(out, -q[a], V[a])
        a += 1


@strict
def merge_rows(X, V, s, mean, n, rank, fading, center, thr, Z, E, u, z, G, Q, T, order):
    """Learn rows by incremental PCA, one at a time; write the coordinates and the squared residual of each from before."""
    for i in range(X.shape[0]):
        r = rank[0]
        apart(X[i], mean, u)
        whole = product(u, u)
        left = taken(V, r, u, z)
        E[i] = left
        for a in range(Z.shape[1]):
            Z[i, a] = z[a] if a < r else 0.0
        left = taken_again(V, r, u, z, whole, left)
        if fading < 1.0:
            for a in range(r):
                s[a] *= math.sqrt(fading)
            n[0] *= fading
        g = math.sqrt(n[0] / (n[0] + 1.0)) if center else 1.0
        if center:
            toward(mean, X[i], 1.0 / (n[0] + 1.0))
        n[0] += 1.0
        rho = g * math.sqrt(left)
        if rho <= thr * math.sqrt(s[0] * s[0] + whole):
            rho = 0.0
        for a in range(r):
            z[a] *= g
        if g * g * whole > 0.0:
            times(1.0 / math.sqrt(left) if rho > 0.0 else 0.0, u, u)
            rank[0] = grow_basis(V, s, r, z, rho, u, G, Q, T, order)


@strict
def append_row(x, U, s, rank, beta, thr, u, z, G, Q, T, order):
    """Append a row to the matrix whose right vectors are the rows of U, those of long ago counting less (Brand 2003)."""
    r = rank[0]
    times(1.0, x, u)
    whole = product(u, u)
    left = taken_again(U, r, u, z, whole, taken(U, r, u, z))
    for a in range(r):
        s[a] *= beta
    rho = math.sqrt(left)
    if rho < thr * max(1.0, s[0]):
        rho = 0.0
    times(1.0 / rho if rho > 0.0 else 0.0, u, u)
    rank[0] = grow_basis(U, s, r, z, rho, u, G, Q, T, order)


@strict
def turn_left(V, n, r, new, s, G, order, w):
    """Turn the left vectors of n rows, and give the row that was appended its own, after `append_row`."""
    for i in range(n + 1):
        for a in range(new):
            g = G[order[a]]
            w[a] = g[r] if i == n else product(V[i, :r], g[:r])
        for a in range(V.shape[1]):
            V[i, a] = w[a] / s[a] if a < new else 0.0


@strict
def turned_rows(V, P, n, base, out):
    """Write the left vectors of n rows, with the turns in P that came since they were written to V."""
    for i in range(n):
        for a in range(out.shape[1]):
            out[i, a] = 0.0
        add_turns(V[i], P, base, out[i])


@strict
def add_turns(v, P, base, out):
    """Do out += v P over the first rows of P."""
    for b in range(base):
        subtract(out, -v[b], P[b])


@strict
def clear(nu, A, y):
    """Begin the equations (G'G + nu I) y = G'x without a known entry of x."""
    for a in range(y.shape[0]):
        y[a] = 0.0
        for b in range(y.shape[0]):
            A[a, b] = nu if a == b else 0.0


@strict
def take_known(j, value, U, s, n, A, y):
    """Take a known entry into the equations, G = U' diag(s)/sqrt(n)."""
    for a in range(y.shape[0]):
        g = U[a, j] * s[a] / math.sqrt(n)
        y[a] += g * value
        for b in range(a + 1):
            A[a, b] += g * (U[b, j] * s[b] / math.sqrt(n))


@strict
def solve(A, y):
    """Solve the equations, by Cholesky and two triangles; y becomes the solution."""
    r = y.shape[0]
    for a in range(r):
        for b in range(a + 1):
            c = A[a, b]
            for e in range(b):
                c -= A[a, e] * A[b, e]
            A[a, b] = math.sqrt(c) if a == b else c / A[b, b]
    for a in range(r):
        for b in range(a):
            y[a] -= A[a, b] * y[b]
        y[a] /= A[a, a]
    for k in range(r):
        a = r - 1 - k
        for b in range(a + 1, r):
            y[a] -= A[b, a] * y[b]
        y[a] /= A[a, a]


@strict
def expected(j, U, s, n, y):
    """Return what is expected of entry j."""
    f = 0.0
    for a in range(y.shape[0]):
        f += U[a, j] * s[a] / math.sqrt(n) * y[a]
    return f


@strict
def impute(x, U, s, n, nu, A, y):
    """Put the posterior mean of the unknown entries of x, which are NaN, in their place, given n rows so far.

    y solves (G'G + nu I) y = G'x over the known entries; return the squared residual of those.
    """
    clear(nu, A, y)
    for j in range(x.shape[0]):
        if x[j] == x[j]:
            take_known(j, x[j], U, s, n, A, y)
    solve(A, y)
    left = 0.0
    for j in range(x.shape[0]):
        f = expected(j, U, s, n, y)
        if x[j] == x[j]:
            left += (x[j] - f) * (x[j] - f)
        else:
            x[j] = f
    return left


@strict
def expect_some(known, x, wanted, U, s, n, nu, A, y, out):
    """Write what is expected of the wanted entries of a row whose known entries are x, at these places; sparse `impute`."""
    clear(nu, A, y)
    for k in range(known.shape[0]):
        take_known(known[k], x[k], U, s, n, A, y)
    solve(A, y)
    for k in range(wanted.shape[0]):
        out[k] = expected(wanted[k], U, s, n, y)


@strict
def answer_and_count(x, V, r, mean, n, center, z, u):
    """Do the same, then count the row, and let the mean follow."""
    left = answered(x, V, r, mean, z, u)
    n[0] += 1.0
    if center:
        toward(mean, x, 1.0 / n[0])
    return left


@strict
def ccipca_rows(X, V, s, mean, n, rank, amnesia, center, Z, E, u, w):
    """Learn rows by CCIPCA (Weng, Zhang, Hwang 2003): V_i is the direction of v_i, s_i its length."""
    for i in range(X.shape[0]):
        r = rank[0]
        E[i] = answer_and_count(X[i], V, r, mean, n, center, Z[i], u)
        apart(X[i], mean, u)
        whole = product(u, u)
        left = whole
        age = amnesia if n[0] > amnesia + 1.0 else 0.0
        for a in range(r):
            if not left > 1e-24 * whole:
                break
            y = product(u, V[a])
            blend((n[0] - 1.0 - age) / n[0] * s[a], V[a], (1.0 + age) / n[0] * y, u, w)
            length = math.sqrt(product(w, w))
            if length > 0.0:
                s[a] = length
                times(1.0 / length, w, V[a])
            subtract(u, product(u, V[a]), V[a])
            left = product(u, u)
        if r < s.shape[0] and left > 1e-24 * whole:
            s[r] = math.sqrt(left)
            times(1.0 / s[r], u, V[r])
            rank[0] = r + 1


def rate_of(eta, power, t, usual):
    """Return eta t^-power, for the powers 0, 1/2 and 1, or the usual step where eta is 0."""
    if eta == 0.0:
        return usual
    return eta / t if power == 1.0 else eta / math.sqrt(t) if power == 0.5 else eta


@strict
def oja_rows(X, V, s, mean, n, rank, squares, eta, power, center, Z, E, u, w):
    """Learn rows by Oja's rule with orthonormal components; s_i is the mean square of the i-th coordinate."""
    for i in range(X.shape[0]):
        r = rank[0]
        E[i] = answer_and_count(X[i], V, r, mean, n, center, Z[i], u)
        apart(X[i], mean, w)
        whole = product(w, w)
        squares[0] += whole
        if whole == 0.0:
            continue
        step = rate_of(eta, power, n[0], 5.0 * s.shape[0] / squares[0])
        for a in range(r):
            y = product(V[a], w)
            s[a] += (y * y - s[a]) / n[0]
            subtract(V[a], -step * y, w)
        times(1.0, w, u)
        for a in range(r):
            orthogonal_to(V, a)
            subtract(u, product(V[a], u), V[a])
        left = product(u, u)
        if r < s.shape[0] and left > 1e-8 * whole:
            s[r] = left / n[0]
            times(1.0 / math.sqrt(left), u, V[r])
            orthogonal_to(V, r)
            rank[0] = r + 1


@strict
def orthogonal_to(V, a):
    """Make V_a a unit vector orthogonal to those before it (Gram, Schmidt; twice, which is enough)."""
    for _ in range(2):
        for b in range(a):
            subtract(V[a], product(V[a], V[b]), V[b])
    length = math.sqrt(product(V[a], V[a]))
    times(1.0 / length, V[a], V[a])


def projected(X: np.ndarray, V: np.ndarray, mean: np.ndarray, r: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the coordinates of rows, one column for each row of V, and their squared residuals."""
    Z, E = np.zeros((len(X), len(V))), np.empty(len(X))
    compiled(unfold)(X, V, mean, r, Z, E, np.empty(X.shape[1]))
    return Z, E
