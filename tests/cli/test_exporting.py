"""What `dse certify` and `dse search` write for other tools, and what they refuse to before they begin."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Dse

MIXED = ("--layer", "llama3-8b@decode=1,w=4,i=8,o=32:q_proj", "--accelerator", "edge")
LANES = ("--layer", "vgg16:conv1_1", "--accelerator", "wide.toml")
LEVELS = ("--layer", "vgg16:conv1_1", "--accelerator", "gemmini", "--cost-model", "timeloop")
WIDE = """
num_pes = 64
l1_size = 256
l2_size = 65536
noc_bandwidth = 16
offchip_bandwidth = 4
simd_lanes = 4
"""


@pytest.mark.parametrize("command", [("certify",), ("search", "--searcher", "random", "--budget", "10")])
@pytest.mark.parametrize(
    ("asked", "format", "why"),
    [
        (MIXED, "zigzag", "has words of one width, not W 4, I 8, O 32 bits"),
        (LANES, "timeloop", "a PE has one MAC there, got simd_lanes = 4"),
        (LEVELS, "maestro", "is of two levels; a mapping onto a machine has json, nest, timeloop, zigzag"),
    ],
)
def test_what_a_format_cannot_say_of_any_mapping_is_refused_before_one_is_looked_for(
    dse: Dse,
    command: tuple[str, ...],
    asked: tuple[str, ...],
    format: str,
    why: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("wide.toml").write_text(WIDE)
    assert why in dse(*command, *asked, "--format", format, "--out", "out").refused()
    assert not Path("out").exists()


def test_a_mapping_of_opened_hardware_is_written_for_the_machine_that_it_is_best_on(
    dse: Dse, tmp_path: Path
) -> None:
    asked = ("--layer", "vgg16:conv1_1", "--accelerator", "edge")
    opened = ("--hardware", "l1_size=64", "--searcher", "random", "--budget", "50", "--start", "templates")
    out = tmp_path / "out"
    assert dse("search", *asked, *opened, "--format", "timeloop", "--out", str(out)).code == 0
    assert "depth: 64," in (out / "timeloop-arch.yaml").read_text()
