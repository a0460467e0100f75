"""What a study comes to in sentences: the headline, who needs fewer samples, where the evidence is thin."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dse.analysis.findings import Band, Comparison, Efficiency, Findings, Interval, LedgerRow
from dse.analysis.regret import problem_label
from dse.analysis.study import Study
from dse.report import limits
from dse.report.formats import counted, factor, names, over_target

FEW_SEEDS = 5
MOST_INFEASIBLE = 0.5
SIGNIFICANT = 0.05
LISTED = 3
"""How many problems are named where a sentence is about some of them."""
SAME = 5e-4
"""Ratios to the best known that print alike, to three decimals, are not said to differ."""


@dataclass(frozen=True)
class Conclusions:
    """The result in a sentence, with its interval, and sentences on what a sceptic should know first."""

    headline: str
    warnings: tuple[str, ...]


def conclude(study: Study, findings: Findings) -> Conclusions:
    """What is said of a study above all its figures."""
    return Conclusions(_headline(study, findings), tuple(_warnings(study, findings)))


def refuted(study: Study) -> tuple[str, ...]:
    """A sentence for each cell whose best is below what was proven to be the least."""
    optima = study.about.get("optima", {})
    return tuple(
        f"CERTIFICATE BEATEN: {cell.searcher} found {cell.best!r} on {problem_label(cell)}, below "
        f"{optima[problem_label(cell)]['lower_bound']!r}, which was proven to be the least; please report it"
        for cell in study.beaten
    )


def _headline(study: Study, findings: Findings) -> str:
    """Who ends nearest to the best known, how near, and what the reference searcher makes of its samples."""
    done = len(study.summaries)
    sofar = f"So far ({done:,} of {study.planned:,} cells): " if done < study.planned else ""
    gap = _whole(study, findings.gap)
    ends = {name: band.end for name, band in gap.items() if band.end.finite}
    if not gap:
        return _nobody(study)
    if not ends:
        return f"{sofar}No searcher's typical run has found a feasible mapping."
    least = min(end.value for end in ends.values())
    leaders = [name for name, end in ends.items() if end.value <= least + SAME]
    level = [name for name in _level_with_best(ends) if name not in leaders]
    reference = study.reference
    text = f"{names(leaders)} {'ends' if len(leaders) == 1 else 'end'} nearest to {_goal(study)}: "
    text += f"{_times(ends[leaders[0]])} over {_problems(len(study.solved), None)}"
    text += f", not told apart from {names(level)}" if level else ""
    if reference not in leaders:
        text += f"; {_end_of(study, ends, gap)}"
    for row in findings.efficiency:
        if (row.searcher, row.other) == (reference, study.baseline):
            text += f"; {efficiency_sentence(study, row)}"
    return f"{sofar}{text}."


def _nobody(study: Study) -> str:
    """The headline where no searcher can be compared with another."""
    done = len(study.summaries)
    whole = f"{done:,} of {study.planned:,} cells are done"
    if not done:
        return f"{whole}."
    if not study.solved:
        return f"{whole}, and none has found a feasible mapping."
    if len(study.cut) == len(study.searchers):
        return f"No searcher has the whole budget of {counted(study.budget, 'sample')}: {whole}."
    return f"No searcher has a run on every problem yet: {whole}."


def efficiency_sentence(study: Study, row: Efficiency) -> str:
    """A sample-efficiency ratio in words, without a full stop."""
    both = f" (both up to {row.budget:,} samples)" if row.budget < study.budget else ""
    return _compared(row) + both


def _compared(row: Efficiency) -> str:
    searcher, other, ratio = row.searcher, row.other, row.ratio
    goal = f"{other}'s final figure"
    if not row.problems:
        return f"neither {searcher} nor {other} has found anything feasible"
    fails = row.problems - row.reached
    never = f"no run of {searcher} reaches it on {_problems(fails, row.problems)}"
    if ratio is None:
        return f"{searcher} does not reach {goal}: {never} (censored)"
    if math.isinf(ratio.value):
        return f"{searcher} finds feasible mappings where {other} finds none"
    fewer = ratio.value >= 1
    size = ratio if fewer else _inverse(ratio)
    share = f"{factor(size.value)}x {'fewer' if fewer else 'more'}"
    if factor(size.value) == "1":
        share = "as many"
    text = (
        f"{searcher} needs {share} samples {'as' if share == 'as many' else 'than'} {other} to reach {goal}"
    )
    text += f" [{factor(size.low)}, {factor(size.high)}]" if size.wide else ""
    text += _elsewhere(row.over_problems, fewer)
    text += ", an interval that includes 1" if size.wide and size.low <= 1 <= size.high else ""
    return f"{text}; {never}" if fails else text


def _elsewhere(over: Interval | None, fewer: bool) -> str:
    """The interval about problems like these, in words."""
    if over is None or not over.wide:
        return ""
    size = over if fewer else _inverse(over)
    return f", on problems like these [{factor(size.low)}, {factor(size.high)}]"


def _misfits(study: Study) -> Iterator[str]:
    """Which dataflow templates are feasible nowhere, or on some problems only, as fitted to the layers."""
    alike: dict[tuple[str, ...], list[str]] = {}
    labels = [study.label(problem) for problem in study.problems]
    for template, figures in study.about.get("templates", {}).items():
        without = tuple(label for label in labels if label not in figures)
        if without:
            alike.setdefault(without, []).append(template)
    for without, templates in alike.items():
        dataflows = f"dataflow{'s' * (len(templates) > 1)} {names(templates)}"
        verb = "has" if len(templates) == 1 else "have"
        if len(without) == len(labels):
            yield f"The {dataflows} {verb} no fit on any problem: as fitted, not feasible."
            continue
        shown = "; ".join(without[:LISTED])
        more = f"; and {len(without) - LISTED} more" if len(without) > LISTED else ""
        share = _problems(len(without), len(labels))
        yield (
            f"The {dataflows} {verb} no fit on {share}: {shown}{more}. "
            "Tables have no row of a dataflow for a network where one of its problems has no fit."
        )


def _warnings(study: Study, findings: Findings) -> Iterator[str]:
    yield from refuted(study)
    yield from limits.sentences(study)
    if study.missing:
        lacking = ", ".join(f"{count:,} of {name}" for name, count in study.missing.items())
        yield f"Cells not done: {lacking}. Figures over all problems leave out who has no run on one."
    failed = study.about.get("failed", {})
    if failed:
        key, reason = next(iter(failed.items()))
        more = f", and {counted(len(failed) - 1, 'more cell')}" if len(failed) > 1 else ""
        yield f"Failed: {key} ({reason}){more}."
    yield from _misfits(study)
    yield from _starts(study)
    yield from _few_seeds(study)
    yield from _targets(study)
    yield from _infeasible(study, findings.ledger)
    yield from _overlaps(_whole(study, findings.gap))
    yield from _powerless(findings.comparisons)
    spent = [f"{row.elsewhere:,} by {row.searcher}" for row in findings.ledger if row.elsewhere]
    if spent:
        others = " The others have had none." if len(spent) < len(findings.ledger) else ""
        yield f"Samples spent outside the budget, which no figure counts: {', '.join(spent)}.{others}"


def _whole(study: Study, gap: Mapping[str, Band]) -> dict[str, Band]:
    """The bands of the searchers that have the campaign's whole budget."""
    return {name: band for name, band in gap.items() if name not in study.cut}


