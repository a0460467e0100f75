"""The best mappings in words, as several commands show them, and where their cycles, energy and words go;
and the mappings near the optimum.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.cli import output
from dse.core.chains import TILES_IN_WORDS
from dse.core.layer import in_all
from dse.core.limits import AT_MOST
from dse.core.listed import MOST, Listed
from dse.core.objective import OBJECTIVES, objective_named
from dse.support.quantities import energy_in_words, energy_of_mapping, quantity_in_words

if TYPE_CHECKING:
    from rich.console import Console

    from dse.core.certificate import Incumbent
    from dse.core.cost_model import Detail
    from dse.core.problem import AnyProblem
    from dse.search.api import Best

WIDTH = 40
EVEN = "even"
USUAL = (("nests", EVEN), ("nests", "uneven"), ("orders", "undominated"))
"""What is not said as a gene that is fixed: another line says it, or it leaves nothing out."""
MOST_FIXED = 6
"""Genes that are fixed, of which a heading says so."""
EIGHTHS = " ▏▎▍▌▋▊▉"
ACCESSES = ("reads", "fills", "updates")
DIGITS = 6
"""Of a best mapping's figures: near the optimum mappings differ in the fifth."""
NEAR_SHOWN = 20
NEAR_HEADS = ("", "loss", "above best", "cycles", "energy", "mappings", "one of them")
SAME = ".9g"
"""Figures that agree in so many digits are those of one group: equal sums may be rounded apart."""


def show_best(
    console: Console,
    problem: AnyProblem,
    claim: str,
    best: Best | Incumbent,
    *,
    detail: bool,
    reach: str = "",
) -> None:
    """Print what is claimed of the best mapping, over what (`reach`), its figures, and its nest of loops.

    Where its cycles, energy and words go comes with it on machines of levels, on others with `detail`.
    """
    spent = energy_of_mapping(best.energy_nj, DIGITS)
    console.print(f"{claim}: {best.cycles:,} cycles, {spent}, {problem.needs(best.mapping)}", style="green")
    if reach:
        console.print(reach)
    if used := used_of_limits(problem, best.mapping):
        console.print(used)
    show_all_runs(console, problem.layer, best.cycles, best.energy_nj)
    console.print(problem.nest(best.mapping))
    parts = problem.detail(best.mapping) if detail or problem.shows_detail else None
    if parts is not None:
        show_detail(console, parts, tensors=detail)
    elif detail:
        console.print(f"cost model {problem.model.name!r} does not say where they go")


def show_nests(console: Console, nests: Iterable[str]) -> None:
    """Say that what is proven of such kinds of nests is over even ones, if that is so: there are others."""
    if EVEN in nests:
        console.print("over even nests alone; --nests uneven takes the others too")


def held_to(problem: AnyProblem, tiles: str = "") -> str:
    """What a heading says of the `tiles`, of the problem's limits and of its genes that are fixed, if any."""
    asked = problem.options.get("fixed", {})
    fixed = [f"{name}={_value(value)}" for name, value in asked.items() if (name, value) not in USUAL]
    more = [f"and {len(fixed) - MOST_FIXED} more"] if len(fixed) > MOST_FIXED else []
    held = [" ".join(["fixed", *fixed[:MOST_FIXED], *more])] if fixed else []
    kinds = [TILES_IN_WORDS[tiles]] if tiles in TILES_IN_WORDS else []
    return "".join(f", {part}" for part in (*kinds, *problem.options.get("limits", ()), *held))


def _value(value: object) -> str:
    """A gene's value, or one of several."""
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def used_of_limits(problem: AnyProblem, mapping: object) -> str:
    """The figures that a user's limits are on, each with what is asked; nothing without any."""
    asked = {}
    for limit in problem.options.get("limits", ()):
        figure, sign, share = limit.rsplit(maxsplit=2)
        asked[figure] = f"at {'most' if sign == AT_MOST else 'least'} {share} asked"
    return "; ".join(
        f"{figure} {share:.4g}, {asked[figure]}" for figure, share in problem.limited(mapping).items()
    )


def show_all_runs(console: Console, layer: object, cycles: int, energy_nj: float) -> None:
    """Say what the layer takes in all, where it is run more than once, as groups and heads are."""
    found = in_all(layer, cycles, energy_nj).get("in_all", {"repeats": 1})
    if found["repeats"] > 1:
        spent = energy_of_mapping(found["energy_nj"], DIGITS)
        console.print(
            f"that is one of the {found['repeats']:,} equal runs of the layer; all of them take "
            f"{found['cycles']:,} cycles, {spent}",
            style="yellow",
        )


