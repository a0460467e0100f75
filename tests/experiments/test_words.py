"""Words of results/README.md follow from the files that it names: a verdict turns where its figures do."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from dse.analysis.study import load_study
from experiments import RESULTS, read_rows
from experiments.quantised.study import alike, read
from experiments.tuning.ranges import FIRST
from tests import ROOT
from tests.experiments import judges_words, paper_words
from tests.experiments.result_files import (
    CHANCES,
    ahead_of_all,
    budgets,
    figure,
    leads,
    nearest,
    of,
    tables,
    verdicts,
)

PAGE = " ".join((ROOT / "results" / "README.md").read_text(encoding="utf-8").split())


def at_the_optimum(campaign: str, searcher: str) -> int:
    """How many runs end at the proven optimum."""
    study = load_study(RESULTS / campaign)
    ends = [
        cell.at(study.budget)["loss"] / study.target(problem)[0]
        for problem in study.problems
        for cell in study.cells(problem, searcher)
    ]
    return int(np.sum(np.array(ends) < 1 + 1e-9))


def said(path: str, start: str) -> str:
    """The line of a file that begins so."""
    lines = (RESULTS / path).read_text("utf-8").splitlines()
    return next(line.removeprefix(start) for line in lines if line.startswith(start))


def lower(campaign: str) -> tuple[set[str], set[str], set[str]]:
    """Who is lower than random search after 500 samples, who neither, who higher."""
    part = (RESULTS / "learners" / "standing.md").read_text("utf-8").split(f"### {campaign},")[1]
    kinds = (
        re.search(rf"^Significantly {kind}: (.*)\.$", part, re.MULTILINE)
        for kind in ("lower", "neither", "higher")
    )
    first, second, third = (set(kind[1].split(", ")) for kind in kinds if kind)
    return first, second, third


def off_policy() -> bool:
    (low, level, high), (low_too, level_too, high_too) = (
        lower(name) for name in ("heldout12", "heldout12-loopnest")
    )
    return (
        {"d4pg", "ddpg"} <= low & low_too
        and {"maddpg", "qmix"} <= low & level_too
        and {"masac", "mast"} <= level & level_too
        and high == high_too == {"dqn"}
    )


def rank_alike() -> bool:
    rows = of("comparisons/four_models.md")
    (rows,) = (
        rows
        for rows in tables((RESULTS / "comparisons/four_models.md").read_text("utf-8")).values()
        if "EDP, random" in rows[0]
    )
    random = [figure(row[name])[0] for row in rows for name in ("latency, random", "EDP, random")]
    energy = [figure(row["energy, random"])[0] for row in rows if "maestro" in row["models"]]
    return min(random) == 0.93 and (min(energy), max(energy)) == (0.72, 0.80)


def quantised(task: str) -> set[str]:
    return verdicts("quantised/study.md", f"Fig. 4: trained with 6 bits it holds, {task}")


def dqn_share() -> float:
    """DQN's part of the errors in 8 bits, over tasks of Gymnasium."""
    frame = read("ptq.csv")
    eight = alike(frame).query("weights == 8 and group != 'mappings'")
    means = eight.worse.abs().groupby([eight.group, eight.algorithm]).mean()
    assert len(means) == 12
    return float(means.xs("dqn", level="algorithm").sum() / means.sum())


def scores(name: str, column: str) -> list[str]:
    """Of the finals of a searcher's trials, the defaults' first where they are tried so."""
    return [row[column] for row in read_rows(RESULTS / f"tuning/{name}.csv") if row["round"] == "final"]


def often_is_worse() -> bool:
    """Whether the defaults are the best of the finals of `maddpg` with more updates."""
    first, *rest = (row for row in read_rows(RESULTS / "tuning/maddpg-often.csv") if row["round"] == "final")
    assert json.loads(first["settings"]) == FIRST["maddpg-often"][0]
    return len(rest) == 2 and all(float(row["score"]) > float(first["score"]) for row in rest)


