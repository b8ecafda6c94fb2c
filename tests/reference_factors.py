"""Factorisation machines, eagerly: every pair of features by itself, gradients by the chain rule, draws in Python's own numbers."""

import numpy as np
from reference_adaptive import slope

MASK = (1 << 64) - 1
STRIDE = 0x9E3779B97F4A7C15


def mixed(z):
    z &= MASK
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
    return z ^ z >> 31


def start(seed, d, k, sigma):
    bits = [[mixed(mixed(seed * STRIDE + j) + f * STRIDE) >> 11 for f in range(k)] for j in range(d)]
    return sigma * np.sqrt(3) * (np.array(bits, float) / 2**52 - 1)


class RefFM:
    """One score, or with several classes one for each; the last coordinate is the constant if there is one."""

    def __init__(self, d, loss, classes=1, bias=False, k=10, eta=0.1, eta_w=0.3, l2=0.02, sigma=0.01, seed=0, epsilon=0.1):
        self.d, self.loss, self.C, self.eps, self.bias = d, loss, classes, epsilon, bias
        self.eta, self.eta_w, self.l2 = eta, eta_w, l2
        self.w, self.n = np.zeros((classes, d + bias)), np.zeros((classes, d + bias))
        self.V = np.stack([start(seed, d, k, sigma)] * classes)
        self.N = np.zeros(self.V.shape)

    def scores(self, x):
        z = np.append(x, 1.0) if self.bias else x
        both = [(i, j) for i in range(self.d) for j in range(i)]
        return self.w @ z + np.array([sum(V[i] @ V[j] * x[i] * x[j] for i, j in both) for V in self.V])

    def move(self, c, g, x):
        z = np.append(x, 1.0) if self.bias else x
        here = z != 0
        grad = np.where(here, g * z + self.l2 * self.w[c], 0.0)
        self.n[c] += grad**2
        self.w[c] -= self.eta_w * grad / np.sqrt(np.where(self.n[c] > 0, self.n[c], 1.0))
        V = self.V[c]
        others = np.array([sum((V[j] * x[j] for j in range(self.d) if j != i), np.zeros(V.shape[1])) for i in range(self.d)])
        grad = np.where((x != 0)[:, None], g * x[:, None] * others + self.l2 * V, 0.0)
        self.N[c] += grad**2
        self.V[c] -= self.eta * grad / np.sqrt(np.where(self.N[c] > 0, self.N[c], 1.0))

    def learn(self, x, y, omega=1.0):
        """`y` is a sign or a target, or with several classes the number of one; returns the scores from before."""
        f = self.scores(x)
        if not self.bias and not x.any():
            return f
        if self.C == 1:
            if g := omega * slope(self.loss, f[0], y, self.eps):
                self.move(0, g, x)
        elif self.loss == "log":
            p = np.exp(f - f.max())
            for c, q in enumerate(p / p.sum()):
                self.move(c, omega * (q - (c == y)), x)
        else:
            r = max((c for c in range(self.C) if c != y), key=lambda c: (f[c], -c))
            if g := omega * slope(self.loss, f[y] - f[r], 1.0, self.eps):
                self.move(y, g, x)
                self.move(r, -g, x)
        return f


REGISTRY = {"fm": RefFM, "fm_regressor": RefFM}