def _starts(study: Study) -> Iterator[str]:
    """Who begins with what, where searchers differ: early figures are of starts as much as of searches."""
    alike: dict[str, list[str]] = {}
    for name in study.searchers:
        if study.begins(name):
            alike.setdefault(study.begins(name), []).append(name)
    if len(alike) > 1:
        groups = "; ".join(f"{names(found)} with {begins}" for begins, found in alike.items())
        yield (
            f"The searchers do not begin alike: {groups}. Figures after few samples compare these starts, "
            "not the searchers alone."
        )


def _few_seeds(study: Study) -> Iterator[str]:
    """Whose problems have too few runs for an interval: all searchers', or those named."""
    sizes = {
        name: min(filter(None, (len(study.cells(p, name)) for p in study.problems)), default=study.seeds)
        for name in study.searchers
    }
    one = [name for name, size in sizes.items() if size == 1]
    few = {name: size for name, size in sizes.items() if 1 < size < FEW_SEEDS}

    def whose(found: Sequence[str]) -> str:
        return f" for {names(found)}" if len(found) < len(sizes) else ""

    if one:
        yield f"Only 1 seed a problem{whose(one)}: there are no intervals, and any difference may be chance."
    if few:
        least, most = min(few.values()), max(few.values())
        count = f"{least:,} to " * (least < most) + counted(most, "seed")
        yield f"Only {count} a problem{whose(list(few))}: intervals from so few are too narrow."


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
            f"On {_problems(guessed, len(known))} {proven}: ratios there are to the best that was found, "
            "which more searching may lower."
        )
    if nothing and study.summaries:
        yield (
            f"On {_problems(nothing, len(known))} nothing feasible is known: figures over all problems leave "
            "these out."
        )


