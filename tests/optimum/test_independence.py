"""What belongs to a proof: models that declare it, checks that share nothing with the solver, a cache key."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import dse
from dse.core.cost_models import cost_model_class, models_with
from dse.core.domains import prover_of
from dse.core.layer import Layer
from dse.core.proofs import proven_models
from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.problem import Problem
from dse.models.maestro import Maestro
from dse.optimum.cache import source_files
from dse.support.errors import InputError

MODELS = proven_models()


class Heir(Maestro):
    """A model of another name that inherits what MAESTRO declares."""

    name = "heir"


def test_the_models_that_declare_proofs_are_those_that_have_bounds() -> None:
    assert models_with("proof_module") == MODELS == ("loopnest", "maestro", "timeloop")
    problem = Problem(Layer.fc(2, 2), PRESETS["edge"], cost_model=Heir())
    with pytest.raises(
        InputError, match="'heir' has no proofs; these have: 'loopnest', 'maestro', 'timeloop'"
    ):
        prover_of(problem).refuse()


PROVES = {"loopnest": "bound/certifier", "maestro": "proof/bounds", "timeloop": "proof/bounds"}
"""The proof module in the folder of each model."""


def home_of(model: str) -> str:
    """The package of a cost model."""
    return cost_model_class(model).__module__.removesuffix(".model")


@pytest.mark.parametrize("model", MODELS)
def test_checks_load_nothing_of_the_solver(model: str) -> None:
    code = f"import sys; import {home_of(model)}.check.claims; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name for name in run.stdout.split() if name.startswith("dse.")}
    assert not any(
        {"proof", "bound"} & set(name.split(".")) or name.startswith("dse.optimum.") for name in loaded
    )


@pytest.mark.parametrize("model", MODELS)
def test_a_kept_certificate_is_of_all_the_code_that_it_depends_on(model: str) -> None:
    home = Path(dse.__file__).parent
    found = {source.relative_to(home).as_posix() for source in source_files(model)}
    own = home_of(model).removeprefix("dse.").replace(".", "/")
    domain = f"domains/{cost_model_class(model).domain}"
    assert {f"{own}/{PROVES[model]}.py", f"{own}/__init__.py", f"{domain}/problem.py"} <= found
    assert {"core/certificate.py", "core/objective.py", "optimum/cache.py"} <= found
    for other in set(MODELS) - {model}:
        assert not any(f"/{other}/" in name for name in found)
