"""`--fix outer.tile.K=16,32` on the command line, and `fixed` in campaigns."""

from __future__ import annotations

from html import unescape
from pathlib import Path

import numpy as np
import pytest

from dse.analysis.study import load_study, make_problems
from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.space.mapping_space import MappingSpace
from dse.search.record import read_parquet
from tests.conftest import Dse
from workloads import load_layer

LAYER = ("--layer", "resnet18:5", "--accelerator", "eyeriss-small", "--objective", "edp")
FIX = ("--fix", "outer.tile.K=64,16", "--fix", "inner.tile.C=1,4")
SETS = {"outer.tile.K": [16, 64], "inner.tile.C": [1, 4]}

CAMPAIGN = """
name = "sets"
budget = 20
seeds = 1
cost_model = "{model}"
tiles = "{tiles}"
objectives = ["edp"]
accelerators = ["eyeriss-small"]
layers = ["resnet18:5"]
fixed = {{"outer.tile.K" = [16, 64], "inner.tile.C" = [1, 4]}}
[searchers.walk]
[searchers.calibrated]
"""


def inside(space: MappingSpace, genes: np.ndarray) -> bool:
    named = space.decode(genes).named()
    return all(set(named[gene]) <= set(sizes) for gene, sizes in SETS.items())


def test_a_space_shows_the_sizes_that_are_left_and_counts_their_mappings(dse: Dse) -> None:
    shown = dse("space", *LAYER[:4], *FIX).out
    assert "16 64" in shown
    several = dse("space", *LAYER[:4], *FIX, "--json").json["mappings"]
    each = [
        dse("space", *LAYER[:4], "--fix", f"outer.tile.K={k}", "--fix", f"inner.tile.C={c}", "--json")
        for k in (16, 64)
        for c in (1, 4)
    ]
    assert several == sum(one.json["mappings"] for one in each)


@pytest.mark.parametrize("tiles", ["factors", "any"])
def test_a_search_has_only_mappings_of_the_sizes(dse: Dse, tmp_path: Path, tiles: str) -> None:
    out = tmp_path / "found"
    asked = ("--searcher", "walk", "--budget", "300", "--tiles", tiles, "--out", str(out))
    assert dse("search", *LAYER, *FIX, *asked).code == 0
    record, about = read_parquet(out / "record.parquet")
    assert about["identity"]["problem"]["space"]["fixed"] == SETS
    genes = record.genes()
    assert len(genes) == 300
    assert inside(MappingSpace(load_layer(LAYER[1]), PRESETS[LAYER[3]], tiles, SETS), genes)


@pytest.mark.parametrize("model", ["loopnest", "maestro"])
def test_the_optimum_is_the_best_of_each_size_and_is_verified(dse: Dse, model: str) -> None:
    asked = ("certify", *LAYER, "--cost-model", model, "--tiles", "factors")
    outcome = dse(*asked, *FIX, "--verify")
    assert outcome.code == 0
    assert "fixed outer.tile.K=64,16 inner.tile.C=1,4" in outcome.out
    assert "verified: problems of one size of each tile have all mappings (4 problems, " in outcome.out
    assert "NOT VERIFIED" not in outcome.out
    found = dse(*asked, *FIX, "--best", "3", "--json").json
    each = [
        dse(*asked, "--fix", f"outer.tile.K={k}", "--fix", f"inner.tile.C={c}", "--json").json["best"]["loss"]
        for k in (16, 64)
        for c in (1, 4)
    ]
    assert found["status"] == "optimal"
    assert found["best"]["loss"] == min(each)
    assert found["within"]["mappings"][0]["loss"] == min(each)


def test_sizes_that_do_not_fit_are_refused_in_a_line(dse: Dse) -> None:
    message = dse("certify", *LAYER, "--fix", "outer.tile.K=16,32", "--fix", "inner.tile.K=64").refused()
    assert message == (
        "fixed outer.tile.K = 16, 32 and inner.tile.K = 64: no inner tile divides an outer one"
    )
    message = dse("search", *LAYER, "--fix", "outer.tile.K=16,5").refused()
    assert message.startswith("fixed outer.tile.K = 5 does not divide 256, the layer's K; expected")


def test_what_is_infeasible_at_every_size_is_explained(dse: Dse) -> None:
    fixed = ("--fix", "outer.tile.K=128,256", "--fix", "outer.tile.C=128", "--fix", "outer.tile.Y=14")
    shown = dse("explain", *LAYER[:4], *fixed).out
    assert "none of" in shown
    assert "128,256" in shown


@pytest.mark.usefixtures("one_picture")
@pytest.mark.parametrize(("model", "tiles"), [("maestro", "factors"), ("loopnest", "any")])
def test_a_campaign_keeps_to_the_sizes_and_its_page_repeats_them(
    dse: Dse, tmp_path: Path, model: str, tiles: str
) -> None:
    file, out = tmp_path / "sets.toml", tmp_path / "out"
    file.write_text(CAMPAIGN.format(model=model, tiles=tiles))
    assert dse("run", str(file), "--out", str(out)).code == 0
    study = load_study(out)
    (problem,) = make_problems(study).values()
    genes = np.array([summary.genes for summary in study.summaries])
    assert len(genes) == 2
    assert inside(problem.problem.space, genes)
    page = unescape((out / "index.html").read_text())
    assert "--fix inner.tile.C=1,4 --fix outer.tile.K=16,64" in page