def best_figures(best: Mapping[str, Any], unit: str) -> tuple[object, ...]:
    """The loss, the cycles and the energy of a network's layer, for a table; nothing where it has no best."""
    if not best:
        return (None,) * 3
    return quantity_in_words(best["loss"], unit), best["cycles"], energy_of_mapping(best["energy_nj"])


def totals_in_words(totals: Mapping[str, float]) -> tuple[str, str, str]:
    """A network's latency, energy and EDP."""
    latency, energy, edp = (
        quantity_in_words(totals[name], unit, DIGITS)
        for name, unit in (("latency", "s"), ("energy", "J"), ("edp", "J s"))
    )
    return latency, energy, edp


def show_totals(console: Console, data: Mapping[str, Any]) -> None:
    """Print what a network's layers come to, if all of them have a mapping, and what that is the least of."""
    totals, objective = data["totals"], data["objective"]
    if totals:
        (latency, spent, edp), own = totals_in_words(totals), ""
        if objective in totals and objective not in OBJECTIVES:
            whole = quantity_in_words(totals[objective], objective_named(objective).unit, DIGITS)
            own = f", {objective} {whole}"
        console.print(f"whole network: {latency}, {spent}, EDP {edp}{own}", style="green")
        name = "EDP" if objective == "edp" else objective
        layers, several = len(data["layers"]), len(objective_named(objective).terms) > 1
        how = f" Each layer's {name} was minimised by itself"
        how += ", which need not make the network's the least." if several else "."
        console.print(
            f"totals: {layers:,} distinct layer{'s' * (layers != 1)}, each times its repeats; EDP is total "
            f"energy times total latency.{'' if 'total' in data else how}"
        )
    else:
        late = data.get("status") == "bounded"
        why = "of some layer no mapping was found in time" if late else "some layer has no feasible mapping"
        console.print(f"no totals: {why}", style="red")


def show_checks(console: Console, checks: Iterable[Mapping[str, Any]]) -> None:
    """Print of each check of a proof whether it was passed, and what was seen."""
    for check in checks:
        sign, style = ("verified", "green") if check["passed"] else ("NOT VERIFIED", "red")
        console.print(f"{sign}: {check['name']} ({check['seen']})", style=style)


def show_folder(console: Console, out: Path | None) -> None:
    """Say where the results are, if they are anywhere."""
    if out is not None:
        console.print(f"written to {out}")


def show_detail(console: Console, detail: Detail, *, tensors: bool = False) -> None:
    """Print where the cycles and the energy go, each with a bar, and the words moved by store and kind.

    Of a machine of levels with `tensors` also what each tensor does at each level.
    """
    (cycles, whole), spent = detail.shares, detail.energy_nj
    title = "where the cycles go"
    if detail.overlapping:
        title = "cycles of each part by itself; the parts overlap"
        title += ", but for what all else waits for" if detail.waits else ""
    # What limits the layer is another question: an optimum takes no more PEs than can be fed.
    _print_parts(console, f"{title}: most on {detail.bound}", "cycles", cycles, whole)
    _print_parts(console, "where the energy goes", "energy", spent, sum(spent.values()), energy_in_words)
    kinds = list(dict.fromkeys(kind for words in detail.words.values() for kind in words))
    rows = [(store, *(words.get(kind) for kind in kinds)) for store, words in detail.words.items()]
    store = "level" if detail.tensors else "to and from"
    output.print_table(console, f"{detail.unit} moved", (store, *kinds), rows)
    if tensors and detail.tensors:
        _print_tensors(console, detail)


def with_breakdown(problem: AnyProblem, entry: Mapping[str, Any], *, detail: bool) -> dict[str, Any]:
    """A layer's result as plain data whose best mapping has its `breakdown`: of levels always."""
    best = entry["best"]
    if best is None or not (detail or problem.shows_detail):
        return dict(entry)
    problem = problem.on_machine_of(best["genes"])
    parts = problem.judge(problem.read_mapping(best["mapping"])).to_dict()["breakdown"]
    return {**entry, "best": {**best, "breakdown": parts}}


