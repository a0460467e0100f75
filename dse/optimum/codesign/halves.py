"""Where a box of machines is divided: at the parameter that its bound leaves most of open."""

from __future__ import annotations

import math
from typing import NamedTuple

from dse.domains.codesign.space import Box
from dse.optimum.codesign.machine import Chosen, Structure


class Dearest(NamedTuple):
    """The parameter `at`, the `energy` in nJ that is paid for more of it than its least value, and the value
    that is `needed`.
    """

    at: int
    energy: float
    needed: int


def split_box(structure: Structure, box: Box) -> tuple[Box, Box]:
    """A box in two."""
    at, energy, needed = dearest_parameter(
        structure, box, structure.choose(structure.each(structure.relaxed(box)))
    )
    first, last = box[at]
    # Beyond what is needed, the bound is not too low for the energy.
    end = needed if energy > 0 else last
    values = structure.space.parameters[structure.space.names[at]]
    # At the geometric mean: ranges are of sizes.
    mean = math.sqrt(values[first] * values[end])
    middle = first + sum(value < mean for value in values[first + 1 : end])
    return (*box[:at], (first, middle), *box[at + 1 :]), (*box[:at], (middle + 1, last), *box[at + 1 :])


def dearest_parameter(structure: Structure, box: Box, chosen: Chosen | None) -> Dearest:
    """The parameter whose least value is paid for while the `chosen` mappings need more.

    Where all fit, it is the one that most of a limit, or else the widest range, depends on.
    """
    spread = [place for place, (first, last) in enumerate(box) if first < last]
    needs = structure.least_machine(box, chosen, structure.relaxed(box)) if chosen else None
    effects = {}
    for place in spread:
        if needs and needs[place] > box[place][0]:
            effects[place] = _effect(structure, box, place, chosen, needs[place])
        # Nothing is paid for it: what it changes of limits decides.
        if effects.get(place, (0.0,))[0] <= 0:
            effects[place] = (0.0, *_effect(structure, box, place, None, box[place][1])[1:])
    at = max(spread, key=lambda place: (effects[place], -place))
    return Dearest(at, effects[at][0], needs[at] if needs else box[at][1])


def _effect(
    structure: Structure, box: Box, at: int, chosen: Chosen | None, last: int
) -> tuple[float, float, float]:
    """What a parameter changes up to a value: the mappings' energy, what is limited, its own ratio."""
    first = box[at][0]
    ends = [
        tuple((index, index) if place == at else one for place, one in enumerate(box))
        for index in (first, last)
    ]
    low, high = (structure.prices(end, 0.0)[1:-1] for end in ends)
    mappings = chosen.mappings if chosen else ()
    energy = sum(
        structure.times[place] * count * (dear - cheap)
        for place, mapping in enumerate(mappings)
        for count, cheap, dear in zip(structure.paid_counts(place, mapping, box), low, high, strict=True)
    )
    space = structure.space
    measured = [space.measured(end) for end in ends]
    size = sum((measured[1][name][1] - measured[0][name][1]) / most for name, most in space.limits.items())
    values = space.parameters[space.names[at]]
    return energy, size, values[last] / values[first]
