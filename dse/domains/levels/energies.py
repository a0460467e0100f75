"""The energies of a machine that its file takes from a table: of published ones, with their sources, or an
energy reference table as Accelergy writes it, with pJ of a component's actions."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dse.core.technology import ACCESSES, SRAM, Technology, load_technology
from dse.domains.levels.machine import Energy
from dse.support import strict_yaml
from dse.support.errors import InputError, unknown_name
from dse.support.files import read_text

ENDINGS = (".yaml", ".yml")
INSTANCES = re.compile(r"\[[^\[\]]*\]")
"""A list of instances, as in PE[0..15], says no more than spatial does."""
COMPUTE = "compute"
ACTIONS = {"read": "read_pj", "write": "write_pj", "update": "update_pj"}
"""What a level's energies are called there; an update that is not named is a write."""
ALIASES = {
    "random_read": "read",
    "random_write": "write",
    "random_fill": "write",
    "random_update": "update",
    "mac_random": COMPUTE,
    "random_compute": COMPUTE,
    "mac": COMPUTE,
}
"""Names of older tables, as those that ship with Timeloop's exercises."""
NO_CHANGE = ("idle", "metadata_", "gated_", "skipped_", "decompression", "compression", "constant_",
             "reused_", "repeated_", "mac_gated", "mac_reused")  # fmt: skip
"""How actions are called, or begin, that nothing here does: those of sparse machines, and waiting."""

Table = Mapping[str, Mapping[str, float]]
"""By component, the last part of its name, the pJ of each of its actions."""


def energies_of(table: Any, where: str) -> dict[str, dict[str, float]]:
    """What a parsed table says; nothing where there is none. InputError of one that is none.

    Actions go by today's names; InputError of two of the same, and of one that is not known.
    """
    found: dict[str, dict[str, float]] = {}
    try:
        for entry in (table or {}).get("tables") or ():
            name = INSTANCES.sub("", str(entry["name"])).rpartition(".")[2]
            if name in found:
                raise InputError(f"{where}: ERT: component {name} is there twice")
            found[name] = {}
            for one in entry["actions"]:
                _add(found[name], str(one["name"]), float(one["energy"]), f"{where}: ERT: component {name}")
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{where}: ERT: tables must have a name and actions with energies") from None
    return found


def _add(actions: dict[str, float], name: str, pj: float, where: str) -> None:
    """Enter an action's energy under today's name."""
    if name.startswith(NO_CHANGE):
        return
    known = ALIASES.get(name, name)
    if actions.setdefault(known, pj) != pj:
        raise InputError(
            f"{where}: {name} is there twice under names that mean the same, with other energies"
        )


@dataclass(frozen=True)
class NodeEnergies:
    """The energies of an architecture's nodes; none where there is no table."""

    known: Table
    given: bool

    @classmethod
    def of(cls, table: Any) -> NodeEnergies:
        """Those of a parsed table."""
        if table is None:
            return cls({}, False)
        known = energies_of(table, "architecture")
        if isinstance(table, Mapping):
            for key in table:
                if key not in ("version", "tables"):
                    raise unknown_name("key", key, ("version", "tables"), "ERT")
        return cls(known, True)

    def see_nodes(self, nodes: Sequence[str]) -> None:
        """InputError of a component that takes energy and is no node."""
        for name, actions in self.known.items():
            if name not in nodes and any(actions.values()):
                raise unknown_name("node", name, nodes, "ERT: its components are nodes of the architecture")

    def level(self, name: str) -> Energy | None:
        """What a level's accesses take; None where no table says it, and it goes by the size."""
        if name not in self.known:
            return None
        return Energy(**level_energies(self.known, name))

    def leak(self, name: str) -> float:
        """What an instance leaks a cycle."""
        return self.known.get(name, {}).get("leak", 0.0)

    def mac(self, name: str) -> float:
        """What a MAC takes: 0 where there is no table."""
        if not self.given:
            return 0.0
        if COMPUTE not in self.known.get(name, {}):
            raise InputError(f"ERT: component {name}, which computes, lacks the action {COMPUTE!r}")
        _see_known(name, self.known[name])
        return self.known[name][COMPUTE]


def read_ert(path: str) -> Table:
    """The table in a YAML file, below its key `ERT`. InputError in one line where it is not right."""
    where = f"technology file {path!r}"
    data = strict_yaml.parse_yaml(read_text(path, where), where)
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
        raise unknown_name("component", level, table, "ERT: levels go by their components' names")
    actions = table[level]
    found = {ours: actions[theirs] for theirs, ours in ACTIONS.items() if theirs in actions}
    if "read_pj" not in found or "write_pj" not in found:
        raise InputError(f"ERT: component {level} lacks the actions 'read' and 'write'")
    _see_known(level, actions)
    return {**found, "update_pj": found.get("update_pj", found["write_pj"])}


