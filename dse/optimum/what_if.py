"""What limits a layer on a machine: its proven optimum once more with twice of each resource.

A mapping's own figures do not say it. An optimum takes no more PEs than the off-chip bandwidth can feed, so
that most of its cycles may go to compute where twice the PEs would bring nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.core.domains import domain_of
from dse.core.hardware_figures import ENERGY, RATE, HardwareFigure
from dse.core.objective import parse_objectives
from dse.optimum import certify
from dse.support.errors import InputError

if TYPE_CHECKING:
    from dse.core.certificate import Certificate
    from dse.core.problem import AnyProblem

GAINS = 1.01
"""From which ratio on a resource is said to limit a layer."""


@dataclass(frozen=True)
class WhatIf:
    """The optimum with other values of the figures `names`, as users write them: from `own` to `then`.

    `name` is that of the resource: the figure's, or of several, as in `levels.Buffer energies`.

    `gain` is the least and the most by which the loss falls: the optimum as it is over that with the change.
    They differ where a proof ended at its time limit. Without a certificate, `refused` says why.
    """

    name: str
    names: Sequence[str]
    own: tuple[float, ...]
    then: tuple[float, ...]
    certificate: Certificate | None
    gain: tuple[float, float] | None
    refused: str = ""

    @property
    def limits(self) -> bool:
        """Whether it is known that the change brings 1 % or more."""
        return self.gain is not None and self.gain[0] >= GAINS

    def to_dict(self) -> dict[str, Any]:
        """The same as plain data."""
        found = self.certificate
        return {
            "resource": self.name,
            "figures": {
                name: {"from": own, "to": then}
                for name, own, then in zip(self.names, self.own, self.then, strict=True)
            },
            "status": found.status if found else "refused",
            "loss": found.best.loss if found and found.best else None,
            "lower_bound": found.lower_bound if found else None,
            "gain": list(self.gain) if self.gain else None,
            "reason": self.refused or None,
        }


def what_if(
    problem: AnyProblem,
    base: Certificate,
    time_limit: float | None = None,
    *,
    cache: bool | str | Path = True,
) -> Iterator[WhatIf]:
    """For each resource of the hardware the optimum of `problem` with twice of it, or half, where less is
    better: one after the other, as they are proven. `base` is the optimum as the machine is.

    Energies are asked for where the objective has energy in it. InputError where the cost model's hardware
    has no figures that are known.
    """
    domain = domain_of(problem.model).hardware_figures
    if domain is None:
        raise InputError(f"cost model {problem.model.name!r} is of hardware whose figures are not known")
    # A machine whose words have widths of their own is one in bits, made of what the file says.
    hardware: Any = getattr(problem.accelerator, "stated", None) or problem.accelerator
    figures = domain.figures(hardware, problem.model)
    for resource, names in _asked(figures, problem.objective).items():
        own = {name: float(figures[name].own or 0) for name in names}
        then = {name: _stepped(figures[name], value) for name, value in own.items()}
        before, after = (
            tuple(_in_file(hardware, name, value) for name, value in of.items()) for of in (own, then)
        )
        try:
            machine, model = domain.with_figures(hardware, problem.model, then, hardware.name)
            changed: Any = problem.with_changes(accelerator=machine, cost_model=model)
            if base.tiles != changed.options["tiles"]:
                changed = changed.with_changes(tiles=base.tiles)
            found = certify(changed, time_limit, cache=cache)
        except InputError as error:
            yield WhatIf(resource, names, before, after, None, None, str(error))
            continue
        yield WhatIf(resource, names, before, after, found, _gain(base, found))


def _asked(figures: Mapping[str, HardwareFigure], objective: str) -> dict[str, list[str]]:
    """The figures of each resource that may change the objective: no energy changes cycles, and no rate
    the energy."""
    judged = {figure for one in parse_objectives(objective) for figure in one.figures}
    idle = {kind for kind, needed in ((ENERGY, "energy"), (RATE, "latency")) if needed not in judged}
    asked: dict[str, list[str]] = {}
    for name, figure in figures.items():
        if figure.step is None or not figure.own or figure.kind in idle:
            continue
        if figure.least <= _stepped(figure, figure.own) <= figure.most:
            asked.setdefault(figure.group or name, []).append(name)
    return asked


def _stepped(figure: HardwareFigure, own: float) -> float:
    then = own * float(figure.step or 1)
    return float(int(then)) if figure.whole else then


def _gain(base: Certificate, found: Certificate) -> tuple[float, float] | None:
    if base.best is None or found.best is None:
        return None
    most = base.best.loss / found.lower_bound if found.lower_bound > 0 else float("inf")
    return base.lower_bound / found.best.loss, most


def _in_file(hardware: Any, name: str, value: float) -> float:
    """A figure as a user's file has it: buffers of words of several bits are kept in bits."""
    in_elements = getattr(hardware, "in_elements", None)
    return float(in_elements(name, int(value))) if in_elements and value == int(value) else value
