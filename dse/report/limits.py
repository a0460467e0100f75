"""What is said of searchers that have fewer seeds or samples than others, and of who is the reference."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from dse.analysis.study import Study
from dse.report.formats import names_in_sentence
from dse.support.quantities import counted_noun


def seeds_in_words(study: Study, ends: bool = False) -> str:
    """How many seeds are done: "10 seeds", or "5 to 10 seeds" where some searchers or problems have fewer.

    With `ends`, of the searchers that have the whole budget.
    """
    shown = [name for name in study.complete if not (ends and name in study.cut)]
    done = [len(study.cells(problem, name)) for name in shown for problem in study.problems]
    least, most = min(done, default=study.seeds), max(done, default=study.seeds)
    return f"{least:,} to " * (least < most) + counted_noun(most, "seed")


def samples_in_words(study: Study) -> str:
    """How many samples a run has: "2,000 samples", or "up to" as many where some have fewer."""
    return "up to " * bool(study.cut) + counted_noun(study.budget, "sample")


def without_whom(study: Study, budget: int | None = None) -> str:
    """Whom figures at a budget, by default the whole one, leave out and why, in a sentence if anybody."""
    found = missing_searchers(study, budget)
    return f"Without {found}." if found else ""


def missing_searchers(study: Study, budget: int | None = None) -> str:
    """The searchers that have less than a budget, by default the whole one: "walk (500 samples a run)"."""
    wanted = study.budget if budget is None else budget
    lacking = [name for name in study.searchers if study.budget_of(name) < wanted]
    said = [f"{name} ({counted_noun(study.budget_of(name), 'sample')} a run)" for name in lacking]
    return names_in_sentence(said) if said else ""


def label(study: Study, searcher: str, shown: str) -> str:
    """A searcher's name beside a curve: with the samples where that ends, if they are fewer than others'."""
    return f"{shown} to {study.budget_of(searcher):,}" if searcher in study.cut else shown


def sentences(study: Study) -> Iterator[str]:
    """Sentences on the searchers that have less, and on how figures treat them."""
    alike: dict[tuple[int, int], list[str]] = defaultdict(list)
    for name in study.searchers:
        if name in study.cut or study.seeds_of(name) < study.seeds:
            alike[study.budget_of(name), study.seeds_of(name)].append(name)
    for (budget, count), found in alike.items():
        have = f"{names_in_sentence(found)} {'has' if len(found) == 1 else 'have'}"
        seeds = f"{count:,} of {counted_noun(study.seeds, 'seed')}"
        if budget == study.budget:
            yield f"{have} {seeds}, as the campaign says: intervals are of the seeds that there are."
            continue
        also = f", and {seeds}" if count < study.seeds else ""
        yield (
            f"{have} {budget:,} of {counted_noun(study.budget, 'sample')} a run{also}, as the "
            "campaign says, and "
            "no figure beyond."
        )


def problems_in_words(count: int, of: int | None) -> str:
    """So many problems, perhaps of so many: "1 problem", "the problem", "all 3 problems", "2 of 3"."""
    if of is None:
        return counted_noun(count, "problem")
    if of == 1:
        return "the problem"
    return f"all {of} problems" if count == of else f"{count} of {of} problems"
