"""A package's compiled kernels are forgotten when one of its sources is newer."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from dse.support.jit import can_cache, drop_stale
from tests import ROOT

LATER = 4_000_000_000


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package of two sources that changed at second 100 from a time after any of ours."""
    (tmp_path / "__pycache__").mkdir()
    for name in ("kernel.py", "walk.py"):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (LATER + 100, LATER + 100))
    return tmp_path


def compiled_at(package: Path, second: int) -> Path:
    """An index of compiled kernels, made at that second."""
    index = package / "__pycache__" / f"kernel-{second}.nbi"
    index.touch()
    os.utime(index, (LATER + second, LATER + second))
    return index


def test_kernels_older_than_any_source_are_forgotten_and_newer_ones_kept(package: Path) -> None:
    old, new = compiled_at(package, 99), compiled_at(package, 101)
    drop_stale(package)
    assert not old.exists()
    assert new.exists()


def test_an_index_that_another_process_has_just_removed_is_no_error(package: Path) -> None:
    """A link to nothing is listed by the folder and cannot be read, as a file removed since it was listed."""
    old = compiled_at(package, 99)
    (old.parent / "kernel-gone.nbi").symlink_to(old.parent / "gone")
    drop_stale(package)
    assert not old.exists()


def test_without_a_place_for_compiled_kernels_none_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert can_cache(tmp_path)
    # What cannot be a folder cannot be written either, whoever asks.
    nowhere = tmp_path / "file"
    nowhere.touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(nowhere))
    assert can_cache(tmp_path)
    assert not can_cache(nowhere)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "new"))
    assert can_cache(nowhere)


def test_no_kernel_takes_a_record_of_an_array_that_it_does_not_name() -> None:
    # Such a record is a pointer: numba frees the array at once, and another thread may be given its memory.
    unnamed = re.compile(r"\bnp\.(empty|zeros)\([^()]*\)\[")
    sources = [path for package in ("dse", "searchers") for path in (ROOT / package).rglob("*.py")]
    kernels = [path for path in sources if "dse.support.compiling" in path.read_text()]
    assert kernels
    assert not [path for path in kernels if unnamed.search(path.read_text())]
