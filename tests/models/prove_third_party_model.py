"""A cost model in somebody else's package, found by a campaign's worker processes; run by `make prove`."""

from __future__ import annotations

from pathlib import Path

from tests import third_party
from tests.conftest import Dse
from tests.models.test_third_party_model import best, command, installed

__all__ = ["installed"]


def test_worker_processes_find_what_finds_the_same_in_this_one(
    installed: Path, tmp_path: Path, dse: Dse
) -> None:
    for name in ("workers", "here"):
        (tmp_path / name).mkdir()
    assert third_party.dse(installed, *command(tmp_path / "workers")).returncode == 0
    assert dse(*command(tmp_path / "here")).code == 0
    assert best(tmp_path / "workers") == best(tmp_path / "here")
