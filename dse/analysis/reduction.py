"""The reduction table: each searcher's figure over the reference's, per network or layer, and objective.

A ratio above 1 says by how much the reference's mappings are better. Where the campaign asks for a whole
network, its figure is taken over all its layers: latency and energy are sums over layers times their repeats,
area and power are those of the layer that needs most, and a product of powers, such as EDP, is that of these.
A layer that is asked for by itself has its own figure.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dse.analysis.stats.bootstrap import (
    affordable_resamples,
    confidence_interval,
    draw_resamples,
    middle_places,
    named_generator,
)
from dse.campaign.summary import Summary
from dse.core.objective import FIGURES, known_objective, names_several
from dse.support.arrays import FloatArray

NO_RATIO = (np.nan, np.nan)
RESAMPLES = 2000
BUDGETS = (500, 2_000, 5_000, 20_000)
FEW = 500
"""Campaigns of no more samples are read at SMALL_BUDGETS: a sample is dear there."""
SMALL_BUDGETS = (5, 20, 50, 100, 200)

NamedTriple = tuple[str, str, str]
"""A problem by the names of its layer (`vgg16:conv1_2`), accelerator and objective."""


@dataclass(frozen=True)
class Group:
    """What a section of the table is of: a network or a layer, with its accelerator where it has several.

    `whole` says that it is a network, all layers of which the campaign has.
    """

    network: str
    objective: str
    whole: bool = False

    def figure(self, layers: Sequence[LayerFigures]) -> float:
        """The group's figure from those of its layers; `inf` if one has none."""
        return network_figure(self.objective, layers) if self.whole else layers[0].loss


@dataclass(frozen=True)
class Reduction:
    """One row: a searcher's median and best figure over seeds, and their ratios to the reference's.

    `network` is a network's name or, where that was not asked for as a whole, a layer's. Figures are `inf`
    where half of the seeds or more (the median) or all of them (the best) have found nothing feasible. Ratios
    are NaN without a finite reference. `seeds` counts the seeds that have every layer of it; fixed mappings
    have 0. `low` and `high` are the 95 % confidence interval of `ratio_median` (a bootstrap over the seeds of
    both), NaN where there is none, as with a single seed.
    """

    network: str
    objective: str
    budget: int
    searcher: str
    median: float
    best: float
    ratio_median: float
    ratio_best: float
    seeds: int
    low: float = np.nan
    high: float = np.nan


@dataclass(frozen=True)
class LayerFigures:
    """What a network's figure needs of one layer's best point."""

    repeats: int
    loss: float
    seconds: float
    joules: float


def network_figure(objective: str, layers: Sequence[LayerFigures]) -> float:
    """The network's figure from those of its layers, in the objective's unit; `inf` if a layer has none."""
    found = known_objective(objective)
    if names_several(objective):
        # What is missing of hypervolumes is no sum.
        return sum(layer.loss * layer.repeats for layer in layers) / sum(one.repeats for one in layers)
    if found is None or (found.adds_up and objective in FIGURES):
        return sum(layer.loss * layer.repeats for layer in layers)
    if np.inf in (layer.loss for layer in layers):
        return np.inf
    summed = {
        "energy": sum(layer.joules * layer.repeats for layer in layers),
        "latency": sum(layer.seconds * layer.repeats for layer in layers),
    }
    # What does not add up is what is left of a layer's loss.
    work = found.part_that_adds_up
    rest = (layer.loss / work.total({"energy": layer.joules, "latency": layer.seconds}) for layer in layers)
    return work.total(summed) * (1.0 if found.adds_up else max(rest))


def sections_of_problems(
    problems: Iterable[NamedTriple], networks: Collection[NamedTriple] = ()
) -> dict[NamedTriple, Group]:
    """From each of a campaign's problems to the section of the table that it belongs to.

    `networks` are those that were asked for as a whole: a network, an accelerator and an objective each.
    """
    machines: dict[str, set[str]] = defaultdict(set)
    named: dict[NamedTriple, tuple[str, bool]] = {}
    for layer, machine, objective in problems:
        network = network_of(layer)
        whole = (network, machine, objective) in networks
        named[layer, machine, objective] = (network if whole else layer), whole
        machines[network if whole else layer].add(machine)
    return {
        problem: Group(name if len(machines[name]) == 1 else f"{name} on {problem[1]}", problem[2], whole)
        for problem, (name, whole) in named.items()
    }


def budgets_up_to(whole: int) -> list[int]:
    """The budgets at which tables read a campaign of `whole` samples: the usual ones below that, and that."""
    usual = SMALL_BUDGETS if whole <= FEW else BUDGETS
    return sorted({*(budget for budget in usual if budget < whole), whole})


def reduction_rows(
    summaries: Sequence[Summary],
    group_of: Mapping[NamedTriple, Group],
    reference: str,
    budgets: Sequence[int] | None = None,
) -> list[Reduction]:
    """The searchers' rows, at each of `budgets` (by default BUDGETS up to the campaign's, and that).

    A searcher has rows up to its own budget. Ratios are to the figures of the searcher `reference`.
    `group_of` has all of the campaign's problems: a seed counts where a searcher has finished each of a
    group's.
    """
    if not summaries:
        return []
    whole = max(summary.budget for summary in summaries)
    budgets = budgets or budgets_up_to(whole)
    layers = Counter(group_of.values())
    members: dict[Group, dict[str, list[Summary]]] = {group: defaultdict(list) for group in layers}
    for summary in summaries:
        members[group_of[problem_of(summary)]][summary.searcher].append(summary)
    rows = []
    for group, by_searcher in members.items():
        for budget in budgets:
            figures = {
                searcher: seed_figures(
                    group, ((one.seed, layer_at(one, budget)) for one in found), layers[group]
                )
                for searcher, found in by_searcher.items()
                if max(summary.budget for summary in found) >= budget
            }
            rows += _rows(group, budget, figures, reference, len(summaries))
    return rows


