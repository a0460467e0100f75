"""What a judge is asked: a layer on a machine of its folder, with mappings that are drawn."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dse.core.layer import Layer
from dse.domains.clustered.accelerator import load_accelerator
from dse.domains.clustered.problem import Problem

JUDGES = Path(__file__).parents[2] / "examples" / "judges"
Case = dict[str, Any]


def problem(folder: str, layer: Layer) -> Problem:
    """The layer on the machine in a judge's folder."""
    return Problem(layer, load_accelerator(str(JUDGES / folder / "machine.toml")), "latency")


def drawn(folder: str, layer: Layer, count: int, seed: int = 0) -> list[Case]:
    """Cases of mappings that fit into the buffers."""
    asked = problem(folder, layer)
    genes = asked.space.sample(np.random.default_rng(seed), 40 * count)
    fits = np.flatnonzero(np.isfinite(asked.price(genes).loss))[:count]
    mappings = asked.space.decode(genes[fits])
    return [asked.case(mappings[place]) for place in range(len(mappings))]


def needs(*programs: str) -> None:
    """Skip the test where a program is missing."""
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")


def answers(
    folder: str,
    cases: Sequence[Case],
    *options: str,
    build: Path | None = None,
    python: str = sys.executable,
) -> list[Case]:
    """What the judge's program answers, line by line."""
    done = subprocess.run(
        [python, str(JUDGES / folder / "judge.py"), *options],
        input="".join(json.dumps({"id": number, **case}) + "\n" for number, case in enumerate(cases)),
        env=os.environ | ({"JUDGE_BUILD": str(build)} if build else {}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [answer["id"] for answer in found] == list(range(len(cases)))
    return found
