"""Machines by name: those that come as files, Gemmini-like ones of any size, accelerators, TOML files."""

from __future__ import annotations

import re
from os import PathLike, fspath
from pathlib import Path

from dse.domains.clustered.accelerator import PRESETS as ACCELERATORS
from dse.domains.clustered.accelerator import Accelerator
from dse.domains.levels.architecture import read_machine
from dse.domains.levels.machine import Bandwidth, Energy, Level, Machine, sram_pj
from dse.models.timeloop.yaml_machine import ENDINGS, read_yaml_machine
from dse.support.errors import InputError, unknown_name
from dse.support.toml import is_toml

FILES = {
    "eyeriss_like": "row-stationary, after Eyeriss: 14 columns of 12 PEs, each with a store for each tensor",
    "simba_like": "after Simba: 16 PEs, each with its buffers, accumulators and 16 MACs",
    "simple_weight_stationary": "256 PEs that hold a tile of the weights, below one buffer for all tensors",
    "simple_output_stationary": "256 PEs that hold a tile of the outputs, below a buffer for the others",
}
GEMMINI = "gemmini-PES-SCRATCHPAD-ACCUMULATOR"
MACHINES = FILES | {
    "gemmini": "Gemmini-like: 16 x 16 PEs that hold the weights, a scratchpad, and accumulators",
    GEMMINI: "Gemmini-like of other sizes: PEs a side, rows of scratchpad, rows of accumulators",
}
"""Those that come along, and what each is."""
DEFAULT_GEMMINI = (16, 16384, 1024)

_GEMMINI_NAME = re.compile(r"gemmini-([1-9]\d{0,8})-([1-9]\d{0,8})-([1-9]\d{0,8})")


def load_machine(name: str | PathLike[str]) -> Machine:
    """A machine by its name, or the one in the file at the path `name`: TOML, or Timeloop's YAML.

    `gemmini-16-16384-1024` (or `gemmini`) is the Gemmini-like machine with a side of 16 PEs and so many rows
    of scratchpad and accumulator. An accelerator's name is that accelerator as a machine.
    """
    text = fspath(name)
    if text in FILES:
        return read_machine(str(Path(__file__).parent / "machines" / f"{text}.toml"))
    if text == "gemmini":
        return make_gemmini(*DEFAULT_GEMMINI)
    found = _GEMMINI_NAME.fullmatch(text)
    if found:
        return make_gemmini(*map(int, found.groups()))
    if text in ACCELERATORS:
        return machine_of(ACCELERATORS[text], text)
    if is_toml(text):
        return read_machine(text)
    if text.endswith(ENDINGS):
        return read_yaml_machine(text)
    raise unknown_name("machine", text, [*MACHINES, *ACCELERATORS, "FILE.toml", "FILE.yaml"])


def make_gemmini(pe_dim: int, scratchpad_depth: int, accumulator_depth: int) -> Machine:
    """The machine of the DOSA data set (Hong et al., MICRO 2023): weights in `pe_dim` x `pe_dim` PEs.

    The scratchpad has rows of `pe_dim` words of 8 bits, an accumulator belongs to one column and has rows of
    one word of 32 bits. Loops stand where the data set has them: of all dims in DRAM and the accumulators, of
    P in the registers.
    """
    if pe_dim < 1 or scratchpad_depth < 1 or accumulator_depth < 1:
        raise InputError("gemmini: its side and its depths must be at least 1")
    scratchpad = sram_pj(scratchpad_depth, 8 * pe_dim)
    accumulator, register = sram_pj(accumulator_depth, 32), sram_pj(1, 8)
    levels = (
        Level(
            "DRAM",
            keeps=("W", "I", "O"),
            may_keep=(),
            block=64,
            bandwidth=Bandwidth(shared=8),
            energy=Energy.of_any(6400.0),
        ),
        Level(
            "Scratchpad",
            capacity=scratchpad_depth * pe_dim,
            fan_out=pe_dim,
            keeps=("W", "I"),
            may_keep=(),
            spread=("K",),
            loops=(),
            block=pe_dim,
            bandwidth=Bandwidth(shared=2 * pe_dim),
            energy=Energy.of_any(scratchpad),
        ),
        Level(
            "Accumulator",
            capacity=accumulator_depth,
            fan_out=pe_dim,
            keeps=("O",),
            may_keep=(),
            spread=("C",),
            bandwidth=Bandwidth(shared=2),
            energy=Energy.of_any(accumulator),
        ),
        Level(
            "Registers", capacity=1, keeps=("W",), may_keep=(), loops=("P",), energy=Energy.of_any(register)
        ),
    )
    name = f"gemmini-{pe_dim}-{scratchpad_depth}-{accumulator_depth}"
    return Machine(name, levels, mac_pj=0.5608, first_fill="counted")


def machine_of(accelerator: Accelerator, name: str = "accelerator") -> Machine:
    """An array of PEs with L1s and a shared L2 as a hierarchy; a word costs what it does under `loopnest`.

    What it cannot hold is left out: latencies, and that a step's transfers hide behind the step before.
    """
    from dse.models.loopnest.constants import Constants

    costs, everything = Constants(), ("W", "I", "O")
    levels = (
        Level(
            "DRAM",
            keeps=everything,
            may_keep=(),
            bandwidth=Bandwidth(shared=accelerator.offchip_bandwidth),
            energy=Energy.of_any(costs.dram_pj),
        ),
        Level(
            "L2",
            capacity=accelerator.l2_size,
            fan_out=accelerator.num_pes,
            keeps=everything,
            may_keep=(),
            bandwidth=Bandwidth(shared=accelerator.noc_bandwidth),
            energy=Energy.of_any(costs.l2_pj + costs.noc_pj),
        ),
        Level(
            "L1",
            capacity=accelerator.l1_size,
            fan_out=accelerator.simd_lanes,
            keeps=everything,
            may_keep=(),
            energy=Energy.of_any(costs.l1_pj),
        ),
    )
    return Machine(name, levels, costs.mac_pj, clock_ghz=accelerator.clock_ghz)
