"""Numba's compiler, aimed at a processor level instead of this machine's processor, apart from a user's own Numba code.

Numba has one target, the processor it runs on. This is a second one, made by Numba's extension interface, with its own code
generator. Functions that only compiled code calls are linked into it as they are and optimised there: they are neither optimised
apart nor turned into machine code, which saves a quarter of the time of compiling.
"""

from __future__ import annotations

import contextlib
import hashlib
import pickle
from functools import cached_property
from typing import Any

from numba import jit as numba_jit
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.codegen import JITCodeLibrary, JITCPUCodegen
from numba.core.cpu import CPUContext
from numba.core.dispatcher import Dispatcher
from numba.core.registry import CPUTarget
from numba.core.target_extension import CPU, dispatcher_registry, jit_registry, target_registry

from . import processor

NAME = "noregret"
SEAL = hashlib.sha256().digest_size


class Library(JITCodeLibrary):
    """Code of one function and what it calls, made ready to run only if Python can call it."""

    @property
    def callable(self) -> bool:
        """Whether there is an entry from Python in it."""
        return any(f.name.startswith("_ZN7cpython") and not f.is_declaration for f in self._final_module.functions)

    def _optimize_final_module(self) -> None:
        if self.callable:
            super()._optimize_final_module()

    def _finalize_final_module(self) -> None:
        if self.callable or self._shared_module is not None:  # the second: loaded from the cache
            super()._finalize_final_module()
        else:
            self._finalize_dynamic_globals()
            self._verify_declare_only_symbols()
            self._finalized = True


class Generator(JITCPUCodegen):
    """Machine code for the level."""

    _library_class = Library

    def _get_host_cpu_name(self) -> Any:
        return processor.chosen().cpu or super()._get_host_cpu_name()

    def _get_host_cpu_features(self) -> Any:
        features = processor.chosen().features
        return super()._get_host_cpu_features() if features is None else features


class Context(CPUContext):
    """Numba's CPU with the other generator."""

    def init(self) -> None:
        """Prepare, with a generator of our own."""
        super().init()
        self._internal_codegen = Generator(NAME)

    def get_executable(self, library: Any, fndesc: Any, env: Any) -> Any:
        """Return what Python calls, if it can."""
        if library.get_pointer_to_function(fndesc.llvm_cpython_wrapper_name):
            return super().get_executable(library, fndesc, env)
        return [].append  # a new builtin, all that Numba wants here: a key


class Target(CPUTarget):
    """What Numba asks for the two contexts."""

    @cached_property
    def _toplevel_target_context(self) -> Any:
        return Context(self.typing_context, self._target_name)


class SealedFiles(IndexDataCacheFile):
    """Files of compiled code that end in a checksum: a damaged one is as good as none, and its code is compiled again."""

    def save(self, key: Any, data: Any) -> None:
        """Write code, if that is possible: a full disk is no reason to stop."""
        with contextlib.suppress(OSError):
            super().save(key, data)

    def _load_index(self) -> Any:
        try:
            stamp, overloads = pickle.loads(self._unsealed(self._index_path))
        except OSError:
            return {}
        return overloads if stamp == self._source_stamp else {}

    def _save_index(self, overloads: Any) -> None:
        self._seal(self._index_path, (self._source_stamp, overloads))

    def _load_data(self, name: str) -> Any:
        return pickle.loads(self._unsealed(self._data_path(name)))

    def _save_data(self, name: str, data: Any) -> None:
        self._seal(self._data_path(name), data)

    def _seal(self, path: str, value: Any) -> None:
        body = self._dump(value)
        with self._open_for_write(path) as file:
            file.write(body + self._checksum(body))

    def _unsealed(self, path: str) -> bytes:
        with open(path, "rb") as file:
            content = file.read()
        body, found = content[:-SEAL], content[-SEAL:]
        if found != self._checksum(body):
            raise OSError(f"{path} is damaged")
        return body

    def _checksum(self, body: bytes) -> bytes:
        return hashlib.sha256(self._version.encode() + body).digest()


class SealedCache(FunctionCache):
    """Numba's cache on such files."""

    def __init__(self, py_func: Any) -> None:
        super().__init__(py_func)
        where = self._impl.locator
        self._cache_file = SealedFiles(self._cache_path, self._impl.filename_base, where.get_source_stamp())


class LevelDispatcher(Dispatcher):
    """A compiled function."""

    targetdescr = Target(NAME)

    def enable_caching(self) -> None:
        """Keep machine code in files."""
        self._cache = SealedCache(self.py_func)


class Processors(CPU):
    """The processors of a level, in Numba's tree of targets: what is known for a CPU serves here too."""


def jit(*args: Any, **options: Any) -> Any:
    """Return numba's decorator for this target."""
    return numba_jit(*args, **{**options, "_target": NAME})


target_registry[NAME] = Processors
dispatcher_registry[Processors] = LevelDispatcher
jit_registry[Processors] = jit
