"""Subroutines: functions that only kernels call. They are lowered to LLVM's IR, and compiled with the kernel.

Numba optimises every compiled function together with all that it calls, and emits machine code of it. So a
function six calls below a kernel is optimised six times and more, and emitted as often, for nothing: it is
linked into the kernel, which is optimised as a whole. A subroutine waits for that. It has no entry for
Python: called from there it raises TypeError.

This takes numba's documented door, a `pipeline_class`, and steps behind it: one lowering pass, one library.
Beside it, flags are hashed and compared at once. Numba does so at every operator of a function, and looks at
all options each time, which is a sixth of all compiling; its hash is of the options' names, the same for all.
"""

from __future__ import annotations

import ctypes
from typing import Any

from numba import _dynfunc
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, Flags
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.typed_passes import NativeLowering
from numba.core.types import Function

REFUSES = ctypes.cast(ctypes.pythonapi.PyObject_GetAttr, ctypes.c_void_p).value
"""What stands for an entry from Python: a C function of two objects that raises TypeError for a tuple."""


NAMES = hash(tuple(sorted(Flags.options)))


def same_flags(flags: Flags, other: object) -> Any:
    """Whether numba's flags are equal: those that are set mostly settle it."""
    if not isinstance(other, Flags):
        return NotImplemented
    return flags is other or flags._values == other._values or flags.values() == other.values()


Flags.__hash__ = lambda _: NAMES
Flags.__eq__ = same_flags

resolve = Function.get_call_type


def remembered(builtin: Any, context: Any, args: Any, kws: Any) -> Any:
    """What a call of one of numba's functions gives, by the types of its arguments: tried out once."""
    found = vars(builtin).setdefault("_resolved", {})
    asked = (args, tuple(kws.items()))
    if asked not in found:
        found[asked] = resolve(builtin, context, args, kws)
    return found[asked]


setattr(Function, "get_call_type", remembered)  # noqa: B010


class SubroutineLibrary(JITCodeLibrary):  # type: ignore[misc]
    """Code that waits for the kernel which it is linked into."""

    def _optimize_final_module(self) -> None:
        """Leave it to the kernel."""

    def _finalize_final_module(self) -> None:
        """Emit no machine code."""
        self._finalize_dynamic_globals()
        self._finalized = True


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


class SubroutineCompiler(Compiler):  # type: ignore[misc]
    """Numba's compiler with the lowering of subroutines."""

    def define_pipelines(self) -> list[PassManager]:
        """Numba's pipelines, one pass replaced."""
        found: list[PassManager] = super().define_pipelines()
        for pipeline in found:
            pipeline.passes = [
                (SubroutineLowering if each is NativeLowering else each, text)
                for each, text in pipeline.passes
            ]
        return found
