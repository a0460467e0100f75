"""Settings of teams that learn from replay; light to import, and the same for every such algorithm."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from learners.errors import InputError, positive_number, unknown_name, whole_number
from learners.replay import REPLAYS

# Beyond these, memory ends before the first step.
_MAX_HELD = 10_000_000
_MAX_STEPS, _MAX_UNITS = 100_000, 4096

STUDY: dict[str, Any] = {"replay": "per-agent", "stacked": False, "shared_batch": False}
"""How the study of Gogineni et al. computes; its other settings are the defaults of OffPolicy."""


@dataclass(frozen=True)
class OffPolicy:
    """How a team learns from replay; the numbers are those of the study of Gogineni et al."""

    net_arch: tuple[int, ...] = (64, 64)
    """Units of the hidden layers, ReLU, of actors and critics alike."""
    batch_size: int = 1024
    """Steps in a mini-batch."""
    learning_rate: float = 0.01
    """Adam's, of actors and critics alike."""
    tau: float = 0.01
    """The share of the way to the networks that their targets go after an update."""
    gamma: float = 0.95
    """How much less a reward counts for each step that it is later."""
    buffer_size: int = 1_000_000
    """Steps that the replay holds."""
    train_freq: int = 100
    """Steps between updates; the first is made when a mini-batch is held."""
    max_grad_norm: float = 0.5
    """Length to which an agent's gradient is cut."""
    replay: str = "contiguous"
    """How steps are held and drawn: see learners.replay."""
    stacked: bool = True
    """Whether all agents are updated at once, in batched products, or in turn: the numbers are equal."""
    centralised: bool = True
    """Whether a critic sees what all agents observe and do, or what its own does alone."""
    shared_batch: bool = True
    """Whether all agents learn from one mini-batch, or draw each their own."""

    aliases: ClassVar[Mapping[str, str]] = {
        "hidden": "net_arch",
        "batch": "batch_size",
        "discount": "gamma",
        "capacity": "buffer_size",
        "update_every": "train_freq",
        "max_norm": "max_grad_norm",
    }
    arms: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "per-agent": STUDY,
        "neighbor": STUDY | {"replay": "neighbor"},
        "contiguous": STUDY | {"replay": "contiguous"},
        "stacked": {},
    }
    """What the study compares, how we would hold the same, and how we would compute it."""

    def __post_init__(self) -> None:
        whole_number(self.train_freq, "train_freq")
        whole_number(self.buffer_size, "buffer_size", most=_MAX_HELD)
        whole_number(self.batch_size, "batch_size", most=_MAX_STEPS)
        whole_number(len(self.net_arch), "net_arch: layers", least=0, most=8)
        for units in self.net_arch:
            whole_number(units, "net_arch: units of a layer", most=_MAX_UNITS)
        for name in ("learning_rate", "max_grad_norm"):
            positive_number(getattr(self, name), name)
        for name in ("tau", "gamma"):
            if not 0 <= getattr(self, name) <= 1:
                raise InputError(f"{name} must be between 0 and 1, got {getattr(self, name)}")
        for name in ("stacked", "centralised", "shared_batch"):
            if not isinstance(getattr(self, name), bool):
                raise InputError(f"{name} must be true or false, got {getattr(self, name)!r}")
        if self.replay not in REPLAYS:
            raise unknown_name("replay", self.replay, REPLAYS)
