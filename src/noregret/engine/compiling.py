"""From plain Python to cached machine code. Only this module and `target` import numba, and only when something is compiled.

A driver text has a fingerprint of all the code it can reach. Numba compiles it, and machine code is cached under that name: a later
process loads it without Numba (`native`), and an edit anywhere below is a new name. See CONTRIBUTING for the traps.
"""

from __future__ import annotations

import contextlib
import dis
import hashlib
import inspect
import os
import pathlib
import re
import types as pytypes
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from importlib.util import find_spec
from typing import Any

import numpy as np

from . import native, processor
from .words import Word

# No allocation, no reference counts, no GIL; and no entry from C, which would double the compile time.
OPTIONS: dict[str, Any] = {"error_model": "numpy", "nogil": True, "no_cfunc_wrapper": True, "_nrt": False}
FAST = {"reassoc", "contract", "nsz"}  # vectorised sums; NaN and infinity still behave

_interpreting = os.environ.get("NOREGRET_JIT", "1") == "0"


def interpreting() -> bool:
    """Return whether drivers are interpreted (NOREGRET_JIT=0) instead of compiled."""
    return _interpreting


@contextlib.contextmanager
def interpreted() -> Iterator[None]:
    """Interpret the drivers of models that begin inside this block."""
    global _interpreting
    was, _interpreting = _interpreting, True
    try:
        yield
    finally:
        _interpreting = was


def level() -> str:
    """Return the name of the processor level that code is compiled for, "interpreted" where none is."""
    return "interpreted" if _interpreting else processor.chosen().name


def compilations() -> int:
    """Return how many functions this process has compiled, not counting those loaded from the cache."""
    return native.made["compiled"]


def ready() -> int:
    """Return how many compiled functions this process has, whether compiled here or loaded from the cache."""
    return sum(native.made.values())


# ---- what a text reaches ---------------------------------------------------------------------------------------------
def code_key(code: pytypes.CodeType) -> Any:
    """Return a code object as data: what it does, not where it is written, so comments and docstrings recompile nothing."""
    documented = code.co_consts[:1] and isinstance(code.co_consts[0], str)  # compiled texts use no other text
    kept = (None, *code.co_consts[1:]) if documented else code.co_consts
    consts = tuple(code_key(c) if isinstance(c, pytypes.CodeType) else (type(c).__name__, repr(c)) for c in kept)
    return code.co_code, consts, code.co_names, code.co_varnames, code.co_freevars


def reach(roots: Iterable[Any], kinds: Iterable[type]) -> tuple[list[Any], str]:
    """Return the functions and words reachable from the roots given the kinds in play, and a fingerprint of all of it.

    A case of a word counts only if every kind it names can occur, so a new kind in one file recompiles nothing else. The order
    of the cases counts: which one is chosen is part of the code.
    """
    known = {object, np.ndarray, *kinds}
    seen: dict[Any, Any] = {}
    todo = list(roots)
    while todo:
        for fn in todo:
            if isinstance(fn, Word):
                seen[fn] = (fn.__name__, taken_as_written(fn))
                continue
            scope = inspect.getclosurevars(fn)
            used = {**scope.globals, **scope.nonlocals}
            known |= {v for v in used.values() if isinstance(v, type) and issubclass(v, tuple)}
            consts = [(k, repr(v)) for k, v in sorted(used.items()) if isinstance(v, (int, float, str, tuple, np.generic))]
            seen[fn] = (
                fn.__module__,
                fn.__name__,
                taken_as_written(fn),
                getattr(fn, "rare", False),
                code_key(fn.__code__),
                repr(fn.__defaults__),
                consts,
            )
            for g in used.values():
                if isinstance(g, (pytypes.FunctionType, Word)):
                    seen.setdefault(g, None)
        cases = [c.fn for w in seen if isinstance(w, Word) for c in w.cases if known.issuperset(c.kinds)]
        todo = [f for f in {*cases, *seen} if seen.get(f) is None]
    tables = [
        (w.__name__, [([k.__name__ for k in c.kinds], code_key(c.fn.__code__)) for c in w.cases if known.issuperset(c.kinds)])
        for w in seen
        if isinstance(w, Word)
    ]
    shapes = [(k.__module__, k.__qualname__, getattr(k, "_fields", ())) for k in known]  # the cached form refers to them by name
    return list(seen), repr([sorted(map(repr, part)) for part in (seen.values(), tables, shapes)])


# ---- teaching numba --------------------------------------------------------------------------------------------------
def kind_of(t: Any) -> type:
    """Return the kind of a numba type."""
    from numba import types

    if isinstance(t, types.Array):
        return np.ndarray
    return t.instance_class if isinstance(t, (types.NamedTuple, types.NamedUniTuple)) else object


