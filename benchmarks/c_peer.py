"""The same PA-I kernel by hand in C, -O3 -march=native, also with -ffast-math: ours alone, and partial_fit with its checks."""

import ctypes
import os
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from shutil import which

import numpy as np
from numpy.typing import NDArray

from noregret.inputs import checking

from .ours import C, pa1, partial_fit
from .streams import Stream, clicks, dense, text
from .table import Row, rate
from .timing import Job, interleave

SOURCE = Path(__file__).parent / "c" / "pa1.c"
FLAGS = {"C": ["-O3", "-march=native"], "C fast-math": ["-O3", "-march=native", "-ffast-math"]}
TARGETS = {"C": 0.85, "C fast-math": None}


def compiled(compiler: str, flags: list[str]) -> ctypes.CDLL:
    """Compile the kernels into a directory that is gone once they are loaded."""
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "pa1.so"
        subprocess.run([compiler, *flags, "-shared", "-fPIC", "-o", library, SOURCE], check=True)
        return ctypes.CDLL(str(library))


def by_hand(library: ctypes.CDLL, stream: Stream) -> Callable[[], Job]:
    """Prepare one call of the C kernel over the whole stream."""
    x, y = stream.X, stream.y.astype(np.float64)
    rows, kind = x.shape[0], "dense" if isinstance(x, np.ndarray) else "sparse"
    kernel = getattr(library, f"{kind}_{x.dtype}")
    kernel.restype = ctypes.c_int64
    arrays = [x] if kind == "dense" else [x.data, x.indices, x.indptr]
    sizes = [rows, x.shape[1]] if kind == "dense" else [rows]

    def prepare() -> Job:
        w = np.zeros(x.shape[1])
        front = [pointer(a) for a in (*arrays, y)] + [ctypes.c_int64(size) for size in sizes]

        def job() -> Callable[[], int]:
            mistakes = kernel(*front, ctypes.c_double(C), pointer(w))
            return lambda: int(mistakes)

        return job

    return prepare


def kernel(stream: Stream) -> Callable[[], Job]:
    """Prepare our compiled loop alone, on rows and labels that were checked and coded before; a row of zeros makes the model."""
    rows, y = checking.rows(stream.X, "float64"), stream.y.astype(np.float64)

    def prepare() -> Job:
        m = pa1().partial_fit(stream.X[:1] * 0, stream.y[:1])
        learn, before = m.model.learn, m.n_mistakes_

        def job() -> Callable[[], int]:
            learn(rows, y, None)
            return lambda: int(m.n_mistakes_ - before)

        return job

    return prepare


def pointer(a: NDArray[np.generic]) -> ctypes.c_void_p:
    """Point at the first element."""
    return ctypes.c_void_p(a.ctypes.data)


def run(quick: bool) -> list[Row]:
    """Compare one pass over each stream in one call."""
    compiler = which(os.environ.get("CC", "cc")) or which("gcc")
    if compiler is None:
        return [Row("no C compiler here: skipped", 0.0)]
    libraries = {name: compiled(compiler, flags) for name, flags in FLAGS.items()}
    cut = 10 if quick else 1
    streams = {
        "CSR 75 nnz float64": text(200_000 // cut),
        "CSR 75 nnz float32": text(200_000 // cut, "float32"),
        "CSR 30 nnz clicks": clicks(200_000 // cut),
        "dense 54 float32": dense(1_000_000 // cut),
        "dense 54 float64": dense(1_000_000 // cut, "float64"),
    }
    rows = []
    for name, stream in streams.items():
        race = {"kernel": kernel(stream), "partial_fit": partial_fit([stream])}
        best = interleave(race | {peer: by_hand(library, stream) for peer, library in libraries.items()}, rounds=5)
        rows += [
            rate(f"{name}: {way}", len(stream.y), best[way], peer, best[peer], TARGETS[peer]) for way in race for peer in FLAGS
        ]
    return rows
