"""Portfolio selection, transcribed from the papers in plain NumPy: a function from relatives to the weights of days 1 to T + 1."""

import numpy as np
from scipy.optimize import minimize_scalar


def simplex(v):
    """The nearest portfolio, by sorting (Duchi et al. 2008)."""
    u = np.sort(v)[::-1]
    c = np.cumsum(u) - 1.0
    n = np.nonzero(u - c / np.arange(1, len(v) + 1) > 0)[0][-1]
    return np.maximum(v - c[n] / (n + 1.0), 0.0)


def walk(rule):
    """Make rule(b, x, past) a function of the whole market; past are the relatives up to today."""

    def run(X, **given):
        X = np.asarray(X, float)
        b, B, memory = np.full(X.shape[1], 1.0 / X.shape[1]), [], {}
        for t in range(len(X)):
            B.append(b)
            b = rule(b, X[t], X[: t + 1], memory, **given)
        return np.array([*B, b])

    return run


@walk
def market(b, x, past, memory):
    return b * x / (b @ x)


@walk
def crp(b, x, past, memory):
    return b


@walk
def eg(b, x, past, memory, eta=0.05):
    v = b * np.exp(eta * x / (b @ x))
    return v / v.sum()


@walk
def pamr(b, x, past, memory, epsilon=0.5, variant="pamr", C=500.0):
    d = x - x.mean()
    loss, n2 = max(0.0, b @ x - epsilon), d @ d
    if np.ptp(x) == 0.0:
        return b
    tau = {"pamr": loss / n2, "pamr1": min(C, loss / n2), "pamr2": loss / (n2 + 1.0 / (2.0 * C))}[variant]
    return simplex(b - tau * d)


def cwmr_roots(variant, phi, epsilon, mu, S, x):
    """The quadratic of lambda, written with full matrices as in the paper."""
    one = np.ones(len(x))
    M, V, W = mu @ x, x @ S @ x, x @ S @ one
    xbar = one @ S @ x / (one @ S @ one)
    W = V / xbar if np.ptp(x) == 0 else W  # V - xbar W is 0 then
    if variant == "var":
        return (
            2 * phi * V**2 - 2 * phi * xbar * V * W,
            2 * phi * epsilon * V - 2 * phi * V * M + V - xbar * W,
            epsilon - M - phi * V,
        )
    k = (0.0 if np.ptp(x) == 0 else V - xbar * W) + phi**2 * V / 2
    return 0.0 if np.ptp(x) == 0 else k**2 - phi**4 * V**2 / 4, 2 * (epsilon - M) * k, (epsilon - M) ** 2 - phi**2 * V


@walk
def cwmr(b, x, past, memory, phi=2.0, epsilon=0.5, variant="stdev"):
    m = len(x)
    S = memory.setdefault("S", np.eye(m) / m**2)
    one = np.ones(m)
    roots = np.roots(cwmr_roots(variant, phi, epsilon, b, S, x))
    lam = max([0.0, *(r.real for r in roots if abs(r.imag) < 1e-12)])
    V, xbar = x @ S @ x, one @ S @ x / (one @ S @ one)
    mu = b - lam * S @ (x - xbar * one)
    if variant == "var":
        c = 2 * lam * phi
    else:
        c = lam * phi / (0.5 * (-lam * phi * V + np.sqrt(lam**2 * phi**2 * V**2 + 4 * V)))
    S = np.linalg.inv(np.linalg.inv(S) + c * np.diag(x**2))
    memory["S"] = S / (m * S.sum())
    return simplex(mu)


@walk
def olmar(b, x, past, memory, epsilon=10.0, W=5, alpha=None):
    if alpha is None:
        prices = np.cumprod(np.vstack([np.ones(len(x)), past]), axis=0)
        goal = prices[-W:].mean(0) / prices[-1] if len(past) > W else x
    else:
        goal = memory["g"] = alpha + (1 - alpha) * memory.get("g", 1.0) / x
    d = goal - goal.mean()
    return simplex(b + max(0.0, epsilon - b @ goal) / (d @ d) * d) if d @ d > 1e-30 else b