def in_order(t: Any) -> bool:
    """Return whether sums over this are taken in order: those over one class among others are (see `strict`)."""
    return getattr(kind_of(t), "strict", False) or any(in_order(u) for u in getattr(t, "types", ()) or ())


def taken_as_written(fn: Any) -> bool:
    """Return whether a text is compiled with strict arithmetic: it says so (`strict`), or it has no loop, and is a formula.

    Only loops over features gain from reassociation. Elsewhere it would let two copies of one formula, such as that of a first
    round which the compiler has peeled off its loop, differ in the last bit, and the split of a stream into calls would show.
    """
    return getattr(fn, "strict", False) or not (isinstance(fn, Word) or loops(fn))


@cache
def loops(fn: Any) -> bool:
    """Return whether a text has a loop: whether it jumps back."""
    return any("JUMP_BACKWARD" in step.opname for step in dis.get_instructions(fn))


@cache
def teach(fn: Any) -> None:
    """Let compiled code call fn: a word picks its case by the kinds of the arguments, a function is itself.

    Registered twice: with strict arithmetic, and with sums that may be reassociated, so that dense rows vectorise.
    """
    from numba.extending import overload

    def register(strict: bool, options: dict[str, Any]) -> None:
        def choose(*types: Any) -> Any:
            text = fn.find([kind_of(t) for t in types]) if isinstance(fn, Word) else fn
            return text if (taken_as_written(fn) or taken_as_written(text) or any(map(in_order, types))) is strict else None

        settings: Any = OPTIONS | options
        overload(fn, strict=False, jit_options=settings)(choose)

    inline = {"forceinline": not getattr(fn, "rare", False)}
    register(True, {**inline, "fastmath": False})  # said outright, or a caller's setting is inherited
    register(False, {**inline, "fastmath": FAST})


@cache
def _how() -> str:
    """Return what else decides the machine code: the text of the compiler's modules, and the versions of Numba and LLVM."""
    here = pathlib.Path(__file__)
    texts = [here.with_name(name).read_text() for name in (here.name, "emitting.py", "native.py", "target.py")]
    return "\0".join((*texts, np.__version__, _version_of("numba"), _version_of("llvmlite")))


def _version_of(package: str) -> str:
    """Return what a package says of its version, without importing it."""
    found = find_spec(package)
    if found is None or found.origin is None:
        raise ImportError(f"noregret needs the package {package}: install it, or set NOREGRET_JIT=0 to interpret all code")
    return pathlib.Path(found.origin).with_name("_version.py").read_text()


# ---- building --------------------------------------------------------------------------------------------------------
def build(
    name: str,
    text: str,
    scope: dict[str, Any],
    plain: bool = False,
    nogil: bool = True,
    later: Callable[[], dict[str, Any]] = dict,
) -> dict[str, Any]:
    """Return the functions of a driver text that are marked ``@jit``, compiled (or interpreted, always if `plain`).

    What `later` returns joins the scope if there is something to compile: it may need Numba.
    """
    text = f'"""{name}: generated, do not edit."""\n{text}'
    scope = {"np": np, **scope}
    if _interpreting or plain:
        scope["jit"] = np.errstate(all="ignore")  # as a decorator: C arithmetic, as compiled
        exec(text, scope)
        return scope
    roots = [v for v in scope.values() if isinstance(v, (pytypes.FunctionType, Word))]
    taught, mark = reach(roots, [v for v in scope.values() if isinstance(v, type)])
    digest = hashlib.sha256("\0".join((text, mark, repr(nogil), _how())).encode()).hexdigest()

    @cache
    def source(entry: bool) -> dict[str, Any]:
        from .target import jit

        for fn in taught:
            teach(fn)
        space = {**scope, **later(), "jit": jit(**OPTIONS | {"nogil": nogil, "no_cpython_wrapper": not entry})}
        exec(text, space)
        return space

    marked = re.findall(r"^@jit\ndef (\w+)", text, re.M)
    return {n: native.Native(f"{name}_{n}", digest, partial(_one_of, source, n), nogil) for n in marked}


def _one_of(source: Callable[[bool], dict[str, Any]], name: str, entry: bool) -> Any:
    return source(entry)[name]


def compiled(fn: Callable[..., Any], *kinds: type) -> Callable[..., Any]:
    """Return one plain function compiled on its own, for work outside any step, such as checking input.

    Name the kinds of its arguments that words in it ask for. Where drivers are interpreted it is interpreted too, with the
    arithmetic of C.
    """
    return _alone(fn, kinds, _interpreting)


