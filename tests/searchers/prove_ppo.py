"""The single PPO agent at length, with actions of either kind; run by `make prove`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from searchers.ppo import PPO
from tests.searchers.test_ppo import KINDS, assert_better_than_random, run


@pytest.mark.parametrize("actions", KINDS)
def test_it_finds_better_points_than_random_search_with_the_same_samples(actions: str) -> None:
    assert_better_than_random(PPO(actions=actions), 5000)


def test_a_fresh_process_with_other_states_and_threads_draws_the_same_and_leaves_no_folder(
    tmp_path: Path,
) -> None:
    # torch makes a folder of its own once a process, with the first optimiser.
    code = (
        "import random, numpy, torch\n"
        "from tests.searchers.test_ppo import *\n"
        "random.seed(1); np.random.seed(1); torch.manual_seed(1); torch.set_num_threads(2)\n"
        "print([run(PPO(actions=kind), 300).genes().sum(axis=0).tolist() for kind in KINDS])"
    )
    environment = {name: value for name, value in os.environ.items() if name != "TORCHINDUCTOR_CACHE_DIR"}
    environment["TMPDIR"] = str(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    here = [run(PPO(actions=kind), 300).genes().sum(axis=0).tolist() for kind in KINDS]
    assert done.stdout.strip() == str(here)
    assert not list(tmp_path.iterdir())
