"""A machine in a Timeloop v4 architecture file, as timeloopfe reads it: `architecture` with its `nodes`.

What is read: components and containers, `spatial` meshes, sizes, widths, blocks, bandwidths, and of
`constraints` what each level keeps and over which dims it may loop and spread. Factors that a constraint
fixes at more than 1, and orders, are the mapper's to fix: say them by `--fix`. Energies are those of an
`ERT` in the same file, as Accelergy writes it; without one they go by the size, and DRAM takes 8 pJ a bit.
A note of ours at its end has the machine that the file was written of, while nothing in it is changed.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dse.domains.levels.architecture import machine_as_written
from dse.domains.levels.ert import INSTANCES, energies_of
from dse.domains.levels.machine import (
    MAX_LEVELS,
    MAX_WORDS,
    TENSORS,
    Bandwidth,
    Energy,
    Level,
    Machine,
    sram_pj,
)
from dse.domains.levels.models.timeloop.zigzag_machine import zigzag_machine
from dse.support import strict_yaml
from dse.support.errors import InputError, one_line, shorten, unknown, within
from dse.support.files import read_text
from dse.support.notes import noted

ENDINGS = (".yaml", ".yml")
DRAM_PJ_A_BIT = 8.0
DEFAULT_BITS = 8
MAX_NODES = 4 * MAX_LEVELS
SPACES = {"weights": "W", "inputs": "I", "outputs": "O"}
MESHES = ("meshX", "meshY")
DIMS = {"M": "K"}
"""What Timeloop's convolutions call otherwise."""


@dataclass(frozen=True)
class _Node:
    """A component or a container, with the attributes of the containers around it."""

    tag: str
    name: str
    data: Mapping[str, Any]
    attributes: Mapping[str, Any]


def read_yaml_machine(path: str) -> Machine:
    """The machine in the file at `path`; InputError in a line where it is not right."""
    where = f"architecture file {path!r}"
    text = read_text(path, where)
    if "{{" in text:
        raise InputError(f"{where}: it holds templates ({{{{...}}}}); give the file that they make")
    data = strict_yaml.parse(text, where)
    exact = noted(text, data, "machine", where)
    if exact is not None:
        return machine_as_written(exact, where)
    if isinstance(data, Mapping) and "memories" in data:
        return zigzag_machine(data, Path(path).stem, where)
    return _described(data, Path(path).stem, where)


def _described(data: Any, name: str, where: str) -> Machine:
    architecture = data.get("architecture") if isinstance(data, Mapping) else None
    nodes = architecture.get("nodes") if isinstance(architecture, Mapping) else None
    if not isinstance(nodes, list) or not nodes:
        raise InputError(f"{where}: there is no architecture with nodes, as Timeloop v4 has it, nor memories")
    found = list(_nodes(nodes, where))
    components = [node for node in found if node.tag == "Component"]
    if len(components) < 2:
        raise InputError(f"{where}: there must be a storage and, last, what computes; got {len(components)}")
    energies = energies_of(data.get("ERT"), where)
    compute = components[-1]
    seconds = _number(compute.attributes.get("global_cycle_seconds", 1e-9), f"{where}: global_cycle_seconds")
    mac_pj = energies.get(compute.name, {}).get("compute", 0.0)
    with within(where):
        levels = list(_levels(found[: found.index(compute) + 1], energies))
        return Machine(name, tuple(levels), mac_pj, clock_ghz=1e-9 / seconds)


def _nodes(nodes: list[Any], where: str) -> Iterator[_Node]:
    if len(nodes) > MAX_NODES:
        raise InputError(f"{where}: it has {len(nodes):,} nodes; at most {MAX_NODES}")
    inherited: dict[str, Any] = {}
    for place, data in enumerate(nodes):
        if not isinstance(data, Mapping) or not isinstance(data.get("name"), str):
            raise InputError(f"{where}: nodes[{place}] must be a !Component or a !Container with a name")
        tag = str(data.get("!", ""))
        if tag not in ("Component", "Container"):
            raise InputError(
                f"{where}: node {shorten(data['name'])}: !{one_line(tag)[:60]} is not read; "
                "expected !Component, !Container"
            )
        own = data.get("attributes") or {}
        if not isinstance(own, Mapping):
            raise InputError(f"{where}: node {shorten(data['name'])}: attributes must be a table")
        if tag == "Container":
            inherited |= own
        yield _Node(tag, INSTANCES.sub("", data["name"]), data, {**inherited, **own})


