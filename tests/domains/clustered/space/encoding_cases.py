"""Mappings and their gene vectors, for the tests of spaces."""

from __future__ import annotations

from typing import Any

from dse.domains.clustered.mapping import Level, Mapping

# What is not in a space


def a_mapping(**changes: Any) -> Mapping:
    """A mapping of VGG16's conv1_2, with changes like outer_parallel, inner_tile or cluster_size."""
    tile = (16, 8, 14, 28, 3, 3)
    levels = {
        name: Level(
            changes.get(f"{name}_parallel", "K"),
            tuple(changes.get(f"{name}_order", "KCYXRS")),
            changes.get(f"{name}_tile", tile),
        )
        for name in ("outer", "inner")
    }
    return Mapping(levels["outer"], changes.get("cluster_size", 12), levels["inner"])
