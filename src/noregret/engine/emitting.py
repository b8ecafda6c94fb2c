"""The compiler's side of `native`: from a function to object code with an entry for CPython. Imports Numba; needed to compile only.

The entries are written in LLVM's language with the builder of llvmlite, around the function that Numba compiled.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba import types as numba_types
from numba.core import cgutils as numba_tools
from numba.core.compiler_lock import global_compiler_lock
from numba.np import arrayobj, numpy_support

from . import native, target
from .code_cache import Code

types: Any = numba_types  # neither is typed as it is
cgutils: Any = numba_tools
populate_array: Any = arrayobj.populate_array
BYTE, HALF, WORD, REAL = ir.IntType(8), ir.IntType(32), ir.IntType(64), ir.DoubleType()
POINTER = BYTE.as_pointer()
LEAVES = {"d": types.float64, "l": types.int64, "b": types.boolean, "L": types.uint64}
ARRAY, REALS, WHOLES, TRUTHS, COUNTS = (1,), (2, 3), (4, 5), (6, 7), (8,)  # places of classes in a table, see native.CLASSES
TRUE, NONE, ERROR = native.FIXED - 3, native.FIXED - 2, native.FIXED - 1


# ---- kinds -----------------------------------------------------------------------------------------------------------
def parsed(kinds: str) -> list[Any]:
    """Return kinds as a tree: a leaf is text, a tuple is (name of its class, parts)."""
    tokens = re.findall(r"[^(),]+\(?|\)", kinds)
    tokens.reverse()

    def parts() -> list[Any]:
        found: list[Any] = []
        while tokens and (token := tokens.pop()) != ")":
            found.append((token[:-1], parts()) if token.endswith("(") else token)
        return found

    return parts()


def leaves(tree: list[Any]) -> list[str]:
    """Return the leaves of a tree in order."""
    return [leaf for t in tree for leaf in ([t] if isinstance(t, str) else leaves(t[1]))]


def type_of(leaf: str) -> Any:
    """Return Numba's type of a leaf."""
    if leaf in LEAVES:
        return LEAVES[leaf]
    dtype, _, rest = leaf.partition(".")
    return types.Array(numpy_support.from_dtype(np.dtype(dtype)), int(rest[0]), rest[1], readonly=rest[2] == "r")


# ---- compiling -------------------------------------------------------------------------------------------------------
@contextlib.contextmanager
def untimed() -> Iterator[None]:
    """Call LLVM without the events by which Numba times it: they take a tenth of the time of compiling."""
    lock = llvm.ffi.lib._lock
    callbacks, lock._cblist = lock._cblist, []
    try:
        yield
    finally:
        lock._cblist = callbacks


def emitted(fn: native.Native, kinds: str, key: str, classes: list[type]) -> Code:
    """Return the object code of a function for arguments of these kinds."""
    with global_compiler_lock, untimed():
        return _emitted(fn, kinds, key, classes)


def _emitted(fn: native.Native, kinds: str, key: str, classes: list[type]) -> Code:
    tree = parsed(kinds)
    flat = flattened(fn.source(False), tree, classes)
    signature = tuple(map(type_of, leaves(tree)))
    flat.compile(signature)
    compiled = flat.overloads[signature]
    entry, library = f"noregret_{key}", compiled.library.codegen.create_library(f"entry.{fn.name}")
    module = library.create_ir_module(library.name)
    write(Emitter(compiled.target_context, module, entry), compiled.fndesc, tree, fn.nogil)
    library.add_ir_module(module)
    library.add_linking_library(compiled.library)
    final = library.optimised(entry, compiled.fndesc.mangled_name)
    imports = [f.name for f in final.functions if f.is_declaration and not f.name.startswith("llvm.")]
    return Code(machine().emit_object(final), entry, imports)


def flattened(function: Any, tree: list[Any], classes: list[type]) -> Any:
    """Return a function of the leaves, which makes the tuples if there are any."""
    if not classes:
        return function
    names = [f"a{k}" for k in range(len(leaves(tree)))]
    given, made = iter(names), iter(range(len(classes)))

    def built(t: Any) -> str:
        return next(given) if isinstance(t, str) else f"Kind{next(made)}({', '.join(map(built, t[1]))})"

    text = f"def flat({', '.join(names)}):\n    return function({', '.join(map(built, tree))})\n"
    scope = {"function": function, **{f"Kind{k}": c for k, c in enumerate(classes)}}
    exec(text, scope)
    return target.jit(**function.targetoptions)(scope["flat"])


