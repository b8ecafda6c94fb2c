"""Start-up in fresh processes, CPU time: imports over bare Python, compilation in an empty cache, start from a warm one."""

import json
import os
import resource
import subprocess
import sys
import tempfile
from math import inf, nan
from pathlib import Path

from .table import Row

LEARN = """
import json, time
t = [time.process_time()]
tick = lambda: t.append(time.process_time())
import noregret as nr; tick()
import numpy as np
X, y = np.eye(4), np.array([1, -1, 1, -1])
pa1, other = nr.PA1(), nr.Perceptron(); tick()
pa1.partial_fit(X, y); tick()
pa1.predict(X); tick()
other.partial_fit(X, y); tick()
other.predict(X); tick()
print(json.dumps([b - a for a, b in zip(t, t[1:])]))
"""
STEPS = ("PA-I: learn", "PA-I: predict", "Perceptron: learn", "Perceptron: predict")
SKLEARN = """
import numpy as np
from sklearn.linear_model import SGDClassifier
X, y = np.eye(4), np.array([1, -1, 1, -1])
SGDClassifier(penalty=None, learning_rate="pa1").partial_fit(X, y, classes=[-1, 1]).predict(X)
"""


def process(code: str, cache: str | None = None) -> tuple[float, str]:
    """Run Python code in a new process, which may use bytecode, as that of an installed library; give its CPU time and output."""
    env = os.environ | {"PYTHONDONTWRITEBYTECODE": ""} | ({} if cache is None else {"NOREGRET_CACHE": cache})
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"a fresh process failed:\n{done.stderr}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, done.stdout


def totals(codes: dict[str, str], rounds: int) -> dict[str, float]:
    """Give the best CPU time of each code over interleaved rounds; NaN where it cannot run."""
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
                total, out = process(LEARN, cache)
                times.append([*json.loads(out)[2:], total])
    rows = []
    for state, times in (("empty cache", cold), ("from the cache", warm)):
        best = [min(column) for column in zip(*times, strict=True)]
        rows += [Row(f"{step}, {state}", t * 1e3, "ms") for step, t in zip((*STEPS, "whole process"), best, strict=True)]
        rows[-len(best)].note = "includes importing Numba" if state == "empty cache" else ""
    return rows


def training(rounds: int) -> list[Row]:
    """Time `noregret train` of a small file as a whole process, from a warm cache."""
    with tempfile.TemporaryDirectory() as there:
        small = Path(there, "small.svm")
        small.write_text("".join(f"{1 - 2 * (k % 2)} 1:{k} 2:{k * k % 7}\n" for k in range(200)))
        args = ["noregret", "train", str(small), "-m", "pa1", "--save", f"{small}.nr", "--overwrite", "--quiet"]
        code = f"import sys; sys.argv = {args!r}; from noregret.cli import main; main()"
        process(code)
        return [Row("noregret train small.svm -m pa1, from the cache", 1e3 * min(process(code)[0] for _ in range(rounds)), "ms")]


def run(quick: bool) -> list[Row]:
    """Measure imports, help and first calls."""
    rounds = 3 if quick else 10
    help_page = "import sys; sys.argv = ['noregret', '--help']; from noregret.cli import main; main()"
    codes = {"bare": "pass", "import noregret": "import noregret", "noregret --help": help_page, "numpy": "import numpy"}
    codes |= {"numba": "import numba", "sklearn": "import sklearn.linear_model", "river": "import river.linear_model"}
    best = totals(codes | {"sklearn process": SKLEARN}, rounds)
    over = {name: 1e3 * (total - best["bare"]) for name, total in best.items()}
    rows = [
        Row(f"{name}, over bare Python", over[name], "ms", f"import {peer}", over[peer])
        for name in ("import noregret", "noregret --help")
        for peer in ("numpy", "numba", "sklearn", "river")
    ]
    rows += [*training(rounds), *learning(rounds)]
    rows[-1].peer, rows[-1].theirs = "the same with sklearn", 1e3 * best["sklearn process"]
    return rows
