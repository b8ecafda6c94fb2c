"""Random features: the table of Rahimi, Recht (2007) on the sets at hand, and speed beside scikit-learn's RBFSampler.

Each learner takes the training rows once; gamma and the ridge or step are those that err least on the last fifth of the first
5,000 training rows. Published numbers are for the same sets as far as they are at hand: Adult is a9a; of KDDCUP99 the 10 % set is
learned, in random order, and `corrected` answered, as normal or attack; CPU is the small version, of 12 columns and not 21, a fifth
of it held out. The error of a regression is |p - y| / |y|. Published seconds are of 2007, and of solving for all rows at once.
"""

import gzip
import itertools
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_svmlight_file
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import SGDClassifier

import noregret as nr

from .ours import C
from .streams import Stream, dense
from .table import Row, rate
from .timing import Job, interleave

DATA = Path(__file__).resolve().parent.parent.parent / "shared" / "data"
TUNING = 5000
FACTORS = (0.125, 0.25, 0.5, 1.0, 2.0)  # of 1 / (2 m^2), or of 1 / m in the 1-norm, m the median distance of two rows
RIDGES, ETAS = (0.01, 1.0), (0.1, 1.0)


class Set(NamedTuple):
    """Rows to learn and rows to answer, targets -1 and +1 or real."""

    steps: list[Any]
    X: Any
    y: np.ndarray
    T: Any
    t: np.ndarray
    regression: bool
    published: dict[str, tuple[float, str]]


class Way(NamedTuple):
    """Features of so many, with a gamma; a learner with a setting; gamma to begin with, and settings to try."""

    features: Callable[[int, float], Any]
    learner: Callable[[float], Any]
    gamma: float
    settings: tuple[float, ...]


