"""Energy reference tables, as Accelergy writes them: pJ of a component's actions."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from dse.support import strict_yaml
from dse.support.errors import InputError, unknown
from dse.support.files import read_text

ENDINGS = (".yaml", ".yml")
INSTANCES = re.compile(r"\[[^\[\]]*\]")
"""A list of instances, as in PE[0..15], says no more than spatial does."""
COMPUTE = "compute"
ACTIONS = {"read": "read_pj", "write": "write_pj", "update": "update_pj"}
"""What a level's energies are called there; an update that is not named is a write."""

Table = Mapping[str, Mapping[str, float]]
"""By component, the last part of its name, the pJ of each of its actions."""


def energies_of(table: Any, where: str) -> dict[str, dict[str, float]]:
    """What a parsed table says; nothing where there is none. InputError of one that is none."""
    found: dict[str, dict[str, float]] = {}
    try:
        for entry in (table or {}).get("tables") or ():
            name = INSTANCES.sub("", str(entry["name"])).rpartition(".")[2]
            found[name] = {str(one["name"]): float(one["energy"]) for one in entry["actions"]}
    except (AttributeError, KeyError, TypeError, ValueError):
        raise InputError(f"{where}: ERT: tables must have a name and actions with energies") from None
    return found


def read_ert(path: str) -> Table:
    """The table in a YAML file, below its key `ERT`. InputError in one line where it is not right."""
    where = f"technology file {path!r}"
    data = strict_yaml.parse(read_text(path, where), where)
    if not isinstance(data, dict) or "ERT" not in data:
        raise InputError(f"{where} has no 'ERT', the table that Accelergy writes")
    found = energies_of(data["ERT"], where)
    if not found:
        raise InputError(f"{where}: ERT: it has no tables")
    for name, actions in found.items():
        for action, pj in actions.items():
            if not (math.isfinite(pj) and pj >= 0):
                raise InputError(f"{where}: ERT: {name}, {action}: energy must be finite and not negative")
    return found


def level_energies(table: Table, level: str) -> dict[str, float]:
    """The energies of a level, by the component of its name."""
    if level not in table:
        raise unknown("component", level, table, "ERT: levels go by their components' names")
    actions = table[level]
    found = {ours: actions[theirs] for theirs, ours in ACTIONS.items() if theirs in actions}
    if "read_pj" not in found or "write_pj" not in found:
        raise InputError(f"ERT: component {level} lacks the actions 'read' and 'write'")
    return {**found, "update_pj": found.get("update_pj", found["write_pj"])}


def mac_energy(table: Table) -> tuple[str, float]:
    """The component that computes, and its energy of a MAC."""
    found = [(name, actions[COMPUTE]) for name, actions in table.items() if COMPUTE in actions]
    if len(found) != 1:
        raise InputError(
            f"ERT: {len(found)} components have the action {COMPUTE!r}; with one it is a MAC's energy, "
            "otherwise give mac_pj"
        )
    return found[0]
