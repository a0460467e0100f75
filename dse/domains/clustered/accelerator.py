"""A spatial accelerator: an array of PEs with private L1 buffers, a shared L2, a NoC and an off-chip link."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from os import PathLike, fspath
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dse.core.calibration import without_calibration
from dse.core.widths import NO_WIDTHS, Widths
from dse.support.arrays import IntArray
from dse.support.errors import InputError, shorten, unknown_name
from dse.support.schema import Schema, read_schema
from dse.support.toml import is_toml, read_toml
from dse.support.validation import positive_number, whole_number

UNLIMITED = 2**30
MAX_FIGURE = 2**40
MAX_PES = 2**20
MAX_WORD_BITS = 1024
MACHINE_FIGURES = (
    "num_pes",
    "l1_size",
    "l2_size",
    "noc_bandwidth",
    "offchip_bandwidth",
    "noc_latency",
    "simd_lanes",
    "clock_ghz",
)
"""The figures of an Accelerator: the columns of an int64 array that has a machine in each row.

All are whole numbers but the clock, whose column holds the bits of its float: exact, and in its order."""
CLOCK_GHZ = (1e-6, 1e6)
"""Slowest and fastest clock: beyond them, seconds and joules would leave the range of a float."""


IN_WORDS = ("l1_size", "l2_size", "noc_bandwidth", "offchip_bandwidth")
"""The figures that count elements: bits on an AcceleratorInBits."""
TENSORS = ("W", "I", "O")
WORD_BITS = 16
"""Bits of an element where nobody says: those that the constants of `loopnest` are of."""


def checked_figure(name: str, value: object, what: str, most: int = MAX_FIGURE) -> float:
    """The value of a figure of an accelerator, within its range; InputError that begins with `what`."""
    if name == "clock_ghz":
        number = positive_number(value, what)
        if not CLOCK_GHZ[0] <= number <= CLOCK_GHZ[1]:
            raise InputError(
                f"{what} must be from {CLOCK_GHZ[0]:g} to {CLOCK_GHZ[1]:g}, got {shorten(value)}"
            )
        return number
    if name == "num_pes":
        return whole_number(value, what, most=MAX_PES)
    return whole_number(value, what, least=int(name != "noc_latency"), most=most)


def figure_column(machines: IntArray, name: str) -> NDArray[Any]:
    """The values (n,) of a figure on machines (n, figures)."""
    column = machines[:, MACHINE_FIGURES.index(name)]
    return column.view(np.float64) if name == "clock_ghz" else column


def figure_code(name: str, value: float) -> int:
    """A figure's value as its column holds it."""
    return int(np.float64(value).view(np.int64)) if name == "clock_ghz" else int(value)


