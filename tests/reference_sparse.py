"""The sparse learners transcribed from the sheet: dense, eager, every line of a round acting on all weights at once.

W has a row for each feature and a column for each class (one, with two classes or a real target); b is the constant feature.
"""

import numpy as np


def soft(Z, a):
    return np.sign(Z) * np.maximum(np.abs(Z) - a, 0.0)


def slope(loss, f, y, epsilon=0.1):
    m, r = y * f, f - y
    found = {
        "hinge": lambda: -y * (m < 1),
        "squared_hinge": lambda: -2 * y * max(0.0, 1 - m),
        "log": lambda: -y / (1 + np.exp(m)),
        "exponential": lambda: -y * np.exp(-m),
        "perceptron": lambda: -y * (m <= 0),
        "square": lambda: 2 * r,
        "absolute": lambda: np.sign(r),
        "epsilon_insensitive": lambda: np.sign(r) * (abs(r) > epsilon),
        "squared_epsilon_insensitive": lambda: 2 * np.sign(r) * max(0.0, abs(r) - epsilon),
    }[loss]()
    return np.clip(found, -1e12, 1e12)


def gradient(loss, f, y, K):
    """The derivative of the loss in the score of each class: softmax, or the margin to the best rival."""
    if K < 3:
        return np.array([slope(loss, f[0], y)])
    g = np.zeros(K)
    if loss == "log":
        g = np.exp(f - f.max()) / np.exp(f - f.max()).sum()
        g[y] -= 1.0
        return g
    r = max((k for k in range(K) if k != y), key=lambda k: (f[k], -k))
    a = slope(loss, f[y] - f[r], 1.0)
    g[y], g[r] = a, -a
    return g


def clip_to_l1(v, t):
    """The L-infinity prox by bisection on the clip level."""
    if t == 0.0 or np.abs(v).sum() <= t:
        return v if t == 0.0 else 0.0 * v
    low, high = 0.0, np.abs(v).max()
    for _ in range(200):
        level = (low + high) / 2
        low, high = (level, high) if np.maximum(np.abs(v) - level, 0).sum() > t else (low, level)
    return np.clip(v, -level, level)


def shortened(v, t):
    n = np.linalg.norm(v)
    return v * max(0.0, 1 - t / n) if n > 0 else v


def prox(name, V, t):
    if name == "l1":
        return soft(V, t)
    if name == "l2sq":
        return V / (1 + t)
    if name == "elastic":
        return soft(V, t) / (1 + t)
    if name == "l2":
        return shortened(V, t)
    if name == "linf":
        return clip_to_l1(V.ravel(), t).reshape(V.shape)
    one = {"l1l2": shortened, "l1linf": clip_to_l1}[name]
    return np.array([one(row, t) for row in V])


class Reference:
    """Weights and rounds; a subclass says how a round of gradients changes them."""

    def __init__(self, d, K, **given):
        self.W, self.b, self.t = np.zeros((d, K)), np.zeros(K), 0
        self.begin(d, K, **given)

    def eta_t(self):
        return {"constant": self.eta, "inv_sqrt": self.eta / np.sqrt(self.t), "inv_t": self.eta / self.t}[self.rate]

    def round(self, G, g):
        self.t += 1
        self.move(G, g)


class Fobos(Reference):
    def begin(self, d, K, lambda_=1e-4, regularizer="l1", eta=0.5, rate="inv_sqrt", groups=None):
        self.lambda_, self.name, self.eta, self.rate, self.groups = lambda_, regularizer, eta, rate, groups

    def move(self, G, g):
        eta = self.eta_t()
        self.W, self.b = self.W - eta * G, self.b - eta * g
        if self.groups is None:
            self.W = prox(self.name, self.W, eta * self.lambda_)
        for group in set(self.groups or ()):
            own = np.array([other == group for other in self.groups])
            self.W[own] = prox({"l1l2": "l2", "l1linf": "linf"}[self.name], self.W[own], eta * self.lambda_)


class TruncatedGradient(Reference):
    def begin(self, d, K, g=1e-3, theta=np.inf, K_=10, eta=0.1, rate="constant"):
        self.g, self.theta, self.K, self.eta, self.rate = g, theta, K_, eta, rate

    def move(self, G, g):
        eta = self.eta_t()
        self.W, self.b = self.W - eta * G, self.b - eta * g
        if self.t % self.K == 0:
            self.W = np.where(np.abs(self.W) <= self.theta, soft(self.W, eta * self.K * self.g), self.W)


class Rounding(Reference):
    def begin(self, d, K, theta=0.01, K_=10, eta=0.1, rate="constant"):
        self.theta, self.K, self.eta, self.rate = theta, K_, eta, rate

    def move(self, G, g):
        eta = self.eta_t()
        self.W, self.b = self.W - eta * G, self.b - eta * g
        if self.t % self.K == 0:
            self.W = np.where(np.abs(self.W) <= self.theta, 0.0, self.W)


class Rda(Reference):
    def begin(self, d, K, lambda_=1e-4, gamma=1.0, rho=0.0, sigma=0.0):
        self.lambda_, self.gamma, self.rho, self.sigma = lambda_, gamma, rho, sigma
        self.G, self.g = np.zeros((d, K)), np.zeros(K)

    def move(self, G, g):
        t, root = self.t, np.sqrt(self.t)
        self.G += G
        self.g += g
        self.mean = self.G / t
        curve = self.sigma + self.gamma / root
        self.W, self.b = self.weights(self.lambda_ + self.gamma * self.rho / root) / curve, -self.g / t / curve

    def weights(self, threshold):
        return -soft(self.mean, threshold)


