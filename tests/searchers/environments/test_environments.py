"""The Gymnasium and PettingZoo environments: the official checkers, the budget, observations and rewards."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env as check_gymnasium_env
from pettingzoo.test import parallel_api_test
from stable_baselines3.common.env_checker import check_env as check_stable_baselines_env

from dse.domains.clustered.nest import loop_nest
from dse.search.evaluator import BudgetExhausted, Evaluator
from dse.search.record import Record
from dse.support.errors import InputError
from dse.testing.toy_problem import ToyProblem
from searchers.environments import MappingEnv, MappingParallelEnv, MappingVectorEnv, observe_figures
from tests.searchers.environments.environment_cases import (
    ENV,
    GROUPS,
    PROBLEM,
    SIZES,
    agents_env,
    four_envs,
    one_env,
)

FORMS = [
    {"actions": actions, "reward": reward, "episode_steps": steps}
    for actions in ("categorical", "gaussian")
    for reward in ("1/x", "-log")
    for steps in (1, 7)
]


Make = Callable[..., MappingEnv | MappingVectorEnv | MappingParallelEnv]


@pytest.fixture(autouse=True)
def _warnings_are_errors() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_gymnasium_and_stable_baselines_find_nothing_wrong(form: dict) -> None:
    env = gymnasium.make(ENV, problem=PROBLEM, budget=200, **form)
    check_gymnasium_env(env.unwrapped)
    check_stable_baselines_env(env.unwrapped)
    assert 10 < len(env.unwrapped.record) < 200


@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize("groups", [None, GROUPS], ids=["an agent a gene", "four agents"])
def test_pettingzoo_finds_nothing_wrong(form: dict, groups: list | None) -> None:
    env = MappingParallelEnv(groups, problem=PROBLEM, budget=200, **form)
    parallel_api_test(env, num_cycles=100)
    assert len(env.record) == 2 * form["episode_steps"]
    ends_within_an_episode = MappingParallelEnv(
        groups, problem=PROBLEM, budget=10, **form | {"episode_steps": 8}
    )
    parallel_api_test(ends_within_an_episode, num_cycles=100)
    assert len(ends_within_an_episode.record) == 10


def act(env: MappingEnv | MappingVectorEnv | MappingParallelEnv) -> tuple:
    if isinstance(env, MappingParallelEnv):
        return env.step({agent: env.action_space(agent).sample() for agent in env.agents})
    return env.step(env.action_space.sample())


@pytest.mark.parametrize("make", [one_env, four_envs, agents_env])
@pytest.mark.parametrize("episode_steps", [1, 100])
def test_the_step_that_spends_the_last_sample_is_truncated_and_later_ones_draw_nothing(
    make: Make, episode_steps: int
) -> None:
    env = make(budget=8, episode_steps=episode_steps)
    steps = 2 if isinstance(env, MappingVectorEnv) else 8
    for step in range(steps):
        if step == 0 or episode_steps == 1:
            env.reset()
        _, _, terminated, truncated, _ = act(env)
        flags = [
            np.ravel([*flag.values()] if isinstance(flag, dict) else flag) for flag in (terminated, truncated)
        ]
        assert (flags[0] == (episode_steps == 1)).all()
        assert (flags[1] == (step == steps - 1)).all()
    for _ in range(2):
        env.reset()
        after = act(env)
        values = [[*part.values()] if isinstance(env, MappingParallelEnv) else part for part in after]
        assert not np.any(values[0])
        assert not np.any(values[1])
        assert np.all(values[3])
        infos = values[4] if isinstance(env, MappingParallelEnv) else [values[4]]
        assert all(np.all(info["exhausted"]) for info in infos)
    assert len(env.record) == 8


def test_a_vector_step_larger_than_what_is_left_draws_what_is_left() -> None:
    env = four_envs(budget=10)
    for _ in range(2):
        assert "exhausted" not in act(env)[4]
    _, rewards, _, truncated, infos = act(env)
    assert len(env.record) == 10
    assert truncated.all()
    assert rewards.astype(bool).tolist() == [True, True, False, False]
    assert infos["exhausted"].tolist() == [False, False, True, True]
    assert infos["_loss"].tolist() == [True, True, False, False]
    np.testing.assert_array_equal(infos["loss"][:2], env.record.evaluations().loss[8:])
    np.testing.assert_array_equal(infos["genes"][:2], env.record.genes()[8:])


@pytest.mark.parametrize("make", [MappingEnv, MappingVectorEnv, MappingParallelEnv])
def test_the_owner_of_an_evaluator_hears_that_its_budget_is_spent(make: Make) -> None:
    env = make(evaluator=Evaluator(PROBLEM, 1))
    for _ in range(2):
        env.reset()
        if env._view.exhausted:
            with pytest.raises(BudgetExhausted, match="all 1 samples are spent"):
                act(env)
        else:
            act(env)


@pytest.mark.parametrize("steps", [None, 5])
def test_discrete_actions_set_one_gene_of_the_last_point(steps: int | None) -> None:
    env = gymnasium.make(ENV, problem=PROBLEM, budget=300, actions="discrete", episode_steps=steps)
    check_gymnasium_env(env.unwrapped)
    check_stable_baselines_env(env.unwrapped)
    env = MappingEnv(problem=PROBLEM, budget=200, actions="discrete", episode_steps=steps)
    assert env.action_space == gymnasium.spaces.Discrete(SIZES.sum())
    with pytest.raises(InputError, match="reset the environment before the first step"):
        env.step(0)
    start, _ = env.reset(seed=3)
    assert not start[:4].any()
    last = np.rint(start[4:] * np.maximum(SIZES - 1, 1)).astype(int)
    every = [(gene, value) for gene in range(13) for value in range(SIZES[gene])]
    for action in (0, 23, 24, len(every) - 1, *range(30, 57)):
        gene, value = every[action]
        last[gene] = value
        observation, _, terminated, truncated, info = env.step(action)
        np.testing.assert_array_equal(info["genes"], last)
        np.testing.assert_allclose(observation[4:], last / np.maximum(SIZES - 1, 1), rtol=1e-6)
        assert not terminated
        assert truncated == (len(env.record) >= (steps or 32))
    with pytest.raises(ValueError, match=f"an action must be a number from 0 to {len(every) - 1}"):
        env.step(len(every))
    with pytest.raises(InputError, match="actions are categorical or gaussian"):
        MappingParallelEnv(problem=PROBLEM, budget=1, actions="discrete")


def test_a_discrete_vector_step_changes_each_environments_own_point() -> None:
    env = MappingVectorEnv(3, problem=PROBLEM, budget=9, actions="discrete", episode_steps=2)
    start = env.reset(seed=1)[0]
    assert len(np.unique(start, axis=0)) == 3
    first = env.step(np.array([1, 1, 1]))[4]["genes"]
    infos = env.step(np.array([0, 1, 2]))[4]
    assert infos["genes"][:, 0].tolist() == [0, 1, 2]
    np.testing.assert_array_equal(infos["genes"][:, 1:], first[:, 1:])
    assert (infos["final_obs"][:, :4] == observe_figures(PROBLEM.price(infos["genes"]))).all()


@pytest.mark.parametrize("make", [one_env, four_envs, agents_env])
def test_ansi_shows_the_best_mapping_so_far(make: Make) -> None:
    assert make(budget=8).render() is None
    env = make(budget=400, render_mode="ansi")
    env.reset()
    assert "nothing feasible" in str(env.render())
    while np.isinf(env.record.evaluations().loss).all():
        env.reset()
        act(env)
    shown = env.render()
    shown = shown[0] if isinstance(shown, tuple) else shown
    best = env.record.evaluations().loss.min()
    assert shown.startswith(f"edp {best:.6g} J s\n")
    mapping = PROBLEM.space.decode(env.record.genes())[env.record.best]
    assert loop_nest(PROBLEM.layer.lowered(), mapping, PROBLEM.accelerator) in shown


def test_other_designs_are_shown_by_their_genes() -> None:
    problem = ToyProblem()
    env = MappingEnv(problem=problem, budget=50, render_mode="ansi")
    for _ in range(50):
        env.step(env.action_space.sample())
    assert env.render().splitlines()[1].startswith(problem.space.genes[0].name)


@pytest.mark.parametrize("make", [MappingEnv, MappingVectorEnv, MappingParallelEnv])
def test_an_environment_draws_from_a_given_evaluator_and_nowhere_else(make: Make) -> None:
    record = Record(13)
    evaluator = Evaluator(PROBLEM, 5, record=record)
    env = make(evaluator=evaluator)
    env.reset()
    act(env)
    assert evaluator.remaining == 4
    assert len(record) == 1
    with pytest.raises(InputError, match="the record is with its owner"):
        _ = env.record


def test_gymnasium_makes_an_environment_of_a_given_evaluator() -> None:
    evaluator = Evaluator(PROBLEM, 50)
    env = gymnasium.make(ENV, evaluator=evaluator)
    env.reset(seed=1)
    env.step(env.action_space.sample())
    vector = gymnasium.make_vec(ENV, num_envs=9, evaluator=evaluator)
    vector.reset(seed=1)
    vector.step(vector.action_space.sample())
    assert evaluator.remaining == 40


def test_a_vector_step_is_one_call_to_the_evaluator() -> None:
    batches: list[int] = []
    evaluator = Evaluator(PROBLEM, 96, observers=[lambda progress: batches.append(progress.samples)])
    env = MappingVectorEnv(32, evaluator=evaluator)
    for _ in range(3):
        act(env)
    assert batches == [32, 64, 96]
