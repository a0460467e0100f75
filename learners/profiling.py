"""Where a learner's time goes: phases measured update by update, ways of computing side by side.

The unit is an update with the steps that come before it. Arms take turns, update for update, so that what
else a machine does meets them alike; the first round of each is not counted.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from pettingzoo import ParallelEnv
from scipy.stats import t

from learners.arrays import FloatArray
from learners.counters import CountsMissing, count_events
from learners.phases import ACTIONS, P_LOSS, Q_LOSS, SAMPLING, TARGET_Q, UPDATE, Stopwatch
from learners.replay import Replay, Transitions
from learners.team import Team
from learners.training import Algorithm, begin_episode, play_step

REST, OTHER = "rest of the update", "other"
PHASES = (ACTIONS, SAMPLING, TARGET_Q, Q_LOSS, P_LOSS, REST, OTHER)
"""The parts of the time: choosing, those of an update, and what the environment and remembering take."""
PARTS = (SAMPLING, TARGET_Q, Q_LOSS, P_LOSS)
UPDATING = (*PARTS, REST)

CLOCKS: dict[str, Callable[[], float]] = {"wall": time.perf_counter, "cpu": time.process_time}
"""What may be measured: time that passes, or that this process computes, which is the same where nothing else
runs and torch has one thread."""

_RECORDED = 50
_MAX_STEPS = 1_000_000


@dataclass(frozen=True)
class Profile:
    """Seconds of each update with its steps, (updates, phases), in the order of PHASES.

    `hook` is the share of the time that measuring takes, by its own cost and how often it is entered.
    `misses` has counts by event, an update, or says why there are none.
    """

    arm: str
    agents: int
    seconds: FloatArray
    hook: float
    misses: Mapping[str, float] | str

    def of(self, *phases: str) -> FloatArray:
        """The seconds of some phases together, (updates,); of all where none is named."""
        places = [PHASES.index(phase) for phase in phases or PHASES]
        taken: FloatArray = self.seconds[:, places].sum(axis=1)
        return taken

    def share(self, *phases: str, within: Sequence[str] = PHASES) -> float:
        """What share of the time of the phases `within` is that of some."""
        return float(self.of(*phases).sum() / self.of(*within).sum())


@runtime_checkable
class _Remembering(Protocol):
    """A learner with a memory that can be filled."""

    @property
    def replay(self) -> Replay: ...


def profile_arms(
    arms: Mapping[str, Algorithm],
    task: Callable[[int], ParallelEnv],
    agents: int,
    *,
    updates: int,
    held: int,
    clock: str = "wall",
) -> list[Profile]:
    """Measure so many updates of each arm, paired; memories hold `held` steps when the first is made.

    Torch has one thread.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return _profiled(arms, task, agents, updates, held, clock)
    finally:
        torch.set_num_threads(threads)


def _profiled(
    arms: Mapping[str, Algorithm],
    task: Callable[[int], ParallelEnv],
    agents: int,
    updates: int,
    held: int,
    clock: str,
) -> list[Profile]:
    runs = [_Run(algorithm, task(agents), clock) for algorithm in arms.values()]
    recorded = runs[0].recorded(_RECORDED)
    for run in runs:
        run.fill(recorded, held)
    seconds = np.zeros((len(runs), updates + 1, len(PHASES)))
    for update in range(updates + 1):
        # Whoever goes first has what the last one left in the caches: they take turns in that too.
        for place in np.roll(np.arange(len(runs)), update):
            seconds[place, update] = runs[place].update()
    return [
        Profile(arm, agents, times[1:], run.hook() / float(times.sum()), run.misses(updates))
        for arm, run, times in zip(arms, runs, seconds, strict=True)
    ]


class _Run:
    """One arm at work."""

    def __init__(self, algorithm: Algorithm, env: ParallelEnv, clock: str) -> None:
        self._env, self._rng = env, np.random.default_rng(0)
        self._watch = Stopwatch(CLOCKS[clock])
        self._team = Team.of(env)
        self._learner = algorithm.begin(self._team, self._rng, self._watch)
        self._observations = begin_episode(env, self._team, self._rng)

    def recorded(self, steps: int) -> list[Transitions]:
        """So many steps."""
        return [self._step() for _ in range(steps)]

    def fill(self, recorded: Sequence[Transitions], held: int) -> None:
        """Fill the memory with so many steps, those recorded over and over: what they are takes no time."""
        if isinstance(self._learner, _Remembering):
            for place in range(held):
                self._learner.replay.add(recorded[place % len(recorded)])

    def update(self) -> FloatArray:
        """Play until an update is made: the seconds of each of PHASES."""
        before, begun = dict(self._watch.seconds), self._watch.clock()
        for _ in range(_MAX_STEPS):
            self._learner.learn(self._step())
            if self._watch.seconds.get((UPDATE,), 0.0) != before.get((UPDATE,), 0.0):
                break
        whole = self._watch.clock() - begun
        spent = {path: took - before.get(path, 0.0) for path, took in self._watch.seconds.items()}
        parts = [spent.get((UPDATE, part), 0.0) for part in PARTS]
        updating, acting = spent.get((UPDATE,), 0.0), spent.get((ACTIONS,), 0.0)
        return np.array([acting, *parts, updating - sum(parts), whole - updating - acting])

    def hook(self) -> float:
        """The seconds that measuring has taken: how often phases were entered, by what it takes to."""
        watch, rounds = Stopwatch(self._watch.clock), 2000
        begun = watch.clock()
        for _ in range(rounds):
            with watch(UPDATE):
                pass
        return self._watch.entered * (watch.clock() - begun) / rounds

    def misses(self, updates: int) -> dict[str, float] | str:
        """Misses an update, by event, or why they cannot be counted."""
        try:
            with count_events() as found:
                pass
            with count_events() as found:
                for _ in range(updates):
                    self.update()
        except CountsMissing as why:
            return str(why)
        return {event: count / updates for event, count in found.items()}

    def _step(self) -> Transitions:
        if not self._env.agents:
            self._observations = begin_episode(self._env, self._team, self._rng)
        chosen = self._learner.act(self._observations)
        step = play_step(self._env, self._team, chosen, self._observations)
        self._observations = step.following
        return step


def ratio_of_means(ours: FloatArray, theirs: FloatArray) -> tuple[float, float, float]:
    """The mean of `ours` over that of `theirs`, (updates,) each and paired, with its 95 % interval.

    The interval is Student's, of the residuals of a common ratio (the delta method): updates are few, and a
    bootstrap of few values is too narrow.
    """
    value = float(ours.sum() / theirs.sum())
    if len(ours) < 3:
        return value, -np.inf, np.inf
    residuals = (ours - value * theirs) / theirs.mean()
    half = float(t.ppf(0.975, len(ours) - 1) * residuals.std(ddof=1) / np.sqrt(len(ours)))
    return value, value - half, value + half
