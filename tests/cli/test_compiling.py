"""What commands say while kernels are compiled."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from numba import njit
from numba.core import config as numba_config

from dse.cli import waiting_view
from dse.cli.waiting_view import CompilingView, compiling_said
from dse.support import compilations, jit
from dse.support.compilations import count_functions
from dse.support.compiling import as_kernel, kernel, subroutine


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that pass, which a test sets."""
    now = [0.0]
    told = SimpleNamespace(monotonic=lambda: now[0], perf_counter=lambda: now[0])
    for module in (waiting_view, compilations):
        monkeypatch.setattr(module, "time", told)
    return now


class Followed(CompilingView):
    """A view that looks only when it is told to."""

    def _tick(self) -> None:
        self.ended.wait()


def compiled(function: str = "price") -> SimpleNamespace:
    """Numba's event of a function's compilation."""
    code = SimpleNamespace(__globals__={}, __code__=SimpleNamespace(co_names=()), __name__=function)
    return SimpleNamespace(data={"dispatcher": SimpleNamespace(py_func=code)})


def follow(fresh: bool) -> tuple[Followed, compilations.Compilations]:
    view = Followed()
    view.watch(fresh)
    assert view.followed is not None
    return view, view.followed


def test_what_takes_long_is_said_before_its_end_and_counted(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    view, numba = follow(fresh=False)
    numba.on_start(compiled())
    for second in (0.6, 5.0, 11.0):
        numba.on_start(compiled("inner"))
        clock[0] = second
        view.look()
        numba.on_end(compiled("inner"))
    numba.on_end(compiled())
    view.finish()
    assert capsys.readouterr().err.splitlines() == [
        "dse: compiling kernels that were not needed before; they are kept",
        "dse: compiling kernels: 2 of 4 functions in 11 s, now price",
        "dse: kernels were compiled, and are kept: 11 s",
    ]


def test_kernels_of_which_none_is_on_disk_are_said_before_all_else(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    view, _ = follow(fresh=True)
    assert capsys.readouterr().err == "dse: compiling kernels that were not needed before; they are kept\n"
    view.finish()
    assert capsys.readouterr().err == ""


def test_waiting_for_another_process_that_compiles_counts(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    seconds: list[float] = []
    view, numba = follow(fresh=False)
    with compilations.tell_of_compiling(seconds.append), compilations.compiled_elsewhere():
        clock[0] = 12.0
        view.look()
    view.finish()
    assert seconds == [12.0]
    assert (numba.seconds, numba.done) == (12.0, 0)


def test_what_takes_no_time_is_not_said(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    view, numba = follow(fresh=False)
    numba.on_start(compiled())
    clock[0] = 0.1
    view.look()
    numba.on_end(compiled())
    view.finish()
    assert capsys.readouterr().err == ""


def test_numba_tells_from_the_first_kernels_on_and_until_the_command_ends() -> None:
    view, numba = follow(fresh=False)
    # No kernel, which would be on disk the next time.
    njit(lambda number: number + 1)(1)
    assert (numba.done, numba.functions) == (1, 1)
    view.finish()
    njit(lambda number: number + 2)(1)
    assert numba.done == 1


def test_a_command_follows_what_is_loaded_within_it_only() -> None:
    with compiling_said():
        assert jit.watchers
    assert not jit.watchers


def test_a_kernels_functions_are_counted_with_those_that_they_call() -> None:
    from dse.models.loopnest.bound.kernel import bound_boxes

    assert count_functions(bound_boxes) > 50
    assert count_functions(None) == 0


def test_packages_have_compiled_kernels_where_numba_keeps_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(jit.OPTIONS, "cache", True)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "told"))
    source = tmp_path / "package" / "kernel.py"
    source.parent.mkdir()
    source.write_text("from numba import njit\ntwice = njit(lambda number: 2 * number, cache=True)\n")
    assert not jit.compiled_before(source.parent)
    monkeypatch.setattr(numba_config, "CACHE_DIR", str(tmp_path / "told"))
    monkeypatch.syspath_prepend(str(tmp_path))
    assert importlib.import_module("package.kernel").twice(2) == 4
    assert jit.compiled_before(source.parent)


def test_a_subroutine_is_compiled_into_kernels_and_has_no_entry_for_python() -> None:
    @subroutine
    def twice(values: np.ndarray, place: int) -> int:
        return int(2 * values[place])

    total = kernel(lambda values: twice(values, 0) + twice(values, 1))
    assert total(np.array([3, 4])) == 14
    with pytest.raises(TypeError):
        twice(np.array([3, 4]), 0)
    assert as_kernel(twice)(np.array([3, 4]), 1) == 8
