"""A mapping of a workload onto an N-level machine: what each level keeps, and its loops."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from dse.domains.levels.workload import checked_integer
from dse.support.errors import InputError, shorten, unknown_name
from dse.support.validation import check_keys, check_table

Loop = tuple[str, int]
"""A dim and how often the loop runs, the outermost loop first in a list of them."""

SPREAD_AXES = ("X", "Y")
MAX_LETTERS = 1 << 16
"""Of a mapping in one line."""


@dataclass(frozen=True)
class LevelMapping:
    """One level's part: the tensors that it keeps, and its loops; a factor of 1 is no loop.

    `temporal` loops say in which order the level hands out tiles; `spatial` ones, inside of them, spread over
    the instances below it. Of dims whose tiles do not divide, `temporal_tiles` and `spatial_tiles` say how
    long a tile of each loop is; the last one may be shorter.
    """

    keep: tuple[str, ...] = ()
    temporal: tuple[Loop, ...] = ()
    spatial: tuple[Loop, ...] = ()
    temporal_tiles: tuple[Loop, ...] = ()
    spatial_tiles: tuple[Loop, ...] = ()


@dataclass(frozen=True)
class HierarchyMapping:
    """What each level of a machine does, the outermost first."""

    levels: tuple[LevelMapping, ...]

    @property
    def is_ragged(self) -> bool:
        """Whether tiles are said that need not divide."""
        return any(level.temporal_tiles or level.spatial_tiles for level in self.levels)

    def text(self) -> str:
        """The mapping in one line, as in `L1[WIO] K16 C4X - L0[O] P14`: levels by number, 0 the innermost.

        `K3:34` are three tiles of 34, of which the last may be shorter.
        """
        return " - ".join(
            " ".join([f"L{number}[{_names(level.keep)}]", *_loops(level)])
            for number, level in zip(reversed(range(len(self.levels))), self.levels, strict=True)
        )

    def to_list(self) -> list[dict[str, Any]]:
        """The mapping as a case line has it: an entry a level, the outermost first."""
        return [
            {
                "keep": list(level.keep),
                "temporal": [[dim, n, *_tile(level.temporal_tiles, dim)] for dim, n in level.temporal],
                "spatial": [
                    [dim, n, SPREAD_AXES[0], *_tile(level.spatial_tiles, dim)] for dim, n in level.spatial
                ],
            }
            for level in self.levels
        ]

    def to_dict(self) -> dict[str, Any]:
        """The mapping as plain data: its `levels` as in a case line."""
        return {"levels": self.to_list()}

    def to_json(self, indent: int | None = None) -> str:
        """The mapping as a JSON text."""
        return json.dumps(self.to_dict(), indent=indent)

    @classmethod
    def parse(cls, text: str) -> HierarchyMapping:
        """The mapping that `text` describes; names of more than one letter are separated by commas."""
        if len(text) > MAX_LETTERS:
            raise InputError(f"mapping: it has {len(text):,} letters; at most {MAX_LETTERS:,}")
        parts = _BETWEEN.split(text)
        places = reversed(range(len(parts)))
        return cls(tuple(_parse_level(part, place) for part, place in zip(parts, places, strict=True)))


def _names(keep: tuple[str, ...]) -> str:
    return ("" if all(len(name) == 1 for name in keep) else ",").join(keep)


def _loops(level: LevelMapping) -> list[str]:
    return [
        *(f"{dim}{n}{_said(level.temporal_tiles, dim)}" for dim, n in level.temporal),
        *(f"{dim}{n}{_said(level.spatial_tiles, dim)}X" for dim, n in level.spatial),
    ]


def _tile(tiles: tuple[Loop, ...], dim: str) -> list[int]:
    """The length of a loop's tiles, if it is said."""
    return [length for name, length in tiles if name == dim]


def _said(tiles: tuple[Loop, ...], dim: str) -> str:
    return "".join(f":{length}" for length in _tile(tiles, dim))


_BETWEEN = re.compile(r"\s-\s+(?=L\d+\[)")
_LEVEL = re.compile(r"L([0-9]+)\[([^\]]*)\](.*)", re.DOTALL)
_LOOP = re.compile(r"([A-Za-z_]{1,100}?)([0-9]{1,100})(:[0-9]{1,100})?([XY]?)")


