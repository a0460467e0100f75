"""The warm-up of MARL: what it draws, and how genes are dealt by it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dse.domains.clustered.space.genes import GENE_NAMES
from dse.search.evaluator import BudgetExhausted, Evaluator
from dse.search.record import Record
from dse.search.run import Cell, run_cell
from dse.search.searcher import make_searcher
from dse.support.errors import InputError
from searchers.common.sub_budget import SubBudget
from searchers.marl import MARL
from searchers.marl.agents import Agents
from searchers.marl.assignment import named_groups
from searchers.random import Random
from tests.searchers.marl_warm_up_cases import PROBLEM, SMALL, run

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
    settings = {"warmup": "grid", "warmup_samples": 8, "batch_size": 2, "patience": 0, "retries": 200}
    genes = run(16, SMALL, agents=5, **settings).genes()
    assert SMALL.space.vectors == len(np.unique(genes, axis=0)) == 16


def test_another_searcher_may_draw_the_warm_up() -> None:
    assert len(run(400, agents=4, warmup="walk", warmup_samples=150)) == 400
    assert len(run(90, agents=4, warmup="grid", warmup_samples=150)) == 90


def test_what_the_samples_depend_on_is_named() -> None:
    assert MARL().libraries == MARL(agents=1).libraries == MARL(groups=GROUPS).libraries == ()
    assert MARL(agents=6).libraries == ("scipy",)
    assert MARL(agents=6, warmup="marl").libraries == ("scipy",)
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


def test_more_agents_than_genes_are_refused_before_a_sample_is_spent() -> None:
    evaluate = Evaluator(PROBLEM, 10)
    with pytest.raises(InputError, match="agents must be at most 13, the number of genes, got 14"):
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
