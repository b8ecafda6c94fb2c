"""Twenty learners, and what weighs them, on ten public sets: progressive error in percent beside the published figures.

Run it as `python -m benchmarks.hedge_table [--orders N] [--set NAME ...]`. "n" are rows brought to length 1. The published figures
are of one other order of the rows; `excess` is the mean over the shuffled sets and all orders of the error above that of the best
single learner of the set (means over the orders).
"""

import argparse
import math
from collections.abc import Callable
from typing import Any

import numpy as np

import noregret as nr
from noregret.pools.pool import LEAST
from noregret.pools.weighing import Weighing

from .nothing_to_tune import FIGURES, SETS
from .sets import READERS
from .streams import Stream

Make = Callable[[], Any]
TWO = {"classes": [-1, 1]}
LEARNERS: dict[str, tuple[Make, bool]] = {
    "NAG log": (lambda: nr.NAG(loss="log", **TWO), False),
    "NAG hinge": (lambda: nr.NAG(loss="hinge", **TWO), False),
    "NAG square": (lambda: nr.NAG(**TWO), False),
    "AdaGrad 0.1": (lambda: nr.AdaGrad(eta=0.1, **TWO), False),
    "AdaGrad 0.5": (lambda: nr.AdaGrad(**TWO), False),
    "AdaGrad 0.1, n": (lambda: nr.AdaGrad(eta=0.1, **TWO), True),
    "AdaGrad 0.5, n": (lambda: nr.AdaGrad(**TWO), True),
    "coin": (lambda: nr.Coin(**TWO), False),
    "PA-I": (lambda: nr.PA1(**TWO), False),
    "PA-I, n": (lambda: nr.PA1(**TWO), True),
    "AROW r = 0.1": (lambda: nr.AROW(r=0.1, **TWO), False),
    "AROW r = 0.1, n": (lambda: nr.AROW(r=0.1, **TWO), True),
    "AROW r = 1": (lambda: nr.AROW(**TWO), False),
    "AROW r = 1, n": (lambda: nr.AROW(**TWO), True),
    "AROW r = 10": (lambda: nr.AROW(r=10.0, **TWO), False),
    "AROW r = 10, n": (lambda: nr.AROW(r=10.0, **TWO), True),
    "FTRL": (lambda: nr.learner("ftrl", lambda1=1.0, **TWO), False),
    "FTRL, n": (lambda: nr.learner("ftrl", lambda1=1.0, **TWO), True),
    "SCW-I": (lambda: nr.SCW1(**TWO), False),
    "SCW-I, n": (lambda: nr.SCW1(**TWO), True),
}
SEVEN = ("NAG square", "NAG log", "AROW r = 1", "AROW r = 1, n", "SCW-I", "SCW-I, n", "coin")
PUBLISHED: dict[str, tuple[float, ...]] = {
    **{k: v for k, v in FIGURES.items() if k in LEARNERS},
    "AdaGrad 0.1, n": (16.26, 31.32, 12.56, 7.39, 19.00, 38.47, 7.93, 36.96, 44.73, 25.00),
    "AdaGrad 0.5, n": (15.55, 27.82, 10.60, 2.55, 14.13, 26.71, 7.41, 31.58, 42.66, 25.50),
    "PA-I": (21.05, 34.41, 16.06, 2.51, 24.27, 31.28, 11.80, 14.79, 45.96, 38.50),
    "PA-I, n": (20.06, 38.28, 18.98, 3.30, 24.27, 40.97, 10.61, 14.78, 45.41, 33.00),
    "AROW r = 0.1": (15.58, 32.59, 16.40, 4.40, 15.40, 9.50, 9.19, 27.51, 41.84, 46.00),
    "AROW r = 0.1, n": (15.41, 27.26, 10.54, 1.88, 15.40, 17.89, 8.13, 30.87, 41.80, 28.00),
    "AROW r = 1, n": (15.41, 27.70, 11.56, 2.35, 14.60, 28.47, 7.80, 33.47, 42.26, 25.50),
    "AROW r = 10": (15.40, 27.26, 11.01, 2.03, 23.13, 8.37, 8.67, 29.87, 41.64, 27.50),
    "AROW r = 10, n": (15.60, 32.68, 14.98, 5.01, 23.13, 35.62, 7.95, 36.25, 42.67, 24.50),
    "FTRL": (15.69, 31.88, 13.90, 3.53, 44.20, 14.50, 8.41, 33.55, 41.94, 25.50),
    "FTRL, n": (17.30, 40.33, 20.93, 13.37, 44.20, 39.49, 10.08, 37.82, 45.61, 26.00),
    "SCW-I, n": (15.78, 27.36, 11.72, 1.88, 13.67, 19.80, 7.48, 29.52, 41.67, 28.00),
    "Hedge, vote": (15.42, 26.10, 10.18, 1.94, 13.87, 8.45, 7.59, 13.36, 41.86, 25.50),
    "Hedge, expected": (15.56, 26.63, 10.68, 2.21, 14.37, 9.18, 8.07, 13.47, 41.98, 27.20),
    "AdaHedge, vote": (15.46, 26.51, 10.16, 1.72, 13.73, 8.50, 7.56, 13.19, 41.57, 26.50),
    "fixed share, vote": (15.42, 25.95, 10.15, 1.99, 13.67, 8.59, 7.54, 12.14, 41.61, 25.50),
    "Bayes mixture": (15.47, 26.37, 10.11, 1.92, 13.93, 9.00, 7.59, 12.55, 41.24, 28.50),
    "Bayes, fixed share": (15.50, 26.53, 10.23, 1.90, 13.60, 8.93, 7.69, 10.38, 41.59, 28.50),
    "pool of 7, Hedge": (15.38, 25.98, 10.10, 1.79, 13.53, 8.89, 7.48, 13.27, 41.34, 26.50),
    "pool of 7, AdaHedge": (15.44, 26.42, 10.20, 1.74, 13.53, 8.78, 7.65, 13.20, 41.47, 28.00),
}
EXCESS = {"Hedge, vote": 0.10, "AdaHedge, vote": 0.19, "fixed share, vote": 0.12, "Bayes mixture": 0.33, "NAG square": 0.89}


