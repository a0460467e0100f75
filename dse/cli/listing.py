"""What there is to choose from, as plain data: an entry a thing, with a sentence that says what it is."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import MISSING, Field, asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.core.edges import BESIDE, INPUT, WEIGHT
from dse.support.errors import InputError
from dse.support.toml import read_toml

if TYPE_CHECKING:
    from dse.core.cost_models import Ability
    from dse.core.domains import Domain
    from dse.core.edges import Chain
    from dse.core.layer import Layer
    from dse.core.technology import Figure

Entry = dict[str, Any]

LAYERS, LEFT_OUT, CHAINS = "layers", "left_out", "chains"
"""What is listed of one network only."""
FOLDS = ("groups", "batch")
"""What a layer has before it is folded into repeats."""
NOT_LOADED = "cannot be loaded: naming it says why"


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
        return {"sentence": NOT_LOADED, "settings": None}
    # A dataclass without a docstring gets its signature for one.
    written = found.__doc__ or ""
    sentence = "" if written.startswith(f"{found.__name__}(") else first_sentence(written)
    settings = {item.name: _default(item) for item in fields(found) if item.init}  # type: ignore[arg-type]
    return {"sentence": sentence or None, "settings": settings}


def _default(item: Field[Any]) -> Any:
    """A setting's default as plain data; "required" where it has none."""
    if item.default_factory is not MISSING:
        value = item.default_factory()
    else:
        value = "required" if item.default is MISSING else item.default
    return value if isinstance(value, bool | int | float | str | list | tuple | dict | None) else str(value)


def first_sentence(text: str) -> str:
    """The first sentence of a docstring, or of a comment, in one line."""
    paragraph = " ".join(text.strip().partition("\n\n")[0].split())
    # A full stop before a space and a capital: not the one in "v1.5", nor that of "e.g. this".
    return re.split(r"(?<=\.)\s(?=[A-Z`])", paragraph, maxsplit=1)[0].removesuffix(".")


def _first_comment(path: Path) -> str:
    """The first sentence of the comment that a file begins with; empty if it begins otherwise."""
    lines = []
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        if not line.startswith("#"):
            break
        lines.append(line.lstrip("# "))
    return first_sentence("\n".join(lines))


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
    chains = [] if chosen else [_chain(chain) for chain in network.chains]
    return found | ({LEFT_OUT: left_out} if left_out else {}) | ({CHAINS: chains} if chains else {})


def _chain(chain: Chain) -> Entry:
    """A chain: what each layer reads of the others, `a` as its input, `*a` as its weights, `+a` beside it.

    Of what something else reads too, besides, what that is.
    """
    signs = {INPUT: "", WEIGHT: "*", BESIDE: "+"}
    reads = {
        layer.name: [f"{signs[edge.operand]}{edge.source}" for edge in chain.read_by(layer.name)]
        for layer in chain.layers
    }
    read = {name: why for name, why in chain.also_read if chain.readers_of(name)}
    return {"layers": len(chain.layers), "times": chain.times, "reads": reads, "also_read": read}


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

    found = []
    for name, network in ((name, load(name)) for name in NETWORKS):
        entry = {
            "name": name,
            "distinct_layers": len(network.layers),
            "layers": sum(layer.repeats for layer in network.layers),
            "macs": network.macs,
            "source": network.source,
        }
        size = (
            f"{entry['layers']} layers, {entry['distinct_layers']} distinct, {network.macs / 1e9:.3g} GMACs"
        )
        found.append(entry | {"sentence": f"{size}: {network.source.partition(';')[0]}"})
    return found


def objectives() -> list[Entry]:
    """What can be minimised."""
    from dse.core.objective import OBJECTIVES, meaning_of

    found = [{"name": name, "unit": _units(name), "meaning": meaning_of(name)} for name in OBJECTIVES]
    return [entry | {"sentence": f"{entry['meaning']}, in {entry['unit']}"} for entry in found]


def _units(objective: str) -> str:
    """The unit of the objective, or, where cost models differ in it, the unit under each."""
    from dse.core.cost_models import cost_models, unit_of

    units = {model: unit_of(objective, model) for model in cost_models()}
    if len(set(units.values())) == 1:
        return next(iter(units.values()))
    return ", ".join(f"{unit} ({model})" for model, unit in units.items())


