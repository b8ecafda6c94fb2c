"""Parsing alone: svmlight text against scikit-learn, VW text, and the peak memory of a pass over a small and a large file.

The clock is wall time, since threads are the point: run it on an idle machine.
"""

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter

from sklearn.datasets import load_svmlight_file

from noregret.streams.svmlight import SvmlightReader
from noregret.streams.vw import VwReader

from .streams import click_dicts, text, text_dicts, vw_lines
from .table import Row

ROWS, MB = 20_000, 1_000_000
PEAK = """
import sys
from noregret.streams.svmlight import SvmlightReader
rows = sum(batch.data.n for batch in SvmlightReader(sys.argv[1]).batches())
with open("/proc/self/status") as file:
    print(rows, next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) / 1024)
"""
# Not ru_maxrss: Linux carries it over from the process that started this one, so it would show the benchmark's own memory.


def svmlight_text(digits: str) -> bytes:
    """Write documents of 75 words, the values with a format such as .6f (or as short as they stay exact)."""
    x, y = text(ROWS)
    features = [f"{c + 1}:{v:{digits}}" for c, v in zip(x.indices.tolist(), x.data.tolist(), strict=True)]
    rows = (" ".join(features[a:b]) for a, b in zip(x.indptr[:-1].tolist(), x.indptr[1:].tolist(), strict=True))
    return "".join(f"{t} {row}\n" for t, row in zip(y.tolist(), rows, strict=True)).encode()


def written(path: Path, content: bytes, size: int) -> str:
    """Write the content over and over, up to about `size` bytes."""
    with path.open("wb") as file:
        for _ in range(max(1, size // len(content))):
            file.write(content)
    return str(path)


def best(contestants: dict[str, Callable[[], int]], rounds: int = 3) -> dict[str, tuple[float, int]]:
    """Time each in turn; give the best wall seconds of each and how many rows it read. The first round compiles."""
    times: dict[str, tuple[float, int]] = {}
    for turn in range(rounds + 1):
        for name, read in contestants.items():
            start = perf_counter()
            rows = read()
            seconds = perf_counter() - start
            if turn and (name not in times or seconds < times[name][0]):
                times[name] = (seconds, rows)
    return times


def ours(kind: type[SvmlightReader] | type[VwReader], path: str, threads: int) -> Callable[[], int]:
    """Prepare a pass that only counts rows."""
    return lambda: sum(batch.data.n for batch in kind(path, threads=threads).batches())


def against_sklearn(work: str, path: str) -> list[Row]:
    """Compare a pass over a file with scikit-learn's loading of it."""
    race = {"sklearn": lambda: load_svmlight_file(path)[0].shape[0]}
    race |= {f"{k}": ours(SvmlightReader, path, k) for k in (1, 2)}
    times = best(race)
    (theirs, n), size = times["sklearn"], Path(path).stat().st_size
    rows = []
    for threads, target in ((1, None), (2, 15.0)):
        seconds, read = times[str(threads)]
        note = f"{size / seconds / 1e9:.2f} GB/s"
        name = f"svmlight, {work}, {threads} thread{'s' * (threads > 1)}"
        rows.append(Row(name, n / seconds, "ex/s", "load_svmlight_file", n / theirs, at_least=target, note=note, valid=read == n))
    return rows


def vw_rows(directory: Path, size: int) -> list[Row]:
    """Measure VW text: words with values, and fields without."""
    rows = []
    for work, (dicts, y) in (("75 words", text_dicts(ROWS)), ("30 clicks", click_dicts(ROWS))):
        content = ("\n".join(line.replace(":1 ", " ") for line in vw_lines(dicts, y)) + "\n").encode()
        path = written(directory / "data.vw", content, size)
        for threads, (seconds, n) in best({f"{k}": ours(VwReader, path, k) for k in (1, 2)}).items():
            note = f"{Path(path).stat().st_size / seconds / 1e9:.2f} GB/s"
            rows.append(Row(f"VW text, {work}, {threads} thread{'s' * (threads > '1')}", n / seconds, note=note))
    return rows


def peak(path: str) -> tuple[int, float]:
    """Read a file in a process of its own; give the rows and the peak resident memory in MB."""
    done = subprocess.run([sys.executable, "-c", PEAK, path], capture_output=True, text=True, check=True)
    rows, megabytes = done.stdout.split()
    return int(rows), float(megabytes)


def memory(directory: Path, content: bytes, small: int, large: int) -> Row:
    """Compare the peak memory of passes over a small and a large file: the median of three each, the range in the note.

    How many blocks are in flight depends on the moment, so one peak differs from the next, on a busy machine by a tenth.
    """
    paths = {size: written(directory / f"{size}.svm", content, size) for size in (small, large)}
    peak(paths[small])  # compile
    peaks: dict[int, list[float]] = {small: [], large: []}
    right = True
    for _ in range(3):
        for size, path in paths.items():
            rows, megabytes = peak(path)
            right &= rows == ROWS * max(1, size // len(content))
            peaks[size].append(megabytes)
    name, peer = f"peak RSS of a pass over {large // MB:,} MB", f"{small // MB:,} MB"
    note = " | ".join(f"{min(p):.0f} to {max(p):.0f}" for p in (peaks[large], peaks[small]))
    return Row(name, median(peaks[large]), "MB", peer, median(peaks[small]), at_least=0.9, note=note, valid=right)


def run(quick: bool) -> list[Row]:
    """Write files in a temporary directory, read them, remove them."""
    cut = 10 if quick else 1
    with tempfile.TemporaryDirectory() as name:
        directory, short = Path(name), svmlight_text(".6f")
        path = directory / "data.svm"
        rows = against_sklearn("values of 6 places", written(path, short, 200 * MB // cut))
        rows += against_sklearn("values in full", written(path, svmlight_text(""), 200 * MB // cut))
        path.unlink()
        rows += vw_rows(directory, 200 * MB // cut)
        rows.append(memory(directory, short, 200 * MB // cut, 4000 * MB // cut))
    return rows
