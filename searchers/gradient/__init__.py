"""Gradient descent through a model of the cost: one that is learned, or the equations themselves, relaxed.

Two forms. `surrogate` is in the manner of Hegde et al., "Mind Mappings" (ASPLOS 2021, arXiv:2103.01489): a
network learns the logarithm of the cost, and points go down its gradient and are rounded to valid designs.
There it learns from ten million samples of other layers, once; here it learns from the search's own samples,
and with `offline` begins with what samples of other layers taught it, which are declared. `relaxation` is in
the manner of Hong et al., "DOSA" (MICRO 2023): the cost model's equations over tiles of any real size, with
softmin over loop orders. It learns nothing: samples only check what it found. Its equations are those of the
model `loopnest`, simplified, and written down in nest.py: it knows the model that it is judged by, which no
other searcher does. Under another model it is as good as that one resembles it.

Both were written from what is known of the papers, not from their programs. In a space that is none of
mappings with the genes of the default space (other machines, levels, no mappings at all), `relaxation` has no
equations, and `offline` no features that it knows: the search is then that of a surrogate of its own samples.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np

from dse.domains.clustered.structure import mappings_of
from dse.support.errors import InputError
from dse.support.schema import Limits
from searchers.common.settings import MAX_POINTS, MAX_REPEATS, MAX_UNITS
from searchers.common.torch_apart import torch_apart

if TYPE_CHECKING:
    from dse.core.space import Space
    from dse.search.evaluator import Evaluator

OFFLINE_SAMPLES = 62_720
"""Samples of other layers that the network of `offline` was taught by: see offline.py."""

Points = Annotated[int, Limits(ge=1, le=MAX_POINTS)]
Repeats = Annotated[int, Limits(ge=1, le=MAX_REPEATS)]


@dataclass(frozen=True)
class Gradient:
    """Descents in relaxed genes, rounded, from many starts."""

    form: Literal["surrogate", "relaxation"] = "surrogate"
    """What the gradient is of: a network that learns from samples, or the relaxed equations of `loopnest`."""
    offline: bool = False
    """Whether the surrogate begins with what samples of other layers taught it."""
    n_startup_trials: Points = 24
    """Random points that the surrogate first learns from; with `offline`, none."""
    n_descents: Points = 8
    """Descents at a time: half from the best points so far, half from random ones; eight times as many of
    the relaxation, all from random ones."""
    descent_steps: Repeats = 12
    """Steps of a descent; eight times as many of the relaxation."""
    batch_size: Points = 8
    """Points evaluated after a round of descents; at least a fiftieth of all samples so far."""
    hidden: Annotated[int, Limits(ge=1, le=MAX_UNITS)] = 64
    """Units of each of the surrogate's two hidden layers."""
    gradient_steps: Repeats = 30
    """Mini-batches of 128 that the surrogate learns from after each round."""

    aliases: ClassVar[Mapping[str, str]] = {
        "initial": "n_startup_trials",
        "starts": "n_descents",
        "steps": "descent_steps",
        "batch": "batch_size",
        "epochs": "gradient_steps",
    }
    libraries: ClassVar[tuple[str, ...]] = ("torch",)
    portable: ClassVar[bool] = False
    random_start: ClassVar[dict[str, Any]] = {"form": "surrogate", "offline": False}

    def __post_init__(self) -> None:
        if self.offline and self.form != "surrogate":
            raise InputError("offline is for form = 'surrogate': the relaxation learns nothing")

    def begins(self, space: Space) -> str:
        """With what it begins if it knows something, in words."""
        mappings = mappings_of(space)
        if mappings is None or mappings.has_machines:
            return "random"
        return "taught network" if self.offline else "relaxed equations"

    @property
    def samples_elsewhere(self) -> int:
        """Samples that taught the network beforehand: not charged here, and so declared."""
        return OFFLINE_SAMPLES if self.offline else 0

    def search(self, evaluate: Evaluator, rng: np.random.Generator) -> None:
        """Descend, round and evaluate until the budget is spent."""
        from searchers.gradient.learned import search_learned
        from searchers.gradient.relaxation import has_equations, search_relaxed

        with torch_apart():
            if self.form == "relaxation" and has_equations(evaluate.space):
                search_relaxed(self, evaluate, rng)
            search_learned(self, evaluate, rng)
