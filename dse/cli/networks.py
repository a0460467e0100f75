"""What reports ask of networks: the workloads know it, and only the command line knows the workloads."""

from __future__ import annotations

from functools import cache

from dse.support.errors import InputError


@cache
def network_layers(name: str) -> int | None:
    """How many distinct layers a packaged network has; None for any other name."""
    from workloads import NETWORKS, load

    if name not in NETWORKS:
        return None
    try:
        return len(load(name).layers)
    except InputError:
        return None
