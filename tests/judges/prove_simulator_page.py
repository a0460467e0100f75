"""The commands of the page "Your simulator" run, in the order in which they stand there."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from dse.domains.clustered.accelerator import load_accelerator
from tests import ROOT
from tests.judges.cases import needs
from workloads import load_layer

PAGE = (ROOT / "docs" / "simulator.md").read_text(encoding="utf-8")
COMMANDS = [
    line for block in re.findall(r"```\n(.*?)```", PAGE, flags=re.DOTALL) for line in block.splitlines()
]
MOST_WORDS = 700
"""Beside commands."""


def test_the_page_is_short() -> None:
    assert len(re.sub(r"```.*?```", "", PAGE, flags=re.DOTALL).split()) <= MOST_WORDS


def test_its_commands_run(tmp_path: Path) -> None:
    needs("gcc", "valgrind")
    for name in ("examples", "workloads"):
        (tmp_path / name).symlink_to(ROOT / name)
    shell = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "XDG_CACHE_HOME": str(tmp_path),
    }
    said = []
    for command in COMMANDS:
        # A campaign of all problems takes an hour.
        asked = command if "dse run" not in command else f"{command} --help"
        asked = re.sub(r"^dse ", f"{sys.executable} -m dse ", asked)
        done = subprocess.run(asked, shell=True, cwd=tmp_path, env=shell, capture_output=True, text=True)
        assert done.returncode == 0, f"{command}: {done.stderr[-400:]}"
        said.append(done.stdout)
    assert len(said) == 10
    assert "best latency" in said[0]
    case = json.loads(said[2])
    assert (case["layer"]["stride"], case["layer"]["padding"]) == ([1, 1], [1, 1])
    answer = json.loads(said[3])
    best = json.loads((tmp_path / "judged" / "result.json").read_text())
    assert answer["cycles"] == best["best"]["cycles"]
    assert answer["counters"]["instructions"] > 0
    measured = json.loads((tmp_path / "measured" / "result.json").read_text())
    assert measured["best"]["mapping"] == json.loads((tmp_path / "proven" / "mapping.json").read_text())


@pytest.mark.parametrize("name", ["rtl", "cpu", "scalesim"])
def test_the_problems_of_a_judge_are_what_its_campaign_says(name: str) -> None:
    folder = ROOT / "examples" / "judges" / name
    problems = tomllib.loads((folder / "campaign.toml").read_text(encoding="utf-8"))["problems"]
    assert len({problem["layer"] for problem in problems}) == 8
    for problem in problems:
        assert load_layer(str(folder / problem["layer"])).macs > 100_000
        assert load_accelerator(str(folder / problem["accelerator"])).num_pes >= 1
