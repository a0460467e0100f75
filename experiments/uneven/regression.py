"""The figures that AccelForge's tests hold, beside proven optima of the same products on the same machines.

`results/uneven/regression.json` has four machines of its examples and 48 figures of its regression tests
that were made without fusion: of matrix products, the least energy without leakage and the words that each
level reads and writes. Heads of attention are groups of one layer, which are a dim like others: they may be
spread, as there. Each optimum has as many MACs at work as there. Rows of `results/uneven/regression.csv` stay
when this is called again; `results/uneven/regression.md` has the table, and the words of each tensor and
level that differ. Those of a fifth machine are in `snowcat`.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator, Mapping
from typing import Any

from dse.core.certificate import Certificate
from dse.core.clock import Clock
from dse.core.layer import Layer
from dse.domains.levels.machine import Energy, Level, Machine
from dse.domains.levels.mapping import HierarchyMapping
from dse.domains.levels.problem import MachineProblem
from dse.domains.levels.workload import GROUPS
from dse.models.timeloop.proof.search import solve, warm
from dse.models.timeloop.reference import NotPriced, evaluate_mapping
from experiments import RESULTS, keep, read_rows, write_rows
from experiments.uneven.optima import OUTPUT_DIMS

FOLDER = RESULTS / "uneven"
NAMES = ("machine", "workload", "products", "heads", "M", "N", "K", "nests")
HEAD = (*NAMES, "status", "pj", "published", "gap", "seconds", "words")
Words = dict[str, dict[str, list[int]]]
"""By level and tensor: words that are read, and that are written."""
BITS = 8
"""Of a word of the machines' file."""
ROUNDED = 1e-7
"""The share by which published sums can be off: some of their parts have 24 bits."""


def machines_of(name: str, data: Mapping[str, Any], bits: int) -> Iterator[Machine]:
    """The machine for words of so many bits: where a level may keep sums, one that does, and one without.

    Sums that leave a level are read there once more, so an update of the level outside of it takes both.
    Where instances' sums are added up on their way each is read: `energy_of` counts that, which a proof does
    not, so its bound holds.
    """
    by = bits // BITS
    for kept in (True, False):
        levels, below = [], 0.0
        for level in reversed(data["levels"]):
            keeps, may_keep = (
                set(level["keeps"]) | ({"O"} & set(level["may_keep"]) if kept else set()),
                set(level["may_keep"]) - {"O"},
            )
            read, written = by * level["read_pj"], by * level["write_pj"]
            capacity = level["words"]
            levels.append(
                Level(
                    level["name"],
                    # A register holds one word of any width.
                    capacity=capacity if capacity in (None, 1) else capacity // by,
                    fan_out=level["fan_out"],
                    keeps=tuple(sorted(keeps)),
                    may_keep=tuple(sorted(may_keep)),
                    spread=None if level["spread"] is None else tuple(level["spread"]),
                    loops=None if keeps or may_keep else (),
                    multicast=level["multicast"],
                    reduction=level["multicast"],
                    energy=Energy(read, written, written + below),
                )
            )
            below = read if "O" in keeps else below
        yield Machine(name, tuple(reversed(levels)), float(data["mac_pj"]))
        if not any("O" in level["may_keep"] for level in data["levels"]):
            return


def layer_of(figure: Mapping[str, Any]) -> Layer:
    """A figure's product, or those of all heads: groups, each with inputs, weights and outputs of its own."""
    heads, rows, columns, depth = (figure[key] for key in ("heads", "M", "N", "K"))
    return Layer("CONV", K=heads * columns, C=heads * depth, Y=rows, X=1, R=1, S=1, groups=heads)


def proven(figure: Mapping[str, Any], machine: Machine, nests: str, limit: float) -> Certificate:
    """The optimum of a figure's product on a machine, with as many MACs at work as there."""
    share = math.floor(1e6 * figure["macs"] / machine.macs) / 1e6
    limits = (f"pe_use>={share}",) if machine.macs > 1 else ()
    layer, fixed = layer_of(figure), {"nests": nests}
    problem = MachineProblem(layer, machine, "energy", "timeloop", fixed=fixed, limits=limits)
    return solve(problem, Clock(limit))


def words_of(mapping: HierarchyMapping, figure: Mapping[str, Any], machine: Machine, nests: str) -> Words:
    """What all instances of each level read and write of each tensor: as published, sums that leave them are
    read there, each of those that are added up on their way.
    """
    problem = MachineProblem(layer_of(figure), machine, "energy", "timeloop", fixed={"nests": nests})
    machine, workload = problem.accelerator, problem.space.workload
    costs = evaluate_mapping(workload, machine, mapping)
    assert not isinstance(costs, NotPriced)
    words: Words = {}
    sent, copies = 0, 1
    for place, level in enumerate(machine.levels):
        for tensor, one in costs.counts.get(level.name, {}).items():
            found = words.setdefault(level.part_of or level.name, {}).setdefault(tensor, [0, 0])
            found[0] += one.words("reads")
            found[1] += one.words("fills") + one.words("updates")
            if tensor == "O":
                found[0] += sent * copies
                sent, copies = one.words("updates"), 1
        for dim, times in mapping.levels[place].spatial:
            copies *= 1 if dim in (*OUTPUT_DIMS, GROUPS) or not level.reduction else times
    return words


