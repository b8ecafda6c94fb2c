"""Compiled code in files: one for each function and kinds of arguments, and a note beside it that makes it count. No pickles.

A file counts if it belongs to this user or to root, nobody else may write it or its directory, and its checksum is that of the
note. The checksum finds damage; ownership is what protects. Anything wrong means that the code is compiled again.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import warnings
from functools import cache
from typing import Any, NamedTuple

from ..text import said

FORMAT = 1
SHARED, OBJECT = ".so", ".o"
_warned: set[pathlib.Path] = set()


class Code(NamedTuple):
    """Object code: the name of its entry, and the functions of other libraries that it calls."""

    content: bytes
    entry: str
    imports: list[str]


def directory() -> pathlib.Path:
    """Return where compiled code is kept: NOREGRET_CACHE, or the user's cache directory."""
    given = os.environ.get("NOREGRET_CACHE")
    home = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache")
    return (pathlib.Path(given) if given else home / "noregret" / "kernels").expanduser()


def find(name: str, key: str) -> tuple[int, Any] | None:
    """Return the address of an entry of the cache and what keeps it in memory; None if it is not there, or not to be trusted."""
    for ending in (SHARED, OBJECT):
        path = directory() / f"{name}_{key}{ending}"
        try:
            note = json.loads(path.with_suffix(".json").read_bytes())
            if not (private(path.parent) and private(path)) or note["format"] != FORMAT or note["file"] != path.name:
                continue
            content = path.read_bytes()
            code = Code(content, note["entry"], note["imports"])
            if checksum(code) == note["sha256"]:
                return opened(path, code)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RuntimeError):  # damaged, or of another form
            continue
    return None


def private(path: pathlib.Path) -> bool:
    """Return whether only this user and root can have written this."""
    if not hasattr(os, "geteuid"):
        return True
    info = path.stat()
    return info.st_uid in (os.geteuid(), 0) and not info.st_mode & 0o022


def keep(name: str, key: str, code: Code) -> tuple[int, Any] | None:
    """Put code into the cache and return what `find` returns; where nothing can be written, for this process alone."""
    shared = linked(code.content)
    code = code if shared is None else code._replace(content=shared)
    path = directory() / f"{name}_{key}{OBJECT if shared is None else SHARED}"
    note = {"format": FORMAT, "file": path.name, "entry": code.entry, "imports": code.imports, "sha256": checksum(code)}
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not private(path.parent):
            raise PermissionError("others may write there: chmod go-w")
        write(path, code.content)  # the code first, then the note that makes it count
        write(path.with_suffix(".json"), json.dumps(note).encode())
        return opened(path, code)
    except OSError as e:
        warn_once(path.parent, said(e))
    try:
        with tempfile.TemporaryDirectory() as spare:
            path = pathlib.Path(spare, path.name)
            path.write_bytes(code.content)
            return opened(path, code)
    except (OSError, RuntimeError):  # nothing can be written, or run from there
        return None


def checksum(code: Code) -> str:
    """Return the checksum of code and what the note says of it."""
    return hashlib.sha256(json.dumps(code[1:]).encode() + code.content).hexdigest()


def write(path: pathlib.Path, content: bytes) -> None:
    """Write a file under another name and rename it: nobody sees half of it, and of several processes the last one wins."""
    draft = path.with_name(f"{path.name}.{os.getpid()}.{threading.get_ident()}")
    try:
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(content)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def warn_once(where: pathlib.Path, why: str) -> None:
    """Say that nothing is kept, once in a process."""
    if where not in _warned:
        warnings.warn(f"cannot cache compiled code in {where} ({why}); this process compiles for itself", stacklevel=2)
        _warned.add(where)


# ---- opening ---------------------------------------------------------------------------------------------------------
def opened(path: pathlib.Path, code: Code) -> tuple[int, Any]:
    """Return the address of an entry, and what keeps it in memory: from the system's loader, or LLVM's for object code."""
    if path.suffix == SHARED:
        library = ctypes.PyDLL(str(path))
        return ctypes.cast(getattr(library, code.entry), ctypes.c_void_p).value or 0, library
    llvm, jit = loader()
    builder = llvm.JITLibraryBuilder().add_object_img(code.content).export_symbol(code.entry)
    for name in code.imports:
        builder.import_symbol(name, address_of(name))
    tracker = builder.link(jit, path.stem)
    return tracker[code.entry], tracker


@cache
def loader() -> Any:
    """Return LLVM and its loader of object code."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm, llvm.create_lljit_compiler()


@cache
def address_of(name: str) -> int:
    """Return the address of a function that code may call: of Python, or of the C library."""
    for library in (ctypes.pythonapi, ctypes.CDLL(None)):
        found = getattr(library, name, None)
        if found is not None:
            return ctypes.cast(found, ctypes.c_void_p).value or 0
    raise OSError(f"no function {name}")


def linked(content: bytes) -> bytes | None:
    """Return object code as a shared library; None without a linker."""
    tool = linker()
    if tool is None:
        return None
    with tempfile.TemporaryDirectory() as spare:
        source, target = pathlib.Path(spare, "code.o"), pathlib.Path(spare, "code.so")
        source.write_bytes(content)
        done = subprocess.run([*tool, "-shared", "-s", "-o", target, source], capture_output=True, check=False)
        return target.read_bytes() if done.returncode == 0 else None


@cache
def linker() -> list[str] | None:
    """Return the command that links: the linker itself, which is quicker than the compiler that calls it."""
    if os.environ.get("NOREGRET_LINK", "1") == "0" or sys.platform != "linux":
        return None
    tool = shutil.which("ld") or shutil.which("cc")
    return None if tool is None else [tool] if tool.endswith("ld") else [tool, "-nostdlib"]
