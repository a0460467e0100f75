"""What a team has learned: networks that are done with learning, and files that hold them.

A saved policy is a folder: `policy.safetensors` has the weights, `policy.json` says what they are. No pickle.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from dse.support.arrays import SingleArray
from dse.support.errors import InputError
from dse.support.files import make_folder, read_bounded, write_json, write_whole
from learners.heads import Choices, Head, Levels, SquashedNormals
from learners.networks import Networks
from learners.team import Team

FORMAT = "dse-policy-1"
_WEIGHTS, _DESCRIPTION = "policy.safetensors", "policy.json"
_MOST_BYTES = 1 << 30


@dataclass(frozen=True)
class Policy:
    """Actors of the team, with the algorithm that trained them."""

    algorithm: str
    team: Team
    head: Head
    actors: Networks

    def act(self, observations: SingleArray, rng: np.random.Generator | None = None) -> SingleArray:
        """Actions (agents, width): drawn, or without `rng` those that are best by the policy."""
        with torch.no_grad():
            outputs = self.actors(torch.from_numpy(observations)[:, None])
            if rng is None:
                chosen = self.head.greedy(outputs)
            else:
                chosen = self.head.draw(outputs, self.head.noise(rng, len(outputs), 1)).actions
            actions: SingleArray = chosen[:, 0].numpy()
            return actions


def save_policy(policy: Policy, folder: Path, about: dict[str, Any] | None = None) -> None:
    """Write the policy to a folder, with what else there is to say `about` it in plain data."""
    save = _safetensors().save
    weights = {f"actor.{place}": weight for place, weight in enumerate(policy.actors.arrays())}
    team = policy.team
    description = {
        "format": FORMAT,
        "algorithm": policy.algorithm,
        "head": next(name for name, made in _HEADS.items() if isinstance(policy.head, made)),
        "agents": list(team.names),
        "observed": team.observed,
        "discrete": team.discrete,
        "real": team.real.tolist(),
        "low": None if team.low is None else team.low.tolist(),
        "high": None if team.high is None else team.high.tolist(),
        "weights": {name: list(weight.shape) for name, weight in weights.items()},
        "about": about or {},
    }
    make_folder(folder)
    write_whole(folder / _WEIGHTS, save(weights), "policy")
    write_json(folder / _DESCRIPTION, description, "policy")


def load_policy(folder: Path) -> tuple[Policy, dict[str, Any]]:
    """The policy that a folder holds, and what is said `about` it. InputError if it holds none."""
    load = _safetensors().load
    where = f"policy {str(folder)!r}"
    try:
        described = json.loads(read_bounded(folder / _DESCRIPTION, where))
        weights = load(read_bounded(folder / _WEIGHTS, where, _MOST_BYTES))
        if described["format"] != FORMAT:
            raise InputError(f"{where} is of the format {described['format']!r}, expected {FORMAT!r}")
        shapes = {name: list(weight.shape) for name, weight in weights.items()}
        if shapes != described["weights"]:
            raise InputError(f"{where}: the weights are not those that {_DESCRIPTION} describes")
        ends = [
            None if described[end] is None else np.array(described[end], np.float32)
            for end in ("low", "high")
        ]
        real = np.array(described["real"], np.bool_)
        team = Team(tuple(described["agents"]), described["observed"], described["discrete"], real, *ends)
        ordered = [weights[f"actor.{place}"] for place in range(len(weights))]
        return Policy(
            described["algorithm"], team, _head(described["head"], team), _networks(ordered, where)
        ), described["about"]
    except OSError as error:
        raise InputError(f"{where} cannot be read: {error.strerror}") from None
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"{where} is damaged: {type(error).__name__}: {error}") from None


_HEADS: dict[str, type[Any]] = {"choices": Choices, "levels": Levels, "squashed-normals": SquashedNormals}


def _head(name: str, team: Team) -> Head:
    made: Head = _HEADS[name](team.real if name == "choices" else team.width)
    return made


def _networks(weights: list[SingleArray], where: str) -> Networks:
    for weight in weights:
        if weight.dtype != np.float32 or not np.isfinite(weight).all():
            raise InputError(f"{where}: weights must be finite single-precision numbers")
    return Networks([torch.from_numpy(weight.copy()) for weight in weights])


def _safetensors() -> Any:
    try:
        import safetensors.numpy
    except ImportError:
        raise InputError("saved policies need safetensors: pip install 'dse-arena[learners]'") from None
    return safetensors.numpy
