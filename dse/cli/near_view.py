"""What `dse certify --within` and `--best` show: the mappings near the optimum, a row each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dse.cli import output
from dse.cli.best_view import DIGITS
from dse.core.listed import MOST, Listed
from dse.optimum.near import lister_for
from dse.support.quantities import energy_in_words, quantity_in_words

if TYPE_CHECKING:
    from rich.console import Console

    from dse.core.problem import AnyProblem

SHOWN = 20
HEADS = ("", "loss", "above best", "cycles", "energy", "mapping")


def show_near(console: Console, problem: AnyProblem, listed: Listed, unit: str) -> None:
    """Print how many there are, what that claims, and the first of them."""
    lister = lister_for(problem)
    least = listed[0].loss if len(listed) else 0.0
    rows = [
        (
            place,
            quantity_in_words(one.loss, unit, DIGITS),
            f"{one.loss / least - 1:.3%}" if least else "-",
            one.cycles,
            energy_in_words(one.energy_nj, DIGITS),
            lister.in_a_line(one.mapping),
        )
        for place, one in enumerate(listed.mappings[:SHOWN], 1)
    ]
    output.print_table(console, list_in_words(listed, unit, lister.among), HEADS, rows, figures=HEADS[1:-1])
    if lister.left_out:
        console.print(lister.left_out)
    console.print(f"loss: {problem.objective}; above best: how much larger it is; mapping: {lister.line}")
    if len(listed) > SHOWN:
        console.print(f"and {len(listed) - SHOWN:,} more: --json or --out has them")


def list_in_words(listed: Listed, unit: str, among: str) -> str:
    """What the list is, in a sentence."""
    share, count = listed.wanted.share, len(listed)
    mappings = "mapping" if count == 1 else "mappings"
    kind = f"best {mappings}" if share is None else f"{mappings} within {share * 100:g}% of the optimum"
    if listed.wanted.most == count and share is not None:
        kind = f"best {kind}"
    if listed.complete:
        return f"{count:,} {kind}: it is proven that there are no others (each nest of loops once{among})"
    if count >= MOST:
        return f"more than {MOST:,} {kind}: ask for a smaller share, or for --best N"
    left = f"others may be missing, none of them below {quantity_in_words(listed.bound, unit, DIGITS)}"
    if count and listed[0].loss:
        apart = listed.bound / listed[0].loss - 1
        left += f", {abs(apart):.3%} {'above' if apart >= 0 else 'below'} the first"
    return f"{count:,} {kind} found in time; {left}"
