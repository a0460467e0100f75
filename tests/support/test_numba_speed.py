"""What makes numba's steps shorter says what numba itself says."""

from __future__ import annotations

import numpy as np
import pytest
from llvmlite import binding
from llvmlite import ir as llvm
from numba import njit
from numba.core import ir
from numba.core.compiler import Flags
from numba.core.event import Event, Listener, install_listener
from numba.core.registry import cpu_target

from dse.support import numba_speed
from dse.support.compiling import kernel, subroutine

I64 = llvm.IntType(64)


def test_flags_are_equal_as_numba_says():
    one, other, third = Flags(), Flags(), Flags()
    other.nrt, third.nrt = False, True
    assert one == other
    assert hash(one) == hash(other)
    assert one != third
    assert one != "flags"


def test_a_types_size_is_what_llvmlite_says():
    data = cpu_target.target_context.target_data
    for kind in (I64, llvm.ArrayType(I64, 7), llvm.LiteralStructType([llvm.IntType(8), I64])):
        assert kind.get_abi_size(data) == numba_speed.abi_size_of(kind, data)
        assert kind.get_abi_size(data) == numba_speed.abi_size_of(kind, data), "asked again"
    own = llvm.global_context.get_identified_type("dse.test.pair")
    own.set_body(I64, I64)
    assert own.get_abi_size(binding.create_target_data("e-i64:64")) == 16


def test_variables_are_found_in_lists_tuples_and_expressions():
    place = ir.Loc("file.py", 1)
    one, two = ir.Var(None, "one", place), ir.Var(None, "two", place)
    call = ir.Expr.call(one, [two, one], (("named", two),), place)
    assert [each.name for each in call.list_vars()] == ["one", "two", "one", "two"]
    assert {each.name for each in ir.Assign(call, two, place).list_vars()} == {"one", "two"}


def test_a_subroutine_that_calls_subroutines_is_linked_into_a_kernel_once():
    @subroutine
    def twice(number):
        return 2 * number

    @subroutine
    def four_times(number):
        return twice(twice(number))

    @kernel
    def eight_times(number):
        return twice(four_times(number))

    assert eight_times(5) == 40
    assert eight_times(0.5) == 4.0


def test_numba_compiles_as_ever_what_is_none_of_ours():
    assert njit(lambda values: max(values[0], values[1]))(np.array([3, 7])) == 7


def test_a_slice_of_another_shape_is_an_error_still():
    @kernel
    def fill(target, values):
        target[1:] = values

    target = np.zeros(3)
    fill(target, np.array([1.0, 2.0]))
    assert target.tolist() == [0.0, 1.0, 2.0]
    with pytest.raises(ValueError, match="cannot assign slice"):
        fill(target, np.ones(3))


def test_kernels_that_assign_slices_compile_no_operations_on_text():
    @njit
    def fill_row(rows, values):
        rows[0] = values

    compiled: list[str] = []

    class Names(Listener):
        def on_start(self, event: Event) -> None:
            compiled.append(event.data["dispatcher"].py_func.__module__)

        def on_end(self, event: Event) -> None:
            pass

    with install_listener("numba:compile", Names()):
        fill_row(np.zeros((2, 2)), np.ones(2))
    assert __name__ in compiled
    assert not any("unicode" in name for name in compiled)
