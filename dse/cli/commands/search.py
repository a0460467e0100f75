"""`dse search`: the best mapping that one searcher finds for a layer, or for each layer of a network."""

from __future__ import annotations

import os
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from dse.cli import output
from dse.cli.exporting import Formats, check_formats, export_best, export_layers, refuse_formats
from dse.cli.networks import ProblemOptions, layers_asked, note_merged, problems_asked
from dse.cli.options import (
    ACCELERATOR_OPTION,
    LAYER_OPTION,
    AreaBudget,
    ConstantsFile,
    CostModelName,
    Fix,
    Hardware,
    Json,
    Limit,
    Nests,
    NetworkName,
    Objective,
    Seed,
    Settings,
    SpaceName,
    Tiles,
    WithDetail,
    chosen_model,
    searcher_option,
    with_nests,
)
from dse.support.errors import InputError

if TYPE_CHECKING:
    from dse.campaign.network import NetworkSearch

FAILED, INTERRUPTED = 1, 130
DEFAULT_BUDGET = 2_000
AGAIN = "run the same command again to go on"
LOST = "without --out DIR its samples are lost"


def command(
    accelerator: Annotated[str, ACCELERATOR_OPTION],
    layer: Annotated[str | None, LAYER_OPTION] = None,
    network: NetworkName = None,
    objective: Objective = "latency",
    searcher: Annotated[
        str | None,
        searcher_option("A searcher (dse list searchers), or ./FILE.py:CLASS; without it the default one."),
    ] = None,
    budget: Annotated[
        int | None, typer.Option(help="Samples, for each layer; by default 2,000.", metavar="N")
    ] = None,
    shared: Annotated[
        bool, typer.Option("--shared", help="The budget is the whole network's, in equal shares.")
    ] = False,
    settings: Settings = None,
    start: Annotated[
        str | None,
        typer.Option(
            help="First samples: templates (known dataflows), random, mappings in FILE.json, or the best of "
            "another search's folder DIR.",
            metavar="templates|random|FILE|DIR",
        ),
    ] = None,
    seed: Seed = 0,
    tiles: Tiles = "factors",
    space: SpaceName = "default",
    hardware: Hardware = None,
    fix: Fix = None,
    nests: Nests = None,
    budget_area: AreaBudget = None,
    limit: Limit = None,
    cost_model: CostModelName = None,
    constants: ConstantsFile = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="A folder for samples and best mappings; a search stopped in it goes on.",
            metavar="DIR",
        ),
    ] = None,
    save_policy: Annotated[
        Path | None,
        typer.Option(
            help="A folder for the policy that the searcher learns, if it learns one.", metavar="DIR"
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            help="How many of a network's layers to search at once; by default one a core.", metavar="N"
        ),
    ] = None,
    format: Formats = None,
    detail: WithDetail = False,
    json: Json = False,
) -> None:
    """Search the best mapping under a sample budget.

    Where a proof is cheap, a layer's best mapping is set beside the proven optimum. The exit code is 1 if
    nothing feasible is found, or if the searcher fails.
    """
    from dse.campaign.network import NetworkSearch
    from dse.core.objective import names_several
    from dse.search.searcher import default_searcher, make_searcher, parse_settings
    from dse.search.start import flat_objective
    from dse.support.validation import whole_number

    layers, formats = layers_asked("search", layer, network), check_formats(format, out)
    if network is None and workers is not None:
        raise InputError("--workers is for --network; a single layer is searched by one process")
    if network is not None and detail:
        raise InputError("--detail is of one layer: give --layer, one of the network's")
    if names_several(objective) and (network is not None or formats or detail):
        raise InputError("several objectives are searched for one layer, without --format and --detail")
    if network is not None and save_policy is not None:
        raise InputError("--save-policy is for --layer: each layer of a network has a policy of its own")
    if network is None and shared:
        raise InputError("--shared is for --network: a single layer has the whole budget")
    if budget is not None:
        whole_number(budget, "--budget")
    whole_number(seed, "--seed", least=0)
    workers = whole_number(workers, "--workers", most=1024) if workers is not None else os.cpu_count() or 1
    chosen = parse_settings(settings or [])
    chosen_here = searcher is not None and budget is not None
    searcher = searcher or default_searcher()
    budget = DEFAULT_BUDGET if budget is None else budget
    make_searcher(searcher, chosen)
    model = chosen_model(cost_model, constants)
    problems = problems_asked(
        layers,
        accelerator,
        objective,
        model,
        ProblemOptions(tiles, space, hardware, with_nests(fix, nests), budget_area, limit),
        refuse=partial(refuse_formats, formats=formats),
        named=network is not None,
    )
    note_merged(network or layer or "")
    for spec, problem in problems.items():
        if (flat := flat_objective(problem)) is not None:
            typer.echo(f"{spec}: {flat}", err=True)
    if not chosen_here:
        note = f"searching with {searcher} and {budget:,} samples; --searcher and --budget take others"
        typer.echo(note, err=True)
    task = NetworkSearch(network or "", accelerator, problems, searcher, chosen, budget, seed, start, shared)
    _ = task.budgets
    if network is None:
        _search_layer(task, out, save_policy, formats, json, detail=detail)
    else:
        _search_network(task, workers, out, formats, json)


