"""What a mapping space is put together from: the dims that are cut, the cluster size, the open hardware.

A space is named, or a table of one's own:

- `default`: K, C, Y and X are tiled, ordered and spread, R and S stay whole and innermost; the cluster size
  is a divisor of the accelerator's PE count: 13 genes.
- `paper`: 17 parameters, as in a published study (docs/paper.md): loop order, parallel dim and tiles of all
  six dims at two levels, and the PE count. The cluster size is no parameter there: see `FIT`.

Any figure of the accelerator may be a gene of any space: `hardware` has the values to choose from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Mapping as MappingOf
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import permutations
from math import log2
from typing import Any

from dse.core.chains import Chain, find_divisors, listed_values
from dse.core.hardware import FIGURE_PREFIX, MAX_CHOICES, Values, read_choices
from dse.core.layer import DIMS, Layer
from dse.core.space import Block, Space
from dse.domains.clustered.accelerator import MACHINE_FIGURES, MAX_PES, Accelerator, checked_figure
from dse.support.errors import InputError, shorten, unknown_name
from dse.support.validation import check_keys, check_table, whole_number

MAPPED_DIMS = ("K", "C", "Y", "X")
"""The dims that the default space tiles, orders and spreads; R and S stay whole and innermost."""

LEVELS = ("outer", "inner")

DIVISORS, FIT = "divisors", "fit"
"""What gives the cluster size. `divisors`: a gene, over the divisors of the PE count (of every one, where
there are several). `fit`: no gene; a cluster has a PE for each inner tile that its outer tile holds along the
inner parallel dim, and where that is more than all PEs the mapping is not feasible."""

PES = "num_pes"
PAPER_PES = tuple(sorted({*(2**power for power in range(11)), *range(14, 1025, 14)}))
"""The powers of two, and the multiples of 14 (Eyeriss has 168 PEs), up to 1,024."""


def figure_gene(figure: str) -> str:
    """The name of the gene of an accelerator's figure: that of the PE count is older than the others'."""
    return figure if figure == PES else FIGURE_PREFIX + figure


def singles_of(names: Iterable[str]) -> list[str]:
    """Of the names of genes, those that are of no level: the cluster size and figures of the hardware."""
    return [name for name in names if name.partition(".")[0] not in LEVELS]


@dataclass(frozen=True)
class Parts:
    """What a mapping space is put together from.

    `dims` are tiled, ordered and may be parallel; the others stay whole and innermost. `cluster` is DIVISORS,
    FIT or the sizes to choose from. `hardware` are the figures that are genes, each with its values, in the
    order of MACHINE_FIGURES; the others are the accelerator's. A cluster size that does not divide a PE count
    leaves the PEs idle that make up no whole cluster, as in MAESTRO; one above it is infeasible.
    """

    dims: tuple[str, ...] = MAPPED_DIMS
    cluster: str | tuple[int, ...] = DIVISORS
    hardware: tuple[tuple[str, Values], ...] = ()

    @cached_property
    def gene_names(self) -> tuple[str, ...]:
        """The names of the genes, in the order of a vector."""
        names = ("order", "parallel", *(f"tile.{dim}" for dim in self.dims))
        levels = (f"{level}.{name}" for level in LEVELS for name in names)
        figures = map(figure_gene, self.figures)
        return (*levels, *(() if self.cluster == FIT else ("cluster",)), *figures)

    @cached_property
    def figures(self) -> dict[str, Values]:
        """The figures of the accelerator that are genes, by name, with their values."""
        return dict(self.hardware)

    def values_of(self, figure: str, accelerator: Accelerator) -> Values:
        """The values of a figure: those to choose from, or the accelerator's own."""
        return self.figures.get(figure) or (getattr(accelerator, figure),)

    def most_capable(self, accelerator: Accelerator) -> Accelerator:
        """The accelerator with the best of each open figure, which no other machine of the space beats."""
        best = {name: (min if name == "noc_latency" else max)(values) for name, values in self.hardware}
        return replace(accelerator, **best)  # type: ignore[arg-type]

    def nearest(self, accelerator: Accelerator) -> Accelerator:
        """The accelerator with open figures at the choices nearest to its own, by ratio."""
        near = {}
        for name, values in self.hardware:
            own = getattr(accelerator, name)
            near[name] = min(values, key=lambda value: abs(log2(max(value, 0.5) / max(own, 0.5))))
        return replace(accelerator, **near)  # type: ignore[arg-type]

    @property
    def whole(self) -> tuple[str, ...]:
        """The dims that stay whole, innermost and in this order."""
        return tuple(dim for dim in DIMS if dim not in self.dims)

    @cached_property
    def orders(self) -> tuple[tuple[str, ...], ...]:
        """The loop orders that an order gene indexes, outermost loop first; `whole` follows each."""
        return tuple(permutations(self.dims))

    def to_dict(self) -> dict[str, Any]:
        """The parts as plain data, which `read_parts` reads."""
        cluster = self.cluster if isinstance(self.cluster, str) else list(self.cluster)
        figures: dict[str, Any] = {name: list(values) for name, values in self.hardware}
        pes = {PES: figures.pop(PES)} if PES in figures else {}
        others = {"hardware": figures} if figures else {}
        return {"dims": "".join(self.dims), "cluster": cluster, **pes, **others}

    @property
    def name(self) -> str | None:
        """The name of the space that has these parts, if it has one."""
        return next((name for name, parts in SPACES.items() if parts == self), None)

    def opened(self) -> tuple[str | None, dict[str, Values]]:
        """The space with a name from which it differs in open figures only, if there is one, and those."""
        for name, base in SPACES.items():
            if replace(self, hardware=base.hardware) == base and base.figures.keys() <= self.figures.keys():
                return name, {
                    key: self.figures[key]
                    for key in self.figures
                    if self.figures[key] != base.figures.get(key)
                }
        return None, self.figures


