"""The published figures of Ruby beside ours of the same network.

Horeni et al., "Ruby: Improving Hardware Efficiency for Tensor Algebra Accelerators Through Imperfect
Factorization", ISPASS 2022: its abstract has the figures of Ruby-S, ResNet-50, an Eyeriss-like machine.
"""

from __future__ import annotations

from collections.abc import Iterator

from experiments.intervals import Verdict, at_least
from experiments.perfect_factors.costs import Costs
from experiments.perfect_factors.problems import MACHINES, names_of
from experiments.perfect_factors.tables import per_cent, table

NETWORK, MACHINE, OBJECTIVE = "resnet50", "eyeriss-small", "edp"
"""What is nearest here to Ruby's setting."""
MEAN, MOST = 0.2, 0.5
"""How much lower Ruby's EDP is, in the mean and at most."""
DIFFERS = """\
None of this tests Ruby's own claim, since here differ

- what is compared: two proven optima, or a bound; there the best mappings that searches found;
- the tiles: all may have any size; of Ruby-S those alone that are spread over PEs;
- the machine: two levels of buffers, and bandwidths that can hold PEs up; there an Eyeriss-like one;
- the cost model: `loopnest`, with a filter's rows and columns whole in a PE; there Timeloop;
- the mean: over distinct layers, each counted once, those that were drawn so far."""


def layers_of(costs: Costs, machine: str = MACHINE) -> Costs:
    """Ruby's network and objective on a machine of ours."""
    names = names_of(NETWORK)
    return costs.of(accelerator=machine, objective=OBJECTIVE).where(lambda row: row["layer"] in names)


def in_the_mean(costs: Costs) -> Verdict:
    """Whether EDP is as much lower as Ruby's mean: by what was found, or else not even by the bounds."""
    if not costs.rows:
        return "inconclusive"
    found, bounded = (at_least(MEAN, costs.mean(values)) for values in costs.saved)
    if found == "borne out":
        return found
    return bounded if bounded == "not borne out" else "inconclusive"


def at_most(costs: Costs, layers: int) -> Verdict:
    """Whether EDP is as much lower on one layer as Ruby's most; that it is on none takes all `layers`."""
    found, bounded = (values.max(initial=0) for values in costs.saved)
    if found >= MOST:
        return "borne out"
    return "not borne out" if len(costs.rows) == layers and bounded < MOST else "inconclusive"


def parts(costs: Costs) -> Iterator[str]:
    """Ruby's figures beside ours: a table, verdicts, and what differs."""
    layers = len(names_of(NETWORK))
    heads = ["EDP of ResNet-50 lower, %", "layers", "proven"]
    heads += ["mean, at least", "mean, at most", "on one layer, at least"]
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)]]
    for machine in MACHINES:
        own = layers_of(costs, machine)
        if own.rows:
            found, bounded = own.saved
            counts = [f"{len(own.rows)} of {layers}", str(len(own.proven.rows))]
            shown = [own.mean(values).shown(1, 100) for values in (found, bounded)]
            lines.append([machine, *counts, *shown, per_cent(found.max(), 1)])
    published = [per_cent(MEAN, 0), "-", per_cent(MOST, 0)]
    lines.append(["Ruby-S, an Eyeriss-like machine", "-", "-", *published])
    yield (
        f"How much lower EDP is with imperfect factors ({per_cent(MEAN, 0)} % lower is what costs "
        f"{per_cent(1 / (1 - MEAN) - 1, 0)} % above), and what Ruby reports (Horeni et al., ISPASS 2022):"
    )
    yield table(lines)
    own = layers_of(costs)
    yield (
        f"**As much lower on `{MACHINE}`**: in the mean {in_the_mean(own)}, on one layer "
        f"{at_most(own, layers)}."
    )
    yield DIFFERS
