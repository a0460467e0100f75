"""`dse profile`: where a learner's time goes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dse.cli import output
from dse.cli.options import Json
from dse.support.errors import InputError
from searchers.common.refusals import refusals_as_input_errors


def command(
    learner: Annotated[str, typer.Argument(help="An installed learner.", metavar="LEARNER")],
    env: Annotated[
        str | None, typer.Option(help="An installed task; by default predators and a prey.", metavar="ENV")
    ] = None,
    agents: Annotated[str, typer.Option(help="Sizes of the team.", metavar="N,N,...")] = "3,6,12",
    arms: Annotated[
        str | None,
        typer.Option(help="Ways of computing that the learner declares; by default all.", metavar="ARM,..."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", help="A setting of every arm, as in batch=256; repeatable.", metavar="NAME=VALUE"
        ),
    ] = None,
    updates: Annotated[int, typer.Option(help="Updates to measure, of each arm.", metavar="N")] = 10,
    held: Annotated[int, typer.Option(help="Steps in memory when the first is made.", metavar="N")] = 5_000,
    clock: Annotated[
        str, typer.Option(help="What is measured: wall, or cpu, the time that is computed.", metavar="CLOCK")
    ] = "wall",
    out: Annotated[
        Path | None, typer.Option(help="A folder for profile.json and the figure.", metavar="DIR")
    ] = None,
    json: Json = False,
) -> None:
    """Measure where the time of a learner goes.

    Choosing actions, the parts of an update, the rest.

    Torch has one thread. Each of its ways of computing (arms) takes turns with the others.
    """
    from dse.support.validation import whole_number
    from learners.registry import DEFAULT_TASK

    whole_number(updates, "--updates", least=2, most=100_000)
    whole_number(held, "--held", least=0, most=10_000_000)
    env = env or DEFAULT_TASK
    sizes = [_size(text) for text in agents.split(",")]
    with refusals_as_input_errors():
        data = _measured(learner, env, sizes, arms, settings or [], updates, held, clock)
    if out is not None:
        _write(data, out)
    if json:
        output.print_json(data)
    else:
        from searchers.commands.profile_view import print_tables

        print_tables(data, out)


def _size(text: str) -> int:
    if not (text.strip().isdecimal() and 1 <= int(text) <= 1000):
        raise InputError(f"--agents must be numbers from 1 to 1000, as in 3,6,12, got {text!r}")
    return int(text)


def _measured(
    learner: str,
    env: str,
    sizes: list[int],
    arms: str | None,
    settings: list[str],
    updates: int,
    held: int,
    clock: str,
) -> dict[str, object]:
    from dse.search.searcher import parse_settings
    from dse.support.errors import unknown_name
    from learners.profiling import CLOCKS, profile_arms
    from learners.registry import arms_of, load_task, make_learner
    from searchers.commands.profile_view import as_data

    if clock not in CLOCKS:
        raise unknown_name("clock", clock, CLOCKS)
    declared, shared = arms_of(learner), parse_settings(settings)
    chosen = list(declared) if arms is None else [arm.strip() for arm in arms.split(",")]
    for arm in chosen:
        if arm not in declared:
            raise unknown_name("arm", arm, declared, f"those of {learner}")
    made = {arm: make_learner(learner, declared[arm] | shared) for arm in chosen}
    make_env = load_task(env)
    profiles = []
    for size in sizes:
        typer.echo(f"{learner} on {env}, {size} agents", err=True)
        profiles += profile_arms(made, make_env, size, updates=updates, held=held, clock=clock)
    return as_data(learner, env, clock, profiles)


def _write(data: dict[str, object], out: Path) -> None:
    from dse.report.plots.files import png_bytes
    from dse.support.files import make_folder, write_json, write_whole
    from searchers.commands.profile_view import plot_phases

    make_folder(out)
    write_json(out / "profile.json", data)
    write_whole(out / "profile.png", png_bytes(plot_phases(data)), "figure")
