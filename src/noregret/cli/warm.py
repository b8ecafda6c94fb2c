"""`noregret warm`: compile ahead, for images and continuous integration."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import click

from . import plugins
from .cite import complete
from .options import Command, Option

READERS = "readers"  # stands for the code that reads files and makes features of tables


@click.command("warm", cls=Command, short_help="Compile learners into the cache ahead of use.")
@click.argument("names", nargs=-1, shell_complete=complete)
@click.option("--quick", cls=Option, is_flag=True, help="Dense rows and two classes only.")
@click.option(
    "--jobs", cls=Option, type=click.IntRange(1), metavar="N", help="Processes to compile in; the number of cores unless given."
)
@plugins.plugin_option
@click.option("--json", "as_json", cls=Option, is_flag=True, help="Print JSON at the end instead of lines on the way.")
def command(names: tuple[str, ...], quick: bool, jobs: int | None, as_json: bool) -> None:
    """Compile the learners NAMES into the cache, or all learners and the readers of files.

    The name readers stands for what reads files and makes features of tables. Learners are compiled for float64 rows without
    sample weights: dense, CSR and dicts, with two classes and with three. Anything else (float32, sample weights, other
    losses, average=True) compiles at first use. The cache is in NOREGRET_CACHE, or in noregret/kernels in the user's
    cache directory; it serves one processor type and one version of Python.
    """
    from ..engine import code_cache, compiling
    from ..registry import by_name, unknown

    known = by_name()
    for name in names:
        if name not in known and name != READERS:
            raise click.UsageError(unknown(name))
    if compiling.interpreting():
        raise click.ClickException("NOREGRET_JIT=0 is set: nothing is compiled")
    todo = list(dict.fromkeys(names)) or [READERS, *sorted(known)]
    start = time.perf_counter()
    jobs = min(jobs or cores(), len(todo))
    if jobs > 1:
        if not share(todo, jobs, quick, as_json):
            raise click.ClickException("not everything was compiled, see above")
    else:
        with leaving_at_once():
            for name in todo:
                line = one(name, quick)
                if not as_json:
                    click.echo(line)
    seconds = time.perf_counter() - start
    if as_json:
        click.echo(
            json.dumps(
                {
                    "learners": [n for n in todo if n != READERS],
                    "readers": READERS in todo,
                    "seconds": seconds,
                    "processes": jobs,
                    "cache": str(code_cache.directory()),
                },
                indent=2,
            )
        )
    elif jobs > 1:
        kinds = len(todo) - (READERS in todo)
        click.echo(f"{kinds} learners in {seconds:.1f} s, {jobs} processes; cache: {code_cache.directory()}")


@contextlib.contextmanager
def leaving_at_once() -> Iterator[None]:
    """Let Ctrl-C end the process inside this block: the compiler swallows a KeyboardInterrupt and continues."""
    was = signal.signal(signal.SIGINT, lambda *_: os._exit(130))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, was)


def cores() -> int:
    """Return how many processes to use."""
    return min(8, os.cpu_count() or 1)


def share(names: Sequence[str], jobs: int, quick: bool, silent: bool = False) -> bool:
    """Compile in several processes of this command; return whether all succeeded."""
    out = subprocess.DEVNULL if silent else None
    base = [sys.executable, "-m", "noregret.cli", "warm", "--jobs", "1", *(["--quick"] if quick else [])]
    parts = [[*base, *names[i::jobs]] for i in range(jobs)]
    env = {**os.environ, "NOREGRET_PLUGINS": os.pathsep.join(map(str, plugins.loaded))}
    running = [subprocess.Popen(part, stdout=out, stderr=out, start_new_session=True, env=env) for part in parts]
    try:
        return all([p.wait() == 0 for p in running])  # noqa: C419  wait for all of them
    finally:
        for p in running:
            if p.poll() is None:
                p.terminate()


def one(name: str, quick: bool) -> str:
    """Compile a learner by using it; return a line that says what was done."""
    from ..engine import compiling

    before, start = compiling.compilations(), time.perf_counter()
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="cannot cache compiled code")
        try:
            use(name, quick)
        except UserWarning as e:
            raise click.ClickException(str(e)) from None
    made, seconds = compiling.compilations() - before, time.perf_counter() - start
    if made == 0:
        return f"{name:<26} in the cache already"
    return f"{name:<26} {made:>2} function{'s' * (made > 1)} compiled in {seconds:.1f} s"


def use(name: str, quick: bool) -> None:
    """Learn and predict once in every way that is compiled separately."""
    if name == READERS:
        read()
        return
    import numpy as np
    from scipy.sparse import csr_matrix

    from ..registry import learner
    from ..training.by_task import by_task

    X = np.eye(3)
    rows = [{"a": 1.0}, {"b": 1.0}, {"c": 1.0}]
    fresh = learner(name)
    if hasattr(fresh, "transform"):
        for batch in (X,) if quick else (X, csr_matrix(X), rows):
            fresh.clone().partial_fit(batch).transform(batch)
        return
    if by_task(fresh).rounds is not None:
        fresh.learn_many(1.0 + 0.1 * X)
        return
    tasks: dict[str, Any] = {"tasks": ["a", "b", "a"]} if fresh.by_domain else {}
    two_only = quick or fresh.by_domain or not by_task(fresh).classes
    for labels in ([1, -1, 1],) if two_only else ([1, -1, 1], [1, -1, 0]):
        for batch in (X,) if quick else (X, csr_matrix(X), rows):
            m: Any = fresh.clone().partial_fit(batch, labels, **tasks)
            m.predict(batch, **tasks)


def read() -> None:
    """Read a file in every way that is compiled separately, and save and load what makes features of its columns."""
    from ..streams.stream import stream
    from ..transforms.front import Front

    texts = {"a.svm": "1 1:1\n", "a.vw": "1 | a\n", "a.csv": "x,t,y\n1,one or two words,a\n"}
    with tempfile.TemporaryDirectory() as directory:
        for name, text in texts.items():
            path = os.path.join(directory, name)
            with open(path, "w", encoding="utf-8") as out:
                out.write(text)
            table: dict[str, Any] = {"target": "y", "text": "t"} if name == "a.csv" else {}
            opened = stream(path, scale=True, normalize="l2", **table)
            list(opened.chunks())
    assert opened.front is not None
    Front.restored(opened.front.meta(), opened.front.tensors())
    list(stream("synthetic:linear?n=2", scale=True).chunks())
