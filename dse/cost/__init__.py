"""What a design costs, in cycles, energy, power, area, buffers: protocol, figures, registry, the models.

Imports `spec` and what is below it. Each model has a folder, with all its quirks; all else asks the registry.
"""

from __future__ import annotations

from dse.cost.constants import ModelConstants
from dse.cost.figures import BUFFERS, CostBatch, Figures
from dse.cost.protocol import (
    Baseline,
    CaseExtras,
    CostModel,
    Detail,
    LevelsDetail,
    PriceEach,
    PriceRows,
    PricesNothing,
)
from dse.cost.registry import (
    DEFAULT_COST_MODEL,
    GROUP,
    Ability,
    cost_model,
    cost_model_class,
    cost_models,
    hierarchy_model,
    hierarchy_models,
    is_hierarchical,
    model_origin,
    model_with,
    models_with,
    other_model,
    outside_models,
    unit_of,
)
from dse.cost.settings import ModelSettings

__all__ = [
    "BUFFERS",
    "DEFAULT_COST_MODEL",
    "GROUP",
    "Ability",
    "Baseline",
    "CaseExtras",
    "CostBatch",
    "CostModel",
    "Detail",
    "Figures",
    "LevelsDetail",
    "ModelConstants",
    "ModelSettings",
    "PriceEach",
    "PriceRows",
    "PricesNothing",
    "cost_model",
    "cost_model_class",
    "cost_models",
    "hierarchy_model",
    "hierarchy_models",
    "is_hierarchical",
    "model_origin",
    "model_with",
    "models_with",
    "other_model",
    "outside_models",
    "unit_of",
]
