"""The searchers that come with the arena: one module each, found by the entry points of `dse.searchers`.

SEARCHERS is the table of them; pyproject.toml declares the same names, and a test compares the two.
"""

from __future__ import annotations

SEARCHERS: dict[str, str] = {
    "random": "searchers.random:Random",
    "walk": "searchers.walk:Walk",
    "grid": "searchers.grid:Grid",
    "bayesian": "searchers.bayesian:Bayesian",
    "genetic": "searchers.genetic:Genetic",
    "nsga2": "searchers.nsga2:NSGA2",
    "weighted-runs": "searchers.weighted_runs:WeightedRuns",
    "gamma": "searchers.gamma:Gamma",
    "cem": "searchers.cem:CEM",
    "ppo": "searchers.ppo:PPO",
    "marl": "searchers.marl:MARL",
    "factored-ppo": "searchers.factored_ppo:FactoredPPO",
    "a2c": "searchers.a2c:A2C",
    "dqn": "searchers.dqn:DQN",
    "ddpg": "searchers.ddpg:DDPG",
    "d4pg": "searchers.d4pg:D4PG",
    "actorq": "searchers.actorq:ActorQ",
    "maddpg": "searchers.maddpg:MADDPG",
    "masac": "searchers.masac:MASAC",
    "policy": "searchers.policy:Policy",
    "generative": "searchers.generative:Generative",
    "qmix": "searchers.qmix:QMIX",
    "mast": "searchers.mast:MAST",
    "local": "searchers.local:Local",
    "gradient": "searchers.gradient:Gradient",
    "calibrated": "searchers.calibrated:Calibrated",
    "team": "searchers.team:Team",
    "transfer": "searchers.transfer:Transfer",
}
"""Each searcher's name, and where its class is: modules are imported only when they are used."""
