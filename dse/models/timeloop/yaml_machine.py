"""A machine in a Timeloop v4 architecture file, as timeloopfe reads it: `architecture` with its `nodes`.

What is read: components and containers, storages side by side, meshes, sizes, widths, blocks, bandwidths,
and of constraints (those of nodes, or of `targets` in sections of their own) what each level keeps and over
which dims it may loop and spread. All else is known to change nothing, or is refused by name
(`yaml_schema`). NodeEnergies are those of an `ERT` in the same file, as Accelergy writes it; what it does not
have goes by the size, and DRAM takes 8 pJ a bit. A note of ours at its end has the machine that the file
was written of, while nothing else is changed.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from dse.domains.levels.architecture import machine_as_written
from dse.domains.levels.energies import NodeEnergies
from dse.domains.levels.formats.zigzag_machine import zigzag_machine
from dse.domains.levels.machine import (
    EVEN,
    MAX_WORDS,
    Bandwidth,
    Energy,
    Level,
    Machine,
    sram_pj,
)
from dse.domains.levels.uneven import with_nests
from dse.models.timeloop.yaml_nodes import (
    MESHES,
    Node,
    items_of,
    kept_at,
    nodes_of,
    spaces_of,
    targeted_nodes,
)
from dse.models.timeloop.yaml_schema import keys_of
from dse.support import strict_yaml
from dse.support.errors import InputError, errors_within, shorten, unknown_name
from dse.support.files import read_text
from dse.support.strict_yaml import noted_data

ENDINGS = (".yaml", ".yml")
DRAM_PJ_A_BIT = 8.0
DEFAULT_BITS = 8
DIMS = {"M": "K"}
"""What Timeloop's convolutions call otherwise."""


RELEVANT = {"W": "RSCK", "I": "RSPQCN", "O": "PQKN"}
"""The dims of each tensor of a convolution."""


def read_yaml_machine(path: str) -> Machine:
    """The machine in the file at `path`; InputError in a line where it is not right.

    Nests of Timeloop's are even.
    """
    where = f"architecture file {path!r}"
    text = read_text(path, where)
    if "{{" in text:
        raise InputError(f"{where}: it holds templates ({{{{...}}}}); give the file that they make")
    data = strict_yaml.parse_yaml(text, where)
    exact = noted_data(text, data, "machine", where)
    if exact is not None:
        return machine_as_written(exact, where)
    if isinstance(data, Mapping) and "memories" in data:
        return zigzag_machine(data, Path(path).stem, where)
    return with_nests(_described(data, Path(path).stem, where), EVEN)


def _described(data: Any, name: str, where: str) -> Machine:
    if not isinstance(data, Mapping) or not isinstance(data.get("architecture"), Mapping):
        raise InputError(f"{where}: there is no architecture with nodes, as Timeloop v4 has it, nor memories")
    nodes = data["architecture"].get("nodes")
    if not isinstance(nodes, list) or not nodes:
        raise InputError(f"{where}: there is no architecture with nodes, as Timeloop v4 has it, nor memories")
    file = keys_of("the file", data, where)
    if file.get("sparse_optimizations"):
        raise InputError(f"{where}: sparse_optimizations are not read: sparse machines are not modelled here")
    keys_of("architecture", file["architecture"], f"{where}: architecture")
    variables = keys_of("variables", file.get("variables"), f"{where}: variables")
    found = targeted_nodes(list(nodes_of(nodes, where)), file, where)
    components = [node for node in found if node.tag == "Component"]
    if len(components) < 2:
        raise InputError(f"{where}: there must be a storage and, last, what computes; got {len(components)}")
    compute = components[-1]
    usual = variables.get("global_cycle_seconds", 1e-9)
    seconds = compute.attributes.get("global_cycle_seconds", usual)
    seconds = _number(seconds, f"{where}: global_cycle_seconds")
    with errors_within(where):
        energies = NodeEnergies.of(file.get("ERT"))
        levels = list(_levels(found[: found.index(compute) + 1], energies))
        machine = Machine(name, tuple(levels), energies.mac(compute.name), clock_ghz=1e-9 / seconds)
        energies.see_nodes([node.name for node in found])
        return machine


