"""The figures of a machine of levels, as spaces of hardware choose them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from dse.core.cost_model import AnyCostModel
from dse.core.evaluations import Evaluations
from dse.core.hardware_figures import CAPACITY, ENERGY, HALF, RATE, STRUCTURE, TWICE, HardwareFigure
from dse.domains.levels.checks import MAX_PJ
from dse.domains.levels.machine import MAX_INSTANCES, MAX_WORDS, Level, Machine
from dse.domains.levels.space.opened import ACCESS, BANDWIDTHS, ENERGIES, LEAK, machine_with

WORD_BITS = 8


class LevelsFigures:
    """HardwareFigures: `levels.NAME.size` and the like, as in a machine's file.

    There are `fan_out`, `block`, `cluster`, bandwidths and energies. `access_pj` is the energy of an access
    of any kind, and `word_bits` is for `"by size"` alone.
    """

    def figures(self, hardware: Machine, model: AnyCostModel) -> Mapping[str, HardwareFigure]:
        found = {
            "mac_pj": HardwareFigure(ENERGY, hardware.mac_pj, 0, MAX_PJ, step=HALF),
            "clock_ghz": HardwareFigure(STRUCTURE, hardware.clock_ghz, 1e-6, 1e6),
        }
        for level in (hardware.even or hardware).levels:
            for name, figure in _of_level(level).items():
                found[f"levels.{level.name}.{name}"] = figure
        return found

    def formulas(self, model: AnyCostModel, word_bits: int) -> Mapping[str, Mapping[str, str]]:
        """None: nothing is published of levels in general."""
        return {"area_mm2": {}, "leakage_mw": {}}

    def with_figures(
        self, hardware: Machine, model: AnyCostModel, values: Mapping[str, float], name: str
    ) -> tuple[Machine, AnyCostModel]:
        return machine_with(hardware, values, name), model

    def price(self, problem: Any, mappings: Sequence[Any]) -> Evaluations:
        found: Evaluations = problem.price_rows(problem.rows_of(list(mappings)))
        return found

    def needs(self, problem: Any, mapping: Any) -> Mapping[str, int]:
        words, _ = problem.space.measure(problem.rows_of([mapping]))
        bits = problem.accelerator.stated is not None
        return {
            f"levels.{level.name}.size": level.halves * (-(-count // level.word_bits) if bits else count)
            for level, count in zip(problem.accelerator.levels, words[0].tolist(), strict=True)
            if level.capacity is not None
        }


def _of_level(level: Level) -> dict[str, HardwareFigure]:
    rates = {
        key: HardwareFigure(
            RATE,
            getattr(level.bandwidth, name),
            1e-9,
            1e15,
            step=TWICE,
            group=f"levels.{level.name} bandwidths",
        )
        for key, name in BANDWIDTHS.items()
    }
    energies = {
        key: HardwareFigure(
            ENERGY, getattr(level.energy, key), 0, MAX_PJ, step=HALF, group=f"levels.{level.name} energies"
        )
        for key in ENERGIES
    }
    front = f"levels.{level.name}."
    by_size = f"sram_pj({front}size / {front}block, {front}block * {front}word_bits)"
    return {
        "size": HardwareFigure(CAPACITY, level.capacity, 1, MAX_WORDS, whole=True, step=TWICE),
        # A single one below is no array that could be larger.
        "fan_out": HardwareFigure(
            STRUCTURE, level.fan_out, 1, MAX_INSTANCES, whole=True, step=TWICE if level.fan_out > 1 else None
        ),
        "block": HardwareFigure(STRUCTURE, level.block, 1, MAX_WORDS, whole=True),
        "cluster": HardwareFigure(STRUCTURE, level.cluster, 1, MAX_WORDS, whole=True),
        "word_bits": HardwareFigure(STRUCTURE, WORD_BITS, 1, 2**16, whole=True),
        **rates,
        **energies,
        ACCESS: HardwareFigure(ENERGY, None, 0, MAX_PJ, by_size=by_size),
        LEAK: replace(energies["read_pj"], own=level.leak_pj),
    }
