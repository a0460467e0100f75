"""The reduction table, against values worked out by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from dse.analysis.reduction import (
    Group,
    LayerFigures,
    NamedTriple,
    Reduction,
    layer_at,
    network_figure,
    network_of,
    reduction_rows,
    sections_of_problems,
    template_rows,
)
from dse.campaign.summary import Summary
from tests.analysis.report_cases import A, B, cell


def row(rows: Sequence[Reduction], searcher: str, budget: int = 1000) -> Reduction:
    """The one row of a searcher at a budget."""
    (found,) = [row for row in rows if (row.searcher, row.budget) == (searcher, budget)]
    return found


def reduced(
    cells: Sequence[Summary], problems: Sequence[NamedTriple], budgets: Sequence[int] | None = None
) -> list[Reduction]:
    """The rows of those cells, with ratios to marl's, where all networks were asked for as a whole."""
    return reduction_rows(cells, whole(problems), "marl", budgets)


def whole(problems: Sequence[NamedTriple]) -> dict[NamedTriple, Group]:
    """What the problems are part of where all networks were asked for as a whole."""
    return sections_of_problems(problems, {(network_of(layer), *rest) for layer, *rest in problems})


# A network's figure


def test_latency_and_energy_of_a_network_are_sums_over_layers_times_repeats() -> None:
    layers = [LayerFigures(2, 5.0, 0.1, 7.0), LayerFigures(3, 4.0, 0.2, 8.0)]
    assert network_figure("latency", layers) == 2 * 5 + 3 * 4
    assert network_figure("energy", layers) == 2 * 5 + 3 * 4


def test_edp_of_a_network_is_total_energy_times_total_latency() -> None:
    layers = [LayerFigures(2, 99.0, 0.5, 7.0), LayerFigures(3, 99.0, 2.0, 8.0)]
    assert network_figure("edp", layers) == (2 * 7 + 3 * 8) * (2 * 0.5 + 3 * 2)


def test_a_product_of_a_network_is_that_of_its_figures() -> None:
    layers = [LayerFigures(2, 99.0, 0.5, 7.0), LayerFigures(3, 99.0, 2.0, 8.0)]
    assert network_figure("energy * latency^2", layers) == (2 * 7 + 3 * 8) * (2 * 0.5 + 3 * 2) ** 2
    # Of area, which does not add up, the most that a layer needs: 6 here, and 4.
    needy = [LayerFigures(2, 6 * 0.5, 0.5, 7.0), LayerFigures(3, 4 * 2.0, 2.0, 8.0)]
    assert network_figure("area * latency", needy) == 6 * (2 * 0.5 + 3 * 2)


def test_area_and_power_of_a_network_are_those_of_its_neediest_layer() -> None:
    layers = [LayerFigures(2, 5.0, 1.0, 1.0), LayerFigures(3, 4.0, 1.0, 1.0)]
    assert network_figure("area", layers) == network_figure("power", layers) == 5


@pytest.mark.parametrize("objective", ["latency", "energy", "edp", "area", "power", "area * latency"])
def test_a_layer_with_nothing_feasible_makes_the_network_infeasible(objective: str) -> None:
    layers = [LayerFigures(2, 5.0, 1.0, 1.0), LayerFigures(3, math.inf, math.inf, math.inf)]
    assert network_figure(objective, layers) == math.inf


def test_a_layers_point_is_the_best_up_to_that_sample_in_seconds_and_joules() -> None:
    found = cell("walk", [(0, 9.0), (499, 8.0), (500, 7.0)], cycles=300, energy_nj=20.0, clock_ghz=0.5)
    assert layer_at(found, 499) == LayerFigures(2, 9.0, pytest.approx(600e-9), pytest.approx(20e-9))
    assert layer_at(found, 500).loss == 8
    assert layer_at(found, 501).loss == 7
    assert layer_at(found, 1000).loss == 7


def test_a_layer_has_no_point_before_its_first_feasible_sample() -> None:
    assert layer_at(cell("walk", [(10, 9.0)]), 10) == LayerFigures(2, math.inf, math.inf, math.inf)


# The table


