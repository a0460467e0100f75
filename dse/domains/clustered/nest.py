"""A mapping as the nest of loops that it stands for, to be read by a person.

    conv1_2: CONV K64 C64 Y226 X226 R3 S3, 1,849,688,064 MACs
    256 PEs in 64 clusters of 4: at most 256 at work, on average 256.0

    parallel k0 in 0..63                64 tiles on 64 clusters
      for y0 in 0..223 by 8             28 trips
        for x0 in 0..223 by 16          14 trips
          L2 holds 113,152 of 131,072 = 2 x (11,520 input + 36,864 weight + 8,192 output)
          parallel c1 in 0..63          64 tiles on 4 PEs: 16 rounds
            for x1 in x0..x0+15 by 8    2 trips
              L1 holds 418 of 512 = 2 x (100 input + 9 weight + 100 output)
              a PE does 576 MACs: k0, c1, y0..y0+7, x1..x1+7, r 0..2, s 0..2

    left out, as they run once: c0, y1

Loops that end in 0 walk over the outer tiles, in 1 over the inner tiles of an outer one; y and x count
outputs; a matrix product has loops m, n and k. The buffers are as the cost model has them, here MAESTRO's;
they hold every tile twice: the next arrives while one is in use.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from dse.core.layer import DIMS, TENSORS, Layer
from dse.core.names import dim_names, naming_line
from dse.domains.clustered.accelerator import UNLIMITED, Accelerator
from dse.domains.clustered.cost_model import CostModel
from dse.domains.clustered.mapping import Level, Mapping
from dse.support.validation import INT64_MAX, whole_number

INDENT = "  "
NOTE_GAP = 4
MAPPED = "KCYX"


Needs = dict[str, dict[str, int]]
"""Elements that L1 and L2 must hold, by tensor, double buffering included."""


def loop_nest(
    layer: Layer, mapping: Mapping, accelerator: Accelerator | None = None, model: CostModel | None = None
) -> str:
    """The loops of `mapping` over `layer`, with tiles, trips and buffers, as lines of text.

    The buffers are those of the cost model, and left out where it does not say what they hold. Without an
    accelerator the number of clusters is open, and L2 is that of one cluster. Raises InputError where there
    is no such nest: sizes below 1, or clusters larger than the array.
    """
    mapping = _checked(layer, mapping, accelerator)
    needs = _needs(layer, mapping, accelerator, model) if model else None
    clusters = accelerator.num_pes // mapping.cluster_size if accelerator else None
    outer = _loops(layer, mapping.outer, 0, layer.loops, {}, clusters)
    tiles = {loop.dim: loop.tile for loop in outer}
    starts = {loop.dim: loop.inside for loop in outer}
    inner = _loops(layer, mapping.inner, 1, tiles, starts, mapping.cluster_size)
    nest = [
        *((loop.text(), loop.note()) for loop in outer if loop.shown),
        *_buffer_lines("L2", accelerator, needs),
        *((loop.text(), loop.note()) for loop in inner if loop.shown),
        *_buffer_lines("L1", accelerator, needs),
        (_work_line(layer, inner), None),
    ]
    lines = list(_title(layer, lowered=bool(model and not model.prices_strides)))
    if accelerator:
        lines.append(_array_line(accelerator, mapping, outer, inner))
    lines += ["", *_indented(nest)]
    once = [
        loop.index for loop in (*outer, *inner) if not loop.shown and loop.dim in MAPPED and loop.size > 1
    ]
    if once:
        lines += ["", f"left out, as they run once: {', '.join(once)}"]
    return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class _Loop:
    """The loop over the tiles of `dim`: `size` from `start` on, `units` tiles at a time if parallel.

    `letter` is what the dim is called. `start` names the loop outside that it continues, "" is 0. `units` is
    None where their number is open.
    """

    dim: str
    letter: str
    depth: int
    start: str
    size: int
    tile: int
    parallel: bool
    units: int | None

    @property
    def tiles(self) -> int:
        """How many tiles there are, the last of which may be smaller."""
        return -(-self.size // self.tile)

    @property
    def index(self) -> str:
        """The loop's variable."""
        return f"{self.letter}{self.depth}"

    @property
    def shown(self) -> bool:
        """Whether there is anything to say about the loop."""
        return self.parallel or self.tiles > 1

    @property
    def inside(self) -> str:
        """Where the next loop over the dim, further inside, starts."""
        return self.index if self.tiles > 1 else self.start

    def text(self) -> str:
        """The loop's head."""
        kind = "parallel" if self.parallel else "for"
        step = f" by {self.tile}" if 1 < self.tile < self.size else ""
        return f"{kind} {self.index} in {_span(self.start, self.size)}{step}"

    def note(self) -> str:
        """The loop's trips, or who runs its tiles."""
        rest = self.size % self.tile
        short = f", the last of {rest}" if rest and self.tiles > 1 else ""
        if not self.parallel:
            return f"{self.tiles:,} trips{short}"
        return _count(self.tiles, "tile") + short + self._spread()

    def _spread(self) -> str:
        unit = "cluster" if self.depth == 0 else "PE"
        if self.units is None:
            return f", each on a {unit}"
        rounds, last = -(-self.tiles // self.units), self.tiles % self.units
        if rounds == 1:
            idle = f", {self.units - last:,} idle" if last else ""
            return f" on {_count(self.units, unit)}{idle}"
        partly = f", {last:,} in the last" if last else ""
        return f" on {_count(self.units, unit)}: {rounds:,} rounds{partly}"


def _checked(layer: Layer, mapping: Mapping, accelerator: Accelerator | None) -> Mapping:
    """The mapping, its tiles cut to the layer's sizes."""

    def cut(name: str, level: Level) -> Level:
        tiles = (whole_number(level[dim], f"{name}.tile.{dim}") for dim in DIMS)
        sizes = (layer.loops[dim] for dim in DIMS)
        return Level(level.parallel, level.order, map(min, tiles, sizes))

    most = accelerator.num_pes if accelerator else INT64_MAX
    whole_number(mapping.cluster_size, "cluster_size", most=most)
    return replace(mapping, outer=cut("outer", mapping.outer), inner=cut("inner", mapping.inner))


def _loops(
    layer: Layer, level: Level, depth: int, sizes: dict[str, int], starts: dict[str, str], units: int | None
) -> list[_Loop]:
    """The loops of a level, outermost first; a depthwise layer has no K, and a parallel K means C."""
    depthwise = layer.type == "DSCONV"
    parallel = "C" if depthwise and level.parallel == "K" else level.parallel
    names = dim_names(layer)
    return [
        _Loop(
            dim,
            names.get(dim, dim).lower(),
            depth,
            starts.get(dim, ""),
            sizes[dim],
            min(level[dim], sizes[dim]),
            dim == parallel,
            units,
        )
        for dim in level.order
        if not (depthwise and dim == "K")
    ]


def _needs(layer: Layer, mapping: Mapping, accelerator: Accelerator | None, model: CostModel) -> Needs | None:
    """What the buffers hold on the accelerator, or on a machine of one cluster."""
    machine = accelerator or Accelerator(mapping.cluster_size, UNLIMITED, UNLIMITED, UNLIMITED, UNLIMITED)
    detail = model.detail(layer, machine, mapping)
    return detail.buffers if detail else None


def _title(layer: Layer, *, lowered: bool) -> Iterator[str]:
    name = f"{layer.name}: " if layer.name else ""
    yield f"{name}{layer}, {_count(layer.macs, 'MAC')}"
    if layer.product:
        yield naming_line(layer)
    if lowered and layer.lowered() != layer:
        yield f"mapped as {layer.lowered()}"


def _array_line(
    accelerator: Accelerator, mapping: Mapping, outer: Sequence[_Loop], inner: Sequence[_Loop]
) -> str:
    """How many PEs there are, and how many of them work."""
    clusters, over = divmod(accelerator.num_pes, mapping.cluster_size)
    in_none = f" ({_count(over, 'PE')} in none)" if over else ""
    work = math.prod(loop.size for loop in outer)
    within = {loop.dim: loop for loop in inner}
    steps = math.prod(_steps(loop, within[loop.dim]) for loop in outer)
    peak = math.prod(min(loop.tiles, loop.units or 1) for loop in (*outer, *inner) if loop.parallel)
    return (
        f"{_count(accelerator.num_pes, 'PE')} in {_count(clusters, 'cluster')} of {mapping.cluster_size:,}"
        f"{in_none}: at most {peak:,} at work, on average {work / steps:,.1f}"
    )


def _steps(outer: _Loop, inner: _Loop) -> int:
    """Indices of one dim that its longest-running PE goes through."""

    def in_tile(size: int) -> int:
        if not inner.parallel:
            return size
        rounds, rest = divmod(size, inner.tile * (inner.units or 1))
        return rounds * inner.tile + min(inner.tile, rest)

    units = (outer.units or 1) if outer.parallel else 1
    rounds, rest = divmod(outer.size, outer.tile * units)
    return rounds * in_tile(outer.tile) + in_tile(min(outer.tile, rest))


def _buffer_lines(
    name: str, accelerator: Accelerator | None, needs: Needs | None
) -> Iterator[tuple[str, None]]:
    """The line on a buffer, if it is known what it holds."""
    if needs is not None:
        yield _buffer_line(name, accelerator, needs[name]), None


def _buffer_line(name: str, accelerator: Accelerator | None, held: dict[str, int]) -> str:
    """What a buffer holds, by tensor."""
    volumes = [held[tensor] // 2 for tensor in TENSORS]
    parts = " + ".join(f"{volume:,} {tensor}" for volume, tensor in zip(volumes, TENSORS, strict=True))
    total = 2 * sum(volumes)
    if accelerator is None:
        share = " for each cluster" if name == "L2" else ""
        return f"{name} holds {total:,}{share} = 2 x ({parts})"
    size = accelerator.l1_size if name == "L1" else accelerator.l2_size
    verb = "holds" if total <= size else "LACKS ROOM for"
    limit = f" of {size:,}" if size < UNLIMITED else ""
    beside = ", ".join(accelerator.holds) if name == "L2" else ""
    return f"{name} {verb} {total:,}{limit} = 2 x ({parts})" + (f", beside {beside} whole" if beside else "")


def _work_line(layer: Layer, inner: Sequence[_Loop]) -> str:
    """What a PE does between two changes of its L1 tile."""
    macs = math.prod(loop.tile for loop in inner)
    spans = [
        f"{loop.letter} {_span('', loop.tile)}" if not loop.inside else _span(loop.inside, loop.tile)
        for loop in sorted(inner, key=lambda loop: DIMS.index(loop.dim))
        if layer.loops[loop.dim] > 1
    ]
    return f"a PE does {_count(macs, 'MAC')}: {', '.join(spans) or 'the only one'}"


def _indented(nest: Sequence[tuple[str, str | None]]) -> Iterator[str]:
    """The lines of the nest, each loop deeper than the one before, notes in a column."""
    depths = [sum(note is not None for _, note in nest[:i]) for i in range(len(nest))]
    texts = [INDENT * depth + text for depth, (text, _) in zip(depths, nest, strict=True)]
    column = NOTE_GAP + max(
        (len(text) for text, (_, note) in zip(texts, nest, strict=True) if note is not None), default=0
    )
    for text, (_, note) in zip(texts, nest, strict=True):
        yield text if note is None else f"{text:{column}}{note}"


def _span(start: str, size: int) -> str:
    """`0..63`, or from another loop's variable on: `y0..y0+7`."""
    if not start:
        return f"0..{size - 1}" if size > 1 else "0"
    return f"{start}..{start}+{size - 1}" if size > 1 else start


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


@dataclass(frozen=True)
class Nest:
    """A mapping by K, C, Y, X: steps of the outer and the inner level, a PE's tile, and PEs at work at once.

    Where PEs idle in some steps, `pes` is their average; `even` says that they do not. Where a tile does not
    divide what it cuts, `divides` is false, and the counts are short of the rest.
    """

    outer: dict[str, int]
    inner: dict[str, int]
    tile: dict[str, int]
    pes: dict[str, float]
    even: bool
    divides: bool


def nest(layer: Layer, accelerator: Accelerator, mapping: Mapping) -> Nest:
    """How often the loops of a mapping run, for tiles that divide what they cut."""
    channels = {"K": "C"} if layer.type == "DSCONV" else {}
    outer_parallel = channels.get(mapping.outer.parallel, mapping.outer.parallel)
    inner_parallel = channels.get(mapping.inner.parallel, mapping.inner.parallel)
    clusters = accelerator.num_pes // mapping.cluster_size
    found = Nest({}, {}, {}, {}, True, True)
    even = divides = True
    for dim in "KCYX":
        size = layer.loops[dim]
        outer = min(mapping.outer[dim], size)
        tile = min(mapping.inner[dim], outer)
        tiles, inner_tiles = size // outer, outer // tile
        at_once = min(tiles, clusters) if dim == outer_parallel else 1
        inner_at_once = min(inner_tiles, mapping.cluster_size) if dim == inner_parallel else 1
        divides &= size % outer == 0 == outer % tile
        even &= tiles % at_once == 0 == inner_tiles % inner_at_once
        found.outer[dim], found.inner[dim] = (
            math.ceil(tiles / at_once),
            math.ceil(inner_tiles / inner_at_once),
        )
        found.tile[dim] = tile
        found.pes[dim] = tiles / found.outer[dim] * inner_tiles / found.inner[dim]
    return replace(found, even=even, divides=divides)
