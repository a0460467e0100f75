"""`dse search`: the best mapping that one searcher finds for a layer, or for each layer of a network."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dse.cli import output
from dse.cli.options import (
    ACCELERATOR_OPTION,
    LAYER_OPTION,
    CostModelName,
    Fix,
    Json,
    Tiles,
)
from dse.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from dse.api import Result
    from dse.problem import Problem

NOTHING_FOUND = 1


def command(
    accelerator: Annotated[str, ACCELERATOR_OPTION],
    searcher: Annotated[
        str, typer.Option(help="A registered searcher (dse list searchers).", metavar="SEARCHER")
    ],
    budget: Annotated[int, typer.Option(help="Samples, for each layer.", metavar="N")],
    layer: Annotated[str | None, LAYER_OPTION] = None,
    network: Annotated[
        str | None,
        typer.Option(help="A network instead of a layer: mobilenet_v2 or FILE.toml.", metavar="NETWORK"),
    ] = None,
    objective: Annotated[str, typer.Option(help="What to minimise.", metavar="OBJECTIVE")] = "latency",
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", help="A setting of the searcher, as in agents=9; repeatable.", metavar="NAME=VALUE"
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Which of the searcher's runs.", metavar="N")] = 0,
    tiles: Tiles = "factors",
    fix: Fix = None,
    cost_model: CostModelName = None,
    out: Annotated[
        Path | None, typer.Option(help="A folder for the record and the mappings.", metavar="DIR")
    ] = None,
    json: Json = False,
) -> None:
    """Search the best mapping of a layer or of a whole network."""
    from dse.accelerator import load_accelerator
    from dse.checks import whole_number
    from dse.cost import DEFAULT_COST_MODEL
    from dse.problem import Problem
    from dse.searcher import make_searcher, parse_settings
    from dse.space import parse_fixed
    from workloads import layer_specs, load_layer

    if (layer is None) == (network is None):
        raise InputError("search needs --layer LAYER or --network NETWORK, one of them")
    whole_number(budget, "--budget")
    whole_number(seed, "--seed", least=0)
    chosen = parse_settings(settings or [])
    make_searcher(searcher, chosen)
    specs = (layer,) if layer is not None else layer_specs(str(network))
    if network is not None and ".toml:" not in network and ":" in network:
        raise InputError(f"--network must be a whole network, got {network!r}; use --layer for a layer")
    machine = load_accelerator(accelerator)
    shared: dict[str, Any] = {
        "cost_model": cost_model or DEFAULT_COST_MODEL,
        "tiles": tiles,
        "fixed": parse_fixed(fix or []),
    }
    problems = {spec: Problem(load_layer(spec), machine, objective, **shared) for spec in specs}
    task = _Task(accelerator, searcher, chosen, budget, seed, out, single=layer is not None)
    results = {spec: _search(task, spec, problem, len(specs)) for spec, problem in problems.items()}
    if layer is not None:
        _show_layer(task, layer, results[layer], json)
    else:
        _show_network(task, str(network), results, json)
    if any(result.best is None for result in results.values()):
        raise typer.Exit(NOTHING_FOUND)


class _Task:
    """What all searches of a command have in common."""

    def __init__(
        self,
        accelerator: str,
        searcher: str,
        settings: dict[str, Any],
        budget: int,
        seed: int,
        out: Path | None,
        *,
        single: bool,
    ) -> None:
        self.accelerator = accelerator
        self.searcher = searcher
        self.settings = settings
        self.budget = budget
        self.seed = seed
        self.out = out
        self.single = single

    def folder(self, spec: str) -> Path | None:
        """Where the search of a layer is written."""
        if self.out is None or self.single:
            return self.out
        return self.out / spec.rpartition(":")[2].replace("/", "_")


def _search(task: _Task, spec: str, problem: Problem, of: int) -> Result:
    from dse.api import search, write_result

    with _Bar(spec, task.budget, enabled=sys.stderr.isatty()) as bar:
        result = search(
            problem,
            task.searcher,
            budget=task.budget,
            seed=task.seed,
            settings=task.settings,
            observers=[bar],
            out=task.folder(spec),
        )
    write_result(result, spec, task.accelerator)
    return result


class _Bar:
    """A bar on the terminal for one search."""

    def __init__(self, label: str, budget: int, *, enabled: bool) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self._progress = Progress(*columns, console=Console(stderr=True), transient=True, disable=not enabled)
        self._task = self._progress.add_task(label, total=budget)

    def __enter__(self) -> _Bar:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def __call__(self, progress: Any) -> None:
        self._progress.update(self._task, completed=progress.samples)


def _show_layer(task: _Task, spec: str, result: Result, json: bool) -> None:
    from dse.loop_nest import loop_nest

    data = result.to_dict(spec, task.accelerator)
    if json:
        output.print_json(data)
        return
    console, problem = output.make_console(), result.cell.problem
    title = (
        f"{task.searcher} on {spec} ({problem.layer}), {task.accelerator}, cost model {problem.model.name}"
    )
    output.print_heading(console, title)
    console.print(
        f"{data['samples']:,} samples, {data['distinct']:,} distinct mappings, "
        f"{data['infeasible']:,} infeasible points",
        soft_wrap=True,
    )
    best = result.best
    if best is None:
        console.print("nothing feasible was found", style="red")
        return
    unit = _unit(problem.objective)
    console.print(
        f"best {problem.objective} {best.loss:.6g}{unit}, found by sample {best.index:,}: {best.cycles:,} "
        f"cycles, {best.energy_nj:,.6g} nJ, L1 {best.l1_size:,} and L2 {best.l2_size:,} elements",
        style="green",
        soft_wrap=True,
    )
    console.print(loop_nest(problem.layer, best.mapping, problem.accelerator), soft_wrap=True)
    _show_folder(console, task)


def _show_network(task: _Task, network: str, results: dict[str, Result], json: bool) -> None:
    layers = [
        {**result.to_dict(spec, task.accelerator), "repeats": result.cell.problem.layer.repeats}
        for spec, result in results.items()
    ]
    totals = network_totals(results)
    data = {"network": network, "accelerator": task.accelerator, "layers": layers, "totals": totals}
    if task.out is not None:
        _write(task.out / "network.json", data)
    if json:
        output.print_json(data)
        return
    console = output.make_console()
    objective = next(iter(results.values())).cell.problem.objective
    rows = [
        (
            entry["layer"],
            entry["repeats"],
            entry["best"] and entry["best"]["loss"],
            entry["best"] and entry["best"]["cycles"],
            entry["best"] and entry["best"]["energy_nj"],
        )
        for entry in layers
    ]
    heads = ("layer", "repeats", f"best {objective}{_unit(objective)}", "cycles", "energy nJ")
    output.print_table(console, f"{task.searcher} on {network}, {task.accelerator}", heads, rows)
    if totals:
        console.print(
            f"whole network: {totals['latency']:.6g} s, {totals['energy']:.6g} J, "
            f"EDP {totals['edp']:.6g} J s",
            style="green",
        )
    else:
        console.print("no totals: some layer has no feasible mapping", style="red")
    _show_folder(console, task)


def network_totals(results: dict[str, Result]) -> dict[str, float] | None:
    """Latency (s), energy (J) and EDP (J s) of the network, or None where a layer has no feasible mapping."""
    latency = energy = 0.0
    for result in results.values():
        problem, best = result.cell.problem, result.best
        if best is None:
            return None
        latency += best.cycles * problem.accelerator.cycle_seconds * problem.layer.repeats
        energy += best.energy_nj * 1e-9 * problem.layer.repeats
    return {"latency": latency, "energy": energy, "edp": latency * energy}


def _unit(objective: str) -> str:
    from dse.objective import OBJECTIVES

    unit = OBJECTIVES[objective].unit
    return f" {unit}" if unit else ""


def _show_folder(console: Console, task: _Task) -> None:
    if task.out is not None:
        console.print(f"written to {task.out}", soft_wrap=True)


def _write(path: Path, data: dict[str, Any]) -> None:
    import json

    try:
        path.write_text(json.dumps(output.plain(data), indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise InputError(f"{str(path)!r} cannot be written: {error.strerror}") from None
