"""Code of others that calls `sys.exit(0)`: no command ends by it as if all were done."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from dse.core import cost_models as registry
from tests.conftest import Dse

PLUGINS = """
import sys
from dataclasses import dataclass
from dse.domains.clustered.cost_model import CostModel


@dataclass(frozen=True)
class Leaves:
    def search(self, evaluate, rng):
        evaluate(evaluate.space.sample(rng, 3))
        sys.exit(0)


@dataclass(frozen=True)
class NeverBegins:
    def __post_init__(self):
        sys.exit(0)

    def search(self, evaluate, rng): ...


class Closed(CostModel):
    name = "closed"

    def evaluate(self, layer, accelerator, mappings, *, threads=1):
        sys.exit(0)


def executor(workers, address, needed):
    sys.exit(0)
"""
ENTRIES = """
[dse.searchers]
leaves = plugins_that_exit:Leaves
never-begins = plugins_that_exit:NeverBegins
gone = module_that_exits:Gone

[dse.cost_models]
closed = plugins_that_exit:Closed
gone = module_that_exits:Gone

[dse.executors]
closed = plugins_that_exit:executor
gone = module_that_exits:executor
"""
CAMPAIGN = """
name = "mine"
budget = 5
seeds = 1
layers = ["resnet18:0"]
accelerators = ["edge"]
objectives = ["edp"]
[searchers.{searcher}]
"""
SEARCH = ("search", "--layer", "resnet18:0", "--accelerator", "edge", "--budget", "10")
EVALUATE = ("evaluate", "--layer", "resnet18:0", "--accelerator", "edge", "--mapping", "nvdla")
CALLED = "SystemExit: sys.exit(0) was called"


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder, the current one, in which plug-ins are installed and modules lie."""
    info = tmp_path / "exits-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: exits\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRIES)
    (tmp_path / "plugins_that_exit.py").write_text(PLUGINS)
    (tmp_path / "module_that_exits.py").write_text("import sys\nsys.exit(0)\n")
    for searcher in ("random", "leaves", "gone"):
        (tmp_path / f"{searcher}.toml").write_text(textwrap.dedent(CAMPAIGN.format(searcher=searcher)))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    registry._entries.cache_clear()
    yield tmp_path
    registry._entries.cache_clear()


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ((*SEARCH, "--searcher", "leaves"), "searcher 'leaves' ended its search"),
        ((*SEARCH, "--searcher", "never-begins"), "searcher 'never-begins' cannot be made"),
        (
            (*SEARCH, "--searcher", "gone"),
            "(entry point 'module_that_exits:Gone' of exits 1.0) cannot be loaded",
        ),
        ((*SEARCH, "--searcher", "random", "--cost-model", "closed"), "searcher 'random' ended its search"),
        ((*SEARCH, "--searcher", "random", "--cost-model", "gone"), "cost model 'gone' (entry point"),
        ((*EVALUATE, "--cost-model", "closed"), "code that is not dse's own has ended it"),
        ((*EVALUATE, "--cost-model", "module_that_exits:price"), "cannot be loaded"),
        (("run", "random.toml", "--executor", "closed"), "code that is not dse's own has ended it"),
        (("run", "random.toml", "--executor", "gone"), "executor 'gone' (entry point"),
        (("run", "gone.toml"), "searcher 'gone' (entry point"),
        (("import", "module_that_exits:make", "--out", "n.toml"), "cannot be imported"),
    ],
    ids=lambda item: " ".join(item[-3:]) if isinstance(item, tuple) else "",
)
def test_it_is_one_line_and_bad_input(
    dse: Dse, installed: Path, command: tuple[str, ...], words: str
) -> None:
    ended = dse(*command)
    assert ended.code == 2
    line = ended.err.splitlines()[-1]
    assert line.startswith("dse: error: ")
    assert words in line
    assert CALLED in line
    assert "Traceback" not in ended.err
    assert not Path("n.toml").exists()


def test_a_cell_of_a_searcher_that_exits_has_failed(dse: Dse, installed: Path) -> None:
    ended = dse("run", "leaves.toml", "--tables-only")
    assert ended.code == 1
    assert f"searcher 'leaves' ended its search: {CALLED} (plugins_that_exit.py:11)" in ended.out
