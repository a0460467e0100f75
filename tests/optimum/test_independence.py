"""What belongs to a proof: models that declare it, checks that share nothing with the solver, a cache key."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import dse
from dse.cost import models_with
from dse.cost.maestro import Maestro
from dse.optimum.cache import sources
from dse.optimum.models import MODELS, refuse
from dse.problem.problem import Problem
from dse.spec.accelerator import PRESETS
from dse.spec.layer import Layer
from dse.support.errors import InputError


class Heir(Maestro):
    """A model of another name that inherits what MAESTRO declares."""

    name = "heir"


def test_the_models_that_declare_proofs_are_those_that_have_bounds() -> None:
    assert set(MODELS) <= set(models_with("provable"))
    problem = Problem(Layer.fc(2, 2), PRESETS["edge"], cost_model=Heir())
    with pytest.raises(InputError, match="'loopnest', 'maestro', 'timeloop' can be certified, got 'heir'"):
        refuse(problem)


@pytest.mark.parametrize("model", MODELS)
def test_checks_load_nothing_of_the_solver(model: str) -> None:
    code = f"import sys; import dse.optimum.verification.{model}.claims; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name for name in run.stdout.split() if name.startswith("dse.optimum.")}
    shared = {name for name in loaded if not name.startswith("dse.optimum.verification")}
    assert shared == {"dse.optimum.certificate", "dse.optimum.models"}


@pytest.mark.parametrize("model", MODELS)
def test_a_kept_certificate_is_of_all_the_code_that_it_depends_on(model: str) -> None:
    home = Path(dse.__file__).parent
    found = {source.relative_to(home).as_posix() for source in sources(model)}
    own = {f"optimum/{model}/bounds.py", f"cost/{model}/__init__.py", "space/hierarchy/chains.py"}
    assert own <= found
    assert {"optimum/solver.py", "problem/constraints_kernel.py", "space/chains.py"} <= found
    for other in set(MODELS) - {model}:
        assert not any(f"/{other}/" in name for name in found)
