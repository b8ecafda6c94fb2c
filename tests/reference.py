"""Eager, dense NumPy transcriptions of the first-order learners: the oracle of the tests.

Every function takes ``(X, y, **params, weights=None)`` and returns a ``Run``. Labels are +1/-1 (binary), 0..K-1
(multiclass, with the keyword ``K``) or real targets; a sample weight of 0 skips the round. Binary and multiclass share
one text: the instance is z = e x with e = y, or e = e_y - e_r for the best rival r, so that W has one row per class and
every rule sees the label +1, the margin m, ||z||^2 and the whole of W.
"""

from functools import partial
from typing import NamedTuple

import numpy as np


class Run(NamedTuple):
    """Scores before each update, weights after each round, and whether the round's loss moved them."""

    scores: np.ndarray
    W: np.ndarray
    updated: np.ndarray


class Stream:
    """The rounds of one run: iterating yields ``x, y, omega`` and keeps what a Run reports."""

    def __init__(self, X, y=None, K=None, weights=None, start=None, zeros=False):
        """Zero instances are left out unless zeros; t counts them all the same."""
        self.X = np.asarray(X, float)
        T, d = self.X.shape
        self.y = np.zeros(T) if y is None else np.asarray(y, int if K else float)
        self.omega = np.ones(T) if weights is None else np.asarray(weights, float)
        self.w = np.zeros((K, d) if K else d) if start is None else np.array(start, float)
        self.t, self.zeros, self.rows = 0, zeros, []
        self.score = lambda x: self.w @ x
        self.view = lambda: self.w

    def __iter__(self):
        """Score, let the caller update, keep the result."""
        for x, y, omega in zip(self.X, self.y, self.omega, strict=True):
            score, self.hit = self.score(x), False
            if omega > 0:
                self.t += 1
                if self.zeros or x.any():
                    yield x, y, omega
            self.rows.append((score, self.view().copy(), bool(self.hit)))

    def pairs(self):
        """Yield the instance z, its margin m under w and the weight omega."""
        for x, y, omega in self:
            e, m = pair(self.w @ x, y)
            yield np.multiply.outer(e, x), m, omega

    def update(self, w):
        """Replace w in a round that counts as an update."""
        self.w, self.hit = w, True

    def run(self):
        """Give the rounds so far."""
        return Run(*(np.array(column) for column in zip(*self.rows, strict=True)))


def rival(s, y):
    """A.5: the best class other than y, the lowest on ties."""
    s = s.copy()
    s[y] = -np.inf
    return np.argmax(s)


def pair(s, y):
    """A.5: signs e and margin m of the scores s; e = y when there is one score, else e_y - e_r."""
    if np.ndim(s) == 0:
        return y, y * s
    r = rival(s, y)
    e = np.zeros(len(s))
    e[y], e[r] = 1, -1
    return e, s[y] - s[r]


def sq(v):
    """Squared Euclidean norm."""
    return np.sum(v * v)


def norm(v, p):
    """p-norm of all entries."""
    return np.sum(np.abs(v) ** p) ** (1 / p)


def rate_at(rate, eta, t):
    """D.1: the step size of round t."""
    return {"constant": eta, "inv_sqrt": eta / np.sqrt(t), "inv_t": eta / t}[rate]


# A.2 losses


def loss_value(name, p, y, epsilon=0.1):
    """A.2: the loss of the prediction p."""
    return {
        "zero_one": lambda: float((1 if p >= 0 else -1) != y),
        "perceptron": lambda: max(0.0, -y * p),
        "hinge": lambda: max(0.0, 1 - y * p),
        "squared_hinge": lambda: max(0.0, 1 - y * p) ** 2,
        "log": lambda: np.logaddexp(0, -y * p),
        "exponential": lambda: np.exp(min(-y * p, 500)),
        "square": lambda: (p - y) ** 2,
        "absolute": lambda: abs(p - y),
        "epsilon_insensitive": lambda: max(0.0, abs(p - y) - epsilon),
        "squared_epsilon_insensitive": lambda: max(0.0, abs(p - y) - epsilon) ** 2,
    }[name]()


