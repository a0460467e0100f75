"""How far searchers end from the proven optimum, worked out by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse.analysis.analysis import analyse_study
from dse.analysis.study import Study
from dse.campaign.curves import CURVES, read_curves, write_curves
from dse.campaign.summary import Summary
from dse.report.printing import print_report
from dse.report.summary import study_regrets
from dse.report.writing import make_report
from tests.analysis.report_cases import B, cell
from tests.analysis.test_findings import study
from tests.campaign.test_campaign import campaign, run

ON_A, ON_B = "net:a on edge, latency", "net:b on edge, latency"
OPTIMA = {
    ON_A: {"status": "optimal", "lower_bound": 2.0, "loss": 2.0},
    ON_B: {"status": "bounded", "lower_bound": 4.0, "loss": 5.0},
}


def made(*cells: Summary, optima: dict[str, dict[str, object]] = OPTIMA) -> Study:
    """A study of cells with what is proven of their problems."""
    return study(cells, optima=optima)


def losses(*found: float) -> list[tuple[int, float]]:
    """Improvements at samples 0, 600, ..."""
    return [(600 * place, loss) for place, loss in enumerate(found)]


CELLS = [
    cell("walk", losses(8.0, 2.0)),
    cell("walk", losses(6.0, 3.0), seed=1),
    cell("walk", losses(4.0, 4.0 - 1e-9), seed=2),
    cell("walk", losses(16.0), B),
    cell("random", []),
]


def test_ratios_are_the_losses_at_a_budget_over_what_is_proven() -> None:
    found = study_regrets(analyse_study(made(*CELLS), 20))
    rows = {(row["layer"], row["searcher"], row["budget"]): row for row in found}
    early, late = rows["net:a", "walk", 500], rows["net:a", "walk", 1000]
    assert (early["ratio_median"], early["ratio_best"], early["seeds"]) == (3.0, 2.0, 3)
    assert (late["ratio_median"], late["ratio_best"]) == (1.5, 1.0)
    assert early["proven"] is True
    assert (rows["net:b", "walk", 500]["proven"], rows["net:b", "walk", 500]["ratio_best"]) == (False, 4.0)
    assert rows["net:a", "random", 1000]["ratio_median"] == float("inf")


@pytest.mark.parametrize("optimum", [None, {"status": "bounded", "lower_bound": 0.0, "loss": 5.0}])
def test_a_problem_without_a_bound_has_no_regret(optimum: dict[str, object] | None) -> None:
    found = made(*CELLS, optima={ON_A: OPTIMA[ON_A], **({ON_B: optimum} if optimum else {})})
    assert {row["layer"] for row in study_regrets(analyse_study(found, 20))} == {"net:a"}
    assert found.beaten == ()


def test_a_record_below_a_proven_bound_is_said_loudly() -> None:
    assert made(*CELLS).beaten == ()
    assert [(one.searcher, one.best) for one in made(cell("walk", [(0, 1.5)])).beaten] == [("walk", 1.5)]


def test_a_campaign_proves_its_optima_and_no_search_is_below_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(tmp_path, campaign(("random", None), ("genetic", None)))
    report = make_report(tmp_path)
    rows = study_regrets(report.findings)
    assert all(row["proven"] for row in rows)
    assert len(rows) == 2 * 2 * 2
    assert min(row["ratio_best"] for row in rows) >= 1.0
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
