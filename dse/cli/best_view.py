"""The best mappings in words, as `dse search` and `dse certify` both show them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

    from dse.optimum.certificate import Incumbent
    from dse.problem.problem import Problem
    from dse.search.api import Best


def show_best(console: Console, problem: Problem, claim: str, best: Best | Incumbent) -> None:
    """Print what is claimed of the best mapping, its figures, and the mapping as a nest of loops."""
    console.print(
        f"{claim}: {best.cycles:,} cycles, {best.energy_nj:,.6g} nJ, {problem.needs(best.mapping)}",
        style="green",
        soft_wrap=True,
    )
    console.print(problem.nest(best.mapping), soft_wrap=True)


def show_totals(console: Console, data: Mapping[str, Any]) -> None:
    """Print what a network's layers come to, if all of them have a mapping, and what that is the least of."""
    totals, objective = data["totals"], data["objective"]
    if totals:
        console.print(
            f"whole network: {totals['latency']:.6g} s, {totals['energy']:.6g} J, "
            f"EDP {totals['edp']:.6g} J s",
            style="green",
            soft_wrap=True,
        )
        name = "EDP" if objective == "edp" else objective
        layers = len(data["layers"])
        console.print(
            f"totals: {layers:,} distinct layer{'s' * (layers != 1)}, each times its repeats; EDP is total "
            f"energy times total latency. Each layer's {name} was minimised by itself"
            + (", which need not make the network's the least." if objective == "edp" else "."),
            soft_wrap=True,
        )
    else:
        console.print("no totals: some layer has no feasible mapping", style="red", soft_wrap=True)


def show_folder(console: Console, out: Path | None) -> None:
    """Say where the results are, if they are anywhere."""
    if out is not None:
        console.print(f"written to {out}", soft_wrap=True)