def loss_derivative(name, p, y, epsilon=0.1):
    """A.2: the derivative of the loss in p."""
    return {
        "perceptron": lambda: -y if y * p <= 0 else 0.0,
        "hinge": lambda: -y if y * p < 1 else 0.0,
        "squared_hinge": lambda: -2 * y * max(0.0, 1 - y * p),
        "log": lambda: -y * np.exp(-np.logaddexp(0, y * p)),
        "exponential": lambda: -y * np.exp(min(-y * p, 500)),
        "square": lambda: 2 * (p - y),
        "absolute": lambda: np.sign(p - y),
        "epsilon_insensitive": lambda: np.sign(p - y) if abs(p - y) > epsilon else 0.0,
        "squared_epsilon_insensitive": lambda: 2 * np.sign(p - y) * max(0.0, abs(p - y) - epsilon),
    }[name]()


def softmax(s):
    """A.2: exp(s) normalised to sum 1 along the last axis."""
    e = np.exp(s - np.max(s, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


def multiclass_loss(name, s, y):
    """A.2: softmax loss ("log"), or a margin loss of s_y - s_r."""
    if name == "log":
        return np.max(s) + np.log(np.sum(np.exp(s - np.max(s)))) - s[y]
    return loss_value(name, pair(s, y)[1], 1)


def multiclass_derivative(name, s, y):
    """A.2: the derivative in each score."""
    if name == "log":
        return softmax(s) - np.eye(len(s))[y]
    e, m = pair(s, y)
    return loss_derivative(name, m, 1) * e


def cost_hinge(s, y, delta):
    """A.2: cost-sensitive hinge loss and its derivative in each score; delta is the cost matrix."""
    r = rival(s + delta[y], y)
    loss = max(0.0, s[r] - s[y] + delta[y][r])
    return loss, (np.eye(len(s))[r] - np.eye(len(s))[y]) * (loss > 0)


def gradient(name, w, x, y, epsilon=0.1):
    """A.2: the gradient in w, or in all rows of W."""
    s = w @ x
    c = loss_derivative(name, s, y, epsilon) if w.ndim == 1 else multiclass_derivative(name, s, y)
    return np.multiply.outer(c, x)


# A.3 projections


def project_l2(v, R=1.0):
    """A.3: on the L2 ball of radius R."""
    n = np.sqrt(sq(v))
    return v * (R / n) if n > R else v


def project_box(v, lo, hi):
    """A.3: on the box [lo, hi]."""
    return np.clip(v, lo, hi)


def project_simplex(v, z=1.0):
    """A.3: on {w >= 0, sum w = z}."""
    u = np.sort(v)[::-1]
    thresholds = (np.cumsum(u) - z) / np.arange(1, len(v) + 1)
    return np.maximum(v - thresholds[np.nonzero(u > thresholds)[0][-1]], 0)


def project_l1(v, z=1.0):
    """A.3: on the L1 ball of radius z."""
    return v if np.sum(np.abs(v)) <= z else np.sign(v) * project_simplex(np.abs(v), z)


def project_halfspace(v, a, b):
    """A.3: on {a.w >= b}."""
    return v + max(0.0, b - a @ v) * a / sq(a)


def project(w, projection, radius):
    """D.1: on the set called projection; all rows of W form one vector."""
    if projection is None:
        return w
    sets = {"l2": project_l2, "l1": project_l1, "simplex": project_simplex, "box": lambda v, r: project_box(v, -r, r)}
    return sets[projection](w.ravel(), radius).reshape(w.shape)


# A.4 proximal maps


def prox_l1(v, t):
    """A.4: soft threshold."""
    return np.sign(v) * np.maximum(np.abs(v) - t, 0)


def prox_l2sq(v, t):
    """A.4: of half the squared L2 norm."""
    return v / (1 + t)


def prox_l2(v, t):
    """A.4: of the L2 norm."""
    n = np.sqrt(sq(v))
    return v * max(0.0, 1 - t / n) if n > 0 else v


def prox_linf(v, t):
    """A.4: of the largest absolute entry."""
    return v - project_l1(v, t) if t > 0 else v


def prox_groups(v, t, groups, prox):
    """A.4: prox_l2 or prox_linf on each group of indices."""
    w = v.copy()
    for g in groups:
        w[g] = prox(v[g], t)
    return w


def prox_elastic_net(v, t, a, b):
    """A.4: of a ||w||_1 + b/2 ||w||^2."""
    return prox_l1(v, t * a) / (1 + t * b)


# A.5 one-vs-rest


def one_vs_rest(learner, X, y, *, K, **params):
    """A.5: K independent binary runs."""
    runs = [learner(X, np.where(np.asarray(y) == r, 1.0, -1.0), **params) for r in range(K)]
    scores, W, updated = (np.stack(column, axis=1) for column in zip(*runs, strict=True))
    return Run(scores, W, updated.any(axis=1))


# B Perceptrons, ALMA, ROMMA, MIRA, NORMA


def perceptron(X, y, *, K=None, beta=0.0, gamma=1.0, alpha=1.0, schedule="constant", weights=None):
    """B.1, B.2; the pair form of A.5 with K."""
    s, k = Stream(X, y, K, weights), 0
    for z, m, omega in s.pairs():
        if m <= beta:
            k += 1
            steps = {"line_search": max(0.0, beta - gamma * m) / sq(z), "inv_updates": alpha / k}
            a = steps[schedule] if schedule in steps else rate_at(schedule, alpha, s.t)
            s.update(gamma * s.w + omega * a * z)
    return s.run()


def perceptron_multiclass(X, y, *, K, update="max", weights=None):
    """B.7."""
    s = Stream(X, y, K, weights)
    for x, label, omega in s:
        f = s.w @ x
        E = [r for r in range(K) if r != label and f[r] >= f[label]]
        if E:
            share = np.zeros(K)
            over = f[E] - f[label]
            if update == "max":
                share[rival(f, label)] = 1
            elif update == "proportional" and over.sum() > 0:
                share[E] = over / over.sum()
            else:
                share[E] = 1 / len(E)
            s.update(s.w + omega * np.outer(np.eye(K)[label] - share, x))
    return s.run()


def shifting_perceptron(X, y, *, K=None, lambda_=2.0, weights=None):
    """B.4."""
    s, k = Stream(X, y, K, weights), 0
    for z, m, omega in s.pairs():
        if m <= 0:
            lambda_k = lambda_ / (lambda_ + k)
            s.update((1 - lambda_k) * s.w + omega * lambda_k * z)
            k += 1
    return s.run()


def voted_perceptron(X, y, *, K=None, weights=None):
    """B.5: the scores are the votes, W is the current weight vector."""
    s, kept = Stream(X, y, K, weights, zeros=True), []

    def vote(f):
        return np.eye(K)[np.argmax(f)] if K else 1.0 if f >= 0 else -1.0

    s.score = lambda x: sum((c * vote(w @ x) for w, c in kept), np.zeros(K) if K else 0.0)
    for z, m, omega in s.pairs():
        if m <= 0 and z.any():
            s.update(s.w + omega * z)
            kept.append([s.w, 1])
        elif kept:
            kept[-1][1] += 1
    return s.run()


def averaged_perceptron(X, y, *, K=None, weights=None):
    """B.6: scores and W of the average of the t + 1 vectors w_1 = 0, w_2, ..., w_{t+1}."""
    s = Stream(X, y, K, weights, zeros=True)
    total = np.zeros_like(s.w)
    s.view = lambda: total / (s.t + 1)
    s.score = lambda x: s.view() @ x
    for z, m, omega in s.pairs():
        if m <= 0 and z.any():
            s.update(s.w + omega * z)
        total = total + s.w
    return s.run()


def link(v, p):
    """B.9: the gradient of half the squared p-norm, inverted by the conjugate exponent."""
    n = norm(v, p)
    return np.sign(v) * np.abs(v) ** (p - 1) / n ** (p - 2) if n > 0 else v


def alma(X, y, *, K=None, p=2.0, alpha=0.9, B=None, C=2**0.5, weights=None):
    """B.9."""
    s, k, q = Stream(X, y, K, weights), 1, p / (p - 1)
    B = 1 / alpha if B is None else B
    for z, m, omega in s.pairs():
        n = norm(z, p)
        if m / n <= (1 - alpha) * B * np.sqrt(p - 1) / np.sqrt(k):
            eta = C / (np.sqrt(p - 1) * np.sqrt(k))
            w = link(link(s.w, q) + omega * eta * z / n, p)
            s.update(w / max(1.0, norm(w, q)))
            k += 1
    return s.run()


def romma(X, y, *, K=None, aggressive=False, weights=None):
    """B.10: weights only skip."""
    s = Stream(X, y, K, weights)
    for z, m, _ in s.pairs():
        if m < 1 if aggressive else m <= 0:
            xx, ww = sq(z), sq(s.w)
            det = xx * ww - m * m
            if ww == 0 or m >= xx * ww:
                s.update(z / xx)
            elif det > 1e-12 * xx * ww:
                s.update((xx * ww - m) / det * s.w + ww * (1 - m) / det * z)
    return s.run()


def mira_tau(f, y, A, cap=1.0):
    """B.11: tau_r = min(cap 1[r = y], theta - f_r / A), theta the root of their sum, piecewise linear in theta."""
    v, upper = f / A, cap * np.eye(len(f))[y]
    knots = np.unique([min(v) - 1, *(v + upper)])
    theta = np.interp(0, [np.sum(np.minimum(upper, k - v)) for k in knots], knots)
    return np.minimum(upper, theta - v)


def mira(X, y, *, K=None, W0=None, weights=None):
    """B.11: a Perceptron step while w = 0."""
    s = Stream(X, y, K, weights, W0)
    for x, label, omega in s:
        f = s.w @ x
        e, m = pair(f, label)
        if not s.w.any():
            s.update(omega * np.multiply.outer(e, x))
        elif m < 0:
            tau = mira_tau(f, label, sq(x), omega) if K else e * min(omega, -m / sq(x))
            s.update(s.w + np.multiply.outer(tau, x))
    return s.run()


def norma(X, y, *, K=None, eta=0.1, lambda_=0.01, rho=None, nu=None, offset=False, rate="constant", weights=None):
    """B.13, classification: rho starts at 1, or at 0 with nu; the offset b (one per class) is part of the score."""
    s, b = Stream(X, y, K, weights), np.zeros(K) if K else 0.0
    rho = float(nu is None) if rho is None else rho
    s.score = lambda x: s.w @ x + b
    for x, label, omega in s:
        e, m = pair(s.score(x), label)
        eta_t, sigma = rate_at(rate, eta, s.t), m <= rho
        s.w = (1 - eta_t * lambda_) * s.w
        if sigma:
            s.update(s.w + eta_t * omega * np.multiply.outer(e, x))
            b = b + eta_t * omega * e * offset
        if nu is not None:
            rho += eta_t * omega * (nu - sigma)
    return s.run()


def norma_regression(
    X, y, *, loss="epsilon_insensitive", eta=0.1, lambda_=0.01, nu=None, epsilon=0.1, rate="constant", weights=None
):
    """B.13, regression: with nu, epsilon is learned; the square loss is half of A.2's."""
    s = Stream(X, y, None, weights)
    for x, target, omega in s:
        error, eta_t = target - s.w @ x, rate_at(rate, eta, s.t)
        outside = abs(error) > epsilon
        a = error if loss == "square" else np.sign(error) * outside
        s.w, s.hit = (1 - eta_t * lambda_) * s.w + eta_t * omega * a * x, a != 0
        if nu is not None:
            epsilon = max(0.0, epsilon + eta_t * omega * (outside - nu))
    return s.run()


def norma_novelty(X, y=None, *, eta=0.1, lambda_=0.01, nu=0.5, rho=0.0, rate="constant", weights=None):
    """B.13, novelty: the score is f - rho, at least 0 for inliers."""
    s = Stream(X, None, None, weights)
    s.score = lambda x: s.w @ x - rho
    for x, _, omega in s:
        eta_t, sigma = rate_at(rate, eta, s.t), s.w @ x < rho
        s.w, s.hit = (1 - eta_t * lambda_) * s.w + eta_t * omega * sigma * x, sigma
        rho += eta_t * omega * (nu - sigma)
    return s.run()


# C passive-aggressive


def pa_tau(variant, loss, vv, C):
    """C: the step along a direction of squared norm vv."""
    return {"pa": loss / vv, "pa1": min(C, loss / vv), "pa2": loss / (vv + 1 / (2 * C))}[variant]


def pa(X, y, *, K=None, variant="pa1", C=1.0, weights=None):
    """C.1, C.3."""
    s = Stream(X, y, K, weights)
    for z, m, omega in s.pairs():
        if m < 1:
            s.update(s.w + pa_tau(variant, 1 - m, sq(z), omega * C) * z)
    return s.run()


def pa_regression(X, y, *, variant="pa1", C=1.0, epsilon=0.1, weights=None):
    """C.2."""
    s = Stream(X, y, None, weights)
    for x, target, omega in s:
        error = target - s.w @ x
        loss = abs(error) - epsilon
        if loss > 0:
            s.update(s.w + pa_tau(variant, loss, sq(x), omega * C) * np.sign(error) * x)
    return s.run()


def pa_cost(X, y, *, K, cost=None, mode="max_loss", margin="sqrt_cost", variant="pa1", C=1.0, weights=None):
    """C.4."""
    s = Stream(X, y, K, weights)
    rho = 1 - np.eye(K) if cost is None else np.asarray(cost, float)
    need = {"sqrt_cost": np.sqrt(rho), "cost": rho, "unit": 1 - np.eye(K)}[margin]
    for x, label, omega in s:
        f = s.w @ x
        losses = f - f[label] + need[label]
        r = np.argmax(f if mode == "prediction" else losses)
        if r != label and losses[r] > 0:
            v = np.outer(np.eye(K)[label] - np.eye(K)[r], x)
            s.update(s.w + pa_tau(variant, losses[r], sq(v), omega * C) * v)
    return s.run()


def pa_uniclass(X, y=None, *, variant="pa1", C=1.0, epsilon=1.0, B=None, weights=None):
    """C.7: radius minus distance, and the centre; w has one more coordinate, B when the radius is learned, else 0."""
    T, d = np.shape(X)
    R = epsilon if B is None else B
    start = np.append(np.zeros(d), 0.0 if B is None else B)
    s = Stream(np.column_stack([X, np.zeros(T)]), None, None, weights, start, zeros=True)
    s.view = lambda: s.w[:d]
    s.score = lambda x: np.sqrt(max(0.0, R**2 - s.w[d] ** 2)) - np.sqrt(sq(x[:d] - s.w[:d]))
    for x, _, omega in s:
        distance = np.sqrt(sq(x - s.w))
        if distance > R:
            tau = pa_tau(variant, distance - R, 1.0, omega * C)
            s.update(s.w + tau * (x - s.w) / distance)
    return s.run()


# D online convex optimisation


def ogd(
    X,
    y,
    *,
    K=None,
    loss="hinge",
    eta=1.0,
    rate="inv_sqrt",
    projection=None,
    radius=1.0,
    l2=0.0,
    epsilon=0.1,
    W0=None,
    weights=None,
):
    """D.1: starts at the projection of 0, or at W0."""
    s = Stream(X, y, K, weights, W0)
    s.w = project(s.w, projection, radius) if W0 is None else s.w
    for x, label, omega in s:
        eta_t, g = rate_at(rate, eta, s.t), gradient(loss, s.w, x, label, epsilon)
        s.w, s.hit = project((1 - eta_t * l2) * s.w - eta_t * omega * g, projection, radius), g.any()
    return s.run()


def eg(X, y, *, K=None, loss="square", eta=0.1, rate="constant", epsilon=0.1, weights=None):
    """D.2, EG in the log domain: each row of W sums to 1."""
    s = Stream(X, y, K, weights)
    log_w = np.zeros_like(s.w)
    s.w = softmax(log_w)
    for x, label, omega in s:
        g = gradient(loss, s.w, x, label, epsilon)
        log_w = log_w - rate_at(rate, eta, s.t) * omega * g
        s.w, s.hit = softmax(log_w), g.any()
    return s.run()


def eg_pm(X, y, *, K=None, loss="square", eta=0.1, U=1.0, rate="constant", epsilon=0.1, weights=None):
    """D.2, EG+- in the log domain: each row of (w+, w-) sums to U."""
    s = Stream(X, y, K, weights)
    log_wp, log_wm = np.zeros_like(s.w), np.zeros_like(s.w)
    for x, label, omega in s:
        g = gradient(loss, s.w, x, label, epsilon)
        step = rate_at(rate, eta, s.t) * omega * U * g
        log_wp, log_wm = log_wp - step, log_wm + step
        wp, wm = np.split(U * softmax(np.concatenate([log_wp, log_wm], axis=-1)), 2, axis=-1)
        s.w, s.hit = wp - wm, g.any()
    return s.run()


def winnow(X, y, *, K=None, alpha=2.0, theta=None, zero_on_demotion=False, weights=None):
    """D.3: theta is d by default and is part of the score, but for multiclass."""
    d = np.shape(X)[1]
    theta = 0.0 if K else d if theta is None else theta
    s = Stream(X, y, K, weights, np.ones((K, d) if K else d))
    s.score = lambda x: s.w @ x - theta
    for x, label, omega in s:
        f = s.score(x)
        e, m = pair(f, label)
        if m <= 0 if K else (f >= 0) != (label > 0):
            z = np.multiply.outer(e, x)
            s.update(s.w * alpha ** (omega * z))
            s.w[(z < 0) & zero_on_demotion] = 0
    return s.run()


def balanced_winnow(X, y, *, K=None, alpha=2.0, beta=0.5, theta=1.0, weights=None):
    """D.3: W is w+ - w-; theta is part of the score, but for multiclass."""
    s = Stream(X, y, K, weights)
    d = s.w.shape[-1]
    wp, wm = np.full_like(s.w, 2 * theta / d), np.full_like(s.w, theta / d)
    s.w = wp - wm
    s.score = lambda x: s.w @ x - (0.0 if K else theta)
    for x, label, omega in s:
        f = s.score(x)
        e, m = pair(f, label)
        if m <= 0 if K else (f >= 0) != (label > 0):
            z = omega * np.multiply.outer(e, x)
            up, down = np.maximum(z, 0), np.maximum(-z, 0)
            wp, wm = wp * alpha**up * beta**down, wm * beta**up * alpha**down
            s.update(wp - wm)
    return s.run()


def mirror_descent(X, y, *, K=None, loss="hinge", p=2.0, eta=0.1, rate="constant", epsilon=0.1, weights=None):
    """D.4, p-norm: theta -= eta g, and theta += z without eta for the loss "perceptron"; W is the primal vector."""
    s = Stream(X, y, K, weights)
    theta = np.zeros_like(s.w)
    for x, label, omega in s:
        g = gradient(loss, s.w, x, label, epsilon)
        eta_t = 1.0 if loss == "perceptron" else rate_at(rate, eta, s.t)
        theta = theta - eta_t * omega * g
        s.w, s.hit = link(theta, p), g.any()
    return s.run()


REGISTRY = {
    "perceptron": perceptron,
    "shifting_perceptron": shifting_perceptron,
    "voted_perceptron": voted_perceptron,
    "averaged_perceptron": averaged_perceptron,
    "alma": alma,
    "romma": romma,
    "aromma": partial(romma, aggressive=True),
    "mira": mira,
    "norma": norma,
    **{v: partial(pa, variant=v) for v in ("pa", "pa1", "pa2")},
    **{v + "_regressor": partial(pa_regression, variant=v) for v in ("pa", "pa1", "pa2")},
    "pa_uniclass": pa_uniclass,
    "ogd": ogd,
    "ogd_regressor": partial(ogd, loss="square"),
    "eg": partial(eg, loss="hinge"),
    "eg_regressor": eg,
    "eg_pm": partial(eg_pm, loss="hinge"),
    "eg_pm_regressor": eg_pm,
    "winnow": winnow,
    "balanced_winnow": balanced_winnow,
    "mirror_descent": mirror_descent,
    "mirror_descent_regressor": partial(mirror_descent, loss="square"),
    "norma_regressor": norma_regression,
    "norma_novelty": norma_novelty,
}


def learn(name, X, y, **params):
    """Run the learner of that registry name; its parameters select B.7 and C.4."""
    if name == "perceptron" and "update" in params:
        return perceptron_multiclass(X, y, **params)
    if params.keys() & {"cost", "mode", "margin"}:
        return pa_cost(X, y, variant=name, **params)
    return REGISTRY[name](X, y, **params)
