"""Timeloop v4 of a machine of levels: `timeloop-arch.yaml`, `timeloop-problem.yaml`, `timeloop-mapping.yaml`.

The architecture has, as `ERT`, the machine's energies. A level that stores is a component, what is spread
below it a container `below_LEVEL` with a mesh. A level that stores nothing is a container alone, which
Timeloop calls `inter_NAME_spatial`; loops of such a level stand at a component `NAME_loops` that stores
nothing either.

In the mapping K is Timeloop's M, permutations are innermost first, and meshes lie along X.
`timeloop-mapping.txt` has the line that Timeloop's mapper prints.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dse.core.timeloop_files import PROBLEM, problem_text, read_directives, read_factors, read_order
from dse.domains.levels.formats import Written
from dse.domains.levels.machine import TENSORS, Level, Machine
from dse.domains.levels.mapping import HierarchyMapping, LevelMapping, Loop
from dse.domains.levels.nest import waiting_words
from dse.domains.levels.workload import CONV_DIMS
from dse.support.errors import InputError, shorten, unknown_name
from dse.support.strict_yaml import Tagged, dump_yaml, with_note

NAMES = {dim: "M" if dim == "K" else dim for dim in CONV_DIMS}
"""How Timeloop's published problems call each dim of a workload."""
SPACES = {"W": "Weights", "I": "Inputs", "O": "Outputs"}
BITS = 8
"""Of a word: what reading an architecture takes it for where it does not say."""
ARCHITECTURE, MAPPING, LINE = "timeloop-arch.yaml", "timeloop-mapping.yaml", "timeloop-mapping.txt"
DIM_OF = {name: dim for dim, name in NAMES.items()} | {"K": "K"}
TENSOR_OF = {space.lower(): tensor for tensor, space in SPACES.items()}
WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def refuse(machine: Machine) -> None:
    """InputError for names that Timeloop cannot have."""
    for level in machine.levels:
        if not WORD.fullmatch(level.name):
            raise InputError(
                "format timeloop: a level's name there is a letter, then letters, digits and _; got "
                f"{shorten(level.name)}"
            )


def write(problem: Any, mapping: HierarchyMapping) -> Written:
    """The files. InputError for loops that are spread over nothing."""
    machine: Machine = problem.accelerator
    for level, mapped in zip(machine.levels, mapping.levels, strict=True):
        if mapped.spatial and level.fan_out == 1:
            raise InputError(f"format timeloop: {level.name} spreads loops over the one instance below it")
    about = f"A mapping of {problem.layer.name or 'layer'}: {problem.layer}\npermutations are innermost first"
    return {
        ARCHITECTURE: architecture_text(machine, mapping),
        PROBLEM: problem_text(problem.layer, batch=True),
        MAPPING: dump_yaml(about, {"mapping": list(_directives(machine, mapping))}),
        LINE: mapping.text() + "\n",
    }, _unsaid(machine)


def _unsaid(machine: Machine) -> list[str]:
    found = []
    if machine.first_fill != "elided":
        counted = 'first_fill = "counted", whether words that nothing is added to yet count'
        found.append(f"timeloop has no words for {counted}")
    if waits := waiting_words(machine):
        found.append(f"timeloop has no words for {' and '.join(waits)}: its latency is a roofline")
    return found


def _directives(machine: Machine, mapping: HierarchyMapping) -> Iterator[dict[str, Any]]:
    for place, (level, mapped) in enumerate(zip(machine.levels, mapping.levels, strict=True)):
        if stores(machine, place):
            yield _loops(level.name, "temporal", mapped.temporal)
            bypass = [name for name in TENSORS if name not in mapped.keep]
            kept = {"keep": [name for name in TENSORS if name in mapped.keep], "bypass": bypass}
            spaces = {key: [SPACES[name] for name in names] for key, names in kept.items()}
            yield {"target": level.name, "type": "dataspace", **spaces}
        elif mapped.temporal:
            yield _loops(loops_name(level), "temporal", mapped.temporal)
        if level.fan_out > 1:
            yield _loops(mesh_name(machine, place), "spatial", mapped.spatial) | {"split": len(NAMES)}


