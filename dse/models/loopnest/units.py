"""What words take where they have widths (docs, section 1): of buffers and links, and of energy."""

from __future__ import annotations

from dataclasses import replace

from dse.core.layer import Layer
from dse.domains.clustered.accelerator import Accelerator
from dse.models.loopnest.constants import Constants


def of_tensors(layer: Layer, accelerator: Accelerator) -> tuple[int, int, int]:
    """What an input, the weights of a pair of channels and an output take: elements, or bits."""
    bits = accelerator.tensor_bits
    taps = layer.R * layer.S
    return (1, taps, 1) if bits is None else (bits["I"], taps * bits["W"], bits["O"])


def over_link(layer: Layer, accelerator: Accelerator) -> tuple[int, int, int]:
    """The same in L2's tiles and on the DRAM link: nothing, of what stays in L2 whole."""
    of = zip("IWO", of_tensors(layer, accelerator), strict=True)
    inputs, weights, outputs = (0 if name in accelerator.holds else one for name, one in of)
    return inputs, weights, outputs


def l1_a_mac(accelerator: Accelerator) -> int:
    """What a MAC reads of its L1 (an input, a weight and a sum) and writes to it (the sum)."""
    bits = accelerator.tensor_bits
    return 4 if bits is None else bits["I"] + bits["W"] + 2 * bits["O"]


def in_units(constants: Constants, accelerator: Accelerator) -> Constants:
    """The constants of an element as those of what the accelerator counts, for words of its widths.

    Accesses are linear in bits. A multiplier has as many cells as the product of its operands' bits.
    """
    bits, element = accelerator.tensor_bits, accelerator.word_bits
    if bits is None:
        return constants
    return replace(
        constants,
        mac_pj=constants.mac_pj * (bits["W"] * bits["I"]) / element**2,
        l1_pj=constants.l1_pj / element,
        noc_pj=constants.noc_pj / element,
        l2_pj=constants.l2_pj / element,
        dram_pj=constants.dram_pj / element,
        element_um2=constants.element_um2 / element,
    )
