"""Sparse codes, min over a of |x - D'a|^2/2 + lambda |a|_1, by coordinate descent or by LARS, and dictionaries for them.

Atoms are rows of D, G = D D' their products, c = D x. All of it is compiled.
"""

from __future__ import annotations

import math

from ..engine.words import strict
from ..spaces.orthogonal import product, subtract
from .subspaces import add_rows, times

SWEEPS = 1000  # the limit of coordinate descent
FEW = 2  # of them after a code has joined
TOLERANCE = 1e-8  # of the largest change of a code in a sweep, relative to the largest code
UNUSED = 1000  # signals after which an atom without use is put elsewhere


def shrunken(v, lambda_, positive):
    """Return v, shrunk toward 0 by lambda."""
    if v > lambda_:
        return v - lambda_
    return v + lambda_ if v < -lambda_ and not positive else 0.0


@strict
def descend(G, q, a, r, lambda_, positive):
    """Sweep once over the codes, q = c - G a with them; return the largest change relative to the largest code."""
    most, size = 0.0, 0.0
    for j in range(r):
        g = G[j, j]
        if g > 0.0 and (a[j] != 0.0 or abs(q[j]) > lambda_):
            new = shrunken(q[j] + g * a[j], lambda_, positive) / g
            if new != a[j]:
                most = max(most, abs(new - a[j]))
                subtract(q[:r], new - a[j], G[j, :r])
                a[j] = new
            size = max(size, abs(new))
    return most / size if size > 0.0 else 0.0


@strict
def descend_among(G, q, a, r, lambda_, positive, sweeps, active, H, w, b):
    """Sweep over the codes that are not 0, until they stay or often enough, on their own products H; let q follow."""
    m = 0
    for j in range(r):
        if a[j] != 0.0:
            active[m] = j
            w[m], b[m] = q[j], a[j]
            m += 1
    for i in range(m):
        for e in range(m):
            H[i, e] = G[active[i], active[e]]
    for _ in range(sweeps):
        if descend(H, w, b, m, lambda_, positive) <= TOLERANCE:
            break
    for i in range(m):
        j = active[i]
        if b[i] != a[j]:
            subtract(q[:r], b[i] - a[j], G[j, :r])
            a[j] = b[i]


@strict
def next_code(G, q, a, r, lambda_, positive):
    """Return the code that is 0 and should be so least, -1 where there is none."""
    most, at = lambda_ * (1.0 + TOLERANCE), -1
    for j in range(r):
        v = q[j] if positive else abs(q[j])
        if v > most and a[j] == 0.0 and G[j, j] > 0.0:
            most, at = v, j
    return at


@strict
def code_by_descent(G, q, a, r, lambda_, positive, active, b, H, w):
    """Write the code into a; q is c = D x, and becomes c - G a. Codes join one by one, the worst first."""
    for j in range(a.shape[0]):
        a[j] = 0.0
    for _ in range(SWEEPS):
        j = next_code(G, q, a, r, lambda_, positive)
        if j < 0:
            descend_among(G, q, a, r, lambda_, positive, SWEEPS, active, H, w, b)
            j = next_code(G, q, a, r, lambda_, positive)
            if j < 0:
                return
        new = shrunken(q[j], lambda_, positive) / G[j, j]
        subtract(q[:r], new, G[j, :r])
        a[j] = new
        descend_among(G, q, a, r, lambda_, positive, FEW, active, H, w, b)


@strict
def solve_signs(G, active, m, sign, L, w):
    """Write w, the solution of G_AA w = signs, by Cholesky; return whether the last atom is apart from those before it."""
    for i in range(m):
        for j in range(i + 1):
            f = G[active[i], active[j]]
            for e in range(j):
                f -= L[i, e] * L[j, e]
            if i == j:
                if not f > 1e-12 * G[active[i], active[i]]:
                    return False
                L[i, i] = math.sqrt(f)
            else:
                L[i, j] = f / L[j, j]
    for i in range(m):
        w[i] = sign[active[i]]
        for e in range(i):
            w[i] -= L[i, e] * w[e]
        w[i] /= L[i, i]
    for k in range(m):
        i = m - 1 - k
        for e in range(i + 1, m):
            w[i] -= L[e, i] * w[e]
        w[i] /= L[i, i]
    return True


@strict
def step_to(G, q, r, active, m, sign, w, a, top, lambda_, positive):
    """Return how far to go along w, and what happens there: -1 nothing, j atom j joins, -2 - i the i-th active one leaves."""
    best, event = top - lambda_, -1
    for i in range(m):
        if a[active[i]] * w[i] < 0.0 and -a[active[i]] / w[i] < best:
            best, event = -a[active[i]] / w[i], -2 - i
    for j in range(r):
        if sign[j] == 0.0:
            slope = 0.0
            for i in range(m):
                slope += G[j, active[i]] * w[i]
            if slope < 1.0 and (top - q[j]) / (1.0 - slope) < best:
                best, event = max((top - q[j]) / (1.0 - slope), 0.0), j
            if not positive and slope > -1.0 and (top + q[j]) / (1.0 + slope) < best:
                best, event = max((top + q[j]) / (1.0 + slope), 0.0), j
    return best, event


