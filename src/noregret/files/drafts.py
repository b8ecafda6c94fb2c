"""Files that appear whole or not at all: each is written under a name beside its own, then renamed."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import stat
from collections.abc import Iterable, Iterator
from typing import Any

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # what writing alone runs into
DRAFT = r"\.([0-9a-f]{8})[0-9a-f]{8}\.tmp$"  # how the name of a draft ends: with the process that writes it, and by chance
PIDS = 0xFFFFFFFF


@contextlib.contextmanager
def drafted(path: str | os.PathLike[str], durable: bool = False) -> Iterator[str]:
    """Yield the name to write to. It replaces the file when all went well; otherwise the old file stays and nothing is left.

    A link stays a link, and a device or pipe is written to as it is. A durable file survives a loss of power: its bytes, and its
    name in the folder, are on the disk. A full disk is an error that names the file.
    """
    target = os.path.realpath(path)
    if os.path.exists(target) and not os.path.isfile(target):
        with named(path):
            yield target
        return
    check_folder(path)
    folder = os.path.dirname(target)
    draft = f"{target}.{os.getpid() & PIDS:08x}{secrets.token_hex(4)}.tmp"
    try:
        with named(path):
            yield draft
            if durable:
                sync(draft)
        os.replace(draft, target)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(draft)
    if durable and hasattr(os, "O_DIRECTORY"):  # elsewhere folders cannot be opened
        sync(folder)


@contextlib.contextmanager
def named(path: str | os.PathLike[str]) -> Iterator[None]:
    """Let an error of a disk without room name the file: neither the system nor Arrow does."""
    try:
        yield
    except OSError as e:
        if e.errno not in FULL:
            raise
        raise OSError(e.errno, os.strerror(e.errno), os.fspath(path)) from None


def check_folder(path: str | os.PathLike[str]) -> None:
    """Refuse a file whose folder is not there or lets no one write."""
    folder = os.path.dirname(os.path.realpath(path))
    given = os.path.dirname(os.fspath(path)) or folder
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"cannot write {os.fspath(path)}: there is no directory {given}; make it first")
    if not os.access(folder, os.W_OK):
        raise PermissionError(f"cannot write {os.fspath(path)}: the directory {given} does not let you")


def check_apart(path: str | os.PathLike[str], others: Iterable[str | os.PathLike[str]], what: str = "is read") -> None:
    """Refuse a file that is one of others, under any name; a device or pipe may be named twice."""
    for other in others:
        if os.path.exists(path) and os.path.exists(other):
            same = os.path.isfile(path) and os.path.samefile(path, other)
        else:
            same = os.path.realpath(path) == os.path.realpath(other)
        if same:
            raise ValueError(f"cannot write {os.fspath(path)}: that file {what}; name another")


def sync(path: str) -> None:
    """Wait until a file, or a folder, is on the disk."""
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def write(path: str | os.PathLike[str], pieces: Iterable[Any], durable: bool = False) -> None:
    """Write bytes, piece after piece, to a file."""
    with drafted(path, durable) as draft, open(draft, "wb") as file:
        for piece in pieces:
            file.write(piece)


def clear(path: str | os.PathLike[str]) -> None:
    """Remove the drafts of a file that killed processes left."""
    folder, name = os.path.split(os.path.realpath(path))
    for entry in os.listdir(folder):
        found = re.fullmatch(re.escape(name) + DRAFT, entry)
        if found is not None and not runs(int(found[1], 16)):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(folder, entry))


def runs(process: int) -> bool:
    """Return whether a process is there, where that can be asked."""
    if os.name != "posix":
        return False
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def stamp(path: str | os.PathLike[str]) -> tuple[int, int, int] | None:
    """Return what tells a file from one that is written later in its place; None where there is no file."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return (found.st_ino, found.st_mtime_ns, found.st_size) if stat.S_ISREG(found.st_mode) else None