def _loops(target: str, kind: str, loops: tuple[Loop, ...]) -> dict[str, Any]:
    counts = dict(loops)
    innermost_first = [*reversed(counts), *(dim for dim in NAMES if dim not in counts)]
    return {
        "target": target,
        "type": kind,
        "factors": [f"{name}={counts.get(dim, 1)}" for dim, name in NAMES.items()],
        "permutation": [NAMES[dim] for dim in innermost_first],
    }


# Reading


def read(text: str, data: Any, where: str, problem: Any) -> HierarchyMapping:
    """The mapping that the `data` of a file say. InputError where a directive is wrong, or for no level."""
    machine: Machine = problem.accelerator
    places = _places(machine)
    temporal: list[tuple[Loop, ...]] = [()] * len(machine.levels)
    spatial, kept = list(temporal), [_usual(machine, place) for place in range(len(machine.levels))]
    for at, entry, target, kind in read_directives(data, where):
        if target not in places:
            raise unknown_name("target", target, list(places), at)
        place = places[target]
        if kind == "dataspace":
            kept[place] = _kept(entry, at, _usual(machine, place))
        elif loops := _read_loops(entry, at):
            mapped = temporal if kind == "temporal" else spatial
            if mapped[place]:
                raise InputError(
                    f"{at}: {machine.levels[place].name} has {kind} loops of another directive already"
                )
            mapped[place] = loops
    levels = zip(kept, temporal, spatial, strict=True)
    return HierarchyMapping(tuple(LevelMapping(*level) for level in levels))


def _places(machine: Machine) -> dict[str, int]:
    """The levels by what directives may call them: a level's own name counts before what is made of it."""
    found: dict[str, int] = {}
    for place, level in enumerate(machine.levels):
        meshes = [mesh_name(machine, place)] if level.fan_out > 1 else []
        for name in (*meshes, base(level.name), loops_name(level)):
            found.setdefault(name, place)
            found.setdefault(f"inter_{name}_spatial", place)
    return found | {level.name: place for place, level in enumerate(machine.levels)}


def _usual(machine: Machine, place: int) -> tuple[str, ...]:
    """What a level keeps where no directive says so: all that it may."""
    level = machine.levels[place]
    if place == 0 or level.may_keep is None:
        return TENSORS
    return tuple(name for name in TENSORS if name in (*level.keeps, *level.may_keep))


def _kept(entry: Mapping[str, Any], at: str, usual: tuple[str, ...]) -> tuple[str, ...]:
    """What a directive has a level keep; where it names only what bypasses, the rest of the usual."""
    keep, bypass = (_tensors(entry.get(key), f"{at}.{key}") for key in ("keep", "bypass"))
    return tuple(
        name for name in TENSORS if name in (usual if keep is None else keep) and name not in (bypass or ())
    )


def _tensors(given: Any, at: str) -> tuple[str, ...] | None:
    if given is None:
        return None
    names = given.replace(",", " ").split() if isinstance(given, str) else given
    if not isinstance(names, list):
        raise InputError(f"{at} must be a list of dataspaces, got {shorten(given)}")
    for name in names:
        if str(name).lower() not in TENSOR_OF:
            raise unknown_name("dataspace", str(name), list(SPACES.values()), at)
    return tuple(TENSOR_OF[str(name).lower()] for name in names)


def _read_loops(entry: Mapping[str, Any], at: str) -> tuple[Loop, ...]:
    """The loops that run more than once, the outermost first."""
    counts = read_factors(entry.get("factors", []), at, DIM_OF)
    for dim, (count, last) in counts.items():
        if count != last:
            raise InputError(
                f"{at}.factors: {NAMES[dim]}={count},{last}: here every round has all of a factor"
            )
    inside_out = read_order(entry.get("permutation", []), at, DIM_OF, CONV_DIMS)
    return tuple((dim, counts[dim][0]) for dim in reversed(inside_out) if counts.get(dim, (1, 1))[0] > 1)


def architecture_text(machine: Machine, mapping: HierarchyMapping) -> str:
    """The file; `mapping` says where loops stand at levels that store nothing."""
    text = dump_yaml(f"{machine.name}, in words of {BITS} bits", _architecture(machine, mapping))
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
    halves = {"multiple_buffering": level.halves} if level.halves > 1 else {}
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
            **halves,
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
