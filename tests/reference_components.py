"""Learners of components as their papers write them, in NumPy: matrices whole, no scratch, no deferred work."""

import numpy as np


def merge_pca(batches, k):
    """Incremental PCA by merging (Ross, Lim, Lin, Yang 2008): mean, singular values, components."""
    n, mean, s, V = 0, 0.0, np.zeros(0), None
    for X in batches:
        m, center = len(X), X.mean(0)
        stack = [X - center] if V is None else [s[:, None] * V, X - center, np.sqrt(n * m / (n + m)) * (mean - center)[None]]
        _, s, V = np.linalg.svd(np.concatenate(stack), full_matrices=False)
        good = s > 1e-12 * max(s[0], 1e-300)
        s, V = s[good][:k], V[good][:k]
        mean, n = (n * mean + m * center) / (n + m), n + m
    return mean, s, V


def faded_pca(X, k, f):
    """The leading components of rows weighted by f^age around their weighted mean."""
    w = f ** np.arange(len(X) - 1.0, -1.0, -1.0)
    mean = w @ X / w.sum()
    _, s, V = np.linalg.svd(np.sqrt(w)[:, None] * (X - mean), full_matrices=False)
    return mean, s[:k], V[:k]


def ccipca(X, k, amnesia):
    """Candid covariance-free incremental PCA (Weng, Zhang, Hwang 2003), of centred rows: v_1 ... v_k."""
    v, mean = [], np.zeros(X.shape[1])
    for n, x in enumerate(X, 1):
        mean = mean + (x - mean) / n
        u = x - mean
        age = amnesia if n > amnesia + 1 else 0.0
        for i in range(k):
            if np.linalg.norm(u) <= 1e-12 * np.linalg.norm(x - mean):
                break
            if i == len(v):
                v.append(u)
                break
            v[i] = (n - 1 - age) / n * v[i] + (1 + age) / n * u * (u @ v[i]) / np.linalg.norm(v[i])
            unit = v[i] / np.linalg.norm(v[i])
            u = u - (u @ unit) * unit
    return np.array(v)


def oja(X, W, eta):
    """Oja's rule with QR (1982, 1985), the columns of W orthonormal; eta is a function of t."""
    for t, x in enumerate(X, 1):
        Q, R = np.linalg.qr(W + eta(t) * np.outer(x, x @ W))
        W = Q * np.sign(np.diag(R))
    return W


def expert_pca(X, k, eta):
    """The density over directions to discard (Warmuth, Kuzmin 2006): W after all rows, and the expected losses."""
    n = X.shape[1]
    W, losses = np.eye(n) / n, []
    for x in X:
        losses.append((n - k) * x @ W @ x)
        w, E = np.linalg.eigh(W)
        w, E = np.linalg.eigh((E * np.log(np.maximum(w, 1e-300))) @ E.T - eta * np.outer(x, x))
        w = np.exp(w - w.max())
        w, cap = w / w.sum(), np.zeros(n, bool)
        while (w > 1.0 / (n - k) + 1e-12).any():
            cap |= w >= 1.0 / (n - k)
            w = np.where(cap, 1.0 / (n - k), w * (1 - cap.sum() / (n - k)) / w[~cap].sum())
        W = (E * w) @ E.T
    return W, np.array(losses)


def lasso(D, x, lambda_, positive=False):
    """The code of x in atoms that are rows of D, by proximal gradient steps with momentum, many of them."""
    G, c, a = D @ D.T, D @ x, np.zeros(len(D))
    step, z, t = 1.0 / np.linalg.eigvalsh(G)[-1], np.zeros(len(D)), 1.0
    for _ in range(2500):
        v = z - step * (G @ z - c)
        new = np.maximum(v - step * lambda_, 0.0) if positive else np.sign(v) * np.maximum(np.abs(v) - step * lambda_, 0.0)
        later = (1.0 + np.sqrt(1.0 + 4.0 * t * t)) / 2.0
        z, a, t = new + (t - 1.0) / later * (new - a), new, later
    return a


def dictionary(batches, D, lambda_, S, forgetting):
    """Online dictionary learning (Mairal, Bach, Ponce, Sapiro 2009), atoms as rows of D."""
    D, (k, d) = D.copy(), D.shape
    A, B = np.zeros((k, k)), np.zeros((k, d))
    for t, X in enumerate(batches, 1):
        codes = np.array([lasso(D, x, lambda_) for x in X])
        theta = t * S if t < S else S * S + t - S
        beta = (theta + 1 - S) / (theta + 1) if forgetting else 1.0
        A, B = beta * A + codes.T @ codes, beta * B + codes.T @ X
        for j in range(k):
            if A[j, j] > 1e-12:
                u = (B[j] - A[j] @ D) / A[j, j] + D[j]
                D[j] = u / max(1.0, np.linalg.norm(u))
    return D
