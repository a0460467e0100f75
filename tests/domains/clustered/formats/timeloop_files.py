"""What the exported Timeloop files say, read on its own: as a case of the cost model `timeloop`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dse.support.strict_yaml import parse_yaml as load


def as_case(files: Mapping[str, str]) -> dict[str, Any]:
    """The three files as a case: the machine's levels, the problem's tensors, each level's loops."""
    data = {name: load(text, name) for name, text in files.items()}
    problem = data["timeloop-problem.yaml"]["problem"]
    levels, macs = _levels(data["timeloop-arch.yaml"]["architecture"]["nodes"])
    return {
        "layer": _layer(problem),
        "hardware": {
            "name": "exported",
            "macs": macs,
            "mac_pj": 1.0,
            "first_fill": "elided",
            "levels": levels,
        },
        "mapping": _mapping(data["timeloop-mapping.yaml"]["mapping"], [level["name"] for level in levels]),
    }


def _layer(problem: Mapping[str, Any]) -> dict[str, Any]:
    instance, shape = problem["instance"], problem["shape"]
    tensors = {}
    for space in shape["data_spaces"]:
        axes = [
            {term[0]: instance[term[1]] if len(term) > 1 else 1 for term in axis}
            for axis in space["projection"]
        ]
        tensors[space["name"]] = {"axes": axes, **({"output": True} if space.get("read_write") else {})}
    return {"dims": {dim: instance[dim] for dim in shape["dimensions"]}, "tensors": tensors}


def _levels(nodes: list[Mapping[str, Any]]) -> tuple[list[dict[str, Any]], int]:
    """A level a storage and a container that spreads, as Timeloop's front end makes of them; and the MACs."""
    levels, instances = [], 1
    for node in nodes:
        spatial = node.get("spatial", {})
        kind, attributes = node.get("class", ""), node.get("attributes", {})
        if spatial:
            # The level of a container stands above those that it spreads over.
            levels.append({"name": node["name"], "capacity": None, "instances": instances})
            instances *= spatial.get("meshX", 1) * spatial.get("meshY", 1)
        elif kind == "dummy_storage":
            levels.append({"name": node["name"], "capacity": None, "instances": instances})
        elif kind and kind != "intmac":
            depth = attributes.get("depth")
            costs = dict.fromkeys(("read_pj", "write_pj", "update_pj"), 1.0) | {"leak_pj": 0.0}
            widths = dict.fromkeys(("read_bw", "write_bw", "shared_bw"))
            size = depth and depth // attributes.get("multiple_buffering", 1)
            levels.append(
                {
                    "name": node["name"],
                    "capacity": size,
                    "instances": instances,
                    "block": 1,
                    **widths,
                    **costs,
                }
            )
    return levels, instances


def _mapping(directives: list[Mapping[str, Any]], names: list[str]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for name in names:
        held = [] if name in ("cluster", "cluster_loops", "PE") else ["Weights", "Inputs", "Outputs"]
        level: dict[str, Any] = {"keep": held, "temporal": [], "spatial": []}
        for entry in directives:
            if entry["target"] != name:
                continue
            factors = {factor.split("=")[0]: int(factor.split("=")[1]) for factor in entry["factors"]}
            # Permutations are innermost first, a case's loops outermost first.
            for place, dim in reversed(list(enumerate(entry["permutation"]))):
                if factors[dim] > 1 and entry["type"] == "temporal":
                    level["temporal"].append([dim, factors[dim]])
                elif factors[dim] > 1:
                    level["spatial"].append([dim, factors[dim], "X" if place < entry["split"] else "Y"])
        found.append(level)
    return found
