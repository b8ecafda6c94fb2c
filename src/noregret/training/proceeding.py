"""Where a training proceeds: where it stopped in its source, or with what it has not learned yet."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..inputs.checking import warn
from ..streams.formats import of_address
from ..streams.marks import KEPT, Mark, compared, files_of, learned_elsewhere
from ..streams.source import is_plain, open_plain, size_of
from ..streams.stream import Stream
from ..text import plural

At = dict[str, Any]  # plain JSON values, saved with the model


def beginning(source: str, before: list[Mark] | None = None) -> At:
    """Return the place of a training that begins; `before` are the marks of files that were learned earlier."""
    at: At = {"source": source, "epoch": 0, "position": None, "epoch_examples": 0}
    return {**at, "files": [], "end": None, "before": (before or [])[-KEPT:]}


def noted(at: At) -> At:
    """Return a place as it is saved: without the marks where there are no files."""
    return {k: v for k, v in at.items() if v or k not in ("files", "end", "before")}


# ---- where it stopped ------------------------------------------------------------------------------------------------
def resumed(path: Path, found: At | None, opened: Stream, limit: int | None) -> At:
    """Return where a saved model stopped, if that is a place in this stream; one that a limit cut continues within that limit."""
    if not found:
        raise ValueError(f"{path} holds a model that was not trained from a stream, so there is no place to resume from")
    if found["source"] != opened.name:
        raise ValueError(
            f"{path} was trained from {found['source']}, not from {opened.name}: give the same source to resume, "
            "or continue_=True to learn from this one too"
        )
    same_limit(path, opened.name, found.get("limited"), limit)
    at = {**beginning(opened.name), **found}
    was = at["files"][-1] if at["files"] else {"path": None}
    for file in files_of(opened.reader):
        how = compared(file, was) if os.path.normpath(file) == was["path"] else "new"
        if how == "grown" and at["position"] is None and not (opened.reader.endless or found.get("limited")):
            raise ValueError(
                f"{file} has grown {grown(file, was)} since it was learned: give continue_=True to learn what was added"
            )
        if how in ("cut", "other"):
            raise ValueError(changed(file, was))
    if opened.reader.endless and at["position"] is None and not found.get("limited"):  # there may be more by now
        at |= {"epoch": 0, "position": at["end"]}
    return at


def same_limit(path: Path, source: str, rows: int | None, limit: int | None) -> None:
    """Refuse a source of which only the first rows were learned, unless no more are asked for."""
    if rows and rows != limit:
        raise ValueError(
            f"{path} has learned only the first {plural(rows, 'row')} of {source}, as limit said, and the place where it stopped "
            f"was not kept: give limit={rows} to continue with the same rows, or train again from the start, without limit"
        )


def grown(file: str, was: Mark) -> str:
    """Return how much a file has grown."""
    return f"from {plural(was['size'], 'byte')} to {size_of(file):,}"


def changed(file: str, was: Mark) -> str:
    """Return the error of a file that is not the one that was read."""
    return f"{file} is not the file that was read before: expected it to begin with the same {plural(was['size'], 'byte')}"


# ---- what has not been learned yet -----------------------------------------------------------------------------------
def continued(
    path: Path, found: At | None, opened: Stream, limit: int | None, reopen: Callable[[list[str]], Stream]
) -> tuple[Stream, At]:
    """Return what is left of a source and where to begin in it: without the files that were learned, with what was added to one."""
    if not found:
        return opened, beginning(opened.name)
    found = {**beginning(found["source"]), **found}
    paths = files_of(opened.reader)
    if not paths:
        same = found["source"] == opened.name and of_address(opened.name) is not None  # arrays have no names to tell them apart
        if not same and found["position"] is not None:
            finished(path, found)
        return opened, dict(found) if same else beginning(opened.name, found["before"] + found["files"])
    learned = {was["path"]: was for was in found["before"] + found["files"]}
    for file in paths:
        same_limit(path, file, learned.get(os.path.normpath(file), {}).get("limited"), limit)
    current = found["position"] or found["end"]
    now = next((file for file in paths if current and os.path.normpath(file) == os.path.normpath(current.get("path", ""))), None)
    if found["position"] is not None and (found["epoch"] or now is None):
        if now is not None and found["source"] == opened.name:  # in a later pass over the same files
            return opened, resumed(path, found, opened, limit)
        finished(path, found)
    how = {file: related(file, learned) for file in paths}
    rest = [file for file in paths if how[file] != "same"]
    within = now if now is not None and how[now] in ("same", "grown") and goes_on(now, how[now], found, opened) else None
    if within is not None:
        rest = [within, *(file for file in rest if file != within)]
    for file in rest:
        check(file, how[file], learned, file == within)
    if not rest:
        return opened, {**found, "epoch": max(found["epoch"], 1), "position": None}
    names = {os.path.normpath(file) for file in rest}
    at = beginning(opened.name, [was for name, was in learned.items() if name not in names])
    if within is not None:
        at |= {"position": {**current, "file": 0, "path": within}, "epoch_examples": found["epoch_examples"]}
    return (opened if rest == paths else reopen(rest)), at


def related(file: str, learned: dict[str, Mark]) -> str:
    """Return how a file relates to those that were learned: "new", "same", "grown", "cut" or "other"."""
    was = learned.get(os.path.normpath(file))
    if was is None:
        return "same" if learned_elsewhere(file, learned.values()) else "new"
    how = compared(file, was)
    return "same" if how == "grown" and was.get("limited") else how  # its first rows are those that were learned


def goes_on(file: str, how: str, found: At, opened: Stream | None = None) -> bool:
    """Return whether there is, or may come, more in the file in which a training stopped."""
    if opened is not None and opened.reader.endless:
        return True
    return how == "grown" or (found["position"] is not None and not ("offset" in found["position"] and is_plain(file)))


def check(file: str, how: str, learned: dict[str, Mark], within: bool) -> None:
    """Refuse a file of which it cannot be told what is new in it."""
    was = learned.get(os.path.normpath(file))
    if was is None or how in ("same", "other"):  # what has another beginning is another file of the same name
        return
    if how == "cut":
        raise ValueError(f"{file} was cut from {plural(was['size'], 'byte')} to {size_of(file):,} since it was learned")
    if not within:
        raise ValueError(
            f"{file} has grown {grown(file, was)} since it was learned, and another file was learned after it: "
            "put what was added into a file of its own"
        )
    if is_plain(file) and not ends_line(file, was["size"]):
        raise ValueError(
            f"{file} ended inside a line when it was learned, at byte {was['size']:,}: that row was learned as it was then. "
            "Start over, and follow a file that others write to (follow=True)"
        )


def ends_line(file: str, size: int) -> bool:
    """Return whether the first bytes of a file are whole lines."""
    with open_plain(file) as opened:
        opened.seek(max(size - 1, 0))
        return size == 0 or opened.read(1) == b"\n"


def finished(path: Path, found: At) -> None:
    """Refuse to leave a source in the middle; where the rest is gone, say so."""
    file = (found["position"] or {}).get("path")
    if file is not None and not os.path.exists(file):
        warn("UserWarning", f"{path} stopped in {file}, which is gone: what was left of it is not learned")
    elif file is None or goes_on(file, compared(file, found["files"][-1]), found):
        epochs = f", epochs={found['epoch'] + 1} or more" if found["epoch"] else ""
        raise ValueError(f"{path} {stopped(found)}: give that source{epochs} and resume=True first")


def stopped(at: At) -> str:
    """Return where a training stopped in the middle of its source."""
    where = f"pass {at['epoch'] + 1} over" if at["epoch"] else "the middle of"
    return f"stopped in {where} {at['source']}, after {plural(at['epoch_examples'], 'row')}"


def check_epochs(path: Path, at: At, epochs: int) -> None:
    """Refuse to end a training before the pass in which it stopped: nothing would be learned."""
    if at["position"] is not None and at["epoch"] >= epochs:
        raise ValueError(f"{path} {stopped(at)}: give epochs={at['epoch'] + 1} or more to continue, got {epochs}")
