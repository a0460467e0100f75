"""SCALE-Sim 3.0.0 as a cost model: it says of a mapping the dataflow, the array's aspect and L2's tiles.

It runs in an environment of its own, as it needs numpy below 2.3:

    python3 -m venv scale && scale/bin/pip install scalesim==3.0.0 'numpy<2.3'
    dse search --layer examples/judges/scalesim/layers.toml:l1 \
      --accelerator examples/judges/scalesim/machine.toml \
      --cost-model 'command:scale/bin/python examples/judges/scalesim/judge.py' --budget 50 --searcher team
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import tempfile
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

DIMS = "KCYX"
MOST_MACS = 5_000_000
DATAFLOWS = {"KY": "os", "KX": "os", "CK": "ws", "CY": "is", "CX": "is"}
"""By what is spread: rows of the array are pixels (os) or input channels, columns the other dim."""
ROW_DIMS = {"os": "YX", "ws": "C", "is": "C"}
CONFIG = """[general]
run_name = judge
[architecture_presets]
ArrayHeight = {rows}
ArrayWidth = {columns}
IfmapSramSzkB = {part}
FilterSramSzkB = {part}
OfmapSramSzkB = {part}
IfmapOffset = 0
FilterOffset = 10000000
OfmapOffset = 20000000
Dataflow = {dataflow}
Bandwidth = {bandwidth}
ReadRequestBuffer = 32
WriteRequestBuffer = 32
[layout]
IfmapCustomLayout = False
FilterCustomLayout = False
IfmapSRAMBankBandwidth = {bandwidth}
IfmapSRAMBankNum = 1
IfmapSRAMBankPort = 1
FilterSRAMBankBandwidth = {bandwidth}
FilterSRAMBankNum = 1
FilterSRAMBankPort = 1
[sparsity]
SparsitySupport = false
[run_presets]
InterfaceBandwidth = USER
UseRamulatorTrace = False
"""
COUNTERS = (
    "sram_reads_input", "sram_reads_weight", "sram_writes",
    "dram_reads_input", "dram_reads_weight", "dram_writes",
)  # fmt: skip
PLACES = (2, 5, 8, 11, 14, 17)
"""Where these are in SCALE-Sim's report of accesses."""

Case = dict[str, Any]


class CannotRun(Exception):
    """Why SCALE-Sim cannot be told a mapping."""


def main() -> None:
    """Answer line by line, until there are none."""
    try:
        import scalesim  # noqa: F401
    except ImportError:
        sys.exit("scalesim is not installed here: pip install scalesim==3.0.0 'numpy<2.3'")
    for line in sys.stdin:
        case = json.loads(line)
        try:
            answer = judge(case)
        except CannotRun as reason:
            answer = {"status": "invalid", "reason": str(reason)}
        print(json.dumps({"id": case.get("id", 0), **answer}), flush=True)


def judge(case: Case) -> dict[str, Any]:
    """The cycles of all outer tiles, one after another."""
    layer, machine = case["layer"], case["hardware"]
    dataflow, rows, columns = array(case["mapping"], machine)
    part = machine["l2_size"] // 3 // 1024
    if part < 1:
        raise CannotRun(f"each third of L2 is at least 1024 words, l2_size is {machine['l2_size']}")
    settings = CONFIG.format(
        rows=rows, columns=columns, part=part, dataflow=dataflow, bandwidth=machine["offchip_bandwidth"]
    )
    total, counters = 0, dict.fromkeys(COUNTERS, 0)
    for count, tile in tiles(layer, case["mapping"]["outer"]["tile"]):
        cycles, accesses = simulate(settings, tile)
        total += count * cycles
        for name, number in zip(COUNTERS, accesses, strict=True):
            counters[name] += count * number
    return {"cycles": total, "counters": counters}


