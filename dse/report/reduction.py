"""The reduction table: each searcher's figure divided by the reference searcher's, per network and objective.

This is the form of Table III of "Multi-Agent Reinforcement Learning for Sample-Efficient Deep Neural Network
Mapping" (arXiv:2507.16249): a ratio above 1 says by how much the reference's mappings are better. A network's
figure is taken over those of its layers that the campaign has: latency and energy are sums over layers times
their repeats, EDP is total energy times total latency, area and power are those of the layer that needs most.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dse.campaign.summary import Summary

REFERENCE = "marl"
BUDGETS = (500, 2_000, 5_000, 20_000)

PAPER: Mapping[tuple[str, str], Mapping[str, float]] = {
    ("mobilenet_v2", "latency"): {
        "random": 3.05,
        "bayesian": 1.99,
        "genetic": 1.33,
        "gamma": 1.15,
        "ppo": 9.48,
    },
    ("vgg16", "latency"): {"random": 4.06, "bayesian": 1.48, "genetic": 1.28, "gamma": 1.14, "ppo": 32.6},
    ("mobilenet_v2", "edp"): {"gamma": 1.54, "ppo": 19.5},
}
"""The paper's ratios, recomputed from its figures where the printed ratio is a misprint (EDP)."""


@dataclass(frozen=True)
class Reduction:
    """One row: a searcher's median and best figure over seeds, and their ratios to the reference's.

    `seeds` counts the seeds with every layer of the network; figures are `inf` where more than half of them
    (the median) or all of them (the best) found nothing feasible. Ratios are NaN without a reference.
    """

    network: str
    objective: str
    budget: int
    searcher: str
    seeds: int
    median: float
    best: float
    ratio_median: float
    ratio_best: float


@dataclass(frozen=True)
class Layer:
    """What a network's figure needs of one layer's best point."""

    repeats: int
    loss: float
    seconds: float
    joules: float


def network_figure(objective: str, layers: Sequence[Layer]) -> float:
    """The network's figure from those of its layers, in the objective's unit; `inf` if a layer has none."""
    if objective == "edp":
        energy = sum(layer.joules * layer.repeats for layer in layers)
        return energy * sum(layer.seconds * layer.repeats for layer in layers)
    if objective in ("area", "power"):
        return max(layer.loss for layer in layers)
    return sum(layer.loss * layer.repeats for layer in layers)


def network_names(summaries: Iterable[Summary]) -> dict[tuple[str, str], str]:
    """What each (network, accelerator) is called: the network alone where it has one accelerator only."""
    machines: dict[str, set[str]] = defaultdict(set)
    for summary in summaries:
        machines[summary.network].add(summary.accelerator)
    return {
        (network, machine): network if len(names) == 1 else f"{network} on {machine}"
        for network, names in machines.items()
        for machine in names
    }


def reductions(summaries: Sequence[Summary], budgets: Sequence[int] | None = None) -> list[Reduction]:
    """The rows of the table, at each of `budgets` (by default BUDGETS up to the campaign's, and that)."""
    if not summaries:
        return []
    whole = max(summary.budget for summary in summaries)
    budgets = budgets or sorted({*(b for b in BUDGETS if b < whole), whole})
    names = network_names(summaries)
    groups: dict[tuple[str, str], dict[str, list[Summary]]] = defaultdict(lambda: defaultdict(list))
    for summary in summaries:
        group = names[summary.network, summary.accelerator], summary.objective
        groups[group][summary.searcher].append(summary)
    rows = []
    for (network, objective), by_searcher in groups.items():
        layers = {summary.layer for members in by_searcher.values() for summary in members}
        for budget in budgets:
            figures = {
                searcher: _figures(objective, members, layers, budget)
                for searcher, members in by_searcher.items()
            }
            rows += _rows(network, objective, budget, figures)
    return rows


def _figures(objective: str, members: Sequence[Summary], layers: set[str], budget: int) -> np.ndarray:
    """The network's figure after `budget` samples a layer, for each seed that has all layers."""
    by_seed: dict[int, list[Layer]] = defaultdict(list)
    for summary in members:
        by_seed[summary.seed].append(layer_at(summary, budget))
    whole = [found for _, found in sorted(by_seed.items()) if len(found) == len(layers)]
    return np.array([network_figure(objective, found) for found in whole])


def layer_at(summary: Summary, budget: int) -> Layer:
    """A layer's best point after `budget` samples."""
    point = summary.at(budget)
    seconds = point["cycles"] / (summary.clock_ghz * 1e9)
    return Layer(summary.repeats, point["loss"], seconds, point["energy_nj"] * 1e-9)


def _rows(network: str, objective: str, budget: int, figures: Mapping[str, np.ndarray]) -> list[Reduction]:
    centre = {name: (float(np.median(f)), float(f.min())) for name, f in figures.items() if len(f)}
    reference = centre.get(REFERENCE, (np.nan, np.nan))
    return [
        Reduction(
            network,
            objective,
            budget,
            name,
            len(figures[name]),
            median,
            best,
            _ratio(median, reference[0]),
            _ratio(best, reference[1]),
        )
        for name, (median, best) in centre.items()
    ]


def _ratio(figure: float, reference: float) -> float:
    return figure / reference if np.isfinite(reference) else np.nan


def template_rows(
    points: Mapping[str, Mapping[str, Layer]],
    problems: Mapping[str, tuple[str, str]],
    rows: Sequence[Reduction],
) -> list[Reduction]:
    """Rows for fixed mappings, such as dataflow templates, beside those of searchers.

    `points` holds each template's figures by problem label, `problems` the (network, objective) of a label.
    They draw no samples, so they stand at every budget with `seeds` 0.
    """
    found: list[Reduction] = []
    reference = {(r.network, r.objective, r.budget): r for r in rows if r.searcher == REFERENCE}
    for network, objective, budget in dict.fromkeys((r.network, r.objective, r.budget) for r in rows):
        labels = [label for label, group in problems.items() if group == (network, objective)]
        base = reference.get((network, objective, budget))
        for template, by_label in points.items():
            if any(label not in by_label for label in labels):
                continue
            figure = network_figure(objective, [by_label[label] for label in labels])
            ratios = (base.median, base.best) if base else (np.nan, np.nan)
            found.append(
                Reduction(
                    network,
                    objective,
                    budget,
                    template,
                    0,
                    figure,
                    figure,
                    *(_ratio(figure, r) for r in ratios),
                )
            )
    return found
