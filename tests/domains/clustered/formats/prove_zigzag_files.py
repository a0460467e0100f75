"""ZigZag runs the files of a hundred mappings and says what our models say, on machines of levels too."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.domains.clustered.formats.test_zigzag_files import price_files, run_levels
from tests.domains.levels.formats.levels_cases import MACHINES


@pytest.mark.parametrize(
    "name", ["resnet18:3", "resnet18:5", "mobilenet_v2:10", "mobilenet_v2:7", "bert_base:scores"]
)
def test_zigzag_prices_its_files_as_our_mapping(name: str, tmp_path: Path) -> None:
    price_files(name, 20, tmp_path)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("layer", ["resnet18:0", "resnet18:3", "mobilenet_v2:4", "bert_base:scores"])
def test_zigzag_runs_the_files_of_machines_of_levels_as_their_mappings(
    layer: str, machine: str, tmp_path: Path
) -> None:
    run_levels(layer, machine, 8, tmp_path)
