"""What certificates under `timeloop` claim beyond their best mapping: its figures, and no better step.

The figures are computed again in plain Python, from the rules; the mappings one and two steps from the best
are priced, each in every order that the space has; and choices of storages and factors are ruled out by
bounds that are not the solver's, or priced (`choices`).
"""

from __future__ import annotations

from fractions import Fraction
from math import prod
from typing import Any

import numpy as np

from dse.core.certificate import Certificate
from dse.core.proofs import Check
from dse.domains.levels.problem import MachineProblem
from dse.domains.levels.tiles import boxes_of
from dse.models.timeloop import reference
from dse.models.timeloop.check.choices import check_choices

NEIGHBOURS = 200


def checks(problem: MachineProblem, certificate: Certificate, rng: np.random.Generator) -> tuple[Check, ...]:
    """The best mapping by the reference, and what is near it."""
    if certificate.best is None:
        return ()
    kept = (_kept(problem, certificate),) if problem.limits else ()
    near = _near(problem, certificate, rng)
    return *kept, _by_the_rules(problem, certificate), near, *check_choices(problem, certificate, rng)


def _kept(problem: MachineProblem, certificate: Certificate) -> Check:
    """Whether the best mapping keeps each limit, counted from its loops."""
    best, machine, workload = certificate.best, problem.accelerator, problem.space.workload
    assert best is not None
    mapping: Any = best.mapping
    whole = prod(level.fan_out for level in machine.levels)
    boxes, holds, seen = boxes_of(workload, mapping), True, []
    uses = {"pe_use": Fraction(prod(n for level in mapping.levels for _, n in level.spatial), whole)}
    words = [0] * len(machine.levels)
    for place, mapped in enumerate(mapping.levels):
        held = machine.levels[place].holds
        kept = [one for one in workload.tensors if one.name in mapped.keep and one.name not in held]
        words[machine.storages[place]] += sum(one.room(boxes[2 * place]) for one in kept)
    for level, need in zip(machine.levels, words, strict=True):
        if level.room:
            uses.setdefault(f"{level.name}_use", Fraction(need, level.room))
    for text in problem.limits:
        figure, sign, share = text.rsplit(maxsplit=2)
        use, limit = uses[figure], Fraction(share)
        holds &= use <= limit if sign == "<=" else use >= limit
        seen.append(f"{figure} {float(use):.6g}")
    return Check("the best mapping keeps the limits", holds, ", ".join(seen))


def _by_the_rules(problem: MachineProblem, certificate: Certificate) -> Check:
    name, best = "the best mapping costs what the rules say", certificate.best
    assert best is not None
    mapping: Any = best.mapping
    costs = reference.evaluate_mapping(problem.space.workload, problem.accelerator, mapping)
    if not isinstance(costs, reference.Costs):
        return Check(name, False, costs.reason)
    same = costs.cycles == best.cycles and bool(
        np.isclose(costs.energy_pj * 1e-3, best.energy_nj, rtol=1e-12)
    )
    return Check(name, same, f"{costs.cycles:,} cycles, {costs.energy_pj * 1e-3:,.6g} nJ")


def _near(problem: MachineProblem, certificate: Certificate, rng: np.random.Generator) -> Check:
    best, space = certificate.best, problem.space
    assert best is not None
    here = np.array([best.genes], dtype=np.int64)
    once = np.concatenate([here, *(block.neighbours(here[0]) for block in space.blocks)])
    chosen = once[np.unique(rng.integers(len(once), size=NEIGHBOURS))]
    twice = [block.neighbours(vector) for vector in chosen for block in space.blocks]
    points = np.unique(np.concatenate([once, *twice]), axis=0)
    beaten = certificate.beaten_by(problem.price(points).loss)
    return Check("no mapping two steps away beats it", beaten is None, beaten or f"{len(points):,} priced")
