"""Start-up in fresh processes: imports over bare Python, cold compilation in an empty cache, start from a warm cache."""

import json
import os
import subprocess
import sys
import tempfile
from math import inf, nan
from time import perf_counter

from .table import Row

LEARN = """
import json, time
t = [time.perf_counter()]
tick = lambda: t.append(time.perf_counter())
import noregret as nr; tick()
import numpy as np
X, y = np.eye(4), np.array([1, -1, 1, -1])
pa1, arow = nr.PA1(), nr.AROW(); tick()
pa1.partial_fit(X, y); tick()
pa1.predict(X); tick()
arow.partial_fit(X, y); tick()
arow.predict(X); tick()
print(json.dumps([b - a for a, b in zip(t, t[1:])]))
"""
STEPS = ("PA-I: learn", "PA-I: predict", "AROW: learn", "AROW: predict")
SKLEARN = """
import numpy as np
from sklearn.linear_model import SGDClassifier
X, y = np.eye(4), np.array([1, -1, 1, -1])
SGDClassifier(penalty=None, learning_rate="pa1").partial_fit(X, y, classes=[-1, 1]).predict(X)
"""


def process(code: str, cache: str | None = None) -> tuple[float, str]:
    """Run Python code in a new process; give its wall time and what it printed."""
    env = os.environ | ({} if cache is None else {"NOREGRET_CACHE": cache})
    start = perf_counter()
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"a fresh process failed:\n{done.stderr}")
    return perf_counter() - start, done.stdout


def walls(codes: dict[str, str], rounds: int) -> dict[str, float]:
    """Give the best wall time of each code over interleaved rounds; NaN where it cannot run."""
    best = dict.fromkeys(codes, inf)
    for _ in range(rounds):
        for name, code in codes.items():
            try:
                best[name] = min(best[name], process(code)[0])
            except RuntimeError:
                best[name] = nan
    return best


def learning(rounds: int) -> list[Row]:
    """Time the steps of a first process in an empty cache and of later ones in the cache it left."""
    cold: list[list[float]] = []
    warm: list[list[float]] = []
    for _ in range(2):
        with tempfile.TemporaryDirectory() as cache:
            for times in (cold, *(warm for _ in range(rounds))):
                wall, out = process(LEARN, cache)
                times.append([*json.loads(out)[2:], wall])
    rows = []
    for state, times in (("empty cache", cold), ("from the cache", warm)):
        best = [min(column) for column in zip(*times, strict=True)]
        rows += [Row(f"{step}, {state}", t * 1e3, "ms") for step, t in zip((*STEPS, "whole process"), best, strict=True)]
        rows[-len(best)].note = "includes importing Numba and its first dispatch"
    return rows


def run(quick: bool) -> list[Row]:
    """Measure imports, help and first calls."""
    rounds = 3 if quick else 10
    help_page = "import sys; sys.argv = ['noregret', '--help']; from noregret.cli import main; main()"
    codes = {"bare": "pass", "import noregret": "import noregret", "noregret --help": help_page, "numpy": "import numpy"}
    codes |= {"numba": "import numba", "sklearn": "import sklearn.linear_model", "river": "import river.linear_model"}
    best = walls(codes | {"sklearn process": SKLEARN}, rounds)
    over = {name: 1e3 * (wall - best["bare"]) for name, wall in best.items()}
    rows = [
        Row(f"{name}, over bare Python", over[name], "ms", f"import {peer}", over[peer])
        for name in ("import noregret", "noregret --help")
        for peer in ("numpy", "numba", "sklearn", "river")
    ]
    rows += learning(rounds)
    rows[-1].peer, rows[-1].theirs = "the same with sklearn", 1e3 * best["sklearn process"]
    return rows