def test_medians_bests_and_ratios_of_several_seeds() -> None:
    cells = [cell("marl", [(0, loss)], seed=seed) for seed, loss in enumerate([4.0, 2.0, 3.0])]
    cells += [cell("walk", [(0, loss)], seed=seed) for seed, loss in enumerate([9.0, 6.0, 12.0])]
    rows = reduced(cells, [A])
    marl, walk = row(rows, "marl"), row(rows, "walk")
    # Two runs of the layer: twice its latency.
    assert (marl.median, marl.best, marl.ratio_median, marl.ratio_best) == (6, 4, 1, 1)
    assert (walk.median, walk.best, walk.ratio_median, walk.ratio_best) == (18, 12, 3, 3)
    assert (walk.network, walk.objective, walk.seeds) == ("net", "latency", 3)


def test_a_networks_seed_adds_its_own_layers_before_the_median_is_taken() -> None:
    cells = [cell("marl", [(0, loss)], A, seed=seed) for seed, loss in enumerate([1.0, 2.0, 9.0])]
    cells += [cell("marl", [(0, loss)], B, seed=seed) for seed, loss in enumerate([9.0, 2.0, 1.0])]
    marl = row(reduced(cells, [A, B]), "marl")
    # 2 x 1 + 3 x 9 = 29, 2 x 2 + 3 x 2 = 10, 2 x 9 + 3 x 1 = 21
    assert (marl.median, marl.best) == (21, 10)


def test_edp_is_read_from_the_figures_of_each_layers_best_point() -> None:
    a, b = ("net:a", "edge", "edp"), ("net:b", "edge", "edp")
    cells = [
        cell("marl", [(0, 7.0)], a, cycles=10**9, energy_nj=5e9),
        cell("marl", [(0, 7.0)], b, cycles=2 * 10**9, energy_nj=1e9),
    ]
    # Energy 2 x 5 + 3 x 1 = 13 J, latency 2 x 1 + 3 x 2 = 8 s
    assert row(reduced(cells, [a, b]), "marl").median == pytest.approx(104)


def test_budgets_are_read_at_that_sample_of_the_full_run() -> None:
    cells = [
        cell("marl", [(0, 4.0), (1999, 2.0)], budget=6000),
        cell("walk", [(0, 8.0), (500, 6.0), (5500, 2.0)], budget=6000),
    ]
    rows = reduced(cells, [A])
    assert sorted({row.budget for row in rows}) == [500, 2000, 5000, 6000]
    ratios = {budget: row(rows, "walk", budget).ratio_best for budget in (500, 2000, 5000, 6000)}
    assert ratios == {500: 2, 2000: 3, 5000: 3, 6000: 1}
    asked = reduced(cells, [A], [501])
    assert [row(asked, name, 501).best for name in ("marl", "walk")] == [8, 12]


def test_a_seed_counts_only_with_every_layer_of_the_network() -> None:
    cells = [cell("marl", [(0, 1.0)], problem, seed=seed) for problem in (A, B) for seed in (0, 1)]
    cells += [cell("walk", [(0, 2.0)], A, seed=0), cell("walk", [(0, 2.0)], B, seed=0)]
    cells += [cell("walk", [(0, 99.0)], A, seed=1)]
    walk = row(reduced(cells, [A, B]), "walk")
    assert (walk.seeds, walk.median, walk.ratio_median) == (1, 10, 2)


def test_a_layer_that_nobody_has_finished_is_missed_all_the_same() -> None:
    assert reduced([cell("marl", [(0, 1.0)], A)], [A, B]) == []


def test_a_searcher_that_finds_nothing_feasible_is_infinitely_worse() -> None:
    cells = [cell("marl", [(0, 1.0)], seed=seed) for seed in range(4)]
    cells += [cell("grid", [], seed=seed) for seed in range(4)]
    cells += [cell("walk", [(0, 3.0)] if seed < 2 else [], seed=seed) for seed in range(4)]
    rows = reduced(cells, [A])
    grid, walk = row(rows, "grid"), row(rows, "walk")
    assert (grid.median, grid.best, grid.ratio_median, grid.ratio_best) == (math.inf,) * 4
    assert (walk.median, walk.best, walk.ratio_best) == (math.inf, 6, 3)