LOOPNEST, MAESTRO = ("heldout12-loopnest/tables/versus.md", "heldout12/tables/versus.md")
WORDS: dict[str, Callable[[], bool]] = {
    "From 500 to 20,000 samples `team` is ahead of every other searcher under both cost models, with": (
        lambda: ahead_of_all(of(LOOPNEST, CHANCES)) and ahead_of_all(of(MAESTRO, CHANCES))
    ),
    "119 of 120 runs of `team` end at the proven optimum": (
        lambda: at_the_optimum("heldout12-loopnest", "team") == 119
    ),
    "With 5 to 500 samples `team` is nearest": (
        lambda: (
            nearest(of("few-samples-final.md"), but=("team-uniform-start",))
            == ["5", "20", "50", "100", "200", "500"]
        )
    ),
    "From 20 samples on `team-uniform-start` is as near as `team`": lambda: (
        nearest(of("few-samples-final.md")) == ["5", "500"]
    ),
    "significant under `loopnest` after 5 and 20 samples, under `maestro` after 20 and 500": (
        lambda: (
            leads(of("final-loopnest/tables/versus.md", CHANCES), "bayesian") == ["5", "20"]
            and leads(of("final-maestro/tables/versus.md", CHANCES), "bayesian") == ["20", "500"]
        )
    ),
    "after 5 and 20 samples so do all that begin with templates": lambda: all(
        figure(row["5"])[0] <= 1.25 and figure(row["20"])[0] <= 1.15
        for row in of("few-samples-final.md")
        if row["searcher"] not in ("random", "team-uniform-start")
    ),
    "`weighted-runs` of `team` is ahead from the start": lambda: all(
        figure(row[at])[1] > figure(of("fronts.md")[1][at])[2]
        for row in of("fronts.md")
        if row["searcher"] != "weighted-runs of team"
        for at in budgets(row)
    ),
    "Under the other two models its lead is not significant after 100 samples": lambda: (
        [
            "100" in leads(of(f"ablations/{model}/tables/versus.md", CHANCES), "bayesian")
            for model in ("loopnest", "maestro", "conflicts")
        ]
        == [True, False, False]
    ),
    "With `team`'s features `bayesian` is not significantly behind after 100 samples under any": lambda: (
        not any(
            "100" in leads(of(f"ablations/{model}/tables/versus.md", CHANCES), "bayesian-teams-features")
            for model in ("loopnest", "maestro", "conflicts")
        )
    ),
    "Five of ten searchers come to the optimum (1.000) within 10,000 samples": lambda: (
        [
            row.get("10,000", "-").split()[0]
            for row in of(
                "gemmini/tables/standing.md", "Median best loss over the proven optimum after so many"
            )
        ].count("1.000")
        == 5
    ),
    "`team` is nearest from 50 samples on, with significant leads after 500 and 2,000": (
        lambda: (
            nearest(of("transformers/few-samples.md"))[0] == "50"
            and ahead_of_all(of("transformers/tables/versus.md", CHANCES))
        )
    ),
    **paper_words.WORDS,
    **judges_words.WORDS,
    "takes exactly 4 cycles more in 847 of 847 even mappings": lambda: (
        [
            float(row["cycles both wide"]) - float(row["maestro_cycles both wide"])
            for row in read_rows(RESULTS / "comparisons" / "loopnest_vs_maestro.csv")
            if row["even"] == "1"
        ]
        == [4.0] * 847
    ),
    "Random mappings rank alike in latency and EDP under all four (0.93 or more)": rank_alike,
    "After 500 samples `d4pg` and `ddpg` are better than random search under both cost models": off_policy,
    "Earlier and more updates did not help `maddpg`": often_is_worse,
    "`masac` the best ends at 3.036, its defaults at 3.403; with few updates it ends at 2.596": lambda: (
        scores("masac-often", "score")[:2] == ["3.4027", "3.0356"]
        and scores("masac", "ratio_500") == ["2.5960", "4.5753", "3.4027"]
    ),
    "The other parts are in another order": (
        lambda: verdicts("learners/study.md", "of them sampling takes most") == {"not borne out"}
    ),
    "not borne out from 5,000 steps, inconclusive from": lambda: (
        verdicts("learners/study.md", "neighbor: sampling") == {"not borne out"}
        and ": inconclusive." in said("learners/memory.md", "Sampling by neighbours takes")
    ),
    "1.03 [1.01, 1.05] times as fast with int8, 0.95 [0.77, 1.16] with fp16": lambda: (
        "| 1.03 [1.01, 1.05] |" in said("quantised/actorq.md", "| int8 | 18.1")
        and "| 0.95 [0.77, 1.16] |" in said("quantised/actorq.md", "| fp16 | 19.7")
    ),
    "(`static` 72 % of dense's gain at a tenth of the weights, 51 % at a twentieth)": lambda: (
        " 72 [67, 78] |" in said("sparse/mast_spread.md", "| static, tuned | 0.1 |")
        and " 51 [37, 65] |" in said("sparse/mast_spread.md", "| static | 0.05 |")
    ),
    '"No loss of reward" with neighbours is inconclusive': (
        lambda: verdicts("learners/study.md", "no loss of mean reward") == {"inconclusive"}
    ),
    "inconclusive, 4.2 [-1.5, 9.9] % in 8 bits": (
        lambda: verdicts("quantised/study.md", "Table 1") == {"inconclusive"}
    ),
    "in 8 bits over twelve tasks, most of it DQN's": lambda: dqn_share() > 0.5,
    "is better than full precision: inconclusive": (
        lambda: verdicts("quantised/study.md", "Fig. 2") == {"inconclusive"}
    ),
    "borne out for PPO on CartPole and DDPG on mappings, inconclusive for the other four": lambda: (
        quantised("CartPole-v1, ppo") | quantised("mappings, ddpg") == {"borne out"}
        and quantised("Acrobot-v1, ppo") | quantised("mappings, ppo") == {"inconclusive"}
        and quantised("mappings, a2c") | quantised("mappings, dqn") == {"inconclusive"}
    ),
    "8 bits cost 5 % or less, borne out (-0.5 [-2.3, 1.3] %), 6 bits inconclusive, as are scales": lambda: (
        verdicts("quantised/pixels.md", "8 bits cost") == {"borne out"}
        and all(
            verdicts("quantised/pixels.md", start) == {"inconclusive"}
            for start in ("6 bits", "in 4 bits", "in 2 bits", "training with")
        )
    ),
    "for one row not borne out up to 3 x 512 and borne out at 3 x 2,048": lambda: (
        [
            verdicts(
                "quantised/study.md", f"Table 2: 8 bits are 1.2 times faster or more, 3 x {units}, 1 rows"
            )
            for units in (64, 256, 512, 2048)
        ]
        == [{"not borne out"}] * 3 + [{"borne out"}]
    ),
    "reach their target in 21, 20 and 17: inconclusive": lambda: (
        [
            (row["reached"], row["as often as fp32"])
            for row in of("quantised/actorq.md", "In all of these runs")
        ]
        == [("21 of 31", "-"), ("20 of 31", "inconclusive"), ("17 of 31", "inconclusive")]
    ),
}