ABILITIES: dict[str, Ability] = {
    "strides": "prices_strides",
    "cases": "prices_cases",
    "detail": "explains",
    "proofs": "proof_module",
    "settings": "settings_type",
    "outside": "outside",
}
"""What each cost model says that it can do: what it declares."""


def cost_models() -> list[Entry]:
    """The cost models that installed packages register, and what each can do; one is the default."""
    from dse.core.cost_models import (
        DEFAULT_COST_MODEL,
        all_models,
        cost_model_class,
        domain_name,
        model_origin,
        models_with,
    )

    def sentence(name: str) -> str:
        try:
            said = first_sentence(cost_model_class(name).__doc__ or "")
        except InputError:
            return NOT_LOADED
        return said + ("; the default" if name == DEFAULT_COST_MODEL else "")

    able = {head: models_with(ability) for head, ability in ABILITIES.items()}
    return [
        {
            "name": name,
            "default": name == DEFAULT_COST_MODEL,
            "domain": domain_name(name),
            **{head: name in names for head, names in able.items()},
            "package": next(iter(model_origin(name)), None),
            "sentence": sentence(name),
        }
        for name in all_models()
    ]


def technologies() -> list[Entry]:
    """The tables of published energies: each figure, and where they are from."""
    from dse.core.technology import load_technology, technology_names

    found = []
    for name in technology_names():
        table = load_technology(name)
        unit = "times a MAC" if table.times_a_mac else "pJ"
        figures = [_figure(one, unit) for one in table.figures]
        entry = {"process_nm": table.process_nm, "source": table.source, "figures": figures}
        found.append({"name": name, **entry, "sentence": table.source})
    return found


def _figure(figure: Figure, unit: str) -> str:
    write = "" if figure.write_pj is None else f", written {figure.write_pj:g} {unit}"
    note = f" ({figure.note})" if figure.note else ""
    return f"{figure} {figure.pj:g} {unit}{write}{note}"


def campaigns() -> list[Entry]:
    """The campaigns that come along, and the files under results/campaigns of the current directory."""
    from dse.campaign.reading import named_campaigns

    named = {name: Path(path) for name, path in named_campaigns().items()}
    ours = {path.resolve() for path in named.values()}
    here = [path for path in sorted(Path("results/campaigns").glob("*.toml")) if path.resolve() not in ours]
    found = [_campaign(path, file) for file, path in (*named.items(), *((str(path), path) for path in here))]
    return [entry for entry in found if entry]


def _campaign(path: Path, file: str) -> Entry:
    """What a campaign file says of itself; nothing of a file of layers.

    A broken one is listed too, `dse run` says what is wrong.
    """
    try:
        data = read_toml(str(path), file)
    except InputError:
        data = {}
    if data and not data.keys() & {"searchers", "budget"}:
        return {}
    chosen = {key: data.get(key) for key in ("name", "budget", "seeds", "cost_model")}
    given = data.get("searchers")
    names = list(given) if isinstance(given, dict) else None
    comment = _first_comment(path) if data else ""
    sentence = comment or (f"Compares {', '.join(names)}" if names else NOT_LOADED)
    return {"file": file, **chosen, "searchers": names, "sentence": sentence}


def listed_kinds() -> dict[str, Callable[[], list[Entry]]]:
    """All that is listed, by kind: each kind of designs calls its hardware by a name of its own."""
    hardware = {kind.hardware_kind: kind.hardware for kind in _with_presets()}
    return {
        "searchers": searchers,
        "workloads": workloads,
        **hardware,
        "objectives": objectives,
        "cost-models": cost_models,
        "technologies": technologies,
        "campaigns": campaigns,
    }


def aliases_of_kinds() -> dict[str, tuple[str, ...]]:
    """Other names of kinds: what they list."""
    return {"networks": ("workloads",), "presets": tuple(kind.hardware_kind for kind in _with_presets())}


def _with_presets() -> list[Domain]:
    """The kinds of designs that hardware comes along for."""
    from dse.core.domains import domain_named, installed_domains

    return [kind for kind in map(domain_named, installed_domains()) if kind.hardware()]