def share_bar(share: float, width: int = WIDTH) -> str:
    """A bar of a share from 0 to 1, to an eighth of a character."""
    eighths = round(min(max(share, 0.0), 1.0) * width * 8)
    return "█" * (eighths // 8) + EIGHTHS[eighths % 8].strip()


def _print_parts(
    console: Console,
    title: str,
    unit: str,
    parts: Mapping[str, float],
    total: float,
    shown: Callable[[Any], object] = lambda part: part,
) -> None:
    """Parts with their shares of the total, which need not be their sum."""
    rows = [
        (name, shown(part), f"{part / (total or 1):.1%}", share_bar(part / (total or 1)))
        for name, part in parts.items()
    ]
    output.print_table(console, title, ("part", unit, "share", ""), rows, figures=(unit, "share"))


def _print_tensors(console: Console, detail: Detail) -> None:
    rows: list[tuple[object, ...]] = []
    for level, kept in detail.tensors.items():
        for number, (tensor, words) in enumerate(kept.items()):
            counts = (int(words[kind]) for kind in ("instances", "tile", *ACCESSES))
            rows.append(("" if number else level, tensor, *counts, energy_in_words(words["energy_nj"])))
        if level in detail.leakage_nj:
            rows.append(("", "leakage", *[None] * 5, energy_in_words(detail.leakage_nj[level])))
    heads = ("level", "tensor", "instances", "words in each", *ACCESSES, "energy")
    title = "tensors: words moved by all instances of a level"
    output.print_table(console, title, heads, rows, figures=heads[2:])


def show_near(console: Console, problem: AnyProblem, listed: Listed, unit: str) -> None:
    """Print how many there are, what that claims, and the first groups of them that have equal figures."""
    from dse.optimum.near import lister_for

    lister = lister_for(problem)
    least = listed[0].loss if len(listed) else 0.0
    groups = groups_of_equals(listed)
    rows = [
        (
            place,
            quantity_in_words(first.loss, unit, DIGITS),
            f"{first.loss / least - 1:.3%}" if least else "-",
            first.cycles,
            energy_in_words(first.energy_nj, DIGITS),
            len(group),
            lister.in_a_line(first.mapping),
        )
        for place, group in enumerate(groups[:NEAR_SHOWN], 1)
        for first in group[:1]
    ]
    title = list_in_words(listed, unit, lister.among)
    output.print_table(console, title, NEAR_HEADS, rows, figures=NEAR_HEADS[1:-1], uncut=NEAR_HEADS[-1:])
    console.print(
        f"Mappings of equal loss, cycles and energy share a row. loss: {problem.objective}. above best: by "
        f"how much the loss is above the best one's. one of them: {lister.line}"
    )
    left = groups[NEAR_SHOWN:]
    more = f"{len(left):,} more rows, of {sum(map(len, left)):,} mappings; " if left else ""
    console.print(f"{more}--json prints every mapping, --out writes them to certificate.json, under within")


def groups_of_equals(listed: Listed) -> list[list[Incumbent]]:
    """The mappings of a list by equal loss, cycles and energy, the best group first."""
    found: dict[tuple[str, int, str], list[Incumbent]] = {}
    for one in listed:
        figures = format(one.loss, SAME), one.cycles, format(one.energy_nj, SAME)
        found.setdefault(figures, []).append(one)
    return list(found.values())


def list_in_words(listed: Listed, unit: str, among: str) -> str:
    """What the list is, in a sentence."""
    share, count = listed.wanted.share, len(listed)
    mappings = "mapping" if count == 1 else "mappings"
    kind = f"best {mappings}" if share is None else f"{mappings} within {share * 100:g}% of the optimum"
    if listed.wanted.most == count and share is not None:
        kind = f"best {kind}"
    if listed.complete and listed.wanted.most == count:
        return (
            f"{count:,} {kind}: it is proven that none is better; others may be as good as the last "
            f"(each nest of loops once{among})"
        )
    if listed.complete:
        return f"{count:,} {kind}: proven, there are no others (each nest of loops once{among})"
    if count >= MOST:
        return f"more than {MOST:,} {kind}: ask for a smaller share, or for --best N"
    left = f"others may be missing: their loss is at least {quantity_in_words(listed.bound, unit, DIGITS)}"
    if count and listed[0].loss:
        apart = listed.bound / listed[0].loss - 1
        left += f", {abs(apart):.3%} {'above' if apart >= 0 else 'below'} the first"
    return f"{count:,} {kind} found in time; {left}"
