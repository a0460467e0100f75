"""A searcher in somebody else's package is found, checked and run like ours."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests import ROOT
from tests.third_party import dse, install

EXAMPLE = ROOT / "examples" / "third_party_searcher"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install(EXAMPLE, tmp_path_factory.mktemp("third_party"))


def test_it_is_listed_with_its_package(installed: Path) -> None:
    listed = json.loads(dse(installed, "list", "searchers", "--json").stdout)["searchers"]
    expected = {"name": "annealing", "object": "dse_annealing:Annealing", "package": "dse-annealing"}
    [entry] = [entry for entry in listed if entry["name"] == "annealing"]
    assert expected == {key: entry[key] for key in expected}
    assert entry["sentence"]
    assert "chains" in entry["settings"]
    assert "random" in [entry["name"] for entry in listed]


def test_it_keeps_the_contract(installed: Path) -> None:
    checked = dse(installed, "check", "annealing")
    assert "FAIL" not in checked.stdout
    assert checked.stdout.splitlines()[-1].startswith("annealing keeps all")


def test_its_settings_are_checked_like_ours(installed: Path) -> None:
    for setting, message in (
        ("chain=3", "unknown key 'chain' in searcher 'annealing'; did you mean 'chains'?"),
        ("chains=0", "searcher 'annealing': chains must be at least 1, got 0"),
        ("chains=1000000000", "searcher 'annealing': chains must be at most 10000, got 1000000000"),
    ):
        refused = dse(installed, "check", "annealing", "--set", setting)
        assert (refused.returncode, refused.stdout, refused.stderr) == (2, "", f"dse: error: {message}\n")


def test_it_is_gone_where_its_package_is_not_installed(tmp_path: Path) -> None:
    assert dse(tmp_path, "check", "annealing").returncode == 2