def _see_known(component: str, actions: Mapping[str, float]) -> None:
    """InputError of an action that takes energy and is not known."""
    for name, pj in actions.items():
        if pj and name not in (*ACTIONS, COMPUTE, "leak"):
            known = (*ACTIONS, COMPUTE, "leak", *ALIASES)
            raise unknown_name("action", name, known, f"ERT: component {component}")


def mac_energy(table: Table) -> tuple[str, float]:
    """The component that computes, and its energy of a MAC."""
    found = [(name, actions[COMPUTE]) for name, actions in table.items() if COMPUTE in actions]
    if len(found) != 1:
        raise InputError(
            f"ERT: {len(found)} components have the action {COMPUTE!r}; with one it is a MAC's energy, "
            "otherwise give mac_pj"
        )
    _see_known(found[0][0], table[found[0][0]])
    return found[0]


ERT = "ert"
BY_TABLE = ACCESSES
"""What an access may be of, instead of a number."""


class Energies:
    """A machine's energy of a MAC, and those of accesses by a table; `sources` gathers what is used."""

    def __init__(
        self,
        technology: str | None,
        mac_pj: float | None,
        word_bits: int,
        scaled: tuple[float | None, float | None] = (None, None),
    ) -> None:
        self._table: Technology | None = None
        self._ert = read_ert(technology) if technology and technology.endswith(ENDINGS) else None
        if technology is not None and self._ert is None:
            self._table = load_technology(technology)
        self._file = technology
        process_nm, volts = scaled
        if process_nm is not None and volts is not None and self._table is not None:
            self._table = self._table.at(process_nm, volts)
        elif scaled != (None, None):
            raise InputError("a technology, process_nm and volts belong together: one of them is missing")
        self.sources: list[str] = []
        if self._ert is not None and mac_pj is None:
            component, mac_pj = mac_energy(self._ert)
            self.sources.append(f"MAC {mac_pj:.4g} pJ: {component}, compute ({technology})")
        elif self._table is None and mac_pj is None:
            raise InputError("lacks 'mac_pj', and a technology that says it")
        if self._table is not None and mac_pj is None:
            found = self._table.mac(word_bits)
            mac_pj = found.pj
            self._say(f"MAC of {word_bits} bits", found.pj, found.source)
        elif self._table is not None:
            self.own(f"MAC of {word_bits} bits", mac_pj or 0.0)
        self.mac_pj = mac_pj or 0.0

    def own(self, what: str, pj: float, how: str = "as the file says") -> None:
        """Say of an energy that it is the file's own, where others are a table's."""
        if self._table is not None or self._ert is not None:
            self.sources.append(f"{what} {pj:.4g} pJ: {how}")

    def of_component(self, level: str) -> dict[str, float]:
        """The pJ of a level's reads, writes and updates by an energy reference table."""
        if self._ert is None:
            raise InputError(f"access_pj is {ERT!r}, but technology names no file of Accelergy's, a .yaml")
        found = level_energies(self._ert, level)
        parts = ", ".join(f"{key.removesuffix('_pj')} {pj:.4g}" for key, pj in found.items())
        self.sources.append(f"{level}, {parts} pJ: its component's actions ({self._file})")
        return found

    def access(self, kind: str, level: str, capacity: int | None, block: int, bits: int) -> dict[str, float]:
        """The pJ of a level's reads, writes and updates, whose words have `bits`: `block` of them at once."""
        if self._table is None:
            raise InputError(f"access_pj is {kind!r}, but the machine names no technology")
        if kind == SRAM and capacity is None:
            raise InputError(f"access_pj is {kind!r}, but there is no size; give size or size_bytes")
        size = (capacity or 0) * bits / 8
        read, write = self._table.access(kind, block * bits, size, self.mac_pj)
        both = {"an access": read} if read == write else {"a read": read, "a write": write}
        for what, energy in both.items():
            self._say(f"{level}, {what} of {block * bits:,} bits", energy.pj, energy.source)
        return {"read_pj": read.pj, "write_pj": write.pj, "update_pj": write.pj}

    def _say(self, what: str, pj: float, source: str) -> None:
        table = self._table
        assert table is not None
        self.sources.append(f"{what} {pj:.4g} pJ: {source} ({table.name})")
