"""Machine code without its compiler: functions from the cache, called as builtin functions of Python. Imports no Numba.

A compiled function is one shared library (or, without a linker, one object file) with an entry that follows CPython's METH_FASTCALL
convention. It checks the kinds of its arguments, unpacks them and runs; arguments of other kinds go to the next entry, and at last
to `Native.resolve`, which finds or makes the code for them.
"""

from __future__ import annotations

import ctypes
import hashlib
import sys
import sysconfig
import threading
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from . import code_cache, processor

HEAD = object.__basicsize__  # what every object begins with; the last word of it is its class
ITEMS = tuple.__basicsize__  # where the items of a tuple begin
METH_FASTCALL = 0x80
CLASSES = (np.ndarray, float, np.float64, int, np.int64, bool, np.bool_, np.uint64)  # in each table, after the fallback
FIXED = 1 + len(CLASSES) + 3  # fallback, classes, True, None, the class of errors; then the classes of tuples
NUMBERS = {float: "d", np.float64: "d", int: "l", np.int64: "l", bool: "b", np.bool_: "b", np.uint64: "L"}
DTYPES = frozenset("?bBhHiIlLqQfd")
SMALLEST, LARGEST = -(1 << 63), (1 << 63) - 1
# Where an array keeps its data, number of sides, sides, strides, dtype and flags; where a dtype keeps its byte order and number.
DATA, SIDES, SHAPE, STRIDES, DTYPE, FLAGS = (HEAD + k for k in (0, 8, 16, 24, 40, 48))
ORDER, NUMBER = HEAD + 10, HEAD + 12
CONTIGUOUS, ALIGNED, WRITEABLE = 0x1, 0x100, 0x400

lock = threading.RLock()
made = {"compiled": 0, "loaded": 0}  # functions of this process, by where their code came from
_opened: dict[str, tuple[int, Any]] = {}  # by key: the address of the entry, and what keeps it in memory
_trying = threading.local()  # the entry that a thread has just chosen
_kept: list[Any] = []  # definitions must outlive the functions


class MethodDef(ctypes.Structure):
    """CPython's PyMethodDef."""

    _fields_ = (("name", ctypes.c_char_p), ("code", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p))


class Frame(np.ndarray):
    """A table of addresses and numbers that an entry reads; it keeps alive what it refers to."""

    held: Any = None


def frame(words: list[int], held: Any) -> Frame:
    """Return a frame of these words."""
    made = np.array(words, np.uint64).view(Frame)
    made.held = held
    return made


def function(name: str, address: int, table: Frame, library: Any) -> Callable[..., Any]:
    """Return machine code as a builtin function of Python, bound to a table."""
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
    definition = MethodDef(name.encode(), address, METH_FASTCALL, None)
    _kept.append(definition)
    table.held = (table.held, library)
    found: Callable[..., Any] = new(ctypes.addressof(definition), table, None)
    return found


class UnusualError(TypeError):
    """An argument is of a kind that entries do not take."""


def kind_of(v: Any, classes: list[type]) -> str:
    """Return what an argument is to the compiler, as text; classes of tuples are collected."""
    if type(v) is np.ndarray:
        flags = v.flags
        if not flags.aligned or not v.dtype.isnative or v.dtype.char not in DTYPES:
            raise UnusualError(f"an array of {v.dtype}")
        return f"{v.dtype.str[1:]}.{v.ndim}{'C' if flags.c_contiguous else 'A'}{'w' if flags.writeable else 'r'}"
    if isinstance(v, tuple) and type(v) is not tuple:
        classes.append(type(v))
        return f"{type(v).__module__}.{type(v).__qualname__}({','.join(kind_of(u, classes) for u in v)})"
    if type(v) not in NUMBERS or (type(v) is int and not SMALLEST <= v <= LARGEST):
        raise UnusualError(f"a {type(v).__name__}")
    return NUMBERS[type(v)]


# ---- the machine -----------------------------------------------------------------------------------------------------
@cache
def machine() -> str:
    """Return what code must fit: the system, the processor level, and the layout of Python's objects."""
    tag = sys.implementation.cache_tag + getattr(sys, "abiflags", "")
    return "\n".join((tag, f"{HEAD},{ITEMS}", sys.platform, *map(str, processor.chosen()), processor.identity()))