class GroupLasso(Rda):
    """Column by column; r = 0 is the group lasso."""

    def begin(self, d, K, groups, r=0.0, **given):
        super().begin(d, K, **given)
        self.groups, self.r = np.asarray(groups), r

    def weights(self, threshold):
        threshold += (self.r - 1.0) * self.lambda_
        C = soft(self.mean, threshold)
        W = np.zeros(C.shape)
        for g in np.unique(self.groups):
            own = self.groups == g
            for c in range(C.shape[1]):
                W[own, c] = -shortened(C[own, c], self.lambda_ * np.sqrt(own.sum()))
        return W


class Ftrl(Reference):
    def begin(self, d, K, alpha=0.1, beta=1.0, lambda1=1.0, lambda2=0.0):
        self.alpha, self.beta, self.lambda1, self.lambda2 = alpha, beta, lambda1, lambda2
        self.z, self.n, self.z_b, self.n_b = np.zeros((d, K)), np.zeros((d, K)), np.zeros(K), np.zeros(K)

    def solved(self, z, n, l1, l2):
        q = (self.beta + np.sqrt(n)) / self.alpha + l2
        return np.where(q > 0, -soft(z, l1) / np.where(q > 0, q, 1.0), 0.0)

    def move(self, G, g):
        self.z += G - (np.sqrt(self.n + G**2) - np.sqrt(self.n)) / self.alpha * self.W
        self.z_b += g - (np.sqrt(self.n_b + g**2) - np.sqrt(self.n_b)) / self.alpha * self.b
        self.n += G**2
        self.n_b += g**2
        self.W, self.b = self.solved(self.z, self.n, self.lambda1, self.lambda2), self.solved(self.z_b, self.n_b, 0.0, 0.0)


class AdaFobos(Reference):
    def begin(self, d, K, lambda_=1e-4, l2=0.0, eta=0.1, delta=1e-8):
        self.lambda_, self.l2, self.eta, self.delta = lambda_, l2, eta, delta
        self.n, self.n_b = np.zeros((d, K)), np.zeros(K)

    def move(self, G, g):
        self.n += G**2
        self.n_b += g**2
        with np.errstate(all="ignore"):
            r, r_b = self.eta / (self.delta + np.sqrt(self.n)), self.eta / (self.delta + np.sqrt(self.n_b))
            W = soft(self.W - r * G, r * self.lambda_) / (1 + r * self.l2)
            self.W, self.b = np.where(self.n > 0, W, 0.0), np.where(self.n_b > 0, self.b - r_b * g, 0.0)


class AdaRda(Reference):
    def begin(self, d, K, lambda_=1e-4, l2=0.0, eta=0.1, delta=1.0):
        self.lambda_, self.l2, self.eta, self.delta = lambda_, l2, eta, delta
        self.G, self.n, self.g, self.n_b = np.zeros((d, K)), np.zeros((d, K)), np.zeros(K), np.zeros(K)

    def move(self, G, g):
        self.G += G
        self.n += G**2
        self.g += g
        self.n_b += g**2
        H, t = self.delta + np.sqrt(self.n), self.t
        self.W = -self.eta * t * soft(self.G / t, self.lambda_) / (H + self.eta * self.l2 * t)
        self.b = -self.eta * self.g / (self.delta + np.sqrt(self.n_b))


def largest(W, B):
    """The B largest of each column, the first of equal ones; the others 0."""
    out = np.zeros(W.shape)
    for c in range(W.shape[1]):
        for j in sorted(range(len(W)), key=lambda j: (-abs(W[j, c]), j))[:B]:
            out[j, c] = W[j, c]
    return out


def ofs(X, y, K, c, bias, B, eta=0.2, lambda_=0.01):
    """Weights of OFS after each round, rows that count only; multiclass: the best rival."""
    W, b, out = np.zeros((X.shape[1], max(K - 1, 1) if K < 3 else K)), np.zeros(max(K - 1, 1) if K < 3 else K), []
    for x, t, omega in zip(X, y, c, strict=True):
        if omega > 0 and (bias or x.any()):
            f = x @ W + bias * b
            z = np.zeros(len(b))
            if K < 3:
                margin, z[0] = t * f[0], t
            else:
                r = max((k for k in range(K) if k != t), key=lambda k: (f[k], -k))
                margin, z[t], z[r] = f[t] - f[r], 1, -1
            W = (1 - lambda_ * eta) * W
            if margin <= 1:
                W, b = W + eta * omega * np.outer(x, z), b + bias * eta * omega * z
                W = largest(W * min(1, 1 / np.sqrt(lambda_) / max(np.linalg.norm(W), 1e-300)), B)
        out.append((W.copy(), b.copy()))
    return out


REFERENCES = {
    "fobos": Fobos,
    "truncated_gradient": TruncatedGradient,
    "rounding": Rounding,
    "rda": Rda,
    "group_lasso": GroupLasso,
    "ftrl": Ftrl,
    "adagrad_fobos": AdaFobos,
    "adagrad_rda": AdaRda,
}


def transcribe(name, params, K, X, y, c=None, bias=False):
    """Return the scores before each round, one column per class or one, and the reference after the last."""
    params = dict(params)
    loss = params.pop("loss", "log" if K else "square")
    if "K" in params:
        params["K_"] = params.pop("K")
    ref = REFERENCES[name](X.shape[1], K if K > 2 else 1, **params)
    scores = []
    for x, t, omega in zip(X, y, np.ones(len(y)) if c is None else c, strict=True):
        f = x @ ref.W + bias * ref.b
        scores.append(f)
        if omega > 0 and (bias or x.any()):
            g = omega * gradient(loss, f, t, K)
            ref.round(np.outer(x, g), bias * g)
    return np.array(scores), ref
