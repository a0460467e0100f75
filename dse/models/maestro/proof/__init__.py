"""Proven optima under `maestro`, over perfect factors and over tiles of any size: one search of boxes.

What a step reads, waits for and needs of L2 is a product of tiles, and a sum over steps of such products: it
rises with the tiles and with the number of steps. So the smallest tiles with the fewest steps of a box bound
it, and so does what all tiles of a loop bring together, which is never less than the loop. MAESTRO drops
work at edges, but no feasible mapping is faster than its busiest PE. Few inner tiles that are left are priced
by the cost model itself, and mappings around the best one beside the proof.

To be read in this order: `records`, `spread`, `totals`, `outer`, `inner`, `box`, `boxes`, `spaces`.

The check, in other code, leaves out what inner levels wait for, and says of what share it only samples; of
perfect factors it prices all inner levels that its bounds leave.
"""
