"""Numba's compiler, aimed at a processor level instead of this machine's processor, apart from a user's own Numba code.

Numba has one target, the processor it runs on. This is a second one, made by Numba's extension interface, with its own code
generator. Functions that only compiled code calls are linked where there is an entry and optimised there: they are neither
optimised apart nor turned into machine code, which saves a quarter of the time of compiling.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import llvmlite.binding as llvm
from numba import jit as numba_jit
from numba.core.codegen import JITCodeLibrary, JITCPUCodegen
from numba.core.cpu import CPUContext
from numba.core.dispatcher import Dispatcher
from numba.core.registry import CPUTarget
from numba.core.target_extension import CPU, dispatcher_registry, jit_registry, target_registry

from . import processor

NAME = "noregret"


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
        if self.callable or self._shared_module is not None:
            super()._finalize_final_module()
        else:
            self._finalize_dynamic_globals()
            self._verify_declare_only_symbols()
            self._finalized = True

    def optimised(self, entry: str, function: str) -> Any:
        """Return the module of an entry to a function and all that it calls, optimised; only the entry can be seen outside."""
        module = self._final_module
        for library in dict.fromkeys(self._linking_libraries):
            module.link_in(library._get_module_for_linking(), preserve=True)
        module.get_function(function).add_function_attribute("noinline")  # what is inlined where decides the last bits
        super()._optimize_final_module()
        for f in module.functions:
            if not f.is_declaration and f.name != entry:
                f.linkage = "internal"
        for variable in module.global_variables:
            if variable.name.startswith("_ZN08NumbaEnv"):
                variable.linkage = "internal"
        module.verify()
        return module


def aim() -> tuple[str, str]:
    """Return LLVM's name of the processor to make code for, and its features."""
    level = processor.chosen()
    features = llvm.get_host_cpu_features().flatten() if level.features is None else level.features
    return level.cpu or llvm.get_host_cpu_name(), features


class Generator(JITCPUCodegen):
    """Machine code for the level."""

    _library_class = Library

    def _get_host_cpu_name(self) -> Any:
        return aim()[0]

    def _get_host_cpu_features(self) -> Any:
        return aim()[1]


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


class LevelDispatcher(Dispatcher):
    """A function that Numba compiles."""

    targetdescr = Target(NAME)


class Processors(CPU):
    """The processors of a level, in Numba's tree of targets: what is known for a CPU serves here too."""


def jit(*args: Any, **options: Any) -> Any:
    """Return numba's decorator for this target."""
    return numba_jit(*args, **{**options, "_target": NAME})


target_registry[NAME] = Processors
dispatcher_registry[Processors] = LevelDispatcher
jit_registry[Processors] = jit
