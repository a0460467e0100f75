"""Problems whose words have bits of their own: which there are, and what their figures are in elements."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dse.core.cost_models import models_with
from dse.core.figures import CostBatch
from dse.domains.clustered.accelerator import IN_WORDS, Accelerator
from dse.support.errors import InputError

if TYPE_CHECKING:
    from dse.domains.clustered.problem import Problem
    from dse.domains.clustered.space.parts import Parts


def refuse_unpriced(problem: Problem) -> None:
    """InputError where words have widths, or operands stay in L2, and the model knows nothing of that."""
    if problem.accelerator.holds and not problem.model.residence_module:
        able = " or ".join(repr(name) for name in models_with("residence_module"))
        raise InputError(
            f"cost model {problem.model.name!r} has no tensors that stay in L2, and the accelerator holds "
            f"{', '.join(problem.accelerator.holds)}; expected {able}"
        )
    if problem.accelerator.tensor_bits is None:
        return
    bits = problem.accelerator.bits
    if not problem.model.prices_widths:
        able = " or ".join(repr(name) for name in models_with("prices_widths"))
        raise InputError(
            f"cost model {problem.model.name!r} has elements of one width, and words have {bits} bits; "
            f"expected {able}"
        )


def as_counted(problem: Problem) -> Parts:
    """The problem's parts with open figures in what its accelerator counts: bits, where words have widths."""
    parts, element = problem.parts, problem.accelerator.word_bits
    if problem.accelerator.tensor_bits is None:
        return parts
    hardware = (
        (name, tuple(value * element for value in values) if name in IN_WORDS else values)
        for name, values in parts.hardware
    )
    return replace(parts, hardware=tuple(hardware))


def in_elements(costs: CostBatch, accelerator: Accelerator) -> CostBatch:
    """The costs with what buffers need in elements, of which an accelerator's area is."""
    if accelerator.tensor_bits is None:
        return costs
    element = accelerator.word_bits
    l1_size, l2_size = -(-costs.l1_size // element), -(-costs.l2_size // element)
    return replace(costs, l1_size=l1_size, l2_size=l2_size)
