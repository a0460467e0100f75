"""What `dse evaluate` shows of one mapping, onto two levels or any number of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from dse.cli import output
from dse.cli.detail_view import show_detail
from dse.support.quantities import energy, quantity

if TYPE_CHECKING:
    from rich.console import Console

    from dse.core.evaluation import Evaluation

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
        console.print(f"not feasible: {evaluation.reason}", style="red")
    else:
        asked = objective.split(", ") if objective else []
        claim = f"feasible: {', '.join(f'{name} {losses[name]}' for name in asked)}".removesuffix(": ")
        console.print(claim, style="green")
    if evaluation.breakdown:
        rows = [*_figures(evaluation.figures, units), *evaluation.breakdown.lines]
        output.print_table(console, "costs", ("figure", "value", ""), rows, figures=("value",))
    if evaluation.detail:
        show_detail(console, evaluation.detail, tensors=detail)
    if evaluation.feasible:
        rows = [(name, loss, _of_need(name)) for name, loss in losses.items()]
        output.print_table(console, "loss by objective", ("objective", "loss", ""), rows, figures=("loss",))


def _figures(figures: Mapping[str, Any], units: Mapping[str, str]) -> Iterator[Row]:
    yield "cycles", figures["cycles"], ""
    yield "MACs", figures["macs"], ""
    yield "energy", energy(figures["energy_nj"]), ""
    if "power" in units:
        yield "power", quantity(figures["power"], units["power"]), ""
        whole = "as MAESTRO prints it" if "area_maestro" in units else "of the whole machine"
        yield "area", quantity(figures["area"], units.get("area_maestro", units["area"])), whole


def _of_need(objective: str) -> str:
    """What an area is of that is another one than that among the costs."""
    from dse.core.objective_terms import FIGURES

    figure = FIGURES.get(objective)
    return "of the PEs and buffers that the mapping needs" if figure and figure.of_need else ""
