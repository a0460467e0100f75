"""A team in its environment: it acts, sees what comes of it, and learns."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from pettingzoo import ParallelEnv

from learners.arrays import FloatArray, SingleArray
from learners.phases import Phases, measure_nothing
from learners.policy import Policy
from learners.replay import Transitions
from learners.team import Team


class Learner(Protocol):
    """A team that learns."""

    def act(self, observations: SingleArray) -> SingleArray:
        """Actions to try, (agents, width), on observations (agents, observed)."""
        ...

    def learn(self, step: Transitions) -> None:
        """Take in a step, and perhaps learn."""
        ...

    def policy(self) -> Policy:
        """What has been learned so far."""
        ...


class Algorithm(Protocol):
    """How a team learns: settings that can begin."""

    def begin(self, team: Team, rng: np.random.Generator, phases: Phases = measure_nothing) -> Learner:
        """A team that has not learned yet."""
        ...


def train(
    algorithm: Algorithm,
    env: ParallelEnv,
    steps: int,
    rng: np.random.Generator,
    phases: Phases = measure_nothing,
) -> tuple[Policy, FloatArray]:
    """Let a team learn for so many steps: its policy, and the return of each episode that ended, (episodes,).

    An episode's return is the sum of its rewards, averaged over the agents.
    """
    learner = algorithm.begin(Team.of(env), rng, phases)
    # Where there can be none, that is said before anything is learned.
    learner.policy()
    returns = learn_for_steps(learner, env, steps, rng)
    return learner.policy(), returns


def learn_for_steps(learner: Learner, env: ParallelEnv, steps: int, rng: np.random.Generator) -> FloatArray:
    """Let a team act and learn for so many steps: the return of each episode that ended, (episodes,)."""
    team = Team.of(env)
    returns: list[float] = []
    forget = getattr(learner, "forget", lambda: None)
    forget()
    observations, so_far = begin_episode(env, team, rng), 0.0
    for _ in range(steps):
        step = play_step(env, team, learner.act(observations), observations)
        learner.learn(step)
        observations = step.following
        so_far += float(step.rewards.mean())
        if not env.agents:
            returns.append(so_far)
            forget()
            observations, so_far = begin_episode(env, team, rng), 0.0
    return np.array(returns)


def begin_episode(env: ParallelEnv, team: Team, rng: np.random.Generator) -> SingleArray:
    """Begin an episode: what the agents observe first."""
    return team.observations(env.reset(seed=int(rng.integers(2**31)))[0], env)


def play_step(env: ParallelEnv, team: Team, chosen: SingleArray, observations: SingleArray) -> Transitions:
    """Do what was chosen, (agents, width), where the agents observed so much: the step that it was."""
    seen, rewards, ended, _, _ = env.step(team.actions(chosen, env))
    return Transitions(
        observations,
        chosen,
        np.array([rewards.get(name, 0.0) for name in team.names], np.float32),
        team.observations(seen, env),
        np.array([ended.get(name, True) for name in team.names], np.float32),
    )
