"""Kernels are compiled by another process at the same time only where they are not on disk yet."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from dse.support import compilations
from dse.support.compilations import compile_beside, compiled_before


def kernel_in(folder: Path) -> SimpleNamespace:
    """What numba's kernels say of where they are kept."""
    kept = SimpleNamespace(cache_path=str(folder), _impl=SimpleNamespace(filename_base="k.price-1.py311"))
    return SimpleNamespace(_cache=kept)


def test_a_kernel_is_compiled_once_its_index_is_on_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(compilations.OPTIONS, "cache", True)
    assert not compiled_before(kernel_in(tmp_path))
    (tmp_path / "k.price-1.py311.nbi").touch()
    assert compiled_before(kernel_in(tmp_path))


def test_what_cannot_be_kept_is_not_compiled_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(compilations.OPTIONS, "cache", False)
    assert compiled_before(kernel_in(tmp_path))
    assert compiled_before(None)


def test_the_end_of_the_other_process_is_waited_for_however_it_ends(tmp_path: Path) -> None:
    source, copy = tmp_path / "source.json", tmp_path / "copy.json"
    source.write_text("[1]")
    compile_beside("json.tool", str(source), str(copy))()
    assert copy.read_text()
    compile_beside("no.such.module")()


def test_without_an_interpreter_nothing_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compilations.sys, "executable", "no/such/python")
    compile_beside("json.tool")()
