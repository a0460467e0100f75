"""How far searchers end from the proven optimum, worked out by hand."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from dse.analysis.regret import beaten, regrets
from dse.campaign.curves import CURVES, read_curves, write_curves
from dse.campaign.summary import Summary
from dse.report.printing import print_report
from dse.report.writing import make_report
from tests.campaign.test_campaign import campaign, run

ON_A, ON_B = "net:a on edge, edp", "net:b on edge, edp"
OPTIMA = {
    ON_A: {"status": "optimal", "lower_bound": 2.0, "loss": 2.0},
    ON_B: {"status": "bounded", "lower_bound": 4.0, "loss": 5.0},
}


def cell(layer: str, searcher: str, seed: int, losses: list[float]) -> Summary:
    """A cell of 1,000 samples whose improvements come at samples 0, 600, ..."""
    steps = {
        "index": [600.0 * place for place in range(len(losses))],
        "loss": losses,
        **{name: [1.0] * len(losses) for name in ("cycles", "energy_nj", "l1_size", "l2_size")},
    }
    return Summary(
        key=f"{layer}-{searcher}-{seed}", fingerprint="", layer=f"net:{layer}", network="net", repeats=1,
        accelerator="edge", clock_ghz=1.0, objective="edp", searcher=searcher, type=searcher, seed=seed,
        budget=1000, samples=1000, distinct=1000, infeasible={}, elsewhere=0, searcher_seconds=0.0,
        model_seconds=0.0, genes=[], mean_losses=[], steps=steps,
    )  # fmt: skip


CELLS = [
    cell("a", "walk", 0, [8.0, 2.0]),
    cell("a", "walk", 1, [6.0, 3.0]),
    cell("a", "walk", 2, [4.0, 4.0 - 1e-9]),
    cell("b", "walk", 0, [16.0]),
    cell("a", "random", 0, []),
]


def test_ratios_are_the_losses_at_a_budget_over_the_optimum() -> None:
    rows = {(row.layer, row.searcher, row.budget): row for row in regrets(CELLS, OPTIMA)}
    early, late = rows["net:a", "walk", 500], rows["net:a", "walk", 1000]
    assert (early.ratio_median, early.ratio_best, early.seeds) == (3.0, 2.0, 3)
    assert (late.ratio_median, late.ratio_best) == (1.5, 1.0)
    assert early.proven
    assert not rows["net:b", "walk", 500].proven
    assert math.isinf(rows["net:a", "random", 1000].ratio_median)


def test_a_problem_without_a_known_optimum_is_left_out() -> None:
    assert {row.layer for row in regrets(CELLS, {ON_A: OPTIMA[ON_A]})} == {"net:a"}


def test_a_record_below_a_proven_optimum_is_said_loudly() -> None:
    assert beaten(CELLS, OPTIMA) == []
    found = beaten([cell("a", "walk", 0, [1.5])], OPTIMA)
    assert [(one.searcher, one.best) for one in found] == [("walk", 1.5)]


def test_a_problem_without_a_bound_has_no_regret() -> None:
    optima = {ON_A: {"status": "bounded", "lower_bound": 0.0, "loss": 2.0}}
    assert regrets(CELLS, optima) == []
    assert beaten(CELLS, optima) == []


def test_a_campaign_proves_its_optima_and_no_search_is_below_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(tmp_path, campaign(("random", None), ("genetic", None)))
    report = make_report(tmp_path)
    assert all(row.proven for row in report.regrets)
    assert len(report.regrets) == 2 * 2 * 2
    assert min(row.ratio_best for row in report.regrets) >= 1.0
    assert report.beaten == ()
    _refute(tmp_path / CURVES)
    refuted = make_report(tmp_path)
    assert refuted.beaten
    from dse.cli.output import make_console

    print_report(make_console(), refuted, tmp_path / "reduction.md")
    assert "CERTIFICATE BEATEN" in capsys.readouterr().out


def _refute(path: Path) -> None:
    """Raise the proven optima in the file far above what was found."""
    summaries, about = read_curves(path)
    for optimum in about["optima"].values():
        optimum["lower_bound"] *= 20
    write_curves(path, summaries, about)
