"""The claims of arXiv:2507.16249, one by one: what the paper says, what we measured, what becomes of it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dse.analysis.findings import Interval
from dse.analysis.reduction import Reduction, budgets_up_to, network_of, reduction_rows, sections_of_problems
from dse.analysis.study import Study
from dse.report.formats import factor_text
from experiments.intervals import Verdict, at_least, overall
from experiments.paper.measures import (
    Contest,
    above_one,
    among,
    best_numbers,
    budget_over_samples,
    fewer_samples,
    loss_ratio,
    most_possible,
)

SAVED = 30
"""The least of the 30 to 300 times fewer samples that the paper claims."""
NOTABLE = 0.005
"""Ratios nearer to 1 are printed as 1.00, and called neither better nor worse."""
CLAIMED, OTHERS = ("marl-6", "marl-9"), ("marl-1", "marl-2", "marl-3", "marl")
Row = tuple[str, ...]


@dataclass(frozen=True)
class Claim:
    """A claim, what was measured of it, and what becomes of it. `rows` is a table under `heads`."""

    claim: str
    paper: str
    verdict: Verdict
    why: str
    runs: str
    heads: Row
    rows: tuple[Row, ...]
    figures: tuple[dict[str, Any], ...]


def samples_claim(study: Study, one: str, other: str, kind: str) -> Claim:
    """The 30 to 300 times fewer samples, of one searcher against another."""
    alike, paper = fewer_samples(study, one, other), budget_over_samples(study, one, other)
    verdict = at_least(SAVED, paper.value)
    counts = (
        (f"the budget over {one}'s samples, as the paper counts", paper),
        (f"{other}'s samples over {one}'s, both until they are there", alike),
    )
    return Claim(
        f"Many agents need 30 to 300 times fewer samples than a single one ({kind})",
        "30 to 300 times fewer, over workloads and objectives",
        verdict,
        f"{one} is where {other} ends when the budget is {shown(paper.value)} times what {one} has spent "
        f"({paper.note}; 0 is never); {other} itself spends {shown(alike.value)} times as much as {one} does "
        "to be there",
        runs_of(study),
        ("how it is counted", f"times fewer samples of {one} than of {other}"),
        tuple((name, shown(contest.value)) for name, contest in counts),
        tuple(figure(name, contest) for name, contest in counts),
    )


def reduction_claims(study: Study) -> Iterator[Claim]:
    """The paper's Table III, a claim for each network and objective."""
    budgets = sorted({study.budget, *map(study.budget_of, study.searchers)})
    # The paper's networks, of which a campaign may have some layers.
    networks = {(network_of(layer), machine, objective) for layer, machine, objective in study.problems}
    group_of = sections_of_problems(study.problems, networks)
    found = reduction_rows(study.summaries, group_of, study.reference, budgets)
    for entry in study.about.get("published", ()):
        network, objective = entry["network"], entry["objective"]
        # In the campaign's order: curves keep tables by name.
        claimed = {name: entry["ratios"][name] for name in study.searchers if name in entry["ratios"]}
        rows = [row for row in found if (row.network, row.objective) == (network, objective)]
        by_name = {row.searcher: row for row in rows if row.budget == study.budget_of(row.searcher)}
        problems = [
            p for p, group in group_of.items() if (group.network, group.objective) == (network, objective)
        ]
        if not problems:
            continue
        judged = [(name, times, by_name[name]) for name, times in claimed.items() if name in by_name]
        verdicts: list[Verdict] = [
            "not tested" if name in study.cut else at_least(times, as_interval(row))
            for name, times, row in judged
        ]
        possible = {name: most_possible(study, name, problems) for name, _, _ in judged}
        better = [name for name, _, row in judged if row.low > 1 + NOTABLE]
        worse = [name for name, _, row in judged if row.high < 1 - NOTABLE]
        yield Claim(
            f"marl's mappings of {network} are better than the baselines', {objective}",
            ", ".join(f"{name} {times}x" for name, times in claimed.items()),
            overall(verdicts) if judged else "inconclusive",
            f"marl is significantly better than {listed(better)}, and significantly worse than "
            f"{listed(worse)}; as much better as claimed than {verdicts.count('borne out')} of "
            f"{len(verdicts)}",
            f"{study.budget:,} samples a layer; {runs_of(study)}",
            ("baseline", "paper", "here: its figure over marl's", "over the best known", "verdict"),
            (
                *(
                    (
                        _after(study, name),
                        f"{times:g}",
                        shown(as_interval(row)),
                        f"{possible[name]:.2f}",
                        verdict,
                    )
                    for (name, times, row), verdict in zip(judged, verdicts, strict=True)
                ),
                *(
                    (name, f"{times:g}", "no runs yet", "-", "inconclusive")
                    for name, times in claimed.items()
                    if name not in by_name
                ),
            ),
            tuple(
                {"baseline": name, "paper": times, "seeds": row.seeds, **spread(as_interval(row))}
                | {"over_best_known": possible[name]}
                for name, times, row in judged
            ),
        )


def _after(study: Study, name: str) -> str:
    """A searcher, with its budget if that is not the campaign's: marl is read there too."""
    return f"{name} ({study.budget_of(name):,} samples, both)" if name in study.cut else name


