"""`dse list`: what there is to choose from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from dse.cli import output
from dse.cli.listing import CHAINS, LAYERS, Entry, aliases_of_kinds, listed_kinds, network_parts
from dse.cli.networks import merged_layers, merged_text
from dse.cli.options import Json, complete_network
from dse.support.errors import InputError, unknown_name

if TYPE_CHECKING:
    from rich.console import Console


def command(
    kind: Annotated[
        str,
        typer.Argument(
            help="One of searchers, workloads (or networks), accelerators (or presets), machines, "
            "objectives, cost-models, technologies, campaigns; by default all. Or layers, and a network.",
            metavar="[KIND]",
        ),
    ] = "",
    name: Annotated[
        str,
        typer.Argument(
            help="One of them, to see all that is known of it; of layers, their network.",
            metavar="[NAME]",
            autocompletion=complete_network,
        ),
    ] = "",
    json: Json = False,
) -> None:
    """List what there is by name.

    Searchers, networks, presets, objectives, cost models, campaigns. With a name behind the kind all that
    is known of that one; of layers, those of a network.
    """
    every, others = listed_kinds(), aliases_of_kinds()
    if kind and kind not in (*every, *others, LAYERS):
        raise unknown_name("kind", kind, [*every, *others, LAYERS], "dse list")
    if kind == LAYERS and not name:
        raise InputError("dse list layers takes one network, as in dse list layers vgg16")
    if kind == LAYERS:
        found = network_parts(name)
    else:
        chosen = others.get(kind, (kind,)) if kind else tuple(every)
        found = {each: every[each]() for each in chosen}
        found = _one(found, kind, name) if name else found
    if json:
        output.print_json(found)
        return
    console = output.make_console()
    if kind == LAYERS:
        _show_layers(console, found)
        if merged := merged_text(merged_layers(name)):
            console.print(merged)
    elif name:
        _show_one(console, found)
    else:
        _show_lines(console, found)


def _one(found: dict[str, list[Entry]], kind: str, name: str) -> dict[str, list[Entry]]:
    """The thing of that name alone."""
    known = [_name(entry) for entries in found.values() for entry in entries]
    if name not in known:
        raise unknown_name("name", name, known, f"dse list {kind}")
    chosen = {each: [entry for entry in entries if _name(entry) == name] for each, entries in found.items()}
    return {each: entries for each, entries in chosen.items() if entries}


def _name(entry: Entry) -> str:
    """What a thing is named by: a campaign by its file."""
    return str(entry.get("file") or entry["name"])


def _show_lines(console: Console, found: dict[str, list[Entry]]) -> None:
    """A line a thing: its name, and what it is."""
    for place, (kind, entries) in enumerate(found.items()):
        if place:
            console.print()
        output.print_heading(console, kind)
        width = max((len(_name(entry)) for entry in entries), default=0)
        for entry in entries:
            package = entry.get("package")
            whose = f" ({package})" if package not in (None, OURS) else ""
            sentence = f"{_name(entry):<{width}}  {entry['sentence'] or 'says nothing of itself'}{whose}"
            _print_line(console, f"  {sentence}")
        if not entries:
            console.print(f"  {ABSENT.get(kind, 'none')}")
        if kind in NOTES:
            console.print(NOTES[kind], style="dim")
    if len(found) > 1:
        console.print("\ndse list KIND NAME shows all that is known of one", style="dim")


def _print_line(console: Console, text: str) -> None:
    """Print a line as one: cut where a terminal ends, whole into a pipe."""
    if console.is_terminal:
        console.print(text, soft_wrap=False, no_wrap=True, overflow="ellipsis", crop=True)
    else:
        console.print(text)


def _show_one(console: Console, found: dict[str, list[Entry]]) -> None:
    """All that is known of a thing, a line each."""
    for entry in (entry for entries in found.values() for entry in entries):
        output.print_heading(console, _name(entry))
        if entry["sentence"]:
            console.print(f"  {entry['sentence']}")
        for key, value in entry.items():
            if key in ("name", "file", "sentence"):
                continue
            if isinstance(value, dict):
                console.print(f"  {HEADS.get(key, key)}:" + ("" if value else " none"))
                for setting, default in value.items():
                    console.print(f"    {setting} = {_shown(default)}")
            else:
                text = (
                    "unlimited"
                    if key in LIMITED and value == UNLIMITED
                    else output.shown_value(_shown(value))
                )
                console.print(f"  {HEADS.get(key, key)}: {text}")


def _show_layers(console: Console, found: dict[str, list[Entry]]) -> None:
    for name, entries in found.items():
        if name == CHAINS:
            _show_chains(console, entries)
            continue
        columns = [column for column in entries[0] if column not in HIDDEN and _telling(column, entries)]
        rows = [[_shown(entry[column]) for column in columns] for entry in entries]
        output.print_table(console, name, [HEADS.get(column, column) for column in columns], rows)


def _show_chains(console: Console, chains: list[Entry]) -> None:
    """Who reads whom: `*` as weights, `+` beside what is made, by an operator that is no layer."""
    for number, chain in enumerate(chains, 1):
        name = "chain" if number == 1 else f"chain{number}"
        output.print_heading(console, f"{name} of {chain['layers']} layers, run {chain['times']:,} times")
        for layer, read in chain["reads"].items():
            why = chain["also_read"].get(layer)
            written = f" (written off the chip: {why})" if why else ""
            console.print(f"  {layer}" + (f" reads {', '.join(read)}" if read else "") + written)


def _telling(column: str, entries: list[Entry]) -> bool:
    """Whether a table needs the column: most networks have no dilation and nothing that was folded."""
    return column not in USUAL or any(entry[column] != USUAL[column] for entry in entries)


def _shown(value: object) -> object:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else value


OURS = "dse-arena"
UNLIMITED = 2**30
"""Of a size: none."""
LIMITED = ("l1_size", "l2_size", "noc_bandwidth", "offchip_bandwidth")
"""What an accelerator may have without limit."""
USUAL: dict[str, Any] = {"dilation": [1, 1], "folded": [], "reason": ""}
"""What a table does not show if it is so in every row."""

HIDDEN = ("also",)
"""What JSON alone says."""

HEADS = {
    "distinct_layers": "distinct layers",
    "macs": "MACs",
    "share": "share of MACs",
    "num_pes": "PEs",
    "l1_size": "L1 per PE, elements",
    "l2_size": "L2, elements",
    "noc_bandwidth": "NoC, elements per cycle",
    "offchip_bandwidth": "off-chip, elements per cycle",
    "noc_latency": "NoC latency, cycles",
    "simd_lanes": "lanes (MACs per PE and cycle)",
    "clock_ghz": "clock, GHz",
    "cost_model": "cost model",
}
"""What people are shown for keys that are short."""

NOTES = {"objectives": "and products of powers, such as 'energy * latency^2'"}
"""What is said below a list: what it does not have by name."""

ABSENT = {
    "searchers": "none are installed",
    "campaigns": "no results/campaigns/*.toml in this directory",
    "machines": "no installed cost model has any",
}
