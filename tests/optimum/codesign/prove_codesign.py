"""Co-design against brute force: BERT on every one of DOSA's 1,008 machines, each proven by itself.

Networks on one machine are proven in other code (`dse.optimum.total`) than machines are compared in.
"""

from __future__ import annotations

import dse
from dse.core.domains import make_problem
from dse.domains.codesign.reading import read_space
from dse.optimum.network import certify_network
from tests.optimum.codesign.enumerated import every_point
from workloads import load

SPACE, NETWORK = "experiments/codesign/dosa.toml", "experiments/codesign/dosa/bert.toml"


def test_the_best_of_1008_machines_is_that_of_proving_each() -> None:
    space, network = read_space(SPACE), load(NETWORK)
    found = dse.codesign(network, space, "edp", cache=False)
    values = {}
    for point in every_point(space):
        machine = space.machine(point)
        problems = {
            layer.name: make_problem(layer, machine.hardware, "edp", machine.model)
            for layer in network.layers
        }
        data = certify_network("bert", "machine", problems, cache=False)
        assert data["status"] in ("optimal", "infeasible")
        if data["totals"]:
            values[point] = data["totals"]["edp"]
    best = min(values, key=lambda point: values[point])
    assert found.status == "optimal"
    assert found.best is not None
    assert found.best["parameters"] == space.values(best)
    assert found.best["totals"]["edp"] == values[best]