SPACES = {"default": Parts(), "paper": Parts(DIMS, FIT, ((PES, PAPER_PES),))}
"""The spaces that have a name."""


def read_parts(given: object, where: str = "space") -> Parts:
    """The parts that a name, or a table such as `{dims = "KCYXRS", num_pes = [64, 128]}`, stands for."""
    if isinstance(given, Parts):
        return given
    if isinstance(given, str):
        if given not in SPACES:
            raise unknown_name("space", given, [*SPACES, "FILE.toml"], "" if where == "space" else where)
        return SPACES[given]
    if not isinstance(given, Mapping):
        raise InputError(f"{where} must be {' or '.join(SPACES)}, or a table, got {shorten(given)}")
    entry = check_table(given, where)
    check_keys(entry, where, required=(), optional=("name", "dims", "cluster", PES, "hardware"))
    if "name" in entry:
        return _of_named(entry, where)
    dims, cluster = entry.get("dims", MAPPED_DIMS), entry.get("cluster", DIVISORS)
    if not isinstance(cluster, str):
        cluster = _sizes(cluster, f"{where}.cluster")
    elif cluster not in (DIVISORS, FIT):
        raise unknown_name("cluster", cluster, (DIVISORS, FIT, "a list of sizes"), where)
    pes = ((PES, _sizes(entry[PES], f"{where}.{PES}")),) if PES in entry else ()
    parts = Parts(_dims(dims, f"{where}.dims"), cluster, pes)
    if "hardware" not in entry:
        return parts
    if pes and PES in check_table(entry["hardware"], f"{where}.hardware"):
        raise InputError(f"{where} has {PES} and hardware.{PES}; keep one of them")
    return with_hardware(parts, entry["hardware"], f"{where}.hardware")


def _of_named(entry: Mapping[str, Any], where: str) -> Parts:
    """A space that has a name, with figures of the hardware opened besides."""
    check_keys(entry, f"{where} of a name", required=("name",), optional=("hardware",))
    parts = read_parts(str(entry["name"]))
    return with_hardware(parts, entry.get("hardware", {}), f"{where}.hardware")


def with_hardware(parts: Parts, given: object, where: str = "hardware") -> Parts:
    """The parts with figures of the accelerator as genes, from a table such as `{l1_size = [128, 256]}`.

    A figure that is a gene already has these values then.
    """
    entry = check_table(given, where)
    if "levels" in entry:
        raise InputError(f"{where}.levels is of machines of levels, for a cost model of such machines")
    check_keys(entry, where, required=(), optional=MACHINE_FIGURES)
    found = dict(parts.figures)
    for name, values in entry.items():

        def check(value: object, what: str, name: str = name) -> float:
            return checked_figure(name, value, what)

        found[name] = read_choices(values, f"{where}.{name}", check)
    return replace(parts, hardware=tuple((name, found[name]) for name in MACHINE_FIGURES if name in found))


