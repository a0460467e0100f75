"""What a policy for mappings is worth: the least loss among samples drawn by it, on a problem."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.core.domains import hardware_from_dict, make_problem
from dse.core.layer import Layer
from dse.core.problem import AnyProblem
from dse.search.abilities import abilities_of
from dse.search.evaluator import Progress
from dse.search.keeping import Kept
from dse.search.run import Cell, run_cell
from dse.search.searcher import Searcher, default_searcher, make_searcher
from dse.support.arrays import FloatArray
from dse.support.errors import InputError

if TYPE_CHECKING:
    from learners.policy import Policy
    from learners.qat import Rounding


@dataclass(frozen=True)
class MappingTrial:
    """A policy for mappings: a run is a search by it alone, of so many samples."""

    about: Mapping[str, Any]
    problem: AnyProblem
    samples: int
    runs: int

    @property
    def quality(self) -> str:
        """What is measured, in words."""
        return f"{self.problem.objective} of the best of {self.samples:,} samples"

    def measure(self, policy: Policy) -> FloatArray:
        """The least loss of each run; infinite where nothing feasible was drawn."""
        from learners.policy import save_policy

        with TemporaryDirectory(prefix="dse-policy-") as folder:
            save_policy(policy, Path(folder), dict(self.about))
            player = make_searcher(default_searcher("player"), {"folder": folder})
            return np.array([self._least(player, run) for run in range(self.runs)])

    def teach(self, rounding: Rounding) -> Policy:
        """By the search that taught it, rounding from half of its samples on."""
        from learners.policy import load_policy
        from learners.qat import learn_with_rounding

        def watch(progress: Progress) -> None:
            rounding.on = 2 * progress.samples >= progress.budget

        cell = teaching_cell(self.about)
        with TemporaryDirectory(prefix="dse-policy-") as folder:
            kept = Kept(Path(folder))
            with learn_with_rounding(rounding):
                run_cell(cell, observers=[watch], keep=kept)
            kept.save(cell.name, dict(self.about))
            return load_policy(Path(folder)).policy

    def worse(self, full: FloatArray, few: FloatArray) -> FloatArray:
        """By what share losses are higher, in the geometric mean over runs."""
        with np.errstate(invalid="ignore"):
            higher: FloatArray = np.exp((np.log(few) - np.log(full)).mean(-1)) - 1
        return higher

    def _least(self, player: Searcher, run: int) -> float:
        cell = _Drawn(self.problem, "player", player, run, self.samples)
        record = run_cell(cell)
        best = record.best
        return np.inf if best is None else float(record.evaluations(best, best + 1).loss[0])


class _Drawn(Cell):
    """A search whose randomness does not depend on what it searches with, for runs to be paired."""

    def rng(self) -> np.random.Generator:
        """The run's generator."""
        return np.random.default_rng([self.seed, self.budget])


def teaching_cell(about: Mapping[str, Any]) -> Cell:
    """The search that taught a policy. InputError where it cannot be set up again."""
    try:
        search = about["search"]
        searcher = make_searcher(search["searcher"], search["settings"])
        if not abilities_of(searcher).has_policy:
            raise InputError(f"searcher {search['searcher']!r} learns no policy")
        return Cell(taught_on(about), search["searcher"], searcher, search["seed"], search["budget"])
    except (KeyError, TypeError) as error:
        raise InputError(f"the policy does not say by which search it was taught: {error}") from None


def taught_on(about: Mapping[str, Any]) -> AnyProblem:
    """The problem that a policy was taught on. InputError where it cannot be set up again."""
    try:
        said = about["search"]["problem"]
        space, model = said["space"], said["cost_model"]
        made = make_problem(
            Layer.from_dict(said["layer"]),
            hardware_from_dict(said["accelerator"], model),
            said["objective"],
            model,
            space["tiles"],
            space["fixed"],
            area_budget=said.get("area_budget"),
        )
    except (KeyError, TypeError, InputError) as error:
        raise InputError(
            f"the problem that the policy was taught on cannot be set up again ({error}): name --layer and "
            "--accelerator"
        ) from None
    if json.loads(json.dumps(made.space.identity)) != space:
        raise InputError(
            "the policy was taught on a space of its own, which is not set up again: name --layer and "
            "--accelerator"
        )
    return made