def _levels(nodes: list[_Node], energies: Mapping[str, Mapping[str, float]]) -> Iterator[Level]:
    """The levels above what computes, the last of the nodes; a mesh is a level that keeps nothing."""
    first = True
    for node in nodes:
        place = f"node {shorten(node.name)}"
        mesh = _mesh(node, place)
        if mesh > 1:
            if first:
                raise InputError(f"{place}: there must be one of the outermost level")
            spatial = _constraints(node, "spatial", place)
            multicast, reduction = _reuse(spatial, place)
            yield Level(
                f"inter_{node.name}_spatial",
                fan_out=mesh,
                may_keep=(),
                spread=_open_dims(spatial, place),
                multicast=multicast,
                reduction=reduction,
            )
        if node.tag == "Component" and node is not nodes[-1]:
            yield _storage(node, energies.get(node.name), place, outermost=first)
            first = False


def _storage(node: _Node, energy: Mapping[str, float] | None, where: str, *, outermost: bool) -> Level:
    known = node.attributes

    def number(*names: str) -> float | None:
        name = next((name for name in names if known.get(name) is not None), None)
        return None if name is None else _number(known[name], f"{where}: {name}")

    def count(usual: float, *names: str) -> int:
        return _whole(number(*names) or max(1, usual), f"{where}: {names[0]}")

    bits = number("datawidth", "word_bits", "word-bits") or DEFAULT_BITS
    width = number("width", "memory_width") or bits
    cluster = count(1, "cluster_size", "cluster-size")
    block = count(width // (bits * cluster), "block_size", "block-size")
    # A row of a depth is a block; entries are words.
    blocks, room = number("depth", "memory_depth"), number("entries")
    room = blocks * block if blocks is not None else room
    is_dram = str(node.data.get("class", "")).lower() == "dram"
    words = None if room is None or is_dram else _whole(room, f"{where}: depth * block_size")
    keeps, may_keep = _kept(_constraints(node, "dataspace", where), where, outermost=outermost)
    return Level(
        node.name,
        capacity=words,
        keeps=keeps,
        may_keep=may_keep,
        loops=_open_dims(_constraints(node, "temporal", where), where),
        bandwidth=Bandwidth(number("read_bandwidth"), number("write_bandwidth"), number("shared_bandwidth")),
        energy=_energy(energy, words, block, bits),
        block=block,
        leak_pj=(energy or {}).get("leak", 0.0),
        cluster=cluster,
    )


def _energy(given: Mapping[str, float] | None, words: int | None, block: int, bits: float) -> Energy:
    if given is not None:
        read, write = given.get("read", 0.0), given.get("write", 0.0)
        return Energy(read, write, given.get("update", write))
    if words is None:
        return Energy.of_any(DRAM_PJ_A_BIT * block * bits)
    return Energy.of_any(sram_pj(words / block, int(block * bits)))


def _mesh(node: _Node, where: str) -> int:
    spatial = node.data.get("spatial") or {}
    if not isinstance(spatial, Mapping):
        raise InputError(f"{where}: spatial must be a table such as {{meshX: 16}}")
    for axis in spatial:
        if axis not in MESHES:
            raise unknown("key", axis, MESHES, f"spatial of {where}")
    return math.prod(_whole(_number(spatial.get(axis, 1), where), f"{where}: {axis}") for axis in MESHES)


def _constraints(node: _Node, kind: str, where: str) -> Mapping[str, Any]:
    constraints = node.data.get("constraints") or {}
    found = constraints.get(kind) or {} if isinstance(constraints, Mapping) else None
    if not isinstance(found, Mapping):
        raise InputError(f"{where}: constraints must be tables of temporal, spatial and dataspace")
    return found


def _kept(
    constraints: Mapping[str, Any], where: str, *, outermost: bool
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What a level keeps, and what it may: all that is neither kept nor bypassed."""
    if outermost:
        return TENSORS, ()
    kept, bypassed, only = (_spaces(constraints, key, where) for key in ("keep", "bypass", "keep_only"))
    if only:
        return only, ()
    may = tuple(name for name in TENSORS if name not in kept and name not in bypassed)
    return kept, may


def _reuse(spatial: Mapping[str, Any], where: str) -> tuple[bool, bool]:
    """Whether what is read is sent once to all that need it, and whether sums are added up on their way."""
    alone = _spaces(spatial, "no_reuse", where)
    if ("W" in alone) != ("I" in alone):
        raise InputError(f"{where}: no_reuse of one of Weights and Inputs is not read: name both, or neither")
    return "W" not in alone, "O" not in alone


def _spaces(constraints: Mapping[str, Any], key: str, where: str) -> tuple[str, ...]:
    found = []
    for name in _items(constraints.get(key), f"{where}: {key}"):
        if name.lower() not in SPACES:
            raise InputError(f"{where}: {shorten(name)} is no dataspace; expected {', '.join(SPACES)}")
        found.append(SPACES[name.lower()])
    return tuple(name for name in TENSORS if name in found)


def _items(given: Any, where: str) -> list[str]:
    """A list of texts, or what one text separates by commas or spaces."""
    if isinstance(given, str):
        return given.replace(",", " ").split()
    if not isinstance(given, list | None) or not all(isinstance(item, str) for item in given or ()):
        raise InputError(f"{where} must be a list of words, got {shorten(given)}")
    return given or []


_FACTOR = re.compile(r"\s*([A-Za-z]+)\s*(<?=|<)\s*0*([0-9]+)\s*")


def _open_dims(constraints: Mapping[str, Any], where: str) -> tuple[str, ...] | None:
    """The dims whose factors no constraint fixes at 1; None if that is all of them."""
    key = "factors" if constraints.get("factors") else "factors_only"
    closed = set()
    for text in _items(constraints.get(key), f"{where}: {key}"):
        found = _FACTOR.fullmatch(text)
        if not found:
            raise InputError(f"{where}: {shorten(text)} is no factor; expected such as C=1 or M<=16")
        dim, sign, number = found.groups()
        if number == "1" and sign != "<":
            closed.add(DIMS.get(dim, dim))
    if not closed:
        return None
    return tuple(dim for dim in ("R", "S", "P", "Q", "C", "K", "N") if dim not in closed)


_ARITHMETIC: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
}
_ARITHMETIC_TEXT = re.compile(r"[0-9.eE+*/() -]{1,100}")


def _number(value: Any, where: str) -> float:
    """A number, or the arithmetic of some in a text."""
    number = -1.0
    with suppress(SyntaxError, TypeError, ValueError, ZeroDivisionError):
        if not isinstance(value, str):
            number = float(value)
        elif _ARITHMETIC_TEXT.fullmatch(value):
            number = _calculated(ast.parse(value.strip(), mode="eval").body)
    if isinstance(value, bool) or not 0 < number < 2**60:
        raise InputError(f"{where}: {shorten(value)} is no number above 0, nor arithmetic of some")
    return number


def _whole(number: float, where: str) -> int:
    """The whole part of a number, which must be at least 1."""
    if not 1 <= number <= MAX_WORDS:
        raise InputError(f"{where} must be 1 to {MAX_WORDS}, got {number:g}")
    return int(number)


def _calculated(node: ast.expr) -> float:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return float(node.value)
    if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
        return float(_ARITHMETIC[type(node.op)](_calculated(node.left), _calculated(node.right)))
    raise ValueError("not arithmetic")
