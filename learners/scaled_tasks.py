"""Tasks of Gymnasium with what is observed brought to [-1, 1] by its bounds.

Gymnasium finds them by this module's name: `learners.scaled_tasks:MountainCarContinuousScaled-v0`. A car's
velocity is at most 0.07, which a network that begins with small weights hardly sees beside its place.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.envs.classic_control import Continuous_MountainCarEnv
from gymnasium.wrappers import RescaleObservation


def scaled_mountain_car(**options: Any) -> gymnasium.Env[Any, Any]:
    """MountainCarContinuous, scaled."""
    ends = np.ones(2, np.float32)
    return RescaleObservation(Continuous_MountainCarEnv(**options), -ends, ends)


gymnasium.register("MountainCarContinuousScaled-v0", entry_point=scaled_mountain_car, max_episode_steps=999)
