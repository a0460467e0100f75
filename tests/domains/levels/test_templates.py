"""Dataflow templates of machines of levels."""

from __future__ import annotations

import numpy as np
import pytest

import dse
from dse.domains.levels.machine import Machine
from dse.domains.levels.problem import MachineProblem
from dse.models.timeloop.presets import load_machine
from dse.support.errors import InputError
from workloads import load_layer

LAYERS = ("resnet18:3", "mobilenet_v2:2", "mobilenet_v2:1", "alexnet:conv2")


def machines() -> list[Machine]:
    return [load_machine("gemmini-16-64-32"), load_machine("gemmini-16-2048-1024")]


@pytest.mark.parametrize("nests", ["even", "uneven"])
@pytest.mark.parametrize("layer", LAYERS)
def test_each_template_lies_in_the_space_and_fits(layer: str, nests: str) -> None:
    for machine in machines():
        problem = MachineProblem(load_layer(layer), machine, "edp", fixed={"nests": nests})
        mappings = [problem.template(name) for name in problem.templates]
        assert (problem.price(problem.vectors(mappings)).reason == 0).all()
        assert all(problem.nest(mapping) for mapping in mappings)


def test_a_template_keeps_its_tensor_in_place_in_the_innermost_loop_of_each_level() -> None:
    problem = MachineProblem(load_layer("alexnet:conv2"), load_machine("gemmini-16-2048-1024"), "edp")
    for name, tensor in (("weight-stationary", "W"), ("input-stationary", "I"), ("output-stationary", "O")):
        moving = {
            dim
            for one in problem.space.workload.tensors
            if one.name == tensor
            for dim in problem.space.workload.names
            if any(one.coefficients(dim))
        }
        levels = [level for level in problem.template(name).levels if level.temporal]
        staying = [level for level in levels if {dim for dim, _ in level.temporal} - moving]
        assert staying, name
        assert all(level.temporal[-1][0] not in moving for level in staying), name


def test_templates_use_no_more_of_a_level_than_a_limit_leaves() -> None:
    machine = load_machine("gemmini-16-2048-1024")
    name = machine.levels[1].name
    layer = load_layer("resnet18:3")
    whole = MachineProblem(layer, machine, "edp")
    half = whole.with_changes(limits=(f"{name}_use<=0.5",))
    assert [half.template(one) for one in half.templates] != [whole.template(one) for one in whole.templates]
    points = half.vectors([half.template(one) for one in half.templates])
    assert (half.price(points).reason == 0).all()


def test_a_template_that_is_not_there_is_refused_by_name() -> None:
    problem = MachineProblem(load_layer("resnet18:3"), load_machine("gemmini-16-64-32"), "edp")
    with pytest.raises(InputError, match=r"template 'nvdla'.*weight-stationary"):
        problem.template("nvdla")


def test_a_search_begins_at_the_templates_of_its_machine() -> None:
    problem = MachineProblem(load_layer("mobilenet_v2:2"), load_machine("gemmini-16-64-32"), "edp")
    found = dse.search(problem, "random", budget=8, seed=1, start="templates")
    first = found.record.evaluations().loss[:2]
    points = problem.vectors([problem.template(name) for name in problem.templates])
    assert np.isin(first, problem.price(points).loss).all()
