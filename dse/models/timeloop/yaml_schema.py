"""The keys of a Timeloop v4 architecture file: which are read, which change nothing, and which are refused.

A key that is in none of these lists is refused by name, as is one whose meaning is not read here: what it
says would be left out. Names are those of timeloopfe v4 (arch.py, constraints.py, variables.py) and of
Timeloop's `buffer.cpp`; hyphens and underscores are the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, make_dataclass
from typing import Any

from dse.support.errors import InputError, shorten
from dse.support.schema import Schema, read_schema
from dse.support.strict_yaml import Table

NO_CHANGE: dict[str, tuple[str, ...]] = {
    "the file": ("version", "ART", "components", "mapper", "mapping", "problem", "globals"),
    "architecture": ("version", "name", "components"),
    "node": ("subclass", "required_actions"),
    "attributes": (
        "technology", "node", "type", "n_banks", "n_rd_ports", "n_wr_ports", "n_rdwr_ports", "n_ports",
        "latency", "action_latency_cycles", "cycle_time", "global_cycle_seconds", "multiplier_width",
        "adder_width", "num_pipeline_stages", "exponent", "mantissa", "area", "voltage", "temperature",
    ),
    "constraints": ("version",),
    "dataspace": (),
    "temporal": (),
    "spatial": ("permutation",),
    "variables": ("version", "technology"),
}  # fmt: skip
"""Keys known to change nothing of a mapping's latency and energy, as these are computed here."""

READ: dict[str, tuple[str, ...]] = {
    "the file": ("architecture", "ERT", "variables", "constraints", "architecture_constraints", "mapspace",
                 "mapspace_constraints", "sparse_optimizations"),
    "architecture": ("nodes",),
    "node": ("name", "class_", "attributes", "spatial", "constraints", "nodes", "sparse_optimizations",
             "enabled"),
    "attributes": (
        "datawidth", "word_bits", "width", "memory_width", "data_storage_width", "cluster_size", "block_size",
        "depth", "memory_depth", "data_storage_depth", "entries", "sizeKB", "read_bandwidth",
        "write_bandwidth", "shared_bandwidth", "bandwidth", "multiple_buffering", "meshX", "meshY",
        "instances", "min_utilization", "reduction_supported", "multicast_supported",
    ),
    "constraints": ("dataspace", "temporal", "spatial"),
    "dataspace": ("keep", "bypass", "keep_only", "bypass_only", "no_coalesce", "no_refetch"),
    "temporal": ("factors", "factors_only", "permutation", "no_iteration_over_dataspaces",
                 "must_iterate_over_dataspaces", "no_reuse", "rmw_first_update", "maximize_dims"),
    "spatial": ("factors", "factors_only", "split", "no_reuse", "no_multicast_no_reduction",
                "no_link_transfer", "no_iteration_over_dataspaces", "must_iterate_over_dataspaces",
                "maximize_dims", "min_parallelism"),
    "variables": ("global_cycle_seconds",),
}  # fmt: skip
"""Keys that are read, or refused by what they say."""


def _schema(kind: str) -> type:
    names = (*READ[kind], *NO_CHANGE[kind])
    fields = [(name, Any, None) for name in names]
    return make_dataclass(f"_{kind.title().replace(' ', '')}", fields, bases=(Schema,), frozen=True)


_SCHEMAS = {kind: _schema(kind) for kind in READ}


def keys_of(kind: str, data: object, where: str) -> Mapping[str, Any]:
    """The keys of a table of one of those kinds; InputError of another key, with its line."""
    if data is None:
        return {}
    if not isinstance(data, Mapping):
        raise InputError(f"{where}: {kind} must be a table, got {shorten(data)}")
    plain = _plain(data, where)
    # For pydantic, a file's words are as they are; only their names are looked at here.
    read_schema(_SCHEMAS[kind], plain, where)
    return {name: value for name, value in plain.items() if value is not None}


def _plain(data: Mapping[str, Any], where: str) -> Table:
    """Names with underscores, without the tag, and `class` as `class_`."""
    lines, found = dict(getattr(data, "lines", {})), {}
    named: dict[str, int] = {}
    for key, value in data.items():
        if key == "!":
            continue
        name = "class_" if key == "class" else key.replace("-", "_")
        if name in found:
            raise InputError(
                f"{where}: the key {shorten(key)} is there twice, with a hyphen and an underscore"
            )
        found[name] = value
        named[name] = lines.get(key, getattr(data, "line", 0))
    return Table(found, getattr(data, "line", 0), named)


@dataclass(frozen=True)
class Refused:
    """A key that is refused where it says anything, and what to do."""

    kind: str
    key: str
    remedy: str
    nothing: tuple[Any, ...] = ()
    """Values that say nothing."""

    def see(self, keys: Mapping[str, Any], where: str) -> None:
        """InputError if the key says something."""
        value = keys.get(self.key)
        if value in (None, [], {}, "", *self.nothing):
            return
        raise InputError(f"{where}: {self.key} of {self.kind} is not read ({shorten(value)}): {self.remedy}")


LEAVE_OUT = "leave it out if the mapping may be any other"
REFUSED = (
    Refused("node", "sparse_optimizations", "sparse machines are not modelled here"),
    Refused("node", "enabled", "leave the node out of the file", (True,)),
    Refused("attributes", "min_utilization", LEAVE_OUT, (0,)),
    Refused("attributes", "reduction_supported", "say no_reuse: [Outputs] of the mesh", (True,)),
    Refused("attributes", "multicast_supported", "say no_reuse: [Weights, Inputs] of the mesh", (True,)),
    Refused("dataspace", "no_coalesce", LEAVE_OUT),
    Refused("dataspace", "no_refetch", LEAVE_OUT),
    Refused("temporal", "permutation", "say orders by --fix, and leave it out"),
    Refused("temporal", "must_iterate_over_dataspaces", LEAVE_OUT),
    Refused("temporal", "no_reuse", LEAVE_OUT),
    Refused("temporal", "rmw_first_update", "first updates read nothing here; leave it out"),
    Refused("temporal", "maximize_dims", LEAVE_OUT),
    Refused("spatial", "split", "a mesh has one axis here; leave it out"),
    Refused("spatial", "no_link_transfer", "links between neighbours are not modelled; leave it out"),
    Refused("spatial", "must_iterate_over_dataspaces", LEAVE_OUT),
    Refused("spatial", "maximize_dims", LEAVE_OUT),
    Refused("spatial", "min_parallelism", LEAVE_OUT, (0, 0.0)),
)


def see_refused(kind: str, keys: Mapping[str, Any], where: str) -> None:
    """InputError of the first key of a table that says what is not read."""
    for one in REFUSED:
        if one.kind == kind:
            one.see(keys, where)
