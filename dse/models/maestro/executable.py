"""`maestro-exe`: the user's own MAESTRO executable prices, a run a mapping, in a scratch folder of its own.

The layer is lowered (MAESTRO knows no padding), the text is that of `dataflow_text`, figures are those of the
CSV file that MAESTRO writes, with the six digits that it prints.
"""

from __future__ import annotations

import csv
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from dse.core.layer import Layer
from dse.core.model_settings import ModelSettings
from dse.domains.clustered.accelerator import Accelerator
from dse.domains.clustered.formats.dataflow_text import maestro_text
from dse.domains.clustered.mapping import Mapping
from dse.models.outside.answers import Answer, Refusal, garbled_answer, read_answer
from dse.models.outside.command import Processes, Retries, Seconds, files_digest
from dse.models.outside.model import OutsideModel
from dse.models.outside.processes import ask_each, find_program, run_once
from dse.support.errors import InputError, shorten

COLUMNS = {
    "Runtime (Cycles)": "cycles",
    "Activity count-based Energy (nJ)": "energy_nj",
    "Area": "area",
    "Power": "power",
    "L1 SRAM Size Req (Bytes)": "l1_size",
    "L2 SRAM Size Req (Bytes)": "l2_size",
    "Num MACs": "macs",
}
"""The columns of MAESTRO's file that hold figures; its bytes are elements."""
STEM = "mapping"
VARIABLE = "DSE_MAESTRO"
"""The environment variable that names the executable."""


@dataclass(frozen=True)
class ExecutableSettings(ModelSettings):
    """`program` is the executable; without one it is what the environment variable DSE_MAESTRO names.

    A run that takes longer than `timeout` seconds, dies or writes what cannot be used is repeated `retries`
    times. At most `processes` run at the same time; `cache` names a file in which answers are kept.
    """

    label: ClassVar[str] = "settings of cost model 'maestro-exe'"
    main: ClassVar[str] = "program"
    neutral: ClassVar[tuple[str, ...]] = ("program", "retries", "processes", "cache")

    program: str = ""
    timeout: Seconds = 60.0
    retries: Retries = 0
    processes: Processes = 2
    cache: str = ""


class MaestroExecutable(OutsideModel):
    """MAESTRO itself, for CONV and DSCONV layers. What it is, its file says, not where that is."""

    name = "maestro-exe"
    output_halo = True
    prices_strides = False
    settings_type = ExecutableSettings
    settings: ExecutableSettings

    def __init__(self, settings: ExecutableSettings | None = None) -> None:
        """InputError if there is no executable."""
        self.settings = settings or ExecutableSettings()
        given = self.settings.program or os.environ.get(VARIABLE, "")
        if not given:
            raise InputError(
                f"cost model {self.name!r} needs MAESTRO's executable: expected {self.name}:PATH, or its "
                f"path in the environment variable {VARIABLE}"
            )
        self._program = find_program(given, f"cost model {self.name!r}")
        self.version = files_digest([self._program])
        self.cache, self.at_once = self.settings.cache, self.settings.processes

    def answers(
        self, layer: Layer, accelerator: Accelerator, mappings: list[Mapping]
    ) -> Iterator[tuple[int, Answer]]:
        """What the program writes of each mapping."""

        def ask(mapping: Mapping) -> Answer:
            answer: Answer = garbled_answer("")
            for _ in range(self.settings.retries + 1):
                answer = self._run(layer, accelerator, mapping)
                if not isinstance(answer, Refusal):
                    break
            return answer

        return ask_each(ask, mappings, self.settings.processes)

    def _run(self, layer: Layer, accelerator: Accelerator, mapping: Mapping) -> Answer:
        with tempfile.TemporaryDirectory(prefix="dse-maestro-") as scratch:
            folder = Path(scratch)
            file = folder / f"{STEM}.m"
            try:
                file.write_text(maestro_text(layer, mapping), encoding="utf-8")
            except InputError as error:
                return garbled_answer(str(error))
            command = [self._program, *options(accelerator), f"--Mapping_file={file}"]
            failed = run_once(command, folder, self.settings.timeout)
            return failed or _figures(folder / f"{STEM}.csv")


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


def _figures(path: Path) -> Answer:
    """The figures of the one line in MAESTRO's file."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            lines = [line for line in csv.reader(file, skipinitialspace=True) if line]
    except (OSError, UnicodeDecodeError, csv.Error):
        return garbled_answer(f"it wrote no {path.name} that can be read")
    if len(lines) != 2:
        return garbled_answer(f"expected a head and one line in {path.name}, got {len(lines)} lines")
    said = dict(zip((name.strip() for name in lines[0]), lines[1], strict=False))
    missing = [name for name in COLUMNS if name not in said]
    if missing:
        return garbled_answer(f"{path.name} lacks {', '.join(map(repr, missing))}")
    figures: dict[str, float] = {}
    for name, figure in COLUMNS.items():
        try:
            text = said[name].strip()
            figures[figure] = int(text) if text.lstrip("-").isdecimal() else float(text)
        except ValueError:
            return garbled_answer(f"{name!r} must be a number, got {shorten(said[name])}")
    return read_answer(figures)
