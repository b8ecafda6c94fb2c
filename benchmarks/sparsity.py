"""Sparse learners: speed beside VW's and scikit-learn's, and error against non-zero weights, also of the batch optimum.

On digits the error is that on held-out rows after one pass, on text that of predictions before each update; non-zeros are those of
the last weights, without the constant feature.
"""

import gzip
import struct
import warnings
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

import noregret as nr

from .sets import DATA
from .streams import Stream, text, text_dicts, vw_lines
from .table import Row, rate
from .timing import Job, Timed, clock, interleave

GRID = (1e-4, 1e-3, 3e-3, 1e-2, 3e-2)
BOTH = {"classes": [-1, 1], "fit_intercept": False}
ONE_PASS: dict[str, Callable[[float], nr.Classifier]] = {
    "truncated gradient, K = 10": lambda v: nr.TruncatedGradient(g=v, K=10, eta=0.05, **BOTH),
    "rounding, K = 10": lambda v: nr.Rounding(theta=v, K=10, eta=0.05, **BOTH),
    "FOBOS": lambda v: nr.FOBOS(lambda_=v, eta=0.5, **BOTH),
    "RDA": lambda v: nr.RDA(lambda_=v, gamma=5.0, **BOTH),
    "RDA enhanced": lambda v: nr.RDA(lambda_=v, gamma=5.0, rho=0.005, **BOTH),
    "FTRL": lambda v: nr.FTRL(lambda1=v, alpha=0.05, **BOTH),
    "AdaGrad-FOBOS": lambda v: nr.AdaGradFOBOS(lambda_=v, eta=0.05, **BOTH),
    "AdaGrad-RDA": lambda v: nr.AdaGradRDA(lambda_=v, eta=0.05, **BOTH),
}


# ---- speed -----------------------------------------------------------------------------------------------------------
def ours(make: Callable[[], nr.Classifier], stream: Stream) -> Callable[[], Job]:
    """Prepare one partial_fit over the whole stream."""

    def prepare() -> Job:
        m = make()
        return lambda: (m.partial_fit(stream.X, stream.y), lambda: int(m.n_mistakes_))[1]

    return prepare


def speed(n: int) -> list[Row]:
    """Compare with VW's learn() on examples parsed beforehand, and with scikit-learn's SGD with an L1 penalty."""
    from sklearn.linear_model import SGDClassifier

    from .vw_peers import parsed

    stream = text(n)
    lines = vw_lines(*text_dicts(n))

    def sgd() -> Job:
        m = SGDClassifier(loss="log_loss", penalty="l1", alpha=1e-5, fit_intercept=False, shuffle=False, max_iter=1, tol=None)
        return lambda: (m.partial_fit(stream.X, stream.y, classes=[-1, 1]), lambda: 0)[1]

    race: dict[str, Callable[[], Job]] = {
        "FTRL": ours(lambda: nr.FTRL(alpha=0.5, lambda1=0.1, **BOTH), stream),
        "RDA": ours(lambda: nr.RDA(lambda_=1e-5, **BOTH), stream),
        "FOBOS": ours(lambda: nr.FOBOS(lambda_=1e-5, **BOTH), stream),
        "AdaGrad-FOBOS": ours(lambda: nr.AdaGradFOBOS(lambda_=1e-5, **BOTH), stream),
        "AdaGrad-RDA": ours(lambda: nr.AdaGradRDA(lambda_=1e-5, **BOTH), stream),
        "VW --ftrl": parsed(lines, "--quiet --binary --loss_function logistic --noconstant -b 18 --ftrl --ftrl_alpha 0.5 --l1 0.1"),
        "VW --l1": parsed(lines, "--quiet --binary --loss_function logistic --noconstant -b 18 --l1 1e-7"),
        "sklearn SGD l1": sgd,
    }
    best = interleave(race, rounds=3)
    rows = [rate(f"{n} texts: {name}", n, best[name], "VW --ftrl", best["VW --ftrl"], at_least=1.5) for name in ("FTRL", "RDA")]
    rows += [rate(f"{n} texts: {name}", n, best[name], "VW --l1", best["VW --l1"]) for name in ("FOBOS", "AdaGrad-FOBOS")]
    theirs = n / best["sklearn SGD l1"].seconds
    for name in ("FOBOS", "RDA"):
        rows.append(Row(f"{n} texts: {name}", n / best[name].seconds, "ex/s", "sklearn SGD l1", theirs, note="theirs learns only"))
    return rows


