"""What a team has learned: networks that are done with learning, and files that hold them.

A saved policy is a folder: `policy.safetensors` has the weights, `policy.json` says what they are. No pickle.
One in few bits is saved in few bits. Whatever learns may save its policy this way: it says in which of the
heads the networks end, and what stands between their layers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
import torch
from pydantic import Field

from learners.arrays import SingleArray
from learners.errors import InputError, short_repr, unknown_name
from learners.heads import Choices, Head, Levels, Normals, SquashedNormals
from learners.networks import ACTIVATIONS, Networks
from learners.phases import Phases, measure_nothing
from learners.plain_data import import_safetensors, read_bounded, read_table, value_as_type, write_whole
from learners.quantised import Precision, QuantisedWeights
from learners.quantised_networks import QuantisedNetworks, quantised_networks
from learners.replay import Transitions
from learners.team import Team

FORMAT = "dse-policy-1"
WEIGHTS, DESCRIPTION = "policy.safetensors", "policy.json"
_MAX_TEXT, _MAX_BYTES = 16 << 20, 1 << 30


@dataclass(frozen=True)
class _Description:
    """What the description of a policy must have; there may be keys that this version does not know."""

    __pydantic_config__: ClassVar[Any] = {"strict": True, "extra": "ignore"}

    algorithm: str
    head: str
    activation: str
    agents: list[str]
    observed: Annotated[int, Field(ge=1)]
    discrete: bool
    real: list[list[list[bool]]]
    low: list[Any] | None
    high: list[Any] | None
    weights: dict[str, list[int]]
    about: dict[str, Any]
    precision: dict[str, Any] = field(default_factory=dict)


HEADS: dict[str, type[Any]] = {
    "choices": Choices,
    "levels": Levels,
    "normals": Normals,
    "squashed-normals": SquashedNormals,
}


@dataclass(frozen=True)
class Policy:
    """Actors of the team, with the algorithm that trained them."""

    algorithm: str
    team: Team
    head: Head
    actors: Networks

    def act(self, observations: SingleArray, rng: np.random.Generator | None = None) -> SingleArray:
        """Actions (agents, width): those to try, or without `rng` those that are best by the policy."""
        with torch.no_grad():
            outputs = self.actors(torch.from_numpy(observations)[:, None])
            if rng is None:
                chosen = self.head.greedy(outputs)
            else:
                chosen = self.head.explore(outputs, self.head.noise(rng, len(outputs), 1))
            actions: SingleArray = chosen[:, 0].numpy()
            return actions

    def quantised(self, precision: Precision) -> Policy:
        """The same policy with what such a precision leaves of its networks."""
        return replace(self, actors=quantised_networks(self.actors, precision))


@dataclass(frozen=True)
class Frozen:
    """An algorithm whose teams act by a policy and learn nothing more."""

    policy: Policy

    def begin(self, team: Team, rng: np.random.Generator, phases: Phases = measure_nothing) -> FrozenLearner:
        """The policy in an environment. InputError where its agents are not those that the policy is for."""
        self.policy.team.refuse_other(team)
        return FrozenLearner(self.policy, rng)


class FrozenLearner:
    """A team that acts by a policy."""

    def __init__(self, policy: Policy, rng: np.random.Generator) -> None:
        self._policy, (self._rng,) = policy, rng.spawn(1)

    def act(self, observations: SingleArray) -> SingleArray:
        """Actions drawn: (agents, width)."""
        return self._policy.act(observations, self._rng)

    def learn(self, step: Transitions) -> None:
        """Nothing is learned."""

    def policy(self) -> Policy:
        """The policy that it has been all along."""
        return self._policy


@dataclass(frozen=True)
class SavedPolicy:
    """A policy from a folder, what is said `about` it, and a SHA-256 of both files."""

    policy: Policy
    about: dict[str, Any]
    digest: str


def save_policy(policy: Policy, folder: Path, about: dict[str, Any] | None = None) -> None:
    """Write the policy to a folder, with what else there is to say `about` it in plain data.

    OSError where it cannot be written.
    """
    save = import_safetensors().save
    weights = stored_weights(policy.actors)
    team = policy.team
    description = {
        "format": FORMAT,
        "algorithm": policy.algorithm,
        "head": next(name for name, made in HEADS.items() if type(policy.head) is made),
        "activation": policy.actors.activation,
        "agents": list(team.names),
        "observed": team.observed,
        "discrete": team.discrete,
        "real": team.real.tolist(),
        "low": None if team.low is None else team.low.tolist(),
        "high": None if team.high is None else team.high.tolist(),
        "weights": {name: list(weight.shape) for name, weight in weights.items()},
        "about": about or {},
    }
    if isinstance(policy.actors, QuantisedNetworks):
        description["precision"] = asdict(policy.actors.precision)
    text = json.dumps(description, indent=1, allow_nan=False) + "\n"
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / WEIGHTS, save(weights))
    write_whole(folder / DESCRIPTION, text.encode())


def load_policy(folder: Path) -> SavedPolicy:
    """The policy that a folder holds. InputError, in one line, if it holds none."""
    load = import_safetensors().load
    where = f"policy {str(folder)!r}"
    try:
        description = read_bounded(folder / DESCRIPTION, where, _MAX_TEXT)
        content = read_bounded(folder / WEIGHTS, where, _MAX_BYTES)
        place = f"{where}: {DESCRIPTION}"
        described = read_table(description, place)
        if described.get("format") != FORMAT:
            raise InputError(f"{place}: format must be {FORMAT!r}, got {short_repr(described.get('format'))}")
        value_as_type(described, _Description, place)
        weights = load(content)
        shapes = {name: list(weight.shape) for name, weight in weights.items()}
        if shapes != described["weights"]:
            raise InputError(f"{where}: the weights are not those that {DESCRIPTION} describes")
        team = _team(described)
        head = _head(described["head"], team, where)
        actors = _actors(weights, described, where)
        _refuse_misfit(actors.arrays(), team, head, where)
        policy = Policy(str(described["algorithm"]), team, head, actors)
        return SavedPolicy(policy, dict(described["about"]), sha256(description + content).hexdigest())
    except OSError as error:
        raise InputError(f"{where} cannot be read: {error.strerror}") from None
    except InputError:
        raise
    except Exception as error:
        said = " ".join(str(error).split())
        raise InputError(f"{where} is damaged: {type(error).__name__}: {said}") from None


def stored_weights(actors: Networks) -> dict[str, np.ndarray[Any, Any]]:
    """What of the networks a file holds, by name."""
    if isinstance(actors, QuantisedNetworks):
        return actors.quantised.arrays()
    return {f"actor.{place}": weight for place, weight in enumerate(actors.arrays())}


def _team(described: Mapping[str, Any]) -> Team:
    ends = [
        None if (end := described[name]) is None else np.array(end, np.float32) for name in ("low", "high")
    ]
    real = np.array(described["real"], np.bool_)
    names = tuple(str(name) for name in described["agents"])
    team = Team(names, int(described["observed"]), bool(described["discrete"]), real, *ends)
    if real.ndim != 3 or len(real) != len(names) or team.discrete != (ends[0] is None):
        raise ValueError("the agents and what they choose do not fit together")
    return team


def _head(name: str, team: Team, where: str) -> Head:
    if name not in HEADS:
        raise unknown_name("head", name, HEADS, where)
    if (name == "choices") != team.discrete:
        raise ValueError(f"head {name!r} does not make such actions")
    made: Head = HEADS[name](team.real if name == "choices" else team.width)
    return made


def _actors(weights: dict[str, Any], described: Mapping[str, Any], where: str) -> Networks:
    activation = described["activation"]
    if activation not in ACTIVATIONS:
        raise unknown_name("activation", activation, ACTIVATIONS, where)
    if "precision" in described:
        few, precision = QuantisedWeights.of_arrays(weights), Precision(**described["precision"])
        made = QuantisedNetworks(few, activation, precision)
        _refuse_other_numbers(made.arrays(), where)
        return made
    ordered = [weights[f"actor.{place}"] for place in range(len(weights))]
    _refuse_other_numbers(ordered, where)
    return Networks([torch.from_numpy(weight.copy()) for weight in ordered], activation)


def _refuse_other_numbers(weights: list[SingleArray], where: str) -> None:
    for weight in weights:
        if weight.dtype != np.float32 or not np.isfinite(weight).all():
            raise InputError(f"{where}: weights must be finite single-precision numbers")


def _refuse_misfit(weights: list[SingleArray], team: Team, head: Head, where: str) -> None:
    """Refuse networks whose layers do not lead from what is observed to what the head takes."""
    agents, width = len(team.names), team.observed
    for matrix, bias in zip(weights[::2], weights[1::2], strict=True):
        if matrix.shape[:2] != (agents, width) or bias.shape != (agents, 1, *matrix.shape[2:]):
            raise InputError(f"{where}: the layers of its networks do not fit onto each other")
        width = matrix.shape[2]
    if not weights or width != head.outputs:
        raise InputError(
            f"{where}: its networks give {width} numbers, {head.outputs} are needed for an action"
        )
