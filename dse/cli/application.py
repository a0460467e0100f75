"""The typer application, put together from the modules of `dse.cli.commands` and from installed packages."""

from __future__ import annotations

import importlib
import pkgutil
import tomllib
from functools import cache
from importlib.metadata import EntryPoints
from pathlib import Path
from typing import Annotated, Any

import typer

import dse
from dse.cli import commands
from dse.support.errors import InputError, one_line
from dse.support.plugins import entry_named, installed_entries, load_entry, names_of

GROUP = "dse.commands"
"""The entry-point group under which any installed package offers commands: functions as typer takes them."""
_SETTINGS = {"help_option_names": ["-h", "--help"]}
JOBS = {
    "The best mapping of a layer or a network": ("certify", "search", "evaluate", "explain", "space"),
    "The best chip for a network": ("codesign",),
    "Your own machine, searcher or cost model": ("calibrate", "check", "check-cost-model"),
    "Compare searchers": ("run", "report", "merge", "suite", "mcp", "correlate"),
    "Names and files": ("list", "import", "export"),
}
"""The commands by what they are for; those of packages, and what is left, stand behind them."""
REST = "More"


@cache
def build_application() -> Any:
    """The `dse` command with every subcommand: those of `dse.cli.commands`, and those that packages offer."""
    app = typer.Typer(rich_markup_mode="rich", context_settings=_SETTINGS)
    app.callback()(_dse)
    found = _offered() | _own()
    jobs = {name: job for job, names in JOBS.items() for name in names}
    for name in [*jobs, *sorted(set(found) - set(jobs))]:
        job = jobs.get(name, REST)
        if isinstance(found[name], typer.Typer):
            app.add_typer(found[name], name=name, rich_help_panel=job, context_settings=_SETTINGS)
        else:
            app.command(name=name, rich_help_panel=job, context_settings=_SETTINGS)(found[name])
    made = typer.main.get_command(app)
    _join_lines(made)
    add_examples(made)
    return made


def _join_lines(command: Any) -> None:
    """Have the paragraphs of a command's help wrapped by the terminal, not as its docstring is."""
    paragraphs = (command.help or "").split("\n\n")
    command.help = "\n\n".join(" ".join(text.split()) for text in paragraphs)
    for below in getattr(command, "commands", {}).values():
        _join_lines(below)


def _own() -> dict[str, Any]:
    """The commands that come along, by name."""
    return {
        module.name.rstrip("_").replace("_", "-"): importlib.import_module(
            f"{commands.__name__}.{module.name}"
        ).command
        for module in pkgutil.iter_modules(commands.__path__)
    }


def _offered() -> dict[str, Any]:
    """Those of installed packages. One that cannot be loaded says so when it is asked for."""
    entries = installed_entries(GROUP)
    return {name: _loaded(name, entries) for name in names_of(entries)}


def _loaded(name: str, entries: EntryPoints) -> Any:
    try:
        return load_entry(entry_named(name, entries, "command"), "command")[0]
    except InputError as error:
        message = str(error)

        def broken() -> None:
            raise InputError(message)

        broken.__doc__ = f"Not usable: {one_line(message)}"
        return broken


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"dse {dse.__version__}")
        raise typer.Exit


def _dse(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Find the best mapping of a DNN layer onto an accelerator, and prove that none is better."""


@cache
def examples_of_commands() -> dict[str, list[str]]:
    """The examples by command, as in `bench cost`; the program's own by an empty text."""
    return tomllib.loads(Path(__file__).with_name("examples.toml").read_text(encoding="utf-8"))


def add_examples(application: Any) -> None:
    """Have every command's help end with its examples; those of packages that are gone are left out."""
    for path, lines in examples_of_commands().items():
        command = application
        for name in path.split():
            command = command and command.commands.get(name)
        if command is not None:
            command.epilog = "\n".join(["Examples:", *lines])
