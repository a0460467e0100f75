"""What each searcher's trials are drawn from, and which come first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Settings = dict[str, Any]

_LEARNING = {
    "batch_size": [16, 24, 32, 48, 64, 96],
    "n_epochs": [1, 2, 3, 5, 8],
    "learning_rate": [0.01, 0.02, 0.03, 0.05, 0.08],
    "clip_range": [0.1, 0.2, 0.3, 0.5],
    "ent_coef": [0.0, 0.003, 0.01, 0.03, 0.1],
    "hidden": [8, 16, 32],
    "elite": [0.15, 0.25, 0.4],
    "patience": [500, 1000, 2000],
}
_PPO = {
    "reward": ["1/x", "-log"],
    "n_envs": [16, 32, 64, 128],
    "n_steps": [1, 2, 4, 8],
    "n_minibatches": [1, 2, 4],
    "n_epochs": [5, 10, 20],
    "learning_rate": [0.001, 0.003, 0.005, 0.01, 0.02],
    "ent_coef": [0.0, 0.003, 0.01, 0.03, 0.05, 0.1],
    "clip_range": [0.1, 0.2, 0.3],
    "patience": [1000, 2000, 4000],
}
_TEAMS = {
    "form": ["one-step", "construct", "refine"],
    "agents": ["genes", "blocks"],
    "reward": ["1/x", "-log"],
    "batch_size": [32, 64, 128, 256],
    "learning_rate": [0.001, 0.003, 0.01, 0.03],
    "tau": [0.01, 0.05, 0.2],
    "gamma": [0.0, 0.5, 0.9, 0.95],
    "train_freq": [4, 8, 16],
}
_OFTEN = {**_TEAMS, "batch_size": [32, 64, 128], "train_freq": [1, 2]}
"""First updates after a mini-batch of 32 to 128 samples, and one for each sample or two."""
_CRITICS = {
    "reward": ["1/x", "-log"],
    "gradient_steps": [1, 2, 4, 8],
    "batch_size": [32, 64, 128],
    "learning_starts": [50, 100, 200, 500],
    "action_noise": [0.05, 0.1, 0.2, 0.4],
    "learning_rate": [0.0003, 0.001, 0.003],
    "tau": [0.01, 0.05, 0.2, 1.0],
    "net_arch": [[64, 64], [128, 128]],
    "patience": [300, 600, 1200, 4000],
}
_VALUES = {
    "agents": ["genes", "blocks"],
    "mixing": ["qmix", "vdn"],
    "reward": ["1/x", "-log"],
    "batch_size": [16, 32, 64],
    "learning_rate": [0.0005, 0.001, 0.002, 0.005],
    "train_freq": [2, 4, 8],
    "gamma": [0.0, 0.3, 0.5, 0.8, 0.95],
    "exploration_final_eps": [0.05, 0.1, 0.2, 0.3, 0.5],
    "exploration_steps": [100, 300, 1000],
}
_ENTROPY = [0.003, 0.01, 0.03, 0.05, 0.1, 0.3]
RANGES: Mapping[str, Mapping[str, Sequence[Any]]] = {
    "a2c": {
        "actions": ["gaussian", "categorical"],
        "reward": ["1/x", "-log"],
        "n_envs": [8, 16, 32, 64],
        "n_steps": [1, 2, 4],
        "learning_rate": [0.001, 0.003, 0.01, 0.03],
        "ent_coef": [0.0, 0.003, 0.01, 0.03, 0.1],
        "patience": [500, 1000, 2000, 4000],
    },
    "d4pg": {
        **_CRITICS,
        "actors": [1, 4, 8, 16],
        "train_freq": [1, 2, 4, 8],
        "v_min": [-3.0, -1.0],
        "v_max": [4.0, 9.0, 20.0],
    },
    "ddpg": {**_CRITICS, "n_envs": [1, 4, 8, 16]},
    "dqn": {
        "reward": ["1/x", "-log"],
        "n_envs": [1, 4, 8, 16, 32],
        "gradient_steps": [1, 2, 4, 8],
        "batch_size": [32, 64, 128],
        "learning_rate": [0.0003, 0.001, 0.003],
        "tau": [0.01, 0.05, 0.2],
        "gamma": [0.0, 0.5, 0.8, 0.95],
        "exploration_final_eps": [0.02, 0.05, 0.1, 0.2],
        "exploration_steps": [100, 300, 1000],
        "episode_steps": [8, 32, 128, 512],
        "patience": [500, 1000, 4000],
    },
    "bayesian": {
        "n_startup_trials": [10, 20, 30, 50],
        "max_training_samples": [150, 200, 300],
        "batch_fraction": [0.01, 0.02, 0.04],
        "late_batch_fraction": [0.005, 0.0075, 0.015],
        "patience": [50, 100, 200],
        "refit_growth": [1.5, 2.0, 3.0],
    },
    "genetic": {
        "population_size": [20, 30, 50, 80, 120],
        "elite": [1, 2, 4, 8],
        "tournament_size": [2, 3, 5, 8],
        "crossover_prob": [0.3, 0.6, 0.8, 0.95],
        "swapping_prob": [0.2, 0.35, 0.5],
        "mutation_prob": [0.08, 0.15, 0.2, 0.3],
        "step_prob": [0.0, 0.3, 0.6, 0.8],
        "patience": [10, 20, 40, 80],
    },
    "gamma": {
        "population_size": [12, 20, 30, 50, 80],
        "parents": [0.2, 0.4, 0.6],
        "elite": [0.05, 0.1, 0.2],
        "tile_crossover_prob": [0.3, 0.57, 0.8],
        "reorder_prob": [0.1, 0.2, 0.35, 0.47],
        "tile_mutation_prob": [0.35, 0.53, 0.7],
        "loci": [1, 2, 3, 4],
        "parallel_mutation_prob": [0.05, 0.1, 0.2],
        "small_step_prob": [0.3, 0.5, 0.7, 0.9],
        "patience": [10, 20, 40, 80],
    },
    "cem": {
        "batch_size": [15, 30, 50, 80, 120],
        "elite": [0.1, 0.2, 0.3],
        "smoothing": [0.1, 0.2, 0.3, 0.5, 0.7],
        "floor": [0.02, 0.05, 0.1, 0.2],
        "patience": [10, 20, 40],
    },
    "generative": {
        "n_generated": [8, 16, 32, 64, 128],
        "target": [-1.0, -0.5, 0.0, 0.5, 1.0],
        "temperature": [0.3, 0.5, 0.7, 1.0, 1.4],
    },
    "gradient": {
        "n_startup_trials": [8, 16, 24, 48],
        "n_descents": [4, 8, 16],
        "descent_steps": [6, 12, 24, 48],
        "batch_size": [2, 4, 8, 16],
        "hidden": [32, 64, 128],
        "gradient_steps": [10, 30, 60, 120],
    },
    "marl": _LEARNING,
    "factored-ppo": _LEARNING,
    "maddpg": _TEAMS,
    "maddpg-often": _OFTEN,
    "masac": {**_TEAMS, "ent_coef": _ENTROPY},
    "masac-often": {**_OFTEN, "ent_coef": _ENTROPY},
    "mast": {**_VALUES, "recent_buffer_size": [64, 256, 1024], "rewire_every": [20, 50, 200]},
    "qmix": _VALUES,
    "ppo": _PPO,
    "ppo-categorical": _PPO,
}


_FIRST_TEAM: Settings = {
    "agents": "genes",
    "reward": "-log",
    "batch_size": 64,
    "learning_rate": 0.003,
    "tau": 0.01,
    "gamma": 0.95,
    "train_freq": 8,
}
_FORMS = ("one-step", "construct", "refine")
FIRST: Mapping[str, list[Settings]] = {
    "a2c": [
        {
            "actions": "categorical",
            "reward": "1/x",
            "n_envs": 16,
            "n_steps": 2,
            "learning_rate": 0.003,
            "ent_coef": 0.1,
            "patience": 2000,
        }
    ],
    "d4pg": [
        {
            "reward": "-log",
            "gradient_steps": 1,
            "batch_size": 128,
            "learning_starts": 200,
            "action_noise": 0.3,
            "learning_rate": 0.001,
            "tau": 1.0,
            "net_arch": [64, 64],
            "patience": 1000,
            "actors": 4,
            "train_freq": 4,
            "v_min": -3.0,
            "v_max": 20.0,
        }
    ],
    "ddpg": [
        {
            "reward": "-log",
            "gradient_steps": 2,
            "batch_size": 32,
            "learning_starts": 100,
            "action_noise": 0.3,
            "learning_rate": 0.001,
            "tau": 0.01,
            "net_arch": [64, 64],
            "patience": 4000,
            "n_envs": 8,
        }
    ],
    "dqn": [
        {
            "reward": "-log",
            "n_envs": 8,
            "gradient_steps": 4,
            "batch_size": 128,
            "learning_rate": 0.0003,
            "tau": 0.2,
            "gamma": 0.9,
            "exploration_final_eps": 0.1,
            "exploration_steps": 1000,
            "episode_steps": 8,
            "patience": 4000,
        }
    ],
    "maddpg": [{"form": form, **_FIRST_TEAM} for form in _FORMS],
    "maddpg-often": [
        {
            "form": "refine",
            "agents": "genes",
            "reward": "1/x",
            "batch_size": 256,
            "learning_rate": 0.03,
            "tau": 0.2,
            "gamma": 0.5,
            "train_freq": 4,
        }
    ],
    "masac": [{"form": form, **_FIRST_TEAM, "ent_coef": 0.05} for form in _FORMS],
    "masac-often": [
        {
            "form": "construct",
            "agents": "genes",
            "reward": "-log",
            "batch_size": 32,
            "learning_rate": 0.03,
            "tau": 0.01,
            "gamma": 0.5,
            "train_freq": 8,
            "ent_coef": 0.1,
        }
    ],
}
"""The first trials, where they are not the defaults as they stand: what was taken before any, in full."""
VARIANTS: Mapping[str, tuple[str, Settings]] = {
    "maddpg-often": ("maddpg", {}),
    "masac-often": ("masac", {}),
    "ppo-categorical": ("ppo", {"actions": "categorical"}),
}
"""Names that are no searcher's: which it is, and what is set in all trials."""
