"""Second order: diagonal AROW against the same kernel by hand in C, and full AROW against BLAS dsymv + dsyr at d = 1000."""

import ctypes
import os
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from shutil import which

import numpy as np
from scipy.linalg.blas import dsymv, dsyr

import noregret as nr
from noregret.inputs import checking

from .c_peer import FLAGS, TARGETS, pointer
from .streams import Stream, clicks, text
from .table import Row, rate
from .timing import Job, interleave

SOURCE = Path(__file__).parent / "c" / "arow.c"


def compiled(compiler: str, flags: list[str]) -> ctypes.CDLL:
    """Compile the kernel into a directory that is gone once it is loaded."""
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "arow.so"
        subprocess.run([compiler, *flags, "-shared", "-fPIC", "-o", library, SOURCE], check=True)
        return ctypes.CDLL(str(library))


def by_hand(library: ctypes.CDLL, stream: Stream) -> Callable[[], Job]:
    """Prepare one call of the C kernel over the whole stream."""
    x, y = stream.X, stream.y.astype(np.float64)
    library.sparse.restype = ctypes.c_int64

    def prepare() -> Job:
        mu, s = np.zeros(x.shape[1]), np.ones(x.shape[1])
        args = [pointer(a) for a in (x.data, x.indices, x.indptr, y)] + [ctypes.c_int64(len(y)), ctypes.c_double(1.0)]

        def job() -> Callable[[], int]:
            mistakes = library.sparse(*args, pointer(mu), pointer(s))
            return lambda: int(mistakes)

        return job

    return prepare


def kernel(stream: Stream) -> Callable[[], Job]:
    """Prepare our compiled loop alone; a row of zeros makes the model."""
    rows, y = checking.rows(stream.X, "float64"), stream.y.astype(np.float64)

    def prepare() -> Job:
        m = nr.AROW(fit_intercept=False, classes=[-1, 1]).partial_fit(stream.X[:1] * 0, stream.y[:1])
        before = m.n_mistakes_

        def job() -> Callable[[], int]:
            m.model.learn(rows, y, None)
            return lambda: int(m.n_mistakes_ - before)

        return job

    return prepare


def full(n: int, d: int) -> list[Row]:
    """Compare rounds of full AROW that all update with one product and one rank-one update each by BLAS."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((n, d)), rng.choice([-1, 1], n)

    def ours() -> Job:
        m = nr.AROW(covariance="full", fit_intercept=False, classes=[-1, 1])
        return lambda: (m.partial_fit(X, y), lambda: m.n_updates_)[1]

    def blas() -> Job:
        S = np.asfortranarray(np.eye(d))

        def job() -> Callable[[], int]:
            for x in X:
                u = dsymv(1.0, S, x)
                dsyr(-1.0 / (1.0 + x @ u), u, a=S, overwrite_a=1)
            return lambda: n

        return job

    best = interleave({"ours": ours, "BLAS": blas}, rounds=3)
    return [rate(f"full, d = {d}", n, best["ours"], "BLAS", best["BLAS"], at_least=1 / 1.5)]


def run(quick: bool) -> list[Row]:
    """Compare one pass in one call."""
    compiler = which(os.environ.get("CC", "cc")) or which("gcc")
    rows = full(100 if quick else 500, 1000)
    if compiler is None:
        return [*rows, Row("no C compiler here: skipped", 0.0)]
    libraries = {name: compiled(compiler, flags) for name, flags in FLAGS.items()}
    cut = 10 if quick else 1
    for name, stream in {"CSR 75 nnz": text(200_000 // cut), "CSR 30 nnz clicks": clicks(200_000 // cut)}.items():
        race = {"kernel": kernel(stream)} | {peer: by_hand(library, stream) for peer, library in libraries.items()}
        best = interleave(race, rounds=5)
        rows += [rate(f"diagonal, {name}", len(stream.y), best["kernel"], peer, best[peer], TARGETS[peer]) for peer in FLAGS]
    return rows