@cache
def possible() -> bool:
    """Return whether objects are laid out as entries expect, and the GIL guards them."""
    if sysconfig.get_config_var("Py_GIL_DISABLED") or sys.implementation.name != "cpython" or sys.maxsize >> 31 == 0:
        return False
    sample = np.zeros((3, 5), np.float64)[:, :4]

    def at(address: int, kind: Any) -> Any:
        return kind.from_address(address).value

    word, half = ctypes.c_ssize_t, ctypes.c_int
    dtype, where = id(sample.dtype), id(sample)
    pair = (1.5, 2)
    return (
        at(where + HEAD - 8, word) == id(np.ndarray)
        and at(where + DATA, word) == sample.__array_interface__["data"][0]
        and at(where + SIDES, half) == 2
        and [at(at(where + SHAPE, word) + 8 * k, word) for k in range(2)] == [3, 4]
        and [at(at(where + STRIDES, word) + 8 * k, word) for k in range(2)] == [40, 8]
        and at(where + DTYPE, word) == dtype
        and at(where + FLAGS, half) & (CONTIGUOUS | ALIGNED | WRITEABLE) == ALIGNED | WRITEABLE
        and at(dtype + ORDER, ctypes.c_char) == b"="
        and at(dtype + NUMBER, half) == sample.dtype.num
        and at(id(pair) + ITEMS, word) == id(pair[0])
        and at(id(pair[0]) + HEAD, ctypes.c_double) == 1.5
        and at(id(scalar := np.int64(7)) + HEAD, word) == int(scalar)
    )


# ---- compiled functions ----------------------------------------------------------------------------------------------
class Native:
    """A compiled function. `run` is the entry for the kinds of arguments that came first; each leads to the next.

    `source` returns the function in Numba's hands, and is asked only if there is something to compile: with an entry of Numba's own
    (True), which is the last resort, or without.
    """

    def __init__(self, name: str, digest: str, source: Callable[[bool], Any], nogil: bool) -> None:
        self.name, self.digest, self.source, self.nogil = name, digest, source, nogil
        self.known: dict[Any, Callable[..., Any]] = {}
        self.resolver = self.resolve  # one object, which tables refer to
        self.run: Callable[..., Any] = self.resolver
        self.last: Frame | None = None  # the table of the last entry in the row

    def __call__(self, *args: Any) -> Any:
        """Run with arguments of any kinds."""
        return self.run(*args)

    def resolve(self, *args: Any) -> Any:
        """Run with arguments of kinds that no entry takes yet."""
        found = self.entry(args)
        if found is getattr(_trying, "entry", None):  # it refused what it was made for
            return self.source(True)(*args)
        _trying.entry = found
        try:
            return found(*args)
        finally:
            _trying.entry = None

    def entry(self, args: Sequence[Any]) -> Callable[..., Any]:
        """Return the code for arguments of these kinds; where no entry can be made, Numba's dispatcher."""
        classes: list[type] = []
        try:
            kinds = ",".join(kind_of(v, classes) for v in args) if possible() else ""
        except UnusualError:
            kinds = ""
        if not kinds:
            return self.source(True)
        key = (kinds, *classes)  # two classes may have one name
        with lock:
            if key not in self.known:
                words = [id(self.resolver), *map(id, CLASSES), id(True), id(None), id(RuntimeError), *map(id, classes)]
                table = frame(words, (self.resolver, classes))
                found = self.load(kinds, table, classes) or self.source(True)
                if self.last is None:
                    self.run = found
                else:
                    self.last.held = (self.last.held, found)
                    self.last[0] = id(found)
                self.last, self.known[key] = table, found
            return self.known[key]

    def load(self, kinds: str, table: Frame, classes: list[type]) -> Callable[..., Any] | None:
        """Return the entry for these kinds, from the cache or made now; None where it cannot be made or loaded."""
        key = hashlib.sha256("\0".join((self.digest, self.name, kinds, machine())).encode()).hexdigest()[:32]
        with lock:
            if key not in _opened:
                opened = code_cache.find(self.name, key)
                made["loaded" if opened else "compiled"] += 1
                if opened is None:
                    from . import emitting

                    opened = code_cache.keep(self.name, key, emitting.emitted(self, kinds, key, classes))
                if opened is None:
                    return None
                _opened[key] = opened
            address, library = _opened[key]
        return function(self.name, address, table, library)