def _dims(given: object, where: str) -> tuple[str, ...]:
    letters = list(given) if isinstance(given, str | list | tuple) else []
    if not letters or set(map(str, letters)) - set(DIMS) or len(set(map(str, letters))) < len(letters):
        raise InputError(f"{where} must hold some of {' '.join(DIMS)} once each, got {shorten(given)}")
    return tuple(dim for dim in DIMS if dim in letters)


def _sizes(given: object, where: str) -> tuple[int, ...]:
    if not isinstance(given, list | tuple) or not 1 <= len(given) <= MAX_CHOICES:
        raise InputError(f"{where} must be a list of 1 to {MAX_CHOICES:,} sizes, got {shorten(given)}")
    return tuple(sorted({whole_number(size, where, most=MAX_PES) for size in given}))


def make_blocks(space: Space, parts: Parts) -> tuple[Block, ...]:
    """The blocks of a mapping space: genes grouped by meaning, with the small steps that make sense in each.

    - tiles (one block a dim, its outer and inner tile): with `factors` a prime factor goes from one level
      (what is left of the dim, outer, inner) to another; with `any` a tile goes up or down by one, by a
      factor of two or to the next divisor of what it is cut from, or both tiles by a factor of two; tiles
      that leave no rest go by a prime factor too, and others to the nearest that leave none; of several fixed
      tiles one goes to the next larger or smaller, too.
    - order (one block a level): two loops change places.
    - parallel (both levels' dims): one of them takes another value.
    - cluster, and each figure of the hardware that is a gene: the next larger or smaller value.
    """
    names = parts.gene_names
    named: list[tuple[str, tuple[str, ...]]] = [
        *((f"tile.{dim}", (f"outer.tile.{dim}", f"inner.tile.{dim}")) for dim in parts.dims),
        *((f"{level}.order", (f"{level}.order",)) for level in LEVELS),
        ("parallel", tuple(f"{level}.parallel" for level in LEVELS)),
        *((name, (name,)) for name in singles_of(names)),
    ]
    return tuple(
        Block(name, tuple(map(names.index, genes)), index, space) for index, (name, genes) in enumerate(named)
    )


def tile_chains(layer: Layer, tiles: str, fixed: MappingOf[str, Any], parts: Parts) -> tuple[Chain, ...]:
    """The tiles of every dim that is cut."""
    return tuple(
        Chain(
            dim,
            layer.loops[dim],
            tiles,
            *(tuple(allowed_values(fixed, f"{level}.tile.{dim}") or ()) for level in LEVELS),
        )
        for dim in parts.dims
    )


def allowed_values(fixed: MappingOf[str, Any], name: str) -> list[Any] | None:
    """The values that are left to a gene; None where all are."""
    value = fixed.get(name)
    if value is None:
        return None
    if name.endswith(".order"):
        return value if isinstance(value[0], list) else [value]
    return value if isinstance(value, list) else [value]


def other_choices(
    accelerator: Accelerator, fixed: MappingOf[str, Any], parts: Parts
) -> dict[str, Sequence[Any]]:
    """What the genes that are no tiles index, by name."""
    choices: dict[str, Sequence[Any]] = {}
    counts = [int(count) for count in parts.values_of(PES, accelerator)]
    wrong = f"does not divide the {accelerator.num_pes} PEs" if parts == SPACES["default"] else "is no choice"
    if parts.cluster != FIT:
        sizes = {size for count in counts for size in find_divisors(count)}
        choices["cluster"] = tuple(sorted(sizes)) if parts.cluster == DIVISORS else parts.cluster
    choices |= {figure_gene(figure): values for figure, values in parts.hardware}
    for level in LEVELS:
        choices |= {f"{level}.order": parts.orders, f"{level}.parallel": parts.dims}
    for name in choices.keys() & fixed.keys():
        several = allowed_values(fixed, name) or []
        values = tuple(tuple(value) if isinstance(value, list) else value for value in several)
        for value in values:
            if value not in choices[name]:
                raise InputError(f"fixed {name} = {value} {wrong}; expected {one_of(choices[name])}")
        choices[name] = values
    return choices


def one_of(values: Sequence[Any]) -> str:
    """The values in words, as an error lists them."""
    return str(values[0]) if len(values) == 1 else f"one of {listed_values(values)}"
