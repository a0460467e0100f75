"""A CPU as a cost model: a mapping becomes loops in C, gcc compiles them, and cachegrind or the clock judges.

    dse search --layer examples/judges/cpu/layers.toml:l1 --accelerator examples/judges/cpu/machine.toml \
      --cost-model 'command:python3 examples/judges/cpu/judge.py' --budget 50 --searcher team

Cycles are instructions, 10 for each miss of L1 and 100 for each of the last cache: the same each time. With
`--time` they are the least wall time of some repeats instead. Outputs are compared with untiled loops'.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
DIMS = "KCYX"
WORD = 4
L1_MISS, LAST_MISS = 10, 100
"""Cycles of a miss, as KCachegrind estimates them."""
LEAST_REPEATS, LEAST_SECONDS = 5, 0.05

Case = dict[str, Any]


class CannotRun(Exception):
    """Why a mapping cannot be run."""


def main() -> None:
    """Answer line by line, until there are none."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--time", action="store_true", help="the clock judges, not cachegrind")
    timed = parser.parse_args().time
    for program in ("gcc",) if timed else ("gcc", "valgrind"):
        if shutil.which(program) is None:
            sys.exit(f"{program} is not installed: apt-get install {program}")
    with tempfile.TemporaryDirectory() as folder:
        for line in sys.stdin:
            case = json.loads(line)
            try:
                answer = judge(case, Path(folder), timed)
            except CannotRun as reason:
                answer = {"status": "invalid", "reason": str(reason)}
            print(json.dumps({"id": case.get("id", 0), **answer}), flush=True)


def judge(case: Case, folder: Path, timed: bool = False) -> dict[str, Any]:
    """What the mapping takes; AssertionError where its outputs are wrong."""
    sizes = layer_sizes(case["layer"])
    program = compiled(sizes, loops(case["mapping"], sizes), folder, timed)
    answer = by_clock(program, case["hardware"]) if timed else by_counts(program, case["hardware"])
    outputs = (folder / "outputs").read_bytes()
    assert outputs == untiled(tuple(sizes.items()), folder), f"wrong outputs of {case['mapping']}"
    return answer


def layer_sizes(layer: Case) -> dict[str, int]:
    """What nest.c takes by -D: the loops of a convolution and its padded image."""
    if layer["type"] != "CONV" or layer.get("groups", 1) > 1 or layer.get("batch", 1) > 1:
        raise CannotRun("it runs convolutions of one group and one sample, not depthwise ones")
    sizes = {"K": layer["K"], "C": layer["C"], "R": layer["R"], "S": layer["S"]}
    for place, (rows, taps) in enumerate(("YR", "XS")):
        stride, padding, dilation = (
            pair(layer.get(key, least))[place]
            for key, least in (("stride", 1), ("padding", 0), ("dilation", 1))
        )
        image = layer[rows] + 2 * padding
        sizes[rows] = (image - (layer[taps] - 1) * dilation - 1) // stride + 1
        sizes |= {f"I{rows}": image, f"STRIDE_{rows}": stride, f"DILATION_{rows}": dilation}
    return sizes


def pair(value: Any) -> list[int]:
    """Rows and columns of what may be one number for both."""
    return list(value) if isinstance(value, list | tuple) else [value, value]


def loops(mapping: Case, sizes: Case) -> str:
    """The mapping's nest in C: outer tiles, inner tiles, and what is in one of them."""
    lines, begins = [], dict.fromkeys(DIMS, "0")
    ends = {dim: str(sizes[dim]) for dim in DIMS}
    for number, level in enumerate((mapping["outer"], mapping["inner"])):
        if any(level["tile"][tap] < sizes[tap] for tap in "RS"):
            raise CannotRun("a filter is not cut")
        tile = {dim: max(1, min(level["tile"][dim], sizes[dim])) for dim in DIMS}
        for dim in (dim for dim in level["order"] if dim in DIMS):
            name = f"{dim.lower()}{number}"
            lines.append(f"for (int {name} = {begins[dim]}; {name} < {ends[dim]}; {name} += {tile[dim]})")
            begins[dim] = name
            # The end of an inner tile is not beyond that of its outer one.
            ends[dim] = f"LEAST({name} + {tile[dim]}, {ends[dim]})"
    return "\n".join([*lines, *body(begins, ends, sizes)])