def agents_claim(study: Study) -> Claim:
    """That 6 to 9 agents are best."""
    names = [name for name in study.searchers if name in (*CLAIMED, *OTHERS) and name != "marl"]
    ratios = {
        (one, other): loss_ratio(study, one, other, study.budget).value for one in CLAIMED for other in OTHERS
    }
    known = {pair: ratio for pair, ratio in ratios.items() if ratio is not None}
    whole = len(known) == len(ratios)
    verdict: Verdict = best_numbers(CLAIMED, OTHERS, known) if whole else "inconclusive"
    beaten = [f"{one} over {other} {shown(ratio)}" for (one, other), ratio in known.items()]
    table, figures = over_budgets(study, names)
    return Claim(
        "6 to 9 agents are best",
        "fewer or more than 6 to 9 agents end with worse mappings",
        verdict,
        f"loss over loss after {study.budget:,} samples: {'; '.join(beaten)}",
        runs_of(study),
        ("agents", *(f"{samples:,} samples" for samples in budgets_up_to(study.budget))),
        table,
        figures,
    )


def objectives_claim(study: Study) -> Claim:
    """That many agents end with better mappings than a single one, whatever the objective."""
    objectives = list(dict.fromkeys(objective for _, _, objective in study.problems))
    found = {
        (objective, one, many): loss_ratio(among(study, (one, many), objective), one, many, study.budget)
        for objective in objectives
        for one, many in (("ppo", "marl"), ("ppo-plain", "marl-plain"))
    }
    verdicts = {key: above_one(contest.value) for key, contest in found.items()}
    told = [f"{objective} of {one}" for (objective, one, _), v in verdicts.items() if v == "borne out"]
    return Claim(
        "Many agents end with better mappings than a single one, for latency, area and EDP",
        "in Figure 5 its return and best are above those of PPO for each objective",
        overall(list(verdicts.values())),
        f"many agents end significantly lower than {listed(told)}; where both end alike it is inconclusive",
        runs_of(study),
        ("objective", "single agent's loss over", "ratio", "verdict"),
        tuple(
            (o, f"{one} / {many}", shown(c.value, 3), verdicts[o, one, many])
            for (o, one, many), c in found.items()
        ),
        tuple(figure(f"{o}: {one}'s loss over {many}'s", c) for (o, one, many), c in found.items()),
    )


def many_agents_claim(controls: Sequence[tuple[Study, str]]) -> Claim:
    """That it is the many agents that save samples, against single agents that have all else of marl."""
    rows, figures, verdicts, told = [], [], [], []
    for study, control in controls:
        samples = fewer_samples(study, "marl", control)
        final = loss_ratio(study, control, "marl", study.budget)
        verdicts.append(above_one(samples.value))
        sizes = f"{samples.problems}, {samples.seeds} each"
        rows.append(
            (f"{control} ({study.name})", shown(samples.value), shown(final.value, 3), sizes, verdicts[-1])
        )
        figures += [
            figure(f"{control}: times fewer samples", samples),
            figure(f"{control}: loss over marl's", final),
        ]
        told.append(f"{shown(samples.value)} times fewer samples than {control}")
    return Claim(
        "It is the many agents that make the difference",
        "distributing the search over agents speeds up exploration; there is no control",
        overall(verdicts),
        "factored-ppo is one agent with marl's policy, reward and tricks, tuned by itself; single-agent has "
        f"marl's settings too. marl needs {', and '.join(told)}",
        "; ".join(f"{study.name}: {runs_of(study)}" for study, _ in controls),
        ("single agent", "times fewer samples", "its loss over marl's", "problems, seeds", "verdict"),
        tuple(rows),
        tuple(figures),
    )


def over_budgets(study: Study, names: Sequence[str]) -> tuple[tuple[Row, ...], tuple[dict[str, Any], ...]]:
    """Each variant's loss over marl's at the tables' budgets, as rows and as figures."""
    rows, figures = [], []
    for name in names:
        found = {n: loss_ratio(study, name, "marl", n) for n in budgets_up_to(study.budget)}
        rows.append((name, *(shown(contest.value, 3) for contest in found.values())))
        figures += [figure(f"{name}'s loss over marl's, {n:,} samples", c) for n, c in found.items()]
    return tuple(rows), tuple(figures)


def as_interval(row: Reduction) -> Interval:
    """A reduction's ratio with its interval; of one seed, without."""
    ends = (row.low, row.high) if math.isfinite(row.low) else (row.ratio_median, row.ratio_median)
    return Interval(row.ratio_median, *ends)


def shown(found: Interval | None, places: int = 2) -> str:
    """A figure with its interval: 1.31 [1.10, 1.57]."""
    if found is None:
        return "never reached"
    value, low, high = (number(x, places) for x in (found.value, found.low, found.high))
    return f"{value} [{low}, {high}]" if found.wide else value


def number(value: float, places: int) -> str:
    """A ratio: with so many places if it is near 1, else with two or three digits."""
    return f"{value:.{places}f}" if 0 < value < 10 else "0" if value == 0 else factor_text(value)


def spread(found: Interval | None) -> dict[str, float | None]:
    """A figure and its interval as plain data: what is infinite or unknown is None."""
    parts = {"value": None, "low": None, "high": None} if found is None else found._asdict()
    return {name: x if x is not None and math.isfinite(x) else None for name, x in parts.items()}


def figure(what: str, contest: Contest) -> dict[str, Any]:
    """A contest as plain data."""
    return {"what": what, **spread(contest.value), "seeds": contest.seeds, "problems": contest.problems}


def listed(names: Sequence[str]) -> str:
    """Names in words."""
    return ", ".join(names) or "none"


def runs_of(study: Study) -> str:
    """How much a campaign has run, in words."""
    done = len(study.summaries)
    sofar = "" if done == study.planned else f"; so far {done:,} of {study.planned:,} runs"
    problems = len(study.problems)
    return f"{problems} problem{'s' * (problems != 1)}, {study.seeds} seeds{sofar}"
