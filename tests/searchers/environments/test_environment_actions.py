"""Actions of the environments of mappings: what they choose, cost, and refuse."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from stable_baselines3 import DQN, PPO

from dse.core.evaluations import Evaluations
from dse.domains.clustered.space.genes import GENE_NAMES
from dse.search.evaluator import Evaluator
from dse.support.errors import InputError
from dse.testing.landscapes import refused
from searchers.environments import MappingEnv, MappingParallelEnv, MappingVectorEnv, observe_figures
from tests.searchers.environments.environment_cases import (
    ENV,
    GROUPS,
    PROBLEM,
    SIZES,
    agents_env,
    four_envs,
    one_env,
    points,
)


@pytest.fixture(autouse=True)
def _warnings_are_errors() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def test_categorical_actions_are_genes_and_infos_carry_their_figures() -> None:
    genes = np.concatenate([points(feasible=True), points(feasible=False)])
    priced = PROBLEM.price(genes)
    vector = MappingVectorEnv(6, problem=PROBLEM, budget=6)
    _, vector_rewards, _, _, infos = vector.step(genes)
    env = one_env(budget=6)
    for i in range(6):
        observation, reward, _, _, info = env.step(genes[i])
        np.testing.assert_array_equal(info["genes"], genes[i])
        for name in ("cycles", "energy_nj", "power", "area", "l1_size", "l2_size", "macs", "loss"):
            assert info[name] == infos[name][i] == getattr(priced, name)[i]
        assert reward == vector_rewards[i]
        np.testing.assert_array_equal(observation, infos["final_obs"][i])
        np.testing.assert_array_equal(info["genes"], infos["genes"][i])
    assert infos["reason"][:3].tolist() == ["feasible"] * 3
    assert set(infos["reason"][3:]) <= {"L1 is too small", "L2 is too small"}
    np.testing.assert_array_equal(env.record.genes(), vector.record.genes())


def test_agents_choose_the_genes_of_their_group() -> None:
    env = MappingParallelEnv(GROUPS, problem=PROBLEM, budget=5)
    assert env.possible_agents == [
        "outer.order+inner.order",
        "outer.parallel+outer.tile.K+outer.tile.C+outer.tile.Y+outer.tile.X",
        "inner.parallel+inner.tile.K+inner.tile.C+inner.tile.Y+inner.tile.X",
        "cluster",
    ]
    assert env.action_space("cluster") == gymnasium.spaces.Discrete(SIZES[12])
    env.reset()
    genes = points(feasible=True)[0]
    actions = {
        agent: genes[list(part)] if len(part) > 1 else genes[part[0]] for agent, part in env.groups.items()
    }
    observations, rewards, _, _, infos = env.step(actions)
    np.testing.assert_array_equal(env.record.genes()[0], genes)
    assert len(set(rewards.values())) == 1
    for agent in env.possible_agents:
        np.testing.assert_array_equal(infos[agent]["genes"], genes)
        np.testing.assert_array_equal(
            observations[agent], observe_figures(PROBLEM.price(genes[np.newaxis]))[0]
        )


def test_every_gene_has_an_agent_by_default() -> None:
    env = agents_env(budget=1)
    assert tuple(env.possible_agents) == GENE_NAMES
    assert [env.action_space(agent).n for agent in env.possible_agents] == SIZES.tolist()


def test_gaussian_actions_reach_every_value_of_every_gene_and_none_outside() -> None:
    env = MappingVectorEnv(2001, problem=PROBLEM, budget=3 * 2001, actions="gaussian")
    sweep = np.repeat(np.linspace(-1, 1, 2001)[:, np.newaxis], 13, axis=1)
    genes = env.step(sweep)[4]["genes"]
    for gene, size in enumerate(SIZES):
        assert np.unique(genes[:, gene]).tolist() == list(range(size))
    assert (np.diff(genes, axis=0) >= 0).all()
    np.testing.assert_array_equal(env.step(100 * sweep)[4]["genes"][[0, -1]], [0 * SIZES, SIZES - 1])


def test_actions_that_choose_no_point_are_refused_and_cost_nothing() -> None:
    env = one_env(budget=5)
    with pytest.raises(ValueError, match=r"gene 'outer\.order' of row 0 must be within 0 and 23, got 24"):
        env.step(SIZES)
    with pytest.raises(ValueError, match="finite"):
        one_env(budget=5, actions="gaussian").step(np.full(13, np.nan))
    with pytest.raises(ValueError, match="must be 4, one an environment, got 3"):
        four_envs(budget=5).step(points(feasible=True))
    agents = agents_env(budget=5)
    agents.reset()
    with pytest.raises(InputError, match=r"no action for agent 'outer\.order'"):
        agents.step({})
    assert len(env.record) == len(agents.record) == 0


@pytest.mark.parametrize(
    ("reward", "expected", "infeasible"),
    [("1/x", lambda losses: losses[0] / losses, -1), ("-log", lambda losses: np.log(losses[0] / losses), -3)],
)
def test_rewards_are_relative_to_the_first_feasible_loss(
    reward: str, expected: Callable, infeasible: float
) -> None:
    bad, good = points(feasible=False), points(feasible=True)
    losses = PROBLEM.price(good).loss
    env = MappingVectorEnv(6, problem=PROBLEM, budget=18, reward=reward)
    rewards = env.step(np.concatenate([bad, good]))[1]
    np.testing.assert_allclose(rewards[:3], infeasible)
    np.testing.assert_allclose(rewards[3:], np.maximum(expected(losses), infeasible))
    assert (losses > 20 * losses[0]).any()
    again = env.step(np.concatenate([good[::-1], bad]))[1]
    np.testing.assert_allclose(again, rewards[::-1])


def test_rewards_are_relative_to_a_reference_that_is_given() -> None:
    genes = points(feasible=True, count=1)[0]
    loss = PROBLEM.price(genes[np.newaxis]).loss[0]
    assert one_env(budget=1, reward="1/x", reference=4 * loss).step(genes)[1] == pytest.approx(4)
    assert one_env(budget=1, reward="-log", reference=loss / np.e).step(genes)[1] == pytest.approx(-1)


@pytest.mark.parametrize("reward", ["1/x", "-log"])
@pytest.mark.parametrize("reference", [1e-300, 1e300])
def test_rewards_stay_finite_and_in_order_far_from_the_reference(reward: str, reference: float) -> None:
    env = MappingVectorEnv(6, problem=PROBLEM, budget=6, reward=reward, reference=reference)
    rewards = env.step(np.concatenate([points(feasible=True), points(feasible=False)]))[1]
    assert np.isfinite(rewards).all()
    assert rewards[:3].min() >= rewards[3:].max()
    if reference > 1:
        assert rewards[:3].min() > rewards[3:].max()


def test_observations_are_finite_and_bounded_whatever_the_figures() -> None:
    figures = np.array([0.0, 1.0, 2.0**40, 2.0**63, 1e300, np.inf, np.nan])
    cycles = np.array([0, 1, 2**40, 2**62, 2**63 - 1, 0, 1], dtype=np.int64)
    ones = np.ones(7, np.int64)
    evaluations = Evaluations(
        cycles, figures, figures, figures, ones, ones, ones, figures, np.zeros(7, np.uint8)
    )
    with np.errstate(all="raise"):
        observed = observe_figures(evaluations)
    assert observed.dtype == np.float32
    assert np.isfinite(observed).all()
    assert ((observed >= 0) & (observed <= 1)).all()
    np.testing.assert_allclose(observed[:3, 0], [0, 1 / 64, 40 / 64], rtol=1e-6)


def test_observations_are_latency_power_energy_and_area_in_this_order() -> None:
    priced = PROBLEM.price(points(feasible=True))
    expected = np.log2([1.0 + getattr(priced, name) for name in ("cycles", "power", "energy_nj", "area")])
    np.testing.assert_allclose(observe_figures(priced), expected.T / 64, rtol=1e-6)


def test_a_point_that_the_cost_model_refuses_is_seen_as_zeros() -> None:
    env = MappingEnv(problem=refused(), budget=1)
    observation, reward, _, _, info = env.step(0 * SIZES)
    assert not observation.any()
    assert reward == -1
    assert info["loss"] == np.inf
    assert info["reason"] == "the inner level does no work while the outer one does"


def test_long_episodes_show_the_last_point_and_blank_at_their_beginning() -> None:
    env = MappingVectorEnv(3, problem=PROBLEM, budget=100, episode_steps=3)
    assert env.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    genes = points(feasible=True)
    seen, last = env.reset()[0], observe_figures(PROBLEM.price(genes))
    for step in range(1, 10):
        assert (seen == (0 if step % 3 == 1 else last)).all()
        seen, _, terminated, truncated, infos = env.step(genes)
        assert not terminated.any()
        assert (truncated == (step % 3 == 0)).all()
        assert ("final_obs" in infos) == (step % 3 == 0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "needs a problem and a budget, or an evaluator"),
        ({"problem": PROBLEM}, "needs a problem and a budget, or an evaluator"),
        ({"problem": PROBLEM, "budget": 0}, "budget must be at least 1, got 0"),
        ({"evaluator": Evaluator(PROBLEM, 1), "budget": 5}, "not both"),
        ({"actions": "gausian"}, "unknown actions 'gausian'; did you mean 'gaussian'?"),
        ({"reward": "x"}, "unknown reward 'x'"),
        ({"reference": 0.0}, "reference must be a finite number above 0, got 0.0"),
        ({"render_mode": "human"}, "unknown render_mode 'human'; expected one of ansi"),
        ({"episode_steps": 0}, "episode_steps must be at least 1, got 0"),
    ],
)
def test_wrong_options_are_refused(options: dict, message: str) -> None:
    complete = {"problem", "evaluator"} & options.keys() or not options
    with pytest.raises(InputError) as refusal:
        MappingEnv(**options if complete else {"problem": PROBLEM, "budget": 1} | options)
    assert message in str(refusal.value)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([range(12)], "groups must hold each gene once, 'cluster' is in 0"),
        ([range(13), ["cluster"]], "groups must hold each gene once, 'cluster' is in 2"),
        ([range(13), []], "groups must hold at least one gene each, got an empty one"),
        ([["claster"]], "unknown gene 'claster' in groups; did you mean 'cluster'?"),
        ([[13]], "groups: a gene's position must be at most 12, got 13"),
    ],
    ids=str,
)
def test_groups_that_are_no_partition_are_refused(groups: list, message: str) -> None:
    with pytest.raises(InputError) as refusal:
        MappingParallelEnv(groups, problem=PROBLEM, budget=1)
    assert message in str(refusal.value)


def test_stepping_agents_after_their_episode_asks_for_a_reset() -> None:
    env = agents_env(budget=5)
    with pytest.raises(InputError, match="reset the environment"):
        env.step({})


def test_genes_of_one_choice_keep_their_place_in_the_actions() -> None:
    problem = replace(PROBLEM, fixed={"outer.parallel": "K", "cluster": 16})
    for actions in ("categorical", "gaussian"):
        env = MappingEnv(problem=problem, budget=30, actions=actions)
        env.action_space.seed(0)
        assert env.action_space.shape == (13,)
        for _ in range(30):
            env.step(env.action_space.sample())
        mappings = problem.space.decode(env.record.genes())
        assert {mapping.outer.parallel for mapping in mappings} == {"K"}
        assert {mapping.cluster_size for mapping in mappings} == {16}


def test_learners_that_are_told_to_learn_for_longer_end_with_what_they_have() -> None:
    env = gymnasium.make(ENV, problem=PROBLEM, budget=40)
    PPO("MlpPolicy", env, n_steps=32, batch_size=32, n_epochs=1, seed=0, device="cpu").learn(64)
    assert len(env.unwrapped.record) == 40
    env = gymnasium.make(ENV, problem=PROBLEM, budget=30, actions="discrete")
    DQN("MlpPolicy", env, learning_starts=20, seed=0, device="cpu").learn(40)
    assert len(env.unwrapped.record) == 30


def test_gymnasium_finds_the_environment_by_the_name_of_its_module() -> None:
    code = "import gymnasium; gymnasium.make('searchers.environments:dse/Mapping-v0')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "InputError: an environment needs a problem and a budget, or an evaluator" in done.stderr