def body(begins: dict[str, str], ends: dict[str, str], sizes: Case) -> list[str]:
    """A tile: neighbouring words in the innermost loop, of rows where there is one column."""
    columns = "YX" if sizes["X"] > 1 else "XY"
    begins, ends = begins | {"R": "0", "S": "0"}, ends | {"R": "R", "S": "S"}
    lines = [
        f"for (int {dim.lower()} = {begins[dim]}; {dim.lower()} < {ends[dim]}; {dim.lower()}++)"
        for dim in ("K", "C", "R", "S", *columns)
    ]
    image = "input[c][y * STRIDE_Y + r * DILATION_Y][x * STRIDE_X + s * DILATION_X]"
    return [*lines, f"output[k][y][x] += weight[k][c][r][s] * {image};"]


def compiled(sizes: Case, nest: str, folder: Path, timed: bool = False, name: str = "nest") -> Path:
    """The program of some loops."""
    (folder / f"{name}.h").write_text(nest)
    command = ["gcc", "-O3", "-static", *(["-march=native"] if timed else [])]
    command += [f"-D{key}={value}" for key, value in sizes.items()]
    command += [f'-DLOOPS="{folder / name}.h"', str(HERE / "nest.c"), "-o", str(folder / name)]
    subprocess.run(command, check=True)
    return folder / name


@cache
def untiled(items: tuple[tuple[str, int], ...], folder: Path) -> bytes:
    """The outputs of a layer by plain loops."""
    sizes = dict(items)
    nest = "\n".join(body(dict.fromkeys(DIMS, "0"), {dim: dim for dim in DIMS}, sizes))
    program = compiled(sizes, nest, folder, name="untiled")
    subprocess.run([str(program), str(folder / "expected")], check=True)
    return (folder / "expected").read_bytes()


def by_counts(program: Path, machine: Case) -> dict[str, Any]:
    """Instructions and misses of caches as large as the machine's L1 and L2, turned into cycles."""
    caches = {"I1": 32768, "D1": machine["l1_size"] * WORD, "LL": machine["l2_size"] * WORD}
    command = [shutil.which("valgrind") or "valgrind", "--tool=cachegrind", "--cache-sim=yes"]
    command += [
        "--cachegrind-out-file=/dev/null",
        *(f"--{name}={size},8,64" for name, size in caches.items()),
    ]
    # No environment, and no path in its words: where the stack begins depends on their lengths.
    done = subprocess.run(
        [*command, f"./{program.name}", "outputs"],
        cwd=program.parent,
        env={},
        check=True,
        capture_output=True,
        text=True,
    )
    found = {
        name: int(number.replace(",", ""))
        for name, number in re.findall(
            r"(I +refs|D +refs|I1 +misses|D1 +misses|LL misses): +([\d,]+)", done.stderr
        )
    }
    counts = {"".join(name.split()): number for name, number in found.items()}
    misses, last = counts["I1misses"] + counts["D1misses"], counts["LLmisses"]
    counters = {
        "instructions": counts["Irefs"],
        "accesses": counts["Drefs"],
        "l1_misses": misses,
        "l2_misses": last,
    }
    return {"cycles": counts["Irefs"] + L1_MISS * misses + LAST_MISS * last, "counters": counters}


def by_clock(program: Path, machine: Case) -> dict[str, Any]:
    """The least wall time of at least five repeats that take 50 ms, in cycles of the machine's clock."""
    seconds: list[float] = []
    while len(seconds) < LEAST_REPEATS or (sum(seconds) < LEAST_SECONDS and len(seconds) < 1000):
        command = [str(program), str(program.parent / "outputs"), str(LEAST_REPEATS)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        seconds += [int(line) / 1e9 for line in done.stdout.split()]
    cycles = [second * machine["clock_ghz"] * 1e9 for second in seconds]
    return {"cycles": min(cycles), "repeats": len(cycles), "deviation": statistics.pstdev(cycles)}


if __name__ == "__main__":
    main()