def problem_of(summary: Summary) -> NamedTriple:
    """The problem that a cell is on."""
    return summary.layer, summary.accelerator, summary.objective


def network_of(layer: str) -> str:
    """The part of a layer's name before the last colon."""
    return layer.rpartition(":")[0] or layer


def seed_figures(group: Group, points: Iterable[tuple[int, LayerFigures]], layers: int) -> FloatArray:
    """The group's figure for each seed, in their order, that has points of all its `layers`."""
    by_seed: dict[int, list[LayerFigures]] = defaultdict(list)
    for seed, layer in points:
        by_seed[seed].append(layer)
    whole = [found for _, found in sorted(by_seed.items()) if len(found) == layers]
    return np.array([group.figure(found) for found in whole])


def layer_at(summary: Summary, budget: int) -> LayerFigures:
    """A layer's best point after `budget` samples."""
    point = summary.at(budget)
    loss, joules = point["loss"], point["energy_nj"] * 1e-9
    if summary.clock_ghz:
        seconds = point["cycles"] / (summary.clock_ghz * 1e9)
    else:
        # Each point has a clock of its own: its loss tells the time, if it is one.
        seconds = {"latency": loss, "edp": loss / joules}.get(summary.objective, math.nan)
    return LayerFigures(summary.repeats, loss, seconds, joules)


def _rows(
    group: Group, budget: int, figures: Mapping[str, FloatArray], base: str, cells: int
) -> list[Reduction]:
    centre = {name: (float(np.median(f)), float(f.min())) for name, f in figures.items() if len(f)}
    reference = centre.get(base, NO_RATIO)
    medians = {name: resampled_medians(group, name, figures[name], cells) for name in centre}
    rows = []
    for name, found in centre.items():
        row = _row(group, budget, name, found, reference, seeds=len(figures[name]))
        seeds = min(len(figures[name]), len(figures[base])) if base in figures else 0
        if name != base and seeds > 1 and not np.isnan(row.ratio_median):
            ends = ratio_interval(medians[name], medians[base], seeds)
            row = replace(row, low=ends[0], high=ends[1])
        rows.append(row)
    return rows


def resampled_medians(group: Group, searcher: str, figures: FloatArray, cells: int) -> FloatArray:
    """Medians over resampled seeds; the resamples are those of the names, at whatever budget.

    How many they are depends on the `cells` of the whole campaign.
    """
    rng = named_generator("reduction", group.network, group.objective, searcher)
    counts = draw_resamples(rng, len(figures), affordable_resamples(cells, RESAMPLES))
    return np.asarray(np.sort(figures)[middle_places(counts)].mean(axis=1), np.float64)


def ratio_interval(medians: FloatArray, reference: FloatArray, seeds: int) -> tuple[float, float]:
    """The 95 % confidence interval of the ratio of two figures, each resampled from so many seeds."""
    with np.errstate(invalid="ignore"):
        ratios = medians / reference
    # Where neither has found anything feasible, neither is better.
    return confidence_interval(np.where(np.isnan(ratios), 1.0, ratios), seeds, groups=2)


def template_rows(
    points: Mapping[str, Mapping[NamedTriple, LayerFigures]],
    group_of: Mapping[NamedTriple, Group],
    rows: Sequence[Reduction],
    reference: str,
) -> list[Reduction]:
    """Rows for fixed mappings, such as dataflow templates, beside those of searchers.

    `points` holds, for each template, the figures of the problems that it is feasible for. A template has
    a row where that is all of a group's. They draw no samples, so they stand at every budget.
    """
    found: list[Reduction] = []
    references = {
        (row.network, row.objective, row.budget): (row.median, row.best)
        for row in rows
        if row.searcher == reference
    }
    members: dict[Group, list[NamedTriple]] = defaultdict(list)
    for problem, group in group_of.items():
        members[group].append(problem)
    by_names = {(group.network, group.objective): group for group in members}
    for network, objective, budget in dict.fromkeys((r.network, r.objective, r.budget) for r in rows):
        group = by_names[network, objective]
        figures = references.get((network, objective, budget), NO_RATIO)
        for template, at in points.items():
            if all(problem in at for problem in members[group]):
                figure = group.figure([at[problem] for problem in members[group]])
                found.append(_row(group, budget, template, (figure, figure), figures))
    return found


def _row(
    group: Group,
    budget: int,
    searcher: str,
    figures: tuple[float, float],
    reference: tuple[float, float],
    seeds: int = 0,
) -> Reduction:
    median, best = (
        figure / base if np.isfinite(base) else np.nan
        for figure, base in zip(figures, reference, strict=True)
    )
    return Reduction(group.network, group.objective, budget, searcher, *figures, median, best, seeds)
