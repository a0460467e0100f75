"""Verdicts on learners and policies in few bits follow from their rows, whatever these say."""

from __future__ import annotations

from contextlib import suppress
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.problem import Problem
from dse.search.evaluator import BudgetExhausted, Evaluator
from dse.search.record import Record
from dse.search.searcher import make_searcher
from experiments.actorq.reaching import as_often, in_all, learning, until
from experiments.actorq.study import ARMS as SEARCHED
from experiments.actorq.study import HERE
from experiments.actorq.tables import searches
from experiments.intervals import Estimate
from experiments.learners.standing import told as told_of
from experiments.learners.study import THEIRS, Phases, grows, verdict_lines
from experiments.quantised.study import verdicts
from learners.phases import SAMPLING
from learners.profiling import PHASES
from learners.quantised import FULL
from workloads import load_layer

UPDATES, SIZES = 6, (3, 6, 12, 24, 48)
ARMS = ("per-agent", "neighbor", "contiguous", "stacked")


def phases(parts: dict[str, float], faster: dict[str, float], growing: bool = True) -> Phases:
    """Lines in which MADDPG's parts take such seconds, arms other than the loop so many times as long."""
    rows = []
    for task, agents, arm, update in product(("fast_tag", "simple_tag"), SIZES, ARMS, range(UPDATES)):
        noise = 1 + 0.01 * (update % 3)
        times = {phase: noise * parts.get(phase, 0.1) * faster.get(arm, 1.0) for phase in PHASES}
        times["action selection"] /= agents if growing else 1
        rows.append(
            {"task": task, "learner": "maddpg", "agents": str(agents), "arm": arm, "update": str(update)}
            | {phase: str(seconds) for phase, seconds in times.items()}
        )
    return Phases(rows)


def told(found: Phases) -> list[str]:
    lines = verdict_lines(found, returns())[2:]
    return [line.strip("| ").split("|")[-1].strip() for line in lines]


def returns() -> list[dict[str, str]]:
    return [
        {"task": "fast_tag", "learner": "maddpg", "arm": arm, "seed": str(seed), "length": "600",
         "return": str(40.0 + seed)}
        for arm, seed, _ in product(("uniform", "neighbor"), range(3), range(12))
    ]  # fmt: skip


def test_each_verdict_on_phases_turns_with_its_figures() -> None:
    as_theirs = dict(zip(THEIRS, (6.1, 2.1, 1.0, 0.8), strict=True))
    kept = "inconclusive"
    good = phases(as_theirs, {"neighbor": 0.7, "contiguous": 0.05, "stacked": 0.2})
    assert told(good) == [
        "borne out", "borne out", "not tested", "borne out", "borne out", kept, *["borne out"] * 3,
    ]  # fmt: skip
    other_order = dict(zip(THEIRS, (0.8, 1.0, 2.1, 6.1), strict=True))
    bad = phases(other_order, {"neighbor": 0.95, "contiguous": 0.5, "stacked": 0.6}, growing=False)
    assert told(bad) == [
        "inconclusive", "not borne out", "not tested", "not borne out", "not borne out", kept,
        *["not borne out"] * 3,
    ]  # fmt: skip


def test_shares_that_fall_do_not_grow() -> None:
    rising = [Estimate(0.1 * n, 0.1 * n - 0.02, 0.1 * n + 0.02, 5) for n in range(1, 4)]
    assert grows(rising) == "borne out"
    assert grows(rising[::-1]) == "not borne out"
    assert grows([rising[0], rising[0]]) == "inconclusive"


def few_bits(worse: float, spread: float) -> pd.DataFrame:
    """Policies of two tasks, three seeds, quantised to 8 and 6 bits, worse by so much."""
    return pd.DataFrame(
        {"task": task, "group": task, "algorithm": "ppo", "seed": seed, "weights": bits,
         "activations": activations, "per_channel": False, "mean": 1.0, "worse": worse + spread * (seed - 1)}
        for task, seed, bits, activations in product(("a", "b", "c"), range(3), (8, 6), (8, 32))
    )  # fmt: skip


