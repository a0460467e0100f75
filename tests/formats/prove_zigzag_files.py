"""ZigZag runs the files of a hundred mappings, and says what the cost model `zigzag` says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.formats.test_zigzag_files import price_files


@pytest.mark.parametrize(
    "name", ["resnet18:3", "resnet18:5", "mobilenet_v2:10", "mobilenet_v2:7", "bert_base:scores"]
)
def test_zigzag_prices_its_files_as_our_mapping(name: str, tmp_path: Path) -> None:
    price_files(name, 20, tmp_path)
