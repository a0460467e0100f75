"""Every odd value of every key of our own files; run by `make prove`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.test_strict_files import KINDS, folder, judge_odd_values

__all__ = ["folder"]


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_value_of_a_key_is_said_in_one_line(folder: Path, kind: str) -> None:
    judge_odd_values(kind, 1)