@dataclass(frozen=True)
class Accelerator(Schema):
    """Sizes in elements, bandwidths in elements per cycle, latency in cycles, clock in GHz.

    `l1_size` is one PE's buffer, `l2_size` the shared one, `simd_lanes` a PE's MACs per cycle. An element has
    `word_bits`, which matters where words have `bits` of their own. What it `holds` of W, I and O is whole in
    L2 before the layer begins, or stays there, and `l2_size` is the room beside it. `name` is a label: two
    accelerators are equal if their figures are.
    """

    num_pes: int
    l1_size: int
    l2_size: int
    noc_bandwidth: int
    offchip_bandwidth: int
    noc_latency: int = 1
    simd_lanes: int = 1
    clock_ghz: float = 1.0
    name: str = field(default="", compare=False)
    word_bits: int = WORD_BITS
    bits: Widths = NO_WIDTHS
    holds: tuple[str, ...] = ()

    unit: ClassVar[str] = "elements"
    """What sizes and bandwidths count."""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.isprintable():
            raise InputError(f"accelerator: name must be printable text, got {shorten(self.name)}")
        whole_number(self.word_bits, "accelerator: word_bits", most=MAX_WORD_BITS)
        object.__setattr__(self, "bits", Widths.read(self.bits, "accelerator: bits"))
        object.__setattr__(self, "holds", _held(self.holds))
        for name in MACHINE_FIGURES:
            number = checked_figure(name, getattr(self, name), f"accelerator: {name}", self._most)
            object.__setattr__(self, name, number)

    @property
    def _most(self) -> int:
        return MAX_FIGURE

    @classmethod
    def from_dict(cls, data: object, where: str = "accelerator") -> Accelerator:
        """The accelerator that parsed JSON or TOML describes; `where` names the place in messages.

        Sizes and bandwidths may be in bytes instead: `l1_bytes`, `noc_bytes`, with the `word_bits` of an
        element.
        """
        entry = _in_elements(data, where)
        bits = entry.pop("bits", None) if isinstance(entry, dict) else None
        holds = entry.pop("holds", ()) if isinstance(entry, dict) else ()
        found: Accelerator = read_schema(Accelerator, entry, where, "accelerator")
        found = replace(found, bits=Widths.read(bits, f"{where}: bits")) if bits is not None else found
        return found if holds == () else replace(found, holds=_held(holds, f"{where}: holds"))

    def to_dict(self) -> dict[str, Any]:
        """The figures as plain data (without the name); `from_dict` reads it back.

        What elements and words have in bits is there only where somebody says it.
        """
        figures = {name: getattr(self, name) for name in MACHINE_FIGURES}
        said = {"word_bits": self.word_bits} if self.word_bits != WORD_BITS or self.bits else {}
        return figures | said | ({"bits": self.bits.to_dict()} if self.bits else {}) | self._said_held

    @property
    def figures(self) -> dict[str, Any]:
        """The figures that decide what mappings cost: of words that all have one width, in no bits."""
        return {name: getattr(self, name) for name in MACHINE_FIGURES} | self._said_held

    @property
    def _said_held(self) -> dict[str, Any]:
        return {"holds": list(self.holds)} if self.holds else {}

    def of_widths(self, widths: Widths) -> Accelerator:
        """The accelerator for a layer of these widths, which win over its own: in bits, if there are any."""
        widths = widths.over(self.bits)
        if not widths:
            return self
        scaled: dict[str, Any] = {name: getattr(self, name) * self.word_bits for name in IN_WORDS}
        others = {item.name: getattr(self, item.name) for item in fields(self) if item.name not in IN_WORDS}
        return AcceleratorInBits(**(others | scaled | {"bits": Widths(**widths.filled(self.word_bits))}))

    @property
    def tensor_bits(self) -> dict[str, int] | None:
        """The bits of each tensor's words on an accelerator `of_widths`; None where all count elements."""
        return None

    def in_elements(self, figure: str, value: int) -> int:
        """A figure's value in elements, rounded up: what a user says."""
        return value

    def called(self, given: str) -> str:
        """What a user named it by, such as a file, with its own name if it has one."""
        return f"{given} ({self.name})" if self.name else given

    @property
    def summary(self) -> str:
        """Its figures in a line, as `dse list` has them."""
        if self.l1_size == self.l2_size == UNLIMITED:
            return f"{self.num_pes:,} PEs, buffers and bandwidths without limit"
        return (
            f"{self.num_pes:,} PEs; L1 {_size(self.l1_size)} a PE and L2 {_size(self.l2_size)} {self.unit}; "
            f"NoC {_size(self.noc_bandwidth)} and off-chip {_size(self.offchip_bandwidth)} {self.unit} "
            "a cycle"
        )

    @cached_property
    def cluster_sizes(self) -> tuple[int, ...]:
        """The divisors of the PE count, ascending: the cluster sizes that waste no PE."""
        return tuple(size for size in range(1, self.num_pes + 1) if self.num_pes % size == 0)

    @property
    def machine_row(self) -> tuple[int, ...]:
        """The MACHINE_FIGURES, as the columns of an array hold them."""
        return tuple(figure_code(name, getattr(self, name)) for name in MACHINE_FIGURES)

    def with_machine(self, machine: IntArray) -> Accelerator:
        """The accelerator with the MACHINE_FIGURES of a row (figures,)."""
        row = np.asarray(machine, np.int64)[np.newaxis]
        changed: dict[str, Any] = {name: figure_column(row, name)[0].item() for name in MACHINE_FIGURES}
        return replace(self, **changed)

    @property
    def hertz(self) -> float:
        """Clock cycles a second."""
        return self.clock_ghz * 1e9

    @property
    def cycle_seconds(self) -> float:
        """Seconds of one clock cycle."""
        return 1.0 / self.hertz


