"""What the parallel loop of the outer level does, by its tile, as MAESTRO has it (`grouped.spatial_factors`).

A parallel loop of `size` in pieces of `tile` on `units` clusters has a first iteration, where all clusters
are at work or the loop is short of them, whole ones, and a last one with what is left.
"""

from __future__ import annotations

from dse.models.maestro.loop_table import edge_units
from dse.support.compiling import subroutine

# Shares of a fetch in full and of one that keeps what is there: of the first iteration, of a whole one and of
# the last one; of the outputs in the first one and in all; iterations but the last one, and whether there is
# a last one; steps of the busiest cluster, and of its busiest PE where that level spreads the same loop;
# whether all clusters that are at work in the last iteration have a tile as large as the others.
(
    START_FULL, START_NEW, FULL_FULL, FULL_NEW, LAST_FULL, LAST_NEW, START_OUT, WRITTEN, ROUNDS, LAST_ROUNDS,
    BUSIEST, BUSIEST_PES, LAST_IS_WHOLE,
) = range(13)  # fmt: skip
# Sums over all iterations: how many there are; of fetches in full and of those that keep what is there, but
# for the first one, which keeps some; without it; of as many in full as there are, by their own shares and by
# that of the first; of as many outputs as in the first; iterations of whole tiles, and the steps of a cluster
# in these.
(
    ITERATIONS, ALL_FULL, ALL_NEW, MORE_FULL, MORE_NEW, SWEEP, SWEPT, SWEPT_OUT, WHOLE_ROUNDS, WHOLE_STEPS,
) = range(13, 23)  # fmt: skip
SHARES = 23


@subroutine
def spread_one(size, tile, halo, units, pes, in_output, input_dim, shares):
    """Sets the shares of one tile; False where MAESTRO counts too few MACs, so that no mapping is feasible.

    `pes` are those of a cluster. `in_output` says whether outputs depend on the loop, `input_dim` whether it
    is one of Y and X.
    """
    rest = size % tile
    edge = rest if rest > 0 else tile
    wide, at_work = tile + halo, edge_units(size, tile, units)
    rounds = size // tile // units
    covered = tile * units
    shares[ROUNDS], shares[LAST_ROUNDS] = max(rounds, 1), 0
    shares[FULL_FULL], shares[FULL_NEW] = units * wide, wide + (units - 1) * tile
    shares[LAST_FULL] = shares[LAST_NEW] = 0
    shares[START_FULL], shares[START_NEW] = shares[FULL_FULL], shares[FULL_NEW]
    shares[START_OUT] = units * tile
    work = max(rounds, 1) * units * tile
    written, lasts = work, 0
    if size < covered:
        if at_work == 1:
            shares[START_FULL] = shares[START_NEW] = edge + halo
            work = written = edge
        else:
            more = at_work - 2
            shares[START_FULL] = wide + more * wide + edge + halo
            shares[START_NEW] = wide + more * tile + rest
            work = tile + more * tile + edge
            written = tile + more * tile + (edge if input_dim else rest)
        shares[START_OUT] = written
        # Short of clusters it is short whatever moves inside.
        shares[FULL_FULL], shares[FULL_NEW] = shares[START_FULL], shares[START_NEW]
    elif size > rounds * covered and size > covered:
        lasts = 1
        last = size - rounds * covered
        partial = last >= tile and last % tile > 0
        if at_work == 1:
            shares[LAST_FULL] = shares[LAST_NEW] = edge + halo if partial else wide
            produced = edge + halo if in_output else edge
            work += produced
            written += produced
        else:
            more = max(at_work - int(partial) - 1, 0)
            shares[LAST_FULL] = wide + more * wide + int(partial) * (edge + halo)
            shares[LAST_NEW] = wide + more * tile + int(partial) * rest
            produced = tile + more * tile + int(partial) * (edge if input_dim else rest)
            work += produced
            written += produced
    shares[LAST_ROUNDS] = lasts
    shares[WRITTEN] = written if in_output else shares[ROUNDS] + lasts
    if not in_output:
        shares[START_OUT] = 1
    left = min(tile, size - rounds * covered)
    shares[BUSIEST] = rounds * tile + left
    shares[BUSIEST_PES] = rounds * pieces(tile, pes) + pieces(left, pes)
    shares[LAST_IS_WHOLE] = int(at_work > 1 or rest == 0)
    sum_iterations(tile, shares)
    return work >= size


@subroutine
def sum_iterations(tile, shares):
    """Sets the sums over all iterations from the shares of each."""
    whole, last = shares[ROUNDS], shares[LAST_ROUNDS]
    shares[ITERATIONS] = whole + last
    shares[MORE_FULL] = (whole - 1) * shares[FULL_FULL] + last * shares[LAST_FULL]
    shares[MORE_NEW] = (whole - 1) * shares[FULL_NEW] + last * shares[LAST_NEW]
    shares[ALL_FULL] = shares[START_NEW] + shares[MORE_FULL]
    shares[ALL_NEW] = shares[START_NEW] + shares[MORE_NEW]
    shares[SWEEP] = shares[FULL_FULL] + shares[MORE_FULL]
    shares[SWEPT] = (whole + last) * shares[START_FULL]
    shares[SWEPT_OUT] = (whole + last) * shares[START_OUT]
    shares[WHOLE_ROUNDS] = whole + last * shares[LAST_IS_WHOLE]
    shares[WHOLE_STEPS] = shares[WHOLE_ROUNDS] * tile


@subroutine
def pieces(amount, parts):
    """The quotient rounded up."""
    return (amount + parts - 1) // parts


@subroutine
def spread(size, low, high, halo, units, pes, in_output, input_dim, shares, least):
    """Sets `least` to the least of each share over some tiles; False if none of them is feasible."""
    found = False
    for tile in range(low, high + 1):
        if not spread_one(size, tile, halo, units, pes, in_output, input_dim, shares):
            continue
        for share in range(SHARES):
            if not found or shares[share] < least[share]:
                least[share] = shares[share]
        found = True
    return found
