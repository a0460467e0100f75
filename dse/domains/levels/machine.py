"""A machine of any number of storage levels above its MACs, the outermost first."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from dse.core.widths import NO_WIDTHS, Widths
from dse.domains.levels.checks import DOUBLE, OVERLAPPED, SINGLE, not_negative, see_levels, see_name
from dse.support.errors import InputError, unknown_name
from dse.support.validation import positive_number, whole_number

MAX_INSTANCES = 2**31 - 1
MAX_WORDS = 2**60
MAX_LEVELS = 64
MAX_WORD_BITS = 2**16
FIRST_FILLS = ("counted", "elided")
RETURNED = "returned"
"""As `first_fill`: partial sums of an earlier run are added to, and nothing is a first visit."""

EVEN, UNEVEN = "even", "uneven"
"""Nests: whether the tensors of a level share a depth in the loops, or each has its own."""
TENSORS = ("W", "I", "O")
"""Weights, inputs, outputs: what every layer of ours has."""

Names = tuple[str, ...]


@dataclass(frozen=True)
class Bandwidth:
    """Words a cycle of one instance: of reads, of fills and updates, of all of them; None is unlimited."""

    read: float | None = None
    write: float | None = None
    shared: float | None = None

    def times(self, by: int) -> Bandwidth:
        """So many times as much."""
        return Bandwidth(*(None if words is None else words * by for words in self.each))

    @property
    def each(self) -> tuple[float | None, float | None, float | None]:
        """All three."""
        return self.read, self.write, self.shared


@dataclass(frozen=True)
class Energy:
    """Of one physical access, in pJ: of a read, of a write of a fill, of a write of an update."""

    read_pj: float = 0.0
    write_pj: float = 0.0
    update_pj: float = 0.0

    @classmethod
    def of_any(cls, pj: float) -> Energy:
        """The same energy for an access of any kind."""
        return cls(pj, pj, pj)


@dataclass(frozen=True)
class Level:
    """One level of storage, or a mere fan-out if it keeps nothing. Figures are those of one instance.

    `capacity` is in words (None: unlimited). A physical access moves `block` words; an instance at work leaks
    `leak_pj` a cycle; `cluster` instances share a physical row. Below an instance are `fan_out` instances of
    the next level (or MACs), over which the dims in `spread` (None: any) may be spread; without `multicast`
    each of them is sent its own copy of what several of them read, and without `reduction` each writes a
    partial sum of its own. The level `keeps` these tensors, and a mapping may have it keep those in
    `may_keep` (None: any). Mappings that are searched loop over the dims in `loops` (None: any) here. A word
    of the level has `word_bits`: that matters where words of tensors have widths.

    Of a level in parts, others are `part_of` the first: see `uneven`. What it `holds` is there before the
    layer begins, or stays when it ends: nothing fills or drains it, and `capacity` is what is left beside it.
    Its `buffering` says how the next tile comes: see `checks`.
    """

    name: str
    capacity: int | None = None
    fan_out: int = 1
    keeps: Names = ()
    may_keep: Names | None = None
    spread: Names | None = None
    loops: Names | None = None
    multicast: bool = True
    reduction: bool = True
    bandwidth: Bandwidth = Bandwidth()
    energy: Energy = Energy()
    block: int = 1
    leak_pj: float = 0.0
    cluster: int = 1
    word_bits: int = field(default=8, compare=False)
    holds: Names = ()
    part_of: str = ""
    buffering: str = OVERLAPPED

    def __post_init__(self) -> None:
        see_name(self.name, "level")
        what = f"level {self.name}"
        if self.capacity is not None:
            whole_number(self.capacity, f"{what}: capacity", least=0, most=MAX_WORDS)
        whole_number(self.fan_out, f"{what}: fan_out", most=MAX_INSTANCES)
        for name in ("block", "cluster"):
            whole_number(getattr(self, name), f"{what}: {name}", most=MAX_WORDS)
        whole_number(self.word_bits, f"{what}: word_bits", most=MAX_WORD_BITS)
        for kind, words in vars(self.bandwidth).items():
            if words is not None:
                positive_number(words, f"{what}: {kind} bandwidth")
        for name, pj in {**vars(self.energy), "leak_pj": self.leak_pj}.items():
            not_negative(pj, f"{what}: {name}")

    def to_dict(self) -> dict[str, Any]:
        """The level as plain data, by the keys of its table; what is not limited is not there."""
        may_keep = TENSORS if self.may_keep is None else self.may_keep
        entry = {
            "name": self.name,
            "keeps": list(self.keeps),
            "may_keep": [name for name in may_keep if name not in self.keeps],
            "size": self.capacity,
            "fan_out": self.fan_out,
            "spread": None if self.spread is None else list(self.spread),
            "loops": None if self.loops is None else list(self.loops),
            "multicast": self.multicast,
            "reduction": self.reduction,
            "bandwidth": self.bandwidth.shared,
            "read_bandwidth": self.bandwidth.read,
            "write_bandwidth": self.bandwidth.write,
            "block": self.block,
            "cluster": self.cluster,
            **vars(self.energy),
            "leak_pj": self.leak_pj,
            "holds": list(self.holds) or None,
            "buffering": None if self.buffering == OVERLAPPED else self.buffering,
        }
        return {key: value for key, value in entry.items() if value is not None}

    @property
    def stores(self) -> bool:
        """Whether it may hold anything."""
        return bool(self.keeps or self.holds or self.may_keep is None or self.may_keep)

    @property
    def halves(self) -> int:
        """The tiles that it has room for at once."""
        return 2 if self.buffering == DOUBLE else 1

    @property
    def room(self) -> int | None:
        """What a tile may take of it; None without end."""
        return None if self.capacity is None else self.capacity // self.halves

    @property
    def in_bits(self) -> Level:
        """The level with its room, its rates and its accesses in bits."""
        capacity = None if self.capacity is None else self.bits_of(self.capacity)
        rates = self.bandwidth.times(self.word_bits)
        return replace(self, capacity=capacity, bandwidth=rates, block=self.bits_of(self.block))

    def bits_of(self, words: int) -> int:
        """The bits of so many of its words, or as many as are ever counted."""
        return min(words * self.word_bits, MAX_WORDS)


@dataclass(frozen=True)
class Machine:
    """`levels` from the outermost in, then the MACs, one of which takes `mac_pj`.

    `first_fill` says whether the words of an output that come down before there is anything to add to are
    counted as fills (they are never read). `clock_ghz` turns cycles into seconds. `widths` are the bits of
    the tensors' words where the machine says them, and then `word_bits` those of tensors of which it says
    nothing; `mac_pj` is of operands of `word_bits`. Without widths every word is a word of each level's.
    `fill_and_drain` says whether first tiles and last results take time in which nothing else goes on.

    `sources` say what its energies were made of. A machine `of_widths` has levels in bits instead of words,
    and `stated` is what it was made of. One whose levels have parts was made of `even`. `asked_nests` are
    those that a file or a user asks for, if any are.
    """

    name: str
    levels: tuple[Level, ...]
    mac_pj: float
    first_fill: str = "elided"
    clock_ghz: float = 1.0
    word_bits: int = field(default=8, compare=False)
    widths: Widths = NO_WIDTHS
    fill_and_drain: bool = False
    stated: Machine | None = field(default=None, compare=False, repr=False)
    sources: tuple[str, ...] = field(default=(), compare=False)
    even: Machine | None = field(default=None, compare=False, repr=False)
    asked_nests: str = field(default="", compare=False, repr=False)

    def __post_init__(self) -> None:
        see_name(self.name, "machine")
        if not self.levels:
            raise InputError(f"machine {self.name}: no levels; it needs at least one")
        if len(self.levels) > MAX_LEVELS:
            raise InputError(f"machine {self.name}: {len(self.levels):,} levels; at most {MAX_LEVELS}")
        names = [level.name for level in self.levels]
        for name in names:
            if names.count(name) > 1:
                raise InputError(f"machine {self.name}: level {name!r} is there twice")
        if self.first_fill not in (*FIRST_FILLS, RETURNED):
            raise unknown_name("first_fill", self.first_fill, FIRST_FILLS, f"machine {self.name}")
        see_levels(self.levels, self.instances, self.name)
        not_negative(self.mac_pj, f"machine {self.name}: mac_pj")
        positive_number(self.clock_ghz, f"machine {self.name}: clock_ghz")
        whole_number(self.word_bits, f"machine {self.name}: word_bits", most=MAX_WORD_BITS)
        if self.macs > MAX_INSTANCES:
            raise InputError(f"machine {self.name}: {self.macs} MACs are more than {MAX_INSTANCES}")

    @cached_property
    def instances(self) -> tuple[int, ...]:
        """How many instances each level has."""
        return tuple(
            math.prod(level.fan_out for level in self.levels[:place]) for place in range(len(self.levels))
        )

    @cached_property
    def storages(self) -> tuple[int, ...]:
        """The place of the level whose room and rates each has: its own, or that of the first part."""
        places = {level.name: place for place, level in enumerate(self.levels)}
        return tuple(places[level.part_of or level.name] for level in self.levels)

    @property
    def waits(self) -> bool:
        """Whether transfers take time in which nothing else goes on."""
        return self.fill_and_drain or any(level.buffering == SINGLE for level in self.levels)

    @cached_property
    def homes(self) -> dict[str, int]:
        """The levels that hold tensors, by tensor."""
        return {name: place for place, level in enumerate(self.levels) for name in level.holds}

    def must_keep(self, place: int, tensors: Names) -> Names:
        """What of some tensors a level has to keep: the outermost one all that is held nowhere further in."""
        level = self.levels[place]
        named = tensors if place == 0 else (*level.keeps, *level.holds)
        return tuple(name for name in tensors if name in named and self.homes.get(name, 0) <= place)

    def may_keep(self, place: int, tensors: Names) -> Names:
        """What of some tensors a mapping may have a level keep."""
        level, must = self.levels[place], self.must_keep(place, tensors)
        named = tensors if level.may_keep is None else (*must, *level.may_keep)
        return tuple(name for name in tensors if name in named and self.homes.get(name, 0) <= place)

    @cached_property
    def macs(self) -> int:
        """How many MACs there are."""
        return math.prod(level.fan_out for level in self.levels)

    def to_dict(self) -> dict[str, Any]:
        """The machine as plain data, by the keys of its file; bits where words have widths."""
        said = self.stated or self
        if said.even:
            return said.even.to_dict() | {"nests": UNEVEN}
        levels = [level.to_dict() for level in said.levels]
        found = {
            "name": said.name,
            "mac_pj": said.mac_pj,
            "first_fill": said.first_fill,
            "clock_ghz": said.clock_ghz,
            "levels": levels,
        }
        if self.fill_and_drain:
            found["fill_and_drain"] = True
        if not self.widths:
            return found
        for entry, level in zip(levels, said.levels, strict=True):
            entry["word_bits"] = level.word_bits
        return found | {"word_bits": said.word_bits, "bits": self.widths.to_dict()}

    def of_widths(self, widths: Widths) -> Machine:
        """The machine for a layer of these widths, which win over its own: in bits, if anybody says any.

        A MAC takes energy by the product of its operands' widths.
        """
        said, widths = self.stated or self, widths.over(self.widths)
        if not widths or (self.stated and widths == self.widths):
            return self
        bits = widths.filled(said.word_bits)
        mac_pj = said.mac_pj * (bits["W"] * bits["I"]) / said.word_bits**2
        by_bits = f"MAC of {bits['W']} x {bits['I']} bits {mac_pj:.4g} pJ: by the product of the bits"
        return replace(
            said,
            levels=tuple(level.in_bits for level in said.levels),
            mac_pj=mac_pj,
            sources=(*said.sources, by_bits) if said.sources else (),
            widths=widths,
            stated=said,
        )

    @property
    def bits(self) -> dict[str, int] | None:
        """The bits of each tensor's words on a machine `of_widths`; None where levels count words."""
        return self.widths.filled(self.word_bits) if self.stated else None

    def room(self, level: int, words: int) -> int:
        """What tiles may take of a level of so many words, in its unit."""
        one = self.levels[level]
        return replace(one, capacity=one.bits_of(words) if self.stated else words).room or 0

    @property
    def nests(self) -> str:
        """Which its mappings are."""
        return UNEVEN if self.even else EVEN

    @property
    def unit(self) -> str:
        """What its levels count."""
        return "bits" if self.stated else "words"

    @property
    def unlimited(self) -> Machine:
        """The machine with levels of any capacity."""
        return replace(self, levels=tuple(replace(level, capacity=None) for level in self.levels))

    @property
    def hertz(self) -> float:
        """Clock cycles a second."""
        return self.clock_ghz * 1e9

    @property
    def cycle_seconds(self) -> float:
        """Seconds of one clock cycle."""
        return 1.0 / self.hertz

    @property
    def summary(self) -> str:
        """Its figures in a line."""
        levels = ", ".join(
            f"{level.name} {'unlimited' if level.capacity is None else f'{level.capacity:,} {self.unit}'}"
            for level in self.levels
            if (level.keeps or level.may_keep) and not level.part_of
        )
        return f"{self.macs:,} MACs, {levels}, {self.clock_ghz:g} GHz"

    def called(self, given: str) -> str:
        """What a user named it by, such as a file, with its own name if that is another."""
        return given if self.name == given else f"{given} ({self.name})"


def sram_pj(depth: float, width: int) -> float:
    """Energy of one access, in pJ, of a memory of `depth` rows of `width` bits.

    A line through two points of Eyeriss's table: 0.5 kB takes one unit for 16 bits, 100 kB six units.
    """
    return width / 16 * (1 + 5 / 99.5 * (width * depth / 8192 - 0.5))
