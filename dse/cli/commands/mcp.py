"""`dse mcp`: the gate for agents."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dse.cli.options import complete_suite


def command(
    name: Annotated[
        str,
        typer.Argument(
            help="A suite (dse suite list), or FILE.json.", metavar="SUITE", autocompletion=complete_suite
        ),
    ],
    searcher: Annotated[
        str, typer.Option(help="What the agent's records are called.", metavar="NAME")
    ] = "agent",
    budget: Annotated[
        int | None, typer.Option(help="Samples of each problem, by default the suite's.", metavar="N", min=1)
    ] = None,
    saw: Annotated[
        str, typer.Option(help="What the agent had seen of the problems before.", metavar="TEXT")
    ] = "unknown",
    seed: Annotated[int, typer.Option(help="Which of its runs.", metavar="N", min=0)] = 0,
    out: Annotated[Path | None, typer.Option(help="The folder for its records.", metavar="DIR")] = None,
) -> None:
    """Serve a suite to an agent.

    By the Model Context Protocol, on stdin and stdout. Its tools describe problems, evaluate mappings
    within the budget, explain refusals and submit; none tells an optimum. With --out each run is kept as
    a searcher's is, for dse suite standing.
    """
    from dse.suite.agents import Desk, server_of
    from dse.suite.suites import suite as load_suite

    suite = load_suite(name)
    desk = Desk(suite, budget or suite.budget, searcher, saw, seed, out)
    server = server_of(desk)
    try:
        server.run("stdio")
    finally:
        desk.close()
