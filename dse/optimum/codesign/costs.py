"""What the known mappings of a layer cost on a machine, each priced once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from dse.core.domains import make_problem
from dse.core.hardware_figures import HardwareFigures
from dse.core.layer import Layer
from dse.domains.codesign.space import Priced


@dataclass
class Costs:
    """Energies in nJ and cycles of those of the first `seen` mappings that a machine can run, and these."""

    machine: Priced
    seen: int = 0
    energies: list[float] = field(default_factory=list)
    cycles: list[int] = field(default_factory=list)
    mappings: list[Any] = field(default_factory=list)

    def learn(self, layer: Layer, domain: HardwareFigures, mappings: Sequence[Any]) -> None:
        """Price the mappings of a layer that follow."""
        problem = make_problem(layer, self.machine.hardware, "energy", self.machine.model)
        found = domain.price(problem, mappings)
        fits = (found.reason == 0).nonzero()[0].tolist()
        self.seen += len(mappings)
        self.energies += found.energy_nj[fits].tolist()
        self.cycles += found.cycles[fits].tolist()
        self.mappings += [mappings[at] for at in fits]


def whole(number: float) -> float:
    """A number, as an int where it is one: of networks by shares, cycles need not be whole."""
    return int(number) if number == int(number) else number
