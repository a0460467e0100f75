"""Time limits are truncation: what could follow goes on to count, in whatever learns by bootstrapping."""

from __future__ import annotations

import numpy as np
import pytest

from dse.search.abilities import abilities_of
from learners.team import Team
from learners.training import begin_episode, play_step
from searchers.a2c import A2C
from searchers.common.sb3_env import StableBaselinesEnv
from searchers.d4pg import D4PG
from searchers.dqn import DQN
from searchers.environments import MappingEnv, MappingVectorEnv, SequentialEnv, SequentialParallelEnv
from searchers.environments.forms import STEPS
from searchers.maddpg import MADDPG
from searchers.masac import MASAC
from searchers.mast import MAST
from searchers.ppo import PPO
from searchers.qmix import QMIX
from tests.searchers.environments.environment_cases import PROBLEM


def test_an_episode_of_moves_is_cut_off_and_does_not_end() -> None:
    env = SequentialEnv("refine", problem=PROBLEM, budget=100)
    env.reset(seed=0)
    flags = [env.step(env.action_space.sample())[2:4] for _ in range(STEPS)]
    assert flags == [(False, False)] * (STEPS - 1) + [(False, True)]


def test_an_episode_that_constructs_ends() -> None:
    env = SequentialEnv("construct", problem=PROBLEM, budget=100)
    env.reset(seed=0)
    genes = len(PROBLEM.space.sizes)
    assert [env.step(np.int64(0))[2:4] for _ in range(genes)][-1] == (True, False)


@pytest.mark.parametrize(("steps", "terminated"), [(1, True), (2, False)])
def test_one_decision_ends_and_a_longer_episode_is_cut_off(steps: int, terminated: bool) -> None:
    env = MappingEnv(problem=PROBLEM, budget=100, episode_steps=steps)
    env.reset(seed=0)
    flags = [env.step(env.action_space.sample())[2:4] for _ in range(steps)]
    assert flags[-1] == (terminated, not terminated)


def test_what_follows_a_limit_counts_in_the_steps_that_a_team_learns_from() -> None:
    env = SequentialParallelEnv(form="refine", problem=PROBLEM, budget=100, episode_steps=2)
    team, rng = Team.of(env), np.random.default_rng(0)
    seen = begin_episode(env, team, rng)
    chosen = np.zeros((len(team.names), team.width), np.float32)
    steps = [play_step(env, team, chosen, seen) for _ in range(2)]
    assert env.agents == []
    assert not any(step.ended.any() for step in steps)


def test_what_follows_a_limit_counts_for_agents_of_stable_baselines() -> None:
    shared = MappingVectorEnv(2, problem=PROBLEM, budget=100, actions="discrete", episode_steps=3)
    env = StableBaselinesEnv(shared)
    first = env.reset()
    for step in range(3):
        seen, _, done, infos = env.step(np.array([step, step + 1]))
        if step < 2:
            assert not done.any()
            assert infos == [{}, {}]
            before = seen
    assert done.all()
    for place, info in enumerate(infos):
        assert info["TimeLimit.truncated"] is True
        last = info["terminal_observation"]
        # One gene of the last point was changed, while what is returned is of the next episode.
        assert (last[4:] != before[place, 4:]).sum() <= 1
        assert not np.array_equal(last, seen[place])
    assert first.shape == seen.shape


def test_an_end_is_no_time_limit_for_agents_of_stable_baselines() -> None:
    env = StableBaselinesEnv(MappingVectorEnv(2, problem=PROBLEM, budget=100))
    env.reset()
    _, _, done, infos = env.step(np.zeros((2, len(PROBLEM.space.sizes)), np.int64))
    assert done.all()
    assert infos == [{}, {}]


@pytest.mark.parametrize(
    ("searcher", "version"),
    [
        (MADDPG(), "2"),
        (MASAC(), "1"),
        (MASAC(form="refine"), "2"),
        (QMIX(), "2"),
        (MAST(), "2"),
        (DQN(), "2"),
        (DQN(episode_steps=1), "1"),
        (PPO(), "1"),
        (PPO(episode_steps=100), "2"),
        (A2C(), "1"),
        (D4PG(), "1"),
    ],
)
def test_searchers_whose_samples_changed_say_so(searcher: object, version: str) -> None:
    assert abilities_of(searcher).version == version
