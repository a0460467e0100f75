"""What an access and a MAC cost in ZigZag's machine: the defaults are those of `loopnest`."""

from __future__ import annotations

from dataclasses import dataclass

from dse.core.model_settings import ModelConstants
from dse.models.loopnest.constants import Constants as LoopNestConstants


@dataclass(frozen=True)
class Constants(ModelConstants):
    """Energies in pJ of a MAC and of an element's read or write. ZigZag has none for the NoC."""

    mac_pj: float = LoopNestConstants.mac_pj
    l1_pj: float = LoopNestConstants.l1_pj
    l2_pj: float = LoopNestConstants.l2_pj
    dram_pj: float = LoopNestConstants.dram_pj
