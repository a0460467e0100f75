"""Eight problems for each judge, drawn by a seed before any search: `python examples/judges/draw.py`.

Writes layers.toml (convolutions, for the CPU also products), machines/*.toml and campaign.toml.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
SEED, PROBLEMS, MACHINES = 53, 8, 4
OUTPUTS = (7, 8, 10, 12, 14, 16, 20, 24, 28)
BUDGET, SEEDS = 50, 10
SEARCHERS = ("calibrated", "team", "bayesian", "random")

Draw = np.random.Generator


@dataclass(frozen=True)
class Judge:
    """What is drawn for one: least and most MACs, figures of machines, fixed genes, also products or not."""

    name: str
    macs: tuple[int, int]
    figures: dict[str, Sequence[float]]
    fixed: str = ""
    products: bool = False
    python: str = "python3"


JUDGES = (
    Judge(
        "rtl",
        (100_000, 400_000),
        {
            "num_pes": (8, 16),
            "l1_size": (256, 512, 1024),
            "l2_size": (4096, 8192, 16384),
            "noc_bandwidth": (2, 4, 8),
            "offchip_bandwidth": (1, 2, 4),
            "noc_latency": (2, 4, 8),
        },
    ),
    Judge(
        "cpu",
        (400_000, 2_000_000),
        {
            "num_pes": (1,),
            "l1_size": (2048, 4096, 8192),
            "l2_size": (16384, 32768, 65536),
            "noc_bandwidth": (4,),
            "offchip_bandwidth": (1,),
            "noc_latency": (0,),
            "simd_lanes": (4,),
            "clock_ghz": (2.0,),
        },
        fixed='fixed = {"outer.parallel" = "K", "inner.parallel" = "K"}  # one core\n',
        products=True,
    ),
    Judge(
        "scalesim",
        (400_000, 2_000_000),
        {
            "num_pes": (16, 64, 144),
            "l1_size": (2**30,),
            "l2_size": (12288, 24576, 49152),
            "noc_bandwidth": (64,),
            "offchip_bandwidth": (4, 8, 16),
            "noc_latency": (0,),
        },
        python="scale/bin/python",
    ),
)


def main() -> None:
    """Write the files of all judges."""
    for judge in JUDGES:
        # A judge's problems do not depend on which others there are.
        rng = np.random.default_rng([SEED, *judge.name.encode()])
        folder = HERE / judge.name
        (folder / "machines").mkdir(exist_ok=True)
        layers = [draw_layer(rng, judge, number) for number in range(1, PROBLEMS + 1)]
        (folder / "layers.toml").write_text(f'name = "{judge.name}-judge"\n\n' + "\n".join(layers))
        for number, machine in enumerate(draw_machines(rng, judge), 1):
            (folder / "machines" / f"{number}.toml").write_text(machine)
        (folder / "campaign.toml").write_text(campaign(judge))


def draw_machines(rng: Draw, judge: Judge) -> list[str]:
    """Machines that differ, as files."""
    drawn: list[str] = []
    while len(drawn) < MACHINES:
        lines = [f"{name} = {rng.choice(values)}\n" for name, values in judge.figures.items()]
        if (machine := "".join(lines)) not in drawn:
            drawn.append(machine)
    return drawn


def draw_layer(rng: Draw, judge: Judge, number: int) -> str:
    """A layer whose MACs are in the judge's range, as a table."""
    while True:
        if judge.products and number % 2:
            sizes = {dim: int(rng.integers(4, 25)) * 8 for dim in "MNK"}
            kind, macs, rest = "GEMM", int(np.prod(list(sizes.values()))), ""
        else:
            taps, stride = int(rng.choice([1, 3, 3, 5])), int(rng.choice([1, 1, 1, 2]))
            outputs, padding = int(rng.choice(OUTPUTS)), taps // 2
            image = outputs * stride
            sizes = {dim: int(rng.integers(1, 9)) * 8 for dim in "KC"}
            sizes |= {"Y": image, "X": image, "R": taps, "S": taps}
            kind, macs = "CONV", sizes["K"] * sizes["C"] * outputs**2 * taps**2
            rest = f"stride = {stride}\npadding = {padding}\n"
        if judge.macs[0] <= macs <= judge.macs[1]:
            break
    lines = [f"{dim} = {size}" for dim, size in sizes.items()]
    return "\n".join(["[[layers]]", f'name = "l{number}"', f'type = "{kind}"', *lines, rest])


def campaign(judge: Judge) -> str:
    """The campaign over the eight problems."""
    problems = [
        f'[[problems]]\nlayer = "layers.toml:l{number}"\n'
        f'accelerator = "machines/{1 + (number - 1) % MACHINES}.toml"\nobjective = "latency"\n'
        for number in range(1, PROBLEMS + 1)
    ]
    program = f"command(run='{judge.python} examples/judges/{judge.name}/judge.py', timeout=300.0)"
    head = (
        "# Written by draw.py. To be run in the folder that has examples:\n"
        f"# dse run examples/judges/{judge.name}/campaign.toml --out {judge.name}-judge\n"
        f'name = "{judge.name}-judge"\n'
        f'budget = {BUDGET}\nseeds = {SEEDS}\n{judge.fixed}cost_model = "{program}"\n'
    )
    return "\n".join([head, *problems, *(f"[searchers.{name}]" for name in SEARCHERS)]) + "\n"


if __name__ == "__main__":
    main()
