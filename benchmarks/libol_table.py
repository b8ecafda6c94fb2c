"""The table of the LIBOL paper on svmguide3: mistake rates over 20 random orders, parameters chosen on one order before.

Run it as `python -m benchmarks.libol_table [FILE]`; the file is LIBOL's svmguide3 as CSV, the label first. Parameters are those
with the fewest mistakes in one random order (which is optimistic, as in the paper); then 20 others. No constant feature.
"""

import argparse
import csv
import gzip
import io
import itertools
from pathlib import Path

import numpy as np

import noregret as nr

HERE = Path(__file__).resolve().parent.parent
FILE = HERE.parent / "shared" / "data" / "libol" / "svmguide3.csv.gz"
ORDERS = 20
POWERS = [2.0**k for k in range(-4, 5)]
ETAS = [0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95]
TENTHS = [k / 10 for k in range(1, 10)]
FULL = {"covariance": ["full"]}

# learner: its grid, and the mistake rate and updates that were published (Hoi, Wang, Zhao 2014, table 3)
TABLE = {
    "perceptron": ({}, 0.332, 412.4),
    "romma": ({}, 0.329, 409.3),
    "aromma": ({}, 0.328, 500.1),
    "alma": ({"alpha": TENTHS, "p": [2.0, 4.0, 6.0, 8.0, 10.0]}, 0.230, 592.9),
    "ogd": ({"eta": POWERS}, 0.237, 636.5),
    "pa": ({}, 0.318, 721.1),
    "pa1": ({"C": POWERS}, 0.236, 763.4),
    "pa2": ({"C": POWERS}, 0.253, 1131.5),
    "sop": ({"a": POWERS, **FULL}, 0.297, 369.1),
    "iellip": ({"b": TENTHS, **FULL}, 0.332, 412.7),
    "cw": ({"eta": ETAS, **FULL}, 0.299, 704.6),
    "nherd": ({"C": POWERS, **FULL}, 0.217, 1150.5),
    "arow": ({"r": POWERS, **FULL}, 0.222, 1219.5),
    "narow": ({"b": POWERS, **FULL}, 0.276, 1193.8),
    "scw1": ({"C": POWERS, "eta": ETAS, **FULL}, 0.206, 593.4),
    "scw2": ({"C": POWERS, "eta": ETAS, **FULL}, 0.212, 802.0),
}


def read(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and labels."""
    with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as f:
        rows = [row for row in csv.reader(io.TextIOWrapper(f)) if row]
    first = 0 if rows[0][0].lstrip("+-").replace(".", "").isdigit() else 1
    data = np.array(rows[first:], float)
    return np.ascontiguousarray(data[:, 1:]), data[:, 0].astype(int)


def counts(name: str, params: dict[str, object], X: np.ndarray, y: np.ndarray) -> tuple[int, int]:
    """Return the mistakes and updates of one pass."""
    m = nr.learner(name, fit_intercept=False, **params).partial_fit(X, y)
    return m.n_mistakes_, m.n_updates_


def tuned(name: str, grid: dict[str, list[object]], X: np.ndarray, y: np.ndarray) -> dict[str, object]:
    """Return the setting with the fewest mistakes."""
    settings = [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]
    return min(settings, key=lambda s: counts(name, s, X, y)[0])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="?", type=Path, default=FILE)
    X, y = read(parser.parse_args().file)
    rng = np.random.default_rng(0)
    first = rng.permutation(len(y))
    orders = [rng.permutation(len(y)) for _ in range(ORDERS)]
    print(f"{len(y)} rows, {X.shape[1]} features, {ORDERS} orders\n")
    print(f"{'learner':<12}{'mistakes':>18}{'published':>11}{'updates':>9}{'published':>11}  setting")
    for name, (grid, rate, updates) in TABLE.items():
        best = tuned(name, grid, X[first], y[first])
        found = np.array([counts(name, best, X[o], y[o]) for o in orders], float)
        shares = found[:, 0] / len(y)
        shown = ", ".join(f"{k}={v:g}" for k, v in best.items() if k != "covariance")
        spread = f"{shares.mean():.3f} ± {shares.std(ddof=1):.3f}"
        print(f"{name:<12}{spread:>18}{rate:>11.3f}{found[:, 1].mean():>9.1f}{updates:>11.1f}  {shown}", flush=True)


if __name__ == "__main__":
    main()
