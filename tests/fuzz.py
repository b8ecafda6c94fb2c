"""A fuzzer for everything that reads a file: readers of every format, packed files, positions, and the loader of models.

A case is a seed, a small file that looks real, changed by a generator with a number. It ends in an answer or in one error that
noregret itself raises, on one line of bounded length; anything else is a finding, and so are a crash, an endless loop and too much
memory. `tests/test_fuzz.py` runs some cases in its own process. `make fuzz` runs this module, which runs many in a child process:

    python tests/fuzz.py --minutes 10              new numbers every time
    python tests/fuzz.py --case csv:1234           one case again, in this process, with its traceback
"""

from __future__ import annotations

import argparse
import atexit
import bz2
import gzip
import io
import json
import linecache
import os
import pathlib
import random
import resource
import select
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

import noregret as nr
from noregret.files.model_file import checksum, read

HOME = os.path.dirname(nr.__file__)
LONGEST = 700  # characters of a message, the name of the file apart
SECONDS = 60  # of wall time for a case, in the child; the machine may be busy
MEMORY = 3 << 30  # bytes that a child may take beyond what it begins with
ROWS = 60


# ---- seeds: files that look real ---------------------------------------------------------------------------------------
def cells(rng: random.Random) -> list[list[str]]:
    """Return a table: numbers, whole numbers, categories, texts with commas, missing cells, a label."""
    words = ["red", "green", "dark blue", "é", "a, b", 'say "hi"', "x"]
    return [
        [f"{rng.gauss(0, 3):.4g}", str(rng.randrange(100)), rng.choice(words), rng.choice(["", "NA", "1.5"]), rng.choice("pq")]
        for _ in range(ROWS)
    ]


def delimited(rng: random.Random, mark: str, quote: str) -> bytes:
    """Return the table as text."""
    rows = [["a", "b", "c", "d", "y"], *cells(rng)]
    shown = [
        [f"{quote}{c.replace(quote, 2 * quote)}{quote}" if quote and (mark in c or quote in c) else c for c in r] for r in rows
    ]
    return "".join(mark.join(r) + "\n" for r in shown).encode()


def jsonl(rng: random.Random) -> bytes:
    """Return the table as objects, one of them nested."""
    rows = [{"a": float(a), "b": int(b), "c": c, "in": {"d": d or None, "e": [True]}, "y": y} for a, b, c, d, y in cells(rng)]
    rows = [{**r, "in": {"d": r["in"]["d"]}} for r in rows]
    return "".join(json.dumps(r, ensure_ascii=rng.random() < 0.5) + "\n" for r in rows).encode()


def svmlight(rng: random.Random) -> bytes:
    """Return rows of numbered features, some with a query and a comment."""
    lines = []
    for k in range(ROWS):
        at = sorted(rng.sample(range(1, 40), 5))
        query = f" qid:{k // 7}" if rng.random() < 0.3 else ""
        lines.append(f"{rng.choice(['1', '-1', '+1'])}{query} {' '.join(f'{j}:{rng.gauss(0, 2):.3g}' for j in at)}")
    return ("\n".join(lines) + "  # end\n").encode()


def vw(rng: random.Random) -> bytes:
    """Return lines with namespaces, weights and tags."""
    lines = [
        f"{rng.choice(['1', '-1'])} {rng.choice(['', '2.5 ', f't{k}'])}|a x:{rng.random():.3g} y z:-1e-3 |b:0.5 w{k % 5} é"
        for k in range(ROWS)
    ]
    return ("\n".join(lines) + "\n").encode()


def arff(rng: random.Random) -> bytes:
    """Return the table with attributes of every type."""
    types = ["a numeric", "'b b' integer", "c string", "y {p, 'q'}"]
    head = "% made up\n@relation 'a b'\n" + "".join(f"@attribute {t}\n" for t in types) + "@data\n"
    words = ["u", "v w", r"it\'s"]
    lines = [f"{a},{b},'{rng.choice(words)}',{y}" for a, b, _, _, y in cells(rng)]
    return (head + "\n".join(lines) + "\n").encode()