@pytest.mark.parametrize("words", [*WORDS])
def test_words_of_a_verdict_follow_from_its_files(words: str) -> None:
    assert words in PAGE
    assert WORDS[words]()


README = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
README_WORDS: dict[str, Callable[[], bool]] = {
    "Our own mapper, `team`, is ahead after 500 samples and more": lambda: ahead_of_all(
        of(LOOPNEST, CHANCES)
    ),
    "None of the gains in [the paper's table]": paper_words.WORDS["None of Table III's ratios is borne out"],
}


@pytest.mark.parametrize("words", [*README_WORDS])
def test_words_of_the_readme_follow_from_the_results(words: str) -> None:
    assert words in README
    assert README_WORDS[words]()


def test_trials_are_counted_as_they_were_recorded() -> None:
    (rows,) = (rows for rows in tables((RESULTS / "tuning" / "frozen.md").read_text("utf-8")).values())
    counted = {}
    for row in rows:
        names, trials = row["searcher"].split(", "), re.findall(r"\d+", row["trials"])
        if (RESULTS / "tuning" / f"{names[0]}.csv").exists():
            counted |= {name: int(trials[place % len(trials)]) for place, name in enumerate(names)}
    assert len(counted) > 15
    found = {name: read_rows(RESULTS / "tuning" / f"{name}.csv") for name in counted}
    assert {name: sum(row["round"] == "trial" for row in lines) for name, lines in found.items()} == counted


WIDE = sorted(
    path.relative_to(RESULTS).as_posix()
    for path in RESULTS.glob("**/tables/versus.md")
    if ", of problems like these" in path.read_text("utf-8")
)


@pytest.mark.parametrize("path", WIDE)
def test_the_word_beside_a_lead_is_that_of_its_own_interval(path: str) -> None:
    found = tables((RESULTS / path).read_text("utf-8"))
    (rows,) = (rows for title, rows in found.items() if title.endswith(", of problems like these"))
    for row in rows:
        _, low, high = figure(row[budgets(row)[-1]])
        allowed = {"-", "inconclusive"}
        # Half a hundredth below or above is printed as one half.
        allowed |= {"significant"} if low >= 0.5 else set()
        allowed |= {"reversed"} if high <= 0.5 else set()
        allowed |= {"not significant"} if low <= 0.5 <= high else set()
        assert row["lead"] in allowed, row


CONTRARY = f"""
## {CHANCES}

| team against | 20 | 500 |
| --- | ---: | ---: |
| bayesian | 0.60 [0.49, 0.70] | 0.71 [0.60, 0.80] |

## Medians

| searcher | 20 | 500 |
| --- | ---: | ---: |
| team | 1.20 (3.00) | 1.01 (1.10) |
| bayesian | 1.10 (2.00) | - |
"""


def test_a_lead_whose_interval_holds_one_half_is_none(tmp_path: Path) -> None:
    found = tables(CONTRARY)
    assert leads(found[CHANCES], "bayesian") == ["500"]
    assert not ahead_of_all(found[CHANCES])
    assert nearest(found["Medians"]) == ["500"]
    assert nearest(found["Medians"], "bayesian") == ["20"]
