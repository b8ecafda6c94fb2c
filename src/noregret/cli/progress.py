"""Progress, always on standard error: a bar on a terminal, an occasional line elsewhere."""

from __future__ import annotations

import contextlib
import math
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from time import monotonic
from typing import Any

import click

from ..text import amount, plural, size

FIRST, SLOWEST = 2.0, 60.0  # seconds before the first line; between lines, at most
BLINK = 0.1  # seconds between two pictures of the bar
LONG = 1.0  # seconds of a pass over the rows after which it is shown how far it is
PATIENCE = 2.0  # seconds after which a user is told what takes so long


class Progress:
    """Called with the rows done, the stream, and the runs or the model."""

    def __init__(self, show: bool) -> None:
        self.show = show
        self.start = self.drawn = self.began = monotonic()  # of everything, of the last picture, of a pass for the regret
        self.next = FIRST
        self.calls = self.before = 0
        self.stopped = False  # whether the user asked for an end
        self.bar: Any = None
        self.task: Any = None
        self.search = "regret"  # how far the search for the best fixed model is, in words
        self.narrowed = 0.0  # and from 0 to 1
        self.terminal = show and sys.stderr.isatty()

    def __call__(self, rows: int, stream: Any, learners: Any = ()) -> None:
        """Show the progress."""
        now = monotonic()
        if self.calls == 0:  # the clock runs from here: before it, code was compiled
            self.start, self.before = now, rows
        self.calls += 1
        if not self.show:
            return
        if self.terminal and now - self.drawn >= BLINK:
            self.drawn = now
            self._draw(rows, stream, learners)
        elif not self.terminal and now - self.start >= self.next:
            self.next += min(self.next, SLOWEST)
            click.echo(self._line(rows, stream, learners), err=True)

    def _draw(self, rows: int, stream: Any, learners: Any) -> None:
        reader = stream.reader
        self._set_bar(reader.read, reader.size, running_error(learners), self._amounts(rows, reader))

    def _set_bar(self, done: float, of: float | None, said: str, rows: str) -> None:
        if self.bar is None:
            self.bar = bar()
            self.task = self.bar.add_task("", total=of, said="", rows="")
            self.bar.start()
        self.bar.update(self.task, completed=done, total=of, said=said, rows=rows)

    def _amounts(self, rows: int, reader: Any) -> str:
        rate = (rows - self.before) / max(monotonic() - self.start, 1e-9)
        read = "" if getattr(reader, "unit", "") == "examples" or not reader.read else f" {size(reader.read)},"
        return f"{amount(rows)} rows,{read} {short(rate)} rows/s"

    def _line(self, rows: int, stream: Any, learners: Any) -> str:
        reader = stream.reader
        seconds = monotonic() - self.start
        parts = [plural(rows, "row"), f"{seconds:.0f} s", f"{short((rows - self.before) / seconds)} rows/s"]
        if reader.size and 0 < reader.read <= reader.size:
            parts.insert(1, f"{100 * reader.read / reader.size:.0f} %")
            parts.append(f"{seconds * (reader.size / reader.read - 1):.0f} s to go")
        return ", ".join([part for part in (*parts, running_error(learners)) if part])

    def solving(self, passes: int, upper: float, lower: float, tolerance: float) -> None:
        """Show the progress of the search for the best fixed model: the bar is full when the gap is as small as it must be."""
        gap = (upper - lower) / max(upper, 1.0)
        self.search = f"regret: step {passes}, to within {100 * gap:.2f} %"
        done = math.log(min(max(gap, tolerance), 1.0)) / math.log(tolerance) if tolerance < 1.0 else 1.0
        self.narrowed = max(self.narrowed, done)
        self.began = monotonic()
        self._searching(self.narrowed, 1.0)

    def reading_again(self, rows: int, of: int) -> None:
        """Show the progress of one pass of that search where it takes long."""
        now = monotonic()
        self.began = now if rows == 0 else self.began
        if now - self.began >= LONG:
            self._searching(rows, of, f"{amount(rows)} of {plural(of, 'row')}, {short(rows / (now - self.began))} rows/s")

    def _searching(self, done: float, of: float, passed: str = "") -> None:
        now = monotonic()
        if self.terminal and now - self.drawn >= BLINK:
            self.drawn = now
            self._set_bar(done, of, self.search, passed)
        elif self.show and not self.terminal and now - self.start >= self.next:
            self.next += min(self.next, SLOWEST)
            click.echo(", ".join(part for part in (self.search, passed) if part), err=True)

    def stop(self) -> bool:
        """Return whether the user asked for an end."""
        return self.stopped

    def close(self) -> None:
        """Remove the bar."""
        if self.bar is not None:
            self.bar.stop()
            self.bar = None