def sparse_arff(rng: random.Random) -> bytes:
    """Return rows that name their attributes."""
    head = "@RELATION s\n" + "".join(f"@ATTRIBUTE f{j} NUMERIC\n" for j in range(9)) + "@ATTRIBUTE y {p,q}\n@DATA\n"
    lines = [f"{{{', '.join(f'{j} {rng.random():.3g}' for j in sorted(rng.sample(range(9), 3)))}, 9 q}}" for _ in range(ROWS)]
    return (head + "\n".join(lines) + "\n").encode()


def arrays(rng: random.Random) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of numbers and labels."""
    made = np.random.default_rng(rng.randrange(1000))
    return made.normal(size=(ROWS, 6)) * (made.random((ROWS, 6)) < 0.6), made.integers(0, 3, ROWS)


def npz(rng: random.Random) -> bytes:
    """Return arrays as NumPy saves them: dense or sparse, packed or not."""
    import scipy.sparse

    X, y = arrays(rng)
    found = {"X": X, "y": rng.choice([y, y.astype("U1")]), "sample_weight": np.ones(ROWS)}
    if rng.random() < 0.5:
        S = scipy.sparse.csr_array(X)
        found = {
            "data": S.data,
            "indices": S.indices,
            "indptr": S.indptr,
            "shape": np.array(S.shape),
            "format": np.array(b"csr"),
            "y": y,
        }
    out = io.BytesIO()
    rng.choice([np.savez, np.savez_compressed])(out, **found)
    return out.getvalue()


def npy(rng: random.Random) -> bytes:
    """Return one array."""
    out = io.BytesIO()
    np.save(out, arrays(rng)[0].astype(rng.choice(["f8", "f4", "i8", ">f8"])))
    return out.getvalue()


def frame(rng: random.Random) -> Any:
    """Return the table as Arrow has it."""
    import pyarrow as pa

    rows = cells(rng)
    return pa.table(
        {
            "a": pa.array([float(r[0]) for r in rows]),
            "b": pa.array([int(r[1]) for r in rows], pa.int32()),
            "c": pa.array([r[2] for r in rows]).dictionary_encode() if rng.random() < 0.5 else pa.array([r[2] for r in rows]),
            "d": pa.array([r[3] or None for r in rows]),
            "y": pa.array([r[4] for r in rows]),
        }
    )


def parquet(rng: random.Random) -> bytes:
    """Return a Parquet file."""
    import pyarrow.parquet

    out = io.BytesIO()
    how = {"row_group_size": rng.choice([7, 100]), "compression": rng.choice(["snappy", "none", "gzip", "zstd"])}
    pyarrow.parquet.write_table(frame(rng), out, **how)
    return out.getvalue()


def arrow(rng: random.Random) -> bytes:
    """Return an Arrow file, which Feather is too."""
    import pyarrow as pa

    out = io.BytesIO()
    table = frame(rng)
    packed = pa.ipc.IpcWriteOptions(compression=rng.choice([None, "lz4", "zstd"]))
    with pa.ipc.new_file(out, table.schema, options=packed) as writer:
        writer.write_table(table, max_chunksize=25)
    return out.getvalue()


def zstd(data: bytes) -> bytes:
    """Return bytes packed by zstd."""
    import pyarrow as pa

    return bytes(pa.Codec("zstd").compress(data, asbytes=True))


def bags(rng: random.Random) -> list[dict[int, int]]:
    """Return documents as counts of words, some empty."""
    return [{rng.randrange(12): rng.randrange(1, 4) for _ in range(rng.randrange(5))} for _ in range(ROWS)]


def ldac(rng: random.Random) -> bytes:
    """Return documents as LDA-C has them."""
    return "".join(f"{len(bag)} {' '.join(f'{k}:{v}' for k, v in bag.items())}\n" for bag in bags(rng)).encode()


def docword(rng: random.Random) -> bytes:
    """Return documents as UCI has them."""
    lines = [f"{i + 1} {k + 1} {v}\n" for i, bag in enumerate(bags(rng)) for k, v in bag.items()]
    return f"{ROWS}\n12\n{len(lines)}\n{''.join(lines)}".encode()


def prose(rng: random.Random) -> bytes:
    """Return lines of text."""
    return "\n".join(
        " ".join(rng.choices(["Free", "money", "Zürich", "don't", "a_b", ""], k=rng.randrange(9))) for _ in range(ROWS)
    ).encode()


SEEDS: dict[str, tuple[str, Callable[[random.Random], bytes]]] = {
    "csv": ("t.csv", lambda r: delimited(r, r.choice(",;"), '"')),
    "tsv": ("t.tsv", lambda r: delimited(r, "\t", "")),
    "jsonl": ("t.jsonl", jsonl),
    "svmlight": ("t.svm", svmlight),
    "vw": ("t.vw", vw),
    "arff": ("t.arff", arff),
    "sparse_arff": ("t.arff", sparse_arff),
    "ldac": ("t.ldac", ldac),
    "docword": ("t.docword", docword),
    "text": ("t.txt", prose),
    "npz": ("t.npz", npz),
    "npy": ("t.npy", npy),
    "parquet": ("t.parquet", parquet),
    "arrow": ("t.parquet", arrow),
    "gzip": ("t.csv.gz", lambda r: gzip.compress(delimited(r, ",", '"'))),
    "bz2": ("t.svm.bz2", lambda r: bz2.compress(svmlight(r))),
    "zstd": ("t.vw.zst", lambda r: zstd(vw(r))),
    "unnamed": ("t.data", lambda r: r.choice([svmlight, vw, jsonl, arff, npz, parquet, ldac, docword])(r)),
}


# ---- changes -----------------------------------------------------------------------------------------------------------
TOKENS = [
    *(b"\0", b"\xff", b"\xef\xbb\xbf", b"\xff\xfe", "é".encode("latin-1"), b"\xed\xa0\x80", b"\r", b"\r\n", b"\n\n", b"\t", b" "),
    *(b",", b";", b":", b"|", b'"', b"'", b"\\", b"#", b"%", b"{", b"}", b"[", b"]", b"?", b"@data", b"@attribute a numeric\n"),
    *(b"1e999", b"-1e308", b"nan", b"inf", b"-0", b"1e-400", b"0x10", b"9" * 25, b"9" * 400, b"9" * 5000, b"4294967296", b"-1"),
    *(b"18446744073709551616", b"2147483648", b"true", b"null", b"NA", b"qid:1", b" |", b"1:1", b"0:0", b"\xe2\x80\xa8"),
]


def changed(data: bytes, rng: random.Random) -> bytes:
    """Return the bytes after one change."""
    at = rng.randrange(len(data) + 1)
    end = min(len(data), at + rng.choice([1, 2, 8, 40, 400]))
    match rng.randrange(11):
        case 0 if at < len(data):
            return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]
        case 1:
            return data[:at]
        case 2:
            return data[:at] + data[end:]
        case 3:
            return data[:end] + data[at:end] * rng.choice([1, 2, 50]) + data[end:]
        case 4:
            lines = data.split(b"\n")
            i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
            lines[i], lines[j] = lines[j], lines[i]
            return b"\n".join(lines)
        case 5:
            return data[:at] + rng.choice(TOKENS) * rng.choice([1, 1, 1, 2, 300]) + data[rng.choice([at, end]) :]
        case 6:  # a long cell, or many
            token = rng.choice([b"x", b"9", b'"', b"[", b" ", b"a,", b"\\"])
            return data[:at] + token * rng.choice([3_000, 3_000 if token == b"a," else 140_000]) + data[at:]
        case 7:
            return rng.choice([data.decode("utf-8", "replace").encode("utf-16"), data.decode("latin-1").encode(), data + data])
        case 8:  # numbers in binary headers
            return data[:at] + rng.randrange(1 << 63).to_bytes(8, "little")[: rng.choice([1, 2, 4, 8])] + data[end:]
        case 9:
            return data[:at] + bytes(rng.choice([1, 8, 512])) + data[end:]
        case _:
            return data[:at] + rng.randbytes(end - at) + data[end:]


def mutated(data: bytes, rng: random.Random) -> bytes:
    """Return the bytes after a few changes; often one, since a file with many is refused at the first."""
    for _ in range(rng.choice([1, 1, 1, 2, 3, 8])):
        data = changed(data, rng)
    return data


ODD = [None, True, -1, 0, 1, 2**31, 2**63, 10**400, 0.5, -1e308, "", "x" * 10_000, [], {}, [[]], {"float": "nan"}, {"tuple": []}]


def bent(tree: Any, rng: random.Random) -> Any:
    """Return a JSON value with one value in it changed."""
    if isinstance(tree, dict) and tree and rng.random() < 0.9:
        key = rng.choice(sorted(tree))
        if rng.random() < 0.1:
            return {k: v for k, v in tree.items() if k != key}
        return {**tree, key: bent(tree[key], rng)}
    if isinstance(tree, list) and tree and rng.random() < 0.9:
        i = rng.randrange(len(tree))
        return [*tree[:i], bent(tree[i], rng), *tree[i + 1 :]]
    if type(tree) is int and rng.random() < 0.7:
        return tree + rng.choice([-1, 1, 2, 1000, -(2**31), 2**33])
    return rng.choice(ODD)


# ---- reading -----------------------------------------------------------------------------------------------------------
def streamed(name: str, data: bytes, rng: random.Random) -> Any:
    """Read a file to its end, with options that a user may give; return how many examples it has."""
    options: dict[str, Any] = {"on_bad": rng.choice(["stop", "skip"])}
    tabular = not any(kind in name for kind in ("svm", "vw", "npz", "npy", "data", "ldac", "docword"))
    if tabular and rng.random() < 0.7:
        options |= {"target": "y"}
    if tabular and rng.random() < 0.2:
        options |= {"weight": "b"}
    if rng.random() < 0.3:
        options |= {"hash_bits": 10}
    opened = nr.stream(written(name, data), **options)
    if hasattr(opened.reader, "block"):
        opened.reader.block = rng.choice([200, 3000, 1 << 20])
    pieces = opened.split(3) if rng.random() < 0.1 else [opened]
    found = 0
    for piece in pieces:
        for batch in piece.chunks():
            assert batch.y is None or len(getattr(batch.y, "codes", batch.y)) == batch.data.n
            found += batch.data.n
    return found


@cache
def folder() -> str:
    """Return the folder of files, the same for all cases."""
    made = tempfile.TemporaryDirectory(prefix="fuzz")
    atexit.register(made.cleanup)
    return made.name


def written(name: str, data: bytes) -> str:
    """Write a file, and return its path."""
    path = pathlib.Path(folder(), name)
    path.write_bytes(data)
    return str(path)


def reader_case(kind: str, rng: random.Random) -> Any:
    """Read a changed file."""
    name, make = SEEDS[kind]
    return streamed(name, mutated(make(rng), rng), rng)


def position_case(rng: random.Random) -> Any:
    """Read a file from a changed position, as a model file or another process may name it."""
    name, make = SEEDS[rng.choice([k for k in SEEDS if k not in ("npy", "unnamed")])]
    path = written(name, make(rng))
    reader = nr.stream(path).reader
    if hasattr(reader, "block"):
        reader.block = 700
    positions = [batch.position for batch in reader.batches()]
    position = json.loads(json.dumps(rng.choice(positions)))
    for _ in range(rng.choice([1, 1, 2])):
        position = bent(position, rng)
    if rng.random() < 0.3:
        return sum(b.n for b in nr.stream(path, piece=(None, position)).reader.batches())
    return sum(b.n for b in nr.stream(path).reader.batches(position))


# ---- models ------------------------------------------------------------------------------------------------------------
def models() -> list[Any]:
    """Return learners of every kind of state, and pipelines."""
    X, y = arrays(random.Random(5))
    names = [{f"n{j}": float(v) for j, v in enumerate(row) if v} for row in X]
    made = [
        nr.PA1().partial_fit(X, y),
        nr.PA1(average=True, dtype="float32").partial_fit(X, y % 2),
        nr.AROW(covariance="full").partial_fit(X, y),
        nr.VotedPerceptron().partial_fit(X, y % 2),
        nr.PA1(kernel=nr.RBF(gamma=0.5), budget=nr.Projection(20)).partial_fit(X, y),
        nr.Perceptron(kernel=nr.Polynomial(degree=2)).partial_fit(names, y),
        nr.FTRL().partial_fit(names, y),
        nr.OFS(B=3).partial_fit(X, y % 2),
        nr.GroupLasso(groups=[0, 0, 1, 1, 2, 2]).partial_fit(X, y % 2),
        nr.PA1Regressor().partial_fit(X, X[:, 0]),
        nr.RLS(window=10).partial_fit(X, X[:, 0]),
        nr.FOBOS(regularizer="l1l2").partial_fit(X, y),
        nr.NORMA(kernel=nr.RBF(gamma=0.5)).partial_fit(X, y % 2),
        nr.PA1(kernel=nr.RBF(gamma=0.5), budget=nr.RemoveRandom(10)).partial_fit(names, y),
        nr.Coin().partial_fit(X, y),
        nr.SCW1().partial_fit(X, y),
        nr.PAUniclass().partial_fit(X),
        nr.Hedge(learners=[nr.PA1(), nr.Perceptron()]).partial_fit(X, y),
        nr.PA1(hash_bits=4).partial_fit(names, y),
    ]
    piped = nr.pipeline(nr.Scale(), nr.RandomFourier(D=8), nr.PA1())
    made.append(piped.partial_fit(X, y))
    table = written("m.csv", delimited(random.Random(1), ",", '"'))
    return [*made, nr.train(table, nr.PA1(), target="y").model]


@cache
def files() -> list[bytes]:
    """Return them as files."""
    return [m.to_bytes() for m in models()]


def model_case(rng: random.Random) -> Any:
    """Load a changed model, forged or damaged, and use it if it loads."""
    data = rng.choice(files())
    data = mutated(data, rng) if rng.random() < 0.2 else forged(data, rng)
    loaded = nr.from_bytes(data)
    with np.errstate(all="ignore"):
        used(loaded, rng)
    return type(loaded).__name__


def forged(data: bytes, rng: random.Random) -> bytes:
    """Return a model with a change in its values or arrays, and the checksum to match."""
    from safetensors.numpy import save

    meta, tensors = read(data)
    for _ in range(rng.choice([1, 1, 2])):
        if rng.random() < 0.5 or not tensors:
            meta = bent(meta, rng)
        else:
            name = rng.choice(sorted(tensors))
            tensors = {**tensors, name: spoiled(tensors[name], rng)}
    text = json.dumps(meta)
    return save(tensors, {"noregret": text, "sha256": checksum(text, tensors)})


def spoiled(a: np.ndarray, rng: random.Random) -> np.ndarray:
    """Return an array with a cell, its shape or its type changed."""
    a = a.copy()
    if a.size and rng.random() < 0.7:
        cells = a.reshape(-1)
        odd = [np.nan, np.inf, -np.inf, 1e30, -1.0, 0.0] if a.dtype.kind == "f" else [0, 1, 255]
        odd += (
            [] if a.dtype.kind == "f" or a.dtype.itemsize < 4 else [2**31 - 1, 10**6, *([-1, 2**62] if a.dtype.kind == "i" else [])]
        )
        cells[rng.randrange(len(cells))] = a.dtype.type(rng.choice(odd))
        return a
    return rng.choice([a[:-1], a.reshape(-1), a.astype(np.float32), np.concatenate([a, a]), a[:0], a.reshape(1, *a.shape)]).copy()


def used(model: Any, rng: random.Random) -> None:
    """Predict and learn with a model."""
    X, y = arrays(rng)
    learner = getattr(model, "learner", model)
    if not learner.started:
        return
    kind = learner.model.features.kind if hasattr(learner.model, "features") else "columns"
    data: Any = X if kind == "columns" else [{f"n{j}": float(v) for j, v in enumerate(row)} for row in X]
    if getattr(model, "front", None) is not None and model.front.table is not None:
        data = [{"a": 1.0, "b": 2, "c": "red", "d": None}] * 3
    answers = model.predict(data)
    scores = model.decision_function(data) if hasattr(model, "decision_function") else answers
    assert np.isfinite(np.asarray(scores, float)).all(), "a model that was loaded answers with numbers that are not finite"
    targets = () if learner.task == "one_class" else (X[: len(data), 0] if answers.dtype.kind == "f" else y[: len(data)],)
    model.partial_fit(data, *targets)


# ---- running -----------------------------------------------------------------------------------------------------------
CASES: dict[str, Callable[[random.Random], Any]] = {
    **{kind: lambda rng, kind=kind: reader_case(kind, rng) for kind in SEEDS},
    "position": position_case,
    "model": model_case,
}


def fault(kind: str, number: int) -> str | None:
    """Run a case; return what is wrong with how it ended, None if nothing is."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            CASES[kind](random.Random(f"{kind}:{number}"))
    except Exception as e:
        return None if is_own(e) else f"{type(e).__name__}: {str(e)[:300]!r} at {place_of(e)}"
    return None