def energy_of(words: Words, machine: Machine, macs: int) -> float:
    """In pJ, of what all instances read and write; a word that is written takes the same whatever it is."""
    levels = {level.name: level.energy for level in machine.levels}
    moved = sum(
        reads * levels[name].read_pj + writes * levels[name].write_pj
        for name, tensors in words.items()
        for reads, writes in tensors.values()
    )
    return moved + macs * machine.mac_pj


def names_of(figure: Mapping[str, Any]) -> tuple[str, ...]:
    """What a figure goes by in the rows, but for its nests."""
    named = {**figure, "products": " ".join(figure["products"])}
    return tuple(str(named[key]) for key in NAMES[:-1])


def asked(limit: float) -> Iterator[dict[str, object]]:
    """The rows that are not there yet, each when it is proven."""
    published = json.loads((FOLDER / "regression.json").read_text())
    done = {tuple(row[key] for key in NAMES) for row in read_rows(FOLDER / "regression.csv")}
    warm()
    for figure in published["figures"]:
        for nests in ("even", "uneven"):
            names = *names_of(figure), nests
            if names in done:
                continue
            start = time.process_time()
            machines = list(machines_of(names[0], published["machines"][names[0]], figure["bits"]))
            found = [proven(figure, machine, nests, limit) for machine in machines]
            moved = [
                words_of(one.best.mapping, figure, machine, nests)
                for one, machine in zip(found, machines, strict=True)
                if one.best
            ]
            macs = layer_of(figure).macs
            energies = [
                energy_of(words, machine, macs) for words, machine in zip(moved, machines, strict=True)
            ]
            bound = min(one.lower_bound * 1e12 for one in found)
            least = min(range(len(found)), key=energies.__getitem__)
            yield dict(
                zip(
                    HEAD,
                    (
                        *names,
                        "optimal" if all(one.status == "optimal" for one in found) else "bounded",
                        f"{energies[least]:.10g}",
                        f"{figure['energy']:.10g}",
                        f"{energies[least] / bound - 1:.4f}",
                        f"{time.process_time() - start:.1f}",
                        json.dumps(moved[least]),
                    ),
                    strict=True,
                )
            )


def table() -> str:
    """A line a figure, as shares of what was published, and what each level moves where they differ."""
    published = json.loads((FOLDER / "regression.json").read_text())["figures"]
    lines = [
        "| machine | workload | products | (heads x) M x N x K "
        "| pJ, AccelForge | even / it | uneven / it | CPU s |",
        "|---|---|---|---|---|---|---|---|",
    ]
    differ = [
        "| machine | (heads x) M x N x K | level | tensor | it reads | here | it writes | here |",
        "|---|---|---|---|---|---|---|---|",
    ]
    rows = {tuple(row[key] for key in NAMES): row for row in read_rows(FOLDER / "regression.csv")}
    below, above = 0, []
    for figure in published:
        names = names_of(figure)
        row, other = rows[*names, "even"], rows[*names, "uneven"]
        it, even, uneven = float(row["published"]), float(row["pj"]), float(other["pj"])
        below += uneven <= it * (1 + ROUNDED)
        above += [f"{names[0]}'s {names[2]} of {names[1]}"] if uneven > it * (1 + ROUNDED) else []
        shares = [
            f"{pj / it:.4f}" + ("" if of["status"] == "optimal" else ", not proven")
            for pj, of in ((even, row), (uneven, other))
        ]
        size = " x ".join(names[3 + (names[3] == "1") :])
        seconds = f"{row['seconds']}, {other['seconds']}"
        lines.append(f"| {' | '.join(names[:3])} | {size} | {it:.6g} | {' | '.join(shares)} | {seconds} |")
        if not 1 - 1e-3 < uneven / it < 1 + 1e-6:
            differ += list(_differences(names[0], size, figure, json.loads(other["words"])))
    count = len(lines) - 2
    gap = max(float(row["gap"]) for row in rows.values())
    told = (
        f"Of {count} optima of uneven nests {below} are not above AccelForge's. Proofs leave out reads of\n"
        "sums that are added up on their way, which these figures have: bounds are up to "
        f"{100 * gap:.1f} % below them."
    )
    if above:
        told += (
            f"\nAbove: {', '.join(above)}. Sums of several instances meet where they are not added up\n"
            "on their way: here all but the first are added to what is read there, which AccelForge does\n"
            "not count."
        )
    words = "Words of tensors where the energy is above, or lower by 0.1 % or more:"
    return "\n".join([*lines, "", told, "", words, "", *differ])


def _differences(
    machine: str, size: str, figure: Mapping[str, Any], here: Mapping[str, Any]
) -> Iterator[str]:
    for level in dict.fromkeys((*here, *figure["words"])):
        for tensor in "WIO":
            theirs = figure["words"].get(level, {}).get(tensor, (0, 0))
            ours = here.get(level, {}).get(tensor, (0, 0))
            if any(abs(one - other) > 1e-6 * other for one, other in zip(theirs, ours, strict=True)):
                pairs = (f"{one:.10g} | {other}" for one, other in zip(theirs, ours, strict=True))
                yield f"| {machine} | {size} | {level} | {tensor} | {' | '.join(pairs)} |"


def write(limit: float) -> None:
    """Prove what is not in the file yet, and write the table."""
    for row in asked(limit):
        write_rows(FOLDER / "regression.csv", HEAD, [row], add=True)
        print(*list(row.values())[:-1], flush=True)
    keep(FOLDER / "regression.md", "experiments.uneven", table())
