"""Limits of a user's own on the command line and in a campaign."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse.analysis.study import load_study, make_problems
from dse.campaign.reading import load_campaign
from dse.cli.commands.run import find_layers
from dse.report.page.commands import campaign_toml
from dse.support.errors import InputError
from tests.conftest import Dse

LAYER = ("--layer", "mlp:1", "--accelerator", "edge")
LIMITS = ("--limit", "l2_use <= 10 %", "--limit", "pe_use>=0.75")
CAMPAIGN = """
name = "limited"
budget = 40
seeds = 1
objectives = ["edp"]
accelerators = ["edge"]
layers = ["mlp:1"]
limits = ["pe_use >= 0.2", "l2_use <= 0.50"]
[searchers.random]
"""


def written(tmp_path: Path, text: str = CAMPAIGN) -> str:
    path = tmp_path / "file.toml"
    path.write_text(text)
    return str(path)


def test_an_optimum_under_limits_is_proven_and_says_them(dse: Dse, tmp_path: Path) -> None:
    asked = ("certify", *LAYER, "--objective", "edp", "--tiles", "factors", *LIMITS)
    said = dse(*asked, "--verify", "--cache", str(tmp_path)).out
    assert ", cost model loopnest, perfect factors, l2_use <= 0.1, pe_use >= 0.75\n" in said
    assert "too large for the buffers or beyond the limits" in said
    assert "verified: the best mapping keeps the limits (L1 " in said
    found = dse(*asked, "--json", "--cache", str(tmp_path)).json
    assert (found["limits"], found["certificate"]["cached"]) == (["l2_use <= 0.1", "pe_use >= 0.75"], True)
    free = dse("certify", *LAYER, "--objective", "edp", "--tiles", "factors", "--json", "--fresh").json
    assert "limits" not in free
    assert free["best"]["loss"] < found["best"]["loss"]


def test_headings_of_networks_and_fronts_say_limits_and_what_is_fixed(dse: Dse) -> None:
    network = ("--network", "mlp", "--accelerator", "edge", "--objective", "latency")
    fixed = ("--fix", "outer.parallel=C", "--fix", "cluster=16")
    proven = dse("certify", *network, "--tiles", "factors", "--limit", "l2_use <= 50%", *fixed)
    assert "perfect factors, l2_use <= 0.5, fixed outer.parallel=C cluster=16" in " ".join(proven.out.split())
    searched = dse("search", *network, "--searcher", "random", "--budget", "5", *fixed)
    assert "5 samples a layer, fixed outer.parallel=C cluster=16" in " ".join(searched.out.split())
    front = dse("certify", *LAYER, "--objective", "latency,energy", *fixed)
    assert "loopnest, perfect factors, fixed outer.parallel=C cluster=16" in " ".join(front.out.split())


def test_limits_that_nothing_meets_are_proven_so_and_explained(dse: Dse) -> None:
    found = dse("certify", *LAYER, "--limit", "l1_use <= 0.001", "--fresh")
    assert found.code == 1
    assert "no mapping is feasible: that is proven" in found.out
    explained = dse("explain", *LAYER, "--limit", "l1_use <= 0.001")
    assert "refused: a limit of yours on the use of buffers or PEs is broken" in explained.out
    assert "limits that would do, each by itself:\n  l1_use <= 0.001 -> 0.0" in explained.out


def test_a_mapping_is_judged_by_limits_and_a_search_keeps_them(dse: Dse) -> None:
    judged = dse("evaluate", *LAYER, "--mapping", "nvdla", "--limit", "l2_use <= 0.01")
    assert judged.code == 1
    assert "not feasible: l2_use is 0." in judged.out
    searched = dse("search", *LAYER, "--searcher", "random", "--budget", "400", *LIMITS)
    assert ", cost model loopnest, l2_use <= 0.1, pe_use >= 0.75\n" in searched.out
    assert "a limit of yours on the use of buffers or PEs is broken: " in searched.out


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (
            ("certify", *LAYER, "--limit", "l3_use <= 0.5"),
            "unknown figure 'l3_use' in limit; expected one of l1",
        ),
        (("search", *LAYER, "--limit", "pe_use <= 0.5"), "pe_use takes '>='"),
        (("certify", *LAYER, "--limit", "l2_use"), "in quotes, as in 'l2_use <= 0.8', got 'l2_use'"),
        (
            ("certify", "--network", "mlp", "--accelerator", "edge", "--chains", *LIMITS),
            "--chains is of a --network and one objective, without --fix, --limit",
        ),
        (("evaluate", "--cases", "-", "--limit", "l2_use <= 0.5"), "--limit does not go with --cases"),
    ],
)
def test_what_is_no_limit_is_refused_in_a_line(dse: Dse, asked: tuple[str, ...], message: str) -> None:
    assert message in dse(*asked).refused()


@pytest.mark.usefixtures("one_picture")
def test_a_campaign_keeps_limits_and_its_report_says_them(dse: Dse, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert dse("run", written(tmp_path), "--out", str(out)).code == 0
    study = load_study(out)
    (made,) = make_problems(study).values()
    assert made.problem.options["limits"] == ["l2_use <= 0.5", "pe_use >= 0.2"]
    assert 'limits = ["l2_use <= 0.5", "pe_use >= 0.2"]' in (campaign_toml(study, make_problems(study)) or "")
    assert "--limit" in (out / "index.html").read_text()
    assert all(summary.infeasible.keys() for summary in study.summaries)


def test_a_campaign_with_a_limit_that_cannot_be_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, CAMPAIGN.replace("pe_use >= 0.2", "pe_use >= 2"))
    with pytest.raises(InputError, match=r"^campaign '.*': .*limit 'pe_use >= 2'.*a share must be above 0"):
        load_campaign(path, find_layers)


@pytest.mark.parametrize(
    ("machine", "model", "figure"),
    [("edge", "loopnest", "l2_use"), ("gemmini", "timeloop", "Accumulator_use")],
)
def test_an_answer_has_the_figures_that_limits_are_on(
    dse: Dse, machine: str, model: str, figure: str
) -> None:
    asked = ("--accelerator", machine, "--cost-model", model, "--objective", "edp", "--tiles", "factors")
    limits = ("--limit", f"{figure} <= 0.25", "--limit", "pe_use >= 0.5")
    best = dse("certify", "--layer", "mlp:1", *asked, *limits, "--json").json["best"]
    assert list(best["use"]) == [figure, "pe_use"]
    assert 0 < best["use"][figure] <= 0.25
    assert 0.5 <= best["use"]["pe_use"] <= 1
    said = dse("certify", "--layer", "mlp:1", *asked, *limits).out
    wide = f"pe_use {best['use']['pe_use']:.4g}, at least 0.5 asked"
    assert f"{figure} {best['use'][figure]:.4g}, at most 0.25 asked; {wide}\n" in said
    assert "use" not in dse("certify", "--layer", "mlp:1", *asked, "--json").json["best"]
