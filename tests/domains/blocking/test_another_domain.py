"""A kind of designs of another package goes through everything, and nothing elsewhere knows of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from tests import third_party
from tests.conftest import Dse

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


@pytest.mark.usefixtures("installed")
def test_its_caches_are_listed_beside_the_accelerators(dse: Dse) -> None:
    listed = dse("list", "--json").json
    assert [cache["name"] for cache in listed["caches"]] == ["small-cache", "large-cache"]
    assert {"name": "cached", "domain": "blocking"}.items() <= listed["cost-models"][0].items()


@pytest.mark.usefixtures("installed")
def test_a_search_finds_blocks_and_writes_them(dse: Dse, layers: Path, tmp_path: Path) -> None:
    asked = ("--layer", f"{layers}:square", "--accelerator", "small-cache", "--cost-model", "cached")
    asked += ("--objective", "latency")
    out = tmp_path / "out"
    searched = ("--searcher", "random", "--budget", "400", "--out", str(out), "--json")
    best = dse("search", *asked, *searched).json["best"]
    assert best["l1_size"] <= 4_096
    mapping = ("--mapping", str(out / "mapping.json"))
    assert dse("evaluate", *asked, *mapping, "--json").json["loss"] == {"latency": best["loss"]}
    assert "for K in blocks" in dse("evaluate", *asked, *mapping).out


@pytest.mark.usefixtures("installed")
def test_it_refuses_in_a_line_what_it_does_not_know(dse: Dse, layers: Path) -> None:
    asked = ("--layer", f"{layers}:square", "--accelerator", "small-cache", "--cost-model", "cached")
    assert dse("certify", *asked).refused() == "blocks are not certified"
    wrong = dse("search", *asked[:2], "--accelerator", "edge", *asked[4:]).refused()
    assert wrong == "unknown cache 'edge'; expected one of small-cache, large-cache"


def campaign(layers: Path, folder: Path) -> tuple[str, ...]:
    """The command that runs a campaign in a folder."""
    file = folder / "blocks.toml"
    file.write_text(CAMPAIGN.replace("LAYERS", str(layers)))
    return "run", str(file), "--out", str(folder / "out"), "--workers", "2"


@pytest.mark.usefixtures("installed", "one_picture")
def test_a_campaign_is_run_and_reported_with_its_page(dse: Dse, layers: Path, tmp_path: Path) -> None:
    """By workers of this process; `prove_another_domain.py` has others."""
    out = tmp_path / "out"
    ran = dse(*campaign(layers, tmp_path))
    assert ran.code == 0, ran.err
    assert set(pd.read_csv(out / "tables" / "reduction.csv")["searcher"]) == {"random", "genetic"}
    page = (out / "index.html").read_text()
    assert "4,096 words of cache" in page
    assert "in blocks of" in page


@pytest.mark.usefixtures("installed")
def test_its_model_is_no_model_of_accelerators() -> None:
    from dse.core.cost_models import all_models, cost_models

    assert "cached" in all_models()
    assert "cached" not in cost_models()
