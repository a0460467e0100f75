"""A campaign as its folder tells it: what it was, which cells are done, what is known to be best."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from dse.analysis.fronts import judged_by_hypervolume
from dse.analysis.reduction import Group, NamedTriple, budgets_up_to, problem_of, sections_of_problems
from dse.analysis.sources import read_folder
from dse.campaign.curves import CURVES
from dse.campaign.summary import Summary
from dse.core.chains import TILES_IN_WORDS
from dse.core.cost_models import unit_of
from dse.core.domains import problem_from_definition
from dse.core.objective import known_objective, names_several
from dse.core.problem import AnyProblem
from dse.support.errors import InputError, format_exception, shorten

OPTIMAL = "optimal"
OLD_FOLDER = (
    "This folder does not say what the problem was in full, as those of older versions do not. Running the "
    "campaign again with “dse run” adds that without repeating a cell."
)
Triple = NamedTriple
"""A problem by the names of its layer (`vgg16:conv1_2`), accelerator and objective."""


@dataclass(frozen=True)
class Study:
    """A campaign's finished cells and what it says of itself (`about`, as `curves.parquet` keeps it)."""

    folder: Path
    about: dict[str, Any]
    summaries: tuple[Summary, ...]

    @property
    def name(self) -> str:
        """The campaign's name."""
        return str(self.about["campaign"])

    @property
    def budget(self) -> int:
        """Samples a cell, of the searchers that have all."""
        return int(self.about["budget"])

    @property
    def seeds(self) -> int:
        """How many seeds each searcher has on each problem when all is done, if it has all."""
        return int(self.about["seeds"])

    def budget_of(self, searcher: str) -> int:
        """Samples a cell of that searcher: the campaign may give it fewer than others."""
        return int(self._limits.get(searcher, {}).get("budget", self.budget))

    def seeds_of(self, searcher: str) -> int:
        """How many seeds that searcher has on each problem when all is done."""
        return int(self._limits.get(searcher, {}).get("seeds", self.seeds))

    def begins(self, searcher: str) -> str:
        """With what that searcher began, in words, such as `random`; empty where the folder does not say."""
        return str(self.about.get("begins", {}).get(searcher, ""))

    @cached_property
    def cut(self) -> tuple[str, ...]:
        """The searchers whose budget is smaller than the campaign's: no figure goes beyond it."""
        return tuple(name for name in self.searchers if self.budget_of(name) < self.budget)

    @cached_property
    def budgets(self) -> tuple[int, ...]:
        """The budgets at which tables read the runs: the usual ones, and each searcher's own."""
        return tuple(sorted({*budgets_up_to(self.budget), *map(self.budget_of, self.searchers)}))

    def budgets_of(self, *searchers: str) -> tuple[int, ...]:
        """Those of the tables' budgets that all of some searchers have."""
        least = min(map(self.budget_of, searchers))
        return tuple(budget for budget in self.budgets if budget <= least)

    @property
    def cost_model(self) -> str:
        """The cost model of all problems."""
        return str(self.about["cost_model"])

    @property
    def tiles(self) -> str:
        """Which tiles the problems' mappings have, in words; empty in a folder that does not say it."""
        kinds = {each.get("tiles") for each in self.about.get("definitions", {}).values()}
        kind = kinds.pop() if len(kinds) == 1 else None
        return TILES_IN_WORDS.get(kind or "", "")

    def unit(self, objective: str) -> str:
        """The unit of an objective's figures under the campaign's model; empty for one that is not ours."""
        return unit_of(objective, self.cost_model) if known_objective(objective) else ""

    @cached_property
    def of_fronts(self) -> bool:
        """Whether the problems have several objectives: all have, or none has."""
        return any(names_several(objective) for _, _, objective in self.problems)

    @cached_property
    def searchers(self) -> tuple[str, ...]:
        """The searchers' names in the campaign's order."""
        return tuple(self.about["searchers"])

    @cached_property
    def problems(self) -> tuple[Triple, ...]:
        """The problems in the campaign's order."""
        return tuple(
            (layer, accelerator, objective) for layer, accelerator, objective in self.about["problems"]
        )

    @cached_property
    def groups(self) -> dict[Triple, Group]:
        """From each problem to what its figures are part of: a whole network, or the layer alone."""
        return sections_of_problems(self.problems, {tuple(names) for names in self.about.get("networks", [])})

    @property
    def reference(self) -> str:
        """Whom the others are compared with: as the campaign says, or else its first searcher."""
        named = self.about.get("reference")
        return named if named in self.searchers else self.searchers[0]

    @property
    def baseline(self) -> str | None:
        """Whose samples the headline counts the reference's against, where the campaign names one."""
        named = self.about.get("baseline")
        return named if named in self.searchers else None

    @property
    def reprice(self) -> tuple[str, ...]:
        """The other cost models that are to price the winners too: those that the campaign names."""
        return tuple(self.about.get("reprice", ()))

    def published(self, network: str, objective: str) -> dict[str, dict[str, float]]:
        """Ratios to the reference that others have published, by source and searcher."""
        found: dict[str, dict[str, float]] = defaultdict(dict)
        for entry in self.about.get("published", []):
            if (entry["network"], entry["objective"]) == (network, objective):
                found[entry["source"]] |= entry["ratios"]
        return found

    @property
    def looks(self) -> dict[str, Any]:
        """How the campaign wants searchers drawn, by name; those that it says nothing of are not in it."""
        return dict(self.about.get("looks", {}))

    @property
    def planned(self) -> int:
        """How many cells the campaign has when all is done."""
        return len(self.problems) * sum(map(self.seeds_of, self.searchers))

    @cached_property
    def solved(self) -> tuple[Triple, ...]:
        """The problems for which anything feasible is known: those that figures over all problems are of."""
        return tuple(problem for problem in self.problems if np.isfinite(self.target(problem)[0]))

    @cached_property
    def missing(self) -> dict[str, int]:
        """How many cells are not done, by searcher; searchers that lack none are left out."""
        done = Counter(summary.searcher for summary in self.summaries)
        each = {name: len(self.problems) * self.seeds_of(name) for name in self.searchers}
        return {name: count - done[name] for name, count in each.items() if done[name] < count}

    @cached_property
    def complete(self) -> tuple[str, ...]:
        """The searchers with a finished cell on every problem: those that can be aggregated."""
        return tuple(name for name in self.searchers if all(self.cells(p, name) for p in self.problems))

    def cells(self, problem: Triple, searcher: str) -> tuple[Summary, ...]:
        """The finished cells of a searcher on a problem, by seed."""
        return self._cells.get((problem, searcher), ())

    def label(self, problem: Triple) -> str:
        """The problem in a few words: `vgg16:conv1_2 on edge, edp`."""
        layer, accelerator, objective = problem
        return f"{layer} on {accelerator}, {objective}"

    def machine(self, accelerator: str) -> str:
        """An accelerator as the campaign names it, with the name that it has itself, if it has one."""
        own = self.about.get("machines", {}).get(accelerator)
        return f"{accelerator} ({own})" if own and own != accelerator else accelerator

    def make_problem(self, problem: Triple) -> AnyProblem | None:
        """The problem itself, from its definition; None in a folder that an older version wrote."""
        definition = self.about.get("definitions", {}).get(self.label(problem))
        if definition is None:
            return None
        return problem_from_definition(definition, self.cost_model, problem[0])

    def target(self, problem: Triple) -> tuple[float, bool]:
        """The lowest loss known, and whether it is proven that none is lower; `inf` where none is known.

        Known is what was proven, what any cell found, and the certifier's own best.
        """
        return self._targets[problem]

    def bound(self, problem: Triple) -> float:
        """The loss below which it is proven that there is none; NaN where nothing is proven."""
        return float(self.about.get("optima", {}).get(self.label(problem), {}).get("lower_bound", np.nan))

    @property
    def proofs_to_come(self) -> bool:
        """Whether optima are not proven yet: a campaign proves them when its last cell is done."""
        return bool(self.missing) and not self.about.get("optima")

    @cached_property
    def beaten(self) -> tuple[Summary, ...]:
        """The cells that are below what was proven to be the least: there a certificate is wrong."""
        return tuple(cell for cell in self.summaries if cell.best < self.bound(problem_of(cell)))

    @property
    def _limits(self) -> dict[str, dict[str, int]]:
        return self.about.get("limits", {})  # type: ignore[no-any-return]

    @cached_property
    def _cells(self) -> dict[tuple[Triple, str], tuple[Summary, ...]]:
        groups: dict[tuple[Triple, str], list[Summary]] = defaultdict(list)
        for summary in sorted(self.summaries, key=lambda summary: summary.seed):
            groups[problem_of(summary), summary.searcher].append(summary)
        return {key: tuple(found) for key, found in groups.items()}

    @cached_property
    def _targets(self) -> dict[Triple, tuple[float, bool]]:
        best: dict[Triple, float] = dict.fromkeys(self.problems, np.inf)
        for summary in self.summaries:
            best[problem_of(summary)] = min(best[problem_of(summary)], summary.best)
        return {problem: self._target(problem, found) for problem, found in best.items()}

    def _target(self, problem: Triple, found: float) -> tuple[float, bool]:
        optimum = self.about.get("optima", {}).get(self.label(problem))
        if optimum is None:
            # Of several objectives, 1 is the best known by what it is.
            return min(found, 1.0) if names_several(problem[2]) and np.isfinite(found) else found, False
        if optimum["status"] == OPTIMAL and found >= optimum["lower_bound"]:
            return float(optimum["lower_bound"]), True
        return min(found, float(optimum["loss"])), False


