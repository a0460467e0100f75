"""`dse correlate`: which genes of good mappings go together, and how agents would share them out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dse.cli import output
from dse.cli.networks import ProblemOptions, problem_asked
from dse.cli.options import (
    AcceleratorName,
    ConstantsFile,
    CostModelName,
    Fix,
    Json,
    LayerName,
    Objective,
    Seed,
    Settings,
    SpaceName,
    Tiles,
    chosen_model,
    searcher_option,
)

if TYPE_CHECKING:
    from dse.analysis.dependence import Dependence
    from dse.search.api import Result

NAME = "correlation"
CUTS = (0.5, 1.0, 1.5, 2.0, 2.5)
"""The distances at which the tree is cut for a table."""
AGENTS = (2, 3, 6, 9)


def command(
    layer: LayerName,
    accelerator: AcceleratorName,
    objective: Objective = "latency",
    searcher: Annotated[
        str | None, searcher_option("Who draws the samples, by default uniformly: only then do tests hold.")
    ] = None,
    settings: Settings = None,
    samples: Annotated[int, typer.Option(help="How many to draw.", metavar="N")] = 1000,
    seed: Seed = 0,
    top: Annotated[float, typer.Option(help="The share that counts as good.", metavar="SHARE")] = 0.15,
    threshold: Annotated[
        float, typer.Option(help="Correlations below this, of either sign, count as weak.", metavar="R")
    ] = 0.2,
    linkage: Annotated[
        str,
        typer.Option(
            help="How genes are clustered: average (1 - |r|) or ward (on rows of the matrix).",
            metavar="average|ward",
        ),
    ] = "average",
    agents: Annotated[
        list[int] | None,
        typer.Option(help="Deal the genes to so many; repeatable; by default 2, 3, 6 and 9.", metavar="N"),
    ] = None,
    tiles: Tiles = "factors",
    space: SpaceName = "default",
    fix: Fix = None,
    cost_model: CostModelName = None,
    constants: ConstantsFile = None,
    out: Annotated[
        Path | None, typer.Option(help="A folder for the figure (PNG, PDF) and the JSON.", metavar="DIR")
    ] = None,
    json: Json = False,
) -> None:
    """Correlate and cluster the genes of good samples.

    And deal them to agents.

    Genes are clustered by the correlations among them; tests of significance allow for the number of pairs.
    """
    from dse.search.api import search
    from dse.search.gene_groups import LINKAGES
    from dse.search.searcher import default_searcher, parse_settings
    from dse.support.errors import unknown_name
    from dse.support.files import make_folder
    from dse.support.validation import whole_number

    whole_number(samples, "--samples")
    whole_number(seed, "--seed", least=0)
    _share(top, "--top")
    _share(threshold, "--threshold")
    if linkage not in LINKAGES:
        raise unknown_name("linkage", linkage, LINKAGES)
    model = chosen_model(cost_model, constants)
    problem = problem_asked(layer, accelerator, objective, model, ProblemOptions(tiles, space, fix=fix))
    most = int((problem.space.sizes > 1).sum())
    dealt_to = [whole_number(number, "--agents", most=most) for number in agents or ()]
    dealt_to = dealt_to or [number for number in AGENTS if number <= most]
    chosen = parse_settings(settings or [])
    if out is not None:
        make_folder(out)
    drawn_by = searcher or default_searcher("sampler")
    result = search(problem, drawn_by, budget=samples, seed=seed, settings=chosen)
    found = _analyse(result, top, threshold, dealt_to, linkage)
    data = _about(result, layer, accelerator) | {"top": top} | found.to_dict()
    if out is not None:
        _write(found, data, out)
    if json:
        output.print_json(data)
    else:
        _show(found, data, out)


def _share(value: float, option: str) -> None:
    from dse.support.errors import InputError

    if not 0 < value <= 1:
        raise InputError(f"{option} must be above 0 and at most 1, got {value:g}")


def _analyse(result: Result, top: float, threshold: float, agents: list[int], linkage: str) -> Dependence:
    """The groups of genes that go together in the samples, and the tests of whether they do.

    Genes without a choice change nothing: they are left out, as `marl` leaves them out.
    """
    from dse.analysis.dependence import analyse_dependence
    from dse.search import gene_groups as groups

    space = result.cell.problem.space
    chosen = space.sizes > 1
    genes, losses = result.record.genes()[:, chosen], result.record.evaluations().loss
    matrix = groups.gene_correlations(genes, losses, top)
    tree = groups.gene_tree(matrix, linkage)
    return analyse_dependence(
        tuple(gene.name for gene, has in zip(space.genes, chosen, strict=True) if has),
        groups.best_points(genes, losses, top),
        matrix,
        tree,
        {number: groups.cluster_genes(matrix, number, linkage) for number in agents},
        threshold,
        objective=groups.objective_correlations(genes, losses, top),
        linkage=linkage,
        cuts={distance: groups.cut_at(tree, distance) for distance in CUTS},
    )


def _about(result: Result, layer: str, accelerator: str) -> dict[str, Any]:
    cell = result.cell
    names = {"layer": layer, "accelerator": accelerator, "objective": cell.problem.objective}
    drawn = {"searcher": cell.name, "settings": cell.settings, "seed": cell.seed, "samples": cell.budget}
    refused = sum(result.refusals.values())
    return names | {"cost_model": cell.problem.model_spec} | drawn | {"feasible": cell.budget - refused}


def _titles(data: dict[str, Any]) -> tuple[str, str]:
    """What was analysed, and how many samples of whom."""
    return (
        f"{data['layer']} on {data['accelerator']}, {data['objective']}, cost model {data['cost_model']}",
        f"best {data['points']:,} of {data['samples']:,} samples of {data['searcher']} "
        f"({data['feasible']:,} feasible)",
    )


def _write(found: Dependence, data: dict[str, Any], folder: Path) -> None:
    from dse.report.plots.correlation import correlation_figure
    from dse.report.plots.drawing import Drawing
    from dse.report.plots.files import write_drawing
    from dse.support.files import write_json

    write_json(folder / f"{NAME}.json", data)
    title, how = _titles(data)
    title = f"Which genes go together: {title}"
    figure = Drawing(NAME, title, "", lambda _: correlation_figure(found, title, how))
    write_drawing(figure, folder, also_pdf=True)


def _show(found: Dependence, data: dict[str, Any], out: Path | None) -> None:
    from dse.cli.best_view import show_folder

    console = output.make_console()
    rows = [
        (
            name,
            *found.nearest(place, found.correlation_p),
            *found.nearest(place, found.association_p)[::2],
            float(found.objective[place]),
        )
        for place, name in enumerate(found.names)
    ]
    heads = ("gene", "correlates with", "r", "p", "depends on", "p", "r with 1 / loss")
    output.print_table(console, ": ".join(_titles(data)), heads, rows)
    for sentence in found.sentences():
        console.print(sentence)
    for number, groups in found.groups.items():
        dealt = " | ".join(" ".join(group) for group in groups)
        console.print(f"{number} agents: {dealt}")
    show_folder(console, out)
