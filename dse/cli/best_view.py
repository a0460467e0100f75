"""The best mappings in words, as `dse search` and `dse certify` both show them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.cli.detail_view import show_detail
from dse.core.layer import in_all
from dse.core.objective import OBJECTIVES, objective_named
from dse.support.quantities import energy, quantity

if TYPE_CHECKING:
    from rich.console import Console

    from dse.core.certificate import Incumbent
    from dse.core.problem import AnyProblem
    from dse.search.api import Best

DIGITS = 6
"""Of a best mapping's figures: near the optimum mappings differ in the fifth."""


def show_best(
    console: Console, problem: AnyProblem, claim: str, best: Best | Incumbent, *, detail: bool
) -> None:
    """Print what is claimed of the best mapping, its figures, and the mapping as a nest of loops.

    Where its cycles, energy and words go comes with it on machines of levels, on others with `detail`.
    """
    spent = energy(best.energy_nj, DIGITS)
    console.print(f"{claim}: {best.cycles:,} cycles, {spent}, {problem.needs(best.mapping)}", style="green")
    show_all_runs(console, problem.layer, best.cycles, best.energy_nj)
    console.print(problem.nest(best.mapping))
    parts = problem.detail(best.mapping) if detail or problem.shows_detail else None
    if parts is not None:
        show_detail(console, parts, tensors=detail)
    elif detail:
        console.print(f"cost model {problem.model.name!r} does not say where they go")


def within_limits(problem: AnyProblem) -> str:
    """What a heading says of the problem's limits; nothing without any."""
    limits = problem.options.get("limits", ())
    return f", {', '.join(limits)}" if limits else ""


def show_all_runs(console: Console, layer: object, cycles: int, energy_nj: float) -> None:
    """Say what the layer takes in all, where it is run more than once, as groups and heads are."""
    found = in_all(layer, cycles, energy_nj).get("in_all", {"repeats": 1})
    if found["repeats"] > 1:
        spent = energy(found["energy_nj"], DIGITS)
        console.print(
            f"that is one of the {found['repeats']:,} equal runs of the layer; all of them take "
            f"{found['cycles']:,} cycles, {spent}",
            style="yellow",
        )


def best_figures(best: Mapping[str, Any], unit: str) -> tuple[object, ...]:
    """The loss, the cycles and the energy of a network's layer, for a table; nothing where it has no best."""
    if not best:
        return (None,) * 3
    return quantity(best["loss"], unit), best["cycles"], energy(best["energy_nj"])


def show_totals(console: Console, data: Mapping[str, Any]) -> None:
    """Print what a network's layers come to, if all of them have a mapping, and what that is the least of."""
    totals, objective = data["totals"], data["objective"]
    if totals:
        latency, spent = quantity(totals["latency"], "s", DIGITS), quantity(totals["energy"], "J", DIGITS)
        edp, own = quantity(totals["edp"], "J s", DIGITS), ""
        if objective in totals and objective not in OBJECTIVES:
            own = f", {objective} {quantity(totals[objective], objective_named(objective).unit, DIGITS)}"
        console.print(f"whole network: {latency}, {spent}, EDP {edp}{own}", style="green")
        name = "EDP" if objective == "edp" else objective
        layers, several = len(data["layers"]), len(objective_named(objective).terms) > 1
        how = f" Each layer's {name} was minimised by itself"
        how += ", which need not make the network's the least." if several else "."
        console.print(
            f"totals: {layers:,} distinct layer{'s' * (layers != 1)}, each times its repeats; EDP is total "
            f"energy times total latency.{'' if 'total' in data else how}"
        )
    else:
        late = data.get("status") == "bounded"
        why = "of some layer no mapping was found in time" if late else "some layer has no feasible mapping"
        console.print(f"no totals: {why}", style="red")


def show_folder(console: Console, out: Path | None) -> None:
    """Say where the results are, if they are anywhere."""
    if out is not None:
        console.print(f"written to {out}")
