"""PPO of stable-baselines3, on Gymnasium's environment of each problem of suite `short`."""

from stable_baselines3 import PPO

import dse
from searchers.environments import MappingEnv

for problem in dse.suite("short"):
    with problem.ask_tell(budget=100, searcher="ppo-mine", out="runs") as study:
        env = MappingEnv(evaluator=study.gate)
        PPO("MlpPolicy", env, n_steps=20, batch_size=20, seed=0).learn(100)
