"""Problems as reinforcement-learning environments: Gymnasium's, single and vectorised, and PettingZoo's.

A step chooses a mapping, and the reward says how good it is. Importing this module registers
`dse/Mapping-v0`, on which any learner trains, here stable-baselines3's PPO:

    import gymnasium, stable_baselines3, searchers.environments
    env = gymnasium.make("dse/Mapping-v0", problem=problem, budget=4096)
    stable_baselines3.PPO("MlpPolicy", env, n_steps=256).learn(4096)
    record = env.unwrapped.record
    print(problem.space.decode(record.genes())[record.best])

Every step is a sample of the budget. The step that spends the last one returns `truncated`, and later steps
draw nothing: a learner that is told to learn for longer ends with what it has. Options, in `view`, says what
environments take, from what is observed to how the reward is made. Where a mapping comes about in many steps,
set gene by gene or moved about, see `sequential`.
"""

from __future__ import annotations

from searchers.environments.one_step import MappingEnv, MappingParallelEnv, MappingVectorEnv
from searchers.environments.sequential import SequentialEnv, SequentialParallelEnv
from searchers.environments.view import OBSERVED, REWARDS, Options, observe_figures

__all__ = [
    "MappingEnv",
    "MappingVectorEnv",
    "MappingParallelEnv",
    "SequentialEnv",
    "SequentialParallelEnv",
    "Options",
    "OBSERVED",
    "REWARDS",
    "observe_figures",
]
