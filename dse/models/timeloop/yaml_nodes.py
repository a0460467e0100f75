"""The nodes of a Timeloop v4 architecture file, each with its attributes and its constraints."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from dse.domains.levels.energies import INSTANCES
from dse.domains.levels.machine import MAX_LEVELS, TENSORS
from dse.models.timeloop.yaml_schema import READ, keys_of, see_refused
from dse.support.errors import InputError, one_line, shorten, unknown_name
from dse.support.strict_yaml import line_of

MAX_NODES = 4 * MAX_LEVELS
SPACES = {"weights": "W", "inputs": "I", "outputs": "O"}
MESHES = ("meshX", "meshY")
SECTIONS = ("constraints", "architecture_constraints", "mapspace", "mapspace_constraints")
TARGETED = {"temporal": "temporal", "spatial": "spatial"} | dict.fromkeys(
    ("dataspace", "datatype", "bypass", "bypassing"), "dataspace"
)
"""What sections of constraints call each kind."""
_RANGE = re.compile(r"\[([0-9]{1,9})\.\.([0-9]{1,9})\]")


@dataclass(frozen=True)
class Node:
    """A component or a container, with the attributes of the containers around it, and its constraints."""

    tag: str
    name: str
    data: Mapping[str, Any]
    attributes: Mapping[str, Any]
    own: Mapping[str, Any]
    """Attributes of its own."""
    constraints: Mapping[str, Mapping[str, Any]]
    count: int = 1
    """Instances by its name, as in row[0..3]."""
    beside: bool = False
    """Whether it is a storage beside others: it keeps its own tensors alone."""


def nodes_of(nodes: list[Any], where: str) -> Iterator[Node]:
    if len(nodes) > MAX_NODES:
        raise InputError(f"{where}: it has {len(nodes):,} nodes; at most {MAX_NODES}")
    inherited: dict[str, Any] = {}
    for place, data in enumerate(nodes):
        if isinstance(data, Mapping) and data.get("!") == "Parallel":
            yield from _side_by_side(data, inherited, f"{where}, line {line_of(data, ())}: !Parallel")
            continue
        if not isinstance(data, Mapping) or not isinstance(data.get("name"), str):
            raise InputError(f"{where}: nodes[{place}] must be a !Component or a !Container with a name")
        node = _node(data, inherited, where)
        if node.tag == "Container":
            inherited |= node.own
        yield node


def _side_by_side(data: Mapping[str, Any], inherited: Mapping[str, Any], where: str) -> Iterator[Node]:
    """Storages side by side, each for tensors of its own: as one after another, none keeps others."""
    inside = keys_of("node", data, where).get("nodes")
    if not isinstance(inside, list) or not all(isinstance(one, Mapping) for one in inside):
        raise InputError(f"{where} is not read without nodes")
    kept: set[str] = set()
    for one in inside:
        node = _node(one, inherited, where)
        of_its_own = set(kept_at(node.constraints.get("dataspace", {}), where, outermost=False)[0])
        if node.tag != "Component" or not of_its_own or of_its_own & kept:
            raise InputError(
                f"{where}: only storages are read side by side, each of which keeps tensors of its own "
                f"(dataspace: keep); {shorten(node.name)} is none, or keeps what another does"
            )
        kept |= of_its_own
        yield replace(node, beside=True)


def _node(data: Mapping[str, Any], inherited: Mapping[str, Any], where: str) -> Node:
    """A component or a container; InputError of a key that is not read, with its line."""
    name, tag = str(data.get("name")), str(data.get("!", ""))
    place = f"{where}: node {shorten(name)}"
    if tag not in ("Component", "Container"):
        line = line_of(data, ())
        raise InputError(
            f"{place}: !{one_line(tag)[:60]} is not read{f', line {line}' if line else ''}; "
            "expected !Component, !Container or !Parallel"
        )
    keys = keys_of("node", data, place)
    see_refused("node", keys, place)
    if keys.get("nodes"):
        raise InputError(f"{place}: nodes within it are not read: write them after it")
    own = keys_of("attributes", keys.get("attributes"), f"{place}: attributes")
    see_refused("attributes", own, place)
    given = keys_of("constraints", keys.get("constraints"), f"{place}: constraints")
    constraints = {}
    for kind in READ["constraints"]:
        constraints[kind] = keys_of(kind, given.get(kind), f"{place}: constraints.{kind}")
        see_refused(kind, constraints[kind], place)
    plain = INSTANCES.sub("", name)
    attributes = {key: value for key, value in {**inherited, **own}.items() if key not in MESHES}
    return Node(tag, plain, keys, attributes, own, constraints, _instances(name, place))


def _instances(name: str, where: str) -> int:
    """How many there are by the name, as in PE[0..15]."""
    found = _RANGE.search(name)
    if not found:
        return 1
    first, last = (int(number) for number in found.groups())
    if last < first:
        raise InputError(f"{where}: its instances go from {first} to {last}")
    return last - first + 1


def targeted_nodes(nodes: list[Node], file: Mapping[str, Any], where: str) -> list[Node]:
    """The nodes with the constraints that sections of their own have for them."""
    for section in SECTIONS:
        at = f"{where}: {section}"
        given = file.get(section) or {}
        if not isinstance(given, Mapping):
            raise InputError(f"{at} must be a table with targets, got {shorten(given)}")
        for key in given:
            if key not in ("version", "targets"):
                raise unknown_name("key", key, ("version", "targets"), at)
        for entry in given.get("targets") or ():
            nodes = _constrained(nodes, entry, at)
    return nodes


def _constrained(nodes: list[Node], entry: Any, where: str) -> list[Node]:
    """The nodes with what one entry of a section says of one of them."""
    if not isinstance(entry, Mapping):
        raise InputError(f"{where}: targets must be tables with a target and a type, got {shorten(entry)}")
    line = line_of(entry, ())
    where = f"{where}, line {line}" if line else where
    name, given = str(entry.get("target")), str(entry.get("type"))
    if given not in TARGETED:
        raise unknown_name("type", given, TARGETED, where)
    if name not in [node.name for node in nodes]:
        raise unknown_name("target", name, [node.name for node in nodes], where)
    kind = TARGETED[given]
    rest = {key: value for key, value in entry.items() if key not in ("target", "type")}
    said = keys_of(kind, rest, f"{where}: target {name}")
    see_refused(kind, said, f"{where}: target {name}")
    found: list[Node] = []
    for node in nodes:
        if node.name == name:
            twice = [key for key in said if key in node.constraints[kind]]
            if twice:
                raise InputError(f"{where}: {twice[0]} of {name} is said twice, at the node too")
            node = replace(node, constraints={**node.constraints, kind: {**node.constraints[kind], **said}})
        found.append(node)
    return found


def kept_at(
    constraints: Mapping[str, Any], where: str, *, outermost: bool
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What a level keeps, and what it may: all that is neither kept nor bypassed."""
    names = ("keep", "bypass", "keep_only", "bypass_only")
    kept, bypassed, only, passed = (spaces_of(constraints, key, where) for key in names)
    if outermost:
        if bypassed or (constraints.get("keep_only") is not None and set(only) != set(TENSORS)) or passed:
            raise InputError(f"{where}: the outermost level keeps all tensors: leave what it bypasses out")
        return TENSORS, ()
    if set(kept) & set(bypassed):
        raise InputError(f"{where}: {(set(kept) & set(bypassed)).pop()} is kept and bypassed")
    if constraints.get("keep_only") is not None:
        return only, ()
    if constraints.get("bypass_only") is not None:
        return tuple(name for name in TENSORS if name not in passed), ()
    may = tuple(name for name in TENSORS if name not in kept and name not in bypassed)
    return kept, may


def spaces_of(constraints: Mapping[str, Any], key: str, where: str) -> tuple[str, ...]:
    found: list[str] = []
    for name in items_of(constraints.get(key), f"{where}: {key}"):
        if name == "*" or name.lower() == "all":
            found += TENSORS
            continue
        if name.lower() not in SPACES:
            raise InputError(f"{where}: {shorten(name)} is no dataspace; expected {', '.join(SPACES)}")
        found.append(SPACES[name.lower()])
    return tuple(name for name in TENSORS if name in found)


def items_of(given: Any, where: str) -> list[str]:
    """A list of texts, or what one text separates by commas or spaces."""
    if isinstance(given, str):
        return given.replace(",", " ").split()
    if not isinstance(given, list | None) or not all(isinstance(item, str) for item in given or ()):
        raise InputError(f"{where} must be a list of words, got {shorten(given)}")
    return given or []
