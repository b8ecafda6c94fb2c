"""Eager, dense NumPy transcriptions of AdaGrad, NAG, coin betting and ScInOL."""

import numpy as np
from scipy.optimize import brentq


def slope(loss, p, y, eps):
    m, r = y * p, p - y
    out = max(0.0, abs(r) - eps)
    found = {
        "hinge": -y * (m < 1),
        "squared_hinge": -2 * y * max(0.0, 1 - m),
        "log": -y / (1 + np.exp(m)),
        "exponential": -y * np.exp(-m),
        "perceptron": -y * (m <= 0),
        "square": 2 * r,
        "absolute": np.sign(r),
        "epsilon_insensitive": np.sign(r) * (abs(r) > eps),
        "squared_epsilon_insensitive": 2 * np.sign(r) * out,
    }[loss]
    return np.clip(found, -1e12, 1e12)


def moved(loss, p, y, h, v, eps):
    """u: the flow from p for the time h, in closed form or by root finding."""
    m, r = y * p, y - p
    out, decay = max(0.0, abs(r) - eps), 1 - np.exp(-2 * h * v)
    if loss == "log":
        return y * brentq(lambda D: D + np.exp(m) * (np.exp(D) - 1) - h * v, 0, h * v, xtol=1e-15, rtol=1e-15) / v
    return {
        "hinge": y * min(h, max(0.0, 1 - m) / v),
        "squared_hinge": y * max(0.0, 1 - m) * decay / v,
        "exponential": y * np.log(1 + h * v * np.exp(-m)) / v,
        "square": r * decay / v,
        "absolute": np.sign(r) * min(h, abs(r) / v),
        "epsilon_insensitive": np.sign(r) * min(h, out / v),
        "squared_epsilon_insensitive": np.sign(r) * out * decay / v,
    }[loss]


class Reference:
    """What they share: the loss, and the range of a score."""

    def __init__(self, d, real, loss, epsilon=0.1, **given):
        self.loss, self.eps, self.real, self.low, self.high = loss, epsilon, real, 0.0, 0.0
        self.N = self.Omega = 0.0
        self.begin(d, **given)

    def clip(self, p):
        if self.real:
            return np.clip(p, self.low, self.high)
        reach = {"log": 50, "exponential": 50, "square": 1, "hinge": 1}.get(self.loss, np.inf)
        return np.clip(p, -reach, reach)

    def widen(self, y):
        self.low, self.high = min(self.low, y), max(self.high, y)


class RefAdaGrad(Reference):
    def begin(self, d, eta=0.5, delta=1e-8):
        self.w, self.n, self.eta, self.delta = np.zeros(d), np.zeros(d), eta, delta

    def score(self, z):
        return self.w @ z

    clip = staticmethod(lambda p: p)

    def descend(self, G):
        self.n += G**2
        on = G != 0
        self.w[on] -= self.eta * G[on] / (self.delta + np.sqrt(self.n[on]))

    def learn(self, z, y, omega):
        p = self.score(z)
        self.descend(omega * slope(self.loss, p, y, self.eps) * z)
        return p


class RefNag(Reference):
    def begin(self, d, eta=0.5):
        self.w, self.n, self.q, self.eta = np.zeros(d), np.zeros(d), np.zeros(d), eta

    def score(self, z):
        return self.w @ z

    def learn(self, z, y, omega):
        p = self.clip(self.score(z))
        g, j = slope(self.loss, p, y, self.eps), z != 0
        if g != 0 and j.any():
            self.n[j] += omega * g**2 * z[j] ** 2
            grown = np.maximum(self.q, np.abs(z))
            self.w[j] *= self.q[j] / grown[j]
            self.q[j] = grown[j]
            self.N += omega * (z[j] ** 2 / self.q[j] ** 2).sum()
            self.Omega += omega
            r = np.sqrt(self.Omega / self.N) / (self.q[j] * np.sqrt(self.n[j]))
            v = (r * z[j] ** 2).sum()
            self.w[j] += moved(self.loss, p, y, self.eta * omega, v, self.eps) * r * z[j]
        if j.any():
            self.widen(y)
        return p


class RefCoin(Reference):
    def begin(self, d, capital=4.0, lipschitz=1.0, normalize=True):
        self.theta, self.G, self.R, self.M, self.L = (np.zeros(d) for _ in range(5))
        self.capital, self.lipschitz, self.normalize = capital, lipschitz, normalize

    def bets(self, M):
        with np.errstate(all="ignore"):
            w = self.theta * (self.capital + self.R) / (self.L * M * (self.L * M + self.G))
        return np.where(self.L * M > 0, w, 0.0)

    def shared(self, p):
        return p / ((self.N + 1e-6) / self.Omega) if self.normalize and self.Omega else p

    def score(self, z):
        return self.shared(self.bets(np.maximum(self.M, np.abs(z))) @ z)

    def learn(self, z, y, omega):
        j = z != 0
        if not j.any():
            return 0.0
        M = np.maximum(self.M, np.abs(z))
        w = self.bets(M)
        self.N += omega * (z[j] ** 2 / M[j] ** 2).sum()
        self.Omega += omega
        p = self.clip(self.shared(w @ z))
        g = omega * slope(self.loss, p, y, self.eps)
        self.M[j] = M[j]
        self.L[j] = np.where(abs(g) > self.L[j], max(abs(g), self.lipschitz), self.L[j])
        w = self.bets(self.M)
        self.theta -= g * z
        self.G += np.abs(g * z)
        self.R -= g * z * w
        self.widen(y)
        return p


class RefScInOL(Reference):
    clip = staticmethod(lambda p: p)

    def begin(self, d, capital=1.0, lipschitz=1.0):
        self.theta, self.S2, self.R, self.M, self.L = (np.zeros(d) for _ in range(5))
        self.capital, self.lipschitz = capital, lipschitz

    @property
    def S(self):
        return np.sqrt(self.S2)

    def weights(self, M):
        root = np.sqrt(self.S2 + (np.maximum(self.L, self.lipschitz) * M) ** 2)
        theta, eta, safe = self.theta / np.where(root > 0, root, 1.0), self.capital + self.R, np.where(root > 0, root, 1.0)
        return np.sign(theta) * np.minimum(np.abs(theta), 1) * eta / (2 * safe)

    def score(self, z):
        return self.weights(np.maximum(self.M, np.abs(z))) @ z

    def learn(self, z, y, omega):
        if not z.any():
            return 0.0
        p = self.score(z)
        g = omega * slope(self.loss, p, y, self.eps)
        self.M = np.maximum(self.M, np.abs(z))
        self.L[z != 0] = np.maximum(self.L[z != 0], max(abs(g), self.lipschitz))
        self.R -= g * z * self.weights(self.M)
        self.theta -= g * z
        self.S2 += (g * z) ** 2
        return p


BOTH_TASKS = {"adagrad": RefAdaGrad, "nag": RefNag, "coin": RefCoin, "scinol": RefScInOL}
REGISTRY = {**BOTH_TASKS, **{f"{name}_regressor": text for name, text in BOTH_TASKS.items()}}
DEFAULT_LOSS = {"adagrad": "log", "nag": "square", "coin": "log", "scinol": "log"}
