"""A campaign file is read strictly: what is wrong is said in one line, with the place."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse.campaign.config import Campaign, load_campaign
from dse.cli.commands.run import find_layers
from dse.errors import InputError

GOOD = """
name = "small"
budget = 100
seeds = 2
cost_model = "maestro"
objectives = ["latency", "edp"]
accelerators = ["edge", "eyeriss"]
layers = ["alexnet:conv2", "resnet18:3"]
[searchers.random]
[searchers.slow-walk]
type = "walk"
walkers = 2
"""


def read(tmp_path: Path, text: str) -> Campaign:
    path = tmp_path / "campaign.toml"
    path.write_text(text)
    return load_campaign(str(path), find_layers)


def test_cells_are_problems_times_searchers_times_seeds(tmp_path: Path) -> None:
    campaign = read(tmp_path, GOOD)
    cells = list(campaign.cells())
    assert len(cells) == 2 * 2 * 2 * 2 * 2
    assert len({named.key for named in cells}) == len(cells)
    assert len({named.cell.fingerprint for named in cells}) == len(cells)
    assert campaign.variants[1].searcher.walkers == 2


def test_a_network_stands_for_all_its_distinct_layers(tmp_path: Path) -> None:
    campaign = read(tmp_path, GOOD.replace('"alexnet:conv2", "resnet18:3"', '"alexnet"'))
    assert len({problem.layer for problem in campaign.problems}) == 8


def test_a_problem_list_names_each_problem(tmp_path: Path) -> None:
    lists = GOOD[GOOD.index("objectives") : GOOD.index("[searchers.random]")]
    problems = '[[problems]]\nlayer = "alexnet:conv2"\naccelerator = "edge"\nobjective = "edp"\n'
    campaign = read(tmp_path, GOOD.replace(lists, "") + problems)
    assert [problem.label for problem in campaign.problems] == ["alexnet:conv2 on edge, edp"]


def test_adding_a_searcher_changes_no_other_cell(tmp_path: Path) -> None:
    before = {named.key: named.cell.fingerprint for named in read(tmp_path, GOOD).cells()}
    after = {
        named.key: named.cell.fingerprint for named in read(tmp_path, GOOD + "[searchers.grid]\n").cells()
    }
    assert before.items() < after.items()


def test_files_are_found_beside_the_campaign_file(tmp_path: Path) -> None:
    network = '[[layers]]\nname = "one"\ntype = "GEMM"\nM = 8\nN = 16\nK = 32\n'
    (tmp_path / "net.toml").write_text('name = "net"\n' + network)
    campaign = read(tmp_path, GOOD.replace('"resnet18:3"', '"net.toml"'))
    assert any(problem.problem.layer.C == 32 for problem in campaign.problems)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("budget = 100", "budgte = 100", "unknown key 'budgte' .*did you mean 'budget'"),
        ("budget = 100", "", "lacks 'budget'"),
        ("budget = 100", "budget = 0", "budget must be at least 1, got 0"),
        ("budget = 100", "budget = nan", "budget must be a whole number"),
        ("seeds = 2", "seeds = 1.5", "seeds must be a whole number"),
        ('name = "small"', 'name = "../up"', "name must be letters"),
        ('"maestro"', '"maestor"', "unknown cost_model 'maestor'.*did you mean 'maestro'"),
        ('"latency"', '"latnecy"', "unknown objective 'latnecy'.*did you mean 'latency'"),
        ('"edge"', '"egde"', "unknown accelerator 'egde'"),
        ('"resnet18:3"', '"resnet18:99"', "resnet18:99"),
        ('"resnet18:3"', "7", "layers must be text, got 7"),
        ("[searchers.random]", "[searchers.rnadom]", "unknown searcher 'rnadom'.*did you mean 'random'"),
        (
            "walkers = 2",
            "wakers = 2",
            r"unknown key 'wakers' in \[searchers.slow-walk\].*did you mean 'walkers'",
        ),
        ("walkers = 2", 'walkers = "two"', "walkers must be"),
        ("seeds = 2", "seeds = 2\n[[problems]]\n", "both 'problems' and"),
        ("seeds = 2", "seeds = ", "is not TOML"),
    ],
)
def test_a_mistake_is_named_with_its_place(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in GOOD
    if "[[problems]]" in new:
        text = GOOD.replace("[searchers.random]", "[[problems]]\n[searchers.random]")
    else:
        text = GOOD.replace(old, new, 1)
    with pytest.raises(InputError, match=message) as error:
        read(tmp_path, text)
    assert "\n" not in str(error.value)
    assert "campaign.toml" in str(error.value)


def test_a_campaign_without_searchers_is_refused(tmp_path: Path) -> None:
    text = GOOD[: GOOD.index("[searchers.random]")] + "[searchers]\n"
    with pytest.raises(InputError, match="has no searchers"):
        read(tmp_path, text)
