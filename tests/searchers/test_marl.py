"""The multi-agent mapper: agents apart from each other, the genes dealt to them, and their rewards."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from searchers.marl.agents import Agents, Clipping, Weights
from searchers.marl.policies import Actions, Categorical, Gaussian, Policy
from searchers.marl.rewards import standardised_rewards
from tests.searchers.marl_cases import AGENT_OF, SIZES, Lesson, part


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
        given = standardised_rewards(-miss(policy.genes(taken)))
        for _ in range(3):
            agents.ascend(agents.gradients(observations, taken, before, given, 0.2, 0.01), 0.01, 0.5)
    policy = agents.policy(np.ones((1000, 4)))
    learned = miss(policy.genes(policy.draw(np.arange(1000), rng)))
    blind = miss(rng.integers(0, SIZES, (1000, 5)))
    assert learned.mean() < 0.3 * blind.mean()
