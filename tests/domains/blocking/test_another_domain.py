"""A kind of designs of another package goes through everything, and nothing elsewhere knows of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from tests import third_party

HERE = Path(__file__).parent
ENTRIES = {
    "dse.domains": {"blocking": "dse_blocking:BlockingDomain"},
    "dse.cost_models": {"cached": "dse_blocking:Cached"},
}
LAYERS = """
name = "products"
[[layers]]
name = "square"
type = "GEMM"
M = 64
N = 96
K = 48
"""
CAMPAIGN = """
name = "blocks"
budget = 60
seeds = 3
cost_model = "cached"
objectives = ["edp"]
accelerators = ["small-cache"]
layers = ["LAYERS:square"]
[searchers.random]
[searchers.genetic]
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = third_party.offer(
        HERE / "dse_blocking.py", tmp_path_factory.mktemp("blocking") / "installed", ENTRIES
    )
    with third_party.found(folder):
        yield folder


@pytest.fixture(scope="module")
def layers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("layers") / "products.toml"
    path.write_text(LAYERS)
    return path


def test_its_caches_are_listed_beside_the_accelerators(installed: Path) -> None:
    listed = json.loads(third_party.dse(installed, "list", "--json").stdout)
    assert [cache["name"] for cache in listed["caches"]] == ["small-cache", "large-cache"]
    assert {"name": "cached", "domain": "blocking"}.items() <= listed["cost-models"][0].items()


def test_a_search_finds_blocks_and_writes_them(installed: Path, layers: Path, tmp_path: Path) -> None:
    asked = ("--layer", f"{layers}:square", "--accelerator", "small-cache", "--cost-model", "cached")
    asked += ("--objective", "latency")
    out = tmp_path / "out"
    ended = third_party.dse(
        installed, "search", *asked, "--searcher", "random", "--budget", "400", "--out", str(out), "--json"
    )
    best = json.loads(ended.stdout)["best"]
    assert best["l1_size"] <= 4_096
    again = third_party.dse(installed, "evaluate", *asked, "--mapping", str(out / "mapping.json"), "--json")
    assert json.loads(again.stdout)["loss"] == {"latency": best["loss"]}
    assert (
        "for K in blocks"
        in third_party.dse(installed, "evaluate", *asked, "--mapping", str(out / "mapping.json")).stdout
    )


def test_it_refuses_in_a_line_what_it_does_not_know(installed: Path, layers: Path) -> None:
    asked = ("--layer", f"{layers}:square", "--accelerator", "small-cache", "--cost-model", "cached")
    refused = third_party.dse(installed, "certify", *asked)
    assert (refused.returncode, refused.stderr) == (2, "dse: error: blocks are not certified\n")
    wrong = third_party.dse(installed, "search", *asked[:2], "--accelerator", "edge", *asked[4:])
    assert wrong.stderr == "dse: error: unknown cache 'edge'; expected one of small-cache, large-cache\n"


def test_a_campaign_is_run_and_reported_with_its_page(installed: Path, layers: Path, tmp_path: Path) -> None:
    file, out = tmp_path / "blocks.toml", tmp_path / "out"
    file.write_text(CAMPAIGN.replace("LAYERS", str(layers)))
    ran = third_party.dse(installed, "run", str(file), "--out", str(out), "--workers", "2")
    assert ran.returncode == 0, ran.stderr
    assert set(pd.read_csv(out / "tables" / "reduction.csv")["searcher"]) == {"random", "genetic"}
    page = (out / "index.html").read_text()
    assert "4,096 words of cache" in page
    assert "in blocks of" in page


def test_its_model_is_no_model_of_accelerators(installed: Path, layers: Path) -> None:
    from dse.core.cost_models import all_models, cost_models

    assert "cached" in all_models()
    assert "cached" not in cost_models()
