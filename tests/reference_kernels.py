"""Eager NumPy transcriptions of the kernel learners and budgets: every quantity from the whole Gram matrix, every time.

A hypothesis is the list of its points, oldest first, and a K x n matrix of coefficients (K = 1 for two classes and real targets).
A round has a direction e in class space: (y) or e_y - e_r for the best rival r; a step is a decay and a length along e.
"""

from typing import NamedTuple

import numpy as np

KERNELS = {
    "linear": lambda a, b: a @ b,
    "polynomial": lambda a, b: (0.5 * (a @ b) + 1.0) ** 3,
    "rbf": lambda a, b: np.exp(-0.5 * np.sum((a - b) ** 2)),
    "laplacian": lambda a, b: np.exp(-0.5 * np.sum(np.abs(a - b))),
    "cauchy": lambda a, b: np.prod(1.0 / (1.0 + 0.5 * (a - b) ** 2)),
    "sigmoid": lambda a, b: np.tanh(0.1 * (a @ b) - 0.2),
}


class Run(NamedTuple):
    """Scores before each update, and the hypothesis at the end."""

    scores: np.ndarray
    points: list
    A: np.ndarray
    updates: int


class Hypothesis:
    """Points and coefficients."""

    def __init__(self, kernel, K):
        self.k, self.points, self.A = kernel, [], np.zeros((K, 0))
        self.M, self.Q = 0, 0.0  # the Forgetron's mistakes and damage

    def gram(self, points=None):
        points = self.points if points is None else points
        return np.array([[self.k(a, b) for b in points] for a in points]).reshape(len(points), len(points))

    def row(self, x):
        return np.array([self.k(p, x) for p in self.points])

    def f(self, x):
        return self.A @ self.row(x) if self.points else np.zeros(len(self.A))

    def norm2(self):
        return float(np.trace(self.A @ self.gram() @ self.A.T)) if self.points else 0.0

    def append(self, x, u):
        self.points.append(x)
        self.A = np.column_stack([self.A, u])

    def remove(self, r):
        del self.points[r]
        self.A = np.delete(self.A, r, axis=1)


# ---- steps: (hypothesis, x, e, margin, omega, t, params) -> (decay, length along e, updated) ------------------------------
def perceptron(h, x, e, m, omega, t, beta=0.0, gamma=1.0, alpha=1.0, **_):
    return (gamma, omega * alpha, True) if m <= beta else (1.0, 0.0, False)


def pa1(h, x, e, m, omega, t, C=1.0, **_):
    loss, n2 = 1.0 - m, (e @ e) * h.k(x, x)
    return (1.0, min(omega * C, loss / n2), True) if loss > 0 and n2 > 0 else (1.0, 0.0, False)


def norma(h, x, e, m, omega, t, eta=0.1, lambda_=0.01, rho=1.0, **_):
    return 1.0 - eta * lambda_, eta * omega if m <= rho else 0.0, m <= rho


def ogd(h, x, e, m, omega, t, eta=1.0, l2=0.0, **_):
    rate = eta / np.sqrt(t)
    return 1.0 - rate * l2, rate * omega if m < 1.0 else 0.0, m < 1.0


def romma(h, x, e, m, omega, t, **_):
    n2, w2 = (e @ e) * h.k(x, x), h.norm2()
    if m > 0:
        return 1.0, 0.0, False
    if w2 == 0:
        return 1.0, 1.0 / n2, True
    D = n2 * w2 - m * m
    return ((n2 * w2 - m) / D, w2 * (1.0 - m) / D, True) if 1e-12 * n2 * w2 < D else (1.0, 0.0, False)


STEPS = {f.__name__: f for f in (perceptron, pa1, norma, ogd, romma)}


# ---- budgets: (hypothesis, x, u, B) after the decay; each appends or does not, and restores the limit -----------------------
def unbounded(h, x, u, B):
    h.append(x, u)


def stop(h, x, u, B):
    if len(h.points) < B:
        h.append(x, u)


def oldest(h, x, u, B):
    h.append(x, u)
    if len(h.points) > B:
        h.remove(0)


def smallest(h, x, u, B):
    h.append(x, u)
    if len(h.points) > B:
        h.remove(int(np.argmin((h.A**2).sum(0) * np.diag(h.gram()))))


def redundant(h, x, u, B):
    h.append(x, u)
    if len(h.points) > B:
        left = h.A @ h.gram() - h.A * np.diag(h.gram())
        if len(h.A) == 1:
            margins = np.sign(h.A[0]) * left[0]
        else:
            own = h.A.argmax(0)
            margins = [left[c, i] - np.delete(left[:, i], c).max() for i, c in enumerate(own)]
        h.remove(int(np.argmax(margins)))


