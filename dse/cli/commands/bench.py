"""`dse bench`: how fast things are on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from dse.cli import output
from dse.cli.options import CostModelName, Json, Tiles, complete_network, complete_objective

LAYER = "resnet18:1"
SEARCH_LAYER, SEARCH_ACCELERATOR, SEARCH_OBJECTIVE = "alexnet:conv2", "eyeriss-small", "edp"

command = typer.Typer(help="Measure how fast things are on this machine.")


@command.callback()
def _subcommands() -> None:
    # Without a callback typer would make the only subcommand the command itself.
    pass


@command.command()
def cost(
    cost_model: CostModelName = None,
    spaces: Annotated[
        list[str] | None,
        typer.Option(
            "--space", help="A space, to be set beside the default one; repeatable.", metavar="SPACE"
        ),
    ] = None,
    accelerators: Annotated[
        list[str] | None,
        typer.Option(
            "--accelerator",
            help="A preset or a file; repeatable.",
            metavar="ACCELERATOR",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Measure how many mappings a second a cost model prices; by default every cost model.

    Where DSE_MAESTRO names a MAESTRO executable, or DSE_TIMELOOP a timeloop-model, it is timed too.
    """
    from dse.bench import cost as bench
    from dse.core.cost_models import cost_models
    from dse.core.domains import domain_of, load_space
    from workloads import load_layer

    layer = load_layer(LAYER)
    report: dict[str, list[dict[str, Any]]] = {}
    chosen = list(dict.fromkeys(["default", *(spaces or [])]))
    for model in [cost_model] if cost_model else cost_models():
        for accelerator in accelerators or domain_of(model).bench_hardware:
            where = {"layer": LAYER, "accelerator": accelerator}
            for space in chosen:
                named = {"space": space} if spaces else {}
                for name, rows in bench.cost(layer, accelerator, model, load_space(space, model)).items():
                    report.setdefault(name, []).extend({**named, **row, **where} for row in rows)
    if json:
        output.print_json(report)
    else:
        _show(report)


@command.command()
def searchers(
    names: Annotated[
        list[str] | None, typer.Argument(help="Searchers; by default all.", metavar="[NAME]...")
    ] = None,
    budget: Annotated[int, typer.Option(help="Samples of each search.", metavar="N")] = 20_000,
    cost_model: CostModelName = None,
    json: Json = False,
) -> None:
    """Measure what searchers cost: CPU time per sample beside the cost model's, and memory.

    The exit code is 1 if a search fails.
    """
    from rich.console import Console

    from dse.bench.searchers import measure_search
    from dse.core.cost_models import DEFAULT_COST_MODEL
    from dse.core.domains import make_problem
    from dse.search.searcher import searchers as installed
    from dse.support.errors import unknown_name
    from dse.support.validation import whole_number
    from workloads import load_layer

    whole_number(budget, "--budget")
    chosen = list(dict.fromkeys(names or installed()))
    for name in chosen:
        if name not in installed():
            raise unknown_name("searcher", name, installed(), "the installed searchers")
    model = cost_model or DEFAULT_COST_MODEL
    problem = make_problem(load_layer(SEARCH_LAYER), SEARCH_ACCELERATOR, SEARCH_OBJECTIVE, model)
    where = {"layer": SEARCH_LAYER, "accelerator": SEARCH_ACCELERATOR, "objective": SEARCH_OBJECTIVE}
    where["cost_model"] = problem.model.name
    rows = []
    for place, name in enumerate(chosen, start=1):
        with Console(stderr=True).status(f"{name} ({place} of {len(chosen)})"):
            rows.append({**measure_search(name, problem, budget), **where})
    title = (
        f"{budget:,} samples of {SEARCH_LAYER} on {SEARCH_ACCELERATOR}, {SEARCH_OBJECTIVE}, "
        f"cost model {problem.model.name}, CPU time"
    )
    _print(json, "searchers", rows, title, SEARCHER_HEADS)
    failed = [row for row in rows if row["failure"]]
    for row in failed if not json else ():
        output.make_console().print(f"failed: {row['searcher']}: {row['failure']}", style="red")
    if failed:
        raise typer.Exit(1)


