"""`dse merge`: the folders of a campaign's shards, put together."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from dse.cli import output
from dse.cli.options import Json
from dse.support.errors import one_line

FAILED = 1


def command(
    folders: Annotated[
        list[Path], typer.Argument(help="Folders that `dse run --shard` wrote.", metavar="DIR...")
    ],
    out: Annotated[Path, typer.Option(help="A new folder for all of it.", metavar="DIR")],
    json: Json = False,
) -> None:
    """Put the shards of a campaign together.

    After seeing that they belong together.
    """
    from dse.campaign.merging import merge_folders

    merged = merge_folders(folders, out)
    found = merged.found
    for said in (*found.conflicts, *found.lost, *found.damaged):
        typer.echo(one_line(said), err=True)
    if found.conflicts:
        typer.echo(f"nothing is written to {out}: remove or mend the copies that are wrong", err=True)
    if json:
        data = {"folder": str(out), "done": merged.done, "planned": merged.planned}
        output.print_json({**data, "written": not found.conflicts, **asdict(found)})
    elif not found.conflicts:
        typer.echo(f"{merged.done:,} of {merged.planned:,} cells are done in {out}")
        whole = merged.done == merged.planned
        typer.echo(f"{'dse report' if whole else 'to run the others: dse run CAMPAIGN --out'} {out}")
    if found.conflicts or found.lost:
        raise typer.Exit(FAILED)
