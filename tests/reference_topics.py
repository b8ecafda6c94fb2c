"""Topic models as the papers write them, eagerly: every word of every topic, in NumPy and SciPy."""

import numpy as np
from scipy.special import gammaln, psi


def softmax(z, axis):
    e = np.exp(z - z.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


class EagerLDA:
    """Hoffman, Blei, Bach 2010: phi is stored, lambda is a full matrix that widens as words come."""

    def __init__(self, K, alpha, eta, tau0, kappa, D, iterations, tolerance):
        self.K, self.alpha, self.eta = K, np.full(K, alpha) if np.ndim(alpha) == 0 else np.array(alpha), eta
        self.tau0, self.kappa, self.D, self.iterations, self.tolerance = tau0, kappa, D, iterations, tolerance
        self.lam, self.t = np.empty((K, 0)), 0

    def widen(self, columns):
        self.lam = np.hstack([self.lam, columns])

    def e_step(self, words, counts):
        """gamma, phi (words x K) and the bounds after each iteration."""
        log_beta = (psi(self.lam) - psi(self.lam.sum(1, keepdims=True)))[:, words].T
        gamma, bounds = np.ones(self.K), []
        for _ in range(self.iterations):
            phi = softmax(log_beta + psi(gamma) - psi(gamma.sum()), 1)
            new = self.alpha + counts @ phi
            moved, gamma = np.abs(new - gamma).mean(), new
            bounds.append(self.bound(log_beta, counts, gamma))
            if moved < self.tolerance:
                break
        return gamma, softmax(log_beta + psi(gamma), 1), bounds

    def bound(self, log_beta, counts, gamma):
        log_theta = psi(gamma) - psi(gamma.sum())
        words = counts @ np.log(np.exp(log_theta + log_beta).sum(1))
        topics = ((self.alpha - gamma) * log_theta + gammaln(gamma) - gammaln(self.alpha)).sum()
        return words + topics + gammaln(self.alpha.sum()) - gammaln(gamma.sum())

    def m_step(self, statistics, S):
        self.t += 1
        rho = (self.tau0 + self.t) ** -self.kappa
        self.lam = (1 - rho) * self.lam + rho * (self.eta + self.D / S * statistics)


class EagerHDP:
    """Wang, Paisley, Blei 2011, document by document."""

    def __init__(self, lam, T, alpha0, gamma, eta, tau0, kappa, D, iterations, by_words):
        self.lam, self.T, self.alpha0, self.gamma, self.eta = np.array(lam, float), T, alpha0, gamma, eta
        self.tau0, self.kappa, self.D, self.iterations, self.by_words = tau0, kappa, D, iterations, by_words
        self.m, self.t = np.zeros(len(self.lam)), 0

    @staticmethod
    def log_sticks(u, v):
        both = psi(u + v)
        return np.append(psi(u) - both, 0.0) + np.append(0.0, np.cumsum(psi(v) - both))

    def sticks(self):
        return 1 + self.m[:-1], self.gamma + np.cumsum(self.m[::-1])[::-1][1:]

    def document(self, words, counts):
        """phi (T x K), zeta (words x T), and the bounds of the iterations that use the sticks."""
        log_beta = (psi(self.lam) - psi(self.lam.sum(1, keepdims=True)))[:, words].T
        sigma, bounds = self.log_sticks(*self.sticks()), []
        zeta = np.full((len(words), self.T), 1 / self.T)
        if self.by_words:
            top = np.argsort(-(counts @ softmax(log_beta, 1)), kind="stable")[: self.T]
            zeta = softmax(log_beta[:, top], 1)
        a, b = np.ones(self.T - 1), np.full(self.T - 1, float(self.alpha0))
        for i in range(self.iterations):
            pi = self.log_sticks(a, b)
            phi = softmax((counts[:, None] * zeta).T @ log_beta + (i >= 3) * sigma, 1)
            zeta = softmax(log_beta @ phi.T + (i >= 3) * pi, 1)
            if i >= 3:
                bounds.append(self.bound(log_beta, counts, phi, zeta, sigma, pi, a, b))
            n = counts @ zeta
            a, b = 1 + n[:-1], self.alpha0 + np.cumsum(n[::-1])[::-1][1:]
        return phi, zeta, a, b, bounds

    def bound(self, log_beta, counts, phi, zeta, sigma, pi, a, b):
        one, rest = psi(a) - psi(a + b), psi(b) - psi(a + b)
        words = (counts[:, None] * zeta * (log_beta @ phi.T + pi - np.log(zeta))).sum()
        pointers = (phi * (sigma - np.log(phi))).sum()
        prior = np.log(self.alpha0) + (self.alpha0 - 1) * rest
        own = gammaln(a + b) - gammaln(a) - gammaln(b) + (a - 1) * one + (b - 1) * rest
        return words + pointers + (prior - own).sum()

    def learn(self, words, counts):
        """One document as a batch; returns its proportions."""
        phi, zeta, a, b, _ = self.document(words, counts)
        self.t += 1
        rho = (self.tau0 + self.t) ** -self.kappa
        statistics = np.zeros_like(self.lam)
        np.add.at(statistics.T, words, (counts[:, None] * zeta) @ phi)
        self.lam = (1 - rho) * self.lam + rho * (self.eta + self.D * statistics)
        self.m = (1 - rho) * self.m + rho * self.D * phi.sum(0)
        share = np.append(a / (a + b), 1.0) * np.append(1.0, np.cumprod(b / (a + b)))
        return share @ phi