@command.command()
def certify(
    networks: Annotated[
        list[str] | None,
        typer.Argument(
            help="Networks; by default four.", metavar="[NETWORK]...", autocompletion=complete_network
        ),
    ] = None,
    accelerators: Annotated[
        list[str] | None,
        typer.Option("--accelerator", help="By default four presets; repeatable.", metavar="ACCELERATOR"),
    ] = None,
    cost_model: CostModelName = None,
    objectives: Annotated[
        list[str] | None,
        typer.Option(
            "--objective",
            help="By default latency, energy and EDP; of 'latency, energy' the front; repeatable.",
            metavar="OBJECTIVE",
            autocompletion=complete_objective,
        ),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(help="Seconds of computing for a layer; by default as many as it takes.", metavar="S"),
    ] = None,
    sample: Annotated[
        int | None, typer.Option(help="Of all these proofs only so many, drawn by --seed.", metavar="N")
    ] = None,
    seed: Annotated[
        int, typer.Option(help="What --sample draws: N are among the N + 1 of the same seed.", metavar="N")
    ] = 0,
    tiles: Tiles = "factors",
    json: Json = False,
) -> None:
    """Measure how long it takes to prove the optimum of every layer, or its front.

    Of proofs that end by --time-limit it says the largest gap that is left.
    """
    from dse.bench import certify as bench
    from dse.cli import proof_times
    from dse.core.cost_models import DEFAULT_COST_MODEL
    from dse.support.validation import positive_number, whole_number

    if time_limit is not None:
        positive_number(time_limit, "--time-limit")
    whole_number(seed, "--seed", least=0)
    model = cost_model or DEFAULT_COST_MODEL
    sets = proof_times.sets_of(networks, accelerators, objectives, model, tiles)
    if sample is not None:
        sets = proof_times.sampled(sets, sample, seed)
    report = bench.report(sets, time_limit)
    for row in (*report["certify"], *report["certify_all"]):
        row["cost_model"], row["tiles"], row["time_limit"] = model, tiles, time_limit
        if sample is not None:
            row["sample"], row["seed"] = sample, seed
    if json:
        output.print_json(report)
    elif sample is None:
        proof_times.show_proof_times(report, model)
    else:
        proof_times.show_proof_times(report, model, f"problems that seed {seed} draws of all")


@command.command()
def proofs(
    cases: Annotated[
        str, typer.Argument(help="A file of cases, as examples/proofs/cases.toml.", metavar="FILE.toml")
    ],
    names: Annotated[
        list[str] | None, typer.Argument(help="Cases of the file; by default all.", metavar="[NAME]...")
    ] = None,
    limit: Annotated[
        float,
        typer.Option(help="Seconds of each proof; two and a minute are the most of a case.", metavar="S"),
    ] = 60.0,
    out: Annotated[
        Path | None, typer.Option(help="A file for the table, in Markdown.", metavar="FILE.md")
    ] = None,
    json: Json = False,
) -> None:
    """Measure what named proofs take, each a command in a process of its own, beside what they took before.

    The exit code is 1 if a command gives no result, though it ends.
    """
    from rich.console import Console

    from dse.bench import proofs as bench
    from dse.support.validation import positive_number

    positive_number(limit, "--limit")
    chosen = bench.read_cases(cases, names or ())
    rows: list[dict[str, Any]] = []
    for place, case in enumerate(chosen, start=1):
        with Console(stderr=True).status(f"{case.name} ({place} of {len(chosen)})"):
            rows.append(bench.measure(case, Path(cases).parent, limit))
        if out is not None:
            bench.write(rows, limit, out)
    if json:
        output.print_json({"proofs": rows})
    else:
        title = f"Named proofs, nothing kept, {limit:g} s each at most"
        figures = [[bench.cell(row[key]) for key in bench.HEADS] for row in rows]
        output.print_table(output.make_console(), title, [*bench.HEADS.values()], figures)
    if any(row["status"].startswith(bench.FAILED) for row in rows):
        raise typer.Exit(1)


