"""What is said of searchers that have fewer seeds or samples than the campaign gives the others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from dse.analysis.study import Study
from dse.report.formats import counted, names


def seeds(study: Study, ends: bool = False) -> str:
    """How many seeds are done: "10 seeds", or "5 to 10 seeds" where some searchers or problems have fewer.

    With `ends`, of the searchers that have the whole budget.
    """
    shown = [name for name in study.complete if not (ends and name in study.cut)]
    done = [len(study.cells(problem, name)) for name in shown for problem in study.problems]
    least, most = min(done, default=study.seeds), max(done, default=study.seeds)
    return f"{least:,} to " * (least < most) + counted(most, "seed")


def samples(study: Study) -> str:
    """How many samples a run has: "2,000 samples", or "up to" as many where some have fewer."""
    return "up to " * bool(study.cut) + counted(study.budget, "sample")


def without(study: Study, budget: int | None = None) -> str:
    """Whom figures at a budget, by default the whole one, leave out and why: for the end of a title."""
    found = missing(study, budget)
    return f"; without {found}" if found else ""


def missing(study: Study, budget: int | None = None) -> str:
    """The searchers that have less than a budget, by default the whole one: "walk (500 samples a run)"."""
    wanted = study.budget if budget is None else budget
    lacking = [name for name in study.searchers if study.budget_of(name) < wanted]
    return names([f"{name} ({_each(study, name)})" for name in lacking]) if lacking else ""


def label(study: Study, searcher: str, shown: str) -> str:
    """A searcher's name beside a curve: with the samples where that ends, if they are fewer than others'."""
    return f"{shown} to {study.budget_of(searcher):,}" if searcher in study.cut else shown


def sentences(study: Study) -> Iterator[str]:
    """Sentences on the searchers that have less, and on how figures treat them."""
    alike: dict[int, list[str]] = defaultdict(list)
    for name in study.searchers:
        budget, count = study.budget_of(name), study.seeds_of(name)
        fewer = f"{count:,} of {counted(study.seeds, 'seed')}" if count < study.seeds else ""
        if name in study.cut:
            also = f", and {fewer}" if fewer else ""
            yield (
                f"{name} has {budget:,} of {counted(study.budget, 'sample')} a run{also}, as the campaign "
                f"says: it is in no table and no figure beyond {budget:,} samples, and nobody knows which "
                "targets it would reach later."
            )
        elif fewer:
            alike[count].append(name)
    for count, found in alike.items():
        verb = "has" if len(found) == 1 else "have"
        yield (
            f"{names(found)} {verb} {count:,} of {counted(study.seeds, 'seed')}, as the campaign says: "
            "intervals are of the seeds that there are."
        )


def _each(study: Study, name: str) -> str:
    return f"{counted(study.budget_of(name), 'sample')} a run"
