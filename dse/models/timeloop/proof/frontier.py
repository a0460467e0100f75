"""The nodes that a proof has left, as bytes and back."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from typing import Any
from zipfile import BadZipFile

import numpy as np

from dse.models.timeloop.proof.nodes import Node, unbounded_node, unmade_node
from dse.models.timeloop.proof.orders import EMPTY, OPEN, Choice, First
from dse.support.arrays import AnyArray, FloatArray


def pack_nodes(nodes: AnyArray, bounds: FloatArray) -> bytes:
    """Branch, pattern and chains of nodes, and their bounds; where their relaxations ended is found again."""
    about = [
        (node.branch, [list(choice) if isinstance(choice, First) else choice for choice in node.pattern])
        for node in nodes
    ]
    parts = [chains for node in nodes for chains in node.chains]
    file = io.BytesIO()
    np.savez_compressed(
        file,
        about=np.frombuffer(json.dumps(about).encode(), dtype=np.uint8),
        bounds=bounds,
        counts=np.array([len(node.chains) for node in nodes], dtype=np.int32),
        lengths=np.array([len(part) for part in parts], dtype=np.int32),
        chains=np.concatenate([*parts, np.empty(0)]).astype(np.int32),
    )
    return file.getvalue()


def unpack_nodes(data: bytes) -> tuple[list[Node], FloatArray]:
    """The nodes that `pack_nodes` wrote, and their bounds; none where it was not `pack_nodes` that did."""
    try:
        with np.load(io.BytesIO(data)) as file:
            about = json.loads(file["about"].tobytes())
            bounds, lengths, counts = file["bounds"], file["lengths"], file["counts"]
            parts = np.split(file["chains"].astype(np.int64), np.cumsum(lengths)[:-1])
    except (OSError, ValueError, KeyError, BadZipFile):
        return [], np.empty(0)
    found = []
    for (branch, pattern), count in zip(about, counts.tolist(), strict=True):
        chains, parts = tuple(parts[:count]), parts[count:]
        if not count:
            found.append(unbounded_node(branch))
            continue
        node = unmade_node(branch, tuple(_choice(choice) for choice in pattern))
        over = tuple(np.zeros(len(part)) for part in chains)
        found.append(replace(node, chains=chains, over=over))
    return found, bounds


def _choice(data: Any) -> Choice:
    return data if data in (OPEN, EMPTY) else First(tuple(data[0]), bool(data[1]))
