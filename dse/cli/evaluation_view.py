"""What `dse evaluate` shows of one mapping, onto two levels or any number of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from dse.cli import output
from dse.cli.detail_view import show_detail
from dse.support.quantities import energy, quantity

if TYPE_CHECKING:
    from rich.console import Console

    from dse.domains.clustered.evaluation import Breakdown, BufferUse, Evaluation, LevelsBreakdown

Row = tuple[str, object, str]


def show_evaluation(
    console: Console, evaluation: Evaluation, objective: str | None, model: str, *, detail: bool = False
) -> None:
    """Print whether the mapping is feasible, its costs, where they go, and its loss by each objective."""
    from dse.core.cost_models import unit_of

    units = {name: unit_of(name, model) for name in evaluation.loss}
    losses = {
        name: None if loss is None else quantity(loss, units[name]) for name, loss in evaluation.loss.items()
    }
    if not evaluation.feasible:
        console.print(f"not feasible: {evaluation.reason}", style="red", soft_wrap=True)
    else:
        asked = objective.split(", ") if objective else []
        claim = f"feasible: {', '.join(f'{name} {losses[name]}' for name in asked)}".removesuffix(": ")
        console.print(claim, style="green")
    if evaluation.breakdown:
        rows = [*_figures(evaluation.figures, units), *_uses(evaluation.breakdown)]
        output.print_table(console, "costs", ("figure", "value", ""), rows, figures=("value",))
    if evaluation.detail:
        show_detail(console, evaluation.detail, tensors=detail)
    if evaluation.feasible:
        heads = ("objective", "loss")
        output.print_table(console, "loss by objective", heads, list(losses.items()), figures=heads[1:])


def _figures(figures: Mapping[str, Any], units: Mapping[str, str]) -> Iterator[Row]:
    yield "cycles", figures["cycles"], ""
    yield "MACs", figures["macs"], ""
    yield "energy", energy(figures["energy_nj"]), ""
    if "power" in units:
        yield "power", quantity(figures["power"], units["power"]), ""
        yield "area", quantity(figures["area"], units.get("area_maestro", units["area"])), ""


def _uses(found: Breakdown | LevelsBreakdown) -> Iterator[Row]:
    """How full the buffers are, and how busy the machine is."""
    from dse.domains.clustered.evaluation import Breakdown

    if not isinstance(found, Breakdown):
        yield from (_buffer(name, use, "words") for name, use in found.levels.items())
        yield "utilisation", f"{found.utilisation:.1%}", f"{found.ideal_cycles:,} cycles on all MACs at once"
        return
    yield _buffer("L1", found.l1, "elements per PE")
    yield _buffer("L2", found.l2, "elements")
    yield "utilisation", f"{found.utilisation:.1%}", f"{found.ideal_cycles:,} cycles on all PEs at once"
    yield "busy PEs", f"{found.busy_pes:.1%}", f"{found.busiest_pe_cycles:,} cycles on the busiest PE"
    yield "busy time", f"{found.busy_time:.1%}", f"the rest waits for data; bound by {found.bound}"


def _buffer(name: str, use: BufferUse, unit: str) -> Row:
    return name, use.needed, f"of {use.capacity:,} {unit}: {use.use:.1%}"
