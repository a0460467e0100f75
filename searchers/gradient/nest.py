"""The equations of the model `loopnest` over tiles of any real size: log2 of cycles, energy and needs.

Docs: docs/loopnest.md. Simplified as DOSA does: tiles need not divide, so edges cost nothing; the halos that
neighbouring tiles share are moved anew; filling and draining the array, and the NoC's latency, are left out.
A tensor is moved again by a loop that it does not depend on if a loop inside that one, which it depends on,
has more than one step; between one and two steps, it is so in part. Rows are (n, ...); the dims are K, C, Y,
X in this order.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from dse.core.layer import Layer
from dse.domains.clustered.accelerator import Accelerator

DIMS = ("K", "C", "Y", "X")
MAC_PJ, L1_PJ, NOC_PJ, L2_PJ, DRAM_PJ = 1.5, 1.5, 3.0, 9.0, 300.0
"""The defaults of `loopnest`, as a test sees to: searchers import no cost model."""


@dataclass(frozen=True)
class Points:
    """Relaxed mappings: log2 of tiles (n, 4) and of the cluster (n,); parallel dims are 0/1, (n, 4)."""

    outer: Tensor
    inner: Tensor
    cluster: Tensor
    outer_parallel: Tensor
    inner_parallel: Tensor


@dataclass(frozen=True)
class Costs:
    """log2 of cycles and energy in pJ by orders, (n, outer orders, inner orders); of needs, (n, 2)."""

    cycles: Tensor
    energy: Tensor
    needs: Tensor


class Nest:
    """A layer on an accelerator, and the loop orders that there are: (orders, 4) dims, outermost first."""

    def __init__(
        self, layer: Layer, accelerator: Accelerator, outer_orders: Tensor, inner_orders: Tensor
    ) -> None:
        depthwise = layer.type == "DSCONV"
        loops = layer.loops
        self._machine = accelerator
        self.sizes = torch.tensor([float(loops[dim]) for dim in DIMS]).log2()
        self._window = torch.tensor([0.0, 0.0, loops["R"] - 1.0, loops["S"] - 1.0])
        self._filter = float(loops["R"] * loops["S"])
        self._macs = float(layer.macs)
        # Which dims inputs, weights and outputs depend on.
        inputs, weights, outputs = [0, 1, 1, 1], [1, 1, 0, 0], [1, 0, 1, 1]
        if depthwise:
            weights, outputs = [0, 1, 0, 0], [0, 1, 1, 1]
        self._depends = torch.tensor([inputs, weights, outputs], dtype=torch.float32)
        self._inside = [_inside(orders) for orders in (outer_orders, inner_orders)]

    def costs(self, points: Points) -> Costs:
        """What the mappings cost, by loop orders, and what they need."""
        machine = self._machine
        clusters = (torch.tensor(float(machine.num_pes)).log2() - points.cluster).clamp(min=0)
        spread = torch.minimum(points.outer + points.outer_parallel * clusters[:, None], self.sizes)
        unit = torch.minimum(points.inner + points.inner_parallel * points.cluster[:, None], points.outer)
        outer_steps, inner_steps = self.sizes - spread, points.outer - unit
        # What all PEs together, all clusters together, need in a step of theirs.
        array = torch.minimum(unit + points.outer_parallel * clusters[:, None], self.sizes)
        boxes = [self._boxes(tiles) for tiles in (points.inner, array, spread)]
        moved_in, moved_out, returned = self._moved(outer_steps, inner_steps)
        dram = boxes[2][:, :, None] * moved_out.exp2()
        dram_words = dram[:, :2].sum(dim=1) + 2 * dram[:, 2] - boxes[2][:, 2:3] * returned[:, None]
        l2 = boxes[1][:, :, None, None] * moved_in.exp2()
        l2_words = l2[:, :2].sum(dim=1) + 2 * l2[:, 2]
        # A word for several PEs crosses the NoC to each.
        lanes = array - points.inner
        copies = (lanes[:, None] * (1 - self._depends)).sum(dim=2)
        noc = l2 * copies.exp2()[:, :, None, None]
        noc_words = noc[:, :2].sum(dim=1) + 2 * noc[:, 2]
        work = points.inner.sum(dim=1) + outer_steps.sum(dim=1) + inner_steps.sum(dim=1)
        compute = work.exp2() * self._filter / machine.simd_lanes
        cycles = torch.maximum(
            torch.maximum(compute[:, None, None], l2_words / machine.noc_bandwidth),
            (dram_words / machine.offchip_bandwidth)[:, :, None],
        )
        energy = (
            self._macs * (MAC_PJ + 4 * L1_PJ)
            + (L1_PJ + NOC_PJ) * noc_words
            + L2_PJ * l2_words
            + (L2_PJ + DRAM_PJ) * dram_words[:, :, None]
        )
        needs = torch.stack([2 * boxes[0].sum(dim=1), 2 * boxes[2].sum(dim=1)], dim=1)
        return Costs(cycles.log2(), energy.log2(), needs.log2())

    def _boxes(self, tiles: Tensor) -> Tensor:
        """Elements of inputs, weights and outputs that tiles need: (n, 3)."""
        windows = (tiles.exp2() + self._window).log2()
        logs = torch.stack([windows, tiles, tiles], dim=1)
        elements = (logs * self._depends).sum(dim=2).exp2()
        return elements * torch.tensor([1.0, self._filter, 1.0])

    def _moved(self, outer_steps: Tensor, inner_steps: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """log2 of how often each tensor's box is moved, to PEs (n, 3, outer, inner) and L2 (n, 3, outer).

        And how many boxes of outputs there are, (n,): their first sums are not read.
        """
        within = (_moving(inner_steps)[:, None] * self._depends).amax(dim=2)
        outer = self._again(outer_steps, self._inside[0], torch.zeros_like(within))
        whole_outer = self._again(outer_steps, self._inside[0], within)
        inner = self._again(inner_steps, self._inside[1], torch.zeros_like(within))
        distinct = (outer_steps * self._depends[2]).sum(dim=1).exp2()
        return whole_outer[:, :, :, None] + inner[:, :, None, :], outer, distinct

    def _again(self, steps: Tensor, inside: Tensor, within: Tensor) -> Tensor:
        """log2 of how often loops of `steps` (n, 4) move each tensor's box: (n, 3, orders).

        `within` (n, 3) says of each tensor whether something moves it inside of all these loops.
        """
        moves = _moving(steps)[:, None] * self._depends
        # (n, tensor, order, loop): the strongest mover inside of each loop.
        moved_inside = (moves[:, :, None, None, :] * inside).amax(dim=4)
        stirred = torch.maximum(moved_inside, within[:, :, None, None])
        share = torch.where(self._depends[None, :, None, :] > 0, torch.ones_like(stirred), stirred)
        return (share * steps[:, None, None, :]).sum(dim=3)


def _moving(steps: Tensor) -> Tensor:
    """Whether loops with log2 `steps` have more than one: 0 at one, 1 from two on."""
    return steps.clamp(0, 1)


def _inside(orders: Tensor) -> Tensor:
    """Whether in an order a dim's loop has another's inside: (orders, dim, other) 0/1."""
    depth = torch.argsort(orders, dim=1)
    return (depth[:, None, :] > depth[:, :, None]).float()
