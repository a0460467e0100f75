"""What `dse bench certify` proves, and how it shows what it measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dse.cli import output

if TYPE_CHECKING:
    from dse.bench.certify import Row, Sets

SETS = ("network", "accelerator", "objective")
HEADS = ("proofs", "optimal", "share %", "infeasible", "median s", "worst s", "gap %", "peak MB")


def sets_of(
    networks: Sequence[str] | None,
    accelerators: Sequence[str] | None,
    objectives: Sequence[str] | None,
    model: str,
    tiles: str,
) -> Sets:
    """The problems of each network, accelerator and objective; None is what the benchmark has.

    All names are looked up before the first problem is made.
    """
    from dse.bench import certify as bench
    from dse.core.domains import load_hardware, make_problem
    from workloads import load

    loaded = {name: load(name) for name in networks or bench.NETWORKS}
    machines = {name: load_hardware(name, model) for name in accelerators or bench.ACCELERATORS}
    return (
        (network, machine, objective, problems)
        for network, found in loaded.items()
        for machine, hardware in machines.items()
        for objective in objectives or bench.OBJECTIVES
        if (
            problems := {
                one.name: make_problem(one, hardware, objective, model, tiles) for one in found.layers
            }
        )
    )


def sampled(sets: Sets, number: int, seed: int) -> Sets:
    """So many of the problems, drawn by a seed; InputError if there are fewer."""
    import numpy as np

    from dse.bench import certify as bench
    from dse.support.validation import whole_number

    sets = [*sets]
    whole_number(number, "--sample", most=sum(len(problems) for *_, problems in sets))
    return bench.sample(sets, number, np.random.default_rng(seed))


def show_proof_times(
    report: Mapping[str, Sequence[Row]], model: str, which: str = "every distinct layer"
) -> None:
    """Print the tables for people; `which` are the problems, in words."""
    console = output.make_console()
    title = f"Proofs of {which}, nothing kept, cost model {model}, seconds of computing"
    for key, said, names in (("certify", title, SETS), ("certify_all", "All of them", ())):
        figures = [[*(row[name] for name in names), *_figures(row)] for row in report[key]]
        output.print_table(console, said, (*names, *HEADS), figures)


def _figures(row: Row) -> Iterator[Any]:
    """A summary's figures as HEADS names them."""
    share = row["optimal_share"]
    yield from (row["layers"], row["optimal"], None if share is None else 100 * share, row["infeasible"])
    yield from (row["median_seconds"], row["worst_seconds"], 100 * row["largest_gap"], round(row["peak_mb"]))
