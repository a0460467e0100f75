"""The wheel and the source distribution: whole, and at work in an environment without this checkout."""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
import venv
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

import dse
from tests import ROOT

PACKAGES = ("dse", "searchers", "learners", "workloads")
BUILD = "import sys, setuptools.build_meta as backend; print(getattr(backend, sys.argv[1])(sys.argv[2]))"
CAMPAIGN = """
name = "small"
budget = 60
seeds = 2
cost_model = "loopnest"
objectives = ["edp"]
accelerators = ["edge"]
layers = ["vgg16:1"]

[searchers.random]
[searchers.local]
"""


@dataclass(frozen=True)
class Built:
    """What is handed to others: a source distribution, and the wheel that is built from nothing but it."""

    source: Path
    wheel: Path


def run(*command: object, cwd: Path, env: dict[str, str] | None = None) -> str:
    """The output of a command; where it fails, what it says."""
    done = subprocess.run([*map(str, command)], cwd=cwd, env=env, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def build(what: str, project: Path, out: Path) -> Path:
    return out / run(sys.executable, "-c", BUILD, what, out, cwd=project).splitlines()[-1]


def tracked(*folders: str) -> list[str]:
    """The files under version control."""
    return run("git", "ls-files", *folders, cwd=ROOT).splitlines()


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """Built from a copy of what is under version control: building leaves files in a project's folder."""
    folder = tmp_path_factory.mktemp("built")
    for name in tracked():
        if (ROOT / name).exists():
            there = folder / "checkout" / name
            there.parent.mkdir(parents=True, exist_ok=True)
            there.write_bytes((ROOT / name).read_bytes())
    source = build("build_sdist", folder / "checkout", folder)
    with tarfile.open(source) as archive:
        archive.extractall(folder / "unpacked", filter="data")
    (project,) = (folder / "unpacked").iterdir()
    return Built(source, build("build_wheel", project, folder))


@dataclass(frozen=True)
class Installed:
    """A new environment with one of the two, and an empty folder that its programs are run in."""

    programs: Path
    folder: Path

    def __call__(self, *command: object) -> str:
        """The output of one of its programs."""
        env = {"HOME": str(self.folder), "COLUMNS": "100"}
        return run(self.programs / str(command[0]), *command[1:], cwd=self.folder, env=env)


def install(what: Path, folder: Path) -> Installed:
    """Of libraries it has those of this environment, which are not fetched anew."""
    venv.create(folder / "environment", with_pip=True)
    (folder / "empty").mkdir()
    made = Installed(folder / "environment" / "bin", folder / "empty")
    # It may have come along, and is too old to build what is here.
    made("python", "-m", "pip", "uninstall", "--quiet", "--yes", "setuptools")
    inside = made("python", "-c", "import site; print(site.getsitepackages()[0])").strip()
    # Lines of a .pth file name folders; .pth files in those, as the one that leads to this checkout, are not
    # followed.
    libraries = [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]
    Path(inside, "libraries.pth").write_text("\n".join(libraries) + "\n")
    options = ("--quiet", "--no-index", "--no-deps", "--no-build-isolation", "--ignore-installed")
    made("python", "-m", "pip", "install", *options, what)
    return made


@pytest.fixture(scope="module")
def installed(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The wheel, installed."""
    return install(built.wheel, tmp_path_factory.mktemp("wheel"))


def test_the_wheel_has_every_file_of_its_packages_and_no_other(built: Built) -> None:
    with zipfile.ZipFile(built.wheel) as archive:
        found = {name for name in archive.namelist() if ".dist-info/" not in name}
        text = archive.read(f"dse_arena-{dse.__version__}.dist-info/METADATA").decode()
    assert found == set(tracked(*PACKAGES))
    assert f"Version: {dse.__version__}\n" in text
    assert "\n# DSE arena\n" in text


def test_the_source_distribution_has_what_one_reads_first(built: Built) -> None:
    with tarfile.open(built.source) as archive:
        found = {name.partition("/")[2] for name in archive.getnames()}
    assert {"README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md", "CITATION.cff"} <= found
    assert set(tracked("docs", "examples")) <= found


def test_what_is_installed_is_not_the_checkout(installed: Installed) -> None:
    code = f"import {', '.join(PACKAGES)}; print(*(each.__file__ for each in ({', '.join(PACKAGES)})))"
    files = installed("python", "-c", code).split()
    assert len(files) == len(PACKAGES)
    assert all(Path(file).is_relative_to(installed.programs.parent) for file in files)


def test_it_lists_what_comes_along(installed: Installed) -> None:
    assert installed("dse", "--version") == f"dse {dse.__version__}\n"
    kinds = json.loads(installed("dse", "list", "--json"))
    assert {"team", "random", "marl"} <= {row["name"] for row in kinds["searchers"]}
    assert {"maestro", "loopnest", "timeloop"} <= {row["name"] for row in kinds["cost-models"]}
    assert "quickstart" in {row["name"] for row in kinds["campaigns"]}


def test_it_searches(installed: Installed) -> None:
    asked = ("--layer", "vgg16:1", "--accelerator", "edge", "--budget", 100, "--json")
    # The weights of team are a file that is no code.
    for searcher in ("random", "team"):
        found = json.loads(installed("dse", "search", "--searcher", searcher, *asked))
        assert found["samples"] == 100
        assert found["best"]["loss"] > 0


def test_it_knows_machines_of_levels_by_name(installed: Installed) -> None:
    asked = ("--layer", "vgg16:1", "--accelerator", "eyeriss", "--cost-model", "timeloop")
    assert json.loads(installed("dse", "space", *asked, "--json"))["vectors"] > 1


def test_it_runs_a_campaign_and_reports_it(installed: Installed) -> None:
    (installed.folder / "small.toml").write_text(CAMPAIGN)
    installed("dse", "run", "small.toml", "--out", "ran")
    installed("dse", "report", "ran")
    page = (installed.folder / "ran" / "index.html").read_text(encoding="utf-8")
    assert "local" in page
    assert "<style" in page
    assert "<script" in page


def test_the_source_distribution_installs_as_well(
    built: Built, tmp_path_factory: pytest.TempPathFactory
) -> None:
    from_source = install(built.source, tmp_path_factory.mktemp("source"))
    asked = ("--layer", "vgg16:1", "--accelerator", "edge", "--searcher", "random", "--budget", 100)
    assert json.loads(from_source("dse", "search", *asked, "--json"))["samples"] == 100