@pytest.mark.parametrize("reference", [[], [cell("marl", [])]], ids=["none", "infeasible"])
def test_without_a_reference_figure_there_are_no_ratios(reference: list[Summary]) -> None:
    walk = row(reduced([*reference, cell("walk", [(0, 3.0)])], [A]), "walk")
    assert (walk.median, walk.best) == (6, 6)
    assert math.isnan(walk.ratio_median)
    assert math.isnan(walk.ratio_best)


def test_a_network_on_several_accelerators_is_a_network_for_each() -> None:
    on_cloud = ("net:a", "cloud", "latency")
    other = ("vgg16:conv1_2", "edge", "latency")
    cells = [cell("marl", [(0, 1.0)], A), cell("marl", [(0, 5.0)], on_cloud), cell("marl", [(0, 7.0)], other)]
    rows = reduced(cells, [A, on_cloud, other])
    assert {(row.network, row.best) for row in rows if row.budget == 1000} == {
        ("net on edge", 2),
        ("net on cloud", 10),
        ("vgg16", 7),
    }


def test_an_unfinished_accelerator_is_in_the_networks_name_already() -> None:
    on_cloud = ("net:a", "cloud", "latency")
    assert whole([A, on_cloud])[A] == Group("net on edge", "latency", whole=True)
    assert [row.network for row in reduced([cell("marl", [(0, 1.0)])], [A, on_cloud], [1000])] == [
        "net on edge"
    ]


def test_a_layer_asked_for_by_itself_has_its_own_figure_without_repeats() -> None:
    a, b = ("net:a", "edge", "edp"), ("net:b", "edge", "edp")
    runs = [cell("marl", [(0, 7.0)], a, cycles=10**9, energy_nj=7e9), cell("marl", [(0, 2.0)], b)]
    rows = reduction_rows(runs, sections_of_problems([a, b]), "marl", [1000])
    found = {row.network: row.median for row in rows}
    assert found == {"net:a": 7.0, "net:b": 2.0}
    points = {"nvdla": {a: LayerFigures(2, 14.0, 99.0, 99.0)}}
    (template,) = template_rows(
        points,
        sections_of_problems([a, b]),
        reduction_rows(runs, sections_of_problems([a, b]), "marl", [1000]),
        "marl",
    )
    assert (template.network, template.median, template.ratio_median) == ("net:a", 14.0, 2.0)


def test_a_whole_network_and_a_layer_of_it_elsewhere_are_kept_apart() -> None:
    there, alone = ("net:a", "cloud", "latency"), ("net:b", "cloud", "latency")
    found = sections_of_problems([A, B, there, alone], {("net", "edge", "latency")})
    assert found[A] == found[B] == Group("net", "latency", whole=True)
    assert found[there] == Group("net:a", "latency")
    assert found[alone] == Group("net:b", "latency")


def test_templates_stand_at_every_budget_beside_the_searchers() -> None:
    cells = [
        cell("marl", [(0, loss), (600, loss / 2)], problem, seed=seed)
        for problem in (A, B)
        for seed, loss in enumerate([4.0, 8.0])
    ]
    points = {
        "nvdla": {A: LayerFigures(2, 12.0, 12.0, 1.0), B: LayerFigures(3, 2.0, 2.0, 1.0)},
        "partly": {A: LayerFigures(2, 12.0, 12.0, 1.0)},
    }
    problems = [A, B]
    rows = template_rows(points, whole(problems), reduced(cells, problems, [500, 1000]), "marl")
    # 2 x 12 + 3 x 2 = 30; marl: 20 and 40 after 500 samples, 10 and 20 after 1,000.
    assert rows == [
        Reduction("net", "latency", 500, "nvdla", 30, 30, 30 / 30, 30 / 20, 0),
        Reduction("net", "latency", 1000, "nvdla", 30, 30, 30 / 15, 30 / 10, 0),
    ]


def test_templates_have_no_ratios_where_there_is_no_reference() -> None:
    rows = template_rows(
        {"nvdla": {A: LayerFigures(2, 1.0, 1.0, 1.0)}}, whole([A]), reduced([cell("walk", [])], [A]), "marl"
    )
    assert all(math.isnan(row.ratio_median) and row.best == 2 for row in rows)
    assert len(rows) == 2
