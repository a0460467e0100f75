"""An agent a gene, by PettingZoo's environment of each problem of suite `short`; they act at random."""

import dse
from searchers.environments import MappingParallelEnv

for problem in dse.suite("short"):
    with problem.ask_tell(budget=100, searcher="agents", out="runs") as study:
        env = MappingParallelEnv(evaluator=study.gate)
        while study.remaining:
            env.reset()
            env.step({agent: env.action_space(agent).sample() for agent in env.possible_agents})
