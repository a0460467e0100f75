"""`dse list`: what there is to choose from."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import MISSING, Field, asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dse.cli import output
from dse.cli.completion import complete_network
from dse.cli.networks import merged_layers, merged_text
from dse.cli.options import Json
from dse.spec.accelerator import PRESETS, UNLIMITED
from dse.support.errors import InputError, unknown

if TYPE_CHECKING:
    from dse.cost import Ability
    from dse.spec.layer import Layer

Entry = dict[str, Any]


def command(
    kind: Annotated[
        str,
        typer.Argument(
            help="One of searchers, workloads, accelerators, objectives, cost-models, campaigns; or all. "
            "Or layers, and a network.",
            metavar="[KIND]",
        ),
    ] = "",
    network: Annotated[
        str,
        typer.Argument(
            help="Of layers: whose, as in vgg16, FILE.toml or FILE.onnx.",
            metavar="[NETWORK]",
            autocompletion=complete_network,
        ),
    ] = "",
    json: Json = False,
) -> None:
    """List searchers, workloads, accelerators, objectives, cost models, campaigns, or a network's layers."""
    if kind and kind not in (*KINDS, LAYERS):
        raise unknown("kind", kind, [*KINDS, LAYERS], "dse list")
    if (kind == LAYERS) != bool(network):
        wanted = "one network, as in dse list layers vgg16"
        raise InputError(f"dse list {kind} takes {wanted if kind == LAYERS else 'no network'}")
    kinds = [kind] if kind else list(KINDS)
    found = network_parts(network) if network else {name: KINDS[name]() for name in kinds}
    if json:
        output.print_json(found)
        return
    console = output.make_console()
    for name, entries in found.items():
        if entries:
            columns = [column for column in entries[0] if column not in HIDDEN and _telling(column, entries)]
            rows = [[_shown(column, entry[column]) for column in columns] for entry in entries]
            output.print_table(console, name, [HEADS.get(column, column) for column in columns], rows)
        else:
            console.print(f"{name}: {ABSENT[name]}")
    merged = merged_text(merged_layers(network)) if network else ""
    if merged:
        console.print(merged, soft_wrap=True)


def searchers() -> list[Entry]:
    """The searchers that installed packages register: what each is, its settings and their defaults."""
    from importlib.metadata import entry_points

    from dse.search.searcher import GROUP

    points = sorted(entry_points(group=GROUP), key=lambda point: point.name)
    return [
        {
            "name": point.name,
            **_described(point.name),
            "object": point.value,
            "package": point.dist.name if point.dist else None,
        }
        for point in points
    ]


def _described(searcher: str) -> Entry:
    """A searcher's sentence and settings; None of one that cannot be loaded, `dse check` says why."""
    from dse.search.searcher import searcher_class

    try:
        found = searcher_class(searcher)
    except InputError:
        return {"sentence": None, "settings": None}
    # A dataclass without a docstring gets its signature for one.
    written = found.__doc__ or ""
    sentence = None if written.startswith(f"{found.__name__}(") else written.partition("\n")[0] or None
    settings = {item.name: _default(item) for item in fields(found) if item.init}  # type: ignore[arg-type]
    return {"sentence": sentence, "settings": settings}


def _default(item: Field[Any]) -> Any:
    """A setting's default as plain data; "required" where it has none."""
    if item.default_factory is not MISSING:
        value = item.default_factory()
    else:
        value = "required" if item.default is MISSING else item.default
    return value if isinstance(value, bool | int | float | str | list | tuple | dict | None) else str(value)


def network_parts(spec: str) -> dict[str, list[Entry]]:
    """The distinct layers of a network and what of its model is no layer, or the layer of a layer's name."""
    from workloads import find

    network, chosen = find(spec)
    found = {
        LAYERS: [
            _layer(spec if chosen else f"{spec}:{layer.name}", layer, wholes)
            for layer, wholes in zip(network.layers, network.wholes, strict=True)
            if chosen in (None, layer)
        ]
    }
    left_out = [] if chosen else [asdict(entry) for entry in network.left_out]
    known = network.macs + sum(entry["macs"] or 0 for entry in left_out)
    for entry in left_out:
        entry["share"] = None if entry["macs"] is None else entry["macs"] / known
    return found | ({LEFT_OUT: left_out} if left_out else {})


def _layer(name: str, layer: Layer, wholes: tuple[Layer, ...]) -> Entry:
    folds = [f"{kind} {count}" for kind in FOLDS for count in {getattr(one, kind) for one in wholes} - {1}]
    own = name.rpartition(":")[2]
    own = own if own in (one.name for one in wholes) else layer.name
    return {
        "name": name,
        "loops": layer.sizes,
        "stride": list(layer.stride),
        "padding": list(layer.padding),
        "dilation": list(layer.dilation),
        "folded": sorted(folds),
        "repeats": layer.repeats,
        "macs": layer.macs,
        "also": [one.name for one in wholes if one.name != own],
    }