@cache
def machine() -> Any:
    """Return LLVM's machine for the level, for code that runs anywhere in memory."""
    cpu, features = target.aim()
    triple = llvm.Target.from_triple(llvm.get_process_triple())
    return triple.create_target_machine(cpu=cpu, features=features, opt=3, reloc="pic", codemodel="default")


# ---- entries ---------------------------------------------------------------------------------------------------------
class Emitter:
    """An entry `object *f(object *self, object **args, intp n)` in the making."""

    def __init__(self, context: Any, module: Any, name: str) -> None:
        self.context, self.module = context, module
        fn = ir.Function(module, ir.FunctionType(POINTER, [POINTER, POINTER.as_pointer(), WORD]), name)
        self.own, self.args, self.count = fn.args
        self.b = ir.IRBuilder(fn.append_basic_block("entry"))
        self.other = fn.append_basic_block("other")
        self.table = self.load(self.own, native.DATA, WORD.as_pointer())

    def load(self, base: Any, offset: int, kind: Any) -> Any:
        """Return what lies at base + offset."""
        return self.b.load(self.b.bitcast(self.b.gep(base, [WORD(offset)]), kind.as_pointer()))

    def word(self, k: int) -> Any:
        """Return a word of the table."""
        return self.b.load(self.b.gep(self.table, [WORD(k)]))

    def argument(self, k: int) -> Any:
        """Return an argument."""
        return self.b.load(self.b.gep(self.args, [WORD(k)]))

    def require(self, ok: Any) -> None:
        """Continue if so, otherwise with the fallback."""
        ahead = self.b.append_basic_block()
        self.b.cbranch(ok, ahead, self.other)
        self.b.position_at_end(ahead)

    def equal(self, a: Any, b: Any) -> Any:
        """Return whether two words are equal."""
        return self.b.icmp_unsigned("==", a, b)

    def has_class(self, obj: Any, place: int) -> Any:
        """Return whether an object is of the class at a place of the table."""
        return self.equal(self.load(obj, native.HEAD - 8, WORD), self.word(place))

    def require_class(self, obj: Any, places: tuple[int, ...]) -> None:
        """Continue if an object is of one of the classes."""
        found = self.has_class(obj, places[0])
        for place in places[1:]:
            found = self.b.or_(found, self.has_class(obj, place))
        self.require(found)

    def python(self, name: str, gives: Any, *takes: Any) -> Any:
        """Return a function of CPython."""
        return cgutils.get_or_insert_function(self.module, ir.FunctionType(gives, takes), name)

    def array(self, kind: Any, data: Any, shape: list[Any], strides: list[Any] | None = None) -> Any:
        """Return an array as Numba has it."""
        size = self.context.get_abi_sizeof(self.context.get_data_type(kind.dtype))
        if strides is None:
            strides, step = [], WORD(size)
            for n in reversed(shape):
                strides.insert(0, step)
                step = self.b.mul(step, n)
        made = self.context.make_array(kind)(self.context, self.b)
        populate_array(made, self.b.bitcast(data, made.data.type), shape, strides, size, None)
        return made._getvalue()

    def call(self, fndesc: Any, kinds: list[Any], values: list[Any], nogil: bool) -> Any:
        """Run the function, without the GIL if so wanted; return its value."""
        compiled = self.context.declare_function(self.module, fndesc)
        saved = self.b.call(self.python("PyEval_SaveThread", POINTER), []) if nogil else None
        status, value = self.context.call_conv.call_function(self.b, compiled, fndesc.restype, kinds, values)
        if nogil:
            self.b.call(self.python("PyEval_RestoreThread", ir.VoidType(), POINTER), [saved])
        with cgutils.if_unlikely(self.b, status.is_error):
            self.b.call(self.python("PyErr_SetNone", ir.VoidType(), POINTER), [self.b.inttoptr(self.word(ERROR), POINTER)])
            self.b.ret(POINTER(None))
        return value

    def object(self, kind: Any, value: Any) -> Any:
        """Return a number, or a tuple of numbers, as a new object."""
        if kind == types.none:
            none = self.b.inttoptr(self.word(NONE), POINTER)
            self.b.call(self.python("Py_IncRef", ir.VoidType(), POINTER), [none])
            return none
        if isinstance(kind, types.Boolean):
            return self.b.call(self.python("PyBool_FromLong", POINTER, WORD), [self.b.zext(value, WORD)])
        if isinstance(kind, types.Float):
            value = value if kind.bitwidth == 64 else self.b.fpext(value, REAL)
            return self.b.call(self.python("PyFloat_FromDouble", POINTER, REAL), [value])
        if isinstance(kind, types.Integer):
            widen = self.b.sext if kind.signed else self.b.zext
            value = value if kind.bitwidth == 64 else widen(value, WORD)
            name = "PyLong_FromLongLong" if kind.signed else "PyLong_FromUnsignedLongLong"
            return self.b.call(self.python(name, POINTER, WORD), [value])
        if isinstance(kind, types.BaseTuple):
            made = self.b.call(self.python("PyTuple_New", POINTER, WORD), [WORD(len(kind))])
            put = self.python("PyTuple_SetItem", HALF, POINTER, WORD, POINTER)
            for k, part in enumerate(kind):
                self.b.call(put, [made, WORD(k), self.object(part, self.b.extract_value(value, k))])
            return made
        raise TypeError(f"compiled code cannot return {kind}")

    def finish(self, result: Any) -> None:
        """Return a result; write the way to the fallback."""
        self.b.ret(result)
        self.b.position_at_end(self.other)
        again = self.python("PyObject_Vectorcall", POINTER, POINTER, POINTER.as_pointer(), WORD, POINTER)
        self.b.ret(self.b.call(again, [self.b.inttoptr(self.word(0), POINTER), self.args, self.count, POINTER(None)]))


