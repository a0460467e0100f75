"""Every command that a page shows runs; `prove_docs.py` runs those whose output is shown."""

from __future__ import annotations

import csv
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.problem import Problem
from tests import ROOT
from tests.cli import example_files
from tests.test_docs import PAGES, shown_commands
from workloads import load_layer

ELSEWHERE = {
    "tcp://HOST": "tests/campaign/prove_cluster.py",
    "examples/judges/": "tests/judges/prove_simulator_page.py",
    "calibrate judged": "tests/judges/prove_simulator_page.py",
    " annealing": "tests/searchers/test_third_party.py",
    " roofline": "tests/models/prove_third_party_model.py",
    "suite standing": "tests/suite/test_standing.py",
    "torchvision.models": "tests/workloads/prove_torchvision.py",
}
"""By a part of it, where a command runs that needs more than a folder."""
NOT_HERE = {"/path/to/maestro": "the MAESTRO program", "results/campaigns/": "days of computing"}
CAMPAIGN = """
name = "mine"
budget = 60
seeds = 3
objectives = ["edp"]
accelerators = ["edge"]
layers = ["mlp:1"]

[searchers.random]
[searchers.local]
"""
MODEL = """
import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.head = torch.nn.Embedding(100, 64), torch.nn.Linear(64, 8)

    def forward(self, ids):
        return self.head(self.embed(ids))

make = Model
"""


def commands(page: str) -> list[str]:
    """What a page has its reader run, but what is run elsewhere or needs what is not here."""
    lines = [line for line in shown_commands(page) if not line.startswith("$ ")]
    lines = [line.replace("--shard 1/3", f"--shard {shard}/3") for line in lines for shard in shards(line)]
    return [line for line in lines if not any(part in line for part in (*ELSEWHERE, *NOT_HERE))]


def shards(line: str) -> tuple[int, ...]:
    """Of a command for one machine of three, those for all."""
    return (1, 2, 3) if "--shard 1/3" in line else (1,)


SHOWN = [page for page in PAGES if (page == "README.md" or page.startswith("docs/")) and commands(page)]


def write_samples(path: Path) -> None:
    """Cycles and energies of mappings, for `dse calibrate`."""
    problem = Problem(load_layer("resnet18:1"), PRESETS["edge"])
    genes = problem.space.sample(np.random.default_rng(0), 20)
    costs = problem.price(genes)
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["layer", "mapping", "cycles", "energy_nj"])
        for row in np.flatnonzero(costs.cycles):
            mapping = problem.space.decode(genes)[row]
            rows.writerow(["resnet18:1", mapping.to_json(), costs.cycles[row], costs.energy_nj[row]])


def write_files(folder: Path) -> None:
    """What commands of pages name: files of their reader's own."""
    example_files.write_files(folder)
    write_samples(folder / "samples.csv")
    for name in ("examples", "experiments", "results"):
        (folder / name).symlink_to(ROOT / name)
    page = (ROOT / "docs" / "cost-models.md").read_text(encoding="utf-8")
    function, program = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (folder / "my_costs.py").write_text(function)
    (folder / "price.py").write_text(program)
    (folder / "mine.toml").write_text(CAMPAIGN)
    (folder / "my_models.py").write_text(MODEL)
    start = Problem(load_layer("vgg16:conv4_2"), PRESETS["edge"]).space
    (folder / "mine.json").write_text(start.decode(start.sample(np.random.default_rng(0), 1))[0].to_json())


@pytest.mark.parametrize("page", SHOWN)
def test_the_commands_of_a_page_run_one_after_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page: str
) -> None:
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:/usr/bin:/bin")
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}:{tmp_path}")
    write_files(tmp_path)
    failed = {}
    for line in commands(page):
        asked = re.sub(r"^dse ", f"{sys.executable} -m dse ", line)
        ran = subprocess.run(asked, shell=True, cwd=tmp_path, capture_output=True, text=True, check=False)
        if ran.returncode:
            failed[line] = ran.stderr[-400:]
    assert failed == {}
