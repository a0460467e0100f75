"""The reduction table, against values worked out by hand, and the report that is written from a record."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dse.campaign.curves import CURVES, write_curves
from dse.campaign.summary import STEPS, Summary
from dse.errors import InputError, StorageError
from dse.report.reduction import (
    PAPER,
    Layer,
    Reduction,
    groups,
    layer_at,
    network_figure,
    reductions,
    template_rows,
)
from dse.report.writing import COLUMNS as NAMES
from dse.report.writing import as_csv, headline, make_report, write_report
from tests.conftest import Dse

A, B = ("net:a", "edge", "latency"), ("net:b", "edge", "latency")
REPEATS = {"a": 2, "b": 3, "conv1_2": 1}
COLUMNS = "network,objective,budget,searcher,median,best,ratio_median,ratio_best"


def cell(
    searcher: str,
    losses: Sequence[tuple[int, float]],
    problem: tuple[str, str, str] = A,
    *,
    seed: int = 0,
    budget: int = 1000,
    cycles: int = 1,
    energy_nj: float = 1.0,
    clock_ghz: float = 1.0,
) -> Summary:
    """A finished cell that improved at the samples and to the losses given, always at the same costs."""
    layer, accelerator, objective = problem
    network, _, name = layer.rpartition(":")
    steps = {step: [1.0] * len(losses) for step in STEPS}
    steps |= {"index": [index for index, _ in losses], "loss": [loss for _, loss in losses]}
    steps |= {"cycles": [cycles] * len(losses), "energy_nj": [energy_nj] * len(losses)}
    return Summary(
        key="--".join((*problem, searcher, str(seed))),
        fingerprint="f" * 64,
        layer=layer,
        network=network,
        repeats=REPEATS[name],
        accelerator=accelerator,
        clock_ghz=clock_ghz,
        objective=objective,
        searcher=searcher,
        type=searcher,
        seed=seed,
        budget=budget,
        samples=budget,
        distinct=budget,
        infeasible={"l1_too_small": 3},
        elsewhere=0,
        searcher_seconds=0.5,
        model_seconds=0.25,
        genes=[0] * 13,
        returns=[1.0],
        steps=steps,
    )


def row(rows: Sequence[Reduction], searcher: str, budget: int = 1000) -> Reduction:
    """The one row of a searcher at a budget."""
    (found,) = [row for row in rows if (row.searcher, row.budget) == (searcher, budget)]
    return found


# A network's figure


def test_latency_and_energy_of_a_network_are_sums_over_layers_times_repeats() -> None:
    layers = [Layer(2, 5.0, 0.1, 7.0), Layer(3, 4.0, 0.2, 8.0)]
    assert network_figure("latency", layers) == 2 * 5 + 3 * 4
    assert network_figure("energy", layers) == 2 * 5 + 3 * 4


def test_edp_of_a_network_is_total_energy_times_total_latency() -> None:
    layers = [Layer(2, 99.0, 0.5, 7.0), Layer(3, 99.0, 2.0, 8.0)]
    assert network_figure("edp", layers) == (2 * 7 + 3 * 8) * (2 * 0.5 + 3 * 2)


def test_area_and_power_of_a_network_are_those_of_its_neediest_layer() -> None:
    layers = [Layer(2, 5.0, 1.0, 1.0), Layer(3, 4.0, 1.0, 1.0)]
    assert network_figure("area", layers) == network_figure("power", layers) == 5


@pytest.mark.parametrize("objective", ["latency", "energy", "edp", "area", "power"])
def test_a_layer_with_nothing_feasible_makes_the_network_infeasible(objective: str) -> None:
    layers = [Layer(2, 5.0, 1.0, 1.0), Layer(3, math.inf, math.inf, math.inf)]
    assert network_figure(objective, layers) == math.inf


def test_a_layers_point_is_the_best_up_to_that_sample_in_seconds_and_joules() -> None:
    found = cell("walk", [(0, 9.0), (499, 8.0), (500, 7.0)], cycles=300, energy_nj=20.0, clock_ghz=0.5)
    assert layer_at(found, 499) == Layer(2, 9.0, pytest.approx(600e-9), pytest.approx(20e-9))
    assert layer_at(found, 500).loss == 8
    assert layer_at(found, 501).loss == 7
    assert layer_at(found, 1000).loss == 7


def test_a_layer_has_no_point_before_its_first_feasible_sample() -> None:
    assert layer_at(cell("walk", [(10, 9.0)]), 10) == Layer(2, math.inf, math.inf, math.inf)


# The table


def test_medians_bests_and_ratios_of_several_seeds() -> None:
    cells = [cell("marl", [(0, loss)], seed=seed) for seed, loss in enumerate([4.0, 2.0, 3.0])]
    cells += [cell("walk", [(0, loss)], seed=seed) for seed, loss in enumerate([9.0, 6.0, 12.0])]
    rows = reductions(cells, [A])
    marl, walk = row(rows, "marl"), row(rows, "walk")
    # Two runs of the layer: twice its latency.
    assert (marl.median, marl.best, marl.ratio_median, marl.ratio_best) == (6, 4, 1, 1)
    assert (walk.median, walk.best, walk.ratio_median, walk.ratio_best) == (18, 12, 3, 3)
    assert (walk.network, walk.objective, walk.seeds) == ("net", "latency", 3)


def test_a_networks_seed_adds_its_own_layers_before_the_median_is_taken() -> None:
    cells = [cell("marl", [(0, loss)], A, seed=seed) for seed, loss in enumerate([1.0, 2.0, 9.0])]
    cells += [cell("marl", [(0, loss)], B, seed=seed) for seed, loss in enumerate([9.0, 2.0, 1.0])]
    marl = row(reductions(cells, [A, B]), "marl")
    # 2 x 1 + 3 x 9 = 29, 2 x 2 + 3 x 2 = 10, 2 x 9 + 3 x 1 = 21
    assert (marl.median, marl.best) == (21, 10)


def test_edp_is_read_from_the_figures_of_each_layers_best_point() -> None:
    a, b = ("net:a", "edge", "edp"), ("net:b", "edge", "edp")
    cells = [
        cell("marl", [(0, 7.0)], a, cycles=10**9, energy_nj=5e9),
        cell("marl", [(0, 7.0)], b, cycles=2 * 10**9, energy_nj=1e9),
    ]
    # Energy 2 x 5 + 3 x 1 = 13 J, latency 2 x 1 + 3 x 2 = 8 s
    assert row(reductions(cells, [a, b]), "marl").median == pytest.approx(104)


def test_budgets_are_read_at_that_sample_of_the_full_run() -> None:
    cells = [
        cell("marl", [(0, 4.0), (1999, 2.0)], budget=6000),
        cell("walk", [(0, 8.0), (500, 6.0), (5500, 2.0)], budget=6000),
    ]
    rows = reductions(cells, [A])
    assert sorted({row.budget for row in rows}) == [500, 2000, 5000, 6000]
    ratios = {budget: row(rows, "walk", budget).ratio_best for budget in (500, 2000, 5000, 6000)}
    assert ratios == {500: 2, 2000: 3, 5000: 3, 6000: 1}
    asked = reductions(cells, [A], [501])
    assert [row(asked, name, 501).best for name in ("marl", "walk")] == [8, 12]


def test_a_seed_counts_only_with_every_layer_of_the_network() -> None:
    cells = [cell("marl", [(0, 1.0)], problem, seed=seed) for problem in (A, B) for seed in (0, 1)]
    cells += [cell("walk", [(0, 2.0)], A, seed=0), cell("walk", [(0, 2.0)], B, seed=0)]
    cells += [cell("walk", [(0, 99.0)], A, seed=1)]
    walk = row(reductions(cells, [A, B]), "walk")
    assert (walk.seeds, walk.median, walk.ratio_median) == (1, 10, 2)


def test_a_layer_that_nobody_has_finished_is_missed_all_the_same() -> None:
    assert reductions([cell("marl", [(0, 1.0)], A)], [A, B]) == []


def test_a_searcher_that_finds_nothing_feasible_is_infinitely_worse() -> None:
    cells = [cell("marl", [(0, 1.0)], seed=seed) for seed in range(4)]
    cells += [cell("grid", [], seed=seed) for seed in range(4)]
    cells += [cell("walk", [(0, 3.0)] if seed < 2 else [], seed=seed) for seed in range(4)]
    rows = reductions(cells, [A])
    grid, walk = row(rows, "grid"), row(rows, "walk")
    assert (grid.median, grid.best, grid.ratio_median, grid.ratio_best) == (math.inf,) * 4
    assert (walk.median, walk.best, walk.ratio_best) == (math.inf, 6, 3)


@pytest.mark.parametrize("reference", [[], [cell("marl", [])]], ids=["none", "infeasible"])
def test_without_a_reference_figure_there_are_no_ratios(reference: list[Summary]) -> None:
    walk = row(reductions([*reference, cell("walk", [(0, 3.0)])], [A]), "walk")
    assert (walk.median, walk.best) == (6, 6)
    assert math.isnan(walk.ratio_median)
    assert math.isnan(walk.ratio_best)


def test_a_network_on_several_accelerators_is_a_network_for_each() -> None:
    on_cloud = ("net:a", "cloud", "latency")
    other = ("vgg16:conv1_2", "edge", "latency")
    cells = [cell("marl", [(0, 1.0)], A), cell("marl", [(0, 5.0)], on_cloud), cell("marl", [(0, 7.0)], other)]
    rows = reductions(cells, [A, on_cloud, other])
    assert {(row.network, row.best) for row in rows if row.budget == 1000} == {
        ("net on edge", 2),
        ("net on cloud", 10),
        ("vgg16", 7),
    }


def test_an_unfinished_accelerator_is_in_the_networks_name_already() -> None:
    on_cloud = ("net:a", "cloud", "latency")
    assert groups([A, on_cloud])[A] == ("net on edge", "latency")
    assert [row.network for row in reductions([cell("marl", [(0, 1.0)])], [A, on_cloud], [1000])] == [
        "net on edge"
    ]


def test_templates_stand_at_every_budget_beside_the_searchers() -> None:
    cells = [
        cell("marl", [(0, loss), (600, loss / 2)], problem, seed=seed)
        for problem in (A, B)
        for seed, loss in enumerate([4.0, 8.0])
    ]
    points = {
        "nvdla": {A: Layer(2, 12.0, 12.0, 1.0), B: Layer(3, 2.0, 2.0, 1.0)},
        "partly": {A: Layer(2, 12.0, 12.0, 1.0)},
    }
    problems = [A, B]
    rows = template_rows(points, problems, reductions(cells, problems, [500, 1000]))
    # 2 x 12 + 3 x 2 = 30; marl: 20 and 40 after 500 samples, 10 and 20 after 1,000.
    assert rows == [
        Reduction("net", "latency", 500, "nvdla", 30, 30, 30 / 30, 30 / 20, 0),
        Reduction("net", "latency", 1000, "nvdla", 30, 30, 30 / 15, 30 / 10, 0),
    ]


def test_templates_have_no_ratios_where_there_is_no_reference() -> None:
    rows = template_rows({"nvdla": {A: Layer(2, 1.0, 1.0, 1.0)}}, [A], reductions([cell("walk", [])], [A]))
    assert all(math.isnan(row.ratio_median) and row.best == 2 for row in rows)
    assert len(rows) == 2


def test_the_papers_ratios_are_those_recomputed_from_its_figures() -> None:
    assert PAPER["mobilenet_v2", "edp"] == {"ppo": 19.5, "gamma": 1.54}


# The report in a folder


def campaign(folder: Path, cells: Sequence[Summary], **about: Any) -> Path:
    """A folder with the curves of a campaign."""
    problems = list(dict.fromkeys((c.layer, c.accelerator, c.objective) for c in cells))
    known: dict[str, Any] = {
        "campaign": "test",
        "budget": 1000,
        "cost_model": "maestro",
        "seeds": 1,
        "searchers": list(dict.fromkeys(c.searcher for c in cells)),
        "problems": problems,
        "templates": {},
    }
    write_curves(folder / CURVES, cells, known | about)
    return folder


def test_the_report_is_made_of_the_curves_alone(tmp_path: Path) -> None:
    cells = [cell("walk", [(0, 6.0)]), cell("marl", [(0, 4.0), (700, 2.0)]), cell("grid", [])]
    point = {"repeats": 2, "loss": 8.0, "seconds": 8.0, "joules": 1.0}
    templates = {"nvdla": {"net:a on edge, latency": point}, "eyeriss": {}}
    report, path = write_report(campaign(tmp_path, cells, templates=templates))
    text = (tmp_path / "tables" / "reduction.csv").read_text()
    assert text == (
        f"{COLUMNS},seeds\n"
        "net,latency,500,walk,12.0,12.0,1.5,1.5,1\n"
        "net,latency,500,marl,8.0,8.0,1.0,1.0,1\n"
        "net,latency,500,grid,inf,inf,inf,inf,1\n"
        "net,latency,500,nvdla dataflow,16.0,16.0,2.0,2.0,0\n"
        "net,latency,1000,walk,12.0,12.0,3.0,3.0,1\n"
        "net,latency,1000,marl,4.0,4.0,1.0,1.0,1\n"
        "net,latency,1000,grid,inf,inf,inf,inf,1\n"
        "net,latency,1000,nvdla dataflow,16.0,16.0,4.0,4.0,0\n"
    )
    markdown = path.read_text()
    assert path == tmp_path / "tables" / "reduction.md"
    assert "## net: latency (s) after 1,000 samples a layer" in markdown
    assert "| walk | 1 | 12 | 12 | 3 | 3 |" in markdown
    assert "| grid | 1 | infeasible | infeasible | - | - |" in markdown
    assert report.missing == {}
    assert "3 cells of 1,000 samples a layer, 1 seed, cost model maestro" in headline(report)
    assert sorted(p.name for p in (tmp_path / "tables").iterdir()) == [
        "reduction.csv",
        "reduction.md",
        "regret.csv",
    ]


def test_the_csv_keeps_all_digits_and_leaves_absent_ratios_empty() -> None:
    rows = reductions([cell("walk", [(0, 0.1 + 0.2)])], [A], [1000])
    (line,) = csv.DictReader(as_csv(NAMES, rows).splitlines())
    assert float(line["median"]) == 2 * (0.1 + 0.2)
    assert line["ratio_median"] == line["ratio_best"] == ""


def test_a_published_ratio_is_shown_beside_ours(tmp_path: Path) -> None:
    problem = ("vgg16:conv1_2", "edge", "latency")
    _, path = write_report(
        campaign(tmp_path, [cell("marl", [(0, 1.0)], problem), cell("random", [], problem)])
    )
    assert "| random | 1 | infeasible | infeasible | - | - | 4.06 |" in path.read_text()


def test_the_report_says_which_cells_are_not_done(tmp_path: Path, dse: Dse) -> None:
    cells = [cell("marl", [(0, 1.0)]), cell("marl", [(0, 1.0)], seed=1), cell("walk", [(0, 1.0)])]
    campaign(tmp_path, cells, seeds=2, searchers=["marl", "walk", "broken"])
    report = make_report(tmp_path)
    assert report.missing == {"walk": 1, "broken": 2}
    assert headline(report).endswith("Cells not done: 1 of walk, 2 of broken.")
    told = dse("report", str(tmp_path), "--json").json
    assert (told["cells"], told["missing"]) == (3, 3)
    assert told["report"] == str(tmp_path / "tables" / "reduction.md")
    assert told["reduction"][0] == {
        "network": "net", "objective": "latency", "budget": 500, "searcher": "marl", "median": 2.0,
        "best": 2.0, "ratio_median": 1.0, "ratio_best": 1.0, "seeds": 2,
    }  # fmt: skip


def test_a_campaign_with_nothing_done_has_an_empty_table(tmp_path: Path, dse: Dse) -> None:
    campaign(tmp_path, [], searchers=["marl"], problems=[A], seeds=2)
    outcome = dse("report", str(tmp_path))
    assert outcome.code == 0
    assert "Cells not done: 2 of marl." in outcome.out
    assert (tmp_path / "tables" / "reduction.csv").read_text() == f"{COLUMNS},seeds\n"


def test_the_table_at_the_full_budget_is_printed(tmp_path: Path, dse: Dse) -> None:
    out = dse("report", str(campaign(tmp_path, [cell("walk", [(0, 6.0)])]))).out
    assert "Without marl in the campaign there are no ratios." in out
    assert "net: latency (s) after 1,000 samples a layer" in out
    assert "after 500 samples" not in out
    assert out.endswith(f"report: {tmp_path / 'tables' / 'reduction.md'}\n")


def test_a_report_written_again_takes_the_place_of_the_old(tmp_path: Path) -> None:
    write_report(campaign(tmp_path, [cell("walk", [(0, 6.0)])]))
    write_report(campaign(tmp_path, [cell("walk", [(0, 5.0)])]))
    assert ",10.0," in (tmp_path / "tables" / "reduction.csv").read_text()


# What is wrong with a folder


def test_a_folder_without_curves_is_refused(tmp_path: Path, dse: Dse) -> None:
    for folder in (tmp_path, tmp_path / "absent"):
        message = dse("report", str(folder)).refused()
        assert message == f"'{folder}' holds no {CURVES}; name a folder in which `dse run` has ended"


@pytest.mark.parametrize("damage", ["cut", "text", "empty", "other"])
def test_damaged_curves_are_refused_in_one_line(tmp_path: Path, dse: Dse, damage: str) -> None:
    path = campaign(tmp_path, [cell("walk", [(0, 6.0)])]) / CURVES
    whole = path.read_bytes()
    if damage == "other":
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.table({"loss": [1.0]}), path)
    else:
        path.write_bytes({"cut": whole[: len(whole) // 2], "text": b"curves", "empty": b""}[damage])
    message = dse("report", str(tmp_path)).refused()
    assert f"'{path}'" in message
    assert not (tmp_path / "tables").exists()


def test_curves_that_do_not_say_what_the_campaign_was_are_refused(tmp_path: Path, dse: Dse) -> None:
    write_curves(tmp_path / CURVES, [cell("walk", [(0, 6.0)])], {"campaign": "test"})
    assert (
        "does not say what its campaign was: KeyError: 'problems'" in dse("report", str(tmp_path)).refused()
    )


def test_a_cell_that_the_campaign_does_not_have_is_refused(tmp_path: Path, dse: Dse) -> None:
    for stranger in (cell("other", []), replace(cell("walk", []), accelerator="egde")):
        campaign(tmp_path, [stranger], searchers=["walk"], problems=[A])
        assert "is damaged: its campaign has no cell 'net:a--" in dse("report", str(tmp_path)).refused()


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path, dse: Dse) -> None:
    campaign(tmp_path, [cell("walk", [(0, 6.0)])])
    (tmp_path / "tables").write_text("in the way")
    with pytest.raises(StorageError):
        write_report(tmp_path)
    assert dse("report", str(tmp_path)).refused() == f"report in '{tmp_path}' cannot be written: File exists"


def test_a_half_written_report_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_report(campaign(tmp_path, [cell("walk", [(0, 6.0)])]))
    before = (tmp_path / "tables" / "reduction.csv").read_text()
    campaign(tmp_path, [cell("walk", [(0, 5.0)])])

    def full(self: Path, text: str, **_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(InputError, match="cannot be written: No space left on device"):
        write_report(tmp_path)
    monkeypatch.undo()
    assert (tmp_path / "tables" / "reduction.csv").read_text() == before
    assert sorted(p.name for p in (tmp_path / "tables").iterdir()) == [
        "reduction.csv",
        "reduction.md",
        "regret.csv",
    ]
