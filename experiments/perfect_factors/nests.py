"""Both loop nests of the problems where perfect factors cost most, their proofs made anew."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping

from dse.core.certificate import OPTIMAL, Certificate
from dse.core.domains import make_problem
from dse.core.objective import objective_named
from dse.core.problem import AnyProblem
from dse.optimum import certify
from dse.support.quantities import energy_in_words, quantity_in_words
from experiments import keep
from experiments.perfect_factors.costs import Costs
from experiments.perfect_factors.page import COMMAND, NESTS, PAGE, SHOWN
from experiments.perfect_factors.problems import HEAD, MODEL
from experiments.perfect_factors.tables import per_cent
from workloads import load_layer


def title(place: int, row: Mapping[str, str]) -> str:
    """What stands above the two nests of the problem in that place."""
    layer, machine, objective = (row[name] for name in HEAD[:3])
    return f"## {place}. {layer}, {machine}, {objective}"


def part(place: int, row: Mapping[str, str], limit: float) -> str:
    """The title, what perfect factors cost, and both nests; what was proven once is proven to its end."""
    problem = make_problem(load_layer(row["layer"]), row["accelerator"], row["objective"], MODEL)
    factors = certify(problem, cache=False)
    any_tiles = problem.with_changes(tiles="any")
    seconds = None if row["status"] == OPTIMAL else limit
    found = certify(any_tiles, seconds, cache=False, now=time.process_time)
    losses = [one.best.loss if one.best else math.inf for one in (factors, found)]
    more = per_cent(losses[0] / losses[1] - 1)
    word = "" if found.status == OPTIMAL else "at least "
    return "\n\n".join(
        [
            title(place, row),
            f"Perfect factors cost {word}{more} %.",
            _nest("Perfect factors", problem, factors),
            _nest("Any tiles", any_tiles, found),
        ]
    )


def _nest(name: str, problem: AnyProblem, found: Certificate) -> str:
    """A mapping's figures and its loops."""
    best = found.best
    if best is None:
        return f"{name}: none found."
    loss = quantity_in_words(best.loss, objective_named(problem.objective).unit, 6)
    proof = found.status if found.status == OPTIMAL else f"not proven, gap {per_cent(found.gap)} %"
    figures = (
        f"{problem.objective} {loss} ({proof}), {best.cycles:,} cycles, {energy_in_words(best.energy_nj, 6)}"
    )
    return f"{name}: {figures}\n\n```\n{problem.nest(best.mapping).rstrip()}\n```"


def parts(costs: Costs, limit: float) -> Iterator[str]:
    """All that the file says, problem by problem."""
    yield (
        f"The {SHOWN} problems of [the table]({PAGE.name}) where perfect factors cost most, with the best "
        "mapping over perfect factors and the best over any tiles, proven anew."
    )
    for place, row in enumerate(costs.largest(SHOWN).rows, start=1):
        yield part(place, row, limit)


def show(costs: Costs, limit: float) -> None:
    """Write the file, no proof of which that was not had before takes longer than `limit` seconds."""
    keep(NESTS, COMMAND, *parts(costs, limit))
