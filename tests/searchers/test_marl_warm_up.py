"""The warm-up of MARL: what it draws, and how genes are dealt by it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.space.genes import GENE_NAMES
from dse.search.evaluator import BudgetExhausted, Evaluator
from dse.search.record import Record
from dse.search.run import Cell, run_cell
from dse.search.searcher import make_searcher
from dse.support.errors import InputError
from searchers.common.sub_budget import SubBudget
from searchers.common.visited import Visited
from searchers.marl import MARL
from searchers.marl.agents import Agents
from searchers.marl.assignment import named_groups
from searchers.random import Random
from tests.searchers.marl_warm_up_cases import FEW, PROBLEM, SMALL, run
from workloads import load_layer

GROUPS = (GENE_NAMES[:6], GENE_NAMES[6:12], GENE_NAMES[12:])


# The dataset for Algorithm 1.


def test_the_warm_up_is_drawn_first_and_paid_for() -> None:
    problem = replace(PROBLEM)
    record = run(500, problem, agents=5, warmup_samples=300)
    rng = Cell(problem, "marl", MARL(agents=5, warmup_samples=300), 0, 500).rng()
    evaluate = Evaluator(problem, 300, record=(dataset := Record(13)))
    with pytest.raises(BudgetExhausted):
        Random().search(evaluate, rng)
    assert (record.genes(0, 300) == dataset.genes()).all()
    assert len(record) == 500


def test_the_mappings_of_the_warm_up_are_not_drawn_again() -> None:
    settings = {"warmup": "grid", "warmup_samples": 8, "batch_size": 2, "patience": 0, "retries": 500}
    fixed = {name: value for name, value in FEW.items() if name != "inner.parallel"}
    small = replace(SMALL, fixed=fixed)
    genes = run(40, small, threshold=0.5, **settings).genes()
    assert small.space.vectors == 64
    assert len(np.unique(genes, axis=0)) == 40


def test_another_searcher_may_draw_the_warm_up() -> None:
    assert len(run(400, agents=4, warmup="walk", warmup_samples=150)) == 400
    assert len(run(90, agents=4, warmup="grid", warmup_samples=150)) == 90


def test_what_the_samples_depend_on_is_named() -> None:
    assert MARL().libraries == MARL(agents=1).libraries == MARL(groups=GROUPS).libraries == ()
    assert MARL(agents=6).libraries == ("scikit-learn", "scipy")
    assert MARL(agents=6, warmup="marl").libraries == ("scikit-learn", "scipy")
    assert MARL(threshold=1.5).libraries == ("scikit-learn", "scipy")
    assert "scipy" in Cell(PROBLEM, "marl", MARL(agents=6), 0, 1).identity["versions"]


def test_a_sub_budget_spends_no_more_than_its_own() -> None:
    evaluate = Evaluator(PROBLEM, 50)
    part = SubBudget(evaluate, 20)
    genes = part.space.sample(np.random.default_rng(0), 30)
    assert part.objective == "edp"
    assert len(part(genes[:15])) == 15
    with pytest.raises(BudgetExhausted, match="batch of 10, 5 were"):
        part(genes[:10])
    with pytest.raises(BudgetExhausted, match="all 20"):
        part(genes)
    assert (part.genes == np.concatenate([genes[:15], genes[:5]])).all()
    assert len(part.losses) == part.budget == 20
    assert (part.remaining, evaluate.remaining) == (0, 30)
    assert SubBudget(evaluate, 100).budget == 30


def test_groups_known_beforehand_need_no_warm_up() -> None:
    settings = {"groups": [list(group) for group in GROUPS], "samples_elsewhere": 1000}
    marl = make_searcher("marl", settings)
    cell = Cell(PROBLEM, "marl", marl, 0, 200)
    assert len(run_cell(cell)) == 200
    assert cell.settings["samples_elsewhere"] == 1000


def test_agents_deal_the_genes_as_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    dealt = []

    def note(agent_of: Any, *rest: Any) -> Agents:
        dealt.append(agent_of.tolist())
        return Agents(agent_of, *rest)

    monkeypatch.setattr("searchers.marl.ppo.Agents", note)
    run(40)
    run(40, agents=13)
    run(40, agents=1)
    run(400, agents=6, warmup_samples=300)
    run(40, groups=GROUPS)
    assert dealt[0] == dealt[1] == list(range(13))
    assert dealt[2] == [0] * 13
    assert set(dealt[3]) == set(range(6))
    assert dealt[4] == [0] * 6 + [1] * 6 + [2]


DEPTHWISE = Problem(load_layer("mobilenet_v2:1"), PRESETS["eyeriss-small"], "edp", "maestro", tiles="any")
"""K and the filter's channels are 1: two of its genes have no choice."""


def dealt_by(problem: Problem, budget: int, **settings: Any) -> list[int]:
    """The agent of each gene that has a choice."""
    marl, visited = MARL(**settings), Visited(problem.space)
    labels = marl._deal(Evaluator(problem, budget), np.random.default_rng(0), visited)
    return labels[problem.space.sizes > 1].tolist()


@pytest.mark.parametrize("agents", [2, 6, 9])
def test_every_agent_of_as_many_as_asked_has_a_choice(agents: int) -> None:
    assert (DEPTHWISE.space.sizes == 1).sum() == 2
    assert set(dealt_by(DEPTHWISE, 1000, agents=agents)) == set(range(agents))