# ---- MNIST 6 against 7 (Xiao 2010, figure 3; O.6) ----------------------------------------------------------------------
@cache
def digits(folder: Path) -> tuple[Stream, Stream] | None:
    """Give the sixes and sevens of the 10,000 test digits, 3/4 to learn from and 1/4 to test on; None where there are none."""
    images, labels = folder / "t10k-images-idx3-ubyte.gz", folder / "t10k-labels-idx1-ubyte.gz"
    if not (images.exists() and labels.exists()):
        return None
    with gzip.open(images) as file:
        _, n, rows, columns = struct.unpack(">4i", file.read(16))
        X = np.frombuffer(file.read(), np.uint8).reshape(n, rows * columns) / 255.0
    with gzip.open(labels) as file:
        y = np.frombuffer(file.read()[8:], np.uint8).astype(np.int64)
    keep = np.flatnonzero((y == 6) | (y == 7))
    keep = np.random.default_rng(0).permutation(keep)
    X, y = X[keep], np.where(y[keep] == 7, 1, -1)
    cut = 3 * len(y) // 4
    return Stream(X[:cut], y[:cut]), Stream(X[cut:], y[cut:])


Point = tuple[float, int]  # error in percent, non-zero weights


def point(m: Any, test: Stream) -> Point:
    """Give the error on held-out rows and the non-zero weights."""
    return 100.0 * float(np.mean(m.predict(test.X) != test.y)), int(np.count_nonzero(m.coef_))


def figure(work: str, at: Point) -> Row:
    """Give a row of the table."""
    return Row(f"6 or 7: {work}", at[0], "%", note=f"{at[1]} non-zeros")


