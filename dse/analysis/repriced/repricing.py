"""All winners of a campaign priced by the other cost model: over all problems, and by network."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from dse.analysis.findings import RESAMPLES
from dse.analysis.problems import make_problems
from dse.analysis.reduction import Group, layer_at, resampled_medians, seed_figures
from dse.analysis.repriced.pricing import Winner, price_winners, reasons
from dse.analysis.repriced.ranking import Contender, Ranking, Resampled, rank
from dse.analysis.runs import Runs, Stratum
from dse.analysis.stats.bootstrap import interquartile_mean, resampled_interquartile_means, side_by_side
from dse.analysis.study import Study, Triple
from dse.core.cost_models import cost_model
from dse.support.errors import InputError

Winners = Mapping[tuple[Triple, str], tuple[Winner, ...]]
"""The winners of each searcher on each problem that is priced, in the order of its cells."""


@dataclass(frozen=True)
class Repriced:
    """What a campaign's winners cost under the `other` model.

    `overall` is None where nothing can be compared. `infeasible` counts, by reason, those of the `winners`
    that the other model does not take. `unpriced` counts, by reason, those of the `problems` whose winners
    could not be priced. `lowered` says that strided layers were priced without strides and paddings, as the
    folder does not keep them.
    """

    model: str
    other: str
    overall: Ranking | None
    groups: tuple[Ranking, ...]
    winners: int
    infeasible: Mapping[str, int]
    problems: int
    unpriced: Mapping[str, int]
    lowered: bool = False


def reprice(study: Study, resamples: int = RESAMPLES) -> tuple[Repriced, ...]:
    """The winners of all cells of a study by each of the models that it names; no budget is touched."""
    if not study.reprice:
        return ()
    runs = Runs(study, resamples)
    return tuple(reprice_by(runs, model) for model in study.reprice)


def reprice_by(runs: Runs, other: str) -> Repriced:
    """The winners of a study's runs by one other model, which may be one that cannot be loaded."""
    study = runs.study
    try:
        strides = cost_model(other).prices_strides
    except InputError as error:
        unpriced = {str(error): len(study.problems)}
        return Repriced(study.cost_model, other, None, (), 0, {}, len(study.problems), unpriced)
    winners, unpriced = _priced(study, other)
    every = [one for found in winners.values() for one in found if one.found]
    definitions = study.about.get("definitions", {}).values()
    return Repriced(
        study.cost_model,
        other,
        _overall(runs, winners),
        tuple(_groups(study, winners)),
        len(every),
        reasons(every),
        len(study.problems),
        unpriced,
        lowered=bool(winners) and strides and any(one.get("lowered") for one in definitions),
    )


def _priced(study: Study, model: str) -> tuple[Winners, dict[str, int]]:
    """The winners, and on how many problems they are not priced, by reason."""
    found: dict[tuple[Triple, str], tuple[Winner, ...]] = {}
    failed: dict[str, int] = defaultdict(int)
    for problem, made in make_problems(study).items():
        cells = [cell for name in study.searchers for cell in study.cells(problem, name)]
        try:
            priced = iter(price_winners(made, cells, model))
        except InputError as error:
            failed[str(error)] += 1
            continue
        for name in study.searchers:
            mine = study.cells(problem, name)
            if mine:
                found[problem, name] = tuple(next(priced) for _ in mine)
    return found, dict(failed)


def _overall(runs: Runs, winners: Winners) -> Ranking | None:
    """Of the searchers with runs on every problem, of the whole budget: ratios to the least loss known.

    By the campaign's model that is the target of the study, by the other the best of all winners. Problems
    without a feasible winner under either are left out.
    """
    least: dict[Triple, float] = {}
    for (problem, _), found in winners.items():
        least[problem] = min([least.get(problem, np.inf), *(one.loss for one in found)])
    problems = [problem for problem in runs.targets if np.isfinite(least.get(problem, np.inf))]
    if not problems or not runs.whole:
        return None
    entries = {}
    for name in runs.whole:
        strata = [runs.strata[problem, name] for problem in problems]
        own = [s.final / runs.targets[problem] for problem, s in zip(problems, strata, strict=True)]
        other = [
            np.array([one.loss for one in winners[problem, name]]) / least[problem] for problem in problems
        ]
        mine = [one for problem in problems for one in winners[problem, name]]
        seeds = min(len(stratum.cells) for stratum in strata)
        entries[name] = _entry(_typical(strata, own), _typical(strata, other), seeds, mine)
    return rank("", "", len(problems), entries)


def _typical(strata: Iterable[Stratum], ratios: Iterable[np.ndarray]) -> Resampled:
    """The interquartile mean of the ratios' logs, as a ratio."""
    logs = np.log(np.concatenate(list(ratios)))
    draws = resampled_interquartile_means(logs, side_by_side([stratum.counts for stratum in strata]))
    return Resampled(float(np.exp(interquartile_mean(logs))), np.exp(draws))


def _groups(study: Study, winners: Winners) -> Iterator[Ranking]:
    """The groups of the reduction table of which every problem is priced: medians of figures over seeds."""
    members: dict[Group, list[Triple]] = defaultdict(list)
    for problem, group in study.groups.items():
        members[group].append(problem)
    for group, problems in members.items():
        entries = {}
        for name in (name for name in study.searchers if name not in study.cut):
            if all((problem, name) in winners for problem in problems):
                entry = _network(study, winners, group, problems, name)
                if entry is not None:
                    entries[name] = entry
        if entries:
            yield rank(group.network, group.objective, len(problems), entries)


def _network(
    study: Study, winners: Winners, group: Group, problems: list[Triple], name: str
) -> Contender | None:
    """A searcher's figures of a group, over the seeds that have all of its layers."""
    own, other, mine = [], [], []
    for problem in problems:
        for cell, winner in zip(study.cells(problem, name), winners[problem, name], strict=True):
            own.append((cell.seed, layer_at(cell, study.budget)))
            other.append((cell.seed, winner.point))
            mine.append(winner)
    figures = [seed_figures(group, points, len(problems)) for points in (own, other)]
    if not len(figures[0]):
        return None
    before, after = (
        Resampled(float(np.median(found)), resampled_medians(group, name, found, len(study.summaries)))
        for found in figures
    )
    return _entry(before, after, len(figures[0]), mine)


def _entry(own: Resampled, other: Resampled, seeds: int, winners: list[Winner]) -> Contender:
    found = [one for one in winners if one.found]
    return Contender(own, other, seeds, len(found), reasons(found))