def of(rows: list[tuple[str, str, Any]], start: str) -> list[str]:
    return [verdict for claim, _, verdict in rows if claim.startswith(start)]


@pytest.mark.parametrize(
    ("worse", "spread", "table_1", "fig_2", "fig_4"),
    [
        (0.01, 0.001, "borne out", "inconclusive", "borne out"),
        (0.3, 0.001, "not borne out", "inconclusive", "not borne out"),
        (-0.1, 0.001, "not borne out", "borne out", "borne out"),
    ],
)
def test_each_verdict_on_few_bits_turns_with_its_figures(
    worse: float, spread: float, table_1: str, fig_2: str, fig_4: str
) -> None:
    after = few_bits(worse, spread)
    trained = after[(after.activations == 8) & (after.weights == 6)]
    found = list(verdicts(after, trained))
    assert of(found, "Table 1") == [table_1]
    assert of(found, "Fig. 2") == [fig_2, fig_2]
    assert of(found, "Fig. 4: trained") == [fig_4] * 3


def test_training_that_gains_nothing_over_quantising_is_not_better() -> None:
    after, cheap = few_bits(0.3, 0.01), few_bits(0.01, 0.001)
    same = after[(after.activations == 8) & (after.weights == 6)]
    better = cheap[(cheap.activations == 8) & (cheap.weights == 6)]
    start = "Fig. 4: training with few bits is better"
    assert of(list(verdicts(after, same)), start) == ["inconclusive"]
    assert of(list(verdicts(after, better)), start) == ["borne out"]


def test_runs_that_never_reach_the_target_are_not_left_out() -> None:
    reached = [{"steps": "10"}, None, {"steps": "30"}]
    assert until(reached, "steps", 0) == "30 (10 to never)"
    assert until([None, None, {"steps": "10"}], "steps", 0) == "never (10 to never)"
    assert until([None], "steps", 0) == "never"


@pytest.mark.parametrize(
    ("lost", "won", "word"),
    [(0, 0, "inconclusive"), (6, 2, "inconclusive"), (9, 1, "less often"), (1, 9, "more often")],
)
def test_targets_are_reached_less_often_where_the_pairs_say_so(lost: int, won: int, word: str) -> None:
    assert as_often(lost, won) == word


def test_searchers_are_told_from_random_search_by_their_intervals() -> None:
    found = told_of(
        {"a": Estimate(0.8, 0.7, 0.9, 12), "b": Estimate(1.2, 1.1, 1.3, 12), "c": Estimate(1, 0.9, 1.1, 12)}
    )
    assert found == {"lower": ["a"], "higher": ["b"], "neither": ["c"]}


def test_an_arm_of_actorq_differs_from_d4pg_in_bits_alone() -> None:
    name, settings = SEARCHED["actorq 8 bits"]
    full = make_searcher(name, settings | {"bits": FULL, "learning_starts": 40, "batch_size": 16})
    same = make_searcher("d4pg", {"learning_starts": 40, "batch_size": 16})
    problem = Problem(load_layer("alexnet:conv2"), PRESETS["edge"], "edp")
    drawn = []
    for searcher in (full, same):
        record = Record(len(problem.space.genes))
        with suppress(BudgetExhausted):
            searcher.search(Evaluator(problem, 60, record=record), np.random.default_rng(0))
        drawn.append(record.genes())
    np.testing.assert_array_equal(*drawn)


def test_the_tables_of_actorq_are_those_of_the_committed_runs() -> None:
    page = (HERE / "actorq.md").read_text(encoding="utf-8")
    for part in (in_all(), learning(), searches()):
        assert "\n".join(part) in page


def test_sampling_is_the_largest_part_that_the_study_names() -> None:
    assert next(iter(THEIRS)) == SAMPLING