def shrink(h, x, u, B):
    h.append(x, u)
    h.M += 1
    if len(h.points) <= B:
        return
    a = h.A[:, 0]
    sigma, mu = np.abs(a).max(), np.sign(a) @ h.f(h.points[0])
    if sigma > 0:
        grid = np.roots([sigma**2 - 2 * sigma * mu, 2 * sigma, h.Q - 15 / 32 * h.M])
        whole = sigma**2 - 2 * sigma * mu + 2 * sigma + h.Q <= 15 / 32 * h.M
        phi = 1.0 if whole else min(r.real for r in grid if r.real > 0 and abs(r.imag) < 1e-9)
        h.Q += (phi * sigma) ** 2 + 2 * phi * sigma - 2 * phi * sigma * phi * mu
        h.A = phi * h.A
    h.remove(0)


def put_on(h, r, V):
    """Return the projection of point r on the points V, and the squared distance."""
    K = h.gram()
    d = np.linalg.lstsq(K[np.ix_(V, V)], K[V, r], rcond=1e-13)[0]
    return d, K[r, r] - K[V, r] @ d


def replacing(neighbours):
    """A budget that puts what it removes on other points."""

    def rule(h, x, u, B):
        h.append(x, u)
        t = len(h.points) - 1
        if len(h.points) <= B:
            return
        lost, where = [], []
        for r in range(t):
            V = neighbours(h, r, t)
            d, rest = put_on(h, r, V)
            lost.append((h.A[:, r] ** 2).sum() * rest)
            where.append((V, d))
        r = int(np.argmin(lost))
        V, d = where[r]
        h.A[:, V] += np.outer(h.A[:, r], d)
        h.remove(r)

    return rule


def nearest(h, r, t):
    K = h.gram()
    others = [j for j in range(t) if j != r]
    return [t, min(others, key=lambda j: K[j, j] - 2 * K[j, r])] if others else [t]


def project(eta):
    """A budget that puts near points on the others."""

    def rule(h, x, u, B):
        if h.points:
            k = h.row(x)
            d = np.linalg.lstsq(h.gram(), k, rcond=1e-13)[0]
            if h.k(x, x) - k @ d <= max(eta * eta, 1e-9) or len(h.points) >= B:
                h.A = h.A + np.outer(u, d)
                return
        h.append(x, u)

    return rule


def merge(h, x, u, B):
    h.append(x, u)
    if len(h.points) > B:
        merge_two(h)


def merge_two(h, allowed=lambda a, b: True):
    """Merge the point of least coefficients with the best partner that is allowed; without one it goes."""
    n, K, size = len(h.points), h.gram(), (h.A**2).sum(0)
    i = int(np.flatnonzero(size <= size.min() * (1 + 2e-9))[0])
    best = (np.inf, -1, 0.0)
    for j in range(n):
        if j == i or (len(h.A) == 1 and h.A[0, i] * h.A[0, j] <= 0) or not allowed(h.points[i], h.points[j]):
            continue

        def lost(g, j=j):
            z = h.A[:, [i]] * K[i, j] ** ((1 - g) ** 2) + h.A[:, [j]] * K[i, j] ** (g**2)
            return size[i] + size[j] + 2 * h.A[:, i] @ h.A[:, j] * K[i, j] - (z**2).sum(0)

        place, half = 0.5, 0.5
        for _ in range(3):  # steps of 5e-4, 5e-7, 5e-10
            grid = np.clip(place + np.linspace(-half, half, 2001), 0.0, 1.0)
            place, half = float(grid[lost(grid).argmin()]), half / 1000
        best = min(best, (float(lost(np.array([place]))[0]), j, place))
    _, j, g = best
    if j < 0:
        h.remove(i)
        return
    h.A[:, i] = h.A[:, i] * K[i, j] ** ((1 - g) ** 2) + h.A[:, j] * K[i, j] ** (g**2)
    h.points[i] = g * h.points[i] + (1 - g) * h.points[j]
    h.remove(j)


BUDGETS = {
    "Unbounded": unbounded,
    "Stop": stop,
    "RemoveOldest": oldest,
    "RemoveSmallest": smallest,
    "RemoveRedundant": redundant,
    "Shrink": shrink,
    "Replace": replacing(lambda h, r, t: [t]),
    "ReplaceNearest": replacing(nearest),
    "ProjectRemoved": replacing(lambda h, r, t: [j for j in range(t + 1) if j != r]),
    "Projection": project(0.4),
    "Merge": merge,
}


def learn(step, budget, kernel, X, y, K, B, weights=None, radius=None, average=False, **params):
    """Run a step with a budget; labels are -1/+1 (K = 1) or 0 .. K-1."""
    h, rule, out = Hypothesis(KERNELS[kernel], K), BUDGETS[budget], []
    updates, t, past = 0, 0, []
    omega = np.ones(len(y)) if weights is None else weights
    for x, label, c in zip(X, y, omega, strict=True):
        f = h.f(x)
        past.append((list(h.points), h.A.copy()))
        out.append(np.mean([A @ np.array([h.k(p, x) for p in P]) if P else np.zeros(K) for P, A in past], 0) if average else f)
        if c == 0:
            past.pop()
            continue
        t += 1
        e = np.array([float(label)])
        if K > 1:
            e = np.zeros(K)
            e[label] = 1.0
            e[max((r for r in range(K) if r != label), key=lambda r: (f[r], -r))] = -1.0
        decay, length, moved = STEPS[step](h, x, e, e @ f, c, t, **params)
        updates += moved
        h.A = decay * h.A
        if length != 0:
            rule(h, x, length * e, B)
        if radius is not None and h.norm2() > radius**2:
            h.A = h.A * radius / np.sqrt(h.norm2())
    return Run(np.array(out), h.points, h.A, updates)


