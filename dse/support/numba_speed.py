"""What makes numba's own steps shorter: it looks at the same things again and again while it compiles.

Nothing that is compiled changes, but for the words of one error. Each step is numba's, asked once where it
asks many times; `install` puts them in numba's place. They are behind its documented doors: tests hold them
to what numba itself says.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir as llvm
from numba.core import ir
from numba.core.compiler import Flags
from numba.core.types import Function
from numba.core.typing.templates import builtin_registry
from numba.np import arrayobj

NAMES = hash(tuple(sorted(Flags.options)))
"""Numba's hash of flags is of the options' names, the same for all."""

resolve = Function.get_call_type
abi_size_of = llvm.Type.get_abi_size


def same_flags(flags: Flags, other: object) -> Any:
    """Whether numba's flags are equal: those that are set mostly settle it.

    Numba compares all options, at every operator of a function: a sixth of all compiling.
    """
    if not isinstance(other, Flags):
        return NotImplemented
    return flags is other or flags._values == other._values or flags.values() == other.values()


def resolved_once(builtin: Any, context: Any, args: Any, kws: Any) -> Any:
    """What a call of one of numba's functions gives, by the types of its arguments: tried out once."""
    found = vars(builtin).setdefault("_resolved", {})
    asked = (args, tuple(kws.items()))
    if asked not in found:
        found[asked] = resolve(builtin, context, args, kws)
    return found[asked]


def listed_variables(value: Any) -> list[ir.Var]:
    """The variables in what an instruction holds: most of that are names, places and constants."""
    kind = type(value)
    if kind is ir.Var:
        return [value]
    if kind in (list, tuple):
        return [variable for each in value for variable in listed_variables(each)]
    if kind is dict:
        return [variable for each in value.values() for variable in listed_variables(each)]
    if isinstance(value, ir.Inst):
        found: list[ir.Var] = value.list_vars()
        return found
    return []


SIZES: dict[tuple[str, str], int] = {}


def size_once(kind: Any, target_data: Any, context: Any = None) -> int:
    """Bytes of one of LLVM's types: llvmlite has a whole module parsed for each answer."""
    asked = (str(kind), str(target_data))
    if context is not None or isinstance(kind, llvm.IdentifiedStructType):
        return int(abi_size_of(kind, target_data, context))
    if asked not in SIZES:
        SIZES[asked] = int(abi_size_of(kind, target_data))
    return SIZES[asked]


def say_no_shapes() -> None:
    """An array that is assigned to a slice of another shape raises an error that does not name the shapes.

    On CPUs numba has text joined for that, in each kernel anew: 30 functions, a second. Others have this one.
    """
    for template in builtin_registry.functions:
        if getattr(template, "_overload_func", None) is arrayobj.ol_raise_with_shape_context_cpu:
            template._overload_func = staticmethod(arrayobj.ol_raise_with_shape_context_generic)


def install() -> None:
    """Put these in the place of numba's own."""
    say_no_shapes()
    for owner, name, step in (
        (Flags, "__hash__", lambda _: NAMES),
        (Flags, "__eq__", same_flags),
        (Function, "get_call_type", resolved_once),
        (ir.Inst, "_rec_list_vars", lambda _, value: listed_variables(value)),
        (llvm.Type, "get_abi_size", size_once),
    ):
        setattr(owner, name, step)
