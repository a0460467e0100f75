"""All examples of the command line's help, one after another, as somebody would type them in one folder."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

from dse.cli.application import examples_of_commands
from tests.cli.example_files import write_files

DSE = [sys.executable, "-m", "dse"]
FIRST = (
    "dse run quickstart --out quickstart",
    "dse run quickstart --out shard-1 --shard 1/2 --workers 1 --tables-only",
    "dse run quickstart --out shard-2 --shard 2/2 --tables-only",
    "dse search --layer resnet18:1 --accelerator edge --searcher ppo --budget 300 --save-policy policy",
)
"""What examples build on."""


def test_all_examples_run(tmp_path: Path) -> None:
    write_files(tmp_path)
    lines = dict.fromkeys((*FIRST, *(line for lines in examples_of_commands().values() for line in lines)))
    failed = {}
    for line in lines:
        ran = subprocess.run(
            [*DSE, *shlex.split(line)[1:]], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        if ran.returncode or "Traceback" in ran.stderr:
            failed[line] = (ran.returncode, ran.stderr[-500:])
    assert not failed
