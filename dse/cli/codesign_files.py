"""What `dse codesign --out` writes: the machine, the result, its certificate and the mappings."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.cli import output
from dse.support.files import write_json, write_whole
from dse.support.toml import toml_lines

if TYPE_CHECKING:
    from dse.optimum.codesign.result import Codesign

RESULT, CERTIFICATE, MAPPINGS, MACHINE = "codesign.json", "certificate.json", "mappings", "machine.toml"


def write(found: Codesign, entry: dict[str, Any], out: Path) -> None:
    """Write what was found, its certificate, and a file for each layer's mapping."""
    write_json(out / CERTIFICATE, output.plain(found.certificate))
    write_best(entry, out)


def write_best(entry: dict[str, Any], out: Path) -> None:
    """Write the machine and what it costs, and a file for each layer's mapping."""
    from dse.search.network import layer_file

    write_json(out / RESULT, output.plain(entry))
    if entry["best"]:
        write_machine(output.plain(entry["best"]), out)
    else:
        (out / MACHINE).unlink(missing_ok=True)
    for place, layer in enumerate(entry["best"]["layers"] if entry["best"] else []):
        write_json(out / MAPPINGS / layer_file(place, layer["layer"]), layer["mapping"])


def write_machine(best: dict[str, Any], out: Path) -> None:
    """Write the machine as `--accelerator` reads it, with the cost model that it is priced by."""
    model = " ".join(shlex.quote(best["cost_model"]).split())
    lines = [f"# By dse codesign. Priced with --cost-model {model}", *toml_lines(best["hardware"])]
    write_whole(out / MACHINE, "\n".join(lines) + "\n")