# ---- the sets --------------------------------------------------------------------------------------------------------
def adult(cut: int) -> Set:
    X, y = load_svmlight_file(str(DATA / "a9a" / "a9a.gz"), n_features=123)
    T, t = load_svmlight_file(str(DATA / "a9a" / "a9a.t.gz"), n_features=123)
    X, y = X[: len(y) // cut], y[: len(y) // cut]
    return Set([], X, y, T, t, False, {"Fourier, D = 500": (14.9, "9 s"), "binning, P = 30": (15.3, "1.5 min")})


def kddcup99(cut: int) -> Set:
    import pandas as pd

    def read(name: str, rows: int) -> tuple[Any, np.ndarray]:
        found = pd.read_csv(DATA / "kddcup99" / name, header=None, nrows=rows)
        y = np.where(found.pop(41) == "normal.", -1.0, 1.0)
        order = np.random.default_rng(0).permutation(len(y))  # the file holds long runs of one attack
        found.columns = [f"c{j}" for j in found]
        return found.iloc[order], y[order]

    X, y = read("kddcup.data_10_percent.gz", 494_021 // cut)
    T, t = read("corrected.gz", 311_029 // cut)
    steps = [nr.Table(categorical=["c1", "c2", "c3"]), nr.Scale()]
    return Set(steps, X, y, T, t, False, {"Fourier, D = 50": (7.3, "1.5 min"), "binning, P = 10": (7.3, "35 min")})


def cpu(cut: int) -> Set:
    with gzip.open(DATA / "cpu_small" / "cpu_small.arff.gz", "rt") as f:
        lines = f.read().lower().split("@data")[1].split()
    found = np.array([line.split(",") for line in lines], float)
    found = found[np.random.default_rng(0).permutation(len(found))]
    at = len(found) * 4 // 5
    X, y = np.ascontiguousarray(found[:, :-1]), found[:, -1]
    published = {"Fourier, D = 300": (3.6, "20 s"), "binning, P = 350": (5.3, "3 min")}
    return Set([nr.Scale()], X[: at // cut], y[: at // cut], X[at:], y[at:], True, published)


# ---- the table -------------------------------------------------------------------------------------------------------
def error(p: Any, T: Any, t: np.ndarray, regression: bool) -> float:
    """Return the error in per cent."""
    said = p.predict(T)
    return 100.0 * float(np.linalg.norm(said - t) / np.linalg.norm(t) if regression else np.mean(np.where(said > 0, 1, -1) != t))


def chunks(data: Set, size: int = 20_000) -> Iterator[tuple[Any, np.ndarray]]:
    for a in range(0, len(data.y), size):
        part = slice(a, min(a + size, len(data.y)))  # there may be fewer targets than rows, to learn from the first of them
        yield data.X.iloc[part] if hasattr(data.X, "iloc") else data.X[part], data.y[part]


def learned(data: Set, steps: list[Any], learner: Any) -> tuple[Any, float]:
    """Return a pipeline after one pass, and the seconds it took."""
    p = nr.pipeline(*[s.fresh() for s in [*data.steps, *steps]], learner)
    start = process_time()
    for X, y in chunks(data):
        p.partial_fit(X, y)
    return p, process_time() - start


def median_distance(data: Set, norm: int) -> float:
    """Return the median distance of two scaled rows among the first."""
    some = data._replace(y=data.y[:1000])
    p, _ = learned(some, [], nr.PA1Regressor())
    X, _ = next(chunks(some, 1000))
    rows = p.front.scaled(p._data(X), False)
    Z = np.zeros((rows.n, rows.width))
    if rows.layout == "dense":
        Z[:] = rows.arrays[0]
    else:
        indptr, indices, values = rows.arrays
        Z[np.repeat(np.arange(rows.n), np.diff(indptr)), indices] = values
    half = rows.n // 2
    apart = np.linalg.norm(Z[:half] - Z[half : 2 * half], norm, axis=1)
    return float(np.median(apart[apart > 0.0]))


def tuned(data: Set, way: Way, size: int) -> tuple[float, float]:
    """Return the gamma, and the setting of the learner, that err least on rows of the training set kept aside."""
    n = min(TUNING, len(data.y)) * 4 // 5
    rest = slice(n, n * 5 // 4)
    T = data.X.iloc[rest] if hasattr(data.X, "iloc") else data.X[rest]
    some = data._replace(y=data.y[:n])

    def tried(setting: tuple[float, float]) -> float:
        p, _ = learned(some, [way.features(size, setting[0])], way.learner(setting[1]))
        return error(p, T, data.y[rest], data.regression)

    return min(itertools.product([f * way.gamma for f in FACTORS], way.settings), key=tried)


def rows_of(name: str, data: Set) -> Iterator[Row]:
    """Yield our errors beside those published."""
    near, near_1 = 0.5 / median_distance(data, 2) ** 2, 1.0 / median_distance(data, 1)
    # least squares on 2^20 hashed columns has no room for a matrix: adaptive gradient steps on the same loss
    ways = {
        "Fourier": Way(lambda n, g: nr.RandomFourier(n, nr.RBF(g), "phase"), lambda r: nr.RLS(ridge=r), near, RIDGES),
        "binning": Way(lambda n, g: nr.RandomBinning(n, nr.Laplacian(g)), lambda eta: nr.NAGRegressor(eta=eta), near_1, ETAS),
        "Nystroem": Way(lambda n, g: nr.Nystroem(n, nr.RBF(g)), lambda r: nr.RLS(ridge=r), near, RIDGES),
    }
    size = next(iter(data.published)).split()[-1]
    for what, (published, theirs) in {**data.published, f"Nystroem, B = {size}": (None, "")}.items():
        way, size = ways[what.split(",")[0]], int(what.split()[-1])
        gamma, setting = tuned(data, way, size)
        p, seconds = learned(data, [way.features(size, gamma)], way.learner(setting))
        note = f"{seconds:.1f} s | {theirs or '-'}; gamma {gamma:.2g}, {p.learner!r}"
        yield Row(f"{name}, {what}", error(p, data.T, data.t, data.regression), "% error", "published", published, note=note)
    learned(data._replace(y=data.y[:10]), [], nr.RLS())  # compiles
    p, seconds = learned(data, [], nr.RLS())
    yield Row(f"{name}, linear", error(p, data.T, data.t, data.regression), "% error", note=f"{seconds:.1f} s; {p.learner!r}")


# ---- speed -----------------------------------------------------------------------------------------------------------
def ours(parts: list[Stream], size: int) -> Callable[[], Job]:
    """Prepare our features and PA-I."""

    def prepare() -> Job:
        p = nr.pipeline(nr.RandomFourier(size // 2, nr.RBF(0.01)), nr.PA1(C=C, fit_intercept=False, classes=[-1, 1]))
        p.partial_fit(parts[0].X[:1], parts[0].y[:1])
        before = p.n_mistakes_

        def job() -> Callable[[], int]:
            for x, y in parts:
                p.partial_fit(x, y)
            return lambda: p.n_mistakes_ - before

        return job

    return prepare


def sampler(parts: list[Stream], size: int) -> Callable[[], Job]:
    """Prepare scikit-learn's features and PA-I, predicting before learning as ours does."""

    def prepare() -> Job:
        z = RBFSampler(gamma=0.01, n_components=size, random_state=0).fit(parts[0].X)
        m = SGDClassifier("hinge", penalty=None, learning_rate="pa1", eta0=C, fit_intercept=False, shuffle=False)
        m.partial_fit(z.transform(parts[0].X[:1]), parts[0].y[:1], classes=[-1, 1])

        def job() -> Callable[[], int]:
            wrong = 0
            for x, y in parts:
                features = z.transform(x)
                wrong += np.count_nonzero(m.predict(features) != y)
                m.partial_fit(features, y)
            return lambda: int(wrong)

        return job

    return prepare


def run(quick: bool) -> list[Row]:
    """Reproduce the table, then time."""
    cut = 10 if quick else 1
    rows = []
    for name, file, make in (("Adult", "a9a", adult), ("KDDCUP99", "kddcup99", kddcup99), ("CPU", "cpu_small", cpu)):
        if not (DATA / file).is_dir():
            rows.append(Row(f"{name}: {DATA / file} is not here, skipped", math.nan, "% error"))
            continue
        rows += rows_of(name, make(cut))
    stream = dense(20_000 // cut)
    for chunk, n in ((1, 2000 // cut), (1000, 20_000 // cut)):
        parts = [Stream(stream.X[a : a + chunk], stream.y[a : a + chunk]) for a in range(0, n, chunk)]
        best = interleave({"ours": ours(parts, 500), "sklearn": sampler(parts, 500)}, rounds=3)
        work = f"500 Fourier features of dense 54, PA-I, chunks of {chunk}"
        rows.append(rate(work, n, best["ours"], "RBFSampler + PA-I", best["sklearn"]))
    return rows