@dataclass(frozen=True)
class AcceleratorInBits(Accelerator):
    """An accelerator for words of any `bits`, of all tensors: its sizes and bandwidths are in bits."""

    unit: ClassVar[str] = "bits"

    @property
    def _most(self) -> int:
        return MAX_FIGURE * self.word_bits

    @property
    def figures(self) -> dict[str, Any]:
        return self.to_dict()

    def to_dict(self) -> dict[str, Any]:
        """See Accelerator: what is said is in elements."""
        scaled = {name: getattr(self, name) // self.word_bits for name in IN_WORDS}
        figures = {name: getattr(self, name) for name in MACHINE_FIGURES} | scaled
        return figures | {"word_bits": self.word_bits, "bits": self.bits.to_dict()} | self._said_held

    def of_widths(self, widths: Widths) -> Accelerator:
        if not widths or widths.over(self.bits) == self.bits:
            return self
        return replace(Accelerator.from_dict(self.to_dict()), name=self.name).of_widths(widths)

    @property
    def tensor_bits(self) -> dict[str, int] | None:
        return self.bits.filled(self.word_bits)

    def in_elements(self, figure: str, value: int) -> int:
        return -(-value // self.word_bits) if figure in IN_WORDS else value


def _held(names: object, where: str = "accelerator: holds") -> tuple[str, ...]:
    """What stays in L2, in order."""
    if not isinstance(names, list | tuple) or not {*map(str, names)} <= {*TENSORS}:
        raise InputError(f"{where} must be a list of some of W, I and O, got {shorten(names)}")
    return tuple(name for name in TENSORS if name in names)


def _size(value: int) -> str:
    return "without limit" if value == UNLIMITED else f"{value:,}"


RATES_IN_BYTES = {"noc_bytes": "noc_bandwidth", "offchip_bytes": "offchip_bandwidth"}
IN_BYTES = {"l1_bytes": "l1_size", "l2_bytes": "l2_size", **RATES_IN_BYTES}
"""What a file may say in bytes, and what it is in elements."""


def _in_elements(data: object, where: str) -> object:
    """The table with sizes in elements, where it has them in bytes."""
    if not isinstance(data, dict):
        return data
    if "levels" in data:
        raise InputError(
            f"{where} is a machine of levels, for a cost model of such machines (--cost-model timeloop)"
        )
    given = {name: figure for name, figure in IN_BYTES.items() if name in data}
    if given and "word_bits" not in data:
        raise InputError(f"{where}: {', '.join(given)} needs word_bits, the bits of an element")
    bits = whole_number(data.get("word_bits", WORD_BITS), f"{where}: word_bits", most=MAX_WORD_BITS)
    found = {name: value for name, value in data.items() if name not in given}
    for name, figure in given.items():
        if figure in found:
            raise InputError(f"{where} has both {figure!r} and {name!r}; keep one of them")
        room = whole_number(data[name], f"{where}: {name}", most=8 * MAX_FIGURE) * 8
        found[figure] = room // bits
        if not found[figure]:
            raise InputError(
                f"{where}: {name} must hold at least one element of {bits} bits, got {data[name]}"
            )
        if name in RATES_IN_BYTES and room % bits:
            raise InputError(f"{where}: {name} must move whole elements of {bits} bits, got {data[name]}")
    return found


PRESETS: dict[str, Accelerator] = {
    "eyeriss": Accelerator(168, 512, 108_000, 64, 16),
    "eyeriss-small": Accelerator(168, 256, 32_768, 16, 4),
    "edge": Accelerator(256, 512, 131_072, 32, 8),
    "edge-small": Accelerator(256, 256, 65_536, 16, 4),
    "tpu-like": Accelerator(1024, 256, 262_144, 64, 16),
    "cloud": Accelerator(1024, 2048, 1_048_576, 256, 64),
    "paper": Accelerator(256, UNLIMITED, UNLIMITED, UNLIMITED, UNLIMITED),
    "archgym": Accelerator(1024, UNLIMITED, UNLIMITED, UNLIMITED, UNLIMITED),
}


def load_accelerator(name: str | PathLike[str]) -> Accelerator:
    """A preset by its name, or the accelerator in the TOML file at the path `name`."""
    text = fspath(name)
    if text in PRESETS:
        return PRESETS[text]
    if not is_toml(text):
        raise unknown_name("accelerator", text, [*PRESETS, "FILE.toml"])
    where = f"accelerator file {text!r}"
    return Accelerator.from_dict(without_calibration(read_toml(text, where), where), where)