def _levels(nodes: list[Node], energies: NodeEnergies) -> Iterator[Level]:
    """The levels above what computes, the last of the nodes; a mesh is a level that keeps nothing."""
    first, instances = True, 1
    for node in nodes:
        place = f"node {shorten(node.name)}"
        mesh = _mesh(node, place, instances)
        instances *= mesh
        if mesh > 1:
            if first:
                raise InputError(f"{place}: there must be one of the outermost level")
            spatial = node.constraints["spatial"]
            multicast, reduction = _reuse(spatial, place)
            yield Level(
                f"inter_{node.name}_spatial",
                fan_out=mesh,
                may_keep=(),
                spread=_open_dims(spatial, place),
                multicast=multicast,
                reduction=reduction,
            )
        elif any(node.constraints["spatial"].values()) and node.tag == "Component":
            raise InputError(f"{place}: it has spatial constraints, and no mesh: leave them out")
        if node.tag == "Component" and node is not nodes[-1]:
            yield _storage(node, energies, place, outermost=first)
            first = False


def _storage(node: Node, energies: NodeEnergies, where: str, *, outermost: bool) -> Level:
    known = node.attributes

    def number(*names: str) -> float | None:
        said = [name for name in names if known.get(name) is not None]
        values = {_number(known[name], f"{where}: {name}") for name in said}
        if len(values) > 1:
            raise InputError(f"{where}: {' and '.join(said)} are the same, and differ; leave out all but one")
        return next(iter(values), None)

    def count(usual: float, *names: str) -> int:
        return _whole(number(*names) or max(1, usual), f"{where}: {names[0]}")

    bits = number("datawidth", "word_bits") or DEFAULT_BITS
    width = number("width", "memory_width", "data_storage_width") or bits
    cluster = count(1, "cluster_size")
    block = count(width // (bits * cluster), "block_size")
    room = _room(number, bits, block, where)
    kind = str(node.data.get("class_", "")).lower()
    # Kinds of DRAM are called otherwise, too.
    is_dram = "dram" in kind or kind.startswith(("lpddr", "hbm", "ddr", "gddr"))
    if is_dram and room is not None:
        raise InputError(f"{where}: it is DRAM and has a size; a DRAM has no limit here: leave one out")
    words = None if room is None else _whole(room, f"{where}: depth * block_size")
    keeps, may_keep = kept_at(node.constraints["dataspace"], where, outermost=outermost)
    if node.beside:
        may_keep = ()
    rates = Bandwidth(*(number(f"{kind}_bandwidth") for kind in ("read", "write", "shared")))
    both = number("bandwidth")
    if both is not None:
        if rates != Bandwidth():
            raise InputError(f"{where}: bandwidth and read_, write_ or shared_bandwidth: leave one out")
        # Timeloop's buffer.cpp gives a half to each.
        rates = Bandwidth(both / 2, both / 2)
    energy = energies.level(node.name)
    return Level(
        node.name,
        capacity=words,
        keeps=keeps,
        may_keep=may_keep,
        loops=_open_dims(node.constraints["temporal"], where),
        bandwidth=rates,
        energy=energy or _by_size(words, block, bits),
        block=block,
        leak_pj=energies.leak(node.name),
        cluster=cluster,
    )


def _room(number: Callable[..., float | None], bits: float, block: int, where: str) -> float | None:
    """Words of a storage; several buffers of it leave each a part."""
    # A row of a depth is a block; entries are words.
    blocks, entries, kilobytes = (
        number("depth", "memory_depth", "data_storage_depth"),
        number("entries"),
        number("sizeKB"),
    )
    words = {
        "depth": None if blocks is None else blocks * block,
        "entries": entries,
        "sizeKB": None if kilobytes is None else kilobytes * 8192 // bits,
    }
    said = {name: count for name, count in words.items() if count is not None}
    if len(set(said.values())) > 1:
        sizes = ", ".join(f"{name} {count:,.10g}" for name, count in said.items())
        raise InputError(f"{where}: its sizes differ, in words: {sizes}; leave out all but one")
    room = next(iter(said.values()), None)
    buffers = number("multiple_buffering") or 1
    return None if room is None else room // buffers


def _by_size(words: int | None, block: int, bits: float) -> Energy:
    if words is None:
        return Energy.of_any(DRAM_PJ_A_BIT * block * bits)
    return Energy.of_any(sram_pj(words / block, int(block * bits)))


def _mesh(node: Node, where: str, above: int) -> int:
    """How many there are of what is from a node on, for each of what is above it."""
    spatial = node.data.get("spatial") or {}
    if not isinstance(spatial, Mapping):
        raise InputError(f"{where}: spatial must be a table such as {{meshX: 16}}")
    for axis in spatial:
        if axis not in MESHES:
            raise unknown_name("key", axis, MESHES, f"spatial of {where}")

    def meshed(table: Mapping[str, Any]) -> int:
        return math.prod(_whole(_number(table.get(axis, 1), where), f"{where}: {axis}") for axis in MESHES)

    said = {"spatial": meshed(spatial), "its attributes": meshed(node.own), "its name": node.count}
    if node.own.get("instances") is not None:
        total = _whole(_number(node.own["instances"], f"{where}: instances"), f"{where}: instances")
        if total % above:
            raise InputError(f"{where}: {total} instances are not equally many for each of {above} above")
        said["instances"] = total // above
    counts = {name: count for name, count in said.items() if count > 1}
    if len(set(counts.values())) > 1:
        words = ", ".join(f"{count} by {name}" for name, count in counts.items())
        raise InputError(f"{where}: there are {words}; leave out all but one")
    return next(iter(counts.values()), 1)


def _reuse(spatial: Mapping[str, Any], where: str) -> tuple[bool, bool]:
    """Whether what is read is sent once to all that need it, and whether sums are added up on their way."""
    alone = {
        name for key in ("no_reuse", "no_multicast_no_reduction") for name in spaces_of(spatial, key, where)
    }
    if ("W" in alone) != ("I" in alone):
        raise InputError(f"{where}: no_reuse of one of Weights and Inputs is not read: name both, or neither")
    return "W" not in alone, "O" not in alone


_FACTOR = re.compile(r"\s*([A-Za-z]+)\s*(<?=|<)\s*0*([0-9]+)\s*")
CONV = ("R", "S", "P", "Q", "C", "K", "N")


def _open_dims(constraints: Mapping[str, Any], where: str) -> tuple[str, ...] | None:
    """The dims whose factors no constraint fixes at 1; None if that is all of them."""
    closed, named = set[str](), set[str]()
    for key in ("factors", "factors_only"):
        for text in items_of(constraints.get(key), f"{where}: {key}"):
            found = _FACTOR.fullmatch(text)
            if not found:
                raise InputError(f"{where}: {shorten(text)} is no factor; expected such as C=1")
            dim, sign, number = found.groups()
            dim = DIMS.get(dim, dim)
            if dim not in CONV:
                raise unknown_name("dim", dim, (*CONV, "M"), f"{where}: {key}")
            if (int(number), sign) not in ((1, "="), (1, "<="), (2, "<")):
                raise InputError(
                    f"{where}: the factor {shorten(text)} is not read: only a factor of 1 is; say others by "
                    "--fix, and leave it out"
                )
            closed.add(dim)
            named.add(dim)
    if constraints.get("factors_only") is not None:
        closed |= set(CONV)
    for name in spaces_of(constraints, "no_iteration_over_dataspaces", where):
        if name == "O":
            raise InputError(
                f"{where}: no_iteration_over_dataspaces of Outputs is not read: whether C is one of their "
                "dims is the layer's to say; give factors, as in [M=1, P=1, Q=1, N=1]"
            )
        closed |= set(RELEVANT[name])
    if not closed:
        return None
    return tuple(dim for dim in CONV if dim not in closed)


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
