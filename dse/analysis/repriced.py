"""What a campaign's winners cost under another cost model, and what becomes of the ranking there.

A winner is the best mapping of a run at the end of its budget; the other model prices it as it prices any
mapping: `loopnest` on the layer with its stride and padding, `maestro` on the lowered layer.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from dse.analysis.findings import RESAMPLES
from dse.analysis.ranking import Contender, Ranking, Resampled, rank_searchers
from dse.analysis.reduction import Group, LayerFigures, layer_at, resampled_medians, seed_figures
from dse.analysis.runs import Runs
from dse.analysis.stats.bootstrap import interquartile_mean, resampled_interquartile_means, side_by_side
from dse.analysis.study import Made, Study, Triple, make_problems
from dse.campaign.summary import Summary
from dse.core.cost_models import cost_model
from dse.core.objective import names_several
from dse.core.reasons import Reason
from dse.support.errors import InputError

NOT_RECORDED = "This folder does not keep the winners' mappings."
UNPRICED = LayerFigures(1, math.inf, math.inf, math.inf)


@dataclass(frozen=True)
class Winner:
    """A run's best mapping under the other model: infinite figures, and the reason, where it is infeasible.

    A run that has found nothing feasible has no winner: its reason is None.
    """

    point: LayerFigures = UNPRICED
    reason: Reason | None = None


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
    problems: int
    unpriced: Mapping[str, int]
    overall: Ranking | None = None
    groups: tuple[Ranking, ...] = ()
    winners: int = 0
    infeasible: Mapping[str, int] = field(default_factory=dict)
    lowered: bool = False

    @property
    def rankings(self) -> tuple[Ranking, ...]:
        """All rankings, that over all problems first."""
        return self.groups if self.overall is None else (self.overall, *self.groups)


def reprice_winners(study: Study, resamples: int = RESAMPLES) -> tuple[Repriced, ...]:
    """The winners of all cells of a study by each of the models that it names; no budget is touched."""
    if not study.reprice:
        return ()
    runs = Runs(study, resamples)
    return tuple(_reprice_by(runs, model) for model in study.reprice)


def _reprice_by(runs: Runs, other: str) -> Repriced:
    """The winners of a study's runs by one other model, which may be one that cannot be loaded."""
    study = runs.study
    try:
        strides = cost_model(other).prices_strides
    except InputError as error:
        return Repriced(study.cost_model, other, len(study.problems), {str(error): len(study.problems)})
    winners, unpriced = _priced(study, other)
    count, infeasible = _counted([one for found in winners.values() for one in found])
    definitions = study.about.get("definitions", {}).values()
    return Repriced(
        study.cost_model,
        other,
        len(study.problems),
        unpriced,
        _overall(runs, winners),
        tuple(_groups(study, winners)),
        count,
        infeasible,
        lowered=bool(winners) and strides and any(one.get("lowered") for one in definitions),
    )


def _priced(study: Study, model: str) -> tuple[Winners, dict[str, int]]:
    """The winners, and on how many problems they are not priced, by reason."""
    found: dict[tuple[Triple, str], tuple[Winner, ...]] = {}
    failed: Counter[str] = Counter()
    for problem, made in make_problems(study).items():
        cells = {name: study.cells(problem, name) for name in study.searchers}
        try:
            priced = _price(made, [cell for mine in cells.values() for cell in mine], model)
        except InputError as error:
            failed[str(error)] += 1
            continue
        for name, mine in cells.items():
            if mine:
                found[problem, name] = tuple(priced.get(cell.key, Winner()) for cell in mine)
    return found, dict(failed)


