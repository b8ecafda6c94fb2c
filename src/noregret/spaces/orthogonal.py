"""Orthogonal vectors and eigenvectors in texts of our own: LAPACK's last bits depend on the machine, and features follow them."""

from __future__ import annotations

import math

import numpy as np

from ..engine.compiling import compiled

SWEEPS = 60  # the limit; ten suffice
TOLERANCE = 1e-15  # of the cosine of two rows


def orthonormalise(V):
    """Make the rows of V orthonormal, each in the span of those up to it (Gram, Schmidt; twice, which is enough)."""
    for i in range(V.shape[0]):
        for _ in range(2):
            for k in range(i):
                subtract(V[i], product(V[i], V[k]), V[k])
        length = math.sqrt(product(V[i], V[i]))
        for j in range(V.shape[1]):
            V[i, j] /= length


def product(a, b):
    """Return a.b."""
    f = 0.0
    for j in range(a.shape[0]):
        f += a[j] * b[j]
    return f


def subtract(a, c, b):
    """Do a -= c b."""
    for j in range(a.shape[0]):
        a[j] -= c * b[j]


def turn(a, b, c, s):
    """Rotate two rows: a, b = c a - s b, s a + c b."""
    for j in range(a.shape[0]):
        x, y = a[j], b[j]
        a[j] = c * x - s * y
        b[j] = s * x + c * y


def rotate_rows(G, Q):
    """Rotate the rows of G until they are orthogonal, and those of Q with them (Hestenes 1958, one-sided Jacobi)."""
    for _ in range(SWEEPS):
        still = True
        for i in range(G.shape[0] - 1):
            for k in range(i + 1, G.shape[0]):
                a, b, g = product(G[i], G[i]), product(G[k], G[k]), product(G[i], G[k])
                if abs(g) <= TOLERANCE * math.sqrt(a * b):
                    continue
                still = False
                z = (b - a) / (2.0 * g)
                t = math.copysign(1.0, z) / (abs(z) + math.sqrt(1.0 + z * z))
                c = 1.0 / math.sqrt(1.0 + t * t)
                turn(G[i], G[k], c, c * t)
                turn(Q[i], Q[k], c, c * t)
        if still:
            return


def orthonormal(V: np.ndarray) -> np.ndarray:
    """Return the columns of V made orthonormal from left to right."""
    rows = np.ascontiguousarray(V.T)
    compiled(orthonormalise)(rows)
    return rows.T


def eigen(L: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the eigenvalues of L L', largest first, and the eigenvectors as columns."""
    G, Q = np.array(L, np.float64, order="C"), np.eye(len(L))
    compiled(rotate_rows)(G, Q)
    values = np.square(G).sum(1)
    order = np.argsort(-values, kind="stable")
    return values[order], Q[order].T
