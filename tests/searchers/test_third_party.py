"""A searcher in somebody else's package is found, checked and run like ours."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dse.testing import candidate
from tests import ROOT, third_party
from tests.conftest import Dse
from tests.third_party import found, install

EXAMPLE = ROOT / "examples" / "third_party_searcher"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = install(EXAMPLE, tmp_path_factory.mktemp("third_party"))
    with found(folder):
        yield folder


@pytest.mark.usefixtures("installed")
def test_it_is_listed_with_its_package(dse: Dse) -> None:
    listed = dse("list", "searchers", "--json").json["searchers"]
    expected = {"name": "annealing", "object": "dse_annealing:Annealing", "package": "dse-annealing"}
    [entry] = [entry for entry in listed if entry["name"] == "annealing"]
    assert expected == {key: entry[key] for key in expected}
    assert entry["sentence"]
    assert "chains" in entry["settings"]
    assert "random" in [entry["name"] for entry in listed]


@pytest.mark.usefixtures("installed")
def test_it_keeps_the_contract(dse: Dse, monkeypatch: pytest.MonkeyPatch) -> None:
    # One process: each takes a second to start.
    monkeypatch.setattr(candidate, "FRESH", candidate.FRESH[1:])
    checked = dse("check", "annealing", "--samples", "200")
    assert "FAIL" not in checked.out
    assert checked.out.splitlines()[-1].startswith("annealing keeps all")


@pytest.mark.usefixtures("installed")
def test_its_settings_are_checked_like_ours(dse: Dse) -> None:
    for setting, message in (
        ("chain=3", "unknown key 'chain' in searcher 'annealing'; did you mean 'chains'?"),
        ("chains=0", "searcher 'annealing': chains must be at least 1, got 0"),
        ("chains=1000000000", "searcher 'annealing': chains must be at most 10000, got 1000000000"),
    ):
        assert dse("check", "annealing", "--set", setting).refused() == message


def test_it_is_gone_where_its_package_is_not_installed(tmp_path: Path) -> None:
    assert third_party.dse(tmp_path, "check", "annealing").returncode == 2