@walk
def ons(b, x, past, memory, eta=0.0, beta=1.0, delta=0.125):
    """The projection by enumerating all sets of assets: for a few assets."""
    m = len(x)
    g = x / (b @ x)
    A = memory["A"] = memory.get("A", np.eye(m)) + np.outer(g, g)
    p = memory["p"] = memory.get("p", 0.0) + (1 + 1 / beta) * g
    u, best = delta * np.linalg.solve(A, p), (np.inf, None)
    for code in range(1, 1 << m):
        F = [k for k in range(m) if code >> k & 1]
        K = np.block([[A[np.ix_(F, F)], np.ones((len(F), 1))], [np.ones((1, len(F))), np.zeros((1, 1))]])
        q = np.zeros(m)
        q[F] = np.linalg.solve(K, np.append((A @ u)[F], 1.0))[:-1]
        if (q >= -1e-12).all():
            best = min(best, ((q - u) @ A @ (q - u), q), key=lambda found: found[0])
    return (1 - eta) * np.maximum(best[1], 0.0) + eta / m


def anticor_rule(b, x, past, w):
    """One window, from its days."""
    bhat, m = b * x / (b @ x), len(x)
    if len(past) < 2 * w:
        return bhat
    one, two = np.log(past[-2 * w : -w]), np.log(past[-w:])
    mu1, mu2 = one.mean(0), two.mean(0)
    cov = (one - mu1).T @ (two - mu2) / (w - 1)
    std1, std2 = np.where(np.ptp(one, 0) == 0, 0, one.std(0, ddof=1)), np.where(np.ptp(two, 0) == 0, 0, two.std(0, ddof=1))
    scale = np.outer(std1, std2)
    cor = np.divide(cov, scale, out=np.zeros((m, m)), where=scale > 0)
    neg = np.maximum(0, -np.diag(cor))
    claim = np.where((mu2[:, None] >= mu2[None, :]) & (cor > 0), cor + neg[:, None] + neg[None, :], 0.0)
    np.fill_diagonal(claim, 0.0)
    total = claim.sum(1, keepdims=True)
    transfer = bhat[:, None] * np.divide(claim, total, out=np.zeros((m, m)), where=total > 0)
    return bhat + transfer.sum(0) - transfer.sum(1)


def anticor(X, W=30, w=None):
    """Windows by themselves, then the mean of their portfolios by wealth."""
    X = np.asarray(X, float)
    one = walk(lambda b, x, past, memory, w: anticor_rule(b, x, past, w))
    runs = np.array([one(X, w=v) for v in ([w] if w else range(2, W + 1))])
    wealth = np.cumprod((runs[:, :-1] * X).sum(2), axis=1)
    wealth = np.hstack([np.ones((len(runs), 1)), wealth])
    return (wealth[:, :, None] * runs).sum(0) / wealth.sum(0)[:, None]


def universal(X, portfolios):
    """The mean of given portfolios by wealth."""
    wealth = np.vstack([np.ones(len(portfolios)), np.cumprod(np.asarray(X) @ portfolios.T, axis=0)])
    return wealth @ portfolios / wealth.sum(1, keepdims=True)


def universal_of_two(X, prior="uniform", n=20001):
    """Universal portfolio of two assets by numerical integration over c in [0, 1]."""
    if prior == "uniform":
        c, mass = np.linspace(0.0, 1.0, n), np.ones(n)
        mass[[0, -1]] = 0.5
    else:  # the density 1/sqrt(c (1 - c)) is that of sin^2 of a uniform angle
        c, mass = np.sin((np.arange(n) + 0.5) * np.pi / (2 * n)) ** 2, np.ones(n)
    P = np.stack([c, 1 - c], 1)
    wealth = np.vstack([np.ones(n), np.cumprod(np.asarray(X) @ P.T, axis=0)]) * mass
    return wealth @ P / wealth.sum(1, keepdims=True)


def ledger(X, B, cost, entry="charged"):
    """Wealth in shares and cash: each day sell and buy to come to the weights, pay half the cost on what changes hands."""
    price, shares, cash, worth = np.ones(X.shape[1]), np.zeros(X.shape[1]), 1.0, []
    if entry == "free":
        shares, cash = B[0] / price, 0.0
    for x, b in zip(X, B, strict=False):
        total = shares @ price + cash
        traded = np.abs(b * total - shares * price).sum()
        total -= cost / 2 * traded  # paid from the whole: every holding shrinks alike
        shares, cash = b * total / price, 0.0
        price = price * x
        worth.append(shares @ price)
    return np.array(worth)


def best_of_two(X):
    """The best constant weights of two assets, by a search along the line."""
    found = minimize_scalar(lambda c: -np.log(X @ [c, 1 - c]).sum(), bounds=(0, 1), method="bounded", options={"xatol": 1e-10})
    return np.array([found.x, 1 - found.x]), -found.fun
