"""All layers on all machines of levels in other tools' files; run by `make prove`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.domains.levels.formats.levels_cases import FILES, MACHINES
from tests.domains.levels.formats.test_levels_files import LAYERS, assert_read_back_equal

pytest.importorskip("yaml")


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("machine", MACHINES)
def test_machine_layer_and_mapping_are_read_back_equal_with_their_price(
    machine: str, name: str, tmp_path: Path
) -> None:
    assert_read_back_equal(machine, name, LAYERS, tmp_path)