@cache
def _alone(fn: Callable[..., Any], kinds: tuple[type, ...], interpreting: bool) -> Callable[..., Any]:
    args = ", ".join(inspect.signature(fn).parameters)
    text = f"@jit\ndef run({args}):\n    return fn({args})\n"
    run: Callable[..., Any] = build(fn.__name__, text, {"fn": fn, **{k.__name__: k for k in kinds}})["run"]
    return run


def entry(run: Callable[..., Any], args: Sequence[Any]) -> Callable[..., Any]:
    """Return the code of a compiled function for arguments of these kinds, which takes others too, but not as fast."""
    return run.entry(args) if isinstance(run, native.Native) else run


@cache
def python_interface() -> dict[str, Any]:
    """Return what lets compiled code that holds the GIL look at Python objects: parts of CPython's C interface, and bare memory.

    Objects are their addresses.
    """
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic

    p, byte, flag = types.intp, ir.IntType(8).as_pointer(), ir.IntType(32)
    declare: Any = cgutils.get_or_insert_function
    pointer: Any = types.CPointer

    @intrinsic
    def peek(_: Any, address: Any) -> Any:
        """Return the word at an address."""
        return p(p), lambda c, b, s, a: b.load(b.inttoptr(a[0], c.get_value_type(p).as_pointer()))

    @intrinsic
    def letters(_: Any, address: Any) -> Any:
        """Return an address as that of bytes."""
        return pointer(types.uint8)(p), lambda c, b, s, a: b.inttoptr(a[0], byte)

    @intrinsic
    def fetch(_: Any, address: Any) -> Any:
        """Let the processor fetch what is at an address, while work continues."""

        def emit(c: Any, b: Any, s: Any, a: Any) -> Any:
            prefetch = declare(b.module, ir.FunctionType(ir.VoidType(), [byte, flag, flag, flag]), "llvm.prefetch.p0i8")
            b.call(prefetch, [b.inttoptr(a[0], byte), flag(0), flag(3), flag(1)])  # to read, soon again, data
            return c.get_dummy_value()

        return types.void(p), emit

    def function(name: str, gives: Any, *takes: Any) -> Any:
        return types.ExternalFunction(name, gives(*takes))

    return {
        "peek": peek,
        "letters": letters,
        "fetch": fetch,
        "next_item": function("PyDict_Next", types.int32, p, p, p, p),
        "enter": function("PyDict_SetItem", types.int32, p, p, p),
        "count_of": function("PyDict_Size", p, p),
        "is_subtype": function("PyType_IsSubtype", types.int32, p, p),
        "compute_hash": function("PyObject_Hash", p, p),
        "compare": function("PyUnicode_Compare", types.int32, p, p),
        "as_double": function("PyFloat_AsDouble", types.float64, p),
        "as_integer": function("PyLong_AsLongLongAndOverflow", types.int64, p, p),
        "as_utf8": function("PyUnicode_AsUTF8AndSize", p, p, p),
        "new_integer": function("PyLong_FromLongLong", p, types.int64),
        "release": function("Py_DecRef", types.void, p),
        "forgive": function("PyErr_Clear", types.void),
    }


def plainly(e: Exception, step: Any) -> Exception:
    """Return a compiler's error in the terms of the step's author: where, and what is not allowed."""
    if not type(e).__module__.startswith("numba"):
        return e
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(e))
    own = step.__code__.co_filename
    lines = [int(n) for f, n in re.findall(r'File "([^"]+)", line (\d+)', text) if pathlib.Path(f).name == pathlib.Path(own).name]
    where = f"{own}, line {lines[0] if lines else step.__code__.co_firstlineno}"
    return TypeError(
        f"step {step.__name__!r} cannot be compiled: {_reason(text)} (in {where}). A step is plain arithmetic on numbers and "
        "arrays in the vocabulary of noregret; NOREGRET_JIT=0 runs it interpreted."
    )


def _reason(text: str) -> str:
    """Return what lies at the bottom of a compiler's error: the first refusal that is not about one of our own functions."""
    said = [line.strip() for line in text.splitlines() if line.strip()]
    for i, line in enumerate(said):
        if "has no meaning" in line:
            return line
        if not line.endswith("(step: nopython frontend)") or i + 1 == len(said):
            continue
        reason = said[i + 1]
        builtin = re.match(r"No implementation of function Function\(<(?:built-in function|class|ufunc) '?(\w+)", reason)
        if builtin and "Only accept returning of array" in text:
            return f"a step may not allocate (no lists, dicts, strings or new arrays): {builtin[1]}"
        if builtin:
            return f"this is not possible: {said[i + 2].removeprefix('>>> ')}"
        if not reason.startswith("No implementation of function"):
            return "a step may not allocate (no lists, dicts, strings or new arrays)" if "NRT" in reason else reason
    return "a step may not allocate (no lists, dicts, strings or new arrays)" if "NRT" in text else said[0]