def _search_layer(
    task: NetworkSearch,
    out: Path | None,
    save_policy: Path | None,
    formats: tuple[str, ...],
    json: bool,
    *,
    detail: bool,
) -> None:
    from dse.cli.best_view import with_breakdown
    from dse.cli.search_view import Bar, show_layer
    from dse.core.cost_models import unit_of
    from dse.core.objective import names_several
    from dse.search.api import search, write_result

    ((layer, problem),) = task.problems.items()
    unit = "" if names_several(problem.objective) else unit_of(problem.objective, problem.model.name)
    bar = Bar(layer, task.budget, unit)
    try:
        with bar:
            result = search(
                problem,
                task.searcher,
                budget=task.budget,
                seed=task.seed,
                settings=task.settings,
                start=task.start,
                observers=[bar],
                out=out,
                save_policy=save_policy,
            )
    except KeyboardInterrupt:
        _stop(f"stopped after {bar.samples:,} of {task.budget:,} samples", out)
    except InputError:
        raise
    except Exception as error:
        _fail(error, task.searcher)
    if out is not None:
        write_result(result, out, layer, task.accelerator)
        if sorted(problem.objective.split(", ")) == ["energy", "latency"]:
            from dse.cli.front_view import write_page

            found = result.to_dict(layer, task.accelerator)
            title = f"{layer} on {task.accelerator}: {task.searcher}"
            how = f"found by {len(result.record):,} samples, {problem.model_spec}"
            write_page(result.best_problem, title, how, found["front"], out)
        export_best(formats, problem, result.to_dict(layer, task.accelerator)["best"], out)
    if json:
        found = result.to_dict(layer, task.accelerator)
        output.print_json(with_breakdown(problem, found, detail=detail))
    else:
        show_layer(result, layer, task.accelerator, out, detail=detail)
    if sum(result.refusals.values()) == len(result.record):
        raise typer.Exit(FAILED)


def _search_network(
    task: NetworkSearch, workers: int, out: Path | None, formats: tuple[str, ...], json: bool
) -> None:
    from dse.campaign.network import search_network
    from dse.campaign.progress import make_display
    from dse.cli.search_view import show_network
    from dse.support.interrupts import interrupted_once

    try:
        with closing(make_display()) as display, interrupted_once():
            data, done = search_network(task, display, workers=workers, out=out)
    except KeyboardInterrupt:
        _stop("stopped", out)
    if data is None:
        _stop(f"stopped: {done:,} of {len(task.problems):,} layers are done", out)
    export_layers(formats, task.problems, data, out)
    if json:
        output.print_json(data)
    else:
        show_network(data, task.problems, out)
    if any(entry["best"] is None for entry in data["layers"]):
        raise typer.Exit(FAILED)


def _stop(what: str, out: Path | None) -> NoReturn:
    typer.echo(f"{what}; {LOST if out is None else AGAIN}", err=True)
    raise typer.Exit(INTERRUPTED)


def _fail(error: Exception, searcher: str) -> NoReturn:
    """A searcher's own exception, in one line."""
    from dse.search.run import SearcherStopped
    from dse.support.errors import format_exception

    why = (
        str(error)
        if isinstance(error, SearcherStopped)
        else f"searcher {searcher!r} failed: {format_exception(error)}"
    )
    typer.echo(f"dse: error: {why}", err=True)
    raise typer.Exit(FAILED)
