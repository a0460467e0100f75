"""`dse merge`: the folders of a campaign's shards, put together."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dse.cli import output
from dse.cli.options import Json


def command(
    folders: Annotated[
        list[Path], typer.Argument(help="Folders that `dse run --shard` wrote.", metavar="DIR...")
    ],
    out: Annotated[Path, typer.Option(help="A new folder for all of it.", metavar="DIR")],
    json: Json = False,
) -> None:
    """Put the shards of a campaign together, after seeing that they belong together."""
    from dse.campaign.merging import merge

    done, planned = merge(folders, out)
    if json:
        output.print_json({"folder": str(out), "done": done, "planned": planned})
        return
    typer.echo(f"{done:,} of {planned:,} cells are done in {out}")
    ask = "dse report" if done == planned else "to run the others: dse run CAMPAIGN --out"
    typer.echo(f"{ask} {out}")
