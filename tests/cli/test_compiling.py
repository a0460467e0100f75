"""What commands say while kernels are compiled."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from numba import njit

from dse.cli import waiting_view
from dse.cli.waiting_view import Compiling, compiling_said
from dse.support import jit
from dse.support.compiling import as_kernel, kernel, subroutine


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """The seconds that pass, which a test sets."""
    now = [0.0]
    monkeypatch.setattr(waiting_view.time, "perf_counter", lambda: now[0])
    return now


def test_what_takes_long_is_said_before_its_end_and_counted(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    compiling = Compiling()
    compiling.start(None)
    for second in (0.6, 5.0, 11.0):
        compiling.start(None)
        clock[0] = second
        compiling.end(None)
    assert capsys.readouterr().err.splitlines() == [
        "dse: compiling kernels, once after an installation",
        "dse: compiling kernels: 3 functions in 11 s",
    ]
    compiling.end(None)
    compiling.finish()
    assert capsys.readouterr().err == "dse: kernels were compiled, once after an installation: 11 s\n"


def test_what_takes_no_time_is_not_said(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    compiling = Compiling()
    compiling.start(None)
    clock[0] = 0.1
    compiling.end(None)
    compiling.finish()
    assert capsys.readouterr().err == ""


def test_numba_tells_from_the_first_kernels_on_and_until_the_command_ends(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(waiting_view, "WORTH_SAYING", 0.0)
    with compiling_said():
        for watch in list(jit.watchers):
            watch()
        # No kernel, which would be on disk the next time.
        njit(lambda number: number + 1)(1)
    said = capsys.readouterr().err.splitlines()
    assert said[0].endswith("compiling kernels, once after an installation")
    assert len(said) == 2
    njit(lambda number: number + 2)(1)
    assert capsys.readouterr().err == ""
    assert not jit.watchers


def test_a_subroutine_is_compiled_into_kernels_and_has_no_entry_for_python() -> None:
    @subroutine
    def twice(values: np.ndarray, place: int) -> int:
        return int(2 * values[place])

    total = kernel(lambda values: twice(values, 0) + twice(values, 1))
    assert total(np.array([3, 4])) == 14
    with pytest.raises(TypeError):
        twice(np.array([3, 4]), 0)
    assert as_kernel(twice)(np.array([3, 4]), 1) == 8
