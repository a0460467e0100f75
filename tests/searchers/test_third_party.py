"""A searcher in somebody else's package is found, checked and run like ours."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests import ROOT

EXAMPLE = ROOT / "examples" / "third_party_searcher"
CLI = "import sys; from dse.cli import main; sys.exit(main())"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the example has been installed into, without a network."""
    folder = tmp_path_factory.mktemp("third_party")
    # A copy, because building leaves files beside the sources.
    source = shutil.copytree(EXAMPLE, folder / "source")
    target = folder / "target"
    options = ["--quiet", "--no-index", "--no-deps", "--no-build-isolation", "--target", str(target)]
    run([sys.executable, "-m", "pip", "install", "--disable-pip-version-check", *options, str(source)])
    return target


def dse(installed: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run([sys.executable, "-c", CLI, *arguments], PYTHONPATH=str(installed))


def run(command: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
    ended = subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True, check=False, timeout=300
    )
    assert ended.returncode in (0, 2), ended
    return ended


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
