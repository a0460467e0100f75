"""The multi-agent mapper: agents apart from each other, the genes dealt to them, and their rewards."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dse.core.evaluations import Criteria, Evaluations
from dse.core.reasons import Reason
from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.space.genes import GENE_NAMES
from dse.search.evaluator import BudgetExhausted, Evaluator
from dse.search.gene_groups import cluster_genes, correlations, gene_tree
from dse.search.record import COLUMNS, Record
from dse.search.run import Cell, run_cell
from dse.search.searcher import make_searcher
from dse.support.errors import InputError
from searchers.common.sub_budget import SubBudget
from searchers.common.visited import Visited
from searchers.marl import MARL
from searchers.marl.agents import Agents, Clipping, Weights
from searchers.marl.assignment import named_groups
from searchers.marl.policies import Actions, Categorical, Gaussian, Policy
from searchers.marl.ppo import ObservationNormalizer, draw
from searchers.marl.rewards import advantages, standardised
from searchers.random import Random
from workloads import load_layer

LAYER = load_layer("resnet50:layer1.0.conv3")
PROBLEM = Problem(LAYER, PRESETS["eyeriss-small"], "edp", "maestro")
ANY = Problem(load_layer("alexnet:conv3"), PRESETS["eyeriss"], "latency", "maestro", tiles="any")
TINY_BUFFERS = replace(PRESETS["eyeriss-small"], l1_size=1, l2_size=1)
HOPELESS = Problem(LAYER, TINY_BUFFERS, "edp", "maestro")
FEW = {
    gene.name: {"permutation": "KCYX", "categorical": "K", "ordinal": 1}[gene.kind]
    for gene in PROBLEM.space.genes
    if gene.name != "cluster"
}
SMALL = Problem(LAYER, PRESETS["eyeriss-small"], cost_model="maestro", fixed=FEW)
GROUPS = (GENE_NAMES[:6], GENE_NAMES[6:12], GENE_NAMES[12:])


def run(budget: int, problem: Problem = PROBLEM, seed: int = 0, **settings: Any) -> Record:
    return run_cell(Cell(problem, "marl", MARL(**settings), seed, budget))


def fingerprint(record: Record) -> str:
    figures = [getattr(record.evaluations(), name).tobytes() for name in COLUMNS]
    return hashlib.sha256(record.genes().tobytes() + b"".join(figures)).hexdigest()


# Agents apart from each other.

AGENT_OF = np.array([0, 1, 0, 2, 1])
# Of such sizes that the heads lie on two stacks.
SIZES = np.array([4, 1, 124, 3, 107])


class Lesson:
    """Three agents with five genes, a batch of 16 actions that they drew, and advantages (agents, 16)."""

    def __init__(self, actions: Actions = "categorical") -> None:
        rng = np.random.default_rng(1)
        self.agents = Agents(AGENT_OF, SIZES, 4, 8, rng, actions)
        self.observations = rng.standard_normal((16, 4))
        self.policy = self.agents.policy(self.observations)
        self.genes = self.policy.draw(np.arange(16), rng)
        self.advantages = rng.standard_normal((3, 16))

    def gradients(self, clip: float = 0.2, entropy: float = 0.01) -> Weights:
        before = self.agents.log_likelihoods(self.policy, self.genes)
        return self.agents.gradients(self.observations, self.genes, before, self.advantages, clip, entropy)

    def learn(self, steps: int = 5) -> Weights:
        before = self.agents.log_likelihoods(self.policy, self.genes)
        for _ in range(steps):
            gradients = self.agents.gradients(
                self.observations, self.genes, before, self.advantages, 0.2, 0.01
            )
            self.agents.ascend(gradients, 0.05, 0.5)
        return self.agents.weights


def part(weights: Weights, agent: int) -> list[bytes]:
    """All parameters of one agent."""
    return [array[owner == agent].tobytes() for array, owner in Lesson().agents.owned(weights)]


def assert_only_the_first_agent_differs(changed: Weights, plain: Weights) -> None:
    assert part(changed, 0) != part(plain, 0)
    assert part(changed, 1) == part(plain, 1)
    assert part(changed, 2) == part(plain, 2)


def test_what_one_agent_is_told_changes_no_other() -> None:
    told = Lesson()
    told.advantages[0] *= -3
    assert_only_the_first_agent_differs(told.learn(), Lesson().learn())


def test_what_one_agent_knows_changes_no_other() -> None:
    knowing = Lesson()
    knowing.agents.weights.hidden[0] += 1
    for heads, stack in zip(knowing.agents.weights.heads, knowing.agents.stacks, strict=True):
        heads[AGENT_OF[stack.genes] == 0] *= 50
    assert_only_the_first_agent_differs(knowing.learn(), Lesson().learn())


def test_what_one_agent_chose_changes_no_other() -> None:
    choosing = Lesson()
    choosing.genes[:, AGENT_OF == 0] = 0
    assert_only_the_first_agent_differs(choosing.learn(), Lesson().learn())


def test_an_agent_whose_gradient_is_cut_leaves_the_others_whole() -> None:
    lesson = Lesson()
    gradients = lesson.gradients()
    steep = gradients._replace(hidden=gradients.hidden * np.array([1e6, 1, 1])[:, np.newaxis, np.newaxis])
    lesson.agents.ascend(steep, 0.05, 0.5)
    plain = Lesson()
    plain.agents.ascend(gradients, 0.05, 0.5)
    assert_only_the_first_agent_differs(lesson.agents.weights, plain.agents.weights)


def test_an_agent_whose_ratio_is_clipped_stops_while_the_others_go_on() -> None:
    lesson = Lesson()
    lesson.advantages = np.abs(lesson.advantages)
    before = lesson.agents.log_likelihoods(lesson.policy, lesson.genes)
    before[0] -= 1
    gradients = lesson.agents.gradients(
        lesson.observations, lesson.genes, before, lesson.advantages, 0.2, 0.0
    )
    plain = lesson.gradients(entropy=0.0)
    assert not any(array[owner == 0].any() for array, owner in lesson.agents.owned(gradients))
    assert part(gradients, 1) == part(plain, 1)


def numeric_gradients_agree(lesson: Lesson, objective: Callable[[], float], gradients: Weights) -> None:
    rng = np.random.default_rng(0)
    owned = lesson.agents.owned
    for (weight, _), (gradient, _) in zip(owned(lesson.agents.weights), owned(gradients), strict=True):
        for flat in rng.choice(weight.size, min(20, weight.size), replace=False):
            place = np.unravel_index(flat, weight.shape)
            weight[place] += 1e-6
            above = objective()
            weight[place] -= 2e-6
            slope = (above - objective()) / 2e-6
            weight[place] += 1e-6
            assert gradient[place] == pytest.approx(slope, rel=1e-4, abs=1e-7)


def entropy_of(policy: Policy) -> float:
    if isinstance(policy, Gaussian):
        return float(np.log(policy.deviations).sum())
    assert isinstance(policy, Categorical)
    heads = zip(policy.probabilities, policy.log_probabilities, strict=True)
    return float(-sum((chances * logs).sum() for chances, logs in heads))


@pytest.mark.parametrize("clipping", ["agent", "joint"])
@pytest.mark.parametrize("actions", ["categorical", "gaussian"])
def test_gradients_are_those_of_the_clipped_objective(actions: Actions, clipping: Clipping) -> None:
    lesson = Lesson(actions)
    lesson.advantages[:] = lesson.advantages[0]
    before = lesson.agents.log_likelihoods(lesson.policy, lesson.genes)
    lesson.learn(3)

    def objective() -> float:
        policy = lesson.agents.policy(lesson.observations)
        changes = lesson.agents.log_likelihoods(policy, lesson.genes) - before
        ratios = np.exp(changes.sum(axis=0, keepdims=True) if clipping == "joint" else changes)
        advantages = lesson.advantages[: len(ratios)]
        cut = np.minimum(ratios * advantages, np.clip(ratios, 0.8, 1.2) * advantages)
        return float(cut.sum() + 0.03 * entropy_of(policy)) / 16

    gradients = lesson.agents.gradients(
        lesson.observations, lesson.genes, before, lesson.advantages, 0.2, 0.03, clipping
    )
    numeric_gradients_agree(lesson, objective, gradients)


def test_one_agent_that_has_gone_too_far_stops_all_if_clipping_is_joint() -> None:
    lesson = Lesson()
    lesson.advantages = np.abs(lesson.advantages)
    before = lesson.agents.log_likelihoods(lesson.policy, lesson.genes)
    before[0] -= 1
    given = (lesson.observations, lesson.genes, before, lesson.advantages, 0.2, 0.0)
    assert not any(array.any() for array, _ in lesson.agents.owned(lesson.agents.gradients(*given, "joint")))
    assert lesson.agents.gradients(*given, "agent").hidden[1].any()


def test_numbers_are_rounded_to_the_nearest_value_and_cut_at_the_ends() -> None:
    policy = Agents(AGENT_OF, SIZES, 4, 8, np.random.default_rng(0), "gaussian").policy(np.ones((1, 4)))
    rows = np.array([[-1.0] * 5, [1.0] * 5, [9.0] * 5, [-0.3, -0.3, 0.0, 0.4, 0.01]])
    chosen = policy.genes(rows)
    assert (chosen[0] == 0).all()
    assert (chosen[1:3] == SIZES - 1).all()
    assert chosen[3].tolist() == [1, 0, 62, 1, 54]


def test_gaussian_agents_begin_with_deviation_1_about_the_middle() -> None:
    agents = Agents(AGENT_OF, SIZES, 4, 8, np.random.default_rng(1), "gaussian")
    policy = agents.policy(np.ones((20_000, 4)))
    drawn = policy.draw(np.arange(20_000), np.random.default_rng(0))
    assert np.abs(drawn.mean(axis=0)).max() < 0.1
    assert np.abs(drawn.std(axis=0) - 1).max() < 0.1


def test_a_gaussian_never_narrows_or_widens_without_end() -> None:
    agents = Agents(AGENT_OF, SIZES, 4, 8, np.random.default_rng(1), "gaussian")
    observations = np.ones((3, 4))
    for bias in (-1e6, 1e6):
        agents.weights.head_biases[0][..., 1] = bias
        policy = agents.policy(observations)
        actions = policy.draw(np.arange(3), np.random.default_rng(0))
        assert np.isfinite(policy.log_likelihoods(actions)).all()
        assert np.isfinite(policy.slopes(actions, np.ones((5, 3)), 0.1)[0]).all()


def test_no_agent_draws_beyond_a_gene() -> None:
    lesson, rng = Lesson(), np.random.default_rng(0)
    for heads in lesson.agents.weights.heads:
        heads[:] = 1e3 * rng.standard_normal(heads.shape)
    policy = lesson.agents.policy(np.repeat(lesson.observations, 200, axis=0))
    genes = policy.draw(np.arange(3200), rng)
    assert ((genes >= 0) & (genes < SIZES)).all()


def test_agents_begin_nearly_indifferent() -> None:
    policy = Agents(AGENT_OF, SIZES, 4, 8, np.random.default_rng(1)).policy(np.ones((20_000, 4)))
    genes = policy.draw(np.arange(20_000), np.random.default_rng(0))
    for gene, size in enumerate(SIZES):
        counts = np.bincount(genes[:, gene])
        assert len(counts) == size
        assert counts.min() > 0.6 * 20_000 / size
        assert counts.max() < 1.5 * 20_000 / size


@pytest.mark.parametrize("actions", ["categorical", "gaussian"])
def test_agents_of_either_kind_come_to_choose_what_is_rewarded(actions: Actions) -> None:
    rng = np.random.default_rng(0)
    agents = Agents(AGENT_OF, SIZES, 4, 8, rng, actions)
    wanted = np.array([3, 0, 20, 1, 90])
    observations = np.ones((32, 4))

    def miss(genes: np.ndarray) -> np.ndarray:
        distances: np.ndarray = (np.abs(genes - wanted) / np.maximum(SIZES - 1, 1)).sum(axis=1)
        return distances

    for _ in range(250):
        policy = agents.policy(observations)
        taken = policy.draw(np.arange(32), rng)
        before = agents.log_likelihoods(policy, taken)
        given = standardised(-miss(policy.genes(taken)))
        for _ in range(3):
            agents.ascend(agents.gradients(observations, taken, before, given, 0.2, 0.01), 0.01, 0.5)
    policy = agents.policy(np.ones((1000, 4)))
    learned = miss(policy.genes(policy.draw(np.arange(1000), rng)))
    blind = miss(rng.integers(0, SIZES, (1000, 5)))
    assert learned.mean() < 0.3 * blind.mean()


# The genes dealt to agents.


def test_correlated_genes_are_clustered_together() -> None:
    rng = np.random.default_rng(0)
    free = rng.integers(0, 10, (1000, 3))
    genes = np.stack([free[:, 0], free[:, 1], 9 - free[:, 0], free[:, 2], free[:, 1]], axis=1)
    matrix = correlations(genes, rng.random(1000))
    assert matrix[0, 2] == pytest.approx(-1)
    assert matrix[1, 4] == pytest.approx(1)
    assert cluster_genes(matrix, 3).tolist() == [0, 1, 0, 2, 1]
    assert gene_tree(matrix).shape == (4, 4)


def test_correlations_are_those_of_the_best_points_alone() -> None:
    rng = np.random.default_rng(0)
    genes = rng.integers(0, 10, (200, 2))
    genes[:30, 1] = genes[:30, 0]
    losses = np.arange(200.0)
    assert correlations(genes, losses)[0, 1] == pytest.approx(1)
    assert abs(correlations(genes, losses[::-1].copy())[0, 1]) < 0.6
    assert correlations(genes, losses, top=1.0)[0, 1] == pytest.approx(np.corrcoef(genes.T)[0, 1])


def test_infeasible_points_do_not_count() -> None:
    genes = np.random.default_rng(0).integers(0, 10, (100, 4))
    losses = np.full(100, np.inf)
    assert (correlations(genes, losses) == np.eye(4)).all()
    losses[:8] = np.arange(8)
    assert correlations(genes, losses) == pytest.approx(np.corrcoef(genes[:8].T))


def test_a_constant_gene_is_correlated_with_no_other() -> None:
    genes = np.random.default_rng(0).integers(0, 10, (100, 4))
    genes[:, 2] = 5
    matrix = correlations(genes, np.arange(100.0))
    assert matrix[2].tolist() == [0, 0, 1, 0]
    assert np.isfinite(matrix).all()
    assert (correlations(np.ones((9, 3), np.int64), np.arange(9.0)) == np.eye(3)).all()


@pytest.mark.parametrize("agents", range(1, 14))
def test_genes_are_cut_to_any_number_of_clusters_even_if_none_are_correlated(agents: int) -> None:
    labels = cluster_genes(np.eye(13), agents)
    assert np.unique(labels).tolist() == list(range(agents))
    # Labels count up in the order of the genes.
    firsts = [labels.tolist().index(label) for label in range(agents)]
    assert firsts == sorted(firsts)


@pytest.mark.parametrize("clusters", [0, 14])
def test_an_impossible_number_of_clusters_is_refused(clusters: int) -> None:
    with pytest.raises(InputError, match=f"at least 1 and at most 13, .* got {clusters}"):
        cluster_genes(np.eye(13), clusters)


# Rewards.


def batch(
    losses: list[float], l1: list[int] | None = None, reason: Reason = Reason.L1_TOO_SMALL
) -> Evaluations:
    """Evaluations of which only what rewards look at is there."""
    points = np.array(losses)
    return replace(
        Evaluations.zeros(len(losses)),
        loss=points,
        l1_size=np.array(l1 or [50] * len(losses)),
        l2_size=np.full(len(losses), 500),
        reason=np.where(np.isfinite(points), Reason.FEASIBLE, reason).astype(np.uint8),
        criteria=Criteria("edp", 1e9, np.array([100, 1000])),
    )


@pytest.mark.parametrize("reward", ["elite", "rank", "-log", "1/x"])
def test_advantages_are_finite_and_ordered_as_the_losses(reward: Any) -> None:
    given = advantages(batch([3.0, 1e-300, np.inf, 1e190, 2.0]), reward, 0.4)
    assert np.isfinite(given).all()
    assert given.mean() == pytest.approx(0)
    assert given.std() == pytest.approx(1)
    assert given.argmax() == 1
    assert (np.diff(given[[1, 4, 0, 3, 2]]) <= 1e-12).all()


@pytest.mark.parametrize("reward", ["elite", "rank", "-log", "1/x"])
def test_advantages_that_are_not_normalised_differ_in_scale_alone(reward: Any) -> None:
    points = batch([3.0, 1.5, np.inf, 8.0, 2.0])
    plain = advantages(points, reward, 0.4, normalise=False)
    given = advantages(points, reward, 0.4)
    assert plain.mean() == pytest.approx(0)
    assert plain / plain.std() == pytest.approx(given)
    assert plain.std() != pytest.approx(1)


@pytest.mark.parametrize("reward", ["elite", "rank", "-log", "1/x"])
@pytest.mark.parametrize("loss", [np.inf, 1.0, 0.0])
def test_points_that_are_alike_teach_nothing(reward: Any, loss: float) -> None:
    assert not advantages(batch([loss] * 8), reward, 0.25).any()


@pytest.mark.parametrize("reward", ["elite", "rank", "-log", "1/x"])
def test_of_infeasible_points_the_nearest_to_fitting_is_best(reward: Any) -> None:
    given = advantages(batch([np.inf] * 4, [300, 101, 5000, 200]), reward, 0.5)
    assert given.argmax() == 1
    assert given[3] > given[2]


def test_a_point_infeasible_for_another_reason_is_behind_those_that_are_too_large() -> None:
    given = advantages(batch([1.0, np.inf], reason=Reason.ZERO_RUNTIME), "rank", 0.5)
    assert given.tolist() == [1, -1]


# The whole game.

ABLATIONS: tuple[dict[str, Any], ...] = (
    {"clipping": "joint"},
    {"actions": "gaussian"},
    {"actions": "gaussian", "clipping": "joint", "agents": 1},
    {"normalize_advantage": False},
)


@pytest.mark.parametrize(
    "problem", [PROBLEM, ANY, SMALL, HOPELESS], ids=["factors", "any", "small", "hopeless"]
)
@pytest.mark.parametrize("settings", ABLATIONS, ids=str)
def test_every_ablation_spends_the_whole_budget_inside_any_space(problem: Problem, settings: Any) -> None:
    with np.errstate(all="raise", under="ignore"):
        record = run(333, problem, **settings)
    assert len(record) == 333
    assert problem.space.contains(record.genes()).all()


def points_by(**settings: Any) -> np.ndarray:
    """Points drawn from a generator that, unlike a cell's, does not depend on the settings."""
    record = Record(13)
    with pytest.raises(BudgetExhausted):
        MARL(**settings).search(Evaluator(PROBLEM, 500, record=record), np.random.default_rng(7))
    return record.genes()