@command.command()
def campaign(
    cells: Annotated[int, typer.Option(help="How many made-up cells.", metavar="N")] = 100_000,
    json: Json = False,
) -> None:
    """Measure what a campaign of very many cells costs beside its searches: to begin, go on and report."""
    from rich.console import Console

    from dse.bench import campaign as bench
    from dse.core.domains import make_problem
    from dse.support.validation import whole_number
    from workloads import load_layer

    whole_number(cells, "--cells", most=100_000)
    problem = make_problem(load_layer(SEARCH_LAYER), SEARCH_ACCELERATOR)
    with Console(stderr=True).status(f"{cells:,} cells"):
        rows = list(bench.measure(problem, cells))
    title = f"A campaign of {rows[0]['cells']:,} made-up cells, each step in a process of its own"
    _print(json, "campaign", rows, title, {"step": "step", "seconds": "seconds", "peak_mb": "peak MB"})


@command.command()
def cluster(
    workers: Annotated[int, typer.Option(help="How many workers beside one.", metavar="N")] = 2,
    json: Json = False,
) -> None:
    """Measure how much sooner a campaign ends on workers of a Dask cluster on this machine than on one."""
    from rich.console import Console

    from dse.bench import cluster as bench
    from dse.core.domains import make_problem
    from dse.support.validation import whole_number
    from workloads import load_layer

    whole_number(workers, "--workers", most=1024)
    problem = make_problem(load_layer(SEARCH_LAYER), SEARCH_ACCELERATOR, SEARCH_OBJECTIVE)
    with Console(stderr=True).status("one worker, then more"):
        rows = list(bench.measure(problem, (1, workers)))
    title = f"A campaign of {rows[0]['cells']:,} cells on a Dask cluster"
    _print(
        json, "cluster", rows, title, {"workers": "workers", "seconds": "seconds", "times": "times as fast"}
    )


def _print(json: bool, key: str, rows: list[dict[str, Any]], title: str, heads: dict[str, str]) -> None:
    """Print rows as JSON below a key, or those of their figures that have a head as a table."""
    if json:
        output.print_json({key: rows})
    else:
        figures = [[row[name] for name in heads] for row in rows]
        output.print_table(output.make_console(), title, list(heads.values()), figures)


SEARCHER_HEADS = {
    "searcher": "searcher",
    "cpu_seconds": "CPU s",
    "us_per_sample": "us a sample",
    "model_seconds": "cost model s",
    "model_us_per_sample": "us a sample",
    "import_seconds": "imports s",
    "peak_mb": "peak MB",
}
TABLES: dict[str, tuple[str, tuple[str, ...]]] = {
    "cost": (
        f"Batches of random feasible mappings of {LAYER}, best of several repeats",
        ("accelerator", "space", "model", "tiles", "threads", "mappings_per_second"),
    ),
    "drawn": (
        "Points as they are drawn, feasible or not, with their losses, on one thread",
        ("accelerator", "space", "model", "tiles", "points_per_second"),
    ),
    "one_row": (
        "One point at a time: through Problem.price, and by the cost model alone, made ready",
        ("accelerator", "space", "model", "tiles", "microseconds", "prepared_microseconds"),
    ),
    "baselines": (
        "Other implementations, one mapping at a time; the ratio is to batches on one thread",
        ("name", "accelerator", "space", "model", "tiles", "milliseconds", "ratio"),
    ),
}


def _show(report: dict[str, list[dict[str, Any]]]) -> None:
    console = output.make_console()
    for key, (title, all_columns) in TABLES.items():
        if report[key]:
            columns = tuple(column for column in all_columns if column in report[key][0])
            rows = [[_rounded(row[column]) for column in columns] for row in report[key]]
            output.print_table(console, title, [column.replace("_", " ") for column in columns], rows)


def _rounded(value: object) -> object:
    return round(value) if isinstance(value, float) and value >= 1000 else value
