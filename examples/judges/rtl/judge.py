"""The RTL of a small accelerator, run by Verilator, as a cost model: it answers each line of JSON with one.

    dse search --layer examples/judges/rtl/layers.toml:l1 --accelerator examples/judges/rtl/machine.toml \
      --cost-model 'command:python3 examples/judges/rtl/judge.py' --budget 50 --searcher team

The Verilog is compiled once for each machine, into the folder `build` beside this file (JUDGE_BUILD names
another); `judge.py MACHINE.toml ...` does so beforehand. Outputs of every run are compared with numpy's.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
SOURCES = ["config.sv", "odometer.sv", "dma.sv", "l2.sv", "noc.sv", "pes.sv", "accelerator.sv", "main.cpp"]
DIMS = "KCYX"
DRAM_WORDS = 1 << 20
MOST_CYCLES = 20_000_000
COUNTERS = ("dram_words", "dram_bursts", "page_misses", "noc_words", "compute", "wait_noc", "wait_dram")

Case = dict[str, Any]


class CannotRun(Exception):
    """Why the accelerator cannot run a mapping."""


def main() -> None:
    """Answer line by line, until there are none; or compile the machines of some files."""
    for name in sys.argv[1:]:
        simulator(tomllib.loads(Path(name).read_text()))
    if sys.argv[1:]:
        return
    for line in sys.stdin:
        case = json.loads(line)
        try:
            answer = judge(case)
        except CannotRun as reason:
            answer = {"status": "invalid", "reason": str(reason)}
        print(json.dumps({"id": case.get("id", 0), **answer}), flush=True)


def judge(case: Case) -> dict[str, Any]:
    """What a run of the mapping takes; AssertionError where its outputs are wrong."""
    sizes, mapping, machine = layer_sizes(case["layer"]), case["mapping"], case["hardware"]
    registers = configure(sizes, mapping, machine)
    image, weights, expected = data(tuple(sizes.items()))
    dram = np.concatenate([image.ravel(), weights.ravel()])
    if len(dram) + expected.size > DRAM_WORDS:
        raise CannotRun(f"DRAM has {DRAM_WORDS} words, the layer {len(dram) + expected.size}")
    pes = np.arange(machine["num_pes"])
    cluster = min(mapping["cluster_size"], machine["num_pes"])
    head = [len(registers), len(pes), len(dram), len(dram), expected.size, MOST_CYCLES]
    words = np.concatenate([head, registers, pes // cluster, pes % cluster, dram]).astype(np.int32)
    said = run(machine, words, 9 + expected.size)
    if not said[0]:
        raise CannotRun(f"not done after {MOST_CYCLES} cycles")
    assert np.array_equal(said[9:], expected.ravel()), f"wrong outputs of {mapping}"
    counters = dict(zip(COUNTERS, map(int, said[2:9]), strict=True))
    return {"cycles": int(said[1]), "counters": counters}


def layer_sizes(layer: Case) -> dict[str, int]:
    """The loops of a convolution, with the padded image."""
    if layer["type"] != "CONV" or layer.get("groups", 1) > 1 or layer.get("batch", 1) > 1:
        raise CannotRun("it runs convolutions of one group and one sample, not depthwise ones")
    sizes = {"K": layer["K"], "C": layer["C"], "R": layer["R"], "S": layer["S"]}
    for place, (rows, taps, image) in enumerate((("Y", "R", "IY"), ("X", "S", "IX"))):
        stride, padding, dilation = (
            pair(layer.get(key, least))[place]
            for key, least in (("stride", 1), ("padding", 0), ("dilation", 1))
        )
        window = (layer[taps] - 1) * dilation + 1
        sizes[image] = layer[rows] + 2 * padding
        sizes[rows] = (sizes[image] - window) // stride + 1
        sizes |= {f"stride_{rows}": stride, f"dilation_{rows}": dilation, f"window_{rows}": window}
        sizes[f"padding_{rows}"] = padding
    return sizes


def pair(value: Any) -> list[int]:
    """Rows and columns of what may be one number for both."""
    return list(value) if isinstance(value, list | tuple) else [value, value]


def configure(sizes: Case, mapping: Case, machine: Case) -> list[int]:
    """The registers in the order of config.sv; CannotRun where there is no way to run the mapping."""
    outer, inner, cluster = mapping["outer"], mapping["inner"], mapping["cluster_size"]
    for level in (outer, inner):
        if level["parallel"] not in DIMS:
            raise CannotRun("the filter is not spread over PEs")
    if outer["parallel"] == "C":
        raise CannotRun("adders join the PEs of a cluster, not clusters: outer.parallel C is not run")
    if not 1 <= cluster <= machine["num_pes"]:
        raise CannotRun(f"cluster_size must be from 1 to {machine['num_pes']}, got {cluster}")
    if any(outer["tile"][tap] < sizes[tap] or inner["tile"][tap] < sizes[tap] for tap in "RS"):
        raise CannotRun("a PE takes the whole filter")
    clusters = machine["num_pes"] // cluster
    a = {dim: min(outer["tile"][dim], sizes[dim]) for dim in DIMS}
    b = {dim: min(inner["tile"][dim], a[dim]) for dim in DIMS}
    covered = {dim: a[dim] * (clusters if dim == outer["parallel"] else 1) for dim in DIMS}
    stepped = {dim: b[dim] * (cluster if dim == inner["parallel"] else 1) for dim in DIMS}
    held = {dim: min(covered[dim], sizes[dim]) for dim in DIMS}
    l2, l1 = boxes(sizes, held), boxes(sizes, b)
    for name, needed in (("l2_size", l2), ("l1_size", l1)):
        if 2 * sum(needed) > machine[name]:
            raise CannotRun(f"{name} {machine[name]} is too small for two times {sum(needed)} words")
    codes = [[DIMS.index(dim) for dim in level["order"] if dim in DIMS] for level in (outer, inner)]
    image = sizes["C"] * sizes["IY"] * sizes["IX"]
    weights = sizes["K"] * sizes["C"] * sizes["R"] * sizes["S"]
    rows = [
        [(tile[dim] - 1) * sizes[f"stride_{dim}"] + sizes[f"window_{dim}"] for dim in "YX"]
        for tile in (held, b)
    ]
    registers = [table[dim] for table in (sizes, a, b, held, stepped) for dim in DIMS]
    registers += [*codes[0], *codes[1]]
    registers += [DIMS.index(outer["parallel"]), DIMS.index(inner["parallel"]), cluster, clusters]
    registers += [
        sizes[name] for name in ("R", "S", "stride_Y", "stride_X", "dilation_Y", "dilation_X", "IY", "IX")
    ]
    registers += [image, image + weights]
    registers += [number for y, x in rows for number in (x, y * x)]
    return [*registers, *halves(l2), *halves(l1)]


def boxes(sizes: Case, tile: Case) -> list[int]:
    """Words of inputs, weights and outputs that a tile needs."""
    y, x = ((tile[dim] - 1) * sizes[f"stride_{dim}"] + sizes[f"window_{dim}"] for dim in "YX")
    taps = sizes["R"] * sizes["S"]
    return [tile["C"] * y * x, tile["K"] * tile["C"] * taps, tile["K"] * tile["Y"] * tile["X"]]


def halves(needed: list[int]) -> list[int]:
    """Where the two halves of each tensor begin."""
    starts = np.cumsum([0, *(size for size in needed for _ in range(2))])
    return [int(start) for start in starts[:-1]]


@cache
def data(items: tuple[tuple[str, int], ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A padded image, weights, and the outputs that numpy finds."""
    sizes, rng = dict(items), np.random.default_rng(0)
    image = rng.integers(-8, 8, (sizes["C"], sizes["IY"], sizes["IX"]), dtype=np.int32)
    for axis, dim in ((1, "Y"), (2, "X")):
        edge = np.arange(image.shape[axis])
        outside = (edge < sizes[f"padding_{dim}"]) | (edge >= image.shape[axis] - sizes[f"padding_{dim}"])
        image[(slice(None), *(outside if at == axis else slice(None) for at in (1, 2)))] = 0
    weights = rng.integers(-8, 8, (sizes["K"], sizes["C"], sizes["R"], sizes["S"]), dtype=np.int32)
    outputs = np.zeros((sizes["K"], sizes["Y"], sizes["X"]), dtype=np.int32)
    for r in range(sizes["R"]):
        for s in range(sizes["S"]):
            y, x = r * sizes["dilation_Y"], s * sizes["dilation_X"]
            seen = image[:, y :: sizes["stride_Y"], x :: sizes["stride_X"]][:, : sizes["Y"], : sizes["X"]]
            outputs += np.tensordot(weights[:, :, r, s], seen, axes=1)
    return image, weights, outputs


