"""What samples of other layers have taught: the network that `offline` begins with, and how it is fed.

`offline.npz` beside this file was made by `python -m experiments.tuning.gradient_offline`, on layers of the
development networks under the model `loopnest`. It knows designs by the features of the default space, and
the layer and the accelerator by the logarithms of their figures.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from dse.domains.clustered.structure import mappings_of
from dse.support import numerics
from dse.support.arrays import FloatArray, IntArray
from searchers.common.features import layer_and_accelerator
from searchers.common.history import objective_factors
from searchers.gradient.surrogate import Scale, Surrogate

if TYPE_CHECKING:
    from dse.core.space import Space
    from dse.domains.clustered.structure import MappingStructure

PATH = Path(__file__).with_name("offline.npz")
FACTORS = ("cycles", "energy_nj")
"""The first outputs of the network; the needs of L1 and L2 follow."""
FEATURES = 33
"""Features of the default space."""


@dataclass(frozen=True)
class Taught:
    """A network for one search; `offsets` (outputs,) are what its layer's size adds to what it says."""

    space: Space
    context: FloatArray
    offsets: FloatArray
    outputs: IntArray
    """Which of the network's outputs the search has."""

    def describe(self, genes: IntArray) -> FloatArray:
        """The features of the vectors (n, genes), and the layer's and the accelerator's figures."""
        return network_inputs(self.space, genes, self.context)

    def surrogate(self, rng: np.random.Generator) -> Surrogate:
        """The network as it was taught, to go on learning."""
        with np.load(PATH) as held:
            inputs = Scale(held["input_middle"], held["input_spread"])
            outputs = Scale(held["output_middle"][self.outputs], held["output_spread"][self.outputs])
            weights = [held[f"weight_{place}"] for place in range(6)]
        weights[-2:] = [weight[self.outputs] for weight in weights[-2:]]
        made = Surrogate(inputs, outputs, len(self.outputs) - 2, len(weights[0]), rng)
        with torch.no_grad():
            for parameter, weight in zip(made.layers.parameters(), weights, strict=True):
                parameter.copy_(torch.from_numpy(weight))
        return made


def taught_for(space: Space, objective: str) -> Taught | None:
    """The network for searches of a space by an objective; None where it was not taught such ones."""
    structure, factors = mappings_of(space), objective_factors(space, objective)
    fits = structure is not None and not structure.has_machines and len(space.feature_names) == FEATURES
    if structure is None or not (fits and factors and set(factors) <= set(FACTORS)):
        return None
    outputs = np.array([*(FACTORS.index(factor) for factor in factors), 2, 3])
    return Taught(space, layer_and_accelerator(structure), size_offsets(structure)[outputs], outputs)


def network_inputs(space: Space, genes: IntArray, figures: FloatArray) -> FloatArray:
    """The network's inputs (n, inputs): the features of each vector, then the `figures`, of all the same."""
    return np.concatenate([space.features(genes), np.tile(figures, (len(genes), 1))], axis=1)


def size_offsets(structure: MappingStructure) -> FloatArray:
    """What size adds to each output (4,): log2 of cycles of all PEs at work, log2 of MACs, 0 for needs."""
    layer, machine = structure.layer, structure.accelerator
    units = machine.num_pes * machine.simd_lanes
    return np.append(numerics.log2(np.array([layer.macs / units, layer.macs], np.float64)), [0.0, 0.0])
