"""`dse run`: a campaign, from wherever it was left."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dse.cli import output
from dse.cli.networks import note_merged
from dse.cli.options import Json, complete_campaign, complete_executor
from dse.support.errors import InputError

if TYPE_CHECKING:
    from dse.core.layer import Layer

FAILED, INTERRUPTED = 1, 130


def command(
    campaign: Annotated[
        str,
        typer.Argument(
            help="The campaign's TOML file, or one that comes along: quickstart.",
            metavar="FILE|NAME",
            autocompletion=complete_campaign,
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            help="The folder for its results; by default NAME, beside the campaign.",
            metavar="DIR",
        ),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(help="How many cells to run at once; by default one a core.", metavar="N")
    ] = None,
    executor: Annotated[
        str,
        typer.Option(
            help="Where cells run: processes (here), dask, or an installed one.",
            metavar="NAME",
            autocompletion=complete_executor,
        ),
    ] = "processes",
    scheduler: Annotated[
        str | None,
        typer.Option(
            help="The executor's scheduler; without it dask starts a cluster here.", metavar="tcp://HOST:PORT"
        ),
    ] = None,
    shard: Annotated[
        str | None,
        typer.Option(help="Run a part of the cells, as 2/8; `dse merge` joins the parts.", metavar="K/N"),
    ] = None,
    tables_only: Annotated[
        bool, typer.Option("--tables-only", help="Report in tables alone: no figures, no page.")
    ] = False,
    json: Json = False,
) -> None:
    """Run a campaign and report on it.

    Run it again to go on where it was interrupted.
    """
    from dse.campaign.config import Shard
    from dse.campaign.executors import executor_maker
    from dse.campaign.progress import make_display
    from dse.campaign.reading import campaign_path, load_campaign
    from dse.campaign.runner import run_campaign
    from dse.campaign.store import Store
    from dse.support.interrupts import interrupted_once
    from dse.support.validation import whole_number

    workers = whole_number(workers, "--workers", most=1024) if workers is not None else os.cpu_count() or 1
    path = campaign_path(campaign)
    asked: dict[str, dict[str, Layer]] = {}
    plan = load_campaign(path, lambda spec: asked.setdefault(spec, find_layers(spec)))
    part = Shard.parse(shard) if shard is not None else None
    name = f"{plan.name}.shard-{part.number}-of-{part.count}" if part else plan.name
    # One that comes along has its results where the user is, not where it is installed.
    folder = out or default_folder(Path(path if path == campaign else "results/campaigns/any"), name)
    with closing(make_display()) as display, interrupted_once(), Store(folder, plan, part) as store:
        for spec in asked:
            note_merged(spec)
        make_executor = executor_maker(executor, scheduler, store.versions())
        result = run_campaign(store, display, workers=workers, make_executor=make_executor)
        failures = store.failures()
    if result.interrupted:
        options = {"out": out, "shard": shard, "scheduler": scheduler}
        options |= {"executor": None if executor == "processes" else executor}
        again = [f" --{name} {value}" for name, value in options.items() if value]
        typer.echo(
            f"stopped: {result.done:,} of {result.cells:,} cells are done, the others keep their samples. "
            f"To go on: dse run {campaign}{''.join(again)}",
            err=True,
        )
        raise typer.Exit(INTERRUPTED)
    _report(folder, json, failures, pictures=not tables_only)
    if failures:
        raise typer.Exit(FAILED)


def find_layers(spec: str) -> dict[str, Layer]:
    """The layers of a network's or a layer's name, by their full names."""
    from workloads import layer_specs, load_layers

    return dict(zip(layer_specs(spec), load_layers(spec), strict=True))


def default_folder(campaign: Path, name: str) -> Path:
    """Beside the `campaigns` folder that the file is in, else beside the file."""
    home = campaign.parent
    home = home.parent if home.name == "campaigns" else home
    folder = home / name
    if folder.is_file():
        raise InputError(f"{str(folder)!r} is a file; choose a folder with --out")
    return folder


def _report(folder: Path, json: bool, failures: dict[str, str], pictures: bool) -> None:
    from dse.cli.waiting_view import tell_of_steps
    from dse.report.printing import print_report
    from dse.report.writing import write_report

    with tell_of_steps() as tell:
        report, path = write_report(folder, pictures=pictures, tell=tell)
    if json:
        output.print_json(
            {"folder": str(folder), "report": str(path), "done": report.cells, "failed": failures}
        )
        return
    console = output.make_console()
    print_report(console, report, path)
    output.print_failures(console, failures)
