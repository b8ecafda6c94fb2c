"""What code for a processor level costs against code for the processor at hand: ratios above 1 are in favour of the level."""

import json
import os
import subprocess
import sys
from math import exp, log
from statistics import mean

import numpy as np
from scipy.sparse import csr_matrix

import noregret as nr

from .table import Row
from .timing import interleave

LEARNERS = ("perceptron", "pa1", "ogd", "arow", "scw1", "nag", "adagrad_rda", "ftrl", "coin", "eg_pm")
ROUNDS = 3  # processes of each level, in turns


def run(quick: bool) -> list[Row]:
    """Time each level in processes of its own, in turns, and compare the best times with those of the host."""
    levels = ["host", *(level for level in ("v3", "v2") if able(level))]
    best: dict[str, dict[str, float]] = {level: {} for level in levels}
    for _ in range(1 if quick else ROUNDS):
        for level in levels:
            env = {**os.environ, "NOREGRET_CPU": level}
            out = subprocess.run(
                [sys.executable, "-m", f"{__package__}.levels"], env=env, capture_output=True, text=True, check=True
            )
            for work, seconds in json.loads(out.stdout).items():
                best[level][work] = min(seconds, best[level].get(work, seconds))
    rows = []
    for level in levels[1:]:
        ratios = [best["host"][work] / best[level][work] for work in best["host"]]
        middle = exp(mean(map(log, ratios)))
        rows.append(Row(f"all, geometric mean, {level}", 1.0 / middle, "x", "host", 1.0, at_least=0.95 if level == "v3" else None))
        rows += [Row(f"{w}, {level}", 1e9 * best[level][w], "ns/row", "host", 1e9 * s) for w, s in best["host"].items()]
    return rows


def able(level: str) -> bool:
    """Say whether this processor runs code for a level."""
    from noregret.engine.processor import able, cpu_features

    return able(level, cpu_features())


def measure() -> dict[str, float]:
    """Give seconds a row of `partial_fit`, for learners on dense rows of two and three classes and on sparse rows."""
    rng = np.random.default_rng(0)
    n = 4000
    X = rng.standard_normal((n, 54))
    indices = np.sort(rng.random((n, 20_000)).argpartition(75, axis=1)[:, :75], axis=1)
    S = csr_matrix((rng.random(75 * n), indices.ravel(), np.arange(0, 75 * n + 1, 75)), shape=(n, 20_000))
    two, three, noisy = (X[:, 0] > 0).astype(int), np.digitize(X[:, 0], [-0.5, 0.5]), rng.integers(0, 2, n)
    jobs = {}
    for name in LEARNERS:
        for work, rows, y in (("dense 54", X, two), ("dense 54, 3 classes", X, three), ("sparse 75", S, noisy)):
            jobs[f"{name}, {work}"] = (nr.learner(name), rows, y)
    jobs["pa1, rbf, 200 vectors, dense 54"] = (nr.PA1(kernel=nr.RBF(0.01), budget=nr.RemoveOldest(200)), X[:400], two[:400])
    jobs["arow full, dense 54"] = (nr.AROW(covariance="full"), X[:400], two[:400])

    def prepare(model, rows, y):
        return lambda: lambda: (model.partial_fit(rows, y), lambda: 0)[1]

    timed = interleave({work: prepare(m, rows, y) for work, (m, rows, y) in jobs.items()}, 8)
    return {work: t.seconds / jobs[work][1].shape[0] for work, t in timed.items()}


if __name__ == "__main__":
    print(json.dumps(measure()))
