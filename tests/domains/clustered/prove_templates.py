"""Templates for every layer under both models, and more numbers of PEs; run by `make prove`."""

from __future__ import annotations

import pytest

from dse.core.layer import Layer
from tests.domains.clustered import test_templates
from tests.domains.clustered.test_templates import LAYERS, LOWERED, of_every_template


@of_every_template
@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: layer.name)
@pytest.mark.parametrize("model", ["loopnest", "maestro"])
def test_on_every_preset_a_template_is_in_the_space_and_fits_or_has_the_smallest_tiles(
    model: str, layer: Layer, template: str
) -> None:
    test_templates.test_on_every_preset_a_template_is_in_the_space_and_fits_or_has_the_smallest_tiles(
        model, layer, template
    )


@pytest.mark.parametrize("num_pes", [1, 7, 168, 1024])
@pytest.mark.parametrize("layer", LOWERED, ids=lambda layer: layer.name)
@of_every_template
def test_without_other_limits_as_many_pes_work_as_the_dataflow_allows(
    template: str, layer: Layer, num_pes: int
) -> None:
    test_templates.test_without_other_limits_as_many_pes_work_as_the_dataflow_allows(template, layer, num_pes)
