"""The processes of ActorQ: what one hands to another arrives; `prove_actorq.py` runs them all."""

from __future__ import annotations

import gymnasium
import numpy as np

from experiments.actorq.asynchronous import as_bytes, from_bytes
from learners.replay import Transitions
from learners.team import OneAgent, Team


def test_a_step_arrives_as_it_was_pushed() -> None:
    team = Team.of(OneAgent(gymnasium.make("CartPole-v1")))
    numbers = np.random.default_rng(0).random((2, 1, 4), dtype=np.float32)
    step = Transitions(numbers[0], np.float32([[0, 1]]), np.float32([2.5]), numbers[1], np.float32([0.25]))
    arrived = from_bytes(as_bytes(step), team)
    for name in Transitions.__dataclass_fields__:
        np.testing.assert_array_equal(getattr(arrived, name), getattr(step, name))
