"""The figures of an accelerator, and the constants of a cost model, as spaces of hardware choose them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from dse.core.cost_model import AnyCostModel
from dse.core.cost_models import with_settings
from dse.core.evaluations import Evaluations
from dse.core.hardware_figures import CAPACITY, ENERGY, HALF, RATE, STRUCTURE, TWICE, HardwareFigure
from dse.core.model_settings import RANGE, ModelConstants
from dse.domains.clustered.accelerator import CLOCK_GHZ, MACHINE_FIGURES, MAX_FIGURE, MAX_PES, Accelerator
from dse.domains.clustered.mapping import MappingBatch
from dse.support.arrays import FloatArray, IntArray

PE_UM2 = 4470.0
L2_BANK, L2_BANK_UM2 = 32_768, 4161.536
L1_BANK, L1_BANK_UM2 = 64, 4505.1889


def environment_area(num_pes: IntArray, l1_size: IntArray, l2_size: IntArray) -> FloatArray:
    """The area in um2 of that many PEs, with the banks that hold so much.

    The public environment around MAESTRO, ArchGym's, minimises it, and not MAESTRO's own column: a PE, a bank
    of L2 for every 32,768 of what L2 must hold, and a bank of L1 in each PE for every 64 of what it must
    hold. L1 and L2 are as MAESTRO prints them, double buffering included.
    """
    l1_banks, l2_banks = -(-l1_size // L1_BANK), -(-l2_size // L2_BANK)
    area: FloatArray = num_pes * PE_UM2 + l2_banks * L2_BANK_UM2 + l1_banks * L1_BANK_UM2 * num_pes
    return area


SIZES = ("l1_size", "l2_size")
BANDWIDTHS = ("noc_bandwidth", "offchip_bandwidth")
SOUND = "loopnest"
"""The cost model whose areas, and energies by count, are known."""
CONSTANTS = "constants."
DIGAMMA_PE_UM2, DIGAMMA_BIT_UM2 = 282, 0.086
"""Kao et al., "DiGamma: Domain-aware Genetic Algorithm for HW-Mapping Co-optimization for DNN Accelerators",
DATE 2022."""


class ClusteredFigures:
    """HardwareFigures: those of an Accelerator and, as `constants.l2_pj`, energies of the cost model."""

    def figures(self, hardware: Accelerator, model: AnyCostModel) -> Mapping[str, HardwareFigure]:
        found = {}
        for name in MACHINE_FIGURES:
            kind = CAPACITY if name in SIZES else STRUCTURE
            if name in BANDWIDTHS and name in getattr(model, "rates", ()):
                kind = RATE
            least, most = CLOCK_GHZ if name == "clock_ghz" else (int(name != "noc_latency"), MAX_FIGURE)
            most = MAX_PES if name == "num_pes" else most
            step = {"clock_ghz": None, "noc_latency": HALF}.get(name, TWICE)
            found[name] = HardwareFigure(
                kind, getattr(hardware, name), least, most, name != "clock_ghz", step=step
            )
        for name, value in _energies(model).items():
            found[CONSTANTS + name] = HardwareFigure(
                ENERGY, value, *RANGE, by_size=_BY_SIZE.get(name), step=HALF
            )
        return found

    def formulas(self, model: AnyCostModel, word_bits: int) -> Mapping[str, Mapping[str, str]]:
        """See HardwareFigures: `loopnest`'s own, that of ArchGym's MAESTRO, and DiGamma's."""
        digamma = (
            f"(num_pes * {DIGAMMA_PE_UM2} + (num_pes * l1_size + l2_size) * {word_bits * DIGAMMA_BIT_UM2!r}) "
            "* 0.000001"
        )
        maestro = (
            f"(num_pes * {PE_UM2!r} + ceil(l2_size / {L2_BANK}) * {L2_BANK_UM2!r} + "
            f"ceil(l1_size / {L1_BANK}) * {L1_BANK_UM2!r} * num_pes) * 0.000001"
        )
        area, leakage = {"digamma": digamma, "maestro": maestro}, {}
        given = _constants(model)
        if model.name == SOUND and given is not None:
            mac, element = given.mac_um2, given.element_um2
            pe = f"simd_lanes * {mac!r} + l1_size * {element!r}"
            area[SOUND] = f"(num_pes * ({pe}) + l2_size * {element!r}) * 0.000001"
            leakage[SOUND] = f"{area[SOUND]} * {given.leakage_mw_per_mm2!r}"
        return {"area_mm2": area, "leakage_mw": leakage}

    def with_figures(
        self, hardware: Accelerator, model: AnyCostModel, values: Mapping[str, float], name: str
    ) -> tuple[Accelerator, AnyCostModel]:
        own: dict[str, Any] = {
            key: value if key == "clock_ghz" else int(value)
            for key, value in values.items()
            if key in MACHINE_FIGURES
        }
        constants = {
            key.removeprefix(CONSTANTS): float(value)
            for key, value in values.items()
            if key.startswith(CONSTANTS)
        }
        if constants:
            settings: Any = replace(_constants(model), **constants)
            model = with_settings(type(model), settings)
        return replace(hardware, name=name, **own), model

    def price(self, problem: Any, mappings: Sequence[Any]) -> Evaluations:
        found: Evaluations = problem.evaluate(MappingBatch.of(list(mappings)))
        return found

    def needs(self, problem: Any, mapping: Any) -> Mapping[str, int]:
        priced, machine = problem.evaluate(mapping), problem.accelerator
        return {name: machine.in_elements(name, int(getattr(priced, name)[0])) for name in SIZES}


_BY_SIZE = {
    "l1_pj": "constants.mac_pj * sram_pj(l1_size, 16)",
    "l2_pj": "constants.mac_pj * sram_pj(l2_size, 16)",
}
"""Eyeriss's table has energies over that of a MAC: the line through its points (see `sram_pj`)."""


def _constants(model: Any) -> Any:
    found = getattr(model, "constants", None)
    return found if isinstance(found, ModelConstants) else None


def _energies(model: AnyCostModel) -> dict[str, float]:
    """The constants in pJ, by name, of the model whose energy is a sum of counts times them."""
    given = _constants(model)
    if model.name != SOUND or given is None:
        return {}
    return {item.name: getattr(given, item.name) for item in fields(given) if item.name.endswith("_pj")}
