"""`dse suite`: the benchmark with known optima."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dse.cli import output
from dse.cli.options import Cache, CostModelName, Fresh, Json, chosen_model, complete_suite, kept_proofs

if TYPE_CHECKING:
    from dse.suite.problem import Entry
    from dse.suite.suites import Suite

command = typer.Typer(help="Problems with known optima: show, check, draw, compare.")
SuiteName = Annotated[
    str,
    typer.Argument(
        help="A suite (dse suite list), or FILE.json.", metavar="SUITE", autocompletion=complete_suite
    ),
]


@command.command(name="list")
def list_(json: Json = False) -> None:
    """List the suites that come along."""
    from dse.suite.suites import named_suites, read_suite

    found = [read_suite(path) for path in named_suites().values()]
    if json:
        output.print_json([_about(suite) for suite in found])
        return
    rows = [(s.name, s.version, len(s), s.proven, s.budget, s.digest[:12], s.about) for s in found]
    heads = ("suite", "version", "problems", "proven", "budget", "digest", "about")
    output.print_table(output.make_console(), "Suites", heads, rows)


def _about(suite: Suite) -> dict[str, Any]:
    names = ("name", "version", "about", "budget", "proven", "digest")
    return {name: getattr(suite, name) for name in names} | {"problems": len(suite)}


@command.command()
def show(name: SuiteName, json: Json = False) -> None:
    """Show the problems of a suite, and what is proven of each."""
    from dse.suite.suites import suite as load_suite

    suite = load_suite(name)
    if json:
        said = ("status", "lower_bound", "loss")
        found = [{**entry.describe()} | {key: getattr(entry.entry, key) for key in said} for entry in suite]
        output.print_json(_about(suite) | {"problems": found})
        return
    rows = [
        (entry.name, entry.cost_model, entry.definition["tiles"], len(entry.genes), *_proven(entry))
        for entry in suite.entries
    ]
    heads = ("problem", "cost model", "tiles", "genes", "status", "loss", "gap")
    title = f"{suite.name} {suite.version}, digest {suite.digest[:12]}: {suite.about}"
    output.print_table(output.make_console(), title, heads, rows)


def _proven(entry: Entry) -> tuple[str, float, str]:
    """The status, the loss, and how much of it lies above the bound that stands."""
    gap = "-" if entry.proven else f"{100 * (1 - entry.lower_bound / entry.loss):.4g} %"
    return entry.status, entry.loss, gap


@command.command()
def new(
    seed: Annotated[int, typer.Option(help="Which problems are drawn.", metavar="N", min=0)],
    out: Annotated[Path, typer.Option(help="The file of the suite.", metavar="FILE.json")],
    count: Annotated[int, typer.Option(help="Problems.", metavar="N", min=1, max=1000)] = 12,
    budget: Annotated[int, typer.Option(help="Samples of a run.", metavar="N", min=1)] = 200,
    cost_model: CostModelName = None,
    cache: Cache = None,
    fresh: Fresh = False,
    json: Json = False,
) -> None:
    """Draw hidden problems of the same kind, and prove them: for whoever judges a competition.

    Layers and machines are drawn, under loopnest, maestro or timeloop (machines of levels: those that come
    along, with other memories); chains of products under chains; networks on machines that are open in part
    under codesign. The same seed gives the same problems.
    """
    from dse.suite.making import draw_problems
    from dse.suite.suites import Suite
    from dse.support.errors import InputError
    from dse.support.telling import now_and_then

    if out.suffix != ".json":
        raise InputError(f"--out must be the name of a .json file, got {str(out)!r}")
    tell = now_and_then(lambda text: typer.echo(text, err=True))
    kept = kept_proofs(cache, fresh)
    found = tuple(draw_problems(seed, count, chosen_model(cost_model, None), cache=kept, tell=tell))
    suite = Suite(out.stem, 1, f"drawn by seed {seed}", budget, found)
    suite.write(out)
    if json:
        output.print_json(_about(suite) | {"file": str(out)})
    else:
        print(f"{out}: {len(suite)} problems, digest {suite.digest[:12]}")


@command.command()
def verify(
    name: SuiteName,
    sample: Annotated[
        int | None, typer.Option(help="Check so many problems, drawn at random.", metavar="N", min=1)
    ] = None,
    seed: Annotated[int, typer.Option(help="Which are drawn.", metavar="N", min=0)] = 0,
    json: Json = False,
) -> None:
    """Check the certificates of a suite by code that shares nothing with the solver.

    The exit code is 1 if one does not hold.
    """
    from dse.suite.making import check_suite
    from dse.suite.suites import suite as load_suite

    console, rows = output.make_console(), []
    for entry, checks in check_suite(load_suite(name), sample, seed):
        holds = all(check.passed for check in checks)
        seen = [{"check": one.name, "passed": one.passed, "seen": one.seen} for one in checks]
        rows.append({"problem": entry.name, "status": entry.entry.status, "holds": holds, "checks": seen})
        if not json:
            console.print(f"{'holds' if holds else 'FAILS'}  {entry.name}: {len(checks)} checks")
            for one in checks:
                if not one.passed:
                    console.print(f"       {one.name}: {one.seen}")
    if json:
        output.print_json(rows)
    if not all(row["holds"] for row in rows):
        raise typer.Exit(1)


@command.command()
def standing(
    name: SuiteName,
    folders: Annotated[
        list[Path] | None,
        typer.Argument(help="Folders of runs, as ask_tell(out=DIR) keeps them.", metavar="[DIR]..."),
    ] = None,
    json: Json = False,
) -> None:
    """Show who stands where: regret after so many samples, with intervals, of committed runs and of others.

    Records of others are priced again, and refused by their names where they do not hold.
    """
    from dse.suite.standing import BUDGETS, RANKED
    from dse.suite.standing import standing_searchers as lines_of
    from dse.suite.suites import suite as load_suite

    suite = load_suite(name)
    lines = lines_of(suite, folders or [])
    names = ("searcher", "source", "version", "start", "saw", "problems", "seeds", "seconds")
    if json:
        found = [
            {key: getattr(line, key) for key in names}
            | {"regret": {str(budget): vars(regret) for budget, regret in line.regrets.items()}}
            for line in lines
        ]
        output.print_json({"suite": suite.name, "digest": suite.digest, "standing": found})
        return
    budgets = [budget for budget in BUDGETS if any(budget in line.regrets for line in lines)]
    rows = [
        (
            *(getattr(line, key) for key in names[:-1]),
            round(line.seconds, 2),
            *(line.regrets[budget].percent if budget in line.regrets else "-" for budget in budgets),
            line.regrets[line.ranked_at].interval if line.regrets else "-",
        )
        for line in lines
    ]
    title = f"{suite.name} {suite.version}: regret in % of the optimum after so many samples"
    heads = (*names[:-1], "CPU s", *(str(budget) for budget in budgets), f"95 % after {RANKED}")
    output.print_table(output.make_console(), title, heads, rows, figures=heads[-len(budgets) - 1 :])


@command.command()
def table(
    name: SuiteName,
    out: Annotated[Path, typer.Option(help="The folder for the files.", metavar="DIR")],
    most: Annotated[
        int, typer.Option(help="Points of a space that is small enough.", metavar="N", min=1)
    ] = 1_000_000,
    json: Json = False,
) -> None:
    """Write the spaces of a suite that are small enough whole: every point's figures as NumPy's arrays.

    Without this package, loss[tuple(point)] is then what a point costs, inf where it is infeasible.
    """
    from dse.suite.suites import suite as load_suite
    from dse.suite.tables import write_table
    from dse.support.errors import InputError

    suite = load_suite(name)
    paths = {problem.name: write_table(problem, out, most) for problem in suite}
    files = {problem: str(path) for problem, path in paths.items() if path is not None}
    if not files:
        least = min(problem.problem.space.vectors for problem in suite)
        raise InputError(
            f"no space of suite {suite.name!r} has {most:,} points or fewer; the smallest {least:,}"
        )
    if json:
        output.print_json({"suite": suite.name, "digest": suite.digest, "files": files})
    else:
        for path in files.values():
            print(path)