_running: dict[str, subprocess.Popen[bytes]] = {}


def run(machine: Case, words: np.ndarray, count: int) -> np.ndarray:
    """What the machine's simulator, which is kept running, says to some words."""
    program = str(simulator(machine))
    if program not in _running:
        _running[program] = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process = _running[program]
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(words.tobytes())
    process.stdin.flush()
    said = process.stdout.read(4 * count)
    if len(said) < 4 * count:
        del _running[program]
        raise RuntimeError("the simulator died")
    return np.frombuffer(said, dtype=np.int32)


def simulator(machine: Case) -> Path:
    """The simulator of a machine, compiled where there is none yet."""
    figures = {
        "PES": machine["num_pes"], "L1": machine["l1_size"], "L2": machine["l2_size"],
        "NOC": machine["noc_bandwidth"], "BUS": machine["offchip_bandwidth"],
        "NOC_LATENCY": machine.get("noc_latency", 1),
    }  # fmt: skip
    digest = hashlib.sha256(repr(figures).encode())
    for name in SOURCES:
        digest.update((HERE / name).read_bytes())
    folder = Path(os.environ.get("JUDGE_BUILD", HERE / "build"))
    program = folder / f"rtl-{digest.hexdigest()[:12]}"
    if not program.exists():
        compile_to(program, figures)
    return program


def compile_to(program: Path, figures: dict[str, int]) -> None:
    """Compile the Verilog for these parameters."""
    if shutil.which("verilator") is None:
        sys.exit("verilator is not installed: apt-get install verilator")
    program.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=program.parent) as folder:
        command = ["verilator", "--cc", "--exe", "--build", "-j", "2", "-O3", "-Wno-fatal", "-Wno-WIDTH"]
        command += ["--x-initial", "fast", "--Mdir", folder, "--top-module", "accelerator", "-o", "sim"]
        command += ["-MAKEFLAGS", "OPT_FAST=-O2 OPT_SLOW=-O0 OPT_GLOBAL=-O0"]
        command += [f"-G{name}={value}" for name, value in figures.items()]
        done = subprocess.run(
            [*command, *(str(HERE / name) for name in SOURCES)], capture_output=True, text=True
        )
        if done.returncode:
            sys.exit(f"verilator failed: {(done.stderr or done.stdout)[-400:]}")
        # In one step: another process may have compiled the same machine meanwhile.
        os.replace(Path(folder) / "sim", program)


if __name__ == "__main__":
    main()
