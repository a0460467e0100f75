"""What a sceptic should know first of a study: what is refuted, lacking, unlike or thin."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from dse.analysis.findings import Comparison, Findings, LedgerRow
from dse.analysis.reduction import problem_of
from dse.analysis.significance import CHANCE
from dse.analysis.stats.bootstrap import LEAST_SEEDS
from dse.analysis.study import Study
from dse.core.objective import names_several
from dse.report import limits
from dse.report.formats import names_in_sentence
from dse.support.quantities import counted_noun

FEW_SEEDS = 5
MAX_INFEASIBLE = 0.5
LISTED = 3
"""How many problems are named where a sentence is about some of them."""


def refuted_bounds(study: Study) -> tuple[str, ...]:
    """A sentence for each cell whose best is below what was proven to be the least."""
    return tuple(
        f"CERTIFICATE BEATEN: {cell.searcher} found {cell.best!r} on {study.label(problem_of(cell))}, below "
        f"{study.bound(problem_of(cell))!r}, which was proven to be the least; please report it"
        for cell in study.beaten
    )


def study_warnings(study: Study, findings: Findings) -> Iterator[str]:
    """The sentences, the gravest first."""
    yield from refuted_bounds(study)
    if study.missing:
        lacking = ", ".join(f"{count:,} of {name}" for name, count in study.missing.items())
        yield f"Cells not done: {lacking}. Figures over all problems leave out who has no run on one."
    failed = study.about.get("failed", {})
    if failed:
        key, reason = next(iter(failed.items()))
        more = f", and {counted_noun(len(failed) - 1, 'more cell')}" if len(failed) > 1 else ""
        yield f"Failed: {key} ({reason}){more}."
    yield from _starts(study)
    yield from _elsewhere(findings.ledger)
    yield from limits.sentences(study)
    yield from _few_seeds(study)
    yield from _powerless(findings.comparisons)
    yield from _targets(study)
    yield from _misfits(study)
    yield from _infeasible(study, findings.ledger)


def _starts(study: Study) -> Iterator[str]:
    """Who begins with what, where searchers differ: early figures are of starts as much as of searches."""
    alike: dict[str, list[str]] = {}
    for name in study.searchers:
        if study.begins(name):
            alike.setdefault(study.begins(name), []).append(name)
    if len(alike) > 1:
        groups = "; ".join(f"{names_in_sentence(found)} with {begins}" for begins, found in alike.items())
        yield (
            f"The searchers do not begin alike: {groups}. Figures after few samples compare these starts, "
            "not the searchers alone."
        )


def _elsewhere(ledger: Sequence[LedgerRow]) -> Iterator[str]:
    spent = [f"{row.elsewhere:,} by {row.searcher}" for row in ledger if row.elsewhere]
    if spent:
        others = " The others have had none." if len(spent) < len(ledger) else ""
        yield f"Samples spent outside the budget, which no figure counts: {', '.join(spent)}.{others}"


def _few_seeds(study: Study) -> Iterator[str]:
    """Whose problems have too few runs for an interval: all searchers', or those named."""
    sizes = {
        name: min(filter(None, (len(study.cells(p, name)) for p in study.problems)), default=study.seeds)
        for name in study.searchers
    }
    one = [name for name, size in sizes.items() if size == 1]
    few = {name: size for name, size in sizes.items() if 1 < size < FEW_SEEDS}

    def whose(found: Sequence[str]) -> str:
        return f" for {names_in_sentence(found)}" if len(found) < len(sizes) else ""

    if one:
        yield (
            f"Only 1 seed a problem{whose(one)}, so there is no confidence interval, and every comparison is "
            "inconclusive."
        )
    if few:
        least, most = min(few.values()), max(few.values())
        count = f"{least:,} to " * (least < most) + counted_noun(most, "seed")
        none = "" if least >= LEAST_SEEDS else ", and two seeds have none"
        yield (
            f"Only {count} a problem{whose(list(few))}, so confidence intervals of single problems assume "
            f"log-normal losses{none}."
        )


def _powerless(comparisons: Sequence[Comparison]) -> Iterator[str]:
    tested = [row for row in comparisons if math.isfinite(row.p)]
    if not tested:
        return
    # The least p value: all differences of one sign.
    most = max(row.wins + row.losses for row in tested)
    least = 2 * 0.5**most * len(tested)
    if least > CHANCE:
        yield (
            "The signed-rank test over problems is inconclusive: with "
            f"{limits.problems_in_words(most, None)} and "
            f"{counted_noun(len(tested), 'comparison')}, no corrected p value can be below "
            f"{min(least, 1.0):.2g}. "
            "Leads are judged by confidence intervals, not by this test."
        )


def _targets(study: Study) -> Iterator[str]:
    known = [study.target(problem) for problem in study.problems]
    guessed = sum(math.isfinite(loss) and not proven for loss, proven in known)
    nothing = sum(math.isinf(loss) for loss, _ in known)
    if guessed:
        if study.proofs_to_come:
            proven = "no optimum is proven yet (a campaign proves them when its last run is done)"
        else:
            proven = "no optimum is proven"
        yield (
            f"On {limits.problems_in_words(guessed, len(known))} {proven}: ratios there are "
            "to the best that was "
            "found, which more searching may lower."
        )
    if nothing and study.summaries:
        yield (
            f"On {limits.problems_in_words(nothing, len(known))} nothing feasible is known: "
            "figures over all problems "
            "leave these out."
        )


def _misfits(study: Study) -> Iterator[str]:
    """Which dataflow templates are feasible nowhere, or on some problems only, as fitted to the layers."""
    alike: dict[tuple[str, ...], list[str]] = {}
    # Of several objectives a dataflow is one point of a front.
    labels = [study.label(problem) for problem in study.problems if not names_several(problem[2])]
    for template, figures in study.about.get("templates", {}).items():
        without = tuple(label for label in labels if label not in figures)
        if without:
            alike.setdefault(without, []).append(template)
    for without, templates in alike.items():
        dataflows = f"dataflow{'s' * (len(templates) > 1)} {names_in_sentence(templates)}"
        verb = "has" if len(templates) == 1 else "have"
        if len(without) == len(labels):
            yield f"The {dataflows} {verb} no fit on any problem: as fitted, not feasible."
            continue
        shown = "; ".join(without[:LISTED])
        more = f"; and {len(without) - LISTED} more" if len(without) > LISTED else ""
        share = limits.problems_in_words(len(without), len(labels))
        yield (
            f"The {dataflows} {verb} no fit on {share}: {shown}{more}. "
            "Tables have no row of a dataflow for a network where one of its problems has no fit."
        )


def _infeasible(study: Study, ledger: Sequence[LedgerRow]) -> Iterator[str]:
    shares = {row.searcher: sum(row.infeasible.values()) / max(row.samples, 1) for row in ledger}
    wasted = [f"{share:.0%} of {name}'s" for name, share in shares.items() if share > MAX_INFEASIBLE]
    if wasted:
        yield f"Infeasible samples: {names_in_sentence(wasted)}."
    barren = [
        f"{runs:,} of {row.searcher}'s {row.cells:,}"
        for row in ledger
        if (runs := sum(c.searcher == row.searcher and math.isinf(c.best) for c in study.summaries))
    ]
    if barren:
        yield f"Runs that found nothing feasible: {names_in_sentence(barren)}."