# ---- the vote --------------------------------------------------------------------------------------------------------------
def voted(X, y, kernel, K=1, B=np.inf, weights=None, beta=0.0, gamma=1.0, alpha=1.0):
    """Return scores and votes: every vector that ever was is kept whole, and asked on its own."""
    k, kept, out = kernel, [], []  # points, coefficients and votes of each vector
    points, A = [], np.zeros((K, 0))

    def f_of(points, A, x):
        return A @ np.array([k(p, x) for p in points]) if points else np.zeros(K)

    def vote(f):
        return np.eye(K)[np.argmax(f)] if K > 1 else np.array([1.0 if f[0] >= 0 else -1.0])

    for x, label, c in zip(X, y, np.ones(len(y)) if weights is None else weights, strict=True):
        out.append(sum((n * vote(f_of(P, V, x)) for P, V, n in kept), np.zeros(K)))
        if c == 0:
            continue
        f = f_of(points, A, x)
        e = np.array([float(label)])
        if K > 1:
            e = np.eye(K)[label] - np.eye(K)[max((r for r in range(K) if r != label), key=lambda r: (f[r], -r))]
        if e @ f <= beta and k(x, x) > 0:
            A = gamma * A
            if len(points) < B:
                points, A = [*points, x], np.column_stack([A, c * alpha * e])
                kept.append([points, A, 0])
        if kept:
            kept[-1][2] += 1
    return np.array(out), [n for _, _, n in kept]


# ---- DUOL, by a solver that knows nothing of its closed form ---------------------------------------------------------------
def duol(X, y, kernel, C, rho, K=1):
    """Return scores and coefficients: labels and rivals are kept, the two steps come from a search over the box."""
    k = KERNELS[kernel]
    points, E, G, out = [], [], [], []  # direction in class space and weight of each vector
    for x, label in zip(X, y, strict=True):
        row = np.array([k(p, x) for p in points])
        f = sum((g * e * v for g, e, v in zip(G, E, row, strict=True)), np.zeros(K))
        out.append(f)
        e = np.array([float(label)])
        if K > 1:
            e = np.eye(K)[label] - np.eye(K)[max((r for r in range(K) if r != label), key=lambda r: (f[r], -r))]
        loss = 1.0 - e @ f
        if loss <= 0:
            continue
        gram = np.array([[k(a, b) * (d @ c) for b, c in zip(points, E, strict=True)] for a, d in zip(points, E, strict=True)])
        at = gram @ np.array(G) if points else np.zeros(0)
        pulls = np.array([v * (d @ e) for v, d in zip(row, E, strict=True)])
        may = [i for i in range(len(points)) if at[i] <= 1 + 1e-12 and pulls[i] <= -rho]
        ka = (e @ e) * k(x, x)
        if not may:
            g = min(C, loss / ka)
        else:
            b = min(may, key=lambda i: (pulls[i], i))
            kb, v, lb = gram[b, b], pulls[b], 1.0 - at[b]
            ga, gb = 0.0, 0.0
            for _ in range(20000):  # coordinate ascent on a concave function of two variables in a box
                ga = min(C, max(0.0, (loss - v * gb) / ka))
                last, gb = gb, min(C - G[b], max(-G[b], (lb - v * ga) / kb))
                if abs(gb - last) < 1e-16:
                    break
            G[b] += gb
            g = ga
        points.append(x)
        E.append(e)
        G.append(g)
    return np.array(out), np.array([g * e for g, e in zip(G, E, strict=True)]).T


def kernel_rls(X, y, kernel, nu, B, weights=None):
    """Return scores: the least squares problem over all rows so far, each by its coefficients on the dictionary of its time."""
    k, points, rows, targets, out = KERNELS[kernel], [], [], [], []
    omega = np.ones(len(y)) if weights is None else weights
    for x, target, c in zip(X, y, omega, strict=True):
        alpha = np.zeros(0)
        if points:
            A = np.array([np.append(r, np.zeros(len(points) - len(r))) for r in rows])
            K = np.array([[k(a, b) for b in points] for a in points])
            root = np.sqrt(np.array([w for _, w in targets]))
            alpha = np.linalg.lstsq(root[:, None] * (A @ K), root * np.array([t for t, _ in targets]), rcond=None)[0]
        row = np.array([k(p, x) for p in points])
        out.append(float(alpha @ row) if points else 0.0)
        if c == 0:
            continue
        d = np.linalg.solve(K, row) if points else row
        if not points or (k(x, x) - row @ d > nu and len(points) < B):
            points.append(x)
            d = np.eye(len(points))[-1]
        rows.append(d)
        targets.append((target, c))
    return np.array(out)
