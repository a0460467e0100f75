"""`dse evaluate`: what one mapping costs, or every case of a file."""

from __future__ import annotations

import json as jsonlib
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dse.cli import output
from dse.cli.networks import note_merged
from dse.cli.options import (
    ACCELERATOR_OPTION,
    LAYER_OPTION,
    ConstantsFile,
    CostModelName,
    Json,
    Limit,
    chosen_model,
    complete_objective,
)
from dse.support.errors import InputError
from dse.support.quantities import energy_in_words, quantity_in_words

if TYPE_CHECKING:
    from rich.console import Console

    from dse.core.evaluation import Evaluation
    from dse.core.problem import AnyProblem, Design

Row = tuple[str, object, str]
CASES_SHOWN = 20
DEFAULT_OBJECTIVE = "latency"
"""Of the problem that a mapping is judged in, where none is named, as a search's: every loss is shown. A
judge that says no energy has this one."""
INFEASIBLE = 1
"""The exit code for a mapping that is not feasible, as for a search that found none that is."""
NANOJOULE = {"energy_nj": 1.0, "energy_uj": 1e3}
"""By figure of energy, what it is counted in."""


def command(
    layer: Annotated[str | None, LAYER_OPTION] = None,
    accelerator: Annotated[str | None, ACCELERATOR_OPTION] = None,
    mapping: Annotated[
        str | None,
        typer.Option(
            help="FILE.json, .m (MAESTRO), .yaml (Timeloop), a search's folder, or a template such as nvdla.",
            metavar="FILE|TEMPLATE",
        ),
    ] = None,
    objective: Annotated[
        str | None,
        typer.Option(
            help="Print first the loss under this objective.",
            metavar="OBJECTIVE",
            autocompletion=complete_objective,
        ),
    ] = None,
    cases: Annotated[
        str | None,
        typer.Option(
            help="JSON lines to price, each with layer, mapping and hardware; - is stdin.",
            metavar="FILE",
        ),
    ] = None,
    cost_model: CostModelName = None,
    constants: ConstantsFile = None,
    limit: Limit = None,
    detail: Annotated[
        bool,
        typer.Option(
            "--detail", help="On machines of levels, and of cases on them: words by tensor as well."
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Price a mapping, or the cases in a file."""
    model = chosen_model(cost_model, constants)
    named = {"--layer": layer, "--accelerator": accelerator, "--mapping": mapping}
    if cases is not None:
        given = {**named, "--objective": objective, "--limit": limit or None}
        extra = [name for name, value in given.items() if value is not None]
        if extra:
            raise InputError(f"{extra[0]} does not go with --cases: each case holds its own")
        _evaluate_cases(cases, model, detail, json)
        return
    missing = [name for name, value in named.items() if value is None]
    if layer is None or accelerator is None or mapping is None:
        raise InputError(f"evaluate needs {', '.join(missing)} (or --cases FILE)")
    _evaluate_mapping(layer, accelerator, mapping, objective, model, limit or [], json, detail=detail)


def _evaluate_mapping(
    layer: str,
    accelerator: str,
    mapping: str,
    objective: str | None,
    model: str,
    limits: list[str],
    json: bool,
    *,
    detail: bool,
) -> None:
    from dse.cli.best_view import show_all_runs
    from dse.core.domains import make_problem
    from dse.core.layer import in_all
    from dse.optimum.beside import find_mapping
    from workloads import load_layer

    named = objective or DEFAULT_OBJECTIVE
    problem = make_problem(load_layer(layer), accelerator, named, model, limits=limits)
    problem, found = find_mapping(problem, mapping)
    evaluation, objective = problem.judge(found), objective and problem.objective
    note_merged(layer)
    what = {"layer": layer, "accelerator": accelerator, "cost_model": model}
    what |= {"objective": objective} if objective else {}
    figures = evaluation.figures if evaluation.feasible else None
    if json:
        whole = in_all(problem.layer, figures["cycles"], figures["energy_nj"]) if figures else {}
        output.print_json({**evaluation.to_dict(), **what, **whole, "mapping": found.to_dict()})
    else:
        console = output.make_console()
        title = f"{mapping} mapping of {layer} ({problem.layer}) on {problem.accelerator.called(accelerator)}"
        output.print_heading(console, f"{title}, cost model {model}")
        show_evaluation(console, evaluation, objective, model, detail=detail)
        if figures:
            show_all_runs(console, problem.layer, figures["cycles"], figures["energy_nj"])
        console.print(_nest(problem, found))
    if not evaluation.feasible:
        raise typer.Exit(INFEASIBLE)


def _nest(problem: AnyProblem, mapping: Design) -> str:
    """The mapping as loops, or why it has none: sizes that no loop can have."""
    try:
        return problem.nest(mapping)
    except InputError as error:
        return f"no loop nest: {error}"


def _evaluate_cases(path: str, model: str, detail: bool, json: bool) -> None:
    from dse.core.domains import domain_of

    kind = domain_of(model)
    found = kind.price_cases(model, path, detail=detail)
    if json:
        sys.stdout.writelines(jsonlib.dumps(result, allow_nan=False) + "\n" for result in found)
    else:
        _show_cases(found, kind.case_figures)


def _show_cases(found: list[dict[str, Any]], heads: Mapping[str, str]) -> None:
    """A table of the first cases; `heads` are the figures' columns."""
    console = output.make_console()
    statuses = Counter(result["status"] for result in found)
    counts = f"{len(found):,} cases: {statuses['ok']:,} ok, {statuses['invalid']:,} invalid"
    rows = [
        (number, *(_shown(figure, result[figure]) for figure in heads), result["reason"] or "ok")
        for number, result in enumerate(found[:CASES_SHOWN], 1)
    ]
    columns = ("case", *heads.values(), "status")
    output.print_table(console, counts, columns, rows, figures=tuple(heads.values()))
    if len(found) > CASES_SHOWN:
        console.print(f"and {len(found) - CASES_SHOWN:,} more; --json prints every case")


def _shown(figure: str, value: Any) -> object:
    """A figure of a case as the table has it."""
    return _energy(value * NANOJOULE[figure]) if figure in NANOJOULE and value is not None else value


def _energy(nanojoule: float) -> str:
    """An energy in a column of its name; 0 stands for a cost model that says none."""
    return energy_in_words(nanojoule) if nanojoule else "unknown"


def _of_machine(value: float, unit: str) -> str:
    """A power or an area in words; 0 stands for a cost model that says none."""
    return quantity_in_words(value, unit) if value else "unknown"


def show_evaluation(
    console: Console, evaluation: Evaluation, objective: str | None, model: str, *, detail: bool = False
) -> None:
    """Print whether the mapping is feasible, its costs, where they go, and its loss by each objective."""
    from dse.core.cost_models import unit_of

    units = {name: unit_of(name, model) for name in evaluation.loss}
    losses = {
        name: None if loss is None else quantity_in_words(loss, units[name])
        for name, loss in evaluation.loss.items()
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
        from dse.cli.best_view import show_detail

        show_detail(console, evaluation.detail, tensors=detail)
    if evaluation.feasible:
        rows = [
            (name, loss, _of_need(name)) if evaluation.loss[name] else (name, None, "")
            for name, loss in losses.items()
        ]
        output.print_table(console, "loss by objective", ("objective", "loss", ""), rows, figures=("loss",))


def _figures(figures: Mapping[str, Any], units: Mapping[str, str]) -> Iterator[Row]:
    yield "cycles", figures["cycles"], ""
    yield "MACs", figures["macs"], ""
    yield "energy", _energy(figures["energy_nj"]), ""
    if "power" in units:
        yield "power", _of_machine(figures["power"], units["power"]), ""
        whole = "as MAESTRO prints it" if "area_maestro" in units else "of the whole machine"
        area = figures["area"]
        yield "area", _of_machine(area, units.get("area_maestro", units["area"])), whole if area else ""


def _of_need(objective: str) -> str:
    """What an area is of that is another one than that among the costs."""
    from dse.core.objective_terms import FIGURES

    figure = FIGURES.get(objective)
    return "of the PEs and buffers that the mapping needs" if figure and figure.of_need else ""
