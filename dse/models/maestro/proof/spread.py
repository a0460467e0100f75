"""What the parallel loop of the outer level does, by its tile, as MAESTRO has it (`grouped.spatial_factors`).

A parallel loop of `size` in pieces of `tile` on `units` clusters has a first iteration, where all clusters
are at work or the loop is short of them, whole ones, and a last one with what is left. In SHARES are:

* shares of a fetch in full and of one that keeps what is there: of the first iteration (`start`), of a whole
  one (`full`) and of the last one;
* the outputs in the first one, in the last one and in all (`written`); iterations but the last one
  (`rounds`), and whether there is a last one; steps of the busiest cluster, and of its busiest PE where that
  level spreads the same loop; whether the slowest cluster of the last iteration has a whole tile;
* sums over all iterations: how many there are; of fetches in full and of those that keep what is there, but
  for the first one, which keeps some (`all`); without it (`more`); of as many in full as there are, by their
  own shares (`sweep`) and by that of the first (`swept`); of as many outputs as in the first; iterations of
  whole tiles, and the steps of a cluster in these.
"""

from __future__ import annotations

from dse.models.maestro.loop_table import edge_units
from dse.models.maestro.proof.records import Y, ceil_quotient, in_output
from dse.support.compiling import subroutine


@subroutine
def least_shares(row, box, layer, tiles, scratch):
    """Sets `shares[1]` to the least of each share over the tiles of a box; False if none of them is feasible.

    All that is made of shares rises with each of them. So the least ones are a bound together, whichever
    tiles they are of.
    """
    dim, flat, found = box.parallel, scratch.flat, False
    for place in range(row[2 * dim], row[2 * dim + 1] + 1):
        if not spread_one(tiles[dim, place], box, layer, scratch.shares[0]):
            continue
        for share in range(flat.shape[1]):
            if not found or flat[0, share] < flat[1, share]:
                flat[1, share] = flat[0, share]
        found = True
    return found


@subroutine
def spread_one(tile, box, layer, shares):
    """Sets the shares of one tile (steps 3.1 and 4.1 to 4.3 of `reference`); False where MAESTRO counts too
    few MACs, so that no mapping is feasible.
    """
    dim, pes = box.parallel, box.cluster
    size, halo, units = layer.sizes[dim], layer.halos[dim], box.clusters
    output, image = in_output(dim, layer), dim >= Y
    rest = size % tile
    edge = rest if rest > 0 else tile
    wide, at_work = tile + halo, edge_units(size, tile, units)
    rounds = size // tile // units
    covered = tile * units
    shares.rounds = max(rounds, 1)
    shares.full_full, shares.full_new = units * wide, wide + (units - 1) * tile
    shares.last_full = shares.last_new = 0
    shares.start_full, shares.start_new = shares.full_full, shares.full_new
    shares.start_out = covered
    work = max(rounds, 1) * covered
    written, lasts, produced = work, 0, 0
    if size < covered:
        # One cluster at work has the whole loop for a tile.
        if at_work == 1:
            shares.start_full = shares.start_new = edge + halo
            work = written = edge
        else:
            more = at_work - 2
            # Where neighbours share, MAESTRO charges the last one its rest alone: nothing, if there is none.
            shares.start_full = wide + more * wide + edge + halo
            shares.start_new = wide + more * tile + rest
            work = tile + more * tile + edge
            written = tile + more * tile + (edge if image else rest)
        shares.start_out = written
        # Short of clusters it is short whatever moves inside.
        shares.full_full, shares.full_new = shares.start_full, shares.start_new
    elif size > rounds * covered and size > covered:
        lasts = 1
        last = size - rounds * covered
        partial = int(last >= tile and last % tile > 0)
        # MAESTRO leaves out a rest behind one tile: that cluster alone is at work, by the size of the rest.
        if at_work == 1:
            shares.last_full = shares.last_new = edge + halo if partial == 1 else wide
            produced = edge + halo if output else edge
        else:
            more = max(at_work - partial - 1, 0)
            shares.last_full = wide + more * wide + partial * (edge + halo)
            shares.last_new = wide + more * tile + partial * rest
            produced = tile + more * tile + partial * (edge if image else rest)
        work += produced
        written += produced
    shares.last_rounds = lasts
    shares.written = written if output else shares.rounds + lasts
    shares.last_out = produced if output else 1
    if not output:
        shares.start_out = 1
    # Of what is left for the last round the first cluster has the most.
    left = min(tile, size - rounds * covered)
    shares.busiest = rounds * tile + left
    shares.busiest_pes = rounds * ceil_quotient(tile, pes) + ceil_quotient(left, pes)
    shares.last_is_whole = int(at_work > 1 or rest == 0)
    sum_iterations(tile, shares)
    # The other loops add up to their sizes, so that MACs are missing just where this one falls short.
    return work >= size


@subroutine
def sum_iterations(tile, shares):
    """Sets the sums over all iterations from the shares of each."""
    whole, last = shares.rounds, shares.last_rounds
    shares.iterations = whole + last
    shares.more_full = (whole - 1) * shares.full_full + last * shares.last_full
    shares.more_new = (whole - 1) * shares.full_new + last * shares.last_new
    shares.all_full = shares.start_new + shares.more_full
    shares.all_new = shares.start_new + shares.more_new
    shares.sweep = shares.full_full + shares.more_full
    shares.swept = (whole + last) * shares.start_full
    shares.swept_out = (whole + last) * shares.start_out
    shares.whole_rounds = whole + last * shares.last_is_whole
    shares.whole_steps = shares.whole_rounds * tile