def _infeasible(study: Study, ledger: Sequence[LedgerRow]) -> Iterator[str]:
    for row in ledger:
        share = sum(row.infeasible.values()) / row.samples if row.samples else 0.0
        if share > MOST_INFEASIBLE:
            yield f"{share:.0%} of {row.searcher}'s samples are infeasible."
        barren = sum(cell.searcher == row.searcher and math.isinf(cell.best) for cell in study.summaries)
        if barren:
            yield f"{barren:,} of {row.searcher}'s {row.cells:,} runs have found nothing feasible."


def _level_with_best(ends: Mapping[str, Interval]) -> list[str]:
    """Those whose interval overlaps with that of the lowest, without the lowest."""
    best = min(ends, key=lambda name: ends[name].value)
    return [name for name, end in ends.items() if name != best and end.low <= ends[best].high]


def _overlaps(gap: Mapping[str, Band]) -> Iterator[str]:
    ends = {name: band.end for name, band in gap.items() if band.end.finite}
    level = _level_with_best(ends) if ends else []
    if level:
        best = min(ends, key=lambda name: ends[name].value)
        whose = f"{names(level)}'s" if len(level) == 1 else f"those of {names(level)}"
        yield (
            f"The interval of the best, {best}, overlaps with {whose}: "
            "this campaign does not tell which of them ends lower."
        )


def _powerless(comparisons: Sequence[Comparison]) -> Iterator[str]:
    tested = [row for row in comparisons if math.isfinite(row.p)]
    if not tested:
        return
    # The least p value: all differences of one sign.
    most = max(row.wins + row.losses for row in tested)
    least = 2 * 0.5**most * len(tested)
    if least > SIGNIFICANT:
        tests = counted(len(tested), "comparison")
        yield (
            f"With {_problems(most, None)} and {tests}, no corrected p value of the signed-rank test can be "
            f"below {min(least, 1.0):.2g}: it cannot tell anybody apart."
        )


def _goal(study: Study) -> str:
    proven = [study.target(problem)[1] for problem in study.solved]
    if all(proven):
        return "the proven optimum"
    return "the best known, mostly proven optima" if sum(proven) > len(proven) / 2 else "the best known"


def _end_of(study: Study, ends: Mapping[str, Interval], gap: Mapping[str, Band]) -> str:
    name = study.reference
    if name in study.cut:
        return f"{name} has only {counted(study.budget_of(name), 'sample')} a run"
    if name in ends:
        return f"{name} ends at {_times(ends[name])}"
    return f"{name}'s typical run has found nothing feasible" if name in gap else f"{name} has not run on all"


def _problems(count: int, of: int | None) -> str:
    if of is None:
        return "1 problem" if count == 1 else f"{count} problems"
    if of == 1:
        return "the problem"
    return f"all {of} problems" if count == of else f"{count} of {of} problems"


def _times(end: Interval) -> str:
    times = f"{over_target(end.value)} times it"
    return f"{times} [{over_target(end.low)}, {over_target(end.high)}]" if end.wide else times


def _inverse(ratio: Interval) -> Interval:
    return Interval(*(1 / value if value else math.inf for value in (ratio.value, ratio.high, ratio.low)))