def place_of(e: BaseException) -> str:
    """Return where an error was raised, last place first."""
    at, found = e.__traceback__, []
    while at is not None:
        found.append(f"{os.path.basename(at.tb_frame.f_code.co_filename)}:{at.tb_lineno}")
        at = at.tb_next
    return " < ".join(found[:-6:-1])


def is_own(e: BaseException) -> bool:
    """Return whether this is an error of the library's own: raised by a `raise` in it, one line, not too long."""
    at = e.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    if at is None or not isinstance(e, (ValueError, TypeError, OSError)):
        return False
    file = at.tb_frame.f_code.co_filename
    said = linecache.getline(file, at.tb_lineno).strip()
    text = str(e).replace(folder(), "")
    return file.startswith(HOME) and said.startswith("raise") and 10 < len(text) <= LONGEST and "\n" not in text


def limited() -> None:
    """Let this process take only so much more memory."""
    with open("/proc/self/statm") as f:
        now = int(f.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + MEMORY, now + MEMORY))


def work(kinds: list[str], first: int) -> None:
    """Run cases one after another, and say which one before each; what is wrong is said after it."""
    for kind in kinds:  # what is compiled is compiled before time and memory count
        fault(kind, 0)
    limited()
    number = first
    while True:
        for kind in kinds:
            print(f"{kind}:{number}", flush=True)
            wrong = fault(kind, number)
            if wrong is not None:
                print(f"! {wrong}", flush=True)
        number += 1