def progressive(stream: Stream) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Return the score of every learner before each update, and the calibrated log odds of +1."""
    unit = nr.Normalize().rows(nr.inputs.checking.rows(stream.X, "float64"), False)
    found, odds = {}, {}
    for name, (make, n) in LEARNERS.items():
        m = make()
        X = stream.X if not n else nr.algorithm.bounds.matrix(unit, unit.width)
        found[name] = m.learn_many(X, stream.y)
        odds[name] = nr.NAG(loss="log", fit_intercept=False, **TWO).learn_many(found[name][:, None], stream.y)
    return found, odds


def errors(stream: Stream) -> dict[str, float]:
    """Return the progressive error of every learner and of every way to weigh them, in percent."""
    found, odds = progressive(stream)
    y, T = stream.y, len(stream.y)
    said = np.column_stack([np.where(f >= 0.0, 1, -1) for f in found.values()])
    wrong = (said != y[:, None]).astype(np.float64)
    out = dict(zip(found, wrong.mean(0), strict=True))
    seven = [list(LEARNERS).index(name) for name in SEVEN]

    def voted(which: Any, rule: str, eta: float | None = None) -> tuple[float, float]:
        weighing = Weighing(len(wrong[0, which]), rule, eta, None)
        W = weighing.play(wrong[:, which], np.ones(T))
        vote = np.where((W * said[:, which]).sum(1) >= 0.0, 1, -1)
        return float((vote != y).mean()), weighing.paid / T

    every = np.arange(len(LEARNERS))
    fixed = math.sqrt(8.0 * math.log(len(every)) / T)
    out["Hedge, vote"], out["Hedge, expected"] = voted(every, "hedge", fixed)
    out["AdaHedge, vote"] = voted(every, "adahedge")[0]
    out["fixed share, vote"] = voted(every, "fixed_share", fixed)[0]
    p = 1.0 / (1.0 + np.exp(-np.column_stack(list(odds.values()))))
    logs = -np.log(np.clip(np.where(y[:, None] > 0, p, 1.0 - p), LEAST, 1.0))
    for name, alpha in (("Bayes mixture", None), ("Bayes, fixed share", -1.0)):
        W = Weighing(len(every), "bayes", None, alpha).play(logs, np.ones(T))
        out[name] = float((np.where((W * p).sum(1) >= 0.5, 1, -1) != y).mean())
    out["pool of 7, Hedge"] = voted(seven, "hedge", math.sqrt(8.0 * math.log(7) / T))[0]
    out["pool of 7, AdaHedge"] = voted(seven, "adahedge")[0]
    return {name: 100.0 * e for name, e in out.items()}


def table(sets: list[str], orders: int) -> None:
    """Print ours/published for every learner and set, and the excess."""
    means: dict[str, dict[str, float]] = {}
    for name in sets:
        try:
            X, y = READERS[name]()
        except FileNotFoundError as e:
            print(f"{name}: {e.filename} is not here (NOREGRET_DATA names the directory)")
            continue
        runs = []
        for seed in range(1 if name == "elec2" else orders):
            order = np.arange(len(y)) if name == "elec2" else np.random.default_rng(seed).permutation(len(y))
            runs.append(errors(Stream(X[order], y[order])))
        means[name] = {k: float(np.mean([run[k] for run in runs])) for k in runs[0]}
    shuffled = [name for name in means if name != "elec2"]
    best = {name: min(means[name][k] for k in LEARNERS) for name in shuffled}
    print("ours/published".ljust(21) + "".join(name[:12].rjust(14) for name in means) + "excess".rjust(14))
    for learner in PUBLISHED:
        cells = [f"{means[name][learner]:.2f}/{PUBLISHED[learner][SETS.index(name)]:.2f}" for name in means]
        excess = np.mean([means[name][learner] - best[name] for name in shuffled]) if shuffled else math.nan
        theirs = f"/{EXCESS[learner]:.2f}" if learner in EXCESS else ""
        print(learner.ljust(21) + "".join(cell.rjust(14) for cell in cells) + f"{excess:.2f}{theirs}".rjust(14))


def main() -> None:
    """Parse the command line and print the table."""
    parser = argparse.ArgumentParser(prog="benchmarks.hedge_table", description=__doc__.splitlines()[0])
    parser.add_argument("--orders", type=int, default=1, help="random orders of the rows (10 were published for the excess)")
    parser.add_argument("--set", action="append", choices=SETS, help="only these sets")
    args = parser.parse_args()
    table(args.set or list(SETS), args.orders)


if __name__ == "__main__":
    main()
