"""What `dse certify --within` and `--best` show: the mappings near the optimum, equals in a row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dse.cli import output
from dse.cli.best_view import DIGITS
from dse.core.listed import MOST, Listed
from dse.optimum.near import lister_for
from dse.support.quantities import energy_in_words, quantity_in_words

if TYPE_CHECKING:
    from rich.console import Console

    from dse.core.certificate import Incumbent
    from dse.core.problem import AnyProblem

SHOWN = 20
HEADS = ("", "loss", "above best", "cycles", "energy", "mappings", "one of them")
SAME = ".9g"
"""Figures that agree in so many digits are those of one group: equal sums may be rounded apart."""


def show_near(console: Console, problem: AnyProblem, listed: Listed, unit: str) -> None:
    """Print how many there are, what that claims, and the first groups of them that have equal figures."""
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
        for place, group in enumerate(groups[:SHOWN], 1)
        for first in group[:1]
    ]
    title = list_in_words(listed, unit, lister.among)
    output.print_table(console, title, HEADS, rows, figures=HEADS[1:-1], uncut=HEADS[-1:])
    console.print(
        f"Mappings of equal loss, cycles and energy share a row. loss: {problem.objective}. above best: by "
        f"how much the loss is above the best one's. one of them: {lister.line}"
    )
    left = groups[SHOWN:]
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
