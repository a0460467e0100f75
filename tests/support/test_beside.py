"""Kernels are compiled by another process at the same time only where they are not on disk yet."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from dse.support import beside
from dse.support.beside import compile_beside, compiled_before


def kernel_in(folder: Path) -> SimpleNamespace:
    """What numba's kernels say of where they are kept."""
    kept = SimpleNamespace(cache_path=str(folder), _impl=SimpleNamespace(filename_base="k.price-1.py311"))
    return SimpleNamespace(_cache=kept)


def test_a_kernel_is_compiled_once_its_index_is_on_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(beside.OPTIONS, "cache", True)
    assert not compiled_before(kernel_in(tmp_path))
    (tmp_path / "k.price-1.py311.nbi").touch()
    assert compiled_before(kernel_in(tmp_path))


def test_what_cannot_be_kept_is_not_compiled_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(beside.OPTIONS, "cache", False)
    assert compiled_before(kernel_in(tmp_path))
    assert compiled_before(None)


def test_a_module_that_fails_or_an_interpreter_that_is_not_there_is_waited_for_in_vain(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert compile_beside("no.such.module")() >= 0.0
    monkeypatch.setattr(beside.sys, "executable", "no/such/python")
    assert compile_beside("json.tool")() == 0.0
