"""A network as the text of a TOML file, as `workloads.userfile` reads it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from dse.core.edges import BESIDE, EVERYTHING, INPUT, WEIGHT, Edge
from dse.core.layer import DIMS, NO_STEPS, Layer
from dse.core.widths import NO_WIDTHS
from dse.support.toml import toml_value
from workloads.network import Network


def network_toml(network: Network) -> str:
    """The text: every layer as it was before groups and batch were folded, equal ones once where nobody
    knows which layer reads what.
    """
    head = [f"name = {toml_value(network.name)}", f"source = {toml_value(network.source)}"]
    groups: dict[Layer, list[Layer]] = {}
    if network.edges:
        head.append('readers = "all"')
        head += [f"times = {network.times}"] if network.times > 1 else []
        tables = [
            _table("layers", _entry([layer]) | _read(layer.name, network)) for layer in network.in_order
        ]
    else:
        for layer in (layer for group in network.wholes for layer in group):
            groups.setdefault(layer, []).append(layer)
        tables = [_table("layers", _entry(alike), alike[1:]) for alike in groups.values()]
    tables += [
        _table("left_out", {name: value for name, value in vars(entry).items() if value not in (None, "")})
        for entry in network.left_out
    ]
    return "\n".join(["\n".join(head), *tables]) + "\n"


def _table(name: str, entry: dict[str, Any], alike: list[Layer] | None = None) -> str:
    comment = f"# also {', '.join(layer.name for layer in alike)}\n" if alike else ""
    lines = "".join(f"{key} = {toml_value(value)}\n" for key, value in entry.items())
    return f"\n{comment}[[{name}]]\n{lines}".rstrip("\n")


def _entry(alike: list[Layer]) -> dict[str, Any]:
    """The keys of equal layers, which stand under the name of the first."""
    layer, repeats = alike[0], sum(layer.repeats for layer in alike)
    counts = {"repeats": repeats, "batch": layer.batch}
    found = {"name": layer.name, **dict(_sizes(layer)), **{key: n for key, n in counts.items() if n > 1}}
    return found | ({"bits": layer.bits.to_dict()} if layer.bits else {})


def _read(name: str, network: Network) -> dict[str, Any]:
    """What a layer reads, and what else reads it, as its table says it."""
    mine = {edge.operand: edge for edge in network.edges if edge.reader == name and edge.operand != BESIDE}
    read = [mine.get(operand) for operand in ((INPUT, WEIGHT) if WEIGHT in mine else mine)]
    beside = [edge for edge in network.edges if edge.reader == name and edge.operand == BESIDE]
    sources = [edge.source if edge else "" for edge in read]
    found: dict[str, Any] = {"reads": sources[0] if len(read) == 1 else sources} if read else {}
    found |= {"beside": [edge.source for edge in beside]} if beside else {}
    whole = [_whole(edge) for edge in (*read, *beside)]
    alike = set(whole[: len(read)])
    if len(alike) == 1 and not any(whole[len(read) :]):
        found |= {"whole": whole[0]} if whole[0] else {}
    elif any(whole):
        found["whole"] = whole
    also_read = dict(network.also_read)
    return found | ({"also_read": also_read[name]} if name in also_read else {})


def _whole(edge: Edge | None) -> str:
    whole = edge.whole if edge else ""
    return "everything" if whole == EVERYTHING else whole


def _sizes(layer: Layer) -> Iterator[tuple[str, Any]]:
    """A matrix product as such, any other layer as a convolution."""
    if replace(layer, bits=NO_WIDTHS) == Layer.gemm(layer.Y, layer.K, layer.C, batch=layer.batch):
        yield from {"type": "GEMM", "M": layer.Y, "N": layer.K, "K": layer.C}.items()
        return
    yield "type", layer.type
    for dim in DIMS if layer.type == "CONV" else DIMS[1:]:
        yield dim, getattr(layer, dim)
    for step, usual in NO_STEPS.items():
        pair = getattr(layer, step)
        if pair != usual:
            yield step, pair[0] if pair[0] == pair[1] else list(pair)
    if layer.groups > 1:
        yield "groups", layer.groups
