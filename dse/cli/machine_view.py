"""`dse evaluate` of a mapping onto a machine of any number of levels: figures by level and tensor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dse.cli import output
from dse.cli.evaluation_view import show_evaluation
from dse.cli.networks import note_merged
from dse.support.errors import InputError, shorten, unknown, within
from dse.support.files import read_text

if TYPE_CHECKING:
    from dse.domains.levels.mapping import HierarchyMapping
    from dse.domains.levels.problem import MachineProblem


def evaluate_on_machine(
    layer: str,
    machine: str,
    mapping: str,
    objective: str | None,
    model: str,
    json: bool,
    *,
    detail: bool,
) -> bool:
    """Show what a mapping costs, or print it as JSON; whether it is feasible."""
    from dse.domains.making import make_problem
    from workloads import load_layer

    problem: Any = make_problem(load_layer(layer), machine, objective or "edp", model)
    found = read_mapping_file(mapping, problem)
    evaluation, objective = problem.judge(found), objective and problem.objective
    note_merged(layer)
    if json:
        what = {"layer": layer, "accelerator": machine, "cost_model": model}
        what |= {"objective": objective} if objective else {}
        output.print_json({**evaluation.to_dict(), **what, "mapping": found.to_dict()})
    else:
        console = output.make_console()
        title = f"{mapping} mapping of {layer} ({problem.layer}) on {problem.accelerator.called(machine)}"
        output.print_heading(console, f"{title}, cost model {model}")
        show_evaluation(console, evaluation, objective, model, detail=detail)
        console.print(problem.nest(found), soft_wrap=True)
    return bool(evaluation.feasible)


def read_mapping_file(path: str, problem: MachineProblem) -> HierarchyMapping:
    """The mapping in a file: JSON (`levels` as in a case line), YAML, or its text, `L1[WIO] K4 - ...`."""
    from dse.domains.clustered.templates import TEMPLATES
    from dse.domains.levels.formats import read_yaml_mapping
    from dse.domains.levels.mapping import HierarchyMapping, read_mapping
    from dse.support import strict_json

    if path in TEMPLATES:
        problem.template(path)
    where = f"mapping file {path!r}"
    text = read_text(path, where).strip()
    layout = problem.space.layout
    if path.lower().endswith((".yaml", ".yml")):
        found = read_yaml_mapping(text, where, problem)
    elif text.startswith("L"):
        with within(where, "mapping"):
            found = HierarchyMapping.parse(text)
    else:
        data = strict_json.parse(text, where)
        data = data["levels"] if isinstance(data, dict) and "levels" in data else data
        found = read_mapping(data, layout.dims, layout.tensors, where)
    for level in found.levels:
        for dim, _ in (*level.temporal, *level.spatial):
            if dim not in layout.dims:
                has = ", ".join(layout.dims)
                raise InputError(f"{where}: the layer has no dim {shorten(dim)}; it has {has}")
        for name in level.keep:
            if name not in layout.tensors:
                raise unknown("tensor", name, layout.tensors, where)
    if len(found.levels) != layout.levels:
        raise InputError(f"{where} has {len(found.levels)} levels, the machine {layout.levels}")
    return found
