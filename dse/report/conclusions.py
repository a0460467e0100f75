"""What a study comes to in sentences, each of which says in words what stands in a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from dse.analysis.findings import Findings, Interval
from dse.analysis.significance import Lead, Verdict, figures_at_end
from dse.analysis.study import Study
from dse.report.formats import names_in_sentence, over_target
from dse.report.limits import problems_in_words
from dse.report.tables.standing import leading_searcher, ratio_goal
from dse.report.tables.targets import efficiency_sentence
from dse.report.warnings import study_warnings
from dse.support.quantities import counted_noun

STATISTIC = "interquartile mean"
LISTED = 4
"""So many searchers are named in a clause; of more, it is said how many they are."""


@dataclass(frozen=True)
class Sentence:
    """A sentence, and the table that its figures and comparisons are from; empty where it is of none."""

    text: str
    table: str = ""


@dataclass(frozen=True)
class Conclusions:
    """The result in a few sentences, and sentences on what a sceptic should know first."""

    sentences: tuple[Sentence, ...]
    warnings: tuple[str, ...]

    @property
    def headline(self) -> str:
        """The result as one text."""
        return " ".join(sentence.text for sentence in self.sentences)


def conclude_study(study: Study, findings: Findings) -> Conclusions:
    """What is said of a study above all its figures."""
    return Conclusions(tuple(_headline(study, findings)), tuple(study_warnings(study, findings)))


def _headline(study: Study, findings: Findings) -> Iterator[Sentence]:
    """Who ends nearest to the best known, how sure that is, where the reference ends, and what it needs."""
    done = len(study.summaries)
    sofar = f"So far ({done:,} of {study.planned:,} cells)" if done < study.planned else ""
    final, best = figures_at_end(findings.gap, study.cut), leading_searcher(study, findings)
    if not final:
        yield Sentence(_nobody(study))
        return
    if best is None:
        nothing = "no searcher's typical run has found a feasible mapping"
        yield Sentence(f"{sofar or 'In the end'} {nothing}.", "standing")
        return
    over = f"{sofar}, on" if sofar else "On"
    yield Sentence(f"{over} {_nearest(study, best, final)}", "standing")
    if best.against:
        yield Sentence(_lead(best), "standing")
    yield from _dataflows(study, best.searcher)
    if study.reference not in (*best.level, _second(best, final)):
        yield Sentence(_reference(study, final), "standing")
    for row in findings.efficiency:
        if (row.searcher, row.other) == (study.reference, study.baseline):
            yield Sentence(f"{efficiency_sentence(study, row)}.", "targets")


def _nobody(study: Study) -> str:
    """The headline where no searcher can be compared with another."""
    done = len(study.summaries)
    whole = f"{done:,} of {study.planned:,} cells are done"
    if not done:
        return f"{whole}."
    if not study.solved:
        return f"{whole}, and none has found a feasible mapping."
    if len(study.cut) == len(study.searchers):
        return f"No searcher has the whole budget of {counted_noun(study.budget, 'sample')}: {whole}."
    return f"No searcher has a run on every problem yet: {whole}."


def _nearest(study: Study, best: Lead, final: Mapping[str, Interval]) -> str:
    """Who is nearest, how near that is, and who comes next."""
    over, after = problems_in_words(len(study.solved), None), f"after {counted_noun(study.budget, 'sample')}"
    nearest, end = f"nearest to {ratio_goal(study)}", final[best.searcher]
    if len(best.level) > 1:
        all_at = f"{'both' if len(best.level) == 2 else 'all'} {_at(study, end.value)}"
        ahead = f"{names_in_sentence(best.level)} are {nearest} {after}, {all_at} ({STATISTIC})"
    else:
        ahead = f"{best.searcher} is {nearest} {after}, {_interval(study, end, STATISTIC)}"
    second = _second(best, final)
    if not second:
        return f"{over}, {ahead}."
    named = f"{second}, the reference" if second == study.reference else second
    return f"{over}, {ahead}; next is {named}, {_at(study, final[second].value)}."


def _second(best: Lead, final: Mapping[str, Interval]) -> str:
    """Who comes next after the best; "" where nobody does."""
    others = {name: found.value for name, found in final.items() if name not in best.level and found.finite}
    return min(others, key=lambda name: others[name], default="")


def _lead(best: Lead) -> str:
    """Over whom the lead of the best is significant, and over whom it is not."""
    groups: dict[Verdict, list[str]] = {}
    for name, found in best.against.items():
        groups.setdefault(found, []).append(name)
    words: dict[Verdict, str] = {
        "significant": "significant",
        "not significant": "not significant",
        "inconclusive": "inconclusive, for want of runs,",
        "reversed": "significantly reversed",
    }
    clauses = [
        f"{said} over {_whom(groups[kind], best, kind != 'not significant')}"
        for kind, said in words.items()
        if kind in groups
    ]
    return f"The lead of {best.searcher} is {names_in_sentence(clauses)}."


def _whom(found: Sequence[str], best: Lead, all_of_them: bool) -> str:
    """Those that a verdict is of: "both others" of what holds, "either of the others" of what does not."""
    every = len(best.against)
    if len(found) == every and every > 1:
        if all_of_them:
            return f"{'both' if every == 2 else f'all {every}'} others"
        return "either of the others" if every == 2 else f"any of the {every} others"
    return names_in_sentence(found) if len(found) <= LISTED else f"{len(found)} of the {every} others"


def _dataflows(study: Study, leader: str) -> Iterator[Sentence]:
    """Where a fixed dataflow, which nobody has searched for, is better than the leader's median run."""
    found, templates = {}, study.about.get("templates", {})
    for problem in study.solved if not study.of_fronts else ():
        label = study.label(problem)
        losses = {name: each[label]["loss"] for name, each in templates.items() if label in each}
        name = min(losses, key=lambda name: losses[name], default="")
        if losses and losses[name] < median(cell.best for cell in study.cells(problem, leader)):
            found[problem] = name
    if found:
        where, names = problems_in_words(len(found), len(study.solved)), sorted(set(found.values()))
        dataflow = f"a fixed dataflow ({' or '.join(names)})"
        yield Sentence(f"On {where} {dataflow} is better than the median run of {leader}.", "reduction")


def _reference(study: Study, final: Mapping[str, Interval]) -> str:
    name = study.reference
    subject = f"{name}, the reference,"
    if name in study.cut:
        return f"{subject} has only {counted_noun(study.budget_of(name), 'sample')} a run."
    if name not in final:
        return f"{subject} has not run on all problems."
    if not final[name].finite:
        return f"{subject} has found nothing feasible in its typical run."
    ends = _interval(study, final[name], goal=ratio_goal(study))
    return f"{subject} {'ends' if study.of_fronts else 'is'} {ends}."


def _interval(study: Study, end: Interval, statistic: str = "", goal: str = "it") -> str:
    """Where a searcher ends, and in brackets which statistic it is and its confidence interval."""
    low, high = (_figure(study, value) for value in (end.low, end.high))
    more = ", ".join(filter(None, (statistic, f"95 % confidence interval {low} to {high}" * end.wide)))
    return _at(study, end.value, goal) + (f" ({more})" if more else "")


def _at(study: Study, value: float, goal: str = "it") -> str:
    """How far it is from the optimum, or what is missing to the front."""
    if study.of_fronts:
        return f"with {_figure(study, value)} of its hypervolume missing"
    return f"at {_figure(study, value)} times {goal}"


def _figure(study: Study, value: float) -> str:
    return f"{value - 1:.1%}" if study.of_fronts else over_target(value)
