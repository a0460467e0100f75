"""Tasks of Gymnasium by name: policies taught on them, with or without rounding, and what these earn.

Settings have the names of the algorithm's own, of stable-baselines3 or of learners.d4pg. For the former,
`n_envs` is how many environments there are, `net_arch` the units of layers, `action_noise` the deviation of
the noise that a deterministic actor is tried with; `correlated` makes it that of Ornstein and Uhlenbeck. With
`scaled_rewards` it learns from rewards over the deviation of returns so far.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
import torch

from learners.aliases import current_settings
from learners.arrays import FloatArray
from learners.errors import InputError, unknown_name
from learners.policy import Policy
from learners.qat import Rounding, current_rounding, learn_with_rounding
from learners.sb3 import AGENTS
from learners.team import OneAgent, Team
from learners.training import begin_episode, learn_for_steps, play_step

OURS = ("d4pg",)
ALGORITHMS = tuple(sorted((*AGENTS, *OURS)))
"""What a policy can be taught by."""
ALIASES = {"envs": "n_envs", "hidden": "net_arch", "spread": "action_noise"}
"""The settings' names by their former names."""


def gymnasium_task(name: str) -> OneAgent:
    """The task of that name, as a team of one. InputError where there is none, or it lacks a library."""
    try:
        return OneAgent(gymnasium.make(name))
    except (gymnasium.error.Error, ImportError) as error:
        said = " ".join(str(error).split())
        raise InputError(f"Gymnasium task {name!r} cannot be made: {said}") from None


def train_policy(
    algorithm: str,
    task: str,
    steps: int,
    seed: int,
    settings: Mapping[str, Any],
    rounding: Rounding | None = None,
) -> Policy:
    """The policy that the algorithm has after so many steps, with torch on one thread.

    Where learning is to be aware of a `rounding`, it rounds after half of the steps.
    """
    if algorithm not in ALGORITHMS:
        raise unknown_name("algorithm", algorithm, ALGORITHMS)
    torch.set_num_threads(1)
    teach = _ours if algorithm in OURS else _theirs
    if rounding is None:
        return teach(algorithm, task, steps, seed, settings)
    rounding.on = False
    with learn_with_rounding(rounding):
        return teach(algorithm, task, steps, seed, settings)


def episode_returns(policy: Policy, task: str, episodes: int, seed: int) -> FloatArray:
    """Returns (episodes,) of a policy that acts without noise, in episodes that are all played at once."""
    team, rng, earned = policy.team, np.random.default_rng([seed, 23]), np.zeros(episodes)
    envs = [gymnasium_task(task) for _ in range(episodes)]
    team.refuse_other(Team.of(envs[0]))
    seen = np.stack([begin_episode(env, team, rng) for env in envs])
    while going_on := [place for place, env in enumerate(envs) if env.agents]:
        with torch.no_grad():
            outputs = policy.actors(torch.from_numpy(seen[going_on].swapaxes(0, 1)))
            chosen = policy.head.greedy(outputs).numpy()
        for row, place in enumerate(going_on):
            step = play_step(envs[place], team, chosen[:, row], seen[place])
            seen[place] = step.following
            earned[place] += float(step.rewards[0])
    return earned


def _ours(algorithm: str, task: str, steps: int, seed: int, settings: Mapping[str, Any]) -> Policy:
    from learners.registry import make_learner

    env, rng, rounding = gymnasium_task(task), np.random.default_rng(seed), current_rounding()
    learner = make_learner(algorithm, settings).begin(Team.of(env), rng)
    if rounding is not None:
        learn_for_steps(learner, env, steps // 2, rng)
        rounding.on = True
    learn_for_steps(learner, env, steps if rounding is None else steps - steps // 2, rng)
    return learner.policy()


def _theirs(algorithm: str, task: str, steps: int, seed: int, settings: Mapping[str, Any]) -> Policy:
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.vec_env import VecNormalize

    from learners.sb3 import exploration_noise, new_agent, policy_of

    given = current_settings(settings, ALIASES, f"algorithm {algorithm!r}")
    rounding, team = current_rounding(), Team.of(gymnasium_task(task))
    env = make_vec_env(task, n_envs=given.pop("n_envs", 1), seed=seed)
    if given.pop("scaled_rewards", False):
        env = VecNormalize(env, norm_obs=False, gamma=given.get("gamma", 0.99))
    # Agents write into what they are given here.
    given["policy_kwargs"] = dict(given.get("policy_kwargs", {}))
    if "net_arch" in given:
        given["policy_kwargs"]["net_arch"] = list(given.pop("net_arch"))
    if "action_noise" in given:
        deviations = np.full(env.action_space.shape or (1,), given["action_noise"])
        given["action_noise"] = exploration_noise(deviations, given.pop("correlated", False))
    agent = new_agent(algorithm, env, seed, given)

    def after_a_step(*_: Any) -> bool:
        if rounding is not None and agent.num_timesteps >= steps // 2:
            rounding.on = True
        return True

    agent.learn(steps, callback=after_a_step)
    return policy_of(agent, team)