def test_a_threshold_says_how_many_agents_there_are() -> None:
    numbers = [
        len(set(dealt_by(DEPTHWISE, 1000, linkage="ward", threshold=at))) for at in (0.1, 1.5, 2.0, 9.0)
    ]
    assert numbers == sorted(numbers, reverse=True)
    assert (numbers[0], numbers[-1]) == (11, 1)
    assert len(set(numbers)) > 2


def test_settings_that_came_later_change_no_record_where_they_do_nothing() -> None:
    recorded = Cell(PROBLEM, "marl", MARL(agents=6), 0, 1).identity["settings"]
    assert recorded.keys().isdisjoint({"linkage", "threshold"})
    later = Cell(PROBLEM, "marl", MARL(threshold=1.5, linkage="ward"), 0, 1).identity["settings"]
    assert (later["threshold"], later["linkage"]) == (1.5, "ward")
    versions = [Cell(PROBLEM, "marl", MARL(agents=n), 0, 1).identity["versions"] for n in (0, 1, 6)]
    assert [found.get("searcher marl") for found in versions] == [None, None, "2"]


def test_more_agents_than_genes_with_a_choice_are_refused_before_a_sample_is_spent() -> None:
    evaluate = Evaluator(DEPTHWISE, 10)
    with pytest.raises(InputError, match="at most 11, the number of genes with a choice, got 12"):
        MARL(agents=12).search(evaluate, np.random.default_rng(0))
    evaluate = Evaluator(PROBLEM, 10)
    with pytest.raises(InputError, match="at most 13, the number of genes with a choice, got 14"):
        MARL(agents=14).search(evaluate, np.random.default_rng(0))
    assert evaluate.remaining == 10


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (GROUPS[:2], "groups must hold every gene, they lack cluster"),
        ((*GROUPS[:2], ("clutser",)), "unknown gene 'clutser' in groups; did you mean 'cluster'?"),
    ],
)
def test_groups_of_other_genes_are_refused_before_a_sample_is_spent(groups: Any, message: str) -> None:
    evaluate = Evaluator(PROBLEM, 10)
    with pytest.raises(InputError) as raised:
        MARL(groups=groups).search(evaluate, np.random.default_rng(0))
    assert message in str(raised.value)
    assert evaluate.remaining == 10


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"batch_size": 1}, "batch_size must be at least 2, got 1"),
        ({"n_epochs": 0}, "n_epochs must be at least 1, got 0"),
        ({"learning_rate": 0}, "learning_rate must be a finite number above 0, got 0"),
        ({"clip_range": -0.1}, "clip_range must be a finite number above 0, got -0.1"),
        ({"max_grad_norm": float("nan")}, "max_grad_norm must be a finite number above 0, got nan"),
        ({"ent_coef": -1}, "ent_coef must be a finite number of at least 0, got -1"),
        ({"elite": 1.5}, "elite must be above 0 and at most 1, got 1.5"),
        ({"reward": "1/y"}, "unknown reward '1/y'"),
        ({"clipping": "agents"}, "unknown clipping 'agents'; did you mean 'agent'?"),
        ({"actions": "gausian"}, "unknown actions 'gausian'; did you mean 'gaussian'?"),
        ({"normalize_advantage": 1}, "normalize_advantage must be true or false, got 1"),
        ({"patience": -1}, "patience must be at least 0, got -1"),
        ({"retries": True}, "retries must be a whole number, got True"),
        ({"agents": -1}, "agents must be at least 0, got -1"),
        ({"linkage": "single"}, "unknown linkage 'single'"),
        ({"threshold": -1}, "threshold must be a finite number above 0, got -1"),
        ({"threshold": 1.5, "agents": 6}, "threshold 1.5 says how many agents there are; leave agents out"),
        ({"threshold": 1.5, "groups": GROUPS}, "leave groups out"),
        ({"warmup": "rndom"}, "unknown searcher 'rndom' in warmup; did you mean 'random'?"),
        ({"warmup_samples": 1}, "warmup_samples must be at least 2, got 1"),
        (
            {"samples_elsewhere": 5},
            "samples_elsewhere are those that groups were found with; groups is empty",
        ),
        ({"groups": GROUPS, "agents": 2}, "agents must be 0 or 3, the number of groups, got 2"),
        ({"groups": (*GROUPS, ("cluster",))}, "groups hold gene 'cluster' twice"),
        ({"groups": (*GROUPS, ())}, "groups must hold a gene each"),
    ],
    ids=str,
)
def test_wrong_settings_are_refused_with_what_would_be_right(settings: Any, message: str) -> None:
    with pytest.raises(InputError) as raised:
        MARL(**settings)
    assert message in str(raised.value)


def test_the_groupings_of_figure_6_have_names() -> None:
    genes = PROBLEM.space.genes
    tiles = {f"{level}.tile.{dim}" for level in ("outer", "inner") for dim in "KC"}
    shared = np.array([gene.name in tiles for gene in genes])
    labels = named_groups("k+c", genes)
    assert len(set(labels[shared])) == 1
    assert sorted(labels[~shared]) == list(range(1, len(genes) - 3))
    assert named_groups("k+c|rest", genes).tolist() == np.where(shared, 0, 1).tolist()
    with pytest.raises(InputError, match="unknown groups 'kc'; did you mean 'k\\+c'"):
        MARL(groups="kc")
    with pytest.raises(InputError, match="say how many agents there are"):
        MARL(groups="k+c", agents=2)
    record = run_cell(Cell(PROBLEM, "marl", MARL(groups="k+c|rest"), 0, 40))
    assert len(record) == 40