def mnist() -> list[Row]:
    """Trace error against non-zeros, beside plain gradient descent and the batch optimum; the last rows hold the expected order."""
    from sklearn.linear_model import LogisticRegression

    found = digits(DATA / "mnist")
    if found is None:
        return [Row(f"no MNIST in {DATA / 'mnist'}: skipped", 0.0)]
    train, test = found
    plain = nr.OGD(loss="log", eta=0.5, **BOTH).partial_fit(train.X, train.y)
    rows = [figure("gradient descent", point(plain, test))]
    grids = {
        "truncated gradient, K = 10": (1e-4, 1e-3, 3e-3, 1e-2, 3e-2),
        "rounding, K = 10": (0.003, 0.01, 0.03, 0.1, 0.2),
        "FTRL": (0.3, 1.0, 3.0, 10.0, 30.0),
    }
    paths: dict[str, list[Point]] = {name: [] for name in (*ONE_PASS, "batch L1")}
    for name, make in ONE_PASS.items():
        for v in grids.get(name, GRID):
            paths[name].append(point(make(v).partial_fit(train.X, train.y), test))
            rows.append(figure(f"{name}, {v:g}", paths[name][-1]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for v in GRID:
            m = LogisticRegression(
                penalty="l1", C=1.0 / (v * len(train.y)), solver="liblinear", fit_intercept=False, random_state=0
            )
            paths["batch L1"].append(point(m.fit(train.X, train.y), test))
            rows.append(figure(f"batch L1 (liblinear), {v:g}", paths["batch L1"][-1]))
    best = min(error for path in paths.values() for error, _ in path)
    for within in (0.5, 1.0):
        fewest = {name: min((n for e, n in path if e <= best + within), default=10**6) for name, path in paths.items()}
        expected = fewest["RDA"] < min(fewest["FOBOS"], fewest["truncated gradient, K = 10"]) <= fewest["rounding, K = 10"]
        note = "fewest non-zeros: " + ", ".join(f"{name} {n}" for name, n in sorted(fewest.items(), key=lambda pair: pair[1]))
        rows.append(Row(f"6 or 7: within {within:g} points of {best:.2f} %", fewest["RDA"], "RDA", valid=expected, note=note))
    return rows


# ---- text: error, non-zeros and speed in one run ---------------------------------------------------------------------
def progressive(m: Any, stream: Stream) -> Row:
    """Run one of our learners once."""
    m.partial_fit(stream.X[:10], stream.y[:10]).reset()  # compile outside the clock
    seconds, mistakes = clock(lambda: (m.partial_fit(stream.X, stream.y), lambda: int(m.n_mistakes_))[1])
    return outcome(repr(m), Timed(seconds, mistakes()), len(stream.y), int(np.count_nonzero(m.coef_)))


def outcome(work: str, timed: Timed, n: int, nonzeros: int) -> Row:
    """Give error in percent, non-zeros and speed."""
    note = f"{nonzeros} non-zeros, {n / timed.seconds:,.0f} ex/s"
    return Row(f"text: {work}", 100.0 * timed.mistakes / n, "%", note=note)


def texts(n: int) -> list[Row]:
    """Compare our learners with scikit-learn's SGD and VW, each over a short grid."""
    from sklearn.linear_model import SGDClassifier
    from vowpalwabbit import Workspace

    stream = text(n)
    lines = vw_lines(*text_dicts(n))
    learners: list[nr.Classifier] = [nr.AdaGrad(**BOTH)]
    learners += [nr.FTRL(alpha=0.5, lambda1=v, **BOTH) for v in (0.1, 0.5, 2.0)]
    learners += [nr.RDA(lambda_=v, gamma=0.1, **BOTH) for v in (1e-6, 1e-5, 1e-4)]
    learners += [nr.FOBOS(lambda_=v, eta=10.0, **BOTH) for v in (1e-7, 1e-6, 1e-5)]
    learners += [nr.AdaGradFOBOS(lambda_=v, eta=0.5, **BOTH) for v in (1e-6, 1e-5, 1e-4)]
    learners += [nr.AdaGradRDA(lambda_=v, eta=0.5, **BOTH) for v in (1e-6, 1e-5, 1e-4)]
    rows = [progressive(m, stream) for m in learners]
    for v in (1e-6, 1e-5, 1e-4):
        m = SGDClassifier(
            loss="log_loss", penalty="l1", alpha=v, fit_intercept=False, shuffle=False, learning_rate="constant", eta0=1.0
        )
        seconds, mistakes = clock(lambda m=m: by_chunks(m, stream))
        rows.append(outcome(f"sklearn SGD l1, alpha {v:g}", Timed(seconds, mistakes()), n, int(np.count_nonzero(m.coef_))))
    for options in ("--ftrl --ftrl_alpha 0.5 --l1 0.1", "--ftrl --ftrl_alpha 0.5 --l1 0.5", "--l1 1e-7", "--l1 1e-6"):
        vw = Workspace(f"--quiet --binary --loss_function logistic --noconstant -b 18 {options}")
        examples = [vw.example(line) for line in lines]
        seconds, mistakes = clock(lambda vw=vw, examples=examples: by_examples(vw, examples))
        found = int(mistakes())
        some = sum(vw.get_weight(i) != 0.0 for i in range(1 << 18))
        rows.append(outcome(f"VW {options}", Timed(seconds, found), n, some))
        vw.finish()
    return rows


def by_chunks(m: Any, stream: Stream) -> Callable[[], int]:
    """Predict each chunk before learning from it, as scikit-learn has no other way; of the first ten rows half count as wrong."""
    n = len(stream.y)
    edges = [0, 10, 100, *range(1000, n, 1000), n]
    wrong = 5
    for a, b in pairwise(edges):
        X, y = stream.X[a:b], stream.y[a:b]
        wrong += int((m.predict(X) != y).sum()) if a else 0
        m.partial_fit(X, y, classes=[-1, 1])
    return lambda: wrong


def by_examples(vw: Any, examples: list[Any]) -> Callable[[], int]:
    """Learn from parsed examples; their losses are added up as they are handed back."""
    for example in examples:
        vw.learn(example)

    def count() -> int:
        for example in examples:
            vw.finish_example(example)
        return int(vw.get_sum_loss())

    return count


def run(quick: bool) -> list[Row]:
    """Measure speed, then error against non-zeros on digits and on text."""
    n = 4000 if quick else 40_000
    return [*speed(n), *mnist(), *texts(n)]