def watched(kinds: list[str], minutes: float, first: int) -> int:
    """Run cases in child processes for some minutes; return how many had something wrong."""
    end, number, wrong, ran = time.monotonic() + 60 * minutes, first, 0, 0
    while time.monotonic() < end:
        command = [sys.executable, os.path.abspath(__file__), "--work", ",".join(kinds), "--first", str(number)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, bufsize=1) as child:
            assert child.stdout is not None
            case, begun = "start", True
            while time.monotonic() < end:
                if not select.select([child.stdout], [], [], SECONDS if not begun else 600)[0]:
                    print(f"{case}: no end within {SECONDS} s", flush=True)
                    break
                line = child.stdout.readline()
                if not line:
                    print(f"{case}: the process ended with code {child.wait()}", flush=True)
                    break
                begun = False
                if line.startswith("!"):
                    print(f"{case}: {line[2:].rstrip()}", flush=True)
                    wrong += 1
                else:
                    case = line.strip()
                    number, ran = int(case.partition(":")[2]) + 1, ran + 1
            else:
                child.kill()
                break
            child.kill()
            wrong += 1
    print(f"{ran} cases, {wrong} with something wrong; the next number is {number}")
    return wrong


def main() -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--first", type=int, default=None, help="the first number; by default a new one")
    parser.add_argument("--kinds", default=",".join(CASES), help="some of them, with commas")
    parser.add_argument("--case", help="run this one alone, such as csv:1234")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.case:
        kind, _, number = given.case.partition(":")
        print(CASES[kind](random.Random(f"{kind}:{number}")))
        return 0
    first = given.first if given.first is not None else int(time.time()) % 10**6 * 1000
    if given.work:
        work(given.work.split(","), first)
    return 1 if watched(given.kinds.split(","), given.minutes, first) else 0


if __name__ == "__main__":
    sys.exit(main())