@pytest.mark.parametrize("settings", ABLATIONS, ids=str)
def test_every_ablation_changes_what_is_drawn(settings: Any) -> None:
    assert (points_by(**settings) != points_by()).any()


def test_a_single_agent_is_clipped_alike_alone_and_jointly() -> None:
    assert (points_by(agents=1, clipping="joint") == points_by(agents=1)).all()


def test_the_settings_by_default_are_the_mapper_as_published() -> None:
    """The digest was taken before there were other kinds of actions, of clipping, or of advantages.

    If it changes on purpose, every published record of `marl` has to be drawn again.
    """
    assert (
        hashlib.sha256(points_by().tobytes()).hexdigest()
        == "c46a28497c3910172dc13f89f6add294749a5d5196e43a67e3423355407e8c6d"
    )


@pytest.mark.parametrize("seed", range(3))
def test_the_agents_come_to_agree_on_a_point_that_few_are_better_than(seed: int) -> None:
    losses = run(2000, seed=seed, patience=0, retries=0).evaluations().loss
    blind = run_cell(Cell(PROBLEM, "random", Random(), 0, 2000)).evaluations().loss
    assert np.median(losses[-200:]) < np.quantile(blind, 0.01)


def test_the_same_cell_draws_the_same_and_another_seed_does_not() -> None:
    again = [fingerprint(run(600, seed=seed, agents=3, warmup_samples=100)) for seed in (4, 4, 5)]
    assert again[0] == again[1] != again[2]