def _parse_level(text: str, place: int) -> LevelMapping:
    """The level that is counted so, 0 the innermost."""
    found = _LEVEL.fullmatch(text.strip())
    if not found:
        raise InputError(f"mapping: {shorten(text)} is no level; write one as in L1[WIO] K16 C4X")
    number, names, loops = found.groups()
    temporal: list[Loop] = []
    spatial: list[Loop] = []
    tiles: tuple[list[Loop], list[Loop]] = [], []
    for word in loops.split():
        loop = _LOOP.fullmatch(word)
        if not loop:
            raise InputError(f"mapping: {shorten(word)} is no loop; write one as in K16 or C4X")
        dim, factor, tile, axis = loop.groups()
        if int(factor) != 1:
            (spatial if axis else temporal).append((dim, int(factor)))
            if tile:
                tiles[bool(axis)].append((dim, int(tile[1:])))
    if number.lstrip("0") != str(place or ""):
        raise InputError(f"mapping: L{number[:20]} stands where L{place} must: the innermost is L0")
    keep = tuple(names.split(",")) if "," in names else tuple(names)
    return LevelMapping(keep, tuple(temporal), tuple(spatial), tuple(tiles[0]), tuple(tiles[1]))


def levels_of(data: object, where: str) -> object:
    """What a mapping file says of levels: the entry of that name, or the list that it is."""
    if not isinstance(data, dict):
        return data
    if "cluster_size" in data:
        raise InputError(f"{where} is one of a machine of two levels, as cost model loopnest prices")
    check_keys(data, where, required=("levels",))
    return data["levels"]


def read_mapping(data: object, dims: Iterable[str], tensors: Iterable[str], where: str) -> HierarchyMapping:
    """The mapping that parsed JSON describes; factors may have any value.

    Raises InputError, beginning with `where`, where a type, a key or a name is wrong.
    """
    if not isinstance(data, list):
        raise InputError(f"{where} must be a list with an entry a level, got {shorten(data)}")
    known = frozenset(dims), frozenset(tensors)
    return HierarchyMapping(
        tuple(_read_level(entry, *known, f"{where}[{place}]") for place, entry in enumerate(data))
    )


def _read_level(data: object, dims: frozenset[str], tensors: frozenset[str], where: str) -> LevelMapping:
    entry = check_table(data, where)
    check_keys(entry, where, required=("keep", "temporal", "spatial"))
    for key in entry:
        if not isinstance(entry[key], list):
            raise InputError(f"{where}.{key} must be a list, got {shorten(entry[key])}")
    for name in entry["keep"]:
        if not isinstance(name, str) or name not in tensors:
            raise unknown_name("tensor", name, sorted(tensors), f"{where}.keep")
    temporal = [_read_loop(loop, 2, dims, f"{where}.temporal") for loop in entry["temporal"]]
    spatial = [_read_loop(loop, 3, dims, f"{where}.spatial") for loop in entry["spatial"]]
    loops = (tuple((dim, n) for dim, n, _ in kind) for kind in (temporal, spatial))
    tiles = (tuple((dim, tile[0]) for dim, _, tile in kind if tile) for kind in (temporal, spatial))
    return LevelMapping(tuple(entry["keep"]), *loops, *tiles)


def _read_loop(data: object, parts: int, dims: frozenset[str], where: str) -> tuple[str, int, list[int]]:
    """A loop's dim and count, and how long its tiles are, if it says so."""
    example = '["K", 4]' if parts == 2 else '["K", 4, "X"]'
    if not isinstance(data, list) or len(data) not in (parts, parts + 1):
        raise InputError(f"{where}: a loop must be as in {example}, got {shorten(data)}")
    dim = data[0]
    if not isinstance(dim, str) or dim not in dims:
        raise unknown_name("dim", dim, sorted(dims), where)
    if parts == 3 and data[2] not in SPREAD_AXES:
        raise unknown_name("axis", data[2], SPREAD_AXES, where)
    return dim, checked_integer(data[1], where), [checked_integer(tile, where) for tile in data[parts:]]
