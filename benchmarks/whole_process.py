"""Whole processes over text files of 2 GB: `noregret` against Vowpal Wabbit, wall and CPU time, interleaved."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from itertools import pairwise
from math import inf
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

from .streams import HASH_BITS, text
from .table import Row

BLOCK = 20_000  # different documents; the file repeats them


class Cost(NamedTuple):
    """Seconds of a process: by the clock on the wall, and of all its threads."""

    wall: float
    cpu: float


def write(path: Path, size: int, line: Callable[[str, list[str]], str]) -> int:
    """Write documents until the file has so many bytes; return how many."""
    X, y = text(BLOCK)
    cells = [[f"{j}:{v:.6g}" for j, v in zip(X.indices[a:b], X.data[a:b], strict=True)] for a, b in pairwise(X.indptr)]
    block = "".join(line(str(label), row) for label, row in zip(y, cells, strict=True)).encode()
    times = max(1, size // len(block))
    with path.open("wb") as f:
        for _ in range(times):
            f.write(block)
    return times * BLOCK


def process(args: Sequence[str]) -> Cost:
    """Run a command to its end."""
    start = perf_counter()
    env = os.environ | {"PYTHONDONTWRITEBYTECODE": ""}  # an installed library has bytecode
    child = subprocess.Popen(args, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert child.stderr is not None
    said = child.stderr.read()
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise RuntimeError(f"{' '.join(args)} failed:\n{said.decode()}")
    return Cost(perf_counter() - start, used.ru_utime + used.ru_stime)


def race(commands: dict[str, Sequence[str]], rounds: int) -> dict[str, Cost]:
    """Return the best wall time of each command, and the CPU time of that run."""
    best = dict.fromkeys(commands, Cost(inf, inf))
    for _ in range(rounds):
        for name, args in commands.items():
            best[name] = min(best[name], process(args))
    return best


def commands(svm: Path, vw: Path, into: Path) -> dict[str, Sequence[str]]:
    """Return what is run on a pair of files with the same documents."""
    ours = [sys.executable, "-m", "noregret.cli"]
    peer = [sys.executable, "-m", "vowpalwabbit", "--quiet", "--binary", "--loss_function", "hinge", "-b", str(HASH_BITS)]
    return {
        "train, svmlight": [*ours, "train", str(svm), "--model", "pa1", "--save", str(into / "a.nr"), "--quiet"],
        "train, VW text": [*ours, "train", str(vw), "--model", "pa1", "--save", str(into / "b.nr"), "--quiet"],
        "evaluate, svmlight": [*ours, "evaluate", str(svm), "--model", "pa1", "--no-regret", "--quiet"],
        "evaluate, VW text": [*ours, "evaluate", str(vw), "--model", "pa1", "--no-regret", "--quiet"],
        "VW": [*peer, "-d", str(vw), "-f", str(into / "c.vw")],
        "VW --sgd": [*peer, "--sgd", "-d", str(vw), "-f", str(into / "c.vw")],
    }


def run(quick: bool) -> list[Row]:
    """Compare on the large files; start-up, on files of one block's first line, apart."""
    size = 200_000_000 if quick else 2_100_000_000
    rows = []
    with tempfile.TemporaryDirectory() as directory:
        into = Path(directory)
        svm, vw = into / "docs.svm", into / "docs.vw"
        n = write(svm, size, lambda label, cells: f"{label} {' '.join(cells)}\n")
        write(vw, size, lambda label, cells: f"{label} | {' '.join(cells)}\n")
        small = [path.with_stem("small") for path in (svm, vw)]
        for path, one in zip((svm, vw), small, strict=True):
            with path.open() as f:
                one.write_text(f.readline())
        race({k: v for k, v in commands(*small, into).items() if "VW --" not in k}, 1)  # compile
        start = race(commands(*small, into), 3)
        best = race(commands(svm, vw, into), 1 if quick else 3)
        for peer in ("VW", "VW --sgd"):
            for name in list(best)[:4]:
                at_least = 2.0 if peer == "VW" else None
                note = f"{svm.stat().st_size / 1e9:.1f} GB, {n:,} documents; CPU {best[name].cpu:.1f} | {best[peer].cpu:.1f} s"
                rows.append(Row(f"{name}, wall", best[name].wall, "s", peer, best[peer].wall, at_least, note=note))
        rows += [
            Row(
                f"{name}, one document", 1e3 * start[name].wall, "ms", "VW", 1e3 * start["VW"].wall, note="start-up, cached kernels"
            )
            for name in list(best)[:4]
        ]
    return rows
