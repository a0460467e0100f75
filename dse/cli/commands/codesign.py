"""`dse codesign`: the best machine of a space of hardware for a network, with its mappings and the proof."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dse.cli import output
from dse.cli.networks import note_merged
from dse.cli.options import ConstantsFile, CostModelName, Json, NetworkName, Objective, chosen_model
from dse.support.errors import InputError

if TYPE_CHECKING:
    from dse.optimum.codesign.result import Codesign

FAILED = 1
RESULT, CERTIFICATE, MAPPINGS = "codesign.json", "certificate.json", "mappings"


def command(
    network: NetworkName = None,
    hardware: Annotated[
        str | None,
        typer.Option("--hardware", help="The space of hardware, see docs/codesign.md.", metavar="SPACE.toml"),
    ] = None,
    objective: Objective = "edp",
    area: Annotated[
        float | None, typer.Option("--area", help="No machine may be larger.", metavar="MM2")
    ] = None,
    power: Annotated[
        float | None, typer.Option("--power", help="No machine may take more.", metavar="MW")
    ] = None,
    time_limit: Annotated[
        float | None, typer.Option(help="Seconds; the next call goes on from there.", metavar="S")
    ] = None,
    workers: Annotated[int, typer.Option(help="Processes that prove.", metavar="N")] = 1,
    verify: Annotated[
        bool, typer.Option("--verify", help="Check the proof in code that shares nothing with the solver.")
    ] = False,
    cost_model: CostModelName = None,
    constants: ConstantsFile = None,
    cache: Annotated[
        Path | None,
        typer.Option(help="The folder where proofs are kept; by default the user's own.", metavar="DIR"),
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Prove it anew: read and keep nothing.")] = False,
    out: Annotated[
        Path | None, typer.Option(help="A folder for the machine, mappings and certificate.", metavar="DIR")
    ] = None,
    json: Json = False,
) -> None:
    """Find the machine of a space, and the mappings, that are best for a whole network, with the proof.

    The exit code is 1 if no machine runs every layer within the limits: that is proven then.
    """
    from dse.domains.codesign.reading import read_space
    from dse.optimum.codesign import codesign
    from dse.support.files import make_folder
    from dse.support.validation import positive_number
    from workloads import load

    if network is None or hardware is None:
        raise InputError("codesign needs --network NETWORK and --hardware SPACE.toml")
    if fresh and cache is not None:
        raise InputError("--fresh keeps no proofs, and --cache says where to keep them; choose one")
    given = {"area_mm2": (area, "--area"), "power_mw": (power, "--power")}
    limits = {
        key: positive_number(value, option) for key, (value, option) in given.items() if value is not None
    }
    model = None if cost_model is None and constants is None else chosen_model(cost_model, constants)
    space, layers = read_space(hardware, model, limits), load(network)
    if out is not None:
        make_folder(out, MAPPINGS)
    note_merged(network)
    with Progress(time_limit) as progress:
        found = codesign(
            layers,
            space,
            objective,
            time_limit=time_limit,
            workers=workers,
            cache=False if fresh else cache or True,
            observe=progress,
        )
    entry = found.to_dict()
    if verify:
        entry["verified"] = _verified(found)
    if out is not None:
        write(found, entry, out)
    if json:
        output.print_json(entry)
    else:
        from dse.cli.codesign_view import show

        show(found, entry, out, kept=not fresh)
    if found.interrupted:
        raise KeyboardInterrupt
    if found.status == "infeasible" or not all(check["passed"] for check in entry.get("verified", [])):
        raise typer.Exit(FAILED)


def _verified(found: Codesign) -> list[dict[str, Any]]:
    from dataclasses import asdict

    from dse.optimum.verification.codesign import verify_codesign

    return [asdict(check) for check in verify_codesign(found)]


def write(found: Codesign, entry: dict[str, Any], out: Path) -> None:
    """Write what was found, its certificate, and a file for each layer's mapping."""
    from dse.search.network import layer_file
    from dse.support.files import write_json

    write_json(out / RESULT, output.plain(entry))
    write_json(out / CERTIFICATE, output.plain(found.certificate))
    for place, layer in enumerate(found.best["layers"] if found.best else []):
        write_json(out / MAPPINGS / layer_file(place, layer["layer"]), layer["mapping"])


class Progress:
    """A line on the terminal: the best so far, the bound, the gap, and the time that is left."""

    def __init__(self, limit: float | None) -> None:
        from rich.console import Console

        self._limit = limit
        self._status = Console(stderr=True).status("bounding the first boxes of hardware")

    def __enter__(self) -> Progress:
        self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._status.stop()

    def __call__(self, state: Any) -> None:
        """Note how far it is."""
        left = "" if self._limit is None else f", {max(self._limit - state.seconds, 0):,.0f} s left"
        self._status.update(
            f"best {state.value:.6g}, none below {state.bound:.6g}, gap {state.gap:.2%}; {state.boxes:,} "
            f"boxes, {state.open:,} open, {state.proofs:,} proofs, {state.seconds:,.0f} s{left}"
        )