def write(e: Emitter, fndesc: Any, tree: list[Any], nogil: bool) -> None:
    """Write an entry that checks and unpacks its arguments."""
    e.require(e.equal(e.count, WORD(len(tree))))
    values: list[Any] = []
    places = iter(range(native.FIXED, 1 << 20))

    def unpack(t: Any, obj: Any) -> None:
        if isinstance(t, str):
            values.append(unpacked(e, t, obj))
            return
        e.require(e.has_class(obj, next(places)))
        for k, part in enumerate(t[1]):
            unpack(part, e.load(obj, native.ITEMS + 8 * k, POINTER))

    for k, t in enumerate(tree):
        unpack(t, e.argument(k))
    e.finish(e.object(fndesc.restype, e.call(fndesc, list(map(type_of, leaves(tree))), values, nogil)))


def unpacked(e: Emitter, leaf: str, obj: Any) -> Any:
    """Return the value of an object of the kind of a leaf; others go to the fallback."""
    b = e.b
    if leaf == "d":
        e.require_class(obj, REALS)
        return e.load(obj, native.HEAD, REAL)
    if leaf == "L":
        e.require_class(obj, COUNTS)
        return e.load(obj, native.HEAD, WORD)
    if leaf == "b":
        e.require_class(obj, TRUTHS)
        own = e.equal(b.ptrtoint(obj, WORD), e.word(TRUE))
        return b.select(e.has_class(obj, TRUTHS[0]), own, b.trunc(e.load(obj, native.HEAD, BYTE), ir.IntType(1)))
    if leaf == "l":
        e.require_class(obj, WHOLES)
        over, found = cgutils.alloca_once_value(b, HALF(0)), cgutils.alloca_once_value(b, WORD(0))
        with b.if_else(e.has_class(obj, WHOLES[0])) as (is_own, is_numpy):
            with is_own:
                read = e.python("PyLong_AsLongLongAndOverflow", WORD, POINTER, HALF.as_pointer())
                b.store(b.call(read, [obj, over]), found)
            with is_numpy:
                b.store(e.load(obj, native.HEAD, WORD), found)
        e.require(e.equal(b.load(over), HALF(0)))
        return b.load(found)
    kind = type_of(leaf)
    e.require_class(obj, ARRAY)
    descr = e.load(obj, native.DTYPE, POINTER)
    e.require(e.equal(e.load(descr, native.NUMBER, HALF), HALF(np.dtype(leaf.partition(".")[0]).num)))
    order = e.load(descr, native.ORDER, BYTE)
    e.require(b.or_(e.equal(order, BYTE(ord("="))), e.equal(order, BYTE(ord("|")))))
    e.require(e.equal(e.load(obj, native.SIDES, HALF), HALF(kind.ndim)))
    packed = kind.layout == "C"
    mask = native.ALIGNED | native.WRITEABLE | native.CONTIGUOUS
    want = native.ALIGNED | (native.WRITEABLE if kind.mutable else 0) | (native.CONTIGUOUS if packed else 0)
    e.require(e.equal(b.and_(e.load(obj, native.FLAGS, HALF), HALF(mask)), HALF(want)))
    shape, strides = (
        [e.load(e.load(obj, at, POINTER), 8 * k, WORD) for k in range(kind.ndim)] for at in (native.SHAPE, native.STRIDES)
    )
    return e.array(kind, e.load(obj, native.DATA, POINTER), shape, None if packed else strides)
