"""The models that ask programs and libraries keep the contract of cost models."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse.testing import broken, check_cost_model
from tests.models import outside_models as outside


def test_a_program_keeps_the_contract(tmp_path: Path) -> None:
    run = outside.line_program(tmp_path / "price.py")
    assert not broken(check_cost_model(f'command(run="{run}", processes=2)', mappings=40))


def test_zigzag_keeps_the_contract() -> None:
    pytest.importorskip("zigzag")
    assert not broken(check_cost_model("zigzag", mappings=6))
