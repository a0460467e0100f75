"""`zigzag`: ZigZag's cost model (zigzag-dse, an optional library) prices our mappings, in this process.

`pricing` says how a machine and a mapping are told to ZigZag. It has no NoC latency, no energy of the NoC
and no edges: a mapping whose tiles do not divide what they cut is refused. MACs and buffers are as
`loopnest` counts them; there is no power and no area.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version

from dse.core.layer import Layer
from dse.core.reasons import Reason
from dse.domains.clustered.accelerator import Accelerator
from dse.domains.clustered.mapping import Mapping
from dse.domains.clustered.nest import nest
from dse.models.outside.answers import Answer, Refusal, read_answer
from dse.models.outside.model import OutsideModel
from dse.models.zigzag.constants import Constants
from dse.support.errors import InputError, format_exception

LIBRARY = "zigzag-dse"


class ZigZag(OutsideModel):
    """ZigZag's own figures, one mapping at a time, some milliseconds each. `constants` may be replaced."""

    name = "zigzag"
    settings_type = Constants

    def __init__(self, constants: Constants | None = None) -> None:
        """InputError where the library is not installed."""
        self.constants = self.settings = constants or Constants()
        try:
            self.version = f"{LIBRARY} {version(LIBRARY)}"
        except PackageNotFoundError:
            raise InputError(
                f"cost model {self.name!r} needs the library {LIBRARY}; pip install 'dse-arena[zigzag]'"
            ) from None

    def answers(
        self, layer: Layer, accelerator: Accelerator, mappings: list[Mapping]
    ) -> Iterator[tuple[int, Answer]]:
        """What ZigZag makes of each mapping."""
        for place, mapping in enumerate(mappings):
            yield place, self._answer(layer, accelerator, mapping)

    def _answer(self, layer: Layer, accelerator: Accelerator, mapping: Mapping) -> Answer:
        from dse.models.zigzag.pricing import price_mapping

        if not nest(layer, accelerator, mapping).divides:
            return Refusal(Reason.UNEVEN_TILE)
        try:
            found = price_mapping(layer, accelerator, mapping, self.constants)
        except Exception as error:
            return Refusal(Reason.CRASHED, format_exception(error))
        return read_answer({"cycles": math.ceil(found.cycles), "energy_nj": found.energy_pj * 1e-3})
