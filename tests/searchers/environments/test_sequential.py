"""The sequential environments: the official checkers, what a sample is, and what is earned for it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env as check_gymnasium_env
from pettingzoo.test import parallel_api_test
from stable_baselines3.common.env_checker import check_env as check_stable_baselines_env

from dse.search.evaluator import BudgetExhausted, Evaluator
from dse.support.errors import InputError
from dse.testing.toy_problem import ToyProblem
from searchers.environments import SequentialEnv, SequentialParallelEnv
from searchers.environments.forms import MOVES
from searchers.environments.view import observe_figures
from tests.searchers.environments.environment_cases import GROUPS, PROBLEM, SIZES, points

STAY = MOVES.index("stay")


@pytest.fixture(autouse=True)
def _warnings_are_errors() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("dse/Construct-v0", {}),
        ("dse/Refine-v0", {}),
        # From the best so far (start="best") an episode depends on the ones before; checkers expect none to.
        ("dse/Refine-v0", {"actions": "discrete"}),
    ],
)
def test_gymnasium_and_stable_baselines_find_nothing_wrong(name: str, options: dict) -> None:
    env = gymnasium.make(name, problem=PROBLEM, budget=200, **options)
    check_gymnasium_env(env.unwrapped)
    check_stable_baselines_env(env.unwrapped)


@pytest.mark.parametrize("form", ["construct", "refine"])
@pytest.mark.parametrize("groups", [None, GROUPS], ids=["an agent a gene", "four agents"])
def test_pettingzoo_finds_nothing_wrong(form: str, groups: list | None) -> None:
    env = SequentialParallelEnv(groups, form, problem=PROBLEM, budget=60)
    parallel_api_test(env, num_cycles=60)
    assert len(env.record) == (2 if form == "construct" else 50)


def test_one_agent_constructs_gene_by_gene_and_pays_one_sample() -> None:
    env = SequentialEnv("construct", problem=PROBLEM, budget=2)
    widest = int(SIZES.max())
    seen, _ = env.reset(seed=0)
    assert not seen.any()
    for gene in range(13):
        assert len(env.record) == 0
        seen, reward, ended, truncated, info = env.step(np.int64(widest - 1))
        assert seen[13:].tolist() == [1.0] * (gene + 1) + [0.0] * (12 - gene)
        assert ended == (gene == 12)
        assert not truncated
        assert bool(info) == ended
    np.testing.assert_array_equal(env.record.genes()[0], SIZES - 1)
    assert reward == (-1 if np.isinf(info["loss"]) else 1)
    for _ in range(13):
        env.step(np.int64(0))
    assert not env.record.genes()[1].any()
    after = env.step(np.int64(0))
    assert after[3]
    assert after[4] == {"exhausted": True}


def test_agents_that_construct_have_turns() -> None:
    env = SequentialParallelEnv(GROUPS, "construct", problem=PROBLEM, budget=3)
    genes = points(feasible=True)[0]
    other = points(feasible=False)[0]
    seen, _ = env.reset()
    for turn, name in enumerate(env.possible_agents):
        assert all(row[-4:].tolist() == np.eye(4)[turn].tolist() for row in seen.values())
        actions = {}
        for agent, part in env.groups.items():
            chosen = genes if agent == name else other
            actions[agent] = chosen[list(part)] if len(part) > 1 else chosen[part[0]]
        seen, rewards, ended, _, infos = env.step(actions)
        assert set(ended.values()) == {turn == 3}
        assert set(rewards.values()) == {1.0 if turn == 3 else 0.0}
    np.testing.assert_array_equal(env.record.genes(), genes[np.newaxis])
    np.testing.assert_array_equal(infos["cluster"]["genes"], genes)


def test_every_value_of_every_gene_can_be_constructed() -> None:
    env = SequentialEnv("construct", problem=PROBLEM, budget=1)
    chosen = np.array([env._chosen(action) for action in range(int(SIZES.max()))])
    for gene, size in enumerate(SIZES):
        assert np.unique(chosen[:, gene]).tolist() == list(range(size))


def test_refining_moves_all_genes_and_earns_the_improvement() -> None:
    env = SequentialEnv("refine", problem=PROBLEM, budget=300, episode_steps=300)
    seen, _ = env.reset(seed=2)
    now = np.rint(seen[4:] * np.maximum(SIZES - 1, 1)).astype(int)
    ordinal = np.array([gene.kind == "ordinal" for gene in PROBLEM.space.genes])
    far = np.maximum(SIZES // 4, 1)
    moves = np.stack([-far, -np.ones(13), np.zeros(13), np.ones(13), far]).astype(int)
    rng, earned, rewards = np.random.default_rng(0), 0.0, []
    for _ in range(300):
        action = rng.integers(5, size=13)
        moved = now + moves[action, np.arange(13)]
        now = np.where(ordinal, np.clip(moved, 0, SIZES - 1), moved % SIZES)
        seen, reward, _, _, info = env.step(action)
        np.testing.assert_array_equal(info["genes"], now)
        np.testing.assert_array_equal(seen[:4], observe_figures(PROBLEM.price(now[np.newaxis]))[0])
        earned += reward
        rewards.append(earned)
    losses = env.record.evaluations().loss
    reference = losses[np.isfinite(losses)][0]
    expected = np.where(np.isfinite(losses), np.maximum(-np.log(losses / reference), -3), -3)
    np.testing.assert_allclose(rewards, expected, atol=1e-9)


def test_one_move_at_a_time_moves_one_gene() -> None:
    env = SequentialEnv("refine", problem=PROBLEM, budget=20, actions="discrete", start="best")
    env.reset(seed=0)
    before = env.step(np.int64(STAY))[4]["genes"]
    after = env.step(np.int64(11 * len(MOVES) + MOVES.index("one up")))[4]["genes"]
    assert set(np.flatnonzero(before != after)) <= {11}


def test_an_episode_may_begin_at_the_best_point_so_far() -> None:
    env = SequentialEnv("refine", start="best", problem=PROBLEM, budget=400, episode_steps=400)
    env.reset(seed=1)
    rng = np.random.default_rng(0)
    for _ in range(300):
        env.step(rng.integers(5, size=13))
    best = env.record.genes()[env.record.best]
    seen, _ = env.reset()
    np.testing.assert_array_equal(np.rint(seen[4:] * np.maximum(SIZES - 1, 1)).astype(int), best)
    assert env.step(np.full(13, STAY))[1] == 0


@pytest.mark.parametrize("form", ["construct", "refine"])
def test_any_space_will_do_and_the_owner_of_an_evaluator_hears_that_it_is_spent(form: str) -> None:
    evaluator = Evaluator(ToyProblem(), 2)
    env = SequentialParallelEnv(form=form, evaluator=evaluator)
    with pytest.raises(BudgetExhausted):  # noqa: PT012
        for _ in range(3):
            env.reset(seed=0)
            while env.agents:
                env.step({agent: env.action_space(agent).sample() for agent in env.agents})
    assert evaluator.remaining == 0


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"form": "refined"}, "did you mean 'refine'"),
        ({"form": "refine", "start": "worst"}, "unknown start 'worst'"),
        ({"form": "construct", "actions": "discrete"}, "actions must be categorical"),
        ({"form": "construct", "episode_steps": 3}, "no episode_steps"),
    ],
)
def test_what_cannot_be_is_refused(options: dict, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        SequentialEnv(problem=PROBLEM, budget=1, **options)
