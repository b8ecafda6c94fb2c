"""Marks of files: from them one knows later what was read, what was added since, and what is another file."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from typing import Any

from ..inputs.batch import Reader
from .source import Held, is_regular, open_plain, size_of

ENDS = 1 << 12  # bytes at the beginning and at the end of what was read that tell files apart
KEPT = 1000  # marks of earlier files that a model keeps

Mark = dict[str, Any]  # plain JSON values


def mark(path: str, size: int) -> Mark:
    """Return the mark of the first `size` bytes of a file."""
    with open_plain(path) as file:
        begin = file.read(min(size, ENDS))
        file.seek(max(size - ENDS, 0))
        end = file.read(min(size, ENDS))
    return {"path": os.path.normpath(path), "size": size, "begin": digest(begin), "end": digest(end)}


def digest(data: bytes) -> str:
    """Return a few characters that tell bytes apart."""
    return hashlib.blake2b(data, digest_size=8).hexdigest()


def compared(path: str, was: Mark) -> str:
    """Return how a file relates to its mark: "same", "grown", "cut" (the beginning of it) or "other"."""
    now = size_of(path)
    if now < was["size"]:
        known = min(was["size"], ENDS)
        return "cut" if now >= known and mark(path, known)["begin"] == was["begin"] else "other"
    if mark(path, was["size"]) != {**was, "path": os.path.normpath(path)}:
        return "other"
    return "same" if now == was["size"] else "grown"


def learned_elsewhere(path: str, known: Iterable[Mark]) -> bool:
    """Return whether a file has been learned under another name: a copy, a link, a path from another directory."""
    size = size_of(path)
    return size > 0 and any(was["size"] == size and compared(path, was) == "same" for was in known)


def files_of(reader: Reader) -> list[str]:
    """Return the files on disk that a reader reads; none where one of its sources can be read only once."""
    paths = getattr(reader, "paths", [])
    return paths if all(is_regular(path) and not isinstance(path, Held) for path in paths) else []


def marks(paths: list[str], last: int, size: int | None, known: list[Mark]) -> list[Mark]:
    """Return the marks of files up to the last, of which `size` bytes were read, or all; those known of whole files are kept."""
    sizes = [size_of(path) for path in paths[:last]]
    whole = {was["path"]: was for was, size in zip(known, sizes, strict=False) if was["size"] == size}
    found = [whole.get(os.path.normpath(path)) or mark(path, size) for path, size in zip(paths, sizes, strict=False)]
    return [*found, mark(paths[last], size_of(paths[last]) if size is None else size)]
