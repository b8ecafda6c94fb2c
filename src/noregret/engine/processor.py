"""The processor level that compiled code is for: x86-64-v3 where the processor has it, else v2; the baseline elsewhere.

Vector width and fused multiply-adds decide the last bit of a sum, and a last bit can decide a row on its margin. So code is for a
level, not for one processor: all machines of a level learn the same bits. The variable NOREGRET_CPU names another level.
"""

from __future__ import annotations

import os
import platform
from functools import cache
from typing import Any, NamedTuple

import numpy as np


class Level(NamedTuple):
    """A set of processors for which one machine code is made: LLVM's name of it, and its features beyond that name."""

    name: str
    cpu: str | None  # None: LLVM's name of this machine's processor
    features: str | None = ""  # None: those of this machine's processor


HOST = Level("host", None, None)
X86 = {
    "v2": Level("v2", "x86-64-v2"),
    "v3": Level("v3", "x86-64-v3"),
    "v4": Level("v4", "x86-64-v4"),
}
BASE = Level("baseline", "generic")  # every 64-bit ARM processor, among others
NAMES = ("v2", "v3", "v4", "host")
USUAL = ("v3", "baseline")  # nothing needs to be said about these


def described(level: str) -> str:
    """Return a level in words."""
    if level in X86:
        return f"code for x86-64-{level}"
    return {"host": "code for the processor at hand", "interpreted": "interpreted code"}.get(level, f"{level} code")


@cache
def chosen() -> Level:
    """Return the level that compiled code of this process is for."""
    return level_for(os.environ.get("NOREGRET_CPU", ""), platform.machine().lower(), cpu_features())


@cache
def identity() -> str:
    """Return what tells this processor from others, if code is for it alone; else the name of its instruction set."""
    name = platform.machine().lower()
    if chosen() is not HOST:
        return name
    return " ".join((name, platform.processor(), *sorted(f for f, has in cpu_features().items() if has)))


def cpu_features() -> dict[str, bool]:
    """Return what the processor can do, by NumPy's names."""
    core: Any = np._core  # type: ignore[attr-defined]
    found: dict[str, bool] = core._multiarray_umath.__cpu_features__
    return found


def level_for(wish: str, machine: str, features: dict[str, bool]) -> Level:
    """Return the level to compile for on a machine whose processor has these features; `wish` is the value of NOREGRET_CPU."""
    if wish not in ("", *NAMES):
        raise ValueError(f"NOREGRET_CPU must be one of {', '.join(NAMES)}, got {wish!r}")
    if wish == "host":
        return HOST
    if machine not in ("x86_64", "amd64"):
        if wish:
            raise ValueError(f"NOREGRET_CPU={wish} is a level of x86-64 processors, and this machine is {machine}: unset it")
        return BASE
    if not wish:
        return X86["v3" if able("v3", features) else "v2"]
    if not able(wish, features):
        raise ValueError(
            f"NOREGRET_CPU={wish}: this processor cannot run code for x86-64-{wish}; leave NOREGRET_CPU out, or say v2"
        )
    return X86[wish]


def able(level: str, features: dict[str, bool]) -> bool:
    """Return whether a processor with these features runs code for the level."""
    needed = {"v2": ("SSE42",), "v3": ("AVX2", "FMA3"), "v4": ("AVX2", "FMA3", "AVX512_SKX")}[level]
    return all(features.get(f, False) for f in needed)
