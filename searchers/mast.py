"""QMIX trained sparse from the first update, in the manner of MAST: a tenth of the connections, three aids.

Hu et al., "Value-Based Deep Multi-Agent Reinforcement Learning with Dynamic Sparse Training" (NeurIPS 2024,
arXiv:2409.19391), as far as its abstract and recollection go: connections that grow by gradient, Soft
Mellowmax, targets over many steps early, and a second, small memory. See learners.qmix and learners.sparse.
All else is what `qmix` can have too, with settings of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from dse.support.schema import Limits
from searchers.common.play import Reward, version_of
from searchers.common.settings import Count, Share
from searchers.common.value_play import Density, Steps, ValuePlay


@dataclass(frozen=True)
class MAST(ValuePlay):
    """QMIX with sparse networks, and what is to make their targets good."""

    method: Literal["dense", "static", "set", "rigl"] = "rigl"
    density: Density = 0.1
    rewire_every: Steps = 200
    soft_mellowmax: bool = True
    returns: Literal["one-step", "hybrid", "delayed"] = "hybrid"
    recent_buffer_size: Annotated[int, Limits(ge=0, le=10_000_000)] = 1024
    agents: Literal["genes", "blocks"] = "blocks"
    reward: Reward = "1/x"
    batch_size: Count = 64
    learning_rate: Annotated[float, Limits(gt=0, allow_inf_nan=False)] = 0.0005
    gamma: Share = 0.5
    exploration_final_eps: Share = 0.2

    version = property(version_of)