def _price(made: Made, cells: Sequence[Summary], model: str) -> dict[str, Winner]:
    """The winners of a problem's cells, by key, in one batch. InputError says why they cannot be priced."""
    if made.problem is None:
        raise InputError(made.why_not)
    cells = [cell for cell in cells if math.isfinite(cell.best)]
    if not cells:
        return {}
    if names_several(made.problem.objective):
        raise InputError("Of several objectives no single mapping wins")
    if any(not cell.genes for cell in cells):
        raise InputError(NOT_RECORDED)
    try:
        priced = made.problem.with_changes(cost_model=model).price(
            np.array([cell.genes for cell in cells], dtype=np.int64)
        )
    except ValueError as error:
        raise InputError(f"A winner's mapping cannot be read from this folder: {error}") from None
    found = {}
    for place, cell in enumerate(cells):
        reason = Reason(int(priced.reason[place]))
        point = replace(UNPRICED, repeats=cell.repeats)
        if reason is Reason.FEASIBLE:
            seconds = float(priced.cycles[place]) * made.problem.accelerator.cycle_seconds
            joules = float(priced.energy_nj[place]) * 1e-9
            point = LayerFigures(cell.repeats, float(priced.loss[place]), seconds, joules)
        found[cell.key] = Winner(point, reason)
    return found


def _counted(winners: Sequence[Winner]) -> tuple[int, dict[str, int]]:
    """How many winners there are, and how many of them are infeasible, by reason, the commonest first."""
    found = Counter(one.reason for one in winners if one.reason is not None)
    infeasible = {r.name.lower(): count for r, count in found.most_common() if r is not Reason.FEASIBLE}
    return found.total(), infeasible


def _overall(runs: Runs, winners: Winners) -> Ranking | None:
    """Of the searchers with runs on every problem, of the whole budget: ratios to the least loss known.

    By the campaign's model that is the target of the study, by the other the best of all winners. Problems
    without a feasible winner under either are left out.
    """
    least: dict[Triple, float] = {}
    for (problem, _), found in winners.items():
        least[problem] = min([least.get(problem, np.inf), *(one.point.loss for one in found)])
    problems = [problem for problem in runs.targets if np.isfinite(least.get(problem, np.inf))]
    if not problems or not runs.whole:
        return None
    entries = {}
    for name in runs.whole:
        strata = {problem: runs.strata[problem, name] for problem in problems}
        counts = side_by_side([stratum.counts for stratum in strata.values()])
        ratios = (
            [stratum.final / runs.targets[problem] for problem, stratum in strata.items()],
            [np.array([one.point.loss for one in winners[p, name]]) / least[p] for p in problems],
        )
        logs = [np.log(np.concatenate(each)) for each in ratios]
        own, other = (
            Resampled(
                float(np.exp(interquartile_mean(each))), np.exp(resampled_interquartile_means(each, counts))
            )
            for each in logs
        )
        mine = [one for problem in problems for one in winners[problem, name]]
        entries[name] = Contender(own, other, min(len(s.cells) for s in strata.values()), *_counted(mine))
    return rank_searchers("", "", len(problems), entries)


def _groups(study: Study, winners: Winners) -> Iterator[Ranking]:
    """The groups of the reduction table of which every problem is priced: medians of figures over seeds."""
    members: dict[Group, list[Triple]] = defaultdict(list)
    for problem, group in study.groups.items():
        members[group].append(problem)
    for group, problems in members.items():
        entries = {}
        for name in (name for name in study.searchers if name not in study.cut):
            entry = _of_group(study, winners, group, problems, name)
            if entry is not None:
                entries[name] = entry
        if entries:
            yield rank_searchers(group.network, group.objective, len(problems), entries)


def _of_group(
    study: Study, winners: Winners, group: Group, problems: list[Triple], name: str
) -> Contender | None:
    """A searcher's figures of a group, over the seeds that have all of its layers."""
    if not all((problem, name) in winners for problem in problems):
        return None
    both = [
        (cell, winner)
        for problem in problems
        for cell, winner in zip(study.cells(problem, name), winners[problem, name], strict=True)
    ]
    own = seed_figures(group, ((cell.seed, layer_at(cell, study.budget)) for cell, _ in both), len(problems))
    other = seed_figures(group, ((cell.seed, winner.point) for cell, winner in both), len(problems))
    if not len(own):
        return None
    before, after = (
        Resampled(float(np.median(found)), resampled_medians(group, name, found, len(study.summaries)))
        for found in (own, other)
    )
    return Contender(before, after, len(own), *_counted([winner for _, winner in both]))
