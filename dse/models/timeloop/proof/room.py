"""What sums of terms may be at most, for a mapping to fit and to be better than the best one.

What a level holds and spreads over, and a figure with a cap, are at most 1 in all problems; cycles, where
nothing but latency is minimised, are fewer than the best mapping's. Chains that no mapping within all these
can have are left out. Where `c` is what terms come to that are the same for all chains that are left, the
others are at most `m - c` in place of `m`. Relative to that a relaxation weighs them: near the least latency
nearly all of a level's transfers are no choice any more.
"""

from __future__ import annotations

import math

import numpy as np

from dse.core.objective import objective_named
from dse.domains.levels.problem import MachineProblem
from dse.models.timeloop.proof.records import Lines, Related, Table
from dse.models.timeloop.proof.tables import Sums
from dse.models.timeloop.proof.terms import CYCLES, ENERGY, LIMIT
from dse.support.arrays import BoolArray, FloatArray
from dse.support.jit import load_kernels

KERNEL = "dse.models.timeloop.proof.fitting"
MAX_LOG = 600.0
SLACK = 1e-9
"""By what share a bound may be off, as its sums are rounded."""


class Room:
    """The most that the groups of a problem may be. `is_tight` says whether that rules out much."""

    def __init__(self, problem: MachineProblem, sums: Sums) -> None:
        objective = objective_named(problem.objective)
        caps = {figure.name: cap for figure, cap in objective.caps}
        self.of_latency = objective.exponents == {"latency": 1}
        self.is_tight = self.of_latency or bool(caps)
        self._cap = caps.get("latency", math.inf) * float(problem.criteria.hertz)
        self._cycles = sums.groups.kinds == CYCLES
        self._of_energy = objective.exponents == {"energy": 1}
        self._energy = sums.groups.kinds == ENERGY
        self._limits = np.where(sums.groups.kinds == LIMIT, 1.0 + SLACK, np.inf)

    def most(self, target: float, *, of_loss: bool = True) -> FloatArray:
        """The most that each group may be, of mappings whose loss is below `target`, a logarithm.

        Without `of_loss` an energy that is minimised may be anything.
        """
        most = self._limits.copy()
        best = math.exp(target) * (1.0 + SLACK) if target < MAX_LOG else math.inf
        if self.of_latency:
            most[self._cycles] = best
        elif self._of_energy and of_loss:
            most[self._energy] = best
        return most

    def most_steps(self, target: float) -> float:
        """The most steps that a run may have."""
        if self.of_latency and target < MAX_LOG:
            return min(self._cap, math.exp(target))
        return self._cap

    def fitting(self, table: Table, lines: Lines, target: float) -> BoolArray | None:
        """Which chains may be part of a mapping within all that; None where there is none."""
        left = np.ones(table.offsets[-1], dtype=np.bool_)
        fits = load_kernels(KERNEL).keep_fitting(table, lines, self.most(target), left)
        return left if fits else None

    def related(self, table: Table, lines: Lines, target: float) -> Related:
        """Changes the coefficients of `lines` to shares of what is left."""
        most = self.most(target, of_loss=False)
        found = Related(np.empty(len(most)), np.empty(len(most)))
        load_kernels(KERNEL).relate(table, lines, most, found)
        return found

    def least_cycles(self, base: float, weights: FloatArray, related: Related, target: float) -> float:
        """The logarithm of the least cycles of a mapping whose shares, weighed, come to `base`, also one."""
        used = self._cycles & (weights > 0)
        if not used.any():
            return -math.inf
        found = load_kernels(KERNEL).least_cycles(
            base, weights[used], related.constants[used], related.rests[used], math.exp(target)
        )
        return math.log(found) - SLACK if found > 0 else -math.inf
