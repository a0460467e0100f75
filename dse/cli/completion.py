"""What a shell offers for completion. Each function is asked for one word, and imports what it needs then."""

from __future__ import annotations

from collections.abc import Iterable


def complete_layer(incomplete: str) -> list[str]:
    """Networks, and behind a network's colon its layers."""
    from dse.support.errors import InputError
    from workloads import NETWORKS, layer_specs

    network, colon, _ = incomplete.rpartition(":")
    try:
        found: Iterable[str] = layer_specs(network) if colon else (f"{name}:" for name in NETWORKS)
    except InputError:
        found = ()
    return _beginning(incomplete, found)


def complete_network(incomplete: str) -> list[str]:
    """The networks that come along."""
    from workloads import NETWORKS

    return _beginning(incomplete, NETWORKS)


def complete_accelerator(incomplete: str) -> list[str]:
    """The presets."""
    from dse.spec.accelerator import PRESETS

    return _beginning(incomplete, PRESETS)


def complete_searcher(incomplete: str) -> list[str]:
    """The installed searchers."""
    from dse.search.searcher import searchers

    return _beginning(incomplete, searchers())


def complete_objective(incomplete: str) -> list[str]:
    """The objectives."""
    from dse.spec.objective import OBJECTIVES

    return _beginning(incomplete, OBJECTIVES)


def complete_model(incomplete: str) -> list[str]:
    """The installed cost models."""
    from dse.cost.registry import cost_models

    return _beginning(incomplete, cost_models())


def complete_campaign(incomplete: str) -> list[str]:
    """The campaigns that come along; a shell offers files where there are none."""
    from dse.campaign.reading import named_campaigns

    return _beginning(incomplete, named_campaigns())


def _beginning(incomplete: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]
