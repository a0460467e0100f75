"""Problems whose words have bits of their own: which there are, and what their figures are in elements."""

from __future__ import annotations

from dataclasses import replace

from dse.core.cost_models import models_with
from dse.core.figures import CostBatch
from dse.domains.clustered.accelerator import IN_WORDS, Accelerator
from dse.domains.clustered.cost_model import CostModel
from dse.domains.clustered.space.parts import Parts
from dse.support.errors import InputError


def refuse_unpriced(model: CostModel, accelerator: Accelerator) -> None:
    """InputError where words have widths, or operands stay in L2, and the model knows nothing of that."""
    if accelerator.holds and not model.residence_module:
        able = " or ".join(repr(name) for name in models_with("residence_module"))
        raise InputError(
            f"cost model {model.name!r} has no tensors that stay in L2, and the accelerator holds "
            f"{', '.join(accelerator.holds)}; expected {able}"
        )
    if accelerator.tensor_bits is not None and not model.prices_widths:
        able = " or ".join(repr(name) for name in models_with("prices_widths"))
        raise InputError(
            f"cost model {model.name!r} has elements of one width, and words have {accelerator.bits} bits; "
            f"expected {able}"
        )


def as_counted(parts: Parts, accelerator: Accelerator) -> Parts:
    """Parts with open figures in what an accelerator counts: bits, where words have widths."""
    element = accelerator.word_bits
    if accelerator.tensor_bits is None:
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
