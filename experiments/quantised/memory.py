"""Table 2 again, the memory of an inference: `python -m experiments.quantised.memory`.

The networks of `speed`, one row. What a process needs beside what it has when it begins: the least limit of
its address space (`ulimit -v`) under which it reads the weights from a file and infers. Each try is a process
of its own. Writes memory.csv in results/quantised, in bytes; half a minute of CPU.
"""

from __future__ import annotations

import argparse
import csv
import os
import resource
import signal
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from torch import Tensor

from dse.support.files import make_folder
from experiments.quantised.ptq import HERE
from experiments.quantised.speed import BITS, SEEN, SIZES, networks
from learners.plain_data import import_safetensors
from learners.quantised import FULL, QuantisedWeights, quantise_weights
from learners.quantised_networks import Executed, named_weights

STEP = 1 << 18
"""Bytes: how finely the least limit is found."""


def infer(path: Path, bits: int) -> Tensor:
    """Read the weights, and infer."""
    seen = torch.zeros(1, 1, SEEN)
    if bits != FULL:
        return Executed(QuantisedWeights.from_bytes(path.read_bytes()), "relu")(seen)
    arrays, rows = import_safetensors().load(path.read_bytes()), seen[0]
    for layer in range(4):
        matrix, bias = (torch.from_numpy(arrays[f"{layer}.{part}"])[0] for part in ("weight", "bias"))
        rows = torch.addmm(bias, torch.relu(rows) if layer else rows, matrix.T)
    return rows


def apart(job: Callable[[], object]) -> bool:
    """Do a job in a process of its own, which leaves no memory behind: whether it was done."""
    child = os.fork()
    if child == 0:
        # Only os._exit from here on: the parent's files and handlers are not this process's.
        try:
            # What fails for want of memory says so at length, or waits for ever.
            signal.alarm(5)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            job()
            os._exit(0)
        except BaseException:
            os._exit(1)
    return os.waitpid(child, 0)[1] == 0


def least_limit(path: Path, bits: int) -> int:
    """The least bytes beside what a process has under which it infers."""

    def within(room: int) -> None:
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + room, used + room))
        infer(path, bits)

    low, high = 0, 1 << 28
    while high - low > STEP:
        middle = (low + high) // 2
        low, high = (low, middle) if apart(lambda room=middle: within(room)) else (middle, high)
    return high


def main() -> None:
    """Measure all."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    torch.set_num_threads(1)
    make_folder(HERE)
    with (HERE / "memory.csv").open("w", newline="") as file, TemporaryDirectory() as folder:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("network", "way", "file", "least"))
        path = Path(folder) / "weights.safetensors"

        def write(hidden: tuple[int, ...], bits: int) -> None:
            path.write_bytes(quantise_weights(named_weights(networks(hidden)), bits).to_bytes())

        for bits in BITS.values():
            # What the first inference of all needs is there before limits are.
            write((4, 4, 4), bits)
            infer(path, bits)
        for name, hidden in SIZES.items():
            for way, bits in BITS.items():
                apart(lambda hidden=hidden, bits=bits: write(hidden, bits))
                row = (name, way, path.stat().st_size, least_limit(path, bits))
                print(*row, flush=True)
                writer.writerow(row)
                file.flush()


if __name__ == "__main__":
    main()
