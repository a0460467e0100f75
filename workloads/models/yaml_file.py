"""Layers in the YAML of other tools: a problem of Timeloop's, a workload of ZigZag's.

A note of ours at the end of a file has the layer that it was written of, while nothing in it is changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from dse.core.layer import Layer
from dse.support import strict_yaml
from dse.support.errors import InputError
from dse.support.files import read_text
from dse.support.strict_yaml import noted_data
from dse.support.validation import check_table
from workloads.models.collected import Collected
from workloads.models.timeloop_problem import problem_layer
from workloads.models.zigzag_workload import collect_workload
from workloads.network import Network


def from_yaml(path: str) -> Network:
    """The network in the file at `path`; InputError in a line where there is none."""
    where = f"workload file {path!r}"
    text = read_text(path, where)
    data = strict_yaml.parse_yaml(text, where)
    found, stem = Collected(), Path(path).stem
    exact = noted_data(text, data, "layer", where)
    if exact is not None:
        layer = Layer.from_dict(exact, where)
        found.add(layer.name or stem, "layer", [replace(layer, name="")])
    elif isinstance(data, Mapping) and "problem" in data:
        at = f"{where}: problem"
        found.add(stem, "layer", [problem_layer(check_table(data["problem"], at), at)])
    elif isinstance(data, list):
        collect_workload(found, data, where)
    else:
        raise InputError(f"{where} has neither a problem, as Timeloop has it, nor layers, as ZigZag has them")
    return found.network(stem, path)
