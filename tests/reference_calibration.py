"""Probabilities from scores, transcribed from the formulas: matrices are solved, roots bracketed, weights kept as logarithms."""

import numpy as np
from scipy.optimize import brentq

MEMORIES = (1.0, 0.999, 0.99, 0.9)
EPSILON = 1e-6
CENTRES = np.arange(-6, 7)


def logistic(x):
    return np.exp(-np.logaddexp(0.0, -x))


def hats(odds):
    """The weights of the knots."""
    return np.maximum(0.0, 1.0 - np.abs(np.clip(odds, -6, 6) - CENTRES))


class Knots:
    """What was observed at the knots, and what was expected."""

    def __init__(self, memory):
        self.memory = memory
        self.N, self.C, self.E = np.zeros(13), np.zeros(13), np.zeros(13)

    def probability(self, odds):
        up, down = np.log((self.C + 1) / (self.E + 1)), np.log((self.N - self.C + 1) / (self.N - self.E + 1))
        return np.clip(logistic(odds + hats(odds) @ (up - down)), EPSILON, 1 - EPSILON)

    def learn(self, odds, hit, weight):
        h = weight * hats(odds)
        kept = np.maximum(0.0, 1.0 - (1.0 - self.memory) * h)
        self.N, self.C, self.E = kept * self.N + h, kept * self.C + h * hit, kept * self.E + h * logistic(odds)


class Platt:
    """Logistic regression on (1, z) with forgetting, then knots."""

    def __init__(self, memory):
        self.memory, self.theta, self.Lambda, self.knots = memory, np.array([0.0, 1.0]), np.eye(2), Knots(memory)

    def odds(self, z):
        return float(np.clip(self.theta @ [1.0, z], -20, 20))

    def probability(self, z):
        return self.knots.probability(self.odds(z))

    def learn(self, z, hit, weight):
        self.knots.learn(self.odds(z), hit, weight)
        x = np.array([1.0, z])
        d = np.linalg.solve(self.Lambda, x)
        m, v = self.theta @ x, weight * (x @ d)
        if v > 0:
            root = brentq(lambda t: t - m - v * (hit - logistic(t)), m - v - 1, m + v + 1, xtol=1e-14, rtol=1e-15)
        self.theta = self.theta + weight * (hit - logistic(root)) * d
        slope = weight * logistic(root) * logistic(-root)
        self.Lambda = self.memory * self.Lambda + (1 - self.memory) * np.eye(2) + slope * np.outer(x, x)


class Mixed:
    """Fixed share over experts, with a share 1/(t + 1)."""

    def __init__(self, K):
        self.logs, self.rows = np.full(K, -np.log(K)), 0

    @property
    def weights(self):
        return np.exp(self.logs)

    def learn(self, likelihood, weight):
        self.rows += 1
        logs = self.logs + weight * np.log(likelihood)
        w = np.exp(logs - np.logaddexp.reduce(logs))
        a = 1.0 / (self.rows + 1)
        self.logs = np.log((1 - a) * w + a * (1 - w) / (len(w) - 1))


class Two:
    """Two classes, one score."""

    def __init__(self):
        self.S = self.n = 0.0
        self.experts, self.mixed = [Platt(memory) for memory in MEMORIES], Mixed(4)

    def z(self, s):
        r = (self.S + abs(s)) / (self.n + 1)
        return np.arcsinh(s / r) if r else 0.0

    def probability(self, s):
        return self.mixed.weights @ [e.probability(self.z(s)) for e in self.experts]

    def learn(self, s, hit, weight=1.0):
        if weight == 0:
            return
        z = self.z(s)
        p = np.array([e.probability(z) for e in self.experts])
        for e in self.experts:
            e.learn(z, hit, weight)
        self.mixed.learn(p if hit else 1 - p, weight)
        self.S, self.n = self.S + weight * abs(s), self.n + weight


class Scaling:
    """Vector scaling of one memory, with the two experts made of it."""

    def __init__(self, memory, K):
        self.memory, self.a, self.A, self.b, self.B = memory, 1.0, 1.0, np.zeros(K), np.ones(K)
        self.knots, self.platt = Knots(memory), Platt(memory)

    def q(self, phi):
        e = self.b + self.a * phi
        return np.exp(e - np.logaddexp.reduce(e))

    @staticmethod
    def odds(q, k):
        return float(np.clip(np.log(q[k] / np.delete(q, k).sum()), -20, 20))

    def experts(self, phi, z, top):
        q = self.q(phi)
        best = int(np.argmax(q))
        for k, p in ((best, self.knots.probability(self.odds(q, best))), (top, self.platt.probability(z))):
            P = (1 - p) * q / np.delete(q, k).sum()
            P[k] = p
            yield (1 - len(q) * EPSILON) * P + EPSILON

    def learn(self, phi, z, top, y, weight):
        q = self.q(phi)
        best = int(np.argmax(q))
        self.knots.learn(self.odds(q, best), float(y == best), weight)
        self.platt.learn(z, float(y == top), weight)
        G, g = phi[y] - q @ phi, np.eye(len(q))[y] - q
        self.A = self.memory * self.A + 1 - self.memory + weight * G**2
        self.B = self.memory * self.B + 1 - self.memory + weight * g**2
        self.a, self.b = self.a + weight * G / self.A, self.b + weight * g / self.B


class Many:
    """Many classes, a score for each; more may become known."""

    def __init__(self, K):
        self.R = self.n = 0.0
        self.scalings, self.mixed = [Scaling(memory, K) for memory in MEMORIES], Mixed(8)

    def more(self):
        """One more class is known."""
        for s in self.scalings:
            s.b, s.B = np.append(s.b, 0.0), np.append(s.B, 1.0)

    def seen(self, s):
        top = int(np.argmax(s))
        gap = s[top] - np.delete(s, top).max()
        r = (self.R + gap) / (self.n + 1)
        phi, z = (-np.arcsinh((s[top] - s) / r), np.arcsinh(gap / r)) if r else (np.zeros(len(s)), 0.0)
        return top, gap, phi, z

    def told(self, s):
        top, _, phi, z = self.seen(s)
        return np.array([P for scaling in self.scalings for P in scaling.experts(phi, z, top)])

    def probability(self, s):
        return self.mixed.weights @ self.told(s)

    def learn(self, s, y, weight=1.0):
        if weight == 0:
            return
        top, gap, phi, z = self.seen(s)
        likelihood = self.told(s)[:, y]
        for scaling in self.scalings:
            scaling.learn(phi, z, top, y, weight)
        self.mixed.learn(likelihood, weight)
        self.R, self.n = self.R + weight * gap, self.n + weight


def progressive(f, y, weights=None, declared=None):
    """The probabilities of rows by code, from before each; None without a forecast. f: one score a row, or one per class."""
    known, model, out = declared or 0, None, []
    for i, (s, code) in enumerate(zip(f, y, strict=True)):
        w = 1.0 if weights is None else weights[i]
        many = known > 2
        if model is None:
            model = Many(known) if many else Two()
        one = None if many else s if np.ndim(s) == 0 else s[1] - s[0] if known == 2 else 0.0  # of one class there is no difference
        if many:
            p = model.probability(s[:known])
        else:
            p = np.array([1 - model.probability(one), model.probability(one)])
        out.append(p if known > 1 and code < known else None)
        if w == 0:
            continue
        if not many and code < 2:
            model.learn(one, float(code == 1), w)
        elif many and code < known:
            model.learn(s[:known], code, w)
        if code >= known:
            for _ in range(code + 1 - known):
                known += 1
                if known == 3:
                    model = Many(3)
                elif known > 3:
                    model.more()
    return out
