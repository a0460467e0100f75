"""The MAESTRO executable, where an environment variable names one: how long it takes is compared with."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

from dse.core.layer import Layer
from dse.domains.clustered.accelerator import Accelerator
from dse.domains.clustered.cost_model import Baseline
from dse.domains.clustered.mapping import MappingBatch
from dse.domains.clustered.models.maestro.dataflow_text import maestro_text
from dse.support.errors import InputError, shorten

VARIABLE = "DSE_MAESTRO"
"""The environment variable that names the executable."""
MAPPINGS = 10


def baseline(layer: Layer, accelerator: Accelerator) -> dict[str, Baseline]:
    """The program, run once a mapping as searches call it; nothing where it is not installed."""
    program = os.environ.get(VARIABLE)
    if not program:
        return {}
    command = [os.path.abspath(program), *options(accelerator)]

    def run_each(mappings: MappingBatch) -> None:
        with tempfile.TemporaryDirectory() as folder:
            for index in range(len(mappings)):
                file = Path(folder) / f"mapping{index}.m"
                file.write_text(maestro_text(layer, mappings[index]), encoding="utf-8")
                _run([*command, f"--Mapping_file={file}"], folder)

    return {"maestro program": Baseline(MAPPINGS, run_each)}


def options(hardware: Accelerator) -> list[str]:
    """What the program is told of the hardware, and to write a CSV file."""
    return [
        f"--num_pes={hardware.num_pes}",
        f"--noc_bw={hardware.noc_bandwidth}",
        "--noc_hops=1",
        f"--noc_hop_latency={hardware.noc_latency}",
        f"--num_simd_lanes={hardware.simd_lanes}",
        f"--offchip_bw={hardware.offchip_bandwidth}",
        f"--l1_size={hardware.l1_size}",
        f"--l2_size={hardware.l2_size}",
        "--noc_mc_support=true",
        "--print_res=false",
        "--print_res_csv_file=true",
    ]


def _run(command: list[str], folder: str) -> None:
    try:
        run = subprocess.run(command, cwd=folder, capture_output=True, check=False, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InputError(f"{VARIABLE}={command[0]!r} does not run: {error}") from None
    if run.returncode != 0:
        said = shorten((run.stderr or run.stdout).decode(errors="replace").strip())
        raise InputError(f"{VARIABLE}={command[0]!r} ended with code {run.returncode}: {said}")