def load_study(folder: Path) -> Study:
    """The study of the campaign in `folder`; InputError where there is none or what is there is damaged."""
    summaries, about = read_folder(folder)
    path = folder / CURVES
    study = Study(folder, about, tuple(judged_by_hypervolume(summaries, about)))
    try:
        problems, searchers = set(study.problems), set(study.searchers)
        _ = study.seeds, study.name, study.budgets, study.cost_model, study.reference, study.planned
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"{str(path)!r} does not say what its campaign was: {format_exception(error)}"
        ) from None
    for summary in study.summaries:
        if problem_of(summary) not in problems or summary.searcher not in searchers:
            raise InputError(f"{str(path)!r} is damaged: its campaign has no cell {shorten(summary.key)}")
    return study


@dataclass(frozen=True)
class Made:
    """A problem, or else why there is none."""

    problem: AnyProblem | None
    why_not: str = ""


def make_problems(study: Study) -> Mapping[Triple, Made]:
    """Every problem of the study."""
    return {problem: _make(study, problem) for problem in study.problems}


def _make(study: Study, problem: Triple) -> Made:
    try:
        made = study.make_problem(problem)
    except (AttributeError, InputError, KeyError, TypeError, ValueError) as error:
        return Made(None, f"What this folder says of the problem cannot be read: {error}")
    return Made(made, "" if made else OLD_FOLDER)