def test_a_small_budget_is_the_beginning_of_a_large_one() -> None:
    assert (run(500).genes() == run(900).genes(0, 500)).all()


def test_fewer_mappings_than_samples_are_drawn_all_and_then_again() -> None:
    record = run(300, SMALL)
    assert len(np.unique(record.genes(), axis=0)) == SMALL.space.vectors


def test_mappings_drawn_before_are_drawn_again_as_often_as_allowed() -> None:
    rng = np.random.default_rng(0)
    space = PROBLEM.space
    policy = Agents(np.arange(13), space.sizes, 4, 8, rng).policy(np.zeros((32, 4)))
    visited = Visited(space)
    genes, repeated = draw(policy, visited, 4, rng)
    assert repeated == 0
    assert len(np.unique(genes, axis=0)) == 32
    certain = replace(policy, probabilities=tuple(map(np.zeros_like, policy.probabilities)))
    for probabilities in certain.probabilities:
        probabilities[..., 0] = 1
    genes, repeated = draw(certain, visited, 4, rng)
    assert not genes.any()
    assert repeated == 31
    assert draw(certain, visited, 0, rng)[1] == 0


@pytest.mark.parametrize(("patience", "teams"), [(0, 1), (64, 5), (10_000, 1)])
def test_stale_agents_give_way_to_fresh_ones(
    patience: int, teams: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []
    monkeypatch.setattr("searchers.marl.ppo.Agents", lambda *given: made.append(1) or Agents(*given))
    run(300, HOPELESS, batch_size=32, patience=patience)
    assert len(made) == teams


def test_points_without_figures_are_observed_as_average() -> None:
    figures = dict.fromkeys(("cycles", "energy_nj", "power", "area"))
    normalizer = ObservationNormalizer()
    seen = normalizer(SimpleNamespace(**{name: np.array([0, 0]) for name in figures}))  # type: ignore[arg-type]
    assert not seen.any()
    seen = normalizer(SimpleNamespace(**{name: np.array([0, 1, 100, 10]) for name in figures}))  # type: ignore[arg-type]
    assert not seen[0].any()
    assert np.isfinite(seen).all()
    assert (seen[1] < 0).all()
    assert (seen[2] > 0).all()
    assert seen[3] == pytest.approx(0)


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
