"""The list of rules, and the loop that judges a searcher by it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from dse.search.abilities import abilities_of
from dse.search.searcher import Searcher, has_search, make_searcher
from dse.support.errors import InputError
from dse.support.validation import whole_number
from dse.testing import conduct, records
from dse.testing.candidate import GLOBAL_RANDOM, REFERENCE, REUSABLE, SAME_SEED, Candidate
from dse.testing.verdict import ContractRule, Verdict, judge

LEAST = 100
"""Fewer samples than this would show no difference between searchers."""
TIME_LIMIT = 300.0
"""Seconds after which a single search of at most 1,200 samples is given up."""


@dataclass(frozen=True)
class Rule(ContractRule[Candidate]):
    """A rule, as a sentence about a searcher. It is judged only where the rules that it `needs` are kept."""

    needs: tuple[str, ...] = ("inside", "budget")


RULES: tuple[Rule, ...] = (
    Rule("configuration", "is a frozen dataclass of plain settings, and pickles", conduct.configuration, ()),
    Rule("imports", "imports no cost model, no proofs and no results", conduct.imports, ()),
    Rule("inside", "asks only for points inside the space", conduct.inside, ()),
    Rule("budget", "spends exactly the whole budget, and ends", conduct.budget, ("inside",)),
    Rule("one-choice", "searches where genes have one choice", conduct.one_choice),
    Rule("small-space", "spends the whole budget in a smaller space", conduct.small_space, ("one-choice",)),
    Rule(
        "any-space",
        "searches a space that has nothing to do with mappings",
        conduct.any_space,
        ("one-choice",),
    ),
    Rule("start", "goes on from samples that it did not ask for", conduct.start),
    Rule("infeasible", "survives a landscape where nothing is feasible", conduct.infeasible),
    Rule(SAME_SEED, "draws the same record from the same seed", records.same_seed),
    Rule("other-seed", "draws another record from another seed", records.other_seed),
    Rule(
        "larger-budget",
        "draws the same first samples of a larger budget, or declares that it plans for it",
        records.larger_budget,
        (SAME_SEED,),
    ),
    Rule(
        GLOBAL_RANDOM,
        "does not depend on global random states, nor on who draws from them",
        records.global_random_ignored,
    ),
    Rule(REUSABLE, "serves several searches with one object", records.reusable),
    Rule(
        "fresh-process",
        "draws the same record in a fresh process, whatever its hash seed, threads and CPU",
        records.fresh_process,
        ("configuration", SAME_SEED, GLOBAL_RANDOM),
    ),
    Rule("resume", "resumes to the same record from any cut", records.resume, (SAME_SEED,)),
    Rule("easy-optimum", "approaches an easy optimum", conduct.easy_optimum),
    # The rules below look at all searches of those above.
    Rule("charged", "pays a sample for every row that a cost model prices", conduct.charged),
    Rule(
        "global-random-kept",
        "leaves global random states alone",
        conduct.random_states_kept,
        ("inside", "budget", GLOBAL_RANDOM),
    ),
    Rule("settings-kept", "leaves threads and floating-point errors as found", conduct.settings_kept),
    Rule("quiet", "prints nothing", conduct.quiet),
)


def check_rules(
    searcher: Searcher | str,
    *,
    rules: Iterable[Rule] = RULES,
    time_limit: float = TIME_LIMIT,
    samples: int = REFERENCE,
) -> Iterator[Verdict]:
    """Judge a searcher, or the registered one of that name, rule by rule: the verdicts as they are reached.

    A search that takes longer than `time_limit` seconds breaks the rule that it is made for. No search is
    longer than `samples`: fewer are for a first look at a slow searcher, which has to begin to learn within
    them. An unknown name, a plug-in that cannot be loaded, or one that declares what cannot be (see
    `dse.search.abilities`) is an InputError.
    """
    subject = make_searcher(searcher) if isinstance(searcher, str) else searcher
    if isinstance(subject, type) or not has_search(subject):
        raise InputError(f"expected an object like Random(), with search(evaluate, rng), got {subject!r}")
    abilities_of(subject)
    return _verdicts(subject, tuple(rules), time_limit, whole_number(samples, "samples", least=LEAST))


def check_searcher(
    searcher: Searcher | str,
    *,
    rules: Iterable[Rule] = RULES,
    time_limit: float = TIME_LIMIT,
    samples: int = REFERENCE,
) -> list[Verdict]:
    """All verdicts of `check_rules`, in the order of the rules."""
    return list(check_rules(searcher, rules=rules, time_limit=time_limit, samples=samples))


def _verdicts(
    searcher: Searcher, rules: tuple[Rule, ...], time_limit: float, samples: int
) -> Iterator[Verdict]:
    with Candidate(searcher, time_limit, samples) as candidate:
        if any(rule.check is records.fresh_process for rule in rules):
            # Each spends seconds on imports: they begin now, beside the searches of the other rules.
            _ = candidate.fresh_runs
        yield from judge(rules, candidate)
