"""What each searcher's trials are drawn from, and which come first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Settings = dict[str, Any]

_LEARNING = {
    "batch": [16, 24, 32, 48, 64, 96],
    "epochs": [1, 2, 3, 5, 8],
    "learning_rate": [0.01, 0.02, 0.03, 0.05, 0.08],
    "clip": [0.1, 0.2, 0.3, 0.5],
    "entropy": [0.0, 0.003, 0.01, 0.03, 0.1],
    "hidden": [8, 16, 32],
    "elite": [0.15, 0.25, 0.4],
    "patience": [500, 1000, 2000],
}
_PPO = {
    "reward": ["1/x", "-log"],
    "envs": [16, 32, 64, 128],
    "steps": [1, 2, 4, 8],
    "minibatches": [1, 2, 4],
    "epochs": [5, 10, 20],
    "learning_rate": [0.001, 0.003, 0.005, 0.01, 0.02],
    "entropy": [0.0, 0.003, 0.01, 0.03, 0.05, 0.1],
    "clip": [0.1, 0.2, 0.3],
    "patience": [1000, 2000, 4000],
}
_TEAMS = {
    "form": ["one-step", "construct", "refine"],
    "agents": ["genes", "blocks"],
    "reward": ["1/x", "-log"],
    "batch": [32, 64, 128, 256],
    "learning_rate": [0.001, 0.003, 0.01, 0.03],
    "tau": [0.01, 0.05, 0.2],
    "discount": [0.0, 0.5, 0.9, 0.95],
    "update_every": [4, 8, 16],
}
_CRITICS = {
    "reward": ["1/x", "-log"],
    "updates": [1, 2, 4, 8],
    "batch": [32, 64, 128],
    "warm_up": [50, 100, 200, 500],
    "spread": [0.05, 0.1, 0.2, 0.4],
    "learning_rate": [0.0003, 0.001, 0.003],
    "tau": [0.01, 0.05, 0.2, 1.0],
    "hidden": [[64, 64], [128, 128]],
    "patience": [300, 600, 1200, 4000],
}
_VALUES = {
    "agents": ["genes", "blocks"],
    "mixing": ["qmix", "vdn"],
    "reward": ["1/x", "-log"],
    "batch": [16, 32, 64],
    "learning_rate": [0.0005, 0.001, 0.002, 0.005],
    "update_every": [2, 4, 8],
    "discount": [0.0, 0.3, 0.5, 0.8, 0.95],
    "explored": [0.05, 0.1, 0.2, 0.3, 0.5],
    "explored_until": [100, 300, 1000],
}
RANGES: Mapping[str, Mapping[str, Sequence[Any]]] = {
    "a2c": {
        "actions": ["gaussian", "categorical"],
        "reward": ["1/x", "-log"],
        "envs": [8, 16, 32, 64],
        "steps": [1, 2, 4],
        "learning_rate": [0.001, 0.003, 0.01, 0.03],
        "entropy": [0.0, 0.003, 0.01, 0.03, 0.1],
        "patience": [500, 1000, 2000, 4000],
    },
    "d4pg": {
        **_CRITICS,
        "actors": [1, 4, 8, 16],
        "update_every": [1, 2, 4, 8],
        "lowest": [-3.0, -1.0],
        "highest": [4.0, 9.0, 20.0],
    },
    "ddpg": {**_CRITICS, "envs": [1, 4, 8, 16]},
    "dqn": {
        "reward": ["1/x", "-log"],
        "envs": [1, 4, 8, 16, 32],
        "updates": [1, 2, 4, 8],
        "batch": [32, 64, 128],
        "learning_rate": [0.0003, 0.001, 0.003],
        "tau": [0.01, 0.05, 0.2],
        "discount": [0.0, 0.5, 0.8, 0.95],
        "explored": [0.02, 0.05, 0.1, 0.2],
        "explored_until": [100, 300, 1000],
        "episode_steps": [8, 32, 128, 512],
        "patience": [500, 1000, 4000],
    },
    "bayesian": {
        "initial": [10, 20, 30, 50],
        "points": [150, 200, 300],
        "batch": [0.01, 0.02, 0.04],
        "late_batch": [0.005, 0.0075, 0.015],
        "patience": [50, 100, 200],
        "refit": [1.5, 2.0, 3.0],
    },
    "genetic": {
        "population": [20, 30, 50, 80, 120],
        "elite": [1, 2, 4, 8],
        "tournament": [2, 3, 5, 8],
        "crossover": [0.3, 0.6, 0.8, 0.95],
        "exchange": [0.2, 0.35, 0.5],
        "mutation": [0.08, 0.15, 0.2, 0.3],
        "step": [0.0, 0.3, 0.6, 0.8],
        "patience": [10, 20, 40, 80],
    },
    "gamma": {
        "population": [12, 20, 30, 50, 80],
        "parents": [0.2, 0.4, 0.6],
        "elite": [0.05, 0.1, 0.2],
        "tile_crossover": [0.3, 0.57, 0.8],
        "reorder": [0.1, 0.2, 0.35, 0.47],
        "tile_mutation": [0.35, 0.53, 0.7],
        "loci": [1, 2, 3, 4],
        "parallel_mutation": [0.05, 0.1, 0.2],
        "small_steps": [0.3, 0.5, 0.7, 0.9],
        "patience": [10, 20, 40, 80],
    },
    "cem": {
        "batch": [15, 30, 50, 80, 120],
        "elite": [0.1, 0.2, 0.3],
        "smoothing": [0.1, 0.2, 0.3, 0.5, 0.7],
        "floor": [0.02, 0.05, 0.1, 0.2],
        "patience": [10, 20, 40],
    },
    "generative": {
        "written": [8, 16, 32, 64, 128],
        "target": [-1.0, -0.5, 0.0, 0.5, 1.0],
        "heat": [0.3, 0.5, 0.7, 1.0, 1.4],
    },
    "gradient": {
        "initial": [8, 16, 24, 48],
        "starts": [4, 8, 16],
        "steps": [6, 12, 24, 48],
        "batch": [2, 4, 8, 16],
        "hidden": [32, 64, 128],
        "epochs": [10, 30, 60, 120],
    },
    "marl": _LEARNING,
    "factored-ppo": _LEARNING,
    "maddpg": _TEAMS,
    "masac": {**_TEAMS, "entropy": [0.003, 0.01, 0.03, 0.05, 0.1, 0.3]},
    "mast": {**_VALUES, "recent": [64, 256, 1024], "rewire_every": [20, 50, 200]},
    "qmix": _VALUES,
    "ppo": _PPO,
    "ppo-categorical": _PPO,
}


_BEGUN: Settings = {
    "agents": "genes",
    "reward": "-log",
    "batch": 64,
    "learning_rate": 0.003,
    "tau": 0.01,
    "discount": 0.95,
    "update_every": 8,
}
_FORMS = ("one-step", "construct", "refine")
FIRST: Mapping[str, list[Settings]] = {
    "a2c": [
        {
            "actions": "categorical",
            "reward": "1/x",
            "envs": 16,
            "steps": 2,
            "learning_rate": 0.003,
            "entropy": 0.1,
            "patience": 2000,
        }
    ],
    "d4pg": [
        {
            "reward": "-log",
            "updates": 1,
            "batch": 128,
            "warm_up": 200,
            "spread": 0.3,
            "learning_rate": 0.001,
            "tau": 1.0,
            "hidden": [64, 64],
            "patience": 1000,
            "actors": 4,
            "update_every": 4,
            "lowest": -3.0,
            "highest": 20.0,
        }
    ],
    "ddpg": [
        {
            "reward": "-log",
            "updates": 2,
            "batch": 32,
            "warm_up": 100,
            "spread": 0.3,
            "learning_rate": 0.001,
            "tau": 0.01,
            "hidden": [64, 64],
            "patience": 4000,
            "envs": 8,
        }
    ],
    "dqn": [
        {
            "reward": "-log",
            "envs": 8,
            "updates": 4,
            "batch": 128,
            "learning_rate": 0.0003,
            "tau": 0.2,
            "discount": 0.9,
            "explored": 0.1,
            "explored_until": 1000,
            "episode_steps": 8,
            "patience": 4000,
        }
    ],
    "maddpg": [{"form": form, **_BEGUN} for form in _FORMS],
    "masac": [{"form": form, **_BEGUN, "entropy": 0.05} for form in _FORMS],
}
"""The first trials, where they are not the defaults as they stand: what was taken before any, in full."""
