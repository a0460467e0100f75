"""Many more mutated folders of campaigns; run by `make prove`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.test_mutated_input import KINDS, home, judge_mutated_folders
from tests.conftest import Dse

__all__ = ["home"]


@pytest.mark.parametrize("kind", KINDS)
def test_mutated_folders(home: Path, dse: Dse, kind: str) -> None:
    judge_mutated_folders(home, dse, kind, 40)
