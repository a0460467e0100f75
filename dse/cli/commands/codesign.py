"""`dse codesign`: the best machine of a space of hardware for a network, with its mappings and the proof."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dse.cli import output
from dse.cli.networks import note_merged
from dse.cli.options import (
    Cache,
    ConstantsFile,
    CostModelName,
    Fresh,
    Json,
    Objective,
    Seed,
    Settings,
    Verify,
    chosen_model,
    complete_network,
    kept_proofs,
    searcher_option,
)
from dse.support.errors import InputError

if TYPE_CHECKING:
    from dse.optimum.codesign.result import Codesign

FAILED, INTERRUPTED = 1, 130
WORTH_SAYING = 10.0
"""Seconds without a machine after which that is said."""
FRONT = "front.json"


def command(
    network: Annotated[
        str | None,
        typer.Option(
            help="Required: mobilenet_v2, FILE.toml or FILE.onnx, or one layer of it.",
            metavar="NETWORK",
            autocompletion=complete_network,
        ),
    ] = None,
    hardware: Annotated[
        str | None,
        typer.Option(help="Required: the space of hardware, see docs/codesign.md.", metavar="SPACE.toml"),
    ] = None,
    also: Annotated[
        list[str] | None,
        typer.Option(
            help="Another network on the same chip, with its runs or its share; repeatable.",
            metavar="NETWORK[=RUNS|SHARE]",
        ),
    ] = None,
    objective: Objective = "edp",
    area: Annotated[float | None, typer.Option(help="No machine may be larger.", metavar="MM2")] = None,
    leakage: Annotated[float | None, typer.Option(help="No machine may leak more.", metavar="MW")] = None,
    max_latency: Annotated[
        float | None, typer.Option(help="No run of the network may take longer.", metavar="SECONDS")
    ] = None,
    max_power: Annotated[
        float | None, typer.Option(help="No run may have more mean power.", metavar="WATT")
    ] = None,
    power: Annotated[str | None, typer.Option(hidden=True)] = None,
    time_limit: Annotated[
        float | None, typer.Option(help="Seconds; the next call goes on from there.", metavar="S")
    ] = None,
    workers: Annotated[int, typer.Option(help="Processes that prove.", metavar="N")] = 1,
    searcher: Annotated[
        str | None,
        searcher_option("Search instead of proving: machine and mappings together."),
    ] = None,
    budget: Annotated[
        int | None,
        typer.Option(
            help="With --searcher: how often it may price the network, each time every layer.", metavar="N"
        ),
    ] = None,
    inner: Annotated[
        str | None,
        typer.Option(help="Who finds a machine's mappings; certify proves them.", metavar="SEARCHER|certify"),
    ] = None,
    inner_budget: Annotated[
        int | None,
        typer.Option(
            help="With --inner: samples for each layer of each machine; by default 50.", metavar="N"
        ),
    ] = None,
    settings: Settings = None,
    seed: Seed = 0,
    exact: Annotated[
        bool,
        typer.Option("--exact", help="Of latency,energy the whole front, not its convex part; takes longer."),
    ] = False,
    verify: Verify = False,
    cost_model: CostModelName = None,
    constants: ConstantsFile = None,
    cache: Cache = None,
    fresh: Fresh = False,
    out: Annotated[
        Path | None,
        typer.Option(
            help="A folder for machine.toml (for --accelerator), mappings and certificate.", metavar="DIR"
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Find the best chip for a network, with proof.

    The machine of a space, with the best mapping of each layer. Or let a searcher find good ones within a
    budget, without a proof. The exit code is 1 if no machine that runs every layer within the limits is
    found, or if there is none: that is proven then.
    """
    from dse.core.objective import names_several
    from dse.domains.codesign.reading import read_space
    from dse.optimum.codesign import codesign
    from dse.search.network import MAPPINGS
    from dse.support.files import make_folder
    from dse.support.validation import positive_number
    from workloads import load_part

    if network is None or hardware is None:
        raise InputError("codesign needs --network NETWORK and --hardware SPACE.toml")
    if power is not None:
        raise InputError("--power is called --leakage now, as leakage is all that it was of")
    kept = kept_proofs(cache, fresh)
    caps: dict[str, Any] = {"max_latency": max_latency, "max_power": max_power}
    for name, cap in caps.items():
        if cap is not None:
            positive_number(cap, f"--{name.replace('_', '-')}")
    given = {"area_mm2": (area, "--area"), "leakage_mw": (leakage, "--leakage")}
    limits = {
        key: positive_number(value, option) for key, (value, option) in given.items() if value is not None
    }
    model = None if cost_model is None and constants is None else chosen_model(cost_model, constants)
    space, layers = read_space(hardware, model, limits), load_part(network)
    if also:
        layers = _with_others(layers, also)
    if out is not None:
        make_folder(out, MAPPINGS)
    note_merged(network)
    if names_several(objective) and searcher is None:
        if verify:
            raise InputError("--verify is of one objective's proof: a front has many")
        if any(caps.values()):
            raise InputError(
                "--max-latency and --max-power are of one objective's proof: a front has runs of all"
            )
        how: dict[str, Any] = {"exact": exact, "time_limit": time_limit, "workers": workers}
        _front(layers, space, objective, {**how, "cache": kept}, out, json)
        return
    if exact:
        raise InputError("--exact is of a front: of --objective latency,energy or latency,energy,area")
    if searcher is not None or budget is not None or inner is not None or inner_budget is not None:
        if verify or any(caps.values()):
            option = "--verify is" if verify else "--max-latency and --max-power are"
            raise InputError(f"{option} of a proof: a search has none")
        from dse.search.searcher import parse_settings

        asked: dict[str, Any] = {"inner": inner, "inner_budget": inner_budget, "budget": budget, "seed": seed}
        asked |= {"searcher": searcher, "settings": parse_settings(settings or [])}
        _search(layers, space, objective, asked | {"time_limit": time_limit}, out, json)
        return
    from dse.cli.codesign_view import show_codesign, write_found

    with Progress(time_limit) as progress:
        found = codesign(
            layers,
            space,
            objective,
            **caps,
            time_limit=time_limit,
            workers=workers,
            cache=kept,
            observe=progress,
        )
    entry = found.to_dict()
    if verify:
        entry["verified"] = _verified(found)
    if out is not None:
        write_found(entry, out, found.certificate)
    if json:
        output.print_json(entry)
    else:
        show_codesign(found, entry, out, kept=not fresh)
    if found.interrupted:
        raise KeyboardInterrupt
    if found.best is None or not all(check["passed"] for check in entry.get("verified", [])):
        raise typer.Exit(FAILED)


