"""`dse evaluate`: what one mapping costs, or every case of a file."""

from __future__ import annotations

import json as jsonlib
import sys
from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dse.cli import output
from dse.cli.completion import complete_objective
from dse.cli.evaluation_view import show_evaluation
from dse.cli.exporting import find_mapping
from dse.cli.networks import note_merged
from dse.cli.options import (
    ACCELERATOR_OPTION,
    LAYER_OPTION,
    ConstantsFile,
    CostModelName,
    Json,
    chosen_model,
)
from dse.support.errors import InputError
from dse.support.quantities import energy

if TYPE_CHECKING:
    from dse.core.layer import Layer
    from dse.domains.clustered.accelerator import Accelerator
    from dse.domains.clustered.mapping import Mapping

CASES_SHOWN = 20
INFEASIBLE = 1
"""The exit code for a mapping that is not feasible, as for a search that found none that is."""
HEADS = {"cycles": "cycles", "macs": "MACs", "energy_nj": "energy", "l1_size": "L1", "l2_size": "L2"}
HIERARCHY_HEADS = {
    "cycles": "cycles",
    "energy_uj": "energy",
    "edp": "EDP J cycles",
    "utilization": "utilisation",
}
"""The figures of cases, and how a table calls them. These have no clock: their EDP counts cycles."""
NANOJOULE = {"energy_nj": 1.0, "energy_uj": 1e3}
"""By figure of energy, what it is counted in."""


def command(
    layer: Annotated[str | None, LAYER_OPTION] = None,
    accelerator: Annotated[str | None, ACCELERATOR_OPTION] = None,
    mapping: Annotated[
        str | None,
        typer.Option(
            help="A mapping in FILE.json, FILE.m (MAESTRO) or FILE.yaml (Timeloop), or a template: nvdla, "
            "shidiannao, eyeriss.",
            metavar="FILE|TEMPLATE",
        ),
    ] = None,
    objective: Annotated[
        str | None,
        typer.Option(
            help="Name the loss under this objective first.",
            metavar="OBJECTIVE",
            autocompletion=complete_objective,
        ),
    ] = None,
    cases: Annotated[
        str | None,
        typer.Option(
            help="Price a file of JSON lines instead, each with layer, mapping and hardware; - is stdin.",
            metavar="FILE",
        ),
    ] = None,
    cost_model: CostModelName = None,
    constants: ConstantsFile = None,
    detail: Annotated[
        bool,
        typer.Option(
            "--detail", help="On machines of levels, and of cases on them: words by tensor as well."
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Price a mapping of a layer on an accelerator, or the cases in a file."""
    from dse.core.cost_models import is_hierarchical

    model = chosen_model(cost_model, constants)
    named = {"--layer": layer, "--accelerator": accelerator, "--mapping": mapping}
    if cases is not None:
        extra = [name for name, value in {**named, "--objective": objective}.items() if value is not None]
        if extra:
            raise InputError(f"{extra[0]} does not go with --cases: each case holds its own")
        _evaluate_cases(cases, model, detail, json)
        return
    missing = [name for name, value in named.items() if value is None]
    if layer is None or accelerator is None or mapping is None:
        raise InputError(f"evaluate needs {', '.join(missing)} (or --cases FILE)")
    if is_hierarchical(model):
        from dse.cli.machine_view import evaluate_on_machine

        if not evaluate_on_machine(layer, accelerator, mapping, objective, model, json, detail=detail):
            raise typer.Exit(INFEASIBLE)
        return
    _evaluate_mapping(layer, accelerator, mapping, objective, model, json)


def _evaluate_mapping(
    layer_name: str, accelerator_name: str, mapping_name: str, objective: str | None, model: str, json: bool
) -> None:
    from dse.core.objective import canonical_objective
    from dse.domains.clustered.accelerator import load_accelerator
    from dse.domains.clustered.evaluation import evaluate
    from workloads import load_layer

    layer, accelerator = load_layer(layer_name), load_accelerator(accelerator_name)
    objective = canonical_objective(objective) if objective else None
    mapping = find_mapping(mapping_name, layer, accelerator, model)
    evaluation = evaluate(layer, accelerator, mapping, model, objective or "latency")
    note_merged(layer_name)
    what = {"layer": layer_name, "accelerator": accelerator_name, "cost_model": model}
    what |= {"objective": objective} if objective else {}
    if json:
        output.print_json({**evaluation.to_dict(), **what, "mapping": mapping.to_dict()})
    else:
        console = output.make_console()
        machine = accelerator.called(accelerator_name)
        title = f"{mapping_name} mapping of {layer_name} ({layer}) on {machine}, cost model {model}"
        output.print_heading(console, title)
        show_evaluation(console, evaluation, objective, model)
        console.print(_nest(layer, accelerator, mapping, model), soft_wrap=True)
    if not evaluation.feasible:
        raise typer.Exit(INFEASIBLE)


def _nest(layer: Layer, accelerator: Accelerator, mapping: Mapping, model: str) -> str:
    """The mapping as loops, or why it has none: sizes that no loop can have."""
    from dse.core.cost_models import cost_model
    from dse.domains.clustered.nest import loop_nest

    try:
        return loop_nest(layer, mapping, accelerator, cost_model(model))
    except InputError as error:
        return f"no loop nest: {error}"


def _evaluate_cases(path: str, model_name: str, detail: bool, json: bool) -> None:
    from dse.core.cost_models import cost_model_class, hierarchy_models
    from dse.domains.clustered.case_lines import case_lines

    if model_name in hierarchy_models():
        heads = HIERARCHY_HEADS
        model = cost_model_class(model_name)()
        found = model.price_lines(case_lines(path), detail=detail)
    else:
        heads = HEADS
        if detail:
            able = " or ".join(hierarchy_models())
            raise InputError(f"--detail goes with --cost-model {able}, got {model_name!r}")
        found = _price_cases(path, model_name)
    if json:
        sys.stdout.writelines(jsonlib.dumps(result, allow_nan=False) + "\n" for result in found)
    else:
        _show_cases(found, heads)


def _price_cases(path: str, model_name: str) -> list[dict[str, Any]]:
    """The results of cases that hold an accelerator and a mapping onto it."""
    from dse.core.cost_models import cost_model, models_with
    from dse.domains.clustered.cases import price_cases, read_cases

    model = cost_model(model_name)
    if not model.prices_cases:
        able = models_with("prices_cases")
        raise InputError(f"cost model {model_name!r} prices no cases; expected {' or '.join(able)}")
    cases = read_cases(path)
    return list(price_cases(model, cases))


def _show_cases(found: list[dict[str, Any]], heads: dict[str, str]) -> None:
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
        console.print(f"and {len(found) - CASES_SHOWN:,} more; --json prints every case", soft_wrap=True)


def _shown(figure: str, value: Any) -> object:
    """A figure of a case as the table has it."""
    return energy(value * NANOJOULE[figure]) if figure in NANOJOULE and value is not None else value
