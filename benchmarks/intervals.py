"""Coverage of intervals and sets: on real streams, on made ones, against adversaries; widths beside ACI, sizes beside an oracle."""

from bisect import insort
from collections.abc import Iterator

import numpy as np

import noregret as nr

from .sets import scaled, shuffled
from .streams import Stream
from .table import Row

ROWS = 10_000
ALPHAS = (0.1, 0.05)
ACI_STEP = 0.005  # Gibbs, Candes (2021)


def formal(m: nr.Coverage, steps: int, gamma: float) -> float:
    """Return the share of rows that were not missed: misses = (u - 1)/gamma + alpha T."""
    return 1.0 - ((float(m.intervals.u[0]) - 1.0) / gamma / steps + (1.0 - m.level))


# ---- streams -----------------------------------------------------------------------------------------------------------
def answers(name: str, learner: nr.Learner, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the answers of a regressor from before each row, and the targets over their deviation."""
    stream = shuffled(name)
    X = scaled(Stream(stream.X[:, stream.X.std(0) > 0.0], stream.y)).X[:n]
    y = (stream.y / stream.y.std())[:n]
    return np.ravel(learner.learn_many(X, y)), y


def made(n: int) -> Iterator[tuple[str, np.ndarray]]:
    """Yield errors that drift, jump, grow or vanish."""
    rng, t = np.random.default_rng(0), np.arange(n)
    noise = rng.standard_normal(n)
    yield "Gaussian", noise
    yield "Cauchy", rng.standard_cauchy(n)
    yield "constant", np.ones(n)
    yield "alternating 0 and 1", 1.0 * (t % 2)
    yield "scale x10 every 2,000 rows", noise * 10.0 ** (t // 2000)
    yield "scale /10 every 2,000 rows", noise * 10.0 ** -(t // 2000)
    yield "growth of 1 % a row", noise * 1.01 ** np.minimum(t, 60_000)
    yield "scale e^(3 sin(t/300))", noise * np.exp(3.0 * np.sin(t / 300.0))
    yield "spikes of 1,000 every 5 rows", np.where(t % 5 == 0, 1000.0, noise)
    yield "spikes of 1,000 every 20 rows", np.where(t % 20 == 0, 1000.0, noise)


def adversary(alpha: float, n: int) -> float:
    """Return the coverage where every error is 1 if that is a miss, else 0."""
    m = nr.Coverage(1.0 - alpha)
    for _ in range(n):
        reach = m.predict([0.0])[0, 1]
        m.learn_many([0.0], [1.0 if reach < 1.0 else 0.0])
    return formal(m, n - 1, 0.05)


def width_of_aci(f: np.ndarray, y: np.ndarray, alpha: float) -> float:
    """Return the mean width in the second half of adaptive conformal intervals with the full history."""
    past: list[float] = []
    now, widths = alpha, []
    for e in np.abs(y - f).tolist():
        k = int(np.ceil((1.0 - now) * (len(past) + 1)))
        radius = np.inf if not past or k > len(past) else past[max(k, 1) - 1] if k > 0 else 0.0
        widths.append(2.0 * (radius if np.isfinite(radius) else past[-1] if past else 0.0))
        now += ACI_STEP * (alpha - (1.0 if e > radius else 0.0))
        insort(past, e)
    return float(np.mean(widths[len(widths) // 2 :]))


# ---- rows of the table -------------------------------------------------------------------------------------------------
def intervals(quick: bool) -> Iterator[Row]:
    """Yield coverage and width on real streams, then the coverage on made ones."""
    n = 1000 if quick else ROWS
    for alpha in ALPHAS:
        for name in ("bike_sharing", "cal_housing", "cpu_small"):
            for who, learner in (("NAG", nr.NAGRegressor()), ("PA-I", nr.PA1Regressor())):
                f, y = answers(name, learner, n)
                m = nr.Coverage(1.0 - alpha)
                low, high = m.learn_many(f, y).T
                half = slice(len(y) // 2, None)
                ours, theirs = float(np.mean(high[half] - low[half])), width_of_aci(f, y, alpha)
                what, gap = f"{name}, {who}, {1.0 - alpha:g}", abs(formal(m, len(y) - 1, 0.05) - 1.0 + alpha)
                if len(y) >= ROWS or quick:
                    yield Row(f"coverage, {what}", gap, "", at_most=0.05 if quick else 0.01)
                most = None if quick else 1.05
                yield Row(f"width over that of ACI, {what}", ours / theirs, "", at_most=most, note=f"{ours:.3f} | {theirs:.3f}")
        worst, where = 0.0, ""
        for what, e in made(n):
            m = nr.Coverage(1.0 - alpha)
            m.learn_many(np.zeros(n), e)
            gap = abs(formal(m, n - 1, 0.05) - 1.0 + alpha)
            worst, where = max((worst, where), (gap, what))
        yield Row(f"coverage, made streams, {1.0 - alpha:g}: largest gap", worst, "", at_most=None if quick else 0.01, note=where)
        gap = abs(adversary(alpha, n) - 1.0 + alpha)
        yield Row(f"coverage, adversary within 1, {1.0 - alpha:g}", gap, "", at_most=None if quick else 0.01)


def sets(quick: bool) -> Iterator[Row]:
    """Yield coverage and size of sets of AROW beside the best fixed threshold in hindsight, then against adversaries."""
    n = 1000 if quick else ROWS
    for alpha in ALPHAS:
        for name in ("elec2", "a9a", "letter", "shuttle"):
            X, y = shuffled(name)
            X = X[:n] if hasattr(X, "tocsr") else scaled(Stream(X[:, X.std(0) > 0.0], y)).X[:n]
            names = np.unique(y)
            f = nr.AROW(classes=names.tolist()).learn_many(X, y[:n])
            codes = np.searchsorted(names, y[:n])
            p = nr.Calibrator().learn_many(f, codes)
            m = nr.Coverage(1.0 - alpha)
            held = m.learn_many(p, codes)
            half = slice(n // 2, None)
            surprise = np.sort(-np.log(p[np.arange(n), codes])[half])
            least = surprise[min(int(np.ceil((1.0 - alpha) * len(surprise))), len(surprise)) - 1]
            oracle = float(np.mean(np.maximum((-np.log(p[half]) <= least).sum(1), 1)))
            size = float(held[half].sum(1).mean())
            what = f"sets, {name}, AROW, {1.0 - alpha:g}"
            gap = abs(formal(m, n, 0.1) - 1.0 + alpha)
            shown = f"shown {held[np.arange(n), codes].mean():.4f}"
            yield Row(f"coverage, {what}", gap, "", at_most=0.05 if quick else 0.01, note=shown)
            most = None if quick else 1.1
            yield Row(f"size over the oracle's, {what}", size / oracle, "", at_most=most, note=f"{size:.3f} | {oracle:.3f}")
        p = np.random.default_rng(0).dirichlet(np.ones(10), n)
        worst = p.argmin(1)
        blocks = np.where(np.arange(n) // 500 % 2 == 0, worst, p.argmax(1))
        for what, y in (("the least probable label", worst), ("blocks of least and most probable", blocks)):
            m = nr.Coverage(1.0 - alpha)
            m.learn_many(p, y)
            gap = abs(formal(m, n, 0.1) - 1.0 + alpha)
            yield Row(f"coverage, sets, {what}, {1.0 - alpha:g}", gap, "", at_most=None if quick else 0.01)
