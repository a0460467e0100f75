"""Trains a policy on a Gymnasium task, and saves it: `python -m experiments.learners.train dqn CartPole-v1`.

    python -m experiments.learners.train ppo CartPole-v1 --seed 1 --steps 50000 --out taught
    python -m experiments.learners.train d4pg Pendulum-v1 --set exploration_noise=0.3

`a2c`, `ddpg`, `dqn` and `ppo` are stable-baselines3's, with the settings of rl-baselines3-zoo where the table
below has them; `d4pg` is ours. A policy on mappings comes from `dse search --save-policy`.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from dse.search.searcher import parse_settings
from learners.gymnasium_tasks import ALGORITHMS, episode_returns, train_policy
from learners.plain_data import import_safetensors
from learners.policy import load_policy, save_policy

SCALED_CAR = "learners.scaled_tasks:MountainCarContinuousScaled-v0"
_STATE_NOISE: dict[str, Any] = {
    "use_sde": True,
    "sde_sample_freq": 16,
    "policy_kwargs": {"log_std_init": 0.0, "ortho_init": False},
}
SETTINGS: dict[tuple[str, str], dict[str, Any]] = {
    ("a2c", "CartPole-v1"): {"n_envs": 8},
    ("a2c", "Acrobot-v1"): {"n_envs": 16, "gamma": 0.99},
    ("ppo", "CartPole-v1"): {
        "n_envs": 8,
        "n_steps": 32,
        "batch_size": 256,
        "n_epochs": 20,
        "gamma": 0.98,
        "gae_lambda": 0.8,
        "learning_rate": 0.001,
    },
    ("ppo", "Acrobot-v1"): {"n_envs": 16, "n_steps": 256, "n_epochs": 4, "gae_lambda": 0.94},
    ("ppo", "Pendulum-v1"): {
        "n_envs": 4,
        "n_steps": 1024,
        "gamma": 0.9,
        "gae_lambda": 0.95,
        "learning_rate": 0.001,
    },
    ("dqn", "CartPole-v1"): {
        "learning_rate": 0.0023,
        "batch_size": 64,
        "buffer_size": 100_000,
        "learning_starts": 1000,
        "target_update_interval": 10,
        "train_freq": 256,
        "gradient_steps": 128,
        "exploration_fraction": 0.16,
        "exploration_final_eps": 0.04,
        "net_arch": [256, 256],
    },
    ("dqn", "MountainCar-v0"): {
        "learning_rate": 0.004,
        "batch_size": 128,
        "buffer_size": 10_000,
        "learning_starts": 1000,
        "gamma": 0.98,
        "target_update_interval": 600,
        "train_freq": 16,
        "gradient_steps": 8,
        "exploration_fraction": 0.2,
        "exploration_final_eps": 0.07,
        "net_arch": [256, 256],
    },
    ("dqn", "Acrobot-v1"): {
        "learning_rate": 0.00063,
        "batch_size": 128,
        "buffer_size": 50_000,
        "learning_starts": 0,
        "target_update_interval": 250,
        "train_freq": 4,
        "gradient_steps": -1,
        "exploration_fraction": 0.12,
        "exploration_final_eps": 0.1,
        "net_arch": [256, 256],
    },
    ("ddpg", "Pendulum-v1"): {
        "learning_rate": 0.001,
        "gamma": 0.98,
        "action_noise": 0.1,
        "net_arch": [64, 64],
    },
    ("d4pg", "Pendulum-v1"): {
        "net_arch": [64, 64],
        "critic_net_arch": [64, 64],
        "v_min": -1000.0,
        "v_max": 0.0,
        "n_steps": 3,
        "tau": 0.005,
        "gamma": 0.98,
        "batch_size": 64,
        "train_freq": 1,
        "learning_rate": 0.001,
    },
    ("a2c", SCALED_CAR): {"n_envs": 4, "scaled_rewards": True, **_STATE_NOISE},
    ("ppo", SCALED_CAR): {
        "n_envs": 4,
        "scaled_rewards": True,
        "n_steps": 512,
        "batch_size": 256,
        "gamma": 0.9999,
        "gae_lambda": 0.9,
        **_STATE_NOISE,
    },
    ("ddpg", "MountainCarContinuous-v0"): {
        "learning_rate": 0.001,
        "learning_starts": 1000,
        "action_noise": 0.5,
        "correlated": True,
        "net_arch": [64, 64],
    },
}
"""By algorithm and task; what they mean is in learners.gymnasium_tasks."""


def main() -> None:
    """Train, save, load, and say what the policy earns."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("algorithm", choices=ALGORITHMS)
    parser.add_argument("task", help="a Gymnasium task, such as CartPole-v1")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=50_000)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", dest="settings")
    parser.add_argument("--episodes", type=int, default=20, help="episodes that it is judged by")
    parser.add_argument("--out", type=Path, help="the folder for the policy; by default TASK-ALGORITHM-SEED")
    options = parser.parse_args()
    import_safetensors()  # What saves policies is to be there before they are taught.
    folder = options.out or Path(f"{options.task}-{options.algorithm}-{options.seed}")
    algorithm, task, steps, seed = options.algorithm, options.task, options.steps, options.seed
    settings = SETTINGS.get((algorithm, task), {}) | parse_settings(options.settings)
    policy = train_policy(algorithm, task, steps, seed, settings)
    about = {"task": task, "seed": seed, "samples": steps, "settings": settings}
    save_policy(policy, folder, about)
    earned = episode_returns(load_policy(folder).policy, task, options.episodes, seed)
    print(
        f"{folder}: mean return of {len(earned)} episodes {earned.mean():.1f}, deviation {earned.std():.1f}"
    )


if __name__ == "__main__":
    main()