def bar() -> Any:
    """Return a bar that leaves nothing behind."""
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (BarColumn(20), TaskProgressColumn(), TextColumn("{task.fields[rows]}"), TimeRemainingColumn(compact=True))
    return Bar(*columns, TextColumn("{task.fields[said]}", markup=False), console=Console(stderr=True), transient=True)


def short(x: float) -> str:
    """Return a rate in few characters: 950, 12k, 3.4M."""
    for unit in ("", "k", "M"):
        if x < 999.5:
            return f"{x:.0f}{unit}" if x >= 99.5 or unit == "" else f"{x:.1f}{unit}"
        x /= 1000.0
    return f"{x:.1f}G"


def running_error(learners: Any) -> str:
    """Return the error so far; of several learners, that of the best."""
    if not isinstance(learners, Sequence):
        from ..training.by_task import by_task

        model = getattr(learners, "learner", learners)
        return f"error {100 * model.n_mistakes_ / model.n_seen_:.2f} %" if by_task(model).classes and model.n_seen_ else ""
    found = []
    for run in learners:
        now = run.figures.now() if run.failed is None else {}
        value = now.get("error") if now.get("error") is not None else now.get("loss")
        if value is not None:
            found.append((value, run.label, now.get("error") is not None))
    if not found:
        return ""
    value, label, share = min(found)
    return f"{f'error {100 * value:.2f} %' if share else f'loss {amount(value)}'}{f' {label}' if len(learners) > 1 else ''}"


@contextlib.contextmanager
def watching(quiet: bool, what: str, leave: bool = True) -> Iterator[Progress]:
    """Yield the object to call; say so if the compiler takes long before the first call.

    With `leave`, Ctrl-C asks for a stop once there are rows to report on, and ends the process at once before that and the second
    time: the compiler swallows a KeyboardInterrupt and continues.
    """
    shown = Progress(not quiet)
    ready = threading.Event()
    if shown.terminal:
        threading.Thread(target=tell_of_compiling, args=(shown, ready, what), daemon=True).start()
    was = signal.signal(signal.SIGINT, lambda *_: asked(shown)) if leave and in_main_thread() else None
    try:
        yield shown
    finally:
        ready.set()
        shown.close()
        if was is not None:
            signal.signal(signal.SIGINT, was)


def following(shown: Progress) -> dict[str, Any]:
    """Return the options by which a study shows its progress and is stopped."""
    return {"watch": shown, "regret_watch": shown.solving, "regret_rows": shown.reading_again, "stop": shown.stop}


def in_main_thread() -> bool:
    """Return whether signals can be handled here."""
    return threading.current_thread() is threading.main_thread()


def asked(shown: Progress) -> None:
    """Note that the user asked for an end, or leave."""
    if shown.calls == 0 or shown.stopped:
        gone(shown)
    shown.stopped = True
    os.write(2, b"\nStopping: the report is of the rows so far. Again to leave at once.\n")


def gone(shown: Progress) -> None:
    """Leave at once, as a shell expects after Ctrl-C."""
    with contextlib.suppress(Exception):
        shown.close()
    os._exit(130)


def tell_of_compiling(shown: Progress, ready: threading.Event, what: str) -> None:
    """Say once that code is being compiled, when it takes long."""
    from ..engine import code_cache, compiling

    while not ready.wait(0.25) and shown.calls == 0:
        if monotonic() - shown.start >= PATIENCE and compiling.compilations() > 0:
            click.echo(f"Compiling {what} for this machine, once; later runs find the code in {code_cache.directory()}.", err=True)
            return