def workloads() -> list[Entry]:
    """The networks that come with the framework."""
    from workloads import NETWORKS, load

    return [
        {
            "name": name,
            "distinct_layers": len(network.layers),
            "layers": sum(layer.repeats for layer in network.layers),
            "macs": network.macs,
            "source": network.source,
        }
        for name, network in ((name, load(name)) for name in NETWORKS)
    ]


def accelerators() -> list[Entry]:
    """The presets."""
    return [{"name": name, **accelerator.to_dict()} for name, accelerator in PRESETS.items()]


def objectives() -> list[Entry]:
    """What can be minimised."""
    from dse.spec.objective import OBJECTIVES

    return [
        {"name": item.name, "unit": _units(item.name), "meaning": item.meaning}
        for item in OBJECTIVES.values()
    ]


def _units(objective: str) -> str:
    """The unit of the objective, or, where cost models differ in it, the unit under each."""
    from dse.cost import cost_models, unit_of

    units = {model: unit_of(objective, model) for model in cost_models()}
    if len(set(units.values())) == 1:
        return next(iter(units.values()))
    return ", ".join(f"{unit} ({model})" for model, unit in units.items())


def cost_models() -> list[Entry]:
    """The cost models that installed packages register, and what each can do; one is the default."""
    from dse.cost import (
        DEFAULT_COST_MODEL,
        cost_models,
        hierarchy_models,
        model_origin,
        models_with,
        outside_models,
    )

    able = {head: models_with(ability) for head, ability in ABILITIES.items()}
    return [
        {
            "name": name,
            "default": name == DEFAULT_COST_MODEL,
            **{head: name in names for head, names in able.items()},
            "package": next(iter(model_origin(name)), None),
        }
        for name in sorted((*cost_models(), *outside_models(), *hierarchy_models()))
    ]


def campaigns() -> list[Entry]:
    """The campaigns that come along, and the files under results/campaigns of the current directory."""
    from dse.campaign.reading import named_campaigns

    named = {name: Path(path) for name, path in named_campaigns().items()}
    ours = {path.resolve() for path in named.values()}
    here = [path for path in sorted(Path("results/campaigns").glob("*.toml")) if path.resolve() not in ours]
    return [_campaign(path, file) for file, path in (*named.items(), *((str(path), path) for path in here))]


def _campaign(path: Path, file: str) -> Entry:
    """What a campaign file says of itself; a broken one is listed too, `dse run` says what is wrong."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        data = {}
    chosen = {key: data.get(key) for key in ("name", "budget", "seeds", "cost_model")}
    searchers = data.get("searchers")
    return {
        "file": file,
        **chosen,
        "searchers": list(searchers) if isinstance(searchers, dict) else None,
    }


def _telling(column: str, entries: list[Entry]) -> bool:
    """Whether a table needs the column: most networks have no dilation and nothing that was folded."""
    return column not in USUAL or any(entry[column] != USUAL[column] for entry in entries)


def _shown(column: str, value: object) -> object:
    if value == UNLIMITED and column in LIMITED:
        return "unlimited"
    if isinstance(value, dict):
        return ", ".join(f"{name}={item}" for name, item in value.items()) or "none"
    return ", ".join(map(str, value)) if isinstance(value, list) else value


KINDS: dict[str, Callable[[], list[Entry]]] = {
    "searchers": searchers,
    "workloads": workloads,
    "accelerators": accelerators,
    "objectives": objectives,
    "cost-models": cost_models,
    "campaigns": campaigns,
}

ABILITIES: dict[str, Ability] = {
    "strides": "prices_strides",
    "cases": "prices_cases",
    "detail": "explains",
    "proofs": "provable",
    "settings": "settings_type",
    "outside": "outside",
    "hierarchies": "hierarchical",
}
"""What the columns of the cost models say: what each declares."""

LAYERS, LEFT_OUT = "layers", "left_out"
"""What is listed of one network only."""

FOLDS = ("groups", "batch")
"""What a layer has before it is folded into repeats."""

USUAL: dict[str, Any] = {"dilation": [1, 1], "folded": [], "reason": ""}
"""What a table does not show if it is so in every row."""

LIMITED = ("l1_size", "l2_size", "noc_bandwidth", "offchip_bandwidth")
"""What an accelerator may have without limit."""

HIDDEN = ("object", "also")
"""What JSON alone says."""

HEADS = {
    "distinct_layers": "distinct",
    "macs": "MACs",
    "share": "share of MACs",
    "num_pes": "PEs",
    "l1_size": "L1 per PE",
    "l2_size": "L2",
    "noc_bandwidth": "NoC",
    "offchip_bandwidth": "off-chip",
    "noc_latency": "latency",
    "simd_lanes": "lanes",
    "clock_ghz": "GHz",
    "cost_model": "cost model",
}
"""What a table calls the keys that are long; sizes are in elements, bandwidths in elements per cycle."""

ABSENT = {"searchers": "none are installed", "campaigns": "no results/campaigns/*.toml in this directory"}