@strict
def code_by_lars(G, q, a, r, lambda_, positive, active, sign, L, w):
    """Write the code into a, following the solutions from the largest lambda down (Efron et al. 2004, with drops); q as above.

    `sign` is 0 for an atom outside, 2 for one that is left out because others make it up.
    """
    m, top = 0, 0.0
    first = -1
    for j in range(a.shape[0]):
        a[j], sign[j] = 0.0, 0.0
    for j in range(r):
        if G[j, j] > 0.0 and (q[j] if positive else abs(q[j])) > top:
            top, first = q[j] if positive else abs(q[j]), j
    if top <= lambda_:
        return
    active[0], sign[first], m = first, 1.0 if q[first] > 0.0 else -1.0, 1
    for _ in range(8 * r):
        if not solve_signs(G, active, m, sign, L, w):
            m -= 1
            sign[active[m]] = 2.0
            continue
        far, event = step_to(G, q, r, active, m, sign, w, a, top, lambda_, positive)
        for i in range(m):
            a[active[i]] += far * w[i]
            subtract(q[:r], far * w[i], G[active[i], :r])
        top -= far
        if event == -1:
            return
        if event >= 0:
            sign[event] = 1.0 if q[event] > 0.0 else -1.0
            active[m] = event
            m += 1
        else:
            i = -2 - event
            a[active[i]], sign[active[i]] = 0.0, 0.0
            for e in range(i, m - 1):
                active[e] = active[e + 1]
            m -= 1


def eight_products(a, b, c, d, x, y, p, q):
    """Write the products of four atoms with x into p, and with y into q: atoms are read once for both."""
    e, f, g, h = 0.0, 0.0, 0.0, 0.0
    k, o, m, n = 0.0, 0.0, 0.0, 0.0
    for j in range(x.shape[0]):
        e += a[j] * x[j]
        f += b[j] * x[j]
        g += c[j] * x[j]
        h += d[j] * x[j]
        k += a[j] * y[j]
        o += b[j] * y[j]
        m += c[j] * y[j]
        n += d[j] * y[j]
    p[0], p[1], p[2], p[3] = e, f, g, h
    q[0], q[1], q[2], q[3] = k, o, m, n


@strict
def along_both(D, r, x, y, p, q):
    """Write p = D x and q = D y. The sums of x and y are taken alike, so it does not matter which of the two a row is."""
    j = 0
    while j + 4 <= r:
        eight_products(D[j], D[j + 1], D[j + 2], D[j + 3], x, y, p[j : j + 4], q[j : j + 4])
        j += 4
    while j < r:
        p[j], q[j] = product(D[j], x), product(D[j], y)
        j += 1


@strict
def products(D, r, G):
    """Write G = D D'."""
    for i in range(0, r, 2):
        k = min(i + 1, r - 1)
        along_both(D, k + 1, D[i], D[k], G[i], G[k])
    for i in range(r):
        for j in range(i):
            G[j, i] = G[i, j]


@strict
def encode_row(x, D, r, G, lambda_, positive, lars, a, q, u, active, sign, L, w):
    """Write the code of a row into a, given q = D x; return the squared residual."""
    if lars:
        code_by_lars(G, q, a, r, lambda_, positive, active, sign, L, w)
    else:
        code_by_descent(G, q, a, r, lambda_, positive, active, sign, L, w)
    times(1.0, x, u)
    for j in range(r):
        if a[j] != 0.0:
            subtract(u, a[j], D[j])
    return product(u, u)


@strict
def encode_rows(X, D, r, G, lambda_, positive, lars, Z, E, p, q, u, active, sign, L, w):
    """Write the code and the squared residual of each row."""
    products(D, r, G)
    for i in range(0, X.shape[0], 2):
        k = min(i + 1, X.shape[0] - 1)
        along_both(D, r, X[i], X[k], p, q)
        E[i] = encode_row(X[i], D, r, G, lambda_, positive, lars, Z[i], p, u, active, sign, L, w)
        if k > i:
            E[k] = encode_row(X[k], D, r, G, lambda_, positive, lars, Z[k], q, u, active, sign, L, w)


@strict
def begin_atoms(X, D, rank):
    """Let rows become atoms, until there are as many as there is room for."""
    for i in range(X.shape[0]):
        length = product(X[i], X[i])
        if rank[0] < D.shape[0] and length > 0.0:
            times(1.0 / math.sqrt(length), X[i], D[rank[0]])
            rank[0] += 1


@strict
def learn_codes(X, Z, E, D, A, B, idle, r, beta, passes, u):
    """Count the codes of a batch, and move the atoms: d_j = u_j/max(1, |u_j|), u_j = (b_j - sum_l A_jl d_l)/A_jj + d_j."""
    if beta < 1.0:
        for j in range(r):
            times(beta, A[j], A[j])
            times(beta, B[j], B[j])
    for j in range(r):
        idle[j] += X.shape[0]
    for i in range(X.shape[0]):
        for j in range(r):
            if Z[i, j] != 0.0:
                subtract(A[j], -Z[i, j], Z[i])
                subtract(B[j], -Z[i, j], X[i])
                idle[j] = 0
    for _ in range(passes):
        for j in range(r):
            if A[j, j] > 1e-12:
                times(-1.0, B[j], u)
                add_rows(D, A[j], r, u)
                subtract(D[j], 1.0 / A[j, j], u)
                length = math.sqrt(product(D[j], D[j]))
                if length > 1.0:
                    times(1.0 / length, D[j], D[j])


@strict
def renew(X, E, D, A, B, idle, r):
    """Put an atom that no signal has used for long on the worst-fitted one of the batch."""
    for j in range(r):
        if idle[j] >= UNUSED:
            worst = 0
            for i in range(X.shape[0]):
                if E[i] > E[worst]:
                    worst = i
            length = math.sqrt(product(X[worst], X[worst]))
            if length > 0.0:
                times(1.0 / length, X[worst], D[j])
                times(0.0, B[j], B[j])
                for e in range(r):
                    A[j, e] = 0.0
                    A[e, j] = 0.0
                idle[j] = 0
            return