def _front(
    layers: Any, space: Any, objective: str, how: dict[str, Any], out: Path | None, json: bool
) -> None:
    """Prove the front over machines."""
    from dse.cli.codesign_view import draw_front, show_front
    from dse.optimum.codesign.fronts import codesign_front
    from dse.support.files import write_json
    from dse.support.strict_json import plain

    with output.error_console().status("proving the first point") as status:

        def observe(points: int) -> None:
            status.update(f"{points:,} points are found")

        found = codesign_front(layers, space, objective, **how, observe=observe)
    entry = plain(found.to_dict())
    if out is not None:
        write_json(out / FRONT, entry)
        draw_front(found, out)
    if json:
        output.print_json(entry)
    else:
        show_front(found, out)
    if not found.points:
        raise typer.Exit(FAILED)


def _with_others(first: Any, also: list[str]) -> Any:
    """A network and others: by runs, as in `resnet50=3`, or by shares, as in `resnet50=0.3`."""
    from dse.optimum.codesign import by_shares, together
    from workloads import load_part

    given = [_counted(text) for text in also]
    whole = [count for _, count in given if isinstance(count, int)]
    if whole and len(whole) < len(given):
        raise InputError(
            f"--also has runs and shares, {', '.join(also)}: give every network a share such as 0.3, or none"
        )
    others = [(load_part(name), count) for name, count in given]
    return together([(first, 1), *others]) if whole else by_shares(first, others)


def _counted(text: str) -> tuple[str, int | float]:
    """A network's name with its runs, a whole number, or its share."""
    name, given, count = text.rpartition("=")
    if not given:
        return text, 1
    if count.isdecimal() and len(count) <= 9:
        return name, int(count)
    try:
        share = float(count)
    except ValueError:
        share = -1.0
    if not 0 < share < 1:
        raise InputError(
            "--also must be like resnet50=3, a network and how many runs count, or resnet50=0.3, its share "
            f"of all runs, above 0 and below 1, got {text!r}"
        )
    return name, share


def _search(
    layers: Any,
    space: Any,
    objective: str,
    asked: dict[str, Any],
    out: Path | None,
    json: bool,
) -> None:
    """Let a searcher find it."""
    from dse.cli.codesign_view import show_searched, write_found
    from dse.cli.search_view import Bar
    from dse.core.cost_models import unit_of
    from dse.optimum.codesign import codesign

    bar = Bar(layers.name, asked["budget"] or 0, unit_of(objective, space.model.name))
    try:
        with bar:
            found = codesign(layers, space, objective, observers=[bar], out=out, **asked)
    except KeyboardInterrupt:
        again = "its samples are lost without --out DIR" if out is None else "the same command goes on"
        typer.echo(f"stopped after {bar.samples:,} samples; {again}", err=True)
        raise typer.Exit(INTERRUPTED) from None
    entry = found.to_dict()
    if out is not None:
        write_found(entry, out)
    if json:
        output.print_json(entry)
    else:
        show_searched(found, out)
    if found.best is None:
        raise typer.Exit(FAILED)


def _verified(found: Codesign) -> list[dict[str, Any]]:
    from dataclasses import asdict

    from dse.optimum.verification.codesign import verify_codesign

    return [asdict(check) for check in verify_codesign(found)]


class Progress:
    """A line on the terminal: the best so far, the bound, the gap, and the time that is left."""

    def __init__(self, limit: float | None) -> None:
        self._limit, self._said = limit, False
        self._status = output.error_console().status("bounding the first boxes of hardware")

    def __enter__(self) -> Progress:
        self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._status.stop()

    def __call__(self, state: Any) -> None:
        """Note how far it is."""
        if state.value == math.inf and state.seconds > WORTH_SAYING and not self._said:
            self._said = True
            ends = "it goes on; --time-limit S ends it" if self._limit is None else "it goes on"
            typer.echo(f"nothing is found within the limits in {state.seconds:,.0f} s: {ends}", err=True)
        left = "" if self._limit is None else f", {max(self._limit - state.seconds, 0):,.0f} s left"
        self._status.update(
            f"best {state.value:.6g}, none below {state.bound:.6g}, gap {state.gap:.2%}; {state.boxes:,} "
            f"boxes, {state.open:,} open, {state.proofs:,} proofs, {state.seconds:,.0f} s{left}"
        )
