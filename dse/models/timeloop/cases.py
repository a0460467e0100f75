"""Cases: lines of JSON that each hold a layer, a machine and a mapping, priced as written.

Types, keys and names are checked strictly, values are not: a factor of zero or a tile that does not fit comes
back as invalid with its reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from dse.domains.levels.machine import Machine
from dse.domains.levels.mapping import HierarchyMapping, read_mapping
from dse.domains.levels.workload import Workload, read_parts
from dse.models.timeloop import layout_of, prepared_prices, reference
from dse.models.timeloop.case_machine import build_machine, read_hardware
from dse.models.timeloop.faults import Fault, fault_text
from dse.models.timeloop.latency import Counts
from dse.support import strict_json
from dse.support.case_lines import parts_of
from dse.support.errors import InputError

FIGURES = ("cycles", "energy_uj", "edp", "utilization")
Result = dict[str, Any]


@dataclass(frozen=True)
class HierarchyCase:
    """One line: what is computed, on what and how; or `reason`, why its values cannot be."""

    workload: Workload | None
    machine: Machine | None
    mapping: HierarchyMapping
    reason: str = ""


class CaseReader:
    """Reads lines one by one; a layer or a machine that comes again is not built again."""

    def __init__(self) -> None:
        self._layers: dict[str, _Layer] = {}
        self._machines: dict[str, tuple[Machine | None, str]] = {}

    def read(self, text: str, where: str) -> HierarchyCase:
        """The case of one line; raises InputError, beginning with `where`, if it is malformed."""
        entry = parts_of(strict_json.parse_json(text, where), where)
        layer = self._layer(entry["layer"], f"{where}: layer")
        machine, machine_fault = self._machine(entry["hardware"], f"{where}: hardware")
        mapping = read_mapping(entry["mapping"], layer.dims, layer.tensors, f"{where}: mapping")
        reason = layer.reason or machine_fault
        if machine and not reason:
            reason = _shape_fault(mapping, machine)
        return HierarchyCase(layer.workload, machine, mapping, reason)

    def _layer(self, data: object, where: str) -> _Layer:
        key = repr(data)
        if key not in self._layers:
            dims, tensors = read_parts(data, where)
            names = frozenset(dim for dim, _ in dims), frozenset(tensor.name for tensor in tensors)
            try:
                self._layers[key] = _Layer(*names, Workload(dims, tensors))
            except InputError as error:
                self._layers[key] = _Layer(*names, None, str(error))
        return self._layers[key]

    def _machine(self, data: object, where: str) -> tuple[Machine | None, str]:
        key = repr(data)
        if key not in self._machines:
            entry = read_hardware(data, where)
            try:
                self._machines[key] = build_machine(entry), ""
            except InputError as error:
                self._machines[key] = None, str(error)
        return self._machines[key]


@dataclass(frozen=True)
class _Layer:
    dims: frozenset[str]
    tensors: frozenset[str]
    workload: Workload | None
    reason: str = ""


def _shape_fault(mapping: HierarchyMapping, machine: Machine) -> str:
    """Why a mapping can be no row of that machine, whatever its factors."""
    if len(mapping.levels) != len(machine.levels):
        return f"the mapping has {len(mapping.levels)} levels, the machine {len(machine.levels)}"
    for level, mapped in zip(machine.levels, mapping.levels, strict=True):
        for loops in (mapped.temporal, mapped.spatial):
            if len(dict(loops)) < len(loops):
                return f"{level.name}: two loops of one kind over the same dim"
    return ""


def price_cases(cases: Sequence[HierarchyCase], *, detail: bool = False) -> list[Result]:
    """A result a case, in their order: status, reason and figures, which are None where it is invalid.

    With `detail`, the counts by level and tensor and the energy by level too.
    """
    results = [_invalid(case.reason) for case in cases]
    for places in _alike(cases):
        for place, result in zip(places, _price_group([cases[place] for place in places]), strict=True):
            results[place] = result
    if detail:
        for case, result in zip(cases, results, strict=True):
            result |= _detail(case)
    return results


def _alike(cases: Sequence[HierarchyCase]) -> Iterator[list[int]]:
    """The places of the cases that can be priced, those of one layer and machine together."""
    groups: dict[tuple[int, int, bool], list[int]] = {}
    for place, case in enumerate(cases):
        if not case.reason:
            # The reader builds what is equal once, so that identity is enough.
            key = id(case.workload), id(case.machine), case.mapping.is_ragged
            groups.setdefault(key, []).append(place)
    yield from groups.values()


def _price_group(cases: Sequence[HierarchyCase]) -> Iterator[Result]:
    """The results of cases that share a layer and a machine."""
    workload, machine = cases[0].workload, cases[0].machine
    assert workload is not None
    assert machine is not None
    try:
        price = prepared_prices(workload, machine)
    except InputError as error:
        yield from (_invalid(str(error)) for _ in cases)
        return
    if cases[0].mapping.is_ragged:
        yield from (_of_any_tiles(workload, machine, case.mapping) for case in cases)
        return
    priced = price(layout_of(workload, machine).encode([case.mapping for case in cases]))
    columns = zip(
        priced.cycles.tolist(),
        priced.energy_pj.tolist(),
        priced.fault.tolist(),
        priced.where.tolist(),
        priced.need.tolist(),
        strict=True,
    )
    for cycles, energy_pj, fault, where, need in columns:
        if fault:
            yield _invalid(fault_text(Fault(fault), where, need, workload, machine))
        else:
            yield _valid(workload, machine, cycles, energy_pj)


def _of_any_tiles(workload: Workload, machine: Machine, mapping: HierarchyMapping) -> Result:
    """The result of a mapping that says how long its tiles are: by the plain reference."""
    several = any(
        sum(map(bool, one.coefficients(dim))) > 1 for one in workload.tensors for dim in workload.names
    )
    if several:
        return _invalid("a dim moves several axes of one tensor: its tiles have to divide")
    costs = reference.evaluate_mapping(workload, machine, mapping)
    if isinstance(costs, reference.NotPriced):
        return _invalid(costs.reason)
    return _valid(workload, machine, costs.cycles, costs.energy_pj)


def _valid(workload: Workload, machine: Machine, cycles: int, energy_pj: float) -> Result:
    # The published products have cycles in single precision: seven digits show it.
    edp = float(np.float32(cycles)) * energy_pj * 1e-12
    figures = (cycles, energy_pj * 1e-6, edp, workload.macs / (machine.macs * cycles))
    return {"status": "ok", "reason": None, **dict(zip(FIGURES, figures, strict=True))}


def _invalid(reason: str) -> Result:
    return {"status": "invalid", "reason": reason, **dict.fromkeys(FIGURES)}


def _detail(case: HierarchyCase) -> Result:
    """Counts of one instance by level and tensor, and energy in uJ by level; None where invalid."""
    costs = None
    if case.workload and case.machine and not case.reason:
        costs = reference.evaluate_mapping(case.workload, case.machine, case.mapping)
    if not isinstance(costs, reference.Costs):
        return {"counts": None, "level_energy_uj": None}
    counts = {
        level: {tensor: _plain(count) for tensor, count in kept.items()}
        for level, kept in costs.counts.items()
    }
    energy = {**{level: pj * 1e-6 for level, pj in costs.level_pj.items()}, "MAC": costs.mac_pj * 1e-6}
    return {"counts": counts, "level_energy_uj": energy}


def _plain(counts: Counts) -> Result:
    """The counts as plain data, in words of the tensor."""
    return {name: value for name, value in asdict(counts).items() if name != "bits" and value is not None}
