"""`timeloop-arch.yaml` of a machine of levels: its architecture and, as `ERT`, its energies.

A level that stores is a component, what is spread below it a container `below_LEVEL` with a mesh. A level
that stores nothing is a container alone, which Timeloop calls `inter_NAME_spatial`; loops of such a level
stand at a component `NAME_loops` that stores nothing either.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dse.domains.levels.machine import TENSORS, Level, Machine
from dse.domains.levels.mapping import HierarchyMapping
from dse.domains.levels.workload import CONV_DIMS
from dse.support.notes import with_note
from dse.support.yaml_text import Tagged, dump

NAMES = {dim: "M" if dim == "K" else dim for dim in CONV_DIMS}
"""How Timeloop's published problems call each dim of a workload."""
SPACES = {"W": "Weights", "I": "Inputs", "O": "Outputs"}
BITS = 8
"""Of a word: what reading an architecture takes it for where it does not say."""


def architecture_text(machine: Machine, mapping: HierarchyMapping) -> str:
    """The file; `mapping` says where loops stand at levels that store nothing."""
    text = dump(f"{machine.name}, in words of {BITS} bits", _architecture(machine, mapping))
    return with_note(text, "machine", machine.to_dict())


def stores(machine: Machine, place: int) -> bool:
    """Whether a level may hold anything: the outermost one does, others as they say."""
    return place == 0 or bool(machine.levels[place].keeps) or machine.levels[place].may_keep != ()


def mesh_name(machine: Machine, place: int) -> str:
    """The container whose mesh is below a level."""
    level = machine.levels[place]
    return f"below_{level.name}" if stores(machine, place) else base(level.name)


def loops_name(level: Level) -> str:
    """The component at which the loops of a level that stores nothing stand."""
    return f"{base(level.name)}_loops"


def base(name: str) -> str:
    """`PE` of `inter_PE_spatial`, which is how Timeloop calls what is spread by a container `PE`."""
    found = name.removeprefix("inter_").removesuffix("_spatial")
    return found if f"inter_{found}_spatial" == name else name


def _architecture(machine: Machine, mapping: HierarchyMapping) -> dict[str, Any]:
    taken = {level.name for level in machine.levels}
    system, mac = _free("system", taken), _free("mac", taken)
    clock = {"technology": "45nm", "global_cycle_seconds": machine.cycle_seconds}
    nodes, tables, path = [Tagged("!Container", name=system, attributes=clock)], [], system
    for place, (level, mapped) in enumerate(zip(machine.levels, mapping.levels, strict=True)):
        if stores(machine, place):
            nodes.append(_component(level, outermost=place == 0))
            pj = {name.removesuffix("_pj"): energy for name, energy in vars(level.energy).items()}
            name = f"{path}.{level.name}[1..{machine.instances[place]}]"
            tables.append(_table(name, {**pj, "leak": level.leak_pj}))
        elif mapped.temporal:
            nodes.append(_nothing(loops_name(level)))
        if level.fan_out > 1:
            name = mesh_name(machine, place)
            nodes.append(_container(name, level))
            path += f".{name}[1..{machine.instances[place] * level.fan_out}]"
    widths = {"multiplier_width": BITS, "adder_width": BITS}
    nodes.append(Tagged("!Component", name=mac, **{"class": "intmac"}, attributes=widths))
    tables.append(_table(f"{path}.{mac}[1..{machine.macs}]", {"compute": machine.mac_pj}))
    return {"architecture": {"version": 0.4, "nodes": nodes}, "ERT": {"version": 0.4, "tables": tables}}


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _component(level: Level, *, outermost: bool) -> Tagged:
    blocks, rest = divmod(level.capacity or 0, level.block)
    size = {} if level.capacity is None else {"entries": level.capacity} if rest else {"depth": blocks}
    rates = {"read": level.bandwidth.read, "write": level.bandwidth.write, "shared": level.bandwidth.shared}
    return Tagged(
        "!Component",
        name=level.name,
        **{"class": "DRAM" if level.capacity is None and outermost else "SRAM"},
        attributes={
            "width": BITS * level.block * level.cluster,
            "datawidth": BITS,
            "block_size": level.block,
            "cluster_size": level.cluster,
            **size,
            **{f"{kind}_bandwidth": words for kind, words in rates.items() if words is not None},
        },
        **_constraints(dataspace={} if outermost else _dataspaces(level), temporal=_closed(level.loops)),
    )


def _container(name: str, level: Level) -> Tagged:
    alone = [*(["W", "I"] if not level.multicast else []), *(["O"] if not level.reduction else [])]
    spatial = _closed(level.spread) | ({"no_reuse": [SPACES[tensor] for tensor in alone]} if alone else {})
    return Tagged("!Container", name=name, spatial={"meshX": level.fan_out}, **_constraints(spatial=spatial))


def _nothing(name: str) -> Tagged:
    """A component that stores nothing."""
    attributes = {"width": 1, "depth": 1, "datawidth": 1, "technology": -1}
    bypass = _constraints(dataspace={"bypass": list(SPACES.values())})
    return Tagged("!Component", name=name, **{"class": "dummy_storage"}, attributes=attributes, **bypass)


def _dataspaces(level: Level) -> dict[str, Any]:
    may = TENSORS if level.may_keep is None else level.may_keep
    bypass = [name for name in TENSORS if name not in (*level.keeps, *may)]
    found = {"keep": list(level.keeps), "bypass": bypass}
    return {key: [SPACES[name] for name in names] for key, names in found.items() if names}


def _closed(dims: Sequence[str] | None) -> dict[str, Any]:
    """Factors of 1 for the dims that are none of these."""
    closed = [] if dims is None else [dim for dim in CONV_DIMS if dim not in dims]
    return {"factors": [f"{NAMES[dim]}=1" for dim in closed]} if closed else {}


def _constraints(**kinds: dict[str, Any]) -> dict[str, Any]:
    found = {kind: said for kind, said in kinds.items() if said}
    return {"constraints": found} if found else {}


def _table(name: str, actions: Mapping[str, float]) -> dict[str, Any]:
    return {"name": name, "actions": [{"name": action, "energy": pj} for action, pj in actions.items()]}
