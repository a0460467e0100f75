"""The page on what perfect factors cost: its tables, its verdicts, and Ruby's figures beside ours."""

from __future__ import annotations

from collections.abc import Iterator

from dse.report.plots.files import png_bytes
from dse.support.files import write_whole
from experiments import RESULTS, keep
from experiments.intervals import Verdict
from experiments.perfect_factors import ruby
from experiments.perfect_factors.costs import SMALL, Costs
from experiments.perfect_factors.figure import costs_figure
from experiments.perfect_factors.problems import HEAD, MACHINES, MODEL, OBJECTIVES, layers, problems
from experiments.perfect_factors.tables import per_cent, table

COMMAND = "experiments.perfect_factors"
PAGE, FIGURE = RESULTS / "perfect-factors.md", RESULTS / "perfect-factors.png"
NESTS = RESULTS / "perfect-factors-nests.md"
SHOWN = 10


def groups(costs: Costs) -> Iterator[tuple[str, Costs]]:
    """All rows, then those of each objective and of each machine, as far as there are any."""
    yield "all", costs
    for column, names in (("objective", OBJECTIVES), ("accelerator", MACHINES)):
        for name in names:
            found = costs.of(**{column: name})
            if found.rows:
                yield name, found


def means(costs: Costs) -> str:
    """The means of what perfect factors cost, a group a line."""
    heads = ["problems", "number", "proven", "of these nothing", "at least, %", "at most, %"]
    heads += ["proven ones, %", "largest proven, %"]
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)]]
    for name, found in groups(costs):
        exact = found.proven
        cells = [str(len(found.rows)), str(len(exact.rows)), str(int((exact.least == 0).sum()))]
        cells += [found.mean(values).shown(2, 100) for values in (found.least, found.most)]
        none = not exact.rows
        cells += ["-", "-"] if none else [exact.mean(exact.least).shown(2, 100), per_cent(exact.least.max())]
        lines.append([name, *cells])
    return table(lines)


def verdicts(costs: Costs) -> str:
    """The claim that perfect factors cost little, group by group, in a sentence."""
    found: dict[Verdict, list[str]] = {"borne out": [], "not borne out": [], "inconclusive": []}
    for name, group in groups(costs):
        found[group.small].append(name)
    said = "; ".join(f"{verdict} of {', '.join(names)}" for verdict, names in found.items() if names)
    return (
        f"**Perfect factors cost {per_cent(SMALL, 0)} % or less in the mean**: {said}. Borne out where the "
        "interval of what they cost at most is below, not borne out where that of what they cost at least is "
        "above."
    )


def largest(costs: Costs) -> str:
    """The problems where perfect factors cost most, of what was found."""
    top, sizes = costs.largest(SHOWN), layers()
    heads = ["layer", "accelerator", "objective", "at least, %", "at most, %", "sizes"]
    lines = [heads, [*["---"] * 3, "---:", "---:", "---"]]
    for one, *ends in zip(top.rows, top.least, top.most, strict=True):
        lines.append([*(one[name] for name in HEAD[:3]), *map(per_cent, ends), str(sizes[one["layer"]])])
    return table(lines)


def parts(costs: Costs) -> Iterator[str]:
    """All that the page says, part by part."""
    every = sum(1 for _ in problems())
    yield (
        "What perfect factors cost: the optimum over tiles that divide, over that over any tiles, minus 1; "
        f"{MODEL}, {len(costs.rows)} of {every} problems, the first in an order drawn by a seed. Where the "
        "optimum over any tiles is not proven, the best mapping found says how much it is at least, the "
        "bound how much at most. Means with Student's 95 % intervals over layers; the largest is of those "
        "proven."
    )
    yield means(costs)
    yield verdicts(costs)
    yield f"![How many problems cost how much, by objective and machine]({FIGURE.name})"
    yield f"## The {SHOWN} largest\n\n[Both loop nests of each]({NESTS.name})."
    yield largest(costs)
    yield "## ResNet-50 beside Ruby"
    yield from ruby.parts(costs)


def show(costs: Costs) -> None:
    """Write the page and its figure."""
    how = f"{MODEL}; dots: proven; rings: the best mapping found, with bands to the bound; higher is better"
    figure = costs_figure(
        "What perfect factors cost: optimum over factors / optimum over any tiles - 1", how, costs
    )
    write_whole(FIGURE, png_bytes(figure), "figure")
    keep(PAGE, COMMAND, *parts(costs))
