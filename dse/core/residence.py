"""What a cost model brings to chains: tensors that stay in a level of the hardware, as problems."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol, cast

from dse.core.cost_model import AnyCostModel
from dse.core.layer import Layer
from dse.core.problem import AnyProblem
from dse.support.arrays import FloatArray
from dse.support.errors import InputError


@dataclass(frozen=True)
class Home:
    """The level of the hardware where whole tensors can stay, its `room` in words (or what it counts), the
    tensors that can be held there, and those that it keeps in any case.

    Where the hardware says something by which layers cannot share tiles, `whole_only` is that, in its words.
    """

    level: str
    room: int
    unit: str = "words"
    may_hold: tuple[str, ...] = ("W", "I", "O")
    keeps: tuple[str, ...] = ("W", "I", "O")
    whole_only: str = ""

    def to_dict(self) -> dict[str, Any]:
        """It as plain data."""
        return {name: value for name, value in vars(self).items() if value != ""}

    def refuse_sharing(self, what: str) -> None:
        """InputError where layers cannot share tiles."""
        if self.whole_only:
            known = "known of the latency of a roofline alone"
            raise InputError(f"{what} are {known}: leave out {self.whole_only} of the machine")


@dataclass(frozen=True)
class Rates:
    """What a word costs that comes in, by tensor, and an output's that goes out; and its `bits` of room.

    Tensors that are not `kept` by the home in any case may go by it: they take no room, and come once.
    """

    comes: tuple[float, float, float] = (1.0, 1.0, 1.0)
    goes: float = 1.0
    bits: tuple[int, int, int] = (1, 1, 1)
    kept: frozenset[str] = frozenset("WIO")

    def of(self, tensor: str) -> tuple[float, int]:
        """What a word of it costs that comes, and its room."""
        place = "IWO".index(tensor)
        return self.comes[place], self.bits[place]


@dataclass(frozen=True)
class Phase:
    """A layer, or a part of one, that is run while some tensors stay in the home.

    `held` are those of its own operands (W, I, O) that do; `taken` is the room of all that stay, whoever's
    they are. With `returned` it adds to partial sums of an earlier part.
    """

    layer: Layer
    held: tuple[str, ...] = ()
    taken: int = 0
    returned: bool = False

    def relaxes(self, other: Phase) -> bool:
        """Whether nothing that the other may do costs more here."""
        return (
            self.layer == other.layer
            and set(self.held) >= set(other.held)
            and self.taken <= other.taken
            and self.returned <= other.returned
        )


class SharedTiles(Protocol):
    """What layers that share tiles need to know of the home besides."""

    def demands(self, problem: AnyProblem, mapping: object) -> FloatArray:
        """Cycles that computing and each port of the hardware take, for a mapping: the longest counts."""

    def rates(self, problem: AnyProblem) -> tuple[Rates, tuple[Rates, ...]]:
        """What words that move over the edge of the home cost at least: in J, and in s by each port."""

    def first_visits(self, problem: AnyProblem) -> float:
        """No less than what a first sum costs less than one that comes back, in J a word of an output."""

    def moved(self, problem: AnyProblem, tensor: str, words: int) -> tuple[float, FloatArray]:
        """Energy (nJ) and `demands` of moving words between the home and what is beyond it, once."""


class Residence(Protocol):
    """What tensors that stay on chip mean to problems under a cost model."""

    tiles: SharedTiles | None
    """None where tensors stay whole or not at all."""

    def home(self, problem: AnyProblem) -> Home | None:
        """Where inputs and outputs of layers can stay; None where no level keeps both."""

    def sizes(self, problem: AnyProblem) -> Mapping[str, int]:
        """What each tensor of the problem's layer takes of the home: W, I, O."""

    def problem(self, problem: AnyProblem, phase: Phase) -> AnyProblem | None:
        """The problem of a phase, of a layer of the same kind; None where the room is taken."""

    def roomy(self, problem: AnyProblem) -> AnyProblem:
        """The problem where the home has no limit: of what a phase may do, nothing is left out."""

    def placed(self, problem: AnyProblem, designs: Any) -> Any:
        """Designs of a layer, as they are where its phase's `problem` holds what it does and nothing else."""


def residence_of(model: AnyCostModel) -> Residence | None:
    """What the cost model brings; None where chains are not known."""
    name = model.residence_module
    return cast("Residence", import_module(name).RESIDENCE) if name else None
