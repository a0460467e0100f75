"""The typer application, put together from the modules of `dse.cli.commands`."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from typing import Annotated, Any

import typer

import dse
from dse.cli import commands
from dse.cli.examples import add_examples


@cache
def build() -> Any:
    """The `dse` command with every subcommand that `dse.cli.commands` holds."""
    app = typer.Typer(rich_markup_mode="rich", context_settings=_SETTINGS)
    app.callback()(_dse)
    for module in pkgutil.iter_modules(commands.__path__):
        name = module.name.rstrip("_").replace("_", "-")
        command = importlib.import_module(f"{commands.__name__}.{module.name}").command
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name, context_settings=_SETTINGS)
        else:
            app.command(name=name, context_settings=_SETTINGS)(command)
    made = typer.main.get_command(app)
    add_examples(made)
    return made


_SETTINGS = {"help_option_names": ["-h", "--help"]}


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"dse {dse.__version__}")
        raise typer.Exit


def _dse(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Search mappings of DNN layers onto spatial accelerators, under one sample budget."""