def array(mapping: Case, machine: Case) -> tuple[str, int, int]:
    """The dataflow, and the array's rows and columns."""
    cluster = mapping["cluster_size"]
    if not 1 <= cluster <= machine["num_pes"]:
        raise CannotRun(f"cluster_size must be from 1 to {machine['num_pes']}, got {cluster}")
    sizes = (machine["num_pes"] // cluster, cluster)
    spread = [mapping[level]["parallel"] for level in ("outer", "inner")]
    dataflow = DATAFLOWS.get("".join(sorted(spread)))
    if dataflow is None:
        raise CannotRun(f"no dataflow spreads {spread[0]} and {spread[1]}")
    return dataflow, *(sizes if spread[0] in ROW_DIMS[dataflow] else sizes[::-1])


def tiles(layer: Case, tile: Case) -> list[tuple[int, str]]:
    """How often each kind of outer tile is run, as lines of a topology."""
    if layer["type"] != "CONV" or layer.get("groups", 1) > 1 or layer.get("batch", 1) > 1:
        raise CannotRun("it runs convolutions of one group and one sample, not depthwise ones")
    strides, paddings, dilations = (
        pair(layer.get(key, least)) for key, least in (("stride", 1), ("padding", 0), ("dilation", 1))
    )
    if dilations != [1, 1]:
        raise CannotRun("SCALE-Sim has no dilation")
    if strides[0] != strides[1] and min(layer["Y"], layer["X"]) > 1:
        raise CannotRun("SCALE-Sim has one stride for rows and columns")
    sizes = {"K": layer["K"], "C": layer["C"]}
    for place, (rows, taps) in enumerate(("YR", "XS")):
        sizes[rows] = (layer[rows] + 2 * paddings[place] - layer[taps]) // strides[place] + 1
    if any(tile[tap] < layer[tap] for tap in "RS"):
        raise CannotRun("a filter is not cut")
    kinds = []
    for dim in DIMS:
        whole, rest = divmod(sizes[dim], max(1, min(tile[dim], sizes[dim])))
        kinds.append(
            [(whole, sizes[dim] // whole if not rest else tile[dim]), *([(1, rest)] if rest else [])]
        )
    found = []
    for (nk, k), (nc, c), (ny, y), (nx, x) in product(*kinds):
        image = [(size - 1) * strides[0] + layer[taps] for size, taps in ((y, "R"), (x, "S"))]
        line = f"layer,{image[0]},{image[1]},{layer['R']},{layer['S']},{c},{k},{strides[0]},1:1,"
        if k * c * y * x * layer["R"] * layer["S"] > MOST_MACS:
            raise CannotRun(f"a tile has more than {MOST_MACS} MACs: it takes SCALE-Sim too long")
        found.append((nk * nc * ny * nx, line))
    return found


def pair(value: Any) -> list[int]:
    """Rows and columns of what may be one number for both."""
    return list(value) if isinstance(value, list | tuple) else [value, value]


@cache
def simulate(settings: str, tile: str) -> tuple[int, tuple[int, ...]]:
    """Cycles and accesses of a layer of one tile."""
    from scalesim.scale_sim import scalesim

    with tempfile.TemporaryDirectory() as name, contextlib.redirect_stdout(io.StringIO()):
        folder = Path(name)
        files = {
            "run.cfg": settings,
            "topology.csv": "name,ih,iw,fh,fw,c,k,stride,sparsity,\n" + tile + "\n",
            "layout.csv": "name" + 18 * ",x" + ",\nlayer" + 18 * ",1" + ",\n",
        }
        for file, text in files.items():
            (folder / file).write_text(text)
        run = scalesim(True, False, *(str(folder / file) for file in files))
        run.run_scale(top_path=name)
        (done,) = run.runner.single_layer_sim_object_list
        accesses = done.get_detail_report_items()
        return int(done.get_compute_report_items()[0]), tuple(int(accesses[place]) for place in PLACES)


if __name__ == "__main__":
    main()
