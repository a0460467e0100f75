"""A searcher by the name of its file: searched with and checked as an installed one, without a package."""

from __future__ import annotations

import json
import pickle
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.problem import Problem
from dse.search.api import named_cell
from dse.search.record import read_parquet
from dse.search.searcher import make_searcher
from dse.support.errors import InputError
from dse.support.hashing import plain_data
from tests.conftest import Dse
from workloads import load_layer

PROBLEM = Problem(load_layer("resnet18:1"), PRESETS["edge"], "edp", "maestro")
SEARCHER = """
from dataclasses import dataclass

@dataclass(frozen=True)
class Drawn:
    at_once: int = 4

    def search(self, evaluate, rng):
        while True:
            evaluate(evaluate.space.sample(rng, self.at_once))

class Plain:
    pass
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A file of a searcher; afterwards nobody finds it any more."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    found = tmp_path / "drawn_points.py"
    found.write_text(SEARCHER)
    yield found
    sys.modules.pop(found.stem, None)


def test_a_searcher_of_a_file_searches_with_its_settings_and_other_processes_find_it(
    file: Path, dse: Dse
) -> None:
    asked = ("search", "--layer", "resnet18:1", "--accelerator", "edge", "--searcher", f"{file}:Drawn")
    found = json.loads(dse(*asked, "--set", "at_once=7", "--budget", "20", "--json").out)
    assert (found["searcher"], found["samples"]) == ("drawn_points.py:Drawn", 20)
    made = make_searcher(f"{file}:Drawn", {"at_once": 7})
    assert pickle.loads(pickle.dumps(made)) == made


def test_the_record_is_of_the_files_text_and_not_of_where_it_lies(file: Path) -> None:
    def versions() -> dict[str, str]:
        cell = named_cell(PROBLEM, f"{file}:Drawn", None, 0, 20)
        assert str(file.parent) not in cell.identity_text
        return dict(cell.identity["versions"])

    before = versions()
    file.write_text(SEARCHER + "# another one\n")
    changed = {name for name, version in versions().items() if before[name] != version}
    assert changed == {"searcher drawn_points.py:Drawn"}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("{file}", "expected FILE.py:CLASS, as ./climb.py:Climb"),
        ("{file}:Other", "there is no 'Other' in"),
        ("{file}:Plain", "must be a frozen dataclass with a method search(evaluate, rng)"),
        ("{file}x.py:Drawn", "there is no file"),
        ("{folder}/json.py:Drawn", "Python has another module 'json': rename the file"),
        ("{folder}/broken_points.py:Drawn", "cannot be loaded: ZeroDivisionError"),
    ],
)
def test_a_name_that_gives_no_searcher_is_refused_in_a_line(file: Path, name: str, message: str) -> None:
    (file.parent / "json.py").write_text(SEARCHER)
    (file.parent / "broken_points.py").write_text("1 / 0")
    with pytest.raises(InputError) as caught:
        make_searcher(name.format(file=file, folder=file.parent))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_campaign_takes_a_searcher_of_a_file_beside_it_and_goes_on_while_the_file_is_the_same(
    file: Path, dse: Dse, tmp_path: Path
) -> None:
    campaign, out = tmp_path / "campaign.toml", tmp_path / "out"
    campaign.write_text(
        'name = "own"\nbudget = 20\nseeds = 1\nobjectives = ["edp"]\nlayers = ["resnet18:1"]\n'
        f'accelerators = ["edge"]\ncost_model = "maestro"\n[searchers.mine]\ntype = "./{file.name}:Drawn"\n'
    )
    asked = ("run", str(campaign), "--out", str(out), "--tables-only")
    assert dse(*asked).code == 0
    (record,) = (out / "cells").iterdir()
    cell = named_cell(PROBLEM, f"{file}:Drawn", None, 0, 20)
    assert read_parquet(record)[1]["identity"] == plain_data(cell.identity)
    assert "1 of them are done already" in dse(*asked).err
    file.write_text(SEARCHER + "# another one\n")
    assert "searcher drawn_points.py:Drawn source" in dse(*asked).refused()


def test_each_layer_of_a_network_is_searched_by_a_searcher_of_a_file(file: Path, dse: Dse) -> None:
    asked = ("--network", "examples/network.toml", "--accelerator", "edge", "--searcher", f"{file}:Drawn")
    found = dse("search", *asked, "--budget", "20", "--workers", "1", "--json").json
    assert {layer["samples"] for layer in found["layers"]} == {20}
