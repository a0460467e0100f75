"""Subroutines: functions that only kernels call. They are lowered to LLVM's IR, and compiled with the kernel.

Numba optimises every compiled function together with all that it calls, and emits machine code of it. So a
function six calls below a kernel is optimised six times and more, and emitted as often, for nothing: it is
linked into the kernel, which is optimised as a whole. A subroutine waits for that, as it was lowered: each is
linked into a kernel once. It has no entry for Python: called from there it raises TypeError.

This takes numba's documented door, a `pipeline_class`, and steps behind it: one lowering pass, two libraries.
What `dse.support.numba_speed` remembers makes numba's own steps shorter.
"""

from __future__ import annotations

import ctypes
from typing import Any

from numba import _dynfunc
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.typed_passes import NativeLowering

from dse.support import numba_speed

REFUSES = ctypes.cast(ctypes.pythonapi.PyObject_GetAttr, ctypes.c_void_p).value
"""What stands for an entry from Python: a C function of two objects that raises TypeError for a tuple."""

numba_speed.install()


class SubroutineLibrary(JITCodeLibrary):  # type: ignore[misc]
    """Code that waits for the kernels which it is linked into."""

    def _optimize_functions(self, ll_module: Any) -> None:
        """Leave it to the kernel."""

    def finalize(self) -> None:
        """Link nothing in, and emit no machine code."""
        self._finalize_dynamic_globals()
        self._finalized = True

    def needed(self, found: dict[JITCodeLibrary, None]) -> None:
        """Add to `found` this library and all those that are called from it."""
        if self not in found:
            found[self] = None
            for library in self._linking_libraries:
                if isinstance(library, SubroutineLibrary):
                    library.needed(found)
                else:
                    found[library] = None


class KernelLibrary(JITCodeLibrary):  # type: ignore[misc]
    """A kernel's code, with that of all its subroutines."""

    _linking_libraries: list[JITCodeLibrary]

    def finalize(self) -> None:
        """Numba's, once what subroutines call is here too: numba links what the kernel itself calls."""
        found: dict[JITCodeLibrary, None] = {}
        for library in self._linking_libraries:
            if isinstance(library, SubroutineLibrary):
                library.needed(found)
            else:
                found[library] = None
        self._linking_libraries = list(found)
        super().finalize()


@register_pass(mutates_CFG=True, analysis_only=False)
class KernelLowering(NativeLowering):  # type: ignore[misc]
    """Numba's own lowering, into a library of a kernel."""

    _name = "kernel_lowering"

    def run_pass(self, state: Any) -> bool:
        """Lower the function; `state` is numba's of one compilation."""
        state.library = KernelLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return bool(super().run_pass(state))


@register_pass(mutates_CFG=True, analysis_only=False)
class SubroutineLowering(NativeLowering):  # type: ignore[misc]
    """Numba's own lowering, without wrappers for Python and C, into a library of a subroutine."""

    _name = "subroutine_lowering"

    def run_pass(self, state: Any) -> bool:
        """Lower the function; `state` is numba's of one compilation."""
        state.library = SubroutineLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        for flag in ("no_compile", "no_cpython_wrapper", "no_cfunc_wrapper"):
            setattr(state.flags, flag, True)
        super().run_pass(state)
        lowered = state["cr"]
        # Numba knows a function by its entry: each subroutine needs one of its own.
        name, module = state.func_id.func_qualname, lowered.fndesc.lookup_module()
        entry = _dynfunc.make_function(module, name, name, REFUSES, lowered.env, (state.library,))
        state.targetctx.insert_user_function(entry, lowered.fndesc, [state.library])
        state["cr"] = lowered._replace(cfunc=entry)
        return True


class OneLowering(Compiler):  # type: ignore[misc]
    """Numba's compiler with a lowering of ours."""

    lowering: type[NativeLowering]

    def define_pipelines(self) -> list[PassManager]:
        """Numba's pipelines, one pass replaced."""
        found: list[PassManager] = super().define_pipelines()
        for pipeline in found:
            pipeline.passes = [
                (self.lowering if each is NativeLowering else each, text) for each, text in pipeline.passes
            ]
        return found


class SubroutineCompiler(OneLowering):
    """Numba's compiler with the lowering of subroutines."""

    lowering = SubroutineLowering
